/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Channels: what they are, who sees them, and how they end; what holds for every route is in routes_test.c. */
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/role.h"
#include "fcgi/channel.h"
#include "tests/world.h"

static const char *
path_of(struct world *w, struct uuid id, const char *below)
{
	return arena_printf(w->mem, "/v2/channels/%s%s", uuid_text(w->mem, id), below);
}

/* The world's SuperAdmin makes it, and owns it. */
static struct uuid
make(struct world *w, const char *body)
{
	struct req *r = call(w, "POST", "/v2/channels", body);
	struct uuid id;

	assert_int_equal(r->status, 201);
	assert_true(uuid_parse(text(w, r, "data.id"), &id));
	return id;
}

static void
put_into(struct world *w, struct uuid media, struct uuid channel)
{
	db_run(w->db, "INSERT INTO media_channels (media_id, channel_id, created_at) VALUES (?, ?, 1)",
	    ARGS(ID(media), ID(channel)));
	asset_summarise(w->db, media, SUM_CHANNELS);
	assert_int_equal(db_failure(w->db), DB_FINE);
}

/* A new asset in this channel alone. */
static struct uuid
media_in(struct world *w, struct uuid channel)
{
	struct uuid id = world_media(w, "video", "Cat");

	db_run(w->db, "DELETE FROM media_channels WHERE media_id = ?", ARGS(ID(id)));
	put_into(w, id, channel);
	return id;
}

static void
refused(struct world *w, const struct req *r, int status, const char *code)
{
	if (r->status != status || strcmp(text(w, r, "data.code"), code) != 0)
		fail_msg("%d %s instead of %d %s", r->status, buf_string(&r->out), status, code);
}

static int64_t
audits(struct world *w, const char *type, struct uuid id)
{
	return number(w, "FROM events WHERE is_audit = 1 AND type = ? AND object_id = ? AND principal_id IS NOT NULL "
	    "AND address = '127.0.0.1'", ARGS(STR(type), ID(id)));
}

static void
who_makes_a_channel_is_its_owner_and_others_do_not_see_it(void **state)
{
	struct world *w = *state;
	const char *maker = world_member(w, SCOPE_NAMES, "Contributor", NULL),
	    *other = world_member(w, SCOPE_NAMES, "Channel Owner", NULL), *path;
	struct req *r = call_as(w, maker, "POST", "/v2/channels",
	    "{\"name\":\"Lectures\",\"description\":\"Of 2026\"}");
	struct uuid id;

	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.visibility"), "private");
	assert_string_equal(text(w, r, "data.type"), "group");
	assert_string_equal(text(w, r, "data.memberCount"), "1");
	assert_string_equal(text(w, r, "data.mediaCount"), "0");
	assert_string_equal(text(w, r, "data.isDefault"), "false");
	assert_true(uuid_parse(text(w, r, "data.id"), &id));
	assert_int_equal(audits(w, "channel.created", id), 1);
	path = path_of(w, id, "");
	assert_int_equal(call_as(w, maker, "PATCH", path, "{\"name\":\"Talks\"}")->status, 200);
	assert_int_equal(audits(w, "channel.updated", id), 1);
	assert_int_equal(call_as(w, other, "GET", path, NULL)->status, 403);
	assert_string_equal(text(w, call_as(w, maker, "GET", "/v2/channels", NULL), "pagination.total"), "2");
	assert_string_equal(text(w, call_as(w, other, "GET", "/v2/channels", NULL), "pagination.total"), "1");
	r = call_as(w, maker, "GET", "/v2/channels?filter=name~tal", NULL);
	assert_string_equal(text(w, r, "data.0.name"), "Talks");
	r = call_as(w, maker, "GET", "/v2/channels?sort=name", NULL);
	assert_string_equal(text(w, r, "data.0.isDefault"), "true");
}

