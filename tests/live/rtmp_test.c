/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RTMP: what encoders send is understood, whatever it is cut into, and what strangers send is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "fcgi/live/amf.h"
#include "fcgi/live/rtmp.h"

enum { SHAKE = 1536 };

struct heard {
	struct arena *mem;
	struct rtmp *rtmp;
	char app[64], key[256];
	int asked, ended, n;
	bool refuses, grants;
	struct { int kind; uint32_t ms; size_t n; uint8_t first, last; } media[32];
};

static void
on_publish(void *user, const char *app, const char *key)
{
	struct heard *h = user;

	h->asked++;
	snprintf(h->app, sizeof(h->app), "%s", app);
	snprintf(h->key, sizeof(h->key), "%s", key);
	if (h->grants)
		rtmp_grant(h->rtmp);
	if (h->refuses)
		rtmp_refuse(h->rtmp, "Not today.");
}

static bool
on_media(void *user, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	struct heard *h = user;

	assert_true(h->n < 32);
	h->media[h->n].kind = kind;
	h->media[h->n].ms = ms;
	h->media[h->n].n = n;
	h->media[h->n].first = n > 0 ? bytes[0] : 0;
	h->media[h->n++].last = n > 0 ? bytes[n - 1] : 0;
	return true;
}

static void
on_unpublish(void *user)
{
	((struct heard *)user)->ended++;
}

static const struct rtmp_calls calls = { on_publish, on_media, on_unpublish };

static int
setup(void **state)
{
	struct heard *h = calloc(1, sizeof(*h));

	h->mem = arena_new(64 << 20);
	h->rtmp = rtmp_new(&calls, h);
	h->grants = true;
	*state = h;
	return 0;
}

static int
teardown(void **state)
{
	struct heard *h = *state;

	rtmp_free(h->rtmp);
	arena_free(h->mem);
	free(h);
	return 0;
}

/* --- what an encoder sends */

static void
put(struct buf *b, uint32_t x, unsigned n)
{
	while (n-- > 0)
		buf_char(b, (char)(x >> 8 * n));
}

static void
put_hello(struct buf *b)
{
	int i;

	buf_char(b, 3);
	for (i = 0; i < SHAKE; i++)
		buf_char(b, (char)(i * 7));
}

static void
put_echo(struct buf *b)
{
	int i;

	for (i = 0; i < SHAKE; i++)
		buf_char(b, 0);
}

/* A message whose chunks hold `size` bytes each. */
static void
put_message(struct buf *b, unsigned id, uint32_t ms, unsigned type, const void *body, size_t n, size_t size)
{
	const char *p = body;
	size_t part;

	put(b, id, 1);
	put(b, ms < 0xffffff ? ms : 0xffffff, 3);
	put(b, (uint32_t)n, 3);
	put(b, type, 1);
	put(b, 0x01000000, 4);
	if (ms >= 0xffffff)
		put(b, ms, 4);
	for (;;) {
		part = n < size ? n : size;
		buf_add(b, p, part);
		p += part;
		n -= part;
		if (n == 0)
			return;
		put(b, 0xc0 | id, 1);
		if (ms >= 0xffffff)
			put(b, ms, 4);
	}
}

static void
put_connect(struct heard *h, struct buf *b, const char *extra)
{
	struct buf m = BUF(h->mem);

	amf_put_string(&m, "connect");
	amf_put_number(&m, 1);
	amf_put_begin(&m);
	amf_put_key(&m, "app");
	amf_put_string(&m, "live");
	if (extra != NULL) {
		amf_put_key(&m, extra);
		amf_put_null(&m);
	}
	amf_put_end(&m);
	put_message(b, 3, 0, 20, m.text, m.len, 128);
}

static void
put_publish(struct heard *h, struct buf *b, const char *key)
{
	struct buf m = BUF(h->mem);

	amf_put_string(&m, "publish");
	amf_put_number(&m, 5);
	amf_put_null(&m);
	amf_put_string(&m, key);
	amf_put_string(&m, "live");
	put_message(b, 3, 0, 20, m.text, m.len, 128);
}

