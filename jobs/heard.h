/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a server has answered of parts of a recording, in rows, until its transcript is there: another attempt, also of
 * another process or on another machine, asks for the rest alone.  Each call is a transaction of its own.
 */
#ifndef JOBS_HEARD_H
#define JOBS_HEARD_H

#include "jobs/engines/engine.h"

/* The answer of this engine for exactly that part, in the arena; NULL: there is none. */
const char *heard_find(struct job *, struct arena *, const char *engine, struct span);
/* Keeps one, as long as the job is ours. */
void heard_keep(struct job *, const char *engine, struct span, const char *answer);

/* All of the job go, in the transaction of the caller. */
void heard_forget(struct db *, struct uuid job_id);

#endif
