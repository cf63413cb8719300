/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The socket of an encoder. */
#include <sys/epoll.h>
#include <sys/socket.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"
#include "core/text.h"
#include "fcgi/live/visitor.h"

enum { TURN = 256 << 10, LEAVE_MS = 1000 };

struct visitor *
visitor_new(struct station *station, int fd, int epoll, const char *address, const struct rtmp_calls *calls)
{
	static uint64_t last;
	struct visitor *v = calloc(1, sizeof(*v));
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = v };

	if (v == NULL)
		abort();
	v->station = station;
	v->id = ++last;
	v->fd = fd;
	v->epoll = epoll;
	v->events = e.events;
	v->came_at = clock_ms();
	v->rtmp = rtmp_new(calls, v);
	snprintf(v->address, sizeof(v->address), "%s", address);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
		abort();
	return v;
}

void
visitor_free(struct visitor *v)
{
	close(v->fd);
	rtmp_free(v->rtmp);
	feed_free(v->feed);
	free(v);
}

bool
visitor_flush(struct visitor *v)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = v };
	const uint8_t *bytes;
	size_t n;
	ssize_t done;

	while ((n = rtmp_out(v->rtmp, &bytes)) > 0) {
		done = send(v->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (done < 0 && errno == EAGAIN)
			break;
		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0)
			rtmp_sent(v->rtmp, (size_t)done);
	}
	if (n > 0)
		e.events |= EPOLLOUT;
	if (e.events != v->events && epoll_ctl(v->epoll, EPOLL_CTL_MOD, v->fd, &e) != 0)
		abort();
	v->events = e.events;
	return true;
}

/* One buffer for all: what is not a whole message yet is kept by the protocol. */
static bool
receive(struct visitor *v)
{
	static uint8_t bytes[TURN];
	ssize_t n = recv(v->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	const char *fault;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	v->bytes += n;
	fault = rtmp_take(v->rtmp, bytes, (size_t)n);
	if (fault != NULL)
		log_line(LOG_LEVEL_INFO, "live", LOG_TEXT("from", v->address), LOG_TEXT("text", fault));
	return fault == NULL;
}

bool
visitor_attend(struct visitor *v, unsigned events)
{
	if ((events & ~(unsigned)EPOLLOUT) != 0 && !receive(v)) {
		visitor_flush(v);
		return false;
	}
	return visitor_flush(v);
}

void
visitor_refuse(struct visitor *v, const char *description)
{
	rtmp_refuse(v->rtmp, description);
	rtmp_bye(v->rtmp, description);
	v->stage = VISITOR_LEAVES;
	v->leave_at = clock_ms() + LEAVE_MS;
}
