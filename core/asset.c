/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The summing columns of an asset, what is told when they change, and the start of an ingest. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/caption.h"
#include "core/event.h"
#include "core/job.h"
#include "core/log.h"
#include "core/plan.h"
#include "core/play.h"
#include "core/store.h"
#include "core/voices.h"

static const struct field rendition_row_fields[] = {
	FIELD(struct rendition_row, id,           .on = SERVER, .doc = "Unique id"),
	FIELD(struct rendition_row, media_id,     .on = SERVER, .doc = "The asset"),
	FIELD(struct rendition_row, generation,   .on = SERVER, .doc = "The ingest that made it"),
	FIELD(struct rendition_row, kind,         .on = SERVER, .doc = "What it is good for"),
	FIELD(struct rendition_row, label,        .on = SERVER, .doc = "Shown to people"),
	FIELD(struct rendition_row, width,        .on = SERVER, .doc = "Pixels"),
	FIELD(struct rendition_row, height,       .on = SERVER, .doc = "Pixels"),
	FIELD(struct rendition_row, bitrate,      .on = SERVER, .doc = "bit/s on average"),
	FIELD(struct rendition_row, peak_bitrate, .on = SERVER, .doc = "bit/s of the largest segment"),
	FIELD(struct rendition_row, frame_rate,   .on = SERVER, .doc = "Frames per second"),
	FIELD(struct rendition_row, channels,     .on = SERVER, .doc = "Of sound"),
	FIELD(struct rendition_row, codecs,       .on = SERVER, .doc = "RFC 6381"),
	FIELD(struct rendition_row, mime_type,    .on = SERVER, .doc = "As served"),
	FIELD(struct rendition_row, language_code, .on = SERVER, .doc = "Of a track"),
	FIELD(struct rendition_row, track_name,   .on = SERVER, .doc = "Of a track, in menus"),
	FIELD(struct rendition_row, roles,        .on = SERVER, .doc = "Of a track, with blanks between"),
	FIELD(struct rendition_row, file_size,    .on = SERVER, .doc = "Bytes"),
	FIELD(struct rendition_row, file,         .on = SERVER, .doc = "As store_key_play() takes it"),
	FIELD(struct rendition_row, created_at,   .on = SERVER, .doc = "When"),
};
const struct record rendition_row_record = RECORD("RenditionRow", struct rendition_row, rendition_row_fields);

/* What clients see of a rendition; the url is a file name behind {play}, which the API replaces by a signed prefix. */
struct rendition {
	struct uuid id;
	const char *kind, *label;
	struct number width, height, bitrate;
	const char *codecs, *mime_type;
	const char *language_code;
	int64_t file_size;
	const char *url, *status;
};
static const struct field rendition_fields[] = {
	FIELD(struct rendition, id,        .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct rendition, kind,      .on = SERVER, .required = true, .one_of = "hls mp4 audio image pdf", .doc = "What it is good for"),
	FIELD(struct rendition, label,     .on = SERVER, .required = true, .doc = "Shown to people, for example 720p"),
	FIELD(struct rendition, width,     .on = SERVER | OMIT_NULL, .doc = "Pixels"),
	FIELD(struct rendition, height,    .on = SERVER | OMIT_NULL, .doc = "Pixels"),
	FIELD(struct rendition, bitrate,   .on = SERVER | OMIT_NULL, .doc = "bit/s on average"),
	FIELD(struct rendition, codecs,    .on = SERVER | OMIT_NULL, .doc = "RFC 6381 codecs parameter"),
	FIELD(struct rendition, mime_type, .on = SERVER, .required = true, .doc = "Content type as served"),
	FIELD(struct rendition, language_code, .on = SERVER | OMIT_NULL, .doc = "BCP 47 tag of the sound, where it is known"),
	FIELD(struct rendition, file_size, .on = SERVER, .doc = "Bytes"),
	FIELD(struct rendition, url,       .on = SERVER, .required = true, .format = "uri", .doc = "Signed address, valid for some hours"),
	FIELD(struct rendition, status,    .on = SERVER, .required = true, .one_of = "ready", .doc = "Only finished ones are listed"),
};
const struct record rendition_record = RECORD("Rendition", struct rendition, rendition_fields);

static const struct field thumbnail_fields[] = {
	FIELD(struct thumbnail, url,       .on = SERVER, .required = true, .format = "uri", .doc = "Signed address of the picture"),
	FIELD(struct thumbnail, width,     .on = SERVER, .doc = "Pixels"),
	FIELD(struct thumbnail, height,    .on = SERVER, .doc = "Pixels"),
	FIELD(struct thumbnail, mime_type, .on = SERVER, .required = true, .doc = "image/jpeg, image/png or image/webp"),
};
const struct record thumbnail_record = RECORD("Thumbnail", struct thumbnail, thumbnail_fields);

static const struct field storyboard_fields[] = {
	FIELD(struct storyboard, image_url, .on = SERVER, .required = true, .format = "uri", .doc = "Sprite of small frames"),
	FIELD(struct storyboard, vtt_url,   .on = SERVER, .required = true, .format = "uri", .doc = "WebVTT that says which frame is where in it"),
};
const struct record storyboard_record = RECORD("Storyboard", struct storyboard, storyboard_fields);

