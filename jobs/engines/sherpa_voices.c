/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Neural models of the operator's for voices: one that finds turns in the sound, and one that compares voices, by which
 * the turns are told apart and by which a voice is known again.
 */
#include <string.h>

#include "jobs/engines/sherpa.h"
#include "jobs/engines/sherpa_library.h"
#include "jobs/engines/sherpa_model.h"

/* Seconds that a second of sound may take: each is heard ten times by both models. */
enum { CPU_FACTOR = 20 };

/* The address space of the sound and of how far all voices of its windows are from each other (speech_turns.c). */
enum { BYTES_PER_MS = 16 * 4, DISTANCES = 512 << 20, LONGEST_MS = 6 * 3600 * 1000 };

static const char *
turns_version(struct arena *mem, const struct conf *conf)
{
	return arena_printf(mem, "sherpa-onnx " SHERPA_VERSION ", %s, %s",
	    sherpa_model_name(conf->engine[ENGINE_diarize].model),
	    sherpa_model_name(conf->engine[ENGINE_diarize].voices));
}

static bool
voices_known(const struct conf *conf, const char *language)
{
	return true;
}

static void
explain_turns(struct hearing *h, const struct jail_result *r)
{
	sherpa_explain(h, r, "model that tells voices apart, or the one that knows them again,");
}

static void
explain_prints(struct hearing *h, const struct jail_result *r)
{
	sherpa_explain(h, r, "model that knows voices again");
}

static enum outcome
missing(struct conversation *c, const char *library)
{
	if (library == NULL)
		fault_set(c->mem, &c->fault, REASON_MODEL_MISSING, SHERPA_ABSENT);
	else
		fault_set(c->mem, &c->fault, REASON_MODEL_MISSING, "A model for voices is missing.");
	return fault_is_final(&c->fault) ? GIVE_UP : RETRY;
}

static enum outcome
turns_run(struct conversation *c)
{
	const struct engine_settings *set = &c->conf->engine[ENGINE_diarize];
	const char *library = sherpa_dir(c->mem, c->conf);
	int64_t turns_bytes = 0, voices_bytes = 0, sound;
	const char *turns = sherpa_model_file(c->mem, set->model, &turns_bytes);
	const char *voices = sherpa_model_file(c->mem, set->voices, &voices_bytes);
	const char *args[] = { "voices", library, turns, voices, NULL }, *read[] = { library, turns, voices, NULL };
	struct worker w = { .args = args, .read = read, .cpu_factor = CPU_FACTOR, .explain = explain_turns };

	if (library == NULL || turns == NULL || voices == NULL)
		return missing(c, library);
	sound = c->length < LONGEST_MS ? c->length : LONGEST_MS;
	w.memory = speech_memory(turns_bytes + voices_bytes) + DISTANCES + sound * BYTES_PER_MS;
	return worker_tell_apart(c, &w);
}

static enum outcome
prints_run(struct conversation *c)
{
	const char *library = sherpa_dir(c->mem, c->conf);
	int64_t bytes = 0;
	const char *model = sherpa_model_file(c->mem, c->conf->engine[ENGINE_voiceprint].model, &bytes);
	const char *args[] = { "prints", library, model, NULL }, *read[] = { library, model, NULL };
	struct worker w = { .args = args, .read = read, .cpu_factor = CPU_FACTOR, .explain = explain_prints };

	if (library == NULL || model == NULL)
		return missing(c, library);
	w.memory = speech_memory(bytes);
	return worker_print(c, &w);
}

const struct engine engine_diarize_sherpa = {
	.family = ENGINE_diarize, .name = "sherpa", .version = turns_version, .knows = voices_known,
	.run.diarize = turns_run,
};

/* 0.6 is what the library's own example of knowing speakers asks for; what one may be is asked from somewhat less. */
const struct engine engine_voiceprint_sherpa = {
	.family = ENGINE_voiceprint, .name = "sherpa", .version = voiceprint_maker, .knows = voices_known,
	.likeness = { voiceprint_cosine, 0.60, 0.45 }, .run.voiceprint = prints_run,
};
