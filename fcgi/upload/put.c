/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of one upload, from the connection to the place of the original.
 *
 * Safe to be killed anywhere: bytes are written to a file of this attempt, synced, and renamed to originals/{uploadId}
 * under the lock of the row, whose commit makes them count.  A file renamed without that commit is replaced by the next
 * PUT, or purged when the upload expires.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "core/event.h"
#include "core/job.h"
#include "core/log.h"
#include "core/quota.h"
#include "core/store_side.h"
#include "fcgi/upload/partial.h"
#include "fcgi/upload/put.h"
#include "fcgi/upload/s3_part.h"
#include "media/sniff.h"

enum {
	TICK_MS = 2000,		/* between signs of life on the row, */
	TICK_SHARE = 10,	/* and so much more for each transfer of this process */
	MIN_RATE = 1024,	/* bytes per second */
	PATIENCE = 20,		/* seconds to wait for a database that is away at the end */
	LOOK_AT = 128 << 10,	/* bytes that have come, when it is looked what they begin */
	HANDOVER_MS = 10000,	/* for an earlier attempt to let go of its file */
};

struct upload_row {
	struct uuid id, tenant_id, principal_id;
	const char *type, *ticket_hash, *status, *refusal, *sha256, *upload_concat, *upload_metadata;
	struct number file_size;
	bool is_partial;
	int64_t attempt, received_bytes;
	struct moment expires_at;
};
static const struct field upload_row_fields[] = {
	FIELD(struct upload_row, id, .doc = "Unique id"),
	FIELD(struct upload_row, tenant_id, .doc = "Whose quota it is"),
	FIELD(struct upload_row, principal_id, .doc = "Who made it"),
	FIELD(struct upload_row, type, .doc = "How the bytes come"),
	FIELD(struct upload_row, ticket_hash, .sql = "LOWER(HEX(t.ticket_hash))", .doc = "SHA-256 of the ticket in hex"),
	FIELD(struct upload_row, status, .doc = "State"),
	FIELD(struct upload_row, refusal, .sql = "JSON_UNQUOTE(JSON_EXTRACT(t.error, '$.code'))",
	    .doc = "Code of the reason why the content was refused"),
	FIELD(struct upload_row, sha256, .sql = "LOWER(HEX(t.sha256))", .doc = "Of what has arrived, in hex"),
	FIELD(struct upload_row, file_size, .doc = "Declared bytes"),
	FIELD(struct upload_row, is_partial, .doc = "Becomes part of another one"),
	FIELD(struct upload_row, upload_concat, .doc = "Of which others it was made"),
	FIELD(struct upload_row, upload_metadata, .doc = "What its client said of it"),
	FIELD(struct upload_row, attempt, .doc = "Number of the latest PUT"),
	FIELD(struct upload_row, received_bytes, .doc = "Bytes that have come"),
	FIELD(struct upload_row, expires_at, .doc = "End of its life"),
};
static const struct record upload_row_record = RECORD("UploadRow", struct upload_row, upload_row_fields);

struct transfer {
	struct put *p;
	struct db *db;		/* one of the links, while a statement needs it */
	struct seat seat;
	bool seated;
	struct partial file;
	int64_t attempt;	/* our number */
	int64_t expected;	/* bytes, or -1 */
	bool goes_on;		/* with what earlier attempts have brought */
	bool declared;		/* when the upload was announced: what is open counts them */
	int64_t limit;
	int64_t granted;	/* of the quota; INT64_MAX: there is none, or it counts the declared size already */
	unsigned char sha256[32];
	struct sniff sniff;
	bool looked;		/* at its beginning */
	struct store_putting putting;
	bool placed;		/* in the store already; the commit is still to come */
	int64_t next_tick;
	int64_t waited, pace_from;	/* ms spent in read() since so many bytes had come */
};

static enum error
stop(struct put *p, enum error error, const char *detail)
{
	p->error = error;
	p->detail = detail;
	return error;
}

static enum error
stop_by_errno(struct put *p, const char *what)
{
	enum error error = error_of_errno(errno);

	if (error != ERR_NO_SPACE)
		log_text(LOG_LEVEL_ERROR, "upload", "%s: %m", what);
	return stop(p, error, NULL);
}

static void
take_link(struct transfer *t)
{
	t->db = links_take(t->p->in->links);
}

static bool
ask_link(struct transfer *t)
{
	t->db = links_ask(t->p->in->links);
	return t->db != NULL;
}

static void
give_link(struct transfer *t)
{
	links_give(t->p->in->links, t->db);
	t->db = NULL;
}

static enum error
stop_by_db(struct transfer *t)
{
	return stop(t->p, db_failure(t->db) == DB_BROKEN ? ERR_INTERNAL : ERR_UNAVAILABLE, NULL);
}

