/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transcripts that people change: what stays of the words, and the way back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/alignment.h"
#include "media/cues.h"
#include "media/revision.h"

enum { MEM = 512 << 20, DURATION = 60000 };

static const struct paragraph *
at(const struct list *paragraphs, size_t i)
{
	assert_true(i < paragraphs->n);
	return (const struct paragraph *)paragraphs->rows + i;
}

static const struct word *
word(const struct list *paragraphs, size_t i, size_t k)
{
	const struct paragraph *p = at(paragraphs, i);

	assert_true(k < p->words.n);
	return (const struct word *)p->words.rows + k;
}

/* A paragraph of what a machine has heard: words of 400 ms, 100 ms between. */
static struct paragraph
heard(struct arena *mem, const char *text, int64_t start)
{
	struct list words = transcript_words(mem, text);
	struct word *w = words.rows;

	for (size_t i = 0; i < words.n; i++) {
		w[i].start = (struct position){ start + (int64_t)i * 500, true };
		w[i].end = (struct position){ start + (int64_t)i * 500 + 400, true };
		w[i].confidence = 0.5;
	}
	return (struct paragraph){ uuid_new(), { { 0 } }, NULL, w[0].start, w[words.n - 1].end, text, words };
}

/* Three of them, at 0, 5 and 10 seconds. */
static struct list
speech(struct arena *mem)
{
	struct paragraph *p = arena_array(mem, 3, sizeof(*p));

	p[0] = heard(mem, "the hole blood system", 0);
	p[1] = heard(mem, "protects the body from in factions", 5000);
	p[2] = heard(mem, "and we will see how", 10000);
	return (struct list){ p, 3 };
}

static struct revision
edit(struct arena *mem, const struct list *paragraphs, size_t i, const char *text)
{
	return revision_edit(mem, paragraphs, &(struct paragraph_change){ at(paragraphs, i)->id, text }, 1, DURATION);
}

/* What holds of all of them: times never go back, words are those of the text, ids are of one paragraph each. */
static void
check(struct arena *mem, const struct list *paragraphs)
{
	int64_t now = 0;
	size_t i, k;

	for (i = 0; i < paragraphs->n; i++) {
		const struct paragraph *p = at(paragraphs, i);
		struct list words = transcript_words(mem, p->text);

		assert_int_equal(words.n, p->words.n);
		assert_true(words.n > 0);
		for (k = 0; k < words.n; k++) {
			assert_string_equal(((struct word *)words.rows)[k].text, word(paragraphs, i, k)->text);
			assert_true(word(paragraphs, i, k)->start.ms >= now);
			assert_true(word(paragraphs, i, k)->end.ms >= word(paragraphs, i, k)->start.ms);
			now = word(paragraphs, i, k)->end.ms;
		}
		assert_int_equal(p->start.ms, word(paragraphs, i, 0)->start.ms);
		assert_int_equal(p->end.ms, now);
		assert_ptr_equal(revision_paragraph(paragraphs, p->id), p);
	}
}

static void
words_that_stay_keep_their_times_and_where_they_come_from(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list was = speech(mem);
	struct revision r = edit(mem, &was, 0, "The whole blood  system");

	check(mem, &r.paragraphs);
	assert_int_equal(r.changed, 1);
	assert_int_equal(r.paragraphs.n, 3);
	assert_true(uuid_equal(at(&r.paragraphs, 0)->id, at(&was, 0)->id));
	assert_string_equal(at(&r.paragraphs, 0)->text, "The whole blood system");
	/* Another case: the time that was heard, but a person has written it. */
	assert_int_equal(word(&r.paragraphs, 0, 0)->start.ms, 0);
	assert_string_equal(word(&r.paragraphs, 0, 0)->source, "human");
	assert_false(word(&r.paragraphs, 0, 0)->estimated);
	/* Another word: in the time of the one that it stands for, and marked. */
	assert_string_equal(word(&r.paragraphs, 0, 1)->source, "human");
	assert_true(word(&r.paragraphs, 0, 1)->estimated);
	assert_true(word(&r.paragraphs, 0, 1)->confidence == 0);
	assert_int_equal(word(&r.paragraphs, 0, 1)->start.ms, 500);
	assert_int_equal(word(&r.paragraphs, 0, 1)->end.ms, 900);
	/* The same word. */
	assert_string_equal(word(&r.paragraphs, 0, 2)->source, "machine");
	assert_true(word(&r.paragraphs, 0, 2)->confidence == 0.5);
	assert_int_equal(word(&r.paragraphs, 0, 2)->start.ms, 1000);
	/* Nobody has touched the others. */
	assert_memory_equal(at(&r.paragraphs, 1), at(&was, 1), sizeof(struct paragraph));
	assert_int_equal(edit(mem, &was, 0, " the hole\tblood system ").undo.n, 0);
	arena_free(mem);
}

