/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a viewer asks for, as it stands in the address behind the asset: see fcgi/live/hall.h. */
#ifndef FCGI_LIVE_ASK_H
#define FCGI_LIVE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/play.h"
#include "core/text.h"

enum ask_what { ASK_MASTER, ASK_LIST, ASK_PART };
/* Whose media playlist, or part; how each is called: see ask.c. */
enum ask_list { ASK_VIDEO, ASK_AUDIO, ASK_720P, ASK_360P, ASK_LISTS };

struct ask {
	struct uuid media_id;
	char folder[PLAY_SECRET], name[64];
	enum ask_what what;
	enum ask_list list;
	const char *word;		/* of the list, see fcgi/live/list.h; static */
	bool skips;
	int64_t number, place;		/* -1: none */
	uint64_t viewer;		/* see fcgi/live/viewers.h; 0: not known */
};

/* "live/{16 characters}/{name}", up to a question mark.  False: that is none of ours.  Leaves .media_id alone. */
bool ask_file(struct ask *, const char *file);

/* What stands behind the question mark of the same.  False: it makes no sense. */
bool ask_query(struct ask *, const char *file);

#endif