/* Why a state takes no bytes (any more). */
static enum error
stop_by_status(struct put *p, const char *status)
{
	if (strcmp(status, "waiting") == 0 || strcmp(status, "uploading") == 0)
		return stop(p, ERR_UPLOAD_SUPERSEDED, NULL);
	if (strcmp(status, "timedOut") == 0)
		return stop(p, ERR_UPLOAD_EXPIRED, NULL);
	if (strcmp(status, "cancelled") == 0)
		return stop(p, ERR_UPLOAD_CANCELLED, NULL);
	if (strcmp(status, "errored") == 0)
		return stop(p, ERR_UPLOAD_REFUSED, NULL);
	return stop(p, ERR_UPLOAD_RECEIVED, NULL);
}

/* What was told when the bytes were refused, once more. */
static enum error
stop_by_reason(struct put *p, enum reason reason)
{
	p->reason = reason;
	return stop(p, ERR_UPLOAD_REFUSED, arena_printf(p->mem, "The file of this upload was refused. %s",
	    reason_info(reason)->remedy));
}

static bool
ticket_matches(const struct put *p, const char *hash)
{
	unsigned char sha256[32];

	if (p->ticket == NULL || hash == NULL || strlen(hash) != 64)
		return false;
	EVP_Digest(p->ticket, strlen(p->ticket), sha256, NULL, EVP_sha256(), NULL);
	return CRYPTO_memcmp(hex_encode(p->mem, sha256, sizeof(sha256)), hash, 64) == 0;
}

/* Is it the upload that this body is for?  What a job fetches has no ticket: nobody else sends to it. */
static bool
is_ours(const struct transfer *t, const struct upload_row *row)
{
	const struct put *p = t->p;
	const char *type = p->is_import ? "import" : t->goes_on ? "tus" : "put";

	return row != NULL && strcmp(row->type, type) == 0 && (p->is_import || ticket_matches(p, row->ticket_hash));
}

/*
 * An unknown upload and a wrong ticket answer alike.  So does one that comes in parts: its ticket is a session token,
 * which every signed address shows and which is worth nothing without the secret.
 */
static enum error
check_row(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;

	if (row == NULL && db_failure(t->db) != DB_FINE)
		return stop_by_db(t);
	if (!is_ours(t, row))
		return stop(p, ERR_FORBIDDEN, "This is not the address of an upload. Use input.url as POST /v2/uploads "
		    "answered it.");
	if (strcmp(row->status, "errored") == 0 && row->refusal != NULL)
		return stop_by_reason(p, reason_find(row->refusal));
	if (strcmp(row->status, "waiting") != 0 && strcmp(row->status, "uploading") != 0)
		return stop_by_status(p, row->status);
	if (row->expires_at.ms <= moment_now().ms)
		return stop_by_status(p, "timedOut");
	return ERR_NONE;
}

static enum error
stop_by_quota(struct put *p)
{
	return stop(p, ERR_NO_SPACE, "The storage quota of the tenant has no room for this file.");
}

/* Before an earlier attempt is ended for it. */
static enum error
check_room(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;
	int64_t size = t->expected > 0 ? t->expected : 1, left;

	if (store_incoming_free() < size && store_incoming_free() + partial_held(p->mem, p->id) < size)
		return stop(p, ERR_NO_SPACE, NULL);
	left = quota_left(t->db, row->tenant_id, p->id, INT64_MAX);
	if (db_failure(t->db) != DB_FINE)
		return stop_by_db(t);
	if (left < size)
		return stop_by_quota(p);
	t->declared = row->file_size.set;
	t->granted = t->declared ? INT64_MAX : 0;
	return ERR_NONE;
}

static enum error
check_length(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;

	t->expected = p->length >= 0 ? p->length : row->file_size.set ? row->file_size.n : -1;
	t->limit = t->expected >= 0 ? t->expected : p->in->conf->upload_max_size;
	if (t->limit > p->in->conf->upload_max_size)
		return stop(p, ERR_TOO_LARGE, arena_printf(p->mem, "Files may have up to %" PRId64 " bytes here.",
		    p->in->conf->upload_max_size));
	if (row->file_size.set && t->expected != row->file_size.n)
		return stop(p, t->expected > row->file_size.n ? ERR_TOO_LARGE : ERR_INCOMPLETE_BODY,
		    arena_printf(p->mem, "fileSize was declared as %" PRId64 ", but the body has %" PRId64 " bytes.",
		    row->file_size.n, t->expected));
	return check_room(t, row);
}

