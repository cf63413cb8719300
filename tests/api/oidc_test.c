/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clients that act for users: what codes and refresh tokens give, to whom, how often and for how long. */
#include <stdlib.h>
#include <string.h>

#include "core/authorization.h"
#include "fcgi/session.h"
#include "tests/world.h"

/* Of RFC 7636, appendix B. */
#define VERIFIER "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
#define CHALLENGE "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
#define BACK "https://app.example.org/callback"

static const char all_scopes[] = "openid profile email ViewChannel ViewMetadata";

/* A tenant with a user who is signed in, a public client, and one with a secret. */
struct scene {
	struct world *w;
	struct uuid user, session, public, secret_client;
	const char *public_id, *secret_id, *secret, *cookie;
};

static struct uuid
make_client(struct world *w, const char *secret)
{
	struct uuid id = uuid_new();

	db_run(w->db, "INSERT INTO principals (id, tenant_id, kind, name, is_super_admin, created_at) VALUES "
	    "(?, ?, 'client', 'App', 0, 1)", ARGS(ID(id), ID(w->tenant_id)));
	db_run(w->db, "INSERT INTO clients (id, tenant_id, secret_hash, scopes, is_public, redirect_uris, logout_uris, "
	    "created_at, updated_at) VALUES (?, ?, ?, 'ViewChannel ViewMetadata', ?, ?, ?, 1, 1)", ARGS(ID(id),
	    ID(w->tenant_id), STR(secret != NULL ? secret_hash(w->mem, secret) : ""), INT(secret == NULL),
	    STR("[\"" BACK "\",\"http://127.0.0.1/cb\",\"com.example.app:/cb\",\"https://app.example.org/q?a=1\"]"),
	    STR("[\"https://app.example.org/bye\"]")));
	assert_int_equal(db_failure(w->db), DB_FINE);
	return id;
}

static struct scene
scene_of(struct world *w)
{
	struct scene s = { .w = w, .user = uuid_new(), .secret = secret_new(w->mem) };
	struct user u = { .id = s.user, .tenant_id = w->tenant_id, .login = "anna", .name = "Anna \"A\" \xc3\x84",
		.email = "anna@example.org" };

	assert_true(user_add(w->db, &u));
	s.cookie = arena_printf(w->mem, "kinothek-session=%s",
	    session_add(w->db, &(struct session_start){ .user_id = s.user, .address = "192.0.2.1" }, &s.session));
	s.public = make_client(w, NULL);
	s.public_id = uuid_text(w->mem, s.public);
	s.secret_client = make_client(w, s.secret);
	s.secret_id = uuid_text(w->mem, s.secret_client);
	return s;
}

/* As the authorization endpoint makes it, for the public client. */
static struct authorization
asked(const struct scene *s)
{
	return (struct authorization){ .tenant_id = s->w->tenant_id, .client_id = s->public, .user_id = s->user,
		.session_id = s->session, .scopes = all_scopes, .redirect_uri = BACK, .challenge = CHALLENGE,
		.nonce = "n-\"1\"", .authenticated_at = { moment_now().ms - 5000 },
		.expires_at = { moment_now().ms + SESSION_MS } };
}

static const char *
code_of(const struct scene *s)
{
	struct authorization a = asked(s);

	return authorization_code(s->w->db, &a);
}

static struct req *
post(struct world *w, const char *end, const char *form)
{
	struct req *r = NEW(w->mem, struct req);

	r->content_type = "application/x-www-form-urlencoded";
	return call_req(w, r, NULL, "POST", arena_printf(w->mem, "/realms/%s/protocol/openid-connect/%s", w->shortcode,
	    end), form);
}

static struct req *
redeem(const struct scene *s, const char *code)
{
	return post(s->w, "token", arena_printf(s->w->mem, "grant_type=authorization_code&client_id=%s&code=%s&"
	    "redirect_uri=%s&code_verifier=" VERIFIER, s->public_id, code, percent_encode(s->w->mem, BACK)));
}

static struct req *
refresh(const struct scene *s, const char *token)
{
	return post(s->w, "token", arena_printf(s->w->mem, "grant_type=refresh_token&client_id=%s&refresh_token=%s",
	    s->public_id, token));
}

static struct req *
userinfo_by(struct world *w, const char *token, const char *method)
{
	struct req *r = NEW(w->mem, struct req);

	if (token != NULL)
		r->authorization = arena_printf(w->mem, "Bearer %s", token);
	return call_req(w, r, NULL, method, arena_printf(w->mem, "/realms/%s/protocol/openid-connect/userinfo",
	    w->shortcode), NULL);
}

/* Nothing is remembered of tokens, as in a process that sees them for the first time. */
static int
api_status(struct world *w, const char *token)
{
	token_forget();
	return call_as(w, token, "GET", "/v2/media", NULL)->status;
}

static void
is_refused(struct world *w, struct req *r, int status, const char *error)
{
	assert_int_equal(r->status, status);
	assert_string_equal(text(w, r, "error"), error);
	assert_null(text(w, r, "access_token"));
	assert_null(text(w, r, "refresh_token"));
	assert_string_equal(r->cache_control, "no-store");
}

/* A member of the token's claims. */
static const char *
claim(struct world *w, const char *token, const char *name)
{
	const char *from = strchr(token, '.') + 1;
	struct req r = { .mem = w->mem, .out = BUF(w->mem) };
	unsigned char *json;
	long n = base64url_decode(w->mem, from, strcspn(from, "."), &json);

	assert_true(n > 0);
	buf_add(&r.out, json, (size_t)n);
	return text(w, &r, name);
}

static void
a_code_gives_tokens_for_its_user(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *r = redeem(&s, code_of(&s));
	const char *access, *id, *user = uuid_text(w->mem, s.user);

	assert_int_equal(r->status, 200);
	assert_string_equal(r->cache_control, "no-store");
	assert_string_equal(text(w, r, "token_type"), "Bearer");
	assert_string_equal(text(w, r, "scope"), all_scopes);
	assert_string_equal(text(w, r, "expires_in"), "7200");
	assert_true(strtoll(text(w, r, "refresh_expires_in"), NULL, 10) > 43100);
	access = text(w, r, "access_token");
	assert_string_equal(claim(w, access, "sub"), user);
	assert_string_equal(claim(w, access, "azp"), s.public_id);
	assert_string_equal(claim(w, access, "typ"), "Bearer");
	id = text(w, r, "id_token");
	assert_string_equal(claim(w, id, "sub"), user);
	assert_string_equal(claim(w, id, "aud"), s.public_id);
	assert_string_equal(claim(w, id, "iss"), arena_printf(w->mem, "http://127.0.0.1:8080/realms/%s", w->shortcode));
	assert_string_equal(claim(w, id, "nonce"), "n-\"1\"");
	assert_string_equal(claim(w, id, "name"), "Anna \"A\" \xc3\x84");
	assert_string_equal(claim(w, id, "preferred_username"), "anna");
	assert_string_equal(claim(w, id, "email"), "anna@example.org");
	assert_string_equal(claim(w, id, "email_verified"), "false");
	assert_string_equal(claim(w, id, "sid"), claim(w, access, "sid"));
	assert_int_equal(strlen(claim(w, id, "at_hash")), 22);
	assert_true(llabs(strtoll(claim(w, id, "auth_time"), NULL, 10) - moment_now().ms / 1000 + 5) < 3);
	assert_int_equal(api_status(w, access), 200);
	assert_int_equal(api_status(w, id), 401);
	assert_int_equal(api_status(w, text(w, r, "refresh_token")), 401);
}

