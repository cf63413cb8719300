/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Access tokens: JSON Web Tokens (RFC 7519) made here, RS256, and checked with OpenSSL alone; those of external servers
 * are checked by core/provider.h, and which of the two it is follows from the issuer.
 * Checks, in this order: length, three parts, strict base64url, strict JSON, no crit, alg RS256, known kid, signature,
 * iss of the tenant, aud, exp, nbf, typ, and at last that the client is still there and not revoked, or, where it acts
 * for a user, that their authorization is live (core/authorization.h).  Verified tokens are kept per process by
 * SHA-256, at most 60 s: within that time a revoked client, a disabled user and who has signed out is refused
 * everywhere.
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/buf.h"
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
/* Their names with a blank between. */
const char *scope_text(struct arena *, unsigned bits);

/* The scopes openid, profile and email: what a token tells of its user. */
enum { TELLS_ID = 1, TELLS_NAME = 2, TELLS_EMAIL = 4 };
unsigned token_tells(const char *scopes);

struct principal {
	struct uuid id, tenant_id;
	const char *shortcode, *name;
	bool is_super_admin;
	unsigned scopes;		/* SCOPE_BIT()s */
	int64_t expires;		/* s since 1970 */
	/* who acts, and by which authorization for the user `id`; none: the client itself */
	struct uuid client_id, authorization_id;
	unsigned tells;			/* TELLS_* */
	const char *address;		/* whence it comes; NULL: unknown */
};

/* TOKEN_NO_KEYS: nobody can tell, since the server that has made it cannot be asked for its keys. */
enum token_fault { TOKEN_FINE, TOKEN_BAD, TOKEN_EXPIRED, TOKEN_NO_DB, TOKEN_NO_KEYS };

/* Checks a token and fills *who (strings in mem), of which the address is set already.  A token of an external server
 * (core/provider.h) may write, and wait for that server: in a transaction it is bad. */
enum token_fault token_verify(struct db *, const struct conf *, struct arena *mem, const char *token,
    struct principal *who);

/* Client credentials of one tenant, and the scopes that are wanted, blank-separated; NULL: all of the client's. */
struct asked { const char *shortcode, *client_id, *client_secret, *scope; };
struct grant { const char *access_token; int64_t expires_in; const char *scope, *refused, *id_token; };
/* NULL for every wrong combination alike, in the same time.  Without access_token, `refused` is a scope that the client
 * has not, or nobody.  openid, email and profile, which clients of OpenID Connect send unasked, are neither refused nor
 * granted. */
const struct grant *token_grant(struct db *, const struct conf *, struct arena *mem, struct asked);

/* For a user: `scope` goes into the access token as it is; with openid in it there is an id token.  NULL: there is no
 * key. */
struct authorization;
const struct grant *token_for_user(struct db *, const struct conf *, struct arena *mem, const struct authorization *,
    const char *scope);
/* Appends the members that tell of the user, a comma before each. */
void token_person(struct buf *, const struct authorization *, unsigned tells);

/* What an id token says that was once made for the tenant; expired ones too.  False: it was not. */
struct hinted { struct uuid user_id, authorization_id; const char *client_id; };
bool token_hinted(struct db *, const struct conf *, const char *shortcode, const char *id_token, struct hinted *);

/* What is remembered of it is not trusted any more: it is looked at anew when it comes next. */
void token_doubt(const char *token);
/* Forgets cached tokens and keys (tests; key rotation in the same process). */
void token_forget(void);

#endif
