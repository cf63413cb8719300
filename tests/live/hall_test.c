/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What viewers get, and who waits, as a web server asks for them. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/store.h"
#include "fcgi/live/hall.h"
#include "tests/media/place.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HERE "10.0.0.1"
#define THERE "10.0.0.2"

struct scene {
	struct place *place;
	struct conf conf;
	struct hall *hall;
	struct broadcast broadcast, *broadcasts;	/* the latter: none, until somebody sends */
	struct sockaddr_un at;
	struct uuid media_id;
	char folder[PLAY_SECRET];
	bool plain;				/* the web server holds nobody who waits */
};

static int
setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	void *place;
	int door;

	place_open(&place);
	s->place = place;
	s->conf = (struct conf){ .data_dir = s->place->dir, .play_key = KEY, .play_lifetime = 3600,
	    .public_url = "http://localhost", .live_waiters = 4 };
	assert_true(store_open(&s->conf));
	s->media_id = uuid_new();
	play_secret(&s->conf, uuid_new(), s->folder);
	s->at.sun_family = AF_UNIX;
	snprintf(s->at.sun_path, sizeof(s->at.sun_path), "%s/door", s->place->dir);
	door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(door, (const struct sockaddr *)&s->at, sizeof(s->at)), 0);
	s->hall = hall_open(&s->conf, door, NULL, &s->broadcasts);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *s = *state;
	void *place = s->place;

	hall_close(s->hall);
	packager_free(s->broadcast.packager);
	free(s);
	return place_close(&place);
}

/* Somebody sends, and nothing has come yet. */
static void
sent(struct scene *s)
{
	s->broadcast.what.media_id = s->media_id;
	memcpy(s->broadcast.secret, s->folder, sizeof(s->folder));
	s->broadcast.packager = packager_open(s->place->dir, s->place->dir, true);
	s->broadcasts = &s->broadcast;
}

static void
put(struct scene *s, const char *name, const char *text)
{
	assert_true(store_write(s->place->mem, text, strlen(text), store_key_play(s->place->mem, s->media_id,
	    arena_printf(s->place->mem, "live/%s/%s", s->folder, name))));
}

static void
record(struct buf *b, int type, const char *content, size_t n)
{
	const char header[8] = { 1, (char)type, 0, 1, (char)(n >> 8), (char)n };

	buf_add(b, header, 8);
	buf_add(b, content, n);
}

static void
param(struct buf *b, const char *name, const char *value)
{
	const size_t n = strlen(value);
	const char four[4] = { (char)(n >> 24 | 0x80), (char)(n >> 16), (char)(n >> 8), (char)n };

	buf_char(b, (char)strlen(name));
	buf_add(b, four, 4);
	buf_text(b, name);
	buf_text(b, value);
}

/* As a web server does for a client of that address. */
static int
asks(struct scene *s, const char *method, const char *url, const char *from)
{
	struct buf params = BUF(s->place->mem), all = BUF(s->place->mem);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	param(&params, "REQUEST_METHOD", method);
	param(&params, "REQUEST_URI", strstr(url, "/play/"));
	param(&params, "REMOTE_ADDR", from);
	if (s->plain)
		param(&params, "KINOTHEK_WAITS", "no");
	record(&all, 1, "\0\1\0\0\0\0\0\0", 8);
	record(&all, 4, params.text, params.len);
	record(&all, 4, "", 0);
	record(&all, 5, "", 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&s->at, sizeof(s->at)), 0);
	assert_int_equal(send(fd, all.text, all.len, 0), all.len);
	for (int i = 0; i < 3; i++)
		hall_attend(s->hall);
	return fd;
}

/* Its answer, as far as it is there: "" while it waits. */
static const char *
got(struct scene *s, int fd)
{
	char *text = arena_alloc(s->place->mem, 65536), *piece;
	struct buf out = BUF(s->place->mem);
	ssize_t n = recv(fd, text, 65536, MSG_DONTWAIT), at = 0, size;

	for (; at + 8 <= n; at += 8 + size) {
		piece = text + at;
		size = (unsigned char)piece[4] << 8 | (unsigned char)piece[5];
		if (piece[1] == 6)
			buf_add(&out, piece + 8, (size_t)size);
	}
	return buf_string(&out);
}

