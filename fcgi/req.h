/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request, a route, and the words a handler speaks.
 *
 * The dispatcher (api.c) finds the route, checks the token and its scope, decodes and checks the input, opens a
 * transaction for writing methods, calls the handler, commits and renders.  A handler touches nothing but the database
 * (so that it can be run again after a deadlock), answers by reply…() or refuse(), and returns what that returned.
 */
#ifndef FCGI_REQ_H
#define FCGI_REQ_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/conf.h"
#include "core/db.h"
#include "core/errors.h"
#include "core/record.h"
#include "core/token.h"
#include "core/version.h"

/* Resources: each is fcgi/<name>.c with `const struct route <name>_routes[]`, ended by a row of zeros. */
#define RESOURCES(R) R(media) R(thumbnails) R(metadata) R(transcripts) R(uploads) R(jobs) R(realms) R(service)

enum method { GET = 1, HEAD, POST, PUT, METHOD_PATCH, METHOD_DELETE, OPTIONS };

enum {
	LIST = 1 << 0,		/* the answer is a page; page, perpage, sort, filter are taken */
	RAW_BODY = 1 << 1,	/* r->body is the handler's own affair, up to .max_body */
	NO_ENVELOPE = 1 << 2,	/* the answer is not a JSON envelope: reply_raw() */
	ACTION = 1 << 3,	/* PUT or POST without a body */
	OPTIONAL_BODY = 1 << 4,	/* an empty body counts as {} */
	AT_ROOT = 1 << 5,	/* not below /v2 */
	CONDITIONAL = 1 << 6,	/* single resource with ETag: If-Match is honoured */
	READS_ONLY = 1 << 7,	/* a POST that writes nothing: no transaction */
	KEPT = 1 << 8,		/* the answer may be given again: see kept.h */
};

struct req;
struct route {
	enum method method;
	const char *path;		/* full pattern; {…Id} parts are UUIDs and land in r->id[], other {…} in r->word[] */
	enum scope scope;
	int (*run)(struct req *);
	const struct record *in;	/* GET and DELETE: query; POST, PUT: CREATE fields; PATCH: PATCH fields */
	const struct record *out;
	const char *doc;		/* one line, imperative */
	unsigned flags;
	int success;			/* 0 = 200 */
	const char *fails;		/* statuses beside 401, "403 404 422" */
	const struct record *query;	/* query parameters of a route that also has a body */
	const char *produces;		/* content types of NO_ENVELOPE, blank-separated */
	const char *consumes;		/* content types of RAW_BODY, blank-separated */
	size_t max_body;		/* 0 = 1 MiB */
};

/* What a tenant's assets looked like when an answer was made: tenant_usage. */
struct stamp { int64_t changes, edits; };

struct req {
	/* What came in; set by main.c or a test, all decoded by api.c. */
	const char *method_name, *uri;		/* REQUEST_URI as received */
	const char *content_type, *accept, *authorization, *if_match, *if_none_match, *origin, *request_method;
	const char *client;			/* address */
	bool https, loopback;
	const char *body;
	size_t body_size;
	enum error body_error;			/* found while reading it: INCOMPLETE_BODY or TOO_LARGE; else ERR_NONE */
	void (*read_body)(struct req *);	/* fills these three from the source; NULL: they are there already */
	void *source;

	/* For handlers. */
	struct arena *mem;
	struct db *db;
	const struct conf *conf;
	const struct route *route;
	enum method method;
	struct uuid id[4];
	const char *word[4];
	struct principal *who;			/* NULL on public routes without token */
	void *in;				/* struct of route->in */
	void *query;				/* struct of route->query */
	uint64_t given;				/* record_bit()s of members present */
	struct page page;
	struct moment now;

	/* The answer. */
	char request_id[UUID_TEXT];
	int status;
	const char *answer_type, *etag, *location, *cache_control, *disposition;
	int retry_after;			/* s; 0 = none */
	struct buf headers;			/* further lines, CRLF each */
	size_t own_headers;			/* where the handler's lines begin in them */
	struct buf out;
	bool refused;				/* then nothing is committed */
	struct stamp stamp;			/* of a KEPT route, by its handler, */
	bool stamped;				/* if it could */
	struct faults faults;
};

/* 200 or 201 with one record.  `version` fields give the ETag: rows with int64_t members version (and revision). */
int reply(struct req *, int status, const struct record *, const void *row);
/* A page: `data` is the array, `pagination` beside it, Link headers. */
int reply_list(struct req *, const struct record *, const void *rows, size_t n);
/* Of `total` rows that are all there already: cuts to the page asked for.  Returns the first, *n their number. */
size_t page_cut(struct req *, size_t total, size_t *n);
/* A data member rendered by the handler itself (JSON text). */
int reply_json(struct req *, int status, const char *json);
/* No envelope: any bytes of any type (r->answer_type); see also location and disposition. */
int reply_raw(struct req *, int status, const char *type, const void *bytes, size_t n);
int reply_none(struct req *);			/* 204 */
/* Answers with 304 when the client names r->etag. */
bool reply_not_modified(struct req *);

/* Refuses with a code of errors.h.  NULL format: its own sentence. */
int refuse(struct req *, enum error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds one fault of the input; then return refuse(r, ERR_INVALID, NULL). */
void fault(struct req *, const char *pointer, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Answers one request: everything from route to rendered answer, but libfcgi.  Returns the status. */
int api_run(struct req *);
/* Stops the program when a route or record has a hole.  Called once at start, and by tests. */
void api_check(void);
/* All routes, one after the other; NULL at the end. */
const struct route *api_route(size_t i);
/* The API document. */
const char *openapi_print(struct arena *);

/* False, and refused with 412, when If-Match names another version.  Routes that are CONDITIONAL call it. */
bool precondition(struct req *, int64_t version);
const char *method_name(enum method);

/* What every LIST takes in its query. */
struct page_query { int64_t page, page_number, perpage; const char *sort, *filter, *after; };
extern const struct record page_record;

#define RESOURCE_ROUTES(name) extern const struct route name##_routes[];
RESOURCES(RESOURCE_ROUTES)
#undef RESOURCE_ROUTES

#endif
