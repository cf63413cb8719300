/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trying what becomes of a file: sources, the whole way, and a look at the result.  All fail the test where something
 * cannot be. */
#ifndef TESTS_MEDIA_TRIAL_H
#define TESTS_MEDIA_TRIAL_H

#include "media/av.h"
#include "core/jail.h"
#include "tests/media/place.h"

/* Sources: a picture whose upper left quarter alone is white; moving picture; tone. */
#define CORNER(size, seconds) "-f lavfi -i color=black:s=" size ":r=25:d=" seconds ",drawbox=0:0:iw/2:ih/2:white:fill"
#define MOVING(size, rate, seconds) "-f lavfi -i testsrc2=s=" size ":r=" rate ":d=" seconds
#define TONE(seconds) "-f lavfi -i sine=440:r=48000:d=" seconds
#define FAST " -c:v libx264 -preset ultrafast -pix_fmt yuv420p "

/* Runs ffmpeg on a file and returns what it writes to standard output. */
struct jail_result look(struct place *, const char *path, const char *filters);

/* Averages of the three planes of the first frame. */
void planes(struct place *, const char *path, double mean[3]);

struct ingest {
	const struct av_file *file;
	struct av_rung rungs[AV_RUNGS];
	struct av_rendition made[AV_RUNGS + 1];
	size_t n_rungs, n_made;
	struct fault fault;
};

/* Probes and encodes as the jobs do, but all at once. */
struct ingest *ingest(struct place *, const char *path, const char *heights);

#endif
