/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meetings: what they may refer to, and what is told of them to those who see only some of it. */
#include <stdlib.h>
#include <string.h>

#include "core/role.h"
#include "tests/inside.h"
#include "tests/world.h"

static struct uuid
asset(struct world *w)
{
	struct uuid id = world_media(w, "video", "Council");

	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(id)));
	return id;
}

/* In a channel of its own, which nobody but SuperAdmins sees; and that channel. */
static struct uuid
hidden_asset(struct world *w, struct uuid *channel_id)
{
	struct uuid id = asset(w);

	*channel_id = uuid_new();
	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, ?, 1, 1)",
	    ARGS(ID(*channel_id), ID(w->tenant_id), STR(uuid_text(w->mem, *channel_id))));
	db_run(w->db, "UPDATE media_channels SET channel_id = ? WHERE media_id = ?", ARGS(ID(*channel_id), ID(id)));
	db_run(w->db, "UPDATE media SET channel_ids = ? WHERE id = ?", ARGS(ID(*channel_id), ID(id)));
	role_changed(w->db, w->tenant_id);
	return id;
}

/* An entry of a chapter of the asset: its id. */
static const char *
entry(struct world *w, struct uuid media_id)
{
	struct req *r = call(w, "POST", arena_printf(w->mem, "/v2/media/%s/chapters", uuid_text(w->mem, media_id)),
	    "{\"name\":\"Agenda\"}");

	assert_int_equal(r->status, 201);
	r = call(w, "POST", arena_printf(w->mem, "/v2/media/%s/chapters/%s/entries", uuid_text(w->mem, media_id),
	    text(w, r, "data.id")), "{\"title\":\"Opening\"}");
	assert_int_equal(r->status, 201);
	return text(w, r, "data.id");
}

static const char *
meeting(struct world *w, const char *members)
{
	return arena_printf(w->mem, "{\"name\":\"Council\",\"startsAt\":\"2026-11-20T18:00:00Z\"%s%s}",
	    *members != '\0' ? "," : "", members);
}

/* Members: these assets, and an agenda that leads to these entries; NULL: none. */
static const char *
about(struct world *w, const struct uuid *ids, size_t n, const char *first, const char *second)
{
	struct buf b = BUF(w->mem);
	size_t i;

	buf_text(&b, "\"mediaIds\":[");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\"%s\"", i > 0 ? "," : "", uuid_text(w->mem, ids[i]));
	buf_text(&b, "],\"agenda\":[");
	if (first != NULL)
		buf_printf(&b, "{\"number\":\"1\",\"name\":\"One\",\"public\":true,\"entryId\":\"%s\"}", first);
	if (second != NULL)
		buf_printf(&b, ",{\"number\":\"2\",\"name\":\"Two\",\"public\":false,\"entryId\":\"%s\"}", second);
	buf_char(&b, ']');
	return buf_string(&b);
}

/* Its address. */
static const char *
make_as(struct world *w, const char *token, const char *members)
{
	struct req *r = call_as(w, token, "POST", "/v2/meetings", meeting(w, members));

	if (r->status != 201)
		fail_msg("%.200s: %s", members, buf_string(&r->out));
	return arena_printf(w->mem, "/v2/meetings/%s", text(w, r, "data.id"));
}

static int
status(struct world *w, const char *token, const char *method, const char *path, const char *body)
{
	return call_as(w, token, method, path, body)->status;
}

static int
listed(struct world *w, const char *token)
{
	struct req *r = call_as(w, token, "GET", "/v2/meetings?perpage=50", NULL);
	int n = 0;

	assert_int_equal(r->status, 200);
	while (text(w, r, arena_printf(w->mem, "data.%d.id", n)) != NULL)
		n++;
	assert_int_equal(atoi(text(w, r, "pagination.total")), n);
	return n;
}

