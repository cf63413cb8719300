/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections of a FastCGI worker: the one in hand, and those put aside. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/listen.h"
#include "core/load.h"
#include "core/log.h"
#include "core/server.h"
#include "core/text.h"

enum {
	EVENTS = 64,
	/* ms that a worker waits itself: for the head, which comes from the web server alone, */
	HEAD_PATIENCE = 20,
	BODY_PATIENCE = 2,	/* and for a body that comes with it, but in pieces */
	CROWD = 8,		/* put aside, and nobody gets that moment */
	VECTORS = 512,		/* in one sendmsg() */
	STOP_DRAIN = 2000,	/* ms to drain when asked to end */
	TURN_MS = 3,		/* between two looks whose turn it is, */
	TENANTS = 16,		/* of so many */
};

static void *
need(void *memory)
{
	if (memory == NULL) {
		log_text(LOG_LEVEL_ERROR, "server", "out of memory");
		abort();
	}
	return memory;
}

static bool
passed_over(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/*
 * Who is woken for a new connection is the first of the workers that wait.  One that has just put something aside goes
 * to the end of that line, so that slow connections are spread over all of them.
 */
static void
listen_last(struct server *s)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = s };

	if (s->door < 0)
		return;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->door, NULL);
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->door, &e))
		log_text(LOG_LEVEL_ERROR, "server", "epoll: %s", strerror(errno));
}

static struct visit *
visit_new(struct server *s, int fd)
{
	struct visit *v = s->spare != NULL ? s->spare : need(calloc(1, sizeof(*v)));
	struct fcgi in = v->in;

	s->spare = NULL;
	fcgi_begin(&in);
	*v = (struct visit){ .in = in, .fd = fd, .place = -1, .began = clock_ms() };
	return v;
}

static void
visit_end(struct server *s, struct visit *v)
{
	int i;

	if (v->fd >= 0)
		close(v->fd);
	free(v->rest);
	v->rest = NULL;
	if (v->place >= 0) {
		s->waiting[v->place] = s->waiting[--s->n];
		s->waiting[v->place]->place = v->place;
		for (i = 0; i < s->happened_n; i++)
			if (s->happened[i].data.ptr == v)
				s->happened[i].data.ptr = NULL;
	}
	if (s->spare == NULL) {
		s->spare = v;
		return;
	}
	fcgi_free(&v->in);
	free(v);
}

/* Small is who goes first. */
static int
rank(const struct visit *v)
{
	static const int ranks[] = { [VISIT_DRAINS] = 0, [VISIT_WAITS] = 2, [VISIT_READS] = 3, [VISIT_WRITES] = 3 };

	return v->stage == VISIT_READS && !v->known ? 1 : ranks[v->stage];
}

static bool
goes_before(const struct visit *a, const struct visit *b)
{
	return rank(a) != rank(b) ? rank(a) < rank(b) : a->began < b->began;
}

static struct visit *
longest_waiting(const struct server *s)
{
	struct visit *v = s->waiting[0];
	int i;

	for (i = 1; i < s->n; i++)
		if (goes_before(s->waiting[i], v))
			v = s->waiting[i];
	return v;
}

static void
turn_out(struct server *s, struct visit *v)
{
	if (v->stage == VISIT_WAITS || (v->stage == VISIT_READS && v->judged)) {
		v->fault = v->stage == VISIT_WAITS ? VISIT_NO_TURN : VISIT_CROWDED;
		s->answer(v, s->user);
	}
	visit_end(s, v);
}

static bool
too_much(const struct server *s)
{
	size_t bytes = 0;
	int i;

	for (i = 0; i < s->n; i++)
		bytes += fcgi_size(&s->waiting[i]->in) + s->waiting[i]->rest_n;
	return bytes > s->bytes_max;
}

static void
put_aside(struct server *s, struct visit *v)
{
	static const uint32_t events[] = { [VISIT_READS] = EPOLLIN, [VISIT_WAITS] = EPOLLRDHUP,
		[VISIT_WRITES] = EPOLLOUT, [VISIT_DRAINS] = EPOLLIN };
	struct epoll_event e = { .events = events[v->stage], .data.ptr = v };
	bool there = v->place >= 0;

	while (!there && s->n >= s->waiting_max)
		turn_out(s, longest_waiting(s));
	if (v->events != e.events && epoll_ctl(s->epoll, there ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, v->fd, &e)) {
		visit_end(s, v);
		return;
	}
	v->events = e.events;
	if (!there) {
		v->place = s->n;
		s->waiting[s->n++] = v;
		listen_last(s);
	}
	while (s->n > 1 && too_much(s))
		turn_out(s, longest_waiting(s));
}

