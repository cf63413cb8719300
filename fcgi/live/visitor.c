/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The socket of an encoder. */
#include <sys/epoll.h>
#include <sys/socket.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/text.h"
#include "fcgi/live/visitor.h"

enum { TURN = 256 << 10, RECORD = 16 << 10, HELD_MAX = 8 << 20, LEAVE_MS = 1000 };

static struct visitor *
visitor_made(struct station *station, const char *address)
{
	static uint64_t last;
	struct visitor *v = calloc(1, sizeof(*v));

	if (v == NULL)
		abort();
	v->station = station;
	v->id = ++last;
	v->fd = -1;
	v->came_at = clock_ms();
	snprintf(v->address, sizeof(v->address), "%s", address);
	peer_network(address, v->network);
	return v;
}

struct visitor *
visitor_new(struct station *station, int fd, struct tls_line *tls, int epoll, const char *address,
    const struct rtmp_calls *calls)
{
	struct visitor *v = visitor_made(station, address);
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = v };

	v->fd = fd;
	v->tls = tls;
	v->epoll = epoll;
	v->events = e.events;
	v->rtmp = rtmp_new(calls, v);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
		abort();
	return v;
}

struct visitor *
visitor_new_line(struct station *station, struct srt *srt, int line, const char *address, ts_media *media)
{
	struct visitor *v = visitor_made(station, address);

	v->srt = srt;
	v->line = line;
	v->ts = ts_new(media, v);
	v->stage = VISITOR_ASKS;
	v->asked_at = v->came_at;
	return v;
}

void
visitor_free(struct visitor *v)
{
	tls_hang_up(v->tls);
	/* A program that is just being started may hold it, too: closing it alone ends nothing. */
	if (v->fd >= 0 && v->epoll >= 0)
		epoll_ctl(v->epoll, EPOLL_CTL_DEL, v->fd, NULL);
	if (v->fd >= 0)
		close(v->fd);
	if (v->srt != NULL)
		srt_hang_up(v->srt, v->line);
	ts_free(v->ts);
	free(v->held);
	rtmp_free(v->rtmp);
	feed_free(v->feed);
	free(v);
}

static ssize_t
send_some(const struct visitor *v, const uint8_t *bytes, size_t n)
{
	return v->tls != NULL ? tls_send(v->tls, bytes, n) : send(v->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool
visitor_flush(struct visitor *v)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = v };
	const uint8_t *bytes;
	size_t n;
	ssize_t done;

	if (v->rtmp == NULL)
		return true;
	while ((n = rtmp_out(v->rtmp, &bytes)) > 0) {
		done = send_some(v, bytes, n);
		if (done < 0 && errno == EAGAIN)
			break;
		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0)
			rtmp_sent(v->rtmp, (size_t)done);
	}
	if (v->tls != NULL ? tls_wants_to_send(v->tls) : n > 0)
		e.events |= EPOLLOUT;
	if (e.events != v->events && epoll_ctl(v->epoll, EPOLL_CTL_MOD, v->fd, &e) != 0)
		abort();
	v->events = e.events;
	return true;
}

/* By TLS one record comes at a time.  None may be left half taken: epoll would not tell of the rest of it. */
static ssize_t
take_records(const struct visitor *v, uint8_t *bytes, size_t n)
{
	size_t taken = 0;
	ssize_t done = 0;

	while (n - taken >= RECORD && (done = tls_take(v->tls, bytes + taken, n - taken)) > 0)
		taken += (size_t)done;
	return taken > 0 ? (ssize_t)taken : done;
}

/* One buffer for all: what is not a whole message yet is kept by the protocol. */
static bool
receive(struct visitor *v)
{
	static uint8_t bytes[TURN];
	ssize_t n = v->tls != NULL ? take_records(v, bytes, sizeof(bytes)) :
	    recv(v->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	int error = errno;
	const char *fault = v->tls != NULL ? tls_fault(v->tls) : NULL, *wrong;

	if (fault != NULL)
		log_line(LOG_LEVEL_INFO, "live", LOG_TEXT("from", v->address), LOG_TEXT("tls", fault));
	if (n < 0)
		return error == EAGAIN || error == EINTR;
	if (n == 0)
		return false;
	v->bytes += n;
	wrong = rtmp_take(v->rtmp, bytes, (size_t)n);
	if (wrong != NULL)
		log_line(LOG_LEVEL_INFO, "live", LOG_TEXT("from", v->address), LOG_TEXT("text", wrong));
	return wrong == NULL && fault == NULL;
}

bool
visitor_attend(struct visitor *v, unsigned events)
{
	/* A handshake goes on when there is room to send, too. */
	if (((events & ~(unsigned)EPOLLOUT) != 0 || v->tls != NULL) && !receive(v)) {
		visitor_flush(v);
		return false;
	}
	return visitor_flush(v);
}

/* They may begin with the only key frame for ten seconds.  What is too much is left out as if it had been lost. */
static void
hold(struct visitor *v, const uint8_t *bytes, size_t n)
{
	if (v->held_n + n > HELD_MAX)
		v->held_n = 0;
	if (v->held_n + n > v->held_room) {
		v->held_room = 2 * (v->held_n + n);
		v->held = realloc(v->held, v->held_room);
		if (v->held == NULL)
			abort();
	}
	memcpy(v->held + v->held_n, bytes, n);
	v->held_n += n;
}

static const char *
take_held(struct visitor *v)
{
	uint8_t *held = v->held;
	const char *fault = ts_take(v->ts, held, v->held_n);

	free(held);
	v->held = NULL;
	v->held_n = v->held_room = 0;
	return fault;
}

const char *
visitor_take(struct visitor *v, const uint8_t *bytes, size_t n)
{
	const char *fault = NULL;

	if (v->stage == VISITOR_LEAVES)
		return NULL;
	v->bytes += (int64_t)n;
	if (v->stage != VISITOR_SENDS) {
		hold(v, bytes, n);
		return NULL;
	}
	if (v->held != NULL)
		fault = take_held(v);
	return fault != NULL ? fault : ts_take(v->ts, bytes, n);
}

void
visitor_grant(struct visitor *v)
{
	if (v->rtmp != NULL)
		rtmp_grant(v->rtmp);
}

void
visitor_refuse(struct visitor *v, const char *description)
{
	if (v->rtmp != NULL) {
		rtmp_refuse(v->rtmp, description);
		rtmp_bye(v->rtmp, description);
	}
	v->stage = VISITOR_LEAVES;
	v->leave_at = clock_ms() + (v->rtmp != NULL ? LEAVE_MS : 0);
}
