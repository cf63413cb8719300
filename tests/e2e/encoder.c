/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encoders of livestreams that cost next to nothing: one for each stream key sends the same file, over and over, at the
 * speed of time, which begins when all of them may send.  One that loses its line comes back after a while and goes on
 * at a key frame, as real ones do.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "fcgi/live/flv.h"
#include "fcgi/live/rtmp.h"

enum { TAGS = 65536, LINES = 1024, FLV_HEAD = 13, TAG_HEAD = 11, TAG_TAIL = 4, FRAME_MS = 33, LOOK_MS = 100 };

struct tag { int kind; int64_t ms; const uint8_t *bytes; size_t n; bool key, setup; };

struct line {
	char key[RTMP_KEY + 1];
	int fd;
	struct rtmp *rtmp;
	bool granted, runs;
	int64_t retry_at, from;		/* ms of clock_ms(), of the file */
	int64_t frames, last;		/* of video sent; when the last was, ms since 1970 */
};

static struct tag tags[TAGS];
static size_t tags_n;
static int64_t length;
static struct line lines[LINES];
static size_t lines_n;
static int port, retry_ms;

static _Noreturn void
fail(const char *what)
{
	perror(what);
	exit(71);
}

static void
say(const struct line *l, const char *what)
{
	printf("%s\t%zu\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", what, (size_t)(l - lines), moment_now().ms,
	    l->frames, l->last);
}

static void
add_tag(const uint8_t *at, size_t n)
{
	struct tag *t = &tags[tags_n++];
	struct flv f;

	t->kind = at[0];
	t->ms = at[4] << 16 | at[5] << 8 | at[6] | at[7] << 24;
	t->bytes = at + TAG_HEAD;
	t->n = n;
	t->setup = t->kind == RTMP_DATA;
	if ((t->kind == RTMP_VIDEO && flv_video(t->bytes, n, &f)) ||
	    (t->kind == RTMP_AUDIO && flv_audio(t->bytes, n, &f))) {
		t->setup = f.kind == FLV_SETUP;
		t->key = f.kind == FLV_FRAME && f.key && t->kind == RTMP_VIDEO;
	}
	length = t->ms + FRAME_MS > length ? t->ms + FRAME_MS : length;
}

static void
read_tags(const char *path)
{
	FILE *f = fopen(path, "re");
	uint8_t *all;
	long size, at = FLV_HEAD;
	size_t n;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < FLV_HEAD)
		fail(path);
	rewind(f);
	all = malloc((size_t)size);
	if (all == NULL || fread(all, 1, (size_t)size, f) != (size_t)size)
		fail(path);
	fclose(f);
	for (; at + TAG_HEAD < size && tags_n < TAGS; at += TAG_HEAD + (long)n + TAG_TAIL) {
		n = (size_t)(all[at + 1] << 16 | all[at + 2] << 8 | all[at + 3]);
		if (at + TAG_HEAD + (long)n <= size)
			add_tag(all + at, n);
	}
}

static void
read_keys(const char *path)
{
	FILE *f = fopen(path, "re");

	if (f == NULL)
		fail(path);
	for (; lines_n < LINES && fscanf(f, "%128s", lines[lines_n].key) == 1; lines_n++)
		lines[lines_n].fd = -1;
	fclose(f);
}

static void
hang_up(struct line *l, const char *why)
{
	say(l, why);
	close(l->fd);
	rtmp_free(l->rtmp);
	l->fd = -1;
	l->rtmp = NULL;
	l->granted = l->runs = false;
	l->retry_at = clock_ms() + retry_ms;
}

static void
call(struct line *l)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	char url[64];

	snprintf(url, sizeof(url), "rtmp://127.0.0.1:%d/live", port);
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	l->rtmp = rtmp_push("live", url, l->key);
	l->frames = l->last = 0;
	say(l, "calls");
	if (l->fd < 0 || connect(l->fd, (const struct sockaddr *)&to, sizeof(to)) != 0)
		hang_up(l, "missed");
	else
		setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

