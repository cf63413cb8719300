/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The connection: kinds through columns, sticky failures, lost connections, lists. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/store.h"
#include "tests/world.h"

struct row { struct uuid id; const char *name; int64_t n; struct moment created_at; struct json data;
    struct number size; };
static const struct field row_fields[] = {
	FIELD(struct row, id,         .on = SERVER, .doc = "Id"),
	FIELD(struct row, name,       .on = FILTER | SORT, .doc = "Text, null allowed"),
	FIELD(struct row, n,          .on = SERVER | FILTER | SORT, .doc = "Number"),
	FIELD(struct row, created_at, .on = SERVER | FILTER, .doc = "Time"),
	FIELD(struct row, data,       .doc = "JSON"),
	FIELD(struct row, size,       .on = SORT, .doc = "Nullable"),
};
static const struct record row_record = RECORD("Row", struct row, row_fields);

static int
with_table(void **state)
{
	struct world *w;

	world_setup(state);
	w = *state;
	db_script(w->db, "DROP FUNCTION IF EXISTS raise; CREATE FUNCTION raise(n INT) RETURNS INT NO SQL BEGIN SIGNAL "
	    "SQLSTATE '45000' SET MYSQL_ERRNO = n; RETURN 0; END");
	db_script(w->db, "DROP TABLE IF EXISTS things; CREATE TABLE things (id BINARY(16) PRIMARY KEY, name "
	    "VARCHAR(3000) NULL, n BIGINT NOT NULL, created_at BIGINT NOT NULL, data LONGTEXT NULL, size INT NULL, "
	    "version BIGINT NOT NULL DEFAULT 1, updated_at BIGINT NOT NULL DEFAULT 0, UNIQUE KEY n (n)) ENGINE=InnoDB "
	    "DEFAULT CHARSET=utf8mb4");
	return 0;
}

static struct row
thing(struct world *w, const char *name, int64_t n)
{
	struct row r = { .id = uuid_new(), .name = name, .n = n, .created_at = moment_now(), .data = { "{\"a\":1}" } };

	assert_true(db_insert(w->db, "things", &row_record, &r));
	return r;
}

static void
rows_come_back_as_they_were_stored(void **state)
{
	struct world *w = *state;
	char *longer = arena_alloc(w->mem, 2500);
	struct row in, *out;
	size_t n;

	memset(longer, 'x', 2499);
	in = thing(w, longer, INT64_C(9007199254740991));
	thing(w, NULL, -1);
	out = db_row(w->db, &row_record, "FROM things t WHERE t.id = ?", ARGS(ID(in.id)));
	assert_non_null(out);
	assert_string_equal(out->name, longer);
	assert_true(out->n == in.n && out->created_at.ms == in.created_at.ms && uuid_equal(out->id, in.id));
	assert_false(out->size.set);
	out = db_rows(w->db, &row_record, "FROM things t ORDER BY t.n", NO_ARGS, &n);
	assert_int_equal(n, 2);
	assert_null(out[0].name);
	assert_string_equal(out[1].name, longer);
	assert_null(db_row(w->db, &row_record, "FROM things t WHERE t.n = ?", ARGS(INT(5))));
	assert_int_equal(db_failure(w->db), DB_FINE);
}

