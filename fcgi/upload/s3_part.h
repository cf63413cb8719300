/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a file as they lie on the disk: uploads/{uploadId}/{attempt}.{number}.{requestId}. */
#ifndef FCGI_UPLOAD_S3_PART_H
#define FCGI_UPLOAD_S3_PART_H

#include <openssl/sha.h>

#include "fcgi/upload/put.h"
#include "fcgi/upload/s3_body.h"

struct s3_part {
	int64_t number, size;		/* bytes */
	const char *file, *md5;		/* name in the directory of the upload; hex */
	const char *sum_kind, *sum;	/* "crc32", base64; NULL: the client sent none */
	struct moment put_at;
};

/* A file that is being written. */
struct s3_file {
	const struct intake *in;
	struct arena *mem;
	struct seat *seat;
	int64_t attempt;		/* of the upload; when that ends, so does s3_file_take() */
	int64_t limit;			/* bytes that it may have */
	const char *name, *path;
	int fd;
	bool is_whole;			/* no part: s3_file_take() works out its SHA-256 */
	unsigned char sha256[32];
};

/* Makes it, with the directory.  False with errno. */
bool s3_file_new(struct s3_file *, struct uuid upload_id, const char *name);
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
void s3_file_remove(struct arena *, struct uuid upload_id, const char *name);

#endif
