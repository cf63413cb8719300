/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which node holds a livestream, who else may claim it and when, and what all of them have counted. */
#include <string.h>

#include "core/livestream.h"
#include "tests/api/livestreams.h"

static void
who_sends_is_not_thrown_out_and_who_is_silent_is(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w);

	assert_int_equal(livestream_claim(w->db, id, OTHER), 0);
	assert_int_equal(livestream_claim(w->db, id, NODE), 2);
	later(w, "beat_at", id, LIVESTREAM_SILENCE_MS + 1000);
	livestream_beat(w->db, NODE);
	assert_int_equal(livestream_claim(w->db, id, OTHER), 0);
	later(w, "beat_at", id, LIVESTREAM_SILENCE_MS + 1000);
	assert_int_equal(livestream_claim(w->db, id, OTHER), 3 + LIVESTREAM_SPARE);
	assert_false(livestream_signal(w->db, id, NODE, false));
	assert_false(livestream_release(w->db, id, NODE));
	livestream_beat(w->db, NODE);
	assert_string_equal(livestream_get(w->db, id)->holder, OTHER);
}

/* At a node that does not hold it; of two on the same input the first one counts. */
static void
who_waits_at_another_node_is_told_while_that_lives(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w);

	livestream_connected(w->db, id, NODE, true, true);
	assert_false(livestream_get(w->db, id)->is_awaited);
	livestream_connected(w->db, id, OTHER, true, true);
	assert_true(livestream_elsewhere(w->db, id, OTHER, true));
	assert_false(livestream_elsewhere(w->db, id, NODE, true));
	assert_false(livestream_get(w->db, id)->is_awaited);
	livestream_connected(w->db, id, OTHER, false, true);
	assert_non_null(member(w, id, "inputs.1.connectedAt"));
	assert_true(livestream_get(w->db, id)->is_awaited);
	livestream_connected(w->db, id, NODE, false, false);	/* not its own */
	assert_non_null(member(w, id, "inputs.1.connectedAt"));
	later(w, "beat_at", id, LIVESTREAM_SILENCE_MS + 1000);
	livestream_beat(w->db, NODE);
	assert_false(livestream_get(w->db, id)->is_awaited);
	assert_false(livestream_elsewhere(w->db, id, NODE, false));
	livestream_beat(w->db, OTHER);
	assert_true(livestream_get(w->db, id)->is_awaited);
	assert_true(livestream_elsewhere(w->db, id, NODE, false));
	assert_true(livestream_release(w->db, id, NODE));
	assert_null(member(w, id, "inputs.0.connectedAt"));
	assert_non_null(member(w, id, "inputs.1.connectedAt"));
	assert_int_equal(livestream_claim(w->db, id, OTHER), 2);
	assert_false(livestream_get(w->db, id)->is_awaited);
	livestream_connected(w->db, id, OTHER, false, false);
	assert_null(member(w, id, "inputs.1.connectedAt"));
}

static void
a_node_that_dies_leaves_it_interrupted(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w);

	livestream_connected(w->db, id, NODE, true, true);
	assert_non_null(member(w, id, "inputs.0.connectedAt"));
	later(w, "started_at", id, LIVESTREAM_IDLE_MS + 1000);
	tend(w);
	assert_string_equal(status(w, id), "live");
	later(w, "beat_at", id, LIVESTREAM_DEAD_MS + 1000);
	tend(w);
	assert_string_equal(status(w, id), "interrupted");
	assert_non_null(member(w, id, "interruptedAt"));
	/* It is idle since then, and not since it was started. */
	tend(w);
	assert_string_equal(status(w, id), "interrupted");
	assert_null(livestream_get(w->db, id)->holder);
	assert_null(member(w, id, "inputs.0.connectedAt"));
	assert_int_equal(told(w, id, "interrupted"), 1);
	/* If it has not died, it may have begun sessions of its own since. */
	assert_int_equal(livestream_claim(w->db, id, OTHER), 2 + LIVESTREAM_SPARE);
}

static void
nobody_is_taken_for_dead_who_could_not_say_that_he_lives(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w), ending = live(w);

	assert_int_equal(put(w, ending, "/stop"), 200);
	later(w, "beat_at", id, LIVESTREAM_DEAD_MS + 1000);
	later(w, "beat_at", ending, LIVESTREAM_DEAD_MS + 1000);
	tend_as(w, false);
	assert_string_equal(status(w, id), "live");
	assert_string_equal(livestream_get(w->db, id)->holder, NODE);
	assert_int_equal(jobs(w, ending), 0);
	tend_as(w, true);
	assert_string_equal(status(w, id), "interrupted");
	assert_null(livestream_get(w->db, id)->holder);
	assert_int_equal(jobs(w, ending), 1);
}

