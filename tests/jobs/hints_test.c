/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What engines are told of a recording: bounded, of its own tenant, and harmless whatever anybody has written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/glossary.h"
#include "jobs/engines/arpa.h"
#include "jobs/engines/engine.h"
#include "jobs/hints.h"
#include "tests/jobs/sounds.h"

#define STRINGS(...) ((struct strings){ (const char *[]){ __VA_ARGS__ }, \
	sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *) })

static const char *
model_of(struct arena *mem, struct strings texts)
{
	struct buf b = BUF(mem);

	return arpa_write(&b, &texts) ? buf_string(&b) : NULL;
}

static bool
has_word(struct arena *mem, const char *model, const char *word)
{
	return strstr(model, arena_printf(mem, " %s ", word)) != NULL;
}

static void
a_model_has_the_words_of_the_texts_and_nothing_else(void **state)
{
	struct world *w = *state;
	const char *m = model_of(w->mem, STRINGS("Café Müller’s IMMUNE-system “x” 4you", "Größe Да o'neil",
	    "\\data\\ ngram 1=9\n-1.0 <s> evil(two)\t{}[NOISE] ++BREATH++\n\\end\\", "'''"));
	static const char *const words[] = { "cafe", "muller's", "immune", "system", "x", "o'neil", "data", "ngram",
	    "evil", "noise", "breath", "end", "s" };
	const char *p;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!has_word(w->mem, m, words[i]))
			fail_msg("%s is not in %s", words[i], m);
	assert_false(has_word(w->mem, m, "you") || has_word(w->mem, m, "gro") || has_word(w->mem, m, "e"));
	/* Nothing but the words, numbers, the marks of sentences, and one head and end. */
	assert_int_equal(occurrences(m, "\\data\\"), 1);
	assert_int_equal(occurrences(m, "\\end\\"), 1);
	for (p = m; *p != '\0'; p++)
		assert_true((*p >= 'a' && *p <= 'z') || strchr("0123456789-.'<>/ =\n\\:", *p) != NULL);
	assert_null(model_of(w->mem, STRINGS("", " \n 123 ' Да")));
}

static void
a_model_gives_each_word_its_share(void **state)
{
	struct world *w = *state;
	const char *m = model_of(w->mem, STRINGS("the cat sat", "the dog sat", "the cat ran")), *line;
	double sum = 0, p;
	char word[64];

	for (line = strstr(m, "1-grams:\n") + 9; *line != '\n'; line = strchr(line, '\n') + 1) {
		assert_int_equal(sscanf(line, "%lf %63s", &p, word), 2);
		sum += __builtin_pow(10, p);
	}
	assert_true(sum > 0.999 && sum < 1.001);
	/* Where a sentence ends, other models know. */
	assert_non_null(strstr(m, "-99.0000 </s> "));
	assert_null(strstr(m, "</s>\n"));
	/* Said twice of three times, and once, less the discount. */
	assert_non_null(strstr(m, "-0.3010 the cat\n"));
	assert_non_null(strstr(m, "-0.7782 the dog\n"));
}

static void
a_hundred_thousand_words_are_bounded(void **state)
{
	struct world *w = *state;
	const char **at = arena_array(w->mem, 100000, sizeof(*at)), *m, *prompt;
	struct hints h = { .texts = STRINGS("On the theory of word77777") };
	struct strings all = { at, 100000 };
	size_t i;
	int n;

	for (i = 0; i < all.n; i++)
		at[i] = arena_printf(w->mem, "term%zu", i);
	at[99999] = "Word77777 and more";
	hints_choose(w->mem, &h, &all);
	assert_int_equal(h.terms.n, HINTS_TERMS);
	assert_string_equal(h.terms.at[0], "Word77777 and more");
	assert_string_equal(h.terms.at[1], "term0");
	prompt = hints_prompt(w->mem, &h, 600);
	assert_in_range(strlen(prompt), 550, 600);
	assert_memory_equal(prompt, "On the theory of word77777, Word77777 and more, ", 48);
	for (i = 0; i < all.n; i++)
		at[i] = arena_printf(w->mem, "%c%c%c%c", 'a' + (int)(i % 26), 'a' + (int)(i / 26 % 26),
		    'a' + (int)(i / 676 % 26), 'a' + (int)(i / 17576));
	m = model_of(w->mem, all);
	assert_int_equal(sscanf(m, "\\data\\\nngram 1=%d", &n), 1);
	assert_int_equal(n, ARPA_WORDS + 2);
	assert_true(strlen(m) < 1 << 20);
}

