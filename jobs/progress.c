/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far running jobs are: on their rows, and in what clients see of the asset. */
#include "core/asset.h"
#include "jobs/runner.h"

enum { FLUSH_MS = 500, SHOW_MS = 2000 };

/* So that clients see what runs: its begin at once, the child is at work already; how far it is now and then.  If
 * another holds the rows for long, then a little later. */
static void
show(struct runner *r, struct child *c, bool begun, int64_t now)
{
	c->unshown = false;
	c->shown = now;
	if (uuid_is_none(c->row.media_id) || uuid_is_none(c->row.ingest_id))
		return;
	db_begin(r->db);
	if (begun)
		asset_summarise(r->db, c->row.media_id, SUM_INGEST);
	else
		asset_progress(r->db, c->row.media_id);
	if (db_commit(r->db) || db_failure(r->db) != DB_AGAIN)
		return;
	db_forgive(r->db);
	c->unshown = true;
}

void
progress_begun(struct runner *r, struct child *c)
{
	show(r, c, true, clock_ms());
}

int64_t
progress_due(const struct child *c)
{
	int64_t at = INT64_MAX;

	if (c->pid == 0 || c->closing)
		return at;
	if (c->dirty)
		at = c->flushed + FLUSH_MS;
	return c->unshown && c->shown + SHOW_MS < at ? c->shown + SHOW_MS : at;
}

void
progress_flush(struct runner *r, int64_t now)
{
	struct child *c;
	int i;

	for (i = 0; i < r->places; i++) {
		c = &r->children[i];
		if (db_failure(r->db) == DB_LOST)
			return;
		if (c->kind == NULL || c->pid == 0 || c->closing)
			continue;
		if (c->unshown && now - c->shown >= SHOW_MS)
			show(r, c, false, now);
		if (!c->dirty || now - c->flushed < FLUSH_MS)
			continue;
		c->dirty = false;
		c->flushed = now;
		db_run(r->db,
		    "UPDATE jobs SET progress = ?, log_tail = COALESCE(?, log_tail) WHERE id = ? AND fence = ? "
		    "AND state = 'running'",
		    ARGS(INT(c->percent), STR(c->log.n > 0 ? c->log.text : NULL), ID(c->row.id), INT(c->row.fence)));
		if (db_failure(r->db) == DB_AGAIN) {
			db_forgive(r->db);
			c->dirty = true;
		} else {
			c->unshown = true;
		}
	}
}
