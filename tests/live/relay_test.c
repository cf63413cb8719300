/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often a target that fails is tried again.  What it gets is looked at in tests/e2e/relay. */
#include <sys/socket.h>

#include <arpa/inet.h>
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_that_fails_is_tried_again_after_twice_as_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
