/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One open stream: bytes to its connection, none of which is waited for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/fcgi.h"
#include "core/text.h"
#include "fcgi/access.h"
#include "fcgi/events/stream.h"

enum {
	REST_MAX = 32768, REST_ANSWER_MAX = 262144, HOUR_MS = 3600000,
	JUDGED_MAX = 64,	/* channels that are remembered */
	KERNEL_MAX = 32768,	/* that the kernel keeps of what was sent: more goes when that is taken */
};

static const char *
put(char **to, const char *text)
{
	char *at = *to;
	size_t n = text != NULL ? strlen(text) + 1 : 0;

	*to += n;
	return n > 0 ? memcpy(at, text, n) : NULL;
}

/* Everything that outlives the request goes into one piece of memory: what points, then texts. */
static void
remember(struct stream *t, const struct req *r)
{
	const struct subscription *what = r->subscription;
	/* What judges a question is no stream. */
	const char *texts[] = { what->uri != NULL ? what->uri : r->uri, r->authorization, r->client,
	    what->uri != NULL ? NULL : r->accept, r->origin };
	const char **kept[] = { &t->uri, &t->authorization, &t->client, &t->accept, &t->origin };
	size_t subjects = what->n_subjects * sizeof(*what->subjects), types = what->types.n * sizeof(char *);
	size_t n = 0, i;
	char *to;

	for (i = 0; i < what->n_subjects; i++)
		n += what->subjects[i].token != NULL ? strlen(what->subjects[i].token) + 1 : 0;
	for (i = 0; i < what->types.n; i++)
		n += strlen(what->types.at[i]) + 1;
	for (i = 0; i < 5; i++)
		n += texts[i] != NULL ? strlen(texts[i]) + 1 : 0;
	t->memory = calloc(1, subjects + types + n + 1);
	if (t->memory == NULL)
		abort();
	t->what = *what;
	t->what.subjects = (struct subject *)(void *)t->memory;
	t->what.types.at = (const char **)(void *)(t->memory + subjects);
	t->what.channel_ids = (struct ids){ NULL, 0 };
	to = t->memory + subjects + types;
	for (i = 0; i < what->n_subjects; i++) {
		t->what.subjects[i] = what->subjects[i];
		t->what.subjects[i].token = put(&to, what->subjects[i].token);
	}
	for (i = 0; i < what->types.n; i++)
		t->what.types.at[i] = put(&to, what->types.at[i]);
	for (i = 0; i < 5; i++)
		*kept[i] = put(&to, texts[i]);
	t->what.uri = NULL;
}

void
stream_judged(struct stream *t, const struct ids *channel_ids, unsigned permissions, int64_t version)
{
	size_t n = channel_ids->n <= JUDGED_MAX ? channel_ids->n : 0;
	struct uuid *at = realloc(t->judged.channel_ids.at, n * sizeof(*at) + 1);

	if (at == NULL)
		abort();
	if (n > 0)
		memcpy(at, channel_ids->at, n * sizeof(*at));
	t->judged.channel_ids.at = at;
	t->judged.channel_ids.n = n;
	t->judged.permissions = permissions;
	t->judged.version = n == channel_ids->n ? version : -1;
}

/* Of pages there is no caller to judge, nor a token that could end. */
static void
belongs_to(struct stream *t, struct req *r)
{
	unsigned permissions;

	t->judged.version = -1;
	if (r->who == NULL) {
		t->judged_at = t->expires = INT64_MAX / 2;
		return;
	}
	t->who = *r->who;
	t->who.shortcode = t->who.name = t->who.address = NULL;
	t->version = r->audience->version;
	permissions = access_by(r, &r->subscription->channel_ids);
	if (!uuid_is_none(t->what.media_id) && db_failure(r->db) == DB_FINE)
		stream_judged(t, &r->subscription->channel_ids, permissions, t->version);
	t->expires = t->sent_at + (r->who->expires * 1000 - r->now.ms);
}

