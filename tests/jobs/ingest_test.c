/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the original to the published asset: real files, a real runner, ffmpeg, poppler and kinothek-image in the
 * jail.  Transcripts have a test of their own. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/play.h"
#include "core/store.h"
#include "tests/jobs/intake.h"

static const char *
path_of(struct world *w, struct uuid id)
{
	return arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id));
}

static bool
published(struct world *w, struct uuid id, const char *file)
{
	const char *row = db_text(w->db, "SELECT r.file FROM renditions r JOIN media m ON m.id = r.media_id AND "
	    "m.generation = r.generation WHERE m.id = ? AND r.file LIKE CONCAT('%/', ?)", ARGS(ID(id), STR(file)));
	const char *key = row == NULL ? NULL : store_key_play(w->mem, id, row);
	struct stat st;

	return key != NULL && store_size(w->mem, key) > 0 &&
	    (world_in_bucket() || (stat(world_file(w->mem, key), &st) == 0 && (st.st_mode & 0777) == 0644));
}

static const char *
metadata(struct world *w, struct uuid id, const char *kind)
{
	return db_text(w->db, "SELECT data FROM metadata WHERE media_id = ? AND kind = ?", ARGS(ID(id), STR(kind)));
}

/* As long as the steps of the finished ingest say so. */
static void
succeeded(struct world *w, struct uuid id)
{
	struct req *r = call(w, "GET", path_of(w, id), NULL);

	if (strcmp(text(w, r, "data.ingestJob.status"), "succeeded") != 0 || strcmp(text(w, r, "data.status"),
	    "ready") != 0)
		fail_msg("%s", buf_string(&r->out));
}

static void
a_picture_becomes_ready_upright_and_in_smaller_forms(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "/usr/bin/convert -size 1000x700 plasma:red-blue -rotate 90 -define "
	    "exif:Orientation=6 -orient LeftBottom \"tiff:$f\""));
	struct req *r;

	drain(w, w->conf);
	succeeded(w, id);
	r = call(w, "GET", path_of(w, id), NULL);
	assert_string_equal(text(w, r, "data.type"), "image");
	assert_string_equal(text(w, r, "data.mimeType"), "image/tiff");
	assert_string_equal(text(w, r, "data.width"), "1000");
	assert_string_equal(text(w, r, "data.height"), "700");
	assert_string_equal(text(w, r, "data.thumbnail.width"), "640");
	assert_string_equal(text(w, r, "data.ingestJob.steps.1.name"), "variants");
	assert_int_equal(published_rows(w, id, "image"), 6);
	assert_int_equal(published_rows(w, id, "poster"), 1);
	assert_true(published(w, id, "1000.webp") && published(w, id, "320.jpg") && published(w, id, "poster.jpg"));
	assert_non_null(strstr(metadata(w, id, "file"), "\"orientation\":8"));
	assert_non_null(strstr(metadata(w, id, "file"), "\"mimeType\":\"image/tiff\""));
}

/* XMP of a picture and a PDF, of which nothing can be read. */
static void
words_that_are_damaged_are_told_and_the_file_is_shown(void **state)
{
	struct world *w = *state;
	const struct uuid ids[] = { take_in(w, make(w, "/usr/bin/convert -size 64x64 xc:red \"jpeg:$f.x\" && { printf "
	    "'\\377\\330\\377\\341\\000\\041http://ns.adobe.com/xap/1.0/\\000<x'; tail -c +3 \"$f.x\"; } >\"$f\"")),
		take_in(w, make(w, "printf '%%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R/Metadata 4 0 R>>\nendobj\n"
		    "2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 200 200]>>\nendobj\n3 0 obj\n<</Type/Page/Parent 2 0 R>>\n"
		    "endobj\n4 0 obj\n<</Type/Metadata/Subtype/XML/Length 2>>stream\n<x\nendstream\nendobj\ntrailer\n<</Size "
		    "5/Root 1 0 R>>\n%%%%EOF\n' >\"$f\"")) };
	struct req *r;

	drain(w, w->conf);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		succeeded(w, ids[i]);
		r = call(w, "GET", path_of(w, ids[i]), NULL);
		assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "probe");
		assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "damaged");
		assert_string_equal(text(w, r, "data.ingestJob.warnings.0.detail"), "What is written into the file "
		    "about it (XMP) is damaged, and could not be read.");
	}
}

