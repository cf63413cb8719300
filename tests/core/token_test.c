/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens: what is made is taken, and nothing else is.  The files under test are included, so that their caches
 * can be aged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <openssl/hmac.h>

#include <cmocka.h>

#include "core/key.c"
#include "core/migrate.h"
#include "core/token.c"

static struct arena *mem;
static struct db *db;
static const struct conf *conf;
static struct conf own;
static const char issuer_text[] = "https://media.example.org/realms/";

/* A tenant with one client. */
struct tenant {
	char shortcode[24];
	struct uuid id, client;
	const char *secret;
};
static struct tenant mine, other;

static struct tenant
tenant_new(int64_t lifetime)
{
	struct tenant t = { .id = uuid_new(), .client = uuid_new(), .secret = secret_new(mem) };
	unsigned char random[8];

	random_bytes(random, sizeof(random));
	snprintf(t.shortcode, sizeof(t.shortcode), "t-%s", hex_encode(mem, random, sizeof(random)));
	db_run(db,
	    "INSERT INTO tenants (id, shortcode, name, token_lifetime, created_at, updated_at) VALUES (?, ?, 'T', ?, "
	    "1, 1)", ARGS(ID(t.id), STR(t.shortcode), INT(lifetime)));
	db_run(db,
	    "INSERT INTO principals (id, tenant_id, kind, name, is_super_admin, created_at) VALUES (?, ?, 'client', "
	    "'Bot', 1, 1)", ARGS(ID(t.client), ID(t.id)));
	db_run(db,
	    "INSERT INTO clients (id, tenant_id, secret_hash, scopes, created_at, updated_at) VALUES (?, ?, ?, "
	    "'ViewChannel CreateContent', 1, 1)",
	    ARGS(ID(t.client), ID(t.id), STR(secret_hash(mem, t.secret))));
	assert_int_equal(db_failure(db), DB_FINE);
	return t;
}

static const char *
token_of(const struct tenant *t)
{
	const struct grant *g = token_grant(db, conf, mem, (struct asked){ t->shortcode, uuid_text(mem, t->client),
	    t->secret });

	assert_non_null(g);
	return g->access_token;
}

static enum token_fault
verify(const char *token)
{
	struct principal who = { .scopes = 0 };

	return token_verify(db, conf, mem, token, &who);
}

/* A faulty or odd token: parts that are NULL are as they should be. */
struct forged {
	const char *alg, *head_more, *kid;
	const char *iss, *aud, *sub, *azp, *typ, *more;
	int64_t exp, iat; /* s from now; 0: an hour, a minute ago */
	EVP_PKEY *key;
};

static const char *
forged_text(const struct forged *f)
{
	int64_t now = moment_now().ms / 1000;
	const char *id = uuid_text(mem, mine.client);
	const char *head, *claims;

	head = arena_printf(mem, "{\"alg\":\"%s\",\"typ\":\"JWT\",\"kid\":\"%s\"%s}", f->alg ? f->alg : "RS256",
	    f->kid ? f->kid : uuid_text(mem, keys.at[0].id), f->head_more ? f->head_more : "");
	claims = arena_printf(mem,
	    "{\"iss\":\"%s\",\"aud\":%s,\"sub\":\"%s\",\"azp\":\"%s\",\"exp\":%lld,\"iat\":%lld,"
	    "\"jti\":\"1\",\"typ\":\"%s\",\"scope\":\"ViewChannel email profile\"%s}",
	    f->iss ? f->iss : arena_printf(mem, "%s%s", issuer_text, mine.shortcode), f->aud ? f->aud : "\"account\"",
	    f->sub ? f->sub : id,
	    f->azp       ? f->azp
		: f->sub ? f->sub
			 : id,
	    (long long)(now + (f->exp ? f->exp : 3600)), (long long)(now + (f->iat ? f->iat : -60)),
	    f->typ ? f->typ : "Bearer", f->more ? f->more : "");
	return arena_printf(
	    mem, "%s.%s", base64url_encode(mem, head, strlen(head)), base64url_encode(mem, claims, strlen(claims)));
}

static const char *
forge(struct forged f)
{
	const char *text = forged_text(&f);

	return arena_printf(mem, "%s.%s", text, sign(mem, f.key ? f.key : keys.at[0].pkey, text));
}

#define FORGE(...) forge((struct forged){ __VA_ARGS__ })

