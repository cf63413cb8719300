/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams of events as kinothek-events keeps them, and the clients at their other ends, who may read slowly. */
#ifndef TESTS_API_LISTENERS_H
#define TESTS_API_LISTENERS_H

#include "fcgi/events/streams.h"
#include "tests/world.h"

/* "/v2/media/{id}" and the rest. */
const char *asset_path(struct world *, struct uuid media_id, const char *rest);
/* By the SuperAdmin, an hour ago. */
void rename_asset(struct world *, struct uuid media_id, const char *name);
/* What was written until now was written an hour ago: nothing below it is open, and no page is so old. */
void an_hour_passes(struct world *);
/* Where a list begins now. */
const char *events_here(struct world *, const char *token);
/* So many of an asset, of about a kilobyte each, in one transaction. */
void write_many(struct world *, struct uuid media_id, int n);
/* So many small ones of an asset, up to 100,000, an hour ago: by a connection that has the time for it. */
void write_old(struct world *, struct uuid media_id, int n);

/* The clock of this machine goes on by so many ms at once; the time of day does not.  Until it is set back. */
void clock_goes_on(int64_t ms);
void clock_set_back(void);

/* token NULL: of who has none.  last: Last-Event-ID, or NULL.  lives: seconds until the token ends; 0: as it is.
 * body: of a POST. */
struct listener { const char *token, *uri, *last; int64_t lives; const char *body; };

/* The request as kinothek-events runs it. */
struct req *listener_asks(struct world *, struct listener, struct subscription *);
/* It becomes a stream.  Returns the client's end, from which nothing is waited for. */
int listener_open(struct world *, struct streams *, struct listener);
/* It becomes a list that waits. */
int listener_waits(struct world *, struct streams *, struct listener);
/* What has come until the text is among it, records and all, zeros as blanks; fails after two minutes. */
const char *listener_hears(struct world *, struct streams *, int fd, const char *what);
/* Has its connection ended?  What comes before that is thrown away. */
bool listener_is_dropped(int fd);

/* The numbers that a client was told so far, which must come in their order, and each once. */
struct told { struct buf bytes; size_t at; int64_t last; int n; };
/* Takes so many bytes at most.  False: the connection has ended. */
bool told_take(struct world *, struct told *, int fd, size_t most);

#endif
