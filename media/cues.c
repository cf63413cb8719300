/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cues out of the lines of a file. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/text.h"
#include "media/charset.h"
#include "media/cues.h"
#include "media/ttml.h"

/* Milliseconds; bytes. */
enum { LONGEST = 100 * 3600 * 1000, UNTIMED = 2000, TEXT_MAX = 4000, SHOWN = 80, LANGUAGE_MAX = 36 };
enum { HEAD_LINES = 20 };		/* that are looked at for what a file says of itself */

/* One line, from 1; *at moves behind its end. */
struct line { const char *text; size_t n, number; };

static bool
next_line(const char **at, const char *end, struct line *l)
{
	const char *p = *at;

	if (p >= end)
		return false;
	while (p < end && *p != '\n' && *p != '\r')
		p++;
	*l = (struct line){ *at, (size_t)(p - *at), l->number + 1 };
	if (p < end && *p++ == '\r' && p < end && *p == '\n')
		p++;
	*at = p;
	return true;
}

static bool
is_blank(const struct line *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->text[i] != ' ' && l->text[i] != '\t')
			return false;
	return true;
}

static bool
is_number(const struct line *l)
{
	size_t i = 0;

	while (i < l->n && isdigit((unsigned char)l->text[i]))
		i++;
	return i > 0 && i == l->n;
}

static bool
begins(const struct line *l, const char *word)
{
	const size_t n = strlen(word);

	return l->n >= n && strncasecmp(l->text, word, n) == 0 && (l->n == n || strchr(" \t", l->text[n]) != NULL);
}

static const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* Is the character next, perhaps behind blanks, and a digit behind it?  *p moves to that. */
static bool
before_digit(const char **p, const char *end, const char *any_of)
{
	const char *q = skip_blanks(*p, end);

	if (q >= end || *q == '\0' || strchr(any_of, *q) == NULL)
		return false;
	q = skip_blanks(q + 1, end);
	if (q >= end || !isdigit((unsigned char)*q))
		return false;
	*p = q;
	return true;
}

/* "1:02:03,456", "02:03.456", "0:02:03.45", "00: 02: 03, 4" or "02:03" at *p, which moves on.  False: there is none. */
static bool
time_at(const char **p, const char *end, int64_t *ms)
{
	int64_t parts[3], rest = 0, unit = 100;
	bool negative;
	int n = 0;

	*p = skip_blanks(*p, end);
	negative = *p < end && **p == '-';
	*p += negative;
	if (*p >= end || !isdigit((unsigned char)**p))
		return false;
	do {
		for (parts[n] = 0; *p < end && isdigit((unsigned char)**p) && parts[n] < 100000; (*p)++)
			parts[n] = parts[n] * 10 + **p - '0';
		n++;
	} while (n < 3 && before_digit(p, end, ":"));
	if (n < 2)
		return false;
	if (before_digit(p, end, n == 3 ? ",.:" : ",."))
		for (; *p < end && isdigit((unsigned char)**p); (*p)++, unit /= 10)
			rest += (**p - '0') * unit;
	*ms = (n == 3 ? parts[0] * 3600000 : 0) + parts[n - 2] * 60000 + parts[n - 1] * 1000 + rest;
	*ms = negative ? -*ms : *ms;
	return true;
}

/* "-->" at *p, which moves on; outside of WebVTT, where they are text, also "->", "-- >" and "--&gt;". */
static bool
arrow_at(const char **p, const char *end, bool strict)
{
	const char *q = skip_blanks(*p, end), *first = q;

	if (strict) {
		*p = q + 3;
		return end - q >= 3 && memcmp(q, "-->", 3) == 0;
	}
	while (q < end && *q == '-')
		q++;
	if (q == first)
		return false;
	q = skip_blanks(q, end);
	if (q < end && *q == '>')
		*p = q + 1;
	else if (end - q >= 4 && memcmp(q, "&gt;", 4) == 0)
		*p = q + 4;
	else
		return false;
	return true;
}

enum timing { NO_TIMES, TIMES, UNREADABLE };

/* Does it look as if it told from when to when?  One word with colons in front of an arrow. */
static bool
is_meant(const struct line *l)
{
	const char *arrow = memmem(l->text, l->n, "-->", 3), *end, *p;

	if (arrow == NULL)
		return false;
	p = skip_blanks(l->text, arrow);
	for (end = arrow; end > p && (end[-1] == ' ' || end[-1] == '\t'); end--)
		;
	return p < end && (isdigit((unsigned char)*p) || *p == '-') && memchr(p, ':', (size_t)(end - p)) != NULL &&
	    memchr(p, ' ', (size_t)(end - p)) == NULL && skip_blanks(arrow + 3, l->text + l->n) < l->text + l->n;
}

/* The line that tells from when to when, and what stands behind it. */
static enum timing
timing_of(const struct line *l, struct cue *c, bool strict)
{
	const char *p = l->text, *end = l->text + l->n;

	if (!time_at(&p, end, &c->start) || !arrow_at(&p, end, strict) || !time_at(&p, end, &c->end))
		return is_meant(l) ? UNREADABLE : NO_TIMES;
	c->line = l->number;
	c->settings = p;
	c->n_settings = (size_t)(end - p);
	return TIMES;
}