static const struct field step_fields[] = {
	FIELD(struct ingest_step, name,        .on = SERVER, .required = true, .doc = "probe, firstRendition, renditions, thumbnail, …"),
	FIELD(struct ingest_step, status,      .on = SERVER, .required = true,
	    .one_of = "queued running succeeded failed cancelled", .doc = "State of the step"),
	FIELD(struct ingest_step, progress,    .on = SERVER, .max = 100, .doc = "Percent"),
	FIELD(struct ingest_step, started_at,  .on = SERVER | OMIT_NULL, .doc = "Start of the last attempt"),
	FIELD(struct ingest_step, finished_at, .on = SERVER | OMIT_NULL, .doc = "End"),
	FIELD(struct ingest_step, error,       .on = SERVER | OMIT_NULL, .of = &job_error_record, .doc = "Why the step failed"),
};
const struct record ingest_step_record = RECORD("IngestStep", struct ingest_step, step_fields);

static const struct field warning_fields[] = {
	FIELD(struct ingest_warning, step,   .on = SERVER, .required = true, .doc = "The step that failed or found it, as in steps"),
	FIELD(struct ingest_warning, code,   .on = SERVER, .required = true, .doc = "Reason code, from a closed list"),
	FIELD(struct ingest_warning, detail, .on = SERVER, .doc = "What happened, in one sentence"),
	FIELD(struct ingest_warning, remedy, .on = SERVER, .required = true, .doc = "What to do about it"),
	FIELD(struct ingest_warning, from,   .on = SERVER | OMIT_NULL,
	    .doc = "Seconds: where the part of the file begins that it is about; absent: it is about the whole"),
	FIELD(struct ingest_warning, to,     .on = SERVER | OMIT_NULL,
	    .doc = "Seconds: where that part ends; absent beside from: nobody knows, as the file is cut off there"),
};
static const struct record warning_record = RECORD("IngestWarning", struct ingest_warning, warning_fields);

static const struct field ingest_fields[] = {
	FIELD(struct ingest_summary, id,          .on = SERVER, .required = true, .doc = "Id of the root job"),
	FIELD(struct ingest_summary, status,      .on = SERVER, .required = true,
	    .one_of = "queued running succeeded failed cancelled", .doc = "State of the ingest as a whole"),
	FIELD(struct ingest_summary, progress,    .on = SERVER, .max = 100, .doc = "Percent of the whole"),
	FIELD(struct ingest_summary, attempt,     .on = SERVER, .doc = "Attempt of the step that needed most"),
	FIELD(struct ingest_summary, started_at,  .on = SERVER | OMIT_NULL, .doc = "Start"),
	FIELD(struct ingest_summary, finished_at, .on = SERVER | OMIT_NULL, .doc = "End"),
	FIELD(struct ingest_summary, error,       .on = SERVER | OMIT_NULL, .of = &job_error_record, .doc = "Why the ingest failed"),
	FIELD(struct ingest_summary, warnings,    .on = SERVER, .of = &warning_record,
	    .doc = "What is not whole though the ingest succeeds: optional steps that failed (a retry of the step "
	    "takes it away), and parts of the file that could not be read (code damaged)"),
	FIELD(struct ingest_summary, steps,       .on = SERVER | DETAIL, .of = &ingest_step_record, .doc = "Its steps in order; not in lists"),
};
const struct record ingest_record = RECORD("IngestJob", struct ingest_summary, ingest_fields);

static bool
is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

void
rendition_put(struct db *db, struct rendition_row *row)
{
	if (row->file_size < 0) {
		log_text(LOG_LEVEL_ERROR, "asset", "no size of %s", row->file);
		abort();
	}
	db_run(db, "DELETE FROM renditions WHERE media_id = ? AND generation = ? AND kind = ? AND label = ? "
	    "AND mime_type = ?", ARGS(ID(row->media_id), STR(row->generation), STR(row->kind), STR(row->label),
	    STR(row->mime_type)));
	row->id = uuid_new();
	row->created_at = moment_now();
	db_insert(db, "renditions", &rendition_row_record, row);
}

/* Files of the parts that have members of their own. */
struct parts {
	const char *playlist, *storyboard, *waveform;
	const struct rendition_row *poster;
	bool playable;
	struct buf subtitles;			/* JSON */
};

static const char *
marked(struct arena *mem, const char *file)
{
	return arena_printf(mem, PLAY_MARK "%s", file);
}

static void
add_subtitles(struct buf *json, const struct rendition_row *r)
{
	const bool all = r->roles != NULL && word_in(r->roles, "hearingImpaired", strlen("hearingImpaired"));
	const struct caption s = { r->language_code, r->track_name, all ? "captions" : "subtitles", r->file };

	buf_char(json, json->len == 0 ? '[' : ',');
	record_store(json, &caption_record, &s);
}

