/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/downloads: files that a job packs into one, with an address that opens it to whoever has it */
#include <string.h>

#include "core/job.h"
#include "core/play.h"
#include "core/principal.h"
#include "core/store.h"
#include "fcgi/access.h"
#include "fcgi/mentions.h"
#include "fcgi/transcripts.h"

enum { SELECTED_MAX = 500, DOWNLOADS_MAX = 100 };	/* of each kind; of a principal */

struct picked_transcript { struct uuid id; const char *format; };
static const struct field picked_transcript_fields[] = {
	FIELD(struct picked_transcript, id, .on = CREATE, .required = true, .doc = "Transcript"),
	FIELD(struct picked_transcript, format, .on = CREATE | OMIT_NULL, .one_of = TRANSCRIPT_FORMS, .preset = "\"json\"",
	    .doc = "Form of its file"),
};
static const struct record picked_transcript_record = RECORD("DownloadTranscript", struct picked_transcript,
    picked_transcript_fields);

struct file { const char *url, *mime_type; int64_t size; };
static const struct field file_fields[] = {
	FIELD(struct file, url, .required = true, .format = "uri", .doc = "Signed address"),
	FIELD(struct file, size, .required = true, .doc = "Bytes"),
	FIELD(struct file, mime_type, .required = true, .doc = "application/zip"),
};
static const struct record file_record = RECORD("DownloadFile", struct file, file_fields);

struct download {
	struct uuid id, tenant_id, principal_id, job_id;
	const char *title, *description, *status, *error, *file, *scopes;
	struct ids selected_media_ids, selected_rendition_ids;
	struct list selected_transcripts, files;
	struct moment expires, created_at, updated_at;
	struct number size, progress;
	int64_t left_out_count, version;
};
static const struct field download_fields[] = {
	FIELD(struct download, id, .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct download, title, .on = CREATE | FILTER, .required = true, .min = 1, .max = 255, .doc = "What it is called, and its file with it"),
	FIELD(struct download, description, .on = CREATE | OMIT_NULL | MULTILINE, .max = 5000, .doc = "For people"),
	FIELD(struct download, selected_media_ids, .on = CREATE, .max = SELECTED_MAX,
	    .doc = "Assets: of each its original for those who may change it by this token, for others its largest "
	    "rendition"),
	FIELD(struct download, selected_rendition_ids, .on = CREATE, .max = SELECTED_MAX,
	    .doc = "Renditions that are one file: mp4, audio, image or pdf"),
	FIELD(struct download, selected_transcripts, .on = CREATE, .max = SELECTED_MAX, .of = &picked_transcript_record,
	    .doc = "Transcripts, each in a form"),
	FIELD(struct download, expires, .on = CREATE | FILTER, .doc = "When it goes; left out: after as many days as the "
	    "tenant has set, which is the longest"),
	FIELD(struct download, status, .on = SERVER, .required = true, .one_of = "preparing ready failed", .sql = "IF(t.status <> "
	    "'preparing', t.status, COALESCE((SELECT IF(j.state IN ('ready', 'running', 'delayed', 'waiting'), 'preparing', 'failed') "
	    "FROM jobs j WHERE j.id = t.job_id), 'failed'))", .doc = "preparing: a job packs it"),
	FIELD(struct download, progress, .on = OMIT_NULL, .sql = "(SELECT j.progress FROM jobs j WHERE j.id = t.job_id AND "
	    "t.status = 'preparing')", .doc = "Of the packing, per cent"),
	FIELD(struct download, error, .on = SERVER | OMIT_NULL, .sql = "COALESCE(t.error, (SELECT JSON_VALUE(j.error, '$.detail') FROM "
	    "jobs j WHERE j.id = t.job_id))", .doc = "Why it has failed"),
	FIELD(struct download, left_out_count, .on = SERVER, .required = true, .doc = "How much of what was selected is not in it, since it "
	    "has gone meanwhile or is not for its maker any more"),
	FIELD(struct download, files, .on = COMPUTED, .required = true, .of = &file_record,
	    .doc = "What there is to fetch when it is ready. The addresses need no token"),
	FIELD(struct download, created_at, .on = SERVER | SORT, .required = true, .doc = "When it was made"),
	FIELD(struct download, updated_at, .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct download, version, .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct download, tenant_id, .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct download, principal_id, .on = SERVER | HIDDEN, .doc = "Who made it"),
	FIELD(struct download, scopes, .on = SERVER | HIDDEN, .doc = "Of the token that made it"),
	FIELD(struct download, job_id, .on = SERVER | HIDDEN, .doc = "What packs it"),
	FIELD(struct download, file, .on = SERVER | HIDDEN, .doc = "Below play/{id}/"),
	FIELD(struct download, size, .on = SERVER | HIDDEN, .doc = "Bytes of it"),
};
static const struct record download_record = RECORD("Download", struct download, download_fields);