static void
a_public_channel_wants_the_portal_and_is_seen_by_all_of_the_tenant(void **state)
{
	struct world *w = *state;
	const char *nobody = world_member(w, SCOPE_NAMES, NULL, NULL), *path, *visibility;
	struct uuid id = make(w, "{\"name\":\"Lectures\"}");

	path = path_of(w, id, "");
	visibility = path_of(w, id, "/visibility");
	refused(w, call(w, "PUT", visibility, "{\"visibility\":\"public\"}"), 403, "portal_disabled");
	refused(w, call(w, "POST", "/v2/channels", "{\"name\":\"P\",\"visibility\":\"public\"}"), 403,
	    "portal_disabled");
	assert_int_equal(call(w, "PUT", visibility, "{\"visibility\":\"shared\"}")->status, 200);
	assert_string_equal(text(w, call_as(w, nobody, "GET", "/v2/channels", NULL), "pagination.total"), "0");
	assert_int_equal(call_as(w, nobody, "GET", path, NULL)->status, 403);
	db_run(w->db, "UPDATE tenants SET portal_enabled = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(call(w, "PUT", visibility, "{\"visibility\":\"public\"}")->status, 200);
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.visibility"), "public");
	assert_string_equal(text(w, call_as(w, nobody, "GET", "/v2/channels", NULL), "data.0.name"), "Lectures");
	assert_int_equal(call_as(w, nobody, "GET", path, NULL)->status, 200);
	assert_int_equal(call_as(w, nobody, "PUT", visibility, "{\"visibility\":\"private\"}")->status, 403);
	assert_true(has_fault(call(w, "PATCH", path, "{\"visibility\":\"private\"}"), "/visibility", "read_only"));
}

static void
the_audit_of_a_visibility_says_what_it_was_and_is(void **state)
{
	struct world *w = *state;
	struct uuid id = make(w, "{\"name\":\"Lectures\"}");

	assert_int_equal(call(w, "PUT", path_of(w, id, "/visibility"), "{\"visibility\":\"shared\"}")->status, 200);
	assert_string_equal(db_text(w->db, "SELECT data FROM events WHERE is_audit = 1 AND type = 'channel.updated' "
	    "AND object_id = ?", ARGS(ID(id))), "{\"modified\":[\"visibility\"],\"from\":\"private\",\"to\":\"shared\"}");
}

static int64_t
handler(struct world *w, const char *what)
{
	return atoll(db_text(w->db, arena_printf(w->mem, "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS "
	    "WHERE VARIABLE_NAME = '%s'", what), NO_ARGS));
}

/* However much it holds: assets keep its id, not its name. */
static void
a_new_name_or_visibility_writes_two_rows(void **state)
{
	struct world *w = *state;
	struct uuid id = make(w, "{\"name\":\"Lectures\"}");
	int64_t before, written;
	int i;

	for (i = 0; i < 20; i++)
		media_in(w, id);
	before = handler(w, "Handler_update");
	assert_int_equal(call(w, "PATCH", path_of(w, id, ""), "{\"name\":\"Talks\"}")->status, 200);
	written = handler(w, "Handler_update") - before;
	assert_true(written > 0 && written <= 2);
	before = handler(w, "Handler_update");
	assert_int_equal(call(w, "PUT", path_of(w, id, "/visibility"), "{\"visibility\":\"shared\"}")->status, 200);
	written = handler(w, "Handler_update") - before;
	assert_true(written > 0 && written <= 2);
	before = handler(w, "Handler_update");
	assert_int_equal(call(w, "PATCH", path_of(w, id, ""), "{\"name\":\"Talks\"}")->status, 200);
	assert_int_equal(handler(w, "Handler_update") - before, 0);
}

static struct uuid
add_design(struct world *w, const char *type, int is_template)
{
	struct uuid id = uuid_new();

	db_run(w->db, "INSERT INTO designs (id, tenant_id, type, name, is_template, properties, created_at, "
	    "updated_at) VALUES (?, ?, ?, 'D', ?, '{}', 1, 1)", ARGS(ID(id), ID(w->tenant_id), STR(type), INT(is_template)));
	return id;
}

