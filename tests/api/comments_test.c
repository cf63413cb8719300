/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comments: who writes, answers, changes and deletes them, and in which order they are told. */
#include <stdlib.h>
#include <string.h>

#include "core/role.h"
#include "tests/world.h"

static struct uuid
asset(struct world *w, const char *type)
{
	struct uuid id = world_media(w, type, "Council");

	if (strcmp(type, "image") != 0)
		db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(id)));
	return id;
}

static const char *
comments_of(struct world *w, struct uuid id)
{
	return arena_printf(w->mem, "/v2/media/%s/comments", uuid_text(w->mem, id));
}

static const char *
id_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* Its address. */
static const char *
write_as(struct world *w, const char *token, const char *of, const char *body)
{
	struct req *r = call_as(w, token, "POST", of, body);

	if (r->status != 201)
		fail_msg("%s: %s", body, buf_string(&r->out));
	return arena_printf(w->mem, "%s/%s", of, text(w, r, "data.id"));
}

static const char *
answer_to(struct world *w, const char *comment, const char *says)
{
	const char *of = arena_copy_n(w->mem, comment, (size_t)(strrchr(comment, '/') - comment));

	return write_as(w, w->token, of, arena_printf(w->mem, "{\"text\":\"%s\",\"parentId\":\"%s\"}", says,
	    id_of(comment)));
}

static int
status(struct world *w, const char *token, const char *method, const char *path, const char *body)
{
	return call_as(w, token, method, path, body)->status;
}

static const char *
repeated(struct world *w, const char *what, int n)
{
	struct buf b = BUF(w->mem);

	while (n-- > 0)
		buf_text(&b, what);
	return buf_string(&b);
}

static void
bad_ones_are_refused_and_change_nothing(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w, "video");
	const char *of = comments_of(w, id), *elsewhere = write_as(w, w->token, comments_of(w, asset(w, "audio")),
	    "{\"text\":\"Over there\"}");
	const struct { const char *body, *pointer, *code; } bad[] = {
		{ "{}", "/text", "required" },
		{ "{\"text\":null}", "/text", "required" },
		{ "{\"text\":\"\"}", "/text", "too_short" },
		{ "{\"text\":7}", "/text", "type" },
		{ arena_printf(w->mem, "{\"text\":\"%s\"}", repeated(w, "😀", 5001)), "/text", "too_long" },
		{ "{\"text\":\"a\\u0007b\"}", "/text", "control_characters" },
		{ "{\"text\":\"a\",\"time\":60.001}", "/time", "too_large" },
		{ "{\"text\":\"a\",\"time\":-1}", "/time", "too_small" },
		{ "{\"text\":\"a\",\"time\":\"1\"}", "/time", "type" },
		{ "{\"text\":\"a\",\"author\":{}}", "/author", "read_only" },
		{ "{\"text\":\"a\",\"parentId\":\"019a0000-0000-7000-8000-000000000000\"}", "/parentId", "not_found" },
		{ arena_printf(w->mem, "{\"text\":\"a\",\"parentId\":\"%s\"}", id_of(elsewhere)), "/parentId",
		    "not_found" },
	};
	const char *still = comments_of(w, asset(w, "image"));
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "POST", of, bad[i].body);
		if (r->status != 422 || !has_fault(r, bad[i].pointer, bad[i].code))
			fail_msg("%.60s: %s", bad[i].body, buf_string(&r->out));
	}
	assert_int_equal(number(w, "FROM comments WHERE media_id = ?", ARGS(ID(id))), 0);
	assert_int_equal(number(w, "FROM events WHERE media_id = ?", ARGS(ID(id))), 0);
	r = call(w, "POST", still, "{\"text\":\"a\",\"time\":0}");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/time", "not_allowed"));
	write_as(w, w->token, still, "{\"text\":\"Fine\"}");
	write_as(w, w->token, of, arena_printf(w->mem, "{\"text\":\"%s\",\"time\":60}", repeated(w, "😀", 5000)));
}

