/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 of files, read as fast as the disk gives them or as slowly as somebody wants it. */
#ifndef CORE_DIGEST_H
#define CORE_DIGEST_H

#include <stdbool.h>

#include "core/arena.h"

enum { DIGEST_TEXT = 65 };	/* lower-case hex, and its NUL */

/*
 * Who reads for long: `read` is called with the bytes of each piece (1 MiB at most), may tell that it goes on, and may
 * sleep.  from_disk: what is read comes from the disk, not from what the system still remembers of it, and is forgotten
 * again, so that nothing that others use is pushed out.
 */
struct digest_pace { void (*read)(void *at, size_t bytes); void *at; bool from_disk; };

/* Lower-case hex of the file's content, which is a file itself and no link to one; pace may be NULL.  NULL with errno.
 * May be called by several threads. */
const char *digest_file(struct arena *, const char *path, const struct digest_pace *pace);

/* The same of bytes in memory. */
const char *digest_text(struct arena *, const char *text, size_t n);

#endif
