/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A package of what its maker may see when it is made, which is judged anew here: what it may see no more is left out.
 * Safe to run twice: each run has a file of its own, which the row takes only while it still waits for this job; files
 * that no row names go by the sweep.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/filename.h"
#include "core/scratch.h"
#include "core/store.h"
#include "fcgi/seen.h"
#include "fcgi/transcripts.h"
#include "jobs/package.h"
#include "jobs/step.h"

#define TRANSCRIPT_MEMORY ((size_t)512 << 20)	/* as of a job */

struct order {
	struct uuid principal_id;
	const char *title, *scopes;
	struct ids selected_media_ids, selected_rendition_ids;
	struct json selected_transcripts;
};
static const struct field order_fields[] = {
	FIELD(struct order, principal_id, .doc = "Who made it"),
	FIELD(struct order, title, .doc = "What it is called"),
	FIELD(struct order, scopes, .doc = "Of the token that made it"),
	FIELD(struct order, selected_media_ids, .doc = "Assets"),
	FIELD(struct order, selected_rendition_ids, .doc = "Renditions"),
	FIELD(struct order, selected_transcripts, .doc = "Transcripts and their forms"),
};
static const struct record order_record = RECORD("DownloadOrder", struct order, order_fields);

/* An asset, or a rendition of it. */
struct thing { struct uuid media_id; const char *name, *original_file_name, *file, *label; };
static const struct field thing_fields[] = {
	FIELD(struct thing, media_id, .sql = "t.id", .doc = "The asset"),
	FIELD(struct thing, name, .sql = "t.name", .doc = "Of the asset"),
	FIELD(struct thing, original_file_name, .doc = "As it was uploaded"),
	FIELD(struct thing, file, .sql = "x.file", .doc = "Of the rendition"),
	FIELD(struct thing, label, .sql = "x.label", .doc = "Of the rendition"),
};
static const struct record thing_record = RECORD("DownloadThing", struct thing, thing_fields);

struct wanted { struct uuid id; const char *format; };
static const struct field wanted_fields[] = {
	FIELD(struct wanted, id, .doc = "Transcript"),
	FIELD(struct wanted, format, .doc = "Form of its file"),
};
static const struct record wanted_record = RECORD("WantedTranscript", struct wanted, wanted_fields);

struct packing { struct job *j; struct req *r; struct package p; int left_out; };

static bool
may(struct packing *k, struct uuid media_id, enum method method, const char *path)
{
	return seen_may(k->r, media_id, api_route_of(method, path));
}

static bool
may_see(struct packing *k, struct uuid media_id)
{
	return may(k, media_id, GET, "/v2/media/{mediaId}");
}

/* "mp4" of "talk.mp4"; NULL: none that looks like one. */
static const char *
ending_of(struct arena *mem, const char *file)
{
	const char *dot = file != NULL ? strrchr(file, '.') : NULL;
	char *ending;

	if (dot == NULL || dot == file || strlen(dot + 1) == 0 || strlen(dot + 1) > 5)
		return NULL;
	ending = arena_copy(mem, dot + 1);
	for (char *p = ending; *p != '\0'; p++) {
		if (!isalnum((unsigned char)*p))
			return NULL;
		*p = (char)tolower((unsigned char)*p);
	}
	return ending;
}

/* False: it is not there, or the machine fails, which is worth another try. */
static bool
add_file(struct packing *k, const char *key, const char *text, const char *ending, struct fault *fault)
{
	struct arena *mem = k->j->mem;
	const char *path;
	bool there;

	if (!store_has(mem, key, &there))
		return fault_of_errno(mem, errno, fault, "A file of the asset could not be read.");
	if (!there) {
		k->left_out++;
		return true;
	}
	path = step_fetch(k->j, key, fault);
	if (path == NULL)
		return false;
	package_add(mem, &k->p, (struct package_entry){ package_name(mem, &k->p, text, ending), path, false });
	return true;
}

#define ASSET "FROM media t LEFT JOIN renditions x ON x.media_id = t.id AND x.generation = t.generation AND x.kind IN " \
	"('mp4', 'audio', 'image', 'pdf') AND x.mime_type NOT LIKE '%mpegurl' WHERE t.id = ? AND t.deleted_at = 0 ORDER BY " \
	"FIELD(x.kind, 'audio', 'image', 'pdf', 'mp4') DESC, x.file_size DESC LIMIT 1"
#define RENDITION "FROM renditions x JOIN media t ON t.id = x.media_id AND t.generation = x.generation AND t.deleted_at = 0 " \
	"WHERE x.id = ?"

#define TRANSCRIPT "FROM transcripts t JOIN media m ON m.id = t.media_id AND m.deleted_at = 0 WHERE t.id = ?"

/* The original, or the largest of what there is to see. */
static bool
add_asset(struct packing *k, struct uuid id, struct fault *fault)
{
	struct arena *mem = k->j->mem;
	const struct thing *t = db_row(k->j->db, &thing_record, ASSET, ARGS(ID(id)));

	if (t == NULL || !may_see(k, id)) {
		k->left_out++;
		return true;
	}
	if (may(k, id, METHOD_PATCH, "/v2/media/{mediaId}"))
		return add_file(k, store_key_original(mem, id), t->name, ending_of(mem, t->original_file_name), fault);
	if (t->file != NULL)
		return add_file(k, store_key_play(mem, id, t->file), t->name, ending_of(mem, t->file), fault);
	k->left_out++;
	return true;
}

