/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the workers of this machine are busy with, so that one tenant cannot hold them all.
 *
 * A request waits for its turn only while another tenant has asked within the last minute, and
 *
 *	- all workers but a quarter (at least one) answer requests of its tenant, or
 *	- its tenant is in debt, and an eighth of them (at least one) do, or
 *	- another request of its tenant waits that came earlier.
 *
 * A tenant's debt is the time beyond 20 ms of its requests, or 250 ms of those that write, and goes down by a quarter
 * of what an eighth of the workers does meanwhile.  So quick requests make none, whoever sends nothing but slow ones
 * stays in debt, and seven of eight workers, about half of the machine's cores, are there for the others.
 *
 * All of it stands in run_dir/workers (core/shared.h).  Without it nobody waits.
 */
#ifndef CORE_LOAD_H
#define CORE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

/* Takes a slot for this process, and those of dead ones away.  Before it nobody waits. */
void load_open(const char *run_dir);
void load_close(void);

/* It is the turn of a request of the tenant that came at `came` (clock_ms()).  False: not yet. */
bool load_is_turn(struct uuid tenant_id, int64_t came);
/* The same, and if so it begins. */
bool load_enter(struct uuid tenant_id, int64_t came);
/* It has ended, if one began.  Longer than `quick` ms make a debt: what writes waits for disks and for other nodes. */
void load_leave(int quick);
enum { LOAD_QUICK_READ = 20, LOAD_QUICK_WRITE = 250 };

/* Of the requests that wait in this process this one came first; came 0: none waits. */
void load_wait(struct uuid tenant_id, int64_t came);
/* Fewer than half of the processes are free, for one that cannot take another request while one waits in it. */
bool load_is_crowded(void);

#endif
