/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open streams: what they are told, when they are judged again, and how they end. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/text.h"
#include "fcgi/access.h"
#include "fcgi/cgi.h"
#include "fcgi/events/stream.h"
#include "fcgi/events/streams.h"

enum {
	POLL_MS = 50, FAILED_MS = 1000,
	ANSWERS_MS = 250,	/* between looks for answers to questions */
	HEARTBEAT_MS = 15000, JUDGED_MS = 60000, STUCK_MS = 30000,
	JUDGED_AT_ONCE = 20,	/* streams, of one turn, whose minute is over */
	REPLAYS_AT_ONCE = 10,	/* streams, of one turn, that are told what they missed, */
	PIECE = 100,		/* and so many events of it */
	BUCKETS = 4096, HAPPENED = 256,
	ONCE_MEMORY = 64 << 20,
};

/* What is known of a tenant in this turn. */
struct tenant_now { struct uuid id; int64_t version; };

struct streams {
	const struct conf *conf;
	struct db *db;
	struct arena *mem;			/* of a turn */
	struct arena *once;			/* of one stream in it, and one event */
	int epoll;
	struct event_reader reader;
	bool reads;
	int64_t poll_at, answers_at;
	struct stream **all, *buckets[BUCKETS];	/* by asset; those of tenants are in the bucket of none */
	size_t n, room;
	size_t next;				/* whose turn it is to be told what it missed */
	struct following_now looked;		/* for pages, in this turn */
	struct tenant_now *tenants;		/* of this turn */
	size_t n_tenants;
};

static struct stream **
bucket(struct streams *s, struct uuid media_id)
{
	return &s->buckets[(media_id.b[14] << 8 | media_id.b[15]) % BUCKETS];
}

struct streams *
streams_new(const struct conf *conf, struct db *db, struct arena *mem)
{
	struct streams *s = calloc(1, sizeof(*s));

	if (s == NULL || (s->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
		abort();
	s->conf = conf;
	s->db = db;
	s->mem = mem;
	s->once = arena_new(ONCE_MEMORY);
	return s;
}

int
streams_fd(const struct streams *s)
{
	return s->epoll;
}

static void
drop(struct streams *s, struct stream *t)
{
	struct stream **p;

	for (p = bucket(s, t->what.media_id); *p != t; p = &(*p)->next)
		continue;
	*p = t->next;
	s->all[t->place] = s->all[--s->n];
	s->all[t->place]->place = t->place;
	stream_free(t);
}

/* The same request once more: it has something to answer with, its time is over, or it is refused now. */
static void
answer_list(struct streams *s, struct stream *t)
{
	struct subscription what = { .reader = &s->reader, .waited = true, .from = t->what.from };
	struct req *r = stream_request(t, s->conf, s->db, s->once);
	struct buf whole;

	r->subscription = &what;
	api_run(r);
	whole = cgi_answer_head(r, true);
	buf_add(&whole, r->out.text, r->out.len);
	stream_tell(t, s->once, whole.text, whole.len);
	stream_finish(t);
}

/* A list has told nothing yet: the dispatcher answers it. */
static void
end(struct streams *s, struct stream *t, const char *reason)
{
	if (!t->is_list)
		stream_end(t, s->once, reason);
	else if (!t->ends)
		answer_list(s, t);
}

void
streams_free(struct streams *s)
{
	while (s->n > 0) {
		end(s, s->all[0], "restart");
		drop(s, s->all[0]);
		arena_reset(s->once);
	}
	arena_free(s->once);
	event_reader_close(&s->reader);
	close(s->epoll);
	free(s->all);
	free(s);
}

/* What was written before the first stream is told to nobody: a stream asks for it itself. */
const struct event_reader *
streams_reader(struct streams *s)
{
	bool more = true;
	size_t n;

	if (s->reads)
		return &s->reader;
	db_use(s->db, s->mem);
	db_forgive(s->db);
	s->reads = event_reader_open(&s->reader, s->db, -1);
	while (s->reads && more)
		event_read(&s->reader, s->db, &n, &more);
	if (db_failure(s->db) != DB_FINE) {
		event_reader_close(&s->reader);
		s->reads = false;
	}
	return s->reads ? &s->reader : NULL;
}

/* Pages of all tenants together have as many as one tenant, and an address as many of them as a principal. */
bool
streams_room(const struct streams *s, struct req *r)
{
	const struct principal nobody = { 0 }, *who = r->who != NULL ? r->who : &nobody;
	int64_t ours = 0, mine = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct stream *t = s->all[i];

		ours += uuid_equal(t->who.tenant_id, who->tenant_id);
		mine += uuid_equal(t->who.id, who->id) && (r->who != NULL || (t->client != NULL && r->client != NULL &&
		    strcmp(t->client, r->client) == 0));
	}
	if (ours < s->conf->streams_max && mine < (s->conf->streams_max + 1) / 2)
		return true;
	r->retry_after = 60;
	refuse(r, ERR_TOO_MANY_STREAMS, NULL);
	return false;
}

static void
enlist(struct streams *s, struct stream *t)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = t };
	struct stream **b = bucket(s, t->what.media_id);

	if (s->n == s->room) {
		s->room = s->room * 2 + 64;
		s->all = realloc(s->all, s->room * sizeof(struct stream *));
		if (s->all == NULL)
			abort();
	}
	t->place = s->n;
	s->all[s->n++] = t;
	t->next = *b;
	*b = t;
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, t->fd, &e);
}

