/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What keeps the house: the sweep of the minute, and purges. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/livestream.h"
#include "core/scratch.h"
#include "core/store.h"
#include "tests/jobs/runners.h"
#include "tests/objects_peer.h"

static const struct job_place anywhere;

static void
of_all_runners_one_adds_the_sweep_of_the_minute(void **state)
{
	static const char sweeps[] = "SELECT COUNT(*) FROM jobs WHERE kind = 'sweep'";
	struct runners *t = *state;
	int64_t began = clock_ms();
	int i;

	t->conf.job_kinds = NULL;
	for (i = 0; i < 4; i++)
		runner_start(t);
	for (i = 0; i < 12000 && db_number(t->db, sweeps, NO_ARGS, 0) == 0; i++)
		usleep(10000);
	sleep(2);
	assert_in_range(db_number(t->db, sweeps, NO_ARGS, 0), 1, 2 + (clock_ms() - began) / 60000);
	assert_int_equal(db_number(t->db, "SELECT COUNT(DISTINCT created_at) - COUNT(*) FROM jobs", NO_ARGS, 1), 0);
}

static void
purging_deletes_the_files_and_nothing_else(void **state)
{
	struct runners *t = *state;
	const char *keys[] = { "play/a/g1", "originals/a", "play/never" }, *top[] = { "play" };
	struct purge_args args = { { keys, 3 } };
	struct uuid id, bad;

	assert_true(store_write(t->mem, "x", 1, "play/a/g1/deep/file"));
	assert_true(store_write(t->mem, "x", 1, "play/a/g2/file"));
	assert_true(store_write(t->mem, "x", 1, "originals/a"));
	db_begin(t->db);
	id = job_insert(t->db, "purge", &purge_args_record, &args, anywhere);
	args = (struct purge_args){ { top, 1 } };
	bad = job_insert(t->db, "purge", &purge_args_record, &args, anywhere);
	db_commit(t->db);
	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "succeeded");
	assert_string_equal(column(t, bad, "state"), "failed");
	assert_int_equal(store_size(t->mem, "originals/a"), -1);
	assert_int_equal(store_size(t->mem, "play/a/g1/deep/file"), -1);
	assert_int_equal(store_size(t->mem, "play/a/g2/file"), 1);
}

static void
purging_a_deleted_asset_first_ends_the_steps_that_might_write_again(void **state)
{
	struct runners *t = *state;
	const char *keys[] = { "play/gone" };
	struct purge_args args = { { keys, 1 } };
	struct job_place place = { .tenant_id = t->world->tenant_id, .media_id = uuid_new() };
	struct uuid running, queued, purge;

	t->conf.job_slots = 2;
	running = add(t, "slow", "20000", place);
	runner_start(t);
	number_in(t, "pid-20000");
	queued = add(t, "quick", "q", PLACE(.media_id = place.media_id, .delay_ms = 60000));
	assert_true(store_write(t->mem, "x", 1, "play/gone/file"));
	db_begin(t->db);
	purge = job_insert(t->db, "purge", &purge_args_record, &args, place);
	db_commit(t->db);
	wait_for(t, purge, "succeeded");
	assert_string_equal(column(t, running, "state"), "cancelled");
	assert_string_equal(column(t, queued, "state"), "cancelled");
	assert_int_equal(store_size(t->mem, "play/gone/file"), -1);
	assert_true(atoi(column(t, purge, "attempt")) > 1);
}

static struct uuid
add_purge(struct runners *t, const char *const *keys, size_t n)
{
	struct purge_args args = { { (const char **)(uintptr_t)keys, n } };
	struct uuid id;

	db_begin(t->db);
	id = job_insert(t->db, "purge", &purge_args_record, &args, anywhere);
	db_commit(t->db);
	return id;
}

static void
again(struct runners *t, struct uuid purge)
{
	db_run(t->db, "UPDATE jobs SET run_at = 0 WHERE id = ?", ARGS(ID(purge)));
	runner_drain(t);
}

/* The runner waits for what is due soon. */
static void
drain_once(struct runners *t)
{
	t->options.back_off_ms = 3600000;
	runner_drain(t);
}