static void
put_beginning(struct heard *h, struct buf *b)
{
	put_hello(b);
	put_echo(b);
	put_connect(h, b, NULL);
	put_publish(h, b, "secret?token=x");
}

static const char *
take(struct heard *h, const struct buf *b)
{
	return rtmp_take(h->rtmp, (const uint8_t *)b->text, b->len);
}

/* Does the text stand in what is to be sent? */
static bool
says(const struct heard *h, const char *text)
{
	const uint8_t *out;
	size_t n = rtmp_out(h->rtmp, &out);

	return n > 0 && memmem(out, n, text, strlen(text)) != NULL;
}

static void
a_publisher_is_asked_for_and_granted(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem);

	put_beginning(h, &b);
	assert_null(take(h, &b));
	assert_string_equal(h->app, "live");
	assert_string_equal(h->key, "secret");
	assert_int_equal(rtmp_stage(h->rtmp), RTMP_PUBLISHES);
	assert_true(says(h, "NetConnection.Connect.Success"));
	assert_true(says(h, "NetStream.Publish.Start"));
}

static void
the_handshake_says_back_what_came(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem);
	const uint8_t *out;

	put_hello(&b);
	assert_null(take(h, &b));
	assert_int_equal(rtmp_out(h->rtmp, &out), 1 + 2 * SHAKE);
	assert_int_equal(out[0], 3);
	assert_memory_equal(out + 1 + SHAKE, b.text + 1, SHAKE);
}

static void
bytes_may_come_one_by_one(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem);
	size_t i;

	put_beginning(h, &b);
	put_message(&b, 6, 40, RTMP_VIDEO, "0123456789", 10, 128);
	for (i = 0; i < b.len; i++)
		assert_null(rtmp_take(h->rtmp, (const uint8_t *)b.text + i, 1));
	assert_int_equal(h->n, 1);
	assert_int_equal(h->media[0].n, 10);
	assert_int_equal(h->media[0].ms, 40);
}

static void
a_refusal_names_its_reason(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem);

	h->grants = false;
	h->refuses = true;
	put_beginning(h, &b);
	put_message(&b, 6, 0, RTMP_VIDEO, "x", 1, 128);
	assert_null(take(h, &b));
	assert_true(says(h, "NetStream.Publish.BadName"));
	assert_true(says(h, "Not today."));
	assert_int_equal(h->n, 0);
}

static void
media_before_a_grant_is_left_out(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem);

	h->grants = false;
	put_beginning(h, &b);
	put_message(&b, 6, 0, RTMP_VIDEO, "x", 1, 128);
	assert_null(take(h, &b));
	assert_int_equal(h->n, 0);
	rtmp_grant(h->rtmp);
	b.len = 0;
	put_message(&b, 6, 0, RTMP_VIDEO, "x", 1, 128);
	assert_null(take(h, &b));
	assert_int_equal(h->n, 1);
}

/* Formats 1, 2 and 3 leave out what is as before; sound follows video on the same chunk stream, as OBS sends it. */
static void
a_short_header_goes_on_from_the_one_before(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem);

	put_beginning(h, &b);
	put_message(&b, 4, 100, RTMP_VIDEO, "abc", 3, 128);
	put(&b, 0x44, 1);	/* format 1: delta, length, type */
	put(&b, 20, 3);
	put(&b, 2, 3);
	put(&b, RTMP_AUDIO, 1);
	buf_text(&b, "de");
	put(&b, 0x84, 1);	/* format 2: delta */
	put(&b, 21, 3);
	buf_text(&b, "fg");
	put(&b, 0xc4, 1);	/* format 3: the same delta once more */
	buf_text(&b, "hi");
	assert_null(take(h, &b));
	assert_int_equal(h->n, 4);
	assert_int_equal(h->media[1].kind, RTMP_AUDIO);
	assert_int_equal(h->media[1].ms, 120);
	assert_int_equal(h->media[2].ms, 141);
	assert_int_equal(h->media[3].ms, 162);
	assert_int_equal(h->media[3].last, 'i');
}

