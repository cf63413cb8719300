/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sections as files: asked for, made, handed out, made anew, and gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/filename.h"
#include "core/store.h"
#include "jobs/orphans.h"
#include "tests/jobs/intake.h"

static const char film[] = "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=320x180:r=25:d=13 -f lavfi -i "
    "sine=440:r=48000:d=13 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -f mp4 \"$f\"";
static const char tone[] = "ffmpeg -v error -nostdin -y -f lavfi -i sine=440:r=48000:d=9 -c:a aac -f mp4 \"$f\"";

static const char *
section(struct world *w, struct uuid media, const char *body)
{
	struct req *r = call(w, "POST", arena_printf(w->mem, "/v2/media/%s/sections", uuid_text(w->mem, media)), body);

	assert_int_equal(r->status, 201);
	return arena_printf(w->mem, "/v2/media/%s/sections/%s", uuid_text(w->mem, media), text(w, r, "data.id"));
}

static struct req *
ask(struct world *w, const char *of)
{
	return call(w, "GET", arena_printf(w->mem, "%s/download", of), NULL);
}

static void
go(struct world *w)
{
	struct conf conf = *w->conf;

	conf.job_kinds = "clip";
	drain(w, &conf);
}

static int64_t
jobs(struct world *w, struct uuid media)
{
	return number(w, "FROM jobs WHERE kind = 'clip' AND media_id = ?", ARGS(ID(media)));
}

static int64_t
clips(struct world *w, struct uuid media)
{
	return number(w, "FROM clips WHERE media_id = ?", ARGS(ID(media)));
}

/* Its file as the row names it, and on this machine. */
static const char *
file_of(struct world *w)
{
	return db_text(w->db, "SELECT file FROM clips ORDER BY section_id DESC LIMIT 1", NO_ARGS);
}

static const char *
path_of(struct world *w, struct uuid media, const char *file)
{
	return world_file(w->mem, store_key_play(w->mem, media, file));
}

/* What ffprobe says of one member of its format or first stream of a kind. */
#define FRAMES "-select_streams v -count_packets -show_entries stream=nb_read_packets"

static const char *
probe(struct world *w, struct uuid media, const char *what)
{
	const char *path = path_of(w, media, file_of(w));
	char line[256] = "";
	FILE *f = popen(arena_printf(w->mem, "ffprobe -v error -of csv=p=0 %s '%s'", what, path), "r");

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_int_equal(pclose(f), 0);
	line[strcspn(line, "\n,")] = '\0';
	return arena_copy(w->mem, line);
}

static void
a_section_is_cut_once_and_handed_out_from_then_on(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film));
	const char *of, *url;
	struct req *r;

	drain(w, w->conf);
	of = section(w, media, "{\"type\":\"timerange\",\"start\":1.4,\"end\":9.6}");
	r = ask(w, of);
	assert_int_equal(r->status, 202);
	assert_string_equal(text(w, r, "data.status"), "calculating");
	assert_int_equal(r->retry_after, 2);
	assert_string_equal(r->location, arena_printf(w->mem, "%s/download", of));
	assert_int_equal(ask(w, of)->status, 202);
	assert_int_equal(jobs(w, media), 1);
	go(w);
	r = ask(w, of);
	assert_int_equal(r->status, 302);
	url = r->location;
	assert_string_equal(text(w, r, "data.url"), url);
	assert_non_null(strstr(url, arena_printf(w->mem, "/%s/clips/", uuid_text(w->mem, media))));
	assert_non_null(strstr(url, file_of(w)));
	/* Without a title it is called as its asset is. */
	assert_string_equal(strstr(url, "?"), filename_ask(w->mem, text(w, call(w, "GET", arena_printf(w->mem,
	    "/v2/media/%s", uuid_text(w->mem, media)), NULL), "data.name"), ".mp4"));
	assert_string_equal(text(w, r, "data.mimeType"), "video/mp4");
	assert_string_equal(text(w, r, "data.size"), probe(w, media, "-show_entries format=size"));
	assert_string_equal(probe(w, media, FRAMES), "205");
	assert_string_equal(probe(w, media, "-select_streams a -show_entries stream=codec_name"), "aac");
	assert_int_equal(ask(w, of)->status, 302);
	assert_int_equal(jobs(w, media), 1);
}

