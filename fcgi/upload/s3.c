/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who asks the object store for what. */
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "core/seal.h"
#include "core/sigv4.h"
#include "fcgi/upload/s3_visit.h"

static const struct s3_error_info infos[] = {
	{ 200, NULL, NULL },
#define S3_INFO(name, status, code, text) { status, code, text },
	S3_ERRORS(S3_INFO)
#undef S3_INFO
};

const struct s3_error_info *
s3_error_info(enum s3_error error)
{
	return &infos[error];
}

bool
s3_is_address(const char *uri)
{
	const size_t n = sizeof(S3_STORAGE) - 1;

	return uri != NULL && strncmp(uri, S3_STORAGE, n) == 0 && (uri[n] == '\0' || uri[n] == '/' || uri[n] == '?');
}

/* 32 digits of hex in lower case. */
static bool
id_of_key(const char *key, struct uuid *id)
{
	char text[UUID_TEXT];

	if (strlen(key) != 32)
		return false;
	snprintf(text, sizeof(text), "%.8s-%.4s-%.4s-%.4s-%.12s", key, key + 8, key + 12, key + 16, key + 20);
	return uuid_parse(text, id);
}

static bool
token_fits(const struct s3 *s)
{
	unsigned char sha256[32];
	const char *token = s->sign.token, *hash = s->row->ticket_hash;

	if (token == NULL || hash == NULL || strlen(hash) != 64)
		return false;
	EVP_Digest(token, strlen(token), sha256, NULL, EVP_sha256(), NULL);
	return CRYPTO_memcmp(hex_encode(s->c->mem, sha256, sizeof(sha256)), hash, 64) == 0;
}

static enum s3_error
authenticate(struct s3 *s)
{
	struct s3_call *c = s->c;
	enum s3_error error = s3_sign_read(&s->sign, c->mem, &c->request, moment_now());

	if (error != S3_FINE)
		return error;
	if (!id_of_key(s->sign.access_key, &c->upload_id))
		return S3_UNKNOWN_KEY;
	if (!s3_take_link(s))
		return S3_UNAVAILABLE;
	s->row = s3_load(s, false);
	error = s3_by_db(s);
	s3_give_link(s);
	if (error != S3_FINE)
		return error;
	if (s->row == NULL || strcmp(s->row->type, "multipart") != 0)
		return S3_UNKNOWN_KEY;
	if (!token_fits(s))
		return S3_NO_TOKEN;
	return s3_sign_check(&s->sign, c->mem, &c->request, seal_proof(c->in->conf, c->mem, UPLOAD_SECRET,
	    s->sign.token));
}

/* Of an upload that has ended without a file. */
static enum s3_error
check_state(const struct s3 *s)
{
	const struct s3_row *row = s->row;

	if (strcmp(row->status, "errored") == 0) {
		s->c->detail = row->refusal;
		return S3_REFUSED;
	}
	if (s3_has_arrived(row))
		return S3_FINE;
	return !s3_is_open(row) || row->expires_at.ms <= moment_now().ms ? S3_EXPIRED : S3_FINE;
}

static const char *
key_of(const struct s3 *s)
{
	return arena_printf(s->c->mem, "%s%s", s->prefix, uuid_text(s->c->mem, s->c->upload_id));
}

static enum s3_error
list_uploads(struct s3 *s)
{
	const char *prefix = sigv4_param(s->c->mem, s->c->request.uri, "prefix");
	int64_t max;
	const enum s3_error error = s3_read_max(s, "max-uploads", &max);
	struct buf *b;

	if (error != S3_FINE)
		return error;
	if (prefix != NULL && !s3_is_text(prefix))
		return S3_BAD_ARGUMENT;
	b = s3_xml(s->c, "ListMultipartUploadsResult");
	s3_put(b, "Bucket", s->bucket);
	buf_text(b, "<KeyMarker/><UploadIdMarker/>");
	s3_put_number(b, "MaxUploads", max);
	buf_text(b, "<IsTruncated>false</IsTruncated>");
	if (prefix != NULL)
		s3_put(b, "Prefix", prefix);
	if (max > 0 && s3_takes(s->row, s->row->attempt) && (prefix == NULL || strncmp(key_of(s), prefix,
	    strlen(prefix)) == 0)) {
		buf_text(b, "<Upload>");
		s3_put(b, "Key", key_of(s));
		s3_put(b, "UploadId", s3_upload_name(s, s->row->attempt));
		buf_text(b, "<StorageClass>STANDARD</StorageClass>");
		s3_put(b, "Initiated", s3_moment(s->c->mem, s->row->updated_at));
		buf_text(b, "</Upload>");
	}
	return s3_end_xml(s->c, "ListMultipartUploadsResult");
}