/* Rows of one answer, each longer than the one before, then short and null again: room grows while it is read. */
static void
texts_of_any_length_come_back_whole(void **state)
{
	static const size_t lengths[] = { 0, 63, 64, 65, 129, 128, 3000, 1, 70000, 2999, 40000, 16384, 16385, 100000, 2,
	    64 };
	enum { COUNT = sizeof(lengths) / sizeof(lengths[0]) };
	struct world *w = *state;
	struct row in, *out;
	size_t i, n, round;

	for (i = 0; i < COUNT; i++) {
		char *text = arena_alloc(w->mem, lengths[i] + 1);

		memset(text, (int)('a' + i), lengths[i]);
		in = (struct row){ .id = uuid_new(), .n = (int64_t)i, .created_at = moment_now(),
		    .data = { i % 5 == 4 ? NULL : text }, .name = lengths[i] <= 3000 ? text : NULL };
		assert_true(db_insert(w->db, "things", &row_record, &in));
	}
	for (round = 0; round < 2; round++) {
		out = db_rows(w->db, &row_record, "FROM things t ORDER BY t.n", NO_ARGS, &n);
		assert_int_equal(n, COUNT);
		for (i = 0; i < COUNT; i++) {
			const char *text = i % 5 == 4 ? out[i].name : out[i].data.text;

			assert_int_equal(out[i].data.text == NULL, i % 5 == 4);
			assert_int_equal(out[i].name == NULL, lengths[i] > 3000);
			if (text != NULL) {
				assert_int_equal(strlen(text), lengths[i]);
				assert_int_equal(strspn(text, (char[]){ (char)('a' + i), '\0' }), lengths[i]);
			}
		}
	}
	assert_int_equal(strlen(db_text(w->db, "SELECT data FROM things WHERE n = ?", ARGS(INT(13)))), 100000);
	assert_string_equal(db_text(w->db, "SELECT data FROM things WHERE n = ?", ARGS(INT(0))), "");
	assert_null(db_text(w->db, "SELECT data FROM things WHERE n = ?", ARGS(INT(4))));
}

static void
a_taken_key_is_an_answer_not_a_failure(void **state)
{
	struct world *w = *state;
	struct row r = thing(w, "a", 1);

	r.id = uuid_new();
	assert_false(db_insert(w->db, "things", &row_record, &r));
	assert_int_equal(db_failure(w->db), DB_FINE);
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM things", NO_ARGS, -1), 1);
	r = thing(w, "b", 2);
	r.n = 1;
	assert_int_equal(db_update(w->db, "things", &row_record, &r, record_bit(&row_record, "n"), r.id), -2);
	assert_int_equal(db_failure(w->db), DB_FINE);
	assert_int_equal(db_number(w->db, "SELECT version FROM things WHERE n = 2", NO_ARGS, -1), 1);
}

/* As SQL that is put together in an arena comes to lie where other SQL lay. */
static void
another_statement_at_the_same_address_is_another_one(void **state)
{
	struct world *w = *state;
	char sql[200] = "SELECT 2 AS a UNION ALL SELECT 1";

	assert_int_equal(db_number(w->db, sql, NO_ARGS, 0), 2);
	strcpy(sql, "SELECT 1");
	assert_int_equal(db_number(w->db, sql, NO_ARGS, 0), 1);
	strcpy(sql, "SELECT 3 /* which is longer than what lay there before, so that nothing can be alike */");
	assert_int_equal(db_number(w->db, sql, NO_ARGS, 0), 3);
	strcpy(sql, "SELECT 1");
	assert_int_equal(db_number(w->db, sql, NO_ARGS, 0), 1);
}

/* In a statement of db_run() nobody is there to hear the answer. */
static void
a_taken_key_in_plain_sql_sticks_whatever_follows(void **state)
{
	struct world *w = *state;
	struct row r = thing(w, "a", 1), other = thing(w, "b", 2);

	assert_int_equal(db_run(w->db, "UPDATE things SET n = 1 WHERE id = ?", ARGS(ID(other.id))), -1);
	assert_false(db_insert(w->db, "things", &row_record, &r));
	assert_int_equal(db_update(w->db, "things", &row_record, &r, record_bit(&row_record, "n"), r.id), -1);
	assert_int_equal(db_failure(w->db), DB_BROKEN);
	db_forgive(w->db);
}

static void
an_update_counts_matched_rows_and_raises_the_version(void **state)
{
	struct world *w = *state;
	struct row r = thing(w, "a", 1);

	assert_int_equal(db_update(w->db, "things", &row_record, &r, record_bit(&row_record, "name"), r.id), 1);
	assert_int_equal(db_number(w->db, "SELECT version FROM things WHERE id = ?", ARGS(ID(r.id)), 0), 2);
	assert_int_equal(db_update(w->db, "things", &row_record, &r, record_bit(&row_record, "name"), uuid_new()), 0);
}

