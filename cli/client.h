/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A client in the making: `tenant create` makes the first one of a tenant, `client create` the others. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "cli/cli.h"

struct new_client {
	struct uuid id, tenant_id;
	const char *shortcode, *name, *scopes, *secret;	/* no secret: a public one */
	const char *redirect_uris, *logout_uris;	/* JSON arrays, or NULL */
	bool super_admin;
	const char *role;		/* in the channel; NULL: none */
	struct uuid channel_id;
};

/* --super-admin, --role and --channel.  An exit status. */
int client_take_role(const struct cli *, struct new_client *);
/* Fills in the tenant of the shortcode, and its default channel where none was given.  In the caller's transaction. */
int client_place(struct cli *, struct new_client *);
/* The membership alone. */
void client_join(struct cli *, const struct new_client *);
/* Principal, client and membership, in the caller's transaction.  An exit status. */
int client_insert(struct cli *, const struct new_client *);
/* Id and secret, the only time that the secret is seen. */
void client_print_secret(const struct cli *, const struct new_client *);
/* 1 to 255 characters in one line, see utf8_line()?  An exit status. */
int client_check_name(const struct cli *, const char *name);
const char *client_all_scopes(struct arena *);

#endif
