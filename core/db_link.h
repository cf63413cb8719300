/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between db.c and db_link.c only: the connection, without what is asked over it. */
#ifndef CORE_DB_LINK_H
#define CORE_DB_LINK_H

#include <mysql.h>

#include "core/db.h"

enum { MAX_HOSTS = 16 };

/* One of db.hosts.  The first one without a name: the socket. */
struct host {
	char name[256];
	unsigned port;
	int64_t bad_until;		/* ms of clock_ms(): others are tried first until then */
};

struct statement;

struct db {
	MYSQL *my;
	const struct conf *conf;
	enum db_limits limits;
	struct host hosts[MAX_HOSTS];
	int n_hosts, host;		/* of the connection */
	int client;			/* whoever waits for the answer; -1: nobody */
	char server[256];		/* that answered last: to be recognised again */
	unsigned long thread_id;	/* of the connection there */
	struct arena *mem;
	struct statement *buckets[128];
	int n_statements;
	bool in_transaction;
	bool holds;			/* rows, see db_holds_rows() */
	bool committing;
	bool wrote_last;		/* see db_run_last() */
	bool may_be_taken;		/* 1062 is an answer now */
	bool spent;			/* nothing more is to be asked over this connection */
	enum db_failure failure;
	int err;
	char error[512];
};

/* Connects if there is no connection.  False: failed. */
bool db_dial(struct db *);
void db_hang_up(struct db *);

/* Its transaction holds rows from now on. */
void db_hold(struct db *);

/* The failure with this number becomes the sticky one, if none is there yet. */
void db_fail(struct db *, int err, const char *error, const char *sql);

/* Seconds that a statement may take; 0: any. */
int64_t db_statement_limit(const struct db *);

/* Of db.c: forgets the prepared statements. */
void db_drop_statements(struct db *, bool tell_server);

#endif
