/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes of an upload that is not whole yet, in the store: uploads/{uploadId}/{attempt}, and beside it
 * {attempt}.synced, which says up to where they are on the disk and what SHA-256 they have there, and how it goes on.
 *
 *	partial_new()		what earlier attempts left is deleted
 *	partial_resume()	or taken over: p->offset says from where on bytes are wanted
 *	partial_write()		as they come
 *	partial_finish()	they are all there: p->path may be moved away
 *	partial_keep()		the rest may come in a later attempt
 *	partial_drop()		nothing of it is wanted; also behind partial_finish()
 *
 * Files of other transfers lie beside it, and begin with the number of their attempt, too (fcgi/upload/s3_part.h).
 *
 * Safe to be killed anywhere: a later attempt goes on where the last sync was, in a process of its own if need be.
 * False with errno when the disk fails; what is open then is closed by partial_keep() or partial_drop().
 */
#ifndef FCGI_UPLOAD_PARTIAL_H
#define FCGI_UPLOAD_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"
#include "fcgi/upload/hash.h"

struct partial {
	int fd;			/* -1: not open */
	int64_t offset;		/* bytes taken */
	const char *path;	/* of the file */
	bool reserved;		/* the file system keeps room for all of it */
	bool spoiled;		/* a sync failed: the next one would succeed, and tell nothing of what was lost */
	bool given;		/* the store may have the file: nothing of it can be kept here */

	/* Its own. */
	struct arena *mem;
	const char *dir, *synced_path, *fresh_path;
	SHA256_CTX hash, marked;
	int64_t synced, synced_at, mark;	/* bytes; ms; bytes, -1: none */
};

bool partial_new(struct partial *, struct arena *, struct uuid upload_id, int64_t attempt);

/* Goes on with what the latest attempt has kept, and begins anew where that is nothing, or was spoiled.  EWOULDBLOCK:
 * its process still writes. */
bool partial_resume(struct partial *, struct arena *, struct uuid upload_id, int64_t attempt);

/* Lets go of one that partial_resume() has refused, and changes nothing; p->path is NULL then. */
void partial_close(struct partial *);

/* Keeps room for so many bytes where the file system can.  False: there is none. */
bool partial_reserve(struct partial *, int64_t size);

/* Remembers where it is; and goes back there, as if nothing had come since. */
void partial_mark(struct partial *);
bool partial_rewind(struct partial *);

bool partial_write(struct partial *, const void *bytes, size_t n);
bool partial_finish(struct partial *, unsigned char sha256[32]);
bool partial_keep(struct partial *);
void partial_drop(struct partial *);

/* Deletes what attempts before that one have left, whatever it is, and the directory when that is all. */
void partial_forget(struct arena *, struct uuid upload_id, int64_t attempt);

/* Nobody takes the file of that attempt over until this descriptor is closed.  -1: somebody has it, or has taken it
 * over, or it cannot be told. */
int partial_hold(struct arena *, struct uuid upload_id, int64_t attempt);

/* Does an attempt still have its file? */
bool partial_is_locked(struct arena *, struct uuid upload_id);

/* Bytes of the disk that attempts at the upload hold. */
int64_t partial_held(struct arena *, struct uuid upload_id);

#endif
