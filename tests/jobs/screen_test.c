/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands on slides, screens and pictures, and where the camera is another. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "jobs/engines/sheet.h"
#include "tests/jobs/intake.h"

#define FONT "fontfile=/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fontsize=44"
#define TEXT(words, x, y, from) \
	"drawtext=" FONT ":fontcolor=white:x=" x ":y=" y ":text='" words "':enable='gte(t," from ")'"
#define WRITE " -c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 50 -f mp4 \"$f\""
#define FFMPEG "ffmpeg -v error -nostdin -y "

static struct req *
metadata(struct world *w, struct uuid media, const char *kind)
{
	return call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata?expand=%s", uuid_text(w->mem, media), kind),
	    NULL);
}

static struct uuid
taken(struct world *w, const char *command)
{
	struct uuid media = take_in(w, make(w, command));

	drain(w, w->conf);
	return media;
}

/* Number of the item with this text, or -1. */
static int
item(struct world *w, struct req *r, const char *kind, const char *words)
{
	const char *found;
	int i;

	for (i = 0; (found = text(w, r, arena_printf(w->mem, "data.%s.items.%d.text", kind, i))) != NULL; i++)
		if (strcmp(found, words) == 0)
			return i;
	return -1;
}

static double
number_at(struct world *w, struct req *r, const char *path)
{
	const char *found = text(w, r, path);

	if (found == NULL)
		fail_msg("no %s: %s", path, buf_string(&r->out));
	return strtod(found, NULL);
}

/* The only instance of a line of a film is there from and to these seconds, give or take one. */
static void
stands(struct world *w, struct req *r, const char *words, double from, double to)
{
	int i = item(w, r, "videoTexts", words);
	const char *times = arena_printf(w->mem, "data.videoTexts.items.%d.instances", i);

	if (i < 0)
		fail_msg("\"%s\" was not read: %s", words, buf_string(&r->out));
	assert_true(fabs(number_at(w, r, arena_printf(w->mem, "%s.0.start", times)) - from) <= 1);
	assert_true(fabs(number_at(w, r, arena_printf(w->mem, "%s.0.end", times)) - to) <= 1);
	assert_null(text(w, r, arena_printf(w->mem, "%s.1.start", times)));
}

/* A slide that grows by a line, beside which something moves all the time, and a second one. */
static void
lines_of_slides_are_read_with_the_time_they_stand_there(void **state)
{
	struct world *w = *state;
	struct uuid media = taken(w, FFMPEG "-f lavfi -i \"color=navy:s=1280x720:r=10:d=16,"
	    TEXT("Railway bridges", "80", "80", "0") "," TEXT("Stone and timber", "120", "220", "8")
	    "\" -f lavfi -i \"color=darkgreen:s=1280x720:r=10:d=10," TEXT("Concrete arches", "80", "80", "0")
	    "\" -f lavfi -i testsrc2=s=200x120:r=10:d=26 -filter_complex '[0][1]concat=n=2[a];[a][2]overlay=1060:580'" WRITE);
	struct req *r = metadata(w, media, "videoTexts");

	assert_string_equal(media_column(w, media, "status"), "ready");
	stands(w, r, "Railway bridges", 0, 16);
	stands(w, r, "Stone and timber", 8, 16);
	stands(w, r, "Concrete arches", 16, 26);
	assert_true(fabs(number_at(w, r, arena_printf(w->mem, "data.videoTexts.items.%d.instances.0.box.x", item(w, r,
	    "videoTexts", "Railway bridges"))) - 80.0 / 1280) < 0.02);
	assert_int_equal(number(w, "FROM metadata t WHERE t.media_id = ? AND t.kind = 'videoTexts' AND t.engine = "
	    "'tesseract 5'", ARGS(ID(media))), 1);
}

