/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who is told which events: the same for lists, which kinothek-api gives, and streams, which kinothek-events keeps
 * (fcgi/events/streams.h).
 */
#ifndef FCGI_SUBSCRIPTION_H
#define FCGI_SUBSCRIPTION_H

#include "core/event.h"
#include "fcgi/req.h"

/* What a page shows that anybody may open: an asset, or what is in a channel. */
struct subject {
	struct uuid id, tenant_id;	/* tenant_id: of a channel */
	const char *token;		/* of the signed address by which an asset was opened, or NULL */
	bool is_channel;
	bool is_gone;			/* it cannot be seen any more, and that was told */
};

struct streams;
struct subscription {
	/* set before the request runs: what the program has read, and what the caller would take */
	const struct event_reader *reader;
	bool wants_stream, may_wait;
	bool waited;			/* it is a list that has waited since it began at `from` */
	/* May there be one more?  False: refused.  Of POST alone, which asks before it writes. */
	bool (*has_room)(const struct streams *, struct req *);
	const struct streams *of;

	/* set by the handler: r->out are the first bytes of a stream, or a list is asked for anew in a while */
	bool streams, replays;		/* replays: what is behind `last` is still to be told */
	int64_t wait_ms, from;		/* from: where a list begins whose caller named no number */
	struct uuid tenant_id, media_id, channel_id;	/* media_id, channel_id: none for any */
	struct strings types;				/* none for any */
	int64_t last;			/* number that the caller comes back with; a list: that it waits for */
	struct ids channel_ids;		/* where the asset is */
	struct subject *subjects;	/* of pages: then there is no caller, and nothing of the above but last */
	size_t n_subjects;
	/* of a question: its stream tells no events.  A GET of this address judges it, and with the message set before
	 * it is answered with what is to be told now, the end of it, or nothing */
	struct uuid message_id;
	const char *uri;
};

struct event_span { int64_t after, up_to, most; };

/* Is it of the tenant, the asset, the channel and the types that are asked for? */
bool event_fits(const struct subscription *, const struct event *);
/* May the caller be told, by its token and r->audience? */
bool event_may(struct req *, const struct event *);
/* The same by what it may in the channels of the event. */
bool event_may_by(const struct principal *, unsigned permissions, const struct event *);
/* As a message of a stream: with its number as id, or without any. */
void event_message(struct buf *, const struct event *, bool with_id);
/* A message without effect but for the id. */
void event_position(struct buf *, int64_t id);
/* Those of the asset or of the tenant behind one number and up to another, in their order, `most` of them; of other
 * channels and types, too. */
const struct event *event_behind(struct db *, const struct subscription *, struct event_span, size_t *n);

/* The number up to which nothing is open: as the program has read, or, where it keeps no streams, by age. */
int64_t event_settled_by(struct req *);

/* For streams of pages.  What anybody may see of the asset of an event, as it is now: asked once for all of them, and
 * not before one could be concerned.  All zero for each batch of events that were read together; what it points to is
 * in the arena of the database, and so are the events. */
struct following_tenant;
struct following_now {
	struct ids channel_ids;		/* where the asset is that was looked at, in this tenant */
	struct uuid tenant_id;
	struct uuid *pages;		/* of these those that have a page */
	size_t n;
	bool is_public;
	struct following_tenant *tenants;	/* all pages of these */
};
/* Is the subject to be told?  Sets is_gone. */
bool following_concerns(struct following_now *, const struct conf *, struct db *, struct subject *,
    const struct event *);
/* That it has changed; without a subject the position alone.  id 0: not settled. */
void following_message(struct buf *, const struct subject *, int64_t id);

/* Which of these questions of chats are answered, or gone?  Sets their places to true. */
void chats_answered(struct db *, struct arena *, const struct ids *message_ids, bool *answered);

/*
 * Of a request to "/v2/media/{id}/events?…ticket=…": the token that the ticket stands for goes where a client would
 * send it, unless it was not made here or for another asset, or is too old, or was used before.  `uses`: it is used up
 * by that; without, nobody asks what was before.  When the database cannot say, the request is answered with 503.
 */
void ticket_take(struct req *, bool uses);

#endif
