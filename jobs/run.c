/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop of the runner: claims rows in turn, keeps their leases, settles what has ended. */
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/listen.h"
#include "core/log.h"
#include "core/store.h"
#include "jobs/runner.h"

enum {
	POLL_MS = 2000,
	BACK_OFF_MS = 5000,
	SANDBOX_MS = 600 * 1000,
	FLUSH_MS = 500,
	SHOW_MS = 2000,
	BEAT_MAX = 5000,
	KEEP_MAX = 10000,
	LEASE_GRACE = 5000,
	LAST_WORDS = 10000,
	DRAIN_DOWN = 30000,
	FREE_DEATHS = 5,
	SOON_MS = 600 * 1000,
	KINDS_MAX = 32,		/* that one runner claims: as many ? as in the query of list_turns() */
	READY_MAX = 50000,	/* pairs of tenant and kind that are looked at */
	CHOICE = 8		/* rows of a kind to choose from, since others choose as well */
};

/* Who has ready jobs, of which of our kinds, and when we served them last. */
struct turn {
	struct uuid tenant_id;
	int64_t running, served;
	int64_t kinds; /* a bit for each of loop.names; 0: nothing is left */
};
struct served {
	struct uuid tenant_id; /* first: they are in its order */
	int64_t at;
};

struct loop {
	struct runner r;
	char *kinds, *decoders; /* comma-separated: what we claim; what nobody here can */
	const char *names[KINDS_MAX]; /* what we claim, one by one */
	int n_names;
	char socket[108];
	struct served *served; /* by tenant */
	size_t n_served;
	int64_t turns;
	int64_t next_look, next_beat, next_keep, next_due, next_notify; /* on clock_ms() */
	int64_t down_since, down_until, stop_at;
	int64_t contact_since, last_work; /* without an outage, or a pause of ours, that others may have had as well */
	bool down, stopping, ended; /* ended: the grace of SIGTERM is over */
};

static char *
append(char *list, const char *word)
{
	char *longer = NULL;

	if (asprintf(&longer, "%s%s%s", list == NULL ? "" : list, list == NULL ? "" : ",", word) < 0)
		abort();
	free(list);
	return longer;
}

static void
choose_kinds(struct loop *l)
{
	const struct runner *r = &l->r;
	size_t i;

	for (i = 0; i < r->n_kinds; i++) {
		const char *name = r->kinds[i].kind->name;

		if (r->conf->job_kinds != NULL && r->conf->job_kinds[0] != '\0' &&
		    !word_in(r->conf->job_kinds, name, strlen(name)))
			continue;
		if (r->kinds[i].kind->decodes && r->options->no_sandbox != NULL)
			l->decoders = append(l->decoders, name);
		else if (l->n_names == KINDS_MAX)
			abort();
		else
			l->kinds = append(l->kinds, l->names[l->n_names++] = name);
	}
	if (l->kinds == NULL)
		l->kinds = append(NULL, "-");
}

static const struct run_kind *
kind_of(const struct runner *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->n_kinds; i++)
		if (strcmp(r->kinds[i].kind->name, name) == 0)
			return &r->kinds[i];
	return NULL;
}

/* Sockets of runners that are gone would collect for ever. */
static void
remove_stale_sockets(const char *run_dir)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct dirent *e;
	DIR *dir = opendir(run_dir);
	int fd;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, "runner-", 7) != 0 ||
		    (size_t)snprintf(to.sun_path, sizeof(to.sun_path), "%s/%s", run_dir, e->d_name) >=
			sizeof(to.sun_path))
			continue;
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0 && errno == ECONNREFUSED)
			unlink(to.sun_path);
		if (fd >= 0)
			close(fd);
	}
	if (dir != NULL)
		closedir(dir);
}

static bool
open_socket(struct loop *l)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint32_t tail;

	remove_stale_sockets(l->r.conf->run_dir);
	random_bytes(&tail, sizeof(tail));
	if ((size_t)snprintf(at.sun_path, sizeof(at.sun_path), "%s/runner-%d-%08x.sock", l->r.conf->run_dir,
		(int)getpid(), tail) >= sizeof(at.sun_path)) {
		log_text(LOG_LEVEL_ERROR, "jobs", "the path of run_dir is too long");
		return false;
	}
	l->r.wake = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->r.wake < 0 || bind(l->r.wake, (const struct sockaddr *)&at, sizeof(at)) != 0) {
		log_text(LOG_LEVEL_ERROR, "jobs", "cannot make %s: %s", at.sun_path, strerror(errno));
		return false;
	}
	snprintf(l->socket, sizeof(l->socket), "%s", at.sun_path);
	return true;
}

