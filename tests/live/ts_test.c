/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MPEG transport streams: what comes out of them, whatever they are cut into and whatever is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fcgi/live/rtmp.h"
#include "fcgi/live/ts.h"

enum { PACKET = 188, PROGRAM = 0x100, VIDEO = 0x101, AUDIO = 0x102 };

struct heard { int n; struct { int type; uint32_t ms; size_t n; uint8_t bytes[64]; } tags[32]; };

static bool
on_media(void *user, int type, uint32_t ms, const uint8_t *bytes, size_t n)
{
	struct heard *h = user;

	assert_true(h->n < 32);
	h->tags[h->n].type = type;
	h->tags[h->n].ms = ms;
	h->tags[h->n].n = n;
	memcpy(h->tags[h->n].bytes, bytes, n < 64 ? n : 64);
	h->n++;
	return true;
}

/* --- what an encoder would send */

struct stream { uint8_t at[64 * PACKET]; size_t n; uint8_t counter[3]; };

/* The payload fills packets of that PID, and what is left of the last one is stuffed in front of it. */
static void
packets(struct stream *s, unsigned pid, const uint8_t *p, size_t n)
{
	uint8_t *counter = &s->counter[pid == VIDEO ? 1 : pid == AUDIO ? 2 : 0], *to;
	size_t part, stuffed;
	bool first = true;

	for (; n > 0; p += part, n -= part, first = false) {
		to = s->at + s->n;
		s->n += PACKET;
		assert_true(s->n <= sizeof(s->at));
		part = n < PACKET - 4 ? n : PACKET - 4;
		if (n < PACKET - 4 && n > PACKET - 6)
			part = PACKET - 6;
		stuffed = PACKET - 4 - part;
		memset(to, 0xff, PACKET);
		to[0] = 0x47;
		to[1] = (uint8_t)((first ? 0x40 : 0) | pid >> 8);
		to[2] = (uint8_t)pid;
		to[3] = (uint8_t)((stuffed > 0 ? 0x30 : 0x10) | ((*counter)++ & 15));
		if (stuffed > 0) {
			to[4] = (uint8_t)(stuffed - 1);
			to[5] = 0;
		}
		memcpy(to + 4 + stuffed, p, part);
	}
}

static void
section(struct stream *s, unsigned pid, const uint8_t *p, size_t n, bool damaged)
{
	uint8_t all[128] = { 0 };
	uint32_t sum = UINT32_MAX;
	size_t i;
	int bit;

	memcpy(all + 1, p, n);
	for (i = 0; i < n; i++)
		for (sum ^= (uint32_t)p[i] << 24, bit = 0; bit < 8; bit++)
			sum = sum << 1 ^ ((sum >> 31) != 0 ? UINT32_C(0x04c11db7) : 0);
	for (i = 0; i < 4; i++)
		all[1 + n + i] = (uint8_t)(sum >> (24 - 8 * i));
	all[n] ^= damaged ? 1 : 0;
	packets(s, pid, all, 1 + n + 4);
}

static void
tables_of(struct stream *s)
{
	section(s, 0, (const uint8_t[]){ 0, 0xb0, 13, 0, 1, 0xc1, 0, 0, 0, 1, 0xe1, 0x00 }, 12, false);
	section(s, PROGRAM, (const uint8_t[]){ 2, 0xb0, 23, 0, 1, 0xc1, 0, 0, 0xe1, 0x01, 0xf0, 0, 0x1b, 0xe1,
	    0x01, 0xf0, 0, 0x0f, 0xe1, 0x02, 0xf0, 0 }, 22, false);
}

static void
put_time(uint8_t *to, unsigned mark, uint64_t t)
{
	to[0] = (uint8_t)(mark << 4 | (t >> 30 & 7) << 1 | 1);
	to[1] = (uint8_t)(t >> 22);
	to[2] = (uint8_t)(t >> 14 | 1);
	to[3] = (uint8_t)(t >> 7);
	to[4] = (uint8_t)(t << 1 | 1);
}

static void
pes(struct stream *s, unsigned pid, uint64_t shown, uint64_t decoded, const uint8_t *p, size_t n)
{
	uint8_t all[2048] = { 0, 0, 1, pid == VIDEO ? 0xe0 : 0xc0, 0, 0, 0x80, 0xc0, 10 };

	put_time(all + 9, 3, shown);
	put_time(all + 14, 1, decoded);
	memcpy(all + 19, p, n);
	if (pid == AUDIO) {
		all[4] = (uint8_t)((n + 13) >> 8);
		all[5] = (uint8_t)(n + 13);
	}
	packets(s, pid, all, 19 + n);
}

#define SETS 0, 0, 0, 1, 0x09, 0xf0, 0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x1e, 0xaa, 0, 0, 1, 0x68, 0xce, 0x3c, 0x80, 0x11
static const uint8_t key_frame[] = { SETS, 0, 0, 1, 0x65, 0x88, 0x84 };
static const uint8_t next_frame[] = { 0, 0, 0, 1, 0x41, 0x9a, 0x01, 0, 0, 0, 1, 0x41, 0x77 };

