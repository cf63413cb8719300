/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Smaller, upright forms of a picture.  Safe to run twice: each run has files of its own, and rows are replaced. */
#include <string.h>

#include "core/asset.h"
#include "media/sniff.h"
#include "jobs/pictures.h"
#include "jobs/step.h"

enum outcome
variants_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const char *path;
	struct image_files files;
	struct fault fault;
	struct sniff s;

	job_pause(j);
	path = step_sniffed(j, in, &s, &fault);
	if (path == NULL)
		return job_fault(j, &fault);
	if (strcmp(s.type, "image") != 0)
		return job_give_up(j, REASON_UNKNOWN_FORMAT, "The original is no picture.");
	fault = image_variants(j->mem, path, s.format, j->conf->image_max_pixels, j->work_dir, &files);
	if (fault.reason != REASON_NONE)
		return job_fault(j, &fault);
	/* Of what moves, a frame is chosen for the poster; its first one is often empty. */
	if (image_moves_file(path))
		pictures_drop(&files, "poster");
	job_progress(j, 80);
	if (!pictures_store(j, in, &files))
		return step_not_stored(j, "The pictures");
	if (!job_resume(j))
		return RETRY;
	pictures_put(j, in, &files);
	asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
	return DONE;
}
