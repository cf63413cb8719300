/* SPDX-License-Identifier: GPL-3.0-or-later */
/* media/image*.c: headers by hand, pictures made by ImageMagick, decoded by the built kinothek-image in the jail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "media/image.h"
#include "core/jail.h"

#define PIXELS 100000000

static char home[] = "/tmp/kinothek-image-XXXXXX";
static struct arena *mem;
static struct image_files files;

static const char *
at(const char *name)
{
	return arena_printf(mem, "%s/%s", home, name);
}

static void __attribute__((format(printf, 1, 2)))
make(const char *format, ...)
{
	char line[2048];
	va_list args;
	int n = snprintf(line, sizeof(line), "cd %s && ", home);

	va_start(args, format);
	vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
	va_end(args);
	if (system(line) != 0)
		fail_msg("%s", line);
}

static const char *
read_file(const char *name, size_t *n)
{
	FILE *f = fopen(at(name), "rb");
	char *bytes = arena_alloc(mem, 4 << 20);

	assert_non_null(f);
	*n = fread(bytes, 1, 4 << 20, f);
	fclose(f);
	return bytes;
}

static void
write_file(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(at(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static enum reason
variants(const char *name, const char *coder)
{
	make("rm -rf out && mkdir out");
	return image_variants(mem, at(name), coder, PIXELS, at("out"), &files).reason;
}

/* The helper itself, without the checks that come before it. */
static enum reason
helper(const char *pixels, const char *coder, const char *name)
{
	const char *args[] = { "variants", pixels, coder, NULL }, *out;
	struct fault fault = image_helper(mem, args, at(name), at("out"), &out);

	return fault.reason;
}

static struct image_facts *
probe(const char *name, const char *coder)
{
	struct image_facts *facts = NULL;

	assert_int_equal(image_probe(mem, at(name), coder, PIXELS, &facts).reason, REASON_NONE);
	return facts;
}

/* The four quarters of a picture in one letter each: r, g, b, w (hite), k (black), ? */
static const char *
quarters(const char *name)
{
	unsigned char rgb[12] = { 0 };
	char *out = arena_alloc(mem, 5);
	FILE *f = popen(arena_printf(mem, "/usr/bin/convert %s/%s -background black -flatten -filter box -resize "
	    "'2x2!' -depth 8 rgb:-", home, name), "r");
	int i, bits;

	assert_int_equal(fread(rgb, 1, 12, f), 12);
	pclose(f);
	for (i = 0; i < 4; i++) {
		bits = (rgb[3 * i] > 128) << 2 | (rgb[3 * i + 1] > 128) << 1 | (rgb[3 * i + 2] > 128);
		out[i] = bits == 4 ? 'r' : bits == 2 ? 'g' : bits == 1 ? 'b' : bits == 7 ? 'w' : bits == 0 ? 'k' : '?';
	}
	return out;
}

/* Inserts a segment behind the start of a JPEG. */
static void
splice(const char *from, const char *to, int marker, const void *segment, size_t size)
{
	size_t n;
	const char *bytes = read_file(from, &n);
	char *out = arena_alloc(mem, n + size + 4);

	memcpy(out, bytes, 2);
	out[2] = (char)0xff;
	out[3] = (char)marker;
	out[4] = (char)((size + 2) >> 8);
	out[5] = (char)(size + 2);
	memcpy(out + 6, segment, size);
	memcpy(out + 6 + size, bytes + 2, n - 2);
	write_file(to, out, n + size + 4);
}

static void
set_orientation(const char *from, const char *to, int orientation)
{
	char exif[] = "Exif\0\0II*\0\x08\0\0\0\2\0"
	    "\x0f\1\2\0\6\0\0\0\x26\0\0\0"		/* camera make */
	    "\x12\1\3\0\1\0\0\0?\0\0\0"			/* orientation */
	    "\0\0\0\0Canon";

	exif[6 + 10 + 12 + 8] = (char)orientation;
	splice(from, to, 0xe1, exif, sizeof(exif));
}

