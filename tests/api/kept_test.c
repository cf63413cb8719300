/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that are kept: what every change of an asset, a role or the clock does to them. */
#include <string.h>

#include "core/asset.h"
#include "core/play.h"
#include "fcgi/access.h"
#include "fcgi/kept.h"
#include "tests/world.h"

static const char *
path_of(struct world *w, struct uuid id, const char *rest)
{
	return arena_printf(w->mem, "/v2/media/%s%s", uuid_text(w->mem, id), rest);
}

static const char *
name_in(struct world *w, const char *uri)
{
	const struct req *r = call(w, "GET", uri, NULL);

	assert_int_equal(r->status, 200);
	return strchr(uri, '?') != NULL ? text(w, r, "data.0.name") : text(w, r, "data.name");
}

/* Asked for often enough that it would be kept. */
static void
ask_twice(struct world *w, const char *uri)
{
	name_in(w, uri);
	name_in(w, uri);
}

#ifndef KINOTHEK_ARENA_MALLOC	/* builds for tests stop when what was kept is not what the handler says */
/* A change that no counter tells of: what still shows the old name was kept. */
static void
rename_in_secret(struct world *w, struct uuid id, const char *name)
{
	db_run(w->db, "UPDATE media SET name = ? WHERE id = ?", ARGS(STR(name), ID(id)));
}

static void
what_is_asked_again_is_kept_until_something_changes(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat"), other = world_media(w, "video", "Dog");
	const char *uris[] = { path_of(w, id, ""), "/v2/media?perpage=5&filter=fileSize=1000%2Btype=video&sort=createdAt" };
	size_t i;

	w->keeps = true;
	for (i = 0; i < 2; i++) {
		rename_in_secret(w, id, "Cat");
		name_in(w, uris[i]);
		rename_in_secret(w, id, "Lion");
		assert_string_equal(name_in(w, uris[i]), "Lion");	/* asked once is not kept */
		rename_in_secret(w, id, "Tiger");
		assert_string_equal(name_in(w, uris[i]), "Lion");
		asset_summarise(w->db, other, SUM_TAGS);
		assert_string_equal(name_in(w, uris[i]), "Tiger");
	}
}

static void
what_is_kept_ends_with_the_addresses_in_it(void **state)
{
	struct world *w = *state;
	struct conf *conf = NEW(w->mem, struct conf);
	struct uuid id = world_media(w, "video", "Cat");
	const char *uri = path_of(w, id, "");

	w->keeps = true;
	ask_twice(w, uri);
	rename_in_secret(w, id, "Lion");
	assert_string_equal(name_in(w, uri), "Cat");
	*conf = *w->conf;
	conf->play_lifetime += 600;
	w->conf = conf;
	assert_string_equal(name_in(w, uri), "Lion");
}

/* So many addresses that both callers surely meet in the same place. */
static void
what_is_kept_for_one_caller_is_not_given_to_another(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat"), who;
	const char *uri = path_of(w, id, ""), *stranger = world_member(w, "ViewChannel", NULL, &who);
	int i;

	w->keeps = true;
	w->token = world_member(w, "ViewChannel", "Viewer", &who);
	for (i = 0; i < 1000; i++) {
		const char *list = arena_printf(w->mem, "/v2/media?perpage=%d&sort=%s", 1 + i % 50,
		    (const char *const[]){ "name", "name:desc", "createdAt", "createdAt:desc", "updatedAt", "updatedAt:desc", "fileSize",
		    "fileSize:desc", "duration", "duration:desc", "name:asc", "createdAt:asc", "updatedAt:asc", "fileSize:asc",
		    "duration:asc", "name&page=0", "createdAt&page=0", "updatedAt&page=0", "fileSize&page=0", "duration&page=0" }[i / 50]);

		ask_twice(w, list);
		assert_string_equal(text(w, call_as(w, stranger, "GET", list, NULL), "pagination.total"), "0");
	}
	ask_twice(w, uri);
	assert_int_equal(call_as(w, stranger, "GET", uri, NULL)->status, 403);
	assert_int_equal(call_as(w, world_other(w)->token, "GET", uri, NULL)->status, 404);
	assert_int_equal(call_as(w, NULL, "GET", uri, NULL)->status, 401);
}

