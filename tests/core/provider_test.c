/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of external servers: what such a server has signed for us is taken, nothing else is, and no server can hold,
 * fill or mislead us.  The file under test is included, so that what it knows can be aged. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/client.h"
#include "core/key.h"
#include "core/log.h"
#include "core/migrate.h"
#include "core/provider.c"
#include "core/web.h"
#include "tests/inside.h"

/* What the server of the test does, as all processes see it. */
enum mood { FINE, SLOW, HUGE_SET, AWAY, BROKEN };
static struct peer { enum mood mood; char set[65536]; int asked; } *peer;
static pid_t peer_pid;
static int peer_port, canary, canary_port;

static struct arena *mem;
static struct db *db;
static struct conf own;
static const char *issuer, *other_issuer;
static EVP_PKEY *rsa, *curve, *strange;
struct tenant { struct uuid id; char shortcode[24]; };
static struct tenant mine, other;

static int
listen_on(int *port)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, size) != 0 || listen(fd, 64) != 0 ||
	    getsockname(fd, (struct sockaddr *)&name, &size) != 0)
		return -1;
	*port = ntohs(name.sin_port);
	return fd;
}

static void
serve(int fd)
{
	char request[4096] = "", filler[65536];
	int i;

	if (read(fd, request, sizeof(request) - 1) <= 0)
		return;
	__atomic_add_fetch(&peer->asked, 1, __ATOMIC_SEQ_CST);
	memset(filler, ' ', sizeof(filler));
	if (peer->mood == SLOW)
		sleep(20);
	else if (peer->mood == AWAY)
		dprintf(fd, "HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n",
		    canary_port);
	else if (peer->mood == BROKEN)
		dprintf(fd, "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\n{}");
	else if (peer->mood == HUGE_SET) {
		dprintf(fd, "HTTP/1.1 200 OK\r\n\r\n");
		for (i = 0; i < 160 && write(fd, filler, sizeof(filler)) > 0; i++)
			continue;
		dprintf(fd, "%s", peer->set);
	} else if (strstr(request, "openid-configuration") != NULL)
		dprintf(fd,
		    "HTTP/1.1 200 OK\r\n\r\n{\"issuer\":\"http://127.0.0.1:%d%s\",\"jwks_uri\":\"http://127.0.0.1:"
		    "%d/keys\",\"more\":1}", peer_port, strstr(request, "/liar/") != NULL ? "" : "/realms/x",
		    peer_port);
	else
		dprintf(fd, "HTTP/1.1 200 OK\r\n\r\n%s", peer->set);
}

static void
peer_main(int listener)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0 && fork() == 0) {
			serve(fd);
			_exit(0);
		}
		close(fd);
	}
}

/* Keys and sets. */

static const char *
number_of(EVP_PKEY *key, const char *name, int size)
{
	BIGNUM *n = NULL;
	unsigned char bytes[1024];

	assert_int_equal(EVP_PKEY_get_bn_param(key, name, &n), 1);
	size = size > 0 ? size : BN_num_bytes(n);
	assert_int_equal(BN_bn2binpad(n, bytes, size), size);
	BN_free(n);
	return base64url_encode(mem, bytes, (size_t)size);
}

static const char *
jwk_of(EVP_PKEY *key, const char *kid, const char *more)
{
	if (EVP_PKEY_is_a(key, "RSA"))
		return arena_printf(mem, "{\"kid\":\"%s\",\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"%s}", kid,
		    number_of(key, OSSL_PKEY_PARAM_RSA_N, 0), number_of(key, OSSL_PKEY_PARAM_RSA_E, 0), more);
	return arena_printf(mem, "{\"kid\":\"%s\",\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\",\"y\":\"%s\"%s}", kid,
	    number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, 32), number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32), more);
}

static void
publish(const char *keys)
{
	snprintf(peer->set, sizeof(peer->set), "{\"keys\":[%s]}", keys);
}

static void
publish_all(void)
{
	publish(arena_printf(mem, "%s,%s,%s,%s", jwk_of(rsa, "r", ",\"use\":\"sig\",\"x5t\":\"a\""), jwk_of(curve, "c",
	    ""), jwk_of(rsa, "only-rs", ",\"alg\":\"RS256\""), jwk_of(strange, "enc", ",\"use\":\"enc\"")));
}

/* Tokens. */

struct forged {
	const char *alg, *typ, *kid, *head_more;
	const char *iss, *aud, *sub, *more;	/* aud: JSON; "" leaves it out */
	int64_t exp;				/* s from now; 0: an hour */
	EVP_PKEY *key;
};

static const char *
sign(const char *alg, EVP_PKEY *key, const char *text)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char out[1024], halves[64];
	const unsigned char *at = out;
	EVP_PKEY_CTX *padding;
	size_t n = sizeof(out);
	ECDSA_SIG *both;

	assert_int_equal(EVP_DigestSignInit(context, &padding, EVP_sha256(), NULL, key), 1);
	if (strcmp(alg, "PS256") == 0) {
		EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING);
		EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST);
	}
	assert_int_equal(EVP_DigestSign(context, out, &n, (const unsigned char *)text, strlen(text)), 1);
	EVP_MD_CTX_free(context);
	if (!EVP_PKEY_is_a(key, "EC") || strcmp(alg, "der") == 0)
		return base64url_encode(mem, out, n);
	both = d2i_ECDSA_SIG(NULL, &at, (long)n);
	BN_bn2binpad(ECDSA_SIG_get0_r(both), halves, 32);
	BN_bn2binpad(ECDSA_SIG_get0_s(both), halves + 32, 32);
	ECDSA_SIG_free(both);
	return base64url_encode(mem, halves, 64);
}

