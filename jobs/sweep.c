/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Once a minute: uploads that nobody finished, scratch that crashes left behind, files that no row names, jobs nobody
 * asks for any more, soft-deleted assets that nobody wants back, files of others that are still served, answers that
 * nobody may ask for again.  Safe to run twice, and at any moment be killed: what is left is found again the next time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/allowance.h"
#include "core/asset.h"
#include "core/event.h"
#include "core/import.h"
#include "core/livestream.h"
#include "core/orphan.h"
#include "core/question.h"
#include "core/scratch.h"
#include "core/store.h"
#include "core/webhook.h"
#include "jobs/orphans.h"

#define DAY_MS "86400000"

enum { STEPS = 200, ROWS = 500, PAGE = 500, PAGE_MEMORY = 16 << 20, ASSETS = 200, HOUR_MS = 3600 * 1000,
	DRAFT_MS = 48 * HOUR_MS, FRESH_MS = 10 * 60000 };

#define SOME_BEFORE(column) SQL_NOW " - ? ORDER BY " column " LIMIT 500"

struct old_upload {
	struct uuid id;
	struct moment expires_at;
};
static const struct field old_upload_fields[] = {
	FIELD(struct old_upload, id, .doc = "Unique id"),
	FIELD(struct old_upload, expires_at, .doc = "When it was too old"),
};
static const struct record old_upload_record = RECORD("OldUpload", struct old_upload, old_upload_fields);

/* The age counts from the last byte received, since each one pushes expires_at back. */
static void
expire_uploads(struct job *j)
{
	const struct old_upload *u;
	size_t i, n;

	u = db_rows(j->db, &old_upload_record,
	    "FROM uploads t WHERE t.status IN ('waiting', 'uploading', 'uploaded') "
	    "AND t.expires_at < " SQL_NOW " ORDER BY t.expires_at LIMIT 500",
	    NO_ARGS, &n);
	for (i = 0; i < n; i++)
		db_run(j->db,
		    "UPDATE uploads SET status = 'timedOut', version = version + 1, "
		    "updated_at = " SQL_NOW " WHERE id = ? AND status IN ('waiting', 'uploading', 'uploaded') "
		    "AND expires_at < " SQL_NOW,
		    ARGS(ID(u[i].id)));
	db_run(j->db,
	    "DELETE FROM uploads WHERE status IN ('timedOut', 'cancelled', 'errored') AND media_id IS NULL "
	    "AND updated_at < " SQL_NOW " - 30 * " DAY_MS " LIMIT 500",
	    NO_ARGS);
	if (n > 0)
		job_log(j, "%zu uploads have expired", n);
}

/* Who brings bytes says so every few seconds, and is dropped when none come for five minutes at most (import.silence).
 * The program that reserved more than have come was killed, or never heard that it had. */
static void
settle_uploads(struct job *j)
{
	db_run(j->db, "UPDATE uploads SET reserved_bytes = received_bytes WHERE status = 'uploading' AND "
	    "reserved_bytes > received_bytes AND updated_at < " SQL_NOW " - ?", ARGS(INT(FRESH_MS)));
}

/* Is it the store that fails, and not only this key?  One that is full answers. */
static bool
is_away(struct arena *mem)
{
	return (errno == EHOSTDOWN || errno == ETIMEDOUT || errno == EREMOTEIO) && !store_probe(mem) && errno != EDQUOT;
}

/* False: the store deletes nothing now, and is not asked again.  What lies on this machine goes in any case. */
static bool
clear_page(struct job *j, const struct old_upload *u, size_t n, bool has_store)
{
	struct arena *mem = arena_new(PAGE_MEMORY);
	const char *key[2];
	size_t i;
	int k;

	for (i = 0; i < n; i++) {
		key[0] = store_key_upload(mem, u[i].id);
		key[1] = store_key_original(mem, u[i].id);
		for (k = 0; k < (has_store ? 2 : 1); k++)
			if (!store_delete(mem, key[k])) {
				has_store = has_store && !is_away(mem);
				job_log(j, "%s could not be deleted", key[k]);
			}
		job_progress(j, 30);
	}
	arena_free(mem);
	return has_store;
}

/*
 * The index gives a page without reading those before it.  Who was bringing bytes when an upload ended may leave some
 * behind for a while; later each has its minute of the hour, so that a bucket is not asked for all of them each minute.
 */
