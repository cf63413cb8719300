/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What brings bytes: PutObject, and the parts of a multipart upload. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/quota.h"
#include "core/sigv4.h"
#include "core/store.h"
#include "fcgi/upload/partial.h"
#include "fcgi/upload/s3_ahead.h"
#include "fcgi/upload/s3_visit.h"

/* How many bytes the file may have.  What the quota leaves is looked at before anything is changed, and reserved by
 * s3_file_reserve(). */
static enum s3_error
limit(struct s3 *s, int64_t wanted, int64_t others, struct s3_file *f)
{
	const struct s3_row *row = s->row;
	const struct conf *conf = s->c->in->conf;
	int64_t left;

	f->total = row->file_size.set ? row->file_size.n : conf->upload_max_size;
	f->limit = f->total - others;
	if (wanted > f->limit)
		return S3_TOO_LARGE;
	left = row->file_size.set ? INT64_MAX : quota_left(s->db, row->tenant_id, row->id, INT64_MAX);
	if (s3_by_db(s) != S3_FINE)
		return s3_by_db(s);
	if (store_incoming_free() < (wanted > 0 ? wanted : 1) || left - others < (wanted > 0 ? wanted : 1))
		return S3_NO_SPACE;
	return S3_FINE;
}

/* Takes the next number: whatever was on its way has lost. */
static enum s3_error
begin(struct s3 *s, bool parts)
{
	const struct s3_row *row = s->row;
	const int64_t attempt = row->attempt + 1;
	int64_t n;

	if (!s3_is_open(row))
		return S3_CLOSED;
	if (put_is_settling(s->c->mem, row->id, row->sha256))
		return S3_SETTLING;
	db_begin(s->db);
	n = db_run(s->db, "UPDATE uploads SET status = 'uploading', attempt = ?, multipart_attempt = ?, etag = NULL, "
	    "sha256 = NULL, received_bytes = 0, reserved_bytes = 0, expires_at = " SQL_NOW " + ?, version = version + 1, updated_at = " SQL_NOW
	    " WHERE id = ? AND attempt = ? AND sha256 <=> UNHEX(?) AND status IN ('waiting', 'uploading')",
	    ARGS(INT(attempt), parts ? INT(attempt) : STR(NULL), INT(s->c->in->conf->upload_lifetime * 1000),
	    ID(row->id), INT(row->attempt), STR(row->sha256)));
	db_run(s->db, "DELETE FROM upload_parts WHERE upload_id = ?", ARGS(ID(row->id)));
	if (n <= 0 || !db_commit(s->db)) {
		enum s3_error error = s3_by_db(s);

		db_rollback(s->db);
		return error != S3_FINE ? error : S3_CONFLICT;
	}
	s->row->attempt = attempt;
	room_supersede(s->c->in->room, &s->seat, attempt);
	return S3_FINE;
}

static enum s3_error
begin_parts(struct s3 *s)
{
	return begin(s, true);
}

enum s3_error
s3_create(struct s3 *s)
{
	enum s3_error error = s3_enter(s, false);
	struct buf *b;

	if (error == S3_FINE)
		error = s3_with_link(s, begin_parts);
	if (error != S3_FINE)
		return error;
	partial_forget(s->c->mem, s->c->upload_id, s->row->attempt);
	b = s3_xml(s->c, "InitiateMultipartUploadResult");
	s3_put(b, "Bucket", s->bucket);
	s3_put(b, "Key", s->key);
	s3_put(b, "UploadId", s3_upload_name(s, s->row->attempt));
	return s3_end_xml(s->c, "InitiateMultipartUploadResult");
}

