/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/sections/{sectionId}/download: a section as a file of its own, which a job cuts */
#include <string.h>

#include "core/asset.h"
#include "core/filename.h"
#include "core/job.h"
#include "core/play.h"
#include "core/store.h"
#include "fcgi/section.h"

/* Seconds after which a client asks again; ms after which a job that has failed is tried again. */
enum { ASK_AGAIN_S = 2, FAILED_MS = 60000 };

/* How often the length of an asset its clips may be long together: they count in no quota, and who only looks asks for
 * them. */
enum { LENGTHS = 10 };

struct clip { const char *status, *url, *mime_type; struct number size; };
static const struct field clip_fields[] = {
	FIELD(struct clip, status,    .required = true, .one_of = "calculating ready", .doc = "calculating: ask again later"),
	FIELD(struct clip, url,       .on = OMIT_NULL, .format = "uri",
	    .doc = "Signed address of the file, saved under the title of the section or the name of the asset"),
	FIELD(struct clip, mime_type, .on = OMIT_NULL, .doc = "video/mp4 or audio/mp4"),
	FIELD(struct clip, size,      .on = OMIT_NULL, .doc = "Bytes"),
};
static const struct record clip_record = RECORD("SectionClip", struct clip, clip_fields);

/* A clip that is there, or on its way; and what there would have to be now. */
struct state {
	const char *type, *status, *wanted, *name;
	struct uuid job_id;
	const char *source, *file, *job, *error;
	struct number size;
	struct moment expires_at, finished_at;
};
static const struct field state_fields[] = {
	FIELD(struct state, type, .sql = "m.type", .doc = "Of the asset"),
	FIELD(struct state, status, .sql = "m.status", .doc = "Of the asset"),
	FIELD(struct state, wanted, .sql = "SHA2(CONCAT_WS('/', m.generation, t.start, t.end, m.captions, m.subtitles), 256)",
	    .doc = "From what it would be made"),
	FIELD(struct state, name, .sql = "COALESCE(t.title, m.name)", .doc = "What it is saved as"),
	FIELD(struct state, job_id, .sql = "c.job_id", .doc = "Its job"),
	FIELD(struct state, source, .sql = "c.source", .doc = "From what it is made"),
	FIELD(struct state, file, .sql = "c.file", .doc = "Below the folder of the asset"),
	FIELD(struct state, job, .sql = "j.state", .doc = "How its job is"),
	FIELD(struct state, error, .sql = "JSON_VALUE(j.error, '$.detail')", .doc = "What its job says"),
	FIELD(struct state, size, .sql = "c.size", .doc = "Bytes"),
	FIELD(struct state, expires_at, .sql = "COALESCE(c.expires_at, 0)", .doc = "When it may go"),
	FIELD(struct state, finished_at, .sql = "COALESCE(j.finished_at, 0)", .doc = "When its job ended"),
};
static const struct record state_record = RECORD("ClipState", struct state, state_fields);

/* The file that was named when the store was asked for it; NULL: none was. */
struct seen { const char *file; bool there; };

static struct state *
look(struct req *r, const struct section *s)
{
	return db_row(r->db, &state_record, "FROM sections t JOIN media m ON m.id = t.media_id LEFT JOIN clips c ON "
	    "c.section_id = t.id LEFT JOIN jobs j ON j.id = c.job_id WHERE t.id = ?", ARGS(ID(s->id)));
}

/* Until when an address that is handed out now leads to a clip, ms. */
static int64_t
promised(const struct req *r)
{
	return play_expiry(r->conf, r->now) * 1000;
}

/* Until when a clip stays: never less than that. */
static int64_t
expiry(struct req *r)
{
	const int64_t kept = r->now.ms + 86400000 * db_number(r->db, "SELECT download_expiry_days FROM tenants WHERE "
	    "id = ?", ARGS(ID(r->who->tenant_id)), 1);

	return kept > promised(r) ? kept : promised(r);
}

static int
ready(struct req *r, const struct section *s, const struct state *is)
{
	const bool film = strcmp(is->type, "video") == 0;
	char prefix[PLAY_PREFIX_MAX];
	struct clip c = { "ready", NULL, film ? "video/mp4" : "audio/mp4", is->size };

	if (is->expires_at.ms < promised(r))
		db_run(r->db, "UPDATE clips SET expires_at = GREATEST(expires_at, ?) WHERE section_id = ?",
		    ARGS(INT(expiry(r)), ID(s->id)));
	play_prefix(r->conf, s->media_id, r->now, prefix);
	c.url = r->location = arena_printf(r->mem, "%s%s%s", prefix, is->file, filename_ask(r->mem, is->name,
	    is->file));
	return reply(r, 302, &clip_record, &c);
}

