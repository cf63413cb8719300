/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek tenant: make and show tenants, how much they may store, and the words that their engines expect. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "core/client.h"
#include "core/glossary.h"
#include "core/token.h"

struct tenant {
	struct uuid id;
	const char *shortcode, *name;
	int64_t token_lifetime;
	struct number storage_quota;
	struct moment created_at, updated_at;
};
static const struct field tenant_fields[] = {
	FIELD(struct tenant, id, .on = SERVER, .doc = "Unique id"),
	FIELD(struct tenant, shortcode, .on = SERVER, .doc = "Name in addresses"),
	FIELD(struct tenant, name, .on = SERVER, .doc = "Shown to people"),
	FIELD(struct tenant, token_lifetime, .on = SERVER, .doc = "Seconds"),
	FIELD(struct tenant, storage_quota, .on = SERVER, .doc = "Bytes"),
	FIELD(struct tenant, created_at, .on = SERVER, .doc = "When it was made"),
	FIELD(struct tenant, updated_at, .on = SERVER, .doc = "When it changed"),
};
static const struct record tenant_record = RECORD("Tenant", struct tenant, tenant_fields);

/* What the list shows. */
struct tenant_row {
	struct uuid id;
	const char *shortcode, *name;
	int64_t token_lifetime, media_count, storage_used;
	struct number storage_quota;
	struct moment created_at;
};
static const struct field tenant_row_fields[] = {
	FIELD(struct tenant_row, id, .doc = "Unique id"),
	FIELD(struct tenant_row, shortcode, .json = "tenantShortcode", .doc = "Name in addresses"),
	FIELD(struct tenant_row, name, .doc = "Shown to people"),
	FIELD(struct tenant_row, token_lifetime, .doc = "Seconds"),
	FIELD(struct tenant_row, media_count, .sql = "COALESCE(u.media_count, 0)", .doc = "Assets"),
	FIELD(struct tenant_row, storage_used, .sql = "COALESCE(u.storage_used, 0)", .doc = "Bytes"),
	FIELD(struct tenant_row, storage_quota, .doc = "Bytes"),
	FIELD(struct tenant_row, created_at, .doc = "When it was made"),
};
static const struct record tenant_row_record = RECORD("TenantRow", struct tenant_row, tenant_row_fields);

#define QUOTA_MAX	(INT64_C(1) << 52)	/* bytes */

/* A tenant in the making. */
struct making {
	struct tenant tenant;
	struct uuid channel_id;
	struct new_client client;
};

