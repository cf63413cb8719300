/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brings the database to the schema of this program: numbered, forward-only files, one change each.
 *
 * DDL commits by itself, so a migration cannot be rolled back.  A file's row in schema_migrations is written after the
 * file has run; one that was killed in between is run again.  So its statements run one by one, and one that finds its
 * table, column, key or constraint there already, or gone already, counts as done.  Any other fault stops.
 */
#ifndef CORE_MIGRATE_H
#define CORE_MIGRATE_H

#include <stdint.h>

#include "core/db.h"

struct migration {
	int64_t number;
	const char *name;		/* of the file */
	const char *sql;
	const char *sha256;		/* lower-case hex */
	bool applied, changed;		/* changed: since it was applied */
};

struct migrations {
	struct migration *at;		/* in order */
	size_t n, pending, changed;
	int64_t newest;			/* applied; 0: none */
};

/* Reads the files of a directory (NNNN_name.sql, each number once; others are left alone) and what the database has of
 * them.  NULL, or a sentence: unreadable, the database away, newer than the files, or with one that is not among
 * them. */
const char *migrate_look(struct db *, struct arena *, const char *dir, struct migrations *);

/* The same of the files alone, without a database. */
const char *migrate_read(struct arena *, const char *dir, struct migrations *);

/* Applies what is missing.  Only one at a time runs on a server.  said() is called before each file.  NULL or a
 * sentence. */
const char *migrate_run(struct db *, struct arena *, const char *dir, void (*said)(const struct migration *),
    struct migrations *);

#endif
