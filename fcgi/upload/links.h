/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A few database connections for many transfers: each has one for as long as a statement or a transaction takes.  What
 * a statement returns lives until its connection is given back.
 */
#ifndef FCGI_UPLOAD_LINKS_H
#define FCGI_UPLOAD_LINKS_H

#include "core/conf.h"
#include "core/db.h"
#include "core/quota.h"

struct links;

/* links_free() ends them when all are given back. */
struct links *links_new(const struct conf *, int n);
void links_free(struct links *);

/* Waits for one.  No failure is left on it. */
struct db *links_take(struct links *);
/* The same for what is no loss: NULL when the database was away a moment ago, which who waits here is told at once. */
struct db *links_ask(struct links *);
/* One for what can be left out: NULL when none is free now, or the database was away a moment ago. */
struct db *links_try(struct links *);
void links_give(struct links *, struct db *);

/*
 * The quota holds all bytes of an upload up to there, of which it held *granted before; if it must be asked, so many
 * more (core/quota.h).  HOLD_OVER: the attempt is.  HOLD_AWAY: the database, and it may be tried again.
 */
enum hold { HOLD_FINE, HOLD_FULL, HOLD_OVER, HOLD_AWAY };
enum hold links_reserve(struct links *, const struct quota_upload *, int64_t until, int64_t step, int64_t *granted);

/* The server gets the connections back that nobody has asked for during so many ms. */
void links_rest(struct links *, int64_t ms);

#endif
