/* SPDX-License-Identifier: GPL-3.0-or-later */
/* media/reading.c: how words without case and punctuation are to be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "media/reading.h"
#include "media/revision.h"

static struct arena *mem;

#define TEXTS(...) ((struct strings){ (const char *[]){ __VA_ARGS__ }, \
	sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *) })

/* Words of 300 ms; each "|" is a pause of 800 ms, each "," one of 200 ms. */
static struct list
said(const char *text)
{
	struct paragraph *p = arena_array(mem, 1, sizeof(*p));
	struct list all = transcript_words(mem, text);
	struct word *w = all.rows;
	struct buf b = BUF(mem);
	int64_t at = 0;
	size_t n = 0;

	for (size_t i = 0; i < all.n; i++) {
		if (strcmp(w[i].text, "|") == 0 || strcmp(w[i].text, ",") == 0) {
			at += w[i].text[0] == '|' ? 800 : 200;
			continue;
		}
		w[n] = (struct word){ .text = w[i].text, .source = "machine", .start = { at, true },
		    .end = { at + 300, true } };
		at = w[n++].end.ms;
	}
	*p = (struct paragraph){ .id = uuid_new(), .words = { w, n }, .start = w[0].start, .end = w[n - 1].end };
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i > 0 && !transcript_is_wide(w[i].text) ? " " : "", w[i].text);
	p->text = buf_string(&b);
	return (struct list){ p, 1 };
}

static const char *
read_with(struct list paragraphs, struct reading_hints hints)
{
	reading_restore(mem, &paragraphs, &hints);
	return transcript_reading(mem, paragraphs.rows);
}

static void
sentences_end_where_somebody_pauses(void **state)
{
	assert_string_equal(read_with(said("good morning | today i'm here and i speak of bridges"),
	    (struct reading_hints){ .language = "en-US" }), "Good morning. Today I'm here and I speak of bridges.");
	assert_string_equal(read_with(said("GOOD MORNING | YOU ARE HERE"), (struct reading_hints){ .language = "en" }),
	    "Good morning. You are here.");
	assert_string_equal(read_with(said("what is a bridge | do you know it | it was old , but strong but ugly"),
	    (struct reading_hints){ .language = "en" }),
	    "What is a bridge? Do you know it? It was old, but strong but ugly.");
	assert_string_equal(read_with(said("ich wei\u00df dass er kommt | \u00fcber uns am montag"),
	    (struct reading_hints){ .language = "de" }), "Ich wei\u00df, dass er kommt. \u00dcber uns am Montag.");
	assert_string_equal(read_with(said("\u4f60\u597d | \u518d\u89c1"), (struct reading_hints){ .language = "zh" }),
	    "\u4f60\u597d\u3002\u518d\u89c1\u3002");
	assert_string_equal(read_with(said("istanbul g\u00fczel"), (struct reading_hints){ .language = "tr" }),
	    "\u0130stanbul g\u00fczel.");
}

/* A model's marks stand in the place of rules, whatever the pauses are; names are written as ever. */
static void
marks_of_a_model_decide(void **state)
{
	assert_string_equal(read_with(said("they came | then of course ana left"), (struct reading_hints){
	    .language = "en", .marks = " ,   ? ", .terms = TEXTS("Ana") }), "They came, then of course Ana? Left.");
	assert_string_equal(read_with(said("what is it but strong"), (struct reading_hints){ .language = "en",
	    .marks = "  .  " }), "What is it. But strong.");
	assert_string_equal(read_with(said("\u4f60\u597d \u518d\u89c1 \u4f60"), (struct reading_hints){
	    .language = "zh", .marks = " , ? " }), "\u4f60\u597d\uff0c\u518d\u89c1\uff1f\u4f60\u3002");
}

/* Where the words say so, a pause that is no longer than between others ends a sentence, and a longer one does not. */
static void
words_tell_where_sentences_end(void **state)
{
	const double ends[] = { -3, 4, -6, -6, -3 };

	assert_string_equal(read_with(said("they came , then of | course left"),
	    (struct reading_hints){ .language = "en", .ends = ends }), "They came. Then of course left.");
}

static void
names_are_written_as_people_write_them(void **state)
{
	const struct reading_hints hints = { .language = "en", .texts = TEXTS("A talk by Anna Stone about NASA and "
	    "the iPhone. Bridges of stone are old.\nStone bridges", "How A Bridge Works For All People"),
	    .terms = TEXTS("Golden Gate", "Kinothek", "plain") };

	assert_string_equal(read_with(said("the golden gate and anna's iphone in kinothek by nasa on monday in may in "
	    "the united states a plain bridge works of stone and a golden ring"), hints),
	    "The Golden Gate and Anna's iPhone in Kinothek by NASA on Monday in may in the United States a plain bridge "
	    "works of stone and a golden ring.");
}