static void
new_words_stay_in_their_paragraph_as_long_as_it_has_room(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list was = speech(mem);
	struct revision r = edit(mem, &was, 0, "well then the hole blood system there is");

	check(mem, &r.paragraphs);
	/* Before the first and behind the last that was heard. */
	assert_int_equal(word(&r.paragraphs, 0, 2)->start.ms, 0);
	assert_int_equal(word(&r.paragraphs, 0, 5)->end.ms, 1900);
	assert_int_equal(word(&r.paragraphs, 0, 7)->end.ms, 1900 + 2 * 400);
	r = edit(mem, &was, 1, "so protects the body from in factions");
	assert_int_equal(word(&r.paragraphs, 1, 0)->start.ms, 4600);
	r = edit(mem, &was, 1, "nothing of that kind");
	check(mem, &r.paragraphs);
	assert_int_equal(at(&r.paragraphs, 1)->start.ms, 5000);
	assert_int_equal(at(&r.paragraphs, 1)->end.ms, 7900);
	/* The recording ends somewhere. */
	r = revision_edit(mem, &was, &(struct paragraph_change){ at(&was, 2)->id, "and we will see how it goes on and "
	    "on and on and on" }, 1, 12800);
	assert_int_equal(at(&r.paragraphs, 2)->end.ms, 12800);
	arena_free(mem);
}

static void
a_word_that_moves_into_the_paragraph_beside_keeps_its_time(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list was = speech(mem);
	struct paragraph_change c[] = { { at(&was, 0)->id, "the whole blood system protects" },
	    { at(&was, 1)->id, "the body from infections" } };
	struct revision r = revision_edit(mem, &was, c, 2, DURATION);

	check(mem, &r.paragraphs);
	assert_int_equal(word(&r.paragraphs, 0, 4)->start.ms, 5000);
	assert_string_equal(word(&r.paragraphs, 0, 4)->source, "machine");
	assert_int_equal(at(&r.paragraphs, 1)->start.ms, 5500);
	assert_int_equal(r.changed, 2);
	assert_int_equal(r.undo.n, 1);
	arena_free(mem);
}

static void
a_blank_line_parts_and_a_paragraph_without_a_word_goes(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list was = speech(mem);
	struct paragraph_change c[] = { { at(&was, 1)->id, "protects the body\n \r\n\n\nfrom in\nfactions\n\n" },
	    { at(&was, 2)->id, " \n\n \t" } };
	struct revision r = revision_edit(mem, &was, c, 2, DURATION);

	check(mem, &r.paragraphs);
	assert_int_equal(r.paragraphs.n, 3);
	assert_string_equal(at(&r.paragraphs, 1)->text, "protects the body");
	assert_string_equal(at(&r.paragraphs, 2)->text, "from in factions");
	assert_true(uuid_equal(at(&r.paragraphs, 1)->id, at(&was, 1)->id));
	assert_false(uuid_equal(at(&r.paragraphs, 2)->id, at(&was, 1)->id));
	assert_int_equal(word(&r.paragraphs, 2, 0)->start.ms, 6500);
	assert_string_equal(word(&r.paragraphs, 2, 0)->source, "machine");
	assert_int_equal(r.changed, 2);
	arena_free(mem);
}

