/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kinds `variants` and `pages` share: pictures of an asset on their way into the store. */
#ifndef JOBS_PICTURES_H
#define JOBS_PICTURES_H

#include "media/image.h"
#include "jobs/run.h"

/* Takes those of a kind out of the list. */
void pictures_drop(struct image_files *, const char *kind);

/* Moves the files from the work directory into the store.  False with errno. */
bool pictures_store(struct job *, const struct asset_args *, const struct image_files *);

/* Notes their rows; called in the closing transaction. */
void pictures_put(struct job *, const struct asset_args *, const struct image_files *);

#endif
