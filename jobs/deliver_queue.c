/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which delivery is next.  Webhooks whose receivers do well come before those that fail; of these, each tenant's first
 * before any second.  Nobody takes all that is left: a tenant a quarter of the free places, those of it that fail as
 * many as are still left to it, one each, and a receiver what it has earned (deliver_pace.c).  So there is a place for
 * who comes later, and neither slow receivers nor a tenant with many of them delay another one.
 */
#include <stdlib.h>
#include <string.h>

#include "core/audit.h"
#include "core/role.h"
#include "fcgi/seen.h"
#include "jobs/deliver.h"

enum {
	PLACES = 256,			/* on their way at a time, */
	ROUND = 64,			/* and more at a time */
	LINES = 1000,			/* webhooks that are looked at for these */
	SPARE_MS = 15000,		/* beyond the time of a call, before somebody else may take it */
	ANSWER_MAX = 64 << 10,		/* bytes that are read of an answer */
	FAILING_DAYS = 5,
	QUIET_DAYS = 2,			/* no message waits as long for its next attempt */
	STOPPED = 1000,			/* rows that end unsent, at a time, */
	STOPPED_EACH = 20,		/* and as how many a statement counts */
};
#define DAY_MS "86400000"
/* What one address has said is nothing about the one that took its place meanwhile. */
#define STILL_THERE " AND CAST(url AS BINARY) = CAST(? AS BINARY)"

/* A webhook with something due, and who has made it.  id: none when it is gone. */
struct line {
	struct uuid webhook_id, id, tenant_id, principal_id;
	int64_t is_active, is_live, is_super_admin;
	const char *url, *scopes, *client_scopes, *name, *shortcode, *sealed, *sealed_before;
	struct moment failing_since, rotated_at, due_at;
	int64_t turn, going;
	const char *receiver;
};
static const struct field line_fields[] = {
	FIELD(struct line, webhook_id, .sql = "g.webhook_id", .doc = "The webhook"),
	FIELD(struct line, id, .doc = "The same, while it is there"),
	FIELD(struct line, tenant_id, .doc = "Tenant"),
	FIELD(struct line, principal_id, .doc = "Who made it"),
	FIELD(struct line, is_active, .sql = "COALESCE(t.is_active, 0)", .doc = "Is it sent to?"),
	FIELD(struct line, is_live, .sql = SEEN_LIVE, .doc = "Is its owner?"),
	FIELD(struct line, is_super_admin, .sql = SEEN_SUPER_ADMIN, .doc = "Its owner"),
	FIELD(struct line, url, .doc = "Where"),
	FIELD(struct line, scopes, .doc = "Of the token that made it"),
	FIELD(struct line, client_scopes, .sql = "c.scopes", .doc = "Of its owner, if that is a client"),
	FIELD(struct line, name, .sql = "p.name", .doc = "Of its owner"),
	FIELD(struct line, shortcode, .sql = "n.shortcode", .doc = "Of the tenant"),
	FIELD(struct line, sealed, .doc = "Its key"),
	FIELD(struct line, sealed_before, .doc = "The one before"),
	FIELD(struct line, failing_since, .doc = "First failure since the last success"),
	FIELD(struct line, rotated_at, .doc = "When the key was changed"),
	FIELD(struct line, due_at, .sql = "g.due_at", .doc = "Its first delivery"),
	FIELD(struct line, turn, .sql = "g.turn", .doc = "1: the first of its tenant"),
	FIELD(struct line, receiver, .on = COMPUTED, .doc = "Made of url"),
	FIELD(struct line, going, .on = COMPUTED, .doc = "Deliveries of its tenant on their way"),
};
static const struct record line_record = RECORD("WebhookLine", struct line, line_fields);

struct due { struct uuid id; struct number event_id; const char *event; int64_t attempt; struct moment
    next_attempt_at, created_at; };
static const struct field due_fields[] = {
	FIELD(struct due, id, .doc = "Delivery"),
	FIELD(struct due, event_id, .doc = "Event"),
	FIELD(struct due, event, .doc = "Its type"),
	FIELD(struct due, attempt, .doc = "Attempts so far"),
	FIELD(struct due, next_attempt_at, .doc = "When it is due"),
	FIELD(struct due, created_at, .doc = "When it was due first"),
};
static const struct record due_record = RECORD("DueDelivery", struct due, due_fields);

