/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of contents: a new topic begins where other words do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/chapters.h"
#include "media/transcript.h"

enum { MEM = 256 << 20, WORD_MS = 400, TOPIC_WORDS = 600, SENTENCE = 12, COMMON = 40, OWN = 60 };

static uint32_t seed;

/* Numerical Recipes' generator: the same on every machine. */
static uint32_t
random_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void
say(struct list *words, const char *text, int64_t start)
{
	struct word *w = words->rows;

	w[words->n++] = (struct word){ text, { start, true }, { start + WORD_MS - 100, true }, 1, "machine" };
}

/* A talk of so many topics: six of ten words are those of every talk, `noise` of a hundred are of another topic. */
static struct list
talk_of(struct arena *mem, int topics, int topic_words, uint32_t noise)
{
	struct paragraph *p = NEW(mem, struct paragraph);
	int i;

	seed = 7;
	p->words.rows = arena_array(mem, (size_t)topics * (size_t)topic_words, sizeof(struct word));
	for (i = 0; i < topics * topic_words; i++) {
		const int topic = random_below(100) < noise ? (int)random_below((uint32_t)topics) : i / topic_words;

		say(&p->words, random_below(10) < 6 ? arena_printf(mem, "%s%u", i % SENTENCE == 0 ? "Common" :
		    "common", random_below(COMMON)) : arena_printf(mem, "topic%dx%u.", topic,
		    random_below(OWN)), (int64_t)i * WORD_MS);
	}
	return (struct list){ p, 1 };
}

static struct list
talk(struct arena *mem, int topics, uint32_t noise)
{
	return talk_of(mem, topics, TOPIC_WORDS, noise);
}

static void
assert_whole(const struct stretch *s, size_t n, int64_t duration)
{
	size_t i;

	assert_true(n > 0);
	assert_int_equal(s[0].start, 0);
	assert_int_equal(s[n - 1].end, duration);
	for (i = 0; i < n; i++) {
		assert_true(s[i].start < s[i].end);
		if (i > 0)
			assert_int_equal(s[i].start, s[i - 1].end);
	}
}

static void
other_words_begin_another_chapter(void **state)
{
	struct arena *mem = arena_new(MEM);
	const int64_t topic = TOPIC_WORDS * WORD_MS;
	const uint32_t noises[] = { 0, 25 };
	const struct stretch *s;
	struct list said;
	size_t n, i, k;

	for (k = 0; k < 2; k++) {
		said = talk(mem, 5, noises[k]);
		n = chapters_find(mem, &said, &(struct chapters_marks){ .changes = { NULL, 0 } }, 5 * topic, &s);
		assert_whole(s, n, 5 * topic);
		assert_int_equal(n, 5);
		for (i = 0; i < n; i++) {
			assert_in_range(s[i].start + 15000, (int64_t)i * topic, (int64_t)i * topic + 30000);
			/* Its own words, as they were said, without the stop behind them. */
			assert_memory_equal(s[i].title, arena_printf(mem, "topic%zux", i), 7);
			assert_null(strchr(s[i].title, '.'));
		}
	}
	arena_free(mem);
}

/* Of four words three are in any talk, and the fourth is one of few of its subject, in whatever form: every second time
 * another word is heard instead. */
static void
what_is_in_any_talk_hides_no_subject(void **state)
{
	static const char *const any[] = { "the", "of", "and", "to", "a", "in", "that", "is", "was", "he", "for", "it",
	    "with", "as", "his", "on", "be", "at", "by", "had", "not", "are", "but", "from", "or", "have", "an", "they",
	    "which", "one", "you", "were", "all", "her", "she", "there", "would", "their", "we", "him", "been", "has" };
	static const char *const own[][6] = {
		{ "sail", "sails", "sailing", "harbour", "harbours", "anchor" },
		{ "engine", "engines", "piston", "pistons", "cylinder", "valves" },
		{ "orchard", "orchards", "apple", "apples", "pruning", "harvest" },
		{ "violin", "violins", "concert", "concerts", "melody", "melodies" },
	};
	enum { ANY = sizeof(any) / sizeof(any[0]), SUBJECTS = 4, EACH = 240 };
	struct arena *mem = arena_new(MEM);
	struct paragraph *p = NEW(mem, struct paragraph);
	const struct stretch *s;
	size_t n;

	(void)state;
	seed = 7;
	p->words.rows = arena_array(mem, SUBJECTS * EACH, sizeof(struct word));
	for (int i = 0; i < SUBJECTS * EACH; i++) {
		const char *word = i % 4 > 0 ? any[random_below(ANY)] : random_below(2) == 0 ?
		    own[i / EACH][random_below(6)] : arena_printf(mem, "noise%u", random_below(400));

		say(&p->words, word, (int64_t)i * WORD_MS);
	}
	n = chapters_find(mem, &(struct list){ p, 1 }, &(struct chapters_marks){ 0 },
	    (int64_t)SUBJECTS * EACH * WORD_MS, &s);
	assert_int_equal(n, SUBJECTS);
	for (size_t i = 1; i < n; i++)
		assert_in_range(s[i].start, ((int64_t)i * EACH - 20) * WORD_MS, ((int64_t)i * EACH + 20) * WORD_MS);
	assert_non_null(strstr(s[0].title, "sail"));
	arena_free(mem);
}