static void
numbers_of_all_nodes_are_added_as_long_as_they_are_fresh(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w);
	struct req *r;

	livestream_watched(w->db, media_of(w, id), NODE, 30, 41);
	livestream_tell(w->db, id, NODE, &(struct livestream_numbers){ .is_primary = true, .rtmp_primary = 1,
	    .bytes_in = 1000, .bitrate = 6000000, .dropped = 2 });
	livestream_tell(w->db, id, NODE, &(struct livestream_numbers){ .is_primary = true, .rtmp_primary = 1,
	    .bytes_in = 1001, .bitrate = 6000001, .dropped = 3 });
	livestream_watched(w->db, media_of(w, id), NODE, 31, 41);
	livestream_tell(w->db, id, OTHER, &(struct livestream_numbers){ .rtmp_secondary = 1, .bytes_in = 7 });
	livestream_watched(w->db, media_of(w, id), "web", 5, 6);
	livestream_watched(w->db, media_of(w, id), "dead", 500, 500);
	db_run(w->db, "UPDATE livestream_nodes SET told_at = told_at - 16000 WHERE node = 'dead'", NO_ARGS);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.primary.rtmpConnections"), "1");
	assert_string_equal(text(w, r, "data.primary.hlsConnections"), "36");
	assert_string_equal(text(w, r, "data.primary.hlsPeak"), "47");
	assert_string_equal(text(w, r, "data.primary.bitrate"), "6000001");
	assert_string_equal(text(w, r, "data.secondary.rtmpConnections"), "1");
	assert_string_equal(text(w, r, "data.secondary.hlsConnections"), "0");
	assert_string_equal(text(w, r, "data.sum.rtmpConnections"), "2");
	assert_string_equal(text(w, r, "data.sum.hlsConnections"), "36");
	assert_string_equal(text(w, r, "data.sum.droppedFrames"), "3");
	assert_null(text(w, r, "data.incoming"));
	r = call(w, "GET", path(w, id, "/statistics/secondary"), NULL);
	assert_string_equal(text(w, r, "data.rtmpConnections"), "1");
	assert_int_equal(call(w, "GET", path(w, id, "/statistics/third"), NULL)->status, 404);
}

static void
what_comes_in_is_told_of_the_one_that_is_on_the_air(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w);
	struct livestream_numbers n = { .is_primary = true, .incoming = { .video_codec = "avc1.64002a", .audio_codec =
	    "mp4a.40.2", .width = 1920, .height = 1080, .frame_rate = 29.97, .interlaced = true, .sample_rate = 48000,
	    .audio_channels = 2 } };
	struct req *r;

	livestream_tell(w->db, id, OTHER, &(struct livestream_numbers){ .incoming = { .audio_codec = "mp4a.40.5" } });
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_null(text(w, r, "data.incoming"));
	livestream_tell(w->db, id, NODE, &n);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_string_equal(text(w, r, "data.incoming.videoCodec"), "avc1.64002a");
	assert_string_equal(text(w, r, "data.incoming.width"), "1920");
	assert_string_equal(text(w, r, "data.incoming.height"), "1080");
	assert_string_equal(text(w, r, "data.incoming.frameRate"), "29.97");
	assert_string_equal(text(w, r, "data.incoming.interlaced"), "true");
	assert_string_equal(text(w, r, "data.incoming.audioCodec"), "mp4a.40.2");
	assert_string_equal(text(w, r, "data.incoming.sampleRate"), "48000");
	assert_string_equal(text(w, r, "data.incoming.audioChannels"), "2");
	/* Another encoder, without pictures, in its place. */
	n.incoming = (struct livestream_incoming){ .audio_codec = "mp4a.40.2", .sample_rate = 44100 };
	livestream_tell(w->db, id, NODE, &n);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_string_equal(text(w, r, "data.incoming.width"), "0");
	assert_string_equal(text(w, r, "data.incoming.interlaced"), "false");
	assert_string_equal(text(w, r, "data.incoming.sampleRate"), "44100");
	db_run(w->db, "UPDATE livestream_nodes SET told_at = told_at - 16000", NO_ARGS);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_null(text(w, r, "data.incoming"));
}

