/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of contents out of what a language model has answered. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "media/contents.h"

struct reading { struct arena *mem; int64_t duration; struct stretch *at; size_t n; const char *wrong; };

struct part { struct json start, time; const char *title; };
static const struct field part_fields[] = {
	FIELD(struct part, start, .doc = "Where it begins"),
	FIELD(struct part, time, .doc = "The same"),
	FIELD(struct part, title, .doc = "What it is called"),
};
static const struct record part_record = RECORD("ContentsPart", struct part, part_fields);

struct whole { struct json chapters; };
static const struct field whole_fields[] = { FIELD(struct whole, chapters, .doc = "All of them") };
static const struct record whole_record = RECORD("ContentsWhole", struct whole, whole_fields);

/* ms: -1 has no place in a recording. */
static void
add(struct reading *in, int64_t ms, const char *title)
{
	const size_t number = in->n + 1;

	if (in->wrong != NULL)
		return;
	if (in->n == CHAPTERS_STRETCHES)
		in->wrong = arena_printf(in->mem, "The answer has more than %d parts.", CHAPTERS_STRETCHES);
	else if (ms < 0 || ms >= in->duration)
		in->wrong =
		    arena_printf(in->mem, "Part %zu of the answer does not begin within the recording.", number);
	else if (in->n > 0 && ms <= in->at[in->n - 1].start)
		in->wrong = arena_printf(in->mem, "Part %zu of the answer begins before the one above it.", number);
	else if (title == NULL || utf8_blank(title = utf8_to_line(in->mem, title)))
		in->wrong = arena_printf(in->mem, "Part %zu of the answer has no title.", number);
	else if (utf8_length(title) > CONTENTS_TITLE_MAX)
		in->wrong = arena_printf(in->mem, "The title of part %zu of the answer is too long.", number);
	else
		in->at[in->n++] = (struct stretch){ ms, in->duration, title };
}

/* So many digits; a number below `below`. */
static bool
number(const char **at, size_t least, size_t most, int64_t below, int64_t *n)
{
	size_t digits = 0;

	for (*n = 0; digits < most && isdigit((unsigned char)(*at)[digits]); digits++)
		*n = *n * 10 + ((*at)[digits] - '0');
	*at += digits;
	return digits >= least && *n < below && !isdigit((unsigned char)**at);
}

/* 1:02:03, 00:02:03.5 or 62:03; *at moves behind it. */
static bool
clock_read(const char **at, int64_t *ms)
{
	const char *p = *at;
	int64_t first, second, third, part, unit;

	if (!number(&p, 1, 3, 1000, &first) || *p++ != ':' || !number(&p, 2, 2, 60, &second))
		return false;
	*ms = (first * 60 + second) * 1000;
	if (*p == ':' && isdigit((unsigned char)p[1])) {
		p++;
		if (!number(&p, 2, 2, 60, &third))
			return false;
		*ms = *ms * 60 + third * 1000;
	}
	if ((*p == '.' || *p == ',') && isdigit((unsigned char)p[1]))
		for (p++, unit = 100; isdigit((unsigned char)*p); p++, unit /= 10) {
			part = *p - '0';
			*ms += part * unit;
		}
	*at = p;
	return true;
}

/* What stands around times in lists. */
#define BEFORE " \t\r-*+#([|>`"
#define BEHIND " \t\r-*)]|:`"

/* What typesetters have for them, which is three bytes each. */
static bool
is_wide_mark(const char *at)
{
	return strncmp(at, "–", 3) == 0 || strncmp(at, "—", 3) == 0 || strncmp(at, "•", 3) == 0 ||
	    strncmp(at, "→", 3) == 0;
}

/* Over marks of both kinds. */
static const char *
behind_marks(const char *at, const char *marks)
{
	for (;; at++) {
		if (is_wide_mark(at))
			at += 2;
		else if (*at == '\0' || strchr(marks, *at) == NULL)
			return at;
	}
}

/* "1. " and "2) " number a line. */
static const char *
behind_number(const char *line)
{
	const char *at = line;

	while (isdigit((unsigned char)*at))
		at++;
	return at > line && (*at == '.' || *at == ')') && at[1] == ' ' ? behind_marks(at + 1, BEFORE) : line;
}

