/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may send how many requests, and how it is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bucket.h"
#include "tests/world.h"

static struct conf conf;

/* Few of each, so that they do not fill while a test runs. */
static struct world *
limited(struct world *w)
{
	struct world *own = NEW(w->mem, struct world);

	conf = *w->conf;
	conf.limit_client = conf.limit_user = 5;
	conf.limit_address = 4;
	conf.limit_token = 3;
	conf.limit_signin = 2;
	conf.limit_local = false;
	*own = *w;
	own->conf = &conf;
	return own;
}

static struct req *
ask(struct world *w, const char *address, const char *token, const char *method, const char *uri)
{
	struct req *r = NEW(w->mem, struct req);

	r->method_name = method;
	r->uri = uri;
	r->authorization = token != NULL ? arena_printf(w->mem, "Bearer %s", token) : NULL;
	r->mem = w->mem;
	r->db = w->db;
	r->conf = w->conf;
	r->client = address;
	r->client_fd = -1;
	r->https = true;
	api_run(r);
	return r;
}

/* How many are answered before the first is refused. */
static int
until_refused(struct world *w, const char *address, const char *token, const char *method, const char *uri)
{
	int n = 0;

	while (n < 20 && ask(w, address, token, method, uri)->status != 429)
		n++;
	return n;
}

static void
a_client_has_its_requests_wherever_it_is(void **state)
{
	struct world *w = limited(*state), *other = world_other(w);
	struct req *r = ask(w, "203.0.113.1", w->token, "GET", "/v2/media");

	assert_int_equal(r->status, 200);
	assert_string_equal(header(w, r, "RateLimit-Policy"), "\"client\";q=5;w=60");
	assert_string_equal(header(w, r, "RateLimit"), "\"client\";r=4;t=12");
	assert_int_equal(until_refused(w, "203.0.113.2", w->token, "GET", "/v2/media"), 4);
	r = ask(w, "203.0.113.3", w->token, "GET", "/v2/nothing");
	assert_int_equal(r->status, 404);	/* nobody's, since no route looks at its token */
	r = ask(w, "203.0.113.3", w->token, "GET", "/v2/media");
	assert_int_equal(r->status, 429);
	assert_string_equal(text(w, r, "data.code"), "too_many_requests");
	assert_string_equal(text(w, r, "status"), "fail");
	assert_in_range(r->retry_after, 1, 12);
	assert_int_equal(ask(w, "203.0.113.1", other->token, "GET", "/v2/media")->status, 200);
}

static void
an_address_has_those_without_a_good_token(void **state)
{
	struct world *w = limited(*state);

	assert_int_equal(until_refused(w, "203.0.113.10", "nonsense", "GET", "/v2/media"), 4);
	assert_int_equal(ask(w, "203.0.113.10", NULL, "GET", "/v2/openapi.json")->status, 429);
	assert_int_equal(ask(w, "203.0.113.10", NULL, "OPTIONS", "/v2/media")->status, 429);
	assert_int_equal(ask(w, "203.0.113.10", w->token, "GET", "/v2/media")->status, 200);
	assert_int_equal(ask(w, "203.0.113.11", NULL, "GET", "/v2/openapi.json")->status, 200);
	assert_int_equal(until_refused(w, "2001:db8:0:9::1", NULL, "GET", "/v2/nothing"), 4);
	assert_int_equal(ask(w, "2001:db8:0:9:8:7:6:5", NULL, "GET", "/v2/openapi.json")->status, 429);
}

static void
tokens_and_signing_in_have_few_of_their_own(void **state)
{
	struct world *w = limited(*state);
	const char *token = arena_printf(w->mem, "/realms/%s/protocol/openid-connect/token", w->shortcode);
	const char *login = arena_printf(w->mem, "/realms/%s/login", w->shortcode);
	struct req *r;

	assert_int_equal(until_refused(w, "203.0.113.20", NULL, "POST", token), 3);
	r = ask(w, "203.0.113.20", NULL, "POST", token);
	assert_string_equal(text(w, r, "error"), "temporarily_unavailable");
	assert_true(r->retry_after > 0);
	assert_int_equal(until_refused(w, "203.0.113.20", NULL, "POST", login), 2);
	r = ask(w, "203.0.113.20", NULL, "POST", login);
	assert_non_null(strstr(buf_string(&r->out), "<html"));
	assert_int_equal(ask(w, "203.0.113.20", NULL, "GET", login)->status, 200);
}