static void
bad_ones_are_refused_and_change_nothing(void **state)
{
	static const struct { const char *members, *pointer, *code; } bad[] = {
		{ "\"endsAt\":\"2026-11-20T17:59:59Z\"", "/endsAt", "too_small" },
		{ "\"oparlUrl\":\"javascript:alert(1)\"", "/oparlUrl", "format" },
		{ "\"oparlUrl\":\"//oparl.example.org/1\"", "/oparlUrl", "format" },
		{ "\"livestreamId\":\"019a0000-0000-7000-8000-000000000000\"", "/livestreamId", "unknown" },
		{ "\"agenda\":[{\"number\":\"1\",\"public\":true}]", "/agenda/0/name", "required" },
		{ "\"agenda\":[{\"name\":\"One\",\"public\":true}]", "/agenda/0/number", "required" },
		{ "\"agenda\":[{\"number\":\"1\",\"name\":\"One\"}]", "/agenda/0/public", "required" },
		{ "\"mediaIds\":[7]", "/mediaIds/0", "type" },
	};
	struct world *w = *state;
	const char *path = make_as(w, w->token, "");
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "POST", "/v2/meetings", meeting(w, bad[i].members));
		if (r->status != 422 || !has_fault(r, bad[i].pointer, bad[i].code))
			fail_msg("%s: %s", bad[i].members, buf_string(&r->out));
		assert_int_equal(status(w, w->token, "PATCH", path, arena_printf(w->mem, "{%s}", bad[i].members)),
		    422);
	}
	assert_int_equal(status(w, w->token, "PATCH", path, "{\"startsAt\":null}"), 422);
	assert_int_equal(status(w, w->token, "PATCH", path, "{\"endsAt\":\"2026-11-20T19:00:00Z\"}"), 200);
	assert_int_equal(status(w, w->token, "PATCH", path, "{\"startsAt\":\"2026-11-20T19:00:01Z\"}"), 422);
	assert_int_equal(status(w, w->token, "PATCH", path, "{\"startsAt\":\"2026-11-20T19:00:01Z\",\"endsAt\":null}"),
	    200);
	assert_int_equal(number(w, "FROM meetings WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
}

static const char *
many(struct world *w, const char *member, const char *what, int n)
{
	struct buf b = BUF(w->mem);
	int i;

	buf_printf(&b, "\"%s\":[", member);
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "", what);
	buf_char(&b, ']');
	return buf_string(&b);
}

