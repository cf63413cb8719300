/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records: every kind in, out, stored and described; strictness of decoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/record.h"

struct part { const char *name; int64_t n; };
static const struct field part_fields[] = {
	FIELD(struct part, name, .on = CREATE, .required = true, .min = 1, .max = 5, .doc = "Name"),
	FIELD(struct part, n,    .on = CREATE, .min = -5, .max = 5, .doc = "Number"),
};
static const struct record part_record = RECORD("Part", struct part, part_fields);

struct all {
	struct uuid id, media_id;
	const char *language_code, *choice;
	int64_t count;
	bool is_live;
	double ratio;
	struct number width;
	struct moment created_at;
	struct position start, end;
	struct strings tags;
	struct ids ids;
	struct json raw, words;
	struct nested part;
	struct list parts;
	const char *secret;
};
static const struct field all_fields[] = {
	FIELD(struct all, id,            .on = SERVER, .doc = "Id"),
	FIELD(struct all, media_id,      .on = CREATE | QUERY, .doc = "Another id"),
	FIELD(struct all, language_code, .on = CREATE | PATCH | QUERY, .required = true, .min = 2, .max = 8, .doc = "Text"),
	FIELD(struct all, choice,        .on = CREATE | QUERY, .one_of = "red green", .doc = "Word"),
	FIELD(struct all, count,         .on = CREATE | QUERY, .max = 10, .doc = "Integer"),
	FIELD(struct all, is_live,       .on = CREATE | QUERY, .doc = "Yes or no"),
	FIELD(struct all, ratio,         .on = CREATE, .doc = "Real"),
	FIELD(struct all, width,         .on = CREATE, .max = 100, .doc = "Nullable integer"),
	FIELD(struct all, created_at,    .on = CREATE | QUERY, .doc = "Time"),
	FIELD(struct all, start,         .on = CREATE | QUERY, .doc = "Position"),
	FIELD(struct all, end,           .on = CREATE, .doc = "Position"),
	FIELD(struct all, tags,          .on = CREATE | QUERY, .max = 3, .doc = "Strings"),
	FIELD(struct all, ids,           .on = CREATE, .max = 2, .doc = "Ids"),
	FIELD(struct all, raw,           .on = CREATE, .doc = "JSON"),
	FIELD(struct all, words,         .on = CREATE, .max = 2, .item_max = 3, .format = "strings", .doc = "JSON that is a list of strings"),
	FIELD(struct all, part,          .on = CREATE, .of = &part_record, .doc = "Record"),
	FIELD(struct all, parts,         .on = CREATE, .of = &part_record, .max = 3, .doc = "Records"),
	FIELD(struct all, secret,        .on = HIDDEN, .doc = "Never sent"),
};
static const struct record all_record = RECORD("All", struct all, all_fields);

static int
open_arena(void **state)
{
	*state = arena_new((size_t)64 << 20);
	return 0;
}

static int
close_arena(void **state)
{
	arena_free(*state);
	return 0;
}

static enum decoded
decode(struct arena *mem, const char *json, struct all **out, struct faults *faults)
{
	void *row = NULL;
	enum decoded got;

	memset(faults, 0, sizeof(*faults));
	got = record_decode(mem, &all_record, CREATE, json, strlen(json), &row, NULL, faults);
	*out = row;
	return got;
}

static const char whole[] =
    "{\"mediaId\":\"019aa000-0000-7000-8000-0000000000ff\",\"languageCode\":\"d\\u00e9\",\"choice\":\"red\","
    "\"count\":7,\"isLive\":true,\"ratio\":0.1,\"width\":3,\"createdAt\":\"2026-11-20T10:26:53.123Z\",\"start\":0.000,"
    "\"end\":1.235,\"tags\":[\"a\",\"b\"],\"ids\":[\"019aa000-0000-7000-8000-0000000000fe\"],\"raw\":{\"x\":[1,null]},"
    "\"words\":[\"c\"],\"part\":{\"name\":\"p\",\"n\":-5},\"parts\":[{\"name\":\"q\",\"n\":0}]}";

static void
every_kind_comes_back_as_it_went_in(void **state)
{
	struct arena *mem = *state;
	struct buf first = BUF(mem), again = BUF(mem), stored = BUF(mem);
	struct faults faults;
	struct all *a, *b;

	record_check(&all_record);
	assert_int_equal(decode(mem, whole, &a, &faults), DECODED);
	a->id = uuid_new();
	a->secret = "s";
	record_render(&first, &all_record, a, false);
	assert_null(strstr(first.text, "secret"));
	assert_non_null(strstr(first.text, "\"end\":1.235,"));
	assert_non_null(strstr(first.text, "\"start\":0.000,"));
	assert_non_null(strstr(first.text, "\"ratio\":0.1,"));
	record_store(&stored, &all_record, a);
	b = record_parse(mem, &all_record, stored.text);
	assert_non_null(b);
	assert_string_equal(b->secret, "s");
	record_render(&again, &all_record, b, false);
	assert_string_equal(first.text, again.text);
}

