/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The portal and the pages of channels, as anybody gets them: what they show, and what they keep to themselves. */
#include <libxml/HTMLparser.h>
#include <libxml/xpath.h>

#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/role.h"
#include "tests/world.h"

static const char *
found(struct world *w, const struct req *r, const char *path)
{
	htmlDocPtr doc = htmlReadMemory(r->out.text, (int)r->out.len, NULL, "utf-8", HTML_PARSE_NOERROR |
	    HTML_PARSE_NOWARNING);
	xmlXPathContextPtr context = xmlXPathNewContext(doc);
	xmlChar *text = xmlXPathCastToString(xmlXPathEvalExpression((const xmlChar *)path, context));
	const char *kept = arena_copy(w->mem, (const char *)text);

	xmlFree(text);
	xmlXPathFreeContext(context);
	xmlFreeDoc(doc);
	return kept;
}

static struct req *
open_at(struct world *w, const char *uri)
{
	return call_as(w, NULL, "GET", uri, NULL);
}

static struct req *
open_channel(struct world *w, const char *query)
{
	return open_at(w, arena_printf(w->mem, "/c/%s%s", uuid_text(w->mem, w->channel_id), query));
}

/* How the world's channel is to be seen; a name that no other test's channel has. */
static const char *
show(struct world *w, const char *visibility, bool portal)
{
	const char *name = arena_printf(w->mem, "Channel %s", uuid_text(w->mem, w->channel_id));

	db_run(w->db, "UPDATE tenants SET portal_enabled = ?, name = ? WHERE id = ?", ARGS(INT(portal), STR(name + 8),
	    ID(w->tenant_id)));
	db_run(w->db, "UPDATE channels SET visibility = ?, name = ? WHERE id = ?", ARGS(STR(visibility), STR(name),
	    ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(db_failure(w->db), DB_FINE);
	return name;
}

/* On any page of /. */
static bool
is_listed(struct world *w, const char *name)
{
	const char *uri = "/";

	while (*uri != '\0') {
		const struct req *r = open_at(w, uri);

		assert_int_equal(r->status, 200);
		if (strstr(r->out.text, name) != NULL)
			return true;
		uri = found(w, r, "//a[@rel='next']/@href");
	}
	return false;
}

static void
hide_all(struct world *w)
{
	db_run(w->db, "UPDATE tenants SET portal_enabled = 0 WHERE id <> ?", ARGS(ID(w->tenant_id)));
}

static void
who_finds_what_by_visibility_and_portal(void **state)
{
	static const struct { const char *visibility; bool portal, listed; int page, watch; } cases[] = {
		{ "private", false, false, 404, 404 }, { "private", true, false, 404, 404 },
		{ "shared", false, false, 200, 200 }, { "shared", true, false, 200, 200 },
		{ "public", false, false, 404, 200 }, { "public", true, true, 200, 200 },
	};
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name = show(w, cases[i].visibility, cases[i].portal);
		const struct req *page = open_channel(w, ""), *watch = open_at(w, arena_printf(w->mem,
		    "/watch/%s?channelId=%s", uuid_text(w->mem, id), uuid_text(w->mem, w->channel_id)));

		assert_int_equal(is_listed(w, name), cases[i].listed);
		assert_int_equal(page->status, cases[i].page);
		assert_int_equal(watch->status, cases[i].watch);
		assert_int_equal(strstr(page->out.text, name) != NULL, cases[i].page == 200);
		assert_int_equal(strstr(watch->out.text, name) != NULL, cases[i].page == 200);
		assert_string_equal(found(w, page, "count(//meta[@name='robots'])"), cases[i].listed ? "0" : "1");
		assert_string_equal(found(w, watch, "count(//meta[@name='robots'])"), cases[i].listed ? "0" : "1");
	}
}

static void
an_unknown_channel_looks_like_a_private_one(void **state)
{
	struct world *w = *state;
	const struct req *r, *unknown = open_at(w, arena_printf(w->mem, "/c/%s", uuid_text(w->mem, uuid_new())));

	show(w, "private", true);
	r = open_channel(w, "");
	assert_int_equal(r->status, 404);
	assert_int_equal(unknown->status, 404);
	assert_string_equal(found(w, r, "//main"), found(w, unknown, "//main"));
	assert_int_equal(open_at(w, "/c/x")->status, 404);
}

static void
a_shared_channel_is_told_to_who_names_it_alone(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *watch = arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, id)), *name = show(w, "shared", true);

	assert_null(strstr(open_at(w, watch)->out.text, name));
	assert_string_equal(found(w, open_at(w, arena_printf(w->mem, "%s?channelId=%s", watch, uuid_text(w->mem,
	    w->channel_id))), "//nav[@id='places']/a"), name);
	show(w, "public", true);
	assert_string_equal(found(w, open_at(w, watch), "//nav[@id='places']/a"), name);
}

