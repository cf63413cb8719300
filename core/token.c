/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens: made, checked, remembered for a minute. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

#include "core/authorization.h"
#include "core/buf.h"
#include "core/client.h"
#include "core/jwt.h"
#include "core/key.h"
#include "core/provider.h"
#include "core/record.h"
#include "core/token.h"

enum {
	LEEWAY = 60,			/* s that clocks may differ */
	REMEMBER = 60,			/* s a verified token is believed */
	REMEMBERED = 1024, WAYS = 4,
	USER_LIFETIME = 7200,		/* s: no longer than a session that nobody uses */
	ID_LIFETIME = 3600,		/* s */
};

/* What a token may be meant for: RFC 9068 wants an audience; this one is what Keycloak puts into the tokens of
 * clients. */
static const char audience[] = "account";

struct claims { const char *iss, *sub, *azp, *typ, *scope, *jti, *sid; struct json aud; int64_t exp, iat;
    struct number nbf; };
static const struct field claims_fields[] = {
	FIELD(struct claims, iss, .on = CREATE, .required = true, .doc = "Issuer"),
	FIELD(struct claims, sub, .on = CREATE, .required = true, .doc = "Principal"),
	FIELD(struct claims, azp, .on = CREATE, .required = true, .doc = "Client"),
	FIELD(struct claims, typ, .on = CREATE, .required = true, .doc = "Bearer"),
	FIELD(struct claims, scope, .on = CREATE, .required = true, .doc = "Scopes"),
	FIELD(struct claims, jti, .on = CREATE, .required = true, .doc = "Id of the token"),
	FIELD(struct claims, sid, .on = CREATE, .doc = "Authorization of a client that acts for a user"),
	FIELD(struct claims, aud, .on = CREATE, .required = true, .doc = "Audience: a string or an array"),
	FIELD(struct claims, exp, .on = CREATE, .required = true, .doc = "End, s since 1970"),
	FIELD(struct claims, iat, .on = CREATE, .required = true, .doc = "Issued, s since 1970"),
	FIELD(struct claims, nbf, .on = CREATE, .doc = "Start, s since 1970"),
};
static const struct record claims_record = RECORD("TokenClaims", struct claims, claims_fields);

/* Of an id token that a client gives back. */
struct hint { const char *iss, *sub, *aud, *typ, *sid; };
static const struct field hint_fields[] = {
	FIELD(struct hint, iss, .on = CREATE, .required = true, .doc = "Issuer"),
	FIELD(struct hint, sub, .on = CREATE, .required = true, .doc = "User"),
	FIELD(struct hint, aud, .on = CREATE, .required = true, .doc = "Client"),
	FIELD(struct hint, typ, .on = CREATE, .required = true, .doc = "ID"),
	FIELD(struct hint, sid, .on = CREATE, .required = true, .doc = "Authorization"),
};
static const struct record hint_record = RECORD("IdTokenHint", struct hint, hint_fields);

/* One verified token.  A name has at most 255 characters of 4 bytes. */
static struct memory {
	unsigned char hash[SHA256_DIGEST_LENGTH];
	int64_t until;			/* s of the monotonic clock; 0: empty */
	struct principal who;
	char shortcode[64], name[1024];
} memories[REMEMBERED];

const char *
scope_name(enum scope scope)
{
	static const char *const names[] = {
#define SCOPE_NAME(name, text) [SCOPE_##name] = text,
		SCOPES(SCOPE_NAME)
#undef SCOPE_NAME
	};

	return (size_t)scope < sizeof(names) / sizeof(names[0]) ? names[scope] : NULL;
}

const char *
scope_text(struct arena *mem, unsigned scopes)
{
	struct buf b = BUF(mem);
	const char *name;
	int i;

	for (i = SCOPE_UNSET + 1; (name = scope_name((enum scope)i)) != NULL; i++)
		if (scopes & SCOPE_BIT(i))
			buf_printf(&b, "%s%s", b.len > 0 ? " " : "", name);
	return buf_string(&b);
}

unsigned
scope_bits(const char *list)
{
	unsigned bits = 0;
	const char *name;
	size_t n, i;

	for (; list != NULL && *list != '\0'; list += n, list += *list == ' ') {
		n = strcspn(list, " ");
		for (i = SCOPE_UNSET + 1; (name = scope_name((enum scope)i)) != NULL; i++)
			if (strlen(name) == n && memcmp(name, list, n) == 0)
				bits |= SCOPE_BIT(i);
	}
	return bits;
}

