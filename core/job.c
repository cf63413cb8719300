/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adding jobs, and what follows in the table when one of them ends. */
#include <sys/socket.h>
#include <sys/un.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/flow.h"
#include "core/job.h"
#include "core/log.h"

#define FINAL "('succeeded', 'failed', 'cancelled')"

static const struct field asset_args_fields[] = {
	FIELD(struct asset_args, media_id, .required = true, .doc = "The asset"),
	FIELD(struct asset_args, generation, .required = true, .doc = "Folder that the step writes to"),
};
const struct record asset_args_record = RECORD("AssetArgs", struct asset_args, asset_args_fields);

static const struct field transcribe_args_fields[] = {
	FIELD(struct transcribe_args, media_id, .required = true, .doc = "The asset"),
	FIELD(struct transcribe_args, generation, .required = true, .doc = "Folder that holds its sound"),
	FIELD(struct transcribe_args, language_code, .doc = "Language to expect; null: the engine's own"),
	FIELD(struct transcribe_args, anew, .doc = "Also when there is a transcript of it already"),
};
const struct record transcribe_args_record = RECORD("TranscribeArgs", struct transcribe_args, transcribe_args_fields);

static const struct field captions_args_fields[] = {
	FIELD(struct captions_args, media_id, .required = true, .doc = "The asset"),
	FIELD(struct captions_args, transcript_id, .required = true, .doc = "Whose captions"),
};
const struct record captions_args_record = RECORD("CaptionsArgs", struct captions_args, captions_args_fields);

static const struct field master_args_fields[] = {
	FIELD(struct master_args, media_id, .required = true, .doc = "Whose playlist"),
};
const struct record master_args_record = RECORD("MasterArgs", struct master_args, master_args_fields);

static const struct field download_args_fields[] = {
	FIELD(struct download_args, download_id, .required = true, .doc = "What is packed"),
};
const struct record download_args_record = RECORD("DownloadArgs", struct download_args, download_args_fields);

static const struct field section_thumbnails_args_fields[] = {
	FIELD(struct section_thumbnails_args, media_id, .required = true, .doc = "The asset"),
};
const struct record section_thumbnails_args_record = RECORD("SectionThumbnailsArgs", struct section_thumbnails_args,
    section_thumbnails_args_fields);

static const struct field clip_args_fields[] = {
	FIELD(struct clip_args, section_id, .required = true, .doc = "What is cut out"),
	FIELD(struct clip_args, source, .required = true, .doc = "What the clip is made from"),
	FIELD(struct clip_args, start, .required = true, .doc = "Where it begins, ms"),
	FIELD(struct clip_args, end, .required = true, .doc = "Where it ends, ms"),
};
const struct record clip_args_record = RECORD("ClipArgs", struct clip_args, clip_args_fields);

static const struct field agenda_args_fields[] = {
	FIELD(struct agenda_args, chapter_id, .doc = "What is filled: a chapter"),
	FIELD(struct agenda_args, meeting_id, .doc = "Or a meeting"),
	FIELD(struct agenda_args, url, .required = true, .doc = "Where the agenda is"),
	FIELD(struct agenda_args, is_named, .doc = "Does the chapter keep its name?"),
};
const struct record agenda_args_record = RECORD("AgendaArgs", struct agenda_args, agenda_args_fields);

static const struct field import_args_fields[] = {
	FIELD(struct import_args, file_id, .required = true, .doc = "Which of an import"),
};
const struct record import_args_record = RECORD("ImportArgs", struct import_args, import_args_fields);
static const struct field livestream_args_fields[] = {
	FIELD(struct livestream_args, livestream_id, .required = true, .doc = "Which one"),
};
const struct record livestream_args_record = RECORD("LivestreamArgs", struct livestream_args, livestream_args_fields);

static const struct field serve_args_fields[] = {
	FIELD(struct serve_args, media_id, .required = true, .doc = "The asset"),
};
const struct record serve_args_record = RECORD("ServeArgs", struct serve_args, serve_args_fields);

