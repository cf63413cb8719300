/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FastCGI as web servers send it, cut anywhere, and as none would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/fcgi.h"

static struct arena *mem;
static struct fcgi f;

static int
setup(void **state)
{
	mem = arena_new(64 << 20);
	memset(&f, 0, sizeof(f));
	fcgi_begin(&f);
	return 0;
}

static int
teardown(void **state)
{
	fcgi_free(&f);
	arena_free(mem);
	return 0;
}

static void
record(struct buf *b, int type, int id, const void *content, size_t n, int padding)
{
	const char header[8] = { 1, (char)type, (char)(id >> 8), (char)id, (char)(n >> 8), (char)n, (char)padding, 0 };

	buf_add(b, header, 8);
	buf_add(b, content, n);
	buf_add(b, "paddingpaddingpaddingpaddingpaddingpaddingpaddingpadding", (size_t)padding);
}

static void
begin(struct buf *b, int id, int role)
{
	const char content[8] = { 0, (char)role };

	record(b, 1, id, content, 8, 0);
}

static void
length(struct buf *b, size_t n)
{
	const char four[4] = { (char)(n >> 24 | 0x80), (char)(n >> 16), (char)(n >> 8), (char)n };

	if (n < 128)
		buf_char(b, (char)n);
	else
		buf_add(b, four, 4);
}

static void
pair(struct buf *b, const char *name, const void *value, size_t n)
{
	length(b, strlen(name));
	length(b, n);
	buf_text(b, name);
	buf_add(b, value, n);
}

/* As lighttpd does it, in records of at most `cut` bytes. */
static struct buf
request(int role, const char *body, size_t cut, int padding)
{
	struct buf b = BUF(mem), params = BUF(mem);
	char *value = arena_alloc(mem, 301);
	size_t at, n = strlen(body);

	memset(value, 'x', 300);
	pair(&params, "REQUEST_METHOD", "POST", 4);
	pair(&params, "HTTP_X_LONG", value, 300);
	pair(&params, "REQUEST_METHOD", "GET", 3);
	pair(&params, "CONTENT_TYPE", "", 0);
	pair(&params, "HTTP_NUL", "a\0b", 3);
	begin(&b, 1, role);
	for (at = 0; at < params.len; at += cut)
		record(&b, 4, 1, params.text + at, params.len - at < cut ? params.len - at : cut, padding);
	record(&b, 4, 1, NULL, 0, 0);
	for (at = 0; at < n; at += cut)
		record(&b, 5, 1, body + at, n - at < cut ? n - at : cut, padding);
	if (role == FCGI_RESPONDER)
		record(&b, 5, 1, NULL, 0, 0);
	return b;
}

static enum fcgi_state
feed(const void *bytes, size_t n)
{
	const char *p = bytes;
	size_t room;

	while (n > 0 && f.state <= FCGI_HEAD_COMPLETE) {
		void *to = fcgi_room(&f, &room);

		room = room < n ? room : n;
		memcpy(to, p, room);
		fcgi_feed(&f, room);
		p += room;
		n -= room;
	}
	return f.state;
}

static enum fcgi_state
feed_buf(const struct buf *b)
{
	return feed(buf_string(b), b->len);
}

static void
expect_request(const char *body)
{
	assert_int_equal(f.state, FCGI_WHOLE);
	assert_int_equal(f.role, FCGI_RESPONDER);
	assert_string_equal(fcgi_param(&f, mem, "REQUEST_METHOD"), "POST");
	assert_int_equal(strlen(fcgi_param(&f, mem, "HTTP_X_LONG")), 300);
	assert_string_equal(fcgi_param(&f, mem, "CONTENT_TYPE"), "");
	assert_null(fcgi_param(&f, mem, "REQUEST"));
	assert_null(fcgi_param(&f, mem, "HTTP_NUL"));
	assert_int_equal(f.body_n, strlen(body));
	assert_string_equal(fcgi_body(&f), body);
}

