/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captions of livestreams: what is heard of a recording that grows, and where it stands beside what is played. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/livestream.h"
#include "core/store.h"
#include "jobs/live_rendition.h"
#include "jobs/live_sound.h"
#include "tests/jobs/sounds.h"

#define NODE "ingest-1:42"
#define SOUND "-c:a aac -output_ts_offset 0.1 -f mp4 -flush_packets 1 -movflags +frag_every_frame+empty_moov+default_base_moof+cmaf+frag_discont "
/* After a second of silence, and before several. */
#define SAID VOICE(SECOND, "slt") ",adelay=1000,apad=pad_dur=30,aresample=48000"

struct broadcast {
	struct world *w;
	struct uuid id, media_id;
	const char *play, *kept;
	struct conf conf;
	pid_t job;
};

static void
shell(const struct broadcast *b, const char *command)
{
	setenv("play", b->play, 1);
	setenv("kept", b->kept, 1);
	if (system(command) != 0)
		fail_msg("%s", command);
}

/* One that something comes of, with captions. */
static struct broadcast
live(struct world *w, const struct conf *conf)
{
	struct broadcast b = { .w = w, .conf = *conf };
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\",\"withDvr\":true}");

	assert_int_equal(r->status, 201);
	assert_true(uuid_parse(text(w, r, "data.id"), &b.id));
	assert_true(uuid_parse(text(w, r, "data.mediaId"), &b.media_id));
	b.conf.live_captions = true;
	db_run(w->db, "UPDATE livestreams SET captions_language_code = 'en' WHERE id = ?", ARGS(ID(b.id)));
	assert_true(livestream_start(w->db, b.id));
	assert_int_equal(livestream_claim(w->db, b.id, NODE), 1);
	assert_true(livestream_signal(w->db, b.id, NODE, true));
	b.play = store_growing(w->mem, store_key_play(w->mem, b.media_id, livestream_play_file(w->mem, w->conf, b.id,
	    NULL)));
	b.kept = store_growing(w->mem, store_key_live(w->mem, b.media_id, NULL));
	assert_non_null(b.play);
	assert_non_null(b.kept);
	return b;
}

/* A session as its node would leave it, at the speed of time. */
static void
send(const struct broadcast *b, const char *sound, int session, int seconds)
{
	shell(b, arena_printf(b->w->mem, "cd \"$play\" && ffmpeg -v error -nostdin -y -re -f lavfi -i \"%s\" -re -f "
	    "lavfi -i testsrc2=s=160x90:r=10 -t %d -map 0:a " SOUND "\"$kept/%d.audio.mp4\" -t %d -map 1:v -c:v libx264 "
	    "-preset ultrafast -pix_fmt yuv420p -g 20 -sc_threshold 0 -f hls -hls_time 2 -hls_segment_type fmp4 -hls_list_size 0 "
	    "-hls_playlist_type event -hls_fmp4_init_filename %d.video.mp4 -start_number 1 -hls_segment_filename "
	    "'%%d.video.m4s' video.m3u8", sound, seconds, session, seconds, session));
}

/* The job in a process of its own. */
static void
begin(struct broadcast *b)
{
	struct livestream_args in = { .livestream_id = b->id };
	struct job j = { .mem = b->w->mem, .conf = &b->conf, .in = &in, .id = uuid_new(), .tenant_id = b->w->tenant_id,
	    .media_id = b->media_id, .attempt = 1, .max_attempts = 3, .work_dir = sounds_dir() };
	enum outcome outcome;

	b->job = fork();
	assert_true(b->job >= 0);
	if (b->job != 0)
		return;
	db_abandon(b->w->db);
	j.db = db_open(&b->conf, DB_JOBS);
	db_use(j.db, j.mem);
	db_begin(j.db);
	outcome = live_captions_run(&j);
	if (outcome == DONE)
		db_commit(j.db);
	else
		fprintf(stderr, "%s\n", j.detail);
	_exit((int)outcome);
}

static enum outcome
end(struct broadcast *b)
{
	int status;

	assert_int_equal(waitpid(b->job, &status, 0), b->job);
	assert_true(WIFEXITED(status));
	return (enum outcome)WEXITSTATUS(status);
}

static const char *
how(const struct broadcast *b)
{
	return db_text(b->w->db, "SELECT captions FROM livestreams WHERE id = ?", ARGS(ID(b->id)));
}

static void
wait_until(const struct broadcast *b, const char *wanted)
{
	int tries;

	for (tries = 0; tries < 600 && (how(b) == NULL || strcmp(how(b), wanted) != 0); tries++)
		usleep(100000);
	assert_string_equal(how(b), wanted);
}

