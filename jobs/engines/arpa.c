/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Language models of pairs of words by absolute discounting (Ney, Essen, Kneser 1994). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include "core/fnv.h"
#include "jobs/engines/arpa.h"

#define DISCOUNT 0.5
enum { BEGIN, END, MARKS, CELLS = 16384, TEXT_MAX = 20000 };	/* sentence marks are the first two words */

struct model {
	struct arena *mem;
	const char *words[MARKS + ARPA_WORDS];
	int count[MARKS + ARPA_WORDS], kinds[MARKS + ARPA_WORDS];	/* said so often; so many pairs begin with it */
	int cells[CELLS];						/* word + 1 by hash */
	int n, tokens, last;
	struct bigram { int first, second, count; } *pairs;
	size_t n_pairs;
};

static int *
cell_of(struct model *m, const char *word)
{
	size_t h = fnv1a(FNV_EMPTY, word, strlen(word)) % CELLS;

	while (m->cells[h] != 0 && strcmp(m->words[m->cells[h] - 1], word) != 0)
		h = (h + 1) % CELLS;
	return &m->cells[h];
}

/* Index of the word; -1: there is no room for another. */
static int
index_of(struct model *m, const char *word)
{
	int *cell = cell_of(m, word);

	if (*cell == 0 && m->n == MARKS + ARPA_WORDS)
		return -1;
	if (*cell == 0) {
		m->words[m->n] = arena_copy(m->mem, word);
		*cell = ++m->n;
	}
	return *cell - 1;
}

static void
add_token(struct model *m, int word)
{
	m->count[word]++;
	m->pairs[m->n_pairs++] = (struct bigram){ m->last, word, 1 };
	m->last = word;
}

static void
end_sentence(struct model *m)
{
	if (m->last != BEGIN) {
		m->count[BEGIN]++;
		add_token(m, END);
	}
	m->last = BEGIN;
}

/* What stands between two signs that belong to no word. */
static void
add_word(struct model *m, const char *word, size_t n)
{
	int index;

	while (n > 0 && word[0] == '\'') {
		word++;
		n--;
	}
	while (n > 0 && word[n - 1] == '\'')
		n--;
	if (n == 0 || m->tokens >= ARPA_TOKENS)
		return;
	index = n > ARPA_WORD_MAX ? -1 : index_of(m, arena_copy_n(m->mem, word, n));
	if (index < 0) {
		end_sentence(m);
		return;
	}
	m->tokens++;
	add_token(m, index);
}

/* In decomposed form marks follow their letters, and are dropped: "é" is an e. */
static const char *
decomposed(struct arena *mem, const char *text)
{
	UErrorCode error = U_ZERO_ERROR;
	const UNormalizer2 *form = unorm2_getNFKDInstance(&error);
	size_t n = strlen(text) < TEXT_MAX ? strlen(text) : TEXT_MAX;
	UChar *wide = arena_array(mem, n + 1, sizeof(*wide)), *parts = arena_array(mem, n * 4 + 1, sizeof(*parts));
	char *out = arena_alloc(mem, n * 12 + 1);
	int32_t m;

	u_strFromUTF8WithSub(wide, (int32_t)n + 1, &m, text, (int32_t)n, ' ', NULL, &error);
	m = unorm2_normalize(form, wide, m, parts, (int32_t)n * 4, &error);
	u_strToUTF8WithSub(out, (int32_t)n * 12 + 1, NULL, parts, m, ' ', NULL, &error);
	return U_FAILURE(error) ? "" : out;
}

/* The next sign of the text: a letter, an apostrophe, a blank, '.' for what ends a sentence, '*' for a letter that is
 * none of ours, 0 for a mark that belongs to the letter before it.  *n: its bytes. */
static char
sign(const char *at, size_t *n)
{
	const unsigned char *p = (const unsigned char *)at;

	*n = 1;
	if (p[0] < 0x80)
		return p[0] >= 'A' && p[0] <= 'Z' ? (char)(p[0] - 'A' + 'a') : (p[0] >= 'a' && p[0] <= 'z') ||
		    p[0] == '\'' ? (char)p[0] : p[0] >= '0' && p[0] <= '9' ? '*' : p[0] != '\0' && strchr(" -/\t",
		    p[0]) != NULL ? ' ' : '.';
	while ((p[*n] & 0xc0) == 0x80)
		++*n;
	if ((p[0] == 0xcc && p[1] >= 0x80) || (p[0] == 0xcd && p[1] <= 0xaf))	/* U+0300 to U+036F */
		return 0;
	if (p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0x98 || p[2] == 0x99))	/* typographic apostrophes */
		return '\'';
	return (p[0] == 0xe2 && p[1] <= 0x81) || p[0] == 0xc2 ? '.' : '*';	/* other punctuation; other letters */
}

