/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/uploads: announce a file, watch it arrive, make it an asset.  The bytes go to kinothek-upload. */
#include <ctype.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "core/asset.h"
#include "core/job.h"
#include "core/quota.h"
#include "core/seal.h"
#include "core/store.h"
#include "fcgi/asset_view.h"
#include "fcgi/uploads.h"

enum { PARTS_MAX = 10000 };	/* of an object in an object store */

/* What a put takes, or what a multipart transfer does. */
struct upload_input {
	const char *url, *method;
	struct json headers;
	const char *endpoint, *region, *bucket, *key, *access_key_id, *secret_access_key, *session_token;
	struct number part_size;
};
static const struct field upload_input_fields[] = {
	FIELD(struct upload_input, url, .on = OMIT_NULL, .format = "uri",
	    .doc = "put and tus: address for the bytes. It opens this upload to everyone who has it, until they have "
	    "arrived"),
	FIELD(struct upload_input, method, .on = OMIT_NULL, .one_of = "PUT", .doc = "put: HTTP method"),
	FIELD(struct upload_input, headers, .on = OMIT_NULL, .format = "object", .doc = "put: headers to send: an object of names and values"),
	FIELD(struct upload_input, endpoint, .on = OMIT_NULL, .format = "uri",
	    .doc = "multipart: of the object store, for any client of Amazon S3; addresses are in path style"),
	FIELD(struct upload_input, region, .on = OMIT_NULL, .doc = "multipart: region to sign for"),
	FIELD(struct upload_input, bucket, .on = OMIT_NULL, .doc = "multipart: bucket"),
	FIELD(struct upload_input, key, .on = OMIT_NULL, .doc = "multipart: the one key that the credentials reach"),
	FIELD(struct upload_input, access_key_id, .on = OMIT_NULL, .doc = "multipart: credentials, which end with the upload"),
	FIELD(struct upload_input, secret_access_key, .on = OMIT_NULL, .doc = "multipart: their secret"),
	FIELD(struct upload_input, session_token, .on = OMIT_NULL, .doc = "multipart: their session token, without which they are worth nothing"),
	FIELD(struct upload_input, part_size, .on = OMIT_NULL, .doc = "multipart: bytes of a part that fit this file"),
};
static const struct record upload_input_record = RECORD("UploadInput", struct upload_input, upload_input_fields);

static const struct field upload_fields[] = {
	FIELD(struct upload, id, .on = SERVER, .required = true, .doc = "Unique id; the asset it becomes has the same one"),
	FIELD(struct upload, tenant_id, .on = SERVER | HIDDEN, .doc = "Its tenant"),
	FIELD(struct upload, principal_id, .on = SERVER | HIDDEN, .doc = "Who made it"),
	FIELD(struct upload, principal_name, .on = SERVER | HIDDEN, .doc = "Name of who made it"),
	FIELD(struct upload, file_name, .on = SERVER | FILTER, .required = true, .doc = "Name of the file, a label only"),
	FIELD(struct upload, type, .on = SERVER, .required = true, .one_of = "put multipart tus import",
	    .doc = "How the bytes come; import: from an address, see /v2/uploads/imports"),
	FIELD(struct upload, file_size, .on = SERVER, .doc = "Bytes as declared"),
	FIELD(struct upload, transcript_language_codes, .on = SERVER, .doc = "Languages to transcribe"),
	FIELD(struct upload, status, .on = SERVER | FILTER, .required = true,
	    .one_of = "waiting uploading uploaded completing completed cancelled errored timedOut", .doc = "State"),
	FIELD(struct upload, received_bytes, .required = true, .doc = "Bytes that have arrived; brought up to date every few seconds"),
	FIELD(struct upload, mime_type, .doc = "What the content is, once it has arrived"),
	FIELD(struct upload, sha256, .sql = "LOWER(HEX(t.sha256))", .doc = "SHA-256 of what has arrived, in hex"),
	FIELD(struct upload, error, .on = OMIT_NULL, .of = &job_error_record, .doc = "Why it is errored"),
	FIELD(struct upload, media_id, .doc = "The asset it became"),
	FIELD(struct upload, expires_at, .on = SERVER, .required = true, .doc = "Then it is dropped; received bytes push it back"),
	FIELD(struct upload, input, .on = COMPUTED | OMIT_NULL | DETAIL, .of = &upload_input_record,
	    .doc = "Where the bytes go; shown once, when the upload is made"),
	FIELD(struct upload, version, .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct upload, created_at, .on = SERVER | FILTER | SORT, .required = true, .doc = "When it was made"),
	FIELD(struct upload, updated_at, .on = SERVER, .required = true, .doc = "When it was last changed"),
};
const struct record upload_record = RECORD("Upload", struct upload, upload_fields);

