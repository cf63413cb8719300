/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/groups: users and clients that have roles together.  A group is a principal, and holds no groups. */
#include <string.h>

#include "core/role.h"
#include "fcgi/principal.h"
#include "media/label.h"

enum { LONGEST = 255 };

struct group {
	struct uuid id, tenant_id;
	const char *name, *description;
	int64_t member_count;
	int64_t version;
	struct moment created_at, updated_at;
};
static const struct field group_fields[] = {
	FIELD(struct group, id, .on = SERVER, .required = true, .doc = "Unique id; also that of the principal"),
	FIELD(struct group, tenant_id, .on = SERVER | HIDDEN, .doc = "Its tenant"),
	FIELD(struct group, name, .on = CREATE | PATCH | FILTER | SORT, .required = true, .min = 1, .max = LONGEST,
	    .doc = "Shown to people; unique in the tenant, regardless of case and accents; blanks at its ends do not "
	    "count, and several are one"),
	FIELD(struct group, description, .on = CREATE | PATCH | MULTILINE, .max = 5000, .doc = "Shown to people"),
	FIELD(struct group, member_count, .on = COMPUTED, .required = true,
	    .doc = "Who is in it; counted up to 1000, which also stands for more"),
	FIELD(struct group, version, .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct group, created_at, .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct group, updated_at, .on = SERVER, .required = true, .doc = "When it was last changed"),
};
static const struct record group_record = RECORD("Group", struct group, group_fields);

const struct object group_object = {
	.path = "/v2/groups/{groupId}", .reach = REACH_TENANT, .record = &group_record,
	.from = "FROM principal_groups t WHERE t.id = ?",
};

/* Any principal beside any group: whether it is in it, or may be, the handlers say. */
const struct object group_member_object = {
	.path = "/v2/groups/{groupId}/members/{principalId}", .reach = REACH_TENANT, .record = &principal_record,
	.from = "FROM principals t JOIN principal_groups g ON g.tenant_id = t.tenant_id WHERE g.id = ? AND t.id = ?",
};

static void
complete(struct req *r, struct group *g)
{
	g->member_count = db_number(r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM group_members m WHERE m.group_id = ? "
	    "LIMIT 1000) n", ARGS(ID(g->id)), 0);
}