static void
a_failure_sticks_until_begin(void **state)
{
	struct world *w = *state;

	/* an argument short */
	assert_int_equal(db_run(w->db, "UPDATE things SET n = ? WHERE n = ?", ARGS(INT(1))), -1);
	assert_int_equal(db_failure(w->db), DB_BROKEN);
	assert_int_equal(db_number(w->db, "SELECT 5", NO_ARGS, -1), -1);
	db_begin(w->db);
	assert_int_equal(db_number(w->db, "SELECT 5", NO_ARGS, -1), 5);
	db_rollback(w->db);
}

static void
a_killed_connection_is_dialled_again_unless_something_was_begun(void **state)
{
	struct world *w = *state;
	struct db *other = db_open(w->conf, DB_API);
	int64_t id;

	db_use(other, w->mem);
	id = db_number(other, "SELECT CONNECTION_ID()", NO_ARGS, 0);
	db_run(w->db, "KILL ?", ARGS(INT(id)));
	assert_int_equal(db_number(other, "SELECT 7", NO_ARGS, -1), 7);
	db_begin(other);
	id = db_number(other, "SELECT CONNECTION_ID()", NO_ARGS, 0);
	db_run(w->db, "KILL ?", ARGS(INT(id)));
	assert_int_equal(db_number(other, "SELECT 8", NO_ARGS, -1), -1);
	assert_int_equal(db_failure(other), DB_AGAIN);	/* nothing was committed */
	assert_false(db_commit(other));
	db_begin(other);
	assert_int_equal(db_number(other, "SELECT 9", NO_ARGS, -1), 9);
	assert_true(db_commit(other));
	db_begin(other);
	id = db_number(other, "SELECT CONNECTION_ID()", NO_ARGS, 0);
	db_run(w->db, "KILL ?", ARGS(INT(id)));
	assert_false(db_commit(other));
	assert_int_equal(db_failure(other), DB_LOST);	/* nobody knows */
	db_close(other);
}

static void
who_rests_gives_the_connection_back_and_dials_when_asked(void **state)
{
	struct world *w = *state;
	struct db *db = db_open(w->conf, DB_API);
	int64_t id;
	int i;

	db_use(db, w->mem);
	db_begin(db);
	id = db_number(db, "SELECT CONNECTION_ID()", NO_ARGS, 0);
	db_rest(db);				/* not now */
	assert_int_equal(db_number(db, "SELECT CONNECTION_ID()", NO_ARGS, 0), id);
	assert_true(db_commit(db));
	db_rest(db);
	for (i = 0; i < 3000 && db_number(w->db, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?",
	    ARGS(INT(id)), -1) > 0; i++)
		usleep(20000);
	assert_int_not_equal(db_number(db, "SELECT CONNECTION_ID()", NO_ARGS, id), id);
	assert_true(i < 3000);
	db_close(db);
}

/* A server that is not in its cluster says 1047 to all, one that takes no writes 1290 to these. */
static void
a_server_that_cannot_do_it_is_left(void **state)
{
	static const int numbers[] = { 1047, 1290 };
	struct world *w = *state;
	struct db *db = db_open(w->conf, DB_API);
	int64_t id;
	int i;

	db_use(db, w->mem);
	for (i = 0; i < 2; i++) {
		db_begin(db);
		id = db_number(db, "SELECT CONNECTION_ID()", NO_ARGS, 0);
		assert_int_equal(db_number(db, "SELECT raise(?)", ARGS(INT(numbers[i])), -1), -1);
		assert_int_equal(db_errno(db), numbers[i]);
		assert_int_equal(db_failure(db), DB_AGAIN);
		db_begin(db);
		assert_int_not_equal(db_number(db, "SELECT CONNECTION_ID()", NO_ARGS, 0), id);
		db_rollback(db);
	}
	db_close(db);
}

