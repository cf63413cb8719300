/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an asset is about, made of its words: keywords, entities, summary.  It follows them: an ingest makes it behind
 * the steps that find words, and when a person changes them a job does.  Whoever writes "metadata.updated" has nothing
 * more to do.
 */
#ifndef CORE_GIST_H
#define CORE_GIST_H

#include <stdbool.h>

#include "core/db.h"

/* In this transaction the words of an asset change, or which of its transcripts speaks for it.  One job that has not
 * begun yet does for all changes. */
void gist_again(struct db *, struct uuid tenant_id, struct uuid media_id);

/* Is it being made just now?  What waits to be made cannot begin in this transaction then. */
bool gist_is_running(struct db *, struct uuid media_id);

/* What waits to be made is not. */
void gist_cancel(struct db *, struct uuid media_id);

/* A person has made a change, which an event of this type and these data tells, in this transaction. */
void gist_told(struct db *, struct uuid tenant_id, struct uuid media_id, const char *type, const char *data);

#endif
