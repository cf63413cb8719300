/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One connection of an encoder: bytes between its socket and the protocol, none of which is waited for.  That of SRT
 * has no socket here, and is told nothing. */
#ifndef FCGI_LIVE_VISITOR_H
#define FCGI_LIVE_VISITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/peer.h"
#include "fcgi/live/desk.h"
#include "fcgi/live/feed.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/srt.h"
#include "fcgi/live/tls.h"
#include "fcgi/live/ts.h"

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
	struct rtmp *rtmp;	/* NULL: by SRT */
	struct srt *srt;
	int line;		/* of it */
	struct ts *ts;
	uint8_t *held;		/* of the line, what came before it was known whose it is */
	size_t held_n, held_room;
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
/* By SRT, and its key is known already. */
struct visitor *visitor_new_line(struct station *, struct srt *, int line, const char *address, ts_media *);
void visitor_free(struct visitor *);

/* Reads once what is there and sends what can be sent.  False: the connection is over. */
bool visitor_attend(struct visitor *, unsigned events);

/* Bytes of a line, none of which is looked at before it sends: by SRT nobody can be told to wait with them, so some
 * seconds of them are held until then.  NULL, or what is wrong with them. */
const char *visitor_take(struct visitor *, const uint8_t *, size_t n);

/* May send from now on. */
void visitor_grant(struct visitor *);

/* Sends what can be sent. */
bool visitor_flush(struct visitor *);

/* Is sent away in a second, with the sentence. */
void visitor_refuse(struct visitor *, const char *description);

#endif
