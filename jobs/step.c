/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files, rows and faults of the steps for video and sound. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/store.h"
#include "jobs/step.h"

static int done;		/* percent; a process runs one job */

static void
alive(void *job)
{
	job_progress(job, done);
}

void
step_begin(struct job *j)
{
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

const struct av_file *
step_original(struct job *j, const struct asset_args *in, struct av_fault *fault)
{
	return av_probe(j->mem, store_path(j->mem, arena_printf(j->mem, "originals/%s", uuid_text(j->mem,
	    in->media_id))), fault);
}

static const char *
key_of(struct job *j, const struct asset_args *in, const char *name)
{
	return arena_printf(j->mem, "play/%s/%s/%s", uuid_text(j->mem, in->media_id), in->generation, name);
}

static const char *
key_now(struct job *j, const struct asset_args *in, const char *name)
{
	const char *key = key_of(j, in, name), *twin = store_twin(j->mem, key);

	return store_size(j->mem, key) < 0 && store_size(j->mem, twin) >= 0 ? twin : key;
}

const char *
step_path(struct job *j, const struct asset_args *in, const char *name)
{
	return store_path(j->mem, key_now(j, in, name));
}

const char *
step_dir(struct job *j, const struct asset_args *in, const char *name)
{
	const char *path = step_path(j, in, name);

	return arena_copy_n(j->mem, path, (size_t)(strrchr(path, '/') - path));
}

bool
step_store(struct job *j, const struct asset_args *in, const char *const *names)
{
	for (; *names != NULL; names++)
		if (!store_put(j->mem, arena_printf(j->mem, "%s/%s", j->work_dir, *names), key_of(j, in, *names)))
			return false;
	return true;
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

/* Only want of room is waited for without counting attempts: a disk that is broken or read-only must not be. */
enum outcome
step_not_stored(struct job *j, const char *what)
{
	if (errno == ENOSPC || errno == EDQUOT)
		return job_retry(j, REASON_NO_SPACE, "%s could not be stored.", what);
	job_log(j, "%s could not be stored: %s", what, strerror(errno));
	return job_retry(j, REASON_INTERNAL, "%s could not be stored.", what);
}

struct rendition_row
step_row(struct job *j, const struct asset_args *in, const char *kind, const char *name, const char *mime_type)
{
	return (struct rendition_row){ .media_id = in->media_id, .generation = in->generation, .kind = kind,
	    .label = kind, .mime_type = mime_type, .file = arena_printf(j->mem, "%s/%s", in->generation, name),
	    .file_size = store_size(j->mem, key_now(j, in, name)) };
}

enum outcome
step_fault(struct job *j, const struct av_fault *fault)
{
	enum reason reason = fault->reason == REASON_NONE ? REASON_INTERNAL : fault->reason;

	if (reason_info(reason)->retryable)
		return job_retry(j, reason, "%s", fault->detail);
	return job_give_up(j, reason, "%s", fault->detail);
}
