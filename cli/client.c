/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek client: who may ask for tokens. */
#include <string.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "core/role.h"

struct client_row {
	struct uuid id;
	const char *name, *scopes;
	bool is_super_admin;
	struct moment revoked_at, created_at, updated_at;
};
static const struct field client_row_fields[] = {
	FIELD(struct client_row, id, .json = "clientId", .doc = "Client and principal"),
	FIELD(struct client_row, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct client_row, scopes, .doc = "Blank-separated"),
	FIELD(struct client_row, is_super_admin, .sql = "p.is_super_admin", .doc = "Has every permission"),
	FIELD(struct client_row, revoked_at, .doc = "Null while it is live"),
	FIELD(struct client_row, created_at, .doc = "When it was made"),
	FIELD(struct client_row, updated_at, .doc = "When its secret was made"),
};
static const struct record client_row_record = RECORD("ClientRow", struct client_row, client_row_fields);

static const char *
scopes_text(struct arena *mem, unsigned bits)
{
	struct buf b = BUF(mem);
	size_t i;

	for (i = SCOPE_UNSET + 1; scope_name((enum scope)i) != NULL; i++)
		if (bits & SCOPE_BIT(i))
			buf_printf(&b, "%s%s", b.len == 0 ? "" : " ", scope_name((enum scope)i));
	return buf_string(&b);
}

const char *
client_all_scopes(struct arena *mem)
{
	return scopes_text(mem, ~0U);
}

int
client_check_name(const struct cli *c, const char *name)
{
	const unsigned char *p;

	if (name == NULL)
		return cli_fail(c, EX_USAGE, "--name is missing");
	if (!utf8_valid(name, strlen(name)) || utf8_length(name) < 1 || utf8_length(name) > 255)
		return cli_fail(c, EX_USAGE, "--name must have 1 to 255 characters of UTF-8");
	for (p = (const unsigned char *)name; *p != '\0'; p++)
		if (*p < 0x20 || *p == 0x7f)
			return cli_fail(c, EX_USAGE, "--name must have no control characters");
	return 0;
}

int
client_insert(struct cli *c, const struct new_client *k)
{
	struct arg now = TIME(moment_now());

	db_run(c->db,
	    "INSERT INTO principals (id, tenant_id, kind, name, is_super_admin, created_at) "
	    "VALUES (?, ?, 'client', ?, ?, ?)",
	    ARGS(ID(k->id), ID(k->tenant_id), STR(k->name), INT(k->super_admin), now));
	db_run(c->db,
	    "INSERT INTO clients (id, tenant_id, secret_hash, scopes, created_at, updated_at) VALUES "
	    "(?, ?, ?, ?, ?, ?)", ARGS(ID(k->id), ID(k->tenant_id), STR(secret_hash(c->mem, k->secret)), STR(k->scopes),
	    now, now));
	if (k->role != NULL) {
		db_run(c->db,
		    "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, ?, ?)",
		    ARGS(ID(k->channel_id), ID(k->id), STR(k->role), now));
		role_changed(c->db, k->tenant_id);
	}
	return 0;
}

void
client_print_secret(const struct cli *c, const struct new_client *k)
{
	const char *url =
	    arena_printf(c->mem, "%s/realms/%s/protocol/openid-connect/token", c->conf->public_url, k->shortcode);
	struct buf b = BUF(c->mem);
	char id[UUID_TEXT];

	uuid_format(k->id, id);
	if (!c->json) {
		printf("tenantShortcode: %s\nclientId:        %s\nclientSecret:    %s\ntokenUrl:        %s\n",
		    k->shortcode, id, k->secret, url);
		fflush(stdout);
		fputs("The secret is not kept and cannot be shown again.\n", stderr);
		return;
	}
	buf_printf(&b,
	    "{\"tenantShortcode\":\"%s\",\"clientId\":\"%s\",\"clientSecret\":\"%s\",\"tokenUrl\":", k->shortcode, id,
	    k->secret);
	buf_json(&b, url);
	if (!uuid_is_none(k->channel_id))
		buf_printf(&b, ",\"channelId\":\"%s\"", uuid_text(c->mem, k->channel_id));
	printf("%s}\n", buf_string(&b));
}

static int
take_scopes(const struct cli *c, struct new_client *k)
{
	const char *list = cli_option(c, "scopes");
	char *rest, *word;
	size_t i;

	if (list != NULL) {
		rest = arena_copy(c->mem, list);
		while ((word = strsep(&rest, " ,")) != NULL)
			if (word[0] != '\0' && scope_bits(word) == 0)
				return cli_fail(c, EX_USAGE, "there is no scope %s; there are: %s", word,
				    client_all_scopes(c->mem));
		rest = arena_copy(c->mem, list);
		for (i = 0; rest[i] != '\0'; i++)
			rest[i] = rest[i] == ',' ? ' ' : rest[i];
		k->scopes = scopes_text(c->mem, scope_bits(rest));
		return k->scopes[0] == '\0' ? cli_fail(c, EX_USAGE, "--scopes is empty") : 0;
	}
	k->scopes = client_all_scopes(c->mem);
	if (k->role != NULL)
		k->scopes = scopes_text(c->mem, role_permissions(k->role));
	return 0;
}

static int
take_role(const struct cli *c, struct new_client *k)
{
	const char *role = cli_option(c, "role"), *channel = cli_option(c, "channel");

	k->super_admin = cli_option(c, "super-admin") != NULL;
	if (k->super_admin && (role != NULL || channel != NULL))
		return cli_fail(
		    c, EX_USAGE, "--super-admin has every permission already: leave --role and --channel out");
	if (k->super_admin)
		return 0;
	k->role = role == NULL ? "Contributor" : role;
	if (role_permissions(k->role) == 0)
		return cli_fail(c, EX_USAGE, "there is no role %s; there are: %s", role, role_names(c->mem,
		    SCOPE_VIEW_CHANNEL));
	return channel == NULL || cli_id(c, channel, &k->channel_id) ? 0 : EX_USAGE;
}