static void
a_talk_about_one_thing_is_one_chapter(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct paragraph *p = NEW(mem, struct paragraph);
	struct list said = { p, 1 };
	const struct stretch *s;
	int i;

	p->words.rows = arena_array(mem, TOPIC_WORDS, sizeof(struct word));
	for (i = 0; i < TOPIC_WORDS; i++)
		say(&p->words, arena_printf(mem, "word%d", i % 31), (int64_t)i * WORD_MS);
	assert_int_equal(chapters_find(mem, &said, &(struct chapters_marks){ .changes = { NULL, 0 } },
	    TOPIC_WORDS * WORD_MS, &s), 1);
	assert_whole(s, 1, TOPIC_WORDS * WORD_MS);
	arena_free(mem);
}

static bool
begins_at(const struct stretch *s, size_t n, int64_t ms)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (s[i].start == ms)
			return true;
	return false;
}

/* Marks count for units of fifteen words that begin close to them. */
static bool
begins_near(const struct stretch *s, size_t n, int64_t ms)
{
	for (size_t i = 1; i < n; i++)
		if (s[i].start >= ms - 4000 && s[i].start <= ms + 4000)
			return true;
	return false;
}

/* Between words that decide nothing, a pause and a new slide do. */
static void
a_pause_and_a_new_slide_say_where(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list said = talk(mem, 2, 0);
	const struct paragraph *p = said.rows;
	struct word *w = p->words.rows;
	const int64_t slide = (TOPIC_WORDS + 24) * WORD_MS + 5000, end = 2 * TOPIC_WORDS * WORD_MS + 5000;
	const struct stretch *s;
	size_t n, i;

	for (i = TOPIC_WORDS - 24; i < TOPIC_WORDS + 24; i++)
		w[i].text = i % 2 == 0 ? "common1" : "common2";
	for (i = TOPIC_WORDS + 24; i < 2 * TOPIC_WORDS; i++) {
		w[i].start.ms += 5000;
		w[i].end.ms += 5000;
	}
	n = chapters_find(mem, &said, &(struct chapters_marks){ .changes = { &slide, 1 } }, end, &s);
	assert_true(begins_at(s, n, slide));
	for (; i-- > TOPIC_WORDS + 24;)
		w[i].start.ms -= 5000;
	n = chapters_find(mem, &said, &(struct chapters_marks){ .changes = { NULL, 0 } }, end, &s);
	assert_false(begins_at(s, n, slide - 5000));
	arena_free(mem);
}

/* Between words that decide nothing, somebody else who speaks and another title do, wherever that is. */
static void
another_voice_and_another_title_say_where(void **state)
{
	struct arena *mem = arena_new(MEM);
	const int64_t places[] = { (TOPIC_WORDS - 24) * WORD_MS, (TOPIC_WORDS + 24) * WORD_MS };
	struct list said = talk(mem, 2, 0);
	const struct paragraph *p = said.rows;
	struct word *w = p->words.rows;
	const struct stretch *s;
	size_t n, i;

	for (i = TOPIC_WORDS - 24; i < TOPIC_WORDS + 24; i++)
		w[i].text = i % 2 == 0 ? "common1" : "common2";
	for (i = 0; i < 2; i++) {
		const struct moments at = { &places[i], 1 };

		n = chapters_find(mem, &said, &(struct chapters_marks){ .titles = at, .voices = at },
		    2 * TOPIC_WORDS * WORD_MS, &s);
		assert_true(begins_near(s, n, places[i]));
	}
	arena_free(mem);
}

