/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Players of a livestream that wait for what comes next, each on a connection of its own: how late is what they get?
 * From when the newest part that an answer names was there, which its file tells, to the last byte of the answer.
 *
 *	crowd PORT ADDRESS FOLDER PLAYERS SECONDS PID…
 *
 * prints answers, bad ones, p50, p95 and the last one in ms, and how many cores the processes have taken.
 */
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PLAYERS = 16384, ROOM = 16384, EVENTS = 256, LATE_MAX = 20000, WARM_S = 3, AT_ONCE = 100 };

struct player { int fd; size_t n; char bytes[ROOM + 1]; };

static struct player *players;
static int players_n, epoll, folder;
static const char *address;
static int64_t late[LATE_MAX + 1], answers, bad, last;	/* by tenths of a ms */
static bool counts;

static _Noreturn void
fail(const char *what)
{
	perror(what);
	exit(71);
}

static int64_t
now_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* When a part was there. */
static int64_t
there_us(const char *name)
{
	static char known[64];
	static int64_t at;
	struct stat s;

	if (strcmp(known, name) != 0) {
		if (fstatat(folder, name, &s, 0) != 0)
			return 0;
		snprintf(known, sizeof(known), "%s", name);
		at = (int64_t)s.st_ctim.tv_sec * 1000000 + s.st_ctim.tv_nsec / 1000;
	}
	return at;
}

static void
ask(const struct player *p, const char *query)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "GET %s?s=%016x%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", address,
	    (unsigned)(p - players) + 1, query);

	if (send(p->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		fail("a player was sent away");
}

static void
note(const char *body, int64_t now)
{
	const char *at = NULL, *next = body;
	char name[64];
	int64_t there, tenths;

	while ((next = strstr(next, "#EXT-X-PART:")) != NULL)
		at = next++;
	answers++;
	if (at == NULL || sscanf(at, "#EXT-X-PART:DURATION=%*[0-9.],URI=\"%63[^\"]", name) != 1 ||
	    (there = there_us(name)) == 0) {
		bad++;
		return;
	}
	tenths = now > there ? (now - there) / 100 : 0;
	last = tenths > last ? tenths : last;
	late[tenths < LATE_MAX ? tenths : LATE_MAX]++;
}

/* Asks for what the hint says. */
static void
go_on(struct player *p, const char *body)
{
	const char *hint = strstr(body, "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"");
	int64_t number = 0, place = 0;
	char query[80];

	if (strncmp(p->bytes, "HTTP/1.1 200", 12) != 0 || hint == NULL ||
	    sscanf(hint + 35, "%" SCNd64 ".%*d.%" SCNd64, &number, &place) != 2) {
		bad++;
		ask(p, "");
		return;
	}
	if (counts)
		note(body, now_us(CLOCK_REALTIME));
	snprintf(query, sizeof(query), "&_HLS_msn=%" PRId64 "&_HLS_part=%" PRId64, number, place);
	ask(p, query);
}

static void
hear(struct player *p)
{
	ssize_t n = recv(p->fd, p->bytes + p->n, ROOM - p->n, MSG_DONTWAIT);
	const char *body, *size;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		fail("a player was cut off");
	p->n += (size_t)n;
	p->bytes[p->n] = '\0';
	body = strstr(p->bytes, "\r\n\r\n");
	if (body == NULL)
		return;
	body += 4;
	size = strcasestr(p->bytes, "\r\nContent-Length:");
	if (size == NULL || size > body)
		fail("an answer without a length");
	if ((size_t)(body - p->bytes) + strtoul(size + 17, NULL, 10) > p->n)
		return;
	p->n = 0;
	go_on(p, body);
}

static void
come(struct player *p, const struct sockaddr_in *to)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = p };

	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || connect(p->fd, (const struct sockaddr *)to, sizeof(*to)) != 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, p->fd, &e) != 0)
		fail("a player");
	ask(p, "");
}

static void
watch(int64_t until)
{
	struct epoll_event events[EVENTS];
	int64_t now;
	int n, i;

	while ((now = now_us(CLOCK_MONOTONIC)) < until) {
		n = epoll_wait(epoll, events, EVENTS, (int)((until - now) / 1000) + 1);
		for (i = 0; i < n; i++)
			hear(events[i].data.ptr);
	}
}

/* What the threads of a process have had of processors, µs. */
static int64_t
taken_us(const char *pid)
{
	char path[512];
	int64_t sum = 0, ns;
	struct dirent *e;
	DIR *d;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/task/%s/schedstat", pid, e->d_name);
		f = e->d_name[0] != '.' ? fopen(path, "re") : NULL;
		if (f != NULL && fscanf(f, "%" SCNd64, &ns) == 1)
			sum += ns / 1000;
		if (f != NULL)
			fclose(f);
	}
	if (d != NULL)
		closedir(d);
	return sum;
}

/* In ms. */
static double
quantile(double q)
{
	int64_t sum = 0, all = 0;
	size_t i;

	for (i = 0; i <= LATE_MAX; i++)
		all += late[i];
	for (i = 0; i < LATE_MAX && (sum += late[i]) < (int64_t)((double)all * q);)
		i++;
	return (double)i / 10;
}

static double
taken_by(char **pids)
{
	int64_t sum = 0;

	for (; *pids != NULL; pids++)
		sum += taken_us(*pids);
	return (double)sum;
}

int
main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct rlimit files;
	int64_t began;
	double taken, seconds;
	int i;

	if (argc < 7 || (players_n = atoi(argv[4])) < 1 || players_n > PLAYERS) {
		fputs("usage: crowd PORT ADDRESS FOLDER PLAYERS SECONDS PID...\n", stderr);
		return 64;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	to.sin_port = htons((uint16_t)atoi(argv[1]));
	address = argv[2];
	folder = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	players = calloc((size_t)players_n, sizeof(*players));
	if (folder < 0 || epoll < 0 || players == NULL)
		fail(argv[3]);
	for (i = 0; i < players_n; i++) {
		come(&players[i], &to);
		if (i % AT_ONCE == AT_ONCE - 1)
			watch(now_us(CLOCK_MONOTONIC) + 50000);
	}
	watch(now_us(CLOCK_MONOTONIC) + WARM_S * 1000000);
	counts = true;
	bad = 0;
	began = now_us(CLOCK_MONOTONIC);
	taken = taken_by(argv + 6);
	watch(began + atoi(argv[5]) * 1000000LL);
	seconds = (double)(now_us(CLOCK_MONOTONIC) - began);
	printf("%" PRId64 " %" PRId64 " %.1f %.1f %.1f %.3f\n", answers, bad, quantile(0.5), quantile(0.95),
	    (double)last / 10, (taken_by(argv + 6) - taken) / seconds);
	return 0;
}
