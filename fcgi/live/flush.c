/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ring of descriptors between who writes and the thread that waits for the disk. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "fcgi/live/flush.h"

enum { QUEUE = 256 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t thread;
	bool runs, ends;
	int fds[QUEUE];
	unsigned from, n;
} ring = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static void *
run(void *user)
{
	int fd;

	(void)user;
	pthread_mutex_lock(&ring.lock);
	for (;;) {
		while (ring.n == 0 && !ring.ends)
			pthread_cond_wait(&ring.more, &ring.lock);
		if (ring.n == 0)
			break;
		fd = ring.fds[ring.from];
		ring.from = (ring.from + 1) % QUEUE;
		ring.n--;
		pthread_mutex_unlock(&ring.lock);
		fdatasync(fd);
		close(fd);
		pthread_mutex_lock(&ring.lock);
	}
	pthread_mutex_unlock(&ring.lock);
	return NULL;
}

/* The thread leaves all signals to the others. */
static bool
start(void)
{
	sigset_t all, before;
	bool fine;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	fine = pthread_create(&ring.thread, NULL, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return fine;
}

void
flush_later(int fd)
{
	int copy;

	pthread_mutex_lock(&ring.lock);
	if (!ring.runs)
		ring.runs = start();
	copy = ring.runs && ring.n < QUEUE ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (copy >= 0) {
		ring.fds[(ring.from + ring.n++) % QUEUE] = copy;
		pthread_cond_signal(&ring.more);
	}
	pthread_mutex_unlock(&ring.lock);
}

void
flush_end(void)
{
	bool ran;

	pthread_mutex_lock(&ring.lock);
	ran = ring.runs;
	ring.ends = true;
	pthread_cond_signal(&ring.more);
	pthread_mutex_unlock(&ring.lock);
	if (ran)
		pthread_join(ring.thread, NULL);
	pthread_mutex_lock(&ring.lock);
	ring.runs = ring.ends = false;
	pthread_mutex_unlock(&ring.lock);
}
