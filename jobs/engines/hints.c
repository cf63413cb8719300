/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of a glossary is handed to an engine, and the line that servers take. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "jobs/engines/hints.h"

enum { WORD_LEAST = 4 };	/* bytes; shorter ones are in every text */

/* Words of texts, sorted, without regard to the case of ASCII. */
struct words { const char **at; size_t n, room; };

static int
by_word(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
is_letter(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The next word at or behind *p in lower case, and *p behind it; NULL: there is none. */
static const char *
next_word(struct arena *mem, const char **p)
{
	const char *from;
	char *word, *c;

	while (**p != '\0' && !is_letter(**p))
		++*p;
	for (from = *p; is_letter(**p);)
		++*p;
	if (*p == from)
		return NULL;
	word = arena_copy_n(mem, from, (size_t)(*p - from));
	for (c = word; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	return word;
}

static struct words
words_of(struct arena *mem, const struct strings *texts)
{
	struct words w = { NULL, 0, 0 };
	const char *p, *word;
	size_t i;

	for (i = 0; i < texts->n; i++)
		w.room += strlen(texts->at[i]) / 2 + 1;
	w.at = arena_array(mem, w.room, sizeof(*w.at));
	for (i = 0; i < texts->n; i++)
		for (p = texts->at[i]; (word = next_word(mem, &p)) != NULL;)
			if (strlen(word) >= WORD_LEAST)
				w.at[w.n++] = word;
	qsort(w.at, w.n, sizeof(*w.at), by_word);
	return w;
}

static bool
is_related(struct arena *mem, const struct words *w, const char *term)
{
	const char *word;

	while ((word = next_word(mem, &term)) != NULL)
		if (w->n > 0 && bsearch(&word, w->at, w->n, sizeof(*w->at), by_word) != NULL)
			return true;
	return false;
}

void
hints_choose(struct arena *mem, struct hints *h, const struct strings *glossary)
{
	struct words w = words_of(mem, &h->texts);
	bool *related = arena_array(mem, glossary->n, sizeof(*related));
	int round;
	size_t i;

	h->terms = (struct strings){ arena_array(mem, HINTS_TERMS, sizeof(const char *)), 0 };
	for (i = 0; i < glossary->n; i++)
		related[i] = is_related(mem, &w, glossary->at[i]);
	for (round = 0; round < 2; round++)
		for (i = 0; i < glossary->n && h->terms.n < HINTS_TERMS; i++)
			if (related[i] == (round == 0))
				h->terms.at[h->terms.n++] = glossary->at[i];
}

/* Appends what has room, with blanks in the place of whatever could end a line.  False: something had none. */
static bool
add_line(struct buf *b, const char *text, size_t max)
{
	size_t before = b->len, n, i;
	bool blank = true;

	if (before > 0)
		buf_text(b, ", ");
	for (n = 0; text[n] != '\0'; n += i) {
		for (i = 1; ((unsigned char)text[n + i] & 0xc0) == 0x80;)
			i++;
		if ((unsigned char)text[n] <= ' ' || text[n] == 0x7f) {
			if (!blank)
				buf_char(b, ' ');
			blank = true;
			continue;
		}
		if (b->len + i > max) {
			b->len = before;
			buf_text(b, "");
			return false;
		}
		buf_add(b, text + n, i);
		blank = false;
	}
	return true;
}

const char *
hints_prompt(struct arena *mem, const struct hints *h, size_t max)
{
	struct buf b = BUF(mem);
	size_t i;

	if (h == NULL || h->texts.n + h->terms.n == 0)
		return NULL;
	if (h->texts.n > 0)
		add_line(&b, h->texts.at[0], max);
	for (i = 0; i < h->terms.n && add_line(&b, h->terms.at[i], max); i++)
		continue;
	for (i = 1; i < h->texts.n && add_line(&b, h->texts.at[i], max); i++)
		continue;
	return b.len > 0 ? buf_string(&b) : NULL;
}
