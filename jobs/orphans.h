/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the store that no row names: what runs have stored that never came to commit it. */
#ifndef JOBS_ORPHANS_H
#define JOBS_ORPHANS_H

#include "jobs/run.h"

/* Deletes them among the next so many assets, on from where the call before has stopped, and from the start again at
 * the end: the work of one call is bounded, however large the store.  Outside of a transaction. */
void orphans_clear(struct job *, size_t assets);

#endif
