/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stories: which graphs there may be, and what is told of them to those who see only some of their assets. */
#include <stdlib.h>
#include <string.h>

#include "core/role.h"
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

/* A scene; choices: "label>scene" or "scene", separated by blanks. */
static const char *
scene(struct world *w, const char *id, struct uuid media_id, const char *choices)
{
	struct buf b = BUF(w->mem);
	char *rest = arena_copy(w->mem, choices), *word, *to;
	const char *comma = "";

	buf_printf(&b, "{\"id\":\"%s\",\"mediaId\":\"%s\",\"start\":1,\"end\":2.5,\"title\":\"Scene %s\","
	    "\"choices\":[", id, uuid_text(w->mem, media_id), id);
	while ((word = strsep(&rest, " ")) != NULL) {
		if (*word == '\0')
			continue;
		to = strchr(word, '>');
		if (to == NULL)
			buf_printf(&b, "%s{\"sceneId\":\"%s\"}", comma, word);
		else
			buf_printf(&b, "%s{\"label\":\"%.*s\",\"sceneId\":\"%s\"}", comma, (int)(to - word), word,
			    to + 1);
		comma = ",";
	}
	buf_text(&b, "]}");
	return buf_string(&b);
}

static const char *
story(struct world *w, const char *kind, const char *scenes, const char *start)
{
	return arena_printf(w->mem, "{\"name\":\"A day\",\"kind\":\"%s\",\"scenes\":[%s],\"startSceneId\":\"%s\"}",
	    kind, scenes, start);
}

/* Its address. */
static const char *
make_as(struct world *w, const char *token, const char *body)
{
	struct req *r = call_as(w, token, "POST", "/v2/stories", body);

	if (r->status != 201)
		fail_msg("%.200s: %s", body, buf_string(&r->out));
	return arena_printf(w->mem, "/v2/stories/%s", text(w, r, "data.id"));
}

static int
status(struct world *w, const char *token, const char *method, const char *path, const char *body)
{
	return call_as(w, token, method, path, body)->status;
}

/* The graph as the caller is told it: "start: scene>scene scene>". */
static const char *
graph(struct world *w, const char *token, const char *path)
{
	struct req *r = call_as(w, token, "GET", path, NULL);
	struct buf b = BUF(w->mem);
	const char *id, *to;
	int i, k;

	if (r->status != 200)
		return arena_printf(w->mem, "%d", r->status);
	buf_printf(&b, "%s:", text(w, r, "data.startSceneId"));
	for (i = 0; (id = text(w, r, arena_printf(w->mem, "data.scenes.%d.id", i))) != NULL; i++) {
		buf_printf(&b, " %s%s", id, text(w, r, arena_printf(w->mem, "data.scenes.%d.isMissing", i)) != NULL ?
		    "!" : "");
		for (k = 0; (to = text(w, r, arena_printf(w->mem, "data.scenes.%d.choices.%d.sceneId", i, k))) != NULL;
		    k++)
			buf_printf(&b, ">%s", to);
	}
	return buf_string(&b);
}

