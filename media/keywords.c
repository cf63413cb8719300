/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From words to those that matter: how often each comes, times how little it is to be expected. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "media/keywords.h"

/* WORDS: of a phrase.  In a text of so many telling words or more, what is said once is not what it is about. */
enum { WORDS = 3, LONG_TEXT = 120, SPELLINGS = 500 };
/* A phrase of two words is worth so much more than what its words are worth in the mean; less than this share of the
 * best is nothing; of what comes in a longer phrase mostly, the phrase is enough. */
static const double longer = 0.7, least = 0.08, mostly = 0.7;

/* A word or phrase at a place, by the stems of its words. */
struct use { size_t stems[WORDS], words, token; };

struct group { const struct use *uses; size_t n; double score; };

size_t *
keywords_counts(const struct prose *p)
{
	size_t *counts = arena_array(p->mem, p->n_vocables, sizeof(*counts)), i;

	for (i = 0; i < p->n; i++)
		if (!p->vocables[p->tokens[i].vocable].common)
			counts[p->vocables[p->tokens[i].vocable].stem]++;
	return counts;
}

static int
by_stems(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	size_t i;

	if (x->words != y->words)
		return x->words < y->words ? -1 : 1;
	for (i = 0; i < x->words; i++)
		if (x->stems[i] != y->stems[i])
			return x->stems[i] < y->stems[i] ? -1 : 1;
	return (x->token > y->token) - (x->token < y->token);
}

static bool
is_common(const struct prose *p, size_t token)
{
	return p->vocables[p->tokens[token].vocable].common;
}

/* A phrase neither begins nor ends with a common word, and no word of grammar stands within: "end of file" is none. */
static size_t
uses_of(const struct prose *p, struct use *out)
{
	size_t i, k, n = 0;

	for (i = 0; i < p->n; i++) {
		struct use u = { { 0 }, 0, i };

		for (k = 0; k < WORDS && i + k < p->n && !is_common(p, i + k); k++) {
			const struct token *t = &p->tokens[i + k];
			const size_t stem = p->vocables[t->vocable].stem;

			/* A word that is said twice is no phrase. */
			if (k > 0 && (t->begins || t->sentence != t[-1].sentence || stem == u.stems[k - 1]))
				break;
			u.stems[u.words++] = stem;
			out[n++] = u;
		}
	}
	return n;
}

static double
score_of(const struct group *g, const double *weights, double *weakest)
{
	const struct use *u = g->uses;
	double sum = 0;
	size_t i;

	*weakest = INFINITY;
	for (i = 0; i < u->words; i++) {
		sum += weights[u->stems[i]];
		*weakest = fmin(*weakest, weights[u->stems[i]]);
	}
	return (double)g->n * sum / (double)u->words * pow((double)u->words, longer);
}

static struct group *
groups_of(const struct prose *p, const struct use *u, size_t n_uses, const double *weights, size_t *n)
{
	struct group *g = arena_array(p->mem, n_uses, sizeof(*g));
	size_t i, k, telling = 0;
	double weakest;

	*n = 0;
	for (i = 0; i < n_uses; i++)
		telling += u[i].words == 1;
	for (i = 0; i < n_uses; i = k) {
		struct group one = { &u[i], 0, 0 };

		for (k = i; k < n_uses && u[k].words == u[i].words &&
		    memcmp(u[k].stems, u[i].stems, sizeof(u[k].stems)) == 0;)
			k++;
		one.n = k - i;
		one.score = score_of(&one, weights, &weakest);
		if (weakest > 0 && (one.n > 1 || (one.uses->words == 1 && telling < LONG_TEXT)))
			g[(*n)++] = one;
	}
	return g;
}

static int
by_score(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return (x->uses->token > y->uses->token) - (x->uses->token < y->uses->token);
}

/* Are the words of one those of a part of the other? */
static bool
is_within(const struct use *one, const struct use *other)
{
	size_t i;

	for (i = 0; i + one->words <= other->words; i++)
		if (memcmp(one->stems, other->stems + i, one->words * sizeof(one->stems[0])) == 0)
			return true;
	return false;
}