static const char *
address(struct scene *s, const char *name, int64_t later_ms)
{
	char prefix[PLAY_PREFIX_MAX];

	play_prefix(&s->conf, s->media_id, (struct moment){ moment_now().ms + later_ms }, prefix);
	return arena_printf(s->place->mem, "%slive/%s/%s", prefix, s->folder, name);
}

static const char *
answer(struct scene *s, const char *method, const char *name)
{
	int fd = asks(s, method, address(s, name, 0), HERE);
	const char *text = got(s, fd);

	close(fd);
	return text;
}

/* As a packager finds it that goes on with one that ended. */
static void
has_list(struct scene *s, const char *word)
{
	FILE *f = fopen(arena_printf(s->place->mem, "%s/%s.m3u8", s->place->dir, word), "w");

	assert_non_null(f);
	fprintf(f, "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:1\n"
	    "#EXT-X-MAP:URI=\"1.%s.mp4\"\n#EXT-X-PROGRAM-DATE-TIME:2026-11-01T10:00:00.000Z\n#EXTINF:2.000,\n1.%s.m4s\n", word, word);
	fclose(f);
}

static void
says(const char *text, const char *what)
{
	if (strstr(text, what) == NULL)
		print_message("%s\n", text);
	assert_non_null(strstr(text, what));
}

