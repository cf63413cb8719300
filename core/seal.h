/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Secrets in rows, and proofs in forms, by keys that follow from play.key_file and a purpose: whoever reads the
 * database alone learns nothing, and what was made for one purpose is worth nothing for another.  With another key file
 * all of it is void.
 */
#ifndef CORE_SEAL_H
#define CORE_SEAL_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/conf.h"

/* AES-256-GCM over n bytes, in base64url. */
const char *seal(const struct conf *, struct arena *, const char *purpose, const void *bytes, size_t n);
/* The number of bytes, or -1: not made by seal() for this purpose. */
long unseal(const struct conf *, struct arena *, const char *purpose, const char *text, unsigned char **bytes);

/* HMAC-SHA256 of the text, in base64url. */
const char *seal_proof(const struct conf *, struct arena *, const char *purpose, const char *text);
/* Purpose of the secret that signs the requests of an upload, which is the proof of its session token. */
#define UPLOAD_SECRET "upload secret"
/* Are the two the same?  In a time that says nothing of where they differ. */
bool seal_same(const char *a, const char *b);

#endif
