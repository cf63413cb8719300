/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request may take of the database, and how it is told. */
#include <string.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/job.h"
#include "tests/world.h"

/* Another connection does this and goes away after so many ms, or when what is returned is closed; that comes first. */
static int
another(struct world *w, const char *sql, int ms)
{
	struct pollfd told = { .events = POLLIN };
	int ready[2], end[2];
	struct db *db;
	char c;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	if (fork() == 0) {
		close(end[1]);
		told.fd = end[0];
		db_abandon(w->db);
		db = db_open(w->conf, DB_ADMIN);
		db_use(db, w->mem);
		db_script(db, sql);
		if (write(ready[1], "x", 1) == 1)
			poll(&told, 1, ms);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(end[0]);
	return end[1];
}

static void
gone(int end)
{
	close(end);
	wait(NULL);
}

static const char lock[] = "LOCK TABLES media WRITE, media t WRITE";

static void
what_takes_too_long_is_told_with_its_remedy(void **state)
{
	struct world *w = *state;
	int64_t began;
	struct req *r;
	int end;

	assert_int_equal(call(w, "GET", "/v2/media", NULL)->status, 200);
	end = another(w, lock, -1);
	began = moment_now().ms;
	r = call(w, "GET", "/v2/media", NULL);
	assert_true(moment_now().ms - began >= 1500);
	assert_int_equal(r->status, 503);
	assert_true(r->retry_after > 0);
	assert_string_equal(text(w, r, "data.code"), "too_expensive");
	assert_non_null(strstr(text(w, r, "message"), "Narrow the filter"));
	gone(end);
	assert_int_equal(call(w, "GET", "/v2/media", NULL)->status, 200);
}

static void
a_request_whose_client_has_gone_holds_nobody(void **state)
{
	struct world *w = *state;
	int64_t began, took = 1200;
	int pair[2], tries, end = another(w, lock, -1);
	struct req *r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	close(pair[1]);
	/* Others would wait for two seconds each time; who does not may be held up by the machine. */
	for (tries = 0; tries < 10 && took >= 1200; tries++) {
		r = NEW(w->mem, struct req);
		r->client_fd = pair[0];
		began = moment_now().ms;
		call_req(w, r, w->token, "GET", "/v2/media", NULL);
		assert_int_equal(r->status, 503);
		took = moment_now().ms - began;
	}
	assert_true(took < 1200);
	gone(end);
	close(pair[0]);
	assert_int_equal(call(w, "GET", "/v2/media", NULL)->status, 200);
}

static void
who_waits_for_a_row_tries_again_but_not_for_long(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *uri = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id));
	const char *change = arena_printf(w->mem, "START TRANSACTION; UPDATE media SET name = 'Dog' WHERE id = "
	    "UNHEX('%s')", hex_encode(w->mem, id.b, sizeof(id.b)));
	int end = another(w, change, -1), tries, status = 0;
	int64_t began;
	struct req *r;

	began = moment_now().ms;
	r = call(w, "PATCH", uri, "{\"name\":\"Mouse\"}");
	assert_int_equal(r->status, 503);
	assert_string_equal(text(w, r, "data.code"), "unavailable");
	assert_true(moment_now().ms - began >= 900);
	gone(end);
	/* Who tried once only would be late each time. */
	for (tries = 0; tries < 10 && status != 200; tries++) {
		end = another(w, change, 1200);
		status = call(w, "PATCH", uri, "{\"name\":\"Mouse\"}")->status;
		gone(end);
	}
	assert_int_equal(status, 200);
}

/* The statement that fails is not the first of the handler, and its answer would be made of a row that is not there. */
static void
a_statement_that_fails_at_the_end_is_said_and_kills_nobody(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), first, second;
	struct job_place place = { .tenant_id = w->tenant_id, .media_id = media };
	struct req *r;
	int end;

	first = job_add(w->db, waveform, place, .media_id = media, .generation = "g1");
	place.waits = (struct job_waits)WAITS({ first, true });
	second = job_add(w->db, waveform, place, .media_id = media, .generation = "g1");
	end = another(w, arena_printf(w->mem, "START TRANSACTION; UPDATE jobs SET progress = 1 WHERE id = UNHEX('%s')",
	    hex_encode(w->mem, second.b, sizeof(second.b))), -1);
	r = call(w, "PUT", arena_printf(w->mem, "/v2/jobs/%s/cancel", uuid_text(w->mem, first)), NULL);
	assert_int_equal(r->status, 503);
	gone(end);
	assert_int_equal(number(w, "FROM jobs WHERE id = ? AND state = 'ready'", ARGS(ID(first))), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(what_takes_too_long_is_told_with_its_remedy),
		WORLD_TEST(a_request_whose_client_has_gone_holds_nobody),
		WORLD_TEST(who_waits_for_a_row_tries_again_but_not_for_long),
		WORLD_TEST(a_statement_that_fails_at_the_end_is_said_and_kills_nobody),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