static void
sort_out(const struct rendition_row *rows, size_t n, struct parts *parts, struct buf *json)
{
	size_t i;

	buf_char(json, '[');
	for (i = 0; i < n; i++) {
		const struct rendition_row *r = &rows[i];
		const char *kind = is(r->kind, "low") ? "hls" : is(r->kind, "track") ? "audio" : r->kind;
		struct rendition out = { r->id, kind, r->label, r->width, r->height, r->bitrate, r->codecs,
		    r->mime_type, r->language_code, r->file_size, marked(json->mem, r->file), "ready" };

		parts->playable |= is(r->kind, "playlist") || is(r->kind, "image") || is(r->kind, "pdf");
		if (is(r->kind, "playlist")) {
			parts->playlist = r->file;
		} else if (is(r->kind, "storyboard")) {
			parts->storyboard = r->file;
		} else if (is(r->kind, "waveform")) {
			parts->waveform = r->file;
		} else if (is(r->kind, "subtitles")) {
			add_subtitles(&parts->subtitles, r);
		} else if (is(r->kind, "poster")) {
			parts->poster = r;
		} else {
			if (json->len > 1)
				buf_char(json, ',');
			record_render(json, &rendition_record, &out, false);
		}
	}
	buf_char(json, ']');
}

struct custom { const char *custom_thumbnail_file, *custom_thumbnail_type; struct number custom_thumbnail_width,
    custom_thumbnail_height; };
static const struct field custom_fields[] = {
	FIELD(struct custom, custom_thumbnail_file, .doc = "File"),
	FIELD(struct custom, custom_thumbnail_type, .doc = "Content type"),
	FIELD(struct custom, custom_thumbnail_width, .doc = "Pixels"),
	FIELD(struct custom, custom_thumbnail_height, .doc = "Pixels"),
};
static const struct record custom_record = RECORD("CustomThumbnail", struct custom, custom_fields);

/* The picture that a client has set wins over the poster.  NULL when there is neither. */
static const char *
thumbnail_json(struct db *db, struct uuid media_id, const struct rendition_row *poster)
{
	struct arena *mem = db_arena(db);
	const struct custom *c = db_row(db, &custom_record, "FROM media t WHERE t.id = ?", ARGS(ID(media_id)));
	struct buf b = BUF(mem);
	struct thumbnail t;

	if (c != NULL && c->custom_thumbnail_file != NULL)
		t = (struct thumbnail){ marked(mem, c->custom_thumbnail_file), c->custom_thumbnail_width.n,
		    c->custom_thumbnail_height.n, c->custom_thumbnail_type };
	else if (poster != NULL)
		t = (struct thumbnail){ marked(mem, poster->file), poster->width.n, poster->height.n,
		    poster->mime_type };
	else
		return NULL;
	record_render(&b, &thumbnail_record, &t, false);
	return buf_string(&b);
}

/* The sprite's WebVTT lies beside it under the same name. */
static const char *
storyboard_json(struct arena *mem, const char *file)
{
	const char *dot = file != NULL ? strrchr(file, '.') : NULL;
	struct buf b = BUF(mem);
	struct storyboard s;

	if (dot == NULL)
		return NULL;
	s.image_url = marked(mem, file);
	s.vtt_url = arena_printf(mem, PLAY_MARK "%.*s.vtt", (int)(dot - file), file);
	record_render(&b, &storyboard_record, &s, false);
	return buf_string(&b);
}

static void
sum_renditions(struct db *db, struct uuid media_id)
{
	struct arena *mem = db_arena(db);
	struct parts p = { .subtitles = BUF(mem) };
	struct buf json = BUF(mem);
	const struct rendition_row *rows;
	size_t n;

	rows = db_rows(db, &rendition_row_record, "FROM renditions t JOIN media m ON m.id = t.media_id AND "
	    "m.generation = t.generation WHERE t.media_id = ? ORDER BY t.kind, t.height DESC, t.file",
	    ARGS(ID(media_id)), &n);
	sort_out(rows, n, &p, &json);
	if (p.subtitles.len > 0)
		buf_char(&p.subtitles, ']');
	db_run(db, "UPDATE media SET renditions = ?, playlist_file = ?, thumbnail = ?, storyboard = ?, "
	    "waveform_file = ?, subtitles = ?, status = IF(?, 'ready', status), revision = revision + 1 WHERE id = ?",
	    ARGS(STR(buf_string(&json)), STR(p.playlist), STR(thumbnail_json(db, media_id, p.poster)),
	    STR(storyboard_json(mem, p.storyboard)), STR(p.waveform), STR(p.subtitles.len > 0 ?
	    buf_string(&p.subtitles) : NULL), INT(p.playable), ID(media_id)));
}