static void
there_are_limits(void **state)
{
	static const char item[] = "{\"number\":\"1\",\"name\":\"One\",\"public\":true}";
	struct world *w = *state;
	struct uuid ids[21];
	struct req *r;
	int i;

	for (i = 0; i < 21; i++)
		ids[i] = asset(w);
	make_as(w, w->token, about(w, ids, 20, NULL, NULL));
	r = call(w, "POST", "/v2/meetings", meeting(w, about(w, ids, 21, NULL, NULL)));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/mediaIds", "too_many"));
	r = call(w, "POST", "/v2/meetings", meeting(w, about(w, (struct uuid[]){ ids[0], ids[1], ids[0] }, 3, NULL,
	    NULL)));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/mediaIds/2", "duplicate"));
	make_as(w, w->token, many(w, "agenda", item, 500));
	r = call(w, "POST", "/v2/meetings", meeting(w, many(w, "agenda", item, 501)));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/agenda", "too_many"));
	for (i = 0; i < 14; i++)
		db_run(w->db, "INSERT INTO meetings (id, tenant_id, principal_id, name, starts_at, agenda, created_at, "
		    "updated_at) SELECT UNHEX(REPLACE(UUID(), '-', '')), tenant_id, principal_id, name, 1, '[]', 1, 1 "
		    "FROM meetings WHERE tenant_id = ? LIMIT ?", ARGS(ID(w->tenant_id), INT(9999 - number(w,
		    "FROM meetings WHERE tenant_id = ?", ARGS(ID(w->tenant_id))))));
	assert_int_equal(number(w, "FROM meetings WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 9999);
	make_as(w, w->token, "");
	assert_int_equal(status(w, w->token, "POST", "/v2/meetings", meeting(w, "")), 409);
}

/* As for one that is not there, in the same words; also where it hides behind an entry of a chapter. */
static void
what_its_writer_may_not_see_is_not_there(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid channel_id, shown = asset(w), gone = asset(w), ids[4] = { uuid_new(), hidden_asset(w, &channel_id),
	    asset(other), gone };
	const char *author = world_member(w, "ViewChannel CreateContent", "Contributor", NULL),
	    *entries[4] = { uuid_text(w->mem, uuid_new()), entry(w, ids[1]), entry(other, ids[2]), entry(w, gone) },
	    *own = make_as(w, author, about(w, &shown, 1, entry(w, shown), NULL)), *nothing = NULL, *no_entry = NULL;
	struct req *r;
	size_t i;

	assert_int_equal(status(w, w->token, "DELETE", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, gone)),
	    NULL), 200);
	for (i = 0; i < 4; i++) {
		const char *members = about(w, &ids[i], 1, NULL, NULL), *leads = about(w, &shown, 1, entries[i], NULL);

		r = call_as(w, author, "POST", "/v2/meetings", meeting(w, members));
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "/mediaIds/0", "not_found"));
		assert_int_equal(r->faults.n, 1);
		nothing = nothing != NULL ? nothing : text(w, r, "data.errors.0.detail");
		assert_string_equal(text(w, r, "data.errors.0.detail"), nothing);
		assert_int_equal(status(w, author, "PATCH", own, arena_printf(w->mem, "{%s}", members)), 422);
		r = call_as(w, author, "POST", "/v2/meetings", meeting(w, leads));
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "/agenda/0/entryId", "not_found"));
		no_entry = no_entry != NULL ? no_entry : text(w, r, "data.errors.0.detail");
		assert_string_equal(text(w, r, "data.errors.0.detail"), no_entry);
		assert_int_equal(status(w, author, "PATCH", own, arena_printf(w->mem, "{\"agenda\":[{\"number\":\"1\","
		    "\"name\":\"One\",\"public\":true,\"entryId\":\"%s\"}]}", entries[i])), 422);
		if (i != 1)
			assert_int_equal(status(w, w->token, "POST", "/v2/meetings", meeting(w, members)), 422);
		assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(ids[i]))), 0);
	}
	assert_int_equal(number(w, "FROM meetings WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
}

static void
hidden_assets_are_left_out_with_what_leads_into_them(void **state)
{
	struct world *w = *state;
	struct uuid channel_id, viewer_id, ids[2] = { hidden_asset(w, &channel_id), asset(w) };
	const char *secret = entry(w, ids[0]), *open = entry(w, ids[1]), *viewer = world_member(w, "ViewChannel",
	    "Viewer", &viewer_id), *path = make_as(w, w->token, about(w, ids, 2, secret, open)),
	    *closed = make_as(w, w->token, about(w, ids, 1, secret, NULL)), *none = make_as(w, w->token, "");
	struct req *r = call_as(w, viewer, "GET", path, NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.mediaIds.0"), uuid_text(w->mem, ids[1]));
	assert_null(text(w, r, "data.mediaIds.1"));
	assert_null(text(w, r, "data.agenda.0.entryId"));
	assert_string_equal(text(w, r, "data.agenda.0.public"), "true");
	assert_string_equal(text(w, r, "data.agenda.1.entryId"), open);
	assert_int_equal(status(w, viewer, "GET", closed, NULL), 404);
	assert_int_equal(status(w, viewer, "GET", none, NULL), 404);
	assert_int_equal(listed(w, viewer), 1);
	assert_int_equal(listed(w, w->token), 3);
	r = call_as(w, viewer, "GET", "/v2/meetings", NULL);
	assert_null(strstr(buf_string(&r->out), uuid_text(w->mem, ids[0])));
	assert_string_equal(text(w, r, "data.0.mediaIds.0"), uuid_text(w->mem, ids[1]));
	assert_null(text(w, r, "data.0.agenda"));
	world_role(w, channel_id, viewer_id, "Viewer");
	r = call_as(w, viewer, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.mediaIds.0"), uuid_text(w->mem, ids[0]));
	assert_string_equal(text(w, r, "data.agenda.0.entryId"), secret);
	assert_int_equal(listed(w, viewer), 2);
	world_role(w, channel_id, viewer_id, NULL);
	world_role(w, w->channel_id, viewer_id, NULL);
	assert_int_equal(status(w, viewer, "GET", path, NULL), 404);
	assert_int_equal(listed(w, viewer), 0);
	assert_int_equal(status(w, w->token, "DELETE", path, NULL), 200);
	assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(ids[1]))), 0);
}

