/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which origins' pages may read what. */
#include <string.h>

#include "core/origin.h"
#include "tests/world.h"

static const char settings[] = "/v2/tenants/current/settings";
static const char ours[] = "https://ours.example:8443", theirs[] = "https://theirs.example";
static const char servers[] = "https://server.example";

/* A world whose tenant names `ours`, and one whose tenant names `theirs`, on a server that names a third. */
struct worlds { struct world *w, *other; struct conf conf; };

static struct worlds *
worlds_new(struct world *w)
{
	struct worlds *s = NEW(w->mem, struct worlds);

	s->w = w;
	s->other = world_other(w);
	s->conf = *w->conf;
	s->conf.cors_origins = servers;
	s->conf.public_url = "https://media.example";
	db_run(w->db, "DELETE FROM tenant_origins", NO_ARGS);
	call(w, "PATCH", settings, "{\"corsOrigins\":[\"https://ours.example:8443\"]}");
	call(s->other, "PATCH", settings, "{\"corsOrigins\":[\"https://x.example\",\"https://theirs.example\"]}");
	return s;
}

static struct req *
ask(struct worlds *s, const char *origin, const char *token, const char *method, const char *uri)
{
	struct world w = *s->w;
	struct req *r = NEW(w.mem, struct req);

	w.conf = &s->conf;
	r->origin = origin;
	if (strcmp(method, "OPTIONS") == 0)
		r->request_method = "GET";
	return call_req(&w, r, token, method, uri, NULL);
}

static bool
allows(struct worlds *s, const char *origin, const char *token, const char *method, const char *uri)
{
	struct req *r = ask(s, origin, token, method, uri);
	const char *said = header(s->w, r, "Access-Control-Allow-Origin");

	assert_non_null(strstr(buf_string(&r->headers), "Vary: Origin\r\n"));
	assert_null(header(s->w, r, "Access-Control-Allow-Credentials"));
	assert_true(said == NULL || strcmp(said, origin) == 0);
	return said != NULL;
}

static void
a_preflight_is_answered_for_origins_of_any_tenant_and_of_the_server(void **state)
{
	struct worlds *s = worlds_new(*state);
	struct req *r;

	assert_true(allows(s, ours, "", "OPTIONS", "/v2/media"));
	assert_true(allows(s, theirs, "", "OPTIONS", "/v2/media"));
	assert_true(allows(s, servers, "", "OPTIONS", "/v2/media"));
	assert_false(allows(s, "https://evil.example", "", "OPTIONS", "/v2/media"));
	r = ask(s, ours, "", "OPTIONS", "/v2/media");
	assert_int_equal(r->status, 204);
	assert_string_equal(header(s->w, r, "Access-Control-Allow-Methods"), "GET, HEAD, DELETE");
	assert_non_null(strstr(header(s->w, r, "Access-Control-Allow-Headers"), "Idempotency-Key"));
}

static void
a_request_is_for_origins_of_its_own_tenant(void **state)
{
	struct worlds *s = worlds_new(*state);

	assert_true(allows(s, ours, s->w->token, "GET", "/v2/media"));
	assert_true(allows(s, servers, s->w->token, "GET", "/v2/media"));
	assert_false(allows(s, theirs, s->w->token, "GET", "/v2/media"));
	assert_true(allows(s, theirs, s->other->token, "GET", "/v2/media"));
	assert_false(allows(s, ours, s->other->token, "GET", "/v2/media"));
}

static void
refusals_can_be_read_by_the_same_pages(void **state)
{
	struct worlds *s = worlds_new(*state);
	const char *absent = "/v2/media/01900000-0000-7000-8000-000000000000";

	assert_int_equal(ask(s, ours, s->w->token, "GET", absent)->status, 404);
	assert_true(allows(s, ours, s->w->token, "GET", absent));
	assert_false(allows(s, theirs, s->w->token, "GET", absent));
	assert_true(allows(s, ours, s->w->token, "GET", "/v2/nothing"));
	assert_true(allows(s, ours, s->w->token, "PUT", "/v2/media"));
	/* whose it is nobody knows */
	assert_int_equal(ask(s, theirs, "nonsense", "GET", "/v2/media")->status, 401);
	assert_true(allows(s, theirs, "nonsense", "GET", "/v2/media"));
	assert_false(allows(s, "https://evil.example", "nonsense", "GET", "/v2/media"));
}

static void
the_token_server_is_for_origins_of_its_realm(void **state)
{
	struct worlds *s = worlds_new(*state);
	const char *own = arena_printf(s->w->mem, "/realms/%s/.well-known/openid-configuration", s->w->shortcode);
	const char *token = arena_printf(s->w->mem, "/realms/%s/protocol/openid-connect/token", s->w->shortcode);

	assert_true(allows(s, ours, "", "GET", own));
	assert_false(allows(s, theirs, "", "GET", own));
	assert_true(allows(s, ours, "", "POST", token));
	assert_false(allows(s, theirs, "", "POST", token));
	assert_true(allows(s, ours, "", "OPTIONS", token));
}

