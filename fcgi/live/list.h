/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The media playlist of one rendition of a livestream (RFC 8216): the segments that are there, in memory and as a
 * file.  The file is all that is needed to go on after a restart.  Memory of its own.
 *
 * For players that want to be near to the edge (draft-pantos-hls-rfc8216bis) there is a second text of it, which is no
 * file: it names the parts of the last segments and of the one that grows, too, and who waits for its next state gets
 * that as soon as it is there.
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
	bool gap;			/* there is no such file: it was not made in time */
};

/* "{number}.{session}.{place}.{word}.m4s", the place from 0.  Who goes on behind a crash makes the segment that grew
 * anew, in a session of its own: nothing that a player keeps is ever another one. */
struct part { int64_t ms; bool alone; };	/* alone: can be decoded without the one before it */
enum { LIST_PARTS = 32, LIST_SHOWN = 4, LIST_KEPT = 8, LIST_PART_MS = 520 };
struct parts { int64_t number, session; size_t n; struct part at[LIST_PARTS]; };

struct live_list {
	const char *word;		/* "video" or "audio" */
	bool is_text;			/* its files are "{number}.{word}.vtt", and nothing goes before them */
	bool keeps_all;			/* else a window of the last ones */
	bool ended;
	int64_t target;			/* s; 0: not known yet */
	int64_t first, breaks_before;	/* number of the first entry; breaks that are listed no more */
	struct entry *at;
	size_t n, room;
	struct parts parts[LIST_KEPT];	/* of the last segments, each at its number modulo LIST_KEPT */
	struct entry growing;		/* of which there are parts, if it has the next number */
	bool whole;			/* its segments have no parts: frames last too long */
};

enum { LIST_WINDOW = 10 };

/* From the text of such a file.  Lines that are not ours are passed over. */
void list_read(struct live_list *, const char *text);
void list_write(const struct live_list *, struct buf *);
void list_free(struct live_list *);

/* Takes the next segment in.  True: *gone is one that is listed no more. */
bool list_add(struct live_list *, const struct entry *, struct entry *gone);

/* The number that the next segment will have, from 1. */
int64_t list_next(const struct live_list *);

/* Takes a part of it in.  growing: what is known of the segment already.  True: *gone are those of one whose files
 * nobody asks for any more. */
bool list_add_part(struct live_list *, const struct entry *growing, const struct part *, struct parts *gone);

/* Another session makes the segment that grows anew.  True: *gone are its parts, which are listed no more. */
bool list_forget_parts(struct live_list *, struct parts *gone);

/* The parts of a segment that are there. */
size_t list_parts(const struct live_list *, int64_t number);

/* The text with parts.  reports: of another rendition, or NULL.  skips: the client has what is older. */
void list_write_low(const struct live_list *, const struct live_list *reports, bool skips, struct buf *);

/* Is what somebody asks for there: the segment, or (place >= 0) that part of it? */
enum list_turn { LIST_NOW, LIST_LATER, LIST_NEVER };
enum list_turn list_turn(const struct live_list *, int64_t number, int64_t place);

#endif
