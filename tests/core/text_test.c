/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ids, times, positions, escapes, arenas: strict in, exact out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "core/arena.h"
#include "core/text.h"

static void
a_word_is_in_a_list_as_a_whole(void **state)
{
	assert_true(word_in("red green,blue", "red", 3));
	assert_true(word_in("red green, blue", "green,", 5));
	assert_true(word_in("red green, blue", "blue", 4));
	assert_false(word_in("red green", "re", 2));
	assert_false(word_in("red green", "red green", 9));
	assert_false(word_in("red green", "", 0));
	assert_false(word_in(NULL, "red", 3));
}

static void
ids_made_later_sort_later(void **state)
{
	struct uuid last = uuid_new(), next;
	char text[UUID_TEXT];
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		next = uuid_new();
		assert_true(memcmp(&last, &next, sizeof(next)) < 0);
		last = next;
	}
	uuid_format(next, text);
	assert_int_equal(text[14], '7');
	assert_non_null(strchr("89ab", text[19]));
	assert_true(uuid_parse(text, &last));
	assert_true(uuid_equal(last, next));
}

static void
only_the_plain_form_of_an_id_is_taken(void **state)
{
	static const char *const bad[] = { "", "019aa000-0000-7000-8000-00000000000",
	    "019aa000-0000-7000-8000-0000000000000", "019AA000-0000-7000-8000-000000000000",
	    "019aa000x0000-7000-8000-000000000000", "019aa00000007000800000000000000000000",
	    "{19aa000-0000-7000-8000-000000000000}", "g19aa000-0000-7000-8000-000000000000" };
	struct uuid u;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(uuid_parse(bad[i], &u));
}

static void
times_are_read_with_offset_and_written_in_utc(void **state)
{
	static const struct { const char *in, *out; } cases[] = {
		{ "2026-11-20T10:26:53.123Z", "2026-11-20T10:26:53.123Z" }, { "2026-11-20t12:26:53+02:00", "2026-11-20T10:26:53.000Z" },
		{ "1970-01-01T00:00:00.001Z", "1970-01-01T00:00:00.001Z" }, { "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z" },
		{ "2024-02-29T23:59:60Z", "2024-03-01T00:00:00.000Z" },
		{ "2026-11-20T10:26:53.1239Z", "2026-11-20T10:26:53.123Z" }, { "2026-11-20T10:26:53-00:30", "2026-11-20T10:56:53.000Z" },
	};
	static const char *const bad[] = { "", "2026-11-20", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
	    "2026-11-20T24:00:00Z", "2026-11-20T10:26:53", "2026-11-20T10:26:53.Z", "2026-11-20T10:26:53Zx",
	    "1969-12-31T23:59:59Z", "2026-11-20T10:26:53+2:00", "1970-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z",
	    "9999-12-31T23:59:59-00:01" };
	char text[MOMENT_TEXT];
	struct moment m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(moment_parse(cases[i].in, &m));
		assert_string_equal(moment_format(m, text), cases[i].out);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(moment_parse(bad[i], &m));
}

static void
every_day_is_written_as_the_calendar_has_it(void **state)
{
	char text[MOMENT_TEXT], wanted[MOMENT_TEXT];
	int64_t day;

	(void)state;
	for (day = -800; day < 200000; day++) {		/* past the year 2500 */
		time_t s = day * 86400 + (day * 7919 % 86400 + 86400) % 86400;
		struct tm tm;

		gmtime_r(&s, &tm);
		strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%S.009Z", &tm);
		assert_string_equal(moment_format((struct moment){ (int64_t)s * 1000 + 9 }, text), wanted);
	}
}