unsigned
token_tells(const char *scopes)
{
	return (word_in(scopes, "openid", 6) ? TELLS_ID : 0) | (word_in(scopes, "profile", 7) ? TELLS_NAME : 0) |
	    (word_in(scopes, "email", 5) ? TELLS_EMAIL : 0);
}

/* Making. */

static const char *
sign(struct arena *mem, EVP_PKEY *key, const char *text)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char signature[1024];
	size_t n = sizeof(signature);

	if (context == NULL || EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(context, signature, &n, (const unsigned char *)text, strlen(text)) != 1)
		abort();
	EVP_MD_CTX_free(context);
	return base64url_encode(mem, signature, n);
}

/* What every token of a realm begins with; `sub` has it for `azp`, until `exp`. */
static void
claims_begin(struct buf *b, const struct conf *conf, const char *shortcode, struct uuid sub, struct uuid azp)
{
	char id[UUID_TEXT];

	buf_text(b, "{\"iss\":");
	buf_json(b, arena_printf(b->mem, "%s/realms/%s", conf->public_url, shortcode));
	buf_printf(b, ",\"sub\":\"%s\",\"iat\":%lld,", uuid_format(sub, id), (long long)(moment_now().ms / 1000));
	buf_printf(b, "\"jti\":\"%s\",", uuid_format(uuid_new(), id));
	buf_printf(b, "\"azp\":\"%s\",", uuid_format(azp, id));
}

static void
claims_access(struct buf *b, int64_t lifetime, const char *scope, bool is_super_admin)
{
	buf_printf(b, "\"aud\":\"%s\",\"exp\":%lld,\"typ\":\"Bearer\",\"scope\":", audience,
	    (long long)(moment_now().ms / 1000 + lifetime));
	buf_json(b, scope);
	buf_printf(b, ",\"realm_access\":{\"roles\":[%s]}}", is_super_admin ? "\"SuperAdmin\"" : "");
}

static const char *
token_make(struct arena *mem, const struct key *key, const char *claims)
{
	char kid[UUID_TEXT];
	const char *head, *text;

	head = arena_printf(mem, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", uuid_format(key->id, kid));
	text = arena_printf(mem, "%s.%s", base64url_encode(mem, head, strlen(head)),
	    base64url_encode(mem, claims, strlen(claims)));
	return arena_printf(mem, "%s.%s", text, sign(mem, key->pkey, text));
}

/* Those of the client's scopes that are asked for, or all.  NULL: *refused is one it has not. */
static const char *
scopes_granted(struct arena *mem, const char *owned, const char *asked, const char **refused)
{
	struct buf b = BUF(mem);
	bool any = false;
	const char *p;
	size_t n;

	for (p = asked != NULL ? asked : ""; *p != '\0'; p += n, p += *p == ' ') {
		n = strcspn(p, " ");
		if (n == 0 || (!word_in(owned, p, n) && word_in("openid email profile", p, n)))
			continue;
		any = true;
		if (!word_in(owned, p, n)) {
			*refused = arena_copy_n(mem, p, n);
			return NULL;
		}
	}
	for (p = owned; *p != '\0'; p += n, p += *p == ' ') {
		n = strcspn(p, " ");
		if (n > 0 && (!any || word_in(asked, p, n)))
			buf_printf(&b, "%s%.*s", b.len ? " " : "", (int)n, p);
	}
	return buf_string(&b);
}

const struct grant *
token_grant(struct db *db, const struct conf *conf, struct arena *mem, struct asked asked)
{
	const struct client *c = client_authenticate(db, asked.shortcode, asked.client_id, asked.client_secret);
	struct buf claims = BUF(mem);
	const struct key *key = key_signer(db);
	struct grant *g;

	if (c == NULL || c->is_public || key == NULL)
		return NULL;
	g = NEW(mem, struct grant);
	g->expires_in = c->token_lifetime;
	g->scope = scopes_granted(mem, c->scopes, asked.scope, &g->refused);
	if (g->scope == NULL)
		return g;
	claims_begin(&claims, conf, c->shortcode, c->id, c->id);
	claims_access(&claims, g->expires_in, g->scope, c->is_super_admin);
	g->access_token = token_make(mem, key, buf_string(&claims));
	return g;
}

/* The left half of the token's hash (OpenID Connect Core section 3.1.3.6). */
static const char *
half_hash(struct arena *mem, const char *token)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)token, strlen(token), hash);
	return base64url_encode(mem, hash, sizeof(hash) / 2);
}

