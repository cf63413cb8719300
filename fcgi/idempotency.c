/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys, the rows that they name, and answers in them. */
#include <stdlib.h>
#include <string.h>

#include "core/seal.h"
#include "fcgi/idempotency.h"
#include "fcgi/uploads.h"

enum { KEY_MAX = 255, LOCK_TAKES_TOO_LONG = 1205 };

#define LIFE_MS INT64_C(86400000)

struct kept { const char *request, *answer; struct moment expires_at; };
static const struct field kept_fields[] = {
	FIELD(struct kept, request, .doc = "What it answers"),
	FIELD(struct kept, answer, .doc = "Sealed"),
	FIELD(struct kept, expires_at, .doc = "Forgotten then"),
};
static const struct record kept_record = RECORD("KeptAnswer", struct kept, kept_fields);

bool
idempotency_counts(const struct route *route)
{
	return (route->method == POST || route->flags & ANEW) && route->scope != SCOPE_PUBLIC && route_writes(route);
}

/* A string of RFC 9651 section 3.3.3, or the same without quotes, as most clients send it.  NULL: neither. */
static const char *
parse(struct arena *mem, const char *text)
{
	bool quoted = *text == '"';
	struct buf b = BUF(mem);
	const char *p = text + quoted;

	for (; *p != '\0' && (!quoted || *p != '"'); p++) {
		if (quoted && *p == '\\' && *++p != '"' && *p != '\\')
			return NULL;
		if (*p < (quoted ? ' ' : '!') || *p > '~' || (!quoted && strchr("\",;\\", *p) != NULL))
			return NULL;
		buf_char(&b, *p);
	}
	if (quoted && strcmp(p, "\"") != 0)
		return NULL;
	return b.len > 0 && b.len <= KEY_MAX ? buf_string(&b) : NULL;
}

bool
idempotency_check(struct req *r)
{
	const char *sent = r->idempotency_key;
	/* Of the same parts the same file is made without a key, too; one whose joining has failed is made anew. */
	const bool is_of_parts = r->tus != NULL && r->tus->upload_concat != NULL;

	/* An empty one is malformed where it comes here: lighttpd passes no empty field on. */
	if (sent == NULL || is_of_parts || !idempotency_counts(r->route)) {
		r->idempotency_key = NULL;
		return true;
	}
	r->idempotency_key = parse(r->mem, sent);
	if (r->idempotency_key != NULL)
		return true;
	refuse(r, ERR_IDEMPOTENCY_KEY, NULL);
	return false;
}

static const char *
row_name(struct req *r)
{
	const char *purpose = arena_printf(r->mem, "idempotency of %s by %s", uuid_text(r->mem, r->who->id),
	    uuid_text(r->mem, r->who->client_id));

	return seal_proof(r->conf, r->mem, purpose, r->idempotency_key);
}

/* What is asked besides the body. */
static const char *
tus_text(struct req *r)
{
	const struct upload_tus *t = r->tus;

	return t == NULL ? "" : arena_printf(r->mem, "\n%s %s", t->is_partial ? "partial" : "whole",
	    t->upload_metadata != NULL ? t->upload_metadata : "");
}

static const char *
request_proof(struct req *r)
{
	return seal_proof(r->conf, r->mem, "idempotency request", arena_printf(r->mem, "%s\n%s\n%s%s",
	    method_name(r->method), r->uri, base64url_encode(r->mem, r->body != NULL ? r->body : "", r->body_size),
	    tus_text(r)));
}

static const char *
purpose_of_answer(struct req *r)
{
	return arena_printf(r->mem, "idempotency answer of %s by %s to %s", uuid_text(r->mem, r->who->id),
	    uuid_text(r->mem, r->who->client_id), r->idempotency_key);
}

/* Strings with their NULs, then the body. */
static const char *
next(struct req *r, const unsigned char **p, const unsigned char *end)
{
	size_t n = strnlen((const char *)*p, (size_t)(end - *p));
	const char *text = n > 0 ? arena_copy_n(r->mem, *p, n) : NULL;

	*p += n + (*p + n < end);
	return text;
}