static void
messages_may_interleave(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem), v = BUF(h->mem);
	char body[200];

	memset(body, 'v', sizeof(body));
	put_beginning(h, &b);
	put_message(&v, 6, 0, RTMP_VIDEO, body, sizeof(body), 128);
	buf_add(&b, v.text, 12 + 128);
	put_message(&b, 4, 5, RTMP_AUDIO, "aaa", 3, 128);
	buf_add(&b, v.text + 12 + 128, v.len - 12 - 128);
	assert_null(take(h, &b));
	assert_int_equal(h->n, 2);
	assert_int_equal(h->media[0].kind, RTMP_AUDIO);
	assert_int_equal(h->media[1].n, sizeof(body));
	assert_int_equal(h->media[1].last, 'v');
}

static void
an_extended_time_may_be_repeated_or_not(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem), v = BUF(h->mem);
	char body[300];

	memset(body, 'v', sizeof(body));
	body[299] = 'e';
	put_beginning(h, &b);
	put_message(&b, 6, 0x01000000, RTMP_VIDEO, body, sizeof(body), 128);
	put_message(&v, 6, 0x01000020, RTMP_VIDEO, body, sizeof(body), 128);
	/* 12 + 4 bytes of header, 128 of body, then a header of one byte without the time, twice. */
	buf_add(&b, v.text, 16 + 128 + 1);
	buf_add(&b, v.text + 16 + 128 + 5, 128 + 1);
	buf_add(&b, v.text + 16 + 2 * (128 + 5), v.len - 16 - 2 * (128 + 5));
	assert_null(take(h, &b));
	assert_int_equal(h->n, 2);
	assert_int_equal(h->media[0].ms, 0x01000000);
	assert_int_equal(h->media[1].ms, 0x01000020);
	assert_int_equal(h->media[1].n, sizeof(body));
	assert_int_equal(h->media[1].last, 'e');
}

static void
a_chunk_size_is_taken_within_bounds(void **state)
{
	static const struct { uint32_t size; bool fine; } sizes[] = {
		{ 1, true }, { 128, true }, { 1 << 20, true }, { (1 << 20) + 1, false }, { 0, false },
		{ 0x80000000, false },
	};
	struct heard *h = *state;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct buf b = BUF(h->mem), n = BUF(h->mem);

		rtmp_free(h->rtmp);
		h->rtmp = rtmp_new(&calls, h);
		h->n = 0;
		put_beginning(h, &b);
		put(&n, sizes[i].size, 4);
		put_message(&b, 2, 0, 1, n.text, 4, 128);
		if (sizes[i].fine)
			put_message(&b, 6, 0, RTMP_VIDEO, "abcd", 4, sizes[i].size);
		assert_true((take(h, &b) == NULL) == sizes[i].fine);
		assert_int_equal(h->n, sizes[i].fine ? 1 : 0);
	}
}

static void
what_is_no_rtmp_is_refused_at_its_first_byte(void **state)
{
	struct heard *h = *state;

	assert_non_null(rtmp_take(h->rtmp, (const uint8_t *)"GET / HTTP/1.1", 14));
}

static void
a_ping_is_answered(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem);
	const uint8_t *out;

	put_beginning(h, &b);
	assert_null(take(h, &b));
	rtmp_sent(h->rtmp, rtmp_out(h->rtmp, &out));
	b.len = 0;
	put_message(&b, 2, 0, 4, "\0\6\1\2\3\4", 6, 128);
	assert_null(take(h, &b));
	assert_int_equal(rtmp_out(h->rtmp, &out), 12 + 6);
	assert_memory_equal(out + 12, "\0\7\1\2\3\4", 6);
}

