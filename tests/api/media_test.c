/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media as a client sees it. */
#include <sys/wait.h>

#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/role.h"
#include "core/play.h"
#include "tests/world.h"

static const char *
path_of(struct world *w, struct uuid id, const char *rest)
{
	return arena_printf(w->mem, "/v2/media/%s%s", uuid_text(w->mem, id), rest);
}

static void
an_asset_is_answered_whole_by_one_row(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *r = call(w, "GET", path_of(w, id, ""), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "status"), "success");
	assert_string_equal(text(w, r, "data.id"), uuid_text(w->mem, id));
	assert_string_equal(text(w, r, "data.name"), "Cat");
	assert_string_equal(text(w, r, "data.channels.0.name"), "Default");
	assert_string_equal(text(w, r, "data.createdBy.name"), "Admin");
	assert_string_equal(text(w, r, "data.tags"), "[ ]");
	assert_null(text(w, r, "data.playlistUrl"));
	assert_non_null(strstr(text(w, r, "data.embed.watchUrl"), "/watch/"));
	assert_null(text(w, r, "data.tenantId"));
	assert_non_null(r->etag);
}

static void
a_second_get_with_the_etag_is_304_until_the_asset_changes(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *first = call(w, "GET", path_of(w, id, ""), NULL), *r;

	r = NEW(w->mem, struct req);
	r->if_none_match = first->etag;
	assert_int_equal(call_req(w, r, w->token, "GET", path_of(w, id, ""), NULL)->status, 304);
	assert_int_equal(r->out.len, 0);
	assert_int_equal(call(w, "PATCH", path_of(w, id, ""), "{\"name\":\"Dog\"}")->status, 200);
	r = NEW(w->mem, struct req);
	r->if_none_match = first->etag;
	assert_int_equal(call_req(w, r, w->token, "GET", path_of(w, id, ""), NULL)->status, 200);
}

