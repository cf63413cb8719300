/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shots of a video, by its lowest rendition.  Safe to run twice: the row is replaced. */
#include "media/watch.h"
#include "jobs/step.h"

enum outcome
scenes_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const char *lowest = step_lowest(j, in);
	struct buf out = BUF(j->mem);
	struct av_rendition r;
	struct fault fault;
	struct watch shots;
	size_t i;

	if (lowest == NULL)
		return job_retry(j, REASON_INTERNAL, "The first rendition is missing.");
	step_begin(j);
	if (!step_rendition(j, in, lowest, &r, &fault) || !watch_shots(j->mem, &r, &shots, &fault))
		return job_fault(j, &fault);
	buf_text(&out, "{\"items\":[");
	for (i = 0; i < shots.n; i++)
		buf_printf(&out, "%s{\"start\":%.3f,\"end\":%.3f}", i > 0 ? "," : "", (double)shots.at[i].from / 1000,
		    (double)shots.at[i].to / 1000);
	buf_text(&out, "]}");
	if (!job_resume(j))
		return RETRY;
	metadata_put(j->db, in->media_id, "scenes", "histograms 1", buf_string(&out));
	step_labels(j, in);
	return DONE;
}