/* Whoever has taken it in may not be who answers those who watch. */
static void
viewers_are_of_the_input_that_they_see(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w), media_id = media_of(w, id);
	struct req *r;

	livestream_tell(w->db, id, NODE, &(struct livestream_numbers){ .is_primary = false, .rtmp_secondary = 1 });
	livestream_watched(w->db, media_id, "web", 5, 6);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_string_equal(text(w, r, "data.primary.hlsConnections"), "0");
	assert_string_equal(text(w, r, "data.secondary.hlsConnections"), "5");
	livestream_tell(w->db, id, NODE, &(struct livestream_numbers){ .is_primary = true, .rtmp_primary = 1 });
	livestream_watched(w->db, media_id, "web", 4, 6);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_string_equal(text(w, r, "data.primary.hlsConnections"), "4");
	assert_string_equal(text(w, r, "data.primary.hlsPeak"), "6");
	assert_string_equal(text(w, r, "data.secondary.hlsConnections"), "0");
	assert_int_equal(call(w, "PUT", path(w, id, "/stop"), NULL)->status, 200);
	db_run(w->db, "DELETE FROM livestream_nodes WHERE livestream_id = ?", ARGS(ID(id)));
	livestream_watched(w->db, media_id, "web", 3, 6);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_string_equal(text(w, r, "data.sum.hlsConnections"), "0");
}

static void
what_was_counted_is_told_by_the_minute(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w), media_id = media_of(w, id);
	int64_t minute;
	struct req *r;

	/* All in one. */
	do {
		minute = moment_now().ms / 60000;
		db_run(w->db, "DELETE FROM livestream_points", NO_ARGS);
		livestream_tell(w->db, id, NODE, &(struct livestream_numbers){ .is_primary = true, .rtmp_primary = 1 });
		livestream_watched(w->db, media_id, NODE, 7, 7);
		livestream_watched(w->db, media_id, NODE, 5, 7);
		livestream_watched(w->db, media_id, "web", 3, 3);
		db_run(w->db, "UPDATE livestream_points SET at = at - 600000", NO_ARGS);
		livestream_tell(w->db, id, NODE, &(struct livestream_numbers){ .rtmp_secondary = 1 });
		livestream_watched(w->db, media_id, "web", 2, 3);
	} while (moment_now().ms / 60000 != minute);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_string_equal(text(w, r, "data.points.0.primary.hlsConnections"), "10");
	assert_string_equal(text(w, r, "data.points.0.primary.rtmpConnections"), "1");
	assert_string_equal(text(w, r, "data.points.0.secondary.hlsConnections"), "0");
	assert_string_equal(text(w, r, "data.points.1.secondary.rtmpConnections"), "1");
	assert_string_equal(text(w, r, "data.points.1.sum.hlsConnections"), "7");
	assert_null(text(w, r, "data.points.2.at"));
	db_run(w->db, "UPDATE livestream_points SET at = at - 3600000", NO_ARGS);
	r = call(w, "GET", path(w, id, "/statistics"), NULL);
	assert_null(text(w, r, "data.points.0.at"));
	r = call(w, "GET", path(w, id, arena_printf(w->mem, "/statistics?from=%s", in_time(w, -2 * 3600000))), NULL);
	assert_int_equal(r->status, 200);
	assert_non_null(text(w, r, "data.points.1.at"));
	r = call(w, "GET", path(w, id, arena_printf(w->mem, "/statistics?from=%s", in_time(w, -25 * 3600000))), NULL);
	assert_int_equal(r->status, 422);
	r = call(w, "GET", path(w, id, arena_printf(w->mem, "/statistics?from=%s", in_time(w, 60000))), NULL);
	assert_int_equal(r->status, 422);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(who_sends_is_not_thrown_out_and_who_is_silent_is),
		WORLD_TEST(who_waits_at_another_node_is_told_while_that_lives),
		WORLD_TEST(a_node_that_dies_leaves_it_interrupted),
		WORLD_TEST(nobody_is_taken_for_dead_who_could_not_say_that_he_lives),
		WORLD_TEST(numbers_of_all_nodes_are_added_as_long_as_they_are_fresh),
		WORLD_TEST(what_comes_in_is_told_of_the_one_that_is_on_the_air),
		WORLD_TEST(viewers_are_of_the_input_that_they_see),
		WORLD_TEST(what_was_counted_is_told_by_the_minute),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
