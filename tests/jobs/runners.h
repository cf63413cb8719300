/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Real runners as processes, with kinds of jobs that do on purpose what jobs do by accident.  The table jobs belongs to
 * the test program: it is emptied before each test.
 */
#ifndef TESTS_JOBS_RUNNERS_H
#define TESTS_JOBS_RUNNERS_H

#include "jobs/runner.h"
#include "tests/world.h"

struct runners {
	struct world *world;
	struct conf conf; /* own data_dir and run_dir; lease of a minute, 2 slots: change before start */
	struct run_options options;
	struct arena *mem;
	struct db *db;
	const char *dir;
	pid_t pids[64], proxy;
	int n;
};

/* cmocka fixtures: one per test, inside world_open() and world_close(). */
int runners_setup(void **state);
int runners_teardown(void **state);

/* Their store is a bucket of the peer from here on. */
struct objects_tally *runners_bucket(struct runners *);

/* Starts a runner with the settings as they are now.  Returns its number. */
int runner_start(struct runners *);
/* Waits for its end; the exit status, or minus the signal. */
int runner_wait(struct runners *, int number);
/* A runner that drains, and its end. */
void runner_drain(struct runners *);

/* Adds and commits a job of a test kind.  `note` is its argument. */
struct uuid add(struct runners *, const char *kind, const char *note, struct job_place);
#define PLACE(...) ((struct job_place){ __VA_ARGS__ })

/* One column of the row as text; "" when there is none. */
const char *column(struct runners *, struct uuid id, const char *name);
/* Wait, for minutes, until the job is in that state, a column of it has that value, a runner has said it. */
void wait_for(struct runners *, struct uuid id, const char *state);
void wait_until(struct runners *, struct uuid id, const char *name, const char *value);
void wait_for_log(struct runners *, const char *words);
/* Rows that the closing transactions of a job have left. */
int64_t results(struct runners *, struct uuid id);
/* What the test kinds noted: one line "kind note attempt" per start, in order. */
const char *journal(struct runners *);
int times(struct runners *, const char *line);
/* A number that a job wrote to a file; waits for it. */
int64_t number_in(struct runners *, const char *file);
/* What jobs have written to a file so far; "": none. */
const char *read_text(struct runners *, const char *file);
void touch(struct runners *, const char *file);
bool exists(struct runners *, const char *file);
bool alive(pid_t);
/* Waits for minutes until the process is gone. */
void wait_for_end(pid_t);

/* A proxy in front of the database that can be cut. */
void proxy_start(struct runners *);
void proxy_cut(struct runners *);

#endif
