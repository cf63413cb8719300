/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an asset is about, anew, since a person has changed its words.  Safe to run twice: each part is. */
#include "jobs/gist.h"

enum outcome
gist_run(struct job *j)
{
	const struct gist_args *in = j->in;
	static enum outcome (*const parts[])(struct job *, struct uuid, const struct words *) = { keywords_make,
	    entities_make, summary_make };
	const struct words w = words_read(j, in->media_id);
	enum outcome outcome = DONE;
	size_t i;

	for (i = 0; outcome == DONE && i < sizeof(parts) / sizeof(parts[0]); i++)
		outcome = parts[i](j, in->media_id, &w);
	return outcome;
}
