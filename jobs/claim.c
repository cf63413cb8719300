/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which job is next: of a class that has room, of the tenant whose turn it is, the most urgent one.
 *
 * Who has ready jobs of which kinds is asked once for many claims.  A list that is a little old does no harm: what
 * others have taken is not found, and whoever adds a job calls, so that the list is fetched anew.
 */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "jobs/runner.h"

enum {
	SANDBOX_MS = 600 * 1000,
	ASK_MS = 60 * 1000,
	KINDS_MAX = 56,		/* that one runner claims: as many ? as in the query of list_ready() */
	READY_MAX = 50000,	/* pairs of tenant and kind that are looked at */
	CHOICE = 8,		/* rows of a kind to choose from, since others choose as well */
	OLD_MS = 500		/* a list of turns is of use for so long */
};
#define COUNTED(kind, ...) COUNTED_##kind,
enum { JOB_KINDS(COUNTED) KINDS };
#undef COUNTED
_Static_assert((int)KINDS <= (int)KINDS_MAX, "a runner of all kinds cannot claim them");

/* A tenant that has ready jobs. */
struct turn {
	struct uuid tenant_id;			/* first: they are in its order */
	int64_t kinds;				/* a bit for each of claims.kinds; 0: nothing is left */
	int others[JOB_CLASSES];		/* run by other runners */
	int running[JOB_CLASSES];		/* by all */
	int64_t served[JOB_CLASSES];		/* number of its last turn */
};
struct served {
	struct uuid tenant_id;			/* first, as above */
	int64_t at[JOB_CLASSES];
};

struct claims {
	struct runner *r;
	struct buf names, decoders;		/* comma-separated: what we claim; what nobody here can */
	const struct run_kind *kinds[KINDS_MAX];
	const char *no_sandbox;			/* of the options, or as it was said later */
	int64_t asked;				/* ms of clock_ms() */
	int64_t of_class[JOB_CLASSES];		/* bits of its kinds */
	size_t n_kinds;
	struct arena *mem;			/* of the turns */
	struct turn *turns;
	size_t n_turns;
	int64_t fetched;			/* ms of clock_ms() */
	struct served *served;
	size_t n_served;
	int64_t count;
};

static enum job_class
class_of(const struct run_kind *kind)
{
	return kind->remote ? JOB_NETWORK : kind->kind->class;
}

static void
add_name(struct buf *list, const char *name)
{
	if (list->len > 0)
		buf_char(list, ',');
	buf_text(list, name);
}

static void
choose_kinds(struct claims *c)
{
	const struct runner *r = c->r;
	const char *wanted = r->conf->job_kinds, *name;
	size_t i;

	c->names.len = c->decoders.len = c->n_kinds = 0;
	memset(c->of_class, 0, sizeof(c->of_class));
	for (i = 0; i < r->n_kinds; i++) {
		name = r->kinds[i].kind->name;
		if (wanted != NULL && wanted[0] != '\0' && !word_in(wanted, name, strlen(name)))
			continue;
		if (r->kinds[i].kind->decodes && c->no_sandbox != NULL) {
			add_name(&c->decoders, name);
			continue;
		}
		if (c->n_kinds == KINDS_MAX)
			abort();
		add_name(&c->names, name);
		c->of_class[class_of(&r->kinds[i])] |= INT64_C(1) << c->n_kinds;
		c->kinds[c->n_kinds++] = &r->kinds[i];
	}
}

struct claims *
claims_open(struct runner *r)
{
	struct claims *c = calloc(1, sizeof(*c));

	if (c == NULL)
		abort();
	c->r = r;
	c->no_sandbox = r->options->no_sandbox;
	c->asked = clock_ms();
	c->mem = arena_new((size_t)64 << 20);
	c->names = c->decoders = BUF(arena_new(1 << 16));
	choose_kinds(c);
	if (c->decoders.len > 0)
		log_line(LOG_LEVEL_ERROR, "jobs",
		    LOG_TEXT("text", "this machine cannot isolate decoders: their jobs are not taken"),
		    LOG_TEXT("why", c->no_sandbox), LOG_TEXT("kinds", buf_string(&c->decoders)));
	return c;
}

void
claims_close(struct claims *c)
{
	arena_free(c->names.mem);
	arena_free(c->mem);
	free(c->served);
	free(c);
}

