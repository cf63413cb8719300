/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a runner says of itself in its row, for those who ask how the service does: `kinothek doctor`. */
#include <string.h>

#include "jobs/runner.h"

#ifndef VERSION
#define VERSION "unknown"
#endif

/* ms, to about half of what the question takes; INT64_MIN: not known. */
static int64_t
clock_ahead(struct db *db)
{
	const int64_t before = moment_now().ms, there = db_number(db, "SELECT " SQL_NOW, NO_ARGS, INT64_MIN);

	return there == INT64_MIN ? there : (before + moment_now().ms) / 2 - there;
}

void
presence_tell(struct runner *r, const struct claims *c)
{
	bool degraded = r->conf->sandbox != NULL && strcmp(r->conf->sandbox, "degraded") == 0;
	int64_t ahead = clock_ahead(r->db);

	db_run(r->db, "INSERT INTO runners (name, version, kinds, no_sandbox, degraded, started_at, seen_at, "
	    "clock_ahead) VALUES (?, LEFT(?, 40), ?, ?, ?, " SQL_NOW ", " SQL_NOW ", NULLIF(?, ?)) "
	    "ON DUPLICATE KEY UPDATE kinds = VALUES(kinds), no_sandbox = VALUES(no_sandbox), seen_at = VALUES(seen_at), clock_ahead = VALUES(clock_ahead)",
	    ARGS(STR(holder_name()), STR(VERSION), STR(claims_kinds(c)), STR(claims_no_sandbox(c)), INT(degraded),
	    INT(ahead), INT(INT64_MIN)));
	db_run(r->db, "DELETE FROM runners WHERE seen_at < " SQL_NOW " - 86400000", NO_ARGS);
}

void
presence_end(struct runner *r)
{
	db_forgive(r->db);
	db_run(r->db, "DELETE FROM runners WHERE name = ?", ARGS(STR(holder_name())));
}