/* Of a film in its container; of a picture in EXIF, here with DateTimeOriginal alone. */
static void
the_time_of_the_recording_is_taken_from_the_file(void **state)
{
	struct world *w = *state;
	struct uuid film = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=64x64:d=1 -metadata "
	    "creation_time=2024-03-02T10:11:12Z -f mp4 \"$f\""));
	struct uuid unset = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=64x64:d=1 -metadata "
	    "creation_time=1970-01-01T00:00:00Z -f mp4 \"$f\""));
	struct uuid picture = take_in(w, make(w, "/usr/bin/convert -size 64x64 xc:red \"jpeg:$f.x\" && { printf "
	    "'\\377\\330\\377\\341\\000\\110Exif\\000\\000II*\\000\\010\\000\\000\\000\\001\\000\\151\\207\\004\\000\\001\\000"
	    "\\000\\000\\032\\000\\000\\000\\000\\000\\000\\000\\001\\000\\003\\220\\002\\000\\024\\000\\000\\000\\054\\000\\000"
	    "\\000\\000\\000\\000\\0002026:05:01 10:20:30\\000'; tail -c +3 \"$f.x\"; } >\"$f\""));

	drain(w, w->conf);
	assert_string_equal(text(w, call(w, "GET", path_of(w, film), NULL), "data.recordedAt"),
	    "2024-03-02T10:11:12.000Z");
	assert_null(text(w, call(w, "GET", path_of(w, unset), NULL), "data.recordedAt"));
	assert_string_equal(text(w, call(w, "GET", path_of(w, picture), NULL), "data.recordedAt"),
	    "2026-05-01T10:20:30.000Z");
}

/* Named by its file, by its uploader, and not at all. */
static void
the_title_in_the_file_is_the_name_where_nobody_gave_a_better_one(void **state)
{
	static const char *const before[] = { "DSC 0042", "Council meeting", " " };
	static const char *const after[] = { "Ein \u00e4lterer Titel", "Council meeting", "Ein \u00e4lterer Titel" };
	struct world *w = *state;
	struct uuid ids[3];
	int64_t revision;

	for (size_t i = 0; i < 3; i++) {
		ids[i] = take_in(w, make(w, arena_copy(w->mem, "ffmpeg -v error -nostdin -y -f lavfi -i "
		    "testsrc2=s=64x64:d=1 -metadata title='Ein \u00e4lterer\tTitel' -f mp4 \"$f\"")));
		db_run(w->db, "UPDATE media SET name = ?, original_file_name = 'DSC 0042.MOV' WHERE id = ?",
		    ARGS(STR(before[i]), ID(ids[i])));
	}
	revision = db_number(w->db, "SELECT revision FROM media WHERE id = ?", ARGS(ID(ids[0])), 0);
	drain(w, w->conf);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(text(w, call(w, "GET", path_of(w, ids[i]), NULL), "data.name"), after[i]);
		assert_non_null(strstr(metadata(w, ids[i], "file"), "\"title\":\"Ein \u00e4lterer Titel\""));
	}
	assert_true(db_number(w->db, "SELECT revision FROM media WHERE id = ?", ARGS(ID(ids[0])), 0) > revision);
}

static void
a_document_gives_pages_text_and_a_pdf(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "/usr/bin/convert -size 200x300 xc:white xc:gray \"pdf:$f\" 2>/dev/null || "
	    "printf '%%PDF-1.4\\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R 3 0 "
	    "R]/Count 2>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]>>endobj\\ntrailer<</Root 1 0 "
	    "R>>\\n%%%%EOF\\n' >\"$f\""));
	struct uuid other = take_in(w, make(w, "printf 'Gr\\374\\337e aus K\\366ln\\n' >\"$f\""));
	struct uuid long_one = take_in(w, make(w, "printf 'Heute sprechen wir vom Immunsystem des Menschen.\\n' "
	    ">\"$f\""));

	drain(w, w->conf);
	succeeded(w, id);
	assert_string_equal(media_column(w, id, "page_count"), "2");
	assert_true(published(w, id, "document.pdf") && published(w, id, "poster.jpg"));
	assert_int_equal(published_rows(w, id, "pdf"), 1);
	assert_non_null(strstr(metadata(w, id, "file"), "\"pageCount\":2"));
	assert_string_equal(metadata(w, id, "documentContent"), "{\"pages\":[]}");
	succeeded(w, other);
	/* A few words are of no language that could be told. */
	assert_null(media_column(w, other, "language_code"));
	assert_string_equal(media_column(w, long_one, "language_code"), "de");
	assert_string_equal(media_column(w, other, "mime_type"), "text/plain");
	assert_string_equal(metadata(w, other, "documentContent"),
	    "{\"pages\":[{\"page\":1,\"text\":\"Gr\xc3\xbc\xc3\x9f" "e aus K\xc3\xb6ln\"}]}");
	assert_int_equal(published_rows(w, other, "pdf"), 0);
	assert_true(published(w, other, "poster.jpg"));
	/* The original stays what it was, for nobody but us. */
	assert_int_equal(store_size(w->mem, arena_printf(w->mem, "originals/%s", uuid_text(w->mem, other))), 15);
}