/* How many more may go to it now.  Each kind has a part of what is left, and so never all of it. */
static int
room_for(const struct deliveries *d, const struct line *l)
{
	int of_tenant = 0, of_receiver = 0, of_failing = 0, of_webhook = 0;
	int left = PLACES - d->n_going, tenant, receiver;
	const struct sending *m;

	for (m = d->going; m != NULL; m = m->next) {
		if (!uuid_equal(m->tenant_id, l->tenant_id))
			continue;
		of_tenant++;
		of_failing += m->failing;
		of_webhook += uuid_equal(m->webhook_id, l->id);
		of_receiver += strcmp(m->receiver, l->receiver) == 0;
	}
	tenant = of_tenant == 0 && left > 0 && left < 4 ? 1 : left / 4 - of_tenant;
	if (l->failing_since.ms > 0)
		return of_webhook == 0 && of_failing < tenant;
	receiver = pace_places(&d->paces, l->tenant_id, l->receiver) - of_receiver;
	return receiver < tenant ? receiver : tenant;
}

static int
going_of(const struct deliveries *d, struct uuid tenant_id)
{
	const struct sending *m;
	int n = 0;

	for (m = d->going; m != NULL; m = m->next)
		n += uuid_equal(m->tenant_id, tenant_id);
	return n;
}

static int
line_order(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if ((x->failing_since.ms > 0) != (y->failing_since.ms > 0))
		return x->failing_since.ms > 0 ? 1 : -1;
	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	if (x->going != y->going)
		return x->going < y->going ? -1 : 1;
	return x->due_at.ms < y->due_at.ms ? -1 : x->due_at.ms > y->due_at.ms;
}

/* Nothing of it is ever sent: what waits ends, so many at a time at most.  Returns how many did. */
static int
stop_line(struct deliveries *d, const struct line *l, int most)
{
	int64_t n;

	if (uuid_is_none(l->id))
		n = db_run(d->db, "DELETE FROM webhook_deliveries WHERE status = 'waiting' AND webhook_id = ? LIMIT ?",
		    ARGS(ID(l->webhook_id), INT(most)));
	else
		n = db_run(d->db, "UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = 0, error = ?, "
		    "updated_at = " SQL_NOW " WHERE status = 'waiting' AND webhook_id = ? LIMIT ?", ARGS(STR(l->is_live ?
		    "The webhook is not active." : "Who made the webhook may not sign in any more."),
		    ID(l->webhook_id), INT(most)));
	return (int)n;
}

/* This one of it is not sent.  What was never tried leaves no trace: its owner may not even have been to see it. */
static void
drop_due(struct deliveries *d, const struct due *due, bool keyless)
{
	if (due->attempt == 0 && !keyless)
		db_run(d->db, "DELETE FROM webhook_deliveries WHERE id = ? AND status = 'waiting'", ARGS(ID(due->id)));
	else
		db_run(d->db, "UPDATE webhook_deliveries SET status = 'failed', attempt = attempt + ?, "
		    "next_attempt_at = 0, error = ?, updated_at = " SQL_NOW " WHERE id = ? AND status = 'waiting'",
		    ARGS(INT(keyless), STR(keyless ? "The secret of the webhook cannot be read: make a new one." :
		    "There is nothing left to tell."), ID(due->id)));
}

/* NULL: the event is gone, or nothing that its owner may be told, or asks for any more. */
static const char *
body_of(struct deliveries *d, struct arena *mem, const struct line *l, const struct due *due)
{
	struct principal who = { .id = l->principal_id, .tenant_id = l->tenant_id, .shortcode = l->shortcode, .name =
	    l->name,
	    .is_super_admin = l->is_super_admin, .scopes = scope_bits(l->scopes) };
	const struct event *e;
	const char *data;
	char at[MOMENT_TEXT];

	if (strcmp(due->event, "ping") == 0)
		return arena_printf(mem, "{\"type\":\"ping\",\"timestamp\":\"%s\",\"data\":{\"webhookId\":\"%s\"}}",
		    moment_format(due->created_at, at), uuid_text(mem, l->id));
	if (l->client_scopes != NULL)
		who.scopes &= scope_bits(l->client_scopes);
	e = db_row(d->db, &event_record, EVENT_FROM "JOIN webhooks w ON w.id = ? AND JSON_CONTAINS(w.events, ?) WHERE "
	    "t.id = ? AND t.tenant_id = ?", ARGS(ID(l->id), STR(arena_printf(mem, "\"%s\"", due->event)),
	    INT(due->event_id.n), ID(l->tenant_id)));
	data = e == NULL ? NULL : seen_event(seen_by(mem, d->db, d->conf, &who), e);
	return data == NULL ? NULL : arena_printf(mem, "{\"type\":\"%s\",\"timestamp\":\"%s\",\"data\":%s}", e->type,
	    moment_format(e->created_at, at), data);
}

