/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /realms/{tenantShortcode}: what the token server of a tenant can do, and the keys that check its tokens */
#include <string.h>

#include "core/key.h"
#include "core/provider.h"
#include "fcgi/realms.h"
#include "fcgi/session.h"

struct public_key {
	const char *kid, *kty, *alg, *use, *n, *e;
};
static const struct field key_fields[] = {
	FIELD(struct public_key, kid, .required = true, .doc = "Id that tokens name in their head"),
	FIELD(struct public_key, kty, .required = true, .one_of = "RSA", .doc = "Kind of the key"),
	FIELD(struct public_key, alg, .required = true, .one_of = "RS256", .doc = "Algorithm"),
	FIELD(struct public_key, use, .required = true, .one_of = "sig", .doc = "Purpose"),
	FIELD(struct public_key, n, .required = true, .doc = "Modulus, base64url"),
	FIELD(struct public_key, e, .required = true, .doc = "Exponent, base64url"),
};
static const struct record key_record = RECORD("Key", struct public_key, key_fields);

struct keys {
	struct list keys;
};
static const struct field keys_fields[] = {
	FIELD(struct keys, keys, .of = &key_record, .doc = "Keys whose tokens may still be good (RFC 7517)"),
};
static const struct record keys_record = RECORD("KeySet", struct keys, keys_fields);

struct discovery {
	const char *issuer, *authorization, *token, *userinfo, *end_session, *revocation, *jwks_uri;
	struct strings grants, responses, modes, subjects, algorithms, methods, revocation_methods, challenges,
	    prompts, scopes,
	    claims;
	bool says_issuer, takes_claims, takes_request, takes_request_uri;
};
static const struct field discovery_fields[] = {
	FIELD(struct discovery, issuer, .required = true, .format = "uri", .doc = "As in the tokens"),
	FIELD(struct discovery, authorization, .required = true, .json = "authorization_endpoint", .format = "uri",
	    .doc = "Where users are sent to sign in"),
	FIELD(struct discovery, token, .required = true, .json = "token_endpoint", .format = "uri",
	    .doc = "Where tokens are made"),
	FIELD(struct discovery, userinfo, .required = true, .json = "userinfo_endpoint", .format = "uri",
	    .doc = "Where a token tells of its user"),
	FIELD(struct discovery, end_session, .required = true, .json = "end_session_endpoint", .format = "uri",
	    .doc = "Where users are sent to sign out"),
	FIELD(struct discovery, revocation, .required = true, .json = "revocation_endpoint", .format = "uri",
	    .doc = "Where tokens are given back"),
	FIELD(struct discovery, jwks_uri, .required = true, .json = "jwks_uri", .format = "uri", .doc =
	    "Where the keys are"),
	FIELD(struct discovery, grants, .required = true, .json = "grant_types_supported",
	    .doc = "authorization_code, refresh_token, client_credentials"),
	FIELD(struct discovery, responses, .required = true, .json = "response_types_supported", .doc = "code"),
	FIELD(struct discovery, modes, .required = true, .json = "response_modes_supported", .doc = "query"),
	FIELD(struct discovery, subjects, .required = true, .json = "subject_types_supported", .doc = "public"),
	FIELD(struct discovery, algorithms, .required = true, .json = "id_token_signing_alg_values_supported",
	    .doc = "RS256"),
	FIELD(struct discovery, methods, .required = true, .json = "token_endpoint_auth_methods_supported",
	    .doc = "client_secret_post, client_secret_basic, and none for public clients"),
	FIELD(struct discovery, revocation_methods, .required = true, .json =
	    "revocation_endpoint_auth_methods_supported",
	    .doc = "The same"),
	FIELD(struct discovery, challenges, .required = true, .json = "code_challenge_methods_supported", .doc = "S256"),
	FIELD(struct discovery, prompts, .required = true, .json = "prompt_values_supported", .doc = "none, login"),
	FIELD(struct discovery, scopes, .required = true, .json = "scopes_supported", .doc = "All there are"),
	FIELD(struct discovery, claims, .required = true, .json = "claims_supported", .doc = "All there are"),
	FIELD(struct discovery, says_issuer, .required = true, .json = "authorization_response_iss_parameter_supported",
	    .doc = "Answers to clients name the issuer (RFC 9207)"),
	FIELD(struct discovery, takes_claims, .required = true, .json = "claims_parameter_supported", .doc = "false"),
	FIELD(struct discovery, takes_request, .required = true, .json = "request_parameter_supported", .doc = "false"),
	FIELD(struct discovery, takes_request_uri, .required = true, .json = "request_uri_parameter_supported",
	    .doc = "false"),
};
static const struct record discovery_record = RECORD("Provider", struct discovery, discovery_fields);

