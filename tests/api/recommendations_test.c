/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/recommendations: what has to do with what, why, and that nobody is told of what they may not see. */
#include <string.h>

#include "tests/world.h"

#define ALL "ViewChannel ViewMetadata"

static struct uuid
asset(struct world *w, const char *name, const char *tag)
{
	struct uuid id = world_media(w, "video", name);
	struct req *r;

	if (tag != NULL) {
		r = call(w, "PATCH", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id)),
		    arena_printf(w->mem, "{\"tags\":[\"%s\"]}", tag));
		assert_int_equal(r->status, 200);
	}
	db_run(w->db, "UPDATE media SET duration = 100000 WHERE id = ?", ARGS(ID(id)));
	world_index(w, id);
	return id;
}

static void
say(struct world *w, struct uuid id, const char *text_)
{
	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)",
	    ARGS(ID(uuid_new()), ID(id),
	    STR(arena_printf(w->mem, "[{\"start\":20,\"end\":30,\"text\":\"%s\"}]", text_))));
	world_index(w, id);
}

static struct req *
like(struct world *w, const char *token, struct uuid id)
{
	return call_as(w, token, "GET", arena_printf(w->mem, "/v2/recommendations?perpage=50&mediaIds=%s",
	    uuid_text(w->mem, id)), NULL);
}

/* A member of what is said of an asset, or NULL where it is not told. */
static const char *
of(struct world *w, const struct req *r, struct uuid id, const char *member)
{
	const char *found;
	int i;

	assert_int_equal(r->status, 200);
	for (i = 0; (found = text(w, r, arena_printf(w->mem, "data.%d.media.id", i))) != NULL; i++)
		if (strcmp(found, uuid_text(w->mem, id)) == 0)
			return text(w, r, arena_printf(w->mem, "data.%d.%s", i, member));
	return NULL;
}

/* A channel that nobody else has a role in, with the asset in it alone. */
static struct uuid
hidden(struct world *w, struct uuid id)
{
	struct req *r = call(w, "POST", "/v2/channels", "{\"name\":\"Hidden\"}");
	struct uuid channel;

	assert_true(uuid_parse(text(w, r, "data.id"), &channel));
	r = call(w, "PUT", arena_printf(w->mem, "/v2/channels/%s/media/%s", text(w, r, "data.id"), uuid_text(w->mem,
	    id)),
	    NULL);
	assert_int_equal(r->status, 200);
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/channels/%s/media/%s", uuid_text(w->mem, w->channel_id),
	    uuid_text(w->mem, id)), NULL);
	assert_int_equal(r->status, 200);
	return channel;
}

static void
every_reason_is_told(void **state)
{
	struct world *w = *state;
	struct uuid seed = asset(w, "First evening", "Ornithology"), tagged = asset(w, "Second morning", "Ornithology"),
	    saying = asset(w, "Third noon", NULL), beside = asset(w, "Fourth night", NULL);
	struct req *r;
	int i;

	for (i = 0; i < 6; i++)
		asset(w, arena_printf(w->mem, "Filler%d", i), NULL);
	say(w, seed, "Look at the hoopoe");
	say(w, saying, "A hoopoe it was");
	r = like(w, w->token, seed);
	assert_string_equal(of(w, r, tagged, "reason.code"), "same_topic");
	assert_string_equal(of(w, r, saying, "reason.code"), "similar_text");
	assert_string_equal(of(w, r, saying, "reason.detail"), "hoopoe");
	assert_string_equal(of(w, r, saying, "reason.start"), "20.000");
	assert_string_equal(of(w, r, beside, "reason.code"), "same_channel");
	assert_null(of(w, r, seed, "score"));
	assert_string_equal(text(w, r, "data.0.media.id"), uuid_text(w->mem, tagged));
	assert_string_equal(buf_string(&r->out), buf_string(&like(w, w->token, seed)->out));
	/* What is derived is for tokens that read it. */
	r = like(w, world_member(w, "ViewChannel", "Viewer", NULL), seed);
	assert_string_equal(of(w, r, saying, "reason.code"), "same_channel");
	r = like(w, world_member(w, ALL, "Viewer", NULL), seed);
	assert_string_equal(of(w, r, saying, "reason.code"), "similar_text");
	/* Members of a meeting have that to do with each other. */
	r = call(w, "POST", "/v2/meetings", arena_printf(w->mem,
	    "{\"name\":\"Council\",\"startsAt\":\"2026-11-20T18:00:00Z\",\"mediaIds\":[\"%s\",\"%s\"]}",
	    uuid_text(w->mem, seed), uuid_text(w->mem, beside)));
	assert_int_equal(r->status, 201);
	r = like(w, w->token, seed);
	assert_string_equal(of(w, r, beside, "reason.code"), "same_topic");
	assert_string_equal(of(w, r, beside, "reason.detail"), "Council");
}

