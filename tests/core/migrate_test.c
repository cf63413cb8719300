/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Migrations: each once, in order, safe to interrupt, never backwards. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/conf.h"
#include "core/migrate.h"

static struct arena *mem;
static const struct conf *conf;
static struct db *db;
static struct conf own;
static char dir[64];

/* A fresh database and an empty directory. */
static int
set_up(void **state)
{
	unsigned char random[6];
	const char *socket = getenv("KINOTHEK_TEST_SOCKET"), *fault = NULL, *name;

	if (socket == NULL)
		return -1;
	mem = arena_new(256 << 20);
	conf = conf_parse(arena_printf(mem, "db.socket = %s\ndb.user = root\ndb.name = information_schema\n", socket),
	    "test", &fault);
	random_bytes(random, sizeof(random));
	name = arena_printf(mem, "migrate_%s", hex_encode(mem, random, sizeof(random)));
	db = db_open(conf, DB_ADMIN);
	db_use(db, mem);
	if (db_script(db, arena_printf(mem, "CREATE DATABASE %s CHARACTER SET utf8mb4", name)) != NULL)
		return -1;
	db_close(db);
	own = *conf;
	own.db_name = name;
	db = db_open(&own, DB_ADMIN);
	db_use(db, mem);
	strcpy(dir, "/tmp/migrate_test-XXXXXX");
	return mkdtemp(dir) == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	db_forgive(db);
	db_script(db, arena_printf(mem, "DROP DATABASE %s", own.db_name));
	db_close(db);
	if (system(arena_printf(mem, "rm -r %s", dir)) != 0)
		return -1;
	arena_free(mem);
	return 0;
}

static void
file(const char *name, const char *sql)
{
	FILE *f = fopen(arena_printf(mem, "%s/%s", dir, name), "w");

	assert_non_null(f);
	fputs(sql, f);
	fclose(f);
}

static int applied;

static void
count(const struct migration *m)
{
	applied++;
}

static const char *
migrate(void)
{
	struct migrations all;

	applied = 0;
	db_forgive(db);
	return migrate_run(db, mem, dir, count, &all);
}

/* It fails, and the sentence holds this. */
static void
refused(const char *part)
{
	const char *fault = migrate();

	if (fault == NULL || strstr(fault, part) == NULL)
		fail_msg("wanted \"%s\", got \"%s\"", part, fault == NULL ? "success" : fault);
}

static int64_t
rows(const char *table)
{
	db_forgive(db);
	return db_number(db, arena_printf(mem, "SELECT COUNT(*) FROM %s", table), NO_ARGS, -1);
}

static void
three_files(void)
{
	file("0001_a.sql", "CREATE TABLE IF NOT EXISTS a (n INT);\nINSERT INTO a VALUES (1);\n");
	file("0002_b.sql", "CREATE TABLE IF NOT EXISTS b (n INT)");
	file("0003_c.sql", "ALTER TABLE a ADD COLUMN m INT");
	file("current.sql", "not a migration");
	file("0004_d.sql~", "not a migration");
}

static void
files_are_applied_once_and_in_order(void **state)
{
	three_files();
	assert_null(migrate());
	assert_int_equal(applied, 3);
	assert_int_equal(rows("a"), 1);
	assert_int_equal(rows("schema_migrations"), 3);
	assert_null(migrate());
	assert_int_equal(applied, 0);
	assert_int_equal(rows("a"), 1);
	file("0004_d.sql", "INSERT INTO a VALUES (2, 2)");
	assert_null(migrate());
	assert_int_equal(applied, 1);
	assert_int_equal(rows("a"), 2);
}

static void
the_schema_of_this_program_can_be_applied_twice(void **state)
{
	const char *source = getenv("KINOTHEK_SRC");
	struct migrations all;

	source = arena_printf(mem, "%s/schema", source == NULL ? "." : source);
	assert_null(migrate_run(db, mem, source, count, &all));
	assert_true(all.n >= 18);
	/* As after a kill between each file and its row. */
	db_run(db, "DELETE FROM schema_migrations", NO_ARGS);
	assert_null(migrate_run(db, mem, source, count, &all));
	assert_null(migrate_look(db, mem, source, &all));
	assert_int_equal(all.pending, 0);
	assert_int_equal(all.newest, all.at[all.n - 1].number);
	assert_int_equal(db_number(db, "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = "
	    "DATABASE() AND column_comment = ''", NO_ARGS, -1), 0);
}

