/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stemmer of Porter, step by step as in the paper. */
#include <stdbool.h>
#include <string.h>

#include "core/stem.h"

struct rule { const char *suffix, *instead; };

static bool
is_consonant(const char *w, size_t i)
{
	if (strchr("aeiou", w[i]) != NULL)
		return false;
	return w[i] != 'y' || i == 0 || !is_consonant(w, i - 1);
}

/* How often a consonant follows a vowel in the first n letters. */
static int
measure(const char *w, size_t n)
{
	size_t i;
	int m = 0;

	for (i = 1; i < n; i++)
		m += is_consonant(w, i) && !is_consonant(w, i - 1);
	return m;
}

static bool
has_vowel(const char *w, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!is_consonant(w, i))
			return true;
	return false;
}

static bool
is_doubled(const char *w, size_t n)
{
	return n >= 2 && w[n - 1] == w[n - 2] && is_consonant(w, n - 1);
}

/* Consonant, vowel, consonant, and the last one is not w, x or y. */
static bool
is_short(const char *w, size_t n)
{
	return n >= 3 && is_consonant(w, n - 3) && !is_consonant(w, n - 2) && is_consonant(w, n - 1) &&
	    strchr("wxy", w[n - 1]) == NULL;
}

/* Where the suffix begins; 0: the word has no such end, or nothing before it. */
static size_t
before(const char *w, const char *suffix)
{
	size_t n = strlen(w), k = strlen(suffix);

	return n > k && strcmp(w + n - k, suffix) == 0 ? n - k : 0;
}

/* The first rule that fits is used, if what is left has more than m; the result is never longer. */
static void
replace(char *w, const struct rule *rules, int m)
{
	size_t n;

	for (; rules->suffix != NULL; rules++) {
		n = before(w, rules->suffix);
		if (n == 0)
			continue;
		if (measure(w, n) > m)
			memcpy(w + n, rules->instead, strlen(rules->instead) + 1);
		return;
	}
}

/* Plurals. */
static void
step_1a(char *w)
{
	size_t n = strlen(w);

	if (before(w, "sses") > 0 || before(w, "ies") > 0)
		w[n - 2] = '\0';
	else if (before(w, "s") > 0 && w[n - 2] != 's')
		w[n - 1] = '\0';
}

/* Past and progressive. */
static void
step_1b(char *w)
{
	size_t n = before(w, "eed");

	if (n > 0) {
		w[n + (measure(w, n) > 0 ? 2 : 3)] = '\0';
		return;
	}
	n = before(w, "ed");
	n = n > 0 ? n : before(w, "ing");
	if (n == 0 || !has_vowel(w, n))
		return;
	w[n] = '\0';
	if (before(w, "at") > 0 || before(w, "bl") > 0 || before(w, "iz") > 0 || (measure(w, n) == 1 && is_short(w, n)))
		memcpy(w + n, "e", 2);
	else if (is_doubled(w, n) && strchr("lsz", w[n - 1]) == NULL)
		w[n - 1] = '\0';
}

static void
step_1c(char *w)
{
	size_t n = before(w, "y");

	if (n > 0 && has_vowel(w, n))
		w[n] = 'i';
}

static void
step_4(char *w)
{
	static const struct rule rules[] = {
		{ "al", "" }, { "ance", "" }, { "ence", "" }, { "er", "" }, { "ic", "" }, { "able", "" }, { "ible", "" },
		{ "ant", "" }, { "ement", "" }, { "ment", "" }, { "ent", "" }, { "ou", "" }, { "ism", "" }, { "ate", "" },
		{ "iti", "" }, { "ous", "" }, { "ive", "" }, { "ize", "" }, { 0 },
	};
	size_t n = before(w, "ion");

	if (n == 0)
		replace(w, rules, 1);
	else if (strchr("st", w[n - 1]) != NULL && measure(w, n) > 1)
		w[n] = '\0';
}

static void
step_5(char *w)
{
	size_t n = before(w, "e");

	if (n > 0 && (measure(w, n) > 1 || (measure(w, n) == 1 && !is_short(w, n))))
		w[n] = '\0';
	n = strlen(w);
	if (measure(w, n) > 1 && is_doubled(w, n) && w[n - 1] == 'l')
		w[n - 1] = '\0';
}

void
stem_english(char *w)
{
	static const struct rule step_2[] = {
		{ "ational", "ate" }, { "tional", "tion" }, { "enci", "ence" }, { "anci", "ance" }, { "izer", "ize" },
		{ "abli", "able" }, { "alli", "al" }, { "entli", "ent" }, { "eli", "e" }, { "ousli", "ous" },
		{ "ization", "ize" }, { "ation", "ate" }, { "ator", "ate" }, { "alism", "al" }, { "iveness", "ive" },
		{ "fulness", "ful" }, { "ousness", "ous" }, { "aliti", "al" }, { "iviti", "ive" }, { "biliti", "ble" },
		{ 0 },
	}, step_3[] = {
		{ "icate", "ic" }, { "ative", "" }, { "alize", "al" }, { "iciti", "ic" }, { "ical", "ic" }, { "ful", "" },
		{ "ness", "" }, { 0 },
	};

	if (strlen(w) < 3 || w[strspn(w, "abcdefghijklmnopqrstuvwxyz")] != '\0')
		return;
	step_1a(w);
	step_1b(w);
	step_1c(w);
	replace(w, step_2, 0);
	replace(w, step_3, 0);
	step_4(w);
	step_5(w);
}
