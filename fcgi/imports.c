/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/uploads/imports: files that jobs fetch from addresses and make assets */
#include <string.h>

#include "core/import.h"
#include "core/job.h"
#include "core/principal.h"
#include "core/spoken.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "fcgi/uploads.h"

enum { FILES_MAX = 100, WAITING_MAX = 1000 };	/* of an import; of a principal */

/* What is being fetched is an upload, whose row tells how far it is; a file that waits for a job which is gone has
 * failed with it. */
#define FILE_STATUS_SQL(f, j) "(CASE WHEN " f ".status <> 'waiting' THEN " f ".status WHEN " j ".state = 'running' THEN 'importing' " \
	"WHEN " j ".state IN ('ready', 'delayed', 'waiting') THEN 'waiting' WHEN " j ".state = 'cancelled' THEN 'cancelled' " \
	"ELSE 'failed' END)"
/* By the bytes that have come of how many there are, or as its job says, which knows more of a page.  What is whole is
 * on its way until it is an asset. */
#define PROGRESS_SQL "IF(t.status = 'completed', 100, LEAST(99, GREATEST(COALESCE(j.progress, 0), " \
	"COALESCE(CAST(FLOOR(x.received_bytes * 100 / x.file_size) AS SIGNED), 0))))"
#define COUNT_SQL(word) "SUM(" FILE_STATUS_SQL("f", "j") " = '" word "')"

struct import_file {
	struct uuid id;
	const char *url, *name, *filename, *transcription_language_code, *status;
	int64_t progress;
	struct number received_bytes, file_size;
	struct nested error;
	struct strings error_messages;
	struct uuid upload_id, media_id;
};
static const struct field import_file_fields[] = {
	FIELD(struct import_file, id, .on = SERVER, .required = true, .doc = "Unique id; the asset it becomes has the same one"),
	FIELD(struct import_file, url, .on = CREATE, .required = true, .min = 8, .max = 4096, .format = "uri",
	    .doc = "Where it is: a public address of http or https that gives the file itself. What is behind ? may be "
	    "a signature, and is told to who made the import alone"),
	FIELD(struct import_file, name, .on = CREATE, .required = true, .min = 1, .max = 255, .doc = "Name of the asset"),
	FIELD(struct import_file, filename, .on = CREATE | OMIT_NULL | MULTILINE, .min = 1, .max = 1024,
	    .doc = "Name of the file, a label only; as its server or its address calls it when it is left out"),
	FIELD(struct import_file, transcription_language_code, .on = CREATE | OMIT_NULL, .max = 35,
	    .doc = "Language to transcribe: a BCP 47 tag, translate-en, or auto; left out: those of the "
	    "tenant's settings"),
	FIELD(struct import_file, status, .on = SERVER, .required = true, .one_of = "waiting importing completed failed cancelled",
	    .sql = FILE_STATUS_SQL("t", "j"), .doc = "waiting: for its turn, or to be tried again"),
	FIELD(struct import_file, progress, .on = SERVER, .required = true, .max = 100, .sql = PROGRESS_SQL,
	    .doc = "Percent that have come; 100: it is an asset. A guess that grows with the bytes where its server "
	    "does not say how many there are"),
	FIELD(struct import_file, received_bytes, .on = OMIT_NULL, .sql = "x.received_bytes", .doc = "Bytes that have come"),
	FIELD(struct import_file, file_size, .on = OMIT_NULL, .sql = "x.file_size", .doc = "Bytes of it, once its server has said so"),
	FIELD(struct import_file, error, .on = SERVER | OMIT_NULL, .of = &job_error_record,
	    .sql = "IF(t.status = 'waiting', j.error, NULL)", .doc = "Why it has failed, or is tried again"),
	FIELD(struct import_file, error_messages, .on = COMPUTED, .required = true,
	    .doc = "The same in sentences for people; empty as long as nothing is wrong"),
	FIELD(struct import_file, upload_id, .on = SERVER | OMIT_NULL, .sql = "x.id",
	    .doc = "The upload that its bytes are, once they come; see /v2/uploads"),
	FIELD(struct import_file, media_id, .on = SERVER | OMIT_NULL, .sql = "IF(t.status = 'completed', t.id, NULL)",
	    .doc = "The asset it became"),
};
static const struct record import_file_record = RECORD("ImportFile", struct import_file, import_file_fields);

struct import_new { struct list files; struct uuid channel; };
static const struct field import_new_fields[] = {
	FIELD(struct import_new, files, .on = CREATE, .required = true, .min = 1, .max = FILES_MAX, .of = &import_file_record,
	    .doc = "What is to be fetched"),
	FIELD(struct import_new, channel, .on = CREATE, .doc = "Channel of the assets; the default channel of the tenant when it is left out"),
};
static const struct record import_new_record = RECORD("ImportNew", struct import_new, import_new_fields);

