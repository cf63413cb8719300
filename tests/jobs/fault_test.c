/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of a job by the reason of its failure, and what its row then says. */
#include <stdlib.h>
#include <string.h>

#include "tests/jobs/runners.h"

static const struct job_place anywhere;

static const char *
code(struct runners *t, struct uuid id)
{
	return column(t, id, "COALESCE(JSON_VALUE(error, '$.code'), '')");
}

/* Lets the row run as a claim does, and fail for this reason.  Returns the state after it. */
static const char *
end_by(struct runners *t, struct uuid id, enum reason reason)
{
	struct settlement s = { .verdict = AGAIN, .reason = reason, .delay_ms = 100 };

	assert_int_equal(db_run(t->db, "UPDATE jobs SET state = 'running', attempt = attempt + 1, fence = fence + 1 "
	    "WHERE id = ? AND state IN ('ready', 'delayed')", ARGS(ID(id))), 1);
	s.row = db_row(t->db, &claimed_record, "FROM jobs t WHERE t.id = ?", ARGS(ID(id)));
	return settle(t->db, t->mem, &s);
}

static int64_t
value(struct runners *t, struct uuid id, const char *name)
{
	return strtoll(column(t, id, name), NULL, 10);
}

static void
pass_hours(struct runners *t, struct uuid id, int hours)
{
	db_run(t->db, "UPDATE jobs SET passing_since = passing_since - ? WHERE id = ?",
	    ARGS(INT((int64_t)hours * 3600 * 1000), ID(id)));
}

static void
what_lies_in_the_machine_is_tried_for_a_day_and_further_and_further_apart(void **state)
{
	static const enum reason reasons[] = { REASON_NO_SPACE, REASON_INTERRUPTED, REASON_STORAGE, REASON_BUSY,
	    REASON_PROGRAM_MISSING };
	struct runners *t = *state;
	struct uuid id;
	size_t i;
	int k;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		id = add(t, "decode", "d", anywhere);
		/* A job of last year: it has waited for others, not failed. */
		db_run(t->db, "UPDATE jobs SET created_at = 1 WHERE id = ?", ARGS(ID(id)));
		for (k = 0; k < 20; k++)
			assert_string_equal(end_by(t, id, reasons[i]), "delayed");
		assert_int_equal(value(t, id, "attempt"), 0);
		assert_string_equal(code(t, id), reason_info(reasons[i])->code);
		assert_string_equal(column(t, id, "JSON_VALUE(error, '$.retryable')"), "1");
		pass_hours(t, id, 23);
		assert_string_equal(end_by(t, id, reasons[i]), "delayed");
		assert_int_equal(value(t, id, "attempt"), 0);
		assert_in_range(value(t, id, "run_at - " SQL_NOW), 600000, 1125000);
		pass_hours(t, id, 1);
		assert_string_equal(end_by(t, id, reasons[i]), "delayed");
		assert_int_equal(value(t, id, "attempt"), 1);
		assert_string_equal(end_by(t, id, reasons[i]), "failed");
	}
}

static void
pauses_grow_with_the_time_that_it_has_been_failing(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "decode", "d", anywhere);

	end_by(t, id, REASON_STORAGE);
	assert_in_range(value(t, id, "run_at - " SQL_NOW), 0, 100);
	db_run(t->db, "UPDATE jobs SET passing_since = passing_since - 60000 WHERE id = ?", ARGS(ID(id)));
	end_by(t, id, REASON_STORAGE);
	assert_in_range(value(t, id, "run_at - " SQL_NOW), 59000, 65000);
}

static void
another_failure_begins_the_day_anew(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "retry", "r", anywhere);

	end_by(t, id, REASON_STORAGE);
	pass_hours(t, id, 30);
	assert_string_equal(end_by(t, id, REASON_CRASHED), "delayed");
	assert_int_equal(value(t, id, "attempt"), 1);
	assert_int_equal(value(t, id, "passing_since"), 0);
	assert_string_equal(end_by(t, id, REASON_STORAGE), "delayed");
	assert_int_equal(value(t, id, "attempt"), 1);
}

static void
whoever_starts_it_again_gives_it_another_day(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "decode", "d", anywhere);

	end_by(t, id, REASON_STORAGE);
	pass_hours(t, id, 30);
	db_begin(t->db);
	assert_true(job_cancel(t->db, id));
	assert_true(job_restart(t->db, id));
	assert_true(db_commit(t->db));
	assert_string_equal(end_by(t, id, REASON_STORAGE), "delayed");
	assert_int_equal(value(t, id, "attempt"), 0);
}

static void
what_stood_still_or_took_too_long_twice_is_not_tried_a_third_time(void **state)
{
	static const enum reason reasons[] = { REASON_NO_PROGRESS, REASON_TIME_LIMIT };
	struct runners *t = *state;
	struct uuid id;
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		id = add(t, "retry", "r", anywhere); /* has four attempts */
		assert_string_equal(end_by(t, id, reasons[i]), "delayed");
		assert_string_equal(end_by(t, id, reasons[i]), "failed");
		assert_string_equal(code(t, id), reason_info(reasons[i])->code);
		id = add(t, "retry", "r", anywhere);
		assert_string_equal(end_by(t, id, reasons[i]), "delayed");
		assert_string_equal(end_by(t, id, reasons[1 - i]), "delayed");
		assert_string_equal(end_by(t, id, REASON_CRASHED), "delayed");
		assert_string_equal(end_by(t, id, REASON_CRASHED), "failed");
	}
}

