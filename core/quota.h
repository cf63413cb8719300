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

#endif
