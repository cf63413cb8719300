/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The connection: which server, what its errors mean, transactions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/conf.h"
#include "core/db_link.h"
#include "core/db_watch.h"
#include "core/log.h"
#include "core/text.h"

enum {
	BAD_MS = 5000,		/* for which a server that was bad is tried last */
	CROWD_MS = 1000,	/* to wait for one of the server's connections to become free */
};

struct db *
db_open(const struct conf *conf, enum db_limits limits)
{
	struct db *db = calloc(1, sizeof(*db));

	/* Before threads may dial at the same time. */
	if (db == NULL || mysql_library_init(0, NULL, NULL) != 0)
		abort();
	db->conf = conf;
	db->limits = limits;
	db->client = -1;
	return db;
}

struct arena *
db_arena(struct db *db)
{
	return db->mem;
}

void
db_use(struct db *db, struct arena *mem)
{
	db->mem = mem;
}

static _Thread_local int holding;	/* transactions that hold rows */

void
db_hold(struct db *db)
{
	holding += db->in_transaction && !db->holds;
	db->holds = db->in_transaction;
}

bool
db_holds_rows(void)
{
	return holding > 0;
}

static void
let_go(struct db *db)
{
	holding -= db->holds;
	db->holds = db->in_transaction = db->committing = false;
}

void
db_hang_up(struct db *db)
{
	db->spent = false;
	if (db->my == NULL)
		return;
	watch_spare();
	db_drop_statements(db, true);
	mysql_close(db->my);
	db->my = NULL;
	let_go(db);
}

void
db_close(struct db *db)
{
	if (db == NULL)
		return;
	db_hang_up(db);
	free(db);
}

void
db_rest(struct db *db)
{
	if (!db->in_transaction)
		db_hang_up(db);
}

/* Closing would send a goodbye on the parent's connection: the descriptor goes with the process instead. */
void
db_abandon(struct db *db)
{
	db_drop_statements(db, false);
	db->my = NULL;
	let_go(db);
	db_forgive(db);
}

/*
 * Jobs have time: what was cut off there is begun again.  A connection that ends in a transaction before its COMMIT has
 * left nothing; one that ends outside of any may have done what it was asked.
 */
static enum db_failure
weigh(const struct db *db, int err)
{
	switch (err) {
	case 1213: case 1205: case 3572: case 1047:
		return DB_AGAIN;
	case 1452: case 1062:			/* what it belongs to went away, or its like came, in between */
		return db->limits == DB_API && db->in_transaction ? DB_AGAIN : DB_BROKEN;
	case 1290: case 1836:					/* takes no writes: a job has nothing else to do */
		return db->limits == DB_API ? DB_AGAIN : DB_LOST;
	case 1969: case 3024: case 1317:
		return db->limits == DB_API ? DB_LIMIT : DB_AGAIN;
	case 2006: case 2013: case 2055: case 1053: case 1927: case 4031:
		if (db->client >= 0 && watch_cut() != CUT_NONE)
			return DB_LIMIT;
		return db->in_transaction && !db->committing ? DB_AGAIN : DB_LOST;
	case 2002: case 2003: case 1040: case 1203: case 1226:	/* no connection */
	case 1180:						/* it failed while it was committed */
	case 1021: case 1026: case 1114:			/* no room */
		return DB_LOST;
	default:
		return DB_BROKEN;
	}
}

/* Of the server, not of what was asked: it has left its cluster, takes no writes, or goes. */
static bool
is_bad_server(int err)
{
	return err == 1047 || err == 1180 || err == 1290 || err == 1836 || err == 1053;
}

void
db_fail(struct db *db, int err, const char *error, const char *sql)
{
	if (db->failure != DB_FINE)
		return;
	db->failure = weigh(db, err);
	db->err = err;
	db->spent = is_bad_server(err) || err == 2006 || err == 2013 || err == 2055 || err == 1927 || err == 4031;
	if (is_bad_server(err))
		db->hosts[db->host].bad_until = clock_ms() + BAD_MS;
	if (db->failure == DB_LIMIT && watch_cut() != CUT_NONE)
		error = watch_cut() == CUT_GONE ? "the client has gone" : "the request takes too long";
	snprintf(db->error, sizeof(db->error), "%s", error);
	if (db->failure == DB_LIMIT || (db->failure == DB_BROKEN && !(err == 1062 && db->may_be_taken)))
		log_line(db->failure == DB_LIMIT ? LOG_LEVEL_WARN : LOG_LEVEL_ERROR, "db", LOG_INT("errno", err),
		    LOG_TEXT("error", db->error), LOG_TEXT("sql", sql));
}

enum db_failure db_failure(const struct db *db) { return db->failure; }
bool db_in_transaction(const struct db *db) { return db->in_transaction; }
int db_errno(const struct db *db) { return db->err; }
const char *db_error(const struct db *db) { return db->error; }

void
db_forgive(struct db *db)
{
	if (db->spent)
		db_hang_up(db);
	db->failure = DB_FINE;
	db->err = 0;
	db->error[0] = '\0';
}