struct upload_new { const char *file_name, *type; struct number file_size; struct strings transcript_language_codes; };
static const struct field upload_new_fields[] = {
	FIELD(struct upload_new, file_name, .on = CREATE | MULTILINE, .required = true, .min = 1, .max = 1024,
	    .doc = "Name of the file, a label only: what it is follows from its content"),
	FIELD(struct upload_new, type, .on = CREATE, .one_of = "put multipart tus", .preset = "\"multipart\"",
	    .doc = "How the bytes come: in one PUT, in parts by a client of object stores, or by a client of tus"),
	FIELD(struct upload_new, file_size, .on = CREATE, .min = 1, .doc = "Bytes of the file; when given, no other number is taken. tus wants it"),
	FIELD(struct upload_new, transcript_language_codes, .on = CREATE, .max = 10,
	    .doc = "Languages to transcribe: BCP 47 tags, translate-en, or auto; left out: those of the "
	    "tenant's settings"),
};
static const struct record upload_new_record = RECORD("UploadNew", struct upload_new, upload_new_fields);

struct completion { struct uuid channel_id; const char *name; };
static const struct field completion_fields[] = {
	FIELD(struct completion, channel_id, .on = CREATE, .doc = "Channel of the asset; the default channel of the tenant when it is left out"),
	FIELD(struct completion, name, .on = CREATE, .min = 1, .max = 255, .doc = "Name of the asset; the file name without its ending when it is left out"),
};
static const struct record completion_record = RECORD("UploadCompletion", struct completion, completion_fields);

/* What is on its way already: of the tenant, and of the caller in it. */
struct burden { int64_t n, bytes, own_n, own_bytes; };
static const struct field burden_fields[] = {
	FIELD(struct burden, n, .doc = "Uploads"),
	FIELD(struct burden, bytes, .doc = "Their bytes"),
	FIELD(struct burden, own_n, .doc = "Uploads of the caller"),
	FIELD(struct burden, own_bytes, .doc = "Their bytes"),
};
static const struct record burden_record = RECORD("UploadBurden", struct burden, burden_fields);

/* Another principal's upload is not there, unless the caller is a SuperAdmin. */
const struct object upload_object = {
	.path = "/v2/uploads/{uploadId}", .reach = REACH_OWNER, .record = &upload_record,
	.from = "FROM uploads t WHERE t.id = ?",
};

static int
refuse_by_quota(struct req *r)
{
	return refuse(r, ERR_NO_SPACE, "The storage quota of the tenant has no room for this file.");
}

static int64_t
counted_bytes(const struct req *r)
{
	return r->tus != NULL ? r->tus->counted_bytes : 0;
}

static bool
has_room(struct req *r, int64_t size)
{
	/* Renditions take about one and a half times the room of the file they are made from. */
	if (store_incoming_free() < size || store_free() < size + size / 2 * 3) {
		refuse(r, ERR_NO_SPACE, "The disk has no room for this file and what is made from it.");
		return false;
	}
	if (quota_left(r->db, r->who->tenant_id, (struct uuid){ { 0 } }, INT64_MAX) < size - counted_bytes(r)) {
		refuse_by_quota(r);
		return false;
	}
	return true;
}

/* Nobody fills the disk with promises.  Calls at the same moment may each be the last one that is let in. */
static bool
may_open(struct req *r, int64_t size)
{
	const int64_t most = r->conf->upload_open_max, reserve = r->conf->upload_reserved_max;
	const struct burden *b;

	b = db_row(r->db, &burden_record, "FROM (SELECT COUNT(*) AS n, CAST(COALESCE(SUM(o.bytes), 0) AS SIGNED) AS "
	    "bytes, CAST(COALESCE(SUM(o.own), 0) AS SIGNED) AS own_n, CAST(COALESCE(SUM(o.own * o.bytes), 0) AS SIGNED) "
	    "AS own_bytes FROM (SELECT COALESCE(u.file_size, u.received_bytes) AS bytes, u.principal_id = ? AS own FROM "
	    "uploads u WHERE u.tenant_id = ? AND u.status IN ('waiting', 'uploading', 'uploaded') AND u.expires_at > ?) "
	    "o) t", ARGS(ID(r->who->id), ID(r->who->tenant_id), TIME(r->now)));
	if (b == NULL)
		return true;		/* failed, which the dispatcher says */
	if (b->n >= most || b->own_n >= most / 2) {
		refuse(r, ERR_TOO_MANY_UPLOADS, NULL);
		return false;
	}
	if ((b->n > 0 && b->bytes + size > reserve) || (b->own_n > 0 && b->own_bytes + size > reserve / 2)) {
		refuse(r, ERR_NO_SPACE, "The uploads that are open have no room for this file beside them. Complete or "
		    "cancel some.");
		return false;
	}
	return true;
}

