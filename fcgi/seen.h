/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a principal may be told though it does not ask: by the same decision, from the same rows and in the same form as
 * an answer to it.  For webhooks and links.
 */
#ifndef FCGI_SEEN_H
#define FCGI_SEEN_H

#include "core/event.h"
#include "fcgi/req.h"

/* A request of nobody, for this principal, whose scopes say how much it may be told.  Outside of any transaction. */
struct req *seen_by(struct arena *, struct db *, const struct conf *, struct principal *);

/* May that principal do to the asset what the operation does, as the dispatcher would decide? */
bool seen_may(struct req *, struct uuid media_id, const struct route *);

/*
 * The member `data` of what is told of an event, JSON.  NULL: nothing is, to this principal, at this moment.  An event
 * about an asset is told to those who may see it now, with the asset as they would read it; what is soft-deleted, to
 * those who may recover it.  A deletion is told to those who may see a channel in which the asset was then, without the
 * asset.  What is about no asset is told to who did it, and to SuperAdmins.
 */
const char *seen_event(struct req *, const struct event *);

#endif