/* Takes a place, and the next number.  Whoever holds the one before has lost from here on. */
static enum error
claim(struct transfer *t, const struct upload_row *row, int64_t received)
{
	struct put *p = t->p;
	int64_t n;

	p->expires_at = row->expires_at;
	if (p->read != NULL)		/* who only asks brings nothing */
		p->expires_at.ms = moment_now().ms + p->in->conf->upload_lifetime * 1000;
	t->seat = (struct seat){ .upload_id = row->id, .tenant_id = row->tenant_id, .principal_id = row->principal_id };
	if (!room_enter(p->in->room, &t->seat))
		return stop(p, ERR_TOO_BUSY, NULL);
	t->seated = true;
	n = db_run(t->db, "UPDATE uploads SET status = 'uploading', attempt = attempt + 1, received_bytes = ?, "
	    "reserved_bytes = 0, sha256 = NULL, expires_at = ?, version = version + 1, updated_at = " SQL_NOW
	    " WHERE id = ? AND attempt = ? AND sha256 <=> UNHEX(?) AND status IN ('waiting', 'uploading')",
	    ARGS(INT(received), TIME(p->expires_at), ID(row->id), INT(row->attempt), STR(row->sha256)));
	if (n < 0)
		return stop_by_db(t);
	if (n == 0)
		return stop_by_status(p, "uploading");
	t->attempt = p->attempt = row->attempt + 1;
	room_supersede(p->in->room, &t->seat, t->attempt);
	return ERR_NONE;
}

static enum error
open_file(struct transfer *t)
{
	struct put *p = t->p;

	if (!partial_new(&t->file, p->mem, p->id, t->attempt))
		return stop_by_errno(p, "cannot make the file of an upload");
	/* No room for what nothing counts: any number of transfers could take all of it at once. */
	if (t->declared && !partial_reserve(&t->file, t->expected))
		return stop(p, ERR_NO_SPACE, NULL);
	return ERR_NONE;
}

/* The row as it is, with how far we are. */
static enum error
tell(struct transfer *t)
{
	struct put *p = t->p;
	const char *status = NULL;
	int64_t n;

	n = db_run(t->db, "UPDATE uploads SET received_bytes = ?, sha256 = UNHEX(?), expires_at = " SQL_NOW " + ?, "
	    "version = version + 1, updated_at = " SQL_NOW " WHERE id = ? AND attempt = ? AND status = 'uploading'",
	    ARGS(INT(p->received), STR(p->sha256), INT(p->in->conf->upload_lifetime * 1000), ID(p->id),
	    INT(t->attempt)));
	if (n == 0)
		status = db_text(t->db, "SELECT status FROM uploads t WHERE t.id = ?", ARGS(ID(p->id)));
	/* A failure says nothing of the upload. */
	return n == 0 && db_failure(t->db) == DB_FINE ? stop_by_status(p, status != NULL ? status : "cancelled") :
	    ERR_NONE;
}

/*
 * Says on the row how far we are, if the database has a moment.  One that is away now may be back at the end; a lost
 * number is lost.
 */
static enum error
tick(struct transfer *t)
{
	struct put *p = t->p;

	t->next_tick = clock_ms() + TICK_MS + TICK_SHARE * room_taken(p->in->room);
	t->db = links_try(p->in->links);
	if (t->db != NULL) {
		tell(t);
		give_link(t);
	}
	if (p->error == ERR_NONE && !t->file.reserved && store_incoming_free() == 0)
		return stop(p, ERR_NO_SPACE, NULL);
	return p->error;
}

/* Slow clients could hold all places for days.  The time that our disk and our database take is not theirs. */
static enum error
check_pace(struct transfer *t)
{
	struct put *p = t->p;

	if (p->window == 0 || t->waited < p->window || p->received == t->expected)
		return ERR_NONE;
	if (p->received - t->pace_from < t->waited * MIN_RATE / 1000)
		return stop(p, ERR_INCOMPLETE_BODY, arena_printf(p->mem,
		    "The body came too slowly: less than %d bytes per second. Send the file again to the same address.",
		    MIN_RATE));
	t->waited = 0;
	t->pace_from = p->received;
	return ERR_NONE;
}

/* No byte comes that the quota does not hold, however many send at once.  A database that is away is waited for. */
static enum error
reserve(struct transfer *t, int64_t until)
{
	static const struct timespec nap = { .tv_sec = 1 };
	const int64_t end = clock_ms() + PATIENCE * 1000;
	const struct quota_upload u = { t->p->id, t->seat.tenant_id, t->attempt };
	enum hold hold;

	while ((hold = links_reserve(t->p->in->links, &u, until, t->expected < 0 ? QUOTA_STEP : 0, &t->granted)) ==
	    HOLD_AWAY && clock_ms() <= end)
		nanosleep(&nap, NULL);
	switch (hold) {
	case HOLD_FULL:
		return stop_by_quota(t->p);
	case HOLD_OVER:
		return stop_by_status(t->p, "uploading");
	case HOLD_AWAY:
		return stop(t->p, ERR_UNAVAILABLE, NULL);
	default:
		return t->p->error;
	}
}