const char *
claims_kinds(const struct claims *c)
{
	return c->names.len > 0 ? c->names.text : "-";
}

const char *
claims_no_sandbox(const struct claims *c)
{
	return c->no_sandbox;
}

static int
kind_number(const struct claims *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->n_kinds; i++)
		if (strcmp(c->kinds[i]->kind->name, name) == 0)
			return (int)i;
	return -1;
}

/* A tenant has ready jobs of a kind. */
struct ready {
	struct uuid tenant_id; /* first, as above */
	const char *kind;
};
static const struct field ready_fields[] = {
	FIELD(struct ready, tenant_id, .doc = "Whose"),
	FIELD(struct ready, kind, .doc = "What"),
};
static const struct record ready_record = RECORD("ReadyJobs", struct ready, ready_fields);

struct running {
	struct uuid tenant_id;
	const char *kind;
	int64_t jobs;
};
static const struct field running_fields[] = {
	FIELD(struct running, tenant_id, .doc = "Whose"),
	FIELD(struct running, kind, .doc = "What"),
	FIELD(struct running, jobs, .sql = "COUNT(*)", .doc = "How many"),
};
static const struct record running_record = RECORD("RunningJobs", struct running, running_fields);

/* From the index alone: however many jobs of other kinds there are, or of one tenant, none of them is looked at. */
static struct ready *
list_ready(struct claims *c, size_t *n)
{
	static const char sql[] =
	    "FROM jobs t FORCE INDEX (claim_by_urgency) WHERE t.state = 'ready' AND t.kind IN "
	    "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
	    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
	    "?, ?, ?, ?, ?, ?, ?, ?) "
	    "GROUP BY t.kind, t.tenant_id LIMIT ?";
	struct arg args[KINDS_MAX + 2];
	struct ready *rows;
	size_t i;

	for (i = 0; i < KINDS_MAX; i++)
		args[i] = STR(c->n_kinds == 0 ? "-" : c->kinds[i < c->n_kinds ? i : 0]->kind->name);
	args[KINDS_MAX] = INT(READY_MAX);
	args[KINDS_MAX + 1].kind = ARG_END;
	rows = db_rows(c->r->db, &ready_record, sql, args, n);
	if (*n > 0)
		qsort(rows, *n, sizeof(*rows), uuid_order);
	return rows;
}

static struct turn *
turn_of(struct claims *c, struct uuid tenant_id)
{
	return c->n_turns == 0 ? NULL :
	    bsearch(&tenant_id, c->turns, c->n_turns, sizeof(*c->turns), uuid_order);
}

/* What others run is counted in the table; what we run, on our own fingers: it changes with every claim. */
static void
count_others(struct claims *c)
{
	const struct running *rows;
	struct turn *turn;
	size_t i, n;
	int kind;

	rows = db_rows(c->r->db, &running_record,
	    "FROM jobs t WHERE t.state = 'running' AND t.runner <> ? GROUP BY t.tenant_id, t.kind",
	    ARGS(STR(holder_name())), &n);
	for (i = 0; i < n; i++) {
		turn = turn_of(c, rows[i].tenant_id);
		kind = kind_number(c, rows[i].kind);
		if (turn != NULL && kind >= 0)
			turn->others[class_of(c->kinds[kind])] += (int)rows[i].jobs;
	}
}

static int64_t *
last_served(struct claims *c, struct uuid tenant_id)
{
	struct served *s = NULL;

	if (c->n_served > 0)
		s = bsearch(&tenant_id, c->served, c->n_served, sizeof(*s), uuid_order);
	if (s != NULL)
		return s->at;
	c->served = reallocarray(c->served, c->n_served + 1, sizeof(*c->served));
	if (c->served == NULL)
		abort();
	for (s = c->served + c->n_served++; s > c->served && uuid_order(&s[-1].tenant_id, &tenant_id) > 0; s--)
		*s = s[-1];
	*s = (struct served){ .tenant_id = tenant_id };
	return s->at;
}

