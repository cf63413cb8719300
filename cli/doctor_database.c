/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of the database: does it answer, and is it as the programs need it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/setup.h"
#include "core/migrate.h"

enum { CLOCKS_APART = 2000, DAY_MS = 86400000 };

/* Older servers leave the escapes of JSON in what JSON_TABLE() makes of it, and so in texts and names. */
static bool
reads_texts(struct cli *c)
{
	return db_number(c->db, "SELECT CHAR_LENGTH(j.text) FROM JSON_TABLE(?, '$[*]' COLUMNS (text VARCHAR(9) PATH "
	    "'$')) j", ARGS(STR("[\"a\\\"b\"]")), 3) == 3;
}

struct finding
check_database(struct cli *c)
{
	const char *version = db_text(c->db, "SELECT VERSION()", NO_ARGS);
	bool maria;

	doctor_has_database = version != NULL;
	if (version == NULL)
		return FOUND(FAIL, arena_copy(c->mem, db_error(c->db)), cli_db_remedy(c));
	maria = strstr(version, "MariaDB") != NULL;
	if (strverscmp(version, maria ? "10.6" : "8.0.21") < 0)
		return FOUND(FAIL, version, "MariaDB 10.6.20 or MySQL 8.0.21 is the oldest that works.");
	if (!reads_texts(c))
		return FOUND(FAIL, arena_printf(c->mem, "%s leaves backslashes in texts with quotes", version),
		    "Upgrade it: of MariaDB 10.6.20, 10.11.10, 11.2.6 and 11.4.4 are the oldest that read JSON right.");
	return FOUND(OK, arena_printf(c->mem, "%s, %s", c->conf->db_name, version), NULL);
}

struct finding
check_schema(struct cli *c)
{
	struct migrations all;
	const char *fault = migrate_look(c->db, c->mem, schema_dir(c), &all);

	if (fault != NULL)
		return FOUND(
		    FAIL, fault, "Install schema and programs of one version; --schema names another directory.");
	if (all.pending > 0)
		return FOUND(FAIL, arena_printf(c->mem, "%zu of %zu migrations are missing", all.pending, all.n),
		    "Run `kinothek migrate`.");
	if (all.changed > 0)
		return FOUND(WARN, arena_printf(c->mem, "%zu migrations changed since they were applied", all.changed),
		    "Migrations must not change: compare the schema directory with the release.");
	return FOUND(OK, arena_printf(c->mem, "%lld", (long long)all.newest), NULL);
}

struct finding
check_durability(struct cli *c)
{
	if (db_number(c->db, "SELECT @@innodb_flush_log_at_trx_commit", NO_ARGS, 1) != 1)
		return FOUND(WARN, "innodb_flush_log_at_trx_commit is not 1",
		    "A power failure can lose the last second; set it to 1.");
	if (db_number(c->db, "SELECT @@max_allowed_packet", NO_ARGS, 0) < 16 << 20)
		return FOUND(WARN, "max_allowed_packet is below 16 MiB",
		    "Long transcripts need it: set max_allowed_packet = 64M.");
	return FOUND(OK, "commits reach the disk", NULL);
}

/* One connection beyond max_connections is kept for who administrates: it must not be ours. */
struct finding
check_connections(struct cli *c)
{
	int64_t most = db_number(c->db, "SELECT @@max_connections", NO_ARGS, 0);
	int64_t need = 4 * sysconf(_SC_NPROCESSORS_ONLN) + 4 * c->conf->job_slots + 20;

	if (db_number(c->db,
		"SELECT COUNT(*) FROM information_schema.user_privileges WHERE grantee = CONCAT(CHAR(39), "
		"REPLACE(CURRENT_USER(), '@', CONCAT(CHAR(39), '@', CHAR(39))), CHAR(39)) AND privilege_type IN "
		"('SUPER', 'CONNECTION ADMIN', 'CONNECTION_ADMIN')",
		NO_ARGS, 0) > 0)
		return FOUND(WARN, "the account may take the connection that is kept for the administrator",
		    "Give it rights to its own database only: GRANT ALL ON kinothek.*, not ON *.*");
	if (most < need)
		return FOUND(WARN,
		    arena_printf(c->mem, "max_connections is %lld, and this machine may need %lld", (long long)most,
			(long long)need),
		    "Raise max_connections by as many for each machine, or requests wait for each other.");
	return FOUND(OK, arena_printf(c->mem, "%lld of %lld are enough", (long long)need, (long long)most), NULL);
}

