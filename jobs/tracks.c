/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Other languages, commentaries and descriptions: every track of sound beside the one that plays by itself becomes a
 * rendition that a player can choose.  A step of its own, so that what plays by itself plays as early as without.  Safe
 * to run twice: each run has files of its own, and rows are replaced.
 */
#include "core/asset.h"
#include "jobs/master.h"
#include "media/playlist.h"

static struct rendition_row
row_of(struct job *j, const struct asset_args *in, const struct av_rendition *r, const struct av_audio *a)
{
	struct rendition_row row = step_row(j, in, "track", arena_printf(j->mem, "%s.m3u8", r->name), PLAYLIST_TYPE);

	row.label = row.track_name = a->label;
	row.language_code = a->language;
	row.roles = av_roles(j->mem, a->roles);
	row.channels = (struct number){ r->channels, true };
	row.bitrate = (struct number){ r->bit_rate, true };
	row.peak_bitrate = (struct number){ r->peak_rate, true };
	row.codecs = r->codecs;
	row.file_size = r->size;
	return row;
}

enum outcome
tracks_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const int64_t shown_ms = step_shown_ms(j, in);
	const struct av_audio *of[AV_SOUNDS];
	struct av_rendition made[AV_SOUNDS];
	struct rendition_row row;
	const char *names[2 * AV_SOUNDS + 1] = { NULL };
	const struct av_file *f;
	struct av_work work;
	struct fault fault;
	size_t n, i;

	step_begin(j);
	f = step_headers(j, in, &fault);
	if (f == NULL)
		return job_fault(j, &fault);
	work = step_work(j, f, shown_ms);
	n = av_encode_tracks(j->mem, &work, made, of, &fault);
	if (n == 0)
		return job_fault(j, &fault);
	for (i = 0; i < n; i++) {
		names[2 * i] = arena_printf(j->mem, "%s.mp4", made[i].name);
		names[2 * i + 1] = arena_printf(j->mem, "%s.m3u8", made[i].name);
	}
	if (!step_store(j, in, names))
		return step_not_stored(j, "The tracks");
	if (!job_resume(j))
		return RETRY;
	master_lock(j, in);
	for (i = 0; i < n; i++) {
		row = row_of(j, in, &made[i], of[i]);
		rendition_put(j->db, &row);
	}
	return master_write(j, in);
}
