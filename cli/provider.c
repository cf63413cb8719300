/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek tenant provider, kinothek provider: external token servers, and whom they vouch for. */
#include <string.h>

#include "cli/cli.h"
#include "core/provider.h"

enum { LIST_MAX = 32, WORD_MAX = 255, URL_MAX = 512 };

struct setting { struct provider row; const char *key_set; };

struct user_row {
	struct uuid id;
	const char *name, *issuer, *sub;
	struct moment disabled_at, created_at;
};
static const struct field user_row_fields[] = {
	FIELD(struct user_row, id, .json = "principalId", .doc = "Principal"),
	FIELD(struct user_row, name, .sql = "p.name", .doc = "Shown to people"),
	FIELD(struct user_row, issuer, .doc = "Who vouches for the user"),
	FIELD(struct user_row, sub, .doc = "What the user is called there"),
	FIELD(struct user_row, disabled_at, .doc = "Null while it is live"),
	FIELD(struct user_row, created_at, .doc = "First sight"),
};
static const struct record user_row_record = RECORD("ProviderUserRow", struct user_row, user_row_fields);

static const char *
joined(struct arena *mem, const struct strings *list)
{
	struct buf b = BUF(mem);
	size_t i;

	for (i = 0; i < list->n; i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "", list->at[i]);
	return b.len > 0 ? buf_string(&b) : "-";
}

static int
show(const struct cli *c, const struct provider *p)
{
	struct buf b = BUF(c->mem);

	if (c->json) {
		if (p != NULL)
			record_render(&b, &provider_record, p, false);
		printf("%s\n", p != NULL ? buf_string(&b) : "null");
		return 0;
	}
	if (p == NULL)
		return cli_fail(c, 0, "tokens of this tenant are made here");
	buf_printf(&b,
	    "issuer:\t%s\nkeys:\t%s\naudience:\t%s\nazp:\t%s\nroles:\t%s\nname:\t%s\nread:\t%s\nasked:\t%s\n",
	    p->issuer, p->jwks_uri, joined(c->mem, &p->audiences), joined(c->mem, &p->clients), p->roles_claim,
	    p->name_claim, cli_time(c->mem, p->read_at), cli_time(c->mem, p->asked_at));
	cli_table(c->mem, buf_string(&b));
	return 0;
}

/* Words with commas or blanks between. */
static int
take_list(const struct cli *c, const char *option, struct strings *out)
{
	char *rest = arena_copy(c->mem, cli_option(c, option)), *word;

	out->at = arena_array(c->mem, LIST_MAX, sizeof(*out->at));
	while (rest != NULL && (word = strsep(&rest, ", ")) != NULL) {
		if (*word == '\0')
			continue;
		if (out->n == LIST_MAX || strlen(word) > WORD_MAX || !utf8_valid(word, strlen(word)))
			return cli_fail(c, EX_USAGE, "--%s takes at most %d words of at most %d bytes", option,
			    LIST_MAX,
			    WORD_MAX);
		out->at[out->n++] = word;
	}
	return 0;
}

static int
take_claim(const struct cli *c, const char *option, const char *preset, const char **out)
{
	*out = cli_option(c, option) != NULL ? cli_option(c, option) : preset;
	if (**out == '\0' || strlen(*out) > WORD_MAX || !utf8_valid(*out, strlen(*out)))
		return cli_fail(c, EX_USAGE, "--%s must have 1 to %d bytes of UTF-8", option, WORD_MAX);
	return 0;
}

/* Ours would be judged by our own keys, and never asked for. */
static bool
is_ours(const struct cli *c, const char *issuer)
{
	const char *realms = arena_printf(c->mem, "%s/realms/", c->conf->public_url);

	return strncmp(issuer, realms, strlen(realms)) == 0;
}

static int
take_issuer(const struct cli *c, struct provider *p)
{
	p->issuer = cli_option(c, "issuer");
	if (p->issuer == NULL)
		return cli_fail(c, EX_USAGE, "--issuer is missing");
	if (strlen(p->issuer) > URL_MAX || strpbrk(p->issuer, "?#") != NULL ||
	    !provider_may_ask(c->mem, c->conf, p->issuer))
		return cli_fail(c, EX_USAGE, "--issuer must be an address of https (or of a host that "
		    "provider.private_hosts names), with at most %d characters and without ? and #", URL_MAX);
	return is_ours(c, p->issuer) ? cli_fail(c, EX_USAGE, "%s is this service itself", p->issuer) : 0;
}