/* Milliseconds that the clock of a database server is ahead of ours; INT64_MIN: it does not answer. */
static int64_t
clock_ahead(struct cli *c, const char *host)
{
	struct conf conf = *c->conf;
	int64_t before = moment_now().ms, now;
	struct db *db;

	conf.db_hosts = host;
	db = db_open(&conf, DB_API);
	db_use(db, c->mem);
	now = db_number(db, "SELECT " SQL_NOW, NO_ARGS, INT64_MIN);
	db_close(db);
	return now == INT64_MIN ? now : now - (before + moment_now().ms) / 2;
}

struct skew { const char *name; int64_t clock_ahead; };
static const struct field skew_fields[] = {
	FIELD(struct skew, name, .doc = "Host and process of a runner"),
	FIELD(struct skew, clock_ahead, .doc = "ms before the database"),
};
static const struct record skew_record = RECORD("RunnerClock", struct skew, skew_fields);

static const char clock_remedy[] = "Let NTP keep both (chrony, systemd-timesyncd): tokens, signed addresses and leases "
    "depend on it.";

/* Of other machines, as their runners say. */
static struct finding
clock_of_runners(struct cli *c, int64_t worst)
{
	const struct skew *s = db_row(c->db, &skew_record, "FROM runners t WHERE t.seen_at > " SQL_NOW " - 600000 AND "
	    "ABS(t.clock_ahead) > ? ORDER BY ABS(t.clock_ahead) DESC LIMIT 1", ARGS(INT(CLOCKS_APART)));

	if (s != NULL)
		return FOUND(WARN, arena_printf(c->mem,
		    "the machine of the runner %s and the database are %.1f s apart", s->name,
		    (double)llabs(s->clock_ahead) / 1000), clock_remedy);
	return FOUND(OK, arena_printf(c->mem, "agrees with the database within %lld ms", (long long)llabs(worst)),
	    NULL);
}

struct finding
check_clock(struct cli *c)
{
	char *hosts = arena_copy(c->mem, c->conf->db_hosts), *host, *rest = hosts;
	int64_t ahead, worst = 0;

	if (hosts == NULL)
		worst = clock_ahead(c, NULL);
	while (hosts != NULL && (host = strsep(&rest, ",")) != NULL) {
		ahead = clock_ahead(c, host);
		if (ahead == INT64_MIN)
			return FOUND(WARN, arena_printf(c->mem, "%s does not answer, so its clock is not known", host),
			    "See whether that server runs, and can be reached from here.");
		if (llabs(ahead) > llabs(worst))
			worst = ahead;
	}
	if (llabs(worst) > CLOCKS_APART)
		return FOUND(WARN,
		    arena_printf(c->mem, "this machine and the database are %.1f s apart", (double)llabs(worst) / 1000),
		    clock_remedy);
	return clock_of_runners(c, worst);
}

struct finding
check_keys(struct cli *c)
{
	int64_t age;

	if (db_number(c->db, "SELECT COUNT(*) FROM signing_keys WHERE retired_at = 0", NO_ARGS, 0) == 0)
		return FOUND(FAIL, "there is none", "Run `kinothek init`.");
	age = (moment_now().ms - db_number(c->db, "SELECT MAX(created_at) FROM signing_keys", NO_ARGS, 0)) / 86400000;
	if (age > 365)
		return FOUND(
		    WARN, arena_printf(c->mem, "made %lld days ago", (long long)age), "Run `kinothek key rotate`.");
	return FOUND(OK, arena_printf(c->mem, "made %lld days ago", (long long)age), NULL);
}

struct finding
check_tenants(struct cli *c)
{
	int64_t n = db_number(c->db, "SELECT COUNT(*) FROM tenants", NO_ARGS, 0);

	if (n == 0)
		return FOUND(WARN, "there is none", "Run `kinothek tenant create SHORTCODE --name NAME`.");
	return FOUND(OK, arena_printf(c->mem, "%lld", (long long)n), NULL);
}