static void
what_came_is_acknowledged_every_half_window(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem), n = BUF(h->mem);
	char body[3000] = { 0 };
	const uint8_t *out;

	put_beginning(h, &b);
	put(&n, 4096, 4);
	put_message(&b, 2, 0, 5, n.text, 4, 128);
	assert_null(take(h, &b));
	rtmp_sent(h->rtmp, rtmp_out(h->rtmp, &out));
	b.len = 0;
	put_message(&b, 6, 0, RTMP_VIDEO, body, sizeof(body), 128);
	assert_null(take(h, &b));
	assert_int_equal(rtmp_out(h->rtmp, &out), 12 + 4);
	assert_int_equal(out[7], 3);
}

static void
unknown_messages_and_commands_are_passed_over(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem), m = BUF(h->mem);

	put_beginning(h, &b);
	amf_put_string(&m, "somethingNew");
	amf_put_number(&m, 9);
	put_message(&b, 3, 0, 20, m.text, m.len, 128);
	put_message(&b, 3, 0, 99, "zz", 2, 128);
	put_message(&b, 6, 0, RTMP_VIDEO, "x", 1, 128);
	assert_null(take(h, &b));
	assert_int_equal(h->n, 1);
}

static void
a_publisher_may_end(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem), m = BUF(h->mem);

	put_beginning(h, &b);
	amf_put_string(&m, "deleteStream");
	amf_put_number(&m, 9);
	put_message(&b, 3, 0, 20, m.text, m.len, 128);
	assert_null(take(h, &b));
	assert_int_equal(h->ended, 1);
}

/* Message 17, which holds AMF0 behind a byte. */
static void
a_command_may_come_by_its_other_number(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem), m = BUF(h->mem);

	put_beginning(h, &b);
	buf_char(&m, '\0');
	amf_put_string(&m, "deleteStream");
	amf_put_number(&m, 9);
	put_message(&b, 3, 0, 17, m.text, m.len, 128);
	assert_null(take(h, &b));
	assert_int_equal(h->ended, 1);
	/* AMF3 itself is spoken by nobody that sends. */
	b.len = 0;
	put_message(&b, 3, 0, 17, "\21\6\31deleteStream", 15, 128);
	assert_non_null(take(h, &b));
}

static void
a_list_of_codecs_is_answered_with_ours(void **state)
{
	struct heard *h = *state;
	struct buf b = BUF(h->mem);

	put_hello(&b);
	put_echo(&b);
	put_connect(h, &b, "fourCcList");
	assert_null(take(h, &b));
	assert_true(says(h, "hvc1"));
}

/* Each is a message of a stranger that would fill memory, or that has no beginning. */
static void
what_goes_beyond_the_limits_ends_the_connection(void **state)
{
	struct heard *h = *state;
	int i;

	for (i = 0; i < 5; i++) {
		struct buf b = BUF(h->mem);
		char body[100] = { 0 };
		unsigned j;

		rtmp_free(h->rtmp);
		h->rtmp = rtmp_new(&calls, h);
		put_hello(&b);
		put_echo(&b);
		switch (i) {
		case 0:		/* 17 chunk streams */
			for (j = 2; j < 20; j++)
				put_message(&b, j, 0, 99, "x", 1, 128);
			break;
		case 1:		/* a command of a megabyte */
			put(&b, 3, 1);
			put(&b, 0, 3);
			put(&b, 1 << 20, 3);
			put(&b, 20, 1);
			put(&b, 0, 4);
			break;
		case 2:		/* more than 64 KiB of half-read messages before it is granted */
			for (j = 4; j < 4 + 8; j++) {
				struct buf m = BUF(h->mem);
				char big[16000] = { 0 };

				put_message(&m, j, 0, RTMP_VIDEO, big, sizeof(big), 128);
				/* Without its last chunk. */
				buf_add(&b, m.text, m.len - 129);
			}
			break;
		case 3:		/* goes on from nothing */
			put(&b, 0xc5, 1);
			buf_add(&b, body, sizeof(body));
			break;
		default:	/* asks so often that its answers pile up */
			put_connect(h, &b, NULL);
			for (j = 0; j < 4000; j++)
				put_message(&b, 2, 0, 4, "\0\6\1\2\3\4", 6, 128);
			break;
		}
		if (take(h, &b) == NULL)
			fail_msg("case %d", i);
	}
}

