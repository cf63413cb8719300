/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The token server as clients meet it. */
#include <string.h>

#include "tests/world.h"

static const char form_type[] = "application/x-www-form-urlencoded";

static const char *
token_uri(struct world *w)
{
	return arena_printf(w->mem, "/realms/%s/protocol/openid-connect/token", w->shortcode);
}

/* A token request with that form. */
static struct req *
ask(struct world *w, const char *form, const char *authorization)
{
	struct req *r = NEW(w->mem, struct req);

	r->content_type = form_type;
	r->authorization = authorization;
	return call_req(w, r, NULL, "POST", token_uri(w), form);
}

static const char *
good_form(struct world *w)
{
	return arena_printf(w->mem, "grant_type=client_credentials&client_id=%s&client_secret=%s",
	    uuid_text(w->mem, w->client_id), w->secret);
}

static const char *
basic(struct world *w, const char *id, const char *secret)
{
	const char *pair = arena_printf(w->mem, "%s:%s", id, secret);
	char *code = base64url_encode(w->mem, pair, strlen(pair)), *p;

	for (p = code; *p != '\0'; p++)
		*p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
	return arena_printf(w->mem, "Basic %s%s", code, (const char *[]){ "", "===", "==", "=" }[strlen(code) % 4]);
}

/* The answer is an OAuth error of that status and name, never kept by a cache. */
static void
is_refused(struct world *w, struct req *r, int status, const char *error)
{
	assert_int_equal(r->status, status);
	assert_string_equal(text(w, r, "error"), error);
	assert_non_null(text(w, r, "error_description"));
	assert_null(text(w, r, "access_token"));
	assert_string_equal(r->cache_control, "no-store");
	assert_string_equal(r->answer_type, "application/json");
}