static void
a_user_may_what_its_roles_and_the_scopes_of_the_token_allow(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	const char *access = text(w, redeem(&s, code_of(&s)), "access_token");
	struct uuid media = world_media(w, "image", "A");
	const char *uri = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media));

	db_run(w->db, "UPDATE channels SET visibility = 'private' WHERE id = ?", ARGS(ID(w->channel_id)));
	db_run(w->db, "UPDATE tenants SET access_version = access_version + 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(call_as(w, access, "GET", uri, NULL)->status, 403);
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, "
	    "'Channel Owner', 1)", ARGS(ID(w->channel_id), ID(s.user)));
	db_run(w->db, "UPDATE tenants SET access_version = access_version + 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(call_as(w, access, "GET", uri, NULL)->status, 200);
	assert_int_equal(call_as(w, access, "DELETE", uri, NULL)->status, 403);
	db_run(w->db, "UPDATE clients SET scopes = 'ViewMetadata' WHERE id = ?", ARGS(ID(s.public)));
	token_forget();
	assert_int_equal(call_as(w, access, "GET", uri, NULL)->status, 403);
}

static void
a_code_is_good_once_and_the_second_time_ends_all_that_came_of_it(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	const char *code = code_of(&s);
	struct req *r = redeem(&s, code);
	const char *access = text(w, r, "access_token"), *next = text(w, r, "refresh_token");

	assert_int_equal(api_status(w, access), 200);
	is_refused(w, redeem(&s, code), 400, "invalid_grant");
	assert_int_equal(api_status(w, access), 401);
	is_refused(w, refresh(&s, next), 400, "invalid_grant");
	assert_int_equal(number(w, "FROM events t WHERE t.tenant_id = ? AND t.type = 'tokens.revoked'",
	    ARGS(ID(w->tenant_id))), 1);
}

/* The form with one field that is wrong, or left out by an empty value. */
static const char *
form_with(const struct scene *s, const char *code, const char *name, const char *value)
{
	const char *const fields[][2] = { { "grant_type", "authorization_code" }, { "client_id", s->public_id },
		{ "code", code }, { "redirect_uri", BACK }, { "code_verifier", VERIFIER } };
	struct buf b = BUF(s->w->mem);
	size_t i;

	for (i = 0; i < 5; i++) {
		const char *v = strcmp(fields[i][0], name) == 0 ? value : fields[i][1];

		if (v != NULL)
			buf_printf(&b, "%s%s=%s", b.len > 0 ? "&" : "", fields[i][0], percent_encode(s->w->mem, v));
	}
	return buf_string(&b);
}

static void
a_code_is_worth_nothing_without_what_belongs_to_it(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	static const char *const wrong[][2] = { { "redirect_uri", BACK "/" }, { "redirect_uri", BACK "?x=1" },
		{ "redirect_uri", "https://APP.example.org/callback" }, { "redirect_uri", "com.example.app:/cb" },
		{ "redirect_uri", "" }, { "code_verifier", NULL }, { "code_verifier", "" },
		{ "code_verifier", CHALLENGE }, { "code_verifier", VERIFIER "x" }, { "code", "" },
		{ "code", "' OR 1=1 -- " } };
	const char *code;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		code = code_of(&s);
		is_refused(w, post(w, "token", form_with(&s, code, wrong[i][0], wrong[i][1])), 400, "invalid_grant");
		if (strcmp(wrong[i][0], "code") != 0)
			is_refused(w, redeem(&s, code), 400, "invalid_grant");
	}
	is_refused(w, post(w, "token", form_with(&s, code_of(&s), "redirect_uri", NULL)), 400, "invalid_request");
	is_refused(w, post(w, "token", form_with(&s, NULL, "code", NULL)), 400, "invalid_request");
}

static void
a_code_lasts_a_minute(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	const char *code = code_of(&s);

	assert_int_equal(number(w, "FROM authorizations t WHERE t.user_id = ? AND t.code_expires_at - t.created_at = "
	    "60000", ARGS(ID(s.user))), 1);
	db_run(w->db, "UPDATE authorizations SET code_expires_at = ? WHERE user_id = ?", ARGS(TIME(moment_now()),
	    ID(s.user)));
	is_refused(w, redeem(&s, code), 400, "invalid_grant");
}

static void
a_code_is_for_the_client_alone_that_asked_for_it(void **state)
{
	struct world *w = *state, *there = world_other(w);
	struct scene s = scene_of(w), other = scene_of(there);
	const char *code = code_of(&s), *back = percent_encode(w->mem, BACK), *theirs;

	is_refused(w, post(w, "token", arena_printf(w->mem, "grant_type=authorization_code&client_id=%s&"
	    "client_secret=%s"
	    "&code=%s&redirect_uri=%s&code_verifier=" VERIFIER, s.secret_id, s.secret, code, back)), 400,
	    "invalid_grant");
	is_refused(w, redeem(&other, code), 400, "invalid_grant");
	/* The client is right, the realm is not. */
	theirs = arena_printf(w->mem, "grant_type=authorization_code&client_id=%s&code=%s&"
	    "redirect_uri=%s&code_verifier="
	    VERIFIER, s.public_id, code, back);
	is_refused(w, post(there, "token", theirs), 401, "invalid_client");
	assert_int_equal(redeem(&s, code)->status, 200);
}

static void
a_client_with_a_secret_must_show_it(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct authorization a = asked(&s);
	const char *form, *code;

	a.client_id = s.secret_client;
	code = authorization_code(w->db, &a);
	form = arena_printf(w->mem, "grant_type=authorization_code&client_id=%s&code=%s&"
	    "redirect_uri=%s&code_verifier="
	    VERIFIER, s.secret_id, code, percent_encode(w->mem, BACK));
	is_refused(w, post(w, "token", form), 401, "invalid_client");
	is_refused(w, post(w, "token", arena_printf(w->mem, "%s&client_secret=x", form)), 401, "invalid_client");
	is_refused(w, post(w, "token", arena_printf(w->mem, "%s&client_secret=", form)), 401, "invalid_client");
	assert_int_equal(post(w, "token", arena_printf(w->mem, "%s&client_secret=%s", form, s.secret))->status, 200);
	/* One that has none has none, and may nothing by itself. */
	is_refused(w, post(w, "token", arena_printf(w->mem, "%s&client_secret=x", form_with(&s, code_of(&s), "",
	    NULL))),
	    401, "invalid_client");
	is_refused(w, post(w, "token", arena_printf(w->mem, "grant_type=client_credentials&client_id=%s&client_secret=",
	    s.public_id)), 401, "invalid_client");
}

