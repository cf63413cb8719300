/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deletes files of something that is gone.  Safe to run twice: what is gone stays gone. */
#include <errno.h>
#include <string.h>

#include "core/store.h"
#include "jobs/run.h"

/* Jobs of a deleted asset might write after us: they are cancelled, and those that run are waited for. */
static int64_t
stop_its_jobs(struct job *j)
{
	if (uuid_is_none(j->media_id) ||
	    db_number(j->db, "SELECT COUNT(*) FROM media WHERE id = ?", ARGS(ID(j->media_id)), 1) > 0)
		return 0;
	db_run(j->db,
	    "UPDATE jobs SET state = 'cancelled', error = ?, finished_at = " SQL_NOW " WHERE media_id = ? "
	    "AND kind <> 'purge' AND state IN ('waiting', 'delayed', 'ready')",
	    ARGS(STR(job_error(j->mem, REASON_ASSET_GONE, NULL)), ID(j->media_id)));
	db_run(j->db,
	    "UPDATE jobs SET cancel_requested = 1 WHERE media_id = ? AND kind <> 'purge' AND state = 'running'",
	    ARGS(ID(j->media_id)));
	return db_number(j->db,
	    "SELECT COUNT(*) FROM jobs WHERE media_id = ? AND kind <> 'purge' AND state = 'running'",
	    ARGS(ID(j->media_id)), 0);
}

enum outcome
purge_run(struct job *j)
{
	const struct purge_args *in = j->in;
	const char *key, *slash;
	struct fault fault;
	size_t i;

	if (stop_its_jobs(j) > 0) {
		job_pause(j);
		return job_retry(j, REASON_INTERNAL, "A step of the deleted asset is still ending.");
	}
	job_pause(j);
	for (i = 0; i < in->keys.n; i++) {
		key = in->keys.at[i];
		slash = strchr(key, '/');
		/* A whole top directory is never meant. */
		if (slash == NULL || slash == key || slash[1] == '\0')
			return job_give_up(j, REASON_INTERNAL, "A key to delete names too much.");
		if (!store_delete(j->mem, key)) {
			fault_of_errno(j->mem, errno, &fault, "Files could not be deleted yet.");
			return job_fault(j, &fault);
		}
		job_log(j, "%s is gone", key);
		job_progress(j, (int)((i + 1) * 100 / in->keys.n));
	}
	return DONE;
}
