/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text files of whatever encoding. */
#ifndef MEDIA_CHARSET_H
#define MEDIA_CHARSET_H

#include "core/arena.h"

/*
 * The text in UTF-8, without the mark at its beginning; *n is its length, and a NUL follows.  UTF-8 is taken for what
 * it is; otherwise a mark decides, then where the zeros of UTF-16 stand, then what ICU makes of the letters, and
 * without a guess that of Western Europe.  What is none of its encoding becomes U+FFFD.  *name: what it was; NULL:
 * UTF-8.
 */
const char *charset_text(struct arena *, const char *bytes, size_t *n, const char **name);

#endif