static void
a_change_based_on_an_old_version_is_refused(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *etag = call(w, "GET", path_of(w, id, ""), NULL)->etag;
	struct req *r = NEW(w->mem, struct req);

	r->if_match = etag;
	assert_int_equal(call_req(w, r, w->token, "PATCH", path_of(w, id, ""), "{\"name\":\"Dog\"}")->status, 200);
	r = NEW(w->mem, struct req);
	r->if_match = etag;
	assert_int_equal(call_req(w, r, w->token, "PATCH", path_of(w, id, ""), "{\"name\":\"Cow\"}")->status, 412);
	assert_string_equal(text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.name"), "Dog");
}

static void
progress_of_a_job_does_not_spoil_if_match(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *r = NEW(w->mem, struct req);

	r->if_match = call(w, "GET", path_of(w, id, ""), NULL)->etag;
	db_run(w->db, "UPDATE media SET revision = revision + 1 WHERE id = ?", ARGS(ID(id)));
	assert_int_equal(call_req(w, r, w->token, "PATCH", path_of(w, id, ""), "{\"name\":\"Dog\"}")->status, 200);
}

static void
patch_takes_names_tags_and_channels_and_tells_the_event(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *r = call(w, "PATCH", path_of(w, id, ""),
	    "{\"name\":\"Katze "
	    "\\u00e4\",\"description\":null,\"languageCode\":\"de-CH\",\"tags\":[\"b\",\"A\",\"a\"]}");

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.name"), "Katze \xc3\xa4");
	assert_string_equal(text(w, r, "data.languageCode"), "de-CH");
	/* It is what an engine is asked for that tells languages apart. */
	assert_int_equal(call(w, "PATCH", path_of(w, id, ""), "{\"languageCode\":\"auto\"}")->status, 422);
	assert_string_equal(text(w, r, "data.tags"), "[ \"A\", \"b\" ]");
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'media.updated'", ARGS(ID(id))), 1);
	assert_int_equal(call(w, "PATCH", path_of(w, id, ""), "{\"channelIds\":[]}")->status, 422);
	r = call(w, "PATCH", path_of(w, id, ""),
	    "{\"name\":\"Changed\",\"channelIds\":[\"019aa000-0000-7000-8000-000000000000\"]}");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/channelIds/0", "not_found"));
	assert_string_equal(text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.name"), "Katze \xc3\xa4");
}

static void
every_fault_of_a_patch_is_named_at_once(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *r = call(w, "PATCH", path_of(w, id, ""),
	    "{\"name\":\"\",\"status\":\"ready\",\"__proto__\":1,\"tags\":[1],\"description\":5}");

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/name", "too_short"));
	assert_true(has_fault(r, "/status", "read_only"));
	assert_true(has_fault(r, "/__proto__", "unknown"));
	assert_true(has_fault(r, "/tags/0", "type"));
	assert_true(has_fault(r, "/description", "type"));
	assert_int_equal(r->faults.n, 5);
}

static void
sending_back_every_member_of_an_answer_changes_nothing(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *r = call(w, "GET", path_of(w, id, ""), NULL);

	r = call(w, "PATCH", path_of(w, id, ""), text(w, r, "data"));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/id", "read_only"));
	assert_true(has_fault(r, "/fileSize", "read_only"));
}

static void
deleting_is_soft_then_conflict_then_recoverable(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *r = call(w, "DELETE", path_of(w, id, ""), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.permanent"), "false");
	assert_int_equal(call(w, "DELETE", path_of(w, id, ""), NULL)->status, 409);
	assert_string_equal(text(w, call(w, "GET", "/v2/media", NULL), "pagination.total"), "0");
	r = call(w, "GET", "/v2/media?filter=status=softDeleted", NULL);
	assert_string_equal(text(w, r, "data.0.status"), "softDeleted");
	assert_string_equal(text(w, call(w, "GET", "/v2/media?filter=Status=softDeleted", NULL), "data.0.status"),
	    "softDeleted");
	assert_string_equal(text(w, call(w, "GET", "/v2/media?filter=name=status=softDeleted", NULL),
	    "pagination.total"), "0");
	assert_string_equal(text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.status"), "softDeleted");
	assert_int_equal(call(w, "PATCH", path_of(w, id, ""), "{\"name\":\"x\"}")->status, 404);
	r = call(w, "PUT", path_of(w, id, "/recover"), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.channels.0.name"), "Default");
	assert_int_equal(call(w, "PUT", path_of(w, id, "/recover"), NULL)->status, 422);
	assert_string_equal(text(w, call(w, "GET", "/v2/media", NULL), "pagination.total"), "1");
}

static void
deleting_for_good_takes_the_rows_and_asks_for_the_files(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");

	assert_int_equal(call(w, "DELETE", path_of(w, id, "?permanent=maybe"), NULL)->status, 422);
	assert_int_equal(call(w, "DELETE", path_of(w, id, "?permanent=true"), NULL)->status, 200);
	assert_int_equal(call(w, "GET", path_of(w, id, ""), NULL)->status, 404);
	assert_int_equal(number(w, "FROM media_channels WHERE media_id = ?", ARGS(ID(id))), 0);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'purge' AND tenant_id = ? AND args LIKE ?",
	    ARGS(ID(w->tenant_id), STR(arena_printf(w->mem, "%%originals/%s%%", uuid_text(w->mem, id))))), 1);
	assert_string_equal(text(w, call(w, "GET", "/v2/media", NULL), "pagination.total"), "0");
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND data LIKE '%\"permanent\":true%'", ARGS(ID(id))),
	    1);
}

/* A body with these, the last of them twice. */
static const char *
all_of(struct world *w, const struct uuid *ids, size_t n)
{
	struct buf b = BUF(w->mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < n; i++)
		buf_printf(&b, "\"%s\",", uuid_text(w->mem, ids[i]));
	buf_printf(&b, "\"%s\"]", uuid_text(w->mem, ids[n - 1]));
	return buf_string(&b);
}

static int64_t
gone(struct world *w)
{
	return number(w, "FROM media WHERE deleted_at > 0 AND tenant_id = ?", ARGS(ID(w->tenant_id)));
}

static int64_t
told(struct world *w)
{
	return number(w, "FROM events WHERE type = 'media.deleted' AND tenant_id = ?", ARGS(ID(w->tenant_id)));
}

static bool
are_counted(struct world *w, int64_t n)
{
	return number(w, "FROM tenant_usage WHERE tenant_id = ? AND media_count = ?", ARGS(ID(w->tenant_id),
	    INT(n))) == 1;
}

static void
many_are_deleted_at_once_or_none(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid ids[] = { world_media(w, "video", "Cat"), world_media(w, "audio", "Dog"),
	    world_media(w, "image", "Cow") };
	struct uuid foreign[] = { ids[0], world_media(other, "video", "Foreign") };
	struct uuid unknown[] = { ids[0], uuid_new() };
	const char *whole = arena_printf(w->mem, "{\"mediaIds\":%s}", all_of(w, ids, 2));
	struct req *r;

	assert_true(are_counted(w, 3));
	assert_int_equal(call(w, "DELETE", "/v2/media", all_of(w, foreign, 2))->status, 404);
	assert_int_equal(call(w, "DELETE", "/v2/media", all_of(w, unknown, 2))->status, 404);
	assert_int_equal(call(w, "DELETE", "/v2/media", NULL)->status, 400);
	assert_int_equal(call(w, "DELETE", "/v2/media", "{\"mediaIds\":[]}")->status, 422);
	assert_int_equal(call(w, "DELETE", "/v2/media", "[]")->status, 422);
	assert_int_equal(call(w, "DELETE", "/v2/media", " [1]")->status, 422);
	assert_int_equal(call(w, "DELETE", "/v2/media", "[")->status, 400);
	assert_int_equal(call(w, "DELETE", "/v2/media?permanent=maybe", whole)->status, 422);
	assert_int_equal(gone(w), 0);

	r = call(w, "DELETE", "/v2/media", whole);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.permanent"), "false");
	assert_non_null(text(w, r, "data.deleted.1"));
	assert_null(text(w, r, "data.deleted.2"));
	assert_int_equal(gone(w), 2);
	assert_int_equal(number(w, "FROM media_channels WHERE is_deleted = 1 AND channel_id = ?",
	    ARGS(ID(w->channel_id))), 2);
	assert_true(are_counted(w, 1));
	assert_int_equal(told(w), 2);

	/* what is soft-deleted counts as done, and nothing is told of it again */
	assert_int_equal(call(w, "DELETE", "/v2/media", all_of(w, ids, 3))->status, 200);
	assert_int_equal(told(w), 3);
	assert_true(are_counted(w, 0));
	r = call(w, "DELETE", "/v2/media?permanent=true", all_of(w, ids, 3));
	assert_string_equal(text(w, r, "data.permanent"), "true");
	assert_int_equal(number(w, "FROM media WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'purge' AND tenant_id = ?", ARGS(ID(w->tenant_id))), 3);
	assert_true(are_counted(w, 0));
	assert_int_equal(number(w, "FROM media WHERE id = ?", ARGS(ID(foreign[1]))), 1);
}

static void
who_may_not_delete_one_of_many_deletes_none(void **state)
{
	struct world *w = *state;
	struct uuid ids[] = { world_media(w, "video", "Cat"), world_media(w, "video", "Dog") };
	struct uuid channel_id = uuid_new();
	const char *owner = world_member(w, "ViewChannel CreateContent", "Channel Owner", NULL);
	const char *viewer = world_member(w, "ViewChannel CreateContent", "Viewer", NULL);

	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, 'Away', 1, 1)",
	    ARGS(ID(channel_id), ID(w->tenant_id)));
	db_run(w->db, "UPDATE media_channels SET channel_id = ? WHERE media_id = ?", ARGS(ID(channel_id), ID(ids[1])));
	db_run(w->db, "UPDATE media SET channel_ids = ? WHERE id = ?", ARGS(ID(channel_id), ID(ids[1])));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, viewer, "DELETE", "/v2/media", all_of(w, ids, 1))->status, 403);
	assert_int_equal(call_as(w, owner, "DELETE", "/v2/media", all_of(w, ids, 2))->status, 403);
	assert_int_equal(gone(w), 0);
	assert_int_equal(call_as(w, owner, "DELETE", "/v2/media", all_of(w, ids, 1))->status, 200);
}

