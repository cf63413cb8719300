/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The media playlist of one rendition of a livestream (RFC 8216): the segments that are there, in memory and as a
 * file.  The file is all that is needed to go on after a restart.  Memory of its own.
 */
#ifndef FCGI_LIVE_LIST_H
#define FCGI_LIVE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/text.h"

struct entry {
	int64_t session;		/* begins with the file "{session}.{word}.mp4" */
	int64_t number;			/* of the file "{number}.{word}.m4s" */
	int64_t ms;			/* how long it lasts */
	struct moment at;		/* when its beginning was received */
	bool breaks;			/* what decoders know is void from here on */
};

struct list {
	const char *word;		/* "video" or "audio" */
	bool keeps_all;			/* else a window of the last ones */
	bool ended;
	int64_t target;			/* s; 0: not known yet */
	int64_t first, breaks_before;	/* number of the first entry; breaks that are listed no more */
	struct entry *at;
	size_t n, room;
};

enum { LIST_WINDOW = 10 };

/* From the text of such a file.  Lines that are not ours are passed over. */
void list_read(struct list *, const char *text);
void list_write(const struct list *, struct buf *);
void list_free(struct list *);

/* Takes the next segment in.  True: *gone is one that is listed no more. */
bool list_add(struct list *, const struct entry *, struct entry *gone);

/* The number that the next segment will have, from 1. */
int64_t list_next(const struct list *);

#endif