static void
subtitles_begin_where_the_words_do_that_a_person_has_changed(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct cues all = { .mem = mem };
	static const char srt[] = "1\n00:00:01,000 --> 00:00:03,000\nHow the hole\nblood system\n\n"
	    "2\n00:00:03,500 --> 00:00:05,000\nworks, in deed.\n";
	struct list was;
	struct revision r;
	struct buf out = BUF(mem);

	cues_read(&all, SUBTITLES_SRT, srt, sizeof(srt) - 1);
	assert_true(transcript_imported(mem, &all, 100, &was));
	assert_int_equal(was.n, 1);
	r = edit(mem, &was, 0, "How the whole nervous system does work, indeed.");
	check(mem, &r.paragraphs);
	transcript_write(&out, TRANSCRIPT_SRT, &r.paragraphs, "en", true);
	assert_string_equal(strstr(buf_string(&out), "How"), "How the whole\nnervous system\n\n2\n00:00:03,500 --> "
	    "00:00:05,000\ndoes work, indeed.\n\n");
	arena_free(mem);
}

/* Texts of few words, so that there is much to confuse; now and then none, or two paragraphs. */
static const char *
some_text(struct arena *mem)
{
	static const char *const words[] = { "a", "b", "c", "d", "\u00e4rger", "Don't", "x.", "-", "\u4eca" };
	struct buf b = BUF(mem);
	int n = rand() % 12;

	while (n-- > 0)
		buf_printf(&b, "%s%s", words[rand() % 9], rand() % 8 == 0 ? "\n\n" : " ");
	return buf_string(&b);
}

static void
every_change_can_be_taken_back(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list was = speech(mem);
	int round, i;

	srand(7);
	for (round = 0; round < 300; round++) {
		struct paragraph_change c[4];
		const char *before = transcript_json(mem, &was);
		struct revision r;
		struct list undo, back;

		for (i = 0; i < 4; i++)
			c[i] = (struct paragraph_change){ was.n > 0 ? at(&was, (size_t)rand() % was.n)->id : uuid_new(),
			    some_text(mem) };
		r = revision_edit(mem, &was, c, 4, DURATION);
		check(mem, &r.paragraphs);
		undo = revision_parse(mem, revision_store(mem, &r.undo));
		back = revision_undo(mem, &r.paragraphs, &undo);
		assert_string_equal(transcript_json(mem, &back), before);
		/* The whole in the place of the whole keeps what is the same. */
		r = revision_replace(mem, &r.paragraphs, &was);
		back = revision_undo(mem, &was, &r.undo);
		assert_string_equal(transcript_json(mem, &r.paragraphs), before);
		assert_int_equal(revision_replace(mem, &was, &r.paragraphs).undo.n, 0);
		was = round % 20 == 19 ? speech(mem) : back;
	}
	arena_free(mem);
}

/* A blank line alone, of a person who has written all else down without any. */
static void
an_aligned_paragraph_can_be_changed_however_long_the_text_is(void **state)
{
	enum { WORDS = 15000, MOST = 20000 };
	struct arena *mem = arena_new(MEM);
	struct paragraph *said = NEW(mem, struct paragraph);
	struct buf b = BUF(mem);
	struct revision r, again;
	struct list now;
	size_t matched, i, words = 0;

	for (i = 0; i < WORDS; i++)
		buf_printf(&b, "w%zu ", i);
	*said = heard(mem, buf_string(&b), 0);
	now = (struct list){ said, 1 };
	r = revision_align(mem, &now, &now, arena_printf(mem, "Title\n\n%s", buf_string(&b)), WORDS * 500, &matched);
	assert_int_equal(matched, WORDS);
	check(mem, &r.paragraphs);
	assert_string_equal(at(&r.paragraphs, 0)->text, "Title");
	for (i = 0; i < r.paragraphs.n; i++) {
		assert_true(strlen(at(&r.paragraphs, i)->text) <= MOST);
		words += at(&r.paragraphs, i)->words.n;
	}
	assert_int_equal(words, WORDS + 1);
	/* So can those that are there already, by who they are. */
	said->speaker = "Ada";
	r = revision_align(mem, &now, &now, NULL, WORDS * 500, &matched);
	check(mem, &r.paragraphs);
	assert_true(r.paragraphs.n > 1);
	assert_true(uuid_equal(at(&r.paragraphs, 0)->id, said->id));
	assert_string_equal(at(&r.paragraphs, r.paragraphs.n - 1)->speaker, "Ada");
	again = revision_align(mem, &r.paragraphs, &now, NULL, WORDS * 500, &matched);
	assert_int_equal(again.undo.n, 0);
	arena_free(mem);
}