static void
pages_for_people_are_for_no_origin(void **state)
{
	struct worlds *s = worlds_new(*state);
	const char *login = arena_printf(s->w->mem, "/realms/%s/login", s->w->shortcode);
	const char *paths[] = { login, arena_printf(s->w->mem, "/realms/%s/protocol/openid-connect/auth",
	    s->w->shortcode), "/", "/readyz" };
	size_t i;

	for (i = 0; i < 4; i++) {
		assert_null(header(s->w, ask(s, servers, "", "GET", paths[i]), "Access-Control-Allow-Origin"));
		assert_null(header(s->w, ask(s, servers, "", "OPTIONS", paths[i]), "Access-Control-Allow-Origin"));
	}
}

static void
origins_are_whole_and_null_is_none(void **state)
{
	static const char *const odd[] = {
		"null", "*", "", "https://ours.example:8443.evil.example", "https://ours.example",
		"http://ours.example:8443", "https://ours.example:8443/", "https://OURS.example:8443",
		"https://ours.example:8443, https://evil.example", "https://\xff", "https://ours.example:8443\r\nX: y", "%", "https://%", "https://[::1",
	};
	struct worlds *s = worlds_new(*state);
	size_t i;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_false(allows(s, odd[i], s->w->token, "GET", "/v2/media"));
		assert_false(allows(s, odd[i], "", "OPTIONS", "/v2/media"));
	}
	assert_true(origin_is_one("http://[::1]:8080"));
	assert_false(origin_is_one("https://-a"));
}

/* Nobody's origin is given back: the answer is the same for all, and a page without one gets nothing. */
static void
a_server_for_all_says_so_in_one_word(void **state)
{
	struct worlds *s = worlds_new(*state);

	s->conf.cors_origins = "https://a.example,*";
	assert_string_equal(header(s->w, ask(s, "https://evil.example", s->w->token, "GET", "/v2/media"),
	    "Access-Control-Allow-Origin"), "*");
	assert_null(header(s->w, ask(s, "null", s->w->token, "GET", "/v2/media"), "Access-Control-Allow-Origin"));
}

static void
ask_any(struct world *w, const char *origin)
{
	assert_int_equal(origin_of_any(w->db, origin), origin == ours);
}

/* What anybody can ask without a token costs no more where there are many tenants. */
static void
an_unknown_origin_is_looked_up_by_its_key(void **state)
{
	struct worlds *s = worlds_new(*state);
	int i;

	for (i = 0; i < 40; i++)
		call(world_other(s->w), "PATCH", settings, "{\"corsOrigins\":[\"https://all.example\"]}");
	assert_in_range(world_rows_read_by(s->w, ask_any, "https://evil.example"), 1, 5);
	assert_in_range(world_rows_read_by(s->w, ask_any, ours), 1, 5);
}

static void
an_origin_that_is_taken_back_or_named_twice_counts_so(void **state)
{
	struct worlds *s = worlds_new(*state);
	struct world *w = s->w;

	assert_int_equal(call(w, "PATCH", settings,
	    "{\"corsOrigins\":[\"https://x.example\",\"https://x.example\"]}")->status, 200);
	assert_false(allows(s, ours, w->token, "GET", "/v2/media"));
	assert_false(allows(s, ours, "", "OPTIONS", "/v2/media"));
	assert_true(allows(s, "https://x.example", w->token, "GET", "/v2/media"));
	assert_int_equal(call(w, "PATCH", settings, "{\"corsOrigins\":[]}")->status, 200);
	assert_false(allows(s, "https://x.example", w->token, "GET", "/v2/media"));
	assert_true(allows(s, "https://x.example", "", "OPTIONS", "/v2/media"));	/* the other one's */
	assert_int_equal(call(w, "PATCH", settings, "{\"name\":\"Another\"}")->status, 200);
	assert_int_equal(call(s->other, "PATCH", settings, "{\"corsOrigins\":[]}")->status, 200);
	assert_false(allows(s, "https://x.example", "", "OPTIONS", "/v2/media"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_preflight_is_answered_for_origins_of_any_tenant_and_of_the_server),
		WORLD_TEST(a_request_is_for_origins_of_its_own_tenant),
		WORLD_TEST(refusals_can_be_read_by_the_same_pages),
		WORLD_TEST(the_token_server_is_for_origins_of_its_realm),
		WORLD_TEST(pages_for_people_are_for_no_origin),
		WORLD_TEST(origins_are_whole_and_null_is_none),
		WORLD_TEST(a_server_for_all_says_so_in_one_word),
		WORLD_TEST(an_unknown_origin_is_looked_up_by_its_key),
		WORLD_TEST(an_origin_that_is_taken_back_or_named_twice_counts_so),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