static enum error
take(struct transfer *t, const void *bytes, int n)
{
	struct put *p = t->p;
	bool fine;

	if (n > t->limit - p->received)
		return stop(p, ERR_TOO_LARGE, "The body is longer than fileSize, or than files may be here.");
	if (p->received + n > t->granted && reserve(t, p->received + n) != ERR_NONE)
		return p->error;
	room_turn(p->in->room, &t->seat, TURN_WRITE);
	fine = partial_write(&t->file, bytes, (size_t)n);
	room_turn_over(p->in->room, &t->seat, TURN_WRITE, n);
	if (!fine)
		return stop_by_errno(p, "cannot write the file of an upload");
	p->received += n;
	atomic_store(&t->seat.received, p->received);
	return clock_ms() >= t->next_tick ? tick(t) : ERR_NONE;
}

static int
read_piece(struct transfer *t, const void **bytes)
{
	int64_t start = clock_ms();
	int n = t->p->read(t->p->user, &t->seat, bytes);

	t->waited += clock_ms() - start;
	return n;
}

/* Somebody else needs its place, or has taken over; or the connection broke. */
static enum error
stop_early(struct transfer *t)
{
	struct put *p = t->p;

	if (t->seat.ended != ERR_NONE)
		return stop(p, (enum error)t->seat.ended, NULL);
	return stop(p, ERR_INCOMPLETE_BODY, arena_printf(p->mem,
	    "The body ended after %" PRId64 " bytes. Send the file again to the same address.", p->received));
}

static void
tell_refusal(struct transfer *t, const char *code)
{
	struct put *p = t->p;

	event_add(t->db, &(struct event_new){ .tenant_id = t->seat.tenant_id, .object_id = p->id,
	    .type = "upload.failed", .principal_id = t->seat.principal_id, .data = arena_printf(p->mem,
	    "{\"uploadId\":\"%s\",\"code\":\"%s\"}", uuid_text(p->mem, p->id), code) });
}

/* The upload ends here: the same bytes would be refused again. */
static enum error
refuse_content(struct transfer *t)
{
	struct put *p = t->p;
	const struct reason_info *why = reason_info(t->sniff.reason);
	struct buf error = BUF(p->mem);
	int64_t n;

	buf_printf(&error, "{\"code\":\"%s\",\"detail\":\"The content of the file was refused.\",\"remedy\":",
	    why->code);
	buf_json(&error, why->remedy);
	buf_text(&error, ",\"retryable\":false}");
	db_begin(t->db);
	n = db_run(t->db, "UPDATE uploads SET status = 'errored', error = ?, received_bytes = ?, version = version + "
	    "1, updated_at = " SQL_NOW " WHERE id = ? AND attempt = ? AND status = 'uploading'",
	    ARGS(STR(buf_string(&error)), INT(p->received), ID(p->id), INT(t->attempt)));
	if (n > 0)
		tell_refusal(t, why->code);
	if (!db_commit(t->db)) {
		stop_by_db(t);
		db_rollback(t->db);
		return p->error;
	}
	if (n == 0)
		return stop_by_status(p, "uploading");
	p->reason = t->sniff.reason;
	return stop(p, p->reason == REASON_FORMAT_NOT_ALLOWED ||
	    p->reason == REASON_UNKNOWN_FORMAT ? ERR_UNSUPPORTED_TYPE : ERR_INVALID, why->remedy);
}

static enum error
refuse(struct transfer *t)
{
	take_link(t);
	refuse_content(t);
	give_link(t);
	return t->p->error;
}

static enum error
inspect(struct transfer *t)
{
	t->sniff = sniff_fd(t->file.fd);
	if (t->sniff.reason == REASON_NONE)
		return ERR_NONE;
	if (t->sniff.reason == REASON_INTERNAL)
		return stop_by_errno(t->p, "cannot read the file of an upload");
	return refuse(t);
}

/* Ten gigabytes of what is no medium are not waited for.  Bytes that may be taken back, and parts, tell nothing yet. */
static enum error
inspect_begun(struct transfer *t)
{
	const struct put *p = t->p;

	if (t->looked || p->received < LOOK_AT || p->verify != NULL || p->is_partial)
		return ERR_NONE;
	t->looked = true;
	t->sniff = sniff_begun(t->file.fd, p->received);
	return t->sniff.reason == REASON_NONE ? ERR_NONE : refuse(t);
}

static enum error
receive(struct transfer *t)
{
	struct put *p = t->p;
	const void *bytes;
	int n;

	t->next_tick = clock_ms() + TICK_MS;
	while ((n = read_piece(t, &bytes)) > 0)
		if (take(t, bytes, n) != ERR_NONE || check_pace(t) != ERR_NONE || inspect_begun(t) != ERR_NONE)
			return p->error;
	if (n < 0 || (t->expected >= 0 && p->received != t->expected))
		return stop_early(t);
	return ERR_NONE;
}

