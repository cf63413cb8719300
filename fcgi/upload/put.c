/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of one upload, from the connection to the place of the original.
 *
 * Safe to be killed anywhere: bytes are written to uploads/{uploadId}/{attempt}, synced, and renamed to
 * originals/{uploadId} under the lock of the row, whose commit makes them count.  A file renamed without that commit is
 * replaced by the next PUT, or purged when the upload expires.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/quota.h"
#include "core/store.h"
#include "fcgi/upload/put.h"
#include "media/sniff.h"

enum {
	CHUNK = 32 * 1024,
	/* bytes after which the kernel is told to write, so that the sync at the end is short */
	WRITE_BACK = 8 << 20,
	TICK_MS = 2000,		/* between signs of life on the row */
	MIN_RATE = 1024,	/* bytes per second */
	TRIES = 20,		/* seconds to wait for a database that is away at the end */
};

struct upload_row {
	struct uuid id, tenant_id;
	const char *ticket_hash, *status, *refusal;
	struct number file_size;
	int64_t attempt;
	struct moment expires_at;
};
static const struct field upload_row_fields[] = {
	FIELD(struct upload_row, id, .doc = "Unique id"),
	FIELD(struct upload_row, tenant_id, .doc = "Whose quota it is"),
	FIELD(struct upload_row, ticket_hash, .sql = "LOWER(HEX(t.ticket_hash))", .doc = "SHA-256 of the ticket in hex"),
	FIELD(struct upload_row, status, .doc = "State"),
	FIELD(struct upload_row, refusal, .sql = "JSON_UNQUOTE(JSON_EXTRACT(t.error, '$.code'))",
	    .doc = "Code of the reason why the content was refused"),
	FIELD(struct upload_row, file_size, .doc = "Declared bytes"),
	FIELD(struct upload_row, attempt, .doc = "Number of the latest PUT"),
	FIELD(struct upload_row, expires_at, .doc = "End of its life"),
};
static const struct record upload_row_record = RECORD("UploadRow", struct upload_row, upload_row_fields);

struct transfer {
	struct put *p;
	struct uuid tenant_id;
	int64_t attempt;	/* our number */
	int64_t expected;	/* bytes, or -1 */
	int64_t limit;
	int64_t left;		/* of the quota; INT64_MAX: there is none, or it counts the declared size already */
	bool reserved;		/* the file system keeps room for all of it */
	const char *dir, *file;
	int fd;
	EVP_MD_CTX *hash;
	unsigned char sha256[32];
	struct sniff sniff;
	bool placed;		/* renamed already; the commit is still to come */
	struct arena *tick_mem;
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
	if (errno == ENOSPC || errno == EDQUOT)
		return stop(p, ERR_NO_SPACE, NULL);
	log_text(LOG_LEVEL_ERROR, "upload", "%s: %s", what, strerror(errno));
	return stop(p, ERR_INTERNAL, NULL);
}

