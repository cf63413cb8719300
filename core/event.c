/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events: written once, read in the order of their numbers, late ones too. */
#include <stdlib.h>
#include <string.h>

#include "core/event.h"
#include "core/gist.h"
#include "core/log.h"
#include "core/search.h"
#include "core/text.h"
#include "core/token.h"

enum {
	ROWS = 500,		/* new ones, of one read */
	GAPS = 20000,		/* that are kept open */
	YOUNG_MS = 2000,	/* open ones that are looked for at each read, */
	OLD_MS = 1000,		/* and the time between two looks for the others */
	PROBES = 64,		/* locking reads, of one read */
};

static const struct event_type types[] = {
#define EVENT_ROW(type, scope, use, doc) { type, SCOPE_##scope, use, doc },
	EVENTS(EVENT_ROW)
#undef EVENT_ROW
};

static const struct field event_fields[] = {
	FIELD(struct event, id,           .on = SERVER, .required = true, .doc = "Its number, the same wherever it is told; later ones have higher ones"),
	FIELD(struct event, type,         .on = SERVER, .required = true, .one_of = EVENT_NAMES, .doc = "What happened"),
	FIELD(struct event, media_id,     .on = SERVER, .doc = "The asset it is about"),
	FIELD(struct event, principal_id, .on = SERVER, .doc = "Who did it; null: the service itself"),
	FIELD(struct event, data,         .on = SERVER, .required = true, .doc = "What there is to know of it, by its type"),
	FIELD(struct event, created_at,   .on = SERVER, .required = true, .doc = "When it happened"),
	FIELD(struct event, tenant_id,    .on = HIDDEN, .doc = "Tenant"),
	FIELD(struct event, object_id,    .on = HIDDEN, .doc = "What it is about, where that is no asset"),
	FIELD(struct event, is_audit,     .on = HIDDEN, .doc = "One of the audit"),
	FIELD(struct event, channel_ids,  .on = HIDDEN, .sql = "COALESCE(m.channel_ids, t.channel_ids)", .doc = "Where the asset is"),
	FIELD(struct event, deleted_at,   .on = HIDDEN, .sql = "COALESCE(m.deleted_at, 0)", .doc = "Of the asset"),
};
const struct record event_record = RECORD("Event", struct event, event_fields);

struct number_row { int64_t id; };
static const struct field number_fields[] = { FIELD(struct number_row, id, .doc = "Number") };
static const struct record number_record = RECORD("EventNumber", struct number_row, number_fields);

const struct event_type *
event_type_at(size_t i)
{
	return i < sizeof(types) / sizeof(types[0]) ? &types[i] : NULL;
}

const struct event_type *
event_type(const char *name)
{
	const struct event_type *t;
	size_t i;

	for (i = 0; (t = event_type_at(i)) != NULL; i++)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

void
event_add(struct db *db, const struct event_new *e)
{
	if (!e->is_audit && event_type(e->type) == NULL)
		abort();
	db_run(db, "INSERT INTO events (tenant_id, media_id, object_id, is_audit, type, principal_id, address, "
	    "channel_ids, data, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(e->tenant_id),
	    ID(e->media_id), ID(e->object_id), INT(e->is_audit), STR(e->type), ID(e->principal_id), STR(e->address),
	    BYTES(e->channel_ids.n > 0 ? e->channel_ids.at : NULL, e->channel_ids.n * sizeof(struct uuid)),
	    STR(e->data != NULL ? e->data : "{}"), TIME(moment_now())));
	search_told(db, e->media_id, e->type, e->data);
	if (!uuid_is_none(e->principal_id))
		gist_told(db, e->tenant_id, e->media_id, e->type, e->data);
}

void
event_add_job(struct db *db, struct uuid media_id, const char *type, const char *data)
{
	if (event_type(type) == NULL)
		abort();
	db_run(db, "INSERT INTO events (tenant_id, media_id, type, data, created_at) SELECT m.tenant_id, m.id, ?, ?, ? "
	    "FROM media m WHERE m.id = ?", ARGS(STR(type), STR(data != NULL ? data : "{}"), TIME(moment_now()),
	    ID(media_id)));
	search_told(db, media_id, type, data);
}

/* So old that none below it is still open.  0: there is none. */
static int64_t
settled_by_age(struct db *db, int64_t late_ms)
{
	struct arg before = TIME(moment_now());

	before.n -= 2 * late_ms;	/* the clocks of nodes differ */
	return db_number(db, "SELECT GREATEST(COALESCE((SELECT id FROM events WHERE is_audit = 0 AND created_at < ? "
	    "ORDER BY created_at DESC LIMIT 1), 0), COALESCE((SELECT id FROM events WHERE is_audit = 1 AND created_at < "
	    "? ORDER BY created_at DESC LIMIT 1), 0))", ARGS(before, before), 0);
}

static int64_t
late_ms(const struct event_reader *r, struct db *db)
{
	if (r != NULL && r->late_ms > 0)
		return r->late_ms;
	if (db_number(db, "SELECT @@auto_increment_increment", NO_ARGS, 1) > 1)
		return EVENT_LATE_CLUSTER_MS;
	return EVENT_LATE_MS;
}

bool
event_reader_open(struct event_reader *r, struct db *db, int64_t settled)
{
	*r = (struct event_reader){ .high = settled >= 0 ? settled : settled_by_age(db, late_ms(NULL, db)) };
	return db_failure(db) == DB_FINE;
}

void
event_reader_close(struct event_reader *r)
{
	free(r->gaps);
	*r = (struct event_reader){ 0 };
}

int64_t
event_settled(const struct event_reader *r)
{
	return r->n_gaps > 0 ? r->gaps[0].id - 1 : r->high;
}