/* A frame of AAC: LC, 48 kHz, two channels, with so many bytes behind its header. */
static size_t
sound(uint8_t *to, size_t n, uint8_t fill)
{
	const size_t all = 7 + n;

	memcpy(to, (const uint8_t[]){ 0xff, 0xf1, 0x4c, (uint8_t)(0x80 | all >> 11), (uint8_t)(all >> 3),
	    (uint8_t)(all << 5 | 0x1f), 0xfc }, 7);
	memset(to + 7, fill, n);
	return all;
}

static void
take(struct stream *s, size_t step, struct heard *h)
{
	struct ts *t = ts_new(on_media, h);
	size_t i;

	memset(h, 0, sizeof(*h));
	for (i = 0; i < s->n; i += step)
		assert_null(ts_take(t, s->at + i, s->n - i < step ? s->n - i : step));
	ts_free(t);
}

static void
frames_become_tags(void **state)
{
	static const uint8_t setup[] = { 0x17, 0, 0, 0, 0, 1, 0x42, 0xc0, 0x1e, 0xff, 0xe1, 0, 5, 0x67, 0x42, 0xc0,
		0x1e, 0xaa, 1, 0, 5, 0x68, 0xce, 0x3c, 0x80, 0x11 };
	static const uint8_t key[] = { 0x17, 1, 0, 0, 80, 0, 0, 0, 3, 0x65, 0x88, 0x84 };
	static const uint8_t next[] = { 0x27, 1, 0, 0, 0, 0, 0, 0, 3, 0x41, 0x9a, 0x01, 0, 0, 0, 2, 0x41, 0x77 };
	static struct stream s;
	struct heard h;
	size_t step;

	memset(&s, 0, sizeof(s));
	tables_of(&s);
	pes(&s, VIDEO, 90000 + 7200, 90000, key_frame, sizeof(key_frame));
	pes(&s, VIDEO, 93600, 93600, next_frame, sizeof(next_frame));
	pes(&s, VIDEO, 97200, 97200, next_frame, sizeof(next_frame));
	for (step = 1; step < 400; step += 33) {
		take(&s, step, &h);
		/* The last one waits for what ends it. */
		assert_int_equal(h.n, 3);
		assert_int_equal(h.tags[0].type, RTMP_VIDEO);
		assert_int_equal(h.tags[0].n, sizeof(setup));
		assert_memory_equal(h.tags[0].bytes, setup, sizeof(setup));
		assert_int_equal(h.tags[1].n, sizeof(key));
		assert_memory_equal(h.tags[1].bytes, key, sizeof(key));
		assert_int_equal(h.tags[2].n, sizeof(next));
		assert_memory_equal(h.tags[2].bytes, next, sizeof(next));
		assert_int_equal(h.tags[2].ms - h.tags[1].ms, 40);
	}
}

static void
sound_is_timed_by_its_samples_and_may_go_on_in_the_next_packet(void **state)
{
	static struct stream s;
	uint8_t frames[512];
	struct heard h;
	size_t n;

	memset(&s, 0, sizeof(s));
	tables_of(&s);
	n = sound(frames, 20, 1);
	n += sound(frames + n, 30, 2);
	n += sound(frames + n, 40, 3);
	pes(&s, AUDIO, 86400, 86400, frames, 0);
	pes(&s, AUDIO, 90000, 90000, frames, n - 11);
	pes(&s, AUDIO, 90000 + 5760, 90000 + 5760, frames + n - 11, 11);
	take(&s, 1316, &h);
	assert_int_equal(h.n, 4);
	assert_int_equal(h.tags[0].type, RTMP_AUDIO);
	assert_int_equal(h.tags[0].n, 4);
	assert_memory_equal(h.tags[0].bytes, ((uint8_t[]){ 0xaf, 0, 0x11, 0x90 }), 4);
	assert_int_equal(h.tags[1].n, 22);
	assert_in_range(h.tags[2].ms - h.tags[1].ms, 21, 22);
	assert_int_equal(h.tags[3].n, 42);
	assert_int_equal(h.tags[3].bytes[41], 3);
	assert_in_range(h.tags[3].ms - h.tags[1].ms, 42, 43);
}

static void
a_packet_that_is_missing_costs_its_frame_alone(void **state)
{
	static struct stream s, less;
	uint8_t frame[600] = { SETS, 0, 0, 1, 0x65 };
	struct heard h;
	size_t i, big = 0;

	memset(frame + 28, 0x55, sizeof(frame) - 28);
	memset(&s, 0, sizeof(s));
	tables_of(&s);
	pes(&s, VIDEO, 90000, 90000, key_frame, sizeof(key_frame));
	big = s.n;
	pes(&s, VIDEO, 93600, 93600, frame, sizeof(frame));
	pes(&s, VIDEO, 97200, 97200, next_frame, sizeof(next_frame));
	pes(&s, VIDEO, 100800, 100800, next_frame, sizeof(next_frame));
	take(&s, 1316, &h);
	assert_int_equal(h.n, 4);
	/* Without the second packet of the large one. */
	less = s;
	memmove(less.at + big + PACKET, less.at + big + 2 * PACKET, less.n - big - 2 * PACKET);
	less.n -= PACKET;
	take(&less, 1316, &h);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.tags[2].ms - h.tags[1].ms, 80);
	/* And one that comes twice is there once. */
	less = s;
	for (i = less.n; i > big + 2 * PACKET; i--)
		less.at[i + PACKET - 1] = less.at[i - 1];
	memcpy(less.at + big + 2 * PACKET, less.at + big + PACKET, PACKET);
	less.n += PACKET;
	take(&less, 1316, &h);
	assert_int_equal(h.n, 4);
}

