/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clips: the very frames and samples that were asked for, with as little encoded as can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/clip.h"
#include "tests/media/trial.h"

/* Each frame shows its number as ten stripes, bit by bit; and each second there is a click. */
#define COUNTED(rate, seconds) "-f lavfi -i \"color=black:s=320x192:r=" rate ":d=" seconds ",format=gray," \
	"geq=lum='16+219*mod(floor(N/pow(2,floor(X/32))),2)',format=yuv420p\""
#define CLICKS(seconds) "-f lavfi -i \"aevalsrc='0.8*lt(mod(t,1),0.002)':s=48000:d=" seconds "\""

/* How a film becomes what players get: frames are reordered, as they are in use. */
static struct av_rendition *
renditions(struct place *p, const char *path)
{
	struct av_rendition *made = arena_array(p->mem, AV_RUNGS + 1, sizeof(*made));
	struct av_work work = { .dir = p->dir };
	struct av_rung rungs[AV_RUNGS];
	struct fault fault;
	size_t n = 0;

	work.file = av_probe(p->mem, path, &fault);
	assert_non_null(work.file);
	if (work.file->video != NULL)
		n = av_rungs(p->mem, work.file->video, "1080", true, rungs);
	assert_int_equal(av_encode(p->mem, &work, rungs, n, work.file->audio != NULL, made, &fault),
	    n + (work.file->audio != NULL));
	return made;
}

/* The numbers that its frames show; returns how many there are. */
static size_t
numbers(struct place *p, const char *path, int number[1000])
{
	struct jail_result r = look(p, path, "scale=10:1:flags=area,format=gray");
	size_t n = r.out_size / 10;

	assert_in_range(n, 1, 1000);
	for (size_t i = 0; i < n; i++) {
		number[i] = 0;
		for (int bit = 0; bit < 10; bit++)
			number[i] |= ((unsigned char)r.out[10 * i + (size_t)bit] > 128) << bit;
	}
	return n;
}

/* When the first click is heard, in ms; and how long the sound is. */
static double
first_click(struct place *p, const char *path, double *length)
{
	const char *argv[] = { "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:a", "-ac", "1", "-ar",
	    "48000", "-f", "s16le", "pipe:1", NULL };
	const char *read[] = { path, NULL };
	struct jail jail = { .argv = argv, .read = read, .in = -1, .memory = INT64_C(8) << 30 };
	struct jail_result r;
	const int16_t *at;
	size_t i = 0, n;

	if (!jail_run(p->mem, &jail, &r))
		fail_msg("%s: %s", path, r.err);
	at = (const int16_t *)(const void *)r.out;
	n = r.out_size / 2;
	while (i < n && abs(at[i]) < 8000)
		i++;
	*length = (double)n / 48;
	return (double)i / 48;
}

static struct clip
clip(struct place *p, const struct av_rendition *made, int64_t from_ms, int64_t to_ms)
{
	struct clip c = { .video = made[0].file, .sound = made[1].file, .from_ms = from_ms, .to_ms = to_ms,
	    .dir = p->dir };
	struct fault fault;

	if (!clip_make(p->mem, &c, "clip.mp4", &fault))
		fail_msg("%d to %d: %s", (int)from_ms, (int)to_ms, fault.detail);
	return c;
}

/* Frames first to last in their order, none twice, none left out, and nothing else. */
static void
holds(struct place *p, int first, int last)
{
	int number[1000];
	size_t n = numbers(p, arena_printf(p->mem, "%s/clip.mp4", p->dir), number);

	for (size_t i = 0; i < n; i++)
		if (number[i] != first + (int)i)
			fail_msg("frame %zu is %d, not %d", i, number[i], first + (int)i);
	assert_int_equal(n, last - first + 1);
}