static void
every_exif_orientation_comes_out_upright_and_without_metadata(void **state)
{
	static const char *const undo[] = { "", "", "-flop", "-rotate 180", "-flip", "-transpose", "-rotate -90",
	    "-transverse", "-rotate 90", "" };
	const struct image_facts *facts;
	const char *bytes;
	size_t n;
	int i;

	make("/usr/bin/convert \\( xc:red xc:lime +append \\) \\( xc:blue xc:white +append \\) -append -scale 400x200! "
	    "up.png");
	for (i = 1; i <= 9; i++) {
		make("/usr/bin/convert up.png %s -quality 95 turned.jpg", undo[i]);
		set_orientation("turned.jpg", "exif.jpg", i);
		facts = probe("exif.jpg", "JPEG");
		assert_int_equal(facts->orientation, i == 9 ? 1 : i);
		assert_int_equal(facts->width, 400);
		assert_int_equal(facts->height, 200);
		assert_string_equal(facts->camera_make, "Canon");
		assert_int_equal(variants("exif.jpg", "JPEG"), REASON_NONE);
		assert_int_equal(files.n, 5);
		if (strcmp(quarters("out/400.jpg"), "rgbw") != 0 || strcmp(quarters("out/320.webp"), "rgbw") != 0)
			fail_msg("orientation %d: %s", i, quarters("out/400.jpg"));
		bytes = read_file("out/400.jpg", &n);
		assert_null(memmem(bytes, n, "Exif", 4));
		assert_null(memmem(bytes, n, "Canon", 5));
	}
}

static size_t
put(unsigned char *at, uint32_t n, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++, n >>= 8)
		at[i] = n & 0xff;
	return (size_t)bytes;
}

static size_t
put_entry(unsigned char *at, uint32_t tag, uint32_t type, uint32_t count, uint32_t value)
{
	return put(at, tag, 2) + put(at + 2, type, 2) + put(at + 4, count, 4) + put(at + 8, value, 4);
}

/* EXIF with a time, its offset, and 52 degrees 31' 12.3", 13 degrees 24' 0" to these sides; `below` is what seconds are
 * divided by. */
static void
set_location(const char *from, const char *to, char north, char east, uint32_t below)
{
	static const uint32_t degrees[] = { 52, 1, 31, 1, 1230, 0, 13, 1, 24, 1, 0, 1 };
	unsigned char exif[6 + 198] = "Exif\0\0II*\0\x08", *at = exif + 6 + 8;
	size_t i;

	at += put(at, 2, 2);
	at += put_entry(at, 0x8769, 4, 1, 38);
	at += put_entry(at, 0x8825, 4, 1, 68) + 4;
	at += put(at, 2, 2);
	at += put_entry(at, 0x9003, 2, 20, 122);
	at += put_entry(at, 0x9011, 2, 7, 142) + 4;
	at += put(at, 4, 2);
	at += put_entry(at, 1, 2, 2, (uint32_t)north);
	at += put_entry(at, 2, 5, 3, 150);
	at += put_entry(at, 3, 2, 2, (uint32_t)east);
	at += put_entry(at, 4, 5, 3, 174) + 4;
	memcpy(at, "2024:05:03 10:26:53\0+02:00\0", 28);
	at += 28;
	for (i = 0; i < 12; i++)
		at += put(at, i == 5 ? below : degrees[i], 4);
	assert_ptr_equal(at, exif + sizeof(exif));
	splice(from, to, 0xe1, exif, sizeof(exif));
}

static void
where_and_when_a_picture_was_taken_is_told_but_not_by_its_forms(void **state)
{
	static const struct { char north, east; uint32_t below; } nowhere[] = {
		{ 'X', 'W', 100 }, { 'N', '\0', 100 }, { 'N', 'W', 0 }, { 'N', 'N', 100 },
	};
	const struct image_location *l;
	const struct image_facts *facts;
	const char *bytes;
	size_t n, i;

	make("/usr/bin/convert xc:red -scale 40x40! plain.jpg");
	set_location("plain.jpg", "place.jpg", 'N', 'W', 100);
	facts = probe("place.jpg", "JPEG");
	l = facts->location.row;
	assert_non_null(l);
	assert_true(l->latitude > 52.5200 && l->latitude < 52.5201);
	assert_true(l->longitude < -13.3999 && l->longitude > -13.4001);
	assert_string_equal(facts->taken_at, "2024:05:03 10:26:53");
	assert_string_equal(facts->taken_offset, "+02:00");
	assert_int_equal(variants("place.jpg", "JPEG"), REASON_NONE);
	for (i = 0; i < files.n; i++) {
		bytes = read_file(arena_printf(mem, "out/%s", files.at[i].name), &n);
		assert_null(memmem(bytes, n, "Exif", 4));
		assert_null(memmem(bytes, n, "2024:05:03", 10));
	}
	for (i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		set_location("plain.jpg", "place.jpg", nowhere[i].north, nowhere[i].east, nowhere[i].below);
		assert_null(probe("place.jpg", "JPEG")->location.row);
	}
}