static const char *
signatures(struct deliveries *d, const struct line *l, const struct webhook_message *m)
{
	struct arena *mem = db_arena(d->db);
	const char *all = webhook_signature(d->conf, mem, l->sealed, m), *key = l->sealed_before, *more;
	size_t n;

	if (key == NULL || moment_now().ms - l->rotated_at.ms >= WEBHOOK_OVERLAP_MS)
		return all;
	for (; *key != '\0' && all != NULL; key += n + strspn(key + n, " ")) {
		n = strcspn(key, " ");
		more = webhook_signature(d->conf, mem, arena_copy_n(mem, key, n), m);
		if (more != NULL)
			all = arena_printf(mem, "%s %s", all, more);
	}
	return all;
}

static void
address(struct deliveries *d, struct sending *m, const struct line *l, const struct due *due, const char *signature,
    const struct webhook_message *text)
{
	const char **headers = arena_array(m->mem, 5, sizeof(*headers));

	headers[0] = "Content-Type: application/json";
	headers[1] = arena_printf(m->mem, "webhook-id: %s", text->id);
	headers[2] = arena_printf(m->mem, "webhook-timestamp: %lld", (long long)text->timestamp);
	headers[3] = arena_printf(m->mem, "webhook-signature: %s", signature);
	m->request_headers = arena_printf(m->mem, "{\"content-type\":\"application/json\",\"user-agent\":\"" WEB_AGENT
	    "\",\"webhook-id\":\"%s\",\"webhook-timestamp\":\"%lld\"}", text->id, (long long)text->timestamp);
	m->call = (struct web_call){ .url = arena_copy(m->mem, l->url), .headers = headers, .body = text->body,
	    .body_size =
	    strlen(text->body), .private_hosts = d->conf->webhook_private_hosts, .timeout =
	    (int)d->conf->webhook_timeout, .max_size =
	    ANSWER_MAX, .secure = true, .cut = true };
	m->id = due->id;
	m->tenant_id = l->tenant_id;
	m->webhook_id = l->id;
	m->event = arena_copy(m->mem, due->event);
	m->receiver = arena_copy(m->mem, l->receiver);
	m->failing = l->failing_since.ms > 0;
	m->attempt = due->attempt;
}

/* NULL: there is nothing to send, and the row does not wait any more. */
static struct sending *
sending_of(struct deliveries *d, const struct line *l, const struct due *due)
{
	struct arena *mem = arena_new((size_t)64 << 20);
	struct webhook_message text = { .timestamp = moment_now().ms / 1000 };
	struct sending *m = NEW(mem, struct sending);
	const char *signature;

	db_use(d->db, mem);
	m->mem = mem;
	text.id = due->event_id.set ? arena_printf(mem, "%lld", (long long)due->event_id.n) :
	    arena_printf(mem, "ping_%s", hex_encode(mem, due->id.b, 16));
	text.body = body_of(d, mem, l, due);
	signature = text.body != NULL ? signatures(d, l, &text) : NULL;
	if (signature != NULL)
		address(d, m, l, due, signature, &text);
	db_use(d->db, d->mem);
	if (signature != NULL && db_failure(d->db) == DB_FINE)
		return m;
	if (db_failure(d->db) == DB_FINE)
		drop_due(d, due, text.body != NULL);
	arena_free(mem);
	return NULL;
}

static int
choose_from(struct deliveries *d, const struct line *l, int room)
{
	const struct due *due;
	struct sending *m;
	size_t n, i;
	int chosen = 0;

	due = db_rows(d->db, &due_record, "FROM webhook_deliveries t FORCE INDEX (by_due) WHERE t.status = 'waiting' "
	    "AND t.webhook_id = ? AND t.next_attempt_at <= " SQL_NOW " ORDER BY t.next_attempt_at LIMIT ?",
	    ARGS(ID(l->webhook_id), INT(room)), &n);
	for (i = 0; i < n; i++) {
		m = sending_of(d, l, &due[i]);
		if (m == NULL)
			continue;
		m->next = d->going;
		d->going = m;
		d->n_going++;
		chosen++;
	}
	return chosen;
}