void
token_person(struct buf *b, const struct authorization *a, unsigned tells)
{
	if (tells & TELLS_NAME) {
		buf_text(b, ",\"name\":");
		buf_json(b, a->name);
		buf_text(b, ",\"preferred_username\":");
		buf_json(b, a->login);
	}
	if (tells & TELLS_EMAIL && a->email != NULL) {
		buf_text(b, ",\"email\":");
		buf_json(b, a->email);
		buf_printf(b, ",\"email_verified\":%s", a->email_proven ? "true" : "false");
	}
}

static const char *
id_claims(struct arena *mem, const struct conf *conf, const struct authorization *a, const struct grant *g)
{
	struct buf b = BUF(mem);
	char id[UUID_TEXT];

	claims_begin(&b, conf, a->shortcode, a->user_id, a->client_id);
	buf_printf(&b, "\"aud\":\"%s\",\"exp\":%lld,\"typ\":\"ID\",\"auth_time\":%lld,\"at_hash\":\"%s\"",
	    uuid_format(a->client_id, id), (long long)(moment_now().ms / 1000 + ID_LIFETIME),
	    (long long)(a->authenticated_at.ms / 1000), half_hash(mem, g->access_token));
	buf_printf(&b, ",\"sid\":\"%s\"", uuid_format(a->id, id));
	if (a->nonce != NULL) {
		buf_text(&b, ",\"nonce\":");
		buf_json(&b, a->nonce);
	}
	token_person(&b, a, token_tells(g->scope));
	buf_char(&b, '}');
	return buf_string(&b);
}

const struct grant *
token_for_user(struct db *db, const struct conf *conf, struct arena *mem, const struct authorization *a, const char
    *scope)
{
	int64_t left = (a->expires_at.ms - moment_now().ms) / 1000;
	struct buf claims = BUF(mem);
	char id[UUID_TEXT];
	const struct key *key = key_signer(db);
	struct grant *g;

	if (key == NULL)
		return NULL;
	g = NEW(mem, struct grant);
	g->scope = scope;
	g->expires_in = a->token_lifetime < USER_LIFETIME ? a->token_lifetime : USER_LIFETIME;
	g->expires_in = g->expires_in < left ? g->expires_in : left;
	claims_begin(&claims, conf, a->shortcode, a->user_id, a->client_id);
	buf_printf(&claims, "\"sid\":\"%s\",", uuid_format(a->id, id));
	claims_access(&claims, g->expires_in, scope, a->is_super_admin);
	g->access_token = token_make(mem, key, buf_string(&claims));
	if (token_tells(scope) & TELLS_ID)
		g->id_token = token_make(mem, key, id_claims(mem, conf, a, g));
	return g;
}

/* Checking. */

/* Of the kid.  NULL: none of ours, or the head is not of our making. */
static EVP_PKEY *
head_key(struct db *db, const struct jwt *t)
{
	struct uuid kid;

	if (t->typ != NULL && strcmp(t->typ, "JWT") != 0)
		return NULL;
	return uuid_parse(t->kid, &kid) ? key_of(db, kid) : NULL;
}

