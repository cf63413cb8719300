/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What follows from the row of a route: its name in programs, its place among the others, how it may refuse. */
#ifndef FCGI_OPERATION_H
#define FCGI_OPERATION_H

#include "fcgi/req.h"

/*
 * The operationId, by which generated programs call it: route->id, or made of method and path.  The verb is list, get,
 * create, set, update or delete, or the last word of the path when that is one (PUT /uploads/{uploadId}/complete).  The
 * noun is the chain of what the path leads through, in the singular where an id follows; a word that leads to another
 * word (metadata/transcripts) is left out.
 */
const char *operation_id(struct arena *, const struct route *);

/* "media", "uploads", …: the collection that the path begins with. */
const char *operation_tag(struct arena *, const struct route *);

bool operation_takes_json(const struct route *);
/* Do its answers carry an ETag? */
bool operation_has_etag(const struct route *);

/* May it be refused with this error?  The document lists these, and tests hold answers against it. */
bool operation_refuses(const struct route *, enum error);

/* Is this word of a route's codes the error?  "code", or "403:code" where two errors share one. */
bool operation_names(const char *word, size_t n, enum error);

/* Has each of its codes a status that is among its `fails`? */
bool operation_codes_fit(const struct route *);

#endif
