/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may see or change an asset or a channel: every role rule, once (the table of channel roles is in access.c). */
#ifndef FCGI_ACCESS_H
#define FCGI_ACCESS_H

#include "fcgi/req.h"

/*
 * SQL for a SELECT list: the permissions (SCOPE_BIT()s) that the principal holds on the asset t through its channels.
 * Binds, in this order: INT(is_super_admin), ID(principal).  SuperAdmins hold everything.
 */
#define ACCESS_GRANTS_SQL \
	"IF(?, 62, (SELECT BIT_OR(CASE m.role WHEN 'Viewer' THEN 6 WHEN 'Contributor' THEN 14 WHEN 'Publisher' THEN 30 " \
	"WHEN 'Channel Owner' THEN 62 ELSE IF(c.visibility = 'public', 6, 0) END) " \
	"FROM media_channels mc JOIN channels c ON c.id = mc.channel_id " \
	"LEFT JOIN memberships m ON m.channel_id = c.id AND m.principal_id = ? WHERE mc.media_id = t.id))"

/*
 * SQL condition for lists: the asset t is in a public channel, or in one where the principal has a role.  SuperAdmins see
 * all and do without it.  Binds: ID(principal).
 */
#define ACCESS_VIEW_SQL \
	"(EXISTS (SELECT 1 FROM media_channels mc JOIN memberships m ON m.channel_id = mc.channel_id AND m.principal_id = ? " \
	"WHERE mc.media_id = t.id) OR EXISTS (SELECT 1 FROM media_channels mc JOIN channels c ON c.id = mc.channel_id AND " \
	"c.visibility = 'public' WHERE mc.media_id = t.id))"

/* The same for what only those see who may change the asset t.  Binds: ID(principal). */
#define ACCESS_CREATE_SQL \
	"EXISTS (SELECT 1 FROM media_channels mc JOIN memberships m ON m.channel_id = mc.channel_id AND m.principal_id = ? " \
	"WHERE mc.media_id = t.id AND m.role IN ('Contributor', 'Publisher', 'Channel Owner'))"

/*
 * May the caller do `scope` to the asset?  Refuses by itself: 404 when it is none of the tenant's, 403 when the
 * permission is missing.  Soft-deleted assets are there only `with_deleted`.  On a CONDITIONAL route that writes, If-Match
 * is compared with the version of the asset (412), and the row stays locked, so that of two with the same tag one wins.
 */
bool access_media(struct req *, struct uuid media_id, enum scope scope, bool with_deleted);

/* The same for a channel: CREATE_CONTENT to put assets in, MANAGE_CHANNEL to change it. */
bool access_channel(struct req *, struct uuid channel_id, enum scope scope);

/* May the caller do `scope` in any channel of its tenant?  Refuses with 403. */
bool access_somewhere(struct req *, enum scope scope);

/*
 * What the caller may do in the channels of its tenant, kept per process.  It holds while tenant_usage.changes stays: every
 * transaction that changes roles, visibility or channels calls audience_changed().  A row read together with that number
 * is therefore decided without a further query.
 */
enum { AUDIENCE_MAX = 64 };
struct audience {
	struct uuid principal_id;
	int64_t changes;
	unsigned connection;		/* that it was read by: db_connections() */
	bool is_super_admin;		/* the principal was one then */
	bool sees_all;			/* a SuperAdmin, or every channel of the tenant is visible */
	unsigned everywhere;		/* permissions that every channel of the tenant gives */
	bool too_many;			/* more than AUDIENCE_MAX channels: ask SQL */
	size_t n;
	struct { struct uuid channel_id; unsigned bits; } at[AUDIENCE_MAX];
};
const struct audience *access_audience(struct req *, int64_t changes);
/* What was last known, without asking whether it still holds; read when nothing is.  Compare its `changes`. */
const struct audience *access_last(struct req *);

/* May the caller do `scope` to an asset whose row brought its `channels` and the number of changes?  Refuses with 403. */
bool access_row(struct req *, struct uuid media_id, const char *channels, int64_t changes, enum scope scope);

#endif
