/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek doctor: is this machine fit for the work, and what to do about it if not. */
#include "cli/consistency.h"
#include "cli/doctor.h"

bool doctor_has_database;

static const struct {
	const char *name;
	struct finding (*run)(struct cli *);
	bool database;
} checks[] = {
#define CHECK(name, function, database) { (name), function, (database) },
	DOCTOR_CHECKS(CHECK)
#undef CHECK
};

static void
print_json(struct cli *c, struct buf *b, const char *name, const struct finding *f)
{
	static const char *const levels[] = { "ok", "warn", "fail" };

	buf_printf(
	    b, "%s{\"check\":\"%s\",\"level\":\"%s\",\"text\":", b->len == 0 ? "[" : ",", name, levels[f->level]);
	buf_json(b, f->text);
	buf_text(b, ",\"remedy\":");
	buf_json(b, f->remedy);
	buf_char(b, '}');
}

static void
print_line(const char *name, const struct finding *f)
{
	static const char *const levels[] = { "ok  ", "warn", "FAIL" };

	printf("%s  %-12s  %s\n", levels[f->level], name, f->text);
	if (f->remedy != NULL)
		printf("      %-12s  -> %s\n", "", f->remedy);
}

int
doctor_run(struct cli *c)
{
	struct buf b = BUF(c->mem);
	struct finding f;
	enum level worst = OK;
	size_t i;
	int status;

	if (cli_option(c, "consistency") != NULL) {
		status = cli_become(c);
		return status != 0 ? status : consistency_run(c);
	}
	if (cli_option(c, "idle") != NULL)
		return cli_fail(c, EX_USAGE, "--idle says something of --consistency alone");
	doctor_look_as_web(c);
	doctor_look_at_port(c);
	status = cli_become(c);
	if (status != 0)
		return status;
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (checks[i].database && !doctor_has_database)
			continue;
		f = checks[i].run(c);
		if (checks[i].database && db_failure(c->db) != DB_FINE)
			f = FOUND(FAIL, arena_copy(c->mem, db_error(c->db)), cli_db_remedy(c));
		db_forgive(c->db);
		if (c->json)
			print_json(c, &b, checks[i].name, &f);
		else
			print_line(checks[i].name, &f);
		worst = f.level > worst ? f.level : worst;
	}
	if (c->json)
		printf("%s]\n", buf_string(&b));
	return worst == FAIL ? 1 : 0;
}
