/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a runner gets done of jobs that do nothing, of a thousand tenants, alone and beside many of another kind that it
 * does not claim; see tests/bench/claims. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/jobs/runners.h"

enum { BAR = 300 };

static int64_t
setting(const char *name, int64_t otherwise)
{
	const char *value = getenv(name);

	return value != NULL && atoi(value) > 0 ? atoi(value) : otherwise;
}

static void
add_many(struct runners *t, const char *kind, int64_t n)
{
	db_run(t->db, "INSERT INTO jobs (id, tenant_id, kind, args, state, priority, run_at, max_attempts, created_at) "
	    "SELECT UNHEX(MD5(CONCAT(?, seq))), UNHEX(MD5(seq MOD 1000)), ?, JSON_OBJECT('name', CONCAT('n', seq MOD 10)), "
	    "'ready', 0, seq, 3, seq FROM seq_1_to_1000000 LIMIT ?", ARGS(STR(kind), STR(kind), INT(n)));
	db_run(t->db, "ANALYZE TABLE jobs", NO_ARGS);
}

static int64_t
left(struct runners *t)
{
	/* By the index: the others are not to be looked at here either. */
	return db_number(t->db, "SELECT COUNT(*) FROM jobs WHERE state IN ('ready', 'running', 'delayed') AND kind = "
	    "'quick'", NO_ARGS, -1);
}

/* Jobs per second, from the first claim to the last end. */
static double
rate(struct runners *t, int64_t n)
{
	int64_t began;

	db_run(t->db, "DELETE FROM jobs WHERE kind = 'quick'", NO_ARGS);
	add_many(t, "quick", n);
	began = clock_ms();
	job_wake(t->conf.run_dir);
	while (left(t) > 0 && clock_ms() - began < 120000)
		usleep(20000);
	return (double)n * 1000 / (double)(clock_ms() - began);
}

int
main(void)
{
	int64_t n = setting("BENCH_CLAIMS", 2000), foreign = setting("BENCH_FOREIGN", 100000);
	double alone, beside;
	struct runners *t;
	void *state = NULL;

	if (world_open(&state) != 0 || runners_setup(&state) != 0)
		return 1;
	t = state;
	t->options.poll_ms = 60000;
	runner_start(t);
	usleep(500000);
	alone = rate(t, n);
	add_many(t, "foreign", foreign);
	beside = rate(t, n);
	printf("figure\t%" PRId64 " jobs of 1000 tenants that do nothing\t%.0f/s\t>= %d/s\t%s\n", n, alone, BAR,
	    alone >= BAR ? "pass" : "fail");
	printf("figure\tthe same beside %" PRId64 " ready ones of another kind\t%.0f/s\t>= %d/s\t%s\n", foreign, beside,
	    BAR, beside >= BAR ? "pass" : "fail");
	return runners_teardown(&state) != 0 || world_close(&state) != 0;
}
