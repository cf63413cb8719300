/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All targets of one livestream.  Whatever encoder is on the air, they get one stream: on a clock of its own that never
 * goes back, and with what decoders are set up with told again whenever that changes.
 */
#ifndef FCGI_LIVE_SIMULCAST_H
#define FCGI_LIVE_SIMULCAST_H

#include "fcgi/live/desk.h"
#include "fcgi/live/feed.h"

struct simulcast;

struct simulcast *simulcast_new(const struct conf *);
/* Ends all of them. */
void simulcast_free(struct simulcast *);

/* The desk has named a target, and then all that there are; one with another address begins anew. */
void simulcast_want(struct simulcast *, struct uuid id, const char *url);
void simulcast_named_all(struct simulcast *);

/* What comes from now on is another encoder's, or begins anew. */
void simulcast_leap(struct simulcast *);

/* A message of the encoder that is on the air, which its feed has taken. */
void simulcast_media(struct simulcast *, const struct feed *, int kind, uint32_t ms, const uint8_t *, size_t n);

/* Tells the desk what is new of them, some times a second. */
void simulcast_tell(struct simulcast *, struct desk *, const struct desk_stream *, int64_t now);

#endif