/* For aside(), since the store may be on another machine: is the file there that the row names? */
static void *
look_into_store(struct req *r)
{
	const struct section *s = r->object;
	const struct state *is = look(r, s);
	struct seen *seen = NEW(r->mem, struct seen);

	*seen = (struct seen){ is != NULL ? is->file : NULL, false };
	if (seen->file == NULL || store_has(r->mem, store_key_play(r->mem, s->media_id, seen->file), &seen->there))
		return seen;
	refuse(r, ERR_UNAVAILABLE, NULL);
	return NULL;
}

/* Of what is there now, and whether it can be had: its state, or NULL where it has to be made. */
static const char *
status_of(struct req *r, const struct state *is)
{
	const struct seen *seen = r->made;

	if (is->source == NULL || strcmp(is->source, is->wanted) != 0)
		return NULL;
	/* Another file than was looked for has just been made. */
	if (is->file != NULL)
		return seen->file == NULL || strcmp(seen->file, is->file) != 0 || seen->there ? "ready" : NULL;
	if (is->job == NULL || strcmp(is->job, "succeeded") == 0 || strcmp(is->job, "cancelled") == 0)
		return NULL;
	if (strcmp(is->job, "failed") == 0)
		return is->finished_at.ms > r->now.ms - FAILED_MS ? "failed" : NULL;
	return "calculating";
}

static bool
has_room(struct req *r, const struct section *s)
{
	return db_number(r->db, "SELECT COALESCE(SUM(t.end - t.start), 0) FROM clips c JOIN sections t ON t.id = "
	    "c.section_id WHERE c.media_id = ?", ARGS(ID(s->media_id)), 0) <= LENGTHS * s->duration.ms;
}

/* Of two at once the second finds what the first has begun.  False: refused. */
static bool
begin(struct req *r, const struct section *s)
{
	const struct job_place place = { .tenant_id = r->who->tenant_id, .media_id = s->media_id };
	struct state *is;
	struct uuid job;

	db_run(r->db, "INSERT IGNORE INTO clips (section_id, media_id, source, expires_at) VALUES (?, ?, '', ?)",
	    ARGS(ID(s->id), ID(s->media_id), TIME(r->now)));
	if (db_number(r->db, "SELECT 1 FROM clips WHERE section_id = ? FOR UPDATE", ARGS(ID(s->id)), 0) == 0 ||
	    (is = look(r, s)) == NULL) {
		refuse(r, ERR_NOT_FOUND, NULL);
		return false;
	}
	if (status_of(r, is) != NULL)
		return true;
	if (!has_room(r, s)) {
		refuse(r, ERR_TOO_MANY_CLIPS, NULL);
		return false;
	}
	if (is->file != NULL)
		asset_files_gone(r->db, r->conf, r->who->tenant_id, s->media_id, (struct strings){ &is->file, 1 });
	job = job_add(r->db, clip, place, .section_id = s->id, .source = is->wanted, .start = s->start.ms,
	    .end = s->end.ms);
	db_run(r->db, "UPDATE clips SET source = ?, job_id = ?, file = NULL, size = NULL, expires_at = ? WHERE "
	    "section_id = ?", ARGS(STR(is->wanted), ID(job), INT(expiry(r)), ID(s->id)));
	return true;
}

static int
section_download(struct req *r)
{
	const struct section *s = r->object;
	const struct state *is = look(r, s);
	const char *status;

	if (is == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (!s->end.set)
		return refuse(r, ERR_NO_RANGE, NULL);
	if (strcmp(is->status, "ready") != 0)
		return refuse(r, ERR_NOT_READY, NULL);
	if (r->made == NULL)
		return aside(r, look_into_store);
	status = status_of(r, is);
	if (status == NULL && !begin(r, s))
		return r->status;
	if (status != NULL && strcmp(status, "ready") == 0)
		return ready(r, s, is);
	if (status != NULL && strcmp(status, "failed") == 0)
		return refuse(r, ERR_CLIP_FAILED, is->error != NULL ? "%s" : NULL, is->error);
	return reply_later(r, &clip_record, &(const struct clip){ .status = "calculating" }, ASK_AGAIN_S);
}

const struct route section_download_routes[] = {
	{
		GET, "/v2/media/{mediaId}/sections/{sectionId}/download", SCOPE_VIEW_CHANNEL, section_download, NULL,
		&clip_record,
		"Get a timerange as a file of its own, exact to the frame, with its captions: 202 until it is cut, then its address",
		.flags = WRITES | LATER | FOR_VIEWERS | BESIDE, .success = 302, .fails = "403 404 409 422 503",
		.codes = "too_many_clips 422:no_range 422:not_ready clip_failed", .id = "downloadMediaSection",
	},
	{ 0 }
};