static void
no_room_in_the_database_is_no_fault_of_ours(void **state)
{
	struct world *w = *state;

	assert_int_equal(db_number(w->db, "SELECT raise(1114)", NO_ARGS, -1), -1);
	assert_int_equal(db_failure(w->db), DB_LOST);
	db_forgive(w->db);
}

static void
where_nobody_answers_all_hosts_are_tried_once(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;
	struct db *db;
	int64_t took = 1000, began;
	int i;

	conf.db_hosts = "127.0.0.1:1,127.0.0.1:2";
	/* Who tries again waits for a second each time; who does not may be held up by the machine. */
	for (i = 0; i < 10 && took >= 1000; i++) {
		db = db_open(&conf, DB_API);
		db_use(db, w->mem);
		began = moment_now().ms;
		assert_int_equal(db_number(db, "SELECT 7", NO_ARGS, -1), -1);
		assert_int_equal(db_failure(db), DB_LOST);
		took = moment_now().ms - began;
		db_close(db);
	}
	assert_true(took < 1000);
}

static void
a_full_server_is_waited_for_a_moment(void **state)
{
	struct world *w = *state;
	struct db *db = db_open(w->conf, DB_API), *others[200];
	int64_t most = db_number(w->db, "SELECT @@max_connections", NO_ARGS, 0), began, got = -1;
	int n = 0, i;
	pid_t pid;

	db_run(w->db, "SET GLOBAL max_connections = 10", NO_ARGS);
	for (; n < 200; n++) {
		others[n] = db_open(w->conf, DB_ADMIN);
		db_use(others[n], w->mem);
		if (db_number(others[n], "SELECT 7", NO_ARGS, -1) != 7)
			break;
	}
	assert_true(n < 200);
	assert_int_equal(db_errno(others[n]), 1040);
	assert_int_equal(db_failure(others[n]), DB_LOST);
	db_use(db, w->mem);
	/* A moment is a second: on a busy machine the room may come too late for it. */
	for (i = 0; i < 10 && got != 8; i++) {
		db_forgive(db);
		db_run(w->db, "SET GLOBAL max_connections = 10", NO_ARGS);
		pid = fork();
		if (pid == 0) {
			usleep(300000);
			db_run(w->db, "SET GLOBAL max_connections = 200", NO_ARGS);
			_exit(0);
		}
		began = moment_now().ms;
		got = db_number(db, "SELECT 8", NO_ARGS, -1);
		assert_true(moment_now().ms - began >= 200);
		waitpid(pid, NULL, 0);
	}
	assert_int_equal(got, 8);
	for (; n >= 0; n--)
		db_close(others[n]);
	db_close(db);
	db_run(w->db, "SET GLOBAL max_connections = ?", ARGS(INT(most)));
}

static void
a_deadlock_asks_to_begin_again(void **state)
{
	struct world *w = *state;
	struct db *other = db_open(w->conf, DB_API);
	struct row a = thing(w, "a", 1);

	db_use(other, w->mem);
	db_begin(w->db);
	db_run(w->db, "UPDATE things SET n = 3 WHERE id = ?", ARGS(ID(a.id)));
	db_begin(other);
	assert_int_equal(db_run(other, "UPDATE things SET n = 4 WHERE id = ?", ARGS(ID(a.id))), -1);
	assert_int_equal(db_failure(other), DB_AGAIN);
	assert_false(db_commit(other));
	db_rollback(w->db);
	db_close(other);
}

/* Statements on the server that hold this text, other than the one that asks. */
static int64_t
running(struct world *w, const char *text)
{
	return db_number(w->db, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE ? AND id <> "
	    "CONNECTION_ID()", ARGS(STR(text)), -1);
}