static void
a_video_plays_and_a_container_of_sound_alone_is_audio(void **state)
{
	struct world *w = *state;
	struct uuid video = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=320x180:r=25:d=3 "
	    "-f lavfi -i sine=d=3 -c:v libx264 -preset ultrafast -metadata:s:a:0 language=ger -f mp4 \"$f\""));
	struct uuid audio = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i sine=d=3 -f mp4 \"$f\""));
	struct req *r;

	db_run(w->db, "UPDATE media SET transcript_language_codes = '[]' WHERE id = ?", ARGS(ID(audio)));
	drain(w, w->conf);
	r = call(w, "GET", path_of(w, video), NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.type"), "video");
	assert_string_equal(text(w, r, "data.mimeType"), "video/mp4");
	assert_string_equal(text(w, r, "data.width"), "320");
	assert_string_equal(text(w, r, "data.frameRate"), "25");
	assert_string_equal(text(w, r, "data.languageCode"), "de");
	assert_non_null(text(w, r, "data.playlistUrl"));
	assert_true(published(w, video, "master.m3u8"));
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND state = 'succeeded'", ARGS(ID(video))), 9);
	/* The transcript waits for a runner that takes it; all else does not wait for the transcript. */
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'transcribe' AND state = 'ready' "
	    "AND JSON_VALUE(args, '$.languageCode') = 'de'", ARGS(ID(video))), 1);

	r = call(w, "GET", path_of(w, audio), NULL);
	assert_string_equal(text(w, r, "data.type"), "audio");
	assert_string_equal(text(w, r, "data.mimeType"), "audio/mp4");
	assert_null(text(w, r, "data.width"));
	succeeded(w, audio);
	/* Nobody asked for a transcript. */
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'transcribe'", ARGS(ID(audio))), 0);
}

/* Two sizes, so that the further one is made of the damaged file, too. */
static void
of_a_damaged_file_plays_what_can_be_read_and_a_warning_says_what_is_missing(void **state)
{
	struct world *w = *state;
	struct uuid cut = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=640x480:r=25:d=8 "
	    "-f lavfi -i sine=d=8 -c:v libx264 -preset ultrafast -g 25 -f matroska \"$f.x\" && "
	    "head -c $(($(stat -c %s \"$f.x\") / 2)) \"$f.x\" >\"$f\"")), whole = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i "
	    "testsrc2=s=160x120:r=25:d=2 -c:v libx264 -preset ultrafast -f matroska \"$f\""));
	struct req *r;
	double from;

	db_run(w->db, "UPDATE media SET transcript_language_codes = '[]' WHERE id = ?", ARGS(ID(cut)));
	drain(w, w->conf);
	succeeded(w, cut);
	r = call(w, "GET", path_of(w, cut), NULL);
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "firstRendition");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "damaged");
	assert_non_null(strstr(text(w, r, "data.ingestJob.warnings.0.detail"), "Picture and sound are damaged or "
	    "missing from"));
	assert_non_null(text(w, r, "data.ingestJob.warnings.0.remedy"));
	from = strtod(text(w, r, "data.ingestJob.warnings.0.from"), NULL);
	assert_true(from > 3 && from < 5);
	assert_true(fabs(strtod(text(w, r, "data.duration"), NULL) - from) < 0.2);
	assert_true(fabs(strtod(text(w, r, "data.ingestJob.warnings.0.to"), NULL) - 8) < 0.2);
	assert_null(text(w, r, "data.ingestJob.warnings.1.step"));
	assert_int_equal(published_rows(w, cut, "hls"), 2);
	assert_int_equal(published_rows(w, cut, "mp4"), 1);
	succeeded(w, whole);
	assert_null(text(w, call(w, "GET", path_of(w, whole), NULL), "data.ingestJob.warnings.0.step"));
}