static void
a_request_that_comes_in_pieces_or_waits_counts_once(void **state)
{
	struct world *w = limited(*state);
	struct req *r = NEW(w->mem, struct req);

	ask(w, "203.0.113.30", w->token, "GET", "/v2/media");
	r->counted = true;
	call_req(w, r, w->token, "GET", "/v2/media", NULL);
	conf.limit_local = true;
	r = NEW(w->mem, struct req);
	r->counted = true;
	call_req(w, r, w->token, "GET", "/v2/media", NULL);
	assert_int_equal(r->status, 200);
	assert_non_null(strstr(header(w, r, "RateLimit"), "r=4;"));
}

static void
nothing_is_counted_where_there_is_no_limit_nor_of_this_machine(void **state)
{
	struct world *w = limited(*state);

	assert_int_equal(call(w, "GET", "/v2/media", NULL)->status, 200);
	assert_null(header(w, call(w, "GET", "/v2/media", NULL), "RateLimit"));
	conf.limit_client = 0;
	assert_int_equal(until_refused(w, "203.0.113.40", w->token, "GET", "/v2/media"), 20);
	conf.limit_client = 5;
	conf.limit_local = true;
	assert_int_equal(call(w, "GET", "/v2/media", NULL)->status, 200);
	assert_non_null(header(w, call(w, "GET", "/v2/media", NULL), "RateLimit"));
}

static char machines[2][40] = { "/tmp/kinothek-rates-XXXXXX", "/tmp/kinothek-rates-XXXXXX" };

/* Each has its own memory, and the clock of the database in common. */
static void
be_machine(int i)
{
	static bool made[2];

	if (!made[i])
		assert_non_null(mkdtemp(machines[i]));
	made[i] = true;
	bucket_close();
	bucket_open(machines[i]);
}

static void
be_none(struct world *w)
{
	int i;

	bucket_close();
	for (i = 0; i < 2; i++) {
		unlink(arena_printf(w->mem, "%s/rates", machines[i]));
		assert_int_equal(rmdir(machines[i]), 0);
	}
}

static int64_t
left(struct world *w, const char *token)
{
	const struct req *r = ask(w, "203.0.113.1", token, "GET", "/v2/media");
	const char *said = strstr(header(w, r, "RateLimit"), "r=");

	assert_non_null(said);
	return strtoll(said + 2, NULL, 10);
}

static void
what_one_machine_gave_the_others_hear_of(void **state)
{
	struct world *w = limited(*state), *other = world_other(w);
	int i;

	conf.limit_client = 40;
	db_run(w->db, "DELETE FROM buckets", NO_ARGS);
	be_machine(0);
	for (i = 0; i < 9; i++)		/* under a quarter: nobody writes anything */
		left(w, w->token);
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM buckets", NO_ARGS, -1), 0);
	for (i = 0; i < 11; i++)
		left(w, w->token);
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM buckets", NO_ARGS, -1), 1);
	be_machine(1);
	for (i = 0; i < 12; i++)
		left(w, w->token);
	/* ten or eleven that the first has told, and thirteen of its own */
	assert_in_range(left(w, w->token), 12, 24);
	assert_int_equal(left(other, other->token), 39);
	be_machine(0);
	assert_in_range(left(w, w->token), 15, 27);	/* it asks in five seconds */
	be_none(w);
}

static void
a_bucket_that_cannot_be_told_spoils_no_answer(void **state)
{
	struct world *w = limited(*state);
	int i;

	conf.limit_client = 40;
	db_run(w->db, "RENAME TABLE buckets TO buckets_away", NO_ARGS);
	for (i = 0; i < 20; i++)
		assert_int_equal(ask(w, "203.0.113.1", w->token, "GET", "/v2/media")->status, 200);
	db_run(w->db, "RENAME TABLE buckets_away TO buckets", NO_ARGS);
	assert_int_equal(ask(w, "203.0.113.1", w->token, "GET", "/v2/media")->status, 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_client_has_its_requests_wherever_it_is),
		WORLD_TEST(an_address_has_those_without_a_good_token),
		WORLD_TEST(tokens_and_signing_in_have_few_of_their_own),
		WORLD_TEST(a_request_that_comes_in_pieces_or_waits_counts_once),
		WORLD_TEST(nothing_is_counted_where_there_is_no_limit_nor_of_this_machine),
		WORLD_TEST(what_one_machine_gave_the_others_hear_of),
		WORLD_TEST(a_bucket_that_cannot_be_told_spoils_no_answer),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
