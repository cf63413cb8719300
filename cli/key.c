/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek key: the keys that sign tokens. */
#include <stdlib.h>

#include "cli/cli.h"
#include "core/key.h"
#include "core/token.h"

struct key_row {
	struct uuid id;
	struct moment created_at, retired_at;
};
static const struct field key_row_fields[] = {
	FIELD(struct key_row, id, .json = "kid", .doc = "Id of the key"),
	FIELD(struct key_row, created_at, .doc = "When it was made"),
	FIELD(struct key_row, retired_at, .doc = "Since when a newer one signs"),
};
static const struct record key_row_record = RECORD("KeyRow", struct key_row, key_row_fields);

struct tenant_id { struct uuid id; };
static const struct field tenant_id_fields[] = {
	FIELD(struct tenant_id, id, .doc = "The tenant"),
};
static const struct record tenant_id_record = RECORD("TenantId", struct tenant_id, tenant_id_fields);

/* The key is everybody's: it stands in the audit of every tenant. */
static int
rotate(struct cli *c, void *arg)
{
	const char *kid = *(const char **)arg = key_rotate(c->db, c->mem);
	const struct tenant_id *t;
	struct uuid id;
	size_t n, i;

	if (!uuid_parse(kid, &id))
		abort();
	t = db_rows(c->db, &tenant_id_record, "FROM tenants t ORDER BY t.id", NO_ARGS, &n);
	for (i = 0; i < n; i++)
		cli_audit(c, t[i].id, "key.rotated", id, NULL);
	return 0;
}

int
key_rotate_command(struct cli *c)
{
	const char *kid;
	int status;

	status = cli_transaction(c, rotate, &kid);
	if (status == 0)
		printf(c->json ? "{\"kid\":\"%s\"}\n"
			       : "%s signs new tokens in about two minutes; older tokens stay valid.\n",
		    kid);
	return status;
}

int
key_list(struct cli *c)
{
	const struct key_row *rows;
	struct buf b = BUF(c->mem);
	char id[UUID_TEXT];
	size_t n, i;

	rows =
	    db_rows(c->db, &key_row_record, "FROM signing_keys t ORDER BY t.created_at DESC, t.id DESC", NO_ARGS, &n);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (c->json)
		return cli_json_rows(c, &key_row_record, rows, n);
	buf_text(&b, "KEY\tCREATED\tRETIRED\n");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\t%s\t%s\n", uuid_format(rows[i].id, id), cli_time(c->mem, rows[i].created_at),
		    cli_time(c->mem, rows[i].retired_at));
	cli_table(c->mem, buf_string(&b));
	return 0;
}