static void
nothing_given_renders_as_null(void **state)
{
	struct arena *mem = *state;
	struct all zero = { 0 };
	struct buf b = BUF(mem);

	record_render(&b, &all_record, &zero, false);
	assert_string_equal(b.text, "{\"id\":null,\"mediaId\":null,\"languageCode\":null,\"choice\":null,\"count\":0,"
	    "\"isLive\":false,\"ratio\":0,\"width\":null,\"createdAt\":null,\"start\":null,\"end\":null,\"tags\":null,"
	    "\"ids\":null,\"raw\":null,\"words\":null,\"part\":null,\"parts\":[]}");
	assert_true(json_valid(mem, b.text, b.len));
}

static void
each_fault_is_named_where_it_is(void **state)
{
	static const struct { const char *json, *pointer, *code; } cases[] = {
		{ "{\"languageCode\":5}", "/languageCode", "type" },
		{ "{\"languageCode\":\"x\"}", "/languageCode", "too_short" },
		{ "{\"languageCode\":\"123456789\"}", "/languageCode", "too_long" },
		{ "{\"languageCode\":null}", "/languageCode", "required" },
		{ "{\"languageCode\":\"a\\u0007\"}", "/languageCode", "control_characters" },
		{ "{\"languageCode\":\"a\\u0085\"}", "/languageCode", "control_characters" },
		{ "{\"languageCode\":\" \\u200b\\u3164\"}", "/languageCode", "blank" },
		{ "{\"tags\":[\" \"]}", "/tags/0", "blank" },
		{ "{}", "/languageCode", "required" },
		{ "{\"choice\":\"re\"}", "/choice", "not_allowed" },
		{ "{\"choice\":\"red green\"}", "/choice", "not_allowed" },
		{ "{\"choice\":\"\"}", "/choice", "not_allowed" },
		{ "{\"count\":11}", "/count", "too_large" },
		{ "{\"count\":-1}", "/count", "too_small" },
		{ "{\"count\":1.5}", "/count", "type" },
		{ "{\"count\":99999999999999999999}", "/count", "type" },
		{ "{\"count\":1e400}", "/count", "type" },
		{ "{\"count\":\"1\"}", "/count", "type" },
		{ "{\"isLive\":1}", "/isLive", "type" },
		{ "{\"isLive\":null}", "/isLive", "required" },
		{ "{\"ratio\":1e999}", "/ratio", "too_large" },
		{ "{\"createdAt\":\"2026-02-30T00:00:00Z\"}", "/createdAt", "format" },
		{ "{\"start\":-0.1}", "/start", "too_small" },
		{ "{\"mediaId\":\"019AA000-0000-7000-8000-0000000000FF\"}", "/mediaId", "format" },
		{ "{\"tags\":[\"a\",\"b\",\"c\",\"d\"]}", "/tags", "too_many" },
		{ "{\"tags\":[\"a\",2]}", "/tags/1", "type" },
		{ "{\"tags\":\"a\"}", "/tags", "type" },
		{ "{\"part\":{\"name\":\"\"}}", "/part/name", "too_short" },
		{ "{\"part\":{}}", "/part/name", "required" },
		{ "{\"part\":[]}", "/part", "type" },
		{ "{\"parts\":[{\"name\":\"a\"},{\"name\":\"b\",\"n\":6}]}", "/parts/1/n", "too_large" },
		{ "{\"parts\":[3]}", "/parts/0", "type" },
		{ "{\"id\":\"019aa000-0000-7000-8000-0000000000ff\"}", "/id", "read_only" },
		{ "{\"secret\":\"x\"}", "/secret", "unknown" },
		{ "{\"id\":\"x\"}", "/id", "read_only" },
		{ "{\"ids\":[\"x\"]}", "/ids/0", "format" },
		{ "{\"ids\":[1]}", "/ids/0", "type" },
		{ "{\"ids\":\"x\"}", "/ids", "type" },
		{ "{\"words\":{}}", "/words", "type" },
		{ "{\"words\":[\"a\",\"b\",\"c\"]}", "/words", "too_many" },
		{ "{\"words\":[\"long\"]}", "/words/0", "too_long" },
		{ "{\"language_code\":\"de\"}", "/language_code", "unknown" },
		{ "{\"a/b~\":1}", "/a~1b~0", "unknown" },
	};
	struct arena *mem = *state;
	struct faults faults;
	struct all *a;
	size_t i;
	int k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = false;

		assert_int_equal(decode(mem, cases[i].json, &a, &faults), HAS_FAULTS);
		for (k = 0; k < faults.n; k++)
			found |= strcmp(faults.at[k].pointer, cases[i].pointer) == 0 && strcmp(faults.at[k].code,
			    cases[i].code) == 0;
		if (!found)
			fail_msg("%s: %s %s", cases[i].json, faults.at[0].pointer, faults.at[0].code);
	}
}

