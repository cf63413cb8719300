/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and rows of the steps for video and sound. */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store.h"
#include "media/image.h"
#include "media/mend.h"
#include "jobs/step.h"

/* A process runs one job.  done: percent; dead: what the ingest has found. */
static int done;
static struct av_dead dead;

static void
alive(void *job)
{
	job_progress(job, done);
}

void
step_dead(struct job *j)
{
	const char *at = db_text(j->db, "SELECT JSON_EXTRACT(data, '$.unreadable') FROM metadata WHERE media_id = ? "
	    "AND kind = 'file'", ARGS(ID(j->media_id)));

	dead.n = 0;
	while (at != NULL && dead.n < AV_SOUNDS + 2 && (at = strpbrk(at, "0123456789")) != NULL)
		dead.index[dead.n++] = (int)strtol(at, (char **)(uintptr_t)&at, 10);
}

void
step_begin(struct job *j)
{
	step_dead(j);
	job_pause(j);
	done = 0;
	av_on_life(alive, j);
}

/* The last steps (checks, download, storing) have no numbers of their own. */
void
step_progress(void *job, int percent)
{
	done = percent * 95 / 100;
	job_progress(job, done);
}

const char *
step_readable(struct job *j, const char *path, const struct sniff *s, struct fault *fault)
{
	const char *copy = arena_printf(j->mem, "%s/mended", j->work_dir);
	bool mended = false;

	if (strcmp(s->format, "WEBP") == 0 && image_moves_file(path)) {
		*fault = image_frames(j->mem, path, j->conf->image_max_pixels, j->work_dir);
		return fault->reason == REASON_NONE ? arena_printf(j->mem, "%s/frames.png", j->work_dir) : NULL;
	}
	if (strcmp(s->format, "mov") == 0 && !mend_fragments(j->mem, path, copy, &mended)) {
		fault_of_errno(j->mem, errno, fault, "The file could not be copied to mend it.");
		return NULL;
	}
	return mended ? copy : path;
}

const char *
step_sniffed(struct job *j, const struct asset_args *in, struct sniff *s, struct fault *fault)
{
	const char *path = step_fetch(j, store_key_original(j->mem, in->media_id), fault);

	if (path == NULL)
		return NULL;
	*s = sniff_file(path);
	if (s->reason != REASON_NONE) {
		sniff_fault(j->mem, s, fault);
		return NULL;
	}
	return path;
}

/* The original, made readable. */
static const char *
readable_original(struct job *j, const struct asset_args *in, struct fault *fault)
{
	struct sniff s;
	const char *path = step_sniffed(j, in, &s, fault);

	return path != NULL ? step_readable(j, path, &s, fault) : NULL;
}

const struct av_file *
step_headers(struct job *j, const struct asset_args *in, struct fault *fault)
{
	const char *path = readable_original(j, in, fault);
	const struct av_file *f = path != NULL ? av_headers(j->mem, path, fault) : NULL;

	return f != NULL && dead.n > 0 ? av_without(j->mem, f, &dead) : f;
}

const struct av_file *
step_original(struct job *j, const struct asset_args *in, struct fault *fault)
{
	const char *path = readable_original(j, in, fault);
	const struct av_file *f = path != NULL ? av_probe(j->mem, path, fault) : NULL;

	return f != NULL && dead.n > 0 ? av_without(j->mem, f, &dead) : f;
}

int64_t
step_shown_ms(struct job *j, const struct asset_args *in)
{
	return db_number(j->db, "SELECT duration FROM media WHERE id = ?", ARGS(ID(in->media_id)), 0);
}

struct av_work
step_work(struct job *j, const struct av_file *f, int64_t shown_ms)
{
	struct av_file *shorter = NEW(j->mem, struct av_file);

	if (shown_ms > 0 && shown_ms < f->duration_ms) {
		*shorter = *f;
		shorter->duration_ms = shown_ms;
		f = shorter;
	}
	return (struct av_work){ .file = f, .dir = j->work_dir, .preset = j->conf->video_preset,
	    .segment_seconds = (int)j->conf->segment_seconds, .progress = step_progress, .user = j };
}

const char *
step_fetch(struct job *j, const char *key, struct fault *fault)
{
	const char *path = store_fetch(j->mem, key, j->work_dir);

	if (path == NULL)
		fault_of_errno(j->mem, errno, fault, "A file of the asset could not be read.");
	return path;
}