static void
a_tenant_with_an_external_server_gets_nothing_here_but_its_name(void **state)
{
	static const char *const paths[] = { "protocol/openid-connect/certs", ".well-known/openid-configuration" };
	struct world *w = *state;
	struct req *r = ask(w, good_form(w), NULL);
	const char *token = text(w, r, "access_token");
	size_t i;

	db_run(w->db, "INSERT INTO tenant_providers (tenant_id, issuer, jwks_uri, audiences, clients, roles_claim, "
	    "name_claim, created_at, updated_at) VALUES (?, ?, 'https://x.example/', '[]', '[]', 'a', 'b', 1, 1)",
	    ARGS(ID(w->tenant_id), STR(arena_printf(w->mem, "https://login.example/%s", w->shortcode))));
	r = ask(w, good_form(w), NULL);
	is_refused(w, r, 404, "invalid_request");
	assert_non_null(strstr(text(w, r, "error_description"), arena_printf(w->mem, "https://login.example/%s ",
	    w->shortcode)));
	for (i = 0; i < 2; i++) {
		r = call_as(w, NULL, "GET", arena_printf(w->mem, "/realms/%s/%s", w->shortcode, paths[i]), NULL);
		assert_int_equal(r->status, 404);
		assert_non_null(strstr(text(w, r, "error_description"), "https://login.example/"));
	}
	token_forget();
	assert_int_equal(call_as(w, token, "GET", "/v2/media", NULL)->status, 401);
	db_run(w->db, "DELETE FROM tenant_providers WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(call_as(w, token, "GET", "/v2/media", NULL)->status, 200);
	assert_int_equal(ask(w, good_form(w), NULL)->status, 200);
}

/* Of a server that cannot be asked, by a key that nobody knows. */
static const char *
foreign_token(struct world *w, const char *issuer)
{
	const char *head = "{\"alg\":\"RS256\",\"kid\":\"unknown\"}";
	const char *claims = arena_printf(w->mem, "{\"iss\":\"%s\",\"sub\":\"anna\",\"exp\":99999999999}", issuer);

	return arena_printf(w->mem, "%s.%s.AAAA", base64url_encode(w->mem, head, strlen(head)),
	    base64url_encode(w->mem, claims, strlen(claims)));
}

static void
a_realm_with_an_external_server_does_not_ask_it_about_a_token(void **state)
{
	static const char *const calls[][2] = { { "GET", "userinfo" }, { "POST", "userinfo" }, { "POST", "revoke" } };
	struct world *w = *state;
	const char *issuer = arena_printf(w->mem, "https://login.example/%s", w->shortcode);
	const char *token = foreign_token(w, issuer), *form = arena_printf(w->mem, "%s&token=%s", good_form(w), token);
	struct req *r;
	size_t i;

	db_run(w->db, "INSERT INTO tenant_providers (tenant_id, issuer, jwks_uri, audiences, clients, roles_claim, "
	    "name_claim, created_at, updated_at) VALUES (?, ?, 'http://x.example/', '[]', '[]', 'a', 'b', 1, 1)",
	    ARGS(ID(w->tenant_id), STR(issuer)));
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		r = NEW(w->mem, struct req);
		r->content_type = form_type;
		r = call_req(w, r, token, calls[i][0], arena_printf(w->mem, "/realms/%s/protocol/openid-connect/%s",
		    w->shortcode, calls[i][1]), *calls[i][0] == 'P' ? form : NULL);
		is_refused(w, r, 404, "invalid_request");
		assert_int_equal(db_number(w->db, "SELECT asked_at FROM tenant_providers WHERE tenant_id = ?",
		    ARGS(ID(w->tenant_id)), -1), 0);
	}
	/* Where it would let somebody in, it is asked about. */
	assert_int_equal(call_as(w, token, "GET", "/v2/media", NULL)->status, 503);
	assert_true(db_number(w->db, "SELECT asked_at FROM tenant_providers WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), -1) > 0);
	db_run(w->db, "DELETE FROM tenant_providers WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
}

static void
a_client_gets_a_token_that_the_api_takes(void **state)
{
	struct world *w = *state;
	struct req *r = ask(w, good_form(w), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "token_type"), "Bearer");
	assert_string_equal(text(w, r, "expires_in"), "57600");
	assert_string_equal(text(w, r, "refresh_expires_in"), "0");
	assert_string_equal(text(w, r, "not-before-policy"), "0");
	assert_string_equal(
	    text(w, r, "scope"), "ViewChannel ViewMetadata CreateContent ManageSharingOptions ManageChannel");
	assert_string_equal(r->cache_control, "no-store");
	assert_string_equal(header(w, r, "Pragma"), "no-cache");
	assert_int_equal(call_as(w, text(w, r, "access_token"), "GET", "/v2/media", NULL)->status, 200);
}

static void
expires_in_is_the_setting_of_the_tenant(void **state)
{
	struct world *w = *state;

	db_run(w->db, "UPDATE tenants SET token_lifetime = 7200 WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_string_equal(text(w, ask(w, good_form(w), NULL), "expires_in"), "7200");
}

static void
http_basic_works_as_well(void **state)
{
	struct world *w = *state;
	const char *id = uuid_text(w->mem, w->client_id);
	struct req *r;

	assert_int_equal(ask(w, "grant_type=client_credentials", basic(w, id, w->secret))->status, 200);
	assert_int_equal(
	    ask(w, arena_printf(w->mem, "grant_type=client_credentials&client_id=%s", id), basic(w, id, w->secret))
		->status,
	    200);
	r = ask(w, "grant_type=client_credentials", basic(w, id, "wrong"));
	is_refused(w, r, 401, "invalid_client");
	assert_memory_equal(header(w, r, "WWW-Authenticate"), "Basic realm=", 12);
	is_refused(w, ask(w, good_form(w), basic(w, id, w->secret)), 400, "invalid_request");
	is_refused(w, ask(w, "grant_type=client_credentials&client_id=other", basic(w, id, w->secret)), 400,
	    "invalid_request");
	is_refused(w, ask(w, "grant_type=client_credentials", "Basic !!!"), 401, "invalid_client");
	is_refused(w, ask(w, "grant_type=client_credentials", "Basic "), 401, "invalid_client");
	is_refused(w, ask(w, "grant_type=client_credentials", arena_printf(w->mem, "Bearer %s", w->token)), 401,
	    "invalid_client");
}

static void
a_wrong_secret_and_an_unknown_client_are_told_alike(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *id = uuid_text(w->mem, w->client_id), *first;
	const char *const pairs[][2] = { { id, "kts_wrong" }, { uuid_text(w->mem, uuid_new()), w->secret },
		{ "nobody", w->secret }, { "", "" }, { uuid_text(w->mem, other->client_id), other->secret },
		{ id, other->secret } };
	size_t i;
	struct req *r;

	first = NULL;
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		r = ask(w,
		    arena_printf(w->mem, "grant_type=client_credentials&client_id=%s&client_secret=%s", pairs[i][0],
			pairs[i][1]),
		    NULL);
		is_refused(w, r, 401, "invalid_client");
		if (first == NULL)
			first = buf_string(&r->out);
		assert_string_equal(buf_string(&r->out), first);
	}
}

static void
a_faulty_form_is_told_in_the_shape_of_oauth(void **state)
{
	struct world *w = *state;
	const char *id = uuid_text(w->mem, w->client_id);

	is_refused(w, ask(w, "", NULL), 400, "invalid_request");
	is_refused(w, ask(w, "grant_type=client_credentials", NULL), 400, "invalid_request");
	is_refused(w, ask(w, arena_printf(w->mem, "grant_type=client_credentials&client_id=%s", id), NULL), 400,
	    "invalid_request");
	is_refused(w,
	    ask(w, arena_printf(w->mem, "grant_type=password&client_id=%s&client_secret=%s", id, w->secret), NULL), 400,
	    "unsupported_grant_type");
	is_refused(w, ask(w, arena_printf(w->mem, "%s&client_id=x", good_form(w)), NULL), 400, "invalid_request");
	is_refused(
	    w, ask(w, arena_printf(w->mem, "%s&x=%%zz&client_id=%%", good_form(w)), NULL), 400, "invalid_request");
	is_refused(w, ask(w, arena_printf(w->mem, "%s%%00", good_form(w)), NULL), 400, "invalid_request");
	is_refused(w, ask(w, arena_printf(w->mem, "%s&scope=%%ff%%fe", good_form(w)), NULL), 400, "invalid_request");
	assert_int_equal(
	    ask(w, arena_printf(w->mem, "%s&scope=openid&audience=x&&empty", good_form(w)), NULL)->status, 200);
}

static void
another_body_or_method_is_refused(void **state)
{
	struct world *w = *state;
	struct req *r = NEW(w->mem, struct req);

	r->content_type = "application/json";
	is_refused(w, call_req(w, r, NULL, "POST", token_uri(w), "{\"grant_type\":\"client_credentials\"}"), 415,
	    "invalid_request");
	r = call_as(w, NULL, "GET", token_uri(w), NULL);
	assert_int_equal(r->status, 405);
	assert_non_null(strstr(header(w, r, "Allow"), "POST"));
	r = NEW(w->mem, struct req);
	r->content_type = "application/x-www-form-urlencoded; charset=UTF-8";
	assert_int_equal(call_req(w, r, NULL, "POST", token_uri(w), good_form(w))->status, 200);
	r = NEW(w->mem, struct req);
	r->content_type = form_type;
	assert_int_equal(call_req(w, r, NULL, "POST", token_uri(w), arena_printf(w->mem, "%20000s", "x"))->status, 413);
}

static void
an_unknown_realm_is_404(void **state)
{
	struct world *w = *state;
	static const char *const names[] = { "nobody", "T1", "t1%20", "%2e%2e%2f", "a'b", "%C3%A4" };
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		r = NEW(w->mem, struct req);
		r->content_type = form_type;
		assert_int_equal(
		    call_req(w, r, NULL, "POST",
			arena_printf(w->mem, "/realms/%s/protocol/openid-connect/token", names[i]), good_form(w))
			->status,
		    404);
		assert_int_equal(call_as(w, NULL, "GET",
				     arena_printf(w->mem, "/realms/%s/protocol/openid-connect/certs", names[i]), NULL)
				     ->status,
		    404);
		assert_int_equal(
		    call_as(w, NULL, "GET",
			arena_printf(w->mem, "/realms/%s/.well-known/openid-configuration", names[i]), NULL)
			->status,
		    404);
	}
}

static void
a_revoked_client_gets_no_token(void **state)
{
	struct world *w = *state;

	db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(w->client_id)));
	is_refused(w, ask(w, good_form(w), NULL), 401, "invalid_client");
}

