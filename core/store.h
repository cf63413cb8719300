/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where media bytes live.  Keys are ours, never a client's: lower-case letters, digits, '-', '_', '.' and '/'.
 *
 *	uploads/{uploadId}		bytes being received; not readable by the web server
 *	originals/{mediaId}		the file as uploaded; not readable by the web server
 *	play/{mediaId}/{generation}/…	renditions, posters, captions: served below /play
 *	deleted/{mediaId}/…		the same of soft-deleted assets; not readable by the web server: asset_serve()
 *	work/{jobId}/…			scratch of running jobs
 *
 * A file becomes visible by a committed row that names it and is deleted by a job after that row is gone.
 */
#ifndef CORE_STORE_H
#define CORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/conf.h"

/* Names of the top directories; ends with NULL. */
extern const char *const store_tops[];

/* Makes the top directories.  False with errno when they cannot be made. */
bool store_open(const struct conf *);

/* The local path of a key.  A key with an empty, "." or ".." segment or a foreign character ends the program: keys are
 * ours. */
const char *store_path(struct arena *, const char *key);

/* Syncs the file, makes the parents, renames it to the key and syncs the directory.  False with errno (ENOSPC, …). */
bool store_put(struct arena *, const char *file, const char *key);

/* Writes the bytes under a temporary name, then as store_put. */
bool store_write(struct arena *, const void *bytes, size_t n, const char *key);

/* Moves a file or tree, and what it holds into a tree that is there already: of two files of one name the one that is
 * below play/ stays, which is newer.  True when nothing is left to move, also when there was nothing; else errno. */
bool store_move(struct arena *, const char *key, const char *to);

/* Where the files of a key below play/ lie while the asset is soft-deleted; NULL: it is not below play/. */
const char *store_twin(struct arena *, const char *key);

/* Removes a file or a whole tree.  True when nothing is left, also when there was nothing. */
bool store_delete(struct arena *, const char *key);

/* Size in bytes, or -1. */
int64_t store_size(struct arena *, const char *key);

/* Bytes that may still be written before conf.free_space is touched; never negative. */
int64_t store_free(void);

#endif