/* Where the time of a part stands in a line; NULL: there is none. */
static const char *
time_in(const char *line)
{
	const char *at = behind_number(behind_marks(line, BEFORE)), *end = at;
	int64_t ms;

	return clock_read(&end, &ms) ? at : NULL;
}

static void
read_line(struct reading *in, const char *line)
{
	const char *at = time_in(line);
	int64_t ms, end;
	size_t n;

	if (at == NULL) {
		in->wrong = arena_printf(in->mem, "Part %zu of the answer has no time (HH:MM:SS).", in->n + 1);
		return;
	}
	clock_read(&at, &ms);
	at = behind_marks(at, BEHIND);
	/* "00:00 - 01:30 Title": where it ends follows from the next one */
	if (clock_read(&at, &end))
		at = behind_marks(at, BEHIND);
	for (n = strlen(at); n > 0 && strchr(" \t\r*|`", at[n - 1]) != NULL; n--)
		continue;
	add(in, ms, arena_copy_n(in->mem, at, n));
}

/* Is it a thing of a list?  Without a time it is a part that lacks one. */
static bool
is_item(const char *line)
{
	const char *at = line + strspn(line, " \t");

	return (at[0] != '\0' && strchr("-*+", at[0]) != NULL && at[1] == ' ') || at[0] == '{' ||
	    strncmp(at, "[{", 2) == 0 || is_wide_mark(at) || behind_number(at) != at;
}

/* Is the character one that may stand behind a sentence: a mark, or of the blocks of quotation marks and pictures?
 * A letter is not, in whatever script. */
static bool
is_behind_sentence(const char *at)
{
	static const char *const blocks[] = { "\xc2", "\xe2", "\xe3\x80", "\xef\xb8", "\xef\xbc", "\xf0\x9f" };
	size_t i;

	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		if (strncmp(at, blocks[i], strlen(blocks[i])) == 0)
			return true;
	return strchr(" \t\r*_`\")", *at) != NULL;
}

/* Does the line end as sentences do? */
static bool
ends_as(const char *line, const char *marks)
{
	const char *at = line + strlen(line);

	while (at > line) {
		for (at--; at > line && ((unsigned char)*at & 0xc0) == 0x80; at--)
			continue;
		if (strncmp(at, "。", 3) == 0 || strncmp(at, "：", 3) == 0)
			return true;
		if (!is_behind_sentence(at))
			return strchr(marks, *at) != NULL;
	}
	return false;
}

/* What begins at from and ends before to is the list; what is in front of it leads to it, what is behind it talks. */
struct lines { const char **at; size_t n, from, to; bool leads, talks; };

/* "Here they are:", or a heading; or a blank line is between. */
static bool
leads_to_list(const struct lines *l)
{
	const char *line = l->from > 0 ? l->at[l->from - 1] : "";

	return utf8_blank(line) || strchr("#*|", line[strspn(line, " \t")]) != NULL || ends_as(line, ":.!");
}

/* Else it may be a part that lacks its time: a list may have blank lines, too. */
static bool
talks_behind_list(const struct lines *l)
{
	size_t i = l->to;

	if (i < l->n && !utf8_blank(l->at[i]))
		return false;
	while (i < l->n && utf8_blank(l->at[i]))
		i++;
	while (i + 1 < l->n && !utf8_blank(l->at[i + 1]))
		i++;
	return i < l->n && ends_as(l->at[i], ":.!?");
}

static bool
is_beside(const struct lines *l, size_t i)
{
	return !is_item(l->at[i]) && (i < l->from ? l->leads : i >= l->to && l->talks);
}

static struct lines
lines_of(struct arena *mem, const char *text)
{
	struct lines l = { .n = 1 };
	const char *at;
	size_t m, i;

	for (at = text; (at = strchr(at, '\n')) != NULL; at++)
		l.n++;
	l.at = arena_array(mem, l.n, sizeof(*l.at));
	l.from = l.n;
	for (i = 0; i < l.n; i++, text += m + (text[m] != '\0')) {
		m = strcspn(text, "\n");
		l.at[i] = arena_copy_n(mem, text, m);
		if (time_in(l.at[i]) != NULL) {
			l.from = l.from < i ? l.from : i;
			l.to = i + 1;
		}
	}
	l.leads = l.to > 0 && leads_to_list(&l);
	l.talks = l.to > 0 && talks_behind_list(&l);
	return l;
}

