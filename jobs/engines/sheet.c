/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is common to engines that read pictures. */
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "core/text.h"
#include "jobs/engines/sheet.h"

/* Below that what stands on noise and leaves looks like letters. */
static const double confidence_least = 0.6;
enum { LETTERS_LEAST = 3 };

static bool
is_bullet(UChar32 c)
{
	return u_isspace(c) || c == 0xa2 || c == 0xab ||
	    (!u_isalnum(c) && strchr("\"'([{<$#@+-", c < 128 ? (int)c : 1) == NULL);
}

bool
sheet_keeps(struct arena *mem, struct sheet_line *l)
{
	const char *text = utf8_to_line(mem, l->text);
	int32_t n = (int32_t)strlen(text), i = 0, at = 0, letters = 0;
	UChar32 c;

	while (i < n) {
		U8_NEXT(text, i, n, c);
		if (!is_bullet(c))
			break;
		at = i;
	}
	l->text = text + at;
	for (i = at; i < n;) {
		U8_NEXT(text, i, n, c);
		letters += u_isalnum(c);
	}
	return letters >= LETTERS_LEAST && l->confidence >= confidence_least;
}

/* Does it say nothing of the pictures, so that it is of no use to go on? */
static bool
ends_all(const struct fault *fault)
{
	const enum reason_class class = reason_info(fault->reason)->class;

	return class == CLASS_PASSING || fault->reason == REASON_SANDBOX || fault->reason == REASON_MODEL_MISSING;
}

/* A picture by itself, as the run for all of them has it. */
struct single { const struct sheet *of; size_t picture; };

static void
seen_singly(void *user, size_t picture, const struct sheet_line *l, size_t n)
{
	const struct single *one = user;

	one->of->seen(one->of->user, one->picture + picture, l, n);
}

bool
sheet_read(const struct engine *e, struct sheet *s)
{
	s->looked_at = 0;
	if (s->n == 0 || e->run.ocr(s) == DONE) {
		s->looked_at = s->n;
		return true;
	}
	for (; s->looked_at < s->n && !ends_all(&s->fault) && clock_ms() < s->until; s->looked_at++) {
		struct single single = { s, s->looked_at };
		struct sheet one = *s;

		one.pictures += s->looked_at;
		one.n = 1;
		one.seen = seen_singly;
		one.user = &single;
		/* A single one has just had its run. */
		if (s->n > 1 && e->run.ocr(&one) == DONE)
			continue;
		s->fault = one.fault;
		if (!ends_all(&s->fault))
			s->missed(s->user, s->looked_at, &s->fault);
	}
	return !ends_all(&s->fault);
}
