/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/thumbnail: the generated poster, or a picture that a client has set */
#include "core/asset.h"
#include "core/job.h"
#include "core/quota.h"
#include "core/store.h"
#include "fcgi/asset_view.h"
#include "fcgi/picture.h"

static int
thumbnail_get(struct req *r)
{
	struct media *m = r->object;

	if (m == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	asset_view(r, m, false);
	if (m->thumbnail.text == NULL)
		return refuse(r, ERR_NOT_FOUND, "This asset has no thumbnail.");
	return reply_json(r, 200, m->thumbnail.text);
}

struct custom { const char *custom_thumbnail_file; int64_t custom_thumbnail_size; };
static const struct field custom_fields[] = {
	FIELD(struct custom, custom_thumbnail_file, .doc = "File"),
	FIELD(struct custom, custom_thumbnail_size, .doc = "Bytes"),
};
static const struct record custom_record = RECORD("CustomThumbnailFile", struct custom, custom_fields);

/* What a client had set: no file when nothing. */
static const struct custom *
custom_now(struct req *r)
{
	const struct custom *c = db_row(r->db, &custom_record, "FROM media t WHERE t.id = ?", ARGS(ID(r->id[0])));

	return c != NULL ? c : NEW(r->mem, struct custom);
}

/* Another picture, or none, in its place.  Returns how many bytes more that is. */
static int64_t
replace(struct req *r, const struct custom *old, const struct picture *p)
{
	const struct image_clean *c = &p->clean;
	struct job_place place = { .tenant_id = r->who->tenant_id, .priority = PRIORITY_BULK };
	const char **keys = arena_array(r->mem, 2, sizeof(*keys));

	db_run(r->db, "UPDATE media SET custom_thumbnail_file = ?, custom_thumbnail_type = ?, "
	    "custom_thumbnail_width = ?, custom_thumbnail_height = ?, custom_thumbnail_size = ?, version = version + "
	    "1, updated_at = ? WHERE id = ?", ARGS(STR(p->name), STR(c->mime_type), INT(c->width), INT(c->height),
	    INT((int64_t)c->n), TIME(r->now), ID(r->id[0])));
	asset_summarise(r->db, r->id[0], SUM_RENDITIONS | SUM_TOLD);
	event_modified(r, r->id[0], &media_record, record_bit(&media_record, "thumbnail"));
	if (old->custom_thumbnail_file != NULL) {
		keys[0] = store_key_play(r->mem, r->id[0], old->custom_thumbnail_file);
		keys[1] = store_key_thumbnail(r->mem, r->id[0], old->custom_thumbnail_file);
		job_add(r->db, purge, place, .keys = { keys, 2 });
	}
	return (int64_t)c->n - old->custom_thumbnail_size;
}

static int
thumbnail_put(struct req *r)
{
	const struct picture *p = r->made;
	int64_t more;
	int status;

	if (p == NULL)
		return aside(r, picture_take);
	more = replace(r, custom_now(r), p);
	object_again(r);
	status = thumbnail_get(r);
	usage_add(r->db, r->who->tenant_id, 0, more);
	return picture_fits(r, more) ? status : r->status;
}

static int
thumbnail_delete(struct req *r)
{
	const struct custom *old = custom_now(r);

	if (old->custom_thumbnail_file == NULL)
		return refuse(r, ERR_NOT_FOUND, "No thumbnail has been set for this asset.");
	usage_add(r->db, r->who->tenant_id, 0, replace(r, old, &(struct picture){ .name = NULL }));
	return reply_deleted(r, r->id[0], false);
}

const struct route thumbnails_routes[] = {
	{
		GET, "/v2/media/{mediaId}/thumbnail", SCOPE_VIEW_CHANNEL, thumbnail_get, NULL, &thumbnail_record,
		"Get the thumbnail of an asset",
		.flags = CONDITIONAL | WITH_DELETED, .fails = "403 404",
	},
	{
		PUT, "/v2/media/{mediaId}/thumbnail", SCOPE_CREATE_CONTENT, thumbnail_put, NULL, &thumbnail_record,
		"Set the thumbnail of an asset: it is drawn anew, upright, without metadata, at most 3840 pixels long",
		.flags = RAW_BODY | CONDITIONAL, .fails = "403 404 412 413 422 503 507",
		.consumes = PICTURE_TYPES, .max_body = PICTURE_MAX,
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}/thumbnail", SCOPE_CREATE_CONTENT, thumbnail_delete, NULL,
		&deleted_record,
		"Remove the thumbnail that was set; the generated one returns",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{ 0 }
};
