/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who and what is named, and which sentences stand for a text. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/entities.h"
#include "media/summary.h"
#include "media/transcript.h"

enum { MEM = 512 << 20 };

static struct prose *
written(struct arena *mem, const char *text)
{
	struct prose_reader *r = prose_begin(mem);

	prose_show(r, text, (struct place){ -1, -1, 2 }, 1, false);
	return prose_end(r, NULL);
}

/* What is said, each word so sure, one a second. */
static struct prose *
said(struct arena *mem, const char *text, double confidence)
{
	struct prose_reader *r = prose_begin(mem);
	struct paragraph p = { .words = transcript_spread(mem, text, 0, 1000) };
	struct word *w = p.words.rows;
	size_t i;

	for (i = 0; i < p.words.n; i++) {
		w[i].start.ms = (int64_t)i * 1000;
		w[i].end.ms = (int64_t)i * 1000 + 900;
		w[i].confidence = confidence;
	}
	prose_say(r, &(struct list){ &p, 1 }, 0.7);
	return prose_end(r, "en");
}

static const struct entity *
named(const struct entity *e, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(e[i].name, name) == 0)
			return &e[i];
	return NULL;
}

static void
what_is_written_in_a_known_form_is_found(void **state)
{
	static const struct { const char *text, *name, *category; } cases[] = {
		{ "Write to anna.smith+x@mail.example.org, please.", "anna.smith+x@mail.example.org", "email" },
		{ "See https://example.org/a?b=1.", "https://example.org/a?b=1", "url" },
		{ "See www.example.org/path, or not.", "www.example.org/path", "url" },
		{ "It is due on 2026-11-25, they say.", "2026-11-25", "date" },
		{ "Es ist am 25.11.2026 soweit.", "25.11.2026", "date" },
		{ "Es war der 3. M\xc3\xa4rz 1999 in der Stadt.", "3. M\xc3\xa4rz 1999", "date" },
		{ "It was on November 25th, 2026 that we met.", "November 25th, 2026", "date" },
		{ "It costs $1,200.50 each.", "$1,200.50", "amount" },
		{ "Das kostet 12,50 \xe2\x82\xac im Monat.", "12,50 \xe2\x82\xac", "amount" },
		{ "We lost 3.5 million dollars.", "3.5 million dollars", "amount" },
		{ "It grew by 12 percent.", "12 percent", "amount" },
		{ "We were there with Dr. Ada Lovelace yesterday.", "Ada Lovelace", "person" },
		{ "They work for Lovelace Engines GmbH now.", "Lovelace Engines GmbH", "organisation" },
		{ "She was at the University of York.", "University of York", "organisation" },
		{ "We went to New Zealand and back.", "New Zealand", "place" },
		{ "We flew to Buenos Aires with them.", "Buenos Aires", "place" },
		{ "Wir waren in \xc3\x96sterreich und haben gelacht.", "\xc3\x96sterreich", "place" },
	};
	struct arena *mem;
	const struct entity *found;
	struct entity *e;
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mem = arena_new(MEM);
		e = entities_find(written(mem, cases[i].text), NULL, 0, &n);
		found = named(e, n, cases[i].name);
		if (found == NULL || strcmp(found->category, cases[i].category) != 0)
			fail_msg("%s: %s", cases[i].text, entities_json(mem, e, n));
		assert_true(found->confidence < 1);
		assert_int_equal(found->instances[0].page, 2);
		arena_free(mem);
	}
}

static void
what_only_looks_like_a_name_is_none(void **state)
{
	static const char *const cases[] = { "We ate turkey and rice with chili.",
	    "Version 1.2.3 of 300 files is at 10:30 now.",
	    "user@", "a@b", "http://", "99.99.9999", "The Dr said so.", "", "mark my words, they said." };
	static const struct entity_name users[] = { { "Mark", "person" } };
	struct arena *mem;
	struct entity *e;
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mem = arena_new(MEM);
		e = entities_find(written(mem, cases[i]), users, 1, &n);
		if (n != 0)
			fail_msg("%s: %s", cases[i], entities_json(mem, e, n));
		arena_free(mem);
	}
}