static void
what_is_not_json_is_told_with_line_and_column(void **state)
{
	static const struct { const char *json, *detail; } cases[] = {
		{ "", "line 1, column 1: a value is missing: this is the end" },
		{ "{", "line 1, column 2: the name of a member in double quotes is wanted" },
		{ "{\"a\":1,\n \"\xc3\xa4\": tru}", "line 2, column 7: a value is wanted: an object, an array, a text in double quotes, "
		    "a number, true, false or null" },
		{ "{'a':1}", "line 1, column 2: the name of a member in double quotes is wanted" },
		{ "{\"a\" 1}", "line 1, column 6: a colon is wanted" },
		{ "{\"a\":[1 2]}", "line 1, column 9: a comma or ] is wanted" },
		{ "{\"a\":1.}", "line 1, column 8: a digit is wanted" },
		{ "{\"a\":\"b", "line 1, column 8: the text does not end" },
		{ "{\"a\":\"\\x\"}", "line 1, column 7: there is no such escape" },
		{ "{\"a\":\"\\ud800\"}", "line 1, column 7: half of a surrogate pair" },
		{ "{\"a\":\"\\u0000\"}", "line 1, column 7: \\u0000 is not taken" },
		{ "{} x", "line 1, column 4: nothing may follow the value" },
		{ "{\"a\":\"\xff\"}", "line 1, column 7: this is not UTF-8" },
		{ "{\"a\":1,\n\"b\":{\"a\":1},\"a\":2}", "line 2, column 13: the name of a member is there twice" },
		{ "{\"a\":1,\"\\u0061\":2}", "line 1, column 1: the name of a member is there twice" },
	};
	struct arena *mem = *state;
	struct faults faults;
	struct all *a;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(decode(mem, cases[i].json, &a, &faults), NOT_JSON);
		assert_int_equal(faults.n, 1);
		assert_string_equal(faults.at[0].code, "syntax");
		assert_string_equal(faults.at[0].detail, cases[i].detail);
	}
}

static void
more_faults_than_fit_are_counted(void **state)
{
	struct arena *mem = *state;
	struct buf b = BUF(mem);
	struct faults faults;
	struct all *a;
	int i;

	for (i = 0; i < 5000; i++)
		buf_printf(&b, "%c\"k%d\":1", i ? ',' : '{', i);
	buf_char(&b, '}');
	assert_int_equal(decode(mem, b.text, &a, &faults), HAS_FAULTS);
	assert_int_equal(faults.n, 5001);
}

static void
queries_match_names_without_regard_to_case_and_join_lists(void **state)
{
	const struct pair pairs[] = { { "LANGUAGECODE", "de" }, { "tags", "a,b" }, { "Tags", "c" }, { "start", "1.5" },
	    { "count", "3" }, { "isLive", "true" } };
	struct arena *mem = *state;
	struct faults faults = { .n = 0 };
	uint64_t given = 0;
	struct all *a;
	void *row;

	assert_int_equal(record_decode_query(mem, &all_record, pairs, 6, &row, &given, &faults), DECODED);
	a = row;
	assert_int_equal(a->tags.n, 3);
	assert_string_equal(a->tags.at[2], "c");
	assert_int_equal(a->start.ms, 1500);
	assert_true(given & record_bit(&all_record, "count"));
	assert_false(given & record_bit(&all_record, "choice"));
}

static void
the_schema_says_what_the_decoder_checks(void **state)
{
	struct arena *mem = *state;
	struct buf b = BUF(mem);

	record_schema(&b, &all_record, CREATE, 0);
	assert_true(json_valid(mem, b.text, b.len));
	assert_non_null(strstr(b.text, "\"required\":[\"languageCode\"]"));
	assert_non_null(strstr(b.text, "\"minLength\":2,\"maxLength\":8"));
	assert_non_null(strstr(b.text, "\"enum\":[\"red\",\"green\",null]"));
	assert_null(strstr(b.text, "\"secret\""));
	assert_non_null(strstr(b.text, "\"$ref\":\"#/components/schemas/Part\""));
}

