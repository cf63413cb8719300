/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Subtitles in TTML (W3C; IMSC, EBU-TT-D and DFXP are parts of it), as cues.  Times of all levels count, and of how a
 * text looks italics, bold and underlining; who speaks is told by ttm:agent.
 */
#ifndef MEDIA_TTML_H
#define MEDIA_TTML_H

#include "media/cues.h"

/* Adds the cues of the text, which is UTF-8; all->refused says why it is not read. */
void ttml_read(struct cues *all, const char *text, size_t n);

#endif
