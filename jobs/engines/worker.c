/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech in the jail: its lines into segments and spans. */
#include <string.h>

#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/worker.h"

/* Seconds; bytes; spans of one run, which go over as arguments. */
enum { IDLE_SECONDS = 300, FIND_IDLE_SECONDS = 60, SCRATCH = 64 << 20, LINE_MAX = 1 << 20, SPANS_MAX = 4000 };

struct report { struct position at, length; };
static const struct field report_fields[] = {
	FIELD(struct report, at, .doc = "Heard up to here"),
	FIELD(struct report, length, .doc = "Of the recording"),
};
static const struct record report_record = RECORD("report", struct report, report_fields);

struct found { struct position start, end; };
static const struct field found_fields[] = {
	FIELD(struct found, start, .doc = "Somebody begins to speak"),
	FIELD(struct found, end, .doc = "And stops"),
};
static const struct record found_record = RECORD("found", struct found, found_fields);

struct listener {
	struct hearing *hearing;
	struct arena *scratch;
	struct buf line;
	struct buf found;				/* struct span, one after the other */
	int64_t end;					/* of the last one */
	bool align;
	bool (*take)(struct listener *, const char *line);
	bool confused;
};

static bool
segment_is_sound(const struct segment *s, int64_t length, bool may_lack_words)
{
	const struct word *w = s->words.rows;
	size_t i;

	if (s->text == NULL || (s->words.n == 0 && !may_lack_words) || !s->start.set || !s->end.set ||
	    s->start.ms > s->end.ms || s->end.ms > length)
		return false;
	for (i = 0; i < s->words.n; i++)
		if (w[i].text == NULL || w[i].text[0] == '\0' || w[i].start.ms > w[i].end.ms || w[i].end.ms > length +
		    1000 || !(w[i].confidence >= 0 && w[i].confidence <= 1))
			return false;
	return true;
}

static bool
take_segment(struct listener *l, const char *line)
{
	struct segment *s = record_parse(l->scratch, &segment_record, line);

	if (s == NULL || !segment_is_sound(s, l->hearing->length, l->align))
		return false;
	if (l->align)
		s->words = transcript_align(l->scratch, s->text, s->start.ms, s->end.ms, &s->words);
	if (s->words.n > 0)
		l->hearing->heard(l->hearing->user, s);
	return true;
}

/* In the order of time, without overlap. */
static bool
take_span(struct listener *l, const char *line)
{
	const struct found *f = record_parse(l->scratch, &found_record, line);
	struct span s;

	if (f == NULL || !f->start.set || !f->end.set)
		return false;
	s = (struct span){ f->start.ms, f->end.ms };
	if (s.start < l->end || s.end <= s.start || s.end > l->hearing->length)
		return false;
	buf_add(&l->found, &s, sizeof(s));
	l->end = s.end;
	return true;
}

static bool
take_line(struct listener *l, const char *line)
{
	struct hearing *h = l->hearing;
	const struct report *r;

	if (strncmp(line, "{\"at\":", 6) != 0)
		return l->take(l, line);
	r = record_parse(l->scratch, &report_record, line);
	/* Finding is no progress, but a sign of life. */
	if (r != NULL && r->length.ms > 0)
		h->progress(h->user, l->take == take_span ? 0 : r->at.ms < r->length.ms ?
		    (int)(r->at.ms * 100 / r->length.ms) : 100);
	return r != NULL;
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
	l->confused = l->line.len > LINE_MAX;
	return !l->confused;
}

/* True when it came to a good end; else the hearing has the fault. */
static bool
work(struct listener *l, const struct worker *w, const char *const *argv)
{
	struct hearing *h = l->hearing;
	const int seconds = (int)(h->length / 1000) * w->cpu_factor + 120;
	const int idle = w->idle_seconds > 0 ? w->idle_seconds : IDLE_SECONDS;
	const struct jail jail = { .argv = argv, .read = w->read, .in = h->pcm, .memory = w->memory,
	    .cpu_seconds = seconds, .wall_seconds = seconds * 4, .idle_seconds = idle, .on_out = take_bytes, .user = l,
	    .threads_only = true };
	struct jail_result r;
	bool fine;

	l->scratch = arena_new(SCRATCH);
	l->line = l->found = (struct buf)BUF(h->mem);
	fine = jail_run(h->mem, &jail, &r) && !l->confused;
	arena_free(l->scratch);
	if (fine)
		return true;
	if (l->confused)
		return fault_set(h->mem, &h->fault, REASON_OUTPUT_INVALID,
		    "The speech program gave an answer that makes no sense.");
	fault_of_jail(h->mem, &jail, &r, &h->fault);
	if (w->explain != NULL)
		w->explain(h, &r);
	return false;
}

enum outcome
worker_hear(struct hearing *h, const struct worker *w)
{
	struct listener l = { .hearing = h, .take = take_segment, .align = w->align };
	size_t given = 0, from, i;
	const char **argv;

	while (w->args[given] != NULL)
		given++;
	argv = arena_array(h->mem, given + SPANS_MAX + 2, sizeof(*argv));
	argv[0] = jail_helper(h->mem, "kinothek-speech");
	memcpy(argv + 1, w->args, given * sizeof(*argv));
	for (from = 0; from < h->n_spans; from += i) {
		for (i = 0; i < SPANS_MAX && from + i < h->n_spans; i++)
			argv[1 + given + i] = arena_printf(h->mem, "%lld-%lld", (long long)h->spans[from + i].start,
			    (long long)h->spans[from + i].end);
		argv[1 + given + i] = NULL;
		if (!work(&l, w, argv))
			return fault_is_final(&h->fault) ? GIVE_UP : RETRY;
	}
	h->progress(h->user, 100);
	return DONE;
}

bool
worker_find(struct hearing *h, const char *dir, struct span **spans, size_t *n)
{
	const char *argv[] = { jail_helper(h->mem, "kinothek-speech"), "find", dir, NULL }, *read[] = { dir, NULL };
	const struct worker w = { .read = read, .memory = speech_memory(0), .cpu_factor = 1,
	    .idle_seconds = h->patience > 0 ? h->patience : FIND_IDLE_SECONDS };
	struct listener l = { .hearing = h, .take = take_span };

	if (!work(&l, &w, argv))
		return false;
	*spans = (struct span *)(void *)l.found.text;
	*n = l.found.len / sizeof(**spans);
	return true;
}