static void
a_verifier_nobody_asked_for_is_refused(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct authorization a = asked(&s);
	const char *form;

	a.client_id = s.secret_client;
	a.challenge = NULL;
	form = arena_printf(w->mem, "grant_type=authorization_code&client_id=%s&client_secret=%s&redirect_uri=%s",
	    s.secret_id, s.secret, percent_encode(w->mem, BACK));
	is_refused(w, post(w, "token", arena_printf(w->mem, "%s&code=%s&code_verifier=" VERIFIER, form,
	    authorization_code(w->db, &a))), 400, "invalid_grant");
	assert_int_equal(post(w, "token", arena_printf(w->mem, "%s&code=%s", form, authorization_code(w->db,
	    &a)))->status,
	    200);
}

static void
a_refresh_token_gives_the_next_one(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *r = redeem(&s, code_of(&s));
	const char *first = text(w, r, "refresh_token"), *sub = claim(w, text(w, r, "id_token"), "sub"), *auth_time =
	    claim(w, text(w, r, "id_token"), "auth_time"), *id;
	int i;

	for (i = 0; i < 3; i++) {
		r = refresh(&s, text(w, r, "refresh_token"));
		assert_int_equal(r->status, 200);
		assert_string_not_equal(text(w, r, "refresh_token"), first);
		assert_int_equal(api_status(w, text(w, r, "access_token")), 200);
		id = text(w, r, "id_token");
		assert_string_equal(claim(w, id, "sub"), sub);
		assert_string_equal(claim(w, id, "auth_time"), auth_time);
		assert_null(claim(w, id, "nonce"));
	}
	r = post(w, "token", arena_printf(w->mem, "grant_type=refresh_token&client_id=%s&"
	    "refresh_token=%s&scope=ViewMetadata", s.public_id, text(w, r, "refresh_token")));
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "scope"), "ViewMetadata");
	assert_null(text(w, r, "id_token"));
	assert_int_equal(userinfo_by(w, text(w, r, "access_token"), "GET")->status, 403);
	assert_int_equal(api_status(w, text(w, r, "access_token")), 403);
	is_refused(w, post(w, "token", arena_printf(w->mem, "grant_type=refresh_token&client_id=%s&"
	    "refresh_token=%s&scope=ManageChannel", s.public_id, text(w, r, "refresh_token"))), 400, "invalid_scope");
	/* Asking for too much has used up nothing. */
	assert_string_equal(text(w, refresh(&s, text(w, r, "refresh_token")), "scope"), all_scopes);
}

/* The thief is first, then the owner; or the other way round: both are locked out. */
static void
a_stolen_refresh_token_ends_its_whole_family(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	const char *stolen = text(w, redeem(&s, code_of(&s)), "refresh_token"), *apart;
	struct req *thief, *other = redeem(&s, code_of(&s));

	apart = text(w, other, "refresh_token");
	thief = refresh(&s, stolen);
	assert_int_equal(thief->status, 200);
	assert_int_equal(api_status(w, text(w, thief, "access_token")), 200);
	is_refused(w, refresh(&s, stolen), 400, "invalid_grant");
	is_refused(w, refresh(&s, text(w, thief, "refresh_token")), 400, "invalid_grant");
	assert_int_equal(api_status(w, text(w, thief, "access_token")), 401);
	assert_int_equal(number(w, "FROM events t WHERE t.tenant_id = ? AND t.type = 'tokens.revoked' AND t.address = "
	    "'127.0.0.1'", ARGS(ID(w->tenant_id))), 1);
	/* What another sign-in gave is another family. */
	assert_int_equal(refresh(&s, apart)->status, 200);
}

static void
a_refresh_token_is_for_its_client_and_realm_alone(void **state)
{
	struct world *w = *state, *there = world_other(w);
	struct scene s = scene_of(w), other = scene_of(there);
	const char *token = text(w, redeem(&s, code_of(&s)), "refresh_token");

	is_refused(w, post(w, "token", arena_printf(w->mem, "grant_type=refresh_token&client_id=%s&client_secret=%s&"
	    "refresh_token=%s", s.secret_id, s.secret, token)), 400, "invalid_grant");
	is_refused(w, refresh(&other, token), 400, "invalid_grant");
	is_refused(w, refresh(&s, ""), 400, "invalid_grant");
	is_refused(w, refresh(&s, "x"), 400, "invalid_grant");
	is_refused(w, refresh(&s, code_of(&s)), 400, "invalid_grant");
	assert_int_equal(refresh(&s, token)->status, 200);
}

/* What ends a sign-in ends its tokens, those for refreshing at once, those for access within a minute. */
static void
ends_by(struct world *w, void (*end)(struct scene *), bool away)
{
	struct scene s = scene_of(world_other(w));
	struct authorization a = asked(&s);
	const char *waiting, *token;
	struct req *r;

	if (away)
		a.session_id = (struct uuid){ { 0 } };
	r = redeem(&s, authorization_code(w->db, &a));
	waiting = authorization_code(w->db, &a);
	token = text(w, r, "refresh_token");
	assert_int_equal(api_status(w, text(w, r, "access_token")), 200);
	r = refresh(&s, token);
	assert_int_equal(r->status, 200);
	end(&s);
	assert_int_equal(api_status(w, text(w, r, "access_token")), 401);
	assert_true(refresh(&s, text(w, r, "refresh_token"))->status >= 400);
	assert_true(redeem(&s, waiting)->status >= 400);
}

static void disable(struct scene *s) { user_set_disabled(s->w->db, s->user, true); }
static void sign_out(struct scene *s) { session_remove(s->w->db, s->user, s->session); }
static void
revoke_client(struct scene *s)
{
	db_run(s->w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(s->public)));
}
static void
set_password(struct scene *s)
{
	user_set_password(s->w->db, s->user, "x", (struct uuid){ { 0 } });
	db_run(s->w->db, "UPDATE users SET password_at = password_at + 1000 WHERE id = ?", ARGS(ID(s->user)));
}
static void
come_to_its_end(struct scene *s)
{
	db_run(s->w->db, "UPDATE authorizations SET expires_at = ? WHERE user_id = ?", ARGS(TIME(moment_now()),
	    ID(s->user)));
}

static void
tokens_end_with_what_they_stand_on(void **state)
{
	static void (*const ends[])(struct scene *) = { disable, revoke_client, set_password, come_to_its_end };
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		ends_by(*state, ends[i], false);
		ends_by(*state, ends[i], true);
	}
	ends_by(*state, sign_out, false);
}

