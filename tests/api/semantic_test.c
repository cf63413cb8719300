/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/search/semantic: what is said in other words is found where it is said, and by nobody who may not see it. */
#include <stdlib.h>
#include <string.h>

#include "core/meaning.h"
#include "tests/world.h"

#define ALL "ViewChannel ViewMetadata"

static void
say(struct world *w, struct uuid id, const char *text_)
{
	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)",
	    ARGS(ID(uuid_new()), ID(id),
	    STR(arena_printf(w->mem, "[{\"start\":20,\"end\":30,\"text\":\"%s\"}]", text_))));
	world_embed(w, id);
}

static struct uuid
asset(struct world *w, const char *text_)
{
	struct uuid id = world_media(w, "video", "Untitled");

	say(w, id, text_);
	return id;
}

static struct req *
ask_as(struct world *w, const char *token, const char *text_, const char *more)
{
	return call_as(w, token, "GET", arena_printf(w->mem, "/v2/search/semantic?perpage=50&text=%s%s",
	    percent_encode(w->mem, text_), more), NULL);
}

static struct req *
like(struct world *w, const char *token, struct uuid id)
{
	return call_as(w, token, "GET", arena_printf(w->mem, "/v2/search/semantic?perpage=50&mediaId=%s",
	    uuid_text(w->mem, id)), NULL);
}

/* A member of what is told of an asset, or NULL where it is not told. */
static const char *
of(struct world *w, const struct req *r, struct uuid id, const char *member)
{
	const char *found;
	int i;

	assert_int_equal(r->status, 200);
	for (i = 0; (found = text(w, r, arena_printf(w->mem, "data.%d.id", i))) != NULL; i++)
		if (strcmp(found, uuid_text(w->mem, id)) == 0)
			return text(w, r, arena_printf(w->mem, "data.%d.%s", i, member));
	return NULL;
}

#define MEDICINE "The physician prescribed a remedy against the infection, and the patient recovered."
#define RAILWAY "The locomotive pulls its coaches from one railway station to the next."
#define COOKING "Knead the dough of flour and yeast and put the loaf into the oven."

static void
the_nearest_comes_first_with_its_place(void **state)
{
	struct world *w = *state;
	struct uuid medicine = asset(w, MEDICINE), railway = asset(w, RAILWAY);
	struct req *r;

	asset(w, COOKING);
	r = ask_as(w, w->token, "doctors who cure illness", "");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, medicine));
	assert_string_equal(text(w, r, "data.0.passages.0.field"), "transcript");
	assert_string_equal(text(w, r, "data.0.passages.0.text"), MEDICINE);
	assert_string_equal(text(w, r, "data.0.passages.0.start"), "20.000");
	assert_string_equal(text(w, r, "data.0.passages.0.end"), "30.000");
	assert_string_equal(text(w, r, "data.0.score"), text(w, r, "data.0.passages.0.score"));
	assert_string_equal(text(w, r, "pagination.totalExact"), "true");
	r = ask_as(w, w->token, "travelling by train", "");
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, railway));
}

static void
others_are_like_an_asset_that_says_the_same(void **state)
{
	struct world *w = *state;
	struct uuid seed = asset(w, MEDICINE), near = asset(w, "A doctor treats the sick with drugs.");
	struct req *r;

	asset(w, RAILWAY);
	r = like(w, w->token, seed);
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, near));
	assert_null(of(w, r, seed, "score"));
	assert_int_equal(like(w, w->token, uuid_new())->status, 422);
	assert_int_equal(call(w, "GET", "/v2/search/semantic", NULL)->status, 422);
	r = call(w, "GET", arena_printf(w->mem, "/v2/search/semantic?text=x&mediaId=%s",
	    uuid_text(w->mem, seed)), NULL);
	assert_int_equal(r->status, 422);
}

static void
limits_hold(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w, MEDICINE);
	const char *q = "doctors who cure illness";
	struct req *r;

	assert_non_null(of(w, ask_as(w, w->token, q, "&assetTypes=video,audio"), id, "score"));
	assert_null(of(w, ask_as(w, w->token, q, "&assetTypes=document"), id, "score"));
	assert_null(of(w, ask_as(w, w->token, q, "&fields=document_content,name"), id, "score"));
	assert_non_null(of(w, ask_as(w, w->token, q, "&fields=transcript"), id, "score"));
	assert_non_null(of(w, ask_as(w, w->token, q, arena_printf(w->mem, "&channelId=%s", uuid_text(w->mem,
	    w->channel_id))), id, "score"));
	r = ask_as(w, w->token, q, arena_printf(w->mem, "&channelId=%s", uuid_text(w->mem, uuid_new())));
	assert_int_equal(r->status, 422);
	assert_int_equal(ask_as(w, w->token, q, "&fields=nowhere")->status, 422);
	assert_int_equal(ask_as(w, w->token, q, "&sort=name")->status, 422);
	assert_string_equal(text(w, ask_as(w, w->token, "the of and", ""), "pagination.total"), "0");
}