const char *
step_media(struct job *j, const struct asset_args *in, const char *playlist, struct fault *fault)
{
	const char *file = arena_printf(j->mem, "%.*s.mp4", (int)(strrchr(playlist, '.') - playlist), playlist);

	return step_fetch(j, store_key_play(j->mem, in->media_id, file), fault);
}

const char *
step_lowest(struct job *j, const struct asset_args *in)
{
	return db_text(j->db, "SELECT file FROM renditions WHERE media_id = ? AND generation = ? AND kind = 'hls' "
	    "ORDER BY width * height LIMIT 1", ARGS(ID(in->media_id), STR(in->generation)));
}

bool
step_rendition(struct job *j, const struct asset_args *in, const char *playlist, struct av_rendition *r,
    struct fault *fault)
{
	const char *path = step_media(j, in, playlist, fault), *name;

	if (path == NULL)
		return false;
	name = strrchr(path, '/') + 1;
	return av_rendition_read(j->mem, arena_copy_n(j->mem, path, (size_t)(name - 1 - path)),
	    arena_copy_n(j->mem, name, strcspn(name, ".")), r, fault);
}

/* The run is in it: of two that do the same, one for nothing, each has files of its own. */
const char *
step_file(struct job *j, const struct asset_args *in, const char *name)
{
	return arena_printf(j->mem, "%s/%s/%s", in->generation, job_run_name(j->mem, j->id, j->fence), name);
}

static const char *
key_of(struct job *j, const struct asset_args *in, const char *name)
{
	return store_key_play(j->mem, in->media_id, step_file(j, in, name));
}

/* How large it was here: the store, which may be on another machine, need not be asked while a row is locked. */
struct stored_file {
	const char *name;
	int64_t size;
	struct stored_file *next;
};

static bool
store_one(struct job *j, const struct asset_args *in, const char *name)
{
	const char *path = arena_printf(j->mem, "%s/%s", j->work_dir, name);
	struct stored_file *f = NEW(j->mem, struct stored_file);
	struct stat st;

	if (lstat(path, &st) != 0 || !store_put(j->mem, path, key_of(j, in, name)))
		return false;
	*f = (struct stored_file){ name, (int64_t)st.st_size, j->stored };
	j->stored = f;
	return true;
}

bool
step_store(struct job *j, const struct asset_args *in, const char *const *names)
{
	for (; *names != NULL; names++)
		if (!store_one(j, in, *names))
			return false;
	return true;
}

void
step_unwanted(struct job *j, const char *key)
{
	job_add(j->db, purge, ((struct job_place){ .tenant_id = j->tenant_id, .media_id = j->media_id,
	    .priority = PRIORITY_BULK }), .keys = { &key, 1 });
}

static int64_t
size_of(const struct job *j, const char *name)
{
	const struct stored_file *f;

	for (f = j->stored; f != NULL; f = f->next)
		if (strcmp(f->name, name) == 0)
			return f->size;
	return -1;
}

bool
step_write(struct job *j, const char *name, const char *text)
{
	FILE *f = fopen(arena_printf(j->mem, "%s/%s", j->work_dir, name), "we");
	bool fine = f != NULL && fputs(text, f) >= 0 && fflush(f) == 0;
	int saved = errno;

	if (f != NULL)
		fclose(f);
	errno = saved;
	return fine;
}

enum outcome
step_not_stored(struct job *j, const char *what)
{
	struct fault fault;

	fault_of_errno(j->mem, errno, &fault, "%s could not be stored.", what);
	return job_fault(j, &fault);
}

struct rendition_row
step_row(struct job *j, const struct asset_args *in, const char *kind, const char *name, const char *mime_type)
{
	return (struct rendition_row){ .media_id = in->media_id, .generation = in->generation, .kind = kind,
	    .label = kind, .mime_type = mime_type, .file = step_file(j, in, name),
	    .file_size = size_of(j, name) };
}

void
step_labels(struct job *j, const struct asset_args *in)
{
	const struct job_place place = { .tenant_id = j->tenant_id, .media_id = in->media_id,
	    .priority = PRIORITY_BULK };

	if (strcmp(j->conf->engine[ENGINE_vision].name, "none") != 0 || j->conf->engine[ENGINE_vision].gone)
		job_add(j->db, labels, place, .media_id = in->media_id, .generation = in->generation);
}