/* What was received is on the disk. */
static enum error
finish(struct transfer *t)
{
	struct put *p = t->p;
	bool fine;

	room_turn(p->in->room, &t->seat, TURN_SYNC);
	fine = partial_finish(&t->file, t->sha256);
	room_turn_over(p->in->room, &t->seat, TURN_SYNC, p->received);
	if (!fine)
		return stop_by_errno(p, "cannot sync the file of an upload");
	p->sha256 = hex_encode(p->mem, t->sha256, sizeof(t->sha256));
	return ERR_NONE;
}

/* In a transaction that holds the row, so that no other PUT, cancel or expiry comes between the file and its row. */
static enum error
place(struct transfer *t)
{
	struct put *p = t->p;
	struct upload_row *row;

	row = db_row(t->db, &upload_row_record, "FROM uploads t WHERE t.id = ? FOR UPDATE", ARGS(ID(p->id)));
	if (row == NULL)
		return stop_by_status(p, "cancelled");
	if (row->attempt == t->attempt && strcmp(row->status, "uploaded") == 0 && row->sha256 != NULL &&
	    strcmp(row->sha256, p->sha256) == 0)
		return ERR_NONE;	/* the commit of the try before had arrived after all */
	if (row->attempt != t->attempt || strcmp(row->status, "uploading") != 0)
		return stop_by_status(p, row->status);
	if (!t->placed && !store_put_end(p->mem, &t->putting)) {
		t->file.given = true;
		return stop_by_errno(p, "cannot put a file into the store");
	}
	t->placed = true;
	db_run(t->db, "UPDATE uploads SET status = 'uploaded', received_bytes = ?, reserved_bytes = 0, sha256 = ?, "
	    "etag = ?, mime_type = ?, media_type = ?, expires_at = " SQL_NOW " + ?, version = version + 1, updated_at = " SQL_NOW
	    " WHERE id = ?", ARGS(INT(p->received), BYTES(t->sha256, sizeof(t->sha256)), STR(p->etag), STR(t->sniff.mime_type),
	    STR(t->sniff.type), INT(p->in->conf->upload_lifetime * 1000), ID(p->id)));
	db_run(t->db, "DELETE FROM upload_parts WHERE upload_id = ?", ARGS(ID(p->id)));
	return ERR_NONE;
}

/* One try.  True: there is no sense in another. */
static bool
place_and_commit(struct transfer *t)
{
	struct put *p = t->p;
	bool done;

	stop(p, ERR_NONE, NULL);
	db_begin(t->db);
	place(t);
	done = db_failure(t->db) == DB_FINE && p->error != ERR_NONE;
	if (!done && db_commit(t->db))
		return true;
	if (!done)
		stop_by_db(t);
	db_rollback(t->db);
	return done || p->error == ERR_INTERNAL;
}

/* Hours may have gone into these bytes, so a database that is away is waited for. */
static void
place_in_time(struct transfer *t)
{
	static const struct timespec nap = { .tv_sec = 1 };
	const int64_t until = clock_ms() + PATIENCE * 1000;
	bool done = false;

	for (;;) {
		if (ask_link(t)) {
			done = place_and_commit(t);
			give_link(t);
		} else {
			stop(t->p, ERR_UNAVAILABLE, NULL);
		}
		if (done || clock_ms() > until)
			return;
		nanosleep(&nap, NULL);
	}
}

/* The file of this transfer is not in the store.  Whoever comes later, or cancels, deletes that of the one before. */
static enum error
stop_unplaced(struct transfer *t, const char *what)
{
	const int reason = errno;
	const struct upload_row *row;
	struct put *p = t->p;
	bool known = false;

	if (reason == ENOENT && ask_link(t)) {
		row = db_row(t->db, &upload_row_record, "FROM uploads t WHERE t.id = ?", ARGS(ID(p->id)));
		known = db_failure(t->db) == DB_FINE && (row == NULL || row->attempt != t->attempt ||
		    strcmp(row->status, "uploading") != 0);
		if (known)
			stop_by_status(p, row == NULL ? "cancelled" : row->status);
		give_link(t);
	}
	errno = reason;
	return known ? p->error : stop_by_errno(p, what);
}

/* For put_is_settling(): the row has the hash of all of it, before it goes into the store. */
static enum error
say_whole(struct transfer *t)
{
	take_link(t);
	store_side_use(t->db, t->p->in->conf, t->seat.tenant_id);
	tell(t);
	give_link(t);
	return t->p->error;
}

/* What was said to be here has to be so when the program is killed behind the store and before the commit: of that the
 * store gets another name.  NULL with errno. */