static void
open_signals(struct loop *l)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	l->r.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->r.signals < 0)
		abort();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int
free_slots(const struct runner *r)
{
	int i, n = 0;

	for (i = 0; i < r->slots; i++)
		n += r->children[i].kind == NULL;
	return n;
}

static const struct field turn_fields[] = {
	FIELD(struct turn, tenant_id, .doc = "Whose"),
	FIELD(struct turn, running, .sql = "COUNT(*)", .doc = "How many"),
	FIELD(struct turn, served, .on = COMPUTED, .doc = "When last"),
	FIELD(struct turn, kinds, .on = COMPUTED, .doc = "Which"),
};
static const struct record turn_record = RECORD("Turn", struct turn, turn_fields);

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

static int64_t *
last_served(struct loop *l, struct uuid tenant_id)
{
	struct served *s = NULL;

	if (l->n_served > 0)
		s = bsearch(&tenant_id, l->served, l->n_served, sizeof(*s), uuid_order);
	if (s != NULL)
		return &s->at;
	l->served = reallocarray(l->served, l->n_served + 1, sizeof(*l->served));
	if (l->served == NULL)
		abort();
	for (s = l->served + l->n_served++; s > l->served && uuid_order(&s[-1].tenant_id, &tenant_id) > 0; s--)
		*s = s[-1];
	*s = (struct served){ tenant_id, 0 };
	return &s->at;
}

struct turns {
	struct turn *at, *running;
	size_t n, n_running;
};

static struct turn *
add_turn(struct loop *l, struct turns *t, struct uuid tenant_id)
{
	struct turn *turn = &t->at[t->n++];
	size_t i;

	turn->tenant_id = tenant_id;
	turn->served = *last_served(l, tenant_id);
	for (i = 0; i < t->n_running; i++)
		if (uuid_equal(t->running[i].tenant_id, tenant_id))
			turn->running = t->running[i].running;
	return turn;
}

static int64_t
kind_bit(const struct loop *l, const char *name)
{
	int i;

	for (i = 0; i < l->n_names; i++)
		if (strcmp(l->names[i], name) == 0)
			return INT64_C(1) << i;
	return 0;
}

/* From the index alone: however many jobs of other kinds there are, or of one tenant, none of them is looked at. */
static void
list_turns(struct loop *l, struct turns *t)
{
	static const char ready[] =
	    "FROM jobs t FORCE INDEX (claim_by_kind) WHERE t.state = 'ready' AND t.kind IN "
	    "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
	    "GROUP BY t.kind, t.tenant_id LIMIT ?";
	static const char running[] = "FROM jobs t WHERE t.state = 'running' GROUP BY t.tenant_id";
	struct arg args[KINDS_MAX + 2];
	struct db *db = l->r.db;
	struct turn *turn = NULL;
	struct ready *rows;
	size_t i, n;

	for (i = 0; i < KINDS_MAX; i++)
		args[i] = STR(l->n_names == 0 ? "-" : l->names[i < (size_t)l->n_names ? i : 0]);
	args[KINDS_MAX] = INT(READY_MAX);
	args[KINDS_MAX + 1].kind = ARG_END;
	t->running = db_rows(db, &turn_record, running, NO_ARGS, &t->n_running);
	rows = db_rows(db, &ready_record, ready, args, &n);
	t->n = 0;
	t->at = arena_array(l->r.mem, n + 1, sizeof(*t->at));
	if (n > 0)
		qsort(rows, n, sizeof(*rows), uuid_order);
	for (i = 0; i < n; i++) {
		if (turn == NULL || !uuid_equal(turn->tenant_id, rows[i].tenant_id))
			turn = add_turn(l, t, rows[i].tenant_id);
		turn->kinds |= kind_bit(l, rows[i].kind);
	}
}

static bool
comes_before(const struct turn *a, const struct turn *b)
{
	return a->running != b->running ? a->running < b->running : a->served < b->served;
}