static void
a_granted_token_is_taken_and_names_its_client(void **state)
{
	const struct grant *g = token_grant(db, conf, mem, (struct asked){ mine.shortcode, uuid_text(mem, mine.client),
	    mine.secret });
	struct principal who = { .scopes = 0 };

	assert_non_null(g);
	assert_int_equal(g->expires_in, 57600);
	assert_string_equal(g->scope, "ViewChannel CreateContent");
	assert_int_equal(token_verify(db, conf, mem, g->access_token, &who), TOKEN_FINE);
	assert_true(uuid_equal(who.id, mine.client) && uuid_equal(who.tenant_id, mine.id));
	assert_string_equal(who.shortcode, mine.shortcode);
	assert_string_equal(who.name, "Bot");
	assert_true(who.is_super_admin);
	assert_int_equal(who.scopes, SCOPE_BIT(SCOPE_VIEW_CHANNEL) | SCOPE_BIT(SCOPE_CREATE_CONTENT));
	assert_true(llabs(who.expires - moment_now().ms / 1000 - 57600) < 5);
	assert_true(strlen(g->access_token) < 1200);
}

static void
a_token_carries_the_claims_that_clients_read(void **state)
{
	static const char *const wanted[] = { "\"iss\":\"https://media.example.org/realms/t-", "\"aud\":\"account\"",
		"\"sub\":\"", "\"azp\":\"", "\"exp\":", "\"iat\":", "\"jti\":\"", "\"typ\":\"Bearer\"",
		"\"scope\":\"ViewChannel CreateContent\"", "\"realm_access\":{\"roles\":[\"SuperAdmin\"]}" };
	struct jwt t;
	size_t i;

	assert_true(jwt_parse(mem, token_of(&mine), &t));
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (memmem(t.claims, t.claims_n, wanted[i], strlen(wanted[i])) == NULL)
			fail_msg("missing %s in %.*s", wanted[i], (int)t.claims_n, t.claims);
}

static void
the_forge_itself_makes_good_tokens(void **state)
{
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.aud = "[\"other\", \"account\"]")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.more = ",\"acr\":\"1\",\"email_verified\":false")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.exp = -30)), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.iat = 30)), TOKEN_FINE);
}

static void
an_unsigned_token_is_refused(void **state)
{
	struct forged f = { .alg = "none" };
	const char *text = forged_text(&f);

	assert_int_equal(verify(arena_printf(mem, "%s.", text)), TOKEN_BAD);
	assert_int_equal(verify(text), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "none")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "None")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "rs256")), TOKEN_BAD);
	f.alg = NULL;
	assert_int_equal(verify(arena_printf(mem, "%s.", forged_text(&f))), TOKEN_BAD);
}

static void
an_hmac_with_the_public_key_is_refused(void **state)
{
	struct forged f = { .alg = "HS256" };
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned n;
	const char *text;
	char *pem;
	BIO *bio = BIO_new(BIO_s_mem());
	long size;
	int i;

	assert_int_equal(PEM_write_bio_PUBKEY(bio, keys.at[0].pkey), 1);
	size = BIO_get_mem_data(bio, &pem);
	for (i = 0; i < 2; i++) {
		text = forged_text(&f);
		assert_non_null(HMAC(EVP_sha256(), pem, (int)size, (const unsigned char *)text, strlen(text), mac, &n));
		assert_int_equal(verify(arena_printf(mem, "%s.%s", text, base64url_encode(mem, mac, n))), TOKEN_BAD);
		f.alg = "RS256";
	}
	BIO_free(bio);
}

static void
another_key_or_algorithm_is_refused(void **state)
{
	EVP_PKEY *strange = EVP_RSA_gen(2048), *curve = EVP_EC_gen("P-256");
	const char *token = token_of(&mine);

	assert_int_equal(verify(FORGE(.key = strange)), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "ES256", .key = curve)), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "RS256", .key = curve)), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "RS512")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "PS256")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.kid = uuid_text(mem, uuid_new()))), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.kid = "../../etc/passwd")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.kid = "' OR 1=1 -- ")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.kid = "")), TOKEN_BAD);
	/* The signature of one token under the claims of another. */
	assert_int_equal(verify(arena_printf(
			     mem, "%.*s%s", (int)(strrchr(token, '.') - token), token, strrchr(token_of(&other), '.'))),
	    TOKEN_BAD);
	EVP_PKEY_free(strange);
	EVP_PKEY_free(curve);
}

