/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a decoder is set up with, as encoders send it in front of their frames: looked through as far as a player has to
 * be told (size, profile, rate), and refused where no player would play it.
 */
#ifndef FCGI_LIVE_SETUP_H
#define FCGI_LIVE_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/live/flv.h"

enum { SETUP_MAX = 4096, SETUP_CODECS = 64, SETUP_HEVC_HEAD = 22 };

struct setup {
	enum flv_codec codec;
	uint8_t bytes[SETUP_MAX];	/* as they came: what belongs into avcC, hvcC, av1C or esds */
	size_t n;
	char codecs[SETUP_CODECS];	/* RFC 6381: "avc1.64001f" */
	unsigned width, height;		/* of video */
	bool interlaced;		/* frames of it may be two half-pictures, each of a moment of its own */
	unsigned rate, channels;	/* of sound */
	unsigned frame_samples;		/* in each frame of sound, at that rate */
};

/* NULL, or why not, as a sentence that its sender may read. */
const char *setup_read(struct setup *, enum flv_codec, const uint8_t *, size_t n);

/* How hvcC begins, up to the number of its arrays, for units with four bytes of length: what stands in an SPS, as it
 * comes in a stream.  Of one that is cut off it holds zeros, which setup_read() refuses with the SPS. */
void setup_hevc_head(const uint8_t *sps, size_t n, uint8_t head[SETUP_HEVC_HEAD]);

#endif
