/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek client: who may ask for tokens. */
#include <string.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "core/client.h"
#include "core/role.h"
#include "core/token.h"

struct client_row {
	struct uuid id;
	const char *name, *scopes;
	bool is_super_admin, is_public;
	struct strings redirect_uris, logout_uris;
	struct moment revoked_at, created_at, updated_at;
};
static const struct field client_row_fields[] = {
	FIELD(struct client_row, id, .json = "clientId", .doc = "Client and principal"),
	FIELD(struct client_row, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct client_row, scopes, .doc = "Blank-separated"),
	FIELD(struct client_row, is_super_admin, .sql = "p.is_super_admin", .doc = "Has every permission"),
	FIELD(struct client_row, is_public, .doc = "Has no secret"),
	FIELD(struct client_row, redirect_uris, .doc = "Where users are sent with a code"),
	FIELD(struct client_row, logout_uris, .json = "postLogoutRedirectUris",
	    .doc = "Where users are sent when they have signed out"),
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
	if (name == NULL)
		return cli_fail(c, EX_USAGE, "--name is missing");
	if (!utf8_valid(name, strlen(name)) || utf8_length(name) < 1 || utf8_length(name) > 255)
		return cli_fail(c, EX_USAGE, "--name must have 1 to 255 characters of UTF-8");
	return utf8_line(name) ? 0 : cli_fail(c, EX_USAGE, "--name must be one line, without controls");
}

void
client_join(struct cli *c, const struct new_client *k)
{
	if (k->role == NULL)
		return;
	db_run(c->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, ?, ?)",
	    ARGS(ID(k->channel_id), ID(k->id), STR(k->role), TIME(moment_now())));
	role_changed(c->db, k->tenant_id);
	cli_audit(c, k->tenant_id, "member.added", k->channel_id, arena_printf(c->mem,
	    "{\"principalId\":\"%s\",\"role\":\"%s\"}", uuid_text(c->mem, k->id), k->role));
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
	    "INSERT INTO clients (id, tenant_id, secret_hash, scopes, is_public, redirect_uris, logout_uris, "
	    "created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(k->id), ID(k->tenant_id),
	    STR(k->secret != NULL ? secret_hash(c->mem, k->secret) : ""), STR(k->scopes), INT(k->secret == NULL),
	    STR(k->redirect_uris), STR(k->logout_uris), now, now));
	cli_audit(c, k->tenant_id, "client.created", k->id, arena_printf(c->mem,
	    "{\"scopes\":\"%s\",\"isSuperAdmin\":%s}", k->scopes, k->super_admin ? "true" : "false"));
	client_join(c, k);
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
		printf("tenantShortcode: %s\nclientId:        %s\n", k->shortcode, id);
		if (k->secret != NULL)
			printf("clientSecret:    %s\n", k->secret);
		printf("tokenUrl:        %s\n", url);
		fflush(stdout);
		if (k->secret != NULL)
			fputs("The secret is not kept and cannot be shown again.\n", stderr);
		return;
	}
	buf_printf(&b, "{\"tenantShortcode\":\"%s\",\"clientId\":\"%s\",", k->shortcode, id);
	if (k->secret != NULL)
		buf_printf(&b, "\"clientSecret\":\"%s\",", k->secret);
	buf_text(&b, "\"tokenUrl\":");
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

int
client_take_role(const struct cli *c, struct new_client *k)
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

/* A JSON array of all values of the option; "" alone: none.  NULL: it was not given. */
static int
take_addresses(const struct cli *c, const char *option, const char **json)
{
	const struct option_value *o;
	struct buf b = BUF(c->mem);
	const char *fault;
	int n = 0;

	for (o = c->options; o->name != NULL; o++) {
		if (strcmp(o->name, option) != 0)
			continue;
		*json = "[]";
		if (*o->value == '\0')
			continue;
		if ((fault = client_address_fault(o->value)) != NULL)
			return cli_fail(c, EX_USAGE, "--%s %s: %s", option, o->value, fault);
		if (++n > CLIENT_ADDRESSES_MAX)
			return cli_fail(c, EX_USAGE, "--%s may be given %d times", option, CLIENT_ADDRESSES_MAX);
		buf_char(&b, b.len == 0 ? '[' : ',');
		buf_json(&b, o->value);
	}
	if (n > 0)
		*json = arena_printf(c->mem, "%s]", buf_string(&b));
	return 0;
}

static int
take_all_addresses(const struct cli *c, struct new_client *k)
{
	int status = take_addresses(c, "redirect-uri", &k->redirect_uris);

	return status != 0 ? status : take_addresses(c, "post-logout-uri", &k->logout_uris);
}

/* A program in everybody's hands has no secret and may nothing by itself. */
static int
take_kind(const struct cli *c, struct new_client *k)
{
	if (cli_option(c, "public") == NULL) {
		k->secret = secret_new(c->mem);
		return client_take_role(c, k);
	}
	if (cli_option(c, "super-admin") != NULL || cli_option(c, "role") != NULL || cli_option(c, "channel") != NULL)
		return cli_fail(c, EX_USAGE, "--public acts for users alone: leave --super-admin, --role and --channel "
		    "out");
	return k->redirect_uris == NULL ? cli_fail(c, EX_USAGE, "--public needs --redirect-uri") : 0;
}

struct place {
	struct uuid id, default_channel_id;
};
static const struct field place_fields[] = {
	FIELD(struct place, id, .doc = "The tenant"),
	FIELD(struct place, default_channel_id, .doc = "Its default channel"),
};
static const struct record place_record = RECORD("TenantPlace", struct place, place_fields);

