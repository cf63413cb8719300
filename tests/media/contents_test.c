/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of contents of language models: each way of writing one is read, and what is none is refused as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "media/contents.h"

enum { MEM = 64 << 20, HOURS = 2 * 3600 * 1000 };

/* "0-60000 One; 60000-7200000 Two", or what is wrong. */
static const char *
read_as(struct arena *mem, const char *text)
{
	const struct stretch *s;
	const char *wrong;
	struct buf b = BUF(mem);
	size_t n, i;

	wrong = contents_read(mem, text, HOURS, &s, &n);
	for (i = 0; i < n && wrong == NULL; i++)
		buf_printf(&b, "%s%lld-%lld %s", i > 0 ? "; " : "", (long long)s[i].start, (long long)s[i].end,
		    s[i].title);
	return wrong != NULL ? wrong : buf_string(&b);
}

static void
each_way_of_writing_one_is_read(void **state)
{
	static const char two[] = "0-60000 One; 60000-7200000 Two";
	static const struct { const char *text, *is; } cases[] = {
		{ "00:00:00 One\n00:01:00 Two", two },
		{ "0:00 One\r\n\r\n1:00 Two\n", two },
		{ "- [00:00:00] One\n* **00:01:00** - Two", two },
		{ "1. 00:00:00 – One\n2. 00:01:00 — **Two**", two },
		{ "• (0:00): One\n• (1:00): Two", two },
		{ "00:00 - 01:00 One\n01:00 - 02:00 Two", two },
		{ "```json\n[{\"start\":\"00:00:00\",\"title\":\"One\"},{\"start\":\"0:01:00\",\"title\":\"Two\"}]\n```", two },
		{ "{\"chapters\":[{\"time\":0,\"title\":\"One\"},{\"start\":60.0,\"title\":\"Two\"}]}", two },
		{ "{\"start\":\"60\",\"title\":\"Alone\"}", "60000-7200000 Alone" },
		{ "00:00:01.250 One\n61:00,5 Two", "1250-3660500 One; 3660500-7200000 Two" },
		{ "1:01:01 2001: A Space Odyssey", "3661000-7200000 2001: A Space Odyssey" },
		{ "0:01 (Interval)", "1000-7200000 (Interval)" },
		{ "[{\"start\":1,\"title\":\"a\\u202eb\"}]", "1000-7200000 ab" },
		{ "`00:00` One\n`01:00` Two", two },
		{ "| 00:00 | One |\n| 01:00 | Two |", two },
		{ "+ 00:00 → One\n> 01:00 Two", two },
	};
	struct arena *mem = arena_new(MEM);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(read_as(mem, cases[i].text), cases[i].is) != 0)
			fail_msg("%s: %s", cases[i].text, read_as(mem, cases[i].text));
	arena_free(mem);
}

#define LIST "00:00 One\n01:00 Two"
#define JSON "[{\"start\":0,\"title\":\"One\"},\n{\"start\":60,\"title\":\"Two\"}]"

static void
what_a_model_says_beside_it_is_passed_over(void **state)
{
	static const char two[] = "0-60000 One; 60000-7200000 Two";
	static const struct { const char *text, *is; } cases[] = {
		{ "Here are the chapters:\n" LIST, two }, { "Sure! Here they are.\r\n\r\n" LIST "\r\n", two },
		{ "Of course\n\n" LIST "\n\nLet me know if you want\nanything else!", two },
		{ "## Contents\n" LIST "\n\nShall I go on? \xf0\x9f\x98\x8a", two }, { "**Contents**\n" LIST, two },
		{ "Two chapters, at best (2 of 3):\n```\n" LIST "\n```\nThis is all.", two },
		{ "Here:\n---\n" LIST "\n---\nAs you *wished*.\n\nBye", two },
		{ "| Time | Title |\n|---|:--|\n| 00:00 | One |\n| 01:00 | Two |", two },
		{ "目次：\n" LIST "\n\n以上です。", two },
		{ "00:00 One\n\n01:00 Two\n\nThat is all.", two },
		{ "Here they are:\n```json\n" JSON "\n```\nDone", two }, { "\nSure!\n{\"chapters\":" JSON "}\nDone", two },
		{ "A [list]\n" JSON " \r\n- see above", two },
		{ "~ [1] says so:\n" LIST, two }, { "Вот они:\n" LIST "\n\nВот и всё. ❤️", two },
		{ "« Voilà. »\n" LIST "\n\n（以上です。）", two },
	};
	struct arena *mem = arena_new(MEM);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(read_as(mem, cases[i].text), cases[i].is) != 0)
			fail_msg("%s: %s", cases[i].text, read_as(mem, cases[i].text));
	arena_free(mem);
}

