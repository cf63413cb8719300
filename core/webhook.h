/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Webhooks on the wire, by Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks): what a secret
 * looks like, how a message is signed, when a failed one is tried again.  fcgi/webhooks.c keeps them, jobs/deliver.c
 * sends.
 */
#ifndef CORE_WEBHOOK_H
#define CORE_WEBHOOK_H

#include "core/event.h"
#include "core/conf.h"
#include "core/db.h"
#include "core/web_refusal.h"

enum {
	WEBHOOK_ATTEMPTS = 10,
	WEBHOOK_SECONDS = 15,			/* that a receiver may take, unless webhook.timeout says otherwise */
	WEBHOOK_KEPT = 2048,			/* bytes of an answer that the log keeps */
	WEBHOOK_LOG_DAYS = 7,
	WEBHOOK_TENANT_MAX = 1000,		/* webhooks of a tenant */
	WEBHOOK_OVERLAP_MS = 24 * 3600 * 1000,	/* secrets of before go on to sign after the last rotation */
};

/* Types of core/event.h that may be subscribed, and those that are sent where nothing else is asked for. */
#define WEBHOOK_NAMED_EVENT_STREAM(type)
#define WEBHOOK_NAMED_EVENT_NAMED(type) " " type
#define WEBHOOK_NAMED_EVENT_DEFAULT(type) " " type
#define WEBHOOK_USUAL_EVENT_STREAM(type)
#define WEBHOOK_USUAL_EVENT_NAMED(type)
#define WEBHOOK_USUAL_EVENT_DEFAULT(type) ",\"" type "\""
#define WEBHOOK_NAMED(type, scope, use, doc) WEBHOOK_NAMED_##use(type)
#define WEBHOOK_USUAL(type, scope, use, doc) WEBHOOK_USUAL_##use(type)
#define WEBHOOK_EVENTS "ping" EVENTS(WEBHOOK_NAMED)
#define WEBHOOK_DEFAULT_JSON "[\"ping\"" EVENTS(WEBHOOK_USUAL) "]"

/* May it be sent to: https, or http where the administrator has named private hosts; without a user name, in ASCII, no
 * private address?  Where a name leads is judged each time that something is sent. */
struct web_refusal webhook_refuse_url(const struct conf *, struct arena *, const char *url);

/* A key for the column, sealed; *secret: as its owner gets it, "whsec_…". */
const char *webhook_key(const struct conf *, struct arena *, const char **secret);

/* "v1,…" of a message, by the sealed key.  NULL: sealed by another play.key_file, or not by us. */
struct webhook_message { const char *id; int64_t timestamp; const char *body; };	/* s since 1970 */
const char *webhook_signature(const struct conf *, struct arena *, const char *sealed, const struct webhook_message *);

/* ms between the end of the n-th failed attempt, from 1, and the next one, with a tenth of jitter.  retry_after: s that
 * the receiver asked for, or 0; a day at most is waited.  -1: there is no next one. */
int64_t webhook_wait(int64_t attempt, int retry_after);

/* A ping, unless one waits already.  In a transaction. */
void webhook_ping(struct db *, struct uuid tenant_id, struct uuid webhook_id, struct uuid principal_id);

/* Sees to it that somebody delivers: a job, unless there is one. */
void webhook_work(struct db *);

#endif