static void
what_people_have_written_into_a_picture_is_told_and_bounded(void **state)
{
	const struct image_facts *facts;

	make("/usr/bin/convert xc:red -scale 40x40! plain.jpg && printf '2#120#Caption=\"Gr\xc3\xbc\xc3\x9f" "e\"\n"
	    "2#116#Copyright=\"(c) Ada\"\n2#80#Byline=\"Ada\"\n' > words && /usr/bin/convert plain.jpg -profile "
	    "8BIMTEXT:words words.jpg");
	facts = probe("words.jpg", "JPEG");
	assert_string_equal(facts->caption, "Gr\xc3\xbc\xc3\x9f" "e");
	assert_string_equal(facts->rights, "(c) Ada");
	assert_string_equal(facts->creator, "Ada");
	make("/usr/bin/convert plain.jpg -set comment x plain2.jpg && { printf '2#120#Caption=\"'; head -c 4000 "
	    "/dev/zero | "
	    "tr '\\0' x; printf '\"\n2#80#Byline=\"\\377\\376\"\n'; } > words && /usr/bin/convert plain.jpg -profile "
	    "8BIMTEXT:words words.jpg");
	facts = probe("words.jpg", "JPEG");
	assert_int_equal(strlen(facts->caption), IMAGE_TEXT_MAX);
	assert_true(utf8_valid(facts->creator, strlen(facts->creator)));
}

/* A JPEG with this XMP; returns what is known of it. */
static const struct image_facts *
with_xmp(const char *xmp)
{
	static const char head[] = "http://ns.adobe.com/xap/1.0/";
	const size_t n = sizeof(head) + strlen(xmp);

	make("/usr/bin/convert xc:red -scale 40x40! plain.jpg");
	splice("plain.jpg", "xmp.jpg", 0xe1, arena_printf(mem, "%s%c%s", head, '\0', xmp), n);
	return probe("xmp.jpg", "JPEG");
}

#define XMP(properties) "<?xpacket begin='\xef\xbb\xbf' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>" \
	"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description rdf:about='' " \
	"xmlns:dc='http://purl.org/dc/elements/1.1/'>" properties "</rdf:Description></rdf:RDF></x:xmpmeta>    <?xpacket " \
	"end='w'?>"

static void
xmp_tells_what_iptc_does_not(void **state)
{
	const struct image_facts *facts = with_xmp(XMP("<dc:title><rdf:Alt><rdf:li xml:lang='de'>Br\xc3\xbc" "cke"
	    "</rdf:li><rdf:li xml:lang='x-default'>Bridge</rdf:li></rdf:Alt></dc:title><dc:description><rdf:Alt><rdf:li>Of stone "
	    "&amp;\ntimber</rdf:li></rdf:Alt></dc:description><dc:creator><rdf:Seq><rdf:li>Ada</rdf:li><rdf:li>Grace"
	    "</rdf:li></rdf:Seq></dc:creator><dc:rights><rdf:Alt><rdf:li>CC0</rdf:li></rdf:Alt></dc:rights><dc:subject>"
	    "<rdf:Bag><rdf:li>bridge</rdf:li><rdf:li> </rdf:li><rdf:li>river; water</rdf:li></rdf:Bag></dc:subject>"));
	size_t n;

	assert_string_equal(facts->title, "Bridge");
	assert_string_equal(facts->caption, "Of stone & timber");
	assert_string_equal(facts->creator, "Ada, Grace");
	assert_string_equal(facts->rights, "CC0");
	assert_int_equal(facts->keywords.n, 2);
	assert_string_equal(facts->keywords.at[1], "river; water");
	assert_int_equal(facts->unread.n, 0);
	assert_int_equal(variants("xmp.jpg", "JPEG"), REASON_NONE);
	for (size_t i = 0; i < files.n; i++) {
		const char *bytes = read_file(arena_printf(mem, "out/%s", files.at[i].name), &n);

		assert_null(memmem(bytes, n, "Grace", 5));
	}
	/* Both: that of IPTC counts. */
	make("printf '2#5#Title=\"Arch\"\n2#25#Keyword=\"stone\"\n2#25#Keyword=\"timber\"\n' > words && "
	    "/usr/bin/convert xmp.jpg -profile 8BIMTEXT:words both.jpg");
	facts = probe("both.jpg", "JPEG");
	assert_string_equal(facts->title, "Arch");
	assert_int_equal(facts->keywords.n, 2);
	assert_string_equal(facts->keywords.at[0], "stone");
	assert_string_equal(facts->creator, "Ada, Grace");
	assert_int_equal(facts->unread.n, 0);
}