static void
a_statement_of_a_request_is_cut_off_and_one_of_a_job_is_begun_again(void **state)
{
	static const enum db_failure wanted[] = { [DB_API] = DB_LIMIT, [DB_JOBS] = DB_AGAIN, [DB_ADMIN] = DB_FINE };
	struct world *w = *state;
	struct conf conf = *w->conf;
	struct db *db;
	int i;

	conf.db_statement_limit = conf.db_job_statement_limit = 1;
	for (i = DB_API; i <= DB_ADMIN; i++) {
		db = db_open(&conf, (enum db_limits)i);
		db_use(db, w->mem);
		db_begin(db);
		db_number(db, "SELECT SLEEP(?)", ARGS(INT(i == DB_ADMIN ? 2 : 100)), -1);
		assert_int_equal(db_failure(db), wanted[i]);
		db_begin(db);
		assert_int_equal(db_number(db, "SELECT 7", NO_ARGS, -1), 7);
		db_close(db);
	}
}

static void
a_killed_statement_is_not_begun_again(void **state)
{
	struct world *w = *state;
	struct db *db = db_open(w->conf, DB_API);
	int64_t id;
	pid_t pid;

	db_use(db, w->mem);
	id = db_number(db, "SELECT CONNECTION_ID()", NO_ARGS, 0);
	pid = fork();
	if (pid == 0) {
		db_abandon(w->db);
		usleep(300000);
		db_run(w->db, "KILL QUERY ?", ARGS(INT(id)));
		_exit(0);
	}
	db_number(db, "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, "
	    "information_schema.columns c", NO_ARGS, -1);
	assert_int_equal(db_failure(db), DB_LIMIT);
	waitpid(pid, NULL, 0);
	db_close(db);
}

/* The end of the connection, but not of what was asked over it: the server writes its row all the same. */
static void
what_may_have_been_done_is_not_done_again(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), i;
	struct db *db;
	pid_t pid;

	conf.db_statement_limit = 60;
	db = db_open(&conf, DB_API);
	db_run(w->db, "CREATE TABLE cut_trial (n INT)", NO_ARGS);
	db_use(db, w->mem);
	close(fd);
	db_number(db, "SELECT 7", NO_ARGS, -1);	/* connects: with the number that was free */
	pid = fork();
	if (pid == 0) {
		db_abandon(w->db);
		for (i = 0; i < 3000 && running(w, "INSERT INTO cut_trial%") == 0; i++)
			usleep(20000);
		shutdown(fd, SHUT_RDWR);
		_exit(0);
	}
	assert_int_equal(db_run(db, "INSERT INTO cut_trial SELECT SLEEP(3)", NO_ARGS), -1);
	assert_int_equal(db_errno(db), 2013);
	assert_int_equal(db_failure(db), DB_LOST);
	waitpid(pid, NULL, 0);
	for (i = 0; i < 3000 && db_number(w->db, "SELECT COUNT(*) FROM cut_trial", NO_ARGS, -1) == 0; i++)
		usleep(20000);
	usleep(1000000);
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM cut_trial", NO_ARGS, -1), 1);
	db_run(w->db, "DROP TABLE cut_trial", NO_ARGS);
	db_close(db);
}

enum word { TO_WRITE, TO_GET, TO_SIZE, TO_FETCH, TO_LIST, WORDS };

