/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the messages of an encoder to what is played and recorded: made by ffmpeg, and read back by it. */
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/conf.h"
#include "core/store.h"
#include "fcgi/live/feed.h"
#include "fcgi/live/flush.h"
#include "fcgi/live/flv.h"
#include "fcgi/live/list.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/ts.h"
#include "media/bytes.h"
#include "tests/media/place.h"

#define ENCODED " -c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 50 -c:a aac -b:a 64k "
#define MOVING(size, seconds) "-f lavfi -i testsrc2=s=" size ":r=25:d=" seconds " "
#define TONE(seconds) "-f lavfi -i sine=440:r=48000:d=" seconds " "

/* Instead of that of the C library: what has been put to the disk so far, in the thread for that. */
static atomic_int synced;
int
fdatasync(int fd)
{
	assert_true(fd >= 0);
	atomic_fetch_add(&synced, 1);
	return 0;
}

struct studio {
	struct place *place;
	char play[80], kept[80];
	struct packager *packager;
	struct feed *feed;
	int64_t session;
	enum feed_says says;
	bool claims;		/* sessions are given when they are wanted */
	bool unannounced;	/* no metadata */
	bool renamed;		/* sound comes by four letters */
};

static int
setup(void **state)
{
	struct studio *s = calloc(1, sizeof(*s));
	struct conf conf = { 0 };
	void *place;

	place_open(&place);
	s->place = place;
	conf.data_dir = s->place->dir;
	assert_true(store_open(&conf));
	snprintf(s->play, sizeof(s->play), "%s/out", s->place->dir);
	snprintf(s->kept, sizeof(s->kept), "%s/kept", s->place->dir);
	assert_int_equal(mkdir(s->play, 0755), 0);
	assert_int_equal(mkdir(s->kept, 0755), 0);
	s->packager = packager_open(s->play, s->kept, true);
	s->feed = feed_new();
	s->session = 1;
	s->claims = true;
	feed_begin(s->feed, 1);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct studio *s = *state;
	void *place = s->place;

	feed_free(s->feed);
	packager_free(s->packager);
	flush_end();
	free(s);
	return place_close(&place);
}

static uint8_t *
bytes_of(struct studio *s, const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *bytes;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*n = (size_t)st.st_size;
	bytes = arena_alloc(s->place->mem, *n + 1);
	assert_int_equal(fread(bytes, 1, *n, f), *n);
	fclose(f);
	return bytes;
}

static enum feed_says
send(struct studio *s, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	s->says = feed_take(s->feed, s->packager, kind, ms, bytes, n);
	if (s->says == FEED_BEGINS && s->claims)
		feed_begin(s->feed, ++s->session);
	return s->says;
}

/* A tag of AAC as Enhanced RTMP has it. */
static void
send_renamed(struct studio *s, uint32_t ms, const uint8_t *tag, size_t n)
{
	uint8_t *other = arena_alloc(s->place->mem, n + 3);

	assert_true(n > 2);
	memcpy(other, (uint8_t[]){ (uint8_t)(0x90 | tag[1]), 'm', 'p', '4', 'a' }, 5);
	memcpy(other + 5, tag + 2, n - 2);
	send(s, RTMP_AUDIO, ms, other, n + 3);
}

/* All tags of a file of FLV, `later` ms later than they say, but no pictures from `blind` on. */
static void
send_until(struct studio *s, const char *path, uint32_t later, uint32_t blind)
{
	size_t n, at = 13, size;
	const uint8_t *p = bytes_of(s, path, &n);
	uint32_t ms;

	for (; at + 11 <= n; at += 11 + size + 4) {
		size = bytes_big(p + at + 1, 3);
		ms = (uint32_t)bytes_big(p + at + 4, 3) | (uint32_t)p[at + 7] << 24;
		assert_true(at + 11 + size <= n);
		if ((p[at] == RTMP_VIDEO && ms >= blind) || (p[at] == RTMP_DATA && s->unannounced))
			continue;
		if (p[at] == RTMP_AUDIO && s->renamed)
			send_renamed(s, ms + later, p + at + 11, size);
		else
			send(s, p[at], ms + later, p + at + 11, size);
		assert_true(s->says == FEED_FINE || s->says == FEED_BEGINS);
	}
}

static void
send_flv(struct studio *s, const char *path, uint32_t later)
{
	send_until(s, path, later, UINT32_MAX);
}

/* All tags of a file, those of the sound so much before what else has their time, behind the first ones. */
static void
send_ahead(struct studio *s, const char *path, uint32_t ahead)
{
	size_t n, at = 13, sound = 13;
	const uint8_t *p = bytes_of(s, path, &n);
	uint32_t ms, ms_sound;

	for (; at + 11 <= n; at += 11 + bytes_big(p + at + 1, 3) + 4) {
		ms = (uint32_t)bytes_big(p + at + 4, 3);
		for (; sound + 11 <= n; sound += 11 + bytes_big(p + sound + 1, 3) + 4) {
			ms_sound = (uint32_t)bytes_big(p + sound + 4, 3);
			if (ms_sound > (ms > 0 ? ms + ahead : 0) || (ms == 0 && sound >= at))
				break;
			if (p[sound] == RTMP_AUDIO)
				send(s, RTMP_AUDIO, ms_sound, p + sound + 11, bytes_big(p + sound + 1, 3));
		}
		if (p[at] != RTMP_AUDIO)
			send(s, p[at], ms, p + at + 11, bytes_big(p + at + 1, 3));
		assert_true(s->says == FEED_FINE);
	}
}

/* What a command says on standard output and error, without the last end of line; its directory is that of the test. */
static const char *
told(struct studio *s, const char *command)
{
	FILE *f = popen(arena_printf(s->place->mem, "cd %s && { %s; } 2>&1", s->place->dir, command), "r");
	char *text = arena_alloc(s->place->mem, 65536);
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, 65535, f);
	pclose(f);
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	return text;
}

#define DECODE(map) "ffmpeg -v error -nostdin -i out/master.m3u8 -map 0:" map " -f framehash - | grep -vc '^#'"

/* What is in the packets of a track, and when its first one is shown. */
#define HASH "ffmpeg -v error -nostdin -i %s -map 0:%s -c copy -f framehash - | grep -v '^#' | " \
	"tail -n +%d | sed 's/.*, //' | sha256sum"
#define FIRST "ffprobe -v error -select_streams %s -show_entries packet=pts_time -of csv=p=0 %s | head -n 1"

#define PACKETS(file) "ffprobe -v error -count_packets -show_entries stream=nb_read_packets -of csv=p=0 " file

