/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often a target that fails is tried again, and which are never connected to.  What it gets is looked at in
 * tests/e2e/relay. */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/text.h"
#include "fcgi/live/relay.h"
#include "fcgi/live/rtmp.h"
#include "tests/inside.h"

enum { STEP_US = 5000, STEPS_MAX = 180 * 1000000 / STEP_US, TRIES = 4 };

/* A port that nobody listens on as long as the socket is there. */
static int
deaf_port(int *fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(at);

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(*fd, (struct sockaddr *)&at, &n), 0);
	return ntohs(at.sin_port);
}

/* One key frame, so that there is something to send. */
static void
put(struct relay *r, int64_t ms)
{
	static const uint8_t key[] = { 0x17, 1, 0, 0, 0, 9 };
	struct frame *f = frame_new(RTMP_VIDEO, FRAME_KEY, ms, key, sizeof(key));

	relay_put(r, f);
	frame_drop(f);
}

static void
a_target_that_fails_is_tried_again_after_twice_as_long(void **state)
{
	int64_t found_at[TRIES], last = 0;
	struct relay_news news;
	char url[80], host[40];
	int fd, port = deaf_port(&fd), i, n = 0;
	struct conf conf = { .live_private_hosts = host };
	struct relay *r;

	(void)state;
	snprintf(host, sizeof(host), "127.0.0.1:%d", port);
	snprintf(url, sizeof(url), "rtmp://127.0.0.1:%d/app/key", port);
	r = relay_new(&conf, url);
	for (i = 0; i < STEPS_MAX && n < TRIES; i++) {
		put(r, i * STEP_US / 1000);
		relay_look(r, &news);
		if (news.status == RELAY_FAILS && news.retry_at != last) {
			assert_string_equal(news.reason, "unreachable");
			/* It has failed now, and is to be tried again then. */
			found_at[n] = news.retry_at - clock_ms();
			assert_in_range(found_at[n], (1000 << n) / 2, 1000 << n);
			/* Not before that. */
			assert_true(last == 0 || clock_ms() >= last);
			last = news.retry_at;
			n++;
		}
		usleep(STEP_US);
	}
	assert_int_equal(n, TRIES);
	relay_end(r);
	relay_wait_for_all(10000);
	close(fd);
}

/* Whatever an address was when it was taken, it is judged when it is connected to. */
static void
no_spelling_of_an_address_inside_is_connected_to(void **state)
{
	static const char *const hosts[] = { INSIDE_HOSTS };
	static const char *const schemes[] = { "rtmp", "rtmps", "srt" };
	struct conf conf = { .live_private_hosts = "127.0.0.3" };
	struct relay_news news;
	char url[120];
	int fd, port = deaf_port(&fd), step;
	size_t i, k;

	(void)state;
	assert_int_equal(listen(fd, 16), 0);
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		for (k = 0; k < sizeof(schemes) / sizeof(schemes[0]); k++) {
			struct relay *r;

			snprintf(url, sizeof(url), "%s://%s:%d%s", schemes[k], hosts[i], port, k < 2 ? "/app/key" : "");
			r = relay_new(&conf, url);
			for (step = 0; step < STEPS_MAX; step++) {
				put(r, step * STEP_US / 1000);
				relay_look(r, &news);
				if (news.status == RELAY_FAILS)
					break;
				usleep(STEP_US);
			}
			if (news.status != RELAY_FAILS || strcmp(news.reason, "forbidden") != 0 || news.bytes != 0)
				fail_msg("%s: %d %s", url, news.status, news.reason);
			relay_end(r);
		}
	relay_wait_for_all(10000);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_that_fails_is_tried_again_after_twice_as_long),
		cmocka_unit_test(no_spelling_of_an_address_inside_is_connected_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
