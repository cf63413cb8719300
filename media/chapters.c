/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where other words begin. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/text.h"
#include "media/chapters.h"
#include "media/prose.h"
#include "media/transcript.h"

enum {
	UNIT_WORDS = 15, WINDOW_UNITS = 500,
	UNITS_LEAST = 8,			/* of a stretch; of one that other things than words bound, too */
	UNITS_BOUNDED = 4,
	LEAST_MS = 20000,
	PAUSE_MS = 3000, NEAR_MS = 4000,
	TITLE_WORDS = 3, TITLE_LETTERS = 4,
};
/* Of the paper's prior: what a further stretch costs, in logarithms of the length of the text. */
static const double price = 3.5;
/* What a pause, a change of the picture, another title and another voice take off it, and what all of them may. */
static const double pause_worth = 0.2, change_worth = 0.3, title_worth = 0.3, voice_worth = 0.2, most_worth = 0.9;

/* A word as it is said, without the punctuation on it. */
struct spoken {
	const char *text;
	int64_t start, end;
	int type;				/* forms of one word have the same; -1: it says nothing of a subject */
};

/* The words of a few seconds, [from, to). */
struct unit { size_t from, to; double gain; bool is_bound; };

struct speech {
	struct spoken *words;
	size_t n;
	int types;
	struct unit *units;
	size_t n_units;
	int64_t duration, least;
	double boundary;			/* price of one */
};

/* Words that are likely to be wrong are not among them. */
static void
take_words(struct arena *mem, const struct list *paragraphs, struct speech *s)
{
	struct prose_reader *r = prose_begin(mem);
	const struct prose *p;
	size_t i;

	prose_say(r, paragraphs, 1);
	p = prose_end(r, NULL);
	s->words = arena_array(mem, p->n + 1, sizeof(*s->words));
	for (i = 0; i < p->n; i++) {
		const struct token *t = &p->tokens[i];
		const struct vocable *v = &p->vocables[t->vocable];

		if (t->place.start < s->duration)
			s->words[s->n++] = (struct spoken){ t->text, t->place.start, t->place.end,
			    v->common ? -1 : (int)v->stem };
	}
	s->types = (int)p->n_vocables;
}