static void
a_head_that_wants_more_is_refused(void **state)
{
	assert_int_equal(verify(FORGE(.head_more = ",\"crit\":[\"exp\"]")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.head_more = ",\"crit\":null")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.head_more = ",\"alg\":\"none\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.head_more = ",\"\\u0061lg\":\"RS256\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.head_more = ",\"typ\":\"JWE\"")), TOKEN_BAD);
	/* A key that the token brings along is not looked at. */
	assert_int_equal(verify(FORGE(.head_more = ",\"jwk\":{\"kty\":\"oct\",\"k\":\"AA\"}")), TOKEN_FINE);
}

static void
wrong_claims_are_refused(void **state)
{
	const char *theirs = arena_printf(mem, "%s%s", issuer_text, other.shortcode);

	assert_int_equal(verify(FORGE(.iss = "https://evil.example/realms/demo")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = arena_printf(mem, "%s%s/", issuer_text, mine.shortcode))), TOKEN_BAD);
	assert_int_equal(
	    verify(FORGE(.iss = arena_printf(mem, "https://media.example.org.evil/realms/%s", mine.shortcode))),
	    TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = "https://media.example.org/realms/")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = "")), TOKEN_BAD);
	/* Another tenant's name over my client: the row decides. */
	assert_int_equal(verify(FORGE(.iss = theirs)), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = theirs, .sub = uuid_text(mem, other.client))), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.sub = uuid_text(mem, other.client))), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.sub = uuid_text(mem, uuid_new()))), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.sub = "admin")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.azp = uuid_text(mem, other.client))), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "\"elsewhere\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "\"\\\"account\\\"\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "[]")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "[\"x\\\" ,\\\"account\\\",\"]")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "[[\"account\"],{\"a\":\"account\"},\"account \"]")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "[1,null,\"\\u0061ccount\"]")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.aud = "\"\\u0061ccount\"")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.aud = "null")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "{\"account\":1}")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.typ = "Refresh")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.typ = "ID")), TOKEN_BAD);
}

static void
duplicate_and_ill_typed_claims_are_refused(void **state)
{
	assert_int_equal(verify(FORGE(.more = ",\"exp\":99999999999")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = ",\"s\\u0075b\":\"x\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = ",\"nbf\":\"soon\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = ",\"nbf\":1e400")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = ",'a':1")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = "} ")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = ",\"x\":NaN")), TOKEN_BAD);
}

static void
times_count_with_a_minute_of_leeway(void **state)
{
	int64_t now = moment_now().ms / 1000;

	assert_int_equal(verify(FORGE(.exp = -61)), TOKEN_EXPIRED);
	assert_int_equal(verify(FORGE(.exp = -50)), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.more = arena_printf(mem, ",\"nbf\":%lld", (long long)now + 50))), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.more = arena_printf(mem, ",\"nbf\":%lld", (long long)now + 70))), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iat = 70)), TOKEN_BAD);
}

static void
only_strict_base64url_in_three_parts_is_read(void **state)
{
	const char *token = token_of(&mine);
	char *copy = arena_copy(mem, token);
	size_t n = strlen(token), i;
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	assert_int_equal(verify(arena_printf(mem, "%s=", token)), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, "%s.", token)), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, ".%s", token)), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, "%s.e30.e30", token)), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, " %s", token)), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, "%s\n", token)), TOKEN_BAD);
	assert_int_equal(verify(""), TOKEN_BAD);
	assert_int_equal(verify(".."), TOKEN_BAD);
	assert_int_equal(verify("a.b.c"), TOKEN_BAD);
	/* 256 bytes are 342 characters, the last of which has two bits to spare: setting them changes no byte. */
	for (i = 0; alphabet[i] != copy[n - 1]; i++)
		continue;
	copy[n - 1] = alphabet[i | 1];
	assert_int_equal(verify(copy), i & 1 ? TOKEN_FINE : TOKEN_BAD);
	assert_int_equal(i & 3, 0);
	for (i = 0; i < n; i += 37) {
		copy = arena_copy(mem, token);
		copy[i] = copy[i] == 'A' ? 'B' : 'A';
		assert_int_equal(verify(copy), TOKEN_BAD);
	}
	for (i = 0; i < n; i += 61)
		assert_int_equal(verify(arena_copy_n(mem, token, i)), TOKEN_BAD);
}

