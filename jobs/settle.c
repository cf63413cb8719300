/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of rows: failed attempts, leases of the dead, delayed and waiting jobs, the minute's sweep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/flow.h"
#include "core/log.h"
#include "core/ledger.h"
#include "core/livestream.h"
#include "core/webhook.h"
#include "jobs/runner.h"

enum {
	BACK_OFF_MS = 5000,
	BACK_OFF_MAX = 15 * 60 * 1000,
	NO_SPACE_DELAY = 60 * 1000,
	WORKED = 10 * 1000,
	DAY = 24 * 3600 * 1000,
	LIVESTREAMS = 100 /* looked after at a time */
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

/* A quarter more or less, so that not all come back at once. */
static int64_t
about(int64_t ms)
{
	return ms - ms / 4 + random() % (ms / 2 + 1);
}

int64_t
back_off(const struct run_options *options, int64_t attempt)
{
	int64_t ms = options->back_off_ms ? options->back_off_ms : BACK_OFF_MS;

	while (--attempt > 0 && ms < BACK_OFF_MAX)
		ms *= 2;
	if (ms > BACK_OFF_MAX)
		ms = BACK_OFF_MAX;
	return about(ms);
}

static bool
is_final(const char *state)
{
	return strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0;
}

/* What the row knows of the attempts before. */
struct held {
	bool cancel_requested;
	int64_t passing_ms; /* since the first of its last failures that lie in the machine; -1: there are none */
	const char *code; /* why the last one failed */
};
static const struct field held_fields[] = {
	FIELD(struct held, cancel_requested, .doc = "Somebody wants it to end"),
	FIELD(struct held, passing_ms, .sql = "IF(t.passing_since > 0, " SQL_NOW " - t.passing_since, -1)",
	    .doc = "How long it has been failing because of the machine"),
	FIELD(struct held, code, .sql = "JSON_VALUE(t.error, '$.code')", .doc = "Why the last attempt failed"),
};
static const struct record held_record = RECORD("Held", struct held, held_fields);

/* What an ended attempt leads to. */
struct next {
	const char *state;
	int64_t delay_ms;
	bool uncounted;
	bool passing, keeps; /* the series of failures that lie in the machine begins or goes on; is not touched */
};

/*
 * What lies in the machine is nobody's fault: such an attempt does not count for a day.  But one that found room and
 * worked for long may itself have taken what there was.
 */
static bool
is_free(const struct settlement *s, const struct held *h)
{
	if (reason_info(s->reason)->class != CLASS_PASSING || h->passing_ms >= DAY)
		return false;
	return s->reason != REASON_NO_SPACE || s->cpu_ms < WORKED;
}

/* Each pause is as long as all that went before. */
static int64_t
passing_delay(const struct settlement *s, const struct held *h, bool uncounted)
{
	int64_t ms = !uncounted ? 0 : h->passing_ms < BACK_OFF_MAX ? h->passing_ms : about(BACK_OFF_MAX);

	if (s->reason == REASON_NO_SPACE && ms < NO_SPACE_DELAY)
		ms = NO_SPACE_DELAY;
	return ms > s->delay_ms ? ms : s->delay_ms;
}

static struct next
next_after_failure(const struct settlement *s, const struct held *h)
{
	struct next n = { .delay_ms = s->delay_ms, .uncounted = s->uncounted, .keeps = s->uncounted };
	const struct reason_info *why = reason_info(s->reason);

	if (!s->uncounted && why->class == CLASS_PASSING) {
		n.passing = true;
		n.uncounted = is_free(s, h);
		n.delay_ms = passing_delay(s, h, n.uncounted);
	}
	if (!n.uncounted && (s->row->attempt >= s->row->max_attempts ||
	    (why->class == CLASS_TWICE && h->code != NULL && strcmp(h->code, why->code) == 0)))
		return (struct next){ .state = "failed" };
	n.state = n.delay_ms > 0 ? "delayed" : "ready";
	return n;
}

static struct next
next_of(const struct settlement *s, enum verdict verdict, const struct held *h)
{
	switch (verdict) {
	case CANCEL: return (struct next){ .state = "cancelled" };
	case HAND_BACK: return (struct next){ .state = "ready", .uncounted = true, .keeps = true };
	case FAIL: return (struct next){ .state = "failed" };
	case AGAIN: break;
	}
	return next_after_failure(s, h);
}

static bool
write_state(struct db *db, struct arena *mem, const struct settlement *s, enum verdict verdict, const struct next *n)
{
	const char *error = NULL;

	if (verdict != HAND_BACK)
		error = job_error(
		    mem, verdict == CANCEL ? REASON_CANCELLED : s->reason, verdict == CANCEL ? NULL : s->detail);
	return db_run(db,
		   "UPDATE jobs SET state = ?, error = ?, log_tail = COALESCE(?, log_tail), cpu_ms = ?, "
		   "attempt = attempt - ?, run_at = run_at + IF(? > 0, " SQL_NOW
		   " + ? - run_at, 0), progress = 0, lease_until = 0, "
		   "passing_since = IF(? > 0 AND passing_since = 0, " SQL_NOW ", passing_since * ?), "
		   "finished_at = IF(? > 0, " SQL_NOW ", 0) WHERE id = ? AND fence = ? AND state = 'running'",
		   ARGS(STR(n->state), STR(error), STR(s->log_tail), INT(s->cpu_ms), INT(n->uncounted), INT(n->delay_ms),
		       INT(n->delay_ms), INT(n->passing), INT(n->passing || n->keeps), INT(is_final(n->state)),
		       ID(s->row->id), INT(s->row->fence))) == 1;
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
	const struct held *held;
	struct next next;

	db_begin(db);
	held = db_row(db, &held_record, "FROM jobs t WHERE t.id = ? AND t.fence = ? AND t.state = 'running' FOR UPDATE",
	    ARGS(ID(s->row->id), INT(s->row->fence)));
	if (held != NULL && held->cancel_requested)
		verdict = CANCEL;
	if (held != NULL)
		next = next_of(s, verdict, held);
	if (held == NULL || !write_state(db, mem, s, verdict, &next)) {
		db_rollback(db);
		return NULL;
	}
	if (is_final(next.state)) {
		job_settled(db, s->row->id);
		flow_gave_up(db, s->row->id);
	}
	settle_files(db, s->row->tenant_id, s->row->media_id);
	if (!uuid_is_none(s->row->media_id) && !uuid_is_none(s->row->ingest_id))
		asset_summarise(db, s->row->media_id, SUM_INGEST);
	crash_point("before_settle");
	if (!db_commit(db))
		return NULL;
	crash_point("settled");
	return next.state;
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

/* One of every so many ms.  The id is the beginning of them and five letters, so that of all runners only one can add
 * it. */
static void
add_regular(struct db *db, const char *kind, int64_t ms)
{
	int64_t at = db_number(db, "SELECT " SQL_NOW " DIV ? * ?", ARGS(INT(ms), INT(ms)), 0);
	struct uuid id = { { 0, 0, 0, 0, 0, 0, 0x70, 0, 0x80 } };
	int i;

	for (i = 0; i < 6; i++)
		id.b[i] = (uint8_t)(at >> (40 - 8 * i));
	memcpy(id.b + 11, kind, 5);
	db_run(db,
	    "INSERT IGNORE INTO jobs (id, kind, args, state, priority, run_at, max_attempts, created_at) "
	    "SELECT ?, ?, '{}', 'ready', ?, ?, ?, ? FROM (SELECT 1) AS one WHERE NOT EXISTS (SELECT 1 FROM jobs "
	    "t WHERE t.tenant_id IS NULL AND t.state IN ('ready', 'running', 'delayed') AND t.kind = ?)",
	    ARGS(ID(id), STR(kind), INT(PRIORITY_NORMAL), INT(at), INT(job_kind(kind)->attempts), INT(at), STR(kind)));
}

void
settle_sweep(struct db *db)
{
	add_regular(db, "sweep", 60 * 1000);
}

void
settle_scrub(struct db *db, const struct conf *conf)
{
	struct original o;

	if (ledger_next(db, conf, &(struct ledger_place){ 0 }, &o))
		add_regular(db, "scrub", 3600 * 1000);
}

void
settle_webhooks(struct db *db)
{
	if (db_number(db, "SELECT 1 FROM webhooks WHERE is_active = 1 LIMIT 1", NO_ARGS, 0) == 1)
		webhook_work(db);
}

void
settle_livestreams(struct db *db, bool judges)
{
	bool more = true;
	int64_t began;
	int i;

	for (i = 0; more && i < LIVESTREAMS; i++) {
		began = clock_ms();
		db_begin(db);
		more = livestream_tend(db, judges);
		/* The server may have stood still since: no node could say that it lives. */
		if (judges && clock_ms() - began > LIVESTREAM_BEAT_MS) {
			db_rollback(db);
			return;
		}
		if (!db_commit(db))
			return;
	}
}