/* Sends what the socket takes.  -1: it takes nothing now.  -2: the connection is broken. */
static ssize_t
send_some(int fd, const struct iovec *v, size_t n)
{
	struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = n < VECTORS ? n : VECTORS };
	ssize_t sent = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

	return sent >= 0 ? sent : passed_over() ? -1 : -2;
}

static void
keep_rest(struct visit *v, const struct iovec *parts, size_t n)
{
	size_t i, total = 0;

	for (i = 0; i < n; i++)
		total += parts[i].iov_len;
	v->rest = need(malloc(total));
	v->rest_at = v->rest_n = 0;
	for (i = 0; i < n; i++) {
		memcpy(v->rest + v->rest_n, parts[i].iov_base, parts[i].iov_len);
		v->rest_n += parts[i].iov_len;
	}
}

void
server_send(struct visit *v, struct arena *mem, const struct iovec *parts, size_t n)
{
	struct iovec *p = fcgi_answer(mem, &v->in, parts, n, &n);
	ssize_t sent = 0;

	while (n > 0 && (sent = send_some(v->fd, p, n)) >= 0) {
		for (; n > 0 && (size_t)sent >= p->iov_len; p++, n--)
			sent -= (ssize_t)p->iov_len;
		if (n > 0) {
			p->iov_base = (char *)p->iov_base + sent;
			p->iov_len -= (size_t)sent;
		}
	}
	if (n > 0 && sent == -1)
		keep_rest(v, p, n);
}

int
server_take(struct server *s, struct visit *v)
{
	int fd = v->fd;

	if (v->events != 0)
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
	v->fd = -1;
	return fd;
}

/* The answer is given.  What is left of it, or of the request, is waited for. */
static void
answered(struct server *s, struct visit *v)
{
	if (v->fd < 0) {
		visit_end(s, v);
		return;
	}
	if (v->rest_at < v->rest_n) {
		v->stage = VISIT_WRITES;
		v->deadline = clock_ms() + s->silence_ms;
	} else if (v->in.state == FCGI_WHOLE) {
		visit_end(s, v);
		return;
	} else {
		v->stage = VISIT_DRAINS;
		v->deadline = clock_ms() + s->drain_ms;
		fcgi_free(&v->in);
	}
	put_aside(s, v);
}

static void
answer(struct server *s, struct visit *v, enum visit_fault fault)
{
	v->fault = fault;
	if (s->answer(v, s->user)) {
		answered(s, v);
		return;
	}
	if (v->stage != VISIT_WAITS)
		v->deadline = clock_ms() + s->turn_ms;
	v->stage = VISIT_WAITS;
	put_aside(s, v);
}

/* Of those that wait for their turn who has come first. */
static struct visit *
first_waiting(const struct server *s)
{
	struct visit *first = NULL;
	int i;

	for (i = 0; i < s->n; i++)
		if (s->waiting[i]->stage == VISIT_WAITS && (first == NULL || s->waiting[i]->began < first->began))
			first = s->waiting[i];
	return first;
}

/* The first of each tenant, who has its turn before the others.  Of more than TENANTS some are left for later. */
static int
first_of_each(const struct server *s, struct visit *first[TENANTS])
{
	int i, k, n = 0;

	for (i = 0; i < s->n; i++) {
		struct visit *v = s->waiting[i];

		if (v->stage != VISIT_WAITS)
			continue;
		for (k = 0; k < n && !uuid_equal(first[k]->tenant, v->tenant); k++)
			continue;
		if (k == n && n < TENANTS)
			first[n++] = v;
		else if (k < n && v->began < first[k]->began)
			first[k] = v;
	}
	return n;
}

static struct visit *
whose_turn(const struct server *s)
{
	struct visit *each[TENANTS], *first = NULL;
	int i, n = first_of_each(s, each);

	for (i = 0; i < n; i++)
		if ((first == NULL || each[i]->began < first->began) && load_is_turn(each[i]->tenant, each[i]->began))
			first = each[i];
	return first;
}

