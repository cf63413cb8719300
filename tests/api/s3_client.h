/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A client of Amazon S3 at the object store below /storage, for the tests of it: one upload with its credentials, and
 * requests that it signs.  Texts and calls live as long as the world.
 */
#ifndef TESTS_API_S3_CLIENT_H
#define TESTS_API_S3_CLIENT_H

#include "fcgi/upload/s3.h"
#include "tests/world.h"

#define MIB (1 << 20)
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define REGION "us-east-1"
#define XMLNS " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

/* What the upload program has for all of them; there from the first client on. */
extern struct intake here;

struct header { const char *name, *value; };
enum { HEADERS = 24 };

struct client {
	struct world *w;
	const char *id, *key, *secret, *token;
	int64_t skew;				/* s */
	bool no_token;
	const char *host;			/* that it has signed; NULL: the one that arrives */
	bool signs_transfer;			/* Transfer-Encoding: chunked, too, which never arrives */
};

/* A request: what of it is NULL or 0 is as usual. */
struct ask {
	const char *method, *path, *query;	/* query: encoded, in order */
	const char *body;
	size_t n;
	struct header more[8];
	const char *content;			/* x-amz-content-sha256; NULL: that of the body */
	const char *secret, *wire;		/* wire: what is sent instead of body */
	size_t n_wire;
	bool cut;				/* the connection breaks behind what is sent */
	size_t enough;				/* or so many bytes of an object have come; 0: it does not */
	void (*meanwhile)(void *);		/* happens between the body and its answer, */
	int nap;				/* or in the body */
	int64_t window;				/* of its s3_call, */
	const char *other_host;			/* and of that; NULL: none */
	void *user;
};

/* What of a request is sent, and what is given to it: user of an s3_call. */
struct sending {
	struct buf given;			/* of an object, */
	size_t enough;				/* of which so many bytes are wanted; 0: all */
	struct header at[HEADERS];
	size_t n;
	const char *body;
	size_t left;
	bool cut, begun;
	void (*meanwhile)(void *);		/* once, when all of the body was read, */
	int nap;				/* or else behind its first piece; then for so many ms nothing comes */
	void *user;
};

/* A header of that, and some of its body: what an s3_call is given as header and read. */
const char *header_of(void *user, const char *name);
int read_some(void *user, const struct seat *, const void **bytes);

/* An announced upload; more: members of it, behind a comma. */
struct client client_of(struct world *, const char *more);
int s3_client_close(void **state);

/* The request, signed as `client` says. */
struct s3_call *ask(const struct client *, const struct ask *);
/* The parts of that: the day and time, `skew` s beside now; the scope of a signature; the Authorization header; what
 * signs a text, and its key; and the request with a header of that kind. */
const char *date_of(struct world *, int64_t skew);
const char *scope_of(struct world *, const char *date);
const char *authorization(const struct client *, const struct ask *, const char *path, const char *date,
    const char *content);
const char *sign_text(struct world *, const char *secret, const char *date, const char *text);
struct s3_call *send_signed(const struct client *, const struct ask *, const char *date, const char *auth,
    const char *content);
void signing_key(struct world *, const char *secret, const char *day, unsigned char key[32]);
const char *hex_sha256(struct world *, const void *bytes, size_t n);

/* Of an answer: its body, the text of its first element of a name or NULL, a header or NULL. */
const char *body_of(const struct s3_call *);
const char *element(struct world *, const struct s3_call *, const char *name);
const char *header_told(struct world *, const struct s3_call *, const char *name);
/* Fail unless it is that refusal, or none. */
void refused(const struct client *, const struct s3_call *, int status, const char *code);
void fine(const struct s3_call *);

/* Bytes that begin as a film does, others each time. */
char *film(struct world *, size_t n);
/* Begins a multipart upload: its id. */
const char *begin(const struct client *);
/* Sends a part of it: its ETag; the query of that; the element that names it; and completes it with such elements. */
const char *part(const struct client *, const char *upload, int number, const char *bytes, size_t n);
const char *part_query(const struct client *, int number, const char *upload);
const char *named(const struct client *, int number, const char *etag);
struct s3_call *complete(const struct client *, const char *upload, const char *parts);

/* The upload: its status, its id, how many files of it lie there, with and without what is worked out of them. */
const char *status_of(const struct client *);
struct uuid uuid_of(const struct client *);
int64_t files_of(const struct client *);
int64_t parts_of(const struct client *);
/* What may happen while it is answered (meanwhile): the client's upload comes near to its end; another request. */
void near_its_end(void *client);
struct other { const struct client *c; struct ask ask; enum s3_error error; };
void send_other(void *other);
/* Fails unless that is what has arrived. */
void holds(const struct client *, const char *bytes, size_t n);

#endif