/* One of a mark, two numbers and a length each is longer than all; in the words of Photoshop, as cameras write them. */
#define CUT_IPTC "Photoshop 3.0\0" "8BIM\4\4\0\0\0\0\0\x14" "\x1c\2\5\0\4Arch" "\x1c\2\x50\x10\0" "Adam!!"
/* One whose length has a length of its own, as long objects have. */
#define LONG_IPTC "Photoshop 3.0\0" "8BIM\4\4\0\0\0\0\0\x16" "\x1c\2\5\0\4Arch" "\x1c\2\x50\x80\4\0\0\0\4" "Adam"

static void
words_that_are_damaged_do_no_harm(void **state)
{
	static const char *const bad[] = {
		"<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF",
		"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>" XMP("<dc:title>&b;</dc:title>"),
		"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>" XMP("<dc:title>&a;</dc:title>"),
		"no XML", XMP("<dc:title>\xff</dc:title>"),
	};
	const struct image_facts *facts;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		facts = with_xmp(bad[i]);
		assert_int_equal(facts->width, 40);
		assert_null(facts->title);
		assert_int_equal(facts->unread.n, 1);
		assert_string_equal(facts->unread.at[0], "XMP");
	}
	splice("plain.jpg", "iptc.jpg", 0xed, CUT_IPTC, sizeof(CUT_IPTC) - 1);
	facts = probe("iptc.jpg", "JPEG");
	assert_string_equal(facts->title, "Arch");
	assert_int_equal(facts->unread.n, 1);
	assert_string_equal(facts->unread.at[0], "IPTC");
	splice("plain.jpg", "long.jpg", 0xed, LONG_IPTC, sizeof(LONG_IPTC) - 1);
	assert_int_equal(probe("long.jpg", "JPEG")->unread.n, 0);
}

static void
forms_are_smaller_never_larger_and_end_with_the_picture_itself(void **state)
{
	static const struct { const char *size; int sides[4]; size_t n; } rows[] = {
		{ "1x1", { 1 }, 3 }, { "320x10", { 320 }, 3 }, { "321x10", { 321, 320 }, 5 }, { "700x1000", { 1000, 640, 320 }, 7 },
		{ "3200x20", { 3200, 1600, 640, 320 }, 9 }, { "16000x2", { 3200, 1600, 640, 320 }, 9 },
		{ "2x16000", { 3200, 1600, 640, 320 }, 9 },
	};
	size_t i, k;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make("/usr/bin/convert -size %s gradient:red-blue size.png", rows[i].size);
		assert_int_equal(variants("size.png", "PNG"), REASON_NONE);
		assert_int_equal(files.n, rows[i].n);
		for (k = 0; k < 4 && rows[i].sides[k] > 0; k++) {
			assert_int_equal(access(at(arena_printf(mem, "out/%d.jpg", rows[i].sides[k])), R_OK), 0);
			assert_int_equal(access(at(arena_printf(mem, "out/%d.webp", rows[i].sides[k])), R_OK), 0);
		}
		for (k = 0; k < files.n; k++)
			if (strcmp(files.at[k].kind, "poster") == 0)
				assert_true(files.at[k].width <= 640 && files.at[k].height <= 640);
	}
}

static void
big32(char *p, uint32_t n)
{
	p[0] = (char)(n >> 24);
	p[1] = (char)(n >> 16);
	p[2] = (char)(n >> 8);
	p[3] = (char)n;
}