static void
guessing_is_slowed_down_for_that_client_alone(void **state)
{
	struct world *w = *state;
	struct world *other = world_other(w);
	const char *wrong = arena_printf(
	    w->mem, "grant_type=client_credentials&client_id=%s&client_secret=x", uuid_text(w->mem, w->client_id));
	struct req *r = NULL;
	int i;

	for (i = 0; i < 40 && (r == NULL || r->status == 401); i++)
		r = ask(w, wrong, NULL);
	assert_int_equal(r->status, 429);
	assert_true(i > 20 && r->retry_after >= 1);
	assert_string_equal(text(w, r, "error"), "temporarily_unavailable");
	assert_int_equal(ask(w, good_form(w), NULL)->status, 429);
	assert_int_equal(ask(other, good_form(other), NULL)->status, 200);
}

/* A token request from another machine. */
static struct req *
ask_from(struct world *w, const char *address, const char *form)
{
	struct req *r = NEW(w->mem, struct req);

	*r = (struct req){ .method_name = "POST", .uri = token_uri(w), .content_type = form_type, .body = form,
		.body_size = strlen(form), .client = address, .https = true, .mem = w->mem, .db = w->db,
		.conf = w->conf };
	api_run(r);
	return r;
}

static void
nobody_locks_out_a_client_from_another_address(void **state)
{
	struct world *w = *state;
	const char *id = uuid_text(w->mem, w->client_id), *wrong;
	int i;

	/* Written one after the other, address and id are those of the client. */
	wrong = arena_printf(w->mem, "grant_type=client_credentials&client_id=4%s&client_secret=x", id);
	for (i = 0; i < 60; i++)
		ask_from(w, "192.0.2.", wrong);
	assert_int_equal(ask_from(w, "192.0.2.", wrong)->status, 429);
	assert_int_equal(ask_from(w, "192.0.2.4", good_form(w))->status, 200);
	wrong = arena_printf(w->mem, "grant_type=client_credentials&client_id=%s&client_secret=x", id);
	for (i = 0; i < 60; i++)
		ask_from(w, "192.0.2.5", wrong);
	assert_int_equal(ask_from(w, "192.0.2.5", good_form(w))->status, 429);
	assert_int_equal(ask_from(w, "192.0.2.4", good_form(w))->status, 200);
}

