/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a ZIP archive (PKWARE's APPNOTE 6.3): members one behind the other, and at its end the directory of them.
 * Numbers that 32 bits do not hold take 64.
 *
 *	archive_begin()		a new file, also in the place of another; or, of no path, in memory: then `out` is it
 *	archive_add()		each of them once, from a file;
 *	archive_add_bytes()	or from memory
 *	archive_end()		all of it is written, though perhaps not on the disk
 *
 * False with errno; the file is closed then, and worth nothing.
 */
#ifndef CORE_ARCHIVE_H
#define CORE_ARCHIVE_H

#include <stdbool.h>
#include <time.h>

#include "core/buf.h"

struct archive {
	void (*taken)(void *user, int64_t bytes);	/* told how many of the members are in it; NULL: nobody */
	void *user;
	int64_t narrow;		/* the largest number that goes without 64 bits: UINT32_MAX, or less to try it */
	struct buf out;		/* of one in memory */

	/* Its own. */
	int fd;
	int64_t at, bytes, members;
	struct buf directory;
};

bool archive_begin(struct archive *, struct arena *, const char *path);

/* The file of that path, whole; name: in UTF-8, as it is to be called.  deflated: or as it is. */
bool archive_add(struct archive *, const char *name, const char *path, bool deflated);

/* n bytes, which have changed at that time, in s. */
bool archive_add_bytes(struct archive *, const char *name, const void *bytes, size_t n, time_t changed_at,
    bool deflated);

bool archive_end(struct archive *);

#endif