static const char *
text_of(struct studio *s, const char *name)
{
	size_t n;

	return (const char *)bytes_of(s, arena_printf(s->place->mem, "%s/%s", s->place->dir, name), &n);
}

static int
count(const char *text, const char *what)
{
	int n = 0;

	while ((text = strstr(text, what)) != NULL) {
		n++;
		text += strlen(what);
	}
	return n;
}

static void
what_comes_is_played_to_the_last_frame(void **state)
{
	struct studio *s = *state;
	const char *list;

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("128x96", "7") TONE("7") ENCODED "$O"), 0);
	assert_true(packager_finish(s->packager));
	assert_string_equal(told(s, DECODE("v")), "175");
	list = text_of(s, "out/video.m3u8");
	assert_int_equal(count(list, "#EXTINF:2.000,"), 3);
	assert_int_equal(count(list, "#EXTINF"), 4);
	assert_non_null(strstr(list, "#EXT-X-TARGETDURATION:2\n"));
	assert_non_null(strstr(list, "#EXT-X-PLAYLIST-TYPE:EVENT\n"));
	assert_non_null(strstr(list, "#EXT-X-ENDLIST\n"));
	assert_non_null(strstr(text_of(s, "out/master.m3u8"), "RESOLUTION=128x96"));
	assert_non_null(strstr(text_of(s, "out/master.m3u8"), "CODECS=\"avc1."));
}

/* Whoever makes them begins when there is something already. */
static void
captions_are_named_as_soon_as_somebody_makes_them(void **state)
{
	struct studio *s = *state;
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("128x96", "5") TONE("5") ENCODED "$O"), *master;

	send_flv(s, flv, 0);
	assert_null(strstr(text_of(s, "out/master.m3u8"), "SUBTITLES"));
	make(s->place, "out/.captions", "printf 'NAME=\"Deutsch\",LANGUAGE=\"de\"' >$O");
	assert_true(packager_finish(s->packager));
	master = text_of(s, "out/master.m3u8");
	assert_non_null(strstr(master, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"captions\",NAME=\"Deutsch\","
	    "LANGUAGE=\"de\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI=\"captions.m3u8\"\n"));
	assert_non_null(strstr(master, ",AUDIO=\"audio\",SUBTITLES=\"captions\"\nvideo.m3u8\n"));
}

static void
the_recording_holds_every_frame_as_it_came(void **state)
{
	struct studio *s = *state;
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("128x96", "5") TONE("5") ENCODED "$O");

	send_flv(s, flv, 0);
	/* Nothing is closed: it is there as soon as it came. */
	assert_string_equal(told(s, arena_printf(s->place->mem, HASH, "kept/1.video.mp4", "v", 1)),
	    told(s, arena_printf(s->place->mem, HASH, flv, "v", 1)));
	/* A frame of sound from before the first picture is left out. */
	assert_true(packager_pause(s->packager));
	assert_string_equal(told(s, arena_printf(s->place->mem, HASH, "kept/1.audio.mp4", "a", 1)),
	    told(s, arena_printf(s->place->mem, HASH, flv, "a", 2)));
}

/* The sound begins 400 ms behind the picture, and stays there. */
static void
sound_keeps_its_distance_to_the_picture(void **state)
{
	struct studio *s = *state;
	double flv, kept;

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("128x96", "4") "-itsoffset 0.4 " TONE("4") ENCODED
	    "-bf 2 $O"), 0);
	assert_true(packager_finish(s->packager));
	flv = atof(told(s, arena_printf(s->place->mem, FIRST, "a", "a.flv"))) -
	    atof(told(s, arena_printf(s->place->mem, FIRST, "v", "a.flv")));
	kept = atof(told(s, arena_printf(s->place->mem, FIRST, "a", "kept/1.audio.mp4"))) -
	    atof(told(s, arena_printf(s->place->mem, FIRST, "v", "kept/1.video.mp4")));
	assert_true(flv > 0.3);
	if (kept - flv > 0.025 || flv - kept > 0.025)
		fail_msg("%f instead of %f", kept, flv);
}

static void
another_size_is_another_session_behind_a_break(void **state)
{
	struct studio *s = *state;
	const char *list;

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("128x96", "3") TONE("3") ENCODED "$O"), 0);
	send_flv(s, make(s->place, "b.flv", "$FF " MOVING("160x120", "3") TONE("3") ENCODED "$O"), 3000);
	assert_true(packager_finish(s->packager));
	list = text_of(s, "out/video.m3u8");
	assert_int_equal(count(list, "#EXT-X-DISCONTINUITY\n"), 1);
	assert_non_null(strstr(list, "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"2.video.mp4\"\n"));
	assert_int_equal(count(text_of(s, "out/audio.m3u8"), "#EXT-X-DISCONTINUITY\n"), 1);
	assert_string_equal(told(s, "ffprobe -v error -show_entries stream=width -of csv=p=0 kept/2.video.mp4"), "160");
}

static void
a_restart_goes_on_in_the_same_playlist(void **state)
{
	struct studio *s = *state;
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("128x96", "5") TONE("5") ENCODED "$O"), *list, *part;

	send_flv(s, flv, 0);
	part = told(s, "md5sum out/3.1.0.video.m4s");
	/* As if killed: nothing is said to it. */
	packager_free(s->packager);
	feed_free(s->feed);
	s->packager = packager_open(s->play, s->kept, true);
	s->feed = feed_new();
	feed_begin(s->feed, 2);
	send_flv(s, flv, 0);
	assert_true(packager_finish(s->packager));
	list = text_of(s, "out/video.m3u8");
	assert_int_equal(count(list, "#EXTINF"), 5);
	assert_non_null(strstr(list, "2.video.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"2.video.mp4\"\n"));
	assert_int_equal(count(list, "#EXT-X-ENDLIST"), 1);
	/* The segment that grew is another one now, and so are its parts. */
	assert_string_equal(told(s, "md5sum out/3.1.0.video.m4s"), part);
	assert_string_equal(told(s, "ls out | grep -c '^3[.]2[.]0[.]video'"), "1");
}

static void
without_dvr_there_is_a_window(void **state)
{
	struct studio *s = *state;
	const char *list;

	packager_free(s->packager);
	s->packager = packager_open(s->play, s->kept, false);
	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "41") TONE("41") ENCODED "$O"), 0);
	list = text_of(s, "out/video.m3u8");
	assert_int_equal(count(list, "#EXTINF"), LIST_WINDOW);
	assert_non_null(strstr(list, "#EXT-X-MEDIA-SEQUENCE:11\n"));
	assert_null(strstr(list, "EVENT"));
	/* Those that have just left the list are still there for who has read it before. */
	assert_int_equal(atoi(told(s, "ls out | grep -cE '^[0-9]+[.]video[.]m4s$'")), LIST_WINDOW + 3);
	assert_in_range(atoi(told(s, "ls out | grep -cE '^[0-9]+[.]1[.][0-9]+[.]video[.]m4s$'")), LIST_SHOWN * 4,
	    LIST_KEPT * 4);
}

