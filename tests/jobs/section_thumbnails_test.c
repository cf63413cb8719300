/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sections show of where they begin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store.h"
#include "tests/jobs/intake.h"

/* Three seconds of black, five of red, five of blue; a key frame at the beginning of each second. */
static const char film[] = "ffmpeg -v error -nostdin -y -f lavfi -i color=black:s=320x180:r=25:d=3 -f lavfi -i "
    "color=red:s=320x180:r=25:d=5 -f lavfi -i color=blue:s=320x180:r=25:d=5 -filter_complex '[0][1][2]concat=n=3' "
    "-c:v libx264 -preset ultrafast -g 25 -pix_fmt yuv420p -f mp4 \"$f\"";

static struct uuid
add(struct world *w, struct uuid media, const char *body)
{
	struct req *r = call(w, "POST", arena_printf(w->mem, "/v2/media/%s/sections", uuid_text(w->mem, media)), body);
	struct uuid id;

	assert_int_equal(r->status, 201);
	assert_null(text(w, r, "data.thumbnail.url"));		/* not yet */
	assert_true(uuid_parse(text(w, r, "data.id"), &id));
	return id;
}

static const char *
file_of(struct world *w, struct uuid id)
{
	return db_text(w->db, "SELECT thumbnail_file FROM sections WHERE id = ?", ARGS(ID(id)));
}

/* The colour of a picture on average: "black", "red", "blue". */
static const char *
colour(struct world *w, struct uuid media, struct uuid id)
{
	const char *file = file_of(w, id), *path = file == NULL ? NULL : world_file(w->mem, store_key_play(w->mem,
	    media, file));
	int c[3] = { 0 };
	FILE *f;

	if (path == NULL)
		return "none";
	f = popen(arena_printf(w->mem, "/usr/bin/convert '%s' -resize 1x1! -depth 8 -format "
	    "'%%[fx:int(255*r)] %%[fx:int(255*g)] %%[fx:int(255*b)]' info:", path), "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d %d %d", &c[0], &c[1], &c[2]), 3);
	assert_int_equal(pclose(f), 0);
	return c[0] > 200 && c[1] < 60 && c[2] < 60 ? "red" : c[2] > 200 && c[0] < 60 && c[1] < 60 ? "blue" :
	    c[0] + c[1] + c[2] < 60 ? "black" : "another";
}

static void
go(struct world *w)
{
	struct conf conf = *w->conf;

	conf.job_kinds = "section_thumbnails";
	db_run(w->db, "UPDATE jobs SET run_at = 0 WHERE kind = 'section_thumbnails' AND state = 'delayed'", NO_ARGS);
	drain(w, &conf);
}

static void
a_section_shows_where_it_begins_or_what_follows_the_dark(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film)), dark, marker, end, black;
	const char *url;
	struct req *r;

	drain(w, w->conf);
	dark = add(w, media, "{\"type\":\"timerange\",\"start\":0,\"end\":6}");
	marker = add(w, media, "{\"type\":\"marker\",\"time\":8.5}");
	end = add(w, media, "{\"type\":\"marker\",\"time\":13}");
	black = add(w, media, "{\"type\":\"timerange\",\"start\":0.5,\"end\":2}");
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'section_thumbnails' AND media_id = ? AND state <> "
	    "'succeeded'", ARGS(ID(media))), 1);
	go(w);
	assert_string_equal(colour(w, media, dark), "red");
	assert_string_equal(colour(w, media, marker), "blue");
	assert_string_equal(colour(w, media, end), "blue");
	assert_string_equal(colour(w, media, black), "black");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/sections/%s/thumbnail", uuid_text(w->mem, media),
	    uuid_text(w->mem, marker)), NULL);
	assert_int_equal(r->status, 200);
	url = text(w, r, "data.url");
	assert_non_null(strstr(url, file_of(w, marker)));
	assert_string_equal(text(w, r, "data.width"), "320");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/sections", uuid_text(w->mem, media)), NULL);
	assert_non_null(text(w, r, "data.3.thumbnail.url"));
}

static void
a_section_that_is_moved_shows_another_place_and_the_halves_of_one_each_their_own(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film)), id, rest;
	const char *first, *path;
	struct req *r;

	drain(w, w->conf);
	id = add(w, media, "{\"type\":\"timerange\",\"start\":4,\"end\":12}");
	go(w);
	first = file_of(w, id);
	assert_string_equal(colour(w, media, id), "red");
	path = arena_printf(w->mem, "/v2/media/%s/sections/%s", uuid_text(w->mem, media), uuid_text(w->mem, id));
	assert_int_equal(call(w, "PATCH", path, "{\"title\":\"Sunset\"}")->status, 201);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'section_thumbnails' AND media_id = ? AND state <> "
	    "'succeeded'", ARGS(ID(media))), 0);
	go(w);
	assert_string_equal(file_of(w, id), first);
	r = call(w, "POST", arena_printf(w->mem, "%s/split", path), "{\"splitAt\":9}");
	assert_int_equal(r->status, 201);
	assert_non_null(text(w, r, "data.updated.thumbnail.url"));
	assert_null(r->etag);		/* there are two of them */
	assert_null(text(w, r, "data.created.thumbnail.url"));
	assert_true(uuid_parse(text(w, r, "data.created.id"), &rest));
	go(w);
	assert_string_equal(file_of(w, id), first);
	assert_string_equal(colour(w, media, rest), "blue");
	assert_int_equal(call(w, "PATCH", path, "{\"start\":8.5,\"end\":8.9}")->status, 201);
	go(w);
	assert_string_equal(colour(w, media, id), "blue");
	assert_string_not_equal(file_of(w, id), first);
}

/* How many files of that folder there are. */
static size_t
files_in(struct world *w, struct uuid media, const char *folder)
{
	size_t n;

	store_list(w->mem, store_key_play(w->mem, media, folder), NULL, 1000, &n);
	return n;
}

static void
its_files_go_with_it_unless_a_copy_has_them(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film));
	const char *of = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), *chapter, *copy, *path;
	size_t before;
	struct req *r;

	drain(w, w->conf);
	go(w);
	before = files_in(w, media, "sections/");
	r = call(w, "POST", arena_printf(w->mem, "%s/chapters", of), "{\"name\":\"Agenda\"}");
	chapter = arena_printf(w->mem, "%s/chapters/%s", of, text(w, r, "data.id"));
	r = call(w, "POST", arena_printf(w->mem, "%s/sections", of), arena_printf(w->mem,
	    "{\"type\":\"timerange\",\"start\":4,\"end\":6,\"chapterId\":\"%s\"}", text(w, r, "data.id")));
	assert_int_equal(r->status, 201);
	path = arena_printf(w->mem, "%s/sections/%s", of, text(w, r, "data.id"));
	go(w);
	assert_int_equal(files_in(w, media, "sections/"), before + 1);
	r = call(w, "PUT", arena_printf(w->mem, "%s/copy", chapter), "{}");
	assert_int_equal(r->status, 200);
	copy = arena_printf(w->mem, "%s/chapters/%s", of, text(w, r, "data.id"));
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	drain(w, w->conf);
	assert_int_equal(files_in(w, media, "sections/"), before + 1);
	assert_int_equal(call(w, "DELETE", copy, NULL)->status, 200);
	drain(w, w->conf);
	assert_int_equal(files_in(w, media, "sections/"), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_section_shows_where_it_begins_or_what_follows_the_dark),
		WORLD_TEST(its_files_go_with_it_unless_a_copy_has_them),
		WORLD_TEST(a_section_that_is_moved_shows_another_place_and_the_halves_of_one_each_their_own),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