static void
values_of_any_depth_or_length_are_refused(void **state)
{
	struct heard *h = *state;
	struct buf deep = BUF(h->mem), many = BUF(h->mem), cut = BUF(h->mem), fine = BUF(h->mem);
	struct amf a;
	int i;

	for (i = 0; i < 20; i++) {
		amf_put_begin(&deep);
		amf_put_key(&deep, "a");
	}
	amf_put_null(&deep);
	for (i = 0; i < 20; i++)
		amf_put_end(&deep);
	a = AMF((const uint8_t *)deep.text, deep.len);
	assert_false(amf_skip(&a));
	amf_put_begin(&many);
	for (i = 0; i < 200; i++) {
		amf_put_key(&many, "k");
		amf_put_null(&many);
	}
	amf_put_end(&many);
	a = AMF((const uint8_t *)many.text, many.len);
	assert_false(amf_skip(&a));
	buf_add(&cut, "\2\xff\xff" "abc", 6);
	a = AMF((const uint8_t *)cut.text, cut.len);
	assert_false(amf_skip(&a));
	/* A strict array of a billion, of which none is there. */
	a = AMF((const uint8_t *)"\x0a\x3b\x9a\xca\0", 5);
	assert_false(amf_skip(&a));
	amf_put_begin(&fine);
	amf_put_key(&fine, "n");
	amf_put_number(&fine, 1.5);
	amf_put_end(&fine);
	a = AMF((const uint8_t *)fine.text, fine.len);
	assert_true(amf_skip(&a));
	assert_ptr_equal(a.at, a.end);
}

/* --- the other side */

/* What either says goes to the other one, in pieces, until nobody says anything. */
static void
talk(struct rtmp *a, struct rtmp *b, size_t piece)
{
	struct rtmp *sides[2] = { a, b };
	const uint8_t *bytes;
	bool silent = false;
	size_t n, i;

	while (!silent)
		for (silent = true, i = 0; i < 2; i++)
			if ((n = rtmp_out(sides[i], &bytes)) > 0) {
				n = n < piece ? n : piece;
				silent = false;
				assert_null(rtmp_take(sides[1 - i], bytes, n));
				rtmp_sent(sides[i], n);
			}
}

static void
what_is_pushed_arrives(void **state)
{
	static const size_t pieces[] = { 1, 1000, 1 << 20 };
	struct heard *h = *state;
	static uint8_t large[100000];
	struct rtmp *push;
	size_t i;

	large[0] = 'l';
	large[sizeof(large) - 1] = 'e';
	for (i = 0; i < 3; i++) {
		rtmp_free(h->rtmp);
		h->rtmp = rtmp_new(&calls, h);
		h->n = h->ended = 0;
		push = rtmp_push("app/in", "rtmp://live.example.org/app/in", "s3cret");
		talk(push, h->rtmp, pieces[i]);
		assert_string_equal(h->app, "app/in");
		assert_string_equal(h->key, "s3cret");
		assert_int_equal(rtmp_stage(push), RTMP_PUBLISHES);
		rtmp_put(push, RTMP_VIDEO, 40, large, sizeof(large));
		rtmp_put(push, RTMP_AUDIO, 0xffffff + 1, (const uint8_t *)"ab", 2);
		rtmp_put(push, RTMP_VIDEO, 0xffffff + 2, large, sizeof(large));
		talk(push, h->rtmp, pieces[i]);
		assert_int_equal(h->n, 3);
		assert_int_equal(h->media[0].ms, 40);
		assert_int_equal(h->media[0].n, sizeof(large));
		assert_int_equal(h->media[0].last, 'e');
		assert_int_equal(h->media[1].kind, RTMP_AUDIO);
		assert_int_equal(h->media[1].ms, 0xffffff + 1);
		assert_int_equal(h->media[2].ms, 0xffffff + 2);
		assert_int_equal(h->media[2].n, sizeof(large));
		assert_int_equal(h->media[2].last, 'e');
		rtmp_end(push);
		talk(push, h->rtmp, pieces[i]);
		assert_true(h->ended > 0);
		rtmp_free(push);
	}
}

