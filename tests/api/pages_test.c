/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /watch and /embed as a browser gets them: what they hold, and what they keep to themselves. */
#include <libxml/HTMLparser.h>
#include <libxml/xpath.h>

#include <string.h>

#include "core/asset.h"
#include "core/livestream.h"
#include "core/play.h"
#include "core/role.h"
#include "tests/world.h"

/* What the XPath expression finds in the answer, as text. */
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
open_page(struct world *w, const char *kind, struct uuid id, const char *query)
{
	return call_as(w, NULL, "GET", arena_printf(w->mem, "/%s/%s%s", kind, uuid_text(w->mem, id), query), NULL);
}

/* "?t=…" that opens it. */
static const char *
token_for(struct world *w, struct uuid id)
{
	char out[PAGE_TOKEN_MAX];

	return arena_printf(w->mem, "?t=%s", page_token(w->conf, id, moment_now(), out));
}

static void
make_visible(struct world *w, const char *visibility)
{
	db_run(w->db, "UPDATE channels SET visibility = ? WHERE id = ?", ARGS(STR(visibility), ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
}

static void
add_form(struct world *w, struct uuid id, const char *kind, const char *label, const char *mime_type, const char *file)
{
	struct rendition_row row = { .media_id = id, .generation = "g1", .kind = kind, .label = label,
	    .mime_type = mime_type, .file = file, .width = { 1280, true }, .height = { 720, true },
	    .file_size = 2500000 };

	rendition_put(w->db, &row);
	asset_summarise(w->db, id, SUM_RENDITIONS);
	assert_int_equal(db_failure(w->db), DB_FINE);
}

/* A film with all that belongs to one. */
static struct uuid
make_film(struct world *w, const char *name)
{
	struct uuid id = world_media(w, "video", name);

	add_form(w, id, "playlist", "master.m3u8", "application/vnd.apple.mpegurl", "g1/r/master.m3u8");
	add_form(w, id, "mp4", "720p", "video/mp4", "g1/r/download.mp4");
	add_form(w, id, "poster", "poster.jpg", "image/jpeg", "g1/r/poster.jpg");
	db_run(w->db, "UPDATE media SET duration = 83000, captions = '[{\"languageCode\":\"de\",\"label\":\"Deutsch\","
	    "\"file\":\"captions/a.vtt\"}]' WHERE id = ?", ARGS(ID(id)));
	return id;
}

static void
a_page_shows_its_asset_without_a_script(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const struct req *r = open_page(w, "watch", id, token_for(w, id));

	assert_int_equal(r->status, 200);
	assert_string_equal(found(w, r, "//title"), "Cat \xe2\x80\x93 Kinothek");
	assert_string_equal(found(w, r, "//h1"), "Cat");
	assert_string_equal(found(w, r, "count(//video[@controls]//source)"), "2");
	assert_non_null(strstr(found(w, r, "//video//source[@type='video/mp4']/@src"), "/g1/r/download.mp4"));
	assert_memory_equal(found(w, r, "//video//source/@src"), "/play/", 6);
	assert_non_null(strstr(found(w, r, "//video/@poster"), "/g1/r/poster.jpg"));
	assert_string_equal(found(w, r, "//link[@rel='preload']/@href"), found(w, r, "//video/@poster"));
	assert_string_equal(found(w, r, "//video//track[@srclang='de']/@label"), "Deutsch");
	assert_string_equal(found(w, r, "//details[@id='downloads']//a"), "Video \xc2\xb7 720p \xc2\xb7 2.5 MB");
	assert_non_null(strstr(found(w, r, "//details[@id='downloads']//a[@download]/@href"),
	    "/g1/r/download.mp4?download=Cat"));
	assert_string_equal(found(w, r, "//*[@id='facts']"), "Video \xc2\xb7 1:23 \xc2\xb7 1280 \xc3\x97 720 \xc2\xb7 "
	    "Captions: Deutsch");
	assert_non_null(strstr(found(w, r, "//meta[@property='og:image']/@content"), "http://127.0.0.1:8080/play/"));
	assert_string_equal(found(w, r, "//*[@id='media']/@type"), "application/json");
	r = open_page(w, "embed", id, token_for(w, id));
	assert_string_equal(found(w, r, "concat(count(//video), count(//h1), count(//details))"), "110");
}

static void
pictures_and_documents_are_shown_too(void **state)
{
	struct world *w = *state;
	struct uuid picture = world_media(w, "image", "Cat"), paper = world_media(w, "document", "Minutes");
	const struct req *r;

	add_form(w, picture, "image", "large", "image/jpeg", "g1/r/large.jpg");
	add_form(w, paper, "pdf", "PDF", "application/pdf", "g1/r/document.pdf");
	r = open_page(w, "watch", picture, token_for(w, picture));
	assert_string_equal(found(w, r, "concat(//main//a/img/@alt, //main//a/img/@width)"), "Cat1280");
	assert_non_null(strstr(found(w, r, "//main//a/img/@srcset"), "large.jpg 1280w"));
	r = open_page(w, "watch", paper, token_for(w, paper));
	assert_non_null(strstr(found(w, r, "//a[.='Open the document']/@href"), "/g1/r/document.pdf"));
}

static void
what_is_being_made_says_how_far_it_is_and_asks_again(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *token = token_for(w, id);
	const struct req *r;

	db_run(w->db, "UPDATE media SET status = 'processing', ingest = '{\"status\":\"running\",\"progress\":40}' "
	    "WHERE id = ?", ARGS(ID(id)));
	r = open_page(w, "watch", id, token);
	assert_string_equal(found(w, r, "//*[@role='status']/progress/@value"), "40");
	assert_string_equal(found(w, r, "count(//noscript/meta[@http-equiv='refresh'])"), "1");
	assert_non_null(strstr(found(w, r, "//*[@id='media']"), "\"isComplete\":false"));
	db_run(w->db, "UPDATE media SET status = 'failed', ingest = '{\"status\":\"failed\",\"progress\":40}' "
	    "WHERE id = ?", ARGS(ID(id)));
	r = open_page(w, "watch", id, token);
	assert_string_equal(found(w, r, "//*[@role='alert']/p"), "This could not be prepared");
	assert_string_equal(found(w, r, "count(//meta[@http-equiv='refresh'])"), "0");
	assert_non_null(strstr(found(w, r, "//*[@id='media']"), "\"isComplete\":true"));
}

static void
whatever_an_asset_is_called_it_stays_text(void **state)
{
	static const char name[] = "</title></script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;";
	struct world *w = *state;
	struct uuid id = make_film(w, name);
	const char *before = found(w, open_page(w, "watch", make_film(w, "Cat"), ""), "count(//*)");
	const struct req *r;

	db_run(w->db, "UPDATE media SET description = name WHERE id = ?", ARGS(ID(id)));
	r = open_page(w, "watch", id, token_for(w, id));
	assert_string_equal(found(w, r, "//h1"), name);
	assert_string_equal(found(w, r, "//*[@id='description']"), name);
	assert_string_equal(found(w, r, "//meta[@name='description']/@content"), name);
	assert_string_equal(found(w, r, "//meta[@property='og:title']/@content"), name);
	assert_string_equal(found(w, r, "//video/@aria-label"), name);
	assert_string_equal(found(w, r, "concat(count(//script), count(//img))"), "21");
	assert_string_not_equal(before, "");
}

static void
a_page_tells_nothing_that_the_interface_refuses(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Secret cat"), other = make_film(w, "Dog");
	const char *queries[] = { "", "?t=", "?t=x", token_for(w, other),
	    arena_printf(w->mem, "?t=1700000000.%064d", 0), arena_printf(w->mem, "?t=%0200d", 0) };
	const char *kinds[] = { "watch", "embed" };
	size_t i, k;

	for (i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		const struct req *asked = call_as(w, NULL, "GET", arena_printf(w->mem, "/v2/media/%s/player%.100s",
		    uuid_text(w->mem, id), queries[i]), NULL);

		for (k = 0; k < 2; k++) {
			const struct req *r = open_page(w, kinds[k], id, queries[i]);

			assert_int_equal(r->status, asked->status);
			assert_null(strstr(r->out.text, "Secret"));
			assert_null(strstr(r->out.text, "/play/"));
			assert_string_equal(r->answer_type, "text/html; charset=utf-8");
			assert_string_equal(found(w, r, "count(//*[@role='alert']/h1)"), "1");
			assert_null(r->etag);
		}
	}
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(id)));
	assert_int_equal(open_page(w, "watch", id, token_for(w, id))->status, 404);
}

