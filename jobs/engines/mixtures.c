/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engines that are always there: kinothek-speech in the jail tells voices apart without a trained model, and knows
 * them by the acoustic model of pocketsphinx. */
#include <unistd.h>

#include "jobs/engines/conversation.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/supervector.h"
#include "jobs/engines/worker.h"

/* Seconds that a second of sound may take: 30 times what it takes. */
enum { CPU_FACTOR = 1 };

static const char *
mixtures_version(struct arena *mem, const struct conf *conf)
{
	return "mixtures 1";
}

static bool
mixtures_knows(const struct conf *conf, const char *language)
{
	return true;
}

static enum outcome
mixtures_run(struct conversation *c)
{
	const char *args[] = { "voices", NULL };
	const struct worker w = { .args = args, .memory = speech_memory(0), .cpu_factor = CPU_FACTOR };

	return worker_tell_apart(c, &w);
}

/* Without the model there are no prints. */
static enum outcome
mixtures_print(struct conversation *c)
{
	const char *args[] = { "prints", SPEECH_MODEL, NULL }, *read[] = { SPEECH_MODEL, NULL };
	const struct worker w = { .args = args, .read = read, .memory = speech_memory(0), .cpu_factor = CPU_FACTOR };

	return access(SPEECH_MODEL "/en-us/means", R_OK) == 0 ? worker_print(c, &w) : DONE;
}

const struct engine engine_diarize_mixtures = {
	.family = ENGINE_diarize, .name = "mixtures", .version = mixtures_version, .knows = mixtures_knows,
	.run.diarize = mixtures_run,
};

/* Measured by tests/bench/voices. */
const struct engine engine_voiceprint_mixtures = {
	.family = ENGINE_voiceprint, .name = "mixtures", .version = voiceprint_maker, .knows = mixtures_knows,
	.likeness = { supervector_likeness, 0.55, 0.40 }, .run.voiceprint = mixtures_print,
};