static void
another_tenants_asset_is_not_there(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid id = world_media(w, "video", "Cat");

	assert_int_equal(call(other, "GET", path_of(w, id, ""), NULL)->status, 404);
	assert_int_equal(call(other, "PATCH", path_of(w, id, ""), "{\"name\":\"x\"}")->status, 404);
	assert_int_equal(call(other, "DELETE", path_of(w, id, "?permanent=true"), NULL)->status, 404);
	assert_int_equal(call(other, "GET", path_of(w, id, "/permissions"), NULL)->status, 404);
	assert_int_equal(call(w, "GET", path_of(w, id, ""), NULL)->status, 200);
}

static void
roles_in_a_channel_decide_what_a_member_may_do(void **state)
{
	static const struct { const char *role; int get, patch; } cases[] = {
		{ NULL, 403, 403 }, { "Viewer", 200, 403 }, { "Contributor", 200, 200 }, { "Publisher", 200, 200 },
		{ "Channel Owner", 200, 200 },
	};
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *token = world_member(w, "ViewChannel ViewMetadata CreateContent", cases[i].role, NULL);

		assert_int_equal(call_as(w, token, "GET", path_of(w, id, ""), NULL)->status, cases[i].get);
		assert_int_equal(call_as(w, token, "PATCH", path_of(w, id, ""), "{\"name\":\"x\"}")->status,
		    cases[i].patch);
		assert_string_equal(text(w, call_as(w, token, "GET", "/v2/media", NULL), "pagination.total"),
		    cases[i].get == 200 ? "1" : "0");
	}
	db_run(w->db, "UPDATE channels SET visibility = 'public' WHERE id = ?", ARGS(ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, world_member(w, "ViewChannel", NULL, NULL), "GET", path_of(w, id, ""),
	    NULL)->status, 200);
}