/* Does another one say it already? */
static bool
is_said(const struct group *taken, size_t n, const struct group *g)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((is_within(g->uses, taken[i].uses) && (double)taken[i].n >= mostly * (double)g->n) ||
		    (is_within(taken[i].uses, g->uses) && (double)g->n < (1 - mostly) * (double)taken[i].n))
			return true;
	return false;
}

static const char *
spelled(const struct prose *p, const struct use *u)
{
	struct buf b = BUF(p->mem);
	size_t i;

	for (i = 0; i < u->words; i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", p->tokens[u->token + i].text);
	return buf_string(&b);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* As it is written most often; of those that come as often, the first by the alphabet, which has capitals first. */
static const char *
name_of(const struct prose *p, const struct group *g)
{
	const size_t n = g->n < SPELLINGS ? g->n : SPELLINGS;
	const char **all = arena_array(p->mem, n, sizeof(*all)), *best = NULL;
	size_t i, k, most = 0;

	for (i = 0; i < n; i++)
		all[i] = spelled(p, &g->uses[i]);
	qsort(all, n, sizeof(*all), by_text);
	for (i = 0; i < n; i = k) {
		for (k = i; k < n && strcmp(all[k], all[i]) == 0;)
			k++;
		if (k - i > most) {
			most = k - i;
			best = all[i];
		}
	}
	return best;
}

static struct keyword
keyword_of(const struct prose *p, const struct group *g, double best)
{
	struct keyword k = { .name = name_of(p, g), .score = g->score / best, .count = g->n };
	struct place *at = arena_array(p->mem, g->n < KEYWORD_INSTANCES ? g->n : KEYWORD_INSTANCES, sizeof(*at));
	double sum = 0;
	size_t i, w;

	for (i = 0; i < g->n; i++) {
		const struct token *t = &p->tokens[g->uses[i].token];
		double weakest = 1;

		for (w = 0; w < g->uses->words; w++)
			weakest = fmin(weakest, t[w].confidence);
		sum += weakest;
		if (k.n == KEYWORD_INSTANCES || (k.n > 0 && t->place.page > 0 && at[k.n - 1].page == t->place.page))
			continue;
		at[k.n] = t->place;
		at[k.n++].end = t[g->uses->words - 1].place.end;
	}
	k.confidence = sum / (double)g->n;
	k.instances = at;
	return k;
}

struct keyword *
keywords_find(const struct prose *p, const double *weights, size_t *n)
{
	struct use *u = arena_array(p->mem, p->n * WORDS, sizeof(*u));
	struct group *g, taken[KEYWORDS_MAX];
	struct keyword *out = arena_array(p->mem, KEYWORDS_MAX, sizeof(*out));
	size_t n_uses = uses_of(p, u), n_groups, i;

	qsort(u, n_uses, sizeof(*u), by_stems);
	g = groups_of(p, u, n_uses, weights, &n_groups);
	qsort(g, n_groups, sizeof(*g), by_score);
	*n = 0;
	for (i = 0; i < n_groups && *n < KEYWORDS_MAX && g[i].score >= least * g[0].score; i++)
		if (!is_said(taken, *n, &g[i])) {
			taken[*n] = g[i];
			out[(*n)++] = keyword_of(p, &g[i], g[0].score);
		}
	return out;
}

const char *
keywords_json(struct arena *mem, const struct keyword *k, size_t n)
{
	struct buf b = BUF(mem);
	size_t i, m;

	buf_text(&b, "{\"items\":[");
	for (i = 0; i < n; i++) {
		buf_text(&b, i > 0 ? ",{\"name\":" : "{\"name\":");
		buf_json(&b, k[i].name);
		buf_printf(&b, ",\"score\":%.3f,\"confidence\":%.2f,\"count\":%zu,\"instances\":[", k[i].score,
		    k[i].confidence, k[i].count);
		for (m = 0; m < k[i].n; m++) {
			if (m > 0)
				buf_char(&b, ',');
			prose_place(&b, &k[i].instances[m]);
		}
		buf_text(&b, "]}");
	}
	buf_text(&b, "]}");
	return buf_string(&b);
}