static const char *
text_of(const struct forged *f)
{
	static int count;
	const char *head, *claims,
	    *aud = f->aud == NULL ? ",\"aud\":\"media\"" : *f->aud == '\0' ? "" : arena_printf(mem,
	    ",\"aud\":%s", f->aud);

	head = arena_printf(mem, "{\"alg\":\"%s\",\"kid\":\"%s\"%s%s}", f->alg != NULL ? f->alg : "RS256",
	    f->kid != NULL ? f->kid : "r", f->typ == NULL ? "" : arena_printf(mem, ",\"typ\":\"%s\"", f->typ),
	    f->head_more != NULL ? f->head_more : "");
	claims = arena_printf(mem, "{\"iss\":\"%s\",\"sub\":\"%s\",\"exp\":%lld,\"jti\":\"%d\"%s%s}",
	    f->iss != NULL ? f->iss : issuer, f->sub != NULL ? f->sub : "anna",
	    (long long)(moment_now().ms / 1000 + (f->exp != 0 ? f->exp : 3600)), count++, aud,
	    f->more != NULL ? f->more : ",\"scope\":\"ViewChannel\"");
	return arena_printf(mem, "%s.%s", base64url_encode(mem, head, strlen(head)), base64url_encode(mem, claims,
	    strlen(claims)));
}

static const char *
forge(struct forged f)
{
	const char *text = text_of(&f);

	return arena_printf(mem, "%s.%s", text, sign(f.alg != NULL ? f.alg : "RS256", f.key != NULL ? f.key : rsa,
	    text));
}

#define FORGE(...) forge((struct forged){ __VA_ARGS__ })

static struct principal who;

static enum token_fault
verify_at_once(const char *token)
{
	who = (struct principal){ .address = "192.0.2.7" };
	return token_verify(db, &own, mem, token, &who);
}

/* What the runner does with a job that was added. */
static bool
runner(void)
{
	const char *id = db_text(db, "SELECT LOWER(HEX(tenant_id)) FROM jobs WHERE kind = 'keys' LIMIT 1", NO_ARGS);
	const char *set, *why;
	const struct tenant *t = id != NULL && strcmp(id, hex_encode(mem, mine.id.b, 16)) == 0 ? &mine : &other;
	const struct provider *p;

	if (id == NULL || db_run(db, "DELETE FROM jobs WHERE kind = 'keys' AND tenant_id = ?", ARGS(ID(t->id))) < 1)
		return false;
	p = provider_of_tenant(db, t->id);
	set = provider_fetch(mem, &own, p->jwks_uri, &why);
	if (set != NULL)
		provider_keep_keys(db, p, set);
	return true;
}

/* As of a client that tries again when the runner has had its time. */
static enum token_fault
verify(const char *token)
{
	enum token_fault fault = verify_at_once(token);

	if (!runner())
		return fault;
	token_forget();
	return verify_at_once(token);
}

static enum token_fault
claims(const char *more)
{
	return verify(FORGE(.more = more));
}

/* Time goes on, for this process and in the database. */
static void
age(int64_t seconds)
{
	size_t i;

	for (i = 0; i < PLACES; i++) {
		places[i].looked_at -= seconds;
		places[i].tried_at -= seconds;
	}
	db_run(db, "UPDATE tenant_providers SET read_at = read_at - ?, asked_at = asked_at - ?",
	    ARGS(INT(seconds * 1000),
	    INT(seconds * 1000)));
}

static void
set_provider(const struct tenant *t, const char *iss, const char *audiences, const char *clients)
{
	db_run(db, "DELETE FROM tenant_providers WHERE tenant_id = ?", ARGS(ID(t->id)));
	db_run(db, "INSERT INTO tenant_providers (tenant_id, issuer, jwks_uri, audiences, clients, roles_claim, "
	    "name_claim, "
	    "created_at, updated_at) VALUES (?, ?, ?, ?, ?, 'realm_access.roles', 'name', 1, 1)", ARGS(ID(t->id),
	    STR(iss), STR(arena_printf(mem, "http://127.0.0.1:%d/keys", peer_port)), STR(audiences), STR(clients)));
	assert_int_equal(db_failure(db), DB_FINE);
	token_forget();
}

static int
begin(void **state)
{
	peer->mood = FINE;
	publish_all();
	set_provider(&mine, issuer, "[\"media\",\"film\"]", "[]");
	set_provider(&other, other_issuer, "[\"media\"]", "[]");
	peer->asked = 0;
	return 0;
}

static void
a_token_of_the_provider_is_taken_and_makes_a_user(void **state)
{
	struct uuid id;

	assert_int_equal(verify(FORGE(.sub = "first", .more = ",\"name\":\"Anna Åkesson\",\"scope\":\"openid "
	    "ViewChannel ViewMetadata\"")), TOKEN_FINE);
	assert_true(uuid_equal(who.tenant_id, mine.id));
	assert_string_equal(who.shortcode, mine.shortcode);
	assert_string_equal(who.name, "Anna Åkesson");
	assert_false(who.is_super_admin);
	assert_int_equal(who.scopes, SCOPE_BIT(SCOPE_VIEW_CHANNEL) | SCOPE_BIT(SCOPE_VIEW_METADATA));
	assert_true(llabs(who.expires - moment_now().ms / 1000 - 3600) < 5);
	id = who.id;
	assert_int_equal(db_number(db, "SELECT COUNT(*) FROM principals WHERE id = ? AND tenant_id = ? AND kind = "
	    "'user' AND is_super_admin = 0", ARGS(ID(id), ID(mine.id)), 0), 1);
	assert_int_equal(db_number(db, "SELECT COUNT(*) FROM events WHERE is_audit = 1 AND type = 'user.created' AND "
	    "object_id = ? AND tenant_id = ? AND address = '192.0.2.7'", ARGS(ID(id), ID(mine.id)), 0), 1);
	assert_int_equal(db_number(db, "SELECT COUNT(*) FROM channels c JOIN memberships m ON m.channel_id = c.id "
	    "WHERE c.type = 'user' AND m.principal_id = ?", ARGS(ID(id)), 0), 1);
	/* Whoever comes again is who it was; the name follows. */
	assert_int_equal(verify(FORGE(.sub = "first", .more = ",\"name\":\"Anna Berg\"")), TOKEN_FINE);
	assert_true(uuid_equal(who.id, id));
	assert_string_equal(db_text(db, "SELECT name FROM principals WHERE id = ?", ARGS(ID(id))), "Anna Berg");
	assert_int_equal(who.scopes, 0);
	assert_int_equal(verify(FORGE(.sub = "second")), TOKEN_FINE);
	assert_false(uuid_equal(who.id, id));
	assert_int_equal(verify(FORGE(.sub = "FIRST")), TOKEN_FINE);
	assert_false(uuid_equal(who.id, id));
	/* The same sub of another issuer is somebody else. */
	assert_int_equal(verify(FORGE(.sub = "first", .iss = other_issuer)), TOKEN_FINE);
	assert_false(uuid_equal(who.id, id));
	assert_true(uuid_equal(who.tenant_id, other.id));
}

