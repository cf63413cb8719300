/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clients that act for users (RFC 6749, RFC 7636): one row for each code that was given out, and all tokens that come
 * of it live and end with that row.  It is live while the user is not disabled, the client is not revoked, the session
 * in which it was made is there and in use, or, of one for access without the user, no password was set since, and
 * nobody ended it.  While the user proves anew who it is and still owes the code, it waits.
 *
 * A code is good once, for a minute, and only to who asked for it; a refresh token is good once and gives the next one.
 * Whoever shows one of them again is a thief, or was robbed: the authorization ends.  There is no grace for an answer
 * that was lost on its way, because nobody can tell this from a theft (RFC 9700 section 4.14.2); the client sends the
 * user once more, whose session answers without a password.
 *
 * Codes and refresh tokens have 256 random bits and are kept as SHA-256.
 */
#ifndef CORE_AUTHORIZATION_H
#define CORE_AUTHORIZATION_H

#include "core/client.h"

enum {
	CODE_MS = 60 * 1000,
	AWAY_MAX = 180,			/* days that access without the user lasts */
	AWAY_IDLE = 30,			/* days that a refresh token of it waits */
};

struct authorization {
	struct uuid id, tenant_id, client_id, user_id, session_id;
	const char *scopes, *redirect_uri, *challenge, *nonce;	/* the last two may be NULL */
	struct moment authenticated_at;
	struct moment expires_at;		/* no token is good for longer */

	/* Of user, client and tenant; only read. */
	const char *shortcode, *name, *login, *email, *client_scopes;
	bool is_super_admin, email_proven;	/* the latter: the user has read a mail to that address */
	int64_t token_lifetime;			/* s */
};

/* A live one; shortcode: of its tenant. */
const struct authorization *authorization_find(struct db *, const char *shortcode, struct uuid id);

/* A code for what the first rows of the struct say; `id` is made.  expires_at: of the session. */
const char *authorization_code(struct db *, struct authorization *);

/* AGAIN: it was good once.  The caller ends the authorization, also where it answers with an error. */
enum redeemed { REDEEM_GOOD, REDEEM_BAD, REDEEM_AGAIN };

/* In a transaction.  A code that is shown with another address or without what its challenge wants is spent.
 * *a: also of REDEEM_AGAIN; NULL when it is not the client's, or not live. */
struct code_shown { const char *code, *redirect_uri, *verifier; };
enum redeemed authorization_redeem(struct db *, const struct client *, const struct code_shown *,
    const struct authorization **a);

/* In a transaction: uses up the token. */
enum redeemed authorization_refresh(struct db *, const struct client *, const char *token,
    const struct authorization **a);

/* The next refresh token; *expires: when it ends unused.  Counts as a use of the session. */
const char *authorization_renewal(struct db *, const struct authorization *, struct moment *expires);

/* Whose refresh token is it?  None: nobody's, or another client's. */
struct uuid authorization_of(struct db *, const struct client *, const char *token);

/* The user has proved anew who it is, in place of that session. */
void authorization_follow(struct db *, struct uuid session_id, struct uuid next_id);

/* False: it had ended before. */
bool authorization_end(struct db *, struct uuid id);

#endif
