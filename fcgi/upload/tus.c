/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tus asks for in the words of put.c. */
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fcgi/upload/s3_sum.h"
#include "fcgi/upload/tus.h"
#include "fcgi/upload/tus_concat.h"

#define VERSION_SPOKEN "1.0.0"
#define CHECKSUMS "sha1,md5,sha256,crc32"
#define BYTES_TYPE "application/offset+octet-stream"

enum { METADATA_MAX = 8000 };		/* bytes; HEAD says it again, and Apache takes no longer lines */

/* A body on its way, and the checksum that came with it. */
struct body {
	struct tus *t;
	struct s3_sum sum;
	EVP_MD_CTX *md5;
	const char *said;
};

static const char *
header(const struct tus *t, const char *name)
{
	return t->header(t->user, name);
}

static enum error
check_version(struct tus *t)
{
	const char *version = header(t, "tus-resumable");

	if (version != NULL && strcmp(version, VERSION_SPOKEN) == 0)
		return ERR_NONE;
	buf_text(&t->headers, "Tus-Version: " VERSION_SPOKEN "\r\n");
	return ERR_TUS_VERSION;
}

void
tus_begin(struct buf *headers)
{
	buf_text(headers, "Tus-Resumable: " VERSION_SPOKEN "\r\n");
}

void
tus_describe(struct buf *headers, const struct conf *conf)
{
	buf_text(headers, "Tus-Version: " VERSION_SPOKEN "\r\n"
	    "Tus-Extension: creation,creation-with-upload,expiration,checksum,termination,concatenation\r\n"
	    "Tus-Checksum-Algorithm: " CHECKSUMS "\r\n");
	buf_printf(headers, "Tus-Max-Size: %" PRId64 "\r\n", conf->upload_max_size);
}

/* An address that led to something and never will again is gone, and no conflict that a client could solve. */
static enum error
as_gone(enum error error)
{
	return error == ERR_UPLOAD_CANCELLED ? ERR_UPLOAD_GONE : error;
}

static void
put_offset(struct tus *t)
{
	buf_printf(&t->headers, "Upload-Offset: %" PRId64 "\r\n", t->put.received);
}

static void
put_expiry(struct tus *t)
{
	char text[MOMENT_HTTP];

	buf_printf(&t->headers, "Upload-Expires: %s\r\n", moment_http(t->put.expires_at, text));
}

static enum error
look(struct tus *t)
{
	enum error error = put_go_on(&t->put);

	if (error != ERR_NONE)
		return as_gone(error);
	put_offset(t);
	put_expiry(t);
	return ERR_NONE;
}

enum error
tus_head(struct tus *t)
{
	enum error error = check_version(t);

	if (error == ERR_NONE)
		error = look(t);
	if (error != ERR_NONE)
		return error;
	buf_printf(&t->headers, "Upload-Length: %" PRId64 "\r\n", t->put.size);
	if (t->put.is_partial)
		buf_text(&t->headers, "Upload-Concat: partial\r\n");
	else if (t->put.upload_concat != NULL)
		buf_printf(&t->headers, "Upload-Concat: %s\r\n", t->put.upload_concat);
	if (t->put.upload_metadata != NULL)
		buf_printf(&t->headers, "Upload-Metadata: %s\r\n", t->put.upload_metadata);
	return ERR_NONE;
}

/* "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=" */
static enum error
read_checksum(struct body *b)
{
	const char *text = header(b->t, "upload-checksum"), *blank = text != NULL ? strchr(text, ' ') : NULL;
	const char *kind;

	if (text == NULL)
		return ERR_NONE;
	if (blank == NULL)
		return ERR_BAD_REQUEST;
	kind = arena_copy_n(b->t->put.mem, text, (size_t)(blank - text));
	b->said = blank + 1;
	if (strcmp(kind, "md5") == 0) {
		b->md5 = EVP_MD_CTX_new();
		if (b->md5 == NULL || !EVP_DigestInit_ex(b->md5, EVP_md5(), NULL))
			abort();
		return ERR_NONE;
	}
	if (strcmp(kind, "sha1") != 0 && strcmp(kind, "sha256") != 0 && strcmp(kind, "crc32") != 0) {
		b->t->put.detail = "Checksums are one of " CHECKSUMS ".";
		return ERR_BAD_REQUEST;
	}
	s3_sum_begin(&b->sum, s3_sum_find(kind));
	return ERR_NONE;
}

static int
read_body(void *user, const struct seat *seat, const void **bytes)
{
	struct body *b = user;
	int n = b->t->read(b->t->user, seat, bytes);

	if (n > 0 && b->md5 != NULL)
		EVP_DigestUpdate(b->md5, *bytes, (size_t)n);
	else if (n > 0)
		s3_sum_add(&b->sum, *bytes, (size_t)n);
	return n;
}

static bool
verify(void *user)
{
	struct body *b = user;
	unsigned char md5[16];
	char text[32];

	if (b->md5 == NULL)
		return strcmp(s3_sum_text(&b->sum, b->t->put.mem), b->said) == 0;
	EVP_DigestFinal_ex(b->md5, md5, NULL);
	EVP_EncodeBlock((unsigned char *)text, md5, sizeof(md5));
	return strcmp(text, b->said) == 0;
}