/* A matrix profile with linear curves whose red and green are swapped. */
static size_t
swapped_profile(char *p)
{
	static const struct { const char *name; uint32_t at, n; } tags[] = {
		{ "rXYZ", 240, 20 }, { "gXYZ", 260, 20 }, { "bXYZ", 280, 20 }, { "wtpt", 300, 20 }, { "rTRC", 320, 14 },
		{ "gTRC", 320, 14 }, { "bTRC", 320, 14 }, { "cprt", 336, 12 },
	};
	static const double xyz[4][3] = { { .3851, .7169, .0971 }, { .4361, .2225, .0139 }, { .1431, .0606, .7141 },
	    { .9642, 1, .8249 } };
	int i, k;

	memset(p, 0, 348);
	big32(p, 348);
	big32(p + 8, 0x02100000);
	memcpy(p + 12, "mntrRGB XYZ ", 12);
	memcpy(p + 36, "acsp", 4);
	for (k = 0; k < 3; k++)
		big32(p + 68 + 4 * k, (uint32_t)(xyz[3][k] * 65536));
	big32(p + 128, 8);
	for (i = 0; i < 8; i++) {
		memcpy(p + 132 + 12 * i, tags[i].name, 4);
		big32(p + 136 + 12 * i, tags[i].at);
		big32(p + 140 + 12 * i, tags[i].n);
	}
	for (i = 0; i < 4; i++) {
		memcpy(p + 240 + 20 * i, "XYZ ", 4);
		for (k = 0; k < 3; k++)
			big32(p + 248 + 20 * i + 4 * k, (uint32_t)(xyz[i][k] * 65536));
	}
	memcpy(p + 320, "curv", 4);
	big32(p + 328, 0);
	memcpy(p + 336, "text", 4);
	return 348;
}

static void
colours_are_those_that_the_profile_means(void **state)
{
	char segment[400] = "ICC_PROFILE\0\1\1";
	size_t n = swapped_profile(segment + 14), size;
	const char *bytes;

	make("/usr/bin/convert up.png -quality 95 plain.jpg");
	splice("plain.jpg", "icc.jpg", 0xe2, segment, 14 + n);
	assert_true(probe("icc.jpg", "JPEG")->has_color_profile);
	assert_int_equal(variants("icc.jpg", "JPEG"), REASON_NONE);
	assert_string_equal(quarters("out/400.jpg"), "grbw");
	bytes = read_file("out/400.jpg", &size);
	assert_null(memmem(bytes, size, "ICC_PROFILE", 11));

	make("/usr/bin/convert up.png -colorspace CMYK -quality 95 cmyk.jpg");
	assert_string_equal(probe("cmyk.jpg", "JPEG")->colorspace, "CMYK");
	assert_int_equal(variants("cmyk.jpg", "JPEG"), REASON_NONE);
	assert_string_equal(quarters("out/400.jpg"), "rgbw");
	make("/usr/bin/convert up.png -colorspace Gray gray.jpg");
	assert_int_equal(variants("gray.jpg", "JPEG"), REASON_NONE);
	assert_string_equal(probe("gray.jpg", "JPEG")->colorspace, "Gray");
}

static void
transparency_stays_in_webp_and_turns_white_in_jpeg(void **state)
{
	make("/usr/bin/convert -size 100x100 xc:none -fill red -draw 'rectangle 0,0 49,49' alpha.png");
	assert_true(probe("alpha.png", "PNG")->has_alpha);
	assert_int_equal(variants("alpha.png", "PNG"), REASON_NONE);
	assert_string_equal(quarters("out/100.jpg"), "rwww");
	assert_string_equal(quarters("out/100.webp"), "rkkk");
	make("/usr/bin/convert up.png -depth 16 -define png:bit-depth=16 deep.png");
	assert_int_equal(variants("deep.png", "PNG"), REASON_NONE);
	assert_string_equal(quarters("out/400.jpg"), "rgbw");
}