static void
begins_and_ends_with_the_very_frame(void **state)
{
	static const struct { int64_t from, to; int first, last, copied, encoded; } cuts[] = {
		{ 4000, 12000, 100, 299, 2, 0 },	/* whole groups */
		{ 5480, 17320, 137, 432, 2, 2 },	/* into groups, on both sides */
		{ 5480, 16000, 137, 399, 2, 1 },
		{ 4000, 13200, 100, 329, 2, 1 },
		{ 3960, 12000, 99, 299, 1, 2 },		/* a frame is not reordered: the group behind it is encoded, too */
		{ 3920, 12000, 98, 299, 1, 2 },
		{ 3880, 12000, 97, 299, 2, 1 },
		{ 4000, 12040, 100, 300, 2, 1 },
		{ 4000, 12080, 100, 301, 2, 1 },
		{ 4000, 12120, 100, 302, 2, 1 },
		{ 5000, 7000, 125, 174, 0, 1 },		/* within a group */
		{ 5000, 9000, 125, 224, 0, 2 },
		{ 5000, 5000, 125, 125, 0, 1 },		/* a moment */
		{ 5001, 5039, 125, 125, 0, 1 },		/* the nearest frame, and up to the nearest one */
		{ 0, 22000, 0, 549, 6, 0 },
		{ 0, 90000, 0, 549, 6, 0 },
		{ 20960, 90000, 524, 549, 0, 1 },
	};
	struct place *p = *state;
	const struct av_rendition *made = renditions(p, make(p, "film.mp4", "$FF " COUNTED("25", "22") " " CLICKS("22")
	    " -c:v libx264 -preset ultrafast -crf 10 -c:a aac $O"));

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct clip c = clip(p, made, cuts[i].from, cuts[i].to);
		double length, click = first_click(p, arena_printf(p->mem, "%s/clip.mp4", p->dir), &length), begin =
		    cuts[i].first * 40, wanted = begin == 0 ? 0 : (double)(((int)begin + 999) / 1000 * 1000) - begin;

		holds(p, cuts[i].first, cuts[i].last);
		assert_int_equal(c.copied, cuts[i].copied);
		assert_int_equal(c.encoded, cuts[i].encoded);
		assert_in_range(c.duration_ms, (cuts[i].last - cuts[i].first + 1) * 40, (cuts[i].last - cuts[i].first +
		    1) * 40 + 25);
		if (length < (cuts[i].last - cuts[i].first + 1) * 40 - 1 || length > (cuts[i].last - cuts[i].first +
		    1) * 40 + 22)
			fail_msg("%zu: %.1f ms of sound", i, length);
		if (wanted < length && (click < wanted - 3 || click > wanted + 3))
			fail_msg("%zu: a click at %.2f ms, not %.2f", i, click, wanted);
	}
}

static void
rates_of_broken_numbers_are_cut_as_well(void **state)
{
	struct place *p = *state;
	const struct av_rendition *made = renditions(p, make(p, "film.mp4", "$FF " COUNTED("30000/1001", "14") " "
	    CLICKS("14") " -c:v libx264 -preset ultrafast -crf 10 -c:a aac $O"));
	struct clip c = clip(p, made, 1568, 11011);
	double length, click;

	holds(p, 47, 329);
	assert_int_equal(c.copied, 1);
	click = first_click(p, arena_printf(p->mem, "%s/clip.mp4", p->dir), &length);
	assert_true(click > 429 && click < 434);
	assert_in_range(c.duration_ms, 9442, 9470);
}

/* Bit by bit, as far as they are copied. */
static void
what_is_copied_is_what_there_was(void **state)
{
	struct place *p = *state;
	const struct av_rendition *made = renditions(p, make(p, "film.mp4", "$FF " MOVING("96x54", "25", "14") " "
	    TONE("14") FAST "-c:a aac $O"));
	struct jail_result whole, cut;
	const size_t frame = 96 * 54;

	clip(p, made, 3000, 13000);
	whole = look(p, made[0].file, "format=gray");
	cut = look(p, arena_printf(p->mem, "%s/clip.mp4", p->dir), "format=gray");
	assert_int_equal(cut.out_size, 250 * frame);
	assert_memory_equal(cut.out + 25 * frame, whole.out + 100 * frame, 200 * frame);
	/* What is encoded anew is near to it. */
	for (size_t i = 0; i < 250; i++) {
		double sum = 0;

		for (size_t k = 0; k < frame; k++)
			sum += abs((unsigned char)cut.out[i * frame + k] - (unsigned char)whole.out[(i + 75) * frame +
			    k]);
		if (sum / (double)frame > 4)
			fail_msg("frame %zu differs by %.1f", i, sum / (double)frame);
	}
}

