/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tags: names, counts, renaming and deleting them, and the tags of many assets at once. */
#include <sys/wait.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/role.h"
#include "jobs/run.h"
#include "media/label.h"
#include "tests/world.h"

static const char *
path_of(struct world *w, struct uuid media)
{
	return arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media));
}

static struct uuid
tagged(struct world *w, const char *tags)
{
	struct uuid id = world_media(w, "video", "Cat");

	assert_int_equal(call(w, "PATCH", path_of(w, id), arena_printf(w->mem, "{\"tags\":%s}", tags))->status, 200);
	return id;
}

static const char *
tags_of(struct world *w, struct uuid media)
{
	return text(w, call(w, "GET", path_of(w, media), NULL), "data.tags");
}

static const char *
tag_path(struct world *w, const char *name)
{
	struct req *r = call(w, "GET", arena_printf(w->mem, "/v2/tags?filter=name=%s", name), NULL);

	assert_string_equal(text(w, r, "pagination.total"), "1");
	return arena_printf(w->mem, "/v2/tags/%s", text(w, r, "data.0.id"));
}

static const char *
found_by(struct world *w, const char *tag)
{
	return text(w, call(w, "GET", arena_printf(w->mem, "/v2/media?filter=tags=%s", tag), NULL), "pagination.total");
}

/* Job steps stand in for the runner. */
void
job_pause(struct job *j)
{
	assert_true(db_commit(j->db));
}

bool
job_resume(struct job *j)
{
	db_begin(j->db);
	return true;
}

void
job_batches(struct job *j, bool (*batch)(struct job *, void *), void *at, size_t size)
{
	bool more;

	(void)size;
	do {
		more = batch(j, at);
		job_pause(j);
		db_begin(j->db);
	} while (more);
}

void
job_progress(struct job *j, int percent)
{
	(void)j;
	assert_in_range(percent, 0, 100);
}

/* What the jobs of the tenant have to do, done. */
static void
follow(struct world *w)
{
	struct retag_args args = { { { 0 } } };
	const char *id;

	while ((id = db_text(w->db, "SELECT JSON_VALUE(args, '$.tagId') FROM jobs WHERE tenant_id = ? AND kind = "
	    "'retag' AND state = 'ready' ORDER BY id LIMIT 1", ARGS(ID(w->tenant_id)))) != NULL) {
		struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .in = &args, .tenant_id = w->tenant_id };

		assert_true(uuid_parse(id, &args.tag_id));
		db_begin(w->db);
		assert_int_equal(retag_run(&j), DONE);
		assert_int_equal(retag_run(&j), DONE);
		assert_true(db_commit(w->db));
		db_run(w->db, "UPDATE jobs SET state = 'succeeded' WHERE tenant_id = ? AND kind = 'retag' AND "
		    "JSON_VALUE(args, '$.tagId') = ?", ARGS(ID(w->tenant_id), STR(id)));
	}
}

