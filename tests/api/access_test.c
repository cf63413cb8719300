/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Channels and roles as lists and answers show them; what holds for every route is in routes_test.c. */
#include <sys/wait.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/role.h"
#include "fcgi/access.h"
#include "tests/world.h"

static const char reads[] = "ViewChannel ViewMetadata";

static const char *
path_of(struct world *w, struct uuid id)
{
	return arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id));
}

static struct uuid
add_channel(struct world *w, const char *name, const char *visibility)
{
	struct uuid id = uuid_new();

	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, visibility, created_at, updated_at) VALUES "
	    "(?, ?, ?, ?, 1, 1)", ARGS(ID(id), ID(w->tenant_id), STR(name), STR(visibility)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(db_failure(w->db), DB_FINE);
	return id;
}

static void
put_into(struct world *w, struct uuid media, struct uuid channel)
{
	db_run(w->db, "INSERT INTO media_channels (media_id, channel_id, created_at) VALUES (?, ?, 1)",
	    ARGS(ID(media), ID(channel)));
	asset_summarise(w->db, media, SUM_CHANNELS);
}

static void
give(struct world *w, struct uuid principal, struct uuid channel, const char *role)
{
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, ?, 1)",
	    ARGS(ID(channel), ID(principal), STR(role)));
	role_changed(w->db, w->tenant_id);
}

static void
only_channels_that_the_caller_sees_are_shown_or_filtered_by(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), secret = add_channel(w, "Dismissals", "private");
	const char *viewer = world_member(w, reads, "Viewer", NULL), *uri = path_of(w, media);
	const char *by_secret = arena_printf(w->mem, "/v2/media?filter=channelId=%s", uuid_text(w->mem, secret));
	const char *not_secret = arena_printf(w->mem, "/v2/media?filter=channelId!=%s", uuid_text(w->mem, secret));

	put_into(w, media, secret);
	assert_non_null(strstr(buf_string(&call(w, "GET", uri, NULL)->out), "Dismissals"));
	assert_non_null(strstr(buf_string(&call(w, "GET", "/v2/media", NULL)->out), "Dismissals"));
	assert_string_equal(text(w, call(w, "GET", by_secret, NULL), "pagination.total"), "1");
	assert_null(strstr(buf_string(&call_as(w, viewer, "GET", uri, NULL)->out), "Dismissals"));
	assert_string_equal(text(w, call_as(w, viewer, "GET", uri, NULL), "data.channels.0.name"), "Default");
	assert_null(strstr(buf_string(&call_as(w, viewer, "GET", "/v2/media", NULL)->out), "Dismissals"));
	assert_int_equal(call_as(w, viewer, "GET", by_secret, NULL)->status, 422);
	assert_int_equal(call_as(w, viewer, "GET", not_secret, NULL)->status, 422);
	uri = arena_printf(w->mem, "%s?channelId=%s", uri, uuid_text(w->mem, secret));
	assert_int_equal(call_as(w, viewer, "GET", uri, NULL)->status, 404);
}

/* A process that knows the caller from before must not refuse what has just become visible. */
static void
a_channel_that_has_just_become_visible_can_be_filtered_by(void **state)
{
	struct world *w = *state;
	struct uuid who, media = world_media(w, "video", "Cat"), other = add_channel(w, "Other", "private");
	const char *member = world_member(w, reads, "Viewer", &who);
	const char *uri = arena_printf(w->mem, "/v2/media?filter=channelId=%s", uuid_text(w->mem, other));

	put_into(w, media, other);
	assert_int_equal(call_as(w, member, "GET", uri, NULL)->status, 422);
	give(w, who, other, "Viewer");
	assert_string_equal(text(w, call_as(w, member, "GET", uri, NULL), "pagination.total"), "1");
}

static void
a_token_of_few_scopes_sees_no_soft_deleted_assets(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat");
	const char *narrow = world_member(w, "ViewChannel", "Channel Owner", NULL);

	assert_int_equal(call(w, "DELETE", path_of(w, media), NULL)->status, 200);
	assert_int_equal(call_as(w, narrow, "GET", path_of(w, media), NULL)->status, 403);
	assert_string_equal(text(w, call_as(w, narrow, "GET", "/v2/media?filter=status=softDeleted", NULL),
	    "pagination.total"), "0");
}

