/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stretches of speech: found by energy alone, which keeps silence and steady noise away, or found by others and cut to
 * what engines like.
 */
#ifndef JOBS_ENGINES_VAD_H
#define JOBS_ENGINES_VAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

enum { PCM_RATE = 16000, PCM_BYTES_PER_MS = 32 };	/* all speech work is on 16 kHz mono s16le */

struct span { int64_t start, end; };			/* ms in the recording */

/*
 * The stretches with speech, in order, none longer than 25 s (longer ones are cut where it is quietest).  Reads the
 * file from its beginning by pread(); needs 2 bytes of memory per 10 ms.  *length becomes the length in ms, or -1 when
 * the file cannot be read.
 */
struct span *vad_find(struct arena *, int pcm, size_t *n, int64_t *length);

/*
 * Of sound that goes on, of which there is a window: the first stretch of speech behind `from` that a pause has ended,
 * or that has lasted for `most` ms, which is then cut where its second half is quietest.  False: there is none yet, and
 * before out->start there will be none.  over: nothing follows, so that the window ends it, too.  Times in ms of the
 * window; half a minute before `from` lets it know how loud the room is.
 */
bool vad_next(struct arena *, const int16_t *window, size_t samples, int64_t from, int64_t most, bool over,
    struct span *out);

/* The model of Silero VAD, beside the library. */
#define VAD_MODEL "silero_vad_v6.onnx"

/*
 * What Silero VAD has found, as vad_find() would give it: widened, since it is late at the beginning and early at the
 * end of what is said, joined where that makes them meet, and cut.  A clip of less than 10 s is one stretch if anything
 * was found in it.  NULL when the file cannot be read.
 */
struct span *vad_arrange(struct arena *, int pcm, const struct span *found, size_t *n, int64_t length);

#endif
