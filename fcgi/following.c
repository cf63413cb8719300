/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /watch/events: what pages that anybody may open ask to follow what they show, one stream for all tabs of a browser
 * (web/follow.js).  It tells that something has changed and nothing else: the page asks for itself again, and access is
 * decided there.  Who may open no page of it is told nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "core/play.h"
#include "fcgi/page.h"
#include "fcgi/subscription.h"

enum { SUBJECTS = 100, AGE_MAX = 86400000, WAIT_MAX = 25, ASKED = 16 };
#define ASKED_SQL "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

struct following_query { struct strings media, channel; int64_t after, age, wait; };
static const struct field following_query_fields[] = {
	FIELD(struct following_query, media,   .on = QUERY, .doc = "Assets; behind a tilde the token of a signed address"),
	FIELD(struct following_query, channel, .on = QUERY, .doc = "Channels"),
	FIELD(struct following_query, after,   .on = QUERY, .min = 0, .doc = "Number that is known; a stream takes it from Last-Event-ID, too"),
	FIELD(struct following_query, age,     .on = QUERY, .max = AGE_MAX, .doc = "Milliseconds that the page is old, which nobody followed so far"),
	FIELD(struct following_query, wait,    .on = QUERY, .max = WAIT_MAX, .preset = "0", .doc = "Seconds to wait for a change; of lists"),
};
static const struct record following_query_record = RECORD("FollowingQuery", struct following_query,
    following_query_fields);

struct changed { struct uuid media_id, channel_id; };
static const struct field changed_fields[] = {
	FIELD(struct changed, media_id,   .on = SERVER | OMIT_NULL, .doc = "An asset that was asked for"),
	FIELD(struct changed, channel_id, .on = SERVER | OMIT_NULL, .doc = "A channel that was asked for: something in it"),
};
static const struct record changed_record = RECORD("Changed", struct changed, changed_fields);

struct following { struct list changed; int64_t next; };
static const struct field following_fields[] = {
	FIELD(struct following, changed, .on = SERVER, .required = true, .of = &changed_record, .doc = "What has changed"),
	FIELD(struct following, next,    .on = SERVER, .required = true, .doc = "What to ask for by `after` next"),
};
static const struct record following_record = RECORD("Following", struct following, following_fields);

/* A channel that somebody may see who has no token; is_open: it has a page. */
struct seen_channel { struct uuid id, tenant_id; bool is_open; };
static const struct field seen_channel_fields[] = {
	FIELD(struct seen_channel, id, .doc = "Unique id"),
	FIELD(struct seen_channel, tenant_id, .doc = "The tenant"),
	FIELD(struct seen_channel, is_open, .sql = PAGE_OPEN_SQL, .doc = "Has it a page?"),
};
static const struct record seen_channel_record = RECORD("SeenChannel", struct seen_channel, seen_channel_fields);

static const struct seen_channel *
seen_channel(struct db *db, struct uuid id)
{
	return db_row(db, &seen_channel_record, "FROM channels t JOIN tenants n ON n.id = t.tenant_id WHERE t.id = ? "
	    "AND t.visibility <> 'private'", ARGS(ID(id)));
}

/* As player_find() decides. */
static bool
opens_asset(struct req *r, const struct subject *s)
{
	bool opened = s->token != NULL && page_opens(r->conf, s->token, s->id, r->now);

	return db_number(r->db, "SELECT COUNT(*) FROM media t WHERE t.id = ? AND t.deleted_at = 0 AND (? OR EXISTS "
	    "(SELECT 1 FROM media_channels mc JOIN channels c ON c.id = mc.channel_id WHERE mc.media_id = t.id AND "
	    "c.visibility <> 'private'))", ARGS(ID(s->id), INT(opened)), 0) == 1;
}

/* "{id}" or "{id}~{token}".  What is no id, and what the caller may not open, is left out. */
static void
add_subject(struct req *r, struct subscription *s, const char *text, bool is_channel)
{
	struct subject *to = &s->subjects[s->n_subjects];
	size_t n = strcspn(text, "~");
	const struct seen_channel *c;

	*to = (struct subject){ .is_channel = is_channel, .token = text[n] == '~' ? text + n + 1 : NULL };
	if (s->n_subjects == SUBJECTS || !uuid_parse(arena_copy_n(r->mem, text, n), &to->id))
		return;
	if (!is_channel) {
		s->n_subjects += opens_asset(r, to);
	} else if ((c = seen_channel(r->db, to->id)) != NULL && c->is_open) {
		to->tenant_id = c->tenant_id;
		s->n_subjects++;
	}
}

