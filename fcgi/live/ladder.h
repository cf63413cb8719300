/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Smaller pictures of a livestream, for lines that the one that the encoder sends is too much for: made by a jailed
 * FFmpeg, in threads of their own.  What waits for it is bounded (fcgi/live/backlog.h), and nothing ever waits for it:
 * where it is too slow frames are dropped, and when that goes on, the larger rung, and then all.  After a minute the
 * machine may have time again: one rung more is tried, and the next time after twice as long.  One that dies is started
 * anew some times.
 */
#ifndef FCGI_LIVE_LADDER_H
#define FCGI_LIVE_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/conf.h"
#include "fcgi/live/cmaf.h"
#include "fcgi/live/setup.h"

enum { LADDER_RUNGS = 2 };

/* Of its lists and files, from the largest: "720p", "360p". */
const char *ladder_word(size_t rung);

struct ladder;

/* Why there is none: "off", "small", "busy"; NULL: *out is one.  bits: a second of what comes. */
const char *ladder_start(const struct conf *, const struct setup *, int64_t bits, struct ladder **out);
/* Ends it, and does not wait for that.  NULL: nothing. */
void ladder_end(struct ladder *);

/* A frame of what the encoder sends, in units of its track. */
void ladder_put(struct ladder *, int64_t decode_time, const struct cmaf_frame *, const uint8_t *bytes);

/* What has come of it, in order; times are those of what went in. */
struct ladder_frame {
	struct ladder_frame *next;
	size_t rung;
	bool is_setup, key;
	int64_t at;			/* when it is decoded */
	int32_t shift;			/* from then to when it is shown */
	size_t n;
	uint8_t bytes[];	/* avcC, or a picture */
};
/* The next one, which the caller frees, or NULL. */
struct ladder_frame *ladder_take(struct ladder *);

/* Frames that it had no time for, since it began, and those that it has not begun with. */
int64_t ladder_dropped(struct ladder *);
size_t ladder_waits(struct ladder *);

/* Is that one made?  Otherwise *why: "small", "failed", "overloaded". */
bool ladder_makes(struct ladder *, size_t rung, const char **why);

#endif