/* The process of the job itself, as an impatient administrator would. */
static void
a_job_that_is_killed_is_interrupted_and_runs_again(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "held", "h", anywhere);
	pid_t child;

	t->options.back_off_ms = 24 * 3600 * 1000;
	runner_start(t);
	child = (pid_t)number_in(t, "pid-h");
	kill(child, SIGKILL);
	wait_for(t, id, "delayed");
	assert_string_equal(code(t, id), "interrupted");
	assert_int_equal(value(t, id, "attempt"), 0);
	touch(t, "go");
	db_run(t->db, "UPDATE jobs SET run_at = 0 WHERE id = ?", ARGS(ID(id)));
	wait_for(t, id, "succeeded");
}

static void
the_death_of_a_runner_is_no_fault_of_the_file(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "held", "h", anywhere);
	int n = runner_start(t);

	number_in(t, "pid-h");
	kill(t->pids[n], SIGKILL);
	runner_wait(t, n);
	t->options.back_off_ms = 60000;
	runner_start(t);
	wait_for(t, id, "delayed");
	assert_string_equal(code(t, id), "lease_lost");
	assert_string_equal(column(t, id, "JSON_VALUE(error, '$.detail')"), "The runner that worked on it has ended.");
	assert_null(strstr(column(t, id, "error"), "at fault"));
}

/* Clients read the row, so it names no path. */
static void
the_row_says_how_a_program_ended_and_what_it_wrote_last(void **state)
{
	struct runners *t = *state;
	struct uuid killed = add(t, "tool", "echo 'cannot read /srv/secret/film.mov' >&2; kill -KILL $$", anywhere),
	    crashed = add(t, "tool", "echo first >&2; echo last >&2; kill -SEGV $$", anywhere),
	    ours = add(t, "tool", "exit 64", anywhere), fine = add(t, "tool", "echo odd >&2", anywhere);

	runner_start(t);
	wait_for(t, killed, "delayed");
	assert_string_equal(code(t, killed), "interrupted");
	assert_non_null(strstr(column(t, killed, "log_tail"), "sh ended by signal 9 (Killed)"));
	assert_non_null(strstr(column(t, killed, "log_tail"), "\ncannot read film.mov\n"));
	assert_null(strstr(column(t, killed, "log_tail"), "secret"));
	wait_for(t, crashed, "failed");
	assert_string_equal(code(t, crashed), "crashed");
	assert_string_equal(column(t, crashed, "JSON_VALUE(error, '$.detail')"),
	    "sh ended by signal 11 (Segmentation fault).");
	assert_non_null(strstr(column(t, crashed, "log_tail"), "\nfirst\nlast\n"));
	wait_for(t, ours, "failed");
	assert_string_equal(code(t, ours), "internal");
	wait_for(t, fine, "succeeded");
}

static void
what_can_do_without_is_tried_as_often_as_anything_else_first(void **state)
{
	static const struct { enum reason reason; int attempt; bool may; } rows[] = {
		{ REASON_INTERRUPTED, 1, true }, { REASON_INTERRUPTED, 3, true }, { REASON_CRASHED, 1, true },
		{ REASON_CRASHED, 2, true }, { REASON_CRASHED, 3, false }, { REASON_TIME_LIMIT, 1, true },
		{ REASON_TIME_LIMIT, 2, false }, { REASON_DECODE_FAILED, 1, false },
		{ REASON_CONVERTER_MISSING, 1, false },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job j = { .attempt = rows[i].attempt, .max_attempts = 3 };
		struct fault fault = { .reason = rows[i].reason };

		if (job_may_mend(&j, &fault) != rows[i].may)
			fail_msg("row %zu", i);
	}
}

int
main(void)
{
#define RUNNERS_TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)
	const struct CMUnitTest tests[] = {
		RUNNERS_TEST(what_lies_in_the_machine_is_tried_for_a_day_and_further_and_further_apart),
		RUNNERS_TEST(pauses_grow_with_the_time_that_it_has_been_failing),
		RUNNERS_TEST(another_failure_begins_the_day_anew),
		RUNNERS_TEST(whoever_starts_it_again_gives_it_another_day),
		RUNNERS_TEST(what_stood_still_or_took_too_long_twice_is_not_tried_a_third_time),
		RUNNERS_TEST(a_job_that_is_killed_is_interrupted_and_runs_again),
		RUNNERS_TEST(the_death_of_a_runner_is_no_fault_of_the_file),
		RUNNERS_TEST(the_row_says_how_a_program_ended_and_what_it_wrote_last),
		cmocka_unit_test(what_can_do_without_is_tried_as_often_as_anything_else_first),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
