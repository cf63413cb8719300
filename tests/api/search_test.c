/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/search: what is found, what of it is shown, and that nobody finds what they may not see. */
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "tests/world.h"

static struct uuid
asset(struct world *w, const char *name)
{
	struct uuid id = world_media(w, "video", name);

	world_index(w, id);
	return id;
}

static struct req *
ask_as(struct world *w, const char *token, const char *text_, const char *more)
{
	return call_as(w, token, "GET", arena_printf(w->mem, "/v2/search?perpage=50&text=%s%s",
	    percent_encode(w->mem, text_), more), NULL);
}

static const char *
total_as(struct world *w, const char *token, const char *text_)
{
	struct req *r = ask_as(w, token, text_, "");

	assert_int_equal(r->status, 200);
	return text(w, r, "pagination.total");
}

static const char *
total(struct world *w, const char *text_)
{
	return total_as(w, w->token, text_);
}

#define FINDS(w, query, n) assert_string_equal(total(w, query), n)

static void
words_are_found_however_they_are_written(void **state)
{
	struct world *w = *state;

	asset(w, "K\xc3\xa4se aus der Gro\xc3\x9fstra\xc3\x9f" "e");
	asset(w, "Tea and bread");
	FINDS(w, "k\xc3\xa4se", "1");
	FINDS(w, "KASE", "1");
	FINDS(w, "kaese", "1");
	FINDS(w, "Ka\xcc\x88se", "1");
	FINDS(w, "grossstrasse", "1");
	FINDS(w, "bread tea", "1");
	FINDS(w, "tea k\xc3\xa4se", "0");
	FINDS(w, "br", "1");
	FINDS(w, "br ", "0");
	FINDS(w, "br tea", "0");
}

/* Of words that begin alike a few are looked for: then that is not said to be all. */
static void
more_words_than_are_looked_for_are_told(void **state)
{
	struct world *w = *state;
	struct buf name = BUF(w->mem);

	for (int i = 0; i < 32; i++)
		buf_printf(&name, "zebra%c%c ", 'a' + i / 26, 'a' + i % 26);
	asset(w, buf_string(&name));
	assert_string_equal(text(w, ask_as(w, w->token, "zebra", ""), "pagination.totalExact"), "true");
	asset(w, "zebrazz");
	assert_string_equal(text(w, ask_as(w, w->token, "zebra", ""), "pagination.totalExact"), "false");
}

/* Of three words that begin alike, all of which 4,000 assets have: 12,000 rows. */
static void
assets_are_counted_and_not_what_they_say(void **state)
{
	struct world *w = *state;

	world_fill(w, w->channel_id, 4000);
	db_run(w->db, "INSERT INTO search_words (tenant_id, word, media_id, layer, passage, times) SELECT tenant_id, "
	    "CONCAT('zebra', d), id, 4, 0, 1 FROM media JOIN " TEN_SQL " x ON d < 3 WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)));
	FINDS(w, "zebra", "4000");
	assert_string_equal(text(w, ask_as(w, w->token, "zebra", ""), "pagination.totalExact"), "true");
	FINDS(w, "zebra1", "4000");
	FINDS(w, "zebra1 zebra", "4000");
}

static void
phrases_hold_together_and_minus_leaves_out(void **state)
{
	struct world *w = *state;

	asset(w, "The red house");
	asset(w, "The house is red");
	asset(w, "A red-house story");
	FINDS(w, "red house", "3");
	FINDS(w, "\"red house\"", "2");
	FINDS(w, "\"house red\"", "0");
	FINDS(w, "red-house", "2");
	FINDS(w, "red -story", "2");
	FINDS(w, "red -\"red house\"", "1");
	FINDS(w, "-story", "0");
	FINDS(w, "\"red house", "2");
}

static void
a_misspelled_word_is_found_where_nothing_is_as_it_is_written(void **state)
{
	struct world *w = *state;

	asset(w, "Conference of cats");
	FINDS(w, "confrence ", "1");
	FINDS(w, "conferense ", "1");
	FINDS(w, "cnoference ", "1");
	FINDS(w, "conferrence ", "1");
	FINDS(w, "confrense ", "0");
	FINDS(w, "cits ", "0");
	asset(w, "Confrence");
	FINDS(w, "confrence ", "1");
}

static void
odd_texts_are_no_errors(void **state)
{
	static const char *const odd[] = { "+ - > < ( ) ~ * \" @ \\ % _ '", "\"", "\"\"", "-", "--", "- -", "-\"", "%",
	    "_", "*", "'; DROP TABLE media; --", "\xf0\x9f\x90\xb1", "\xc3\x9f", "\xc4\xb0", "a", "\xcc\x88", "\xe6\x97\xa5",
	    "\xe2\x80\x8f\xd7\xa9", "   ", "\xf4\x8f\xbf\xbf",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " };
	struct world *w = *state;
	struct buf b = BUF(w->mem);
	struct req *r;
	size_t i;

	asset(w, "100% of it_all");
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		FINDS(w, odd[i], "0");
	FINDS(w, "100%", "1");
	FINDS(w, "it_all", "1");
	FINDS(w, "i%all ", "0");
	FINDS(w, "the of and", "0");
	FINDS(w, "field:", "0");
	FINDS(w, "{{7*7}}", "0");
	for (i = 0; i < 3000; i++)
		buf_text(&b, "a ");
	FINDS(w, buf_string(&b), "0");
	for (i = 0; i < 50000; i++)
		buf_text(&b, "b ");
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "/v2/search?text=%s", buf_string(&b)), NULL)->status, 422);
	r = call(w, "GET", "/v2/search?page=999999", NULL);
	assert_int_equal(r->status, 200);
	assert_null(text(w, r, "data.0.id"));
	assert_int_not_equal(call(w, "GET", "/v2/search?text=a%00b", NULL)->status, 500);
	assert_int_not_equal(call(w, "GET", "/v2/search?text=%ff", NULL)->status, 500);
	assert_string_equal(text(w, call(w, "GET", "/v2/search", NULL), "data.0.name"), "100% of it_all");
}

