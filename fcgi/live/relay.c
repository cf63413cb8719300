/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread of one target: wait for something to send, connect, send, and begin anew. */
#include <sys/socket.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/livestream_target.h"
#include "fcgi/live/relay.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/srt_out.h"
#include "fcgi/live/tls.h"
#include "fcgi/live/ts_put.h"

enum {
	BYTES_MAX = 8 << 20, WAIT_MAX_MS = 4000,	/* of what waits */
	LOOK_MS = 250,			/* after which it is seen that it has to end */
	CONNECT_MS = 10000,		/* for each of connecting and being granted */
	SRT_CONNECT_MS = 3000,
	STALL_MS = 10000,		/* in which a target takes no byte */
	IDLE_MS = 10000,		/* in which nothing comes; then the connection is closed */
	RETRY_MS = 1000, RETRY_MAX_MS = 60000,
	FINE_MS = 60000,		/* of sending, after which a failure is a new one */
	ARENA = 64 << 10,
};

static atomic_int running;

struct relay {
	const struct conf *conf;
	atomic_int holders;
	pthread_mutex_t lock;		/* of what follows, for moments */
	pthread_cond_t more;
	bool ends, rests;		/* rests: what comes meanwhile is left out */
	struct backlog backlog;
	struct relay_news news;
	char url[LIVESTREAM_TARGET_URL + 1];
};

/* One connection. */
struct wire {
	struct relay *relay;
	int fd;
	struct tls_line *tls;
	struct rtmp *rtmp;
	struct srt_out *srt;		/* instead of these three, with ts */
	struct ts_put *ts;
	const char *fault;		/* reason, once it is over */
};

static void
let_go(struct relay *r)
{
	if (atomic_fetch_sub(&r->holders, 1) != 1)
		return;
	backlog_free(&r->backlog);
	pthread_cond_destroy(&r->more);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* --- what the thread knows of the others */

static bool
ends(struct relay *r)
{
	bool yes;

	pthread_mutex_lock(&r->lock);
	yes = r->ends;
	pthread_mutex_unlock(&r->lock);
	return yes;
}

static void
say(struct relay *r, enum relay_status status, const char *reason, int64_t retry_at)
{
	pthread_mutex_lock(&r->lock);
	r->news.status = status;
	r->news.reason = reason;
	r->news.retry_at = retry_at;
	pthread_mutex_unlock(&r->lock);
}

static void
sleep_on(struct relay *r, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&r->more, &r->lock, &until);
}

/* The next one, for which it waits a moment. */
static struct frame *
next_frame(struct relay *r)
{
	struct frame *f;

	pthread_mutex_lock(&r->lock);
	if (!r->ends && r->backlog.n == 0)
		sleep_on(r, LOOK_MS);
	f = r->ends ? NULL : backlog_take(&r->backlog);
	pthread_mutex_unlock(&r->lock);
	return f;
}

static bool
has_frames(struct relay *r)
{
	bool yes;

	pthread_mutex_lock(&r->lock);
	if (!r->ends && r->backlog.n == 0)
		sleep_on(r, LOOK_MS);
	yes = r->backlog.n > 0;
	pthread_mutex_unlock(&r->lock);
	return yes;
}

/* What has come before that, or comes meanwhile, is too old for a connection that begins behind it. */
static void
rest(struct relay *r, int64_t until)
{
	pthread_mutex_lock(&r->lock);
	r->rests = true;
	backlog_clear(&r->backlog);
	while (!r->ends && clock_ms() < until)
		sleep_on(r, (int)(until - clock_ms()) + 1);
	r->rests = false;
	pthread_mutex_unlock(&r->lock);
}

/* --- the connection */

/* Until it can be read, or written to; the time that is left, for a moment.  False: nothing has happened. */
static bool
wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, LOOK_MS) > 0;
}

static int
connected(struct relay *r, const struct web_target *to, const struct web_address *at, int64_t until)
{
	struct sockaddr_storage where;
	const socklen_t size = web_address_socket(at, to->port, &where);
	int fd = socket(at->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&where, size) != 0 && errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	while (!wait_for(fd, POLLOUT) && clock_ms() < until && !ends(r))
		continue;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){ sizeof(error) }) != 0 || error != 0 ||
	    !wait_for(fd, POLLOUT)) {
		close(fd);
		errno = error != 0 ? error : ETIMEDOUT;
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return fd;
}

/* To one of the addresses, all of which were judged.  NULL, or the reason why not. */
static const char *
reach(struct relay *r, struct arena *mem, struct web_target *to, int *fd)
{
	const int64_t until = clock_ms() + CONNECT_MS;
	enum web_end end = web_target_resolve(mem, to, r->conf->live_private_hosts);
	size_t i;

	*fd = -1;
	errno = 0;
	if (end == WEB_ANSWERED)
		for (i = 0; i < to->n && *fd < 0 && !ends(r); i++)
			*fd = connected(r, to, &to->at[i], until);
	return end == WEB_FORBIDDEN ? "forbidden" : end != WEB_ANSWERED ? "unresolved" : *fd >= 0 ? NULL : errno ==
	    ETIMEDOUT ? "timeout" : "unreachable";
}

