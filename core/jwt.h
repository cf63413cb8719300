/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON Web Tokens taken apart, public keys of JSON Web Key sets, and signatures checked with OpenSSL (RFC 7515, 7517,
 * 7518).  What the claims must be is up to those who ask: core/token.c for our own tokens, core/provider.c for others.
 *
 * The algorithm is one of three, and must be one that the key itself allows: a public key is never an HMAC secret, and
 * "none" is no algorithm.  Keys that a token brings along (jwk, jku, x5u, x5c) are not looked at.
 */
#ifndef CORE_JWT_H
#define CORE_JWT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/record.h"

enum { JWT_LENGTH = 8192 };		/* characters that a token may have; ours have about 900 */

enum jwt_alg { JWT_RS256 = 1 << 0, JWT_PS256 = 1 << 1, JWT_ES256 = 1 << 2 };

struct jwt {
	const char *text;		/* what is signed: head, dot, claims, as they came */
	size_t n;
	const void *signature;
	size_t signature_n;
	const char *claims;		/* JSON, perhaps */
	size_t claims_n;
	enum jwt_alg alg;
	const char *typ, *kid;		/* of the head; typ may be NULL, kid has 1 to 255 characters */
};

/* Three parts of strict base64url, a strict head with a kid and one of the algorithms, and no crit. */
bool jwt_parse(struct arena *, const char *token, struct jwt *);

/* The issuer that it names, which nothing proves yet; NULL: none. */
const char *jwt_issuer(struct arena *, const struct jwt *);

/* A public key, and the algorithms (jwt_alg bits) that it allows. */
struct jwt_key { const char *kid; unsigned algs; struct evp_pkey_st *pkey; };

/* Does the signature fit the key, by the algorithm of the head? */
bool jwt_signed_by(const struct jwt *, const struct jwt_key *);

/*
 * The keys of a JSON Web Key set that sign tokens: RSA of 2048 to 8192 bits and P-256, with a kid, not for another use.
 * Others are passed over; no more than `max` are taken, and the first of two with one kid.  Returns how many; the
 * caller gives them back by jwt_keys_free().
 */
size_t jwt_keys(struct arena *, const char *json, struct jwt_key *, size_t max);
void jwt_keys_free(struct jwt_key *, size_t n);

/* Is `word` the string, or in the array of strings, that the JSON is? */
bool jwt_names(struct arena *, const char *json, const char *word);

#endif
