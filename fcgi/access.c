/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may see or change an asset or a channel.  Permissions by role are SCOPE_BIT()s:
 *	Viewer 6 (ViewChannel, ViewMetadata) · Contributor 14 (+ CreateContent) · Publisher 30 (+ ManageSharingOptions) ·
 *	Channel Owner 62 (+ ManageChannel) · anyone of the tenant in a public channel 6 · SuperAdmin 62
 */
#include <string.h>

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
granted(struct req *r, unsigned bits, enum scope scope)
{
	if ((bits & SCOPE_BIT(scope)) != 0)
		return true;
	refuse(r, ERR_FORBIDDEN, "You do not have the permission %s here.", scope_name(scope));
	return false;
}

bool
access_media(struct req *r, struct uuid media_id, enum scope scope, bool with_deleted)
{
	bool compares = (r->route->flags & CONDITIONAL) != 0 && r->method != GET;
	const struct access *a = db_row(r->db, &access_record, compares ?
	    "FROM media t WHERE t.id = ? AND t.tenant_id = ? FOR UPDATE" : "FROM media t WHERE t.id = ? AND t.tenant_id = ?",
	    ARGS(INT(r->who->is_super_admin), ID(r->who->id), ID(media_id), ID(r->who->tenant_id)));

	if (a == NULL || (a->deleted_at.ms != 0 && !with_deleted)) {
		refuse(r, ERR_NOT_FOUND, NULL);
		return false;
	}
	if (!granted(r, (unsigned)a->grants, scope))
		return false;
	return !compares || precondition(r, a->version);
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
	return granted(r, (unsigned)a->grants, scope);
}

struct role { struct uuid id; int64_t bits, channels; };
static const struct field role_fields[] = {
	FIELD(struct role, id, .doc = "Channel"),
	FIELD(struct role, bits, .sql = "CASE m.role WHEN 'Viewer' THEN 6 WHEN 'Contributor' THEN 14 WHEN 'Publisher' THEN 30 "
	    "WHEN 'Channel Owner' THEN 62 ELSE 6 END", .doc = "Permissions of the caller"),
	FIELD(struct role, channels, .sql = "(SELECT COUNT(*) FROM channels a WHERE a.tenant_id = t.tenant_id)", .doc = "Of the tenant"),
};
static const struct record role_record = RECORD("RoleRow", struct role, role_fields);

static void
read_audience(struct req *r, struct audience *a, int64_t changes)
{
	const struct role *rows;
	size_t n, i;

	memset(a, 0, sizeof(*a));
	a->sees_all = r->who->is_super_admin;
	a->everywhere = a->sees_all ? 62 : 0;
	rows = a->sees_all ? NULL : db_rows(r->db, &role_record, "FROM channels t LEFT JOIN memberships m ON m.channel_id = t.id AND "
	    "m.principal_id = ? WHERE t.tenant_id = ? AND (m.role IS NOT NULL OR t.visibility = 'public') LIMIT 65",
	    ARGS(ID(r->who->id), ID(r->who->tenant_id)), &n);
	if (db_failure(r->db) != DB_FINE)
		return;
	a->principal_id = r->who->id;
	a->changes = changes;
	a->connection = db_connections(r->db);
	a->is_super_admin = r->who->is_super_admin;
	if (a->sees_all)
		return;
	a->too_many = n > AUDIENCE_MAX;
	for (i = 0; i < n && i < AUDIENCE_MAX; i++) {
		a->at[i].channel_id = rows[i].id;
		a->at[i].bits = (unsigned)rows[i].bits;
	}
	a->n = i;
	a->sees_all = n > 0 && rows[0].channels == (int64_t)n;
	a->everywhere = a->sees_all ? 62 : 0;
	for (i = 0; i < n; i++)
		a->everywhere &= (unsigned)rows[i].bits;
}

static struct audience *
place(struct uuid principal_id)
{
	static struct audience cache[32];

	return &cache[principal_id.b[15] % (sizeof(cache) / sizeof(cache[0]))];
}

static bool
is_of(const struct audience *a, const struct req *r)
{
	return uuid_equal(a->principal_id, r->who->id) && a->is_super_admin == r->who->is_super_admin &&
	    a->connection == db_connections(r->db);
}

const struct audience *
access_audience(struct req *r, int64_t changes)
{
	struct audience *a = place(r->who->id);

	if (!is_of(a, r) || a->changes != changes)
		read_audience(r, a, changes);
	return a;
}

const struct audience *
access_last(struct req *r)
{
	struct audience *a = place(r->who->id);

	if (!is_of(a, r))
		read_audience(r, a, db_number(r->db, "SELECT changes FROM tenant_usage WHERE tenant_id = ?",
		    ARGS(ID(r->who->tenant_id)), -1));
	return a;
}

bool
access_somewhere(struct req *r, enum scope scope)
{
	const struct audience *a = access_audience(r, db_number(r->db, "SELECT changes FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(r->who->tenant_id)), -1));
	unsigned bits = a->too_many ? SCOPE_BIT(scope) : a->everywhere;	/* of many, one may: it is asked again in the end */
	size_t i;

	for (i = 0; i < a->n; i++)
		bits |= a->at[i].bits;
	return granted(r, bits, scope);
}

struct channel_id { struct uuid id; };
static const struct field channel_id_fields[] = { FIELD(struct channel_id, id, .doc = "Channel") };
static const struct record channel_id_record = RECORD("ChannelId", struct channel_id, channel_id_fields);

static unsigned
bits_in(struct req *r, const struct audience *a, const char *channels)
{
	struct list list = record_parse_list(r->mem, &channel_id_record, channels);
	const struct channel_id *ids = list.rows;
	unsigned bits = 0;
	size_t i, k;

	for (i = 0; i < list.n; i++)
		for (k = 0; k < a->n; k++)
			if (uuid_equal(ids[i].id, a->at[k].channel_id))
				bits |= a->at[k].bits;
	return bits;
}

bool
access_row(struct req *r, struct uuid media_id, const char *channels, int64_t changes, enum scope scope)
{
	const struct audience *a = access_audience(r, changes);

	if ((a->everywhere & SCOPE_BIT(scope)) != 0)
		return true;
	return a->too_many ? access_media(r, media_id, scope, true) : granted(r, bits_in(r, a, channels), scope);
}