static void
one_look_is_one_name(void **state)
{
	static const char *const same[] = { "news", " News ", "NEWS\xc2\xa0" };
	static const struct { const char *given, *kept; } clean[] = {
		{ "  a \t b\n", "a b" }, { "a\xcc\x88", "\xc3\xa4" }, { "\xc2\xa0", "" }, { "\xe1\xba\x9e", "\xe1\xba\x9e" },
		{ "\xf0\x9f\x90\xb1  x", "\xf0\x9f\x90\xb1 x" }, { "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc" },
	};
	struct world *w = *state;
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(clean) / sizeof(clean[0]); i++)
		assert_string_equal(label_clean(w->mem, clean[i].given), clean[i].kept);
	assert_int_equal(call(w, "POST", "/v2/tags", "{\"name\":\"News\"}")->status, 201);
	for (i = 0; i < 3; i++) {
		r = call(w, "POST", "/v2/tags", arena_printf(w->mem, "{\"name\":\"%s\"}", same[i]));
		assert_int_equal(r->status, 409);
		assert_string_equal(text(w, r, "data.code"), "tag_exists");
	}
	assert_int_equal(call(w, "POST", "/v2/tags", "{\"name\":\"N\xc3\xa9ws\"}")->status, 201);
	assert_int_equal(call(w, "POST", "/v2/tags", "{\"name\":\"Ne\xcc\x81ws\"}")->status, 409);
	assert_int_equal(call(w, "POST", "/v2/tags", "{\"name\":\"N\xc3\xa9WS\"}")->status, 409);
	assert_int_equal(call(w, "POST", "/v2/tags", "{\"name\":\" \"}")->status, 422);
	tagged(w, "[\"n\xc3\xa9ws\",\" ne\xcc\x81ws\",\"N\xc3\xa9ws\"]");
	assert_int_equal(number(w, "FROM tags WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 2);
	/* Of a hundred that NFC takes apart, two hundred are left. */
	{
		struct buf b = BUF(w->mem);

		for (i = 0; i < 100; i++)
			buf_text(&b, "\xe0\xa5\x98");
		r = call(w, "POST", "/v2/tags", arena_printf(w->mem, "{\"name\":\"%s\"}", buf_string(&b)));
		assert_true(has_fault(r, "/name", "too_long"));
		r = call(w, "PATCH", path_of(w, world_media(w, "video", "x")), arena_printf(w->mem,
		    "{\"tags\":[\"a\",\"%s\"]}",
		    buf_string(&b)));
		assert_true(has_fault(r, "/tags/1", "too_long"));
	}
}

static void
a_count_tells_what_the_caller_sees(void **state)
{
	struct world *w = *state;
	const char *member = world_member(w, "ViewChannel", "Viewer", NULL), *nobody = world_member(w, "ViewChannel",
	    NULL, NULL);
	struct uuid one = tagged(w, "[\"a\",\"b\"]"), two = tagged(w, "[\"a\"]");
	struct req *r;

	(void)one;
	r = call_as(w, member, "GET", "/v2/tags?sort=name", NULL);
	assert_string_equal(text(w, r, "data.0.mediaCount"), "2");
	assert_string_equal(text(w, r, "data.0.mediaCountExact"), "true");
	assert_string_equal(text(w, r, "data.1.mediaCount"), "1");
	r = call_as(w, nobody, "GET", "/v2/tags?sort=name", NULL);
	assert_string_equal(text(w, r, "data.0.mediaCount"), "0");
	assert_string_equal(text(w, call_as(w, nobody, "GET", tag_path(w, "a"), NULL), "data.mediaCount"), "0");
	assert_int_equal(call(w, "DELETE", path_of(w, two), NULL)->status, 200);
	assert_string_equal(text(w, call(w, "GET", "/v2/tags?sort=name", NULL), "data.0.mediaCount"), "1");
}

static void
only_super_admins_rename_and_delete(void **state)
{
	struct world *w = *state;
	const char *owner = world_member(w, SCOPE_NAMES, "Channel Owner", NULL), *viewer = world_member(w,
	    SCOPE_NAMES, "Viewer",
	    NULL), *path;

	assert_int_equal(call_as(w, viewer, "POST", "/v2/tags", "{\"name\":\"a\"}")->status, 403);
	assert_int_equal(call_as(w, owner, "POST", "/v2/tags", "{\"name\":\"a\"}")->status, 201);
	path = tag_path(w, "a");
	assert_int_equal(call_as(w, viewer, "GET", path, NULL)->status, 200);
	assert_int_equal(call_as(w, owner, "PATCH", path, "{\"name\":\"b\"}")->status, 403);
	assert_int_equal(call_as(w, owner, "DELETE", path, NULL)->status, 403);
	assert_int_equal(call(w, "PATCH", path, "{\"name\":\"b\"}")->status, 200);
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ? AND is_audit = 1 AND type IN ('tag.renamed', "
	    "'tag.deleted')",
	    ARGS(ID(w->tenant_id))), 2);
}

static void
a_new_name_is_filtered_by_at_once_and_shown_by_a_job(void **state)
{
	struct world *w = *state;
	struct uuid one = tagged(w, "[\"old\",\"z\"]"), many[60];
	const char *path = tag_path(w, "old"), *etag;
	struct req *r;
	size_t i;

	for (i = 0; i < 60; i++)
		many[i] = tagged(w, "[\"old\"]");
	etag = call(w, "GET", path_of(w, one), NULL)->etag;
	r = call(w, "PATCH", path, "{\"name\":\"Z\"}");
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "tag_exists");
	assert_int_equal(call(w, "PATCH", path, "{\"name\":\"  new \"}")->status, 200);
	assert_string_equal(found_by(w, "new"), "61");
	assert_string_equal(found_by(w, "old"), "0");
	follow(w);
	assert_string_equal(tags_of(w, one), "[ \"new\", \"z\" ]");
	assert_string_equal(tags_of(w, many[59]), "[ \"new\" ]");
	assert_string_not_equal(call(w, "GET", path_of(w, one), NULL)->etag, etag);
	assert_int_equal(call(w, "PATCH", path, "{\"name\":\"NEW\"}")->status, 200);
	follow(w);
	assert_string_equal(tags_of(w, many[0]), "[ \"NEW\" ]");
	assert_int_equal(call(w, "PATCH", path, "{\"name\":\"NEW\"}")->status, 200);
	assert_int_equal(number(w, "FROM jobs WHERE tenant_id = ? AND kind = 'retag'", ARGS(ID(w->tenant_id))), 2);
}

