/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The playlist that names all that a player can choose from. */
#ifndef JOBS_MASTER_H
#define JOBS_MASTER_H

#include "jobs/step.h"

/* Locks the asset, for whoever adds rows that the playlist names: the first word of its transaction after job_resume(),
 * so that of two steps that end at once the later one waits, instead of a deadlock, and sees what the other added. */
void master_lock(struct job *, const struct asset_args *);

/*
 * Makes the playlist of all rows of the generation, stores it and sums the renditions up.  Called in the transaction
 * that has added rows, which it ends: nobody waits for the asset while the store, which may be a bucket, takes the
 * files.  Then the row names them if nothing has changed meanwhile; else they are made once more.
 */
enum outcome master_write(struct job *, const struct asset_args *);

#endif
