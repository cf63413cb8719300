/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps for video and sound, from an original in the store to what clients see. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/job.h"
#include "media/playlist.h"
#include "core/scratch.h"
#include "core/store.h"
#include "jobs/step.h"
#include "tests/world.h"

/* A tone, louder on the left. */
#define TONE "-f lavfi -i 'aevalsrc=0.15*sin(2764*t)|0.1*sin(2764*t):s=48000:d=9'"
#define VIDEO "-f lavfi -i testsrc2=s=640x400:r=25:d=9 " TONE " -c:v libx264 -preset ultrafast -c:a aac -f mp4"
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

	*conf = *w->conf;
	conf->segment_seconds = 4;
	conf->video_preset = "ultrafast";
	in->media_id = j.media_id;
	in->generation = uuid_text(w->mem, j.id);
	j.work_dir = scratch_path(w->mem, uuid_text(w->mem, j.id));
	assert_int_equal(system(arena_printf(w->mem, "mkdir -p %s && timeout 600 ffmpeg -v error -nostdin -y %s %s/in",
	    j.work_dir, make, j.work_dir)), 0);
	assert_true(store_put(w->mem, arena_printf(w->mem, "%s/in", j.work_dir), store_key_original(w->mem,
	    j.media_id)));
	db_run(w->db, "UPDATE media SET status = 'processing', generation = ?, duration = NULL WHERE id = ?",
	    ARGS(STR(in->generation), ID(j.media_id)));
	return j;
}

/* Each is a run of its own, as each would be a job of its own. */
static enum outcome
run_step(struct job *j, enum outcome (*run)(struct job *))
{
	enum outcome outcome;

	j->fence++;
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

/* What the runs of the generation have stored, without its folder; the newest last. */
static struct strings
stored(struct world *w, const struct job *j)
{
	const struct asset_args *in = j->in;
	const char *prefix = store_key_play(w->mem, j->media_id, arena_printf(w->mem, "%s/", in->generation));
	const char **at = arena_array(w->mem, 200, sizeof(*at));
	struct strings all = { at, 0 };
	const struct store_entry *files;
	size_t n, k;

	for (int64_t fence = 1; fence <= j->fence; fence++) {
		files = store_list(w->mem, arena_printf(w->mem, "%s%s/", prefix, job_run_name(w->mem, j->id, fence)),
		    NULL, 100, &n);
		for (k = 0; k < n; k++)
			at[all.n++] = files[k].key;
	}
	return all;
}

static const char *
path_of(struct world *w, const struct job *j, const char *name)
{
	struct strings all = stored(w, j);

	while (all.n-- > 0)
		if (strcmp(strrchr(all.at[all.n], '/') + 1, name) == 0)
			return world_file(w->mem, all.at[all.n]);
	fail_msg("%s is missing", name);
	return NULL;
}

/* A whole file of the generation as text, of the last run that made it; fails when it is not there. */
static const char *
content(struct world *w, const struct job *j, const char *name)
{
	FILE *f = fopen(path_of(w, j, name), "r");
	char *text = arena_alloc(w->mem, 1 << 20);

	assert_non_null(f);
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
		/* Sound alone for slow lines has no size. */
		if (memmem(p, (size_t)(strchr(p, '\n') - p), "RESOLUTION", 10) != NULL)
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

/* How many of them are within reach: in a bucket who signs asks the row. */
static int
files(struct world *w, const struct job *j)
{
	bool served = world_in_bucket() ? number(w, "FROM media WHERE id = ? AND deleted_at = 0",
	    ARGS(ID(j->media_id))) == 1 : store_served(w->mem, j->media_id);

	return served ? (int)stored(w, j).n : 0;
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
	assert_int_equal(count(content(w, &j, "master.m3u8"), "#EXT-X-STREAM-INF"), 3);
	assert_non_null(strstr(content(w, &j, "master.m3u8"), "CODECS=\"mp4a.40.2\"\naudio-low.m3u8\n"));
	assert_non_null(strstr(content(w, &j, "master.m3u8"), "CHANNELS=\"2\""));
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ? AND t.kind = 'low' AND t.channels = 1 AND "
	    "t.peak_bitrate BETWEEN 1 AND 64000", ARGS(ID(j.media_id))), 1);
	assert_non_null(strstr(content(w, &j, "master.m3u8"),
	    "RESOLUTION=640x400,FRAME-RATE=25.000,AUDIO=\"audio\"\n400p.m3u8\n"));
	/* What the step before has made is in a folder beside. */
	assert_int_equal(count(content(w, &j, "master.m3u8"), arena_printf(w->mem, "../%s/", job_run_name(w->mem, j.id,
	    1))), 2);
	assert_int_equal(rows(w, &j, "hls"), 2);
	assert_int_equal(rows(w, &j, "mp4"), 1);
	assert_int_equal(rows(w, &j, "playlist"), 1);
	assert_int_equal(count(content(w, &j, "400p.m3u8"), "#EXTINF"), 3);
	assert_int_equal(count(content(w, &j, "360p.m3u8"), "#EXTINF"), 3);
	/* Four renditions' files, the download, and a master of each run, and nothing else. */
	assert_int_equal(files(w, &j), 11);
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

	MUST(&j, first_rendition);
	MUST(&j, renditions);
	MUST(&j, thumbnail);
	MUST(&j, storyboard);
	MUST(&j, waveform);
	before = number(w, "FROM renditions t WHERE t.media_id = ?", ARGS(ID(j.media_id)));
	master = content(w, &j, "master.m3u8");
	MUST(&j, renditions);
	MUST(&j, thumbnail);
	MUST(&j, storyboard);
	MUST(&j, waveform);
	assert_int_equal(number(w, "FROM renditions t WHERE t.media_id = ?", ARGS(ID(j.media_id))), before);
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
	assert_int_equal(files(w, &j), 15);
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
a_file_of_less_than_a_second_that_is_left_is_given_up_with_its_reason_and_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, "video", VIDEO " -movflags faststart");
	const char *original = store_key_original(w->mem, j.media_id);
	size_t size;
	char *bytes = store_get(w->mem, original, INT64_C(1) << 30, &size);

	assert_non_null(bytes);
	assert_true(store_delete(w->mem, original) && store_write(w->mem, bytes, size / 20, original));
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
	const char *dir = arena_printf(w->mem, "%s/play/%s", w->conf->data_dir, uuid_text(w->mem, j.media_id));

	if (world_in_bucket())
		skip();
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

