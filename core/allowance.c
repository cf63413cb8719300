/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Usage of a day by tenants, and failures in a row of a server, in rows. */
#include "core/allowance.h"

enum { DAY_MS = 86400000 };

static const char *
family_name(enum engine_family family)
{
	static const char *const names[] = {
#define FAMILY_NAME(family, task, doc) #family,
		ENGINE_FAMILIES(FAMILY_NAME)
#undef FAMILY_NAME
	};

	return names[family];
}

/* False: there is not so much left. */
static bool
reserve(struct db *db, struct uuid tenant_id, const struct allowance_use *u, int64_t most)
{
	const char *name = family_name(u->family);

	db_run(db, "INSERT IGNORE INTO engine_usage (tenant_id, family, day, requests, tokens) VALUES (?, ?, ?, 0, 0)",
	    ARGS(ID(tenant_id), STR(name), INT(u->day)));
	return db_run(db, "UPDATE engine_usage SET requests = requests + 1, tokens = tokens + ? WHERE tenant_id = ? "
	    "AND family = ? AND day = ? AND tokens + ? <= ?", ARGS(INT(u->reserved), ID(tenant_id), STR(name), INT(u->day),
	    INT(u->reserved), INT(most))) > 0;
}

/* What was reserved goes, and what there was comes. */
static void
settle(struct db *db, struct uuid tenant_id, const struct allowance_use *u, int64_t requests, int64_t tokens)
{
	db_run(db, "INSERT INTO engine_usage (tenant_id, family, day, requests, tokens) VALUES (?, ?, ?, ?, ?) ON "
	    "DUPLICATE KEY UPDATE requests = requests + ?, tokens = tokens + ?", ARGS(ID(tenant_id),
	    STR(family_name(u->family)), INT(u->day), INT(requests), INT(tokens), INT(requests), INT(tokens)));
}

enum allowance
allowance_ask(struct db *db, const struct conf *conf, struct uuid tenant_id, struct allowance_use *u)
{
	const int64_t now = moment_now().ms, most = conf->engine[u->family].daily_tokens;
	const char *name = family_name(u->family);

	u->day = now / DAY_MS;
	/* Always: the settings may get a limit before it is noted. */
	if (!reserve(db, tenant_id, u, most > 0 ? most : INT64_MAX / 2))
		return ALLOWANCE_USED_UP;
	/* When it has rested one tries, and the others wait for what becomes of that. */
	if (db_number(db, "SELECT failures FROM engine_rests WHERE family = ?", ARGS(STR(name)), 0) >=
	    ALLOWANCE_FAILURES && db_run(db, "UPDATE engine_rests SET rests_until = ? WHERE family = ? AND rests_until "
	    "<= ?", ARGS(INT(now + ALLOWANCE_REST_MS), STR(name), INT(now))) == 0) {
		settle(db, tenant_id, u, -1, -u->reserved);
		return ALLOWANCE_RESTS;
	}
	return ALLOWED;
}

void
allowance_note(struct db *db, struct uuid tenant_id, const struct allowance_use *u)
{
	const char *name = family_name(u->family);
	const int64_t now = moment_now().ms;

	settle(db, tenant_id, u, u->requests - 1, u->tokens - u->reserved);
	if (u->failed)
		db_run(db, "INSERT INTO engine_rests (family, failures, rests_until) VALUES (?, 1, 0) ON DUPLICATE KEY "
		    "UPDATE failures = failures + 1, rests_until = IF(failures >= ?, ?, rests_until)", ARGS(STR(name),
		    INT(ALLOWANCE_FAILURES), INT(now + ALLOWANCE_REST_MS)));
	else
		db_run(db, "DELETE FROM engine_rests WHERE family = ?", ARGS(STR(name)));
}

const char *
allowance_sentence(enum allowance a)
{
	return a == ALLOWANCE_RESTS ? "The server has failed several times and is left alone for a minute." :
	    "The tokens of the day are used up.";
}
