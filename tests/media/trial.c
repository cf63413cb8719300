/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See trial.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/media/trial.h"

struct jail_result
look(struct place *p, const char *path, const char *filters)
{
	const char *argv[] = { "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-fps_mode", "passthrough", "-vf",
	    filters, "-f", "rawvideo", "pipe:1", NULL };
	const char *read[] = { path, NULL };
	struct jail jail = { .argv = argv, .read = read, .in = -1, .memory = INT64_C(8) << 30 };
	struct jail_result r;

	if (!jail_run(p->mem, &jail, &r))
		fail_msg("%s: %s", path, r.err);
	return r;
}

struct ingest *
ingest(struct place *p, const char *path, const char *heights)
{
	struct ingest *in = NEW(p->mem, struct ingest);
	struct av_work work = { .dir = p->dir, .preset = "ultrafast" };

	in->file = work.file = av_probe(p->mem, path, &in->fault);
	if (in->file == NULL)
		return in;
	if (in->file->video != NULL)
		in->n_rungs = av_rungs(p->mem, in->file->video, heights, true, in->rungs);
	in->n_made = av_encode(p->mem, &work, in->rungs, in->n_rungs, true, in->made, &in->fault);
	return in;
}

void
planes(struct place *p, const char *path, double mean[3])
{
	struct jail_result r = look(p, path, "scale=160:90,format=yuv444p");
	const size_t n = 160 * 90;

	assert_true(r.out_size >= 3 * n);
	for (size_t k = 0; k < 3; k++) {
		mean[k] = 0;
		for (size_t i = 0; i < n; i++)
			mean[k] += (unsigned char)r.out[k * n + i] / (double)n;
	}
}
