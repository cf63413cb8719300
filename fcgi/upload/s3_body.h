/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The body of a request to an object store: its bytes without the framing of aws-chunked, held against every checksum
 * that came with them.  x-amz-content-sha256 says which framing it has:
 *
 *	{64 hex digits}, UNSIGNED-PAYLOAD		none
 *	STREAMING-AWS4-HMAC-SHA256-PAYLOAD		chunks, each with a signature that follows from the one before
 *	STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER	the same, and a checksum behind them that is signed, too
 *	STREAMING-UNSIGNED-PAYLOAD-TRAILER		chunks and a checksum
 *
 * Bytes are handed out before they are known to be right: who keeps them asks s3_body_check() first.
 */
#ifndef FCGI_UPLOAD_S3_BODY_H
#define FCGI_UPLOAD_S3_BODY_H

#include "core/buf.h"
#include "fcgi/upload/room.h"
#include "fcgi/upload/s3_sign.h"
#include "fcgi/upload/s3_sum.h"

struct s3_body {
	int64_t length;			/* of the bytes; -1: only the end of the body tells */
	int64_t received;
	enum s3_error error;		/* why s3_body_read() answered -1, if the connection is not the reason */

	/* Of s3_body_check(). */
	const char *md5;		/* in hex */
	const char *sum;		/* in base64; NULL: none came with it */
	enum s3_sum_kind kind;		/* of it */

	/* Its own. */
	struct arena *mem;
	const struct s3_sign *sign;
	const struct s3_request *request;
	int (*read)(void *user, const struct seat *, const void **bytes);
	void *user;
	bool chunked, is_signed, has_trailer, trailer_is_signed, trailer_has_ended;
	const char *sha256_said, *md5_said, *sum_said;
	EVP_MD_CTX *md5_now, *sha256_now, *chunk_sha256;
	struct s3_sum sum_now;
	enum { S3_LINE, S3_DATA, S3_DATA_END, S3_TRAILER, S3_END } state;
	const char *at;			/* what was read and not looked at yet */
	size_t n;
	char line[1024];
	size_t line_n;
	int64_t left;			/* of the chunk */
	char chunk_signature[65], last_signature[65];
	struct arena *scratch;
	struct buf trailer;
};

/* `length`: of the body as the web server says it, -1: it does not.  Ends with s3_body_end(), whatever it answers. */
enum s3_error s3_body_begin(struct s3_body *, struct arena *, const struct s3_sign *, const struct s3_request *,
    int64_t length, int (*read)(void *user, const struct seat *, const void **bytes), void *user);
/* As the read() of struct put: more than 0 bytes, good until the next call; 0 at the end; -1. */
int s3_body_read(struct s3_body *, const struct seat *, const void **bytes);
/* Behind the end: are they the bytes that were meant? */
enum s3_error s3_body_check(struct s3_body *);
void s3_body_end(struct s3_body *);

#endif
