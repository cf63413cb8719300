/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens taken apart, keys of JSON Web Key sets, signatures. */
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <string.h>

#include "core/buf.h"
#include "core/jwt.h"

enum {
	RSA_MIN = 256, RSA_MAX = 1024,	/* bytes of the modulus: a longer one would make each check slow */
	EXPONENT_MAX = 4,
	HALF = 32,			/* bytes of a P-256 coordinate, and of each half of a signature */
};

struct head { const char *alg, *typ, *kid; struct json crit; };
static const struct field head_fields[] = {
	FIELD(struct head, alg, .on = CREATE, .required = true, .doc = "Algorithm"),
	FIELD(struct head, typ, .on = CREATE, .doc = "JWT or at+jwt"),
	FIELD(struct head, kid, .on = CREATE, .required = true, .min = 1, .max = 255, .doc = "Id of the key"),
	FIELD(struct head, crit, .on = CREATE, .doc = "Extensions that must be understood: none are"),
};
static const struct record head_record = RECORD("TokenHead", struct head, head_fields);

struct jwk { const char *kid, *kty, *alg, *use, *n, *e, *crv, *x, *y; struct strings key_ops; };
static const struct field jwk_fields[] = {
	FIELD(struct jwk, kid, .doc = "Id"),
	FIELD(struct jwk, kty, .doc = "RSA or EC"),
	FIELD(struct jwk, alg, .doc = "The algorithm that it is for"),
	FIELD(struct jwk, use, .doc = "sig or enc"),
	FIELD(struct jwk, n, .doc = "Modulus"),
	FIELD(struct jwk, e, .doc = "Exponent"),
	FIELD(struct jwk, crv, .doc = "Curve"),
	FIELD(struct jwk, x, .doc = "Of the point"),
	FIELD(struct jwk, y, .doc = "Of the point"),
	FIELD(struct jwk, key_ops, .json = "key_ops", .doc = "What it may be used for"),
};
static const struct record jwk_record = RECORD("WebKey", struct jwk, jwk_fields);

struct jwks { struct list keys; };
static const struct field jwks_fields[] = {
	FIELD(struct jwks, keys, .of = &jwk_record, .doc = "Keys"),
};
static const struct record jwks_record = RECORD("WebKeySet", struct jwks, jwks_fields);

/* 0: none of ours. */
static unsigned
alg_bit(const char *name)
{
	return strcmp(name, "RS256") == 0 ? JWT_RS256 : strcmp(name, "PS256") == 0 ? JWT_PS256
	    : strcmp(name, "ES256") == 0						? JWT_ES256
											: 0;
}

/* Three parts with something in each. */
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

static bool
head_fits(struct arena *mem, const void *json, size_t n, struct jwt *t)
{
	const struct head *head;
	uint64_t given;

	head = record_decode_foreign(mem, &head_record, json, n, &given);
	if (head == NULL || given & record_bit(&head_record, "crit"))
		return false;
	t->alg = alg_bit(head->alg);
	t->typ = head->typ;
	t->kid = head->kid;
	return t->alg != 0;
}

bool
jwt_parse(struct arena *mem, const char *token, struct jwt *t)
{
	unsigned char *bytes[3];
	const char *at[3];
	long size[3];
	size_t n[3];
	int i;

	if (strnlen(token, JWT_LENGTH + 1) > JWT_LENGTH || !split(token, at, n))
		return false;
	for (i = 0; i < 3; i++)
		if ((size[i] = base64url_decode(mem, at[i], n[i], &bytes[i])) < 0)
			return false;
	*t = (struct jwt){ .text = token, .n = n[0] + 1 + n[1], .signature = bytes[2], .signature_n = (size_t)size[2],
		.claims = (const char *)bytes[1], .claims_n = (size_t)size[1] };
	return head_fits(mem, bytes[0], (size_t)size[0], t);
}

struct iss { const char *iss; };
static const struct field iss_fields[] = {
	FIELD(struct iss, iss, .on = CREATE, .required = true, .doc = "Issuer"),
};
static const struct record iss_record = RECORD("TokenIssuer", struct iss, iss_fields);

const char *
jwt_issuer(struct arena *mem, const struct jwt *t)
{
	uint64_t given;
	const struct iss *claims = record_decode_foreign(mem, &iss_record, t->claims, t->claims_n, &given);

	return claims == NULL ? NULL : claims->iss;
}

/* The two numbers of an ES256 signature as OpenSSL wants them.  Returns the size, or 0. */
static size_t
to_der(const unsigned char *halves, size_t n, unsigned char out[80])
{
	ECDSA_SIG *both = n == 2 * HALF ? ECDSA_SIG_new() : NULL;
	int size;

	if (both == NULL)
		return 0;
	if (ECDSA_SIG_set0(both, BN_bin2bn(halves, HALF, NULL), BN_bin2bn(halves + HALF, HALF, NULL)) != 1)
		abort();
	size = i2d_ECDSA_SIG(both, &out);
	ECDSA_SIG_free(both);
	return size > 0 ? (size_t)size : 0;
}

bool
jwt_signed_by(const struct jwt *t, const struct jwt_key *key)
{
	const unsigned char *signature = t->signature;
	size_t n = t->signature_n;
	EVP_PKEY_CTX *padding;
	EVP_MD_CTX *context;
	unsigned char der[80];
	bool fits;

	if ((t->alg & key->algs) == 0)
		return false;
	if (t->alg == JWT_ES256) {
		n = to_der(signature, n, der);
		signature = der;
	}
	context = EVP_MD_CTX_new();
	if (context == NULL)
		abort();
	fits = n > 0 && EVP_DigestVerifyInit(context, &padding, EVP_sha256(), NULL, key->pkey) == 1 &&
	    (t->alg != JWT_PS256 || (EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1 &&
	    EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST) == 1)) &&
	    EVP_DigestVerify(context, signature, n, (const unsigned char *)t->text, t->n) == 1;
	EVP_MD_CTX_free(context);
	ERR_clear_error();
	return fits;
}

