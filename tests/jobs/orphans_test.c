/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that no row names go when they are old; all others stay. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/asset.h"
#include "core/livestream.h"
#include "core/orphan.h"
#include "core/store.h"
#include "jobs/orphans.h"
#include "tests/jobs/runners.h"

static struct job
sweeper(struct runners *t)
{
	return (struct job){ .mem = t->mem, .db = t->db, .conf = &t->conf, .id = uuid_new() };
}

/* A file of the store that was put so many days ago. */
static const char *
stored(struct runners *t, const char *key, int days)
{
	const struct timespec then = { .tv_sec = time(NULL) - days * 86400 - 60 }, times[2] = { then, then };

	assert_true(store_write(t->mem, "x", 1, key));
	assert_int_equal(utimensat(AT_FDCWD, store_fetch(t->mem, key, NULL), times, 0), 0);
	return key;
}

static const char *
of_asset(struct runners *t, struct uuid id, const char *file, int days)
{
	return stored(t, store_key_play(t->mem, id, file), days);
}

static const char *
in_run(struct runners *t, struct uuid id, const char *generation, struct uuid job, const char *name)
{
	return of_asset(t, id, arena_printf(t->mem, "%s/%s/%s", generation, job_run_name(t->mem, job, 1), name), 2);
}

static void
name(struct runners *t, struct uuid id, const char *generation, const char *key)
{
	struct rendition_row row = { .media_id = id, .generation = generation, .kind = "hls", .label = "360p",
		.mime_type = "video/mp4", .file = strchr(key + 5, '/') + 1 };

	rendition_put(t->db, &row);
	assert_int_equal(db_failure(t->db), DB_FINE);
}

static struct uuid
job_in(struct runners *t, struct uuid media_id, const char *kind, const char *state)
{
	struct uuid id = add(t, kind, NULL, PLACE(.tenant_id = t->world->tenant_id, .media_id = media_id));

	db_run(t->db, "UPDATE jobs SET state = ?, fence = 1 WHERE id = ?", ARGS(STR(state), ID(id)));
	return id;
}

static bool
is_there(struct runners *t, const char *key)
{
	return store_size(t->mem, key) >= 0;
}

static void
clear(struct runners *t, size_t assets)
{
	struct job j = sweeper(t);

	orphans_clear(&j, assets);
	assert_int_equal(db_failure(t->db), DB_FINE);
}

static void
begin(struct runners *t)
{
	db_run(t->db, "DELETE FROM sweep_places", NO_ARGS);
}

static void
what_a_run_has_lost_goes_and_what_rows_name_stays(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *g = uuid_text(t->mem, uuid_new()), *kept[6], *gone[3], *young;
	struct uuid won = job_in(t, id, "quick", "succeeded"), lost = job_in(t, id, "quick", "failed");
	int i;

	begin(t);
	kept[0] = in_run(t, id, g, won, "360p.m3u8");
	name(t, id, g, kept[0]);
	kept[1] = in_run(t, id, g, won, "360p.mp4");		/* a playlist names it */
	kept[2] = in_run(t, id, g, job_in(t, id, "quick", "running"), "a.mp4");
	kept[3] = of_asset(t, id, arena_printf(t->mem, "%s/old.mp4", g), 2);	/* of a time when there were no runs */
	kept[4] = of_asset(t, id, "new-kind/file", 2);
	kept[5] = stored(t, store_key_original(t->mem, id), 2);
	gone[0] = in_run(t, id, g, lost, "360p.m3u8");
	gone[1] = in_run(t, id, g, lost, "360p.mp4");
	gone[2] = of_asset(t, id, arena_printf(t->mem, "%s/%s/.draft", g, job_run_name(t->mem, won, 1)), 2);
	young = of_asset(t, id, arena_printf(t->mem, "%s/%s/young.mp4", g, job_run_name(t->mem, uuid_new(), 1)), 0);
	clear(t, 100);
	for (i = 0; i < 6; i++)
		if (!is_there(t, kept[i]))
			fail_msg("%s is gone", kept[i]);
	for (i = 0; i < 3; i++)
		assert_false(is_there(t, gone[i]));
	assert_true(is_there(t, young));
}