static const struct field index_args_fields[] = {
	FIELD(struct index_args, media_id, .required = true, .doc = "The asset"),
};
const struct record index_args_record = RECORD("IndexArgs", struct index_args, index_args_fields);

static const struct field embed_args_fields[] = {
	FIELD(struct embed_args, media_id, .required = true, .doc = "The asset"),
};
const struct record embed_args_record = RECORD("EmbedArgs", struct embed_args, embed_args_fields);

static const struct field question_args_fields[] = {
	FIELD(struct question_args, engine, .required = true, .doc = "Whose vector is wanted"),
	FIELD(struct question_args, digest, .required = true, .doc = "Of its text"),
};
const struct record question_args_record = RECORD("QuestionArgs", struct question_args, question_args_fields);

static const struct field gist_args_fields[] = {
	FIELD(struct gist_args, media_id, .required = true, .doc = "The asset"),
};
const struct record gist_args_record = RECORD("GistArgs", struct gist_args, gist_args_fields);

static const struct field chat_args_fields[] = {
	FIELD(struct chat_args, message_id, .required = true, .doc = "The question"),
};
const struct record chat_args_record = RECORD("ChatArgs", struct chat_args, chat_args_fields);

static const struct field flow_args_fields[] = {
	FIELD(struct flow_args, run_id, .required = true, .doc = "The run"),
};
const struct record flow_args_record = RECORD("FlowArgs", struct flow_args, flow_args_fields);

static const struct field retag_args_fields[] = {
	FIELD(struct retag_args, tag_id, .required = true, .doc = "The tag"),
};
const struct record retag_args_record = RECORD("RetagArgs", struct retag_args, retag_args_fields);

static const struct field closing_args_fields[] = {
	FIELD(struct closing_args, channel_id, .required = true, .doc = "The channel"),
	FIELD(struct closing_args, principal_id, .required = true, .doc = "Who deletes it"),
	FIELD(struct closing_args, address, .required = true, .doc = "From where"),
};
const struct record closing_args_record = RECORD("ClosingArgs", struct closing_args, closing_args_fields);

static const struct field mail_args_fields[] = {
	FIELD(struct mail_args, sealed, .required = true, .doc = "Secret of the invitation, sealed"),
};
const struct record mail_args_record = RECORD("MailArgs", struct mail_args, mail_args_fields);

static const struct field purge_args_fields[] = {
	FIELD(struct purge_args, keys, .required = true, .doc = "Keys of the store to delete"),
};
const struct record purge_args_record = RECORD("PurgeArgs", struct purge_args, purge_args_fields);

static const struct field no_args_fields[] = {
	FIELD(struct no_args, note, .doc = "For people"),
};
const struct record no_args_record = RECORD("NoArgs", struct no_args, no_args_fields);

static const struct field job_error_fields[] = {
	FIELD(struct job_error, code, .on = SERVER, .required = true, .doc = "Reason code, from a closed list"),
	FIELD(struct job_error, detail, .on = SERVER, .doc = "What happened this time, in one sentence"),
	FIELD(struct job_error, remedy, .on = SERVER, .required = true, .doc = "What to do about it"),
	FIELD(struct job_error, retryable, .on = SERVER, .doc = "May it help to start it again?"),
};
const struct record job_error_record = RECORD("JobError", struct job_error, job_error_fields);

static const struct field job_warning_fields[] = {
	FIELD(struct job_warning, code, .on = SERVER, .required = true, .doc = "Reason code, from a closed list"),
	FIELD(struct job_warning, detail, .on = SERVER, .doc = "What happened, in one sentence"),
	FIELD(struct job_warning, from, .on = SERVER | OMIT_NULL, .doc = "Seconds: where it begins"),
	FIELD(struct job_warning, to, .on = SERVER | OMIT_NULL, .doc = "Seconds: where it ends"),
};
const struct record job_warning_record = RECORD("JobWarning", struct job_warning, job_warning_fields);