/* At most one, since others may have come to the door meanwhile. */
static void
take_turn(struct server *s)
{
	struct visit *v = whose_turn(s), *left;

	if (v != NULL)
		answer(s, v, VISIT_FINE);
	left = first_waiting(s);
	if (left != NULL)
		load_wait(left->tenant, left->began);
	else if (s->look_ms >= 0)
		load_wait((struct uuid){ 0 }, 0);
	s->look_ms = left == NULL ? -1 : v != NULL ? 0 : TURN_MS;
}

/* Looks at what has been read. */
static void
judge(struct server *s, struct visit *v)
{
	switch (v->in.state) {
	case FCGI_NEEDS_MORE:
		v->deadline = v->began + s->head_ms;
		put_aside(s, v);
		return;
	case FCGI_HEAD_COMPLETE:
		break;
	case FCGI_WHOLE:
		answer(s, v, VISIT_FINE);
		return;
	case FCGI_TOO_LARGE:
		answer(s, v, VISIT_TOO_LARGE);
		return;
	case FCGI_HEAD_TOO_LARGE:
		answer(s, v, VISIT_HEAD_TOO_LARGE);
		return;
	case FCGI_BROKEN:
		visit_end(s, v);
		return;
	}
	if (!v->judged && !s->admit(v, s->user)) {
		answered(s, v);
		return;
	}
	v->judged = true;
	v->deadline = v->began + (v->known ? s->known_ms + (int64_t)v->in.body_n * 1000 / s->rate : s->anonymous_ms);
	if (v->in.body_n > v->in.body_max)
		answer(s, v, VISIT_TOO_LARGE);
	else
		put_aside(s, v);
}

/* Takes what is there.  False when nothing is, or the connection is gone; then it is broken. */
static bool
take_bytes(struct visit *v)
{
	size_t room;
	void *to = fcgi_room(&v->in, &room);
	ssize_t n = recv(v->fd, to, room, MSG_DONTWAIT);

	if (n < 0 && passed_over())
		return false;
	if (n <= 0) {
		v->in.state = FCGI_BROKEN;
		return false;
	}
	fcgi_feed(&v->in, (size_t)n);
	if (v->in.reply_n > 0)
		(void)send(v->fd, v->in.reply, v->in.reply_n, MSG_DONTWAIT | MSG_NOSIGNAL);
	v->in.reply_n = 0;
	return true;
}

/* A web server sends in pieces what it has.  Those on their way are worth a moment, which no client can make longer. */
static bool
wait_moment(const struct server *s, struct visit *v)
{
	struct pollfd p = { .fd = v->fd, .events = POLLIN };
	int64_t now = clock_ms(), until = v->began + HEAD_PATIENCE;

	if (v->in.state == FCGI_HEAD_COMPLETE) {
		if (v->head_there == 0)
			v->head_there = now;
		until = s->n < CROWD ? v->head_there + BODY_PATIENCE : 0;
	}
	return until > now && poll(&p, 1, (int)(until - now)) > 0;
}

/* The usual way of a request: it is all there, and this is all there is to it. */
static void
receive(struct server *s, int fd)
{
	struct visit *v = visit_new(s, fd);

	while (v->in.state <= FCGI_HEAD_COMPLETE)
		if (!take_bytes(v) && (v->in.state == FCGI_BROKEN || !wait_moment(s, v)))
			break;
	judge(s, v);
}

static void
drain(struct server *s, struct visit *v)
{
	static char nothing[65536];
	ssize_t n = recv(v->fd, nothing, sizeof(nothing), MSG_DONTWAIT);

	if (n > 0)
		v->drained += (size_t)n;
	if ((n <= 0 && (n == 0 || !passed_over())) || v->drained > s->drain_bytes)
		visit_end(s, v);
}

static void
write_rest(struct server *s, struct visit *v)
{
	struct iovec part = { v->rest + v->rest_at, v->rest_n - v->rest_at };
	ssize_t n = send_some(v->fd, &part, 1);

	if (n == -2) {
		visit_end(s, v);
		return;
	}
	if (n < 0)
		return;
	v->rest_at += (size_t)n;
	answered(s, v);
}

static void
go_on(struct server *s, struct visit *v)
{
	if (v->stage == VISIT_WAITS)
		visit_end(s, v);		/* nobody waits for the answer any more */
	else if (v->stage == VISIT_WRITES)
		write_rest(s, v);
	else if (v->stage == VISIT_DRAINS)
		drain(s, v);
	else if (take_bytes(v) || v->in.state == FCGI_BROKEN)
		judge(s, v);
}

