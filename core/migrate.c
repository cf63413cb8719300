/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbered SQL files into the database, each once, in order. */
#include <dirent.h>
#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/migrate.h"

enum { FILE_MAX = 1 << 20, LOCK_SECONDS = 60 };

struct applied {
	int64_t number;
	const char *name, *sha256;
	struct moment applied_at;
};
static const struct field applied_fields[] = {
	FIELD(struct applied, number, .on = SERVER, .doc = "Number of the file"),
	FIELD(struct applied, name, .on = SERVER, .doc = "Its name"),
	FIELD(struct applied, sha256, .on = SERVER, .doc = "Of its content when it was applied"),
	FIELD(struct applied, applied_at, .on = SERVER, .doc = "When"),
};
static const struct record applied_record = RECORD("SchemaMigration", struct applied, applied_fields);

/* NNNN_words.sql */
static bool
is_migration(const char *name)
{
	size_t n = strlen(name);

	return n > 9 && strspn(name, "0123456789") == 4 && name[4] == '_' && strcmp(name + n - 4, ".sql") == 0 &&
	    strspn(name + 5, "abcdefghijklmnopqrstuvwxyz0123456789_") == n - 9;
}

static const char *
read_file(struct arena *mem, const char *path, const char **sql)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	size_t n = 0;
	char *text;

	if (f == NULL)
		return arena_printf(mem, "%s cannot be read: %s", path, strerror(errno));
	if (fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && st.st_size < FILE_MAX)
		n = (size_t)st.st_size;
	text = arena_alloc(mem, n + 1);
	n = fread(text, 1, n, f);
	*sql = n > 0 && ferror(f) == 0 && strlen(text) == n ? text : NULL;
	fclose(f);
	return *sql != NULL ? NULL : arena_printf(mem, "%s cannot be read as text", path);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct migration *)a)->name, ((const struct migration *)b)->name);
}

static void
list(struct arena *mem, DIR *d, struct migrations *all)
{
	const struct dirent *entry;
	size_t room = 0;

	while ((entry = readdir(d)) != NULL) {
		if (!is_migration(entry->d_name))
			continue;
		if (all->n == room) {
			struct migration *more = arena_array(mem, room ? room * 2 : 64, sizeof(*more));

			if (room > 0)
				memcpy(more, all->at, room * sizeof(*more));
			room = room ? room * 2 : 64;
			all->at = more;
		}
		all->at[all->n++] =
		    (struct migration){ .name = arena_copy(mem, entry->d_name), .number = atoi(entry->d_name) };
	}
	if (all->n > 0)
		qsort(all->at, all->n, sizeof(*all->at), by_name);
}

static const char *
read_dir(struct arena *mem, const char *dir, struct migrations *all)
{
	DIR *d = opendir(dir);
	const char *fault;
	size_t i;

	if (d == NULL)
		return arena_printf(mem, "the schema directory %s cannot be read: %s", dir, strerror(errno));
	list(mem, d, all);
	closedir(d);
	if (all->n == 0)
		return arena_printf(mem, "the schema directory %s holds no migrations", dir);
	for (i = 0; i < all->n; i++) {
		struct migration *m = &all->at[i];
		unsigned char hash[SHA256_DIGEST_LENGTH];

		if (i > 0 && m->number == all->at[i - 1].number)
			return arena_printf(mem, "%s: %s and %s have the same number", dir, all->at[i - 1].name,
			    m->name);
		fault = read_file(mem, arena_printf(mem, "%s/%s", dir, m->name), &m->sql);
		if (fault != NULL)
			return fault;
		SHA256((const unsigned char *)m->sql, strlen(m->sql), hash);
		m->sha256 = hex_encode(mem, hash, sizeof(hash));
	}
	return NULL;
}

static const char *
database_fault(struct db *db, struct arena *mem)
{
	return arena_printf(mem, "database: %s", db_error(db));
}

static struct migration *
numbered(struct migrations *all, int64_t number)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->at[i].number == number)
			return &all->at[i];
	return NULL;
}

static const char *
compare(struct db *db, struct arena *mem, struct migrations *all)
{
	struct applied *rows = NULL;
	size_t n = 0, i;

	if (db_number(db,
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND "
		"table_name = 'schema_migrations'",
		NO_ARGS, 0) == 1)
		rows = db_rows(db, &applied_record, "FROM schema_migrations t ORDER BY t.number", NO_ARGS, &n);
	if (db_failure(db) != DB_FINE)
		return database_fault(db, mem);
	if (n > 0 && rows[n - 1].number > all->at[all->n - 1].number)
		return arena_printf(mem,
		    "the database has schema %lld (%s), and this program knows %lld: use the newer program",
		    (long long)rows[n - 1].number, rows[n - 1].name, (long long)all->at[all->n - 1].number);
	all->pending = all->n;
	for (i = 0; i < n; i++) {
		struct migration *m = numbered(all, rows[i].number);

		if (m == NULL)
			return arena_printf(mem, "the database has %s, and this program has not", rows[i].name);
		m->applied = true;
		m->changed = strcmp(m->sha256, rows[i].sha256) != 0;
		all->changed += m->changed;
		all->newest = m->number;
		all->pending--;
	}
	return NULL;
}

