/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * External token servers (OpenID Connect providers): one per tenant, whose tokens are only verified.
 *
 * The tenant of a token is the one with exactly its issuer, and no two tenants have the same.  Keys are kept in the
 * database for all nodes, and parsed in each process.  A key that is unknown or does not fit, and a set older than ten
 * minutes, make a job of the kind `keys` read the set again, at most once a minute for an issuer: requests wait for
 * nobody.  While the provider cannot be read, its last keys are good for a day.
 */
#ifndef CORE_PROVIDER_H
#define CORE_PROVIDER_H

#include "core/jwt.h"
#include "core/token.h"

enum { PROVIDER_SECONDS = 3, PROVIDER_KEYS = 32, PROVIDER_SET_MAX = 256 << 10 };

struct provider {
	struct uuid tenant_id;
	const char *shortcode;			/* of the tenant */
	const char *issuer, *jwks_uri;
	struct strings audiences, clients;	/* see provider_claims.c */
	const char *roles_claim, *name_claim;
	int64_t age, asked_age;			/* ms since keys were read, and asked for, when the row was read */
	struct moment read_at, asked_at;	/* 0: never */
};
extern const struct record provider_record;

/* Of the tenant; NULL: tokens are made here, or failed. */
const struct provider *provider_of(struct db *, const char *shortcode);
const struct provider *provider_of_tenant(struct db *, struct uuid tenant_id);
/* For all processes, unless its keys come from elsewhere by now. */
void provider_keep_keys(struct db *, const struct provider *, const char *key_set);

/* Is it an address that keys may come from: https, or http to a host of provider.private_hosts? */
bool provider_may_ask(struct arena *, const struct conf *, const char *url);

/* The address of the keys as the issuer itself names it.  NULL: *why is a sentence. */
const char *provider_discover(struct arena *, const struct conf *, const char *issuer, const char **why);

/* The key set, with one usable key at least.  NULL: *why is a sentence.  Blocks, PROVIDER_SECONDS at most. */
const char *provider_fetch(struct arena *, const struct conf *, const char *jwks_uri, const char **why);

/* A token whose issuer is no realm of ours; in a transaction none is good, since nobody may be asked then.
 * who->address: whence it came, for the audit of a user's first sight. */
enum token_fault provider_verify(struct db *, const struct jwt *, const char *issuer, struct principal *who);

/* Claims of a token whose signature is right, by what the provider was set up to. */
enum token_fault provider_claims(struct db *, const struct provider *, const struct jwt *, struct principal *who);

/* Forgets what this process knows (tests). */
void provider_forget(void);

#endif
