/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of events skip nothing, whoever commits late, and tell nothing twice. */
#include <string.h>
#include <unistd.h>

#include "core/event.h"
#include "tests/world.h"

enum { LATE_MS = 300 };

/* Closed after the test, whatever became of it: an open transaction would hold up the end of the database. */
static struct db *writers[8];

static struct db *
writer(struct world *w)
{
	size_t i = 0;

	while (writers[i] != NULL)
		i++;
	writers[i] = db_open(w->conf, DB_JOBS);
	db_use(writers[i], w->mem);
	return writers[i];
}

static int
close_writers(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(writers) / sizeof(writers[0]) && writers[i] != NULL; i++) {
		db_close(writers[i]);
		writers[i] = NULL;
	}
	return world_teardown(state);
}

static void
write_event(struct world *w, struct db *db, const char *data)
{
	event_add(db, &(struct event_new){ .tenant_id = w->tenant_id, .type = "media.restored", .data = data });
	assert_int_equal(db_failure(db), DB_FINE);
}

/* From here on, with a grace that a test can wait for. */
static struct event_reader
reader(struct world *w)
{
	struct event_reader r;

	assert_true(event_reader_open(&r, w->db, db_number(w->db, "SELECT COALESCE(MAX(id), 0) FROM events", NO_ARGS,
	    0)));
	r.late_ms = LATE_MS;
	return r;
}

/* The data of what is read now, one after the other, "{"n":1}" as 1. */
static const char *
read_now(struct world *w, struct event_reader *r)
{
	struct buf b = BUF(w->mem);
	const struct event *e;
	bool more = true;
	size_t n, i;

	while (more) {
		e = event_read(r, w->db, &n, &more);
		for (i = 0; i < n; i++)
			buf_printf(&b, "%s ", e[i].data.text);
	}
	assert_int_equal(db_failure(w->db), DB_FINE);
	return buf_string(&b);
}

/* Reads until nothing is open any more, or that takes long. */
static const char *
read_until_settled(struct world *w, struct event_reader *r)
{
	struct buf b = BUF(w->mem);
	int i;

	for (i = 0; i < 2400 && (i == 0 || event_settled(r) < r->high); i++) {
		buf_text(&b, read_now(w, r));
		usleep(50000);
	}
	assert_int_equal(event_settled(r), r->high);
	return buf_string(&b);
}

static void
one_that_commits_late_is_told_then(void **state)
{
	struct world *w = *state;
	struct db *slow = writer(w), *quick = writer(w);
	struct event_reader r = reader(w);
	int64_t before = r.high;

	db_begin(slow);
	write_event(w, slow, "1");
	write_event(w, quick, "2");
	assert_string_equal(read_now(w, &r), "2 ");
	assert_int_equal(event_settled(&r), before);
	assert_true(db_commit(slow));
	assert_string_equal(read_now(w, &r), "1 ");
	assert_int_equal(event_settled(&r), r.high);
	assert_string_equal(read_now(w, &r), "");
	event_reader_close(&r);
}

/* However long it takes: time alone closes nothing. */
static void
a_number_stays_open_while_its_writer_holds_it(void **state)
{
	struct world *w = *state;
	struct db *slow = writer(w), *quick = writer(w);
	struct event_reader r = reader(w);
	int64_t before = r.high;
	int i;

	db_begin(slow);
	write_event(w, slow, "1");
	write_event(w, quick, "2");
	assert_string_equal(read_now(w, &r), "2 ");
	for (i = 0; i < 30; i++) {
		usleep(100000);
		assert_string_equal(read_now(w, &r), "");
		assert_int_equal(event_settled(&r), before);
	}
	assert_true(db_commit(slow));
	assert_string_equal(read_until_settled(w, &r), "1 ");
	event_reader_close(&r);
}

static void
one_that_was_rolled_back_is_closed_after_a_while_and_holds_nothing_up(void **state)
{
	struct world *w = *state;
	struct db *slow = writer(w), *quick = writer(w);
	struct event_reader r = reader(w);

	db_begin(slow);
	write_event(w, slow, "1");
	write_event(w, quick, "2");
	db_rollback(slow);
	write_event(w, quick, "3");
	assert_string_equal(read_now(w, &r), "2 3 ");
	assert_true(event_settled(&r) < r.high);
	assert_string_equal(read_until_settled(w, &r), "");
	write_event(w, quick, "4");
	assert_string_equal(read_now(w, &r), "4 ");
	assert_int_equal(event_settled(&r), r.high);
	event_reader_close(&r);
}

static void
who_begins_again_where_it_was_settled_misses_nothing(void **state)
{
	struct world *w = *state;
	struct db *slow = writer(w), *quick = writer(w);
	struct event_reader r = reader(w), again;

	write_event(w, quick, "1");
	db_begin(slow);
	write_event(w, slow, "2");
	write_event(w, quick, "3");
	assert_string_equal(read_now(w, &r), "1 3 ");
	assert_true(event_reader_open(&again, w->db, event_settled(&r)));
	event_reader_close(&r);
	assert_string_equal(read_now(w, &again), "3 ");
	assert_true(db_commit(slow));
	assert_string_equal(read_now(w, &again), "2 ");
	event_reader_close(&again);
}