static const char *
name_for_store(const struct transfer *t)
{
	const char *name = t->goes_on ? arena_printf(t->p->mem, "%s.whole", t->file.path) : t->file.path;

	return !t->goes_on || link(t->file.path, name) == 0 || errno == EEXIST ? name : NULL;
}

/* The bytes go to the store first, where that takes long: no row and no link waits for them. */
static enum error
settle(struct transfer *t)
{
	struct put *p = t->p;
	const char *name;

	/* What has arrived may be the same: place() sees. */
	if (say_whole(t) != ERR_NONE && p->error != ERR_UPLOAD_RECEIVED)
		return p->error;
	name = name_for_store(t);
	if (name == NULL || !store_put_begin(p->mem, name, store_key_original(p->mem, p->id), &t->putting))
		return stop_unplaced(t, "cannot put a file into the store");
	place_in_time(t);
	if (!t->placed)
		store_put_drop(&t->putting);
	if (name != t->file.path)
		unlink(name);
	return p->error;
}

/* Bytes may come again, or go on, when only the connection or its time was at fault.  Those that others go on with
 * are lost with their upload alone. */
static bool
is_worth_keeping(const struct transfer *t)
{
	enum error error = t->p->error;

	if (t->placed || t->p->reason != REASON_NONE)
		return false;
	if (t->goes_on)
		return error != ERR_UPLOAD_CANCELLED && error != ERR_UPLOAD_EXPIRED;
	return error == ERR_INCOMPLETE_BODY || error == ERR_TOO_BUSY || error == ERR_UNAVAILABLE;
}

/* The row says what is left of the bytes; should that fail, the next PUT does not mind. */
static void
give_back(struct transfer *t)
{
	struct put *p = t->p;
	bool untouched = t->goes_on && t->file.path == NULL, kept = !untouched && is_worth_keeping(t) &&
	    partial_keep(&t->file);
	int64_t n;

	if (!kept && !untouched)
		partial_drop(&t->file);
	if (p->reason != REASON_NONE)
		return;
	if (!ask_link(t))
		return;
	n = db_run(t->db, "UPDATE uploads SET status = 'waiting', received_bytes = IF(?, received_bytes, ?), "
	    "reserved_bytes = 0, sha256 = NULL, version = version + 1, updated_at = " SQL_NOW " WHERE id = ? AND attempt = ? AND status = 'uploading'",
	    ARGS(INT(untouched), INT(kept ? t->file.offset : 0), ID(p->id), INT(t->attempt)));
	/* Who gave the upload up, and deleted all there was, may not have seen what we were writing just then. */
	if (n == 0 && kept && db_number(t->db, "SELECT COUNT(*) FROM uploads WHERE id = ? AND status IN ('waiting', "
	    "'uploading')", ARGS(ID(p->id)), -1) == 0)
		partial_drop(&t->file);
	give_link(t);
}

bool
put_is_settling(struct arena *mem, struct uuid upload_id, const char *sha256)
{
	return sha256 != NULL && partial_is_locked(mem, upload_id);
}

/* See partial_hold(). */
static bool
is_being_joined(const struct put *p, const struct upload_row *row)
{
	return row->is_partial && row->received_bytes == row->file_size.n && partial_is_locked(p->mem, p->id);
}

/* Who asked then and took over would let it begin anew each time. */
static enum error
check_settling(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;

	return put_is_settling(p->mem, p->id, row->sha256) || is_being_joined(p, row) ?
	    stop(p, ERR_UPLOAD_LOCKED, NULL) : ERR_NONE;
}

static enum error
start(struct transfer *t)
{
	struct put *p = t->p;
	struct upload_row *row;

	if (!ask_link(t))
		return stop(p, ERR_UNAVAILABLE, NULL);
	/* No tenant is asked for: the ticket stands for it. */
	row = db_row(t->db, &upload_row_record, "FROM uploads t WHERE t.id = ?", ARGS(ID(p->id)));
	if (check_row(t, row) == ERR_NONE && check_settling(t, row) == ERR_NONE &&
	    check_length(t, row) == ERR_NONE)
		claim(t, row, 0);
	give_link(t);
	return p->error;
}

enum error
put_run(struct put *p)
{
	struct transfer t = { .p = p, .granted = INT64_MAX };

	stop(p, ERR_NONE, NULL);
	p->sha256 = NULL;
	if (start(&t) == ERR_NONE) {
		if (open_file(&t) == ERR_NONE && reserve(&t, t.expected) == ERR_NONE && receive(&t) == ERR_NONE &&
		    inspect(&t) == ERR_NONE && finish(&t) == ERR_NONE && settle(&t) == ERR_NONE) {
			p->mime_type = t.sniff.mime_type;
			partial_drop(&t.file);
		} else {
			give_back(&t);
		}
	}
	if (t.seated)
		room_leave(p->in->room, &t.seat);
	return p->error;
}

