/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a principal may be told though it does not ask: by the same decision, from the same rows and in the same form as
 * an answer to it.  For webhooks and links.
 */
#ifndef FCGI_SEEN_H
#define FCGI_SEEN_H

#include "core/event.h"
#include "fcgi/access.h"
#include "fcgi/req.h"

/*
 * Who it is, in SQL, where p is the row of the principal: join SEEN_JOIN.  SEEN_LIVE: may it sign in still?
 * SEEN_SUPER_ADMIN: by its row; one of a provider, if its last token said so, within 30 days.
 */
#define SEEN_JOIN "LEFT JOIN clients c ON c.id = p.id LEFT JOIN users u ON u.id = p.id LEFT JOIN provider_users v ON v.id = p.id"
#define SEEN_LIVE "(COALESCE(c.revoked_at, u.disabled_at, v.disabled_at, 1) = 0)"
#define SEEN_SUPER_ADMIN "(COALESCE(p.is_super_admin, 0) OR COALESCE(v.super_admin_at, 0) > " SQL_NOW " - 2592000000)"

/* A request of nobody, for this principal, whose scopes say how much it may be told.  Outside of any transaction. */
struct req *seen_by(struct arena *, struct db *, const struct conf *, struct principal *);

/* The same for one that has asked for something which a job does now, by its row as it is and the scopes that its token
 * had then.  NULL: it may not sign in any more, or the database fails. */
struct req *seen_anew(struct arena *, struct db *, const struct conf *, struct uuid tenant_id, struct uuid principal_id,
    const char *scopes);

/* May that principal do to the asset what the operation does, as the dispatcher would decide? */
bool seen_may(struct req *, struct uuid media_id, const struct route *);

/* For a job that does what this principal has asked for.  The asset, in the transaction of the job, locked and judged
 * as the dispatcher does for a route that writes: r->object.  ACCESS_OLD: roll back, access_read(), begin again. */
enum access seen_load(struct req *, struct uuid media_id, const struct route *);
/* Then does to it what the operation does that is sent this body.  False: it is refused, and nothing is done. */
bool seen_do(struct req *, const char *body);

/*
 * The member `data` of what is told of an event, JSON.  NULL: nothing is, to this principal, at this moment.  An event
 * about an asset is told to those who may see it now, with the asset as they would read it; what is soft-deleted, to
 * those who may recover it.  A deletion is told to those who may see a channel in which the asset was then, without the
 * asset.  What is about no asset is told to who did it, and to SuperAdmins.
 */
const char *seen_event(struct req *, const struct event *);

#endif
