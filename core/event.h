/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events: one numbered row for each change, written in its transaction, so that what was rolled back never happened and
 * what was done is told.  Streams, lists and webhooks read the same rows, and the audit (core/audit.h) is among them.
 * They are kept for EVENT_DAYS; those of the audit stay.
 *
 * A number is taken when the row is written, and the row is seen when its transaction commits: of two writers the
 * later number may be seen first, and one that was rolled back never is.  In a cluster a node takes every n-th number.
 * So a reader that goes on behind the highest number it has seen would skip what commits late.  Here it keeps the
 * numbers below that one that it has not seen, the open ones, and looks for them again and again.  One is closed when
 *
 *	- its row has come, late, and is told then; or
 *	- nobody can bring it any more: EVENT_LATE_MS have passed since a higher one was seen (in a cluster
 *	  EVENT_LATE_CLUSTER_MS, which is longer than a transaction lives on another node), and a locking read finds
 *	  nobody's uncommitted row there.
 *
 * What is seen is told at once and never waits for what is open.  event_settled() is the number up to which nothing is
 * open: who begins again behind it misses nothing, and may be told once more what was told before.  So that is what is
 * kept (by webhooks, in a row) and what a stream gives to its client as id.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "core/db.h"
#include "core/record.h"

/* Who may subscribe a webhook to a type: nobody, who names it, or who names nothing gets it, too. */
enum event_use { EVENT_STREAM, EVENT_NAMED, EVENT_DEFAULT };

/* Type, the scope that a token needs to be told, its use, and what `data` holds. */
#define EVENTS(E) \
	E("media.created",	VIEW_CHANNEL,	EVENT_DEFAULT,	"An asset is there: `mediaId`") \
	E("media.updated",	VIEW_CHANNEL,	EVENT_DEFAULT,	"Members of an asset have changed: their names, `modified`") \
	E("media.deleted",	VIEW_CHANNEL,	EVENT_DEFAULT,	"An asset was deleted: `mediaId`, `permanent`") \
	E("media.restored",	VIEW_CHANNEL,	EVENT_DEFAULT,	"A soft-deleted asset was recovered: nothing") \
	E("media.ready",	VIEW_CHANNEL,	EVENT_NAMED,	"An asset can be played or shown: nothing") \
	E("media.failed",	VIEW_CHANNEL,	EVENT_NAMED,	"Nothing can be made of an asset: nothing") \
	E("metadata.updated",	VIEW_METADATA,	EVENT_NAMED,	"Derived data has changed: `mediaId`, `kind`") \
	E("chapter.created",	VIEW_CHANNEL,	EVENT_NAMED,	"A table of contents is there: `mediaId`, `chapterId`") \
	E("chapter.updated",	VIEW_CHANNEL,	EVENT_NAMED,	"It or its entries have changed: `mediaId`, `chapterId`") \
	E("chapter.deleted",	VIEW_CHANNEL,	EVENT_NAMED,	"It is gone with all below it: `mediaId`, `chapterId`") \
	E("section.created",	VIEW_CHANNEL,	EVENT_NAMED,	"A section is there: `mediaId`, `sectionId`, and `chapterId` if it has one") \
	E("section.updated",	VIEW_CHANNEL,	EVENT_NAMED,	"A section has changed: the same") \
	E("section.deleted",	VIEW_CHANNEL,	EVENT_NAMED,	"A section is gone: the same") \
	E("comment.created",	VIEW_CHANNEL,	EVENT_NAMED,	"Somebody has written a comment: `mediaId`, `commentId`") \
	E("comment.updated",	VIEW_CHANNEL,	EVENT_NAMED,	"A comment has changed: the same") \
	E("comment.deleted",	VIEW_CHANNEL,	EVENT_NAMED,	"A comment is gone with all that answers it: the same") \
	E("livestream.updated",	VIEW_CHANNEL,	EVENT_NAMED,	"A livestream or one of its targets is in another state: `mediaId`, `livestreamId`, `status`") \
	E("flowRun.finished",	VIEW_METADATA,	EVENT_NAMED,	"A run for webhooks has ended: `mediaId`, `flowId`, `runId`, `status`; to webhooks `output`") \
	E("ingest.progress",	VIEW_CHANNEL,	EVENT_STREAM,	"An ingest goes on: `status`, `progress` in percent") \
	E("upload.failed",	CREATE_CONTENT,	EVENT_NAMED,	"The file of an upload was refused: `uploadId`, `code`")