static void
a_request_comes_out_wherever_it_is_cut(void **state)
{
	const char *body = "{\"name\":\"a body that is longer than some of the cuts\"}";
	size_t cut, at, i;

	for (cut = 1; cut < 500; cut = cut * 3 + 1) {
		struct buf b = request(FCGI_RESPONDER, body, cut, (int)cut % 9);

		fcgi_begin(&f);
		feed_buf(&b);
		expect_request(body);
		for (at = 1; at < b.len; at += 7) {
			fcgi_begin(&f);
			assert_true(feed(b.text, at) <= FCGI_HEAD_COMPLETE);
			feed(b.text + at, b.len - at);
			expect_request(body);
		}
		fcgi_begin(&f);
		for (i = 0; i < b.len; i++)
			feed(b.text + i, 1);
		expect_request(body);
	}
}

static void
the_head_is_complete_before_the_body(void **state)
{
	struct buf b = request(FCGI_RESPONDER, "body", 1000, 0);

	assert_int_equal(feed(b.text, b.len - 8 - 4 - 8), FCGI_HEAD_COMPLETE);
	assert_string_equal(fcgi_param(&f, mem, "REQUEST_METHOD"), "POST");
	assert_int_equal(feed(b.text + b.len - 20, 10), FCGI_HEAD_COMPLETE);
	assert_int_equal(f.body_n, 2);
	assert_int_equal(feed(b.text + b.len - 10, 10), FCGI_WHOLE);
}

static void
an_authorizer_has_no_body(void **state)
{
	struct buf b = request(FCGI_AUTHORIZER, "", 1000, 0);

	assert_int_equal(feed_buf(&b), FCGI_WHOLE);
	assert_int_equal(f.role, FCGI_AUTHORIZER);
	assert_string_equal(fcgi_body(&f), "");
}

static void
a_body_is_kept_up_to_its_limit(void **state)
{
	char *body = arena_alloc(mem, 300001);
	struct buf b;

	memset(body, 'b', 300000);
	b = request(FCGI_RESPONDER, body, 65535, 0);
	feed_buf(&b);
	expect_request(body);
	fcgi_begin(&f);
	f.body_max = 300000;
	feed_buf(&b);
	expect_request(body);
	fcgi_begin(&f);
	f.body_max = 299999;
	assert_int_equal(feed_buf(&b), FCGI_TOO_LARGE);
	assert_true(f.body_n <= 299999);
	assert_int_equal(strlen(fcgi_body(&f)), f.body_n);
}

static void
a_body_of_any_length_passes_through_in_pieces(void **state)
{
	const size_t n = 700000;
	char *body = arena_alloc(mem, n + 1), *got = arena_alloc(mem, n + 1);
	size_t cut, i, at, taken, room;
	struct buf b;

	for (i = 0; i < n; i++)
		body[i] = (char)('a' + i % 26 + i / 977 % 7);
	for (cut = 300; cut < 65536; cut *= 5) {
		b = request(FCGI_RESPONDER, body, cut, (int)cut % 9);
		fcgi_begin(&f);
		for (at = taken = 0; at < b.len; at += room) {
			void *to = fcgi_room(&f, &room);

			room = room < b.len - at ? room : b.len - at;
			room = room > at % 9000 + 1 ? at % 9000 + 1 : room;
			memcpy(to, b.text + at, room);
			fcgi_feed(&f, room);
			memcpy(got + taken, fcgi_body(&f), f.body_n);
			taken += f.body_n;
			fcgi_drop_body(&f);
			assert_int_equal(f.body_n, 0);
		}
		assert_int_equal(f.state, FCGI_WHOLE);
		assert_int_equal(taken, n);
		assert_memory_equal(got, body, n);
		assert_true(fcgi_size(&f) <= 65536);
		assert_string_equal(fcgi_param(&f, mem, "REQUEST_METHOD"), "POST");
	}
}

