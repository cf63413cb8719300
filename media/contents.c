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
#define BEFORE " \t\r-*#(["
#define BEHIND " \t\r-*)]|:"

/* Over marks of those, and what typesetters have for them, which is three bytes each. */
static const char *
behind_marks(const char *at, const char *marks)
{
	for (;; at++) {
		if (strncmp(at, "–", 3) == 0 || strncmp(at, "—", 3) == 0 || strncmp(at, "•", 3) == 0)
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

static void
read_line(struct reading *in, const char *line)
{
	const char *at = behind_number(behind_marks(line, BEFORE));
	int64_t ms, end;
	size_t n;

	if (!clock_read(&at, &ms)) {
		in->wrong = arena_printf(in->mem, "Part %zu of the answer has no time (HH:MM:SS).", in->n + 1);
		return;
	}
	at = behind_marks(at, BEHIND);
	/* "00:00 - 01:30 Title": where it ends follows from the next one */
	if (clock_read(&at, &end))
		at = behind_marks(at, BEHIND);
	for (n = strlen(at); n > 0 && strchr(" \t\r*", at[n - 1]) != NULL; n--)
		continue;
	add(in, ms, arena_copy_n(in->mem, at, n));
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

/* Models like to stand it between lines of ```. */
static const char *
without_fences(struct arena *mem, const char *text)
{
	struct buf b = BUF(mem);
	size_t n;

	for (; *text != '\0'; text += n + (text[n] != '\0')) {
		n = strcspn(text, "\n");
		if (text[strspn(text, " \t")] != '`') {
			buf_add(&b, text, n);
			buf_char(&b, '\n');
		}
	}
	return buf_string(&b);
}

const char *
contents_read(struct arena *mem, const char *text, int64_t duration, const struct stretch **at, size_t *n)
{
	struct reading in = { mem, duration, arena_array(mem, CHAPTERS_STRETCHES, sizeof(struct stretch)), 0, NULL };
	const char *line;
	size_t i, m;

	text = without_fences(mem, text);
	if (json_valid(mem, text, strlen(text)))
		read_json(&in, text);
	else
		for (; *text != '\0' && in.wrong == NULL; text += m + (text[m] != '\0')) {
			m = strcspn(text, "\n");
			line = arena_copy_n(mem, text, m);
			if (!utf8_blank(line))
				read_line(&in, line);
		}
	for (i = 0; i + 1 < in.n; i++)
		in.at[i].end = in.at[i + 1].start;
	*at = in.at;
	*n = in.n;
	return in.wrong != NULL ? in.wrong : in.n == 0 ? "The answer has no times with titles." : NULL;
}