static void
a_link_that_has_expired_says_so(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	char out[PAGE_TOKEN_MAX];

	page_token(w->conf, id, (struct moment){ 1700000000000 }, out);
	assert_string_equal(found(w, open_page(w, "watch", id, arena_printf(w->mem, "?t=%s", out)), "//h1"),
	    "This link has expired");
	assert_string_equal(found(w, open_page(w, "watch", id, "?t=x"), "//h1"), "You need a valid link");
	assert_string_equal(found(w, open_page(w, "watch", id, "?t=9999999999.x"), "//h1"), "You need a valid link");
	assert_string_equal(found(w, open_page(w, "watch", uuid_new(), ""), "//h1"), "Nothing is here");
	assert_int_equal(call_as(w, NULL, "GET", "/watch/x", NULL)->status, 404);
}

static void
only_public_assets_are_for_search_engines_and_only_open_ones_name_their_address(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const struct req *r = open_page(w, "watch", id, token_for(w, id));

	assert_string_equal(found(w, r, "//meta[@name='robots']/@content"), "noindex");
	assert_string_equal(found(w, r, "count(//meta[@property='og:url' or @property='og:video'])"), "0");
	make_visible(w, "shared");
	r = open_page(w, "watch", id, "");
	assert_int_equal(r->status, 200);
	assert_string_equal(found(w, r, "//meta[@name='robots']/@content"), "noindex");
	assert_string_equal(found(w, r, "//meta[@property='og:url']/@content"), arena_printf(w->mem,
	    "http://127.0.0.1:8080/watch/%s", uuid_text(w->mem, id)));
	make_visible(w, "public");
	assert_string_equal(found(w, open_page(w, "watch", id, ""), "count(//meta[@name='robots'])"), "1");
	db_run(w->db, "UPDATE tenants SET portal_enabled = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_string_equal(found(w, open_page(w, "watch", id, ""), "count(//meta[@name='robots'])"), "0");
}

static void
a_page_is_sent_again_only_when_it_has_changed(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *token = token_for(w, id), *uri = arena_printf(w->mem, "/watch/%s%s", uuid_text(w->mem, id), token);
	struct req *first = call_as(w, NULL, "GET", uri, NULL), *second = NEW(w->mem, struct req);

	second->if_none_match = first->etag;
	assert_int_equal(call_req(w, second, NULL, "GET", uri, NULL)->status, 304);
	assert_non_null(header(w, second, "Content-Security-Policy"));
	db_run(w->db, "UPDATE media SET name = 'Dog' WHERE id = ?", ARGS(ID(id)));
	second = NEW(w->mem, struct req);
	second->if_none_match = first->etag;
	assert_int_equal(call_req(w, second, NULL, "GET", uri, NULL)->status, 200);
}

static void
a_page_bears_parameters_that_it_does_not_know(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");

	make_visible(w, "shared");
	assert_int_equal(open_page(w, "watch", id, "?start=9&utm_source=x&page=-1")->status, 200);
}

/* The page as a browser that accepts these languages gets it. */
static struct req *
open_in(struct world *w, const char *accepted, const char *uri)
{
	struct req *r = NEW(w->mem, struct req);

	r->accept_language = accepted;
	return call_req(w, r, NULL, "GET", uri, NULL);
}

static void
a_page_speaks_the_language_of_its_reader(void **state)
{
	static const struct { const char *accepted, *query, *language; } cases[] = {
		{ NULL, "", "en" }, { "", "", "en" }, { "fr", "", "en" }, { "de", "", "de" }, { "de-AT", "", "de" },
		{ "DE-de,de;q=0.9,en;q=0.8", "", "de" }, { "en-GB,en;q=0.9,de;q=0.8", "", "en" },
		{ "en;q=0.1, de;q=0.2", "", "de" }, { "fr, de;q=0.5, en;q=0.4", "", "de" }, { "de;q=0", "", "en" },
		{ "den", "", "en" }, { "de", "?lang=en", "en" }, { "en", "?x=1&lang=de", "de" }, { "de", "?lang=xx", "de" },
		{ "en", "?lang=de%2D", "en" }, { "en", "?lang=", "en" }, { ",;q=1,-,*", "", "en" },
	};
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	size_t i;

	make_visible(w, "shared");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct req *r = open_in(w, cases[i].accepted, arena_printf(w->mem, "/watch/%s%s",
		    uuid_text(w->mem, id), cases[i].query));

		assert_string_equal(found(w, r, "/html/@lang"), cases[i].language);
		assert_string_equal(found(w, r, "//summary"), strcmp(cases[i].language, "de") == 0 ? "Herunterladen" :
		    "Download");
		assert_non_null(strstr(r->headers.text, "Vary: Accept-Language\r\n"));
	}
}

static void
numbers_plurals_and_refusals_are_in_it_too(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), paper = world_media(w, "document", "Minutes");
	const struct req *r;

	add_form(w, paper, "pdf", "PDF", "application/pdf", "g1/r/document.pdf");
	db_run(w->db, "UPDATE media SET page_count = 2 WHERE id = ?", ARGS(ID(paper)));
	make_visible(w, "shared");
	r = open_in(w, "de", arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, id)));
	assert_string_equal(found(w, r, "//details[@id='downloads']//a"), "Video \xc2\xb7 720p \xc2\xb7 2,5 MB");
	assert_string_equal(found(w, r, "//link[@rel='preload'][@as='fetch']/@href"), arena_printf(w->mem, "%.*s/de.mo",
	    (int)strlen("/web/r-0123456789ab"), found(w, r, "//link[@rel='icon']/@href")));
	r = open_in(w, "de", arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, paper)));
	assert_string_equal(found(w, r, "//*[@id='facts']"), "Dokument \xc2\xb7 2 Seiten");
	db_run(w->db, "UPDATE media SET page_count = 1 WHERE id = ?", ARGS(ID(paper)));
	r = open_in(w, "de", arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, paper)));
	assert_string_equal(found(w, r, "//*[@id='facts']"), "Dokument \xc2\xb7 1 Seite");
	r = open_in(w, "de", "/watch/x");
	assert_int_equal(r->status, 404);
	assert_string_equal(found(w, r, "//h1"), "Hier ist nichts");
}