static void
a_line_that_comes_back_has_a_second_time(void **state)
{
	struct world *w = *state;
	struct uuid media = taken(w, FFMPEG "-f lavfi -i \"color=navy:s=1280x720:r=10:d=30,drawtext=" FONT
	    ":fontcolor=white:x=80:y=80:text='Order of business':enable='lt(mod(t,20),10)'\"" WRITE);
	struct req *r = metadata(w, media, "videoTexts");
	int i = item(w, r, "videoTexts", "Order of business");

	assert_int_equal(i, 0);
	assert_null(text(w, r, "data.videoTexts.items.1.text"));
	assert_true(fabs(number_at(w, r, "data.videoTexts.items.0.instances.0.end") - 10) <= 1);
	assert_true(fabs(number_at(w, r, "data.videoTexts.items.0.instances.1.start") - 20) <= 1);
	assert_true(fabs(number_at(w, r, "data.videoTexts.items.0.instances.1.end") - 30) <= 1);
}

static void
slides_name_the_parts_of_a_film(void **state)
{
	struct world *w = *state;
	struct uuid media = taken(w, FFMPEG "-f lavfi -i \"color=navy:s=1280x720:r=5:d=40,"
	    TEXT("Railway bridges", "80", "80", "0")
	    ",drawtext=" FONT ":fontcolor=white:x=80:y=400:fontsize=24:text='made by nobody'"
	    "\" -f lavfi -i \"color=olive:s=1280x720:r=5:d=40," TEXT("Concrete arches", "80", "80", "0")
	    "\" -filter_complex '[0][1]concat=n=2'" WRITE);
	const char *chapters = arena_printf(w->mem, "/v2/media/%s/chapters", uuid_text(w->mem, media));
	struct req *r = call(w, "GET", chapters, NULL);

	r = call(w, "GET", arena_printf(w->mem, "%s/%s", chapters, text(w, r, "data.0.id")), NULL);
	assert_string_equal(text(w, r, "data.entries.0.title"), "Railway bridges");
	assert_string_equal(text(w, r, "data.entries.1.title"), "Concrete arches");
	assert_null(text(w, r, "data.quality"));
}

static void
noise_says_nothing(void **state)
{
	struct world *w = *state;
	struct uuid media = taken(w, FFMPEG "-f lavfi -i \"nullsrc=s=640x360:r=10:d=8,"
	    "geq='random(1)*255:128:128'\"" WRITE);
	struct req *r = metadata(w, media, "videoTexts");

	assert_string_equal(media_column(w, media, "status"), "ready");
	assert_string_equal(text(w, r, "data.videoTexts.count"), "0");
	assert_string_equal(text(w, r, "data.status"), "completed");
}

static void
cuts_and_fades_part_scenes(void **state)
{
	struct world *w = *state;
	struct uuid media = taken(w, FFMPEG "-f lavfi -i color=navy:s=320x180:r=10:d=6 "
	    "-f lavfi -i testsrc=s=320x180:r=10:d=8 -f lavfi -i mandelbrot=s=320x180:r=10,trim=duration=8 -filter_complex "
	    "'[1][2]xfade=transition=fade:duration=1:offset=7,settb=1/10[b];[0]settb=1/10[a];[a][b]concat=n=2'" WRITE);
	struct req *r = metadata(w, media, "scenes");

	assert_string_equal(text(w, r, "data.scenes.count"), "3");
	assert_true(number_at(w, r, "data.scenes.items.0.start") == 0);
	assert_true(fabs(number_at(w, r, "data.scenes.items.1.start") - 6) <= 0.21);
	assert_true(fabs(number_at(w, r, "data.scenes.items.2.start") - 13.5) <= 1);
	assert_true(fabs(number_at(w, r, "data.scenes.items.2.end") - 21) <= 0.3);
}

static void
a_picture_is_read(void **state)
{
	struct world *w = *state;
	struct uuid media = taken(w, FFMPEG "-f lavfi -i \"color=white:s=1600x900,drawtext=" FONT
	    ":fontcolor=black:x=200:y=300:text='Opening hours'\"" " -frames:v 1 -f image2 -c:v png \"$f\"");
	struct req *r = metadata(w, media, "imageTexts");

	assert_string_equal(text(w, r, "data.imageTexts.items.0.text"), "Opening hours");
	assert_true(fabs(number_at(w, r, "data.imageTexts.items.0.box.x") - 200.0 / 1600) < 0.02);
	assert_true(number_at(w, r, "data.imageTexts.items.0.confidence") > 0.6);
	assert_string_equal(text(w, r, "data.videoTexts.count"), "0");
}

