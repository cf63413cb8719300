/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tries in vain: who waits for them, and who does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "core/tries.h"

static int64_t now = 1000000;

/* As often as it takes until the pair has to wait. */
static int
lock_out(const char *address, const char *name)
{
	int n;

	for (n = 0; tries_wait(address, name, now) == 0; n++)
		tries_failed(address, name, now);
	return n;
}

static void
thirty_are_free_then_one_every_two_seconds(void **state)
{
	(void)state;
	assert_int_equal(lock_out("192.0.2.1", "one"), TRIES_FREE + 1);
	assert_int_equal(tries_wait("192.0.2.1", "one", now), 3);
	assert_int_equal(tries_wait("192.0.2.1", "one", now + 1500), 1);
	assert_int_equal(tries_wait("192.0.2.1", "one", now + 2000), 0);
	tries_failed("192.0.2.1", "one", now + 2000);
	assert_true(tries_wait("192.0.2.1", "one", now + 2000) > 0);
	now += 3600000;
	assert_int_equal(lock_out("192.0.2.1", "one"), TRIES_FREE + 1);
}

static void
what_was_not_in_vain_does_not_count(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3 * TRIES_FREE; i++) {
		assert_int_equal(tries_wait("192.0.2.9", "nine", now), 0);
		tries_failed("192.0.2.9", "nine", now);
		tries_succeeded("192.0.2.9", "nine", now);
	}
	assert_int_equal(lock_out("192.0.2.9", "nine"), TRIES_FREE + 1);
	/* One that succeeds where all are owed lets one more in, and nothing is given beyond what a bucket holds. */
	tries_succeeded("192.0.2.9", "nine", now);
	assert_int_equal(lock_out("192.0.2.9", "nine"), 1);
}

static void
another_address_or_name_does_not_wait(void **state)
{
	(void)state;
	lock_out("192.0.2.2", "two");
	assert_int_equal(tries_wait("192.0.2.3", "two", now), 0);
	assert_int_equal(tries_wait("192.0.2.2", "three", now), 0);
	assert_int_equal(tries_wait("", "two", now), 0);
}

/* Written one after the other they are the same. */
static void
where_the_address_ends_the_name_has_not_begun(void **state)
{
	(void)state;
	lock_out("192.0.2.4", "5four");
	assert_int_equal(tries_wait("192.0.2.45", "four", now), 0);
	assert_int_equal(tries_wait("192.0.2.", "45four", now), 0);
}

static void
a_flood_of_other_pairs_neither_locks_anyone_out_nor_forgives(void **state)
{
	char name[32];
	int i, waiting = 0, kept = 0;

	(void)state;
	for (i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "kept-%d", i);
		lock_out("192.0.2.6", name);
	}
	for (i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "flood-%d", i);
		tries_failed("192.0.2.7", name, now);
		waiting += tries_wait("192.0.2.7", name, now) > 0;
	}
	for (i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "kept-%d", i);
		kept += tries_wait("192.0.2.6", name, now) > 0;
	}
	assert_int_equal(waiting, 0);
	assert_int_equal(kept, 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thirty_are_free_then_one_every_two_seconds),
		cmocka_unit_test(what_was_not_in_vain_does_not_count),
		cmocka_unit_test(another_address_or_name_does_not_wait),
		cmocka_unit_test(where_the_address_ends_the_name_has_not_begun),
		cmocka_unit_test(a_flood_of_other_pairs_neither_locks_anyone_out_nor_forgives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