static void
add_text(struct model *m, const char *text)
{
	const char *p = decomposed(m->mem, text);
	struct buf word = BUF(m->mem);
	bool strange = false;
	size_t n;
	char c;

	do {
		c = sign(p, &n);
		if (c == '*') {
			strange = true;
		} else if (c == ' ' || c == '.') {
			if (!strange && word.len > 0)
				add_word(m, buf_string(&word), word.len);
			if (strange || c == '.')
				end_sentence(m);
			word.len = 0;
			strange = false;
		} else if (c != 0) {
			buf_char(&word, c);
		}
	} while (*p != '\0' && (p += n));
}

static int
by_words(const void *a, const void *b)
{
	const struct bigram *x = a, *y = b;

	return x->first != y->first ? x->first - y->first : x->second - y->second;
}

/* Pairs that are alike become one. */
static void
count_pairs(struct model *m)
{
	size_t kept = 0, i;

	qsort(m->pairs, m->n_pairs, sizeof(*m->pairs), by_words);
	for (i = 0; i < m->n_pairs; i++)
		if (kept > 0 && by_words(&m->pairs[kept - 1], &m->pairs[i]) == 0)
			m->pairs[kept - 1].count++;
		else
			m->pairs[kept++] = m->pairs[i];
	m->n_pairs = kept;
	for (i = 0; i < kept; i++)
		m->kinds[m->pairs[i].first]++;
}

/*
 * Where a sentence ends is left to the model that this one is mixed into: recordings are cut at pauses, and a title of
 * one word, which half of the time ends, would have made every sentence end early.
 */
static void
print_model(const struct model *m, struct buf *out)
{
	double *rest = arena_array(m->mem, (size_t)m->n, sizeof(*rest));
	size_t k, ends = 0;
	int i;

	/* What is left for pairs that were not seen, over the share of the words that they may end with. */
	for (k = 0; k < m->n_pairs; k++)
		if (m->pairs[k].second == END)
			ends++;
		else
			rest[m->pairs[k].first] += (double)m->count[m->pairs[k].second] / m->tokens;
	buf_printf(out, "\\data\\\nngram 1=%d\nngram 2=%zu\n\n\\1-grams:\n", m->n, m->n_pairs - ends);
	for (i = 0; i < m->n; i++) {
		double unseen = 1 - rest[i], left = m->count[i] == 0 ? 1 : DISCOUNT * m->kinds[i] / m->count[i];

		buf_printf(out, "%.4f %s %.4f\n", i < MARKS ? -99 : log10((double)m->count[i] / m->tokens), m->words[i],
		    i == END ? 0 : unseen > 0.001 ? log10(left / unseen) : -9);
	}
	buf_text(out, "\n\\2-grams:\n");
	for (k = 0; k < m->n_pairs; k++)
		if (m->pairs[k].second != END)
			buf_printf(out, "%.4f %s %s\n", log10((m->pairs[k].count - DISCOUNT) /
			    m->count[m->pairs[k].first]), m->words[m->pairs[k].first], m->words[m->pairs[k].second]);
	buf_text(out, "\n\\end\\\n");
}

bool
arpa_write(struct buf *out, const struct strings *texts)
{
	struct model *m = NEW(out->mem, struct model);
	size_t i;

	m->mem = out->mem;
	/* Each word begins and ends one sentence at most. */
	m->pairs = arena_array(m->mem, 2 * ARPA_TOKENS + 2, sizeof(*m->pairs));
	m->words[m->n++] = "<s>";
	m->words[m->n++] = "</s>";
	for (i = 0; i < texts->n && m->tokens < ARPA_TOKENS; i++)
		add_text(m, texts->at[i]);
	if (m->tokens == 0)
		return false;
	count_pairs(m);
	print_model(m, out);
	return true;
}
