/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formula of the quota. */
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
