/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does a picture move?  From its headers alone; no decoding, no library.  Every offset is checked against the end. */
#include <string.h>
#include <sys/mman.h>

#include "media/bytes.h"
#include "media/image.h"

/* Behind the blocks of at most 255 bytes that begin there. */
static size_t
gif_blocks_end(const unsigned char *p, size_t n, size_t at)
{
	while (at < n && p[at] != 0)
		at += 1 + (size_t)p[at];
	return at + 1;
}

static size_t
gif_colors(unsigned char flags)
{
	return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

/* A second frame follows the first. */
static bool
gif_moves(const unsigned char *p, size_t n)
{
	size_t at = n < 13 ? n : 13 + gif_colors(p[10]);
	int frames = 0;

	while (at + 10 <= n) {
		if (p[at] == 0x21) {
			at = gif_blocks_end(p, n, at + 2);
		} else if (p[at] == 0x2c) {
			if (++frames == 2)
				return true;
			at = gif_blocks_end(p, n, at + 10 + gif_colors(p[at + 9]) + 1);
		} else {
			break;
		}
	}
	return false;
}

/* Its control chunk comes before the picture and counts the frames. */
static bool
png_moves(const unsigned char *p, size_t n)
{
	for (size_t at = 8; at + 16 <= n && memcmp(p + at + 4, "IDAT", 4) != 0; at += 12 + bytes_big(p + at, 4)) {
		if (memcmp(p + at + 4, "acTL", 4) == 0)
			return bytes_big(p + at + 8, 4) > 1;
		if (bytes_big(p + at, 4) > n - at)
			break;
	}
	return false;
}

static bool
webp_moves(const unsigned char *p, size_t n)
{
	int frames = 0;

	if (n < 30 || memcmp(p + 12, "VP8X", 4) != 0 || !(p[20] & 2))
		return false;
	for (size_t at = 12; at + 8 <= n; at += 8 + bytes_little(p + at + 4, 4) + (p[at + 4] & 1))
		frames += memcmp(p + at, "ANMF", 4) == 0;
	return frames > 1;
}

/* A sequence says so among its brands. */
static bool
avif_moves(const unsigned char *p, size_t n)
{
	size_t end = bytes_big(p, 4) < n ? bytes_big(p, 4) : n;

	for (size_t at = 8; at + 4 <= end; at += at == 8 ? 8 : 4)
		if (memcmp(p + at, "avis", 4) == 0)
			return true;
	return false;
}

bool
image_moves(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	if (n < 16)
		return false;
	if (memcmp(p, "GIF8", 4) == 0)
		return gif_moves(p, n);
	if (memcmp(p, "\x89PNG", 4) == 0)
		return png_moves(p, n);
	if (memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WEBP", 4) == 0)
		return webp_moves(p, n);
	return memcmp(p + 4, "ftyp", 4) == 0 && avif_moves(p, n);
}

bool
image_moves_file(const char *path)
{
	size_t n;
	void *map = image_map(path, &n);
	bool found = image_moves(map, n);

	munmap(map, n);
	return found;
}
