/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of channels and groups, and assets in channels; what holds for every route is in routes_test.c. */
#include <sys/wait.h>

#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/channel.h"
#include "core/role.h"
#include "core/user.h"
#include "tests/world.h"

static const char *
at(struct world *w, const char *collection, struct uuid id, const char *below)
{
	return arena_printf(w->mem, "/v2/%s/%s%s", collection, uuid_text(w->mem, id), below);
}

static const char *
member_at(struct world *w, struct uuid channel, struct uuid principal)
{
	return at(w, "channels", channel, arena_printf(w->mem, "/members/%s", uuid_text(w->mem, principal)));
}

static struct uuid
made_by(struct world *w, const char *collection, const char *body)
{
	struct req *r = call(w, "POST", collection, body);
	struct uuid id;

	assert_int_equal(r->status, 201);
	assert_true(uuid_parse(text(w, r, "data.id"), &id));
	return id;
}

static struct uuid
add_channel(struct world *w)
{
	return made_by(w, "/v2/channels", "{\"name\":\"Lectures\"}");
}

static struct uuid
add_principal(struct world *w, const char *kind)
{
	struct uuid id = uuid_new();

	db_run(w->db, "INSERT INTO principals (id, tenant_id, kind, name, created_at) VALUES (?, ?, ?, 'Ann', 1)",
	    ARGS(ID(id), ID(w->tenant_id), STR(kind)));
	return id;
}

static struct req *
add_member(struct world *w, struct uuid channel, struct uuid principal, const char *role)
{
	return call(w, "POST", at(w, "channels", channel, "/members"), arena_printf(w->mem,
	    "{\"principalId\":\"%s\",\"role\":\"%s\"}", uuid_text(w->mem, principal), role));
}

static struct req *
join(struct world *w, struct uuid group, struct uuid principal)
{
	return call(w, "PUT", at(w, "groups", group, arena_printf(w->mem, "/members/%s", uuid_text(w->mem,
	    principal))), NULL);
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
	return number(w, "FROM events WHERE is_audit = 1 AND type = ? AND object_id = ? AND address = '127.0.0.1'",
	    ARGS(STR(type), ID(id)));
}

static void
a_member_of_any_kind_is_added_once_and_changed_and_removed(void **state)
{
	static const char *const kinds[] = { "user", "client" };
	struct world *w = *state, *other = world_other(w);
	struct uuid channel = add_channel(w), id = { { 0 } };
	const char *path;
	size_t i;

	for (i = 0; i < 2; i++) {
		id = add_principal(w, kinds[i]);
		assert_int_equal(add_member(w, channel, id, "Viewer")->status, 201);
	}
	refused(w, add_member(w, channel, id, "Publisher"), 409, "already_member");
	assert_true(has_fault(add_member(w, channel, uuid_new(), "Viewer"), "/principalId", "not_found"));
	assert_true(has_fault(add_member(w, channel, other->client_id, "Viewer"), "/principalId", "not_found"));
	assert_true(has_fault(add_member(w, channel, add_principal(w, "user"), "Emperor"), "/role", "not_allowed"));
	path = member_at(w, channel, id);
	assert_string_equal(text(w, call(w, "PUT", path, "{\"role\":\"Publisher\"}"), "data.role"), "Publisher");
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.role"), "Publisher");
	path = at(w, "channels", channel, "/members?filter=role=Channel%20Owner");
	assert_string_equal(text(w, call(w, "GET", path, NULL), "pagination.total"), "1");
	path = at(w, "channels", channel, "/members?filter=name~an%2bkind=user&sort=name");
	assert_string_equal(text(w, call(w, "GET", path, NULL), "pagination.total"), "1");
	path = member_at(w, channel, id);
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	assert_int_equal(call(w, "GET", path, NULL)->status, 404);
	assert_int_equal(audits(w, "member.added", channel), 2);
	assert_int_equal(audits(w, "member.updated", channel), 1);
	assert_int_equal(audits(w, "member.removed", channel), 1);
}

