/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends a livestream on to one target, in a thread of its own: names are asked for, connections made and bytes sent
 * there, while the program goes on.  What waits for a slow target is bounded (fcgi/live/backlog.h), and one that fails
 * is tried again, after a while that doubles each time.
 *
 * The address may be a stranger's: it is judged by the rules of core/web_target.h each time that it is connected to,
 * and the connection goes to an address that was judged.
 */
#ifndef FCGI_LIVE_RELAY_H
#define FCGI_LIVE_RELAY_H

#include "core/conf.h"
#include "core/text.h"
#include "fcgi/live/backlog.h"

struct relay;

struct relay *relay_new(const struct conf *, const char *url);
/* The frame stays the caller's. */
void relay_put(struct relay *, struct frame *);
/* Ends it, and does not wait for that. */
void relay_end(struct relay *);

enum relay_status { RELAY_WAITS, RELAY_SENDS, RELAY_FAILS };
struct relay_news {
	enum relay_status status;
	const char *reason;		/* one of LIVESTREAM_TARGET_REASONS where it fails */
	int64_t retry_at;		/* ms of clock_ms() */
	int64_t bytes, dropped;		/* since it began */
};
void relay_look(struct relay *, struct relay_news *);

/* Until all that were ended have gone, and for so long at most. */
void relay_wait_for_all(int ms);

#endif
