/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/principals: who can be given a role. */
#include "fcgi/principal.h"

static const struct field principal_fields[] = {
	FIELD(struct principal_view, id, .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct principal_view, name, .on = FILTER | SORT, .key = "by_name", .required = true, .doc = "Shown to people"),
	FIELD(struct principal_view, kind, .on = FILTER, .sql = "t.kind", .required = true, .one_of = "client user group",
	    .doc = "What it is"),
	FIELD(struct principal_view, is_super_admin, .required = true, .doc = "Has it every permission?"),
	FIELD(struct principal_view, created_at, .required = true, .doc = "When it was made"),
};
const struct record principal_record = RECORD("Principal", struct principal_view, principal_fields);

static int
principals_list(struct req *r)
{
	struct principal_view *rows;
	size_t n;

	rows = db_list(r->db, &principal_record, "FROM principals t WHERE t.tenant_id = ? AND NOT EXISTS (SELECT 1 "
	    "FROM clients c WHERE c.id = t.id AND c.revoked_at > 0)", ARGS(ID(r->who->tenant_id)), &r->page, &n);
	return reply_list(r, &principal_record, rows, n);
}

const struct route principals_routes[] = {
	{
		GET, "/v2/principals", SCOPE_MANAGE_CHANNEL, principals_list, NULL, &principal_record,
		"List the users, clients and groups of the tenant, without revoked clients",
		.flags = LIST | SOMEWHERE, .fails = "403 422",
	},
	{ 0 }
};
