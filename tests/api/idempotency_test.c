/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POSTs that are sent twice under one Idempotency-Key. */
#include <string.h>

#include "core/role.h"
#include "fcgi/idempotency.h"
#include "tests/world.h"

static const char cats[] = "{\"name\":\"Cats\"}", dogs[] = "{\"name\":\"Dogs\"}";

static struct req *
send_as(struct world *w, const char *token, const char *key, const char *method, const char *uri, const char *body)
{
	struct req *r = NEW(w->mem, struct req);

	r->idempotency_key = key;
	return call_req(w, r, token, method, uri, body);
}

static struct req *
post(struct world *w, const char *key, const char *uri, const char *body)
{
	return send_as(w, w->token, key, "POST", uri, body);
}

static int64_t
tags(struct world *w)
{
	return number(w, "FROM tags WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
}

static void
assert_refused(struct world *w, const struct req *r, int status, const char *code)
{
	assert_int_equal(r->status, status);
	assert_string_equal(text(w, r, "data.code"), code);
	assert_null(header(w, r, "Idempotent-Replayed"));
}

static void
the_same_request_gets_the_first_answer_and_nothing_is_done(void **state)
{
	struct world *w = *state;
	struct req *first = post(w, "a", "/v2/tags", cats), *again = post(w, "a", "/v2/tags", cats);

	assert_int_equal(first->status, 201);
	assert_null(header(w, first, "Idempotent-Replayed"));
	assert_int_equal(again->status, 201);
	assert_string_equal(header(w, again, "Idempotent-Replayed"), "true");
	assert_string_equal(buf_string(&again->out), buf_string(&first->out));
	assert_string_equal(again->location, first->location);
	assert_string_equal(again->etag, first->etag);
	assert_string_equal(again->answer_type, first->answer_type);
	assert_string_equal(again->cache_control, first->cache_control);
	assert_string_not_equal(again->request_id, first->request_id);
	assert_int_equal(tags(w), 1);
	assert_int_equal(post(w, "b", "/v2/tags", cats)->status, 409);
}

/* Also what has changed since is answered as it was, even when it is there no more. */
static void
the_answer_stays_what_it_was(void **state)
{
	struct world *w = *state;
	struct req *first = post(w, "a", "/v2/tags", cats);

	assert_int_equal(call(w, "DELETE", first->location, NULL)->status, 200);
	assert_string_equal(buf_string(&post(w, "a", "/v2/tags", cats)->out), buf_string(&first->out));
	assert_int_equal(call(w, "GET", first->location, NULL)->status, 404);
}

static void
another_body_or_address_is_refused(void **state)
{
	struct world *w = *state;

	assert_int_equal(post(w, "a", "/v2/tags", cats)->status, 201);
	assert_refused(w, post(w, "a", "/v2/tags", dogs), 422, "idempotency_key_reused");
	assert_refused(w, post(w, "a", "/v2/channels", cats), 422, "idempotency_key_reused");
	assert_refused(w, post(w, "a", "/v2/tags?", cats), 422, "idempotency_key_reused");
	assert_int_equal(tags(w), 1);
	assert_int_equal(post(w, "a", "/v2/tags", cats)->status, 201);
}

/* A principal's keys are its own, and its SuperAdmin's too. */
static void
nobody_meets_the_key_of_another_client(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *member = world_member(w, SCOPE_NAMES, "Contributor", NULL);
	struct req *own = send_as(w, member, "a", "POST", "/v2/tags", cats), *r;

	assert_int_equal(own->status, 201);
	r = post(w, "a", "/v2/tags", cats);
	assert_refused(w, r, 409, "tag_exists");
	assert_null(strstr(buf_string(&r->out), text(w, own, "data.id")));
	r = post(other, "a", "/v2/tags", cats);
	assert_int_equal(r->status, 201);
	assert_null(header(w, r, "Idempotent-Replayed"));
}

static enum keeping
keep(struct world *w, struct uuid principal_id, struct uuid client_id)
{
	static const struct route route = { .method = POST, .path = "/v2/tags" };
	struct req *r = NEW(w->mem, struct req);
	struct principal *who = NEW(w->mem, struct principal);

	*who = (struct principal){ .id = principal_id, .client_id = client_id, .tenant_id = w->tenant_id };
	*r = (struct req){ .mem = w->mem, .db = w->db, .conf = w->conf, .who = who, .route = &route, .method = POST,
		.uri = "/v2/tags", .idempotency_key = "a", .now = moment_now(), .status = 201 };
	return idempotency_keep(r);
}

static void
users_of_a_client_and_clients_of_a_user_have_keys_of_their_own(void **state)
{
	struct world *w = *state;
	struct uuid anna = uuid_new(), bert = uuid_new(), app = uuid_new(), page = uuid_new();

	db_begin(w->db);
	assert_int_equal(keep(w, anna, app), KEPT);
	db_commit(w->db);
	db_begin(w->db);
	assert_int_equal(keep(w, bert, app), KEPT);
	db_commit(w->db);
	db_begin(w->db);
	assert_int_equal(keep(w, anna, page), KEPT);
	db_commit(w->db);
	db_begin(w->db);
	assert_int_equal(keep(w, anna, app), KEPT_BEFORE);
	db_rollback(w->db);
	db_run(w->db, "DELETE FROM idempotent_answers", NO_ARGS);
}

static void
a_refusal_is_not_kept(void **state)
{
	struct world *w = *state;

	assert_int_equal(post(w, "a", "/v2/tags", "{\"name\":\"\"}")->status, 422);
	assert_int_equal(post(w, "a", "/v2/tags", "no json")->status, 400);
	assert_int_equal(post(w, "a", "/v2/tags", cats)->status, 201);
	assert_refused(w, post(w, "b", "/v2/tags", cats), 409, "tag_exists");
	db_run(w->db, "DELETE FROM tags WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_null(header(w, post(w, "b", "/v2/tags", cats), "Idempotent-Replayed"));
	assert_int_equal(tags(w), 1);
}

static void
who_may_no_longer_call_is_not_answered(void **state)
{
	struct world *w = *state;
	struct uuid id;
	const char *member = world_member(w, SCOPE_NAMES, "Contributor", &id);

	assert_int_equal(send_as(w, member, "a", "POST", "/v2/tags", cats)->status, 201);
	db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(id)));
	token_forget();
	assert_int_equal(send_as(w, member, "a", "POST", "/v2/tags", cats)->status, 401);
}

