/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subtitles from the forms that containers hold to WebVTT. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/ucnv.h>
#include <unicode/ucsdet.h>

#include "core/text.h"
#include "media/subtitles.h"

/* Milliseconds; a confidence of ICU, in percent. */
enum { LONGEST = 100 * 3600 * 1000, UNTIMED = 2000, CERTAIN = 25 };
enum { CUES_MAX = 100000, TEXT_MAX = 4000, TAG_MAX = 80 };

struct cue { int64_t start, end; const char *text, *settings; size_t n, n_settings; int place; };

struct cues { struct arena *mem; struct cue *at; size_t n, room; };

/* One line; *at moves behind its end. */
struct line { const char *text; size_t n; };

static bool
next_line(const char **at, const char *end, struct line *l)
{
	const char *p = *at;

	if (p >= end)
		return false;
	while (p < end && *p != '\n' && *p != '\r')
		p++;
	*l = (struct line){ *at, (size_t)(p - *at) };
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

/* "1:02:03,456", "02:03.456" or "0:02:03.45" at *p, which moves on; -1 when there is none. */
static int64_t
time_at(const char **p, const char *end)
{
	int64_t parts[3], ms = 0, unit = 100;
	int n = 0;

	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	for (;;) {
		if (n == 3 || *p >= end || !isdigit((unsigned char)**p))
			return -1;
		for (parts[n] = 0; *p < end && isdigit((unsigned char)**p) && parts[n] < 100000; (*p)++)
			parts[n] = parts[n] * 10 + **p - '0';
		n++;
		if (*p >= end || **p != ':')
			break;
		(*p)++;
	}
	if (n < 2 || *p >= end || (**p != ',' && **p != '.'))
		return -1;
	for ((*p)++; *p < end && isdigit((unsigned char)**p); (*p)++, unit /= 10)
		ms += (**p - '0') * unit;
	ms += (n == 3 ? parts[0] * 3600000 : 0) + parts[n - 2] * 60000 + parts[n - 1] * 1000;
	return ms <= LONGEST ? ms : -1;
}

/* Is it the line that tells from when to when? */
static bool
is_timing(const struct line *l, struct cue *c)
{
	const char *p = l->text, *end = l->text + l->n;

	c->start = time_at(&p, end);
	while (p < end && *p == ' ')
		p++;
	if (c->start < 0 || end - p < 3 || memcmp(p, "-->", 3) != 0)
		return false;
	p += 3;
	c->end = time_at(&p, end);
	c->settings = p;
	c->n_settings = (size_t)(end - p);
	return c->end >= 0;
}

/* At so many bytes, or before the override that begins there: "{\an8}". */
static size_t
cut(const char *text, size_t n)
{
	const char *open = memrchr(text, '{', n);

	return open != NULL && memchr(open, '}', n - (size_t)(open - text)) == NULL ? (size_t)(open - text) : n;
}

static void
add(struct cues *all, struct cue c)
{
	struct cue *more;

	if (c.end <= c.start)
		c.end = c.start + UNTIMED;
	if (c.n > TEXT_MAX)
		c.n = cut(c.text, TEXT_MAX);
	c.place = (int)all->n;
	if (all->n == CUES_MAX)
		return;
	if (all->n == all->room) {
		all->room = all->room == 0 ? 256 : all->room * 2;
		more = arena_array(all->mem, all->room, sizeof(*more));
		if (all->n > 0)
			memcpy(more, all->at, all->n * sizeof(*more));
		all->at = more;
	}
	all->at[all->n++] = c;
}

/*
 * A text goes from behind its times to the next ones, without the number that stands before those: an empty line is no
 * end of it.  In WebVTT it is, and behind it may be a note or a name.
 */
static void
read_lines(struct cues *all, const char *at, const char *end, bool to_blank)
{
	struct cue c = { .start = -1 }, next;
	const char *text_end = at;
	struct line l, following;
	bool open = false;

	while (next_line(&at, end, &l)) {
		if (is_timing(&l, &next)) {
			if (c.start >= 0) {
				c.n = (size_t)(text_end - c.text);
				add(all, c);
			}
			c = next;
			c.text = text_end = at;
			open = true;
		} else if (to_blank && is_blank(&l)) {
			open = false;
		} else if (open && !is_blank(&l)) {
			const char *peek = at;

			if (!is_number(&l) || !next_line(&peek, end, &following) || !is_timing(&following, &next))
				text_end = l.text + l.n;
		}
	}
	if (c.start >= 0) {
		c.n = (size_t)(text_end - c.text);
		add(all, c);
	}
}

/* "Dialogue: Layer,Start,End,Style,Name,MarginL,MarginR,MarginV,Effect,Text", as ffmpeg writes them. */
static void
read_dialogue(struct cues *all, const char *at, const char *end)
{
	static const char word[] = "Dialogue:";
	struct line l;

	while (next_line(&at, end, &l)) {
		const char *p = l.text, *stop = l.text + l.n, *fields[10] = { p };
		struct cue c = { 0 };
		int n = 1;

		if (l.n < sizeof(word) || strncmp(p, word, sizeof(word) - 1) != 0)
			continue;
		for (; p < stop && n < 10; p++)
			if (*p == ',')
				fields[n++] = p + 1;
		if (n < 10 || (c.start = time_at(&fields[1], stop)) < 0 || (c.end = time_at(&fields[2], stop)) < 0)
			continue;
		c.text = fields[9];
		c.n = (size_t)(stop - c.text);
		add(all, c);
	}
}

static int
by_time(const void *a, const void *b)
{
	const struct cue *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->place - y->place;
}

/* Four letters of UTF-8 to one that is none: nothing else looks like that. */
static bool
is_mostly_utf8(const char *p, size_t n)
{
	size_t good = 0, bad = 0;

	while (n > 0) {
		size_t k = utf8_prefix(p, n);

		for (size_t i = 0; i < k; i++)
			good += (unsigned char)p[i] >= 0xc0;
		if (k < n) {
			bad++;
			k++;
		}
		p += k;
		n -= k;
	}
	return good > 4 * bad;
}

/* The encoding of what is no UTF-8, by the letters of all texts.  Of a few letters ICU knows little: then it is that of
 * Western Europe, of which Latin-1 is a part. */
static const char *
encoding_of(struct arena *mem, const struct cues *all)
{
	static const char western[] = "windows-1252";
	UErrorCode error = U_ZERO_ERROR;
	UCharsetDetector *detector = ucsdet_open(&error);
	struct buf text = BUF(mem);
	const UCharsetMatch **found;
	const char *name = western;
	int32_t n = 0;

	for (size_t i = 0; i < all->n && text.len < 1 << 20; i++)
		buf_add(&text, all->at[i].text, all->at[i].n);
	ucsdet_setText(detector, text.text, (int32_t)text.len, &error);
	found = ucsdet_detectAll(detector, &n, &error);
	if (U_SUCCESS(error) && n > 0 && ucsdet_getConfidence(found[0], &error) >= CERTAIN)
		name = ucsdet_getName(found[0], &error);
	if (is_mostly_utf8(text.text, text.len))
		name = "UTF-8";
	name = U_FAILURE(error) || strcmp(name, "ISO-8859-1") == 0 || strncmp(name, "UTF-16", 6) == 0 ||
	    strncmp(name, "UTF-32", 6) == 0 || strncmp(name, "IBM", 3) == 0 ? western : arena_copy(mem, name);
	ucsdet_close(detector);
	return name;
}

static void
convert(struct arena *mem, struct cue *c, const char *encoding)
{
	UErrorCode error = U_ZERO_ERROR;
	const int32_t room = (int32_t)c->n * 3 + 4;
	char *out = arena_alloc(mem, (size_t)room);
	int32_t n = ucnv_convert("UTF-8", encoding, out, room - 1, c->text, (int32_t)c->n, &error);

	c->text = out;
	c->n = U_FAILURE(error) ? 0 : (size_t)n;
}

/* Beginnings of what is kept of the markup; the rest of a tag is dropped. */
static size_t
tag_length(const char *p, const char *end)
{
	const char *q = p + 1;

	if (q < end && *q == '/')
		q++;
	if (q >= end || (!isalpha((unsigned char)*q) && !isdigit((unsigned char)*q)))
		return 0;
	while (q < end && *q != '>' && *q != '<' && *q != '\n' && q - p < TAG_MAX)
		q++;
	return q < end && *q == '>' ? (size_t)(q + 1 - p) : 0;
}

static void
add_escaped(struct buf *out, char c)
{
	if (c == '&')
		buf_text(out, "&amp;");
	else if (c == '<')
		buf_text(out, "&lt;");
	else if (c == '>')
		buf_text(out, "&gt;");
	else if (c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f))
		buf_char(out, c == '\t' ? ' ' : c);
}

