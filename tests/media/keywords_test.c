/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of texts, and those that matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/conf.h"
#include "media/frequency.h"
#include "media/keywords.h"
#include "media/transcript.h"

#define LIBRARY "\xe5\x9b\xb3\xe6\x9b\xb8\xe9\xa4\xa8"	/* Japanese; the text says where it is, and that it is large */

enum { MEM = 512 << 20, WORD_MS = 400 };

static const struct place nowhere = { -1, -1, 0 };

/* A paragraph of the words of a text, one after the other; a word in (…) is one that was hardly heard. */
static struct list
said(struct arena *mem, const char *text)
{
	struct paragraph *p = NEW(mem, struct paragraph);
	struct word *w = arena_array(mem, strlen(text), sizeof(*w));
	size_t n, k = 0;

	for (; *text != '\0'; text += n, text += *text == ' ') {
		const bool doubtful = *text == '(';

		n = strcspn(text, " ");
		w[k] = (struct word){ doubtful ? arena_copy_n(mem, text + 1, n - 2) : arena_copy_n(mem, text, n),
		    { (int64_t)k * WORD_MS, true }, { (int64_t)k * WORD_MS + 300, true }, doubtful ? 0.2 : 0.9, "machine" };
		k++;
	}
	p->words = (struct list){ w, k };
	return (struct list){ p, 1 };
}

static struct prose *
written(struct arena *mem, const char *text, const char *language)
{
	struct prose_reader *r = prose_begin(mem);

	prose_show(r, text, nowhere, 1, false);
	return prose_end(r, language);
}

/* With the same weight for all. */
static struct keyword *
find(const struct prose *p, size_t *n)
{
	double *weights = arena_array(p->mem, p->n_vocables, sizeof(*weights));
	size_t i;

	for (i = 0; i < p->n_vocables; i++)
		weights[i] = p->vocables[i].common ? 0 : 1;
	return keywords_find(p, weights, n);
}

static const struct keyword *
named(const struct keyword *k, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(k[i].name, name) == 0)
			return &k[i];
	return NULL;
}

static void
the_language_of_a_text_is_told_from_its_common_words(void **state)
{
	static const struct { const char *text, *language; } cases[] = {
		{ "The heart of the matter is that we have not been there before.", "en" },
		{ "Das Herz der Sache ist, dass wir noch nicht dort gewesen sind.", "de" },
		{ "Le c\xc5\x93ur de la question est que nous n'y sommes pas encore all\xc3\xa9s.", "fr" },
		{ "El coraz\xc3\xb3n del asunto es que todav\xc3\xad" "a no hemos estado all\xc3\xad.", "es" },
		{ "Il cuore della questione \xc3\xa8 che non siamo ancora stati l\xc3\xac.", "it" },
		{ "De kern van de zaak is dat we daar nog niet zijn geweest.", "nl" },
		{ "O cora\xc3\xa7\xc3\xa3o da quest\xc3\xa3o \xc3\xa9 que ainda n\xc3\xa3o estivemos l\xc3\xa1.", "pt" },
		{ "Sednem sprawy jest to, \xc5\xbc" "e jeszcze tam nie byli\xc5\x9bmy.", "pl" },
		{ "Kettle lamp sandstone quartz.", NULL }, { "", NULL },
	};
	struct arena *mem = arena_new(MEM);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct prose *p = written(mem, cases[i].text, NULL);

		if (cases[i].language == NULL)
			assert_null(p->language);
		else
			assert_string_equal(p->language, cases[i].language);
	}
	arena_free(mem);
}

static void
forms_of_a_word_are_one_and_common_words_none(void **state)
{
	struct arena *mem = arena_new(MEM);
	const struct keyword *k;
	struct keyword *all;
	size_t n;

	(void)state;
	all = find(written(mem, "The kilns were hot. A kiln is an oven, and the kilns have doors. I don't open a kiln. "
	    "Kilns cool.", "en"), &n);
	k = named(all, n, "kiln");
	assert_non_null(k);
	assert_int_equal(k->count, 5);
	assert_ptr_equal(k, all);
	assert_true(k->score == 1);
	assert_null(named(all, n, "the"));
	assert_null(named(all, n, "don't"));
	assert_null(named(all, n, "kilns"));
	arena_free(mem);
}

static void
phrases_do_not_go_over_punctuation_pauses_or_doubt(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct keyword *all;
	const struct keyword *k;
	struct prose_reader *r;
	struct list talk;
	struct word *w;
	size_t n;

	(void)state;
	all = find(written(mem, "Immune system, immune system. The immune system! Salt, pepper. Salt; pepper.\n\n"
	    "Salt\n\nPepper", "en"), &n);
	k = named(all, n, "immune system");
	assert_non_null(k);
	assert_int_equal(k->count, 3);
	assert_null(named(all, n, "immune"));
	assert_null(named(all, n, "system"));
	assert_null(named(all, n, "Salt pepper"));
	assert_non_null(named(all, n, "Salt"));
	talk = said(mem, "salt (walrus) pepper salt (walrus) pepper");
	r = prose_begin(mem);
	prose_say(r, &talk, 0.7);
	all = find(prose_end(r, "en"), &n);
	assert_null(named(all, n, "salt pepper"));
	talk = said(mem, "salt pepper salt pepper");
	w = ((struct paragraph *)talk.rows)->words.rows;
	for (size_t i = 0; i < 4; i++) {
		w[i].start.ms = (int64_t)i * 2000;
		w[i].end.ms = w[i].start.ms + 300;
	}
	r = prose_begin(mem);
	prose_say(r, &talk, 0.7);
	all = find(prose_end(r, "en"), &n);
	assert_null(named(all, n, "salt pepper"));
	arena_free(mem);
}

