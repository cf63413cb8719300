/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an asset is about, each by a step of its ingest, and all of it by the job `gist` when its words have changed. */
#ifndef JOBS_GIST_H
#define JOBS_GIST_H

#include "jobs/run.h"

/* Each begins in the transaction of the job, and ends in one of its own that is open. */
enum outcome keywords_make(struct job *, struct uuid media_id);
enum outcome entities_make(struct job *, struct uuid media_id);
enum outcome summary_make(struct job *, struct uuid media_id);

#endif
