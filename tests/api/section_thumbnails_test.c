/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures that clients set for sections: whose they are, what they take, and when their files go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store.h"
#include "tests/world.h"

struct picture { const char *bytes; size_t n; };

static struct picture
made(struct world *w, const char *command)
{
	enum { ROOM = 1 << 20 };
	char *bytes = arena_alloc(w->mem, ROOM);
	FILE *f = popen(command, "r");
	struct picture p;

	assert_non_null(f);
	p = (struct picture){ bytes, fread(bytes, 1, ROOM, f) };
	assert_int_equal(pclose(f), 0);
	return p;
}

static struct picture
red(struct world *w)
{
	return made(w, "/usr/bin/convert -size 300x200 xc:red jpeg:-");
}

static const char *
film(struct world *w)
{
	struct uuid id = world_media(w, "video", "Council");

	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(id)));
	return arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id));
}

/* The address of a section, in the context of a chapter or of none. */
static const char *
section(struct world *w, const char *of, const char *chapter)
{
	struct req *r = call(w, "POST", arena_printf(w->mem, "%s/sections", of), chapter == NULL ?
	    "{\"type\":\"marker\",\"time\":5}" : arena_printf(w->mem,
	    "{\"type\":\"marker\",\"time\":5,\"chapterId\":\"%s\"}", chapter));

	assert_int_equal(r->status, 201);
	return arena_printf(w->mem, "%s/sections/%s", of, text(w, r, "data.id"));
}

static struct req *
put(struct world *w, const char *of, struct picture p)
{
	struct req *r = NEW(w->mem, struct req);

	r->content_type = "image/jpeg";
	r->body_size = p.n;
	return call_req(w, r, w->token, "PUT", arena_printf(w->mem, "%s/thumbnail", of), p.bytes);
}

static int64_t
used(struct world *w)
{
	return db_number(w->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?", ARGS(ID(w->tenant_id)),
	    -1);
}

/* Files that a job is to delete. */
static int64_t
leaving(struct world *w)
{
	return db_number(w->db, "SELECT COALESCE(SUM(JSON_LENGTH(args, '$.keys')), 0) FROM jobs WHERE kind = 'purge' "
	    "AND tenant_id = ?", ARGS(ID(w->tenant_id)), -1);
}

static void
a_picture_that_is_set_is_shown_until_it_is_taken_away(void **state)
{
	struct world *w = *state;
	const char *of = section(w, film(w), NULL), *thumbnail = arena_printf(w->mem, "%s/thumbnail", of), *url;
	int64_t before = used(w);
	struct req *r;

	assert_int_equal(call(w, "GET", thumbnail, NULL)->status, 404);
	assert_int_equal(call(w, "DELETE", thumbnail, NULL)->status, 404);
	r = put(w, of, red(w));
	assert_int_equal(r->status, 200);
	url = text(w, r, "data.url");
	assert_string_equal(text(w, r, "data.width"), "300");
	assert_string_equal(text(w, r, "data.mimeType"), "image/jpeg");
	assert_string_equal(text(w, call(w, "GET", thumbnail, NULL), "data.url"), url);
	assert_string_equal(text(w, call(w, "GET", of, NULL), "data.thumbnail.url"), url);
	assert_true(used(w) > before);
	assert_int_equal(number(w, "FROM events WHERE type = 'section.updated' AND tenant_id = ?",
	    ARGS(ID(w->tenant_id))), 1);
	r = call(w, "DELETE", thumbnail, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.permanent"), "false");
	assert_int_equal(used(w), before);
	assert_int_equal(leaving(w), 2);
	assert_int_equal(call(w, "GET", thumbnail, NULL)->status, 404);
	assert_null(text(w, call(w, "GET", of, NULL), "data.thumbnail.url"));
}

static void
what_is_no_picture_is_refused_and_leaves_nothing(void **state)
{
	struct world *w = *state;
	const char *of = section(w, film(w), NULL);
	int64_t before = used(w);

	assert_int_equal(put(w, of, (struct picture){ "GIF89a", 6 })->status, 422);
	assert_int_equal(put(w, of, (struct picture){ "", 0 })->status, 422);
	assert_int_equal(used(w), before);
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "%s/thumbnail", of), NULL)->status, 404);
}

static void
another_picture_takes_the_place_of_the_first(void **state)
{
	struct world *w = *state;
	const char *of = section(w, film(w), NULL), *first, *second;
	int64_t before = used(w), with_one;

	first = text(w, put(w, of, red(w)), "data.url");
	with_one = used(w);
	second = text(w, put(w, of, red(w)), "data.url");
	assert_string_not_equal(first, second);
	assert_int_equal(used(w), with_one);
	assert_int_equal(leaving(w), 2);
	assert_int_equal(call(w, "DELETE", of, NULL)->status, 200);
	assert_int_equal(used(w), before);
	assert_int_equal(leaving(w), 4);
}

/* The file of a copy is that of what was copied, and goes with the last of them; each of them counts. */
static void
copies_share_a_file_and_it_goes_with_the_last_of_them(void **state)
{
	struct world *w = *state;
	const char *of = film(w), *chapters = arena_printf(w->mem, "%s/chapters", of), *chapter, *copy, *marker;
	int64_t before = used(w), one;
	struct req *r;

	chapter = text(w, call(w, "POST", chapters, "{\"name\":\"Agenda\"}"), "data.id");
	marker = section(w, of, chapter);
	assert_int_equal(put(w, marker, red(w))->status, 200);
	one = used(w) - before;
	r = call(w, "PUT", arena_printf(w->mem, "%s/%s/copy", chapters, chapter), NULL);
	assert_int_equal(r->status, 200);
	copy = text(w, r, "data.id");
	assert_int_equal(used(w), before + 2 * one);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "%s/%s", chapters, chapter), NULL)->status, 200);
	assert_int_equal(used(w), before + one);
	assert_int_equal(leaving(w), 0);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "%s/%s", chapters, copy), NULL)->status, 200);
	assert_int_equal(used(w), before);
	assert_int_equal(leaving(w), 2);
}

static void
they_go_with_the_asset(void **state)
{
	struct world *w = *state;
	int64_t before = used(w);
	const char *of = film(w), *marker = section(w, of, NULL);

	assert_int_equal(put(w, marker, red(w))->status, 200);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "%s?permanent=true", of), NULL)->status, 200);
	assert_int_equal(used(w), before);
	/* The original, what is served, what a livestream has recorded, and the picture beside the first. */
	assert_int_equal(leaving(w), 4);
}

static void
a_quota_that_has_no_room_refuses_it(void **state)
{
	struct world *w = *state;
	const char *of = section(w, film(w), NULL);
	int64_t before = used(w);

	db_run(w->db, "UPDATE tenants SET storage_quota = ? WHERE id = ?", ARGS(INT(before + 10), ID(w->tenant_id)));
	assert_int_equal(put(w, of, red(w))->status, 507);
	assert_int_equal(used(w), before);
	db_run(w->db, "UPDATE tenants SET storage_quota = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_picture_that_is_set_is_shown_until_it_is_taken_away),
		WORLD_TEST(what_is_no_picture_is_refused_and_leaves_nothing),
		WORLD_TEST(another_picture_takes_the_place_of_the_first),
		WORLD_TEST(copies_share_a_file_and_it_goes_with_the_last_of_them),
		WORLD_TEST(they_go_with_the_asset),
		WORLD_TEST(a_quota_that_has_no_room_refuses_it),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
