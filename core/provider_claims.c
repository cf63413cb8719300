/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a token of an external token server says, and whose it is.
 *
 * It must be an access token: typ of the head JWT or at+jwt, no claim of an id token or a logout token.  A token with
 * an audience must be for one of those of the tenant; where clients are listed it must be of one of them, and a token
 * without any audience is taken then alone.  What it permits comes from the claim of the roles and from scope;
 * SuperAdmin from the former alone, since clients choose the latter.  Nothing of that is kept: each token is judged by
 * itself.
 */
#include <string.h>
#include <strings.h>

#include "core/audit.h"
#include "core/channel.h"
#include "core/provider.h"
#include "core/user.h"

enum { LEEWAY = 60 /* s that clocks may differ */, NAME_MAX_LENGTH = 255, TRIES = 3, DAY_MS = 86400000 };

static const double FOREVER = 9007199254740992.0;		/* 2^53 */

struct claims {
	const char *sub, *azp, *client_id, *typ, *token_use, *preferred_username;
	double exp, iat, nbf;
	struct json aud, scope, nonce, at_hash, c_hash, events;
};
static const struct field claims_fields[] = {
	FIELD(struct claims, sub, .on = CREATE, .required = true, .min = 1, .max = 255, .doc = "User"),
	FIELD(struct claims, azp, .on = CREATE, .doc = "Client"),
	FIELD(struct claims, client_id, .on = CREATE, .json = "client_id", .doc = "The same, of RFC 9068"),
	FIELD(struct claims, typ, .on = CREATE, .doc = "Bearer"),
	FIELD(struct claims, token_use, .on = CREATE, .json = "token_use", .doc = "access"),
	FIELD(struct claims, preferred_username, .on = CREATE, .json = "preferred_username", .doc = "Name"),
	FIELD(struct claims, exp, .on = CREATE, .required = true, .doc = "End, s since 1970"),
	FIELD(struct claims, iat, .on = CREATE, .doc = "Issued, s since 1970"),
	FIELD(struct claims, nbf, .on = CREATE, .doc = "Start, s since 1970"),
	FIELD(struct claims, aud, .on = CREATE, .doc = "Audience: a string or an array"),
	FIELD(struct claims, scope, .on = CREATE, .doc = "Words with blanks between, or an array"),
	FIELD(struct claims, nonce, .on = CREATE, .doc = "Of an id token"),
	FIELD(struct claims, at_hash, .on = CREATE, .json = "at_hash", .doc = "Of an id token"),
	FIELD(struct claims, c_hash, .on = CREATE, .json = "c_hash", .doc = "Of an id token"),
	FIELD(struct claims, events, .on = CREATE, .doc = "Of a logout token"),
};
static const struct record claims_record = RECORD("ProviderClaims", struct claims, claims_fields);

/* Who the subject of a token is here. */
struct subject { struct uuid id; const char *name; struct moment disabled_at, super_admin_at; };
static const struct field subject_fields[] = {
	FIELD(struct subject, id, .doc = "Principal"),
	FIELD(struct subject, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct subject, disabled_at, .doc = "0: it is live"),
	FIELD(struct subject, super_admin_at, .doc = "When a token said so last; 0: the last one did not"),
};
static const struct record subject_record = RECORD("ProviderUser", struct subject, subject_fields);

static bool
head_fits(const struct jwt *t, bool *access)
{
	*access = t->typ != NULL && (strcasecmp(t->typ, "at+jwt") == 0 ||
	    strcasecmp(t->typ, "application/at+jwt") == 0);
	return t->typ == NULL || *access || strcasecmp(t->typ, "JWT") == 0;
}

/* Id tokens are signed by the same keys, and clients hand them around.  A nonce alone does not tell: some servers put
 * it into both, and say elsewhere which is which. */
static bool
is_access_token(const struct jwt *t, const struct claims *c)
{
	bool access;

	if (!head_fits(t, &access) || c->at_hash.text != NULL || c->c_hash.text != NULL || c->events.text != NULL)
		return false;
	if (c->typ != NULL && strcasecmp(c->typ, "Bearer") != 0)
		return false;
	if (c->token_use != NULL && strcmp(c->token_use, "access") != 0)
		return false;
	return c->nonce.text == NULL || access || c->typ != NULL || c->token_use != NULL;
}

