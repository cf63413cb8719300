/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where clients send users to sign in: the authorization endpoint (RFC 6749, 7636, 9207; OpenID Connect Core) */
#include <string.h>

#include "core/authorization.h"
#include "core/seal.h"
#include "fcgi/form.h"
#include "fcgi/realms.h"
#include "fcgi/say.h"
#include "fcgi/sign.h"

enum { NONCE_MAX = 512, ASKED_MS = 15 * 60 * 1000, FORM_MAX = 16384 };

/* What is sent without a value counts as not sent.  `asked` is ours: that the password was asked for, and when. */
struct query {
	const char *response_type, *response_mode, *client_id, *redirect_uri, *scope, *state, *nonce, *code_challenge,
	    *code_challenge_method, *prompt, *max_age, *request, *request_uri, *registration, *asked;
};
static const struct field query_fields[] = {
	FIELD(struct query, response_type, .on = QUERY, .json = "response_type", .doc = "code"),
	FIELD(struct query, response_mode, .on = QUERY, .json = "response_mode", .doc = "query"),
	FIELD(struct query, client_id, .on = QUERY, .json = "client_id", .doc = "Who sends the user"),
	FIELD(struct query, redirect_uri, .on = QUERY, .json = "redirect_uri", .doc = "Where the user goes back to"),
	FIELD(struct query, scope, .on = QUERY, .doc = "Blank-separated"),
	FIELD(struct query, state, .on = QUERY, .doc = "Given back"),
	FIELD(struct query, nonce, .on = QUERY, .doc = "Put into the id token"),
	FIELD(struct query, code_challenge, .on = QUERY, .json = "code_challenge", .doc = "Hash of the verifier"),
	FIELD(struct query, code_challenge_method, .on = QUERY, .json = "code_challenge_method", .doc = "S256"),
	FIELD(struct query, prompt, .on = QUERY, .doc = "none, login"),
	FIELD(struct query, max_age, .on = QUERY, .json = "max_age", .doc = "Seconds since the password was given"),
	FIELD(struct query, request, .on = QUERY, .doc = "Not taken"),
	FIELD(struct query, request_uri, .on = QUERY, .json = "request_uri", .doc = "Not taken"),
	FIELD(struct query, registration, .on = QUERY, .doc = "Not taken"),
	FIELD(struct query, asked, .on = QUERY, .doc = "When the password was asked for, and the proof of it"),
};
static const struct record query_record = RECORD("AuthorizationQuery", struct query, query_fields);

static const char **
member(const struct query *q, size_t i)
{
	return (const char **)(void *)((const char *)q + query_fields[i].offset);
}

/* The same parameters as a query once more, but for `asked`. */
static const char *
query_again(struct arena *mem, const struct query *q)
{
	struct buf b = BUF(mem);
	size_t i;

	for (i = 0; i < query_record.n - 1; i++)
		if (*member(q, i) != NULL)
			buf_printf(&b, "%s%s=%s", b.len > 0 ? "&" : "", record_json_name(&query_record,
			    &query_fields[i]),
			    percent_encode(mem, *member(q, i)));
	return buf_string(&b);
}

/* To the client, with the parameters that follow; its address is a registered one. */
static int
send_back(struct req *r, const struct query *q, const char *parameters)
{
	const char *state = q->state != NULL ? arena_printf(r->mem, "&state=%s", percent_encode(r->mem, q->state)) : "";

	buf_text(&r->headers, "Referrer-Policy: no-referrer\r\n");
	return sign_redirect(r, arena_printf(r->mem, "%s%c%s%s&iss=%s", q->redirect_uri,
	    strchr(q->redirect_uri, '?') != NULL ? '&' : '?', parameters, state,
	    percent_encode(r->mem, realm_issuer(r))));
}

static int
send_error(struct req *r, const struct query *q, const char *error, const char *why)
{
	return send_back(r, q, arena_printf(r->mem, "error=%s&error_description=%s", error,
	    percent_encode(r->mem, why)));
}

static bool
is_challenge(const char *text)
{
	return strlen(text) == 43 && text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	    "-_")] == '\0';
}

