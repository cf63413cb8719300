/* SPDX-License-Identifier: GPL-3.0-or-later */
/* History: how far somebody has watched what, told to nobody else. */
#include <stdlib.h>
#include <string.h>

#include "core/role.h"
#include "tests/world.h"

enum { HISTORY_MAX = 1000 };

/* Of an asset that plays for a minute. */
static const char *
film(struct world *w)
{
	struct uuid id = world_media(w, "video", "Council");

	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(id)));
	return uuid_text(w->mem, id);
}

static struct req *
watch(struct world *w, const char *token, const char *media_id, const char *position)
{
	return call_as(w, token, "PUT", arena_printf(w->mem, "/v2/media/%s/history", media_id),
	    arena_printf(w->mem, "{\"position\":%s}", position));
}

static const char *
total(struct world *w, const char *token)
{
	return text(w, call_as(w, token, "GET", "/v2/history", NULL), "pagination.total");
}

static void
a_position_lies_inside_of_what_plays(void **state)
{
	static const struct { const char *position, *code; } bad[] = { { "-1", "too_small" }, { "61.001", "too_large" },
	    { "\"1\"", "type" }, { "1e300", "too_large" }, { "null", "required" } };
	struct world *w = *state;
	const char *id = film(w);
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = watch(w, w->token, id, bad[i].position);
		if (r->status != 422 || !has_fault(r, "/position", bad[i].code))
			fail_msg("%s: %s", bad[i].position, buf_string(&r->out));
	}
	assert_string_equal(total(w, w->token), "0");
	r = watch(w, w->token, id, "61");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.position"), "60.000");
	r = watch(w, w->token, uuid_text(w->mem, world_media(w, "image", "Cat")), "0");
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "no_duration");
}

static void
an_asset_stands_there_once_with_its_last_position_and_the_latest_first(void **state)
{
	struct world *w = *state;
	const char *first = film(w), *second = film(w);
	struct req *r;

	watch(w, w->token, first, "5");
	watch(w, w->token, second, "57");
	db_run(w->db, "UPDATE watched SET watched_at = watched_at - 1000 WHERE principal_id = ?", ARGS(
	    ID(w->client_id)));
	r = watch(w, w->token, first, "7.5");
	assert_string_equal(text(w, r, "data.isFinished"), "false");
	r = call(w, "GET", "/v2/history", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_string_equal(text(w, r, "data.0.mediaId"), first);
	assert_string_equal(text(w, r, "data.0.position"), "7.500");
	assert_string_equal(text(w, r, "data.0.duration"), "60.000");
	assert_string_equal(text(w, r, "data.1.mediaId"), second);
	assert_string_equal(text(w, r, "data.1.isFinished"), "true");
	r = call(w, "GET", "/v2/history?filter=isFinished=false", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.mediaId"), first);
	r = call(w, "GET", arena_printf(w->mem, "/v2/history?filter=mediaId=%s", second), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	r = call(w, "GET", "/v2/history?perpage=1&page=1", NULL);
	assert_string_equal(text(w, r, "data.0.mediaId"), second);
}

static void
everybody_has_a_history_and_nobody_that_of_another(void **state)
{
	struct world *w = *state;
	const char *id = film(w), *viewer = world_member(w, "ViewMetadata", "Viewer", NULL),
	    *stranger = world_member(w, "ViewChannel", NULL, NULL);

	role_changed(w->db, w->tenant_id);
	assert_int_equal(watch(w, viewer, id, "5")->status, 200);
	assert_int_equal(watch(w, stranger, id, "5")->status, 403);
	assert_int_equal(watch(w, world_other(w)->token, id, "5")->status, 404);
	assert_string_equal(total(w, w->token), "0");
	watch(w, w->token, id, "9");
	assert_int_equal(call(w, "DELETE", "/v2/history", NULL)->status, 200);
	assert_string_equal(total(w, w->token), "0");
	assert_string_equal(text(w, call_as(w, viewer, "GET", "/v2/history", NULL), "data.0.position"), "5.000");
}

static void
what_somebody_cannot_see_any_more_is_left_out_but_forgotten_too(void **state)
{
	struct world *w = *state;
	const char *id = film(w), *viewer;
	struct uuid who;
	struct req *r;

	viewer = world_member(w, "ViewChannel", "Viewer", &who);
	role_changed(w->db, w->tenant_id);
	watch(w, viewer, id, "5");
	assert_string_equal(total(w, viewer), "1");
	world_role(w, w->channel_id, who, NULL);
	assert_string_equal(total(w, viewer), "0");
	world_role(w, w->channel_id, who, "Viewer");
	assert_string_equal(total(w, viewer), "1");
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s", id), NULL)->status, 200);
	assert_string_equal(total(w, viewer), "0");
	world_role(w, w->channel_id, who, NULL);
	r = call_as(w, viewer, "DELETE", "/v2/history", NULL);
	assert_string_equal(text(w, r, "data.deleted.0"), id);
	assert_string_equal(text(w, r, "data.permanent"), "true");
	assert_int_equal(number(w, "FROM watched WHERE principal_id = ?", ARGS(ID(who))), 0);
}

static void
watching_changes_nothing_of_the_asset_and_is_told_to_nobody(void **state)
{
	struct world *w = *state;
	const char *id = film(w), *asset = arena_printf(w->mem, "/v2/media/%s", id),
	    *etag = call(w, "GET", asset, NULL)->etag;
	int64_t events = number(w, "FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));

	watch(w, w->token, id, "5");
	assert_string_equal(call(w, "GET", asset, NULL)->etag, etag);
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), events);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "%s?permanent=true", asset), NULL)->status, 200);
	assert_int_equal(number(w, "FROM watched WHERE principal_id = ?", ARGS(ID(w->client_id))), 0);
}

static void
the_oldest_goes_when_there_are_too_many(void **state)
{
	struct world *w = *state;
	const char *oldest = film(w), *latest = film(w);
	struct uuid channel;

	assert_true(uuid_parse(text(w, call(w, "POST", "/v2/channels", "{\"name\":\"Many\"}"), "data.id"), &channel));
	watch(w, w->token, oldest, "1");
	db_run(w->db, "UPDATE watched SET watched_at = 1 WHERE principal_id = ?", ARGS(ID(w->client_id)));
	world_fill(w, channel, HISTORY_MAX - 1);
	db_run(w->db, "INSERT INTO watched (principal_id, media_id, position, created_at, watched_at) SELECT ?, id, 1, "
	    "2, 2 FROM media WHERE tenant_id = ? AND name NOT IN ('Council')", ARGS(ID(w->client_id), ID(w->tenant_id)));
	assert_string_equal(total(w, w->token), "1000");
	watch(w, w->token, latest, "1");
	assert_string_equal(total(w, w->token), "1000");
	assert_string_equal(text(w, call(w, "GET", arena_printf(w->mem, "/v2/history?filter=mediaId=%s", oldest), NULL),
	    "pagination.total"), "0");
	assert_string_equal(text(w, call(w, "GET", "/v2/history", NULL), "data.0.mediaId"), latest);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_position_lies_inside_of_what_plays),
		WORLD_TEST(an_asset_stands_there_once_with_its_last_position_and_the_latest_first),
		WORLD_TEST(everybody_has_a_history_and_nobody_that_of_another),
		WORLD_TEST(what_somebody_cannot_see_any_more_is_left_out_but_forgotten_too),
		WORLD_TEST(watching_changes_nothing_of_the_asset_and_is_told_to_nobody),
		WORLD_TEST(the_oldest_goes_when_there_are_too_many),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