static void
a_purge_is_over_when_the_bucket_has_nothing_left_and_not_when_it_says_so(void **state)
{
	struct runners *t = *state;
	const char *asset = store_key_play(t->mem, uuid_new(), NULL);
	const char *original = store_key_original(t->mem, uuid_new()), *keys[] = { asset, original };
	struct objects_tally *tally;
	struct uuid purge;
	size_t n;

	tally = runners_bucket(t);
	assert_true(store_write(t->mem, "x", 1, original));
	assert_true(store_write(t->mem, "x", 1, arena_printf(t->mem, "%s/a/goes", asset)));
	assert_true(store_write(t->mem, "x", 1, arena_printf(t->mem, "%s/b/stays", asset)));
	purge = add_purge(t, keys, 2);
	tally->deletes = PEER_REFUSES;
	drain_once(t);
	assert_string_equal(column(t, purge, "state"), "delayed");
	assert_non_null(strstr(column(t, purge, "error"), "storage_unavailable"));
	assert_int_equal(store_size(t->mem, arena_printf(t->mem, "%s/a/goes", asset)), -1);
	assert_int_equal(store_size(t->mem, original), 1);
	tally->deletes = PEER_LIES;
	again(t, purge);
	assert_string_equal(column(t, purge, "state"), "delayed");
	assert_int_equal(store_size(t->mem, arena_printf(t->mem, "%s/b/stays", asset)), 1);
	tally->deletes = PEER_DELETES;
	again(t, purge);
	assert_string_equal(column(t, purge, "state"), "succeeded");
	assert_non_null(store_list(t->mem, "play/", NULL, 9, &n));
	assert_int_equal(n, 0);
	assert_int_equal(store_size(t->mem, original), -1);
	objects_peer_end();
}

/* Of one object there is no list. */
static void
an_object_that_is_said_to_be_deleted_and_is_not_keeps_its_purge(void **state)
{
	struct runners *t = *state;
	const char *key = arena_printf(t->mem, "play/%s/stays", uuid_text(t->mem, uuid_new()));
	struct objects_tally *tally = runners_bucket(t);
	struct uuid purge;

	assert_true(store_write(t->mem, "x", 1, key));
	purge = add_purge(t, &key, 1);
	tally->deletes = PEER_LIES;
	drain_once(t);
	assert_string_equal(column(t, purge, "state"), "delayed");
	assert_non_null(strstr(column(t, purge, "error"), "has them still"));
	tally->deletes = PEER_DELETES;
	again(t, purge);
	assert_string_equal(column(t, purge, "state"), "succeeded");
	objects_peer_end();
}

/* Nobody removes a folder that another file system is mounted on. */
static void
a_purge_that_the_disk_refuses_goes_on_where_it_was(void **state)
{
	struct runners *t = *state;
	const char *keys[] = { "play/first", "play/second", "originals/third" }, *mounted;
	struct uuid purge;

	if (getenv("KINOTHEK_TEST_S3") != NULL || system("unshare -m mount -t tmpfs none /mnt 2>/dev/null") != 0)
		skip();
	assert_true(store_write(t->mem, "x", 1, "play/first/file"));
	assert_true(store_write(t->mem, "x", 1, "play/second/deep/file"));
	assert_true(store_write(t->mem, "x", 1, "originals/third"));
	mounted = arena_printf(t->mem, "%s/play/second/deep", t->conf.data_dir);
	assert_int_equal(system(arena_printf(t->mem, "mount -t tmpfs none '%s'", mounted)), 0);
	purge = add_purge(t, keys, 3);
	drain_once(t);
	assert_int_equal(system(arena_printf(t->mem, "umount '%s'", mounted)), 0);
	assert_string_equal(column(t, purge, "state"), "delayed");
	assert_int_equal(store_size(t->mem, "play/first/file"), -1);
	assert_int_equal(store_size(t->mem, "originals/third"), 1);
	again(t, purge);
	assert_string_equal(column(t, purge, "state"), "succeeded");
	assert_int_equal(store_size(t->mem, "play/second/deep/file"), -1);
	assert_int_equal(store_size(t->mem, "originals/third"), -1);
}