static void
the_last_owner_neither_leaves_nor_becomes_less(void **state)
{
	struct world *w = *state;
	struct uuid channel = add_channel(w), group = made_by(w, "/v2/groups", "{\"name\":\"Editors\"}"),
	    second = add_principal(w, "user");
	const char *path = member_at(w, channel, w->client_id);

	assert_int_equal(add_member(w, channel, group, "Channel Owner")->status, 201);
	refused(w, call(w, "DELETE", path, NULL), 409, "last_owner");
	refused(w, call(w, "PUT", path, "{\"role\":\"Publisher\"}"), 409, "last_owner");
	assert_int_equal(call(w, "PUT", path, "{\"role\":\"Channel Owner\"}")->status, 200);
	assert_int_equal(add_member(w, channel, second, "Channel Owner")->status, 201);
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	refused(w, call(w, "DELETE", member_at(w, channel, second), NULL), 409, "last_owner");
	assert_int_equal(call(w, "DELETE", member_at(w, channel, group), NULL)->status, 200);
}

static void
who_is_disabled_or_revoked_is_no_owner_to_leave_a_channel_to(void **state)
{
	struct world *w = *state;
	struct uuid channel = add_channel(w), user = uuid_new(), client = add_principal(w, "client");
	const char *path = member_at(w, channel, w->client_id);

	assert_true(user_add(w->db, &(struct user){ .id = user, .tenant_id = w->tenant_id, .login = "ann",
	    .name = "Ann" }));
	db_run(w->db, "INSERT INTO clients (id, tenant_id, secret_hash, scopes, created_at, updated_at) VALUES "
	    "(?, ?, '', '', 1, 1)", ARGS(ID(client), ID(w->tenant_id)));
	assert_int_equal(add_member(w, channel, user, "Channel Owner")->status, 201);
	assert_int_equal(add_member(w, channel, client, "Channel Owner")->status, 201);
	assert_true(user_set_disabled(w->db, user, true));
	db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(client)));
	refused(w, call(w, "PUT", path, "{\"role\":\"Viewer\"}"), 409, "last_owner");
	refused(w, call(w, "DELETE", path, NULL), 409, "last_owner");
	assert_int_equal(call(w, "DELETE", member_at(w, channel, client), NULL)->status, 200);
	assert_true(user_set_disabled(w->db, user, false));
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
}

/* Both at once, each on a connection of its own; how many were answered with 200. */
static int
at_once(struct world *w, const char *method, const char *const paths[2])
{
	int begin[2], status, done = 0, i;
	char go = 0;

	assert_int_equal(pipe(begin), 0);
	for (i = 0; i < 2; i++)
		if (fork() == 0) {
			db_abandon(w->db);
			alarm(120);
			db_number(w->db, "SELECT 1", NO_ARGS, 0);
			close(begin[1]);
			if (read(begin[0], &go, 1) != 0)
				_exit(2);
			status = call(w, method, paths[i], NULL)->status;
			_exit(status == 200 ? 0 : status == 409 ? 1 : 2);
		}
	usleep(100000);
	close(begin[0]);
	close(begin[1]);
	for (i = 0; i < 2; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		done += WEXITSTATUS(status) == 0;
	}
	return done;
}

static void
of_two_owners_who_leave_at_once_one_stays(void **state)
{
	struct world *w = *state;
	int i;

	for (i = 0; i < 20; i++) {
		struct uuid channel = add_channel(w), second = add_principal(w, "user");

		world_role(w, channel, second, "Channel Owner");
		assert_int_equal(at_once(w, "DELETE", (const char *const[2]){ member_at(w, channel, w->client_id),
		    member_at(w, channel, second) }), 1);
		assert_int_equal(number(w, "FROM memberships WHERE channel_id = ?", ARGS(ID(channel))), 1);
	}
}

static const char *
media_at(struct world *w, struct uuid channel, struct uuid media)
{
	return at(w, "channels", channel, arena_printf(w->mem, "/media/%s", uuid_text(w->mem, media)));
}

static void
an_asset_taken_out_of_both_its_channels_at_once_stays_in_one(void **state)
{
	struct world *w = *state;
	int i;

	for (i = 0; i < 20; i++) {
		struct uuid media = world_media(w, "video", "Cat"), channel = add_channel(w);

		assert_int_equal(call(w, "PUT", media_at(w, channel, media), NULL)->status, 200);
		assert_int_equal(at_once(w, "DELETE", (const char *const[2]){ media_at(w, channel, media),
		    media_at(w, w->channel_id, media) }), 1);
		assert_int_equal(number(w, "FROM media_channels WHERE media_id = ?", ARGS(ID(media))), 1);
		assert_int_equal(number(w, "FROM media t JOIN media_channels m ON m.media_id = t.id AND m.channel_id = "
		    "t.channel_ids WHERE t.id = ?", ARGS(ID(media))), 1);
	}
}