/* Of three subjects of half a minute, each with a slide of its own; words alone are too few to say so. */
static void
a_short_talk_has_the_chapters_of_its_slides(void **state)
{
	enum { SHORT_WORDS = 80 };
	struct arena *mem = arena_new(MEM);
	const int64_t slides[] = { SHORT_WORDS * WORD_MS, 2 * SHORT_WORDS * WORD_MS };
	const struct moments at = { slides, 2 };
	const struct list said = talk_of(mem, 3, SHORT_WORDS, 0);
	const struct stretch *s;

	assert_int_equal(chapters_find(mem, &said, &(struct chapters_marks){ .changes = at, .titles = at },
	    3 * SHORT_WORDS * WORD_MS, &s), 3);
	assert_true(begins_near(s, 3, slides[0]));
	assert_true(begins_near(s, 3, slides[1]));
	assert_true(chapters_find(mem, &said, &(struct chapters_marks){ .changes = { NULL, 0 } },
	    3 * SHORT_WORDS * WORD_MS, &s) < 3);
	arena_free(mem);
}

static void
without_words_the_picture_decides(void **state)
{
	struct arena *mem = arena_new(MEM);
	const int64_t changes[] = { 5000, 60000, 62000, 120000, 175000 };
	struct list said = { NULL, 0 };
	const struct stretch *s;
	size_t n = chapters_find(mem, &said, &(struct chapters_marks){ .changes = { changes, 5 } }, 180000, &s);

	assert_whole(s, n, 180000);
	assert_int_equal(n, 3);
	assert_int_equal(s[1].start, 60000);
	assert_int_equal(s[2].start, 120000);
	assert_null(s[0].title);
	assert_int_equal(chapters_find(mem, &said, &(struct chapters_marks){ .changes = { NULL, 0 } }, 1, &s), 1);
	assert_whole(s, 1, 1);
	arena_free(mem);
}

/* Words behind the end, without letters, all the same, of one letter, in scripts without blanks. */
static void
odd_words_are_borne(void **state)
{
	static const char *const odd[] = { "…", "", "a", "日本", "\xff\xfe", "İ", "👩‍👩‍👧", "--", "1", "ß" };
	struct arena *mem = arena_new(MEM);
	struct paragraph *p = NEW(mem, struct paragraph);
	struct list said = { p, 1 };
	const struct stretch *s;
	size_t n, i;

	p->words.rows = arena_array(mem, 5000, sizeof(struct word));
	for (i = 0; i < 5000; i++)
		say(&p->words, odd[i % (sizeof(odd) / sizeof(odd[0]))], (int64_t)i / 2 * WORD_MS);
	n = chapters_find(mem, &said, &(struct chapters_marks){ .changes = { NULL, 0 } }, 600000, &s);
	assert_whole(s, n, 600000);
	arena_free(mem);
}

/* However long: twelve hours of a fast speaker come to an end, in a number of chapters that people can read. */
static void
a_day_of_talk_has_no_more_chapters_than_a_person_reads(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list said = talk(mem, 180, 10);
	const int64_t end = INT64_C(180) * TOPIC_WORDS * WORD_MS;
	const struct stretch *s;
	size_t n = chapters_find(mem, &said, &(struct chapters_marks){ .changes = { NULL, 0 } }, end, &s);

	assert_whole(s, n, end);
	assert_in_range(n, 20, CHAPTERS_STRETCHES);
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_words_begin_another_chapter),
		cmocka_unit_test(what_is_in_any_talk_hides_no_subject),
		cmocka_unit_test(a_talk_about_one_thing_is_one_chapter),
		cmocka_unit_test(a_pause_and_a_new_slide_say_where),
		cmocka_unit_test(another_voice_and_another_title_say_where),
		cmocka_unit_test(a_short_talk_has_the_chapters_of_its_slides),
		cmocka_unit_test(without_words_the_picture_decides),
		cmocka_unit_test(odd_words_are_borne),
		cmocka_unit_test(a_day_of_talk_has_no_more_chapters_than_a_person_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