static void
each_segment_goes_to_the_disk(void **state)
{
	struct studio *s = *state;
	int before;

	flush_end();
	before = atomic_load(&synced);
	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "9") TONE("9") ENCODED "$O"), 0);
	flush_end();
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXTINF"), 4);
	/* Of both tracks. */
	assert_int_equal(atomic_load(&synced) - before, 2 * 4);
}

/* Who comes later has to number the breaks as those do who have seen them. */
static void
breaks_that_are_listed_no_more_are_counted(void **state)
{
	struct studio *s = *state;
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("64x64", "7") TONE("7") ENCODED "$O");
	int i;

	packager_free(s->packager);
	s->packager = packager_open(s->play, s->kept, false);
	for (i = 0; i < 4; i++) {
		send_flv(s, flv, 0);
		assert_true(packager_pause(s->packager));
		feed_free(s->feed);
		s->feed = feed_new();
		feed_begin(s->feed, ++s->session);
		if (i == 1)
			assert_null(strstr(text_of(s, "out/video.m3u8"), "#EXT-X-DISCONTINUITY-SEQUENCE:1"));
	}
	/* 16 segments of which the last ten are listed: the break before the ninth is there, the one before the fifth
	 * is not. */
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXTINF"), LIST_WINDOW);
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXT-X-DISCONTINUITY\n"), 2);
	assert_non_null(strstr(text_of(s, "out/video.m3u8"), "#EXT-X-DISCONTINUITY-SEQUENCE:1\n"));
	assert_non_null(strstr(text_of(s, "out/audio.m3u8"), "#EXT-X-DISCONTINUITY-SEQUENCE:1\n"));
}

static void
what_was_not_made_in_time_is_a_gap(void **state)
{
	struct studio *s = *state;
	struct live_list l = { .word = "360p", .target = 2, .keeps_all = true }, again = { .word = "360p",
		.keeps_all = true };
	struct buf text = BUF(s->place->mem), same = BUF(s->place->mem);
	struct entry e = { 1, 1, 2000, { 1600000000000 }, false, true }, gone;

	list_add(&l, &e, &gone);
	e.number++;
	e.gap = false;
	list_add(&l, &e, &gone);
	e.number++;
	e.gap = true;
	list_add(&l, &e, &gone);
	list_write(&l, &text);
	assert_non_null(strstr(buf_string(&text), "#EXT-X-GAP\n#EXTINF:2.000,\n1.360p.m4s\n"
	    "#EXT-X-MAP:URI=\"1.360p.mp4\"\n#EXTINF:2.000,\n2.360p.m4s\n#EXT-X-GAP\n#EXTINF:2.000,\n3.360p.m4s\n"));
	list_read(&again, buf_string(&text));
	list_write(&again, &same);
	assert_string_equal(buf_string(&same), buf_string(&text));
	list_free(&l);
	list_free(&again);
}

static void
the_edge_is_told_in_parts_that_are_the_segment(void **state)
{
	struct studio *s = *state;
	const struct live_list *l = packager_list(s->packager, false), *sound = packager_list(s->packager, true);
	struct buf text = BUF(s->place->mem), rest = BUF(s->place->mem);

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "21") TONE("21") ENCODED "$O"), 0);
	assert_int_equal(list_next(l), 11);
	list_write_low(l, sound, false, &text);
	assert_int_equal(count(buf_string(&text), "#EXT-X-PART:"), LIST_SHOWN * 4 + 1);
	assert_non_null(strstr(buf_string(&text), "\n#EXT-X-PART:DURATION=0.480,URI=\"10.1.0.video.m4s\","
	    "INDEPENDENT=YES\n#EXT-X-PART:DURATION=0.520,URI=\"10.1.1.video.m4s\"\n"));
	assert_non_null(strstr(buf_string(&text), "\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"11.1.1.video.m4s\"\n"));
	assert_non_null(strstr(buf_string(&text), "\n#EXT-X-RENDITION-REPORT:URI=\"low-audio.m3u8\",LAST-MSN=11,"));
	assert_string_equal(told(s, "cat out/10.1.?.video.m4s | cmp - out/10.video.m4s"), "");
	assert_string_equal(told(s, "cat out/10.1.?.audio.m4s | cmp - out/10.audio.m4s"), "");
	list_write_low(l, sound, true, &rest);
	assert_non_null(strstr(buf_string(&rest), "#EXT-X-SKIP:SKIPPED-SEGMENTS=4\n#EXT-X-MAP:"));
	assert_int_equal(count(buf_string(&rest), "#EXTINF"), 6);
	assert_true(packager_finish(s->packager));
	text.len = 0;
	list_write_low(l, sound, false, &text);
	assert_int_equal(count(buf_string(&text), "#EXT-X-PART"), 0);
	assert_non_null(strstr(buf_string(&text), "#EXT-X-ENDLIST\n"));
}

static void
who_asks_for_what_is_to_come_waits_for_it(void **state)
{
	struct studio *s = *state;
	const struct live_list *l = packager_list(s->packager, false);

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "3") TONE("3") ENCODED "$O"), 0);
	assert_int_equal(list_next(l), 2);
	assert_int_equal(list_parts(l, 1), 4);
	assert_int_equal(list_parts(l, 2), 1);
	assert_int_equal(list_turn(l, 1, -1), LIST_NOW);
	assert_int_equal(list_turn(l, 2, 0), LIST_NOW);
	assert_int_equal(list_turn(l, 2, 1), LIST_LATER);
	assert_int_equal(list_turn(l, 2, -1), LIST_LATER);
	assert_int_equal(list_turn(l, 3, 0), LIST_LATER);
	assert_int_equal(list_turn(l, 4, -1), LIST_NEVER);
	assert_int_equal(list_turn(l, 2, LIST_PARTS), LIST_NEVER);
	/* Behind the last part comes the first one of the next segment. */
	assert_int_equal(list_turn(l, 1, 4), LIST_NOW);
	assert_true(packager_cut(s->packager));
	assert_int_equal(list_turn(l, 2, -1), LIST_NOW);
	assert_int_equal(list_turn(l, 2, 2), LIST_LATER);
	assert_true(packager_finish(s->packager));
	assert_int_equal(list_turn(l, 3, 0), LIST_NOW);
}

