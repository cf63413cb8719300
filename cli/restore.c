/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek restore: a backup into an installation that has nothing yet.  All of it is looked at before anything is
 * changed; one that was interrupted goes on when it is run again, and until it has ended the database says so.
 */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/backup.h"
#include "cli/dump.h"
#include "cli/manifest.h"
#include "cli/setup.h"
#include "core/disk.h"
#include "core/migrate.h"
#include "core/store.h"

enum { PAGE = 500, PAGE_MEMORY = 16 << 20 };

/* The table that a database has while it is being restored; its comment names the backup. */
#define MARK "kinothek_restoring"

struct restore {
	struct cli *c;
	const char *dir, *dump;		/* dump: its path */
	struct arena *lasting, *page;
	const struct manifest *what;
	struct progress progress;
};

static const char *
path_of(const struct restore *r, struct arena *mem, const char *path)
{
	return arena_printf(mem, "%s/%s", r->dir, path);
}

static int
check_schema(struct restore *r)
{
	struct migrations ours;
	const char *fault = migrate_read(r->c->mem, schema_dir(r->c), &ours);
	int64_t newest = fault == NULL && ours.n > 0 ? ours.at[ours.n - 1].number : 0;

	if (fault != NULL)
		return cli_fail(r->c, EX_CONFIG, "%s", fault);
	if (r->what->schema > newest)
		return cli_fail(r->c, EX_DATAERR, "the backup has schema %" PRId64 " and this program %" PRId64
		    ": install a newer one", r->what->schema, newest);
	return 0;
}

/* Nothing but what `kinothek init` makes, or what an interrupted restore of the same backup has left. */
static int
check_database(struct restore *r)
{
	struct db *db = r->c->db;
	const char *mark = db_text(db, "SELECT table_comment FROM information_schema.tables WHERE table_schema = "
	    "DATABASE() AND table_name = '" MARK "'", NO_ARGS);
	int64_t tables = db_number(db, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()",
	    NO_ARGS, 0);
	int64_t tenants = tables == 0 || mark != NULL ? 0 : db_number(db, "SELECT COUNT(*) FROM tenants", NO_ARGS, 0);

	if (db_errno(db) == 1146)
		return cli_fail(r->c, EX_DATAERR, "the database %s holds tables of something else",
		    r->c->conf->db_name);
	if (db_failure(db) != DB_FINE)
		return cli_fail_db(r->c);
	if (mark != NULL && strcmp(mark, uuid_text(r->c->mem, r->what->id)) != 0)
		return cli_fail(r->c, EX_DATAERR, "the restore of another backup (%s) was begun in this database: end "
		    "that one, or make the database anew", mark);
	if (tenants > 0)
		return cli_fail(r->c, EX_DATAERR, "the database %s is not empty: it has %" PRId64 " tenants",
		    r->c->conf->db_name, tenants);
	return 0;
}

/* Originals of other assets would be mixed with these. */
static int
check_store(struct restore *r)
{
	const struct manifest_file *known;
	const char *after = NULL;
	struct store_entry *e;
	size_t i, n;

	do {
		e = store_list(r->page, store_lasting, after, PAGE, &n);
		if (e == NULL)
			return cli_fail(r->c, EX_IOERR, "the store cannot be read: %s", strerror(errno));
		for (i = 0; i < n; i++) {
			known = manifest_find(r->what, e[i].key);
			if (e[i].key[strlen(store_lasting)] == '.' || (known != NULL && known->size == e[i].size))
				continue;
			return cli_fail(r->c, EX_DATAERR, "%s/%s is not of this backup: data_dir belongs to another "
			    "installation", r->c->conf->data_dir, e[i].key);
		}
		after = n == 0 ? NULL : arena_copy(r->lasting, e[n - 1].key);
		arena_reset(r->page);
	} while (n == PAGE);
	return 0;
}

static int
check_files(struct restore *r)
{
	const struct manifest_file *f;
	const char *path, *sha256;
	struct stat st;
	size_t i;

	for (i = 0; i < r->what->n_files; i++) {
		f = &r->what->files[i];
		path = path_of(r, r->page, f->path);
		if (strncmp(f->path, "database-", 9) == 0)
			r->dump = arena_copy(r->lasting, path);
		if (lstat(path, &st) != 0)
			return cli_fail(r->c, EX_DATAERR, "%s: %s; the backup is not whole", path, strerror(errno));
		if (!S_ISREG(st.st_mode) || st.st_size != f->size)
			return cli_fail(r->c, EX_DATAERR, "%s is cut off or was changed", path);
		arena_reset(r->page);
	}
	r->progress = (struct progress){ .what = "checking", .all = r->what->n_files, .said_at = clock_ms() };
	for (i = 0; i < r->what->n_files; i++) {
		f = &r->what->files[i];
		path = path_of(r, r->page, f->path);
		sha256 = digest_file(r->page, path, NULL);
		if (sha256 == NULL || strcmp(sha256, f->sha256) != 0)
			return cli_fail(r->c, EX_DATAERR, "%s was changed: its sum is not that of the manifest", path);
		arena_reset(r->page);
		backup_progress(r->c, &r->progress, f->size);
	}
	return r->dump != NULL ? 0 : cli_fail(r->c, EX_DATAERR, "there is no dump of the database in the manifest");
}