void
streams_add(struct streams *s, int fd, unsigned request_id, struct req *r)
{
	struct stream *t = stream_new(fd, s->epoll, request_id, r);
	struct buf head;

	enlist(s, t);
	if (t->is_list)
		return;
	if (t->what.last <= event_settled(&s->reader))
		t->told = t->what.last;
	head = cgi_answer_head(r, false);
	buf_add(&head, r->out.text, r->out.len);
	stream_tell(t, r->mem, head.text, head.len);
}

/* The channel that a stream of a tenant names, which the handler looks at. */
static bool
still_sees(struct req *r, const struct stream *t)
{
	struct ids one = { (struct uuid *)(uintptr_t)&t->what.channel_id, 1 };

	return uuid_is_none(t->what.channel_id) || (access_by(r, &one) & SCOPE_BIT(SCOPE_VIEW_CHANNEL)) != 0;
}

/* Why a stream ends whose request is refused now. */
static const char *
reason_of(const struct stream *t, int status)
{
	if (status >= 500)
		return "unavailable";
	if (status == 404 && !uuid_is_none(t->what.message_id))
		return "deleted";
	return status == 401 ? "token_expired" : "forbidden";
}

/* By the dispatcher, as when it was opened: what it remembers of the token may be as old as a minute.  False: it has
 * ended. */
static bool
judge(struct streams *s, struct stream *t)
{
	struct req *r = stream_request(t, s->conf, s->db, s->once);
	int status;

	r->asks_only = true;
	status = api_run(r);
	t->judged_at = clock_ms();
	if (status == 200 && !still_sees(r, t))
		status = db_failure(s->db) == DB_FINE ? 403 : 503;
	if (status == 200) {
		t->version = r->audience->version;
		return true;
	}
	end(s, t, reason_of(t, status));
	return false;
}

/* Once a minute: the token, too.  Of pages there is none, and they are not judged. */
static void
judge_anew(struct streams *s, struct stream *t)
{
	token_doubt(t->authorization + 7 + strspn(t->authorization + 7, " "));
	judge(s, t);
}

/* -1: nobody knows. */
static int64_t
version_of(struct streams *s, struct uuid tenant_id)
{
	size_t i;

	for (i = 0; i < s->n_tenants; i++)
		if (uuid_equal(s->tenants[i].id, tenant_id))
			return s->tenants[i].version;
	s->tenants[s->n_tenants++] = (struct tenant_now){ tenant_id, db_number(s->db,
	    "SELECT access_version FROM tenants WHERE id = ?", ARGS(ID(tenant_id)), -1) };
	return s->tenants[s->n_tenants - 1].version;
}