static const struct old_upload *
next_page(struct job *j, const char *status, const struct old_upload *last, size_t *n)
{
	return db_rows(j->db, &old_upload_record,
	    "FROM uploads t WHERE t.status = ? AND t.expires_at >= ? AND (t.expires_at > ? OR t.id > ?) "
	    "AND t.media_id IS NULL AND t.updated_at > " SQL_NOW " - 2 * " DAY_MS
	    " AND (t.updated_at > " SQL_NOW " - ? OR (" SQL_NOW " DIV 60000 + CRC32(t.id)) % 60 = 0)"
	    " AND NOT EXISTS (SELECT 1 FROM media m WHERE m.id = t.id) ORDER BY t.expires_at, t.id LIMIT ?",
	    ARGS(STR(status), TIME(last->expires_at), TIME(last->expires_at), BYTES(last->id.b, 16), INT(FRESH_MS),
	    INT(PAGE)), n);
}

/* Files of uploads that ended without an asset.  The row says so for good before anything is deleted. */
static void
clear_uploads(struct job *j)
{
	static const char *const ended[] = { "timedOut", "cancelled", "errored" };
	const struct old_upload *u, *last;
	bool has_store = true;
	size_t i, n;

	job_pause(j);
	for (i = 0; i < sizeof(ended) / sizeof(ended[0]); i++) {
		last = &(const struct old_upload){ .expires_at = { INT64_MIN } };
		do {
			u = next_page(j, ended[i], last, &n);
			has_store = clear_page(j, u, n, has_store);
			if (n > 0)
				last = &u[n - 1];
		} while (n == PAGE);
	}
}

/* Scratch that nobody needs: of a run of this machine that has ended, else after a day. */
static void
clear_scratch(struct job *j)
{
	const struct scratch_dir *d;
	struct uuid id;
	int64_t fence, old = moment_now().ms - ORPHAN_MS;
	size_t i, n;

	d = scratch_list(j->mem, &n);
	for (i = 0; i < n; i++)
		if (job_run_parse(d[i].name, &id, &fence) && (d[i].ours || d[i].changed.ms < old) &&
		    !orphan_running(j->db, d[i].name) && scratch_drop(j->mem, &d[i]))
			job_log(j, "scratch %s was left behind", d[i].name);
}

/* The jobs of an asset stay with it; others go after 30 days, and finished sweeps, which say nothing, after an hour. */
static void
clear_jobs(struct job *j)
{
	db_run(j->db,
	    "DELETE FROM jobs WHERE state = 'succeeded' AND tenant_id IS NULL AND kind = 'sweep' "
	    "AND finished_at < " SQL_NOW " - 3600000 LIMIT 1000",
	    NO_ARGS);
	db_run(j->db,
	    "DELETE FROM jobs WHERE state IN ('succeeded', 'failed', 'cancelled') AND tenant_id IS NULL "
	    "AND finished_at < " SQL_NOW " - 30 * " DAY_MS " LIMIT 1000",
	    NO_ARGS);
	/* This one reads every finished job, so it has its turn about once an hour. */
	if (random() % 60 == 0)
		db_run(j->db,
		    "DELETE FROM jobs WHERE state IN ('succeeded', 'failed', 'cancelled') AND finished_at < " SQL_NOW
		    " - 30 * " DAY_MS " AND NOT EXISTS (SELECT 1 FROM media m WHERE m.id = jobs.media_id) LIMIT 1000",
		    NO_ARGS);
}

/* What was over so many ms ago, until nothing is left.  A statement is a transaction here, and takes few rows, so that
 * nobody waits for it; and after many of them there is other work: what is not deleted this minute is the next one. */
static void
clear_old(struct job *j, const char *sql, int64_t ms)
{
	int i;

	for (i = 0; i < STEPS && db_run(j->db, sql, ARGS(INT(ms))) == ROWS; i++)
		job_progress(j, 65);
}

static void
clear_events(struct job *j)
{
	int i;

	for (i = 0; i < STEPS && event_prune(j->db) > 0; i++)
		job_progress(j, 65);
}