static void
what_is_kept_for_a_superadmin_ends_with_the_office(void **state)
{
	struct world *w = *state;
	const char *uri = path_of(w, world_media(w, "video", "Cat"), "");

	w->keeps = true;
	db_run(w->db, "DELETE FROM memberships WHERE principal_id = ?", ARGS(ID(w->client_id)));
	audience_changed(w->db, w->tenant_id);
	ask_twice(w, uri);
	db_run(w->db, "UPDATE principals SET is_super_admin = 0 WHERE id = ?", ARGS(ID(w->client_id)));
	token_forget();
	assert_int_equal(call(w, "GET", uri, NULL)->status, 403);
}

static void
what_holds_no_asset_is_not_kept(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *list = "/v2/media?filter=name=Zebra";
	int i;

	w->keeps = true;
	for (i = 0; i < 3; i++)
		assert_string_equal(text(w, call(w, "GET", list, NULL), "pagination.total"), "0");
	rename_in_secret(w, id, "Zebra");
	assert_string_equal(name_in(w, list), "Zebra");
}
#endif

static struct req *
ask_from(struct world *w, const char *uri, const char *origin, const char *etag)
{
	struct req *r = NEW(w->mem, struct req);

	r->origin = origin;
	r->if_none_match = etag;
	return call_req(w, r, w->token, "GET", uri, NULL);
}

static void
a_kept_answer_is_not_bound_to_the_page_that_asked_first(void **state)
{
	struct world *w = *state;
	struct conf *conf = NEW(w->mem, struct conf);
	const char *uri = path_of(w, world_media(w, "video", "Cat"), ""), *headers, *vary;
	int i;

	*conf = *w->conf;
	conf->cors_origins = "*";
	w->conf = conf;
	w->keeps = true;
	for (i = 0; i < 3; i++)
		ask_from(w, uri, "https://one.test", NULL);
	headers = buf_string(&ask_from(w, uri, "https://two.test", NULL)->headers);
	assert_non_null(strstr(headers, "https://two.test"));
	assert_null(strstr(headers, "https://one.test"));
	vary = strstr(headers, "Vary:");
	assert_non_null(vary);
	assert_null(strstr(vary + 1, "Vary:"));
}

static void
that_nothing_is_new_is_not_kept(void **state)
{
	struct world *w = *state;
	const char *uri = path_of(w, world_media(w, "video", "Cat"), ""), *etag = call(w, "GET", uri, NULL)->etag;
	int i;

	w->keeps = true;
	for (i = 0; i < 3; i++)
		assert_int_equal(ask_from(w, uri, NULL, etag)->status, 304);
	assert_string_equal(name_in(w, uri), "Cat");
}

static void
a_kept_answer_knows_its_etag_and_its_links(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *first, *r = NEW(w->mem, struct req);
	const char *uri = path_of(w, id, "");
	int i;

	w->keeps = true;
	first = call(w, "GET", uri, NULL);
	call(w, "GET", uri, NULL);
	r->if_none_match = first->etag;
	assert_int_equal(call_req(w, r, w->token, "GET", uri, NULL)->status, 304);
	r = NEW(w->mem, struct req);
	r->if_none_match = "\"0-0-000000\"";
	assert_int_equal(call_req(w, r, w->token, "GET", uri, NULL)->status, 200);
	assert_string_equal(r->etag, first->etag);
	assert_string_equal(r->out.text, first->out.text);
	world_media(w, "video", "Dog");
	for (i = 0; i < 3; i++) {
		r = call(w, "GET", "/v2/media?perpage=1", NULL);
		assert_non_null(strstr(buf_string(&r->headers), "rel=\"next\""));
		assert_non_null(strstr(buf_string(&r->headers), "Vary: Origin"));
	}
}

