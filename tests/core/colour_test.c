/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Colours: what is one, and what can be read. */
#include <string.h>

#include "core/colour.h"
#include "core/text.h"
#include "tests/world.h"

static struct colour
of(const char *text)
{
	struct colour c = { 0 };

	assert_true(colour_parse(text, &c));
	return c;
}

static void
only_six_digits_behind_a_hash_are_a_colour(void **state)
{
	static const char *const none[] = { "", "#", "#fff", "#12345", "#1234567", "#12345g", "1234567", "#12 456",
	    "#-12345", "#12345/", "#12345:", "#12345`", "#12345@", "red", "#12345;", "url(x)", "#\303\2441234" };
	struct arena *mem = arena_new(1 << 20);
	struct colour c = { 1, 2, 3 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(colour_parse(none[i], &c));
	assert_string_equal(colour_text(mem, c), "#010203");
	assert_string_equal(colour_text(mem, of("#AbCdEf")), "#abcdef");
	arena_free(mem);
}

/* The values of WCAG and of its examples. */
static void
contrast_is_that_of_wcag(void **state)
{
	(void)state;
	assert_int_equal((int)(colour_contrast(COLOUR_BLACK, COLOUR_WHITE) * 100), 2100);
	assert_int_equal((int)(colour_contrast(of("#777777"), COLOUR_WHITE) * 100), 447);
	assert_int_equal((int)(colour_contrast(of("#767676"), COLOUR_WHITE) * 100), 454);
	assert_int_equal((int)(colour_contrast(of("#0000ff"), COLOUR_WHITE) * 100), 859);
}

static void
every_colour_can_be_written_on_and_made_readable(void **state)
{
	const struct colour light[] = { of("#f6f5f3"), of("#ffffff") }, dark[] = { of("#121113"), of("#1c1b1e") };
	int red, green, blue;
	size_t i;

	(void)state;
	for (red = 0; red < 256; red += 15)
		for (green = 0; green < 256; green += 15)
			for (blue = 0; blue < 256; blue += 15) {
				struct colour c = { (uint8_t)red, (uint8_t)green, (uint8_t)blue };

				assert_true(colour_contrast(c, colour_on(c)) >= 4.58);
				for (i = 0; i < 2; i++) {
					assert_true(colour_contrast(colour_readable(c, light, 2, 4.5), light[i]) >=
					    4.5);
					assert_true(colour_contrast(colour_readable(c, dark, 2, 4.5), dark[i]) >= 4.5);
				}
			}
}

static void
what_can_be_read_already_stays_as_it_is(void **state)
{
	const struct colour white = COLOUR_WHITE, blue = of("#0b57d0");
	const struct colour same = colour_readable(blue, &white, 1, 4.5);

	(void)state;
	assert_memory_equal(&same, &blue, sizeof(blue));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_six_digits_behind_a_hash_are_a_colour),
		cmocka_unit_test(contrast_is_that_of_wcag),
		cmocka_unit_test(every_colour_can_be_written_on_and_made_readable),
		cmocka_unit_test(what_can_be_read_already_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