static void
what_an_engine_has_written_is_left(void **state)
{
	struct list full = said("this has a mark. and no other"), cased = said("this is of Anna and it has one large "
	    "letter but no mark at all"), plain = said("there is nothing to be seen here"), digits = said("in 1984");

	assert_false(reading_is_plain(&full));
	assert_false(reading_is_plain(&cased));
	assert_true(reading_is_plain(&plain));
	assert_false(reading_is_plain(&digits));
	assert_false(reading_is_plain(&(struct list){ NULL, 0 }));
}

/* Search, alignment and whoever compares words have what was heard; what is shown has the rest. */
/* As many letters as there is room for, each of three bytes, and one more. */
static void
words_of_any_length_are_borne(void **state)
{
	struct buf b = BUF(mem);

	for (int n = 1; n <= 101; n++) {
		buf_text(&b, "\u0921");
		if (n >= 99)
			assert_memory_equal(read_with(said(arena_printf(mem, "%s good morning", buf_string(&b))),
			    (struct reading_hints){ .language = "hi", .texts = TEXTS(buf_string(&b)) }), b.text, b.len);
	}
}

static void
words_stay_as_they_were_heard(void **state)
{
	struct list heard = said("good morning | come in"), again;
	struct buf out = BUF(mem);
	const struct paragraph *p;
	const struct word *w;

	read_with(heard, (struct reading_hints){ .language = "en" });
	again = record_parse_list(mem, &paragraph_record, transcript_json(mem, &heard));
	p = again.rows;
	w = p->words.rows;
	assert_string_equal(p->text, "good morning come in");
	assert_string_equal(p->reading, "Good morning. Come in.");
	assert_string_equal(w[1].text, "morning");
	assert_string_equal(w[1].reading, "morning.");
	assert_null(strstr(transcript_json(mem, &heard), "\"reading\":\"in\""));
	transcript_write(&out, TRANSCRIPT_VTT, &again, "en", false);
	assert_non_null(strstr(buf_string(&out), "Good morning. Come in."));
	out.len = 0;
	transcript_write(&out, TRANSCRIPT_TXT, &again, "en", false);
	assert_string_equal(buf_string(&out), "Good morning. Come in.\n");
}

static struct paragraph
edited(struct list heard, const char *text)
{
	const struct paragraph *p = heard.rows;
	const struct paragraph_change change = { .id = p->id, .text = text };

	return *(const struct paragraph *)revision_edit(mem, &heard, &change, 1, 60000).paragraphs.rows;
}

/* Whoever corrects a word may send the rest as it was heard or as it is shown; neither makes other words theirs. */
static void
a_person_corrects_what_is_shown_or_what_was_heard(void **state)
{
	struct list heard = said("good morning | come in by the door");
	struct paragraph p;
	const struct word *w;

	read_with(heard, (struct reading_hints){ .language = "en" });
	p = edited(heard, "Good morning. Come in by the window.");
	w = p.words.rows;
	assert_string_equal(transcript_reading(mem, &p), "Good morning. Come in by the window.");
	assert_string_equal(w[1].text, "morning");
	assert_string_equal(w[1].source, "machine");
	assert_string_equal(w[6].source, "human");
	p = edited(heard, "Good morning, come in by the door.");
	w = p.words.rows;
	assert_string_equal(transcript_reading(mem, &p), "Good morning, come in by the door.");
	assert_string_equal(w[2].source, "human");
	assert_string_equal(w[6].source, "machine");
	p = edited(heard, "good morning come in buy the door");
	w = p.words.rows;
	assert_string_equal(transcript_reading(mem, &p), "Good morning. Come in buy the door.");
	assert_string_equal(w[4].source, "human");
	assert_string_equal(w[2].source, "machine");
	p = edited(heard, "Good morning. Come in by the door.");
	w = p.words.rows;
	for (size_t i = 0; i < p.words.n; i++)
		assert_string_equal(w[i].source, "machine");
}

static int
setup(void **state)
{
	mem = arena_new(64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(mem);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sentences_end_where_somebody_pauses, setup, teardown),
		cmocka_unit_test_setup_teardown(marks_of_a_model_decide, setup, teardown),
		cmocka_unit_test_setup_teardown(words_tell_where_sentences_end, setup, teardown),
		cmocka_unit_test_setup_teardown(names_are_written_as_people_write_them, setup, teardown),
		cmocka_unit_test_setup_teardown(what_an_engine_has_written_is_left, setup, teardown),
		cmocka_unit_test_setup_teardown(words_of_any_length_are_borne, setup, teardown),
		cmocka_unit_test_setup_teardown(words_stay_as_they_were_heard, setup, teardown),
		cmocka_unit_test_setup_teardown(a_person_corrects_what_is_shown_or_what_was_heard, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