struct stream *
stream_new(int fd, int epoll, unsigned request_id, struct req *r)
{
	struct stream *t = calloc(1, sizeof(*t));
	int64_t now = clock_ms();

	if (t == NULL)
		abort();
	remember(t, r);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ KERNEL_MAX }, sizeof(int));
	t->fd = fd;
	t->epoll = epoll;
	t->request_id = request_id;
	t->https = r->https;
	t->loopback = r->loopback;
	t->is_list = !r->subscription->streams;
	t->at = t->what.last;
	t->sent_at = t->judged_at = now;
	belongs_to(t, r);
	t->until = now + (t->is_list ? r->subscription->wait_ms : HOUR_MS);
	return t;
}

void
stream_free(struct stream *t)
{
	close(t->fd);
	free(t->rest);
	free(t->judged.channel_ids.at);
	free(t->memory);
	free(t);
}

struct req *
stream_request(const struct stream *t, const struct conf *conf, struct db *db, struct arena *mem)
{
	struct req *r = NEW(mem, struct req);

	r->mem = mem;
	r->db = db;
	r->conf = conf;
	r->client_fd = -1;
	r->method_name = "GET";
	r->uri = t->uri;
	r->authorization = t->authorization;
	r->client = t->client;
	r->accept = t->accept;
	r->origin = t->origin;
	r->https = t->https;
	r->loopback = t->loopback;
	r->counted = true;		/* when it was opened */
	return r;
}

static void
watch(struct stream *t, uint32_t events)
{
	struct epoll_event e = { .events = events | EPOLLIN | EPOLLRDHUP, .data.ptr = t };

	epoll_ctl(t->epoll, EPOLL_CTL_MOD, t->fd, &e);
}

static void
keep(struct stream *t, const char *bytes, size_t n)
{
	size_t most = uuid_is_none(t->what.message_id) ? REST_MAX : REST_ANSWER_MAX;
	char *more = t->rest_n + n > most ? NULL : realloc(t->rest, t->rest_n + n);

	if (more == NULL) {
		t->ends = t->broken = true;
		return;
	}
	if (t->rest_n == 0) {
		t->stuck_at = clock_ms();
		watch(t, EPOLLOUT);
	}
	t->rest = more;
	memcpy(t->rest + t->rest_n, bytes, n);
	t->rest_n += n;
}

static void
send_bytes(struct stream *t, const void *bytes, size_t n)
{
	ssize_t sent = t->rest_n > 0 ? 0 : send(t->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		t->ends = t->broken = true;
		return;
	}
	if (sent < 0)
		sent = 0;
	if ((size_t)sent < n)
		keep(t, (const char *)bytes + sent, n - (size_t)sent);
	t->sent_at = clock_ms();
}

void
stream_tell(struct stream *t, struct arena *mem, const char *text, size_t n)
{
	char *whole = arena_raw(mem, n + (n / FCGI_PIECE_MAX + 1) * FCGI_HEADER), *to = whole;
	size_t piece;

	if (t->ends)
		return;
	for (; n > 0; text += piece, n -= piece, to += piece) {
		piece = n < FCGI_PIECE_MAX ? n : FCGI_PIECE_MAX;
		fcgi_piece((unsigned char *)to, t->request_id, piece);
		to += FCGI_HEADER;
		memcpy(to, text, piece);
	}
	if (to > whole)
		send_bytes(t, whole, (size_t)(to - whole));
}

void
stream_tell_rest(struct stream *t)
{
	ssize_t n = send(t->fd, t->rest, t->rest_n, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n <= 0)
		return;
	t->rest_n -= (size_t)n;
	memmove(t->rest, t->rest + n, t->rest_n);
	if (t->rest_n > 0)
		return;
	free(t->rest);
	t->rest = NULL;
	watch(t, 0);
}

void
stream_finish(struct stream *t)
{
	unsigned char tail[3 * FCGI_HEADER];

	if (t->ends)
		return;
	fcgi_last(tail, t->request_id);
	send_bytes(t, tail, sizeof(tail));
	t->ends = true;
}

void
stream_end(struct stream *t, struct arena *mem, const char *reason)
{
	const char *text = arena_printf(mem, "event: end\ndata: {\"reason\":\"%s\"}\n\n", reason);

	stream_tell(t, mem, text, strlen(text));
	stream_finish(t);
}
