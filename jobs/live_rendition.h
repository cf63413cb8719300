/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The captions of a livestream while it lasts, beside what is played of it (fcgi/live/packager.h):
 *
 *	{play}/captions.m3u8			as video.m3u8, with the same numbers, lengths and breaks
 *	{play}/{number}.captions.vtt
 *
 * What is said is known seconds after it was said, and who watches near to the edge never comes there again: so a
 * segment of captions is there as soon as the segment of pictures, and holds what has become known since the last one.
 * Each caption has the time at which it was said, and stays until it can have been read by who gets it now.  Players
 * that are far enough behind, or go back, show it with the words.
 */
#ifndef JOBS_LIVE_RENDITION_H
#define JOBS_LIVE_RENDITION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/arena.h"
#include "fcgi/live/list.h"
#include "media/transcript.h"

enum { LIVE_RENDITION_CUES = 64 };

struct live_rendition {
	const char *dir;		/* of what is played */
	const char *tag;		/* of the playlist of all: NAME="…",LANGUAGE="…" */
	bool keeps_all, named, ended;
	struct { ino_t file; struct timespec changed; } read[2];	/* lists, as they were followed last */
	bool more;			/* and with what */
	int64_t written;		/* number of the last segment that has a file */
	int64_t dropped;		/* and of the last one that has none any more */
	struct arena *mem;
	struct { int64_t session; struct transcript_cue cue; } waiting[LIVE_RENDITION_CUES];
	size_t n;
};

/* Memory of its own.  What lies there already stays as it is. */
void live_rendition_begin(struct live_rendition *, const char *dir, const char *tag, bool keeps_all);
void live_rendition_end(struct live_rendition *);

/* A caption for the next segment, in ms of its session.  Where nothing is played for long, the oldest go. */
void live_rendition_add(struct live_rendition *, int64_t session, const struct transcript_cue *);

/* Follows what is played.  more: captions of it are still to come, so its last segment waits for them once it has
 * ended.  False with errno, ENOENT when nobody plays it any more. */
bool live_rendition_follow(struct live_rendition *, bool more);

#endif
