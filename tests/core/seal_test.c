/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core/seal.c: what is sealed opens with its key and purpose alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/seal.h"

static const struct conf conf = { .play_key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" };
static const struct conf other = { .play_key = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" };

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
what_was_sealed_comes_back(void **state)
{
	const char *sealed = seal(&conf, *state, "a", "se\0ret", 6);
	unsigned char *bytes;

	assert_int_equal(unseal(&conf, *state, "a", sealed, &bytes), 6);
	assert_memory_equal(bytes, "se\0ret", 6);
	assert_string_not_equal(sealed, seal(&conf, *state, "a", "se\0ret", 6));
	assert_int_equal(unseal(&conf, *state, "a", seal(&conf, *state, "a", "", 0), &bytes), 0);
}

static void
nothing_else_opens_it(void **state)
{
	const char *sealed = seal(&conf, *state, "a", "secret", 6);
	unsigned char *bytes;
	size_t i;

	assert_int_equal(unseal(&conf, *state, "b", sealed, &bytes), -1);
	assert_int_equal(unseal(&other, *state, "a", sealed, &bytes), -1);
	assert_int_equal(unseal(&conf, *state, "a", "", &bytes), -1);
	assert_int_equal(unseal(&conf, *state, "a", "AAAA", &bytes), -1);
	for (i = 0; i < strlen(sealed); i++) {
		char *spoilt = arena_copy(*state, sealed);

		spoilt[i] = spoilt[i] == 'A' ? 'B' : 'A';
		assert_int_equal(unseal(&conf, *state, "a", spoilt, &bytes), -1);
	}
}

static void
a_proof_is_of_its_text_purpose_and_key(void **state)
{
	const char *proof = seal_proof(&conf, *state, "a", "text");

	assert_true(seal_same(proof, seal_proof(&conf, *state, "a", "text")));
	assert_false(seal_same(proof, seal_proof(&conf, *state, "a", "texu")));
	assert_false(seal_same(proof, seal_proof(&conf, *state, "b", "text")));
	assert_false(seal_same(proof, seal_proof(&other, *state, "a", "text")));
	assert_false(seal_same(proof, ""));
}

#define SEAL_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SEAL_TEST(what_was_sealed_comes_back),
		SEAL_TEST(nothing_else_opens_it),
		SEAL_TEST(a_proof_is_of_its_text_purpose_and_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