int
client_place(struct cli *c, struct new_client *k)
{
	const struct place *tenant;

	tenant = db_row(c->db, &place_record, "FROM tenants t WHERE t.shortcode = ?", ARGS(STR(k->shortcode)));
	if (tenant == NULL)
		return db_failure(c->db) != DB_FINE ? 0
						    : cli_fail(c, EX_NOINPUT, "there is no tenant %s", k->shortcode);
	k->tenant_id = tenant->id;
	if (k->role != NULL && uuid_is_none(k->channel_id))
		k->channel_id = tenant->default_channel_id;
	if (k->role != NULL &&
	    db_number(c->db, "SELECT COUNT(*) FROM channels WHERE id = ? AND tenant_id = ? AND closing_at = 0",
		ARGS(ID(k->channel_id), ID(k->tenant_id)), 0) == 0)
		return db_failure(c->db) != DB_FINE
		    ? 0
		    : cli_fail(c, EX_NOINPUT, "tenant %s has no such channel", k->shortcode);
	return 0;
}

static int
insert_client(struct cli *c, void *arg)
{
	struct new_client *k = arg;
	int status = client_place(c, k);

	return status != 0 || db_failure(c->db) != DB_FINE ? status : client_insert(c, k);
}

int
client_create(struct cli *c)
{
	struct new_client *k = NEW(c->mem, struct new_client);
	int status;

	*k = (struct new_client){
		.id = uuid_new(), .shortcode = c->arg[0], .name = cli_option(c, "name")
	};
	if ((status = client_check_name(c, k->name)) != 0 || (status = take_all_addresses(c, k)) != 0 ||
	    (status = take_kind(c, k)) != 0 ||
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
	struct uuid tenant_id;
	size_t n, i;
	int status;

	if ((status = tenant_find(c, c->arg[0], &tenant_id)) != 0)
		return status;
	rows = db_rows(c->db, &client_row_record,
	    "FROM clients t JOIN principals p ON p.id = t.id WHERE t.tenant_id = ? ORDER BY t.id",
	    ARGS(ID(tenant_id)), &n);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (c->json)
		return cli_json_rows(c, &client_row_record, rows, n);
	buf_text(&b, "CLIENT\tNAME\tSTATE\tSCOPES\tCREATED\tSECRET OF\n");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\t%s\t%s\t%s\t%s\t%s\n", uuid_format(rows[i].id, id), rows[i].name,
		    rows[i].revoked_at.ms != 0   ? "revoked"
			: rows[i].is_super_admin ? "SuperAdmin"
			: rows[i].is_public      ? "public"
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

static void
audit_client(struct cli *c, struct uuid id, const char *type)
{
	const struct place *tenant = db_row(c->db, &place_record,
	    "FROM tenants t JOIN clients k ON k.tenant_id = t.id WHERE k.id = ?", ARGS(ID(id)));

	if (tenant != NULL)
		cli_audit(c, tenant->id, type, id, NULL);
}

static int
revoke(struct cli *c, void *arg)
{
	struct uuid id = *(struct uuid *)arg;
	struct arg now = TIME(moment_now());

	if (db_run(c->db, "UPDATE clients SET revoked_at = ?, updated_at = ? WHERE id = ? AND revoked_at = 0",
		ARGS(now, now, ID(id))) != 1)
		return no_client(c);
	audit_client(c, id, "client.revoked");
	return 0;
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
update(struct cli *c, void *arg)
{
	const struct new_client *k = arg;

	if (db_run(c->db, "UPDATE clients SET scopes = COALESCE(?, scopes), redirect_uris = "
	    "COALESCE(?, redirect_uris), "
	    "logout_uris = COALESCE(?, logout_uris) WHERE id = ? AND revoked_at = 0", ARGS(STR(k->scopes),
	    STR(k->redirect_uris), STR(k->logout_uris), ID(k->id))) != 1)
		return no_client(c);
	if (k->name != NULL)
		db_run(c->db, "UPDATE principals SET name = ? WHERE id = ?", ARGS(STR(k->name), ID(k->id)));
	audit_client(c, k->id, "client.updated");
	return 0;
}

int
client_update(struct cli *c)
{
	struct new_client k = { .name = cli_option(c, "name") };
	int status = 0;

	if (!cli_id(c, c->arg[0], &k.id))
		return EX_USAGE;
	if ((k.name != NULL && (status = client_check_name(c, k.name)) != 0) ||
	    (status = take_all_addresses(c, &k)) != 0 ||
	    (cli_option(c, "scopes") != NULL && (status = take_scopes(c, &k)) != 0))
		return status;
	if (k.name == NULL && k.scopes == NULL && k.redirect_uris == NULL && k.logout_uris == NULL)
		return cli_fail(c, EX_USAGE, "nothing to change; see kinothek client update --help");
	status = cli_transaction(c, update, &k);
	if (status == 0)
		printf(c->json ? "{\"clientId\":\"%s\",\"updated\":true}\n" : "%s is changed.\n", c->arg[0]);
	return status;
}

static int
rotate(struct cli *c, void *arg)
{
	struct new_client *k = arg;

	if (db_run(c->db, "UPDATE clients SET secret_hash = ?, updated_at = ? WHERE id = ? AND revoked_at = 0 AND "
	    "is_public = 0",
		ARGS(STR(secret_hash(c->mem, k->secret)), TIME(moment_now()), ID(k->id))) != 1)
		return no_client(c);
	audit_client(c, k->id, "client.rotated");
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