static void
take(struct server *s)
{
	const struct timespec nap = { .tv_nsec = 100 * 1000000 };
	int fd = accept4(s->door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		receive(s, fd);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		nanosleep(&nap, NULL);
}

/* Those whose time is over.  Returns ms until the next one's is, -1 for never. */
static int
expire(struct server *s)
{
	int64_t now = s->n > 0 ? clock_ms() : 0, next = s->stop_at;
	int i;

	for (i = s->n - 1; i >= 0; i--) {
		struct visit *v = i < s->n ? s->waiting[i] : NULL;

		if (v == NULL || (v->deadline > now && s->stop_at > now))
			continue;
		if (v->stage == VISIT_WAITS)
			answer(s, v, VISIT_NO_TURN);
		else if (v->stage == VISIT_READS && v->judged)
			answer(s, v, VISIT_TOO_SLOW);
		else
			visit_end(s, v);
	}
	for (i = 0; i < s->n; i++)
		if (s->waiting[i]->deadline < next)
			next = s->waiting[i]->deadline;
	if (s->n == 0)
		return s->door < 0 ? 0 : -1;
	return next > now ? (int)(next - now) : 0;
}

/* New connections are for others from now on. */
static void
stop(struct server *s)
{
	int64_t now = clock_ms();
	int i;

	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->door, NULL);
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, listen_stop(), NULL);
	close(s->door);
	s->door = -1;
	s->stop_at = now + s->stop_ms;
	for (i = 0; i < s->n; i++)
		if (s->waiting[i]->stage == VISIT_DRAINS && s->waiting[i]->deadline > now + STOP_DRAIN)
			s->waiting[i]->deadline = now + STOP_DRAIN;
}

/* ms until there is something to do that nobody wakes us for; -1 for never. */
static int
patience(struct server *s)
{
	int64_t now = clock_ms();
	int ms = expire(s);

	if (s->look_ms >= 0 && (ms < 0 || s->look_ms < ms))
		ms = s->look_ms;
	if (s->beside_ms >= 0 && (ms < 0 || s->beside_ms < ms))
		ms = s->beside_ms;
	if (s->idle == NULL || s->idle_at == INT64_MAX)
		return ms;
	if (s->idle_at <= now) {
		s->idle_at = INT64_MAX;
		s->idle(s->user);
		return ms;
	}
	return ms < 0 || s->idle_at - now < ms ? (int)(s->idle_at - now) : ms;
}

/* A connection that this worker was woken for is nobody else's: it is taken first, even when we shall stop. */
static void
turn(struct server *s)
{
	int i;

	s->happened_n = epoll_wait(s->epoll, s->happened, EVENTS, patience(s));
	if (s->happened_n > 0)
		s->idle_at = clock_ms() + s->idle_ms;
	for (i = 0; i < s->happened_n; i++)
		if (s->happened[i].data.ptr == s)
			take(s);
	for (i = 0; i < s->happened_n; i++)
		if (s->happened[i].data.ptr != s && s->happened[i].data.ptr != NULL)
			go_on(s, s->happened[i].data.ptr);
	s->happened_n = 0;
	take_turn(s);
	if (s->beside != NULL)
		s->beside_ms = s->beside(s->user);
	if (s->door >= 0 && listen_stopping())
		stop(s);
}

void
server_run(struct server *s)
{
	struct epoll_event stopped = { .events = EPOLLIN };
	struct epoll_event happened[EVENTS];

	s->stop_at = s->idle_at = INT64_MAX;
	s->look_ms = s->beside_ms = -1;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, listen_stop(), &stopped);
	s->door = listen_door();
	if (listen_stopping())		/* before it could ring */
		return;
	if (s->epoll < 0 || s->door < 0) {
		log_text(LOG_LEVEL_ERROR, "server", "epoll: %s", strerror(errno));
		exit(71);
	}
	if (s->beside != NULL)		/* whose turn it is at each turn, so that nothing is to be told */
		epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->beside_fd, &stopped);
	s->waiting = need(calloc((size_t)s->waiting_max, sizeof(*s->waiting)));
	s->happened = happened;
	listen_last(s);
	while (s->door >= 0 || s->n > 0)
		turn(s);
	if (s->spare != NULL)
		fcgi_free(&s->spare->in);
	free(s->spare);
	free(s->waiting);
	close(s->epoll);
}