/* "": it is not there. */
static const char *
file(const struct broadcast *b, const char *name)
{
	static char room[1 << 16];
	FILE *f = fopen(arena_printf(b->w->mem, "%s/%s", b->play, name), "re");
	size_t n = f != NULL ? fread(room, 1, sizeof(room) - 1, f) : 0;

	if (f != NULL)
		fclose(f);
	room[n] = '\0';
	return arena_copy(b->w->mem, room);
}

/* The number of the segment whose captions have this word; 0: none. */
static int
segment_with(const struct broadcast *b, const char *word)
{
	int i;

	for (i = 1; i < 40; i++)
		if (strstr(file(b, arena_printf(b->w->mem, "%d.captions.vtt", i)), word) != NULL)
			return i;
	return 0;
}

/* ms of a time of WebVTT. */
static int64_t
ms_of(const char *text)
{
	int h, m, s, ms;

	assert_int_equal(sscanf(text, "%d:%d:%d.%d", &h, &m, &s, &ms), 4);
	return ((h * 60 + m) * 60 + s) * INT64_C(1000) + ms;
}

/* Without the names of files, and what goes before pictures alone. */
static const char *
shape(const struct broadcast *b, const char *list)
{
	const char *at = file(b, list);
	struct buf out = BUF(b->w->mem);
	size_t n;

	for (; *at != '\0'; at += n + 1) {
		n = strcspn(at, "\n");
		if (strncmp(at, "#EXTINF", 7) == 0)
			buf_printf(&out, "%.*s\n", (int)(strchr(at, '.') + 4 - at), at);
		else if (strncmp(at, "#EXT-X-DIS", 10) == 0 || strncmp(at, "#EXT-X-END", 10) == 0 ||
		    strncmp(at, "#EXT-X-MEDIA-SEQ", 16) == 0)
			buf_printf(&out, "%.*s\n", (int)n, at);
		else if (at[0] != '#')
			buf_printf(&out, "%d\n", atoi(at));
	}
	return buf_string(&out);
}

static void
what_is_said_stands_in_the_segment_that_follows_with_its_time(void **state)
{
	struct world *w = *state;
	struct broadcast b = live(w, w->conf);
	const char *vtt, *cue, *map;
	int64_t start;
	int in;

	begin(&b);
	send(&b, SAID, 1, 24);
	assert_true(livestream_stop(w->db, b.id, NULL));
	assert_int_equal(end(&b), DONE);
	assert_string_equal(how(&b), "running");
	assert_string_equal(shape(&b, "captions.m3u8"), shape(&b, "video.m3u8"));
	assert_non_null(strstr(file(&b, "captions.m3u8"), "\n1.captions.vtt\n"));
	assert_null(strstr(file(&b, "captions.m3u8"), "EXT-X-MAP"));
	assert_string_equal(file(&b, ".captions"), "NAME=\"English\",LANGUAGE=\"en\"");
	in = segment_with(&b, "attention");
	/* It is said before the fourth second, and over with the sixth.  However busy the machine, it stands there
	 * while the broadcast goes on: what is left then comes with the last segment. */
	assert_in_range(in, 3, 11);
	vtt = file(&b, arena_printf(w->mem, "%d.captions.vtt", in));
	map = arena_printf(w->mem, "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:%d,LOCAL:00:00:%02d.000\n\n", (in - 1) * 2 * 90000,
	    (in - 1) * 2);
	assert_memory_equal(vtt, map, strlen(map));
	cue = strstr(vtt, " --> ");
	assert_non_null(cue);
	start = ms_of(cue - 12);
	assert_in_range(start, 700, 1800);
	/* Whoever gets it now can read it yet. */
	assert_true(ms_of(cue + 5) >= in * 2000 + 2000);
}

static void
without_its_server_the_list_goes_on_and_says_why(void **state)
{
	struct world *w = *state;
	struct broadcast b = live(w, with_peer(w, "/broken/v1"));

	begin(&b);
	send(&b, SAID, 1, 9);
	wait_until(&b, "unavailable");
	assert_true(livestream_stop(w->db, b.id, NULL));
	assert_int_equal(end(&b), DONE);
	assert_string_equal(shape(&b, "captions.m3u8"), shape(&b, "video.m3u8"));
	assert_int_equal(segment_with(&b, " --> "), 0);
	/* Asked once, since nobody waits for an answer that comes late. */
	assert_int_equal(occurrences(peer_log(w, "DELETE"), "audio.wav") <= 2, 1);
	db_run(w->db, "DELETE FROM engine_rests", NO_ARGS);
}