static void
what_was_made_anew_stays_as_long_as_addresses_of_it_are_good(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *g = uuid_text(t->mem, uuid_new()), *old, *new;
	struct uuid first = job_in(t, id, "quick", "succeeded"), second = job_in(t, id, "quick", "succeeded");

	old = in_run(t, id, g, first, "poster.webp");
	name(t, id, g, old);
	new = in_run(t, id, g, second, "poster.webp");
	name(t, id, g, new);
	db_run(t->db, "UPDATE jobs SET replaced_by = ? WHERE id = ?", ARGS(ID(second), ID(first)));
	db_run(t->db, "UPDATE jobs SET finished_at = " SQL_NOW " WHERE id = ?", ARGS(ID(second)));
	begin(t);
	clear(t, 100);
	assert_true(is_there(t, old) && is_there(t, new));
	db_run(t->db, "UPDATE jobs SET finished_at = finished_at - 8 * 86400000 WHERE id = ?", ARGS(ID(second)));
	begin(t);
	clear(t, 100);
	assert_true(!is_there(t, old) && is_there(t, new));
}

/* In the folder of their run, or of their name in that. */
static void
packages_stay_as_long_as_a_download_names_them(void **state)
{
	struct runners *t = *state;
	const char *kept[3], *gone[3];

	for (int i = 0; i < 3; i++) {
		struct uuid id = uuid_new();
		const char *run = uuid_text(t->mem, uuid_new()), *file = i == 0 ? arena_printf(t->mem, "zip/%s.1/a.zip",
		    run) : arena_printf(t->mem, i == 1 ? "zip/%s.1/_46ilms/a.zip" :
		    "zip/%s.1/_46/ilm/s-of/_4day/a.zip", run);

		db_run(t->db, "INSERT INTO downloads (id, tenant_id, principal_id, title, status, file, size, expires, "
		    "created_at, updated_at) VALUES (?, ?, ?, 'Films', 'ready', ?, 1, 1, 1, 1)", ARGS(ID(id),
		    ID(t->world->tenant_id), ID(id), STR(file)));
		kept[i] = of_asset(t, id, file, 2);
		gone[i] = of_asset(t, id, arena_printf(t->mem, "%.*sb.zip", (int)(strrchr(file, '/') + 1 -
		    file), file), 2);
	}
	assert_int_equal(db_failure(t->db), DB_FINE);
	begin(t);
	clear(t, 100);
	for (int i = 0; i < 3; i++)
		assert_true(is_there(t, kept[i]) && !is_there(t, gone[i]));
}

static const char *
recorded(struct runners *t, struct uuid media_id, const char *file, int days)
{
	return stored(t, store_key_live(t->mem, media_id, file), days);
}

/* An asset that a livestream is to become. */
static struct uuid
broadcast(struct runners *t, int64_t size, int64_t session)
{
	struct uuid id = world_media(t->world, "video", "Council");

	db_run(t->db, "UPDATE media SET file_size = ? WHERE id = ?", ARGS(INT(size), ID(id)));
	db_run(t->db, "INSERT INTO livestreams (id, tenant_id, media_id, principal_id, source, session, created_at, "
	    "updated_at) VALUES (?, ?, ?, ?, 'rtmp', ?, 1, 1)", ARGS(ID(uuid_new()), ID(t->world->tenant_id), ID(id), ID(id),
	    INT(session)));
	assert_int_equal(db_failure(t->db), DB_FINE);
	return id;
}

