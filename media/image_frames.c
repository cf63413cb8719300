/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An animated WebP as animated PNG, which ffmpeg reads: whole frames with their delays, one at a time in memory.  Runs
 * in the jail.  PNG: a chunk is length, type, bytes and CRC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webp/demux.h>
#include <zlib.h>

#include "media/image.h"

/* PIXELS: of all frames together.  What shows for less than LEAST ms shows for USUAL, as in browsers. */
enum { LEAST = 11, USUAL = 100 };
#define PIXELS 4000000000.0

struct out { FILE *f; uint32_t sequence; };

static void
put32(unsigned char *p, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* `head` goes before the bytes, within the chunk. */
static void
chunk(struct out *o, const char *type, const unsigned char *head, size_t n_head, const void *bytes, size_t n)
{
	unsigned char word[4];
	uLong crc = crc32(0, (const unsigned char *)type, 4);

	if (n_head > 0)
		crc = crc32(crc, head, (uInt)n_head);
	if (n > 0)
		crc = crc32(crc, bytes, (uInt)n);
	put32(word, (uint32_t)(n_head + n));
	fwrite(word, 1, 4, o->f);
	fwrite(type, 1, 4, o->f);
	fwrite(head, 1, n_head, o->f);
	fwrite(bytes, 1, n, o->f);
	put32(word, (uint32_t)crc);
	fwrite(word, 1, 4, o->f);
}

static void
begin(struct out *o, const WebPAnimInfo *info, uint32_t frames)
{
	unsigned char size[13] = { [8] = 8, [9] = 6 }, control[8] = { 0 };

	put32(size, info->canvas_width);
	put32(size + 4, info->canvas_height);
	put32(control, frames);
	rewind(o->f);
	fwrite("\x89PNG\r\n\x1a\n", 1, 8, o->f);
	chunk(o, "IHDR", size, sizeof(size), "", 0);
	chunk(o, "acTL", control, sizeof(control), "", 0);
}

/* Lines without a filter: what is packed here is read once. */
static bool
frame(struct out *o, const WebPAnimInfo *info, const uint8_t *rgba, int ms)
{
	const size_t line = (size_t)info->canvas_width * 4, n = (line + 1) * info->canvas_height;
	unsigned char *lines = malloc(n), *packed, control[26] = { 0 }, number[4];
	uLongf size = compressBound(n);

	packed = malloc(size);
	if (lines == NULL || packed == NULL)
		return false;
	for (size_t y = 0; y < info->canvas_height; y++) {
		lines[y * (line + 1)] = 0;
		memcpy(lines + y * (line + 1) + 1, rgba + y * line, line);
	}
	put32(control, o->sequence++);
	put32(control + 4, info->canvas_width);
	put32(control + 8, info->canvas_height);
	control[20] = (unsigned char)(ms >> 8);
	control[21] = (unsigned char)ms;
	control[22] = 1000 >> 8;
	control[23] = 1000 & 255;
	chunk(o, "fcTL", control, sizeof(control), "", 0);
	if (compress2(packed, &size, lines, n, 1) != Z_OK)
		return false;
	put32(number, o->sequence);
	if (o->sequence == 1) {
		chunk(o, "IDAT", number, 0, packed, size);
	} else {
		chunk(o, "fdAT", number, 4, packed, size);
		o->sequence++;
	}
	free(lines);
	free(packed);
	return true;
}

enum reason
image_make_frames(const void *bytes, size_t n)
{
	const WebPData data = { bytes, n };
	WebPAnimDecoder *w = WebPAnimDecoderNew(&data, NULL);
	struct out o = { .f = fopen("frames.png", "w+e") };
	WebPAnimInfo info;
	uint32_t frames = 0;
	int64_t shown = 0;
	int end, before = 0;
	uint8_t *rgba;

	if (o.f == NULL || w == NULL || !WebPAnimDecoderGetInfo(w, &info))
		return o.f == NULL ? REASON_INTERNAL : REASON_DECODE_FAILED;
	begin(&o, &info, 0);
	while (frames < IMAGE_FRAMES_MAX && shown <= IMAGE_MOVES_MS && WebPAnimDecoderHasMoreFrames(w) &&
	    (double)frames * info.canvas_width * info.canvas_height < PIXELS &&
	    WebPAnimDecoderGetNext(w, &rgba, &end)) {
		int ms = end - before < LEAST ? USUAL : end - before;

		ms = ms > UINT16_MAX ? UINT16_MAX : ms;
		before = end;
		shown += ms;
		if (!frame(&o, &info, rgba, ms))
			return REASON_MEMORY_LIMIT;
		frames++;
	}
	if (frames == 0)
		return REASON_DECODE_FAILED;
	chunk(&o, "IEND", (const unsigned char *)"", 0, "", 0);
	begin(&o, &info, frames);
	return ferror(o.f) == 0 && fclose(o.f) == 0 ? REASON_NONE : REASON_INTERNAL;
}