static void
list_turns(struct claims *c)
{
	struct turn *turn = NULL;
	struct ready *rows;
	size_t i, n;

	rows = list_ready(c, &n);
	arena_reset(c->mem);
	c->turns = arena_array(c->mem, n + 1, sizeof(*c->turns));
	c->n_turns = 0;
	c->fetched = clock_ms();
	for (i = 0; i < n; i++) {
		if (turn == NULL || !uuid_equal(turn->tenant_id, rows[i].tenant_id)) {
			turn = &c->turns[c->n_turns++];
			turn->tenant_id = rows[i].tenant_id;
			memcpy(turn->served, last_served(c, turn->tenant_id), sizeof(turn->served));
		}
		turn->kinds |= INT64_C(1) << kind_number(c, rows[i].kind);
	}
	count_others(c);
}

static void
count_ours(struct claims *c)
{
	const struct runner *r = c->r;
	struct turn *turn;
	size_t t;
	int i;

	for (t = 0; t < c->n_turns; t++)
		memcpy(c->turns[t].running, c->turns[t].others, sizeof(c->turns[t].running));
	for (i = 0; i < r->places; i++) {
		turn = r->children[i].kind == NULL ? NULL : turn_of(c, r->children[i].row.tenant_id);
		if (turn != NULL)
			turn->running[class_of(r->children[i].kind)]++;
	}
}

/* Who has all the places of a class, if one tenant has them: for others there is one more. */
struct room {
	bool any, others;
	struct uuid tenant_id;
};

static struct room
look_for_room(const struct runner *r, enum job_class class)
{
	const struct child *first = NULL;
	struct room room = { .others = true };
	int i, n = 0;

	for (i = 0; i < r->places; i++) {
		if (r->children[i].kind == NULL || class_of(r->children[i].kind) != class)
			continue;
		n++;
		if (first == NULL)
			first = &r->children[i];
		else if (!uuid_equal(first->row.tenant_id, r->children[i].row.tenant_id))
			room.others = false;
	}
	room.any = n < r->slots[class];
	room.others = room.any || (room.others && n == r->slots[class]);
	if (first != NULL)
		room.tenant_id = first->row.tenant_id;
	return room;
}

/* Whoever has the fewest jobs of the class running, then whoever was served longest ago. */
static struct turn *
whose_turn(struct claims *c, enum job_class class, const struct room *room)
{
	struct turn *best = NULL, *turn;

	for (turn = c->turns; turn < c->turns + c->n_turns; turn++) {
		if ((turn->kinds & c->of_class[class]) == 0 ||
		    (!room->any && uuid_equal(turn->tenant_id, room->tenant_id)))
			continue;
		if (best == NULL || turn->running[class] < best->running[class] ||
		    (turn->running[class] == best->running[class] && turn->served[class] < best->served[class]))
			best = turn;
	}
	return best;
}

static int
by_urgency(const void *a, const void *b)
{
	const struct claimed *x = a, *y = b;

	if (x->urgency != y->urgency)
		return x->urgency < y->urgency ? -1 : 1;
	return uuid_order(&x->id, &y->id);
}

/* The most urgent ready jobs of a tenant, some of each kind of the class, in order. */
static struct claimed *
list_jobs(struct claims *c, struct turn *turn, enum job_class class, size_t *n)
{
	struct claimed *all = arena_array(c->r->mem, KINDS_MAX * CHOICE, sizeof(*all)), *rows;
	size_t i, n_rows;

	*n = 0;
	for (i = 0; i < c->n_kinds; i++) {
		if ((turn->kinds & c->of_class[class] & INT64_C(1) << i) == 0)
			continue;
		rows = db_rows(c->r->db, &claimed_record,
		    "FROM jobs t FORCE INDEX (claim_by_urgency) WHERE t.state = 'ready' AND t.kind = ? "
		    "AND t.tenant_id <=> ? ORDER BY t.urgency, t.id LIMIT ?",
		    ARGS(STR(c->kinds[i]->kind->name), ID(turn->tenant_id), INT(CHOICE)), &n_rows);
		if (n_rows == 0)
			turn->kinds &= ~(INT64_C(1) << i);
		else
			memcpy(all + *n, rows, n_rows * sizeof(*rows));
		*n += n_rows;
	}
	qsort(all, *n, sizeof(*all), by_urgency);
	return all;
}

