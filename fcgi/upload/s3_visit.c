/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What operations of the object store share. */
#include <inttypes.h>
#include <string.h>

#include "core/sigv4.h"
#include "fcgi/upload/s3_visit.h"

enum { PAGE = 1000 };			/* of a list */

#define XMLNS "http://s3.amazonaws.com/doc/2006-03-01/"

static const struct field row_fields[] = {
	FIELD(struct s3_row, id, .doc = "Upload"),
	FIELD(struct s3_row, tenant_id, .doc = "Whose quota it is"),
	FIELD(struct s3_row, principal_id, .doc = "Who made it"),
	FIELD(struct s3_row, type, .doc = "How the bytes come"),
	FIELD(struct s3_row, ticket_hash, .sql = "LOWER(HEX(t.ticket_hash))", .doc = "SHA-256 of the session token in hex"),
	FIELD(struct s3_row, status, .doc = "State"),
	FIELD(struct s3_row, refusal, .sql = "JSON_UNQUOTE(JSON_EXTRACT(t.error, '$.remedy'))", .doc = "Why it was refused"),
	FIELD(struct s3_row, sha256, .sql = "LOWER(HEX(t.sha256))", .doc = "Of what is all here, in hex"),
	FIELD(struct s3_row, etag, .doc = "Of the file that has arrived"),
	FIELD(struct s3_row, file_size, .doc = "Declared bytes"),
	FIELD(struct s3_row, multipart_attempt, .doc = "The attempt that takes parts"),
	FIELD(struct s3_row, attempt, .doc = "Number of the latest attempt"),
	FIELD(struct s3_row, received_bytes, .doc = "Bytes on the disk"),
	FIELD(struct s3_row, expires_at, .doc = "End of its life"),
	FIELD(struct s3_row, updated_at, .doc = "Last change"),
};
static const struct record row_record = RECORD("StoredUpload", struct s3_row, row_fields);

static const struct field part_fields[] = {
	FIELD(struct s3_part, number, .doc = "From 1"),
	FIELD(struct s3_part, size, .doc = "Bytes"),
	FIELD(struct s3_part, file, .doc = "Name in the directory of the upload"),
	FIELD(struct s3_part, slot, .doc = "Bytes of each place in the file that it shares"),
	FIELD(struct s3_part, md5, .sql = "LOWER(HEX(t.md5))", .doc = "In hex"),
	FIELD(struct s3_part, sum_kind, .doc = "Which checksum came with it"),
	FIELD(struct s3_part, sum, .doc = "In base64"),
	FIELD(struct s3_part, put_at, .doc = "When it had arrived"),
};
static const struct record part_record = RECORD("UploadPart", struct s3_part, part_fields);

/* What is read stays in the arena of the call. */
bool
s3_take_link(struct s3 *s)
{
	s->db = links_ask(s->c->in->links);
	if (s->db == NULL)
		return false;
	s->db_own = db_arena(s->db);
	db_use(s->db, s->c->mem);
	return true;
}

void
s3_give_link(struct s3 *s)
{
	db_use(s->db, s->db_own);
	links_give(s->c->in->links, s->db);
	s->db = NULL;
}

enum s3_error
s3_by_db(const struct s3 *s)
{
	return db_failure(s->db) == DB_FINE ? S3_FINE : db_failure(s->db) == DB_BROKEN ? S3_INTERNAL : S3_UNAVAILABLE;
}

enum s3_error
s3_with_link(struct s3 *s, enum s3_error (*run)(struct s3 *))
{
	enum s3_error error;

	if (!s3_take_link(s))
		return S3_UNAVAILABLE;
	error = run(s);
	s3_give_link(s);
	return error;
}

struct s3_row *
s3_load(struct s3 *s, bool locked)
{
	static const char from[] = "FROM uploads t WHERE t.id = ?";

	return locked ? db_row_suffix(s->db, &row_record, from, " FOR UPDATE", ARGS(ID(s->c->upload_id))) :
	    db_row(s->db, &row_record, from, ARGS(ID(s->c->upload_id)));
}

bool
s3_is_open(const struct s3_row *row)
{
	return strcmp(row->status, "waiting") == 0 || strcmp(row->status, "uploading") == 0;
}

bool
s3_has_arrived(const struct s3_row *row)
{
	return strcmp(row->status, "uploaded") == 0 || strcmp(row->status, "completed") == 0;
}

/* Does it take parts of that attempt? */
bool
s3_takes(const struct s3_row *row, int64_t attempt)
{
	return row != NULL && strcmp(row->status, "uploading") == 0 && row->attempt == attempt &&
	    row->multipart_attempt.set && row->multipart_attempt.n == attempt;
}

