/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table of contents from what is said and shown: where other words are used, something else begins.
 * M. Utiyama, H. Isahara: A Statistical Model for Domain-Independent Text Segmentation, ACL 2001; a beginning costs
 * less where the speaker pauses, somebody else speaks, the picture changes or a slide has another title.  How many
 * there are comes out of it.
 */
#ifndef MEDIA_CHAPTERS_H
#define MEDIA_CHAPTERS_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/record.h"

enum { CHAPTERS_STRETCHES = 100 };		/* at most */

/* In ms.  Title: the words that are used here and hardly elsewhere; NULL: there are none. */
struct stretch { int64_t start, end; const char *title; };

/* Moments in ms, in order. */
struct moments { const int64_t *at; size_t n; };
/* The first of them that is no earlier; .n: all are. */
size_t moments_from(struct moments, int64_t ms);

/* Where the picture becomes another, a slide with another title begins, somebody else begins to speak for a while. */
struct chapters_marks { struct moments changes, titles, voices; };

/*
 * Parts a recording, all of it: the first begins at 0, the last ends at its duration.  `paragraphs`: struct paragraph,
 * what is said; none: only the picture decides.  Returns how many stretches there are, at least one.
 */
size_t chapters_find(struct arena *, const struct list *paragraphs, const struct chapters_marks *, int64_t duration,
    const struct stretch **);

#endif
