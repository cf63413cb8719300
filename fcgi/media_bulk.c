/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media, /v2/media/tags: many assets at once: deleting them, and their labels */
#include <stdlib.h>
#include <string.h>

#include "core/livestream.h"
#include "core/asset.h"
#include "fcgi/access.h"
#include "fcgi/media.h"

enum { ASSETS_MAX = 500, TAGS_MAX = 20, TAGS_OF_ASSET_MAX = 100 };

struct assets { struct ids media_ids; };
static const struct field assets_fields[] = {
	FIELD(struct assets, media_ids, .on = CREATE, .required = true, .min = 1, .max = ASSETS_MAX, .doc = "Assets"),
};
static const struct record assets_record = RECORD("MediaAssetIds", struct assets, assets_fields);

struct assignment { struct ids media_ids; struct strings tags; };
static const struct field assignment_fields[] = {
	FIELD(struct assignment, media_ids, .on = PATCH, .required = true, .min = 1, .max = ASSETS_MAX, .doc = "Assets; all are changed, or none"),
	FIELD(struct assignment, tags,      .on = PATCH, .required = true, .max = TAGS_MAX, .item_max = 100, .doc = "Names of tags"),
};
static const struct record assignment_record = RECORD("BulkAssignTagsPatch", struct assignment, assignment_fields);

struct operation { const char *operation; };
static const struct field operation_fields[] = {
	FIELD(struct operation, operation, .on = QUERY, .one_of = "add remove replace", .preset = "\"add\"",
	    .doc = "Add the tags to those that the assets have, take them away, or put them in the place of all"),
};
static const struct record operation_record = RECORD("BulkTagOperation", struct operation, operation_fields);

struct changed { struct ids media_ids; int64_t changed; };
static const struct field changed_fields[] = {
	FIELD(struct changed, media_ids, .on = SERVER, .required = true, .doc = "Assets, each once"),
	FIELD(struct changed, changed,   .on = SERVER, .required = true, .doc = "How many of them had other tags before"),
};
static const struct record changed_record = RECORD("BulkTagged", struct changed, changed_fields);

struct tag_of { struct uuid id; const char *name; bool common; int64_t count; };
static const struct field tag_of_fields[] = {
	FIELD(struct tag_of, id,     .on = SERVER, .required = true, .doc = "The tag"),
	FIELD(struct tag_of, name,   .on = SERVER, .required = true, .doc = "Its name"),
	FIELD(struct tag_of, common, .on = COMPUTED, .required = true, .doc = "Do all of the assets have it?"),
	FIELD(struct tag_of, count,  .on = COMPUTED | HIDDEN, .doc = "How many of them"),
};
static const struct record tag_of_record = RECORD("MediaTag", struct tag_of, tag_of_fields);

struct one { struct uuid id; struct ids channel_ids; struct moment deleted_at; };
static const struct field one_fields[] = {
	FIELD(struct one, id, .doc = "Asset"),
	FIELD(struct one, deleted_at, .doc = "When it was soft-deleted; 0: it is there"),
	FIELD(struct one, channel_ids, .doc = "Where it is"),
};
static const struct record one_record = RECORD("MediaInBulk", struct one, one_fields);

/* Each once, and in order: two that change the same assets do not wait for each other in a circle. */
static struct ids
distinct(struct req *r, const struct ids *given)
{
	struct ids ids = { arena_array(r->mem, given->n + 1, sizeof(*ids.at)), 0 };
	size_t i;

	memcpy(ids.at, given->at, given->n * sizeof(*ids.at));
	qsort(ids.at, given->n, sizeof(*ids.at), uuid_order);
	for (i = 0; i < given->n; i++)
		if (ids.n == 0 || !uuid_equal(ids.at[ids.n - 1], ids.at[i]))
			ids.at[ids.n++] = ids.at[i];
	return ids;
}

static void
absent(struct req *r, const struct ids *given, struct uuid id)
{
	size_t i;

	for (i = 0; i < given->n; i++)
		if (uuid_equal(given->at[i], id))
			fault(r, arena_printf(r->mem, "/mediaIds/%zu", i), "not_found", "there is no such asset");
}

/* All assets that are asked for, locked where they are to be changed, if the caller may create content in all of them.
 * NULL: refused. */
