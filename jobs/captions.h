/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captions as a file of the store, for the jobs that make transcripts. */
#ifndef JOBS_CAPTIONS_H
#define JOBS_CAPTIONS_H

#include "core/caption.h"
#include "media/transcript.h"
#include "jobs/run.h"

/* Writes the WebVTT of the transcript below a key of this run, and fills in what the list of the asset says of it.
 * False with errno. */
bool captions_write(struct job *, const struct transcript *, const struct list *paragraphs, struct caption *);
/* Has a job write them anew, of a transcript that is shown; the first one is a struct job. */
void captions_again(void *job, const struct transcript *);

#endif
