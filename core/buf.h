/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growing run of bytes in an arena: what answers, playlists and captions are appended to.
 * The text is always followed by a NUL that is not counted in len.
 */
#ifndef CORE_BUF_H
#define CORE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

struct buf {
	struct arena *mem;
	char *text;		/* NULL until the first byte */
	size_t len, room;
};

#define BUF(mem) ((struct buf){ (mem), NULL, 0, 0 })

/* Makes room for n more bytes, where their number is known beforehand. */
void buf_room(struct buf *, size_t n);
void buf_add(struct buf *, const void *bytes, size_t n);
void buf_text(struct buf *, const char *text);
void buf_char(struct buf *, char);
void buf_int(struct buf *, int64_t);
void buf_printf(struct buf *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON string with its quotes; NULL gives null.  Bytes that are not UTF-8 become U+FFFD. */
void buf_json(struct buf *, const char *text);
void buf_json_n(struct buf *, const char *text, size_t n);

/* The text, never NULL. */
const char *buf_string(const struct buf *);

#endif