/* Ours if the row was still as we saw it; the guard needs no lock before it. */
static bool
take(struct runner *r, struct claimed *row)
{
	if (db_run(r->db,
		"UPDATE jobs SET state = 'running', attempt = attempt + 1, fence = fence + 1, runner = ?, "
		"lease_until = " SQL_NOW " + ?, started_at = " SQL_NOW
		", progress = 0 WHERE id = ? AND state = 'ready' AND fence = ?",
		ARGS(STR(holder_name()), INT(r->conf->job_lease * 1000), ID(row->id), INT(row->fence))) != 1)
		return false;
	row->fence++;
	row->attempt++;
	return true;
}

/* False: the tenant has nothing of the class that others have left to us. */
static bool
claim_for(struct claims *c, struct turn *turn, enum job_class class)
{
	struct claimed *rows;
	struct child *child;
	size_t i, n;
	int tries;

	for (tries = 0; tries < 3; tries++) {
		rows = list_jobs(c, turn, class, &n);
		if (n == 0)
			break;
		for (i = 0; i < n; i++) {
			if (!take(c->r, &rows[i]))
				continue;
			crash_point("claimed");
			child = child_start(c->r, c->kinds[kind_number(c, rows[i].kind)], &rows[i]);
			crash_point("forked");
			progress_begun(c->r, child);
			return true;
		}
	}
	turn->kinds &= ~c->of_class[class];
	return false;
}

void
claims_take(struct claims *c, bool anew)
{
	enum job_class class = 0;
	struct turn *turn;
	struct room room;
	bool fetched = false;

	for (; class < JOB_CLASSES; class += 1) {
		if (c->of_class[class] == 0)
			continue;
		while (room = look_for_room(c->r, class), room.others && db_failure(c->r->db) == DB_FINE) {
			if (!fetched && (anew || clock_ms() - c->fetched > OLD_MS))
				list_turns(c);
			if (!fetched)
				count_ours(c);
			fetched = true;
			turn = whose_turn(c, class, &room);
			if (turn == NULL)
				break;
			if (!claim_for(c, turn, class))
				continue;
			turn->running[class]++;
			turn->served[class] = last_served(c, turn->tenant_id)[class] = ++c->count;
		}
	}
}

/* What was in the way may have passed. */
static bool
can_isolate_after_all(struct claims *c)
{
	const struct runner *r = c->r;

	if (r->options->ask_again == NULL ||
	    clock_ms() - c->asked < (r->options->ask_ms ? r->options->ask_ms : ASK_MS))
		return false;
	c->asked = clock_ms();
	c->no_sandbox = r->options->ask_again(r->conf);
	if (c->no_sandbox != NULL)
		return false;
	choose_kinds(c);
	c->fetched = 0;
	log_text(LOG_LEVEL_INFO, "jobs", "this machine can isolate decoders now: their jobs are taken");
	return true;
}

/*
 * A machine that cannot isolate decoders leaves their jobs to others and says so on the row.  If nobody takes them for
 * long, they fail with that reason instead of waiting for ever.
 */
void
claims_refuse(struct claims *c)
{
	struct runner *r = c->r;
	int64_t limit = r->options->sandbox_ms ? r->options->sandbox_ms : SANDBOX_MS;
	struct claimed *rows;
	size_t i, n;

	if (c->decoders.len == 0 || can_isolate_after_all(c))
		return;
	db_run(r->db,
	    "UPDATE jobs SET error = ? WHERE state = 'ready' AND error IS NULL AND FIND_IN_SET(kind, ?) > 0 LIMIT 100",
	    ARGS(STR(job_error(r->mem, REASON_SANDBOX, NULL)), STR(c->decoders.text)));
	if (db_number(r->db, "SELECT COUNT(*) FROM jobs WHERE state = 'running' AND FIND_IN_SET(kind, ?) > 0",
		ARGS(STR(c->decoders.text)), 1) > 0)
		return;
	rows = db_rows(r->db, &claimed_record,
	    "FROM jobs t WHERE t.state = 'ready' AND t.run_at < " SQL_NOW " - ? "
	    "AND FIND_IN_SET(t.kind, ?) > 0 LIMIT 100",
	    ARGS(INT(limit), STR(c->decoders.text)), &n);
	for (i = 0; i < n; i++)
		if (take(r, &rows[i]))
			settle(r->db, r->mem,
			    &(struct settlement){ .row = &rows[i],
				.verdict = FAIL,
				.reason = REASON_SANDBOX,
				.detail = c->no_sandbox });
}