const struct object download_object = {
	.path = "/v2/downloads/{downloadId}", .reach = REACH_OWNER, .record = &download_record,
	.from = "FROM downloads t WHERE t.id = ?",
};

/* Something that is selected, and where its asset is. */
struct picked { struct uuid id; struct ids channel_ids; };
static const struct field picked_fields[] = {
	FIELD(struct picked, id, .sql = "x.id", .doc = "What is selected"),
	FIELD(struct picked, channel_ids, .doc = "Channels of its asset"),
};
static const struct record picked_record = RECORD("PickedForDownload", struct picked, picked_fields);

static void
add_files(struct req *r, struct download *d)
{
	struct file *f = NEW(r->mem, struct file);
	char prefix[PLAY_PREFIX_MAX];

	d->files = (struct list){ f, 0 };
	if (strcmp(d->status, "ready") != 0 || d->file == NULL)
		return;
	/* Whoever has the address may fetch it as long as it is there, not for play.lifetime, and no longer. */
	*f = (struct file){ arena_printf(r->mem, "%s%s", play_prefix_until(r->conf, d->id, d->expires.ms / 1000,
	    prefix), d->file), "application/zip", d->size.n };
	d->files.n = 1;
}

static int
download_reply(struct req *r, int status, struct download *d)
{
	if (d == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	add_files(r, d);
	r->etag = reply_tag(r, &download_record, d);
	return status == 201 ? reply_created(r, &download_record, d, d->id) : reply(r, status, &download_record, d);
}

static int
downloads_list(struct req *r)
{
	struct download *rows;
	size_t n, i;

	if (r->who->is_super_admin)
		rows = db_list(r->db, &download_record, "FROM downloads t WHERE t.tenant_id = ?",
		    ARGS(ID(r->who->tenant_id)), &r->page, &n);
	else
		rows = db_list(r->db, &download_record, "FROM downloads t WHERE t.tenant_id = ? AND t.principal_id = ?",
		    ARGS(ID(r->who->tenant_id), ID(r->who->id)), &r->page, &n);
	for (i = 0; i < n; i++)
		add_files(r, &rows[i]);
	return reply_list(r, &download_record, rows, n);
}

static int
download_get(struct req *r)
{
	return download_reply(r, 200, r->object);
}

/* What may not be seen is not there; what may be seen and not read in that way is refused as such. */
static void
judge(struct req *r, const char *member, const char *what, const struct uuid *ids, size_t n, const struct picked *found,
    size_t n_found, enum scope scope)
{
	for (size_t i = 0; i < n; i++) {
		const char *pointer = arena_printf(r->mem, "/%s/%zu", member, i);
		unsigned may = 0;

		for (size_t k = 0; k < n_found; k++)
			if (uuid_equal(found[k].id, ids[i]))
				may = access_by(r, &found[k].channel_ids);
		if ((may & SCOPE_BIT(SCOPE_VIEW_CHANNEL)) == 0)
			fault(r, pointer, "not_found", "there is no such %s", what);
		else if ((may & r->who->scopes & SCOPE_BIT(scope)) == 0)
			fault(r, pointer, "not_allowed", "this needs the permission %s", scope_name(scope));
	}
}

#define PICK "FROM " MENTIONED_IDS " STRAIGHT_JOIN "
#define OF_TENANT " WHERE t.tenant_id = ? AND t.deleted_at = 0"

static void
check_media(struct req *r, const struct ids *ids)
{
	const struct picked *found;
	size_t n;

	if (ids->n == 0)
		return;
	found = db_rows(r->db, &picked_record, PICK "media x ON x.id = UNHEX(j.id) STRAIGHT_JOIN media t ON t.id = x.id"
	    OF_TENANT, ARGS(STR(mentions_json(r->mem, ids->at, ids->n)), ID(r->who->tenant_id)), &n);
	judge(r, "selectedMediaIds", "asset", ids->at, ids->n, found, n, SCOPE_VIEW_CHANNEL);
}

static void
check_renditions(struct req *r, const struct ids *ids)
{
	const struct picked *found;
	size_t n;

	if (ids->n == 0)
		return;
	found = db_rows(r->db, &picked_record, PICK "renditions x ON x.id = UNHEX(j.id) STRAIGHT_JOIN media t ON t.id "
	    "= "
	    "x.media_id AND t.generation = x.generation" OF_TENANT " AND x.kind IN ('mp4', 'audio', 'image', 'pdf') AND "
	    "x.mime_type NOT LIKE '%mpegurl'", ARGS(STR(mentions_json(r->mem, ids->at, ids->n)), ID(r->who->tenant_id)),
	    &n);
	judge(r, "selectedRenditionIds", "rendition that is one file: mp4, audio, image or pdf", ids->at, ids->n, found,
	    n, SCOPE_VIEW_CHANNEL);
}

static void
check_transcripts(struct req *r, const struct list *list)
{
	const struct picked_transcript *t = list->rows;
	struct uuid *ids = arena_array(r->mem, list->n + 1, sizeof(*ids));
	const struct picked *found;
	size_t n, i;

	for (i = 0; i < list->n; i++)
		ids[i] = t[i].id;
	if (list->n == 0)
		return;
	found = db_rows(r->db, &picked_record, PICK "transcripts x ON x.id = UNHEX(j.id) STRAIGHT_JOIN media t ON "
	    "t.id = x.media_id" OF_TENANT, ARGS(STR(mentions_json(r->mem, ids, list->n)), ID(r->who->tenant_id)), &n);
	judge(r, "selectedTranscripts", "transcript", ids, list->n, found, n, SCOPE_VIEW_METADATA);
}

/* A package counts in no quota: the same again and again would make a large one of a small asset. */
static void
check_twice(struct req *r, const char *member, const struct ids *ids)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids_have(&(const struct ids){ ids->at, i }, ids->at[i]))
			fault(r, arena_printf(r->mem, "/%s/%zu", member, i), "duplicate",
			    "this is in the list already");
}