/* Parts that came at the same moment each had the room that all of them have together. */
static enum s3_error
weigh(struct s3 *s, const struct s3_row *row)
{
	const int64_t most = row->file_size.set ? row->file_size.n : s->c->in->conf->upload_max_size, all =
	    db_number(s->db, "SELECT SUM(size) FROM upload_parts WHERE upload_id = ?", ARGS(ID(row->id)), 0);

	if (all > most)
		return S3_TOO_LARGE;
	/* A declared size is counted where it was declared. */
	if (!row->file_size.set && quota_left(s->db, row->tenant_id, row->id, INT64_MAX) < all)
		return S3_NO_SPACE;
	return S3_FINE;
}

/* The row of a part that is on the disk.  *replaced: the one that it had before. */
static enum s3_error
note_part(struct s3 *s, const struct s3_file *f, const struct s3_part *part, const struct s3_part **replaced,
    bool *unknown)
{
	unsigned char md5[16];
	struct s3_row *row;
	enum s3_error error;

	for (int i = 0; i < 16; i++)
		sscanf(part->md5 + 2 * i, "%2hhx", &md5[i]);
	db_begin(s->db);
	row = s3_load(s, true);
	if (!s3_takes(row, f->attempt)) {
		error = s3_by_db(s);
		db_rollback(s->db);
		return error != S3_FINE ? error : S3_NO_SUCH_UPLOAD;
	}
	*replaced = s3_part_of(s, part->number);
	db_run(s->db, "REPLACE INTO upload_parts (upload_id, number, size, file, slot, md5, sum_kind, sum, put_at) "
	    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, " SQL_NOW ")", ARGS(ID(row->id), INT(part->number), INT(part->size),
	    STR(part->file), INT(part->slot), BYTES(md5, sizeof(md5)), STR(part->sum_kind), STR(part->sum)));
	error = weigh(s, row);
	if (error != S3_FINE) {
		db_rollback(s->db);
		return error;
	}
	/* From now on the part itself counts, and the one that it replaces no more. */
	db_run(s->db, "UPDATE uploads SET received_bytes = (SELECT SUM(p.size) FROM upload_parts p WHERE p.upload_id "
	    "= ?), reserved_bytes = GREATEST(reserved_bytes - ?, 0), expires_at = " SQL_NOW " + ?, version = version + "
	    "1, updated_at = " SQL_NOW " WHERE id = ?",
	    ARGS(ID(row->id), INT(f->granted == INT64_MAX ? 0 : f->granted - f->counted - part->size + (*replaced !=
	    NULL ? (*replaced)->size : 0)), INT(s->c->in->conf->upload_lifetime * 1000), ID(row->id)));
	if (db_commit(s->db))
		return S3_FINE;
	error = s3_by_db(s);
	*unknown = true;
	db_rollback(s->db);
	return error;
}

/* The bytes of the other parts, and of the one in its place. */
static enum s3_error
look_at_parts(struct s3 *s, int64_t attempt, int64_t number, int64_t wanted, struct s3_file *f)
{
	int64_t others;

	s->row = s3_load(s, false);
	if (!s3_takes(s->row, attempt))
		return s3_by_db(s) != S3_FINE ? s3_by_db(s) : S3_NO_SUCH_UPLOAD;
	others = db_number(s->db, "SELECT COALESCE(SUM(size), 0) FROM upload_parts WHERE upload_id = ? AND number <> ?",
	    ARGS(ID(s->row->id), INT(number)), 0);
	f->counted = db_number(s->db, "SELECT size FROM upload_parts WHERE upload_id = ? AND number = ?",
	    ARGS(ID(s->row->id), INT(number)), 0);
	f->granted = s->row->file_size.set ? INT64_MAX : f->counted;
	return limit(s, wanted, others, f);
}

static void
answer_part(struct s3_call *c, const struct s3_part *part)
{
	s3_put_etag(&c->headers, part->md5);
	if (part->sum != NULL)
		buf_printf(&c->headers, "x-amz-checksum-%s: %s\r\n", part->sum_kind, part->sum);
}

/* Is there a part in this place, or, without a number, in any of that file?  Asked by who has locked it: nobody else
 * can fill it meanwhile. */
