/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine that is always there: kinothek-speech in the jail.  Clean English only, without case and punctuation. */
#include <string.h>
#include <strings.h>
#include <sysexits.h>

#include "core/disk.h"
#include "core/spoken.h"
#include "jobs/engines/arpa.h"
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

static void
explain(struct hearing *h, const struct jail_result *r)
{
	if (r->end != JAIL_EXITED || r->status != EX_CONFIG)
		return;
	h->fault.reason = REASON_MODEL_MISSING;
	h->fault.detail = "There is no speech model where the settings name one.";
}

/* The hints as a language model for the worker; NULL: there are none, or they cannot be handed over, which is no reason
 * not to listen. */
static const char *
write_hints(struct hearing *h)
{
	const char *path = arena_printf(h->mem, "%s/hints.arpa", h->work_dir);
	struct buf arpa = BUF(h->mem);
	struct strings all;
	size_t n;

	if (h->hints == NULL || h->work_dir == NULL)
		return NULL;
	n = h->hints->texts.n + h->hints->terms.n;
	all = (struct strings){ arena_array(h->mem, n, sizeof(const char *)), 0 };
	for (n = 0; n < h->hints->terms.n; n++)
		all.at[all.n++] = h->hints->terms.at[n];
	for (n = 0; n < h->hints->texts.n; n++)
		all.at[all.n++] = h->hints->texts.at[n];
	return arpa_write(&arpa, &all) && disk_put(path, arpa.text, arpa.len) ? path : NULL;
}

static enum outcome
pocketsphinx_run(struct hearing *h)
{
	const char *model = model_of(h->conf), *hints = write_hints(h);
	const char *args[] = { "pocketsphinx", model, hints, NULL }, *read[] = { model, hints, NULL };
	const struct worker w = { .args = args, .read = read, .memory = speech_memory(0), .cpu_factor = CPU_FACTOR,
	    .explain = explain };

	return worker_hear(h, &w);
}

const struct engine engine_transcribe_pocketsphinx = {
	.family = ENGINE_transcribe, .name = "pocketsphinx", .version = pocketsphinx_version,
	.knows = spoken_known, .run.transcribe = pocketsphinx_run,
};
