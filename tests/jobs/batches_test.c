/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that do their work in many short transactions. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/jobs/runners.h"

static const struct job_place anywhere;

/* How many parts were begun, by one process each time. */
static int
parts_begun(struct runners *t)
{
	const char *p;
	int part, pid, first = 0, n = 0;

	for (p = read_text(t, "parts"); sscanf(p, "%d %d", &part, &pid) == 2; p = strchr(p, '\n') + 1) {
		if (n++ == 0)
			first = pid;
		assert_int_equal(pid, first);
	}
	return n;
}

static void
a_hundred_transactions_are_made_by_one_process(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "parts", "100", anywhere);

	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "succeeded");
	assert_int_equal(parts_begun(t), 100);
	assert_int_equal(results(t, id), 100);
}

static void
a_part_that_the_database_lost_is_begun_again_and_no_other(void **state)
{
	struct runners *t = *state;
	struct uuid id;
	int i;

	proxy_start(t);
	id = add(t, "parts", "200", anywhere);
	runner_start(t);
	for (i = 0; i < 12000 && parts_begun(t) < 20; i++)
		usleep(10000);
	proxy_cut(t);
	usleep(300000);
	assert_string_equal(column(t, id, "state"), "running");
	proxy_start(t);
	wait_for(t, id, "succeeded");
	/* A COMMIT whose answer was lost may have been one. */
	assert_in_range(results(t, id), 200, 201);
	assert_int_equal(db_number(t->db, "SELECT COUNT(DISTINCT fence) FROM test_results WHERE job_id = ?",
	    ARGS(ID(id)), 0), 200);
	assert_string_equal(column(t, id, "attempt"), "1");
	assert_true(parts_begun(t) > 200);
}

static void
who_has_lost_the_lease_writes_no_further_part(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "parts", "5000", anywhere);
	int64_t n;
	int i;

	runner_start(t);
	for (i = 0; i < 12000 && parts_begun(t) < 5; i++)
		usleep(10000);
	kill(t->pids[0], SIGSTOP);
	db_run(t->db, "UPDATE jobs SET fence = fence + 1 WHERE id = ?", ARGS(ID(id)));
	n = results(t, id);
	usleep(500000);
	assert_int_equal(results(t, id), n);
	assert_in_range(n, 1, 4999);
	kill(t->pids[0], SIGCONT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hundred_transactions_are_made_by_one_process),
		TEST(a_part_that_the_database_lost_is_begun_again_and_no_other),
		TEST(who_has_lost_the_lease_writes_no_further_part),
	};

	cmocka_set_test_filter(getenv("TEST_FILTER"));
	return cmocka_run_group_tests(tests, world_open, world_close);
}
