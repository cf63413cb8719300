/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A channel that is closing is emptied and then deleted, some assets in each transaction.  Safe to run twice, also at
 * once: each asset is locked and leaves the channel once, with its event, and the row of the channel says where to.
 */
#include "core/closing.h"
#include "jobs/run.h"

struct target { struct uuid closing_to, home; };
static const struct field target_fields[] = {
	FIELD(struct target, closing_to, .doc = "Where its assets go; null: they are taken out of it"),
	FIELD(struct target, home, .sql = "n.default_channel_id", .doc = "Where those go that are in no other one"),
};
static const struct record target_record = RECORD("ClosingTarget", struct target, target_fields);

/* How far it is. */
struct way {
	struct closing c;
	bool stuck;			/* the channel that assets go to is gone */
	int64_t done, total;
};

/* False: there is no such channel any more, or it is not closing. */
static bool
read_targets(struct job *j, struct closing *c)
{
	const struct target *t = db_row(j->db, &target_record, "FROM channels t JOIN tenants n ON n.id = t.tenant_id "
	    "WHERE t.id = ? AND t.closing_at > 0", ARGS(ID(c->channel_id)));

	if (t == NULL)
		return false;
	c->to = t->closing_to;
	c->home = t->home;
	return true;
}

/* Where its assets go stays until the end of the transaction: held before any asset is. */
static bool
hold_target(struct job *j, const struct closing *c)
{
	return db_number(j->db, "SELECT 1 FROM channels WHERE id = ? LOCK IN SHARE MODE", ARGS(ID(uuid_is_none(c->to) ?
	    c->home : c->to)), 0) == 1 || db_failure(j->db) != DB_FINE;
}

static bool
let_some_go(struct job *j, void *at)
{
	struct way *way = at;
	struct uuid last;
	size_t n;

	if (!read_targets(j, &way->c))
		return false;
	way->stuck = !hold_target(j, &way->c);
	if (way->stuck)
		return false;
	n = closing_hold(j->db, way->c.channel_id, &last);
	if (n == 0) {
		closing_end(j->db, &way->c);
		return false;
	}
	closing_let_go(j->db, &way->c, last);
	way->done += (int64_t)n;
	job_progress(j, (int)(way->done * 100 / (way->total + CLOSING_BATCH)));
	return true;
}

enum outcome
closing_run(struct job *j)
{
	const struct closing_args *in = j->in;
	struct way way = { .c = { .tenant_id = j->tenant_id, .channel_id = in->channel_id,
	    .principal_id = in->principal_id, .address = in->address } };

	way.total = db_number(j->db, "SELECT COUNT(*) FROM media_channels WHERE channel_id = ?",
	    ARGS(ID(in->channel_id)), 0);
	job_batches(j, let_some_go, &way, sizeof(way));
	return way.stuck ? job_retry(j, REASON_INTERNAL, "The channel that assets go to is gone.") : DONE;
}