static void
a_page_links_to_itself_in_the_other_language_with_its_whole_query(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *token = token_for(w, id), *path = arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, id));
	const struct req *r = open_in(w, "de", arena_printf(w->mem, "%s%s&lang=en&start=7", path, token));

	assert_string_equal(found(w, r, "//a[@hreflang='de']/@href"), arena_printf(w->mem, "?lang=de&t=%s&start=7",
	    token + 3));
	assert_string_equal(found(w, r, "count(//link[@rel='canonical' or @rel='alternate'])"), "0");
	make_visible(w, "shared");
	r = open_in(w, "de", arena_printf(w->mem, "%s?lang=de&start=7", path));
	assert_string_equal(found(w, r, "//link[@rel='canonical']/@href"), arena_printf(w->mem,
	    "http://127.0.0.1:8080%s?lang=de", path));
	assert_string_equal(found(w, r, "//link[@hreflang='x-default']/@href"), arena_printf(w->mem,
	    "http://127.0.0.1:8080%s", path));
}

static void
without_https_a_page_says_what_to_do_and_nothing_of_its_asset(void **state)
{
	struct world *w = *state;
	struct conf strict = *w->conf;
	struct uuid id = make_film(w, "Cat");
	struct req *r = NEW(w->mem, struct req);

	make_visible(w, "public");
	strict.require_https = true;
	*r = (struct req){ .method_name = "GET", .uri = arena_printf(w->mem, "/watch/%s", uuid_text(w->mem, id)),
	    .mem = w->mem, .db = w->db, .conf = &strict, .client = "203.0.113.9", .client_fd = -1 };
	assert_int_equal(api_run(r), 403);
	assert_string_equal(found(w, r, "//h1"), "This page needs HTTPS");
	assert_null(strstr(r->out.text, "Cat"));
}