static void
parameters_take_64_kib_and_no_byte_more(void **state)
{
	char *value = arena_alloc(mem, 70000);
	struct buf b = BUF(mem), params = BUF(mem);

	pair(&params, "A", value, 32000);
	pair(&params, "B", value, FCGI_PARAMS_MAX - 32000 - 6 - 6);
	assert_int_equal(params.len, FCGI_PARAMS_MAX);
	begin(&b, 1, 1);
	record(&b, 4, 1, params.text, 40000, 0);
	record(&b, 4, 1, params.text + 40000, params.len - 40000, 0);
	record(&b, 4, 1, NULL, 0, 0);
	assert_int_equal(feed_buf(&b), FCGI_HEAD_COMPLETE);
	b = BUF(mem);
	begin(&b, 1, 1);
	record(&b, 4, 1, params.text, 40000, 0);
	record(&b, 4, 1, params.text + 40000, params.len - 40000, 0);
	record(&b, 4, 1, "", 1, 0);
	fcgi_begin(&f);
	assert_int_equal(feed_buf(&b), FCGI_HEAD_TOO_LARGE);
	assert_int_equal(f.role, FCGI_RESPONDER);
}

/* What it makes of one record after the beginning of a request. */
static enum fcgi_state
after_begin(int type, int id, const void *content, size_t n)
{
	struct buf b = BUF(mem);

	fcgi_begin(&f);
	begin(&b, 7, 1);
	record(&b, type, id, content, n, 3);
	return feed_buf(&b);
}

static void
what_is_no_fastcgi_ends_the_connection(void **state)
{
	static const char *const params[] = { "\x05", "\x01\x05" "a", "\x80\x00\x00", "\xff\xff\xff\xff\x01" "a",
	    "\x01\xff\xff\xff\xff" "a" };
	static const size_t sizes[] = { 1, 3, 3, 6, 6 };
	struct buf b;
	size_t i;

	fcgi_begin(&f);
	assert_int_equal(feed("GET / HTTP/1.1\r\n\r\n", 18), FCGI_BROKEN);
	assert_int_equal(after_begin(5, 7, "body first", 10), FCGI_BROKEN);
	assert_int_equal(after_begin(8, 7, "a filter's", 10), FCGI_BROKEN);
	assert_int_equal(after_begin(6, 7, "an answer", 9), FCGI_BROKEN);
	assert_int_equal(after_begin(1, 7, "\0\1\0\0\0\0\0\0", 8), FCGI_BROKEN);
	assert_int_equal(after_begin(1, 8, "\0\1", 2), FCGI_BROKEN);
	assert_int_equal(after_begin(9, 0, arena_alloc(mem, 5000), 5000), FCGI_BROKEN);
	assert_int_equal(after_begin(9, 0, "\x7f", 1), FCGI_BROKEN);
	for (i = 0; i < 5; i++) {
		b = BUF(mem);
		record(&b, 4, 7, params[i], sizes[i], 0);
		record(&b, 4, 7, NULL, 0, 0);
		fcgi_begin(&f);
		after_begin(4, 9, "skipped", 7);
		assert_int_equal(feed_buf(&b), FCGI_BROKEN);
	}
}

static void
an_aborted_request_is_ended(void **state)
{
	assert_int_equal(after_begin(2, 7, NULL, 0), FCGI_BROKEN);
	assert_int_equal(f.reply_n, 16);
	assert_memory_equal(f.reply, "\1\3\0\7\0\10\0\0" "\0\0\0\0\0\0\0\0", 16);
}

static void
a_role_that_we_do_not_play_is_refused(void **state)
{
	struct buf b = BUF(mem);

	begin(&b, 1, 3);
	assert_int_equal(feed_buf(&b), FCGI_BROKEN);
	assert_memory_equal(f.reply, "\1\3\0\1\0\10\0\0" "\0\0\0\0\3\0\0\0", 16);
}

