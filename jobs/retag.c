/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Assets of a tag that was renamed show its new name; of one that was deleted they lose it, and then it goes itself.
 * Safe to run twice, and beside others of its kind: it looks at the row of the tag, not at what was asked for.
 */
#include <string.h>

#include "core/asset.h"
#include "core/event.h"
#include "core/search.h"
#include "jobs/run.h"

enum { BATCH = 50 };
#define TEN "?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
#define THOSE "(" TEN ", " TEN ", " TEN ", " TEN ", " TEN ")"

struct tagged { struct uuid media_id; };
static const struct field tagged_fields[] = { FIELD(struct tagged, media_id, .doc = "Asset") };
static const struct record tagged_record = RECORD("Tagged", struct tagged, tagged_fields);

/* How far it is. */
struct way { struct uuid tag_id, last; int64_t gone_at, done, total; };

/* Those that are not soft-deleted. */
static void
tell(struct job *j, const struct arg *ids)
{
	struct arg args[BATCH + 6] = { ID(j->tenant_id), STR("media.updated"), ID((struct uuid){ { 0 } }),
	    STR("{\"modified\":[\"tags\"]}"), TIME(moment_now()) };

	memcpy(args + 5, ids, (BATCH + 1) * sizeof(*args));
	db_run(j->db, EVENT_ADD_SQL "FROM (SELECT id AS media_id FROM media WHERE id IN " THOSE " AND deleted_at = 0) "
	    "x", args);
}

/* The assets are locked first, as by who sets their tags. */
static bool
show_some(struct job *j, void *at)
{
	struct way *way = at;
	const struct tagged *t;
	struct arg args[BATCH + 2];
	size_t n, i;

	t = db_rows(j->db, &tagged_record, "FROM media_tags t WHERE t.tag_id = ? AND t.media_id > ? ORDER BY "
	    "t.media_id LIMIT 50", ARGS(ID(way->tag_id), BYTES(way->last.b, sizeof(way->last.b))), &n);
	if (n == 0)
		return false;
	for (i = 0; i < BATCH; i++)
		args[i] = ID(t[i < n ? i : n - 1].media_id);
	args[BATCH].kind = args[BATCH + 1].kind = ARG_END;
	db_run(j->db, "UPDATE media SET revision = revision + 1 WHERE id IN " THOSE, args);
	if (way->gone_at > 0) {
		args[BATCH] = ID(way->tag_id);
		db_run(j->db, "DELETE FROM media_tags WHERE media_id IN " THOSE " AND tag_id = ?", args);
		args[BATCH].kind = ARG_END;
	}
	db_run(j->db, "UPDATE media SET " ASSET_SUM_TAGS_SQL " WHERE id IN " THOSE, args);
	tell(j, args);
	for (i = 0; i < n; i++)
		search_changed(j->db, t[i].media_id, PRIORITY_BULK);
	way->last = t[n - 1].media_id;
	way->done += (int64_t)n;
	job_progress(j, (int)(way->done * 100 / (way->total + BATCH)));
	return n == BATCH;
}

enum outcome
retag_run(struct job *j)
{
	const struct retag_args *in = j->in;
	struct way way = { .tag_id = in->tag_id };

	way.gone_at = db_number(j->db, "SELECT gone_at FROM tags WHERE id = ?", ARGS(ID(in->tag_id)), -1);
	way.total = db_number(j->db, "SELECT COUNT(*) FROM media_tags WHERE tag_id = ?", ARGS(ID(in->tag_id)), 0);
	if (way.gone_at < 0)
		return DONE;
	job_batches(j, show_some, &way, sizeof(way));
	if (way.gone_at == 0)
		return DONE;
	if (!job_resume(j))
		return RETRY;
	db_run(j->db, "DELETE FROM tags WHERE id = ? AND gone_at > 0", ARGS(ID(in->tag_id)));
	return DONE;
}
