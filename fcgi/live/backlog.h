/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames on their way to somebody who may be slower than they come: so much of them waits, and no more.  One too many
 * drops all that wait, and what comes up to the next key frame, from which on it goes on: a reader never gets a picture
 * without those that it refers to.  What decoders are set up with is kept, and comes in front of the frame that it
 * begins with.  Frames are shared by all whom they go to.
 *
 * Whoever writes and reads in two threads holds a lock of its own meanwhile; frames may be dropped without one.
 */
#ifndef FCGI_LIVE_BACKLOG_H
#define FCGI_LIVE_BACKLOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_use {
	FRAME_SETUP,	/* of the track that its kind says */
	FRAME_KEY,	/* one can begin with it */
	FRAME_OTHER,
};

struct frame {
	atomic_int holders;
	int kind;		/* RTMP_AUDIO, RTMP_VIDEO, RTMP_DATA */
	enum frame_use use;
	int64_t ms;		/* when it is decoded; never less than that of the one before of its kind */
	size_t n;
	uint8_t bytes[];	/* as in a message of RTMP */
};

/* A copy is taken.  It is the caller's until frame_drop(). */
struct frame *frame_new(int kind, enum frame_use, int64_t ms, const uint8_t *bytes, size_t n);
void frame_drop(struct frame *);

enum { BACKLOG_SETUPS = 3 };
struct backlog {
	size_t bytes_max;	/* that may wait */
	int64_t ms_max;		/* and how long */
	struct frame **at;
	size_t first, n, room, bytes;
	struct frame *setups[BACKLOG_SETUPS];
	bool runs;		/* has begun with a key frame, and nothing is missing since */
	bool lacks;		/* what has been dropped goes on up to the next one */
	int64_t dropped;	/* frames of video, and of sound where there is nothing else */
};

void backlog_free(struct backlog *);
/* The frame stays the caller's. */
void backlog_put(struct backlog *, struct frame *);
/* The next one, which is the caller's then.  NULL: none waits. */
struct frame *backlog_take(struct backlog *);
/* Nothing waits any more, and it begins anew with what comes.  Setups stay.  None of this is counted. */
void backlog_clear(struct backlog *);

#endif