static void
nobody_frames_the_watch_page_and_everybody_the_embed_page(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *watch = header(w, open_page(w, "watch", id, token_for(w, id)), "Content-Security-Policy");
	const char *embed = header(w, open_page(w, "embed", id, token_for(w, id)), "Content-Security-Policy");

	assert_non_null(strstr(watch, "frame-ancestors 'self'"));
	assert_null(strstr(embed, "frame-ancestors"));
	assert_memory_equal(embed, watch, strlen(embed));
	assert_null(strstr(watch, "unsafe"));
}

/* Posts below the asset; the id of what was made. */
static const char *
add(struct world *w, struct uuid id, const char *below, const char *body)
{
	struct req *r = call(w, "POST", arena_printf(w->mem, "/v2/media/%s/%s", uuid_text(w->mem, id), below), body);

	if (r->status != 201)
		fail_msg("%s: %s", below, buf_string(&r->out));
	return text(w, r, "data.id");
}

/* An entry of a chapter of its own that leads to that second. */
static const char *
entry_at(struct world *w, struct uuid id, int start)
{
	const char *chapter = add(w, id, "chapters", "{\"name\":\"Agenda\"}"), *section;

	section = add(w, id, "sections", arena_printf(w->mem, "{\"type\":\"timerange\",\"start\":%d,\"end\":%d,"
	    "\"chapterId\":\"%s\"}", start, start + 5, chapter));
	return add(w, id, arena_printf(w->mem, "chapters/%s/entries", chapter), arena_printf(w->mem,
	    "{\"title\":\"<b>One</b>\",\"sectionId\":\"%s\"}", section));
}