static void
add_tag(struct buf *out, const char *p, size_t n)
{
	const char *name = p[1] == '/' ? p + 2 : p + 1;
	const char kind = (char)tolower((unsigned char)*name);
	const size_t length = (size_t)(p + n - 1 - name);

	if (length == 1 && strchr("ibu", kind) != NULL) {
		buf_printf(out, "<%s%c>", p[1] == '/' ? "/" : "", kind);
	} else if (p[1] != '/' && kind == 'v' && length > 2 && (name[1] == ' ' || name[1] == '.')) {
		buf_text(out, "<v ");
		for (size_t i = strcspn(name, " ") + 1; i < length; i++)
			add_escaped(out, name[i]);
		buf_char(out, '>');
	}
}

static size_t
entity_length(const char *p, const char *end)
{
	static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&nbsp;", "&lrm;", "&rlm;" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if ((size_t)(end - p) >= strlen(known[i]) && strncmp(p, known[i], strlen(known[i])) == 0)
			return strlen(known[i]);
	return 0;
}

/* Behind it.  One that is never closed is a word. */
static const char *
override_end(const char *p, const char *end)
{
	const char *stop = memchr(p, '}', (size_t)(end - p));

	while (stop == NULL && p < end && !isspace((unsigned char)*p))
		p++;
	return stop != NULL ? stop + 1 : p;
}