struct ingest_job {
	struct uuid id, ingest_id;
	const char *kind, *state, *language;
	int64_t progress, attempt;
	struct json error;
	struct list warnings;
	struct moment started_at, finished_at;
};
static const struct field ingest_job_fields[] = {
	FIELD(struct ingest_job, id, .doc = "Job"),
	FIELD(struct ingest_job, ingest_id, .doc = "The root"),
	FIELD(struct ingest_job, kind, .doc = "Kind"),
	FIELD(struct ingest_job, state, .doc = "State"),
	FIELD(struct ingest_job, language, .sql = "JSON_VALUE(t.args, '$.languageCode')", .doc = "Of a transcript"),
	FIELD(struct ingest_job, progress, .doc = "Percent"),
	FIELD(struct ingest_job, attempt, .doc = "Claims"),
	FIELD(struct ingest_job, error, .doc = "Last error"),
	FIELD(struct ingest_job, warnings, .of = &job_warning_record, .doc = "What it has to tell though it succeeded"),
	FIELD(struct ingest_job, started_at, .doc = "Start"),
	FIELD(struct ingest_job, finished_at, .doc = "End"),
};
static const struct record ingest_job_record = RECORD("IngestJobRow", struct ingest_job, ingest_job_fields);

/* As they stand in the plan; those of one kind by their languages. */
static int
by_place(const void *a, const void *b)
{
	const struct ingest_job *x = a, *y = b;
	size_t m = plan_place(x->kind), n = plan_place(y->kind);

	if (m != n)
		return m < n ? -1 : 1;
	if (x->language == NULL || y->language == NULL)
		return (x->language != NULL) - (y->language != NULL);
	return strcmp(x->language, y->language);
}

static const char *
step_status(const char *state)
{
	return is(state, "running") || job_is_final(state) ? state : "queued";
}

/*
 * One status from all jobs: running while any is open; then failed or cancelled if a needed one is.  The error shown is
 * that of the first needed step that failed by itself, not of those that only depended on it.
 */
static void
weigh_jobs(const struct ingest_job *jobs, size_t n, struct ingest_summary *s)
{
	int64_t weight = 0, done = 0;
	bool open = false, begun = false, failed = false, cancelled = false;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct job_kind *k = job_kind(jobs[i].kind);
		bool final = job_is_final(jobs[i].state);

		weight += k != NULL ? k->weight : 0;
		done += (k != NULL ? k->weight : 0) * (final ? 100 : jobs[i].progress);
		open |= !final;
		begun |= jobs[i].started_at.ms != 0;
		if (jobs[i].attempt > s->attempt)
			s->attempt = jobs[i].attempt;
		if (jobs[i].started_at.ms != 0 && (s->started_at.ms == 0 || jobs[i].started_at.ms < s->started_at.ms))
			s->started_at = jobs[i].started_at;
		if (jobs[i].finished_at.ms > s->finished_at.ms)
			s->finished_at = jobs[i].finished_at;
		if (k == NULL || !k->needed)
			continue;
		cancelled |= is(jobs[i].state, "cancelled");
		failed |= is(jobs[i].state, "failed");
		if (is(jobs[i].state, "failed") && (s->error.text == NULL || strstr(s->error.text,
		    "dependency_failed") != NULL))
			s->error = jobs[i].error;
	}
	s->progress = open && weight > 0 ? done / weight : 100;
	if (open)
		s->finished_at.ms = 0;
	s->status = open ? (begun ? "running" : "queued") : cancelled ? "cancelled" : failed ? "failed" : "succeeded";
}

static void
put_steps(struct buf *b, const struct ingest_job *jobs, size_t n)
{
	size_t i;

	buf_char(b, '[');
	for (i = 0; i < n; i++) {
		const struct job_kind *k = job_kind(jobs[i].kind);
		struct ingest_step step = { k != NULL ? k->step : jobs[i].kind, step_status(jobs[i].state),
		    is(jobs[i].state, "succeeded") ? 100 : jobs[i].progress, jobs[i].started_at, jobs[i].finished_at,
		    job_is_final(jobs[i].state) || is(jobs[i].state, "delayed") ? jobs[i].error :
		    (struct json){ NULL } };

		if (i > 0)
			buf_char(b, ',');
		record_render(b, &ingest_step_record, &step, false);
	}
	buf_char(b, ']');
}

static void
add_warnings(struct ingest_summary *s, const char *step, const struct list *told)
{
	struct ingest_warning *w = s->warnings.rows;
	const struct job_warning *t = told->rows;
	size_t i;

	for (i = 0; i < told->n; i++)
		w[s->warnings.n++] = (struct ingest_warning){ step, t[i].code, t[i].detail,
		    reason_info(reason_find(t[i].code))->remedy, t[i].from, t[i].to };
}

/* Of an ingest that failed, what only depended on the step that did says nothing of its own. */
static void
list_warnings(struct arena *mem, const struct ingest_job *jobs, size_t n, struct ingest_summary *s)
{
	struct ingest_warning *w;
	size_t i, most = n;

	for (i = 0; i < n; i++)
		most += jobs[i].warnings.n;
	s->warnings.rows = w = arena_array(mem, most, sizeof(*w));
	for (i = 0; i < n; i++) {
		const struct job_kind *k = job_kind(jobs[i].kind);
		const struct job_error *e;

		if (k != NULL && is(jobs[i].state, "succeeded"))
			add_warnings(s, k->step, &jobs[i].warnings);
		if (k == NULL || k->needed || !is(jobs[i].state, "failed") || jobs[i].error.text == NULL)
			continue;
		e = record_parse(mem, &job_error_record, jobs[i].error.text);
		if (e != NULL && !is(e->code, "dependency_failed"))
			w[s->warnings.n++] = (struct ingest_warning){ .step = k->step, .code = e->code,
			    .detail = e->detail, .remedy = e->remedy };
	}
}