static void
times_go_on_where_their_33_bits_end(void **state)
{
	static struct stream s;
	const uint64_t all = UINT64_C(1) << 33;
	struct heard h;

	memset(&s, 0, sizeof(s));
	tables_of(&s);
	pes(&s, VIDEO, all - 1800, all - 1800, key_frame, sizeof(key_frame));
	pes(&s, VIDEO, 1800, 1800, next_frame, sizeof(next_frame));
	pes(&s, VIDEO, 5400, 5400, next_frame, sizeof(next_frame));
	take(&s, 1316, &h);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.tags[2].ms - h.tags[1].ms, 40);
}

static const char *
fault_of(const uint8_t *bytes, size_t n)
{
	struct heard h = { 0 };
	struct ts *t = ts_new(on_media, &h);
	const char *fault = ts_take(t, bytes, n);

	ts_free(t);
	return fault;
}

static void
what_is_no_such_stream_is_told(void **state)
{
	static struct stream s;
	uint8_t *noise = calloc(1, 2 << 20);

	assert_non_null(noise);
	assert_string_equal(fault_of(noise, 2 << 20), "This is no MPEG transport stream.");
	memset(noise, 0x47, 2 << 20);
	assert_string_equal(fault_of(noise, 2 << 20), "This is no MPEG transport stream.");
	free(noise);
	memset(&s, 0, sizeof(s));
	section(&s, 0, (const uint8_t[]){ 0, 0xb0, 13, 0, 1, 0xc1, 0, 0, 0, 1, 0xe1, 0x00 }, 12, false);
	section(&s, PROGRAM, (const uint8_t[]){ 2, 0xb0, 18, 0, 1, 0xc1, 0, 0, 0xe1, 0x01, 0xf0, 0, 0x42, 0xe1, 0x01,
	    0xf0, 0 }, 17, false);
	assert_string_equal(fault_of(s.at, s.n), "Only H.264, HEVC and AAC are taken by this way.");
	/* A table that was damaged on its way says nothing. */
	memset(&s, 0, sizeof(s));
	section(&s, 0, (const uint8_t[]){ 0, 0xb0, 13, 0, 1, 0xc1, 0, 0, 0, 1, 0xe1, 0x00 }, 12, false);
	section(&s, PROGRAM, (const uint8_t[]){ 2, 0xb0, 18, 0, 1, 0xc1, 0, 0, 0xe1, 0x01, 0xf0, 0, 0x42, 0xe1, 0x01,
	    0xf0, 0 }, 17, true);
	assert_null(fault_of(s.at, s.n));
}

/* How many tags of video come where the tables name two programs, of which the second one has them. */
static int
tags_of_program(size_t program)
{
	static struct stream s;
	struct heard h = { 0 };
	struct ts *t = ts_new(on_media, &h);

	memset(&s, 0, sizeof(s));
	section(&s, 0, (const uint8_t[]){ 0, 0xb0, 17, 0, 1, 0xc1, 0, 0, 0, 1, 0xe2, 0x22, 0, 2, 0xe0 | PROGRAM >> 8,
	    PROGRAM & 0xff }, 16, false);
	section(&s, PROGRAM, (const uint8_t[]){ 2, 0xb0, 18, 0, 2, 0xc1, 0, 0, 0xe0 | VIDEO >> 8, VIDEO & 0xff, 0xf0, 0,
	    0x1b, 0xe0 | VIDEO >> 8, VIDEO & 0xff, 0xf0, 0 }, 17, false);
	pes(&s, VIDEO, 90000, 90000, key_frame, sizeof(key_frame));
	pes(&s, VIDEO, 93600, 93600, next_frame, sizeof(next_frame));
	ts_choose(t, program);
	assert_null(ts_take(t, s.at, s.n));
	ts_free(t);
	return (int)h.n;
}

static void
of_several_programs_the_one_that_is_chosen_is_read(void **state)
{
	assert_int_equal(tags_of_program(0), 0);
	assert_in_range(tags_of_program(1), 2, 3);
	assert_int_equal(tags_of_program(2), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_become_tags),
		cmocka_unit_test(sound_is_timed_by_its_samples_and_may_go_on_in_the_next_packet),
		cmocka_unit_test(a_packet_that_is_missing_costs_its_frame_alone),
		cmocka_unit_test(times_go_on_where_their_33_bits_end),
		cmocka_unit_test(what_is_no_such_stream_is_told),
		cmocka_unit_test(of_several_programs_the_one_that_is_chosen_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