static void
three_algorithms_are_taken_each_with_a_key_that_allows_it(void **state)
{
	struct jwt t;

	assert_int_equal(verify(FORGE(.alg = "RS256")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.alg = "PS256")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.alg = "ES256", .kid = "c", .key = curve)), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.kid = "only-rs")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.alg = "PS256", .kid = "only-rs")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "RS256", .kid = "c", .key = curve)), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "ES256", .kid = "r")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "RS512")), TOKEN_BAD);
	assert_false(jwt_parse(mem, FORGE(.alg = "RS512"), &t));
	assert_int_equal(verify(FORGE(.alg = "rs256")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "EdDSA")), TOKEN_BAD);
	/* A key for another use is none. */
	assert_int_equal(verify(FORGE(.kid = "enc", .key = strange)), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.kid = "r", .key = strange)), TOKEN_BAD);
}

static void
an_unsigned_token_and_an_hmac_are_refused(void **state)
{
	static const char *const algs[] = { "none", "None", "HS256", "RS256" };
	struct forged f = { .alg = NULL };
	BIO *bio = BIO_new(BIO_s_mem());
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned n;
	char *pem;
	const char *text;
	long size;
	size_t i;

	assert_int_equal(PEM_write_bio_PUBKEY(bio, rsa), 1);
	size = BIO_get_mem_data(bio, &pem);
	for (i = 0; i < sizeof(algs) / sizeof(algs[0]); i++) {
		f.alg = algs[i];
		text = text_of(&f);
		assert_int_equal(verify(arena_printf(mem, "%s.", text)), TOKEN_BAD);
		assert_int_equal(verify(text), TOKEN_BAD);
		HMAC(EVP_sha256(), pem, (int)size, (const unsigned char *)text, strlen(text), mac, &n);
		assert_int_equal(verify(arena_printf(mem, "%s.%s", text, base64url_encode(mem, mac, n))), TOKEN_BAD);
	}
	BIO_free(bio);
}

static void
an_es256_signature_is_two_halves_and_nothing_else(void **state)
{
	struct forged f = { .alg = "ES256", .kid = "c" };
	const char *text = text_of(&f), *good = sign("ES256", curve, text);
	unsigned char *bytes, zeros[64] = { 0 }, longer[65] = { 0 };

	assert_int_equal(verify(arena_printf(mem, "%s.%s", text, sign("der", curve, text))), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, "%s.%s", text, base64url_encode(mem, zeros, 64))), TOKEN_BAD);
	assert_int_equal(base64url_decode(mem, good, strlen(good), &bytes), 64);
	memcpy(longer, bytes, 64);
	assert_int_equal(verify(arena_printf(mem, "%s.%s", text, base64url_encode(mem, longer, 65))), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, "%s.%s", text, base64url_encode(mem, bytes, 63))), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, "%s.%s", text, good)), TOKEN_FINE);
}

static void
a_head_that_wants_more_is_refused_and_its_own_keys_are_not_looked_at(void **state)
{
	assert_int_equal(verify(FORGE(.head_more = ",\"crit\":[\"exp\"]")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.head_more = ",\"alg\":\"none\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.kid = "")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.kid = "../../etc/passwd")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.kid = "own", .key = strange, .head_more = arena_printf(mem, ",\"jwk\":%s",
	    jwk_of(strange, "own", "")))), TOKEN_BAD);
	peer->asked = 0;
	assert_int_equal(verify(FORGE(.kid = "own", .key = strange, .head_more = arena_printf(mem,
	    ",\"jku\":\"http://127.0.0.1:%d/\",\"x5u\":\"http://127.0.0.1:%d/\"", peer_port, peer_port))), TOKEN_BAD);
	assert_int_equal(peer->asked, 0);
}

static void
only_access_tokens_are_taken(void **state)
{
	assert_int_equal(verify(FORGE(.typ = "JWT")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.typ = "at+jwt")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.typ = "application/at+JWT")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.typ = "logout+jwt")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.typ = "dpop+jwt")), TOKEN_BAD);
	assert_int_equal(claims(",\"typ\":\"Bearer\",\"nonce\":\"x\""), TOKEN_FINE);
	assert_int_equal(claims(",\"typ\":\"ID\""), TOKEN_BAD);
	assert_int_equal(claims(",\"typ\":\"Refresh\""), TOKEN_BAD);
	assert_int_equal(claims(",\"token_use\":\"access\""), TOKEN_FINE);
	assert_int_equal(claims(",\"token_use\":\"id\""), TOKEN_BAD);
	assert_int_equal(claims(",\"token_use\":\"access\",\"nonce\":\"x\""), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.typ = "at+jwt", .more = ",\"nonce\":\"x\"")), TOKEN_FINE);
	assert_int_equal(claims(",\"nonce\":\"x\""), TOKEN_BAD);
	assert_int_equal(claims(",\"at_hash\":\"x\",\"typ\":\"Bearer\""), TOKEN_BAD);
	assert_int_equal(claims(",\"c_hash\":\"x\""), TOKEN_BAD);
	assert_int_equal(claims(",\"events\":{}"), TOKEN_BAD);
}