static void
who_asks_while_a_large_frame_waits_is_answered_but_not_for_ever(void **state)
{
	static const uint8_t ping[18] = { 2, 0, 0, 0, 0, 0, 6, 4, 0, 0, 0, 0, 0, 6, 'p', 'i', 'n', 'g' };
	static uint8_t large[300000];
	struct heard *h = *state;
	struct rtmp *push = rtmp_push("live", "rtmp://live.example.org/live", "key");
	const uint8_t *bytes;
	size_t n, i;

	talk(push, h->rtmp, 1 << 20);
	rtmp_put(push, RTMP_VIDEO, 40, large, sizeof(large));
	assert_null(rtmp_take(push, ping, sizeof(ping)));
	assert_int_equal(rtmp_stage(push), RTMP_PUBLISHES);
	n = rtmp_out(push, &bytes);
	assert_true(n > sizeof(large));
	assert_memory_equal(bytes + n - 6, "\0\7ping", 6);
	for (i = 0; i < 20000 && rtmp_take(push, ping, sizeof(ping)) == NULL; i++)
		;
	assert_true(i < 20000);
	assert_int_equal(rtmp_stage(push), RTMP_OVER);
	rtmp_free(push);
}

static void
a_push_that_is_refused_is_over(void **state)
{
	struct heard *h = *state;
	struct rtmp *push = rtmp_push("live", "rtmp://live.example.org/live", "wrong");

	h->grants = false;
	h->refuses = true;
	talk(push, h->rtmp, 1 << 20);
	assert_int_equal(rtmp_stage(push), RTMP_OVER);
	rtmp_put(push, RTMP_VIDEO, 0, (const uint8_t *)"x", 1);
	rtmp_end(push);
	assert_int_equal(h->n, 0);
	rtmp_free(push);
}

static void
a_server_that_is_none_is_told(void **state)
{
	struct rtmp *push = rtmp_push("live", "rtmp://live.example.org/live", "key");

	(void)state;
	assert_non_null(rtmp_take(push, (const uint8_t *)"HTTP/1.1 400 Bad", 16));
	assert_int_equal(rtmp_stage(push), RTMP_OVER);
	rtmp_free(push);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_publisher_is_asked_for_and_granted, setup, teardown),
		cmocka_unit_test_setup_teardown(the_handshake_says_back_what_came, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes_may_come_one_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(a_refusal_names_its_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(media_before_a_grant_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(a_short_header_goes_on_from_the_one_before, setup, teardown),
		cmocka_unit_test_setup_teardown(messages_may_interleave, setup, teardown),
		cmocka_unit_test_setup_teardown(an_extended_time_may_be_repeated_or_not, setup, teardown),
		cmocka_unit_test_setup_teardown(a_chunk_size_is_taken_within_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_rtmp_is_refused_at_its_first_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(a_ping_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(what_came_is_acknowledged_every_half_window, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_messages_and_commands_are_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(a_publisher_may_end, setup, teardown),
		cmocka_unit_test_setup_teardown(a_command_may_come_by_its_other_number, setup, teardown),
		cmocka_unit_test_setup_teardown(a_list_of_codecs_is_answered_with_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(what_goes_beyond_the_limits_ends_the_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(values_of_any_depth_or_length_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_pushed_arrives, setup, teardown),
		cmocka_unit_test_setup_teardown(who_asks_while_a_large_frame_waits_is_answered_but_not_for_ever, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(a_push_that_is_refused_is_over, setup, teardown),
		cmocka_unit_test_setup_teardown(a_server_that_is_none_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