bool
tenant_is_shortcode(const char *text)
{
	size_t n = strlen(text);

	return n >= 2 && n <= 63 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

int
tenant_find(const struct cli *c, const char *shortcode, struct uuid *id)
{
	const struct tenant *t = db_row(c->db, &tenant_record, "FROM tenants t WHERE t.shortcode = ?",
	    ARGS(STR(shortcode)));

	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (t == NULL)
		return cli_fail(c, EX_NOINPUT, "there is no tenant %s", shortcode);
	*id = t->id;
	return 0;
}

static int
insert_tenant(struct cli *c, void *arg)
{
	struct making *m = arg;
	const struct tenant *t = &m->tenant;
	struct arg now = TIME(t->created_at);
	int status;

	if (!db_insert(c->db, "tenants", &tenant_record, t))
		return db_failure(c->db) != DB_FINE
		    ? 0
		    : cli_fail(c, EX_DATAERR, "there is a tenant %s already", t->shortcode);
	db_run(c->db, "INSERT INTO tenant_usage (tenant_id) VALUES (?)", ARGS(ID(t->id)));
	db_run(c->db,
	    "INSERT INTO channels (id, tenant_id, name, type, visibility, created_at, updated_at) "
	    "VALUES (?, ?, ?, 'group', 'private', ?, ?)",
	    ARGS(ID(m->channel_id), ID(t->id), STR(t->name), now, now));
	db_run(c->db, "UPDATE tenants SET default_channel_id = ? WHERE id = ?", ARGS(ID(m->channel_id), ID(t->id)));
	cli_audit(c, t->id, "tenant.created", t->id, NULL);
	status = client_insert(c, &m->client);
	return status;
}

static int
take_number(const struct cli *c, const char *option, int64_t min, int64_t max, struct number *out)
{
	const char *text = cli_option(c, option);

	if (text == NULL)
		return 0;
	if (!int_parse(text, &out->n) || out->n < min || out->n > max)
		return cli_fail(c, EX_USAGE, "--%s must be a whole number from %lld to %lld", option, (long long)min,
		    (long long)max);
	out->set = true;
	return 0;
}

int
tenant_create(struct cli *c)
{
	struct making *m = NEW(c->mem, struct making);
	struct number lifetime = { 57600, true };
	int status;

	if (!tenant_is_shortcode(c->arg[0]))
		return cli_fail(c, EX_USAGE, "a shortcode has 2 to 63 of a-z, 0-9 and -");
	m->tenant = (struct tenant){ .id = uuid_new(), .shortcode = c->arg[0], .name = cli_option(c, "name") };
	m->tenant.created_at = m->tenant.updated_at = moment_now();
	if ((status = client_check_name(c, m->tenant.name)) != 0 ||
	    (status = take_number(c, "token-lifetime", 60, 2592000, &lifetime)) != 0 ||
	    (status = take_number(c, "quota", 0, QUOTA_MAX, &m->tenant.storage_quota)) != 0)
		return status;
	m->tenant.token_lifetime = lifetime.n;
	m->channel_id = uuid_new();
	m->client = (struct new_client){ .id = uuid_new(),
		.tenant_id = m->tenant.id,
		.shortcode = m->tenant.shortcode,
		.name = m->tenant.name,
		.super_admin = true,
		.role = "Channel Owner",
		.channel_id = m->channel_id,
		.scopes = client_all_scopes(c->mem),
		.secret = secret_new(c->mem) };
	status = cli_transaction(c, insert_tenant, m);
	if (status == 0)
		client_print_secret(c, &m->client);
	return status;
}

int
tenant_list(struct cli *c)
{
	const struct tenant_row *rows;
	struct buf b = BUF(c->mem);
	size_t n, i;

	rows = db_rows(c->db, &tenant_row_record,
	    "FROM tenants t LEFT JOIN tenant_usage u ON u.tenant_id = t.id "
	    "ORDER BY t.shortcode",
	    NO_ARGS, &n);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (c->json)
		return cli_json_rows(c, &tenant_row_record, rows, n);
	if (n == 0)
		return cli_fail(c, 0, "no tenant yet; `kinothek tenant create SHORTCODE --name NAME` makes one");
	buf_text(&b, "SHORTCODE\tNAME\tASSETS\tSTORAGE\tQUOTA\tTOKEN\tCREATED\n");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\t%s\t%lld\t%s\t%s\t%lld s\t%s\n", rows[i].shortcode, rows[i].name,
		    (long long)rows[i].media_count, cli_bytes(c->mem, rows[i].storage_used),
		    rows[i].storage_quota.set ? cli_bytes(c->mem, rows[i].storage_quota.n) : "-",
		    (long long)rows[i].token_lifetime, cli_time(c->mem, rows[i].created_at));
	cli_table(c->mem, buf_string(&b));
	return 0;
}

struct limit { struct uuid tenant_id; struct number quota; };

static int
write_quota(struct cli *c, void *arg)
{
	const struct limit *l = arg;
	const char *text = l->quota.set ? arena_printf(c->mem, "%lld", (long long)l->quota.n) : NULL;

	/* It is in the settings that the API answers, whose tag is made of the version. */
	db_run(c->db, "UPDATE tenants SET storage_quota = ?, version = version + 1, updated_at = ? WHERE id = ?",
	    ARGS(STR(text), TIME(moment_now()), ID(l->tenant_id)));
	cli_audit(c, l->tenant_id, "tenant.settings", l->tenant_id, arena_printf(c->mem, "{\"storageQuota\":%s}",
	    text != NULL ? text : "null"));
	return 0;
}