/* The count is part of the tag: it changes without the row. */
static int
group_reply(struct req *r, int status, struct group *g)
{
	if (g == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	complete(r, g);
	r->etag = arena_printf(r->mem, "\"%lld-%lld\"", (long long)g->version, (long long)g->member_count);
	return status == 201 ? reply_created(r, &group_record, g, g->id) : reply(r, status, &group_record, g);
}

static int
groups_list(struct req *r)
{
	struct group *rows;
	size_t n, i;

	rows = db_list(r->db, &group_record, "FROM principal_groups t WHERE t.tenant_id = ?", ARGS(
	    ID(r->who->tenant_id)), &r->page, &n);
	for (i = 0; i < n; i++)
		complete(r, &rows[i]);
	return reply_list(r, &group_record, rows, n);
}

/* Blanks that nobody tells apart make no other name.  False: refused, it has become longer. */
static bool
clean_name(struct req *r, struct group *g)
{
	g->name = label_clean(r->mem, g->name);
	if (utf8_length(g->name) <= LONGEST)
		return true;
	fault(r, "/name", "too_long", "at most %d characters", LONGEST);
	refuse(r, ERR_INVALID, NULL);
	return false;
}

static int
group_create(struct req *r)
{
	struct group *g = r->in;

	if (!clean_name(r, g))
		return r->status;
	g->id = uuid_new();
	g->tenant_id = r->who->tenant_id;
	g->version = 1;
	g->created_at = g->updated_at = r->now;
	db_run(r->db, "INSERT INTO principals (id, tenant_id, kind, name, created_at) VALUES (?, ?, 'group', ?, ?)",
	    ARGS(ID(g->id), ID(g->tenant_id), STR(g->name), TIME(r->now)));
	if (!db_insert(r->db, "principal_groups", &group_record, g))
		return refuse(r, ERR_NAME_TAKEN, NULL);
	audit(r, "group.created", g->id, NULL);
	return group_reply(r, 201, g);
}

static int
group_get(struct req *r)
{
	return group_reply(r, 200, r->object);
}

static int
group_patch(struct req *r)
{
	struct group *would = patched(r);
	uint64_t changed;

	if (!clean_name(r, would))
		return r->status;
	changed = record_differs(r->mem, &group_record, r->object, would, r->given);
	if (changed == 0)
		return group_reply(r, 200, r->object);
	if (db_update(r->db, "principal_groups", &group_record, would, changed, would->id) == -2)
		return refuse(r, ERR_NAME_TAKEN, NULL);
	db_run(r->db, "UPDATE principals SET name = ? WHERE id = ?", ARGS(STR(would->name), ID(would->id)));
	audit(r, "group.updated", would->id, NULL);
	return group_reply(r, 200, object_again(r));
}

/* With it go its members and its roles. */
static int
group_delete(struct req *r)
{
	const struct group *g = r->object;

	db_run(r->db, "DELETE FROM principals WHERE id = ? AND kind = 'group'", ARGS(ID(g->id)));
	audit(r, "group.deleted", g->id, NULL);
	role_changed(r->db, g->tenant_id);
	return reply_deleted(r, g->id, true);
}

static int
group_members_list(struct req *r)
{
	struct principal_view *rows;
	size_t n;

	rows = db_list(r->db, &principal_record, "FROM principals t JOIN group_members m ON m.principal_id = t.id "
	    "WHERE t.tenant_id = ? AND m.group_id = ?", ARGS(ID(r->who->tenant_id), ID(r->id[0])), &r->page, &n);
	return reply_list(r, &principal_record, rows, n);
}

static void
audit_member(struct req *r, const char *type)
{
	audit(r, type, r->id[0], arena_printf(r->mem, "{\"principalId\":\"%s\"}", uuid_text(r->mem, r->id[1])));
	role_changed(r->db, r->who->tenant_id);
}

/* Both rows are held: of two calls the second sees what the first has done. */
static int
group_join(struct req *r)
{
	const struct principal_view *p = r->object;

	if (strcmp(p->kind, "group") == 0)
		return refuse(r, ERR_NESTED_GROUP, NULL);
	if (db_number(r->db, "SELECT 1 FROM group_members WHERE group_id = ? AND principal_id = ?", ARGS(ID(r->id[0]),
	    ID(p->id)), 0) == 1)
		return reply(r, 200, &principal_record, p);
	db_run(r->db, "INSERT INTO group_members (group_id, principal_id, created_at) VALUES (?, ?, ?)",
	    ARGS(ID(r->id[0]), ID(p->id), TIME(r->now)));
	audit_member(r, "group.joined");
	return reply(r, 200, &principal_record, p);
}

static int
group_leave(struct req *r)
{
	const struct principal_view *p = r->object;

	if (db_run(r->db, "DELETE FROM group_members WHERE group_id = ? AND principal_id = ?", ARGS(ID(r->id[0]),
	    ID(p->id))) == 0)
		return refuse(r, ERR_NOT_FOUND, NULL);
	audit_member(r, "group.left");
	return reply_deleted(r, p->id, true);
}

const struct route groups_routes[] = {
	{
		GET, "/v2/groups", SCOPE_MANAGE_CHANNEL, groups_list, NULL, &group_record,
		"List the groups of the tenant",
		.flags = LIST | SOMEWHERE, .fails = "403 422",
	},
	{
		POST, "/v2/groups", SCOPE_MANAGE_CHANNEL, group_create, &group_record, &group_record,
		"Make a group",
		.flags = SUPER_ADMIN, .success = 201, .fails = "403 409 422", .codes = "name_taken",
	},
	{
		GET, "/v2/groups/{groupId}", SCOPE_MANAGE_CHANNEL, group_get, NULL, &group_record,
		"Get a group",
		.flags = CONDITIONAL | SOMEWHERE, .fails = "403 404",
	},
	{
		METHOD_PATCH, "/v2/groups/{groupId}", SCOPE_MANAGE_CHANNEL, group_patch, &group_record, &group_record,
		"Change name and description of a group",
		.flags = CONDITIONAL | SUPER_ADMIN, .fails = "403 404 409 412 422", .codes = "name_taken",
	},
	{
		METHOD_DELETE, "/v2/groups/{groupId}", SCOPE_MANAGE_CHANNEL, group_delete, NULL, &deleted_record,
		"Delete a group, and with it the roles that it gave",
		.flags = CONDITIONAL | SUPER_ADMIN, .fails = "403 404 412",
	},
	{
		GET, "/v2/groups/{groupId}/members", SCOPE_MANAGE_CHANNEL, group_members_list, NULL, &principal_record,
		"List who is in a group",
		.flags = BELOW | LIST | SOMEWHERE, .fails = "403 404 422",
	},
	{
		PUT, "/v2/groups/{groupId}/members/{principalId}", SCOPE_MANAGE_CHANNEL, group_join, NULL,
		&principal_record,
		"Take a user or a client into a group",
		.flags = ACTION | SUPER_ADMIN, .fails = "403 404 422", .codes = "nested_group", .id = "addGroupMember",
	},
	{
		METHOD_DELETE, "/v2/groups/{groupId}/members/{principalId}", SCOPE_MANAGE_CHANNEL, group_leave, NULL,
		&deleted_record,
		"Take somebody out of a group",
		.flags = SUPER_ADMIN, .fails = "403 404", .id = "removeGroupMember",
	},
	{ 0 }
};