static int
take_options(const struct cli *c, struct provider *p)
{
	int status;

	if ((status = take_issuer(c, p)) != 0 || (status = take_list(c, "audience", &p->audiences)) != 0 ||
	    (status = take_list(c, "azp", &p->clients)) != 0 ||
	    (status = take_claim(c, "roles-claim", "realm_access.roles", &p->roles_claim)) != 0)
		return status;
	if (p->audiences.n == 0 && p->clients.n == 0)
		return cli_fail(c, EX_USAGE, "say by --audience or --azp whose tokens are taken: a provider makes them "
		    "for other services, too");
	return take_claim(c, "name-claim", "name", &p->name_claim);
}

/* What the options leave open is asked of the provider, and its keys are read at once. */
static int
ask(const struct cli *c, struct setting *s)
{
	const char *why, *uri = cli_option(c, "jwks-uri");

	s->row.jwks_uri = uri != NULL ? uri : provider_discover(c->mem, c->conf, s->row.issuer, &why);
	if (s->row.jwks_uri == NULL)
		return cli_fail(c, EX_UNAVAILABLE, "%s cannot be used: %s", s->row.issuer, why);
	s->key_set = provider_fetch(c->mem, c->conf, s->row.jwks_uri, &why);
	if (s->key_set == NULL)
		return cli_fail(c, EX_UNAVAILABLE, "no keys can be had from %s: %s", s->row.jwks_uri, why);
	return 0;
}

static const char *
array(struct arena *mem, const struct strings *list)
{
	struct buf b = BUF(mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < list->n; i++) {
		buf_text(&b, i > 0 ? "," : "");
		buf_json(&b, list->at[i]);
	}
	buf_char(&b, ']');
	return buf_string(&b);
}

static const char *
data_of(struct arena *mem, const char *issuer)
{
	struct buf b = BUF(mem);

	buf_text(&b, "{\"issuer\":");
	buf_json(&b, issuer);
	buf_char(&b, '}');
	return buf_string(&b);
}

static int
write_provider(struct cli *c, void *arg)
{
	const struct setting *s = arg;
	const struct provider *p = &s->row;
	struct arg now = TIME(moment_now());

	if (db_number(c->db, "SELECT COUNT(*) FROM tenant_providers WHERE issuer = ? AND tenant_id <> ?",
	    ARGS(STR(p->issuer), ID(p->tenant_id)), 0) > 0)
		return cli_fail(c, EX_DATAERR, "another tenant has the issuer %s: which tenant a token is of follows "
		    "from it alone", p->issuer);
	db_run(c->db, "DELETE FROM tenant_providers WHERE tenant_id = ?", ARGS(ID(p->tenant_id)));
	db_run(c->db, "INSERT INTO tenant_providers (tenant_id, issuer, jwks_uri, audiences, clients, roles_claim, "
	    "name_claim, key_set, read_at, asked_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, " SQL_NOW
	    ", " SQL_NOW ", ?, ?)", ARGS(ID(p->tenant_id), STR(p->issuer), STR(p->jwks_uri),
	    STR(array(c->mem, &p->audiences)), STR(array(c->mem, &p->clients)), STR(p->roles_claim), STR(p->name_claim),
	    STR(s->key_set), now, now));
	cli_audit(c, p->tenant_id, "provider.set", p->tenant_id, data_of(c->mem, p->issuer));
	return 0;
}

static int
remove_provider(struct cli *c, void *arg)
{
	const struct setting *s = arg;

	if (db_run(c->db, "DELETE FROM tenant_providers WHERE tenant_id = ?", ARGS(ID(s->row.tenant_id))) == 1)
		cli_audit(c, s->row.tenant_id, "provider.removed", s->row.tenant_id, NULL);
	return 0;
}

static bool
is_setting(const struct cli *c)
{
	static const char *const options[] = { "issuer", "jwks-uri", "audience", "azp", "roles-claim", "name-claim" };
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (cli_option(c, options[i]) != NULL)
			return true;
	return false;
}

