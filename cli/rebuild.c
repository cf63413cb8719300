/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek rebuild and verify: do assets have the files that their rows name, and ingests for those that have not, as
 * after a restore.  `kinothek doctor --consistency` asks the same.
 */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/consistency.h"
#include "core/asset.h"
#include "core/job.h"
#include "core/ledger.h"
#include "core/scratch.h"
#include "core/store.h"

enum { PAGE = 200, PAGE_MEMORY = 256 << 20 };

struct asset {
	struct uuid id, tenant_id, ingest_job_id;
	const char *name, *status, *sha256, *damage;
	int64_t file_size;
	struct json captions;
	bool at_work;
};
static const struct field asset_fields[] = {
	FIELD(struct asset, id, .doc = "Unique id"),
	FIELD(struct asset, tenant_id, .doc = "Whose it is"),
	FIELD(struct asset, ingest_job_id, .doc = "Root of its latest ingest"),
	FIELD(struct asset, name, .doc = "Shown to people"),
	FIELD(struct asset, status, .doc = "State"),
	FIELD(struct asset, sha256, .sql = "LOWER(HEX(t.sha256))", .doc = "Of the original"),
	FIELD(struct asset, file_size, .doc = "Bytes of the original"),
	FIELD(struct asset, damage, .doc = "What was found when it was last read"),
	FIELD(struct asset, captions, .doc = "Files"),
	FIELD(struct asset, at_work, .sql = "t.ingest_status IN ('queued', 'running')", .doc = "Its ingest is not over"),
};
static const struct record asset_record = RECORD("RebuiltAsset", struct asset, asset_fields);

struct named { const char *file; };
static const struct field named_fields[] = {
	FIELD(struct named, file, .doc = "Below play/{mediaId}/"),
};
static const struct record named_record = RECORD("NamedFile", struct named, named_fields);

/* What is found of one asset. */
enum state { WHOLE, NOT_PLAYABLE, NOT_COMPLETE, ORIGINAL_GONE, ORIGINAL_CHANGED, ORIGINAL_UNREAD };

struct look {
	struct cli *c;
	struct arena *mem;		/* of a page */
	struct buf json;
	lack_found *found;		/* NULL: it is printed */
	void *at;
	struct uuid tenant_id, media_id;	/* none: of all */
	bool all, hashes, mends;
	int away;			/* errno of a store that could not be asked; 0: it could */
	const char *scratch;		/* for what is read; NULL: nothing is */
	bool unread;			/* there was no room for the last one */
	size_t n, count[ORIGINAL_UNREAD + 1], added, busy;
};

/* A store that is away has lost nothing: then the look ends. */
static bool
has_key(struct look *l, const char *key)
{
	bool there;

	if (store_has(l->mem, key, &there))
		return there;
	l->away = errno;
	return true;
}

static bool
has(struct look *l, const struct asset *a, const char *file)
{
	return has_key(l, store_key_play(l->mem, a->id, file));
}

/* Those that are shown, and those that the latest ingest has made so far. */
static bool
has_renditions(struct look *l, const struct asset *a)
{
	const struct named *f;
	size_t i, n;

	f = db_rows(l->c->db, &named_record, "FROM renditions t JOIN media m ON m.id = t.media_id WHERE m.id = ? AND "
	    "t.generation IN (m.generation, ?)", ARGS(ID(a->id), STR(uuid_text(l->mem, a->ingest_job_id))), &n);
	for (i = 0; i < n; i++)
		if (!has(l, a, f[i].file))
			return false;
	return true;
}

/* As far as an ingest could bring it back. */
static bool
has_more(struct look *l, const struct asset *a)
{
	struct list captions = record_parse_list(l->mem, &named_record, a->captions.text);
	struct strings pictures = asset_pictures(l->c->db, a->id);
	const struct named *f = captions.rows;
	size_t i;

	for (i = 0; i < captions.n; i++)
		if (f[i].file != NULL && !has(l, a, f[i].file))
			return false;
	for (i = 0; i < pictures.n; i++)
		if (!has(l, a, pictures.at[i]) && has_key(l, store_key_thumbnail(l->mem, a->id, pictures.at[i])))
			return false;
	return true;
}

/* With --hashes its bytes are read, and the ledger is told; else the ledger is asked. */
static bool
is_unharmed(struct look *l, const struct asset *a)
{
	const struct original o = { a->id, a->sha256, a->file_size };
	enum examined found;

	if (!l->hashes)
		return a->damage == NULL;
	found = ledger_examine(l->mem, &o, l->scratch, NULL);
	/* What could not be looked at is not what has changed.  Another one may be smaller. */
	l->unread = found == EXAMINED_UNKNOWN && (errno == ENOSPC || errno == EDQUOT);
	if (l->unread)
		return true;
	/* ENOENT: it was deleted just now. */
	if (found == EXAMINED_UNKNOWN && errno != ENOENT)
		l->away = errno != 0 ? errno : EIO;
	ledger_note(l->c->db, &o, found);
	return found == EXAMINED_INTACT;
}