static void
a_server_that_refuses_ends_it(void **state)
{
	struct world *w = *state;
	struct broadcast b = live(w, with_peer(w, "/denied/v1"));

	begin(&b);
	send(&b, VOICE("One.", "slt") ",apad=pad_dur=1.5,aloop=loop=-1:size=40000,aresample=48000", 1, 14);
	assert_int_equal(end(&b), GIVE_UP);
	assert_string_equal(how(&b), "failed");
}

static void
where_the_settings_have_none_there_are_none(void **state)
{
	struct world *w = *state;
	struct broadcast b = live(w, w->conf);

	b.conf.live_captions = false;
	begin(&b);
	assert_int_equal(end(&b), DONE);
	assert_string_equal(how(&b), "off");
	b.conf.live_captions = true;
	db_run(w->db, "UPDATE livestreams SET captions = NULL, captions_language_code = 'de' WHERE id = ?",
	    ARGS(ID(b.id)));
	begin(&b);
	assert_int_equal(end(&b), DONE);
	assert_string_equal(how(&b), "off");
	assert_string_equal(file(&b, "captions.m3u8"), "");
}

/* A recording that is there, as sound. */
static struct live_sound
opened(struct broadcast *b, const char *sound, int seconds, bool edge)
{
	struct live_sound s;

	shell(b, arena_printf(b->w->mem, "ffmpeg -v error -nostdin -y -f lavfi -i \"%s\" -t %d " SOUND
	    "\"$kept/1.audio.mp4\"", sound, seconds));
	live_sound_begin(&s, arena_printf(b->w->mem, "%s/sound.mp4", sounds_dir()));
	assert_true(live_sound_open(&s, arena_printf(b->w->mem, "%s/1.audio.mp4", b->kept), edge));
	return s;
}

static void
what_is_more_than_half_a_minute_behind_is_left_out(void **state)
{
	struct world *w = *state;
	struct broadcast b = live(w, w->conf);
	struct live_sound s = opened(&b, "sine=440:r=48000", 60, false);
	struct fault fault;

	assert_in_range(s.came, 59000, 60500);
	assert_true(live_sound_take(w->mem, &s, 0, &fault));
	assert_in_range(s.left_out, 57000, 60500);
	assert_in_range(s.heard, 57000, 60500);
	assert_in_range(s.until, 59000, 60500);
	live_sound_end(&s);
	s = opened(&b, "sine=440:r=48000", 25, false);
	assert_true(live_sound_take(w->mem, &s, 0, &fault));
	assert_int_equal(s.left_out, 0);
	assert_in_range(s.n, 24900 * 16, 25100 * 16);
	live_sound_end(&s);
	s = opened(&b, "sine=440:r=48000", 25, true);
	assert_in_range(s.heard, 22500, 23500);
	live_sound_end(&s);
}

/* Silence is no reason to be behind. */
static void
of_silence_nothing_is_left_out(void **state)
{
	struct world *w = *state;
	struct broadcast b = live(w, w->conf);
	struct live_sound s = opened(&b, "anullsrc=r=48000", 25, false);
	struct fault fault;
	struct span span;

	assert_true(live_sound_take(w->mem, &s, 0, &fault));
	assert_false(live_sound_next(w->mem, &s, false, &span));
	assert_in_range(s.heard, 23000, 25000);
	live_sound_end(&s);
}

/* Pieces are put together as if they were decoded at once. */
static void
stretches_are_short_and_nothing_between_them_is_lost(void **state)
{
	struct world *w = *state;
	struct broadcast b = live(w, w->conf);
	struct live_sound s = opened(&b, VOICE(LECTURE, "rms") ",aresample=48000", 20, false);
	struct fault fault;
	struct span span;
	int64_t at = 0;
	int n = 0;

	assert_true(live_sound_take(w->mem, &s, 0, &fault));
	while (live_sound_next(w->mem, &s, true, &span)) {
		assert_true(span.start >= at);
		assert_true(span.end > span.start);
		assert_true(span.end - span.start <= LIVE_SOUND_STRETCH_MS);
		/* Only pauses are left out. */
		assert_true(span.start - at < 1200);
		at = span.end;
		n++;
	}
	assert_true(at > 17000);
	assert_in_range(n, 3, 12);
	live_sound_end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(what_is_said_stands_in_the_segment_that_follows_with_its_time),
		WORLD_TEST(without_its_server_the_list_goes_on_and_says_why),
		WORLD_TEST(a_server_that_refuses_ends_it),
		WORLD_TEST(where_the_settings_have_none_there_are_none),
		WORLD_TEST(what_is_more_than_half_a_minute_behind_is_left_out),
		WORLD_TEST(of_silence_nothing_is_left_out),
		WORLD_TEST(stretches_are_short_and_nothing_between_them_is_lost),
	};

	return cmocka_run_group_tests(tests, sounds_open, sounds_close);
}
