/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signature Version 4, as one who asks an object store makes it and one who is asked holds it against its own
 * ("Authenticating Requests (AWS Signature Version 4)", Amazon S3 API reference): the canonical request, the key that a
 * secret becomes for a day, and an address that carries its signature in its query.
 */
#ifndef CORE_SIGV4_H
#define CORE_SIGV4_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

#define SIGV4_ALGORITHM "AWS4-HMAC-SHA256"
#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"

enum {
	SIGV4_KEY = 32,
	SIGV4_TIME = 17,			/* "20130524T000000Z" and the NUL */
	SIGV4_EXPIRES_MAX = 7 * 24 * 3600,	/* s that an address may work */
};

struct sigv4 {
	const char *method, *uri;		/* uri: path and query as they are sent */
	const char *signed_headers;		/* names in lower case, sorted, with semicolons */
	/* The value of a header by its name in lower case, as it was sent; NULL: as if it were empty. */
	const char *(*header)(void *user, const char *name);
	void *user;
	const char *content;			/* SHA-256 of the body in hex, or SIGV4_UNSIGNED */
	const char *date, *scope;		/* scope: "20130524/us-east-1/s3/aws4_request" */
	bool in_query;				/* the signature is a parameter, which it does not sign */
};

/* The signature in hex.  NULL: the query has too many parameters, or too many headers are signed. */
const char *sigv4_sign(struct arena *, const struct sigv4 *, const unsigned char key[SIGV4_KEY]);

/* The key for the day, region and service that the scope names. */
void sigv4_key(struct arena *, const char *secret, const char *scope, unsigned char key[SIGV4_KEY]);

/* HMAC-SHA256 of a text under such a key, in hex. */
const char *sigv4_text(struct arena *, const unsigned char key[SIGV4_KEY], const char *text);

/* A parameter of the query, decoded; "" where it has no value, NULL where it is not there. */
const char *sigv4_param(struct arena *, const char *uri, const char *name);

/* "20130524T000000Z".  Returns out. */
char *sigv4_time(struct moment, char out[SIGV4_TIME]);

/* Who asks, and whom. */
struct sigv4_who { const char *key, *secret, *region, *host; };

/* What the header Authorization says.  Of `request` all is needed but date and scope, which come from `now`; its
 * signed headers have to hold host and x-amz-date. */
const char *sigv4_authorization(struct arena *, const struct sigv4_who *, struct sigv4 request, struct moment now);

/* The query that lets anybody ask for the path by this method from `now` on for so many seconds.  more: parameters that
 * are signed with it, encoded, sorted, and named by lower-case letters; NULL: none. */
const char *sigv4_presigned(struct arena *, const struct sigv4_who *, const char *method, const char *path,
    const char *more, struct moment now, int64_t seconds);

#endif
