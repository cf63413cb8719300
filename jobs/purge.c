/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deletes files of something that is gone, asks the store for each of them once more, and ends when nothing is left:
 * the row of the job is what knows of them until then.  Safe to run twice: what is gone stays gone, and a run goes on
 * with what the one before has left.
 */
#include <errno.h>
#include <string.h>

#include "core/orphan.h"
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

/* Whatever the store has said. */
static bool
is_there(struct job *j, const char *key, bool *there)
{
	size_t n = 0;

	if (!store_has(j->mem, key, there) ||
	    store_list(j->mem, arena_printf(j->mem, "%s/", key), NULL, 1, &n) == NULL)
		return false;
	*there = *there || n > 0;
	return true;
}

/* DONE: nothing is left of it. */
static enum outcome
delete_one(struct job *j, const char *key)
{
	struct fault fault;
	bool there;

	if (!store_delete(j->mem, key) || !is_there(j, key, &there)) {
		fault_of_errno(j->mem, errno, &fault, "Files could not be deleted yet.");
		return job_fault(j, &fault);
	}
	if (there)
		return job_retry(j, REASON_STORAGE, "The store has said that it deleted files, and has them still.");
	job_log(j, "%s is gone", key);
	return DONE;
}

enum outcome
purge_run(struct job *j)
{
	const struct purge_args *in = j->in;
	enum outcome outcome;
	const char *key, *slash;
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
		if (orphan_is_named(j->db, j->mem, key)) {
			if (db_failure(j->db) != DB_FINE)
				return RETRY;
			job_log(j, "%s stays: a row names it", key);
			continue;
		}
		outcome = delete_one(j, key);
		if (outcome != DONE)
			return outcome;
		job_progress(j, (int)((i + 1) * 100 / in->keys.n));
	}
	return DONE;
}
