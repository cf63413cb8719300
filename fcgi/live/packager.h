/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes of frames what is played and what is kept: a recording of each track, which grows with every frame, and of its
 * stretches the segments and playlists of HLS, sound apart from video.  It never waits for the disk but in write().
 *
 *	{play}/master.m3u8, video.m3u8, audio.m3u8
 *	{play}/{session}.video.mp4		what segments of that session begin with
 *	{play}/{number}.video.m4s, .audio.m4s
 *	{play}/{number}.{session}.{place}.video.m4s	parts of half a second of the last segments
 *	{play}/720p.m3u8, {number}.720p.m4s, …	the same of smaller pictures, see fcgi/live/ladder.h
 *	{play}/.captions			by who makes captions.m3u8: what the playlist of all says of it
 *	{kept}/{session}.video.mp4, .audio.mp4	the recording
 *
 * Segments of smaller pictures have the numbers and the times of those that they are made of; one that was not there in
 * time is a gap.
 *
 * A segment ends at the first key frame after two seconds; where none comes, it ends without one, so that no segment
 * is longer than the playlist has promised, and the one behind it at the next key frame, however soon that is.  That of
 * the sound ends with that of the pictures, or by itself where these are too late for what its own playlist has
 * promised: numbers of the two are not of the same time then.
 */
#ifndef FCGI_LIVE_PACKAGER_H
#define FCGI_LIVE_PACKAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/conf.h"
#include "core/text.h"
#include "fcgi/live/cmaf.h"
#include "fcgi/live/ladder.h"
#include "fcgi/live/list.h"

struct packager;

/* Both directories are there.  Goes on with the playlists that lie there already.  Memory of its own. */
struct packager *packager_open(const char *play, const char *kept, bool keeps_all);
void packager_free(struct packager *);

/* Makes smaller pictures, too, as far as the settings let it. */
void packager_climb(struct packager *, const struct conf *);

/* Takes what has come of them, some times a second. */
bool packager_look(struct packager *);

/* Why there is none of them now, or not all: see fcgi/live/ladder.h.  NULL: there are, or it is not known yet. */
const char *packager_lack(const struct packager *);

/* Frames that there was no time for to make them smaller, in all sessions. */
int64_t packager_dropped(const struct packager *);

/* Begins a session, which no file has the number of yet; the times of its frames count from 0, which is then, or
 * where the one before it has ended.  One of the tracks may be NULL.  This and what follows is false with errno when
 * the disk did not take it. */
bool packager_begin(struct packager *, int64_t session, const struct setup *video, const struct setup *audio,
    struct moment then);

/* A frame, in units of its track.  Times grow within a track. */
bool packager_video(struct packager *, int64_t decode_time, const struct cmaf_frame *, const uint8_t *bytes);
bool packager_audio(struct packager *, int64_t decode_time, const struct cmaf_frame *, const uint8_t *bytes);

/* Nothing comes for now: what there is becomes a segment, and the session goes on behind it. */
bool packager_cut(struct packager *);

/* The same at the end of the session.  Also when none has begun. */
bool packager_pause(struct packager *);

/* And for good: the playlists say that they have ended. */
bool packager_finish(struct packager *);

/* Moves with each part, each segment, and the end. */
int64_t packager_changes(const struct packager *);

const struct live_list *packager_list(const struct packager *, bool audio);

/* The one of that name: "video", "audio", or a rung of the ladder.  NULL: there is none. */
const struct live_list *packager_list_named(const struct packager *, const char *word);

#endif