/* Each way to change an asset, seen in the next answer. */
static void
every_change_ends_what_is_kept(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat"), who;
	const char *uri = path_of(w, id, ""), *list = "/v2/media?perpage=5";
	const char *viewer = world_member(w, "ViewChannel", "Viewer", &who), *job;
	static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x02\0\0\0\0\0\0\0";
	struct req *r = NEW(w->mem, struct req);

	w->keeps = true;
	ask_twice(w, uri);
	ask_twice(w, list);
	assert_int_equal(call(w, "PATCH", uri, "{\"name\":\"Lion\"}")->status, 200);
	assert_string_equal(name_in(w, uri), "Lion");
	assert_string_equal(name_in(w, list), "Lion");
	ask_twice(w, uri);
	assert_int_equal(call(w, "PATCH", uri, "{\"tags\":[\"big\"]}")->status, 200);
	assert_string_equal(text(w, call(w, "GET", uri, NULL), "data.tags.0"), "big");
	ask_twice(w, uri);
	assert_int_equal(call(w, "PUT", path_of(w, id, "/ingest"), NULL)->status, 200);
	assert_string_equal(text(w, call(w, "GET", uri, NULL), "data.ingestJob.status"), "queued");
	ask_twice(w, uri);
	job = text(w, call(w, "GET", uri, NULL), "data.ingestJob.id");
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/jobs/%s/cancel", job), NULL)->status, 200);
	assert_string_equal(text(w, call(w, "GET", uri, NULL), "data.ingestJob.status"), "cancelled");
	ask_twice(w, uri);
	r->content_type = "image/png";
	r->body_size = sizeof(png) - 1;
	assert_int_equal(call_req(w, r, w->token, "PUT", path_of(w, id, "/thumbnail"), png)->status, 200);
	assert_string_equal(text(w, call(w, "GET", uri, NULL), "data.thumbnail.width"), "2");
	ask_twice(w, uri);
	ask_twice(w, list);
	assert_int_equal(call(w, "DELETE", uri, NULL)->status, 200);
	assert_string_equal(text(w, call(w, "GET", uri, NULL), "data.status"), "softDeleted");
	assert_string_equal(text(w, call(w, "GET", list, NULL), "pagination.total"), "0");
	assert_int_equal(call(w, "PUT", path_of(w, id, "/recover"), NULL)->status, 200);
	assert_string_equal(name_in(w, list), "Lion");
	world_media(w, "video", "Dog");
	assert_string_equal(name_in(w, list), "Dog");
	call_as(w, viewer, "GET", uri, NULL);
	assert_int_equal(call_as(w, viewer, "GET", uri, NULL)->status, 200);
	db_run(w->db, "DELETE FROM memberships WHERE principal_id = ?", ARGS(ID(who)));
	audience_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, viewer, "GET", uri, NULL)->status, 403);
}

static void
much_that_is_kept_gives_way_to_new_answers(void **state)
{
	struct world *w = *state;
	struct uuid id[200];
	int i;

	w->keeps = true;
	for (i = 0; i < 200; i++)
		id[i] = world_media(w, "video", "Cat");
	db_run(w->db, "UPDATE media SET description = REPEAT('x', 4500) WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	for (i = 0; i < 600; i++)
		assert_string_equal(name_in(w, path_of(w, id[i / 3], "")), "Cat");
	for (i = 0; i < 90; i++) {	/* 100 kB each */
		assert_string_equal(name_in(w, arena_printf(w->mem, "/v2/media?perpage=20&page=%d&sort=name%s", i / 3 % 10,
		    i < 45 ? "" : ":desc")), "Cat");
		assert_true(kept_size() <= 1 << 20);
	}
	assert_true(kept_size() > 800000);
	kept_forget();
	assert_int_equal(kept_size(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef KINOTHEK_ARENA_MALLOC
		WORLD_TEST(what_is_asked_again_is_kept_until_something_changes),
		WORLD_TEST(what_is_kept_ends_with_the_addresses_in_it),
		WORLD_TEST(what_is_kept_for_one_caller_is_not_given_to_another),
		WORLD_TEST(what_is_kept_for_a_superadmin_ends_with_the_office),
		WORLD_TEST(what_holds_no_asset_is_not_kept),
#endif
		WORLD_TEST(a_kept_answer_is_not_bound_to_the_page_that_asked_first),
		WORLD_TEST(that_nothing_is_new_is_not_kept),
		WORLD_TEST(a_kept_answer_knows_its_etag_and_its_links),
		WORLD_TEST(every_change_ends_what_is_kept),
		WORLD_TEST(much_that_is_kept_gives_way_to_new_answers),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
