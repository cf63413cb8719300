/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes passages and words of an asset (core/search.h) anew, a part at a time, so that neither the asset nor anything
 * else is locked for longer than that takes.  A layer whose texts are those of the last time is passed over; of the
 * others the rows that differ are written.  Until a layer is done its words are partly those of before, and a passage
 * may be another one than its words say: whoever searches meanwhile is shown it without the place.
 *
 * Of two that make the same asset the later one wins: it takes the next number of search_runs before it reads anything,
 * and the earlier one, which finds another number than its own, writes nothing more.
 */
#ifndef CORE_SEARCH_INDEX_H
#define CORE_SEARCH_INDEX_H

#include "core/db.h"

/* Where it is; copied and put back by job_batches(), so what it points to is never changed by a part that writes. */
struct search_index {
	struct uuid media_id;
	struct arena *mem;		/* what is known of a layer */
	const struct search_content *content;
	int64_t run;			/* 0: it has not begun */
	size_t layer, passages, words, gone;	/* which, and how many of it are written */
};

void search_index_begin(struct search_index *, struct uuid media_id);
/* One part, in a transaction of its own.  False: it is done, or another one does it, or the asset is gone. */
bool search_index_some(struct db *, struct search_index *);
void search_index_end(struct search_index *);

#endif