/* A frame a second is longer than a part may be. */
static void
frames_that_last_too_long_for_parts_make_segments_alone(void **state)
{
	struct studio *s = *state;
	struct buf text = BUF(s->place->mem);

	send_flv(s, make(s->place, "a.flv", "$FF -f lavfi -i testsrc2=s=64x64:r=1:d=9 -c:v libx264 -preset ultrafast "
	    "-pix_fmt yuv420p -g 2 $O"), 0);
	list_write_low(packager_list(s->packager, false), NULL, false, &text);
	assert_int_equal(count(buf_string(&text), "#EXT-X-PART"), 0);
	assert_int_equal(count(buf_string(&text), "#EXTINF"), 4);
}

/* An encoder that leaves pictures out for a moment has parts again in the next segment. */
static void
one_gap_in_the_pictures_does_not_end_parts(void **state)
{
	struct studio *s = *state;
	struct buf text = BUF(s->place->mem);

	send_flv(s, make(s->place, "a.flv", "$FF -f lavfi -i testsrc2=s=64x64:r=25:d=9 "
	    "-vf \"select='not(between(t,2.4,3.1))'\" -vsync vfr -c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 25 $O"), 0);
	list_write_low(packager_list(s->packager, false), NULL, false, &text);
	assert_true(count(buf_string(&text), "#EXT-X-PART:") > 4);
}

static void
a_clock_may_wrap_but_not_leap(void **state)
{
	struct studio *s = *state;
	const struct live_list *l = packager_list(s->packager, false);
	size_t i;
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("128x96", "4") TONE("4") ENCODED "$O");

	send_flv(s, flv, UINT32_MAX - 2000);
	assert_int_equal(s->session, 1);
	send_flv(s, flv, 60000);
	assert_int_equal(s->session, 2);
	send_flv(s, flv, 0);
	assert_int_equal(s->session, 3);
	/* Three times four seconds, and two leaps of ten at most. */
	assert_in_range(feed_passed(s->feed), 12000 - 300, 32000);
	assert_true(packager_finish(s->packager));
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXT-X-DISCONTINUITY\n"), 2);
	assert_string_equal(told(s, PACKETS("kept/1.video.mp4")), "100");
	assert_string_equal(told(s, PACKETS("kept/2.video.mp4")), "100");
	assert_string_equal(told(s, PACKETS("kept/3.video.mp4")), "100");
	/* Four seconds come in none here, so that each session begins before the one in front of it has ended. */
	for (i = 0; i + 1 < l->n; i++)
		assert_in_range(l->at[i + 1].at.ms, l->at[i].at.ms + l->at[i].ms - 1, INT64_MAX);
}

#define ONE_KEY_FRAME "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 1000 "

static void
what_leaps_itself_begins_a_session(void **state)
{
	struct studio *s = *state;
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("128x96", "4") ONE_KEY_FRAME "$O");

	send_flv(s, flv, 0);
	send_flv(s, flv, 60000);
	assert_int_equal(s->session, 2);
	assert_string_equal(told(s, PACKETS("kept/2.video.mp4")), "100");
}

static void
what_comes_before_its_session_may_begin_is_kept(void **state)
{
	struct studio *s = *state;
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("128x96", "4") ONE_KEY_FRAME "$O");

	feed_free(s->feed);
	s->feed = feed_new();
	send_flv(s, flv, 0);
	feed_begin(s->feed, 1);
	send_flv(s, flv, 4000);
	assert_string_equal(told(s, PACKETS("kept/1.video.mp4")), "200");
}

static void
what_comes_before_all_tracks_are_known_is_kept(void **state)
{
	struct studio *s = *state;

	s->unannounced = true;
	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("128x96", "4") ONE_KEY_FRAME "$O"), 0);
	assert_string_equal(told(s, PACKETS("kept/1.video.mp4")), "100");
}

/* Too much of it comes behind one key frame. */
static void
what_is_kept_has_a_limit(void **state)
{
	struct studio *s = *state;
	const char *flv = make(s->place, "a.flv", "$FF -f lavfi -i testsrc2=s=640x480:r=25:d=4,noise=alls=100:allf=t+u "
	    "-c:v libx264 -preset ultrafast -qp 10 -pix_fmt yuv420p -g 1000 $O");
	size_t n;

	bytes_of(s, flv, &n);
	assert_true(n > 16 << 20);
	feed_free(s->feed);
	s->feed = feed_new();
	send_flv(s, flv, 0);
	feed_begin(s->feed, 1);
	send_flv(s, flv, 4000);
	/* Of the first four seconds none was left. */
	assert_string_equal(told(s, PACKETS("kept/1.video.mp4")), "100");
}

static void
what_is_kept_is_not_old(void **state)
{
	struct studio *s = *state;

	feed_free(s->feed);
	s->feed = feed_new();
	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("128x96", "14") ONE_KEY_FRAME "$O"), 0);
	feed_begin(s->feed, 1);
	send_flv(s, make(s->place, "b.flv", "$FF " MOVING("128x96", "4") ONE_KEY_FRAME "$O"), 14000);
	assert_string_equal(told(s, PACKETS("kept/1.video.mp4")), "100");
	feed_free(s->feed);
	s->feed = feed_new();
	send_flv(s, make(s->place, "c.flv", "$FF " TONE("9") "-c:a aac $O"), 0);
	feed_begin(s->feed, 2);
	send_flv(s, make(s->place, "d.flv", "$FF " TONE("1") "-c:a aac $O"), 9000);
	assert_true(packager_finish(s->packager));
	/* 48 frames a second, rounded up. */
	assert_in_range(atoi(told(s, PACKETS("kept/2.audio.mp4"))), 47, 3 * 48);
}

static void
sound_alone_and_picture_alone_are_fine(void **state)
{
	struct studio *s = *state;

	send_flv(s, make(s->place, "a.flv", "$FF " TONE("5") "-c:a aac -b:a 64k $O"), 0);
	assert_true(packager_finish(s->packager));
	assert_int_equal(count(text_of(s, "out/audio.m3u8"), "#EXTINF"), 3);
	assert_non_null(strstr(text_of(s, "out/master.m3u8"), "CODECS=\"mp4a.40.2\"\naudio.m3u8\n"));
	feed_free(s->feed);
	s->feed = feed_new();
	feed_begin(s->feed, 2);
	send_flv(s, make(s->place, "b.flv", "$FF " MOVING("128x96", "5") ENCODED "$O"), 0);
	assert_true(packager_finish(s->packager));
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXTINF"), 3);
}

