/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of rows: failed attempts, leases of the dead, delayed and waiting jobs, the minute's sweep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/log.h"
#include "jobs/runner.h"

enum {
	BACK_OFF_MS = 5000,
	BACK_OFF_MAX = 15 * 60 * 1000,
	NO_SPACE_DELAY = 60 * 1000,
	WORKED = 10 * 1000,
	DAY = 24 * 3600 * 1000
};

static const struct field claimed_fields[] = {
	FIELD(struct claimed, id, .doc = "Unique id"),
	FIELD(struct claimed, tenant_id, .doc = "Whose work"),
	FIELD(struct claimed, media_id, .doc = "The asset"),
	FIELD(struct claimed, ingest_id, .doc = "Root job"),
	FIELD(struct claimed, kind, .doc = "What it does"),
	FIELD(struct claimed, runner, .doc = "Who holds the lease"),
	FIELD(struct claimed, args, .doc = "Struct of the kind"),
	FIELD(struct claimed, attempt, .doc = "Claims so far"),
	FIELD(struct claimed, max_attempts, .doc = "Then failed"),
	FIELD(struct claimed, fence, .doc = "Grows with each claim"),
	FIELD(struct claimed, urgency, .doc = "Small goes first"),
	FIELD(struct claimed, created_at, .doc = "When it was added"),
	FIELD(struct claimed, run_at, .doc = "Not before"),
	FIELD(struct claimed, expired, .sql = "t.lease_until < " SQL_NOW, .doc = "The lease has run out"),
};
const struct record claimed_record = RECORD("Claimed", struct claimed, claimed_fields);

int64_t
back_off(const struct run_options *options, int64_t attempt)
{
	int64_t ms = options->back_off_ms ? options->back_off_ms : BACK_OFF_MS;

	while (--attempt > 0 && ms < BACK_OFF_MAX)
		ms *= 2;
	if (ms > BACK_OFF_MAX)
		ms = BACK_OFF_MAX;
	return ms - ms / 4 + random() % (ms / 2 + 1);
}

static bool
is_final(const char *state)
{
	return strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0;
}

/*
 * The state that an ended attempt leads to.  A full disk is nobody's fault: such a job waits for room for a day before
 * its attempts count.  But one that found room and worked for long may itself have taken what there was.
 */
static const char *
next_state(const struct settlement *s, enum verdict verdict, int64_t *delay_ms, int *uncounted)
{
	*delay_ms = 0;
	*uncounted = 0;
	switch (verdict) {
	case CANCEL: return "cancelled";
	case HAND_BACK: *uncounted = 1; return "ready";
	case FAIL: return "failed";
	case AGAIN: break;
	}
	*delay_ms = s->delay_ms;
	*uncounted = s->uncounted;
	if (s->uncounted)
		return *delay_ms > 0 ? "delayed" : "ready";
	if (s->reason == REASON_NO_SPACE && s->cpu_ms < WORKED && moment_now().ms - s->row->created_at.ms < DAY) {
		*uncounted = 1;
		*delay_ms = s->delay_ms > NO_SPACE_DELAY ? s->delay_ms : NO_SPACE_DELAY;
	} else if (s->row->attempt >= s->row->max_attempts) {
		return "failed";
	} else if (s->reason == REASON_NO_SPACE) {
		*delay_ms = s->delay_ms > NO_SPACE_DELAY ? s->delay_ms : NO_SPACE_DELAY;
	}
	return *delay_ms > 0 ? "delayed" : "ready";
}

static bool
write_state(struct db *db, struct arena *mem, const struct settlement *s, enum verdict verdict, const char **state)
{
	const char *error = NULL;
	int64_t delay;
	int uncounted;

	*state = next_state(s, verdict, &delay, &uncounted);
	if (verdict != HAND_BACK)
		error = job_error(
		    mem, verdict == CANCEL ? REASON_CANCELLED : s->reason, verdict == CANCEL ? NULL : s->detail);
	return db_run(db,
		   "UPDATE jobs SET state = ?, error = ?, log_tail = COALESCE(?, log_tail), cpu_ms = ?, "
		   "attempt = attempt - ?, run_at = run_at + IF(? > 0, " SQL_NOW
		   " + ? - run_at, 0), progress = 0, lease_until = 0, "
		   "finished_at = IF(? > 0, " SQL_NOW ", 0) WHERE id = ? AND fence = ? AND state = 'running'",
		   ARGS(STR(*state), STR(error), STR(s->log_tail), INT(s->cpu_ms), INT(uncounted), INT(delay),
		       INT(delay), INT(is_final(*state)), ID(s->row->id), INT(s->row->fence))) == 1;
}