static void
access_without_the_user_outlasts_the_session(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct authorization a = asked(&s);
	struct req *r;

	a.session_id = (struct uuid){ { 0 } };
	r = redeem(&s, authorization_code(w->db, &a));
	sign_out(&s);
	assert_int_equal(api_status(w, text(w, r, "access_token")), 200);
	assert_string_equal(text(w, r, "refresh_expires_in"), "2592000");
	r = refresh(&s, text(w, r, "refresh_token"));
	assert_int_equal(r->status, 200);
	/* It waits for thirty days, and begins anew with each use, for half a year. */
	db_run(w->db, "UPDATE refresh_tokens SET expires_at = ? WHERE used_at = 0", ARGS(TIME(moment_now())));
	is_refused(w, refresh(&s, text(w, r, "refresh_token")), 400, "invalid_grant");
	r = redeem(&s, authorization_code(w->db, &a));
	db_run(w->db, "UPDATE authorizations SET expires_at = ? WHERE ended_at = 0 AND user_id = ?",
	    ARGS(INT(moment_now().ms + 100000), ID(s.user)));
	r = refresh(&s, text(w, r, "refresh_token"));
	assert_true(strtoll(text(w, r, "refresh_expires_in"), NULL, 10) <= 100);
	assert_true(strtoll(text(w, r, "expires_in"), NULL, 10) <= 100);
}

static void
who_was_disabled_signs_in_anew_when_enabled(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct authorization a = asked(&s);
	struct req *r;

	a.session_id = (struct uuid){ { 0 } };
	r = redeem(&s, authorization_code(w->db, &a));
	assert_true(user_set_disabled(w->db, s.user, true));
	is_refused(w, refresh(&s, text(w, r, "refresh_token")), 400, "invalid_grant");
	assert_true(user_set_disabled(w->db, s.user, false));
	is_refused(w, refresh(&s, text(w, r, "refresh_token")), 400, "invalid_grant");
	assert_int_equal(api_status(w, text(w, r, "access_token")), 401);
	r = redeem(&s, authorization_code(w->db, &a));
	assert_int_equal(refresh(&s, text(w, r, "refresh_token"))->status, 200);
}

static void
a_refresh_keeps_the_session_awake_but_wakes_none(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *r = redeem(&s, code_of(&s));
	struct moment now = moment_now();

	db_run(w->db, "UPDATE sessions SET used_at = ? WHERE id = ?", ARGS(INT(now.ms - SESSION_IDLE_MS + 60000),
	    ID(s.session)));
	r = refresh(&s, text(w, r, "refresh_token"));
	assert_int_equal(r->status, 200);
	assert_int_equal(number(w, "FROM sessions t WHERE t.id = ? AND t.used_at >= ?", ARGS(ID(s.session),
	    TIME(now))), 1);
	db_run(w->db, "UPDATE sessions SET used_at = ? WHERE id = ?", ARGS(INT(now.ms - SESSION_IDLE_MS - 1),
	    ID(s.session)));
	is_refused(w, refresh(&s, text(w, r, "refresh_token")), 400, "invalid_grant");
	assert_int_equal(number(w, "FROM sessions t WHERE t.id = ? AND t.used_at >= ?", ARGS(ID(s.session),
	    TIME(now))), 0);
}

static void
guessing_at_the_codes_of_a_public_client_is_slowed_down(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *r = NULL;
	int i;

	for (i = 0; i < 40 && (r == NULL || r->status == 400); i++)
		r = redeem(&s, "guess");
	assert_int_equal(r->status, 429);
	assert_true(i > 20 && r->retry_after > 0);
}

static void
a_client_gives_a_token_back_and_all_end_that_came_with_it(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *first = redeem(&s, code_of(&s)), *second = redeem(&s, code_of(&s)), *r;
	const char *const tokens[] = { text(w, first, "refresh_token"), text(w, second, "access_token") };
	const char *form, *own;
	size_t i;

	for (i = 0; i < 2; i++) {
		form = arena_printf(w->mem, "client_id=%s&token=%s", s.public_id, tokens[i]);
		/* Another client gives back nothing of this one. */
		r = post(w, "revoke", arena_printf(w->mem, "client_id=%s&client_secret=%s&token=%s", s.secret_id,
		    s.secret,
		    tokens[i]));
		assert_int_equal(r->status, 200);
		assert_int_equal(api_status(w, text(w, i == 0 ? first : second, "access_token")), 200);
		assert_int_equal(post(w, "revoke", form)->status, 200);
		assert_int_equal(api_status(w, text(w, i == 0 ? first : second, "access_token")), 401);
		is_refused(w, refresh(&s, text(w, i == 0 ? first : second, "refresh_token")), 400, "invalid_grant");
		assert_int_equal(post(w, "revoke", form)->status, 200);
	}
	assert_int_equal(number(w, "FROM events t WHERE t.tenant_id = ? AND t.type = 'tokens.revoked'",
	    ARGS(ID(w->tenant_id))), 2);
	is_refused(w, post(w, "revoke", arena_printf(w->mem, "client_id=%s", s.public_id)), 400, "invalid_request");
	is_refused(w, post(w, "revoke", arena_printf(w->mem, "client_id=%s&token=x", s.secret_id)), 401,
	    "invalid_client");
	own = text(w, post(w, "token", arena_printf(w->mem, "grant_type=client_credentials&client_id=%s&"
	    "client_secret=%s",
	    s.secret_id, s.secret)), "access_token");
	is_refused(w, post(w, "revoke", arena_printf(w->mem, "client_id=%s&client_secret=%s&token=%s", s.secret_id,
	    s.secret, own)), 400, "unsupported_token_type");
}

static void
userinfo_tells_what_the_scopes_allow(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct authorization a = asked(&s);
	struct req *r = userinfo_by(w, text(w, redeem(&s, code_of(&s)), "access_token"), "GET");

	assert_int_equal(r->status, 200);
	assert_string_equal(r->cache_control, "no-store");
	assert_string_equal(text(w, r, "sub"), uuid_text(w->mem, s.user));
	assert_string_equal(text(w, r, "name"), "Anna \"A\" \xc3\x84");
	assert_string_equal(text(w, r, "preferred_username"), "anna");
	assert_string_equal(text(w, r, "email"), "anna@example.org");
	assert_string_equal(text(w, r, "email_verified"), "false");
	db_run(w->db, "UPDATE users SET email_proven_at = 1 WHERE id = ?", ARGS(ID(s.user)));
	r = redeem(&s, code_of(&s));
	assert_string_equal(claim(w, text(w, r, "id_token"), "email_verified"), "true");
	assert_string_equal(text(w, userinfo_by(w, text(w, r, "access_token"), "GET"), "email_verified"), "true");
	a.scopes = "openid";
	r = userinfo_by(w, text(w, redeem(&s, authorization_code(w->db, &a)), "access_token"), "POST");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "sub"), uuid_text(w->mem, s.user));
	assert_null(text(w, r, "name"));
	assert_null(text(w, r, "email"));
	assert_null(text(w, r, "email_verified"));
	a.scopes = "profile email";
	r = redeem(&s, authorization_code(w->db, &a));
	assert_null(text(w, r, "id_token"));
	is_refused(w, userinfo_by(w, text(w, r, "access_token"), "GET"), 403, "insufficient_scope");
}

static void
userinfo_takes_tokens_of_users_of_its_realm_alone(void **state)
{
	struct world *w = *state, *there = world_other(w);
	struct scene s = scene_of(w);
	const char *token = text(w, redeem(&s, code_of(&s)), "access_token");
	struct req *r = userinfo_by(w, NULL, "GET");

	is_refused(w, r, 401, "invalid_token");
	assert_memory_equal(header(w, r, "WWW-Authenticate"), "Bearer ", 7);
	is_refused(w, userinfo_by(w, "x", "GET"), 401, "invalid_token");
	is_refused(w, userinfo_by(there, token, "GET"), 401, "invalid_token");
	is_refused(w, userinfo_by(w, w->token, "GET"), 403, "insufficient_scope");
	sign_out(&s);
	is_refused(w, userinfo_by(w, token, "GET"), 401, "invalid_token");
}