static void
put_jpeg(struct world *w, FILE *out, int object, const char *jpeg)
{
	enum { JPEG_MAX = 8 << 20 };
	char *bytes = arena_alloc(w->mem, JPEG_MAX);
	FILE *f = fopen(jpeg, "r");
	size_t n = fread(bytes, 1, JPEG_MAX, f);

	assert_true(n > 0 && n < JPEG_MAX);
	fclose(f);
	fprintf(out, "%d 0 obj\n<</Type/XObject/Subtype/Image/Width 1600/Height 1200/BitsPerComponent 8/ColorSpace/"
	    "DeviceRGB/Filter/DCTDecode/Length %zu>>stream\n", object, n);
	fwrite(bytes, 1, n, out);
	fputs("\nendstream\nendobj\n", out);
}

/* A PDF as a scanner makes it: its second page is the JPEG and has no text, the third is the other one or empty, and
 * the last is the JPEG again; the first has a text of its own. */
static const char *
scanned(struct world *w, const char *jpeg, const char *third)
{
	const char *const pages[] = { "BT /F 24 Tf 20 100 Td (Typed by hand) Tj ET", "800 0 0 600 0 0 cm /P Do",
	    third != NULL ? "800 0 0 600 0 0 cm /Q Do" : "", "800 0 0 600 0 0 cm /P Do" };
	const char *path = arena_printf(w->mem, "%s/scanned.pdf", w->conf->data_dir);
	FILE *out = fopen(path, "w");
	long at[14] = { 0 };

	fputs("%PDF-1.4\n", out);
	for (int i = 0; i < 8; i++) {
		at[5 + i] = ftell(out);
		if (i % 2 == 0)
			fprintf(out, "%d 0 obj\n<</Type/Page/Parent 2 0 R/Resources<</Font<</F 3 0 R>>/XObject<</P 4 "
			    "0 R/Q 13 0 R>>>>/Contents %d 0 R>>\nendobj\n", 5 + i, 6 + i);
		else
			fprintf(out, "%d 0 obj\n<</Length %zu>>stream\n%s\nendstream\nendobj\n", 5 + i,
			    strlen(pages[i / 2]), pages[i / 2]);
	}
	at[1] = ftell(out);
	fputs("1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n", out);
	at[2] = ftell(out);
	fputs("2 0 obj\n<</Type/Pages/Kids[5 0 R 7 0 R 9 0 R 11 0 R]/Count 4/MediaBox[0 0 800 600]>>\nendobj\n", out);
	at[3] = ftell(out);
	fputs("3 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\n", out);
	at[4] = ftell(out);
	put_jpeg(w, out, 4, jpeg);
	at[13] = ftell(out);
	put_jpeg(w, out, 13, third != NULL ? third : jpeg);
	at[0] = ftell(out);
	fputs("xref\n0 14\n0000000000 65535 f \n", out);
	for (int i = 1; i < 14; i++)
		fprintf(out, "%010ld 00000 n \n", at[i]);
	fprintf(out, "trailer\n<</Size 14/Root 1 0 R>>\nstartxref\n%ld\n%%%%EOF\n", at[0]);
	assert_int_equal(fclose(out), 0);
	return path;
}

#define SCANNED " -frames:v 1 -pix_fmt yuvj420p -f image2 -c:v mjpeg -q:v 2 \"$f\""

static const char *
stone(struct world *w)
{
	return make(w, FFMPEG "-f lavfi -i \"color=white:s=1600x1200,drawtext=" FONT
	    ":fontcolor=black:x=200:y=300:text='The bridge was built of stone'\"" SCANNED);
}

