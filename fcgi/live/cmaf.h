/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes CMAF (ISO/IEC 23000-19): a file of one track that begins with what a decoder is set up with, and grows by
 * fragments.  Times are in units of the track: of 1/90000 s for video, of samples for sound.
 */
#ifndef FCGI_LIVE_CMAF_H
#define FCGI_LIVE_CMAF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "fcgi/live/setup.h"

enum { CMAF_VIDEO_SCALE = 90000 };

int64_t cmaf_scale(const struct setup *);

/* ftyp and moov. */
void cmaf_init(struct buf *, const struct setup *);

struct cmaf_frame {
	int64_t duration;
	int32_t shift;		/* from decoding to showing */
	uint32_t size;		/* bytes */
	bool key;
};

/* A moof and the head of its mdat, behind which the bytes of the frames follow; number counts from 1.  Frames follow
 * each other without a gap. */
void cmaf_fragment(struct buf *, uint32_t number, int64_t decode_time, const struct cmaf_frame *, size_t n);

#endif
