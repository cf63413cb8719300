/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which assets a story or a meeting refers to, and which of them the caller sees. */
#include "fcgi/access.h"
#include "fcgi/mentions.h"

static const struct field mention_fields[] = {
	FIELD(struct mention, object_id, .sql = "x.object_id", .doc = "What refers to it"),
	FIELD(struct mention, media_id, .sql = "t.id", .doc = "The asset"),
	FIELD(struct mention, duration, .doc = "Of the asset"),
};
static const struct record mention_record = RECORD("Mention", struct mention, mention_fields);

const char *
mentions_json(struct arena *mem, const struct uuid *ids, size_t n)
{
	struct buf b = BUF(mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\"%s\"", i > 0 ? "," : "", hex_encode(mem, ids[i].b, sizeof(ids[i].b)));
	buf_char(&b, ']');
	return buf_string(&b);
}

static bool
sees_all(const struct req *r)
{
	return (r->audience->everywhere & SCOPE_BIT(SCOPE_VIEW_CHANNEL)) != 0;
}

#define MENTIONS "FROM " MENTIONED_IDS " STRAIGHT_JOIN mentions x ON x.object_id = UNHEX(j.id) STRAIGHT_JOIN media t " \
	"ON t.id = x.media_id WHERE t.tenant_id = ? AND t.deleted_at = 0"

struct list
mentions_of(struct req *r, const struct uuid *object_ids, size_t n)
{
	const char *objects = mentions_json(r->mem, object_ids, n);
	struct list list = { NULL, 0 };

	if (sees_all(r))
		list.rows = db_rows(r->db, &mention_record, MENTIONS, ARGS(STR(objects), ID(r->who->tenant_id)),
		    &list.n);
	else
		list.rows = db_rows(r->db, &mention_record, MENTIONS " AND " ACCESS_VIEW_SQL, ARGS(STR(objects),
		    ID(r->who->tenant_id), ID(r->who->id), ID(r->who->id), STR(role_names(r->mem,
		    SCOPE_VIEW_CHANNEL))), &list.n);
	return list;
}

struct list
mentions_open(struct req *r, struct uuid object_id)
{
	struct list list;

	list.rows = db_rows(r->db, &mention_record, "FROM mentions x JOIN media t ON t.id = x.media_id WHERE "
	    "x.object_id = ? AND t.deleted_at = 0 AND EXISTS (SELECT 1 FROM media_channels mc JOIN channels c ON c.id = "
	    "mc.channel_id WHERE mc.media_id = t.id AND c.visibility <> 'private')", ARGS(ID(object_id)), &list.n);
	return list;
}

const struct mention *
mention_in(const struct list *list, struct uuid object_id, struct uuid media_id)
{
	const struct mention *m = list->rows;
	size_t i;

	for (i = 0; i < list->n; i++)
		if (uuid_equal(m[i].media_id, media_id) && uuid_equal(m[i].object_id, object_id))
			return &m[i];
	return NULL;
}

bool
mentions_show(struct req *r, struct uuid object_id)
{
	return mentions_of(r, &object_id, 1).n > 0;
}

void
mentions_clear(struct req *r, struct uuid object_id)
{
	db_run(r->db, "DELETE FROM mentions WHERE object_id = ?", ARGS(ID(object_id)));
}

/* What may not be seen is found by mentions_of() afterwards; a refusal takes the rows back. */
void
mentions_set(struct req *r, struct uuid object_id, const struct uuid *media_ids, size_t n)
{
	mentions_clear(r, object_id);
	if (n > 0)
		db_run(r->db, "INSERT INTO mentions (object_id, media_id) SELECT DISTINCT ?, t.id FROM " MENTIONED_IDS
		    " STRAIGHT_JOIN media t ON t.id = UNHEX(j.id) WHERE t.tenant_id = ?", ARGS(ID(object_id),
		    STR(mentions_json(r->mem, media_ids, n)), ID(r->who->tenant_id)));
}

bool
mentions_mine(const struct req *r, struct uuid principal_id)
{
	return r->who->is_super_admin || uuid_equal(r->who->id, principal_id);
}

void *
mentions_list(struct req *r, const struct record *record, const struct mention_lists *from, size_t *n)
{
	const struct arg tenant = ID(r->who->tenant_id), me = ID(r->who->id);

	if (r->who->is_super_admin)
		return db_list(r->db, record, from->all, ARGS(tenant), &r->page, n);
	if (sees_all(r))
		return db_list(r->db, record, from->open, ARGS(tenant, me, tenant), &r->page, n);
	return db_list(r->db, record, from->some, ARGS(tenant, me, tenant, me, me, STR(role_names(r->mem,
	    SCOPE_VIEW_CHANNEL))), &r->page, n);
}