static void
no_segment_is_longer_than_its_playlist_says(void **state)
{
	struct studio *s = *state;
	const char *list;

	/* Key frames 2 s apart at first, then none for ten. */
	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("128x96", "14") "-c:v libx264 -preset ultrafast "
	    "-pix_fmt yuv420p -g 400 -force_key_frames '0,2,4' $O"), 0);
	assert_true(packager_finish(s->packager));
	list = text_of(s, "out/video.m3u8");
	assert_non_null(strstr(list, "#EXT-X-TARGETDURATION:2\n"));
	for (const char *p = strstr(list, "#EXTINF:"); p != NULL; p = strstr(p + 1, "#EXTINF:"))
		assert_true(atof(p + 8) < 2.5);
	assert_string_equal(told(s, DECODE("v")), "350");
}

/* x264's own way, and so that of OBS as it comes. */
static void
a_key_frame_every_250_frames_is_a_segment(void **state)
{
	struct studio *s = *state;
	const char *list;

	send_flv(s, make(s->place, "a.flv", "$FF -f lavfi -i testsrc2=s=64x64:r=24:d=32 -c:v libx264 "
	    "-preset ultrafast -sc_threshold 0 -pix_fmt yuv420p $O"), 0);
	assert_true(packager_finish(s->packager));
	list = text_of(s, "out/video.m3u8");
	assert_int_equal(count(list, "#EXTINF:10.41"), 3);
	assert_int_equal(count(list, "#EXTINF"), 4);
	assert_non_null(strstr(list, "#EXT-X-TARGETDURATION:11\n"));
}

/* Key frames at 2 s, and then every 5 s. */
static void
behind_a_cut_without_a_key_frame_the_next_one_begins_a_segment(void **state)
{
	struct studio *s = *state;
	const char *list;

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "14") "-c:v libx264 -preset ultrafast "
	    "-sc_threshold 0 -pix_fmt yuv420p -g 400 -force_key_frames '0,2,7,12' $O"), 0);
	assert_true(packager_finish(s->packager));
	list = text_of(s, "out/video.m3u8");
	/* 2.4, 2.4 and the rest. */
	assert_int_equal(count(list, "#EXTINF:0.2"), 2);
	assert_string_equal(told(s, "for n in 1 2 5 8; do cat out/1.video.mp4 out/$n.video.m4s >whole.mp4; "
	    "ffprobe -v error -show_entries packet=flags -of csv=p=0 whole.mp4 | head -n 1 | cut -c 1; done | tr -d '\\n'"), "KKKK");
}

/* Pictures stop behind 4.5 s of 14. */
static void
stop_pictures(struct studio *s, const char *rate)
{
	const char *how = arena_printf(s->place->mem, "$FF " MOVING("128x96", "14") TONE("14") ENCODED "-ar %s $O",
	    rate), *list;

	send_until(s, make(s->place, "a.flv", how), 0, 4500);
	assert_true(feed_frame_rate(s->feed) == 0);
	assert_true(packager_finish(s->packager));
	list = text_of(s, "out/audio.m3u8");
	assert_non_null(strstr(list, "#EXT-X-TARGETDURATION:2\n"));
	assert_in_range(count(list, "#EXTINF"), 5, 8);
	for (const char *p = strstr(list, "#EXTINF:"); p != NULL; p = strstr(p + 1, "#EXTINF:"))
		assert_true(atof(p + 8) < 2.5);
	/* The last pictures are played, too. */
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXTINF"), 3);
}

static void
sound_goes_on_in_segments_when_pictures_have_stopped(void **state)
{
	struct studio *s = *state;

	stop_pictures(s, "48000");
	assert_string_equal(told(s, DECODE("a") " | awk '{ print ($1 > 640) }'"), "1");
}

/* Each lasts for 128 ms. */
static void
so_does_sound_of_long_frames(void **state)
{
	struct studio *s = *state;

	stop_pictures(s, "8000");
	assert_string_equal(told(s, DECODE("a") " | awk '{ print ($1 > 105) }'"), "1");
}

/* As far as it may be without being a leap of the clock. */
static void
sound_that_is_ahead_cuts_no_pictures(void **state)
{
	struct studio *s = *state;

	send_ahead(s, make(s->place, "a.flv", "$FF " MOVING("128x96", "14") TONE("14") ENCODED "$O"), 900);
	assert_true(packager_finish(s->packager));
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXTINF:2.000"), 7);
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXTINF"), 7);
}

/* Its first segment would promise less than the others need. */
static void
sound_that_begins_late_has_segments_as_long_as_the_pictures(void **state)
{
	struct studio *s = *state;

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("128x96", "13") "-itsoffset 0.4 " TONE("12.6") "-c:v libx264 "
	    "-preset ultrafast -sc_threshold 0 -pix_fmt yuv420p -g 65 -c:a aac -b:a 64k $O"), 0);
	assert_true(packager_finish(s->packager));
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXTINF"), 5);
	assert_int_equal(count(text_of(s, "out/audio.m3u8"), "#EXTINF"), 5);
}

/* --- Enhanced RTMP: what this FFmpeg can encode, but not send */

enum form { PLAIN, UNSHIFTED, ONE_TRACK };

/* What goes before a packet of that kind.  How many bytes. */
static size_t
put_head(uint8_t *tag, enum form form, const char *letters, bool key, unsigned type, int32_t shift)
{
	const unsigned frame = key ? 0x90 : 0xa0;
	size_t n = 0;

	if (form == UNSHIFTED && type == 1)
		type = 3;
	tag[n++] = (uint8_t)(frame | (form == ONE_TRACK ? 6 : type));
	if (form == ONE_TRACK)
		tag[n++] = (uint8_t)type;
	memcpy(tag + n, letters, 4);
	n += 4;
	if (form == ONE_TRACK)
		tag[n++] = 0;
	if (type == 1 && strcmp(letters, "av01") != 0) {
		memcpy(tag + n, (uint8_t[]){ (uint8_t)(shift >> 16), (uint8_t)(shift >> 8), (uint8_t)shift }, 3);
		n += 3;
	}
	return n;
}