/* Whoever has the fewest jobs running, then whoever was served longest ago. */
static struct turn *
whose_turn(const struct turns *t)
{
	struct turn *best = NULL;
	size_t i;

	for (i = 0; i < t->n; i++)
		if (t->at[i].kinds != 0 && (best == NULL || comes_before(&t->at[i], best)))
			best = &t->at[i];
	return best;
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

/* So that clients see what runs: its begin at once, the child is at work already; how far it is now and then.  If
 * another holds the rows for long, then a little later. */
static void
show(struct runner *r, struct child *c, bool begun, int64_t now)
{
	c->unshown = false;
	c->shown = now;
	if (uuid_is_none(c->row.media_id) || uuid_is_none(c->row.ingest_id))
		return;
	db_begin(r->db);
	if (begun)
		asset_summarise(r->db, c->row.media_id, SUM_INGEST);
	else
		asset_progress(r->db, c->row.media_id);
	if (db_commit(r->db) || db_failure(r->db) != DB_AGAIN)
		return;
	db_forgive(r->db);
	c->unshown = true;
}

static int
by_urgency(const void *a, const void *b)
{
	const struct claimed *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->run_at.ms != y->run_at.ms)
		return x->run_at.ms < y->run_at.ms ? -1 : 1;
	return uuid_order(&x->id, &y->id);
}

/* The most urgent ready jobs of a tenant, some of each kind, in order. */
static struct claimed *
list_jobs(struct loop *l, const struct turn *turn, size_t *n)
{
	struct claimed *all = arena_array(l->r.mem, KINDS_MAX * CHOICE, sizeof(*all)), *rows;
	size_t n_rows;
	int i;

	*n = 0;
	for (i = 0; i < l->n_names; i++) {
		if ((turn->kinds & INT64_C(1) << i) == 0)
			continue;
		rows = db_rows(l->r.db, &claimed_record,
		    "FROM jobs t FORCE INDEX (claim_by_kind) WHERE t.state = 'ready' AND t.kind = ? "
		    "AND t.tenant_id <=> ? AND t.run_at <= " SQL_NOW " ORDER BY t.priority, t.run_at, t.id LIMIT ?",
		    ARGS(STR(l->names[i]), ID(turn->tenant_id), INT(CHOICE)), &n_rows);
		if (n_rows > 0)
			memcpy(all + *n, rows, n_rows * sizeof(*rows));
		*n += n_rows;
	}
	qsort(all, *n, sizeof(*all), by_urgency);
	return all;
}

static bool
claim_for(struct loop *l, const struct turn *turn)
{
	struct runner *r = &l->r;
	struct claimed *rows;
	struct child *c;
	size_t i, n;
	int tries;

	for (tries = 0; tries < 3; tries++) {
		rows = list_jobs(l, turn, &n);
		if (n == 0)
			return false;
		for (i = 0; i < n; i++) {
			if (!take(r, &rows[i]))
				continue;
			crash_point("claimed");
			c = child_start(r, kind_of(r, rows[i].kind), &rows[i]);
			crash_point("forked");
			show(r, c, true, clock_ms());
			return true;
		}
	}
	return false;
}

static void
claim(struct loop *l)
{
	struct turns turns;
	struct turn *turn;

	if (l->stopping || free_slots(&l->r) == 0)
		return;
	list_turns(l, &turns);
	while (free_slots(&l->r) > 0 && db_failure(l->r.db) == DB_FINE && (turn = whose_turn(&turns)) != NULL) {
		if (!claim_for(l, turn)) {
			turn->kinds = 0;
			continue;
		}
		turn->running++;
		turn->served = *last_served(l, turn->tenant_id) = ++l->turns;
	}
}

static struct child *
child_with(struct runner *r, struct uuid id)
{
	int i;

	for (i = 0; i < r->slots; i++)
		if (r->children[i].kind != NULL && uuid_equal(r->children[i].row.id, id))
			return &r->children[i];
	return NULL;
}

/* Cancellation is asked for on the row. */
static void
look_for_cancelled(struct runner *r)
{
	const struct claimed *rows;
	struct child *c;
	size_t i, n;

	if (free_slots(r) == r->slots)
		return;
	rows = db_rows(r->db, &claimed_record,
	    "FROM jobs t WHERE t.state = 'running' AND t.cancel_requested = 1 "
	    "AND t.runner = ?",
	    ARGS(STR(holder_name())), &n);
	for (i = 0; i < n; i++) {
		c = child_with(r, rows[i].id);
		if (c != NULL && c->row.fence == rows[i].fence && c->ending == ENDING_NONE && c->verdict == 0)
			child_end(c, ENDING_CANCEL);
	}
}

