/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek prune: objects that no row names go at once, where the sweep of the runner takes its minutes, and rows whose
 * objects are gone are told.  What is younger than a day, or may still be named by a job, an upload or a purge, stays:
 * core/orphan.c decides for both.  Killed anywhere, it goes on when it is run again.
 */
#include <errno.h>
#include <string.h>

#include "cli/consistency.h"
#include "core/orphan.h"
#include "core/store.h"

enum { PAGE = 500, PAGE_MEMORY = 64 << 20 };

struct prune {
	struct cli *c;
	bool dry;
	size_t objects, kept, rows;	/* that no row names; of them, not deletable; rows without their objects */
	int64_t bytes;
};

/* Of the object, or of all that lie below the key. */
static int64_t
bytes_of(struct arena *mem, const char *key)
{
	int64_t bytes = store_size(mem, key);
	const char *after = NULL;
	struct store_entry *e;
	size_t i, n;

	if (bytes >= 0)
		return bytes;
	bytes = 0;
	do {
		e = store_list(mem, arena_printf(mem, "%s/", key), after, PAGE, &n);
		for (i = 0; i < n; i++)
			bytes += e[i].size < 0 ? 0 : e[i].size;
		after = n == 0 ? NULL : e[n - 1].key;
	} while (n == PAGE);
	return bytes;
}

static void
object_found(void *at, struct arena *mem, const char *key)
{
	struct prune *p = at;
	const int64_t bytes = bytes_of(mem, key);
	const char *fault;
	struct buf b = BUF(mem);
	bool gone;

	/* Whatever was found: who cannot ask cannot know. */
	if (db_failure(p->c->db) != DB_FINE)
		return;
	gone = p->dry || store_delete(mem, key);
	fault = gone ? NULL : strerror(errno);
	p->objects++;
	if (gone)
		p->bytes += bytes;
	else
		p->kept++;
	if (!p->c->json) {
		printf("%s  %s  %s%s%s\n", p->dry ? "would go" : gone ? "deleted " : "STAYS   ", key,
		    cli_bytes(mem, bytes), gone ? "" : ": ", gone ? "" : fault);
		return;
	}
	buf_printf(&b, "%s{\"key\":\"%s\",\"bytes\":%lld,\"deleted\":%s,\"error\":", p->objects == 1 ? "" : ",", key,
	    (long long)bytes, gone && !p->dry ? "true" : "false");
	buf_json(&b, fault);
	printf("%s}", buf_string(&b));
}

static void
row_found(void *at, struct arena *mem, const struct lack *lack)
{
	struct prune *p = at;
	struct buf b = BUF(mem);

	p->rows++;
	if (!p->c->json) {
		printf("lacks     %s %s  %s\n          -> %s\n", lack->table, lack->id, lack->text, lack->remedy);
		return;
	}
	buf_printf(&b, "%s{\"table\":\"%s\",\"id\":\"%s\",\"text\":", p->rows == 1 ? "" : ",", lack->table, lack->id);
	buf_json(&b, lack->text);
	buf_text(&b, ",\"remedy\":");
	buf_json(&b, lack->remedy);
	printf("%s}", buf_string(&b));
}

static int
look_for_objects(struct prune *p, struct arena *mem)
{
	const struct orphan_search search = { .db = p->c->db, .conf = p->c->conf, .at = p, .found = object_found,
	    .old = moment_now().ms - ORPHAN_MS };

	if (orphan_look_all(&search, mem))
		return 0;
	return db_failure(p->c->db) != DB_FINE ? cli_fail_db(p->c) :
	    cli_fail(p->c, EX_IOERR, "the store cannot be read: %s", strerror(errno));
}

static void
print_sum(const struct prune *p)
{
	if (p->c->json)
		printf("],\"dryRun\":%s,\"objects\":%zu,\"bytes\":%lld,\"notDeleted\":%zu,\"rows\":%zu}\n",
		    p->dry ? "true" : "false", p->objects, (long long)p->bytes, p->kept, p->rows);
	else
		printf("%zu objects that no row names, %s: %s; %zu could not be deleted; %zu rows lack objects\n",
		    p->objects, cli_bytes(p->c->mem, p->bytes), p->dry ? "nothing was deleted" : "deleted", p->kept,
		    p->rows);
}

int
prune_run(struct cli *c)
{
	struct prune p = { .c = c, .dry = cli_option(c, "dry-run") != NULL };
	struct arena *mem;
	int status;

	if (!store_open(c->conf))
		return cli_fail(c, EX_NOINPUT, "data_dir %s: %s", c->conf->data_dir, strerror(errno));
	if (db_number(c->db, "SELECT COUNT(*) FROM tenants", NO_ARGS, -1) < 0)
		return cli_fail_db(c);
	mem = arena_new(PAGE_MEMORY);
	db_use(c->db, mem);
	if (c->json)
		fputs("{\"orphans\":[", stdout);
	status = look_for_objects(&p, mem);
	if (c->json)
		fputs("],\"lacking\":[", stdout);
	if (status == 0)
		status = consistency_lacks(c, mem, row_found, &p);
	db_use(c->db, c->mem);
	arena_free(mem);
	print_sum(&p);
	return status != 0 ? status : p.kept > 0 || p.rows > 0 ? 1 : 0;
}