static void
an_endless_token_is_refused_unread(void **state)
{
	char *text = arena_alloc(mem, 100001);

	memset(text, 'A', 100000);
	assert_int_equal(verify(text), TOKEN_BAD);
	text[10] = text[20] = '.';
	assert_int_equal(verify(text), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = arena_printf(mem, ",\"x\":\"%*s\"", 8000, ""))), TOKEN_BAD);
}

/* What a minute does to the cache. */
static void
age(int64_t seconds)
{
	size_t i;

	for (i = 0; i < REMEMBERED; i++)
		memories[i].until -= seconds;
	keys.read_at -= seconds;
	keys.again_at -= seconds;
}

static void
a_revoked_client_is_refused_after_a_minute_at_most(void **state)
{
	struct tenant t = tenant_new(3600);
	const char *token = token_of(&t);

	assert_int_equal(verify(token), TOKEN_FINE);
	db_run(db, "UPDATE clients SET revoked_at = 5 WHERE id = ?", ARGS(ID(t.client)));
	assert_int_equal(verify(token), TOKEN_FINE); /* remembered */
	age(59);
	assert_int_equal(verify(token), TOKEN_FINE);
	age(1);
	assert_int_equal(verify(token), TOKEN_BAD);
	assert_null(token_grant(db, conf, mem, (struct asked){ t.shortcode, uuid_text(mem, t.client), t.secret }));
}

static void
scopes_that_a_client_has_lost_count_no_more(void **state)
{
	struct tenant t = tenant_new(3600);
	const char *token = token_of(&t);
	struct principal who = { .scopes = 0 };

	db_run(db, "UPDATE clients SET scopes = 'ViewChannel ManageChannel' WHERE id = ?", ARGS(ID(t.client)));
	assert_int_equal(token_verify(db, conf, mem, token, &who), TOKEN_FINE);
	assert_int_equal(who.scopes, SCOPE_BIT(SCOPE_VIEW_CHANNEL));
}

static void
a_remembered_token_still_expires(void **state)
{
	const char *token = FORGE(.exp = -58);
	size_t i;

	assert_int_equal(verify(token), TOKEN_FINE);
	for (i = 0; i < REMEMBERED; i++)
		memories[i].who.expires -= 10;
	assert_int_equal(verify(token), TOKEN_EXPIRED);
	token_forget();
	key_ready(db);
}

static void
the_cache_is_bounded_and_never_mixes_tokens_up(void **state)
{
	struct principal who = { .shortcode = "x", .name = "n" };
	unsigned char hash[SHA256_DIGEST_LENGTH];
	const char *a = token_of(&mine), *b = token_of(&other);
	struct principal one = { .scopes = 0 }, two = one;
	int i;

	for (i = 0; i < 5000; i++) {
		SHA256((const unsigned char *)&i, sizeof(i), hash);
		remember(hash, &who, clock_s());
	}
	for (i = 0; i < 3; i++) {
		assert_int_equal(token_verify(db, conf, mem, a, &one), TOKEN_FINE);
		assert_int_equal(token_verify(db, conf, mem, b, &two), TOKEN_FINE);
		assert_true(uuid_equal(one.tenant_id, mine.id) && uuid_equal(two.tenant_id, other.id));
	}
}

static void
wrong_credentials_all_get_nothing(void **state)
{
	const char *id = uuid_text(mem, mine.client), *theirs = uuid_text(mem, other.client);

	assert_null(token_grant(db, conf, mem, (struct asked){ mine.shortcode, id, other.secret }));
	assert_null(token_grant(db, conf, mem, (struct asked){ mine.shortcode, id, "" }));
	assert_null(token_grant(db, conf, mem, (struct asked){ mine.shortcode, id, arena_printf(mem, "%s ",
	    mine.secret) }));
	assert_null(token_grant(db, conf, mem, (struct asked){ other.shortcode, id, mine.secret }));
	assert_null(token_grant(db, conf, mem, (struct asked){ mine.shortcode, theirs, mine.secret }));
	assert_null(token_grant(db, conf, mem, (struct asked){ mine.shortcode, "", mine.secret }));
	assert_null(token_grant(db, conf, mem, (struct asked){ mine.shortcode, "' OR 1=1 --", mine.secret }));
	assert_null(token_grant(db, conf, mem, (struct asked){ "nobody", id, mine.secret }));
	assert_null(token_grant(db, conf, mem, (struct asked){ "", id, mine.secret }));
	assert_int_equal(db_failure(db), DB_FINE);
}

