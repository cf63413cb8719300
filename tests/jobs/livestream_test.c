/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was recorded of livestreams, and the assets that become of it. */
#include <sys/wait.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/disk.h"
#include "core/livestream.h"
#include "core/store.h"
#include "jobs/recorded.h"
#include "jobs/run.h"
#include "tests/jobs/intake.h"

#define NODE "ingest-1:42"
#define FRAGMENTS " -f mp4 -movflags +frag_every_frame+empty_moov+default_base_moof+cmaf+frag_discont "

struct broadcast { struct uuid id, media_id; const char *dir; };

struct job_id { struct uuid job_id; };
static const struct field job_id_fields[] = {
	FIELD(struct job_id, job_id, .doc = "The job that makes its asset"),
};
static const struct record job_id_record = RECORD("LivestreamJob", struct job_id, job_id_fields);

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

/* The same of any pictures and sound, by their sources and encoders; NULL: none. */
static void
record_as(struct world *w, const struct broadcast *b, int session, const char *picture, const char *sound)
{
	if (picture != NULL)
		shell(w, b, arena_printf(w->mem, "ffmpeg -v error -nostdin -y -f lavfi -i %s" FRAGMENTS "%d.video.mp4",
		    picture, session));
	if (sound != NULL)
		shell(w, b, arena_printf(w->mem, "ffmpeg -v error -nostdin -y -f lavfi -i %s" FRAGMENTS "%d.audio.mp4",
		    sound, session));
}

#define AVC " -c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 25"
#define HEVC_SET(more) " -c:v libx265 -preset ultrafast -pix_fmt yuv420p -tag:v hvc1 -x265-params log-level=none:keyint=25" more
#define HEVC HEVC_SET(":bframes=2")
#define AV1 " -c:v libaom-av1 -cpu-used 8 -usage realtime -pix_fmt yuv420p -g 25"
#define TONE(rate, seconds) "sine=440:r=" rate ":d=" seconds " -c:a aac"

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

	conf.job_kinds = "livestream,recode";
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

/* What is seen at that second: how bright it is, 0 to 255. */
static int
light(struct world *w, const struct broadcast *b, double at)
{
	const char *path = world_file(w->mem, store_key_original(w->mem, b->media_id));
	FILE *f = popen(arena_printf(w->mem, "ffmpeg -v error -nostdin -ss %.2f -i '%s' -frames:v 1 -vf "
	    "scale=1:1:flags=area,format=gray -f rawvideo -", at, path), "r");
	int c;

	assert_non_null(f);
	c = fgetc(f);
	pclose(f);
	return c;
}

/* What is heard from that second on, for a quarter of one. */
static bool
sounds(struct world *w, const struct broadcast *b, double at)
{
	const char *path = world_file(w->mem, store_key_original(w->mem, b->media_id));

	return system(arena_printf(w->mem, "ffmpeg -v error -nostdin -ss %.2f -i '%s' -t 0.25 -map 0:a -f s16le - | "
	    "od -An -v -t d2 -w2 | awk '$1 > 500 { n++ } END { exit !(n > 500) }'", at, path)) == 0;
}

/* From the first to the last picture, without a word of the decoder. */
static bool
decodes(struct world *w, const struct broadcast *b)
{
	return system(arena_printf(w->mem, "! ffmpeg -v error -nostdin -xerror -i '%s' -enc_time_base -1 "
	    "-f null - 2>&1 | grep . >&2",
	    world_file(w->mem, store_key_original(w->mem, b->media_id)))) == 0;
}

#define FRAMES "-select_streams v -count_frames -show_entries stream=nb_read_frames"
#define START(kind) "-select_streams " kind " -show_entries stream=start_time"

static int64_t
recodes(struct world *w, const struct broadcast *b)
{
	return number(w, "FROM jobs WHERE kind = 'recode' AND state = 'succeeded' AND media_id = ?",
	    ARGS(ID(b->media_id)));
}

/* Are the files of its stretches to be deleted? */
static bool
is_purged(struct world *w, const struct broadcast *b)
{
	return number(w, "FROM jobs WHERE kind = 'purge' AND media_id = ? AND args LIKE '%\"live/%'",
	    ARGS(ID(b->media_id))) == 1;
}

