/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One connection of an encoder: bytes between its socket and the protocol, none of which is waited for. */
#ifndef FCGI_LIVE_VISITOR_H
#define FCGI_LIVE_VISITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/peer.h"
#include "fcgi/live/desk.h"
#include "fcgi/live/feed.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/tls.h"

struct station;
struct broadcast;

enum visitor_stage {
	VISITOR_TALKS,		/* has not said what it wants to publish */
	VISITOR_ASKS,		/* whose key it is is being looked up */
	VISITOR_WAITS,		/* for the one before it on the same input, to see whether that one still sends */
	VISITOR_SENDS,		/* on an input of .stream */
	VISITOR_LEAVES,		/* is told why, and then closed */
};

struct visitor {
	struct visitor *next;
	struct station *station;
	uint64_t id;
	int fd, epoll;
	unsigned events;	/* that are waited for */
	char address[DESK_ADDRESS], network[PEER_NETWORK];
	struct tls_line *tls;	/* NULL: plain */
	struct rtmp *rtmp;
	struct feed *feed;	/* NULL before it sends */
	enum visitor_stage stage;
	struct broadcast *stream;
	struct desk_stream whose;
	bool is_primary;
	bool granted;		/* has been told that it may send */
	bool gone;		/* freed when all that has happened is looked at */
	int64_t came_at, asked_at, entered_at, sent_at, leave_at;	/* ms of clock_ms(); sent_at: media */
	int64_t bytes, counted_at, counted, bitrate;	/* received; since when and from which on for the bit rate */
};

/* Takes fd and tls, which may be NULL, over. */
struct visitor *visitor_new(struct station *, int fd, struct tls_line *tls, int epoll, const char *address,
    const struct rtmp_calls *);
void visitor_free(struct visitor *);

/* Reads once what is there and sends what can be sent.  False: the connection is over. */
bool visitor_attend(struct visitor *, unsigned events);

/* Sends what can be sent. */
bool visitor_flush(struct visitor *);

/* Is sent away in a second, with the sentence. */
void visitor_refuse(struct visitor *, const char *description);

#endif