/* Those that fail, and behind them those that are not sent to at all: deleted, inactive, or its owner is. */
#define IS_LAST "IF(COALESCE(h.is_active, 0) = 0 OR NOT " SEEN_LIVE ", 2, h.failing_since > 0)"

/* The first of each tenant, then the second of each: however many one has, another one's are among them. */
static struct line *
list_lines(struct deliveries *d, size_t *n)
{
	return db_rows(d->db, &line_record, "FROM (SELECT f.webhook_id, f.due_at, ROW_NUMBER() OVER (PARTITION BY "
	    "h.tenant_id, " IS_LAST " ORDER BY f.due_at) AS turn FROM (SELECT w.webhook_id, "
	    "MIN(w.next_attempt_at) AS due_at FROM webhook_deliveries w FORCE INDEX (by_due) WHERE w.status = "
	    "'waiting' GROUP BY w.webhook_id) f LEFT JOIN webhooks h ON h.id = f.webhook_id LEFT JOIN principals p "
	    "ON p.id = h.principal_id " SEEN_JOIN " WHERE f.due_at <= " SQL_NOW " ORDER BY " IS_LAST ", turn, "
	    "f.due_at LIMIT ?) g LEFT JOIN webhooks t ON t.id = g.webhook_id LEFT JOIN principals p ON p.id = "
	    "t.principal_id LEFT JOIN tenants n ON n.id = t.tenant_id " SEEN_JOIN, ARGS(INT(LINES)), n);
}

/* Those that are sent to, in their order. */
static struct line *
lines_in_order(struct deliveries *d, size_t *n)
{
	struct line *lines = list_lines(d, n);
	int stop = STOPPED;
	size_t i, live = 0;

	for (i = 0; i < *n; i++) {
		if (uuid_is_none(lines[i].id) || !lines[i].is_active || !lines[i].is_live) {
			if (stop > 0)
				stop -= STOPPED_EACH + stop_line(d, &lines[i], stop);
			continue;
		}
		lines[i].receiver = web_origin(d->mem, lines[i].url);
		lines[i].going = going_of(d, lines[i].tenant_id);
		lines[live++] = lines[i];
	}
	*n = live;
	if (live > 0)
		qsort(lines, live, sizeof(*lines), line_order);
	return lines;
}

struct sending *
queue_choose(struct deliveries *d)
{
	struct sending *before = d->going, *chosen, *m;
	int room, left = ROUND, going = d->n_going;
	const struct line *lines;
	size_t n, i;

	lines = lines_in_order(d, &n);
	for (i = 0; i < n && left > 0 && d->n_going < PLACES && db_failure(d->db) == DB_FINE; i++) {
		room = room_for(d, &lines[i]);
		if (room > 0)
			left -= choose_from(d, &lines[i], room < left ? room : left);
	}
	/* They have counted as going since they were chosen; whether they go is still to be seen. */
	chosen = d->going == before ? NULL : d->going;
	for (m = chosen; m != NULL && m->next != before; m = m->next)
		continue;
	if (m != NULL)
		m->next = NULL;
	d->going = before;
	d->n_going = going;
	return chosen;
}

bool
queue_take(struct deliveries *d, struct sending *m)
{
	if (db_run(d->db, "UPDATE webhook_deliveries SET status = 'sending', attempt = attempt + 1, next_attempt_at "
	    "= " SQL_NOW " + ?, request_url = ?, request_headers = ?, request_body = ?, response_status = NULL, "
	    "response_body = NULL, error = NULL, duration_ms = NULL WHERE id = ? AND status = 'waiting' AND attempt = ?",
	    ARGS(INT(d->conf->webhook_timeout * 1000 + SPARE_MS), STR(m->call.url), STR(m->request_headers),
	    STR(m->call.body), ID(m->id), INT(m->attempt))) != 1)
		return false;
	m->attempt++;
	return true;
}