static void
graphs_that_lead_nowhere_or_never_end_are_refused(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w);
#define SCENE(name, choices) scene(w, name, id, choices)
#define TWO(a, b) arena_printf(w->mem, "%s,%s", a, b)
	const struct { const char *kind, *scenes, *start, *pointer, *code; } bad[] = {
		{ "static", "", "a", "/scenes", "too_few" },
		{ "linear", SCENE("a", ""), "a", "/kind", "not_allowed" },
		{ "static", SCENE("a", ""), "b", "/startSceneId", "not_found" },
		{ "static", SCENE("", ""), "a", "/scenes/0/id", "too_short" },
		{ "static", TWO(SCENE("a", ""), SCENE("a", "")), "a", "/scenes/1/id", "duplicate" },
		{ "static", SCENE("a", "b"), "a", "/scenes/0/choices/0/sceneId", "not_found" },
		{ "interactive", SCENE("a", "On>b"), "a", "/scenes/0/choices/0/sceneId", "not_found" },
		{ "static", SCENE("a", "a"), "a", "/scenes/0/choices", "not_allowed" },
		{ "static", TWO(SCENE("a", "b"), SCENE("b", "a")), "a", "/scenes/1/choices", "not_allowed" },
		{ "static", arena_printf(w->mem, "%s,%s,%s", SCENE("a", ""), SCENE("b", "c"), SCENE("c", "b")), "a",
		    "/scenes/2/choices", "not_allowed" },
		{ "static", TWO(SCENE("a", "b b"), SCENE("b", "")), "a", "/scenes/0/choices", "too_many" },
		{ "interactive", SCENE("a", "a"), "a", "/scenes/0/choices/0/label", "required" },
	};
	const char *loop = make_as(w, w->token, story(w, "interactive", TWO(SCENE("a", "On>b Again>a"), SCENE("b",
	    "Back>a")), "b"));
	struct req *r;
	size_t i;

	assert_string_equal(graph(w, w->token, loop), "b: a>b>a b>a");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "POST", "/v2/stories", story(w, bad[i].kind, bad[i].scenes, bad[i].start));
		if (r->status != 422 || !has_fault(r, bad[i].pointer, bad[i].code))
			fail_msg("%zu, %s: %s", i, bad[i].pointer, buf_string(&r->out));
		r = call(w, "PUT", loop, story(w, bad[i].kind, bad[i].scenes, bad[i].start));
		assert_int_equal(r->status, 422);
	}
	assert_int_equal(number(w, "FROM stories WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
	assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(id))), 1);
	assert_string_equal(graph(w, w->token, loop), "b: a>b>a b>a");
}

static const char *
many_scenes(struct world *w, struct uuid id, int n)
{
	struct buf b = BUF(w->mem);
	int i;

	for (i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "", scene(w, arena_printf(w->mem, "s%d", i), id, i + 1 < n ?
		    arena_printf(w->mem, "s%d", i + 1) : ""));
	return buf_string(&b);
}

