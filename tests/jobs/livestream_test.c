/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was recorded of livestreams, and the assets that become of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/livestream.h"
#include "core/store.h"
#include "tests/jobs/intake.h"

#define NODE "ingest-1:42"
#define FRAGMENTS " -f mp4 -movflags +frag_every_frame+empty_moov+default_base_moof+cmaf+frag_discont "

struct broadcast { struct uuid id, media_id; const char *dir; };

/* One that has had so many sessions and is stopped; its node has ended, too. */
static struct broadcast
stopped(struct world *w, int sessions)
{
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\"}");
	struct broadcast b;
	int i;

	assert_int_equal(r->status, 201);
	assert_true(uuid_parse(text(w, r, "data.id"), &b.id));
	assert_true(uuid_parse(text(w, r, "data.mediaId"), &b.media_id));
	assert_true(livestream_start(w->db, b.id));
	for (i = 0; i < sessions; i++)
		assert_int_equal(livestream_claim(w->db, b.id, NODE), i + 1);
	assert_true(livestream_signal(w->db, b.id, NODE, true));
	assert_true(livestream_stop(w->db, b.id, NULL));
	assert_true(livestream_end(w->db, b.id, NODE));
	b.dir = store_growing(w->mem, store_key_live(w->mem, b.media_id, NULL));
	assert_non_null(b.dir);
	return b;
}

static void
shell(struct world *w, const struct broadcast *b, const char *command)
{
	setenv("d", b->dir, 1);
	if (system(arena_printf(w->mem, "cd \"$d\" && %s", command)) != 0)
		fail_msg("%s", command);
}

/* The files of a session, of that size and length in seconds; `sound` begins after the picture by so much. */
static void
record(struct world *w, const struct broadcast *b, int session, const char *size, int seconds, double sound)
{
	shell(w, b, arena_printf(w->mem, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=%s:r=25:d=%d -f lavfi -i "
	    "sine=440:r=48000:d=%d -map 0:v -c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 25" FRAGMENTS "%d.video.mp4 "
	    "-map 1:a -c:a aac -output_ts_offset %.1f" FRAGMENTS "%d.audio.mp4", size, seconds, seconds, session, sound,
	    session));
}

static void
go(struct world *w)
{
	struct conf conf = *w->conf;

	conf.job_kinds = "livestream";
	drain(w, &conf);
}

static const char *
status(struct world *w, const struct broadcast *b)
{
	return livestream_get(w->db, b->id)->status;
}

/* One word that ffprobe says of the original. */
static const char *
probe(struct world *w, const struct broadcast *b, const char *what)
{
	const char *path = world_file(w->mem, store_key_original(w->mem, b->media_id));
	char line[256] = "";
	FILE *f;

	assert_non_null(path);
	f = popen(arena_printf(w->mem, "ffprobe -v error -of csv=p=0 %s '%s'", what, path), "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	line[strcspn(line, "\n,")] = '\0';
	return arena_copy(w->mem, line);
}

#define FRAMES "-select_streams v -count_frames -show_entries stream=nb_read_frames"
#define START(kind) "-select_streams " kind " -show_entries stream=start_time"

static int64_t
ingests(struct world *w, const struct broadcast *b)
{
	return number(w, "FROM jobs WHERE kind = 'ingest' AND media_id = ?", ARGS(ID(b->media_id)));
}

static void
a_recording_becomes_the_original_and_is_ingested(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 1);
	int64_t used = db_number(w->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), 0);
	const char *path;

	record(w, &b, 1, "320x180", 4, 0);
	go(w);
	assert_string_equal(status(w, &b), "finished");
	path = world_file(w->mem, store_key_original(w->mem, b.media_id));
	assert_non_null(path);
	assert_string_equal(db_text(w->db, "SELECT LOWER(HEX(sha256)) FROM media WHERE id = ?", ARGS(ID(b.media_id))),
	    digest_file(w->mem, path, NULL));
	assert_int_equal(db_number(w->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), 0) - used, store_size(w->mem, store_key_original(w->mem, b.media_id)));
	assert_string_equal(probe(w, &b, FRAMES), "100");
	assert_string_equal(probe(w, &b, "-select_streams a -show_entries stream=codec_name"), "aac");
	assert_int_equal(ingests(w, &b), 1);
	drain(w, w->conf);
	assert_string_equal(media_column(w, b.media_id, "status"), "ready");
	assert_true(atoi(media_column(w, b.media_id, "duration")) > 3900);
	assert_int_equal(store_size(w->mem, store_key_live(w->mem, b.media_id, "1.video.mp4")), -1);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'purge' AND state = 'delayed' AND media_id = ? AND args "
	    "LIKE '%/live\"%'", ARGS(ID(b.media_id))), 1);
}