/* Brings the body, which begins there. */
static enum error
bring(struct tus *t, int64_t offset)
{
	struct body b = { .t = t };
	enum error error = read_checksum(&b);

	if (error == ERR_NONE) {
		t->put.offset = offset;
		t->put.length = t->length;
		t->put.read = read_body;
		t->put.verify = b.said != NULL ? verify : NULL;
		t->put.user = &b;
		error = put_go_on(&t->put);
	}
	s3_sum_end(&b.sum);
	EVP_MD_CTX_free(b.md5);
	if (error != ERR_NONE)
		return as_gone(error);
	put_offset(t);
	put_expiry(t);
	return ERR_NONE;
}

static bool
brings_bytes(const struct tus *t)
{
	const char *type = header(t, "content-type");

	return type != NULL && strcmp(type, BYTES_TYPE) == 0;
}

enum error
tus_patch(struct tus *t)
{
	const char *text = header(t, "upload-offset");
	enum error error = check_version(t);
	int64_t offset;

	if (error != ERR_NONE)
		return error;
	if (!brings_bytes(t))
		return ERR_UNSUPPORTED_TYPE;
	if (text == NULL || !int_parse(text, &offset) || offset < 0) {
		t->put.detail = "Upload-Offset is to say where the bytes of the body begin.";
		return ERR_BAD_REQUEST;
	}
	return bring(t, offset);
}

enum error
tus_delete(struct tus *t)
{
	enum error error = check_version(t);

	return error == ERR_NONE ? as_gone(put_cancel(&t->put)) : error;
}

/* ---- making one ---- */

/* The value of the key, "a2V5" behind it; NULL: there is none.  False: it is no base64 of text. */
static bool
metadata(const struct tus *t, const char *key, const char **value)
{
	const char *at = header(t, "upload-metadata");
	const size_t n = strlen(key);
	size_t length, size;
	char *text;
	int got;

	*value = NULL;
	for (; at != NULL && *at != '\0'; at += *at == ',') {
		at += strspn(at, " ");
		length = strcspn(at, ",");
		if (strncmp(at, key, n) != 0 || at[n] != ' ') {
			at += length;
			continue;
		}
		size = strcspn(at += n + 1, ", ");
		text = arena_alloc(t->put.mem, size + 4);
		got = size % 4 == 0 ? EVP_DecodeBlock((unsigned char *)text, (const unsigned char *)at, (int)size) : -1;
		for (size_t i = 1; i <= 2 && got > 0 && size >= 4 && at[size - i] == '='; i++)
			got--;
		if (got < 0 || memchr(text, 0, (size_t)got) != NULL || !utf8_valid(text, (size_t)got))
			return false;
		text[got] = '\0';
		*value = text;
		return true;
	}
	return true;
}

/* Is the key that begins there none of those before it? */
static bool
is_new(const char *text, const char *key)
{
	const size_t n = strcspn(key, " ,");
	const char *at;

	for (at = text; at < key; at += strcspn(at, ",") + 1) {
		at += strspn(at, " ");
		if (at < key && strcspn(at, " ,") == n && memcmp(at, key, n) == 0)
			return false;
	}
	return true;
}

/* Keys without blanks, each once, and base64, as a line that HEAD can say again. */
static bool
is_metadata(const char *text)
{
	const char *at;

	if (strlen(text) > METADATA_MAX)
		return false;
	for (at = text; *at != '\0'; at += *at == ',') {
		at += strspn(at, " ");
		if (!is_new(text, at))
			return false;
		at += strcspn(at, ",");
	}
	while (*text >= ' ' && *text < 0x7f)
		text++;
	return *text == '\0';
}

/* "de,en" as an array. */
static void
put_list(struct buf *b, const char *text)
{
	size_t n;

	for (buf_char(b, '['); *text != '\0'; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		buf_json_n(b, text, n);
		if (text[n] == ',')
			buf_char(b, ',');
	}
	buf_char(b, ']');
}

/* What POST /v2/uploads takes, of the headers.  NULL: they cannot be read. */
static const char *
body_of(const struct tus *t, int64_t size, bool is_partial)
{
	struct buf b = BUF(t->put.mem);
	const char *file_name, *name, *languages;

	if (!metadata(t, "filename", &file_name) || !metadata(t, "name", &name) ||
	    !metadata(t, "transcriptLanguageCodes", &languages))
		return NULL;
	if (file_name == NULL)
		file_name = name != NULL || !is_partial ? name : "part";
	buf_text(&b, "{\"type\":\"tus\",\"fileSize\":");
	buf_int(&b, size);
	if (file_name != NULL) {
		buf_text(&b, ",\"fileName\":");
		buf_json(&b, file_name);
	}
	if (languages != NULL) {
		buf_text(&b, ",\"transcriptLanguageCodes\":");
		put_list(&b, languages);
	}
	buf_char(&b, '}');
	return buf_string(&b);
}

