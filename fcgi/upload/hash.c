/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 with a state of one size. */
#define OPENSSL_SUPPRESS_DEPRECATED	/* EVP cannot write down the state of a hash */
#include <string.h>

#include "fcgi/upload/hash.h"

void
hash_begin(SHA256_CTX *state)
{
	memset(state, 0, sizeof(*state));
	SHA256_Init(state);
}

void
hash_add(SHA256_CTX *state, const void *bytes, size_t n)
{
	SHA256_Update(state, bytes, n);
}

void
hash_end(SHA256_CTX *state, unsigned char sha256[32])
{
	SHA256_Final(sha256, state);
}
