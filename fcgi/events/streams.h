/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The open streams of a process: server-sent events over FastCGI connections that stay.  One reader of the table of
 * events serves all of them, 20 times a second as long as there are some.
 *
 * Before anything is told, the number that moves with roles (tenants.access_version) is compared with the one that the
 * stream was judged by.  If it is another one, the request that opened the stream is judged once more, by the
 * dispatcher, and so is each stream once a minute: one that is refused ends.  An asset that has gone to other channels
 * is judged by these.  When nobody can judge, the stream ends, and its client comes back where it was.  As long as the
 * database does not answer at all there is nothing to tell, and the streams stay.
 *
 * A question of a chat waits for its answer in the same way: four times a second one query asks for all that wait
 * which are answered.  It is told by the dispatcher, too, so that whoever has lost a right meanwhile is told nothing.
 *
 * Nobody is waited for: what a connection does not take is kept for half a minute, then the connection is dropped.  Of
 * a client that takes nothing there is one message here, and as much as fits into the socket at the kernel's.
 * Until it has taken that, and when its client was away, the table keeps what follows: the stream reads it from there,
 * piece by piece, as its client takes it.
 */
#ifndef FCGI_EVENTS_STREAMS_H
#define FCGI_EVENTS_STREAMS_H

#include "core/server.h"
#include "fcgi/subscription.h"

struct streams;

struct streams *streams_new(const struct conf *, struct db *, struct arena *);
/* Ends all of them, telling why. */
void streams_free(struct streams *);
/* Can be read when streams_attend() has something to do. */
int streams_fd(const struct streams *);
/* For server.beside. */
int streams_attend(struct streams *);

/* The reader, which is at work from the first call on; NULL: the database does not answer. */
const struct event_reader *streams_reader(struct streams *);
/* May there be one more?  False: refused with 429. */
bool streams_room(const struct streams *, struct req *);
/* The request has been answered by api_run(), as a stream or a list that waits: its connection is kept. */
void streams_add(struct streams *, int fd, unsigned request_id, struct req *);

#endif
