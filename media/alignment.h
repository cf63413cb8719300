/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which words of one text are those of another. */
#ifndef MEDIA_ALIGNMENT_H
#define MEDIA_ALIGNMENT_H

#include "media/transcript.h"

/*
 * For each word of the first text the index of the word of the second that it is, or SIZE_MAX: a common sequence, so
 * that indexes grow.  Words are the same whatever their case, marks and punctuation.  It is the longest one where so
 * much can be compared; in texts of thousands of words that differ a lot, the longest between words that both have
 * once, and within these pieces again, sixteen times at most: words that are not compared are none of the second.
 */
size_t *alignment_find(struct arena *, const struct word *text, size_t n, const struct word *heard, size_t m);

#endif
