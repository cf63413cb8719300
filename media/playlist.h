/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HLS playlists (RFC 8216, version 7), written by us: what a player is told is what lies in the files. */
#ifndef MEDIA_PLAYLIST_H
#define MEDIA_PLAYLIST_H

#include <stdint.h>

#include "core/arena.h"
#include "core/asset.h"
#include "media/fragments.h"

/* The media playlist of one file with byte ranges.  The sum of EXTINF is the duration, however the segments round. */
const char *playlist_media(struct arena *, const struct fragments *, const char *file);

/* The media playlist of a file of subtitles, which is one segment as long as the recording. */
const char *playlist_text(struct arena *, const char *file, int64_t duration_ms);

/* Bits per second on average, and of the largest stretch of about one segment: never less than that. */
int64_t playlist_bit_rate(const struct fragments *);
int64_t playlist_peak_rate(const struct fragments *);

/*
 * The master playlist from rows of kinds hls, audio, low, track and subtitles (others are passed over).  A row of kind
 * audio with the type of a playlist is the sound of all sizes, or, without any, the programme itself; tracks stand
 * beside it.  The playlist of subtitles has the name of their file but for the suffix; each row of subtitles must have
 * a name of its own (RFC 8216 section 4.3.4.1.1).
 * Addresses are relative: they lead from `file`, which is that of the playlist, to row.file.
 */
const char *playlist_master(struct arena *, const struct rendition_row *, size_t n, const char *file);

#define PLAYLIST_TYPE "application/vnd.apple.mpegurl"

#endif
