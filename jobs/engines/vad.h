/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where somebody speaks, by energy alone: keeps silence and steady noise away from every engine. */
#ifndef JOBS_ENGINES_VAD_H
#define JOBS_ENGINES_VAD_H

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

#endif