/* What is stored, as "key inode changed" lines: a file that was written again has another inode. */
static const char *
snapshot(struct world *w, const struct job *j, const char *generation, int64_t fence)
{
	const char *prefix = store_key_play(w->mem, j->media_id, arena_printf(w->mem, "%s/%s/", generation,
	    job_run_name(w->mem, j->id, fence)));
	struct buf out = BUF(w->mem);
	const struct store_entry *files;
	struct stat st;
	size_t n, i;

	files = store_list(w->mem, prefix, NULL, 100, &n);
	for (i = 0; i < n; i++) {
		assert_int_equal(stat(world_file(w->mem, files[i].key), &st), 0);
		buf_printf(&out, "%s %lu %ld.%ld\n", files[i].key, (unsigned long)st.st_ino, (long)st.st_mtim.tv_sec,
		    st.st_mtim.tv_nsec);
	}
	return buf_string(&out);
}

/* Another runner has taken the job away from one that knows nothing of it, has done it, and then the first one stores
 * what it has made; its transaction fails. */
static void
assert_loser_overwrites_nothing(struct world *w, struct job *j, enum outcome (*run)(struct job *))
{
	const struct asset_args *in = j->in;
	int64_t lost = ++j->fence, won = lost + 1;
	const char *before;

	assert_int_equal(run_step(j, run), DONE);
	assert_int_equal(j->fence, won);
	before = snapshot(w, j, in->generation, won);
	assert_true(before[0] != '\0');
	j->fence = lost;
	db_begin(j->db);
	assert_int_equal(run(j), DONE);
	db_rollback(j->db);
	assert_string_equal(snapshot(w, j, in->generation, won), before);
	assert_true(snapshot(w, j, in->generation, lost)[0] != '\0');		/* it did store */
	j->fence = won;
}

static void
a_run_that_has_lost_its_lease_overwrites_nothing(void **state)
{
	struct world *w = *state;
	static const char page[] = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids"
	    "[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]>>endobj\ntrailer<</Root 1 0 R>>\n"
	    "%%EOF\n";
	struct job video = job_for(w, "video", VIDEO), picture = job_for(w, "image", "-f lavfi -i testsrc2=s=700x400 "
	    "-frames:v 1 -c:v png -f image2pipe"), document = job_for(w, "document", "-f lavfi -i "
	    "testsrc2=s=64x64 -frames:v 1 -c:v png -f image2pipe");

	assert_true(store_write(w->mem, page, strlen(page), store_key_original(w->mem, document.media_id)));
	assert_loser_overwrites_nothing(w, &video, first_rendition_run);
	assert_loser_overwrites_nothing(w, &video, renditions_run);
	assert_loser_overwrites_nothing(w, &video, thumbnail_run);
	assert_loser_overwrites_nothing(w, &video, storyboard_run);
	assert_loser_overwrites_nothing(w, &video, waveform_run);
	assert_loser_overwrites_nothing(w, &picture, variants_run);
	assert_loser_overwrites_nothing(w, &document, pages_run);
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
		WORLD_TEST(a_run_that_has_lost_its_lease_overwrites_nothing),
		WORLD_TEST(a_step_whose_input_is_missing_is_tried_again_and_writes_nothing),
		WORLD_TEST(a_file_of_less_than_a_second_that_is_left_is_given_up_with_its_reason_and_leaves_nothing),
		WORLD_TEST(only_want_of_room_is_told_as_such),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