/* Changes the name on a connection of its own. */
static pid_t
patch_aside(struct world *w, const char *uri, const char *etag)
{
	struct req *r = NEW(w->mem, struct req);
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	db_abandon(w->db);
	r->if_match = etag;
	_exit(call_req(w, r, w->token, "PATCH", uri, "{\"name\":\"Lion\"}")->status == 200 ? 1 : r->status == 412 ? 2 :
	    0);
}

static void
of_two_changes_with_the_same_tag_one_wins(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *uri = path_of(w, id, ""), *etag = call(w, "GET", uri, NULL)->etag;
	pid_t pid[2];
	int i, status, ends = 0;

	db_begin(w->db);	/* both wait for this row, and go on together */
	db_number(w->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(id)), 0);
	for (i = 0; i < 2; i++)
		pid[i] = patch_aside(w, uri, etag);
	usleep(500000);
	db_rollback(w->db);
	for (i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		ends += WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	}
	assert_int_equal(ends, 3);
}

static void
what_has_a_tag_is_not_sent_twice(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *paths[] = { "", "/metadata", "/thumbnail" };
	struct rendition_row poster = { .media_id = id, .generation = "g1", .kind = "poster", .label = "Poster",
	    .width = { 1280, true }, .height = { 720, true }, .mime_type = "image/jpeg", .file = "g1/poster.jpg" };
	size_t i;

	rendition_put(w->db, &poster);
	asset_summarise(w->db, id, SUM_RENDITIONS);
	for (i = 0; i < 3; i++) {
		const char *uri = path_of(w, id, paths[i]);
		struct req *r = NEW(w->mem, struct req);

		r->if_none_match = call(w, "GET", uri, NULL)->etag;
		assert_non_null(r->if_none_match);
		assert_int_equal(call_req(w, r, w->token, "GET", uri, NULL)->status, 304);
		asset_summarise(w->db, id, SUM_RENDITIONS);
		assert_int_equal(call_req(w, r, w->token, "GET", uri, NULL)->status, 200);
	}
}

/* A second channel of the tenant in which the test's members have no role. */
static struct uuid
channel_beside(struct world *w)
{
	struct uuid id = uuid_new();

	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, visibility, created_at, updated_at) SELECT ?, "
	    "tenant_id, 'Beside', 'private', created_at, updated_at FROM channels WHERE id = ?",
	    ARGS(ID(id), ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(db_failure(w->db), DB_FINE);
	return id;
}

static void
an_asset_is_taken_out_only_of_channels_that_one_may_put_into(void **state)
{
	struct world *w = *state;
	struct uuid who, id = world_media(w, "video", "Cat"), beside = channel_beside(w);
	const char *uri = path_of(w, id, "");
	const char *member = world_member(w, "ViewChannel CreateContent", "Contributor", &who);
	const char *own = arena_printf(w->mem, "{\"channelIds\":[\"%s\"]}", uuid_text(w->mem, w->channel_id));
	const char *both = arena_printf(w->mem, "{\"channelIds\":[\"%s\",\"%s\"]}", uuid_text(w->mem, w->channel_id),
	    uuid_text(w->mem, beside));

	assert_int_equal(call_as(w, member, "PATCH", uri, both)->status, 422);	/* it sees no such channel */
	assert_int_equal(call(w, "PATCH", uri, both)->status, 200);
	assert_int_equal(call_as(w, member, "PATCH", uri, own)->status, 200);	/* what it does not see stays */
	assert_int_equal(number(w, "FROM media_channels WHERE media_id = ?", ARGS(ID(id))), 2);
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, 'Viewer', 1)",
	    ARGS(ID(beside), ID(who)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, member, "PATCH", uri, own)->status, 403);
	assert_int_equal(call_as(w, member, "PATCH", uri, both)->status, 200);
	assert_int_equal(call(w, "PATCH", uri, own)->status, 200);
	assert_int_equal(call_as(w, member, "PATCH", uri, both)->status, 403);
}

