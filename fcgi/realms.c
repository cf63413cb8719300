/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /realms/{tenantShortcode}: tokens, the keys that check them, and where both are found */
#include <string.h>
#include <strings.h>

#include "core/text.h"
#include "core/tries.h"
#include "fcgi/req.h"

enum { FORM_MAX = 16384 };

struct form {
	const char *grant_type, *client_id, *client_secret, *scope;
};
static const struct field form_fields[] = {
	FIELD(struct form, grant_type, .on = CREATE, .required = true, .json = "grant_type", .one_of = "client_credentials",
	    .doc = "How the client proves itself"),
	FIELD(struct form, client_id, .on = CREATE, .json = "client_id", .doc = "Here, or by HTTP Basic"),
	FIELD(struct form, client_secret, .on = CREATE, .json = "client_secret", .doc = "Here, or by HTTP Basic"),
	FIELD(struct form, scope, .on = CREATE, .json = "scope",
	    .doc = "Scopes that are wanted, blank-separated: some of the client's; all of them when it is left out. "
	    "openid, email and profile are passed over"),
};
static const struct record form_record = RECORD("TokenForm", struct form, form_fields);

struct answer {
	const char *access_token;
	int64_t expires_in, refresh_expires_in;
	const char *token_type;
	int64_t not_before_policy;
	const char *scope;
};
static const struct field answer_fields[] = {
	FIELD(struct answer, access_token, .required = true, .json = "access_token", .doc = "A bearer token"),
	FIELD(struct answer, expires_in, .required = true, .json = "expires_in", .doc = "Seconds that it is good for"),
	FIELD(struct answer, refresh_expires_in, .required = true, .json = "refresh_expires_in",
	    .doc = "0: there are no refresh tokens, get a new token instead"),
	FIELD(struct answer, token_type, .required = true, .json = "token_type", .one_of = "Bearer", .doc = "Its kind"),
	FIELD(struct answer, not_before_policy, .required = true, .json = "not-before-policy", .doc = "0"),
	FIELD(struct answer, scope, .required = true, .json = "scope", .doc = "Scopes that were granted, blank-separated"),
};
static const struct record answer_record = RECORD("Token", struct answer, answer_fields);

struct key {
	const char *kid, *kty, *alg, *use, *n, *e;
};
static const struct field key_fields[] = {
	FIELD(struct key, kid, .required = true, .doc = "Id that tokens name in their head"),
	FIELD(struct key, kty, .required = true, .one_of = "RSA", .doc = "Kind of the key"),
	FIELD(struct key, alg, .required = true, .one_of = "RS256", .doc = "Algorithm"),
	FIELD(struct key, use, .required = true, .one_of = "sig", .doc = "Purpose"),
	FIELD(struct key, n, .required = true, .doc = "Modulus, base64url"),
	FIELD(struct key, e, .required = true, .doc = "Exponent, base64url"),
};
static const struct record key_record = RECORD("Key", struct key, key_fields);

struct keys {
	struct list keys;
};
static const struct field keys_fields[] = {
	FIELD(struct keys, keys, .of = &key_record, .doc = "Keys whose tokens may still be good (RFC 7517)"),
};
static const struct record keys_record = RECORD("KeySet", struct keys, keys_fields);

struct provider {
	const char *issuer, *token_endpoint, *jwks_uri;
	struct strings grants, responses, subjects, algorithms, methods, scopes;
};
static const struct field provider_fields[] = {
	FIELD(struct provider, issuer, .required = true, .format = "uri", .doc = "As in the tokens"),
	FIELD(struct provider, token_endpoint, .required = true, .json = "token_endpoint", .format = "uri",
	    .doc = "Where tokens are made"),
	FIELD(struct provider, jwks_uri, .required = true, .json = "jwks_uri", .format = "uri", .doc = "Where the keys are"),
	FIELD(struct provider, grants, .required = true, .json = "grant_types_supported", .doc = "client_credentials"),
	FIELD(struct provider, responses, .required = true, .json = "response_types_supported", .doc = "None"),
	FIELD(struct provider, subjects, .required = true, .json = "subject_types_supported", .doc = "public"),
	FIELD(struct provider, algorithms, .required = true, .json = "id_token_signing_alg_values_supported",
	    .doc = "RS256"),
	FIELD(struct provider, methods, .required = true, .json = "token_endpoint_auth_methods_supported",
	    .doc = "client_secret_post, client_secret_basic"),
	FIELD(struct provider, scopes, .required = true, .json = "scopes_supported", .doc = "All there are"),
};
static const struct record provider_record = RECORD("Provider", struct provider, provider_fields);

