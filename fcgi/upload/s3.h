/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What clients of object stores need to bring a file: a part of the Amazon S3 API, path style, below /storage.
 *
 *	/storage/uploads			the one bucket
 *	/storage/uploads/{uploadId}		the one object that the credentials of an upload reach
 *
 * Clients whose endpoint can have no path take "storage" for the bucket, and for the key that bucket and key.
 *
 * The credentials follow from the upload and end with it: the access key id is the id of the upload without hyphens,
 * the session token its ticket, of which the row has a hash, and the secret a proof made from that (core/seal.h).
 *
 * Parts lie in the directory of the upload, those of one size in one file (fcgi/upload/s3_part.h), and are rows
 * (upload_parts): one of them counts when its row is committed, which is after its bytes are on the disk.
 * Completing adds what lies elsewhere, on file systems that can without copying, and goes on as any upload that
 * has arrived.  Until it is an asset the file can be read and given up.  CreateMultipartUpload takes the
 * next number of an attempt, as each PUT does (fcgi/upload/put.h), so what was begun before it has lost.
 *
 * Knows nothing of FastCGI.
 */
#ifndef FCGI_UPLOAD_S3_H
#define FCGI_UPLOAD_S3_H

#include "fcgi/upload/put.h"
#include "fcgi/upload/s3_body.h"

struct s3_call {
	/* What was asked. */
	const struct intake *in;
	struct arena *mem;
	struct s3_request request;
	int64_t length;			/* of the body; -1: not known before its end */
	int64_t window;			/* ms that a list may take to come; 0: any time will do */
	int (*read)(void *user, const struct seat *, const void **bytes);	/* as of struct put */
	/* Bytes of an object, which go out behind status and headers as they are then.  False: nobody wants them any
	 * more. */
	bool (*give)(void *user, const void *bytes, size_t n);
	void *user;
	const char *request_id;

	/* What became of it. */
	enum s3_error error;
	const char *detail;		/* NULL: the sentence of the error */
	int status;
	struct buf headers, body;	/* headers: lines, with Content-Type when there is a body */
	bool cut;			/* not all was given that the headers tell */
	struct uuid upload_id;		/* none: not known */
	int64_t received;		/* bytes */
	enum reason reason;		/* why the content was refused, when it was */
};

void s3_run(struct s3_call *);

/* Is the address one of the object store? */
bool s3_is_address(const char *uri);

#endif
