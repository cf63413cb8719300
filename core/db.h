/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One MariaDB or MySQL connection: prepared statements, typed binds, rows into structs.
 *
 * SQL is a string literal beside the code that uses it; values go in by ARGS only.  In db_row, db_rows and db_list the
 * text starts at FROM, the main table is called t, and the column list comes from the record.  Statements are prepared
 * once per connection and kept by the address of the literal.
 *
 * Failures are sticky: the first one (lost connection, deadlock, a fault in the SQL) is remembered, and every later
 * call does nothing and says "no row", until db_begin() or db_forgive().  Callers therefore have no branch for it; the
 * dispatcher and the job runner look at db_failure() once, at the end.
 */
#ifndef CORE_DB_H
#define CORE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/record.h"

struct db;
struct conf;

enum db_failure {
	DB_FINE,
	/* 1213, 1205, in a request's transaction also 1452 and 1062, or the connection or the server's place in its
	 * cluster went before COMMIT: nothing was done */
	DB_AGAIN,
	DB_LOST,	/* no server answers, or has room; outside of a transaction and at COMMIT: outcome unknown */
	/* 1969, 3024, 1317, or see db_watch(): cut off, and the same would be again.  With DB_API alone */
	DB_LIMIT,
	DB_BROKEN,	/* our fault: logged with the statement */
};

enum arg_kind { ARG_END, ARG_INT, ARG_TEXT, ARG_BYTES, ARG_UUID, ARG_REAL, ARG_NULL };
struct arg {
	enum arg_kind kind;
	union { int64_t n; double real; const char *text; struct uuid id; };
	size_t len;		/* of ARG_BYTES */
};
#define INT(x) ((struct arg){ .kind = ARG_INT, .n = (x) })
#define TIME(x) ((struct arg){ .kind = ARG_INT, .n = (x).ms })
#define REAL(x) ((struct arg){ .kind = ARG_REAL, .real = (x) })
#define STR(x) ((struct arg){ .kind = ARG_TEXT, .text = (x) })		/* NULL binds null */
#define BYTES(x, n) ((struct arg){ .kind = ARG_BYTES, .text = (const char *)(x), .len = (n) })
#define ID(x) ((struct arg){ .kind = ARG_UUID, .id = (x) })		/* none binds null */
#define ARGS(...) ((const struct arg[]){ __VA_ARGS__, { .kind = ARG_END } })
#define NO_ARGS ((const struct arg[]){ { .kind = ARG_END } })

/* The database's clock in milliseconds: leases and due times compare against this one, not against a node's. */
#define SQL_NOW "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

/* How long a statement may take: db.statement_limit, db.job_statement_limit, or as long as it needs. */
enum db_limits { DB_API, DB_JOBS, DB_ADMIN };

/* Nothing is dialled until the first statement.  db_close() ends it. */
struct db *db_open(const struct conf *, enum db_limits);
void db_close(struct db *);

/* Rows and strings are made in `mem` from now on. */
void db_use(struct db *, struct arena *mem);
struct arena *db_arena(struct db *);

/* The first row as a new struct, or NULL: no row, or failed. */
void *db_row(struct db *, const struct record *, const char *from, const struct arg *);
/* The same with a further literal behind `from`. */
void *db_row_suffix(struct db *, const struct record *, const char *from, const char *suffix, const struct arg *);
/* All rows, one array.  *n is 0 and the result NULL when there are none. */
void *db_rows(struct db *, const struct record *, const char *from, const struct arg *, size_t *n);
/* The same without DETAIL fields, as in lists. */
void *db_rows_brief(struct db *, const struct record *, const char *from, const struct arg *, size_t *n);

/* The first column of the first row, or `otherwise`.  Whole statement: "SELECT COUNT(*) FROM media t WHERE …". */
int64_t db_number(struct db *, const char *sql, const struct arg *, int64_t otherwise);
const char *db_text(struct db *, const char *sql, const struct arg *);