static void
a_new_name_of_a_channel_is_one_row_and_shows_at_once(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat");
	const char *uri = path_of(w, media), *viewer = world_member(w, reads, "Viewer", NULL);
	struct req *r = NEW(w->mem, struct req);

	r->if_none_match = call_as(w, viewer, "GET", uri, NULL)->etag;
	db_run(w->db, "UPDATE channels SET name = 'Lectures' WHERE id = ?", ARGS(ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_req(w, r, viewer, "GET", uri, NULL)->status, 200);
	assert_string_equal(text(w, r, "data.channels.0.name"), "Lectures");
	assert_string_equal(text(w, call_as(w, viewer, "GET", "/v2/media", NULL), "data.0.channels.0.name"),
	    "Lectures");
}

static void
lists_follow_roles_and_visibility_at_once(void **state)
{
	struct world *w = *state;
	struct uuid who, media = world_media(w, "video", "Cat"), shared = add_channel(w, "Shared", "shared");
	const char *member = world_member(w, reads, NULL, &who);

	put_into(w, media, shared);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "0");
	db_run(w->db, "UPDATE channels SET visibility = 'public' WHERE id = ?", ARGS(ID(shared)));
	role_changed(w->db, w->tenant_id);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "data.0.name"), "Cat");
	db_run(w->db, "UPDATE channels SET visibility = 'shared' WHERE id = ?", ARGS(ID(shared)));
	role_changed(w->db, w->tenant_id);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "0");
	give(w, who, w->channel_id, "Viewer");
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "1");
	db_run(w->db, "DELETE FROM memberships WHERE principal_id = ?", ARGS(ID(who)));
	role_changed(w->db, w->tenant_id);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "0");
}

/* So many roles that a list does not name the channels. */
static void
a_shared_channel_is_not_listed_to_callers_of_many_channels(void **state)
{
	struct world *w = *state;
	struct uuid who, media = world_media(w, "video", "Cat"), shared = add_channel(w, "Shared", "shared");
	const char *member = world_member(w, reads, NULL, &who);
	int i;

	for (i = 0; i < 9; i++)
		give(w, who, add_channel(w, arena_printf(w->mem, "Own %d", i), "private"), "Viewer");
	db_run(w->db, "DELETE FROM media_channels WHERE media_id = ?", ARGS(ID(media)));
	put_into(w, media, shared);
	assert_int_equal(call_as(w, member, "GET", path_of(w, media), NULL)->status, 403);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "0");
	db_run(w->db, "UPDATE channels SET visibility = 'public' WHERE id = ?", ARGS(ID(shared)));
	role_changed(w->db, w->tenant_id);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "1");
}

/* More channels than are kept for a caller, the asset in the last of them. */
static void
callers_of_very_many_channels_are_judged_alike(void **state)
{
	struct world *w = *state;
	struct uuid who, beside = world_media(w, "video", "Dog"), media = world_media(w, "video", "Cat"), last;
	const char *member = world_member(w, reads, NULL, &who), *uri = path_of(w, media), *hidden;
	int i;

	for (i = 0; i < AUDIENCE_MAX + 1; i += 41) {
		struct buf b = BUF(w->mem);
		int k;

		for (k = 0; k < 41; k++)
			buf_printf(&b, "%s(UNHEX('%04x%028x'), UNHEX('%s'), 'C', 'private', 1, 1)", k > 0 ? ", " : "",
			    k + i, 0, hex_encode(w->mem, w->tenant_id.b, 16));
		db_script(w->db, arena_printf(w->mem, "INSERT IGNORE INTO channels (id, tenant_id, name, visibility, "
		    "created_at, updated_at) VALUES %s", buf_string(&b)));
	}
	last = add_channel(w, "Last", "private");
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) SELECT id, ?, 'Viewer', 1 "
	    "FROM channels WHERE tenant_id = ? AND id <> ?", ARGS(ID(who), ID(w->tenant_id), ID(w->channel_id)));
	db_run(w->db, "DELETE FROM media_channels WHERE media_id = ?", ARGS(ID(media)));
	put_into(w, media, last);
	role_changed(w->db, w->tenant_id);
	assert_true(number(w, "FROM memberships WHERE principal_id = ?", ARGS(ID(who))) > AUDIENCE_MAX);
	assert_string_equal(text(w, call_as(w, member, "GET", uri, NULL), "data.channels.0.name"), "Last");
	assert_int_equal(call_as(w, member, "GET", path_of(w, beside), NULL)->status, 403);
	db_run(w->db, "UPDATE channels SET visibility = 'shared' WHERE id = ?", ARGS(ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, member, "GET", path_of(w, beside), NULL)->status, 403);
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "data.0.name"), "Cat");
	assert_string_equal(text(w, call_as(w, member, "GET", "/v2/media", NULL), "pagination.total"), "1");
	hidden = arena_printf(w->mem, "/v2/media?filter=channelId=%s", uuid_text(w->mem, w->channel_id));
	assert_int_equal(call_as(w, member, "GET", hidden, NULL)->status, 422);
	assert_string_equal(text(w, call(w, "GET", uri, NULL), "data.channels.0.name"), "Last");
	db_run(w->db, "DELETE FROM memberships WHERE principal_id = ? AND channel_id = ?", ARGS(ID(who), ID(last)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, member, "GET", uri, NULL)->status, 403);
	db_run(w->db, "DELETE FROM memberships WHERE principal_id = ?", ARGS(ID(who)));
	db_run(w->db, "DELETE FROM channels WHERE tenant_id = ? AND name = 'C'", ARGS(ID(w->tenant_id)));
	role_changed(w->db, w->tenant_id);
}

