/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures that clients send, decoded and drawn anew. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/quota.h"
#include "core/store_side.h"
#include "fcgi/picture.h"

enum { DECODERS = 2, TENANTS = 1 << 20, PATIENCE_MS = 1000, NAP_MS = 20 };

struct file { const char *bytes; size_t n; };

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

		log_text(LOG_LEVEL_ERROR, "picture", "%s/decoders: %s", r->conf->run_dir, strerror(errno));
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

static bool
clean(struct req *r, struct image_clean *made)
{
	struct file f = { r->body, r->body_size };
	const char *type;
	enum reason reason;
	int64_t n;
	int fd;

	if (r->content_type != NULL && strncasecmp(r->content_type, "multipart/form-data", 19) == 0 &&
	    !only_file(r, &f)) {
		fault(r, "", "format", "exactly one file is wanted");
		refuse(r, ERR_INVALID, NULL);
		return false;
	}
	if (f.n == 0 || !image_header(f.bytes, f.n, &n, &n, &type)) {
		refuse_picture(r, REASON_FORMAT_NOT_ALLOWED);
		return false;
	}
	fd = decoder_take(r);
	if (fd < 0)
		return false;
	reason = image_clean(r->mem, r->conf, f.bytes, f.n, made).reason;
	close(fd);
	if (reason != REASON_NONE)
		refuse_picture(r, reason);
	return reason == REASON_NONE;
}

/* Kept with the original, which is what is backed up, and served from beside the renditions. */
static bool
write_both(struct req *r, const struct image_clean *c, const char *name)
{
	return store_write(r->mem, c->bytes, c->n, store_key_thumbnail(r->mem, r->id[0], name)) &&
	    store_write(r->mem, c->bytes, c->n, store_key_play(r->mem, r->id[0], name));
}

static bool
write_picture(struct req *r, struct picture *p)
{
	enum error e;

	if (store_free() < (int64_t)p->clean.n) {
		refuse(r, ERR_NO_SPACE, NULL);
		return false;
	}
	p->name = arena_printf(r->mem, "custom/%s.%s", r->request_id, strcmp(p->clean.mime_type, "image/png") == 0 ?
	    "png" : "jpg");
	store_side_use(r->db, r->conf, r->who->tenant_id);
	if (write_both(r, &p->clean, p->name))
		return true;
	e = error_of_errno(errno);
	log_text(LOG_LEVEL_ERROR, "store", "thumbnail: %s", strerror(errno));
	store_delete(r->mem, store_key_thumbnail(r->mem, r->id[0], p->name));
	refuse(r, e, NULL);
	return false;
}

static void
take_back(struct req *r)
{
	const struct picture *p = r->made;

	store_delete(r->mem, store_key_play(r->mem, r->id[0], p->name));
	store_delete(r->mem, store_key_thumbnail(r->mem, r->id[0], p->name));
}

void *
picture_take(struct req *r)
{
	struct picture *p = NEW(r->mem, struct picture);

	if (!clean(r, &p->clean) || !write_picture(r, p))
		return NULL;
	r->unmade = take_back;
	return p;
}

bool
picture_fits(struct req *r, int64_t more)
{
	if (more <= 0 || quota_left(r->db, r->who->tenant_id, (struct uuid){ { 0 } }, 0) >= 0)
		return true;
	refuse(r, ERR_NO_SPACE, "The storage quota of the tenant has no room for this picture.");
	return false;
}