static void
read_lines(struct reading *in, const struct lines *l)
{
	size_t i;

	for (i = 0; i < l->n && in->wrong == NULL; i++)
		if (!utf8_blank(l->at[i]) && !is_beside(l, i))
			read_line(in, l->at[i]);
}

static int64_t
time_of(struct reading *in, const struct part *p)
{
	const char *text = p->start.text != NULL ? p->start.text : p->time.text != NULL ? p->time.text : "";
	const size_t n = strlen(text);
	const char *at;
	double s;
	char *end;
	int64_t ms;

	at = text[0] == '"' && n > 1 ? arena_copy_n(in->mem, text + 1, n - 2) : text;
	if (clock_read(&at, &ms))
		return *at == '\0' ? ms : -1;
	s = strtod(at, &end);
	/* also of what is no number */
	return end > at && *end == '\0' && s >= 0 && s * 1000 < (double)in->duration ? (int64_t)(s * 1000 + 0.5) : -1;
}

static void
read_json(struct reading *in, const char *text)
{
	const struct list whole = record_glean(in->mem, &whole_record, text);
	const struct whole *w = whole.n == 1 ? whole.rows : NULL;
	const struct list parts = record_glean(in->mem, &part_record, w != NULL && w->chapters.text != NULL ?
	    w->chapters.text : text);
	const struct part *p = parts.rows;
	size_t i;

	for (i = 0; i < parts.n; i++)
		add(in, time_of(in, &p[i]), p[i].title);
}

/* A line of ```, between which models like to stand it, or one that is drawn. */
static bool
is_drawn(const char *line, size_t n)
{
	size_t from = 0, i;

	while (from < n && strchr(" \t", line[from]) != NULL)
		from++;
	if (n - from >= 3 && strncmp(line + from, "```", 3) == 0) {
		for (i = from + 3; i < n && (isalnum((unsigned char)line[i]) || strchr("`+- \t\r", line[i]) !=
		    NULL); i++)
			continue;
		return i == n;
	}
	for (i = from; i < n && strchr("-=_*|: \t\r", line[i]) != NULL; i++)
		continue;
	return i == n && n - from >= 3;
}

static const char *
without_drawn(struct arena *mem, const char *text)
{
	struct buf b = BUF(mem);
	size_t n;

	for (; *text != '\0'; text += n + (text[n] != '\0')) {
		n = strcspn(text, "\n");
		if (!is_drawn(text, n))
			buf_add(&b, text, n);
		buf_char(&b, '\n');
	}
	return buf_string(&b);
}

static bool
begins_with(const char *line, const char *either)
{
	return strcspn(line, either) == strspn(line, " \t") && strpbrk(line, either) != NULL;
}

static bool
ends_with(const char *line, const char *either)
{
	size_t n = strlen(line);

	while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
		n--;
	return n > 0 && strchr(either, line[n - 1]) != NULL;
}

/* What stands from the first line that begins as JSON to the last one that ends so, if it is; NULL: it is not, or the
 * lines around it have times. */
static const char *
json_in(struct arena *mem, const struct lines *l)
{
	size_t from = 0, to = l->n, i;
	struct buf b = BUF(mem);

	while (from < l->n && !begins_with(l->at[from], "[{"))
		from++;
	while (to > from && !ends_with(l->at[to - 1], "]}"))
		to--;
	for (i = from; i < to; i++)
		buf_printf(&b, "%s\n", l->at[i]);
	return to > from && l->from >= from && l->to <= to && json_valid(mem, buf_string(&b), b.len) ? buf_string(&b) :
	    NULL;
}

const char *
contents_read(struct arena *mem, const char *text, int64_t duration, const struct stretch **at, size_t *n)
{
	struct reading in = { mem, duration, arena_array(mem, CHAPTERS_STRETCHES, sizeof(struct stretch)), 0, NULL };
	const char *json;
	struct lines l;
	size_t i;

	text = without_drawn(mem, text);
	l = lines_of(mem, text);
	json = json_valid(mem, text, strlen(text)) ? text : json_in(mem, &l);
	if (json != NULL)
		read_json(&in, json);
	else
		read_lines(&in, &l);
	for (i = 0; i + 1 < in.n; i++)
		in.at[i].end = in.at[i + 1].start;
	*at = in.at;
	*n = in.n;
	return in.wrong != NULL ? in.wrong : in.n == 0 ? "The answer has no times with titles." : NULL;
}