static void
a_second_request_is_refused_and_the_first_goes_on(void **state)
{
	struct buf b = request(FCGI_RESPONDER, "", 1000, 0), second = BUF(mem);

	feed(b.text, 16);
	begin(&second, 2, 1);
	record(&second, 4, 2, "not looked at", 13, 5);
	record(&second, 2, 2, NULL, 0, 0);
	assert_int_equal(feed_buf(&second), FCGI_NEEDS_MORE);
	assert_int_equal(f.reply_n, 16);
	assert_memory_equal(f.reply, "\1\3\0\2\0\10\0\0" "\0\0\0\0\1\0\0\0", 16);
	feed(b.text + 16, b.len - 16);
	expect_request("");
}

static void
questions_about_the_application_are_answered(void **state)
{
	struct buf b = BUF(mem), names = BUF(mem);

	pair(&names, "FCGI_MPXS_CONNS", "", 0);
	pair(&names, "FCGI_SOMETHING", "", 0);
	record(&b, 9, 0, names.text, names.len, 2);
	assert_int_equal(feed_buf(&b), FCGI_NEEDS_MORE);
	assert_int_equal(f.reply_n, 8 + 18);
	assert_memory_equal(f.reply, "\1\12\0\0\0\22\0\0" "\17\1" "FCGI_MPXS_CONNS0", 26);
	f.reply_n = 0;
	b = BUF(mem);
	record(&b, 99, 0, "what?", 5, 0);
	assert_int_equal(feed_buf(&b), FCGI_NEEDS_MORE);
	assert_memory_equal(f.reply, "\1\13\0\0\0\10\0\0" "\143\0\0\0\0\0\0\0", 16);
}

static void
who_asks_without_end_is_cut_off(void **state)
{
	struct buf b = BUF(mem);
	int i;

	for (i = 0; i < 100; i++)
		record(&b, 99, 0, NULL, 0, 0);
	assert_int_equal(feed_buf(&b), FCGI_BROKEN);
	assert_true(f.reply_n <= sizeof(f.reply));
}

/* Takes an answer apart as a web server does. */
static void
expect_answer(const struct iovec *v, size_t n, const char *text, size_t length)
{
	struct buf b = BUF(mem), got = BUF(mem);
	const unsigned char *p, *end;
	size_t i;

	for (i = 0; i < n; i++)
		buf_add(&b, v[i].iov_base, v[i].iov_len);
	p = (const unsigned char *)buf_string(&b);
	for (end = p + b.len; end - p >= 8 && p[1] == 6; p += 8 + (p[4] << 8 | p[5]))
		buf_add(&got, p + 8, (size_t)(p[4] << 8 | p[5]));
	assert_int_equal(got.len, length);
	assert_memory_equal(buf_string(&got), text, length);
	assert_int_equal(end - p, 16);
	assert_memory_equal(p, "\1\3\1\2\0\10\0\0" "\0\0\0\0\0\0\0\0", 16);
}

static void
an_answer_is_framed_whatever_its_length(void **state)
{
	static const size_t sizes[] = { 0, 1, 65520, 65527, 65528, 65529, 131056, 400000 };
	char *text = arena_alloc(mem, 500000);
	size_t i, n;

	for (i = 0; i < 500000; i++)
		text[i] = (char)(i * 7 + i / 1000);
	f.id = 258;
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct iovec parts[] = { { text, 10 }, { NULL, 0 }, { text + 10, sizes[i] } };
		struct iovec *v = fcgi_answer(mem, &f, parts, 3, &n);

		expect_answer(v, n, text, 10 + sizes[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_comes_out_wherever_it_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(the_head_is_complete_before_the_body, setup, teardown),
		cmocka_unit_test_setup_teardown(an_authorizer_has_no_body, setup, teardown),
		cmocka_unit_test_setup_teardown(a_body_is_kept_up_to_its_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(a_body_of_any_length_passes_through_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(parameters_take_64_kib_and_no_byte_more, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_fastcgi_ends_the_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(an_aborted_request_is_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(a_role_that_we_do_not_play_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_second_request_is_refused_and_the_first_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(questions_about_the_application_are_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(who_asks_without_end_is_cut_off, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_is_framed_whatever_its_length, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
