/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clients: programs that get tokens, for themselves or for users, and the addresses that users may be sent to.
 *
 * An address is compared to the letter (RFC 9700 section 4.1.3).  The one exception is that of RFC 8252 section 7.3: a
 * public client on the user's own machine does not know which port it will get.
 */
#ifndef CORE_CLIENT_H
#define CORE_CLIENT_H

#include "core/db.h"

enum { CLIENT_ADDRESSES_MAX = 20, CLIENT_ADDRESS_MAX = 2000 };

struct client {
	struct uuid id, tenant_id;
	const char *shortcode, *name, *scopes;	/* the tenant's, shown to people, blank-separated */
	const char *secret_hash;		/* of public ones "", which no secret fits */
	bool is_super_admin, is_public;
	struct moment revoked_at;
	int64_t token_lifetime;			/* s */
	struct strings redirect_uris, logout_uris;
};
extern const struct record client_record;

/* A client of that tenant; revoked ones too.  NULL: not there. */
const struct client *client_find(struct db *, const char *shortcode, const char *client_id);

/* The live client whose secret that is; of a public one NULL or "".  NULL for every wrong combination alike, in the
 * same time. */
const struct client *client_authenticate(struct db *, const char *shortcode, const char *client_id,
    const char *secret);

/* A new secret ("kts_" and 43 characters) and the form in which it is kept. */
const char *secret_new(struct arena *);
const char *secret_hash(struct arena *, const char *secret);
bool secret_matches(const char *hash, const char *secret);

/* May a client have this address?  NULL, or what is wrong with it. */
const char *client_address_fault(const char *address);

/* May a user be sent there with a code, or after signing out? */
bool client_redirects_to(const struct client *, const char *address);
bool client_logs_out_to(const struct client *, const char *address);

#endif
