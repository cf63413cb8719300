/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be searched follows what is told of an asset, and is made anew by a job. */
#include <string.h>

#include "core/asset.h"
#include "core/event.h"
#include "core/fold.h"
#include "core/search.h"
#include "core/search_index.h"
#include "tests/jobs/runners.h"

static void
follow(struct runners *t)
{
	t->conf.job_kinds = "index,purge,serve";
	runner_drain(t);
}

static int64_t
jobs(struct runners *t, struct uuid id)
{
	return number(t->world, "FROM jobs WHERE kind = 'index' AND state = 'ready' AND "
	    "JSON_VALUE(args, '$.mediaId') = ?", ARGS(STR(uuid_text(t->mem, id))));
}

static bool
says(struct runners *t, struct uuid id, int layer, const char *word)
{
	return number(t->world, "FROM search_words w JOIN search_passages p ON p.media_id = w.media_id AND "
	    "p.layer = w.layer AND p.passage = w.passage WHERE w.tenant_id = ? AND w.media_id = ? AND w.layer = ? AND w.word = ?",
	    ARGS(ID(t->world->tenant_id), ID(id), INT(layer), BYTES(word, strlen(word)))) == 1;
}

static void
patch(struct runners *t, struct uuid id, const char *body)
{
	const char *path = arena_printf(t->mem, "/v2/media/%s", uuid_text(t->mem, id));

	assert_int_equal(call(t->world, "PATCH", path, body)->status, 200);
}

static void
words_are_folded_and_umlauts_have_two_forms(void **state)
{
	static const struct { const char *text, *words; } cases[] = {
		{ "K\xc3\xa4se, STRASSE Stra\xc3\x9f" "e", "kase/kaese strasse strasse" },
		{ "Ka\xcc\x88se Ka\xcc\x81se", "kase/kaese kase" },
		{ "\xc4\xb0stanbul \xc3\x86r\xc3\xb8 na\xc3\xafve", "istanbul aero naive" },
		{ "+ - > < ( ) ~ * \" @ \\ % _ '", "" }, { "", "" }, { "\xcc\x88", "" },
		{ "100% a_b x+y", "100 a b x y" }, { "\xf0\x9f\x90\xb1 cat\xe2\x80\x8d" "s", "cats" },
		{ "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "\xe6\x97\xa5\xe6\x9c\xac \xe6\x9c\xac\xe8\xaa\x9e \xe8\xaa\x9e" },
		{ "\xef\xbc\xa1\xef\xbc\x92 \xd9\xa3", "a2 3" },
		{ "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d" },
	};
	struct runners *t = *state;
	struct folded *f;
	struct buf b;
	size_t i, k, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f = fold_words(t->mem, cases[i].text, &n);
		b = BUF(t->mem);
		for (k = 0; k < n; k++)
			buf_printf(&b, "%s%s%s%s", k > 0 ? " " : "", f[k].word, f[k].other != NULL ? "/" : "",
			    f[k].other != NULL ? f[k].other : "");
		assert_string_equal(buf_string(&b), cases[i].words);
	}
}

static void
an_asset_that_changes_often_is_indexed_once(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");

	patch(t, id, "{\"name\":\"Old\"}");
	patch(t, id, "{\"name\":\"K\xc3\xa4se\",\"description\":\"made of milk, milk\",\"tags\":[\"Food\"]}");
	assert_int_equal(jobs(t, id), 1);
	follow(t);
	assert_int_equal(jobs(t, id), 0);
	assert_true(says(t, id, SEARCH_NAME, "kase"));
	assert_true(says(t, id, SEARCH_NAME, "kaese"));
	assert_false(says(t, id, SEARCH_NAME, "old"));
	assert_true(says(t, id, SEARCH_TAG, "food"));
	assert_int_equal(number(t->world, "FROM search_words WHERE media_id = ? AND word = 'milk' AND times = 2",
	    ARGS(ID(id))), 1);
	patch(t, id, "{\"name\":\"New\",\"description\":null}");
	assert_int_equal(jobs(t, id), 1);
	follow(t);
	assert_true(says(t, id, SEARCH_NAME, "new"));
	assert_false(says(t, id, SEARCH_NAME, "kase"));
	assert_false(says(t, id, SEARCH_DESCRIPTION, "milk"));
}

