/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was recorded of a livestream, made one file without encoding it anew. */
#ifndef MEDIA_RECORDING_H
#define MEDIA_RECORDING_H

#include "media/av.h"

/* A stretch without a break: fragmented MP4 with the picture, the sound, or either alone (the other one is NULL).
 * Their times count from one zero. */
struct recording { const char *picture, *sound; int64_t size; };	/* bytes of both */

/* How many of them can be put together. */
enum { RECORDING_MAX = 2000 };

/*
 * Writes {dir}/{name}: an MP4 whose index is at its beginning, all stretches one behind the other.  A stretch that
 * cannot be read is left out, as is what follows the last whole fragment of one; *left_out counts the former.  Another
 * size of the picture goes on in the same track, as decoders bear it; what has another codec or other sound is left
 * out, too.  False with the fault; REASON_NO_STREAMS: none can be read.
 */
bool recording_join(struct arena *, const struct recording *, size_t n, const char *dir, const char *name,
    size_t *left_out, struct fault *);

#endif
