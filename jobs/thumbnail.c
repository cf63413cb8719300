/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The poster: a frame that shows something, or the cover art of sound.  Safe to run twice: each run has a file of its
 * own, and the row is replaced. */
#include "core/store.h"
#include "jobs/step.h"

enum { LONG_SIDE = 1280 };

/* Where nothing tells a better moment, some way into the film. */
static int64_t
moment(struct job *j, const struct av_file *f, const char *lowest)
{
	struct av_rendition r;
	struct fault fault;
	int64_t at = -1;

	if (lowest != NULL && step_rendition(j, j->in, lowest, &r, &fault))
		at = av_telling_moment(j->mem, &r, &fault);
	return at >= 0 ? at : f->duration_ms / 10;
}

static bool
make_poster(struct job *j, const struct av_file *f, const char *lowest, const char *out, struct av_picture *p,
    struct fault *fault)
{
	if (f->video == NULL)
		return av_cover(j->mem, f, LONG_SIDE, out, p, fault);
	return av_frame(j->mem, f, moment(j, f, lowest), LONG_SIDE, out, p, fault) ||
	    av_frame(j->mem, f, 0, LONG_SIDE, out, p, fault);
}

enum outcome
thumbnail_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const char *lowest = step_lowest(j, in);
	struct rendition_row row;
	const struct av_file *f;
	struct fault fault;
	struct av_picture p;

	step_begin(j);
	f = step_original(j, in, &fault);
	if (f == NULL)
		return job_fault(j, &fault);
	if (f->video == NULL && f->cover < 0)
		return DONE;
	if (!make_poster(j, f, lowest, arena_printf(j->mem, "%s/poster.jpg", j->work_dir), &p, &fault))
		return job_fault(j, &fault);
	if (!step_store(j, in, (const char *const[]){ "poster.jpg", NULL }))
		return step_not_stored(j, "The poster");
	if (!job_resume(j))
		return RETRY;
	row = step_row(j, in, "poster", "poster.jpg", "image/jpeg");
	row.width = (struct number){ p.width, true };
	row.height = (struct number){ p.height, true };
	rendition_put(j->db, &row);
	asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
	return DONE;
}
