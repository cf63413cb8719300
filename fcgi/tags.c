/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/tags: the labels that a tenant knows */
#include <string.h>

#include "core/job.h"
#include "core/role.h"
#include "fcgi/access.h"
#include "fcgi/media.h"

enum { COUNTED = 1000 };

struct tag {
	struct uuid id;
	const char *name;
	int64_t media_count;
	bool media_count_exact;
	struct moment created_at, updated_at;
	int64_t version;
};

static const struct field tag_fields[] = {
	FIELD(struct tag, id,          .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct tag, name,        .on = CREATE | PATCH | FILTER | SORT, .key = "by_label", .required = true, .min = 1, .max = MEDIA_TAG_MAX,
	    .doc = "Unique without regard to case, but to accents; blanks at its ends do not count"),
	FIELD(struct tag, media_count, .on = COMPUTED, .required = true,
	    .doc = "Assets with it that the caller sees, among the newest 1,000 with it"),
	FIELD(struct tag, media_count_exact, .on = COMPUTED, .required = true, .doc = "Are there no older ones?"),
	FIELD(struct tag, created_at,  .on = SERVER, .required = true, .doc = "When it was first used"),
	FIELD(struct tag, updated_at,  .on = SERVER, .doc = "When it was renamed"),
	FIELD(struct tag, version,     .on = SERVER | HIDDEN, .doc = "Grows with each change"),
};
static const struct record tag_record = RECORD("Tag", struct tag, tag_fields);

const struct object tag_object = {
	.path = "/v2/tags/{tagId}", .reach = REACH_TENANT, .record = &tag_record,
	.from = "FROM tags t WHERE t.gone_at = 0 AND t.id = ?",
};

struct tag_count { int64_t seen, looked; };
static const struct field tag_count_fields[] = {
	FIELD(struct tag_count, seen, .doc = "Assets that the caller sees"),
	FIELD(struct tag_count, looked, .doc = "Assets that were looked at"),
};
static const struct record tag_count_record = RECORD("TagCount", struct tag_count, tag_count_fields);

/* However many assets have it, a thousand and one are looked at. */
#define COUNT(condition) "FROM (SELECT CAST(COALESCE(SUM(" condition "), 0) AS SIGNED) AS seen, COUNT(*) AS looked FROM " \
	"(SELECT mt.media_id FROM media_tags mt WHERE mt.tag_id = ? ORDER BY mt.media_id DESC LIMIT 1001) c JOIN media t ON " \
	"t.id = c.media_id) t"

static void
count(struct req *r, struct tag *tag)
{
	const struct tag_count *c;

	if (r->audience->everywhere & SCOPE_BIT(SCOPE_VIEW_CHANNEL))
		c = db_row(r->db, &tag_count_record, COUNT("t.deleted_at = 0"), ARGS(ID(tag->id)));
	else
		c = db_row(r->db, &tag_count_record, COUNT("t.deleted_at = 0 AND " ACCESS_VIEW_SQL),
		    ARGS(ID(r->who->id), ID(r->who->id), STR(role_names(r->mem, SCOPE_VIEW_CHANNEL)), ID(tag->id)));
	if (c == NULL)
		return;
	tag->media_count = c->seen < COUNTED ? c->seen : COUNTED;
	tag->media_count_exact = c->looked <= COUNTED;
}

static int
tags_list(struct req *r)
{
	struct tag *rows;
	size_t n, i;

	rows = db_list(r->db, &tag_record, "FROM tags t WHERE t.tenant_id = ? AND t.gone_at = 0",
	    ARGS(ID(r->who->tenant_id)), &r->page, &n);
	for (i = 0; i < n; i++)
		count(r, &rows[i]);
	return reply_list(r, &tag_record, rows, n);
}