struct import {
	struct uuid id, tenant_id, principal_id, channel;
	const char *principal_name, *scopes, *status;
	struct list files;
	int64_t version;
	struct moment created_at, updated_at;
};
static const struct field import_fields[] = {
	FIELD(struct import, id, .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct import, tenant_id, .on = SERVER | HIDDEN, .doc = "Its tenant"),
	FIELD(struct import, principal_id, .on = SERVER | HIDDEN, .doc = "Who made it"),
	FIELD(struct import, principal_name, .on = SERVER | HIDDEN, .doc = "Name of who made it"),
	FIELD(struct import, scopes, .on = SERVER | HIDDEN, .doc = "Of the token that made it"),
	FIELD(struct import, channel, .on = SERVER, .required = true, .sql = "t.channel_id", .doc = "Channel of the assets"),
	FIELD(struct import, status, .on = SERVER, .required = true, .one_of = "waiting importing completed failed cancelled",
	    .sql = "(SELECT CASE WHEN " COUNT_SQL("waiting") " = COUNT(*) THEN 'waiting' WHEN " COUNT_SQL("waiting")
	    " + "
	    COUNT_SQL("importing") " > 0 THEN 'importing' WHEN " COUNT_SQL("failed") " > 0 THEN 'failed' WHEN "
	    COUNT_SQL("cancelled") " > 0 THEN 'cancelled' ELSE 'completed' END FROM import_files f LEFT JOIN jobs j "
	    "ON j.id = f.job_id WHERE f.import_id = t.id)",
	    .doc = "Of all its files. When it is over: failed, if one of them has failed; cancelled, if one was "
	    "cancelled"),
	FIELD(struct import, files, .on = COMPUTED | DETAIL, .required = true, .of = &import_file_record,
	    .doc = "How far each one is; not in lists"),
	FIELD(struct import, version, .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct import, created_at, .on = SERVER | FILTER | SORT, .required = true, .doc = "When it was made; it goes after 30 days"),
	FIELD(struct import, updated_at, .on = SERVER, .required = true, .doc = "Last change"),
};
static const struct record import_record = RECORD("Import", struct import, import_fields);

const struct object import_object = {
	.path = "/v2/uploads/imports/{importId}", .reach = REACH_OWNER, .record = &import_record,
	.from = "FROM imports t WHERE t.id = ?",
};

/* What this caller is told of a file.  An address may be open to whoever has it: a SuperAdmin sees where it leads. */
static void
tell_file(struct req *r, const struct import *m, struct import_file *f)
{
	const struct job_error *e = f->error.row;
	const char **message = arena_array(r->mem, 1, sizeof(*message));

	if (!uuid_equal(m->principal_id, r->who->id))
		f->url = arena_copy_n(r->mem, f->url, strcspn(f->url, "?#"));
	if (e != NULL)
		*message = e->detail != NULL ? e->detail : e->remedy;
	f->error_messages = (struct strings){ message, e != NULL };
}

/* How far its files are changes without a word of its row: the tag is of what is told. */
static int
import_reply(struct req *r, int status, struct import *m)
{
	struct import_file *f;

	if (m == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	m->files.rows = f = db_rows(r->db, &import_file_record, "FROM import_files t LEFT JOIN jobs j ON j.id = "
	    "t.job_id LEFT JOIN uploads x ON x.id = t.id WHERE t.import_id = ? ORDER BY t.position", ARGS(ID(m->id)),
	    &m->files.n);
	for (size_t i = 0; i < m->files.n; i++)
		tell_file(r, m, &f[i]);
	r->etag = reply_tag(r, &import_record, m);
	return status == 201 ? reply_created(r, &import_record, m, m->id) : reply(r, status, &import_record, m);
}

static int
imports_list(struct req *r)
{
	struct import *rows;
	size_t n;

	if (r->who->is_super_admin)
		rows = db_list(r->db, &import_record, "FROM imports t WHERE t.tenant_id = ?",
		    ARGS(ID(r->who->tenant_id)), &r->page, &n);
	else
		rows = db_list(r->db, &import_record, "FROM imports t WHERE t.tenant_id = ? AND t.principal_id = ?",
		    ARGS(ID(r->who->tenant_id), ID(r->who->id)), &r->page, &n);
	return reply_list(r, &import_record, rows, n);
}

static void
check_file(struct req *r, size_t i, struct import_file *f)
{
	const char *language = f->transcription_language_code;

	fault_address(r, arena_printf(r->mem, "/files/%zu/url", i), import_refuse_url(r->conf, r->mem, f->url));
	f->transcription_language_code = language != NULL ? spoken_plain(r->mem, language) : NULL;
	if (language != NULL && !asset_language_fits(f->transcription_language_code))
		fault(r, arena_printf(r->mem, "/files/%zu/transcriptionLanguageCode", i), "format",
		    "a BCP 47 tag is wanted, for example en or de-CH, or translate-en");
}

static void
add_files(struct req *r, const struct import *m, const struct list *files)
{
	const struct import_file *f = files->rows;
	const struct job_place place = { .tenant_id = m->tenant_id };

	for (size_t i = 0; i < files->n; i++) {
		const struct uuid id = uuid_new(), job_id = job_add(r->db, import, place, .file_id = id);

		db_run(r->db, "INSERT INTO import_files (id, import_id, position, url, name, filename, "
		    "transcription_language_code, job_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(id), ID(m->id),
		    INT((int64_t)i), STR(f[i].url), STR(f[i].name), STR(f[i].filename),
		    STR(f[i].transcription_language_code), ID(job_id)));
	}
}