static void
a_channel_shows_what_is_ready_and_not_deleted_newest_first(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid first = world_media(w, "video", "First"), made = world_media(w, "video", "Being made"),
	    failed = world_media(w, "video", "Failed"), gone = world_media(w, "video", "Gone");
	const struct req *r;

	world_media(w, "document", "Last");
	world_media(other, "video", "Other");
	show(w, "public", true);
	show(other, "public", true);
	db_run(w->db, "UPDATE media SET status = 'processing' WHERE id = ?", ARGS(ID(made)));
	db_run(w->db, "UPDATE media SET status = 'failed' WHERE id = ?", ARGS(ID(failed)));
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(gone)));
	db_run(w->db, "UPDATE media SET duration = 83000, created_at = 1763800000000 WHERE id = ?", ARGS(ID(first)));
	r = open_channel(w, "");
	assert_string_equal(found(w, r, "count(//li[@class='card'])"), "2");
	assert_string_equal(found(w, r, "//li[1]//a"), "Last");
	assert_string_equal(found(w, r, "//li[2]//a"), "First");
	assert_string_equal(found(w, r, "count(//li[2]//a)"), "1");
	/* None of them has a picture. */
	assert_string_equal(found(w, r, "count(//li//*[@class='card-sign'])"), "2");
	assert_string_equal(found(w, r, "//li[2]//a/@href"), arena_printf(w->mem, "/watch/%s?channelId=%s",
	    uuid_text(w->mem, first), uuid_text(w->mem, w->channel_id)));
	assert_string_equal(found(w, r, "//li[2]//span"), "1:23");
	assert_string_equal(found(w, r, "//li[2]//time"), "Nov 22, 2025");
	assert_string_equal(found(w, open_channel(w, "?lang=de"), "//li[2]//time"), "22.11.2025");
	assert_memory_equal(found(w, r, "//li[2]//time/@datetime"), "2025-11-22T", 11);
}

static void
an_empty_channel_and_an_empty_portal_say_so(void **state)
{
	struct world *w = *state;
	const struct req *r;

	hide_all(w);
	show(w, "private", true);
	r = open_at(w, "/");
	assert_string_equal(found(w, r, "//main//p[@class='state-title']"), "Nothing is public here yet");
	assert_string_equal(found(w, r, "//main//p/a/@href"), "/docs/");
	show(w, "shared", true);
	r = open_channel(w, "");
	assert_string_equal(found(w, r, "//main//p[@class='state-title']"), "Nothing is here yet");
	assert_string_equal(found(w, r, "count(//ul | //nav)"), "0");
}

static void
pages_lead_on_to_all_that_there_is_each_once(void **state)
{
	struct world *w = *state;
	const char *uri = arena_printf(w->mem, "/c/%s?lang=de", uuid_text(w->mem, w->channel_id));
	int64_t seen = 0, pages = 0;
	struct uuid id;
	int i;

	show(w, "shared", false);
	for (i = 0; i < 97; i++)
		id = world_media(w, "video", arena_printf(w->mem, "<%d>", i));
	for (; *uri != '\0'; pages++) {
		const struct req *r = open_at(w, uri);
		int n = atoi(found(w, r, "count(//li)"));

		assert_string_equal(found(w, r, "//li[1]//a"), arena_printf(w->mem, "<%d>", 96 - (int)seen));
		assert_string_equal(found(w, r, "count(//a[@rel='start'])"), pages == 0 ? "0" : "1");
		assert_string_equal(found(w, r, "//html/@lang"), "de");
		seen += n;
		uri = found(w, r, "//a[@rel='next']/@href");
	}
	assert_int_equal(seen, 97);
	assert_int_equal(pages, 3);
	assert_int_equal(open_channel(w, "?after=x")->status, 200);
	assert_string_equal(found(w, open_channel(w, arena_printf(w->mem, "?after=%s", uuid_text(w->mem, id))),
	    "count(//li)"), "48");
}

static void
the_portal_names_tenants_when_there_are_several_and_pages_through_them(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *a, *b, *uri = "/";
	int seen = 0, i;

	hide_all(w);
	a = show(w, "public", true);
	assert_string_equal(found(w, open_at(w, "/"), "//h1"), a + 8);
	assert_string_equal(found(w, open_at(w, "/"), "count(//p[@class='tenant'])"), "0");
	b = show(other, "public", true);
	assert_string_equal(found(w, open_at(w, "/"), "//h1"), "Channels");
	assert_string_equal(found(w, open_at(w, "/"), "//p[@class='tenant'][1]"), strcmp(a, b) < 0 ? a + 8 : b + 8);
	assert_string_equal(found(w, open_at(w, "/"), "count(//p[@class='tenant'])"), "2");
	for (i = 0; i < 60; i++)
		db_run(w->db, "INSERT INTO channels (id, tenant_id, name, visibility, created_at, updated_at) VALUES "
		    "(?, ?, ?, 'public', 1, 1)", ARGS(ID(uuid_new()), ID(i < 30 ? w->tenant_id : other->tenant_id), STR("Same")));
	for (; *uri != '\0'; uri = found(w, open_at(w, uri), "//a[@rel='next']/@href"))
		seen += atoi(found(w, open_at(w, uri), "count(//li)"));
	assert_int_equal(seen, 62);
	hide_all(w);
	db_run(w->db, "UPDATE tenants SET portal_enabled = 0 WHERE id = ?", ARGS(ID(w->tenant_id)));
}