static void
there_are_limits(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w);
	struct req *r = call(w, "POST", "/v2/stories", story(w, "static", many_scenes(w, id, 201), "s0"));
	int i;

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/scenes", "too_many"));
	make_as(w, w->token, story(w, "static", many_scenes(w, id, 200), "s0"));
	r = call(w, "POST", "/v2/stories", story(w, "interactive", scene(w, "a", id, "1>a 2>a 3>a 4>a 5>a 6>a 7>a 8>a "
	    "9>a 10>a 11>a 12>a 13>a 14>a 15>a 16>a 17>a 18>a 19>a 20>a 21>a"), "a"));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/scenes/0/choices", "too_many"));
	for (i = 0; i < 10; i++)
		db_run(w->db, "INSERT INTO stories (id, tenant_id, principal_id, name, kind, scenes, start_scene_id, "
		    "created_at, updated_at) SELECT UNHEX(REPLACE(UUID(), '-', '')), tenant_id, principal_id, name, "
		    "kind, '[]', 'a', 1, 1 FROM stories WHERE tenant_id = ? LIMIT ?", ARGS(ID(w->tenant_id), INT(999 -
		    number(w, "FROM stories WHERE tenant_id = ?", ARGS(ID(w->tenant_id))))));
	assert_int_equal(number(w, "FROM stories WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 999);
	make_as(w, w->token, story(w, "static", scene(w, "a", id, ""), "a"));
	assert_int_equal(status(w, w->token, "POST", "/v2/stories", story(w, "static", scene(w, "a", id, ""), "a")),
	    409);
}

static const char *
one(struct world *w, struct uuid media_id, const char *members)
{
	return story(w, "static", arena_printf(w->mem, "{\"id\":\"a\",\"mediaId\":\"%s\",%s}", uuid_text(w->mem,
	    media_id), members), "a");
}

static void
a_scene_is_a_stretch_of_its_asset_or_of_a_section_there(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w), other = asset(w), still = world_media(w, "image", "Cat");
	const char *of = arena_printf(w->mem, "/v2/media/%s/sections", uuid_text(w->mem, id)),
	    *range = text(w, call(w, "POST", of, "{\"type\":\"timerange\",\"start\":3,\"end\":7}"), "data.id"),
	    *marker = text(w, call(w, "POST", of, "{\"type\":\"marker\",\"time\":3}"), "data.id"), *path;
	const struct { struct uuid media_id; const char *members, *pointer, *code; } bad[] = {
		{ id, "\"end\":2", "/scenes/0/start", "required" },
		{ id, "\"start\":2", "/scenes/0/end", "required" },
		{ id, "\"start\":2,\"end\":2", "/scenes/0/end", "too_small" },
		{ id, "\"start\":2,\"end\":60.001", "/scenes/0/end", "too_large" },
		{ still, "\"start\":0,\"end\":1", "/scenes/0/mediaId", "not_allowed" },
		{ id, "\"start\":0,\"end\":1,\"isMissing\":false", "/scenes/0/isMissing", "read_only" },
		{ other, arena_printf(w->mem, "\"sectionId\":\"%s\"", range), "/scenes/0/sectionId", "not_found" },
		{ id, arena_printf(w->mem, "\"sectionId\":\"%s\"", uuid_text(w->mem, uuid_new())),
		    "/scenes/0/sectionId", "not_found" },
		{ id, arena_printf(w->mem, "\"sectionId\":\"%s\",\"end\":9", marker), "/scenes/0/start", "required" },
	};
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "POST", "/v2/stories", one(w, bad[i].media_id, bad[i].members));
		if (r->status != 422 || !has_fault(r, bad[i].pointer, bad[i].code))
			fail_msg("%zu, %s: %s", i, bad[i].pointer, buf_string(&r->out));
	}
	path = make_as(w, w->token, one(w, id, arena_printf(w->mem, "\"sectionId\":\"%s\"", range)));
	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.scenes.0.start"), "3.000");
	assert_string_equal(text(w, r, "data.scenes.0.end"), "7.000");
	assert_string_equal(text(w, r, "data.scenes.0.sectionId"), range);
	assert_int_equal(status(w, w->token, "DELETE", arena_printf(w->mem, "%s/%s", of, range), NULL), 200);
	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.scenes.0.start"), "3.000");
	assert_null(text(w, r, "data.scenes.0.sectionId"));
}

/* As for one that is not there, in the same words. */
static void
what_its_writer_may_not_see_is_not_there(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid channel_id, gone = asset(w), ids[4] = { uuid_new(), hidden_asset(w, &channel_id), asset(other),
	    gone };
	const char *author = world_member(w, "ViewChannel CreateContent", "Contributor", NULL),
	    *good = story(w, "static", scene(w, "a", asset(w), ""), "a"), *own = make_as(w, author, good),
	    *nothing = NULL;
	size_t i;

	assert_int_equal(status(w, w->token, "DELETE", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, gone)),
	    NULL), 200);
	for (i = 0; i < 4; i++) {
		struct req *r = call_as(w, author, "POST", "/v2/stories", story(w, "static", scene(w, "a", ids[i],
		    ""), "a"));

		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "/scenes/0/mediaId", "not_found"));
		assert_int_equal(r->faults.n, 1);
		if (nothing == NULL)
			nothing = text(w, r, "data.errors.0.detail");
		assert_string_equal(text(w, r, "data.errors.0.detail"), nothing);
		assert_int_equal(status(w, author, "PUT", own, story(w, "static", scene(w, "a", ids[i], ""), "a")),
		    422);
		if (i != 1)
			assert_int_equal(status(w, w->token, "POST", "/v2/stories", story(w, "static", scene(w, "a",
			    ids[i], ""), "a")), 422);
		assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(ids[i]))), 0);
	}
	assert_int_equal(status(w, author, "PUT", own, good), 200);
}

