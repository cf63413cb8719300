/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fetches a file from an address as an upload of who asked for it, and makes it an asset.  Safe to run twice: what has
 * come stays with the upload, and a run goes on behind it where the server can; what is an asset already, or was
 * cancelled, is left alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/import.h"
#include "core/quota.h"
#include "core/scratch.h"
#include "core/store.h"
#include "core/web.h"
#include "fcgi/access.h"
#include "fcgi/seen.h"
#include "fcgi/upload/put.h"
#include "fcgi/uploads.h"
#include "jobs/import_name.h"
#include "jobs/import_page.h"
#include "jobs/run.h"

enum {
	VALIDATOR_MAX = 1000,		/* characters, as the column has room for */
	REDIRECTS = 10,
	TICK_MS = 1000,			/* between signs of life */
	HALF = 64 << 20,		/* bytes of a file of which nobody says how many it has */
	LONGEST_MS = 86400000,		/* for all of it, from its first byte on */
	NAP = 2,			/* s before a connection that broke is made again */
};

struct order {
	struct uuid principal_id, channel_id;
	const char *principal_name, *scopes, *url, *name, *filename, *language, *validator, *status;
	int64_t file_size;
	struct moment begun_at;
};
static const struct field order_fields[] = {
	FIELD(struct order, principal_id, .sql = "m.principal_id", .doc = "Who asked for it"),
	FIELD(struct order, channel_id, .sql = "m.channel_id", .doc = "Where it goes"),
	FIELD(struct order, principal_name, .sql = "m.principal_name", .doc = "Who asked for it"),
	FIELD(struct order, scopes, .sql = "m.scopes", .doc = "Of the token that asked"),
	FIELD(struct order, url, .doc = "Where it is"),
	FIELD(struct order, name, .doc = "Of the asset"),
	FIELD(struct order, filename, .doc = "Of the file"),
	FIELD(struct order, language, .sql = "t.transcription_language_code", .doc = "To transcribe"),
	FIELD(struct order, validator, .doc = "Of what has begun to come"),
	FIELD(struct order, status, .sql = "x.status", .doc = "Of the upload; NULL: there is none yet"),
	FIELD(struct order, begun_at, .sql = "COALESCE(x.created_at, 0)", .doc = "When its first byte came; 0: none has"),
	FIELD(struct order, file_size, .sql = "COALESCE(x.file_size, 0)", .doc = "As its server has said"),
};
static const struct record order_record = RECORD("ImportOrder", struct order, order_fields);

struct fetching {
	struct job *j;
	struct uuid id;
	struct order *o;
	struct req *r;			/* of who asked */
	struct intake in;
	struct web_stream *stream;
	int64_t received, size;		/* of the file; 0: not known */
	const char *ended;		/* what became of its latest body */
	int64_t until;			/* ms of clock_ms(): no server holds a place longer, in however many tries */
};

/* Where nobody says how long it is, it grows all the same, less and less. */
static int
percent_of(const struct fetching *k)
{
	return (int)(k->received * 100 / (k->size > 0 ? k->size : k->received + HALF));
}

/* The body, a piece at a time; what is silent for long is over. */
static int
on_read(void *user, const struct seat *seat, const void **bytes)
{
	struct fetching *k = user;
	const int64_t until = clock_ms() + k->j->conf->import_silence * 1000;
	enum web_end end;
	size_t n;

	while (seat->ended == ERR_NONE && clock_ms() < k->until) {
		n = web_stream_read(k->stream, TICK_MS, bytes);
		k->received += (int64_t)n;
		job_progress(k->j, percent_of(k));
		/* Whoever takes them goes on until there are too few of them. */
		k->ended = n > 0 ? "The server sends too slowly" : "The connection broke";
		if (n > 0)
			return (int)n;
		if (web_stream_is_over(k->stream, &end))
			return end == WEB_ANSWERED ? 0 : -1;
		if (clock_ms() > until)
			break;
	}
	k->ended = "The server has fallen silent";
	return -1;
}

/* No answer. */
static enum outcome
unanswered(struct fetching *k, enum web_end end)
{
	switch (end) {
	case WEB_BAD_URL:
	case WEB_FORBIDDEN:
		return job_give_up(k->j, REASON_ADDRESS_FORBIDDEN, "%s", web_sentence(end));
	case WEB_TLS:
	case WEB_TOO_MANY_REDIRECTS:
		return job_give_up(k->j, REASON_SOURCE_REFUSED, "%s", web_sentence(end));
	default:
		return job_retry(k->j, REASON_SOURCE_UNAVAILABLE, "%s", web_sentence(end));
	}
}

