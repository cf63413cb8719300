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

enum allowance
allowance_ask(struct db *db, const struct conf *conf, struct uuid tenant_id, enum engine_family family)
{
	const int64_t now = moment_now().ms, most = conf->engine[family].daily_tokens;
	const char *name = family_name(family);

	if (most > 0 && db_number(db, "SELECT tokens FROM engine_usage WHERE tenant_id = ? AND family = ? AND day = ?",
	    ARGS(ID(tenant_id), STR(name), INT(now / DAY_MS)), 0) >= most)
		return ALLOWANCE_USED_UP;
	/* When it has rested one tries, and the others wait for what becomes of that. */
	if (db_number(db, "SELECT failures FROM engine_rests WHERE family = ?", ARGS(STR(name)), 0) >=
	    ALLOWANCE_FAILURES && db_run(db, "UPDATE engine_rests SET rests_until = ? WHERE family = ? AND rests_until "
	    "<= ?", ARGS(INT(now + ALLOWANCE_REST_MS), STR(name), INT(now))) == 0)
		return ALLOWANCE_RESTS;
	return ALLOWED;
}

void
allowance_note(struct db *db, struct uuid tenant_id, enum engine_family family, int64_t tokens, bool failed)
{
	const char *name = family_name(family);
	const int64_t now = moment_now().ms;

	db_run(db, "INSERT INTO engine_usage (tenant_id, family, day, requests, tokens) VALUES (?, ?, ?, 1, ?) ON "
	    "DUPLICATE KEY UPDATE requests = requests + 1, tokens = tokens + ?", ARGS(ID(tenant_id), STR(name), INT(now / DAY_MS),
	    INT(tokens), INT(tokens)));
	if (failed)
		db_run(db, "INSERT INTO engine_rests (family, failures, rests_until) VALUES (?, 1, 0) ON DUPLICATE KEY "
		    "UPDATE failures = failures + 1, rests_until = IF(failures >= ?, ?, rests_until)", ARGS(STR(name),
		    INT(ALLOWANCE_FAILURES), INT(now + ALLOWANCE_REST_MS)));
	else
		db_run(db, "DELETE FROM engine_rests WHERE family = ?", ARGS(STR(name)));
}

const char *
allowance_sentence(enum allowance a)
{
	return a == ALLOWANCE_RESTS ? "The language model has failed several times and is left alone for a minute." :
	    "The tokens of the day are used up.";
}