static struct one *
load_all(struct req *r, const struct ids *given, const struct ids *ids)
{
	static const char *const by_id[] = { "FROM media t WHERE t.id = ? AND t.tenant_id = ? AND t.deleted_at = 0",
	    "FROM media t WHERE t.id = ? AND t.tenant_id = ? AND t.deleted_at = 0 FOR UPDATE",
	    "FROM media t WHERE t.id = ? AND t.tenant_id = ? FOR UPDATE" };
	const char *from = by_id[r->route->flags & WITH_DELETED ? 2 : route_writes(r->route)];
	struct one *all = arena_array(r->mem, ids->n, sizeof(*all)), *one;
	size_t i;

	for (i = 0; i < ids->n; i++) {
		one = db_row(r->db, &one_record, from, ARGS(ID(ids->at[i]), ID(r->who->tenant_id)));
		if (one != NULL)
			all[i] = *one;
		else
			absent(r, given, ids->at[i]);
	}
	for (i = 0; i < ids->n; i++)
		if (!uuid_is_none(all[i].id) && !access_granted(r, access_by(r, &all[i].channel_ids),
		    SCOPE_CREATE_CONTENT))
			return NULL;
	if (r->faults.n == 0)
		return all;
	refuse(r, r->route->method == METHOD_DELETE ? ERR_NOT_FOUND : ERR_INVALID, NULL);
	return NULL;
}

static const struct tag_of *
tags_of(struct req *r, struct uuid media_id, size_t *n)
{
	return db_rows(r->db, &tag_of_record, "FROM media_tags mt JOIN tags t ON t.id = mt.tag_id AND t.gone_at = 0 "
	    "WHERE mt.media_id = ?", ARGS(ID(media_id)), n);
}

/* What an asset has afterwards; *differs from before? */
static struct ids
tags_after(struct req *r, struct uuid media_id, const char *operation, const struct ids *given, bool *differs)
{
	bool adds = strcmp(operation, "add") == 0, removes = strcmp(operation, "remove") == 0;
	const struct tag_of *now;
	struct ids after;
	size_t n, i, kept = 0;

	now = tags_of(r, media_id, &n);
	after = (struct ids){ arena_array(r->mem, n + given->n + 1, sizeof(*after.at)), 0 };
	for (i = 0; i < n; i++)
		if (adds || ids_have(given, now[i].id) != removes)
			after.at[after.n++] = now[i].id;
	kept = after.n;
	for (i = 0; i < given->n && !removes; i++)
		if (!ids_have(&after, given->at[i]))
			after.at[after.n++] = given->at[i];
	*differs = kept < n || after.n > kept;
	return after;
}

/* A PATCH takes what it is given; this one has no use for less. */
static bool
is_whole(struct req *r)
{
	size_t i;

	for (i = 0; i < assignment_record.n; i++)
		if ((r->given >> i & 1) == 0)
			fault(r, arena_printf(r->mem, "/%s", record_json_name(&assignment_record,
			    &assignment_record.fields[i])), "required", "this is required");
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return r->faults.n == 0;
}

static int
tags_assign(struct req *r)
{
	const struct assignment *in = r->in;
	const struct operation *query = r->query;
	const char *operation = query->operation != NULL ? query->operation : "add";
	struct ids ids, tags, after;
	struct strings names;
	struct changed out;
	bool differs;
	size_t i;

	if (!is_whole(r))
		return r->status;
	names = media_tags_meant(r, "/tags", &in->tags);
	ids = distinct(r, &in->media_ids);
	out = (struct changed){ ids, 0 };
	if (load_all(r, &in->media_ids, &ids) == NULL)
		return r->status;
	tags = media_tag_ids(r, &names, strcmp(operation, "remove") != 0);
	for (i = 0; i < ids.n; i++) {
		after = tags_after(r, ids.at[i], operation, &tags, &differs);
		if (after.n > TAGS_OF_ASSET_MAX) {
			fault(r, "/tags", "too_many", "asset %s would have more than %d tags", uuid_text(r->mem,
			    ids.at[i]),
			    TAGS_OF_ASSET_MAX);
			return refuse(r, ERR_INVALID, NULL);
		}
		if (!differs)
			continue;
		media_set_tags(r, ids.at[i], &after);
		db_update(r->db, "media", &media_record, &(struct media){ .id = ids.at[i] }, 0, ids.at[i]);
		event_modified(r, ids.at[i], &media_record, record_bit(&media_record, "tags"));
		out.changed++;
	}
	return reply(r, 200, &changed_record, &out);
}