static int64_t
ingests(struct world *w, const struct broadcast *b)
{
	return number(w, "FROM jobs WHERE kind = 'ingest' AND media_id = ?", ARGS(ID(b->media_id)));
}

static int64_t
used(struct world *w)
{
	return db_number(w->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?", ARGS(ID(w->tenant_id)), 0);
}

/* Bytes of what was recorded of it and is there. */
static int64_t
recorded_bytes(struct world *w, const struct broadcast *b)
{
	const char *prefix = arena_printf(w->mem, "%s/", store_key_live(w->mem, b->media_id, NULL));
	int64_t bytes = 0;
	size_t n, i;
	const struct store_entry *e = store_list(w->mem, prefix, NULL, 1000, &n);

	assert_non_null(e);
	for (i = 0; i < n; i++)
		bytes += e[i].size;
	return bytes;
}

static void
a_recording_becomes_the_original_and_is_ingested(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 1);
	int64_t before = used(w);
	const char *path;

	record(w, &b, 1, "320x180", 4, 0);
	go(w);
	assert_string_equal(status(w, &b), "finished");
	path = world_file(w->mem, store_key_original(w->mem, b.media_id));
	assert_non_null(path);
	assert_string_equal(db_text(w->db, "SELECT LOWER(HEX(sha256)) FROM media WHERE id = ?", ARGS(ID(b.media_id))),
	    digest_file(w->mem, path, NULL));
	assert_int_equal(used(w) - before, store_size(w->mem, store_key_original(w->mem, b.media_id)));
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
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'recode' AND media_id = ?", ARGS(ID(b.media_id))), 0);
	/* The nonsense may be worth something to somebody. */
	assert_false(is_purged(w, &b));
	assert_string_equal(db_text(w->db, "SELECT left_out FROM livestreams WHERE id = ?", ARGS(ID(b.id))),
	    "Of 4 stretches of the recording 1 could not be put together as a whole: The index of the file is missing: it "
	    "is cut off.");
}

/* Names are in another order. */
static void
of_too_many_stretches_the_last_ones_are_left_out(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 1);
	const struct recorded *all;
	size_t i;

	shell(w, &b, arena_printf(w->mem, "for i in $(seq %d); do echo picture >$i.video.mp4; done; echo sound "
	    ">%d.audio.mp4", LIVESTREAM_SESSIONS + 5, LIVESTREAM_SESSIONS + 1));
	all = recorded_find(w->mem, b.media_id);
	assert_non_null(all);
	assert_int_equal(all->n, LIVESTREAM_SESSIONS);
	for (i = 0; i < all->n; i++)
		assert_int_equal(all->at[i].session, i + 1);
	assert_int_equal(all->beyond, 6);
	assert_int_equal(all->bytes, (LIVESTREAM_SESSIONS + 5) * 8 + 6);
}

static void
what_comes_in_another_codec_is_encoded_in_its_place(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 4);

	record_as(w, &b, 1, "color=black:s=320x180:r=25:d=3" AVC, TONE("48000", "3"));
	record_as(w, &b, 2, "color=white:s=640x360:r=25:d=3" HEVC, "sine=440:r=48000:d=2 -c:a aac -output_ts_offset 1");
	record_as(w, &b, 3, "color=black:s=320x180:r=25:d=2" AVC, TONE("48000", "2"));
	record_as(w, &b, 4, "color=white:s=320x180:r=25:d=2" AV1, TONE("48000", "2"));
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_int_equal(recodes(w, &b), 1);
	assert_string_equal(probe(w, &b, FRAMES), "250");
	assert_string_equal(probe(w, &b, "-select_streams v -show_entries stream=codec_name"), "h264");
	assert_true(atof(probe(w, &b, "-show_entries format=duration")) > 9.9);
	assert_true(atof(probe(w, &b, "-show_entries format=duration")) < 10.3);
	assert_true(decodes(w, &b));
	assert_true(light(w, &b, 2.9) < 30 && light(w, &b, 3.2) > 220);
	assert_true(light(w, &b, 5.9) > 220 && light(w, &b, 6.2) < 30);
	assert_true(light(w, &b, 7.9) < 30 && light(w, &b, 8.2) > 220);
	/* What is encoded keeps its size, and its sound the place where it was. */
	assert_string_equal(probe(w, &b, "-read_intervals 4.5%+#1 -select_streams v -show_entries frame=width"), "640");
	assert_true(sounds(w, &b, 2.6) && !sounds(w, &b, 3.4) && sounds(w, &b, 4.2));
	assert_true(is_purged(w, &b));
	assert_null(db_text(w->db, "SELECT left_out FROM livestreams WHERE id = ?", ARGS(ID(b.id))));
	drain(w, w->conf);
	assert_string_equal(media_column(w, b.media_id, "status"), "ready");
	assert_true(atoi(media_column(w, b.media_id, "duration")) > 9900);
}

