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
	world_fetch(w->mem, arena_printf(w->mem, "%s/", store_key_play(w->mem, id, NULL)));
	return world_file(w->mem, store_key_play(w->mem, id, file));
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
	    "'track' AND r.file_size < 4000", ARGS(ID(id))), 0);
	for (const char *p = master; (p = strstr(p, "URI=\"")) != NULL; p++)
		assert_int_equal(system(arena_printf(w->mem, "cd \"$(dirname '%s')\" && ffprobe -v error -show_entries "
		    "format=duration -of csv=p=0 %.*s | grep -qE '^(3\\.0|2\\.99)'", path_of(w, id, "playlist_file"),
		    (int)strcspn(p + 5, "\""), p + 5)), 0);
	/* The file to download has the sound that plays by itself. */
	download = db_text(w->db, "SELECT r.file FROM renditions r JOIN media m ON m.id = r.media_id WHERE m.id = ? "
	    "AND r.kind = 'mp4'", ARGS(ID(id)));
	download = world_file(w->mem, store_key_play(w->mem, id, download));
	assert_int_equal(count(output_of(w, arena_printf(w->mem, "ffprobe -v error -show_entries stream=codec_type "
	    "-of csv=p=0 '%s'", download)), "audio"), 1);
}

static void
sound_alone_keeps_its_tracks(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, FFMPEG TONE("300") TONE("600") "-map 0 -map 1 -c:a aac -metadata:s:a:0 "
	    "language=fra -metadata:s:a:1 language=deu -f mp4 \"$f\""));
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

/* What is not there is told in the log of the step that has found it. */
static void
of_too_many_tracks_eight_can_be_chosen_and_the_rest_is_told(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, FFMPEG PICTURE TONE("800") "-map 0 $(for i in $(seq 12); do printf ' -map "
	    "1'; done) "
	    CODE "-f matroska \"$f\""));

	drain(w, w->conf);
	assert_int_equal(published_rows(w, id, "audio") + published_rows(w, id, "track"), 8);
	assert_int_equal(count(master_of(w, id), "#EXT-X-MEDIA:TYPE=AUDIO"), 8);
	assert_non_null(strstr(db_text(w->db, "SELECT warnings FROM jobs WHERE media_id = ? AND kind = 'ingest'",
	    ARGS(ID(id))),
	    "Tracks of sound that are left out: 4 of 12"));
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

#define SRT "printf '1\\n00:00:00,500 --> 00:00:01,500\\nGr\\374\\337e aus M\\374nchen\\n\\n2\\n00:00:02,000 --> 00:00:02,500\\n" \
	"<i>sch\\366n</i> & <script>x\\n' >\"$f.l\" && iconv -f cp1252 -t utf-8 \"$f.l\" >\"$f.u\" && "

static const char *
subtitles_of(struct world *w, struct uuid id, const char *label)
{
	const char *file = db_text(w->db, "SELECT r.file FROM renditions r JOIN media m ON m.id = r.media_id AND "
	    "m.generation = "
	    "r.generation WHERE m.id = ? AND r.kind = 'subtitles' AND r.label = ?", ARGS(ID(id), STR(label)));

	if (file == NULL)
		fail_msg("there are no subtitles %s", label);
	return output_of(w, arena_printf(w->mem, "cat '%s'", world_file(w->mem, store_key_play(w->mem, id, file))));
}

/* As close as the clock of the container keeps them. */
static void
assert_subtitles(const char *vtt)
{
	int from, to;
	char text[100];

	assert_int_equal(sscanf(vtt, "WEBVTT\n\n00:00:00.%d --> 00:00:01.%d\n%99[^\n]", &from, &to, text), 3);
	assert_in_range(from, 470, 530);
	assert_in_range(to, 470, 530);
	assert_string_equal(text, "Gr\u00fc\u00dfe aus M\u00fcnchen");
	assert_non_null(strstr(vtt, "\n<i>sch\u00f6n</i> &amp; "));
	assert_null(strstr(vtt, "script"));
}

