/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sections: points and stretches of time in an asset. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/section.h"
#include "tests/world.h"

static const char *
sections_of(struct world *w, const char *type)
{
	struct uuid id = world_media(w, type, "Council");

	db_run(w->db, "UPDATE media SET duration = ? WHERE id = ?", ARGS(INT(60000), ID(id)));
	return arena_printf(w->mem, "/v2/media/%s/sections", uuid_text(w->mem, id));
}

static const char *
make(struct world *w, const char *of, const char *body)
{
	struct req *r = call(w, "POST", of, body);

	if (r->status != 201)
		fail_msg("%s: %s", body, buf_string(&r->out));
	return arena_printf(w->mem, "%s/%s", of, text(w, r, "data.id"));
}

static void
a_section_lies_inside_of_its_asset_and_has_what_its_type_wants(void **state)
{
	static const struct { const char *body, *pointer, *code; } bad[] = {
		{ "{\"type\":\"marker\"}", "/time", "required" },
		{ "{\"type\":\"marker\",\"time\":null}", "/time", "required" },
		{ "{\"type\":\"marker\",\"time\":60.001}", "/time", "too_large" },
		{ "{\"type\":\"marker\",\"time\":-0.001}", "/time", "too_small" },
		{ "{\"type\":\"marker\",\"time\":1e300}", "/time", "too_large" },
		{ "{\"type\":\"marker\",\"time\":\"1\"}", "/time", "type" },
		{ "{\"type\":\"marker\",\"time\":1,\"start\":1}", "/start", "not_allowed" },
		{ "{\"type\":\"timerange\",\"start\":1}", "/end", "required" },
		{ "{\"type\":\"timerange\",\"end\":1}", "/start", "required" },
		{ "{\"type\":\"timerange\",\"start\":2,\"end\":1}", "/end", "too_small" },
		{ "{\"type\":\"timerange\",\"start\":2,\"end\":2}", "/end", "too_small" },
		{ "{\"type\":\"timerange\",\"start\":2,\"end\":60.5}", "/end", "too_large" },
		{ "{\"type\":\"timerange\",\"start\":2,\"end\":3,\"time\":2}", "/time", "not_allowed" },
		{ "{\"type\":\"clip\",\"time\":1}", "/type", "not_allowed" },
		{ "{\"time\":1}", "/type", "required" },
		{ "{\"type\":\"marker\",\"time\":1,\"chapterId\":\"019a0000-0000-7000-8000-000000000000\"}",
		    "/chapterId", "not_found" },
		{ "{\"type\":\"marker\",\"time\":1,\"entryId\":null}", "/entryId", "read_only" },
		{ "{\"type\":\"marker\",\"time\":1,\"position\":1}", "/position", "read_only" },
	};
	struct world *w = *state;
	const char *of = sections_of(w, "audio");
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "POST", of, bad[i].body);
		if (r->status != 422 || !has_fault(r, bad[i].pointer, bad[i].code))
			fail_msg("%s: %s", bad[i].body, buf_string(&r->out));
	}
	r = call(w, "POST", of, "{\"type\":\"marker\",\"time\":1e300}");
	assert_string_equal(text(w, r, "data.errors.0.detail"), "at most 9007199254740 seconds");
	assert_int_equal(call(w, "POST", of, "{\"type\":\"marker\",\"time\":NaN}")->status, 400);
	assert_string_equal(text(w, call(w, "GET", of, NULL), "pagination.total"), "0");
	make(w, of, "{\"type\":\"marker\",\"time\":60}");
	make(w, of, "{\"type\":\"timerange\",\"start\":0,\"end\":60}");
}

static void
what_does_not_play_has_no_sections(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", arena_printf(w->mem, "/v2/media/%s/sections", uuid_text(w->mem, world_media(w,
	    "image", "Cat"))), "{\"type\":\"marker\",\"time\":0}");

	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "no_duration");
}

static void
another_type_wants_its_own_members_and_drops_the_others(void **state)
{
	struct world *w = *state;
	const char *s = make(w, sections_of(w, "video"), "{\"type\":\"marker\",\"time\":5,\"title\":\"Vote\"}");
	struct req *r;

	r = call(w, "PATCH", s, "{\"type\":\"timerange\"}");
	assert_true(has_fault(r, "/start", "required"));
	r = call(w, "PATCH", s, "{\"type\":\"timerange\",\"start\":1,\"end\":2.5,\"time\":1}");
	assert_true(has_fault(r, "/time", "not_allowed"));
	r = call(w, "PATCH", s, "{\"type\":\"timerange\",\"start\":1,\"end\":2.5}");
	assert_int_equal(r->status, 201);
	assert_null(text(w, r, "data.time"));
	assert_string_equal(text(w, r, "data.end"), "2.500");
	assert_string_equal(text(w, r, "data.position"), "1.000");
	assert_string_equal(text(w, r, "data.title"), "Vote");
	r = call(w, "PATCH", s, "{\"end\":0.5}");
	assert_true(has_fault(r, "/end", "too_small"));
	r = call(w, "PATCH", s, "{\"type\":\"marker\",\"time\":0}");
	assert_string_equal(text(w, r, "data.time"), "0.000");
	assert_null(text(w, r, "data.start"));
	r = call(w, "PATCH", s, "{\"time\":null}");
	assert_true(has_fault(r, "/time", "required"));
}