static void
assets_are_put_into_channels_and_taken_out_but_for_the_last(void **state)
{
	struct world *w = *state;
	struct uuid who, media = world_media(w, "video", "Cat"), beside = world_media(w, "video", "Dog"),
	    channel = add_channel(w);
	const char *member = world_member(w, SCOPE_NAMES, "Contributor", &who), *path = media_at(w, channel, media),
	    *list = at(w, "channels", channel, "/media");

	assert_int_equal(call_as(w, member, "PUT", path, NULL)->status, 403);
	world_role(w, channel, who, "Viewer");
	assert_int_equal(call_as(w, member, "PUT", path, NULL)->status, 403);
	world_role(w, channel, who, "Contributor");
	assert_int_equal(call_as(w, member, "PUT", path, NULL)->status, 200);
	assert_int_equal(call_as(w, member, "PUT", path, NULL)->status, 200);
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'media.updated'", ARGS(ID(media))), 1);
	assert_string_equal(text(w, call_as(w, member, "GET", list, NULL), "pagination.total"), "1");
	assert_string_equal(text(w, call_as(w, member, "GET", list, NULL), "data.0.name"), "Cat");
	list = at(w, "channels", channel, "/media?sort=name&filter=name~ca");
	assert_string_equal(text(w, call_as(w, member, "GET", list, NULL), "data.0.name"), "Cat");
	world_role(w, w->channel_id, who, NULL);
	assert_int_equal(call_as(w, member, "PUT", media_at(w, channel, beside), NULL)->status, 403);
	assert_int_equal(call(w, "DELETE", media_at(w, channel, beside), NULL)->status, 404);
	assert_int_equal(call(w, "DELETE", media_at(w, w->channel_id, media), NULL)->status, 200);
	refused(w, call(w, "DELETE", path, NULL), 409, "last_channel");
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(media)));
	list = at(w, "channels", channel, "/media?filter=status=softDeleted");
	assert_string_equal(text(w, call_as(w, member, "GET", list, NULL), "data.0.name"), "Cat");
	world_role(w, channel, who, "Viewer");
	assert_int_equal(call_as(w, member, "GET", list, NULL)->status, 403);
}

static void
who_is_in_a_group_has_its_roles_and_only_as_long(void **state)
{
	struct world *w = *state;
	struct uuid who, group = made_by(w, "/v2/groups", "{\"name\":\"Editors\"}"), channel = add_channel(w),
	    media = world_media(w, "video", "Cat");
	const char *member = world_member(w, SCOPE_NAMES, NULL, &who), *path = at(w, "channels", channel, ""),
	    *asset = at(w, "media", media, "");
	struct req *r;

	assert_int_equal(call(w, "PUT", media_at(w, channel, media), NULL)->status, 200);
	assert_int_equal(add_member(w, channel, group, "Publisher")->status, 201);
	assert_int_equal(call_as(w, member, "GET", path, NULL)->status, 403);
	assert_int_equal(join(w, group, who)->status, 200);
	assert_int_equal(join(w, group, who)->status, 200);
	assert_int_equal(audits(w, "group.joined", group), 1);
	assert_int_equal(call_as(w, member, "GET", path, NULL)->status, 200);
	assert_int_equal(call_as(w, member, "PATCH", path, "{\"name\":\"X\"}")->status, 403);
	assert_int_equal(call_as(w, member, "PATCH", asset, "{\"name\":\"Lion\"}")->status, 200);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "1");
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/channels", NULL), "pagination.total"), "1");
	world_role(w, channel, who, "Viewer");
	assert_int_equal(call_as(w, member, "PATCH", asset, "{\"name\":\"Cat\"}")->status, 200);
	world_role(w, channel, who, "Channel Owner");
	assert_int_equal(call_as(w, member, "PATCH", path, "{\"name\":\"X\"}")->status, 200);
	world_role(w, channel, who, NULL);
	r = call(w, "DELETE", at(w, "groups", group, arena_printf(w->mem, "/members/%s", uuid_text(w->mem, who))),
	    NULL);
	assert_int_equal(r->status, 200);
	assert_int_equal(call_as(w, member, "GET", path, NULL)->status, 403);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "0");
	assert_int_equal(join(w, group, who)->status, 200);
	assert_int_equal(call_as(w, member, "GET", path, NULL)->status, 200);
	assert_int_equal(call(w, "DELETE", at(w, "groups", group, ""), NULL)->status, 200);
	assert_int_equal(call_as(w, member, "GET", path, NULL)->status, 403);
	assert_int_equal(number(w, "FROM memberships WHERE principal_id = ?", ARGS(ID(group))), 0);
}