/* The error of the last attempt stays on the row while it waits for the next one: a client then sees why. */
static const struct field job_fields[] = {
	FIELD(struct job_row, id, .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct job_row, tenant_id, .on = HIDDEN, .doc = "Whose work it is"),
	FIELD(struct job_row, media_id, .doc = "The asset it works on"),
	FIELD(struct job_row, ingest_id, .doc = "The first job of the ingest that it is a step of"),
	FIELD(struct job_row, replaced_by, .on = OMIT_NULL, .doc = "The job that has been added to do the same anew"),
	FIELD(struct job_row, kind, .on = FILTER | SORT | ASCII, .required = true, .doc = "What it does"),
	FIELD(struct job_row, status, .on = FILTER, .required = true, .sql = "IF(t.state = 'ready', 'queued', t.state)",
	    .one_of = "waiting delayed queued running succeeded failed cancelled",
	    .doc = "waiting: on other jobs; delayed: until "
		   "its next attempt; queued: until a runner is free"),
	FIELD(struct job_row, progress, .required = true, .max = 100, .doc = "Percent"),
	FIELD(struct job_row, attempt, .required = true, .max = 1000, .doc = "Attempts so far"),
	FIELD(struct job_row, max_attempts, .required = true, .max = 1000, .doc = "Attempts after which it has failed"),
	FIELD(struct job_row, error, .of = &job_error_record, .doc = "Why the last attempt failed"),
	FIELD(struct job_row, log_tail, .doc = "Last lines of its log"),
	FIELD(struct job_row, created_at, .on = SORT, .required = true, .doc = "When it was added"),
	FIELD(struct job_row, started_at, .doc = "When the last attempt began"),
	FIELD(struct job_row, finished_at, .doc = "When it reached its final state"),
	FIELD(struct job_row, updated_at, .required = true,
	    .sql = "GREATEST(t.created_at, t.started_at, t.finished_at)", .doc = "When its state changed last"),
	FIELD(struct job_row, version, .on = HIDDEN, .sql = "t.fence * 1000 + t.progress", .doc = "For the ETag"),
};
const struct record job_record = RECORD("Job", struct job_row, job_fields);

