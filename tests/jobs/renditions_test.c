/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps for video and sound, from an original in the store to what clients see. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/job.h"
#include "media/playlist.h"
#include "core/store.h"
#include "jobs/step.h"
#include "tests/world.h"

#define VIDEO "-f lavfi -i testsrc2=s=640x400:r=25:d=9 -f lavfi -i sine=440:r=48000:d=9 -c:v libx264 -preset ultrafast -c:a aac -f mp4"
#define SOUND "-f lavfi -i sine=440:r=44100:d=3 -f lavfi -i color=blue:s=64x64:r=1:d=1 -map 0 -map 1 -frames:v 1 -c:v mjpeg " \
	"-disposition:v attached_pic -c:a libmp3lame -f mp3"

/* An asset of that type whose original is what ffmpeg makes. */
static struct job
job_for(struct world *w, const char *type, const char *make)
{
	struct asset_args *in = NEW(w->mem, struct asset_args);
	struct conf *conf = NEW(w->mem, struct conf);
	struct job j = { .mem = w->mem, .db = w->db, .conf = conf, .in = in, .id = uuid_new(),
	    .tenant_id = w->tenant_id, .media_id = world_media(w, type, "Test"), .attempt = 1 };
	const char *id = uuid_text(w->mem, j.media_id);

	*conf = *w->conf;
	conf->segment_seconds = 4;
	conf->video_preset = "ultrafast";
	in->media_id = j.media_id;
	in->generation = uuid_text(w->mem, j.id);
	j.work_dir = store_path(w->mem, arena_printf(w->mem, "work/%s", uuid_text(w->mem, j.id)));
	assert_int_equal(system(arena_printf(w->mem, "mkdir -p %s && timeout 60 ffmpeg -v error -nostdin -y %s %s/in",
	    j.work_dir, make, j.work_dir)), 0);
	assert_true(store_put(w->mem, arena_printf(w->mem, "%s/in", j.work_dir), arena_printf(w->mem, "originals/%s",
	    id)));
	db_run(w->db, "UPDATE media SET status = 'processing', generation = ?, duration = NULL WHERE id = ?",
	    ARGS(STR(in->generation), ID(j.media_id)));
	return j;
}

static enum outcome
run_step(struct job *j, enum outcome (*run)(struct job *))
{
	enum outcome outcome;

	db_begin(j->db);
	outcome = run(j);
	if (outcome == DONE)
		assert_true(db_commit(j->db));
	else
		db_rollback(j->db);
	assert_int_equal(db_failure(j->db), DB_FINE);
	return outcome;
}

#define MUST(j, step) do { if (run_step((j), step##_run) != DONE) fail_msg(#step ": %s", (j)->detail); } while (0)

static int64_t
rows(struct world *w, const struct job *j, const char *kind)
{
	return number(w, "FROM renditions t WHERE t.media_id = ? AND t.kind = ?", ARGS(ID(j->media_id), STR(kind)));
}

static const char *
path_of(struct world *w, const struct job *j, const char *name)
{
	const struct asset_args *in = j->in;

	return store_path(w->mem, arena_printf(w->mem, "play/%s/%s/%s", uuid_text(w->mem, j->media_id), in->generation,
	    name));
}

/* A whole file of the generation as text; fails when it is not there. */
static const char *
content(struct world *w, const struct job *j, const char *name)
{
	FILE *f = fopen(path_of(w, j, name), "r");
	char *text = arena_alloc(w->mem, 1 << 20);

	if (f == NULL)
		fail_msg("%s is missing", name);
	text[fread(text, 1, (1 << 20) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static int
count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		n++;
	return n;
}

/* A player must be able to trust each line: the peak is one, and the codecs are those of picture and sound. */
static void
assert_streams(const char *master, const char *video)
{
	long peak, average;
	char codecs[80];
	int n = 0;

	for (const char *p = master; (p = strstr(p, "#EXT-X-STREAM-INF:")) != NULL; p++, n++) {
		assert_int_equal(sscanf(p, "#EXT-X-STREAM-INF:BANDWIDTH=%ld,AVERAGE-BANDWIDTH=%ld,CODECS=\"%79[^\"]\"",
		    &peak, &average, codecs), 3);
		assert_true(average > 0 && peak >= average);
		assert_int_equal(strncmp(codecs, video, strlen(video)), 0);
		assert_string_equal(codecs + strlen(codecs) - strlen("mp4a.40.2"), "mp4a.40.2");
	}
	assert_true(n > 0);
}

/* Quiet, and loud in its last moment: the crumb of a segment behind the others holds the most. */
static void
every_stream_of_a_master_names_a_true_peak_and_both_codecs(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", "-f lavfi -i color=black:s=320x180:r=25:d=8 -f lavfi -i "
	    "testsrc2=s=320x180:r=25:d=0.4 -f lavfi -i aevalsrc=0:d=8 -f lavfi -i anoisesrc=d=0.4:a=0.9 "
	    "-filter_complex [0][2][1][3]concat=n=2:a=1 -c:v libx264 -preset ultrafast -c:a aac -f mp4");

	MUST(&j, first_rendition);
	assert_streams(content(w, &j, "master.m3u8"), "avc1.");
	MUST(&j, renditions);
	assert_streams(content(w, &j, "master.m3u8"), "avc1.");
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ? AND t.peak_bitrate < t.bitrate",
	    ARGS(ID(j.media_id))), 0);
}

