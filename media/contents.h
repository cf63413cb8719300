/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table of contents as a language model writes it: a line for each part, "00:12:30 Budget", with the marks of a list
 * around it or without, or JSON, [{"start":"00:12:30","title":"Budget"}], also as the member `chapters` of an object,
 * and times in seconds.  What the model says besides, before the list or behind it, is passed over: there it may stand
 * between fences, and nothing of it may be a part that lacks its time.
 */
#ifndef MEDIA_CONTENTS_H
#define MEDIA_CONTENTS_H

#include "media/chapters.h"

enum { CONTENTS_TITLE_MAX = 200 };		/* characters */

/*
 * Reads all of it, or nothing: a part begins behind the one above it and before the end of the recording (ms), has a
 * title of one line, and ends where the next begins.  NULL: there they are, CHAPTERS_STRETCHES at most; else a sentence
 * of what is wrong.
 */
const char *contents_read(struct arena *, const char *text, int64_t duration, const struct stretch **, size_t *n);

#endif