static void
what_is_soft_deleted_is_shown_to_those_who_may_recover_it(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *uri = path_of(w, id, ""), *list = "/v2/media?filter=status=softDeleted";
	const char *viewer = world_member(w, "ViewChannel CreateContent", "Viewer", NULL);
	const char *contributor = world_member(w, "ViewChannel CreateContent", "Contributor", NULL);

	channel_beside(w);
	assert_int_equal(call(w, "DELETE", uri, NULL)->status, 200);
	assert_int_equal(call_as(w, viewer, "GET", uri, NULL)->status, 403);
	assert_string_equal(text(w, call_as(w, viewer, "GET", list, NULL), "pagination.total"), "0");
	assert_int_equal(call_as(w, contributor, "GET", uri, NULL)->status, 200);
	assert_string_equal(text(w, call_as(w, contributor, "GET", list, NULL), "pagination.total"), "1");
}

static void
permissions_name_the_channels_they_come_from(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *token = world_member(w, "ViewChannel", "Contributor", NULL);
	struct req *r = call_as(w, token, "GET", path_of(w, id, "/permissions"), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "pagination.total"), "3");
	assert_string_equal(text(w, r, "data.2.name"), "CreateContent");
	assert_string_equal(text(w, r, "data.2.channelIds.0"), uuid_text(w->mem, w->channel_id));
	r = call(w, "GET", path_of(w, id, "/permissions"), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "5");
	assert_string_equal(text(w, r, "data.0.channelIds"), "[ ]");
	r = call(w, "GET", path_of(w, id, "/permissions?perpage=2&page=2"), NULL);
	assert_string_equal(text(w, r, "data.0.name"), "ManageChannel");
	assert_null(text(w, r, "data.1.name"));
	assert_int_equal(call(w, "GET", path_of(w, id, "/permissions?sort=name"), NULL)->status, 422);
}

static void
an_asset_is_shown_in_the_context_of_its_own_channels_only(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *uri = path_of(w, id, "?channelId=");

	assert_int_equal(call(w, "GET", arena_printf(w->mem, "%s%s", uri, uuid_text(w->mem, w->channel_id)),
	    NULL)->status, 200);
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "%s%s", uri, uuid_text(w->mem, id)), NULL)->status, 404);
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "%sx", uri), NULL)->status, 422);
}

static void
labels_tell_accents_but_not_case_apart(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *uri = path_of(w, id, ""), *hundred =
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	struct req *r;

	assert_int_equal(call(w, "PATCH", uri, "{\"tags\":[\"Bar\",\"B\u00e4r\",\"bar\",\"B\u00c4R\"]}")->status, 200);
	r = call(w, "GET", uri, NULL);
	assert_string_equal(text(w, r, "data.tags.0"), "Bar");
	assert_string_equal(text(w, r, "data.tags.1"), "B\xc3\xa4r");
	assert_null(text(w, r, "data.tags.2"));
	assert_string_equal(text(w, call(w, "GET", "/v2/media?filter=tags=b%C3%A4R", NULL), "pagination.total"), "1");
	assert_string_equal(text(w, call(w, "GET", "/v2/media?filter=tags=b%C3%A0r", NULL), "pagination.total"), "0");
	assert_int_equal(call(w, "PATCH", uri, arena_printf(w->mem, "{\"tags\":[\"%s\"]}", hundred))->status, 200);
	r = call(w, "PATCH", uri, arena_printf(w->mem, "{\"tags\":[\"x\",\"%sa\"]}", hundred));
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.errors.0.pointer"), "/tags/1");
}

