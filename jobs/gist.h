/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an asset is about, each by a step of its ingest, and all of it by the job `gist` when its words have changed. */
#ifndef JOBS_GIST_H
#define JOBS_GIST_H

#include "jobs/words.h"

/* Each begins in a transaction, in that of the job or what another one has left, and ends in one of its own that is
 * open.  The words are those that words_read() gave, and are left as they are. */
enum outcome keywords_make(struct job *, struct uuid media_id, const struct words *);
enum outcome entities_make(struct job *, struct uuid media_id, const struct words *);
enum outcome summary_make(struct job *, struct uuid media_id, const struct words *);

#endif
