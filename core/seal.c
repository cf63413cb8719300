/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys by purpose, AES-256-GCM, HMAC-SHA256. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "core/seal.h"
#include "core/text.h"

enum { KEY = 32, NONCE = 12, TAG = 16 };

static void
mac(const unsigned char *key, size_t key_n, const char *text, unsigned char out[KEY])
{
	unsigned n = 0;

	if (HMAC(EVP_sha256(), key, (int)key_n, (const unsigned char *)text, strlen(text), out, &n) == NULL || n != KEY)
		abort();
}

static void
key_of(const struct conf *conf, const char *purpose, unsigned char out[KEY])
{
	long n = 0;
	unsigned char *root = OPENSSL_hexstr2buf(conf->play_key, &n);

	if (root == NULL)
		abort();
	mac(root, (size_t)n, purpose, out);
	OPENSSL_clear_free(root, (size_t)n);
}

const char *
seal(const struct conf *conf, struct arena *mem, const char *purpose, const void *bytes, size_t n)
{
	unsigned char key[KEY], *out = arena_alloc(mem, NONCE + n + TAG);
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int m = 0, rest = 0;

	key_of(conf, purpose, key);
	random_bytes(out, NONCE);
	if (c == NULL || EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, out) != 1 ||
	    EVP_EncryptUpdate(c, out + NONCE, &m, bytes, (int)n) != 1 ||
	    EVP_EncryptFinal_ex(c, out + NONCE + m, &rest) != 1 ||
	    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, out + NONCE + n) != 1)
		abort();
	EVP_CIPHER_CTX_free(c);
	OPENSSL_cleanse(key, sizeof(key));
	return base64url_encode(mem, out, NONCE + n + TAG);
}

long
unseal(const struct conf *conf, struct arena *mem, const char *purpose, const char *text, unsigned char **bytes)
{
	unsigned char key[KEY], *in;
	EVP_CIPHER_CTX *c;
	long n = base64url_decode(mem, text, strlen(text), &in);
	int m = 0, rest = 0;
	bool fine;

	if (n < NONCE + TAG)
		return -1;
	n -= NONCE + TAG;
	*bytes = arena_alloc(mem, (size_t)n + 1);
	key_of(conf, purpose, key);
	c = EVP_CIPHER_CTX_new();
	fine = c != NULL && EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, in) == 1 &&
	    EVP_DecryptUpdate(c, *bytes, &m, in + NONCE, (int)n) == 1 &&
	    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, in + NONCE + n) == 1 &&
	    EVP_DecryptFinal_ex(c, *bytes + m, &rest) == 1;
	EVP_CIPHER_CTX_free(c);
	OPENSSL_cleanse(key, sizeof(key));
	return fine ? n : -1;
}

const char *
seal_proof(const struct conf *conf, struct arena *mem, const char *purpose, const char *text)
{
	unsigned char key[KEY], out[KEY];

	key_of(conf, purpose, key);
	mac(key, KEY, text, out);
	OPENSSL_cleanse(key, sizeof(key));
	return base64url_encode(mem, out, sizeof(out));
}

bool
seal_same(const char *a, const char *b)
{
	return strlen(a) == strlen(b) && CRYPTO_memcmp(a, b, strlen(a)) == 0;
}
