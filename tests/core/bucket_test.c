/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buckets, and processes that take from them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Somebody else comes between a look at a bucket and the word that changes it. */
static void meet(void);
#undef atomic_compare_exchange_weak
#define atomic_compare_exchange_weak(at, found, wanted) \
	(meet(), atomic_compare_exchange_strong(at, found, wanted))
#include "core/bucket.c"
#include "core/tries.h"

enum { PROCESSES = 8, MANY = 4000, KILLED = 8 };

static char dir[] = "/tmp/kinothek-bucket-XXXXXX";
static const struct bucket ten = { "ten", 10, 10000 }, many = { "many", MANY, MANY * 1000 };
static const int64_t now = INT64_C(1700000000000);

static int meetings;		/* to come, */
static const char *met;		/* of takers of this bucket */

static void
meet(void)
{
	struct level level;

	if (meetings > 0 && meetings-- > 0)
		bucket_take(&ten, met, now, &level);
}

static int
take_all(const struct bucket *b, const char *owner, int64_t at)
{
	struct level level;
	int n = 0;

	while (bucket_take(b, owner, at, &level))
		n++;
	return n;
}

static void
it_holds_its_quota_and_fills_evenly(void **state)
{
	struct level level;

	(void)state;
	bucket_look(&ten, "even", now, &level);
	assert_int_equal(level.left, 10);
	assert_int_equal(level.full_in, 0);
	assert_true(bucket_take(&ten, "even", now, &level));
	assert_int_equal(level.left, 9);
	assert_int_equal(level.full_in, 1000);
	assert_int_equal(take_all(&ten, "even", now), 9);
	bucket_look(&ten, "even", now, &level);
	assert_int_equal(level.left, 0);
	assert_int_equal(level.one_in, 1000);
	assert_int_equal(take_all(&ten, "even", now + 999), 0);
	assert_int_equal(take_all(&ten, "even", now + 1000), 1);
	assert_int_equal(take_all(&ten, "even", now + 4500), 3);
	assert_int_equal(take_all(&ten, "even", now + 600000), 10);
}

static void
others_and_other_kinds_have_their_own(void **state)
{
	static const struct bucket other = { "other", 10, 10000 };

	(void)state;
	assert_int_equal(take_all(&ten, "a", now), 10);
	assert_int_equal(take_all(&ten, "b", now), 10);
	assert_int_equal(take_all(&other, "a", now), 10);
}

/* The one that is met meets the next: all but the last find that what they saw is no longer so. */
static void
takers_that_meet_take_a_token_each(void **state)
{
	struct level level;

	(void)state;
	met = "met";
	meetings = 3;
	assert_true(bucket_take(&ten, met, now, &level));
	assert_int_equal(meetings, 0);
	assert_int_equal(level.left, 6);
	assert_int_equal(take_all(&ten, met, now), 6);
}

static void
of_takers_that_meet_at_the_last_token_one_gets_it(void **state)
{
	struct level level;
	int i;

	(void)state;
	met = "last";
	for (i = 0; i < 9; i++)
		assert_true(bucket_take(&ten, met, now, &level));
	meetings = 1;
	assert_false(bucket_take(&ten, met, now, &level));
	assert_int_equal(meetings, 0);
}

static void
a_clock_that_is_put_back_locks_nobody_out(void **state)
{
	(void)state;
	assert_int_equal(take_all(&ten, "clock", now), 10);
	assert_int_equal(take_all(&ten, "clock", now - 86400000), 0);
	assert_int_equal(take_all(&ten, "clock", now - 86400000 + 10000), 10);
}

static pid_t
begin(const char *owner, int *n)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		int got;

		bucket_open(dir);
		got = take_all(&many, owner, now);
		_exit(write(ends[1], &got, sizeof(got)) == sizeof(got) ? 0 : 1);
	}
	close(ends[1]);
	*n = ends[0];
	return pid;
}

static void
processes_together_take_what_there_is_and_not_one_more(void **state)
{
	int pipes[PROCESSES], i, got, sum = 0;

	(void)state;
	for (i = 0; i < PROCESSES; i++)
		begin("shared", &pipes[i]);
	for (i = 0; i < PROCESSES; i++) {
		assert_int_equal(read(pipes[i], &got, sizeof(got)), sizeof(got));
		close(pipes[i]);
		wait(NULL);
		sum += got;
	}
	assert_int_equal(sum, MANY);
}

