/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of what tells voices apart and knows them again: models are tried in the jail, as jobs run them. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "core/jail.h"
#include "core/voices.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/vad.h"
#include "jobs/engines/voiceprint.h"

#define TURNS_MODELS "github.com/k2-fsa/sherpa-onnx/releases/tag/speaker-segmentation-models"
#define VOICES_MODELS "github.com/k2-fsa/sherpa-onnx/releases/tag/speaker-recongition-models"
#define GET_AGAIN "Get the file again, and see whether it is a model for this: " TURNS_MODELS ", " VOICES_MODELS "."

/* Spans of a sound of a few seconds, again and again, until it is long enough for a print. */
static const char *
long_enough(struct cli *c, int sound)
{
	const long long ms = (long long)lseek(sound, 0, SEEK_END) / PCM_BYTES_PER_MS;
	struct buf b = BUF(c->mem);

	for (long long all = 0; ms > 0 && all < 2LL * VOICEPRINT_LEAST_MS; all += ms)
		buf_printf(&b, "%s0-%lld", all > 0 ? "," : "", ms);
	return buf_string(&b);
}

/* NULL: it makes prints. */
static const char *
prints_wrong(struct cli *c, const char *dir, const char *model, int64_t bytes)
{
	const char *argv[] = { jail_helper(c->mem, "kinothek-speech"), "prints", dir, model, NULL, NULL };
	const char *read[] = { dir, model, NULL }, *fault, *said;
	bool spoken;
	const int sound = doctor_sound(c, &spoken);

	argv[4] = long_enough(c, sound);
	fault = doctor_listens_to(c, argv, read, speech_memory(bytes), sound, &said);
	close(sound);
	return fault != NULL ? fault : strstr(said, "\"print\"") == NULL ? "it makes no print of a sentence" : NULL;
}

/* NULL: it tells turns.  That a synthetic voice is none to it is no fault. */
static const char *
turns_wrong(struct cli *c, const char *dir, const char *turns, const char *voices, int64_t bytes)
{
	const char *argv[] = { jail_helper(c->mem, "kinothek-speech"), "voices", dir, turns, voices, NULL, NULL };
	const char *read[] = { dir, turns, voices, NULL }, *fault, *said;
	bool spoken;
	const int sound = doctor_sound(c, &spoken);

	argv[5] = arena_printf(c->mem, "0-%lld", (long long)lseek(sound, 0, SEEK_END) / PCM_BYTES_PER_MS);
	fault = doctor_listens_to(c, argv, read, speech_memory(bytes), sound, &said);
	close(sound);
	return fault;
}

/* The model that compares voices. */
static struct finding
check_prints(struct cli *c, const char *model)
{
	const char *dir = sherpa_dir(c->mem, c->conf), *file, *wrong;
	int64_t bytes = 0;

	if (dir == NULL)
		return FOUND(FAIL, "sherpa-onnx is not installed", DOCTOR_SHERPA);
	file = sherpa_model_file(c->mem, model, &bytes);
	if (file == NULL)
		return FOUND(FAIL, arena_printf(c->mem, "there is no model in %s", model), "Put one there that "
		    "compares voices, readable for the account of the programs: " VOICES_MODELS ".");
	wrong = prints_wrong(c, dir, file, bytes);
	if (wrong != NULL)
		return FOUND(FAIL, arena_printf(c->mem, "the model %s cannot be used: %s", file, wrong), GET_AGAIN);
	return FOUND(OK, arena_printf(c->mem, "known again by %s", file), NULL);
}

/* The two models that tell voices apart. */
static struct finding
check_turns(struct cli *c, const struct engine_settings *apart)
{
	const struct finding prints = check_prints(c, apart->voices);
	int64_t turns_bytes = 0, voices_bytes = 0;
	const char *turns, *voices, *wrong;

	if (prints.level != OK)
		return prints;
	voices = sherpa_model_file(c->mem, apart->voices, &voices_bytes);
	turns = sherpa_model_file(c->mem, apart->model, &turns_bytes);
	if (turns == NULL)
		return FOUND(FAIL, arena_printf(c->mem, "there is no model in %s", apart->model), "Put one there that "
		    "finds turns, readable for the account of the programs: " TURNS_MODELS ".");
	wrong = turns_wrong(c, sherpa_dir(c->mem, c->conf), turns, voices, turns_bytes + voices_bytes);
	if (wrong != NULL)
		return FOUND(FAIL, arena_printf(c->mem, "the model %s cannot be used: %s", turns, wrong), GET_AGAIN);
	return FOUND(OK, arena_printf(c->mem, "told apart by %s and %s", turns, voices), NULL);
}

