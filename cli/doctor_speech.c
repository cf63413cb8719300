/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of what finds speech and of what turns it into words: models are tried in the jail, as jobs run them. */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "core/fault.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/vad.h"
#include "media/transcript.h"

#define SENTENCE "good morning everybody and welcome to the lecture"
#define MODELS "github.com/k2-fsa/sherpa-onnx/releases/tag/asr-models"
#define MARKS_MODELS "github.com/k2-fsa/sherpa-onnx/releases/tag/punctuation-models"
#define BY_LOUDNESS "found by loudness, which takes music for speech: "

enum { SILENCE = 2 * 16000 * 2, TRY_SECONDS = 600 };

int
doctor_sound(struct cli *c, bool *spoken)
{
	static const char *const argv[] = { "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
	    "flite=text='" SENTENCE "':voice=rms", "-ar", "16000", "-ac", "1", "-f", "s16le", "-", NULL };
	const struct jail jail = { .argv = argv, .in = -1, .wall_seconds = 60 };
	int fd = memfd_create("sound", MFD_CLOEXEC);
	struct jail_result r;

	*spoken = jail_run(c->mem, &jail, &r) && r.out_size > 0;
	if (fd >= 0 && (*spoken ? write(fd, r.out, r.out_size) != (ssize_t)r.out_size : ftruncate(fd, SILENCE) != 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

const char *
doctor_listens_to(struct cli *c, const char *const *argv, const char *const *read, int64_t memory,
    int sound, const char **said)
{
	const struct jail jail = { .argv = argv, .read = read, .in = sound, .memory = memory,
	    .wall_seconds = TRY_SECONDS, .idle_seconds = TRY_SECONDS, .threads_only = true };
	struct jail_result r;
	struct fault fault;
	char *words;

	if (jail_run(c->mem, &jail, &r)) {
		*said = r.out;
		return NULL;
	}
	fault_of_jail(c->mem, &jail, &r, &fault);
	words = arena_copy(c->mem, fault.log != NULL ? fault.log : reason_info(fault.reason)->code);
	for (char *p = words; (p = strchr(p, '\n')) != NULL; p++)
		*p = p[1] == '\0' ? '\0' : ' ';
	return words;
}

struct finding
check_voices(struct cli *c)
{
	const char *dir = sherpa_dir(c->mem, c->conf), *fault, *said;
	const char *argv[] = { jail_helper(c->mem, "kinothek-speech"), "find", dir, NULL }, *read[] = { dir, NULL };
	bool spoken;
	int sound;

	if (dir == NULL)
		return FOUND(WARN, BY_LOUDNESS "sherpa-onnx is not installed", DOCTOR_SHERPA);
	if (access(arena_printf(c->mem, "%s/" VAD_MODEL, dir), R_OK) != 0)
		return FOUND(WARN, arena_printf(c->mem, BY_LOUDNESS "there is no " VAD_MODEL " in %s", dir),
		    DOCTOR_SHERPA);
	sound = doctor_sound(c, &spoken);
	fault = doctor_listens_to(c, argv, read, speech_memory(0), sound, &said);
	close(sound);
	if (fault != NULL)
		return FOUND(WARN, arena_printf(c->mem, BY_LOUDNESS "%s", fault), DOCTOR_SHERPA);
	if (spoken && strstr(said, "{\"start\":") == NULL)
		return FOUND(WARN, "Silero VAD does not hear a synthetic voice", DOCTOR_SHERPA);
	return FOUND(OK, arena_printf(c->mem, "found by Silero VAD in %s", dir), NULL);
}

/* All that was heard, as one text. */
static const char *
heard_text(struct cli *c, const char *said)
{
	struct buf text = BUF(c->mem);
	const struct segment *s;
	size_t n;

	for (; *said != '\0'; said += n + (said[n] != '\0')) {
		n = strcspn(said, "\n");
		s = strncmp(said, "{\"start\":", 9) != 0 ? NULL :
		    record_parse(c->mem, &segment_record, arena_copy_n(c->mem, said, n));
		if (s != NULL && s->text != NULL)
			buf_printf(&text, "%s%s", text.len > 0 ? " " : "", s->text);
	}
	return buf_string(&text);
}

/* Are at least half of the words of the sentence there? */
static bool
understood(struct cli *c, const char *text)
{
	char *rest = arena_copy(c->mem, SENTENCE), *word;
	int found = 0, all = 0;

	while ((word = strsep(&rest, " ")) != NULL) {
		found += strcasestr(text, word) != NULL;
		all++;
	}
	return 2 * found >= all;
}

/* Does the model hear English, by the settings? */
static bool
hears_english(const struct engine_settings *set)
{
	const char *at = set->languages;

	while (at != NULL && strncasecmp(at, "en", 2) != 0)
		at = (at = strchr(at, ',')) == NULL ? NULL : at + 1;
	return set->languages == NULL || at != NULL;
}

static struct finding
check_sherpa(struct cli *c, const struct engine_settings *set)
{
	const enum sherpa_type type = sherpa_type_find(set->type);
	const char *dir = sherpa_dir(c->mem, c->conf), *files[SHERPA_PARTS], *missing, *fault, *said, *text;
	const char *argv[] = { jail_helper(c->mem, "kinothek-speech"), "sherpa", dir, set->type, set->model, "en", NULL,
	    NULL };
	const char *read[] = { dir, set->model, NULL };
	bool spoken, english = hears_english(set);
	int64_t bytes;
	int sound;

	if (dir == NULL)
		return FOUND(FAIL, "sherpa-onnx is not installed", DOCTOR_SHERPA);
	missing = sherpa_model_files(c->mem, type, set->model, files, &bytes);
	if (missing != NULL)
		return FOUND(FAIL, arena_printf(c->mem, "missing in %s: %s", set->model, missing),
		    arena_printf(c->mem, "Put the files of a model of type %s there, readable for the account of the "
		    "programs: %s. Models for many languages: " MODELS, set->type, sherpa_type_files(c->mem, type)));
	sound = doctor_sound(c, &spoken);
	argv[6] = arena_printf(c->mem, "0-%lld", (long long)lseek(sound, 0, SEEK_END) / PCM_BYTES_PER_MS);
	fault = doctor_listens_to(c, argv, read, speech_memory(bytes), sound, &said);
	close(sound);
	if (fault != NULL)
		return FOUND(FAIL, arena_printf(c->mem, "the model in %s cannot be used: %s", set->model, fault),
		    "Get its files again, and see whether engine.transcribe.type says what it is.");
	text = heard_text(c, said);
	if (spoken && english && !understood(c, text))
		return FOUND(WARN, arena_printf(c->mem, "the model runs, but it heard \"%.200s\" where \"" SENTENCE
		    "\" was said", text), "If it does not know English, say which languages it knows: engine.transcribe.languages.");
	return FOUND(OK, arena_printf(c->mem, "%s in %s, and it %s", set->type, set->model, spoken && english ?
	    "understood a sentence" : "runs"), NULL);
}

/* Engines that tenants have chosen. */
struct finding
check_choices(struct cli *c)
{
	const char *gone = engines_gone(c->db, c->conf);

	if (gone != NULL)
		return FOUND(WARN, arena_printf(c->mem, "tenants have chosen engines that are not offered any more, "
		    "and have none: %s", gone), "Name them in engine.….others again, or have these tenants choose anew.");
	return FOUND(OK, "tenants have the engines that they have chosen", NULL);
}

static struct finding
check_engine(struct cli *c, const struct engine_settings *set)
{
	const char *model = set->model;

	if (strcmp(set->name, "http") == 0)
		return FOUND(OK, set->url, NULL);
	if (strcmp(set->name, "sherpa") == 0)
		return check_sherpa(c, set);
	if (model == NULL)
		model = SPEECH_MODEL;
	if (access(arena_printf(c->mem, "%s/en-us.lm.bin", model), R_OK) != 0)
		return FOUND(WARN, arena_printf(c->mem, "there is no model in %s", model),
		    "Install the package pocketsphinx-en-us, or set engine.transcribe = http.");
	return FOUND(OK, "built-in engine with its model: clean English only; for more see engine.transcribe", NULL);
}

/* That of the settings, and those that tenants may choose: the first of which there is something to tell. */
struct finding
check_speech(struct cli *c)
{
	const struct engine_settings *set = &c->conf->engine[ENGINE_transcribe];
	const struct strings all = engines_of(c->mem, set);
	const struct finding usual = check_engine(c, set);

	for (size_t i = 1; usual.level == OK && i + 1 < all.n; i++) {
		const struct engine_settings other = engines_chosen(c->mem, set, all.at[i]);
		const struct finding found = check_engine(c, &other);

		if (found.level != OK)
			return FOUND(found.level, arena_printf(c->mem, "%s, which tenants may choose: %s", all.at[i],
			    found.text), found.remedy);
	}
	return usual;
}

/* Words of a sentence, one in each line, as a file in memory. */
static int
make_words(void)
{
	static const char words[] = "good\nmorning\neverybody\nhow\nare\nyou\n";
	const int fd = memfd_create("words", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, words, sizeof(words) - 1) == (ssize_t)sizeof(words) - 1)
		return fd;
	close(fd);
	return -1;
}

/* What puts marks between words. */
struct finding
check_punctuation(struct cli *c)
{
	const struct engine_settings *set = &c->conf->engine[ENGINE_punctuate];
	const char *dir = sherpa_dir(c->mem, c->conf), *model, *fault, *said;
	int64_t bytes = 0;
	int words;

	if (strcmp(set->name, "none") == 0)
		return FOUND(OK, "by rules, where engines give none", NULL);
	if (dir == NULL)
		return FOUND(FAIL, "sherpa-onnx is not installed", DOCTOR_SHERPA);
	model = sherpa_model_file(c->mem, set->model, &bytes);
	if (model == NULL)
		return FOUND(FAIL, arena_printf(c->mem, "there is no model in %s", set->model), "Put a CT-Transformer "
		    "there, readable for the account of the programs: " MARKS_MODELS ".");
	words = make_words();
	fault = doctor_listens_to(c, (const char *[]){ jail_helper(c->mem, "kinothek-speech"), "marks", dir, model,
	    NULL }, (const char *[]){ dir, model, NULL }, speech_memory(bytes), words, &said);
	close(words);
	if (fault != NULL)
		return FOUND(FAIL, arena_printf(c->mem, "the model %s cannot be used: %s", model, fault), "Get the "
		    "file again, and see whether it is one for punctuation: " MARKS_MODELS ".");
	return FOUND(OK, arena_printf(c->mem, "by %s, in %s", model, set->languages != NULL ? set->languages :
	    "any language"), NULL);
}