static void
what_is_none_is_refused_as_a_whole(void **state)
{
	static const struct { const char *text, *wrong; } cases[] = {
		{ "", "no times with titles" }, { "```\n```", "no times with titles" }, { "[]", "no times with titles" },
		{ "[1, \"00:00:01 One\"]", "does not begin within" }, { "\"00:00:01 One\"", "no times with titles" },
		{ "00:00 One\nTwo", "Part 2 of the answer has no time" },
		/* any of these may be a part */
		{ "One\n00:10 Two", "Part 1 of the answer has no time" }, { "- One:\n00:10 Two", "Part 1 of the answer has no time" },
		{ "1. One.\n\n00:10 Two", "Part 1 of the answer has no time" },
		{ "Here:\n00:00 One\nIt begins.\n00:10 Two", "Part 2 of the answer has no time" },
		{ "00:00 One\n\nIt begins.\n\n00:10 Two", "Part 2 of the answer has no time" },
		{ "00:00 One\n00:10 Two\nThat is all.", "Part 3 of the answer has no time" },
		{ "00:00 One\n\n00:10 Two\n\nThree", "Part 3 of the answer has no time" },
		{ "00:00 Начало\n\nЧасть 2. Бюджет", "Part 2 of the answer has no time" },
		{ "Введение: начало\n00:10 Бюджет", "Part 1 of the answer has no time" },
		{ "00:00 آغاز\n\nבתקציב. דיון", "Part 2 of the answer has no time" },
		{ "00:00 One\n\n- Two.", "Part 2 of the answer has no time" },
		{ "00:00 One\n\nThat is all.\n• Two", "Part 2 of the answer has no time" },
		{ "```00:00 One\n```\nTwo\n00:20 Three", "Part 2 of the answer has no time" },
		{ "Here:\n\nNothing.", "Part 1 of the answer has no time" },
		{ "Here:\n00:10 Two\n\n0:00 is where it began.", "Part 2 of the answer begins before" },
		{ "00:00 Zero\n" JSON, "has no time" }, { JSON "\n\n02:00 Three", "has no time" },
		{ "[\n{\"start\":0,\"title\":\"One\"}\n]\n\n02:00 Three", "has no time" },
		{ JSON "\n" JSON, "has no time" }, { "Here:\n[{\"start\":0,\"title\":\"One\"}", "has no time" },
		{ "Here:\n{}\nDone.", "does not begin within" }, { "Here:\n[]\nDone.", "no times with titles" },
		{ "00:61 One", "Part 1 of the answer has no time" }, { "00:99:00 One", "Part 1 of the answer has no time" },
		{ "1:2 One", "Part 1 of the answer has no time" }, { "12345:00 One", "Part 1 of the answer has no time" },
		{ "02:00:00 One", "does not begin within" }, { "{\"start\":7200,\"title\":\"One\"}", "does not begin within" },
		{ "{\"start\":-1,\"title\":\"One\"}", "does not begin within" },
		{ "{\"start\":1e300,\"title\":\"One\"}", "does not begin within" },
		{ "{\"start\":\"nan\",\"title\":\"One\"}", "does not begin within" },
		{ "{\"start\":\"00:00:01 x\",\"title\":\"One\"}", "does not begin within" },
		{ "{\"start\":[1],\"title\":\"One\"}", "does not begin within" }, { "{\"title\":\"One\"}", "does not begin within" },
		{ "00:10 One\n00:10 Two", "Part 2 of the answer begins before" },
		{ "00:10 One\n00:09 Two", "Part 2 of the answer begins before" },
		{ "00:00", "has no title" }, { "00:00 - ", "has no title" }, { "{\"start\":1,\"title\":\" \"}", "has no title" },
		{ "{\"start\":1,\"title\":7}", "has no title" },
	};
	struct arena *mem = arena_new(MEM);
	struct buf many = BUF(mem);
	char title[CONTENTS_TITLE_MAX + 2];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strstr(read_as(mem, cases[i].text), cases[i].wrong) == NULL)
			fail_msg("%s: %s", cases[i].text, read_as(mem, cases[i].text));
	memset(title, 'x', sizeof(title));
	title[CONTENTS_TITLE_MAX + 1] = '\0';
	assert_non_null(strstr(read_as(mem, arena_printf(mem, "00:00 %s", title)), "too long"));
	assert_non_null(strstr(read_as(mem, arena_printf(mem, "00:00 %s", title + 1)), "0-7200000 xxx"));
	for (i = 0; i <= CHAPTERS_STRETCHES; i++) {
		assert_int_equal(strncmp(read_as(mem, i == 0 ? "0:00 x" : buf_string(&many)), "0-", 2), 0);
		buf_printf(&many, "%zu:%02zu x\n", i / 60, i % 60);
	}
	assert_non_null(strstr(read_as(mem, buf_string(&many)), "more than 100 parts"));
	arena_free(mem);
}