static const char *
scan(struct world *w)
{
	return scanned(w, stone(w), NULL);
}

/* Of pictures, films and scans, by runners as they are; one of another tenant is read meanwhile. */
static void
what_a_tenant_wants_read_by_nothing_is_not_read(void **state)
{
	struct world *w = *state, *other = world_other(w);
	static const char picture[] = FFMPEG "-f lavfi -i \"color=white:s=1600x900,drawtext=" FONT
	    ":fontcolor=black:x=200:y=300:text='Opening hours'\"" " -frames:v 1 -f image2 -c:v png \"$f\"";
	const struct uuid film = take_in(w, make(w, FFMPEG "-f lavfi -i \"color=navy:s=1280x720:r=10:d=8,"
	    TEXT("Railway bridges", "80", "80", "0") "\"" WRITE)), image = take_in(w, make(w, picture)), scanned =
	    take_in(w, scan(w)), theirs = take_in(other, make(w, picture));

	db_run(w->db, "UPDATE tenants SET engines = '{\"ocr\":\"none\"}' WHERE id = ?", ARGS(ID(w->tenant_id)));
	drain(w, w->conf);
	db_run(w->db, "UPDATE tenants SET engines = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(number(w, "FROM media t WHERE t.id IN (?, ?, ?) AND t.status = 'ready' AND t.ingest_status = "
	    "'succeeded'", ARGS(ID(film), ID(image), ID(scanned))), 3);
	assert_int_equal(number(w, "FROM metadata t WHERE t.media_id IN (?, ?, ?) AND t.engine LIKE '%tesseract%'",
	    ARGS(ID(film), ID(image), ID(scanned))), 0);
	assert_int_equal(number(w, "FROM metadata t WHERE t.media_id = ? AND t.kind = 'imageTexts'", ARGS(ID(theirs))),
	    1);
}

static void
pages_without_a_text_are_read_as_pictures(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, scan(w));
	struct req *r;

	drain(w, w->conf);
	r = metadata(w, media, "documentContent");
	assert_string_equal(text(w, r, "data.documentContent.count"), "3");
	assert_string_equal(text(w, r, "data.documentContent.engine"), "poppler, tesseract 5");
	assert_string_equal(text(w, r, "data.documentContent.items.0.text"), "Typed by hand");
	assert_null(text(w, r, "data.documentContent.items.0.engine"));
	assert_string_equal(text(w, r, "data.documentContent.items.1.page"), "2");
	assert_string_equal(text(w, r, "data.documentContent.items.1.text"), "The bridge was built of stone");
	assert_string_equal(text(w, r, "data.documentContent.items.1.engine"), "tesseract 5");
	assert_true(number_at(w, r, "data.documentContent.items.1.confidence") > 0.6);
	assert_string_equal(text(w, r, "data.documentContent.items.2.page"), "4");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), NULL);
	assert_null(text(w, r, "data.ingestJob.warnings.0.code"));
}

static void
pages_beyond_the_limit_are_named(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, scan(w));
	struct conf few = *w->conf;
	struct req *r;

	few.document_read_pages = 1;
	drain(w, &few);
	r = metadata(w, media, "documentContent");
	assert_string_equal(text(w, r, "data.documentContent.count"), "2");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "pageTexts");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "left_out");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.detail"),
	    "Of 3 pages without a text of their own 1 were read as pictures, those before page 3.");
}

static void
an_engine_that_is_offered_no_more_is_named(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, stone(w));
	struct conf without = *w->conf;
	struct req *r;

	without.engine[ENGINE_ocr].name = "none";
	db_run(w->db, "UPDATE tenants SET engines = '{\"ocr\":\"tesseract\"}' WHERE id = ?", ARGS(ID(w->tenant_id)));
	drain(w, &without);
	db_run(w->db, "UPDATE tenants SET engines = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "imageTexts");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "engine_refused");
	assert_non_null(strstr(text(w, r, "data.ingestJob.warnings.0.detail"), "engines.ocr"));
	/* To want none is no mistake. */
	media = take_in(w, stone(w));
	drain(w, &without);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_null(text(w, r, "data.ingestJob.warnings.0.code"));
}

