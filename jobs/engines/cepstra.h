/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sound as mel cepstra, one frame every 10 ms: what voices are told apart by. */
#ifndef JOBS_ENGINES_CEPSTRA_H
#define JOBS_ENGINES_CEPSTRA_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

/* The first of a frame follows loudness.  WINDOW: samples that a frame looks at; HOP: between two. */
enum { CEPSTRA = 20, CEPSTRA_WINDOW = 410, CEPSTRA_HOP = 160 };

struct cepstrum { float c[CEPSTRA]; };

/*
 * Frames of 16 kHz samples, as many as fit; *n is how many.  The filters are those of the acoustic model en-us of
 * pocketsphinx (25 from 130 to 6800 Hz), and the first 13 are on its scale but for the lifter: see cepstra_lift().
 */
struct cepstrum *cepstra_of(struct arena *, const int16_t *samples, size_t length, size_t *n);

/* What cepstrum i is multiplied by in the features of that model. */
float cepstra_lift(int i);

#endif