static void
a_deleted_tag_is_gone_at_once_and_its_name_free(void **state)
{
	struct world *w = *state;
	struct uuid one = tagged(w, "[\"a\",\"b\"]"), two = tagged(w, "[\"a\"]"), again;
	const char *path = tag_path(w, "a");

	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	assert_int_equal(call(w, "GET", path, NULL)->status, 404);
	assert_int_equal(call(w, "PATCH", path, "{\"name\":\"c\"}")->status, 404);
	assert_string_equal(text(w, call(w, "GET", "/v2/tags", NULL), "pagination.total"), "1");
	assert_string_equal(found_by(w, "a"), "0");
	again = tagged(w, "[\"a\"]");
	assert_string_equal(found_by(w, "a"), "1");
	assert_int_equal(call(w, "PATCH", path_of(w, one), "{\"tags\":[\"b\",\"c\"]}")->status, 200);
	assert_string_equal(tags_of(w, one), "[ \"b\", \"c\" ]");
	follow(w);
	assert_string_equal(tags_of(w, two), "[ ]");
	assert_string_equal(tags_of(w, again), "[ \"a\" ]");
	assert_int_equal(number(w, "FROM tags WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 3);
}

static const char *
body_of(struct world *w, const struct uuid *ids, size_t n, const char *rest)
{
	struct buf b = BUF(w->mem);
	size_t i;

	buf_text(&b, "{\"mediaIds\":[");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\"%s\"", i > 0 ? "," : "", uuid_text(w->mem, ids[i]));
	buf_printf(&b, "]%s}", rest);
	return buf_string(&b);
}

static void
many_assets_get_lose_and_change_tags_at_once(void **state)
{
	struct world *w = *state;
	struct uuid ids[] = { tagged(w, "[\"a\",\"b\"]"), tagged(w, "[\"a\"]"), tagged(w, "[]"), { { 0 } } };
	struct req *r;

	ids[3] = ids[0];
	r = call(w, "PATCH", "/v2/media/tags", body_of(w, ids, 4, ",\"tags\":[\"A\",\" new \"]"));
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.changed"), "3");
	assert_string_equal(tags_of(w, ids[0]), "[ \"a\", \"b\", \"new\" ]");
	assert_string_equal(tags_of(w, ids[2]), "[ \"a\", \"new\" ]");
	r = call(w, "PATCH", "/v2/media/tags?operation=add", body_of(w, ids, 3, ",\"tags\":[\"a\"]"));
	assert_string_equal(text(w, r, "data.changed"), "0");
	r = call(w, "PATCH", "/v2/media/tags?operation=remove", body_of(w, ids, 3, ",\"tags\":[\"b\",\"nowhere\"]"));
	assert_string_equal(text(w, r, "data.changed"), "1");
	assert_int_equal(number(w, "FROM tags WHERE tenant_id = ? AND name = 'nowhere'", ARGS(ID(w->tenant_id))), 0);
	r = call(w, "POST", "/v2/media/tags", body_of(w, ids, 3, ""));
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_int_equal(call(w, "PATCH", path_of(w, ids[1]), "{\"tags\":[\"new\",\"own\"]}")->status, 200);
	r = call(w, "POST", "/v2/media/tags", body_of(w, ids, 4, ""));
	assert_string_equal(text(w, r, "data.0.name"), "a");
	assert_string_equal(text(w, r, "data.0.common"), "false");
	assert_string_equal(text(w, r, "data.1.name"), "new");
	assert_string_equal(text(w, r, "data.1.common"), "true");
	assert_string_equal(text(w, r, "data.2.common"), "false");
	r = call(w, "PATCH", "/v2/media/tags?operation=replace", body_of(w, ids, 3, ",\"tags\":[\"only\"]"));
	assert_string_equal(tags_of(w, ids[1]), "[ \"only\" ]");
	assert_int_equal(call(w, "PATCH", "/v2/media/tags?operation=replace", body_of(w, ids, 3,
	    ",\"tags\":[]"))->status, 200);
	assert_string_equal(tags_of(w, ids[0]), "[ ]");
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND data = '{\"modified\":[\"tags\"]}'",
	    ARGS(ID(ids[2]))), 3);
}