/* That of many sessions is more than one file can be made of. */
static void
what_is_recorded_stays_until_its_asset_has_an_original_of_it(void **state)
{
	struct runners *t = *state;
	struct uuid open = broadcast(t, 0, 1), done = broadcast(t, 9, 1), purged = broadcast(t, 9, 1);
	struct uuid many = broadcast(t, 9, LIVESTREAM_SESSIONS + 1), nobody = uuid_new(), young = uuid_new();
	struct uuid kept = broadcast(t, 9, 1);
	const struct { const char *key; bool stays; } cases[] = {
		{ recorded(t, open, "1.video.mp4", 2), true }, { recorded(t, open, "1.audio.mp4", 2), true },
		{ recorded(t, done, "1.video.mp4", 2), false }, { recorded(t, purged, "1.video.mp4", 2), true },
		{ recorded(t, many, "2001.video.mp4", 2), true }, { recorded(t, kept, "1.video.mp4", 2), true },
		{ recorded(t, nobody, "1.audio.mp4", 2), false },
		{ recorded(t, young, "1.video.mp4", 2), true }, { recorded(t, young, "2.video.mp4", 0), true },
	};

	db_run(t->db, "UPDATE livestreams SET left_out = 'Something.' WHERE media_id = ?", ARGS(ID(kept)));
	job_in(t, purged, "purge", "delayed");
	begin(t);
	clear(t, 100);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (is_there(t, cases[i].key) != cases[i].stays)
			fail_msg("%s: stays %d", cases[i].key, cases[i].stays);
	assert_true(orphan_is_named(t->db, t->mem, store_key_live(t->mem, open, NULL)));
	assert_true(orphan_is_named(t->db, t->mem, store_key_live(t->mem, many, NULL)));
	assert_false(orphan_is_named(t->db, t->mem, store_key_live(t->mem, done, NULL)));
	assert_false(orphan_is_named(t->db, t->mem, store_key_live(t->mem, nobody, NULL)));
}

/* As captions leave it that were written when the purge had been there. */
static void
what_is_played_of_a_livestream_goes_when_its_asset_has_an_original(void **state)
{
	struct runners *t = *state;
	struct uuid open = broadcast(t, 0, 1), done = broadcast(t, 9, 1), purged = broadcast(t, 9, 1);
	struct uuid nobody = uuid_new(), young = broadcast(t, 9, 1);
	const struct { const char *key; bool stays; } cases[] = {
		{ of_asset(t, open, "live/0123456789abcdef/master.m3u8", 2), true },
		{ of_asset(t, open, "live/0123456789abcdef/.captions", 2), true },
		{ of_asset(t, done, "live/0123456789abcdef/1.video.m4s", 2), false },
		{ of_asset(t, done, "live/0123456789abcdef/.captions", 2), false },
		{ of_asset(t, done, "live/fedcba9876543210/9.captions.vtt", 0), true },
		{ of_asset(t, purged, "live/0123456789abcdef/1.video.m4s", 2), true },
		{ of_asset(t, nobody, "live/0123456789abcdef/1.video.m4s", 2), false },
		{ of_asset(t, young, "live/0123456789abcdef/1.video.m4s", 2), true },
		{ of_asset(t, young, "live/0123456789abcdef/2.video.m4s", 0), true },
	};

	job_in(t, purged, "purge", "delayed");
	begin(t);
	clear(t, 100);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (is_there(t, cases[i].key) != cases[i].stays)
			fail_msg("%s: stays %d", cases[i].key, cases[i].stays);
}

static void
captions_and_thumbnails_of_failed_commits_go(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *set, *said, *lost, *unsaid, *young;

	begin(t);
	set = of_asset(t, id, "custom/a.jpg", 3);
	lost = of_asset(t, id, "custom/b.jpg", 3);
	said = of_asset(t, id, "captions/a.1.vtt", 3);
	unsaid = of_asset(t, id, "captions/a.2.vtt", 3);
	young = of_asset(t, id, "captions/b.1.vtt", 0);
	db_run(t->db, "UPDATE media SET custom_thumbnail_file = 'custom/a.jpg', captions = ?, deleted_at = 1 WHERE "
	    "id = ?", ARGS(STR("[{\"languageCode\":\"en\",\"file\":\"captions/a.1.vtt\"}]"), ID(id)));
	assert_true(store_serve(t->mem, id, false));		/* out of reach is looked at too */
	clear(t, 100);
	assert_true(is_there(t, set) && is_there(t, said) && is_there(t, young));
	assert_false(is_there(t, lost) || is_there(t, unsaid));
}

