/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a text means, as a vector of length 1: the cosine of two of them, from -1 to 1, says how near their texts are.
 * Vectors of engines with different names are never compared.
 *
 * Kept are one byte for each part, and a signature: on which side of 256 planes the vector lies, the same planes for
 * all vectors of a dimension.  The number of bits in which two signatures differ follows the angle, so the nearest of
 * many are found by it alone, and judged by their bytes.
 */
#ifndef CORE_MEANING_H
#define CORE_MEANING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

enum { MEANING_PLANES = 4, MEANING_MAX = 4096 };	/* of 64 bits; parts */

struct meaning {
	size_t n;			/* parts; 0: nothing can be said of the text */
	const int8_t *parts;		/* in units of 1 / 127 of the largest one */
	uint64_t planes[MEANING_PLANES];
};

/* Of n numbers of any length.  n is 0 where they are all 0, not numbers, or too many. */
struct meaning meaning_of(struct arena *, const float *, size_t n);
/* Of kept bytes; planes are not set. */
struct meaning meaning_kept(const void *bytes, size_t n);
/* 0 where the dimensions differ. */
double meaning_cosine(const struct meaning *, const struct meaning *);
/* What several have in common. */
struct meaning meaning_mean(struct arena *, const struct meaning *, size_t n);

/* What vectors of that model of the server of engine.embed are marked with. */
const char *meaning_served_name(struct arena *, const char *model);

/*
 * The engine that is built in: English words by core/glosses.h, and all words as they are written, so that names and
 * other languages are found where the same words stand.
 */
struct meaning meaning_by_glosses(struct arena *, const char *text);
/* "glosses …": another one when the same text would give another vector. */
const char *meaning_glosses_name(struct arena *);

#endif
