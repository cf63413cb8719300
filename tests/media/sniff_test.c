/* SPDX-License-Identifier: GPL-3.0-or-later */
/* media/sniff.c: small files made by hand, and real ones made by ffmpeg and ImageMagick. */
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "media/sniff.h"

static char home[] = "/tmp/kinothek-sniff-XXXXXX";

struct row { const char *what, *bytes; size_t n; const char *expect; };	/* expect: a mime type, or a reason's code */
#define ROW(what, bytes, expect) { what, bytes, sizeof(bytes) - 1, expect }

static const char *
verdict(const struct sniff *s)
{
	if (s->reason != REASON_NONE) {
		assert_null(s->type);
		assert_null(s->mime_type);
		assert_null(s->format);
		return reason_info(s->reason)->code;
	}
	assert_non_null(s->type);
	assert_non_null(s->format);
	return s->mime_type;
}

static void
check(const struct row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		/* A copy of exactly that size, so that a read beyond the end is seen. */
		char *bytes = malloc(rows[i].n);
		struct sniff s;

		memcpy(bytes, rows[i].bytes, rows[i].n);
		s = sniff_bytes(bytes, rows[i].n);
		free(bytes);
		if (strcmp(verdict(&s), rows[i].expect) != 0)
			fail_msg("%s: %s instead of %s", rows[i].what, verdict(&s), rows[i].expect);
	}
}
#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

static void
programs_archives_and_images_of_disks_are_refused(void **state)
{
	static const struct row rows[] = {
		ROW("ELF", "\x7f" "ELF\2\1\1\0\0\0\0\0\0\0\0\0", "format_not_allowed"),
		ROW("PE", "MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0", "format_not_allowed"),
		ROW("Java class", "\xca\xfe\xba\xbe\0\0\0\x34", "format_not_allowed"),
		ROW("Mach-O", "\xcf\xfa\xed\xfe\7\0\0\1", "format_not_allowed"),
		ROW("WebAssembly", "\0asm\1\0\0\0", "format_not_allowed"),
		ROW("RAR", "Rar!\x1a\7\1\0", "format_not_allowed"),
		ROW("7z", "7z\xbc\xaf\x27\x1c\0\4", "format_not_allowed"),
		ROW("gzip", "\x1f\x8b\x08\0\0\0\0\0\0\3", "format_not_allowed"),
		ROW("xz", "\xfd" "7zXZ\0\0\4", "format_not_allowed"),
		ROW("empty ZIP", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "format_not_allowed"),
		ROW("ZIP cut off", "PK\3\4\x14\0\0\0\0\0", "format_not_allowed"),
		ROW("EPS with a preview", "\xc5\xd0\xd3\xc6\x20\0\0\0", "format_not_allowed"),
	};
	static char disk[0x8001 + 16];

	CHECK(rows);
	memcpy(disk + 0x8001, "CD001", 5);
	check(&(struct row){ "ISO 9660", disk, sizeof(disk), "format_not_allowed" }, 1);
	memset(disk, 0, sizeof(disk));
	memcpy(disk, "name", 4);
	memcpy(disk + 257, "ustar", 5);
	check(&(struct row){ "tar", disk, sizeof(disk), "format_not_allowed" }, 1);
}

