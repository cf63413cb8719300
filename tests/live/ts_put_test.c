/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tags that become a transport stream are the same when they are read from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/live/rtmp.h"
#include "fcgi/live/ts.h"
#include "fcgi/live/ts_put.h"

enum { TAGS = 64, BYTES = 70000, PACKET = 188 };

static const uint8_t avc[] = { 0x17, 0, 0, 0, 0, 1, 0x64, 0, 0x1f, 0xff, 0xe1, 0, 6, 0x67, 0x64, 0, 0x1f, 1, 2, 1, 0, 5,
	0x68, 1, 2, 3, 4 };
static const uint8_t aac[] = { 0xaf, 0, 0x11, 0x90 };

struct heard { int n; struct { int kind; uint32_t ms; size_t n; uint8_t bytes[BYTES]; } tags[TAGS]; };

static bool
on_tag(void *user, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	struct heard *h = user;

	assert_true(h->n < TAGS && n <= BYTES);
	h->tags[h->n].kind = kind;
	h->tags[h->n].ms = ms;
	h->tags[h->n].n = n;
	memcpy(h->tags[h->n++].bytes, bytes, n);
	return true;
}

/* A picture of one unit of that size. */
static size_t
picture(uint8_t *to, bool key, int shift, size_t n)
{
	memcpy(to, (uint8_t[]){ key ? 0x17 : 0x27, 1, 0, (uint8_t)(shift >> 8), (uint8_t)shift, 0, (uint8_t)(n >> 16),
	    (uint8_t)(n >> 8), (uint8_t)n, key ? 0x65 : 0x41 }, 10);
	memset(to + 10, 0x5a, n - 1);
	return 9 + n;
}

static void
what_is_put_is_read_again(void **state)
{
	static const size_t sizes[] = { 60000, 1, 2, 130, 140, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160,
	    161, 162,
		163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177 };
	const size_t all = sizeof(sizes) / sizeof(*sizes);
	static uint8_t frame[BYTES];
	static struct heard h;
	struct ts_put *put = ts_put_new();
	struct ts *ts = ts_new(on_tag, &h);
	const uint8_t *out;
	size_t n, i;

	(void)state;
	memset(&h, 0, sizeof(h));
	assert_true(ts_put_tag(put, RTMP_VIDEO, 0, avc, sizeof(avc)));
	assert_true(ts_put_tag(put, RTMP_AUDIO, 0, aac, sizeof(aac)));
	for (i = 0; i < all; i++) {
		n = picture(frame, i == 0, i % 2 == 0 ? 80 : 0, sizes[i]);
		assert_true(ts_put_tag(put, RTMP_VIDEO, (uint32_t)(40 * i), frame, n));
	}
	/* What begins ends the one before it. */
	n = picture(frame, true, 0, 100);
	assert_true(ts_put_tag(put, RTMP_VIDEO, 40000, frame, n));
	n = ts_put_out(put, &out);
	assert_int_equal(n % PACKET, 0);
	for (i = 0; i < n; i += PACKET)
		assert_int_equal(out[i], 0x47);
	assert_null(ts_take(ts, out, n));
	ts_put_sent(put, n);
	assert_int_equal(ts_put_out(put, &out), 0);
	assert_int_equal(h.n, all + 1);
	assert_int_equal(h.tags[0].n, sizeof(avc));
	assert_memory_equal(h.tags[0].bytes, avc, sizeof(avc));
	for (i = 0; i < all; i++) {
		n = picture(frame, i == 0, i % 2 == 0 ? 80 : 0, sizes[i]);
		assert_int_equal(h.tags[i + 1].n, n);
		assert_memory_equal(h.tags[i + 1].bytes, frame, n);
		assert_int_equal(h.tags[i + 1].ms - h.tags[1].ms, 40 * i);
	}
	ts_free(ts);
	ts_put_free(put);
}

static void
sound_goes_beside_pictures_and_alone(void **state)
{
	static struct heard h;
	uint8_t frame[302] = { 0xaf, 1 };
	struct ts_put *put;
	struct ts *ts;
	const uint8_t *out;
	size_t n;
	int with;
	uint32_t i;

	(void)state;
	memset(frame + 2, 0x33, 300);
	for (with = 0; with < 2; with++) {
		memset(&h, 0, sizeof(h));
		put = ts_put_new();
		ts = ts_new(on_tag, &h);
		if (with == 1)
			assert_true(ts_put_tag(put, RTMP_VIDEO, 0, avc, sizeof(avc)));
		assert_true(ts_put_tag(put, RTMP_AUDIO, 0, aac, sizeof(aac)));
		for (i = 0; i < 20; i++)
			assert_true(ts_put_tag(put, RTMP_AUDIO, 21 * i, frame, sizeof(frame)));
		n = ts_put_out(put, &out);
		assert_null(ts_take(ts, out, n));
		assert_int_equal(h.n, 21);
		assert_int_equal(h.tags[0].n, sizeof(aac));
		assert_memory_equal(h.tags[0].bytes, aac, sizeof(aac));
		assert_int_equal(h.tags[20].n, sizeof(frame));
		assert_memory_equal(h.tags[20].bytes, frame, sizeof(frame));
		assert_in_range(h.tags[20].ms - h.tags[1].ms, 21 * 19 - 1, 21 * 19 + 1);
		ts_free(ts);
		ts_put_free(put);
	}
}

static void
other_codecs_and_damage_are_told(void **state)
{
	static const uint8_t hevc[] = { 0x90, 'h', 'v', 'c', '1', 1, 2, 3, 4, 5, 6, 7, 8 };
	uint8_t bad[sizeof(avc)];
	struct ts_put *put = ts_put_new();
	size_t n;

	(void)state;
	assert_false(ts_put_tag(put, RTMP_VIDEO, 0, hevc, sizeof(hevc)));
	for (n = 6; n < sizeof(avc); n++)
		assert_false(ts_put_tag(put, RTMP_VIDEO, 0, avc, n));
	memcpy(bad, avc, sizeof(avc));
	bad[11] = 0xff;
	assert_false(ts_put_tag(put, RTMP_VIDEO, 0, bad, sizeof(bad)));
	/* A unit that says to be longer than its frame. */
	assert_true(ts_put_tag(put, RTMP_VIDEO, 0, avc, sizeof(avc)));
	assert_true(ts_put_tag(put, RTMP_VIDEO, 0, (const uint8_t[]){ 0x17, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x65
	    }, 10));
	ts_put_free(put);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_read_again),
		cmocka_unit_test(sound_goes_beside_pictures_and_alone),
		cmocka_unit_test(other_codecs_and_damage_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