static void
stretches_of_hevc_follow_each_other_as_they_are(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 2);

	record_as(w, &b, 1, "testsrc2=s=320x180:r=25:d=2" HEVC, NULL);
	record_as(w, &b, 2, "testsrc2=s=160x90:r=25:d=2" HEVC_SET(":bframes=0:no-sao=1"), NULL);
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'recode' AND media_id = ?", ARGS(ID(b.media_id))), 0);
	assert_string_equal(probe(w, &b, "-select_streams v -show_entries stream=codec_name"), "hevc");
	assert_string_equal(probe(w, &b, FRAMES), "100");
	assert_true(decodes(w, &b));
	assert_string_equal(probe(w, &b, "-read_intervals 3.5%+#1 -select_streams v -show_entries frame=width"), "160");
	assert_true(is_purged(w, &b));
}

static void
a_stretch_without_picture_or_sound_is_black_or_silent(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 4);

	record_as(w, &b, 1, NULL, TONE("44100", "2"));
	record_as(w, &b, 2, "color=white:s=320x180:r=25:d=3" AVC, TONE("48000", "3 -ac 2"));
	record_as(w, &b, 3, "color=white:s=320x180:r=25:d=2" AVC, NULL);
	record_as(w, &b, 4, "color=white:s=320x180:r=25:d=2" AVC, TONE("22050", "2"));
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_int_equal(recodes(w, &b), 1);
	assert_in_range(atoi(probe(w, &b, FRAMES)), 225, 227);
	assert_string_equal(probe(w, &b, "-select_streams a -show_entries stream=sample_rate"), "48000");
	assert_string_equal(probe(w, &b, "-select_streams a -show_entries stream=channels"), "2");
	assert_true(decodes(w, &b));
	assert_true(light(w, &b, 1) < 30 && light(w, &b, 2.2) > 220);
	assert_true(sounds(w, &b, 1) && sounds(w, &b, 4.5) && !sounds(w, &b, 5.5) && sounds(w, &b, 8));
	assert_true(atof(probe(w, &b, "-show_entries format=duration")) > 8.9);
	assert_true(is_purged(w, &b));
}

/* From that picture on they are noise. */
static void
spoil(struct world *w, const struct broadcast *b, int session, int from)
{
	shell(w, b, arena_printf(w->mem, "perl -0777 -pi -e 's/(mdat)(.{40,}?)(?=....moof|....mfra|$)/"
	    "$n++ < %d ? $& : $1 . (\"\\xff\" x length($2))/gse' %d.video.mp4", from, session));
}

static void
what_cannot_be_encoded_is_kept_and_told(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 3);
	struct req *r;

	record(w, &b, 1, "320x180", 2, 0);
	record_as(w, &b, 2, "testsrc2=s=320x180:r=25:d=2" HEVC, TONE("48000", "2"));
	record_as(w, &b, 3, "testsrc2=s=320x180:r=25:d=4" HEVC, TONE("48000", "4"));
	spoil(w, &b, 2, 0);
	spoil(w, &b, 3, 50);
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_in_range(atoi(probe(w, &b, FRAMES)), 95, 110);
	assert_false(is_purged(w, &b));
	assert_true(store_size(w->mem, store_key_live(w->mem, b.media_id, "2.video.mp4")) > 0);
	drain(w, w->conf);
	assert_string_equal(media_column(w, b.media_id, "status"), "ready");
	assert_true(store_size(w->mem, store_key_live(w->mem, b.media_id, "2.video.mp4")) > 0);
	r = call(w, "GET", arena_printf(w->mem, "/v2/livestreams/%s", uuid_text(w->mem, b.id)), NULL);
	assert_non_null(strstr(text(w, r, "data.leftOut"), "Of 3 stretches of the recording 2 "));
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, b.media_id)), NULL);
	assert_non_null(strstr(buf_string(&r->out), "\"code\":\"not_whole\",\"detail\":\"Of 3 stretches"));
}