/* Before the jobs have come that take it from the asset and from the index. */
static void
a_name_that_is_forgotten_is_no_reason(void **state)
{
	struct world *w = *state;
	struct uuid seed = asset(w, "First", NULL), heard = asset(w, "Second", NULL);
	struct uuid adalbert;
	int i;

	for (i = 0; i < 6; i++)
		asset(w, arena_printf(w->mem, "Filler%d", i), NULL);
	say(w, seed, "Look at Adalbert");
	adalbert = world_speaker(w, heard, 1, "Adalbert", 1000);
	world_index(w, heard);
	assert_string_equal(of(w, like(w, w->token, seed), heard, "reason.detail"), "adalbert");
	db_run(w->db, "INSERT INTO voices (id, tenant_id, takes_names, created_at) VALUES (?, ?, 1, 1)",
	    ARGS(ID(adalbert), ID(w->tenant_id)));
	db_run(w->db, "UPDATE speakers SET voice_id = id WHERE id = ?", ARGS(ID(adalbert)));
	assert_string_equal(of(w, like(w, w->token, seed), heard, "reason.code"), "same_channel");
}

static void
who_is_heard_in_both_is_a_reason_for_those_who_may_know(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid seed = asset(w, "First", NULL), also = asset(w, "Second", NULL), beside = asset(w, "Third", NULL),
	    ada;
	const char *viewer = world_member(w, "ViewChannel", "Viewer", NULL);
	struct req *r;

	world_speaker(w, seed, 1, "Ada Berg", 0);
	world_speaker(w, seed, 2, NULL, 5000);
	ada = world_speaker(w, also, 1, "Ada Berg", 12000);
	world_speaker(w, beside, 1, "Bob Cole", 0);
	world_speaker(w, beside, 2, NULL, 5000);
	world_speaker(other, world_media(other, "video", "Theirs"), 1, "Ada Berg", 0);
	r = like(w, w->token, seed);
	assert_string_equal(of(w, r, also, "reason.code"), "same_speaker");
	assert_string_equal(of(w, r, also, "reason.detail"), "Ada Berg");
	assert_string_equal(of(w, r, also, "reason.start"), "12.000");
	assert_string_equal(of(w, r, beside, "reason.code"), "same_channel");
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_string_equal(of(w, like(w, viewer, seed), also, "reason.code"), "same_channel");
	db_run(w->db, "UPDATE speakers SET forgotten_at = 1 WHERE id = ?", ARGS(ID(ada)));
	assert_string_equal(of(w, like(w, w->token, seed), also, "reason.code"), "same_channel");
}

static void
sections_and_channels_are_begun_with_too(void **state)
{
	struct world *w = *state;
	struct uuid seed = asset(w, "First", NULL), saying = asset(w, "Second", NULL);
	struct req *r;
	const char *section;
	int i;

	for (i = 0; i < 6; i++)
		asset(w, arena_printf(w->mem, "Filler%d", i), NULL);
	say(w, saying, "A hoopoe it was");
	say(w, seed, "Look at the hoopoe");
	r = call(w, "POST", arena_printf(w->mem, "/v2/media/%s/sections", uuid_text(w->mem, seed)),
	    "{\"type\":\"timerange\",\"start\":15,\"end\":25}");
	section = text(w, r, "data.id");
	r = call(w, "GET", arena_printf(w->mem, "/v2/recommendations?sectionIds=%s", section), NULL);
	assert_string_equal(of(w, r, saying, "reason.code"), "similar_text");
	assert_string_equal(of(w, r, saying, "reason.sectionId"), section);
	r = call(w, "POST", arena_printf(w->mem, "/v2/media/%s/sections", uuid_text(w->mem, seed)),
	    "{\"type\":\"timerange\",\"start\":40,\"end\":50}");
	r = call(w, "GET", arena_printf(w->mem, "/v2/recommendations?sectionIds=%s", text(w, r, "data.id")), NULL);
	assert_string_equal(of(w, r, saying, "reason.code"), "same_channel");
	r = call(w, "GET", arena_printf(w->mem, "/v2/recommendations?channelIds=%s", uuid_text(w->mem,
	    w->channel_id)), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "8");
	assert_int_equal(call(w, "GET", "/v2/recommendations", NULL)->status, 422);
}

