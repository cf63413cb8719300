/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Playlists, to the letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/playlist.h"

static int
setup(void **state)
{
	*state = arena_new(64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static struct rendition_row
size(const char *file, int64_t width, int64_t height, int64_t average, int64_t peak)
{
	return (struct rendition_row){ .kind = "hls", .mime_type = PLAYLIST_TYPE, .file = file,
	    .width = { width, true }, .height = { height, true }, .bitrate = { average, true },
	    .peak_bitrate = { peak, true }, .frame_rate = 30000.0 / 1001, .codecs = "avc1.64001f" };
}

static struct rendition_row
sound(void)
{
	return (struct rendition_row){ .kind = "audio", .mime_type = PLAYLIST_TYPE, .file = "g/audio.m3u8",
	    .bitrate = { 128000, true }, .peak_bitrate = { 131000, true }, .codecs = "mp4a.40.2" };
}

static void
a_master_names_each_size_with_its_sound_smallest_first(void **state)
{
	struct rendition_row rows[] = { size("g/720p.m3u8", 1280, 720, 2000000, 2500000), sound(),
	    size("g/360p.m3u8", 640, 360, 700000, 900000), { .kind = "mp4", .mime_type = "video/mp4",
	    .file = "g/download.mp4" } };

	rows[1].track_name = "Deutsch";
	rows[1].language_code = "de";

	assert_string_equal(playlist_master(*state, rows, 4, "g/master.m3u8"),
	    "#EXTM3U\n"
	    "#EXT-X-VERSION:7\n"
	    "#EXT-X-INDEPENDENT-SEGMENTS\n"
	    "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"Deutsch\",LANGUAGE=\"de\",DEFAULT=YES,AUTOSELECT=YES,"
	    "CHANNELS=\"2\",URI=\"audio.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1031000,AVERAGE-BANDWIDTH=828000,"
	    "CODECS=\"avc1.64001f,mp4a.40.2\",RESOLUTION=640x360,FRAME-RATE=29.970,AUDIO=\"audio\"\n"
	    "360p.m3u8\n"
	    "#EXT-X-STREAM-INF:BANDWIDTH=2631000,AVERAGE-BANDWIDTH=2128000,CODECS=\"avc1.64001f,mp4a.40.2\","
	    "RESOLUTION=1280x720,FRAME-RATE=29.970,AUDIO=\"audio\"\n"
	    "720p.m3u8\n");
}

static void
a_master_without_sound_has_no_audio_group(void **state)
{
	const struct rendition_row rows[] = { size("g/360p.m3u8", 640, 360, 700000, 900000) };
	const char *text = playlist_master(*state, rows, 1, "g/master.m3u8");

	assert_null(strstr(text, "AUDIO"));
	assert_non_null(strstr(text, "CODECS=\"avc1.64001f\","));
}

static void
a_master_of_sound_alone_offers_the_sound_itself(void **state)
{
	const struct rendition_row rows[] = { sound(), { .kind = "audio", .mime_type = "audio/mp4",
	    .file = "g/sound.m4a" } };

	assert_string_equal(playlist_master(*state, rows, 2, "g/master.m3u8"),
	    "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n"
	    "#EXT-X-STREAM-INF:BANDWIDTH=131000,AVERAGE-BANDWIDTH=128000,CODECS=\"mp4a.40.2\"\naudio.m3u8\n");
}

/* Apple's rule: for lines that carry no picture, but never where players begin. */
static void
sound_for_slow_lines_is_the_last_stream_of_a_master(void **state)
{
	struct rendition_row rows[] = { size("g/360p.m3u8", 640, 360, 700000, 900000), sound(), { .kind = "low",
	    .mime_type = PLAYLIST_TYPE, .file = "g/audio-low.m3u8", .bitrate = { 61000, true },
	    .peak_bitrate = { 62000, true }, .codecs = "mp4a.40.2" } };
	const char *low = "\n#EXT-X-STREAM-INF:BANDWIDTH=62000,AVERAGE-BANDWIDTH=61000,CODECS=\"mp4a.40.2\"\n"
	    "audio-low.m3u8\n", *text = playlist_master(*state, rows, 3, "g/master.m3u8");

	assert_string_equal(text + strlen(text) - strlen(low), low);
	assert_non_null(strstr(text, "AUDIO=\"audio\"\n360p.m3u8"));
	text = playlist_master(*state, &rows[1], 2, "g/master.m3u8");
	assert_string_equal(text + strlen(text) - strlen(low), low);
	assert_non_null(strstr(text, "\naudio.m3u8\n"));
	/* One channel has that rate itself. */
	rows[1].channels = (struct number){ 1, true };
	text = playlist_master(*state, rows, 2, "g/master.m3u8");
	assert_non_null(strstr(text, "CHANNELS=\"1\""));
	assert_string_equal(text + strlen(text) - strlen("\"mp4a.40.2\"\naudio.m3u8\n"), "\"mp4a.40.2\"\naudio.m3u8\n");
	text = playlist_master(*state, &rows[1], 1, "g/master.m3u8");
	assert_null(strstr(strstr(text, "STREAM-INF") + 1, "STREAM-INF"));
}

static struct rendition_row
track(const char *file, const char *name, const char *language, const char *roles)
{
	return (struct rendition_row){ .kind = "track", .mime_type = PLAYLIST_TYPE, .file = file, .track_name = name,
	    .language_code = language, .roles = roles, .bitrate = { 128000, true }, .peak_bitrate = { 140000, true },
	    .codecs = "mp4a.40.2" };
}

static void
a_master_offers_each_track_of_sound_by_name_and_role(void **state)
{
	const struct rendition_row rows[] = { size("g/360p.m3u8", 640, 360, 700000, 900000), sound(),
	    track("g/t.2/track-2.m3u8", "English", "en", NULL),
	    track("g/t.2/track-3.m3u8", "English (commentary)", "en", "commentary"),
	    track("g/t.2/track-4.m3u8", "Audio 2", NULL, "describesVideo") };

	assert_string_equal(playlist_master(*state, rows, 5, "g/t.2/master.m3u8"),
	    "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n"
	    "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"Audio\",DEFAULT=YES,AUTOSELECT=YES,CHANNELS=\"2\","
	    "URI=\"../audio.m3u8\"\n"
	    "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"English\",LANGUAGE=\"en\",DEFAULT=NO,AUTOSELECT=YES,"
	    "CHANNELS=\"2\",URI=\"track-2.m3u8\"\n"
	    "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"English (commentary)\",LANGUAGE=\"en\",DEFAULT=NO,"
	    "AUTOSELECT=NO,CHANNELS=\"2\",URI=\"track-3.m3u8\"\n"
	    "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"Audio 2\",DEFAULT=NO,AUTOSELECT=YES,"
	    "CHARACTERISTICS=\"public.accessibility.describes-video\",CHANNELS=\"2\",URI=\"track-4.m3u8\"\n"
	    "#EXT-X-STREAM-INF:BANDWIDTH=1040000,AVERAGE-BANDWIDTH=828000,CODECS=\"avc1.64001f,mp4a.40.2\","
	    "RESOLUTION=640x360,FRAME-RATE=29.970,AUDIO=\"audio\"\n../360p.m3u8\n");
}

/* RFC 8216 section 4.3.4.2.1: the stream is one of its renditions, so its address stands twice. */
static void
a_master_of_sound_alone_offers_its_tracks_too(void **state)
{
	const struct rendition_row rows[] = { sound(), track("g/track-2.m3u8", "English", "en", NULL) };
	const char *text = playlist_master(*state, rows, 2, "g/master.m3u8");

	assert_non_null(strstr(text, "DEFAULT=YES,AUTOSELECT=YES,CHANNELS=\"2\",URI=\"audio.m3u8\"\n"));
	assert_non_null(strstr(text, "URI=\"track-2.m3u8\"\n"));
	assert_non_null(strstr(text, "#EXT-X-STREAM-INF:BANDWIDTH=140000,AVERAGE-BANDWIDTH=128000,CODECS=\"mp4a.40.2\","
	    "AUDIO=\"audio\"\naudio.m3u8\n"));
}

static void
a_master_leads_to_what_other_runs_have_stored(void **state)
{
	const struct rendition_row rows[] = { size("g/b.1/720p.m3u8", 1280, 720, 1, 2), size("g/a.12/360p.m3u8", 640,
	    360, 1, 1), size("g/240p.m3u8", 426, 240, 1, 1), size("h/1.m3u8", 1, 1, 1, 1), sound() };
	const char *text = playlist_master(*state, rows, 5, "g/b.1/master.m3u8");

	assert_non_null(strstr(text, "\n720p.m3u8\n"));
	assert_non_null(strstr(text, "\n../a.12/360p.m3u8\n"));
	assert_non_null(strstr(text, "\n../240p.m3u8\n"));
	assert_non_null(strstr(text, "\n../../h/1.m3u8\n"));
	assert_non_null(strstr(text, "URI=\"../audio.m3u8\""));
}

static void
no_language_and_no_name_can_break_out_of_its_quotes(void **state)
{
	struct rendition_row rows[] = { sound(), size("g/360p.m3u8", 640, 360, 700000, 900000) };
	const char *text;

	rows[0].language_code = rows[0].track_name = "x\",URI=\"evil\n#EXT";
	text = playlist_master(*state, rows, 2, "g/master.m3u8");
	assert_null(strstr(text, "URI=\"evil"));
	assert_null(strstr(text, "\n#EXT\""));
}

static void
a_media_playlist_lists_byte_ranges_and_rounding_never_adds_up(void **state)
{
	struct fragment *at = arena_array(*state, 3000, sizeof(*at));
	struct fragments f = { .at = at, .n = 2, .timescale = 30000, .init_size = 800 };
	int64_t sum = 0;
	const char *text;

	at[0] = (struct fragment){ 800, 5000, 120120 };
	at[1] = (struct fragment){ 5800, 100, 1001 };
	assert_string_equal(playlist_media(*state, &f, "360p.mp4"),
	    "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:VOD\n"
	    "#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"360p.mp4\",BYTERANGE=\"800@0\"\n"
	    "#EXTINF:4.004000,\n#EXT-X-BYTERANGE:5000@800\n360p.mp4\n"
	    "#EXTINF:0.033367,\n#EXT-X-BYTERANGE:100@5800\n360p.mp4\n#EXT-X-ENDLIST\n");
	f.n = 3000;
	for (size_t i = 0; i < f.n; i++)
		at[i] = (struct fragment){ 800 + (int64_t)i * 10, 10, 95095 };		/* 3.1698333… s */
	text = playlist_media(*state, &f, "x.mp4");
	for (const char *p = text; (p = strstr(p, "#EXTINF:")) != NULL; p += 8) {
		int64_t s = strtoll(p + 8, NULL, 10), us = strtoll(strchr(p, '.') + 1, NULL, 10);

		sum += s * 1000000 + us;
	}
	assert_int_equal(sum, 9509500000);
}

static void
bit_rates_are_those_of_the_segments(void **state)
{
	const struct fragment at[] = { { 0, 50000, 4000 }, { 50000, 100000, 4000 }, { 150000, 9000, 40 } };
	const struct fragments f = { .at = at, .n = 3, .timescale = 1000, .duration = 8040 };

	assert_int_equal(playlist_bit_rate(&f), 158208);
	assert_int_equal(playlist_peak_rate(&f), 215842);		/* the crumb with the segment before it */
}

/* What the peak must not be below, whatever is in the segments. */
static void
the_peak_is_never_below_the_average(void **state)
{
	static const struct fragment quiet_then_loud[] = { { 0, 1000, 4000 }, { 1000, 1000, 4000 },
	    { 2000, 90000, 400 } };
	static const struct fragment crumbs[] = { { 0, 5000, 100 }, { 5000, 90000, 100 }, { 95000, 90000, 200 } };
	static const struct fragment primed[] = { { 0, 9000, 1000 }, { 9000, 100, 4000 } };
	const struct fragments all[] = {
		{ .at = quiet_then_loud, .n = 3, .timescale = 1000, .duration = 8400 },
		{ .at = crumbs, .n = 3, .timescale = 1000, .duration = 400 },
		{ .at = primed, .n = 2, .timescale = 1000, .skip = 1000, .duration = 4000 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_true(playlist_peak_rate(&all[i]) >= playlist_bit_rate(&all[i]));
	assert_int_equal(playlist_peak_rate(&all[0]), 165455);		/* 91,000 bytes in 4.4 s */
}

static void
a_master_repairs_what_a_row_says_and_leaves_out_what_it_does_not_know(void **state)
{
	struct rendition_row rows[] = { size("g/360p.m3u8", 640, 360, 700000, 600000), sound() };

	rows[1].peak_bitrate = (struct number){ 0, false };
	assert_non_null(strstr(playlist_master(*state, rows, 2, "g/master.m3u8"),
	    "#EXT-X-STREAM-INF:BANDWIDTH=828000,AVERAGE-BANDWIDTH=828000,CODECS=\"avc1.64001f,mp4a.40.2\","));
	rows[1].codecs = NULL;
	assert_null(strstr(playlist_master(*state, rows, 2, "g/master.m3u8"), "CODECS"));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_master_names_each_size_with_its_sound_smallest_first),
		TEST(a_master_without_sound_has_no_audio_group),
		TEST(a_master_of_sound_alone_offers_the_sound_itself),
		TEST(sound_for_slow_lines_is_the_last_stream_of_a_master),
		TEST(a_master_offers_each_track_of_sound_by_name_and_role),
		TEST(a_master_of_sound_alone_offers_its_tracks_too),
		TEST(a_master_leads_to_what_other_runs_have_stored),
		TEST(no_language_and_no_name_can_break_out_of_its_quotes),
		TEST(a_media_playlist_lists_byte_ranges_and_rounding_never_adds_up),
		TEST(bit_rates_are_those_of_the_segments),
		TEST(the_peak_is_never_below_the_average),
		TEST(a_master_repairs_what_a_row_says_and_leaves_out_what_it_does_not_know),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