static const char json_type[] = "application/json";

static int
answer(struct req *r, const struct record *record, const void *row)
{
	struct buf b = BUF(r->mem);

	record_render(&b, record, row, false);
	return reply_raw(r, 200, json_type, buf_string(&b), b.len);
}

/* SQL takes "demo " for "demo", and cannot compare a column of ASCII with anything else. */
static bool
realm_exists(struct req *r)
{
	const char *shortcode = r->word[0][strspn(r->word[0],
	    "abcdefghijklmnopqrstuvwxyz0123456789-_")] != '\0' ? NULL : db_text(r->db,
	    "SELECT shortcode FROM tenants WHERE shortcode = ?", ARGS(STR(r->word[0])));

	return shortcode != NULL && strcmp(shortcode, r->word[0]) == 0;
}

static int
no_realm(struct req *r)
{
	return refuse_oauth(r, 404, "invalid_request", "There is no such realm.");
}

/* Undoes the encoding of forms in place.  False: a broken escape, or not UTF-8. */
static bool
form_decode(char *text)
{
	long n = percent_decode(text, strlen(text), true);

	if (n < 0 || !utf8_valid(text, (size_t)n))
		return false;
	text[n] = '\0';
	return true;
}

/* Fields of the form.  False: a broken escape, not UTF-8, or a field that is there twice. */
static bool
form_parse(struct arena *mem, const char *body, size_t n, struct form *form)
{
	char *rest = arena_copy_n(mem, body, n), *pair, *value;
	const char **at;

	if (strlen(rest) != n)
		return false;
	while ((pair = strsep(&rest, "&")) != NULL) {
		value = strchr(pair, '=');
		if (value == NULL)
			continue;
		*value++ = '\0';
		if (!form_decode(pair) || !form_decode(value))
			return false;
		at = strcmp(pair, "grant_type") == 0     ? &form->grant_type
		    : strcmp(pair, "client_id") == 0     ? &form->client_id
		    : strcmp(pair, "client_secret") == 0 ? &form->client_secret
		    : strcmp(pair, "scope") == 0         ? &form->scope
							 : NULL;
		if (at != NULL && *at != NULL)
			return false;
		if (at != NULL)
			*at = value;
	}
	return true;
}

/* "Basic base64(id:secret)", both form-encoded first (RFC 6749 section 2.3.1). */
static bool
basic_parse(struct arena *mem, const char *authorization, struct form *form)
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
	form->client_id = text;
	form->client_secret = p;
	return form_decode(text) && form_decode(p);
}

static bool
is_form(const char *type)
{
	static const char form[] = "application/x-www-form-urlencoded";

	return type != NULL && strncasecmp(type, form, sizeof(form) - 1) == 0 &&
	    strchr("; \t", type[sizeof(form) - 1]) != NULL;
}

static int
token_answer(struct req *r, const struct grant *grant)
{
	struct answer out = { grant->access_token, grant->expires_in, 0, "Bearer", 0, grant->scope };

	r->cache_control = "no-store";
	buf_text(&r->headers, "Pragma: no-cache\r\n");
	return answer(r, &answer_record, &out);
}

/* The answer when client and secret do not fit: never which of them. */
static int
wrong_client(struct req *r)
{
	if (r->authorization != NULL)
		buf_printf(&r->headers, "WWW-Authenticate: Basic realm=\"%s\", charset=\"UTF-8\"\r\n", r->word[0]);
	return refuse_oauth(r, 401, "invalid_client", "Client id and secret do not fit, or the client is revoked.");
}

static int
token_grant_to(struct req *r, const struct form *form)
{
	const char *address = r->client != NULL ? r->client : "";
	const struct grant *grant;

	r->retry_after = (int)tries_wait(address, form->client_id, r->now.ms);
	if (r->retry_after > 0)
		return refuse_oauth(r, 429, "temporarily_unavailable", "Too many wrong secrets; wait.");
	grant = token_grant(r->db, r->conf, r->mem,
	    (struct asked){ r->word[0], form->client_id, form->client_secret, form->scope });
	if (grant != NULL && grant->access_token == NULL)
		return refuse_oauth(r, 400, "invalid_scope",
		    arena_printf(r->mem, "The client has no scope %.100s.", grant->scope));
	if (grant != NULL)
		return token_answer(r, grant);
	if (db_failure(r->db) != DB_FINE || !token_ready(r->db, r->mem)) {
		r->retry_after = 5;
		return refuse_oauth(r, 503, "temporarily_unavailable", "Tokens cannot be made now.");
	}
	tries_failed(address, form->client_id, r->now.ms);
	return wrong_client(r);
}