/* What a step has stored lies below play/, where it is served; not that of an asset which was soft-deleted
 * meanwhile. */
void
settle_files(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	if (!uuid_is_none(media_id) && db_number(db, "SELECT 1 FROM media WHERE id = ? AND deleted_at > 0",
	    ARGS(ID(media_id)), 0) == 1)
		asset_serve_later(db, tenant_id, media_id);
}

const char *
settle(struct db *db, struct arena *mem, const struct settlement *s)
{
	enum verdict verdict = s->verdict;
	const char *state = NULL;
	int64_t cancelled;

	db_begin(db);
	cancelled = db_number(db,
	    "SELECT cancel_requested FROM jobs WHERE id = ? AND fence = ? AND state = 'running' FOR UPDATE",
	    ARGS(ID(s->row->id), INT(s->row->fence)), -1);
	if (cancelled == 1)
		verdict = CANCEL;
	if (cancelled < 0 || !write_state(db, mem, s, verdict, &state)) {
		db_rollback(db);
		return NULL;
	}
	if (is_final(state))
		job_settled(db, s->row->id);
	settle_files(db, s->row->tenant_id, s->row->media_id);
	if (!uuid_is_none(s->row->media_id) && !uuid_is_none(s->row->ingest_id))
		asset_summarise(db, s->row->media_id, SUM_INGEST);
	crash_point("before_settle");
	if (!db_commit(db))
		return NULL;
	crash_point("settled");
	return state;
}

struct due {
	struct uuid id, media_id;
};
static const struct field due_fields[] = {
	FIELD(struct due, id, .doc = "The job"),
	FIELD(struct due, media_id, .doc = "Its asset"),
};
static const struct record due_record = RECORD("Due", struct due, due_fields);

/* Row by row with a guard: several runners do this at the same time. */
int64_t
settle_delayed(struct db *db)
{
	const struct due *d;
	int64_t ready = 0;
	size_t i, n;

	d = db_rows(db, &due_record,
	    "FROM jobs t FORCE INDEX (due) WHERE t.state = 'delayed' AND t.run_at <= " SQL_NOW
	    " ORDER BY t.run_at LIMIT 100",
	    NO_ARGS, &n);
	for (i = 0; i < n; i++)
		ready += db_run(db, "UPDATE jobs SET state = 'ready' WHERE id = ? AND state = 'delayed'",
			     ARGS(ID(d[i].id))) == 1;
	return ready;
}

/* A safety net: who ends a job looks after those that wait for it, unless two ended on two nodes of a cluster at
 * once. */
void
settle_waiting(struct db *db)
{
	const struct due *d;
	size_t i, n;

	d = db_rows(db, &due_record,
	    "FROM jobs t WHERE t.state = 'waiting' AND (NOT EXISTS (SELECT 1 FROM job_waits w "
	    "JOIN jobs j ON j.id = w.on_id WHERE w.job_id = t.id AND j.state NOT IN ('succeeded', 'failed', "
	    "'cancelled')) OR EXISTS (SELECT 1 FROM job_waits w JOIN jobs j ON j.id = w.on_id WHERE w.job_id = t.id "
	    "AND w.needed = 1 AND j.state IN ('failed', 'cancelled'))) LIMIT 100",
	    NO_ARGS, &n);
	for (i = 0; i < n; i++) {
		db_begin(db);
		if (job_release(db, d[i].id) && !uuid_is_none(d[i].media_id))
			asset_summarise(db, d[i].media_id, SUM_INGEST);
		if (!db_commit(db))
			return;
	}
}

/* The id is the minute, so that of all runners only one can add it. */
void
settle_sweep(struct db *db)
{
	int64_t minute = db_number(db, "SELECT " SQL_NOW " DIV 60000 * 60000", NO_ARGS, 0);
	struct uuid id = { { 0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 's', 'w', 'e', 'e', 'p' } };
	int i;

	for (i = 0; i < 6; i++)
		id.b[i] = (uint8_t)(minute >> (40 - 8 * i));
	db_run(db,
	    "INSERT IGNORE INTO jobs (id, kind, args, state, priority, run_at, max_attempts, created_at) "
	    "SELECT ?, 'sweep', '{}', 'ready', ?, ?, ?, ? FROM (SELECT 1) AS one WHERE NOT EXISTS (SELECT 1 FROM jobs "
	    "t WHERE t.tenant_id IS NULL AND t.state IN ('ready', 'running', 'delayed') AND t.kind = 'sweep')",
	    ARGS(ID(id), INT(PRIORITY_NORMAL), INT(minute), INT(job_kind("sweep")->attempts), INT(minute)));
}
