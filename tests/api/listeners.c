/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clients of streams, and a clock that a test moves. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/api/listeners.h"

static int64_t ahead;	/* ms */

/* Instead of that of the C library. */
int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	long status = syscall(SYS_clock_gettime, clock, ts);

	if (status == 0 && clock == CLOCK_MONOTONIC) {
		ts->tv_sec += ahead / 1000;
		ts->tv_nsec += ahead % 1000 * 1000000;
		ts->tv_sec += ts->tv_nsec / 1000000000;
		ts->tv_nsec %= 1000000000;
	}
	return (int)status;
}

void clock_goes_on(int64_t ms) { ahead += ms; }
void clock_set_back(void) { ahead = 0; }

const char *
asset_path(struct world *w, struct uuid media_id, const char *rest)
{
	return arena_printf(w->mem, "/v2/media/%s%s", uuid_text(w->mem, media_id), rest);
}

void
an_hour_passes(struct world *w)
{
	db_run(w->db, "UPDATE events SET created_at = created_at - 3600000 WHERE created_at > ?",
	    ARGS(INT(moment_now().ms - 3600000)));
	assert_int_equal(db_failure(w->db), DB_FINE);
}

void
rename_asset(struct world *w, struct uuid media_id, const char *name)
{
	struct req *r = call(w, "PATCH", asset_path(w, media_id, ""), arena_printf(w->mem, "{\"name\":\"%s\"}", name));

	assert_int_equal(r->status, 200);
	an_hour_passes(w);
}

const char *
events_here(struct world *w, const char *token)
{
	struct req *r;

	event_add(w->db, &(struct event_new){ .tenant_id = w->tenant_id, .is_audit = true, .type = "tenant.created" });
	an_hour_passes(w);
	r = call_as(w, token, "GET", "/v2/events", NULL);
	assert_int_equal(r->status, 200);
	assert_null(text(w, r, "data.events.0.id"));
	return text(w, r, "data.next");
}

void
write_many(struct world *w, struct uuid media_id, int n)
{
	const char *data = arena_printf(w->mem, "{\"kind\":\"%0900d\"}", 0);
	int i;

	db_begin(w->db);
	for (i = 0; i < n; i++)
		event_add_job(w->db, media_id, "metadata.updated", data);
	assert_true(db_commit(w->db));
}

void
write_old(struct world *w, struct uuid media_id, int n)
{
	struct db *db = db_open(w->conf, DB_JOBS);

	db_use(db, w->mem);
	assert_int_equal(db_run(db, "INSERT INTO events (tenant_id, media_id, type, data, created_at) SELECT ?, ?, "
	    "'media.updated', '{}', ? FROM " TEN_SQL " a, " TEN_SQL " b, " TEN_SQL " c, " TEN_SQL " d, " TEN_SQL " e "
	    "LIMIT ?", ARGS(ID(w->tenant_id), ID(media_id), INT(moment_now().ms - 3600000), INT(n))), n);
	db_close(db);
}

struct req *
listener_asks(struct world *w, struct listener l, struct subscription *what)
{
	struct req *r = NEW(w->mem, struct req);

	r->accept = "text/event-stream";
	r->last_event_id = l.last;
	r->subscription = what;
	what->wants_stream = l.body == NULL;
	return call_req(w, r, l.token, l.body != NULL ? "POST" : "GET", l.uri, l.body);
}

int
listener_open(struct world *w, struct streams *s, struct listener l)
{
	struct subscription what = { .reader = streams_reader(s), .has_room = streams_room, .of = s };
	struct req *r;
	int ends[2];

	assert_non_null(what.reader);
	r = listener_asks(w, l, &what);
	assert_int_equal(r->status, 200);
	assert_true(what.streams);
	if (l.lives != 0)
		r->who->expires = r->now.ms / 1000 + l.lives;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	streams_add(s, ends[0], 1, r);
	return ends[1];
}

int
listener_waits(struct world *w, struct streams *s, struct listener l)
{
	struct subscription what = { .reader = streams_reader(s), .may_wait = true };
	struct req *r = NEW(w->mem, struct req);
	int ends[2];

	assert_non_null(what.reader);
	r->subscription = &what;
	call_req(w, r, l.token, "GET", l.uri, NULL);
	assert_int_equal(r->status, 200);
	assert_true(what.wait_ms > 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	streams_add(s, ends[0], 1, r);
	return ends[1];
}

const char *
listener_hears(struct world *w, struct streams *s, int fd, const char *what)
{
	struct buf b = BUF(w->mem);
	char bytes[4096];
	ssize_t n, i;
	int tries;

	for (tries = 0; tries < 12000; tries++) {
		streams_attend(s);
		while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
			for (i = 0; i < n; i++)
				buf_char(&b, bytes[i] == '\0' ? ' ' : bytes[i]);
		if (strstr(buf_string(&b), what) != NULL)
			return buf_string(&b);
		usleep(10000);
	}
	fail_msg("not told: %s", what);
	return NULL;
}

bool
listener_is_dropped(int fd)
{
	char bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		continue;
	return n == 0;
}

/* Whole records alone: a head of 8 bytes, two of which tell its length; each message is one here. */
static void
read_told(struct world *w, struct told *t)
{
	const unsigned char *p;

	while (t->bytes.len >= t->at + 8) {
		const char *message;
		long long id;
		size_t n;

		p = (const unsigned char *)t->bytes.text + t->at;
		n = (size_t)(p[4] << 8 | p[5]);
		if (t->bytes.len < t->at + 8 + n + p[6])
			return;
		message = strstr(arena_copy_n(w->mem, (const char *)p + 8, n), "data: {\"id\":");
		t->at += 8 + n + p[6];
		if (message == NULL)
			continue;
		id = strtoll(message + 12, NULL, 10);
		assert_true(id > t->last);
		t->last = id;
		t->n++;
	}
}

bool
told_take(struct world *w, struct told *t, int fd, size_t most)
{
	char bytes[4096];
	ssize_t n = recv(fd, bytes, most < sizeof(bytes) ? most : sizeof(bytes), MSG_DONTWAIT);

	if (t->bytes.mem == NULL)
		t->bytes = BUF(w->mem);
	if (n > 0)
		buf_add(&t->bytes, bytes, (size_t)n);
	read_told(w, t);
	return n != 0;
}