static void
what_is_gone_is_gone_from_it(void **state)
{
	struct world *w = *state;
	struct uuid ids[2] = { asset(w), asset(w) };
	const char *leads = entry(w, ids[0]), *author = world_member(w, "ViewChannel CreateContent", "Contributor",
	    NULL), *viewer = world_member(w, "ViewChannel", "Viewer", NULL), *path = make_as(w, author, about(w, ids,
	    2, leads, entry(w, ids[1]))), *gone = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, ids[0]));
	struct req *again = NEW(w->mem, struct req), *r;

	again->if_none_match = call_as(w, viewer, "GET", path, NULL)->etag;
	assert_int_equal(status(w, w->token, "DELETE", gone, NULL), 200);
	r = call_req(w, again, viewer, "GET", path, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.mediaIds.0"), uuid_text(w->mem, ids[1]));
	assert_null(text(w, r, "data.agenda.0.entryId"));
	assert_int_equal(status(w, w->token, "PUT", arena_printf(w->mem, "%s/recover", gone), NULL), 200);
	r = call_as(w, viewer, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.agenda.0.entryId"), leads);
	assert_int_equal(status(w, w->token, "DELETE", arena_printf(w->mem, "%s?permanent=true", gone), NULL), 200);
	r = call_as(w, author, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.mediaIds.0"), uuid_text(w->mem, ids[1]));
	assert_null(text(w, r, "data.mediaIds.1"));
	assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(ids[0]))), 0);
	assert_int_equal(status(w, w->token, "DELETE", arena_printf(w->mem, "/v2/media/%s?permanent=true",
	    uuid_text(w->mem, ids[1])), NULL), 200);
	assert_int_equal(status(w, viewer, "GET", path, NULL), 404);
	assert_int_equal(status(w, author, "GET", path, NULL), 200);
	assert_int_equal(status(w, author, "DELETE", path, NULL), 200);
}

static void
its_maker_and_super_admins_change_it_and_nobody_else(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w);
	const char *author = world_member(w, "ViewChannel CreateContent", "Contributor", NULL),
	    *owner = world_member(w, "ViewChannel CreateContent", "Channel Owner", NULL),
	    *path = make_as(w, author, about(w, &id, 1, entry(w, id), NULL));
	struct req *r;

	assert_int_equal(status(w, owner, "PATCH", path, "{\"name\":\"Mine\"}"), 403);
	assert_int_equal(status(w, owner, "DELETE", path, NULL), 403);
	assert_int_equal(status(w, world_other(w)->token, "DELETE", path, NULL), 404);
	r = call_as(w, author, "PATCH", path, "{\"name\":\"Council, second day\",\"location\":\"Town hall\"}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.mediaIds.0"), uuid_text(w->mem, id));
	assert_non_null(text(w, r, "data.agenda.0.entryId"));
	assert_int_equal(status(w, w->token, "PATCH", path, "{\"location\":null,\"mediaIds\":[]}"), 200);
	assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(id))), 0);
	r = call_as(w, author, "GET", path, NULL);
	assert_null(text(w, r, "data.mediaIds.0"));
	assert_null(text(w, r, "data.location"));
	assert_null(text(w, r, "data.agenda.0.entryId"));
	assert_int_equal(status(w, owner, "GET", path, NULL), 404);
	assert_int_equal(status(w, author, "DELETE", path, NULL), 200);
}

/* By few statements, however many there are. */
static void
lists_cost_the_same_with_more_in_them(void **state)
{
	struct world *w = *state;
	const char *viewer = world_member(w, "ViewChannel", "Viewer", NULL);
	struct uuid ids[3] = { asset(w), asset(w), asset(w) };
	int64_t before, few;
	int i;

	make_as(w, w->token, about(w, ids, 1, NULL, NULL));
	listed(w, viewer);
	before = world_statements(w);
	listed(w, viewer);
	few = world_statements(w) - before;
	for (i = 0; i < 20; i++)
		make_as(w, w->token, about(w, ids, 3, NULL, NULL));
	listed(w, viewer);
	before = world_statements(w);
	assert_int_equal(listed(w, viewer), 21);
	assert_int_equal(world_statements(w) - before, few);
}

