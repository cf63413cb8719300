/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Soft-deleted assets are not served: their files go out of the served tree and come back, whoever dies in between. */
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/store.h"
#include "tests/jobs/runners.h"

/* An asset with a file. */
static struct uuid
asset(struct runners *t)
{
	struct uuid id = world_media(t->world, "video", "Cat");

	assert_true(store_write(t->mem, "x", 1, arena_printf(t->mem, "play/%s/g1/a.mp4", uuid_text(t->mem, id))));
	return id;
}

static bool
lies(struct runners *t, const char *tree, struct uuid id, const char *file)
{
	const char *path = arena_printf(t->mem, "%s/%s/%s/%s", t->conf.data_dir, tree, uuid_text(t->mem, id), file);

	return access(path, F_OK) == 0;
}

/* The commit of a process that dies before it has moved anything. */
static void
set_deleted(struct runners *t, struct uuid id, int64_t deleted_at)
{
	db_begin(t->db);
	db_run(t->db, "UPDATE media SET deleted_at = ? WHERE id = ?", ARGS(INT(deleted_at), ID(id)));
	asset_serve_later(t->db, t->world->tenant_id, id);
	assert_true(db_commit(t->db));
}

static int
status(struct runners *t, const char *method, struct uuid id, const char *rest)
{
	const char *path = arena_printf(t->mem, "/v2/media/%s%s", uuid_text(t->mem, id), rest);

	return call(t->world, method, path, NULL)->status;
}

static void
files_leave_what_is_served_with_the_answer_and_come_back_with_it(void **state)
{
	struct runners *t = *state;
	struct uuid id = asset(t), other = asset(t);

	assert_int_equal(status(t, "DELETE", id, ""), 200);
	assert_false(lies(t, "play", id, "g1/a.mp4"));
	assert_true(lies(t, "deleted", id, "g1/a.mp4"));
	assert_true(lies(t, "play", other, "g1/a.mp4"));
	runner_drain(t);
	assert_true(lies(t, "deleted", id, "g1/a.mp4"));
	assert_int_equal(status(t, "PUT", id, "/recover"), 200);
	assert_true(lies(t, "play", id, "g1/a.mp4"));
	assert_false(lies(t, "deleted", id, "g1/a.mp4"));
	runner_drain(t);
	assert_true(lies(t, "play", id, "g1/a.mp4"));
}

static void
a_request_that_is_refused_moves_nothing(void **state)
{
	struct runners *t = *state;
	struct uuid id = asset(t);

	assert_int_equal(status(t, "PUT", id, "/recover"), 422);
	assert_true(lies(t, "play", id, "g1/a.mp4"));
	assert_int_equal(status(t, "DELETE", id, ""), 200);
	assert_int_equal(status(t, "DELETE", id, ""), 409);
	assert_true(lies(t, "deleted", id, "g1/a.mp4"));
}

static void
what_a_death_between_commit_and_move_left_undone_a_job_does(void **state)
{
	struct runners *t = *state;
	struct uuid id = asset(t);

	set_deleted(t, id, 1);
	assert_true(lies(t, "play", id, "g1/a.mp4"));
	runner_drain(t);
	assert_false(lies(t, "play", id, "g1/a.mp4"));
	assert_true(lies(t, "deleted", id, "g1/a.mp4"));
	set_deleted(t, id, 0);
	runner_drain(t);
	assert_true(lies(t, "play", id, "g1/a.mp4"));
	/* Of several, late ones included, each does what the row says then. */
	set_deleted(t, id, 1);
	set_deleted(t, id, 0);
	set_deleted(t, id, 1);
	runner_drain(t);
	assert_true(lies(t, "deleted", id, "g1/a.mp4"));
	assert_int_equal(number(t->world, "FROM jobs t WHERE t.kind = 'serve' AND t.state = 'succeeded'", NO_ARGS), 5);
}

static void
the_sweep_finds_what_was_deleted_before_there_was_a_place_for_it(void **state)
{
	struct runners *t = *state;
	struct uuid live = asset(t), old = asset(t), moved = asset(t);

	db_run(t->db, "UPDATE tenants SET soft_delete_retention_days = 0", NO_ARGS);	/* they are kept for ever */
	t->conf.job_kinds = "sweep,serve";
	assert_int_equal(status(t, "DELETE", moved, ""), 200);
	runner_drain(t);
	db_run(t->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(old)));
	add(t, "sweep", NULL, PLACE(.priority = 0));
	runner_drain(t);
	assert_true(lies(t, "deleted", old, "g1/a.mp4") && !lies(t, "play", old, "g1/a.mp4"));
	assert_true(lies(t, "play", live, "g1/a.mp4"));
	add(t, "sweep", NULL, PLACE(.priority = 0));
	runner_drain(t);
	assert_int_equal(number(t->world, "FROM jobs t WHERE t.kind = 'serve'", NO_ARGS), 2);
}