static const struct job_kind kinds[] = {
#define KIND_ROW(kind, class, attempts, seconds, step, weight, needed, decodes, doc) \
	{ #kind, JOB_##class, step, doc, attempts, seconds, weight, needed, decodes, &kind##_args_record },
	JOB_KINDS(KIND_ROW)
#undef KIND_ROW
};

static const struct job_kind *more_kinds;
static size_t n_more_kinds;
static bool added;

void
job_kinds_add(const struct job_kind *table, size_t n)
{
	more_kinds = table;
	n_more_kinds = n;
}

const struct job_kind *
job_kind(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	for (i = 0; i < n_more_kinds; i++)
		if (strcmp(more_kinds[i].name, name) == 0)
			return &more_kinds[i];
	return NULL;
}

bool
job_is_final(const char *state)
{
	return strcmp(state, "succeeded") == 0 || strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0;
}

const char *
job_run_name(struct arena *mem, struct uuid id, int64_t fence)
{
	return arena_printf(mem, "%s.%" PRId64, uuid_text(mem, id), fence);
}

bool
job_run_parse(const char *name, struct uuid *id, int64_t *fence)
{
	char text[UUID_TEXT] = "";

	if (strlen(name) <= UUID_TEXT || name[UUID_TEXT - 1] != '.')
		return false;
	memcpy(text, name, UUID_TEXT - 1);
	return uuid_parse(text, id) && int_parse(name + UUID_TEXT, fence);
}

const char *
job_error(struct arena *mem, enum reason reason, const char *detail)
{
	const struct reason_info *info = reason_info(reason);
	struct job_error error = { info->code, detail != NULL ? detail : info->remedy, info->remedy,
	    info->class != CLASS_FINAL };
	struct buf out = BUF(mem);

	record_store(&out, &job_error_record, &error);
	return buf_string(&out);
}

/*
 * The shared lock on what it waits for closes a gap: a job that ends at this moment either is seen as ended here, or
 * sees our row when it looks for those who wait.
 */
static void
insert_waits(struct db *db, struct uuid id, const struct job_waits *waits)
{
	size_t i;

	for (i = 0; i < waits->n; i++) {
		const struct job_wait *w = &waits->at[i];

		if (uuid_is_none(w->on))
			continue;
		db_text(db, "SELECT state FROM jobs WHERE id = ? LOCK IN SHARE MODE", ARGS(ID(w->on)));
		db_run(db, "INSERT INTO job_waits (job_id, on_id, needed) VALUES (?, ?, ?)",
		    ARGS(ID(id), ID(w->on), INT(w->needed)));
	}
}

static bool
waits_for_any(const struct job_waits *waits)
{
	size_t i;

	for (i = 0; i < waits->n; i++)
		if (!uuid_is_none(waits->at[i].on))
			return true;
	return false;
}

struct uuid
job_insert(struct db *db, const char *kind, const struct record *record, const void *args, struct job_place p)
{
	const struct job_kind *k = job_kind(kind);
	struct arena *mem = arena_new(1 << 20);
	struct buf json = BUF(mem);
	bool waits = waits_for_any(&p.waits);

	if (k == NULL) {
		log_text(LOG_LEVEL_ERROR, "job", "there is no kind of job called %s", kind);
		abort();
	}
	if (uuid_is_none(p.id))
		p.id = uuid_new();
	record_store(&json, record, args);
	db_run(db,
	    "INSERT INTO jobs (id, tenant_id, media_id, ingest_id, kind, args, state, priority, run_at, max_attempts, "
	    "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, " SQL_NOW " + ?, ?, " SQL_NOW ")",
	    ARGS(ID(p.id), ID(p.tenant_id), ID(p.media_id), ID(p.ingest_id), STR(kind), STR(buf_string(&json)),
		STR(waits ? "waiting" : p.delay_ms > 0 ? "delayed" : "ready"),
		INT(p.priority == 0 ? PRIORITY_NORMAL : p.priority), INT(p.delay_ms), INT(k->attempts)));
	arena_free(mem);
	insert_waits(db, p.id, &p.waits);
	if (waits)
		job_release(db, p.id);
	added = true;
	return p.id;
}

bool
job_added(void)
{
	bool was = added;

	added = false;
	return was;
}

/* Fails one waiting job whose needed one has failed, and those that need it in turn. */
static void
fail_dependent(struct db *db, struct uuid id)
{
	struct arena *mem = arena_new(1 << 16);

	db_run(db,
	    "UPDATE jobs SET state = 'failed', error = ?, finished_at = " SQL_NOW " WHERE id = ? AND state = 'waiting'",
	    ARGS(STR(job_error(mem, REASON_DEPENDENCY_FAILED, NULL)), ID(id)));
	arena_free(mem);
	job_settled(db, id);
}

/* The row is locked before counting: of two that end at the same time, the second then sees the first one's state. */
bool
job_release(struct db *db, struct uuid id)
{
	const char *state = db_text(db, "SELECT state FROM jobs WHERE id = ? FOR UPDATE", ARGS(ID(id)));

	if (state == NULL || strcmp(state, "waiting") != 0)
		return false;
	if (db_number(db,
		"SELECT COUNT(*) FROM job_waits w JOIN jobs j ON j.id = w.on_id WHERE w.job_id = ? AND w.needed = 1 "
		"AND j.state IN ('failed', 'cancelled')",
		ARGS(ID(id)), 0) > 0) {
		fail_dependent(db, id);
		return true;
	}
	if (db_number(db,
		"SELECT COUNT(*) FROM job_waits w JOIN jobs j ON j.id = w.on_id WHERE w.job_id = ? "
		"AND j.state NOT IN " FINAL,
		ARGS(ID(id)), 1) > 0)
		return false;
	added = true;
	return db_run(db,
		   "UPDATE jobs SET state = IF(run_at > " SQL_NOW ", 'delayed', 'ready') WHERE id = ? "
		   "AND state = 'waiting'",
		   ARGS(ID(id))) == 1;
}

struct waiter {
	struct uuid job_id;
};
static const struct field waiter_fields[] = {
	FIELD(struct waiter, job_id, .doc = "The job that waits"),
};
static const struct record waiter_record = RECORD("Waiter", struct waiter, waiter_fields);

void
job_settled(struct db *db, struct uuid id)
{
	const struct waiter *w;
	size_t i, n;

	w = db_rows(db, &waiter_record, "FROM job_waits t WHERE t.on_id = ? ORDER BY t.job_id", ARGS(ID(id)), &n);
	for (i = 0; i < n; i++)
		job_release(db, w[i].job_id);
}

/* What failed only because of this one waits again, and so on down. */
static void
restart_dependents(struct db *db, struct uuid id)
{
	const struct waiter *w;
	size_t i, n;

	w = db_rows(db, &waiter_record,
	    "FROM job_waits t JOIN jobs j ON j.id = t.job_id WHERE t.on_id = ? AND t.needed = 1 "
	    "AND j.state = 'failed' AND j.replaced_by IS NULL AND JSON_VALUE(j.error, '$.code') = 'dependency_failed' ORDER BY t.job_id",
	    ARGS(ID(id)), &n);
	for (i = 0; i < n; i++) {
		db_run(db, "UPDATE jobs SET state = 'waiting', error = NULL, finished_at = 0 WHERE id = ?",
		    ARGS(ID(w[i].job_id)));
		restart_dependents(db, w[i].job_id);
	}
}

bool
job_restart(struct db *db, struct uuid id)
{
	if (db_run(db,
		"UPDATE jobs SET state = 'waiting', attempt = 0, progress = 0, error = NULL, log_tail = NULL, "
		"cancel_requested = 0, passing_since = 0, started_at = 0, finished_at = 0, run_at = " SQL_NOW
		", fence = fence + 1 WHERE id = ? AND state IN ('failed', 'cancelled') AND replaced_by IS NULL",
		ARGS(ID(id))) != 1)
		return false;
	restart_dependents(db, id);
	job_release(db, id);
	return true;
}

bool
job_cancel(struct db *db, struct uuid id)
{
	struct arena *mem = arena_new(1 << 16);
	bool queued;

	queued = db_run(db,
		     "UPDATE jobs SET state = 'cancelled', error = ?, finished_at = " SQL_NOW ", fence = fence + 1 "
		     "WHERE id = ? AND state IN ('waiting', 'delayed', 'ready')",
		     ARGS(STR(job_error(mem, REASON_CANCELLED, NULL)), ID(id))) == 1;
	arena_free(mem);
	added = true; /* the runner learns of it at once */
	if (queued) {
		job_settled(db, id);
		flow_gave_up(db, id);
		return true;
	}
	return db_run(db, "UPDATE jobs SET cancel_requested = 1 WHERE id = ? AND state = 'running'", ARGS(ID(id))) == 1;
}

void
job_wake(const char *run_dir)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct dirent *entry;
	DIR *dir = opendir(run_dir);
	size_t n;
	int fd;

	if (dir == NULL)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	while (fd >= 0 && (entry = readdir(dir)) != NULL) {
		n = strlen(entry->d_name);
		if (strncmp(entry->d_name, "runner-", 7) != 0 || n < 12 || strcmp(entry->d_name + n - 5, ".sock") != 0)
			continue;
		if ((size_t)snprintf(to.sun_path, sizeof(to.sun_path), "%s/%s", run_dir, entry->d_name) >=
		    sizeof(to.sun_path))
			continue;
		/* A runner that is gone, or whose queue of wake-ups is full, needs none. */
		(void)sendto(fd, "w", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof(to));
	}
	if (fd >= 0)
		close(fd);
	closedir(dir);
}
