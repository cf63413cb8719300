/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Smaller pictures while they are made.  The source of the ladder is compiled into this program with
 * -DKINOTHEK_LADDER_HURRIES.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fcgi/live/flv.h"
#include "fcgi/live/ladder.h"
#include "fcgi/live/rtmp.h"
#include "media/bytes.h"
#include "tests/media/place.h"

#ifndef KINOTHEK_LADDER_HURRIES
#error "compile this with -DKINOTHEK_LADDER_HURRIES"
#endif

enum { BITS = 4000000, STEP_US = 20000, STEPS_MAX = 180 * 1000000 / STEP_US };

static const struct conf conf = { .live_ladder = "yes" };

/* What an encoder sends: the setup of its pictures, and two seconds of them. */
struct source { struct setup setup; const uint8_t *bytes; size_t n; };

static struct source
source_of(struct place *p, const char *pictures, const char *options)
{
	const char *path = make(p, "a.flv", arena_printf(p->mem, "$FF -f lavfi -i testsrc2=s=%s:d=2 -c:v libx264 "
	    "-preset ultrafast -pix_fmt yuv420p -g 25 %s $O", pictures, options));
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = arena_alloc(p->mem, 8 << 20);
	struct source s = { .bytes = bytes };
	struct flv v = { .kind = FLV_NOTHING };
	size_t at;

	assert_non_null(f);
	s.n = fread(bytes, 1, 8 << 20, f);
	fclose(f);
	for (at = 13; v.kind != FLV_SETUP && at + 11 < s.n; at += 11 + (size_t)bytes_big(bytes + at + 1, 3) + 4)
		if (bytes[at] == RTMP_VIDEO)
			assert_true(flv_video(bytes + at + 11, (size_t)bytes_big(bytes + at + 1, 3), &v));
	assert_null(setup_read(&s.setup, v.codec, v.data, v.n));
	return s;
}

static struct source
source(struct place *p)
{
	return source_of(p, "640x480:r=25", "");
}

/* All of its pictures, so many seconds later. */
static void
put(struct ladder *l, const struct source *s, int64_t later)
{
	struct cmaf_frame frame = { .duration = CMAF_VIDEO_SCALE / 25 };
	size_t at, n;
	struct flv v;

	for (at = 13; at + 11 < s->n; at += 11 + n + 4) {
		n = (size_t)bytes_big(s->bytes + at + 1, 3);
		if (s->bytes[at] != RTMP_VIDEO || !flv_video(s->bytes + at + 11, n, &v) || v.kind != FLV_FRAME)
			continue;
		frame.shift = v.shift * (CMAF_VIDEO_SCALE / 1000);
		frame.size = (uint32_t)v.n;
		frame.key = v.key;
		ladder_put(l, (later * 1000 + bytes_big(s->bytes + at + 4, 3)) * (CMAF_VIDEO_SCALE / 1000), &frame,
		    v.data);
	}
}

/* Something comes of them. */
static void
goes_on(struct ladder *l, const struct source *s, int64_t later)
{
	struct ladder_frame *f = NULL;
	bool found = false;
	int i;

	put(l, s, later);
	for (i = 0; i < STEPS_MAX && !found; i++) {
		f = ladder_take(l);
		found = f != NULL && !f->is_setup && f->at >= later * CMAF_VIDEO_SCALE;
		free(f);
		if (f == NULL)
			usleep(STEP_US);
	}
	assert_true(found);
}