/* What is asked of the answer to POST /v2/uploads. */
struct created { struct uuid id; struct moment expires_at; const char *url; };
static const struct field created_fields[] = {
	FIELD(struct created, id, .on = CREATE, .doc = "The upload"),
	FIELD(struct created, expires_at, .on = CREATE, .doc = "Then it is dropped"),
	FIELD(struct created, url, .on = CREATE, .doc = "Its address"),
};
static const struct record created_record = RECORD("TusCreated", struct created, created_fields);

/* Where the upload goes that was made.  The answer is its address alone. */
static bool
take_address(struct tus *t)
{
	struct arena *mem = t->put.mem;
	struct req *r = t->made;
	const char *data = json_member(mem, buf_string(&r->out), "data"), *input = json_member(mem, data, "input");
	uint64_t given;
	const struct created *of_data = record_decode_foreign(mem, &created_record, data, strlen(data), &given),
	    *of_input = input != NULL ? record_decode_foreign(mem, &created_record, input, strlen(input), &given) :
	    NULL;
	const char *ticket = of_input != NULL && of_input->url != NULL ? strstr(of_input->url, "?ticket=") : NULL;

	if (of_data == NULL || ticket == NULL)
		return false;
	t->put.id = of_data->id;
	t->put.expires_at = of_data->expires_at;
	t->put.ticket = ticket + 8;
	r->location = of_input->url;
	r->etag = NULL;
	r->out = BUF(mem);
	return true;
}

static enum error
announce(struct tus *t, int64_t size, struct upload_tus more)
{
	const char *said = header(t, "upload-metadata"), *json = body_of(t, size, more.is_partial);

	if (json == NULL || (said != NULL && !is_metadata(said))) {
		t->put.detail = "Upload-Metadata is to be pairs of a key, each once, and text in base64, with commas "
		    "between them.";
		return ERR_BAD_REQUEST;
	}
	if (said != NULL && *said != '\0')
		more.upload_metadata = said;
	t->made = t->announce(t->user, json, &more);
	return t->made->status != 201 || take_address(t) ? ERR_NONE : ERR_INTERNAL;
}

static enum error
read_size(struct tus *t, int64_t *size)
{
	const char *text = header(t, "upload-length");

	if (text != NULL && int_parse(text, size) && *size >= 0)
		return ERR_NONE;
	t->put.detail = header(t, "upload-defer-length") != NULL ? "The length of an upload is to be known when it is "
	    "made." :
	    "Upload-Length is to be the bytes of the file.";
	return ERR_BAD_REQUEST;
}

/* What an Idempotency-Key has found may have bytes by now, which were those of the same body: who sent it then goes on
 * behind them.  Where none are taken for another reason, the upload is there all the same. */
static enum error
bring_first(struct tus *t)
{
	enum error error = bring(t, 0);

	if (error == ERR_UPLOAD_OFFSET || error == ERR_UPLOAD_RECEIVED) {
		t->put.read = NULL;
		t->put.verify = NULL;
		error = look(t);
	}
	if (error != ERR_NONE && error != ERR_UPLOAD_GONE && t->put.reason == REASON_NONE)
		buf_printf(&t->headers, "Location: %s\r\n", t->made->location);
	return error;
}

static enum error
create(struct tus *t, bool is_partial)
{
	int64_t size;
	enum error error = read_size(t, &size);

	if (error == ERR_NONE)
		error = announce(t, size, (struct upload_tus){ .is_partial = is_partial });
	if (error != ERR_NONE || t->made->status != 201)
		return error;
	if (brings_bytes(t) && t->length != 0)
		return bring_first(t);
	put_expiry(t);
	return ERR_NONE;
}

static enum error
concatenate(struct tus *t, const char *said)
{
	struct tus_concat concat;
	enum error error = tus_concat_find(&concat, &t->put, said);

	if (error == ERR_NONE)
		error = announce(t, concat.size > 0 ? concat.size : 1, (struct upload_tus){ .upload_concat = said,
		    .tenant_id = concat.tenant_id, .counted_bytes = concat.size, .is_again = concat.gone != ERR_NONE });
	if (error == ERR_NONE && t->made->status == 201)
		error = tus_concat(&concat, &t->put);
	else if (error == ERR_NONE && concat.gone != ERR_NONE)
		error = concat.gone;
	if (error == ERR_NONE && t->made->status == 201)
		put_expiry(t);
	tus_concat_end(&concat);
	return error;
}

/* What was made and then refused is said by the error: nobody wants the rest of the answer. */
enum error
tus_create(struct tus *t)
{
	const char *concat = header(t, "upload-concat");
	enum error error = check_version(t);

	if (error != ERR_NONE)
		return error;
	if (concat != NULL && strncmp(concat, TUS_FINAL, strlen(TUS_FINAL)) == 0)
		error = concatenate(t, concat);
	else if (concat == NULL || strcmp(concat, "partial") == 0)
		error = create(t, concat != NULL);
	else
		error = ERR_BAD_REQUEST;
	if (error != ERR_NONE)
		t->made = NULL;
	return error;
}