/* Takes what there is and counts it where others see it, after it has said that it begins. */
static pid_t
begin_counting(const char *owner, _Atomic int *n)
{
	int ends[2];
	char begun = 0;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct level level;

		bucket_open(dir);
		if (write(ends[1], &begun, 1) != 1)
			_exit(1);
		while (bucket_take(&many, owner, now, &level))
			++*n;
		_exit(0);
	}
	assert_int_equal(read(ends[0], &begun, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

/* Wherever it is: the others go on, and no token is there twice.  One may be in its hands. */
static void
one_that_is_killed_holds_up_nobody(void **state)
{
	_Atomic int *taken = mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char owner[32];
	pid_t killed;
	int i, all;

	(void)state;
	assert_ptr_not_equal(taken, MAP_FAILED);
	for (i = 0; i < KILLED; i++) {
		snprintf(owner, sizeof(owner), "killed-%d", i);
		*taken = 0;
		killed = begin_counting(owner, taken);
		usleep((useconds_t)(i * 100));
		kill(killed, SIGKILL);
		waitpid(killed, NULL, 0);
		all = *taken + take_all(&many, owner, now);
		assert_true(all == MANY || all == MANY - 1);
	}
	munmap(taken, sizeof(*taken));
}

static void
tries_in_vain_count_in_all_processes(void **state)
{
	int status;

	(void)state;
	if (fork() == 0) {
		int i;

		bucket_open(dir);
		for (i = 0; i <= TRIES_FREE; i++)
			tries_failed("2001:db8::1", "name", now);
		_exit(0);
	}
	wait(&status);
	assert_int_equal(status, 0);
	assert_true(tries_wait("2001:db8::1", "name", now) > 0);
	assert_true(tries_wait("2001:db8::ffff:2", "name", now) > 0);
	assert_int_equal(tries_wait("2001:db8:0:1::1", "name", now), 0);
}

static bool
due_at(const char *owner, int64_t at)
{
	struct level level;

	bucket_look(&ten, owner, at, &level);
	return level.due;
}

static void
one_that_is_a_quarter_empty_is_told_by_one_every_five_seconds(void **state)
{
	struct level level;

	(void)state;
	bucket_take(&ten, "told", now, &level);
	bucket_take(&ten, "told", now, &level);
	assert_false(level.due);
	bucket_take(&ten, "told", now, &level);
	assert_true(level.due);
	assert_int_equal(bucket_untold(&ten, "told", now), 3000000);
	assert_int_equal(bucket_untold(&ten, "told", now), 0);	/* another one does it */
	assert_false(due_at("told", now + BUCKET_TELL_MS - 2200));
	bucket_take(&ten, "told", now, &level);
	bucket_told(&ten, "told", now, 3000000, 3000000);
	assert_int_equal(take_all(&ten, "told", now), 6);	/* what was heard is no more than what was owed */
	assert_true(due_at("told", now + BUCKET_TELL_MS));
	assert_int_equal(bucket_untold(&ten, "told", now + BUCKET_TELL_MS), 7000000);
}

static void
what_is_owed_elsewhere_is_owed_here_and_never_less(void **state)
{
	(void)state;
	bucket_told(&ten, "elsewhere", now, 0, 8000000);
	assert_int_equal(take_all(&ten, "elsewhere", now), 2);
	bucket_told(&ten, "elsewhere", now, 2000000, 2000000);
	assert_int_equal(take_all(&ten, "elsewhere", now), 0);
	assert_int_equal(take_all(&ten, "elsewhere", now + 5000), 5);
}

static void
who_takes_the_place_of_another_has_told_nothing_of_him(void **state)
{
	char owner[16];
	int i, told = 0;

	(void)state;
	for (i = 0; i < SETS * WAYS * 2; i++) {
		snprintf(owner, sizeof(owner), "%d", i);
		take_all(&ten, owner, now);
		told += bucket_untold(&ten, owner, now) == 10000000;
	}
	assert_int_equal(told, SETS * WAYS * 2);
}

static int
open_all(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	bucket_open(dir);
	return 0;
}

static int
close_all(void **state)
{
	char path[64];

	(void)state;
	bucket_close();
	snprintf(path, sizeof(path), "%s/rates", dir);
	return unlink(path) || rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_holds_its_quota_and_fills_evenly),
		cmocka_unit_test(others_and_other_kinds_have_their_own),
		cmocka_unit_test(takers_that_meet_take_a_token_each),
		cmocka_unit_test(of_takers_that_meet_at_the_last_token_one_gets_it),
		cmocka_unit_test(a_clock_that_is_put_back_locks_nobody_out),
		cmocka_unit_test(processes_together_take_what_there_is_and_not_one_more),
		cmocka_unit_test(one_that_is_killed_holds_up_nobody),
		cmocka_unit_test(tries_in_vain_count_in_all_processes),
		cmocka_unit_test(one_that_is_a_quarter_empty_is_told_by_one_every_five_seconds),
		cmocka_unit_test(what_is_owed_elsewhere_is_owed_here_and_never_less),
		cmocka_unit_test(who_takes_the_place_of_another_has_told_nothing_of_him),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
