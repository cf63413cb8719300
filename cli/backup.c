/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek backup: the database as one moment of it, originals with the thumbnails that clients have set, settings and
 * keys, while everything runs.  A further backup into the same directory reads only what is new; until its manifest is
 * there, the one before is whole.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/backup.h"
#include "cli/dump.h"
#include "cli/manifest.h"
#include "cli/setup.h"
#include "cli/site.h"
#include "core/disk.h"
#include "core/machine.h"
#include "core/migrate.h"
#include "core/orphan.h"
#include "core/store.h"

enum { PAGE = 500, SAY_MS = 2000, SETTING_MAX = 1 << 20, PAGE_MEMORY = 16 << 20 };

struct backup {
	struct cli *c;
	const char *dir;
	struct arena *lasting, *page;	/* of the manifests, which may be long; of a page of files */
	const struct manifest *before;	/* what the directory held; empty: nothing */
	struct manifest new;
	struct progress progress;
	bool lost;			/* something that a row names is not as it was */
};

struct tenant_row { struct uuid id; const char *shortcode; };
static const struct field tenant_fields[] = {
	FIELD(struct tenant_row, id, .doc = "Unique id"),
	FIELD(struct tenant_row, shortcode, .doc = "Name in addresses"),
};
static const struct record tenant_record = RECORD("BackedUpTenant", struct tenant_row, tenant_fields);

void
backup_progress(const struct cli *c, struct progress *p, int64_t bytes)
{
	p->n++;
	p->bytes += bytes;
	if (c->json || (clock_ms() - p->said_at < SAY_MS && p->n != p->all))
		return;
	p->said_at = clock_ms();
	if (p->all > 0)
		fprintf(stderr, "%s: %zu of %zu files, %s\n", p->what, p->n, p->all, cli_bytes(c->mem, p->bytes));
	else
		fprintf(stderr, "%s: %zu files, %s\n", p->what, p->n, cli_bytes(c->mem, p->bytes));
}

bool
backup_is_stored(const char *path)
{
	return strncmp(path, store_lasting, strlen(store_lasting)) == 0;
}

