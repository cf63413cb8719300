/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek reindex: what can be searched is made anew of all assets, by jobs, while all goes on. */
#include "cli/cli.h"
#include "core/job.h"
#include "core/search.h"

enum { PAGE = 200 };

struct asset { struct uuid id; };
static const struct field asset_fields[] = { FIELD(struct asset, id, .doc = "Unique id") };
static const struct record asset_record = RECORD("IndexedAsset", struct asset, asset_fields);

struct way { struct uuid last; size_t n, all; };

static int
add_some(struct cli *c, void *arg)
{
	struct way *way = arg;
	const struct asset *a;
	size_t i;

	a = db_rows(c->db, &asset_record, "FROM media t WHERE t.id > ? ORDER BY t.id LIMIT ?",
	    ARGS(BYTES(way->last.b, sizeof(way->last.b)), INT(PAGE)), &way->n);
	for (i = 0; i < way->n; i++)
		search_renew(c->db, a[i].id, PRIORITY_BULK);
	if (way->n > 0)
		way->last = a[way->n - 1].id;
	return 0;
}

/* A job that was cancelled, or never came to its work, has left its note: nobody would index the asset any more. */
static int
forget_lost(struct cli *c, void *arg)
{
	(void)arg;
	db_run(c->db, "DELETE p FROM search_pending p LEFT JOIN (SELECT DISTINCT CAST(UNHEX(REPLACE("
	    "JSON_VALUE(j.args, '$.mediaId'), '-', '')) AS BINARY(16)) AS id FROM jobs j WHERE j.kind = 'index' AND "
	    "j.state IN ('ready', 'running', 'delayed', 'waiting')) o ON o.id = p.media_id WHERE o.id IS NULL", NO_ARGS);
	return 0;
}

/* Assets that wait already are not added again, so after an interruption it is run again. */
int
reindex_run(struct cli *c)
{
	struct arena *mem = arena_new(64 << 20);
	struct way way = { .n = PAGE };
	int status;

	db_use(c->db, mem);
	status = cli_transaction(c, forget_lost, NULL);
	while (status == 0 && way.n == PAGE) {
		status = cli_transaction(c, add_some, &way);
		way.all += status == 0 ? way.n : 0;
		arena_reset(mem);
	}
	db_use(c->db, c->mem);
	arena_free(mem);
	if (status != 0)
		return status;
	if (job_added())
		job_wake(c->conf->run_dir);
	if (c->json)
		printf("{\"assets\":%zu}\n", way.all);
	else
		printf("%zu assets are indexed anew by jobs\n", way.all);
	return 0;
}
