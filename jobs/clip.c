/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A section as a file of its own.  Safe to run twice: each run has a file of its own, which the row takes only while it
 * still waits for this job; files that no row names go by the sweep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/caption.h"
#include "core/store.h"
#include "jobs/step.h"
#include "media/clip.h"
#include "media/playlist.h"

enum { CAPTIONS_MAX = 8 << 20, HANDY_SIDE = 1080 };	/* bytes; as of downloads */

/* What it is cut from. */
struct source { const char *generation, *video, *sound; struct json captions, subtitles; };
static const struct field source_fields[] = {
	FIELD(struct source, generation, .doc = "Folder"),
	FIELD(struct source, video, .sql = "(SELECT r.file FROM renditions r WHERE r.media_id = t.id AND r.generation = "
	    "t.generation AND r.kind = 'hls' ORDER BY LEAST(r.width, r.height) <= 1080 DESC, IF(LEAST(r.width, r.height) <= 1080, "
	    "-1, 1) * LEAST(r.width, r.height) LIMIT 1)", .doc = "Playlist of the largest size that is handy"),
	FIELD(struct source, sound, .sql = "(SELECT r.file FROM renditions r WHERE r.media_id = t.id AND r.generation = "
	    "t.generation AND r.kind = 'audio' AND r.mime_type = '" PLAYLIST_TYPE "' LIMIT 1)", .doc = "Playlist of the sound"),
	FIELD(struct source, captions, .doc = "Of transcripts"),
	FIELD(struct source, subtitles, .doc = "Of the file"),
};
static const struct record source_record = RECORD("ClipSource", struct source, source_fields);

/* What cannot be read is left out: a clip without captions is better than none. */
static void
add_captions(struct job *j, struct clip *c, struct json column)
{
	const struct list named = record_parse_list(j->mem, &caption_record, column.text);
	const struct caption *of = named.rows;

	for (size_t i = 0; i < named.n && c->n_captions < CLIP_CAPTIONS; i++) {
		struct clip_captions *to = &c->captions[c->n_captions];

		*to = (struct clip_captions){ .language = of[i].language_code, .label = of[i].label };
		to->vtt = store_get(j->mem, store_key_play(j->mem, j->media_id, of[i].file), CAPTIONS_MAX, &to->n);
		if (to->vtt != NULL)
			c->n_captions++;
		else
			job_log(j, "captions %s: %s", of[i].file, strerror(errno));
	}
}

enum outcome
clip_run(struct job *j)
{
	const struct clip_args *in = j->in;
	const struct source *of = db_row(j->db, &source_record, "FROM media t JOIN clips c ON c.media_id = t.id WHERE "
	    "t.id = ? AND c.section_id = ? AND c.job_id = ? AND c.source = ? AND t.deleted_at = 0", ARGS(ID(j->media_id),
	    ID(in->section_id), ID(j->id), STR(in->source)));
	struct clip c = { .preset = j->conf->video_preset, .from_ms = in->start, .to_ms = in->end, .dir = j->work_dir,
	    .progress = step_progress, .user = j };
	struct asset_args asset = { .media_id = j->media_id };
	const char *name, *file;
	struct fault fault;

	if (of == NULL)
		return DONE;
	asset.generation = of->generation;
	if (of->video == NULL && of->sound == NULL)
		return job_retry(j, REASON_INTERNAL, "The asset has no renditions.");
	step_begin(j);
	if ((of->video != NULL && (c.video = step_media(j, &asset, of->video, &fault)) == NULL) ||
	    (of->sound != NULL && (c.sound = step_media(j, &asset, of->sound, &fault)) == NULL))
		return job_fault(j, &fault);
	add_captions(j, &c, of->captions);
	add_captions(j, &c, of->subtitles);
	name = of->video != NULL ? "clip.mp4" : "clip.m4a";
	if (!clip_make(j->mem, &c, name, &fault))
		return job_fault(j, &fault);
	file = arena_printf(j->mem, "clips/%s%s", job_run_name(j->mem, j->id, j->fence), strrchr(name, '.'));
	if (!store_put(j->mem, arena_printf(j->mem, "%s/%s", j->work_dir, name), store_key_play(j->mem, j->media_id,
	    file)))
		return step_not_stored(j, "The clip");
	if (!job_resume(j))
		return RETRY;
	job_log(j, "%d groups copied, %d encoded", c.copied, c.encoded);
	if (db_run(j->db, "UPDATE clips SET file = ?, size = ? WHERE section_id = ? AND job_id = ?", ARGS(STR(file),
	    INT(c.size), ID(in->section_id), ID(j->id))) == 0)
		step_unwanted(j, store_key_play(j->mem, j->media_id, file));
	return DONE;
}
