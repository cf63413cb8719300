/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/channels/{channelId}/members: who has which role in a channel. */
#include <string.h>

#include "core/role.h"
#include "fcgi/channel.h"

#define OWNER "Channel Owner"

struct member {
	struct uuid id, principal_id;
	const char *name, *kind, *role, *channel_type;
	int64_t version;
	struct moment created_at, updated_at;
};
static const struct field member_fields[] = {
	FIELD(struct member, id, .on = SERVER, .required = true, .doc = "The same as principalId"),
	FIELD(struct member, principal_id, .required = true, .sql = "t.id", .doc = "User, client or group"),
	FIELD(struct member, name, .on = FILTER | SORT, .required = true, .doc = "Its name"),
	FIELD(struct member, kind, .on = FILTER, .required = true, .one_of = "client user group", .doc = "What it is"),
	FIELD(struct member, role, .on = FILTER, .required = true, .sql = "m.role", .known = ROLE_WORDS,
	    .doc = "From the weakest to the strongest; of several, also by groups, the strongest counts"),
	FIELD(struct member, channel_type, .on = HIDDEN, .sql = "c.type", .doc = "Of the channel"),
	FIELD(struct member, version, .on = HIDDEN, .sql = "m.version", .doc = "Grows with each change"),
	FIELD(struct member, created_at, .required = true, .sql = "m.created_at", .doc = "When it became a member"),
	FIELD(struct member, updated_at, .required = true, .sql = "GREATEST(m.updated_at, m.created_at)",
	    .doc = "When it got its role"),
};
static const struct record member_record = RECORD("Member", struct member, member_fields);

struct membership { struct uuid channel_id, principal_id; const char *role; struct moment created_at; };
static const struct field membership_fields[] = {
	FIELD(struct membership, channel_id, .on = SERVER | HIDDEN, .doc = "The channel"),
	FIELD(struct membership, principal_id, .on = CREATE, .required = true, .doc = "User, client or group of the tenant"),
	FIELD(struct membership, role, .on = CREATE, .required = true, .max = 40, .known = ROLE_WORDS,
	    .doc = "From the weakest to the strongest"),
	FIELD(struct membership, created_at, .on = SERVER | HIDDEN, .doc = "Now"),
};
static const struct record membership_record = RECORD("Member", struct membership, membership_fields);

struct new_role { const char *role; };
static const struct field new_role_fields[] = {
	FIELD(struct new_role, role, .on = CREATE, .required = true, .max = 40, .known = ROLE_WORDS,
	    .doc = "From the weakest to the strongest"),
};
static const struct record new_role_record = RECORD("MemberRole", struct new_role, new_role_fields);

#define MEMBERS "FROM memberships m JOIN channels c ON c.id = m.channel_id JOIN principals t ON t.id = m.principal_id WHERE " \
	"c.id = ?"

/* Whoever changes one holds the row of the channel, so that of two owners who leave at once one stays. */
const struct object member_object = {
	.path = "/v2/channels/{channelId}/members/{principalId}", .reach = REACH_BELOW_CHANNEL,
	.record = &member_record, .from = MEMBERS " AND t.id = ?",
};

static int
members_list(struct req *r)
{
	struct member *rows;
	size_t n;

	rows = db_list(r->db, &member_record, MEMBERS, ARGS(ID(r->id[0])), &r->page, &n);
	return reply_list(r, &member_record, rows, n);
}

static int
member_get(struct req *r)
{
	return reply(r, 200, &member_record, r->object);
}

/* False: refused. */
static bool
is_role(struct req *r, const char *role, const char *channel_type)
{
	if (role_permissions(role) == 0)
		fault(r, "/role", "not_allowed", "one of: %s", role_names(r->mem, SCOPE_VIEW_CHANNEL));
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	else if (channel_is_of_user(channel_type) && strcmp(role, "Viewer") != 0)
		refuse(r, ERR_USER_CHANNEL, NULL);
	return !r->refused;
}

static void
audit_member(struct req *r, const char *type, struct uuid principal_id, const char *role)
{
	audit(r, type, r->id[0], arena_printf(r->mem, "{\"principalId\":\"%s\",\"role\":\"%s\"}",
	    uuid_text(r->mem, principal_id), role));
	role_changed(r->db, r->who->tenant_id);
}