/* As an ingest leaves them that has written them anew. */
static void
captions_of_before_stay_as_long_as_addresses_of_them_are_good(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat");
	const char *before = of_asset(t, id, "captions/a.1.vtt", 3);
	struct uuid purge = job_in(t, id, "purge", "delayed");

	begin(t);
	clear(t, 100);
	assert_true(is_there(t, before));
	db_run(t->db, "UPDATE jobs SET state = 'failed' WHERE id = ?", ARGS(ID(purge)));
	begin(t);
	clear(t, 100);
	assert_false(is_there(t, before));
}

/* Set before thumbnails were kept with the originals, and backed up with them. */
static void
a_thumbnail_is_kept_with_the_original_and_goes_with_it(void **state)
{
	struct runners *t = *state;
	struct uuid id = world_media(t->world, "video", "Cat"), gone = uuid_new();
	const char *kept = store_key_thumbnail(t->mem, id, "custom/a.jpg"), *replaced, *nobodys;
	char *bytes;
	size_t n;

	begin(t);
	of_asset(t, id, "custom/a.jpg", 3);
	replaced = stored(t, store_key_thumbnail(t->mem, id, "custom/b.jpg"), 2);
	nobodys = stored(t, store_key_thumbnail(t->mem, gone, "custom/a.jpg"), 2);
	db_run(t->db, "UPDATE media SET custom_thumbnail_file = 'custom/a.jpg' WHERE id = ?", ARGS(ID(id)));
	assert_false(is_there(t, kept));
	clear(t, 100);
	bytes = store_get(t->mem, kept, 10, &n);
	assert_true(bytes != NULL && n == 1 && bytes[0] == 'x');
	assert_false(is_there(t, replaced) || is_there(t, nobodys));
	begin(t);
	stored(t, kept, 2);
	clear(t, 100);
	assert_true(is_there(t, kept));
}

static void
files_of_nobody_go_but_not_those_that_a_purge_will_have(void **state)
{
	struct runners *t = *state;
	struct uuid nobody = uuid_new(), id = world_media(t->world, "video", "Cat");
	struct uuid upload = uuid_new(), ended = uuid_new();
	const char *g = uuid_text(t->mem, uuid_new()), *later, *lost, *original, *waiting, *left, *deleted;
	struct uuid purge, gone = uuid_new();

	begin(t);
	lost = in_run(t, nobody, g, uuid_new(), "a.mp4");
	original = stored(t, store_key_original(t->mem, nobody), 2);
	waiting = stored(t, store_key_original(t->mem, upload), 2);
	left = stored(t, store_key_original(t->mem, ended), 2);
	db_run(t->db, "INSERT INTO uploads (id, tenant_id, principal_id, principal_name, file_name, type, status, "
	    "expires_at, created_at, updated_at) VALUES (?, ?, ?, 'A', 'f', 'put', 'uploaded', 1, 1, 1), (?, ?, ?, 'A', 'f', 'put', "
	    "'cancelled', 1, 1, 1)", ARGS(ID(upload), ID(t->world->tenant_id), ID(t->world->client_id), ID(ended),
	    ID(t->world->tenant_id), ID(t->world->client_id)));
	later = in_run(t, id, g, uuid_new(), "a.mp4");
	deleted = stored(t, store_key_original(t->mem, gone), 2);
	purge = job_in(t, id, "purge", "delayed");
	job_in(t, gone, "purge", "waiting");
	clear(t, 100);
	assert_false(is_there(t, lost) || is_there(t, original) || is_there(t, left));
	assert_true(is_there(t, later) && is_there(t, waiting) && is_there(t, deleted));
	db_run(t->db, "UPDATE jobs SET state = 'failed' WHERE id = ?", ARGS(ID(purge)));
	clear(t, 100);
	assert_false(is_there(t, later));
}

