/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events of an asset and of a tenant: as a list, or as a stream where the program can stream; tickets for browsers. */
#include <stdlib.h>
#include <string.h>

#include "core/seal.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "fcgi/subscription.h"

enum { MOST = 50, PIECE = 1000, ROUNDS = 20, WAIT_MAX = 25, REPLAYED_MAX = 10000, TICKET_MS = 60000 };
enum { NOTHING = -1, UNREADABLE = -2 };	/* that a caller knows in place of a number */
#define TICKET "event ticket"

/* Both kinds of query; that of an asset leaves out what is fixed by it. */
struct event_query { const char *ticket; int64_t after, wait; struct strings type; struct uuid channel_id; };
#define AFTER_FIELD FIELD(struct event_query, after, .on = QUERY, .min = 0, .doc = "Number of the last event that " \
	"is known: what follows it.  A stream takes it from Last-Event-ID, too")
#define WAIT_FIELD FIELD(struct event_query, wait, .on = QUERY, .max = WAIT_MAX, .preset = "0", .doc = "Seconds to " \
	"wait for an event where there is none; of lists, where the server can wait")
#define TYPE_FIELD FIELD(struct event_query, type, .on = QUERY, .one_of = EVENT_NAMES, \
	.doc = "These types alone, separated by commas")
static const struct field asset_query_fields[] = {
	AFTER_FIELD, WAIT_FIELD, TYPE_FIELD,
	FIELD(struct event_query, ticket, .on = QUERY, .max = 16000, .doc = "Instead of a token: see the operation that makes tickets"),
	FIELD(struct event_query, channel_id, .on = HIDDEN, .doc = "Not of an asset"),
};
static const struct record asset_query_record = RECORD("AssetEventQuery", struct event_query, asset_query_fields);
static const struct field tenant_query_fields[] = {
	AFTER_FIELD, WAIT_FIELD, TYPE_FIELD,
	FIELD(struct event_query, channel_id, .on = QUERY, .doc = "Of assets in this channel alone"),
	FIELD(struct event_query, ticket, .on = HIDDEN, .doc = "Not of a tenant"),
};
static const struct record tenant_query_record = RECORD("EventQuery", struct event_query, tenant_query_fields);

struct event_list { struct list events; int64_t next; };
static const struct field event_list_fields[] = {
	FIELD(struct event_list, events, .on = SERVER, .required = true, .of = &event_record, .doc = "In the order of their numbers, at most 50"),
	FIELD(struct event_list, next,   .on = SERVER, .required = true, .doc = "What to ask for by `after` next"),
};
static const struct record event_list_record = RECORD("EventList", struct event_list, event_list_fields);

struct ticket { const char *url; struct moment expires_at; };
static const struct field ticket_fields[] = {
	FIELD(struct ticket, url,        .on = SERVER, .required = true, .format = "uri", .doc = "Address of the stream"),
	FIELD(struct ticket, expires_at, .on = SERVER, .required = true, .doc = "It is opened once, before that moment"),
};
static const struct record ticket_record = RECORD("EventTicket", struct ticket, ticket_fields);

/* What a ticket holds, before the token. */
struct ticket_head { int64_t expires; struct uuid media_id; };

bool
event_fits(const struct subscription *s, const struct event *e)
{
	size_t i;

	if (!uuid_equal(s->tenant_id, e->tenant_id) ||
	    (!uuid_is_none(s->media_id) && !uuid_equal(s->media_id, e->media_id)) ||
	    (!uuid_is_none(s->channel_id) && !ids_have(&e->channel_ids, s->channel_id)))
		return false;
	for (i = 0; i < s->types.n; i++)
		if (strcmp(s->types.at[i], e->type) == 0)
			return true;
	return s->types.n == 0;
}

/* What is about no asset is told to who did it; an asset that is soft-deleted is there for who may recover it, but that
 * it went is told to all who saw it. */
bool
event_may_by(const struct principal *who, unsigned permissions, const struct event *e)
{
	const struct event_type *t = event_type(e->type);
	enum scope wanted;

	if (t == NULL || (who->scopes & SCOPE_BIT(t->scope)) == 0)
		return false;
	if (uuid_is_none(e->media_id))
		return who->is_super_admin || uuid_equal(e->principal_id, who->id);
	wanted = e->deleted_at.ms != 0 && strcmp(e->type, "media.deleted") != 0 ? SCOPE_CREATE_CONTENT : t->scope;
	return (permissions & SCOPE_BIT(wanted)) != 0;
}