struct tenant_id { struct uuid id; };
static const struct field tenant_id_fields[] = {
	FIELD(struct tenant_id, id, .doc = "The tenant"),
};
static const struct record tenant_id_record = RECORD("TenantId", struct tenant_id, tenant_id_fields);

/* False: it is told already, and *status says how to end. */
static bool
find_tenant(const struct cli *c, struct uuid *id, int *status)
{
	const struct tenant_id *t = db_row(c->db, &tenant_id_record, "FROM tenants t WHERE t.shortcode = ?",
	    ARGS(STR(c->arg[0])));

	if (t != NULL)
		*id = t->id;
	else
		*status = db_failure(c->db) != DB_FINE ? cli_fail_db(c)
						       : cli_fail(c, EX_DATAERR, "there is no tenant %s", c->arg[0]);
	return t != NULL;
}

int
provider_command(struct cli *c)
{
	struct setting s = { .key_set = NULL };
	const struct provider *p;
	int status;

	if (!find_tenant(c, &s.row.tenant_id, &status))
		return status;
	if (cli_option(c, "none") != NULL && is_setting(c))
		return cli_fail(c, EX_USAGE, "--none excludes all others");
	if (cli_option(c, "none") != NULL) {
		if ((status = cli_transaction(c, remove_provider, &s)) != 0)
			return status;
	} else if (is_setting(c)) {
		if ((status = take_options(c, &s.row)) != 0 || (status = ask(c, &s)) != 0 ||
		    (status = cli_transaction(c, write_provider, &s)) != 0)
			return status;
	}
	p = provider_of(c->db, c->arg[0]);
	return db_failure(c->db) != DB_FINE ? cli_fail_db(c) : show(c, p);
}

int
provider_users(struct cli *c)
{
	const struct user_row *rows;
	struct buf b = BUF(c->mem);
	struct uuid tenant_id;
	int status;
	size_t n, i;

	if (!find_tenant(c, &tenant_id, &status))
		return status;
	rows = db_rows(c->db, &user_row_record, "FROM provider_users t JOIN principals p ON p.id = t.id WHERE "
	    "t.tenant_id = ? ORDER BY t.id", ARGS(ID(tenant_id)), &n);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (c->json)
		return cli_json_rows(c, &user_row_record, rows, n);
	if (n == 0)
		return cli_fail(c, 0, "nobody has come with a token of an external server yet");
	buf_text(&b, "PRINCIPAL-ID\tNAME\tSUB\tISSUER\tSINCE\tSTATE\n");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\t%s\t%s\t%s\t%s\t%s\n", uuid_text(c->mem, rows[i].id), rows[i].name, rows[i].sub,
		    rows[i].issuer, cli_time(c->mem, rows[i].created_at), rows[i].disabled_at.ms != 0 ? "disabled" :
		    "live");
	cli_table(c->mem, buf_string(&b));
	return 0;
}

struct change { struct uuid id; bool disables; };

static int
write_user(struct cli *c, void *arg)
{
	const struct change *k = arg;
	const struct tenant_id *t = db_row(c->db, &tenant_id_record, "FROM provider_users u JOIN tenants t ON t.id = "
	    "u.tenant_id WHERE u.id = ? FOR UPDATE", ARGS(ID(k->id)));

	if (t == NULL)
		return db_failure(c->db) != DB_FINE ? 0 : cli_fail(c, EX_NOINPUT, "there is no such user of an "
		    "external server");
	db_run(c->db, "UPDATE provider_users SET disabled_at = ? WHERE id = ?",
	    ARGS(INT(k->disables ? moment_now().ms : 0), ID(k->id)));
	cli_audit(c, t->id, k->disables ? "user.disabled" : "user.enabled", k->id, NULL);
	return 0;
}

static int
change_user(struct cli *c, bool disables)
{
	struct change k = { .disables = disables };
	int status = cli_id(c, c->arg[0], &k.id) ? cli_transaction(c, write_user, &k) : EX_USAGE;

	if (status == 0 && c->json)
		printf("{\"principalId\":\"%s\",\"disabled\":%s}\n", c->arg[0], disables ? "true" : "false");
	return status;
}

int
provider_disable(struct cli *c)
{
	return change_user(c, true);
}

int
provider_enable(struct cli *c)
{
	return change_user(c, false);
}