/* As after a backup was brought back: the row is there again, and the purge as well. */
static void
a_purge_leaves_what_a_row_names(void **state)
{
	struct runners *t = *state;
	const struct uuid asset = world_media(t->world, "video", "Cat"), twin = world_media(t->world, "video", "Twin");
	const char *picture = "custom/01900000-0000-7000-8000-00000000beef.png";
	const char *keys[] = { store_key_original(t->mem, asset), store_key_play(t->mem, asset, NULL),
	    store_key_play(t->mem, asset, picture), store_key_thumbnail(t->mem, asset, picture),
	    store_key_play(t->mem, asset, "g1"), store_key_play(t->mem, asset, "old") };
	const char *file = arena_printf(t->mem, "%s/g1/film.mp4", keys[1]);
	const char *old = arena_printf(t->mem, "%s/film.mp4", keys[5]);
	const char *kept[] = { keys[0], keys[2], keys[3], file, store_key_original(t->mem, twin) };
	struct uuid purge;
	size_t i;

	db_run(t->db, "UPDATE media SET generation = 'g1', custom_thumbnail_file = ?, sha256 = UNHEX(SHA2('x', 256)) "
	    "WHERE id = ?", ARGS(STR(picture), ID(asset)));
	db_run(t->db, "UPDATE media SET sha256 = UNHEX(SHA2('x', 256)) WHERE id = ?", ARGS(ID(twin)));
	for (i = 0; i < 5; i++)
		assert_true(store_write(t->mem, "x", 1, kept[i]));
	assert_true(store_write(t->mem, "x", 1, old));
	purge = add_purge(t, keys, 6);
	runner_drain(t);
	assert_string_equal(column(t, purge, "state"), "succeeded");
	for (i = 0; i < 5; i++)
		assert_int_equal(store_size(t->mem, kept[i]), 1);
	assert_int_equal(store_size(t->mem, old), -1);
	db_run(t->db, "DELETE FROM media WHERE id = ?", ARGS(ID(asset)));
	purge = add_purge(t, keys, 6);
	runner_drain(t);
	assert_string_equal(column(t, purge, "state"), "succeeded");
	for (i = 0; i < 4; i++)
		assert_int_equal(store_size(t->mem, kept[i]), -1);
	/* The same bytes, of another asset. */
	assert_int_equal(store_size(t->mem, kept[4]), 1);
}

static void
insert_upload(struct runners *t, struct uuid id, const char *status, int64_t expires_in)
{
	db_run(t->db,
	    "INSERT INTO uploads (id, tenant_id, principal_id, principal_name, file_name, type, status, expires_at, "
	    "created_at, updated_at) VALUES (?, ?, ?, 'Admin', 'f', 'put', ?, " SQL_NOW " + ?, 1, " SQL_NOW ")",
	    ARGS(ID(id), ID(t->world->tenant_id), ID(t->world->client_id), STR(status), INT(expires_in)));
	assert_true(store_write(t->mem, "x", 1, arena_printf(t->mem, "uploads/%s/1", uuid_text(t->mem, id))));
	assert_true(store_write(t->mem, "x", 1, arena_printf(t->mem, "originals/%s", uuid_text(t->mem, id))));
}

static struct uuid
add_upload(struct runners *t, const char *status, int64_t expires_in)
{
	struct uuid id = uuid_new();

	insert_upload(t, id, status, expires_in);
	return id;
}

static bool
has_files(struct runners *t, struct uuid id)
{
	bool upload = store_size(t->mem, arena_printf(t->mem, "uploads/%s/1", uuid_text(t->mem, id))) == 1;
	bool original = store_size(t->mem, arena_printf(t->mem, "originals/%s", uuid_text(t->mem, id))) == 1;

	assert_true(upload == original);
	return upload;
}

static const char *
upload_status(struct runners *t, struct uuid id)
{
	return db_text(t->db, "SELECT status FROM uploads WHERE id = ?", ARGS(ID(id)));
}

static void
the_sweep_expires_uploads_by_their_last_byte_and_keeps_what_became_an_asset(void **state)
{
	struct runners *t = *state;
	struct uuid old, young, cancelled, asset;

	old = add_upload(t, "uploading", -1000);
	young = add_upload(t, "uploading", 60000);
	cancelled = add_upload(t, "cancelled", 60000);
	asset = add_upload(t, "completed", -1000);
	db_run(t->db, "UPDATE uploads SET media_id = id WHERE id = ?", ARGS(ID(asset)));
	add(t, "sweep", NULL, anywhere);
	t->conf.job_kinds = "sweep";
	runner_drain(t);
	assert_string_equal(upload_status(t, old), "timedOut");
	assert_false(has_files(t, old));
	assert_string_equal(upload_status(t, young), "uploading");
	assert_true(has_files(t, young));
	assert_false(has_files(t, cancelled));
	assert_string_equal(upload_status(t, asset), "completed");
	assert_int_equal(store_size(t->mem, store_key_original(t->mem, asset)), 1);
	assert_int_equal(store_size(t->mem, store_key_upload(t->mem, asset)), -1);
}