/* What a list of objects is asked for. */
struct listing {
	const char *prefix, *delimiter, *after;	/* NULL: not said */
	bool is_v2, is_encoded;
	int64_t max;
};

static const char *
said(const struct s3 *s, const char *name)
{
	const char *text = sigv4_param(s->c->mem, s->c->request.uri, name);

	return text != NULL && *text != '\0' ? text : NULL;
}

/* Where nothing is encoded, what was asked is said again as it is, or not at all.  Tokens are never encoded. */
static enum s3_error
check_said(const struct s3 *s, const struct listing *l)
{
	static const char *const names[] = { "prefix", "delimiter", "marker", "start-after" };
	const char *text = said(s, "continuation-token");

	if (text != NULL && !s3_is_text(text))
		return S3_BAD_ARGUMENT;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !l->is_encoded; i++)
		if ((text = said(s, names[i])) != NULL && !s3_is_text(text))
			return S3_NO_TEXT;
	return S3_FINE;
}

static enum s3_error
read_listing(struct s3 *s, struct listing *l)
{
	const char *type = said(s, "list-type"), *encoding = said(s, "encoding-type"), *going_on;
	enum s3_error error;

	*l = (struct listing){ .prefix = said(s, "prefix"), .delimiter = said(s, "delimiter"), .is_encoded = encoding !=
	    NULL, .is_v2 = type != NULL };
	if ((type != NULL && strcmp(type, "2") != 0) || (encoding != NULL && strcmp(encoding, "url") != 0))
		return S3_BAD_ARGUMENT;
	/* A list that was cut short goes on behind its last key, which is all that our tokens would say. */
	going_on = l->is_v2 ? said(s, "continuation-token") : NULL;
	l->after = going_on != NULL ? going_on : said(s, l->is_v2 ? "start-after" : "marker");
	error = check_said(s, l);
	return error == S3_FINE ? s3_read_max(s, "max-keys", &l->max) : error;
}

/* A key, or what one begins with. */
static void
put_key(struct s3 *s, struct buf *b, const struct listing *l, const char *name, const char *text)
{
	if (text != NULL)
		s3_put(b, name, l->is_encoded ? percent_encode(s->c->mem, text) : text);
}

/* The key up to the delimiter behind the prefix; NULL: it is listed itself. */
static const char *
common_prefix(const struct s3 *s, const struct listing *l)
{
	const char *key = key_of(s), *at = l->delimiter != NULL ? strstr(key + (l->prefix != NULL ? strlen(l->prefix) :
	    0), l->delimiter) : NULL;

	return at != NULL ? arena_copy_n(s->c->mem, key, (size_t)(at - key) + strlen(l->delimiter)) : NULL;
}

static void
put_object(struct s3 *s, struct buf *b, const struct listing *l)
{
	buf_text(b, "<Contents>");
	put_key(s, b, l, "Key", key_of(s));
	s3_put(b, "LastModified", s3_moment(s->c->mem, s->row->updated_at));
	s3_put(b, "ETag", arena_printf(s->c->mem, "\"%s\"", s->row->etag));
	s3_put_number(b, "Size", s->row->received_bytes);
	buf_text(b, "<StorageClass>STANDARD</StorageClass></Contents>");
}

