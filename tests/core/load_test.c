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

enum { SLOW_US = 1300000 };	/* the greatest debt, which takes seconds to pay */

/* A process that holds a slot until it is killed: idle, or busy for a tenant, or with a request of it that waits. */
enum state { IDLE, BUSY, WAITS, BUSY_AND_WAITS };

static pid_t
worker_that(enum state state, const struct uuid *tenant, int64_t came)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		load_open(dir);
		if (state == BUSY || state == BUSY_AND_WAITS)
			load_enter(*tenant, 0);
		if (state == WAITS || state == BUSY_AND_WAITS)
			load_wait(*tenant, came);
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
start(int n, enum state state, const struct uuid *tenant)
{
	while (n-- > 0)
		worker_that(state, tenant, 0);
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
	bool in = load_enter(tenant, clock_ms());

	load_leave(LOAD_QUICK_READ);
	return in;
}

/* The same, sooner or later. */
static bool
let_in_soon(struct uuid tenant)
{
	int64_t end = clock_ms() + 120000;

	while (!let_in(tenant)) {
		if (clock_ms() > end)
			return false;
		usleep(100000);
	}
	return true;
}

/* How many requests would have waited of n processes that each send some, one after the other; up to `quick` ms each
 * makes no debt. */
static int
refused_of(int n, int times, int ms_from, int ms_step, int quick, const struct uuid *tenant)
{
	pid_t pid[16];
	int i, k, status, refused;

	for (i = 0; i < n; i++) {
		pid[i] = fork();
		if (pid[i] != 0)
			continue;
		load_open(dir);
		for (k = refused = 0; k < times; k++) {
			refused += !load_enter(*tenant, clock_ms());
			usleep((useconds_t)(ms_from + (i * 7 + k * 3) % 5 * ms_step) * 1000);
			load_leave(quick);
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

/* One request that takes so long that its tenant is in debt. */
static void
fall_in_debt(struct uuid tenant)
{
	load_enter(tenant, clock_ms());
	usleep(SLOW_US);
	load_leave(LOAD_QUICK_READ);
}

static void
a_tenant_gets_three_quarters_of_the_workers(void **state)
{
	let_in(two);
	start(2, IDLE, NULL);
	start(5, BUSY, &one);
	assert_true(let_in(one));		/* 8 workers with this one */
	start(1, BUSY, &one);
	assert_true(let_in(one));		/* 6 of 9 */
	end(workers[--n_workers]);
	end(workers[0]);
	load_open(dir);
	start(1, BUSY, &one);
	assert_false(let_in(one));		/* 6 of 8 */
	assert_true(let_in(two));
}

static void
a_tenant_in_debt_gets_an_eighth_of_them(void **state)
{
	let_in(two);
	start(6, IDLE, NULL);
	fall_in_debt(one);
	assert_true(let_in(one));
	start(1, BUSY, &one);
	assert_false(let_in(one));		/* 1 of 8 */
	assert_true(let_in(two));
	start(8, IDLE, NULL);
	assert_true(let_in(one));		/* 1 of 16 */
	usleep(SLOW_US);
	assert_true(let_in(one));
}

static void
a_debt_is_paid_by_waiting(void **state)
{
	let_in(two);
	start(6, IDLE, NULL);
	fall_in_debt(one);
	start(1, BUSY, &one);
	assert_false(let_in(one));
	assert_true(let_in_soon(one));
}

static void
a_debt_has_an_end_however_much_was_asked(void **state)
{
	let_in(two);
	start(7, IDLE, NULL);
	assert_int_equal(refused_of(6, 1, 3000, 0, LOAD_QUICK_READ, &one), 0);
	start(1, BUSY, &one);
	assert_false(let_in(one));
	assert_true(let_in_soon(one));
}

static void
quick_requests_make_no_debt(void **state)
{
	start(4, BUSY, &two);
	assert_int_equal(refused_of(11, 300, 1, 2, 5000, &one), 0);
	start(1, BUSY, &one);
	assert_true(let_in(one));
}

static void
who_is_alone_never_waits(void **state)
{
	start(8, BUSY, &one);
	assert_true(let_in(one));
	assert_int_equal(refused_of(8, 3, 400, 0, LOAD_QUICK_READ, &one), 0);
	assert_true(let_in(one));
	assert_true(let_in(two));
	assert_false(let_in(one));		/* no longer alone */
}

static void
a_single_worker_takes_what_comes(void **state)
{
	let_in(two);
	fall_in_debt(one);
	assert_true(let_in(one));
}

static void
of_two_workers_one_is_left_to_others(void **state)
{
	let_in(two);
	start(1, BUSY, &one);
	assert_false(let_in(one));
	assert_true(let_in(two));
}

static void
who_came_first_goes_first(void **state)
{
	int64_t now = clock_ms();

	let_in(two);
	start(6, IDLE, NULL);
	worker_that(WAITS, &one, now - 100);
	assert_false(load_is_turn(one, now));
	assert_true(load_is_turn(one, now - 200));
	assert_true(load_is_turn(one, now - 100));
	assert_true(load_is_turn(two, now));
	load_wait(one, now - 50);
	assert_false(load_enter(one, now - 50));
	end(workers[--n_workers]);
	worker_that(BUSY_AND_WAITS, &one, now - 100);
	assert_true(load_enter(one, now - 50));	/* that one cannot begin it now */
	load_leave(LOAD_QUICK_READ);
	assert_false(let_in(one));		/* our own was here before */
	load_wait(one, 0);
	assert_true(let_in(one));
}

static void
what_waits_for_ever_was_left_by_a_dead_process(void **state)
{
	let_in(two);
	worker_that(WAITS, &one, clock_ms() - 60000);
	assert_true(let_in(one));
}

static void
it_is_crowded_when_fewer_than_half_are_free(void **state)
{
	start(2, BUSY, &two);
	start(1, IDLE, NULL);
	assert_false(load_is_crowded());
	worker_that(WAITS, &one, clock_ms());
	assert_true(load_is_crowded());
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
without_the_file_nobody_waits(void **state)
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
		TEST(a_tenant_gets_three_quarters_of_the_workers),
		TEST(a_tenant_in_debt_gets_an_eighth_of_them),
		TEST(a_debt_is_paid_by_waiting),
		TEST(a_debt_has_an_end_however_much_was_asked),
		TEST(quick_requests_make_no_debt),
		TEST(who_is_alone_never_waits),
		TEST(a_single_worker_takes_what_comes),
		TEST(of_two_workers_one_is_left_to_others),
		TEST(who_came_first_goes_first),
		TEST(what_waits_for_ever_was_left_by_a_dead_process),
		TEST(it_is_crowded_when_fewer_than_half_are_free),
		TEST(the_file_is_of_one_account_and_as_large_as_it_has_to_be),
		TEST(without_the_file_nobody_waits),
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
