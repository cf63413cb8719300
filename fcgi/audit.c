/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/audit: who changed who may do what */
#include "core/audit.h"
#include "fcgi/req.h"

static int
audit_list(struct req *r)
{
	struct audit_event *rows;
	size_t n;

	rows = db_list(r->db, &audit_event_record, AUDIT_FROM, ARGS(ID(r->who->tenant_id)), &r->page, &n);
	return reply_list(r, &audit_event_record, rows, n);
}

const struct route audit_routes[] = {
	{
		GET, "/v2/audit", SCOPE_MANAGE_CHANNEL, audit_list, NULL, &audit_event_record,
		"List who changed roles, visibility, members, users, clients, settings and keys, newest first",
		.flags = LIST | SUPER_ADMIN, .fails = "403 422", .id = "listAuditEvents",
	},
	{ 0 }
};