/* Reads what is there. */
static void
hear(struct wire *w)
{
	uint8_t bytes[4096];
	ssize_t n;

	if (w->srt != NULL) {
		if (srt_out_is_over(w->srt))
			w->fault = "closed";
		return;
	}
	do {
		n = w->tls != NULL ? tls_take(w->tls, bytes, sizeof(bytes)) : recv(w->fd, bytes, sizeof(bytes),
		    MSG_DONTWAIT);
		if (n > 0 && rtmp_take(w->rtmp, bytes, (size_t)n) != NULL)
			w->fault = "closed";
	} while (n > 0 && w->fault == NULL);
	if (w->tls != NULL && tls_fault(w->tls) != NULL)
		w->fault = "tls";
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		w->fault = rtmp_stage(w->rtmp) == RTMP_ASKS ? "refused" : "closed";
}

static void
flush_srt(struct wire *w)
{
	int64_t moved_at = clock_ms();
	const uint8_t *bytes;
	size_t n;
	int done;

	while (w->fault == NULL && (n = ts_put_out(w->ts, &bytes)) > 0) {
		done = srt_out_send(w->srt, bytes, n, LOOK_MS);
		if (done > 0) {
			ts_put_sent(w->ts, (size_t)done);
			moved_at = clock_ms();
		} else if (done < 0) {
			w->fault = "closed";
		} else if (clock_ms() - moved_at >= STALL_MS || ends(w->relay)) {
			w->fault = "stalled";
		}
	}
}

