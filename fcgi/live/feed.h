/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one publisher sends, in order and with times that a file can have: for the packager.  Video is timed by the
 * publisher's clock, sound by its samples, as long as that is within a tenth of a second of the clock.  A session
 * begins at a key frame, when all announced tracks are known; what codecs, a new track or a leap of the clock
 * change begins another one.  Until it may begin, what has come since the last key frame is kept, up to some seconds.
 */
#ifndef FCGI_LIVE_FEED_H
#define FCGI_LIVE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"
#include "fcgi/live/packager.h"

struct feed;

struct feed *feed_new(void);
void feed_free(struct feed *);

enum feed_says {
	FEED_FINE,
	FEED_BEGINS,	/* wants a session of its own, by feed_begin() */
	FEED_REFUSED,	/* see feed_fault() */
	FEED_DISK,	/* the packager, with errno */
};

/* One message of a publisher.  Kinds are those of fcgi/live/rtmp.h. */
enum feed_says feed_take(struct feed *, struct packager *, int kind, uint32_t ms, const uint8_t *, size_t n);

/* The session that was wanted may begin: with the last key frame, as soon as something else comes. */
void feed_begin(struct feed *, int64_t session);

/* Its session has ended; another one begins by feed_begin() alone. */
void feed_pause(struct feed *);

/* What decoders of its video, or sound, are set up with, as it came last.  NULL: nothing has come. */
const struct setup *feed_setup(const struct feed *, bool video);

/* A sentence for whoever set up the encoder. */
const char *feed_fault(const struct feed *);

/* Frames that were left out: for their time or codec, or since no session had begun.  With video, that is what is
 * counted. */
int64_t feed_dropped(const struct feed *);

/* Pictures a second of its session, over the last two seconds of it.  0: not known yet, or none come any more. */
double feed_frame_rate(const struct feed *);

/* How far the publisher's clock has gone on, ms; each leap counts as some seconds. */
int64_t feed_passed(const struct feed *);

#endif