static void
of_a_recording_without_a_picture_it_is_sound(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, tone));
	const char *of;
	struct req *r;

	drain(w, w->conf);
	of = section(w, media, "{\"type\":\"timerange\",\"start\":2,\"end\":5.5,\"title\":\"Über: a/b\"}");
	assert_int_equal(ask(w, of)->status, 202);
	go(w);
	r = ask(w, of);
	assert_int_equal(r->status, 302);
	/* It is saved under its title. */
	assert_non_null(strstr(r->location, ".m4a?download=%C3%9Cber_%20a_b"));
	assert_string_equal(text(w, r, "data.mimeType"), "audio/mp4");
	assert_non_null(strstr(r->location, ".m4a"));
	assert_true(strncmp(probe(w, media, "-show_entries format=duration"), "3.5", 3) == 0);
}

static void
it_is_cut_anew_when_what_it_shows_has_changed_or_its_file_is_lost(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film));
	const char *of, *first, *second;
	struct req *r;

	drain(w, w->conf);
	of = section(w, media, "{\"type\":\"timerange\",\"start\":0,\"end\":4}");
	ask(w, of);
	/* Moved before it is cut: what is cut is what was asked for, and nobody gets it for the other place. */
	assert_int_equal(call(w, "PATCH", of, "{\"end\":6}")->status, 201);
	go(w);
	assert_int_equal(ask(w, of)->status, 202);
	assert_int_equal(jobs(w, media), 2);
	go(w);
	assert_int_equal(ask(w, of)->status, 302);
	first = file_of(w);
	assert_string_equal(probe(w, media, FRAMES), "150");
	assert_int_equal(call(w, "PATCH", of, "{\"title\":\"Another name\"}")->status, 201);
	assert_int_equal(ask(w, of)->status, 302);
	db_run(w->db, "UPDATE media SET captions = '[]' WHERE id = ?", ARGS(ID(media)));
	assert_int_equal(ask(w, of)->status, 202);
	go(w);
	assert_int_equal(ask(w, of)->status, 302);
	second = file_of(w);
	assert_string_not_equal(first, second);
	assert_true(store_delete(w->mem, store_key_play(w->mem, media, second)));
	assert_int_equal(ask(w, of)->status, 202);
	go(w);
	r = ask(w, of);
	assert_int_equal(r->status, 302);
	assert_null(strstr(r->location, second));
}

static void
captions_are_in_it(void **state)
{
	static const char vtt[] = "WEBVTT\n\n00:00:03.000 --> 00:00:05.000\nGuten Tag\n";
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film));
	const char *of;

	drain(w, w->conf);
	assert_true(store_write(w->mem, vtt, sizeof(vtt) - 1, store_key_play(w->mem, media, "captions/a.vtt")));
	db_run(w->db, "UPDATE media SET captions = ? WHERE id = ?", ARGS(STR("[{\"languageCode\":\"de\",\"label\":"
	    "\"Deutsch\",\"file\":\"captions/a.vtt\"},{\"languageCode\":\"en\",\"label\":\"lost\",\"file\":"
	    "\"captions/lost.vtt\"}]"), ID(media)));
	of = section(w, media, "{\"type\":\"timerange\",\"start\":2,\"end\":6}");
	ask(w, of);
	go(w);
	assert_int_equal(ask(w, of)->status, 302);
	assert_string_equal(probe(w, media, "-select_streams s -show_entries stream_tags=language"),
	    "deu");
}

