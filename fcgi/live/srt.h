/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encoders that come by SRT (libsrt): a listening port and its connections, in a thread of their own.  Who may send is
 * judged in a callback of libsrt that holds up all others, so it asks nobody but tables in memory.  What happens comes
 * out in order, one note at a time.
 *
 * Who comes with the key of somebody at another address who is sending is refused there, by the code for that.  At the
 * same address it may be an encoder that was killed and comes again: it is let in, and has to wait.
 */
#ifndef FCGI_LIVE_SRT_H
#define FCGI_LIVE_SRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/conf.h"
#include "fcgi/live/desk.h"

struct srt;

enum srt_word {
	SRT_CAME,	/* line, key, address: it has the pass phrase of that key */
	SRT_BYTES,	/* line, bytes, n */
	SRT_GONE,	/* line */
	SRT_REFUSED,	/* key, address: no livestream that is open has it, as far as is known */
	SRT_LOCKED,	/* key, address: it has the key, and not its pass phrase */
	SRT_BUSY,	/* key, address: somebody else sends with that key */
};

struct srt_note {
	struct srt_note *next;
	enum srt_word word;
	int line;
	char key[RTMP_KEY + 1], address[DESK_ADDRESS];
	size_t n;
	uint8_t bytes[];
};

/* Listens there ("host:port"), or on a socket of UDP that is bound (fd >= 0, which is its own then), in a thread of its
 * own.  NULL: *why says why not. */
struct srt *srt_open(const struct conf *, const char *address, int fd, const char **why);
void srt_end(struct srt *);

/* The hashes of the keys that are good from now on, "64 hex digits" each, one after the other. */
void srt_allow(struct srt *, const char *hashes, size_t n);

/* The next note, which the caller frees, or NULL.  The descriptor can be read while there are some. */
struct srt_note *srt_take(struct srt *);
int srt_fd(const struct srt *);

/* Closes a line; nothing comes of it any more but what is waiting already. */
void srt_hang_up(struct srt *, int line);

#endif