static void
playlists_scripts_and_markup_are_refused(void **state)
{
	static const struct row rows[] = {
		ROW("HLS", "#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n", "format_not_allowed"),
		ROW("HLS behind a mark", "\xef\xbb\xbf\n #extm3u\n", "format_not_allowed"),
		ROW("HLS in UTF-16", "\xff\xfe#\0E\0X\0T\0M\0003\0U\0\n\0", "format_not_allowed"),
		ROW("ffconcat", "ffconcat version 1.0\nfile 'x.ts'\n", "format_not_allowed"),
		ROW("concat script", "file '/etc/passwd'\n", "format_not_allowed"),
		ROW("concat protocol", "concat:/etc/passwd|/etc/shadow", "format_not_allowed"),
		ROW("subfile protocol", "subfile,,start,0,end,64,,:/etc/passwd", "format_not_allowed"),
		ROW("ffmetadata", ";FFMETADATA1\ntitle=x\n", "format_not_allowed"),
		ROW("SDP", "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\n", "format_not_allowed"),
		ROW("DASH", "<?xml version=\"1.0\"?><MPD><BaseURL>http://127.0.0.1/</BaseURL></MPD>",
		    "format_not_allowed"),
		ROW("HTML", "<!DOCTYPE html><script>alert(1)</script>", "format_not_allowed"),
		ROW("HTML without head", "\n\n  <ScRiPt>alert(1)</script>", "format_not_allowed"),
		ROW("comment first", "<!-- --><svg onload=alert(1)>", "format_not_allowed"),
		ROW("SVG", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "format_not_allowed"),
		ROW("HTML with binary behind", "<html>\0\1\2\3ftypisom", "format_not_allowed"),
		ROW("shell", "#!/bin/sh\nrm -rf /\n", "format_not_allowed"),
		ROW("PHP", "<?php system($_GET[0]);", "format_not_allowed"),
		ROW("PostScript", "%!PS-Adobe-3.0 EPSF-3.0\n", "format_not_allowed"),
		ROW("MVG", "push graphic-context\nimage over 0,0 0,0 'url'\n", "format_not_allowed"),
		ROW("MSL", "<?xml version='1.0'?><image><read filename='x'/></image>", "format_not_allowed"),
		ROW("AviSynth", "# harmless\nAviSource(\"c:\\x.avi\")\n", "format_not_allowed"),
		ROW("VapourSynth", "import vapoursynth as vs\n", "format_not_allowed"),
		ROW("PLS", "[playlist]\nFile1=http://127.0.0.1/\n", "format_not_allowed"),
	};

	CHECK(rows);
}

static void
what_holds_nothing_known_is_refused_as_such(void **state)
{
	static const char zeros[100000];
	static const struct row rows[] = {
		ROW("nothing", "", "empty_file"),
		ROW("blanks", " \n\t \n", "empty_file"),
		ROW("mark alone", "\xef\xbb\xbf", "empty_file"),
		ROW("one byte", "\1", "unknown_format"),
		ROW("0xff", "\xff", "unknown_format"),
		ROW("two marks", "\xff\xfe", "unknown_format"),
		ROW("random", "\x93\x1f\x02\x88\x41\x00\x17\xfe\xfe\x0b\x99", "unknown_format"),
		ROW("EBML of another kind", "\x1a\x45\xdf\xa3\x88\x42\x82\x85other", "unknown_format"),
		ROW("EBML with a broken size", "\x1a\x45\xdf\xa3\0\0\0\0", "unknown_format"),
		ROW("EBML, first bytes alone", "\x1a\x45\xdf\xa3", "unknown_format"),
		ROW("Canon raw", "II*\0\x10\0\0\0CR\2\0\0\0\0\0", "unknown_format"),
		ROW("JPEG 2000", "\0\0\0\x14" "ftypjp2 \0\0\0\0jp2 ", "unknown_format"),
		ROW("HEIF of no known coding", "\0\0\0\x18" "ftypmif1\0\0\0\0mif1xxxx", "unknown_format"),
		ROW("box of a wrong size", "\0\0\0\4" "moov\0\0\0\0", "unknown_format"),
		{ "zeros", zeros, sizeof(zeros), "unknown_format" },
	};

	CHECK(rows);
}

