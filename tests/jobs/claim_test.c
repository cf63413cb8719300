/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims: which job is next, of which tenant, in which class. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/jobs/runners.h"

static const struct job_place anywhere;

static void
within_one_tenant_the_lower_number_runs_first(void **state)
{
	struct runners *t = *state;
	struct uuid tenant = uuid_new();

	t->conf.job_slots = 1;
	add(t, "quick", "bulk", PLACE(.tenant_id = tenant, .priority = PRIORITY_BULK));
	add(t, "quick", "normal", PLACE(.tenant_id = tenant));
	add(t, "quick", "first", PLACE(.tenant_id = tenant, .priority = PRIORITY_FIRST));
	add(t, "quick", "normal2", PLACE(.tenant_id = tenant));
	runner_drain(t);
	assert_string_equal(journal(t), "quick first 1\nquick normal 1\nquick normal2 1\nquick bulk 1\n");
}

static void
a_tenant_with_many_jobs_does_not_starve_another(void **state)
{
	struct runners *t = *state;
	struct uuid many = uuid_new(), few = uuid_new();
	const char *p;
	int i, before = 0;

	t->conf.job_slots = 1;
	for (i = 0; i < 40; i++)
		add(t, "quick", "many", PLACE(.tenant_id = many, .priority = PRIORITY_FIRST));
	for (i = 0; i < 3; i++)
		add(t, "quick", "few", PLACE(.tenant_id = few));
	add(t, "quick", "house", anywhere);
	runner_drain(t);
	assert_int_equal(times(t, "many"), 40);
	assert_int_equal(times(t, "few"), 3);
	for (p = journal(t); strstr(p, "few") != NULL || strstr(p, "house") != NULL; p = strchr(p, '\n') + 1)
		before++;
	assert_in_range(before, 4, 20); /* of 44; a look at the queue may be late */
}

static void
a_free_slot_goes_to_the_tenant_with_the_fewest_running(void **state)
{
	struct runners *t = *state;
	struct uuid many = uuid_new(), few = uuid_new(), id, last;
	int i;

	t->conf.job_slots = 3;
	for (i = 0; i < 6; i++)
		last = add(t, "held", "h", PLACE(.tenant_id = many, .priority = PRIORITY_FIRST));
	runner_start(t);
	for (i = 0; i < 12000 && times(t, "held h") < 3; i++)
		usleep(10000);
	id = add(t, "quick", "few", PLACE(.tenant_id = few, .priority = PRIORITY_BULK));
	job_wake(t->conf.run_dir);
	wait_for(t, id, "succeeded");
	assert_int_equal(times(t, "held h"), 3);
	touch(t, "go");
	wait_for(t, last, "succeeded");
}

/* Rows of jobs that the server has read so far, in this database; others have theirs on the same server. */
static int64_t
rows_read(struct runners *t)
{
	return db_number(t->db, "SELECT CAST(rows_read AS SIGNED) FROM information_schema.table_statistics "
	    "WHERE table_schema = DATABASE() AND table_name = 'jobs'", NO_ARGS, -1);
}

static void
a_claim_reads_nothing_of_kinds_that_others_do(void **state)
{
	struct runners *t = *state;
	int64_t before, after;

	db_run(t->db, "SET GLOBAL userstat = 1", NO_ARGS);
	db_run(t->db, "INSERT INTO jobs (id, tenant_id, kind, args, state, priority, run_at, max_attempts, created_at) "
	    "SELECT UNHEX(MD5(seq)), UNHEX(MD5(seq MOD 500)), 'foreign', '{}', 'ready', 0, seq, 3, seq "
	    "FROM seq_1_to_5000", NO_ARGS);
	runner_start(t);
	wait_for(t, add(t, "quick", "first", anywhere), "succeeded");
	before = rows_read(t);
	wait_for(t, add(t, "quick", "second", anywhere), "succeeded");
	after = rows_read(t);
	assert_true(before > 0);
	assert_in_range(after - before, 1, 2500); /* the test asks too, while it waits */
}

static void
what_waited_for_long_goes_before_what_is_more_important(void **state)
{
	struct runners *t = *state;
	struct uuid tenant = uuid_new(), bulk;

	t->conf.job_slots = 1;
	bulk = add(t, "quick", "bulk", PLACE(.tenant_id = tenant, .priority = PRIORITY_BULK));
	add(t, "quick", "first", PLACE(.tenant_id = tenant, .priority = PRIORITY_FIRST));
	db_run(t->db, "UPDATE jobs SET run_at = run_at - 40 * 60000 WHERE id = ?", ARGS(ID(bulk)));
	runner_drain(t);
	assert_string_equal(journal(t), "quick bulk 1\nquick first 1\n");
}

static void
what_is_quick_never_waits_behind_what_is_slow(void **state)
{
	struct runners *t = *state;
	struct uuid slow[4], brief;
	int i;

	t->conf.job_slots = 1;
	for (i = 0; i < 4; i++)
		slow[i] = add(t, "held", "h", anywhere);
	runner_start(t);
	wait_for(t, slow[0], "running");
	brief = add(t, "brief", "b", anywhere);
	job_wake(t->conf.run_dir);
	wait_for(t, brief, "succeeded");
	assert_string_equal(column(t, slow[0], "state"), "running");
	assert_string_equal(column(t, slow[1], "state"), "ready");
}

static void
a_tenant_never_holds_a_class_alone_while_another_waits(void **state)
{
	struct runners *t = *state;
	struct uuid many = uuid_new(), few = uuid_new(), slow[6], id;
	int i, running = 0;

	t->conf.job_slots = 2;
	for (i = 0; i < 6; i++)
		slow[i] = add(t, "held", "h", PLACE(.tenant_id = many));
	runner_start(t);
	wait_for(t, slow[1], "running");
	for (i = 0; i < 3; i++) {
		id = add(t, "quick", "few", PLACE(.tenant_id = few, .priority = PRIORITY_BULK));
		job_wake(t->conf.run_dir);
		wait_for(t, id, "succeeded");
	}
	assert_string_equal(column(t, slow[0], "state"), "running");
	assert_string_equal(column(t, slow[1], "state"), "running");
	for (i = 0; i < 6; i++)
		running += strcmp(column(t, slow[i], "state"), "running") == 0;
	assert_int_equal(running, 2); /* the place more is for others */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(within_one_tenant_the_lower_number_runs_first),
		TEST(what_waited_for_long_goes_before_what_is_more_important),
		TEST(a_tenant_with_many_jobs_does_not_starve_another),
		TEST(a_free_slot_goes_to_the_tenant_with_the_fewest_running),
		TEST(what_is_quick_never_waits_behind_what_is_slow),
		TEST(a_tenant_never_holds_a_class_alone_while_another_waits),
		TEST(a_claim_reads_nothing_of_kinds_that_others_do),
	};

	cmocka_set_test_filter(getenv("TEST_FILTER"));
	return cmocka_run_group_tests(tests, world_open, world_close);
}