static void
a_page_has_the_public_points_of_its_newest_meeting_as_a_tree_that_leads_into_the_recording(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Council"), second = make_film(w, "Council, 2"), away = make_film(w, "Away");
	const char *ids = arena_printf(w->mem, "\"mediaIds\":[\"%s\",\"%s\",\"%s\"]", uuid_text(w->mem, id),
	    uuid_text(w->mem, second), uuid_text(w->mem, away)), *body;
	struct uuid stranger_id, elsewhere = uuid_new();
	const char *stranger = world_member(w, "ViewChannel CreateContent", "Viewer", &stranger_id);
	const struct req *r;

	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, 'Elsewhere', "
	    "1, 1)", ARGS(ID(elsewhere), ID(w->tenant_id)));
	world_role(w, elsewhere, stranger_id, "Channel Owner");
	make_visible(w, "shared");
	body = arena_printf(w->mem, "{\"name\":\"Older\",\"startsAt\":\"2026-01-20T18:00:00Z\",%s,\"agenda\":["
	    "{\"number\":\"1\",\"name\":\"Older\",\"public\":true}]}", ids);
	assert_int_equal(call(w, "POST", "/v2/meetings", body)->status, 201);
	body = arena_printf(w->mem, "{\"name\":\"Council <i>\",\"startsAt\":\"2026-11-20T18:00:00Z\",\"location\":"
	    "\"Hall\",%s,\"agenda\":[{\"number\":\"1\",\"name\":\"<b>Opening</b>\",\"public\":true,\"entryId\":"
	    "\"%s\"},{\"number\":\"1.1\",\"name\":\"Guests\",\"public\":true},{\"number\":\"1.1.1\",\"name\":"
	    "\"One guest\",\"public\":true},{\"number\":\"2\",\"name\":\"Secret\",\"public\":false,\"entryId\":"
	    "\"%s\"},{\"number\":\"10\",\"name\":\"Budget\",\"public\":true,\"entryId\":\"%s\"},{\"number\":"
	    "\"11\",\"name\":\"Not to be seen\",\"public\":true,\"entryId\":\"%s\"}]}", ids, entry_at(w, id, 10),
	    entry_at(w, id, 20), entry_at(w, second, 30), entry_at(w, away, 40));
	assert_int_equal(call(w, "POST", "/v2/meetings", body)->status, 201);
	db_run(w->db, "DELETE FROM media_channels WHERE media_id = ?", ARGS(ID(away)));
	r = open_page(w, "watch", id, "");
	assert_string_equal(found(w, r, "//*[@id='agenda']//p"), "Council <i> \xc2\xb7 Nov 20, 2026 \xc2\xb7 Hall");
	assert_string_equal(found(w, r, "//nav[@id='agenda'][not(@hidden)]/div/ol/li[1]/a[@href='#t=10.000']"),
	    "1<b>Opening</b>0:10");
	assert_string_equal(found(w, r, "//nav[@id='agenda']/div/ol/li[1]/ol/li/span"), "1.1Guests");
	assert_string_equal(found(w, r, "//nav[@id='agenda']/div/ol/li[1]/ol/li/ol/li"), "1.1.1One guest");
	assert_string_equal(found(w, r, "count(//nav[@id='agenda']/div/ol/li)"), "3");
	assert_null(strstr(r->out.text, "Secret"));
	assert_string_equal(found(w, r, "//nav[@id='agenda']/div/ol/li[2]/a/@href"), arena_printf(w->mem,
	    "/watch/%s#t=30.000", uuid_text(w->mem, second)));
	assert_string_equal(found(w, r, "//nav[@id='agenda']/div/ol/li[3]/span"), "11Not to be seen");
	assert_null(strstr(r->out.text, uuid_text(w->mem, away)));
	assert_string_equal(found(w, open_page(w, "embed", id, ""), "count(//*[@id='agenda'])"), "0");

	/* who merely sees the asset says nothing on its page */
	body = arena_printf(w->mem, "{\"name\":\"Nonsense\",\"startsAt\":\"2099-01-01T00:00:00Z\",\"mediaIds\":["
	    "\"%s\"],\"agenda\":[{\"number\":\"1\",\"name\":\"Nonsense\",\"public\":true}]}", uuid_text(w->mem, id));
	assert_int_equal(call_as(w, stranger, "POST", "/v2/meetings", body)->status, 201);
	assert_null(strstr(open_page(w, "watch", id, "")->out.text, "Nonsense"));
	world_role(w, w->channel_id, stranger_id, "Channel Owner");
	assert_non_null(strstr(open_page(w, "watch", id, "")->out.text, "Nonsense"));
	db_run(w->db, "DELETE FROM meetings", NO_ARGS);
	assert_string_equal(found(w, open_page(w, "watch", id, ""), "count(//nav[@id='agenda'][@hidden])"), "1");
}

