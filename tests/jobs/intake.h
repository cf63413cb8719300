/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Assets whose originals are real files, and a real runner with the kinds of jobs that ingests are made of. */
#ifndef TESTS_JOBS_INTAKE_H
#define TESTS_JOBS_INTAKE_H

#include "core/conf.h"
#include "tests/world.h"

/* For cmocka_run_group_tests(), with world_close(): -1 when nothing can be decoded here. */
int intake_open(void **state);

/* A file made by a command that writes to $f. */
const char *make(struct world *, const char *command);

/* What `complete` makes of an upload: the row, the original, the first job. */
struct uuid take_in(struct world *, const char *file);

/* A runner until nothing is left that can be done now.  What fails for a moment on a busy machine is tried once more,
 * and named.  It takes conf->job_kinds; none: all but `transcribe` and `sweep`. */
void drain(struct world *, const struct conf *);

/* The same in two steps, for what happens while it works; without a second try. */
pid_t drain_begin(struct world *, const struct conf *);
void drain_end(pid_t);

/* A column of the asset as text. */
const char *media_column(struct world *, struct uuid media_id, const char *name);

/* Rows of its published renditions of that kind. */
int64_t published_rows(struct world *, struct uuid media_id, const char *kind);

#endif
