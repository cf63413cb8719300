/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read on the screen of a recording, still after still, as lines with the times at which each is there. */
#ifndef JOBS_SCREEN_TEXTS_H
#define JOBS_SCREEN_TEXTS_H

#include "jobs/engines/sheet.h"

struct screen_texts;

struct screen_texts *screen_texts_new(struct arena *);

/* The lines of a still from `from` to `to` ms, of a picture of this size.  A line that was there in the still before
 * goes on, also when some of its letters were read otherwise: what was read best counts.  Stills come in order. */
void screen_texts_add(struct screen_texts *, int64_t from, int64_t to, const struct sheet_line *, size_t n, int width,
    int height);

/* {"items":[{"text":"…","confidence":0.93,"instances":[{"start":1.000,"end":5.000,"box":{"x":0.100,"y":0.050,
 * "width":0.500,"height":0.080}}]}]}, in the order in which they came; boxes in shares of the picture. */
const char *screen_texts_json(struct screen_texts *);

/* A box of it, as JSON. */
void screen_texts_box(struct buf *, const struct sheet_line *, int width, int height);

#endif