/* An override of ASS, "{\i1\pos(1,2)}", which some put into SRT too: italics, bold and underlining pass, and whether
 * what follows is a drawing. */
static void
add_override(struct buf *out, const char *p, const char *end, bool *drawing)
{
	for (; p < end; p++) {
		if (*p != '\\' || end - p < 3)
			continue;
		if (p[1] == 'p' && isdigit((unsigned char)p[2]))
			*drawing = p[2] != '0';
		else if (strchr("ibu", p[1]) != NULL && (p[2] == '0' || p[2] == '1') && (p + 3 == end || p[3] == '\\'))
			buf_printf(out, "<%s%c>", p[2] == '0' ? "/" : "", p[1]);
	}
}

/* A line that would be empty would end the subtitle. */
static void
add_break(struct buf *out)
{
	while (out->len > 0 && out->text[out->len - 1] == ' ')
		out->len--;
	if (out->len > 0 && out->text[out->len - 1] != '\n')
		buf_char(out, '\n');
}

/* The text as WebVTT has it. */
static const char *
text_of(struct arena *mem, const struct cue *c)
{
	struct buf out = BUF(mem);
	const char *p = c->text, *end = p + c->n, *stop;
	bool drawing = false;
	size_t n;

	while (p < end) {
		if (*p == '{' && p + 1 < end && p[1] == '\\') {
			stop = override_end(p, end);
			add_override(&out, p, stop[-1] == '}' ? stop - 1 : stop, &drawing);
			p = stop;
		} else if (drawing) {
			p++;
		} else if (*p == '<' && (n = tag_length(p, end)) > 0) {
			add_tag(&out, p, n);
			p += n;
		} else if (*p == '&' && (n = entity_length(p, end)) > 0) {
			buf_add(&out, p, n);
			p += n;
		} else if (*p == '\\' && p + 1 < end && strchr("Nnh", p[1]) != NULL) {
			if (p[1] == 'h')
				buf_text(&out, "&nbsp;");
			else
				add_break(&out);
			p += 2;
		} else {
			if (*p == '\n' || *p == '\r')
				add_break(&out);
			add_escaped(&out, *p++);
		}
	}
	add_break(&out);
	return arena_copy_n(mem, buf_string(&out), out.len > 0 ? out.len - 1 : 0);
}