static int
import_create(struct req *r)
{
	const struct import_new *in = r->in;
	struct import_file *f = in->files.rows;
	struct import *m = NEW(r->mem, struct import);
	struct uuid channel_id;

	for (size_t i = 0; i < in->files.n; i++)
		check_file(r, i, &f[i]);
	channel_id = upload_channel(r, in->channel, "/channel");
	if (uuid_is_none(channel_id))
		return r->status;
	principal_hold(r->db, r->who->id);
	if (db_number(r->db, "SELECT COUNT(*) FROM imports m JOIN import_files f ON f.import_id = m.id JOIN jobs j ON "
	    "j.id = f.job_id WHERE m.tenant_id = ? AND m.principal_id = ? AND f.status = 'waiting' AND j.state IN "
	    "('ready', 'running', 'delayed')", ARGS(ID(r->who->tenant_id), ID(r->who->id)), 0) + (int64_t)in->files.n > WAITING_MAX)
		return refuse(r, ERR_TOO_MANY_UPLOADS, "Too many files wait to be imported. Wait until some are here.");
	*m = (struct import){ .id = uuid_new(), .tenant_id = r->who->tenant_id, .principal_id = r->who->id,
	    .channel = channel_id, .principal_name = r->who->name, .scopes = scope_text(r->mem, r->who->scopes),
	    .status = "waiting", .version = 1, .created_at = r->now, .updated_at = r->now };
	db_run(r->db, "INSERT INTO imports (id, tenant_id, principal_id, principal_name, scopes, channel_id, "
	    "created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(m->id), ID(m->tenant_id), ID(m->principal_id),
	    STR(m->principal_name), STR(m->scopes), ID(m->channel), TIME(r->now), TIME(r->now)));
	add_files(r, m, &in->files);
	return import_reply(r, 201, m);
}

static int
import_get(struct req *r)
{
	return import_reply(r, 200, r->object);
}

struct stopped { struct uuid id, job_id; };
static const struct field stopped_fields[] = {
	FIELD(struct stopped, id, .doc = "The file"),
	FIELD(struct stopped, job_id, .doc = "What fetches it"),
};
static const struct record stopped_record = RECORD("StoppedImport", struct stopped, stopped_fields);

/* What has become an asset stays one.  Rows are locked in the order in which the job does it. */
static int
import_cancel(struct req *r)
{
	const struct import *m = r->object;
	const struct stopped *f;
	size_t n, i;

	f = db_rows(r->db, &stopped_record, "FROM import_files t JOIN jobs j ON j.id = t.job_id WHERE t.import_id = ? "
	    "AND t.status = 'waiting' AND j.state IN ('ready', 'running', 'delayed', 'waiting') FOR UPDATE",
	    ARGS(ID(m->id)), &n);
	for (i = 0; i < n; i++) {
		db_run(r->db, "UPDATE import_files SET status = 'cancelled' WHERE id = ?", ARGS(ID(f[i].id)));
		job_cancel(r->db, f[i].job_id);
		upload_drop(r, f[i].id);
	}
	if (n > 0)
		db_run(r->db, "UPDATE imports SET version = version + 1, updated_at = ? WHERE id = ?",
		    ARGS(TIME(r->now), ID(m->id)));
	return import_reply(r, 200, object_again(r));
}

const struct route imports_routes[] = {
	{
		GET, "/v2/uploads/imports", SCOPE_CREATE_CONTENT, imports_list, NULL, &import_record,
		"List the imports of the caller, or all of the tenant for a SuperAdmin",
		.flags = LIST, .fails = "403 422",
	},
	{
		POST, "/v2/uploads/imports", SCOPE_CREATE_CONTENT, import_create, &import_new_record, &import_record,
		"Fetch files from addresses and make them assets",
		.flags = SOMEWHERE, .success = 201, .fails = "403 409 422 429",
		.codes = "no_default_channel channel_closing too_many_uploads",
	},
	{
		GET, "/v2/uploads/imports/{importId}", SCOPE_CREATE_CONTENT, import_get, NULL, &import_record,
		"Get an import and how far each of its files is",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		PUT, "/v2/uploads/imports/{importId}/cancel", SCOPE_CREATE_CONTENT, import_cancel, NULL, &import_record,
		"Stop an import and drop what has come of files that are no assets yet",
		.flags = CONDITIONAL | ACTION, .fails = "403 404 412",
	},
	{ 0 }
};