static void
put(struct buf *b, const char *text)
{
	buf_text(b, text != NULL ? text : "");
	buf_char(b, '\0');
}

static void
replay(struct req *r, const char *sealed)
{
	unsigned char *bytes = NULL;
	long n = sealed != NULL ? unseal(r->conf, r->mem, purpose_of_answer(r), sealed, &bytes) : -1;
	const unsigned char *p = bytes, *end;
	const char *status, *type;

	if (n < 0) {
		refuse(r, ERR_INTERNAL, NULL);
		return;
	}
	end = bytes + n;
	status = next(r, &p, end);
	type = next(r, &p, end);
	r->etag = next(r, &p, end);
	r->location = next(r, &p, end);
	r->disposition = next(r, &p, end);
	r->cache_control = next(r, &p, end);
	r->retry_after = atoi(next(r, &p, end));
	reply_raw(r, atoi(status), type, p, (size_t)(end - p));
	r->refused = false;
	r->headers = BUF(r->mem);
	buf_text(&r->headers, "Idempotent-Replayed: true\r\n");
}

/* The answer is kept for this request alone. */
static void
answer_from(struct req *r, const struct kept *k)
{
	if (seal_same(k->request, request_proof(r)))
		replay(r, k->answer);
	else
		refuse(r, ERR_IDEMPOTENCY_KEY_REUSED, NULL);
}

static bool
answer_by(struct req *r, const char *name)
{
	const struct kept *k = db_row(r->db, &kept_record, "FROM idempotent_answers t WHERE t.name = ?",
	    ARGS(STR(name)));

	if (k != NULL && k->expires_at.ms > r->now.ms)
		answer_from(r, k);
	else if (k != NULL)
		db_run(r->db, "DELETE FROM idempotent_answers WHERE name = ? AND expires_at <= ?",
		    ARGS(STR(name), TIME(r->now)));
	return k != NULL && k->expires_at.ms > r->now.ms;
}

void
idempotency_answer(struct req *r)
{
	if (r->idempotency_key != NULL && r->status != 401 && r->status != 403 && r->status != 404)
		answer_by(r, row_name(r));
}

static const char *
answer_sealed(struct req *r)
{
	struct buf b = BUF(r->mem);

	put(&b, arena_printf(r->mem, "%d", r->status));
	put(&b, r->answer_type);
	put(&b, r->etag);
	put(&b, r->location);
	put(&b, r->disposition);
	put(&b, r->cache_control);
	put(&b, arena_printf(r->mem, "%d", r->retry_after));
	buf_add(&b, r->out.text, r->out.len);
	return seal(r->conf, r->mem, purpose_of_answer(r), b.text, b.len);
}

/* Nobody has answered yet: the first has not ended, or what was kept is too old and has just gone. */
static enum keeping
in_use(struct req *r, enum keeping keeping)
{
	r->retry_after = 1;
	refuse(r, ERR_IDEMPOTENCY_KEY_IN_USE, NULL);
	return keeping;
}

/* Whoever holds the row still runs: after a second of waiting nobody waits on. */
enum keeping
idempotency_keep(struct req *r)
{
	const char *name;

	if (r->idempotency_key == NULL || r->asks_only)
		return KEPT;
	name = row_name(r);
	if (db_run_last(r->db, "INSERT IGNORE INTO idempotent_answers (name, request, answer, expires_at) "
	    "VALUES (?, ?, ?, ?)", ARGS(STR(name), STR(request_proof(r)), STR(answer_sealed(r)),
	    INT(r->now.ms + LIFE_MS))) == 1)
		return KEPT;
	if (db_failure(r->db) != DB_FINE && db_errno(r->db) != LOCK_TAKES_TOO_LONG)
		return KEPT;		/* by nobody: the failure is the dispatcher's */
	if (db_failure(r->db) != DB_FINE) {
		db_rollback(r->db);
		db_forgive(r->db);
		return in_use(r, KEPT_BEFORE);
	}
	db_rollback(r->db);
	return answer_by(r, name) ? KEPT_BEFORE : in_use(r, KEPT_NO_MORE);
}
