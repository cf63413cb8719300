/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek doctor --consistency: what it tells, and the files of the store. */
#include <errno.h>
#include <string.h>

#include "cli/consistency.h"
#include "core/orphan.h"
#include "core/store.h"

enum { PAGE = 500, PAGE_MEMORY = 256 << 20 };

static size_t findings;

void
consistency_found(struct cli *c, const char *where, const char *which, const char *text, const char *remedy)
{
	struct arena *mem = arena_new(1 << 20);
	struct buf b = BUF(mem);

	if (c->json) {
		buf_printf(&b, "%s{\"check\":", findings == 0 ? "[" : ",");
		buf_json(&b, where);
		buf_text(&b, ",\"level\":\"fail\",\"text\":");
		buf_json(&b, arena_printf(mem, "%s: %s", which, text));
		buf_text(&b, ",\"remedy\":");
		buf_json(&b, remedy);
		printf("%s}", buf_string(&b));
	} else
		printf("FAIL  %-12s  %s: %s\n      %-12s  -> %s\n", where, which, text, "", remedy);
	arena_free(mem);
	findings++;
}

/* The sweep takes it away, and comes round to each one at last: what is older than it should be was left by it. */
static void
file_found(void *at, struct arena *mem, const char *key)
{
	(void)mem;
	consistency_found(at, "store", key, "no row names this file",
	    "The sweep deletes it when it is a day old: see whether a job runner runs, or run `kinothek prune`.");
}

static int
look_for_files(struct cli *c, struct arena *mem, bool idle)
{
	const struct orphan_search search = { .db = c->db, .conf = c->conf, .at = c, .found = file_found,
	    .old = idle ? INT64_MAX : moment_now().ms - 2 * ORPHAN_MS };

	if (orphan_look_all(&search, mem))
		return 0;
	return db_failure(c->db) != DB_FINE ? cli_fail_db(c) :
	    cli_fail(c, EX_IOERR, "the store cannot be read: %s", strerror(errno));
}

static void
lack_told(void *at, struct arena *mem, const struct lack *lack)
{
	(void)mem;
	consistency_found(at, lack->table, lack->id, lack->text, lack->remedy);
}

struct received { struct uuid id; };
static const struct field received_fields[] = { FIELD(struct received, id, .doc = "Upload") };
static const struct record received_record = RECORD("ReceivedUpload", struct received, received_fields);

/* Bytes that are all there, and are no asset yet. */
static int
look_at_uploads(struct cli *c, struct arena *mem, lack_found *found, void *at)
{
	const struct received *u;
	struct uuid after = { { 0 } };
	size_t i, n;
	bool there;

	do {
		arena_reset(mem);
		u = db_rows(c->db, &received_record, "FROM uploads t WHERE t.status = 'uploaded' AND t.id > ? ORDER BY "
		    "t.id LIMIT ?", ARGS(BYTES(after.b, sizeof(after.b)), INT(PAGE)), &n);
		for (i = 0; i < n; i++)
			/* It may have become an asset meanwhile, and that may be gone. */
			if (store_has(mem, store_key_original(mem, u[i].id), &there) && !there && db_number(c->db,
			    "SELECT 1 FROM uploads WHERE id = ? AND status = 'uploaded'", ARGS(ID(u[i].id)), 0) == 1)
				found(at, mem, &(const struct lack){ "uploads", uuid_text(mem, u[i].id),
				    "its bytes are not there", "Cancel it, and upload the file again." });
		if (n > 0)
			after = u[n - 1].id;
	} while (n == PAGE);
	return db_failure(c->db) == DB_FINE ? 0 : cli_fail_db(c);
}

int
consistency_lacks(struct cli *c, struct arena *mem, lack_found *found, void *at)
{
	int status = look_at_uploads(c, mem, found, at);

	return status != 0 ? status : verify_assets(c, found, at);
}

int
consistency_run(struct cli *c)
{
	struct arena *mem = arena_new(PAGE_MEMORY);
	int status;

	if (!store_open(c->conf))
		return cli_fail(c, EX_NOINPUT, "data_dir %s: %s", c->conf->data_dir, strerror(errno));
	db_use(c->db, mem);
	status = consistency_rows(c, mem);
	if (status == 0)
		status = look_for_files(c, mem, cli_option(c, "idle") != NULL);
	if (status == 0)
		status = consistency_lacks(c, mem, lack_told, c);
	db_use(c->db, c->mem);
	arena_free(mem);
	if (c->json)
		printf("%s]\n", findings == 0 ? "[" : "");
	return status != 0 ? status : findings > 0 ? 1 : 0;
}