static bool
is_listed(const struct strings *list, const char *word)
{
	size_t i;

	for (i = 0; word != NULL && i < list->n; i++)
		if (strcmp(list->at[i], word) == 0)
			return true;
	return false;
}

static bool
is_for_us(struct arena *mem, const struct provider *p, const struct claims *c)
{
	bool fits = c->aud.text == NULL && p->clients.n > 0;
	size_t i;

	for (i = 0; c->aud.text != NULL && i < p->audiences.n && !fits; i++)
		fits = jwt_names(mem, c->aud.text, p->audiences.at[i]);
	return fits && (p->clients.n == 0 || is_listed(&p->clients, c->azp != NULL ? c->azp : c->client_id));
}

static enum token_fault
is_in_time(const struct claims *c)
{
	double now = (double)(moment_now().ms / 1000);

	if (c->exp + LEEWAY <= now)
		return TOKEN_EXPIRED;
	return c->iat - LEEWAY > now || c->nbf - LEEWAY > now ? TOKEN_BAD : TOKEN_FINE;
}

/* A member by its name, which may hold dots itself (https://example.org/roles), or else by a path. */
static const char *
claim_at(struct arena *mem, const char *json, const char *path)
{
	const char *whole = json_member(mem, json, path);
	char *rest = arena_copy(mem, path), *name;

	if (whole != NULL)
		return whole;
	while (json != NULL && (name = strsep(&rest, ".")) != NULL)
		json = json_member(mem, json, name);
	return json;
}

/* The words of a claim: items of an array, each of which is one, or parted by blanks in a string. */
static struct strings
words_of(struct arena *mem, const char *json)
{
	struct strings all = { NULL, 0 }, one;
	char *rest, *word;

	if (json == NULL || *json == '[')
		return strings_parse(mem, json);
	one = strings_parse(mem, arena_printf(mem, "[%s]", json));
	if (one.n == 0)
		return all;
	all.at = arena_array(mem, strlen(one.at[0]) + 1, sizeof(*all.at));
	rest = arena_copy(mem, one.at[0]);
	while ((word = strsep(&rest, " ")) != NULL)
		all.at[all.n++] = word;
	return all;
}

static unsigned
scopes_in(const struct strings *words)
{
	unsigned bits = 0;
	size_t i;

	for (i = 0; i < words->n; i++)
		if (strchr(words->at[i], ' ') == NULL)
			bits |= scope_bits(words->at[i]);
	return bits;
}

/* Fit to be shown: one line, something to see, not too long.  NULL: it is not. */
static const char *
name_fit(struct arena *mem, const char *text)
{
	const char *name, *c;
	size_t left = NAME_MAX_LENGTH;

	if (text == NULL || utf8_blank(text))
		return NULL;
	name = utf8_to_line(mem, text);
	for (c = name; *c != '\0'; c++)
		if (((unsigned char)*c & 0xc0) != 0x80 && left-- == 0)
			break;
	return arena_copy_n(mem, name, (size_t)(c - name));
}

static const char *
name_of(struct arena *mem, const struct provider *p, const char *json, const struct claims *c)
{
	struct strings one = { NULL, 0 };
	const char *claim = claim_at(mem, json, p->name_claim);
	const char *names[5] = { NULL, c->preferred_username, c->azp, c->client_id, c->sub }, *name = NULL;
	size_t i;

	if (claim != NULL && *claim == '"')
		one = strings_parse(mem, arena_printf(mem, "[%s]", claim));
	names[0] = one.n > 0 ? one.at[0] : NULL;
	for (i = 0; i < 5 && name == NULL; i++)
		name = name_fit(mem, names[i]);
	return name != NULL ? name : "-";
}

static const struct subject *
subject_find(struct db *db, const struct provider *p, const char *subject)
{
	return db_row(db, &subject_record, "FROM provider_users t JOIN principals p ON p.id = t.id WHERE "
	    "t.tenant_id = ? AND t.subject_hash = UNHEX(SHA2(?, 256))", ARGS(ID(p->tenant_id), STR(subject)));
}