static void
the_sweep_clears_more_uploads_than_it_reads_at_once(void **state)
{
	struct runners *t = *state;
	struct uuid ids[1100];

	for (size_t i = 0; i < 1100; i++)
		ids[i] = add_upload(t, i % 10 == 0 ? "errored" : "cancelled", i % 3 == 0 ? 60000 : (int64_t)i);
	add(t, "sweep", NULL, anywhere);
	t->conf.job_kinds = "sweep";
	runner_drain(t);
	for (size_t i = 0; i < 1100; i++)
		assert_false(has_files(t, ids[i]));
}

/* What it has said. */
static const char *
sweep_once(struct runners *t)
{
	const struct uuid id = add(t, "sweep", NULL, anywhere);

	t->conf.job_kinds = "sweep";
	runner_drain(t);
	return column(t, id, "log_tail");
}

/* One for each minute of the hour. */
static void
uploads_that_ended_a_while_ago_have_their_turn_once_an_hour(void **state)
{
	struct runners *t = *state;
	struct uuid ids[60], id;
	bool taken[60] = { false };
	int64_t minute, began, gone = 0;

	for (int n = 0; n < 60;) {
		id = uuid_new();
		minute = db_number(t->db, "SELECT CRC32(?) % 60", ARGS(ID(id)), -1);
		if (taken[minute])
			continue;
		taken[minute] = true;
		insert_upload(t, id, "cancelled", 60000);
		ids[n++] = id;
	}
	db_run(t->db, "UPDATE uploads SET updated_at = " SQL_NOW " - 660000 WHERE tenant_id = ?",
	    ARGS(ID(t->world->tenant_id)));
	began = clock_ms() / 60000;
	sweep_once(t);
	for (int i = 0; i < 60; i++)
		gone += !has_files(t, ids[i]);
	assert_in_range(gone, 1, 1 + clock_ms() / 60000 - began);
}

static void
a_bucket_that_deletes_nothing_is_not_asked_again_for_each_upload(void **state)
{
	struct runners *t = *state;
	struct objects_tally *tally = runners_bucket(t);
	struct uuid ids[5];
	const char *said;
	int failed = 0;

	t->conf.store_prefix = "home/stays/";
	assert_true(store_open(&t->conf));
	for (int i = 0; i < 5; i++)
		ids[i] = add_upload(t, "cancelled", 60000 + i);
	tally->deletes = PEER_REFUSES;
	/* Of files that no row names it says so with a colon. */
	for (said = sweep_once(t); (said = strstr(said, " could not be deleted")) != NULL; said++)
		failed += said[-1] != ':';
	assert_int_equal(failed, 1);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(store_size(t->mem, store_key_original(t->mem, ids[i])), 1);
		assert_int_equal(access(arena_printf(t->mem, "%s/1", store_incoming(t->mem, ids[i])), F_OK), -1);
	}
	tally->deletes = PEER_DELETES;
	sweep_once(t);
	for (int i = 0; i < 5; i++)
		assert_int_equal(store_size(t->mem, store_key_original(t->mem, ids[i])), -1);
	objects_peer_end();
}

static void
an_upload_that_the_bucket_does_not_delete_does_not_hold_others_up(void **state)
{
	struct runners *t = *state;
	struct objects_tally *tally = runners_bucket(t);
	const struct uuid first = add_upload(t, "cancelled", 60000), second = add_upload(t, "cancelled", 60001);
	const char *stays = arena_printf(t->mem, "%s/stays", store_key_original(t->mem, first));

	assert_true(store_write(t->mem, "x", 1, stays));
	tally->deletes = PEER_REFUSES;
	/* Else it would be taken later, as a file that no row names. */
	assert_null(strstr(sweep_once(t), store_key_original(t->mem, second)));
	assert_int_equal(store_size(t->mem, stays), 1);
	assert_int_equal(store_size(t->mem, store_key_original(t->mem, second)), -1);
	objects_peer_end();
}

