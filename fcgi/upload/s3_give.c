/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What becomes of a file that has arrived, as long as it is no asset: its client may read it, and give it up.  From
 * completion on it is the asset's, whose roles say who may have it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/store.h"
#include "fcgi/upload/s3_visit.h"

enum {
	PIECE = 1 << 20,		/* bytes that are read at once, */
	WORK = 4 << 20,			/* and memory for them */
	KEYS_MAX = 1000,		/* of DeleteObjects, */
	KEY_MAX = 1024,			/* and bytes of each, as in Amazon S3: its answer repeats them, escaped */
};

static enum s3_error
check_ours(const struct s3 *s)
{
	const struct s3_row *row = s->row;

	if (row->etag == NULL || !s3_has_arrived(row))
		return S3_NO_SUCH_KEY;
	if (strcmp(row->status, "uploaded") != 0)
		return S3_IS_ASSET;
	return row->expires_at.ms <= moment_now().ms ? S3_EXPIRED : S3_FINE;
}

/* ---- GetObject ---- */

/* "100-199", "100-", "-50".  As real servers do, what is none, or several, is no range at all. */
static bool
read_range(struct arena *mem, const char *text, int64_t size, int64_t *from, int64_t *n)
{
	const char *dash = strchr(text, '-'), *first, *last;
	int64_t begin = -1, end = size - 1;

	if (dash == NULL || strcmp(text, "-") == 0)
		return false;
	first = arena_copy_n(mem, text, (size_t)(dash - text));
	last = dash + 1;
	if ((*last != '\0' && (!int_parse(last, &end) || end < 0)) || (*first != '\0' && !int_parse(first, &begin)))
		return false;
	if (*first == '\0') {
		begin = end < size ? size - end : 0;
		end = size - 1;
	} else if (*last != '\0' && end < begin) {
		return false;			/* it ends before it begins */
	}
	*from = begin;
	*n = (end < size ? end : size - 1) - begin + 1;
	return true;
}

static const char *
asked_header(const struct s3 *s, const char *name)
{
	return s->c->request.header(s->c->request.user, name);
}

/* If-Match and If-None-Match: of a file that never changes. */
static enum s3_error
check_conditions(const struct s3 *s)
{
	const char *same = asked_header(s, "if-match"), *other = asked_header(s, "if-none-match");

	if (same != NULL && strcmp(same, "*") != 0 && strstr(same, s->row->etag) == NULL)
		return S3_PRECONDITION;
	return other != NULL && (strcmp(other, "*") == 0 || strstr(other, s->row->etag) != NULL) ? S3_NOT_MODIFIED :
	    S3_FINE;
}

static enum s3_error
by_store(void)
{
	return errno == ENOENT || errno == ENOTDIR ? S3_NO_SUCH_KEY : S3_UNAVAILABLE;
}

/* What failed behind the first byte can be told only by an end that comes too early. */
static enum s3_error
give(struct s3 *s, int64_t from, int64_t n)
{
	struct s3_call *c = s->c;
	const char *key = store_key_original(c->mem, c->upload_id);
	struct arena *work = arena_new(WORK);
	enum s3_error error = S3_FINE;
	const char *bytes;
	int64_t at = 0;

	while (at < n && error == S3_FINE && !c->cut) {
		const size_t size = n - at < PIECE ? (size_t)(n - at) : PIECE;

		bytes = store_get_range(work, key, from + at, size);
		if (bytes == NULL && at == 0)
			error = by_store();
		else
			c->cut = bytes == NULL || s->seat.ended != ERR_NONE || !c->give(c->user, bytes, size);
		at += (int64_t)size;
		atomic_store(&s->seat.received, at);
		arena_reset(work);
	}
	arena_free(work);
	return error;
}

void
s3_put_object_head(struct s3 *s, int64_t n)
{
	s3_put_etag(&s->c->headers, s->row->etag);
	buf_printf(&s->c->headers, "Content-Type: application/octet-stream\r\nContent-Length: %" PRId64
	    "\r\nAccept-Ranges: bytes\r\nLast-Modified: %s\r\n", n, moment_http(s->row->updated_at, arena_alloc(s->c->mem,
	    MOMENT_HTTP)));
}