static enum s3_error
look_at_place(struct s3 *s, int64_t number, int64_t slot, bool *taken)
{
	enum s3_error error;

	*taken = true;
	if (!s3_take_link(s))
		return S3_UNAVAILABLE;
	*taken = db_number(s->db, "SELECT COUNT(*) FROM upload_parts WHERE upload_id = ? AND slot = ? AND ? IN "
	    "(number, 0)", ARGS(ID(s->c->upload_id), INT(slot), INT(number)), 1) > 0;
	error = s3_by_db(s);
	s3_give_link(s);
	return error;
}

/* What was written there is of no use. */
static void
give_up(struct s3 *s, struct s3_file *f)
{
	bool taken = false;

	if (f->slot == 0 || (s3_file_vacate(f) && look_at_place(s, 0, f->slot, &taken) == S3_FINE && !taken))
		s3_file_unlink(f);
	s3_file_close(f);
}

static void
give_up_replaced(struct s3 *s, int64_t attempt, const struct s3_part *part)
{
	struct s3_file f = { .in = s->c->in, .mem = s->c->mem, .seat = &s->seat, .attempt = attempt, .fd = -1 };
	bool taken = true;

	if (part->slot == 0) {
		s3_file_remove(f.mem, s->c->upload_id, part->file);
		return;
	}
	/* By now it may have been filled once more. */
	if (s3_file_reclaim(&f, s->c->upload_id, part) &&
	    look_at_place(s, part->number, part->slot, &taken) == S3_FINE && !taken)
		give_up(s, &f);
	s3_file_close(&f);
}

static enum s3_error
open_part(struct s3 *s, struct s3_file *f, int64_t number, int64_t length)
{
	const char *name = arena_printf(f->mem, "%" PRId64 ".%" PRId64 ".%s", f->attempt, number, s->c->request_id);
	bool taken = false;
	enum s3_error error = S3_FINE;

	if (s3_file_share(f, s->c->upload_id, name, number, length)) {
		error = look_at_place(s, number, length, &taken);
		if (error == S3_FINE && !taken)
			return S3_FINE;
		s3_file_close(f);
	}
	if (error == S3_FINE && !s3_file_new(f, s->c->upload_id, name))
		error = errno == ENOSPC || errno == EDQUOT ? S3_NO_SPACE : S3_INTERNAL;
	return error;
}

/* Its bytes, and then its row. */
static enum s3_error
bring_part(struct s3 *s, struct s3_body *b, struct s3_file *f, int64_t number)
{
	const struct s3_part *replaced = NULL;
	struct s3_part part;
	bool unknown = false;
	enum s3_error error;

	error = s3_file_reserve(f, b->length, 0);
	if (error == S3_FINE)
		error = s3_file_take(f, b);
	s->c->received = b->received;
	if (error == S3_FINE) {
		part = (struct s3_part){ .number = number, .size = b->received, .file = f->name, .slot = f->slot, .md5 =
		    b->md5, .sum_kind = b->sum != NULL ? s3_sum_name(b->kind) : NULL, .sum = b->sum };
		if (s3_take_link(s)) {
			error = note_part(s, f, &part, &replaced, &unknown);
			s3_give_link(s);
		} else {
			error = S3_UNAVAILABLE;
		}
	}
	/* Whether its row is there nobody knows: it goes with the upload. */
	if (error != S3_FINE && !unknown) {
		give_up(s, f);
		s3_file_release(f);
	}
	s3_file_close(f);
	if (error == S3_FINE)
		answer_part(s->c, &part);
	if (replaced != NULL && error == S3_FINE)
		give_up_replaced(s, f->attempt, replaced);
	return error;
}