static void
every_layer_says_where_and_when(void **state)
{
	static const struct { const char *word, *field, *start, *page; } layers[] = {
		{ "meeting", "name", NULL, NULL }, { "minutes", "description", NULL, NULL }, { "council", "tag", NULL, NULL },
		{ "dogs", "transcript", "2", NULL }, { "slide", "video_text", "4.5", NULL }, { "exit", "image_text", NULL, NULL },
		{ "last", "document_content", NULL, "7" }, { "fur", "keywords", "3", NULL }, { "siemens", "entities", NULL, "2" },
		{ "nikon", "exif_metadata", NULL, NULL }, { "ada", "speakers", "1", NULL }, { "bicycle", "objects", "6", NULL },
		{ "running", "actions", "8", NULL },
	};
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Meeting");
	struct req *r;
	size_t i;

	r = call(w, "PATCH", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id)),
	    "{\"description\":\"The minutes\",\"tags\":[\"Council\"]}");
	assert_int_equal(r->status, 200);
	db_begin(w->db);
	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)", ARGS(ID(uuid_new()), ID(id),
	    STR("[{\"start\":1.5,\"end\":2,\"text\":\"One cat\"},{\"start\":2,\"end\":3.25,\"text\":\"Two dogs\"}]")));
	metadata_put(w->db, id, "documentContent", "x", "{\"pages\":[{\"page\":7,\"text\":\"Last\"}]}");
	metadata_put(w->db, id, "videoTexts", "x",
	    "{\"items\":[{\"text\":\"A slide\",\"instances\":[{\"start\":4.5,\"end\":9}]}]}");
	metadata_put(w->db, id, "imageTexts", "x", "{\"items\":[{\"text\":\"Exit\"}]}");
	metadata_put(w->db, id, "keywords", "x",
	    "{\"items\":[{\"name\":\"fur\",\"score\":0.5,\"instances\":[{\"start\":3,\"end\":4}]}]}");
	metadata_put(w->db, id, "entities", "x",
	    "{\"items\":[{\"name\":\"Siemens\",\"category\":\"organisation\",\"instances\":[{\"page\":2}]}]}");
	metadata_put(w->db, id, "file", "x", "{\"cameraMake\":\"NIKON\",\"cameraModel\":\"D90\",\"width\":640}");
	world_speaker(w, id, 1, "Ada", 1000);
	metadata_put(w->db, id, "objects", "x",
	    "{\"items\":[{\"name\":\"bicycle\",\"instances\":[{\"start\":6,\"end\":7}]}]}");
	metadata_put(w->db, id, "actions", "x",
	    "{\"items\":[{\"name\":\"running\",\"instances\":[{\"start\":8,\"end\":9}]}]}");
	assert_true(db_commit(w->db));
	world_index(w, id);
	for (i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		r = ask_as(w, w->token, layers[i].word, "");
		assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, id));
		assert_string_equal(text(w, r, "data.0.highlights.0.field"), layers[i].field);
		if (layers[i].start != NULL)
			assert_float_equal(strtod(text(w, r, "data.0.highlights.0.start"), NULL),
			    strtod(layers[i].start, NULL), 0.001);
		else
			assert_null(text(w, r, "data.0.highlights.0.start"));
		if (layers[i].page != NULL)
			assert_string_equal(text(w, r, "data.0.highlights.0.page"), layers[i].page);
		r = ask_as(w, w->token, layers[i].word, arena_printf(w->mem, "&fields=%s", layers[i].field));
		assert_string_equal(text(w, r, "pagination.total"), "1");
		r = ask_as(w, w->token, layers[i].word, strcmp(layers[i].field, "name") == 0 ? "&fields=tag" :
		    "&fields=name");
		assert_string_equal(text(w, r, "pagination.total"), "0");
	}
	r = ask_as(w, w->token, "dogs", "");
	assert_string_equal(text(w, r, "data.0.highlights.0.marks.0.from"), "4");
	assert_string_equal(text(w, r, "data.0.highlights.0.marks.0.to"), "8");
	/* What is derived is for tokens that read it. */
	assert_string_equal(total_as(w, world_member(w, "ViewChannel", "Viewer", NULL), "dogs"), "0");
	assert_string_equal(total_as(w, world_member(w, "ViewChannel", "Viewer", NULL), "minutes"), "1");
	assert_string_equal(total_as(w, world_member(w, "ViewChannel ViewMetadata", "Viewer", NULL), "dogs"), "1");
}

