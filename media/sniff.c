/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types by content: magic numbers first, then chains of frames or boxes, then text; see sniff.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "media/sniff.h"

#define HEAD 65536
#define DIRECTORY_MAX (256 * 1024)	/* of a ZIP's central directory: office files have far less */

/* A file, open or in memory, whose first bytes have been read. */
struct source {
	int fd;				/* -1: bytes holds all of it */
	const unsigned char *bytes;
	int64_t size;
	unsigned char head[HEAD];
	size_t n;			/* bytes in head */
	bool *open;			/* of a file that still comes: what is not there yet would tell more; or NULL */
};

static void
tell_open(const struct source *s)
{
	if (s->open != NULL)
		*s->open = true;
}

static bool
read_at(const struct source *s, int64_t at, void *out, size_t n)
{
	size_t done = 0;
	ssize_t got;

	if (at < 0 || at > s->size || (int64_t)n > s->size - at) {
		tell_open(s);
		return false;
	}
	if (s->fd == -1) {
		memcpy(out, s->bytes + at, n);
		return true;
	}
	while (done < n) {
		got = pread(s->fd, (char *)out + done, n - done, at + (int64_t)done);
		if (got == -1 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static bool
has_at(const struct source *s, size_t at, const void *bytes, size_t n)
{
	return at + n <= s->n && memcmp(s->head + at, bytes, n) == 0;
}

static uint32_t
big32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t
big64(const unsigned char *p)
{
	return (uint64_t)big32(p) << 32 | big32(p + 4);
}

static uint32_t
little32(const unsigned char *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static uint32_t
little16(const unsigned char *p)
{
	return (uint32_t)p[1] << 8 | p[0];
}

static bool
is(struct sniff *out, const char *type, const char *mime_type, const char *format)
{
	out->type = type;
	out->mime_type = mime_type;
	out->format = format;
	return true;
}

static bool
is_container(struct sniff *out, const char *type, const char *mime_type, const char *format)
{
	out->either = true;
	return is(out, type, mime_type, format);
}

static bool
refused(struct sniff *out, enum reason reason)
{
	out->reason = reason;
	return true;
}

/* Magic numbers that need no second look.  A row without a type is refused. */
static const struct magic {
	size_t at, n;
	const char *bytes, *type, *mime_type, *format;
	bool either;
} magics[] = {
	{ 0, 3, "\xff\xd8\xff", "image", "image/jpeg", "JPEG", false },
	{ 0, 8, "\x89PNG\r\n\x1a\n", "image", "image/png", "PNG", false },
	{ 0, 6, "GIF87a", "image", "image/gif", "GIF", false },
	{ 0, 6, "GIF89a", "image", "image/gif", "GIF", false },
	{ 0, 4, "II*\0", "image", "image/tiff", "TIFF", false },
	{ 0, 4, "MM\0*", "image", "image/tiff", "TIFF", false },
	{ 0, 8, "II+\0\x08\0\0\0", "image", "image/tiff", "TIFF64", false },
	{ 0, 8, "MM\0+\0\x08\0\0", "image", "image/tiff", "TIFF64", false },
	{ 0, 4, "FLV\x01", "video", "video/x-flv", "flv", true },
	{ 0, 16, "\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c", "video", "video/x-ms-asf", "asf", true },
	{ 0, 14, "\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02\x01\x01\x02", "video", "application/mxf", "mxf", true },
	{ 0, 4, "\x00\x00\x01\xba", "video", "video/mpeg", "mpeg", true },
	{ 0, 4, "fLaC", "audio", "audio/flac", "flac", false },
	{ 0, 6, "#!AMR\n", "audio", "audio/amr", "amr", false },
	{ 0, 9, "#!AMR-WB\n", "audio", "audio/amr-wb", "amr", false },
	{ 0, 5, "{\\rtf", "document", "application/rtf", "rtf", false },
	{ 0, 4, "\x7f" "ELF", NULL, NULL, NULL, false },
	{ 0, 4, "\xca\xfe\xba\xbe", NULL, NULL, NULL, false },	/* Java, fat Mach-O */
	{ 0, 4, "\xcf\xfa\xed\xfe", NULL, NULL, NULL, false },	/* Mach-O */
	{ 0, 4, "\0asm", NULL, NULL, NULL, false },
	{ 0, 6, "Rar!\x1a\x07", NULL, NULL, NULL, false },
	{ 0, 6, "7z\xbc\xaf\x27\x1c", NULL, NULL, NULL, false },
	{ 0, 2, "\x1f\x8b", NULL, NULL, NULL, false },		/* gzip, and SVGZ with it */
	{ 0, 3, "BZh", NULL, NULL, NULL, false },
	{ 0, 6, "\xfd" "7zXZ\0", NULL, NULL, NULL, false },
	{ 0, 4, "\x28\xb5\x2f\xfd", NULL, NULL, NULL, false },	/* Zstandard */
	{ 0, 4, "MSCF", NULL, NULL, NULL, false },
	{ 0, 4, "\xc5\xd0\xd3\xc6", NULL, NULL, NULL, false },	/* EPS with a DOS preview */
	{ 257, 5, "ustar", NULL, NULL, NULL, false },
	{ 0x8001, 5, "CD001", NULL, NULL, NULL, false },
};

static bool
sniff_magic(const struct source *s, struct sniff *out)
{
	const struct magic *m;

	/* Canon's raw files are TIFF only by name: what a TIFF reader finds there is a thumbnail. */
	if (has_at(s, 0, "II*\0", 4) && has_at(s, 8, "CR\x02", 3))
		return refused(out, REASON_UNKNOWN_FORMAT);
	for (m = magics; m < magics + sizeof(magics) / sizeof(magics[0]); m++) {
		if (!has_at(s, m->at, m->bytes, m->n))
			continue;
		if (m->type == NULL)
			return refused(out, REASON_FORMAT_NOT_ALLOWED);
		out->either = m->either;
		return is(out, m->type, m->mime_type, m->format);
	}
	return false;
}

static bool
sniff_riff(const struct source *s, struct sniff *out)
{
	bool riff = has_at(s, 0, "RIFF", 4);

	if (riff && has_at(s, 8, "WEBP", 4))
		return is(out, "image", "image/webp", "WEBP");
	if (riff && has_at(s, 8, "AVI ", 4))
		return is_container(out, "video", "video/x-msvideo", "avi");
	if ((riff || has_at(s, 0, "RF64", 4) || has_at(s, 0, "BW64", 4)) && has_at(s, 8, "WAVE", 4))
		return is(out, "audio", "audio/wav", "wav");
	if (has_at(s, 0, "FORM", 4) && (has_at(s, 8, "AIFF", 4) || has_at(s, 8, "AIFC", 4)))
		return is(out, "audio", "audio/aiff", "aiff");
	return false;
}

/* "BM" and "MZ" alone are also how a text may begin. */
static bool
sniff_two_letters(const struct source *s, struct sniff *out)
{
	static const char sizes[] = { 12, 40, 52, 56, 64, 108, 124 };
	uint32_t header, offset;

	if (has_at(s, 0, "BM", 2) && s->n >= 26) {
		header = little32(s->head + 14);
		offset = little32(s->head + 10);
		if (header != 0 && header < 128 && memchr(sizes, (int)header, sizeof(sizes)) != NULL && offset >= 14 +
		    header)
			return is(out, "image", "image/bmp", "BMP");
	}
	if (has_at(s, 0, "MZ", 2) && memchr(s->head, 0, s->n < 64 ? s->n : 64) != NULL)
		return refused(out, REASON_FORMAT_NOT_ALLOWED);
	return false;
}

/* The brands of an ftyp box: the first decides, except that "mif1" (some HEIF picture) leaves it to the others. */
static bool
sniff_brand(const unsigned char *brand, struct sniff *out)
{
	static const struct { const char *brand, *type, *mime_type, *format; bool either; } brands[] = {
		{ "avif", "image", "image/avif", "AVIF", false },
		{ "avis", "image", "image/avif", "AVIF", false },
		{ "heic", "image", "image/heic", "HEIC", false },
		{ "heix", "image", "image/heic", "HEIC", false },
		{ "heim", "image", "image/heic", "HEIC", false },
		{ "heis", "image", "image/heic", "HEIC", false },
		{ "hevc", "image", "image/heic", "HEIC", false },
		{ "hevx", "image", "image/heic", "HEIC", false },
		{ "M4A ", "audio", "audio/mp4", "mov", true },
		{ "M4B ", "audio", "audio/mp4", "mov", true },
		{ "M4P ", "audio", "audio/mp4", "mov", true },
		{ "qt  ", "video", "video/quicktime", "mov", true },
		{ "3gp", "video", "video/3gpp", "mov", true },
		{ "3g2", "video", "video/3gpp2", "mov", true },
	};
	size_t i;

	for (i = 0; i < sizeof(brands) / sizeof(brands[0]); i++)
		if (memcmp(brand, brands[i].brand, strlen(brands[i].brand)) == 0) {
			out->either = brands[i].either;
			return is(out, brands[i].type, brands[i].mime_type, brands[i].format);
		}
	return false;
}

static bool
sniff_ftyp(const struct source *s, struct sniff *out)
{
	size_t end = big32(s->head), at;

	if (end < 16 || end > 4096)
		return refused(out, REASON_UNKNOWN_FORMAT);
	if (has_at(s, 8, "crx ", 4) || has_at(s, 8, "jp2 ", 4) || has_at(s, 8, "jxl ", 4))
		return refused(out, REASON_UNKNOWN_FORMAT);
	if (s->n >= 12 && sniff_brand(s->head + 8, out))
		return true;
	if (has_at(s, 8, "mif1", 4) || has_at(s, 8, "msf1", 4)) {
		for (at = 16; at + 4 <= end && at + 4 <= s->n; at += 4)
			if (sniff_brand(s->head + at, out) && strcmp(out->type, "image") == 0)
				return true;
		*out = (struct sniff){ 0 };
		return refused(out, REASON_UNKNOWN_FORMAT);
	}
	return is_container(out, "video", "video/mp4", "mov");
}

/* QuickTime before it had ftyp: the file begins with some other box, and the next one is known too. */
static bool
sniff_boxes(const struct source *s, struct sniff *out)
{
	static const char known[] = "moov mdat free skip wide pnot ftyp moof styp sidx uuid ";
	unsigned char box[16];
	char type[6] = "     ";
	int64_t at = 0, size;
	int n;

	if (has_at(s, 4, "ftyp", 4))
		return sniff_ftyp(s, out);
	for (n = 0; n < 3 && at + 8 <= s->size; n++) {
		if (!read_at(s, at, box, at + 16 <= s->size ? 16 : 8))
			return false;
		memcpy(type, box + 4, 4);
		if (strlen(type) < 5 || strchr(type, ' ') != type + 4 || strstr(known, type) == NULL)
			return false;
		size = big32(box);
		if (size == 1 && at + 16 <= s->size)
			size = (int64_t)(big64(box + 8) & INT64_MAX);
		else if (size == 1)
			tell_open(s);
		if (size == 0)
			break;
		if (size < 8)
			return false;
		if (size > s->size - at) {	/* cut off: the probe says so */
			tell_open(s);
			break;
		}
		at += size;
	}
	return n > 0 && is_container(out, "video", "video/quicktime", "mov");
}

/* One EBML number; `id` keeps the marker bits.  Returns its length, 0 when it is broken. */
static size_t
ebml_number(const unsigned char *p, size_t n, bool id, uint64_t *value)
{
	size_t length = 1, i;

	if (n == 0 || p[0] == 0)
		return 0;
	while (!(p[0] & (0x80 >> (length - 1))))
		length++;
	if (length > n)
		return 0;
	*value = id ? p[0] : p[0] & ((0x80u >> (length - 1)) - 1);
	for (i = 1; i < length; i++)
		*value = *value << 8 | p[i];
	return length;
}

static bool
sniff_matroska(const struct source *s, struct sniff *out)
{
	size_t at = 4, end, used;
	uint64_t id, size;

	if (!has_at(s, 0, "\x1a\x45\xdf\xa3", 4))
		return false;
	used = ebml_number(s->head + at, s->n - at, false, &size);
	at += used;
	end = used == 0 || size > s->n - at ? s->n : at + (size_t)size;
	while (used != 0 && at < end) {
		used = ebml_number(s->head + at, end - at, true, &id);
		at += used;
		if (used == 0 || (used = ebml_number(s->head + at, end - at, false, &size)) == 0)
			break;
		at += used;
		if (size > end - at)
			break;
		if (id == 0x4282 && size >= 4 && memcmp(s->head + at, "webm", 4) == 0)
			return is_container(out, "video", "video/webm", "matroska");
		if (id == 0x4282 && size >= 8 && memcmp(s->head + at, "matroska", 8) == 0)
			return is_container(out, "video", "video/x-matroska", "matroska");
		at += (size_t)size;
	}
	return refused(out, REASON_UNKNOWN_FORMAT);
}

/* Ogg: the pages that begin streams come first, and each names its codec at the start of its first packet. */
static bool
sniff_ogg(const struct source *s, struct sniff *out)
{
	size_t at = 0, body, size, i;
	bool video = false;

	if (!has_at(s, 0, "OggS", 4))
		return false;
	while (at + 27 <= s->n && memcmp(s->head + at, "OggS", 4) == 0 && s->head[at + 5] & 2) {
		body = at + 27 + s->head[at + 26];
		for (size = 0, i = at + 27; i < body && i < s->n; i++)
			size += s->head[i];
		if (has_at(s, body, "\x80theora", 7) || has_at(s, body, "BBCD", 4) || has_at(s, body, "\x4fVP80", 5) ||
		    has_at(s, body, "\x01video", 6))
			video = true;
		at = body + size;
	}
	return video ? is_container(out, "video", "video/ogg", "ogg") : is_container(out, "audio", "audio/ogg", "ogg");
}

/* Sync bytes at a steady distance: 188, 192 (a clock in front: Blu-ray) or 204 (error correction behind). */
static bool
sniff_ts(const struct source *s, struct sniff *out)
{
	static const struct { size_t first, step; } forms[] = { { 0, 188 }, { 4, 192 }, { 0, 204 } };
	size_t i, at;
	int n;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		for (n = 0, at = forms[i].first; n < 8 && at < s->n && s->head[at] == 0x47; n++)
			at += forms[i].step;
		if (n >= 3 && (n == 8 || at >= s->n))
			return is_container(out, "video", "video/mp2t", "mpegts");
	}
	return false;
}

/* Length of the MPEG audio frame (layers I to III) whose header is at p, or 0. */
static size_t
mpeg_frame(const unsigned char *p)
{
	static const short rates[5][16] = {
		{ 0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 0 },
		{ 0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 0 },
		{ 0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0 },
		{ 0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256, 0 },
		{ 0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0 },
	};
	static const int samples[3] = { 44100, 48000, 32000 };
	int version = p[1] >> 3 & 3, layer = 4 - (p[1] >> 1 & 3), pad = p[2] >> 1 & 1, rate, hertz;

	if (p[0] != 0xff || (p[1] & 0xe0) != 0xe0 || version == 1 || layer == 4 || (p[2] >> 2 & 3) == 3)
		return 0;
	rate = rates[version == 3 ? layer - 1 : layer == 1 ? 3 : 4][p[2] >> 4];
	hertz = samples[p[2] >> 2 & 3] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
	if (rate == 0)
		return 0;
	if (layer == 1)
		return (size_t)((12000 * rate / hertz + pad) * 4);
	return (size_t)((layer == 3 && version != 3 ? 72000 : 144000) * rate / hertz + pad);
}

static size_t
adts_frame(const unsigned char *p)
{
	size_t length = (size_t)(p[3] & 3) << 11 | (size_t)p[4] << 3 | p[5] >> 5;

	if (p[0] != 0xff || (p[1] & 0xf6) != 0xf0 || (p[2] >> 2 & 15) > 12 || length < 8)
		return 0;
	return length;
}

/* Three frames in a row, or as many as the file has. */
static bool
frames_follow(const struct source *s, int64_t at, size_t (*frame)(const unsigned char *))
{
	unsigned char header[6];
	size_t length;
	int n;

	for (n = 0; n < 3; n++) {
		if (!read_at(s, at, header, sizeof(header)))
			return n > 1 || (n == 1 && at == s->size);
		length = frame(header);
		if (length == 0)
			return false;
		at += (int64_t)length;
	}
	return true;
}

static bool
sniff_sound(const struct source *s, struct sniff *out)
{
	unsigned char tag[10];
	int64_t at = 0, end;
	int n;

	if (has_at(s, 0, "\xff\xfe", 2))		/* a mark of UTF-16, or Layer I, which nobody makes */
		return false;
	for (n = 0; n < 4 && read_at(s, at, tag, 10) && memcmp(tag, "ID3", 3) == 0 && tag[3] != 0xff; n++)
		at += 10 + ((tag[6] & 127) << 21 | (tag[7] & 127) << 14 | (tag[8] & 127) << 7 | (tag[9] & 127));
	if (n > 0 && at + 10 > s->size)		/* cut off within the tag: the probe says so */
		return is(out, "audio", "audio/mpeg", "mp3");
	if (n > 0 && read_at(s, at, tag, 4) && memcmp(tag, "fLaC", 4) == 0)
		return is(out, "audio", "audio/flac", "flac");
	/* Writers pad tags with more zeros than they say. */
	for (end = n > 0 ? at + 4096 : at + 1; at < end; at++) {
		if (frames_follow(s, at, adts_frame))
			return is(out, "audio", "audio/aac", "aac");
		if (frames_follow(s, at, mpeg_frame))
			return is(out, "audio", "audio/mpeg", "mp3");
	}
	return false;
}

/* Finds the central directory of a ZIP: its bytes are read into `out`.  Returns how many, 0 when there is none. */
static size_t
zip_directory(const struct source *s, unsigned char *out)
{
	unsigned char tail[22 + 8192];
	size_t n = s->size < (int64_t)sizeof(tail) ? (size_t)s->size : sizeof(tail), i;
	int64_t at, size;

	tell_open(s);
	if (n < 22 || !read_at(s, s->size - (int64_t)n, tail, n))
		return 0;
	for (i = n - 22;; i--) {
		if (memcmp(tail + i, "PK\5\6", 4) == 0)
			break;
		if (i == 0)
			return 0;
	}
	size = little32(tail + i + 12);
	at = little32(tail + i + 16);
	if (size > DIRECTORY_MAX)
		size = DIRECTORY_MAX;
	return read_at(s, at, out, (size_t)size) ? (size_t)size : 0;
}

static const struct office { const char *member, *odf, *mime_type, *format; } offices[] = {
	{ "word/document.xml", NULL, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx" },
	{ "xl/workbook.xml", NULL, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx" },
	{ "ppt/presentation.xml", NULL, "application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx" },
	{ NULL, "application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text", "odt" },
	{ NULL, "application/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.spreadsheet", "ods" },
	{ NULL, "application/vnd.oasis.opendocument.presentation", "application/vnd.oasis.opendocument.presentation", "odp" },
};
#define N_OFFICES (sizeof(offices) / sizeof(offices[0]))

/* OpenDocument: the first member is called mimetype, is stored as it is and holds nothing but the type. */
static const struct office *
sniff_odf(const struct source *s)
{
	size_t i, n;

	if (!has_at(s, 30, "mimetype", 8) || s->n < 46 || little16(s->head + 8) != 0 || little16(s->head + 26) != 8)
		return NULL;
	for (i = 0; i < N_OFFICES; i++) {
		n = offices[i].odf == NULL ? 0 : strlen(offices[i].odf);
		if (n != 0 && has_at(s, 38 + little16(s->head + 28), offices[i].odf, n) &&
		    !has_at(s, 38 + little16(s->head + 28) + n, "-", 1))
			return &offices[i];
	}
	return NULL;
}

static const struct office *
sniff_ooxml(const struct source *s)
{
	unsigned char directory[DIRECTORY_MAX];
	size_t n = zip_directory(s, directory), at, name, i;
	const struct office *found = NULL;
	bool has_types = false;

	for (at = 0; at + 46 <= n && memcmp(directory + at, "PK\1\2", 4) == 0;) {
		name = little16(directory + at + 28);
		if (at + 46 + name > n)
			break;
		if (name == 19 && memcmp(directory + at + 46, "[Content_Types].xml", 19) == 0)
			has_types = true;
		for (i = 0; i < N_OFFICES; i++)
			if (offices[i].member != NULL && name == strlen(offices[i].member) &&
			    memcmp(directory + at + 46, offices[i].member, name) == 0 && found == NULL)
				found = &offices[i];
		at += 46 + name + little16(directory + at + 30) + little16(directory + at + 32);
	}
	return has_types ? found : NULL;
}

static bool
sniff_zip(const struct source *s, struct sniff *out)
{
	const struct office *o;

	if (!has_at(s, 0, "PK\3\4", 4) && !has_at(s, 0, "PK\5\6", 4) && !has_at(s, 0, "PK\7\x08", 4))
		return false;
	o = sniff_odf(s);
	if (o == NULL)
		o = sniff_ooxml(s);
	return o == NULL ? refused(out, REASON_FORMAT_NOT_ALLOWED) : is(out, "document", o->mime_type, o->format);
}

/* One 128-byte entry of a compound file's directory: does its UTF-16 name say what the file is? */
static bool
ole_entry(const unsigned char *entry, struct sniff *out)
{
	char name[32] = "";
	size_t i;

	for (i = 0; i < 31 && entry[2 * i] != 0 && entry[2 * i + 1] == 0; i++)
		name[i] = (char)entry[2 * i];
	if (strcmp(name, "EncryptedPackage") == 0)
		return refused(out, REASON_ENCRYPTED);
	if (strcmp(name, "WordDocument") == 0)
		return is(out, "document", "application/msword", "doc");
	if (strcmp(name, "Workbook") == 0 || strcmp(name, "Book") == 0)
		return is(out, "document", "application/vnd.ms-excel", "xls");
	if (strcmp(name, "PowerPoint Document") == 0)
		return is(out, "document", "application/vnd.ms-powerpoint", "ppt");
	return false;
}

/* Legacy Office: a small file system (MS-CFB).  Only the chain of its directory is followed. */
static bool
sniff_ole(const struct source *s, struct sniff *out)
{
	unsigned char sector[4096], link[4];
	uint32_t shift, at, table;
	size_t size, i;
	int n;

	if (!has_at(s, 0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8) || s->n < 512)
		return false;
	shift = little16(s->head + 30);
	if (shift != 9 && shift != 12)
		return refused(out, REASON_UNKNOWN_FORMAT);
	size = (size_t)1 << shift;
	at = little32(s->head + 48);
	for (n = 0; n < 64 && at < 0xfffffff0; n++) {
		if (!read_at(s, ((int64_t)at + 1) << shift, sector, size))
			break;
		for (i = 0; i < size; i += 128)
			if (ole_entry(sector + i, out))
				return true;
		if (at / (size / 4) >= 109)	/* further tables are for files beyond any document's directory */
			break;
		table = little32(s->head + 76 + 4 * (at / (size / 4)));
		if (!read_at(s, (((int64_t)table + 1) << shift) + 4 * (int64_t)(at % (size / 4)), link, 4))
			break;
		at = little32(link);
	}
	return refused(out, REASON_FORMAT_NOT_ALLOWED);
}

/* The start of a text in ASCII, lower case, without byte order mark and leading blanks; others become '?'. */
struct plain { char text[4096]; size_t n; };

static void
plain_start(const struct source *s, struct plain *p)
{
	bool little = has_at(s, 0, "\xff\xfe", 2), big = has_at(s, 0, "\xfe\xff", 2);
	size_t at = little || big ? 2 : has_at(s, 0, "\xef\xbb\xbf", 3) ? 3 : 0, step = little || big ? 2 : 1;
	unsigned char c;

	for (p->n = 0; at + step <= s->n && p->n < sizeof(p->text) - 1; at += step) {
		c = s->head[at + (big ? 1 : 0)];
		if (step == 2 && s->head[at + (big ? 0 : 1)] != 0)
			c = '?';
		if (p->n == 0 && (isspace(c) || c == 0))
			continue;
		p->text[p->n++] = c == 0 || c > 126 ? '?' : (char)tolower(c);
	}
	p->text[p->n] = '\0';
}

/* Playlists, scripts and markup: files that make a program fetch, run or include something else. */
static bool
sniff_script(const struct plain *p)
{
	static const char *const starts[] = {
		"#!", "#extm3u", "#exttm3u", "ffconcat", "file '", "file \"", ";ffmetadata", "[playlist]",
		"[reference]", "push graphic-context", "viewbox ", "%!ps", "import vapoursynth", "from vapoursynth",
		"concat:", "subfile,", "@echo off", "#ffmpeg", "id=imagemagick", "asf http",
	};
	static const char *const calls[] = { "avisource(", "directshowsource(", "ffvideosource(", "ffmpegsource2(" };
	size_t i;

	if (p->text[0] == '<' && (isalpha((unsigned char)p->text[1]) || (p->text[1] != '\0' &&
	    strchr("!?/", p->text[1]))))
		return true;
	if (strncmp(p->text, "v=0", 3) == 0 && strstr(p->text, "\no=") != NULL)
		return true;			/* a session description */
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(p->text, starts[i], strlen(starts[i])) == 0)
			return true;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strstr(p->text, calls[i]) != NULL)
			return true;
	return false;
}

/* Bytes of the well-formed UTF-8 character at p, 0 when it is none, n + 1 when the end cuts it. */
static size_t
utf8_step(const unsigned char *p, size_t n)
{
	size_t length = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 :
	    p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0, i;

	for (i = 1; i < length && i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return length > n ? n + 1 : length;
}

static bool
is_control(unsigned c)
{
	return (c < 32 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1a && c != 0x1b) || c == 127;
}

/* Text: UTF-8, UTF-16 with its mark, or an 8-bit code that is mostly ASCII.  No control characters in any of them. */
static bool
is_text(const struct source *s)
{
	bool little = has_at(s, 0, "\xff\xfe", 2), big = has_at(s, 0, "\xfe\xff", 2), utf8 = true;
	size_t i, step, high = 0;
	unsigned c;

	if (little || big) {
		for (i = 2; i + 2 <= s->n; i += 2) {
			c = little ? little16(s->head + i) : (unsigned)s->head[i] << 8 | s->head[i + 1];
			if (is_control(c) || c >= 0xfffe)
				return false;
		}
		return s->n > 2;
	}
	for (i = 0; i < s->n; i += step) {
		c = s->head[i];
		if (is_control(c))
			return false;
		step = utf8 ? utf8_step(s->head + i, s->n - i) : 1;
		if (step == 0 || (step > s->n - i && s->n < HEAD)) {
			utf8 = false;
			step = 1;
		}
		if (c >= 0x80)
			high += step;
	}
	return utf8 || high * 4 <= s->n;
}

static bool
sniff_text(const struct source *s, struct sniff *out)
{
	struct plain p;

	plain_start(s, &p);
	if (strncmp(p.text, "%pdf-", 5) == 0)
		return is(out, "document", "application/pdf", "pdf");
	if (sniff_script(&p))
		return refused(out, REASON_FORMAT_NOT_ALLOWED);
	if (p.n == 0 && is_text(s))
		return refused(out, REASON_EMPTY_FILE);		/* blanks alone */
	return is_text(s) && is(out, "document", "text/plain", "txt");
}

static struct sniff
sniff_source(struct source *s)
{
	static bool (*const looks[])(const struct source *, struct sniff *) = {
		sniff_magic, sniff_riff, sniff_two_letters, sniff_boxes, sniff_matroska, sniff_ogg, sniff_zip,
		    sniff_ole, sniff_ts,
		sniff_sound, sniff_text,
	};
	struct sniff out = { 0 };
	size_t i;

	if (s->size == 0)
		return (struct sniff){ .reason = REASON_EMPTY_FILE };
	s->n = s->size < HEAD ? (size_t)s->size : HEAD;
	if (!read_at(s, 0, s->head, s->n))
		return (struct sniff){ .reason = REASON_INTERNAL };
	for (i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (looks[i](s, &out))
			return out.reason == REASON_NONE ? out : (struct sniff){ .reason = out.reason };
	return (struct sniff){ .reason = REASON_UNKNOWN_FORMAT };
}

struct sniff
sniff_fd(int fd)
{
	struct source s = { .fd = fd };
	struct stat st;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return (struct sniff){ .reason = REASON_INTERNAL };
	s.size = st.st_size;
	return sniff_source(&s);
}

struct sniff
sniff_begun(int fd, int64_t n)
{
	bool open = false;
	struct source s = { .fd = fd, .size = n, .open = &open };
	struct sniff out = { .reason = REASON_NONE };

	if (n >= HEAD)
		out = sniff_source(&s);
	if (open || out.reason == REASON_NONE || out.reason == REASON_INTERNAL)
		return (struct sniff){ .reason = REASON_NONE };
	return out;
}

struct sniff
sniff_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct sniff out = { .reason = REASON_INTERNAL };
	int saved;

	if (fd == -1)
		return out;
	out = sniff_fd(fd);
	saved = errno;
	close(fd);
	errno = saved;
	return out;
}

void
sniff_fault(struct arena *mem, const struct sniff *s, struct fault *fault)
{
	if (s->reason == REASON_INTERNAL)
		fault_of_errno(mem, errno, fault, "The file could not be read.");
	else
		*fault = (struct fault){ .reason = s->reason };
}

struct sniff
sniff_bytes(const void *bytes, size_t n)
{
	struct source s = { .fd = -1, .bytes = bytes, .size = (int64_t)n };

	return sniff_source(&s);
}

const char *
sniff_mime_type(const struct sniff *s, bool has_video)
{
	static const struct { const char *video, *audio; } pairs[] = {
		{ "video/mp4", "audio/mp4" }, { "video/quicktime", "audio/mp4" }, { "video/3gpp", "audio/3gpp" },
		{ "video/3gpp2", "audio/3gpp2" }, { "video/webm", "audio/webm" }, { "video/x-matroska", "audio/x-matroska" },
		{ "video/ogg", "audio/ogg" }, { "video/x-ms-asf", "audio/x-ms-wma" }, { "video/mpeg", "audio/mpeg" },
	};
	size_t i;

	for (i = 0; s->either && i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!has_video && strcmp(s->mime_type, pairs[i].video) == 0)
			return pairs[i].audio;
		if (has_video && strcmp(s->mime_type, pairs[i].audio) == 0)
			return pairs[i].video;
	}
	return s->mime_type;
}
