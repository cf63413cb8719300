/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocking FastCGI with time limits. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fcgi/upload/wire.h"

enum {
	HEAD_MS = 10000,	/* for the head, which web servers send at once */
	SILENCE_MS = 60000,	/* without a byte */
	DRAIN_MS = 10000,	/* for the rest of a refused body, */
	DRAIN_SILENCE_MS = 2000,
	PIECE = 32768,		/* bytes that are enough to do something with */
	VECTORS = 16,
};

/* False: nothing comes, or the seat is to be given up, for which the signal is let in. */
static bool
wait_for_bytes(int fd, const struct seat *seat, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec left;
	sigset_t others;
	int64_t ms;

	sigfillset(&others);
	sigdelset(&others, SEAT_SIGNAL);
	while ((ms = until - clock_ms()) > 0 && (seat == NULL || seat->ended == ERR_NONE)) {
		left = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
		if (ppoll(&p, 1, &left, &others) > 0)
			return true;
	}
	return false;
}

/* Feeds what is there.  False: nothing is, or the connection is broken. */
static bool
take_bytes(struct wire *w)
{
	size_t room;
	void *to = fcgi_room(&w->in, &room);
	ssize_t n = recv(w->fd, to, room, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		w->in.state = FCGI_BROKEN;
		return false;
	}
	fcgi_feed(&w->in, (size_t)n);
	if (w->in.reply_n > 0)
		(void)send(w->fd, w->in.reply, w->in.reply_n, MSG_DONTWAIT | MSG_NOSIGNAL);
	w->in.reply_n = 0;
	return w->in.state != FCGI_BROKEN;
}

bool
wire_open(struct wire *w, int fd)
{
	struct timeval limit = { .tv_sec = SILENCE_MS / 1000 };
	int64_t until = clock_ms() + HEAD_MS;

	*w = (struct wire){ .fd = fd };
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	fcgi_begin(&w->in);
	while (w->in.state == FCGI_NEEDS_MORE && wait_for_bytes(fd, NULL, until))
		take_bytes(w);
	return w->in.state != FCGI_NEEDS_MORE && w->in.state != FCGI_BROKEN && w->in.role == FCGI_RESPONDER;
}

int
wire_read(struct wire *w, const struct seat *seat, const void **bytes)
{
	int64_t until = clock_ms() + SILENCE_MS;

	if (w->handed)		/* the first of them came with the head */
		fcgi_drop_body(&w->in);
	w->handed = true;
	for (;;) {
		while (w->in.state == FCGI_HEAD_COMPLETE && w->in.body_n < PIECE && take_bytes(w))
			continue;
		*bytes = fcgi_body(&w->in);
		if (seat->ended != ERR_NONE)
			return -1;
		if (w->in.body_n > 0)
			return (int)w->in.body_n;
		if (w->in.state != FCGI_HEAD_COMPLETE)
			return w->in.state == FCGI_WHOLE ? 0 : -1;
		if (!wait_for_bytes(w->fd, seat, until))
			return -1;
	}
}

static void
drain(int fd)
{
	int64_t until = clock_ms() + DRAIN_MS, now;
	char nothing[4096];

	shutdown(fd, SHUT_WR);
	while ((now = clock_ms()) < until &&
	    wait_for_bytes(fd, NULL, now + DRAIN_SILENCE_MS < until ? now + DRAIN_SILENCE_MS : until))
		if (recv(fd, nothing, sizeof(nothing), MSG_DONTWAIT) <= 0)
			return;
}

static bool
send_all(int fd, struct iovec *v, size_t n)
{
	struct msghdr m = { .msg_iov = v };
	ssize_t sent = 0;

	while (n > 0 && sent >= 0) {
		m.msg_iovlen = n < VECTORS ? n : VECTORS;
		sent = sendmsg(fd, &m, MSG_NOSIGNAL);
		for (; n > 0 && sent >= (ssize_t)m.msg_iov->iov_len; m.msg_iov++, n--)
			sent -= (ssize_t)m.msg_iov->iov_len;
		if (n > 0 && sent > 0) {
			m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + sent;
			m.msg_iov->iov_len -= (size_t)sent;
		}
	}
	return n == 0;
}

bool
wire_send(struct wire *w, const void *bytes, size_t n)
{
	unsigned char head[FCGI_HEADER];
	const char *at = bytes;
	bool fine = true;

	while (fine && n > 0) {
		const size_t size = n < FCGI_PIECE_MAX ? n : FCGI_PIECE_MAX;

		fcgi_piece(head, w->in.id, size);
		fine = send_all(w->fd, (struct iovec[]){ { head, sizeof(head) }, { (void *)(uintptr_t)at, size } }, 2);
		at += size;
		n -= size;
	}
	return fine;
}

void
wire_end(struct wire *w)
{
	unsigned char tail[3 * FCGI_HEADER];

	fcgi_last(tail, w->in.id);
	send_all(w->fd, &(struct iovec){ tail, sizeof(tail) }, 1);
}

void
wire_answer(struct wire *w, struct arena *mem, const struct iovec *parts, size_t n)
{
	struct iovec *v = fcgi_answer(mem, &w->in, parts, n, &n);

	if (send_all(w->fd, v, n) && w->in.state != FCGI_WHOLE && w->in.state != FCGI_BROKEN)
		drain(w->fd);
}

void
wire_close(struct wire *w)
{
	close(w->fd);
	fcgi_free(&w->in);
}
