/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds jobs one by one to an idle runner and notes when each starts.  Durable commits; see tests/bench/wakeup. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/jobs/runners.h"

enum { WARM = 20, COUNT = 200, BAR_US = 5000 };

static int
by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t
clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t
once(struct runners *t, int i)
{
	const char *name = arena_printf(t->mem, "%d", i);
	struct uuid id;
	int64_t committed;

	id = add(t, "clock", name, (struct job_place){ .priority = 0 });
	committed = clock_us();
	job_wake(t->conf.run_dir);
	wait_for(t, id, "succeeded");
	usleep(20000); /* idle again */
	return number_in(t, arena_printf(t->mem, "clock-%d", i)) - committed;
}

int
main(void)
{
	const char *wanted = getenv("BENCH_JOBS");
	int64_t us[COUNT], i, n = wanted != NULL && atoi(wanted) > 0 && atoi(wanted) < COUNT ? atoi(wanted) : COUNT,
	    p50, p95;
	struct runners *t;
	void *state = NULL;

	if (world_open(&state) != 0 || runners_setup(&state) != 0)
		return 1;
	t = state;
	db_run(t->db, "SET GLOBAL innodb_flush_log_at_trx_commit = 1", NO_ARGS);
	t->options.poll_ms = 60000;
	runner_start(t);
	for (i = 0; i < WARM; i++)
		once(t, (int)i);
	for (i = 0; i < n; i++)
		us[i] = once(t, (int)(WARM + i));
	qsort(us, (size_t)n, sizeof(us[0]), by_size);
	p50 = us[n / 2];
	p95 = us[n * 95 / 100];
	printf("figure\tCOMMIT to job started, p50\t%.2f ms\t<= 5 ms\t%s\n", (double)p50 / 1000,
	    p50 <= BAR_US ? "pass" : "fail");
	printf("figure\tCOMMIT to job started, p95\t%.2f ms\t-\t\n", (double)p95 / 1000);
	return runners_teardown(&state) != 0 || world_close(&state) != 0;
}
