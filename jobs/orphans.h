/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the store that no row names: what runs have stored that never came to commit it. */
#ifndef JOBS_ORPHANS_H
#define JOBS_ORPHANS_H

#include "jobs/run.h"

enum { ORPHAN_MS = 24 * 3600 * 1000 };	/* younger ones may be named any moment */

/* Deletes them among the next so many assets, on from where the call before has stopped, and from the start again at
 * the end: the work of one call is bounded, however large the store.  Outside of a transaction. */
void orphans_clear(struct job *, size_t assets);

/* May the run ("{jobId}.{fence}") still commit?  In doubt, without a database, it may. */
bool orphans_running(struct job *, const char *run);

#endif