/* All of them, separated by blanks; so are those that a webhook may be subscribed to. */
#define EVENT_WORD(type, scope, use, doc) " " type
#define EVENT_NAMES (&(EVENTS(EVENT_WORD))[1])

struct event_type { const char *name; unsigned scope; enum event_use use; const char *doc; };
/* Of a type that is listed; NULL for others. */
const struct event_type *event_type(const char *name);
/* All of them, the i-th; NULL behind the last. */
const struct event_type *event_type_at(size_t i);

enum { EVENT_DAYS = 30, EVENT_LATE_MS = 5000, EVENT_LATE_CLUSTER_MS = 15000 };

/* What is written.  principal_id: none for a job.  object_id: what it is about where that is no asset.  channel_ids:
 * where the asset was, when its row goes with this.  data: JSON, NULL: {}. */
struct event_new {
	struct uuid tenant_id, media_id, object_id, principal_id;
	bool is_audit;
	const char *type, *address;
	struct ids channel_ids;
	const char *data;
};
/* A type that is neither listed here nor in core/audit.h stops the program. */
void event_add(struct db *, const struct event_new *);
/* The same for many assets at once: FROM … WHERE of a query in which x.media_id is the asset; it binds what stands in
 * `from_args` behind the tenant, the type, the principal, the data and the time. */
#define EVENT_ADD_SQL "INSERT INTO events (tenant_id, media_id, type, principal_id, data, created_at) SELECT ?, " \
	"x.media_id, ?, ?, ?, ? "
/* By a job, about an asset, whose tenant it asks for. */
void event_add_job(struct db *, struct uuid media_id, const char *type, const char *data);

/* One as it is read.  Where the asset is, or was when it went, decides who is told: see channel_ids. */
struct event {
	int64_t id;			/* the number; grows */
	struct uuid tenant_id, media_id, object_id, principal_id;
	const char *type;
	struct json data;
	bool is_audit;
	struct ids channel_ids;
	struct moment deleted_at;	/* of the asset, soft-deleted then */
	struct moment created_at;
};
extern const struct record event_record;
#define EVENT_FROM "FROM events t LEFT JOIN media m ON m.id = t.media_id "

/* Reads all events of all tenants as they come.  Not for two threads. */
struct event_gap { int64_t id, since; };	/* ms of clock_ms() */
struct event_reader {
	int64_t high;			/* the highest number that was seen */
	struct event_gap *gaps;		/* the open ones, in their order */
	size_t n_gaps, room;
	int64_t looked_at;		/* ms of clock_ms(), at all of them */
	int64_t late_ms;		/* 0: as above; tests have less time */
};

/* Goes on behind a number that was settled once.  -1: begins now; then the first reads may bring what is some seconds
 * old.  False: the database failed. */
bool event_reader_open(struct event_reader *, struct db *, int64_t settled);
void event_reader_close(struct event_reader *);
/*
 * What was seen for the first time: late ones first, up to some hundred new ones; without those of the audit.  Made in
 * the arena of the database.  NULL: nothing, or the database failed, and nothing was skipped.  *more: there is more,
 * ask at once.  Outside of any transaction.
 */
const struct event *event_read(struct event_reader *, struct db *, size_t *n, bool *more);
int64_t event_settled(const struct event_reader *);
/* Was this one read, should it be there? */
bool event_seen(const struct event_reader *, int64_t id);

/* The same for who reads once and keeps nothing: the highest number below which none is open, judged by how long ago
 * the others were written. */
int64_t event_settled_now(struct db *);

/* Deletes some of those that are older than EVENT_DAYS.  Returns how many. */
int64_t event_prune(struct db *);

#endif