/* ---- bodies that go on ---- */

static enum error
check_rest(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;

	if (!row->file_size.set)
		return stop(p, ERR_FORBIDDEN, "This is not the address of an upload by tus.");
	p->tenant_id = row->tenant_id;
	p->size = t->limit = row->file_size.n;
	p->is_partial = row->is_partial;
	p->upload_concat = row->upload_concat != NULL ? arena_copy(p->mem, row->upload_concat) : NULL;
	p->upload_metadata = row->upload_metadata != NULL ? arena_copy(p->mem, row->upload_metadata) : NULL;
	p->expires_at = row->expires_at;
	t->expected = -1;
	t->declared = true;
	if (p->read == NULL)
		return ERR_NONE;
	if (p->offset > p->size || p->length > p->size - p->offset)
		return stop(p, ERR_TOO_LARGE, "The body is longer than the rest of the file.");
	if (p->length >= 0)
		t->expected = p->offset + p->length;
	return store_incoming_free() < p->size - p->offset ? stop(p, ERR_NO_SPACE, NULL) : ERR_NONE;
}

static bool
has_arrived(const struct upload_row *row)
{
	return strcmp(row->status, "uploaded") == 0 || strcmp(row->status, "completed") == 0;
}

/* Who only asks is told also of a file that is all here.  One that was made of others never takes bytes of its own. */
static enum error
start_rest(struct transfer *t)
{
	struct put *p = t->p;
	struct upload_row *row;
	bool known;

	if (!ask_link(t))
		return stop(p, ERR_UNAVAILABLE, NULL);
	row = db_row(t->db, &upload_row_record, "FROM uploads t WHERE t.id = ?", ARGS(ID(p->id)));
	known = is_ours(t, row);
	if (known && row->upload_concat != NULL && p->read != NULL)
		stop(p, ERR_FORBIDDEN, "An upload that was made of others takes no bytes.");
	else if (known && has_arrived(row) && p->read == NULL)
		check_rest(t, row);
	else if (check_row(t, row) == ERR_NONE && check_rest(t, row) == ERR_NONE && check_settling(t, row) == ERR_NONE)
		claim(t, row, row->received_bytes);
	if (!t->seated && row != NULL)
		p->received = row->received_bytes;
	give_link(t);
	return p->error;
}

/* The attempt that this one ends has to let go first: it brings to the disk what it has. */
static enum error
take_over(struct transfer *t)
{
	static const struct timespec nap = { .tv_nsec = 50 * 1000000 };
	const int64_t until = clock_ms() + HANDOVER_MS;
	struct put *p = t->p;

	while (!partial_resume(&t->file, p->mem, p->id, t->attempt)) {
		bool held = errno == EWOULDBLOCK;

		if (t->seat.ended != ERR_NONE)
			stop(p, (enum error)t->seat.ended, NULL);
		else if (!held)
			stop_by_errno(p, "cannot go on with the file of an upload");
		partial_close(&t->file);
		if (p->error != ERR_NONE)
			return p->error;
		if (clock_ms() > until)
			return stop(p, ERR_UPLOAD_LOCKED, NULL);
		nanosleep(&nap, NULL);
	}
	p->received = t->pace_from = t->file.offset;
	if (p->read != NULL && p->received != p->offset)
		return stop(p, ERR_UPLOAD_OFFSET, arena_printf(p->mem, "The upload goes on at %" PRId64 ".",
		    p->received));
	return ERR_NONE;
}

/* What comes with a checksum counts as a whole, or not at all. */
static enum error
receive_rest(struct transfer *t)
{
	struct put *p = t->p;

	partial_mark(&t->file);
	receive(t);
	if (p->verify == NULL || (p->error == ERR_NONE && p->verify(p->user)))
		return p->error;
	if (!partial_rewind(&t->file))
		return stop_by_errno(p, "cannot take bytes of an upload back");
	p->received = t->file.offset;
	return p->error != ERR_NONE ? p->error : stop(p, ERR_CHECKSUM, NULL);
}

/* A file that was all here, when only its end had failed, ends with the next request. */
static enum error
arrive(struct transfer *t)
{
	struct put *p = t->p;

	if (p->received < p->size || p->is_partial)
		return ERR_NONE;
	if (inspect(t) != ERR_NONE || finish(t) != ERR_NONE || settle(t) != ERR_NONE)
		return p->error;
	p->mime_type = t->sniff.mime_type;
	partial_drop(&t->file);
	return ERR_NONE;
}

