/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stretch of a recording as a file of its own, cut out of what players get: of the picture, groups that lie within
 * are copied as they are, and those at the edges encoded anew, so that it begins and ends with the very frame; the
 * sound is cut at the sample.  Nothing that lies outside is in the file.  Of the media files only the indexes of their
 * fragments and what is needed are read.
 */
#ifndef MEDIA_CLIP_H
#define MEDIA_CLIP_H

#include "media/av.h"

enum { CLIP_CAPTIONS = 8 };

/* Captions: the text of a WebVTT file of ours. */
struct clip_captions { const char *vtt; size_t n; const char *language, *label; };	/* bytes; BCP 47 */

struct clip {
	const char *video, *sound;	/* media files of renditions as av_encode() makes them; one may be NULL */
	const char *preset;		/* of x264; NULL: veryfast */
	int64_t from_ms, to_ms;		/* in the recording */
	struct clip_captions captions[CLIP_CAPTIONS];
	size_t n_captions;
	const char *dir;		/* where pieces are made, and the result */
	void (*progress)(void *user, int percent);	/* may be NULL */
	void *user;
	/* Filled in. */
	int64_t duration_ms, size;	/* bytes */
	int copied, encoded;		/* groups of pictures */
};

/* Writes {dir}/{name}: an MP4 whose index is at its beginning.  It goes from the frame nearest to from_ms up to the
 * one nearest to to_ms, which is not in it; at least one.  False with the fault; REASON_NO_STREAMS: nothing of the
 * recording lies there. */
bool clip_make(struct arena *, struct clip *, const char *name, struct fault *);

#endif
