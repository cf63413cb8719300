/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keywords of an asset.  How much a word says is told by how rare it is: in English by the language model that comes
 * with the built-in speech engine, in other languages by how many assets of the tenant have it.  Safe to run twice: the
 * row is replaced, by what was made of the words that are there.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "media/frequency.h"
#include "media/keywords.h"
#include "media/stop_words.h"
#include "jobs/gist.h"

/* LOOKED_UP: the commonest words of the text.  Without a capital a German word is no noun. */
enum { LOOKED_UP = 1000 };
static const double expected = 3, unknown = 7, no_noun = 0.4;

static void
weigh_english(const struct prose *p, const struct frequency *f, double *weights)
{
	size_t i;
	double log_p;

	for (i = 0; i < p->n_vocables; i++) {
		if (p->vocables[i].stem != i || p->vocables[i].common)
			continue;
		log_p = frequency_of(f, p->vocables[i].folded);
		weights[i] = fmax((log_p < 0 ? fmin(-log_p, unknown) : unknown) - expected, 0);
	}
}

struct known { const char *word; int64_t assets; };
static const struct field known_fields[] = {
	FIELD(struct known, word, .sql = "t.word", .doc = "Folded"),
	FIELD(struct known, assets, .sql = "t.assets", .doc = "That have it"),
};
static const struct record known_record = RECORD("KnownWord", struct known, known_fields);

struct rank { size_t stem, count; };

static int
by_count(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->stem > y->stem) - (x->stem < y->stem);
}

/* The commonest stems, the commonest first; how many of them are looked up. */
static size_t
commonest(const struct prose *p, struct rank **out)
{
	const size_t *counts = keywords_counts(p);
	struct rank *r = arena_array(p->mem, p->n_vocables, sizeof(*r));
	size_t i, n = 0;

	for (i = 0; i < p->n_vocables; i++)
		if (counts[i] > 0)
			r[n++] = (struct rank){ i, counts[i] };
	qsort(r, n, sizeof(*r), by_count);
	*out = r;
	return n < LOOKED_UP ? n : LOOKED_UP;
}

/* Words of scripts without blanks, and those with an apostrophe, are looked up in pieces there: here they all count
 * alike. */
static void
weigh_by_assets(struct job *j, const struct prose *p, double *weights)
{
	const int64_t all = db_number(j->db, "SELECT COUNT(*) FROM media WHERE tenant_id = ? AND deleted_at = 0",
	    ARGS(ID(j->tenant_id)), 1);
	struct buf words = BUF(j->mem);
	struct rank *r;
	struct known *k;
	size_t n = commonest(p, &r), i, m, known;

	for (i = 0; i < p->n_vocables; i++)
		weights[i] = p->vocables[i].common ? 0 : 1;
	for (i = 0; i < n; i++) {
		buf_text(&words, i > 0 ? "," : "[");
		buf_json(&words, p->vocables[r[i].stem].folded);
	}
	if (n == 0)
		return;
	buf_char(&words, ']');
	k = db_rows(j->db, &known_record, "FROM (SELECT w.word, COUNT(DISTINCT w.media_id) AS assets FROM JSON_TABLE("
	    "?, '$[*]' COLUMNS (word VARCHAR(80) CHARACTER SET utf8mb4 PATH '$')) j STRAIGHT_JOIN search_words w ON "
	    "w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) GROUP BY w.word) t", ARGS(STR(buf_string(&words)),
	    ID(j->tenant_id)), &known);
	for (i = 0; i < n; i++) {
		int64_t assets = 0;

		for (m = 0; m < known; m++)
			if (strcmp(k[m].word, p->vocables[r[i].stem].folded) == 0)
				assets = k[m].assets;
		/* Of assets that are deleted for now the words are still there. */
		weights[r[i].stem] = 1 + log10((double)((all > assets ? all : assets) + 1) / (double)(assets + 1));
	}
}

/* Where nouns have capitals, a word that never has one is none. */
static void
weigh_nouns(const struct prose *p, double *weights)
{
	bool *has_capital = arena_array(p->mem, p->n_vocables, sizeof(*has_capital));
	size_t i;

	for (i = 0; i < p->n; i++)
		if (prose_is_capital(&p->tokens[i]))
			has_capital[p->vocables[p->tokens[i].vocable].stem] = true;
	for (i = 0; i < p->n_vocables; i++)
		if (!has_capital[i])
			weights[i] *= no_noun;
}

static bool
is_language(const struct prose *p, const char *tag)
{
	const char *own = stop_words_language(stop_words_of(p->language));

	return own != NULL && strcmp(own, tag) == 0;
}

/* The weights, and by what. */
static const char *
weigh(struct job *j, const struct prose *p, double *weights)
{
	struct frequency *f = is_language(p, "en") ? frequency_open(j->mem, SPEECH_MODEL "/en-us.lm.bin") : NULL;

	if (f != NULL) {
		weigh_english(p, f, weights);
		return "kinothek keywords 1, en-us.lm.bin";
	}
	weigh_by_assets(j, p, weights);
	if (is_language(p, "de") && p->has_case)
		weigh_nouns(p, weights);
	return "kinothek keywords 1, words of the tenant";
}

enum outcome
keywords_make(struct job *j, struct uuid media_id, const struct words *w)
{
	double *weights = arena_array(j->mem, w->prose->n_vocables, sizeof(*weights));
	const char *engine = weigh(j, w->prose, weights), *data;
	struct keyword *k;
	size_t n;

	job_pause(j);
	k = keywords_find(w->prose, weights, &n);
	data = keywords_json(j->mem, k, n);
	return words_put(j, media_id, w, "keywords", engine, data) ? DONE : RETRY;
}

enum outcome
keywords_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const struct words w = words_read(j, in->media_id);

	return keywords_make(j, in->media_id, &w);
}
