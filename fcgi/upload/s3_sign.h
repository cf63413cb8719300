/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signature Version 4 (core/sigv4.h) as an object store checks it: in the Authorization header, in the query of an
 * address, and along the chunks of a body.
 *
 * Web servers take some headers for themselves.  One that is signed and did not come is held to have been what they
 * answer to: chunked for Transfer-Encoding, 100-continue for Expect.
 */
#ifndef FCGI_UPLOAD_S3_SIGN_H
#define FCGI_UPLOAD_S3_SIGN_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/text.h"
#include "fcgi/upload/s3_errors.h"

/* A request as it was sent. */
struct s3_request {
	const char *method, *uri;		/* uri: path and query, not decoded */
	/* The value of a header by its name in lower case; NULL: there was none. */
	const char *(*header)(void *user, const char *name);
	void *user;
	const char *other_host;			/* that the client may have signed in front of a proxy; NULL: none */
};

struct s3_sign {
	const char *access_key, *token;		/* token: NULL when there was none */
	const char *date, *scope, *signed_headers, *signature;
	const char *content;			/* x-amz-content-sha256, or UNSIGNED-PAYLOAD */
	bool in_query;
	unsigned char key[32];			/* of s3_sign_check(): also signs chunks */
};

/* Takes apart what the request says of its signature, and checks its time.  Nothing of it is proven yet. */
enum s3_error s3_sign_read(struct s3_sign *, struct arena *, const struct s3_request *, struct moment now);
/* Holds the signature against the secret. */
enum s3_error s3_sign_check(struct s3_sign *, struct arena *, const struct s3_request *, const char *secret);

/* HMAC-SHA256 in hex of a text under the key of a checked signature. */
const char *s3_sign_text(const struct s3_sign *, struct arena *, const char *text);

#endif
