/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek-live: receives livestreams by RTMP, makes of them what is played, and records them.
 *
 * One process with one thread takes in all encoders of a machine.  Its listening sockets come from systemd, so that a
 * restart refuses nobody, or are made here.
 */
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/listen.h"
#include "core/log.h"
#include "core/store.h"
#include "core/version.h"
#include "fcgi/live/station.h"

enum { SYSTEMD_FIRST = 3, BACKLOG = 256 };

static void
usage(FILE *to)
{
	fputs("usage: kinothek-live\n"
	    "       kinothek-live --version | --help\n"
	    "\n"
	    "Receives livestreams by RTMP, makes of them what is played, and records them.\n"
	    "\n"
	    "It listens on the sockets that systemd hands over, else on the addresses of the setting live.rtmp_listen.\n"
	    "KINOTHEK_CONF names the file of settings.\n", to);
}

static size_t
systemd_doors(int doors[STATION_DOORS])
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	size_t all = n != NULL && pid != NULL && atoi(pid) == getpid() && atoi(n) > 0 ? (size_t)atoi(n) : 0, i;

	for (i = 0; i < all && i < STATION_DOORS; i++)
		doors[i] = SYSTEMD_FIRST + (int)i;
	return i;
}

static _Noreturn void
fail(const char *address, const char *why)
{
	fprintf(stderr, "kinothek-live: cannot listen on %s: %s\n", address, why);
	exit(71);
}

/* "host:port", "[address]:port". */
static int
make_door(const char *item)
{
	const struct addrinfo wish = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(item, ':');
	struct addrinfo *found;
	char host[256];
	int fd, fault;

	if (colon == NULL)
		fail(item, "it names no port");
	snprintf(host, sizeof(host), "%.*s", (int)(colon - item), item);
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	fault = getaddrinfo(host, colon + 1, &wish, &found);
	if (fault != 0)
		fail(item, gai_strerror(fault));
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) != 0 ||
	    bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
		fail(item, strerror(errno));
	freeaddrinfo(found);
	return fd;
}

static size_t
make_doors(const struct conf *conf, int doors[STATION_DOORS])
{
	char item[256];
	const char *at = conf->live_rtmp_listen;
	size_t n = 0, length;

	for (; at != NULL && *at != '\0' && n < STATION_DOORS; at += length + (at[length] == ',')) {
		length = strcspn(at, ",");
		snprintf(item, sizeof(item), "%.*s", (int)length, at);
		doors[n++] = make_door(item);
	}
	return n;
}

/* SIGTERM and SIGINT are read like bytes. */
static int
stop_signal(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		abort();
	return fd;
}

int
main(int argc, char **argv)
{
	int doors[STATION_DOORS], stop;
	const struct conf *conf;
	size_t n;

	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return puts("kinothek-live " VERSION) == EOF;
	if (argc > 1) {
		bool asked = strcmp(argv[1], "--help") == 0;

		usage(asked ? stdout : stderr);
		return asked ? 0 : 64;
	}
	conf = conf_load();
	log_threshold_named(conf->log_level);
	log_format_named(conf->log_format);
	if (!store_open(conf)) {
		fprintf(stderr, "kinothek-live: %s: cannot be used as data_dir: %m\n", conf->data_dir);
		return 71;
	}
	n = systemd_doors(doors);
	if (n == 0)
		n = make_doors(conf, doors);
	if (n == 0) {
		fputs("kinothek-live: no socket of systemd, and live.rtmp_listen names no address\n", stderr);
		return 64;
	}
	stop = stop_signal();
	listen_for_many();
	listen_notify("READY=1");
	station_run(conf, doors, n, stop);
	return 0;
}
