/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine that is always there: kinothek-speech in the jail.  Clean English only, without case and punctuation. */
#include <string.h>
#include <strings.h>
#include <sysexits.h>

#include "core/jail.h"
#include "jobs/engines/engine.h"

/* Decoding takes 0.2 of real time on one core; a machine four times slower than real time still gets through. */
enum { CPU_FACTOR = 4, IDLE_SECONDS = 300, SCRATCH = 64 << 20 };

/* Address space that AddressSanitizer reserves is not memory that is used. */
#ifdef KINOTHEK_ARENA_MALLOC
static const int64_t memory_limit = INT64_C(1) << 46;
#else
static const int64_t memory_limit = INT64_C(1) << 30;
#endif

/* Lines of the worker: a segment, or how far it is. */
struct report { struct position at, length; };
static const struct field report_fields[] = {
	FIELD(struct report, at, .doc = "Heard up to here"),
	FIELD(struct report, length, .doc = "Of the recording"),
};
static const struct record report_record = RECORD("report", struct report, report_fields);

struct listener { struct hearing *hearing; struct arena *scratch; struct buf line; bool confused; };

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
pocketsphinx_knows(const char *language)
{
	return strcasecmp(language, "en") == 0 || strncasecmp(language, "en-", 3) == 0;
}

/* The worker has read a stranger's sound: its answers are checked like any input. */
static bool
segment_is_sound(const struct segment *s, int64_t length)
{
	const struct word *w = s->words.rows;
	size_t i;

	if (s->text == NULL || s->words.n == 0 || !s->start.set || !s->end.set || s->start.ms > s->end.ms ||
	    s->end.ms > length)
		return false;
	for (i = 0; i < s->words.n; i++)
		if (w[i].text == NULL || w[i].text[0] == '\0' || w[i].start.ms > w[i].end.ms || w[i].end.ms > length +
		    1000 || !(w[i].confidence >= 0 && w[i].confidence <= 1))
			return false;
	return true;
}

static bool
take_line(struct listener *l, const char *line)
{
	struct hearing *h = l->hearing;
	const struct report *r;
	struct segment *s;

	if (strncmp(line, "{\"at\":", 6) == 0) {
		r = record_parse(l->scratch, &report_record, line);
		if (r != NULL && r->length.ms > 0)
			h->progress(h->user, r->at.ms < r->length.ms ? (int)(r->at.ms * 100 / r->length.ms) : 100);
		return r != NULL;
	}
	s = record_parse(l->scratch, &segment_record, line);
	if (s == NULL || !segment_is_sound(s, h->length))
		return false;
	h->heard(h->user, s);
	return true;
}

static bool
take_bytes(void *user, const char *bytes, size_t n)
{
	struct listener *l = user;
	const char *end;

	while ((end = memchr(bytes, '\n', n)) != NULL) {
		buf_add(&l->line, bytes, (size_t)(end - bytes));
		l->confused = !take_line(l, buf_string(&l->line));
		arena_reset(l->scratch);
		if (l->confused)
			return false;
		l->line.len = 0;
		n -= (size_t)(end + 1 - bytes);
		bytes = end + 1;
	}
	buf_add(&l->line, bytes, n);
	l->confused = l->line.len > 1 << 20;
	return !l->confused;
}

static enum outcome
explain(struct hearing *h, const struct listener *l, const struct jail *jail, const struct jail_result *r)
{
	if (l->confused)
		return engine_fail(h, REASON_OUTPUT_INVALID, "The speech program gave an answer that makes no sense.");
	fault_of_jail(h->mem, jail, r, &h->fault);
	if (r->end == JAIL_EXITED && r->status == EX_CONFIG) {
		h->fault.reason = REASON_ENGINE_REFUSED;
		h->fault.detail = "There is no speech model where the settings name one.";
	}
	return fault_is_final(&h->fault) ? GIVE_UP : RETRY;
}

static enum outcome
pocketsphinx_run(struct hearing *h)
{
	const char *model = model_of(h->conf);
	const char *argv[] = { jail_helper(h->mem, "kinothek-speech"), model, NULL }, *read[] = { model, NULL };
	struct listener l = { h, arena_new(SCRATCH), BUF(h->mem), false };
	int seconds = (int)(h->length / 1000) * CPU_FACTOR + 120;
	struct jail jail = { .argv = argv, .read = read, .in = h->pcm, .memory = memory_limit, .cpu_seconds = seconds,
	    .wall_seconds = seconds * 4, .idle_seconds = IDLE_SECONDS, .on_out = take_bytes, .user = &l,
	    .threads_only = true };
	struct jail_result r;
	bool fine;

	fine = jail_run(h->mem, &jail, &r) && !l.confused;
	arena_free(l.scratch);
	return fine ? DONE : explain(h, &l, &jail, &r);
}

const struct engine engine_transcribe_pocketsphinx = {
	.family = ENGINE_transcribe, .name = "pocketsphinx", .confidences = true, .version = pocketsphinx_version,
	.knows = pocketsphinx_knows, .run.transcribe = pocketsphinx_run,
};