static void
a_page_lists_clips_with_their_addresses_and_nothing_of_chapters_or_without_a_name(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const struct req *r;

	make_visible(w, "shared");
	assert_string_equal(found(w, open_page(w, "watch", id, ""), "count(//nav[@id='clips'][@hidden])"), "1");
	add(w, id, "sections", "{\"type\":\"timerange\",\"start\":20,\"end\":25.5,\"title\":\"<img src=x>\"}");
	add(w, id, "sections", "{\"type\":\"marker\",\"time\":7,\"title\":\"A leap\"}");
	add(w, id, "sections", "{\"type\":\"timerange\",\"start\":1,\"end\":2}");
	add(w, id, "sections", arena_printf(w->mem, "{\"type\":\"timerange\",\"start\":1,\"end\":2,\"title\":\"Draft\","
	    "\"chapterId\":\"%s\"}", add(w, id, "chapters", "{\"name\":\"Later\"}")));
	db_run(w->db, "UPDATE sections SET thumbnail_file = 'sections/a.jpg', thumbnail_width = 640, "
	    "thumbnail_height = 360, thumbnail_at = position WHERE media_id = ? AND title = 'A leap'", ARGS(ID(id)));
	r = open_page(w, "watch", id, "");
	assert_string_equal(found(w, r, "count(//nav[@id='clips'][not(@hidden)]//li)"), "2");
	assert_string_equal(found(w, r, "//nav[@id='clips']//li[1]/a[@href='#t=7.000']"), "0:07A leap");
	assert_non_null(strstr(found(w, r, "//nav[@id='clips']//li[1]//img/@src"), "/sections/a.jpg"));
	assert_string_equal(found(w, r, "//nav[@id='clips']//li[2]/a[@href='#t=20.000,25.500']"),
	    "0:20\xe2\x80\x93" "0:25<img src=x>");
}