static void
make_aged(const char *path, int days)
{
	const struct timespec then = { .tv_sec = time(NULL) - days * 86400 - 60 }, times[2] = { then, then };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Of another machine that shares the directory. */
static void
make_scratch_of(struct runners *t, const char *machine, const char *run, int days)
{
	const char *path = arena_printf(t->mem, "%s/%s", machine, run);

	assert_true(mkdir(machine, 0700) == 0 || errno == EEXIST);
	assert_int_equal(mkdir(path, 0700), 0);
	make_aged(path, days);
	make_aged(machine, days);
}

static void
the_sweep_clears_scratch_of_the_dead_and_old_jobs_without_an_asset(void **state)
{
	struct runners *t = *state;
	static const char *const run = "0190a000-0000-7000-8000-000000000001.3";
	const char *mine = scratch_path(t->mem, run), *other = arena_printf(t->mem, "%s/other.1",
	    scratch_root(&t->conf)), *gone_machine = arena_printf(t->mem, "%s/gone.1", scratch_root(&t->conf));
	struct uuid kept, old, of_asset = uuid_new(), gone = uuid_new();

	assert_true(scratch_make(t->mem, run));
	assert_true(scratch_make(t->mem, "new"));
	/* A machine that shares the directory may know more than the database; one that is gone says nothing. */
	make_scratch_of(t, other, "0190a000-0000-7000-8000-000000000002.1", 0);
	make_scratch_of(t, other, "0190a000-0000-7000-8000-000000000003.1", 1);
	make_scratch_of(t, gone_machine, run, 1);
	old = add(t, "quick", "old", anywhere);
	kept = add(t, "quick", "kept", anywhere);
	of_asset = add(t, "quick", "asset",
	    PLACE(.tenant_id = t->world->tenant_id, .media_id = world_media(t->world, "video", "x")));
	gone = add(t, "quick", "gone", PLACE(.tenant_id = t->world->tenant_id, .media_id = uuid_new()));
	db_run(t->db, "UPDATE jobs SET state = 'succeeded', finished_at = IF(id = ?, " SQL_NOW ", 1)", ARGS(ID(kept)));
	add(t, "sweep", NULL, anywhere);
	t->conf.job_kinds = "sweep";
	runner_drain(t);
	assert_int_equal(access(mine, F_OK), -1);
	assert_int_equal(access(scratch_path(t->mem, "new"), F_OK), 0);
	assert_int_equal(access(arena_printf(t->mem, "%s/0190a000-0000-7000-8000-000000000002.1", other), F_OK), 0);
	assert_int_equal(access(arena_printf(t->mem, "%s/0190a000-0000-7000-8000-000000000003.1", other), F_OK), -1);
	assert_int_equal(access(gone_machine, F_OK), -1);
	assert_string_equal(column(t, old, "state"), "");
	assert_string_equal(column(t, kept, "state"), "succeeded");
	assert_string_equal(column(t, of_asset, "state"), "succeeded");
	(void)gone; /* goes in one of the next sixty sweeps */
}

static void
the_sweep_forgets_answers_tickets_and_events_that_are_good_for_nothing_however_many(void **state)
{
#define MANY "FROM (SELECT @n := @n + 1 AS seq FROM information_schema.columns a, information_schema.columns b, " \
	"(SELECT @n := 0) n LIMIT 1200) s"
	struct runners *t = *state;

	db_run(t->db, "INSERT INTO idempotent_answers (name, request, expires_at) SELECT LPAD(seq, 43, '0'), '', "
	    "IF(seq = 1, " SQL_NOW " + 60000, seq) " MANY, NO_ARGS);
	db_run(t->db, "INSERT INTO event_tickets (id, expires_at) SELECT UNHEX(SHA2(seq, 256)), IF(seq = 1, " SQL_NOW
	    " + 60000, seq) " MANY, NO_ARGS);
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM idempotent_answers", NO_ARGS, 0), 1200);
	db_run(t->db, "INSERT INTO events (tenant_id, type, data, created_at) SELECT '0123456789abcdef', "
	    "'media.restored', "
	    "'{}', IF(seq = 1, " SQL_NOW " - 29 * 86400000, " SQL_NOW " - 31 * 86400000) " MANY, NO_ARGS);
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM event_tickets", NO_ARGS, 0), 1200);
	add(t, "sweep", NULL, anywhere);
	t->conf.job_kinds = "sweep";
	runner_drain(t);
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM idempotent_answers", NO_ARGS, 0), 1);
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM event_tickets", NO_ARGS, 0), 1);
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM events WHERE tenant_id = '0123456789abcdef'", NO_ARGS,
	    0),
	    1);
	db_run(t->db, "DELETE FROM idempotent_answers", NO_ARGS);
	db_run(t->db, "DELETE FROM event_tickets", NO_ARGS);
