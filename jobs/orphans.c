/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sweep deletes what core/orphan.c finds, some assets at a time. */
#include "core/orphan.h"
#include "core/store.h"
#include "jobs/kept.h"
#include "jobs/orphans.h"

enum { PAGE_MEMORY = 16 << 20 };

static void
drop(void *at, struct arena *mem, const char *key)
{
	job_log(at, "%s: %s", key, store_delete(mem, key) ? "no row names it" : "could not be deleted");
}

static void
put_back(struct arena *mem, struct uuid media_id, const char *file)
{
	kept_thumbnail(mem, media_id, file);
}

static void
moved(void *at)
{
	job_progress(at, 50);
}

/* The next page of a tree. */
static void
look_on(struct job *j, const char *tree, size_t max)
{
	const struct orphan_search search = { .db = j->db, .conf = j->conf, .old = moment_now().ms - ORPHAN_MS, .at = j,
	    .found = drop, .kept = put_back, .moved = moved };
	const char *after = db_text(j->db, "SELECT after_key FROM sweep_places WHERE tree = ?", ARGS(STR(tree)));
	struct arena *mem = arena_new(PAGE_MEMORY);

	/* A store that is away is looked at again from where this was. */
	if (orphan_look(&search, mem, tree, &after, max))
		db_run(j->db, "INSERT INTO sweep_places (tree, after_key) VALUES (?, ?) ON DUPLICATE KEY UPDATE "
		    "after_key = VALUES(after_key)", ARGS(STR(tree), STR(after == NULL ? "" : after)));
	arena_free(mem);
}

void
orphans_clear(struct job *j, size_t assets)
{
	const char *const *tree;

	for (tree = orphan_trees; *tree != NULL; tree++)
		look_on(j, *tree, assets);
}
