/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of pictures from their headers; no decoding, no library.  Every offset is checked against the end. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "media/bytes.h"
#include "media/image.h"

struct bytes {
	const unsigned char *p;
	size_t n;
	bool little;		/* byte order of get() */
};

struct size { int64_t width, height; };

enum { PNG_CHUNK_MAX = 1 << 20 };	/* bytes of one that is no picture: a colour profile of a printer has as many */

/* 0 beyond the end. */
static uint64_t
get(const struct bytes *b, size_t at, unsigned size)
{
	if (at > b->n || b->n - at < size)
		return 0;
	return b->little ? bytes_little(b->p + at, size) : bytes_big(b->p + at, size);
}

static uint32_t
get16(const struct bytes *b, size_t at)
{
	return (uint32_t)get(b, at, 2);
}

static uint32_t
get32(const struct bytes *b, size_t at)
{
	return (uint32_t)get(b, at, 4);
}

static uint64_t
get64(const struct bytes *b, size_t at)
{
	return get(b, at, 8);
}

static bool
begins(const struct bytes *b, size_t at, const char *text, size_t n)
{
	return at <= b->n && b->n - at >= n && memcmp(b->p + at, text, n) == 0;
}

/* Walks the segments up to the frame header (SOF).  C4, C8 and CC are no frame headers. */
static bool
jpeg_size(const struct bytes *b, struct size *out)
{
	size_t at = 2;
	unsigned marker;

	while (at + 4 <= b->n) {
		if (b->p[at] != 0xff)
			return false;
		marker = b->p[at + 1];
		if (marker == 0xff) {		/* fill byte */
			at++;
			continue;
		}
		if (marker == 0xd9 || marker == 0xda)
			return false;
		if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
			at += 2;
			continue;
		}
		if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
			*out = (struct size){ get16(b, at + 7), get16(b, at + 5) };
			return true;
		}
		if (get16(b, at + 2) < 2)
			return false;
		at += 2 + get16(b, at + 2);
	}
	return false;
}

static bool
webp_size(const struct bytes *b, struct size *out)
{
	uint32_t bits;

	if (begins(b, 12, "VP8X", 4) && b->n >= 30) {
		out->width = 1 + (get32(b, 24) & 0xffffff);
		out->height = 1 + (get32(b, 26) >> 8);
		return true;
	}
	if (begins(b, 12, "VP8L", 4) && begins(b, 20, "\x2f", 1) && b->n >= 25) {
		bits = get32(b, 21);
		*out = (struct size){ 1 + (bits & 0x3fff), 1 + (bits >> 14 & 0x3fff) };
		return true;
	}
	if (begins(b, 12, "VP8 ", 4) && begins(b, 23, "\x9d\x01\x2a", 3) && b->n >= 30) {
		*out = (struct size){ get16(b, 26) & 0x3fff, get16(b, 28) & 0x3fff };
		return true;
	}
	return false;
}

/* The first directory; classic TIFF and BigTIFF differ in the width of counts and offsets alone. */
static bool
tiff_size(const struct bytes *b, struct size *out)
{
	bool big = get16(b, 2) == 43;
	uint64_t at = big ? get64(b, 8) : get32(b, 4), count, i;
	size_t step = big ? 20 : 12, value;
	int64_t n;

	if (at >= b->n)
		return false;
	count = big ? get64(b, at) : get16(b, at);
	at += big ? 8 : 2;
	if (count > 65535 || at + count * step > b->n)
		return false;
	for (i = 0; i < count; i++, at += step) {
		value = at + (big ? 12 : 8);
		n = get16(b, at + 2) == 3 ? get16(b, value) : get16(b, at + 2) == 16 ? (int64_t)get64(b, value) :
		    get32(b, value);
		if (get16(b, at) == 256)
			out->width = n;
		if (get16(b, at) == 257)
			out->height = n;
	}
	return true;
}

static bool
bmp_size(const struct bytes *b, struct size *out)
{
	int32_t height;

	if (get32(b, 14) == 12) {
		*out = (struct size){ get16(b, 18), get16(b, 20) };
		return true;
	}
	height = (int32_t)get32(b, 22);		/* negative: rows from the top */
	*out = (struct size){ (int32_t)get32(b, 18), height < 0 ? -(int64_t)height : height };
	return get32(b, 14) >= 40;
}

/* A box of HEIF at `at`: its kind is compared, its contents run from *from to *to.  Returns where the next one
 * starts. */
static size_t
heif_box(const struct bytes *b, size_t at, size_t end, size_t *from)
{
	uint64_t size = get32(b, at), header = 8;

	if (end - at < 8)
		return 0;
	if (size == 1) {
		size = get64(b, at + 8);
		header = 16;
	} else if (size == 0)
		size = end - at;
	if (size < header || size > end - at)
		return 0;
	*from = at + header;
	return at + size;
}

/* Contents of the first box of that kind between *from and *to. */
static bool
heif_find(const struct bytes *b, const char *kind, size_t *from, size_t *to)
{
	size_t at = *from, next, inner = 0;

	for (; at < *to; at = next) {
		next = heif_box(b, at, *to, &inner);
		if (next == 0)
			return false;
		if (begins(b, at + 4, kind, 4)) {
			*from = inner;
			*to = next;
			return true;
		}
	}
	return false;
}