static const char json_type[] = "application/json";

int
realm_answer(struct req *r, const struct record *record, const void *row)
{
	struct buf b = BUF(r->mem);

	record_render(&b, record, row, false);
	return reply_raw(r, 200, json_type, buf_string(&b), b.len);
}

int
realm_unknown(struct req *r)
{
	const struct provider *p = provider_of(r->db, r->word[0]);

	return refuse_oauth(r, 404, "invalid_request", p == NULL ? "There is no such realm." : arena_printf(r->mem,
	    "Tokens of this tenant are made by %s alone.", p->issuer));
}

const char *
realm_issuer(struct req *r)
{
	return arena_printf(r->mem, "%s/realms/%s", r->conf->public_url, r->word[0]);
}

static int
certs_get(struct req *r)
{
	const char *keys;

	if (session_realm(r) == NULL)
		return realm_unknown(r);
	keys = key_jwks(r->db, r->mem);
	r->cache_control = "public, max-age=60";
	return reply_raw(r, 200, json_type, keys, strlen(keys));
}

static const char *
address(struct req *r, const char *name)
{
	return arena_printf(r->mem, "%s/protocol/openid-connect/%s", realm_issuer(r), name);
}

/* Those of OpenID Connect, then ours. */
static struct strings
all_scopes(struct req *r)
{
	static const char *const others[] = { "openid", "profile", "email", "offline_access" };
	const char **all = arena_array(r->mem, 32, sizeof(*all)), *name;
	size_t n, i;

	for (n = 0; n < sizeof(others) / sizeof(others[0]); n++)
		all[n] = others[n];
	for (i = SCOPE_UNSET + 1; (name = scope_name((enum scope)i)) != NULL; i++)
		all[n++] = name;
	return (struct strings){ all, n };
}

#define WORDS(...) { (const char **)(const char *const[]){ __VA_ARGS__ }, \
	sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *) }

static int
configuration_get(struct req *r)
{
	struct discovery out = {
		.grants = WORDS("authorization_code", "refresh_token", "client_credentials"),
		.responses = WORDS("code"), .modes = WORDS("query"), .subjects = WORDS("public"),
		.algorithms = WORDS("RS256"), .challenges = WORDS("S256"), .prompts = WORDS("none", "login"),
		.methods = WORDS("client_secret_post", "client_secret_basic", "none"),
		.revocation_methods = WORDS("client_secret_post", "client_secret_basic", "none"),
		.claims = WORDS("iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "azp", "sid",
		    "name",
		    "preferred_username", "email", "email_verified"),
		.says_issuer = true,
	};

	if (session_realm(r) == NULL)
		return realm_unknown(r);
	out.issuer = realm_issuer(r);
	out.authorization = address(r, "auth");
	out.token = address(r, "token");
	out.userinfo = address(r, "userinfo");
	out.end_session = address(r, "logout");
	out.revocation = address(r, "revoke");
	out.jwks_uri = address(r, "certs");
	out.scopes = all_scopes(r);
	r->cache_control = "public, max-age=300";
	return realm_answer(r, &discovery_record, &out);
}

const struct route realms_routes[] = {
	{
		GET, PROTOCOL "/certs", SCOPE_PUBLIC, certs_get, NULL, &keys_record,
		"Read the keys that tokens are checked with",
		.flags = AT_ROOT | NO_ENVELOPE | OAUTH, .fails = "404", .produces = "application/json",
		.id = "getTokenKeys",
	},
	{
		GET, REALM "/.well-known/openid-configuration", SCOPE_PUBLIC, configuration_get, NULL,
		&discovery_record,
		"Read what the token server of a tenant can do, and where",
		.flags = AT_ROOT | NO_ENVELOPE | OAUTH, .fails = "404", .produces = "application/json",
		.id = "getOpenIdConfiguration",
	},
	{ 0 }
};