static bool
aborts_at(struct world *w, enum word word, const char *key)
{
	int status;
	size_t n;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		switch (word) {
		case TO_WRITE: store_write(w->mem, "x", 1, key); break;
		case TO_GET: store_get(w->mem, key, 1, &n); break;
		case TO_SIZE: store_size(w->mem, key); break;
		case TO_FETCH: store_fetch(w->mem, key, NULL); break;
		default: store_list(w->mem, "play/", NULL, 1, &n);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
the_store_is_asked_for_nothing_while_a_transaction_holds_rows(void **state)
{
	static const char *const holding[] = { "UPDATE tenants SET version = version WHERE 0",
	    "SELECT 1 FROM tenants WHERE 0 FOR UPDATE" };
	struct world *w = *state;
	const char *key = store_key_play(w->mem, uuid_new(), "g/x.txt");

	assert_true(store_open(w->conf));
	db_begin(w->db);
	db_number(w->db, "SELECT COUNT(*) FROM tenants", NO_ARGS, 0);
	assert_false(db_holds_rows());
	for (enum word word = TO_WRITE; word < WORDS; word++)
		assert_false(aborts_at(w, word, key));
	db_rollback(w->db);
	for (size_t i = 0; i < 2; i++) {
		db_begin(w->db);
		db_run(w->db, holding[i], NO_ARGS);
		assert_true(db_holds_rows());
#ifdef __SANITIZE_ADDRESS__
		for (enum word word = TO_WRITE; word < WORDS; word++)
			assert_true(aborts_at(w, word, key));
#endif
		if (i == 0)
			assert_true(db_commit(w->db));
		else
			db_rollback(w->db);
		assert_false(db_holds_rows());
	}
	db_run(w->db, holding[0], NO_ARGS);
	assert_false(db_holds_rows());
}

static void
what_is_the_last_write_of_a_transaction_is(void **state)
{
	struct world *w = *state;
	int status;
	pid_t pid;

	db_begin(w->db);
	db_run_last(w->db, "UPDATE tenants SET version = version WHERE 0", NO_ARGS);
	assert_true(db_commit(w->db));
	db_begin(w->db);
	assert_int_equal(db_run(w->db, "UPDATE tenants SET version = version WHERE 0", NO_ARGS), 0);
	pid = fork();
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		db_abandon(w->db);
		db_use(w->db, w->mem);
		db_begin(w->db);
		db_run_last(w->db, "UPDATE tenants SET version = version WHERE 0", NO_ARGS);
		db_run(w->db, "UPDATE tenants SET version = version WHERE 0", NO_ARGS);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	db_rollback(w->db);
}

static void
an_error_behind_the_first_row_is_one(void **state)
{
	static const char sql[] = "FROM things t WHERE t.n < 3 OR t.n = (SELECT x.n FROM things x WHERE x.n > 2 AND "
	    "t.n > 2) ORDER BY t.n";
	struct world *w = *state;
	size_t n;
	int64_t i;

	for (i = 0; i < 6; i++)
		thing(w, "a", i);
	assert_null(db_rows(w->db, &row_record, sql, NO_ARGS, &n));
	assert_int_equal(n, 0);
	assert_int_equal(db_errno(w->db), 1242);
	db_forgive(w->db);
	assert_null(db_row(w->db, &row_record, sql, NO_ARGS));
	assert_int_equal(db_errno(w->db), 1242);
	db_forgive(w->db);
	assert_int_equal(db_number(w->db, "SELECT t.n FROM things t WHERE t.n < 3 OR t.n = (SELECT x.n FROM things x "
	    "WHERE x.n > 2 AND t.n > 2) ORDER BY t.n", NO_ARGS, -1), -1);
	assert_int_equal(db_errno(w->db), 1242);
	db_forgive(w->db);
	assert_null(db_text(w->db, "SELECT t.name FROM things t WHERE t.n < 3 OR t.n = (SELECT x.n FROM things x WHERE "
	    "x.n > 2 AND t.n > 2) ORDER BY t.n", NO_ARGS));
	assert_int_equal(db_errno(w->db), 1242);
	db_forgive(w->db);
	assert_int_equal(db_number(w->db, "SELECT n FROM things ORDER BY n", NO_ARGS, -1), 0);
}

/* A connection whose other side is closed after so many ms. */
static int
client_for(useconds_t ms)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	if (fork() == 0) {
		close(pair[0]);
		usleep(ms * 1000);
		_exit(0);
	}
	close(pair[1]);
	return pair[0];
}

static void
what_a_client_that_has_gone_asked_for_is_ended_on_the_server(void **state)
{
	static const char sql[] = "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, "
	    "information_schema.columns gone";
	struct world *w = *state;
	struct conf conf = *w->conf;
	int client = client_for(1500), i;
	struct db *db;

	conf.db_statement_limit = 60;
	db = db_open(&conf, DB_API);
	db_use(db, w->mem);
	db_watch(db, client);
	db_begin(db);
	assert_int_equal(db_number(db, sql, NO_ARGS, -1), -1);
	assert_int_equal(db_failure(db), DB_LIMIT);
	assert_string_equal(db_error(db), "the client has gone");
	assert_int_equal(running(w, "%columns gone"), 1);
	db_rollback(db);
	db_watch(db, -1);
	for (i = 0; i < 3000 && running(w, "%columns gone") > 0; i++)
		usleep(20000);
	assert_int_equal(running(w, "%columns gone"), 0);
	assert_int_equal(db_failure(db), DB_LIMIT);
	db_begin(db);
	assert_int_equal(db_number(db, "SELECT 7", NO_ARGS, -1), 7);
	assert_true(db_commit(db));
	db_close(db);
	close(client);
	wait(NULL);
}

static void
a_client_that_waits_gets_its_answer_and_rings_end_with_the_request(void **state)
{
	struct world *w = *state;
	struct itimerval timer;
	int64_t id;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	id = db_number(w->db, "SELECT CONNECTION_ID()", NO_ARGS, 0);
	db_watch(w->db, pair[0]);
	assert_int_equal(db_number(w->db, "SELECT SLEEP(0.5)", NO_ARGS, -1), 0);
	db_watch(w->db, -1);
	getitimer(ITIMER_REAL, &timer);
	assert_true(timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0);
	close(pair[1]);
	assert_int_equal(db_number(w->db, "SELECT SLEEP(0.5)", NO_ARGS, -1), 0);
	assert_int_equal(db_number(w->db, "SELECT CONNECTION_ID()", NO_ARGS, 0), id);
	close(pair[0]);
}

static void
many_statements_of_one_request_have_a_limit_together(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;
	int client = client_for(9000), i;
	struct db *db;

	conf.db_statement_limit = 1;
	db = db_open(&conf, DB_API);
	db_use(db, w->mem);
	db_watch(db, client);
	for (i = 0; i < 30 && db_number(db, "SELECT SLEEP(0.35)", NO_ARGS, -1) == 0; i++)
		;
	assert_in_range(i, 3, 25); /* five limits; a busy machine spends more of them on each */
	assert_int_equal(db_failure(db), DB_LIMIT);
	assert_string_equal(db_error(db), "the request takes too long");
	db_watch(db, -1);
	db_close(db);
	close(client);
}

static void
relay(int listening, const char *socket_name)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	char bytes[4096];
	ssize_t n;
	int i;

	strcpy(to.sun_path, socket_name);
	while ((p[0].fd = accept(listening, NULL, NULL)) >= 0) {
		p[1].fd = socket(AF_UNIX, SOCK_STREAM, 0);
		n = connect(p[1].fd, (struct sockaddr *)&to, sizeof(to)) == 0;
		while (n > 0 && poll(p, 2, -1) > 0)
			for (i = 0; i < 2 && n > 0; i++)
				if (p[i].revents != 0 && (n = read(p[i].fd, bytes, sizeof(bytes))) > 0)
					n = write(p[!i].fd, bytes, (size_t)n);
		close(p[0].fd);
		close(p[1].fd);
	}
}

