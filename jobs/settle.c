/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of rows: failed attempts, leases of the dead, delayed and waiting jobs, the minute's sweep. */
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/log.h"
#include "jobs/runner.h"

enum { BACK_OFF_MAX = 15 * 60 * 1000, NO_SPACE_DELAY = 60 * 1000, WORKED = 10 * 1000, DAY = 24 * 3600 * 1000 };

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
	FIELD(struct claimed, priority, .doc = "Small goes first"),
	FIELD(struct claimed, created_at, .doc = "When it was added"),
	FIELD(struct claimed, run_at, .doc = "Not before"),
	FIELD(struct claimed, expired, .sql = "t.lease_until < " SQL_NOW, .doc = "The lease has run out"),
};
const struct record claimed_record = RECORD("Claimed", struct claimed, claimed_fields);

int64_t
back_off(int64_t base_ms, int64_t attempt)
{
	int64_t ms = base_ms;

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

/* Start time of a process in ticks after boot, which tells it from a later one of the same number; 0: gone, or a
 * zombie. */
static unsigned long long
started(pid_t pid)
{
	char path[64], line[1024], *p;
	unsigned long long ticks = 0;
	FILE *f;
	char state = 'Z';

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	p = fgets(line, sizeof(line), f);
	fclose(f);
	p = p == NULL ? NULL : strrchr(line, ')');
	if (p == NULL ||
	    sscanf(p, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
		&ticks) != 2 ||
	    state == 'Z' || state == 'X')
		return 0;
	return ticks;
}

/* host/pid namespace/pid/start: two containers may share the name of a host, and processes their numbers. */
const char *
holder_name(void)
{
	static char name[120];
	static pid_t made_by;
	char host[60] = "";
	struct stat ns;

	if (made_by == getpid())
		return name;
	gethostname(host, sizeof(host) - 1);
	if (stat("/proc/self/ns/pid", &ns) != 0)
		ns.st_ino = 0;
	made_by = getpid();
	snprintf(
	    name, sizeof(name), "%s/%llu/%d/%llu", host, (unsigned long long)ns.st_ino, (int)made_by, started(made_by));
	return name;
}

bool
holder_dead(const char *name)
{
	const char *mine = holder_name(), *slash = strchr(mine, '/');
	unsigned long long ticks;
	size_t here;
	int pid;

	slash = slash == NULL ? NULL : strchr(slash + 1, '/');
	if (slash == NULL || name == NULL)
		return false;
	here = (size_t)(slash - mine) + 1;
	if (strncmp(name, mine, here) != 0 || sscanf(name + here, "%d/%llu", &pid, &ticks) != 2)
		return false;
	return started(pid) != ticks;
}
