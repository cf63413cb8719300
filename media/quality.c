/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grades of transcripts: what is good, what is a draft, and what may be nonsense. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "media/quality.h"

/*
 * Of words below HIDDEN seven in ten are wrong, of those above SURE one in seven.
 *
 * The mean of nonsense is below NONSENSE when there is enough of it.  Of few words it may be anything by chance, the
 * more so the fewer there are: seven words of reversed speech had .64, and ten recordings in a hundred of three words
 * that were wrong had over .7.  So the fewer words, the higher the mean must be.  Words that come again tell nothing
 * more: engines hear one and the same in each clap of a noise, and are sure of it.
 */
#define HIDDEN 0.1
#define SURE 0.6
#define NONSENSE 0.35
#define DRAFT 0.40
#define GOOD 0.70
#define SURE_SHARE 0.75

struct tally { size_t words, sure, distinct; double sum; };

static bool
is_judged(const struct word *w)
{
	return w->confidence > 0 && strcmp(w->source, "machine") == 0;
}

static int
by_text(const void *a, const void *b)
{
	return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

static struct tally
count(struct arena *mem, const struct list *paragraphs)
{
	const struct paragraph *p = paragraphs->rows;
	struct tally t = { 0 };
	const char **texts;
	size_t room = 0, i, k;

	for (i = 0; i < paragraphs->n; i++)
		room += p[i].words.n;
	texts = arena_array(mem, room, sizeof(*texts));
	for (i = 0; i < paragraphs->n; i++)
		for (k = 0; k < p[i].words.n; k++) {
			const struct word *w = (const struct word *)p[i].words.rows + k;

			if (!is_judged(w))
				continue;
			texts[t.words++] = w->text;
			t.sum += w->confidence;
			t.sure += w->confidence >= SURE;
		}
	qsort(texts, t.words, sizeof(*texts), by_text);
	for (i = 0; i < t.words; i++)
		t.distinct += i == 0 || by_text(&texts[i - 1], &texts[i]) != 0;
	return t;
}

struct quality
quality_of(struct arena *mem, const struct list *paragraphs)
{
	struct tally t = count(mem, paragraphs);
	struct quality q = { NULL, 0 };

	if (t.words == 0)
		return q;
	q.confidence = t.sum / (double)t.words;
	if (q.confidence < fmax(DRAFT, NONSENSE + 1 / sqrt((double)t.distinct)))
		q.grade = "unreliable";
	else if (q.confidence < GOOD || (double)t.sure < SURE_SHARE * (double)t.words)
		q.grade = "draft";
	else
		q.grade = "good";
	return q;
}

bool
quality_hides(const struct word *w)
{
	return is_judged(w) && w->confidence < HIDDEN;
}

bool
quality_shows(const struct transcript *t)
{
	if (strcmp(t->status, "completed") != 0 || t->no_speech)
		return false;
	if (strcmp(t->captions, "automatic") != 0)
		return strcmp(t->captions, "published") == 0;
	return t->quality == NULL || strcmp(t->quality, "unreliable") != 0;
}
