/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the steps that understand an asset share: its words, and that what they make is of the words that are there. */
#ifndef JOBS_WORDS_H
#define JOBS_WORDS_H

#include "media/prose.h"
#include "jobs/run.h"

struct words {
	struct prose *prose;
	const char *stamp;			/* of all that it was read from */
};

/* Reads them, in a transaction: what is said, in the language that is spoken, as far as it can be believed, what stands
 * on slides and on a picture, and the pages of a document. */
struct words words_read(struct job *, struct uuid media_id);

/*
 * Ends a step with its result, in the transaction that job_resume() opens here.  Where the words have changed
 * meanwhile, nothing is written, and a job makes it anew.  False: return RETRY.
 */
bool words_put(struct job *, struct uuid media_id, const struct words *, const char *kind, const char *engine,
    const char *data);

#endif