/* Behind that number and up to another, or since then.  Of a channel: has anything of its tenant? */
static bool
has_changed(struct req *r, const struct subject *s, struct event_span span, int64_t since)
{
	struct uuid id = s->is_channel ? s->tenant_id : s->id;

	if (s->is_channel)
		return db_number(r->db, "SELECT EXISTS (SELECT 1 FROM events WHERE tenant_id = ? AND is_audit = 0 AND "
		    "id > ? AND id <= ?) OR EXISTS (SELECT 1 FROM events WHERE tenant_id = ? AND is_audit = 0 AND "
		    "created_at >= ?)", ARGS(ID(id), INT(span.after), INT(span.up_to), ID(id), INT(since)), 0) == 1;
	return db_number(r->db, "SELECT EXISTS (SELECT 1 FROM events WHERE media_id = ? AND id > ? AND id <= ?) OR "
	    "EXISTS (SELECT 1 FROM events WHERE media_id = ? AND created_at >= ?)", ARGS(ID(id), INT(span.after),
	    INT(span.up_to), ID(id), INT(since)), 0) == 1;
}

/* Not from the future, and all that followed is still there.  Numbers are those of all tenants. */
static bool
is_known(struct req *r, int64_t after)
{
	return after <= db_number(r->db, "SELECT MAX(id) FROM events", NO_ARGS, 0) && db_number(r->db,
	    "SELECT created_at FROM events WHERE id <= ? ORDER BY id DESC LIMIT 1", ARGS(INT(after)), 0) >=
	    r->now.ms - EVENT_DAYS * INT64_C(86400000);
}

static struct changed
name_of(const struct subject *s)
{
	struct changed named = { 0 };

	*(s->is_channel ? &named.channel_id : &named.media_id) = s->id;
	return named;
}

void
following_message(struct buf *b, const struct subject *s, int64_t id)
{
	struct changed named;

	if (id > 0)
		buf_printf(b, "id: %lld\n", (long long)id);
	buf_printf(b, "event: %s\ndata: ", s != NULL ? "changed" : "position");
	if (s != NULL) {
		named = name_of(s);
		record_render(b, &changed_record, &named, false);
	} else
		buf_text(b, "{}");
	buf_text(b, "\n\n");
}

static bool
same_ids(const struct ids *a, const struct ids *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof(*a->at)) == 0);
}

/* The channels of the asset, some at a time, the last id standing in for those that are missing. */
static void
look(struct following_now *now, struct db *db, const struct event *e)
{
	struct arg args[ASKED + 2];
	const struct ids *ids = &e->channel_ids;
	const struct seen_channel *rows;
	size_t at, i, n;

	if (now->pages != NULL && uuid_equal(now->tenant_id, e->tenant_id) && same_ids(&now->channel_ids, ids))
		return;
	now->tenant_id = e->tenant_id;
	now->channel_ids = *ids;
	now->pages = arena_array(db_arena(db), ids->n + 1, sizeof(*now->pages));
	now->n = 0;
	now->is_public = false;
	args[0] = ID(e->tenant_id);
	args[ASKED + 1].kind = ARG_END;
	for (at = 0; at < ids->n; at += ASKED) {
		for (i = 0; i < ASKED; i++)
			args[i + 1] = ID(ids->at[at + i < ids->n ? at + i : ids->n - 1]);
		rows = db_rows(db, &seen_channel_record, "FROM channels t JOIN tenants n ON n.id = t.tenant_id WHERE "
		    "t.tenant_id = ? AND t.id IN " ASKED_SQL " AND t.visibility <> 'private'", args, &n);
		for (i = 0; i < n; i++) {
			now->is_public = true;
			if (rows[i].is_open)
				now->pages[now->n++] = rows[i].id;
		}
	}
}

/* The channels of a tenant that have a page, by their ids. */
struct following_tenant { struct following_tenant *next; struct uuid id; const struct seen_channel *pages; size_t n; };

static bool
has_page(struct following_now *now, struct db *db, const struct subject *s)
{
	struct following_tenant *t = now->tenants;

	while (t != NULL && !uuid_equal(t->id, s->tenant_id))
		t = t->next;
	if (t == NULL) {
		t = NEW(db_arena(db), struct following_tenant);
		t->next = now->tenants;
		t->id = s->tenant_id;
		t->pages = db_rows(db, &seen_channel_record, "FROM channels t JOIN tenants n ON n.id = t.tenant_id "
		    "WHERE t.tenant_id = ? AND " PAGE_OPEN_SQL " ORDER BY t.id", ARGS(ID(t->id)), &t->n);
		now->tenants = t;
	}
	return t->n > 0 && bsearch(&s->id, t->pages, t->n, sizeof(*t->pages), uuid_order) != NULL;
}

/* Where the asset is; and where it may have been until now. */
static bool
concerns_channel(struct following_now *now, struct db *db, const struct subject *s, const struct event *e)
{
	size_t i;

	if (!uuid_equal(s->tenant_id, e->tenant_id))
		return false;
	look(now, db, e);
	for (i = 0; i < now->n; i++)
		if (uuid_equal(now->pages[i], s->id))
			return true;
	return strcmp(e->type, "media.updated") == 0 && e->data.text != NULL &&
	    strstr(e->data.text, "\"channels\"") != NULL && has_page(now, db, s);
}

