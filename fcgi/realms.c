/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /realms/{tenantShortcode}: tokens, the keys that check them, and where both are found */
#include <string.h>
#include <strings.h>

#include "core/text.h"
#include "fcgi/req.h"

enum {
	FORM_MAX = 16384,
	TRIES = 30, /* wrong secrets in a row before a client has to wait */
	TRY_SECONDS = 2, /* one more after so long */
	WATCHED = 256,
};

static const char json_type[] = "application/json";

/* OAuth errors have a shape of their own (RFC 6749 section 5.2), which clients parse. */
static int
oauth_refuse(struct req *r, int status, const char *error, const char *description)
{
	struct buf b = BUF(r->mem);

	buf_text(&b, "{\"error\":");
	buf_json(&b, error);
	buf_text(&b, ",\"error_description\":");
	buf_json(&b, description);
	buf_char(&b, '}');
	r->cache_control = "no-store";
	return reply_raw(r, status, json_type, buf_string(&b), b.len);
}

/* SQL takes "demo " for "demo", and cannot compare a column of ASCII with anything else. */
static bool
realm_exists(struct req *r)
{
	const char *shortcode = r->word[0][strspn(r->word[0], "abcdefghijklmnopqrstuvwxyz0123456789-_")] != '\0' ? NULL :
	    db_text(r->db, "SELECT shortcode FROM tenants WHERE shortcode = ?", ARGS(STR(r->word[0])));

	return shortcode != NULL && strcmp(shortcode, r->word[0]) == 0;
}

static int
no_realm(struct req *r)
{
	return oauth_refuse(r, 404, "invalid_request", "There is no such realm.");
}

struct form {
	char *grant_type, *client_id, *client_secret, *scope;
};

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
	char *rest = arena_copy_n(mem, body, n), *pair, *value, **at;

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

/* A bucket per address and client, in this process: it bounds the load of guessing, the secret's 256 bits do the rest. */
struct watch {
	uint64_t who;
	int64_t tries_ms;
};
static struct watch watched[WATCHED];

static struct watch *
watch_of(const struct req *r, const char *client_id)
{
	uint64_t who = UINT64_C(14695981039346656037);
	const char *p;

	for (p = r->client == NULL ? "" : r->client; *p != '\0'; p++)
		who = (who ^ (unsigned char)*p) * UINT64_C(1099511628211);
	for (p = client_id; *p != '\0'; p++)
		who = (who ^ (unsigned char)*p) * UINT64_C(1099511628211);
	if (watched[who % WATCHED].who != who)
		watched[who % WATCHED] = (struct watch){ who, 0 };
	return &watched[who % WATCHED];
}

/* tries_ms is the moment at which all tries are forgiven: each wrong one moves it on. */
static int64_t
watch_wait(const struct watch *w, int64_t now)
{
	int64_t over = w->tries_ms - now - (int64_t)TRIES * TRY_SECONDS * 1000;

	return over > 0 ? over / 1000 + 1 : 0;
}

static void
watch_wrong(struct watch *w, int64_t now)
{
	w->tries_ms = (w->tries_ms > now ? w->tries_ms : now) + TRY_SECONDS * 1000;
}

static int
token_answer(struct req *r, const struct grant *grant)
{
	struct buf b = BUF(r->mem);

	buf_text(&b, "{\"access_token\":");
	buf_json(&b, grant->access_token);
	buf_text(&b, ",\"expires_in\":");
	buf_int(&b, grant->expires_in);
	buf_text(&b, ",\"refresh_expires_in\":0,\"token_type\":\"Bearer\",\"not-before-policy\":0,\"scope\":");
	buf_json(&b, grant->scope);
	buf_char(&b, '}');
	r->cache_control = "no-store";
	buf_text(&r->headers, "Pragma: no-cache\r\n");
	return reply_raw(r, 200, json_type, buf_string(&b), b.len);
}

/* The answer when client and secret do not fit: never which of them. */
static int
wrong_client(struct req *r)
{
	if (r->authorization != NULL)
		buf_printf(&r->headers, "WWW-Authenticate: Basic realm=\"%s\", charset=\"UTF-8\"\r\n", r->word[0]);
	return oauth_refuse(r, 401, "invalid_client", "Client id and secret do not fit, or the client is revoked.");
}