static void
an_import_is_filled_by_a_job(void **state)
{
	static const char *const bad[] = { "ftp://oparl.example/m", "file:///etc/passwd", "//oparl.example",
	    "meeting", "http://me@oparl.example/m", "https://oparl.example:0/m", "https:///m" };
	static const char *const hosts[] = { INSIDE_HOSTS };
	struct world *w = *state;
	struct uuid media = asset(w), id, channel;
	const char *address, *viewer = world_member(w, "ViewChannel CreateContent", "Viewer", NULL);
	const char *owner = world_member(w, "ViewChannel CreateContent", "Channel Owner", NULL);
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "POST", "/v2/meetings/imports", arena_printf(w->mem, "{\"url\":\"%s\"}", bad[i]));
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "/url", "format"));
	}
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		if (inside_is_name(hosts[i]))
			continue;
		r = call(w, "POST", "/v2/meetings/imports", arena_printf(w->mem, "{\"url\":\"http://%s/m\"}",
		    hosts[i]));
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "/url", inside_code(hosts[i])));
	}
	r = call(w, "POST", "/v2/meetings/imports", arena_printf(w->mem,
	    "{\"url\":\"https://oparl.example/m/1\",\"mediaIds\":[\"%s\"]}", uuid_text(w->mem, uuid_new())));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/mediaIds/0", "not_found"));
	r = call_as(w, viewer, "POST", "/v2/meetings/imports", "{\"url\":\"https://oparl.example/m/1\"}");
	assert_int_equal(r->status, 403);
	r = call_as(w, owner, "POST", "/v2/meetings/imports", arena_printf(w->mem,
	    "{\"url\":\"https://oparl.example/m/1\",\"mediaIds\":[\"%s\"]}", uuid_text(w->mem, hidden_asset(w, &channel))));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/mediaIds/0", "not_found"));
	assert_int_equal(number(w, "FROM meetings WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'agenda' AND tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	r = call(w, "POST", "/v2/meetings/imports", arena_printf(w->mem,
	    "{\"url\":\"https://oparl.example/m/1\",\"mediaIds\":[\"%s\"]}", uuid_text(w->mem, media)));
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.status"), "calculating");
	assert_string_equal(text(w, r, "data.oparlUrl"), "https://oparl.example/m/1");
	assert_string_equal(text(w, r, "data.mediaIds.0"), uuid_text(w->mem, media));
	address = arena_printf(w->mem, "/v2/meetings/%s", text(w, r, "data.id"));
	assert_string_equal(r->location, address);
	assert_true(uuid_parse(text(w, r, "data.id"), &id));
	assert_int_equal(number(w, "FROM jobs j JOIN meetings m ON m.import_job_id = j.id WHERE j.kind = 'agenda' AND "
	    "j.state = 'ready' AND m.id = ? AND j.media_id IS NULL", ARGS(ID(id))), 1);
	r = call(w, "GET", "/v2/meetings", NULL);
	assert_string_equal(text(w, r, "data.0.status"), "calculating");
	assert_null(text(w, r, "data.0.error"));
	r = call(w, "PATCH", address, "{\"name\":\"Mine\"}");
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "calculating");
	db_run(w->db, "UPDATE jobs SET state = 'cancelled' WHERE kind = 'agenda' AND tenant_id = ?",
	    ARGS(ID(w->tenant_id)));
	r = call(w, "GET", address, NULL);
	assert_string_equal(text(w, r, "data.status"), "failed");
	assert_string_equal(text(w, r, "data.error"), "The import was cancelled.");
	assert_int_equal(call(w, "PATCH", address, "{\"name\":\"Mine\"}")->status, 200);
	db_run(w->db, "DELETE FROM jobs WHERE kind = 'agenda' AND tenant_id = ?", ARGS(ID(w->tenant_id)));
	r = call(w, "GET", address, NULL);
	assert_string_equal(text(w, r, "data.status"), "failed");
	assert_string_equal(text(w, r, "data.error"), "The import has failed.");
	r = call(w, "POST", "/v2/meetings", meeting(w, ""));
	assert_string_equal(text(w, r, "data.status"), "ready");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(bad_ones_are_refused_and_change_nothing),
		WORLD_TEST(there_are_limits),
		WORLD_TEST(what_its_writer_may_not_see_is_not_there),
		WORLD_TEST(hidden_assets_are_left_out_with_what_leads_into_them),
		WORLD_TEST(what_is_gone_is_gone_from_it),
		WORLD_TEST(its_maker_and_super_admins_change_it_and_nobody_else),
		WORLD_TEST(lists_cost_the_same_with_more_in_them),
		WORLD_TEST(an_import_is_filled_by_a_job),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