/* What strangers send is text for the log at best. */
static const char *
beginning(struct arena *mem, const struct web_answer *a)
{
	size_t n = a->size < WEBHOOK_KEPT ? a->size : WEBHOOK_KEPT, i;
	char *text = arena_copy_n(mem, a->body, n);

	for (i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t')
			text[i] = ' ';
	i = utf8_prefix(text, n);
	if (n - i < 4 && n == WEBHOOK_KEPT)
		text[i] = '\0';
	else
		for (; i < n; i++)
			if ((unsigned char)text[i] >= 0x80)
				text[i] = '?';
	return text;
}

static void
write_end(struct deliveries *d, const struct sending *m, const char *status, int64_t wait)
{
	const struct web_answer *a = &m->answer;
	bool answered = a->end == WEB_ANSWERED;

	db_run(d->db, "UPDATE webhook_deliveries SET status = ?, next_attempt_at = IF(? < 0, 0, " SQL_NOW " + ?), "
	    "response_status = ?, response_body = ?, error = ?, duration_ms = ?, updated_at = " SQL_NOW
	    " WHERE id = ? AND attempt = ?", ARGS(STR(status), INT(wait), INT(wait),
	    answered ? INT(a->status) : STR(NULL), STR(answered ? beginning(d->mem, a) : NULL),
	    STR(answered ? NULL : web_sentence(a->end)), INT(m->ms), ID(m->id), INT(m->attempt)));
}

/* By us, and said so. */
static void
disable(struct deliveries *d, const struct sending *m, const char *reason)
{
	int64_t days = strcmp(reason, "gone") == 0 ? -1 : FAILING_DAYS;

	if (db_run(d->db, "UPDATE webhooks SET is_active = 0, disabled_reason = ?, version = version + 1, updated_at "
	    "= " SQL_NOW
	    " WHERE id = ? AND is_active = 1 AND (? < 0 OR (failing_since > 0 AND failing_since < " SQL_NOW " - ? * "
	    DAY_MS "))" STILL_THERE, ARGS(STR(reason), ID(m->webhook_id), INT(days), INT(days), STR(m->call.url))) == 1)
		audit_add(d->db, &(struct audited){ .tenant_id = m->tenant_id, .object_id = m->webhook_id, .address =
		    "",
		    .type = "webhook.disabled", .data = arena_printf(d->mem, "{\"reason\":\"%s\"}", reason) });
}

/* Days on which nothing was sent are no days of failure. */
static void
failed(struct deliveries *d, const struct sending *m)
{
	db_run(d->db, "UPDATE webhooks SET failing_since = IF(failing_since = 0 OR failed_at < " SQL_NOW " - ? * "
	    DAY_MS ", " SQL_NOW ", failing_since), failed_at = " SQL_NOW " WHERE id = ?" STILL_THERE,
	    ARGS(INT(QUIET_DAYS), ID(m->webhook_id), STR(m->call.url)));
}

void
queue_settle(struct deliveries *d, const struct sending *m)
{
	const struct web_answer *a = &m->answer;
	bool fine = a->end == WEB_ANSWERED && a->status >= 200 && a->status < 300,
	    gone = a->end == WEB_ANSWERED && a->status == 410;
	int64_t wait = strcmp(m->event, "ping") == 0 ? -1 : webhook_wait(m->attempt, a->retry_after);

	if (fine) {
		write_end(d, m, "succeeded", -1);
		db_run(d->db, "UPDATE webhooks SET failing_since = 0 WHERE id = ? AND failing_since > 0",
		    ARGS(ID(m->webhook_id)));
		return;
	}
	if (gone)
		wait = -1;
	write_end(d, m, wait < 0 ? "failed" : "waiting", wait);
	failed(d, m);
	if (gone || m->failing)
		disable(d, m, gone ? "gone" : "failing");
}

void
queue_reap(struct db *db)
{
	db_run(db, "UPDATE webhook_deliveries SET status = 'waiting' WHERE status = 'sending' AND next_attempt_at < "
	    SQL_NOW,
	    NO_ARGS);
}

int64_t
queue_due(struct db *db)
{
	int64_t at = db_number(db, "SELECT MIN(g.due_at) - " SQL_NOW " FROM (SELECT MIN(w.next_attempt_at) AS due_at "
	    "FROM "
	    "webhook_deliveries w FORCE INDEX (by_due) WHERE w.status IN ('waiting', 'sending') GROUP BY w.status, "
	    "w.webhook_id) g", NO_ARGS, INT64_MAX);

	return at == INT64_MAX ? -1 : at < 0 ? 0 : at;
}
