/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events become deliveries: a row for each webhook of the tenant that wants them.  What was read stands in one row,
 * which nobody else writes, so that who writes an event waits for nothing here.  Two that do this at the same time
 * make the same rows, of which the second ones are dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "jobs/deliver.h"

enum {
	FAN_MEM = 256 << 20,
	ROWS = 2000,			/* that are written at a time, and those of one more event */
};

struct fan {
	struct event_reader reader;
	bool open;
	struct arena *mem;		/* of the events that were read and are not written yet */
	const struct event *at;
	size_t left;
	int64_t settled;		/* as it is written */
};

struct wanting { struct uuid tenant_id; };
static const struct field wanting_fields[] = { FIELD(struct wanting, tenant_id, .doc = "Has an active webhook") };
static const struct record wanting_record = RECORD("WantingTenant", struct wanting, wanting_fields);

struct fan *
fan_open(void)
{
	struct fan *f = calloc(1, sizeof(*f));

	if (f == NULL)
		abort();
	f->mem = arena_new(FAN_MEM);
	return f;
}

void
fan_close(struct fan *f)
{
	if (f->open)
		event_reader_close(&f->reader);
	arena_free(f->mem);
	free(f);
}

/* One statement, however many webhooks there are; ids have the form of a version 7 UUID.  Returns the rows. */
static int64_t
deliver(struct db *db, const struct event *e, struct moment now)
{
	return db_run(db, "INSERT IGNORE INTO webhook_deliveries (id, tenant_id, webhook_id, principal_id, event_id, "
	    "event, status, next_attempt_at, created_at, updated_at) SELECT CONCAT(UNHEX(LPAD(HEX(?), 12, '0')), "
	    "UNHEX('70'), SUBSTR(h, 1, 1), UNHEX('80'), SUBSTR(h, 2, 7)), w.tenant_id, w.id, w.principal_id, ?, ?, "
	    "'waiting', " SQL_NOW ", ?, ? FROM (SELECT t.id, t.tenant_id, t.principal_id, UNHEX(MD5(CONCAT(HEX(t.id), "
	    "?))) AS h FROM webhooks t WHERE t.tenant_id = ? AND t.is_active = 1 AND t.created_at <= ? AND "
	    "JSON_CONTAINS(t.events, ?)) w", ARGS(TIME(now), INT(e->id), STR(e->type), TIME(now), TIME(now), INT(e->id),
	    ID(e->tenant_id), TIME(e->created_at), STR(arena_printf(db_arena(db), "\"%s\"", e->type))));
}

/* Some of the events, in their order.  Returns how many. */
static size_t
deliver_some(struct db *db, const struct event *e, size_t n)
{
	const struct wanting *w;
	int64_t rows = 0;
	size_t n_w, i;

	w = db_rows(db, &wanting_record, "FROM webhooks t WHERE t.is_active = 1 GROUP BY t.tenant_id", NO_ARGS, &n_w);
	if (n_w == 0)
		return n;
	qsort((void *)(uintptr_t)w, n_w, sizeof(*w), uuid_order);
	for (i = 0; i < n && rows < ROWS && db_failure(db) == DB_FINE; i++)
		if (!e[i].is_audit && event_type(e[i].type) != NULL && event_type(e[i].type)->use != EVENT_STREAM &&
		    bsearch(&e[i].tenant_id, w, n_w, sizeof(*w), uuid_order) != NULL)
			rows += deliver(db, &e[i], moment_now());
	return i;
}

/* Also when nothing has come, since numbers that were waited for in vain are settled then: what is read again after the
 * log has lost its rows would be sent again. */
static void
write_settled(struct fan *f, struct db *db)
{
	int64_t settled = event_settled(&f->reader);

	if (settled > f->settled)
		db_run(db, "UPDATE webhook_progress SET settled = GREATEST(settled, ?) WHERE id = 1",
		    ARGS(INT(settled)));
	f->settled = settled;
}

/* False: nothing has come. */
static bool
read_more(struct fan *f, struct db *db, bool *more)
{
	arena_reset(f->mem);
	db_use(db, f->mem);
	if (!f->open)
		f->open = event_reader_open(&f->reader, db, db_number(db,
		    "SELECT settled FROM webhook_progress WHERE id = 1", NO_ARGS, -1));
	f->left = 0;
	if (f->open)
		f->at = event_read(&f->reader, db, &f->left, more);
	return f->left > 0;
}

/* What was read and not written is read again. */
size_t
fan_out(struct fan *f, struct db *db, struct arena *mem, bool *more)
{
	bool fine = true;
	size_t n;

	*more = false;
	if (f->left == 0)
		fine = read_more(f, db, more);
	db_use(db, mem);
	if (!fine) {
		if (f->open && db_failure(db) == DB_FINE)
			write_settled(f, db);
		return 0;
	}
	db_begin(db);
	n = deliver_some(db, f->at, f->left);
	if (n == f->left)
		write_settled(f, db);
	if (db_commit(db)) {
		f->at += n;
		f->left -= n;
		*more |= f->left > 0;
		return n;
	}
	db_rollback(db);
	event_reader_close(&f->reader);
	f->open = false;
	f->left = 0;
	f->settled = 0;
	*more = true;
	return 0;
}