static bool
same_places(const struct ids *a, const struct ids *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof(*a->at)) == 0);
}

/* By what the asset is in now. */
static bool
ask(struct streams *s, struct stream *t, const struct event *e)
{
	struct req *r = stream_request(t, s->conf, s->db, s->once);
	unsigned permissions = 0;

	r->who = &t->who;
	r->audience = access_last(r);
	if (r->audience->version != t->version)
		r->audience = access_read(r);
	if (r->audience->version == t->version)
		permissions = access_by(r, &e->channel_ids);
	if (r->audience->version != t->version || db_failure(s->db) != DB_FINE) {
		end(s, t, "unavailable");
		return false;
	}
	stream_judged(t, &e->channel_ids, permissions, t->version);
	return true;
}

/* What a caller may in some channels holds while roles are as they were: as long as the asset stays in them, or a
 * tenant tells of assets in the same, nobody is asked. */
static bool
may_tell(struct streams *s, struct stream *t, const struct event *e)
{
	int64_t version = version_of(s, e->tenant_id);

	if (version < 0) {
		end(s, t, "unavailable");
		return false;
	}
	if (t->version != version && !judge(s, t))
		return false;
	if (!uuid_is_none(e->media_id) && (t->judged.version != t->version ||
	    !same_places(&t->judged.channel_ids, &e->channel_ids)) && !ask(s, t, e))
		return false;
	return event_may_by(&t->who, t->judged.permissions, e);
}

/* Who does not take what it is told is told no more of it for now: the table keeps the rest. */
static bool
waits_for_its_turn(struct stream *t, const struct event *e)
{
	if (t->rest_n > 0 && !t->what.replays && e->id > t->what.last) {
		t->what.replays = true;
		t->at = t->what.last;
	}
	return t->what.replays && e->id > t->at;
}

/* What is asked for is kept for all pages. */
static bool
concerns(struct streams *s, struct subject *subject, const struct event *e)
{
	bool yes;

	db_use(s->db, s->mem);
	yes = following_concerns(&s->looked, s->conf, s->db, subject, e);
	db_use(s->db, s->once);
	return yes;
}

/* What it shows.  When nobody can say who sees it, the stream ends, and its client comes back where it was. */
static void
tell_page(struct streams *s, struct stream *t, const struct event *e)
{
	bool in_order = e->id >= t->what.last, settled = e->id <= event_settled(&s->reader);
	struct buf b = BUF(s->once);
	size_t i;

	if (t->ends)
		return;
	for (i = 0; i < t->what.n_subjects; i++) {
		bool concerned = concerns(s, &t->what.subjects[i], e);

		if (db_failure(s->db) != DB_FINE) {
			end(s, t, "unavailable");
			return;
		}
		if (!concerned)
			continue;
		if (in_order)
			t->what.last = e->id;
		if (in_order && settled && !t->is_list)
			t->told = e->id;
		following_message(&b, &t->what.subjects[i], in_order && settled ? e->id : 0);
	}
	if (b.len > 0 && !t->is_list)
		stream_tell(t, s->once, b.text, b.len);
}

static void
tell_event(struct streams *s, struct stream *t, const struct event *e)
{
	bool in_order = e->id >= t->what.last, settled = e->id <= event_settled(&s->reader);
	struct buf b = BUF(s->once);

	if (t->ends || !event_fits(&t->what, e) || waits_for_its_turn(t, e) || !may_tell(s, t, e))
		return;
	if (in_order)
		t->what.last = e->id;
	if (t->is_list)
		return;
	if (in_order && settled)
		t->told = e->id;
	event_message(&b, e, in_order && settled);
	stream_tell(t, s->once, b.text, b.len);
	if (!uuid_is_none(t->what.media_id) && strcmp(e->type, "media.deleted") == 0)
		stream_end(t, s->once, "deleted");
}

