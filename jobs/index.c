/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of an asset can be searched is made anew.  Safe to run twice: it makes of the asset as it is what there is to
 * find.  The note that it is to be done goes first, by a transaction of its own: what changes from then on adds another
 * job, which takes over from this one.  What the texts mean is the affair of a job behind it.
 */
#include "core/excerpts.h"
#include "core/models.h"
#include "core/search_index.h"
#include "jobs/run.h"

static bool
some(struct job *j, void *at)
{
	return search_index_some(j->db, at);
}

enum outcome
index_run(struct job *j)
{
	const struct index_args *in = j->in;
	struct search_index x;

	db_run(j->db, "DELETE FROM search_pending WHERE media_id = ?", ARGS(ID(in->media_id)));
	search_index_begin(&x, in->media_id);
	job_batches(j, some, &x, sizeof(x));
	search_index_end(&x);
	if (!job_resume(j))
		return RETRY;
	excerpts_follow(j->db, in->media_id, (struct excerpt_engines){ meaning_glosses_name(j->mem),
	    models_embed(j->db, j->conf, j->tenant_id).name });
	return DONE;
}