static void
whoever_reads_the_playlist_of_all_gets_a_number(void **state)
{
	struct scene *s = *state;
	const char *first, *second, *number;

	says(answer(s, "GET", "low.m3u8"), "Status: 404\r\n");
	put(s, "master.m3u8", "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"audio.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"
	    "video.m3u8\n");
	first = answer(s, "GET", "low.m3u8");
	second = answer(s, "GET", "low.m3u8");
	says(first, "Status: 200\r\n");
	says(first, "Cache-Control: no-store\r\n");
	says(first, "\r\n\r\n#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"low-audio.m3u8?s=");
	number = strstr(first, "?s=");
	assert_int_equal(strspn(number + 3, "0123456789abcdef"), 16);
	says(first, arena_printf(s->place->mem, "\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow-video.m3u8%.19s\n", number));
	assert_int_not_equal(strncmp(number, strstr(second, "?s="), 19), 0);
}

/* Nobody waits for what comes next of them. */
static void
captions_are_the_file(void **state)
{
	struct scene *s = *state;
	const char *text;

	put(s, "master.m3u8", "#EXTM3U\n#EXT-X-MEDIA:TYPE=SUBTITLES,NAME=\"x\",URI=\"captions.m3u8\"\n"
	    "#EXT-X-STREAM-INF:BANDWIDTH=1\nvideo.m3u8\n");
	text = answer(s, "GET", "low.m3u8");
	says(text, "\n#EXT-X-MEDIA:TYPE=SUBTITLES,NAME=\"x\",URI=\"captions.m3u8\"\n#EXT-X-STREAM-INF");
	says(text, "\nlow-video.m3u8?s=");
}

static void
what_is_taken_in_elsewhere_is_what_lies_there(void **state)
{
	struct scene *s = *state;

	says(answer(s, "GET", "low-video.m3u8?s=0123456789abcdef"), "Status: 404\r\n");
	put(s, "video.m3u8", "#EXTM3U\n");
	says(answer(s, "GET", "low-video.m3u8?s=0123456789abcdef"), "\r\n\r\n#EXTM3U\n");
	says(answer(s, "GET", "low-video.m3u8?_HLS_msn=1&_HLS_part=x"), "Status: 400\r\n");
	says(answer(s, "HEAD", "low-video.m3u8"), "Content-Length: 8\r\n");
	put(s, "7.1.0.video.m4s", "part");
	says(answer(s, "GET", "7.1.0.video.m4s"), "max-age=86400, immutable\r\nContent-Length: 4\r\n\r\npart");
	says(answer(s, "GET", "7.1.1.video.m4s"), "Status: 404\r\n");
	says(answer(s, "GET", "video.m3u8"), "Status: 404\r\n");
}

/* They change together, and are kept for who asks next. */
static void
each_list_is_that_of_its_own_pictures(void **state)
{
	static const char *const words[] = { "video", "360p", "720p", "video" };
	struct scene *s = *state;

	for (size_t i = 0; i < 3; i++)
		has_list(s, words[i]);
	sent(s);
	for (size_t i = 0; i < 4; i++)
		says(answer(s, "GET", arena_printf(s->place->mem, "low-%s.m3u8", words[i])),
		    arena_printf(s->place->mem, "\n1.%s.m4s\n", words[i]));
}

static void
nobody_waits_where_a_web_server_holds_nobody(void **state)
{
	struct scene *s = *state;

	sent(s);
	s->plain = true;
	says(answer(s, "GET", "low-video.m3u8?_HLS_msn=1"), "Status: 404\r\n");
	put(s, "video.m3u8", "#EXTM3U\n");
	says(answer(s, "GET", "low-video.m3u8?_HLS_msn=1"), "\r\n\r\n#EXTM3U\n");
	s->plain = false;
	assert_string_equal(answer(s, "GET", "low-video.m3u8?_HLS_msn=1"), "");
}

static void
nobody_gets_anything_by_an_address_that_is_not_good(void **state)
{
	struct scene *s = *state;
	char *forged = arena_copy(s->place->mem, address(s, "low.m3u8", 0)), *mac;
	const char *late;
	int fd;

	put(s, "master.m3u8", "#EXTM3U\nvideo.m3u8\n");
	mac = strchr(strstr(forged, "/play/"), '.') + 1;
	*mac = *mac == 'a' ? 'b' : 'a';
	fd = asks(s, "GET", forged, HERE);
	says(got(s, fd), "Status: 403\r\n");
	close(fd);
	fd = asks(s, "GET", address(s, "low.m3u8", -5 * INT64_C(3600000)), HERE);
	late = got(s, fd);
	says(late, "Status: 410\r\n");
	says(late, "Cache-Control: no-store\r\n");
	assert_null(strstr(late, "#EXTM3U"));
	close(fd);
	says(answer(s, "POST", "low.m3u8"), "Status: 405\r\n");
}

/* Whether it may ask is said by the web server: before it does there is no address to be judged. */
static void
a_browser_that_asks_whether_it_may_is_not_refused(void **state)
{
	struct scene *s = *state;
	int fd;

	says(answer(s, "OPTIONS", "low.m3u8"), "Status: 204\r\n");
	fd = asks(s, "OPTIONS", "/play/nothing", HERE);
	says(got(s, fd), "Status: 204\r\n");
	close(fd);
}

static void
one_address_may_have_half_of_the_places_of_those_who_wait(void **state)
{
	struct scene *s = *state;
	const char *list = address(s, "low-video.m3u8?_HLS_msn=1", 0);
	int waits[4], fd, i;

	sent(s);
	for (i = 0; i < 2; i++)
		waits[i] = asks(s, "GET", list, HERE);
	fd = asks(s, "GET", list, HERE);
	says(got(s, fd), "Status: 503\r\n");
	close(fd);
	for (; i < 4; i++)
		waits[i] = asks(s, "GET", list, THERE);
	fd = asks(s, "GET", list, "10.0.0.3");
	says(got(s, fd), "Retry-After: 1\r\n");
	close(fd);
	for (i = 0; i < 4; i++)
		assert_string_equal(got(s, waits[i]), "");
	/* A place is free as soon as somebody has left. */
	close(waits[0]);
	hall_attend(s->hall);
	waits[0] = asks(s, "GET", list, HERE);
	assert_string_equal(got(s, waits[0]), "");
	for (i = 0; i < 4; i++)
		close(waits[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whoever_reads_the_playlist_of_all_gets_a_number, setup, teardown),
		cmocka_unit_test_setup_teardown(captions_are_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_taken_in_elsewhere_is_what_lies_there, setup, teardown),
		cmocka_unit_test_setup_teardown(each_list_is_that_of_its_own_pictures, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_waits_where_a_web_server_holds_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_gets_anything_by_an_address_that_is_not_good, setup, teardown),
		cmocka_unit_test_setup_teardown(a_browser_that_asks_whether_it_may_is_not_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(one_address_may_have_half_of_the_places_of_those_who_wait, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