static enum error
stop_by_db(struct put *p)
{
	return stop(p, db_failure(p->db) == DB_BROKEN ? ERR_INTERNAL : ERR_UNAVAILABLE, NULL);
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

/* An unknown upload and a wrong ticket answer alike. */
static enum error
check_row(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;

	if (row == NULL && db_failure(p->db) != DB_FINE)
		return stop_by_db(p);
	if (row == NULL || !ticket_matches(p, row->ticket_hash))
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

/* A length that only the request says is no reservation: on the row it would bind the next attempt too. */
static enum error
check_room(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;
	int64_t size = t->expected > 0 ? t->expected : 1;

	if (store_free() < size)
		return stop(p, ERR_NO_SPACE, NULL);
	t->left = quota_left(p->db, row->tenant_id, p->id, INT64_MAX);
	t->tenant_id = row->tenant_id;
	if (db_failure(p->db) != DB_FINE)
		return stop_by_db(p);
	if (t->left < size)
		return stop_by_quota(p);
	if (row->file_size.set)
		t->left = INT64_MAX;
	return ERR_NONE;
}

static enum error
check_length(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;

	t->expected = p->length >= 0 ? p->length : row->file_size.set ? row->file_size.n : -1;
	t->limit = t->expected >= 0 ? t->expected : p->conf->upload_max_size;
	if (t->limit > p->conf->upload_max_size)
		return stop(p, ERR_TOO_LARGE, arena_printf(p->mem, "Files may have up to %" PRId64 " bytes here.",
		    p->conf->upload_max_size));
	if (row->file_size.set && t->expected != row->file_size.n)
		return stop(p, t->expected > row->file_size.n ? ERR_TOO_LARGE : ERR_INCOMPLETE_BODY,
		    arena_printf(p->mem, "fileSize was declared as %" PRId64 ", but the body has %" PRId64 " bytes.",
		    row->file_size.n, t->expected));
	return check_room(t, row);
}

/* Takes the next number.  Whoever holds the one before has lost from here on. */
static enum error
claim(struct transfer *t, const struct upload_row *row)
{
	struct put *p = t->p;
	int64_t n;

	n = db_run(p->db, "UPDATE uploads SET status = 'uploading', attempt = attempt + 1, received_bytes = 0, "
	    "expires_at = " SQL_NOW " + ?, version = version + 1, updated_at = " SQL_NOW
	    " WHERE id = ? AND attempt = ? AND status IN ('waiting', 'uploading')",
	    ARGS(INT(p->conf->upload_lifetime * 1000), ID(row->id), INT(row->attempt)));
	if (n < 0)
		return stop_by_db(p);
	if (n == 0)
		return stop_by_status(p, "uploading");
	t->attempt = row->attempt + 1;
	return ERR_NONE;
}

/*
 * What earlier attempts left behind; one that still runs writes on into nothing and fails at its end.  A later one may
 * be here already, if we were held up since the claim: its file is the one that counts.
 */
static void
delete_earlier(const struct transfer *t)
{
	DIR *dir = opendir(t->dir);
	struct dirent *e;
	int64_t n;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (int_parse(e->d_name, &n) && n < t->attempt)
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir != NULL)
		closedir(dir);
}

/* An earlier attempt that ends takes the directory with it when it is empty: then once more. */
static bool
make_file(struct transfer *t)
{
	int tries;

	for (tries = 0; tries < 3 && t->fd < 0; tries++) {
		if (mkdir(t->dir, 0700) != 0 && errno != EEXIST)
			return false;
		t->fd = open(t->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (t->fd < 0 && errno != ENOENT)
			return false;
	}
	return t->fd >= 0;
}

static enum error
open_file(struct transfer *t)
{
	struct put *p = t->p;

	t->dir = store_incoming(p->mem, p->id);
	t->file = arena_printf(p->mem, "%s/%" PRId64, t->dir, t->attempt);
	delete_earlier(t);
	if (!make_file(t))
		return stop_by_errno(p, "cannot make the file of an upload");
	/*
	 * Said now rather than after hours; a file system that cannot reserve room is checked as the bytes come.  No
	 * room for what the quota does not count: any number of transfers could take all of it at once.
	 */
	t->reserved = t->expected > 0 && t->left == INT64_MAX && fallocate(t->fd, FALLOC_FL_KEEP_SIZE, 0,
	    t->expected) == 0;
	if (t->expected > 0 && t->left == INT64_MAX && !t->reserved && (errno == ENOSPC || errno == EDQUOT))
		return stop(p, ERR_NO_SPACE, NULL);
	return ERR_NONE;
}

/* Says on the row how far we are.  A database that is away now may be back at the end; a lost number is lost. */
static enum error
tick(struct transfer *t)
{
	struct put *p = t->p;
	int64_t n;

	db_use(p->db, t->tick_mem);
	n = db_run(p->db, "UPDATE uploads SET received_bytes = ?, expires_at = " SQL_NOW " + ?, version = version + 1, "
	    "updated_at = " SQL_NOW " WHERE id = ? AND attempt = ? AND status = 'uploading'",
	    ARGS(INT(p->received), INT(p->conf->upload_lifetime * 1000), ID(p->id), INT(t->attempt)));
	if (t->left != INT64_MAX)
		t->left = quota_left(p->db, t->tenant_id, p->id, t->left);
	db_forgive(p->db);
	db_use(p->db, p->mem);
	arena_reset(t->tick_mem);
	t->next_tick = moment_now().ms + TICK_MS;
	if (n == 0) {
		const char *status = db_text(p->db, "SELECT status FROM uploads t WHERE t.id = ?", ARGS(ID(p->id)));

		return stop_by_status(p, status != NULL ? status : "cancelled");
	}
	if (p->received > t->left)
		return stop_by_quota(p);
	if (!t->reserved && store_free() == 0)
		return stop(p, ERR_NO_SPACE, NULL);
	return ERR_NONE;
}

/* Slow clients could hold all processes for days.  The time that our disk and our database take is not theirs. */
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

static enum error
take(struct transfer *t, const char *bytes, int n)
{
	struct put *p = t->p;
	int64_t before = p->received / WRITE_BACK;
	ssize_t done;
	int at;

	if (n > t->limit - p->received)
		return stop(p, ERR_TOO_LARGE, "The body is longer than fileSize, or than files may be here.");
	if (n > t->left - p->received)
		return stop_by_quota(p);
	for (at = 0; at < n; at += (int)done) {
		done = write(t->fd, bytes + at, (size_t)(n - at));
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done < 0)
			return stop_by_errno(p, "cannot write the file of an upload");
	}
	EVP_DigestUpdate(t->hash, bytes, (size_t)n);
	p->received += n;
	if (p->received / WRITE_BACK != before)
		sync_file_range(t->fd, before * WRITE_BACK, WRITE_BACK, SYNC_FILE_RANGE_WRITE);
	return moment_now().ms >= t->next_tick ? tick(t) : ERR_NONE;
}

static int
read_chunk(struct transfer *t, char *chunk)
{
	int64_t start = clock_ms();
	int n = t->p->read(t->p->user, chunk, CHUNK);

	t->waited += clock_ms() - start;
	return n;
}

static enum error
receive(struct transfer *t)
{
	static char chunk[CHUNK];
	struct put *p = t->p;
	int n;

	t->next_tick = moment_now().ms + TICK_MS;
	while ((n = read_chunk(t, chunk)) > 0)
		if (take(t, chunk, n) != ERR_NONE || check_pace(t) != ERR_NONE)
			return p->error;
	if (n < 0 || !p->whole(p->user) || (t->expected >= 0 && p->received != t->expected))
		return stop(p, ERR_INCOMPLETE_BODY, arena_printf(p->mem,
		    "The body ended after %" PRId64 " bytes. Send the file again to the same address.", p->received));
	/* Of transfers that end together, each one says first what it took and then looks at what the others did. */
	if (t->left != INT64_MAX && tick(t) != ERR_NONE)
		return p->error;
	EVP_DigestFinal_ex(t->hash, t->sha256, NULL);
	p->sha256 = hex_encode(p->mem, t->sha256, sizeof(t->sha256));
	return ERR_NONE;
}

/* The upload ends here when its content is refused: the same bytes would be refused again. */
static enum error
inspect(struct transfer *t)
{
	struct put *p = t->p;
	const struct reason_info *why;
	struct buf error = BUF(p->mem);
	int64_t n;

	t->sniff = sniff_fd(t->fd);
	if (t->sniff.reason == REASON_NONE)
		return ERR_NONE;
	if (t->sniff.reason == REASON_INTERNAL)
		return stop_by_errno(p, "cannot read the file of an upload");
	why = reason_info(t->sniff.reason);
	buf_printf(&error, "{\"code\":\"%s\",\"detail\":\"The content of the file was refused.\",\"remedy\":",
	    why->code);
	buf_json(&error, why->remedy);
	buf_text(&error, ",\"retryable\":false}");
	n = db_run(p->db, "UPDATE uploads SET status = 'errored', error = ?, received_bytes = ?, version = version + "
	    "1, updated_at = " SQL_NOW " WHERE id = ? AND attempt = ? AND status = 'uploading'",
	    ARGS(STR(buf_string(&error)), INT(p->received), ID(p->id), INT(t->attempt)));
	if (n < 0)
		return stop_by_db(p);
	if (n == 0)
		return stop_by_status(p, "uploading");
	p->reason = t->sniff.reason;
	return stop(p, p->reason == REASON_FORMAT_NOT_ALLOWED ||
	    p->reason == REASON_UNKNOWN_FORMAT ? ERR_UNSUPPORTED_TYPE : ERR_INVALID, why->remedy);
}

/* In a transaction that holds the row, so that no other PUT, cancel or expiry comes between the file and its row. */
static enum error
place(struct transfer *t)
{
	struct put *p = t->p;
	struct upload_row *row;

	row = db_row(p->db, &upload_row_record, "FROM uploads t WHERE t.id = ? FOR UPDATE", ARGS(ID(p->id)));
	if (row == NULL)
		return stop_by_status(p, "cancelled");
	if (row->attempt == t->attempt && strcmp(row->status, "uploaded") == 0)
		return ERR_NONE;	/* the commit of the try before had arrived after all */
	if (row->attempt != t->attempt || strcmp(row->status, "uploading") != 0)
		return stop_by_status(p, row->status);
	if (!t->placed && !store_put(p->mem, t->file, store_key_original(p->mem, p->id)))
		return stop_by_errno(p, "cannot put a file into the store");
	t->placed = true;
	db_run(p->db, "UPDATE uploads SET status = 'uploaded', received_bytes = ?, sha256 = ?, mime_type = ?, "
	    "media_type = ?, expires_at = " SQL_NOW " + ?, version = version + 1, updated_at = " SQL_NOW
	    " WHERE id = ?", ARGS(INT(p->received), BYTES(t->sha256, sizeof(t->sha256)), STR(t->sniff.mime_type),
	    STR(t->sniff.type), INT(p->conf->upload_lifetime * 1000), ID(p->id)));
	return ERR_NONE;
}

/* Hours may have gone into these bytes, so a database that is away is waited for. */
static enum error
settle(struct transfer *t)
{
	static const struct timespec nap = { .tv_sec = 1 };
	struct put *p = t->p;
	int tries;

	/* Outside the transaction: this may take long. */
	if (fsync(t->fd) != 0)
		return stop_by_errno(p, "cannot sync the file of an upload");
	for (tries = 1;; tries++) {
		stop(p, ERR_NONE, NULL);
		db_begin(p->db);
		place(t);
		if (db_failure(p->db) == DB_FINE && p->error == ERR_NONE && db_commit(p->db))
			return ERR_NONE;
		if (db_failure(p->db) == DB_FINE && p->error != ERR_NONE) {
			db_rollback(p->db);
			return p->error;
		}
		stop_by_db(p);
		db_rollback(p->db);
		db_forgive(p->db);
		if (p->error == ERR_INTERNAL || tries == TRIES)
			return p->error;
		nanosleep(&nap, NULL);
	}
}

/* The bytes are gone, and the row says so; should that fail, the next PUT does not mind. */
static void
give_back(struct transfer *t)
{
	struct put *p = t->p;

	if (p->reason != REASON_NONE)
		return;
	db_forgive(p->db);
	db_run(p->db, "UPDATE uploads SET status = 'waiting', received_bytes = 0, version = version + 1, updated_at = "
	    SQL_NOW " WHERE id = ? AND attempt = ? AND status = 'uploading'", ARGS(ID(p->id), INT(t->attempt)));
	db_forgive(p->db);
}

static void
clean_up(struct transfer *t)
{
	if (t->fd >= 0)
		close(t->fd);
	if (t->file != NULL) {
		unlink(t->file);
		rmdir(t->dir);
	}
	EVP_MD_CTX_free(t->hash);
	arena_free(t->tick_mem);
}

/* A connection that has idled may have died; the second try dials.  No tenant is asked for: the ticket stands for
 * it. */
static struct upload_row *
find(struct put *p)
{
	struct upload_row *row = NULL;
	int tries;

	for (tries = 0; tries < 2; tries++) {
		db_forgive(p->db);
		row = db_row(p->db, &upload_row_record, "FROM uploads t WHERE t.id = ?", ARGS(ID(p->id)));
		if (db_failure(p->db) == DB_FINE)
			break;
	}
	return row;
}

enum error
put_run(struct put *p)
{
	struct transfer t = { .p = p, .fd = -1, .left = INT64_MAX };
	struct upload_row *row;

	stop(p, ERR_NONE, NULL);
	row = find(p);
	if (check_row(&t, row) != ERR_NONE || check_length(&t, row) != ERR_NONE || claim(&t, row) != ERR_NONE)
		return p->error;
	t.tick_mem = arena_new(1 << 20);
	t.hash = EVP_MD_CTX_new();
	if (t.hash == NULL || !EVP_DigestInit_ex(t.hash, EVP_sha256(), NULL))
		abort();
	if (open_file(&t) == ERR_NONE && receive(&t) == ERR_NONE && inspect(&t) == ERR_NONE)
		settle(&t);
	if (p->error != ERR_NONE)
		give_back(&t);
	else
		p->mime_type = t.sniff.mime_type;
	clean_up(&t);
	return p->error;
}
