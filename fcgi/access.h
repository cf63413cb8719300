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

/*
 * May the caller do `scope` to the asset?  Refuses by itself: 404 when it is none of the tenant's, 403 when the
 * permission is missing.  Soft-deleted assets are there only `with_deleted`.  On a CONDITIONAL route that writes, If-Match
 * is compared with the version of the asset (412).
 */
bool access_media(struct req *, struct uuid media_id, enum scope scope, bool with_deleted);

/* The same for a channel: CREATE_CONTENT to put assets in, MANAGE_CHANNEL to change it. */
bool access_channel(struct req *, struct uuid channel_id, enum scope scope);

/* Refuses by itself when a row read with ACCESS_GRANTS_SQL may not be shown: row == NULL (404), no permission (403). */
bool access_shown(struct req *, const void *row, int64_t grants, bool is_deleted);

#endif
