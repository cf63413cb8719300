/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leases: ours are kept, those of the dead are taken back. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/livestream.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/scratch.h"
#include "jobs/runner.h"

enum { LEASE_GRACE = 5000, FREE_DEATHS = 5, NODES_MS = LIVESTREAM_DEAD_MS / 2 };

/* Start time of a process; 0: gone, or a zombie. */
static unsigned long long
started(pid_t pid)
{
	struct machine_process p;

	return machine_process(pid, &p) && p.state != 'Z' && p.state != 'X' ? p.started : 0;
}

/* {machine}/{pid}/{start}: processes of one machine may share their numbers, one after the other. */
const char *
holder_name(void)
{
	static char name[160];
	static pid_t made_by;

	if (made_by == getpid())
		return name;
	made_by = getpid();
	snprintf(name, sizeof(name), "%s/%d/%llu", machine_name(), (int)made_by, started(made_by));
	return name;
}

bool
holder_dead(const char *name)
{
	const char *here = machine_name();
	size_t n = strlen(here);
	unsigned long long ticks;
	int pid;

	if (name == NULL || strncmp(name, here, n) != 0 || sscanf(name + n, "/%d/%llu", &pid, &ticks) != 2)
		return false;
	return started(pid) != ticks;
}

static struct child *
child_with(struct runner *r, struct uuid id)
{
	int i;

	for (i = 0; i < r->places; i++)
		if (r->children[i].kind != NULL && uuid_equal(r->children[i].row.id, id))
			return &r->children[i];
	return NULL;
}

/* Cancellation is asked for on the row. */
void
lease_cancelled(struct runner *r)
{
	const struct claimed *rows;
	struct child *c;
	size_t i, n;

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
void
lease_beat(struct runner *r)
{
	struct child *c;
	int64_t renewed;
	int i;

	db_run(r->db, "SET SESSION innodb_lock_wait_timeout = 1", NO_ARGS);
	for (i = 0; i < r->places; i++) {
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
	lease_cancelled(r);
}

/*
 * Who could not reach the database could not keep its leases either, and neither could the others: after an outage they
 * have the time of a lease to come back.
 */
void
lease_contact(struct runner *r, int64_t now)
{
	if (now - r->last_work > r->conf->job_lease * 500)
		r->contact_since = now;
	if (now - r->last_work > NODES_MS)
		r->steady_since = now;
	r->last_work = now;
}

/* A server that stands still refuses nobody: what was asked before is answered behind it, and no node has said
 * meanwhile that it lives. */
bool
lease_may_judge_nodes(const struct runner *r)
{
	const int64_t now = clock_ms();

	return now - r->last_work <= NODES_MS && now - r->steady_since > LIVESTREAM_DEAD_MS &&
	    now - r->contact_since > LIVESTREAM_DEAD_MS;
}

static bool
may_judge_others(const struct runner *r)
{
	return clock_ms() - r->contact_since > r->conf->job_lease * 1000;
}

/*
 * Leases that ran out, leases of dead processes of this machine, and rows of ours that no child works on.  The death of
 * a runner is seldom the fault of all its jobs, so the attempt does not count; but one that ends every runner ends
 * itself, since claims grow faster than attempts then.
 */
void
lease_reap(struct runner *r)
{
	struct claimed *rows;
	const char *state;
	bool ours, dead;
	size_t i, n;
	char id[UUID_TEXT];

	rows = db_rows(r->db, &claimed_record, "FROM jobs t WHERE t.state = 'running'", NO_ARGS, &n);
	for (i = 0; i < n; i++) {
		ours = rows[i].runner != NULL && strcmp(rows[i].runner, holder_name()) == 0;
		dead = !ours && holder_dead(rows[i].runner);
		if (ours ? child_with(r, rows[i].id) != NULL : !dead && (!rows[i].expired || !may_judge_others(r)))
			continue;
		state = settle(r->db, r->mem,
		    &(struct settlement){ .row = &rows[i],
			.verdict = ours ? HAND_BACK : AGAIN,
			.reason = REASON_LEASE_LOST,
			.detail = dead ? "The runner that worked on it has ended." :
			    "The runner that worked on it was not heard of for too long.",
			.uncounted = rows[i].fence - rows[i].attempt < FREE_DEATHS,
			.delay_ms = back_off(r->options, rows[i].attempt) });
		if (state != NULL) {
			uuid_format(rows[i].id, id);
			log_line(LOG_LEVEL_WARN, "reap", LOG_TEXT("kind", rows[i].kind), LOG_TEXT("id", id),
			    LOG_TEXT("runner", rows[i].runner), LOG_TEXT("state", state),
			    LOG_INT("attempt", rows[i].attempt));
			scratch_remove(r->mem, job_run_name(r->mem, rows[i].id, rows[i].fence));
		}
		if (db_failure(r->db) == DB_AGAIN)
			db_forgive(r->db);
	}
}