/* The server of the tests has only a socket: this is its port.  The process to end. */
static pid_t
with_port(const char *socket_name, int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	*port = ntohs(at.sin_port);
	pid = fork();
	if (pid == 0) {
		relay(fd, socket_name);
		_exit(1);
	}
	close(fd);
	return pid;
}

static void
a_host_may_bring_its_port_and_the_first_that_answers_is_taken(void **state)
{
	/* In front of the port, or of nothing: then it is db.port. */
	static const char *const hosts[] = { "127.0.0.1", "[127.0.0.1]", "nowhere.invalid,127.0.0.1:1,127.0.0.1" };
	struct world *w = *state;
	int port;
	pid_t pid = with_port(w->conf->db_socket, &port);
	size_t i;

	for (i = 0; i < 2 * sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct conf conf = *w->conf;
		struct db *db;

		conf.db_hosts = i % 2 ? arena_printf(w->mem, "%s:%d", hosts[i / 2], port) : hosts[i / 2];
		conf.db_port = i % 2 ? 1 : port;
		db = db_open(&conf, DB_API);
		db_use(db, w->mem);
		assert_int_equal(db_number(db, "SELECT 7", NO_ARGS, -1), 7);
		db_close(db);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
a_cursor_walks_every_row_once_in_any_order(void **state)
{
	static const char *const sorts[] = { NULL, "name", "name:desc", "n", "n:desc", "size", "size:desc" };
	struct world *w = *state;
	size_t i, n, k;

	for (i = 0; i < 23; i++) {
		struct row r = { .id = uuid_new(), .name = i % 4 ? arena_printf(w->mem, "n%zu", i % 4) : NULL,
		    .n = (int64_t)i, .created_at = moment_now(), .size = { (int64_t)(i % 3), i % 5 != 0 } };

		assert_true(db_insert(w->db, "things", &row_record, &r));
	}
	for (i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		struct page page = { .perpage = 4, .sort = sorts[i], .total = -1 };
		uint64_t seen = 0;

		do {
			struct row *rows = db_list(w->db, &row_record, "FROM things t WHERE 1", NO_ARGS, &page, &n);

			assert_null(page.fault);
			for (k = 0; k < n; k++) {
				assert_false(seen >> rows[k].n & 1);
				seen |= (uint64_t)1 << rows[k].n;
			}
			assert_int_equal(page.total, 23);
			page.total = -1;
			page.page++;
			page.after = page.next;
		} while (page.after != NULL);
		assert_true(seen == ((uint64_t)1 << 23) - 1);
	}
}

/* It fills the server, of which others would notice. */
static void
on_a_server_of_its_own(char **argv)
{
	const char *src = getenv("KINOTHEK_SRC");
	char path[4096];

	if (getenv("KINOTHEK_TEST_OWN") != NULL)
		return;
	snprintf(path, sizeof(path), "%s/tests/with-db", src == NULL ? "." : src);
	setenv("KINOTHEK_TEST_OWN", "1", 1);
	unsetenv("KINOTHEK_TEST_SOCKET");
	execv(path, (char *[]){ path, argv[0], NULL });
	perror(path);
	exit(1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_come_back_as_they_were_stored, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(texts_of_any_length_come_back_whole, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_taken_key_is_an_answer_not_a_failure, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_taken_key_in_plain_sql_sticks_whatever_follows, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(an_update_counts_matched_rows_and_raises_the_version, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_failure_sticks_until_begin, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(another_statement_at_the_same_address_is_another_one, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(a_killed_connection_is_dialled_again_unless_something_was_begun, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(who_rests_gives_the_connection_back_and_dials_when_asked, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_server_that_cannot_do_it_is_left, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(no_room_in_the_database_is_no_fault_of_ours, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(where_nobody_answers_all_hosts_are_tried_once, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_full_server_is_waited_for_a_moment, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_deadlock_asks_to_begin_again, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_statement_of_a_request_is_cut_off_and_one_of_a_job_is_begun_again, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_killed_statement_is_not_begun_again, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(what_may_have_been_done_is_not_done_again, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(the_store_is_asked_for_nothing_while_a_transaction_holds_rows,
		    with_table, world_teardown),
		cmocka_unit_test_setup_teardown(what_is_the_last_write_of_a_transaction_is, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(an_error_behind_the_first_row_is_one, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(what_a_client_that_has_gone_asked_for_is_ended_on_the_server, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_client_that_waits_gets_its_answer_and_rings_end_with_the_request, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(many_statements_of_one_request_have_a_limit_together, with_table, world_teardown),
		cmocka_unit_test_setup_teardown(a_host_may_bring_its_port_and_the_first_that_answers_is_taken, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(a_cursor_walks_every_row_once_in_any_order, with_table, world_teardown),
	};

	(void)argc;
	on_a_server_of_its_own(argv);
	return cmocka_run_group_tests(tests, world_open, world_close);
}