/* DONE: the file, or the rest of it, follows. */
static enum outcome
judge(struct fetching *k, const struct web_answer *a)
{
	const bool passes = a->status == 408 || a->status == 425 || a->status == 429 ||
	    (a->status >= 500 && a->status != 501);

	if (a->status < 200 || a->status > 299)
		return (passes ? job_retry : job_give_up)(k->j, passes ? REASON_SOURCE_UNAVAILABLE :
		    REASON_SOURCE_REFUSED, "The server answers with status %d.", a->status);
	return DONE;
}

static bool
is_page(const struct web_answer *a)
{
	return strncasecmp(a->type, "text/html", 9) == 0 || strncasecmp(a->type, "application/xhtml", 17) == 0;
}

/* What has come may be of another file than the rest was: the next run begins with its first byte. */
static enum outcome
begin_anew(struct fetching *k)
{
	db_run(k->j->db, "UPDATE import_files SET validator = NULL WHERE id = ?", ARGS(ID(k->id)));
	return job_retry(k->j, REASON_SOURCE_CHANGED, NULL);
}

/* What an upload's end means here. */
static enum outcome
received(struct fetching *k, const struct put *p)
{
	if (p->error == ERR_NONE)
		return DONE;
	if (p->reason != REASON_NONE)
		return job_give_up(k->j, p->reason, NULL);
	switch (p->error) {
	case ERR_UPLOAD_CANCELLED:
	case ERR_UPLOAD_RECEIVED:
		return DONE;		/* finish() sees which */
	case ERR_INCOMPLETE_BODY:
	case ERR_UPLOAD_OFFSET:
	case ERR_UPLOAD_EXPIRED:
		return job_retry(k->j, REASON_SOURCE_UNAVAILABLE, "%s after %" PRId64 " bytes.", k->ended, k->received);
	case ERR_TOO_LARGE:
		return p->offset > 0 ? begin_anew(k) : job_give_up(k->j, REASON_FILE_TOO_LARGE, NULL);
	case ERR_NO_SPACE:
		if (quota_left(k->j->db, k->j->tenant_id, k->id, INT64_MAX) <= k->received)
			return job_give_up(k->j, REASON_QUOTA_FULL, NULL);
		return job_retry(k->j, REASON_NO_SPACE, "There is no room for the file.");
	default:
		return job_retry(k->j, REASON_STORAGE, NULL);
	}
}

/* In a transaction of its own, in which the quota is asked once more: others may have begun at the same moment. */
static enum outcome
reserve(struct fetching *k, const struct upload *u, const char *validator)
{
	struct db *db = k->j->db;

	db_begin(db);
	if (k->o->status == NULL)
		db_insert(db, "uploads", &upload_record, u);
	else
		db_run(db, "UPDATE uploads SET file_size = ?, updated_at = " SQL_NOW
		    " WHERE id = ? AND status IN ('waiting', 'uploading')", ARGS(u->file_size.set ? INT(u->file_size.n) : STR(NULL),
		    ID(k->id)));
	db_run(db, "UPDATE import_files SET validator = ? WHERE id = ?", ARGS(STR(validator), ID(k->id)));
	if (u->file_size.set && !quota_holds(db, u->tenant_id, 0)) {
		db_rollback(db);
		return job_give_up(k->j, REASON_QUOTA_FULL, NULL);
	}
	return db_commit(db) ? DONE : RETRY;
}

/* The row of an upload that begins, or begins anew with another length.  validator: of what comes; NULL: nothing can go
 * on with it.  DONE: it is there. */
static enum outcome
announce(struct fetching *k, const char *file_name, const char *validator)
{
	const struct moment now = moment_now();
	const struct order *o = k->o;
	struct upload u = { .id = k->id, .tenant_id = k->j->tenant_id, .principal_id = o->principal_id,
	    .principal_name = o->principal_name, .type = "import", .file_size = { k->size, k->size > 0 },
	    .status = "waiting", .version = 1, .expires_at = { now.ms + k->j->conf->upload_lifetime * 1000 },
	    .created_at = now, .updated_at = now };
	enum outcome outcome;

	u.file_name = o->filename != NULL ? o->filename : file_name;
	if (o->language != NULL)
		u.transcript_language_codes = (struct strings){ &k->o->language, 1 };
	else
		asset_languages(k->j->db, u.tenant_id, &u.transcript_language_codes);
	if (validator != NULL && (strlen(validator) > VALIDATOR_MAX || !utf8_valid(validator, strlen(validator))))
		validator = NULL;
	outcome = reserve(k, &u, validator);
	if (outcome != DONE)
		return outcome;
	k->o->status = "waiting";
	k->o->validator = validator;
	k->o->file_size = k->size;
	return DONE;
}

