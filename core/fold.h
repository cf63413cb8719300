/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of a text as they are compared by the search: without case, marks and widths, ß as ss, digits of all
 * scripts as ours.  A word with an umlaut has a second form, in which ä is ae: ä is found by a and by ae, and finds
 * both.  Scripts without blanks between words are cut into overlapping pairs of characters.
 */
#ifndef CORE_FOLD_H
#define CORE_FOLD_H

#include <stddef.h>

#include "core/arena.h"

enum { FOLD_MAX = 80 };		/* bytes of a word; what is longer is cut there */

/* from, to: bytes of the text.  other: the second form, or NULL. */
struct folded { const char *word, *other; size_t from, to; };

/* Of valid UTF-8, in its order. */
struct folded *fold_words(struct arena *, const char *text, size_t *n);

#endif