static void
names_that_are_known_are_found_as_a_whole_and_with_their_times(void **state)
{
	static const struct entity_name known[] = { { "Ada Lovelace", "person" }, { "Analytical Engine", "term" },
	    { "Engine", "term" }, { "", "term" }, { "!!", "term" }, { "a b c d e f g h", "term" } };
	struct arena *mem = arena_new(MEM);
	const struct entity *found;
	struct entity *e;
	size_t n;

	(void)state;
	e = entities_find(said(mem, "then ada lovelace wrote about the analytical engine and ada lovelace went home",
	    0.7), known, sizeof(known) / sizeof(known[0]), &n);
	assert_int_equal(n, 2);
	found = named(e, n, "ada lovelace");
	assert_non_null(found);
	assert_int_equal(found->count, 2);
	assert_int_equal(found->instances[0].start, 1000);
	assert_int_equal(found->instances[0].end, 2900);
	assert_true(found->confidence > 0.66 && found->confidence < 0.67);
	assert_non_null(named(e, n, "analytical engine"));
	arena_free(mem);
}

static void
one_word_that_was_not_heard_clearly_is_no_name(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct entity *e;
	size_t n;

	(void)state;
	e = entities_find(said(mem, "the ships came from portugal that day", 0.7), NULL, 0, &n);
	assert_int_equal(n, 0);
	e = entities_find(said(mem, "the ships came from portugal that day", 0.95), NULL, 0, &n);
	assert_int_equal(n, 1);
	assert_string_equal(e[0].name, "portugal");
	assert_true(e[0].confidence < 0.9);
	arena_free(mem);
}

#define FLEET "The harbour fleet of the island catches herring in the bay. Herring from the bay is salted on the island. " \
	"My cousin once bought a blue bicycle in town. The fleet sails from the harbour when herring comes into the bay. " \
	"Every family on the island lives from herring and the fleet. Rain fell on the roofs all night yesterday. " \
	"The school has two teachers and one long corridor. The harbour was built for the herring fleet of the island. " \
	"Somebody painted this door green last summer."

static void
a_summary_has_sentences_of_the_text_that_say_what_others_say(void **state)
{
	struct arena *mem = arena_new(MEM);
	const struct sentence **s;
	size_t n, i;

	(void)state;
	s = summary_find(written(mem, FLEET), &n);
	assert_in_range(n, 1, 2);
	for (i = 0; i < n; i++) {
		assert_non_null(strstr(FLEET, s[i]->text));
		if (strstr(s[i]->text, "erring") == NULL)
			fail_msg("%s", summary_json(mem, s, n, NULL));
		assert_int_equal(s[i]->place.page, 2);
	}
	assert_true(n == 1 || s[0] < s[1]);
	assert_non_null(strstr(summary_json(mem, s, n, NULL), "\"confidence\":1.00,\"page\":2}"));
	summary_find(said(mem, FLEET, 0.4), &n);
	assert_int_equal(n, 0);
	summary_find(written(mem, "The harbour fleet of the island catches herring. It is salted on the island."), &n);
	assert_int_equal(n, 0);
	assert_string_equal(summary_json(mem, s, 0, NULL), "{\"items\":[]}");
	arena_free(mem);
}

/* What an engine has heard without case and marks, and people read with them. */
static void
a_summary_of_what_is_said_is_as_people_read_it(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct prose_reader *r = prose_begin(mem);
	struct paragraph p = { .words = transcript_spread(mem, FLEET, 0, 1000) };
	struct word *w = p.words.rows;
	const struct sentence **s;
	const struct prose *prose;
	size_t n, i;

	(void)state;
	for (i = 0; i < p.words.n; i++) {
		char *heard = arena_copy_n(mem, w[i].text, strcspn(w[i].text, "."));

		heard[0] = (char)tolower((unsigned char)heard[0]);
		w[i] = (struct word){ heard, { (int64_t)i * 400, true }, { (int64_t)i * 400 + 300, true }, 0.9,
		    "machine", .reading = w[i].text };
	}
	prose_say(r, &(struct list){ &p, 1 }, 0.7);
	prose = prose_end(r, "en");
	assert_int_equal(prose->n_sentences, 9);
	assert_string_equal(prose->sentences[1].text, "herring from the bay is salted on the island");
	assert_string_equal(prose->sentences[1].reading, "Herring from the bay is salted on the island.");
	s = summary_find(prose, &n);
	assert_in_range(n, 1, 2);
	for (i = 0; i < n; i++)
		assert_non_null(strstr(FLEET, s[i]->reading));
	assert_non_null(strstr(summary_json(mem, s, n, NULL), s[0]->reading));
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_in_a_known_form_is_found),
		cmocka_unit_test(what_only_looks_like_a_name_is_none),
		cmocka_unit_test(names_that_are_known_are_found_as_a_whole_and_with_their_times),
		cmocka_unit_test(one_word_that_was_not_heard_clearly_is_no_name),
		cmocka_unit_test(a_summary_has_sentences_of_the_text_that_say_what_others_say),
		cmocka_unit_test(a_summary_of_what_is_said_is_as_people_read_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