/* The engines of these settings, as far as they have models. */
static struct finding
check_both(struct cli *c, const struct engine_settings *apart, const struct engine_settings *again)
{
	struct finding found = FOUND(OK, "told apart and known again by the built-in engine", NULL);

	if (strcmp(apart->name, "sherpa") == 0)
		found = check_turns(c, apart);
	if (found.level == OK && strcmp(again->name, "sherpa") == 0 &&
	    (strcmp(apart->name, "sherpa") != 0 || strcmp(again->model, apart->voices) != 0))
		found = check_prints(c, again->model);
	return found;
}

struct finding
check_speakers(struct cli *c)
{
	const struct engine_settings *apart = &c->conf->engine[ENGINE_diarize],
	    *again = &c->conf->engine[ENGINE_voiceprint];
	const struct engine_settings other_apart = engines_chosen(c->mem, apart, "sherpa"),
	    other_again = engines_chosen(c->mem, again, "sherpa");
	const struct finding found = check_both(c, apart, again);
	struct finding others;

	if (found.level != OK || (strcmp(apart->name, other_apart.name) == 0 &&
	    strcmp(again->name, other_again.name) == 0))
		return found;
	others = check_both(c, &other_apart, &other_again);
	if (others.level == OK)
		return found;
	return FOUND(others.level, arena_printf(c->mem, "sherpa, which tenants may choose: %s", others.text),
	    others.remedy);
}

/* Voices that people have named, and of which there are prints of other makers alone, of tenants with this choice. */
static int64_t
unknown(struct cli *c, const char *maker, const char *choice)
{
	return db_number(c->db, "SELECT COUNT(*) FROM voices v JOIN tenants n ON n.id = v.tenant_id AND "
	    "JSON_VALUE(n.engines, '$.voiceprint') <=> ? WHERE " VOICES_KNOWN_SQL " AND EXISTS (SELECT 1 FROM speakers s "
	    "JOIN voiceprints p ON p.speaker_id = s.id AND p.epoch = v.epoch WHERE s.voice_id = v.id AND s.source = "
	    "'human') AND NOT EXISTS (SELECT 1 FROM speakers s JOIN voiceprints p ON p.speaker_id = s.id AND p.epoch = "
	    "v.epoch AND p.engine = ? WHERE s.voice_id = v.id AND s.source = 'human')", ARGS(STR(choice), STR(maker)), 0);
}

struct choice { const char *name; };
static const struct field choice_fields[] = {
	FIELD(struct choice, name, .sql = "JSON_VALUE(t.engines, '$.voiceprint')", .doc = "NULL: what the settings say"),
};
static const struct record choice_record = RECORD("PrintChoice", struct choice, choice_fields);

struct finding
check_known(struct cli *c)
{
	struct conf conf = *c->conf;
	struct buf makers = BUF(c->mem);
	const struct choice *all;
	int64_t sum = 0;
	size_t n;

	all = db_rows(c->db, &choice_record, "FROM tenants t GROUP BY 1 ORDER BY 1", NO_ARGS, &n);
	for (size_t i = 0; i < n; i++) {
		const char *maker;

		conf.engine[ENGINE_voiceprint] = c->conf->engine[ENGINE_voiceprint];
		if (all[i].name != NULL)
			conf.engine[ENGINE_voiceprint] = engines_chosen(c->mem, &conf.engine[ENGINE_voiceprint],
			    all[i].name);
		if (strcmp(conf.engine[ENGINE_voiceprint].name, "none") == 0)
			continue;
		maker = voiceprint_maker(c->mem, &conf);
		sum += unknown(c, maker, all[i].name);
		if (strstr(buf_string(&makers), maker) == NULL)
			buf_printf(&makers, "%s%s", makers.len > 0 ? " or " : "", maker);
	}
	if (sum == 0)
		return FOUND(OK, makers.len == 0 ? "compared by nothing" : arena_printf(c->mem, "compared by %s",
		    buf_string(&makers)), NULL);
	return FOUND(WARN, arena_printf(c->mem, "%" PRId64 " named %s known by prints of another engine or model, and "
	    "not recognised by %s", sum, sum == 1 ? "voice is" : "voices are", buf_string(&makers)), "They are known again "
	    "once speakers of an asset in which they were named are made anew (PUT …/metadata with {\"extract\":"
	    "[\"speakers\"]}), or by the engine that there was (engine.voiceprint, or engines.voiceprint of the tenant).");
}