static void
what_has_no_clip_says_so(void **state)
{
	struct world *w = *state;
	struct uuid bare = world_media(w, "video", "Not ready"), media;
	const char *of, *marker;
	struct req *r;

	db_run(w->db, "UPDATE media SET duration = 60000, status = 'processing' WHERE id = ?", ARGS(ID(bare)));
	r = ask(w, section(w, bare, "{\"type\":\"timerange\",\"start\":0,\"end\":4}"));
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "not_ready");
	media = take_in(w, make(w, film));
	drain(w, w->conf);
	marker = section(w, media, "{\"type\":\"marker\",\"time\":2}");
	r = ask(w, marker);
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "no_range");
	assert_int_equal(jobs(w, media), 0);
	/* A job that has failed says why, and is tried again when somebody asks later. */
	of = section(w, media, "{\"type\":\"timerange\",\"start\":0,\"end\":4}");
	ask(w, of);
	db_run(w->db, "UPDATE jobs SET state = 'failed', finished_at = ?, error = '{\"code\":\"no_space\",\"detail\":"
	    "\"The disk is full.\"}' WHERE kind = 'clip' AND media_id = ?", ARGS(TIME(moment_now()), ID(media)));
	r = ask(w, of);
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "clip_failed");
	assert_string_equal(text(w, r, "message"), "The disk is full.");
	assert_int_equal(jobs(w, media), 1);
	db_run(w->db, "UPDATE jobs SET finished_at = finished_at - 61000 WHERE kind = 'clip'", NO_ARGS);
	assert_int_equal(ask(w, of)->status, 202);
	assert_int_equal(jobs(w, media), 2);
}

static void
it_goes_when_nobody_has_asked_for_long_or_its_section_is_gone(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film));
	struct conf conf = *w->conf;
	const char *of, *file;
	struct req *r;

	drain(w, w->conf);
	of = section(w, media, "{\"type\":\"timerange\",\"start\":0,\"end\":4}");
	ask(w, of);
	go(w);
	file = file_of(w);
	/* Who asks on its last day keeps it. */
	db_run(w->db, "UPDATE clips SET expires_at = ?", ARGS(INT(moment_now().ms + 1000)));
	assert_int_equal(ask(w, of)->status, 302);
	assert_int_equal(number(w, "FROM clips WHERE media_id = ? AND expires_at > ?", ARGS(ID(media),
	    INT(moment_now().ms + INT64_C(6 * 86400000)))), 1);
	conf.job_kinds = "sweep";
	job_add(w->db, sweep, (struct job_place){ .priority = 0 }, 0);
	drain(w, &conf);
	assert_int_equal(clips(w, media), 1);
	db_run(w->db, "UPDATE clips SET expires_at = 1", NO_ARGS);
	job_add(w->db, sweep, (struct job_place){ .priority = 0 }, 0);
	drain(w, &conf);
	assert_int_equal(clips(w, media), 0);
	/* An address of it may still be in use. */
	assert_true(store_size(w->mem, store_key_play(w->mem, media, file)) > 0);
	ask(w, of);
	go(w);
	assert_int_equal(ask(w, of)->status, 302);
	/* A job under way when its section goes leaves no row and no file. */
	db_run(w->db, "UPDATE clips SET source = ''", NO_ARGS);
	assert_int_equal(ask(w, of)->status, 202);
	assert_int_equal(call(w, "DELETE", of, NULL)->status, 200);
	go(w);
	assert_int_equal(clips(w, media), 0);
	r = ask(w, of);
	assert_int_equal(r->status, 404);
}

static void
they_are_not_many_times_as_long_as_the_recording(void **state)
{
	static const char nearly_all[] = "{\"type\":\"timerange\",\"start\":0,\"end\":8.9}";
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, tone));
	const char *last;
	struct req *r;

	drain(w, w->conf);
	for (int i = 0; i < 10; i++)
		assert_int_equal(ask(w, section(w, media, nearly_all))->status, 202);
	last = section(w, media, nearly_all);
	r = ask(w, last);
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "too_many_clips");
	assert_int_equal(clips(w, media), 10);
	db_run(w->db, "DELETE FROM clips WHERE media_id = ? LIMIT 1", ARGS(ID(media)));
	assert_int_equal(ask(w, last)->status, 202);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_section_is_cut_once_and_handed_out_from_then_on),
		WORLD_TEST(of_a_recording_without_a_picture_it_is_sound),
		WORLD_TEST(it_is_cut_anew_when_what_it_shows_has_changed_or_its_file_is_lost),
		WORLD_TEST(captions_are_in_it),
		WORLD_TEST(what_has_no_clip_says_so),
		WORLD_TEST(they_are_not_many_times_as_long_as_the_recording),
		WORLD_TEST(it_goes_when_nobody_has_asked_for_long_or_its_section_is_gone),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