static int
listed(struct world *w, const char *token)
{
	struct req *r = call_as(w, token, "GET", "/v2/stories?perpage=50", NULL);
	int n = 0;

	assert_int_equal(r->status, 200);
	while (text(w, r, arena_printf(w->mem, "data.%d.id", n)) != NULL)
		n++;
	assert_int_equal(atoi(text(w, r, "pagination.total")), n);
	return n;
}

/* The scenes of others' assets go, with all that leads to them; the rest holds together. */
static void
hidden_scenes_are_left_out_and_what_is_left_holds_together(void **state)
{
	struct world *w = *state;
	struct uuid channel_id, shown = asset(w), hidden = hidden_asset(w, &channel_id), viewer_id;
	const char *viewer = world_member(w, "ViewChannel", "Viewer", &viewer_id),
	    *line = make_as(w, w->token, story(w, "static", arena_printf(w->mem, "%s,%s,%s,%s", scene(w, "a", hidden,
	    "one>b"), scene(w, "b", shown, "two>c"), scene(w, "c", hidden, "three>d"), scene(w, "d", shown, "")), "a")),
	    *tree = make_as(w, w->token, story(w, "interactive", arena_printf(w->mem, "%s,%s,%s", scene(w, "a", hidden,
	    "Go>b"), scene(w, "b", shown, "Secret>a Stay>b On>c"), scene(w, "c", shown, "Secret>a")), "a")),
	    *secret = make_as(w, w->token, story(w, "static", scene(w, "a", hidden, ""), "a"));
	struct req *r;

	assert_string_equal(graph(w, w->token, line), "a: a>b b>c c>d d");
	assert_string_equal(graph(w, viewer, line), "b: b>d d");
	assert_string_equal(graph(w, w->token, tree), "a: a>b b>a>b>c c>a");
	assert_string_equal(graph(w, viewer, tree), "b: b>b>c c");
	assert_string_equal(graph(w, viewer, secret), "404");
	assert_int_equal(listed(w, viewer), 2);
	assert_int_equal(listed(w, w->token), 3);
	r = call_as(w, viewer, "GET", line, NULL);
	assert_string_equal(text(w, r, "data.scenes.0.choices.0.label"), "three");
	assert_null(strstr(buf_string(&r->out), uuid_text(w->mem, hidden)));
	assert_null(strstr(buf_string(&r->out), "Scene a"));
	r = call_as(w, viewer, "GET", tree, NULL);
	assert_null(strstr(buf_string(&r->out), "Secret"));
	world_role(w, channel_id, viewer_id, "Viewer");
	assert_string_equal(graph(w, viewer, line), "a: a>b b>c c>d d");
	assert_string_equal(graph(w, viewer, secret), "a: a");
	assert_int_equal(listed(w, viewer), 3);
	world_role(w, channel_id, viewer_id, NULL);
	world_role(w, w->channel_id, viewer_id, NULL);
	assert_string_equal(graph(w, viewer, line), "404");
	assert_int_equal(listed(w, viewer), 0);
}

/* Who mends a story need not take out what has gone; but nothing that has gone comes into one. */
static void
what_is_missing_stays_as_it_is_when_a_story_is_put_again(void **state)
{
	struct world *w = *state;
	struct uuid stays = asset(w), goes = asset(w);
	const char *author = world_member(w, "ViewChannel CreateContent", "Contributor", NULL),
	    *scenes = arena_printf(w->mem, "%s,%s", scene(w, "a", goes, "b"), scene(w, "b", stays, "")),
	    *path = make_as(w, author, story(w, "static", scenes, "a"));
	struct req *r;

	assert_int_equal(status(w, w->token, "DELETE", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, goes)),
	    NULL), 200);
	r = call_as(w, author, "PUT", path, story(w, "interactive", arena_printf(w->mem, "%s,%s", scene(w, "a", goes,
	    "Go>b"), scene(w, "b", stays, "")), "b"));
	assert_int_equal(r->status, 200);
	assert_string_equal(graph(w, author, path), "b: a!>b b");
	r = call_as(w, author, "PUT", path, story(w, "static", arena_printf(w->mem, "%s,%s", scene(w, "c", goes, "b"),
	    scene(w, "b", stays, "")), "c"));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/scenes/0/mediaId", "not_found"));
	assert_string_equal(graph(w, author, path), "b: a!>b b");
}

