/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many players watch a livestream: whoever reads its playlist of all gets a random number, which comes back with
 * all that the player asks for from then on.  Who was not seen for ten seconds has left.  Nothing else is known of
 * anybody, and nothing of it leaves this memory but the count.
 */
#ifndef FCGI_LIVE_VIEWERS_H
#define FCGI_LIVE_VIEWERS_H

#include <stddef.h>
#include <stdint.h>

enum {
	VIEWERS_SEEN_MS = 10000,
	VIEWERS_MAX = 65536,	/* that are told apart: numbers can be made up */
};

struct viewers {
	struct seen { uint64_t number; int64_t at; } *seen;	/* number 0: a place that is free */
	size_t room, n;						/* room: 0, or a power of two */
	uint64_t salt;
};

/* A number for a new one; never 0. */
uint64_t viewers_number(void);

/* now: ms of clock_ms(). */
void viewers_see(struct viewers *, uint64_t number, int64_t now);
size_t viewers_count(struct viewers *, int64_t now);

void viewers_free(struct viewers *);

#endif