static void
a_user_is_super_admin_by_its_own_row_alone(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	const char *token;

	db_run(w->db, "UPDATE principals SET is_super_admin = 1 WHERE id = ?", ARGS(ID(s.public)));
	token = text(w, redeem(&s, code_of(&s)), "access_token");
	assert_null(claim(w, token, "realm_access.roles.0"));
	db_run(w->db, "UPDATE principals SET is_super_admin = 1 WHERE id = ?", ARGS(ID(s.user)));
	token = text(w, redeem(&s, code_of(&s)), "access_token");
	assert_string_equal(claim(w, token, "realm_access.roles.0"), "SuperAdmin");
	assert_int_equal(api_status(w, token), 200);
}

/* What a browser sends to the authorization endpoint: the parameters that all is well with, some of them changed, by
 * name and value; a value of NULL leaves one out. */
static const char *
auth_query(const struct scene *s, const char *const (*changes)[2])
{
	const char *const fields[][2] = { { "response_type", "code" }, { "client_id", s->public_id },
		{ "redirect_uri", BACK }, { "scope", "openid ViewChannel" }, { "state", "s&t/ \"1\"" }, { "nonce", "n"
		    },
		{ "code_challenge", CHALLENGE }, { "code_challenge_method", "S256" } };
	struct buf b = BUF(s->w->mem);
	size_t i, k;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *value = fields[i][1];

		for (k = 0; changes != NULL && changes[k][0] != NULL; k++)
			if (strcmp(changes[k][0], fields[i][0]) == 0)
				value = changes[k][1];
		if (value != NULL)
			buf_printf(&b, "&%s=%s", fields[i][0], percent_encode(s->w->mem, value));
	}
	for (k = 0; changes != NULL && changes[k][0] != NULL; k++)
		if (strstr(buf_string(&b), arena_printf(s->w->mem, "&%s=", changes[k][0])) == NULL && changes[k][1] !=
		    NULL)
			buf_printf(&b, "&%s=%s", changes[k][0], percent_encode(s->w->mem, changes[k][1]));
	return buf_string(&b) + 1;
}
#define CHANGES(...) ((const char *const[][2]){ __VA_ARGS__, { NULL, NULL } })

static struct req *
browse(const struct scene *s, const char *cookie, const char *uri)
{
	struct req *r = NEW(s->w->mem, struct req);

	r->cookie = cookie;
	return call_req(s->w, r, NULL, "GET", uri, NULL);
}

static struct req *
authorize(const struct scene *s, const char *cookie, const char *query)
{
	return browse(s, cookie, arena_printf(s->w->mem, "/realms/%s/protocol/openid-connect/auth?%s", s->w->shortcode,
	    query));
}

/* A parameter of the address that the answer sends to, decoded. */
static const char *
parameter(struct world *w, const struct req *r, const char *name)
{
	const char *p = r->location != NULL ? strchr(r->location, '?') : NULL;
	size_t n = strlen(name);
	char *value;
	long length;

	for (; p != NULL; p = strchr(p, '&')) {
		p++;
		if (strncmp(p, name, n) != 0 || p[n] != '=')
			continue;
		value = arena_copy_n(w->mem, p + n + 1, strcspn(p + n + 1, "&"));
		length = percent_decode(value, strlen(value), true);
		assert_true(length >= 0);
		value[length] = '\0';
		return value;
	}
	return NULL;
}

static void
is_sent_back(struct world *w, const struct req *r, const char *error)
{
	assert_int_equal(r->status, 303);
	assert_memory_equal(r->location, BACK "?", sizeof(BACK));
	assert_string_equal(parameter(w, r, "error"), error);
	assert_null(parameter(w, r, "code"));
	assert_string_equal(parameter(w, r, "iss"), arena_printf(w->mem, "http://127.0.0.1:8080/realms/%s",
	    w->shortcode));
	assert_string_equal(parameter(w, r, "state"), "s&t/ \"1\"");
}

/* A page, which leads nowhere. */
static void
is_page(const struct req *r, int status)
{
	assert_int_equal(r->status, status);
	assert_null(r->location);
	assert_memory_equal(r->answer_type, "text/html", 9);
}

static void
who_is_signed_in_is_sent_back_with_a_code(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *r = authorize(&s, s.cookie, auth_query(&s, NULL)), *tokens;
	const char *id;

	assert_int_equal(r->status, 303);
	assert_memory_equal(r->location, BACK "?code=", sizeof(BACK) + 5);
	assert_string_equal(parameter(w, r, "state"), "s&t/ \"1\"");
	assert_string_equal(parameter(w, r, "iss"), arena_printf(w->mem, "http://127.0.0.1:8080/realms/%s",
	    w->shortcode));
	assert_string_equal(r->cache_control, "no-store");
	tokens = redeem(&s, parameter(w, r, "code"));
	assert_int_equal(tokens->status, 200);
	assert_string_equal(text(w, tokens, "scope"), "openid ViewChannel");
	id = text(w, tokens, "id_token");
	assert_string_equal(claim(w, id, "nonce"), "n");
	assert_string_equal(claim(w, id, "sub"), uuid_text(w->mem, s.user));
	assert_int_equal(api_status(w, text(w, tokens, "access_token")), 200);
	assert_int_equal(number(w, "FROM authorizations t WHERE t.session_id = ?", ARGS(ID(s.session))), 1);
	r = authorize(&s, s.cookie, auth_query(&s, CHANGES({ "scope", "openid offline_access" })));
	assert_int_equal(redeem(&s, parameter(w, r, "code"))->status, 200);
	assert_int_equal(number(w, "FROM authorizations t WHERE t.user_id = ? AND t.session_id IS NULL",
	    ARGS(ID(s.user))), 1);
}