static struct req *
ask_scope(struct world *w, const char *scope)
{
	return ask(w, arena_printf(w->mem, "%s&scope=%s", good_form(w), scope), NULL);
}

static void
a_token_has_the_scopes_that_were_asked_for_and_no_others(void **state)
{
	static const char all[] = "ViewChannel ViewMetadata CreateContent ManageSharingOptions ManageChannel";
	static const struct { const char *asked, *granted; } cases[] = {
		{ "ViewMetadata", "ViewMetadata" }, { "ViewMetadata+ViewChannel", "ViewChannel ViewMetadata" },
		{ "ViewChannel++ViewChannel", "ViewChannel" }, { "openid+email+profile", all }, { "email%20profile", all },
		{ "openid+ViewMetadata", "ViewMetadata" }, { "", all }, { "+", all },
	};
	static const char *const bad[] = { "Everything", "viewchannel", "ViewChannel+Admin", "ViewChannel,ViewMetadata",
	    "SuperAdmin" };
	struct world *w = *state;
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = ask_scope(w, cases[i].asked);
		assert_int_equal(r->status, 200);
		assert_string_equal(text(w, r, "scope"), cases[i].granted);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_refused(w, ask_scope(w, bad[i]), 400, "invalid_scope");
	r = ask_scope(w, "ViewMetadata");
	assert_int_equal(call_as(w, text(w, r, "access_token"), "GET", "/v2/media", NULL)->status, 403);
	db_run(w->db, "UPDATE clients SET scopes = 'ViewChannel email' WHERE id = ?", ARGS(ID(w->client_id)));
	is_refused(w, ask_scope(w, "ViewMetadata"), 400, "invalid_scope");
	assert_string_equal(text(w, ask_scope(w, "openid+email"), "scope"), "email");
	assert_string_equal(text(w, ask_scope(w, "openid"), "scope"), "ViewChannel email");
	/* Who has not proved to be the client learns nothing of its scopes. */
	is_refused(w, ask(w, arena_printf(w->mem,
	    "grant_type=client_credentials&client_id=%s&client_secret=x&scope=Everything", uuid_text(w->mem,
	    w->client_id)), NULL), 401, "invalid_client");
}