/* Thousands of streams may each be told hundreds of events in one turn. */
static void
tell_once(struct streams *s, struct stream *t, const struct event *e)
{
	if (t->what.n_subjects > 0)
		tell_page(s, t, e);
	else if (uuid_is_none(t->what.message_id))
		tell_event(s, t, e);
	arena_reset(s->once);
}

static void
fan_out(struct streams *s, const struct event *e)
{
	const struct uuid none = { { 0 } };
	struct stream *t;

	for (t = *bucket(s, e->media_id); t != NULL; t = t->next)
		if (!uuid_is_none(t->what.media_id))
			tell_once(s, t, e);
	for (t = *bucket(s, none); t != NULL; t = t->next)
		if (uuid_is_none(t->what.media_id))
			tell_once(s, t, e);
}

/* What was told while something below was open is settled now: the client may come back behind it.  A list that waits
 * has something to answer with. */
static void
settle(struct streams *s)
{
	int64_t settled = event_settled(&s->reader);
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct stream *t = s->all[i];
		struct buf b = BUF(s->once);

		if (t->ends || t->rest_n > 0 || t->told >= t->what.last || t->what.last > settled)
			continue;
		t->told = t->what.last;
		if (t->is_list) {
			answer_list(s, t);
			arena_reset(s->once);
			continue;
		}
		if (t->what.n_subjects > 0)
			following_message(&b, NULL, t->told);
		else
			event_position(&b, t->told);
		stream_tell(t, s->once, b.text, b.len);
		arena_reset(s->once);
	}
}

/* The next piece.  What the reader has not seen yet is told when it comes, and what it has seen above is left to the
 * next piece: see waits_for_its_turn(). */
static void
replay_piece(struct streams *s, struct stream *t)
{
	const struct event *rows;
	size_t n, i;

	db_use(s->db, s->mem);
	rows = event_behind(s->db, &t->what, (struct event_span){ t->at, s->reader.high, PIECE }, &n);
	db_use(s->db, s->once);
	if (db_failure(s->db) != DB_FINE)
		return;
	for (i = 0; i < n && !t->ends && t->rest_n == 0; i++) {
		t->at = rows[i].id;
		if (event_seen(&s->reader, rows[i].id))
			tell_once(s, t, &rows[i]);
	}
	t->what.replays = i < n || n == PIECE;
}

/* What clients missed while they were away or slow, as fast as they take it, each in its turn.  True: there is more to
 * tell at once. */
static bool
replay(struct streams *s)
{
	size_t first = s->n > 0 ? s->next % s->n : 0, i;
	int told = 0;

	for (i = 0; i < s->n && told < REPLAYS_AT_ONCE; i++) {
		struct stream *t = s->all[(first + i) % s->n];

		if (!t->what.replays || t->ends || t->rest_n > 0)
			continue;
		replay_piece(s, t);
		told++;
	}
	s->next = first + i;
	return told > 0;
}

/* The chat as it is now, by the dispatcher: its answer, or why there is none. */
static void
tell_answer(struct streams *s, struct stream *t)
{
	struct subscription what = { .message_id = t->what.message_id };
	struct req *r = stream_request(t, s->conf, s->db, s->once);
	int status;

	r->subscription = &what;
	status = api_run(r);
	if (status != 200) {
		end(s, t, reason_of(t, status));
		return;
	}
	t->version = r->audience->version;
	t->judged_at = clock_ms();
	if (r->out.len == 0)
		return;
	stream_tell(t, s->once, r->out.text, r->out.len);
	stream_finish(t);
}

