/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vectors follow the texts of an asset, by jobs of which the latest one wins. */
#include <string.h>

#include "core/asset.h"
#include "core/meaning.h"
#include "core/event.h"
#include "core/excerpts.h"
#include "core/search.h"
#include "tests/jobs/runners.h"

static void
follow(struct runners *t)
{
	t->conf.job_kinds = "index,embed,purge,serve";
	runner_drain(t);
}

/* So many paragraphs of ten seconds, `gap` seconds apart. */
static void
transcribe(struct runners *t, struct uuid id, const char *words, int paragraphs, int gap)
{
	struct buf b = BUF(t->mem);
	int i, at = 0;

	for (i = 0; i < paragraphs; i++, at += 10 + gap)
		buf_printf(&b, "%s{\"start\":%d,\"end\":%d,\"text\":\"%s\"}", i == 0 ? "[" : ",", at, at + 10, words);
	buf_char(&b, ']');
	db_begin(t->db);
	db_run(t->db, "DELETE FROM transcripts WHERE media_id = ?", ARGS(ID(id)));
	db_run(t->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)", ARGS(ID(uuid_new()), ID(id),
	    STR(buf_string(&b))));
	metadata_changed(t->db, id, "transcripts");
	assert_true(db_commit(t->db));
}

static int64_t
excerpts(struct runners *t, struct uuid id, const char *like)
{
	return number(t->world, "FROM excerpts WHERE media_id = ? AND layer = 4 AND text LIKE ?",
	    ARGS(ID(id), STR(like)));
}

static int64_t
jobs(struct runners *t, struct uuid id)
{
	return number(t->world, "FROM jobs WHERE kind = 'embed' AND state = 'ready' AND "
	    "JSON_VALUE(args, '$.mediaId') = ?", ARGS(STR(uuid_text(t->mem, id))));
}

static void
vectors_follow_the_texts(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *engine = meaning_glosses_name(t->mem);

	transcribe(t, id, "The doctor prescribes a remedy", 3, 60);
	follow(t);
	assert_int_equal(excerpts(t, id, "The doctor%"), 3);
	assert_int_equal(number(t->world, "FROM excerpts WHERE media_id = ? AND layer = 4 AND engine = ? AND start = "
	    "70000 AND end = 80000 AND LENGTH(meaning) > 1000", ARGS(ID(id), STR(engine))), 1);
	transcribe(t, id, "A train arrives", 1, 0);
	follow(t);
	assert_int_equal(excerpts(t, id, "%"), 1);
	assert_int_equal(excerpts(t, id, "A train%"), 1);
	/* What says nothing has no excerpt. */
	transcribe(t, id, "and of the", 1, 0);
	follow(t);
	assert_int_equal(excerpts(t, id, "%"), 0);
}

/* What follows soon belongs together, until it is long; what is long is cut, and no word is lost. */
static void
excerpts_are_about_a_paragraph_long(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	struct buf b = BUF(t->mem);
	int i;

	transcribe(t, id, "The doctor prescribes a remedy against the infection of his patient", 30, 1);
	follow(t);
	assert_in_range(excerpts(t, id, "%"), 4, 8);
	for (i = 0; i < 2000; i++)
		buf_printf(&b, "doctor%d ", i);
	transcribe(t, id, buf_string(&b), 1, 0);
	follow(t);
	assert_int_equal(number(t->world, "FROM excerpts WHERE media_id = ? AND LENGTH(text) > 1100", ARGS(ID(id))), 0);
	for (i = 0; i < 2000; i += 97)
		assert_int_equal(excerpts(t, id, arena_printf(t->mem, "%%doctor%d %%", i)) +
		    excerpts(t, id, arena_printf(t->mem, "%%doctor%d", i)), 1);
	assert_int_equal(number(t->world, "FROM excerpts a JOIN excerpts b ON b.media_id = a.media_id AND b.layer = "
	    "a.layer AND b.excerpt = a.excerpt + 1 WHERE a.media_id = ? AND (b.start < a.start OR a.end > b.end)", ARGS(ID(id))), 0);
}