static void
of_many_frames_the_first_is_taken_and_the_others_are_not_read(void **state)
{
	make("/usr/bin/convert -delay 0 up.png \\( +clone -negate \\) -duplicate 200 many.gif");
	assert_true(probe("many.gif", "GIF")->is_animated);
	assert_int_equal(variants("many.gif", "GIF"), REASON_NONE);
	assert_string_equal(quarters("out/400.jpg"), "rgbw");
	make("ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=160x120:d=8 -vf negate -loop 0 many.webp");
	assert_true(probe("many.webp", "WEBP")->is_animated);
	assert_int_equal(variants("many.webp", "WEBP"), REASON_NONE);
	assert_int_equal(files.at[0].width, 160);
	make("/usr/bin/convert up.png -scale 40x20! -duplicate 300 many.tiff");
	assert_int_equal(variants("many.tiff", "TIFF"), REASON_NONE);
	assert_string_equal(quarters("out/40.jpg"), "rgbw");
	/* A frame that lies in a corner of its canvas. */
	make("/usr/bin/convert -size 50x50 xc:red -repage 100x100+50+50 corner.gif");
	assert_int_equal(variants("corner.gif", "GIF"), REASON_NONE);
	assert_int_equal(files.at[0].width, 100);
}

static void
every_format_is_read_and_its_header_says_what_decoding_says(void **state)
{
	static const char *const rows[][2] = { { "f.jpg", "JPEG" }, { "f.png", "PNG" }, { "f.gif", "GIF" },
	    { "f.webp", "WEBP" }, { "l.webp", "WEBP" }, { "f.tiff", "TIFF" }, { "b.tiff", "TIFF" }, { "f.bmp", "BMP" },
	    { "f.heic", "HEIC" }, { "f.avif", "AVIF" } };
	int64_t width, height;
	const char *mime_type;
	size_t i;

	make("/usr/bin/convert up.png -scale 128x64! -write f.jpg -write f.png -write f.gif -write f.webp -write "
	    "f.tiff -define webp:lossless=true -write l.webp -define tiff:endian=msb -compress lzw -write b.tiff "
	    "-write f.bmp -write f.heic f.avif");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!image_header_file(at(rows[i][0]), &width, &height, &mime_type) || width != 128 || height != 64)
			fail_msg("%s: %d x %d", rows[i][0], (int)width, (int)height);
		assert_int_equal(probe(rows[i][0], rows[i][1])->width, 128);
		assert_int_equal(variants(rows[i][0], rows[i][1]), REASON_NONE);
		assert_string_equal(quarters("out/128.jpg"), "rgbw");
	}
}

