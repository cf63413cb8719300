/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inside of the job that sends events to webhooks.  deliver.c: the loop.  deliver_fan.c: events become deliveries.
 * deliver_queue.c: which delivery is next, and what becomes of it.  deliver_pace.c: how many a receiver gets at a time.
 */
#ifndef JOBS_DELIVER_H
#define JOBS_DELIVER_H

#include "core/event.h"
#include "core/web.h"
#include "core/webhook.h"
#include "jobs/run.h"

/* A delivery on its way. */
struct sending {
	struct sending *next;
	struct arena *mem;			/* all of it is here */
	struct uuid id, tenant_id, webhook_id;
	const char *event, *receiver;		/* receiver: scheme, host and port */
	bool failing;				/* its webhook was, when it began */
	int64_t attempt;
	const char *request_headers;		/* JSON, for the log */
	struct web_call call;
	int64_t began, ms;			/* ms of clock_ms(); how long it took */
	struct web_answer answer;
};

struct deliveries {
	struct db *db;
	const struct conf *conf;
	struct arena *mem;			/* of one round */
	struct sending *going, *ended;
	int n_going;
	void *paces;				/* what was learned of receivers */
};

/* How many may go to a receiver of a tenant at a time. */
int pace_places(void *const *paces, struct uuid tenant_id, const char *receiver);
/* How quick it was. */
void pace_learn(void **paces, const struct sending *);
void pace_forget(void **paces);

/* Events that have come since the last time become deliveries.  *more: ask again at once.  How many events there
 * were. */
struct fan;
struct fan *fan_open(void);
void fan_close(struct fan *);
size_t fan_out(struct fan *, struct db *, struct arena *, bool *more);

/* Deliveries that are due and have a place: rendered for their owner at this moment, signed, but not ours yet. */
struct sending *queue_choose(struct deliveries *);
/* In a transaction: makes it ours, and writes what is sent.  False: somebody else has it, or has changed it. */
bool queue_take(struct deliveries *, struct sending *);
/* In a transaction: writes what came of it, however late, unless somebody has begun it again. */
void queue_settle(struct deliveries *, const struct sending *);
/* Those that a dead runner had are due again. */
void queue_reap(struct db *);
/* ms until something is due; -1: nothing is. */
int64_t queue_due(struct db *);

/* From now on jobs end when nothing is due within so many ms, -1: 10 s; for a runner that drains. */
void deliver_only_due(int64_t soon);
/* They last so long, ms, and another one takes over; for tests. */
void deliver_for(int64_t ms);

#endif