int
tenant_quota(struct cli *c)
{
	const bool none = cli_option(c, "none") != NULL;
	const struct tenant_row *row;
	struct limit l = { .quota = { 0 } };
	int status;

	if (none && cli_option(c, "set") != NULL)
		return cli_fail(c, EX_USAGE, "--set and --none exclude each other");
	if ((status = take_number(c, "set", 0, QUOTA_MAX, &l.quota)) != 0 ||
	    (status = tenant_find(c, c->arg[0], &l.tenant_id)) != 0 ||
	    ((none || l.quota.set) && (status = cli_transaction(c, write_quota, &l)) != 0))
		return status;
	row = db_row(c->db, &tenant_row_record, "FROM tenants t LEFT JOIN tenant_usage u ON u.tenant_id = t.id WHERE "
	    "t.id = ?", ARGS(ID(l.tenant_id)));
	if (row == NULL)
		return cli_fail_db(c);
	if (c->json)
		printf("{\"storageUsed\":%lld,\"storageQuota\":%s}\n", (long long)row->storage_used,
		    row->storage_quota.set ? arena_printf(c->mem, "%lld", (long long)row->storage_quota.n) : "null");
	else
		printf("%s used, %s\n", cli_bytes(c->mem, row->storage_used), row->storage_quota.set
		    ? arena_printf(c->mem, "of %s", cli_bytes(c->mem, row->storage_quota.n)) : "without a limit");
	return 0;
}

enum { GLOSSARY_FILE_MAX = 4 << 20 };

/* The whole of a file, "-" for standard input; NULL: it is told why not. */
static const char *
read_terms(const struct cli *c, const char *name, size_t *n)
{
	FILE *f = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
	char *text = arena_alloc(c->mem, GLOSSARY_FILE_MAX + 1);

	if (f != NULL)
		*n = fread(text, 1, GLOSSARY_FILE_MAX + 1, f);
	if (f == NULL || ferror(f)) {
		cli_fail(c, EX_NOINPUT, "%s: %s", name, strerror(errno));
		return NULL;
	}
	if (f != stdin)
		fclose(f);
	if (*n <= GLOSSARY_FILE_MAX)
		return text;
	cli_fail(c, EX_DATAERR, "%s is larger than %d MiB", name, GLOSSARY_FILE_MAX >> 20);
	return NULL;
}

struct renewal { struct uuid tenant_id; struct strings terms; };

static int
write_glossary(struct cli *c, void *arg)
{
	const struct renewal *r = arg;

	glossary_write(c->db, r->tenant_id, &r->terms);
	cli_audit(c, r->tenant_id, "tenant.settings", r->tenant_id, arena_printf(c->mem, "{\"glossary\":%zu}",
	    r->terms.n));
	return 0;
}

static int
print_glossary(struct cli *c, const struct strings *terms)
{
	struct buf b = BUF(c->mem);
	size_t i;

	for (i = 0; i < terms->n && !c->json; i++)
		puts(terms->at[i]);
	if (!c->json)
		return 0;
	for (i = 0; i < terms->n; i++) {
		buf_text(&b, i > 0 ? "," : "");
		buf_json(&b, terms->at[i]);
	}
	printf("{\"terms\":[%s]}\n", buf_string(&b));
	return 0;
}

int
tenant_glossary(struct cli *c)
{
	const char *file = cli_option(c, "set"), *text = "", *fault;
	struct renewal r;
	int status = tenant_find(c, c->arg[0], &r.tenant_id);
	size_t n = 0;

	if (status != 0)
		return status;
	if (file == NULL && cli_option(c, "clear") == NULL) {
		r.terms = glossary_read(c->db, r.tenant_id);
		return db_failure(c->db) != DB_FINE ? cli_fail_db(c) : print_glossary(c, &r.terms);
	}
	if (file != NULL && cli_option(c, "clear") != NULL)
		return cli_fail(c, EX_USAGE, "--set and --clear exclude each other");
	if (file != NULL && (text = read_terms(c, file, &n)) == NULL)
		return EX_NOINPUT;
	if (!glossary_parse(c->mem, text, n, &r.terms, &fault))
		return cli_fail(c, EX_DATAERR, "%s: %s", file, fault);
	status = cli_transaction(c, write_glossary, &r);
	if (status == 0)
		printf(c->json ? "{\"count\":%zu}\n" : "%zu terms\n", r.terms.n);
	return status;
}
