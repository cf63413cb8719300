/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tenants may have of servers that cost something, and when such a server is left alone: after several failures in
 * a row nobody asks it for a minute, so that what can be done without it is done at once.  Then one try decides.
 */
#ifndef CORE_ALLOWANCE_H
#define CORE_ALLOWANCE_H

#include "core/conf.h"
#include "core/db.h"

enum { ALLOWANCE_FAILURES = 5, ALLOWANCE_REST_MS = 60000, ALLOWANCE_DAYS = 400 };	/* days that usage is kept */

enum allowance { ALLOWED, ALLOWANCE_USED_UP, ALLOWANCE_RESTS };

/* One use of such a server.  reserved: tokens that it may cost; day: set when they are. */
struct allowance_use {
	enum engine_family family;
	int64_t reserved, day;
	int64_t tokens, requests;		/* what it has cost */
	bool failed;				/* the server could not be reached, or was broken */
};

/* May the server be asked now?  In the caller's transaction: what it may cost is reserved, so that others who ask
 * meanwhile have what is left, and of a server that has rested the one who is ALLOWED is to ask, and to note it.  Of
 * who ends without doing so the reservation stands. */
enum allowance allowance_ask(struct db *, const struct conf *, struct uuid tenant_id, struct allowance_use *);
/* It was asked, in the caller's transaction: what it has cost takes the place of what was reserved. */
void allowance_note(struct db *, struct uuid tenant_id, const struct allowance_use *);
/* A sentence of why not. */
const char *allowance_sentence(enum allowance);

#endif