/* Neither of the jobs that take it from assets and from the index has come yet. */
static void
a_name_that_is_forgotten_is_found_no_more_at_once(void **state)
{
	static const char by_name[] = "&fields=speakers";
	struct world *w = *state;
	struct uuid one = world_media(w, "video", "One"), two = world_media(w, "video", "About Ada"), ada;
	struct req *r;

	r = call(w, "PATCH", "/v2/tenants/current/settings", "{\"speakerRecognition\":true}");
	assert_int_equal(r->status, 200);
	ada = world_speaker(w, one, 1, NULL, 1000);
	r = call(w, "PATCH", arena_printf(w->mem, "/v2/speakers/%s", uuid_text(w->mem, ada)),
	    "{\"label\":\"Ada Berg\"}");
	assert_int_equal(r->status, 200);
	db_run(w->db, "UPDATE speakers s JOIN voices v ON v.tenant_id = s.tenant_id SET s.voice_id = v.id, s.source = "
	    "'machine' WHERE s.id = ?", ARGS(ID(world_speaker(w, two, 1, "Ada Berg", 1000))));
	world_speaker(w, two, 2, "Bob Cole", 1000);
	world_index(w, one);
	world_index(w, two);
	assert_string_equal(text(w, ask_as(w, w->token, "ada", by_name), "pagination.total"), "2");
	assert_string_equal(text(w, ask_as(w, w->token, "bob -ada", by_name), "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "about -\"ada berg\"", ""), "pagination.total"), "0");
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/speakers/%s?names=true", uuid_text(w->mem, ada)), NULL);
	assert_int_equal(r->status, 200);
	assert_int_equal(number(w, "FROM speakers WHERE media_id = ? AND label = 'Ada Berg'", ARGS(ID(two))), 1);
	assert_string_equal(text(w, ask_as(w, w->token, "ada", by_name), "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "ad", by_name), "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "\"ada berg\"", by_name), "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "about -\"ada berg\"", ""), "pagination.total"), "1");
	/* Others that are heard there are found still. */
	assert_string_equal(text(w, ask_as(w, w->token, "bob", by_name), "pagination.total"), "1");
	assert_string_equal(text(w, ask_as(w, w->token, "bob -ada", by_name), "pagination.total"), "1");
	assert_string_equal(text(w, ask_as(w, w->token, "\"bob cole\"", by_name), "pagination.total"), "1");
	r = ask_as(w, w->token, "ada", "");
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.highlights.0.field"), "name");
	assert_null(text(w, r, "data.0.highlights.1.field"));
}