/* The colour of the quarter of a film at a moment, R, G, B (255 or 0 of each) or '?'; x is 1 or 3. */
static char
color(struct world *w, struct uuid id, double at, int x)
{
	const char *file = db_text(w->db, "SELECT file FROM renditions WHERE media_id = ? AND kind = 'mp4'",
	    ARGS(ID(id)));
	const char *path = world_file(w->mem, store_key_play(w->mem, id, file));
	FILE *f = popen(arena_printf(w->mem, "ffmpeg -v error -nostdin -ss %.2f -i %s -frames:v 1 -vf "
	    "crop=4:4:iw*%d/4:ih/2,scale=1:1,format=rgb24 -f rawvideo -", at, path, x), "r");
	int rgb[3], bits = 0;

	assert_non_null(f);
	for (int i = 0; i < 3; i++) {
		rgb[i] = fgetc(f);
		bits |= (rgb[i] > 200) << i;
		if (rgb[i] > 60 && rgb[i] < 200)
			bits = 8;
	}
	assert_int_equal(pclose(f), 0);
	return ".RGYBMCW?"[bits];
}

/* Of the same film, without a picture that could be decoded; with one that begins so late that its size is not known;
 * without such a sound; and with neither. */
static void
what_is_dead_is_told_and_the_rest_plays(void **state)
{
#define FILM "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=160x120:r=25:d=28 -f lavfi -i sine=d=28 -c:v mpeg2video -c:a " \
	"libmp3lame -f matroska \"$f.x\" && ffmpeg -v error -nostdin -y -i \"$f.x\" -c copy "
	static const struct { const char *how, *type, *said; int pictures, sounds; } films[] = {
		{ FILM "-bsf:v noise=amount=1 -f matroska \"$f\"", "audio", "Nothing of the picture can be read.", 0, 1 },
		{ FILM "-bsf:v 'noise=drop=lt(n\\,600)' -f mpegts \"$f\"", "audio", "Nothing of the picture can be read.", 0, 1 },
		{ FILM "-bsf:a noise=amount=1 -f matroska \"$f\"", "video", "Nothing of the sound can be read.", 1, 0 },
	};
	struct world *w = *state;
	const size_t n = sizeof(films) / sizeof(films[0]);
	struct uuid neither = take_in(w, make(w, FILM "-bsf:v noise=amount=1 -bsf:a "
	    "noise=amount=1 -f matroska \"$f\"")), ids[sizeof(films) / sizeof(films[0])];

	for (size_t i = 0; i < n; i++) {
		ids[i] = take_in(w, make(w, films[i].how));
		db_run(w->db, "UPDATE media SET transcript_language_codes = '[]' WHERE id = ?", ARGS(ID(ids[i])));
	}
	drain(w, w->conf);
	for (size_t i = 0; i < n; i++) {
		struct req *r = call(w, "GET", path_of(w, ids[i]), NULL);

		succeeded(w, ids[i]);
		assert_string_equal(text(w, r, "data.type"), films[i].type);
		assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "probe");
		assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "damaged");
		assert_string_equal(text(w, r, "data.ingestJob.warnings.0.detail"), films[i].said);
		assert_null(text(w, r, "data.ingestJob.warnings.1.step"));
		assert_int_equal(published_rows(w, ids[i], "hls"), films[i].pictures);
		assert_int_equal(published_rows(w, ids[i], "audio") > 0, films[i].sounds);
	}
	assert_string_equal(text(w, call(w, "GET", path_of(w, neither), NULL), "data.ingestJob.error.code"),
	    "decode_failed");
#undef FILM
}

/* Red for 0.2 s, then half blue, half clear, in frames as long as their makers say.  In the GIF, what is clear leaves
 * the frame before it as it is. */
