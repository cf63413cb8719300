/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access tokens: made, checked, remembered for a minute; their keys; secrets of clients. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <string.h>

#include "core/buf.h"
#include "core/log.h"
#include "core/record.h"
#include "core/token.h"

enum {
	TOKEN_LENGTH = 8192,		/* ours have about 900 bytes */
	LEEWAY = 60,			/* s that clocks may differ */
	REMEMBER = 60,			/* s a verified token is believed */
	KEYS_FRESH = 60,		/* s until the keys are read again */
	KEYS_AGAIN = 10,		/* s between two readings for the sake of an unknown kid */
	KEY_SETTLE = 90,		/* s until a new key signs */
	/* s a retired key verifies beyond the longest lifetime: settling, caches, clocks */
	KEY_MARGIN = 300,
	KEYS = 16,
	REMEMBERED = 1024, WAYS = 4,
	SALT = 16,
};

/* What a token may be meant for: RFC 9068 wants an audience; this one is what Keycloak puts into the tokens of
 * clients. */
static const char audience[] = "account";

struct head { const char *alg, *typ, *kid; struct json crit; };
static const struct field head_fields[] = {
	FIELD(struct head, alg, .on = CREATE, .required = true, .doc = "Algorithm"),
	FIELD(struct head, typ, .on = CREATE, .doc = "JWT or at+jwt"),
	FIELD(struct head, kid, .on = CREATE, .required = true, .doc = "Id of the key"),
	FIELD(struct head, crit, .on = CREATE, .doc = "Extensions that must be understood: none are"),
};
static const struct record head_record = RECORD("TokenHead", struct head, head_fields);

struct claims { const char *iss, *sub, *azp, *typ, *scope, *jti; struct json aud; int64_t exp, iat; struct number nbf;
    };
static const struct field claims_fields[] = {
	FIELD(struct claims, iss, .on = CREATE, .required = true, .doc = "Issuer"),
	FIELD(struct claims, sub, .on = CREATE, .required = true, .doc = "Principal"),
	FIELD(struct claims, azp, .on = CREATE, .required = true, .doc = "Client"),
	FIELD(struct claims, typ, .on = CREATE, .required = true, .doc = "Bearer"),
	FIELD(struct claims, scope, .on = CREATE, .required = true, .doc = "Scopes"),
	FIELD(struct claims, jti, .on = CREATE, .required = true, .doc = "Id of the token"),
	FIELD(struct claims, aud, .on = CREATE, .required = true, .doc = "Audience: a string or an array"),
	FIELD(struct claims, exp, .on = CREATE, .required = true, .doc = "End, s since 1970"),
	FIELD(struct claims, iat, .on = CREATE, .required = true, .doc = "Issued, s since 1970"),
	FIELD(struct claims, nbf, .on = CREATE, .doc = "Start, s since 1970"),
};
static const struct record claims_record = RECORD("TokenClaims", struct claims, claims_fields);

/* A client with its principal and tenant: what both making and checking a token need. */
struct client {
	struct uuid id, tenant_id;
	const char *shortcode, *name, *scopes, *secret_hash;
	bool is_super_admin;
	struct moment revoked_at;
	int64_t token_lifetime;
};
static const struct field client_fields[] = {
	FIELD(struct client, id, .doc = "Client and principal"),
	FIELD(struct client, tenant_id, .doc = "Its tenant"),
	FIELD(struct client, shortcode, .sql = "n.shortcode", .doc = "Name of the tenant in addresses"),
	FIELD(struct client, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct client, scopes, .doc = "Blank-separated"),
	FIELD(struct client, secret_hash, .doc = "See secret_hash()"),
	FIELD(struct client, is_super_admin, .sql = "p.is_super_admin", .doc = "Has every permission"),
	FIELD(struct client, revoked_at, .doc = "Null while it is live"),
	FIELD(struct client, token_lifetime, .sql = "n.token_lifetime", .doc = "Seconds"),
};
static const struct record client_record = RECORD("TokenClient", struct client, client_fields);

static const char client_from[] = "FROM clients t JOIN principals p ON p.id = t.id JOIN tenants n ON n.id = "
    "t.tenant_id WHERE t.id = ? AND n.shortcode = ?";

struct key_row { struct uuid id; const char *private_pem; struct moment created_at; };
static const struct field key_fields[] = {
	FIELD(struct key_row, id, .on = SERVER, .doc = "kid"),
	FIELD(struct key_row, private_pem, .on = SERVER, .doc = "PKCS#8"),
	FIELD(struct key_row, created_at, .on = SERVER, .doc = "Since when it is there"),
};
static const struct record key_record = RECORD("SigningKey", struct key_row, key_fields);

