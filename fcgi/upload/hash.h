/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A SHA-256 that is not at its end yet, as bytes that can be written down, which EVP has not in OpenSSL 3. */
#ifndef FCGI_UPLOAD_HASH_H
#define FCGI_UPLOAD_HASH_H

#include <openssl/sha.h>
#include <stddef.h>

void hash_begin(SHA256_CTX *);
void hash_add(SHA256_CTX *, const void *bytes, size_t n);
void hash_end(SHA256_CTX *, unsigned char sha256[32]);

#endif