bool
event_may(struct req *r, const struct event *e)
{
	return event_may_by(r->who, uuid_is_none(e->media_id) ? 0 : access_by(r, &e->channel_ids), e);
}

void
event_message(struct buf *b, const struct event *e, bool with_id)
{
	if (with_id)
		buf_printf(b, "id: %lld\n", (long long)e->id);
	buf_printf(b, "event: %s\ndata: ", e->type);
	record_render(b, &event_record, e, false);
	buf_text(b, "\n\n");
}

void
event_position(struct buf *b, int64_t id)
{
	if (id > 0)
		buf_printf(b, "id: %lld\n\n", (long long)id);
}

int64_t
event_settled_by(struct req *r)
{
	return r->subscription != NULL ? event_settled(r->subscription->reader) : event_settled_now(r->db);
}

/* The newest event of the tenant that nothing can come before any more: where who knows nothing begins. */
static int64_t
newest(struct req *r, int64_t up_to)
{
	return db_number(r->db, "SELECT COALESCE(MAX(id), 0) FROM events WHERE tenant_id = ? AND id <= ?",
	    ARGS(ID(r->who->tenant_id), INT(up_to)), 0);
}

/* Of this tenant, not from the future, and nothing behind it was pruned: it is young, or nothing came since.  0 is
 * before everything that is kept. */
static bool
is_known(struct req *r, int64_t id)
{
	return id == 0 || db_number(r->db, "SELECT COUNT(*) FROM events WHERE id = ? AND tenant_id = ? AND "
	    "(created_at >= ? OR NOT EXISTS (SELECT 1 FROM events e WHERE e.tenant_id = ? AND e.id > ?))",
	    ARGS(INT(id), ID(r->who->tenant_id), INT(r->now.ms - EVENT_DAYS * INT64_C(86400000)),
	    ID(r->who->tenant_id), INT(id)), 0) == 1;
}

const struct event *
event_behind(struct db *db, const struct subscription *s, struct event_span span, size_t *n)
{
	if (!uuid_is_none(s->media_id))
		return db_rows(db, &event_record, EVENT_FROM "WHERE t.media_id = ? AND t.id > ? AND t.id <= ? AND "
		    "t.tenant_id = ? AND t.is_audit = 0 ORDER BY t.id LIMIT ?", ARGS(ID(s->media_id),
		    INT(span.after), INT(span.up_to), ID(s->tenant_id), INT(span.most)), n);
	return db_rows(db, &event_record, EVENT_FROM "WHERE t.tenant_id = ? AND t.is_audit = 0 AND t.id > ? AND "
	    "t.id <= ? ORDER BY t.id LIMIT ?", ARGS(ID(s->tenant_id), INT(span.after), INT(span.up_to),
	    INT(span.most)), n);
}

/* One that was read and is told by no list yet, since a number below it is open: nobody tells again that it came.
 * 0: there is none. */
static int64_t
held_back(struct req *r, const struct subscription *s, int64_t after)
{
	const struct event *rows;
	size_t n, i;

	rows = event_behind(r->db, s, (struct event_span){ after, s->reader->high, PIECE }, &n);
	for (i = 0; i < n; i++)
		if (event_seen(s->reader, rows[i].id) && event_fits(s, &rows[i]) && event_may(r, &rows[i]))
			return rows[i].id;
	return 0;
}

/* What follows, and where the next list begins. */
static int
list_events(struct req *r, const struct subscription *s, int64_t after)
{
	struct event *out = arena_array(r->mem, MOST, sizeof(*out));
	int64_t up_to = event_settled_by(r), at = after >= 0 ? after : newest(r, up_to);
	const struct event_query *in = r->in;
	const struct event *rows;
	size_t n = 0, got, i;
	bool more = after >= 0;
	int rounds;

	for (rounds = 0; n < MOST && more && rounds < ROUNDS; rounds++) {
		rows = event_behind(r->db, s, (struct event_span){ at, up_to, PIECE }, &got);
		for (i = 0; i < got && n < MOST; i++) {
			at = rows[i].id;
			if (event_fits(s, &rows[i]) && event_may(r, &rows[i]))
				out[n++] = rows[i];
		}
		more = got == PIECE;
	}
	if (n == 0 && !more && in->wait > 0 && r->subscription != NULL && r->subscription->may_wait) {
		r->subscription->from = at;
		r->subscription->wait_ms = in->wait * 1000;
		r->subscription->last = held_back(r, s, at > up_to ? at : up_to);
	}
	return reply(r, 200, &event_list_record, &(struct event_list){ { out, n }, at });
}

