/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/sections/{sectionId}/thumbnail: the picture at its beginning, or one that a client has set */
#include <string.h>

#include "core/asset.h"
#include "core/job.h"
#include "core/play.h"
#include "core/store.h"
#include "fcgi/chapter.h"
#include "fcgi/picture.h"
#include "fcgi/section.h"

static struct thumbnail *
thumbnail_of(struct req *r, const struct section *s, const char *prefix)
{
	bool custom = s->custom_thumbnail_file != NULL;
	const char *file = custom ? s->custom_thumbnail_file : s->thumbnail_file;
	struct thumbnail *t = NEW(r->mem, struct thumbnail);

	if (file == NULL)
		return NULL;
	*t = custom ? (struct thumbnail){ NULL, s->custom_thumbnail_width.n, s->custom_thumbnail_height.n,
	    s->custom_thumbnail_type } : (struct thumbnail){ NULL, s->thumbnail_width.n, s->thumbnail_height.n,
	    "image/jpeg" };
	t->url = arena_printf(r->mem, "%s%s", prefix, file);
	return t;
}

void
section_view(struct req *r, struct uuid media_id, struct section *s, size_t n)
{
	char prefix[PLAY_PREFIX_MAX];
	size_t i;

	play_prefix(r->conf, media_id, r->now, prefix);
	for (i = 0; i < n; i++)
		s[i].thumbnail.row = thumbnail_of(r, &s[i], prefix);
	/* the address holds no longer than its signature */
	if (n == 1 && s->thumbnail.row != NULL && r->route->flags & CONDITIONAL)
		r->etag = arena_printf(r->mem, "\"%lld-%lld-%.6s\"", (long long)s->version, (long long)s->revision,
		    strchr(strstr(prefix, "/play/"), '.') + 1);
}

int64_t
section_pictures_gone(struct req *r, struct uuid media_id, const struct section *s, size_t n)
{
	struct job_place place = { .tenant_id = r->who->tenant_id, .priority = PRIORITY_BULK };
	const char **keys = arena_array(r->mem, 2 * n + 1, sizeof(*keys));
	size_t n_keys = 0, i;
	int64_t bytes = 0;

	for (i = 0; i < n; i++) {
		if (s[i].custom_thumbnail_file == NULL)
			continue;
		bytes += s[i].custom_thumbnail_size;
		if (db_number(r->db, "SELECT COUNT(*) FROM sections WHERE media_id = ? AND custom_thumbnail_file = ?",
		    ARGS(ID(media_id), STR(s[i].custom_thumbnail_file)), 1) > 0)
			continue;
		keys[n_keys++] = store_key_play(r->mem, media_id, s[i].custom_thumbnail_file);
		keys[n_keys++] = store_key_thumbnail(r->mem, media_id, s[i].custom_thumbnail_file);
	}
	if (n_keys > 0)
		job_add(r->db, purge, place, .keys = { keys, n_keys });
	return bytes;
}

static int
section_thumbnail_get(struct req *r)
{
	struct section *s = r->object;

	section_view(r, s->media_id, s, 1);
	if (s->thumbnail.row == NULL)
		return refuse(r, ERR_NOT_FOUND, "This section has no thumbnail, or none yet.");
	return reply(r, 200, &thumbnail_record, s->thumbnail.row);
}

static void
set(struct req *r, const struct section *s, const struct picture *p)
{
	const struct image_clean *c = &p->clean;

	db_run(r->db, "UPDATE sections SET custom_thumbnail_file = ?, custom_thumbnail_type = ?, "
	    "custom_thumbnail_width = ?, custom_thumbnail_height = ?, custom_thumbnail_size = ?, version = version + 1, "
	    "updated_at = ? WHERE id = ?", ARGS(STR(p->name), STR(c->mime_type), INT(c->width), INT(c->height),
	    INT((int64_t)c->n), TIME(r->now), ID(s->id)));
	section_told(r, "section.updated", s);
}

static int
section_thumbnail_put(struct req *r)
{
	const struct section *s = r->object;
	const struct picture *p = r->made;
	int64_t more;
	int status;

	if (chapter_is_closed(r, s->chapter_type))
		return r->status;
	if (p == NULL)
		return aside(r, picture_take);
	set(r, s, p);
	if (object_again(r) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	status = section_thumbnail_get(r);
	more = (int64_t)p->clean.n - section_pictures_gone(r, s->media_id, s, 1);
	usage_add(r->db, r->who->tenant_id, 0, more);
	return picture_fits(r, more) ? status : r->status;
}

static int
section_thumbnail_delete(struct req *r)
{
	const struct section *s = r->object;

	if (chapter_is_closed(r, s->chapter_type))
		return r->status;
	if (s->custom_thumbnail_file == NULL)
		return refuse(r, ERR_NOT_FOUND, "No thumbnail has been set for this section.");
	set(r, s, &(struct picture){ .name = NULL });
	usage_add(r->db, r->who->tenant_id, 0, -section_pictures_gone(r, s->media_id, s, 1));
	return reply_deleted(r, s->id, false);
}

#define THUMBNAIL "/v2/media/{mediaId}/sections/{sectionId}/thumbnail"

const struct route section_thumbnails_routes[] = {
	{
		GET, THUMBNAIL, SCOPE_VIEW_CHANNEL, section_thumbnail_get, NULL, &thumbnail_record,
		"Get the thumbnail of a section: the picture at its beginning, or the one that was set",
		.flags = CONDITIONAL, .fails = "403 404", .id = "getMediaSectionThumbnail",
	},
	{
		PUT, THUMBNAIL, SCOPE_CREATE_CONTENT, section_thumbnail_put, NULL, &thumbnail_record,
		"Set the thumbnail of a section: it is drawn anew, upright, without metadata, at most 3840 pixels long",
		.flags = RAW_BODY | CONDITIONAL, .fails = "403 404 412 413 422 503 507",
		.codes = "422:chapter_not_editable", .consumes = PICTURE_TYPES, .max_body = PICTURE_MAX,
		.id = "setMediaSectionThumbnail",
	},
	{
		METHOD_DELETE, THUMBNAIL, SCOPE_CREATE_CONTENT, section_thumbnail_delete, NULL, &deleted_record,
		"Remove the thumbnail that was set; the one at its beginning returns",
		.flags = CONDITIONAL, .fails = "403 404 412", .codes = "403:chapter_not_editable",
		.id = "deleteMediaSectionThumbnail",
	},
	{ 0 }
};
