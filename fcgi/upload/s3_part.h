/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of a file as they lie on the disk, in uploads/{uploadId}/.
 *
 * Clients cut a file into parts of one size and a shorter one.  So those of `slot` bytes, which is known before the
 * first of them, share the file {attempt}.shared.{slot}, each at (number - 1) * slot, where it will be needed: when
 * all have come, the file is there, and completing copies only what lies elsewhere.  A part has a file of its own,
 * {attempt}.{number}.{requestId}, where nobody said how long it is, or it is sent again while the one before counts,
 * which no byte of the new one may touch.
 *
 * Who writes into a shared file locks its place, and who makes it the file of the upload locks all of it; the lock
 * ends with the descriptor, whoever is killed (F_OFD_SETLK).  A file that has another name, too, is or becomes that
 * of the upload, and nobody writes there any more.
 */
#ifndef FCGI_UPLOAD_S3_PART_H
#define FCGI_UPLOAD_S3_PART_H

#include <openssl/sha.h>

#include "fcgi/upload/put.h"
#include "fcgi/upload/s3_body.h"

struct s3_part {
	int64_t number, size;		/* bytes */
	const char *file, *md5;		/* its name, which no other one has, also in a shared file; hex */
	int64_t slot;			/* bytes of each place in the file that it shares; 0: it has its own */
	const char *sum_kind, *sum;	/* "crc32", base64; NULL: the client sent none */
	struct moment put_at;
};

/* A file that is being written. */
struct s3_file {
	const struct intake *in;
	struct arena *mem;
	struct seat *seat;
	int64_t attempt;		/* of the upload; when that ends, so does s3_file_take() */
	int64_t limit;			/* bytes that it may have, */
	int64_t total;			/* and all parts together */
	int64_t granted;		/* of the quota; INT64_MAX: it has no limit, or counts a declared size */
	int64_t counted;		/* of them, by the part that this one replaces */
	const char *name, *path;
	int fd;
	int64_t slot;			/* as of struct s3_part, */
	int64_t at;			/* and where its bytes begin */
	bool is_whole;			/* no part: s3_file_take() works out its SHA-256 */
	unsigned char sha256[32];
};

/* Makes it, with the directory.  False with errno. */
bool s3_file_new(struct s3_file *, struct uuid upload_id, const char *name);
/* Takes the place of a part of `size` bytes in the file of its attempt.  False: it needs one of its own. */
bool s3_file_share(struct s3_file *, struct uuid upload_id, const char *name, int64_t number, int64_t size);
/* Takes the place of a part that counts no more. */
bool s3_file_reclaim(struct s3_file *, struct uuid upload_id, const struct s3_part *);
/* Gives the room of its place back.  True: nobody else is at this file, or comes before it is closed. */
bool s3_file_vacate(struct s3_file *);
/*
 * Gives the file that these parts share `name`, too, if each of its parts lies where it belongs: then s3_file_join()
 * has but to add the others.  False: a new one has to be made.
 */
bool s3_file_gather(struct s3_file *, struct uuid upload_id, const char *name, const struct s3_part *const *, size_t n);
/*
 * Others may come with parts of this upload until the descriptor is closed; but a program that was killed has let go of
 * it, and has given nothing back: who comes when nobody else is there does that.  Once its file is there: an earlier
 * attempt that ends takes an empty folder with it.  -1: it cannot be told.
 */
int s3_file_hold(const struct s3_file *);
/* The quota holds all bytes up to there for it, and if it must be asked so many more.  What of it is not needed after
 * all is given back. */
enum s3_error s3_file_reserve(struct s3_file *, int64_t until, int64_t step);
void s3_file_release(struct s3_file *);
/* Takes all of the body, holds it against its checksums and brings it to the disk. */
enum s3_error s3_file_take(struct s3_file *, struct s3_body *);
/*
 * Appends parts, or makes the one that there is the file itself, and works out the SHA-256 of all: `f->attempt` took
 * them, and may have begun with that (fcgi/upload/s3_ahead.h); 0: they are no parts of this upload.
 */
enum s3_error s3_file_join(struct s3_file *, struct uuid upload_id, const struct s3_part *const *, size_t n);
/* Adds all bytes of a part to a hash, in turns with other transfers.  False with errno. */
bool s3_file_hash(struct s3_file *, struct uuid upload_id, const struct s3_part *, SHA256_CTX *);
void s3_file_close(struct s3_file *);
void s3_file_unlink(struct s3_file *);
void s3_file_remove(struct arena *, struct uuid upload_id, const char *name);

#endif
