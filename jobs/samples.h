/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sound of an asset as samples, for the jobs that listen. */
#ifndef JOBS_SAMPLES_H
#define JOBS_SAMPLES_H

#include "jobs/run.h"

enum { SAMPLES_SHARE = 10 };		/* percent of the progress that this takes */

/* A file of 16 kHz mono s16le, which the caller closes: it has no name and is gone with the process.  length: ms.  What
 * comes is DONE, or how the job ends. */
enum outcome samples_make(struct job *, int *pcm, int64_t *length);

#endif