static void
put_listing(struct s3 *s, struct buf *b, const struct listing *l)
{
	s3_put(b, "Name", s->bucket);
	put_key(s, b, l, "Prefix", l->prefix != NULL ? l->prefix : "");
	put_key(s, b, l, "Delimiter", l->delimiter);
	if (l->is_encoded)
		s3_put(b, "EncodingType", "url");
	if (!l->is_v2)
		put_key(s, b, l, "Marker", l->after != NULL ? l->after : "");
	else if (said(s, "continuation-token") != NULL)
		s3_put(b, "ContinuationToken", said(s, "continuation-token"));
	if (l->is_v2)
		put_key(s, b, l, "StartAfter", said(s, "start-after"));
	s3_put_number(b, "MaxKeys", l->max);
	buf_text(b, "<IsTruncated>false</IsTruncated>");
}

/* Of one key at most, which has arrived. */
static enum s3_error
list_objects(struct s3 *s)
{
	struct listing l;
	const enum s3_error error = read_listing(s, &l);
	const char *common;
	struct buf *b;
	bool there;

	if (error != S3_FINE)
		return error;
	there = l.max > 0 && s->row->etag != NULL && s3_has_arrived(s->row) && (l.prefix == NULL ||
	    strncmp(key_of(s), l.prefix, strlen(l.prefix)) == 0);
	common = there ? common_prefix(s, &l) : NULL;
	there = there && (l.after == NULL || strcmp(common != NULL ? common : key_of(s), l.after) > 0);
	b = s3_xml(s->c, "ListBucketResult");
	put_listing(s, b, &l);
	if (l.is_v2)
		s3_put_number(b, "KeyCount", there ? 1 : 0);
	if (there && common != NULL) {
		buf_text(b, "<CommonPrefixes>");
		put_key(s, b, &l, "Prefix", common);
		buf_text(b, "</CommonPrefixes>");
	} else if (there) {
		put_object(s, b, &l);
	}
	return s3_end_xml(s->c, "ListBucketResult");
}

static enum s3_error
list_buckets(struct s3 *s)
{
	struct buf *b = s3_xml(s->c, "ListAllMyBucketsResult");

	buf_text(b, "<Owner>");
	s3_put(b, "ID", uuid_text(s->c->mem, s->row->principal_id));
	buf_text(b, "</Owner><Buckets><Bucket>");
	s3_put(b, "Name", S3_BUCKET);
	s3_put(b, "CreationDate", s3_moment(s->c->mem, s->row->updated_at));
	buf_text(b, "</Bucket></Buckets>");
	return s3_end_xml(s->c, "ListAllMyBucketsResult");
}

static enum s3_error
location(struct s3 *s)
{
	s3_xml(s->c, "LocationConstraint");
	return s3_end_xml(s->c, "LocationConstraint");
}

static enum s3_error
head_object(struct s3 *s)
{
	if (s->row->etag == NULL || !s3_has_arrived(s->row))
		return S3_NO_SUCH_KEY;
	s3_put_object_head(s, s->row->received_bytes);
	return S3_FINE;
}

static bool
asks(const struct s3 *s, const char *name)
{
	return sigv4_param(s->c->mem, s->c->request.uri, name) != NULL;
}

