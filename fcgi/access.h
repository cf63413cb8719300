/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may do what: the one decision, for objects, lists and events alike.
 *
 * The audience of a principal is what it may do in which channels of its tenant, with the channels' names and
 * visibility.  It is kept per process and holds while tenants.access_version stays, which moves only when roles,
 * visibility, names or the set of channels change.  What is judged (an asset, a page of a list) is read together with
 * that number, after the audience: if it is another one, both are read again.  Inside a writing transaction an audience
 * is never read: what another statement of it has changed may be rolled back.
 */
#ifndef FCGI_ACCESS_H
#define FCGI_ACCESS_H

#include "core/role.h"
#include "fcgi/req.h"

/* A channel that the principal may see. */
struct channel_view { struct uuid id; const char *name, *visibility; int64_t permissions; bool is_closing; };
extern const struct record channel_view_record;		/* id, name, visibility: channels[] of an asset */

enum { AUDIENCE_MAX = 4096 };
struct audience {
	struct uuid principal_id;
	int64_t version;		/* tenants.access_version that it was read with */
	bool is_super_admin;		/* the principal was one then */
	bool sees_all;			/* a SuperAdmin, or every channel of the tenant is visible */
	unsigned everywhere;		/* permissions that every channel of the tenant gives */
	/* more than AUDIENCE_MAX channels: the database is asked for those in question */
	bool too_many;
	size_t n;
	struct channel_view *at;	/* by id */
};

/* What this process knows of the caller, read from the database when it knows nothing.  Does it still hold?  Compare
 * `version` with tenants.access_version as read with what is judged, and call access_read() if it differs. */
const struct audience *access_last(struct req *);
/* Reads it anew. */
const struct audience *access_read(struct req *);

/* The caller's permissions (SCOPE_BIT()s) by these channels, by r->audience. */
unsigned access_by(struct req *, const struct ids *channel_ids);
/* Those of the channels that the caller may see, in the order of their ids; in the arena. */
struct list access_visible(struct req *, const struct ids *channel_ids);

/* Refuses with 403 unless `permissions` have the one of the scope. */
bool access_granted(struct req *, unsigned permissions, enum scope);
/* May the caller do `scope` in a channel of its tenant?  404 for one of another, 403 without the permission. */
bool access_channel(struct req *, struct uuid channel_id, enum scope scope);
/* May the caller put assets into that channel of its tenant?  As with CreateContent, and 409 while it is being
 * deleted. */
bool access_into(struct req *, struct uuid channel_id);
/* May the caller do `scope` in any channel of its tenant?  Refuses with 403.  The dispatcher asks for SOMEWHERE. */
bool access_somewhere(struct req *, enum scope scope);

/*
 * SQL condition for lists of callers whose channels are too many to name: the asset t is in a public channel, or in one
 * where the principal or a group of it has one of the roles.  Binds: ID(principal) twice, STR(role_names(…)).
 */
#define ACCESS_VIEW_SQL \
	"(" ACCESS_ROLE_SQL " OR EXISTS (SELECT 1 FROM media_channels mc JOIN channels c ON c.id = mc.channel_id AND " \
	"c.visibility = 'public' WHERE mc.media_id = t.id))"
/* By a role alone.  The same binds. */
#define ACCESS_ROLE_SQL \
	"EXISTS (SELECT 1 FROM media_channels mc JOIN " ROLE_HOLDERS_SQL " h JOIN memberships m ON " \
	"m.channel_id = mc.channel_id AND m.principal_id = h.id WHERE mc.media_id = t.id AND FIND_IN_SET(m.role, ?) > 0)"
/* The same for callers with a few channels, whose ids are its binds: access_few() gives them. */
enum { ACCESS_FEW = 8 };
#define ACCESS_FEW_SQL \
	"EXISTS (SELECT 1 FROM media_channels mc WHERE mc.media_id = t.id AND mc.channel_id IN (?, ?, ?, ?, ?, ?, ?, ?))"
/* The channels where the caller may do that: how many, or -1 if they are more than a few. */
int access_few(struct req *, enum scope, struct arg *channels);

/*
 * Rows of assets t, of which the caller sees each.  The three forms of their statement are for who sees all, a few
 * channels, or many: `from` ends with ACCESS_LIVE, `tail` is what stands behind the rights.
 * args: those up to ACCESS_LIVE, whose tenant comes last, 24 at most; there are none behind it.
 *
 *	static const char *const from[] = ACCESS_ROWS("FROM media t" ACCESS_LIVE, " ORDER BY t.id");
 */
#define ACCESS_ROWS(from, tail) { from tail, from " AND " ACCESS_FEW_SQL tail, from " AND " ACCESS_VIEW_SQL tail }
#define ACCESS_LIVE " WHERE t.tenant_id = ? AND t.deleted_at = 0"
void *access_rows(struct req *, const struct record *, const char *const from[3], const struct arg *args, size_t *n);

/* Which of these assets does the caller see?  Of the tenant, and not deleted. */
const bool *access_seen(struct req *, const struct ids *media_ids);

/*
 * Loads the object that the path names, and decides.  Called by the dispatcher alone, inside the transaction of a
 * writing route.  ACCESS_OLD: the audience no longer held; roll back, access_read(), begin again.
 */
enum access { ACCESS_FINE, ACCESS_REFUSED, ACCESS_OLD };
enum access object_load(struct req *);
/* The object that a route's path names last, or NULL. */
const struct object *object_of(const struct route *);
/* Stops the program when a path names an id that is no object's, or an object has a hole. */
void object_check(const struct route *);

#endif