static void
names_stay_names_and_the_data_stays_data(void **state)
{
	static const char hostile[] = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp; "
	    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xf0\x9f\x8e\xac";
	struct world *w = *state;
	struct uuid id = world_media(w, "video", hostile);
	const struct req *r;
	const char *data;

	show(w, "public", true);
	db_run(w->db, "UPDATE channels SET name = ?, description = ? WHERE id = ?", ARGS(STR(hostile), STR(hostile),
	    ID(w->channel_id)));
	r = open_channel(w, "");
	assert_string_equal(found(w, r, "//h1"), hostile);
	assert_string_equal(found(w, r, "//h1/@dir"), "auto");
	assert_string_equal(found(w, r, "//li//a"), hostile);
	assert_string_equal(found(w, r, "//meta[@property='og:title']/@content"), hostile);
	assert_string_equal(found(w, r, "count(//script)"), "2");
	assert_string_equal(found(w, r, "count(//main//img)"), "0");
	data = found(w, r, "//script[@type='application/ld+json']");
	assert_true(json_valid(w->mem, data, strlen(data)));
	assert_non_null(strstr(data, "\"CollectionPage\""));
	assert_non_null(strstr(data, uuid_text(w->mem, id)));
	r = open_at(w, "/");
	assert_string_equal(found(w, r, "count(//script)"), "1");
}

static void
a_film_is_told_to_search_engines_only_with_all_that_they_ask_for(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *uri = arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, id)), *data;
	struct rendition_row film = { .media_id = id, .generation = "g1", .kind = "mp4", .label = "720p",
	    .mime_type = "video/mp4", .file = "g1/r/a.mp4" }, poster = { .media_id = id, .generation = "g1",
	    .kind = "poster", .label = "poster", .mime_type = "image/jpeg", .file = "g1/r/poster.jpg",
	    .width = { 640, true }, .height = { 360, true } };

	show(w, "public", true);
	rendition_put(w->db, &film);
	asset_summarise(w->db, id, SUM_RENDITIONS);
	assert_string_equal(found(w, open_at(w, uri), "count(//script[@type='application/ld+json'])"), "0");
	rendition_put(w->db, &poster);
	asset_summarise(w->db, id, SUM_RENDITIONS);
	db_run(w->db, "UPDATE media SET duration = 3723000 WHERE id = ?", ARGS(ID(id)));
	data = found(w, open_at(w, uri), "//script[@type='application/ld+json']");
	assert_true(json_valid(w->mem, data, strlen(data)));
	assert_non_null(strstr(data, "\"VideoObject\",\"name\":\"Cat\",\"thumbnailUrl\":\"http"));
	assert_non_null(strstr(data, "\"uploadDate\":\"20"));
	assert_non_null(strstr(data, "\"duration\":\"PT1H2M3S\""));
	assert_memory_equal(found(w, open_channel(w, ""), "//li//img/@src"), "/play/", 6);
	assert_memory_equal(found(w, open_channel(w, ""), "//meta[@property='og:image']/@content"), "http://", 7);
	assert_non_null(strstr(found(w, open_at(w, "/"), "//li//img/@src"), uuid_text(w->mem, id)));
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(id)));
	assert_null(strstr(open_at(w, "/")->out.text, uuid_text(w->mem, id)));
}

static void
a_page_is_sent_again_only_when_it_has_changed(void **state)
{
	struct world *w = *state;
	const char *uri = arena_printf(w->mem, "/c/%s", uuid_text(w->mem, w->channel_id));
	struct req *again = NEW(w->mem, struct req);

	show(w, "shared", true);
	again->if_none_match = open_at(w, uri)->etag;
	assert_non_null(again->if_none_match);
	assert_int_equal(call_req(w, again, NULL, "GET", uri, NULL)->status, 304);
	world_media(w, "video", "Cat");
	again = NEW(w->mem, struct req);
	again->if_none_match = open_at(w, uri)->etag;
	show(w, "private", true);
	assert_int_equal(call_req(w, again, NULL, "GET", uri, NULL)->status, 404);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(who_finds_what_by_visibility_and_portal),
		WORLD_TEST(an_unknown_channel_looks_like_a_private_one),
		WORLD_TEST(a_shared_channel_is_told_to_who_names_it_alone),
		WORLD_TEST(a_channel_shows_what_is_ready_and_not_deleted_newest_first),
		WORLD_TEST(an_empty_channel_and_an_empty_portal_say_so),
		WORLD_TEST(pages_lead_on_to_all_that_there_is_each_once),
		WORLD_TEST(the_portal_names_tenants_when_there_are_several_and_pages_through_them),
		WORLD_TEST(names_stay_names_and_the_data_stays_data),
		WORLD_TEST(a_film_is_told_to_search_engines_only_with_all_that_they_ask_for),
		WORLD_TEST(a_page_is_sent_again_only_when_it_has_changed),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
