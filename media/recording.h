/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was recorded of a livestream, made one file: the stretches one behind the other, however long the encoder was
 * away between them.  Nothing is encoded anew as long as all have the same tracks of the same codecs; another size of
 * the picture goes on in the same track, as decoders bear it.  Where an encoder came again with something else:
 *
 *	pictures	of several codecs become H.264, each at its own size and rate; those that are H.264 are copied.
 *			A stretch without any is black.
 *	sound		of another form (codec, channels, rate) becomes AAC of the form that lasts longest; a stretch
 *			without any is silent.
 */
#ifndef MEDIA_RECORDING_H
#define MEDIA_RECORDING_H

#include "core/livestream.h"
#include "media/av.h"

/* A stretch without a break: fragmented MP4 with the picture, the sound, or either alone (the other one is NULL).
 * Their times count from one zero. */
struct recording { const char *picture, *sound; int64_t size; };	/* bytes of both */

/* How many of them can be put together. */
enum { RECORDING_MAX = LIVESTREAM_SESSIONS };

struct recording_work {
	const struct recording *of;
	size_t n;
	const char *dir;		/* where pieces are made, and the result */
	const char *preset;		/* of x264; NULL: veryfast */
	bool may_encode;
	/* What failed for one stretch: is all of it to fail, since another attempt may bring the whole?  Otherwise that
	 * stretch is left out.  NULL: by the class of the reason. */
	bool (*fails)(void *user, const struct fault *);
	void (*progress)(void *user, int percent);	/* of what is encoded; may be NULL */
	void *user;
	/* Filled in. */
	bool must_encode;		/* nothing was written, since it may not */
	size_t left_out, cut;		/* stretches of which the file has nothing, or not all */
	struct fault why;		/* of the first of them */
};

/* Writes {dir}/{name}: an MP4 whose index is at its beginning.  What follows the last whole fragment of a stretch is no
 * part of it.  False with the fault; REASON_NO_STREAMS: none can be read. */
bool recording_join(struct arena *, struct recording_work *, const char *name, struct fault *);

#endif