static void
what_was_written_is_told_as_it_was_with_its_author(void **state)
{
	struct world *w = *state;
	struct uuid ann_id;
	const char *of = comments_of(w, asset(w, "video")), *ann = world_member(w, "email", "Viewer", &ann_id), *one;
	struct req *r;

	one = write_as(w, ann, of, "{\"text\":\"<b>Who</b>\\n\\tis \\\"this\\\"? \\u202e&amp;\",\"time\":12.3456}");
	r = call(w, "GET", one, NULL);
	assert_string_equal(text(w, r, "data.text"), "<b>Who</b>\n\tis \"this\"? \xe2\x80\xae&amp;");
	assert_string_equal(text(w, r, "data.time"), "12.346");
	assert_string_equal(text(w, r, "data.author.id"), uuid_text(w->mem, ann_id));
	assert_string_equal(text(w, r, "data.author.name"), db_text(w->db, "SELECT name FROM principals WHERE id = ?",
	    ARGS(ID(ann_id))));
	assert_null(text(w, r, "data.parentId"));
	assert_null(text(w, r, "data.principalId"));
	r = call_as(w, ann, "PUT", one, "{\"text\":\"Nobody\",\"time\":null}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.text"), "Nobody");
	assert_null(text(w, r, "data.time"));
	r = call_as(w, ann, "PUT", one, "{\"time\":3}");
	assert_string_equal(text(w, r, "data.text"), "Nobody");
	assert_string_equal(text(w, r, "data.time"), "3.000");
	assert_int_equal(status(w, ann, "PUT", one, "{\"text\":null}"), 422);
	assert_int_equal(status(w, ann, "PUT", one, "{\"time\":61}"), 422);
	assert_int_equal(status(w, ann, "PUT", one, "{\"parentId\":null}"), 422);
	assert_string_equal(text(w, call(w, "GET", one, NULL), "data.time"), "3.000");
}

static void
those_about_all_of_it_come_first_and_then_by_time(void **state)
{
	static const char *const bodies[] = { "{\"text\":\"D\",\"time\":9}", "{\"text\":\"A\"}",
	    "{\"text\":\"C\",\"time\":1}", "{\"text\":\"E\",\"time\":9}", "{\"text\":\"B\"}" };
	static const char *const order[] = { "A", "B", "C", "D", "E" };
	struct world *w = *state;
	const char *of = comments_of(w, asset(w, "video")), *next;
	struct req *r;
	size_t i;

	for (i = 0; i < 5; i++)
		write_as(w, w->token, of, bodies[i]);
	r = call(w, "GET", of, NULL);
	for (i = 0; i < 5; i++)
		assert_string_equal(text(w, r, arena_printf(w->mem, "data.%zu.text", i)), order[i]);
	for (i = 0, next = arena_printf(w->mem, "%s?perpage=1", of); next != NULL; i++) {
		r = call(w, "GET", next, NULL);
		assert_string_equal(text(w, r, "data.0.text"), order[i]);
		next = text(w, r, "pagination.next");
		next = next != NULL ? arena_printf(w->mem, "%s?perpage=1&after=%s", of, next) : NULL;
	}
	assert_int_equal(i, 5);
}

static void
an_answer_is_answered_and_no_more_and_all_go_with_the_first(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w, "video");
	const char *of = comments_of(w, id), *one = write_as(w, w->token, of, "{\"text\":\"One\",\"time\":5}"),
	    *two = answer_to(w, one, "Two"), *three = answer_to(w, two, "Three"), *other = answer_to(w, one, "Other");
	struct req *r;

	r = call(w, "POST", of, arena_printf(w->mem, "{\"text\":\"Four\",\"parentId\":\"%s\"}", id_of(three)));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/parentId", "not_allowed"));
	r = call(w, "GET", arena_printf(w->mem, "%s?filter=parentId%%3D%s", of, id_of(one)), NULL);
	assert_string_equal(text(w, r, "data.0.text"), "Two");
	assert_string_equal(text(w, r, "data.1.text"), "Other");
	assert_null(text(w, r, "data.2.text"));
	assert_int_equal(status(w, w->token, "DELETE", two, NULL), 200);
	assert_int_equal(status(w, w->token, "GET", three, NULL), 404);
	assert_int_equal(status(w, w->token, "GET", other, NULL), 200);
	assert_int_equal(status(w, w->token, "DELETE", one, NULL), 200);
	assert_int_equal(number(w, "FROM comments WHERE media_id = ?", ARGS(ID(id))), 0);
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'comment.deleted'", ARGS(ID(id))), 2);
}