/* A transcription that failed stands among the transcripts, unless there is one of its language, until it is tried
 * again. */
static void
sum_transcripts(struct db *db, struct uuid media_id, const struct ingest_job *jobs, size_t n)
{
	struct arg now = TIME(moment_now());
	size_t i;

	if (db_number(db, "SELECT 1 FROM transcripts WHERE media_id = ? AND status = 'failed' LIMIT 1",
	    ARGS(ID(media_id)), 0) == 1)
		db_run(db, "DELETE FROM transcripts WHERE media_id = ? AND status = 'failed' AND id NOT IN (SELECT "
		    "j.id FROM jobs j JOIN media m ON m.ingest_job_id = j.ingest_id WHERE m.id = ? AND j.state = "
		    "'failed' AND j.replaced_by IS NULL)", ARGS(ID(media_id), ID(media_id)));
	for (i = 0; i < n; i++)
		if (is(jobs[i].kind, "transcribe") && is(jobs[i].state, "failed"))
			db_run(db, "INSERT IGNORE INTO transcripts (id, media_id, language_code, source, engine, "
			    "status, error, paragraphs, created_at, updated_at) SELECT j.id, m.id, "
			    "COALESCE(IF(JSON_VALUE(j.args, '$.languageCode') = 'auto', 'und', JSON_VALUE(j.args, "
			    "'$.languageCode')), m.language_code, 'und'), 'machine', '', "
			    "'failed', j.error, '[]', ?, ? FROM jobs j JOIN media m ON m.id = j.media_id WHERE "
			    "j.id = ?", ARGS(now, now, ID(jobs[i].id)));
}

static const char *
chapter_status(const char *state)
{
	return is(state, "succeeded") ? "ready" : job_is_final(state) ? "failed" : "calculating";
}

/* As long as its job goes on, what an autogenerated chapter shows is of before. */
static void
sum_chapters(struct db *db, struct uuid media_id, const struct ingest_job *jobs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (is(jobs[i].kind, "chapters"))
			db_run(db, "UPDATE chapters SET status = ?, version = version + 1 WHERE media_id = ? AND type "
			    "= 'autogenerated' AND status <> ?", ARGS(STR(chapter_status(jobs[i].state)), ID(media_id),
			    STR(chapter_status(jobs[i].state))));
}

static void
sum_ingest(struct db *db, struct uuid media_id, bool progress)
{
	struct ingest_summary s = { .status = "queued" };
	struct buf json = BUF(db_arena(db)), steps = BUF(db_arena(db));
	struct ingest_job *jobs;
	size_t n;

	jobs = db_rows(db, &ingest_job_record, "FROM jobs t JOIN media m ON m.ingest_job_id = t.ingest_id WHERE "
	    "m.id = ? AND t.replaced_by IS NULL", ARGS(ID(media_id)), &n);
	if (n == 0)
		return;
	qsort(jobs, n, sizeof(*jobs), by_place);
	s.id = jobs[0].ingest_id;
	weigh_jobs(jobs, n, &s);
	list_warnings(db_arena(db), jobs, n, &s);
	put_steps(&steps, jobs, n);
	record_render(&json, &ingest_record, &s, true);
	db_run(db, "UPDATE media SET ingest = ?, ingest_steps = ?, ingest_status = ?, summed_at = " SQL_NOW
	    ", revision = revision + 1, status = IF(? AND status = 'processing', 'failed', IF(? AND status = 'failed', "
	    "'processing', status)) WHERE id = ?", ARGS(STR(buf_string(&json)), STR(buf_string(&steps)), STR(s.status),
	    INT(is(s.status, "failed") || is(s.status, "cancelled")), INT(is(s.status, "queued") ||
	    is(s.status, "running")), ID(media_id)));
	if (progress)
		return;
	sum_transcripts(db, media_id, jobs, n);
	sum_chapters(db, media_id, jobs, n);
}

/* What an asset shows of itself that jobs change, as texts. */
struct look {
	const char *status, *playlist_file, *renditions, *thumbnail, *storyboard, *waveform_file, *ingest_status;
	int64_t progress;
};
static const struct field look_fields[] = {
	FIELD(struct look, status, .doc = "State"),
	FIELD(struct look, playlist_file, .doc = "Playlist"),
	FIELD(struct look, renditions, .doc = "Renditions"),
	FIELD(struct look, thumbnail, .doc = "Poster"),
	FIELD(struct look, storyboard, .doc = "Storyboard"),
	FIELD(struct look, waveform_file, .doc = "Peaks"),
	FIELD(struct look, ingest_status, .doc = "Of the ingest"),
	FIELD(struct look, progress, .sql = "COALESCE(JSON_VALUE(t.ingest, '$.progress'), -1) + 0", .doc = "Percent"),
};
static const struct record look_record = RECORD("Look", struct look, look_fields);