static void
those_in_which_all_of_some_speakers_are_heard_are_found(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid one = world_media(w, "video", "One"), two = world_media(w, "video", "Two"), bob;
	const char *viewer = world_member(w, "ViewChannel", "Viewer", NULL);
	struct req *r;

	world_speaker(w, one, 1, "Ada Berg", 1000);
	bob = world_speaker(w, one, 2, "Bob Cole", 1000);
	world_speaker(w, two, 1, "Ada Berg", 1000);
	world_media(w, "video", "Three");
	world_speaker(other, world_media(other, "video", "Theirs"), 1, "Ada Berg", 1000);
	world_index(w, one);
	world_index(w, two);
	r = call(w, "GET", "/v2/search?speakers=Ada%20Berg", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	r = call(w, "GET", "/v2/search?speakers=%20ada%20%20berg,Bob%20Cole", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, one));
	r = call(w, "GET", "/v2/search?speakers=Bob", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "two", "&speakers=Ada%20Berg"), "pagination.total"), "1");
	assert_string_equal(text(w, ask_as(w, w->token, "two", "&speakers=Bob%20Cole"), "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "two", "&speakers=Ada%20Berg&filter=type=audio"),
	    "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "two", "&speakers=Ada%20Berg&filter=type=video"),
	    "pagination.total"), "1");
	/* Who is a part of somebody else, or forgotten, is not called so. */
	db_run(w->db, "UPDATE speakers SET forgotten_at = 1 WHERE id = ?", ARGS(ID(bob)));
	r = call(w, "GET", "/v2/search?speakers=Bob%20Cole", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
	/* It is derived, and for those alone who read that. */
	r = call_as(w, viewer, "GET", "/v2/search?speakers=Ada%20Berg", NULL);
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.errors.0.pointer"), "speakers");
	r = call(w, "GET", "/v2/search?speakers=a,b,c,d,e,f,g,h,i,j", NULL);
	assert_int_equal(r->status, 200);
	r = call(w, "GET", "/v2/search?speakers=a,b,c,d,e,f,g,h,i,j,k", NULL);
	assert_int_equal(r->status, 422);
}

static void
nobody_finds_or_counts_what_they_may_not_see(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid id = asset(w, "Secretive"), principal;
	const char *scopes = "ViewChannel ViewMetadata", *stranger = world_member(w, scopes, NULL, NULL),
	    *member = world_member(w, scopes, "Viewer", &principal);
	struct req *r;

	assert_string_equal(total_as(w, member, "secretive"), "1");
	assert_string_equal(total_as(w, stranger, "secretive"), "0");
	assert_string_equal(total_as(w, stranger, "secretiv"), "0");
	assert_string_equal(total_as(w, stranger, "secretife "), "0");
	assert_string_equal(text(w, call_as(w, stranger, "GET", "/v2/search", NULL), "pagination.total"), "0");
	assert_string_equal(total_as(other, other->token, "secretive"), "0");
	r = call_as(w, stranger, "GET", arena_printf(w->mem, "/v2/search?channelId=%s",
	    uuid_text(w->mem, w->channel_id)), NULL);
	assert_int_equal(r->status, 422);
	world_role(w, w->channel_id, principal, NULL);
	assert_string_equal(total_as(w, member, "secretive"), "0");
	db_run(w->db, "UPDATE tenants SET portal_enabled = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	r = call(w, "POST", "/v2/channels", "{\"name\":\"Open\",\"visibility\":\"public\"}");
	assert_int_equal(r->status, 201);
	r = call(w, "PUT", arena_printf(w->mem, "/v2/channels/%s/media/%s", text(w, r, "data.id"),
	    uuid_text(w->mem, id)), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(total_as(w, stranger, "secretive"), "1");
	assert_string_equal(total_as(other, other->token, "secretive"), "0");
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id)), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(total_as(w, member, "secretive"), "0");
	FINDS(w, "secretive", "0");
}

static void
members_of_many_channels_find_what_is_in_them(void **state)
{
	struct world *w = *state;
	struct uuid principal, channel;
	const char *member = world_member(w, "ViewChannel ViewMetadata", "Viewer", &principal);
	struct req *r;
	int i;

	asset(w, "Lighthouse");
	for (i = 0; i < 10; i++) {
		r = call(w, "POST", "/v2/channels", arena_printf(w->mem, "{\"name\":\"Harbour %d\"}", i));
		assert_int_equal(r->status, 201);
		assert_true(uuid_parse(text(w, r, "data.id"), &channel));
		if (i > 0)
			world_role(w, channel, principal, "Viewer");
	}
	assert_string_equal(total_as(w, member, "lighthouse"), "1");
	assert_string_equal(total_as(w, member, "harbour"), "9");
	assert_string_equal(total_as(w, member, "harbour 3"), "1");
	assert_string_equal(total_as(w, member, "harbour 0"), "0");
	world_role(w, w->channel_id, principal, NULL);
	assert_string_equal(total_as(w, member, "lighthouse"), "0");
	r = ask_as(w, member, "harbour", "&type=mediaasset");
	assert_string_equal(text(w, r, "pagination.total"), "0");
}