static int
tag_reply(struct req *r, struct tag *tag)
{
	if (tag == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	count(r, tag);
	return reply(r, 200, &tag_record, tag);
}

static int
tag_get(struct req *r)
{
	return tag_reply(r, r->object);
}

/* The key of the names says whether there is one: to look for it first would lock the gap that others write into. */
static int
tag_create(struct req *r)
{
	struct tag *tag = r->in;
	struct uuid tenant_id = r->who->tenant_id;

	tag->name = media_tag_meant(r, "/name", tag->name);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	tag->id = uuid_new();
	tag->created_at = tag->updated_at = r->now;
	tag->version = 1;
	tag->media_count_exact = true;
	if (db_run(r->db, "INSERT IGNORE INTO tags (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, ?, ?, "
	    "?)", ARGS(ID(tag->id), ID(tenant_id), STR(tag->name), TIME(r->now), TIME(r->now))) == 0)
		return refuse(r, ERR_TAG_EXISTS, NULL);
	return reply_created(r, &tag_record, tag, tag->id);
}

/* What assets show of their tags stands in their rows, so that a list reads nothing else: a job follows. */
static void
follow(struct req *r, struct uuid tag_id)
{
	struct job_place place = { .tenant_id = r->who->tenant_id };

	job_add(r->db, retag, place, .tag_id = tag_id);
}

static const char *
names(struct req *r, const char *from, const char *to)
{
	struct buf b = BUF(r->mem);

	buf_text(&b, "{\"name\":");
	buf_json(&b, from);
	if (to != NULL) {
		buf_text(&b, ",\"to\":");
		buf_json(&b, to);
	}
	buf_char(&b, '}');
	return buf_string(&b);
}

static int
tag_patch(struct req *r)
{
	const struct tag *now = r->object;
	struct tag *would = patched(r);

	would->name = media_tag_meant(r, "/name", would->name);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (strcmp(would->name, now->name) == 0)
		return tag_reply(r, r->object);
	if (db_update(r->db, "tags", &tag_record, would, record_bit(&tag_record, "name"), now->id) == -2)
		return refuse(r, ERR_TAG_EXISTS, NULL);
	audit(r, "tag.renamed", now->id, names(r, now->name, would->name));
	follow(r, now->id);
	return tag_reply(r, object_again(r));
}

/* Its name is free at once: no client can send the one that it has until it goes. */
static int
tag_delete(struct req *r)
{
	const struct tag *tag = r->object;

	db_run(r->db, "UPDATE tags SET name = ?, gone_at = ?, version = version + 1 WHERE id = ?",
	    ARGS(STR(arena_printf(r->mem, "\x01%s", uuid_text(r->mem, tag->id))), TIME(r->now), ID(tag->id)));
	audit(r, "tag.deleted", tag->id, names(r, tag->name, NULL));
	follow(r, tag->id);
	return reply_deleted(r, tag->id, true);
}

const struct route tags_routes[] = {
	{
		GET, "/v2/tags", SCOPE_VIEW_CHANNEL, tags_list, NULL, &tag_record, "List the tags of the tenant",
		.flags = LIST, .fails = "422",
	},
	{
		POST, "/v2/tags", SCOPE_CREATE_CONTENT, tag_create, &tag_record, &tag_record, "Make a tag",
		.flags = SOMEWHERE, .success = 201, .fails = "403 409 422", .codes = "tag_exists",
	},
	{
		GET, "/v2/tags/{tagId}", SCOPE_VIEW_CHANNEL, tag_get, NULL, &tag_record, "Get a tag",
		.flags = CONDITIONAL, .fails = "404",
	},
	{
		METHOD_PATCH, "/v2/tags/{tagId}", SCOPE_CREATE_CONTENT, tag_patch, &tag_record, &tag_record,
		"Rename a tag; its assets follow by a job",
		.flags = CONDITIONAL | SUPER_ADMIN, .fails = "403 404 409 412 422", .codes = "tag_exists",
	},
	{
		METHOD_DELETE, "/v2/tags/{tagId}", SCOPE_CREATE_CONTENT, tag_delete, NULL, &deleted_record,
		"Delete a tag; a job takes it from its assets",
		.flags = CONDITIONAL | SUPER_ADMIN, .fails = "403 404 412",
	},
	{ 0 }
};
