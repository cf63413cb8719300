/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and directories of this machine, for the store and for scratch.  All are false with errno. */
#ifndef CORE_DISK_H
#define CORE_DISK_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* One directory below one that is there already; itself there already is fine. */
bool disk_make_dir(const char *path, mode_t mode);

/* All directories of the path up to its last slash that lie below root, which is a beginning of it and is there. */
bool disk_make_parents(const char *root, const char *path, mode_t mode);

/* All of the bytes, wherever the file is. */
bool disk_write(int fd, const void *bytes, size_t n);

/* A file of these bytes, for programs that we start: as long as they run, and no longer. */
bool disk_put(const char *path, const void *bytes, size_t n);

/* Makes bytes or names that were written last.  Anything but that type (S_IFREG, S_IFDIR) is refused with EINVAL: a
 * decoder may have left a link.  mode: 0 = as it is. */
bool disk_sync(const char *path, mode_t type, mode_t mode);

/* The same for the directory that holds the path: that makes a new name, or its absence, last. */
bool disk_sync_parent(const char *path);

/* Removes a file or a whole tree.  True when nothing is left, also when there was nothing. */
bool disk_remove(const char *path);

/* Moves a file or tree, and what it holds into a tree that is there already, where of two files of one name the one
 * that moves stays, or goes.  True when nothing is left to move, also when there was nothing. */
bool disk_move(const char *from, const char *to, bool replace);

/* The same file under another name where that is possible and it is ours, for what is never written to again; else a
 * copy that is on the disk.  `to` is there as a whole or not at all, and in the place of what was there. */
bool disk_copy(const char *from, const char *to, mode_t mode);
/* The same, and always a copy. */
bool disk_copy_bytes(const char *from, const char *to, mode_t mode);

/* Bytes that the account may still write there; 0 when nobody can tell. */
int64_t disk_free(const char *path);

#endif
