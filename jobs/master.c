/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The master playlist: several steps of an ingest, which may run at once, add to what it names, and captions come and
 * go.  The job that follows these is safe to run twice: it makes the playlist of what there is, in files of its run,
 * and the row names the last that was made under the lock of the asset.
 */
#include <string.h>

#include "core/asset.h"
#include "core/caption.h"
#include "jobs/master.h"
#include "media/playlist.h"

void
master_lock(struct job *j, const struct asset_args *in)
{
	db_number(j->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(in->media_id)), 0);
}

/* What the playlist is made of: rows, and the playlists of captions among the files of the run. */
struct contents { struct rendition_row *rows; size_t n; const char **names; size_t n_names; };

static bool
is_named(const struct contents *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->rows[i].kind, "subtitles") == 0 && c->rows[i].track_name != NULL &&
		    strcmp(c->rows[i].track_name, name) == 0)
			return true;
	return false;
}

/* RFC 8216 section 4.3.4.1.1: each of a group has another name. */
static const char *
distinct(struct arena *mem, const struct contents *c, const char *label)
{
	const char *name = label;

	for (int i = 1; is_named(c, name); i++)
		name = i == 1 ? arena_printf(mem, "%s (transcript)", label) : arena_printf(mem, "%s (transcript %d)",
		    label, i);
	return name;
}

/* The captions of transcripts as those of the file, each with a playlist in the work directory.  False with errno. */
static bool
add_captions(struct job *j, const struct asset_args *in, struct contents *c)
{
	const int64_t duration = db_number(j->db, "SELECT duration FROM media WHERE id = ? FOR UPDATE",
	    ARGS(ID(in->media_id)), 0);
	const struct list list = record_parse_list(j->mem, &caption_record, db_text(j->db, "SELECT captions FROM media "
	    "WHERE id = ? FOR UPDATE", ARGS(ID(in->media_id))));
	const struct caption *said = list.rows;
	struct rendition_row *rows = arena_array(j->mem, c->n + list.n, sizeof(*rows));

	if (c->n > 0)
		memcpy(rows, c->rows, c->n * sizeof(*rows));
	c->rows = rows;
	c->names = arena_array(j->mem, list.n + 2, sizeof(*c->names));
	for (size_t i = 0; i < list.n; i++) {
		const char *name = arena_printf(j->mem, "captions-%zu.m3u8", i);

		if (said[i].file == NULL)
			continue;
		/* From the folder of a run in that of a generation. */
		if (!step_write(j, name, playlist_text(j->mem, arena_printf(j->mem, "../../%s", said[i].file),
		    duration)))
			return false;
		rows[c->n] = (struct rendition_row){ .kind = "subtitles", .file = step_file(j, in, name),
		    .track_name = distinct(j->mem, c, said[i].label), .language_code = said[i].language_code };
		c->n++;
		c->names[c->n_names++] = name;
	}
	return true;
}

enum outcome
master_write(struct job *j, const struct asset_args *in)
{
	static const char name[] = "master.m3u8";
	struct contents c = { 0 };
	struct rendition_row playlist;

	c.rows = db_rows(j->db, &rendition_row_record, "FROM renditions t WHERE t.media_id = ? AND t.generation = ? "
	    "ORDER BY t.height DESC, t.file", ARGS(ID(in->media_id), STR(in->generation)), &c.n);
	if (!add_captions(j, in, &c))
		return step_not_stored(j, "The playlist");
	c.names[c.n_names] = name;
	if (!step_write(j, name, playlist_master(j->mem, c.rows, c.n, step_file(j, in, name))) ||
	    !step_store(j, in, c.names))
		return step_not_stored(j, "The playlist");
	playlist = step_row(j, in, "playlist", name, PLAYLIST_TYPE);
	rendition_put(j->db, &playlist);
	asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
	return DONE;
}

struct generation { const char *generation; };
static const struct field generation_fields[] = {
	FIELD(struct generation, generation, .doc = "Folder"),
};
static const struct record generation_record = RECORD("Generation", struct generation, generation_fields);

/* What is shown, and what an ingest is making: what that adds later names the captions by itself. */
enum outcome
master_run(struct job *j)
{
	struct asset_args in = { .media_id = j->media_id };
	enum outcome outcome = DONE;
	struct generation *g;
	size_t n, i;

	/* Nothing may be read before the lock: it would be read as it was then. */
	job_pause(j);
	if (!job_resume(j))
		return RETRY;
	master_lock(j, &in);
	g = db_rows(j->db, &generation_record, "FROM renditions t WHERE t.media_id = ? AND t.kind = 'playlist' GROUP "
	    "BY t.generation", ARGS(ID(in.media_id)), &n);
	for (i = 0; i < n && outcome == DONE; i++) {
		in.generation = g[i].generation;
		outcome = master_write(j, &in);
	}
	return outcome;
}