struct key { struct uuid id; EVP_PKEY *pkey; int64_t created; };

static struct {
	struct key at[KEYS];		/* newest first */
	size_t n;
	int64_t read_at, again_at;	/* s of the monotonic clock; 0: never */
} keys;

/* One verified token.  A name has at most 255 characters of 4 bytes. */
static struct memory {
	unsigned char hash[SHA256_DIGEST_LENGTH];
	int64_t until;			/* s of the monotonic clock; 0: empty */
	struct principal who;
	char shortcode[64], name[1024];
} memories[REMEMBERED];

static int64_t
monotonic(void)
{
	return clock_ms() / 1000 + 1;
}

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

/* Keys. */

static EVP_PKEY *
key_read(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

	BIO_free(bio);
	if (key != NULL && !EVP_PKEY_is_a(key, "RSA")) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	ERR_clear_error();
	return key;
}

/* The key of that id, taken out of the old set, or parsed. */
static EVP_PKEY *
key_take(struct key *old, size_t n, const struct key_row *row)
{
	EVP_PKEY *key;
	size_t i;
	char kid[UUID_TEXT];

	for (i = 0; i < n; i++)
		if (uuid_equal(old[i].id, row->id)) {
			key = old[i].pkey;
			old[i].pkey = NULL;
			return key;
		}
	key = key_read(row->private_pem);
	if (key == NULL)
		log_line(LOG_LEVEL_ERROR, "signing key cannot be read", LOG_TEXT("kid", uuid_format(row->id, kid)));
	return key;
}

/* Keys whose last tokens may still be live.  When the database is away, the old set stays. */
static void
keys_read(struct db *db)
{
	struct key old[KEYS];
	struct key_row *rows;
	size_t n, i, n_old = keys.n;

	rows = db_rows(db, &key_record, "FROM signing_keys t WHERE t.retired_at = 0 OR t.retired_at + "
	    "((SELECT COALESCE(MAX(token_lifetime), 0) FROM tenants) + ?) * 1000 > " SQL_NOW
	    " ORDER BY t.created_at DESC, t.id DESC LIMIT 16", ARGS(INT(KEY_MARGIN)), &n);
	if (db_failure(db) != DB_FINE)
		return;
	memcpy(old, keys.at, sizeof(old));
	keys.n = 0;
	for (i = 0; i < n && i < KEYS; i++) {
		EVP_PKEY *key = key_take(old, n_old, &rows[i]);

		if (key != NULL)
			keys.at[keys.n++] = (struct key){ rows[i].id, key, rows[i].created_at.ms / 1000 };
	}
	for (i = 0; i < n_old; i++)
		EVP_PKEY_free(old[i].pkey);
	keys.read_at = monotonic();
}

static void
keys_freshen(struct db *db)
{
	if (keys.read_at == 0 || keys.n == 0 || monotonic() - keys.read_at >= KEYS_FRESH)
		keys_read(db);
}

static EVP_PKEY *
key_find(struct uuid kid)
{
	size_t i;

	for (i = 0; i < keys.n; i++)
		if (uuid_equal(keys.at[i].id, kid))
			return keys.at[i].pkey;
	return NULL;
}

/* A kid we do not know may be a new one; a flood of invented ones costs one query in ten seconds. */
static EVP_PKEY *
key_of(struct db *db, struct uuid kid)
{
	EVP_PKEY *key;

	keys_freshen(db);
	key = key_find(kid);
	if (key != NULL || (keys.again_at != 0 && monotonic() - keys.again_at < KEYS_AGAIN))
		return key;
	keys.again_at = monotonic();
	keys_read(db);
	return key_find(kid);
}

/* The newest that every process has had time to read, else the oldest. */
static const struct key *
key_signer(void)
{
	size_t i;

	for (i = 0; i < keys.n; i++)
		if (keys.at[i].created + KEY_SETTLE <= moment_now().ms / 1000)
			return &keys.at[i];
	return keys.n == 0 ? NULL : &keys.at[keys.n - 1];
}

bool
token_ready(struct db *db, struct arena *mem)
{
	keys_freshen(db);
	return keys.n > 0;
}