static const char *
form_of(const struct picked_transcript *t)
{
	return t->format != NULL ? t->format : "json";
}

static void
check_transcripts_twice(struct req *r, const struct list *list)
{
	const struct picked_transcript *t = list->rows;

	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < i; k++)
			if (uuid_equal(t[k].id, t[i].id) && strcmp(form_of(&t[k]), form_of(&t[i])) == 0) {
				fault(r, arena_printf(r->mem, "/selectedTranscripts/%zu", i), "duplicate",
				    "this is in the list already");
				break;
			}
}

/* Not beyond what the tenant has set. */
static void
check_expiry(struct req *r, struct download *d)
{
	const int64_t days = db_number(r->db, "SELECT download_expiry_days FROM tenants WHERE id = ?",
	    ARGS(ID(r->who->tenant_id)), 1), most = r->now.ms + 86400000 * days;

	if (d->expires.ms == 0)
		d->expires.ms = most;
	else if (d->expires.ms <= r->now.ms)
		fault(r, "/expires", "too_small", "this is over");
	else if (d->expires.ms > most)
		fault(r, "/expires", "too_large", "downloads are kept for %lld days here", (long long)days);
}

static int
download_create(struct req *r)
{
	const struct job_place place = { .tenant_id = r->who->tenant_id };
	struct download *d = r->in;

	if (d->selected_media_ids.n + d->selected_rendition_ids.n + d->selected_transcripts.n == 0)
		fault(r, "/selectedMediaIds", "required", "nothing is selected");
	check_twice(r, "selectedMediaIds", &d->selected_media_ids);
	check_twice(r, "selectedRenditionIds", &d->selected_rendition_ids);
	check_transcripts_twice(r, &d->selected_transcripts);
	check_media(r, &d->selected_media_ids);
	check_renditions(r, &d->selected_rendition_ids);
	check_transcripts(r, &d->selected_transcripts);
	check_expiry(r, d);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	principal_hold(r->db, r->who->id);
	if (db_number(r->db, "SELECT COUNT(*) FROM downloads WHERE tenant_id = ? AND principal_id = ?",
	    ARGS(ID(r->who->tenant_id), ID(r->who->id)), 0) >= DOWNLOADS_MAX)
		return refuse(r, ERR_TOO_MANY_DOWNLOADS, NULL);
	d->id = uuid_new();
	d->tenant_id = r->who->tenant_id;
	d->principal_id = r->who->id;
	d->scopes = scope_text(r->mem, r->who->scopes);
	d->status = "preparing";
	d->error = d->file = NULL;
	d->size = d->progress = (struct number){ 0, false };
	d->created_at = d->updated_at = r->now;
	d->version = 1;
	d->job_id = job_add(r->db, download, place, .download_id = d->id);
	db_insert(r->db, "downloads", &download_record, d);
	return download_reply(r, 201, d);
}