static bool
add_rendition(struct packing *k, struct uuid id, struct fault *fault)
{
	struct arena *mem = k->j->mem;
	const struct thing *t = db_row(k->j->db, &thing_record, RENDITION, ARGS(ID(id)));

	if (t == NULL || !may_see(k, t->media_id)) {
		k->left_out++;
		return true;
	}
	return add_file(k, store_key_play(mem, t->media_id, t->file), arena_printf(mem, "%s - %s", t->name, t->label),
	    ending_of(mem, t->file), fault);
}

/* What `own` holds may be megabytes. */
static bool
write_transcript(struct packing *k, struct arena *own, const struct wanted *w, struct fault *fault)
{
	struct arena *mem = k->j->mem;
	struct transcript *t;
	const char *form = arena_copy(mem, w->format != NULL ? w->format : "json"), *name, *path;
	struct buf b;
	bool fine;
	FILE *f;

	db_use(k->j->db, own);
	t = db_row(k->j->db, &transcript_record, TRANSCRIPT, ARGS(ID(w->id)));
	db_use(k->j->db, mem);
	if (t == NULL || !may(k, t->media_id, GET, "/v2/media/{mediaId}/metadata/transcripts")) {
		k->left_out++;
		return true;
	}
	name = db_text(k->j->db, "SELECT name FROM media WHERE id = ?", ARGS(ID(t->media_id)));
	path = arena_printf(mem, "%s/%zu.%s", k->j->work_dir, k->p.n, form);
	db_use(k->j->db, own);
	b = transcript_file(k->j->db, k->j->conf, t, &(const struct transcript_order){ .form = w->format,
	    .speakers = true });
	db_use(k->j->db, mem);
	f = fopen(path, "we");
	fine = f != NULL && fwrite(b.text, 1, b.len, f) == b.len;
	if ((f != NULL && fclose(f) != 0) || !fine)
		return fault_of_errno(mem, errno, fault, "A transcript could not be written.");
	package_add(mem, &k->p, (struct package_entry){ package_name(mem, &k->p, name != NULL ? name : "",
	    arena_printf(mem, "%s.%s", t->language_code, form)), path, true });
	return true;
}

static bool
add_transcript(struct packing *k, const struct wanted *w, struct fault *fault)
{
	struct arena *own = arena_new(TRANSCRIPT_MEMORY);
	const bool fine = write_transcript(k, own, w, fault);

	arena_free(own);
	return fine;
}

static bool
collect(struct packing *k, const struct order *o, struct fault *fault)
{
	const struct list wanted = record_parse_list(k->j->mem, &wanted_record, o->selected_transcripts.text);
	const struct wanted *w = wanted.rows;
	size_t i;

	for (i = 0; i < o->selected_media_ids.n; i++)
		if (!add_asset(k, o->selected_media_ids.at[i], fault))
			return false;
	for (i = 0; i < o->selected_rendition_ids.n; i++)
		if (!add_rendition(k, o->selected_rendition_ids.at[i], fault))
			return false;
	for (i = 0; i < wanted.n; i++)
		if (!add_transcript(k, &w[i], fault))
			return false;
	return true;
}

static void
on_progress(void *user, int percent)
{
	job_progress(user, percent);
}

static enum outcome
finish(struct packing *k, const char *file, int64_t size, const char *error)
{
	struct job *j = k->j;
	const struct download_args *in = j->in;

	if (!job_resume(j))
		return RETRY;
	if (db_run(j->db, "UPDATE downloads SET status = ?, file = ?, size = ?, left_out_count = ?, error = ?, "
	    "version = version + 1, updated_at = " SQL_NOW " WHERE id = ? AND job_id = ? AND status = 'preparing'",
	    ARGS(STR(error == NULL ? "ready" : "failed"), STR(file), INT(size), INT(k->left_out), STR(error),
	    ID(in->download_id), ID(j->id))) == 0 && file != NULL)
		step_unwanted(j, store_key_play(j->mem, in->download_id, file));
	return DONE;
}

enum outcome
download_run(struct job *j)
{
	const struct download_args *in = j->in;
	const struct order *o = db_row(j->db, &order_record, "FROM downloads t WHERE t.id = ? AND t.job_id = ? AND "
	    "t.status = 'preparing'", ARGS(ID(in->download_id), ID(j->id)));
	const char *path = arena_printf(j->mem, "%s/package.zip", j->work_dir), *file;
	struct packing k = { .j = j };
	struct fault fault;
	struct stat st;

	if (o == NULL)
		return DONE;
	job_pause(j);
	k.r = seen_anew(j->mem, j->db, j->conf, j->tenant_id, o->principal_id, o->scopes);
	if (db_failure(j->db) != DB_FINE)
		return RETRY;
	if (k.r == NULL)
		return finish(&k, NULL, 0, "Who asked for it is disabled, or gone.");
	if (!collect(&k, o, &fault))
		return job_fault(j, &fault);
	if (db_failure(j->db) != DB_FINE)
		return RETRY;
	if (k.left_out > 0)
		job_log(j, "%d files are not there any more, or not for its maker", k.left_out);
	if (k.p.n == 0)
		return finish(&k, NULL, 0, "Nothing of it is there any more, or may be seen.");
	if (store_free() < package_bytes(&k.p) || scratch_free() < package_bytes(&k.p))
		return job_retry(j, REASON_NO_SPACE, "There is no room for the package.");
	if (!package_write(j->mem, &k.p, path, on_progress, j, &fault))
		return job_fault(j, &fault);
	file = filename_package(j->mem, arena_printf(j->mem, "zip/%s", job_run_name(j->mem, j->id, j->fence)),
	    o->title);
	if (stat(path, &st) != 0 || !store_put(j->mem, path, store_key_play(j->mem, in->download_id, file)))
		return step_not_stored(j, "The package");
	return finish(&k, file, st.st_size, NULL);
}