static void
no_character_in_a_query_is_too_much_for_the_database(void **state)
{
	static const char *const queries[] = { "filter=languageCode=%C3%A4", "filter=languageCode!=%C3%A4",
		"filter=languageCode~%C3%A4" };
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *cursor;
	size_t i;

	for (i = 0; i < 3; i++)
		assert_int_equal(call(w, "GET", arena_printf(w->mem, "/v2/media?%s", queries[i]), NULL)->status, 422);
	assert_int_equal(call(w, "GET", "/v2/media?filter=name=%C3%A4", NULL)->status, 200);
	assert_int_equal(call(w, "GET", path_of(w, id, "/jobs?filter=kind=%C3%A4"), NULL)->status, 422);
	/* "\xc3\xa4" as a kind */
	cursor = arena_printf(w->mem, "/jobs?sort=kind&after=w6Q.%s", uuid_text(w->mem, id));
	assert_int_equal(call(w, "GET", path_of(w, id, cursor), NULL)->status, 422);
	/* "\xff" as a name */
	cursor = arena_printf(w->mem, "/v2/media?sort=name&after=_w.%s", uuid_text(w->mem, id));
	assert_int_equal(call(w, "GET", cursor, NULL)->status, 422);
}

static void
lists_page_by_number_and_by_cursor_alike(void **state)
{
	struct world *w = *state;
	struct req *r;
	const char *next;
	int i;

	for (i = 0; i < 25; i++)
		world_media(w, i % 2 ? "video" : "audio", arena_printf(w->mem, "Clip %02d", i));
	r = call(w, "GET", "/v2/media?sort=name&perPage=10", NULL);
	assert_string_equal(text(w, r, "data.0.name"), "Clip 00");
	assert_string_equal(text(w, r, "pagination.total"), "25");
	assert_null(text(w, r, "data.0.embed"));
	assert_non_null(strstr(header(w, r, "Link"), "&page=2>; rel=\"last\""));
	next = strstr(header(w, r, "Link"), "after=");
	assert_non_null(next);
	next = arena_copy_n(w->mem, next, strcspn(next, ">"));
	r = call(w, "GET", arena_printf(w->mem, "/v2/media?sort=name&perpage=10&page=1&%s", next), NULL);
	assert_string_equal(text(w, r, "data.0.name"), "Clip 10");
	assert_string_equal(text(w, r, "pagination.total"), "25");
	next = arena_printf(w->mem, "/v2/media?sort=name&perpage=10&after=%s", text(w, r, "pagination.next"));
	r = call(w, "GET", next, NULL);
	assert_string_equal(text(w, r, "data.0.name"), "Clip 20");
	assert_null(text(w, r, "pagination.next"));
	r = call(w, "GET", "/v2/media?sort=name:asc&page=1&pageNumber=2", NULL);
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "pageNumber", "not_allowed"));
	assert_int_equal(call(w, "GET", "/v2/media?sort=name:asc&page=1&pageNumber=1", NULL)->status, 200);
	r = call(w, "GET", "/v2/media?sort=NAME:desc&pageNumber=2&perpage=10", NULL);
	assert_string_equal(text(w, r, "data.0.name"), "Clip 04");
	assert_null(strstr(header(w, r, "Link"), "rel=\"next\""));
	r = call(w, "GET", "/v2/media", NULL);
	assert_string_equal(text(w, r, "data.0.name"), "Clip 24");
}

static void
filters_join_by_plus_and_refuse_what_they_do_not_know(void **state)
{
	static const struct { const char *filter; int status; const char *total; } cases[] = {
		{ "type=video", 200, "2" }, { "type=video%2bname~a%25", 200, "1" }, { "name=C%2b%2b", 200, "1" },
		{ "type!=video", 200, "1" }, { "fileSize>=1000", 200, "3" }, { "fileSize<=999", 200, "0" },
		{ "createdAt>=2020-01-01T00:00:00Z", 200, "3" }, { "tags=news", 200, "1" }, { "tags!=news", 200, "2" },
		{ "type=film", 422, NULL }, { "secret=1", 422, NULL }, { "name", 422, NULL }, { "type~v", 422, NULL },
		{ "fileSize=abc", 422, NULL }, { "createdAt>=yesterday", 422, NULL }, { "name='%20OR%201=1--", 200, "0" },
		{ "channelId=nope", 422, NULL }, { "tenantId=1", 422, NULL },
	};
	struct world *w = *state;
	struct uuid tagged = world_media(w, "video", "a%b");
	size_t i;

	world_media(w, "video", "other");
	world_media(w, "audio", "C++");
	call(w, "PATCH", path_of(w, tagged, ""), "{\"tags\":[\"News\"]}");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct req *r = call(w, "GET", arena_printf(w->mem, "/v2/media?filter=%s", cases[i].filter), NULL);

		if (r->status != cases[i].status)
			fail_msg("%s: %d %s", cases[i].filter, r->status, buf_string(&r->out));
		if (cases[i].total != NULL && strcmp(text(w, r, "pagination.total"), cases[i].total) != 0)
			fail_msg("%s: %s", cases[i].filter, text(w, r, "pagination.total"));
	}
}