int
backup_lock(const struct cli *c, const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		cli_fail(c, EX_NOINPUT, "%s: %s", dir, strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	cli_fail(c, EX_TEMPFAIL, "%s is being written or read by another command", dir);
	close(fd);
	return -1;
}

static const char *
in_dir(const struct backup *b, struct arena *mem, const char *path)
{
	return arena_printf(mem, "%s/%s", b->dir, path);
}

static int
cannot(const struct backup *b, const char *path)
{
	return cli_fail(b->c, errno == ENOSPC || errno == EDQUOT ? EX_CANTCREAT : EX_IOERR, "%s: %s", path,
	    strerror(errno));
}

/* Does a row name it, an original as long as it was then?  In doubt, without a database, one does. */
static bool
is_wanted(const struct backup *b, const struct manifest_file *f)
{
	struct db *db = b->c->db;
	struct uuid id;

	return !uuid_parse(strrchr(f->path, '/') + 1, &id) ? orphan_is_named(db, b->page, f->path) :
	    db_number(db, "SELECT (SELECT COUNT(*) FROM media WHERE id = ? AND file_size = ?) + (SELECT COUNT(*) FROM "
		"uploads WHERE id = ? AND status = 'uploaded' AND received_bytes = ?)", ARGS(ID(id), INT(f->size),
		ID(id), INT(f->size)), 1) > 0;
}

/* What the store has lost, as it has all of them where its disk is not mounted, stays: ours may be the last copy. */
static bool
keep(struct backup *b, const struct manifest_file *f, const char *what)
{
	struct stat st;
	bool whole;

	if (!is_wanted(b, f))
		return false;
	whole = lstat(in_dir(b, b->page, f->path), &st) == 0 && S_ISREG(st.st_mode) && st.st_size == f->size;
	b->lost = true;
	cli_fail(b->c, 0, whole ? "warning: %s %s in the store: the backup keeps what it has" :
	    "warning: %s %s in the store, and the backup has none that is whole", f->path, what);
	if (whole)
		manifest_add(b->lasting, &b->new, f);
	return whole;
}

/* One object of the store, unless the directory has it: a key is written once. */
static int
copy_object(struct backup *b, const struct store_entry *e)
{
	const struct manifest_file *known = manifest_find(b->before, e->key);
	const char *from, *to = in_dir(b, b->page, e->key);
	struct manifest_file file = { .path = arena_copy(b->lasting, e->key), .size = e->size };
	struct stat st;

	if (known != NULL && known->size != e->size && keep(b, known, "has another size"))
		return 0;
	if (lstat(to, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != e->size) {
		if (!disk_remove(to))
			return cannot(b, to);
		/* What comes from another machine comes to where it is to be. */
		from = store_fetch(b->page, e->key, b->dir);
		if (from == NULL || !(strcmp(from, to) == 0 ? disk_sync(to, S_IFREG, 0600) && disk_sync_parent(to) :
		    disk_copy(from, to, 0600)))
			return errno == ENOENT && from == NULL ? 0 : cannot(b, to);	/* purged meanwhile */
	}
	manifest_add(b->lasting, &b->new, &file);
	backup_progress(b->c, &b->progress, e->size);
	return 0;
}

/* What lies in the store now.  Where `known`, files that were there the first time are passed over. */
static int
copy_store(struct backup *b, const struct manifest *known)
{
	const char *after = NULL;
	struct store_entry *e;
	int status = 0;
	size_t i, n;

	do {
		e = store_list(b->page, store_lasting, after, PAGE, &n);
		if (e == NULL)
			status = cannot(b, "the store");
		for (i = 0; i < n && status == 0; i++)
			if (e[i].size >= 0 && e[i].key[strlen(store_lasting)] != '.' &&
			    (known == NULL || manifest_find(known, e[i].key) == NULL))
				status = copy_object(b, &e[i]);
		after = n == 0 ? NULL : arena_copy(b->lasting, e[n - 1].key);
		arena_reset(b->page);
	} while (status == 0 && n == PAGE);
	return status;
}

/* Asked behind the dump: what was deleted for good before that has no row. */
static int
keep_lost(struct backup *b)
{
	const struct manifest_file *f = b->before->files;
	struct manifest there;
	size_t i;

	manifest_sort(&b->new);
	there = b->new;
	for (i = 0; i < b->before->n_files; i++) {
		if (backup_is_stored(f[i].path) && manifest_find(&there, f[i].path) == NULL)
			keep(b, &f[i], "is missing");
		arena_reset(b->page);
	}
	return db_failure(b->c->db) == DB_FINE ? 0 : cli_fail_db(b->c);
}

static int
not_read(const struct backup *b, const char *from)
{
	cli_fail(b->c, 0, "warning: %s cannot be read by this account, and is not in the backup", from);
	return 0;
}

/* Two of one name may lie in different places. */
static const char *
name_setting(struct backup *b, const char *from)
{
	const char *slash = strrchr(from, '/'), *first = arena_printf(b->lasting, "settings-%s/%s",
	    uuid_text(b->lasting, b->new.id), slash != NULL ? slash + 1 : from), *path = first;
	struct stat st;

	for (int n = 2; lstat(in_dir(b, b->lasting, path), &st) == 0; n++)
		path = arena_printf(b->lasting, "%s.%d", first, n);
	return path;
}

/* What links lead to, as those of certbot and of mounted secrets do.  Settings are written to: never their own file. */
static int
copy_setting(struct backup *b, const char *from)
{
	const char *path = name_setting(b, from), *to = in_dir(b, b->lasting, path);
	char real[PATH_MAX];
	struct stat st;

	if (realpath(from, real) == NULL || lstat(real, &st) != 0)
		return errno == EACCES ? not_read(b, from) : 0;
	if (!S_ISREG(st.st_mode) || st.st_size > SETTING_MAX)
		return 0;
	if (!disk_copy_bytes(real, to, 0600))
		return errno == EACCES ? not_read(b, from) : cannot(b, to);
	if (lstat(to, &st) != 0)
		return cannot(b, to);
	manifest_add(b->lasting, &b->new, &(struct manifest_file){ .path = path, .size = st.st_size });
	return 0;
}

static void
add_setting(struct strings *all, const char *path)
{
	for (size_t i = 0; i < all->n && path != NULL; i++)
		if (strcmp(all->at[i], path) == 0)
			path = NULL;
	if (path != NULL)
		all->at[all->n++] = path;
}

/* The file of settings with secrets and certificates that it names, wherever they lie, and what setup has beside it.
 * Whatever else lies there is not ours. */
static struct strings
settings_of(const struct backup *b)
{
	static const char *const beside[] = { SITE_BESIDE };
	const size_t n = sizeof(beside) / sizeof(beside[0]);
	const struct conf *conf = b->c->conf;
	const char *slash = strrchr(conf->files[0], '/');
	const ptrdiff_t place = slash != NULL ? slash + 1 - conf->files[0] : 0;
	struct strings all = { arena_array(b->lasting, CONF_FILES + n + 2, sizeof(*all.at)), 0 };
	size_t i;

	for (i = 0; conf->files[i] != NULL; i++)
		add_setting(&all, conf->files[i]);
	add_setting(&all, conf->live_certificate);
	add_setting(&all, conf->live_certificate_key);
	for (i = 0; i < n; i++)
		add_setting(&all, arena_printf(b->lasting, "%.*s%s", (int)place, conf->files[0], beside[i]));
	return all;
}

static int
copy_settings(struct backup *b)
{
	const struct strings all = settings_of(b);
	const char *to = arena_printf(b->lasting, "%s/settings-%s", b->dir, uuid_text(b->lasting, b->new.id));
	int status = 0;

	if (!disk_make_dir(to, 0700))
		return cannot(b, to);
	for (size_t i = 0; i < all.n && status == 0; i++)
		status = copy_setting(b, all.at[i]);
	return status;
}

static int
dump(struct backup *b)
{
	const char *path = arena_printf(b->lasting, "database-%s.sql", uuid_text(b->lasting, b->new.id));
	const char *to = in_dir(b, b->lasting, path);
	struct stat st;
	int status;

	if (!b->c->json)
		fputs("dumping the database\n", stderr);
	b->new.made_at = moment_now();
	status = dump_write(b->c, to);
	if (status != 0)
		return status;
	if (lstat(to, &st) != 0)
		return cannot(b, to);
	manifest_add(b->lasting, &b->new, &(struct manifest_file){ .path = path, .size = st.st_size });
	return 0;
}

/* What the manifest before has of a file that is still as long as then is not read again. */
static int
hash_all(struct backup *b)
{
	const struct manifest_file *known;
	struct manifest_file *f;
	size_t i;

	b->progress = (struct progress){ .what = "checking", .all = b->new.n_files, .said_at = clock_ms() };
	for (i = 0; i < b->new.n_files; i++) {
		f = &b->new.files[i];
		known = backup_is_stored(f->path) ? manifest_find(b->before, f->path) : NULL;
		if (known != NULL && known->size == f->size)
			f->sha256 = known->sha256;
		else
			f->sha256 = digest_file(b->lasting, in_dir(b, b->lasting, f->path), NULL);
		if (f->sha256 == NULL)
			return cannot(b, f->path);
		backup_progress(b->c, &b->progress, f->size);
	}
	return 0;
}

/* Files of this directory that no manifest names: of the backup before, or of one that was cut off. */
static void
remove_old_in(const struct backup *b, const char *below)
{
	const char *place = arena_printf(b->lasting, "%s/%s", b->dir, below), *path;
	DIR *dir = opendir(place);
	struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		path = arena_printf(b->lasting, "%s%s", below, e->d_name);
		if (manifest_find(&b->new, path) != NULL || strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0)
			continue;
		if (below[0] != '\0' || strncmp(path, "database-", 9) == 0 ||
		    (strncmp(path, "settings-", 9) == 0 && strstr(path, uuid_text(b->lasting, b->new.id)) == NULL))
			disk_remove(in_dir(b, b->lasting, path));
	}
	if (dir != NULL)
		closedir(dir);
}

static int
finish(struct backup *b)
{
	char host[256] = "";
	int64_t bytes = 0;
	size_t i;

	manifest_sort(&b->new);
	if (!manifest_write(b->lasting, &b->new, b->dir))
		return cannot(b, "manifest");
	remove_old_in(b, "");
	remove_old_in(b, store_lasting);
	for (i = 0; i < b->new.n_files; i++)
		bytes += b->new.files[i].size;
	gethostname(host, sizeof(host) - 1);
	db_run(b->c->db, "INSERT INTO backups (id, made_at, files, bytes, place) VALUES (?, ?, ?, ?, LEFT(?, 1024))",
	    ARGS(ID(b->new.id), TIME(b->new.made_at), INT((int64_t)b->new.n_files), INT(bytes),
	    STR(arena_printf(b->c->mem, "%s:%s", host, b->dir))));
	if (db_failure(b->c->db) != DB_FINE)
		return cli_fail_db(b->c);
	printf(b->c->json ? "{\"id\":\"%s\",\"files\":%zu,\"bytes\":%lld,\"schema\":%lld}\n" :
	    "backup %s: %zu files, %lld bytes, schema %lld\n", uuid_text(b->c->mem, b->new.id), b->new.n_files,
	    (long long)bytes, (long long)b->new.schema);
	return b->lost ? 1 : 0;
}

/* What the database is of, for the manifest. */
static int
describe(struct backup *b)
{
	const struct tenant_row *rows;
	size_t i, n;

	b->new.id = uuid_new();
	b->new.schema = db_number(b->c->db, "SELECT MAX(number) FROM schema_migrations", NO_ARGS, 0);
	rows = db_rows(b->c->db, &tenant_record, "FROM tenants t ORDER BY t.id", NO_ARGS, &n);
	if (db_failure(b->c->db) != DB_FINE)
		return cli_fail_db(b->c);
	b->new.tenants = arena_array(b->lasting, n, sizeof(*b->new.tenants));
	b->new.n_tenants = n;
	for (i = 0; i < n; i++)
		b->new.tenants[i] = (struct manifest_tenant){ rows[i].id, arena_copy(b->lasting, rows[i].shortcode) };
	return 0;
}

/* A directory with the backup of another installation is not for ours. */
static int
look_before(struct backup *b)
{
	const struct manifest *found;
	const char *fault, *file = in_dir(b, b->lasting, "manifest");
	size_t i, k;

	b->before = NEW(b->lasting, struct manifest);
	if (access(file, F_OK) != 0)
		return 0;
	found = manifest_read(b->lasting, b->dir, &fault);
	if (found == NULL)
		return cli_fail(b->c, 0, "warning: %s: all is read anew", fault);
	for (i = 0; i < found->n_tenants; i++)
		for (k = 0; k < b->new.n_tenants; k++)
			if (uuid_equal(found->tenants[i].id, b->new.tenants[k].id))
				b->before = found;
	if (b->before == found || found->n_tenants == 0)
		return 0;
	return cli_fail(b->c, EX_DATAERR, "%s holds a backup of another installation (tenant %s): name another "
	    "directory", b->dir, found->tenants[0].shortcode);
}

/* Originals are copied before the dump too: what is purged while it is made is in it, and so in the backup. */
static int
work(struct backup *b)
{
	const char *store = arena_printf(b->lasting, "%s/%.*s", b->dir, (int)strlen(store_lasting) - 1, store_lasting);
	struct manifest first;
	int status;

	if (!disk_make_dir(store, 0700))
		return cannot(b, store);
	b->progress = (struct progress){ .what = "copying", .said_at = clock_ms() };
	if ((status = copy_store(b, NULL)) != 0)
		return status;
	manifest_sort(&b->new);
	first = b->new;
	first.files = arena_array(b->lasting, first.n_files, sizeof(*first.files));
	if (first.n_files > 0)
		memcpy(first.files, b->new.files, first.n_files * sizeof(*first.files));
	if ((status = dump(b)) != 0 || (status = copy_store(b, &first)) != 0 || (status = keep_lost(b)) != 0 ||
	    (status = copy_settings(b)) != 0 || (status = hash_all(b)) != 0)
		return status;
	return finish(b);
}

int
backup_run(struct cli *c)
{
	struct backup b = { .c = c, .dir = c->arg[0], .lasting = arena_new((size_t)8 << 30),
	    .page = arena_new(PAGE_MEMORY) };
	int lock, status;

	if (!disk_make_dir(b.dir, 0700))
		status = cannot(&b, b.dir);
	else if (!store_open(c->conf))
		status = cannot(&b, c->conf->data_dir);
	else if ((lock = backup_lock(c, b.dir)) < 0)
		status = EX_TEMPFAIL;
	else {
		if ((status = describe(&b)) == 0 && (status = look_before(&b)) == 0)
			status = work(&b);
		close(lock);
	}
	arena_free(b.page);
	arena_free(b.lasting);
	return status;
}