/* Is it worth while to tell all that follows? */
static bool
is_near(struct req *r, const struct subscription *s, int64_t after)
{
	int64_t n;

	if (!uuid_is_none(s->media_id))
		n = db_number(r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM events WHERE media_id = ? AND id > ? "
		    "LIMIT ?) t", ARGS(ID(s->media_id), INT(after), INT(REPLAYED_MAX)), 0);
	else
		n = db_number(r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM events WHERE tenant_id = ? AND is_audit = 0 "
		    "AND id > ? LIMIT ?) t", ARGS(ID(s->tenant_id), INT(after), INT(REPLAYED_MAX)), 0);
	return n < REPLAYED_MAX;
}

/* It begins with what follows now.  `lost`: why that is not what the client asked for. */
static void
begin_now(struct req *r, struct subscription *s, const char *lost)
{
	s->last = newest(r, event_settled(s->reader));
	if (lost != NULL)
		buf_printf(&r->out, "event: resync\ndata: {\"reason\":\"%s\"}\n", lost);
	if (s->last > 0)
		event_position(&r->out, s->last);
	else
		buf_char(&r->out, '\n');
}

/* What the client missed is told when the stream stands, as fast as it is taken. */
static int
stream(struct req *r, struct subscription *s, int64_t after)
{
	bool known = after >= 0 && is_known(r, after);

	buf_text(&r->out, "retry: 3000\n");
	s->replays = known && is_near(r, s, after);
	if (s->replays) {
		buf_char(&r->out, '\n');
		s->last = after;
	} else
		begin_now(r, s, after == NOTHING ? NULL : known ? "too_many" : "unknown");
	s->streams = true;
	r->answer_type = "text/event-stream";
	r->cache_control = "no-store";
	return r->status = 200;
}

static int64_t
after_of(const struct req *r)
{
	const struct event_query *in = r->in;
	int64_t n;

	if (r->last_event_id != NULL && *r->last_event_id != '\0')
		return int_parse(r->last_event_id, &n) && n >= 0 ? n : UNREADABLE;
	return r->given & record_bit(r->route->in, "after") ? in->after : NOTHING;
}

static int
events(struct req *r, struct uuid media_id, struct ids channel_ids)
{
	const struct event_query *in = r->in;
	struct subscription own = { 0 }, *s = r->subscription != NULL ? r->subscription : &own;
	int64_t after = after_of(r);

	s->tenant_id = r->who->tenant_id;
	s->media_id = media_id;
	s->channel_id = in->channel_id;
	s->types = in->type;
	s->channel_ids = channel_ids;
	s->streams = s->replays = false;
	s->wait_ms = 0;
	if (after == NOTHING && s->waited)
		after = s->from;
	if (r->faults.n == 0 && s->wants_stream && strcmp(r->method_name, "GET") == 0)
		return stream(r, s, after);
	if (after != NOTHING && (after < 0 || !is_known(r, after)))
		fault(r, "after", "resync", "this event is not there, or not any more: ask without it where to begin, "
		    "and load anew what you show");
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	return list_events(r, s, after);
}

static int
events_of_asset(struct req *r)
{
	const struct media *m = r->object;

	return events(r, m->id, m->channel_ids);
}

static int
events_of_tenant(struct req *r)
{
	const struct event_query *in = r->in;

	if (!uuid_is_none(in->channel_id) && !access_channel(r, in->channel_id, SCOPE_VIEW_CHANNEL))
		return r->status;
	return events(r, (struct uuid){ { 0 } }, (struct ids){ NULL, 0 });
}

/* A ticket is the token itself, sealed: whoever opens the stream by it is who has asked for it, as long as that one
 * may. */