void
cues_repaired(struct cues *all, enum cue_repair what, size_t line)
{
	if (all->repairs[what].count++ == 0 || (int64_t)line < all->repairs[what].line)
		all->repairs[what].line = (int64_t)line;
}

/* At so many bytes, or before the override that begins there: "{\an8}". */
static size_t
cut(const char *text, size_t n)
{
	const char *open = memrchr(text, '{', n);

	n = open != NULL && memchr(open, '}', n - (size_t)(open - text)) == NULL ? (size_t)(open - text) : n;
	return utf8_prefix(text, n);
}

/* Times as they can be.  False: there is no such time. */
static bool
mend_times(struct cues *all, struct cue *c)
{
	if (c->start > LONGEST || c->end < 0) {
		cues_repaired(all, CUES_times, c->line);
		return false;
	}
	if (c->start < 0) {
		cues_repaired(all, CUES_negative, c->line);
		c->start = 0;
	}
	if (c->end <= c->start) {
		cues_repaired(all, CUES_backwards, c->line);
		c->end = c->start + UNTIMED;
	}
	if (all->n > 0 && c->start < all->at[all->n - 1].start)
		cues_repaired(all, CUES_unordered, c->line);
	return true;
}

void
cues_add(struct cues *all, struct cue c)
{
	struct cue *more;

	all->found++;
	if (all->n == CUES_MAX || !mend_times(all, &c))
		return;
	if (c.n > TEXT_MAX) {
		cues_repaired(all, CUES_long, c.line);
		c.n = cut(c.text, TEXT_MAX);
	}
	if (all->n == all->room) {
		all->room = all->room == 0 ? 256 : all->room * 2;
		more = arena_array(all->mem, all->room, sizeof(*more));
		if (all->n > 0)
			memcpy(more, all->at, all->n * sizeof(*more));
		all->at = more;
	}
	all->at[all->n++] = c;
}

/* How far one has come with the lines of a file. */
struct reader {
	struct cues *all;
	struct cue c;			/* begun; start INT64_MIN: none is */
	const char *end, *before;	/* of its text: behind the last line of it, and behind the one above that */
	bool open;			/* lines belong to it */
	bool to_blank;			/* an empty line ends it */
	bool after_blank;		/* the line above is empty, or there is none */
	bool skipping;			/* a note, up to the next empty line */
	bool names;			/* the last line may be the number or the name of the cue that follows */
	bool numbered;			/* it is a number behind an empty line: even where there is no text before it */
};

/* With the times of the next one, or the end of the file: the line above those is its number or its name. */
static void
finish(struct reader *r)
{
	if (r->names && (r->numbered || r->before > r->c.text))
		r->end = r->before;
	if (r->c.start != INT64_MIN) {
		r->c.n = (size_t)(r->end - r->c.text);
		cues_add(r->all, r->c);
	}
	r->c.start = INT64_MIN;
	r->names = r->open = r->skipping = false;
}

static void
take_text(struct reader *r, const struct line *l)
{
	/* In capitals: others are words. */
	if (r->after_blank && isupper((unsigned char)l->text[1]) && (begins(l, "NOTE") || begins(l, "STYLE") ||
	    begins(l, "REGION")))
		r->skipping = true;
	r->names = false;
	if (!r->open || r->skipping)
		return;
	r->names = r->after_blank || is_number(l);
	r->numbered = r->after_blank && is_number(l);
	r->before = r->end;
	r->end = l->text + l->n;
}

/*
 * A text goes from behind its times to the next ones, without the number or name that stands before those: an empty
 * line is no end of it.  In WebVTT it is, and behind it may be a note or a name.
 */
static void
read_lines(struct cues *all, const char *at, const char *end, bool to_blank)
{
	struct reader r = { .all = all, .c = { .start = INT64_MIN }, .to_blank = to_blank, .after_blank = true };
	struct line l = { NULL, 0, 0 };
	struct cue next = { 0 };
	enum timing timing;

	while (next_line(&at, end, &l)) {
		if (is_blank(&l)) {
			r.after_blank = true;
			r.open = r.open && !to_blank;
			r.skipping = r.names = false;
			continue;
		}
		timing = timing_of(&l, &next, to_blank);
		if (timing == NO_TIMES) {
			take_text(&r, &l);
		} else {
			finish(&r);
			if (timing == UNREADABLE) {
				cues_repaired(all, CUES_times, l.number);
			} else {
				r.c = next;
				r.c.text = r.end = r.before = at;
				r.open = true;
			}
		}
		r.after_blank = false;
	}
	r.names = false;
	finish(&r);
}

