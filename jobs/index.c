/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of an asset can be searched is made anew.  Safe to run twice: it makes of the asset as it is what there is to
 * find.  The note that it is to be done goes first, by a transaction of its own: what changes from then on adds another
 * job.  Changes of the asset wait while its words are written.
 */
#include "core/search.h"
#include "jobs/run.h"

enum outcome
index_run(struct job *j)
{
	const struct index_args *in = j->in;

	db_run(j->db, "DELETE FROM search_pending WHERE media_id = ?", ARGS(ID(in->media_id)));
	job_pause(j);
	if (!job_resume(j))
		return RETRY;
	search_index(j->db, in->media_id);
	return DONE;
}