static bool
differ(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a != b : !is(a, b);
}

/* Queued, or it runs. */
static bool
goes_on(const struct look *l)
{
	return is(l->ingest_status, "queued") || is(l->ingest_status, "running");
}

static void
tell(struct db *db, struct uuid media_id, const struct look *was, const struct look *l)
{
	const struct { bool changed; const char *name; } members[] = {
		{ differ(was->status, l->status), "status" },
		{ differ(was->playlist_file, l->playlist_file), "playlistUrl" },
		{ differ(was->renditions, l->renditions), "renditions" },
		{ differ(was->thumbnail, l->thumbnail), "thumbnail" },
		{ differ(was->storyboard, l->storyboard), "storyboard" },
		{ differ(was->waveform_file, l->waveform_file), "waveformUrl" },
		{ goes_on(was) && !goes_on(l), "ingestJob" },
	};
	struct buf names = BUF(db_arena(db));
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].changed)
			buf_printf(&names, "%s\"%s\"", names.len > 0 ? "," : "", members[i].name);
	if (!is(l->ingest_status, "queued") && (l->progress != was->progress ||
	    differ(was->ingest_status, l->ingest_status)))
		event_add_job(db, media_id, "ingest.progress", arena_printf(names.mem,
		    "{\"status\":\"%s\",\"progress\":%d}", l->ingest_status, (int)l->progress));
	if (names.len > 0)
		event_add_job(db, media_id, "media.updated", arena_printf(names.mem, "{\"modified\":[%s]}",
		    buf_string(&names)));
	if (members[0].changed && (is(l->status, "ready") || is(l->status, "failed")))
		event_add_job(db, media_id, is(l->status, "ready") ? "media.ready" : "media.failed", NULL);
}

/* Of two that sum up at the same time, the second then sees what the first has written. */
static void
sum_and_tell(struct db *db, struct uuid media_id, unsigned what, bool progress)
{
	const struct look *was = db_row(db, &look_record, "FROM media t WHERE t.id = ? FOR UPDATE", ARGS(ID(media_id)));
	const struct look *l;

	if (what & SUM_RENDITIONS)
		sum_renditions(db, media_id);
	if (what & SUM_INGEST)
		sum_ingest(db, media_id, progress);
	l = db_row(db, &look_record, "FROM media t WHERE t.id = ?", ARGS(ID(media_id)));
	if (was != NULL && l != NULL && (what & SUM_TOLD) == 0)
		tell(db, media_id, was, l);
}

/* Looked at without a lock first: of all that report, most come too soon. */
void
asset_progress(struct db *db, struct uuid media_id)
{
	static const char *const due[] = { "SELECT 1 FROM media WHERE id = ? AND summed_at <= " SQL_NOW " - 2000",
	    "SELECT 1 FROM media WHERE id = ? AND summed_at <= " SQL_NOW " - 2000 FOR UPDATE" };

	if (db_number(db, due[0], ARGS(ID(media_id)), 0) == 1 && db_number(db, due[1], ARGS(ID(media_id)), 0) == 1)
		sum_and_tell(db, media_id, SUM_INGEST, true);
}

void
asset_summarise(struct db *db, struct uuid media_id, unsigned what)
{
	if (what & (SUM_RENDITIONS | SUM_INGEST))
		sum_and_tell(db, media_id, what, false);
	if (what & SUM_CHANNELS)
		db_run(db, "UPDATE media SET channel_ids = (SELECT GROUP_CONCAT(mc.channel_id ORDER BY mc.channel_id "
		    "SEPARATOR '') FROM media_channels mc WHERE mc.media_id = media.id) WHERE id = ?",
		    ARGS(ID(media_id)));
	if (what & SUM_TAGS)
		db_run(db, "UPDATE media SET " ASSET_SUM_TAGS_SQL " WHERE id = ?", ARGS(ID(media_id)));
}

void
metadata_put(struct db *db, struct uuid media_id, const char *kind, const char *engine, const char *data)
{
	struct moment now = moment_now();

	db_run(db, "INSERT INTO metadata (media_id, kind, engine, data, created_at, updated_at) VALUES "
	    "(?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE engine = VALUES(engine), data = VALUES(data), updated_at = "
	    "VALUES(updated_at)", ARGS(ID(media_id), STR(kind), STR(engine), STR(data), TIME(now), TIME(now)));
	metadata_changed(db, media_id, kind);
}

void
metadata_changed(struct db *db, struct uuid media_id, const char *kind)
{
	struct arena *mem = db_arena(db);

	event_add_job(db, media_id, "metadata.updated", arena_printf(mem, "{\"mediaId\":\"%s\",\"kind\":\"%s\"}",
	    uuid_text(mem, media_id), kind));
}

void
usage_add(struct db *db, struct uuid tenant_id, int64_t media, int64_t bytes)
{
	db_run_last(db, "INSERT INTO tenant_usage (tenant_id, media_count, storage_used) VALUES (?, ?, ?) "
	    "ON DUPLICATE KEY UPDATE media_count = media_count + VALUES(media_count), storage_used = storage_used + "
	    "VALUES(storage_used)", ARGS(ID(tenant_id), INT(media), INT(bytes)));
}