static void
what_says_the_same_is_no_change(void **state)
{
	struct world *w = *state;
	const char *s = make(w, sections_of(w, "video"), "{\"type\":\"marker\",\"time\":5}"), *etag;
	int64_t events = number(w, "FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));

	etag = call(w, "GET", s, NULL)->etag;
	assert_int_equal(call(w, "PATCH", s, "{\"type\":\"marker\",\"time\":5.0001}")->status, 201);
	assert_string_equal(call(w, "GET", s, NULL)->etag, etag);
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), events);
}

static void
a_split_leaves_no_gap_and_keeps_the_type_of_the_rest(void **state)
{
	struct world *w = *state;
	const char *of = sections_of(w, "video"), *s = make(w, of,
	    "{\"type\":\"timerange\",\"start\":1,\"end\":9,\"title\":"
	    "\"Vote\"}"), *m = make(w, of, "{\"type\":\"marker\",\"time\":5}");
	static const struct { const char *at, *code; bool marker; } bad[] = {
		{ "1", "too_small" }, { "0.5", "too_small" }, { "9", "too_large" }, { "10", "too_large" },
		{ "5", "too_small", true }, { "60.001", "too_large", true },
	};
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "POST", arena_printf(w->mem, "%s/split", bad[i].marker ? m : s), arena_printf(w->mem,
		    "{\"splitAt\":%s}", bad[i].at));
		if (r->status != 422 || !has_fault(r, "/splitAt", bad[i].code))
			fail_msg("%s: %s", bad[i].at, buf_string(&r->out));
	}
	r = call(w, "POST", arena_printf(w->mem, "%s/split", s), "{\"splitAt\":4.25}");
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.updated.start"), "1.000");
	assert_string_equal(text(w, r, "data.updated.end"), "4.250");
	assert_string_equal(text(w, r, "data.updated.title"), "Vote");
	assert_string_equal(text(w, r, "data.created.start"), "4.250");
	assert_string_equal(strrchr(r->location, '/') + 1, text(w, r, "data.created.id"));
	assert_int_equal(call(w, "GET", r->location, NULL)->status, 200);
	assert_string_equal(text(w, r, "data.created.end"), "9.000");
	assert_string_equal(text(w, r, "data.created.title"), "Vote");
	r = call(w, "POST", arena_printf(w->mem, "%s/split", m), "{\"splitAt\":60}");
	assert_string_equal(text(w, r, "data.updated.type"), "timerange");
	assert_string_equal(text(w, r, "data.updated.start"), "5.000");
	assert_string_equal(text(w, r, "data.updated.end"), "60.000");
	assert_null(text(w, r, "data.updated.time"));
	assert_string_equal(text(w, r, "data.created.type"), "marker");
	assert_string_equal(text(w, r, "data.created.time"), "60.000");
	assert_string_equal(text(w, call(w, "GET", of, NULL), "pagination.total"), "4");
}

/* The entry goes on leading to the first half. */
static void
a_linked_section_is_split_and_stays_linked(void **state)
{
	struct world *w = *state;
	struct made made = world_object(w, &entry_section_object);
	const char *of = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, made.ids[0])), *s = arena_printf(w->mem,
	    "%s/sections/%s", of, uuid_text(w->mem, made.ids[3])), *link = arena_printf(w->mem,
	    "%s/chapters/%s/entries/%s/sections/%s", of, uuid_text(w->mem, made.ids[1]), uuid_text(w->mem, made.ids[2]),
	    uuid_text(w->mem, made.ids[3]));
	struct req *r;

	assert_int_equal(call(w, "PUT", link, NULL)->status, 201);
	r = call(w, "POST", arena_printf(w->mem, "%s/split", s), "{\"splitAt\":1.5}");
	assert_string_equal(text(w, r, "data.updated.entryId"), uuid_text(w->mem, made.ids[2]));
	assert_null(text(w, r, "data.created.entryId"));
	assert_string_equal(text(w, r, "data.created.chapterId"), uuid_text(w->mem, made.ids[1]));
	r = call(w, "PATCH", s, "{\"chapterId\":null}");
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "section_linked");
}

