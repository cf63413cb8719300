/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/permissions: what the caller may do, and by which channels */
#include "fcgi/access.h"
#include "fcgi/asset_view.h"

struct permission { const char *name; struct ids channel_ids; };
static const struct field permission_fields[] = {
	FIELD(struct permission, name, .on = SERVER, .required = true, .one_of = SCOPE_NAMES, .doc = "The permission"),
	FIELD(struct permission, channel_ids, .on = SERVER, .required = true,
	    .doc = "Channels that give it; empty for a SuperAdmin"),
};
static const struct record permission_record = RECORD("Permission", struct permission, permission_fields);

static int
permissions_list(struct req *r)
{
	const struct media *m = r->object;
	struct list seen = access_visible(r, &m->channel_ids);
	const struct channel_view *c = seen.rows;
	struct permission *all = arena_array(r->mem, SCOPE_MANAGE_CHANNEL, sizeof(*all));
	size_t n, i, count = 0;
	enum scope s;

	for (s = SCOPE_VIEW_CHANNEL; s <= SCOPE_MANAGE_CHANNEL; s++) {
		struct permission *p = &all[count];

		p->name = scope_name(s);
		p->channel_ids = (struct ids){ arena_array(r->mem, seen.n + 1, sizeof(struct uuid)), 0 };
		for (i = 0; i < seen.n && !r->who->is_super_admin; i++)
			if (c[i].permissions & SCOPE_BIT(s))
				p->channel_ids.at[p->channel_ids.n++] = c[i].id;
		count += p->channel_ids.n > 0 || r->who->is_super_admin;
	}
	all += page_cut(r, count, &n);
	return reply_list(r, &permission_record, all, n);
}

const struct route permissions_routes[] = {
	{
		GET, "/v2/media/{mediaId}/permissions", SCOPE_ANY_TOKEN, permissions_list, NULL, &permission_record,
		"List what the caller may do with an asset",
		.flags = LIST | WITH_DELETED, .fails = "403 404",
	},
	{ 0 }
};