size_t
moments_from(struct moments m, int64_t ms)
{
	size_t low = 0, high = m.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (m.at[middle] < ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_near(struct moments changes, int64_t ms)
{
	const size_t i = moments_from(changes, ms - NEAR_MS);

	return i < changes.n && changes.at[i] <= ms + NEAR_MS;
}

/* How much speaks for a beginning there, beside the words. */
static double
worth(const struct chapters_marks *m, int64_t at, int64_t pause)
{
	const double all = pause_worth * fmax(0, fmin((double)pause / PAUSE_MS, 1)) +
	    (is_near(m->changes, at) ? change_worth : 0) + (is_near(m->titles, at) ? title_worth : 0) +
	    (is_near(m->voices, at) ? voice_worth : 0);

	return fmin(all, most_worth);
}

/* Do two of picture, title and voice become others there? */
static bool
is_bound(const struct chapters_marks *m, int64_t at)
{
	return is_near(m->changes, at) + is_near(m->titles, at) + is_near(m->voices, at) >= 2;
}

/* Units end at a pause rather than in the middle of a sentence, and where somebody else begins. */
static void
take_units(struct arena *mem, const struct chapters_marks *marks, struct speech *s)
{
	int64_t pause = 0;
	size_t i;

	s->units = arena_array(mem, s->n + 1, sizeof(*s->units));
	for (i = 0; i < s->n; i++) {
		struct unit *u = s->n_units > 0 ? &s->units[s->n_units - 1] : NULL;

		if (i > 0)
			pause = s->words[i].start - s->words[i - 1].end;
		if (u == NULL || i - u->from >= UNIT_WORDS ||
		    (i - u->from >= UNIT_WORDS / 2 && pause >= PAUSE_MS / 3)) {
			u = &s->units[s->n_units++];
			*u = (struct unit){ .from = i };
			u->gain = s->boundary * worth(marks, s->words[i].start, pause);
			u->is_bound = is_bound(marks, s->words[i].start);
		}
		u->to = i + 1;
	}
}

static int64_t
begins(const struct speech *s, size_t unit)
{
	return unit == 0 ? 0 : unit == s->n_units ? s->duration : s->words[s->units[unit].from].start;
}

/* May it be a stretch of its own?  The whole may, however short. */
static bool
is_long(const struct speech *s, size_t from, size_t to, size_t first, size_t end)
{
	const bool bounded = (from == 0 || s->units[from].is_bound) && (to == s->n_units || s->units[to].is_bound);

	return (from == first && to == end) || (to - from >= (bounded ? UNITS_BOUNDED : UNITS_LEAST) &&
	    begins(s, to) - begins(s, from) >= s->least);
}

/* x ln(x + 1), for all x up to n. */
static double *
logarithms(struct arena *mem, size_t n)
{
	double *table = arena_array(mem, n + 1, sizeof(*table));
	size_t i;

	for (i = 0; i <= n; i++)
		table[i] = (double)i * log((double)i + 1);
	return table;
}

static void
forget(const struct speech *s, int *times, size_t from, size_t to)
{
	for (size_t w = s->units[from].from; w < s->units[to - 1].to; w++)
		if (s->words[w].type >= 0)
			times[s->words[w].type] = 0;
}

/* How many different words there are in some units. */
static size_t
variety(const struct speech *s, int *times, size_t from, size_t to)
{
	size_t n = 0, w;

	for (w = s->units[from].from; w < s->units[to - 1].to; w++)
		n += s->words[w].type >= 0 && times[s->words[w].type]++ == 0;
	forget(s, times, from, to);
	return n;
}

/* Working space: of the cheapest way to part what lies before a unit, its cost and where its last stretch begins. */
struct search {
	double *cost, *table;
	size_t *came;
	int *times;				/* of each word in what is looked at; 0 between */
};

/*
 * The cheapest way to part the units [from, to).  A stretch of N words costs the sum of ln((N + variety) / (times the
 * word is in it + 1)).
 */
static void
part(const struct speech *s, struct search *x, size_t from, size_t to)
{
	const size_t types = variety(s, x->times, from, to);
	size_t i, k, w, n;
	double kept, all;

	for (i = from + 1; i <= to; i++)
		x->cost[i] = INFINITY;
	x->cost[from] = 0;
	for (i = from; i < to; i++) {
		if (isinf(x->cost[i]))
			continue;
		for (k = i, kept = 0, n = 0; k < to; k++) {
			for (w = s->units[k].from; w < s->units[k].to; w++) {
				const int type = s->words[w].type;

				if (type < 0)
					continue;
				kept += x->table[x->times[type] + 1] - x->table[x->times[type]];
				x->times[type]++;
				n++;
			}
			all = x->cost[i] + (double)n * log((double)(n + types)) - kept + s->boundary - s->units[i].gain;
			if (all < x->cost[k + 1] && is_long(s, i, k + 1, from, to)) {
				x->cost[k + 1] = all;
				x->came[k + 1] = i;
			}
		}
		forget(s, x->times, i, to);
	}
}

/*
 * In a long text nearly all words are rare, and the model sees no topics any more: so it is parted by the hour.  What
 * begins last in one is looked at again, with what follows.  Returns how many units of `first` begin a stretch.
 */
static size_t
part_all(struct arena *mem, const struct speech *s, size_t *first)
{
	struct search x = { arena_array(mem, s->n_units + 1, sizeof(double)), logarithms(mem, s->n),
	    arena_array(mem, s->n_units + 1, sizeof(size_t)), arena_array(mem, (size_t)s->types + 1, sizeof(int)) };
	size_t n = 0, from = 0, to, i, k;

	while (from < s->n_units) {
		to = s->n_units - from < 2 * WINDOW_UNITS ? s->n_units : from + WINDOW_UNITS;
		part(s, &x, from, to);
		if (to < s->n_units && x.came[to] > from)
			to = x.came[to];
		for (i = to; i > from; i = x.came[i])
			n++;
		for (i = to, k = n; i > from; i = x.came[i])
			first[--k] = x.came[i];
		from = to;
	}
	return n;
}

/* What is said here and hardly elsewhere, most telling first. */
struct telling { double score; const struct spoken *word; };

static int
by_score(const void *a, const void *b)
{
	const struct telling *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return x->word < y->word ? -1 : x->word > y->word;
}

/* In how many units each word is, how often in all, and in the stretch that is looked at; 0 between them. */
struct spread { int *units, *times, *here; };

static struct spread
spread_of(struct arena *mem, const struct speech *s)
{
	int *counts = arena_array(mem, 3 * (size_t)s->types + 3, sizeof(int));
	struct spread out = { counts, counts + s->types + 1, counts + 2 * (s->types + 1) };
	size_t *last = arena_array(mem, (size_t)s->types + 1, sizeof(*last)), i, w;

	for (i = 0; i < s->n_units; i++)
		for (w = s->units[i].from; w < s->units[i].to; w++) {
			const int t = s->words[w].type;

			if (t < 0)
				continue;
			out.times[t]++;
			out.units[t] += last[t] != i + 1;
			last[t] = i + 1;
		}
	return out;
}

static bool
is_short(const char *text)
{
	return utf8_length(text) < TITLE_LETTERS && !transcript_is_wide(text);
}

static const char *
title(struct arena *mem, const struct speech *s, struct spread *spread, size_t from, size_t to)
{
	struct telling *all = arena_array(mem, to - from + 1, sizeof(*all));
	int *here = spread->here;
	struct buf out = BUF(mem);
	size_t n = 0, i;

	for (i = from; i < to; i++)
		if (s->words[i].type >= 0)
			here[s->words[i].type]++;
	for (i = from; i < to; i++) {
		const struct spoken *w = &s->words[i];
		double share;

		if (w->type < 0 || here[w->type] < 2 || is_short(w->text))
			continue;
		share = (double)here[w->type] / spread->times[w->type];
		all[n++] = (struct telling){ here[w->type] * share * share *
		    log((double)(s->n_units + 1) / spread->units[w->type]), w };
		here[w->type] = 0;
	}
	for (i = from; i < to; i++)
		if (s->words[i].type >= 0)
			here[s->words[i].type] = 0;
	qsort(all, n, sizeof(*all), by_score);
	for (i = 0; i < n && i < TITLE_WORDS; i++)
		buf_printf(&out, "%s%s", i > 0 ? ", " : "", all[i].word->text);
	return n > 0 ? buf_string(&out) : NULL;
}

static size_t
by_words(struct arena *mem, const struct speech *s, const struct stretch **out)
{
	size_t *first = arena_array(mem, s->n_units + 1, sizeof(*first)), n = part_all(mem, s, first), i;
	struct stretch *all = arena_array(mem, n, sizeof(*all));
	struct spread spread = spread_of(mem, s);

	first[n] = s->n_units;
	for (i = 0; i < n; i++)
		all[i] = (struct stretch){ begins(s, first[i]), begins(s, first[i + 1]),
		    title(mem, s, &spread, s->units[first[i]].from, s->units[first[i + 1] - 1].to) };
	*out = all;
	return n;
}

/* In order. */
static struct moments
both(struct arena *mem, struct moments a, struct moments b)
{
	int64_t *at = arena_array(mem, a.n + b.n, sizeof(*at));
	size_t i = 0, k = 0, n = 0;

	while (i < a.n || k < b.n)
		at[n++] = k == b.n || (i < a.n && a.at[i] <= b.at[k]) ? a.at[i++] : b.at[k++];
	return (struct moments){ at, n };
}

static size_t
by_picture(struct arena *mem, const struct chapters_marks *marks, const struct speech *s, const struct stretch **out)
{
	const struct moments changes = both(mem, marks->changes, marks->titles);
	struct stretch *all = arena_array(mem, changes.n + 1, sizeof(*all));
	size_t n = 0, i;

	for (i = 0; i < changes.n; i++)
		if (changes.at[i] - all[n].start >= s->least && s->duration - changes.at[i] >= s->least) {
			all[n++].end = changes.at[i];
			all[n].start = changes.at[i];
		}
	all[n].end = s->duration;
	*out = all;
	return n + 1;
}

size_t
chapters_find(struct arena *mem, const struct list *paragraphs, const struct chapters_marks *marks, int64_t duration,
    const struct stretch **out)
{
	struct speech s = { .duration = duration, .least = duration / CHAPTERS_STRETCHES };

	if (s.least < LEAST_MS)
		s.least = LEAST_MS;
	take_words(mem, paragraphs, &s);
	s.boundary = price * log((double)s.n + 2);
	take_units(mem, marks, &s);
	return s.n_units > 0 ? by_words(mem, &s, out) : by_picture(mem, marks, &s, out);
}