/* Its maker, who has named it, is told that something is missing, but not why. */
static void
what_is_gone_is_missing_for_those_who_may_mend_it(void **state)
{
	struct world *w = *state;
	struct uuid stays = asset(w), goes = asset(w), author_id;
	const char *author = world_member(w, "ViewChannel CreateContent", "Contributor", &author_id),
	    *viewer = world_member(w, "ViewChannel", "Viewer", NULL), *gone = arena_printf(w->mem, "/v2/media/%s",
	    uuid_text(w->mem, goes)), *path = make_as(w, author, story(w, "static", arena_printf(w->mem, "%s,%s",
	    scene(w, "a", goes, "b"), scene(w, "b", stays, "")), "a"));
	const char *alone = make_as(w, w->token, story(w, "static", scene(w, "a", goes, ""), "a")), *soft;
	struct req *r = call_as(w, viewer, "GET", path, NULL), *again = NEW(w->mem, struct req);

	assert_int_equal(r->status, 200);
	assert_int_equal(listed(w, viewer), 2);
	again->if_none_match = r->etag;
	assert_int_equal(status(w, w->token, "DELETE", gone, NULL), 200);
	assert_int_equal(call_req(w, again, viewer, "GET", path, NULL)->status, 200);
	assert_string_equal(graph(w, viewer, path), "b: b");
	assert_string_equal(graph(w, author, path), "a: a!>b b");
	assert_string_equal(graph(w, viewer, alone), "404");
	assert_int_equal(listed(w, viewer), 1);
	soft = buf_string(&call_as(w, author, "GET", path, NULL)->out);
	assert_int_equal(status(w, w->token, "DELETE", arena_printf(w->mem, "%s?permanent=true", gone), NULL), 200);
	assert_string_equal(graph(w, viewer, path), "b: b");
	r = call_as(w, author, "GET", path, NULL);
	assert_int_equal(strlen(soft), strlen(buf_string(&r->out)));
	assert_string_equal(graph(w, author, path), "a: a!>b b");
	assert_string_equal(graph(w, w->token, path), "a: a!>b b");
	assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(goes))), 0);
	world_role(w, w->channel_id, author_id, NULL);
	assert_string_equal(graph(w, author, path), "a: a!>b b!");
	assert_int_equal(listed(w, author), 1);
	assert_int_equal(status(w, author, "DELETE", path, NULL), 403);
	assert_int_equal(status(w, w->token, "DELETE", path, NULL), 200);
	assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(stays))), 0);
}

