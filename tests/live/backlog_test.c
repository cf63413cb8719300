/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames that wait for a slow reader: how many, and which are left out when it is too slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fcgi/live/backlog.h"
#include "fcgi/live/rtmp.h"

static const uint8_t bytes[1000];

static void
put(struct backlog *b, int kind, enum frame_use use, int64_t ms)
{
	struct frame *f = frame_new(kind, use, ms, bytes, sizeof(bytes));

	backlog_put(b, f);
	frame_drop(f);
}

static void
expect(struct backlog *b, int kind, enum frame_use use, int64_t ms)
{
	struct frame *f = backlog_take(b);

	assert_non_null(f);
	assert_int_equal(f->kind, kind);
	assert_int_equal(f->use, use);
	assert_int_equal(f->ms, ms);
	frame_drop(f);
}

static void
it_begins_with_a_key_frame_behind_its_setups(void **state)
{
	struct backlog b = { .bytes_max = 100000, .ms_max = 1000 };

	(void)state;
	put(&b, RTMP_VIDEO, FRAME_SETUP, 0);
	put(&b, RTMP_AUDIO, FRAME_SETUP, 0);
	put(&b, RTMP_AUDIO, FRAME_KEY, 5000);
	put(&b, RTMP_VIDEO, FRAME_OTHER, 5001);
	assert_null(backlog_take(&b));
	put(&b, RTMP_VIDEO, FRAME_KEY, 5040);
	put(&b, RTMP_AUDIO, FRAME_KEY, 5041);
	expect(&b, RTMP_VIDEO, FRAME_SETUP, 0);
	expect(&b, RTMP_AUDIO, FRAME_SETUP, 0);
	expect(&b, RTMP_VIDEO, FRAME_KEY, 5040);
	expect(&b, RTMP_AUDIO, FRAME_KEY, 5041);
	assert_null(backlog_take(&b));
	assert_int_equal(b.dropped, 0);
	backlog_free(&b);
}

/* A frame each 40 ms, a key frame each second. */
static void
put_second(struct backlog *b, int64_t from)
{
	int64_t i;

	for (i = 0; i < 25; i++)
		put(b, RTMP_VIDEO, i == 0 ? FRAME_KEY : FRAME_OTHER, from + 40 * i);
}

static void
one_too_many_drops_to_the_next_key_frame(void **state)
{
	struct backlog b = { .bytes_max = 1 << 20, .ms_max = 1500 };

	(void)state;
	put(&b, RTMP_VIDEO, FRAME_SETUP, 0);
	put_second(&b, 1000);
	put_second(&b, 2000);
	put_second(&b, 3000);
	/* At 2520 it was 1.5 s: 38 frames that waited went, and those up to 3000. */
	assert_int_equal(b.dropped, 50);
	expect(&b, RTMP_VIDEO, FRAME_SETUP, 0);
	expect(&b, RTMP_VIDEO, FRAME_KEY, 3000);
	expect(&b, RTMP_VIDEO, FRAME_OTHER, 3040);
	backlog_free(&b);
}

static void
bytes_are_bounded_too(void **state)
{
	struct backlog b = { .bytes_max = 10000, .ms_max = 100000 };
	int64_t ms;

	(void)state;
	for (ms = 0; ms < 1000; ms++) {
		put(&b, RTMP_VIDEO, ms % 7 == 0 ? FRAME_KEY : FRAME_OTHER, ms);
		assert_true(b.bytes <= 10000);
		assert_int_equal(b.bytes, b.n * sizeof(bytes));
	}
	backlog_free(&b);
}

static void
a_setup_that_changes_while_it_drops_is_not_lost(void **state)
{
	struct backlog b = { .bytes_max = 1 << 20, .ms_max = 500 };

	(void)state;
	put(&b, RTMP_VIDEO, FRAME_SETUP, 0);
	put_second(&b, 1000);
	put(&b, RTMP_VIDEO, FRAME_SETUP, 1990);
	put_second(&b, 2000);
	backlog_clear(&b);
	put(&b, RTMP_VIDEO, FRAME_KEY, 9000);
	expect(&b, RTMP_VIDEO, FRAME_SETUP, 1990);
	expect(&b, RTMP_VIDEO, FRAME_KEY, 9000);
	assert_null(backlog_take(&b));
	backlog_free(&b);
}

static void
sound_alone_begins_anywhere(void **state)
{
	struct backlog b = { .bytes_max = 1 << 20, .ms_max = 500 };

	(void)state;
	put(&b, RTMP_AUDIO, FRAME_SETUP, 0);
	put(&b, RTMP_AUDIO, FRAME_KEY, 10);
	put(&b, RTMP_AUDIO, FRAME_KEY, 30);
	expect(&b, RTMP_AUDIO, FRAME_SETUP, 0);
	expect(&b, RTMP_AUDIO, FRAME_KEY, 10);
	put(&b, RTMP_AUDIO, FRAME_KEY, 600);
	assert_int_equal(b.dropped, 1);
	expect(&b, RTMP_AUDIO, FRAME_SETUP, 0);
	expect(&b, RTMP_AUDIO, FRAME_KEY, 600);
	backlog_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_with_a_key_frame_behind_its_setups),
		cmocka_unit_test(one_too_many_drops_to_the_next_key_frame),
		cmocka_unit_test(bytes_are_bounded_too),
		cmocka_unit_test(a_setup_that_changes_while_it_drops_is_not_lost),
		cmocka_unit_test(sound_alone_begins_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