/* Sets. */

static EVP_PKEY *
key_make(const char *type, OSSL_PARAM_BLD *parts)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(parts);
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	if (params == NULL || context == NULL)
		abort();
	if (EVP_PKEY_fromdata_init(context) != 1 || EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(context);
	context = key == NULL ? NULL : EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
	if (context != NULL && EVP_PKEY_public_check_quick(context) != 1) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	EVP_PKEY_CTX_free(context);
	OSSL_PARAM_free(params);
	ERR_clear_error();
	return key;
}

/* The bytes of a number, without zeros before them; -1: none. */
static long
number(struct arena *mem, const char *text, unsigned char **out)
{
	long n = text == NULL ? -1 : base64url_decode(mem, text, strlen(text), out);

	for (; n > 0 && (*out)[0] == 0; n--)
		++*out;
	return n;
}

static EVP_PKEY *
rsa_key(struct arena *mem, const struct jwk *k)
{
	OSSL_PARAM_BLD *parts;
	unsigned char *n, *e;
	long n_size = number(mem, k->n, &n), e_size = number(mem, k->e, &e);
	BIGNUM *modulus, *exponent;
	EVP_PKEY *key;

	if (n_size < RSA_MIN || n_size > RSA_MAX || e_size < 1 || e_size > EXPONENT_MAX)
		return NULL;
	parts = OSSL_PARAM_BLD_new();
	modulus = BN_bin2bn(n, (int)n_size, NULL);
	exponent = BN_bin2bn(e, (int)e_size, NULL);
	if (parts == NULL || OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_N, modulus) != 1 ||
	    OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_E, exponent) != 1)
		abort();
	key = BN_is_odd(modulus) && BN_is_odd(exponent) && !BN_is_one(exponent) ? key_make("RSA", parts) : NULL;
	OSSL_PARAM_BLD_free(parts);
	BN_free(modulus);
	BN_free(exponent);
	return key;
}

static EVP_PKEY *
curve_key(struct arena *mem, const struct jwk *k)
{
	unsigned char point[1 + 2 * HALF] = { 4 }, *half;
	const char *const texts[] = { k->x, k->y };
	OSSL_PARAM_BLD *parts;
	EVP_PKEY *key;
	int i;

	for (i = 0; i < 2; i++) {
		if (texts[i] == NULL || base64url_decode(mem, texts[i], strlen(texts[i]), &half) != HALF)
			return NULL;
		memcpy(point + 1 + i * HALF, half, HALF);
	}
	parts = OSSL_PARAM_BLD_new();
	if (parts == NULL || OSSL_PARAM_BLD_push_utf8_string(parts, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) != 1 ||
	    OSSL_PARAM_BLD_push_octet_string(parts, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)) != 1)
		abort();
	key = key_make("EC", parts);
	OSSL_PARAM_BLD_free(parts);
	return key;
}

static bool
may_verify(const struct jwk *k)
{
	size_t i;

	if (k->use != NULL && strcmp(k->use, "sig") != 0)
		return false;
	for (i = 0; i < k->key_ops.n; i++)
		if (strcmp(k->key_ops.at[i], "verify") == 0)
			return true;
	return k->key_ops.at == NULL;
}

/* Without pkey: it is none that signs tokens. */
static struct jwt_key
key_read(struct arena *mem, const struct jwk *k)
{
	struct jwt_key key = { .kid = k->kid };
	bool rsa = k->kty != NULL && strcmp(k->kty, "RSA") == 0, curve = k->kty != NULL && strcmp(k->kty, "EC") == 0 &&
	    k->crv != NULL && strcmp(k->crv, "P-256") == 0;

	key.algs = rsa ? JWT_RS256 | JWT_PS256 : curve ? JWT_ES256 : 0;
	if (k->alg != NULL)
		key.algs &= alg_bit(k->alg);
	if (key.algs == 0 || k->kid == NULL || k->kid[0] == '\0' || utf8_length(k->kid) > 255 || !may_verify(k))
		return key;
	key.pkey = rsa ? rsa_key(mem, k) : curve_key(mem, k);
	return key;
}

static bool
is_there(const struct jwt_key *keys, size_t n, const char *kid)
{
	while (n > 0)
		if (strcmp(keys[--n].kid, kid) == 0)
			return true;
	return false;
}

size_t
jwt_keys(struct arena *mem, const char *json, struct jwt_key *keys, size_t max)
{
	const struct jwks *set = record_parse(mem, &jwks_record, json);
	const struct jwk *at = set == NULL ? NULL : set->keys.rows;
	struct jwt_key key;
	size_t i, n = 0;

	for (i = 0; at != NULL && i < set->keys.n && n < max; i++) {
		if (at[i].kid != NULL && is_there(keys, n, at[i].kid))
			continue;
		key = key_read(mem, &at[i]);
		if (key.pkey != NULL)
			keys[n++] = key;
	}
	return n;
}

void
jwt_keys_free(struct jwt_key *keys, size_t n)
{
	while (n > 0)
		EVP_PKEY_free(keys[--n].pkey);
}

bool
jwt_names(struct arena *mem, const char *json, const char *word)
{
	struct strings all = strings_parse(mem, *json == '[' ? json : arena_printf(mem, "[%s]", json));
	size_t i;

	for (i = 0; i < all.n; i++)
		if (strcmp(all.at[i], word) == 0)
			return true;
	return false;
}