static void
limits_hold_and_what_is_wrong_with_them_is_said(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w, "Lighthouse");
	struct req *r;

	world_media(w, "image", "Lighthouse");
	db_run(w->db, "UPDATE media SET duration = 90000, file_size = 1000 WHERE id = ?", ARGS(ID(id)));
	assert_string_equal(text(w, ask_as(w, w->token, "lighthouse",
	    "&durationTo=90&fileSizeFrom=1000&assetTypes=video"), "pagination.total"), "1");
	assert_string_equal(text(w, ask_as(w, w->token, "lighthouse", "&durationTo=89"), "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "lighthouse", "&assetTypes=image"), "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "lighthouse", "&tags=none"), "pagination.total"), "0");
	/* A tag is one however often it is named. */
	r = call(w, "PATCH", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id)), "{\"tags\":[\"Sea\"]}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, ask_as(w, w->token, "lighthouse", "&tags=Sea,sea"), "pagination.total"), "1");
	assert_string_equal(text(w, ask_as(w, w->token, "lighthouse", "&tags=Sea,none"), "pagination.total"), "0");
	assert_string_equal(text(w, ask_as(w, w->token, "lighthouse", "&createdTo=1999-01-01T00:00:00Z"),
	    "pagination.total"), "0");
	r = ask_as(w, w->token, "lighthouse", "&assetTypes=tape&fields=smell&sort=name");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "assetTypes", "not_allowed"));
	assert_true(has_fault(r, "fields", "not_allowed"));
	assert_true(has_fault(r, "sort", "not_allowed"));
	assert_int_equal(ask_as(w, w->token, "lighthouse", "&after=nonsense")->status, 422);
}

static void
a_filter_is_that_of_the_list_of_assets(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w, "Lighthouse"), principal;
	const char *member = world_member(w, "ViewChannel", "Viewer", &principal);
	struct req *r;

	asset(w, "Lighthouse at night");
	r = call(w, "PATCH", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id)), "{\"tags\":[\"Sea\"]}");
	assert_int_equal(r->status, 200);
	r = ask_as(w, member, "lighthouse", "&filter=tags=sea%2Btype=video");
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, id));
	r = ask_as(w, member, "light house lighthouse", "&filter=tags=sea");
	assert_string_equal(text(w, r, "pagination.total"), "0");
	r = call_as(w, member, "GET", "/v2/search?filter=name~night", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	r = ask_as(w, member, "lighthouse", "&filter=smell=salty");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "filter", "not_allowed"));
	/* Nor does it tell what is in a channel that the caller does not see. */
	r = call(w, "POST", "/v2/channels", "{\"name\":\"Hidden\"}");
	r = ask_as(w, member, "lighthouse", arena_printf(w->mem, "&filter=channelId=%s", text(w, r, "data.id")));
	assert_int_equal(r->status, 422);
	world_role(w, w->channel_id, principal, NULL);
	r = ask_as(w, member, "lighthouse", "&filter=tags=sea");
	assert_string_equal(text(w, r, "pagination.total"), "0");
}

