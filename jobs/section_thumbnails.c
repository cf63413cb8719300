/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pictures of where sections begin.  What is to be done is told by the rows: the position that a picture was made for
 * is not theirs, or there is none.  Safe to run twice: each run has files of its own, a row takes one only while it is
 * still there, and files that no row names go by the sweep.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/asset.h"
#include "core/store.h"
#include "jobs/step.h"

enum { LONG_SIDE = 640, SOME = 300, LIT_MS = 60000 };	/* pixels; of one run; how far it is looked for light */

struct place { struct uuid id; int64_t position; struct number end, thumbnail_at; const char *thumbnail_file; };
static const struct field place_fields[] = {
	FIELD(struct place, id, .doc = "Section"),
	FIELD(struct place, position, .doc = "Where it begins, ms"),
	FIELD(struct place, end, .doc = "Where it ends, ms; a marker does not"),
	FIELD(struct place, thumbnail_at, .doc = "What its picture was made for"),
	FIELD(struct place, thumbnail_file, .doc = "Its picture"),
};
static const struct record place_record = RECORD("SectionPlace", struct place, place_fields);

/* It has none, or none of its position, or the file is lost. */
static bool
lacks(struct job *j, struct uuid media_id, const struct place *s)
{
	bool there;

	if (!s->thumbnail_at.set || s->thumbnail_at.n != s->position)
		return true;
	return s->thumbnail_file != NULL && store_has(j->mem, store_key_play(j->mem, media_id, s->thumbnail_file),
	    &there) && !there;
}

/* Who changes sections holds the asset: what has seen this job waiting, and so adds none, is seen by it; and none is
 * copied while it is asked whose a picture is. */
static void
hold(struct job *j)
{
	db_number(j->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(j->media_id)), 0);
}

/* Those that are to be done come first.  How many. */
static size_t
to_do(struct job *j, struct uuid media_id, struct place *all, size_t n)
{
	size_t i, k = 0;

	for (i = 0; i < n && k < SOME; i++)
		if (lacks(j, media_id, &all[i]))
			all[k++] = all[i];
	return k;
}

struct film { const char *generation; int64_t duration; };
static const struct field film_fields[] = {
	FIELD(struct film, generation, .doc = "Folder"),
	FIELD(struct film, duration, .doc = "ms"),
};
static const struct record film_record = RECORD("SectionFilm", struct film, film_fields);

/* A section that begins in the dark shows what follows. */
static bool
make(struct job *j, const struct av_file *f, const struct place *s, int64_t duration, const char *out,
    struct av_picture *p, struct fault *fault)
{
	int64_t at = s->position < duration ? s->position : duration > 40 ? duration - 40 : 0,
	    end = s->end.set ? s->end.n : duration;

	return av_lit_frame(j->mem, f, at, end < at + LIT_MS ? end : at + LIT_MS, LONG_SIDE, out, p, fault) ||
	    av_frame(j->mem, f, at, LONG_SIDE, out, p, fault);
}

/* Unless it has another position by now.  No file: it has none, and is not asked again. */
static bool
note(struct job *j, const struct place *s, const char *file, const struct av_picture *p)
{
	return db_run(j->db, "UPDATE sections SET thumbnail_file = ?, thumbnail_width = ?, thumbnail_height = ?, "
	    "thumbnail_at = ?, revision = revision + 1 WHERE id = ? AND position = ?", ARGS(STR(file), INT(p->width), INT(p->height),
	    INT(s->position), ID(s->id), INT(s->position))) > 0;
}

/* Copies of a section share its picture. */
static bool
is_shared(struct job *j, const char *file)
{
	return db_number(j->db, "SELECT COUNT(*) FROM sections WHERE media_id = ? AND thumbnail_file = ?",
	    ARGS(ID(j->media_id), STR(file)), 1) > 0;
}

/* All of them; what they had before goes. */
static void
note_all(struct job *j, const struct place *s, size_t n, const char *const *file, const struct av_picture *made)
{
	struct strings gone = { arena_array(j->mem, n + 1, sizeof(*gone.at)), 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		if (!note(j, &s[i], file[i], &made[i])) {
			if (file[i] != NULL)
				step_unwanted(j, store_key_play(j->mem, j->media_id, file[i]));
		} else if (s[i].thumbnail_file != NULL && !is_shared(j, s[i].thumbnail_file)) {
			gone.at[gone.n++] = s[i].thumbnail_file;
		}
	}
	asset_files_gone(j->db, j->conf, j->tenant_id, j->media_id, gone);
}

/* Copied meanwhile from what had none. */
static bool
is_more(struct job *j)
{
	return db_number(j->db, "SELECT 1 FROM sections WHERE media_id = ? AND (thumbnail_at IS NULL OR "
	    "thumbnail_at <> position) LIMIT 1", ARGS(ID(j->media_id)), 0) == 1;
}

enum outcome
section_thumbnails_run(struct job *j)
{
	const struct section_thumbnails_args *in = j->in;
	const struct film *of = db_row(j->db, &film_record, "FROM media t WHERE t.id = ? AND t.type = 'video' AND "
	    "t.deleted_at = 0 AND t.duration > 0", ARGS(ID(in->media_id)));
	struct asset_args asset = { .media_id = in->media_id };
	struct place *todo;
	struct av_picture *made;
	const struct av_file *f;
	const char **file;
	struct fault fault;
	size_t n, i;

	hold(j);
	todo = db_rows(j->db, &place_record, "FROM sections t WHERE t.media_id = ? ORDER BY t.position",
	    ARGS(ID(in->media_id)), &n);
	step_begin(j);
	n = of != NULL ? to_do(j, in->media_id, todo, n) : 0;
	if (n == 0)
		return DONE;
	asset.generation = of->generation;
	f = step_original(j, &asset, &fault);
	if (f == NULL)
		return job_fault(j, &fault);
	if (f->video == NULL)
		return DONE;
	file = arena_array(j->mem, n, sizeof(*file));
	made = arena_array(j->mem, n, sizeof(*made));
	for (i = 0; i < n; i++) {
		const char *out = arena_printf(j->mem, "%s/section.jpg", j->work_dir), *name = arena_printf(j->mem,
		    "sections/%s.%zu.jpg", job_run_name(j->mem, j->id, j->fence), i);

		remove(out);
		if (!make(j, f, &todo[i], of->duration, out, &made[i], &fault)) {
			job_log(j, "no picture at %" PRId64 " ms: %s", todo[i].position, fault.detail);
			continue;
		}
		if (!store_put(j->mem, out, store_key_play(j->mem, in->media_id, name)))
			return step_not_stored(j, "The picture of a section");
		file[i] = name;
		step_progress(j, (int)(i * 100 / n));
	}
	if (!job_resume(j))
		return RETRY;
	hold(j);
	note_all(j, todo, n, file, made);
	if (n == SOME || is_more(j))
		asset_pictures_later(j->db, j->tenant_id, in->media_id);
	return DONE;
}
