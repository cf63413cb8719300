/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/thumbnail: the generated poster, or a picture that a client has set */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/job.h"
#include "core/log.h"
#include "core/quota.h"
#include "core/store.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "media/image.h"

enum { MAX_THUMBNAIL = 10 << 20, DECODERS = 2, TENANTS = 1 << 20, PATIENCE_MS = 1000, NAP_MS = 20 };

struct file { const char *bytes; size_t n; };

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

/* The text between quotes, or up to a blank or semicolon, after `name=` in a header value. */
static const char *
parameter(struct req *r, const char *header, const char *name)
{
	const char *p = strcasestr(header, name);

	if (p == NULL)
		return NULL;
	p += strlen(name);
	return *p == '"' ? arena_copy_n(r->mem, p + 1, strcspn(p + 1, "\"")) : arena_copy_n(r->mem, p,
	    strcspn(p, "; \t"));
}

/* The content of the only part that is a file (RFC 7578).  False when there is none, or more than one. */
static bool
only_file(struct req *r, struct file *out)
{
	const char *boundary = parameter(r, r->content_type, "boundary="), *end = r->body + r->body_size;
	const char *mark = boundary != NULL ? arena_printf(r->mem, "\r\n--%s", boundary) : "", *next, *head, *body;
	size_t n = strlen(mark);
	int files = 0;

	if (n < 5 || n > 74 || r->body_size == 0)
		return false;
	/* Each stands at the beginning of a line, the first one perhaps of the body. */
	next = memmem(r->body, r->body_size, mark, n);
	head = next != NULL ? next + n : end;
	if (r->body_size >= n - 2 && memcmp(r->body, mark + 2, n - 2) == 0)
		head = r->body + n - 2;
	for (; end - head >= 2 && memcmp(head, "--", 2) != 0; head = next + n) {
		next = memmem(head, (size_t)(end - head), mark, n);
		body = next != NULL ? memmem(head, (size_t)(next - head), "\r\n\r\n", 4) : NULL;
		if (body == NULL)
			return false;
		if (strcasestr(arena_copy_n(r->mem, head, (size_t)(body - head)), "filename=") != NULL) {
			*out = (struct file){ body + 4, (size_t)(next - (body + 4)) };
			files++;
		}
	}
	return files == 1;
}

static bool
lock_byte(int fd, off_t at)
{
	struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &byte) == 0;
}

static bool
lock_decoder(int fd)
{
	int i;

	for (i = 0; i < DECODERS; i++)
		if (lock_byte(fd, i))
			return true;
	return false;
}

/* Ids end at random. */
static off_t
byte_of(struct uuid tenant_id)
{
	uint32_t n;

	memcpy(&n, tenant_id.b + sizeof(tenant_id.b) - sizeof(n), sizeof(n));
	return DECODERS + n % TENANTS;
}

