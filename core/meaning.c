/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vectors of texts, and the engine that is built in. */
#include <math.h>
#include <string.h>

#include "core/buf.h"
#include "core/fnv.h"
#include "core/fold.h"
#include "core/glosses.h"
#include "core/meaning.h"
#include "core/stem.h"
#include "core/text.h"

/* Parts for words as they are written, and how many of them a word has, so that two words which share one are not taken
 * for each other; bytes of a text, of which the rest says little more. */
enum { NAME_MAX_BYTES = 60, WRITTEN = 1024, SPREAD = 8, TEXT_MAX = 16000 };
/* How much the meanings of words count beside the words themselves, where all of them are known. */
static const float by_meaning = 3;
/* To be counted up when the same text gives another vector. */
#define MADE_AS "1"

/* splitmix64. */
static uint64_t
mixed(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Each part stands on one side of each plane, by a number that follows from both. */
static void
find_planes(struct meaning *m)
{
	int32_t sums[64];
	uint64_t sides;
	size_t plane, i, bit;

	for (plane = 0; plane < MEANING_PLANES; plane++) {
		memset(sums, 0, sizeof(sums));
		for (i = 0; i < m->n; i++) {
			if (m->parts[i] == 0)
				continue;
			sides = mixed(i * MEANING_PLANES + plane);
			for (bit = 0; bit < 64; bit++)
				sums[bit] += sides >> bit & 1 ? m->parts[i] : -m->parts[i];
		}
		m->planes[plane] = 0;
		for (bit = 0; bit < 64; bit++)
			m->planes[plane] |= (uint64_t)(sums[bit] > 0) << bit;
	}
}

struct meaning
meaning_of(struct arena *mem, const float *at, size_t n)
{
	struct meaning m = { 0 };
	int8_t *parts;
	float most = 0;
	size_t i;

	if (n > MEANING_MAX)
		return m;
	for (i = 0; i < n; i++) {
		if (!isfinite(at[i]))
			return m;
		most = fabsf(at[i]) > most ? fabsf(at[i]) : most;
	}
	if (most < 1e-20f)
		return m;
	parts = arena_alloc(mem, n);
	for (i = 0; i < n; i++)
		parts[i] = (int8_t)lrintf(at[i] / most * 127);
	m.n = n;
	m.parts = parts;
	find_planes(&m);
	return m;
}

struct meaning
meaning_kept(const void *bytes, size_t n)
{
	return (struct meaning){ .n = n, .parts = bytes };
}

double
meaning_cosine(const struct meaning *a, const struct meaning *b)
{
	int64_t product = 0, x = 0, y = 0;
	size_t i;

	if (a->n != b->n)
		return 0;
	for (i = 0; i < a->n; i++) {
		product += a->parts[i] * b->parts[i];
		x += a->parts[i] * a->parts[i];
		y += b->parts[i] * b->parts[i];
	}
	return x > 0 && y > 0 ? (double)product / sqrt((double)x * (double)y) : 0;
}

static void
add(float *sum, const struct meaning *m)
{
	double length = 0;
	size_t i;

	for (i = 0; i < m->n; i++)
		length += m->parts[i] * m->parts[i];
	for (i = 0; i < m->n && length > 0; i++)
		sum[i] += (float)(m->parts[i] / sqrt(length));
}

struct meaning
meaning_mean(struct arena *mem, const struct meaning *all, size_t n)
{
	float *sum;
	size_t i;

	if (n == 0)
		return (struct meaning){ 0 };
	sum = arena_array(mem, all[0].n + 1, sizeof(*sum));
	for (i = 0; i < n; i++)
		if (all[i].n == all[0].n)
			add(sum, &all[i]);
	return meaning_of(mem, sum, all[0].n);
}

const char *
meaning_served_name(struct arena *mem, const char *model)
{
	struct buf b = BUF(mem);
	const char *c;

	for (c = model; *c != '\0' && c - model < NAME_MAX_BYTES; c++)
		buf_char(&b, *c > ' ' && *c < 0x7f ? *c : '_');
	/* two that look the same then are told apart */
	if (strcmp(buf_string(&b), model) != 0)
		buf_printf(&b, " %016llx", (unsigned long long)fnv1a(FNV_EMPTY, model, strlen(model)));
	buf_text(&b, " by HTTP");
	return buf_string(&b);
}

/* The length 1 times `to`; where all is 0 it stays so. */
static void
scale(float *at, size_t n, float to)
{
	float length = 0;
	size_t i;

	for (i = 0; i < n; i++)
		length += at[i] * at[i];
	for (i = 0; i < n && length > 0; i++)
		at[i] *= to / sqrtf(length);
}

static uint64_t
hash(const char *word)
{
	return mixed(fnv1a(FNV_EMPTY, word, strlen(word)));
}

static bool
is_common(const char *word)
{
	static const char *const words[] = {
		"a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
		"because", "been", "before", "being", "but", "by", "can", "could", "did", "do", "does", "for",
		"from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into",
		"is", "it", "its", "just", "me", "more", "most", "my", "no", "not", "of", "off", "on", "one",
		"only", "or", "other", "our", "out", "over", "s", "she", "should", "so", "some", "such", "t",
		"than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
		"too", "up", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while",
		"who", "why", "will", "with", "would", "you", "your",
	};
	size_t from = 0, to = sizeof(words) / sizeof(words[0]), middle;
	int order;

	while (from < to) {
		middle = from + (to - from) / 2;
		order = strcmp(word, words[middle]);
		if (order == 0)
			return true;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}

/* Weights of the words of a text, and of those that are known. */
struct known { float all, of; };

/* A word, as it is written and by what it means. */
static void
add_word(float *at, char *word, struct known *known)
{
	const struct gloss *g;
	const int8_t *vector;
	uint64_t h;
	float weight;
	size_t i;

	if (is_common(word))
		return;
	stem_english(word);
	g = gloss_of(word);
	weight = g != NULL ? g->weight : glosses_rarest();
	known->all += weight;
	h = hash(word);
	for (i = 0; i < SPREAD; i++, h = mixed(h))
		at[h % WRITTEN] += (h >> 32 & 1 ? 1 : -1) * weight;
	if (g == NULL)
		return;
	known->of += weight;
	vector = gloss_vector(g);
	for (i = 0; i < glosses_dimension(); i++)
		at[WRITTEN + i] += (float)vector[i] * g->scale * weight;
}

struct meaning
meaning_by_glosses(struct arena *mem, const char *text)
{
	const size_t size = strlen(text), all = WRITTEN + glosses_dimension();
	float *at = arena_array(mem, all, sizeof(*at));
	struct known known = { 0 };
	struct folded *f;
	size_t n, i;

	f = fold_words(mem, size > TEXT_MAX ? arena_copy_n(mem, text, utf8_prefix(text, TEXT_MAX)) : text, &n);
	for (i = 0; i < n; i++)
		add_word(at, arena_copy(mem, f[i].word), &known);
	scale(at, WRITTEN, 1);
	/* Of a text in another language some words look like English ones, and say nothing. */
	scale(at + WRITTEN, glosses_dimension(), known.all > 0 ? by_meaning * known.of / known.all : 0);
	return meaning_of(mem, at, all);
}

const char *
meaning_glosses_name(struct arena *mem)
{
	return arena_printf(mem, "glosses " MADE_AS " %s", glosses_name());
}
