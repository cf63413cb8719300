/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What jobs make of stretches of a recording: the entries of a chapter, and the sections that they lead to. */
#ifndef JOBS_STRETCHES_H
#define JOBS_STRETCHES_H

#include "core/db.h"
#include "media/chapters.h"

struct stretches { struct uuid tenant_id, media_id, chapter_id; const struct stretch *at; size_t n; };

/* Fills a chapter that has none, in the transaction of whoever holds the row of the asset.  What has no title that can
 * be seen is named by its time. */
void stretches_put(struct db *, const struct stretches *);

#endif