static void
the_issuer_decides_and_must_be_exact(void **state)
{
	assert_int_equal(verify(FORGE(.iss = "https://evil.example/realms/x")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = arena_printf(mem, "%s/", issuer))), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = arena_printf(mem, "%s ", issuer))), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = arena_copy_n(mem, issuer, strlen(issuer) - 1))), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = "http://127.0.0.1:1/REALMS/x")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = "ünïcode")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = "")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = arena_printf(mem, ",\"iss\":\"%s\"", other_issuer))), TOKEN_BAD);
	/* Signed by the key of another tenant's server. */
	db_run(db, "UPDATE tenant_providers SET key_set = ?, read_at = " SQL_NOW ", asked_at = " SQL_NOW " WHERE "
	    "tenant_id = ?", ARGS(STR(arena_printf(mem, "{\"keys\":[%s]}", jwk_of(strange, "r", ""))), ID(other.id)));
	assert_int_equal(verify(FORGE(.iss = other_issuer, .key = strange)), TOKEN_FINE);
	assert_true(uuid_equal(who.tenant_id, other.id));
	assert_int_equal(verify(FORGE(.key = strange)), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.iss = other_issuer)), TOKEN_BAD);
}

static void
the_audience_must_be_ours(void **state)
{
	assert_int_equal(verify(FORGE(.aud = "\"media\"")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.aud = "[\"elsewhere\",\"film\"]")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.aud = "\"elsewhere\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "\"Media\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "\"media film\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "[]")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "null")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "{\"media\":1}")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "[[\"media\"]]")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "", .more = ",\"azp\":\"app\"")), TOKEN_BAD);
}

static void
listed_clients_are_taken_also_without_an_audience(void **state)
{
	set_provider(&mine, issuer, "[\"media\"]", "[\"app\",\"robot\"]");
	assert_int_equal(verify(FORGE(.aud = "", .more = ",\"azp\":\"app\"")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.aud = "", .more = ",\"client_id\":\"robot\"")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.aud = "", .more = ",\"azp\":\"evil\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "", .more = ",\"azp\":\"evil\",\"client_id\":\"app\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.more = ",\"azp\":\"app\"")), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.more = ",\"azp\":\"evil\"")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.aud = "\"elsewhere\"", .more = ",\"azp\":\"app\"")), TOKEN_BAD);
}

static void
times_count_with_a_minute_of_leeway(void **state)
{
	long long now = moment_now().ms / 1000;

	assert_int_equal(verify(FORGE(.exp = -50)), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.exp = -61)), TOKEN_EXPIRED);
	assert_int_equal(claims(arena_printf(mem, ",\"nbf\":%lld,\"iat\":%lld", now + 59, now + 59)), TOKEN_FINE);
	assert_int_equal(claims(arena_printf(mem, ",\"nbf\":%lld", now + 70)), TOKEN_BAD);
	assert_int_equal(claims(arena_printf(mem, ",\"iat\":%lld.5", now - 70)), TOKEN_FINE);
	assert_int_equal(claims(arena_printf(mem, ",\"iat\":%lld", now + 70)), TOKEN_BAD);
	assert_int_equal(claims(",\"iat\":\"now\""), TOKEN_BAD);
	assert_int_equal(claims(",\"nbf\":null"), TOKEN_BAD);
	assert_int_equal(claims(",\"nbf\":1e400"), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.exp = INT64_C(1) << 52)), TOKEN_FINE);
}

static void
broken_and_overfull_claims_are_refused(void **state)
{
	struct buf many = BUF(mem);
	int i;

	assert_int_equal(claims(",\"exp\":99999999999"), TOKEN_BAD);
	assert_int_equal(claims(",\"s\\u0075b\":\"x\""), TOKEN_BAD);
	assert_int_equal(claims(",'a':1"), TOKEN_BAD);
	assert_int_equal(claims("} "), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.sub = "")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.sub = arena_printf(mem, "%0255d", 1))), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.sub = arena_printf(mem, "%0256d", 1))), TOKEN_BAD);
	assert_int_equal(claims(arena_printf(mem, ",\"x\":\"%*s\"", 8000, "")), TOKEN_BAD);
	assert_int_equal(verify(arena_printf(mem, "%s=", FORGE(.alg = NULL))), TOKEN_BAD);
	/* Many that we do not know are no fault. */
	for (i = 0; i < 60; i++)
		buf_printf(&many, ",\"claim%d\":{\"a\":[1,\"b\"]}", i);
	assert_int_equal(claims(buf_string(&many)), TOKEN_FINE);
}

static unsigned
scopes_of(const char *more)
{
	assert_int_equal(claims(more), TOKEN_FINE);
	return who.scopes;
}

/* When a token of that user has said so last. */
static int64_t
super_admin_at(void)
{
	return db_number(db, "SELECT super_admin_at FROM provider_users WHERE id = ?", ARGS(ID(who.id)), -1);
}

