/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files with several tracks of sound, from the original to what a player can choose. */
#include <sys/wait.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/store.h"
#include "media/playlist.h"
#include "tests/jobs/intake.h"

#define FFMPEG "ffmpeg -v error -nostdin -y "
#define PICTURE "-f lavfi -i testsrc2=s=160x90:r=10:d=3 "
#define TONE(hertz) "-f lavfi -i sine=" hertz ":d=3 "
#define CODE "-c:v libx264 -preset ultrafast -c:a aac "

/* The default track is the third one; the second one ends early. */
#define FILM FFMPEG PICTURE TONE("300") "-f lavfi -i sine=600:d=1 " TONE("900") TONE("1200") "-map 0 -map 1 -map 2 -map 3 " \
	"-map 4 " CODE "-metadata:s:a:0 language=ger -metadata:s:a:1 language=ger -metadata:s:a:2 language=eng " \
	"-metadata:s:a:3 language=mis -disposition:a 0 -disposition:a:1 comment -disposition:a:2 default " \
	"-disposition:a:3 visual_impaired -f matroska \"$f\""

static struct req *
asset(struct world *w, struct uuid id)
{
	return call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id)), NULL);
}

static const char *
path_of(struct world *w, struct uuid id, const char *column)
{
	const char *file = media_column(w, id, column);

	assert_non_null(file);
	return store_fetch(w->mem, store_key_play(w->mem, id, file), NULL);
}

/* What a command prints. */
static const char *
output_of(struct world *w, const char *command)
{
	FILE *p = popen(command, "re");
	char *out = arena_alloc(w->mem, 1 << 20);

	assert_non_null(p);
	out[fread(out, 1, (1 << 20) - 1, p)] = '\0';
	assert_int_equal(pclose(p), 0);
	return out;
}

static const char *
master_of(struct world *w, struct uuid id)
{
	return output_of(w, arena_printf(w->mem, "cat '%s'", path_of(w, id, "playlist_file")));
}

static int
count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		n++;
	return n;
}

static void
every_track_of_sound_can_be_chosen(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, FILM));
	const char *master, *seen, *download;
	struct req *r;

	drain(w, w->conf);
	r = asset(w, id);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.languageCode"), "en");
	assert_non_null(strstr(buf_string(&r->out), "{\"name\":\"audioTracks\",\"status\":\"succeeded\""));
	assert_non_null(strstr(buf_string(&r->out), "\"kind\":\"audio\",\"label\":\"Deutsch (commentary)\""));
	assert_null(strstr(buf_string(&r->out), "\"track\""));
	master = master_of(w, id);
	assert_int_equal(count(master, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\""), 4);
	assert_non_null(strstr(master, "NAME=\"English\",LANGUAGE=\"en\",DEFAULT=YES,AUTOSELECT=YES"));
	assert_non_null(strstr(master, "NAME=\"Deutsch\",LANGUAGE=\"de\",DEFAULT=NO,AUTOSELECT=YES"));
	assert_non_null(strstr(master, "NAME=\"Deutsch (commentary)\",LANGUAGE=\"de\",DEFAULT=NO,AUTOSELECT=NO"));
	assert_non_null(strstr(master, "NAME=\"Audio (audio "
	    "description)\",DEFAULT=NO,AUTOSELECT=YES,CHARACTERISTICS=\"public."
	    "accessibility.describes-video\""));
	assert_int_equal(count(master, "DEFAULT=YES"), 1);
	/* What another program reads of it, and hears: each track its own tone, as long as the film. */
	seen = output_of(w, arena_printf(w->mem, "ffprobe -v error -show_entries "
	    "stream=codec_type:stream_tags=language,comment "
	    "-of compact=p=0 '%s'", path_of(w, id, "playlist_file")));
	assert_non_null(strstr(seen, "codec_type=audio|tag:comment=English|tag:language=en\n"));
	assert_non_null(strstr(seen, "codec_type=audio|tag:comment=Deutsch (commentary)|tag:language=de\n"));
	assert_int_equal(count(seen, "codec_type=audio|tag:comment="), 4);
	assert_int_equal(number(w, "FROM renditions r JOIN media m ON m.id = r.media_id WHERE m.id = ? AND r.kind = "
	    "'track' "
	    "AND r.file_size < 10000", ARGS(ID(id))), 0);
	for (const char *p = master; (p = strstr(p, "URI=\"")) != NULL; p++)
		assert_int_equal(system(arena_printf(w->mem, "cd \"$(dirname '%s')\" && ffprobe -v error -show_entries "
		    "format=duration -of csv=p=0 %.*s | grep -qE '^(3\\.0|2\\.99)'", path_of(w, id, "playlist_file"),
		    (int)strcspn(p + 5, "\""), p + 5)), 0);
	/* The file to download has the sound that plays by itself. */
	download = db_text(w->db, "SELECT r.file FROM renditions r JOIN media m ON m.id = r.media_id WHERE m.id = ? "
	    "AND r.kind = "
	    "'mp4'", ARGS(ID(id)));
	download = store_fetch(w->mem, store_key_play(w->mem, id, download), NULL);
	assert_int_equal(count(output_of(w, arena_printf(w->mem, "ffprobe -v error -show_entries stream=codec_type "
	    "-of csv=p=0 "
	    "'%s'", download)), "audio"), 1);
}

