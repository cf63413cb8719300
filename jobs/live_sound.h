/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sound of a livestream while it is recorded: what has come since the last time is decoded, and the last half
 * minute of it is kept as samples, from which stretches of speech are taken one after the other.  Whoever records never
 * waits for this: it reads what lies on the disk.
 */
#ifndef JOBS_LIVE_SOUND_H
#define JOBS_LIVE_SOUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/arena.h"
#include "core/fault.h"
#include "jobs/engines/vad.h"

enum {
	LIVE_SOUND_WINDOW_MS = 45 * 1000,
	LIVE_SOUND_BEHIND_MS = 30 * 1000,	/* more than this that nobody has listened to is left out */
	LIVE_SOUND_STRETCH_MS = 8 * 1000,
};

struct live_sound {
	const char *file;		/* of a run: a piece of the recording, for FFmpeg */
	int fd;				/* the recording of a session; -1: none */
	off_t init, before, at;		/* bytes that it begins with; where the last fragment taken begins; the next */
	int64_t scale;			/* units of its times in a second */
	int64_t came, until, heard;	/* ms of the session: on the disk, decoded, handed out */
	int64_t left_out;		/* ms since somebody has looked at it, and set it to 0 */
	int64_t from;			/* of the first sample of the window */
	int16_t *window;
	size_t n;
};

/* Memory of its own.  file: a path in the work directory. */
void live_sound_begin(struct live_sound *, const char *file);
void live_sound_end(struct live_sound *);

/* Goes on with another session: from its beginning, or (edge) with what comes from now on.  False: its file is not
 * there, or has no fragment yet. */
bool live_sound_open(struct live_sound *, const char *path, bool edge);

/* Takes in what has come, if that is `least` ms or more.  False with the fault. */
bool live_sound_take(struct arena *, struct live_sound *, int64_t least, struct fault *);

/* The next stretch of speech, in ms of the session; over: nothing more comes of it.  False: there is none yet. */
bool live_sound_next(struct arena *, struct live_sound *, bool over, struct span *);

/* Its samples. */
const int16_t *live_sound_samples(const struct live_sound *, struct span, size_t *n);

/* The time of the first fragment of a file, in units of its track; -1: it says none. */
int64_t live_sound_time(const char *path);
/* Units in a second of what an init says; 0: it says nothing. */
int64_t live_sound_scale(const char *path);

#endif
