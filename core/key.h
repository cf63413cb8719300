/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The keys that sign access tokens, RSA of 2048 bits: rows that every process reads once in a minute.  A new one signs
 * after 90 s, when all of them have read it, or at once when it is the first; older ones verify until their tokens have
 * run out.
 */
#ifndef CORE_KEY_H
#define CORE_KEY_H

#include "core/db.h"

/* created: s since 1970. */
struct key { struct uuid id; struct evp_pkey_st *pkey; int64_t created; };

/* The one that signs now; NULL: none, on an installation that was never initialised, or without database. */
const struct key *key_signer(struct db *);
/* Is there one? */
bool key_ready(struct db *);
/* The one of that id, if its tokens may still be live; NULL: none, or the database is away. */
struct evp_pkey_st *key_of(struct db *, struct uuid kid);

/* The public halves as a JWK set. */
const char *key_jwks(struct db *, struct arena *);

/* Makes a new one, and deletes those that have nothing left to verify.  Its kid.  In a transaction. */
const char *key_rotate(struct db *, struct arena *);

/* Forgets what this process knows. */
void key_forget(void);

#endif
