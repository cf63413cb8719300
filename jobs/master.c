/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The master playlist: several steps of an ingest, which may run at once, add to what it names, and captions come and
 * go.  The job that follows these is safe to run twice: it makes the playlist of what there is, in files of its run.
 * They are stored while nobody waits; then, under the lock of the asset, the row names them if all is still as they
 * say, else they are made once more.
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

enum { TRIES = 8 };

/* What the playlist is made of: rows, and the playlists of captions; then all files to write, it is the last. */
struct contents { struct rendition_row *rows; size_t n, n_made; const char **names, **texts; size_t n_files; };

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

static void
add_file(struct contents *c, const char *name, const char *text)
{
	c->names[c->n_files] = name;
	c->texts[c->n_files++] = text;
}

/* A key is written once: each try has names of its own. */
static const char *
again(struct arena *mem, int try)
{
	return try == 0 ? "" : arena_printf(mem, "-%d", try);
}

/* The captions of transcripts as those of the file, each with a playlist. */
static void
add_captions(struct job *j, const struct asset_args *in, int try, struct contents *c)
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
	c->texts = arena_array(j->mem, list.n + 2, sizeof(*c->texts));
	for (size_t i = 0; i < list.n; i++) {
		const char *name = arena_printf(j->mem, "captions-%zu%s.m3u8", i, again(j->mem, try));

		if (said[i].file == NULL)
			continue;
		rows[c->n] = (struct rendition_row){ .kind = "subtitles", .file = step_file(j, in, name),
		    .track_name = distinct(j->mem, c, said[i].label), .language_code = said[i].language_code };
		c->n++;
		/* From the folder of a run in that of a generation. */
		add_file(c, name, playlist_text(j->mem, arena_printf(j->mem, "../../%s", said[i].file), duration));
	}
}

/* As it is now, under the lock of the asset. */
static struct contents
compose(struct job *j, const struct asset_args *in, int try)
{
	const char *name = arena_printf(j->mem, "master%s.m3u8", again(j->mem, try));
	struct contents c = { 0 };

	c.rows = db_rows(j->db, &rendition_row_record, "FROM renditions t WHERE t.media_id = ? AND t.generation = ? "
	    "ORDER BY t.height DESC, t.file", ARGS(ID(in->media_id), STR(in->generation)), &c.n);
	c.n_made = c.n;
	add_captions(j, in, try, &c);
	add_file(&c, name, playlist_master(j->mem, c.rows, c.n, step_file(j, in, name)));
	return c;
}

static bool
is_same(const struct contents *a, const struct contents *b)
{
	for (size_t i = 0; i < a->n_files && a->n_files == b->n_files; i++)
		if (strcmp(a->texts[i], b->texts[i]) != 0)
			return false;
	return a->n_files == b->n_files;
}

static bool
store_all(struct job *j, const struct asset_args *in, const struct contents *c)
{
	for (size_t i = 0; i < c->n_files; i++)
		if (!step_write(j, c->names[i], c->texts[i]))
			return false;
	return step_store(j, in, c->names);
}

/* Files of a try that was in vain go by the sweep. */
enum outcome
master_write(struct job *j, const struct asset_args *in)
{
	struct contents made, now;
	struct rendition_row playlist;

	for (int try = 0; try < TRIES; try++) {
		made = compose(j, in, try);
		if (made.n_made == 0)	/* its generation has gone */
			return DONE;
		job_pause(j);
		if (!store_all(j, in, &made))
			return step_not_stored(j, "The playlist");
		if (!job_resume(j))
			return RETRY;
		master_lock(j, in);
		now = compose(j, in, try);
		if (!is_same(&made, &now))
			continue;
		playlist = step_row(j, in, "playlist", made.names[made.n_files - 1], PLAYLIST_TYPE);
		rendition_put(j->db, &playlist);
		asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
		return DONE;
	}
	return job_retry(j, REASON_INTERNAL, "What the playlist names has changed again and again.");
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