static void
sound_alone_keeps_its_tracks(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, FFMPEG TONE("300") TONE("600") "-map 0 -map 1 -c:a aac -metadata:s:a:0 "
	    "language=fra "
	    "-metadata:s:a:1 language=deu -f mp4 \"$f\""));
	const char *master;

	drain(w, w->conf);
	assert_string_equal(media_column(w, id, "type"), "audio");
	master = master_of(w, id);
	assert_int_equal(count(master, "#EXT-X-STREAM-INF"), 1);
	assert_non_null(strstr(master, "NAME=\"Fran\u00e7ais\",LANGUAGE=\"fr\",DEFAULT=YES"));
	assert_non_null(strstr(master, "NAME=\"Deutsch\",LANGUAGE=\"de\",DEFAULT=NO"));
	assert_int_equal(published_rows(w, id, "track"), 1);
	assert_int_equal(published_rows(w, id, "waveform"), 1);
}

static void
one_track_needs_no_further_step(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, FFMPEG PICTURE TONE("500") CODE "-f mp4 \"$f\""));

	drain(w, w->conf);
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'tracks'", ARGS(ID(id))), 0);
	assert_int_equal(count(master_of(w, id), "#EXT-X-MEDIA"), 1);
}

/* A process that adds a row as another step would, and takes its time to commit. */
static pid_t
slow_step(struct world *w, struct uuid id)
{
	struct rendition_row row = { .media_id = id, .generation = media_column(w, id, "generation"), .kind = "track",
	    .label = "Slow", .track_name = "Slow", .mime_type = PLAYLIST_TYPE, .file = "g/slow.m3u8" };
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct db *db;

		db_abandon(w->db);
		db = db_open(w->conf, DB_JOBS);
		db_use(db, w->mem);
		db_begin(db);
		rendition_put(db, &row);
		_exit(write(ready[1], "", 1) != 1 || sleep(6) != 0 || !db_commit(db));
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void
of_two_steps_that_end_at_once_the_later_one_names_what_both_have_made(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, FFMPEG PICTURE TONE("700") CODE "-f mov \"$f\""));
	struct conf conf = *w->conf;
	int status;
	pid_t pid;

	conf.job_kinds = "ingest,first_rendition";
	drain(w, &conf);
	assert_null(strstr(master_of(w, id), "Slow"));
	pid = slow_step(w, id);
	conf.job_kinds = "renditions";
	drain(w, &conf);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(published_rows(w, id, "mp4"), 1);
	assert_non_null(strstr(master_of(w, id), "NAME=\"Slow\""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(every_track_of_sound_can_be_chosen),
		WORLD_TEST(sound_alone_keeps_its_tracks),
		WORLD_TEST(one_track_needs_no_further_step),
		WORLD_TEST(of_two_steps_that_end_at_once_the_later_one_names_what_both_have_made),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