static void
the_list_is_by_position_and_holds_what_it_is_asked_for(void **state)
{
	static const struct { const char *query; int own, of_chapter, linked, of_other; } cases[] = {
		{ "", 1, 0, 0, 0 }, { "?includeLinked=true", 1, 0, 0, 0 },
		{ "?chapterId=%s", 0, 1, 0, 0 }, { "?chapterId=%s&includeLinked=true", 0, 1, 1, 0 },
		{ "?includeAllChapterSections=true", 1, 1, 0, 1 },
		{ "?includeAllChapterSections=true&includeLinked=true", 1, 1, 1, 1 },
	};
	struct world *w = *state;
	struct made made = world_object(w, &entry_section_object);
	const char *base = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, made.ids[0])),
	    *of = arena_printf(w->mem,
	    "%s/sections", base), *chapter = uuid_text(w->mem, made.ids[1]), *other = text(w, call(w, "POST",
	    arena_printf(w->mem, "%s/chapters", base), "{\"name\":\"Other\"}"), "data.id");
	struct req *r;
	size_t i;

	assert_string_equal(text(w, call(w, "GET", arena_printf(w->mem, "%s/%s", of, uuid_text(w->mem, made.ids[3])),
	    NULL),
	    "data.entryId"), uuid_text(w->mem, made.ids[2]));
	make(w, of, arena_printf(w->mem, "{\"type\":\"marker\",\"time\":50,\"chapterId\":\"%s\"}", chapter));
	make(w, of, arena_printf(w->mem, "{\"type\":\"marker\",\"time\":40,\"chapterId\":\"%s\"}", other));
	make(w, of, "{\"type\":\"timerange\",\"start\":30,\"end\":31}");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *query = strstr(cases[i].query, "%s") == NULL ? cases[i].query : arena_printf(w->mem,
		    "?chapterId=%s%s", chapter, cases[i].query + strlen("?chapterId=%s"));
		const char *at = query;

		r = call(w, "GET", arena_printf(w->mem, "%s%s", of, at), NULL);
		assert_int_equal(strtol(text(w, r, "pagination.total"), NULL, 10), cases[i].own + cases[i].of_chapter +
		    cases[i].linked + cases[i].of_other);
		assert_int_equal(strstr(buf_string(&r->out), "\"position\":30.000") != NULL, cases[i].own);
		assert_int_equal(strstr(buf_string(&r->out), "\"position\":50.000") != NULL, cases[i].of_chapter);
		assert_int_equal(strstr(buf_string(&r->out), "\"position\":1.000") != NULL, cases[i].linked);
		assert_int_equal(strstr(buf_string(&r->out), "\"position\":40.000") != NULL, cases[i].of_other);
	}
	for (i = 0; i < 4; i++) {
		static const char *const positions[] = { "1.000", "30.000", "40.000", "50.000" };

		assert_string_equal(text(w, r, arena_printf(w->mem, "data.%zu.position", i)), positions[i]);
	}
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "%s?chapterId=%s", of, uuid_text(w->mem, uuid_new())),
	    NULL)->status, 404);
	r = call(w, "GET", arena_printf(w->mem, "%s?includeAllChapterSections=true&sort=position:desc&perpage=1", of),
	    NULL);
	assert_string_equal(text(w, r, "data.0.position"), "50.000");
}

static void
an_asset_has_so_many_sections_and_no_more(void **state)
{
	struct world *w = *state;
	const char *of = sections_of(w, "video"), *s = make(w, of, "{\"type\":\"marker\",\"time\":0}");
	struct req *r;
	int64_t n;

	for (n = 1; n < SECTIONS_MAX; n *= 2)
		db_run(w->db, "INSERT INTO sections (id, media_id, type, time, created_at, updated_at) SELECT "
		    "UNHEX(REPLACE(UUID(), '-', '')), media_id, type, time, 1, 1 FROM sections WHERE media_id IN "
		    "(SELECT id FROM "
		    "media WHERE tenant_id = ?) LIMIT ?", ARGS(ID(w->tenant_id), INT(n * 2 <= SECTIONS_MAX ? n :
		    SECTIONS_MAX - n)));
	r = call(w, "POST", of, "{\"type\":\"marker\",\"time\":0}");
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "too_many_sections");
	assert_int_equal(call(w, "POST", arena_printf(w->mem, "%s/split", s), "{\"splitAt\":1}")->status, 409);
	assert_int_equal(call(w, "DELETE", s, NULL)->status, 200);
	make(w, of, "{\"type\":\"marker\",\"time\":0}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_section_lies_inside_of_its_asset_and_has_what_its_type_wants),
		WORLD_TEST(what_does_not_play_has_no_sections),
		WORLD_TEST(another_type_wants_its_own_members_and_drops_the_others),
		WORLD_TEST(what_says_the_same_is_no_change),
		WORLD_TEST(a_split_leaves_no_gap_and_keeps_the_type_of_the_rest),
		WORLD_TEST(a_linked_section_is_split_and_stays_linked),
		WORLD_TEST(the_list_is_by_position_and_holds_what_it_is_asked_for),
		WORLD_TEST(an_asset_has_so_many_sections_and_no_more),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
