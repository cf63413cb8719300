/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a channel ends: its assets leave it, CLOSING_BATCH at a time, and then it goes.  A channel of few assets is
 * emptied and removed by the request that deletes it; one of more is closing until the job that the request has added
 * is through (jobs/closing.c).  While channels.closing_at is set, nothing is put into the channel and nobody changes
 * it, its roles hold for the assets that are in it still, and it counts as none of the channels that an asset must
 * have:
 * fcgi/object.c and fcgi/media_channels.c see to that.
 */
#ifndef CORE_CLOSING_H
#define CORE_CLOSING_H

#include "core/db.h"

/* About a tenth of a second's work. */
enum { CLOSING_BATCH = 1000 };

struct closing {
	struct uuid tenant_id, channel_id;
	struct uuid principal_id;	/* who deletes it */
	const char *address;		/* from where, for the audit */
	struct uuid to;			/* where its assets go; none: they are taken out of it */
	/* without `to`: where assets go that are in no other channel; none: there are no such */
	struct uuid home;
};

/* Locks the first assets of the channel, in the order of their ids and before their places, as everybody does who moves
 * one.  How many; 0: it is empty.  *last is the last of them. */
size_t closing_hold(struct db *, struct uuid channel_id, struct uuid *last);
/* The assets up to that one, which are held, leave the channel, each with its event.  Those that have left it already
 * stay as they are. */
void closing_let_go(struct db *, const struct closing *, struct uuid last);
/* The channel, which is empty, goes.  One that has gone already is nothing. */
void closing_end(struct db *, const struct closing *);

#endif
