/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two stores at once, for as long as an installation moves from one to the other (`store` and `store.also`).
 *
 * What is written goes to the first, or to that of the tenant (store_side_use()); what is asked for is looked for in
 * both; what is deleted is deleted in both; a list is that of both.  That is sound because a key is written once:
 * whichever has an object has the same one.  So nobody has to know where an object is, or when it was moved.  Machines
 * and programs may change `store` one after the other, and write to different ones meanwhile, and all see all of it at
 * every moment; nothing is held, and nothing that is written between a copy and the change can be lost.  Both have to
 * answer: one that is away is never "not there".
 *
 * Which of the two is written to is a setting of the service, or for one tenant a word of its row; no row says where an
 * object is, since there would have to be a moment at which it becomes true.  So one tenant can be moved by itself, and
 * stays where it is as long as both stores are named: who did not hear of its word yet has written to the other one,
 * which the next copy brings.
 *
 * Here is what `kinothek store` (cli/store.c) asks of either one.  May be called by several threads, each with memory
 * of its own.  Failures are errno, as in core/store.h.
 */
#ifndef CORE_STORE_SIDE_H
#define CORE_STORE_SIDE_H

#include "core/db.h"
#include "core/digest.h"
#include "core/store.h"

enum store_side { SIDE_LOCAL, SIDE_BUCKET, SIDES };

/* By `store` and `store.also`: "local", "s3". */
bool store_side_parse(const char *name, enum store_side *);

/* The side that files of a tenant are written to, by its row or else by `store`.  Which fails with the database. */
enum store_side store_side_of(struct db *, const struct conf *, struct uuid tenant_id);

/* What this thread writes from now on is of that tenant, and goes to its side.  Nothing is asked where there is one
 * store.  Before a transaction, and before store_put_begin(), whose end goes to the same. */
void store_side_use(struct db *, const struct conf *, struct uuid tenant_id);

/* Visits all objects below a prefix that ends in a slash, in order; neither drafts, nor what grows on this machine.
 * The key lasts as long as the visit, which ends the walk by false.  False with errno. */
typedef bool store_visit(void *at, const char *key, int64_t size);
bool store_side_walk(enum store_side, const char *prefix, store_visit *, void *at);

/* The ids of assets, uploads and downloads that have anything below play/ there, as store_side_walk(). */
bool store_side_assets(enum store_side, bool (*visit)(void *at, struct uuid id), void *at);

/* -1 with errno: only ENOENT and ENOTDIR mean that it is not there. */
int64_t store_side_size(struct arena *, enum store_side, const char *key);

/* Lower-case hex of SHA-256; NULL with errno.  Of a bucket by way of a file in scratch that is gone afterwards. */
const char *store_side_digest(struct arena *, enum store_side, const char *key, const char *scratch);

/*
 * Puts the object into the other one, where there must be none, by way of a file in scratch.  sha256: what its bytes
 * have to be; NULL: anything.  False with errno; EILSEQ: they are something else, and nothing was copied.
 */
bool store_side_copy(struct arena *, enum store_side from, const char *key, const char *sha256, const char *scratch);

/* Removes it there alone. */
bool store_side_delete(struct arena *, enum store_side, const char *key);

#endif