#define RECODING "FROM jobs WHERE kind = 'recode' AND state = 'running' AND media_id = ?"

/* A runner that encodes a long stretch so well that it is not done with it soon, and has begun. */
static pid_t
encoding(struct world *w, const struct broadcast *b)
{
	struct conf conf = *w->conf;
	pid_t pid;

	conf.job_kinds = "livestream,recode";
	conf.video_preset = "placebo";
	pid = drain_begin(w, &conf);
	for (int i = 0; i < 3000 && number(w, RECODING " AND progress > 0", ARGS(ID(b->media_id))) == 0; i++)
		usleep(100000);
	assert_int_equal(number(w, RECODING, ARGS(ID(b->media_id))), 1);
	return pid;
}

static void
an_encode_that_is_killed_or_cancelled_loses_nothing(void **state)
{
	struct world *w = *state;
	struct broadcast b = stopped(w, 2);
	const struct job_id *id;
	pid_t runner;

	record(w, &b, 1, "320x180", 1, 0);
	record_as(w, &b, 2, "testsrc2=s=1920x1080:r=25:d=20" HEVC, TONE("48000", "20"));
	runner = encoding(w, &b);
	kill(runner, SIGKILL);
	waitpid(runner, NULL, 0);
	/* The next one takes it up, is asked to stop, and the stream has failed with its files. */
	db_run(w->db, "UPDATE jobs SET lease_until = 0 WHERE kind = 'recode'", NO_ARGS);
	runner = encoding(w, &b);
	id = db_row(w->db, &job_id_record, "FROM livestreams t WHERE t.id = ?", ARGS(ID(b.id)));
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/jobs/%s/cancel", uuid_text(w->mem, id->job_id)),
	    NULL)->status, 200);
	drain_end(runner);
	assert_int_equal(number(w, "FROM jobs WHERE id = ? AND state = 'cancelled'", ARGS(ID(id->job_id))), 1);
	go(w);
	assert_string_equal(status(w, &b), "failed");
	assert_true(store_size(w->mem, store_key_live(w->mem, b.media_id, "2.video.mp4")) > 0);
	/* Tried again, it has all. */
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/jobs/%s/retry", uuid_text(w->mem, id->job_id)),
	    NULL)->status, 200);
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_string_equal(probe(w, &b, FRAMES), "525");
	assert_true(is_purged(w, &b));
}

/* A stream one of whose stretches cannot be read, when it is done. */
static struct broadcast
kept(struct world *w)
{
	struct broadcast b = stopped(w, 2);

	record(w, &b, 1, "320x180", 1, 0);
	shell(w, &b, "head -c 100000 /dev/urandom >2.video.mp4");
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_false(is_purged(w, &b));
	return b;
}

static void
remove_at(struct world *w, const char *path, struct uuid id, const char *how)
{
	const struct req *r = call(w, "DELETE", arena_printf(w->mem, "%s/%s%s", path, uuid_text(w->mem, id), how),
	    NULL);

	assert_int_equal(r->status, 200);
}

static void
what_is_kept_of_a_recording_counts_until_it_is_deleted(void **state)
{
	struct world *w = *state;
	const int64_t before = used(w);
	const struct broadcast with_stream = kept(w), with_asset = kept(w);
	const int64_t original = store_size(w->mem, store_key_original(w->mem, with_stream.media_id));
	const int64_t other = store_size(w->mem, store_key_original(w->mem, with_asset.media_id));
	const int64_t beside = recorded_bytes(w, &with_stream), other_beside = recorded_bytes(w, &with_asset);

	assert_true(beside > 100000 && other_beside > 100000);
	assert_int_equal(used(w) - before, original + beside + other + other_beside);
	remove_at(w, "/v2/livestreams", with_stream.id, "");
	assert_int_equal(used(w) - before, original + other + other_beside);
	remove_at(w, "/v2/media", with_asset.media_id, "?permanent=true");
	assert_int_equal(used(w) - before, original);
	drain(w, w->conf);
	assert_int_equal(recorded_bytes(w, &with_stream) + recorded_bytes(w, &with_asset), 0);
	assert_int_equal(store_size(w->mem, store_key_original(w->mem, with_stream.media_id)), original);
}