static void
media_are_known_by_their_first_bytes(void **state)
{
	static const struct row rows[] = {
		ROW("JPEG", "\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
		ROW("JPEG with HTML in a comment", "\xff\xd8\xff\xfe\0\x20<html><script>alert(1)</script>",
		    "image/jpeg"),
		ROW("GIF and HTML", "GIF89a/*<html>*/", "image/gif"),
		ROW("BigTIFF", "II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0", "image/tiff"),
		ROW("HEIC", "\0\0\0\x18" "ftypheic\0\0\0\0mif1heic", "image/heic"),
		ROW("HEIC by its second brand", "\0\0\0\x18" "ftypmif1\0\0\0\0mif1heic", "image/heic"),
		ROW("AVIF", "\0\0\0\x1c" "ftypavif\0\0\0\0avifmif1miaf", "image/avif"),
		ROW("QuickTime", "\0\0\0\x14" "ftypqt  \0\0\0\0qt  ", "video/quicktime"),
		ROW("QuickTime before ftyp", "\0\0\0\x08wide\0\0\0\x10mdat\0\0\0\0\0\0\0\0\0\0\0\x08moov",
		    "video/quicktime"),
		ROW("moov behind data that is cut off", "\0\0\0\x08wide\x7f\0\0\0mdat\1\2\3\4", "video/quicktime"),
		ROW("MP4 of 2 GB and more", "\0\0\0\1mdat\0\0\0\0\0\0\0\x10\0\0\0\x08moov", "video/quicktime"),
		ROW("WebM", "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\xf7\x81\1\x42\xf2\x81\4\x42\xf3\x81\x08\x42\x82\x84webm"
		    "\x42\x87\x81\4\x42\x85\x81\2", "video/webm"),
		ROW("FLV", "FLV\1\5\0\0\0\x09", "video/x-flv"),
		ROW("AMR", "#!AMR\n\x3c\x48", "audio/amr"),
		ROW("ID3 cut off", "ID3\4\0\0\0\1\0\0abc", "audio/mpeg"),
		ROW("RTF", "{\\rtf1\\ansi x}", "application/rtf"),
		ROW("PDF", "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "application/pdf"),
		ROW("PDF behind blanks", "\r\n\n%PDF-1.7\n", "application/pdf"),
		ROW("BMP", "BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0\1\0\x18\0", "image/bmp"),
	};

	CHECK(rows);
}

static void
texts_are_documents_whatever_their_code(void **state)
{
	static const struct row rows[] = {
		ROW("ASCII", "Hello\n", "text/plain"),
		ROW("begins like BMP", "BMW builds cars in Munich, and has for a hundred years.", "text/plain"),
		ROW("begins like PE", "MZ is a town in Rhineland, they say, and it is a pretty one with a cathedral.",
		    "text/plain"),
		ROW("UTF-8", "Gr\xc3\xbc\xc3\x9f" "e \xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x8e\xac", "text/plain"),
		ROW("UTF-8 with mark", "\xef\xbb\xbfHallo", "text/plain"),
		ROW("UTF-16LE", "\xff\xfeH\0a\0l\0l\0\xf6\0", "text/plain"),
		ROW("UTF-16BE", "\xfe\xff\0H\0a\0l\0l\0\xf6", "text/plain"),
		ROW("windows-1252", "Gr\xfc\xdf" "e aus K\xf6ln, sch\xf6ne Stadt\n", "text/plain"),
		ROW("less-than", "<3 you\n", "text/plain"),
		ROW("hash", "# Notes\n* one\n", "text/plain"),
		ROW("subtitles", "WEBVTT\n\n00:00.000 --> 00:01.000\nHi\n", "text/plain"),
		ROW("with NUL", "Hello\0World, this is binary", "unknown_format"),
		ROW("with escape codes of a terminal", "\7\7\7bell", "unknown_format"),
		ROW("mostly high bytes", "\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a", "unknown_format"),
	};
	static char cut[65536 + 10];

	CHECK(rows);
	/* The last character that is looked at may lie across the end of what is read. */
	memset(cut, 'a', sizeof(cut));
	memcpy(cut + 65535, "\xc3\xbc", 2);
	check(&(struct row){ "character across the end", cut, sizeof(cut), "text/plain" }, 1);
}

/* A ZIP of stored, empty members, and (odf) the type as the first one. */
static size_t
zip(char *out, const char *odf, const char *const *names)
{
	size_t n = 0, start, offsets[8], i, length, count = 0;
	static const char local[30] = "PK\3\4\x14", central[46] = "PK\1\2\x14\0\x14";

	if (odf != NULL) {
		memcpy(out, local, 30);
		out[26] = 8;
		out[18] = out[22] = (char)strlen(odf);
		n = (size_t)sprintf(out + 30, "mimetype%s", odf) + 30;
	}
	for (i = 0; names[i] != NULL; i++, count++) {
		offsets[i] = n;
		length = strlen(names[i]);
		memcpy(out + n, local, 30);
		out[n + 26] = (char)length;
		memcpy(out + n + 30, names[i], length);
		n += 30 + length;
	}
	for (start = n, i = 0; i < count; i++) {
		length = strlen(names[i]);
		memcpy(out + n, central, 46);
		out[n + 28] = (char)length;
		out[n + 42] = (char)offsets[i];
		memcpy(out + n + 46, names[i], length);
		n += 46 + length;
	}
	memcpy(out + n, "PK\5\6\0\0\0\0", 8);
	out[n + 8] = out[n + 10] = (char)count;
	out[n + 11] = out[n + 9] = 0;
	memset(out + n + 12, 0, 10);
	out[n + 12] = (char)(n - start);
	out[n + 13] = (char)((n - start) >> 8);
	out[n + 16] = (char)start;
	out[n + 17] = (char)(start >> 8);
	return n + 22;
}

static void
a_zip_is_a_document_only_by_its_members(void **state)
{
	static const struct { const char *odf, *names[4], *expect; } rows[] = {
		{ NULL, { "[Content_Types].xml", "_rels/.rels", "word/document.xml" },
		    "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
		{ NULL, { "xl/workbook.xml", "[Content_Types].xml" },
		    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
		{ NULL, { "[Content_Types].xml", "ppt/presentation.xml" },
		    "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
		{ "application/vnd.oasis.opendocument.text", { "content.xml" }, "application/vnd.oasis.opendocument.text" },
		{ "application/vnd.oasis.opendocument.spreadsheet", { "content.xml" },
		    "application/vnd.oasis.opendocument.spreadsheet" },
		{ "application/vnd.oasis.opendocument.presentation", { NULL }, "application/vnd.oasis.opendocument.presentation" },
		{ "application/vnd.oasis.opendocument.text-template", { "content.xml" }, "format_not_allowed" },
		{ "application/epub+zip", { "content.xml" }, "format_not_allowed" },
		{ NULL, { "a.m3u8", "b.ts" }, "format_not_allowed" },
		{ NULL, { "word/document.xml" }, "format_not_allowed" },
		{ NULL, { "[Content_Types].xml", "AndroidManifest.xml" }, "format_not_allowed" },
		{ NULL, { "../../[Content_Types].xml", "../word/document.xml" }, "format_not_allowed" },
	};
	char bytes[2048];
	size_t i, n;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		n = zip(bytes, rows[i].odf, rows[i].names);
		check(&(struct row){ rows[i].names[0], bytes, n, rows[i].expect }, 1);
		/* However it is cut off, nothing is read beyond its end. */
		for (; n > 0; n--) {
			char *copy = malloc(n);

			memcpy(copy, bytes, n);
			sniff_bytes(copy, n);
			free(copy);
		}
	}
}

/* A compound file of one directory sector. */
static void
ole(char *out, const char *stream)
{
	size_t i;

	memset(out, 0, 2048);
	memcpy(out, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8);
	out[30] = 9;
	out[48] = 1;			/* the directory is sector 1 */
	memset(out + 76, 0xff, 436);
	memset(out + 76, 0, 4);		/* the table is sector 0 */
	memset(out + 512, 0xff, 512);
	for (i = 0; stream[i] != '\0'; i++)
		out[1024 + 128 + 2 * i] = stream[i];
}

static void
legacy_office_files_are_told_apart_by_their_streams(void **state)
{
	char bytes[2048];

	ole(bytes, "WordDocument");
	check(&(struct row){ "doc", bytes, sizeof(bytes), "application/msword" }, 1);
	ole(bytes, "Workbook");
	check(&(struct row){ "xls", bytes, sizeof(bytes), "application/vnd.ms-excel" }, 1);
	ole(bytes, "PowerPoint Document");
	check(&(struct row){ "ppt", bytes, sizeof(bytes), "application/vnd.ms-powerpoint" }, 1);
	ole(bytes, "EncryptedPackage");
	check(&(struct row){ "protected docx", bytes, sizeof(bytes), "encrypted" }, 1);
	ole(bytes, "!_StringPool");
	check(&(struct row){ "installer", bytes, sizeof(bytes), "format_not_allowed" }, 1);
	/* A directory that names itself as its next sector ends all the same. */
	memset(bytes + 512 + 4, 1, 1);
	memset(bytes + 512 + 5, 0, 3);
	check(&(struct row){ "loop", bytes, sizeof(bytes), "format_not_allowed" }, 1);
}

static void
make(const char *command)
{
	char line[4096];

	snprintf(line, sizeof(line), "cd %s && %s", home, command);
	if (system(line) != 0)
		fail_msg("%s", command);
}

static void
real_files_are_known_whatever_they_are_called(void **state)
{
	static const struct { const char *name, *mime_type, *format; bool either; } files[] = {
		{ "1.mp4", "video/mp4", "mov", true }, { "2.mov", "video/quicktime", "mov", true },
		{ "3.mkv", "video/x-matroska", "matroska", true }, { "4.webm", "video/webm", "matroska", true },
		{ "5.ts", "video/mp2t", "mpegts", true }, { "6.mpg", "video/mpeg", "mpeg", true },
		{ "7.avi", "video/x-msvideo", "avi", true }, { "8.flv", "video/x-flv", "flv", true },
		{ "9.asf", "video/x-ms-asf", "asf", true }, { "10.mxf", "application/mxf", "mxf", true },
		{ "11.ogv", "video/ogg", "ogg", true }, { "12.m2ts", "video/mp2t", "mpegts", true },
		{ "13.mp3", "audio/mpeg", "mp3", false }, { "14.wav", "audio/wav", "wav", false },
		{ "15.flac", "audio/flac", "flac", false }, { "16.ogg", "audio/ogg", "ogg", true },
		{ "17.aac", "audio/aac", "aac", false }, { "18.m4a", "audio/mp4", "mov", true },
		{ "19.aiff", "audio/aiff", "aiff", false }, { "20.mp2", "audio/mpeg", "mp3", false },
		{ "21.wma", "video/x-ms-asf", "asf", true }, { "22.frag", "video/mp4", "mov", true },
		{ "23.bare", "audio/mpeg", "mp3", false },
		{ "30.jpg", "image/jpeg", "JPEG", false }, { "31.png", "image/png", "PNG", false },
		{ "32.gif", "image/gif", "GIF", false }, { "33.webp", "image/webp", "WEBP", false },
		{ "34.tiff", "image/tiff", "TIFF", false }, { "35.bmp", "image/bmp", "BMP", false },
	};
	char path[128], other[128];
	struct sniff s;
	size_t i;

	make("ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=96x64:r=10:d=1 -f lavfi -i sine=d=1:r=48000 "
	    "1.mp4 2.mov 3.mkv -c:v libvpx -c:a libopus 4.webm 5.ts -r 25 -f vob 6.mpg 7.avi -c:a aac 8.flv 9.asf -c:v "
	    "libtheora -c:a libvorbis 11.ogv -f mpegts -mpegts_m2ts_mode 1 12.m2ts -f mp4 -movflags "
	    "frag_keyframe+empty_moov 22.frag");
	make("ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=96x64:r=25:d=1 -c:v mpeg2video 10.mxf");
	make("ffmpeg -v error -nostdin -y -f lavfi -i sine=d=1:r=48000 13.mp3 14.wav 15.flac 16.ogg 17.aac 18.m4a "
	    "19.aiff 20.mp2 21.wma -f mp3 -id3v2_version 0 -write_xing 0 23.bare");
	make("/usr/bin/convert rose: -write 30.jpg -write 31.png -write 32.gif -write 33.webp -write 34.tiff 35.bmp");
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", home, files[i].name);
		snprintf(other, sizeof(other), "%s/x.html", home);
		if (rename(path, other) != 0)
			fail_msg("%s: %s", path, strerror(errno));
		s = sniff_file(other);
		if (strcmp(verdict(&s), files[i].mime_type) != 0)
			fail_msg("%s: %s", files[i].name, verdict(&s));
		assert_string_equal(s.format, files[i].format);
		assert_int_equal(s.either, files[i].either);
		assert_int_equal(truncate(other, 2000), 0);
		s = sniff_file(other);
		if (s.reason != REASON_NONE && s.reason != REASON_UNKNOWN_FORMAT)
			fail_msg("%s cut off: %s", files[i].name, verdict(&s));
	}
}

static void
the_type_for_clients_follows_the_streams(void **state)
{
	static const char mp4[] = "\0\0\0\x18" "ftypisom\0\0\0\0isommp42";
	static const char m4a[] = "\0\0\0\x18" "ftypM4A \0\0\0\0M4A mp42";
	struct sniff s = sniff_bytes(mp4, sizeof(mp4) - 1);

	assert_string_equal(s.type, "video");
	assert_true(s.either);
	assert_string_equal(sniff_mime_type(&s, true), "video/mp4");
	assert_string_equal(sniff_mime_type(&s, false), "audio/mp4");
	s = sniff_bytes(m4a, sizeof(m4a) - 1);
	assert_string_equal(s.type, "audio");
	assert_string_equal(sniff_mime_type(&s, true), "video/mp4");
	s = sniff_bytes("%PDF-1.4", 8);
	assert_string_equal(sniff_mime_type(&s, false), "application/pdf");
}

static void
what_is_no_plain_file_is_not_read(void **state)
{
	char path[128];

	assert_int_equal(sniff_file("/dev/zero").reason, REASON_INTERNAL);
	assert_int_equal(sniff_file(home).reason, REASON_INTERNAL);
	assert_int_equal(sniff_file("/nonexistent").reason, REASON_INTERNAL);
	snprintf(path, sizeof(path), "%s/link", home);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(sniff_file(path).reason, REASON_INTERNAL);
	/* Ten gigabytes of nothing take no longer than one. */
	snprintf(path, sizeof(path), "%s/sparse", home);
	make("truncate -s 10G sparse");
	assert_int_equal(sniff_file(path).reason, REASON_UNKNOWN_FORMAT);
}

enum { BEGUN = 128 << 10, LARGE = 1 << 20 };

/* What is said of a file when so much of it is there. */
static const char *
begun(const char *bytes, size_t n, size_t there)
{
	char path[128];
	struct sniff s;
	int fd;

	snprintf(path, sizeof(path), "%s/begun", home);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, bytes, n), n);
	s = sniff_begun(fd, (int64_t)there);
	close(fd);
	return s.reason == REASON_NONE ? "" : reason_info(s.reason)->code;
}

/* Nothing that is taken when it is whole is refused when it has begun. */
static void
what_can_be_no_medium_any_more_is_known_by_its_beginning(void **state)
{
	static const unsigned char frame[] = { 0xff, 0xfb, 0x90, 0 };
	char *bytes = calloc(1, LARGE);
	const char *documents[] = { "[Content_Types].xml", "word/document.xml", NULL };
	char zipped[4096];
	size_t n, i;

	(void)state;
	assert_string_equal(begun(bytes, LARGE, BEGUN), "unknown_format");
	assert_string_equal(begun(bytes, LARGE, 100), "");
	memcpy(bytes, "\x7f" "ELF\2\1\1", 7);
	assert_string_equal(begun(bytes, LARGE, BEGUN), "format_not_allowed");
	memset(bytes, ' ', LARGE);
	memcpy(bytes, "<!DOCTYPE html>", 15);
	assert_string_equal(begun(bytes, LARGE, BEGUN), "format_not_allowed");
	memcpy(bytes, "Minutes of the ", 15);
	assert_string_equal(begun(bytes, LARGE, BEGUN), "");
	memset(bytes, 0, LARGE);
	memcpy(bytes, "\0\0\0\030ftypisom\0\0\2\0isomiso2", 24);
	assert_string_equal(begun(bytes, LARGE, BEGUN), "");
	/* QuickTime without ftyp, whose first box is still on its way, of a size in 32 bits and in 64. */
	memset(bytes, 0, LARGE);
	memcpy(bytes, "\0\x0c\0\0mdat", 8);
	memcpy(bytes + 0xc0000, "\0\4\0\0moov", 8);
	assert_string_equal(begun(bytes, LARGE, BEGUN), "");
	assert_string_equal(begun(bytes, LARGE, LARGE), "");
	memcpy(bytes, "\0\0\0\1mdat\0\0\0\0\0\x0c\0\0", 16);
	assert_string_equal(begun(bytes, LARGE, BEGUN), "");
	/* An archive says at its end what it holds. */
	n = zip(zipped, NULL, documents);
	memset(bytes, 0, LARGE);
	memcpy(bytes, zipped, n);
	assert_string_equal(begun(bytes, LARGE, BEGUN), "");
	/* Sound behind a tag that has come to its end just now, or has not yet. */
	for (i = 0; i < 3; i++) {
		const size_t tag = BEGUN - 10 - 417 * i;

		memset(bytes, 0, LARGE);
		memcpy(bytes, "ID3\4\0\0", 6);
		bytes[7] = (char)((tag - 10) >> 14 & 127);
		bytes[8] = (char)((tag - 10) >> 7 & 127);
		bytes[9] = (char)((tag - 10) & 127);
		for (n = tag; n + 417 < LARGE; n += 417)
			memcpy(bytes + n, frame, sizeof(frame));
		assert_string_equal(begun(bytes, LARGE, BEGUN), "");
		assert_string_equal(begun(bytes, LARGE, LARGE), "");
	}
	/* A box of QuickTime, whose length has not come to its end. */
	memset(bytes, 0, LARGE);
	memcpy(bytes, "\0\1\377\366" "wide", 8);
	memcpy(bytes + BEGUN - 10, "\0\0\0\1" "mdat\0\0\0\0\0\0\377\0", 16);
	assert_string_equal(begun(bytes, LARGE, BEGUN), "");
	/* A compound file whose directory is far behind. */
	memset(bytes, 0, LARGE);
	ole(bytes, "WordDocument");
	bytes[48] = 0;
	bytes[50] = 1;
	assert_string_equal(begun(bytes, LARGE, BEGUN), "");
	free(bytes);
}

static int
setup(void **state)
{
	return mkdtemp(home) == NULL;
}

static int
teardown(void **state)
{
	char line[128];

	snprintf(line, sizeof(line), "rm -rf %s", home);
	return system(line);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_archives_and_images_of_disks_are_refused),
		cmocka_unit_test(playlists_scripts_and_markup_are_refused),
		cmocka_unit_test(what_holds_nothing_known_is_refused_as_such),
		cmocka_unit_test(media_are_known_by_their_first_bytes),
		cmocka_unit_test(texts_are_documents_whatever_their_code),
		cmocka_unit_test(a_zip_is_a_document_only_by_its_members),
		cmocka_unit_test(legacy_office_files_are_told_apart_by_their_streams),
		cmocka_unit_test(real_files_are_known_whatever_they_are_called),
		cmocka_unit_test(the_type_for_clients_follows_the_streams),
		cmocka_unit_test(what_is_no_plain_file_is_not_read),
		cmocka_unit_test(what_can_be_no_medium_any_more_is_known_by_its_beginning),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