enum error
put_go_on(struct put *p)
{
	struct transfer t = { .p = p, .granted = INT64_MAX, .goes_on = true, .file = { .fd = -1 } };

	stop(p, ERR_NONE, NULL);
	p->sha256 = NULL;
	if (start_rest(&t) == ERR_NONE && t.seated && (take_over(&t) != ERR_NONE ||
	    (p->read != NULL && receive_rest(&t) != ERR_NONE) || arrive(&t) != ERR_NONE || p->mime_type == NULL))
		give_back(&t);
	if (t.seated)
		room_leave(p->in->room, &t.seat);
	return p->error;
}

static enum error
join(struct transfer *t, const struct s3_part *const *parts, size_t n)
{
	struct put *p = t->p;
	struct s3_file f = { .in = p->in, .mem = p->mem, .seat = &t->seat, .fd = -1 };
	enum s3_error error;

	if (!s3_file_new(&f, p->id, arena_printf(p->mem, "%" PRId64 ".whole", t->attempt)))
		return stop_by_errno(p, "cannot make the file of an upload");
	error = s3_file_join(&f, p->id, parts, n);
	s3_file_close(&f);
	if (error != S3_FINE)
		return stop(p, error == S3_NO_SPACE ? ERR_NO_SPACE : ERR_INTERNAL, NULL);
	p->received = p->size;
	return put_place(p, &t->seat, t->attempt, f.path, f.sha256);
}

enum error
put_join(struct put *p, const struct s3_part *const *parts, size_t n)
{
	struct transfer t = { .p = p, .granted = INT64_MAX, .goes_on = true, .file = { .fd = -1 } };

	stop(p, ERR_NONE, NULL);
	p->read = NULL;
	if (start_rest(&t) != ERR_NONE || !t.seated)
		return p->error;
	if (join(&t, parts, n) != ERR_NONE)
		give_back(&t);
	partial_forget(p->mem, p->id, t.attempt + 1);
	room_leave(p->in->room, &t.seat);
	return p->error;
}

bool
put_drop(struct db *db, struct arena *mem, struct uuid id, struct uuid tenant_id, bool arrived)
{
	const char *keys[] = { store_key_upload(mem, id), store_key_original(mem, id) };
	bool done;

	db_begin(db);
	done = db_run(db, "UPDATE uploads SET status = 'cancelled', version = version + 1, updated_at = " SQL_NOW
	    " WHERE id = ? AND status IN (IF(?, 'uploaded', 'waiting'), IF(?, 'uploaded', 'uploading'))",
	    ARGS(ID(id), INT(arrived), INT(arrived))) > 0;
	if (done)
		job_add(db, purge, (struct job_place){ .tenant_id = tenant_id }, .keys = { keys, 2 });
	return db_commit(db) && done;
}

static void
cancel(struct transfer *t, const struct upload_row *row)
{
	const bool done = put_drop(t->db, t->p->mem, t->p->id, row->tenant_id, false);

	if (db_failure(t->db) != DB_FINE) {
		stop_by_db(t);
		db_rollback(t->db);
	} else if (!done) {	/* all of it has arrived meanwhile, or somebody else has given it up */
		row = db_row(t->db, &upload_row_record, "FROM uploads t WHERE t.id = ?", ARGS(ID(t->p->id)));
		if (check_row(t, row) == ERR_NONE)
			stop_by_status(t->p, row->status);
	}
}

enum error
put_cancel(struct put *p)
{
	struct transfer t = { .p = p, .goes_on = true };
	struct upload_row *row;

	stop(p, ERR_NONE, NULL);
	if (!ask_link(&t))
		return stop(p, ERR_UNAVAILABLE, NULL);
	row = db_row(t.db, &upload_row_record, "FROM uploads t WHERE t.id = ?", ARGS(ID(p->id)));
	if (check_row(&t, row) == ERR_NONE)
		cancel(&t, row);
	give_link(&t);
	return p->error;
}

enum error
put_place(struct put *p, const struct seat *seat, int64_t attempt, const char *path, const unsigned char sha256[32])
{
	struct transfer t = { .p = p, .attempt = attempt, .granted = INT64_MAX, .seat = { .upload_id = p->id,
	    .tenant_id = seat->tenant_id, .principal_id = seat->principal_id },
	    .file = { .fd = open(path, O_RDONLY | O_CLOEXEC), .path = path } };

	stop(p, ERR_NONE, NULL);
	if (t.file.fd < 0)
		return stop_unplaced(&t, "cannot open the file of an upload");
	flock(t.file.fd, LOCK_EX | LOCK_NB);	/* for put_is_settling(); of two of one attempt either will do */
	memcpy(t.sha256, sha256, sizeof(t.sha256));
	p->sha256 = hex_encode(p->mem, t.sha256, sizeof(t.sha256));
	if (inspect(&t) == ERR_NONE && settle(&t) == ERR_NONE)
		p->mime_type = t.sniff.mime_type;
	close(t.file.fd);
	return p->error;
}
