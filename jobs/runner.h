/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inside of the runner.  run.c: the loop.  claim.c: which job is next.  lease.c: what we hold, and what the dead
 * held.  children.c: processes and their watchdog.  progress.c: how far they are.  settle.c: what becomes of a row.
 * child.c: what happens in the forked child.  A kind sees none of this; see run.h.
 */
#ifndef JOBS_RUNNER_H
#define JOBS_RUNNER_H

#include <sys/types.h>

#include <signal.h>

#include "jobs/run.h"

/* A kind that this program can run. */
struct run_kind {
	const struct job_kind *kind;
	enum outcome (*run)(struct job *);
	bool remote; /* here the work is done by another server: it is of the class network */
	bool lasting; /* works until it is told to end, by SIGTERM */
};

struct run_options {
	bool drain; /* end when nothing is left to do */
	int grace; /* s for running jobs after SIGTERM */
	int64_t poll_ms; /* between looks without a wake-up; 0: 2000 */
	int64_t back_off_ms; /* before the second attempt, doubled for each further one; 0: 5000 */
	int64_t sandbox_ms; /* a job nobody can decode fails after this; 0: 10 min */
	const char *no_sandbox; /* what jail_check() said */
	const char *(*ask_again)(const struct conf *); /* asked again while it is not NULL; or NULL */
	int64_t ask_ms; /* so often; 0: once a minute */
};

/* Runs jobs until SIGTERM, or until nothing is left.  Returns the exit status of the program. */
int run_jobs(const struct conf *, const struct run_kind *, size_t n, const struct run_options *);

/* A row that was claimed. */
struct claimed {
	struct uuid id, tenant_id, media_id, ingest_id;
	const char *kind, *runner;
	struct json args;
	int64_t attempt, max_attempts, fence, urgency;
	struct moment created_at, run_at;
	bool expired;
};
extern const struct record claimed_record;

/* The last lines of a log: whole lines, oldest dropped first. */
struct tail {
	char text[4096];
	size_t n;
};
void tail_add(struct tail *, const char *line);

/* What a child writes to its pipe, each in one write. */
enum { SAY_PERCENT = 1, SAY_LOG, SAY_ALIVE, SAY_CLOSING, SAY_WORKING, SAY_OUTCOME, SAY_SUCCEEDED };
struct message {
	uint8_t what;
	uint8_t value; /* percent, or enum outcome */
	uint16_t reason;
	uint16_t n; /* bytes in text */
	char text[1024];
};

/* Exit statuses of a child that come to no verdict: begin again, or the job is no longer ours. */
enum { EXIT_AGAIN = 91, EXIT_LOST = 92, EXIT_GONE = 93 };

/* Where a child may work. */
struct start {
	const struct conf *conf;
	struct db *db; /* of the runner: abandoned first, then used anew */
	const struct run_kind *kind;
	const struct claimed *row;
	const char *run; /* see job_run_name() */
	int pipe;
	pid_t runner;
};

/* The whole life of a child; signals are blocked when it is called. */
_Noreturn void child_run(const struct start *);

/* What became of an attempt that did not succeed by itself. */
enum verdict {
	AGAIN = 1, /* ready, or delayed; failed when it was the last attempt */
	FAIL,
	CANCEL,
	HAND_BACK, /* ready at once, the attempt does not count */
};
struct settlement {
	const struct claimed *row;
	enum verdict verdict;
	enum reason reason;
	const char *detail, *log_tail;
	int64_t delay_ms, cpu_ms;
	bool uncounted; /* AGAIN: the attempt does not count */
};
/* Writes it in a transaction of its own, with all that follows, if the fence is still ours.  Returns the state that the
 * row is in now (in the arena of db), NULL when it was not ours, or the database failed. */
const char *settle(struct db *, struct arena *, const struct settlement *);

/* Called in the transaction that ends an attempt, whatever came of it. */
void settle_files(struct db *, struct uuid tenant_id, struct uuid media_id);

/* ms: exponential with a quarter of jitter, at most a quarter of an hour. */
int64_t back_off(const struct run_options *, int64_t attempt);

/* Housekeeping that every runner does: whoever comes first wins. */
int64_t settle_delayed(struct db *); /* how many became ready */
void settle_waiting(struct db *);
void settle_sweep(struct db *);
void settle_livestreams(struct db *, bool judges); /* see livestream_tend() */
/* Originals are due to be read again. */
void settle_scrub(struct db *, const struct conf *);
void settle_webhooks(struct db *);