/* A page of a list: what a client asked for, and what it gets. */
struct page {
	int64_t page, perpage;		/* from 0; 1 to 50 */
	const char *sort;		/* "name" or "name:desc"; NULL: newest first */
	const char *filter;		/* "type=video+name~cat" as received, decoded */
	const char *after;		/* cursor of the previous answer's `next`; then `page` only counts */
	int64_t total;			/* in: -1 = count; otherwise taken as it is.  out: rows in all pages, */
	bool total_exact;		/* out: or 10,000, and there are more of them */
	const char *next;		/* out: cursor of the following page, NULL at the end */
	/* out: parameter at fault ("sort", "filter", "after"); nothing was read then */
	const char *fault, *fault_detail;
};
/*
 * One page of the rows that `from` names (its WHERE is there, even if only "WHERE 1").  Adds filter, order and limit
 * from the record's own FILTER and SORT fields and ? marks, never a byte the client sent.  The id is always the last
 * key, so that following `next` is a range read of the field's .key at any depth; plain page numbers use OFFSET.  At
 * most 8 conditions, 2 of them subqueries.
 */
void *db_list(struct db *, const struct record *, const char *from, const struct arg *, struct page *, size_t *n);

/* The conditions of page->filter, for a statement of its own: " AND …" about the main table t, with their binds and an
 * end of them in args, which has room for DB_FILTER_ARGS.  NULL: page->fault says why. */
enum { DB_FILTER_ARGS = 64 };
const char *db_filter(struct db *, const struct record *, struct page *, struct arg *args);

/* Is name=value one of the conditions of a filter?  NULL: no filter. */
bool db_filters_for(const char *filter, const char *name, const char *value);

/* The value of the i-th condition on a property, whatever its operator, or NULL. */
const char *db_filter_value(struct arena *, const char *filter, const char *name, size_t i);

/* INSERT, UPDATE, DELETE.  Rows matched (not: changed), or -1 when failed. */
int64_t db_run(struct db *, const char *sql, const struct arg *);

/* The last of its transaction, for a row that many wait for: whoever writes otherwise before the end aborts. */
int64_t db_run_last(struct db *, const char *sql, const struct arg *);

/* Inserts all stored fields of the record.  False: a unique key is taken already (not a failure), or failed. */
bool db_insert(struct db *, const char *table, const struct record *, const void *row);

/* Sets the stored fields whose bit is in `given` (see record_bit) plus version and updated_at.  Rows matched; -2: a
 * unique key is taken (not a failure, and nothing was changed); -1: failed. */
int64_t db_update(struct db *, const char *table, const struct record *, const void *row, uint64_t given,
    struct uuid id);

bool db_in_transaction(const struct db *);

/* Does a transaction of this thread hold rows, because it has written or said FOR UPDATE?  Others wait for them: so
 * nothing goes to a machine that takes its time meanwhile (core/store.h). */
bool db_holds_rows(void);

/* Only the dispatcher, the job runner, jobs/deliver*.c, commands, fcgi/live/desk.c and
 * core/provider_claims.c call these.  db_commit() is true when the commit is certain. */
void db_begin(struct db *);
bool db_commit(struct db *);
void db_rollback(struct db *);

/* The connection of who waits for the answer, during one request; then -1.  When its other side closes it, or the
 * statements of the request take five times the limit of one, what runs is ended here and on the server, and that is
 * DB_LIMIT. */
void db_watch(struct db *, int client);

enum db_failure db_failure(const struct db *);
void db_forgive(struct db *);
/* The server's error number and text of the sticky failure, for the log. */
int db_errno(const struct db *);
const char *db_error(const struct db *);

/* Many statements, no binds: migrations only.  NULL, or the server's text. */
const char *db_script(struct db *, const char *sql);

/* Where the connection goes, for the tools of the database; "" is the socket.  NULL: nothing answers. */
const char *db_host(struct db *, unsigned *port);

/* Nothing is asked for a while: the server gets its connection back, and the next statement dials. */
void db_rest(struct db *);

/* Forgets the connection without a word to the server: for the child after fork(). */
void db_abandon(struct db *);

#endif