/* Seconds that a statement may take; 0: any. */
int64_t
db_statement_limit(const struct db *db)
{
	return db->limits == DB_API ? db->conf->db_statement_limit :
	    db->limits == DB_JOBS ? db->conf->db_job_statement_limit : 0;
}

/* In a Galera cluster a connection sees what others were told that it is done, at the price of a moment. */
static bool
set_sync_wait(struct db *db)
{
	if (strcmp(db->conf->db_sync_wait, "off") == 0)
		return true;
	return mysql_query(db->my, strcmp(db->conf->db_sync_wait, "all") == 0 ? "SET SESSION wsrep_sync_wait = 7" :
	    "SET SESSION wsrep_sync_wait = 1") == 0;
}

/* What was asked together comes one after the other: to `texts` goes a column of the first row of each, if there is
 * one. */
static bool
read_answers(struct db *db, char (*texts)[256], const unsigned *columns, int n)
{
	int i, more = 0;

	for (i = 0; more == 0; i++) {
		MYSQL_RES *result = mysql_store_result(db->my);
		MYSQL_ROW row = result == NULL ? NULL : mysql_fetch_row(result);

		if (i < n)
			snprintf(texts[i], sizeof(texts[i]), "%s",
			    row != NULL && row[columns[i]] != NULL ? row[columns[i]] : "");
		mysql_free_result(result);
		more = mysql_next_result(db->my);
	}
	return more == -1 && i == n;
}

/*
 * In one message, since every job makes a connection of its own.  A wait for a lock ends before the statement does, so
 * that it is told as what it is.  MySQL limits only what reads; the longest silence that is borne limits the rest.  An
 * EXISTS beside an OR would be worked out for all assets before the first of the page is looked at (materialization).
 * Thread ids are a server's own, and behind a list of hosts or a balancer there are several.
 */
static bool
set_session(struct db *db)
{
	static const unsigned columns[] = { 0, 0, 0, 1 };
	bool maria = strstr(mysql_get_server_info(db->my), "MariaDB") != NULL;
	long long limit = db_statement_limit(db), wait = db->limits != DB_API ? 20 : limit > 2 ? 2 : 1;
	char sql[640], texts[4][256];

	snprintf(sql, sizeof(sql), "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
	    "NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', group_concat_max_len = 1048576, "
	    "optimizer_switch = 'materialization=off', innodb_lock_wait_timeout = %lld, %s = %lld; "
	    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; "
	    "SELECT CONCAT(@@hostname, ' ', @@port, ' ', @@datadir); SHOW SESSION VARIABLES LIKE 'wsrep_on'",
	    wait, maria ? "max_statement_time" : "max_execution_time", maria ? limit : limit * 1000);
	if (mysql_query(db->my, sql) != 0 || !read_answers(db, texts, columns, 4) || texts[2][0] == '\0')
		return false;
	db->thread_id = mysql_thread_id(db->my);
	memcpy(db->server, texts[2], sizeof(db->server));
	return strcmp(texts[3], "ON") != 0 || set_sync_wait(db);
}

/* All connections are taken, or all that our account may have. */
static bool
is_full(int err)
{
	return err == 1040 || err == 1203 || err == 1226;
}

