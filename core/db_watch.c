/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An alarm clock that looks whether anybody still waits for what the database does. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "core/db_watch.h"

static struct {
	volatile sig_atomic_t client, server, left, cut;	/* left: rings until it is late */
	volatile sig_atomic_t armed;
} watch = { -1, -1, 0, CUT_NONE, 0 };

static void
on_alarm(int sig)
{
	struct pollfd p = { .fd = watch.client, .events = POLLRDHUP };
	int e = errno;

	(void)sig;
	if (poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
		watch.cut = CUT_GONE;
	else if (watch.left > 0 && --watch.left == 0)
		watch.cut = CUT_LATE;
	if (watch.cut != CUT_NONE && watch.server >= 0)
		shutdown(watch.server, SHUT_RDWR);
	errno = e;
}

void
watch_begin(int client, int server, int64_t longest)
{
	static const struct itimerval each = { { 0, WATCH_MS * 1000 }, { 0, WATCH_MS * 1000 } };
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	static bool installed;

	if (!installed)
		sigaction(SIGALRM, &act, NULL);
	installed = true;
	watch.server = server;
	if (watch.armed)
		return;
	watch.client = client;
	watch.left = (sig_atomic_t)(longest / WATCH_MS);
	watch.cut = CUT_NONE;
	watch.armed = 1;
	setitimer(ITIMER_REAL, &each, NULL);
}

void
watch_spare(void)
{
	if (watch.armed)	/* else any thread may come by */
		watch.server = -1;
}

void
watch_end(void)
{
	static const struct itimerval never = { { 0, 0 }, { 0, 0 } };

	if (watch.armed)
		setitimer(ITIMER_REAL, &never, NULL);
	watch.armed = 0;
	watch.server = -1;
	watch.cut = CUT_NONE;
}

enum watch_cut
watch_cut(void)
{
	return (enum watch_cut)watch.cut;
}
