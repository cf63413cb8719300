/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who counts as somebody that watches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fcgi/live/viewers.h"

static void
a_player_counts_once_however_often_it_asks(void **state)
{
	struct viewers v = { 0 };
	int64_t now;

	(void)state;
	assert_int_equal(viewers_count(&v, 1000), 0);
	for (now = 1000; now < 60000; now += 500) {
		viewers_see(&v, 7, now);
		viewers_see(&v, 7, now);
		viewers_see(&v, UINT64_MAX, now);
	}
	assert_int_equal(viewers_count(&v, now), 2);
	viewers_free(&v);
}

static void
who_was_not_seen_for_ten_seconds_has_left(void **state)
{
	struct viewers v = { 0 };

	(void)state;
	viewers_see(&v, 1, 1000);
	viewers_see(&v, 2, 5000);
	assert_int_equal(viewers_count(&v, 10999), 2);
	assert_int_equal(viewers_count(&v, 11000), 1);
	viewers_see(&v, 1, 11000);
	assert_int_equal(viewers_count(&v, 11000), 2);
	assert_int_equal(viewers_count(&v, 30000), 0);
	viewers_free(&v);
}

static void
thousands_are_told_apart(void **state)
{
	struct viewers v = { 0 };
	uint64_t i;

	(void)state;
	for (i = 1; i <= 10000; i++)
		viewers_see(&v, i << 40, (int64_t)i);
	assert_int_equal(viewers_count(&v, 9999), 10000);
	assert_int_equal(viewers_count(&v, 15000), 5000);
	viewers_free(&v);
}

static void
made_up_numbers_take_no_more_memory_than_there_is_for_viewers(void **state)
{
	struct viewers v = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < 3 * VIEWERS_MAX; i++)
		viewers_see(&v, viewers_number(), 1);
	assert_int_equal(viewers_count(&v, 1), VIEWERS_MAX);
	assert_true(v.room <= 4 * VIEWERS_MAX);
	viewers_free(&v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_player_counts_once_however_often_it_asks),
		cmocka_unit_test(who_was_not_seen_for_ten_seconds_has_left),
		cmocka_unit_test(thousands_are_told_apart),
		cmocka_unit_test(made_up_numbers_take_no_more_memory_than_there_is_for_viewers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