static void
one_word_in_the_middle_is_all_that_is_kept_of_a_change(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list was = speech(mem), with = { arena_array(mem, 3, sizeof(struct paragraph)), 3 };
	struct revision r;

	memcpy(with.rows, was.rows, 3 * sizeof(struct paragraph));
	((struct paragraph *)with.rows)[1].text = "protects";
	r = revision_replace(mem, &was, &with);
	assert_int_equal(r.undo.n, 1);
	assert_int_equal(((struct hunk *)r.undo.rows)->at, 1);
	assert_int_equal(((struct hunk *)r.undo.rows)->was.n, 1);
	assert_int_equal(r.changed, 1);
	arena_free(mem);
}

/* Eleven hours of speech of 3,000 words, as a person has written it down: every 20th word is another, every 50th is
 * left out, and 800 are said in another order. */
static void
the_longest_texts_find_their_words(void **state)
{
	enum { WORDS = 100000 };
	struct arena *mem = arena_new(MEM);
	struct word *a = arena_array(mem, WORDS, sizeof(*a)), *b = arena_array(mem, WORDS, sizeof(*b));
	size_t n = 0, i, right = 0, wrong = 0, *from = arena_array(mem, WORDS, sizeof(*from)), *match, last = 0;

	srand(3);
	for (i = 0; i < WORDS; i++)
		b[i].text = arena_printf(mem, "w%d", (int)((double)rand() / RAND_MAX * rand() / RAND_MAX * 3000));
	for (i = 0; i < WORDS; i++) {
		size_t k = i >= 50000 && i < 50400 ? i + 400 : i >= 50400 && i < 50800 ? i - 400 : i;

		if (i % 50 == 7)
			continue;
		from[n] = k;
		a[n++].text = i % 20 == 3 ? "other" : b[k].text;
	}
	match = alignment_find(mem, a, n, b, WORDS);
	for (i = 0; i < n; i++) {
		if (match[i] == SIZE_MAX)
			continue;
		assert_true(i == 0 || last == 0 || match[i] > last);
		last = match[i];
		right += match[i] == from[i];
		wrong += match[i] != from[i];
	}
	assert_true(right > n * 92 / 100);
	assert_true(wrong < n / 100);
	assert_true(arena_used(mem) < 100 << 20);
	arena_free(mem);
}

/* Within each piece one word is there once, and the pieces are as deep as the text is long. */
static void
texts_that_are_made_to_be_parted_word_by_word_are_left_alone(void **state)
{
	enum { LEVELS = 10000 };
	struct arena *mem = arena_new(MEM);
	struct word *texts[2] = { arena_array(mem, 3 * LEVELS, sizeof(struct word)), arena_array(mem, 3 * LEVELS,
	    sizeof(struct word)) };
	size_t n = 0, i;

	for (i = 1; i <= LEVELS; i++, n += 3)
		for (int k = 0; k < 2; k++) {
			texts[k][n].text = arena_printf(mem, "u%zu", i);
			texts[k][n + 1].text = k == 0 ? "x" : "y";
			texts[k][n + 2].text = arena_printf(mem, "u%zu", i - 1);
		}
	alignment_find(mem, texts[0], n, texts[1], n);
	assert_true(arena_used(mem) < 100 << 20);
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_stay_keep_their_times_and_where_they_come_from),
		cmocka_unit_test(new_words_stay_in_their_paragraph_as_long_as_it_has_room),
		cmocka_unit_test(a_word_that_moves_into_the_paragraph_beside_keeps_its_time),
		cmocka_unit_test(a_blank_line_parts_and_a_paragraph_without_a_word_goes),
		cmocka_unit_test(subtitles_begin_where_the_words_do_that_a_person_has_changed),
		cmocka_unit_test(every_change_can_be_taken_back),
		cmocka_unit_test(an_aligned_paragraph_can_be_changed_however_long_the_text_is),
		cmocka_unit_test(one_word_in_the_middle_is_all_that_is_kept_of_a_change),
		cmocka_unit_test(the_longest_texts_find_their_words),
		cmocka_unit_test(texts_that_are_made_to_be_parted_word_by_word_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