/* The largest of the sizes among the item properties: those of tiles and of the built-in thumbnail are smaller. */
static bool
heif_size(const struct bytes *b, struct size *out)
{
	size_t at = 0, end = b->n, next, inner = 0;
	struct size s;

	if (!heif_find(b, "meta", &at, &end))
		return false;
	at += 4;		/* version and flags */
	if (at >= end || !heif_find(b, "iprp", &at, &end) || !heif_find(b, "ipco", &at, &end))
		return false;
	for (; at < end; at = next) {
		next = heif_box(b, at, end, &inner);
		if (next == 0)
			break;
		if (!begins(b, at + 4, "ispe", 4) || next - inner < 12)
			continue;
		s = (struct size){ get32(b, inner + 4), get32(b, inner + 8) };
		if (s.width <= INT32_MAX && s.height <= INT32_MAX && s.width * s.height > out->width * out->height)
			*out = s;
	}
	return out->width > 0;
}

bool
image_header(const void *bytes, size_t n, int64_t *width, int64_t *height, const char **mime_type)
{
	struct bytes b = { bytes, n, false };
	struct size s = { 0, 0 };
	bool found = false;

	if (begins(&b, 0, "\xff\xd8\xff", 3)) {
		*mime_type = "image/jpeg";
		found = jpeg_size(&b, &s);
	} else if (begins(&b, 0, "\x89PNG\r\n\x1a\n", 8) && begins(&b, 12, "IHDR", 4)) {
		*mime_type = "image/png";
		s = (struct size){ get32(&b, 16), get32(&b, 20) };
		found = s.width <= INT32_MAX && s.height <= INT32_MAX && n >= 33;
	} else if (begins(&b, 0, "GIF87a", 6) || begins(&b, 0, "GIF89a", 6)) {
		*mime_type = "image/gif";
		b.little = true;
		s = (struct size){ get16(&b, 6), get16(&b, 8) };
		found = true;
	} else if (begins(&b, 0, "RIFF", 4) && begins(&b, 8, "WEBP", 4)) {
		*mime_type = "image/webp";
		b.little = true;
		found = webp_size(&b, &s);
	} else if (begins(&b, 0, "II*\0", 4) || begins(&b, 0, "MM\0*", 4) || begins(&b, 0, "II+\0", 4) ||
	    begins(&b, 0, "MM\0+", 4)) {
		*mime_type = "image/tiff";
		b.little = b.p[0] == 'I';
		found = tiff_size(&b, &s);
	} else if (begins(&b, 0, "BM", 2)) {
		*mime_type = "image/bmp";
		b.little = true;
		found = bmp_size(&b, &s);
	} else if (begins(&b, 4, "ftyp", 4)) {
		*mime_type = begins(&b, 8, "avi", 3) ? "image/avif" : "image/heic";
		found = heif_size(&b, &s);
	}
	*width = s.width;
	*height = s.height;
	return found && s.width > 0 && s.height > 0;
}

/* Worth a decoder's time: critical ones, and one of each that changes how it looks. */
static bool
chunk_is_wanted(const struct bytes *b, size_t at, size_t size, unsigned *seen)
{
	static const char kinds[][5] = { "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP", "sBIT", "eXIf" };
	unsigned i;

	if ((b->p[at + 4] & 0x20) == 0)
		return true;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (begins(b, at + 4, kinds[i], 4) && size <= PNG_CHUNK_MAX && (*seen & 1u << i) == 0) {
			*seen |= 1u << i;
			return true;
		}
	return false;
}

const void *
image_bare_png(struct arena *mem, const void *bytes, size_t *n)
{
	const struct bytes b = { bytes, *n, false };
	unsigned char *out = arena_raw(mem, *n + 1);
	size_t at = 8, size, len = 8;
	unsigned seen = 0;

	if (*n < 8)
		return bytes;
	memcpy(out, bytes, 8);
	for (; b.n - at >= 12 && get32(&b, at) <= b.n - at - 12; at += size + 12) {
		size = get32(&b, at);
		if (!chunk_is_wanted(&b, at, size, &seen))
			continue;
		memcpy(out + len, b.p + at, size + 12);
		len += size + 12;
		if (begins(&b, at + 4, "IEND", 4))
			break;
	}
	*n = len;
	return out;
}

void *
image_map(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map = MAP_FAILED;

	if (fd != -1 && fstat(fd, &st) == 0 && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd != -1)
		close(fd);
	*n = map != MAP_FAILED ? (size_t)st.st_size : 0;
	return map != MAP_FAILED ? map : NULL;
}

/* TIFF keeps its header anywhere, often at the end. */
bool
image_header_file(const char *path, int64_t *width, int64_t *height, const char **mime_type)
{
	size_t n;
	void *map = image_map(path, &n);
	bool found = image_header(map, n, width, height, mime_type);

	munmap(map, n);
	return found;
}
