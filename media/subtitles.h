/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Subtitles as files, made WebVTT: their texts, times and places on the picture, in whatever encoding they are.  What a
 * player could take for more than text does not pass: only italics, bold, underlining and who speaks are kept.
 */
#ifndef MEDIA_SUBTITLES_H
#define MEDIA_SUBTITLES_H

#include "core/arena.h"
#include "core/buf.h"
#include "media/cues.h"

/* Appends the whole WebVTT file, in order of time.  Lines that are no subtitle are passed over.  Returns how many
 * subtitles are in it; with none nothing is appended. */
size_t subtitles_write(struct buf *, enum subtitles_form, const char *bytes, size_t n);

/* The same of a WebVTT file, of what is shown from from_ms up to to_ms, in times from there on. */
size_t subtitles_cut(struct buf *, const char *bytes, size_t n, int64_t from_ms, int64_t to_ms);

/* A time of WebVTT: "01:02:03.456". */
void subtitles_time(struct buf *, int64_t ms);

#endif
