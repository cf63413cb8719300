/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentences that say what an asset says.  Safe to run twice: the row is replaced, by what was made of the words
 * that are there. */
#include "media/summary.h"
#include "jobs/gist.h"

enum outcome
summary_make(struct job *j, struct uuid media_id, const struct words *w)
{
	const struct sentence **s;
	size_t n;

	job_pause(j);
	s = summary_find(w->prose, &n);
	return words_put(j, media_id, w, "summarySentences", "kinothek summary 1, TextRank", summary_json(j->mem, s,
	    n)) ? DONE : RETRY;
}

enum outcome
summary_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const struct words w = words_read(j, in->media_id);

	return summary_make(j, in->media_id, &w);
}