static int
token_grant_to(struct req *r, const struct form *form)
{
	struct watch *w = watch_of(r, form->client_id);
	const struct grant *grant;

	r->retry_after = (int)watch_wait(w, r->now.ms);
	if (r->retry_after > 0)
		return oauth_refuse(r, 429, "temporarily_unavailable", "Too many wrong secrets; wait.");
	grant = token_grant(r->db, r->conf, r->mem, r->word[0], form->client_id, form->client_secret);
	if (grant != NULL)
		return token_answer(r, grant);
	if (db_failure(r->db) != DB_FINE || !token_ready(r->db, r->mem)) {
		r->retry_after = 5;
		return oauth_refuse(r, 503, "temporarily_unavailable", "Tokens cannot be made now.");
	}
	watch_wrong(w, r->now.ms);
	return wrong_client(r);
}

static int
token_create(struct req *r)
{
	struct form form = { NULL, NULL, NULL, NULL };

	if (!realm_exists(r))
		return no_realm(r);
	if (!is_form(r->content_type))
		return oauth_refuse(r, 415, "invalid_request", "Send application/x-www-form-urlencoded.");
	if (!form_parse(r->mem, r->body == NULL ? "" : r->body, r->body_size, &form))
		return oauth_refuse(r, 400, "invalid_request", "The form is malformed, or names a field twice.");
	if (form.grant_type == NULL)
		return oauth_refuse(r, 400, "invalid_request", "grant_type is missing.");
	if (strcmp(form.grant_type, "client_credentials") != 0)
		return oauth_refuse(r, 400, "unsupported_grant_type", "Only client_credentials is granted.");
	if (r->authorization != NULL && form.client_secret != NULL)
		return oauth_refuse(
		    r, 400, "invalid_request", "Send the secret in the form or by HTTP Basic, not both.");
	if (r->authorization != NULL) {
		const char *in_form = form.client_id;

		if (!basic_parse(r->mem, r->authorization, &form))
			return wrong_client(r);
		if (in_form != NULL && strcmp(in_form, form.client_id) != 0)
			return oauth_refuse(
			    r, 400, "invalid_request", "The form names another client than the header.");
	}
	if (form.client_id == NULL || form.client_secret == NULL)
		return oauth_refuse(r, 400, "invalid_request", "client_id or client_secret is missing.");
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
	struct buf b = BUF(r->mem);
	const char *issuer;
	size_t i;

	if (!realm_exists(r))
		return no_realm(r);
	issuer = arena_printf(r->mem, "%s/realms/%s", r->conf->public_url, r->word[0]);
	buf_printf(&b,
	    "{\"issuer\":\"%s\",\"token_endpoint\":\"%s/protocol/openid-connect/token\","
	    "\"jwks_uri\":\"%s/protocol/openid-connect/certs\",",
	    issuer, issuer, issuer);
	buf_text(&b,
	    "\"grant_types_supported\":[\"client_credentials\"],\"response_types_supported\":[],"
	    "\"subject_types_supported\":[\"public\"],\"id_token_signing_alg_values_supported\":[\"RS256\"],"
	    "\"token_endpoint_auth_methods_supported\":[\"client_secret_post\",\"client_secret_basic\"],"
	    "\"scopes_supported\":[");
	for (i = SCOPE_UNSET + 1; scope_name((enum scope)i) != NULL; i++)
		buf_printf(&b, "%s\"%s\"", i == SCOPE_UNSET + 1 ? "" : ",", scope_name((enum scope)i));
	buf_text(&b, "]}");
	r->cache_control = "public, max-age=300";
	return reply_raw(r, 200, json_type, buf_string(&b), b.len);
}

const struct route realms_routes[] = {
	{ POST, "/realms/{tenantShortcode}/protocol/openid-connect/token", SCOPE_PUBLIC, token_create, NULL, NULL,
	    "Get an access token by client credentials", AT_ROOT | NO_ENVELOPE | RAW_BODY | READS_ONLY,
	    .fails = "400 404 415 429 503", .produces = "application/json",
	    .consumes = "application/x-www-form-urlencoded", .max_body = FORM_MAX },
	{ GET, "/realms/{tenantShortcode}/protocol/openid-connect/certs", SCOPE_PUBLIC, certs_get, NULL, NULL,
	    "Read the keys that tokens are checked with", AT_ROOT | NO_ENVELOPE, .fails = "404",
	    .produces = "application/json" },
	{ GET, "/realms/{tenantShortcode}/.well-known/openid-configuration", SCOPE_PUBLIC, configuration_get, NULL, NULL,
	    "Read where tokens and keys of a tenant are", AT_ROOT | NO_ENVELOPE, .fails = "404",
	    .produces = "application/json" },
	{ 0 }
};