static void
a_header_that_promises_too_many_pixels_is_refused_before_decoding(void **state)
{
	static const struct { const char *coder, *bytes; size_t n; } rows[] = {
		{ "JPEG", "\xff\xd8\xff\xc0\0\x11\x08\xfa\xfa\xfa\xfa\3\1\x22\0\2\x11\1\3\x11\1", 21 },
		{ "PNG", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xfa\xfa\0\0\xfa\xfa\1\0\0\0\0\0\0\0\0", 33 },
		{ "PNG", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\1\0\0\0\0\0\0\0\0", 33 },
		{ "GIF", "GIF89a\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0", 19 },
		{ "WEBP", "RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff", 30 },
		{ "TIFF", "II*\0\x08\0\0\0\2\0\0\1\4\0\1\0\0\0\xfa\xfa\0\0\1\1\4\0\1\0\0\0\xfa\xfa\0\0\0\0\0\0", 38 },
		{ "BMP", "BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\xfa\xfa\0\0\xfa\xfa\0\0\1\0\x18\0", 30 },
	};
	struct image_facts *facts;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file("bomb", rows[i].bytes, rows[i].n);
		if (image_probe(mem, at("bomb"), rows[i].coder, PIXELS, &facts).reason != REASON_TOO_MANY_PIXELS)
			fail_msg("row %zu: %s", i, rows[i].coder);
		assert_null(facts);
		assert_int_equal(variants("bomb", rows[i].coder), REASON_TOO_MANY_PIXELS);
		/* And should the header lie to us, the decoder has limits of its own. */
		assert_int_not_equal(helper("100000", rows[i].coder, "bomb"), REASON_NONE);
	}
	make("/usr/bin/convert -size 1200x1200 xc:red -depth 1 large.png");
	assert_int_equal(image_variants(mem, at("large.png"), "PNG", 1000000, at("out"), &files).reason,
	    REASON_TOO_MANY_PIXELS);
	assert_int_equal(helper("1000000", "PNG", "large.png"), REASON_NONE);
}

static void
damaged_pictures_have_a_reason(void **state)
{
	size_t n;
	const char *bytes;

	make("/usr/bin/convert -size 400x400 plasma:red-blue -seed 1 whole.jpg && /usr/bin/convert whole.jpg "
	    "whole.png");
	bytes = read_file("whole.jpg", &n);
	write_file("cut.jpg", bytes, n / 2);
	assert_int_equal(variants("cut.jpg", "JPEG"), REASON_TRUNCATED);
	write_file("cut.jpg", bytes, 20);
	assert_int_equal(variants("cut.jpg", "JPEG"), REASON_TRUNCATED);
	bytes = read_file("whole.png", &n);
	write_file("cut.png", bytes, n / 2);
	assert_int_equal(variants("cut.png", "PNG"), REASON_TRUNCATED);
	write_file("empty.png", "", 0);
	assert_int_not_equal(variants("empty.png", "PNG"), REASON_NONE);
	/* Nothing of a failed run is taken for a result. */
	assert_int_equal(files.n, 0);
}

static void
the_decoder_reads_the_allowed_formats_and_nothing_else(void **state)
{
	static const char *const coders[] = { "MVG", "MSL", "SVG", "URL", "HTTPS", "TEXT", "LABEL", "CAPTION",
	    "EPHEMERAL", "PDF", "PS", "EPS", "XPS", "WIN", "SHOW", "INLINE", "MIFF", "MPC", "PSD", "DCM", "VIDEO",
	    "PANGO", "GRADIENT", "XC:red" };
	size_t i;

	make("printf 'push graphic-context\\nimage over 0,0 0,0 \"/etc/passwd\"\\npop graphic-context\\n' >script");
	for (i = 0; i < sizeof(coders) / sizeof(coders[0]); i++) {
		make("rm -rf out && mkdir out");
		if (helper("100000", coders[i], "script") == REASON_NONE)
			fail_msg("%s was read", coders[i]);
		assert_int_not_equal(access(at("out/poster.jpg"), F_OK), 0);
	}
	/* A script under the name of a picture's coder is no picture. */
	assert_int_not_equal(helper("100000", "PNG", "script"), REASON_NONE);
}

static void
text_is_drawn_as_it_is(void **state)
{
	struct fault drawn;
	int64_t width, height;
	const char *mime_type;

	make("rm -rf out && mkdir out");
	drawn = image_text(mem, "@/etc/passwd %w %[exif:*] \\n\nGr\xc3\xbc\xc3\x9f" "e \xd0\x9f\n", at("out"));
	assert_int_equal(drawn.reason, REASON_NONE);
	assert_true(image_header_file(at("out/preview.png"), &width, &height, &mime_type));
	assert_int_equal(width, 1240);
	assert_string_equal(mime_type, "image/png");
}

static int
setup(void **state)
{
	if (getenv("KINOTHEK_BUILD") != NULL)
		setenv("KINOTHEK_LIBEXEC", getenv("KINOTHEK_BUILD"), 0);
	mem = arena_new((size_t)512 << 20);
	return mkdtemp(home) == NULL || jail_check(mem, false) != NULL;
}

static int
teardown(void **state)
{
	char line[128];

	arena_free(mem);
	snprintf(line, sizeof(line), "rm -rf %s", home);
	return system(line);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_and_when_a_picture_was_taken_is_told_but_not_by_its_forms),
		cmocka_unit_test(what_people_have_written_into_a_picture_is_told_and_bounded),
		cmocka_unit_test(xmp_tells_what_iptc_does_not),
		cmocka_unit_test(words_that_are_damaged_do_no_harm),
		cmocka_unit_test(every_exif_orientation_comes_out_upright_and_without_metadata),
		cmocka_unit_test(forms_are_smaller_never_larger_and_end_with_the_picture_itself),
		cmocka_unit_test(colours_are_those_that_the_profile_means),
		cmocka_unit_test(transparency_stays_in_webp_and_turns_white_in_jpeg),
		cmocka_unit_test(of_many_frames_the_first_is_taken_and_the_others_are_not_read),
		cmocka_unit_test(every_format_is_read_and_its_header_says_what_decoding_says),
		cmocka_unit_test(a_header_that_promises_too_many_pixels_is_refused_before_decoding),
		cmocka_unit_test(damaged_pictures_have_a_reason),
		cmocka_unit_test(the_decoder_reads_the_allowed_formats_and_nothing_else),
		cmocka_unit_test(text_is_drawn_as_it_is),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