/* Sends the packets of an MP4 under four letters, `later` ms later than they say, behind what its box holds. */
static void
send_enhanced(struct studio *s, const char *mp4, const char *letters, const char *box, enum form form, uint32_t later)
{
	size_t n, size, pos, head;
	const uint8_t *p = bytes_of(s, mp4, &n), *at = memmem(p, n, box, 4);
	char command[400], *line, *lines, flags;
	uint8_t *tag = arena_alloc(s->place->mem, n + 16);
	double pts, dts, first = 0;

	assert_non_null(at);
	size = (size_t)bytes_big(at - 4, 4) - 8;
	head = put_head(tag, form, letters, true, 0, 0);
	memcpy(tag + head, at + 4, size);
	send(s, RTMP_VIDEO, 0, tag, head + size);
	assert_true(s->says == FEED_FINE || s->says == FEED_BEGINS);
	snprintf(command, sizeof(command), "ffprobe -v error -select_streams v -show_entries "
	    "packet=pts_time,dts_time,size,pos,flags -of csv=p=0 %s", mp4);
	lines = arena_copy(s->place->mem, told(s, command));
	for (line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		assert_int_equal(sscanf(line, "%lf,%lf,%zu,%zu,%c", &pts, &dts, &size, &pos, &flags), 5);
		first = line == lines ? dts : first;
		head = put_head(tag, form, letters, flags == 'K', 1, (int32_t)((pts - dts) * 1000 + 0.5));
		memcpy(tag + head, p + pos, size);
		assert_int_equal(send(s, RTMP_VIDEO, later + (uint32_t)((dts - first) * 1000 + 0.5), tag, head + size),
		    FEED_FINE);
	}
}

static const uint8_t no_sound[] = "\2\0\12onMetaData\10\0\0\0\1\0\14videocodecid\0\0\0\0\0\0\0\0\0\0\0\11";

static void
hevc_and_av1_are_taken_as_they_are(void **state)
{
	struct studio *s = *state;
	const char *master;

	send(s, RTMP_DATA, 0, no_sound, sizeof(no_sound) - 1);
	send_enhanced(s, make(s->place, "h.mp4", "$FF " MOVING("160x120", "4") "-c:v libx265 -preset ultrafast "
	    "-x265-params log-level=none:keyint=50 -pix_fmt yuv420p -tag:v hvc1 $O"), "hvc1", "hvcC", PLAIN, 0);
	assert_true(packager_finish(s->packager));
	assert_string_equal(told(s, DECODE("v")), "100");
	master = text_of(s, "out/master.m3u8");
	assert_non_null(strstr(master, "CODECS=\"hvc1.1."));
	assert_non_null(strstr(master, "RESOLUTION=160x120"));
	feed_free(s->feed);
	s->feed = feed_new();
	feed_begin(s->feed, 2);
	send(s, RTMP_DATA, 0, no_sound, sizeof(no_sound) - 1);
	send_enhanced(s, make(s->place, "a.mp4", "$FF " MOVING("176x144", "3") "-c:v libaom-av1 -cpu-used 8 "
	    "-usage realtime -g 50 -pix_fmt yuv420p $O"), "av01", "av1C", PLAIN, 0);
	assert_true(packager_finish(s->packager));
	assert_string_equal(told(s, "ffmpeg -v error -nostdin -i kept/2.video.mp4 -f framehash - | grep -vc '^#'"),
	    "75");
	assert_non_null(strstr(text_of(s, "out/master.m3u8"), "RESOLUTION=176x144,CODECS=\"av01.0."));
}

#define HEVC(more) MOVING("160x120", "4") "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=50" more \
	" -pix_fmt yuv420p -tag:v hvc1 $O"

static void
all_forms_of_enhanced_rtmp_are_the_same_frames(void **state)
{
	struct studio *s = *state;
	static const uint8_t second[] = { 0x96, 1, 'h', 'v', 'c', '1', 1, 0, 0, 0, 9, 9, 9 };
	static const uint8_t several[] = { 0x96, 0x11, 'h', 'v', 'c', '1', 0, 0, 0, 1, 9, 1, 0, 0, 1, 9 };
	const char *flat = make(s->place, "f.mp4", "$FF " HEVC(":bframes=0"));

	send(s, RTMP_DATA, 0, no_sound, sizeof(no_sound) - 1);
	send_enhanced(s, make(s->place, "h.mp4", "$FF " HEVC("")), "hvc1", "hvcC", ONE_TRACK, 0);
	/* Others beside the first are left alone. */
	assert_int_equal(send(s, RTMP_VIDEO, 4000, second, sizeof(second)), FEED_FINE);
	assert_int_equal(send(s, RTMP_VIDEO, 4000, several, sizeof(several)), FEED_FINE);
	send_enhanced(s, flat, "hvc1", "hvcC", UNSHIFTED, 4000);
	assert_true(packager_finish(s->packager));
	assert_string_equal(told(s, "for i in 1 2; do ffmpeg -v error -nostdin -i kept/$i.video.mp4 -f framehash - | "
	    "grep -vc '^#'; done"), "100\n100");
	assert_int_equal(feed_dropped(s->feed), 0);
}

static void
sound_by_four_letters_is_the_same_sound(void **state)
{
	struct studio *s = *state;

	s->renamed = true;
	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "4") TONE("4") ENCODED "$O"), 0);
	assert_true(packager_finish(s->packager));
	told(s, "for i in kept/1.audio.mp4 a.flv; do ffmpeg -v error -nostdin -i $i -map 0:a -c copy -f framehash - | "
	    "sed '/^#/d; s/.*, //' >${i##*/}.hashes; done");
	/* What lies before the first picture is left out. */
	assert_string_equal(told(s, "grep -vxcFf a.flv.hashes 1.audio.mp4.hashes"), "0");
	assert_string_equal(told(s, "grep -vxFf 1.audio.mp4.hashes a.flv.hashes | sed -n 3p"), "");
}

static void
another_codec_in_the_middle_is_another_session(void **state)
{
	struct studio *s = *state;

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "4") TONE("4") ENCODED "$O"), 0);
	send_enhanced(s, make(s->place, "h.mp4", "$FF " HEVC("")), "hvc1", "hvcC", PLAIN, 4000);
	assert_true(packager_finish(s->packager));
	assert_int_equal(s->session, 2);
	assert_int_equal(count(text_of(s, "out/video.m3u8"), "#EXT-X-DISCONTINUITY\n"), 1);
	assert_non_null(strstr(text_of(s, "out/master.m3u8"), "CODECS=\"hvc1.1."));
	assert_string_equal(told(s, "for i in 1 2; do ffmpeg -v error -nostdin -i kept/$i.video.mp4 -f framehash - | "
	    "grep -vc '^#'; done"), "100\n100");
}