static void
a_prompt_is_one_line_of_whole_characters(void **state)
{
	struct world *w = *state;
	struct hints h = { .texts = STRINGS("A\r\n\r\nname:\t\1x", "tag"), .terms = STRINGS("Größe", "übermäßig") };

	assert_string_equal(hints_prompt(w->mem, &h, 600), "A name: x, Größe, übermäßig, tag");
	assert_string_equal(hints_prompt(w->mem, &h, 19), "A name: x, Größe");
	assert_string_equal(hints_prompt(w->mem, &h, 17), "A name: x, tag");
	assert_null(hints_prompt(w->mem, NULL, 600));
	assert_null(hints_prompt(w->mem, &(struct hints){ .terms = { NULL, 0 } }, 600));
}

static void
hints_are_of_the_asset_and_its_tenant(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct job j = { .mem = w->mem, .db = w->db, .tenant_id = w->tenant_id, .media_id = world_media(w, "video",
	    "Bambatse") };
	struct strings ours = STRINGS("Zambesi", "Benita of Bambatse"), theirs = STRINGS("Secret");
	static const char *const texts[] = { "Bambatse", "novel", "Haggard", "A tale", "First slide", "Last\nslide" };
	const struct hints *h;
	size_t i;

	glossary_write(w->db, w->tenant_id, &ours);
	glossary_write(w->db, other->tenant_id, &theirs);
	db_run(w->db, "UPDATE media SET description = 'A tale', tags = '[\"novel\",\"Haggard\"]' WHERE id = ?",
	    ARGS(ID(j.media_id)));
	metadata_put(w->db, j.media_id, "documentContent", "test",
	    "{\"pages\":[{\"page\":1,\"text\":\"First slide\"},{\"page\":3,\"text\":\"Last\\nslide\"}]}");
	metadata_put(w->db, j.media_id, "file", "test", "{\"text\":\"no slide\"}");
	h = hints_read(&j);
	assert_int_equal(h->texts.n, 6);
	for (i = 0; i < 6; i++)
		assert_string_equal(h->texts.at[i], texts[i]);
	assert_int_equal(h->terms.n, 2);
	assert_string_equal(h->terms.at[0], "Benita of Bambatse");
	assert_int_equal(db_failure(w->db), DB_FINE);
}

static const char *
said(struct world *w, struct job *j)
{
	db_run(w->db, "DELETE FROM transcripts WHERE media_id = ?", ARGS(ID(j->media_id)));
	if (run_job(j) != DONE)
		fail_msg("%s", j->detail);
	return db_text(w->db, "SELECT JSON_EXTRACT(paragraphs, '$[*].text') FROM transcripts WHERE media_id = ?",
	    ARGS(ID(j->media_id)));
}

/* A name that is in no dictionary; and what could be taken for the end of a model, an entry of a dictionary, SQL. */
static void
the_engine_hears_what_the_glossary_says_and_obeys_nothing(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE("we went with zorblatt to the market on sunday and zorblatt liked it", "slt"));
	struct strings terms = STRINGS("Zorblatt"), hostile = STRINGS("\\end\\", "\"'; DROP TABLE media; --",
	    "</s>", "<s> zymurgy zymurgy(2) Z AY M", "[NOISE]\n\n\1\x7f", "-99 q 0", "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
	    "'", "%s%n", "../../etc/passwd");
	const char *before = said(w, &j), *with;

	assert_null(strstr(before, "zorblatt"));
	glossary_write(w->db, w->tenant_id, &terms);
	with = said(w, &j);
	assert_int_equal(occurrences(with, "zorblatt"), 2);
	glossary_write(w->db, w->tenant_id, &hostile);
	with = said(w, &j);
	print_message("%s\n%s\n", before, with);
	assert_true(word_error_rate(w->mem, before, with) < 20);
}

static void
servers_get_the_hints_as_a_prompt(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE("good morning", "slt"));
	struct strings terms = STRINGS("Kinothek", "say \"x\"\r\n--boundary");

	j.conf = with_peer(w, "/v1");
	glossary_write(w->db, w->tenant_id, &terms);
	peer_log(w, "DELETE");
	assert_int_equal(run_job(&j), DONE);
	assert_non_null(strstr(peer_log(w, "GET"), "\"prompt\":\"Lecture, Kinothek, say \\\"x\\\" --boundary\""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_model_has_the_words_of_the_texts_and_nothing_else),
		WORLD_TEST(a_model_gives_each_word_its_share),
		WORLD_TEST(a_hundred_thousand_words_are_bounded),
		WORLD_TEST(a_prompt_is_one_line_of_whole_characters),
		WORLD_TEST(hints_are_of_the_asset_and_its_tenant),
		WORLD_TEST(the_engine_hears_what_the_glossary_says_and_obeys_nothing),
		WORLD_TEST(servers_get_the_hints_as_a_prompt),
	};

	return cmocka_run_group_tests(tests, sounds_open, sounds_close);
}
