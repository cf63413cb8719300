/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What no ingest makes: captions of transcripts that are there already, and thumbnails that clients have set.  Their
 * originals are rows and objects below originals/; each ingest puts what is served back from them, so that an asset is
 * whole again when all its files below play/ were lost.
 */
#ifndef JOBS_KEPT_H
#define JOBS_KEPT_H

#include "jobs/run.h"

struct kept_caption { const char *file, *vtt, *written; };	/* as the row names it; its text; its new file */
struct kept {
	struct kept_caption *captions;
	size_t n;
	struct strings thumbnails;		/* files: of the asset and of its sections */
};

/* Reads what there is, in the transaction of the job. */
void kept_find(struct job *, struct kept *);

/* Writes the files, under names of this run; outside of a transaction.  False: why. */
bool kept_write(struct job *, struct kept *, struct fault *);

/* Has the row name the new captions, in the place of those that were found, whose files go when their addresses have
 * expired. */
void kept_name(struct job *, const struct kept *);

/* Of the two places of a client's thumbnail, with the original and where it is served, the one that has none gets a
 * copy of the other.  False with errno. */
bool kept_thumbnail(struct arena *, struct uuid media_id, const char *file);

#endif
