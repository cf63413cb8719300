/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of an ingest.  The first one has shown its files as they came; after a further one, the new generation takes
 * the place of the old in one UPDATE, or, when a needed step has failed, goes itself.  Safe to run twice: the second
 * run finds the swap done and nothing left to delete.
 */
#include <string.h>

#include "core/asset.h"
#include "core/play.h"
#include "core/store.h"
#include "jobs/run.h"

struct step { const char *kind; };
static const struct field step_fields[] = {
	FIELD(struct step, kind, .doc = "Kind of job"),
};
static const struct record step_record = RECORD("Step", struct step, step_fields);

struct old { const char *generation; };
static const struct field old_fields[] = {
	FIELD(struct old, generation, .doc = "Folder"),
};
static const struct record old_record = RECORD("OldGeneration", struct old, old_fields);

static bool
needed_step_failed(struct job *j)
{
	struct step *steps;
	size_t n, i;

	steps = db_rows(j->db, &step_record, "FROM jobs t WHERE t.ingest_id = ? AND t.state IN ('failed', 'cancelled') "
	    "AND t.replaced_by IS NULL", ARGS(ID(j->ingest_id)), &n);
	for (i = 0; i < n; i++)
		if (job_kind(steps[i].kind) != NULL && job_kind(steps[i].kind)->needed)
			return true;
	return false;
}

/* Deletes the rows of a generation at once and its files later: addresses given out stay good until they expire. */
static void
drop(struct job *j, struct uuid media_id, const char *generation, int64_t delay_ms)
{
	struct job_place place = { .tenant_id = j->tenant_id, .media_id = media_id, .priority = PRIORITY_BULK,
	    .delay_ms = delay_ms };
	const char **keys = arena_array(j->mem, 1, sizeof(*keys));

	keys[0] = store_key_play(j->mem, media_id, generation);
	db_run(j->db, "DELETE FROM renditions WHERE media_id = ? AND generation = ?", ARGS(ID(media_id),
	    STR(generation)));
	job_add(j->db, purge, place, .keys = { keys, 1 });
}

enum outcome
publish_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const char *current = db_text(j->db, "SELECT generation FROM media WHERE id = ?", ARGS(ID(in->media_id)));
	struct moment now = moment_now();
	struct old *olds;
	size_t n, i;

	if (current == NULL)
		return job_give_up(j, REASON_ASSET_GONE, "The asset was deleted meanwhile.");
	if (strcmp(current, in->generation) != 0) {
		if (needed_step_failed(j)) {
			drop(j, in->media_id, in->generation, 0);
			return DONE;
		}
		db_run(j->db, "UPDATE media SET generation = ? WHERE id = ?", ARGS(STR(in->generation),
		    ID(in->media_id)));
		/* A minute more for who has just read the old row. */
		drop(j, in->media_id, current, play_expiry(j->conf, (struct moment){ now.ms + 60000 }) * 1000 - now.ms);
	}
	/* What an ingest left behind that never came to its end. */
	olds = db_rows(j->db, &old_record, "FROM renditions t WHERE t.media_id = ? AND t.generation <> ? GROUP BY "
	    "t.generation", ARGS(ID(in->media_id), STR(in->generation)), &n);
	for (i = 0; i < n; i++)
		drop(j, in->media_id, olds[i].generation, 0);
	asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
	return DONE;
}
