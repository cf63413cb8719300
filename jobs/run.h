/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job kind works with.  A kind is one function, <kind>_run(), in jobs/<kind>.c; it runs in a child of its
 * own. */
#ifndef JOBS_RUN_H
#define JOBS_RUN_H

#include "core/arena.h"
#include "core/conf.h"
#include "core/db.h"
#include "core/fault.h"
#include "core/job.h"

enum outcome { DONE = 1, RETRY, GIVE_UP };

struct job {
	struct arena *mem;		/* 512 MiB limit, given back at the end */
	struct db *db;			/* in a transaction of the job; see job_pause() */
	const struct conf *conf;	/* with the engines that the tenant has chosen */
	const void *in;			/* struct <kind>_args */
	struct uuid id, tenant_id, media_id, ingest_id;
	int64_t fence;			/* grows with each claim; job_resume() checks it */
	int attempt, max_attempts;	/* from 1 */
	const char *work_dir;		/* scratch of this run; removed afterwards */
	enum reason reason;		/* set by job_give_up() and job_retry() */
	const char *detail;
	const char *warnings;		/* see job_warn(); JSON, NULL: none */
	struct stored_file *stored;	/* by this run, see jobs/step.h; NULL: nothing yet */
};

/* Ends the transaction before slow work; commits what was written so far. */
void job_pause(struct job *);
/* Opens the closing transaction: true while the lease is still ours.  When false, return RETRY and write nothing. */
bool job_resume(struct job *);

/*
 * Work on many rows, in short transactions of which each is safe to run twice: `batch` does a part of it in one of them
 * and is called again as long as it returns true.  `at`, of `size` bytes, is what it carries from one to the next; when
 * the database fails that part is begun again with what `at` was before.  What a batch takes from j->mem ends with it.
 * Afterwards no transaction is open.  Unlike job_resume() it makes no copy of the process, so there may be thousands.
 */
void job_batches(struct job *, bool (*batch)(struct job *, void *at), void *at, size_t size);

/* 0 to 100, at most a few times a second reaches the row; also the sign of life for the watchdog. */
void job_progress(struct job *, int percent);
/* A line for the log tail kept on the row (last 4 KiB). */
void job_log(struct job *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Both note reason and detail (one sentence for the user: no paths, no internals) and return the outcome. */
enum outcome job_give_up(struct job *, enum reason, const char *format, ...) __attribute__((format(printf, 3, 4)));
enum outcome job_retry(struct job *, enum reason, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Something to tell of a step that succeeds: it stands in ingestJob.warnings with the remedy of its reason, once the
 * job has ended with DONE.  detail: one sentence for the user; NULL: the remedy says it.  from, to: the part of the
 * file, where it is about one.
 *
 *	job_warn(j, &(struct warning){ .reason = REASON_DAMAGED, .detail = "…", .from = { 1000, true } });
 */
struct warning { enum reason reason; const char *detail; struct position from, to; };
void job_warn(struct job *, const struct warning *);

/* Ends with a fault, its lines in the log: retry or give up, by the class of its reason. */
enum outcome job_fault(struct job *, const struct fault *);

/* For a result that is worth having without what failed: may another attempt bring the whole?  When not, the log says
 * what failed. */
bool job_may_mend(struct job *, const struct fault *);

#define JOB_RUN(kind, class, attempts, seconds, step, weight, needed, decodes, doc) enum outcome kind##_run(struct job *);
JOB_KINDS(JOB_RUN)
#undef JOB_RUN

#endif
