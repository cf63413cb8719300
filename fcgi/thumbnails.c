/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/thumbnail: the generated poster, or a picture that a client has set */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/asset.h"
#include "media/image.h"
#include "core/job.h"
#include "core/log.h"
#include "core/store.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"

enum { MAX_THUMBNAIL = 10 << 20, MAX_PIXELS = 50000000 };

struct file { const char *bytes; size_t n; };

static int
thumbnail_get(struct req *r)
{
	struct media *m = r->object;

	asset_view(r, m, false);
	if (m->thumbnail.text == NULL)
		return refuse(r, ERR_NOT_FOUND, "This asset has no thumbnail.");
	return reply_json(r, 200, m->thumbnail.text);
}

/* The text between quotes, or up to a blank or semicolon, after `name=` in a header value. */
static const char *
parameter(struct req *r, const char *header, const char *name)
{
	const char *p = strcasestr(header, name);

	if (p == NULL)
		return NULL;
	p += strlen(name);
	return *p == '"' ? arena_copy_n(r->mem, p + 1, strcspn(p + 1, "\"")) : arena_copy_n(r->mem, p, strcspn(p, "; \t"));
}

/* The content of the only part that is a file (RFC 7578).  False when there is none, or more than one. */
static bool
only_file(struct req *r, struct file *out)
{
	const char *boundary = parameter(r, r->content_type, "boundary="), *p = r->body, *end = r->body + r->body_size;
	const char *mark = boundary != NULL ? arena_printf(r->mem, "--%s", boundary) : "";
	size_t n = strlen(mark);
	int files = 0;

	if (n < 3 || n > 72)
		return false;
	while ((p = memmem(p, (size_t)(end - p), mark, n)) != NULL) {
		const char *head = p + n, *body, *next;

		if (end - head < 2 || memcmp(head, "--", 2) == 0)
			break;
		body = memmem(head, (size_t)(end - head), "\r\n\r\n", 4);
		next = body != NULL ? memmem(body, (size_t)(end - body), mark, n) : NULL;
		if (next == NULL || next < body + 6)
			return false;
		if (strcasestr(arena_copy_n(r->mem, head, (size_t)(body - head)), "filename=") != NULL) {
			*out = (struct file){ body + 4, (size_t)(next - 2 - (body + 4)) };
			files++;
		}
		p = next;
	}
	return files == 1;
}

/* Type by content.  Refuses by itself. */
static bool
check(struct req *r, const struct file *f, int64_t *width, int64_t *height, const char **type)
{
	if (f->n == 0 || !image_header(f->bytes, f->n, width, height, type) ||
	    (strcmp(*type, "image/jpeg") != 0 && strcmp(*type, "image/png") != 0))
		fault(r, "", "format", "a JPEG or PNG picture is wanted");
	else if (*width < 1 || *height < 1 || *width * *height > MAX_PIXELS)
		fault(r, "", "too_large", "the picture may have at most %d pixels", MAX_PIXELS);
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return r->faults.n == 0;
}

/* Written under the name of the request before the row names it: one that fails leaves no half file, and one that runs again
 * no second. */
static int
thumbnail_put(struct req *r)
{
	struct file f = { r->body, r->body_size };
	const char *type, *name, *old;
	int64_t width, height;

	if (r->content_type != NULL && strncasecmp(r->content_type, "multipart/form-data", 19) == 0 && !only_file(r, &f)) {
		fault(r, "", "format", "exactly one file is wanted");
		return refuse(r, ERR_INVALID, NULL);
	}
	if (!check(r, &f, &width, &height, &type))
		return r->status;
	name = arena_printf(r->mem, "custom/%s.%s", r->request_id, strcmp(type, "image/png") == 0 ? "png" : "jpg");
	if (store_free() < (int64_t)f.n)
		return refuse(r, ERR_NO_SPACE, NULL);
	if (!store_write(r->mem, f.bytes, f.n, arena_printf(r->mem, "play/%s/%s", uuid_text(r->mem, r->id[0]), name))) {
		enum error e = errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_INTERNAL;

		log_text(LOG_LEVEL_ERROR, "store", "thumbnail: %s", strerror(errno));
		return refuse(r, e, NULL);
	}
	old = db_text(r->db, "SELECT custom_thumbnail_file FROM media WHERE id = ? FOR UPDATE", ARGS(ID(r->id[0])));
	db_run(r->db, "UPDATE media SET custom_thumbnail_file = ?, custom_thumbnail_type = ?, custom_thumbnail_width = ?, "
	    "custom_thumbnail_height = ?, version = version + 1, updated_at = ? WHERE id = ?",
	    ARGS(STR(name), STR(type), INT(width), INT(height), TIME(r->now), ID(r->id[0])));
	asset_summarise(r->db, r->id[0], SUM_RENDITIONS);
	if (old != NULL) {
		const char *key = arena_printf(r->mem, "play/%s/%s", uuid_text(r->mem, r->id[0]), old);
		struct job_place place = { .tenant_id = r->who->tenant_id, .priority = PRIORITY_BULK };

		job_add(r->db, purge, place, .keys = { &key, 1 });
	}
	event_modified(r, r->id[0], &media_record, record_bit(&media_record, "thumbnail"));
	object_again(r);
	return thumbnail_get(r);
}

static int
thumbnail_delete(struct req *r)
{
	const char *id = uuid_text(r->mem, r->id[0]), *old, *key;
	struct job_place place = { .tenant_id = r->who->tenant_id, .priority = PRIORITY_BULK };

	old = db_text(r->db, "SELECT custom_thumbnail_file FROM media WHERE id = ? FOR UPDATE", ARGS(ID(r->id[0])));
	if (old == NULL)
		return refuse(r, ERR_NOT_FOUND, "No thumbnail has been set for this asset.");
	db_run(r->db, "UPDATE media SET custom_thumbnail_file = NULL, version = version + 1, updated_at = ? WHERE id = ?",
	    ARGS(TIME(r->now), ID(r->id[0])));
	asset_summarise(r->db, r->id[0], SUM_RENDITIONS);
	key = arena_printf(r->mem, "play/%s/%s", id, old);
	job_add(r->db, purge, place, .keys = { &key, 1 });
	event_modified(r, r->id[0], &media_record, record_bit(&media_record, "thumbnail"));
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
		"Set the thumbnail of an asset",
		.flags = RAW_BODY | CONDITIONAL, .fails = "403 404 412 413 422 507",
		.consumes = "image/jpeg image/png multipart/form-data", .max_body = MAX_THUMBNAIL,
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}/thumbnail", SCOPE_CREATE_CONTENT, thumbnail_delete, NULL, &deleted_record,
		"Remove the thumbnail that was set; the generated one returns",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{ 0 }
};
