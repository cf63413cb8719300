/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an asset is about, anew, since a person has changed its words.  Safe to run twice: each part is. */
#include "jobs/gist.h"

enum outcome
gist_run(struct job *j)
{
	const struct gist_args *in = j->in;

	return keywords_make(j, in->media_id);
}
