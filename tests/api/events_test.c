/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/events and /v2/media/{mediaId}/events: as lists, and what a stream begins with. */
#include <stdlib.h>
#include <string.h>

#include "core/seal.h"
#include "tests/api/listeners.h"

/* A list of the path behind a number. */
static struct req *
behind(struct world *w, const char *token, const char *uri, const char *after)
{
	return call_as(w, token, "GET", arena_printf(w->mem, "%s%safter=%s", uri, strchr(uri, '?') ? "&" : "?", after),
	    NULL);
}

static void
a_list_tells_what_follows_a_number_in_order_and_where_to_go_on(void **state)
{
	struct world *w = *state;
	struct uuid one = world_media(w, "video", "One"), two = world_media(w, "video", "Two");
	const char *first;
	struct req *r;

	first = events_here(w, w->token);
	rename_asset(w, one, "Uno");
	rename_asset(w, two, "Due");
	r = behind(w, w->token, "/v2/events", first);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.events.0.type"), "media.updated");
	assert_string_equal(text(w, r, "data.events.0.mediaId"), uuid_text(w->mem, one));
	assert_string_equal(text(w, r, "data.events.0.data.modified.0"), "name");
	assert_string_equal(text(w, r, "data.events.0.principalId"), uuid_text(w->mem, w->client_id));
	assert_string_equal(text(w, r, "data.events.1.mediaId"), uuid_text(w->mem, two));
	assert_null(text(w, r, "data.events.2.id"));
	assert_string_equal(text(w, r, "data.next"), text(w, r, "data.events.1.id"));
	r = behind(w, w->token, asset_path(w, two, "/events"), first);
	assert_string_equal(text(w, r, "data.events.0.mediaId"), uuid_text(w->mem, two));
	assert_null(text(w, r, "data.events.1.id"));
	r = behind(w, w->token, "/v2/events?type=media.deleted,media.restored", first);
	assert_null(text(w, r, "data.events.0.id"));
	r = behind(w, w->token, arena_printf(w->mem, "/v2/events?channelId=%s", uuid_text(w->mem, w->channel_id)),
	    first);
	assert_non_null(text(w, r, "data.events.1.id"));
	assert_int_equal(behind(w, w->token, "/v2/events?type=media.sung", first)->status, 422);
}

static void
a_number_that_nobody_knows_asks_to_begin_anew(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid theirs = world_media(other, "video", "Theirs"), ours = world_media(w, "video", "Ours");
	const char *foreign;
	struct req *r;

	rename_asset(w, ours, "Uno");
	r = call_as(w, other->token, "PATCH", asset_path(w, theirs, ""), "{\"name\":\"Leur\"}");
	assert_int_equal(r->status, 200);
	foreign = db_text(w->db, "SELECT MAX(id) FROM events WHERE tenant_id = ?", ARGS(ID(other->tenant_id)));
	assert_true(has_fault(behind(w, w->token, "/v2/events", foreign), "after", "resync"));
	assert_true(has_fault(behind(w, w->token, "/v2/events", "9007199254740991"), "after", "resync"));
}

/* What is kept of the audit says nothing of what was beside it. */
static void
a_number_from_before_what_was_pruned_asks_to_begin_anew(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	const char *old = events_here(w, w->token);

	db_run(w->db, "UPDATE events SET created_at = created_at - 31 * 86400000 WHERE id = ?", ARGS(STR(old)));
	assert_int_equal(behind(w, w->token, "/v2/events", old)->status, 200);	/* nothing came since */
	rename_asset(w, id, "Uno");
	assert_true(has_fault(behind(w, w->token, "/v2/events", old), "after", "resync"));
}