/* "Dialogue: Layer,Start,End,Style,Name,MarginL,MarginR,MarginV,Effect,Text", as ffmpeg writes them. */
static void
read_dialogue(struct cues *all, const char *at, const char *end)
{
	static const char word[] = "Dialogue:";
	struct line l = { NULL, 0, 0 };

	while (next_line(&at, end, &l)) {
		const char *p = l.text, *stop = l.text + l.n, *fields[10] = { p };
		struct cue c = { .line = l.number };
		int n = 1;

		if (l.n < sizeof(word) || strncmp(p, word, sizeof(word) - 1) != 0)
			continue;
		for (; p < stop && n < 10; p++)
			if (*p == ',')
				fields[n++] = p + 1;
		if (n < 10 || !time_at(&fields[1], stop, &c.start) || !time_at(&fields[2], stop, &c.end)) {
			cues_repaired(all, CUES_times, l.number);
			continue;
		}
		c.text = fields[9];
		c.n = (size_t)(stop - c.text);
		c.name = fields[4];
		c.n_name = (size_t)(fields[5] - 1 - c.name);
		cues_add(all, c);
	}
}

static int
by_time(const void *a, const void *b)
{
	const struct cue *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* By its first line.  No subtitle of the others begins with a tag. */
static enum subtitles_form
form_of(const char *bytes, size_t n)
{
	static const struct { const char *word; enum subtitles_form form; } heads[] = { { "WEBVTT", SUBTITLES_VTT },
	    { "[Script Info]", SUBTITLES_ASS }, { "[V4+ Styles]", SUBTITLES_ASS }, { "[Events]", SUBTITLES_ASS },
	    { "Dialogue:", SUBTITLES_ASS } };
	const char *at = bytes;
	struct line l = { NULL, 0, 0 };

	while (next_line(&at, bytes + n, &l)) {
		if (is_blank(&l))
			continue;
		if (*skip_blanks(l.text, l.text + l.n) == '<')
			return SUBTITLES_TTML;
		for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
			if (begins(&l, heads[i].word))
				return heads[i].form;
		break;
	}
	return SUBTITLES_SRT;
}

/* In the lines above the first blank one: "Language: de", or behind the word that the file begins with. */
static const char *
told_language(struct arena *mem, const char *at, const char *end)
{
	static const char word[] = "Language:";
	const size_t n = sizeof(word) - 1;
	struct line l = { NULL, 0, 0 };
	const char *p, *stop;

	while (next_line(&at, end, &l) && !is_blank(&l) && l.number <= HEAD_LINES) {
		stop = l.text + l.n;
		for (p = l.text; (size_t)(stop - p) > n; p++)
			if ((p == l.text || strchr(" \t;", p[-1]) != NULL) && strncasecmp(p, word, n) == 0) {
				p = skip_blanks(p + n, stop);
				for (at = p; at < stop && strchr(" \t;", *at) == NULL && at - p < LANGUAGE_MAX; at++)
					continue;
				return arena_copy_n(mem, p, (size_t)(at - p));
			}
	}
	return NULL;
}

static void
read_form(struct cues *all, enum subtitles_form form, const char *text, size_t n)
{
	all->form = form;
	all->text = text;
	all->size = n;
	if (all->encoding != NULL)
		cues_repaired(all, CUES_encoding, 1);
	if (form == SUBTITLES_TTML)
		ttml_read(all, text, n);
	else if (form == SUBTITLES_ASS)
		read_dialogue(all, text, text + n);
	else
		read_lines(all, text, text + n, form == SUBTITLES_VTT);
	if (form == SUBTITLES_VTT)
		all->language = told_language(all->mem, text, text + n);
	if (all->n > 0)
		qsort(all->at, all->n, sizeof(*all->at), by_time);
}

void
cues_read(struct cues *all, enum subtitles_form form, const char *bytes, size_t n)
{
	const char *text = charset_text(all->mem, bytes, &n, &all->encoding);

	read_form(all, form, text, n);
}

void
cues_read_any(struct cues *all, const char *bytes, size_t n)
{
	const char *text = charset_text(all->mem, bytes, &n, &all->encoding);

	read_form(all, form_of(text, n), text, n);
}

void
cues_end(struct cues *all, int64_t duration)
{
	size_t i, kept = 0;

	for (i = 0; duration > 0 && i < all->n; i++) {
		struct cue c = all->at[i];

		if (c.start >= duration) {
			cues_repaired(all, CUES_late, c.line);
			continue;
		}
		if (c.end > duration) {
			cues_repaired(all, CUES_cut, c.line);
			c.end = duration;
		}
		all->at[kept++] = c;
	}
	if (duration > 0)
		all->n = kept;
}

int64_t
cues_first_line(const struct cues *all)
{
	const char *at = all->text;
	struct line l = { NULL, 0, 0 };

	while (next_line(&at, all->text + all->size, &l))
		if (!is_blank(&l))
			return (int64_t)l.number;
	return 0;
}

const char *
cues_line(const struct cues *all, int64_t number)
{
	const char *at = all->text;
	struct line l = { NULL, 0, 0 };
	size_t n = 0, characters = 0;

	while (next_line(&at, all->text + all->size, &l) && (int64_t)l.number < number)
		;
	if ((int64_t)l.number != number)
		return "";
	for (; n < l.n && l.text[n] != '\0'; n++)
		if (((unsigned char)l.text[n] & 0xc0) != 0x80 && ++characters > SHOWN)
			break;
	return utf8_to_line(all->mem, arena_copy_n(all->mem, l.text, n));
}