#undef MANY
}

static void
the_sweep_forgets_what_nodes_have_told_of_livestreams_an_hour_ago(void **state)
{
	struct runners *t = *state;
	struct uuid id = uuid_new();

	db_run(t->db, "INSERT INTO livestreams (id, tenant_id, media_id, principal_id, source, created_at, updated_at) "
	    "VALUES (?, ?, ?, ?, 'rtmp', 1, 1)", ARGS(ID(id), ID(t->world->tenant_id), ID(world_media(t->world, "video",
	    "Council")), ID(id)));
	livestream_tell(t->db, id, "gone", &(struct livestream_numbers){ .is_primary = true });
	livestream_tell(t->db, id, "new", &(struct livestream_numbers){ .is_primary = true });
	db_run(t->db, "UPDATE livestream_nodes SET told_at = told_at - 3601000 WHERE node = 'gone'", NO_ARGS);
	db_run(t->db, "UPDATE livestream_points SET at = at - IF(node = 'gone', 31, 29) * 86400000", NO_ARGS);
	add(t, "sweep", NULL, anywhere);
	t->conf.job_kinds = "sweep";
	runner_drain(t);
	assert_string_equal(db_text(t->db, "SELECT GROUP_CONCAT(node) FROM livestream_nodes", NO_ARGS), "new");
	assert_string_equal(db_text(t->db, "SELECT GROUP_CONCAT(node) FROM livestream_points", NO_ARGS), "new");
}

/* As a program leaves them that was killed ten minutes ago, or is at work. */
static void
the_sweep_gives_back_what_a_killed_program_has_reserved(void **state)
{
	struct runners *t = *state;
	const struct uuid ids[] = { add_upload(t, "uploading", 80000000), add_upload(t, "uploading", 80000000) };

	for (int i = 0; i < 2; i++)
		db_run(t->db, "UPDATE uploads SET received_bytes = 10, reserved_bytes = 500, updated_at = " SQL_NOW
		    " - ? WHERE id = ?", ARGS(INT(i == 0 ? 601000 : 500000), ID(ids[i])));
	add(t, "sweep", NULL, anywhere);
	t->conf.job_kinds = "sweep";
	runner_drain(t);
	for (int i = 0; i < 2; i++)
		assert_int_equal(db_number(t->db, "SELECT reserved_bytes FROM uploads WHERE id = ?", ARGS(ID(ids[i])),
		    0), i == 0 ? 10 : 500);
}

static void
the_sweep_forgets_what_was_looked_for_30_days_ago(void **state)
{
	struct runners *t = *state;

	db_run(t->db, "INSERT INTO questions (tenant_id, engine, digest, text, asked_at) SELECT ?, 'x', seq, 'What?', "
	    SQL_NOW " - seq * 86400000 FROM (SELECT 29 AS seq UNION SELECT 31) s", ARGS(ID(t->world->tenant_id)));
	add(t, "sweep", NULL, anywhere);
	t->conf.job_kinds = "sweep";
	runner_drain(t);
	assert_string_equal(db_text(t->db, "SELECT GROUP_CONCAT(digest) FROM questions", NO_ARGS), "29");
	db_run(t->db, "DELETE FROM questions", NO_ARGS);
}

/* Soft-deleted that many days ago, with its files. */
static struct uuid
deleted_asset(struct runners *t, struct world *of, double days)
{
	struct uuid id = world_media(of, "video", "Cat");

	assert_int_equal(call(of, "DELETE", arena_printf(t->mem, "/v2/media/%s", uuid_text(t->mem, id)), NULL)->status,
	    200);
	db_run(t->db, "UPDATE media SET file_size = 1000, deleted_at = " SQL_NOW " - ? WHERE id = ?",
	    ARGS(INT((int64_t)(days * 86400000)), ID(id)));
	usage_add(t->db, of->tenant_id, 0, 1000);
	assert_true(store_write(t->mem, "x", 1, store_key_original(t->mem, id)));
	return id;
}

