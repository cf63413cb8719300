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

enum { SLOW_US = 300000 };	/* longer than what counts as quick */

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

/* How many requests were refused of n processes that each send some, one after the other. */
static int
refused_of(int n, int times, int ms_from, int ms_step, const struct uuid *tenant)
{
	pid_t pid[16];
	int i, k, status, refused;

	for (i = 0; i < n; i++) {
		pid[i] = fork();
		if (pid[i] != 0)
			continue;
		load_open(dir);
		for (k = refused = 0; k < times; k++) {
			refused += !load_enter(*tenant);
			usleep((useconds_t)(ms_from + (i * 7 + k * 3) % 5 * ms_step) * 1000);
			load_leave();
		}
		_exit(refused);
	}
	for (i = refused = 0; i < n; i++) {
		waitpid(pid[i], &status, 0);
		refused += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
	}
	load_open(dir);				/* as the workers do that are started instead */
	return refused;
}

static void
a_tenant_gets_half_of_the_workers_for_slow_requests(void **state)
{
	int i;

	let_in(two);
	for (i = 0; i < 4; i++)
		worker(NULL);
	for (i = 0; i < 3; i++)
		worker(&one);
	usleep(SLOW_US);
	assert_true(let_in(one));		/* 8 workers with this one, 4 are free */
	worker(&one);
	assert_false(let_in(one));		/* 4 of 9 */
	assert_true(let_in(two));
	end(workers[--n_workers]);
	end(workers[--n_workers]);
	load_open(dir);
	worker(NULL);
	worker(NULL);
	assert_true(let_in(one));
}

static void
quick_requests_are_never_refused_however_busy_it_is(void **state)
{
	int i;

	for (i = 0; i < 4; i++)
		worker(&two);
	usleep(SLOW_US);
	assert_int_equal(refused_of(12, 12, 40, 40, &one), 0);
	assert_int_equal(refused_of(8, 300, 1, 0, &one), 0);
}

static void
who_is_alone_is_never_refused(void **state)
{
	int i;

	for (i = 0; i < 8; i++)
		worker(&one);
	usleep(SLOW_US);
	assert_true(let_in(one));
	assert_int_equal(refused_of(8, 3, 400, 0, &one), 0);
	assert_true(let_in(one));
	assert_true(let_in(two));
	assert_false(let_in(one));		/* no longer alone */
}

static void
a_single_worker_takes_what_comes(void **state)
{
	let_in(two);
	assert_true(load_enter(one));
	usleep(SLOW_US);
	load_leave();
	assert_true(let_in(one));
}

static void
of_two_workers_one_is_left_to_others(void **state)
{
	let_in(two);
	worker(&one);
	usleep(SLOW_US);
	assert_false(let_in(one));
	assert_true(let_in(two));
}

static void
slow_requests_one_after_the_other_make_no_debt(void **state)
{
	int i;

	let_in(two);
	for (i = 0; i < 6; i++)
		worker(NULL);
	for (i = 0; i < 10; i++) {
		load_enter(one);
		usleep(SLOW_US);
		load_leave();
	}
	worker(&one);
	usleep(SLOW_US);
	assert_true(let_in(one));
}

static void
slow_requests_in_parallel_make_a_debt(void **state)
{
	int i;

	refused_of(8, 1, 1000, 50, &one);	/* those that end at the same moment may count once */
	let_in(two);
	for (i = 0; i < 5; i++)
		worker(NULL);
	assert_true(let_in(one));		/* nothing of it runs */
	worker(&one);
	assert_true(let_in(one));		/* nor anything slow */
	usleep(SLOW_US);
	assert_false(let_in(one));		/* 5 of 7 are free, but one is what it may have now */
	assert_true(let_in(two));
}

static void
the_file_is_of_one_account_and_as_large_as_it_has_to_be(void **state)
{
	struct stat st;
	off_t size;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	size = st.st_size;
	load_close();
	assert_int_equal(truncate(path, 1), 0);
	assert_int_equal(chmod(path, 0660), 0);
	load_open(dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, size);
	assert_true(let_in(one));
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
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_tenant_gets_half_of_the_workers_for_slow_requests),
		TEST(quick_requests_are_never_refused_however_busy_it_is),
		TEST(who_is_alone_is_never_refused),
		TEST(a_single_worker_takes_what_comes),
		TEST(of_two_workers_one_is_left_to_others),
		TEST(slow_requests_one_after_the_other_make_no_debt),
		TEST(slow_requests_in_parallel_make_a_debt),
		TEST(the_file_is_of_one_account_and_as_large_as_it_has_to_be),
		TEST(without_the_file_nobody_is_turned_away),
	};
	int failed;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/workers", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return failed;
}
