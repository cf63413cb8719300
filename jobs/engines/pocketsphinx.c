/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine that is always there: kinothek-speech in the jail.  Clean English only, without case and punctuation. */
#include <string.h>
#include <strings.h>
#include <sysexits.h>

#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/worker.h"

/* Decoding takes 0.2 of real time on one core; a machine four times slower than real time still gets through. */
enum { CPU_FACTOR = 4 };

static const char *
model_of(const struct conf *conf)
{
	const char *model = conf->engine[ENGINE_transcribe].model;

	return model != NULL ? model : SPEECH_MODEL;
}

static const char *
pocketsphinx_version(struct arena *mem, const struct conf *conf)
{
	const char *model = model_of(conf), *slash = strrchr(model, '/');

	return arena_printf(mem, "pocketsphinx 5prealpha, %s", slash != NULL ? slash + 1 : model);
}

static bool
pocketsphinx_knows(const struct conf *conf, const char *language)
{
	return strcasecmp(language, "en") == 0 || strncasecmp(language, "en-", 3) == 0;
}

static void
explain(struct hearing *h, const struct jail_result *r)
{
	if (r->end != JAIL_EXITED || r->status != EX_CONFIG)
		return;
	h->fault.reason = REASON_MODEL_MISSING;
	h->fault.detail = "There is no speech model where the settings name one.";
}

static enum outcome
pocketsphinx_run(struct hearing *h)
{
	const char *model = model_of(h->conf);
	const char *args[] = { "pocketsphinx", model, NULL }, *read[] = { model, NULL };
	const struct worker w = { .args = args, .read = read, .memory = speech_memory(0), .cpu_factor = CPU_FACTOR,
	    .explain = explain };

	return worker_hear(h, &w);
}

const struct engine engine_transcribe_pocketsphinx = {
	.family = ENGINE_transcribe, .name = "pocketsphinx", .version = pocketsphinx_version,
	.knows = pocketsphinx_knows, .run.transcribe = pocketsphinx_run,
};