static void
an_animation_plays_with_its_delays_on_white(void **state)
{
	static const struct { const char *how, *mime_type; double seconds; char clear; } kinds[] = {
		{ "format=rgba,split[a][b];[a]palettegen=reserve_transparent=1[p];[b][p]paletteuse\" -f gif", "image/gif", 2,
		    'R' },
		{ "format=rgba\" -plays 0 -f apng", "image/png", 2, 'W' },
		{ "format=bgra\" -c:v libwebp_anim -lossless 1 -f webp", "image/webp", 1.65, 'W' },
	};
	struct world *w = *state;
	struct uuid ids[3];
	struct req *r;

	for (size_t i = 0; i < 3; i++)
		ids[i] = take_in(w, make(w, arena_printf(w->mem, "ffmpeg -v error -nostdin -y -f lavfi -i "
		    "\"color=black:s=64x48:r=10:d=1.2,format=gbrap,geq=r='255*lt(T,0.15)':g=0:b='255*gt(T,0.15)':"
		    "a='255*max(lt(T,0.15),lt(X,32))',select='eq(n,0)+eq(n,2)+eq(n,11)',%s -fps_mode vfr \"$f\"",
		    kinds[i].how)));
	drain(w, w->conf);
	for (size_t i = 0; i < 3; i++) {
		succeeded(w, ids[i]);
		r = call(w, "GET", path_of(w, ids[i]), NULL);
		assert_string_equal(text(w, r, "data.type"), "video");
		assert_string_equal(text(w, r, "data.mimeType"), kinds[i].mime_type);
		assert_non_null(text(w, r, "data.playlistUrl"));
		assert_true(fabs(strtod(text(w, r, "data.duration"), NULL) - kinds[i].seconds) < 0.06);
		assert_int_equal(published_rows(w, ids[i], "image"), 2);
		assert_int_equal(published_rows(w, ids[i], "poster"), 1);
		assert_int_equal(published_rows(w, ids[i], "audio"), 0);
		assert_int_equal(color(w, ids[i], 0.1, 1), 'R');
		assert_int_equal(color(w, ids[i], 0.6, 1), 'B');
		assert_int_equal(color(w, ids[i], 0.6, 3), kinds[i].clear);
	}
}

static void
frames_that_nobody_would_see_stay_for_a_tenth_of_a_second(void **state)
{
	struct world *w = *state;
	struct uuid hasty = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=64x48:r=1000:d=0.01 "
	    "-plays 0 -f apng \"$f\""));

	drain(w, w->conf);
	succeeded(w, hasty);
	assert_true(fabs(strtod(text(w, call(w, "GET", path_of(w, hasty), NULL), "data.duration"), NULL) - 1) < 0.06);
}

static void
a_picture_of_one_frame_stays_one_and_endless_animations_are_shortened(void **state)
{
	struct world *w = *state;
	struct uuid still = take_in(w, make(w, "/usr/bin/convert -size 60x40 xc:red \"gif:$f\"")), endless = take_in(w,
	    make(w, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=32x32:r=10:d=100 -f gif \"$f\""));
	struct req *r;

	drain(w, w->conf);
	succeeded(w, still);
	assert_string_equal(media_column(w, still, "type"), "image");
	succeeded(w, endless);
	r = call(w, "GET", path_of(w, endless), NULL);
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "shortened");
	assert_true(fabs(strtod(text(w, r, "data.duration"), NULL) - 60) < 0.5);
}

static void
a_tiff_of_several_pages_is_a_document_and_one_with_smaller_copies_a_picture(void **state)
{
	struct world *w = *state;
	struct uuid pages = take_in(w, make(w, "/usr/bin/convert -size 300x200 xc:red \\( -size 200x300 xc:gray \\) "
	    "xc:blue \"tiff:$f\"")), copies = take_in(w, make(w, "/usr/bin/convert -size 600x400 xc:red \"ptif:$f\"")),
	    many = take_in(w, make(w, "/usr/bin/convert $(yes xc:red | head -n 30) -resize 8x8 \"tiff:$f\""));
	struct conf few = *w->conf;

	few.document_max_pages = 20;
	drain(w, &few);
	succeeded(w, pages);
	assert_string_equal(media_column(w, pages, "type"), "document");
	assert_string_equal(media_column(w, pages, "mime_type"), "image/tiff");
	assert_string_equal(media_column(w, pages, "page_count"), "3");
	assert_true(published(w, pages, "document.pdf") && published(w, pages, "poster.jpg"));
	assert_string_equal(metadata(w, pages, "documentContent"), "{\"pages\":[]}");
	succeeded(w, copies);
	assert_string_equal(media_column(w, copies, "type"), "image");
	assert_string_equal(text(w, call(w, "GET", path_of(w, many), NULL), "data.ingestJob.error.code"),
	    "too_many_pages");
}