static int
ticket_create(struct req *r)
{
	const char *token = r->authorization + 7 + strspn(r->authorization + 7, " ");
	struct ticket_head head = { r->now.ms + TICKET_MS, r->id[0] };
	struct ticket t = { .expires_at = { head.expires } };
	struct buf plain = BUF(r->mem);

	buf_add(&plain, &head, sizeof(head));
	buf_text(&plain, token);
	t.url = arena_printf(r->mem, "%s/v2/media/%s/events?ticket=%s", r->conf->public_url, uuid_text(r->mem,
	    r->id[0]), seal(r->conf, r->mem, TICKET, plain.text, plain.len));
	return reply(r, 200, &ticket_record, &t);
}

/* NULL: not made here, for another asset, or too old. */
static const char *
ticket_token(struct req *r, const char *ticket, struct uuid media_id)
{
	struct ticket_head head;
	unsigned char *plain;
	long n = unseal(r->conf, r->mem, TICKET, ticket, &plain);

	if (n <= (long)sizeof(head))
		return NULL;
	memcpy(&head, plain, sizeof(head));
	if (head.expires < moment_now().ms || !uuid_equal(head.media_id, media_id))
		return NULL;
	return arena_copy_n(r->mem, (const char *)plain + sizeof(head), (size_t)n - sizeof(head));
}

/* The one of the address, and the asset that it names; NULL: none, or the address of something else. */
static const char *
ticket_of(struct req *r, struct uuid *media_id)
{
	static const char before[] = "/v2/media/", behind[] = "/events?";
	const size_t id = sizeof(before) - 1, end = id + UUID_TEXT - 1;
	const char *at;

	if (strncmp(r->uri, before, id) != 0 || !uuid_parse(arena_copy_n(r->mem, r->uri + id, strnlen(r->uri + id,
	    UUID_TEXT - 1)), media_id) || strncmp(r->uri + end, behind, sizeof(behind) - 1) != 0)
		return NULL;
	if ((at = strstr(r->uri + end, "?ticket=")) == NULL && (at = strstr(r->uri + end, "&ticket=")) == NULL)
		return NULL;
	return arena_copy_n(r->mem, at + 8, strcspn(at + 8, "&#"));
}

/* Each opens one stream: of two that come at the same time, one puts it into the table. */
static bool
is_first_use(struct req *r, const char *ticket)
{
	struct moment until = { moment_now().ms + 2 * TICKET_MS };

	db_use(r->db, r->mem);
	db_forgive(r->db);
	return db_run(r->db, "INSERT IGNORE INTO event_tickets (id, expires_at) VALUES (UNHEX(SHA2(?, 256)), ?)",
	    ARGS(STR(ticket), TIME(until))) == 1;
}

void
ticket_take(struct req *r, bool uses)
{
	struct uuid media_id;
	const char *ticket = r->authorization == NULL ? ticket_of(r, &media_id) : NULL, *token;

	if (ticket == NULL || (token = ticket_token(r, ticket, media_id)) == NULL)
		return;
	if (!uses || is_first_use(r, ticket))
		r->authorization = arena_printf(r->mem, "Bearer %s", token);
	else if (db_failure(r->db) != DB_FINE)
		r->body_error = ERR_UNAVAILABLE;
}

#define EVENT_TYPES "application/json application/problem+json text/event-stream"
const struct route events_routes[] = {
	{
		GET, "/v2/media/{mediaId}/events", SCOPE_VIEW_CHANNEL, events_of_asset, &asset_query_record,
		&event_list_record,
		"Follow the events of an asset: a stream (text/event-stream), or a list of what is behind a number",
		.fails = "403 404 422 429", .produces = EVENT_TYPES, .codes = "too_many_streams",
		.id = "listMediaEvents",
	},
	{
		GET, "/v2/events", SCOPE_VIEW_CHANNEL, events_of_tenant, &tenant_query_record,
		&event_list_record,
		"Follow the events of all assets the caller may see, as a stream or as a list",
		.fails = "403 404 422 429", .produces = EVENT_TYPES, .codes = "too_many_streams",
		.id = "listEvents",
	},
	{
		POST, "/v2/media/{mediaId}/events/ticket", SCOPE_VIEW_CHANNEL, ticket_create, NULL, &ticket_record,
		"Make an address by which a browser opens the stream of an asset, once and within a minute",
		.flags = ACTION | READS_ONLY | BELOW, .fails = "403 404", .id = "createMediaEventTicket",
	},
	{ 0 }
};