static void
nobody_is_sent_to_an_address_that_is_not_registered(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	static const char *const wrong[] = { "", BACK "/", BACK "?", BACK "?x=1", BACK "#", BACK "%20",
	    "https://app.example.org/Callback", "https://APP.example.org/callback", "https://app.example.org",
	    "https://app.example.org/", "https://app.example.org:443/callback", "http://app.example.org/callback",
	    "https://user@app.example.org/callback", "https://app.example.org@evil.example/callback",
	    "https://app.example.org.evil.example/callback", "https://app.example.org/x/../callback",
	    "https://app.example.org/./callback", "https://app.example.org/%63allback",
	    "https://app.example.org/callback/../evil", "https://app.example.org\\@evil.example/callback",
	    "//app.example.org/callback", "https:app.example.org/callback", "https://evil.example/callback",
	    "javascript:alert(1)", "data:text/html,x", "https://app.example.org/q", "https://app.example.org/q?a=2",
	    "https://app.example.org/q?a=1&b=2", "https://app.example.org/bye", "com.example.app:/CB",
	    "com.example.app:/cb?x", "http://127.0.0.1:80x/cb", "http://127.0.0.1:/cb", "http://127.0.0.1:99999999/cb",
	    "http://127.0.0.1:8080@evil.example/cb", "http://127.0.0.1.evil.example/cb", "http://127.0.0.1:1/cb/",
	    "http://127.0.0.1:1/cb?x", "http://127.0.0.2/cb", "http://localhost/cb", "http://[::1]/cb",
	    "https://127.0.0.1/cb" };
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct req *r = authorize(&s, s.cookie, auth_query(&s, CHANGES({ "redirect_uri", wrong[i] })));

		if (r->status != 400 || r->location != NULL)
			fail_msg("%s: %d", wrong[i], r->status);
		/* Nor with an error: it would be an open redirect. */
		r = authorize(&s, s.cookie, auth_query(&s, CHANGES({ "redirect_uri", wrong[i] }, { "response_type", "x"
		    })));
		is_page(r, 400);
	}
	is_page(authorize(&s, s.cookie, auth_query(&s, CHANGES({ "redirect_uri", NULL }))), 400);
	assert_int_equal(number(w, "FROM authorizations t WHERE t.user_id = ?", ARGS(ID(s.user))), 0);
}

static void
registered_addresses_work_to_the_letter(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	static const char *const good[] = { BACK, "com.example.app:/cb", "https://app.example.org/q?a=1",
	    "http://127.0.0.1/cb", "http://127.0.0.1:1/cb", "http://127.0.0.1:65535/cb" };
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		r = authorize(&s, s.cookie, auth_query(&s, CHANGES({ "redirect_uri", good[i] })));
		assert_int_equal(r->status, 303);
		assert_memory_equal(r->location, good[i], strlen(good[i]));
		assert_int_equal(r->location[strlen(good[i])], strchr(good[i], '?') != NULL ? '&' : '?');
		assert_non_null(parameter(w, r, "code"));
	}
	/* Any port is for programs on the user's own machine, which have no secret. */
	is_page(authorize(&s, s.cookie, auth_query(&s, CHANGES({ "client_id", s.secret_id },
	    { "redirect_uri", "http://127.0.0.1:1/cb" }))), 400);
	r = authorize(&s, s.cookie, auth_query(&s, CHANGES({ "client_id", s.secret_id },
	    { "redirect_uri", "http://127.0.0.1/cb" })));
	assert_int_equal(r->status, 303);
}

static void
a_client_that_is_not_of_the_realm_sends_nobody_anywhere(void **state)
{
	struct world *w = *state, *there = world_other(w);
	struct scene s = scene_of(w), other = scene_of(there);

	is_page(authorize(&s, s.cookie, auth_query(&s, CHANGES({ "client_id", other.public_id }))), 400);
	is_page(authorize(&s, s.cookie, auth_query(&s, CHANGES({ "client_id", "x" }))), 400);
	is_page(authorize(&s, s.cookie, auth_query(&s, CHANGES({ "client_id", NULL }))), 400);
	is_page(authorize(&s, s.cookie, arena_printf(w->mem, "%s&client_id=%s", auth_query(&s, NULL), s.public_id)),
	    422);
	revoke_client(&s);
	is_page(authorize(&s, s.cookie, auth_query(&s, NULL)), 400);
	/* A session of one realm is none of another. */
	assert_memory_equal(authorize(&other, s.cookie, auth_query(&other, NULL))->location, arena_printf(w->mem,
	    "/realms/%s/login?", there->shortcode), 16);
	is_page(browse(&s, s.cookie, arena_printf(w->mem, "/realms/nobody/protocol/openid-connect/auth?%s",
	    auth_query(&s, NULL))), 404);
}