bool
event_seen(const struct event_reader *r, int64_t id)
{
	size_t low = 0, high = r->n_gaps, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (r->gaps[middle].id == id)
			return false;
		if (r->gaps[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return id <= r->high;
}

static void
drop_gaps(struct event_reader *r, size_t from, size_t n)
{
	memmove(r->gaps + from, r->gaps + from + n, (r->n_gaps - from - n) * sizeof(*r->gaps));
	r->n_gaps -= n;
}

/* `id` has been seen: those between it and the highest before are open.  Of a jump that no writers can have caused (a
 * table that was restored) the last are enough. */
static void
open_gaps(struct event_reader *r, int64_t id)
{
	int64_t first = id - r->high - 1 > GAPS ? id - GAPS : r->high + 1, now = clock_ms();
	size_t more = (size_t)(id - first);

	if (r->n_gaps + more > GAPS) {
		log_text(LOG_LEVEL_WARN, "events", "%zu numbers are missing: the oldest are given up",
		    r->n_gaps + more);
		drop_gaps(r, 0, r->n_gaps + more - GAPS);
	}
	if (r->n_gaps + more > r->room) {
		r->room = (r->n_gaps + more) * 2;
		r->gaps = realloc(r->gaps, r->room * sizeof(*r->gaps));
		if (r->gaps == NULL)
			abort();
	}
	for (; first < id; first++)
		r->gaps[r->n_gaps++] = (struct event_gap){ first, now };
	r->high = id;
}

static const struct event *
one(struct db *db, int64_t id)
{
	return db_row(db, &event_record, EVENT_FROM "WHERE t.id = ?", ARGS(INT(id)));
}

/* The rows that have come to open numbers, the i-th and later ones, go to `out`. */
static size_t
take_late(struct event_reader *r, struct db *db, size_t i, struct event *out, size_t room)
{
	const struct number_row *there;
	const struct event *e;
	size_t n, k, taken = 0;

	there = db_rows(db, &number_record, "FROM events t WHERE t.id >= ? AND t.id <= ? ORDER BY t.id",
	    ARGS(INT(r->gaps[i].id), INT(r->gaps[r->n_gaps - 1].id)), &n);
	for (k = 0; k < n && i < r->n_gaps && taken < room;) {
		if (there[k].id != r->gaps[i].id) {
			there[k].id < r->gaps[i].id ? k++ : i++;
			continue;
		}
		e = one(db, there[k++].id);
		if (db_failure(db) != DB_FINE)
			break;
		drop_gaps(r, i, 1);
		if (e != NULL && !e->is_audit)
			out[taken++] = *e;
	}
	return taken;
}

/* Young ones each time, since most come within moments. */
static size_t
look_for_late(struct event_reader *r, struct db *db, struct event *out, size_t room)
{
	int64_t now = clock_ms();
	size_t i = 0;

	if (r->n_gaps > 0 && now - r->looked_at >= OLD_MS)
		r->looked_at = now;
	else
		while (i < r->n_gaps && r->gaps[i].since < now - YOUNG_MS)
			i++;
	return i < r->n_gaps ? take_late(r, db, i, out, room) : 0;
}

/* Does an uncommitted row stand there, or has one come? */
static bool
is_taken(struct db *db, int64_t id)
{
	int64_t there = db_number(db, "SELECT t.id FROM events t WHERE t.id = ? FOR UPDATE NOWAIT", ARGS(INT(id)), 0);
	enum db_failure failure = db_failure(db);

	if (failure == DB_AGAIN)
		db_forgive(db);
	return there != 0 || failure != DB_FINE;
}

/* Of those that were looked for: what has not come, and cannot any more. */
static void
close_gaps(struct event_reader *r, struct db *db)
{
	int64_t late = r->n_gaps > 0 ? late_ms(r, db) : 0, until = r->looked_at - late;
	size_t i = 0, probes = 0;

	while (i < r->n_gaps && r->gaps[i].since <= until && probes++ < PROBES && db_failure(db) == DB_FINE)
		if (is_taken(db, r->gaps[i].id))
			i++;
		else
			drop_gaps(r, i, 1);
}

const struct event *
event_read(struct event_reader *r, struct db *db, size_t *n, bool *more)
{
	struct event *out = arena_array(db_arena(db), 2 * ROWS, sizeof(*out));
	const struct event *rows;
	size_t i, got;

	*n = look_for_late(r, db, out, ROWS);
	*more = *n == ROWS;
	if (!*more)
		close_gaps(r, db);
	rows = db_rows(db, &event_record, EVENT_FROM "WHERE t.id > ? ORDER BY t.id LIMIT 500", ARGS(INT(r->high)),
	    &got);
	for (i = 0; i < got; i++) {
		open_gaps(r, rows[i].id);
		if (!rows[i].is_audit)
			out[(*n)++] = rows[i];
	}
	*more |= got == ROWS;
	return *n > 0 ? out : NULL;
}

int64_t
event_settled_now(struct db *db)
{
	int64_t settled = settled_by_age(db, late_ms(NULL, db));
	const struct number_row *rows;
	size_t i, n;

	rows = db_rows(db, &number_record, "FROM events t WHERE t.id > ? ORDER BY t.id LIMIT 20000", ARGS(INT(settled)),
	    &n);
	for (i = 0; i < n && rows[i].id == settled + 1; i++)
		settled++;
	return settled;
}

int64_t
event_prune(struct db *db)
{
	return db_run(db, "DELETE FROM events WHERE is_audit = 0 AND created_at < ? ORDER BY created_at LIMIT 500",
	    ARGS(INT(moment_now().ms - EVENT_DAYS * INT64_C(86400000))));
}