static void
what_was_recorded_counts_also_when_nothing_becomes_of_it(void **state)
{
	struct world *w = *state;
	const int64_t before = used(w);
	const struct broadcast b = stopped(w, 1);

	shell(w, &b, "head -c 100000 /dev/urandom >1.video.mp4");
	go(w);
	assert_string_equal(status(w, &b), "failed");
	assert_int_equal(used(w) - before, 100000);
	db_run(w->db, "UPDATE jobs SET state = 'ready' WHERE kind = 'livestream' AND media_id = ?",
	    ARGS(ID(b.media_id)));
	go(w);
	assert_int_equal(used(w) - before, 100000);
	remove_at(w, "/v2/livestreams", b.id, "");
	assert_int_equal(used(w), before);
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
	/* Of another one it left no frame at all. */
	shell(w, &b, "head -c $(($(grep -abo moof 1.video.mp4 | head -n 1 | cut -d: -f1) - 4)) 1.video.mp4 "
	    ">2.video.mp4");
	go(w);
	assert_string_equal(status(w, &b), "finished");
	assert_true(is_purged(w, &b));
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
	int64_t before;

	record(w, &b, 1, "320x180", 1, 0);
	go(w);
	before = used(w);
	db_run(w->db, "UPDATE jobs SET state = 'ready' WHERE kind = 'livestream' AND media_id = ?",
	    ARGS(ID(b.media_id)));
	go(w);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'livestream' AND state = 'succeeded' AND media_id = ?",
	    ARGS(ID(b.media_id))), 1);
	assert_int_equal(ingests(w, &b), 1);
	assert_int_equal(used(w), before);
	assert_string_equal(status(w, &b), "finished");
}

/* An attempt in a process of its own, that nobody takes the lease from. */
static pid_t
attempt(struct world *w, const struct broadcast *b)
{
	struct livestream_args in = { .livestream_id = b->id };
	struct job j = { .mem = w->mem, .conf = w->conf, .in = &in, .id = uuid_new(), .tenant_id = w->tenant_id,
	    .media_id = b->media_id, .attempt = 1, .max_attempts = 3 };
	char dir[] = "/tmp/kinothek-attempt-XXXXXX";
	pid_t pid;
	enum outcome outcome;

	assert_non_null(mkdtemp(dir));
	pid = fork();
	assert_true(pid >= 0);
	if (pid != 0)
		return pid;
	j.work_dir = dir;
	db_abandon(w->db);
	j.db = db_open(w->conf, DB_JOBS);
	db_use(j.db, j.mem);
	db_begin(j.db);
	outcome = livestream_run(&j);
	_exit(outcome == DONE && disk_remove(dir) ? 0 : 1);
}

static void
wait_for_waiting(struct world *w, int n)
{
	for (int i = 0; i < 800 && world_waits(w->db) < n; i++)
		usleep(150000);
	assert_int_equal(world_waits(w->db), n);
}

/* Another picture, in as many bytes. */
static void
record_in(struct world *w, const struct broadcast *b, const char *colour)
{
	record_as(w, b, 1, arena_printf(w->mem, "color=%s:s=320x180:r=25:d=1" AVC, colour), NULL);
	shell(w, b, "perl -e '$n = 200000 - -s $ARGV[0]; open F, \">>\", $ARGV[0]; print F pack(\"N\", $n), \"free\", "
	    "\"\\0\" x ($n - 8)' 1.video.mp4");
}