#define WORDS "i=0; while [ $i -lt 250 ]; do printf '%660s\n' '' | sed 's/......../ xq7#Zk/g'; i=$((i + 1)); done >\"$f\""
#define CROWDED(size, font) "\"color=white:s=" size ":r=10:d=10,drawtext=fontfile=/usr/share/fonts/truetype/dejavu/" \
	"DejaVuSans.ttf:fontsize=" font ":x=10:y=10:textfile=%s\""

/* Thousands of small words that are none take half a minute of a quick machine; a line, a tenth of a second. */
static void
a_page_that_cannot_be_read_takes_no_other_one_with_it(void **state)
{
	struct world *w = *state;
	const char *dense = make(w, arena_printf(w->mem, FFMPEG "-f lavfi -i " CROWDED("1600x1200", "8") SCANNED,
	    make(w, WORDS)));
	struct uuid media = take_in(w, scanned(w, stone(w), dense));
	struct conf hasty = *w->conf;
	struct req *r;

	hasty.engine[ENGINE_ocr].timeout = 5;
	drain(w, &hasty);
	r = metadata(w, media, "documentContent");
	assert_string_equal(text(w, r, "data.documentContent.count"), "3");
	assert_string_equal(text(w, r, "data.documentContent.items.1.page"), "2");
	assert_string_equal(text(w, r, "data.documentContent.items.1.text"), "The bridge was built of stone");
	assert_string_equal(text(w, r, "data.documentContent.items.2.page"), "4");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), NULL);
	assert_string_equal(text(w, r, "data.ingestJob.status"), "succeeded");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "pageTexts");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "no_progress");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.detail"), "Page 3 could not be read as a picture.");
	assert_null(text(w, r, "data.ingestJob.warnings.1.code"));
}

static void
a_still_that_cannot_be_read_takes_no_other_one_with_it(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, arena_printf(w->mem, FFMPEG "-f lavfi -i "
	    "\"color=navy:s=1280x720:r=10:d=10," TEXT("Railway bridges", "80", "80", "0") "\" -f lavfi -i " CROWDED("1280x720", "10") " -f lavfi -i "
	    "\"color=olive:s=1280x720:r=10:d=10," TEXT("Concrete arches", "80", "80", "0") "\" -filter_complex "
	    "'[0][1][2]concat=n=3'" WRITE, make(w, WORDS))));
	struct conf hasty = *w->conf;
	struct req *r;

	hasty.engine[ENGINE_ocr].timeout = 4;
	drain(w, &hasty);
	r = metadata(w, media, "videoTexts");
	stands(w, r, "Railway bridges", 0, 10);
	stands(w, r, "Concrete arches", 20, 30);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), NULL);
	assert_string_equal(text(w, r, "data.ingestJob.status"), "succeeded");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "videoTexts");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "no_progress");
	assert_true(fabs(number_at(w, r, "data.ingestJob.warnings.0.from") - 10) <= 1);
	assert_true(fabs(number_at(w, r, "data.ingestJob.warnings.0.to") - 20) <= 1);
	assert_null(text(w, r, "data.ingestJob.warnings.1.code"));
}

