/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek-upload: takes bytes in below /upload and /storage by FastCGI.
 *
 * Each connection has a thread of its own, so that whatever one transfer waits for, its client, the disk or the
 * database, holds up no other, and its code reads from top to bottom.  A thousand of them take little memory and time
 * (tests/bench/upload-memory): an event loop would save none of it to speak of, and need threads for the disk.
 */
#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/listen.h"
#include "core/log.h"
#include "core/store.h"
#include "core/version.h"
#include "fcgi/upload/announce.h"
#include "fcgi/upload/call.h"

enum {
	GRACE = 600,		/* s for transfers in flight after SIGTERM */
	TRANSFERS = 1024,	/* --transfers */
	TRANSFERS_MAX = 3000,
	SPARE = 512,		/* connections besides: heads, refusals, and bodies that nobody wants any more */
	LINKS = 8,		/* to the database */
	SYNCERS = 4,
	STACK = 512 << 10,	/* sniffing takes most; only what is touched is memory */
	REST_MS = 30000,	/* until the database gets an idle connection back */
};

/* The threads of this process. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t less;
	int n;
} crew = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

struct guest { const struct intake *in; int fd; struct uuid id; };

static void *
attend(void *user)
{
	struct guest g = *(struct guest *)user;

	free(user);
	call_serve(g.in, g.fd, g.id);
	pthread_mutex_lock(&crew.lock);
	crew.n--;
	pthread_cond_signal(&crew.less);
	pthread_mutex_unlock(&crew.lock);
	return NULL;
}

/* Threads leave all signals to this one. */
static bool
start_thread(struct guest *g)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool fine;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	fine = pthread_create(&thread, &attr, attend, g) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return fine;
}

static void
receive(const struct intake *in, int fd)
{
	struct guest *g = malloc(sizeof(*g));

	pthread_mutex_lock(&crew.lock);
	crew.n++;
	pthread_mutex_unlock(&crew.lock);
	if (g != NULL) {
		*g = (struct guest){ in, fd, uuid_new() };
		if (start_thread(g))
			return;
	}
	log_text(LOG_LEVEL_ERROR, "upload", "no thread for a connection");
	free(g);
	close(fd);
	pthread_mutex_lock(&crew.lock);
	crew.n--;
	pthread_mutex_unlock(&crew.lock);
}

/* Waits until there are fewer than `n`, or a moment. */
static bool
fewer_than(int n)
{
	struct timespec until;
	bool yes;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&crew.lock);
	if (crew.n >= n)
		pthread_cond_timedwait(&crew.less, &crew.lock, &until);
	yes = crew.n < n;
	pthread_mutex_unlock(&crew.lock);
	return yes;
}

static void
serve(const struct intake *in, int connections)
{
	const struct timespec nap = { .tv_nsec = 100 * 1000000 };
	struct pollfd p[2] = { { .fd = listen_door(), .events = POLLIN }, { .fd = listen_stop(), .events = POLLIN } };
	int fd;

	while (!listen_stopping()) {
		if (!fewer_than(connections))
			continue;
		if (poll(p, 2, REST_MS / 2) <= 0) {
			links_rest(in->links, REST_MS);
			announce_rest(REST_MS);
			continue;
		}
		fd = p[0].revents != 0 ? accept4(p[0].fd, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd >= 0)
			receive(in, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			nanosleep(&nap, NULL);
	}
	close(p[0].fd);
	while (!fewer_than(1))
		links_rest(in->links, REST_MS);
}

static void
usage(FILE *to)
{
	fputs("usage: kinothek-upload --socket PATH [--transfers N] [--workers N] [--mode MODE]\n"
	    "       kinothek-upload --version | --help\n"
	    "\n"
	    "Receives the bytes of uploads by FastCGI.\n"
	    "\n"
	    "  --socket PATH   make a unix socket there and serve it\n"
	    "  --mode MODE     its permissions (0660)\n"
	    "  --transfers N   at a time in one process (1024)\n"
	    "  --workers N     processes (1)\n"
	    "\n"
	    "Without --socket it serves the listening socket on fd 0, as mod_fcgid and spawn-fcgi hand it over.\n"
	    "KINOTHEK_CONF names the file of settings.\n", to);
}

static int
read_transfers(const char *text)
{
	int64_t n;

	if (text == NULL || !int_parse(text, &n) || n < 1 || n > TRANSFERS_MAX) {
		fprintf(stderr, "kinothek-upload: --transfers takes a number from 1 to %d\n", TRANSFERS_MAX);
		exit(64);
	}
	return (int)n;
}

int
main(int argc, char **argv)
{
	static struct listen l = { .grace = GRACE, .otherwise = 1 };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int i, transfers = TRANSFERS;
	struct intake in;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--version") == 0)
			return puts("kinothek-upload " VERSION) == EOF;
		if (strcmp(argv[i], "--help") == 0) {
			usage(stdout);
			return 0;
		}
		if (strcmp(argv[i], "--transfers") == 0) {
			transfers = read_transfers(argv[++i]);
		} else if (!listen_option(&l, argc, argv, &i)) {
			usage(stderr);
			return 64;
		}
	}
	in.conf = conf_load();
	log_threshold_named(in.conf->log_level);
	log_format_named(in.conf->log_format);
	if (!store_open(in.conf)) {
		fprintf(stderr, "kinothek-upload: %s: cannot be used as data_dir: %m\n", in.conf->data_dir);
		return 71;
	}
	listen_start(&l, argv);
	bucket_open(in.conf->run_dir);
	listen_for_many();
	in.links = links_new(in.conf, LINKS);
	in.room = room_new(transfers, cores > 0 ? (int)cores : 1, SYNCERS);
	serve(&in, transfers + SPARE);
	announce_end();
	room_free(in.room);
	links_free(in.links);
	bucket_close();
	return 0;
}