/* What it was answered may be nothing that it may still read. */
static void
who_has_lost_the_right_hears_that_and_not_the_old_answer(void **state)
{
	struct world *w = *state;
	struct uuid id;
	const char *member = world_member(w, SCOPE_NAMES, "Contributor", &id);
	struct req *r = send_as(w, member, "a", "POST", "/v2/tags", cats);

	assert_int_equal(r->status, 201);
	assert_int_equal(send_as(w, member, "a", "POST", "/v2/tags", cats)->status, 201);
	db_run(w->db, "DELETE FROM memberships WHERE principal_id = ?", ARGS(ID(id)));
	role_changed(w->db, w->tenant_id);
	r = send_as(w, member, "a", "POST", "/v2/tags", cats);
	assert_int_equal(r->status, 403);
	assert_null(header(w, r, "Idempotent-Replayed"));
}

/* The one statement that a key costs, and none for who has none. */
static void
a_request_that_comes_once_costs_one_statement(void **state)
{
	static const char count[] = "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.SESSION_STATUS "
	    "WHERE VARIABLE_NAME = 'QUESTIONS'";
	struct world *w = *state;
	int64_t before, plain, keyed;

	post(w, NULL, "/v2/tags", "{\"name\":\"warm\"}");
	post(w, "warm", "/v2/tags", "{\"name\":\"warmer\"}");
	before = db_number(w->db, count, NO_ARGS, -1);
	assert_int_equal(post(w, NULL, "/v2/tags", cats)->status, 201);
	plain = db_number(w->db, count, NO_ARGS, -1) - before;
	before += plain;
	assert_int_equal(post(w, "a", "/v2/tags", dogs)->status, 201);
	keyed = db_number(w->db, count, NO_ARGS, -1) - before;
	assert_true(before > 0);
	assert_int_equal(keyed, plain + 1);
}

static void
keys_are_short_and_visible_in_quotes_or_without(void **state)
{
	static const char *const odd[] = {
		"", "\"\"", "a b", "\"a", "a\"", "\"a\"b", "\"a\\b\"", "a,b", "a;b", "\xc3\xa4", "a\tb",
		"\"a\x7f\"", "\"\\", "a\\",
	};
	struct world *w = *state;
	char longest[257];
	size_t i;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_refused(w, post(w, odd[i], "/v2/tags", cats), 400, "bad_idempotency_key");
	memset(longest, 'k', sizeof(longest) - 1);
	longest[256] = '\0';
	assert_refused(w, post(w, longest, "/v2/tags", cats), 400, "bad_idempotency_key");
	longest[255] = '\0';
	assert_int_equal(post(w, longest, "/v2/tags", cats)->status, 201);
	assert_int_equal(post(w, "\"8e03978e-40d5 \\\"x\\\\\"", "/v2/tags", dogs)->status, 201);
	assert_int_equal(post(w, "plain", "/v2/tags", "{\"name\":\"Cows\"}")->status, 201);
	assert_string_equal(header(w, post(w, "\"plain\"", "/v2/tags", "{\"name\":\"Cows\"}"), "Idempotent-Replayed"),
	    "true");
}