/* Is there room for a file of that length?  DONE: yes. */
static enum outcome
check_room(struct fetching *k)
{
	const int64_t size = k->size > 0 ? k->size : 1;

	if (size > k->j->conf->upload_max_size)
		return job_give_up(k->j, REASON_FILE_TOO_LARGE, NULL);
	if (quota_left(k->j->db, k->j->tenant_id, k->id, INT64_MAX) < size)
		return job_give_up(k->j, REASON_QUOTA_FULL, NULL);
	if (store_incoming_free() < size)
		return job_retry(k->j, REASON_NO_SPACE, "There is no room for the file.");
	return DONE;
}

/* From which byte on the file is wanted, by what has come of it in earlier runs; *whole: all is here. */
static int64_t
ask_offset(struct fetching *k, bool *whole)
{
	struct put p = { .in = &k->in, .mem = k->j->mem, .id = k->id, .is_import = true, .length = -1, .offset = -1 };

	*whole = false;
	if (k->o->status == NULL || k->o->validator == NULL || k->o->file_size <= 0 || put_go_on(&p) != ERR_NONE)
		return 0;
	*whole = p.mime_type != NULL;
	return p.received;
}

/* Is it the rest of the file that has begun to come?  Not every server knows If-Range. */
static bool
goes_on_at(const struct fetching *k, const struct web_answer *a, int64_t offset)
{
	const char *was = k->o->validator, *is = was[0] == '"' ? a->etag : a->modified;
	int64_t from, to, total;
	int n;

	if (a->status != 206 || a->range == NULL || (is != NULL && strcmp(is, was) != 0))
		return false;
	n = sscanf(a->range, "bytes %" SCNd64 "-%" SCNd64 "/%" SCNd64, &from, &to, &total);
	return n >= 2 && from == offset && to < k->o->file_size && (n == 2 || total == k->o->file_size) &&
	    a->length <= to - from + 1;
}

static void
on_page(void *user, int percent)
{
	job_progress(((struct fetching *)user)->j, percent);
}

struct reel { struct fetching *k; int fd; char bytes[1 << 16]; };

static int
on_reel(void *user, const struct seat *seat, const void **bytes)
{
	struct reel *reel = user;

	job_progress(reel->k->j, 99);
	*bytes = reel->bytes;
	return seat->ended == ERR_NONE ? (int)read(reel->fd, reel->bytes, sizeof(reel->bytes)) : -1;
}

/* The film on a page.  What a run before this one has brought of it is brought again. */
static enum outcome
take_page(struct fetching *k)
{
	const struct conf *conf = k->j->conf;
	const int64_t left = quota_left(k->j->db, k->j->tenant_id, k->id, INT64_MAX);
	/* Pictures and sound become one file beside themselves, before that goes to where uploads arrive. */
	const int64_t room = scratch_free() / 2 < store_incoming_free() ? scratch_free() / 2 : store_incoming_free(),
	    most = room < conf->upload_max_size ? room : conf->upload_max_size;
	const struct page_call call = { .url = k->o->url, .dir = k->j->work_dir,
	    .private_hosts = conf->import_private_hosts, .progress = on_page, .user = k,
	    .max_size = left < most ? left : most, .silence = (int)conf->import_silence,
	    .seconds = (int)((k->until - clock_ms()) / 1000) };
	struct put p = { .in = &k->in, .mem = k->j->mem, .id = k->id, .is_import = true, .offset = -1,
	    .read = on_reel };
	struct reel *reel = NEW(k->j->mem, struct reel);
	struct page_film film;
	struct fault fault = { 0 };
	enum outcome outcome;

	if (left <= 0)
		return job_give_up(k->j, REASON_QUOTA_FULL, NULL);
	if (room <= 0)
		return job_retry(k->j, REASON_NO_SPACE, NULL);
	if (call.seconds <= 0)
		return job_retry(k->j, REASON_SOURCE_UNAVAILABLE, NULL);
	if (!page_fetch(k->j->mem, &call, &film, &fault))
		return job_fault(k->j, &fault);
	k->size = film.size;
	outcome = check_room(k);
	if (outcome == DONE)
		outcome = announce(k, import_name_of(k->j->mem, film.name), NULL);
	if (outcome == DONE) {
		p.length = film.size;
		reel->k = k;
		reel->fd = film.fd;
		p.user = reel;
		put_run(&p);
		outcome = received(k, &p);
	}
	close(film.fd);
	return outcome;
}

