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

/* The engines by these settings of the one that tells voices apart. */
static struct finding
check_models(struct cli *c, const struct engine_settings *apart)
{
	const struct engine_settings *again = &c->conf->engine[ENGINE_voiceprint];
	const char *dir = sherpa_dir(c->mem, c->conf), *turns = NULL, *voices, *wrong;
	int64_t turns_bytes = 0, voices_bytes = 0;

	if (dir == NULL)
		return FOUND(FAIL, "sherpa-onnx is not installed", DOCTOR_SHERPA);
	voices = sherpa_model_file(c->mem, again->model, &voices_bytes);
	if (voices == NULL)
		return FOUND(FAIL, arena_printf(c->mem, "there is no model in %s", again->model), "Put one there that "
		    "compares voices, readable for the account of the programs: " VOICES_MODELS ".");
	wrong = prints_wrong(c, dir, voices, voices_bytes);
	if (wrong != NULL)
		return FOUND(FAIL, arena_printf(c->mem, "the model %s cannot be used: %s", voices, wrong), GET_AGAIN);
	if (strcmp(apart->name, "sherpa") != 0)
		return FOUND(OK, arena_printf(c->mem, "known again by %s", voices), NULL);
	turns = sherpa_model_file(c->mem, apart->model, &turns_bytes);
	if (turns == NULL)
		return FOUND(FAIL, arena_printf(c->mem, "there is no model in %s", apart->model), "Put one there that "
		    "finds turns, readable for the account of the programs: " TURNS_MODELS ".");
	wrong = turns_wrong(c, dir, turns, voices, turns_bytes + voices_bytes);
	if (wrong != NULL)
		return FOUND(FAIL, arena_printf(c->mem, "the model %s cannot be used: %s", turns, wrong), GET_AGAIN);
	return FOUND(OK, arena_printf(c->mem, "told apart by %s and %s", turns, voices), NULL);
}

struct finding
check_speakers(struct cli *c)
{
	const struct engine_settings *apart = &c->conf->engine[ENGINE_diarize];
	const struct engine_settings other = engines_chosen(c->mem, apart, "sherpa");
	struct finding found;

	if (strcmp(apart->name, "sherpa") == 0 || strcmp(c->conf->engine[ENGINE_voiceprint].name, "sherpa") == 0) {
		found = check_models(c, apart);
		if (found.level != OK || strcmp(apart->name, "sherpa") == 0)
			return found;
	} else {
		found = FOUND(OK, "told apart and known again by the built-in engine", NULL);
	}
	if (strcmp(other.name, "sherpa") == 0) {
		const struct finding chosen = check_models(c, &other);

		if (chosen.level != OK)
			return FOUND(chosen.level, arena_printf(c->mem, "sherpa, which tenants may choose: %s",
			    chosen.text), chosen.remedy);
	}
	return found;
}

/* Voices that people have named, and of which there are prints of other engines or models alone. */
struct finding
check_known(struct cli *c)
{
	const char *maker = voiceprint_maker(c->mem, c->conf);
	const int64_t n = db_number(c->db, "SELECT COUNT(*) FROM voices v WHERE " VOICES_KNOWN_SQL " AND EXISTS ("
	    "SELECT 1 FROM speakers s JOIN voiceprints p ON p.speaker_id = s.id AND p.epoch = v.epoch WHERE s.voice_id = "
	    "v.id AND s.source = 'human') AND NOT EXISTS (SELECT 1 FROM speakers s JOIN voiceprints p ON p.speaker_id = "
	    "s.id AND p.epoch = v.epoch AND p.engine = ? WHERE s.voice_id = v.id AND s.source = 'human')", ARGS(STR(maker)), 0);

	if (n == 0)
		return FOUND(OK, arena_printf(c->mem, "compared by %s", maker), NULL);
	return FOUND(WARN, arena_printf(c->mem, "%" PRId64 " named %s known by prints of another engine or model, and "
	    "not recognised by %s", n, n == 1 ? "voice is" : "voices are", maker), "They are known again once speakers of "
	    "an asset in which they were named are made anew (PUT …/metadata with {\"extract\":[\"speakers\"]}), or by "
	    "the engine that there was (engine.voiceprint).");
}