static void
of_many_assets_all_are_changed_or_none(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid ids[] = { tagged(w, "[\"a\"]"), world_media(other, "video", "Foreign") }, hidden[2], who,
	    private_id = uuid_new();
	const char *member = world_member(w, SCOPE_NAMES, "Contributor", &who);
	struct buf b = BUF(w->mem);
	struct req *r;
	int i;

	r = call(w, "PATCH", "/v2/media/tags", body_of(w, ids, 2, ",\"tags\":[\"x\"]"));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/mediaIds/1", "not_found"));
	assert_true(has_fault(call(w, "POST", "/v2/media/tags", body_of(w, ids, 2, "")), "/mediaIds/1", "not_found"));
	assert_string_equal(tags_of(w, ids[0]), "[ \"a\" ]");
	hidden[0] = ids[0];
	hidden[1] = world_media(w, "video", "Hidden");
	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, 'C', 1, 1)",
	    ARGS(ID(private_id), ID(w->tenant_id)));
	db_run(w->db, "UPDATE media_channels SET channel_id = ? WHERE media_id = ?", ARGS(ID(private_id),
	    ID(hidden[1])));
	asset_summarise(w->db, hidden[1], SUM_CHANNELS);
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, member, "PATCH", "/v2/media/tags", body_of(w, hidden, 1,
	    ",\"tags\":[\"x\"]"))->status, 200);
	assert_int_equal(call_as(w, member, "PATCH", "/v2/media/tags", body_of(w, hidden, 2,
	    ",\"tags\":[\"y\"]"))->status, 403);
	assert_int_equal(call_as(w, member, "POST", "/v2/media/tags", body_of(w, hidden, 2, ""))->status, 403);
	assert_string_equal(tags_of(w, ids[0]), "[ \"a\", \"x\" ]");
	db_run(w->db, "UPDATE memberships SET role = 'Viewer' WHERE principal_id = ?", ARGS(ID(who)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, member, "PATCH", "/v2/media/tags", body_of(w, hidden, 1,
	    ",\"tags\":[\"z\"]"))->status, 403);
	assert_true(has_fault(call(w, "PATCH", "/v2/media/tags", "{}"), "/mediaIds", "required"));
	assert_true(has_fault(call(w, "PATCH", "/v2/media/tags", body_of(w, ids, 1, "")), "/tags", "required"));
	for (i = 0; i < 99; i++)
		buf_printf(&b, "%s\"t%d\"", i > 0 ? "," : "", i);
	assert_int_equal(call(w, "PATCH", path_of(w, ids[0]), arena_printf(w->mem, "{\"tags\":[%s]}",
	    buf_string(&b)))->status,
	    200);
	r = call(w, "PATCH", "/v2/media/tags", body_of(w, hidden, 2, ",\"tags\":[\"p\",\"q\"]"));
	assert_true(has_fault(r, "/tags", "too_many"));
	assert_string_equal(tags_of(w, hidden[1]), "[ ]");
}

/* A role that goes while the request waits for an asset does not count any more. */
static void
a_role_lost_while_a_request_waits_is_lost(void **state)
{
	struct world *w = *state;
	struct uuid who, id = tagged(w, "[]");
	const char *member = world_member(w, SCOPE_NAMES, "Contributor", &who), *body = body_of(w, &id, 1,
	    ",\"tags\":[\"x\"]");
	int status;
	pid_t pid;

	db_begin(w->db);
	db_number(w->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(id)), 0);
	pid = fork();
	if (pid == 0) {
		db_abandon(w->db);
		db_begin(w->db);
		db_rollback(w->db);
		alarm(120);
		call_as(w, member, "GET", path_of(w, id), NULL);	/* knows the role */
		_exit(call_as(w, member, "PATCH", "/v2/media/tags", body)->status == 403 ? 0 : 1);
	}
	usleep(400000);
	db_run(w->db, "DELETE FROM memberships WHERE principal_id = ?", ARGS(ID(who)));
	role_changed(w->db, w->tenant_id);
	assert_true(db_commit(w->db));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(tags_of(w, id), "[ ]");
}

/* Assets that are given the same tag at the same time do not wait for each other. */
static void
a_tag_that_somebody_gives_stops_nobody_from_giving_it(void **state)
{
	struct world *w = *state;
	struct uuid one = tagged(w, "[\"a\"]"), two = tagged(w, "[\"b\"]");
	int status;
	pid_t pid;

	db_begin(w->db);
	db_run(w->db, "INSERT INTO media_tags (media_id, tag_id) SELECT ?, id FROM tags WHERE tenant_id = ? AND "
	    "name_key = 'b'",
	    ARGS(ID(one), ID(w->tenant_id)));
	pid = fork();
	if (pid == 0) {
		db_abandon(w->db);
		alarm(60);
		_exit(call(w, "PATCH", path_of(w, two), "{\"tags\":[\"a\",\"b\"]}")->status == 200 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	db_rollback(w->db);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(one_look_is_one_name),
		WORLD_TEST(a_count_tells_what_the_caller_sees),
		WORLD_TEST(only_super_admins_rename_and_delete),
		WORLD_TEST(a_new_name_is_filtered_by_at_once_and_shown_by_a_job),
		WORLD_TEST(a_deleted_tag_is_gone_at_once_and_its_name_free),
		WORLD_TEST(many_assets_get_lose_and_change_tags_at_once),
		WORLD_TEST(of_many_assets_all_are_changed_or_none),
		WORLD_TEST(a_role_lost_while_a_request_waits_is_lost),
		WORLD_TEST(a_tag_that_somebody_gives_stops_nobody_from_giving_it),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
