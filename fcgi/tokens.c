/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The token endpoint: for clients themselves, and for users whose code or refresh token they show; and its opposite */
#include <string.h>
#include <strings.h>

#include "core/audit.h"
#include "core/authorization.h"
#include "core/key.h"
#include "core/tries.h"
#include "fcgi/form.h"
#include "fcgi/realms.h"
#include "fcgi/session.h"

enum { FORM_MAX = 16384 };

/* Both forms begin with them. */
struct credentials { const char *client_id, *client_secret; };

struct form {
	struct credentials by;
	const char *grant_type, *scope, *code, *redirect_uri, *code_verifier, *refresh_token;
};
static const struct field form_fields[] = {
	FIELD(struct form, grant_type, .on = CREATE, .required = true, .json = "grant_type",
	    .one_of = "client_credentials authorization_code refresh_token", .doc = "What the client has to show"),
	FIELD(struct form, by.client_id, .on = CREATE, .json = "client_id", .doc = "Here, or by HTTP Basic"),
	FIELD(struct form, by.client_secret, .on = CREATE, .json = "client_secret",
	    .doc = "Here, or by HTTP Basic; public clients have none"),
	FIELD(struct form, scope, .on = CREATE, .json = "scope",
	    .doc = "Scopes that are wanted, blank-separated. For the client itself: some of its own; all of them when "
	    "it is left out; openid, email and profile are passed over. With a refresh token: some of those that were "
	    "granted"),
	FIELD(struct form, code, .on = CREATE, .json = "code", .doc = "With authorization_code: good once, for a "
	    "minute"),
	FIELD(struct form, redirect_uri, .on = CREATE, .json = "redirect_uri", .doc =
	    "With authorization_code: where it came"),
	FIELD(struct form, code_verifier, .on = CREATE, .json = "code_verifier",
	    .doc = "With authorization_code: what the challenge is the hash of (RFC 7636)"),
	FIELD(struct form, refresh_token, .on = CREATE, .json = "refresh_token",
	    .doc = "With refresh_token: good once, the answer holds the next one"),
};
static const struct record form_record = RECORD("TokenForm", struct form, form_fields);

struct answer {
	const char *access_token;
	int64_t expires_in;
	const char *refresh_token;
	int64_t refresh_expires_in;
	const char *id_token, *token_type;
	int64_t not_before_policy;
	const char *scope;
};
static const struct field answer_fields[] = {
	FIELD(struct answer, access_token, .required = true, .json = "access_token", .doc = "A bearer token"),
	FIELD(struct answer, expires_in, .required = true, .json = "expires_in", .doc = "Seconds that it is good for"),
	FIELD(struct answer, refresh_token, .on = OMIT_NULL, .json = "refresh_token", .doc =
	    "Gives the next tokens, once"),
	FIELD(struct answer, refresh_expires_in, .required = true, .json = "refresh_expires_in",
	    .doc = "Seconds that the refresh token is good for; 0: there is none, get a new token instead"),
	FIELD(struct answer, id_token, .on = OMIT_NULL, .json = "id_token", .doc =
	    "Who the user is, with the scope openid"),
	FIELD(struct answer, token_type, .required = true, .json = "token_type", .one_of = "Bearer", .doc = "Its kind"),
	FIELD(struct answer, not_before_policy, .required = true, .json = "not-before-policy", .doc = "0"),
	FIELD(struct answer, scope, .required = true, .json = "scope", .doc =
	    "Scopes that were granted, blank-separated"),
};
static const struct record answer_record = RECORD("Token", struct answer, answer_fields);

struct revocation { struct credentials by; const char *token, *token_type_hint; };
static const struct field revocation_fields[] = {
	FIELD(struct revocation, by.client_id, .on = CREATE, .json = "client_id", .doc = "Here, or by HTTP Basic"),
	FIELD(struct revocation, by.client_secret, .on = CREATE, .json = "client_secret", .doc =
	    "Here, or by HTTP Basic"),
	FIELD(struct revocation, token, .on = CREATE, .required = true, .json = "token",
	    .doc = "Access or refresh token of a user: all that were given out with it end"),
	FIELD(struct revocation, token_type_hint, .on = CREATE, .json = "token_type_hint", .doc = "Passed over"),
};
static const struct record revocation_record = RECORD("RevocationForm", struct revocation, revocation_fields);