static void
other_methods_and_posts_that_write_nothing_pass_it_over(void **state)
{
	struct world *w = *state;
	struct req *made = post(w, "a", "/v2/tags", cats);
	const char *picture = arena_printf(w->mem, "{\"mediaIds\":[\"%s\"]}", uuid_text(w->mem, world_media(w,
	    "image", "Picture")));
	int64_t kept = number(w, "FROM idempotent_answers", NO_ARGS);

	assert_int_equal(send_as(w, w->token, "a", "GET", "/v2/tags", NULL)->status, 200);
	assert_int_equal(send_as(w, w->token, "a", "PATCH", made->location, dogs)->status, 200);
	assert_int_equal(send_as(w, w->token, "a b", "PATCH", made->location, cats)->status, 200);
	assert_int_equal(post(w, "a", "/v2/media/tags", picture)->status, 200);
	assert_int_equal(send_as(w, w->token, "a", "DELETE", made->location, NULL)->status, 200);
	assert_int_equal(number(w, "FROM idempotent_answers", NO_ARGS), kept);
}

static void
a_put_that_makes_something_anew_takes_a_key(void **state)
{
	struct world *w = *state;
	const char *media = uuid_text(w->mem, world_media(w, "video", "Film")), *path, *copy;
	struct req *made = post(w, "a", arena_printf(w->mem, "/v2/media/%s/chapters", media), cats);

	path = arena_printf(w->mem, "%s/copy", made->location);
	copy = text(w, send_as(w, w->token, "b", "PUT", path, "{}"), "data.id");
	assert_non_null(copy);
	assert_string_equal(text(w, send_as(w, w->token, "b", "PUT", path, "{}"), "data.id"), copy);
	assert_string_not_equal(text(w, send_as(w, w->token, "c", "PUT", path, "{}"), "data.id"), copy);
}

static void
a_day_later_it_is_a_new_request(void **state)
{
	struct world *w = *state;

	assert_int_equal(post(w, "a", "/v2/tags", cats)->status, 201);
	db_run(w->db, "DELETE FROM tags WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	db_run(w->db, "UPDATE idempotent_answers SET expires_at = expires_at - 86400000 + 60000", NO_ARGS);
	assert_string_equal(header(w, post(w, "a", "/v2/tags", cats), "Idempotent-Replayed"), "true");
	db_run(w->db, "UPDATE idempotent_answers SET expires_at = expires_at - 60000", NO_ARGS);
	assert_null(header(w, post(w, "a", "/v2/tags", dogs), "Idempotent-Replayed"));
	assert_int_equal(tags(w), 1);
	assert_string_equal(header(w, post(w, "a", "/v2/tags", dogs), "Idempotent-Replayed"), "true");
}

/* The address of an upload holds its ticket. */
static void
what_is_kept_tells_neither_key_nor_answer(void **state)
{
	struct world *w = *state;
	const char *kept, *body = "{\"fileName\":\"a.mp4\",\"type\":\"put\"}";
	struct req *r = post(w, "my-secret-key", "/v2/uploads", body);

	assert_int_equal(r->status, 201);
	kept = db_text(w->db, "SELECT CONCAT(name, request, answer) FROM idempotent_answers ORDER BY expires_at DESC "
	    "LIMIT 1", NO_ARGS);
	assert_null(strstr(kept, "my-secret-key"));
	assert_null(strstr(kept, "ticket"));
	assert_null(strstr(kept, "a.mp4"));
	assert_string_equal(text(w, post(w, "my-secret-key", "/v2/uploads", body), "data.input.url"), text(w, r,
	    "data.input.url"));
	/* and it is nobody's who moves it to a key of another */
	db_run(w->db, "UPDATE idempotent_answers SET answer = REVERSE(answer)", NO_ARGS);
	assert_refused(w, post(w, "my-secret-key", "/v2/uploads", body), 500, "internal");
	db_run(w->db, "DELETE FROM idempotent_answers", NO_ARGS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_same_request_gets_the_first_answer_and_nothing_is_done),
		WORLD_TEST(the_answer_stays_what_it_was),
		WORLD_TEST(another_body_or_address_is_refused),
		WORLD_TEST(nobody_meets_the_key_of_another_client),
		WORLD_TEST(users_of_a_client_and_clients_of_a_user_have_keys_of_their_own),
		WORLD_TEST(a_refusal_is_not_kept),
		WORLD_TEST(who_may_no_longer_call_is_not_answered),
		WORLD_TEST(who_has_lost_the_right_hears_that_and_not_the_old_answer),
		WORLD_TEST(a_request_that_comes_once_costs_one_statement),
		WORLD_TEST(keys_are_short_and_visible_in_quotes_or_without),
		WORLD_TEST(other_methods_and_posts_that_write_nothing_pass_it_over),
		WORLD_TEST(a_put_that_makes_something_anew_takes_a_key),
		WORLD_TEST(a_day_later_it_is_a_new_request),
		WORLD_TEST(what_is_kept_tells_neither_key_nor_answer),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
