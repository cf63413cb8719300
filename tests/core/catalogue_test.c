/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Catalogues as msgfmt makes them, and files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/catalogue.h"

/* Four entries: the head "", "cat", "dog" without a translation, and "mouse" with its plural. */
static const struct {
	uint32_t head[7], originals[8], translations[8];
	char texts[80];
} file = {
	{ 0x950412de, 0, 4, 28, 60, 0, 0 },
	{ 0, 92, 3, 93, 3, 97, 10, 101 },
	{ 6, 112, 5, 119, 0, 125, 11, 126 },
	"\0" "cat\0" "dog\0" "mouse\0mice\0" "Head: \0" "Katze\0" "\0" "Maus\0" "M\xc3\xa4use\0",
};

/* Bytes of the file in a place of its own. */
static const struct catalogue *
read_bytes(const void *bytes, size_t n)
{
	char path[] = "/tmp/kinothek-catalogue-XXXXXX";
	const struct catalogue *c;
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
	errno = 0;
	c = catalogue_read(path);
	unlink(path);
	return c;
}

static void
texts_are_found_and_others_stay_as_they_are(void **state)
{
	const struct catalogue *c = read_bytes(&file, sizeof(file));

	(void)state;
	assert_non_null(c);
	assert_string_equal(catalogue_text(c, "cat"), "Katze");
	assert_string_equal(catalogue_text(c, "dog"), "dog");
	assert_string_equal(catalogue_text(c, "bird"), "bird");
	assert_string_equal(catalogue_text(c, ""), "");
	assert_string_equal(catalogue_text(NULL, "cat"), "cat");
}

static void
one_is_one_and_all_else_are_many(void **state)
{
	const struct catalogue *c = read_bytes(&file, sizeof(file));

	(void)state;
	assert_string_equal(catalogue_plural(c, "mouse", "mice", 1), "Maus");
	assert_string_equal(catalogue_plural(c, "mouse", "mice", 0), "M\xc3\xa4use");
	assert_string_equal(catalogue_plural(c, "mouse", "mice", 2), "M\xc3\xa4use");
	assert_string_equal(catalogue_plural(c, "cat", "cats", 2), "cats");
	assert_string_equal(catalogue_plural(NULL, "mouse", "mice", 1), "mouse");
	assert_string_equal(catalogue_plural(NULL, "mouse", "mice", 0), "mice");
}

/* Cut off anywhere, or with any byte of its tables changed, it is refused, or says what can be said. */
static void
a_file_that_is_none_is_refused_and_harms_nobody(void **state)
{
	unsigned char bytes[sizeof(file)];
	const struct catalogue *c;
	size_t i;

	(void)state;
	assert_null(catalogue_read("/nowhere"));
	assert_int_equal(errno, ENOENT);
	for (i = 0; i < sizeof(file) - sizeof(file.texts) + 40; i++) {
		assert_null(read_bytes(&file, i));
		assert_int_equal(errno, EBADMSG);
	}
	for (i = 0; i < sizeof(file) - sizeof(file.texts); i++) {
		memcpy(bytes, &file, sizeof(file));
		bytes[i] ^= 0xff;
		if ((c = read_bytes(bytes, sizeof(bytes))) == NULL)
			continue;
		assert_non_null(catalogue_text(c, "cat"));
		assert_non_null(catalogue_plural(c, "mouse", "mice", 2));
	}
	memcpy(bytes, &file, sizeof(file));
	bytes[0] ^= 1;
	assert_null(read_bytes(bytes, sizeof(bytes)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_found_and_others_stay_as_they_are),
		cmocka_unit_test(one_is_one_and_all_else_are_many),
		cmocka_unit_test(a_file_that_is_none_is_refused_and_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
