/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One livestream while this process takes it in.  It has two inputs, of which one is on the air; what comes by the
 * other one is left out until the first falls silent.  While another node holds the livestream, that is so of both: it
 * is claimed again and again, until the other one has died or left it to us.
 */
#ifndef FCGI_LIVE_BROADCAST_H
#define FCGI_LIVE_BROADCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/play.h"
#include "fcgi/live/desk.h"
#include "fcgi/live/packager.h"
#include "fcgi/live/simulcast.h"
#include "fcgi/live/visitor.h"

enum { BROADCAST_SILENCE_MS = LIVESTREAM_SILENCE_MS, BROADCAST_EMPTY_MS = 30000 };

#define BROADCAST_NO_ROOM "The service has no room for this livestream."

struct broadcast {
	struct broadcast *next;
	const struct conf *conf;
	struct desk *desk;
	struct desk_stream what;
	struct simulcast *simulcast;
	struct packager *packager;		/* NULL before the first session */
	char secret[PLAY_SECRET];		/* name of its folder */
	int64_t shown;				/* packager_changes() that viewers have been told of */
	struct visitor *inputs[2], *on_air;	/* primary, secondary */
	bool held, seen;			/* the database says that it is ours; said so in this round */
	bool signal;				/* and that something comes */
	bool awaited;				/* another node has an encoder of it */
	bool gone;
	const char *lack;			/* that was told: see packager_lack() */
	int64_t empty_since, told_at;		/* ms of clock_ms() */
	int64_t claim_at;			/* it is claimed once more; 0: not */
	int64_t bytes, dropped;			/* of visitors that have left */
};

struct broadcast *broadcast_new(const struct conf *, struct desk *, const struct desk_stream *);
/* Whoever sends is dropped without a word. */
void broadcast_free(struct broadcast *);

/* Opens its packager where there is none, to go on with what lies there.  False with errno. */
bool broadcast_open(struct broadcast *);

/* Takes a visitor in on its input, whose place is free. */
void broadcast_enter(struct broadcast *, struct visitor *);
/* It has gone, or has to. */
void broadcast_leave(struct broadcast *, struct visitor *);

/* The answer to a claim. */
void broadcast_claimed(struct broadcast *, const struct desk_note *);

/* The database says that it is ours, and whether another node would have it. */
void broadcast_held(struct broadcast *, bool awaited);

/* A message of one of its visitors.  False: it is sent away. */
bool broadcast_media(struct broadcast *, struct visitor *, int kind, uint32_t ms, const uint8_t *, size_t n);

/* Some times a second. */
void broadcast_tick(struct broadcast *, int64_t now);

/* It is over: the playlists end, all visitors are sent away. */
void broadcast_finish(struct broadcast *);
/* It is somebody else's now: the same without a further byte. */
void broadcast_lose(struct broadcast *);
/* This process ends: others may claim it. */
void broadcast_release(struct broadcast *);

#endif