static bool
dial_host(struct db *db, const struct host *h)
{
	const struct conf *c = db->conf;
	unsigned connect = 5, io = (unsigned)db_statement_limit(db) + 10;
	bool local = h->name[0] == '\0';
	int err;

	db->my = mysql_init(NULL);
	if (db->my == NULL)
		abort();
	mysql_options(db->my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(db->my, MYSQL_OPT_CONNECT_TIMEOUT, &connect);
	if (db->limits != DB_ADMIN) {
		mysql_options(db->my, MYSQL_OPT_READ_TIMEOUT, &io);
		mysql_options(db->my, MYSQL_OPT_WRITE_TIMEOUT, &io);
	}
	if (mysql_real_connect(db->my, local ? NULL : h->name, c->db_user, c->db_password, c->db_name, h->port,
	    local ? c->db_socket : NULL, CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS) != NULL && set_session(db))
		return true;
	err = (int)mysql_errno(db->my);
	db_fail(db, err == 1045 || err == 1049 || err == 1044 || err == 1698 || is_full(err) ? err : 2002,
	    mysql_error(db->my), "connect");
	mysql_close(db->my);
	db->my = NULL;
	return false;
}

/* host, host:port, [v6] or [v6]:port.  The colons of an address without brackets divide nothing off. */
static void
add_host(struct db *db, char *item)
{
	struct host *h = &db->hosts[db->n_hosts++];
	char *colon = strchr(item, ':'), *end = NULL;

	h->port = (unsigned)db->conf->db_port;
	if (*item == '[' && (end = strchr(item, ']')) != NULL) {
		*end = '\0';
		colon = end[1] == ':' ? end + 1 : NULL;
	}
	if (colon != NULL && (end != NULL || strchr(colon + 1, ':') == NULL)) {
		*colon = '\0';
		h->port = (unsigned)strtoul(colon + 1, NULL, 10);
	}
	snprintf(h->name, sizeof(h->name), "%s", end != NULL ? item + 1 : item);
}

static void
read_hosts(struct db *db)
{
	const char *p = db->conf->db_hosts != NULL ? db->conf->db_hosts : "";
	char item[256];
	size_t n;

	for (; *p != '\0' && db->n_hosts < MAX_HOSTS; p += n, p += strspn(p, ", ")) {
		n = strcspn(p, ", ");
		snprintf(item, sizeof(item), "%.*s", (int)n, p);
		if (n > 0)
			add_host(db, item);
	}
	if (db->n_hosts == 0)
		db->n_hosts = 1;
}

/* The hosts in order, but those that were bad lately come last.  *full: one of them would have, but for its limit. */
static bool
dial_any(struct db *db, bool *full)
{
	bool was_bad[MAX_HOSTS];
	int64_t now = clock_ms();
	int i, bad;

	for (i = 0; i < db->n_hosts; i++)
		was_bad[i] = db->hosts[i].bad_until > now;
	for (bad = 0; bad < 2; bad++)
		for (i = 0; i < db->n_hosts; i++) {
			if (was_bad[i] != (bad == 1))
				continue;
			db->failure = DB_FINE;
			db->spent = false;
			db->host = i;
			if (dial_host(db, &db->hosts[i]))
				return true;
			*full |= is_full(db->err);
			db->hosts[i].bad_until = clock_ms() + BAD_MS;
		}
	return false;
}

/* Where all connections are taken one may become free in a moment. */
bool
db_dial(struct db *db)
{
	int64_t until = clock_ms() + CROWD_MS;
	unsigned char chance;
	bool full = false;

	if (db->my != NULL)
		return true;
	if (db->n_hosts == 0)
		read_hosts(db);
	while (!dial_any(db, &full)) {
		if (!full || clock_ms() > until)
			return false;
		random_bytes(&chance, 1);
		usleep(10000 + chance * 200);
	}
	db->err = 0;
	return true;
}

const char *
db_host(struct db *db, unsigned *port)
{
	if (!db_dial(db))
		return NULL;
	*port = db->hosts[db->host].port;
	return db->hosts[db->host].name;
}

static bool
plain(struct db *db, const char *sql)
{
	if (db->failure != DB_FINE || db->my == NULL)
		return false;
	if (mysql_query(db->my, sql) == 0)
		return true;
	db_fail(db, (int)mysql_errno(db->my), mysql_error(db->my), sql);
	return false;
}

void
db_begin(struct db *db)
{
	db_forgive(db);
	if (db->in_transaction)
		db_rollback(db);
	if (!db_dial(db))
		return;
	if (!plain(db, "START TRANSACTION") && db->spent && db->failure != DB_LIMIT) {
		db_forgive(db);		/* hangs up: an idle connection had died, or its server has left */
		if (!db_dial(db) || !plain(db, "START TRANSACTION"))
			return;
	}
	db->in_transaction = db->failure == DB_FINE;
	db->wrote_last = false;
}

bool
db_commit(struct db *db)
{
	bool fine;

	if (!db->in_transaction)
		return db->failure == DB_FINE;
	if (db->failure != DB_FINE) {
		db_rollback(db);
		return false;
	}
	watch_spare();		/* one that is under way is not cut off */
	db->committing = true;
	fine = plain(db, "COMMIT");
	let_go(db);
	return fine;
}

void
db_rollback(struct db *db)
{
	if (db->in_transaction && db->my != NULL && mysql_query(db->my, "ROLLBACK") != 0)
		db_hang_up(db);
	let_go(db);
}

/* Ends what the connection that was cut off still does on its server. */
static void
end_query(struct db *db)
{
	enum db_failure failure = db->failure;
	char server[sizeof(db->server)], sql[40];

	memcpy(server, db->server, sizeof(server));
	snprintf(sql, sizeof(sql), "KILL %lu", db->thread_id);
	db_hang_up(db);
	if (db_dial(db) && strcmp(server, db->server) == 0)
		mysql_query(db->my, sql);	/* it may have ended by itself */
	db->failure = failure;
}

void
db_watch(struct db *db, int client)
{
	bool cut = db->client >= 0 && watch_cut() != CUT_NONE;

	watch_end();
	db->client = client;
	if (cut)
		end_query(db);
}

const char *
db_script(struct db *db, const char *sql)
{
	int more;

	if (!db_dial(db))
		return db->error;
	if (mysql_query(db->my, sql) != 0) {
		db_fail(db, (int)mysql_errno(db->my), mysql_error(db->my), "script");
		return db->error;
	}
	do {
		MYSQL_RES *result = mysql_store_result(db->my);

		if (result != NULL)
			mysql_free_result(result);
		more = mysql_next_result(db->my);
	} while (more == 0);
	if (more > 0) {
		db_fail(db, (int)mysql_errno(db->my), mysql_error(db->my), "script");
		return db->error;
	}
	return NULL;
}
