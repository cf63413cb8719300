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

/* May the server of this family be asked now?  In the caller's transaction: of a server that has rested the one who is
 * ALLOWED is to ask, and to note it. */
enum allowance allowance_ask(struct db *, const struct conf *, struct uuid tenant_id, enum engine_family);
/* It was asked, in the caller's transaction.  failed: it could not be reached, or was broken. */
void allowance_note(struct db *, struct uuid tenant_id, enum engine_family, int64_t tokens, bool failed);
/* A sentence of why not. */
const char *allowance_sentence(enum allowance);

#endif