static enum state
judge(struct look *l, const struct asset *a)
{
	const char *key = store_key_original(l->mem, a->id);

	const int64_t size = store_size(l->mem, key);

	if (size < 0 && errno != ENOENT && errno != ENOTDIR)
		l->away = errno;
	if (size < 0)
		return ORIGINAL_GONE;
	l->unread = false;
	if (size != a->file_size || !is_unharmed(l, a))
		return ORIGINAL_CHANGED;
	if (l->unread)
		return ORIGINAL_UNREAD;
	if (!has_renditions(l, a))
		return NOT_PLAYABLE;
	return has_more(l, a) ? WHOLE : NOT_COMPLETE;
}

struct mending { const struct asset *asset; bool playable, busy; };

/*
 * A new ingest.  What nobody can play is taken back until there is something to play again, so that clients see that it
 * is being made.  Steps of an ingest that has lost its files would fail one by one: they end here.
 */
static int
ingest_anew(struct cli *c, void *arg)
{
	struct mending *m = arg;
	const struct asset *a = m->asset;

	db_number(c->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(a->id)), 0);
	m->busy = db_number(c->db, "SELECT COUNT(*) FROM jobs WHERE ingest_id = ? AND kind = 'ingest' AND state IN "
	    "('waiting', 'delayed', 'ready', 'running')", ARGS(ID(a->ingest_job_id)), 0) > 0 ||
	    (m->playable && a->at_work);
	if (m->busy)
		return 0;
	db_run(c->db, "UPDATE jobs SET cancel_requested = 1 WHERE ingest_id = ? AND state = 'running'",
	    ARGS(ID(a->ingest_job_id)));
	db_run(c->db, "UPDATE jobs SET state = 'cancelled', error = ?, finished_at = " SQL_NOW ", fence = fence + 1 "
	    "WHERE ingest_id = ? AND state IN ('waiting', 'delayed', 'ready')", ARGS(STR(job_error(c->mem,
	    REASON_CANCELLED, NULL)), ID(a->ingest_job_id)));
	if (!m->playable)
		db_run(c->db, "UPDATE media SET status = 'failed' WHERE id = ?", ARGS(ID(a->id)));
	ingest_start(c->db, a->tenant_id, a->id);
	if (!m->playable)
		asset_summarise(c->db, a->id, SUM_RENDITIONS);
	return 0;
}

/* By state. */
static const struct { const char *name, *remedy; } states[] = {
	{ "whole", NULL },
	{ "not playable", "Run `kinothek rebuild`: its original is there." },
	{ "not complete", "Run `kinothek rebuild`: its original is there." },
	{ "original gone", "Bring its original back from a backup, or delete the asset and upload the file again." },
	{ "original changed", "Bring its original back from a backup, or delete the asset and upload the file again." },
	{ "not read", "Make room in the scratch directory for a copy of its original, and verify again." },
};

static void
tell(struct look *l, const struct asset *a, enum state state)
{
	const char *id = uuid_text(l->mem, a->id), *name = states[state].name, *remedy = states[state].remedy;

	if (state == WHOLE)
		return;
	if (l->found != NULL) {
		l->found(l->at, l->mem, &(const struct lack){ "media", id, arena_printf(l->mem,
		    "its files are not all there, or not as they were: %s", name), remedy });
		return;
	}
	if (!l->c->json) {
		printf("%s  %-16s  %s\n", id, name, a->name);
		if (!l->mends)
			printf("    -> %s\n", remedy);
		return;
	}
	buf_printf(&l->json, "%s{\"mediaId\":\"%s\",\"state\":\"%s\",\"name\":", l->json.len == 0 ? "" : ",", id, name);
	buf_json(&l->json, a->name);
	buf_text(&l->json, ",\"remedy\":");
	buf_json(&l->json, remedy);
	buf_char(&l->json, '}');
}

/* While it was looked at, it may have been deleted, or its files may have been replaced. */
static enum state
judge_again(struct look *l, const struct asset *a)
{
	const struct asset *now = db_row(l->c->db, &asset_record, "FROM media t WHERE t.id = ?", ARGS(ID(a->id)));

	return now == NULL ? WHOLE : judge(l, now);
}

static int
look_at(struct look *l, const struct asset *a)
{
	enum state state = judge(l, a);
	struct mending m = { .asset = a, .playable = state != NOT_PLAYABLE };
	int status;

	if (state != WHOLE && !l->mends)
		state = judge_again(l, a);
	if (l->away != 0)
		return cli_fail(l->c, EX_IOERR, "the store cannot be read: %s", strerror(l->away));
	l->n++;
	l->count[state]++;
	if (!l->mends || state == ORIGINAL_GONE || state == ORIGINAL_CHANGED || !l->all)
		tell(l, a, state);
	if (!l->mends || state >= ORIGINAL_GONE || (state == WHOLE && !l->all))
		return 0;
	status = cli_transaction(l->c, ingest_anew, &m);
	l->added += status == 0 && !m.busy;
	l->busy += status == 0 && m.busy;
	return status;
}