enum s3_error
s3_get_object(struct s3 *s)
{
	const char *range = asked_header(s, "range");
	const int64_t size = s->row->received_bytes;
	int64_t from = 0, n = size;
	bool part;
	enum s3_error error = check_ours(s);

	if (error == S3_FINE)
		error = check_conditions(s);
	if (error != S3_FINE)
		return error;
	part = range != NULL && strncmp(range, "bytes=", 6) == 0 && read_range(s->c->mem, range + 6, size, &from, &n);
	if (part && from >= size)
		return S3_BAD_RANGE;
	error = s3_enter(s, true);
	if (error != S3_FINE)
		return error;
	if (part) {
		s->c->status = 206;
		buf_printf(&s->c->headers, "Content-Range: bytes %" PRId64 "-%" PRId64 "/%" PRId64 "\r\n", from,
		    from + n - 1, size);
	}
	s3_put_object_head(s, n);
	return give(s, from, n);
}

/* ---- DeleteObject ---- */

static enum s3_error
give_up(struct s3 *s)
{
	const bool done = put_drop(s->db, s->c->mem, s->row->id, s->row->tenant_id, true);
	const enum s3_error error = s3_by_db(s);

	if (error != S3_FINE)
		db_rollback(s->db);
	return error != S3_FINE ? error : done ? S3_FINE : S3_CONFLICT;	/* of what became of it meanwhile */
}

/*
 * What has not arrived is no object, and its parts are not touched by this.  What has ends with its upload: nothing
 * else may ever lie under its key.
 */
static enum s3_error
drop_object(struct s3 *s)
{
	const enum s3_error error = check_ours(s);

	return error == S3_NO_SUCH_KEY ? S3_FINE : error != S3_FINE ? error : s3_with_link(s, give_up);
}

enum s3_error
s3_delete_object(struct s3 *s)
{
	const enum s3_error error = drop_object(s);

	if (error == S3_FINE)
		s->c->status = 204;
	return error;
}

/* ---- DeleteObjects ---- */

struct named { const char *at[KEYS_MAX]; size_t n; bool quiet; };

/* <Delete><Object><Key>a</Key></Object><Quiet>true</Quiet></Delete> */
static bool
take_key(struct arena *mem, const struct s3_element *e, void *user)
{
	struct named *named = user;
	const char *key;

	if (e->depth == 0)
		return strcmp(e->name, "Delete") == 0;
	if (e->depth == 1 && strcmp(e->name, "Quiet") == 0)
		named->quiet = strcmp(s3_element_text(mem, e), "true") == 0;
	if (e->depth != 2 || strcmp(e->name, "Key") != 0)
		return true;
	if (named->n == KEYS_MAX)
		return false;
	key = s3_element_text(mem, e);
	named->at[named->n++] = key;
	return strlen(key) <= KEY_MAX;
}

static void
put_deleted(struct s3 *s, struct buf *b, const char *key, enum s3_error error)
{
	const struct s3_error_info *info = s3_error_info(error);

	buf_text(b, error == S3_FINE ? "<Deleted>" : "<Error>");
	s3_put(b, "Key", key);
	if (error != S3_FINE) {
		s3_put(b, "Code", info->code);
		s3_put(b, "Message", info->text);
	}
	buf_text(b, error == S3_FINE ? "</Deleted>" : "</Error>");
}

/* The one key of these credentials may be among them. */
enum s3_error
s3_delete_objects(struct s3 *s, const char *ours)
{
	struct named *named = NEW(s->c->mem, struct named);
	enum s3_error error = s3_enter(s, true);
	struct buf *b;

	if (error == S3_FINE)
		error = s3_read_xml(s, NULL, take_key, named);
	if (error == S3_FINE && named->n == 0)
		error = S3_BAD_XML;
	if (error != S3_FINE)
		return error;
	b = s3_xml(s->c, "DeleteResult");
	for (size_t i = 0; i < named->n; i++) {
		error = strcmp(named->at[i], ours) == 0 ? drop_object(s) : S3_ACCESS_DENIED;
		if (error != S3_FINE || !named->quiet)
			put_deleted(s, b, named->at[i], error);
	}
	return s3_end_xml(s->c, "DeleteResult");
}
