/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which sentences stand for the others. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "media/summary.h"

/* LOOKED_AT: as the comparison of all with all allows. */
enum { LEAST = 4, LOOKED_AT = 600, WORDS_LEAST = 5, WORDS_MOST = 60, TELLING_LEAST = 3, ROUNDS = 30, SHARE = 4 };
static const double sure = 0.55, damping = 0.85, alike = 0.6, mean = 1;

/* A sentence by its telling words: stems in order, each once. */
struct node { const struct sentence *s; const size_t *stems; size_t n; double rank, next, out; };

static int
by_number(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool
node_of(const struct prose *p, const struct sentence *s, struct node *out)
{
	const size_t words = s->to - s->from;
	size_t *stems, n = 0, i, k = 0;

	if (s->is_line || s->confidence < sure || words < WORDS_LEAST || words > WORDS_MOST)
		return false;
	stems = arena_array(p->mem, words, sizeof(*stems));
	for (i = s->from; i < s->to; i++)
		if (!p->vocables[p->tokens[i].vocable].common)
			stems[n++] = p->vocables[p->tokens[i].vocable].stem;
	qsort(stems, n, sizeof(*stems), by_number);
	for (i = 0; i < n; i++)
		if (k == 0 || stems[k - 1] != stems[i])
			stems[k++] = stems[i];
	*out = (struct node){ .s = s, .stems = stems, .n = k, .rank = 1 };
	return k >= TELLING_LEAST;
}

static size_t
shared(const struct node *a, const struct node *b)
{
	size_t i = 0, k = 0, n = 0;

	while (i < a->n && k < b->n)
		if (a->stems[i] == b->stems[k]) {
			n++;
			i++;
			k++;
		} else if (a->stems[i] < b->stems[k])
			i++;
		else
			k++;
	return n;
}

static double
similarity(const struct node *a, const struct node *b)
{
	return (double)shared(a, b) / (log((double)a->n) + log((double)b->n));
}

static void
rank(struct arena *mem, struct node *v, size_t n)
{
	float *weight = arena_array(mem, n * n, sizeof(*weight));
	size_t i, k;
	int round;

	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++) {
			weight[i * n + k] = i == k ? 0 : (float)similarity(&v[i], &v[k]);
			v[i].out += (double)weight[i * n + k];
		}
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < n; i++)
			for (v[i].next = 1 - damping, k = 0; k < n; k++)
				if (v[k].out > 0)
					v[i].next += damping * v[k].rank * (double)weight[k * n + i] / v[k].out;
		for (i = 0; i < n; i++)
			v[i].rank = v[i].next;
	}
}

static int
by_rank(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return (x->s > y->s) - (x->s < y->s);
}

static int
by_place(const void *a, const void *b)
{
	const struct sentence *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y);
}

/* Does it say mostly what one of the others says? */
static bool
is_said(const struct node *taken, size_t n, const struct node *v)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((double)shared(&taken[i], v) > alike * (double)(taken[i].n < v->n ? taken[i].n : v->n))
			return true;
	return false;
}

const struct sentence **
summary_find(const struct prose *p, size_t *n)
{
	struct node *v = arena_array(p->mem, LOOKED_AT, sizeof(*v)), taken[SUMMARY_SENTENCES];
	const struct sentence **out = arena_array(p->mem, SUMMARY_SENTENCES, sizeof(const struct sentence *));
	size_t whole = 0, nodes = 0, i, k = 0, step, most, bytes = 0;

	for (i = 0; i < p->n_sentences; i++)
		whole += !p->sentences[i].is_line;
	step = whole / LOOKED_AT + 1;
	/* Of a long text every second, third … sentence is looked at. */
	for (i = 0; i < p->n_sentences; i++)
		if (!p->sentences[i].is_line && k++ % step == 0)
			nodes += node_of(p, &p->sentences[i], &v[nodes]);
	*n = 0;
	if (nodes < LEAST)
		return out;
	rank(p->mem, v, nodes);
	qsort(v, nodes, sizeof(*v), by_rank);
	most = nodes / SHARE < SUMMARY_SENTENCES ? nodes / SHARE : SUMMARY_SENTENCES;
	/* What says less than the mean of them stands for nothing. */
	for (i = 0; i < nodes && *n < most && v[i].rank >= mean; i++)
		if (bytes + strlen(v[i].s->reading) < SUMMARY_BYTES && !is_said(taken, *n, &v[i])) {
			bytes += strlen(v[i].s->reading);
			taken[*n] = v[i];
			out[(*n)++] = v[i].s;
		}
	qsort(out, *n, sizeof(const struct sentence *), by_place);
	return out;
}

const char *
summary_json(struct arena *mem, const struct sentence *const *s, size_t n, const char *written)
{
	struct buf b = BUF(mem), text = BUF(mem), place;
	size_t i;

	for (i = 0; i < n; i++)
		buf_printf(&text, "%s%s", i > 0 ? " " : "", s[i]->reading);
	buf_char(&b, '{');
	if (n > 0) {
		buf_text(&b, "\"text\":");
		buf_json(&b, written != NULL ? written : buf_string(&text));
		buf_char(&b, ',');
	}
	buf_text(&b, "\"items\":[");
	for (i = 0; i < n; i++) {
		place = BUF(mem);
		prose_place(&place, &s[i]->place);
		buf_text(&b, i > 0 ? ",{\"text\":" : "{\"text\":");
		buf_json(&b, s[i]->reading);
		buf_printf(&b, ",\"confidence\":%.2f", s[i]->confidence);
		if (place.len > 2)
			buf_char(&b, ',');
		buf_text(&b, buf_string(&place) + 1);
	}
	buf_text(&b, "]}");
	return buf_string(&b);
}
