/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growing run of bytes in an arena: what answers, playlists and captions are appended to.
 * The text is always followed by a NUL that is not counted in len.
 */
#ifndef CORE_BUF_H
#define CORE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/arena.h"

struct buf {
	struct arena *mem;
	char *text;		/* NULL until the first byte */
	size_t len, room;
};

#define BUF(mem) ((struct buf){ (mem), NULL, 0, 0 })
/* In an array that is known to be large enough; one byte too many ends the process. */
#define BUF_OVER(array) ((struct buf){ NULL, (array), 0, sizeof(array) })

/* Doubles the room, or more if n more bytes need it.  Only buf_room() calls it. */
void buf_grow(struct buf *, size_t n);

/* Makes room for n more bytes, where their number is known beforehand. */
static inline void
buf_room(struct buf *b, size_t n)
{
	if (n >= b->room - b->len)
		buf_grow(b, n);
}

/* Here, not in buf.c: an answer is some thousand short pieces, and most lengths are known where it is compiled. */
static inline void
buf_add(struct buf *b, const void *bytes, size_t n)
{
	buf_room(b, n);
	if (n > 0)
		memcpy(b->text + b->len, bytes, n);
	b->len += n;
	b->text[b->len] = '\0';
}

static inline void
buf_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

static inline void
buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_int(struct buf *, int64_t);
void buf_printf(struct buf *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON string with its quotes; NULL gives null.  Bytes that are not UTF-8 become U+FFFD. */
void buf_json(struct buf *, const char *text);
void buf_json_n(struct buf *, const char *text, size_t n);

/* The text, never NULL. */
const char *buf_string(const struct buf *);

#endif