static void
permissions_come_from_roles_and_scope_and_super_admins_from_roles_alone(void **state)
{
	const unsigned view = SCOPE_BIT(SCOPE_VIEW_CHANNEL), make = SCOPE_BIT(SCOPE_CREATE_CONTENT);

	assert_int_equal(scopes_of(",\"realm_access\":{\"roles\":[\"ViewChannel\",\"offline_access\"]},\"scope\":"
	    "\"email CreateContent\""), view | make);
	assert_false(who.is_super_admin);
	assert_int_equal(scopes_of(",\"realm_access\":{\"roles\":[\"SuperAdmin\"]}"), 0);
	assert_true(who.is_super_admin);
	assert_int_equal(db_number(db, "SELECT is_super_admin FROM principals WHERE id = ?", ARGS(ID(who.id)), -1), 0);
	assert_true(super_admin_at() >= moment_now().ms - 60000);
	assert_int_equal(scopes_of(",\"scope\":\"SuperAdmin\""), 0);
	assert_false(who.is_super_admin);
	assert_int_equal(super_admin_at(), 0);
	scopes_of(",\"realm_access\":{\"roles\":[\"no SuperAdmin\",\"superadmin\"]},\"roles\":[\"SuperAdmin\"]");
	assert_false(who.is_super_admin);
	assert_int_equal(scopes_of(",\"realm_access\":{\"roles\":[\"never ViewChannel\"]}"), 0);
	assert_int_equal(scopes_of(",\"realm_access\":\"ViewChannel\""), 0);
	assert_int_equal(scopes_of(",\"realm_access\":{\"roles\":{\"a\":\"SuperAdmin\"}},\"scope\":7"), 0);
	assert_false(who.is_super_admin);
	assert_int_equal(scopes_of(",\"realm_access\":{\"roles\":\"ViewChannel CreateContent\"}"), view | make);
	assert_int_equal(scopes_of(",\"realm_access.roles\":[\"ViewChannel\"]"), view);
}

static void
names_are_fit_to_be_shown(void **state)
{
	assert_int_equal(claims(",\"preferred_username\":\"anna\""), TOKEN_FINE);
	assert_string_equal(who.name, "anna");
	assert_int_equal(claims(",\"name\":\" \\n \",\"azp\":\"robot\""), TOKEN_FINE);
	assert_string_equal(who.name, "robot");
	assert_int_equal(claims(",\"name\":[\"x\"]"), TOKEN_FINE);
	assert_string_equal(who.name, "anna");
	assert_int_equal(claims(",\"name\":\"An\\u0000na\""), TOKEN_BAD);
	assert_int_equal(claims(",\"name\":\"An\\nna\""), TOKEN_FINE);
	assert_string_equal(who.name, "An na");
	assert_int_equal(claims(arena_printf(mem, ",\"name\":\"%0300d\"", 1)), TOKEN_FINE);
	assert_int_equal(strlen(who.name), 255);
	assert_int_equal(db_failure(db), DB_FINE);
}

static void
a_disabled_user_stays_refused(void **state)
{
	assert_int_equal(verify(FORGE(.sub = "gone")), TOKEN_FINE);
	db_run(db, "UPDATE provider_users SET disabled_at = 5 WHERE id = ?", ARGS(ID(who.id)));
	assert_int_equal(verify(FORGE(.sub = "gone")), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.sub = "gone", .more = ",\"realm_access\":{\"roles\":[\"SuperAdmin\"]}")),
	    TOKEN_BAD);
	assert_int_equal(db_number(db, "SELECT COUNT(*) FROM provider_users WHERE sub = 'gone'", NO_ARGS, 0), 1);
}

/* Runs in n processes at once, each with a connection of its own; returns the number of those where it went well. */
static int
at_once(int n, bool (*work)(int))
{
	int i, status, fine = 0, gate[2];
	char letter;

	assert_int_equal(pipe(gate), 0);
	for (i = 0; i < n; i++)
		if (fork() == 0) {
			close(gate[1]);
			db_abandon(db);
			db = db_open(&own, DB_API);
			db_use(db, mem);
			db_number(db, "SELECT 1", NO_ARGS, 0);
			if (read(gate[0], &letter, 1) == 0 && work(i))
				_exit(0);
			_exit(1);
		}
	close(gate[0]);
	usleep(300000);
	close(gate[1]);
	for (i = 0; i < n; i++) {
		assert_true(wait(&status) > 0);
		fine += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return fine;
}

static const char *meeting;

static bool
meets(int i)
{
	return token_verify(db, &own, mem, meeting, &who) == TOKEN_FINE;
}

static void
one_user_is_made_however_many_requests_come_at_once(void **state)
{
	int round;

	assert_int_equal(verify(FORGE(.sub = "before")), TOKEN_FINE);
	for (round = 0; round < 5; round++) {
		meeting = FORGE(.sub = arena_printf(mem, "crowd%d", round));
		assert_int_equal(at_once(6, meets), 6);
		assert_int_equal(db_number(db, "SELECT COUNT(*) FROM provider_users WHERE sub = ?",
		    ARGS(STR(arena_printf(mem, "crowd%d", round))), 0), 1);
	}
	assert_int_equal(db_number(db, "SELECT COUNT(*) FROM principals p WHERE p.tenant_id = ? AND p.kind = 'user' "
	    "AND NOT EXISTS (SELECT 1 FROM provider_users u WHERE u.id = p.id)", ARGS(ID(mine.id)), -1), 0);
}

static bool
knows_new_key(int i)
{
	return token_verify(db, &own, mem, FORGE(.kid = "new", .key = strange, .sub = arena_printf(mem, "u%d", i)),
	    &who) == TOKEN_FINE;
}

static void
an_unknown_key_is_asked_for_once_a_minute_by_all_processes(void **state)
{
	int i;

	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	assert_int_equal(peer->asked, 1);
	age(60);
	for (i = 0; i < 28; i++) {
		verify(FORGE(.kid = arena_printf(mem, "invented%d", i)));
		age(AGAIN);
	}
	assert_int_equal(peer->asked, 2);
	age(60);
	publish(arena_printf(mem, "%s,%s", jwk_of(rsa, "r", ""), jwk_of(strange, "new", "")));
	assert_int_equal(at_once(4, knows_new_key), 0);
	assert_true(runner());
	assert_false(runner());
	assert_int_equal(peer->asked, 3);
	/* The others find it in the database. */
	age(AGAIN);
	assert_true(knows_new_key(9));
	assert_int_equal(peer->asked, 3);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
}

/* As another process does that has asked. */
static void
store(const char *keys)
{
	db_run(db, "UPDATE tenant_providers SET key_set = ?, read_at = " SQL_NOW " WHERE tenant_id = ?",
	    ARGS(STR(arena_printf(mem, "{\"keys\":[%s]}", keys)), ID(mine.id)));
}

static void
for_unknown_keys_the_database_is_read_once_in_two_seconds(void **state)
{
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	assert_int_equal(verify(FORGE(.kid = "new", .key = strange)), TOKEN_BAD);
	age(-5);
	store(jwk_of(strange, "new", ""));
	assert_int_equal(verify(FORGE(.kid = "new", .key = strange)), TOKEN_BAD);
	age(5 + AGAIN);
	assert_int_equal(verify(FORGE(.kid = "new", .key = strange)), TOKEN_FINE);
	assert_int_equal(peer->asked, 1);
}

static void
keys_of_an_address_that_was_replaced_meanwhile_are_not_kept(void **state)
{
	const struct provider *p = provider_of_tenant(db, mine.id);

	db_run(db, "UPDATE tenant_providers SET jwks_uri = 'https://login.example.org/keys' WHERE tenant_id = ?",
	    ARGS(ID(mine.id)));
	store(jwk_of(strange, "new", ""));
	provider_keep_keys(db, p, arena_printf(mem, "{\"keys\":[%s]}", jwk_of(rsa, "r", "")));
	assert_int_equal(verify_at_once(FORGE(.kid = "new", .key = strange)), TOKEN_FINE);
	assert_int_equal(verify_at_once(FORGE(.alg = NULL)), TOKEN_NO_KEYS);
	db_run(db, "DELETE FROM jobs WHERE kind = 'keys'", NO_ARGS);
}

static void
a_new_key_with_an_old_id_is_asked_for_too(void **state)
{
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	publish(jwk_of(strange, "r", ""));
	assert_int_equal(verify(FORGE(.key = strange)), TOKEN_BAD);
	assert_int_equal(peer->asked, 1);
	age(60);
	assert_int_equal(verify(FORGE(.key = strange)), TOKEN_FINE);
	assert_int_equal(peer->asked, 2);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_BAD);
}