/*
 * One statement per child: a row that its child has locked for its closing transaction must not keep the others from
 * being renewed, and is safe from everybody anyway.
 */
static void
beat(struct runner *r)
{
	struct child *c;
	int64_t renewed;
	int i;

	db_run(r->db, "SET SESSION innodb_lock_wait_timeout = 1", NO_ARGS);
	for (i = 0; i < r->slots; i++) {
		c = &r->children[i];
		if (c->kind == NULL)
			continue;
		renewed = db_run(r->db,
		    "UPDATE jobs SET lease_until = " SQL_NOW " + ? WHERE id = ? AND fence = ? AND state = 'running'",
		    ARGS(INT(r->conf->job_lease * 1000), ID(c->row.id), INT(c->row.fence)));
		if (renewed == 0 && c->kill_at == 0)
			c->kill_at = clock_ms() + LEASE_GRACE;
		if (db_failure(r->db) == DB_AGAIN)
			db_forgive(r->db);
	}
	look_for_cancelled(r);
}

static void
flush_progress(struct runner *r, int64_t now)
{
	struct child *c;
	int i;

	for (i = 0; i < r->slots; i++) {
		c = &r->children[i];
		if (c->kind == NULL || c->pid == 0 || c->closing)
			continue;
		if (c->unshown && now - c->shown >= SHOW_MS)
			show(r, c, false, now);
		if (!c->dirty || now - c->flushed < FLUSH_MS)
			continue;
		c->dirty = false;
		c->flushed = now;
		db_run(r->db,
		    "UPDATE jobs SET progress = ?, log_tail = COALESCE(?, log_tail) WHERE id = ? AND fence = ? "
		    "AND state = 'running'",
		    ARGS(INT(c->percent), STR(c->log.n > 0 ? c->log.text : NULL), ID(c->row.id), INT(c->row.fence)));
		if (db_failure(r->db) == DB_AGAIN) {
			db_forgive(r->db);
			c->dirty = true;
		} else {
			c->unshown = true;
		}
	}
}

static void
settle_children(struct loop *l)
{
	struct runner *r = &l->r;
	struct child *c;
	const char *state;
	int i;

	for (i = 0; i < r->slots; i++) {
		c = &r->children[i];
		if (c->kind == NULL || c->verdict == 0)
			continue;
		state = settle(r->db, r->mem,
		    &(struct settlement){ .row = &c->row,
			.verdict = c->verdict,
			.reason = c->reason,
			.detail = c->detail[0] == '\0' ? NULL : c->detail,
			.log_tail = c->log.n > 0 ? c->log.text : NULL,
			.delay_ms =
			    back_off(r->options->back_off_ms ? r->options->back_off_ms : BACK_OFF_MS, c->row.attempt),
			.cpu_ms = c->cpu_ms });
		if (db_failure(r->db) == DB_AGAIN)
			continue;
		if (state == NULL && db_failure(r->db) != DB_FINE)
			return;
		child_forget(r, c, state == NULL ? "settled_elsewhere" : state);
		l->next_due = 0;
	}
}

/*
 * Who could not reach the database could not keep its leases either, and neither could the others: after an outage they
 * have the time of a lease to come back.
 */
static void
note_contact(struct loop *l, int64_t now)
{
	if (now - l->last_work > l->r.conf->job_lease * 500)
		l->contact_since = now;
	l->last_work = now;
}

static bool
may_judge_others(const struct loop *l)
{
	return clock_ms() - l->contact_since > l->r.conf->job_lease * 1000;
}

/*
 * Leases that ran out, leases of dead processes of this machine, and rows of ours that no child works on.  The death of
 * a runner is seldom the fault of all its jobs, so the attempt does not count; but one that ends every runner ends
 * itself, since claims grow faster than attempts then.
 */
