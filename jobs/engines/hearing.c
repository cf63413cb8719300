/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Before any engine: where does somebody speak at all? */
#include <string.h>
#include <unistd.h>

#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/worker.h"

#define BY_LOUDNESS "Speech was looked for by loudness alone, which takes music for it: "

/* True when Silero VAD has looked. */
static bool
find_voices(struct hearing *h, struct span **spans, size_t *n)
{
	const char *dir = sherpa_dir(h->mem, h->conf);
	bool found;

	if (dir == NULL) {
		h->note = BY_LOUDNESS "the library of the neural detection is not installed.";
		return false;
	}
	found = worker_find(h, dir, spans, n);
	if (!found)
		h->note = arena_printf(h->mem, BY_LOUDNESS "the neural detection failed (%s).\n%s",
		    reason_info(h->fault.reason)->code, h->fault.log != NULL ? h->fault.log : "");
	h->fault = (struct fault){ .reason = REASON_NONE };
	return found;
}

/* Spans and note of the hearing.  False: the sound cannot be read. */
static bool
find(struct hearing *h)
{
	int64_t length = h->length;
	struct span *spans;

	if (find_voices(h, &spans, &h->n_spans)) {
		spans = vad_arrange(h->mem, h->pcm, spans, &h->n_spans, length);
		length = spans == NULL ? -1 : length;
	} else {
		spans = vad_find(h->mem, h->pcm, &h->n_spans, &length);
	}
	h->spans = spans;
	return length >= 0;
}

enum outcome
engine_hear(const struct engine *engine, struct hearing *h)
{
	if (!find(h))
		return engine_fail(h, REASON_INTERNAL, "The sound could not be read.");
	return h->n_spans == 0 ? DONE : engine->run.transcribe(h);
}

enum outcome
engine_hear_stretch(const struct engine *engine, struct hearing *h)
{
	const struct span whole = { 0, h->length };
	struct span *spans;
	size_t n;
	enum outcome outcome;

	if (find_voices(h, &spans, &n) && n == 0)
		return DONE;
	h->spans = &whole;
	h->n_spans = 1;
	outcome = engine->run.transcribe(h);
	h->spans = NULL;
	return outcome;
}

enum outcome
engine_tell_apart(const struct engine *engine, struct conversation *c)
{
	struct hearing h = { .mem = c->mem, .conf = c->conf, .pcm = c->pcm, .length = c->length,
	    .progress = c->progress, .user = c->user };

	if (!find(&h)) {
		fault_set(c->mem, &c->fault, REASON_INTERNAL, "The sound could not be read.");
		return RETRY;
	}
	c->note = h.note;
	c->spans = h.spans;
	c->n_spans = h.n_spans;
	c->n = 0;
	return h.n_spans == 0 ? DONE : engine->run.diarize(c);
}
