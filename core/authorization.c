/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Codes, refresh tokens, and what they stand for. */
#include <openssl/sha.h>
#include <string.h>

#include "core/authorization.h"
#include "core/user.h"

#define DAY_MS (24 * 3600 * INT64_C(1000))

static const struct field authorization_fields[] = {
	FIELD(struct authorization, id, .doc = "sid of its tokens"),
	FIELD(struct authorization, tenant_id, .doc = "The tenant"),
	FIELD(struct authorization, client_id, .doc = "Who acts"),
	FIELD(struct authorization, user_id, .doc = "For whom"),
	FIELD(struct authorization, session_id, .doc = "What it ends with, or null"),
	FIELD(struct authorization, scopes, .doc = "Blank-separated"),
	FIELD(struct authorization, redirect_uri, .doc = "Where the code was sent"),
	FIELD(struct authorization, challenge, .doc = "SHA-256 of the verifier, or null"),
	FIELD(struct authorization, nonce, .doc = "The client's, or null"),
	FIELD(struct authorization, authenticated_at, .doc = "When the user proved who it is"),
	FIELD(struct authorization, expires_at, .doc = "End of all its tokens"),
	FIELD(struct authorization, shortcode, .sql = "n.shortcode", .doc = "Name of the tenant in addresses"),
	FIELD(struct authorization, name, .sql = "p.name", .doc = "The user's"),
	FIELD(struct authorization, login, .sql = "u.login", .doc = "The user's"),
	FIELD(struct authorization, email, .sql = "u.email", .doc = "The user's, or null"),
	FIELD(struct authorization, email_proven, .sql = "u.email_proven_at > 0", .doc = "The user reads its mail"),
	FIELD(struct authorization, client_scopes, .sql = "c.scopes", .doc = "What the client may ask for now"),
	FIELD(struct authorization, is_super_admin, .sql = "p.is_super_admin", .doc = "The user has every permission"),
	FIELD(struct authorization, token_lifetime, .sql = "n.token_lifetime", .doc = "Seconds"),
};
static const struct record authorization_record =
    RECORD("Authorization", struct authorization, authorization_fields);

#define LIVE "FROM authorizations t JOIN users u ON u.id = t.user_id AND u.disabled_at = 0 JOIN principals p ON " \
	"p.id = t.user_id JOIN clients c ON c.id = t.client_id AND c.revoked_at = 0 JOIN tenants n ON n.id = " \
	"t.tenant_id LEFT JOIN sessions s ON s.id = t.session_id WHERE t.ended_at = 0 AND t.expires_at > ? AND " \
	"((s.is_pending = 0 AND s.used_at > ?) OR (t.session_id IS NULL AND t.created_at >= u.password_at)) AND "
#define LIVE_ARGS(now) TIME(now), INT((now).ms - SESSION_IDLE_MS)

const struct authorization *
authorization_find(struct db *db, const char *shortcode, struct uuid id)
{
	struct moment now = moment_now();

	return db_row(db, &authorization_record, LIVE "t.id = ? AND n.shortcode = ?", ARGS(LIVE_ARGS(now), ID(id),
	    STR(shortcode)));
}

static const char *
secret_made(struct arena *mem)
{
	unsigned char bytes[32];

	random_bytes(bytes, sizeof(bytes));
	return base64url_encode(mem, bytes, sizeof(bytes));
}

const char *
authorization_code(struct db *db, struct authorization *a)
{
	const char *code = secret_made(db_arena(db));
	struct moment now = moment_now();

	a->id = uuid_new();
	db_run(db, "INSERT INTO authorizations (id, tenant_id, client_id, user_id, session_id, scopes, redirect_uri, "
	    "challenge, nonce, authenticated_at, code_hash, code_expires_at, expires_at, created_at) VALUES "
	    "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, UNHEX(SHA2(?, 256)), ?, ?, ?)", ARGS(ID(a->id), ID(a->tenant_id),
	    ID(a->client_id), ID(a->user_id), ID(a->session_id), STR(a->scopes), STR(a->redirect_uri),
	    STR(a->challenge), STR(a->nonce), TIME(a->authenticated_at), STR(code), INT(now.ms + CODE_MS),
	    INT(uuid_is_none(a->session_id) ? now.ms + AWAY_MAX * DAY_MS : a->expires_at.ms), TIME(now)));
	return code;
}