static void
reap(struct loop *l)
{
	struct runner *r = &l->r;
	struct claimed *rows;
	const char *state;
	bool ours;
	size_t i, n;
	char id[UUID_TEXT];

	rows = db_rows(r->db, &claimed_record, "FROM jobs t WHERE t.state = 'running'", NO_ARGS, &n);
	for (i = 0; i < n; i++) {
		ours = rows[i].runner != NULL && strcmp(rows[i].runner, holder_name()) == 0;
		if (ours ? child_with(r, rows[i].id) != NULL : !holder_dead(rows[i].runner) &&
		    (!rows[i].expired || !may_judge_others(l)))
			continue;
		state = settle(r->db, r->mem,
		    &(struct settlement){ .row = &rows[i],
			.verdict = ours ? HAND_BACK : AGAIN,
			.reason = REASON_CRASHED,
			.detail = "The runner that worked on it is gone.",
			.uncounted = rows[i].fence - rows[i].attempt < FREE_DEATHS,
			.delay_ms = back_off(
			    r->options->back_off_ms ? r->options->back_off_ms : BACK_OFF_MS, rows[i].attempt) });
		if (state != NULL) {
			uuid_format(rows[i].id, id);
			log_line(LOG_LEVEL_WARN, "reap", LOG_TEXT("kind", rows[i].kind), LOG_TEXT("id", id),
			    LOG_TEXT("runner", rows[i].runner), LOG_TEXT("state", state),
			    LOG_INT("attempt", rows[i].attempt));
			store_delete(r->mem, arena_printf(r->mem, "work/%s.%" PRId64, id, rows[i].fence));
		}
		if (db_failure(r->db) == DB_AGAIN)
			db_forgive(r->db);
	}
}

/*
 * A machine that cannot isolate decoders leaves their jobs to others and says so on the row.  If nobody takes them for
 * long, they fail with that reason instead of waiting for ever.
 */
static void
refuse_decoders(struct loop *l)
{
	struct runner *r = &l->r;
	int64_t limit = r->options->sandbox_ms ? r->options->sandbox_ms : SANDBOX_MS;
	struct claimed *rows;
	size_t i, n;

	if (l->decoders == NULL)
		return;
	db_run(r->db,
	    "UPDATE jobs SET error = ? WHERE state = 'ready' AND error IS NULL AND FIND_IN_SET(kind, ?) > 0 LIMIT 100",
	    ARGS(STR(job_error(r->mem, REASON_SANDBOX, NULL)), STR(l->decoders)));
	if (db_number(r->db, "SELECT COUNT(*) FROM jobs WHERE state = 'running' AND FIND_IN_SET(kind, ?) > 0",
		ARGS(STR(l->decoders)), 1) > 0)
		return;
	rows = db_rows(r->db, &claimed_record,
	    "FROM jobs t WHERE t.state = 'ready' AND t.run_at < " SQL_NOW " - ? "
	    "AND FIND_IN_SET(t.kind, ?) > 0 LIMIT 100",
	    ARGS(INT(limit), STR(l->decoders)), &n);
	for (i = 0; i < n; i++)
		if (take(r, &rows[i]))
			settle(r->db, r->mem,
			    &(struct settlement){ .row = &rows[i],
				.verdict = FAIL,
				.reason = REASON_SANDBOX,
				.detail = r->options->no_sandbox });
}

static void
keep_house(struct loop *l)
{
	reap(l);
	settle_waiting(l->r.db);
	refuse_decoders(l);
	if (!l->stopping && kind_of(&l->r, "sweep") != NULL && word_in(l->kinds, "sweep", strlen("sweep")))
		settle_sweep(l->r.db);
}

/* Delayed jobs become ready on time, not only at the next look.  True when some did. */
static bool
promote(struct loop *l, int64_t now)
{
	int64_t due, ready = settle_delayed(l->r.db);

	due = db_number(
	    l->r.db, "SELECT MIN(run_at) - " SQL_NOW " FROM jobs WHERE state = 'delayed'", NO_ARGS, INT32_MAX);
	l->next_due = now + (due < 1 ? 1 : due);
	return ready > 0;
}

/* Nothing that this or any runner could still do in the next minutes? */
static bool
drained(struct loop *l)
{
	if (free_slots(&l->r) < l->r.slots)
		return false;
	return db_number(l->r.db,
		   "SELECT COUNT(*) FROM jobs WHERE (state = 'ready' OR (state = 'delayed' AND run_at < " SQL_NOW
		   " + ?)) AND FIND_IN_SET(kind, ?) > 0",
		   ARGS(INT(SOON_MS), STR(l->kinds)), 1) == 0 &&
	    db_number(l->r.db, "SELECT COUNT(*) FROM jobs WHERE state = 'running'", NO_ARGS, 1) == 0 &&
	    db_number(l->r.db,
		"SELECT COUNT(*) FROM jobs t WHERE t.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM job_waits w "
		"JOIN jobs j ON j.id = w.on_id WHERE w.job_id = t.id AND j.state NOT IN ('succeeded', 'failed', "
		"'cancelled'))", NO_ARGS, 1) == 0;
}

