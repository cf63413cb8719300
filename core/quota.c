/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formula of the quota. */
#include "core/asset.h"
#include "core/quota.h"

int64_t
quota_left(struct db *db, struct uuid tenant_id, struct uuid but_upload_id, int64_t otherwise)
{
	return db_number(db, "SELECT CAST(n.storage_quota - COALESCE((SELECT s.storage_used FROM tenant_usage s "
	    "WHERE s.tenant_id = n.id), 0) - COALESCE((SELECT SUM(COALESCE(u.file_size, u.received_bytes)) FROM "
	    "uploads u WHERE u.tenant_id = n.id AND NOT (u.id <=> ?) AND u.status IN ('waiting', 'uploading', "
	    "'uploaded')), 0) AS SIGNED) FROM tenants n WHERE n.id = ? AND n.storage_quota IS NOT NULL",
	    ARGS(ID(but_upload_id), ID(tenant_id)), otherwise);
}

/* Two statements: one that waits for a row still reads the others as they were before it waited. */
bool
quota_holds(struct db *db, struct uuid tenant_id, int64_t more)
{
	static const struct uuid none;

	if (db_number(db, "SELECT storage_quota IS NOT NULL FROM tenants WHERE id = ?", ARGS(ID(tenant_id)), 0) == 0)
		return true;
	usage_add(db, tenant_id, 0, 0);
	return quota_left(db, tenant_id, none, 0) + more >= 0;
}
