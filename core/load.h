/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the workers of this machine are busy with, so that one tenant cannot hold them all.
 *
 * A request is slow once it has run for 250 ms.  One of a tenant is refused only while the tenant has as many slow ones
 * running as its share is, a quarter of the workers and at least one, and besides either fewer than half of all workers
 * are free, or its debt says that it goes on like this: the time beyond 250 ms of its requests, which goes down by as
 * much as its share could have used.  And only while another tenant has asked within the last minute.  So nobody is
 * refused who sends quick requests, or is alone here.
 *
 * All of it stands in run_dir/workers, a small file that all processes of one account map, whoever has started them; in
 * run_dir/fcgid/workers when they may not write the former.  Without it (no room, no right) nobody is turned away.
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