/* The tenant's name in an issuer of ours, or NULL. */
static const char *
issuer_tenant(const struct conf *conf, const char *iss)
{
	size_t n = strlen(conf->public_url);

	if (strncmp(iss, conf->public_url, n) != 0 || strncmp(iss + n, "/realms/", 8) != 0)
		return NULL;
	iss += n + 8;
	n = strspn(iss, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return n >= 2 && n <= 63 && iss[n] == '\0' ? iss : NULL;
}

static enum token_fault
client_check(struct db *db, const struct claims *c, const char *tenant, struct principal *who)
{
	const struct client *client = client_find(db, tenant, c->sub);

	if (db_failure(db) != DB_FINE)
		return TOKEN_NO_DB;
	if (client == NULL || client->revoked_at.ms != 0)
		return TOKEN_BAD;
	/* Scopes that the client has lost since count no more, and what it is comes from its row alone. */
	*who = (struct principal){ client->id, client->tenant_id, client->shortcode, client->name,
	    client->is_super_admin, scope_bits(c->scope) & scope_bits(client->scopes), c->exp,
	    .client_id = client->id };
	return TOKEN_FINE;
}

/* A client that acts for a user may no more than both of them. */
static enum token_fault
user_check(struct db *db, const struct claims *c, const char *tenant, struct principal *who)
{
	const struct authorization *a;
	struct uuid sid, sub, azp;

	if (c->sid == NULL || !uuid_parse(c->sid, &sid) || !uuid_parse(c->sub, &sub) || !uuid_parse(c->azp, &azp))
		return TOKEN_BAD;
	a = authorization_find(db, tenant, sid);
	if (db_failure(db) != DB_FINE)
		return TOKEN_NO_DB;
	if (a == NULL || !uuid_equal(a->user_id, sub) || !uuid_equal(a->client_id, azp))
		return TOKEN_BAD;
	*who = (struct principal){ a->user_id, a->tenant_id, a->shortcode, a->name, a->is_super_admin,
	    scope_bits(c->scope) & scope_bits(a->client_scopes), c->exp, a->client_id, a->id, token_tells(c->scope) };
	return TOKEN_FINE;
}

static enum token_fault
claims_check(struct db *db, const struct conf *conf, const struct claims *c, struct principal *who)
{
	int64_t now = moment_now().ms / 1000;
	const char *tenant = issuer_tenant(conf, c->iss);

	if (tenant == NULL || !jwt_names(db_arena(db), c->aud.text, audience))
		return TOKEN_BAD;
	if (c->exp + LEEWAY <= now)
		return TOKEN_EXPIRED;
	if (c->iat - LEEWAY > now || (c->nbf.set && c->nbf.n - LEEWAY > now))
		return TOKEN_BAD;
	if (strcmp(c->typ, "Bearer") != 0)
		return TOKEN_BAD;
	return strcmp(c->azp, c->sub) == 0 ? client_check(db, c, tenant, who) : user_check(db, c, tenant, who);
}

/* Is it signed by one of our keys? */
static enum token_fault
token_open(struct db *db, struct arena *mem, const char *token, struct jwt *t)
{
	struct jwt_key key = { .algs = JWT_RS256 };

	if (!jwt_parse(mem, token, t))
		return TOKEN_BAD;
	key.pkey = head_key(db, t);
	if (key.pkey == NULL)
		return db_failure(db) != DB_FINE ? TOKEN_NO_DB : TOKEN_BAD;
	return jwt_signed_by(t, &key) ? TOKEN_FINE : TOKEN_BAD;
}

static enum token_fault
token_check(struct db *db, const struct conf *conf, struct arena *mem, const char *token, struct principal *who)
{
	enum token_fault fault;
	const struct claims *claims;
	struct jwt t;
	uint64_t given;

	fault = token_open(db, mem, token, &t);
	if (fault != TOKEN_FINE)
		return fault;
	claims = record_decode_foreign(mem, &claims_record, t.claims, t.claims_n, &given);
	return claims == NULL ? TOKEN_BAD : claims_check(db, conf, claims, who);
}

bool
token_hinted(struct db *db, const struct conf *conf, const char *shortcode, const char *id_token, struct hinted *out)
{
	const struct hint *hint = NULL;
	const char *tenant = NULL;
	struct jwt t;
	uint64_t given;

	if (token_open(db, db_arena(db), id_token, &t) == TOKEN_FINE)
		hint = record_decode_foreign(db_arena(db), &hint_record, t.claims, t.claims_n, &given);
	if (hint != NULL)
		tenant = issuer_tenant(conf, hint->iss);
	if (tenant == NULL || strcmp(tenant, shortcode) != 0 || strcmp(hint->typ, "ID") != 0)
		return false;
	out->client_id = hint->aud;
	return uuid_parse(hint->sub, &out->user_id) && uuid_parse(hint->sid, &out->authorization_id);
}

/* Is it of an external server?  What is no token at all is not. */
static bool
is_foreign(struct arena *mem, const struct conf *conf, const char *token, struct jwt *t, const char **issuer)
{
	*issuer = jwt_parse(mem, token, t) ? jwt_issuer(mem, t) : NULL;
	return *issuer != NULL && issuer_tenant(conf, *issuer) == NULL;
}

/* By who has made it.  Of a tenant with an external server none that was made here counts any more. */
static enum token_fault
token_judge(struct db *db, const struct conf *conf, struct arena *mem, const char *token, struct principal *who)
{
	const struct provider *provider;
	const char *issuer;
	enum token_fault fault;
	struct jwt t;

	if (is_foreign(mem, conf, token, &t, &issuer))
		return provider_verify(db, &t, issuer, who);
	fault = token_check(db, conf, mem, token, who);
	if (fault != TOKEN_FINE)
		return fault;
	provider = provider_of(db, who->shortcode);
	return db_failure(db) != DB_FINE ? TOKEN_NO_DB : provider != NULL ? TOKEN_BAD : TOKEN_FINE;
}

/* Where the token is kept, or NULL. */
static struct memory *
recall(const unsigned char hash[SHA256_DIGEST_LENGTH], int64_t now)
{
	struct memory *m = &memories[(hash[0] | (unsigned)hash[1] << 8) % (REMEMBERED / WAYS) * WAYS];
	int i;

	for (i = 0; i < WAYS; i++)
		if (m[i].until > now && CRYPTO_memcmp(m[i].hash, hash, SHA256_DIGEST_LENGTH) == 0)
			return &m[i];
	return NULL;
}

/* Takes the place of the one that ends first. */
static void
remember(const unsigned char hash[SHA256_DIGEST_LENGTH], const struct principal *who, int64_t now)
{
	struct memory *m = &memories[(hash[0] | (unsigned)hash[1] << 8) % (REMEMBERED / WAYS) * WAYS], *last = m;
	int i;

	if (strlen(who->shortcode) >= sizeof(m->shortcode) || strlen(who->name) >= sizeof(m->name))
		return;
	for (i = 1; i < WAYS; i++)
		if (m[i].until < last->until)
			last = &m[i];
	memcpy(last->hash, hash, SHA256_DIGEST_LENGTH);
	last->until = now + REMEMBER;
	last->who = *who;
	last->who.address = NULL;
	strcpy(last->shortcode, who->shortcode);
	strcpy(last->name, who->name);
}

/* EVP_Q_digest() looks the algorithm up anew each time, which costs more than the hash itself. */
static void
hash_of(const char *token, size_t n, unsigned char hash[SHA256_DIGEST_LENGTH])
{
	static EVP_MD_CTX *context;

	if (context == NULL && ((context = EVP_MD_CTX_new()) == NULL || EVP_DigestInit_ex(context, EVP_sha256(),
	    NULL) != 1))
		abort();
	if (EVP_DigestInit_ex(context, NULL, NULL) != 1 || EVP_DigestUpdate(context, token, n) != 1 ||
	    EVP_DigestFinal_ex(context, hash, NULL) != 1)
		abort();
}

enum token_fault
token_verify(struct db *db, const struct conf *conf, struct arena *mem, const char *token, struct principal *who)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	size_t n = strnlen(token, JWT_LENGTH + 1);
	struct memory *m;
	enum token_fault fault;
	const char *address = who->address;
	int64_t now = clock_s();

	if (n > JWT_LENGTH)
		return TOKEN_BAD;
	hash_of(token, n, hash);
	m = recall(hash, now);
	if (m != NULL) {
		*who = m->who;
		who->address = address;
		who->shortcode = arena_copy(mem, m->shortcode);
		who->name = arena_copy(mem, m->name);
		return who->expires + LEEWAY <= moment_now().ms / 1000 ? TOKEN_EXPIRED : TOKEN_FINE;
	}
	fault = token_judge(db, conf, mem, token, who);
	who->address = address;
	if (fault == TOKEN_FINE)
		remember(hash, who, now);
	return fault;
}

void
token_doubt(const char *token)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	struct memory *m;

	hash_of(token, strlen(token), hash);
	m = recall(hash, clock_s());
	if (m != NULL)
		m->until = 0;
}

void
token_forget(void)
{
	key_forget();
	memset(memories, 0, sizeof(memories));
	provider_forget();
}