/* What goes now. */
static void
flush(struct line *l)
{
	const uint8_t *bytes;
	size_t n;
	ssize_t done;

	while ((n = rtmp_out(l->rtmp, &bytes)) > 0) {
		done = send(l->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (done < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (done < 0) {
			hang_up(l, "lost");
			return;
		}
		rtmp_sent(l->rtmp, (size_t)done);
	}
}

static void
hear(struct line *l)
{
	uint8_t bytes[65536];
	ssize_t n = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(l, "lost");
		return;
	}
	if (rtmp_take(l->rtmp, bytes, (size_t)n) != NULL || rtmp_stage(l->rtmp) == RTMP_OVER) {
		hang_up(l, "refused");
		return;
	}
	if (!l->granted && rtmp_stage(l->rtmp) == RTMP_PUBLISHES) {
		l->granted = true;
		say(l, "granted");
	}
	flush(l);
}

static void
begin(struct line *l, int64_t ms)
{
	size_t i;

	for (i = 0; i < tags_n; i++)
		if (tags[i].setup)
			rtmp_put(l->rtmp, tags[i].kind, 0, tags[i].bytes, tags[i].n);
	l->runs = true;
	l->from = ms;
	say(l, "begins");
}

static void
put(struct line *l, const struct tag *t, int64_t ms)
{
	if (l->fd < 0 || !l->granted || t->setup)
		return;
	if (!l->runs && !t->key)
		return;
	if (!l->runs)
		begin(l, ms);
	rtmp_put(l->rtmp, t->kind, (uint32_t)(ms - l->from), t->bytes, t->n);
	flush(l);
	if (l->fd >= 0 && t->kind == RTMP_VIDEO) {
		l->frames++;
		l->last = moment_now().ms;
	}
}

static void
wait_ms(int64_t ms)
{
	struct pollfd p[LINES];
	const uint8_t *bytes;
	size_t i;

	for (i = 0; i < lines_n; i++)
		p[i] = (struct pollfd){ lines[i].fd, (short)(POLLIN | (lines[i].rtmp != NULL &&
		    rtmp_out(lines[i].rtmp, &bytes) > 0 ? POLLOUT : 0)), 0 };
	if (poll(p, lines_n, ms > 0 ? (int)ms : 0) < 0 && errno != EINTR)
		fail("poll");
	for (i = 0; i < lines_n; i++) {
		if (lines[i].fd >= 0 && (p[i].revents & POLLOUT) != 0)
			flush(&lines[i]);
		if (lines[i].fd >= 0 && (p[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
			hear(&lines[i]);
		if (lines[i].fd < 0 && clock_ms() >= lines[i].retry_at)
			call(&lines[i]);
	}
}

static bool
all_may_send(void)
{
	size_t i;

	for (i = 0; i < lines_n && lines[i].granted;)
		i++;
	return i == lines_n;
}

int
main(int argc, char **argv)
{
	int64_t began, passes = 0, due;
	size_t next = 0, i;

	if (argc != 5) {
		fputs("usage: encoder FILE.flv PORT KEYS RETRY-MS\n", stderr);
		return 64;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_tags(argv[1]);
	read_keys(argv[3]);
	port = atoi(argv[2]);
	retry_ms = atoi(argv[4]);
	if (tags_n == 0 || lines_n == 0)
		fail("nothing to send");
	while (!all_may_send())
		wait_ms(LOOK_MS);
	began = clock_ms();
	for (;;) {
		due = tags[next].ms + passes * length;
		if (clock_ms() - began < due) {
			wait_ms(began + due - clock_ms());
			continue;
		}
		wait_ms(0);
		for (i = 0; i < lines_n; i++)
			put(&lines[i], &tags[next], due);
		next = (next + 1) % tags_n;
		passes += next == 0;
	}
}