/* Where WebVTT says it is to stand. */
static void
add_settings(struct buf *out, const struct cue *c)
{
	static const char known[] = "align line position size vertical";
	const char *p = c->settings, *end = p + c->n_settings;

	while (p < end) {
		const char *word = p, *colon;
		size_t n = 0;

		while (p < end && *p != ' ' && *p != '\t')
			p++;
		colon = memchr(word, ':', (size_t)(p - word));
		while (word + n < p && (isalnum((unsigned char)word[n]) || strchr(":%.,-", word[n]) != NULL))
			n++;
		if (colon != NULL && word + n == p && word_in(known, word, (size_t)(colon - word)))
			buf_printf(out, " %.*s", (int)n, word);
		p++;
	}
}

void
subtitles_time(struct buf *out, int64_t ms)
{
	buf_printf(out, "%02d:%02d:%02d.%03d", (int)(ms / 3600000), (int)(ms / 60000 % 60), (int)(ms / 1000 % 60),
	    (int)(ms % 1000));
}

/* Those that are shown from `from` up to `to`, in times from there on. */
static size_t
write_between(struct buf *out, enum subtitles_form form, const char *bytes, size_t n, int64_t from, int64_t to)
{
	struct cues all = { .mem = out->mem };
	const char *encoding = NULL;
	size_t written = 0;

	if (form == SUBTITLES_ASS)
		read_dialogue(&all, bytes, bytes + n);
	else
		read_lines(&all, bytes, bytes + n, form == SUBTITLES_VTT);
	if (!utf8_valid(bytes, n))
		encoding = encoding_of(out->mem, &all);
	if (all.n > 0)
		qsort(all.at, all.n, sizeof(*all.at), by_time);
	for (size_t i = 0; i < all.n; i++) {
		struct cue *c = &all.at[i];
		const char *text;

		if ((from > 0 && c->end <= from) || c->start >= to)
			continue;
		if (encoding != NULL)
			convert(out->mem, c, encoding);
		c->n = utf8_prefix(c->text, c->n);		/* a text that was too long ends anywhere */
		text = text_of(out->mem, c);
		if (utf8_blank(text))
			continue;
		buf_text(out, written++ == 0 ? "WEBVTT\n\n" : "");
		subtitles_time(out, c->start > from ? c->start - from : 0);
		buf_text(out, " --> ");
		subtitles_time(out, (c->end < to ? c->end : to) - from);
		if (form == SUBTITLES_VTT)
			add_settings(out, c);
		buf_printf(out, "\n%s\n\n", text);
	}
	return written;
}

size_t
subtitles_write(struct buf *out, enum subtitles_form form, const char *bytes, size_t n)
{
	return write_between(out, form, bytes, n, 0, INT64_MAX);
}

size_t
subtitles_cut(struct buf *out, const char *bytes, size_t n, int64_t from_ms, int64_t to_ms)
{
	return write_between(out, SUBTITLES_VTT, bytes, n, from_ms, to_ms);
}
