/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of a text as the search compares them: whatever they are written with, the same ones are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/fold.h"
#include "core/text.h"

enum { MEM = 64 << 20 };

/* "word[=other] word". */
static const char *
folded(struct arena *mem, const char *text)
{
	struct buf b = BUF(mem);
	const struct folded *f;
	size_t n, i;

	f = fold_words(mem, text, &n);
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s%s%s%s", i > 0 ? " " : "", f[i].word, f[i].other != NULL ? "=" : "",
		    f[i].other != NULL ? f[i].other : "");
	return buf_string(&b);
}

static void
what_is_written_otherwise_is_the_same_word(void **state)
{
	static const struct { const char *text, *is; } cases[] = {
		{ "", "" }, { " \t\n", "" }, { "a", "a" }, { "Don't stop--now", "don t stop now" },
		{ "Größe", "grosse=groesse" }, { "GRÖSSE", "grosse=groesse" }, { "Gro\u0308ße", "grosse=groesse" },
		{ "GRO\u0308\u1e9eE", "grosse=groesse" }, { "Øresund Łódź Æther œuvre", "oresund lodz aether oeuvre" },
		{ "\u0130stanbul I\u0307stanbul ISTANBUL \u0131stanbul", "istanbul istanbul istanbul istanbul" },
		{ "cafe\u0301 caf\u00e9 CAFE\u0301\u0302", "cafe cafe cafe" }, { "nai\u0308ve", "naive" },
		{ "\ufb01n \uff26\uff29\uff2e \U0001d41f\U0001d422\U0001d427", "fin fin fin" },
		{ "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3",
		    "\u03c3\u03b9\u03c3\u03c5\u03c6\u03bf\u03c3 \u03c3\u03b9\u03c3\u03c5\u03c6\u03bf\u03c3" },
		{ "\u0661\u0662\u0663 \u0967\u0968", "123 12" },
		/* what nobody sees divides nothing */
		{ "se\u200bcr\u00adet\u202eive\u2060 \ufeffbom", "secretive bom" },
		{ "\u0308 \u0301a \U0001f600 \U0001f468\u200d\U0001f469 x", "a x" }, { "+-><()~*\"@\\%_", "" },
		{ "\u6771\u4eac\u90fd a\u6771b \u6771", "\u6771\u4eac \u4eac\u90fd \u90fd a \u6771 b \u6771" },
		{ "\u30ac\u30b9\u30ac", "\u30ab\u30b9 \u30b9\u30ab \u30ab" },
		{ "\u30ab\u3099\u30b9\u30ab\u3099", "\u30ab\u30b9 \u30b9\u30ab \u30ab" },
		{ "\u30cf\u309a", "\u30cf" }, { "\u3099\u30b9 \uff76\uff9e\uff7d", "\u30b9 \u30ab\u30b9 \u30b9" },
	};
	struct arena *mem = arena_new(MEM);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(folded(mem, cases[i].text), cases[i].is) != 0)
			fail_msg("%s: %s", cases[i].text, folded(mem, cases[i].text));
	arena_free(mem);
}

static void
each_word_says_where_it_stands(void **state)
{
	static const char text[] = "¡Käse, \u00adse\u200bcret  a\u0308! \u30ab\u3099\u30ab\u3099";
	static const char *const are[] = { "Käse", "se\u200bcret", "a\u0308", "\u30ab\u3099\u30ab\u3099",
	    "\u30ab\u3099" };
	struct arena *mem = arena_new(MEM);
	const struct folded *f;
	size_t n, i;

	(void)state;
	f = fold_words(mem, text, &n);
	assert_int_equal(n, sizeof(are) / sizeof(are[0]));
	for (i = 0; i < n; i++)
		assert_string_equal(arena_copy_n(mem, text + f[i].from, f[i].to - f[i].from), are[i]);
	arena_free(mem);
}

/* However long a word is, or however many there are. */
static void
a_word_has_its_limit_and_a_text_none(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct buf b = BUF(mem);
	const struct folded *f;
	size_t n, i;

	(void)state;
	for (i = 0; i < 100000; i++)
		buf_text(&b, "ö");
	f = fold_words(mem, buf_string(&b), &n);
	assert_int_equal(n, 1);
	assert_int_equal(strlen(f->word), FOLD_MAX);
	assert_int_equal(strlen(f->other), FOLD_MAX);
	assert_int_equal(f->to, b.len);
	/* A character that has no room is not there in part. */
	b.len = 0;
	for (i = 0; i < FOLD_MAX - 1; i++)
		buf_char(&b, 'x');
	buf_text(&b, "\u03c3");
	f = fold_words(mem, buf_string(&b), &n);
	assert_int_equal(strlen(f->word), FOLD_MAX - 1);
	assert_true(utf8_valid(f->word, strlen(f->word)));
	b.len = 0;
	for (i = 0; i < 100000; i++)
		buf_text(&b, "w ");
	fold_words(mem, buf_string(&b), &n);
	assert_int_equal(n, 100000);
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_otherwise_is_the_same_word),
		cmocka_unit_test(each_word_says_where_it_stands),
		cmocka_unit_test(a_word_has_its_limit_and_a_text_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
