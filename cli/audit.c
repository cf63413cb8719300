/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek audit: who changed who may do what. */
#include <string.h>

#include "cli/cli.h"
#include "core/audit.h"

struct wanted { const char *type; struct moment since; int64_t most; };

/* A time, or a day, which begins at midnight UTC. */
static bool
take_since(const struct cli *c, const char *text, struct moment *out)
{
	if (strlen(text) == 10)
		text = arena_printf(c->mem, "%sT00:00:00Z", text);
	return moment_parse(text, out);
}

static int
take_wanted(const struct cli *c, struct wanted *w)
{
	const char *since = cli_option(c, "since"), *limit = cli_option(c, "limit");

	*w = (struct wanted){ .type = cli_option(c, "type"), .most = 50 };
	if (w->type != NULL && (w->type[0] == '\0' || !word_in(AUDIT_NAMES, w->type, strlen(w->type))))
		return cli_fail(c, EX_USAGE, "there is no type %s; there are: %s", w->type, AUDIT_NAMES);
	if (since != NULL && !take_since(c, since, &w->since))
		return cli_fail(c, EX_USAGE, "--since must be a day or a time, as 2026-01-31 or 2026-01-31T12:00:00Z");
	if (limit != NULL && (!int_parse(limit, &w->most) || w->most < 1 || w->most > 10000))
		return cli_fail(c, EX_USAGE, "--limit must be a whole number from 1 to 10000");
	return 0;
}

static const char *
who(struct cli *c, const struct audit_event *e)
{
	if (uuid_is_none(e->principal_id))
		return "-";
	return e->principal_name != NULL ? cli_cell(c->mem, e->principal_name, 40) : uuid_text(c->mem, e->principal_id);
}

static void
print_events(struct cli *c, const struct audit_event *e, size_t n)
{
	struct buf b = BUF(c->mem);
	size_t i;

	buf_text(&b, "WHEN\tWHO\tFROM\tTYPE\tOBJECT\tDATA\n");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\t%s\t%s\t%s\t%s\t%s\n", cli_time(c->mem, e[i].created_at), who(c, &e[i]),
		    cli_cell(c->mem, e[i].address, 45), e[i].type, uuid_is_none(e[i].object_id) ? "-" :
		    uuid_text(c->mem, e[i].object_id), cli_cell(c->mem, e[i].data.text, 200));
	cli_table(c->mem, buf_string(&b));
}

int
audit_run(struct cli *c)
{
	struct audit_event *rows;
	struct uuid tenant_id;
	struct wanted w;
	size_t n;
	int status;

	if ((status = take_wanted(c, &w)) != 0 || (status = tenant_find(c, c->arg[0], &tenant_id)) != 0)
		return status;
	rows = db_rows(c->db, &audit_event_record, AUDIT_FROM " AND (? IS NULL OR t.type = ?) AND t.created_at >= ? "
	    "ORDER BY t.id DESC LIMIT ?", ARGS(ID(tenant_id), STR(w.type), STR(w.type), TIME(w.since), INT(w.most)), &n);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (c->json)
		return cli_json_rows(c, &audit_event_record, rows, n);
	print_events(c, rows, n);
	return 0;
}
