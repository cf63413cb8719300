/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech in the jail: its lines into segments and spans. */
#include <string.h>

#include "core/text.h"
#include "jobs/engines/diarize.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/worker.h"

/* Seconds; bytes; spans of one run, which go over as arguments. */
enum { IDLE_SECONDS = 300, FIND_IDLE_SECONDS = 60, SCRATCH = 64 << 20, LINE_MAX = 1 << 20, SPANS_MAX = 4000,
    SPANS_OF_ALL = 20000 };

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

struct heard_voice { struct list turns; struct position speech; };
static const struct field heard_voice_fields[] = {
	FIELD(struct heard_voice, turns, .of = &turn_record, .doc = "When it speaks"),
	FIELD(struct heard_voice, speech, .doc = "How long in all"),
};
static const struct record heard_voice_record = RECORD("heardVoice", struct heard_voice, heard_voice_fields);

struct heard_print { const char *print; };
static const struct field heard_print_fields[] = {
	FIELD(struct heard_print, print, .doc = "What tells a voice from others"),
};
static const struct record heard_print_record = RECORD("heardPrint", struct heard_print, heard_print_fields);

struct listener {
	struct hearing *hearing;
	struct arena *scratch;
	struct buf line;
	struct buf found;				/* struct span, one after the other */
	int64_t end;					/* of the last one */
	struct conversation *conversation;
	size_t printed;					/* voices of it */
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

/* In the order of time, without overlap. */
static bool
turns_are_sound(const struct list *turns, int64_t length)
{
	const struct turn *t = turns->rows;

	for (size_t i = 0; i < turns->n; i++)
		if (!t[i].start.set || !t[i].end.set || t[i].end.ms <= t[i].start.ms || t[i].end.ms > length ||
		    t[i].start.ms < (i > 0 ? t[i - 1].end.ms : 0))
			return false;
	return turns->n > 0;
}

/* All of as many numbers as the first. */
static bool
take_print(struct listener *l, const char *line)
{
	struct conversation *c = l->conversation;
	const struct heard_print *p = record_parse(c->mem, &heard_print_record, line);
	struct told *t = &c->voices[l->printed];
	unsigned char *bytes;
	long n;

	if (p == NULL || l->printed == c->n)
		return false;
	l->printed++;
	if (p->print == NULL)
		return true;
	n = base64url_decode(c->mem, p->print, strlen(p->print), &bytes);
	t->print = n > 0 ? voiceprint_from(c->mem, bytes, (size_t)n) : NULL;
	if (t->print == NULL)
		return false;
	for (size_t i = 0; i < l->printed; i++)
		if (c->voices[i].print != NULL && c->voices[i].print->n != t->print->n)
			return false;
	return true;
}

static bool
take_voice(struct listener *l, const char *line)
{
	struct conversation *c = l->conversation;
	const struct heard_voice *v = record_parse(c->mem, &heard_voice_record, line);
	struct told *t = &c->voices[c->n];

	if (v == NULL || c->n == DIARIZE_VOICES || !turns_are_sound(&v->turns, c->length) || v->speech.ms < 0 ||
	    v->speech.ms > c->length)
		return false;
	*t = (struct told){ .turns = v->turns, .speech = v->speech.ms };
	c->n++;
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

/* The words before the spans, and room for so many. */
static const char **
arguments(struct arena *mem, const struct worker *w, size_t spans, size_t *given)
{
	const char **argv;

	for (*given = 0; w->args[*given] != NULL;)
		++*given;
	argv = arena_array(mem, *given + spans + 2, sizeof(*argv));
	argv[0] = jail_helper(mem, "kinothek-speech");
	memcpy(argv + 1, w->args, *given * sizeof(*argv));
	++*given;
	return argv;
}

static const char *
span_text(struct arena *mem, const struct span *s)
{
	return arena_printf(mem, "%lld-%lld", (long long)s->start, (long long)s->end);
}

enum outcome
worker_hear(struct hearing *h, const struct worker *w)
{
	struct listener l = { .hearing = h, .take = take_segment, .align = w->align };
	size_t given, from, i;
	const char **argv = arguments(h->mem, w, SPANS_MAX, &given);

	for (from = 0; from < h->n_spans; from += i) {
		for (i = 0; i < SPANS_MAX && from + i < h->n_spans; i++)
			argv[given + i] = span_text(h->mem, &h->spans[from + i]);
		argv[given + i] = NULL;
		if (!work(&l, w, argv))
			return fault_is_final(&h->fault) ? GIVE_UP : RETRY;
	}
	h->progress(h->user, 100);
	return DONE;
}

enum outcome
worker_tell_apart(struct conversation *c, const struct worker *w)
{
	struct hearing h = { .mem = c->mem, .conf = c->conf, .pcm = c->pcm, .length = c->length,
	    .progress = c->progress, .user = c->user };
	struct listener l = { .hearing = &h, .take = take_voice, .conversation = c };
	size_t given, i;
	const char **argv = arguments(c->mem, w, SPANS_OF_ALL, &given);

	for (i = 0; i < SPANS_OF_ALL && i < c->n_spans; i++)
		argv[given + i] = span_text(c->mem, &c->spans[i]);
	c->voices = arena_array(c->mem, DIARIZE_VOICES, sizeof(*c->voices));
	c->n = 0;
	if (work(&l, w, argv))
		return DONE;
	c->fault = h.fault;
	return fault_is_final(&c->fault) ? GIVE_UP : RETRY;
}

/* Its turns, as far as a print takes them; no more than an argument may hold. */
static const char *
turns_text(struct arena *mem, const struct told *t)
{
	const struct turn *at = t->turns.rows;
	struct buf out = BUF(mem);
	int64_t left = VOICEPRINT_MOST_MS;

	for (size_t i = 0; i < t->turns.n && i < SPANS_MAX && left > 0; i++) {
		const int64_t ms = at[i].end.ms - at[i].start.ms;
		const struct span s = { at[i].start.ms, at[i].start.ms + (ms < left ? ms : left) };

		buf_printf(&out, "%s%s", i > 0 ? "," : "", span_text(mem, &s));
		left -= ms;
	}
	return buf_string(&out);
}

enum outcome
worker_print(struct conversation *c, const struct worker *w)
{
	struct hearing h = { .mem = c->mem, .conf = c->conf, .pcm = c->pcm, .length = c->length,
	    .progress = c->progress, .user = c->user };
	struct listener l = { .hearing = &h, .take = take_print, .conversation = c };
	size_t given, i;
	const char **argv = arguments(c->mem, w, c->n, &given);

	for (i = 0; i < c->n; i++)
		argv[given + i] = turns_text(c->mem, &c->voices[i]);
	if (work(&l, w, argv) && l.printed == c->n)
		return DONE;
	if (h.fault.reason == REASON_NONE)
		fault_set(c->mem, &h.fault, REASON_OUTPUT_INVALID, "The speech program has left out a voice.");
	for (i = 0; i < c->n; i++)
		c->voices[i].print = NULL;
	c->fault = h.fault;
	return fault_is_final(&c->fault) ? GIVE_UP : RETRY;
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