static void
secrets_are_kept_salted_and_hashed(void **state)
{
	const char *secret = secret_new(mem), *hash = secret_hash(mem, secret);

	assert_int_equal(strlen(secret), 47);
	assert_memory_equal(secret, "kts_", 4);
	assert_null(strstr(hash, secret));
	assert_string_not_equal(hash, secret_hash(mem, secret));
	assert_true(secret_matches(hash, secret));
	assert_true(secret_matches(secret_hash(mem, secret), secret));
	assert_false(secret_matches(hash, secret_new(mem)));
	assert_false(secret_matches("", ""));
	assert_false(secret_matches("sha256$", secret));
	assert_false(secret_matches(arena_copy_n(mem, hash, strlen(hash) - 1), secret));
	assert_false(secret_matches(arena_printf(mem, "%s0", hash), secret));
}

static void
two_keys_verify_while_the_new_one_settles_in(void **state)
{
	const char *old_token = token_of(&mine), *kid, *new_token;
	struct uuid old_kid = keys.at[0].id, new_kid;

	kid = key_rotate(db, mem);
	assert_true(uuid_parse(kid, &new_kid));
	assert_non_null(strstr(key_jwks(db, mem), kid));
	assert_non_null(strstr(key_jwks(db, mem), uuid_text(mem, old_kid)));
	/* At first the old one still signs, so that a process that has not read the new one refuses nothing. */
	assert_true(uuid_equal(key_signer(db)->id, old_kid));
	db_run(db, "UPDATE signing_keys SET created_at = created_at - 100000 WHERE id = ?", ARGS(ID(new_kid)));
	db_run(db, "UPDATE signing_keys SET created_at = created_at - 200000 WHERE id = ?", ARGS(ID(old_kid)));
	age(KEYS_FRESH);
	new_token = token_of(&mine);
	assert_true(uuid_equal(key_signer(db)->id, new_kid));
	assert_int_equal(verify(old_token), TOKEN_FINE);
	assert_int_equal(verify(new_token), TOKEN_FINE);
	/* When the last old token has run out, the old key goes. */
	db_run(db, "UPDATE signing_keys SET retired_at = 1000 WHERE id = ?", ARGS(ID(old_kid)));
	age(KEYS_FRESH);
	assert_int_equal(verify(old_token), TOKEN_BAD);
	assert_int_equal(verify(new_token), TOKEN_FINE);
	assert_null(strstr(key_jwks(db, mem), uuid_text(mem, old_kid)));
	key_rotate(db, mem);
	assert_int_equal(db_number(db, "SELECT COUNT(*) FROM signing_keys WHERE id = ?", ARGS(ID(old_kid)), -1), 0);
}

static void
an_unknown_key_is_looked_for_once_in_ten_seconds(void **state)
{
	struct key_row row = { uuid_new(), NULL, moment_now() };
	EVP_PKEY *key;
	const char *token;

	row.private_pem = key_new_pem(mem);
	key = key_read(row.private_pem);
	age(KEYS_AGAIN);
	token = FORGE(.kid = uuid_text(mem, row.id), .key = key);
	assert_int_equal(verify(token), TOKEN_BAD);
	assert_true(db_insert(db, "signing_keys", &key_record, &row));
	assert_int_equal(verify(token), TOKEN_BAD);
	age(KEYS_AGAIN);
	assert_int_equal(verify(token), TOKEN_FINE);
	db_run(db, "DELETE FROM signing_keys WHERE id = ?", ARGS(ID(row.id)));
	EVP_PKEY_free(key);
	token_forget();
	key_ready(db);
}

static void
a_key_set_says_no_more_than_the_public_half(void **state)
{
	const char *set = key_jwks(db, mem);

	assert_non_null(strstr(set, "\"kty\":\"RSA\",\"alg\":\"RS256\",\"use\":\"sig\",\"n\":\""));
	assert_non_null(strstr(set, "\"e\":\"AQAB\""));
	assert_null(strstr(set, "\"d\""));
	assert_null(strstr(set, "PRIVATE"));
}