/* Some writers at a time, each of which begins, writes, and commits or rolls back in an order of its own. */
static void
of_many_writers_each_event_is_told_once(void **state)
{
	enum { WRITERS = 7, ROUNDS = 60 };
	struct world *w = *state;
	struct db *db[WRITERS];
	struct event_reader r = reader(w);
	struct buf told = BUF(w->mem);
	bool open[WRITERS] = { false };
	int i, k, committed = 0, count = 0;
	const char *p;

	for (i = 0; i < WRITERS; i++)
		db[i] = writer(w);
	for (i = 0; i < WRITERS * ROUNDS; i++) {
		k = i * 5 % WRITERS;
		if (open[k] && i % 11 == 0) {
			db_rollback(db[k]);
		} else if (open[k]) {
			assert_true(db_commit(db[k]));
			committed++;
		} else {
			db_begin(db[k]);
			write_event(w, db[k], "7");
		}
		open[k] = !open[k];
		buf_text(&told, i % 3 == 0 ? read_now(w, &r) : "");
	}
	for (k = 0; k < WRITERS; k++) {
		committed += open[k];
		db_commit(db[k]);
	}
	buf_text(&told, read_until_settled(w, &r));
	for (p = buf_string(&told); (p = strstr(p, "7 ")) != NULL; p++)
		count++;
	assert_int_equal(count, committed);
	event_reader_close(&r);
}

static void
who_reads_once_stops_below_what_is_open(void **state)
{
	struct world *w = *state;
	struct db *slow = writer(w), *quick = writer(w);
	int64_t before;

	write_event(w, quick, "1");
	before = db_number(w->db, "SELECT MAX(id) FROM events", NO_ARGS, 0);
	/* what was written long ago is settled, whatever is missing there */
	db_run(w->db, "UPDATE events SET created_at = created_at - 3600000 WHERE id <= ?", ARGS(INT(before)));
	assert_int_equal(event_settled_now(w->db), before);
	db_begin(slow);
	write_event(w, slow, "2");
	write_event(w, quick, "3");
	assert_int_equal(event_settled_now(w->db), before);
	assert_true(db_commit(slow));
	assert_int_equal(event_settled_now(w->db), before + 2);
}

static void
old_events_are_pruned_by_their_index_and_the_audit_stays(void **state)
{
	struct world *w = *state;
	int64_t old = moment_now().ms - (EVENT_DAYS + 1) * INT64_C(86400000);

	write_event(w, w->db, "1");
	write_event(w, w->db, "2");
	db_run(w->db, "UPDATE events SET created_at = ? WHERE tenant_id = ? AND (is_audit = 1 OR data = '1')",
	    ARGS(INT(old), ID(w->tenant_id)));
	event_add(w->db, &(struct event_new){ .tenant_id = w->tenant_id, .is_audit = true, .type = "channel.created" });
	db_run(w->db, "UPDATE events SET created_at = ? WHERE tenant_id = ? AND is_audit = 1", ARGS(INT(old),
	    ID(w->tenant_id)));
	assert_int_equal(event_prune(w->db), 1);
	assert_int_equal(event_prune(w->db), 0);
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ? AND is_audit = 1 AND created_at = ?",
	    ARGS(ID(w->tenant_id), INT(old))), number(w, "FROM events WHERE tenant_id = ? AND is_audit = 1",
	    ARGS(ID(w->tenant_id))));
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ? AND data = '2'", ARGS(ID(w->tenant_id))), 1);
}

/* So that nobody waits for the rows that a step has locked. */
static void
old_events_are_pruned_in_steps_oldest_first(void **state)
{
	struct world *w = *state;

	assert_int_equal(db_run(writer(w), "INSERT INTO events (tenant_id, type, data, created_at) SELECT ?, "
	    "'media.restored', '{}', s.seq FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 1 AS seq FROM "
	    TEN_SQL " a, " TEN_SQL " b, " TEN_SQL " c, " TEN_SQL " d) s WHERE s.seq <= 1200", ARGS(ID(w->tenant_id))),
	    1200);
	assert_int_equal(event_prune(w->db), 500);
	assert_int_equal(db_number(w->db, "SELECT MIN(created_at) FROM events WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), 0), 501);
	assert_int_equal(event_prune(w->db), 500);
	assert_int_equal(event_prune(w->db), 200);
	assert_int_equal(event_prune(w->db), 0);
}

static void
a_jump_of_numbers_is_no_flood(void **state)
{
	struct world *w = *state;
	struct event_reader r = reader(w);

	db_run(w->db, "INSERT INTO events (id, tenant_id, type, data, created_at) VALUES (?, ?, 'media.restored', '9', "
	    "0)", ARGS(INT(r.high + 1000000), ID(w->tenant_id)));
	assert_string_equal(read_now(w, &r), "9 ");
	assert_in_range(r.n_gaps, 1, 20000);
	event_reader_close(&r);
}

#define EVENT_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, close_writers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		EVENT_TEST(one_that_commits_late_is_told_then),
		EVENT_TEST(a_number_stays_open_while_its_writer_holds_it),
		EVENT_TEST(one_that_was_rolled_back_is_closed_after_a_while_and_holds_nothing_up),
		EVENT_TEST(who_begins_again_where_it_was_settled_misses_nothing),
		EVENT_TEST(of_many_writers_each_event_is_told_once),
		EVENT_TEST(who_reads_once_stops_below_what_is_open),
		EVENT_TEST(old_events_are_pruned_by_their_index_and_the_audit_stays),
		EVENT_TEST(old_events_are_pruned_in_steps_oldest_first),
		EVENT_TEST(a_jump_of_numbers_is_no_flood),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