static void
faults_of_a_request_are_told_to_the_client(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	const struct { const char *error, *name, *value; } cases[] = {
		{ "unsupported_response_type", "response_type", "token" },
		{ "unsupported_response_type", "response_type", "code id_token" },
		{ "unsupported_response_type", "response_type", "none" }, { "invalid_request", "response_type", NULL },
		{ "invalid_request", "response_type", "" }, { "invalid_request", "response_mode", "fragment" },
		{ "invalid_request", "response_mode", "form_post" }, { "invalid_request", "code_challenge", NULL },
		{ "invalid_request", "code_challenge", "short" }, { "invalid_request", "code_challenge", CHALLENGE "="
		    },
		{ "invalid_request", "code_challenge_method", "plain" }, { "invalid_request", "code_challenge_method",
		    NULL },
		{ "invalid_request", "code_challenge_method", "s256" }, { "invalid_request", "max_age", "-1" },
		{ "invalid_request", "max_age", "1x" }, { "invalid_request", "prompt", "none login" },
		{ "invalid_request", "nonce", arena_printf(w->mem, "%0600d", 1) },
		{ "request_not_supported", "request", "e30.e30." },
		{ "request_uri_not_supported", "request_uri", "https://app.example.org/r" },
		{ "registration_not_supported", "registration", "{}" }, { "invalid_scope", "scope", "ManageChannel" },
		{ "invalid_scope", "scope", "everything" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_sent_back(w, authorize(&s, s.cookie, auth_query(&s, CHANGES({ cases[i].name, cases[i].value }))),
		    cases[i].error);
	assert_int_equal(number(w, "FROM authorizations t WHERE t.user_id = ?", ARGS(ID(s.user))), 0);
	is_sent_back(w, authorize(&s, s.cookie, auth_query(&s, CHANGES({ "code_challenge", NULL },
	    { "code_challenge_method", NULL }))), "invalid_request");
	/* A client with a secret may leave the challenge out. */
	assert_non_null(parameter(w, authorize(&s, s.cookie, auth_query(&s, CHANGES({ "client_id", s.secret_id },
	    { "code_challenge", NULL }, { "code_challenge_method", NULL }))), "code"));
}

static void
scopes_are_those_that_are_wanted_and_that_the_client_may_have(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	static const char *const cases[][2] = { { "openid", "openid" }, { "openid ManageChannel", "openid" },
		{ "email ViewMetadata openid unknown ViewMetadata", "openid email ViewMetadata" },
		{ NULL, "ViewChannel ViewMetadata" } };
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = authorize(&s, s.cookie, auth_query(&s, CHANGES({ "scope", cases[i][0] })));
		r = redeem(&s, parameter(w, r, "code"));
		assert_string_equal(text(w, r, "scope"), cases[i][1]);
	}
}

/* Where the page for passwords leads afterwards. */
static const char *
way_back(struct world *w, const struct req *r)
{
	const char *login = arena_printf(w->mem, "/realms/%s/login?return=", w->shortcode);

	assert_int_equal(r->status, 303);
	assert_memory_equal(r->location, login, strlen(login));
	return parameter(w, r, "return");
}

static void
who_is_not_signed_in_comes_back_to_the_same_request(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *r = authorize(&s, NULL, auth_query(&s, NULL));
	const char *back = way_back(w, r), *page = r->location;

	/* The page takes it for one of ours. */
	assert_non_null(strstr(buf_string(&browse(&s, NULL, page)->out), percent_encode(w->mem, back)));
	assert_non_null(parameter(w, browse(&s, s.cookie, back), "code"));
	is_sent_back(w, authorize(&s, NULL, auth_query(&s, CHANGES({ "prompt", "none" }))), "login_required");
	assert_non_null(parameter(w, authorize(&s, s.cookie, auth_query(&s, CHANGES({ "prompt", "none" }))), "code"));
}

/* A further session of the user, which begins now. */
static const char *
sign_in_again(struct scene *s)
{
	return arena_printf(s->w->mem, "kinothek-session=%s", session_add(s->w->db,
	    &(struct session_start){ .user_id = s->user, .address = "192.0.2.1" }, &s->session));
}

static void
the_password_is_asked_for_again_where_the_client_wants_it(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	const char *query = auth_query(&s, CHANGES({ "prompt", "login" })), *back, *fresh;
	struct req *r = authorize(&s, s.cookie, query);

	db_run(w->db, "UPDATE sessions SET created_at = created_at - 10000 WHERE id = ?", ARGS(ID(s.session)));
	back = way_back(w, r);
	assert_non_null(strstr(back, "&asked="));
	/* Who has not done it is asked once more, and who invents the proof as well. */
	way_back(w, browse(&s, s.cookie, back));
	way_back(w, authorize(&s, s.cookie, arena_printf(w->mem, "%s&asked=1.x", query)));
	way_back(w, authorize(&s, s.cookie, arena_printf(w->mem, "%s&asked=0%s", query, strstr(back, "&asked=") + 7)));
	fresh = sign_in_again(&s);
	assert_non_null(parameter(w, browse(&s, fresh, back), "code"));
	/* It is for this request alone. */
	way_back(w, authorize(&s, fresh, arena_printf(w->mem, "%s%s", auth_query(&s, CHANGES({ "prompt", "login" },
	    { "state", "other" })), strstr(back, "&asked="))));
	is_sent_back(w, authorize(&s, s.cookie, auth_query(&s, CHANGES({ "prompt", "none" }, { "max_age", "5" }))),
	    "login_required");
	way_back(w, authorize(&s, s.cookie, auth_query(&s, CHANGES({ "max_age", "5" }))));
	assert_non_null(parameter(w, authorize(&s, s.cookie, auth_query(&s, CHANGES({ "max_age", "60" }))), "code"));
}

static void
who_proves_again_who_it_is_keeps_what_it_has_signed_in_to(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *tokens = redeem(&s, code_of(&s)), *r = NEW(w->mem, struct req);
	const char *pending;

	*r = (struct req){ .mem = w->mem, .db = w->db, .conf = w->conf, .cookie = s.cookie, .client = "192.0.2.1" };
	r->word[0] = w->shortcode;
	r->headers = BUF(w->mem);
	/* It waits for the code. */
	session_begin(r, &(struct session_start){ .user_id = s.user, .is_pending = true, .address = "192.0.2.1" });
	pending = header(w, r, "Set-Cookie");
	assert_int_equal(api_status(w, text(w, tokens, "access_token")), 401);
	is_refused(w, refresh(&s, text(w, tokens, "refresh_token")), 400, "invalid_grant");
	r->cookie = arena_copy_n(w->mem, pending, strcspn(pending, ";"));
	session_begin(r, &(struct session_start){ .user_id = s.user, .has_code = true, .address = "192.0.2.1" });
	assert_int_equal(api_status(w, text(w, tokens, "access_token")), 200);
	assert_int_equal(refresh(&s, text(w, tokens, "refresh_token"))->status, 200);
}

/* As a browser sends the form of another site: without our cookie. */
static void
a_form_of_the_client_becomes_an_address(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *r = post(w, "auth", auth_query(&s, NULL));

	assert_int_equal(r->status, 303);
	assert_non_null(parameter(w, browse(&s, s.cookie, r->location), "code"));
	r = post(w, "logout", arena_printf(w->mem, "client_id=%s&state=1", s.public_id));
	assert_int_equal(r->status, 303);
	assert_non_null(strstr(r->location, "/logout?client_id="));
}

static struct req *
logout(const struct scene *s, const char *cookie, const char *query)
{
	return browse(s, cookie, arena_printf(s->w->mem, "/realms/%s/protocol/openid-connect/logout?%s",
	    s->w->shortcode,
	    query));
}

static bool
is_signed_in(const struct scene *s)
{
	return number(s->w, "FROM sessions t WHERE t.id = ?", ARGS(ID(s->session))) == 1;
}

static void
a_client_signs_its_user_out(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	struct req *tokens = redeem(&s, code_of(&s)), *r;
	const char *hint = text(w, tokens, "id_token");

	r = logout(&s, s.cookie, arena_printf(w->mem, "id_token_hint=%s&state=a%%26b&post_logout_redirect_uri="
	    "https%%3A%%2F%%2Fapp.example.org%%2Fbye", hint));
	assert_int_equal(r->status, 303);
	assert_string_equal(r->location, "https://app.example.org/bye?state=a%26b");
	assert_false(is_signed_in(&s));
	assert_non_null(strstr(buf_string(&r->headers), "kinothek-session=;"));
	assert_int_equal(api_status(w, text(w, tokens, "access_token")), 401);
	is_refused(w, refresh(&s, text(w, tokens, "refresh_token")), 400, "invalid_grant");
	assert_int_equal(number(w, "FROM events t WHERE t.tenant_id = ? AND t.type = 'user.signedOut'",
	    ARGS(ID(w->tenant_id))), 1);
	/* Who is signed out already goes back all the same. */
	r = logout(&s, s.cookie, arena_printf(w->mem, "id_token_hint=%s&post_logout_redirect_uri="
	    "https%%3A%%2F%%2Fapp.example.org%%2Fbye", hint));
	assert_string_equal(r->location, "https://app.example.org/bye");
}

static void
nobody_is_signed_out_by_a_strange_page(void **state)
{
	struct world *w = *state, *there = world_other(w);
	struct scene s = scene_of(w), other = scene_of(there);
	const char *access = text(w, redeem(&s, code_of(&s)), "access_token");
	const char *foreign = text(w, redeem(&other, code_of(&other)), "id_token");
	struct user u = { .id = uuid_new(), .tenant_id = w->tenant_id, .login = "bert", .name = "Bert" };
	struct authorization of_bert = asked(&s);
	const char *hints[] = { "", "x", access, foreign, NULL };
	struct hinted told;
	size_t i;

	assert_true(user_add(w->db, &u));
	of_bert.user_id = u.id;
	hints[4] = text(w, redeem(&s, authorization_code(w->db, &of_bert)), "id_token");
	assert_non_null(hints[4]);
	assert_true(token_hinted(w->db, w->conf, w->shortcode, hints[4], &told));
	assert_false(token_hinted(w->db, w->conf, w->shortcode, foreign, &told));
	/* The user is asked. */
	for (i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		is_page(logout(&s, s.cookie, arena_printf(w->mem, "client_id=%s&id_token_hint=%s", s.public_id,
		    hints[i])), 200);
		assert_true(is_signed_in(&s));
	}
}

static void
signing_out_leads_to_registered_addresses_alone(void **state)
{
	struct world *w = *state;
	struct scene s = scene_of(w);
	const char *hint = text(w, redeem(&s, code_of(&s)), "id_token");
	static const char *const wrong[] = { "https://evil.example/", BACK, "https://app.example.org/bye/",
	    "https://app.example.org/bye?x", "https://app.example.org/Bye", "//app.example.org/bye",
	    "javascript:alert(1)" };
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		is_page(logout(&s, s.cookie, arena_printf(w->mem, "id_token_hint=%s&post_logout_redirect_uri=%s", hint,
		    percent_encode(w->mem, wrong[i]))), 400);
		assert_true(is_signed_in(&s));
	}
	/* Without a client, or with two of them, no address is registered. */
	is_page(logout(&s, s.cookie, "post_logout_redirect_uri=https%3A%2F%2Fapp.example.org%2Fbye"), 400);
	is_page(logout(&s, s.cookie, arena_printf(w->mem, "id_token_hint=%s&client_id=%s&post_logout_redirect_uri="
	    "https%%3A%%2F%%2Fapp.example.org%%2Fbye", hint, s.secret_id)), 400);
	assert_true(is_signed_in(&s));
}

