/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API document while it is printed, and its parts: each puts JSON into d->b, and remembers what comes later. */
#ifndef FCGI_OPENAPI_H
#define FCGI_OPENAPI_H

#include "fcgi/req.h"

enum { OPENAPI_MAX_SCHEMAS = 512, OPENAPI_MAX_FAILURES = 256 };

/* A schema to print: a record as sent (0), as sent in lists (DETAIL), or as taken (CREATE, PATCH). */
struct wanted { const struct record *record; unsigned on; };

/* A set of errors; none is no error. */
struct codes { bool has[ERR_COUNT]; };

struct document {
	struct arena *mem;
	struct buf b;
	struct wanted schemas[OPENAPI_MAX_SCHEMAS];
	int n;
	struct codes failures[OPENAPI_MAX_FAILURES];	/* what one operation answers with one status */
	int n_failures;
	const struct route *route;		/* whose operation is printed */
	bool oauth;
};

/* A comma, unless nothing stands before it. */
void openapi_separate(struct document *);

/* A reference to the schema of a record, which is printed later. */
void openapi_ref(struct document *, const struct record *, unsigned on);
void openapi_want(struct document *, const struct record *, unsigned on);
/* One header of an answer; and, without the closing brace, those that each answer has. */
void openapi_header(struct document *, const char *name, const char *component);
void openapi_headers(struct document *);

/* What was recorded of an operation or a webhook, as it was sent or answered; nothing where that had another type. */
void openapi_example_put(struct document *, const char *operation, const char *type, bool sent);
/* Of one parameter of the query, or, without a field, of the path, in JSON.  NULL: it was left out. */
const char *openapi_example_value(struct arena *, const struct route *, const char *name, const struct field *);

/* Of an operation: members of its object. */
void openapi_parameters(struct document *, const struct route *);
void openapi_body(struct document *, const struct route *);
/* Members of its responses. */
void openapi_successes(struct document *, const struct route *);
void openapi_failures(struct document *, const struct route *);

/* A member of the document. */
void openapi_webhooks(struct document *);

/* Members of the components: what was wanted meanwhile. */
void openapi_schemas(struct document *);
void openapi_failure_schemas(struct document *);
void openapi_responses(struct document *);

#endif