static void
what_is_rolled_back_is_not_indexed(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");

	db_begin(t->db);
	metadata_changed(t->db, id, "transcripts");
	db_rollback(t->db);
	assert_int_equal(jobs(t, id), 0);
	assert_int_equal(number(t->world, "FROM search_pending WHERE media_id = ?", ARGS(ID(id))), 0);
	db_begin(t->db);
	metadata_changed(t->db, id, "waveform");
	assert_true(db_commit(t->db));
	assert_int_equal(jobs(t, id), 0);
}

static void
passages_have_times_and_pages(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");

	db_begin(t->db);
	db_run(t->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)", ARGS(ID(uuid_new()), ID(id),
	    STR("[{\"start\":1.5,\"end\":2,\"text\":\"One cat\"},{\"start\":2,\"end\":3.25,\"text\":\"Two dogs\"}]")));
	metadata_changed(t->db, id, "transcripts");
	metadata_put(t->db, id, "documentContent", "x",
	    "{\"pages\":[{\"page\":1,\"text\":\"First\"},{\"page\":7,\"text\":\"Last\"}]}");
	metadata_put(t->db, id, "videoTexts", "x",
	    "{\"items\":[{\"text\":\"Agenda\",\"instances\":[{\"start\":4.5,\"end\":9},{\"start\":20,\"end\":21}]}]}");
	metadata_put(t->db, id, "imageTexts", "x", "{\"items\":[{\"text\":\"Exit\",\"confidence\":0.9}]}");
	assert_true(db_commit(t->db));
	follow(t);
	assert_true(says(t, id, SEARCH_TRANSCRIPT, "dogs"));
	assert_true(says(t, id, SEARCH_IMAGE_TEXT, "exit"));
	assert_int_equal(number(t->world, "FROM search_passages WHERE media_id = ? AND layer = 6 AND start = 4500 AND "
	    "end = 9000 AND text = 'Agenda'", ARGS(ID(id))), 1);
	assert_int_equal(number(t->world, "FROM search_passages WHERE media_id = ? AND layer = 4 AND passage = 1 AND "
	    "start = 2000 AND end = 3250 AND text = 'Two dogs'", ARGS(ID(id))), 1);
	assert_int_equal(number(t->world, "FROM search_passages WHERE media_id = ? AND layer = 5 AND page = 7 AND "
	    "text = 'Last'", ARGS(ID(id))), 1);
}

static void
long_texts_are_cut_between_words_and_lose_none(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "document", "Book");
	struct buf b = BUF(t->mem);
	int i;

	buf_text(&b, "{\"pages\":[{\"page\":1,\"text\":\"");
	for (i = 0; i < 20000; i++)
		buf_printf(&b, "word%d ", i);
	buf_text(&b, "\"},{\"page\":2,\"text\":\"");
	for (i = 0; i < 60000; i++)
		buf_char(&b, 'x');
	buf_text(&b, "\"}]}");
	db_begin(t->db);
	metadata_put(t->db, id, "documentContent", "x", buf_string(&b));
	assert_true(db_commit(t->db));
	follow(t);
	assert_int_equal(number(t->world, "FROM search_words WHERE media_id = ? AND layer = 5", ARGS(ID(id))), 20001);
	assert_int_equal(number(t->world, "FROM search_words w JOIN search_passages p ON p.media_id = w.media_id AND "
	    "p.layer = w.layer AND p.passage = w.passage WHERE w.media_id = ? AND w.layer = 5 AND INSTR(p.text, w.word) > 0",
	    ARGS(ID(id))), 20001);
}

