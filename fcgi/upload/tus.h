/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Uploads that go on where they broke, by the tus protocol 1.0.0 (tus.io) with the extensions creation,
 * creation-with-upload, expiration, checksum, termination and concatenation: POST makes one as POST /v2/uploads does,
 * for who has a bearer token; with the address that it answers, and no token, HEAD tells how much is there, PATCH
 * brings more, DELETE gives up.  Of requests at the same time the later one wins: it ends the earlier one, and goes on
 * behind what that has brought.  While all of it goes into the store, the upload is locked.  Knows nothing of FastCGI.
 */
#ifndef FCGI_UPLOAD_TUS_H
#define FCGI_UPLOAD_TUS_H

#include "core/buf.h"
#include "fcgi/req.h"
#include "fcgi/upload/put.h"
#include "fcgi/uploads.h"

#define TUS_PATH "/upload/tus"
#define TUS_HEADERS ", Tus-Resumable, Upload-Checksum, Upload-Concat, Upload-Length, Upload-Metadata, Upload-Offset, " \
	"X-HTTP-Method-Override, X-Requested-With"

struct tus {
	/* What was asked. */
	struct put put;			/* with in, mem and window; id and ticket but for tus_create() */
	const char *(*header)(void *user, const char *name);	/* by its name in lower case; NULL: there was none */
	int (*read)(void *user, const struct seat *, const void **bytes);	/* as of struct put */
	/* The answer of POST /v2/uploads to this body, for who asks. */
	struct req *(*announce)(void *user, const char *json, const struct upload_tus *);
	void *user;
	int64_t length;			/* of the body; -1: not known before its end */

	/* What became of it. */
	struct buf headers;		/* lines, also of what is refused: behind those that it has */
	struct req *made;		/* all of the answer to POST but the lines; NULL: it is refused before */
};

/* The line that each answer has. */
void tus_begin(struct buf *);
/* What OPTIONS tells besides. */
void tus_describe(struct buf *, const struct conf *);

/*
 * An upload of Upload-Length bytes, whose name is "filename" or "name" of Upload-Metadata; "transcriptLanguageCodes"
 * there are languages to transcribe, with commas.  "Upload-Concat: partial": its bytes become part of another one;
 * "final;" and the addresses of such ones of the caller's tenant: it is these, one behind the other, which end with it.
 * Who asks for the same once more, since the answer was lost, gets the same upload at another address.  With a body, by
 * its Idempotency-Key, it is told how many of its bytes are there, and takes none: PATCH brings the rest.
 */
enum error tus_create(struct tus *);
enum error tus_head(struct tus *);
enum error tus_patch(struct tus *);
enum error tus_delete(struct tus *);

#endif