static void
comments_are_on_pages_where_the_tenant_says_so(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *first, *answer;
	const struct req *r;

	make_visible(w, "shared");
	first = add(w, id, "comments", "{\"text\":\"Look,\\na <b>cat</b>\",\"time\":12.5}");
	answer = add(w, id, "comments", arena_printf(w->mem, "{\"text\":\"Where?\",\"parentId\":\"%s\"}", first));
	add(w, id, "comments", arena_printf(w->mem, "{\"text\":\"There.\",\"parentId\":\"%s\"}", answer));
	add(w, id, "comments", "{\"text\":\"All of it\"}");
	r = open_page(w, "watch", id, "");
	assert_string_equal(found(w, r, "count(//section[@id='comments'][@hidden])"), "1");
	assert_null(strstr(r->out.text, "Where?"));
	assert_int_equal(call(w, "PATCH", "/v2/tenants/current/settings", "{\"commentsOnPages\":true}")->status, 200);
	r = open_page(w, "watch", id, "");
	assert_string_equal(found(w, r, "//section[@id='comments'][not(@hidden)]/ol/li[1]/p[2]"), "All of it");
	assert_string_equal(found(w, r, "//section[@id='comments']/ol/li[2]/p[2]"), "Look,\na <b>cat</b>");
	assert_string_equal(found(w, r, "//section[@id='comments']/ol/li[2]/p[1]/a[@href='#t=12.500']"), "0:12");
	assert_string_equal(found(w, r, "//section[@id='comments']/ol/li[2]/ol/li/p[2]"), "Where?");
	assert_string_equal(found(w, r, "//section[@id='comments']/ol/li[2]/ol/li/ol/li/p[2]"), "There.");
	assert_string_equal(found(w, r, "//section[@id='comments']/ol/li[2]/p[1]/strong"), "Admin");
	assert_string_equal(found(w, open_page(w, "embed", id, ""), "count(//*[@id='comments'])"), "0");
}

#define LIVE "//*[@id='live'][not(@hidden)]"