static void
what_the_dispatcher_refuses_has_the_shape_of_oauth_too(void **state)
{
	struct world *w = *state;
	struct req *r = NEW(w->mem, struct req);

	r->content_type = form_type;
	r = call_req(w, r, NULL, "POST", arena_printf(w->mem, "%s?x=1", token_uri(w)), good_form(w));
	is_refused(w, r, 422, "invalid_request");
	r = NEW(w->mem, struct req);
	r->content_type = form_type;
	r->accept = "application/problem+json, application/json";
	is_refused(w, call_req(w, r, NULL, "POST", token_uri(w), arena_printf(w->mem, "%20000s", "x")), 413,
	    "invalid_request");
}

static void
the_keys_and_where_they_are_can_be_read_by_anyone(void **state)
{
	struct world *w = *state;
	struct req *r = call_as(
	    w, NULL, "GET", arena_printf(w->mem, "/realms/%s/.well-known/openid-configuration", w->shortcode), NULL);
	const char *issuer = arena_printf(w->mem, "http://127.0.0.1:8080/realms/%s", w->shortcode);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "issuer"), issuer);
	assert_string_equal(
	    text(w, r, "token_endpoint"), arena_printf(w->mem, "%s/protocol/openid-connect/token", issuer));
	assert_string_equal(text(w, r, "jwks_uri"), arena_printf(w->mem, "%s/protocol/openid-connect/certs", issuer));
	assert_string_equal(text(w, r, "grant_types_supported.2"), "client_credentials");
	r = call_as(
	    w, NULL, "GET", arena_printf(w->mem, "/realms/%s/protocol/openid-connect/certs", w->shortcode), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "keys.0.kty"), "RSA");
	assert_string_equal(text(w, r, "keys.0.alg"), "RS256");
	assert_string_equal(text(w, r, "keys.0.e"), "AQAB");
	assert_int_equal(strlen(text(w, r, "keys.0.n")), 342);
	assert_null(text(w, r, "keys.0.d"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_client_gets_a_token_that_the_api_takes),
		WORLD_TEST(a_tenant_with_an_external_server_gets_nothing_here_but_its_name),
		WORLD_TEST(a_realm_with_an_external_server_does_not_ask_it_about_a_token),
		WORLD_TEST(expires_in_is_the_setting_of_the_tenant),
		WORLD_TEST(http_basic_works_as_well),
		WORLD_TEST(a_wrong_secret_and_an_unknown_client_are_told_alike),
		WORLD_TEST(a_faulty_form_is_told_in_the_shape_of_oauth),
		WORLD_TEST(another_body_or_method_is_refused),
		WORLD_TEST(an_unknown_realm_is_404),
		WORLD_TEST(a_revoked_client_gets_no_token),
		WORLD_TEST(guessing_is_slowed_down_for_that_client_alone),
		WORLD_TEST(nobody_locks_out_a_client_from_another_address),
		WORLD_TEST(a_token_has_the_scopes_that_were_asked_for_and_no_others),
		WORLD_TEST(what_the_dispatcher_refuses_has_the_shape_of_oauth_too),
		WORLD_TEST(the_keys_and_where_they_are_can_be_read_by_anyone),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