static void
a_key_that_is_gone_there_is_gone_here_within_minutes(void **state)
{
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	publish(jwk_of(curve, "c", ""));
	age(300);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	age(300);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_BAD);
	assert_int_equal(verify(FORGE(.alg = "ES256", .kid = "c", .key = curve)), TOKEN_FINE);
}

static void
while_the_provider_is_away_its_keys_are_good_for_a_day(void **state)
{
	static const enum mood moods[] = { BROKEN, AWAY, HUGE_SET };
	size_t i;

	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	for (i = 0; i < sizeof(moods) / sizeof(moods[0]); i++) {
		peer->mood = moods[i];
		peer->asked = 0;
		age(7200);
		assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
		assert_int_equal(peer->asked, 1);
	}
	age(86400 - 3 * 7200 - 60);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	age(61);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_NO_KEYS);
	peer->mood = FINE;
	age(60);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
}

static void
a_provider_that_redirects_leads_nowhere(void **state)
{
	struct timeval soon = { .tv_usec = 200000 };

	peer->mood = AWAY;
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_NO_KEYS);
	assert_int_equal(peer->asked, 1);
	setsockopt(canary, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	assert_int_equal(accept(canary, NULL, NULL), -1);
}

static void
a_provider_that_hangs_holds_no_request(void **state)
{
	int64_t began;

	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	peer->mood = SLOW;
	peer->asked = 0;
	age(600);
	assert_int_equal(verify_at_once(FORGE(.alg = NULL)), TOKEN_FINE);
	age(AGAIN);
	/* Nobody can tell yet; afterwards, it is no key. */
	assert_int_equal(verify_at_once(FORGE(.kid = "invented")), TOKEN_NO_KEYS);
	assert_int_equal(peer->asked, 0);
	began = clock_ms();
	assert_true(runner());
	assert_in_range(clock_ms() - began, 2500, 19000); /* it would be told after twenty seconds */
	age(ANSWERED);
	assert_int_equal(verify_at_once(FORGE(.kid = "invented")), TOKEN_BAD);
	assert_int_equal(verify_at_once(FORGE(.alg = NULL)), TOKEN_FINE);
	assert_false(runner());
}

static void
a_set_without_one_fit_key_changes_nothing(void **state)
{
	static const char *const sets[] = { "", "{}", "[]", "{\"keys\":[]}", "{\"keys\":7}", "{\"keys\":[7,null,[]]}",
		"{\"keys\":[{\"kty\":\"oct\",\"kid\":\"r\",\"k\":\"AAAA\"}]}", "{\"keys\":[],\"keys\":[]}",
		"<html>not found</html>" };
	size_t i;

	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		strcpy(peer->set, sets[i]);
		peer->asked = 0;
		age(600);
		assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
		assert_int_equal(peer->asked, 1);
	}
}

static size_t
keys_in(const char *keys)
{
	struct jwt_key out[4];
	size_t n = jwt_keys(mem, arena_printf(mem, "{\"keys\":[%s]}", keys), out, 4);

	jwt_keys_free(out, n);
	return n;
}