static enum s3_error
receive_part(struct s3 *s, struct s3_body *b, int64_t attempt, int64_t number)
{
	struct s3_call *c = s->c;
	struct s3_file f = { .in = c->in, .mem = c->mem, .seat = &s->seat, .fd = -1 };
	enum s3_error error;
	int folder = -1;

	if (!s3_take_link(s))
		return S3_UNAVAILABLE;
	error = look_at_parts(s, attempt, number, b->length, &f);
	s3_give_link(s);
	if (error == S3_FINE)
		error = s3_enter(s, true);
	if (error != S3_FINE)
		return error;
	s->seat.attempt = 0;
	f.attempt = attempt;
	room_supersede(c->in->room, &s->seat, attempt);
	error = open_part(s, &f, number, b->length);
	if (error == S3_FINE) {
		folder = s3_file_hold(&f);
		error = bring_part(s, b, &f, number);
	}
	if (folder >= 0)
		close(folder);
	if (error == S3_FINE)
		s3_ahead_go_on(s, attempt, number);
	return error;
}

enum s3_error
s3_upload_part(struct s3 *s)
{
	const char *text = sigv4_param(s->c->mem, s->c->request.uri, "partNumber");
	int64_t number, attempt;
	struct s3_body b;
	enum s3_error error;

	if (s->c->request.header(s->c->request.user, "x-amz-copy-source") != NULL)
		return S3_NOT_IMPLEMENTED;
	if (text == NULL || !int_parse(text, &number) || number < 1 || number > S3_PARTS_MAX)
		return S3_BAD_PART_NUMBER;
	if (!s3_read_attempt(s, &attempt))
		return S3_NO_SUCH_UPLOAD;
	error = s3_begin_body(s, &b);
	if (error == S3_FINE)
		error = receive_part(s, &b, attempt, number);
	s3_body_end(&b);
	return error;
}

static int64_t
query_number(struct s3 *s, const char *name, int64_t otherwise, int64_t most)
{
	const char *text = sigv4_param(s->c->mem, s->c->request.uri, name);
	int64_t n;

	return text == NULL || !int_parse(text, &n) || n < 0 ? otherwise : n > most ? most : n;
}

enum s3_error
s3_list_parts(struct s3 *s)
{
	const int64_t after = query_number(s, "part-number-marker", 0, S3_PARTS_MAX);
	const struct s3_part *part;
	enum s3_error error;
	struct buf *b;
	int64_t attempt, max;
	size_t n, i;

	error = s3_read_max(s, "max-parts", &max);
	if (error != S3_FINE)
		return error;
	if (!s3_read_attempt(s, &attempt) || !s3_takes(s->row, attempt))
		return S3_NO_SUCH_UPLOAD;
	if (!s3_take_link(s))
		return S3_UNAVAILABLE;
	part = s3_parts_of(s, after, max + 1, &n);
	error = s3_by_db(s);
	s3_give_link(s);
	/* None at all would be an answer. */
	if (error != S3_FINE)
		return error;
	b = s3_xml(s->c, "ListPartsResult");
	s3_put(b, "Bucket", s->bucket);
	s3_put(b, "Key", s->key);
	s3_put(b, "UploadId", s3_upload_name(s, attempt));
	s3_put_number(b, "PartNumberMarker", after);
	s3_put_number(b, "MaxParts", max);
	s3_put(b, "IsTruncated", max > 0 && (int64_t)n > max ? "true" : "false");
	for (i = 0; i < n && (int64_t)i < max; i++) {
		buf_text(b, "<Part>");
		s3_put_number(b, "PartNumber", part[i].number);
		s3_put(b, "LastModified", s3_moment(s->c->mem, part[i].put_at));
		s3_put(b, "ETag", arena_printf(s->c->mem, "\"%s\"", part[i].md5));
		s3_put_number(b, "Size", part[i].size);
		buf_text(b, "</Part>");
	}
	if (i > 0)
		s3_put_number(b, "NextPartNumberMarker", part[i - 1].number);
	buf_text(b, "<StorageClass>STANDARD</StorageClass>");
	return s3_end_xml(s->c, "ListPartsResult");
}

