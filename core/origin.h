/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Origins (RFC 6454) whose web pages may read what the interface answers: those of the setting cors.origins, and those
 * that a tenant names for itself.  Credentials are bearer tokens, never cookies, so no answer says Allow-Credentials.
 */
#ifndef CORE_ORIGIN_H
#define CORE_ORIGIN_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/conf.h"
#include "core/db.h"

/* A scheme and a host, perhaps with a port, as browsers write it: in lower case, and nothing behind.  Not "null". */
bool origin_is_one(const char *text);

/* Of what is one: does the setting name it, or all? */
bool origin_of_server(const struct conf *, const char *origin);
/* Does the tenant name it: the one with this id, of this realm, whose upload it is, or any? */
bool origin_of_tenant(struct db *, struct uuid tenant_id, const char *origin);
bool origin_of_realm(struct db *, const char *shortcode, const char *origin);
bool origin_of_upload(struct db *, struct uuid upload_id, const char *origin);
bool origin_of_any(struct db *, const char *origin);
/* Said behind every write of tenants.cors_origins: origins are found by the key of tenant_origins. */
void origin_written(struct db *, struct uuid tenant_id);

/* Header lines that let pages of the origin read an answer; and that let them ask with these methods ("GET, PUT"). */
void origin_allow(struct buf *, const struct conf *, const char *origin);
/* more: ", X-One", names of headers beside those that the interface reads. */
void origin_allow_methods(struct buf *, const char *methods, const char *more);

#endif