static void
a_broadcast_is_announced_then_live_then_over(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\"}");
	struct uuid id, media;

	assert_true(uuid_parse(text(w, r, "data.id"), &id) && uuid_parse(text(w, r, "data.mediaId"), &media));
	make_visible(w, "shared");
	db_run(w->db, "UPDATE livestreams SET starts_at = 4070908800000 WHERE id = ?", ARGS(ID(id)));
	r = open_page(w, "watch", media, "");
	assert_string_equal(found(w, r, "//*[@class='state soon']/*[@class='state-title']"),
	    "The broadcast has not begun yet");
	assert_string_equal(found(w, r, "//*[@class='countdown']/time/@datetime"), "2099-01-01T00:00:00.000Z");
	assert_string_equal(found(w, r, "count(" LIVE ")"), "0");
	assert_true(livestream_start(w->db, id));
	assert_int_equal(livestream_claim(w->db, id, "node"), 1);
	assert_true(livestream_signal(w->db, id, "node", true));
	r = open_page(w, "watch", media, "");
	assert_null(strstr(buf_string(&r->out), "master.m3u8"));
	assert_string_equal(found(w, r, "count(//*[@class='state soon'])"), "1");
	assert_true(livestream_publish(w->db, id));
	r = open_page(w, "watch", media, "");
	assert_non_null(strstr(found(w, r, "//video//source/@src"), livestream_play_file(w->mem,
	    w->conf, id, LIVESTREAM_LOW_PLAYLIST)));
	assert_string_equal(found(w, r, LIVE), "Live");
	assert_non_null(strstr(found(w, r, "//*[@id='media']"), "\"isComplete\":false"));
	assert_true(livestream_signal(w->db, id, "node", false));
	assert_non_null(strstr(found(w, open_page(w, "watch", media, ""), LIVE), "interrupted"));
	assert_true(livestream_stop(w->db, id, NULL));
	r = open_page(w, "watch", media, "");
	assert_non_null(strstr(found(w, r, LIVE), "is over"));
	assert_non_null(strstr(found(w, r, "//video//source/@src"), livestream_play_file(w->mem,
	    w->conf, id, LIVESTREAM_LOW_PLAYLIST)));
	assert_true(livestream_done(w->db, id, NULL));
	add_form(w, media, "playlist", "master.m3u8", "application/vnd.apple.mpegurl", "g1/r/master.m3u8");
	db_run(w->db, "UPDATE media SET generation = 'g1' WHERE id = ?", ARGS(ID(media)));
	asset_summarise(w->db, media, SUM_RENDITIONS);
	r = open_page(w, "watch", media, "");
	assert_non_null(strstr(found(w, r, "//video//source/@src"), "/g1/r/master.m3u8"));
	assert_string_equal(found(w, r, "count(" LIVE ")"), "0");
}

static void
a_broadcast_that_failed_says_so(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\"}");
	struct uuid id, media;

	assert_true(uuid_parse(text(w, r, "data.id"), &id) && uuid_parse(text(w, r, "data.mediaId"), &media));
	assert_true(livestream_stop(w->db, id, NULL));
	r = open_page(w, "watch", media, token_for(w, media));
	assert_string_equal(found(w, r, "count(//*[@class='state error'])"), "1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_broadcast_is_announced_then_live_then_over),
		WORLD_TEST(a_broadcast_that_failed_says_so),
		WORLD_TEST(a_page_shows_its_asset_without_a_script),
		WORLD_TEST(pictures_and_documents_are_shown_too),
		WORLD_TEST(what_is_being_made_says_how_far_it_is_and_asks_again),
		WORLD_TEST(whatever_an_asset_is_called_it_stays_text),
		WORLD_TEST(a_page_tells_nothing_that_the_interface_refuses),
		WORLD_TEST(a_link_that_has_expired_says_so),
		WORLD_TEST(only_public_assets_are_for_search_engines_and_only_open_ones_name_their_address),
		WORLD_TEST(a_page_is_sent_again_only_when_it_has_changed),
		WORLD_TEST(a_page_bears_parameters_that_it_does_not_know),
		WORLD_TEST(a_page_speaks_the_language_of_its_reader),
		WORLD_TEST(numbers_plurals_and_refusals_are_in_it_too),
		WORLD_TEST(a_page_links_to_itself_in_the_other_language_with_its_whole_query),
		WORLD_TEST(without_https_a_page_says_what_to_do_and_nothing_of_its_asset),
		WORLD_TEST(a_page_has_the_public_points_of_its_newest_meeting_as_a_tree_that_leads_into_the_recording),
		WORLD_TEST(a_page_lists_clips_with_their_addresses_and_nothing_of_chapters_or_without_a_name),
		WORLD_TEST(comments_are_on_pages_where_the_tenant_says_so),
		WORLD_TEST(nobody_frames_the_watch_page_and_everybody_the_embed_page),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