static int
by_name(const void *a, const void *b)
{
	const struct tag_of *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : uuid_order(&x->id, &y->id);
}

/* Tags of all assets, sorted by name, those that are alike counted as one.  Returns how many. */
static size_t
count_tags(struct tag_of *tags, size_t n, size_t assets)
{
	size_t i, kept = 0;

	qsort(tags, n, sizeof(*tags), by_name);
	for (i = 0; i < n; i++) {
		if (kept == 0 || !uuid_equal(tags[kept - 1].id, tags[i].id))
			tags[kept++] = tags[i];
		tags[kept - 1].common = (size_t)++tags[kept - 1].count == assets;
	}
	return kept;
}

static int
tags_common(struct req *r)
{
	const struct assets *in = r->in;
	struct ids ids = distinct(r, &in->media_ids);
	struct tag_of *tags = arena_array(r->mem, ids.n * TAGS_OF_ASSET_MAX, sizeof(*tags));
	size_t n = 0, of_one, i;

	if (load_all(r, &in->media_ids, &ids) == NULL)
		return r->status;
	for (i = 0; i < ids.n; i++) {
		const struct tag_of *found = tags_of(r, ids.at[i], &of_one);

		of_one = of_one < TAGS_OF_ASSET_MAX ? of_one : TAGS_OF_ASSET_MAX;
		if (of_one > 0)
			memcpy(tags + n, found, of_one * sizeof(*tags));
		n += of_one;
	}
	n = count_tags(tags, n, ids.n);
	tags += page_cut(r, n, &n);
	return reply_list(r, &tag_of_record, tags, n);
}

static void
move_all_files(struct req *r)
{
	const struct assets *in = r->in;
	struct ids ids = distinct(r, &in->media_ids);
	size_t i;

	for (i = 0; i < ids.n; i++)
		media_move_files(r, ids.at[i]);
}

/* What is soft-deleted already counts as done. */
static int
media_delete_all(struct req *r)
{
	const struct assets *in = r->in;
	bool permanent = ((const struct deletion *)r->query)->permanent;
	struct ids ids = distinct(r, &in->media_ids);
	int64_t bytes = 0, n = 0;
	const struct one *all;
	size_t i;

	if ((all = load_all(r, &in->media_ids, &ids)) == NULL)
		return r->status;
	for (i = 0; i < ids.n; i++) {
		bool was_there = all[i].deleted_at.ms == 0;

		if (livestream_runs(r->db, all[i].id))
			return refuse(r, ERR_LIVESTREAM_RUNNING, "A livestream is still to become asset %s. Stop it, "
			    "and wait until it is finished.", uuid_text(r->mem, all[i].id));
		if (was_there || permanent)
			bytes += media_delete_one(r, all[i].id, &all[i].channel_ids, permanent);
		n += was_there;
	}
	r->committed = move_all_files;
	usage_add(r->db, r->who->tenant_id, -n, -bytes);
	return reply_deleted_all(r, ids.at, ids.n, permanent);
}

const struct route media_bulk_routes[] = {
	{
		METHOD_DELETE, "/v2/media", SCOPE_CREATE_CONTENT, media_delete_all, &assets_record, &deleted_record,
		"Delete up to 500 assets at once, all or none, softly unless permanent",
		.flags = WITH_DELETED | BARE, .fails = "403 404 409 422", .query = &deletion_record,
		.codes = "livestream_running", .id = "deleteManyMedia",
	},
	{
		METHOD_PATCH, "/v2/media/tags", SCOPE_CREATE_CONTENT, tags_assign, &assignment_record, &changed_record,
		"Change the tags of up to 500 assets at once, all or none; tags that are new are made",
		.fails = "403 422", .query = &operation_record, .id = "assignTags",
	},
	{
		POST, "/v2/media/tags", SCOPE_CREATE_CONTENT, tags_common, &assets_record, &tag_of_record,
		"List the tags of up to 500 assets, by name, and which of them all have",
		.flags = LIST | READS_ONLY, .fails = "403 422", .id = "listCommonTags",
	},
	{ 0 }
};