/* All that needs the database.  Its failure is looked at once, at the end. */
static void
work(struct loop *l, int64_t now, bool woken)
{
	struct runner *r = &l->r;
	bool look = woken || now >= l->next_look || now >= l->next_due;

	if (now < l->down_until)
		return;
	note_contact(l, now);
	if (now >= l->next_beat) {
		beat(r);
		l->next_beat =
		    now + (r->conf->job_lease * 1000 / 4 < BEAT_MAX ? r->conf->job_lease * 1000 / 4 : BEAT_MAX);
	}
	settle_children(l);
	if (now >= l->next_keep) {
		keep_house(l);
		l->next_keep = now + (r->conf->job_lease * 500 < KEEP_MAX ? r->conf->job_lease * 500 : KEEP_MAX);
		look = true;
	}
	if (look) {
		l->next_look = now + (r->options->poll_ms ? r->options->poll_ms : POLL_MS);
		claim(l);
		if (promote(l, now))
			claim(l);
		if (woken)
			look_for_cancelled(r);
	}
	flush_progress(r, now);
}

static void
look_at_failure(struct loop *l, int64_t now)
{
	struct db *db = l->r.db;

	if (now < l->down_until)
		return;
	if (db_failure(db) == DB_LOST || db_failure(db) == DB_BROKEN) {
		if (!l->down)
			log_line(LOG_LEVEL_ERROR, "jobs",
			    LOG_TEXT("text", "the database is not there; running jobs go on"),
			    LOG_TEXT("error", db_error(db)));
		if (!l->down)
			l->down_since = now;
		l->down = true;
		l->down_until = now + 500;
		l->contact_since = now;
		l->next_beat = l->next_look = 0;
	} else if (l->down) {
		l->down = false;
		log_text(LOG_LEVEL_INFO, "jobs", "the database is back");
	}
	db_forgive(db);
}

static bool
read_signals(struct loop *l, int64_t now)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(l->r.signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			ended = true;
			continue;
		}
		l->stop_at = l->stopping ? now : now + (int64_t)l->r.options->grace * 1000;
		if (!l->stopping) {
			listen_notify("STOPPING=1");
			log_text(LOG_LEVEL_INFO, "jobs", "stopping: no more claims, running jobs have %d s",
			    l->r.options->grace);
		}
		l->stopping = true;
	}
	if (ended)
		children_wait(&l->r);
	return ended;
}

/* After the grace, what still runs is ended and handed back.  True when all is done. */
static bool
stop(struct loop *l, int64_t now)
{
	struct runner *r = &l->r;
	int i;

	if (free_slots(r) == r->slots)
		return true;
	if (now < l->stop_at)
		return false;
	for (i = 0; i < r->slots && !l->ended; i++)
		if (r->children[i].kind != NULL && r->children[i].verdict == 0)
			child_end(&r->children[i], ENDING_HAND_BACK);
	l->ended = true;
	/* Without a database the leases stay; the next runner here sees that we are gone. */
	return now >= l->stop_at + LAST_WORDS;
}

static void
sooner(int64_t *at, int64_t other)
{
	if (other < *at)
		*at = other;
}

static int
wait_ms(const struct loop *l, int64_t now)
{
	int64_t at = l->next_look;
	const struct child *c;
	int i;

	sooner(&at, l->next_beat);
	sooner(&at, l->next_keep);
	sooner(&at, l->next_due);
	sooner(&at, l->next_notify);
	for (i = 0; i < l->r.slots; i++) {
		c = &l->r.children[i];
		if (c->kind == NULL)
			continue;
		if (c->verdict != 0)
			sooner(&at, now + 50);
		else if (c->pid == 0)
			sooner(&at, c->restart_at);
		else if (c->dirty && !c->closing)
			sooner(&at, c->flushed + FLUSH_MS);
		if (c->unshown && c->pid > 0 && !c->closing)
			sooner(&at, c->shown + SHOW_MS);
		if (c->kill_at != 0)
			sooner(&at, c->kill_at);
		sooner(&at, c->seen + (int64_t)c->kind->kind->idle_seconds * 1000 + 1);
	}
	if (l->down && at < l->down_until)
		at = l->down_until;
	if (l->stopping && !l->ended)
		sooner(&at, l->stop_at);
	return at <= now ? 0 : at - now > 5000 ? 5000 : (int)(at - now);
}