static void
its_maker_and_super_admins_change_it_and_nobody_else(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w);
	const char *author = world_member(w, "ViewChannel CreateContent", "Contributor", NULL),
	    *owner = world_member(w, "ViewChannel CreateContent", "Channel Owner", NULL),
	    *body = story(w, "static", scene(w, "b", id, ""), "b"), *path = make_as(w, author, story(w, "static",
	    scene(w, "a", id, ""), "a"));
	int64_t events = number(w, "FROM events WHERE is_audit = 1 AND tenant_id = ?", ARGS(ID(w->tenant_id)));
	struct req *r = NEW(w->mem, struct req);

	assert_int_equal(status(w, owner, "PUT", path, body), 403);
	assert_int_equal(status(w, owner, "DELETE", path, NULL), 403);
	assert_int_equal(status(w, world_other(w)->token, "PUT", path, body), 404);
	r->if_match = call_as(w, author, "GET", path, NULL)->etag;
	assert_int_equal(call_req(w, r, author, "PUT", path, body)->status, 200);
	assert_string_equal(graph(w, owner, path), "b: b");
	r = NEW(w->mem, struct req);
	r->if_match = "\"1\"";
	assert_int_equal(call_req(w, r, author, "PUT", path, body)->status, 412);
	assert_int_equal(status(w, w->token, "PUT", path, body), 200);
	assert_int_equal(number(w, "FROM events WHERE is_audit = 1 AND tenant_id = ?", ARGS(ID(w->tenant_id))),
	    events + 1);
	assert_int_equal(number(w, "FROM stories WHERE version = 2 AND tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
}

/* By few statements, however many there are. */
static void
lists_and_stories_cost_the_same_with_more_in_them(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w);
	const char *viewer = world_member(w, "ViewChannel", "Viewer", NULL), *path = make_as(w, w->token, story(w,
	    "static", scene(w, "a", id, ""), "a")), *large;
	int64_t before, few, many;
	int i;

	listed(w, viewer);
	before = world_statements(w);
	listed(w, viewer);
	few = world_statements(w) - before;
	for (i = 0; i < 10; i++)
		make_as(w, w->token, story(w, "static", scene(w, "a", asset(w), ""), "a"));
	listed(w, viewer);
	before = world_statements(w);
	assert_int_equal(listed(w, viewer), 11);
	assert_int_equal(world_statements(w) - before, few);
	large = make_as(w, w->token, story(w, "static", many_scenes(w, id, 100), "s0"));
	graph(w, viewer, path);
	before = world_statements(w);
	call_as(w, viewer, "GET", path, NULL);
	few = world_statements(w) - before;
	before = world_statements(w);
	call_as(w, viewer, "GET", large, NULL);
	many = world_statements(w) - before;
	assert_int_equal(many, few);
}

static struct req *
page(struct world *w, const char *path)
{
	return call_as(w, NULL, "GET", arena_printf(w->mem, "/watch%s", path + strlen("/v2")), NULL);
}

/* What is told of the scenes on it, for web/story.js. */
static const char *
told(struct world *w, const struct req *r)
{
	static const char before[] = "id=\"story\">";
	const char *at = r->status == 200 ? strstr(r->out.text, before) : NULL;

	return at != NULL ? arena_copy_n(w->mem, at + sizeof(before) - 1, strcspn(at, "\n") - sizeof(before) + 1) :
	    arena_printf(w->mem, "%d", r->status);
}

static bool
says(const struct req *r, const char *what)
{
	return strstr(r->out.text, what) != NULL;
}