static void
a_channel_takes_designs_of_the_right_type_and_tenant_and_no_templates(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *path = path_of(w, make(w, "{\"name\":\"Lectures\"}"), "");
	const struct { struct uuid id; int status; } cases[] = {
		{ add_design(w, "PlayerDesign", 0), 200 }, { add_design(w, "ChannelDesign", 0), 422 },
		{ add_design(w, "PlayerDesign", 1), 422 }, { add_design(other, "PlayerDesign", 0), 422 },
		{ uuid_new(), 422 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct req *r = call(w, "PATCH", path, arena_printf(w->mem, "{\"playerDesignId\":\"%s\"}",
		    uuid_text(w->mem, cases[i].id)));

		assert_int_equal(r->status, cases[i].status);
		assert_int_equal(has_fault(r, "/playerDesignId", "not_found"), cases[i].status == 422);
	}
	assert_int_equal(call(w, "PATCH", path, "{\"playerDesignId\":null}")->status, 200);
}

/* Users of the tenant. */
static void
add_hundred(struct world *w)
{
	struct buf b = BUF(w->mem);
	int i;

	for (i = 0; i < 100; i++)
		buf_printf(&b, "%s(UNHEX('%s'), UNHEX('%s'), 'user', 'U', 1)", i > 0 ? ", " : "", hex_encode(w->mem,
		    uuid_new().b, 16), hex_encode(w->mem, w->tenant_id.b, 16));
	assert_null(db_script(w->db, arena_printf(w->mem, "INSERT INTO principals (id, tenant_id, kind, name, "
	    "created_at) VALUES %s", buf_string(&b))));
}

static void
counts_leave_soft_deleted_assets_out_and_end_somewhere(void **state)
{
	struct world *w = *state;
	struct uuid id = make(w, "{\"name\":\"Lectures\"}"), gone = media_in(w, id);
	const char *path = path_of(w, id, ""), *etag;
	int i;

	media_in(w, id);
	etag = call(w, "GET", path, NULL)->etag;
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.mediaCount"), "2");
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(gone)));
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.mediaCount"), "1");
	assert_string_not_equal(call(w, "GET", path, NULL)->etag, etag);
	for (i = 0; i <= CHANNEL_COUNT_MAX / 100; i++)
		add_hundred(w);
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) SELECT ?, id, 'Viewer', 1 "
	    "FROM principals WHERE tenant_id = ? AND kind = 'user'", ARGS(ID(id), ID(w->tenant_id)));
	assert_true(number(w, "FROM memberships WHERE channel_id = ?", ARGS(ID(id))) > CHANNEL_COUNT_MAX);
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.memberCount"), "1000");
}

static void
the_default_channel_stays(void **state)
{
	struct world *w = *state;

	refused(w, call(w, "DELETE", path_of(w, w->channel_id, ""), NULL), 409, "default_channel");
}

static void
an_asset_never_loses_its_last_channel_by_a_deletion(void **state)
{
	struct world *w = *state;
	struct uuid id = make(w, "{\"name\":\"Lectures\"}"), to = make(w, "{\"name\":\"Archive\"}"),
	    both = media_in(w, id), alone, deleted;
	const char *path = path_of(w, id, ""), *to_archive;
	struct req *r;

	put_into(w, both, w->channel_id);
	alone = media_in(w, id);
	deleted = media_in(w, id);
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(deleted)));
	r = call(w, "DELETE", path, NULL);
	refused(w, r, 409, "last_channel");
	assert_non_null(strstr(text(w, r, "message"), "1 assets are in this channel alone"));
	assert_int_equal(number(w, "FROM media_channels WHERE channel_id = ?", ARGS(ID(id))), 3);
	to_archive = arena_printf(w->mem, "%s?moveTo=%s", path, uuid_text(w->mem, to));
	assert_int_equal(call(w, "DELETE", to_archive, NULL)->status, 200);
	assert_int_equal(call(w, "GET", path, NULL)->status, 404);
	assert_int_equal(audits(w, "channel.deleted", id), 1);
	assert_int_equal(number(w, "FROM media WHERE id = ? AND channel_ids = ? AND version = 2", ARGS(ID(alone),
	    ID(to))), 1);
	assert_int_equal(number(w, "FROM media WHERE id = ? AND channel_ids = ?", ARGS(ID(deleted), ID(to))), 1);
	assert_int_equal(number(w, "FROM media WHERE id = ? AND LENGTH(channel_ids) = 32", ARGS(ID(both))), 1);
	assert_int_equal(number(w, "FROM media_channels WHERE media_id = ?", ARGS(ID(both))), 2);
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'media.updated'", ARGS(ID(alone))), 1);
}

