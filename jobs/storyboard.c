/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sprite of the seek bar, from the key frames of the lowest rendition, and the WebVTT file that says which tile
 * shows which time.  Safe to run twice: each run has files of its own, and the row is replaced.
 */
#include <inttypes.h>
#include <string.h>

#include "core/buf.h"
#include "core/store.h"
#include "media/subtitles.h"
#include "jobs/step.h"

static bool
write_vtt(struct job *j, const struct av_storyboard *b)
{
	struct buf out = BUF(j->mem);

	buf_text(&out, "WEBVTT\n");
	for (int i = 0; i < b->tiles; i++) {
		buf_char(&out, '\n');
		subtitles_time(&out, b->times[i]);
		buf_text(&out, " --> ");
		subtitles_time(&out, i + 1 < b->tiles ? b->times[i + 1] : b->end);
		buf_printf(&out, "\nstoryboard.jpg#xywh=%d,%d,%d,%d\n", i % b->columns * b->tile_width,
		    i / b->columns * b->tile_height, b->tile_width, b->tile_height);
	}
	return step_write(j, "storyboard.vtt", buf_string(&out));
}

enum outcome
storyboard_run(struct job *j)
{
	const struct asset_args *in = j->in;
	struct av_rendition r;
	struct av_storyboard b;
	struct fault fault;
	struct rendition_row row;
	const char *file;

	file = step_lowest(j, in);
	if (file == NULL)
		return job_retry(j, REASON_INTERNAL, "The first rendition is missing.");
	step_begin(j);
	if (!step_rendition(j, in, file, &r, &fault) ||
	    !av_storyboard(j->mem, &r, arena_printf(j->mem, "%s/storyboard.jpg", j->work_dir), &b, &fault))
		return job_fault(j, &fault);
	if (!write_vtt(j, &b) || !step_store(j, in, (const char *const[]){ "storyboard.vtt", "storyboard.jpg", NULL }))
		return step_not_stored(j, "The storyboard");
	if (!job_resume(j))
		return RETRY;
	row = step_row(j, in, "storyboard", "storyboard.jpg", "image/jpeg");
	row.width = (struct number){ b.tile_width * b.columns, true };
	row.height = (struct number){ b.tile_height * b.rows, true };
	rendition_put(j->db, &row);
	asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
	return DONE;
}