/* RFC 7636 section 4.6.  What was asked for without a challenge is not redeemed with a verifier: it was taken away. */
static bool
verifier_fits(struct arena *mem, const char *challenge, const char *verifier)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];

	if (challenge == NULL || verifier == NULL)
		return challenge == NULL && verifier == NULL;
	SHA256((const unsigned char *)verifier, strlen(verifier), hash);
	return strcmp(base64url_encode(mem, hash, sizeof(hash)), challenge) == 0;
}

/* Another one that comes at the same time waits here for the row, and then finds it used. */
enum redeemed
authorization_redeem(struct db *db, const struct client *c, const struct code_shown *shown,
    const struct authorization **a)
{
	struct moment now = moment_now();
	bool first;

	*a = db_row(db, &authorization_record, LIVE "t.code_hash = UNHEX(SHA2(?, 256)) AND t.client_id = ?",
	    ARGS(LIVE_ARGS(now), STR(shown->code), ID(c->id)));
	if (*a == NULL)
		return REDEEM_BAD;
	first = db_run(db, "UPDATE authorizations SET code_used_at = ? WHERE id = ? AND code_used_at = 0",
	    ARGS(TIME(now), ID((*a)->id))) == 1;
	if (!first)
		return REDEEM_AGAIN;
	if (db_number(db, "SELECT code_expires_at FROM authorizations WHERE id = ?", ARGS(ID((*a)->id)), 0) <= now.ms)
		return REDEEM_BAD;
	return strcmp(shown->redirect_uri, (*a)->redirect_uri) == 0 && verifier_fits(db_arena(db), (*a)->challenge,
	    shown->verifier) ? REDEEM_GOOD : REDEEM_BAD;
}

struct owned { struct uuid id; };
static const struct field owned_fields[] = { FIELD(struct owned, id, .doc = "The authorization") };
static const struct record owned_record = RECORD("OwnedAuthorization", struct owned, owned_fields);

struct uuid
authorization_of(struct db *db, const struct client *c, const char *token)
{
	const struct owned *o = db_row(db, &owned_record, "FROM authorizations t JOIN refresh_tokens k ON "
	    "k.authorization_id = t.id WHERE k.token_hash = UNHEX(SHA2(?, 256)) AND t.client_id = ?",
	    ARGS(STR(token), ID(c->id)));

	return o != NULL ? o->id : (struct uuid){ { 0 } };
}

enum redeemed
authorization_refresh(struct db *db, const struct client *c, const char *token, const struct authorization **a)
{
	struct uuid id = authorization_of(db, c, token);
	struct moment now = moment_now();

	*a = uuid_is_none(id) ? NULL : authorization_find(db, c->shortcode, id);
	if (*a == NULL)
		return REDEEM_BAD;
	if (db_run(db, "UPDATE refresh_tokens SET used_at = ? WHERE token_hash = UNHEX(SHA2(?, 256)) AND used_at = 0",
	    ARGS(TIME(now), STR(token))) != 1)
		return REDEEM_AGAIN;
	return db_number(db, "SELECT expires_at FROM refresh_tokens WHERE token_hash = UNHEX(SHA2(?, 256))",
	    ARGS(STR(token)), 0) > now.ms ? REDEEM_GOOD : REDEEM_BAD;
}

const char *
authorization_renewal(struct db *db, const struct authorization *a, struct moment *expires)
{
	const char *token = secret_made(db_arena(db));
	struct moment now = moment_now();

	*expires = a->expires_at;
	if (uuid_is_none(a->session_id) && expires->ms > now.ms + AWAY_IDLE * DAY_MS)
		expires->ms = now.ms + AWAY_IDLE * DAY_MS;
	db_run(db, "INSERT INTO refresh_tokens (token_hash, authorization_id, created_at, expires_at) VALUES "
	    "(UNHEX(SHA2(?, 256)), ?, ?, ?)", ARGS(STR(token), ID(a->id), TIME(now), TIME(*expires)));
	db_run(db, "UPDATE sessions SET used_at = ? WHERE id = ?", ARGS(TIME(now), ID(a->session_id)));
	return token;
}

bool
authorization_end(struct db *db, struct uuid id)
{
	return db_run(db, "UPDATE authorizations SET ended_at = ? WHERE id = ? AND ended_at = 0",
	    ARGS(TIME(moment_now()), ID(id))) == 1;
}

void
authorization_follow(struct db *db, struct uuid session_id, struct uuid next_id)
{
	db_run(db, "UPDATE authorizations SET session_id = ? WHERE session_id = ?", ARGS(ID(next_id), ID(session_id)));
}