/* A file, cut off behind each of its statements, and run again: the same as without. */
static void
a_file_that_was_cut_off_anywhere_is_run_again(void **state)
{
	static const char *const parts[] = { "CREATE TABLE a (id INT PRIMARY KEY, n INT, old INT, KEY old (old)) "
	    "ENGINE=InnoDB", "CREATE TABLE b (id INT PRIMARY KEY, a_id INT) ENGINE=InnoDB -- a comment; with a "
	    "semicolon", "ALTER TABLE a ADD COLUMN m INT COMMENT 'a; b', ADD COLUMN k INT COMMENT \"it''s; c\"",
	    "ALTER TABLE a ADD KEY by_m (m, id)", "ALTER TABLE b ADD CONSTRAINT b_a FOREIGN KEY (a_id) REFERENCES a "
	    "(id)", "CREATE INDEX by_k ON a (k)", "ALTER TABLE b ADD CONSTRAINT positive CHECK (id > 0)", "/* ; */ ALTER TABLE a DROP KEY old",
	    "ALTER TABLE a DROP COLUMN old" };
	size_t n = sizeof(parts) / sizeof(parts[0]), cut, i;

	for (cut = 0; cut <= n; cut++) {
		struct buf whole = BUF(mem);

		for (i = 0; i < n; i++)
			buf_printf(&whole, "%s%s\n;", i == 3 ? "# a line; of words\n" : "", parts[i]);
		buf_text(&whole, "\n-- the end;\n");
		file("0001_all.sql", buf_string(&whole));
		db_script(db, "DROP TABLE IF EXISTS b; DROP TABLE IF EXISTS a; DELETE FROM schema_migrations");
		db_forgive(db);
		for (i = 0; i < cut; i++)
			assert_null(db_script(db, parts[i]));
		assert_null(migrate());
		assert_int_equal(applied, 1);
		assert_int_equal(db_number(db, "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) = "
		    "'id,n,m,k' FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'a'",
		    NO_ARGS, 0), 1);
		assert_int_equal(db_number(db, "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics "
		    "WHERE table_schema = DATABASE() AND table_name = 'a'", NO_ARGS, 0), 3);
		assert_int_equal(db_number(db, "SELECT COUNT(*) FROM information_schema.table_constraints WHERE "
		    "table_schema = DATABASE() AND table_name = 'b'", NO_ARGS, 0), 3);
	}
}

static void
no_other_fault_is_taken_for_done(void **state)
{
	static const char *const faults[] = { "ALTER TABLE nowhere ADD COLUMN m INT",
	    "ALTER TABLE a ADD COLUMN m NONSENSE", "ALTER TABLE a ADD KEY by_x (x)", "INSERT INTO a VALUES (1)",
	    "ALTER TABLE a ADD UNIQUE KEY u (m)", "SELECT 1; DROP" };
	size_t i;

	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		db_script(db, "DROP TABLE IF EXISTS a");
		file("0001_a.sql", arena_printf(mem, "CREATE TABLE a (n INT PRIMARY KEY, m INT); INSERT INTO a VALUES "
		    "(1, 1), (2, 1); %s", faults[i]));
		refused("0001_a.sql: ");
		assert_int_equal(rows("schema_migrations"), 0);
	}
}

static void
a_migration_that_was_killed_goes_on_where_it_was(void **state)
{
	struct migrations all;
	int status;
	pid_t child;

	file("0001_a.sql", "CREATE TABLE IF NOT EXISTS a (n INT)");
	file("0002_b.sql",
	    "CREATE TABLE IF NOT EXISTS b (n INT); SELECT SLEEP(20); CREATE TABLE IF NOT EXISTS c (n INT)");
	child = fork();
	if (child == 0) {
		struct db *mine = db_open(&own, DB_ADMIN);

		migrate_run(mine, mem, dir, NULL, &all);
		_exit(0);
	}
	while (db_number(db, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(20)%'",
	    NO_ARGS, 0) == 0)
		usleep(20000);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	assert_int_equal(rows("schema_migrations"), 1);
	/* What it left running on the server is ended, as a dying connection does sooner or later. */
	db_script(db,
	    arena_printf(mem, "KILL %lld",
		(long long)db_number(db,
		    "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(20)%'", NO_ARGS, 0)));
	file("0002_b.sql", "CREATE TABLE IF NOT EXISTS b (n INT); CREATE TABLE IF NOT EXISTS c (n INT)");
	assert_null(migrate());
	assert_int_equal(applied, 1);
	assert_int_equal(rows("c"), 0);
	assert_int_equal(rows("schema_migrations"), 2);
}