/* A new ticket: the client gets it, the row only its hash. */
static const char *
ticket_new(struct req *r, struct uuid upload_id)
{
	unsigned char secret[32], hash[32];
	const char *ticket;

	random_bytes(secret, sizeof(secret));
	ticket = base64url_encode(r->mem, secret, sizeof(secret));
	EVP_Digest(ticket, strlen(ticket), hash, NULL, EVP_sha256(), NULL);
	db_run(r->db, "UPDATE uploads SET ticket_hash = ? WHERE id = ?", ARGS(BYTES(hash, sizeof(hash)),
	    ID(upload_id)));
	return ticket;
}

/* See fcgi/upload/tus.h. */
static struct upload_input *
input_of_tus(struct req *r, const struct upload *u)
{
	struct upload_input *input = NEW(r->mem, struct upload_input);

	*input = (struct upload_input){ .url = arena_printf(r->mem, "%s/upload/tus/%s?ticket=%s", r->conf->public_url,
	    uuid_text(r->mem, u->id), ticket_new(r, u->id)) };
	return input;
}

static struct upload_input *
input_of_put(struct req *r, const struct upload *u)
{
	struct upload_input *input = NEW(r->mem, struct upload_input);

	*input = (struct upload_input){ .method = "PUT",
	    .headers = { "{\"Content-Type\":\"application/octet-stream\"}" }, .url = arena_printf(r->mem,
	    "%s/upload/%s?ticket=%s", r->conf->public_url, uuid_text(r->mem, u->id), ticket_new(r, u->id)) };
	return input;
}

/* Whole MiB, so that the largest file that it may be has no more parts than there may be. */
static int64_t
part_size(const struct conf *conf, struct number file_size)
{
	const int64_t most = file_size.set ? file_size.n : conf->upload_max_size, mib = 1 << 20, least = 8 * mib,
	    wanted = (most / PARTS_MAX + mib) / mib * mib;

	return wanted > least ? wanted : least;
}

/* See fcgi/upload/s3.h. */
static struct upload_input *
input_of_parts(struct req *r, const struct upload *u)
{
	struct upload_input *input = NEW(r->mem, struct upload_input);
	const char *token = ticket_new(r, u->id);

	*input = (struct upload_input){ .endpoint = arena_printf(r->mem, "%s/storage", r->conf->public_url),
	    .region = "us-east-1", .bucket = "uploads", .key = uuid_text(r->mem, u->id),
	    .access_key_id = hex_encode(r->mem, u->id.b, sizeof(u->id.b)), .session_token = token,
	    .secret_access_key = seal_proof(r->conf, r->mem, UPLOAD_SECRET, token),
	    .part_size = { part_size(r->conf, u->file_size), true } };
	return input;
}

static int
uploads_list(struct req *r)
{
	struct upload *rows;
	size_t n;

	if (r->who->is_super_admin)
		rows = db_list(r->db, &upload_record, "FROM uploads t WHERE t.tenant_id = ?",
		    ARGS(ID(r->who->tenant_id)), &r->page, &n);
	else
		rows = db_list(r->db, &upload_record, "FROM uploads t WHERE t.tenant_id = ? AND t.principal_id = ?",
		    ARGS(ID(r->who->tenant_id), ID(r->who->id)), &r->page, &n);
	return reply_list(r, &upload_record, rows, n);
}

struct way { const char *type; struct upload_input *(*input)(struct req *, const struct upload *); };
static const struct way ways[] = { { "multipart", input_of_parts }, { "put", input_of_put }, { "tus", input_of_tus } };

static const struct way *
way_of(const char *type)
{
	const struct way *way = ways;

	while (type != NULL && strcmp(type, way->type) != 0)
		way++;
	return way;
}

/* The same file of the same parts, whose maker did not hear of it: it gets another ticket.  One that has not arrived is
 * made once more, if all of its parts are there.  That the tickets are right which it names, who asks has seen. */