bool
asset_serve(struct db *db, struct uuid media_id)
{
	int64_t deleted = db_number(db, "SELECT deleted_at FROM media WHERE id = ? FOR UPDATE", ARGS(ID(media_id)), 1);

	if (db_failure(db) != DB_FINE) {
		errno = EAGAIN;
		return false;
	}
	return store_serve(db_arena(db), media_id, deleted == 0);
}

void
asset_serve_later(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	struct job_place place = { .tenant_id = tenant_id, .priority = PRIORITY_FIRST };

	job_add(db, serve, place, .media_id = media_id);
}

int64_t
asset_bytes(struct db *db, struct uuid media_id)
{
	return db_number(db, "SELECT file_size + custom_thumbnail_size + (SELECT "
	    "COALESCE(SUM(s.custom_thumbnail_size), 0) FROM sections s WHERE s.media_id = media.id) + (SELECT "
	    "COALESCE(SUM(l.recording_size), 0) FROM livestreams l WHERE l.media_id = media.id) FROM media WHERE id = ?",
	    ARGS(ID(media_id)), 0);
}

struct picture { const char *file; };
static const struct field picture_fields[] = { FIELD(struct picture, file, .doc = "As rows name it") };
static const struct record picture_record = RECORD("SetPicture", struct picture, picture_fields);

static struct strings
files_of(struct db *db, const char *from, const struct arg *args)
{
	const struct picture *p;
	struct strings files;
	size_t i;

	p = db_rows(db, &picture_record, from, args, &files.n);
	files.at = arena_array(db_arena(db), files.n + 1, sizeof(*files.at));
	for (i = 0; i < files.n; i++)
		files.at[i] = p[i].file;
	return files;
}

struct strings
asset_pictures(struct db *db, struct uuid media_id)
{
	return files_of(db, "FROM (SELECT custom_thumbnail_file AS file FROM media WHERE id = ? UNION "
	    "SELECT custom_thumbnail_file FROM sections WHERE media_id = ?) t WHERE t.file IS NOT NULL",
	    ARGS(ID(media_id), ID(media_id)));
}

struct strings
asset_section_files(struct db *db, struct uuid media_id, struct uuid section_id, struct uuid chapter_id)
{
	return files_of(db, "FROM (SELECT s.thumbnail_file AS file FROM sections s WHERE s.media_id = ? AND "
	    "s.thumbnail_file IS NOT NULL GROUP BY s.thumbnail_file HAVING SUM(s.id = ? OR COALESCE(s.chapter_id = ?, 0)) = "
	    "COUNT(*) UNION ALL SELECT c.file FROM clips c JOIN sections s ON s.id = c.section_id WHERE c.media_id = ? AND "
	    "c.file IS NOT NULL AND (s.id = ? OR COALESCE(s.chapter_id = ?, 0))) t", ARGS(ID(media_id), ID(section_id),
	    ID(chapter_id), ID(media_id), ID(section_id), ID(chapter_id)));
}

void
asset_files_gone(struct db *db, const struct conf *conf, struct uuid tenant_id, struct uuid media_id,
    struct strings files)
{
	const struct moment now = moment_now();
	struct job_place place = { .tenant_id = tenant_id, .media_id = media_id, .priority = PRIORITY_BULK };
	const char **keys = arena_array(db_arena(db), files.n + 1, sizeof(*keys));
	size_t i;

	for (i = 0; i < files.n; i++)
		keys[i] = store_key_play(db_arena(db), media_id, files.at[i]);
	if (conf != NULL)
		place.delay_ms = play_expiry(conf, (struct moment){ now.ms + 60000 }) * 1000 - now.ms;
	if (files.n > 0)
		job_add(db, purge, place, .keys = { keys, files.n });
}

void
asset_pictures_later(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	struct job_place place = { .tenant_id = tenant_id, .media_id = media_id, .delay_ms = 1000 };

	if (db_number(db, "SELECT COUNT(*) FROM jobs WHERE media_id = ? AND kind = 'section_thumbnails' AND state IN "
	    "('ready', 'delayed')", ARGS(ID(media_id)), 0) == 0)
		job_add(db, section_thumbnails, place, .media_id = media_id);
}

/* ".mp4": a dot that is not the first character, and one to five letters or digits. */
static bool
is_ending(const char *file_name, const char *dot)
{
	size_t n;

	if (dot == NULL || dot == file_name)
		return false;
	for (n = 0; isalnum((unsigned char)dot[1 + n]); n++)
		;
	return dot[1 + n] == '\0' && n >= 1 && n <= 5;
}

struct languages { struct strings codes; };
static const struct field languages_fields[] = {
	FIELD(struct languages, codes, .sql = "t.transcription_languages", .doc = "BCP 47 tags"),
};
static const struct record languages_record = RECORD("TenantLanguages", struct languages, languages_fields);