/* "Basic base64(id:secret)", both form-encoded first (RFC 6749 section 2.3.1). */
static bool
basic_parse(struct arena *mem, const char *authorization, struct credentials *by)
{
	char *text, *p;
	unsigned char *bytes;
	long n;
	int i;

	if (strncasecmp(authorization, "Basic ", 6) != 0)
		return false;
	text = arena_copy(mem, authorization + 6);
	for (p = text; *p != '\0'; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	for (i = 0; i < 2 && p > text && p[-1] == '='; i++)
		*--p = '\0';
	n = base64url_decode(mem, text, strlen(text), &bytes);
	if (n < 0)
		return false;
	text = arena_copy_n(mem, bytes, (size_t)n);
	p = strchr(text, ':');
	if (p == NULL || strlen(text) != (size_t)n)
		return false;
	*p++ = '\0';
	by->client_id = text;
	by->client_secret = p;
	return form_decode(text) && form_decode(p);
}

static int
token_answer(struct req *r, const struct grant *grant, const char *refresh_token, int64_t refresh_expires_in)
{
	struct answer out = { grant->access_token, grant->expires_in, refresh_token, refresh_expires_in,
		grant->id_token, "Bearer", 0, grant->scope };

	r->cache_control = "no-store";
	buf_text(&r->headers, "Pragma: no-cache\r\n");
	return realm_answer(r, &answer_record, &out);
}

/* The answer when client and secret do not fit: never which of them. */
static int
wrong_client(struct req *r)
{
	if (r->authorization != NULL)
		buf_printf(&r->headers, "WWW-Authenticate: Basic realm=\"%s\", charset=\"UTF-8\"\r\n", r->word[0]);
	return refuse_oauth(r, 401, "invalid_client", "Client id and secret do not fit, or the client is revoked.");
}

static const char *
from(struct req *r)
{
	return r->client != NULL ? r->client : "";
}

/* Has this address tried too much in vain for that client? */
static bool
must_wait(struct req *r, const char *client_id)
{
	r->retry_after = (int)tries_wait(from(r), client_id, r->now.ms);
	if (r->retry_after > 0)
		refuse_oauth(r, 429, "temporarily_unavailable", "Too many wrong secrets; wait.");
	return r->retry_after > 0;
}

static int
not_now(struct req *r)
{
	r->retry_after = 5;
	return refuse_oauth(r, 503, "temporarily_unavailable", "Tokens cannot be made now.");
}

/* It is said by the header or by the form.  False: refused. */
static bool
take_credentials(struct req *r, struct credentials *by)
{
	const char *in_form = by->client_id;

	if (r->authorization != NULL && by->client_secret != NULL) {
		refuse_oauth(r, 400, "invalid_request", "Send the secret in the form or by HTTP Basic, not both.");
		return false;
	}
	if (r->authorization != NULL && !basic_parse(r->mem, r->authorization, by)) {
		wrong_client(r);
		return false;
	}
	if (r->authorization != NULL && in_form != NULL && strcmp(in_form, by->client_id) != 0) {
		refuse_oauth(r, 400, "invalid_request", "The form names another client than the header.");
		return false;
	}
	if (by->client_id == NULL)
		refuse_oauth(r, 400, "invalid_request", "client_id is missing.");
	return by->client_id != NULL && !must_wait(r, by->client_id);
}

/* NULL: refused. */
static const struct client *
client_of(struct req *r, struct credentials *by)
{
	const struct client *c;

	if (!take_credentials(r, by))
		return NULL;
	c = client_authenticate(r->db, r->word[0], by->client_id, by->client_secret);
	if (c == NULL && db_failure(r->db) == DB_FINE)
		tries_failed(from(r), by->client_id, r->now.ms);
	if (c == NULL)
		wrong_client(r);
	return c;
}

static int
grant_to_client(struct req *r, struct form *form)
{
	const struct grant *grant;

	if (!take_credentials(r, &form->by))
		return r->status;
	if (form->by.client_secret == NULL)
		return refuse_oauth(r, 400, "invalid_request", "client_secret is missing.");
	grant = token_grant(r->db, r->conf, r->mem,
	    (struct asked){ r->word[0], form->by.client_id, form->by.client_secret, form->scope });
	if (grant != NULL && grant->access_token == NULL)
		return refuse_oauth(r, 400, "invalid_scope",
		    arena_printf(r->mem, "The client has no scope %.100s.", grant->refused));
	if (grant != NULL)
		return token_answer(r, grant, NULL, 0);
	if (db_failure(r->db) != DB_FINE || !key_ready(r->db))
		return not_now(r);
	tries_failed(from(r), form->by.client_id, r->now.ms);
	return wrong_client(r);
}

static void
audit_end(struct req *r, const struct client *c, struct uuid authorization_id, const char *why)
{
	struct audited a = { .tenant_id = c->tenant_id, .object_id = authorization_id, .address = from(r),
		.type = "tokens.revoked", .data = arena_printf(r->mem, "{\"clientId\":\"%s\",\"reason\":\"%s\"}",
		uuid_text(r->mem, c->id), why) };

	audit_add(r->db, &a);
}

/* What was shown is spent, and what was shown twice ends all: that is done, whatever the answer. */
static int
invalid_grant(struct req *r, const struct client *c, enum redeemed shown, const struct authorization *a)
{
	if (shown == REDEEM_AGAIN && authorization_end(r->db, a->id))
		audit_end(r, c, a->id, "reuse");
	if (c->is_public && db_failure(r->db) == DB_FINE)
		tries_failed(from(r), uuid_text(r->mem, c->id), r->now.ms);
	refuse_oauth(r, 400, "invalid_grant", "This is no code or refresh token of the client, has been used or has "
	    "expired, or what is shown with it does not fit.");
	r->refused = false;
	return r->status;
}

static int
grant_for_user(struct req *r, const struct authorization *a, const char *scope)
{
	const struct grant *grant = token_for_user(r->db, r->conf, r->mem, a, scope);
	struct moment expires;
	const char *next;

	if (grant == NULL)
		return not_now(r);
	next = authorization_renewal(r->db, a, &expires);
	return token_answer(r, grant, next, (expires.ms - r->now.ms) / 1000);
}

static int
grant_by_code(struct req *r, struct form *form)
{
	const struct client *c = client_of(r, &form->by);
	struct code_shown code = { form->code, form->redirect_uri, form->code_verifier };
	const struct authorization *a;
	enum redeemed shown;

	if (c == NULL)
		return r->status;
	if (code.code == NULL || code.redirect_uri == NULL)
		return refuse_oauth(r, 400, "invalid_request", "code or redirect_uri is missing.");
	shown = authorization_redeem(r->db, c, &code, &a);
	return shown == REDEEM_GOOD ? grant_for_user(r, a, a->scopes) : invalid_grant(r, c, shown, a);
}

/* Are all words of the list `asked` in `granted`? */
static bool
is_part(const char *asked, const char *granted)
{
	size_t n;

	for (; *asked != '\0'; asked += n, asked += *asked == ' ') {
		n = strcspn(asked, " ");
		if (n > 0 && !word_in(granted, asked, n))
			return false;
	}
	return true;
}

/* Looked at before anything is used up; the nonce belongs to the first id token alone. */
static int
grant_by_refresh(struct req *r, struct form *form)
{
	const struct client *c = client_of(r, &form->by);
	const struct authorization *a;
	struct authorization again;
	enum redeemed shown;

	if (c == NULL)
		return r->status;
	if (form->refresh_token == NULL)
		return refuse_oauth(r, 400, "invalid_request", "refresh_token is missing.");
	shown = authorization_refresh(r->db, c, form->refresh_token, &a);
	if (shown != REDEEM_GOOD)
		return invalid_grant(r, c, shown, a);
	if (form->scope != NULL && !is_part(form->scope, a->scopes))
		return refuse_oauth(r, 400, "invalid_scope", "The user's sign-in granted less.");
	again = *a;
	again.nonce = NULL;
	return grant_for_user(r, &again, form->scope != NULL && *form->scope != '\0' ? form->scope : a->scopes);
}

/* A form of the realm, or NULL: refused. */
static void *
form_of_realm(struct req *r, const struct record *record)
{
	void *form;

	if (session_realm(r) == NULL) {
		realm_unknown(r);
		return NULL;
	}
	if (!form_is(r)) {
		refuse_oauth(r, 415, "invalid_request", "Send application/x-www-form-urlencoded.");
		return NULL;
	}
	form = form_read(r, record);
	if (form == NULL)
		refuse_oauth(r, 400, "invalid_request", "The form is malformed, or names a field twice.");
	return form;
}

static int
token_create(struct req *r)
{
	static const struct { const char *type; int (*run)(struct req *, struct form *); } grants[] = {
		{ "client_credentials", grant_to_client }, { "authorization_code", grant_by_code },
		{ "refresh_token", grant_by_refresh },
	};
	struct form *form = form_of_realm(r, &form_record);
	size_t i;

	if (form == NULL)
		return r->status;
	if (form->grant_type == NULL)
		return refuse_oauth(r, 400, "invalid_request", "grant_type is missing.");
	for (i = 0; i < sizeof(grants) / sizeof(grants[0]); i++)
		if (strcmp(form->grant_type, grants[i].type) == 0)
			return grants[i].run(r, form);
	return refuse_oauth(r, 400, "unsupported_grant_type",
	    "There are client_credentials, authorization_code and refresh_token.");
}

/* RFC 7009: a token that is none, or has ended, is no fault. */
static int
token_revoke(struct req *r)
{
	struct revocation *form = form_of_realm(r, &revocation_record);
	const struct client *c = form == NULL ? NULL : client_of(r, &form->by);
	struct principal who = { .address = r->client };
	struct uuid id;

	if (c == NULL)
		return r->status;
	if (form->token == NULL)
		return refuse_oauth(r, 400, "invalid_request", "token is missing.");
	id = authorization_of(r->db, c, form->token);
	if (uuid_is_none(id) && token_verify(r->db, r->conf, r->mem, form->token, &who) == TOKEN_FINE &&
	    uuid_equal(who.client_id, c->id)) {
		id = who.authorization_id;
		if (uuid_is_none(id))
			return refuse_oauth(r, 400, "unsupported_token_type",
			    "A token of the client itself ends with its time, or with the client.");
	}
	if (!uuid_is_none(id) && authorization_end(r->db, id))
		audit_end(r, c, id, "client");
	r->cache_control = "no-store";
	return reply_raw(r, 200, "application/json", "{}", 2);
}

const struct route tokens_routes[] = {
	{
		POST, PROTOCOL "/token", SCOPE_PUBLIC, token_create, &form_record, &answer_record,
		"Get an access token: for the client itself, or for a user by code or refresh token",
		.flags = AT_ROOT | NO_ENVELOPE | RAW_BODY | OAUTH, .fails = "400 401 404 415 429 503",
		.produces = "application/json", .consumes = "application/x-www-form-urlencoded", .max_body = FORM_MAX,
		.id = "createToken",
	},
	{
		POST, PROTOCOL "/revoke", SCOPE_PUBLIC, token_revoke, &revocation_record, NULL,
		"End a token of a user, and all that were given out with it",
		.flags = AT_ROOT | NO_ENVELOPE | RAW_BODY | OAUTH, .fails = "400 401 404 415 429",
		.produces = "application/json", .consumes = "application/x-www-form-urlencoded", .max_body = FORM_MAX,
		.id = "revokeToken",
	},
	{ 0 }
};