static void
stretches_follow_each_other_in_whatever_size(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 12);

	record(w, &b, 12, "320x180", 2, 0);
	record(w, &b, 2, "320x180", 3, 0);
	record(w, &b, 9, "160x90", 2, 0);
	shell(w, &b, "touch 5.video.mp4; echo nonsense >6.video.mp4; echo >notes.txt");
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_string_equal(probe(w, &b, FRAMES), "175");
	assert_string_equal(probe(w, &b, "-select_streams v -show_entries stream=width"), "320");
	/* The small one lies between: sessions count as numbers. */
	assert_string_equal(probe(w, &b, "-read_intervals 3.5%+#1 -select_streams v -show_entries frame=width"), "160");
	assert_string_equal(probe(w, &b, "-read_intervals 5.5%+#1 -select_streams v -show_entries frame=width"), "320");
	assert_true(atof(probe(w, &b, "-show_entries format=duration")) > 6.9);
	assert_true(atof(probe(w, &b, "-show_entries format=duration")) < 7.3);
}

static void
picture_and_sound_stay_as_far_apart_as_they_were(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 1);

	record(w, &b, 1, "320x180", 2, 0.7);
	go(w);
	assert_true(atof(probe(w, &b, START("v"))) < 0.1);
	assert_true(atof(probe(w, &b, START("a"))) > 0.6);
	assert_true(atof(probe(w, &b, START("a"))) < 0.8);
}

static void
what_a_dead_node_left_is_kept_up_to_its_last_frame(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 1);

	record(w, &b, 1, "320x180", 4, 0);
	shell(w, &b, "rm 1.audio.mp4 && size=$(stat -c %s 1.video.mp4) && truncate -s $((size / 2 + 7)) 1.video.mp4");
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_true(atoi(probe(w, &b, FRAMES)) > 30);
	assert_true(atoi(probe(w, &b, FRAMES)) < 70);
}

static void
of_what_cannot_be_read_the_stream_and_its_asset_fail(void **state)
{
	struct world *w = *state;
	struct broadcast nothing = stopped(w, 1), nonsense = stopped(w, 1);

	shell(w, &nonsense, "echo nonsense >1.video.mp4");
	go(w);
	assert_string_equal(status(w, &nothing), "failed");
	assert_string_equal(db_text(w->db, "SELECT failure FROM livestreams WHERE id = ?", ARGS(ID(nothing.id))),
	    "empty");
	assert_string_equal(status(w, &nonsense), "failed");
	assert_string_equal(db_text(w->db, "SELECT failure FROM livestreams WHERE id = ?", ARGS(ID(nonsense.id))),
	    "damaged");
	assert_string_equal(media_column(w, nothing.media_id, "status"), "failed");
	assert_string_equal(media_column(w, nonsense.media_id, "status"), "failed");
	assert_int_equal(ingests(w, &nonsense), 0);
	/* What was recorded stays, for another try. */
	assert_true(store_size(w->mem, store_key_live(w->mem, nonsense.media_id, "1.video.mp4")) > 0);
}

static void
a_second_run_changes_nothing(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 1);
	int64_t used;

	record(w, &b, 1, "320x180", 1, 0);
	go(w);
	used = db_number(w->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?", ARGS(ID(w->tenant_id)), 0);
	db_run(w->db, "UPDATE jobs SET state = 'ready' WHERE kind = 'livestream' AND media_id = ?",
	    ARGS(ID(b.media_id)));
	go(w);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'livestream' AND state = 'succeeded' AND media_id = ?",
	    ARGS(ID(b.media_id))), 1);
	assert_int_equal(ingests(w, &b), 1);
	assert_int_equal(db_number(w->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), 0), used);
	assert_string_equal(status(w, &b), "finished");
}

static void
a_runner_ends_what_a_dead_node_has_left(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\"}");
	struct broadcast b;

	assert_true(uuid_parse(text(w, r, "data.id"), &b.id));
	assert_true(uuid_parse(text(w, r, "data.mediaId"), &b.media_id));
	assert_true(livestream_start(w->db, b.id));
	assert_int_equal(livestream_claim(w->db, b.id, NODE), 1);
	assert_true(livestream_stop(w->db, b.id, NULL));
	db_run(w->db, "UPDATE livestreams SET beat_at = beat_at - ? WHERE id = ?", ARGS(INT(LIVESTREAM_DEAD_MS + 1000),
	    ID(b.id)));
	b.dir = store_growing(w->mem, store_key_live(w->mem, b.media_id, NULL));
	record(w, &b, 1, "320x180", 1, 0);
	go(w);
	assert_string_equal(status(w, &b), "finished");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_recording_becomes_the_original_and_is_ingested),
		WORLD_TEST(stretches_follow_each_other_in_whatever_size),
		WORLD_TEST(picture_and_sound_stay_as_far_apart_as_they_were),
		WORLD_TEST(what_a_dead_node_left_is_kept_up_to_its_last_frame),
		WORLD_TEST(of_what_cannot_be_read_the_stream_and_its_asset_fail),
		WORLD_TEST(a_second_run_changes_nothing),
		WORLD_TEST(a_runner_ends_what_a_dead_node_has_left),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