static void
frames_that_nothing_describes_are_refused_after_a_while(void **state)
{
	static const uint8_t frame[] = { 0xa1, 'h', 'v', 'c', '1', 0, 0, 0, 0, 0, 0, 1, 2 };
	struct studio *s = *state;
	uint32_t ms = 1000;

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "1") ENCODED "$O"), 0);
	for (s->says = FEED_FINE; s->says == FEED_FINE && ms < 60000; ms += 40)
		send(s, RTMP_VIDEO, ms, frame, sizeof(frame));
	assert_int_equal(s->says, FEED_REFUSED);
	assert_in_range(ms, 5000, 8000);
	assert_non_null(strstr(feed_fault(s->feed), "describe"));
	assert_int_equal(feed_dropped(s->feed), (ms - 1000) / 40);
}

static void
a_hundred_and_twenty_pictures_a_second_are_taken(void **state)
{
	struct studio *s = *state;
	struct buf text = BUF(s->place->mem);

	send_flv(s, make(s->place, "a.flv", "$FF -f lavfi -i testsrc2=s=64x64:r=120:d=4 -c:v libx264 -preset ultrafast "
	    "-pix_fmt yuv420p -g 240 $O"), 0);
	list_write_low(packager_list(s->packager, false), NULL, false, &text);
	assert_int_equal(count(buf_string(&text), "#EXT-X-PART:"), 4 + 3);
	assert_true(packager_finish(s->packager));
	assert_string_equal(told(s, DECODE("v")), "480");
	assert_int_equal(feed_dropped(s->feed), 0);
	assert_float_equal(feed_frame_rate(s->feed), 120, .5);
}

static void
half_pictures_are_taken_and_known(void **state)
{
	struct studio *s = *state;

	send_flv(s, make(s->place, "a.flv", "$FF " MOVING("64x64", "1") ENCODED "$O"), 0);
	assert_false(feed_setup(s->feed, true)->interlaced);
	send_flv(s, make(s->place, "i.flv", "$FF " MOVING("128x128", "4") "-c:v libx264 -preset ultrafast -g 50 "
	    "-pix_fmt yuv420p -flags +ilme+ildct -x264-params interlaced=1 $O"), 1000);
	assert_true(feed_setup(s->feed, true)->interlaced);
	assert_true(packager_finish(s->packager));
	assert_string_equal(told(s, "ffmpeg -v error -nostdin -i kept/2.video.mp4 -f framehash - | grep -vc '^#'"),
	    "100");
	assert_non_null(strstr(text_of(s, "out/master.m3u8"), "RESOLUTION=128x128"));
}

static bool
on_tag(void *user, int type, uint32_t ms, const uint8_t *bytes, size_t n)
{
	send(user, type, ms, bytes, n);
	return true;
}

static void
of_hevc_in_a_transport_stream_every_frame_is_taken_as_it_is(void **state)
{
	struct studio *s = *state;
	const char *file = make(s->place, "h.ts", "$FF " MOVING("176x144", "4") TONE("4")
	    "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=50:bframes=2 -pix_fmt yuv420p10le "
	    "-c:a aac -b:a 64k $O");
	const char *boxed = make(s->place, "h.mp4", "$FF -i h.ts -c copy -tag:v hvc1 $O");
	const uint8_t *p, *ours, *theirs;
	struct ts *ts = ts_new(on_tag, s);
	size_t n;

	p = bytes_of(s, file, &n);
	assert_null(ts_take(ts, p, n));
	ts_free(ts);
	assert_true(packager_finish(s->packager));
	/* The last one has nothing behind it. */
	assert_string_equal(told(s, DECODE("v")), "99");
	assert_string_equal(told(s, "ffmpeg -v error -nostdin -i kept/1.video.mp4 -map 0:v -frames:v 99 -f md5 -"),
	    told(s, "ffmpeg -v error -nostdin -i h.ts -map 0:v -frames:v 99 -f md5 -"));
	assert_non_null(strstr(text_of(s, "out/master.m3u8"), "RESOLUTION=176x144,CODECS=\"hvc1.2."));
	/* What FFmpeg sets its decoders up with, but for slices and threads, of which it says less or more. */
	p = bytes_of(s, boxed, &n);
	theirs = memmem(p, n, "hvcC", 4);
	p = (const uint8_t *)text_of(s, "kept/1.video.mp4");
	ours = memmem(p, 2000, "hvcC", 4);
	assert_non_null(ours);
	assert_memory_equal(ours, theirs, 4 + 13);
	assert_memory_equal(ours + 4 + 16, theirs + 4 + 16, 6);
}

/* --- what nobody could play */

static void
what_does_not_play_everywhere_is_refused_with_a_reason(void **state)
{
	static const struct { const char *command, *says; } sources[] = {
		{ "$FF " MOVING("64x64", "1") "-c:v libx264 -preset ultrafast -pix_fmt yuv444p $O", "4:2:0" },
		{ "$FF -f lavfi -i anullsrc=r=48000:cl=5.1 -t 1 -c:a aac $O", "two channels" },
		{ "$FF " MOVING("64x64", "1") "-c:v flv $O", "not known" },
		{ "$FF " TONE("1") "-c:a mp3 $O", "not known" },
	};
	struct studio *s = *state;
	size_t i, n, at, size;
	const uint8_t *p;

	for (i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		feed_free(s->feed);
		s->feed = feed_new();
		p = bytes_of(s, make(s->place, arena_printf(s->place->mem, "%zu.flv", i), sources[i].command), &n);
		s->says = FEED_FINE;
		for (at = 13; at + 11 <= n && s->says == FEED_FINE; at += 11 + size + 4) {
			size = bytes_big(p + at + 1, 3);
			send(s, p[at], 0, p + at + 11, size);
		}
		assert_int_equal(s->says, FEED_REFUSED);
		if (strstr(feed_fault(s->feed), sources[i].says) == NULL)
			fail_msg("%s: %s", sources[i].command, feed_fault(s->feed));
	}
}

static void
setups_that_are_cut_off_are_refused(void **state)
{
	static const struct { const char *box; const char *command; enum flv_codec codec; } known[] = {
		{ "avcC", "$FF " MOVING("64x64", "1") "-c:v libx264 -preset ultrafast -pix_fmt yuv420p $O", FLV_AVC },
		{ "hvcC", "$FF " MOVING("64x64", "1") "-c:v libx265 -preset ultrafast -x265-params log-level=none $O",
		    FLV_HEVC },
		{ "av1C", "$FF " MOVING("64x64", "0.2") "-c:v libaom-av1 -cpu-used 8 -usage realtime $O", FLV_AV1 },
	};
	struct studio *s = *state;
	struct setup found;
	size_t i, n, size, cut;
	const uint8_t *p, *at;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		p = bytes_of(s, make(s->place, arena_printf(s->place->mem, "%zu.mp4", i), known[i].command), &n);
		at = memmem(p, n, known[i].box, 4);
		assert_non_null(at);
		size = (size_t)bytes_big(at - 4, 4) - 8;
		assert_null(setup_read(&found, known[i].codec, at + 4, size));
		assert_int_equal(found.width, 64);
		for (cut = 0; cut < 8; cut++)
			assert_non_null(setup_read(&found, known[i].codec, at + 4, cut));
	}
}

