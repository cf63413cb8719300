/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests of speech and of language models: a server that runs the worker itself, and
 * jobs over recordings.  Needs ffmpeg with flite, the English model, node.
 */
#ifndef TESTS_JOBS_SOUNDS_H
#define TESTS_JOBS_SOUNDS_H

#include "jobs/run.h"
#include "tests/jobs/ears.h"
#include "tests/world.h"

/* For cmocka_run_group_tests(…, sounds_open, sounds_close): a world, a directory and the server. */
int sounds_open(void **state);
int sounds_close(void **state);
const char *sounds_dir(void);

/* Settings for the server in one of its modes. */
const struct conf *with_peer(struct world *, const char *path);
/* What it was asked (GET); DELETE also forgets it. */
const char *peer_log(struct world *, const char *method);
int occurrences(const char *text, const char *part);

/* An asset whose original is this sound, and the job that writes down what is said. */
struct job job_for(struct world *, const char *graph);
enum outcome run_job(struct job *);

#endif