static bool
has_prompt(const struct query *q, const char *word)
{
	return q->prompt != NULL && word_in(q->prompt, word, strlen(word));
}

struct refusal { const char *error, *why; };

/* What is wrong with the request, or no error. */
static struct refusal
query_fault(const struct client *c, const struct query *q)
{
	int64_t age;

	if (q->request != NULL)
		return (struct refusal){ "request_not_supported", "request is not taken" };
	if (q->request_uri != NULL)
		return (struct refusal){ "request_uri_not_supported", "request_uri is not taken" };
	if (q->registration != NULL)
		return (struct refusal){ "registration_not_supported", "registration is not taken" };
	if (q->response_type == NULL)
		return (struct refusal){ "invalid_request", "response_type is missing" };
	if (strcmp(q->response_type, "code") != 0)
		return (struct refusal){ "unsupported_response_type", "response_type is code" };
	if (q->response_mode != NULL && strcmp(q->response_mode, "query") != 0)
		return (struct refusal){ "invalid_request", "response_mode is query" };
	if (q->code_challenge == NULL && (c->is_public || q->code_challenge_method != NULL))
		return (struct refusal){ "invalid_request", "code_challenge is missing" };
	if (q->code_challenge != NULL && (q->code_challenge_method == NULL ||
	    strcmp(q->code_challenge_method, "S256") != 0 || !is_challenge(q->code_challenge)))
		return (struct refusal){ "invalid_request", "code_challenge_method is S256" };
	if (q->nonce != NULL && utf8_length(q->nonce) > NONCE_MAX)
		return (struct refusal){ "invalid_request", "nonce is too long" };
	if (q->max_age != NULL && (!int_parse(q->max_age, &age) || age < 0 || age > INT32_MAX))
		return (struct refusal){ "invalid_request", "max_age is a number of seconds" };
	if (has_prompt(q, "none") && strcmp(q->prompt, "none") != 0)
		return (struct refusal){ "invalid_request", "none is the only prompt then" };
	return (struct refusal){ NULL, NULL };
}

/* Of the wanted ones those that there are and that the client may have; all of its own when it names none at all. */
static const char *
scopes_of(struct arena *mem, const struct client *c, const char *wanted)
{
	static const char *const others[] = { "openid", "profile", "email", "offline_access" };
	struct buf b = BUF(mem);
	const char *name;
	size_t i;

	for (i = 0; wanted != NULL && i < sizeof(others) / sizeof(others[0]); i++)
		if (word_in(wanted, others[i], strlen(others[i])))
			buf_printf(&b, "%s%s", b.len > 0 ? " " : "", others[i]);
	for (i = SCOPE_UNSET + 1; (name = scope_name((enum scope)i)) != NULL; i++)
		if (word_in(c->scopes, name, strlen(name)) && (wanted == NULL || word_in(wanted, name, strlen(name))))
			buf_printf(&b, "%s%s", b.len > 0 ? " " : "", name);
	return buf_string(&b);
}

/* "when.proof": the same request was sent to the page for passwords then. */
static const char *
asked_now(struct req *r, const struct query *q, int64_t when)
{
	const char *text = arena_printf(r->mem, "%lld %s %s", (long long)when, r->word[0], query_again(r->mem, q));

	return arena_printf(r->mem, "%lld.%s", (long long)when, seal_proof(r->conf, r->mem, "authorize", text));
}

/* Has the user given its password since this request asked for it? */
static bool
was_asked(struct req *r, const struct query *q, const struct session *s)
{
	int64_t when;

	return q->asked != NULL && int_parse(arena_copy_n(r->mem, q->asked, strcspn(q->asked, ".")), &when) &&
	    when > r->now.ms - ASKED_MS && s->created_at.ms >= when && seal_same(q->asked, asked_now(r, q, when));
}

/* Must the user give its password, though it is signed in? */
static bool
is_stale(struct req *r, const struct query *q, const struct session *s)
{
	int64_t age;

	if (was_asked(r, q, s))
		return false;
	if (has_prompt(q, "login") || has_prompt(q, "select_account"))
		return true;
	return q->max_age != NULL && int_parse(q->max_age, &age) && s->created_at.ms + age * 1000 < r->now.ms;
}

