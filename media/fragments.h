/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the segments lie in a fragmented MP4 (CMAF), and how long each lasts: the truth behind playlists.
 * ISO/IEC 14496-12.  One track per file; a fragment is a moof with its mdat.
 */
#ifndef MEDIA_FRAGMENTS_H
#define MEDIA_FRAGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

struct fragment { int64_t offset, size, duration, samples; };	/* bytes; units of the time scale; their number */

struct fragments {
	const struct fragment *at;
	size_t n;
	int64_t timescale;
	int64_t init_size;		/* bytes before the first fragment: ftyp and moov */
	int64_t skip;			/* what the edit list cuts off the first fragment: priming of the encoder */
	int64_t delay;			/* of video: by how much frames are decoded before they are shown */
	int64_t duration;		/* of all, without skip */
	int64_t file_size;
	const char *codecs;		/* RFC 6381: "avc1.64001f" or "mp4a.40.2" */
	const char *setup;		/* what a decoder of video is set up with (avcC), in hex; NULL: of sound */
};

/* NULL when the file is not such an MP4. */
const struct fragments *fragments_read(struct arena *, const char *path);

/* When a fragment, which these bytes begin with, is decoded, in units of its time scale; 1000 times that fits, too.
 * -1: it does not say. */
int64_t fragment_time(const unsigned char *bytes, size_t n);
/* That scale, units in a second, by the bytes before the first fragment.  0: they do not say. */
int64_t fragment_scale(const unsigned char *bytes, size_t n);

/* Lets a fragment, whose bytes these are, be decoded at another time, in units of its time scale.  False: it does not
 * say when that is, or has no room for it. */
bool fragment_move(unsigned char *bytes, size_t n, int64_t decode_time);

#endif