static const char *
key_new_pem(struct arena *mem)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	BIO *bio = BIO_new(BIO_s_mem());
	char *text, *pem;
	long n;

	if (key == NULL || bio == NULL || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		abort();
	n = BIO_get_mem_data(bio, &text);
	pem = arena_copy_n(mem, text, (size_t)n);
	OPENSSL_cleanse(text, (size_t)n);
	BIO_free(bio);
	EVP_PKEY_free(key);
	return pem;
}

const char *
token_rotate(struct db *db, struct arena *mem)
{
	struct key_row row = { uuid_new(), key_new_pem(mem), moment_now() };

	db_run(db, "DELETE FROM signing_keys WHERE retired_at > 0 AND retired_at + "
	    "((SELECT COALESCE(MAX(token_lifetime), 0) FROM tenants) + ?) * 1000 <= " SQL_NOW, ARGS(INT(KEY_MARGIN)));
	db_run(db, "UPDATE signing_keys SET retired_at = ? WHERE retired_at = 0", ARGS(TIME(row.created_at)));
	db_insert(db, "signing_keys", &key_record, &row);
	keys.read_at = 0;
	return uuid_text(mem, row.id);
}

static const char *
key_part(struct arena *mem, EVP_PKEY *key, const char *name)
{
	BIGNUM *number = NULL;
	unsigned char bytes[1024];
	int n;

	if (EVP_PKEY_get_bn_param(key, name, &number) != 1 || BN_num_bytes(number) > (int)sizeof(bytes))
		abort();
	n = BN_bn2bin(number, bytes);
	BN_free(number);
	return base64url_encode(mem, bytes, (size_t)n);
}