static int
member_create(struct req *r)
{
	const struct channel_head *c = r->object;
	struct membership *in = r->in;

	if (db_number(r->db, "SELECT 1 FROM principals WHERE id = ? AND tenant_id = ?", ARGS(ID(in->principal_id),
	    ID(r->who->tenant_id)), 0) != 1)
		fault(r, "/principalId", "not_found", "there is no such principal");
	if (!is_role(r, in->role, c->type))
		return r->status;
	in->channel_id = c->id;
	in->created_at = r->now;
	if (!db_insert(r->db, "memberships", &membership_record, in))
		return refuse(r, ERR_ALREADY_MEMBER, NULL);
	audit_member(r, "member.added", in->principal_id, in->role);
	return reply_created(r, &member_record, db_row(r->db, &member_record, MEMBERS " AND t.id = ?", ARGS(ID(c->id),
	    ID(in->principal_id))), in->principal_id);
}

/* Groups do not count: they may be empty.  Nor does who is disabled or revoked: it can do nothing for the channel. */
static bool
is_last_owner(struct req *r, const struct member *m)
{
	return strcmp(m->role, OWNER) == 0 && strcmp(m->kind, "group") != 0 && db_number(r->db, "SELECT COUNT(*) FROM "
	    "memberships m JOIN principals p ON p.id = m.principal_id LEFT JOIN users u ON u.id = p.id LEFT JOIN "
	    "provider_users x ON x.id = p.id LEFT JOIN clients k ON k.id = p.id WHERE m.channel_id = ? AND m.role = '"
	    OWNER "' AND p.kind <> 'group' AND p.id <> ? AND COALESCE(u.disabled_at, x.disabled_at, k.revoked_at, 0) "
	    "= 0", ARGS(ID(r->id[0]), ID(m->id)), 0) == 0;
}

static int
member_set(struct req *r)
{
	const struct new_role *in = r->in;
	const struct member *m = r->object;

	if (strcmp(in->role, m->role) == 0)
		return reply(r, 200, &member_record, m);
	if (role_permissions(in->role) != 0 && is_last_owner(r, m))
		return refuse(r, ERR_LAST_OWNER, NULL);
	if (!is_role(r, in->role, m->channel_type))
		return r->status;
	db_run(r->db, "UPDATE memberships SET role = ?, version = version + 1, updated_at = ? WHERE channel_id = ? AND "
	    "principal_id = ?", ARGS(STR(in->role), TIME(r->now), ID(r->id[0]), ID(m->id)));
	audit_member(r, "member.updated", m->id, in->role);
	return reply(r, 200, &member_record, object_again(r));
}

static int
member_delete(struct req *r)
{
	const struct member *m = r->object;

	if (is_last_owner(r, m))
		return refuse(r, ERR_LAST_OWNER, NULL);
	db_run(r->db, "DELETE FROM memberships WHERE channel_id = ? AND principal_id = ?", ARGS(ID(r->id[0]),
	    ID(m->id)));
	audit_member(r, "member.removed", m->id, m->role);
	return reply_deleted(r, m->id, true);
}

const struct route members_routes[] = {
	{
		GET, "/v2/channels/{channelId}/members", SCOPE_VIEW_CHANNEL, members_list, NULL, &member_record,
		"List who has which role in a channel",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		POST, "/v2/channels/{channelId}/members", SCOPE_MANAGE_CHANNEL, member_create, &membership_record,
		&member_record,
		"Give a user, a client or a group a role in a channel",
		.flags = BELOW, .success = 201, .fails = "403 404 409 422",
		.codes = "already_member user_channel channel_closing", .id = "addChannelMember",
	},
	{
		GET, "/v2/channels/{channelId}/members/{principalId}", SCOPE_VIEW_CHANNEL, member_get, NULL,
		&member_record,
		"Get a member of a channel",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		PUT, "/v2/channels/{channelId}/members/{principalId}", SCOPE_MANAGE_CHANNEL, member_set,
		&new_role_record, &member_record,
		"Change the role of a member",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422",
		.codes = "last_owner user_channel channel_closing",
	},
	{
		METHOD_DELETE, "/v2/channels/{channelId}/members/{principalId}", SCOPE_MANAGE_CHANNEL, member_delete,
		NULL, &deleted_record,
		"Take a member's role away",
		.flags = CONDITIONAL, .fails = "403 404 409 412", .codes = "last_owner channel_closing",
		.id = "removeChannelMember",
	},
	{ 0 }
};
