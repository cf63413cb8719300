/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines on the screen of a recording, and when they are there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "jobs/screen_texts.h"

/* Of one asset; letters of a line that are compared; of so many one may be read otherwise. */
enum { ITEMS_MAX = 5000, LETTERS_MAX = 200, ONE_OF = 7 };

struct instance { struct instance *next; int64_t from, to; const char *box; };
struct item {
	struct item *next;		/* the one that came before it */
	const char *text, *letters;
	double confidence;
	struct instance *first, *last;
};
struct screen_texts { struct arena *mem; struct item *latest; size_t n; };

struct screen_texts *
screen_texts_new(struct arena *mem)
{
	struct screen_texts *s = NEW(mem, struct screen_texts);

	s->mem = mem;
	return s;
}

/* Letters and digits alone, without case. */
static const char *
letters(struct arena *mem, const char *text)
{
	const int32_t n = (int32_t)strlen(text);
	struct buf out = BUF(mem);
	char bytes[U8_MAX_LENGTH];
	int32_t i = 0, k;
	UChar32 c;

	while (i < n) {
		U8_NEXT(text, i, n, c);
		if (!u_isalnum(c))
			continue;
		k = 0;
		U8_APPEND_UNSAFE(bytes, k, u_foldCase(c, U_FOLD_CASE_DEFAULT));
		buf_add(&out, bytes, (size_t)k);
	}
	return buf_string(&out);
}

/* Can one be made of the other by changing, putting in or taking out so many bytes at most (Levenshtein)?  More than
 * that is not looked for: only what lies so near to the diagonal, until nothing is left there. */
static bool
edits(const char *a, size_t n, const char *b, size_t m, size_t most)
{
	size_t row[LETTERS_MAX + 1], i, k;

	for (k = 0; k <= m; k++)
		row[k] = k;
	for (i = 1; i <= n; i++) {
		const size_t from = i > most ? i - most : 1, to = i + most < m ? i + most : m;
		size_t corner = row[from - 1], least_of_row;

		row[from - 1] = least_of_row = from == 1 ? i : most + 1;
		for (k = from; k <= to; k++) {
			size_t least = corner + (a[i - 1] != b[k - 1]);

			corner = row[k];
			if (row[k] + 1 < least)
				least = row[k] + 1;
			if (row[k - 1] + 1 < least)
				least = row[k - 1] + 1;
			row[k] = least;
			if (least < least_of_row)
				least_of_row = least;
		}
		if (least_of_row > most)
			return false;
	}
	return row[m] <= most;
}

static bool
alike(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b), longer = n > m ? n : m, most = longer / ONE_OF;

	if (strcmp(a, b) == 0)
		return true;
	if (longer > LETTERS_MAX || (n > m ? n - m : m - n) > most)
		return false;
	return edits(a, n, b, m, most);
}

/* What goes on, or was there before.  Alike is enough for what goes on alone: pages of a book differ by a number. */
static struct item *
find(struct screen_texts *s, const char *of, int64_t from)
{
	struct item *same = NULL;

	for (struct item *i = s->latest; i != NULL; i = i->next) {
		if (i->last->to == from && alike(i->letters, of))
			return i;
		if (same == NULL && strcmp(i->letters, of) == 0)
			same = i;
	}
	return same;
}

void
screen_texts_box(struct buf *b, const struct sheet_line *l, int width, int height)
{
	buf_printf(b, "{\"x\":%.3f,\"y\":%.3f,\"width\":%.3f,\"height\":%.3f}", (double)l->left / width,
	    (double)l->top / height, (double)l->width / width, (double)l->height / height);
}

static struct instance *
instance_new(struct screen_texts *s, int64_t from, int64_t to, const struct sheet_line *l, int width, int height)
{
	struct instance *n = NEW(s->mem, struct instance);
	struct buf box = BUF(s->mem);

	screen_texts_box(&box, l, width, height);
	*n = (struct instance){ NULL, from, to, buf_string(&box) };
	return n;
}

void
screen_texts_add(struct screen_texts *s, int64_t from, int64_t to, const struct sheet_line *l, size_t n, int width,
    int height)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const char *of = letters(s->mem, l[i].text);
		struct item *it = find(s, of, from);

		if (it == NULL && s->n++ >= ITEMS_MAX)
			continue;
		if (it == NULL) {
			it = NEW(s->mem, struct item);
			*it = (struct item){ s->latest, l[i].text, of, l[i].confidence,
			    .first = instance_new(s, from, to, &l[i], width, height) };
			it->last = it->first;
			s->latest = it;
		} else if (it->last->to == from) {
			it->last->to = to;
		} else if (it->last->to < from) {	/* else it stands there twice */
			it->last = it->last->next = instance_new(s, from, to, &l[i], width, height);
		}
		if (l[i].confidence > it->confidence) {
			it->text = l[i].text;
			it->letters = of;
			it->confidence = l[i].confidence;
		}
	}
}

static void
put_item(struct buf *b, const struct item *i)
{
	buf_text(b, "{\"text\":");
	buf_json(b, i->text);
	buf_printf(b, ",\"confidence\":%.2f,\"instances\":[", i->confidence);
	for (const struct instance *n = i->first; n != NULL; n = n->next)
		buf_printf(b, "%s{\"start\":%.3f,\"end\":%.3f,\"box\":%s}", n == i->first ? "" : ",",
		    (double)n->from / 1000, (double)n->to / 1000, n->box);
	buf_text(b, "]}");
}

const char *
screen_texts_json(struct screen_texts *s)
{
	struct item *first = NULL, *i, *next;
	struct buf b = BUF(s->mem);

	for (i = s->latest; i != NULL; i = next) {
		next = i->next;
		i->next = first;
		first = i;
	}
	s->latest = NULL;
	buf_text(&b, "{\"items\":[");
	for (i = first; i != NULL; i = i->next) {
		if (i != first)
			buf_char(&b, ',');
		put_item(&b, i);
	}
	buf_text(&b, "]}");
	return buf_string(&b);
}