/* Names in the folder of the generation. */
static int
files(struct world *w, const struct job *j)
{
	const char *path = path_of(w, j, "x");
	DIR *d = opendir(arena_copy_n(w->mem, path, strlen(path) - 2));
	struct dirent *e;
	int n = 0;

	if (d == NULL)
		return 0;
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void
a_video_plays_after_the_first_rendition_and_gets_all_sizes_after_the_rest(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", VIDEO);
	const char *uri = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, j.media_id));
	struct req *r;

	MUST(&j, first_rendition);
	r = call(w, "GET", uri, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_non_null(text(w, r, "data.playlistUrl"));
	assert_int_equal(count(content(w, &j, "master.m3u8"), "#EXT-X-STREAM-INF"), 1);
	assert_int_equal(rows(w, &j, "hls"), 1);
	assert_int_equal(rows(w, &j, "audio"), 1);
	assert_int_equal(db_number(w->db, "SELECT duration FROM media WHERE id = ?", ARGS(ID(j.media_id)), 0) / 100,
	    90);

	MUST(&j, renditions);
	assert_int_equal(count(content(w, &j, "master.m3u8"), "#EXT-X-STREAM-INF"), 2);
	assert_non_null(strstr(content(w, &j, "master.m3u8"),
	    "RESOLUTION=640x400,FRAME-RATE=25.000,AUDIO=\"audio\"\n400p.m3u8\n"));
	assert_int_equal(rows(w, &j, "hls"), 2);
	assert_int_equal(rows(w, &j, "mp4"), 1);
	assert_int_equal(rows(w, &j, "playlist"), 1);
	assert_int_equal(count(content(w, &j, "400p.m3u8"), "#EXTINF"), 3);
	assert_int_equal(count(content(w, &j, "360p.m3u8"), "#EXTINF"), 3);
	/* Four renditions' files, the master and the download, and nothing else. */
	assert_int_equal(files(w, &j), 8);
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ? AND t.file_size <= 0", ARGS(ID(j.media_id))),
	    0);
}

static void
steps_can_run_twice(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", VIDEO);
	const char *master;
	int64_t before;
	int n;

	MUST(&j, first_rendition);
	MUST(&j, renditions);
	MUST(&j, thumbnail);
	MUST(&j, storyboard);
	MUST(&j, waveform);
	before = number(w, "FROM renditions t WHERE t.media_id = ?", ARGS(ID(j.media_id)));
	n = files(w, &j);
	master = content(w, &j, "master.m3u8");
	MUST(&j, renditions);
	MUST(&j, thumbnail);
	MUST(&j, storyboard);
	MUST(&j, waveform);
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ?", ARGS(ID(j.media_id))), before);
	assert_int_equal(files(w, &j), n);
	assert_int_equal(count(content(w, &j, "master.m3u8"), "#EXT-X-STREAM-INF"), count(master, "#EXT-X-STREAM-INF"));
}

/* Moves the files as a client does that deletes or recovers the asset. */
static void
set_deleted(struct world *w, const struct job *j, int64_t deleted_at)
{
	db_run(w->db, "UPDATE media SET deleted_at = ? WHERE id = ?", ARGS(INT(deleted_at), ID(j->media_id)));
	db_begin(w->db);
	assert_true(asset_serve(w->db, j->media_id));
	assert_true(db_commit(w->db));
}

static void
steps_of_a_soft_deleted_asset_go_on(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", VIDEO);
	int64_t whole;

	MUST(&j, first_rendition);
	set_deleted(w, &j, 1);
	assert_int_equal(files(w, &j), 0);
	MUST(&j, renditions);
	MUST(&j, storyboard);
	MUST(&j, waveform);
	set_deleted(w, &j, 1);
	assert_int_equal(files(w, &j), 0);
	MUST(&j, thumbnail);
	set_deleted(w, &j, 0);
	assert_int_equal(files(w, &j), 12);
	whole = number(w, "FROM renditions t WHERE t.media_id = ? AND t.file_size > 0", ARGS(ID(j.media_id)));
	assert_int_equal(whole, number(w, "FROM renditions t WHERE t.media_id = ?", ARGS(ID(j.media_id))));
}

