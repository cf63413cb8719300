/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What kinothek-live asks and tells the database, in a thread with a connection of its own: media goes on while the
 * database is slow or away.  Notes of one kind go to the desk and answers come back, each in order.  What was to be
 * told is tried until it is; a question gets its answer at once, if need be by what is remembered of streams that are
 * ours (fcgi/live/memory.h), or that nobody knows.
 */
#ifndef FCGI_LIVE_DESK_H
#define FCGI_LIVE_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/conf.h"
#include "core/livestream.h"
#include "core/livestream_target.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/setup.h"

enum { DESK_ADDRESS = 64, DESK_REASON = 16, DESK_NODE = 120 };

enum desk_word {
	/* Questions. */
	/* visitor, key, address, reason of who was refused already → DESK_WHOSE with stream, or DESK_NONE and reason.
	 * Of who was let in by what is remembered DESK_NONE may come later, too. */
	DESK_WHOSE,
	/* stream, is_primary; on: to be on the air → DESK_CLAIM with session; 0: it cannot be had, or is not to be, and
	 * reason why the encoder may not wait for it, either, or ""; -1: nobody knows */
	DESK_CLAIM,
	/* To be told. */
	DESK_SIGNAL,		/* stream, on */
	DESK_RELEASE, DESK_END,	/* stream */
	DESK_USED,		/* stream, session: by the desk itself */
	DESK_CONNECTED,		/* stream, is_primary, on */
	DESK_REFUSED,		/* stream, address, reason */
	DESK_LACKS,		/* stream, reason, or "" */
	DESK_NUMBERS,		/* stream, numbers, codecs: not tried again */
	DESK_WATCHED,		/* stream, of which .media_id, numbers.viewers and .peak: the same */
	DESK_TARGET_TOLD,	/* stream, target, news; on: another state.  Without that not tried again */
	/* Answers that nobody has asked for, each second. */
	DESK_HELD,		/* stream: it is still ours; on: another node would have it */
	DESK_TARGET,		/* stream.id, target, url: it is to be sent on to there */
	DESK_FINISH,		/* stream: it is to end, and ours or nobody's; once */
	DESK_ROUND,		/* all that are ours have been told */
	DESK_LOST,		/* stream: the database is away, and another node has begun to take it in */
	DESK_NONE,
};

struct desk_stream {
	struct uuid id, media_id;
	bool with_dvr;
	int64_t bitrate_max;	/* bit/s */
};

struct desk_note {
	struct desk_note *next;
	enum desk_word word;
	uint64_t visitor;
	struct desk_stream stream;	/* .id alone in what is told */
	int64_t session;
	bool is_primary, on;
	char key[RTMP_KEY + 1], address[DESK_ADDRESS], reason[DESK_REASON];
	struct livestream_numbers numbers;	/* its codecs are here: a note is copied */
	char video_codec[SETUP_CODECS], audio_codec[SETUP_CODECS];	/* "": none */
	struct uuid target;
	char url[LIVESTREAM_TARGET_URL + 1];
	struct livestream_target_news news;
};

struct desk;
struct srt;

/* Starts the thread.  srt: it is told each second which keys are good; may be NULL. */
struct desk *desk_open(const struct conf *, struct srt *);
/* Tells what is to be told, for some seconds at most, and ends it. */
void desk_close(struct desk *);

/* A copy is taken.  False: too many wait, and this one may be left out. */
bool desk_put(struct desk *, const struct desk_note *);

/* The next answer, which the caller frees, or NULL.  The descriptor can be read while there are some. */
struct desk_note *desk_take(struct desk *);
int desk_fd(const struct desk *);

#endif