static void
a_tiff_of_which_a_page_cannot_be_read_ends_before_it_and_says_so(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "/usr/bin/convert rose: rose: -compress zip \"tiff:$f.x\" && "
	    "/usr/bin/convert rose: rose: rose: rose: -compress zip \"tiff:$f\" && dd status=none if=/dev/zero of=\"$f\" "
	    "bs=1 seek=$(($(stat -c %s \"$f.x\") + 100)) count=500 conv=notrunc"));
	struct req *r;

	drain(w, w->conf);
	succeeded(w, id);
	assert_string_equal(media_column(w, id, "page_count"), "2");
	r = call(w, "GET", path_of(w, id), NULL);
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "pages");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "damaged");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.detail"), "Of 4 pages 2 at the end cannot be read.");
	assert_null(text(w, r, "data.ingestJob.warnings.1.step"));
}

static void
all_languages_that_were_asked_for_are_transcribed_also_without_the_upload(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i sine=d=1 -f mp4 \"$f\""));

	db_run(w->db, "UPDATE media SET transcript_language_codes = "
	    "'[\"de\",\"en\",\"fr\",\"es\",\"it\",\"pt\",\"nl\",\"pl\",\"cs\",\"da\"]' WHERE id = ?", ARGS(ID(id)));
	drain(w, w->conf);
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'transcribe'", ARGS(ID(id))), 10);
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'transcribe' "
	    "AND JSON_VALUE(args, '$.languageCode') = 'da'", ARGS(ID(id))), 1);
}

static void
what_cannot_be_used_fails_with_its_reason(void **state)
{
	static const struct { const char *command, *code; } bad[] = {
		{ ": >\"$f\"", "empty_file" },
		{ "printf '#EXTM3U\\n#EXTINF:1,\\nfile:///etc/passwd\\n' >\"$f\"", "format_not_allowed" },
		{ "printf '<html><script>' >\"$f\"", "format_not_allowed" },
		{ "cp /bin/true \"$f\"", "format_not_allowed" },
		{ "head -c 4096 /dev/zero >\"$f\"", "unknown_format" },
		{ "printf '\\211PNG\\r\\n\\032\\n\\0\\0\\0\\015IHDR\\0\\0\\372\\372\\0\\0\\372\\372\\001\\0\\0\\0\\0\\0\\0\\0\\0' >\"$f\"",
		    "too_many_pixels" },
		{ "/usr/bin/convert -size 900x900 plasma: jpeg:- 2>/dev/null | head -c 30000 >\"$f\"", "truncated" },
		{ "printf '%%PDF-1.4\\n1 0 obj' >\"$f\"", "truncated" },
		{ "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=320x180:d=2 -f mp4 \"$f\" && truncate -s 20000 \"$f\"", "truncated" },
		{ "ffmpeg -v error -nostdin -y -f lavfi -i anullsrc=r=1000:cl=mono -t 1 -c:a pcm_u8 -f wav -rf64 always \"$f\" && "
		    "truncate -s 47M \"$f\" && printf '\\0\\0\\360\\2\\0\\0\\0\\0\\0\\0\\357\\2' | "
		    "dd of=\"$f\" bs=1 seek=20 conv=notrunc 2>/dev/null", "too_long" },
	};
	struct world *w = *state;
	struct uuid ids[sizeof(bad) / sizeof(bad[0])];
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ids[i] = take_in(w, make(w, bad[i].command));
	drain(w, w->conf);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "GET", path_of(w, ids[i]), NULL);
		if (text(w, r, "data.ingestJob.error.code") == NULL ||
		    strcmp(text(w, r, "data.ingestJob.error.code"), bad[i].code) != 0)
			fail_msg("%s: %s", bad[i].command, buf_string(&r->out));
		assert_string_equal(text(w, r, "data.status"), "failed");
		assert_non_null(text(w, r, "data.ingestJob.error.remedy"));
		assert_int_equal(number(w, "FROM renditions WHERE media_id = ?", ARGS(ID(ids[i]))), 0);
	}
}