struct place {
	struct uuid id, default_channel_id;
};
static const struct field place_fields[] = {
	FIELD(struct place, id, .doc = "The tenant"),
	FIELD(struct place, default_channel_id, .doc = "Its default channel"),
};
static const struct record place_record = RECORD("TenantPlace", struct place, place_fields);

static int
insert_client(struct cli *c, void *arg)
{
	struct new_client *k = arg;
	const struct place *tenant;

	tenant = db_row(c->db, &place_record, "FROM tenants t WHERE t.shortcode = ?", ARGS(STR(k->shortcode)));
	if (tenant == NULL)
		return db_failure(c->db) != DB_FINE ? 0
						    : cli_fail(c, EX_NOINPUT, "there is no tenant %s", k->shortcode);
	k->tenant_id = tenant->id;
	if (k->role != NULL && uuid_is_none(k->channel_id))
		k->channel_id = tenant->default_channel_id;
	if (k->role != NULL &&
	    db_number(c->db, "SELECT COUNT(*) FROM channels WHERE id = ? AND tenant_id = ?",
		ARGS(ID(k->channel_id), ID(k->tenant_id)), 0) == 0)
		return db_failure(c->db) != DB_FINE
		    ? 0
		    : cli_fail(c, EX_NOINPUT, "tenant %s has no such channel", k->shortcode);
	return client_insert(c, k);
}

int
client_create(struct cli *c)
{
	struct new_client *k = NEW(c->mem, struct new_client);
	int status;

	*k = (struct new_client){
		.id = uuid_new(), .shortcode = c->arg[0], .name = cli_option(c, "name"), .secret = secret_new(c->mem)
	};
	if ((status = client_check_name(c, k->name)) != 0 || (status = take_role(c, k)) != 0 ||
	    (status = take_scopes(c, k)) != 0 || (status = cli_transaction(c, insert_client, k)) != 0)
		return status;
	client_print_secret(c, k);
	return 0;
}

int
client_list(struct cli *c)
{
	const struct client_row *rows;
	struct buf b = BUF(c->mem);
	char id[UUID_TEXT];
	size_t n, i;

	if (db_number(c->db, "SELECT COUNT(*) FROM tenants WHERE shortcode = ?", ARGS(STR(c->arg[0])), 0) == 0)
		return db_failure(c->db) != DB_FINE ? cli_fail_db(c)
						    : cli_fail(c, EX_NOINPUT, "there is no tenant %s", c->arg[0]);
	rows = db_rows(c->db, &client_row_record,
	    "FROM clients t JOIN principals p ON p.id = t.id "
	    "JOIN tenants n ON n.id = t.tenant_id WHERE n.shortcode = ? ORDER BY t.id",
	    ARGS(STR(c->arg[0])), &n);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (c->json)
		return cli_json_rows(c, &client_row_record, rows, n);
	buf_text(&b, "CLIENT\tNAME\tSTATE\tSCOPES\tCREATED\tSECRET OF\n");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\t%s\t%s\t%s\t%s\t%s\n", uuid_format(rows[i].id, id), rows[i].name,
		    rows[i].revoked_at.ms != 0   ? "revoked"
			: rows[i].is_super_admin ? "SuperAdmin"
						 : "live",
		    rows[i].scopes, cli_time(c->mem, rows[i].created_at), cli_time(c->mem, rows[i].updated_at));
	cli_table(c->mem, buf_string(&b));
	return 0;
}

static int
no_client(const struct cli *c)
{
	return db_failure(c->db) != DB_FINE ? 0 : cli_fail(c, EX_NOINPUT, "there is no live client %s", c->arg[0]);
}

static int
revoke(struct cli *c, void *id)
{
	struct arg now = TIME(moment_now());

	return db_run(c->db, "UPDATE clients SET revoked_at = ?, updated_at = ? WHERE id = ? AND revoked_at = 0",
		   ARGS(now, now, ID(*(struct uuid *)id))) == 1
	    ? 0
	    : no_client(c);
}

int
client_revoke(struct cli *c)
{
	struct uuid id;
	int status;

	if (!cli_id(c, c->arg[0], &id))
		return EX_USAGE;
	status = cli_transaction(c, revoke, &id);
	if (status == 0)
		printf(c->json ? "{\"clientId\":\"%s\",\"revoked\":true}\n"
			       : "%s is revoked; its tokens end within a minute.\n",
		    c->arg[0]);
	return status;
}

static int
rotate(struct cli *c, void *arg)
{
	struct new_client *k = arg;

	if (db_run(c->db, "UPDATE clients SET secret_hash = ?, updated_at = ? WHERE id = ? AND revoked_at = 0",
		ARGS(STR(secret_hash(c->mem, k->secret)), TIME(moment_now()), ID(k->id))) != 1)
		return no_client(c);
	k->shortcode = db_text(c->db,
	    "SELECT n.shortcode FROM clients t JOIN tenants n ON n.id = t.tenant_id WHERE t.id = ?", ARGS(ID(k->id)));
	return 0;
}

int
client_rotate(struct cli *c)
{
	struct new_client k = { .secret = secret_new(c->mem) };
	int status;

	if (!cli_id(c, c->arg[0], &k.id))
		return EX_USAGE;
	status = cli_transaction(c, rotate, &k);
	if (status == 0)
		client_print_secret(c, &k);
	return status;
}