const char *
token_jwks(struct db *db, struct arena *mem)
{
	struct buf out = BUF(mem);
	char kid[UUID_TEXT];
	size_t i;

	keys_freshen(db);
	buf_text(&out, "{\"keys\":[");
	for (i = 0; i < keys.n; i++)
		buf_printf(&out, "%s{\"kid\":\"%s\",\"kty\":\"RSA\",\"alg\":\"RS256\",\"use\":\"sig\",\"n\":\"%s\","
		    "\"e\":\"%s\"}", i == 0 ? "" : ",", uuid_format(keys.at[i].id, kid), key_part(mem, keys.at[i].pkey,
		    OSSL_PKEY_PARAM_RSA_N), key_part(mem, keys.at[i].pkey, OSSL_PKEY_PARAM_RSA_E));
	buf_text(&out, "]}");
	return buf_string(&out);
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

static const char *
claims_print(struct arena *mem, const struct conf *conf, const struct client *c, const char *scope, int64_t now)
{
	struct buf b = BUF(mem);
	char id[UUID_TEXT], jti[UUID_TEXT];

	uuid_format(c->id, id);
	buf_text(&b, "{\"iss\":");
	buf_json(&b, arena_printf(mem, "%s/realms/%s", conf->public_url, c->shortcode));
	buf_printf(&b, ",\"aud\":\"%s\",\"sub\":\"%s\",\"azp\":\"%s\",\"exp\":%lld,\"iat\":%lld,\"jti\":\"%s\","
	    "\"typ\":\"Bearer\",", audience, id, id, (long long)(now + c->token_lifetime), (long long)now,
	    uuid_format(uuid_new(), jti));
	buf_text(&b, "\"scope\":");
	buf_json(&b, scope);
	buf_printf(&b, ",\"realm_access\":{\"roles\":[%s]}}", c->is_super_admin ? "\"SuperAdmin\"" : "");
	return buf_string(&b);
}

static const char *
token_make(struct arena *mem, const struct conf *conf, const struct key *key, const struct client *c, const char *scope)
{
	char kid[UUID_TEXT];
	const char *head, *claims, *text;

	head = arena_printf(mem, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", uuid_format(key->id, kid));
	claims = claims_print(mem, conf, c, scope, moment_now().ms / 1000);
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
	/* Work for clients that are not there: the hash of a secret nobody has. */
	static const char nobody[] = "sha256$00000000000000000000000000000000$"
	    "0000000000000000000000000000000000000000000000000000000000000000";
	struct uuid id = uuid_new();	/* never there; it keeps the query when client_id is none at all */
	const struct client *c;
	const char *scope;
	struct grant *g;
	bool fine;

	keys_freshen(db);
	uuid_parse(asked.client_id, &id);
	c = db_row(db, &client_record, client_from, ARGS(ID(id), STR(asked.shortcode)));
	fine = secret_matches(c == NULL ? nobody : c->secret_hash, asked.client_secret);
	if (!fine || c == NULL || c->revoked_at.ms != 0 || keys.n == 0)
		return NULL;
	g = NEW(mem, struct grant);
	scope = scopes_granted(mem, c->scopes, asked.scope, &g->scope);
	if (scope == NULL)
		return g;
	g->access_token = token_make(mem, conf, key_signer(), c, scope);
	g->expires_in = c->token_lifetime;
	g->scope = scope;
	return g;
}

/* Checking. */

/* Three parts between exactly two dots; lengths in n[]. */
static bool
split(const char *token, const char *at[3], size_t n[3])
{
	const char *dot;
	int i;

	for (i = 0; i < 2; i++) {
		dot = strchr(token, '.');
		if (dot == NULL)
			return false;
		at[i] = token;
		n[i] = (size_t)(dot - token);
		token = dot + 1;
	}
	at[2] = token;
	n[2] = strlen(token);
	return n[0] > 0 && n[1] > 0 && n[2] > 0 && strchr(token, '.') == NULL;
}

/* Members we do not know are no fault (an issuer may add claims); wrong types, missing and duplicate ones are. */
static void *
decode(struct arena *mem, const struct record *record, const void *json, size_t n, uint64_t *given)
{
	struct faults faults = { .n = 0 };
	void *row = NULL;
	int i;

	if (record_decode(mem, record, CREATE, json, n, &row, given, &faults) == NOT_JSON)
		return NULL;
	if (faults.n > (int)(sizeof(faults.at) / sizeof(faults.at[0])))
		return NULL;
	for (i = 0; i < faults.n; i++)
		if (strcmp(faults.at[i].code, "unknown") != 0)
			return NULL;
	return row;
}

/* alg is compared to a constant and the key has one type: no way to have the public key taken for an HMAC secret. */
static EVP_PKEY *
head_key(struct db *db, struct arena *mem, const void *json, size_t n)
{
	const struct head *head;
	struct uuid kid;
	uint64_t given;

	head = decode(mem, &head_record, json, n, &given);
	if (head == NULL || given & record_bit(&head_record, "crit") || strcmp(head->alg, "RS256") != 0)
		return NULL;
	if (head->typ != NULL && strcmp(head->typ, "JWT") != 0)
		return NULL;
	return uuid_parse(head->kid, &kid) ? key_of(db, kid) : NULL;
}

static bool
signature_fits(EVP_PKEY *key, const char *text, size_t n, const unsigned char *signature, size_t size)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool fits;

	if (context == NULL)
		abort();
	fits = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
	    EVP_DigestVerify(context, signature, size, (const unsigned char *)text, n) == 1;
	EVP_MD_CTX_free(context);
	ERR_clear_error();
	return fits;
}

/* A string, or an array that holds it. */
static bool
audience_fits(struct arena *mem, const char *json)
{
	struct strings all = strings_parse(mem, *json == '[' ? json : arena_printf(mem, "[%s]", json));
	size_t i;

	for (i = 0; i < all.n; i++)
		if (strcmp(all.at[i], audience) == 0)
			return true;
	return false;
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
claims_check(struct db *db, const struct conf *conf, const struct claims *c, struct principal *who)
{
	int64_t now = moment_now().ms / 1000;
	const struct client *client;
	const char *tenant = issuer_tenant(conf, c->iss);
	struct uuid sub;

	if (tenant == NULL || !audience_fits(db_arena(db), c->aud.text))
		return TOKEN_BAD;
	if (c->exp + LEEWAY <= now)
		return TOKEN_EXPIRED;
	if (c->iat - LEEWAY > now || (c->nbf.set && c->nbf.n - LEEWAY > now))
		return TOKEN_BAD;
	if (strcmp(c->typ, "Bearer") != 0 || strcmp(c->azp, c->sub) != 0 || !uuid_parse(c->sub, &sub))
		return TOKEN_BAD;
	client = db_row(db, &client_record, client_from, ARGS(ID(sub), STR(tenant)));
	if (db_failure(db) != DB_FINE)
		return TOKEN_NO_DB;
	if (client == NULL || client->revoked_at.ms != 0)
		return TOKEN_BAD;
	/* Scopes that the client has lost since count no more, and what it is comes from its row alone. */
	*who = (struct principal){ client->id, client->tenant_id, client->shortcode, client->name,
	    client->is_super_admin, scope_bits(c->scope) & scope_bits(client->scopes), c->exp };
	return TOKEN_FINE;
}

static enum token_fault
token_check(struct db *db, const struct conf *conf, struct arena *mem, const char *token, struct principal *who)
{
	const char *at[3];
	unsigned char *bytes[3];
	long size[3];
	size_t n[3];
	int i;
	const struct claims *claims;
	EVP_PKEY *key;
	uint64_t given;

	if (!split(token, at, n))
		return TOKEN_BAD;
	for (i = 0; i < 3; i++)
		if ((size[i] = base64url_decode(mem, at[i], n[i], &bytes[i])) < 0)
			return TOKEN_BAD;
	key = head_key(db, mem, bytes[0], (size_t)size[0]);
	if (key == NULL)
		return db_failure(db) != DB_FINE ? TOKEN_NO_DB : TOKEN_BAD;
	if (!signature_fits(key, token, n[0] + 1 + n[1], bytes[2], (size_t)size[2]))
		return TOKEN_BAD;
	claims = decode(mem, &claims_record, bytes[1], (size_t)size[1], &given);
	return claims == NULL ? TOKEN_BAD : claims_check(db, conf, claims, who);
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
	size_t n = strnlen(token, TOKEN_LENGTH + 1);
	struct memory *m;
	enum token_fault fault;
	int64_t now = monotonic();

	if (n > TOKEN_LENGTH)
		return TOKEN_BAD;
	hash_of(token, n, hash);
	m = recall(hash, now);
	if (m != NULL) {
		*who = m->who;
		who->shortcode = arena_copy(mem, m->shortcode);
		who->name = arena_copy(mem, m->name);
		return who->expires + LEEWAY <= moment_now().ms / 1000 ? TOKEN_EXPIRED : TOKEN_FINE;
	}
	fault = token_check(db, conf, mem, token, who);
	if (fault == TOKEN_FINE)
		remember(hash, who, now);
	return fault;
}

void
token_forget(void)
{
	size_t i;

	for (i = 0; i < keys.n; i++)
		EVP_PKEY_free(keys.at[i].pkey);
	memset(&keys, 0, sizeof(keys));
	memset(memories, 0, sizeof(memories));
}

/* Secrets. */

const char *
secret_new(struct arena *mem)
{
	unsigned char bytes[32];

	random_bytes(bytes, sizeof(bytes));
	return arena_printf(mem, "kts_%s", base64url_encode(mem, bytes, sizeof(bytes)));
}

static void
digest(const unsigned char *salt, const char *secret, unsigned char out[SHA256_DIGEST_LENGTH])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1 ||
	    EVP_DigestUpdate(context, salt, SALT) != 1 || EVP_DigestUpdate(context, secret, strlen(secret)) != 1 ||
	    EVP_DigestFinal_ex(context, out, NULL) != 1)
		abort();
	EVP_MD_CTX_free(context);
}

