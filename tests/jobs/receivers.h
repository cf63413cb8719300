/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests of webhooks: receivers as processes, whose path says what they do, and a canary that counts who connects to
 * it.  All that is due belongs to the test program: other webhooks are switched off before each test.
 */
#ifndef TESTS_JOBS_RECEIVERS_H
#define TESTS_JOBS_RECEIVERS_H

#include <sys/types.h>

#include <stdatomic.h>

#include "jobs/deliver.h"
#include "tests/world.h"

enum { HEARD = 4096 };

/* A request as a receiver has got it; at: its own address. */
struct heard { char at[16], path[40], id[80], timestamp[24], signature[200], head[1024], body[16384]; };
struct ears {
	struct heard at[HEARD];
	atomic_int n, canary;
	atomic_int silent;		/* requests that are left without an answer: all to /silent, one to /once */
};
extern struct ears *ears;

extern struct uuid cat;			/* an asset that was there before the webhooks */
extern int receiver_port, silent_port, canary_port;

/* For cmocka_run_group_tests(…, receivers_open, receivers_close), and for each test with world_teardown(). */
int receivers_open(void **state);
int receivers_close(void **state);
int receivers_setup(void **state);

/* A webhook that has its first ping behind it.  events: JSON; NULL: the usual ones.  Returns its id. */
const char *hook(struct world *, const char *token, const char *where, const char *events);
/* So many webhooks, each of a receiver that never answers, with so many pings due a while ago. */
void silent_hooks(struct world *, int n, int pings);
/* An event. */
void rename_cat(struct world *);
/* All that is due goes out. */
void deliver_due(struct world *);
/* All that is due goes out, in a process of its own. */
pid_t begin_run(struct world *);
void end_run(pid_t);
/* Until something is so, for minutes; the process goes on meanwhile. */
void wait_while(pid_t, bool (*so)(void *), void *what);

/* The i-th that was heard at a path, from 0; NULL: fewer were. */
const struct heard *heard(const char *where, int i);
int times_heard(const char *where);
/* A member of what was heard, see text(). */
const char *member(struct world *, const struct heard *, const char *at);
/* A column of the newest delivery that is no ping. */
const char *delivery(struct world *, const char *name);

/* All that has a place counts as begun, and nothing is sent.  Returns how many. */
int begin_all(struct deliveries *);
/* They are gone, without an end. */
void end_all(struct deliveries *);

#endif