static void
ranges_are_of_what_the_caller_finds(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid id;
	struct req *r;
	int i;

	for (i = 0; i < 4; i++) {
		id = asset(w, i < 3 ? "Lighthouse" : "Harbour");
		db_run(w->db, "UPDATE media SET duration = ?, file_size = 7, created_at = ? WHERE id = ?",
		    ARGS(INT(1000 + i * 10000), INT(1700000000000), ID(id)));
	}
	r = call(w, "GET", "/v2/search/ranges?text=lighthouse", NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.0.property"), "duration");
	assert_string_equal(text(w, r, "data.0.min"), "1.000");
	assert_string_equal(text(w, r, "data.0.max"), "21.000");
	assert_string_equal(text(w, r, "data.0.buckets.0.count"), "1");
	assert_string_equal(text(w, r, "data.0.buckets.9.to"), "21.000");
	assert_string_equal(text(w, r, "data.0.buckets.9.count"), "1");
	assert_null(text(w, r, "data.0.buckets.10.count"));
	assert_string_equal(text(w, r, "data.1.property"), "fileSize");
	assert_string_equal(text(w, r, "data.1.min"), "7");
	assert_string_equal(text(w, r, "data.1.buckets.0.count"), "3");
	assert_null(text(w, r, "data.1.buckets.1.count"));
	assert_string_equal(text(w, r, "data.2.property"), "createdAt");
	assert_string_equal(text(w, r, "data.2.min"), "2023-11-14T22:13:20.000Z");
	/* Which finds no asset. */
	r = call(w, "GET", "/v2/search/ranges?type=channel", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
	r = call(w, "GET", "/v2/search/ranges?filter=name~harbour", NULL);
	assert_string_equal(text(w, r, "data.0.min"), "31.000");
	r = call_as(w, world_member(w, "ViewChannel", NULL, NULL), "GET", "/v2/search/ranges", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
	r = call_as(other, other->token, "GET", "/v2/search/ranges?text=lighthouse", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
	assert_int_equal(call(w, "GET", "/v2/search/ranges?assetTypes=tape", NULL)->status, 422);
}

static void
pages_follow_each_other_and_names_come_first(void **state)
{
	struct world *w = *state;
	struct uuid named = asset(w, "Harvest"), id;
	struct req *r;
	int i;

	for (i = 0; i < 4; i++) {
		id = world_media(w, "video", "Other");
		r = call(w, "PATCH", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id)),
		    "{\"description\":\"About the harvest\"}");
		assert_int_equal(r->status, 200);
		world_index(w, id);
	}
	r = call(w, "GET", "/v2/search?text=harvest&perpage=2", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "5");
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, named));
	r = call(w, "GET", arena_printf(w->mem, "/v2/search?text=harvest&perpage=4&after=%s",
	    text(w, r, "pagination.next")), NULL);
	assert_non_null(text(w, r, "data.2.id"));
	assert_null(text(w, r, "data.3.id"));
	assert_null(text(w, r, "pagination.next"));
}

/* What is longer no web server passes on; of the way to the next page the body tells all the same. */
static void
addresses_of_pages_are_left_out_where_they_are_too_long(void **state)
{
	static const struct { int blanks; bool first, next; } rows[] = { { 100, true, true }, { 2500, false, true },
	    { 2900, false, false } };
	struct world *w = *state;
	size_t i;

	asset(w, "Tea and bread");
	asset(w, "Tea and milk");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf uri = BUF(w->mem);
		const char *links;
		struct req *r;
		int k;

		buf_text(&uri, "/v2/search?perpage=1&text=tea");
		for (k = 0; k < rows[i].blanks; k++)
			buf_text(&uri, "%20");
		r = call(w, "GET", buf_string(&uri), NULL);
		assert_int_equal(r->status, 200);
		assert_string_equal(text(w, r, "pagination.total"), "2");
		assert_true(strlen(text(w, r, "pagination.next")) > 10);
		links = header(w, r, "Link");
		links = links != NULL ? links : "";
		assert_in_range(strlen(links), 0, 8000);
		assert_int_equal(strstr(links, "rel=\"first\"") != NULL, rows[i].first);
		assert_int_equal(strstr(links, "rel=\"next\"") != NULL, rows[i].next);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(words_are_found_however_they_are_written),
		WORLD_TEST(more_words_than_are_looked_for_are_told),
		WORLD_TEST(assets_are_counted_and_not_what_they_say),
		WORLD_TEST(phrases_hold_together_and_minus_leaves_out),
		WORLD_TEST(a_misspelled_word_is_found_where_nothing_is_as_it_is_written),
		WORLD_TEST(odd_texts_are_no_errors),
		WORLD_TEST(every_layer_says_where_and_when),
		WORLD_TEST(a_name_that_is_forgotten_is_found_no_more_at_once),
		WORLD_TEST(those_in_which_all_of_some_speakers_are_heard_are_found),
		WORLD_TEST(nobody_finds_or_counts_what_they_may_not_see),
		WORLD_TEST(members_of_many_channels_find_what_is_in_them),
		WORLD_TEST(limits_hold_and_what_is_wrong_with_them_is_said),
		WORLD_TEST(a_filter_is_that_of_the_list_of_assets),
		WORLD_TEST(ranges_are_of_what_the_caller_finds),
		WORLD_TEST(pages_follow_each_other_and_names_come_first),
		WORLD_TEST(addresses_of_pages_are_left_out_where_they_are_too_long),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
