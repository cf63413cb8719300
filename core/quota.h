/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much a tenant may store: tenants.storage_quota against tenant_usage.storage_used and what is on its way. */
#ifndef CORE_QUOTA_H
#define CORE_QUOTA_H

#include <stdbool.h>

#include "core/db.h"

/*
 * Bytes that the quota leaves when every upload that is on its way arrives, but for one (none: all of them); negative
 * when more is there already.  `otherwise` when the tenant has no quota, or the database does not answer.  Exact in a
 * transaction that has just changed the usage: the row is locked then.
 */
int64_t quota_left(struct db *, struct uuid tenant_id, struct uuid but_upload_id, int64_t otherwise);

/*
 * Behind the row of an upload whose size is known, and the last of its transaction: does the quota hold it beside all
 * that others have reserved until now?  `more`: bytes that are counted twice meanwhile.  False: roll back.  Of any
 * number of transactions at once each sees those that came here before it; they wait for each other's commit alone.
 */
bool quota_holds(struct db *, struct uuid tenant_id, int64_t more);

/*
 * For an upload of which nobody has said how long it is, before its bytes come: `wanted` bytes more for this attempt,
 * or fewer when the quota does not leave that, but at least so many.  Of any number at once all get together what is
 * left at most.  How many; 0: the quota does not leave `least`; INT64_MAX: there is none; -1: the attempt is over, or
 * the database has failed, and db_rollback() follows.  In transactions of its own, so in steps: QUOTA_STEP.
 */
enum { QUOTA_STEP = 64 << 20 };
struct quota_upload { struct uuid id, tenant_id; int64_t attempt; };
int64_t quota_reserve(struct db *, const struct quota_upload *, int64_t least, int64_t wanted);
/* Nobody sends to it now: what it holds is what has come. */
void quota_settle(struct db *, const struct quota_upload *);
/* What of it is not needed after all. */
void quota_release(struct db *, const struct quota_upload *, int64_t bytes);

#endif
