/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What media/encode.c asks while it decodes; see struct av_damage.  Nobody else includes this. */
#ifndef MEDIA_DAMAGE_H
#define MEDIA_DAMAGE_H

#include "media/av_run.h"

/* Filters at the beginning of the chains of picture and sound: the moments of what comes out of the decoders go to an
 * output of their own.  A corner of each picture is enough for that. */
#define DAMAGE_SEE "split[seen][shown];[seen]crop='min(16,iw)':'min(16,ih)':0:0[moments];[shown]"
#define DAMAGE_HEAR "asplit[heard][kept];[heard]anull[sounds];[kept]"

struct damage;
struct damage *damage_begin(struct arena *, const struct av_file *, bool picture, bool sound);

/* Adds that output to the command: what it holds.  Its limits and its place follow: framecrc among the log, since only
 * in one stream it is certain what came first. */
void damage_watch(struct damage *, struct av_tool *);

/* A line of that stream.  True: it was one of framecrc, not of the log. */
bool damage_read(struct damage *, const char *line);

/* After the end of the program.  False, with the fault, when less than a second can be read of a damaged file. */
bool damage_judge(struct damage *, struct av_damage *, struct fault *);

#endif