static void
its_page_has_the_scenes_that_anybody_may_watch(void **state)
{
	struct world *w = *state;
	struct uuid channel_id, shown = asset(w), hidden = hidden_asset(w, &channel_id);
	const char *line = make_as(w, w->token, story(w, "static", arena_printf(w->mem, "%s,%s,%s,%s", scene(w, "a",
	    hidden, "one>b"), scene(w, "b", shown, "two>c"), scene(w, "c", hidden, "three>&d"), scene(w, "&d", shown,
	    "")), "a"));
	const char *tree = make_as(w, w->token, story(w, "interactive", arena_printf(w->mem, "%s,%s,%s", scene(w, "a",
	    hidden, "Go>b"), scene(w, "b", shown, "Secret>a Stay>b <i>c"), scene(w, "c", shown, "Secret>a")), "a"));
	const char *secret = make_as(w, w->token, story(w, "static", scene(w, "a", hidden, ""), "a"));
	const char *back = make_as(w, w->token, story(w, "static", arena_printf(w->mem, "%s,%s,%s", scene(w, "x", shown,
	    ""), scene(w, "last", shown, ""), scene(w, "first", shown, "last")), "first"));
	struct req *r;

	assert_int_equal(page(w, line)->status, 404);
	db_run(w->db, "UPDATE channels SET visibility = 'shared' WHERE id = ?", ARGS(ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);

	r = page(w, line);
	assert_int_equal(r->status, 200);
	assert_true(says(r, "<h1 id=\"title\" tabindex=\"-1\" dir=\"auto\">A day</h1>"));
	assert_true(says(r, arena_printf(w->mem, "href=\"/watch/%s#t=1.000,2.500\"", uuid_text(w->mem, shown))));
	assert_true(says(r, "Scene &amp;d"));
	assert_false(says(r, "Scene a") || says(r, "Scene c") || says(r, uuid_text(w->mem, hidden)));
	assert_true(says(r, "name=\"robots\" content=\"noindex\""));
	assert_non_null(strstr(told(w, r), "\"start\":1,"));
	assert_non_null(strstr(told(w, r), "\"choices\":[{\"label\":\"three\",\"scene\":2}]"));

	r = page(w, tree);
	assert_true(says(r, "<a href=\"#scene-1\" dir=\"auto\">Stay</a>"));
	assert_true(says(r, "<a href=\"#scene-2\" dir=\"auto\">&lt;i</a>"));
	assert_false(says(r, "Secret"));
	assert_string_equal(told(w, page(w, secret)), "404");
	r = page(w, back);
	assert_true(strstr(r->out.text, "Scene first") < strstr(r->out.text, "Scene last"));
	assert_true(strstr(r->out.text, "Scene last") < strstr(r->out.text, "Scene x"));
	assert_non_null(strstr(told(w, r), "\"start\":1,"));
	assert_string_equal(told(w, page(w, "/v2/stories/01900000-0000-7000-8000-000000000000")), "404");

	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(shown)));
	assert_string_equal(told(w, page(w, line)), "404");
}

static void
its_page_is_found_by_search_engines_where_all_of_it_is_on_the_portal(void **state)
{
	struct world *w = *state;
	struct uuid channel_id, shown = asset(w), other = hidden_asset(w, &channel_id);
	const char *path = make_as(w, w->token, story(w, "static", arena_printf(w->mem, "%s,%s", scene(w, "a", shown,
	    "b"), scene(w, "b", other, "")), "a"));

	db_run(w->db, "UPDATE tenants SET portal_enabled = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	db_run(w->db, "UPDATE channels SET visibility = 'public' WHERE id = ?", ARGS(ID(w->channel_id)));
	assert_false(says(page(w, path), "noindex"));
	db_run(w->db, "UPDATE channels SET visibility = 'shared' WHERE id = ?", ARGS(ID(channel_id)));
	assert_true(says(page(w, path), "noindex"));
	db_run(w->db, "UPDATE channels SET visibility = 'public' WHERE id = ?", ARGS(ID(channel_id)));
	assert_false(says(page(w, path), "noindex"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(graphs_that_lead_nowhere_or_never_end_are_refused),
		WORLD_TEST(there_are_limits),
		WORLD_TEST(a_scene_is_a_stretch_of_its_asset_or_of_a_section_there),
		WORLD_TEST(what_its_writer_may_not_see_is_not_there),
		WORLD_TEST(hidden_scenes_are_left_out_and_what_is_left_holds_together),
		WORLD_TEST(its_page_has_the_scenes_that_anybody_may_watch),
		WORLD_TEST(its_page_is_found_by_search_engines_where_all_of_it_is_on_the_portal),
		WORLD_TEST(what_is_missing_stays_as_it_is_when_a_story_is_put_again),
		WORLD_TEST(what_is_gone_is_missing_for_those_who_may_mend_it),
		WORLD_TEST(its_maker_and_super_admins_change_it_and_nobody_else),
		WORLD_TEST(lists_and_stories_cost_the_same_with_more_in_them),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
