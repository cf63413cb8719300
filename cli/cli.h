/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands of `kinothek`: what main.c hands to them, and what they may use. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/conf.h"
#include "core/db.h"

struct cli {
	struct arena *mem;
	const struct conf *conf;
	struct db *db;			/* nothing is dialled until it is used */
	const char *program;
	bool json;
	const char *const *arg;		/* positional ones, as many as the command asks for */
	const struct option_value { const char *name, *value; } *options;
};

/* The first value of --name, "" for one that takes none, or NULL when it was not given. */
const char *cli_option(const struct cli *, const char *name);

/* One sentence on standard error.  Returns the status, for the command to return. */
int cli_fail(const struct cli *, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What helps against the failure of the database. */
const char *cli_db_remedy(const struct cli *);

/* Root becomes the account that db.user names, where this machine has one: so it may come in by a socket that asks who
 * it is, and meets what the services meet.  Returns 0, or the status. */
int cli_become(struct cli *);

/* The same as cli_fail() for the database, with what helps against it. */
int cli_fail_db(const struct cli *);

/* Runs work() in a transaction, three times when the database says so.  work() returns an exit status; only 0
 * commits. */
int cli_transaction(struct cli *, int (*work)(struct cli *, void *), void *arg);

/* An id given as an argument.  False: the fault is told already. */
bool cli_id(const struct cli *, const char *text, struct uuid *);

/* Writes to the audit of a tenant: core/audit.h.  In the transaction of the change.  data: JSON; NULL: none. */
void cli_audit(const struct cli *, struct uuid tenant_id, const char *type, struct uuid object_id, const char *data);

/* Lines of a table, the first one its heads; cells end with a tab, lines with \n: printed in columns. */
void cli_table(struct arena *, const char *cells);

/* For one cell of a table on a terminal: no controls, and no longer than that; "-" for nothing. */
const char *cli_cell(struct arena *, const char *text, size_t characters);

/* Rows as a JSON array on standard output.  Returns 0. */
int cli_json_rows(const struct cli *, const struct record *, const void *rows, size_t n);

/* "2026-11-20 10:26", or "-". */
const char *cli_time(struct arena *, struct moment);
/* "1.5 GiB" */
const char *cli_bytes(struct arena *, int64_t);

/* Does somebody listen on that socket (SOCK_STREAM, SOCK_DGRAM)?  Does a job runner of this machine? */
bool sockets_listen(const char *path, int type);
bool sockets_runner(const struct cli *);

/* 2 to 63 of a-z, 0-9 and - */
bool tenant_is_shortcode(const char *);
/* The tenant of a shortcode.  Returns 0, or the status, and then the fault is told. */
int tenant_find(const struct cli *, const char *shortcode, struct uuid *id);

#define CLI_COMMANDS(C) \
	C(setup_run) C(init_run) C(migrate_command) C(tenant_create) C(tenant_list) C(tenant_glossary) C(client_create) C(client_list) C(client_update) \
	C(tenant_quota) C(client_revoke) C(client_rotate) C(user_create) C(user_list) C(user_password) C(user_invite) C(user_disable) \
	C(user_enable) C(user_unlock_command) C(user_totp_reset) C(key_rotate_command) C(key_list) C(job_list) C(job_show) C(job_retry) C(job_cancel_command) \
	C(provider_command) C(provider_users) C(provider_disable) C(provider_enable) \
	C(job_rerun) C(audit_run) C(settings_run) C(doctor_run) C(backup_run) C(restore_run) C(rebuild_run) C(reindex_run) C(verify_run) C(prune_run) \
	C(store_copy) C(store_verify) C(store_switch) C(store_clear)
#define CLI_COMMAND(name) int name(struct cli *);
CLI_COMMANDS(CLI_COMMAND)
#undef CLI_COMMAND

#endif