/* How a child was ended by us. */
enum ending { ENDING_NONE, ENDING_IDLE, ENDING_CANCEL, ENDING_HAND_BACK, ENDING_LEASE };

/* One slot: a claimed row and the process that works on it. */
struct child {
	struct claimed row; /* .args and .kind are copies of their own */
	const struct run_kind *kind; /* NULL: the slot is free */
	pid_t pid; /* 0: ended, or between two starts */
	int pipe;
	char run[64]; /* see job_run_name() */
	int64_t started, seen, flushed, shown, cpu_ms; /* seen: last sign of life; shown: to clients */
	int percent;
	bool dirty, closing, succeeded, gone;
	bool unshown; /* its row is further than what clients see of the asset */
	int outcome; /* what it said: enum outcome, 0 = nothing yet */
	enum reason reason;
	char detail[1024];
	struct tail log;
	enum ending ending;
	int64_t kill_at; /* grace for a child whose lease is lost, which may just be finishing */
	int restarts;
	int64_t restart_at, lost_since;
	enum verdict verdict; /* set: to be written as soon as the database takes it */
};

enum { SLOTS_MAX = 256, PLACES_MAX = 3 * SLOTS_MAX };

struct runner {
	const struct conf *conf;
	const struct run_options *options;
	const struct run_kind *kinds;
	size_t n_kinds;
	struct arena *mem; /* of one round of the loop */
	struct db *db;
	struct child children[PLACES_MAX];
	int slots[JOB_CLASSES], places;
	int wake, signals; /* descriptors */
	int64_t contact_since, last_work; /* without an outage, or a pause of ours, that others may have had as well */
	int64_t steady_since;		  /* without a round that took longer than nodes have to say that they live */
};

/* claim.c */
struct claims;
struct claims *claims_open(struct runner *);
void claims_close(struct claims *);
const char *claims_kinds(const struct claims *); /* comma-separated */
const char *claims_no_sandbox(const struct claims *); /* why it cannot isolate decoders; NULL: it can, or need not */
/* Starts jobs as long as there is room for them.  anew: somebody may have added some since the last time. */
void claims_take(struct claims *, bool anew);
/* A machine that cannot isolate decoders leaves their jobs to others; those that nobody takes for long fail. */
void claims_refuse(struct claims *);

/* lease.c */
void lease_contact(struct runner *, int64_t now); /* called at each look at the database */
bool lease_may_judge_nodes(const struct runner *); /* see livestream_tend() */
void lease_beat(struct runner *); /* renews those of our children */
void lease_cancelled(struct runner *); /* ends the children whose end was asked for */
void lease_reap(struct runner *); /* settles what the dead left running */

/* presence.c: the row that says what this runner takes; again now and then, and gone with it. */
void presence_tell(struct runner *, const struct claims *);
void presence_end(struct runner *);

/* progress.c: an asset shows that a job of it has begun at once, and how far it is now and then. */
void progress_begun(struct runner *, struct child *);
void progress_flush(struct runner *, int64_t now);
int64_t progress_due(const struct child *); /* ms of clock_ms() */

/* children.c */
struct child *child_start(struct runner *, const struct run_kind *, const struct claimed *);
void child_read(struct runner *, struct child *); /* its pipe has something */
void children_wait(struct runner *); /* SIGCHLD: whoever has ended gets a verdict, or a new start */
void children_watch(struct runner *, int64_t now); /* idle ones, new starts that are due */
void children_excuse(struct runner *, int64_t now); /* the database is away for all: nobody is late for that */
void child_end(struct child *, enum ending); /* kills it with all that it has started */
void child_forget(struct runner *, struct child *, const char *state);

/* Name of this process as a holder of leases, and whether the holder was a process here that is gone. */
const char *holder_name(void);
bool holder_dead(const char *name);

/*
 * Named points at which the crash tests kill the process: KINOTHEK_CRASH_AT=[runner:]name[@kind].  With "runner:", a
 * child takes the runner with it; with a kind, only jobs of that kind die.
 */
#ifdef KINOTHEK_CRASH_POINTS
void crash_point(const char *name);
#else
#define crash_point(name) ((void)0)
#endif

#endif