/* Vectors of another engine are numbers that say nothing. */
static void
vectors_of_other_engines_are_not_compared(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w, MEDICINE);

	assert_non_null(of(w, ask_as(w, w->token, "doctors who cure illness", ""), id, "score"));
	db_run(w->db, "UPDATE excerpts SET engine = 'another' WHERE media_id = ?", ARGS(ID(id)));
	assert_null(of(w, ask_as(w, w->token, "doctors who cure illness", ""), id, "score"));
}

static struct uuid
hidden(struct world *w, struct uuid id)
{
	struct req *r = call(w, "POST", "/v2/channels", "{\"name\":\"Hidden\"}");
	struct uuid channel;

	assert_true(uuid_parse(text(w, r, "data.id"), &channel));
	r = call(w, "PUT", arena_printf(w->mem, "/v2/channels/%s/media/%s", text(w, r, "data.id"), uuid_text(w->mem,
	    id)), NULL);
	assert_int_equal(r->status, 200);
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/channels/%s/media/%s", uuid_text(w->mem, w->channel_id),
	    uuid_text(w->mem, id)), NULL);
	assert_int_equal(r->status, 200);
	return channel;
}

static void
nobody_finds_what_they_may_not_see(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid open = asset(w, MEDICINE), secret = asset(w, MEDICINE),
	    foreign = asset(other, MEDICINE), principal, channel;
	const char *member = world_member(w, ALL, "Viewer", &principal), *stranger = world_member(w, ALL, NULL, NULL),
	    *q = "doctors who cure illness";
	struct req *r;

	assert_non_null(of(w, ask_as(w, member, q, ""), secret, "score"));
	channel = hidden(w, secret);
	r = ask_as(w, member, q, "");
	assert_null(of(w, r, secret, "score"));
	assert_non_null(of(w, r, open, "score"));
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_int_equal(like(w, member, secret)->status, 422);
	world_role(w, channel, principal, "Viewer");
	assert_non_null(of(w, ask_as(w, member, q, ""), secret, "score"));
	/* A role that was just taken away counts no more. */
	world_role(w, channel, principal, NULL);
	assert_null(of(w, ask_as(w, member, q, ""), secret, "score"));
	assert_null(of(w, ask_as(w, w->token, q, ""), foreign, "score"));
	assert_string_equal(text(w, ask_as(other, other->token, q, ""), "pagination.total"), "1");
	assert_string_equal(text(w, ask_as(w, stranger, q, ""), "pagination.total"), "0");
	assert_int_equal(like(w, stranger, open)->status, 422);
	assert_int_equal(like(other, other->token, open)->status, 422);
	/* What is derived is for tokens that read it. */
	r = ask_as(w, world_member(w, "ViewChannel", "Viewer", NULL), q, "");
	assert_null(of(w, r, open, "score"));
	/* What is deleted is not there. */
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, open)), NULL);
	assert_int_equal(r->status, 200);
	assert_null(of(w, ask_as(w, w->token, q, ""), open, "score"));
}

/* More assets than one statement looks at: the newest and the oldest alike. */
static void
all_assets_are_looked_at(void **state)
{
	struct world *w = *state;
	struct uuid oldest, newest;
	struct req *r;

	world_fill(w, w->channel_id, 1024);
	assert_true(uuid_parse(db_text(w->db, "SELECT LOWER(CONCAT_WS('-', SUBSTR(h, 1, 8), SUBSTR(h, 9, 4), "
	    "SUBSTR(h, 13, 4), SUBSTR(h, 17, 4), SUBSTR(h, 21))) FROM (SELECT HEX(MIN(id)) AS h FROM media WHERE tenant_id = ?) x",
	    ARGS(ID(w->tenant_id))), &oldest));
	say(w, oldest, MEDICINE);
	newest = asset(w, MEDICINE);
	r = ask_as(w, w->token, "doctors who cure illness", "");
	assert_string_equal(text(w, r, "pagination.totalExact"), "true");
	assert_non_null(of(w, r, oldest, "score"));
	assert_non_null(of(w, r, newest, "score"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_nearest_comes_first_with_its_place),
		WORLD_TEST(others_are_like_an_asset_that_says_the_same),
		WORLD_TEST(limits_hold),
		WORLD_TEST(vectors_of_other_engines_are_not_compared),
		WORLD_TEST(nobody_finds_what_they_may_not_see),
		WORLD_TEST(all_assets_are_looked_at),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