/*
 * "sha256$salt$hash" in hex.  One round is enough: a secret has 256 random bits and is never a person's password, so
 * there is nothing to guess that a slow hash would protect; and the token endpoint stays cheap under a flood.
 */
const char *
secret_hash(struct arena *mem, const char *secret)
{
	unsigned char salt[SALT], hash[SHA256_DIGEST_LENGTH];

	random_bytes(salt, sizeof(salt));
	digest(salt, secret, hash);
	return arena_printf(mem, "sha256$%s$%s", hex_encode(mem, salt, sizeof(salt)), hex_encode(mem, hash,
	    sizeof(hash)));
}

static bool
unhex(const char *text, unsigned char *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const char *high, *low;
	size_t i;

	for (i = 0; i < n; i++) {
		high = text[2 * i] == '\0' ? NULL : strchr(digits, text[2 * i]);
		low = high == NULL || text[2 * i + 1] == '\0' ? NULL : strchr(digits, text[2 * i + 1]);
		if (low == NULL)
			return false;
		out[i] = (unsigned char)((high - digits) << 4 | (low - digits));
	}
	return true;
}

bool
secret_matches(const char *hash, const char *secret)
{
	unsigned char salt[SALT], wanted[SHA256_DIGEST_LENGTH], got[SHA256_DIGEST_LENGTH];
	const size_t length = 7 + 2 * SALT + 1 + 2 * SHA256_DIGEST_LENGTH;

	if (strlen(hash) != length || strncmp(hash, "sha256$", 7) != 0 || hash[7 + 2 * SALT] != '$' ||
	    !unhex(hash + 7, salt, SALT) || !unhex(hash + 7 + 2 * SALT + 1, wanted, sizeof(wanted)))
		return false;
	digest(salt, secret, got);
	return CRYPTO_memcmp(wanted, got, sizeof(got)) == 0;
}
