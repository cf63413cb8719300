/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may see or change an asset or a channel.  Permissions by role are SCOPE_BIT()s:
 *	Viewer 6 (ViewChannel, ViewMetadata) · Contributor 14 (+ CreateContent) · Publisher 30 (+ ManageSharingOptions) ·
 *	Channel Owner 62 (+ ManageChannel) · anyone of the tenant in a public channel 6 · SuperAdmin 62
 */
#include "fcgi/access.h"

_Static_assert(SCOPE_BIT(SCOPE_VIEW_CHANNEL) + SCOPE_BIT(SCOPE_VIEW_METADATA) == 6, "Viewer");
_Static_assert(SCOPE_BIT(SCOPE_CREATE_CONTENT) == 8 && SCOPE_BIT(SCOPE_MANAGE_SHARING_OPTIONS) == 16 &&
    SCOPE_BIT(SCOPE_MANAGE_CHANNEL) == 32, "Contributor, Publisher, Channel Owner");

struct access { int64_t grants, version; struct moment deleted_at; };

static const struct field access_fields[] = {
	FIELD(struct access, grants, .sql = ACCESS_GRANTS_SQL, .doc = "Permissions of the caller"),
	FIELD(struct access, version, .doc = "For If-Match"),
	FIELD(struct access, deleted_at, .doc = "Soft-deleted then"),
};
static const struct record access_record = RECORD("Access", struct access, access_fields);

struct channel_access { int64_t grants; };

static const struct field channel_access_fields[] = {
	FIELD(struct channel_access, grants, .sql = "IF(?, 62, CASE m.role WHEN 'Viewer' THEN 6 WHEN 'Contributor' THEN 14 "
	    "WHEN 'Publisher' THEN 30 WHEN 'Channel Owner' THEN 62 ELSE IF(t.visibility = 'public', 6, 0) END)",
	    .doc = "Permissions of the caller"),
};
static const struct record channel_access_record = RECORD("ChannelAccess", struct channel_access, channel_access_fields);

static bool
granted(struct req *r, int64_t grants, enum scope scope)
{
	if (((unsigned)grants & SCOPE_BIT(scope)) != 0)
		return true;
	refuse(r, ERR_FORBIDDEN, "You do not have the permission %s here.", scope_name(scope));
	return false;
}

bool
access_media(struct req *r, struct uuid media_id, enum scope scope, bool with_deleted)
{
	const struct access *a = db_row(r->db, &access_record, "FROM media t WHERE t.id = ? AND t.tenant_id = ?",
	    ARGS(INT(r->who->is_super_admin), ID(r->who->id), ID(media_id), ID(r->who->tenant_id)));

	if (a == NULL || (a->deleted_at.ms != 0 && !with_deleted)) {
		refuse(r, ERR_NOT_FOUND, NULL);
		return false;
	}
	if (!granted(r, a->grants, scope))
		return false;
	return (r->route->flags & CONDITIONAL) == 0 || r->method == GET || precondition(r, a->version);
}

bool
access_channel(struct req *r, struct uuid channel_id, enum scope scope)
{
	const struct channel_access *a = db_row(r->db, &channel_access_record, "FROM channels t LEFT JOIN memberships m "
	    "ON m.channel_id = t.id AND m.principal_id = ? WHERE t.id = ? AND t.tenant_id = ?",
	    ARGS(INT(r->who->is_super_admin), ID(r->who->id), ID(channel_id), ID(r->who->tenant_id)));

	if (a == NULL) {
		refuse(r, ERR_NOT_FOUND, NULL);
		return false;
	}
	return granted(r, a->grants, scope);
}

bool
access_shown(struct req *r, const void *row, int64_t grants, bool is_deleted)
{
	if (row == NULL) {
		refuse(r, ERR_NOT_FOUND, NULL);
		return false;
	}
	return granted(r, grants, is_deleted ? SCOPE_CREATE_CONTENT : SCOPE_VIEW_CHANNEL);
}
