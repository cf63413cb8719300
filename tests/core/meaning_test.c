/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stems as in the paper, vectors that follow the meaning, and signatures that follow the vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "core/glosses.h"
#include "core/meaning.h"
#include "core/stem.h"

static void
words_have_the_stems_of_the_paper(void **state)
{
	static const char *const pairs[][2] = {
		{ "caresses", "caress" }, { "ponies", "poni" }, { "cats", "cat" }, { "feed", "feed" }, { "agreed", "agre" },
		{ "plastered", "plaster" }, { "bled", "bled" }, { "motoring", "motor" }, { "sing", "sing" },
		{ "conflated", "conflat" }, { "hopping", "hop" }, { "falling", "fall" }, { "hissing", "hiss" },
		{ "filing", "file" }, { "happy", "happi" }, { "sky", "sky" }, { "relational", "relat" },
		{ "conditional", "condit" }, { "vietnamization", "vietnam" }, { "hopefulness", "hope" },
		{ "triplicate", "triplic" }, { "electrical", "electr" }, { "adjustment", "adjust" }, { "adoption", "adopt" },
		{ "probate", "probat" }, { "rate", "rate" }, { "controll", "control" }, { "roll", "roll" }, { "is", "is" },
		{ "na\xc3\xafves", "na\xc3\xafves" }, { "2026s", "2026s" }, { "", "" },
	};
	char word[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		strcpy(word, pairs[i][0]);
		stem_english(word);
		assert_string_equal(word, pairs[i][1]);
	}
}

static double
nearness(struct arena *mem, const char *a, const char *b)
{
	const struct meaning x = meaning_by_glosses(mem, a), y = meaning_by_glosses(mem, b);

	return meaning_cosine(&x, &y);
}

static void
texts_in_other_words_are_near(void **state)
{
	struct arena *mem = arena_new(8 << 20);

	(void)state;
	if (glosses_dimension() == 0) {
		arena_free(mem);
		skip();	/* built without WordNet */
	}
	assert_true(nearness(mem, "the physician cured her illness", "a doctor treats disease with medicine") >
	    nearness(mem, "the physician cured her illness", "the train arrives at the railway station") + 0.2);
	assert_true(nearness(mem, "Doctor!", "doctors") > 0.99);
	assert_true(fabs(nearness(mem, "king", "king") - 1) < 1e-9);
	arena_free(mem);
}

/* Names and words of other languages, which no gloss explains. */
static void
words_that_nothing_explains_are_near_where_they_stand(void **state)
{
	struct arena *mem = arena_new(8 << 20);

	(void)state;
	assert_true(nearness(mem, "Kfz-Zulassungsstelle", "Die Zulassungsstelle f\xc3\xbcr Kfz") >
	    nearness(mem, "Kfz-Zulassungsstelle", "Das Standesamt im Rathaus") + 0.3);
	assert_int_equal(meaning_by_glosses(mem, "").n, 0);
	assert_int_equal(meaning_by_glosses(mem, "the of and, . !").n, 0);
	arena_free(mem);
}

static void
what_are_no_vectors_mean_nothing(void **state)
{
	static float at[MEANING_MAX + 1];
	struct arena *mem = arena_new(1 << 20);
	struct meaning a, b;

	(void)state;
	assert_int_equal(meaning_of(mem, at, 8).n, 0);
	assert_int_equal(meaning_of(mem, at, 0).n, 0);
	at[0] = 1;
	assert_int_equal(meaning_of(mem, at, MEANING_MAX).n, MEANING_MAX);
	assert_int_equal(meaning_of(mem, at, MEANING_MAX + 1).n, 0);
	at[3] = NAN;
	assert_int_equal(meaning_of(mem, at, 8).n, 0);
	at[3] = INFINITY;
	assert_int_equal(meaning_of(mem, at, 8).n, 0);
	at[3] = 0;
	a = meaning_of(mem, at, 8);
	b = meaning_of(mem, at, 9);
	assert_true(meaning_cosine(&a, &a) == 1);
	assert_true(meaning_cosine(&a, &b) == 0);
	arena_free(mem);
}

/* 256 planes: the share of bits that differ is the angle, give or take a tenth of a half turn. */
static void
signatures_differ_as_the_angle_does(void **state)
{
	enum { N = 300 };
	struct arena *mem = arena_new(8 << 20);
	float x[N], y[N];
	unsigned seed = 1;
	struct meaning a, b;
	double share;
	int step, i, differ;

	(void)state;
	for (step = 0; step <= 10; step++) {
		for (i = 0; i < N; i++) {
			seed = seed * 1103515245 + 12345;
			x[i] = (float)(seed >> 16 & 0x7fff) / 16384 - 1;
			seed = seed * 1103515245 + 12345;
			y[i] = x[i] * (float)(5 - step) / 5 + ((float)(seed >> 16 & 0x7fff) / 16384 - 1) *
			    (step < 5 ? (float)step : (float)(10 - step)) / 5;
		}
		a = meaning_of(mem, x, N);
		b = meaning_of(mem, y, N);
		for (i = differ = 0; i < MEANING_PLANES; i++)
			differ += __builtin_popcountll(a.planes[i] ^ b.planes[i]);
		share = acos(fmax(-1, fmin(1, meaning_cosine(&a, &b)))) / acos(-1);
		assert_true(fabs(share - differ / 256.0) < 0.1);
	}
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_have_the_stems_of_the_paper),
		cmocka_unit_test(texts_in_other_words_are_near),
		cmocka_unit_test(words_that_nothing_explains_are_near_where_they_stand),
		cmocka_unit_test(what_are_no_vectors_mean_nothing),
		cmocka_unit_test(signatures_differ_as_the_angle_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