const char *
migrate_read(struct arena *mem, const char *dir, struct migrations *all)
{
	memset(all, 0, sizeof(*all));
	return read_dir(mem, dir, all);
}

const char *
migrate_look(struct db *db, struct arena *mem, const char *dir, struct migrations *all)
{
	const char *fault = migrate_read(mem, dir, all);

	db_use(db, mem);
	return fault != NULL ? fault : compare(db, mem, all);
}

/* Length of what begins here and holds no semicolon that ends a statement: a text, a name, a comment, or one byte. */
static size_t
piece(const char *p)
{
	const char *end = p;

	if (*p == '#' || strncmp(p, "-- ", 3) == 0 || strncmp(p, "--\n", 3) == 0)
		return strcspn(p, "\n");
	if (strncmp(p, "/*", 2) == 0)
		return (end = strstr(p + 2, "*/")) != NULL ? (size_t)(end + 2 - p) : strlen(p);
	if (strchr("'\"`", *p) == NULL)
		return 1;
	for (end++; *end != '\0' && *end != *p; end++)
		if (*end == '\\' && *p != '`' && end[1] != '\0')
			end++;
	return (size_t)(end - p) + (*end != '\0');
}

/* The next statement, and *sql behind it; NULL at the end.  Comments belong to the statement that they stand in front
 * of. */
static const char *
next_statement(struct arena *mem, const char **sql)
{
	const char *start = *sql, *p = start;
	bool words = false;

	for (; *p != '\0' && (*p != ';' || !words); p += *p == ';' ? 1 : piece(p))
		words |= strchr(" \t\r\n;#", *p) == NULL && strncmp(p, "--", 2) != 0 && strncmp(p, "/*", 2) != 0;
	*sql = p + (*p == ';');
	return words ? arena_copy_n(mem, start, (size_t)(p - start)) : NULL;
}

/*
 * DDL commits by itself and MySQL knows no ADD COLUMN IF NOT EXISTS, so a file that was cut off meets what it has done
 * already.  A single ALTER is done as a whole or not at all; so these mean that this one is done.
 */
static bool
done_before(struct db *db)
{
	switch (db_errno(db)) {
	case 1050: case 1060: case 1061:	/* table, column, key is there */
	case 1826: case 3822:			/* so is a foreign key, or a check, of this name */
	case 1091: case 1051: case 3821: case 3940:	/* column or key, table, check, constraint is gone */
		return true;
	case 1005:				/* MariaDB has no number of its own for a foreign key */
		return strstr(db_error(db), "errno: 121 ") != NULL;
	default:
		return false;
	}
}

static const char *
apply(struct db *db, struct arena *mem, struct migration *m)
{
	struct applied row = { m->number, m->name, m->sha256, moment_now() };
	const char *rest = m->sql, *sql, *fault;

	while ((sql = next_statement(mem, &rest)) != NULL) {
		fault = db_script(db, sql);
		if (fault != NULL && !done_before(db))
			return arena_printf(mem, "%s: %s", m->name, fault);
		db_forgive(db);
	}
	if (!db_insert(db, "schema_migrations", &applied_record, &row) && db_failure(db) != DB_FINE)
		return database_fault(db, mem);
	m->applied = true;
	return NULL;
}

static const char *
apply_all(
    struct db *db, struct arena *mem, const char *dir, void (*said)(const struct migration *), struct migrations *all)
{
	const char *fault;
	size_t i;

	fault = migrate_look(db, mem, dir, all);
	for (i = 0; fault == NULL && i < all->n; i++) {
		if (all->at[i].applied)
			continue;
		if (said != NULL)
			said(&all->at[i]);
		fault = apply(db, mem, &all->at[i]);
		if (fault == NULL && all->newest < all->at[i].number)
			all->newest = all->at[i].number;
	}
	return fault;
}

const char *
migrate_run(
    struct db *db, struct arena *mem, const char *dir, void (*said)(const struct migration *), struct migrations *all)
{
	const char *fault;

	/* A program that is older than the database must not touch it, so look first. */
	fault = migrate_look(db, mem, dir, all);
	if (fault != NULL)
		return fault;
	if (db_number(db, "SELECT GET_LOCK(CONCAT('kinothek.migrate.', DATABASE()), ?)", ARGS(INT(LOCK_SECONDS)), 0) !=
	    1)
		return db_failure(db) != DB_FINE ? database_fault(db, mem)
						 : "another migration is running; try again when it is done";
	fault = db_script(db,
	    "CREATE TABLE IF NOT EXISTS schema_migrations (\n"
	    "  number INT NOT NULL PRIMARY KEY COMMENT 'Of the file',\n"
	    "  name VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Of the file',\n"
	    "  sha256 CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'Of its content when it was "
	    "applied',\n  applied_at BIGINT NOT NULL COMMENT 'ms since 1970 UTC'\n"
	    ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci COMMENT='Which schema files were "
	    "applied'");
	if (fault == NULL)
		fault = apply_all(db, mem, dir, said, all);
	else
		fault = arena_printf(mem, "database: %s", fault);
	db_number(db, "SELECT RELEASE_LOCK(CONCAT('kinothek.migrate.', DATABASE()))", NO_ARGS, 0);
	return fault;
}