static bool
has_generation(struct world *w, struct uuid id, const char *generation)
{
	const char *prefix = store_key_play(w->mem, id, arena_printf(w->mem, "%s/", generation));
	size_t n;

	assert_non_null(store_list(w->mem, prefix, NULL, 1, &n));
	return n > 0;
}

static void
a_further_ingest_replaces_the_files_in_one_step_or_not_at_all(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "/usr/bin/convert -size 900x900 plasma: \"jpeg:$f\"")), job;
	const char *first, *second, *key = arena_printf(w->mem, "originals/%s", uuid_text(w->mem, id));
	int64_t expiry;
	struct req *r;
	char *bytes;
	size_t size;

	drain(w, w->conf);
	succeeded(w, id);
	first = media_column(w, id, "generation");

	job = ingest_start(w->db, w->tenant_id, id);
	assert_string_equal(media_column(w, id, "generation"), first);
	expiry = play_expiry(w->conf, moment_now());
	drain(w, w->conf);
	succeeded(w, id);
	second = media_column(w, id, "generation");
	assert_string_equal(second, uuid_text(w->mem, job));
	assert_int_equal(number(w, "FROM renditions WHERE media_id = ? AND generation <> ?", ARGS(ID(id), STR(second))),
	    0);
	/* Addresses given out before stay good until they expire: the old files go later. */
	assert_true(has_generation(w, id, first));
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'purge' AND state = 'delayed' "
	    "AND run_at >= ?", ARGS(ID(id), INT(expiry * 1000))), 1);
	assert_true(published(w, id, "900.jpg"));

	/* A picture whose header is fine and whose rest is missing fails in a later step. */
	bytes = store_get(w->mem, key, INT64_C(1) << 30, &size);
	assert_non_null(bytes);
	assert_true(size > 30000 && store_delete(w->mem, key) && store_write(w->mem, bytes, 30000, key));
	job = ingest_start(w->db, w->tenant_id, id);
	drain(w, w->conf);
	r = call(w, "GET", path_of(w, id), NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.ingestJob.status"), "failed");
	assert_string_equal(text(w, r, "data.ingestJob.error.code"), "truncated");
	assert_string_equal(media_column(w, id, "generation"), second);
	assert_true(published(w, id, "900.jpg"));
	assert_int_equal(published_rows(w, id, "image"), 6);
	assert_false(has_generation(w, id, uuid_text(w->mem, job)));
}

/* As after a restore, which brings rows and originals alone. */
static void
an_asset_whose_files_are_lost_is_whole_again_after_an_ingest(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "/usr/bin/convert -size 60x60 xc:red \"png:$f\"")), said = uuid_new();
	const char *old = arena_printf(w->mem, "captions/%s.1.vtt", uuid_text(w->mem, said)), *captions, *vtt;
	const char *thumbnail = store_key_play(w->mem, id, "custom/a.jpg");
	size_t n;

	drain(w, w->conf);
	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'de', 'human', '', 'completed', ?, 1, 1)", ARGS(ID(said), ID(id),
	    STR("[{\"id\":\"01900000-0000-7000-8000-000000000001\",\"start\":0,\"end\":1.5,\"text\":\"Guten Tag.\","
	    "\"words\":[{\"text\":\"Guten\",\"start\":0,\"end\":0.5},{\"text\":\"Tag.\",\"start\":0.5,\"end\":1.5}]}]")));
	db_run(w->db, "UPDATE media SET custom_thumbnail_file = 'custom/a.jpg', captions = ? WHERE id = ?",
	    ARGS(STR(arena_printf(w->mem, "[{\"languageCode\":\"de\",\"label\":\"Deutsch\",\"file\":\"%s\"}]",
	    old)), ID(id)));
	assert_true(store_write(w->mem, "jpeg", 4, store_key_thumbnail(w->mem, id, "custom/a.jpg")));
	assert_true(store_delete(w->mem, store_key_play(w->mem, id, NULL)));

	ingest_start(w->db, w->tenant_id, id);
	drain(w, w->conf);
	succeeded(w, id);
	assert_true(published(w, id, "60.jpg"));
	assert_string_equal(store_get(w->mem, thumbnail, 10, &n), "jpeg");
	captions = db_text(w->db, "SELECT JSON_VALUE(captions, '$[0].file') FROM media WHERE id = ?", ARGS(ID(id)));
	assert_string_not_equal(captions, old);
	vtt = store_get(w->mem, store_key_play(w->mem, id, captions), 1000, &n);
	assert_non_null(vtt);
	assert_non_null(strstr(vtt, "Guten Tag."));
	assert_string_equal(db_text(w->db, "SELECT JSON_VALUE(captions, '$[0].label') FROM media WHERE id = ?",
	    ARGS(ID(id))), "Deutsch");
	/* Who has the old address may use it until it expires. */
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'purge' AND state = 'delayed' AND args "
	    "LIKE CONCAT('%', ?, '%')", ARGS(ID(id), STR(old))), 1);
}

