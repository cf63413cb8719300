/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends events to webhooks, many at a time, as long as there are webhooks; after a while another job takes over, and
 * this one waits for the answers that it has asked for.  Safe to run twice, also at the same time: a delivery is a row,
 * and who changes it first sends it.  One that was on its way when its runner died is sent again, with the same
 * webhook-id.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "jobs/deliver.h"

enum {
	RUN_MS = 10 * 60 * 1000,	/* then the next job */
	BUSY_MS = 20,			/* between two rounds while something is going on, */
	IDLE_MS = 250,			/* and while nothing is */
	REAP_MS = 5000,
	SOON_MS = 10000,		/* what is due within this is waited for by a runner that drains */
	AWAY_MS = 30000,		/* without a database */
	ROUND_MEM = 256 << 20,
};

static volatile sig_atomic_t told_to_end;
static bool only_due;
static int64_t soon_ms = SOON_MS, run_ms = RUN_MS;

void
deliver_only_due(int64_t soon)
{
	only_due = true;
	soon_ms = soon >= 0 ? soon : SOON_MS;
}

void
deliver_for(int64_t ms)
{
	only_due = false;
	run_ms = ms;
}

static void
on_term(int sig)
{
	told_to_end = sig;
}

struct round {
	struct job *job;
	struct deliveries d;
	struct web_many *web;
	struct fan *fan;
	int64_t began, reap_at, fan_at, away_since;	/* ms of clock_ms() */
	bool more;					/* events are there already */
	bool followed;					/* another job takes over */
};

static void
begin_call(struct round *r, struct sending *m)
{
	m->next = r->d.going;
	r->d.going = m;
	r->d.n_going++;
	m->began = clock_ms();
	web_many_add(r->web, m->mem, &m->call, m);
}

static void
end_call(struct round *r, struct sending *m, const struct web_answer *a)
{
	struct sending **at = &r->d.going;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	r->d.n_going--;
	m->answer = *a;
	m->ms = clock_ms() - m->began;
	pace_learn(&r->d.paces, m);
	m->next = r->d.ended;
	r->d.ended = m;
}

static void
drop(struct sending *list)
{
	struct sending *next;

	for (; list != NULL; list = next) {
		next = list->next;
		arena_free(list->mem);
	}
}

/* What has ended and what begins, in one transaction: the disk is asked once. */
static bool
write_down(struct round *r, struct sending **chosen)
{
	struct sending *m, **at = chosen, *taken_by_others = NULL;

	if (r->d.ended == NULL && *chosen == NULL)
		return true;
	db_begin(r->d.db);
	for (m = r->d.ended; m != NULL; m = m->next)
		queue_settle(&r->d, m);
	while ((m = *at) != NULL) {
		if (queue_take(&r->d, m)) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		m->next = taken_by_others;
		taken_by_others = m;
	}
	drop(taken_by_others);
	if (!db_commit(r->d.db)) {
		db_rollback(r->d.db);
		return false;
	}
	drop(r->d.ended);
	r->d.ended = NULL;
	return true;
}

/* What goes on longer than a moment is waited for by the next round. */
static void
listen_to(struct round *r, int ms)
{
	struct web_answer a;
	struct sending *m;

	while ((m = web_many_next(r->web, ms, &a)) != NULL) {
		end_call(r, m, &a);
		ms = r->d.n_going > 0 && ms > 0 ? 2 : 0;
	}
}

static bool
is_ending(const struct round *r)
{
	return told_to_end != 0 || clock_ms() - r->began > run_ms;
}

static bool
has_webhooks(struct db *db)
{
	return db_number(db, "SELECT 1 FROM webhooks WHERE is_active = 1 LIMIT 1", NO_ARGS, 0) == 1;
}

/* Here or on another machine, before the last answer has come: one that never does holds up nobody. */
static void
follow(struct round *r)
{
	if (r->followed || only_due || !is_ending(r))
		return;
	db_begin(r->d.db);
	if (has_webhooks(r->d.db))
		job_add(r->d.db, deliver, (struct job_place){ .priority = PRIORITY_FIRST }, .note = "");
	r->followed = db_commit(r->d.db);
	if (!r->followed)
		db_rollback(r->d.db);
	if (job_added())
		job_wake(r->d.conf->run_dir);
}

/* Nothing to send, no events, and nothing that will be due in a moment. */
static bool
is_done(struct round *r)
{
	int64_t due;

	if (r->d.n_going > 0 || r->d.ended != NULL || r->more)
		return false;
	if (is_ending(r))
		return true;
	due = queue_due(r->d.db);
	if (due >= 0 && due <= soon_ms)
		return false;
	return only_due || !has_webhooks(r->d.db);
}

static void
keep_house(struct round *r, int64_t now)
{
	size_t n;

	if (now >= r->reap_at) {
		queue_reap(r->d.db);
		r->reap_at = now + REAP_MS;
	}
	if (now < r->fan_at && !r->more)
		return;
	n = fan_out(r->fan, r->d.db, r->d.mem, &r->more);
	r->fan_at = now + (n > 0 ? BUSY_MS * 5 : IDLE_MS);
}

/* The database is asked at the end whether it was there.  False: it has been away for long. */
static bool
database_is_there(struct round *r, int64_t now)
{
	if (db_failure(r->d.db) == DB_FINE) {
		r->away_since = 0;
		return true;
	}
	if (db_failure(r->d.db) == DB_AGAIN) {
		r->away_since = 0;
	} else if (r->away_since == 0) {
		log_line(LOG_LEVEL_ERROR, "deliver", LOG_TEXT("text", "the database does not answer"), LOG_TEXT("error",
		    db_error(r->d.db)));
		r->away_since = now;
	}
	db_forgive(r->d.db);
	return r->away_since == 0 || now - r->away_since < AWAY_MS;
}

/* False: it is over. */
static bool
turn(struct round *r)
{
	struct sending *chosen = NULL, *m, *next;
	int64_t now = clock_ms();
	bool done;

	arena_reset(r->d.mem);
	db_use(r->d.db, r->d.mem);
	job_progress(r->job, 50);
	if (!is_ending(r)) {
		keep_house(r, now);
		chosen = queue_choose(&r->d);
	} else {
		r->more = false;
	}
	if (write_down(r, &chosen)) {
		for (m = chosen; m != NULL; m = next) {
			next = m->next;
			begin_call(r, m);
		}
	} else {
		drop(chosen);
	}
	follow(r);
	done = is_done(r);
	if (!database_is_there(r, now) || done)
		return false;
	listen_to(r, r->d.n_going > 0 || r->more || r->d.ended != NULL ? BUSY_MS : IDLE_MS);
	return true;
}

/* The transaction of the job is of no use here: each round has its own. */
enum outcome
deliver_run(struct job *j)
{
	struct round r = { .job = j, .began = clock_ms(), .d = { .db = j->db, .conf = j->conf, .mem =
	    arena_new(ROUND_MEM) } };

	told_to_end = 0;
	signal(SIGTERM, on_term);
	job_pause(j);
	r.web = web_many_open();
	r.fan = fan_open();
	while (turn(&r))
		continue;
	web_many_close(r.web);
	fan_close(r.fan);
	drop(r.d.going);
	drop(r.d.ended);
	pace_forget(&r.d.paces);
	db_use(j->db, j->mem);
	arena_free(r.d.mem);
	if (r.away_since != 0)
		return job_retry(j, REASON_BUSY, "The database was away.");
	return job_resume(j) ? DONE : RETRY;
}