static int
download_delete(struct req *r)
{
	const struct download *d = r->object;
	struct job_place place = { .tenant_id = r->who->tenant_id, .priority = PRIORITY_BULK };
	const char **keys = arena_array(r->mem, 1, sizeof(*keys));

	db_run(r->db, "DELETE FROM downloads WHERE id = ? AND tenant_id = ?", ARGS(ID(d->id), ID(d->tenant_id)));
	if (strcmp(d->status, "preparing") == 0)
		job_cancel(r->db, d->job_id);
	keys[0] = store_key_play(r->mem, d->id, NULL);
	job_add(r->db, purge, place, .keys = { keys, 1 });
	return reply_deleted(r, d->id, true);
}

const struct route downloads_routes[] = {
	{
		GET, "/v2/downloads", SCOPE_VIEW_CHANNEL, downloads_list, NULL, &download_record,
		"List the downloads of the caller, or all of the tenant for a SuperAdmin",
		.flags = LIST, .fails = "422",
	},
	{
		POST, "/v2/downloads", SCOPE_VIEW_CHANNEL, download_create, &download_record, &download_record,
		"Pack files of assets that the caller may see into one ZIP archive",
		.success = 201, .fails = "403 409 422", .codes = "too_many_downloads",
	},
	{
		GET, "/v2/downloads/{downloadId}", SCOPE_VIEW_CHANNEL, download_get, NULL, &download_record,
		"Get a download, with the address of its file when it is ready",
		.flags = CONDITIONAL, .fails = "404",
	},
	{
		METHOD_DELETE, "/v2/downloads/{downloadId}", SCOPE_VIEW_CHANNEL, download_delete, NULL, &deleted_record,
		"Delete a download and its file",
		.flags = CONDITIONAL, .fails = "404 412",
	},
	{ 0 }
};
