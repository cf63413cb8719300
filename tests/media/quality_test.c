/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grades of transcripts, and what of them is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "media/quality.h"

enum { MEM = 64 << 20 };

/* One paragraph of n different words; every `part`th has the one confidence, the others the other. */
static struct list
words(struct arena *mem, size_t n, size_t part, double one, double other)
{
	struct word *w = arena_array(mem, n, sizeof(*w));
	struct paragraph *p = NEW(mem, struct paragraph);
	size_t i;

	for (i = 0; i < n; i++)
		w[i] = (struct word){ arena_printf(mem, "w%zu", i), { (int64_t)i * 400, true },
		    { (int64_t)i * 400 + 300, true }, i % part == 0 ? one : other, "machine" };
	p->words = (struct list){ w, n };
	return (struct list){ p, 1 };
}

static const char *
grade(struct arena *mem, struct list list)
{
	const char *g = quality_of(mem, &list).grade;

	return g != NULL ? g : "none";
}

static void
the_mean_of_many_words_decides(void **state)
{
	struct arena *mem = arena_new(MEM);
	static const struct { double confidence; const char *grade; } examples[] = {
		{ 0.31, "unreliable" }, { 0.39, "unreliable" }, { 0.41, "draft" }, { 0.69, "draft" }, { 0.71, "good" },
		{ 1, "good" },
	};
	struct list list;
	size_t i;

	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		list = words(mem, 1000, 1, examples[i].confidence, 0);
		assert_string_equal(grade(mem, list), examples[i].grade);
		assert_true(quality_of(mem, &list).confidence > examples[i].confidence - 0.001);
	}
	arena_free(mem);
}

static void
few_words_must_be_surer(void **state)
{
	struct arena *mem = arena_new(MEM);

	assert_string_equal(grade(mem, words(mem, 3, 1, 0.9, 0)), "unreliable");
	assert_string_equal(grade(mem, words(mem, 7, 1, 0.64, 0)), "unreliable");
	assert_string_equal(grade(mem, words(mem, 16, 1, 0.64, 0)), "draft");
	assert_string_equal(grade(mem, words(mem, 40, 1, 0.46, 0)), "unreliable");
	assert_string_equal(grade(mem, words(mem, 100, 1, 0.46, 0)), "draft");
	assert_string_equal(grade(mem, words(mem, 9, 1, 0.8, 0)), "good");
	arena_free(mem);
}

static void
good_ones_have_few_doubtful_words(void **state)
{
	struct arena *mem = arena_new(MEM);

	assert_string_equal(grade(mem, words(mem, 100, 3, 0.3, 1)), "draft");
	assert_string_equal(grade(mem, words(mem, 100, 5, 0.3, 1)), "good");
	arena_free(mem);
}

static void
the_same_word_again_tells_nothing_more(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list list = words(mem, 60, 1, 1, 0);
	struct word *w = ((struct paragraph *)list.rows)->words.rows;
	size_t i;

	for (i = 0; i < 60; i++)
		w[i].text = i % 2 == 0 ? "gervais" : "Gervais";
	assert_string_equal(grade(mem, list), "unreliable");
	arena_free(mem);
}

static void
people_and_engines_without_confidences_are_not_judged(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list list = words(mem, 50, 1, 0, 0);
	struct word *w;
	size_t i;

	assert_string_equal(grade(mem, list), "none");
	assert_string_equal(grade(mem, (struct list){ NULL, 0 }), "none");
	list = words(mem, 50, 2, 0.05, 0.85);
	assert_string_equal(grade(mem, list), "unreliable");
	w = ((struct paragraph *)list.rows)->words.rows;
	for (i = 0; i < 50; i += 2)
		w[i].source = "human";
	assert_string_equal(grade(mem, list), "good");
	assert_false(quality_hides(&w[0]));
	w[0].source = "import";
	assert_false(quality_hides(&w[0]));
	w[0].source = "machine";
	assert_true(quality_hides(&w[0]));
	w[0].confidence = 0.1;
	assert_false(quality_hides(&w[0]));
	w[0].confidence = 0;
	assert_false(quality_hides(&w[0]));
	arena_free(mem);
}

static void
players_show_what_can_be_believed_or_is_wanted(void **state)
{
	static const struct { const char *quality, *captions; bool shows; } examples[] = {
		{ "good", "automatic", true }, { "draft", "automatic", true }, { NULL, "automatic", true },
		{ "unreliable", "automatic", false }, { "unreliable", "published", true }, { "good", "withheld", false },
		{ "unreliable", "withheld", false }, { NULL, "withheld", false },
	};
	struct transcript t;
	size_t i;

	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		t = (struct transcript){ .status = "completed", .quality = examples[i].quality, .captions =
		    examples[i].captions };
		assert_int_equal(quality_shows(&t), examples[i].shows);
		t.no_speech = true;
		assert_false(quality_shows(&t));
		t.no_speech = false;
		t.status = "failed";
		assert_false(quality_shows(&t));
	}
}

static const char *
written(struct arena *mem, enum transcript_form form, const struct list *paragraphs)
{
	struct buf b = BUF(mem);

	transcript_write(&b, form, paragraphs, "en", true);
	return buf_string(&b);
}

static void
captions_mark_what_is_hidden_once(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list list = words(mem, 6, 1, 0.05, 0);
	struct paragraph *p = list.rows;
	struct word *w = p->words.rows;

	w[0].confidence = w[3].confidence = 0.8;
	w[4].source = "human";
	p->text = "w0 w1 w2 w3 w4 w5";
	assert_string_equal(written(mem, TRANSCRIPT_VTT, &list), "WEBVTT\n\n00:00:00.000 --> 00:00:02.300\n"
	    "w0 <c.unsure>\u2026</c> w3 w4 <c.unsure>\u2026</c>\n\n");
	assert_string_equal(written(mem, TRANSCRIPT_SRT, &list), "1\n00:00:00,000 --> 00:00:02,300\n"
	    "w0 \u2026 w3 w4 \u2026\n\n");
	assert_string_equal(written(mem, TRANSCRIPT_TXT, &list), "w0 w1 w2 w3 w4 w5\n");
	/* A mark does not reach over a pause. */
	w[2].start.ms = w[2].end.ms = 2000;
	w[3].start.ms = w[3].end.ms = w[4].start.ms = w[4].end.ms = w[5].start.ms = w[5].end.ms = 2100;
	assert_non_null(strstr(written(mem, TRANSCRIPT_SRT, &list), "w0 \u2026\n\n2\n00:00:02,000"));
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mean_of_many_words_decides),
		cmocka_unit_test(few_words_must_be_surer),
		cmocka_unit_test(good_ones_have_few_doubtful_words),
		cmocka_unit_test(the_same_word_again_tells_nothing_more),
		cmocka_unit_test(people_and_engines_without_confidences_are_not_judged),
		cmocka_unit_test(players_show_what_can_be_believed_or_is_wanted),
		cmocka_unit_test(captions_mark_what_is_hidden_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
