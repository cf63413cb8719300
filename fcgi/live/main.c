/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek-live: receives livestreams by RTMP, RTMPS and SRT, makes of them what is played, and records them.
 *
 * One process with one thread takes in all encoders of a machine.  Its listening sockets come from systemd, so that a
 * restart refuses nobody, or are made here.
 */
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/jail.h"
#include "core/listen.h"
#include "core/log.h"
#include "core/store.h"
#include "core/version.h"
#include "fcgi/live/srt.h"
#include "fcgi/live/station.h"

enum { SYSTEMD_FIRST = 3, BACKLOG = 4096 };

static void
usage(FILE *to)
{
	fputs("usage: kinothek-live [--socket PATH]\n"
	    "       kinothek-live --version | --help\n"
	    "\n"
	    "Receives livestreams by RTMP, RTMPS and SRT, makes of them what is played, and records them.\n"
	    "\n"
	    "  --socket PATH   make a unix socket there, at which a web server asks for viewers, by FastCGI\n"
	    "\n"
	    "It listens on the sockets that systemd hands over, else on the addresses of the settings live.rtmp_listen and\n"
	    "live.rtmps_listen.\n"
	    "KINOTHEK_CONF names the file of settings.\n", to);
}

/* Where encoders and viewers come from; viewers, srt: -1, nowhere. */
struct sockets { struct door doors[STATION_DOORS]; size_t n; int viewers, srt; };

static int
option_of(int fd, int which)
{
	int x = -1;

	return getsockopt(fd, SOL_SOCKET, which, &x, &(socklen_t){ sizeof(x) }) == 0 ? x : -1;
}

/* The next of the addresses that a setting names.  NULL: there is none. */
static const char *
next_item(const char *at, char item[256])
{
	size_t n;

	if (at == NULL || *at == '\0')
		return NULL;
	n = strcspn(at, ",");
	snprintf(item, 256, "%.*s", (int)n, at);
	return at + n + (at[n] == ',');
}

/* Has the socket one of the ports that a setting names? */
static bool
has_port(int fd, const char *addresses)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	char item[256], port[NI_MAXSERV];

	if (getsockname(fd, (struct sockaddr *)&a, &n) != 0 ||
	    getnameinfo((struct sockaddr *)&a, n, NULL, 0, port, sizeof(port), NI_NUMERICSERV) != 0)
		return false;
	while ((addresses = next_item(addresses, item)) != NULL)
		if (strrchr(item, ':') != NULL && strcmp(strrchr(item, ':') + 1, port) == 0)
			return true;
	return false;
}

/* Encoders come by the network, those by SRT with datagrams, a web server on a unix socket.  Others hold them, too: one
 * of them may have taken who was there, and no FFmpeg is to keep them. */
static void
take_from_systemd(const struct conf *conf, struct sockets *s)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	const int all = n != NULL && pid != NULL && atoi(pid) == getpid() ? atoi(n) : 0;
	int fd;

	for (fd = SYSTEMD_FIRST; fd < SYSTEMD_FIRST + all; fd++) {
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
			continue;
		if (option_of(fd, SO_DOMAIN) == AF_UNIX)
			s->viewers = fd;
		else if (option_of(fd, SO_TYPE) == SOCK_DGRAM)
			s->srt = fd;
		else if (s->n < STATION_DOORS)
			s->doors[s->n++] = (struct door){ fd, has_port(fd, conf->live_rtmps_listen) };
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
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

/* Behind the n that are there.  How many there are then. */
static size_t
make_doors(const char *addresses, bool by_tls, struct door doors[STATION_DOORS], size_t n)
{
	char item[256];

	while (n < STATION_DOORS && (addresses = next_item(addresses, item)) != NULL)
		doors[n++] = (struct door){ make_door(item), by_tls };
	return n;
}

static bool
any_by_tls(const struct door *doors, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (doors[i].by_tls)
			return true;
	return false;
}

/* What systemd hands over, and where it has none of a kind, what the settings name. */
static void
open_sockets(const struct conf *conf, struct sockets *s)
{
	take_from_systemd(conf, s);
	if (s->n == 0)
		s->n = make_doors(conf->live_rtmp_listen, false, s->doors, s->n);
	if (!any_by_tls(s->doors, s->n))
		s->n = make_doors(conf->live_rtmps_listen, true, s->doors, s->n);
}

/* NULL: nobody comes by it. */
static struct srt *
open_srt(const struct conf *conf, int fd)
{
	const char *address = conf->live_srt_listen, *why;
	struct srt *srt;

	if (fd < 0 && address == NULL)
		return NULL;
	srt = srt_open(conf, address, fd, &why);
	if (srt == NULL)
		fail(fd >= 0 ? "the socket of systemd for SRT" : address, why);
	return srt;
}

/* SIGTERM, SIGINT and SIGHUP are read like bytes. */
static int
signals_made(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		abort();
	return fd;
}

/* Before there are threads: what is found out is remembered.  Without isolation there is no FFmpeg, and all else. */
static void
check_sandbox(const struct conf *conf)
{
	struct arena *mem = arena_new(1 << 20);
	const char *why = jail_check(mem, strcmp(conf->sandbox, "degraded") == 0);

	if (why != NULL)
		log_line(LOG_LEVEL_WARN, "live", LOG_TEXT("text", "decoders cannot be isolated"), LOG_TEXT("why", why));
	arena_free(mem);
}

int
main(int argc, char **argv)
{
	struct listen wanted = { 0 };
	struct sockets s = { .viewers = -1, .srt = -1 };
	const struct conf *conf;
	struct srt *srt;
	int signals, i;

	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return puts("kinothek-live " VERSION) == EOF;
	for (i = 1; i < argc; i++) {
		bool asked = strcmp(argv[i], "--help") == 0;

		if (!asked && strcmp(argv[i], "--workers") != 0 && listen_option(&wanted, argc, argv, &i))
			continue;
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
	open_sockets(conf, &s);
	if (s.n == 0) {
		fputs("kinothek-live: no socket of systemd, and neither live.rtmp_listen nor live.rtmps_listen names "
		    "an address\n", stderr);
		return 64;
	}
	if (wanted.path != NULL)
		s.viewers = listen_make(&wanted);
	signals = signals_made();
	listen_for_many();
	check_sandbox(conf);
	srt = open_srt(conf, s.srt);
	listen_notify("READY=1");
	station_run(conf, s.doors, s.n, srt, s.viewers, signals);
	return 0;
}