/* Takes the body of an answer. */
static enum outcome
take(struct fetching *k, const struct web_answer *a, int64_t offset)
{
	struct put p = { .in = &k->in, .mem = k->j->mem, .id = k->id, .is_import = true, .length = -1,
	    .window = k->j->conf->import_silence * 1000, .offset = -1, .read = on_read, .user = k };
	enum outcome outcome;

	if (offset > 0 && a->status == 206) {
		k->size = k->o->file_size;
		k->received = p.offset = offset;
		p.length = k->size - offset;
		put_go_on(&p);
		return received(k, &p);
	}
	if (a->status == 206)
		return job_retry(k->j, REASON_SOURCE_UNAVAILABLE, "The server gives another part of the file than was "
		    "asked for.");
	k->received = 0;
	k->size = a->length > 0 ? a->length : 0;
	outcome = check_room(k);
	if (outcome != DONE)
		return outcome;
	outcome = announce(k, import_name(k->j->mem, a->disposition, k->o->url),
	    a->etag != NULL && strncmp(a->etag, "W/", 2) != 0 ? a->etag : a->modified);
	if (outcome != DONE)
		return outcome;
	p.length = k->size > 0 ? k->size : -1;
	put_run(&p);
	return received(k, &p);
}

/* The rest of the file from there on; *offset is 0 when it is another one by now, which comes from its beginning. */
static bool
ask(struct fetching *k, int64_t *offset, struct web_answer *a)
{
	static const char *const headers[] = { "Accept: */*", NULL };

	for (;;) {
		k->stream = web_stream_open(k->j->mem, &(struct web_call){ .url = k->o->url, .headers = headers,
		    .from = *offset, .if_range = *offset > 0 ? k->o->validator : NULL,
		    .private_hosts = k->j->conf->import_private_hosts, .timeout = (int)k->j->conf->import_silence,
		    .redirects = REDIRECTS }, a);
		if (k->stream == NULL)
			return false;
		if (*offset == 0 || (a->status != 416 && (a->status != 206 || goes_on_at(k, a, *offset))))
			return true;
		web_stream_close(k->stream);
		*offset = 0;
	}
}

static enum outcome
fetch_once(struct fetching *k)
{
	struct web_answer a;
	enum outcome outcome;
	bool whole;
	int64_t offset = ask_offset(k, &whole);

	k->ended = "The connection broke";
	if (whole)
		return DONE;
	if (!ask(k, &offset, &a))
		return unanswered(k, a.end);
	outcome = judge(k, &a);
	if (outcome == DONE && !is_page(&a))
		outcome = take(k, &a, offset);
	web_stream_close(k->stream);
	if (outcome != DONE || !is_page(&a))
		return outcome;
	return k->j->conf->import_pages ? take_page(k) : job_give_up(k->j, REASON_SOURCE_IS_PAGE, NULL);
}

/* A connection that breaks is taken up again as long as each one is of use: only what brings nothing, or a drop now and
 * then, is a failure, of which there may be a few. */
static enum outcome
fetch(struct fetching *k)
{
	static const struct timespec nap = { .tv_sec = NAP };
	enum outcome outcome;
	int64_t before, begun;

	k->until = clock_ms() + LONGEST_MS;
	if (k->o->begun_at.ms > 0)
		k->until -= moment_now().ms - k->o->begun_at.ms;
	k->in = (struct intake){ k->j->conf, links_new(k->j->conf, 1), room_new(1, 1, 1) };
	for (;;) {
		before = k->received;
		begun = clock_ms();
		outcome = fetch_once(k);
		if (outcome == RETRY && clock_ms() > k->until)
			outcome = job_give_up(k->j, REASON_TIME_LIMIT, "The file has not come in a day.");
		if (outcome != RETRY || k->j->reason != REASON_SOURCE_UNAVAILABLE ||
		    k->received - before <= (clock_ms() - begun) * IMPORT_MIN_RATE / 1000)
			break;
		nanosleep(&nap, NULL);
	}
	room_free(k->in.room);
	links_free(k->in.links);
	return outcome;
}