/* By tag, word, meeting and channel at once. */
static void
nobody_is_told_of_what_they_may_not_see(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid seed = asset(w, "First", "Ornithology"), secret = asset(w, "Second", "Ornithology"),
	    foreign = asset(other, "Third", "Ornithology"), principal, channel;
	const char *member = world_member(w, ALL, "Viewer", &principal), *stranger = world_member(w, ALL, NULL, NULL);
	struct req *r;
	int i;

	for (i = 0; i < 6; i++)
		asset(w, arena_printf(w->mem, "Filler%d", i), NULL);
	say(w, seed, "Look at the hoopoe");
	say(w, secret, "A hoopoe it was");
	say(other, foreign, "A hoopoe too");
	r = call(w, "POST", "/v2/meetings", arena_printf(w->mem,
	    "{\"name\":\"Council\",\"startsAt\":\"2026-11-20T18:00:00Z\",\"mediaIds\":[\"%s\",\"%s\"]}",
	    uuid_text(w->mem, seed), uuid_text(w->mem, secret)));
	assert_int_equal(r->status, 201);
	assert_non_null(of(w, like(w, member, seed), secret, "score"));
	channel = hidden(w, secret);
	r = like(w, member, seed);
	assert_null(of(w, r, secret, "score"));
	assert_string_equal(text(w, r, "pagination.total"), "6");
	world_role(w, channel, principal, "Viewer");
	assert_non_null(of(w, like(w, member, seed), secret, "score"));
	/* A role that was just taken away counts no more. */
	world_role(w, channel, principal, NULL);
	assert_null(of(w, like(w, member, seed), secret, "score"));
	assert_null(of(w, like(w, w->token, seed), foreign, "score"));
	assert_int_equal(like(w, stranger, seed)->status, 422);
	assert_int_equal(like(other, other->token, seed)->status, 422);
	r = call_as(w, stranger, "GET", "/v2/recommendations/user/current", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
	world_role(w, w->channel_id, principal, NULL);
	assert_int_equal(like(w, member, seed)->status, 422);
}

static void
people_go_on_with_what_they_have_begun(void **state)
{
	struct world *w = *state;
	struct uuid begun = asset(w, "First", "Ornithology"), ended = asset(w, "Second", "Ornithology"),
	    next = asset(w, "Third", "Ornithology"), principal;
	const char *member = world_member(w, ALL, "Viewer", &principal);
	struct req *r;

	r = call_as(w, member, "PUT", arena_printf(w->mem, "/v2/media/%s/history", uuid_text(w->mem, begun)),
	    "{\"position\":40}");
	assert_int_equal(r->status, 200);
	r = call_as(w, member, "PUT", arena_printf(w->mem, "/v2/media/%s/history", uuid_text(w->mem, ended)),
	    "{\"position\":99}");
	assert_int_equal(r->status, 200);
	r = call_as(w, member, "GET", "/v2/recommendations/user/current", NULL);
	assert_string_equal(text(w, r, "data.0.media.id"), uuid_text(w->mem, begun));
	assert_string_equal(text(w, r, "data.0.reason.code"), "watched_next");
	assert_string_equal(text(w, r, "data.0.reason.start"), "40.000");
	assert_string_equal(of(w, r, next, "reason.code"), "same_topic");
	assert_null(of(w, r, ended, "score"));
	/* It is nobody else's history. */
	r = call(w, "GET", "/v2/recommendations/user/current", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
	world_role(w, w->channel_id, principal, NULL);
	r = call_as(w, member, "GET", "/v2/recommendations/user/current", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(every_reason_is_told),
		WORLD_TEST(a_name_that_is_forgotten_is_no_reason),
		WORLD_TEST(who_is_heard_in_both_is_a_reason_for_those_who_may_know),
		WORLD_TEST(sections_and_channels_are_begun_with_too),
		WORLD_TEST(nobody_is_told_of_what_they_may_not_see),
		WORLD_TEST(people_go_on_with_what_they_have_begun),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