static void
a_tenant_without_events_begins_at_0_and_goes_on_from_there(void **state)
{
	struct world *w = world_other(*state);
	struct uuid id = world_media(w, "video", "One");
	struct req *r;

	db_run(w->db, "DELETE FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	r = call_as(w, w->token, "GET", "/v2/events", NULL);
	assert_string_equal(text(w, r, "data.next"), "0");
	r = behind(w, w->token, "/v2/events", "0");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.next"), "0");
	r = call_as(w, w->token, "PATCH", asset_path(w, id, ""), "{\"name\":\"Uno\"}");
	assert_int_equal(r->status, 200);
	an_hour_passes(w);
	assert_string_equal(text(w, behind(w, w->token, "/v2/events", "0"), "data.events.0.type"), "media.updated");
}

static void
a_caller_is_told_of_what_it_may_see_as_it_is_now(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One"), viewer;
	const char *token = world_member(w, "ViewChannel", "Viewer", &viewer), *first = events_here(w, w->token);
	const char *without = world_member(w, "ViewChannel", NULL, NULL);

	rename_asset(w, id, "Uno");
	assert_non_null(text(w, behind(w, token, "/v2/events", first), "data.events.0.id"));
	assert_null(text(w, behind(w, without, "/v2/events", first), "data.events.0.id"));
	assert_int_equal(behind(w, without, asset_path(w, id, "/events"), first)->status, 403);
	db_run(w->db, "INSERT INTO events (tenant_id, media_id, type, data, created_at) VALUES (?, ?, "
	    "'metadata.updated', '{}', 1)", ARGS(ID(w->tenant_id), ID(id)));
	/* the token lacks ViewMetadata */
	assert_null(text(w, behind(w, token, "/v2/events?type=metadata.updated", first), "data.events.0.id"));
	assert_non_null(text(w, behind(w, w->token, "/v2/events?type=metadata.updated", first), "data.events.0.id"));
	world_role(w, w->channel_id, viewer, NULL);
	assert_null(text(w, behind(w, token, "/v2/events", first), "data.events.0.id"));
}

static void
that_an_asset_has_gone_for_good_is_told_to_who_saw_it(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	const char *token = world_member(w, "ViewChannel", "Viewer", NULL), *first = events_here(w, w->token);
	const char *without = world_member(w, "ViewChannel", NULL, NULL);
	struct req *r = call(w, "DELETE", asset_path(w, id, "?permanent=true"), NULL);

	assert_int_equal(r->status, 200);
	an_hour_passes(w);
	r = behind(w, token, "/v2/events", first);
	assert_string_equal(text(w, r, "data.events.0.type"), "media.deleted");
	assert_null(text(w, behind(w, without, "/v2/events", first), "data.events.0.id"));
}

/* For a stream of the asset. */
static struct req *
asks(struct world *w, struct uuid media_id, const char *last, struct subscription *what)
{
	return listener_asks(w, (struct listener){ .token = w->token, .uri = asset_path(w, media_id, "/events"),
	    .last = last }, what);
}

static void
a_stream_begins_where_its_client_was_or_says_that_it_cannot(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	const char *first = events_here(w, w->token);
	struct event_reader reader;
	struct subscription what = { .reader = &reader };
	bool more = true;
	struct req *r;
	size_t n;

	rename_asset(w, id, "Uno");
	assert_true(event_reader_open(&reader, w->db, -1));
	while (more)
		event_read(&reader, w->db, &n, &more);
	r = asks(w, id, first, &what);
	assert_int_equal(r->status, 200);
	assert_true(what.streams && what.replays);
	assert_string_equal(r->answer_type, "text/event-stream");
	assert_string_equal(buf_string(&r->out), "retry: 3000\n\n");
	assert_string_equal(arena_printf(w->mem, "%lld", (long long)what.last), first);
	r = asks(w, id, "no number", &what);
	assert_non_null(strstr(buf_string(&r->out), "event: resync\n"));
	assert_false(what.replays);
	r = asks(w, id, "9007199254740991", &what);
	assert_non_null(strstr(buf_string(&r->out), "event: resync\n"));
	r = asks(w, id, NULL, &what);
	assert_null(strstr(buf_string(&r->out), "event:"));
	assert_false(what.replays);
	assert_non_null(strstr(buf_string(&r->out), arena_printf(w->mem, "id: %lld\n\n", (long long)what.last)));
	event_reader_close(&reader);
}

/* Numbers that a stream cannot go on from: of another tenant, the next one, one whose followers may be pruned, one that
 * is pruned itself, and what is none. */
static const char *const *
odd_numbers(struct world *w, struct uuid own, size_t *n)
{
	struct world *other = world_other(w);
	struct uuid theirs = world_media(other, "video", "Theirs");
	const char **odd = arena_array(w->mem, 16, sizeof(*odd)), *old = events_here(w, w->token), *pruned;

	rename_asset(w, own, "Uno");
	pruned = db_text(w->db, "SELECT MAX(id) FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	rename_asset(w, own, "Due");
	db_run(w->db, "UPDATE events SET created_at = created_at - 31 * 86400000 WHERE id = ?", ARGS(STR(old)));
	db_run(w->db, "DELETE FROM events WHERE id = ?", ARGS(STR(pruned)));
	assert_int_equal(call_as(w, other->token, "PATCH", asset_path(w, theirs, ""), "{\"name\":\"Leur\"}")->status,
	    200);
	an_hour_passes(w);
	*n = 0;
	odd[(*n)++] = db_text(w->db, "SELECT MAX(id) FROM events WHERE tenant_id = ?", ARGS(ID(other->tenant_id)));
	odd[(*n)++] = db_text(w->db, "SELECT MAX(id) + 1 FROM events", NO_ARGS);
	odd[(*n)++] = old;
	odd[(*n)++] = pruned;
	odd[(*n)++] = "9223372036854775807";
	odd[(*n)++] = "9223372036854775808";
	odd[(*n)++] = "18446744073709551616";
	odd[(*n)++] = "-1";
	odd[(*n)++] = "1e3";
	odd[(*n)++] = "0x1";
	odd[(*n)++] = "no number";
	odd[(*n)++] = "1\nevent: media.deleted";
	return odd;
}

/* All alike, so that nothing is to be learned from them. */
static void
a_number_that_a_stream_cannot_go_on_from_is_a_resync_and_says_no_more(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	size_t n, i, got;
	const char *const *odd = odd_numbers(w, id, &n), *want;
	struct event_reader reader;
	struct subscription what = { .reader = &reader };
	bool more = true;
	struct req *r;

	assert_true(event_reader_open(&reader, w->db, -1));
	while (more)
		event_read(&reader, w->db, &got, &more);
	want = arena_printf(w->mem, "retry: 3000\nevent: resync\ndata: {\"reason\":\"unknown\"}\nid: %lld\n\n",
	    (long long)db_number(w->db, "SELECT MAX(id) FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id)), 0));
	for (i = 0; i < n; i++) {
		r = asks(w, id, odd[i], &what);
		assert_int_equal(r->status, 200);
		assert_true(what.streams && !what.replays);
		assert_string_equal(buf_string(&r->out), want);
		r = NEW(w->mem, struct req);
		r->last_event_id = odd[i];
		call_req(w, r, w->token, "GET", "/v2/events", NULL);
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "after", "resync"));
	}
	event_reader_close(&reader);
}

/* As on each node of a cluster, where most numbers never come. */
static void
a_list_waits_no_longer_than_until_an_event_that_was_read_is_settled(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	const char *uri = arena_printf(w->mem, "/v2/events?wait=20&after=%s", events_here(w, w->token));
	struct event_reader reader;
	struct subscription what = { .reader = &reader, .may_wait = true };
	struct req *r = arena_alloc(w->mem, sizeof(*r));
	size_t n = 0;
	bool more;

	assert_true(event_reader_open(&reader, w->db, db_number(w->db, "SELECT MAX(id) FROM events", NO_ARGS, 0)));
	db_begin(w->db);
	event_add_job(w->db, id, "media.ready", NULL);
	db_rollback(w->db);
	event_add_job(w->db, id, "media.updated", NULL);
	event_read(&reader, w->db, &n, &more);
	assert_int_equal(n, 1);
	assert_true(event_settled(&reader) < reader.high);
	r->subscription = &what;
	call_req(w, r, w->token, "GET", uri, NULL);
	assert_null(text(w, r, "data.events.0.id"));
	assert_int_equal(what.wait_ms, 20000);
	assert_int_equal(what.last, reader.high);
	event_reader_close(&reader);
}

/* Where there is much that is not for it, what follows may be behind that. */
static void
a_list_waits_for_nothing_as_long_as_it_has_not_looked_at_all(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	const char *first = events_here(w, w->token), *uri = "/v2/events?type=media.ready&wait=20&after=";
	struct event_reader reader;
	struct subscription what = { .reader = &reader, .may_wait = true };
	struct req *r = NEW(w->mem, struct req);

	write_old(w, id, 20000);
	event_add_job(w->db, id, "media.ready", NULL);
	an_hour_passes(w);
	assert_true(event_reader_open(&reader, w->db, db_number(w->db, "SELECT MAX(id) FROM events", NO_ARGS, 0)));
	r->subscription = &what;
	call_req(w, r, w->token, "GET", arena_printf(w->mem, "%s%s", uri, first), NULL);
	assert_int_equal(r->status, 200);
	assert_null(text(w, r, "data.events.0.id"));
	assert_int_equal(what.wait_ms, 0);
	r = behind(w, w->token, "/v2/events?type=media.ready", text(w, r, "data.next"));
	assert_string_equal(text(w, r, "data.events.0.type"), "media.ready");
	event_reader_close(&reader);
}

static void
who_missed_too_much_is_told_to_begin_anew(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct event_reader reader;
	struct subscription what = { .reader = &reader };
	const char *first = events_here(w, w->token);
	struct req *r;

	write_old(w, id, 10000);
	assert_true(event_reader_open(&reader, w->db, -1));
	r = asks(w, id, first, &what);
	assert_non_null(strstr(buf_string(&r->out), "event: resync\ndata: {\"reason\":\"too_many\"}"));
	assert_false(what.replays);
	event_reader_close(&reader);
}

/* The address of a new ticket, as a web server hands it over. */
static const char *
ticket_for(struct world *w, struct uuid media_id)
{
	struct req *r = call(w, "POST", asset_path(w, media_id, "/events/ticket"), NULL);

	assert_int_equal(r->status, 200);
	return strstr(text(w, r, "data.url"), "/v2/");
}

static struct req *
comes_by(struct world *w, const char *uri, bool uses)
{
	struct req *r = NEW(w->mem, struct req);

	r->mem = w->mem;
	r->db = w->db;
	r->conf = w->conf;
	r->uri = uri;
	ticket_take(r, uses);
	return r;
}

static bool
is_let_in(struct world *w, const char *uri, bool uses)
{
	struct req *r = comes_by(w, uri, uses);

	assert_int_equal(r->body_error, ERR_NONE);
	if (r->authorization == NULL)
		return false;
	assert_string_equal(r->authorization, arena_printf(w->mem, "Bearer %s", w->token));
	return true;
}

static void
a_ticket_holds_for_its_asset_a_minute_and_one_stream(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One"), other = world_media(w, "video", "Two"), none = { { 0 } };
	const char *uri = ticket_for(w, id), *ticket = strchr(uri, '?') + 1;

	assert_true(is_let_in(w, uri, false));
	assert_true(is_let_in(w, asset_path(w, id, arena_printf(w->mem, "/events?after=0&%s", ticket)), false));
	assert_false(is_let_in(w, asset_path(w, other, arena_printf(w->mem, "/events?%s", ticket)), false));
	assert_false(is_let_in(w, asset_path(w, id, arena_printf(w->mem, "?%s", ticket)), false));
	assert_false(is_let_in(w, asset_path(w, id, arena_printf(w->mem, "/chapters?%s", ticket)), false));
	assert_false(is_let_in(w, arena_printf(w->mem, "/v2/events?%s", ticket), false));
	assert_false(is_let_in(w, asset_path(w, id, "/events?ticket=AAAA"), false));
	assert_false(is_let_in(w, "/v2/media/0?ticket=AAAA", false));
	ticket = seal(w->conf, w->mem, "event ticket", arena_alloc(w->mem, 64), 64);	/* it ended in 1970 */
	assert_false(is_let_in(w, asset_path(w, none, arena_printf(w->mem, "/events?ticket=%s", ticket)), false));
	assert_true(is_let_in(w, uri, true));
	assert_false(is_let_in(w, uri, true));
}

/* It is no fault of the ticket, which is as good as before. */
static void
who_comes_with_a_ticket_while_the_database_is_away_is_told_to_come_again(void **state)
{
	struct world *w = *state, away = *w;
	struct conf conf = *w->conf;
	struct uuid id = world_media(w, "video", "One");
	const char *uri = ticket_for(w, id);
	struct req *r;

	conf.db_socket = "/nowhere";
	away.conf = &conf;
	away.db = db_open(&conf, DB_API);
	r = call_req(&away, comes_by(&away, uri, true), NULL, "GET", uri, NULL);
	assert_int_equal(r->status, 503);
	assert_string_equal(text(w, r, "data.code"), "unavailable");
	r = call_as(&away, w->token, "POST", asset_path(w, id, "/events/ticket"), NULL);
	assert_int_equal(r->status, 503);
	token_forget();
	r = call_as(&away, w->token, "POST", asset_path(w, id, "/events/ticket"), NULL);
	assert_int_equal(r->status, 503);
	db_close(away.db);
	r = call_req(w, comes_by(w, uri, true), NULL, "GET", uri, NULL);
	assert_int_equal(r->status, 200);
	r = call_req(w, comes_by(w, uri, true), NULL, "GET", uri, NULL);
	assert_int_equal(r->status, 401);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_list_tells_what_follows_a_number_in_order_and_where_to_go_on),
		WORLD_TEST(a_number_that_nobody_knows_asks_to_begin_anew),
		WORLD_TEST(a_caller_is_told_of_what_it_may_see_as_it_is_now),
		WORLD_TEST(that_an_asset_has_gone_for_good_is_told_to_who_saw_it),
		WORLD_TEST(a_number_from_before_what_was_pruned_asks_to_begin_anew),
		WORLD_TEST(a_tenant_without_events_begins_at_0_and_goes_on_from_there),
		WORLD_TEST(a_stream_begins_where_its_client_was_or_says_that_it_cannot),
		WORLD_TEST(a_number_that_a_stream_cannot_go_on_from_is_a_resync_and_says_no_more),
		WORLD_TEST(a_list_waits_for_nothing_as_long_as_it_has_not_looked_at_all),
		WORLD_TEST(who_missed_too_much_is_told_to_begin_anew),
		WORLD_TEST(a_list_waits_no_longer_than_until_an_event_that_was_read_is_settled),
		WORLD_TEST(a_ticket_holds_for_its_asset_a_minute_and_one_stream),
		WORLD_TEST(who_comes_with_a_ticket_while_the_database_is_away_is_told_to_come_again),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