void
asset_languages(struct db *db, struct uuid tenant_id, struct strings *codes)
{
	const struct languages *own = codes->at != NULL ? NULL :
	    db_row(db, &languages_record, "FROM tenants t WHERE t.id = ?", ARGS(ID(tenant_id)));

	if (own != NULL && own->codes.n > 0)
		*codes = own->codes;
}

const char *
asset_name_from(struct arena *mem, const char *file_name)
{
	const char *dot = strrchr(file_name, '.'), *end = file_name + strlen(file_name), *p;
	int characters = 0;

	if (is_ending(file_name, dot) && !utf8_blank(arena_copy_n(mem, file_name, (size_t)(dot - file_name))))
		end = dot;
	for (p = file_name; p < end; p++)
		if ((*p & 0xc0) != 0x80 && ++characters > 255)
			break;
	return utf8_to_line(mem, arena_copy_n(mem, file_name, (size_t)(p - file_name)));
}

struct uuid
ingest_start(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	char generation[UUID_TEXT];
	struct uuid id = uuid_new();
	struct job_place place = { .tenant_id = tenant_id, .media_id = media_id, .ingest_id = id, .id = id,
	    .priority = PRIORITY_FIRST };

	uuid_format(id, generation);
	job_add(db, ingest, place, .media_id = media_id, .generation = generation);
	db_run(db, "UPDATE media SET ingest_job_id = ?, ingest_status = 'queued', generation = IF(generation IS NULL "
	    "OR status = 'failed', ?, generation), status = IF(status = 'failed', 'processing', status) WHERE id = ?",
	    ARGS(ID(id), STR(generation), ID(media_id)));
	asset_summarise(db, media_id, SUM_INGEST);
	return id;
}

struct running { struct uuid id; };
static const struct field running_fields[] = { FIELD(struct running, id, .doc = "Job") };
static const struct record running_record = RECORD("RunningJob", struct running, running_fields);

static void
delete_for_good(struct db *db, const struct asset_deletion *d)
{
	struct arena *mem = db_arena(db);
	struct job_place place = { .tenant_id = d->tenant_id, .media_id = d->media_id, .priority = PRIORITY_BULK };
	struct strings pictures = asset_pictures(db, d->media_id);
	const struct running *jobs;
	struct job_wait *waits;
	const char **keys;
	size_t n_keys = 3, n, i;
	bool knows_voices;

	keys = arena_array(mem, pictures.n + 3, sizeof(*keys));
	keys[0] = store_key_original(mem, d->media_id);
	keys[1] = store_key_play(mem, d->media_id, NULL);
	keys[2] = store_key_live(mem, d->media_id, NULL);
	for (i = 0; i < pictures.n; i++)
		keys[n_keys++] = store_key_thumbnail(mem, d->media_id, pictures.at[i]);
	jobs = db_rows(db, &running_record, "FROM jobs t WHERE t.media_id = ? AND t.state = 'running'",
	    ARGS(ID(d->media_id)), &n);
	waits = arena_array(mem, n, sizeof(*waits));
	for (i = 0; i < n; i++)
		waits[i] = (struct job_wait){ jobs[i].id, false };
	place.waits = (struct job_waits){ waits, n };
	db_run(db, "UPDATE jobs SET cancel_requested = 1 WHERE media_id = ? AND state = 'running'",
	    ARGS(ID(d->media_id)));
	db_run(db, "DELETE FROM jobs WHERE media_id = ? AND state <> 'running'", ARGS(ID(d->media_id)));
	knows_voices = db_number(db, "SELECT 1 FROM speakers WHERE media_id = ? AND voice_id IS NOT NULL LIMIT 1",
	    ARGS(ID(d->media_id)), 0) != 0;
	db_run(db, "DELETE FROM media WHERE id = ? AND tenant_id = ?", ARGS(ID(d->media_id), ID(d->tenant_id)));
	if (knows_voices)
		voices_tidy(db, d->tenant_id);
	job_add(db, purge, place, .keys = { keys, n_keys });
}

int64_t
asset_delete(struct db *db, const struct asset_deletion *d)
{
	struct arena *mem = db_arena(db);
	int64_t bytes = d->permanent ? asset_bytes(db, d->media_id) : 0;

	if (d->permanent) {
		delete_for_good(db, d);
	} else {
		db_run(db, "UPDATE media SET deleted_at = ?, version = version + 1, updated_at = ? WHERE id = ? AND "
		    "tenant_id = ?", ARGS(TIME(d->at), TIME(d->at), ID(d->media_id), ID(d->tenant_id)));
		db_run(db, "UPDATE media_channels SET is_deleted = 1 WHERE media_id = ?", ARGS(ID(d->media_id)));
	}
	asset_serve_later(db, d->tenant_id, d->media_id);
	event_add(db, &(struct event_new){ .tenant_id = d->tenant_id, .media_id = d->media_id, .type = "media.deleted",
	    .principal_id = d->principal_id, .channel_ids = d->channel_ids, .data = arena_printf(mem,
	    "{\"mediaId\":\"%s\",\"permanent\":%s}", uuid_text(mem, d->media_id), d->permanent ? "true" : "false") });
	return bytes;
}