static void
what_is_made_already_is_passed_over_until_the_engine_is_another(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *engine = meaning_glosses_name(t->mem);

	transcribe(t, id, "The doctor prescribes a remedy", 1, 0);
	follow(t);
	assert_int_equal(excerpts(t, id, "%"), 1);
	db_begin(t->db);
	excerpts_follow(t->db, id, (struct excerpt_engines){ engine, NULL });
	assert_true(db_commit(t->db));
	assert_int_equal(jobs(t, id), 0);
	db_run(t->db, "UPDATE excerpt_layers SET engine = 'another' WHERE media_id = ?", ARGS(ID(id)));
	db_run(t->db, "UPDATE excerpts SET engine = 'another' WHERE media_id = ?", ARGS(ID(id)));
	db_begin(t->db);
	excerpts_follow(t->db, id, (struct excerpt_engines){ engine, NULL });
	excerpts_follow(t->db, id, (struct excerpt_engines){ engine, NULL });
	assert_true(db_commit(t->db));
	assert_int_equal(jobs(t, id), 1);
	follow(t);
	assert_int_equal(number(t->world, "FROM excerpts WHERE media_id = ? AND engine = 'another'", ARGS(ID(id))), 0);
	assert_int_equal(excerpts(t, id, "%"), 1);
}

/* Vectors that are there stay until the new ones come; nothing is made twice because two have asked. */
static void
what_is_to_be_made_again_is(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");

	transcribe(t, id, "The doctor prescribes a remedy", 1, 0);
	follow(t);
	db_run(t->db, "UPDATE excerpts SET meaning = 'old' WHERE media_id = ?", ARGS(ID(id)));
	db_begin(t->db);
	excerpts_again(t->db, id);
	excerpts_again(t->db, id);
	assert_true(db_commit(t->db));
	assert_int_equal(jobs(t, id), 1);
	assert_int_equal(excerpts(t, id, "%"), 1);
	follow(t);
	assert_int_equal(number(t->world, "FROM excerpts WHERE media_id = ? AND meaning = 'old'", ARGS(ID(id))), 0);
	assert_int_equal(excerpts(t, id, "%"), 1);
}

static void
of_two_that_make_an_asset_the_later_one_wins(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *engine = meaning_glosses_name(t->mem);
	const struct excerpt_layer *l;
	struct meaning m;
	int64_t first, second;

	transcribe(t, id, "The doctor prescribes a remedy", 1, 0);
	t->conf.job_kinds = "index,purge,serve";
	runner_drain(t);
	db_begin(t->db);
	first = excerpts_begin(t->db, id);
	l = excerpts_next(t->db, t->mem, id, engine, SEARCH_TAG);
	assert_non_null(l);
	assert_int_equal(l->layer, SEARCH_TRANSCRIPT);
	second = excerpts_begin(t->db, id);
	assert_true(second > first);
	m = meaning_by_glosses(t->mem, l->at[0].text);
	assert_false(excerpts_put(t->db, id, first, engine, l, 0, &m, 1));
	assert_false(excerpts_end(t->db, id, first, engine, l));
	assert_int_equal(excerpts(t, id, "%"), 0);
	assert_true(excerpts_put(t->db, id, second, engine, l, 0, &m, 1));
	assert_true(excerpts_end(t->db, id, second, engine, l));
	assert_true(db_commit(t->db));
	assert_int_equal(excerpts(t, id, "%"), 1);
}

static void
nothing_is_left_of_an_asset_that_is_deleted_for_good(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *path = arena_printf(t->mem, "/v2/media/%s", uuid_text(t->mem, id));

	transcribe(t, id, "The doctor prescribes a remedy", 1, 0);
	follow(t);
	assert_int_equal(excerpts(t, id, "%"), 1);
	assert_int_equal(call(t->world, "DELETE", path, NULL)->status, 200);
	assert_int_equal(call(t->world, "DELETE", arena_printf(t->mem, "%s?permanent=true", path), NULL)->status, 200);
	follow(t);
	assert_int_equal(excerpts(t, id, "%"), 0);
	assert_int_equal(excerpts_begin(t->db, id), 0);
	assert_int_equal(number(t->world, "FROM jobs WHERE kind = 'embed' AND state <> 'succeeded'", NO_ARGS), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(vectors_follow_the_texts),
		TEST(excerpts_are_about_a_paragraph_long),
		TEST(what_is_made_already_is_passed_over_until_the_engine_is_another),
		TEST(what_is_to_be_made_again_is),
		TEST(of_two_that_make_an_asset_the_later_one_wins),
		TEST(nothing_is_left_of_an_asset_that_is_deleted_for_good),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
