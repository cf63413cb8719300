/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core/password.c: what fits, what does not, and that nobody costs as much as somebody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/password.h"

static int
setup(void **state)
{
	*state = arena_new(64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static const char *
letters(struct arena *mem, size_t n)
{
	char *text = arena_alloc(mem, n + 1);

	memset(text, 'x', n);
	return text;
}

static void
a_password_fits_itself_alone(void **state)
{
	const char *hash = password_hash(*state, "correct horse");

	assert_memory_equal(hash, "$y$", 3);
	assert_true(password_matches(*state, hash, "correct horse"));
	assert_false(password_matches(*state, hash, "correct horse "));
	assert_false(password_matches(*state, hash, "Correct horse"));
	assert_false(password_matches(*state, hash, ""));
	assert_false(password_matches(*state, "", "correct horse"));
	assert_false(password_matches(*state, "*0", "*0"));
	assert_string_not_equal(hash, password_hash(*state, "correct horse"));
}

static void
all_of_a_long_one_counts(void **state)
{
	char *other = arena_copy(*state, letters(*state, PASSWORD_MAX));
	const char *hash = password_hash(*state, other);

	assert_true(password_matches(*state, hash, other));
	other[PASSWORD_MAX - 1] = 'y';
	assert_false(password_matches(*state, hash, other));
}

/* é as one and as two characters; a ligature; full-width letters. */
static void
how_a_keyboard_composes_its_letters_does_not_matter(void **state)
{
	const char *hash = password_hash(*state, "caf\xc3\xa9 of\xef\xac\x81" "ce");

	assert_true(password_matches(*state, hash, "cafe\xcc\x81 office"));
	assert_true(password_matches(*state, hash, "\xef\xbd\x83" "af\xc3\xa9 office"));
	assert_false(password_matches(*state, hash, "cafe office"));
}

static void
what_is_no_password_is_refused_without_work(void **state)
{
	clock_t began = clock();

	assert_int_equal(password_check(*state, ""), PASSWORD_SHORT);
	assert_int_equal(password_check(*state, "1234567"), PASSWORD_SHORT);
	assert_int_equal(password_check(*state, "\xf0\x9f\x90\x88\xf0\x9f\x90\x88"), PASSWORD_SHORT);
	assert_int_equal(password_check(*state, "12345678"), PASSWORD_FINE);
	assert_int_equal(password_check(*state, "\xff\xfe..........."), PASSWORD_NOT_TEXT);
	assert_int_equal(password_check(*state, letters(*state, PASSWORD_MAX)), PASSWORD_FINE);
	assert_int_equal(password_check(*state, letters(*state, PASSWORD_MAX + 1)), PASSWORD_LONG);
	assert_int_equal(password_check(*state, letters(*state, 1 << 20)), PASSWORD_LONG);
	assert_false(password_matches(*state, password_hash(*state, "12345678"), letters(*state, 1 << 20)));
	assert_false(password_matches(*state, NULL, "\xff"));
	assert_true((clock() - began) * 1000 / CLOCKS_PER_SEC < 1000);
}

/* Processor time of the whole process: what else runs on the machine does not count. */
static clock_t
cost(struct arena *mem, const char *hash)
{
	clock_t began = clock();
	int i;

	for (i = 0; i < 5; i++)
		assert_false(password_matches(mem, hash, "not this one"));
	return clock() - began;
}

static void
nobody_costs_as_much_as_somebody(void **state)
{
	clock_t somebody = cost(*state, password_hash(*state, "12345678")), nobody = cost(*state, NULL);

	assert_true(somebody > CLOCKS_PER_SEC / 50);
	assert_true(nobody > somebody / 2 && nobody < somebody * 2);
}

#define PASSWORD_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PASSWORD_TEST(a_password_fits_itself_alone),
		PASSWORD_TEST(all_of_a_long_one_counts),
		PASSWORD_TEST(how_a_keyboard_composes_its_letters_does_not_matter),
		PASSWORD_TEST(what_is_no_password_is_refused_without_work),
		PASSWORD_TEST(nobody_costs_as_much_as_somebody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
