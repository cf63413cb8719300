/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the store that no row names: what runs have stored that never came to commit it. */
#ifndef CORE_ORPHAN_H
#define CORE_ORPHAN_H

#include "core/db.h"

enum { ORPHAN_MS = 24 * 3600 * 1000 };	/* younger ones may be named any moment */

/* What is looked for, and what becomes of it.  Nothing is changed here. */
struct orphan_search {
	struct db *db;
	const struct conf *conf;
	int64_t old;			/* put before that, ms since 1970 */
	void *at;
	void (*found)(void *at, struct arena *, const char *key);
	/* A thumbnail of a client, "custom/…", that is named; NULL: nothing is to be done with it. */
	void (*kept)(struct arena *, struct uuid media_id, const char *file);
	void (*moved)(void *at);	/* one asset further; may be NULL */
};

/* Where files lie that rows name; ends with NULL. */
extern const char *const orphan_trees[];

/* Looks at the next so many assets of a tree, on from the key *after (NULL: from the first on), which becomes that of
 * the last one; NULL: there are no more.  False with errno: the store cannot be read.  Outside of a transaction. */
bool orphan_look(const struct orphan_search *, struct arena *, const char *tree, const char **after, size_t max);

/* Looks at all trees, some assets at a time, and resets the arena in between.  False: the database has
 * failed, or else the store cannot be read (errno). */
bool orphan_look_all(const struct orphan_search *, struct arena *);

/* Does a row name the object, or one below that key?  What is recorded of a livestream is named by that as long as its
 * asset has no original of it.  In doubt, without a database, one does. */
bool orphan_is_named(struct db *, struct arena *, const char *key);

/* May the run ("{jobId}.{fence}") still commit?  In doubt, without a database, it may. */
bool orphan_running(struct db *, const char *run);

#endif
