/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core/totp.c against RFC 6238 appendix B and RFC 4648 section 10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/totp.h"

static const unsigned char secret[] = "12345678901234567890";

static int
setup(void **state)
{
	*state = arena_new(1 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static void
codes_are_those_of_the_standard(void **state)
{
	static const struct { int64_t s; const char *code; } table[] = { { 59, "94287082" }, { 1111111109, "07081804" },
		{ 1111111111, "14050471" }, { 1234567890, "89005924" }, { 2000000000, "69279037" },
		{ INT64_C(20000000000), "65353130" } };
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int64_t step = table[i].s * 1000 / TOTP_STEP_MS;

		assert_string_equal(totp_code(*state, secret, 20, step, 8), table[i].code);
		assert_int_equal(totp_match(*state, secret, 20, table[i].code + 2, table[i].s * 1000, 0), step);
	}
}

static void
a_code_is_good_for_its_step_and_its_neighbours_and_once(void **state)
{
	const int64_t now = INT64_C(1790000000000), step = now / TOTP_STEP_MS;
	int64_t away;

	for (away = -3; away <= 3; away++)
		assert_int_equal(totp_match(*state, secret, 20, totp_code(*state, secret, 20, step + away, 6), now, 0),
		    away >= -1 && away <= 1 ? step + away : -1);
	assert_int_equal(totp_match(*state, secret, 20, totp_code(*state, secret, 20, step, 6), now, step), -1);
	assert_int_equal(totp_match(*state, secret, 20, totp_code(*state, secret, 20, step - 1, 6), now, step), -1);
	assert_int_equal(totp_match(*state, secret, 20, totp_code(*state, secret, 20, step + 1, 6), now, step),
	    step + 1);
	assert_int_equal(totp_match(*state, secret, 20, "", now, 0), -1);
	assert_int_equal(totp_match(*state, secret, 20, "1234567", now, 0), -1);
	assert_int_equal(totp_match(*state, secret, 20, "abcdef", now, 0), -1);
}

static void
the_secret_is_written_in_base32(void **state)
{
	assert_string_equal(totp_text(*state, secret, 20), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ");
	assert_string_equal(totp_text(*state, (const unsigned char *)"foobar", 6), "MZXW 6YTB OI");
	assert_string_equal(totp_text(*state, (const unsigned char *)"f", 1), "MY");
	assert_string_equal(totp_address(*state, secret, 5, "My: Tube", "a&b@c"),
	    "otpauth://totp/My%3A%20Tube:a%26b%40c?secret=GEZDGNBV&issuer=My%3A%20Tube");
}

#define TOTP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TOTP_TEST(codes_are_those_of_the_standard),
		TOTP_TEST(a_code_is_good_for_its_step_and_its_neighbours_and_once),
		TOTP_TEST(the_secret_is_written_in_base32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
