/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Originals are read again when it is their turn, and the ledger says what was found. */
#include <string.h>
#include <unistd.h>

#include "core/ledger.h"
#include "core/store.h"
#include "tests/jobs/runners.h"

#define DAY_MS INT64_C(86400000)

/* An asset whose original came so many days ago, and was read last then. */
static struct uuid
original(struct runners *t, const char *bytes, int64_t days)
{
	struct uuid id = world_media(t->world, "video", bytes);
	const struct moment then = { moment_now().ms - days * DAY_MS };

	db_run(t->db, "UPDATE media SET file_size = ?, sha256 = UNHEX(SHA2(?, 256)), created_at = ?, verified_at = ?, "
	    "examined_at = ? WHERE id = ?", ARGS(INT((int64_t)strlen(bytes)), STR(bytes), TIME(then), TIME(then), TIME(then),
	    ID(id)));
	assert_true(store_write(t->mem, bytes, strlen(bytes), store_key_original(t->mem, id)));
	return id;
}

static void
put(struct runners *t, struct uuid id, const char *bytes)
{
	const char *key = store_key_original(t->mem, id);

	assert_true(store_delete(t->mem, key));
	assert_true(store_write(t->mem, bytes, strlen(bytes), key));
}

static void
scrub(struct runners *t)
{
	t->conf.job_kinds = "scrub";
	add(t, "scrub", NULL, PLACE(.priority = 0));
	runner_drain(t);
}

static const char *
damage(struct runners *t, struct uuid id)
{
	const char *found = db_text(t->db, "SELECT damage FROM media WHERE id = ?", ARGS(ID(id)));

	return found == NULL ? "" : found;
}

/* Days since then. */
static int64_t
days_since(struct runners *t, const char *column, struct uuid id)
{
	return db_number(t->db, arena_printf(t->mem, "SELECT (" SQL_NOW " - %s) DIV 86400000 FROM media WHERE id = ?",
	    column), ARGS(ID(id)), -1);
}

static int
setup(void **state)
{
	struct runners *t;

	if (runners_setup(state) != 0)
		return 1;
	t = *state;
	/* those of other tests */
	db_run(t->db, "UPDATE media SET examined_at = " SQL_NOW ", damage = NULL", NO_ARGS);
	return 0;
}

static void
what_is_whole_is_read_when_it_is_due_and_not_before(void **state)
{
	struct runners *t = *state;
	struct uuid old = original(t, "came long ago", 31), young = original(t, "came lately", 29);

	scrub(t);
	assert_string_equal(damage(t, old), "");
	assert_int_equal(days_since(t, "verified_at", old), 0);
	assert_int_equal(days_since(t, "examined_at", old), 0);
	assert_int_equal(days_since(t, "verified_at", young), 29);
}

static void
damage_of_each_kind_is_found_and_leaves_the_time_when_it_was_whole(void **state)
{
	struct runners *t = *state;
	struct uuid flipped = original(t, "one bit of it", 40), cut = original(t, "cut off", 40),
	    gone = original(t, "gone", 40), whole = original(t, "whole", 40);

	put(t, flipped, "one bit of iu");
	put(t, cut, "cut of");
	assert_true(store_delete(t->mem, store_key_original(t->mem, gone)));
	scrub(t);
	assert_string_equal(damage(t, flipped), "changed");
	assert_string_equal(damage(t, cut), "changed");
	assert_string_equal(damage(t, gone), "missing");
	assert_string_equal(damage(t, whole), "");
	assert_int_equal(days_since(t, "verified_at", flipped), 40);
	assert_int_equal(days_since(t, "examined_at", flipped), 0);
}

