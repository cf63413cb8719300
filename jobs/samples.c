/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the original to samples. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "media/av.h"
#include "jobs/engines/vad.h"
#include "jobs/samples.h"
#include "jobs/step.h"

struct taking {
	struct job *job;
	int pcm;
	int64_t length, bytes;			/* ms of the recording; bytes of samples so far */
	int error;				/* errno of the first failed write */
};

static bool
take(void *user, const char *bytes, size_t size)
{
	struct taking *t = user;
	ssize_t done;

	while (size > 0) {
		done = write(t->pcm, bytes, size);
		if (done < 0) {
			t->error = errno;
			return false;
		}
		bytes += done;
		size -= (size_t)done;
		t->bytes += done;
	}
	if (t->length > 0)
		job_progress(t->job, (int)(t->bytes / PCM_BYTES_PER_MS * SAMPLES_SHARE / t->length));
	return true;
}

enum outcome
samples_make(struct job *j, int *pcm, int64_t *length)
{
	struct taking t = { .job = j };
	struct av_pcm wanted = { .rate = PCM_RATE, .take = take, .user = &t };
	const char *name = arena_printf(j->mem, "%s/speech.s16le", j->work_dir);
	const struct asset_args in = { .media_id = j->media_id };
	struct fault fault;
	const struct av_file *file = step_headers(j, &in, &fault);

	if (file == NULL)
		return job_fault(j, &fault);
	if (file->audio == NULL)
		return job_give_up(j, REASON_NO_STREAMS, "There is no sound in it.");
	t.length = file->duration_ms;
	*pcm = t.pcm = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (t.pcm < 0)
		return step_not_stored(j, "The samples");
	unlink(name);
	if (!av_pcm(j->mem, file, &wanted, &fault) || t.error != 0) {
		errno = t.error;
		return t.error != 0 ? step_not_stored(j, "The samples") : job_fault(j, &fault);
	}
	*length = t.bytes / PCM_BYTES_PER_MS;
	return DONE;
}
