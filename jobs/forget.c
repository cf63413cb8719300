/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Voices that are known no more leave those who are them, some assets in each transaction, and are deleted then.  Safe
 * to run twice, also at once: what is left to do is what the rows say.
 */
#include "core/asset.h"
#include "core/search.h"
#include "core/voices.h"
#include "media/speaking.h"
#include "jobs/captions.h"

/* How far it is. */
struct way { int64_t done, total; };

static void
tell(struct job *j, struct uuid media_id)
{
	speaking_renamed(j->db, media_id, captions_again, j);
	search_changed(j->db, media_id, PRIORITY_BULK);
	metadata_changed(j->db, media_id, "speakers");
}

/* The assets are locked first, as by who changes their speakers. */
static bool
leave_some(struct job *j, void *at)
{
	struct way *way = at;
	const struct ids media = voices_left(j->db, j->tenant_id);

	for (size_t i = 0; i < media.n; i++) {
		db_number(j->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(media.at[i])), 0);
		if (voices_leave(j->db, j->tenant_id, media.at[i]))
			tell(j, media.at[i]);
	}
	way->done += (int64_t)media.n;
	if (way->total < way->done)
		way->total = way->done;
	job_progress(j, (int)(way->done * 100 / (way->total + VOICES_BATCH)));
	return media.n > 0 || voices_delete(j->db, j->tenant_id);
}

enum outcome
forget_run(struct job *j)
{
	struct way way = { 0, 0 };

	way.total = db_number(j->db, "SELECT COUNT(*) FROM voices v JOIN speakers s ON s.voice_id = v.id WHERE "
	    "v.tenant_id = ? AND NOT (" VOICES_KNOWN_SQL ")", ARGS(ID(j->tenant_id)), 0);
	job_batches(j, leave_some, &way, sizeof(way));
	return DONE;
}
