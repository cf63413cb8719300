/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Assets of a tenant get vectors of the model that it has chosen: each that has none of it is left to the job `embed`.
 * Safe to run twice, also at once: what is left to do is what the rows say.
 */
#include "core/excerpts.h"
#include "core/models.h"
#include "jobs/run.h"

enum { BATCH = 100 };

struct asset { struct uuid id; };
static const struct field asset_fields[] = { FIELD(struct asset, id, .doc = "An asset") };
static const struct record asset_record = RECORD("ReembeddedAsset", struct asset, asset_fields);

/* How far it is: those that are not soft-deleted come first, and the others, which may be recovered, behind them. */
struct way { bool deleted; struct uuid last; int64_t done, total; };
#define OF_TENANT(deleted) "FROM media t FORCE INDEX (by_id) WHERE t.tenant_id = ? AND t.deleted_at " deleted " AND t.id > ? " \
	"ORDER BY t.id LIMIT ?"

static bool
follow_some(struct job *j, void *at)
{
	static const char *const from[] = { OF_TENANT("= 0"), OF_TENANT("> 0") };
	struct way *way = at;
	const struct excerpt_engines engines = { meaning_glosses_name(j->mem), models_embed(j->db, j->conf,
	    j->tenant_id).name };
	const struct asset *a;
	size_t n, i;

	a = db_rows(j->db, &asset_record, from[way->deleted], ARGS(ID(j->tenant_id), BYTES(way->last.b,
	    sizeof(way->last.b)), INT(BATCH)), &n);
	for (i = 0; i < n; i++)
		excerpts_follow(j->db, a[i].id, engines);
	if (n > 0)
		way->last = a[n - 1].id;
	way->done += (int64_t)n;
	job_progress(j, (int)(way->done * 100 / (way->total + BATCH)));
	if (n == BATCH || way->deleted)
		return n == BATCH;
	way->deleted = true;
	way->last = (struct uuid){ { 0 } };
	return true;
}

enum outcome
reembed_run(struct job *j)
{
	struct way way = { .total = db_number(j->db, "SELECT media_count FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(j->tenant_id)), 0) };

	job_batches(j, follow_some, &way, sizeof(way));
	return DONE;
}