/* Of each form, of the hard of hearing, forced, of no language, and in an encoding of old. */
static void
subtitles_of_the_file_become_tracks_of_the_asset(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, SRT FFMPEG PICTURE TONE("700") "-i \"$f.u\" -sub_charenc_mode do_nothing "
	    "-i \"$f.l\" "
	    "-map 0 -map 1 -map 2 -map 2 -map 2 -map 3 " CODE "-c:s:0 srt -c:s:1 ass -c:s:2 webvtt -c:s:3 copy "
	    "-metadata:s:s:0 language=ger -metadata:s:s:1 language=ger -metadata:s:s:2 language=fre "
	    "-disposition:s:1 hearing_impaired -disposition:s:2 forced -f matroska \"$f\"")), mp4;
	const char *master, *seen;
	struct req *r;

	mp4 = take_in(w, make(w, SRT FFMPEG PICTURE TONE("710") "-i \"$f.u\" -map 0 -map 1 -map 2 " CODE "-c:s "
	    "mov_text -metadata:s:s:0 language=deu -f mp4 \"$f\""));
	drain(w, w->conf);
	assert_int_equal(published_rows(w, id, "subtitles"), 4);
	assert_subtitles(subtitles_of(w, id, "Deutsch"));
	assert_subtitles(subtitles_of(w, id, "Deutsch (for the hard of hearing)"));
	assert_subtitles(subtitles_of(w, id, "Fran\u00e7ais (forced)"));
	assert_subtitles(subtitles_of(w, id, "Subtitles"));
	assert_subtitles(subtitles_of(w, mp4, "Deutsch"));
	master = master_of(w, id);
	assert_int_equal(count(master, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subtitles\""), 4);
	assert_int_equal(count(master, ",SUBTITLES=\"subtitles\"\n"), count(master, "#EXT-X-STREAM-INF"));
	assert_non_null(strstr(master, "NAME=\"Fran\u00e7ais "
	    "(forced)\",LANGUAGE=\"fr\",DEFAULT=NO,AUTOSELECT=YES,FORCED=YES"));
	assert_non_null(strstr(master, "FORCED=NO,CHARACTERISTICS=\"public.accessibility.transcribes-spoken-dialog,"));
	/* Another program reads the words of the playlist that it names. */
	seen = strstr(strstr(master, "(forced)"), "URI=\"") + strlen("URI=\"");
	seen = output_of(w, arena_printf(w->mem, "cd \"$(dirname '%s')\" && ffprobe -v error -allowed_extensions ALL "
	    "-show_entries stream=codec_name:packet=pts_time -of compact=p=0 %.*s",
	    path_of(w, id, "playlist_file"), (int)strcspn(seen, "\""), seen));
	assert_non_null(strstr(seen, "codec_name=webvtt"));
	assert_non_null(strstr(seen, "pts_time=0."));

	/* The player has them beside what transcripts make, under names that differ. */
	db_run(w->db, "UPDATE media SET captions = "
	    "'[{\"languageCode\":\"de\",\"label\":\"Deutsch\",\"file\":\"captions/x.vtt\"},"
	    "{\"languageCode\":\"en\",\"label\":\"English\",\"file\":\"captions/y.vtt\"}]' WHERE id = ?", ARGS(ID(id)));
	db_run(w->db, "UPDATE channels SET visibility = 'public' WHERE id = ?", ARGS(ID(w->channel_id)));
	r = call_as(w, NULL, "GET", arena_printf(w->mem, "/v2/media/%s/player", uuid_text(w->mem, id)), NULL);
	assert_string_equal(text(w, r, "data.captions.0.label"), "Deutsch");
	assert_string_equal(text(w, r, "data.captions.0.kind"), "subtitles");
	assert_string_equal(text(w, r, "data.captions.1.kind"), "captions");
	assert_null(text(w, r, "data.captions.3.languageCode"));
	assert_string_equal(text(w, r, "data.captions.4.label"), "Deutsch (transcript)");
	assert_string_equal(text(w, r, "data.captions.5.label"), "English");
	assert_non_null(strstr(text(w, r, "data.captions.3.url"), "/subtitles-5.vtt"));
}

/* 20 tracks of 7 MB, which together would need far more memory than a job has. */
static void
many_large_subtitles_fit_into_the_memory_of_a_job(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "awk 'BEGIN { for (i = 0; i < 70000; i++) printf \"%d\\n00:%02d:%02d,%03d "
	    "--> 00:%02d:%02d,%03d\\n%060d&&\\n\\n\", i, i / 1200, i / 20 % 60, i % 20 * 50, i / 1200, i / 20 % 60, "
	    "i % 20 * 50 + 40, i }' >\"$f.s\" && " FFMPEG PICTURE "-i \"$f.s\" -map 0 "
	    "$(for i in $(seq 20); do printf ' -map 1'; done) " CODE "-c:s srt -f matroska \"$f\""));

	drain(w, w->conf);
	assert_int_equal(published_rows(w, id, "subtitles"), 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(every_track_of_sound_can_be_chosen),
		WORLD_TEST(sound_alone_keeps_its_tracks),
		WORLD_TEST(of_too_many_tracks_eight_can_be_chosen_and_the_rest_is_told),
		WORLD_TEST(one_track_needs_no_further_step),
		WORLD_TEST(subtitles_of_the_file_become_tracks_of_the_asset),
		WORLD_TEST(many_large_subtitles_fit_into_the_memory_of_a_job),
		WORLD_TEST(of_two_steps_that_end_at_once_the_later_one_names_what_both_have_made),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