enum s3_error
s3_enter(struct s3 *s, bool beside)
{
	s->seat = (struct seat){ .upload_id = s->c->upload_id, .tenant_id = s->row->tenant_id,
	    .principal_id = s->row->principal_id, .beside = beside };
	s->seated = room_enter(s->c->in->room, &s->seat);
	return s->seated ? S3_FINE : S3_SLOW_DOWN;
}

bool
s3_is_text(const char *text)
{
	const char *p;

	for (p = text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' && strchr("\t\n\r", *p) == NULL)
			return false;
	return utf8_valid(text, (size_t)(p - text)) && strstr(text, "\xef\xbf\xbe") == NULL &&
	    strstr(text, "\xef\xbf\xbf") == NULL;
}

/* Nothing that we name has what XML would need escaped but in what clients sent. */
static void
put_escaped(struct buf *b, const char *text)
{
	const bool exactly = s3_is_text(text);

	for (; *text != '\0'; text++)
		switch (*text) {
		case '&': buf_text(b, "&amp;"); break;
		case '<': buf_text(b, "&lt;"); break;
		case '>': buf_text(b, "&gt;"); break;
		case '"': buf_text(b, "&quot;"); break;
		case '\t': case '\n': case '\r': buf_printf(b, "&#%d;", *text); break;
		default: buf_char(b, exactly || (*text >= ' ' && *text <= '~') ? *text : '?');
		}
}

void
s3_put(struct buf *b, const char *name, const char *text)
{
	buf_printf(b, "<%s>", name);
	put_escaped(b, text);
	buf_printf(b, "</%s>", name);
}

void
s3_put_number(struct buf *b, const char *name, int64_t n)
{
	buf_printf(b, "<%s>%" PRId64 "</%s>", name, n, name);
}

enum s3_error
s3_read_max(struct s3 *s, const char *name, int64_t *max)
{
	const char *text = sigv4_param(s->c->mem, s->c->request.uri, name);

	*max = PAGE;
	if (text == NULL || *text == '\0')
		return S3_FINE;
	if (!int_parse(text, max) || *max < 0)
		return S3_BAD_ARGUMENT;
	*max = *max > PAGE ? PAGE : *max;
	return S3_FINE;
}

struct buf *
s3_xml(struct s3_call *c, const char *root)
{
	buf_printf(&c->body, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%s xmlns=\"" XMLNS "\">", root);
	return &c->body;
}

enum s3_error
s3_end_xml(struct s3_call *c, const char *root)
{
	buf_printf(&c->body, "</%s>", root);
	buf_text(&c->headers, "Content-Type: application/xml\r\n");
	return S3_FINE;
}

void
s3_put_etag(struct buf *headers, const char *etag)
{
	buf_printf(headers, "ETag: \"%s\"\r\n", etag);
}

const char *
s3_moment(struct arena *mem, struct moment m)
{
	return moment_format(m, arena_alloc(mem, MOMENT_TEXT));
}

const char *
s3_upload_name(const struct s3 *s, int64_t attempt)
{
	return arena_printf(s->c->mem, "%s.%" PRId64, uuid_text(s->c->mem, s->c->upload_id), attempt);
}

/* The number of the attempt in ?uploadId=. */
bool
s3_read_attempt(struct s3 *s, int64_t *attempt)
{
	const char *name = sigv4_param(s->c->mem, s->c->request.uri, "uploadId"), *id = uuid_text(s->c->mem,
	    s->c->upload_id);

	return name != NULL && strncmp(name, id, strlen(id)) == 0 && name[strlen(id)] == '.' &&
	    int_parse(name + strlen(id) + 1, attempt) && *attempt > 0;
}

enum s3_error
s3_begin_body(struct s3 *s, struct s3_body *b)
{
	struct s3_call *c = s->c;
	enum s3_error error = s3_body_begin(b, c->mem, &s->sign, &c->request, c->length, c->read, c->user);

	if (error == S3_FINE && b->length < 0 && c->request.header(c->request.user, "transfer-encoding") == NULL)
		return S3_NO_LENGTH;
	return error;
}

/* Everything that can be named at once; a client that wants fewer says so. */
struct s3_part *
s3_parts_of(struct s3 *s, int64_t after, int64_t max, size_t *n)
{
	return db_rows(s->db, &part_record, "FROM upload_parts t WHERE t.upload_id = ? AND t.number > ? ORDER BY "
	    "t.number LIMIT ?", ARGS(ID(s->c->upload_id), INT(after), INT(max)), n);
}

struct s3_part *
s3_part_of(struct s3 *s, int64_t number)
{
	return db_row(s->db, &part_record, "FROM upload_parts t WHERE t.upload_id = ? AND t.number = ?",
	    ARGS(ID(s->c->upload_id), INT(number)));
}