static int
ask(struct req *r, const struct query *q)
{
	const char *back;

	if (has_prompt(q, "none"))
		return send_error(r, q, "login_required", "The user must sign in");
	back = arena_printf(r->mem, "%s?%s&asked=%s", sign_path(r, "/protocol/openid-connect/auth"),
	    query_again(r->mem, q), percent_encode(r->mem, asked_now(r, q, r->now.ms)));
	return sign_redirect(r, arena_printf(r->mem, "%s?return=%s", sign_path(r, "/login"),
	    percent_encode(r->mem, back)));
}

static int
grant(struct req *r, const struct query *q, const struct client *c, const struct session *s)
{
	struct authorization a = { .tenant_id = c->tenant_id, .client_id = c->id, .user_id = s->user_id,
		.scopes = scopes_of(r->mem, c, q->scope), .redirect_uri = q->redirect_uri,
		.challenge = q->code_challenge, .nonce = q->nonce, .authenticated_at = s->created_at,
		.expires_at = s->expires_at };

	if (*a.scopes == '\0')
		return send_error(r, q, "invalid_scope", "The client has none of these scopes");
	if (!word_in(a.scopes, "offline_access", 14))
		a.session_id = s->id;
	return send_back(r, q, arena_printf(r->mem, "code=%s", authorization_code(r->db, &a)));
}

/* Nobody is sent anywhere before client and address are known to belong together. */
static int
answer(struct req *r, const struct query *q)
{
	const struct client *c = q->client_id != NULL ? client_find(r->db, r->word[0], q->client_id) : NULL;
	const struct session *s;
	struct refusal fault;

	if (c == NULL || c->revoked_at.ms != 0)
		return sign_say(r, 400, N_("This application is not known here"),
		    N_("It asked to sign you in, but it is not registered, or not any more. Tell whoever runs it."));
	if (q->redirect_uri == NULL || !client_redirects_to(c, q->redirect_uri))
		return sign_say(r, 400, N_("The application gave a wrong address"),
		    N_("It asked to sign you in and to send you to an address that is not registered for it."));
	fault = query_fault(c, q);
	if (fault.error != NULL)
		return send_error(r, q, fault.error, fault.why);
	s = session_find(r);
	return s == NULL || is_stale(r, q, s) ? ask(r, q) : grant(r, q, c, s);
}

static int
authorize(struct req *r)
{
	struct query q = *(const struct query *)r->in;
	size_t i;

	for (i = 0; i < query_record.n; i++)
		if (*member(&q, i) != NULL && **member(&q, i) == '\0')
			*member(&q, i) = NULL;
	return session_realm(r) == NULL ? refuse(r, ERR_NOT_FOUND, NULL) : answer(r, &q);
}

/* The form of another site brings no cookie; what it asks for by address does. */
static int
authorize_form(struct req *r)
{
	const struct query *q = form_is(r) ? form_read(r, &query_record) : NULL;

	if (session_realm(r) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (q == NULL)
		return sign_say(r, 400, N_("This address is incomplete"), N_("The application sent a malformed form."));
	return sign_redirect(r, arena_printf(r->mem, "%s?%s", sign_path(r, "/protocol/openid-connect/auth"),
	    query_again(r->mem, q)));
}

const struct route authorize_routes[] = {
	{
		GET, PROTOCOL "/auth", SCOPE_PUBLIC, authorize, &query_record, NULL, "Sign a user in for a client",
		.flags = AT_ROOT | NO_ENVELOPE | PAGE | WRITES, .fails = "400 404", .produces = "text/html",
	},
	{
		POST, PROTOCOL "/auth", SCOPE_PUBLIC, authorize_form, NULL, NULL, "Sign a user in for a client",
		.flags = AT_ROOT | NO_ENVELOPE | PAGE | RAW_BODY | READS_ONLY, .fails = "400 404",
		.produces = "text/html", .consumes = "application/x-www-form-urlencoded", .max_body = FORM_MAX,
	},
	{ 0 }
};