/* Of two that come at once one is first; the other one finds its row by the unique key. */
static void
subject_add(struct db *db, const struct provider *p, const char *sub, const char *subject,
    const struct principal *who)
{
	struct audited a = { p->tenant_id, who->id, who->id, who->address != NULL ? who->address : "", "user.created",
		NULL };
	struct arg now = TIME(moment_now());

	db_begin(db);
	user_principal(db, &(struct user){ .id = who->id, .tenant_id = p->tenant_id, .name = who->name });
	if (db_run(db, "INSERT IGNORE INTO provider_users (id, tenant_id, subject_hash, issuer, sub, created_at) "
	    "VALUES (?, ?, UNHEX(SHA2(?, 256)), ?, ?, ?)", ARGS(ID(who->id), ID(p->tenant_id), STR(subject), STR(p->issuer),
	    STR(sub), now)) == 1) {
		audit_add(db, &a);
		channel_of_user(db, p->tenant_id, who->id, a.address);
	} else if (db_failure(db) == DB_FINE)
		db_rollback(db);
	if (db_in_transaction(db))
		db_commit(db);
}

/* For what goes on while the user is away; each request is judged by its own token.  Written once a day. */
static void
keep_super_admin(struct db *db, const struct subject *user, bool is_one)
{
	int64_t now = moment_now().ms, at = user->super_admin_at.ms;

	if (is_one ? now - at > DAY_MS : at != 0)
		db_run(db, "UPDATE provider_users SET super_admin_at = ? WHERE id = ?", ARGS(INT(is_one ? now : 0),
		    ID(user->id)));
}

/* The row of the user, made at first sight; its name and its powers follow the claims.  NULL: failed. */
static const struct subject *
subject_seen(struct db *db, const struct provider *p, const char *sub, struct principal *who)
{
	const char *subject = arena_printf(db_arena(db), "%s\n%s", p->issuer, sub);
	const struct subject *user = subject_find(db, p, subject);
	int tries;

	for (tries = 0; user == NULL && tries < TRIES; tries++) {
		if (db_failure(db) == DB_AGAIN)
			db_forgive(db);
		who->id = uuid_new();
		subject_add(db, p, sub, subject, who);
		user = subject_find(db, p, subject);
	}
	if (user != NULL && strcmp(user->name, who->name) != 0)
		db_run(db, "UPDATE principals SET name = ? WHERE id = ?", ARGS(STR(who->name), ID(user->id)));
	if (user != NULL)
		keep_super_admin(db, user, who->is_super_admin);
	return user;
}

enum token_fault
provider_claims(struct db *db, const struct provider *p, const struct jwt *t, struct principal *who)
{
	struct arena *mem = db_arena(db);
	const struct claims *c;
	const struct subject *user;
	struct strings roles, scopes;
	enum token_fault fault;
	uint64_t given;

	c = record_decode_foreign(mem, &claims_record, t->claims, t->claims_n, &given);
	if (c == NULL || !is_access_token(t, c) || !is_for_us(mem, p, c))
		return TOKEN_BAD;
	if ((fault = is_in_time(c)) != TOKEN_FINE)
		return fault;
	roles = words_of(mem, claim_at(mem, t->claims, p->roles_claim));
	scopes = words_of(mem, c->scope.text);
	*who = (struct principal){ .tenant_id = p->tenant_id, .shortcode = p->shortcode, .address = who->address,
		.name = name_of(mem, p, t->claims, c), .is_super_admin = is_listed(&roles, "SuperAdmin"),
		.scopes = scopes_in(&roles) | scopes_in(&scopes),
		.expires = (int64_t)(c->exp < FOREVER ? c->exp : FOREVER) };
	user = subject_seen(db, p, c->sub, who);
	if (db_failure(db) != DB_FINE)
		return TOKEN_NO_DB;
	if (user == NULL || user->disabled_at.ms != 0)
		return TOKEN_BAD;
	who->id = user->id;
	return TOKEN_FINE;
}
