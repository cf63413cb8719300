/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Uploads that begin where their bytes go: the interface itself is asked, as its client would by POST /v2/uploads, so
 * that who may, how many and how much is decided, counted and written down in one place.  The interface is for one
 * request at a time: so is this, which takes milliseconds; bytes of other transfers do not wait for it.
 */
#ifndef FCGI_UPLOAD_ANNOUNCE_H
#define FCGI_UPLOAD_ANNOUNCE_H

#include "core/fcgi.h"
#include "fcgi/req.h"
#include "fcgi/upload/put.h"

/* Its answer, rendered, in `mem`.  head: of the request that came, whose token and client it is; json: the body. */
struct req *announce(const struct intake *, const struct fcgi *head, struct arena *mem, const char *json,
    const struct upload_tus *);

/* The server gets its connection back when nobody has announced anything during so many ms; and for good. */
void announce_rest(int64_t ms);
void announce_end(void);

#endif