/* As many threads as there may be run: none more has a stack. */
static void
no_more_threads(bool on)
{
	static size_t before;
	pthread_attr_t attr;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	if (on)
		assert_int_equal(pthread_attr_getstacksize(&attr, &before), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, on ? (size_t)1 << 50 : before), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

static void
without_room_for_a_thread_there_are_none_for_now(void **state)
{
	struct source s = source(*state);
	struct ladder *l;

	no_more_threads(true);
	assert_string_equal(ladder_start(&conf, &s.setup, BITS, &l), "busy");
	no_more_threads(false);
	assert_null(l);
	assert_null(ladder_start(&conf, &s.setup, BITS, &l));
	ladder_end(l);
}

/* Each FFmpeg ends for what it reads, and none that follows has somebody to write to it. */
static void
without_room_for_another_thread_they_fail(void **state)
{
	struct source s = source(*state);
	const char *why = NULL;
	struct ladder *l;
	int i;

	s.setup.n = 1;
	assert_null(ladder_start(&conf, &s.setup, BITS, &l));
	no_more_threads(true);
	for (i = 0; i < STEPS_MAX && ladder_makes(l, LADDER_RUNGS - 1, &why); i++) {
		if (i % 20 == 0)
			put(l, &s, i / 10);
		usleep(STEP_US);
	}
	no_more_threads(false);
	assert_string_equal(why, "failed");
	ladder_end(l);
}

/* Sound alone goes on.  FFmpeg ends after a second of that. */
static void
pictures_that_come_again_are_made_smaller_again(void **state)
{
	struct source s = source(*state);
	struct ladder *l;
	const char *why;

	assert_null(ladder_start(&conf, &s.setup, BITS, &l));
	goes_on(l, &s, 0);
	/* Longer than all tries of one that fails. */
	sleep(9);
	assert_true(ladder_makes(l, LADDER_RUNGS - 1, &why));
	goes_on(l, &s, 20);
	ladder_end(l);
}

static int
made_once(struct place *p, const char *pictures, const char *options)
{
	struct source s = source_of(p, pictures, options);
	struct ladder_frame *f;
	struct ladder *l;
	int64_t last = 0;
	bool more = false;
	int n = 0, i;

	assert_null(ladder_start(&conf, &s.setup, BITS, &l));
	put(l, &s, 0);
	for (i = 0; i < STEPS_MAX && last < 3 * CMAF_VIDEO_SCALE; i++) {
		/* The last ones come when there is more, of which there is room for two seconds. */
		if (last >= CMAF_VIDEO_SCALE && !more) {
			while (ladder_waits(l) > 0)
				usleep(STEP_US);
			put(l, &s, 2);
			more = true;
		}
		while ((f = ladder_take(l)) != NULL) {
			last = f->is_setup ? last : f->at;
			n += !f->is_setup && f->rung == LADDER_RUNGS - 1 && f->at < 2 * CMAF_VIDEO_SCALE;
			free(f);
		}
		usleep(STEP_US);
	}
	assert_int_equal(ladder_dropped(l), 0);
	ladder_end(l);
	return n;
}

/* How many pictures of the smallest rung come of two seconds.  An FFmpeg that had no time in which to begin was ended
 * with what it had read, and has made none: then it is tried again. */
static int
made(struct place *p, const char *pictures, const char *options)
{
	int n = 0;

	for (int i = 0; i < 5 && n == 0; i++)
		n = made_once(p, pictures, options);
	return n;
}

static void
no_more_than_sixty_pictures_a_second_are_made(void **state)
{
	assert_int_equal(made(*state, "640x480:r=25", ""), 50);
	assert_in_range(made(*state, "640x480:r=60", ""), 119, 120);
	/* Those of the second and a few more: key frames stay. */
	assert_in_range(made(*state, "640x480:r=120", ""), 118, 130);
}

/* However small it is, and as many lines as it has. */
static void
half_pictures_are_made_whole(void **state)
{
	struct source s = source_of(*state, "480x360:r=25", "-flags +ilme+ildct -x264-params interlaced=1");
	struct ladder *l;

	assert_true(s.setup.interlaced);
	s.setup.interlaced = false;
	assert_string_equal(ladder_start(&conf, &s.setup, BITS, &l), "small");
	assert_int_equal(made(*state, "480x360:r=25", "-flags +ilme+ildct -x264-params interlaced=1"), 50);
}

/* A queue that drops says how much. */
static void
what_there_was_no_time_for_is_counted(void **state)
{
	struct source s = source(*state);
	struct ladder *l;
	int64_t i;

	assert_null(ladder_start(&conf, &s.setup, BITS, &l));
	for (i = 0; i < 30; i++)
		put(l, &s, 2 * i);
	assert_true(ladder_dropped(l) > 0);
	ladder_end(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pictures_that_come_again_are_made_smaller_again, place_open, place_close),
		cmocka_unit_test_setup_teardown(no_more_than_sixty_pictures_a_second_are_made, place_open, place_close),
		cmocka_unit_test_setup_teardown(half_pictures_are_made_whole, place_open, place_close),
		cmocka_unit_test_setup_teardown(what_there_was_no_time_for_is_counted, place_open, place_close),
		cmocka_unit_test_setup_teardown(without_room_for_a_thread_there_are_none_for_now, place_open, place_close),
		cmocka_unit_test_setup_teardown(without_room_for_another_thread_they_fail, place_open, place_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
