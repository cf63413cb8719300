/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formula of the quota. */
#include "core/asset.h"
#include "core/quota.h"

enum { TRIES = 10 };	/* of a transaction that meets another one */

int64_t
quota_left(struct db *db, struct uuid tenant_id, struct uuid but_upload_id, int64_t otherwise)
{
	return db_number(db, "SELECT CAST(n.storage_quota - COALESCE((SELECT s.storage_used FROM tenant_usage s "
	    "WHERE s.tenant_id = n.id), 0) - COALESCE((SELECT SUM(COALESCE(u.file_size, GREATEST(u.received_bytes, u.reserved_bytes))) FROM "
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

int64_t
quota_reserve(struct db *db, const struct quota_upload *u, int64_t least, int64_t wanted)
{
	static const struct uuid none;
	enum db_failure failure;
	int64_t left;
	int again = 0;

	if (db_number(db, "SELECT storage_quota IS NOT NULL FROM tenants WHERE id = ?", ARGS(ID(u->tenant_id)), 0) == 0)
		return db_failure(db) == DB_FINE ? INT64_MAX : -1;
	for (;;) {
		db_begin(db);
		if (db_run(db, "UPDATE uploads SET reserved_bytes = reserved_bytes + ? WHERE id = ? AND attempt = ? "
		    "AND status = 'uploading'", ARGS(INT(wanted), ID(u->id), INT(u->attempt))) > 0)
			usage_add(db, u->tenant_id, 0, 0);
		else if (db_failure(db) == DB_FINE) {
			db_rollback(db);
			return -1;
		}
		left = quota_left(db, u->tenant_id, none, 0);
		if (left >= 0 && db_commit(db))
			return wanted;
		failure = db_failure(db);
		if (failure != DB_FINE && (failure != DB_AGAIN || ++again == TRIES))
			return -1;
		db_rollback(db);
		if (failure == DB_AGAIN)
			continue;
		left += wanted;
		if (left < least)
			return 0;
		wanted = left / 2 > least ? left / 2 : least;
	}
}

void
quota_settle(struct db *db, const struct quota_upload *u)
{
	db_run(db, "UPDATE uploads SET reserved_bytes = received_bytes WHERE id = ? AND attempt = ? AND status = "
	    "'uploading' AND reserved_bytes > received_bytes", ARGS(ID(u->id), INT(u->attempt)));
}

void
quota_release(struct db *db, const struct quota_upload *u, int64_t bytes)
{
	db_run(db, "UPDATE uploads SET reserved_bytes = GREATEST(reserved_bytes - ?, 0) WHERE id = ? AND attempt = ?",
	    ARGS(INT(bytes), ID(u->id), INT(u->attempt)));
}