/* Sends all that waits to be sent, and reads what comes meanwhile. */
static void
flush(struct wire *w)
{
	int64_t moved_at = clock_ms();
	const uint8_t *bytes;
	ssize_t done;
	size_t n;

	if (w->srt != NULL) {
		flush_srt(w);
		return;
	}
	while (w->fault == NULL && (n = rtmp_out(w->rtmp, &bytes)) > 0) {
		done = w->tls != NULL ? tls_send(w->tls, bytes, n) : send(w->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (done > 0) {
			rtmp_sent(w->rtmp, (size_t)done);
			moved_at = clock_ms();
			continue;
		}
		if (done < 0 && errno != EAGAIN && errno != EINTR) {
			w->fault = w->tls != NULL && tls_fault(w->tls) != NULL ? "tls" : "closed";
			return;
		}
		if (clock_ms() - moved_at >= STALL_MS || ends(w->relay)) {
			w->fault = "stalled";
			return;
		}
		if (w->tls != NULL && !tls_wants_to_send(w->tls))
			wait_for(w->fd, POLLIN);
		else
			wait_for(w->fd, POLLIN | POLLOUT);
		hear(w);
	}
}

/* Handshakes, and the word that it may send. */
static void
negotiate(struct wire *w)
{
	const int64_t until = clock_ms() + CONNECT_MS;

	while (w->fault == NULL && rtmp_stage(w->rtmp) != RTMP_PUBLISHES) {
		flush(w);
		if (w->fault == NULL && wait_for(w->fd, POLLIN))
			hear(w);
		if (w->fault == NULL && rtmp_stage(w->rtmp) == RTMP_OVER)
			w->fault = "refused";
		else if (w->fault == NULL && (clock_ms() >= until || ends(w->relay)))
			w->fault = "timeout";
	}
}

/* True: there is something to go on with. */
static bool
send_frame(struct wire *w, struct frame *f, int64_t *zero)
{
	uint32_t ms;

	if (f->use != FRAME_SETUP && *zero < 0)
		*zero = f->ms;
	ms = f->use == FRAME_SETUP || f->ms < *zero ? 0 : (uint32_t)(f->ms - *zero);
	if (w->srt == NULL)
		rtmp_put(w->rtmp, f->kind, ms, f->bytes, f->n);
	else if (f->kind != RTMP_DATA && !ts_put_tag(w->ts, f->kind, ms, f->bytes, f->n))
		w->fault = "format";
	flush(w);
	if (w->fault == NULL) {
		pthread_mutex_lock(&w->relay->lock);
		w->relay->news.bytes += (int64_t)f->n;
		pthread_mutex_unlock(&w->relay->lock);
		if (f->use != FRAME_SETUP)
			say(w->relay, RELAY_SENDS, NULL, 0);
	}
	frame_drop(f);
	return w->fault == NULL;
}

static void
send_all(struct wire *w)
{
	int64_t zero = -1, got_at = clock_ms();
	struct frame *f;

	while (w->fault == NULL && clock_ms() - got_at < IDLE_MS && !ends(w->relay)) {
		f = next_frame(w->relay);
		if (f != NULL) {
			send_frame(w, f, &zero);
			got_at = clock_ms();
		} else {
			flush(w);
		}
		if (w->fault == NULL)
			hear(w);
		if (w->fault == NULL && w->rtmp != NULL && rtmp_stage(w->rtmp) == RTMP_OVER)
			w->fault = "closed";
	}
	if (w->fault == NULL && w->rtmp != NULL) {
		rtmp_end(w->rtmp);
		flush(w);
		w->fault = NULL;
	}
}

static void
push_rtmp(struct wire *w, struct arena *mem, struct livestream_address *a)
{
	const char *url = arena_copy_n(mem, w->relay->url, (size_t)(a->key - w->relay->url) - 1);

	w->fault = reach(w->relay, mem, &a->to, &w->fd);
	if (w->fault != NULL)
		return;
	w->rtmp = rtmp_push(a->app, url, a->key);
	if (strcmp(a->to.scheme, "rtmps") == 0)
		w->tls = tls_call(w->fd, a->to.host);
	negotiate(w);
	if (w->fault == NULL)
		send_all(w);
	tls_hang_up(w->tls);
	rtmp_free(w->rtmp);
	close(w->fd);
}

static void
push_srt(struct wire *w, struct arena *mem, struct livestream_address *a)
{
	const enum web_end end = web_target_resolve(mem, &a->to, w->relay->conf->live_private_hosts);
	size_t i;

	w->fault = end == WEB_FORBIDDEN ? "forbidden" : end != WEB_ANSWERED ? "unresolved" : "unreachable";
	if (end != WEB_ANSWERED)
		return;
	for (i = 0; i < a->to.n && w->srt == NULL && !ends(w->relay); i++)
		w->srt = srt_out_open(a, &a->to.at[i], SRT_CONNECT_MS, &w->fault);
	if (w->srt == NULL)
		return;
	w->fault = NULL;
	w->ts = ts_put_new();
	send_all(w);
	srt_out_close(w->srt);
	ts_put_free(w->ts);
}

/* NULL: all was sent, and there is no more; or the reason why it did not go on. */
static const char *
push(struct relay *r, struct arena *mem)
{
	struct wire w = { .relay = r, .fd = -1 };
	struct livestream_address a;

	if (livestream_address_read(mem, r->url, &a) != NULL)
		return "forbidden";
	if (strcmp(a.to.scheme, "srt") == 0)
		push_srt(&w, mem, &a);
	else
		push_rtmp(&w, mem, &a);
	return w.fault;
}

static void *
run(void *user)
{
	struct relay *r = user;
	struct arena *mem = arena_new(ARENA);
	int64_t wait = RETRY_MS, began_at;
	const char *reason;

	while (!ends(r)) {
		if (!has_frames(r))
			continue;
		began_at = clock_ms();
		reason = push(r, mem);
		arena_reset(mem);
		if (clock_ms() - began_at >= FINE_MS || reason == NULL)
			wait = RETRY_MS;
		if (reason == NULL) {
			say(r, RELAY_WAITS, NULL, 0);
			continue;
		}
		say(r, RELAY_FAILS, reason, clock_ms() + wait);
		rest(r, clock_ms() + wait);
		wait = 2 * wait < RETRY_MAX_MS ? 2 * wait : RETRY_MAX_MS;
	}
	arena_free(mem);
	let_go(r);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

/* --- the others */

struct relay *
relay_new(const struct conf *conf, const char *url)
{
	struct relay *r = calloc(1, sizeof(*r));
	pthread_condattr_t attr;
	sigset_t all, before;
	pthread_t thread;

	if (r == NULL)
		abort();
	r->conf = conf;
	r->backlog = (struct backlog){ .bytes_max = BYTES_MAX, .ms_max = WAIT_MAX_MS };
	snprintf(r->url, sizeof(r->url), "%s", url);
	atomic_init(&r->holders, 2);
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->more, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are for the thread that receives. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_fetch_add(&running, 1);
	if (pthread_create(&thread, NULL, run, r) != 0) {
		/* No room for one more thread now. */
		atomic_fetch_sub(&running, 1);
		let_go(r);
		r->news = (struct relay_news){ RELAY_FAILS, "unreachable", 0, 0, 0 };
	} else {
		pthread_detach(thread);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

void
relay_put(struct relay *r, struct frame *f)
{
	pthread_mutex_lock(&r->lock);
	/* Setups are kept in any case. */
	if (!r->rests || f->use == FRAME_SETUP)
		backlog_put(&r->backlog, f);
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

void
relay_end(struct relay *r)
{
	pthread_mutex_lock(&r->lock);
	r->ends = true;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
	let_go(r);
}

void
relay_look(struct relay *r, struct relay_news *news)
{
	pthread_mutex_lock(&r->lock);
	*news = r->news;
	news->dropped = r->backlog.dropped;
	pthread_mutex_unlock(&r->lock);
}

void
relay_wait_for_all(int ms)
{
	const int64_t until = clock_ms() + ms;

	while (atomic_load(&running) > 0 && clock_ms() < until)
		usleep(10000);
}