/* Processes that Apache starts itself may write nowhere but in fcgid/. */
static int
open_decoders(struct req *r)
{
	int fd = open(arena_printf(r->mem, "%s/decoders", r->conf->run_dir), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd >= 0 || (errno != EACCES && errno != EPERM) ? fd : open(arena_printf(r->mem, "%s/fcgid/decoders",
	    r->conf->run_dir), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/*
 * A picture of the size allowed takes half a gigabyte while it is decoded, so that few may be at once, in all processes
 * of this machine together: each locks one byte.  One more is its tenant's, which so has one of them at most.  Closing
 * the descriptor unlocks both.  -1: refused.
 */
static int
decoder_take(struct req *r)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000 };
	const int64_t until = clock_ms() + PATIENCE_MS;
	int fd = open_decoders(r);
	bool turn = false;

	if (fd < 0) {
		enum error e = error_of_errno(errno);

		log_text(LOG_LEVEL_ERROR, "thumbnail", "%s/decoders: %s", r->conf->run_dir, strerror(errno));
		refuse(r, e, NULL);
		return -1;
	}
	do {
		turn = turn || lock_byte(fd, byte_of(r->who->tenant_id));
		if (turn && lock_decoder(fd))
			return fd;
	} while (clock_ms() < until && nanosleep(&nap, NULL) == 0);
	close(fd);
	refuse(r, ERR_UNAVAILABLE, "Too many pictures are being decoded right now; try again in a moment.");
	return -1;
}

static void
refuse_picture(struct req *r, enum reason reason)
{
	switch (reason) {
	case REASON_SANDBOX:
	case REASON_PROGRAM_MISSING:
		r->retry_after = 60;
		refuse(r, ERR_UNAVAILABLE, "This server cannot decode pictures safely at the moment, so it takes none. "
		    "The operator finds the cause with `kinothek doctor`.");
		return;
	case REASON_INTERNAL:
	case REASON_OUTPUT_INVALID:
		refuse(r, ERR_INTERNAL, NULL);
		return;
	case REASON_FORMAT_NOT_ALLOWED:
		fault(r, "", "format", "a JPEG or PNG picture is wanted");
		break;
	case REASON_TOO_MANY_PIXELS:
		fault(r, "", "too_large", "the picture may have at most %d pixels", IMAGE_CLEAN_PIXELS);
		break;
	case REASON_TIME_LIMIT:
	case REASON_NO_PROGRESS:
		fault(r, "", "too_large", "decoding the picture took more than %d seconds; scale it down",
		    IMAGE_CLEAN_SECONDS);
		break;
	default:
		if (reason_info(reason)->class == CLASS_PASSING) {
			refuse(r, ERR_UNAVAILABLE, NULL);
			return;
		}
		fault(r, "", "damaged", "the picture cannot be decoded to its end: it is cut off or damaged");
	}
	refuse(r, ERR_INVALID, NULL);
}

/* The picture decoded and drawn anew: what cameras and people write beside the pixels, places among it, is not
 * shown. */
static void *
make_clean(struct req *r)
{
	struct image_clean *made = NEW(r->mem, struct image_clean);
	struct file f = { r->body, r->body_size };
	const char *type;
	enum reason reason;
	int64_t n;
	int fd;

	if (r->content_type != NULL && strncasecmp(r->content_type, "multipart/form-data", 19) == 0 &&
	    !only_file(r, &f)) {
		fault(r, "", "format", "exactly one file is wanted");
		refuse(r, ERR_INVALID, NULL);
		return NULL;
	}
	if (f.n == 0 || !image_header(f.bytes, f.n, &n, &n, &type)) {
		refuse_picture(r, REASON_FORMAT_NOT_ALLOWED);
		return NULL;
	}
	fd = decoder_take(r);
	if (fd < 0)
		return NULL;
	reason = image_clean(r->mem, r->conf, f.bytes, f.n, made).reason;
	close(fd);
	if (reason != REASON_NONE)
		refuse_picture(r, reason);
	return reason == REASON_NONE ? made : NULL;
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
replace(struct req *r, const struct custom *old, const char *name, const struct image_clean *c)
{
	struct job_place place = { .tenant_id = r->who->tenant_id, .priority = PRIORITY_BULK };
	const char **keys = arena_array(r->mem, 2, sizeof(*keys));

	db_run(r->db, "UPDATE media SET custom_thumbnail_file = ?, custom_thumbnail_type = ?, "
	    "custom_thumbnail_width = ?, custom_thumbnail_height = ?, custom_thumbnail_size = ?, version = version + "
	    "1, updated_at = ? WHERE id = ?", ARGS(STR(name), STR(c->mime_type), INT(c->width), INT(c->height),
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

/* Kept with the original, which is what is backed up, and served from beside the renditions. */
static bool
write_both(struct req *r, const struct image_clean *c, const char *name)
{
	return store_write(r->mem, c->bytes, c->n, store_key_thumbnail(r->mem, r->id[0], name)) &&
	    store_write(r->mem, c->bytes, c->n, store_key_play(r->mem, r->id[0], name));
}

/* Written under the name of the request before the row names it: one that fails leaves no half file, and one that runs
 * again no second. */
static int
thumbnail_put(struct req *r)
{
	const struct image_clean *c = r->made;
	const char *name;
	int64_t more;
	int status;

	if (c == NULL)
		return aside(r, make_clean);
	if (store_free() < (int64_t)c->n)
		return refuse(r, ERR_NO_SPACE, NULL);
	name = arena_printf(r->mem, "custom/%s.%s", r->request_id, strcmp(c->mime_type, "image/png") == 0 ? "png" :
	    "jpg");
	if (!write_both(r, c, name)) {
		enum error e = error_of_errno(errno);

		log_text(LOG_LEVEL_ERROR, "store", "thumbnail: %s", strerror(errno));
		return refuse(r, e, NULL);
	}
	more = replace(r, custom_now(r), name, c);
	object_again(r);
	status = thumbnail_get(r);
	usage_add(r->db, r->who->tenant_id, 0, more);
	if (more > 0 && quota_left(r->db, r->who->tenant_id, (struct uuid){ { 0 } }, 0) < 0) {
		store_delete(r->mem, store_key_play(r->mem, r->id[0], name));
		store_delete(r->mem, store_key_thumbnail(r->mem, r->id[0], name));
		return refuse(r, ERR_NO_SPACE, "The storage quota of the tenant has no room for this picture.");
	}
	return status;
}

static int
thumbnail_delete(struct req *r)
{
	const struct custom *old = custom_now(r);

	if (old->custom_thumbnail_file == NULL)
		return refuse(r, ERR_NOT_FOUND, "No thumbnail has been set for this asset.");
	usage_add(r->db, r->who->tenant_id, 0, replace(r, old, NULL, &(struct image_clean){ .n = 0 }));
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
		.consumes = "image/jpeg image/png multipart/form-data", .max_body = MAX_THUMBNAIL,
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}/thumbnail", SCOPE_CREATE_CONTENT, thumbnail_delete, NULL,
		&deleted_record,
		"Remove the thumbnail that was set; the generated one returns",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{ 0 }
};
