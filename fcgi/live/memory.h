/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a node remembers of the livestreams that it holds, for as long as the database cannot be asked: an encoder that
 * comes again then goes on.  What holds:
 *
 *	It remembers what the last look at the database has shown, a second before that went away at most: a key that
 *	was changed before that look, and a livestream that was stopped, are not remembered.  One that the node has
 *	released or ended since is forgotten at once, whether the database has been told of it or not.
 *	Who was let in is asked after as soon as the database answers, and sent away if it would have been refused.
 *	Sessions that begin meanwhile get the numbers behind the last one that the database knows, LIVESTREAM_SPARE of
 *	them at most; it is told of them before anything else is claimed.  Whoever takes a livestream from a holder that
 *	did not release it passes over as many.
 *	That no other node has it follows from what holds for takeovers (core/livestream.h), as long as the database is
 *	away for all.  Where it is away for this node alone, another one may claim it: its first file, with a number
 *	behind those that are spared, shows that within seconds, and the node has lost it from then on.  Where
 *	the two do not share the directory of the recording, it goes on until the database answers, as an encoder that
 *	never left does.
 */
#ifndef FCGI_LIVE_MEMORY_H
#define FCGI_LIVE_MEMORY_H

#include "fcgi/live/desk.h"

enum { MEMORY_HASH = 64 };

struct remembered {
	struct desk_stream what;
	int64_t session, spare;		/* the last number that was given, and that may be */
	char hashes[2][MEMORY_HASH + 1];	/* of the keys: secondary, primary */
};
struct memory { struct remembered *at; size_t n; };

/* All that it holds, and nothing else, from now on.  Takes `at` (of malloc) over. */
void memory_replace(struct memory *, struct remembered *at, size_t n);
void memory_forget(struct memory *, struct uuid id);
/* Of all of them: no encoder is let in any more, and those that are go on. */
void memory_forget_keys(const struct memory *);

/* NULL: it is not remembered. */
struct remembered *memory_find(const struct memory *, struct uuid id);
struct remembered *memory_of_key(const struct memory *, const char *hash, bool *is_primary);

/* The database has given that number. */
void memory_claimed(const struct memory *, struct uuid id, int64_t session);

#endif
