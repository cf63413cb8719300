/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A rendition looked through from beginning to end, in few and small pictures: where the picture stands still long
 * enough to be read, and where the camera is another.
 */
#ifndef MEDIA_WATCH_H
#define MEDIA_WATCH_H

#include "media/av.h"

/* In ms; at: where it is to be looked at. */
struct watched { int64_t from, to, at; };
struct watch { const struct watched *at; size_t n; };

/*
 * Where the picture stands still: slides with each of their steps, what is shown on a screen, titles.  What moves all
 * the time, as a speaker in a corner does, does not count.  Of a picture that never stands still there is one every ten
 * seconds.  In order; of more than `most`, the shortest are left out.
 */
bool watch_stills(struct arena *, const struct av_rendition *, size_t most, struct watch *, struct fault *);

/* Shots, one behind the other, from 0 to the end: hard cuts and fades.  At least one. */
bool watch_shots(struct arena *, const struct av_rendition *, struct watch *, struct fault *);

#endif