static int
token_create(struct req *r)
{
	struct form form = { NULL, NULL, NULL, NULL };

	if (!realm_exists(r))
		return no_realm(r);
	if (!is_form(r->content_type))
		return refuse_oauth(r, 415, "invalid_request", "Send application/x-www-form-urlencoded.");
	if (!form_parse(r->mem, r->body == NULL ? "" : r->body, r->body_size, &form))
		return refuse_oauth(r, 400, "invalid_request", "The form is malformed, or names a field twice.");
	if (form.grant_type == NULL)
		return refuse_oauth(r, 400, "invalid_request", "grant_type is missing.");
	if (strcmp(form.grant_type, "client_credentials") != 0)
		return refuse_oauth(r, 400, "unsupported_grant_type", "Only client_credentials is granted.");
	if (r->authorization != NULL && form.client_secret != NULL)
		return refuse_oauth(r, 400, "invalid_request", "Send the secret in the form or by HTTP Basic, not "
		    "both.");
	if (r->authorization != NULL) {
		const char *in_form = form.client_id;

		if (!basic_parse(r->mem, r->authorization, &form))
			return wrong_client(r);
		if (in_form != NULL && strcmp(in_form, form.client_id) != 0)
			return refuse_oauth(r, 400, "invalid_request", "The form names another client than the "
			    "header.");
	}
	if (form.client_id == NULL || form.client_secret == NULL)
		return refuse_oauth(r, 400, "invalid_request", "client_id or client_secret is missing.");
	return token_grant_to(r, &form);
}

static int
certs_get(struct req *r)
{
	const char *keys;

	if (!realm_exists(r))
		return no_realm(r);
	keys = token_jwks(r->db, r->mem);
	r->cache_control = "public, max-age=60";
	return reply_raw(r, 200, json_type, keys, strlen(keys));
}

static int
configuration_get(struct req *r)
{
	static const char *const grants[] = { "client_credentials" }, *const subjects[] = { "public" },
	    *const algorithms[] = { "RS256" }, *const methods[] = { "client_secret_post", "client_secret_basic" };
	struct provider out = { .responses = { arena_alloc(r->mem, sizeof(char *)), 0 } };
	const char *scopes[16], *name;
	size_t n;

	if (!realm_exists(r))
		return no_realm(r);
	for (n = 0; (name = scope_name((enum scope)(SCOPE_UNSET + 1 + n))) != NULL; n++)
		scopes[n] = name;
	out.issuer = arena_printf(r->mem, "%s/realms/%s", r->conf->public_url, r->word[0]);
	out.token_endpoint = arena_printf(r->mem, "%s/protocol/openid-connect/token", out.issuer);
	out.jwks_uri = arena_printf(r->mem, "%s/protocol/openid-connect/certs", out.issuer);
	out.grants = (struct strings){ (const char **)grants, 1 };
	out.subjects = (struct strings){ (const char **)subjects, 1 };
	out.algorithms = (struct strings){ (const char **)algorithms, 1 };
	out.methods = (struct strings){ (const char **)methods, 2 };
	out.scopes = (struct strings){ scopes, n };
	r->cache_control = "public, max-age=300";
	return answer(r, &provider_record, &out);
}

const struct route realms_routes[] = {
	{
		POST, "/realms/{tenantShortcode}/protocol/openid-connect/token", SCOPE_PUBLIC, token_create,
		&form_record, &answer_record,
		"Get an access token by client credentials",
		.flags = AT_ROOT | NO_ENVELOPE | RAW_BODY | READS_ONLY | OAUTH, .fails = "400 401 404 415 429 503",
		.produces = "application/json", .consumes = "application/x-www-form-urlencoded", .max_body = FORM_MAX,
		.id = "createToken",
	},
	{
		GET, "/realms/{tenantShortcode}/protocol/openid-connect/certs", SCOPE_PUBLIC, certs_get, NULL,
		&keys_record,
		"Read the keys that tokens are checked with",
		.flags = AT_ROOT | NO_ENVELOPE | OAUTH, .fails = "404", .produces = "application/json", .id = "getKeys",
	},
	{
		GET, "/realms/{tenantShortcode}/.well-known/openid-configuration", SCOPE_PUBLIC, configuration_get,
		NULL, &provider_record,
		"Read where tokens and keys of a tenant are",
		.flags = AT_ROOT | NO_ENVELOPE | OAUTH, .fails = "404", .produces = "application/json",
		.id = "getProvider",
	},
	{ 0 }
};