static void
what_is_said_and_read_is_found_however_long_its_texts_are(void **state)
{
	enum { BYTES = 70000 };
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Talk");
	char *text = arena_alloc(t->mem, BYTES + 1);
	const char *read;

	for (int i = 0; i < BYTES; i++)
		text[i] = i % 2 == 0 ? 'a' : ' ';
	text[BYTES] = '\0';
	read = arena_printf(t->mem, "{\"items\":[{\"text\":\"%sslide\",\"instances\":[{\"start\":1,\"end\":2}]}]}",
	    text);
	db_begin(t->db);
	db_run(t->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'human', 'x', 'completed', ?, 1, 1)", ARGS(ID(uuid_new()), ID(id),
	    STR(arena_printf(t->mem, "[{\"start\":1,\"end\":2,\"text\":\"%send\"}]", text))));
	metadata_changed(t->db, id, "transcripts");
	metadata_put(t->db, id, "videoTexts", "x", read);
	metadata_put(t->db, id, "imageTexts", "x", read);
	assert_true(db_commit(t->db));
	follow(t);
	assert_true(says(t, id, SEARCH_TRANSCRIPT, "end"));
	assert_true(says(t, id, SEARCH_VIDEO_TEXT, "slide"));
	assert_true(says(t, id, SEARCH_IMAGE_TEXT, "slide"));
}

/* A word takes far more room folded than written. */
static void
a_text_of_short_words_is_indexed_in_little_memory(void **state)
{
	enum { WORDS = 1000000 };
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "document", "Numbers");
	struct buf b = BUF(t->mem);
	struct search_index x;

	buf_text(&b, "{\"pages\":[{\"page\":1,\"text\":\"");
	for (int i = 0; i < WORDS; i++)
		buf_printf(&b, "%d ", i % 10);
	buf_text(&b, "\"}]}");
	db_begin(t->db);
	metadata_put(t->db, id, "documentContent", "x", buf_string(&b));
	search_index_begin(&x, id);
	while (search_index_some(t->db, &x))
		assert_true(arena_used(x.mem) < (size_t)64 << 20);
	search_index_end(&x);
	assert_true(db_commit(t->db));
	assert_int_equal(number(t->world, "FROM search_words WHERE media_id = ? AND layer = 5", ARGS(ID(id))), 10);
	assert_int_equal(db_number(t->db, "SELECT SUM(times) FROM search_words WHERE media_id = ? AND layer = 5",
	    ARGS(ID(id)), 0), WORDS);
}

/* A transcript of so many different words, whose texts begin with `first`. */
static void
transcribe(struct runners *t, struct uuid id, const char *first, int words)
{
	struct buf b = BUF(t->mem);
	int i;

	buf_printf(&b, "[{\"start\":0,\"end\":1,\"text\":\"%s\"}", first);
	for (i = 0; i < words; i++)
		buf_printf(&b, ",{\"start\":%d,\"end\":%d,\"text\":\"said%d\"}", i + 1, i + 2, i);
	buf_char(&b, ']');
	db_run(t->db, "DELETE FROM transcripts WHERE media_id = ?", ARGS(ID(id)));
	db_run(t->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)", ARGS(ID(uuid_new()), ID(id),
	    STR(buf_string(&b))));
}

static bool
part(struct db *db, struct search_index *x)
{
	bool more;

	db_begin(db);
	more = search_index_some(db, x);
	assert_true(db_commit(db));
	return more;
}

/* What a part writes holds up others as long as it lasts, so it is a small one; what reads and folds all of it locks
 * nothing. */
static void
whoever_changes_an_asset_waits_for_a_part_of_its_words_at_most(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Long");
	struct db *db = db_open(&t->conf, DB_JOBS);
	struct search_index x;
	int64_t rows = 0, now;
	int parts = 0, free = 0;
	bool more = true;

	db_use(db, t->mem);
	transcribe(t, id, "Welcome", 9000);
	search_index_begin(&x, id);
	while (more) {
		bool reads = x.run > 0 && x.content == NULL;

		db_begin(db);
		more = search_index_some(db, &x);
		if (reads) {
			patch(t, id, arena_printf(t->mem, "{\"description\":\"Part %d\"}", parts));
			free++;
		}
		assert_true(db_commit(db));
		patch(t, id, arena_printf(t->mem, "{\"description\":\"After part %d\"}", parts++));
		now = number(t->world, "FROM search_words WHERE media_id = ?", ARGS(ID(id))) +
		    number(t->world, "FROM search_passages WHERE media_id = ?", ARGS(ID(id)));
		assert_true(now - rows < 4000);
		rows = now;
	}
	search_index_end(&x);
	db_close(db);
	assert_true(free > 0 && parts > 5);
	assert_int_equal(number(t->world, "FROM search_words WHERE media_id = ? AND layer = 4", ARGS(ID(id))), 9001);
}

