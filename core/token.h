/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Access tokens: RS256 JSON Web Tokens (RFC 7519) made and checked with OpenSSL alone.
 * Checks, in this order: length, three parts, strict base64url, strict JSON, no crit, alg RS256, known kid, signature,
 * iss of the tenant, aud, exp, nbf, typ, and at last that the client is still there and not revoked.  Verified tokens
 * are kept per process by SHA-256, at most 60 s: within that time a revoked client is refused everywhere.
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/conf.h"
#include "core/db.h"
#include "core/text.h"

/* Scopes of the specification and of channel management, as bits. */
#define SCOPES(S) \
	S(VIEW_CHANNEL,			"ViewChannel") \
	S(VIEW_METADATA,		"ViewMetadata") \
	S(CREATE_CONTENT,		"CreateContent") \
	S(MANAGE_SHARING_OPTIONS,	"ManageSharingOptions") \
	S(MANAGE_CHANNEL,		"ManageChannel")

enum scope {
	SCOPE_UNSET,			/* a route that forgets its scope stops the program at start */
#define SCOPE_ENUM(name, text) SCOPE_##name,
	SCOPES(SCOPE_ENUM)
#undef SCOPE_ENUM
	SCOPE_ANY_TOKEN, SCOPE_PUBLIC,
};
/* All of them, separated by blanks. */
#define SCOPE_WORD(name, text) " " text
#define SCOPE_NAMES (&(SCOPES(SCOPE_WORD))[1])
#define SCOPE_BIT(scope) (1u << (scope))
const char *scope_name(enum scope);
/* Bits of a blank-separated list; unknown words are ignored. */
unsigned scope_bits(const char *list);

struct principal {
	struct uuid id, tenant_id;
	const char *shortcode, *name;
	bool is_super_admin;
	unsigned scopes;		/* SCOPE_BIT()s */
	int64_t expires;		/* s since 1970 */
};

enum token_fault { TOKEN_FINE, TOKEN_BAD, TOKEN_EXPIRED, TOKEN_NO_DB };

/* Checks a token and fills *who (strings in mem). */
enum token_fault token_verify(struct db *, const struct conf *, struct arena *mem, const char *token,
    struct principal *who);

/* Client credentials of one tenant, and the scopes that are wanted, blank-separated; NULL: all of the client's. */
struct asked { const char *shortcode, *client_id, *client_secret, *scope; };
struct grant { const char *access_token; int64_t expires_in; const char *scope; };
/* NULL for every wrong combination alike, in the same time.  Without access_token, `scope` is one that the client has
 * not, or nobody.  openid, email and profile, which clients of OpenID Connect send unasked, are neither refused nor
 * granted. */
const struct grant *token_grant(struct db *, const struct conf *, struct arena *mem, struct asked);

/* Is there a key to sign with?  False on an installation that was never initialised, or without database. */
bool token_ready(struct db *, struct arena *mem);

/* The public keys as a JWK set. */
const char *token_jwks(struct db *, struct arena *mem);

/* A new signing key; older ones verify until their tokens have run out, then go.  Returns its kid.  Call it in a
 * transaction.  It signs after 90 s, when every process has read it, or at once when it is the first. */
const char *token_rotate(struct db *, struct arena *mem);

/* A new secret ("kts_" and 43 characters) and the form in which it is kept. */
const char *secret_new(struct arena *);
const char *secret_hash(struct arena *, const char *secret);
bool secret_matches(const char *hash, const char *secret);

/* Forgets cached tokens and keys (tests; key rotation in the same process). */
void token_forget(void);

#endif