static enum reason
reason_of(enum error error)
{
	switch (error) {
	case ERR_DUPLICATE_FILE: return REASON_DUPLICATE_FILE;
	case ERR_NO_SPACE: return REASON_QUOTA_FULL;
	default: return REASON_CHANNEL_UNAVAILABLE;
	}
}

struct settling { struct fetching *k; enum reason reason; };

/* Why what has come does not become an asset.  REASON_NONE: it does, or has. */
static enum reason
settle(struct fetching *k)
{
	struct db *db = k->j->db;
	const struct upload *u;
	const char *status = db_text(db, "SELECT status FROM import_files WHERE id = ? FOR UPDATE", ARGS(ID(k->id)));
	bool arrived;

	/* What a try before this one was refused for. */
	k->r->refused = false;
	k->r->error = ERR_NONE;
	k->r->faults.n = 0;
	u = db_row(db, &upload_record, "FROM uploads t WHERE t.id = ? AND t.tenant_id = ? FOR UPDATE", ARGS(ID(k->id),
	    ID(k->j->tenant_id)));
	if (status == NULL || strcmp(status, "waiting") != 0 || u == NULL)
		return REASON_NONE;
	if (strcmp(u->status, "errored") == 0 || strcmp(u->status, "timedOut") == 0)
		return REASON_CANCELLED;
	if (k->r->audience->version != db_number(db, "SELECT access_version FROM tenants WHERE id = ?",
	    ARGS(ID(k->j->tenant_id)), -2))
		return REASON_BUSY;
	arrived = strcmp(u->status, "uploaded") == 0;
	if (arrived && (!access_into(k->r, k->o->channel_id) || !upload_may_finish(k->r, u)))
		return reason_of(k->r->error);
	db_run(db, "UPDATE import_files SET status = IF(? = 'cancelled', 'cancelled', 'completed') WHERE id = ?",
	    ARGS(STR(u->status), ID(k->id)));
	/* It was asked just now, and nobody has changed the answer. */
	if (arrived && !upload_finish(k->r, u, k->o->channel_id, k->o->name) && db_failure(db) == DB_FINE)
		abort();
	return REASON_NONE;
}

static bool
settle_batch(struct job *j, void *at)
{
	struct settling *s = at;

	(void)j;
	s->reason = settle(s->k);
	return false;
}

/* Asks anew who may do what: the bytes may have taken a day. */
static enum outcome
finish(struct fetching *k)
{
	struct job *j = k->j;
	struct settling s = { .k = k };

	k->r = seen_anew(j->mem, j->db, j->conf, j->tenant_id, k->o->principal_id, k->o->scopes);
	if (db_failure(j->db) != DB_FINE)
		return RETRY;
	if (k->r == NULL)
		return job_give_up(j, REASON_CHANNEL_UNAVAILABLE, NULL);
	job_batches(j, settle_batch, &s, sizeof(s));
	if (s.reason == REASON_NONE)
		return DONE;
	return s.reason == REASON_BUSY ? job_retry(j, s.reason, NULL) : job_give_up(j, s.reason, NULL);
}

enum outcome
import_run(struct job *j)
{
	const struct import_args *in = j->in;
	struct fetching k = { .j = j, .id = in->file_id };
	enum outcome outcome = DONE;

	k.o = db_row(j->db, &order_record, "FROM import_files t JOIN imports m ON m.id = t.import_id LEFT JOIN "
	    "uploads x ON "
	    "x.id = t.id WHERE t.id = ? AND t.job_id = ? AND t.status = 'waiting'", ARGS(ID(k.id), ID(j->id)));
	if (k.o == NULL)
		return DONE;
	job_pause(j);
	k.r = seen_anew(j->mem, j->db, j->conf, j->tenant_id, k.o->principal_id, k.o->scopes);
	if (db_failure(j->db) != DB_FINE)
		return RETRY;
	if (k.r == NULL || !access_into(k.r, k.o->channel_id))
		return job_give_up(j, REASON_CHANNEL_UNAVAILABLE, NULL);
	if (k.o->status == NULL || strcmp(k.o->status, "waiting") == 0 || strcmp(k.o->status, "uploading") == 0)
		outcome = fetch(&k);
	return outcome == DONE ? finish(&k) : outcome;
}