static void
where_groups_do_not_fit_together_all_is_encoded(void **state)
{
	struct place *p = *state;
	const struct av_rendition *made = renditions(p, make(p, "film.mp4", "$FF " COUNTED("25", "14") " " CLICKS("14")
	    " -c:v libx264 -preset ultrafast -crf 10 -c:a aac $O"));
	struct clip c = { .video = made[0].file, .sound = made[1].file, .from_ms = 1000, .to_ms = 13000, .preset =
	    "ultrafast", .dir = p->dir };
	struct fault fault;

	assert_true(clip_make(p->mem, &c, "clip.mp4", &fault));
	holds(p, 25, 324);
	assert_int_equal(c.copied, 0);
	assert_int_equal(c.encoded, 4);
}

static void
sound_alone_is_cut_at_the_sample(void **state)
{
	struct place *p = *state;
	const struct av_rendition *made = renditions(p, make(p, "sound.m4a", "$FF " CLICKS("22") " -c:a aac $O"));
	struct clip c = { .sound = made[0].file, .from_ms = 8123, .to_ms = 15500, .dir = p->dir };
	struct fault fault;
	double length;

	assert_true(clip_make(p->mem, &c, "clip.m4a", &fault));
	assert_in_range(c.duration_ms, 7377, 7400);
	assert_true(abs((int)first_click(p, arena_printf(p->mem, "%s/clip.m4a", p->dir), &length) - 877) <= 2);
	assert_true(length > 7376 && length < 7400);
}

static void
captions_go_along(void **state)
{
	static const char vtt[] = "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nearlier\n\n00:00:02.500 --> 00:00:04.000\n"
	    "within &amp; <i>italic</i>\n\n00:00:09.000 --> 00:00:12.000\nat the end\n";
	struct place *p = *state;
	const struct av_rendition *made = renditions(p, make(p, "film.mp4", "$FF " MOVING("160x90", "25", "12") " "
	    TONE("12") FAST "-c:a aac $O"));
	struct clip c = { .video = made[0].file, .sound = made[1].file, .from_ms = 3000, .to_ms = 10000, .dir = p->dir,
	    .captions = { { vtt, sizeof(vtt) - 1, "de", "Deutsch" }, { vtt, 40, "en", "none of it" } },
	    .n_captions = 2 };
	const struct av_file *f;
	struct fault fault;

	assert_true(clip_make(p->mem, &c, "clip.mp4", &fault));
	f = av_headers(p->mem, arena_printf(p->mem, "%s/clip.mp4", p->dir), &fault);
	assert_int_equal(f->n_subtitles, 1);
	assert_string_equal(f->subtitles[0].language, "de");
	make(p, "text.srt", "$FF -i clip.mp4 -map 0:s:0 $O");
	make(p, "same", "grep -q within text.srt && grep -q '00:00:00,000 --> 00:00:01,000' text.srt && grep -q "
	    "'00:00:06,000 --> 00:00:07,000' text.srt && ! grep -q earlier text.srt && echo yes >$O");
}

static void
nothing_is_made_of_what_is_not_there(void **state)
{
	struct place *p = *state;
	const struct av_rendition *made = renditions(p, make(p, "film.mp4", "$FF " MOVING("160x90", "25", "2") FAST
	    "$O"));
	struct clip c = { .video = made[0].file, .from_ms = 5000, .to_ms = 6000, .dir = p->dir };
	struct fault fault;

	assert_false(clip_make(p->mem, &c, "clip.mp4", &fault));
	assert_int_equal(fault.reason, REASON_NO_STREAMS);
	c.from_ms = 500;
	assert_true(clip_make(p->mem, &c, "clip.mp4", &fault));
	assert_int_equal(c.duration_ms, 1480);
	c.video = make(p, "broken.mp4", "head -c 3000 90p.mp4 >$O");
	assert_false(clip_make(p->mem, &c, "clip.mp4", &fault));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)
	const struct CMUnitTest tests[] = {
		TEST(begins_and_ends_with_the_very_frame),
		TEST(rates_of_broken_numbers_are_cut_as_well),
		TEST(what_is_copied_is_what_there_was),
		TEST(where_groups_do_not_fit_together_all_is_encoded),
		TEST(sound_alone_is_cut_at_the_sample),
		TEST(captions_go_along),
		TEST(nothing_is_made_of_what_is_not_there),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