/* Nothing of them is good any more. */
static void
clear_expired(struct job *j)
{
	clear_old(j, "DELETE FROM authorizations WHERE expires_at < " SOME_BEFORE("expires_at"), 0);
	clear_old(j, "DELETE FROM event_tickets WHERE expires_at < " SOME_BEFORE("expires_at"), 0);
	clear_old(j, "DELETE FROM downloads WHERE expires < " SOME_BEFORE("expires"), 0);
	clear_old(j, "DELETE FROM imports WHERE created_at < " SOME_BEFORE("created_at"), IMPORT_DAYS *
	    INT64_C(86400000));
	clear_old(j, "DELETE FROM chats WHERE updated_at < " SOME_BEFORE("updated_at"), j->conf->chat_days *
	    INT64_C(86400000));
	clear_old(j, "DELETE FROM flow_runs WHERE created_at < " SOME_BEFORE("created_at"), j->conf->chat_days *
	    INT64_C(86400000));
	clear_old(j, "DELETE FROM engine_usage WHERE day < FLOOR((" SQL_NOW " - ?) / " DAY_MS ") ORDER BY day LIMIT "
	    "500", ALLOWANCE_DAYS * INT64_C(86400000));
	clear_old(j, "DELETE FROM questions WHERE asked_at < " SOME_BEFORE("asked_at"), QUESTION_DAYS *
	    INT64_C(86400000));
	clear_old(j, "DELETE FROM clips WHERE expires_at < " SOME_BEFORE("expires_at"), 0);
	clear_old(j, "DELETE FROM buckets WHERE full_at < 1000 * (" SQL_NOW " - ?) ORDER BY full_at LIMIT 500", 0);
	clear_old(j, "DELETE FROM livestream_points WHERE at < " SOME_BEFORE("at"), LIVESTREAM_POINT_DAYS *
	    INT64_C(86400000));
	clear_old(j, "DELETE FROM livestream_nodes WHERE told_at < " SOME_BEFORE("told_at"), HOUR_MS);
	clear_old(j, "DELETE FROM idempotent_answers WHERE expires_at < " SOME_BEFORE("expires_at"), 0);
}

/* The log of deliveries; and while there is nobody to tell, no events wait to be told. */
static void
clear_deliveries(struct job *j)
{
	int64_t settled;

	clear_old(j, "DELETE FROM webhook_deliveries WHERE created_at < " SOME_BEFORE("created_at"),
	    WEBHOOK_LOG_DAYS * INT64_C(86400000));
	if (db_number(j->db, "SELECT 1 FROM webhooks WHERE is_active = 1 LIMIT 1", NO_ARGS, 0) == 1)
		return;
	settled = event_settled_now(j->db);
	if (db_failure(j->db) == DB_FINE)
		db_run(j->db, "UPDATE webhook_progress SET settled = GREATEST(settled, ?) WHERE id = 1",
		    ARGS(INT(settled)));
}

struct tenant { struct uuid id; };
static const struct field tenant_fields[] = { FIELD(struct tenant, id, .doc = "Unique id") };
static const struct record tenant_record = RECORD("SweptTenant", struct tenant, tenant_fields);

struct deleted_asset { struct uuid id; struct moment deleted_at; };
static const struct field deleted_asset_fields[] = {
	FIELD(struct deleted_asset, id, .doc = "Unique id"),
	FIELD(struct deleted_asset, deleted_at, .doc = "Soft-deleted then"),
};
static const struct record deleted_asset_record = RECORD("DeletedAsset", struct deleted_asset, deleted_asset_fields);

/* A page of the tenant's soft-deleted assets, by their index. */
static const struct deleted_asset *
deleted_page(struct job *j, struct uuid tenant_id, int64_t since, size_t *n)
{
	return db_rows(j->db, &deleted_asset_record,
	    "FROM media t WHERE t.tenant_id = ? AND t.deleted_at >= ? ORDER BY t.deleted_at, t.id LIMIT ?",
	    ARGS(ID(tenant_id), INT(since), INT(PAGE)), n);
}

static void
hide_page(struct job *j, struct uuid tenant_id, const struct deleted_asset *a, size_t n)
{
	size_t i, found = 0;

	for (i = 0; i < n; i++)
		if (store_served(j->mem, a[i].id)) {
			asset_serve_later(j->db, tenant_id, a[i].id);
			found++;
		}
	if (found > 0)
		job_log(j, "%zu soft-deleted assets were still served", found);
}

/*
 * Soft-deleted before there was a tree for their files, or the job that moved them has failed.  A tenant with more
 * than a page of them is looked through from anywhere, so that all have their turn.  While such jobs are open, these
 * files may be theirs.
 */
