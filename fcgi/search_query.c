/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words, phrases and what must not be there, as a caller has written them. */
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "core/fold.h"
#include "fcgi/search_query.h"

enum { MISSPELLED_FROM = 5, MISSPELLED_TO = 24, ALPHABET = 64 };

/* One character of a script without blanks: the pair before it has it already. */
static bool
is_lone(const char *word)
{
	int32_t at = 0, n = (int32_t)strlen(word);

	U8_FWD_1(word, at, n);
	return at == n && (unsigned char)word[0] >= 0xe0;
}

static void
add(struct arena *mem, struct search_query *q, const char *token, bool is_excluded, bool is_prefix)
{
	size_t n, i, first = q->n;
	const struct folded *f = fold_words(mem, token, &n);
	struct search_term *t;

	if (n > 1 && is_lone(f[n - 1].word))
		n--;
	for (i = 0; i < n && q->n < SEARCH_TERMS; i++) {
		t = &q->terms[q->n++];
		*t = (struct search_term){ .is_excluded = is_excluded, .is_in_phrase = n > 1,
		    .is_prefix = !is_excluded && ((is_prefix && i + 1 == n) || (n == 1 && is_lone(f[i].word))) };
		t->forms.at = arena_array(mem, 2, sizeof(*t->forms.at));
		t->forms.at[t->forms.n++] = f[i].word;
		if (f[i].other != NULL)
			t->forms.at[t->forms.n++] = f[i].other;
		t->exact = t->forms.n;
		q->wanted += !is_excluded;
	}
	if (q->n - first > 1)
		q->phrases[q->n_phrases++] = (struct search_phrase){ first, q->n - first };
}

void
search_parse(struct arena *mem, const char *text, struct search_query *q)
{
	static const char ends[] = " \t\r\n\"";
	const char *p = text;
	bool is_excluded, is_quoted;
	size_t n;

	*q = (struct search_query){ .has_text = true };
	while (q->n < SEARCH_TERMS) {
		p += strspn(p, " \t\r\n");
		if (*p == '\0')
			return;
		is_excluded = p[0] == '-' && p[1] != '\0' && strchr(" \t\r\n", p[1]) == NULL;
		p += is_excluded;
		is_quoted = *p == '"';
		p += is_quoted;
		n = is_quoted ? strcspn(p, "\"") : strcspn(p, ends);
		add(mem, q, arena_copy_n(mem, p, n), is_excluded, !is_quoted && p[n] == '\0');
		p += n;
		p += is_quoted && *p == '"';
	}
}

double
search_is(const struct search_term *t, const char *word)
{
	size_t i;

	for (i = 0; i < t->forms.n; i++)
		if (strcmp(t->forms.at[i], word) == 0)
			return i < t->exact ? 1 : 0.5;
	return 0;
}

/* The letters that it may be about: of its script, as far as they lie near each other. */
static size_t
alphabet(const UChar32 *word, UChar32 *out)
{
	UChar32 from = word[0] < 0x80 ? 'a' : word[0] & ~(ALPHABET - 1);
	UChar32 to = word[0] < 0x80 ? 'z' : from + ALPHABET - 1, c;
	size_t n = 0;

	for (c = from; c <= to; c++)
		if (u_isalpha(c) && u_tolower(c) == c)
			out[n++] = c;
	return n;
}

static void
put(struct arena *mem, struct strings *out, const UChar32 *word, size_t n)
{
	char bytes[(MISSPELLED_TO + 1) * U8_MAX_LENGTH + 1];
	int32_t len = 0;
	size_t i;

	for (i = 0; i < n; i++)
		U8_APPEND_UNSAFE(bytes, len, word[i]);
	if (len <= FOLD_MAX)
		out->at[out->n++] = arena_copy_n(mem, bytes, (size_t)len);
}

/* Without the character at i; with it and the next one exchanged; with each letter in its place, or before it. */
static void
vary(struct arena *mem, struct strings *out, const UChar32 *word, size_t n, size_t i)
{
	UChar32 w[MISSPELLED_TO + 1], letters[ALPHABET];
	size_t k, many = alphabet(word, letters);

	memcpy(w, word, i * sizeof(*w));
	if (i < n) {
		memcpy(w + i, word + i + 1, (n - i - 1) * sizeof(*w));
		put(mem, out, w, n - 1);
	}
	if (i + 1 < n) {
		memcpy(w, word, n * sizeof(*w));
		w[i] = word[i + 1];
		w[i + 1] = word[i];
		put(mem, out, w, n);
	}
	for (k = 0; k < many; k++) {
		memcpy(w, word, n * sizeof(*w));
		w[i] = letters[k];
		if (i < n)
			put(mem, out, w, n);
		memcpy(w + i + 1, word + i, (n - i) * sizeof(*w));
		put(mem, out, w, n + 1);
	}
}

struct strings
search_misspelled(struct arena *mem, const char *word)
{
	UChar32 w[MISSPELLED_TO];
	struct strings out = { 0 };
	int32_t at = 0, size = (int32_t)strlen(word);
	size_t n = 0, i;

	for (; at < size && n < MISSPELLED_TO; n++)
		U8_NEXT(word, at, size, w[n]);
	if (n < MISSPELLED_FROM || at < size)
		return out;
	out.at = arena_array(mem, (n + 1) * (2 * ALPHABET + 2), sizeof(*out.at));
	for (i = 0; i <= n; i++)
		vary(mem, &out, w, n, i);
	return out;
}