static void
of_two_that_index_an_asset_the_later_one_wins(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Twice");
	struct search_index x, y;

	/* The words become what they were once, when a run has written half of others. */
	transcribe(t, id, "Late", 2);
	search_index_begin(&y, id);
	while (part(t->db, &y))
		;
	search_index_end(&y);
	transcribe(t, id, "Early", 5000);
	search_index_begin(&x, id);
	while (x.words < 1000)
		assert_true(part(t->db, &x));
	transcribe(t, id, "Late", 2);
	search_index_begin(&y, id);
	while (part(t->db, &y))
		;
	search_index_end(&y);
	assert_false(part(t->db, &x));
	search_index_end(&x);
	assert_true(says(t, id, SEARCH_TRANSCRIPT, "late"));
	assert_false(says(t, id, SEARCH_TRANSCRIPT, "early"));
	assert_int_equal(number(t->world, "FROM search_words WHERE media_id = ? AND layer = 4", ARGS(ID(id))), 3);
	assert_int_equal(number(t->world, "FROM search_passages WHERE media_id = ? AND layer = 4", ARGS(ID(id))), 3);
}

/* Seen by a word that somebody has taken away: it is back when the layer is made anew. */
static void
texts_that_have_not_changed_are_passed_over_until_all_is_made_anew(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Old");

	transcribe(t, id, "Hello", 3);
	patch(t, id, "{\"description\":\"First\"}");
	follow(t);
	db_run(t->db, "DELETE FROM search_words WHERE media_id = ? AND word = 'hello'", ARGS(ID(id)));
	patch(t, id, "{\"name\":\"New\"}");
	follow(t);
	assert_true(says(t, id, SEARCH_NAME, "new"));
	assert_false(says(t, id, SEARCH_NAME, "old"));
	assert_true(says(t, id, SEARCH_TRANSCRIPT, "said2"));
	assert_false(says(t, id, SEARCH_TRANSCRIPT, "hello"));
	db_begin(t->db);
	search_renew(t->db, id, PRIORITY_BULK);
	assert_true(db_commit(t->db));
	follow(t);
	assert_true(says(t, id, SEARCH_TRANSCRIPT, "hello"));
}

static void
nothing_is_left_of_an_asset_that_is_deleted_for_good(void **state)
{
	struct search_index x;
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *path = arena_printf(t->mem, "/v2/media/%s", uuid_text(t->mem, id));

	patch(t, id, "{\"name\":\"Old\"}");
	follow(t);
	patch(t, id, "{\"name\":\"Older\"}");
	assert_int_equal(call(t->world, "DELETE", path, NULL)->status, 200);
	assert_int_equal(call(t->world, "DELETE", arena_printf(t->mem, "%s?permanent=true", path), NULL)->status, 200);
	follow(t);
	assert_int_equal(number(t->world, "FROM search_words WHERE media_id = ?", ARGS(ID(id))), 0);
	assert_int_equal(number(t->world, "FROM search_passages WHERE media_id = ?", ARGS(ID(id))), 0);
	assert_int_equal(number(t->world, "FROM jobs WHERE kind = 'index' AND state <> 'succeeded'", NO_ARGS), 0);
	search_index_begin(&x, id);
	assert_false(search_index_some(t->db, &x));
	search_index_end(&x);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(words_are_folded_and_umlauts_have_two_forms),
		TEST(an_asset_that_changes_often_is_indexed_once),
		TEST(what_is_rolled_back_is_not_indexed),
		TEST(passages_have_times_and_pages),
		TEST(long_texts_are_cut_between_words_and_lose_none),
		TEST(what_is_said_and_read_is_found_however_long_its_texts_are),
		TEST(a_text_of_short_words_is_indexed_in_little_memory),
		TEST(whoever_changes_an_asset_waits_for_a_part_of_its_words_at_most),
		TEST(of_two_that_index_an_asset_the_later_one_wins),
		TEST(texts_that_have_not_changed_are_passed_over_until_all_is_made_anew),
		TEST(nothing_is_left_of_an_asset_that_is_deleted_for_good),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