/* So many that a list does not name the channels. */
static void
groups_count_in_lists_of_callers_of_many_channels(void **state)
{
	struct world *w = *state;
	struct uuid who, group = made_by(w, "/v2/groups", "{\"name\":\"Editors\"}"), channel = { { 0 } },
	    media = world_media(w, "video", "Cat");
	const char *member = world_member(w, SCOPE_NAMES, NULL, &who);
	int i;

	assert_int_equal(join(w, group, who)->status, 200);
	for (i = 0; i < 12; i++)
		assert_int_equal(add_member(w, channel = add_channel(w), group, "Viewer")->status, 201);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "0");
	assert_int_equal(call(w, "PUT", media_at(w, channel, media), NULL)->status, 200);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "1");
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/channels", NULL), "pagination.total"), "12");
}

static void
a_group_holds_no_group_and_has_a_name_of_its_own(void **state)
{
	static const char *const same[] = { "\xc3\x84rzte", "\xc3\xa4RZTE", "Arzte", "\xc3\x84rzte  ",
		" \xc3\x84rzte", "\\u00a0\xc3\x84rzte\\u2003" };
	struct world *w = *state, *other = world_other(w);
	struct uuid group = made_by(w, "/v2/groups", "{\"name\":\"\xc3\x84rzte\"}"),
	    second = made_by(w, "/v2/groups", "{\"name\":\"Nurses\"}");
	const char *body;
	size_t i;

	refused(w, join(w, group, group), 422, "nested_group");
	refused(w, join(w, group, second), 422, "nested_group");
	assert_int_equal(join(w, group, uuid_new())->status, 404);
	assert_int_equal(join(w, group, other->client_id)->status, 404);
	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		body = arena_printf(w->mem, "{\"name\":\"%s\"}", same[i]);
		refused(w, call(w, "POST", "/v2/groups", body), 409, "name_taken");
		refused(w, call(w, "PATCH", at(w, "groups", second, ""), body), 409, "name_taken");
	}
	assert_int_equal(call(w, "PATCH", at(w, "groups", group, ""), "{\"name\":\"ARZTE\"}")->status, 200);
	assert_int_equal(call(other, "POST", "/v2/groups", "{\"name\":\"Nurses\"}")->status, 201);
	assert_string_equal(text(w, call(w, "GET", "/v2/principals?filter=kind=group%2bname~arz", NULL), "data.0.name"),
	    "ARZTE");
	assert_int_equal(number(w, "FROM principals WHERE tenant_id = ? AND kind = 'group'", ARGS(
	    ID(w->tenant_id))), 2);
}

static void
principals_are_shown_to_who_owns_a_channel_and_revoked_clients_to_nobody(void **state)
{
	struct world *w = *state;
	struct uuid gone;
	const char *publisher = world_member(w, SCOPE_NAMES, "Publisher", NULL),
	    *owner = world_member(w, SCOPE_NAMES, "Channel Owner", NULL), *id;

	world_member(w, SCOPE_NAMES, NULL, &gone);
	db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(gone)));
	id = uuid_text(w->mem, gone);
	assert_int_equal(call_as(w, publisher, "GET", "/v2/principals", NULL)->status, 403);
	assert_string_equal(text(w, call_as(w, owner, "GET", "/v2/principals", NULL), "pagination.total"), "3");
	assert_null(strstr(buf_string(&call_as(w, owner, "GET", "/v2/principals?perpage=50", NULL)->out), id));
}