static void
hide_deleted(struct job *j)
{
	const struct tenant *tenants;
	const struct deleted_asset *a;
	int64_t first;
	size_t i, n, found;

	tenants = db_rows(j->db, &tenant_record, "FROM tenants t ORDER BY RAND() LIMIT 50", NO_ARGS, &n);
	for (i = 0; i < n; i++) {
		if (db_number(j->db,
			"SELECT COUNT(*) FROM jobs WHERE tenant_id = ? AND state IN ('ready', 'running', 'delayed') "
			"AND kind = 'serve'",
			ARGS(ID(tenants[i].id)), 1) > 0)
			continue;
		a = deleted_page(j, tenants[i].id, 1, &found);
		if (found == PAGE) {
			first = a[0].deleted_at.ms;
			first += (int64_t)(drand48() * (double)(moment_now().ms - first));
			hide_page(j, tenants[i].id, a, found);
			a = deleted_page(j, tenants[i].id, first, &found);
		}
		hide_page(j, tenants[i].id, a, found);
	}
}

/* One whose time is over; deleted_at tells that it was not brought back and deleted again in between. */
struct overdue { struct uuid id; struct moment deleted_at; struct ids channel_ids; };
static const struct field overdue_fields[] = {
	FIELD(struct overdue, id, .doc = "Unique id"),
	FIELD(struct overdue, deleted_at, .doc = "Soft-deleted then"),
	FIELD(struct overdue, channel_ids, .doc = "Where it was"),
};
static const struct record overdue_record = RECORD("OverdueAsset", struct overdue, overdue_fields);

struct keeper { struct uuid id; int64_t days; };
static const struct field keeper_fields[] = {
	FIELD(struct keeper, id, .doc = "Tenant"),
	FIELD(struct keeper, days, .sql = "t.soft_delete_retention_days", .doc = "How long it keeps them"),
};
static const struct record keeper_record = RECORD("Keeper", struct keeper, keeper_fields);

/* Of one tenant, by its index. */
#define OVERDUE "FROM media t WHERE t.tenant_id = ? AND t.deleted_at BETWEEN 1 AND " SQL_NOW " - ? * " DAY_MS " ORDER BY " \
	"t.deleted_at LIMIT 1"
struct reckoning { const struct keeper *of; int left; };

static bool
delete_overdue(struct job *j, void *at)
{
	struct reckoning *r = at;
	const struct overdue *found = r->left > 0 ? db_row(j->db, &overdue_record, OVERDUE, ARGS(ID(r->of->id),
	    INT(r->of->days))) : NULL, *a;

	if (found == NULL)
		return false;
	a = db_row(j->db, &overdue_record, "FROM media t WHERE t.id = ? AND t.deleted_at = ? FOR UPDATE",
	    ARGS(ID(found->id), TIME(found->deleted_at)));
	if (a != NULL)
		usage_add(j->db, r->of->id, 0, -asset_delete(j->db, &(struct asset_deletion){
		    .tenant_id = r->of->id, .media_id = a->id, .channel_ids = a->channel_ids, .permanent = true,
		    .at = moment_now() }));
	job_progress(j, 68);
	r->left--;
	return true;
}

/* Any tenants, so that all have their turn. */
static void
delete_all_overdue(struct job *j)
{
	struct reckoning r = { .left = ASSETS };
	const struct keeper *keepers;
	size_t i, n;

	keepers = db_rows(j->db, &keeper_record,
	    "FROM tenants t WHERE t.soft_delete_retention_days > 0 ORDER BY RAND() LIMIT 50", NO_ARGS, &n);
	for (i = 0; i < n && r.left > 0; i++) {
		if (db_number(j->db, "SELECT 1 " OVERDUE, ARGS(ID(keepers[i].id), INT(keepers[i].days)), 0) == 0)
			continue;
		r.of = &keepers[i];
		job_batches(j, delete_overdue, &r, sizeof(r));
	}
	if (r.left < ASSETS)
		job_log(j, "%d soft-deleted assets were deleted for good: their time was over", ASSETS - r.left);
}

/* Sending the largest file takes hours. */
static void
clear_drafts(struct job *j)
{
	const int n = store_tidy((struct moment){ moment_now().ms - DRAFT_MS });

	if (n > 0)
		job_log(j, "%d files that were never put into the store as a whole", n);
}

enum outcome
sweep_run(struct job *j)
{
	expire_uploads(j);
	settle_uploads(j);
	clear_uploads(j); /* pauses: the states above are committed before files go */
	clear_scratch(j);
	orphans_clear(j, ASSETS);
	clear_drafts(j);
	clear_events(j);
	clear_deliveries(j);
	delete_all_overdue(j);
	job_progress(j, 70);
	if (!job_resume(j))
		return RETRY;
	clear_jobs(j);
	clear_expired(j);
	hide_deleted(j);
	return DONE;
}