static void
what_was_hardly_heard_is_no_keyword(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct prose_reader *r = prose_begin(mem);
	const struct list talk = said(mem, "the glaze on this glaze is (walrus) thick and (walrus) the glaze pot "
	    "(walrus) stands");
	const struct keyword *k;
	struct keyword *all;
	size_t n;

	(void)state;
	prose_say(r, &talk, 0.7);
	all = find(prose_end(r, "en"), &n);
	assert_null(named(all, n, "walrus"));
	k = named(all, n, "glaze");
	assert_non_null(k);
	assert_int_equal(k->n, 3);
	assert_int_equal(k->instances[1].start, 4 * WORD_MS);
	assert_int_equal(k->instances[1].end, 4 * WORD_MS + 300);
	assert_true(k->confidence > 0.89 && k->confidence < 0.91);
	arena_free(mem);
}

static void
words_know_the_page_they_stand_on(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct prose_reader *r = prose_begin(mem);
	const char *json;
	struct keyword *all;
	size_t n;

	(void)state;
	prose_show(r, "The lighthouse keeper, the lighthouse\nkeeper.", (struct place){ -1, -1, 3 }, 1, false);
	prose_show(r, "Lighthouse keeper", (struct place){ -1, -1, 7 }, 1, false);
	all = find(prose_end(r, "en"), &n);
	assert_string_equal(all[0].name, "lighthouse keeper");
	json = keywords_json(mem, all, 1);
	assert_string_equal(json, "{\"items\":[{\"name\":\"lighthouse keeper\",\"score\":1.000,\"confidence\":1.00,"
	    "\"count\":3,\"instances\":[{\"page\":3},{\"page\":7}]}]}");
	arena_free(mem);
}

static void
scripts_without_blanks_have_words(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct keyword *all;
	size_t n;

	(void)state;
	all = find(written(mem, LIBRARY "\xe3\x81\xaf\xe6\x9d\xb1\xe4\xba\xac\xe3\x81\xab\xe3\x81\x82\xe3\x82\x8a"
	    "\xe3\x81\xbe\xe3\x81\x99\xe3\x80\x82" LIBRARY "\xe3\x81\xaf\xe5\xa4\xa7\xe3\x81\x8d\xe3\x81\x84\xe3\x80"
	    "\x82", "ja"), &n);
	assert_non_null(named(all, n, LIBRARY));
	arena_free(mem);
}

static void
texts_that_say_nothing_have_none(void **state)
{
	static const char *const cases[] = { "", " ", "1 2 3 4", "the of and", "!!! ??? ...", "a", "\xcc\x88\xcc\x88",
	    "\xf0\x9f\x90\xb1 \xf0\x9f\x90\xb1" };
	struct arena *mem = arena_new(MEM);
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		find(written(mem, cases[i], "en"), &n);
		assert_int_equal(n, 0);
	}
	arena_free(mem);
}

static void
what_is_longer_than_can_be_taken_is_cut(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct buf text = BUF(mem);
	const struct prose *p;
	size_t n;
	int i;

	(void)state;
	for (i = 0; i < PROSE_MAX + 50; i++)
		buf_printf(&text, "word%d ", i % 1000);
	p = written(mem, buf_string(&text), "en");
	assert_true(p->cut);
	assert_int_equal(p->n, PROSE_MAX);
	find(p, &n);
	assert_true(n <= KEYWORDS_MAX);
	arena_free(mem);
}

static void
the_words_of_the_language_model_are_read(void **state)
{
	struct arena *mem = arena_new(MEM);
	char torn[] = "/tmp/kinothek-frequency-XXXXXX";
	const struct frequency *f = frequency_open(mem, SPEECH_MODEL "/en-us.lm.bin");
	int fd;

	(void)state;
	assert_null(frequency_open(mem, "/nowhere"));
	assert_null(frequency_open(mem, "/etc/passwd"));
	fd = mkstemp(torn);
	assert_int_equal(write(fd, "Trie Language Model\x03\xff\xff\xff\xff", 24), 24);
	close(fd);
	assert_null(frequency_open(mem, torn));
	unlink(torn);
	if (f == NULL)
		skip();
	assert_in_range(frequency_words(f), 50000, 100000);
	assert_true(frequency_of(f, "the") < -1 && frequency_of(f, "the") > -2);
	assert_true(frequency_of(f, "photosynthesis") < -6);
	assert_true(frequency_of(f, "xyzzyx") == 0);
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_language_of_a_text_is_told_from_its_common_words),
		cmocka_unit_test(forms_of_a_word_are_one_and_common_words_none),
		cmocka_unit_test(phrases_do_not_go_over_punctuation_pauses_or_doubt),
		cmocka_unit_test(what_was_hardly_heard_is_no_keyword),
		cmocka_unit_test(words_know_the_page_they_stand_on),
		cmocka_unit_test(scripts_without_blanks_have_words),
		cmocka_unit_test(texts_that_say_nothing_have_none),
		cmocka_unit_test(what_is_longer_than_can_be_taken_is_cut),
		cmocka_unit_test(the_words_of_the_language_model_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