static void
a_video_gets_its_poster_storyboard_and_waveform(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", VIDEO);
	const char *vtt, *peaks, *data;
	struct req *r;

	MUST(&j, first_rendition);
	MUST(&j, thumbnail);
	MUST(&j, storyboard);
	MUST(&j, waveform);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, j.media_id)), NULL);
	assert_non_null(strstr(text(w, r, "data.thumbnail.url"), "/poster.jpg"));
	assert_string_equal(text(w, r, "data.thumbnail.width"), "640");
	vtt = content(w, &j, "storyboard.vtt");
	assert_int_equal(strncmp(vtt, "WEBVTT\n\n00:00:00.000 --> 00:00:04.000\nstoryboard.jpg#xywh=0,0,160,100\n", 69),
	    0);
	assert_non_null(strstr(vtt, "00:00:08.000 --> 00:00:09.000\nstoryboard.jpg#xywh=320,0,160,100\n"));
	assert_int_equal(count(vtt, "-->"), 3);
	peaks = content(w, &j, "waveform.json");
	assert_int_equal(strncmp(peaks, "{\"version\":2,\"channels\":1,\"sample_rate\":8000,\"samples_per_pixel\":64,"
	    "\"bits\":8,\"length\":", 85), 0);
	data = strstr(peaks, "\"data\":[");
	assert_int_equal(count(data, ",") + 1, 2 * atoi(strstr(peaks, "\"length\":") + 9));
	assert_in_range(atoi(strstr(peaks, "\"length\":") + 9), 1120, 1140);
	/* lavfi's tone is an eighth of full scale. */
	assert_non_null(strstr(data, ",-15,15,"));
}

static void
sound_plays_and_its_cover_is_the_poster(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "audio", SOUND);

	MUST(&j, first_rendition);
	assert_int_equal(count(content(w, &j, "master.m3u8"), "#EXT-X-STREAM-INF"), 1);
	assert_non_null(strstr(content(w, &j, "master.m3u8"), "CODECS=\"mp4a.40.2\"\naudio.m3u8\n"));
	assert_streams(content(w, &j, "master.m3u8"), "mp4a.40.2");
	assert_int_equal(rows(w, &j, "audio"), 2);
	assert_int_equal(rows(w, &j, "hls"), 0);
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ? AND t.mime_type = 'audio/mp4'",
	    ARGS(ID(j.media_id))), 1);
	MUST(&j, thumbnail);
	assert_int_equal(rows(w, &j, "poster"), 1);
	MUST(&j, waveform);
	assert_int_equal(rows(w, &j, "waveform"), 1);
}

static void
a_step_whose_input_is_missing_is_tried_again_and_writes_nothing(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", VIDEO);

	assert_int_equal(run_step(&j, storyboard_run), RETRY);
	assert_int_equal(files(w, &j), 0);
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ?", ARGS(ID(j.media_id))), 0);
}

static void
a_file_that_is_cut_off_is_given_up_with_its_reason_and_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", VIDEO " -movflags faststart");
	const char *original = store_path(w->mem, arena_printf(w->mem, "originals/%s", uuid_text(w->mem, j.media_id)));
	struct stat st;

	assert_int_equal(stat(original, &st), 0);
	assert_int_equal(truncate(original, st.st_size / 2), 0);
	assert_int_equal(run_step(&j, first_rendition_run), GIVE_UP);
	assert_int_equal(j.reason, REASON_TRUNCATED);
	assert_null(strstr(j.detail, "/"));
	assert_int_equal(files(w, &j), 0);
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ?", ARGS(ID(j.media_id))), 0);
}

static void
only_want_of_room_is_told_as_such(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", VIDEO);
	const char *dir = store_path(w->mem, arena_printf(w->mem, "play/%s", uuid_text(w->mem, j.media_id)));

	errno = EDQUOT;
	assert_int_equal(step_not_stored(&j, "It"), RETRY);
	assert_int_equal(j.reason, REASON_NO_SPACE);
	/* A file is where the directory should be. */
	assert_int_equal(system(arena_printf(w->mem, "touch %s", dir)), 0);
	assert_int_equal(run_step(&j, thumbnail_run), RETRY);
	assert_int_equal(j.reason, REASON_INTERNAL);
	assert_string_equal(j.detail, "The poster could not be stored.");
	assert_int_equal(run_step(&j, first_rendition_run), RETRY);
	assert_int_equal(j.reason, REASON_INTERNAL);
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ?", ARGS(ID(j.media_id))), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_video_plays_after_the_first_rendition_and_gets_all_sizes_after_the_rest),
		WORLD_TEST(every_stream_of_a_master_names_a_true_peak_and_both_codecs),
		WORLD_TEST(steps_can_run_twice),
		WORLD_TEST(steps_of_a_soft_deleted_asset_go_on),
		WORLD_TEST(a_video_gets_its_poster_storyboard_and_waveform),
		WORLD_TEST(sound_plays_and_its_cover_is_the_poster),
		WORLD_TEST(a_step_whose_input_is_missing_is_tried_again_and_writes_nothing),
		WORLD_TEST(a_file_that_is_cut_off_is_given_up_with_its_reason_and_leaves_nothing),
		WORLD_TEST(only_want_of_room_is_told_as_such),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