static void
what_a_step_stores_after_the_deletion_follows(void **state)
{
	struct runners *t = *state;
	struct uuid id = asset(t), job;
	const char *late = arena_printf(t->mem, "play/%s/g2/late.mp4", uuid_text(t->mem, id));

	job = add(t, "held", "h", PLACE(.tenant_id = t->world->tenant_id, .media_id = id));
	runner_start(t);
	number_in(t, "pid-h");
	assert_int_equal(status(t, "DELETE", id, ""), 200);
	assert_true(store_write(t->mem, "y", 1, late));		/* as a step does that knows nothing */
	touch(t, "go");
	wait_for(t, job, "succeeded");
	for (int i = 0; i < 12000 && lies(t, "play", id, "g2/late.mp4"); i++)
		usleep(10000);
	assert_false(lies(t, "play", id, "g2/late.mp4"));
	assert_true(lies(t, "deleted", id, "g1/a.mp4") && lies(t, "deleted", id, "g2/late.mp4"));
	/* And one that fails. */
	assert_true(store_write(t->mem, "z", 1, late));
	job = add(t, "refuse", "f", PLACE(.tenant_id = t->world->tenant_id, .media_id = id));
	job_wake(t->conf.run_dir);
	wait_for(t, job, "failed");
	for (int i = 0; i < 12000 && lies(t, "play", id, "g2/late.mp4"); i++)
		usleep(10000);
	assert_false(lies(t, "play", id, "g2/late.mp4"));
	assert_int_equal(status(t, "PUT", id, "/recover"), 200);
	assert_true(lies(t, "play", id, "g1/a.mp4") && lies(t, "play", id, "g2/late.mp4"));
}

static void
deleting_for_good_ends_serving_at_once_and_leaves_nothing_anywhere(void **state)
{
	struct runners *t = *state;
	struct uuid live = asset(t), soft = asset(t);

	assert_int_equal(status(t, "DELETE", soft, ""), 200);
	assert_int_equal(status(t, "DELETE", soft, "?permanent=true"), 200);
	assert_int_equal(status(t, "DELETE", live, "?permanent=true"), 200);
	assert_false(lies(t, "play", live, "g1/a.mp4"));
	runner_drain(t);
	assert_null(world_file(t->mem, store_key_play(t->mem, live, NULL)));
	assert_null(world_file(t->mem, store_key_play(t->mem, soft, NULL)));
}

static void
a_purge_finds_files_where_they_are(void **state)
{
	struct runners *t = *state;
	struct uuid id = asset(t);
	const char *key = arena_printf(t->mem, "play/%s/g2", uuid_text(t->mem, id));

	assert_true(store_write(t->mem, "x", 1, arena_printf(t->mem, "play/%s/g2/a.mp4", uuid_text(t->mem, id))));
	assert_int_equal(status(t, "DELETE", id, ""), 200);
	job_add(t->db, purge, PLACE(.tenant_id = t->world->tenant_id), .keys = { &key, 1 });
	runner_drain(t);
	assert_false(lies(t, "deleted", id, "g2/a.mp4"));
	assert_true(lies(t, "deleted", id, "g1/a.mp4"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_leave_what_is_served_with_the_answer_and_come_back_with_it),
		TEST(a_request_that_is_refused_moves_nothing),
		TEST(what_a_death_between_commit_and_move_left_undone_a_job_does),
		TEST(the_sweep_finds_what_was_deleted_before_there_was_a_place_for_it),
		TEST(what_a_step_stores_after_the_deletion_follows),
		TEST(deleting_for_good_ends_serving_at_once_and_leaves_nothing_anywhere),
		TEST(a_purge_finds_files_where_they_are),
	};

	if (world_in_bucket()) {
		puts("1..0 # SKIP what lies in a bucket is served by its row and moves nowhere");
		return 0;
	}
	return cmocka_run_group_tests(tests, world_open, world_close);
}