/* What an object or a bucket also has elsewhere. */
static bool
is_elsewhere(const struct s3 *s)
{
	static const char *const names[] = { "acl", "tagging", "policy", "policyStatus", "lifecycle", "cors",
	    "versioning",
	    "versions", "website", "logging", "notification", "encryption", "requestPayment", "object-lock", "retention",
	    "legal-hold", "torrent", "restore", "select", "attributes", "replication", "accelerate", "analytics",
	    "inventory", "metrics", "ownershipControls", "publicAccessBlock", "intelligent-tiering" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (asks(s, names[i]))
			return true;
	return false;
}

static enum s3_error
on_bucket(struct s3 *s)
{
	const char *method = s->c->request.method;

	if (is_elsewhere(s))
		return S3_NOT_IMPLEMENTED;
	if (strcmp(method, "HEAD") == 0 || strcmp(method, "PUT") == 0)
		return S3_FINE;			/* it is there */
	if (strcmp(method, "POST") == 0 && asks(s, "delete"))
		return s3_delete_objects(s, key_of(s));
	if (strcmp(method, "GET") != 0)
		return strcmp(method, "DELETE") == 0 ? S3_ACCESS_DENIED : S3_NOT_IMPLEMENTED;
	if (asks(s, "location"))
		return location(s);
	if (asks(s, "uploads"))
		return list_uploads(s);
	if (strcmp(s->bucket, S3_BUCKET) == 0 || asks(s, "list-type") || asks(s, "prefix") || asks(s, "delimiter") ||
	    asks(s, "max-keys"))
		return list_objects(s);
	return list_buckets(s);
}

static enum s3_error
on_object(struct s3 *s)
{
	const char *method = s->c->request.method;
	enum s3_error error = check_state(s);

	if (error != S3_FINE)
		return error;
	if (is_elsewhere(s))
		return S3_NOT_IMPLEMENTED;
	if (method[0] == 'P' && s->c->request.header(s->c->request.user, "content-range") != NULL)
		return S3_PARTIAL;
	if (strcmp(method, "HEAD") == 0)
		return head_object(s);
	if (strcmp(method, "POST") == 0)
		return asks(s, "uploads") ? s3_create(s) : asks(s, "uploadId") ? s3_complete(s) : S3_NOT_IMPLEMENTED;
	if (strcmp(method, "PUT") == 0)
		return asks(s, "uploadId") || asks(s, "partNumber") ? s3_upload_part(s) : s3_put_object(s);
	if (strcmp(method, "GET") == 0)
		return asks(s, "uploadId") ? s3_list_parts(s) : s3_get_object(s);
	if (strcmp(method, "DELETE") == 0)
		return asks(s, "uploadId") ? s3_abort(s) : s3_delete_object(s);
	return S3_BAD_METHOD;
}

static enum s3_error
read_address(struct s3 *s)
{
	struct arena *mem = s->c->mem;
	const char *path = s->c->request.uri + sizeof(S3_STORAGE) - 1;
	char *copy = arena_copy_n(mem, path, strcspn(path, "?"));
	const size_t bucket = sizeof(S3_BUCKET) - 1;
	long n = percent_decode(copy, strlen(copy), false);

	if (n < 0)
		return S3_BAD_ARGUMENT;
	copy[n] = '\0';
	path = *copy == '/' ? copy + 1 : copy;
	s->bucket = *path == '\0' ? &S3_STORAGE[1] : S3_BUCKET;
	s->prefix = *path == '\0' ? S3_BUCKET "/" : "";
	if (*path == '\0')
		return S3_FINE;
	if (strncmp(path, S3_BUCKET, bucket) != 0 || (path[bucket] != '\0' && path[bucket] != '/'))
		return S3_NO_SUCH_BUCKET;
	path += bucket;
	path += *path == '/';
	s->key = *path != '\0' ? path : NULL;
	return S3_FINE;
}

static enum s3_error
run(struct s3 *s)
{
	enum s3_error error = read_address(s);

	if (error == S3_FINE)
		error = authenticate(s);
	if (error != S3_FINE)
		return error;
	if (s->key == NULL)
		return on_bucket(s);
	if (strcmp(s->key, uuid_text(s->c->mem, s->c->upload_id)) != 0)
		return S3_ACCESS_DENIED;
	return on_object(s);
}

static void
put_error(struct s3_call *c)
{
	const struct s3_error_info *info = s3_error_info(c->error);

	c->status = info->status;
	c->headers = c->body = BUF(c->mem);
	buf_text(&c->body, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>");
	s3_put(&c->body, "Code", info->code);
	s3_put(&c->body, "Message", c->detail != NULL ? c->detail : info->text);
	s3_put(&c->body, "Resource", arena_copy_n(c->mem, c->request.uri, strcspn(c->request.uri, "?")));
	s3_put(&c->body, "RequestId", c->request_id);
	buf_text(&c->body, "</Error>");
	buf_text(&c->headers, "Content-Type: application/xml\r\n");
}

void
s3_run(struct s3_call *c)
{
	struct s3 s = { .c = c };

	c->headers = c->body = BUF(c->mem);
	c->status = 200;
	c->error = run(&s);
	if (s.seated)
		room_leave(c->in->room, &s.seat);
	if (c->error != S3_FINE)
		put_error(c);
}
