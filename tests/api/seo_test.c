/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What search engines are told of an asset, by the interface and by its page. */
#include <string.h>

#include "core/asset.h"
#include "core/role.h"
#include "tests/world.h"

static void
show(struct world *w, const char *visibility)
{
	db_run(w->db, "UPDATE channels SET visibility = ? WHERE id = ?", ARGS(STR(visibility), ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
}

static struct req *
ask(struct world *w, struct uuid id)
{
	return call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata/seo", uuid_text(w->mem, id)), NULL);
}

static struct req *
open_page(struct world *w, struct uuid id)
{
	return call_as(w, NULL, "GET", arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, id)), NULL);
}

static void
add_form(struct world *w, struct uuid id, const char *kind, const char *mime_type, const char *file)
{
	struct rendition_row row = { .media_id = id, .generation = "g1", .kind = kind, .label = kind,
	    .mime_type = mime_type, .file = file, .width = { 640, true }, .height = { 360, true } };

	rendition_put(w->db, &row);
	asset_summarise(w->db, id, SUM_RENDITIONS);
}

static struct uuid
make(struct world *w, const char *type, const char *name)
{
	struct uuid id = world_media(w, type, name);

	add_form(w, id, strcmp(type, "audio") == 0 ? "audio" : "mp4", strcmp(type, "audio") == 0 ? "audio/mp4" :
	    "video/mp4", "g1/r/a.mp4");
	db_run(w->db, "UPDATE media SET duration = 3723400, language_code = 'de-CH' WHERE id = ?", ARGS(ID(id)));
	return id;
}

/* An entry that leads to a moment. */
static void
add_entry(struct world *w, struct uuid media, const char *chapter, const char *title, const char *at)
{
	const char *base = arena_printf(w->mem, "/v2/media/%s/", uuid_text(w->mem, media)), *entry, *section;
	struct req *r = call(w, "POST", arena_printf(w->mem, "%schapters/%s/entries", base, chapter),
	    arena_printf(w->mem, "{\"title\":\"%s\"}", title));

	assert_int_equal(r->status, 201);
	entry = text(w, r, "data.id");
	r = call(w, "POST", arena_printf(w->mem, "%ssections", base), arena_printf(w->mem,
	    "{\"chapterId\":\"%s\",\"title\":\"%s\",\"type\":\"marker\",\"time\":%s}", chapter, title, at));
	assert_int_equal(r->status, 201);
	section = text(w, r, "data.id");
	r = call(w, "PUT", arena_printf(w->mem, "%schapters/%s/entries/%s/sections/%s", base, chapter, entry,
	    section), NULL);
	assert_true(r->status == 200 || r->status == 201);
}

static void
a_recording_is_told_with_its_clips(void **state)
{
	struct world *w = *state;
	struct uuid id = make(w, "video", "Cat");
	struct req *r;
	const char *chapter;

	show(w, "shared");
	add_form(w, id, "poster", "image/jpeg", "g1/r/poster.jpg");
	chapter = text(w, call(w, "POST", arena_printf(w->mem, "/v2/media/%s/chapters", uuid_text(w->mem, id)),
	    "{\"name\":\"Contents\"}"), "data.id");
	add_entry(w, id, chapter, "Welcome", "0");
	add_entry(w, id, chapter, "Cats", "61.5");
	add_entry(w, id, chapter, "The same moment", "61.500");
	add_entry(w, id, chapter, "End", "3600");
	r = ask(w, id);
	assert_int_equal(r->status, 200);
	assert_string_equal(r->answer_type, "application/ld+json");
	assert_string_equal(text(w, r, "@context"), "https://schema.org");
	assert_string_equal(text(w, r, "@type"), "VideoObject");
	assert_string_equal(text(w, r, "name"), "Cat");
	assert_string_equal(text(w, r, "duration"), "PT1H2M3S");
	assert_string_equal(text(w, r, "inLanguage"), "de-CH");
	assert_memory_equal(text(w, r, "uploadDate"), "20", 2);
	assert_null(text(w, r, "dateCreated"));
	assert_non_null(strstr(text(w, r, "thumbnailUrl"), "/g1/r/poster.jpg"));
	assert_string_equal(text(w, r, "url"), arena_printf(w->mem, "%s/watch/%s", w->conf->public_url,
	    uuid_text(w->mem, id)));
	assert_string_equal(text(w, r, "embedUrl"), arena_printf(w->mem, "%s/embed/%s", w->conf->public_url,
	    uuid_text(w->mem, id)));
	assert_string_equal(text(w, r, "hasPart.0.@type"), "Clip");
	assert_string_equal(text(w, r, "hasPart.0.name"), "Welcome");
	assert_string_equal(text(w, r, "hasPart.0.startOffset"), "0.000");
	assert_string_equal(text(w, r, "hasPart.0.endOffset"), "61.500");
	assert_string_equal(text(w, r, "hasPart.1.name"), "Cats");
	assert_string_equal(text(w, r, "hasPart.1.url"), arena_printf(w->mem, "%s/watch/%s#t=61.500",
	    w->conf->public_url, uuid_text(w->mem, id)));
	assert_string_equal(text(w, r, "hasPart.2.startOffset"), "3600.000");
	assert_string_equal(text(w, r, "hasPart.2.endOffset"), "3723.400");
	assert_null(text(w, r, "hasPart.3.name"));
	assert_non_null(strstr(buf_string(&open_page(w, id)->out), "\"hasPart\":[{\"@type\":\"Clip\""));
}