static bool
is_there(struct runners *t, struct uuid id)
{
	return db_number(t->db, "SELECT COUNT(*) FROM media WHERE id = ?", ARGS(ID(id)), 0) == 1;
}

static void
keep_for(struct runners *t, struct world *of, int64_t days)
{
	db_run(t->db, "UPDATE tenants SET soft_delete_retention_days = ? WHERE id = ?", ARGS(INT(days),
	    ID(of->tenant_id)));
}

static void
the_sweep_deletes_for_good_what_was_deleted_longer_ago_than_the_tenant_keeps_it(void **state)
{
	struct runners *t = *state;
	struct world *other = world_other(t->world);
	struct uuid old, young, live, kept, back;
	int64_t used;

	keep_for(t, t->world, 10);
	keep_for(t, other, 0);
	live = world_media(t->world, "video", "Dog");
	db_run(t->db, "UPDATE media SET created_at = 1, updated_at = 1 WHERE id = ?", ARGS(ID(live)));
	old = deleted_asset(t, t->world, 10.01);
	young = deleted_asset(t, t->world, 9.99);
	back = deleted_asset(t, t->world, 100);
	kept = deleted_asset(t, other, 4000);
	assert_int_equal(call(t->world, "PUT", arena_printf(t->mem, "/v2/media/%s/recover", uuid_text(t->mem, back)),
	    NULL)->status, 200);
	used = db_number(t->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?", ARGS(
	    ID(t->world->tenant_id)), 0);

	add(t, "sweep", NULL, anywhere);
	t->conf.job_kinds = "sweep purge serve";
	runner_drain(t);
	assert_false(is_there(t, old));
	assert_true(is_there(t, young));
	assert_true(is_there(t, live));
	assert_true(is_there(t, back));
	assert_true(is_there(t, kept));
	assert_int_equal(store_size(t->mem, store_key_original(t->mem, old)), -1);
	assert_int_equal(store_size(t->mem, store_key_original(t->mem, young)), 1);
	assert_int_equal(db_number(t->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?", ARGS(
	    ID(t->world->tenant_id)), 0), used - 1000);
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM events WHERE media_id = ? AND type = 'media.deleted' "
	    "AND principal_id IS NULL AND data LIKE '%\"permanent\":true%'", ARGS(ID(old)), 0), 1);
	keep_for(t, other, 1);
	add(t, "sweep", NULL, anywhere);
	runner_drain(t);
	assert_false(is_there(t, kept));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(of_all_runners_one_adds_the_sweep_of_the_minute),
		TEST(purging_deletes_the_files_and_nothing_else),
		TEST(a_purge_is_over_when_the_bucket_has_nothing_left_and_not_when_it_says_so),
		TEST(an_object_that_is_said_to_be_deleted_and_is_not_keeps_its_purge),
		TEST(a_purge_that_the_disk_refuses_goes_on_where_it_was),
		TEST(a_purge_leaves_what_a_row_names),
		TEST(purging_a_deleted_asset_first_ends_the_steps_that_might_write_again),
		TEST(the_sweep_expires_uploads_by_their_last_byte_and_keeps_what_became_an_asset),
		TEST(the_sweep_clears_more_uploads_than_it_reads_at_once),
		TEST(uploads_that_ended_a_while_ago_have_their_turn_once_an_hour),
		TEST(a_bucket_that_deletes_nothing_is_not_asked_again_for_each_upload),
		TEST(an_upload_that_the_bucket_does_not_delete_does_not_hold_others_up),
		TEST(the_sweep_forgets_answers_tickets_and_events_that_are_good_for_nothing_however_many),
		TEST(the_sweep_forgets_what_nodes_have_told_of_livestreams_an_hour_ago),
		TEST(the_sweep_forgets_what_was_looked_for_30_days_ago),
		TEST(the_sweep_gives_back_what_a_killed_program_has_reserved),
		TEST(the_sweep_deletes_for_good_what_was_deleted_longer_ago_than_the_tenant_keeps_it),
		TEST(the_sweep_clears_scratch_of_the_dead_and_old_jobs_without_an_asset),
	};

	cmocka_set_test_filter(getenv("TEST_FILTER"));
	return cmocka_run_group_tests(tests, world_open, world_close);
}