static void
odd_keys_of_a_set_are_passed_over(void **state)
{
	EVP_PKEY *small = EVP_RSA_gen(1024), *large = EVP_EC_gen("P-384");
	const char *n = number_of(rsa, OSSL_PKEY_PARAM_RSA_N, 0), *good = jwk_of(rsa, "r", "");
	char *even = arena_copy(mem, n);

	assert_int_equal(keys_in(good), 1);
	assert_int_equal(keys_in(jwk_of(small, "r", "")), 0);
	assert_int_equal(keys_in(arena_printf(mem, "{\"kid\":\"a\",\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"AQ\"}", n)), 0);
	assert_int_equal(keys_in(arena_printf(mem, "{\"kid\":\"a\",\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"}", n,
	    n)), 0);
	assert_int_equal(keys_in(arena_printf(mem,
	    "{\"kid\":\"a\",\"kty\":\"RSA\",\"n\":\"%s%s%s%s%s\",\"e\":\"AQAB\"}", n,
	    arena_copy_n(mem, n, 340), arena_copy_n(mem, n, 340), arena_copy_n(mem, n, 340), "AQAB")), 0);
	even[strlen(even) - 1] = 'A';
	even[strlen(even) - 2] = 'A';
	assert_int_equal(keys_in(arena_printf(mem, "{\"kid\":\"a\",\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"AQAB\"}",
	    even)), 0);
	assert_int_equal(keys_in(arena_printf(mem,
	    "{\"kid\":\"a\",\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"%s\",\"y\":\"%s\"}",
	    number_of(large, OSSL_PKEY_PARAM_EC_PUB_X, 48), number_of(large, OSSL_PKEY_PARAM_EC_PUB_Y, 48))), 0);
	/* A point that is not on the curve. */
	assert_int_equal(keys_in(arena_printf(mem,
	    "{\"kid\":\"a\",\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\",\"y\":\"%s\"}",
	    number_of(curve, OSSL_PKEY_PARAM_EC_PUB_X, 32), number_of(curve, OSSL_PKEY_PARAM_EC_PUB_X, 32))), 0);
	assert_int_equal(keys_in(jwk_of(rsa, "", "")), 0);
	assert_int_equal(keys_in(jwk_of(rsa, arena_printf(mem, "%0256d", 1), "")), 0);
	assert_int_equal(keys_in(jwk_of(rsa, "r", ",\"alg\":\"HS256\"")), 0);
	assert_int_equal(keys_in(jwk_of(rsa, "r", ",\"alg\":\"RSA-OAEP\"")), 0);
	assert_int_equal(keys_in(jwk_of(rsa, "r", ",\"use\":\"enc\"")), 0);
	assert_int_equal(keys_in(jwk_of(rsa, "r", ",\"key_ops\":[\"encrypt\"]")), 0);
	assert_int_equal(keys_in(jwk_of(rsa, "r", ",\"key_ops\":[\"verify\"]")), 1);
	assert_int_equal(keys_in(arena_printf(mem, "%s,%s,7", good, good)), 1);
	assert_int_equal(keys_in(arena_printf(mem, "%s,%s,%s,%s,%s,%s", good, jwk_of(rsa, "2", ""), jwk_of(rsa, "3",
	    ""),
	    jwk_of(rsa, "4", ""), jwk_of(rsa, "5", ""), jwk_of(rsa, "6", ""))), 4);
	EVP_PKEY_free(small);
	EVP_PKEY_free(large);
}

static void
a_provider_that_was_removed_counts_no_more(void **state)
{
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
	db_run(db, "DELETE FROM tenant_providers WHERE tenant_id = ?", ARGS(ID(mine.id)));
	age(FRESH);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_BAD);
}

static void
a_tenant_with_a_provider_takes_no_tokens_of_ours(void **state)
{
	struct uuid client = uuid_new();
	const char *secret = secret_new(mem), *token;
	struct asked asked = { mine.shortcode, uuid_text(mem, client), secret, NULL };

	db_run(db, "INSERT INTO principals (id, tenant_id, kind, name, created_at) VALUES (?, ?, 'client', 'Bot', 1)",
	    ARGS(ID(client), ID(mine.id)));
	db_run(db, "INSERT INTO clients (id, tenant_id, secret_hash, scopes, created_at, updated_at) VALUES (?, ?, ?, "
	    "'ViewChannel', 1, 1)", ARGS(ID(client), ID(mine.id), STR(secret_hash(mem, secret))));
	token = token_grant(db, &own, mem, asked)->access_token;
	assert_int_equal(verify(token), TOKEN_BAD);
	db_run(db, "DELETE FROM tenant_providers WHERE tenant_id = ?", ARGS(ID(mine.id)));
	assert_int_equal(verify(token), TOKEN_FINE);
}

/* Nobody makes us forget a provider by naming others that are not there. */
static void
an_issuer_that_is_not_there_takes_no_place(void **state)
{
	const struct place *p = place_of(db, issuer);
	int i;

	assert_non_null(p);
	for (i = 0; i < 8 * PLACES; i++)
		assert_null(place_of(db, arena_printf(mem, "https://u%d.example.org", i)));
	assert_non_null(p->row);
	assert_string_equal(p->row->issuer, issuer);
}

static void
two_tenants_have_no_issuer_in_common(void **state)
{
	db_run(db, "UPDATE tenant_providers SET issuer = ? WHERE tenant_id = ?", ARGS(STR(issuer), ID(other.id)));
	assert_int_not_equal(db_failure(db), DB_FINE);
	db_forgive(db);
}

static void
in_a_transaction_nobody_is_asked(void **state)
{
	db_begin(db);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_BAD);
	db_rollback(db);
	assert_int_equal(peer->asked, 0);
	assert_int_equal(verify(FORGE(.alg = NULL)), TOKEN_FINE);
}

static void
discovery_must_be_of_the_issuer_itself(void **state)
{
	const char *why = "";

	assert_string_equal(provider_discover(mem, &own, issuer, &why), arena_printf(mem, "http://127.0.0.1:%d/keys",
	    peer_port));
	assert_null(provider_discover(mem, &own, arena_printf(mem, "http://127.0.0.1:%d/liar", peer_port), &why));
	assert_non_null(strstr(why, "calls itself http://127.0.0.1"));
	assert_null(provider_discover(mem, &own, arena_printf(mem, "http://127.0.0.1:%d/realms/x", canary_port), &why));
	assert_non_null(strstr(why, "https"));
	assert_null(provider_discover(mem, &own, "file:///etc/passwd", &why));
	assert_null(provider_fetch(mem, &own, arena_printf(mem, "http://127.0.0.1:%d/", canary_port), &why));
	assert_true(provider_may_ask(mem, &own, "https://login.example.org/realms/a"));
	assert_false(provider_may_ask(mem, &own, "http://login.example.org/realms/a"));
	assert_false(provider_may_ask(mem, &own, "https://user@login.example.org/"));
}