static void
the_configuration_names_every_endpoint(void **state)
{
	struct world *w = *state;
	static const char *const members[][2] = { { "authorization_endpoint", "auth" }, { "token_endpoint", "token" },
		{ "userinfo_endpoint", "userinfo" }, { "end_session_endpoint", "logout" },
		{ "revocation_endpoint", "revoke" }, { "jwks_uri", "certs" } };
	const char *issuer = arena_printf(w->mem, "http://127.0.0.1:8080/realms/%s", w->shortcode);
	struct req *r = call_as(w, NULL, "GET", arena_printf(w->mem, "/realms/%s/.well-known/openid-configuration",
	    w->shortcode), NULL);
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		assert_string_equal(text(w, r, members[i][0]), arena_printf(w->mem, "%s/protocol/openid-connect/%s",
		    issuer,
		    members[i][1]));
	assert_string_equal(text(w, r, "code_challenge_methods_supported.0"), "S256");
	assert_null(text(w, r, "code_challenge_methods_supported.1"));
	assert_string_equal(text(w, r, "response_types_supported.0"), "code");
	assert_string_equal(text(w, r, "authorization_response_iss_parameter_supported"), "true");
	assert_string_equal(text(w, r, "request_uri_parameter_supported"), "false");
	assert_string_equal(text(w, r, "scopes_supported.0"), "openid");
}

static void
only_safe_addresses_are_registered(void **state)
{
	static const char *const good[] = { "https://app.example.org/cb", "https://app.example.org",
	    "https://a:8443/x?y=1",
	    "http://127.0.0.1/cb", "http://127.0.0.1:8080/cb", "http://[::1]/cb", "http://localhost:3000/",
	    "com.example.app:/cb", "https://a.example/..a/b..", "https://[2001:db8::1]/x" };
	static const char *const bad[] = { "", "/cb", "app.example.org", "http://app.example.org/cb",
	    "http://127.0.0.1.example.org/", "http://localhost.example.org/", "http://127.0.0.1@evil.example/",
	    "https://app.example.org/cb#x", "https://app.example.org/#", "https://user@app.example.org/",
	    "https://user:pw@app.example.org/", "https://*.example.org/", "https://app.example.org/*",
	    "https://app.example.org/a b", "https://app.example.org/\\evil", "https:///cb", "https://:443/",
	    "https://a:/x", "https://a:123456/x", "https://APP.example.org/", "HTTPS://app.example.org/",
	    "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "myapp:/cb", "myapp://cb",
	    "com.example.app:", "com.example.app:x", "com.example.app:/", "https://a.example/../b",
	    "https://a.example/./b", "https://a.example/x/..", "https://a.example/%2e%2E/b", "https://a.example/.%2e/b",
	    "https://\xc3\xa4.example/", "https://a.example/\n", "https://a.example\"/" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (client_address_fault(good[i]) != NULL)
			fail_msg("%s: %s", good[i], client_address_fault(good[i]));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (client_address_fault(bad[i]) == NULL)
			fail_msg("%s is taken", bad[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_code_gives_tokens_for_its_user),
		WORLD_TEST(a_user_may_what_its_roles_and_the_scopes_of_the_token_allow),
		WORLD_TEST(a_code_is_good_once_and_the_second_time_ends_all_that_came_of_it),
		WORLD_TEST(a_code_is_worth_nothing_without_what_belongs_to_it),
		WORLD_TEST(a_code_lasts_a_minute),
		WORLD_TEST(a_code_is_for_the_client_alone_that_asked_for_it),
		WORLD_TEST(a_client_with_a_secret_must_show_it),
		WORLD_TEST(a_verifier_nobody_asked_for_is_refused),
		WORLD_TEST(a_refresh_token_gives_the_next_one),
		WORLD_TEST(a_stolen_refresh_token_ends_its_whole_family),
		WORLD_TEST(a_refresh_token_is_for_its_client_and_realm_alone),
		WORLD_TEST(tokens_end_with_what_they_stand_on),
		WORLD_TEST(access_without_the_user_outlasts_the_session),
		WORLD_TEST(who_was_disabled_signs_in_anew_when_enabled),
		WORLD_TEST(a_refresh_keeps_the_session_awake_but_wakes_none),
		WORLD_TEST(guessing_at_the_codes_of_a_public_client_is_slowed_down),
		WORLD_TEST(a_client_gives_a_token_back_and_all_end_that_came_with_it),
		WORLD_TEST(userinfo_tells_what_the_scopes_allow),
		WORLD_TEST(userinfo_takes_tokens_of_users_of_its_realm_alone),
		WORLD_TEST(a_user_is_super_admin_by_its_own_row_alone),
		WORLD_TEST(who_is_signed_in_is_sent_back_with_a_code),
		WORLD_TEST(nobody_is_sent_to_an_address_that_is_not_registered),
		WORLD_TEST(registered_addresses_work_to_the_letter),
		WORLD_TEST(a_client_that_is_not_of_the_realm_sends_nobody_anywhere),
		WORLD_TEST(faults_of_a_request_are_told_to_the_client),
		WORLD_TEST(scopes_are_those_that_are_wanted_and_that_the_client_may_have),
		WORLD_TEST(who_is_not_signed_in_comes_back_to_the_same_request),
		WORLD_TEST(the_password_is_asked_for_again_where_the_client_wants_it),
		WORLD_TEST(who_proves_again_who_it_is_keeps_what_it_has_signed_in_to),
		WORLD_TEST(a_form_of_the_client_becomes_an_address),
		WORLD_TEST(a_client_signs_its_user_out),
		WORLD_TEST(nobody_is_signed_out_by_a_strange_page),
		WORLD_TEST(signing_out_leads_to_registered_addresses_alone),
		WORLD_TEST(the_configuration_names_every_endpoint),
		WORLD_TEST(only_safe_addresses_are_registered),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