static void
without_database_a_remembered_token_is_taken_and_a_new_one_is_no_ones_fault(void **state)
{
	const char *known = token_of(&mine), *unknown = token_of(&mine);
	struct conf away = own;
	struct principal who = { .scopes = 0 };
	struct db *none;

	away.db_socket = "/nonexistent/socket";
	none = db_open(&away, DB_API);
	db_use(none, mem);
	assert_int_equal(verify(known), TOKEN_FINE);
	assert_int_equal(token_verify(none, &away, mem, known, &who), TOKEN_FINE);
	assert_int_equal(token_verify(none, &away, mem, unknown, &who), TOKEN_NO_DB);
	db_close(none);
}

static void
scopes_have_names_and_bits(void **state)
{
	assert_string_equal(scope_name(SCOPE_VIEW_METADATA), "ViewMetadata");
	assert_null(scope_name(SCOPE_PUBLIC));
	assert_null(scope_name(SCOPE_UNSET));
	assert_int_equal(
	    scope_bits("ManageChannel ViewChannel"), SCOPE_BIT(SCOPE_MANAGE_CHANNEL) | SCOPE_BIT(SCOPE_VIEW_CHANNEL));
	assert_int_equal(scope_bits("viewchannel email ViewChannelX ViewChan"), 0);
	assert_int_equal(scope_bits(""), 0);
	assert_int_equal(scope_bits(NULL), 0);
}

static const char *
schema_dir(void)
{
	const char *source = getenv("KINOTHEK_SRC");

	return arena_printf(mem, "%s/schema", source == NULL ? "." : source);
}

/* A database of its own on the server of tests/with-db. */
static int
set_up(void **state)
{
	const char *socket = getenv("KINOTHEK_TEST_SOCKET"), *fault = NULL;
	struct migrations all;

	if (socket == NULL)
		return -1;
	mem = arena_new(256 << 20);
	conf = conf_parse(arena_printf(mem,
			      "public_url = https://media.example.org\ndb.socket = %s\ndb.user = root\n"
			      "db.name = information_schema\n",
			      socket),
	    "test", &fault);
	own = *conf;
	own.db_name = arena_printf(mem, "token_test_%d", (int)getpid());
	db = db_open(conf, DB_API);
	db_use(db, mem);
	fault = db_script(db, arena_printf(mem, "CREATE DATABASE %s CHARACTER SET utf8mb4", own.db_name));
	db_close(db);
	conf = &own;
	db = db_open(conf, DB_API);
	if (fault != NULL || migrate_run(db, mem, schema_dir(), NULL, &all) != NULL)
		return -1;
	key_rotate(db, mem);
	mine = tenant_new(57600);
	other = tenant_new(3600);
	return key_ready(db) ? 0 : -1;
}

static int
tear_down(void **state)
{
	token_forget();
	db_forgive(db);
	db_script(db, arena_printf(mem, "DROP DATABASE %s", own.db_name));
	db_close(db);
	arena_free(mem);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_granted_token_is_taken_and_names_its_client),
		cmocka_unit_test(a_token_carries_the_claims_that_clients_read),
		cmocka_unit_test(the_forge_itself_makes_good_tokens),
		cmocka_unit_test(an_unsigned_token_is_refused),
		cmocka_unit_test(an_hmac_with_the_public_key_is_refused),
		cmocka_unit_test(another_key_or_algorithm_is_refused),
		cmocka_unit_test(a_head_that_wants_more_is_refused),
		cmocka_unit_test(wrong_claims_are_refused),
		cmocka_unit_test(duplicate_and_ill_typed_claims_are_refused),
		cmocka_unit_test(times_count_with_a_minute_of_leeway),
		cmocka_unit_test(only_strict_base64url_in_three_parts_is_read),
		cmocka_unit_test(an_endless_token_is_refused_unread),
		cmocka_unit_test(a_revoked_client_is_refused_after_a_minute_at_most),
		cmocka_unit_test(scopes_that_a_client_has_lost_count_no_more),
		cmocka_unit_test(a_remembered_token_still_expires),
		cmocka_unit_test(the_cache_is_bounded_and_never_mixes_tokens_up),
		cmocka_unit_test(wrong_credentials_all_get_nothing),
		cmocka_unit_test(secrets_are_kept_salted_and_hashed),
		cmocka_unit_test(two_keys_verify_while_the_new_one_settles_in),
		cmocka_unit_test(an_unknown_key_is_looked_for_once_in_ten_seconds),
		cmocka_unit_test(a_key_set_says_no_more_than_the_public_half),
		cmocka_unit_test(without_database_a_remembered_token_is_taken_and_a_new_one_is_no_ones_fault),
		cmocka_unit_test(scopes_have_names_and_bits),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