static enum s3_error
end_attempt(struct s3 *s)
{
	int64_t n;

	db_begin(s->db);
	n = db_run(s->db, "UPDATE uploads SET status = 'waiting', attempt = attempt + 1, multipart_attempt = NULL, "
	    "sha256 = NULL, received_bytes = 0, reserved_bytes = 0, version = version + 1, updated_at = " SQL_NOW " WHERE id = ? AND attempt = ? AND status = "
	    "'uploading'", ARGS(ID(s->c->upload_id), INT(s->row->attempt)));
	db_run(s->db, "DELETE FROM upload_parts WHERE upload_id = ?", ARGS(ID(s->c->upload_id)));
	if (n > 0 && db_commit(s->db))
		return S3_FINE;
	n = s3_by_db(s);
	db_rollback(s->db);
	return n != S3_FINE ? (enum s3_error)n : S3_NO_SUCH_UPLOAD;
}

enum s3_error
s3_abort(struct s3 *s)
{
	int64_t attempt;
	enum s3_error error;

	if (!s3_read_attempt(s, &attempt) || !s3_takes(s->row, attempt))
		return S3_NO_SUCH_UPLOAD;
	error = s3_with_link(s, end_attempt);
	if (error == S3_FINE) {
		/* Its parts that are on their way need not come to their end. */
		s->seat.upload_id = s->c->upload_id;
		room_supersede(s->c->in->room, &s->seat, attempt + 1);
		partial_forget(s->c->mem, s->c->upload_id, attempt + 1);
		s->c->status = 204;
	}
	return error;
}

static enum s3_error
begin_whole(struct s3 *s)
{
	return begin(s, false);
}

static enum s3_error
receive_whole(struct s3 *s, struct s3_body *b)
{
	struct s3_call *c = s->c;
	struct s3_file f = { .in = c->in, .mem = c->mem, .seat = &s->seat, .is_whole = true, .fd = -1 };
	enum s3_error error;

	if (!s3_take_link(s))
		return S3_UNAVAILABLE;
	error = s->row->file_size.set && b->length >= 0 && b->length != s->row->file_size.n ? S3_WRONG_SIZE :
	    limit(s, b->length, 0, &f);
	s3_give_link(s);
	if (error == S3_FINE)
		error = s3_enter(s, false);
	if (error == S3_FINE)
		error = s3_with_link(s, begin_whole);
	if (error != S3_FINE)
		return error;
	partial_forget(c->mem, c->upload_id, s->row->attempt);
	f.attempt = s->row->attempt;
	f.granted = s->row->file_size.set ? INT64_MAX : 0;
	error = s3_file_reserve(&f, b->length, 0);
	if (error == S3_FINE && !s3_file_new(&f, c->upload_id, arena_printf(c->mem, "%" PRId64 ".0.%s",
	    s->row->attempt, c->request_id)))
		error = errno == ENOSPC || errno == EDQUOT ? S3_NO_SPACE : S3_INTERNAL;
	if (error == S3_FINE)
		error = s3_file_take(&f, b);
	c->received = b->received;
	s3_file_close(&f);
	if (error == S3_FINE && s->row->file_size.set && c->received != s->row->file_size.n)
		error = S3_WRONG_SIZE;
	if (error == S3_FINE)
		error = s3_arrive(s, &f, s->row->attempt, b->md5);
	if (error != S3_FINE && error != S3_REFUSED) {
		partial_forget(c->mem, c->upload_id, s->row->attempt + 1);
		s3_with_link(s, end_attempt);
		return error;
	}
	if (error == S3_FINE)
		s3_put_etag(&c->headers, b->md5);
	return error;
}

enum s3_error
s3_put_object(struct s3 *s)
{
	struct s3_body b;
	enum s3_error error;

	if (s->c->request.header(s->c->request.user, "x-amz-copy-source") != NULL)
		return S3_NOT_IMPLEMENTED;
	error = s3_begin_body(s, &b);
	if (error == S3_FINE)
		error = receive_whole(s, &b);
	s3_body_end(&b);
	return error;
}