/* All pages but the last, which is empty, have the same text: together more than is kept. */
static void
pages_behind_the_end_of_the_text_are_no_scans(void **state)
{
	enum { PAGES = 400, LINES = 300 };
	struct world *w = *state;
	const char *path = arena_printf(w->mem, "%s/long.pdf", w->conf->data_dir);
	FILE *out = fopen(path, "w");
	struct buf lines = BUF(w->mem);
	struct uuid media;
	struct req *r;

	buf_text(&lines, "BT /F 2 Tf 2 TL 20 790 Td");
	for (int i = 0; i < LINES; i++)
		buf_text(&lines, " (a railway bridge of stone and timber over the river, again and again) Tj T*");
	buf_text(&lines, " ET");
	fputs("%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/MediaBox[0 0 600 800]/"
	    "Kids[", out);
	for (int i = 0; i < PAGES; i++)
		fprintf(out, "%d 0 R ", 6 + i);
	fprintf(out, "]/Count %d>>\nendobj\n3 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\n4 0 obj\n"
	    "<</Length %zu>>stream\n%s\nendstream\nendobj\n", PAGES, lines.len, lines.text);
	fputs("5 0 obj\n<</Length 0>>stream\n\nendstream\nendobj\n", out);
	for (int i = 0; i < PAGES; i++)
		fprintf(out, "%d 0 obj\n<</Type/Page/Parent 2 0 R/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>\n"
		    "endobj\n", 6 + i, i + 1 < PAGES ? 4 : 5);
	fprintf(out, "trailer\n<</Size %d/Root 1 0 R>>\n%%%%EOF\n", PAGES + 6);
	assert_int_equal(fclose(out), 0);
	media = take_in(w, path);
	drain(w, w->conf);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), NULL);
	assert_string_equal(text(w, r, "data.ingestJob.status"), "succeeded");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "pages");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "left_out");
	assert_null(text(w, r, "data.ingestJob.warnings.1.code"));
	assert_int_equal(number(w, "FROM metadata t WHERE t.media_id = ? AND t.kind = 'documentContent' AND "
	    "JSON_VALUE(t.data, '$.cutAt') + 0 = JSON_LENGTH(t.data, '$.pages') AND t.engine = 'poppler'",
	    ARGS(ID(media))), 1);
}

static void
a_scan_says_that_nothing_can_read_it(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, scan(w)), typed = take_in(w, make(w, "printf 'All of it is typed.\n' >\"$f\""));
	struct conf blind = *w->conf;
	struct req *r;

	blind.engine[ENGINE_ocr].languages = "none";
	drain(w, &blind);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media)), NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "pageTexts");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "model_missing");
	r = metadata(w, media, "documentContent");
	assert_string_equal(text(w, r, "data.documentContent.count"), "1");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, typed)), NULL);
	assert_null(text(w, r, "data.ingestJob.warnings.0.code"));
}

static void
signs_are_no_lines(void **state)
{
	struct world *w = *state;
	struct sheet_line l = { "\xe2\x80\xa2 \xc2\xab Stone", 0.9, 0, 0, 1, 1 };

	assert_true(sheet_keeps(w->mem, &l));
	assert_string_equal(l.text, "Stone");
	l = (struct sheet_line){ "(optional)", 0.9, 0, 0, 1, 1 };
	assert_true(sheet_keeps(w->mem, &l));
	assert_string_equal(l.text, "(optional)");
	l = (struct sheet_line){ "- --", 0.99, 0, 0, 1, 1 };
	assert_false(sheet_keeps(w->mem, &l));
	l = (struct sheet_line){ "Stone", 0.3, 0, 0, 1, 1 };
	assert_false(sheet_keeps(w->mem, &l));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(lines_of_slides_are_read_with_the_time_they_stand_there),
		WORLD_TEST(a_line_that_comes_back_has_a_second_time),
		WORLD_TEST(slides_name_the_parts_of_a_film),
		WORLD_TEST(noise_says_nothing),
		WORLD_TEST(cuts_and_fades_part_scenes),
		WORLD_TEST(a_picture_is_read),
		WORLD_TEST(what_a_tenant_wants_read_by_nothing_is_not_read),
		WORLD_TEST(pages_without_a_text_are_read_as_pictures),
		WORLD_TEST(pages_beyond_the_limit_are_named),
		WORLD_TEST(a_page_that_cannot_be_read_takes_no_other_one_with_it),
		WORLD_TEST(a_still_that_cannot_be_read_takes_no_other_one_with_it),
		WORLD_TEST(an_engine_that_is_offered_no_more_is_named),
		WORLD_TEST(pages_behind_the_end_of_the_text_are_no_scans),
		WORLD_TEST(a_scan_says_that_nothing_can_read_it),
		WORLD_TEST(signs_are_no_lines),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