static void
what_is_soft_deleted_goes_to_the_default_channel_with_its_own(void **state)
{
	struct world *w = *state;
	struct uuid id = make(w, "{\"name\":\"Lectures\"}"), deleted = media_in(w, id);

	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(deleted)));
	assert_int_equal(call(w, "DELETE", path_of(w, id, ""), NULL)->status, 200);
	assert_int_equal(number(w, "FROM media WHERE id = ? AND channel_ids = ?", ARGS(ID(deleted),
	    ID(w->channel_id))), 1);
}

static void
assets_go_where_the_caller_may_put_them_alone(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid who, id = make(w, "{\"name\":\"Lectures\"}"), seen = make(w, "{\"name\":\"Seen\"}"),
	    hidden = make(w, "{\"name\":\"Hidden\"}"), media = media_in(w, id);
	const char *owner = world_member(w, SCOPE_NAMES, NULL, &who);
	const struct { struct uuid to; int status; } cases[] = {
		{ seen, 403 }, { hidden, 422 }, { id, 422 }, { other->channel_id, 422 }, { uuid_new(), 422 },
	};
	size_t i;

	world_role(w, id, who, "Channel Owner");
	world_role(w, seen, who, "Viewer");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *to = arena_printf(w->mem, "?moveTo=%s", uuid_text(w->mem, cases[i].to));
		struct req *r = call_as(w, owner, "DELETE", path_of(w, id, to), NULL);

		assert_int_equal(r->status, cases[i].status);
	}
	assert_int_equal(number(w, "FROM media WHERE id = ? AND channel_ids = ?", ARGS(ID(media), ID(id))), 1);
}

static void
names_are_taken_as_they_are_and_need_not_differ(void **state)
{
	static const char *const names[] = { "\xc3\x84pfel", "apfel", "\xc3\x84PFEL ", "\xf0\x9f\x90\x88",
	    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "e\xcc\x81", "a\xe2\x80\x8b" };
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(text(w, call(w, "GET", path_of(w, make(w, arena_printf(w->mem, "{\"name\":\"%s\"}",
		    names[i])), ""), NULL), "data.name"), names[i]);
	assert_int_equal(call(w, "POST", "/v2/channels", "{\"name\":\" \\t \"}")->status, 422);
	assert_int_equal(call(w, "POST", "/v2/channels", "{\"name\":\"   \"}")->status, 422);
	assert_int_equal(call(w, "POST", "/v2/channels", "{\"name\":\"a\\u0000b\"}")->status, 400);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(who_makes_a_channel_is_its_owner_and_others_do_not_see_it),
		WORLD_TEST(a_public_channel_wants_the_portal_and_is_seen_by_all_of_the_tenant),
		WORLD_TEST(the_audit_of_a_visibility_says_what_it_was_and_is),
		WORLD_TEST(a_new_name_or_visibility_writes_two_rows),
		WORLD_TEST(a_channel_takes_designs_of_the_right_type_and_tenant_and_no_templates),
		WORLD_TEST(counts_leave_soft_deleted_assets_out_and_end_somewhere),
		WORLD_TEST(the_default_channel_stays),
		WORLD_TEST(an_asset_never_loses_its_last_channel_by_a_deletion),
		WORLD_TEST(what_is_soft_deleted_goes_to_the_default_channel_with_its_own),
		WORLD_TEST(assets_go_where_the_caller_may_put_them_alone),
		WORLD_TEST(names_are_taken_as_they_are_and_need_not_differ),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