static void
json_text_survives_any_bytes(void **state)
{
	struct arena *mem = *state;
	struct buf b = BUF(mem);
	char bytes[256];
	int i;

	for (i = 0; i < 256; i++)
		bytes[i] = (char)i;
	buf_json_n(&b, bytes + 1, 255);
	assert_true(json_valid(mem, b.text, b.len));
}

/* Byte by byte, what the writer does eight at a time. */
static const char *
escaped(struct arena *mem, const char *text)
{
	struct buf b = BUF(mem);

	buf_char(&b, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			buf_char(&b, '\\');
		if (*text == '\x7f' || *text == '\x1f')
			buf_text(&b, *text == '\x1f' ? "\\u001f" : "\\u007f");
		else
			buf_char(&b, *text);
	}
	buf_char(&b, '"');
	return buf_string(&b);
}

static void
what_needs_escaping_is_found_at_every_place(void **state)
{
	static const char *const special[] = { "\"", "\\", "\x1f", "\x7f", "\xc3\xa4", "\xf0\x9f\x98\x80", "!#[]~ ",
	    "\"\\" };
	struct arena *mem = *state;
	size_t at, i;

	for (at = 0; at < 20; at++)
		for (i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
			struct buf b = BUF(mem);
			const char *text = arena_printf(mem, "%.*s%s%.*s", (int)at, "ABCDEFGHIJKLMNOPQRSTU", special[i],
			    17, "vwxyz0123456789!#");

			buf_json(&b, text);
			assert_string_equal(buf_string(&b), escaped(mem, text));
		}
}

static void
a_printed_text_is_whole_at_every_length(void **state)
{
	struct arena *mem = *state;
	char *text = arena_alloc(mem, 1100);
	struct buf b = BUF(mem);
	size_t n, len = 0;

	for (n = 0; n < 1099; n++) {
		text[n] = 'x';
		assert_string_equal(arena_printf(mem, "%s", text), text);
		buf_printf(&b, "%s!", text);
		len += n + 2;
		assert_int_equal(b.len, len);
		assert_int_equal(strlen(b.text), len);
	}
}

static void
numbers_are_written_in_their_shortest_form(void **state)
{
	static const struct { double in; const char *out; } cases[] = { { 0, "0" }, { 25, "25" }, { 29.97, "29.97" },
	    { 23.976, "23.976" }, { 30000.0 / 1001, "29.97002997002997" }, { 0.1, "0.1" }, { -2.5, "-2.5" },
	    { 1.05, "1.05" }, { -0.001, "-0.001" }, { 0.0005, "0.0005" }, { 100.5, "100.5" }, { 999999999999.5, "999999999999.5" },
	    { 0.1 + 0.2, "0.30000000000000004" }, { -7, "-7" }, { 1e15, "1e+15" },
	    { 1e300, "1e+300" } };
	static const struct field field = { .name = "x", .kind = KIND_REAL, .size = sizeof(double), .doc = "x" };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = BUF(*state);

		record_value(&b, &field, &cases[i].in);
		assert_true(strtod(buf_string(&b), NULL) == cases[i].in);
		if (strlen(cases[i].out) < 16)
			assert_string_equal(buf_string(&b), cases[i].out);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arena, close_arena)

static void
an_overlay_takes_what_was_given_and_tells_what_differs(void **state)
{
	struct arena *mem = *state;
	struct uuid id = uuid_new();
	struct all row = { .count = 1, .language_code = "de", .ids = { &id, 1 } }, in = { .count = 2,
	    .language_code = "de" };
	uint64_t given = record_bit(&all_record, "count") | record_bit(&all_record, "language_code");
	const struct all *would = record_overlay(mem, &all_record, &row, &in, given);

	assert_int_equal(would->count, 2);
	assert_int_equal(would->ids.n, 1);
	assert_true(record_differs(mem, &all_record, &row, would, given) == record_bit(&all_record, "count"));
	assert_true(record_differs(mem, &all_record, &row, &in, given | record_bit(&all_record, "ids")) ==
	    (record_bit(&all_record, "count") | record_bit(&all_record, "ids")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_comes_back_as_it_went_in),
		TEST(nothing_given_renders_as_null),
		TEST(each_fault_is_named_where_it_is),
		TEST(what_is_not_json_is_told_with_line_and_column),
		TEST(more_faults_than_fit_are_counted),
		TEST(queries_match_names_without_regard_to_case_and_join_lists),
		TEST(the_schema_says_what_the_decoder_checks),
		TEST(an_overlay_takes_what_was_given_and_tells_what_differs),
		TEST(json_text_survives_any_bytes),
		TEST(what_needs_escaping_is_found_at_every_place),
		TEST(a_printed_text_is_whole_at_every_length),
		TEST(numbers_are_written_in_their_shortest_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