static struct upload *
made_before(struct req *r)
{
	const struct upload_tus *t = r->tus;

	if (t == NULL || t->upload_concat == NULL)
		return NULL;
	return db_row(r->db, &upload_record, "FROM uploads t WHERE t.tenant_id = ? AND t.principal_id = ? AND "
	    "t.upload_concat = ? AND (t.status = 'completed' OR (t.expires_at > ? AND (t.status = 'uploaded' OR (NOT ? "
	    "AND t.status IN ('waiting', 'uploading'))))) ORDER BY t.id DESC LIMIT 1 FOR UPDATE",
	    ARGS(ID(r->who->tenant_id), ID(r->who->id), STR(t->upload_concat), TIME(r->now), INT(t->is_again)));
}

static void
keep_tus(struct req *r, const struct upload *u)
{
	const struct upload_tus *t = r->tus;

	if (t != NULL)
		db_run(r->db, "UPDATE uploads SET is_partial = ?, upload_concat = ?, upload_metadata = ? WHERE id = ?",
		    ARGS(INT(t->is_partial), STR(t->upload_concat), STR(t->upload_metadata), ID(u->id)));
}

/* Are its members right, and may it be as large as it says? */
static bool
is_fit(struct req *r, const struct way *way)
{
	const struct upload_new *in = r->in;
	const long long most = r->conf->upload_max_size;
	const bool is_too_large = in->file_size.set && in->file_size.n > most;

	if (is_too_large)
		fault(r, "/fileSize", "too_large", "at most %lld", most);
	if (way->input == input_of_tus && !in->file_size.set)
		fault(r, "/fileSize", "required", "tus is to be told how long the file is");
	asset_check_languages(r, "transcriptLanguageCodes", &in->transcript_language_codes);
	if (is_too_large && r->faults.n == 1)
		refuse(r, ERR_TOO_LARGE, "Files may have up to %lld bytes here.", most);
	else if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return r->status == 0;
}

/* The bytes of one tenant are counted by its quota alone, and read by nobody else, whatever tickets they have. */
static bool
is_own(struct req *r)
{
	const struct upload_tus *t = r->tus;

	if (t == NULL || uuid_is_none(t->tenant_id) || uuid_equal(t->tenant_id, r->who->tenant_id))
		return true;
	refuse(r, ERR_FORBIDDEN, "Parts that another tenant has brought make no file here.");
	return false;
}

static int
upload_create(struct req *r)
{
	const struct upload_new *in = r->in;
	const struct way *way = way_of(in->type);
	struct upload *u;

	if (!is_fit(r, way) || !is_own(r))
		return r->status;
	u = made_before(r);
	if (u != NULL) {
		u->input.row = way->input(r, u);
		return reply_created(r, &upload_record, u, u->id);
	}
	if (r->tus != NULL && r->tus->is_again)
		return refuse(r, ERR_INVALID, "Some of its parts are gone.");
	if (!has_room(r, in->file_size.set ? in->file_size.n : 1) ||
	    !may_open(r, in->file_size.set ? in->file_size.n - counted_bytes(r) : 0))
		return r->status;
	u = NEW(r->mem, struct upload);
	*u = (struct upload){ .id = uuid_new(), .tenant_id = r->who->tenant_id, .principal_id = r->who->id,
	    .principal_name = r->who->name, .file_name = in->file_name, .type = way->type,
	    .file_size = in->file_size,
	    .transcript_language_codes = in->transcript_language_codes, .status = "waiting", .version = 1,
	    .expires_at = { r->now.ms + r->conf->upload_lifetime * 1000 }, .created_at = r->now, .updated_at = r->now };
	asset_languages(r->db, u->tenant_id, &u->transcript_language_codes);
	db_insert(r->db, "uploads", &upload_record, u);
	keep_tus(r, u);
	u->input.row = way->input(r, u);
	/* Others may have asked at the same moment, and had the same room. */
	if (u->file_size.set && !quota_holds(r->db, u->tenant_id, counted_bytes(r)))
		return refuse_by_quota(r);
	return reply_created(r, &upload_record, u, u->id);
}

static int
upload_get(struct req *r)
{
	return reply(r, 200, &upload_record, r->object);
}

/* What was told when the bytes were refused, once more. */
static int
refuse_content(struct req *r, const struct upload *u)
{
	const struct job_error *e = u->error.row;

	if (e == NULL)
		return refuse(r, ERR_UPLOAD_REFUSED, NULL);
	fault(r, "", e->code, "%s", e->remedy);
	return refuse(r, ERR_UPLOAD_REFUSED, "The file of this upload was refused. %s", e->remedy);
}