/* Its runner would work on a database that is half there. */
static int
check_runners(struct restore *r)
{
	if (sockets_runner(r->c))
		return cli_fail(r->c, EX_TEMPFAIL, "kinothek-jobs runs here: stop the services first");
	return 0;
}

/* Has the store the very bytes?  What a disk has spoilt may be as long as it was. */
static bool
is_there(struct restore *r, const struct manifest_file *f, const char *incoming)
{
	const char *path = NULL, *sha256 = NULL;

	if (store_size(r->page, f->path) == f->size)
		path = store_fetch(r->page, f->path, incoming);
	if (path != NULL)
		sha256 = digest_file(r->page, path, NULL);
	if (path != NULL && strncmp(path, incoming, strlen(incoming)) == 0)
		disk_remove(path);
	return sha256 != NULL && strcmp(sha256, f->sha256) == 0;
}

static int
put_file(struct restore *r, const struct manifest_file *f, const char *incoming)
{
	const char *from = path_of(r, r->page, f->path), *to = arena_printf(r->page, "%s/file", incoming);

	if (is_there(r, f, incoming))
		return 0;
	if (disk_make_dir(incoming, 0700) && disk_copy(from, to, 0600) && store_put(r->page, to, f->path))
		return 0;
	return cli_fail(r->c, EX_CANTCREAT, "%s cannot be put into %s: %s", from, r->c->conf->data_dir,
	    strerror(errno));
}

static int
put_files(struct restore *r)
{
	const char *incoming = store_incoming(r->lasting, r->what->id);
	int status = 0;
	size_t i;

	r->progress = (struct progress){ .what = "restoring", .all = r->what->n_files, .said_at = clock_ms() };
	for (i = 0; status == 0 && i < r->what->n_files; i++) {
		if (backup_is_stored(r->what->files[i].path))
			status = put_file(r, &r->what->files[i], incoming);
		arena_reset(r->page);
		backup_progress(r->c, &r->progress, r->what->files[i].size);
	}
	disk_remove(incoming);
	return status;
}

static void
pass_over(const struct migration *applied)
{
}

/* The dump puts its tables in the place of those that are there, also of a load that was cut off; those of a newer
 * schema are empty, and found by their migrations.  The mark goes with the last step. */
static int
load_database(struct restore *r)
{
	struct db *db = r->c->db;
	struct migrations all;
	const char *fault;
	int status;

	if (!r->c->json)
		fputs("loading the database\n", stderr);
	if (db_script(db, arena_printf(r->c->mem, "CREATE TABLE IF NOT EXISTS " MARK " (id INT) COMMENT '%s'",
	    uuid_text(r->c->mem, r->what->id))) != NULL)
		return cli_fail_db(r->c);
	status = dump_load(r->c, r->dump);
	if (status != 0)
		return status;
	fault = migrate_run(db, r->c->mem, schema_dir(r->c), pass_over, &all);
	if (fault != NULL)
		return cli_fail(r->c, EX_DATAERR, "%s", fault);
	/* Runners of then are not those of now: nobody waits for them. */
	db_run(db, "UPDATE jobs SET lease_until = 1 WHERE state = 'running'", NO_ARGS);
	db_run(db, "DELETE FROM runners", NO_ARGS);
	if (db_failure(db) != DB_FINE || db_script(db, "DROP TABLE " MARK) != NULL)
		return cli_fail_db(r->c);
	return 0;
}

static int
tell(const struct restore *r)
{
	char made[MOMENT_TEXT];

	if (r->c->json) {
		printf("{\"id\":\"%s\",\"files\":%zu}\n", uuid_text(r->c->mem, r->what->id), r->what->n_files);
		return 0;
	}
	printf("backup %s of %s is restored.\n", uuid_text(r->c->mem, r->what->id),
	    moment_format(r->what->made_at, made));
	printf("settings and keys of then: %s/settings-%s; those of this machine stay as they are\n", r->dir,
	    uuid_text(r->c->mem, r->what->id));
	puts("next:     start the services, then kinothek rebuild");
	return 0;
}

static int
work(struct restore *r)
{
	const char *fault;
	int status;

	r->what = manifest_read(r->lasting, r->dir, &fault);
	if (r->what == NULL)
		return cli_fail(r->c, EX_DATAERR, "%s", fault);
	if ((status = check_schema(r)) != 0 || (status = check_database(r)) != 0 || (status = check_runners(r)) != 0 ||
	    (status = check_store(r)) != 0 || (status = check_files(r)) != 0)
		return status;
	if ((status = put_files(r)) != 0 || (status = load_database(r)) != 0)
		return status;
	return tell(r);
}

int
restore_run(struct cli *c)
{
	struct restore r = { .c = c, .dir = c->arg[0], .lasting = arena_new((size_t)8 << 30),
	    .page = arena_new(PAGE_MEMORY) };
	int lock, status;

	if (!store_open(c->conf))
		status = cli_fail(c, EX_CANTCREAT, "data_dir %s cannot be made: %s", c->conf->data_dir,
		    strerror(errno));
	else if ((lock = backup_lock(c, r.dir)) < 0)
		status = EX_NOINPUT;
	else {
		status = work(&r);
		close(lock);
	}
	arena_free(r.page);
	arena_free(r.lasting);
	return status;
}