/* The program that took them was killed between the commit and the end of its work. */
static void
bytes_of_an_upload_that_is_complete_go_at_once(void **state)
{
	static const char *const all[] = { "waiting", "uploading", "uploaded", "completed", NULL };
	struct runners *t = *state;
	const char *keys[5];
	struct uuid id;
	int i;

	begin(t);
	for (i = 0; i < 5; i++) {
		id = uuid_new();
		if (all[i] != NULL)
			db_run(t->db,
			    "INSERT INTO uploads (id, tenant_id, principal_id, principal_name, file_name, type, status, "
			    "expires_at, created_at, updated_at) VALUES (?, ?, ?, 'A', 'f', 'put', ?, 1, 1, 1)",
			    ARGS(ID(id), ID(t->world->tenant_id), ID(t->world->client_id), STR(all[i])));
		keys[i] = stored(t, arena_printf(t->mem, "%s/1", store_key_upload(t->mem, id)), 0);
	}
	clear(t, 100);
	for (i = 0; i < 5; i++)
		assert_int_equal(is_there(t, keys[i]), i < 3);
}

static void
a_sweep_goes_on_where_the_one_before_has_stopped(void **state)
{
	struct runners *t = *state;
	struct uuid id[5];
	const char *keys[5];
	int i, left, turn;

	begin(t);
	for (i = 0; i < 5; i++) {
		id[i] = world_media(t->world, "video", "Cat");
		keys[i] = of_asset(t, id[i], "custom/lost.jpg", 2);
		of_asset(t, id[i], "new-kind/file", 2);
	}
	for (turn = 1; turn <= 3; turn++) {
		clear(t, 2);
		for (left = 0, i = 0; i < 5; i++)
			left += is_there(t, keys[i]);
		assert_int_equal(left, turn == 3 ? 0 : 5 - 2 * turn);
	}
	/* And from the start again. */
	of_asset(t, id[0], "custom/lost.jpg", 2);
	clear(t, 2);
	assert_false(is_there(t, keys[0]));
}

static void
the_sweep_looks_for_them(void **state)
{
	struct runners *t = *state;
	const char *lost = of_asset(t, world_media(t->world, "video", "Cat"), "custom/lost.jpg", 2);

	begin(t);
	t->conf.job_kinds = "sweep";
	add(t, "sweep", NULL, PLACE(.priority = 0));
	runner_drain(t);
	assert_false(is_there(t, lost));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_run_has_lost_goes_and_what_rows_name_stays),
		TEST(what_was_made_anew_stays_as_long_as_addresses_of_it_are_good),
		TEST(what_is_recorded_stays_until_its_asset_has_an_original_of_it),
		TEST(what_is_played_of_a_livestream_goes_when_its_asset_has_an_original),
		TEST(packages_stay_as_long_as_a_download_names_them),
		TEST(captions_and_thumbnails_of_failed_commits_go),
		TEST(captions_of_before_stay_as_long_as_addresses_of_them_are_good),
		TEST(a_thumbnail_is_kept_with_the_original_and_goes_with_it),
		TEST(files_of_nobody_go_but_not_those_that_a_purge_will_have),
		TEST(bytes_of_an_upload_that_is_complete_go_at_once),
		TEST(a_sweep_goes_on_where_the_one_before_has_stopped),
		TEST(the_sweep_looks_for_them),
	};

	if (world_in_bucket()) {
		puts("1..0 # SKIP what lies in a bucket cannot be made older");
		return 0;
	}
	return cmocka_run_group_tests(tests, world_open, world_close);
}
