/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes that are busy for tenants, and who is let in beside them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/load.h"

static char dir[] = "/tmp/kinothek-load-XXXXXX", path[64];
static const struct uuid one = { { 1, [15] = 1 } }, two = { { 1, [15] = 2 } };
static pid_t workers[16];
static int n_workers;

/* A process that holds a slot: idle, or busy for a tenant until it is killed. */
static pid_t
worker(const struct uuid *tenant)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		load_open(dir);
		if (tenant != NULL)
			load_enter(*tenant);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	workers[n_workers++] = pid;
	return pid;
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int
setup(void **state)
{
	unlink(path);
	n_workers = 0;
	load_open(dir);
	return 0;
}

static int
teardown(void **state)
{
	while (n_workers > 0)
		end(workers[--n_workers]);
	load_close();
	return 0;
}

static bool
let_in(struct uuid tenant)
{
	bool in = load_enter(tenant);

	load_leave();
	return in;
}

static void
a_tenant_gets_a_quarter_of_the_workers_for_slow_requests(void **state)
{
	int i;

	for (i = 0; i < 6; i++)
		worker(NULL);
	worker(&one);
	usleep(80000);
	assert_true(let_in(one));		/* 8 workers with this one, of which one is busy */
	worker(&one);
	usleep(80000);
	assert_false(let_in(one));
	assert_true(let_in(two));
	end(workers[--n_workers]);
	load_open(dir);				/* as the worker does that is started instead */
	assert_true(let_in(one));
}

static void
quick_requests_are_not_counted(void **state)
{
	pid_t pid[8];
	int i, k, status, refused;

	for (i = 0; i < 8; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			load_open(dir);
			for (k = refused = 0; k < 300; k++) {
				refused += !load_enter(one);
				usleep(1000);
				load_leave();
			}
			_exit(refused > 0);
		}
	}
	for (i = refused = 0; i < 8; i++) {
		waitpid(pid[i], &status, 0);
		refused += status != 0;
	}
	assert_int_equal(refused, 0);
}

static void
a_single_worker_takes_what_comes(void **state)
{
	assert_true(load_enter(one));
	usleep(80000);
	load_leave();
	assert_true(let_in(one));
}

static void
slow_requests_one_after_the_other_make_no_debt(void **state)
{
	int i;

	worker(NULL);
	worker(NULL);
	for (i = 0; i < 30; i++) {
		load_enter(one);
		usleep(80000);
		load_leave();
	}
	worker(&one);
	assert_true(let_in(one));
}

static void
slow_requests_in_parallel_make_a_debt(void **state)
{
	pid_t pid[8];
	int i;

	for (i = 0; i < 8; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			load_open(dir);
			load_enter(one);
			usleep(700000);
			load_leave();
			_exit(0);
		}
	}
	for (i = 0; i < 8; i++)
		waitpid(pid[i], NULL, 0);
	load_open(dir);
	assert_true(let_in(one));		/* nothing of it runs */
	worker(&one);
	assert_false(let_in(one));		/* quick or not, one is what it may have now */
	assert_true(let_in(two));
}

static void
without_the_file_nobody_is_turned_away(void **state)
{
	load_close();
	load_open("/nonexistent");
	assert_true(let_in(one));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_tenant_gets_a_quarter_of_the_workers_for_slow_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(quick_requests_are_not_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_single_worker_takes_what_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_requests_one_after_the_other_make_no_debt, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_requests_in_parallel_make_a_debt, setup, teardown),
		cmocka_unit_test_setup_teardown(without_the_file_nobody_is_turned_away, setup, teardown),
	};
	int failed;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/load", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return failed;
}