static void
a_full_disk_is_waited_for_and_a_deleted_asset_is_let_go(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "/usr/bin/convert -size 100x100 xc:red \"png:$f\"")), gone;
	struct conf full = *w->conf;

	full.free_space = INT64_C(1) << 50;
	drain(w, &full);
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND state = 'delayed' AND JSON_VALUE(error, "
	    "'$.code') = 'no_space'", ARGS(ID(id))), 1);
	assert_string_equal(media_column(w, id, "status"), "processing");

	gone = take_in(w, make(w, "/usr/bin/convert -size 110x110 xc:red \"png:$f\""));
	db_run(w->db, "DELETE FROM media WHERE id = ?", ARGS(ID(gone)));
	drain(w, w->conf);
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND state = 'failed' AND JSON_VALUE(error, "
	    "'$.code') = 'asset_gone'", ARGS(ID(gone))), 1);
}

static void
scratch_on_another_file_system_serves_as_well(void **state)
{
	struct world *w = *state;
	struct uuid id = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=320x180:r=25:d=1 -c:v "
	    "libx264 -preset ultrafast -f mp4 \"$f\""));
	char dir[] = "/dev/shm/kinothek-scratch-XXXXXX";
	struct conf conf = *w->conf;

	assert_non_null(mkdtemp(dir));
	conf.scratch_dir = dir;
	drain(w, &conf);
	succeeded(w, id);
	assert_true(published(w, id, "master.m3u8") && published(w, id, "poster.jpg"));
	assert_true(published(w, id, "download.mp4"));
	/* Nothing is left but the folder of this machine. */
	assert_int_equal(system(arena_printf(w->mem, "rmdir %s/* && rmdir %s", dir, dir)), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_picture_becomes_ready_upright_and_in_smaller_forms),
		WORLD_TEST(words_that_are_damaged_are_told_and_the_file_is_shown),
		WORLD_TEST(the_time_of_the_recording_is_taken_from_the_file),
		WORLD_TEST(the_title_in_the_file_is_the_name_where_nobody_gave_a_better_one),
		WORLD_TEST(a_document_gives_pages_text_and_a_pdf),
		WORLD_TEST(a_video_plays_and_a_container_of_sound_alone_is_audio),
		WORLD_TEST(of_a_damaged_file_plays_what_can_be_read_and_a_warning_says_what_is_missing),
		WORLD_TEST(what_is_dead_is_told_and_the_rest_plays),
		WORLD_TEST(an_animation_plays_with_its_delays_on_white),
		WORLD_TEST(frames_that_nobody_would_see_stay_for_a_tenth_of_a_second),
		WORLD_TEST(a_picture_of_one_frame_stays_one_and_endless_animations_are_shortened),
		WORLD_TEST(a_tiff_of_several_pages_is_a_document_and_one_with_smaller_copies_a_picture),
		WORLD_TEST(a_tiff_of_which_a_page_cannot_be_read_ends_before_it_and_says_so),
		WORLD_TEST(all_languages_that_were_asked_for_are_transcribed_also_without_the_upload),
		WORLD_TEST(what_cannot_be_used_fails_with_its_reason),
		WORLD_TEST(a_further_ingest_replaces_the_files_in_one_step_or_not_at_all),
		WORLD_TEST(an_asset_whose_files_are_lost_is_whole_again_after_an_ingest),
		WORLD_TEST(scratch_on_another_file_system_serves_as_well),
		WORLD_TEST(a_full_disk_is_waited_for_and_a_deleted_asset_is_let_go),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
