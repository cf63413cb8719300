/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/search/presets: searches are kept for who made them, and shown to others where they are shared. */
#include "tests/world.h"

#define CATS "{\"name\":\"Cats\",\"query\":{\"text\":\"cat -dog\",\"durationTo\":90.5,\"assetTypes\":[\"video\"]}}"

static struct req *
keep(struct world *w, const char *token, const char *body)
{
	return call_as(w, token, "POST", "/v2/search/presets", body);
}

static const char *
count(struct world *w, const char *token)
{
	return text(w, call_as(w, token, "GET", "/v2/search/presets", NULL), "pagination.total");
}

static void
what_is_kept_comes_back_as_it_was_sent(void **state)
{
	struct world *w = *state;
	struct req *r = keep(w, w->token, CATS);
	const char *one;

	assert_int_equal(r->status, 201);
	one = arena_printf(w->mem, "/v2/search/presets/%s", text(w, r, "data.id"));
	assert_string_equal(text(w, r, "data.isShared"), "false");
	r = call(w, "GET", "/v2/search/presets", NULL);
	assert_string_equal(text(w, r, "data.0.name"), "Cats");
	assert_string_equal(text(w, r, "data.0.query.text"), "cat -dog");
	assert_string_equal(text(w, r, "data.0.query.durationTo"), "90.500");
	assert_string_equal(text(w, r, "data.0.query.assetTypes.0"), "video");
	assert_null(text(w, r, "data.0.query.fileSizeFrom"));
	r = call(w, "PUT", one, "{\"name\":\"Dogs\",\"query\":{\"tags\":[\"dog\"]},\"isShared\":true}");
	assert_int_equal(r->status, 200);
	assert_null(text(w, r, "data.query.text"));
	assert_string_equal(text(w, r, "data.query.tags.0"), "dog");
	assert_string_equal(text(w, r, "data.isOwn"), "true");
	assert_int_equal(call(w, "DELETE", one, NULL)->status, 200);
	assert_string_equal(count(w, w->token), "0");
}

static void
others_see_what_is_shared_and_change_nothing(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *mine = world_member(w, "ViewChannel", "Viewer", NULL),
	    *theirs = world_member(w, "ViewChannel", "Viewer", NULL), *one;
	struct req *r = keep(w, mine, CATS);

	one = arena_printf(w->mem, "/v2/search/presets/%s", text(w, r, "data.id"));
	assert_string_equal(count(w, theirs), "0");
	assert_string_equal(count(w, mine), "1");
	assert_int_equal(call_as(w, theirs, "DELETE", one, NULL)->status, 404);
	r = call_as(w, mine, "PUT", one, "{\"name\":\"Cats\",\"query\":{},\"isShared\":true}");
	assert_int_equal(r->status, 200);
	r = call_as(w, theirs, "GET", "/v2/search/presets", NULL);
	assert_string_equal(text(w, r, "data.0.isOwn"), "false");
	assert_int_equal(call_as(w, theirs, "PUT", one, CATS)->status, 404);
	assert_int_equal(call_as(w, theirs, "DELETE", one, NULL)->status, 404);
	assert_string_equal(count(other, other->token), "0");
	assert_int_equal(call_as(other, other->token, "DELETE", one, NULL)->status, 404);
	assert_string_equal(count(w, mine), "1");
}

static void
what_a_search_would_refuse_is_not_kept(void **state)
{
	struct world *w = *state;
	const char *member = world_member(w, "ViewChannel", "Viewer", NULL);
	struct req *r = call(w, "POST", "/v2/channels", "{\"name\":\"Hidden\"}");
	const char *hidden = text(w, r, "data.id");
	int i;

	r = keep(w, member, arena_printf(w->mem, "{\"name\":\"X\",\"query\":{\"channelId\":\"%s\"}}", hidden));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/query/channelId", "not_allowed"));
	r = keep(w, member, arena_printf(w->mem, "{\"name\":\"X\",\"query\":{\"channelId\":\"%s\"}}",
	    uuid_text(w->mem, world_other(w)->channel_id)));
	assert_true(has_fault(r, "/query/channelId", "not_allowed"));
	r = keep(w, member, "{\"name\":\"X\",\"query\":{\"fields\":[\"smell\"],\"assetTypes\":[\"tape\"]}}");
	assert_true(has_fault(r, "/query/fields", "not_allowed"));
	assert_true(has_fault(r, "/query/assetTypes", "not_allowed"));
	assert_int_equal(keep(w, member, "{\"name\":\"X\",\"query\":{\"colour\":\"red\"}}")->status, 422);
	assert_string_equal(count(w, member), "0");
	for (i = 0; i < 200; i++)
		assert_int_equal(keep(w, member, CATS)->status, 201);
	assert_int_equal(keep(w, member, CATS)->status, 409);
	assert_int_equal(keep(w, w->token, CATS)->status, 201);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(what_is_kept_comes_back_as_it_was_sent),
		WORLD_TEST(others_see_what_is_shared_and_change_nothing),
		WORLD_TEST(what_a_search_would_refuse_is_not_kept),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