static void
frames_that_go_back_or_are_empty_do_no_harm(void **state)
{
	struct studio *s = *state;
	size_t n, at = 13, size, turn = 0;
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("128x96", "4") TONE("4") ENCODED "$O");
	const uint8_t *p = bytes_of(s, flv, &n);
	uint32_t ms;

	for (; at + 11 <= n; at += 11 + size + 4, turn++) {
		size = bytes_big(p + at + 1, 3);
		ms = (uint32_t)bytes_big(p + at + 4, 3);
		assert_int_equal(send(s, p[at], ms, p + at + 11, size), FEED_FINE);
		if (turn % 7 == 6 && p[at] != RTMP_DATA) {
			assert_int_equal(send(s, p[at], ms > 500 ? ms - 500 : 0, p + at + 11, size), FEED_FINE);
			assert_int_equal(send(s, p[at], ms, p + at + 11, 0), FEED_FINE);
		}
	}
	assert_true(feed_dropped(s->feed) > 0);
	assert_true(packager_finish(s->packager));
	assert_string_equal(told(s, PACKETS("kept/1.video.mp4")), "100");
	assert_string_equal(told(s, DECODE("v")), "100");
}

static void
a_full_disk_is_told_and_the_next_session_has_nothing_of_the_one_before(void **state)
{
	struct studio *s = *state;
	struct conf conf = { .data_dir = s->place->dir, .free_space = INT64_C(1) << 60 };
	const char *flv = make(s->place, "a.flv", "$FF " MOVING("64x64", "1") TONE("1") ENCODED "$O");
	struct buf low = BUF(s->place->mem);

	assert_true(store_open(&conf));
	send_flv(s, flv, 0);
	assert_false(packager_pause(s->packager));
	conf.free_space = 0;
	assert_true(store_open(&conf));
	feed_free(s->feed);
	s->feed = feed_new();
	feed_begin(s->feed, 2);
	send_flv(s, flv, 0);
	list_write_low(packager_list(s->packager, false), NULL, false, &low);
	assert_non_null(strstr(buf_string(&low), "URI=\"1.2.0.video.m4s\""));
	assert_null(strstr(buf_string(&low), ".1.video.m4s\",INDEPENDENT=YES"));
	assert_string_equal(told(s, "ls out | grep -c '^1[.]1[.].*[.]m4s$'"), "0");
	assert_true(packager_finish(s->packager));
	/* Both recordings have all of it. */
	assert_string_equal(told(s, PACKETS("kept/1.audio.mp4")), told(s, PACKETS("kept/2.audio.mp4")));
	assert_string_equal(told(s, arena_printf(s->place->mem, FIRST, "a", "kept/2.audio.mp4")), "0.000000");
	assert_int_equal(count(text_of(s, "out/audio.m3u8"), "EXTINF:-"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_comes_is_played_to_the_last_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(captions_are_named_as_soon_as_somebody_makes_them, setup, teardown),
		cmocka_unit_test_setup_teardown(the_recording_holds_every_frame_as_it_came, setup, teardown),
		cmocka_unit_test_setup_teardown(sound_keeps_its_distance_to_the_picture, setup, teardown),
		cmocka_unit_test_setup_teardown(another_size_is_another_session_behind_a_break, setup, teardown),
		cmocka_unit_test_setup_teardown(a_restart_goes_on_in_the_same_playlist, setup, teardown),
		cmocka_unit_test_setup_teardown(without_dvr_there_is_a_window, setup, teardown),
		cmocka_unit_test_setup_teardown(each_segment_goes_to_the_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(breaks_that_are_listed_no_more_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_not_made_in_time_is_a_gap, setup, teardown),
		cmocka_unit_test_setup_teardown(the_edge_is_told_in_parts_that_are_the_segment, setup, teardown),
		cmocka_unit_test_setup_teardown(who_asks_for_what_is_to_come_waits_for_it, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_that_last_too_long_for_parts_make_segments_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(one_gap_in_the_pictures_does_not_end_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_clock_may_wrap_but_not_leap, setup, teardown),
		cmocka_unit_test_setup_teardown(what_leaps_itself_begins_a_session, setup, teardown),
		cmocka_unit_test_setup_teardown(what_comes_before_its_session_may_begin_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(what_comes_before_all_tracks_are_known_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_kept_has_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_kept_is_not_old, setup, teardown),
		cmocka_unit_test_setup_teardown(sound_alone_and_picture_alone_are_fine, setup, teardown),
		cmocka_unit_test_setup_teardown(a_key_frame_every_250_frames_is_a_segment, setup, teardown),
		cmocka_unit_test_setup_teardown(behind_a_cut_without_a_key_frame_the_next_one_begins_a_segment, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(no_segment_is_longer_than_its_playlist_says, setup, teardown),
		cmocka_unit_test_setup_teardown(sound_goes_on_in_segments_when_pictures_have_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(so_does_sound_of_long_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(sound_that_is_ahead_cuts_no_pictures, setup, teardown),
		cmocka_unit_test_setup_teardown(sound_that_begins_late_has_segments_as_long_as_the_pictures, setup, teardown),
		cmocka_unit_test_setup_teardown(hevc_and_av1_are_taken_as_they_are, setup, teardown),
		cmocka_unit_test_setup_teardown(all_forms_of_enhanced_rtmp_are_the_same_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(sound_by_four_letters_is_the_same_sound, setup, teardown),
		cmocka_unit_test_setup_teardown(another_codec_in_the_middle_is_another_session, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_that_nothing_describes_are_refused_after_a_while, setup, teardown),
		cmocka_unit_test_setup_teardown(a_hundred_and_twenty_pictures_a_second_are_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(half_pictures_are_taken_and_known, setup, teardown),
		cmocka_unit_test_setup_teardown(of_hevc_in_a_transport_stream_every_frame_is_taken_as_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(what_does_not_play_everywhere_is_refused_with_a_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(setups_that_are_cut_off_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_that_go_back_or_are_empty_do_no_harm, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_is_told_and_the_next_session_has_nothing_of_the_one_before,
		    setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
