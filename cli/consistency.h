/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `kinothek doctor --consistency`: rows that point at nothing, counters that differ from what they count, files that no
 * row names, and rows whose files are missing.  Nothing is changed, and no table is held in memory.
 */
#ifndef CLI_CONSISTENCY_H
#define CLI_CONSISTENCY_H

#include "cli/cli.h"

int consistency_run(struct cli *);

/* Tells one finding: the table or tree, the row or key, what is wrong with it, and what to do. */
void consistency_found(struct cli *, const char *where, const char *which, const char *text, const char *remedy);

/* What the foreign keys of the schema do not hold.  Memory is of a step.  Returns 0, or the status. */
int consistency_rows(struct cli *, struct arena *);

/* A row whose objects are not in the store, or not as they were. */
struct lack { const char *table, *id, *text, *remedy; };
typedef void lack_found(void *at, struct arena *, const struct lack *);

/* All rows that lack objects: uploads, then assets.  Memory is of a page.  Returns 0, or the status. */
int consistency_lacks(struct cli *, struct arena *, lack_found *, void *at);

/* The assets among them, in the words of `kinothek verify` (cli/rebuild.c).  Returns 0, or the status. */
int verify_assets(struct cli *, lack_found *, void *at);

#endif