static void
page_sizes_out_of_bounds_are_refused_not_clamped(void **state)
{
	static const char *const bad[] = { "perpage=51", "perpage=0", "page=-1", "page=x", "page=99999999999999999999",
	    "perpage=", "sort=secret", "sort=name:sideways", "after=zzz", "nope=1", "page=1&page=2" };
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (call(w, "GET", arena_printf(w->mem, "/v2/media?%s", bad[i]), NULL)->status != 422)
			fail_msg("%s", bad[i]);
}

static void
an_ingest_starts_once_and_again_only_after_its_end(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *r = call(w, "PUT", path_of(w, id, "/ingest"), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.ingestJob.status"), "queued");
	assert_string_equal(text(w, r, "data.ingestJob.steps.0.name"), "probe");
	assert_int_equal(call(w, "PUT", path_of(w, id, "/ingest"), NULL)->status, 422);
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'ingest'", ARGS(ID(id))), 1);
}

static void
the_player_opens_with_a_signed_token_or_in_an_open_channel(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat"), other = world_media(w, "video", "Dog");
	const char *watch = text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.embed.watchUrl");
	const char *token = strstr(watch, "?t=");

	assert_non_null(token);
	assert_int_equal(call_as(w, NULL, "GET", path_of(w, id, arena_printf(w->mem, "/player%s", token)),
	    NULL)->status, 200);
	assert_int_equal(call_as(w, NULL, "GET", path_of(w, other, arena_printf(w->mem, "/player%s", token)),
	    NULL)->status, 403);
	assert_int_equal(call_as(w, NULL, "GET", path_of(w, id, "/player"), NULL)->status, 404);
	db_run(w->db, "UPDATE channels SET visibility = 'shared' WHERE id = ?", ARGS(ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, NULL, "GET", path_of(w, id, "/player"), NULL)->status, 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(an_asset_is_answered_whole_by_one_row),
		WORLD_TEST(a_second_get_with_the_etag_is_304_until_the_asset_changes),
		WORLD_TEST(a_change_based_on_an_old_version_is_refused),
		WORLD_TEST(progress_of_a_job_does_not_spoil_if_match),
		WORLD_TEST(patch_takes_names_tags_and_channels_and_tells_the_event),
		WORLD_TEST(every_fault_of_a_patch_is_named_at_once),
		WORLD_TEST(sending_back_every_member_of_an_answer_changes_nothing),
		WORLD_TEST(deleting_is_soft_then_conflict_then_recoverable),
		WORLD_TEST(deleting_for_good_takes_the_rows_and_asks_for_the_files),
		WORLD_TEST(many_are_deleted_at_once_or_none),
		WORLD_TEST(who_may_not_delete_one_of_many_deletes_none),
		WORLD_TEST(another_tenants_asset_is_not_there),
		WORLD_TEST(roles_in_a_channel_decide_what_a_member_may_do),
		WORLD_TEST(an_asset_is_shown_in_the_context_of_its_own_channels_only),
		WORLD_TEST(labels_tell_accents_but_not_case_apart),
		WORLD_TEST(no_character_in_a_query_is_too_much_for_the_database),
		WORLD_TEST(of_two_changes_with_the_same_tag_one_wins),
		WORLD_TEST(what_has_a_tag_is_not_sent_twice),
		WORLD_TEST(an_asset_is_taken_out_only_of_channels_that_one_may_put_into),
		WORLD_TEST(what_is_soft_deleted_is_shown_to_those_who_may_recover_it),
		WORLD_TEST(permissions_name_the_channels_they_come_from),
		WORLD_TEST(lists_page_by_number_and_by_cursor_alike),
		WORLD_TEST(filters_join_by_plus_and_refuse_what_they_do_not_know),
		WORLD_TEST(page_sizes_out_of_bounds_are_refused_not_clamped),
		WORLD_TEST(an_ingest_starts_once_and_again_only_after_its_end),
		WORLD_TEST(the_player_opens_with_a_signed_token_or_in_an_open_channel),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
