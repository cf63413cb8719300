/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The longest common sequence of two texts' words, in bounded memory. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "media/alignment.h"

/* Pieces of two texts are compared by a table of this many cells at most. */
/* DEPTH: texts that were made for it would be parted word by word. */
enum { CELLS = 4000000, DEPTH = 16 };

/* A word of either text, to be numbered: words that are the same get the same number. */
struct key { const char *text; size_t at; };

/* How often a word is in a piece of each text, and where it was last. */
struct seen { size_t n, m, at; };

/* A pair of words that stand for each other, and in a longest growing sequence the one before it. */
struct match { size_t i, k; size_t before; };

struct pieces {
	struct arena *mem;
	const size_t *text, *heard;		/* numbers of the words */
	size_t *match;
	struct seen *seen;			/* by number */
	uint16_t *best;				/* `room` of them */
	size_t room;
};

/* What of a word is compared; of what is punctuation alone all of it. */
static const char *
key_of(struct arena *mem, const char *word)
{
	char *plain = arena_raw(mem, strlen(word) + 1);
	struct buf folded = BUF(mem);
	struct folded *parts;
	size_t n = 0, i;
	const char *p;

	for (p = word; *p != '\0' && (unsigned char)*p < 0x80; p++)
		if (isalnum((unsigned char)*p))
			plain[n++] = (char)tolower((unsigned char)*p);
	plain[n] = '\0';
	if (*p == '\0')
		return n > 0 ? plain : word;
	parts = fold_words(mem, word, &n);
	for (i = 0; i < n; i++)
		buf_text(&folded, parts[i].word);
	return folded.len > 0 ? buf_string(&folded) : word;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(((const struct key *)a)->text, ((const struct key *)b)->text);
}

/* Numbers for the words of both, one text behind the other.  *distinct: how many there are. */
static size_t *
number(struct arena *mem, const struct word *text, size_t n, const struct word *heard, size_t m, size_t *distinct)
{
	struct key *keys = arena_array(mem, n + m, sizeof(*keys));
	size_t *out = arena_array(mem, n + m, sizeof(*out)), i;

	for (i = 0; i < n + m; i++)
		keys[i] = (struct key){ key_of(mem, i < n ? text[i].text : heard[i - n].text), i };
	qsort(keys, n + m, sizeof(*keys), by_text);
	for (*distinct = i = 0; i < n + m; i++) {
		*distinct += i > 0 && by_text(&keys[i - 1], &keys[i]) != 0;
		out[keys[i].at] = *distinct;
	}
	*distinct += n + m > 0;
	return out;
}

/* All of two pieces, cell by cell. */
static void
compare(struct pieces *x, size_t from, size_t n, size_t heard_from, size_t m)
{
	const size_t *a = x->text + from, *b = x->heard + heard_from, row = m + 1;
	uint16_t *best;
	size_t i, k;

	if (x->room < (n + 1) * row) {
		x->room = (n + 1) * row > 2 * x->room ? (n + 1) * row : 2 * x->room;
		x->best = arena_array(x->mem, x->room, sizeof(*best));
	}
	best = x->best;
	memset(best + n * row, 0, row * sizeof(*best));
	for (i = n; i-- > 0;) {
		best[i * row + m] = 0;
		for (k = m; k-- > 0;) {
			uint16_t down = best[(i + 1) * row + k], right = best[i * row + k + 1];

			best[i * row + k] = down > right ? down : right;
			if (a[i] == b[k])
				best[i * row + k] = (uint16_t)(best[(i + 1) * row + k + 1] + 1);
		}
	}
	for (i = k = 0; i < n && k < m;) {
		if (a[i] == b[k])
			x->match[from + i++] = heard_from + k++;
		else if (best[(i + 1) * row + k] >= best[i * row + k + 1])
			i++;
		else
			k++;
	}
}

/* The words that each piece has once, in the order of the first. */
static struct match *
found_once(struct pieces *x, size_t from, size_t n, size_t heard_from, size_t m, size_t *count)
{
	struct match *out = arena_array(x->mem, n < m ? n : m, sizeof(*out));
	size_t i;

	for (i = 0; i < n; i++)
		x->seen[x->text[from + i]] = (struct seen){ 0, 0, 0 };
	for (i = 0; i < m; i++)
		x->seen[x->heard[heard_from + i]] = (struct seen){ 0, 0, 0 };
	for (i = 0; i < n; i++)
		x->seen[x->text[from + i]].n++;
	for (i = 0; i < m; i++) {
		x->seen[x->heard[heard_from + i]].m++;
		x->seen[x->heard[heard_from + i]].at = heard_from + i;
	}
	for (*count = i = 0; i < n; i++) {
		const struct seen *s = &x->seen[x->text[from + i]];

		if (s->n == 1 && s->m == 1)
			out[(*count)++] = (struct match){ from + i, s->at, SIZE_MAX };
	}
	return out;
}

/* The longest part of the pairs that grows in both texts, as their indexes.  *n: how many. */
static size_t *
growing(struct arena *mem, struct match *p, size_t count, size_t *n)
{
	size_t *ends = arena_array(mem, count, sizeof(*ends)), *out, i, low, high;

	for (*n = i = 0; i < count; i++) {
		for (low = 0, high = *n; low < high;) {
			const size_t middle = (low + high) / 2;

			if (p[ends[middle]].k < p[i].k)
				low = middle + 1;
			else
				high = middle;
		}
		p[i].before = low > 0 ? ends[low - 1] : SIZE_MAX;
		ends[low] = i;
		*n += low == *n;
	}
	out = arena_array(mem, *n, sizeof(*out));
	for (i = *n; i-- > 0;)
		out[i] = i + 1 == *n ? ends[i] : p[out[i + 1]].before;
	return out;
}

static void
find(struct pieces *x, int depth, size_t from, size_t to, size_t heard_from, size_t heard_to)
{
	struct match *p;
	size_t *chosen, count, n, i;

	for (; from < to && heard_from < heard_to && x->text[from] == x->heard[heard_from]; from++)
		x->match[from] = heard_from++;
	for (; from < to && heard_from < heard_to && x->text[to - 1] == x->heard[heard_to - 1]; to--)
		x->match[to - 1] = --heard_to;
	if (from == to || heard_from == heard_to)
		return;
	if ((to - from + 1) <= CELLS / (heard_to - heard_from + 1)) {
		compare(x, from, to - from, heard_from, heard_to - heard_from);
		return;
	}
	if (depth == DEPTH)
		return;
	p = found_once(x, from, to - from, heard_from, heard_to - heard_from, &count);
	chosen = growing(x->mem, p, count, &n);
	for (i = 0; i < n; i++) {
		const struct match *at = &p[chosen[i]];

		x->match[at->i] = at->k;
		find(x, depth + 1, from, at->i, heard_from, at->k);
		from = at->i + 1;
		heard_from = at->k + 1;
	}
	if (n > 0)
		find(x, depth + 1, from, to, heard_from, heard_to);
}

size_t *
alignment_find(struct arena *mem, const struct word *text, size_t n, const struct word *heard, size_t m)
{
	struct pieces x = { .mem = mem, .match = arena_array(mem, n, sizeof(size_t)) };
	size_t distinct, i;

	x.text = number(mem, text, n, heard, m, &distinct);
	x.heard = x.text + n;
	x.seen = arena_array(mem, distinct, sizeof(*x.seen));
	for (i = 0; i < n; i++)
		x.match[i] = SIZE_MAX;
	find(&x, 0, 0, n, 0, m);
	return x.match;
}