static const struct asset *
next_page(struct look *l, struct uuid after, size_t *n)
{
	struct db *db = l->c->db;

	if (!uuid_is_none(l->media_id))
		return db_rows(db, &asset_record, "FROM media t WHERE t.id = ? AND t.file_size > 0",
		    ARGS(ID(l->media_id)), n);
	if (!uuid_is_none(l->tenant_id))
		return db_rows(db, &asset_record, "FROM media t WHERE t.id > ? AND t.tenant_id = ? AND t.file_size > 0 "
		    "ORDER BY t.id LIMIT ?", ARGS(BYTES(after.b, sizeof(after.b)), ID(l->tenant_id), INT(PAGE)), n);
	return db_rows(db, &asset_record, "FROM media t WHERE t.id > ? AND t.file_size > 0 ORDER BY t.id LIMIT ?",
	    ARGS(BYTES(after.b, sizeof(after.b)), INT(PAGE)), n);
}

/* All assets in the order of their ids, which nobody changes. */
static int
look_at_all(struct look *l)
{
	const struct asset *a;
	struct uuid after = { { 0 } };
	int status = 0;
	size_t i, n;

	do {
		db_use(l->c->db, l->mem);
		a = next_page(l, after, &n);
		if (db_failure(l->c->db) != DB_FINE)
			return cli_fail_db(l->c);
		for (i = 0; i < n && status == 0; i++)
			status = look_at(l, &a[i]);
		if (n > 0)
			after = a[n - 1].id;
		db_use(l->c->db, l->c->mem);
		arena_reset(l->mem);
	} while (status == 0 && n == PAGE);
	return status;
}

static int
run(struct look *l)
{
	struct cli *c = l->c;
	const char *name = NULL;
	size_t lost;
	int status;

	if (!store_open(c->conf))
		return cli_fail(c, EX_NOINPUT, "data_dir %s: %s", c->conf->data_dir, strerror(errno));
	l->mem = arena_new(PAGE_MEMORY);
	l->json = BUF(c->mem);
	if (l->hashes) {
		name = arena_printf(c->mem, "verify-%s", uuid_text(c->mem, uuid_new()));
		if (!scratch_open(c->conf) || !scratch_make(c->mem, name))
			return cli_fail(c, EX_CANTCREAT, "%s: %s", scratch_root(c->conf), strerror(errno));
		l->scratch = scratch_path(c->mem, name);
	}
	status = look_at_all(l);
	if (name != NULL)
		scratch_remove(c->mem, name);
	arena_free(l->mem);
	if (status != 0)
		return status;
	if (l->added > 0)
		job_wake(c->conf->run_dir);
	lost = l->count[ORIGINAL_GONE] + l->count[ORIGINAL_CHANGED];
	if (c->json)
		printf("{\"assets\":%zu,\"notPlayable\":%zu,\"notComplete\":%zu,\"originalsGone\":%zu,"
		    "\"originalsChanged\":%zu,\"originalsUnread\":%zu,\"ingests\":%zu,\"atWork\":%zu,"
		    "\"found\":[%s]}\n", l->n, l->count[NOT_PLAYABLE], l->count[NOT_COMPLETE], l->count[ORIGINAL_GONE],
		    l->count[ORIGINAL_CHANGED], l->count[ORIGINAL_UNREAD], l->added, l->busy, buf_string(&l->json));
	else if (l->mends)
		printf("%zu assets: %zu are ingested anew, %zu are at work already, %zu have no good original\n", l->n,
		    l->added, l->busy, lost);
	else
		printf("%zu assets: %zu not playable, %zu not complete, %zu without a good original%s\n", l->n,
		    l->count[NOT_PLAYABLE], l->count[NOT_COMPLETE], lost, l->count[ORIGINAL_UNREAD] == 0 ? "" :
		    arena_printf(c->mem, ", %zu not read", l->count[ORIGINAL_UNREAD]));
	return lost > 0 || (!l->mends && l->count[WHOLE] < l->n) ? 1 : 0;
}

int
verify_assets(struct cli *c, lack_found *found, void *at)
{
	struct look l = { .c = c, .mem = arena_new(PAGE_MEMORY), .found = found, .at = at };
	int status = look_at_all(&l);

	arena_free(l.mem);
	return status;
}

int
rebuild_run(struct cli *c)
{
	struct look l = { .c = c, .mends = true, .all = cli_option(c, "all") != NULL };

	return run(&l);
}

int
verify_run(struct cli *c)
{
	struct look l = { .c = c, .hashes = cli_option(c, "hashes") != NULL };
	const char *tenant = cli_option(c, "tenant"), *media = cli_option(c, "media");
	int status = 0;

	if (tenant != NULL && media != NULL)
		return cli_fail(c, EX_USAGE, "--tenant and --media exclude each other");
	if (tenant != NULL && (status = tenant_find(c, tenant, &l.tenant_id)) != 0)
		return status;
	if (media != NULL && !cli_id(c, media, &l.media_id))
		return EX_USAGE;
	if (media != NULL && db_number(c->db, "SELECT COUNT(*) FROM media WHERE id = ?", ARGS(ID(l.media_id)), 0) == 0)
		return db_failure(c->db) != DB_FINE ? cli_fail_db(c) :
		    cli_fail(c, EX_NOINPUT, "there is no asset %s", media);
	return run(&l);
}