/* Sleeps until something happens.  True when somebody has called for us. */
static bool
pause_loop(struct loop *l, int64_t now)
{
	struct pollfd fds[SLOTS_MAX + 2] = { { l->r.wake, POLLIN, 0 }, { l->r.signals, POLLIN, 0 } };
	struct runner *r = &l->r;
	char byte[16];
	bool woken = false;
	int i, n = 2;

	for (i = 0; i < r->slots; i++)
		if (r->children[i].kind != NULL && r->children[i].pipe > 0)
			fds[n++] = (struct pollfd){ r->children[i].pipe, POLLIN, 0 };
	if (poll(fds, (nfds_t)n, wait_ms(l, now)) < 0 && errno != EINTR)
		abort();
	for (i = 0; i < r->slots; i++)
		child_read(r, &r->children[i]);
	while (recv(r->wake, byte, sizeof(byte), 0) >= 0)
		woken = true;
	return woken;
}

static void
notify_alive(struct loop *l, int64_t now)
{
	const char *interval = getenv("WATCHDOG_USEC");
	int64_t us = 0;

	l->next_notify = INT64_MAX;
	if (interval == NULL || !int_parse(interval, &us) || us < 1000)
		return;
	listen_notify("WATCHDOG=1");
	l->next_notify = now + us / 3000;
}

static int
loop(struct loop *l)
{
	bool woken = true;
	int64_t now;

	for (;;) {
		now = clock_ms();
		arena_reset(l->r.mem);
		db_use(l->r.db, l->r.mem);
		if (now >= l->next_notify)
			notify_alive(l, now);
		woken |= read_signals(l, now);
		children_watch(&l->r, now);
		work(l, now, woken);
		look_at_failure(l, now);
		if (job_added())
			job_wake(l->r.conf->run_dir);
		if (l->stopping && stop(l, now))
			return 0;
		if (l->r.options->drain && l->down && now - l->down_since > DRAIN_DOWN &&
		    free_slots(&l->r) == l->r.slots)
			return 75;
		if (l->r.options->drain && !l->down && !l->stopping && drained(l))
			return 0;
		woken = pause_loop(l, clock_ms());
	}
}

int
run_jobs(const struct conf *conf, const struct run_kind *kinds, size_t n, const struct run_options *options)
{
	struct loop *l = calloc(1, sizeof(*l));
	int status;

	if (l == NULL)
		abort();
	l->r.conf = conf;
	l->r.options = options;
	l->r.kinds = kinds;
	l->r.n_kinds = n;
	l->r.slots = conf->job_slots > 0 ? (int)conf->job_slots : (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (l->r.slots > SLOTS_MAX)
		l->r.slots = SLOTS_MAX;
	l->r.oom_kills = oom_kills();
	l->r.mem = arena_new((size_t)64 << 20);
	l->r.db = db_open(conf, DB_JOBS);
	choose_kinds(l);
	open_signals(l);
	if (!store_open(conf) || !open_socket(l))
		return 71;
	if (options->no_sandbox != NULL && l->decoders != NULL)
		log_line(LOG_LEVEL_ERROR, "jobs",
		    LOG_TEXT("text", "this machine cannot isolate decoders: their jobs are not taken"),
		    LOG_TEXT("why", options->no_sandbox), LOG_TEXT("kinds", l->decoders));
	srandom((unsigned)getpid() ^ (unsigned)clock_ms());
	log_line(LOG_LEVEL_INFO, "jobs", LOG_TEXT("text", "ready"), LOG_INT("slots", l->r.slots),
	    LOG_TEXT("kinds", l->kinds));
	listen_notify("READY=1");
	status = loop(l);
	unlink(l->socket);
	db_close(l->r.db);
	arena_free(l->r.mem);
	free(l->served);
	free(l->kinds);
	free(l->decoders);
	free(l);
	return status;
}
