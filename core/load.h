/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the workers of this machine are busy with, so that one tenant cannot hold them all.
 *
 * run_dir/load is a small file that all processes map, whoever has started them: a slot for each with the tenant whose
 * request it runs and since when, and a debt for tenants whose requests were slow.  Slow is what takes longer than 50
 * ms. A tenant may have a quarter of the workers busy with slow requests, at least one.  One that has used more than
 * that for some seconds, as its debt tells, may for a while have no more requests than that in all: otherwise it would
 * take all workers again whenever its slow requests end together.  Quick requests never count.
 *
 * Without the file (another owner, no room) nobody is turned away.
 */
#ifndef CORE_LOAD_H
#define CORE_LOAD_H

#include <stdbool.h>

#include "core/text.h"

/* Takes a slot for this process, and those of dead ones away.  Before it nobody is turned away. */
void load_open(const char *run_dir);
void load_close(void);

/* A request of the tenant begins.  False: its tenant has enough that runs already, this one had better not. */
bool load_enter(struct uuid tenant_id);
/* It has ended, if one began. */
void load_leave(void);

#endif
