/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where viewers wait for what a broadcast gets next: FastCGI connections of a web server, one request each, none of
 * which is waited for.  What is asked for has a signed address (core/play.h) below livestream_play_file():
 *
 *	low.m3u8			the playlist of all, for players that want to be near to the edge; its addresses
 *					have a number behind them ("?s="), by which those who watch are counted
 *	low-video.m3u8, low-audio.m3u8, low-720p.m3u8, low-360p.m3u8
 *					the lists with parts; _HLS_msn and _HLS_part name the state that is waited for
 *	{number}.{session}.{place}.video.m4s	a part that is announced and not there yet
 *
 * A request without a good address is refused at once.  One too many of those that wait (conf.live_waiters), too, with
 * Retry-After; half of these places may be of one address, since whoever sits behind one with a thousand others is not
 * told apart from them.  What this process does not take in is answered from what lies on the disk, and so is everybody
 * where the web server would spend a thread on each who waits: it says so by the parameter KINOTHEK_WAITS=no.
 */
#ifndef FCGI_LIVE_HALL_H
#define FCGI_LIVE_HALL_H

#include "fcgi/live/broadcast.h"

struct hall;

/* door: a listening unix socket.  The broadcasts are looked at whenever one is asked for; the desk (or
 * nobody, NULL) is told how many watch. */
struct hall *hall_open(const struct conf *, int door, struct desk *, struct broadcast *const *broadcasts);
void hall_close(struct hall *);

/* Can be read when hall_attend() has something to do. */
int hall_fd(const struct hall *);
void hall_attend(struct hall *);

/* Tells those who wait what has come, and those who have waited for too long that nothing has. */
void hall_tell(struct hall *, int64_t now);

#endif