static void
a_user_has_one_channel_with_viewers_alone(void **state)
{
	struct world *w = *state;
	struct uuid user = add_principal(w, "user"), viewer = add_principal(w, "user"), id, again, none;
	const char *path, *design;

	db_begin(w->db);
	id = channel_of_user(w->db, w->tenant_id, user, "console");
	again = channel_of_user(w->db, w->tenant_id, user, "console");
	none = channel_of_user(w->db, w->tenant_id, w->client_id, "console");
	assert_true(db_commit(w->db));
	assert_true(uuid_equal(id, again) && uuid_is_none(none) && !uuid_is_none(id));
	path = at(w, "channels", id, "");
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.type"), "user");
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.name"), "Ann");
	refused(w, add_member(w, id, viewer, "Contributor"), 422, "user_channel");
	assert_int_equal(add_member(w, id, viewer, "Viewer")->status, 201);
	refused(w, call(w, "PUT", member_at(w, id, viewer), "{\"role\":\"Channel Owner\"}"), 422, "user_channel");
	refused(w, call(w, "PUT", member_at(w, id, user), "{\"role\":\"Viewer\"}"), 409, "last_owner");
	db_run(w->db, "UPDATE tenants SET portal_enabled = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	refused(w, call(w, "PUT", at(w, "channels", id, "/visibility"), "{\"visibility\":\"public\"}"), 422,
	    "user_channel");
	path = at(w, "channels", id, "/visibility");
	assert_int_equal(call(w, "PUT", path, "{\"visibility\":\"shared\"}")->status, 200);
	path = at(w, "channels", id, "");
	design = uuid_text(w->mem, again = uuid_new());
	db_run(w->db, "INSERT INTO designs (id, tenant_id, type, name, properties, created_at, updated_at) VALUES "
	    "(?, ?, 'PlayerDesign', 'D', '{}', 1, 1)", ARGS(ID(again), ID(w->tenant_id)));
	refused(w, call(w, "PATCH", path, arena_printf(w->mem, "{\"playerDesignId\":\"%s\"}", design)), 422,
	    "user_channel");
	assert_int_equal(call(w, "PATCH", path, "{\"name\":\"Ann's\"}")->status, 200);
}

static void
the_first_upload_that_a_user_completes_makes_its_channel(void **state)
{
	struct world *w = *state;
	struct uuid who, upload = uuid_new();
	const char *token = world_member(w, SCOPE_NAMES, "Contributor", &who);

	db_run(w->db, "UPDATE principals SET kind = 'user' WHERE id = ?", ARGS(ID(who)));
	db_run(w->db, "INSERT INTO uploads (id, tenant_id, principal_id, principal_name, file_name, type, status, "
	    "sha256, mime_type, media_type, expires_at, created_at, updated_at) VALUES (?, ?, ?, 'Ann', 'a.mp4', 'put', "
	    "'uploaded', ?, 'video/mp4', 'video', ?, 1, 1)", ARGS(ID(upload), ID(w->tenant_id), ID(who),
	    BYTES("0123456789abcdef0123456789abcdef", 32), INT(moment_now().ms + 3600000)));
	assert_int_equal(call_as(w, token, "PUT", at(w, "uploads", upload, "/complete"), NULL)->status, 200);
	assert_int_equal(number(w, "FROM channels c JOIN memberships m ON m.channel_id = c.id AND m.principal_id = "
	    "c.user_id AND m.role = 'Channel Owner' WHERE c.user_id = ?", ARGS(ID(who))), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_member_of_any_kind_is_added_once_and_changed_and_removed),
		WORLD_TEST(the_last_owner_neither_leaves_nor_becomes_less),
		WORLD_TEST(who_is_disabled_or_revoked_is_no_owner_to_leave_a_channel_to),
		WORLD_TEST(of_two_owners_who_leave_at_once_one_stays),
		WORLD_TEST(an_asset_taken_out_of_both_its_channels_at_once_stays_in_one),
		WORLD_TEST(assets_are_put_into_channels_and_taken_out_but_for_the_last),
		WORLD_TEST(who_is_in_a_group_has_its_roles_and_only_as_long),
		WORLD_TEST(groups_count_in_lists_of_callers_of_many_channels),
		WORLD_TEST(a_group_holds_no_group_and_has_a_name_of_its_own),
		WORLD_TEST(principals_are_shown_to_who_owns_a_channel_and_revoked_clients_to_nobody),
		WORLD_TEST(a_user_has_one_channel_with_viewers_alone),
		WORLD_TEST(the_first_upload_that_a_user_completes_makes_its_channel),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
