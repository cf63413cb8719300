/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One open stream: its connection, and the request that it goes back to.  For streams.c. */
#ifndef FCGI_EVENTS_STREAM_H
#define FCGI_EVENTS_STREAM_H

#include "fcgi/subscription.h"

/* What its caller may in these channels, as of a tenants.access_version: who is told of them again is not asked for.
 * version -1: nothing is known. */
struct judged { struct ids channel_ids; unsigned permissions; int64_t version; };

struct stream {
	struct stream *next;		/* of its bucket */
	size_t place;			/* in the list of all */
	int fd, epoll;
	unsigned request_id;
	bool ends, broken;		/* nothing more is told: it goes when what is left is sent, or at once */
	struct subscription what;
	bool is_list;			/* a list that waits until `until` */
	int64_t until, expires, sent_at, judged_at;	/* ms of clock_ms() */
	int64_t told;			/* the id that the client has: what.last as soon as that is settled */
	int64_t at;			/* while what.replays: all up to this number was told, or is not for it */
	int64_t version;		/* tenants.access_version that it was judged by */
	struct judged judged;
	struct principal who;		/* without texts; of pages nobody */
	char *memory;			/* of the texts below, and of what */
	const char *uri, *authorization, *client, *accept, *origin;
	bool https, loopback;
	char *rest;			/* what the connection did not take, */
	size_t rest_n;
	int64_t stuck_at;		/* since then */
};

/* Of a request that api_run() has answered; not yet told anything. */
struct stream *stream_new(int fd, int epoll, unsigned request_id, struct req *);
void stream_free(struct stream *);
/* The request once more. */
struct req *stream_request(const struct stream *, const struct conf *, struct db *, struct arena *);

/* Remembers it; of more channels than a few the version is left out. */
void stream_judged(struct stream *, const struct ids *channel_ids, unsigned permissions, int64_t version);

/* Sends what the connection takes, and keeps the rest. */
void stream_tell(struct stream *, struct arena *, const char *text, size_t n);
/* The connection takes more. */
void stream_tell_rest(struct stream *);
/* Nothing more is told. */
void stream_finish(struct stream *);
/* The same of a stream, telling why. */
void stream_end(struct stream *, struct arena *, const char *reason);

#endif
