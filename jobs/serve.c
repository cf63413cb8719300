/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files of an asset follow its row: served while it is there, out of reach once it is soft-deleted.  Whoever
 * changed the row has moved them already, unless it died in between; a step that was running may have written more
 * since.  Safe to run twice, and in any order with others of its kind: it looks at the row, not at what was asked for.
 */
#include <errno.h>

#include "core/asset.h"
#include "jobs/run.h"

enum outcome
serve_run(struct job *j)
{
	const struct serve_args *in = j->in;
	struct fault fault;

	if (asset_serve(j->db, in->media_id))
		return DONE;
	fault_of_errno(j->mem, errno, &fault, "Files could not be moved yet.");
	return job_fault(j, &fault);
}