/* Calls it on a connection of its own, while the caller's transaction holds a row.  The status. */
static int
elsewhere(struct world *w, const char *method, const char *uri, const char *body)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		db_abandon(w->db);
		alarm(60);
		_exit(call(w, method, uri, body)->status == 200 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Neither reading nor changing an asset waits for a row that all of the tenant share; but what changes waits for a role
 * that is being taken away, and reading does not. */
static void
a_held_row_of_the_tenant_stops_nobody(void **state)
{
	struct world *w = *state;
	struct uuid dog = world_media(w, "video", "Dog");
	const char *uri = path_of(w, world_media(w, "video", "Cat")), *other = path_of(w, dog);

	db_begin(w->db);
	db_number(w->db, "SELECT 1 FROM tenant_usage WHERE tenant_id = ? FOR UPDATE", ARGS(ID(w->tenant_id)), 0);
	db_number(w->db, "SELECT 1 FROM tenants WHERE id = ? LOCK IN SHARE MODE", ARGS(ID(w->tenant_id)), 0);
	db_run(w->db, "UPDATE media SET name = 'Held' WHERE id = ?", ARGS(ID(dog)));
	assert_int_equal(elsewhere(w, "PATCH", uri, "{\"name\":\"Lion\"}"), 0);
	role_changed(w->db, w->tenant_id);
	assert_int_equal(elsewhere(w, "GET", uri, NULL), 0);
	assert_int_equal(elsewhere(w, "GET", other, NULL), 0);
	assert_int_equal(elsewhere(w, "GET", "/v2/media", NULL), 0);
	assert_int_equal(elsewhere(w, "GET", "/healthz", NULL), 0);
	db_rollback(w->db);
}

/* What it sees there may never come to be; a process that remembered it would give it away. */
static void
an_audience_is_never_read_in_a_transaction(void **state)
{
	struct world *w = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct principal who = { .id = w->client_id, .tenant_id = w->tenant_id };
		struct req r = { .mem = w->mem, .db = w->db, .conf = w->conf, .who = &who };

		db_abandon(w->db);
		signal(SIGABRT, SIG_DFL);
		db_begin(w->db);
		access_read(&r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
a_change_that_changes_nothing_is_no_event(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *uri = path_of(w, id), *etag = call(w, "GET", uri, NULL)->etag, *data, *body;

	assert_string_equal(call(w, "PATCH", uri, "{\"name\":\"Cat\",\"description\":null,\"tags\":[]}")->etag, etag);
	assert_int_equal(number(w, "FROM events WHERE media_id = ?", ARGS(ID(id))), 0);
	body = arena_printf(w->mem, "{\"name\":\"Cat\",\"tags\":[\"x\"],\"channelIds\":[\"%s\",\"%s\"]}",
	    uuid_text(w->mem, w->channel_id), uuid_text(w->mem, add_channel(w, "Two", "private")));
	assert_int_equal(call(w, "PATCH", uri, body)->status, 200);
	assert_string_equal(call(w, "PATCH", uri, "{\"tags\":[\"X\",\"x\"]}")->etag, call(w, "GET", uri, NULL)->etag);
	data = db_text(w->db, "SELECT data FROM events WHERE media_id = ? AND type = 'media.updated'", ARGS(ID(id)));
	assert_string_equal(data, "{\"modified\":[\"channels\",\"tags\"]}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(only_channels_that_the_caller_sees_are_shown_or_filtered_by),
		WORLD_TEST(a_channel_that_has_just_become_visible_can_be_filtered_by),
		WORLD_TEST(a_token_of_few_scopes_sees_no_soft_deleted_assets),
		WORLD_TEST(a_new_name_of_a_channel_is_one_row_and_shows_at_once),
		WORLD_TEST(lists_follow_roles_and_visibility_at_once),
		WORLD_TEST(a_shared_channel_is_not_listed_to_callers_of_many_channels),
		WORLD_TEST(callers_of_very_many_channels_are_judged_alike),
		WORLD_TEST(a_held_row_of_the_tenant_stops_nobody),
		WORLD_TEST(an_audience_is_never_read_in_a_transaction),
		WORLD_TEST(a_change_that_changes_nothing_is_no_event),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