/* Of any size, and with what no text holds. */
static void
what_is_hostile_is_refused_in_a_sentence(void **state)
{
	enum { LARGE = 1 << 20, ITEMS = 100000 };
	struct arena *mem = arena_new(4 * MEM);
	struct buf lines = BUF(mem), json = BUF(mem);
	char *line = arena_alloc(mem, LARGE + 1);
	size_t i;

	(void)state;
	memset(line, 'x', LARGE);
	assert_non_null(strstr(read_as(mem, line), "Part 1 of the answer has no time"));
	assert_non_null(strstr(read_as(mem, arena_printf(mem, "00:00 %s", line)), "too long"));
	assert_non_null(strstr(read_as(mem, arena_printf(mem, "[{\"start\":0,\"title\":\"%s\"}]", line)),
	    "too long"));
	memset(line, '[', LARGE);
	assert_non_null(strstr(read_as(mem, arena_printf(mem, "00:00 One\n%s", line)),
	    "Part 2 of the answer has no time"));
	for (i = 0; i < ITEMS; i++) {
		buf_printf(&lines, "%zu:%02zu x\n", i / 60, i % 60);
		buf_printf(&json, "%c{\"start\":%zu,\"title\":\"x\"}", i == 0 ? '[' : ',', i);
	}
	buf_char(&json, ']');
	assert_non_null(strstr(read_as(mem, buf_string(&lines)), "more than 100 parts"));
	assert_non_null(strstr(read_as(mem, buf_string(&json)), "more than 100 parts"));
	assert_non_null(strstr(read_as(mem, "[{\"start\":0,\"title\":\"a\\u0000b\"}]"), "has no time"));
	assert_non_null(strstr(read_as(mem, "00:00 \xe2\x80\xae\xe2\x80\x8f"), "has no title"));
	assert_string_equal(read_as(mem, "00:00 \xe2\x80\xaeOne"), "0-7200000 One");
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_of_writing_one_is_read),
		cmocka_unit_test(what_a_model_says_beside_it_is_passed_over),
		cmocka_unit_test(what_is_none_is_refused_as_a_whole),
		cmocka_unit_test(what_is_hostile_is_refused_in_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