static void
numbers_are_taken_whole_or_not_at_all(void **state)
{
	static const char *const bad[] = { "", "-", "+1", "01", "1x", " 1", "9223372036854775808", "--1", "-0", "1e3" };
	static const char *const bad_positions[] = { "", "-1", ".5", "1.", "1e3", "1,5", "99999999999999999999", "nan",
	    "1 " };
	int64_t n;
	size_t i;

	(void)state;
	assert_true(int_parse("-9223372036854775807", &n));
	assert_true(n == -INT64_MAX);
	assert_true(int_parse("0", &n) && n == 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(int_parse(bad[i], &n));
	assert_true(position_parse("12.3456", &n) && n == 12346);
	assert_true(position_parse("0.0004", &n) && n == 0);
	assert_true(position_parse("7", &n) && n == 7000);
	assert_true(position_parse("0.9995", &n) && n == 1000);
	for (i = 0; i < sizeof(bad_positions) / sizeof(bad_positions[0]); i++)
		assert_false(position_parse(bad_positions[i], &n));
}

static void
only_well_formed_utf8_is_valid(void **state)
{
	static const char *const good[] = { "", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbd" };
	static const char *const bad[] = { "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
	    "\xf5\x80\x80\x80", "\x80", "\xc3", "\xe2\x82", "a\xff" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(utf8_valid(good[i], strlen(good[i])));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(utf8_valid(bad[i], strlen(bad[i])));
	assert_false(utf8_valid("a\0b", 3));
	assert_int_equal(utf8_length("\xc3\xa4\xf0\x9f\x98\x80" "x"), 3);
}

static void
a_text_is_blank_when_nothing_of_it_can_be_seen(void **state)
{
	static const char *const blank[] = { "", " ", "\t\r\n", "\xc2\xa0", "\xe2\x80\x8b", "\xe3\x80\x80",
	    "\xef\xbb\xbf", "\x01\x1f\x7f", "\xe2\xa0\x80", "\xe3\x85\xa4 \xe1\x85\x9f", "\xf3\xa0\x80\xa0" };
	static const char *const seen[] = { "a", " . ", "\xc3\xa4", "\xe2\x80\x8b\xe6\xbc\xa2", "\xf0\x9f\x90\x88",
	    "\xcc\x81", "\xe2\xa0\x81" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(blank) / sizeof(blank[0]); i++)
		assert_true(utf8_blank(blank[i]));
	for (i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		assert_false(utf8_blank(seen[i]));
}

static void
a_line_is_what_reads_as_it_is_written(void **state)
{
	static const struct { const char *text, *line; } cases[] = {
		{ "", "" }, { "\xd7\xa9\xd7\x9c\xe2\x80\x8f \xe2\x80\x8e" "a", NULL }, { "\xf0\x9f\x90\x88\xe2\x80\x8d", NULL },
		{ "\xc2\xa0", NULL }, { "a\nb\tc\r", "a b c " }, { "\x01" "a\x7f", " a " }, { "a\xc2\x85" "b\xc2\x9f", "a b " },
		{ "\xe2\x80\xa8" "a\xe2\x80\xa9", " a " }, { "a\xe2\x80\xae" "gpj.exe", "agpj.exe" },
		{ "\xe2\x80\xaa\xe2\x80\xac" "a", "a" }, { "\xe2\x81\xa6" "a\xe2\x81\xa9", "a" }, { "\xe2\x81\xa5" "a", NULL },
	};
	struct arena *mem = arena_new(1 << 20);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *line = cases[i].line != NULL ? cases[i].line : cases[i].text;

		assert_int_equal(utf8_line(cases[i].text), strcmp(line, cases[i].text) == 0);
		assert_string_equal(utf8_to_line(mem, cases[i].text), line);
	}
	arena_free(mem);
}

static void
percent_and_base64url_round_trip_and_refuse_the_rest(void **state)
{
	struct arena *mem = arena_new(1 << 20);
	unsigned char *bytes, all[256];
	char text[32], *encoded;
	long n;
	int i;

	(void)state;
	for (i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	for (i = 0; i < 256; i++) {
		encoded = base64url_encode(mem, all, (size_t)i);
		n = base64url_decode(mem, encoded, strlen(encoded), &bytes);
		assert_int_equal(n, i);
		assert_memory_equal(bytes, all, (size_t)i);
	}
	assert_int_equal(base64url_decode(mem, "AB", 2, &bytes), -1);	/* tail bits */
	assert_int_equal(base64url_decode(mem, "AA==", 4, &bytes), -1);
	assert_int_equal(base64url_decode(mem, "A", 1, &bytes), -1);
	assert_int_equal(base64url_decode(mem, "A+/A", 4, &bytes), -1);
	strcpy(text, "a%20b+c%C3%A4");
	n = percent_decode(text, strlen(text), true);
	assert_memory_equal(text, "a b c\xc3\xa4", (size_t)n);
	strcpy(text, "%00");
	assert_int_equal(percent_decode(text, 3, false), -1);
	strcpy(text, "%2");
	assert_int_equal(percent_decode(text, 2, false), -1);
	strcpy(text, "%zz");
	assert_int_equal(percent_decode(text, 3, false), -1);
	assert_string_equal(percent_encode(mem, "a/b \xc3\xa4~"), "a%2Fb%20%C3%A4~");
	arena_free(mem);
}

static int undone;

static void
undo(void *object)
{
	undone = undone * 10 + *(int *)object;
}

static void
an_arena_undoes_in_reverse_and_gives_zeroed_memory(void **state)
{
	struct arena *mem = arena_new((size_t)8 << 20);
	int one = 1, two = 2, round, i;
	char *p;

	(void)state;
	for (round = 0; round < 3; round++) {
		undone = 0;
		arena_defer(mem, undo, &one);
		arena_defer(mem, undo, &two);
		for (i = 1; i < 2000; i++) {
			p = arena_alloc(mem, (size_t)i);
			assert_int_equal((uintptr_t)p % 16, 0);
			assert_int_equal(p[i - 1], 0);
			memset(p, 0xff, (size_t)i);
		}
		memset(arena_alloc(mem, 1 << 20), 0xff, 1 << 20);
		assert_true(arena_used(mem) > 1 << 20);
		arena_reset(mem);
		assert_int_equal(undone, 21);
		assert_int_equal(arena_used(mem), 0);
	}
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_in_a_list_as_a_whole),
		cmocka_unit_test(ids_made_later_sort_later),
		cmocka_unit_test(only_the_plain_form_of_an_id_is_taken),
		cmocka_unit_test(times_are_read_with_offset_and_written_in_utc),
		cmocka_unit_test(every_day_is_written_as_the_calendar_has_it),
		cmocka_unit_test(numbers_are_taken_whole_or_not_at_all),
		cmocka_unit_test(only_well_formed_utf8_is_valid),
		cmocka_unit_test(a_text_is_blank_when_nothing_of_it_can_be_seen),
		cmocka_unit_test(a_line_is_what_reads_as_it_is_written),
		cmocka_unit_test(percent_and_base64url_round_trip_and_refuse_the_rest),
		cmocka_unit_test(an_arena_undoes_in_reverse_and_gives_zeroed_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