static void
what_was_brought_back_is_found_whole_the_next_day(void **state)
{
	struct runners *t = *state;
	struct uuid id = original(t, "brought back", 40);

	put(t, id, "something else");
	scrub(t);
	put(t, id, "brought back");
	scrub(t);
	assert_string_equal(damage(t, id), "changed");
	db_run(t->db, "UPDATE media SET examined_at = examined_at - 2 * 86400000 WHERE id = ?", ARGS(ID(id)));
	scrub(t);
	assert_string_equal(damage(t, id), "");
	assert_int_equal(days_since(t, "verified_at", id), 0);
}

static void
a_store_that_is_not_there_is_no_damage(void **state)
{
	struct runners *t = *state;
	struct uuid id = original(t, "on a disk that is not mounted", 40);
	const char *dir = arena_printf(t->mem, "%s/originals", t->conf.data_dir);
	const char *away = arena_printf(t->mem, "%s/away", t->dir);

	if (world_in_bucket())
		skip();
	assert_int_equal(rename(dir, away), 0);
	scrub(t);
	assert_string_equal(damage(t, id), "");
	assert_int_equal(days_since(t, "examined_at", id), 40);
	rmdir(dir);
	assert_int_equal(rename(away, dir), 0);
	scrub(t);
	assert_int_equal(days_since(t, "verified_at", id), 0);
}

static void
count_bytes(void *at, size_t bytes)
{
	*(size_t *)at += bytes;
}

static void
who_reads_slowly_is_told_of_every_byte(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Long");
	size_t n = (5 << 20) + 7, seen = 0;
	char *bytes = arena_alloc(t->mem, n);
	const struct digest_pace pace = { count_bytes, &seen, true };
	const char *key = store_key_original(t->mem, id);

	memset(bytes, 'x', n);
	assert_true(store_write(t->mem, bytes, n, key));
	assert_string_equal(digest_file(t->mem, world_file(t->mem, key), &pace), digest_text(t->mem, bytes, n));
	assert_int_equal(seen, n);
}

static void
no_more_is_taken_from_the_disk_than_is_allowed(void **state)
{
	struct runners *t = *state;
	struct uuid id;
	char *bytes = arena_alloc(t->mem, (160 << 10) + 1);
	int64_t began;

	memset(bytes, 'x', 160 << 10);
	id = original(t, "short", 40);
	db_run(t->db, "UPDATE media SET file_size = ?, sha256 = UNHEX(SHA2(?, 256)) WHERE id = ?", ARGS(INT(160 << 10),
	    STR(bytes), ID(id)));
	put(t, id, bytes);
	t->conf.scrub_rate = 64 << 10;
	began = clock_ms();
	scrub(t);
	assert_int_equal(days_since(t, "verified_at", id), 0);
	assert_true(clock_ms() - began >= 2500);	/* however fast the machine is */
}

static void
one_is_added_an_hour_while_anything_is_due(void **state)
{
	static const char scrubs[] = "SELECT COUNT(*) FROM jobs WHERE kind = 'scrub'";
	struct runners *t = *state;

	settle_scrub(t->db, &t->conf);
	assert_int_equal(db_number(t->db, scrubs, NO_ARGS, -1), 0);
	original(t, "due", 40);
	t->conf.scrub_days = 0;
	settle_scrub(t->db, &t->conf);
	assert_int_equal(db_number(t->db, scrubs, NO_ARGS, -1), 0);
	t->conf.scrub_days = 30;
	settle_scrub(t->db, &t->conf);
	settle_scrub(t->db, &t->conf);
	assert_int_equal(db_number(t->db, scrubs, NO_ARGS, -1), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_whole_is_read_when_it_is_due_and_not_before),
		TEST(damage_of_each_kind_is_found_and_leaves_the_time_when_it_was_whole),
		TEST(what_was_brought_back_is_found_whole_the_next_day),
		TEST(a_store_that_is_not_there_is_no_damage),
		TEST(who_reads_slowly_is_told_of_every_byte),
		TEST(no_more_is_taken_from_the_disk_than_is_allowed),
		TEST(one_is_added_an_hour_while_anything_is_due),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