/* That an asset cannot be seen any more is the last that is told of it. */
bool
following_concerns(struct following_now *now, const struct conf *conf, struct db *db, struct subject *s,
    const struct event *e)
{
	if (s->is_gone)
		return false;
	if (s->is_channel)
		return concerns_channel(now, db, s, e);
	if (!uuid_equal(s->id, e->media_id))
		return false;
	look(now, db, e);
	s->is_gone = e->deleted_at.ms != 0 || strcmp(e->type, "media.deleted") == 0 || (!now->is_public &&
	    (s->token == NULL || !page_opens(conf, s->token, s->id, moment_now())));
	return true;
}

static size_t
find_changed(struct req *r, const struct subscription *s, struct event_span span, int64_t since, struct changed *out)
{
	size_t n = 0, i;

	for (i = 0; i < s->n_subjects; i++)
		if (has_changed(r, &s->subjects[i], span, since))
			out[n++] = name_of(&s->subjects[i]);
	return n;
}

/* All that there is, and where to go on. */
static int
begin_stream(struct req *r, struct subscription *s, int64_t after, int64_t since)
{
	struct event_span all = { after, INT64_MAX, 0 };
	struct buf b = BUF(r->mem);
	size_t i;

	s->last = event_settled(s->reader);
	buf_text(&b, "retry: 3000\n\n");
	for (i = 0; i < s->n_subjects; i++)
		if (has_changed(r, &s->subjects[i], all, since))
			following_message(&b, &s->subjects[i], 0);
	following_message(&b, NULL, s->last);
	s->streams = true;
	r->cache_control = "no-store";
	return reply_raw(r, 200, "text/event-stream", b.text, b.len);
}

/* What is settled alone, so that nobody is told the same again at once. */
static int
answer_list(struct req *r, struct subscription *s, int64_t after, int64_t since)
{
	struct changed *out = arena_array(r->mem, SUBJECTS, sizeof(*out));
	const struct following_query *in = r->in;
	int64_t up_to = event_settled_by(r);
	struct buf b = BUF(r->mem);
	size_t n;

	if (after == INT64_MAX && s->waited)
		after = s->from;
	n = find_changed(r, s, (struct event_span){ after, up_to, 0 }, since, out);
	if (n == 0 && in->wait > 0 && s->may_wait) {
		s->from = up_to;
		s->wait_ms = in->wait * 1000;
		s->last = find_changed(r, s, (struct event_span){ up_to, s->reader->high, 0 }, INT64_MAX, out) > 0 ?
		    s->reader->high : 0;
	}
	record_render(&b, &following_record, &(struct following){ { out, n }, up_to }, false);
	r->cache_control = "no-store";
	return reply_raw(r, 200, "application/json", b.text, b.len);
}

/* Where the caller was: what is behind INT64_MAX is nothing, behind 0 everything that is kept. */
static int64_t
after_of(struct req *r)
{
	const struct following_query *in = r->in;
	int64_t after;

	if (r->last_event_id != NULL)
		after = int_parse(r->last_event_id, &after) && after > 0 ? after : 0;
	else if (r->given & record_bit(&following_query_record, "after"))
		after = in->after;
	else
		return INT64_MAX;
	return is_known(r, after) ? after : 0;
}

static int
following(struct req *r)
{
	struct subscription own = { 0 }, *s = r->subscription != NULL ? r->subscription : &own;
	const struct following_query *in = r->in;
	int64_t since = r->given & record_bit(&following_query_record, "age") && r->last_event_id == NULL ?
	    r->now.ms - in->age : INT64_MAX;
	size_t i;

	s->subjects = arena_array(r->mem, SUBJECTS + 1, sizeof(*s->subjects));
	s->n_subjects = 0;
	s->streams = s->replays = false;
	s->wait_ms = 0;
	for (i = 0; i < in->media.n && i < SUBJECTS; i++)	/* what is unknown has to be looked for, too */
		add_subject(r, s, in->media.at[i], false);
	for (i = 0; i < in->channel.n && i < SUBJECTS; i++)
		add_subject(r, s, in->channel.at[i], true);
	if (s->n_subjects == 0)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (s->wants_stream && strcmp(r->method_name, "GET") == 0)
		return begin_stream(r, s, after_of(r), since);
	return answer_list(r, s, after_of(r), since);
}

const struct route following_routes[] = {
	{
		GET, "/watch/events", SCOPE_PUBLIC, following, &following_query_record, NULL,
		"Follow what pages show",
		.flags = AT_ROOT | NO_ENVELOPE | PAGE, .fails = "404 429",
		.produces = "text/event-stream application/json",
	},
	{ 0 }
};