/* By what they may do now, not when they wrote it. */
static void
only_authors_owners_and_super_admins_change_what_is_there(void **state)
{
	struct world *w = *state;
	struct uuid ann_id;
	const char *of = comments_of(w, asset(w, "video")), *ann = world_member(w, "email", "Viewer", &ann_id),
	    *bob = world_member(w, "email CreateContent", "Publisher", NULL), *owner = world_member(w, "email",
	    "Channel Owner", NULL), *one = write_as(w, ann, of, "{\"text\":\"Mine\"}");

	assert_int_equal(status(w, bob, "GET", one, NULL), 200);
	assert_int_equal(status(w, bob, "PUT", one, "{\"text\":\"His\"}"), 403);
	assert_int_equal(status(w, bob, "DELETE", one, NULL), 403);
	assert_int_equal(status(w, owner, "PUT", one, "{\"text\":\"Moderated\"}"), 200);
	assert_string_equal(text(w, call(w, "GET", one, NULL), "data.author.id"), uuid_text(w->mem, ann_id));
	assert_int_equal(status(w, ann, "PUT", one, "{\"text\":\"Mine again\"}"), 200);
	world_role(w, w->channel_id, ann_id, NULL);
	assert_int_equal(status(w, ann, "GET", of, NULL), 403);
	assert_int_equal(status(w, ann, "POST", of, "{\"text\":\"More\"}"), 403);
	assert_int_equal(status(w, ann, "PUT", one, "{\"text\":\"Gone\"}"), 403);
	assert_int_equal(status(w, ann, "DELETE", one, NULL), 403);
	assert_int_equal(status(w, w->token, "DELETE", one, NULL), 200);
}

static void
they_go_with_their_asset_and_are_too_many_at_ten_thousand(void **state)
{
	struct world *w = *state;
	struct uuid id = asset(w, "video");
	const char *of = comments_of(w, id), *one = write_as(w, w->token, of, "{\"text\":\"One\"}");
	int i;

	answer_to(w, answer_to(w, one, "Two"), "Three");
	for (i = 0; i < 13; i++)
		db_run(w->db, "INSERT INTO comments (id, media_id, principal_id, text, created_at, updated_at) SELECT "
		    "UNHEX(REPLACE(UUID(), '-', '')), media_id, principal_id, text, 1, 1 FROM comments WHERE "
		    "media_id = ? LIMIT ?", ARGS(ID(id), INT(9999 - number(w, "FROM comments WHERE media_id = ?",
		    ARGS(ID(id))))));
	assert_int_equal(number(w, "FROM comments WHERE media_id = ?", ARGS(ID(id))), 9999);
	write_as(w, w->token, of, "{\"text\":\"The last\"}");
	assert_int_equal(status(w, w->token, "POST", of, "{\"text\":\"One more\"}"), 409);
	assert_int_equal(status(w, w->token, "DELETE", arena_printf(w->mem, "/v2/media/%s?permanent=true",
	    uuid_text(w->mem, id)), NULL), 200);
	assert_int_equal(number(w, "FROM comments WHERE media_id = ?", ARGS(ID(id))), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(bad_ones_are_refused_and_change_nothing),
		WORLD_TEST(what_was_written_is_told_as_it_was_with_its_author),
		WORLD_TEST(those_about_all_of_it_come_first_and_then_by_time),
		WORLD_TEST(an_answer_is_answered_and_no_more_and_all_go_with_the_first),
		WORLD_TEST(only_authors_owners_and_super_admins_change_what_is_there),
		WORLD_TEST(they_go_with_their_asset_and_are_too_many_at_ten_thousand),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