static void
each_type_is_told_in_the_words_of_its_class(void **state)
{
	static const struct { const char *type, *class; } cases[] = { { "audio", "AudioObject" }, { "image",
	    "ImageObject" }, { "document", "DigitalDocument" } };
	struct world *w = *state;

	show(w, "shared");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct req *r = ask(w, world_media(w, cases[i].type, "Thing"));
		bool is_document = strcmp(cases[i].type, "document") == 0;

		assert_int_equal(r->status, 200);
		assert_string_equal(text(w, r, "@type"), cases[i].class);
		assert_true((text(w, r, "embedUrl") == NULL) == is_document);
		assert_true((text(w, r, "uploadDate") == NULL) == is_document);
		assert_true((text(w, r, "dateCreated") != NULL) == is_document);
		assert_null(text(w, r, "duration"));
		assert_null(strstr(buf_string(&r->out), "hasPart"));
		assert_null(strstr(buf_string(&r->out), "inLanguage"));
	}
	assert_non_null(strstr(buf_string(&open_page(w, make(w, "audio", "Sound"))->out), "\"AudioObject\""));
}

/* The text may be put into a page as it is. */
static void
whatever_an_asset_is_called_it_ends_no_script(void **state)
{
	static const char name[] = "</script><!-- \xe2\x80\xa8 & \xe2\x80\xa9 \"'\\";
	struct world *w = *state;
	struct uuid id = make(w, "audio", "Sound");
	struct req *r;

	show(w, "shared");
	db_run(w->db, "UPDATE media SET name = ?, description = ? WHERE id = ?", ARGS(STR(name), STR(name), ID(id)));
	r = ask(w, id);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "name"), name);
	assert_string_equal(text(w, r, "description"), name);
	assert_null(strpbrk(buf_string(&r->out), "<>&"));
	assert_null(strstr(buf_string(&r->out), "\xe2\x80\xa8"));
	assert_null(strstr(buf_string(&r->out), "\xe2\x80\xa9"));
}

static void
what_private_channels_alone_hold_is_told_to_no_search_engine(void **state)
{
	struct world *w = *state;
	struct uuid id = make(w, "audio", "Sound");
	struct req *r;

	show(w, "private");
	r = ask(w, id);
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "no_page");
	assert_int_equal(open_page(w, id)->status, 404);
	show(w, "public");
	assert_int_equal(ask(w, id)->status, 200);
	db_run(w->db, "UPDATE media SET status = 'processing' WHERE id = ?", ARGS(ID(id)));
	assert_string_equal(text(w, ask(w, id), "data.code"), "not_ready");
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(id)));
	assert_int_equal(ask(w, id)->status, 404);
}

static void
what_has_not_changed_is_not_sent_again(void **state)
{
	struct world *w = *state;
	struct uuid id = make(w, "audio", "Sound");
	const char *uri = arena_printf(w->mem, "/v2/media/%s/metadata/seo", uuid_text(w->mem, id));
	struct req *again = NEW(w->mem, struct req);

	show(w, "shared");
	again->if_none_match = ask(w, id)->etag;
	assert_non_null(again->if_none_match);
	assert_int_equal(call_req(w, again, w->token, "GET", uri, NULL)->status, 304);
	db_run(w->db, "UPDATE media SET name = 'Another' WHERE id = ?", ARGS(ID(id)));
	*again = (struct req){ .if_none_match = again->if_none_match };
	assert_int_equal(call_req(w, again, w->token, "GET", uri, NULL)->status, 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_recording_is_told_with_its_clips),
		WORLD_TEST(each_type_is_told_in_the_words_of_its_class),
		WORLD_TEST(whatever_an_asset_is_called_it_ends_no_script),
		WORLD_TEST(what_private_channels_alone_hold_is_told_to_no_search_engine),
		WORLD_TEST(what_has_not_changed_is_not_sent_again),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