static void
no_spelling_of_an_address_inside_is_asked(void **state)
{
	static const char *const hosts[] = { INSIDE_HOSTS };
	const char *why;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		why = NULL;
		assert_null(provider_discover(mem, &own, arena_printf(mem, "https://%s:%d/realms/x", hosts[i],
		    canary_port), &why));
		assert_string_equal(why, web_sentence(WEB_FORBIDDEN));
		why = NULL;
		assert_null(provider_fetch(mem, &own, arena_printf(mem, "https://%s:%d/keys", hosts[i], canary_port),
		    &why));
		assert_string_equal(why, web_sentence(WEB_FORBIDDEN));
	}
	assert_int_equal(fcntl(canary, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(accept(canary, NULL, NULL), -1);
	(void)state;
}

static struct tenant
tenant_new(const char *name)
{
	struct tenant t = { .id = uuid_new() };

	snprintf(t.shortcode, sizeof(t.shortcode), "%s", name);
	db_run(db, "INSERT INTO tenants (id, shortcode, name, token_lifetime, created_at, updated_at) VALUES (?, ?, "
	    "'T', 3600, 1, 1)", ARGS(ID(t.id), STR(t.shortcode)));
	return t;
}

static int
set_up(void **state)
{
	const char *socket = getenv("KINOTHEK_TEST_SOCKET"), *source = getenv("KINOTHEK_SRC"), *fault = NULL;
	const char *name;
	struct migrations all;
	int listener = listen_on(&peer_port);

	canary = listen_on(&canary_port);
	peer = mmap(NULL, sizeof(*peer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (socket == NULL || listener < 0 || canary < 0 || peer == MAP_FAILED)
		return -1;
	peer_pid = fork();
	if (peer_pid == 0)
		peer_main(listener);
	close(listener);
	log_threshold(LOG_LEVEL_ERROR);
	mem = arena_new(256 << 20);
	own = *conf_parse(arena_printf(mem, "public_url = https://media.example.org\ndb.socket = %s\ndb.user = root\n"
	    "db.name = information_schema\nprovider.private_hosts = 127.0.0.1:%d\n", socket, peer_port), "test",
	    &fault);
	db = db_open(&own, DB_ADMIN);
	db_use(db, mem);
	name = arena_printf(mem, "provider_test_%d", (int)getpid());
	fault = db_script(db, arena_printf(mem, "CREATE DATABASE %s CHARACTER SET utf8mb4", name));
	own.db_name = name;
	db_close(db);
	db = db_open(&own, DB_API);
	db_use(db, mem);
	if (fault == NULL)
		fault = migrate_run(db, mem, arena_printf(mem, "%s/schema", source == NULL ? "." : source), NULL, &all);
	if (fault != NULL) {
		print_error("%s\n", fault);
		return -1;
	}
	key_rotate(db, mem);
	issuer = arena_printf(mem, "http://127.0.0.1:%d/realms/x", peer_port);
	other_issuer = arena_printf(mem, "http://127.0.0.1:%d/realms/y", peer_port);
	rsa = EVP_RSA_gen(2048);
	strange = EVP_RSA_gen(2048);
	curve = EVP_EC_gen("P-256");
	mine = tenant_new("mine");
	other = tenant_new("other");
	return 0;
}

static int
tear_down(void **state)
{
	kill(peer_pid, SIGKILL);
	waitpid(peer_pid, NULL, 0);
	token_forget();
	db_forgive(db);
	db_script(db, arena_printf(mem, "DROP DATABASE %s", own.db_name));
	db_close(db);
	EVP_PKEY_free(rsa);
	EVP_PKEY_free(strange);
	EVP_PKEY_free(curve);
	arena_free(mem);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_token_of_the_provider_is_taken_and_makes_a_user),
		TEST(three_algorithms_are_taken_each_with_a_key_that_allows_it),
		TEST(an_unsigned_token_and_an_hmac_are_refused),
		TEST(an_es256_signature_is_two_halves_and_nothing_else),
		TEST(a_head_that_wants_more_is_refused_and_its_own_keys_are_not_looked_at),
		TEST(only_access_tokens_are_taken),
		TEST(the_issuer_decides_and_must_be_exact),
		TEST(the_audience_must_be_ours),
		TEST(listed_clients_are_taken_also_without_an_audience),
		TEST(times_count_with_a_minute_of_leeway),
		TEST(broken_and_overfull_claims_are_refused),
		TEST(permissions_come_from_roles_and_scope_and_super_admins_from_roles_alone),
		TEST(names_are_fit_to_be_shown),
		TEST(a_disabled_user_stays_refused),
		TEST(one_user_is_made_however_many_requests_come_at_once),
		TEST(an_unknown_key_is_asked_for_once_a_minute_by_all_processes),
		TEST(for_unknown_keys_the_database_is_read_once_in_two_seconds),
		TEST(keys_of_an_address_that_was_replaced_meanwhile_are_not_kept),
		TEST(a_new_key_with_an_old_id_is_asked_for_too),
		TEST(a_key_that_is_gone_there_is_gone_here_within_minutes),
		TEST(while_the_provider_is_away_its_keys_are_good_for_a_day),
		TEST(a_provider_that_redirects_leads_nowhere),
		TEST(a_provider_that_hangs_holds_no_request),
		TEST(a_set_without_one_fit_key_changes_nothing),
		TEST(odd_keys_of_a_set_are_passed_over),
		TEST(a_provider_that_was_removed_counts_no_more),
		TEST(a_tenant_with_a_provider_takes_no_tokens_of_ours),
		TEST(an_issuer_that_is_not_there_takes_no_place),
		TEST(two_tenants_have_no_issuer_in_common),
		TEST(in_a_transaction_nobody_is_asked),
		TEST(discovery_must_be_of_the_issuer_itself),
		TEST(no_spelling_of_an_address_inside_is_asked),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
