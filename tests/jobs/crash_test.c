/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sudden death at each named point of the runner and of a job: nothing is lost, nothing is done twice, and every job
 * comes to its end.  The sources of the runner are compiled into this program with -DKINOTHEK_CRASH_POINTS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scratch.h"
#include "core/store.h"
#include "tests/jobs/runners.h"

#ifndef KINOTHEK_CRASH_POINTS
#error "compile this with -DKINOTHEK_CRASH_POINTS"
#endif

/* In the order in which a job that pauses and closes meets them. */
static const char *const in_child[] = { "started", "pausing", "paused", "before_resume", "resumed", "before_commit",
	"after_commit" };

static int
start_with(struct runners *t, const char *at)
{
	int n;

	setenv("KINOTHEK_CRASH_AT", at, 1);
	n = runner_start(t);
	unsetenv("KINOTHEK_CRASH_AT");
	return n;
}

/* What another runner must find possible after a death at that point. */
static void
survives(struct runners *t, const char *at, const char *kind, const char *end)
{
	struct uuid id = add(t, kind, "100", (struct job_place){ .priority = 0 });
	struct uuid after = add(t, "quick", at, (struct job_place){ .waits = WAITS({ id, false }) });
	const char *kinds = t->conf.job_kinds;
	int n = start_with(t, at);

	assert_int_equal(runner_wait(t, n), -SIGKILL);
	runner_drain(t);
	assert_string_equal(column(t, id, "state"), end);
	assert_int_equal(results(t, id), strcmp(end, "succeeded") == 0);
	assert_string_equal(column(t, after, "state"), "succeeded");
	assert_int_equal(results(t, after), 1);
	t->conf.job_kinds = "sweep";
	add(t, "sweep", NULL, (struct job_place){ .priority = 0 });
	runner_drain(t);
	t->conf.job_kinds = kinds;
	assert_int_equal(rmdir(scratch_here(t->mem)), 0); /* no scratch is left */
	assert_true(scratch_open(&t->conf));
}

static void
a_runner_killed_with_its_child_at_any_point_of_a_job_loses_nothing(void **state)
{
	struct runners *t = *state;
	size_t i;

	for (i = 0; i < sizeof(in_child) / sizeof(in_child[0]); i++) {
		print_message("# runner:%s\n", in_child[i]);
		survives(t, arena_printf(t->mem, "runner:%s", in_child[i]), "slow", "succeeded");
	}
}

static void
a_runner_killed_between_claim_and_settlement_loses_nothing(void **state)
{
	struct runners *t = *state;

	survives(t, "claimed", "slow", "succeeded");
	survives(t, "forked", "slow", "succeeded");
	survives(t, "before_settle", "refuse", "failed");
	survives(t, "settled", "refuse", "failed");
	survives(t, "before_settle", "retry", "failed");
	survives(t, "settled", "retry", "failed");
}

/* The runner lives on: before the commit every attempt dies and the job fails with its reason; after it, it has
 * succeeded. */
static void
a_child_that_dies_at_a_point_is_retried_until_the_job_ends(void **state)
{
	struct runners *t = *state;
	struct uuid id;
	bool done;
	size_t i;
	int n;

	for (i = 0; i < sizeof(in_child) / sizeof(in_child[0]); i++) {
		print_message("# %s\n", in_child[i]);
		done = strcmp(in_child[i], "after_commit") == 0;
		id = add(t, "slow", "60", (struct job_place){ .priority = 0 });
		/* What is killed from outside has a day; this one's is over. */
		db_run(t->db, "UPDATE jobs SET passing_since = " SQL_NOW " - 86400000 WHERE id = ?", ARGS(ID(id)));
		n = start_with(t, in_child[i]);
		wait_for(t, id, done ? "succeeded" : "failed");
		kill(t->pids[n], SIGTERM);
		assert_int_equal(runner_wait(t, n), 0);
		assert_int_equal(results(t, id), done);
		assert_string_equal(column(t, id, "attempt"), done ? "1" : "3");
		assert_string_equal(column(t, id, "COALESCE(JSON_VALUE(error, '$.code'), '')"), done ? "" :
		    "interrupted");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_runner_killed_with_its_child_at_any_point_of_a_job_loses_nothing,
		    runners_setup, runners_teardown),
		cmocka_unit_test_setup_teardown(
		    a_runner_killed_between_claim_and_settlement_loses_nothing, runners_setup, runners_teardown),
		cmocka_unit_test_setup_teardown(
		    a_child_that_dies_at_a_point_is_retried_until_the_job_ends, runners_setup, runners_teardown),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