/* Questions that are answered now, and those whose askers may have lost a right meanwhile. */
static void
read_answers(struct streams *s)
{
	struct stream **waiting = arena_array(s->mem, s->n + 1, sizeof(struct stream *));
	struct ids asked = { arena_array(s->mem, s->n + 1, sizeof(*asked.at)), 0 };
	bool *answered = arena_array(s->mem, s->n + 1, sizeof(*answered));
	size_t i;

	for (i = 0; i < s->n; i++)
		if (!uuid_is_none(s->all[i]->what.message_id) && !s->all[i]->ends) {
			waiting[asked.n] = s->all[i];
			asked.at[asked.n++] = s->all[i]->what.message_id;
		}
	if (asked.n == 0 || s->answers_at > clock_ms())
		return;
	s->answers_at = clock_ms() + ANSWERS_MS;
	db_use(s->db, s->mem);
	chats_answered(s->db, s->mem, &asked, answered);
	db_use(s->db, s->once);
	for (i = 0; i < asked.n && db_failure(s->db) == DB_FINE; i++) {
		if (answered[i] || version_of(s, waiting[i]->what.tenant_id) != waiting[i]->version)
			tell_answer(s, waiting[i]);
		arena_reset(s->once);
	}
}

static void
read_events(struct streams *s)
{
	int64_t now = clock_ms();
	const struct event *e;
	bool more = false;
	size_t n, i;

	s->poll_at = now + FAILED_MS;
	db_use(s->db, s->mem);
	db_forgive(s->db);
	if (streams_reader(s) == NULL)
		return;
	s->tenants = arena_array(s->mem, s->n + 1, sizeof(*s->tenants));
	s->n_tenants = 0;
	s->looked = (struct following_now){ .n = 0 };
	e = event_read(&s->reader, s->db, &n, &more);
	db_use(s->db, s->once);
	for (i = 0; i < n; i++)
		fan_out(s, &e[i]);
	more |= replay(s);
	settle(s);
	read_answers(s);
	if (db_failure(s->db) == DB_FINE)
		s->poll_at = more ? now : now + POLL_MS;
}

/* Hearts, hours and who has to go.  Backwards, since drop() puts the last one in the place of one that goes. */
static void
look_after(struct streams *s)
{
	bool answers = db_failure(s->db) == DB_FINE;	/* nobody is told anything as long as it does not */
	int64_t now = clock_ms();
	size_t i = s->n;
	int judged = 0;

	while (i-- > 0) {
		struct stream *t = s->all[i];

		if (t->expires <= now)
			end(s, t, "token_expired");
		else if (t->until <= now)
			end(s, t, "hour");
		else if (!t->ends && answers && t->judged_at + JUDGED_MS <= now && judged++ < JUDGED_AT_ONCE)
			judge_anew(s, t);
		else if (!t->is_list && t->sent_at + HEARTBEAT_MS <= now && t->rest_n == 0)
			stream_tell(t, s->once, ":\n\n", 3);
		arena_reset(s->once);
		if (t->broken || (t->ends && t->rest_n == 0) || (t->rest_n > 0 && t->stuck_at + STUCK_MS <= now))
			drop(s, t);
	}
}

/* A web server has nothing more to say but that its client has gone. */
static void
hear(struct streams *s)
{
	struct epoll_event happened[HAPPENED];
	int i, n = epoll_wait(s->epoll, happened, HAPPENED, 0);

	for (i = 0; i < n; i++) {
		if (happened[i].events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP | EPOLLERR))
			drop(s, happened[i].data.ptr);
		else
			stream_tell_rest(happened[i].data.ptr);
	}
}

int
streams_attend(struct streams *s)
{
	int64_t now;

	hear(s);
	if (s->n == 0) {
		if (s->reads)
			event_reader_close(&s->reader);
		s->reads = false;
		arena_reset(s->mem);		/* what a list was read for that did not stay */
		return -1;
	}
	if (s->poll_at <= clock_ms()) {
		read_events(s);
		look_after(s);
		arena_reset(s->mem);
	}
	now = clock_ms();
	return s->poll_at > now ? (int)(s->poll_at - now) : 0;
}