static void
a_database_that_is_newer_is_left_alone(void **state)
{
	three_files();
	assert_null(migrate());
	assert_int_equal(unlink(arena_printf(mem, "%s/0003_c.sql", dir)), 0);
	refused("the database has schema 3 (0003_c.sql), and this program knows 2: use the newer program");
	assert_int_equal(applied, 0);
	assert_int_equal(rows("schema_migrations"), 3);
}

/* Lines of work that land in another order than they began. */
static void
a_number_that_comes_late_is_applied_and_one_that_went_missing_is_told(void **state)
{
	struct migrations all;

	file("0001_a.sql", "CREATE TABLE a (n INT)");
	file("0005_e.sql", "ALTER TABLE a ADD COLUMN e INT");
	assert_null(migrate());
	assert_null(migrate_look(db, mem, dir, &all));
	assert_int_equal(all.newest, 5);
	file("0003_c.sql", "ALTER TABLE a ADD COLUMN c INT");
	assert_null(migrate_look(db, mem, dir, &all));
	assert_int_equal(all.pending, 1);
	assert_null(migrate());
	assert_int_equal(applied, 1);
	assert_int_equal(unlink(arena_printf(mem, "%s/0003_c.sql", dir)), 0);
	refused("the database has 0003_c.sql, and this program has not");
}

static void
a_file_with_a_fault_stops_and_can_be_mended(void **state)
{
	three_files();
	file("0002_b.sql", "CREATE TABEL b (n INT)");
	refused("0002_b.sql: You have an error in your SQL syntax");
	assert_int_equal(rows("schema_migrations"), 1);
	file("0002_b.sql", "CREATE TABLE IF NOT EXISTS b (n INT); INSERT INTO b VALUES ('late fault', 1)");
	refused("0002_b.sql: ");
	assert_int_equal(rows("schema_migrations"), 1);
	file("0002_b.sql", "CREATE TABLE IF NOT EXISTS b (n INT)");
	assert_null(migrate());
	assert_int_equal(applied, 2);
}

static void
a_directory_without_files_or_with_a_number_twice_is_refused(void **state)
{
	refused("holds no migrations");
	file("0001_a.sql", "SELECT 1");
	file("0003_b.sql", "SELECT 1");
	file("0003_x.sql", "SELECT 1");
	refused("0003_b.sql and 0003_x.sql have the same number");
	strcat(dir, "/none");
	refused("cannot be read: No such file or directory");
	dir[strlen(dir) - 5] = '\0';
	assert_int_equal(db_number(db, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()",
			     NO_ARGS, -1),
	    0);
}

static void
a_file_that_changed_since_is_told_and_not_run_again(void **state)
{
	struct migrations all;

	three_files();
	assert_null(migrate());
	file("0001_a.sql", "INSERT INTO a VALUES (7, 7)");
	assert_null(migrate());
	assert_int_equal(applied, 0);
	assert_int_equal(rows("a"), 1);
	assert_null(migrate_look(db, mem, dir, &all));
	assert_int_equal(all.changed, 1);
	assert_true(all.at[0].changed);
	assert_false(all.at[1].changed);
}

static void
two_at_the_same_time_apply_each_file_once(void **state)
{
	struct migrations all;
	pid_t child[3];
	int i, status;

	file("0001_a.sql", "CREATE TABLE a (n INT); SELECT SLEEP(0.2)");
	file("0002_b.sql", "INSERT INTO a VALUES (1)");
	for (i = 0; i < 3; i++) {
		child[i] = fork();
		if (child[i] == 0)
			_exit(migrate_run(db_open(&own, DB_ADMIN), mem, dir, NULL, &all) == NULL ? 0 : 1);
	}
	for (i = 0; i < 3; i++) {
		waitpid(child[i], &status, 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	assert_int_equal(rows("a"), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_are_applied_once_and_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_schema_of_this_program_can_be_applied_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_was_cut_off_anywhere_is_run_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_other_fault_is_taken_for_done, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_number_that_comes_late_is_applied_and_one_that_went_missing_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_migration_that_was_killed_goes_on_where_it_was, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_database_that_is_newer_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_with_a_fault_stops_and_can_be_mended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_directory_without_files_or_with_a_number_twice_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_changed_since_is_told_and_not_run_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_at_the_same_time_apply_each_file_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