/* Why an upload cannot be completed in its state. */
static int
refuse_by_status(struct req *r, const struct upload *u)
{
	if (strcmp(u->status, "timedOut") == 0 || strcmp(u->status, "uploaded") == 0)
		return refuse(r, ERR_UPLOAD_EXPIRED, NULL);
	if (strcmp(u->status, "cancelled") == 0)
		return refuse(r, ERR_UPLOAD_CANCELLED, NULL);
	if (strcmp(u->status, "errored") == 0)
		return refuse_content(r, u);
	return refuse(r, ERR_UPLOAD_NOT_RECEIVED, strcmp(u->type, "multipart") == 0
	    ? "The file has not arrived yet: send its parts with the credentials of input, and end them with "
	    "CompleteMultipartUpload." : NULL);
}

/* The row is locked: of any number of calls exactly one makes the asset; all others see what it did. */
static int
upload_complete(struct req *r)
{
	const struct upload *u = r->object;
	const struct completion *in = r->in;

	if (strcmp(u->status, "completed") == 0)
		return reply(r, 200, &upload_record, u);
	if (strcmp(u->status, "uploaded") != 0 || u->expires_at.ms <= r->now.ms)
		return refuse_by_status(r, u);
	if (!upload_finish(r, u, in->channel_id, in->name))
		return r->status;
	return reply(r, 200, &upload_record, object_again(r));
}

static int
upload_cancel(struct req *r)
{
	const struct upload *u = r->object;

	if (strcmp(u->status, "cancelled") == 0)
		return reply(r, 200, &upload_record, u);
	if (!upload_drop(r, u->id))
		return strcmp(u->status, "errored") == 0 ? refuse_content(r, u) : refuse(r, strcmp(u->status,
		    "completed") == 0 ? ERR_UPLOAD_COMPLETED : ERR_UPLOAD_EXPIRED, NULL);
	return reply(r, 200, &upload_record, object_again(r));
}

/* Only the row: the asset stays. */
static int
upload_delete(struct req *r)
{
	const struct upload *u = r->object;

	if (strcmp(u->status, "completed") != 0)
		return refuse(r, ERR_UPLOAD_NOT_COMPLETED, NULL);
	db_run(r->db, "DELETE FROM uploads WHERE id = ?", ARGS(ID(u->id)));
	return reply_deleted(r, u->id, true);
}

const struct route uploads_routes[] = {
	{
		GET, "/v2/uploads", SCOPE_CREATE_CONTENT, uploads_list, NULL, &upload_record,
		"List the uploads of the caller, or all of the tenant for a SuperAdmin",
		.flags = LIST, .fails = "403 422",
	},
	{
		POST, "/v2/uploads", SCOPE_CREATE_CONTENT, upload_create, &upload_new_record, &upload_record,
		"Announce a file and get the address its bytes go to",
		.flags = SOMEWHERE, .success = 201, .fails = "403 413 422 429 507", .codes = "too_many_uploads",
	},
	{
		GET, "/v2/uploads/{uploadId}", SCOPE_CREATE_CONTENT, upload_get, NULL, &upload_record,
		"Get an upload",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		PUT, "/v2/uploads/{uploadId}/complete", SCOPE_CREATE_CONTENT, upload_complete, &completion_record,
		&upload_record,
		"Make the received file an asset and start its processing",
		.flags = CONDITIONAL | OPTIONAL_BODY, .fails = "403 404 409 410 412 422 507",
		.codes = "upload_not_received upload_cancelled upload_refused upload_expired duplicate_file "
		    "no_default_channel channel_closing",
	},
	{
		PUT, "/v2/uploads/{uploadId}/cancel", SCOPE_CREATE_CONTENT, upload_cancel, NULL, &upload_record,
		"Cancel an upload and drop its bytes",
		.flags = CONDITIONAL | ACTION, .fails = "403 404 409 410 412",
		.codes = "upload_completed upload_refused upload_expired",
	},
	{
		METHOD_DELETE, "/v2/uploads/{uploadId}", SCOPE_CREATE_CONTENT, upload_delete, NULL, &deleted_record,
		"Delete a completed upload; its asset stays",
		.flags = CONDITIONAL, .fails = "403 404 409 412", .codes = "upload_not_completed",
	},
	{ 0 }
};