static void
of_two_that_store_at_the_same_moment_one_has_made_the_original(void **state)
{
	struct world *w = *state;
	const struct broadcast b = stopped(w, 1);
	const char *key = store_key_original(w->mem, b.media_id);
	int64_t before = used(w);
	pid_t runs[2];
	int status_of;

	record_in(w, &b, "red");
	/* As the attempt before them has counted it. */
	livestream_recorded(w->db, b.id, recorded_bytes(w, &b));
	db_begin(w->db);
	db_number(w->db, "SELECT 1 FROM livestreams t JOIN media m ON m.id = t.media_id WHERE t.id = ? FOR UPDATE",
	    ARGS(ID(b.id)), 0);
	runs[0] = attempt(w, &b);
	wait_for_waiting(w, 1);
	record_in(w, &b, "blue");
	runs[1] = attempt(w, &b);
	wait_for_waiting(w, 2);
	assert_true(db_commit(w->db));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(runs[i], &status_of, 0), runs[i]);
		assert_int_equal(status_of, 0);
	}
	assert_string_equal(db_text(w->db, "SELECT LOWER(HEX(sha256)) FROM media WHERE id = ?", ARGS(ID(b.media_id))),
	    digest_file(w->mem, world_file(w->mem, key), NULL));
	assert_int_equal(ingests(w, &b), 1);
	assert_int_equal(used(w) - before + 200000, store_size(w->mem, key));
	assert_true(is_purged(w, &b));
}

static void
a_runner_ends_what_a_dead_node_has_left(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\"}");
	const struct job_place place = { .tenant_id = w->tenant_id };
	struct conf conf = *w->conf;
	struct broadcast b;
	struct uuid other;
	pid_t runner;
	int i;

	assert_true(uuid_parse(text(w, r, "data.id"), &b.id));
	assert_true(uuid_parse(text(w, r, "data.mediaId"), &b.media_id));
	assert_true(livestream_start(w->db, b.id));
	assert_int_equal(livestream_claim(w->db, b.id, NODE), 1);
	assert_true(livestream_stop(w->db, b.id, NULL));
	db_run(w->db, "UPDATE livestreams SET beat_at = beat_at - ? WHERE id = ?", ARGS(INT(LIVESTREAM_DEAD_MS + 1000),
	    ID(b.id)));
	b.dir = store_growing(w->mem, store_key_live(w->mem, b.media_id, NULL));
	record(w, &b, 1, "320x180", 1, 0);
	/* Who has only just reached the database takes nobody for dead. */
	go(w);
	assert_string_equal(status(w, &b), "finishing");
	/* A runner that drains stays as long as others run something. */
	other = job_add(w->db, recode, place, .livestream_id = b.id);
	db_run(w->db, "UPDATE jobs SET state = 'running', runner = 'elsewhere', lease_until = " SQL_NOW " + 3600000 "
	    "WHERE id = ?", ARGS(ID(other)));
	conf.job_kinds = "livestream,recode";
	runner = drain_begin(w, &conf);
	for (i = 0; i < 1200 && strcmp(status(w, &b), "finishing") == 0; i++)
		usleep(100000);
	db_run(w->db, "DELETE FROM jobs WHERE id = ?", ARGS(ID(other)));
	drain_end(runner);
	assert_string_equal(status(w, &b), "finished");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_recording_becomes_the_original_and_is_ingested),
		WORLD_TEST(stretches_follow_each_other_in_whatever_size),
		WORLD_TEST(of_too_many_stretches_the_last_ones_are_left_out),
		WORLD_TEST(what_comes_in_another_codec_is_encoded_in_its_place),
		WORLD_TEST(stretches_of_hevc_follow_each_other_as_they_are),
		WORLD_TEST(a_stretch_without_picture_or_sound_is_black_or_silent),
		WORLD_TEST(what_cannot_be_encoded_is_kept_and_told),
		WORLD_TEST(an_encode_that_is_killed_or_cancelled_loses_nothing),
		WORLD_TEST(what_is_kept_of_a_recording_counts_until_it_is_deleted),
		WORLD_TEST(what_was_recorded_counts_also_when_nothing_becomes_of_it),
		WORLD_TEST(picture_and_sound_stay_as_far_apart_as_they_were),
		WORLD_TEST(what_a_dead_node_left_is_kept_up_to_its_last_frame),
		WORLD_TEST(of_what_cannot_be_read_the_stream_and_its_asset_fail),
		WORLD_TEST(a_second_run_changes_nothing),
		WORLD_TEST(of_two_that_store_at_the_same_moment_one_has_made_the_original),
		WORLD_TEST(a_runner_ends_what_a_dead_node_has_left),
	};

	cmocka_set_test_filter(getenv("TEST_FILTER"));
	return cmocka_run_group_tests(tests, intake_open, world_close);
}
