/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agendas as servers really send them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/agenda.h"
#include "core/buf.h"

static struct arena *mem;

static int
set_up(void **state)
{
	mem = arena_new((size_t)256 << 20);
	*state = NULL;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	arena_free(mem);
	return 0;
}

/* What is wrong; NULL: the whole agenda came with it. */
static const char *
take(struct agenda *a, const char *text)
{
	const char *next, *wrong = agenda_take(mem, a, text, strlen(text), &next);

	if (wrong == NULL)
		agenda_order(mem, a);
	return wrong;
}

/* "1 Opening(2 Budget(2.1 Staff))" and so on: names behind numbers, with those below in brackets. */
static void
put_tree(struct buf *b, const struct agenda *a, int64_t parent)
{
	bool first = true;
	size_t i;

	for (i = 0; i < a->n; i++) {
		if (a->at[i].parent != parent)
			continue;
		buf_text(b, first ? parent < 0 ? "" : "(" : ", ");
		first = false;
		buf_printf(b, "%s%s%s", a->at[i].number, *a->at[i].number && *a->at[i].name ? " " : "", a->at[i].name);
		put_tree(b, a, (int64_t)i);
	}
	if (!first && parent >= 0)
		buf_char(b, ')');
}

static const char *
tree(const struct agenda *a)
{
	struct buf b = BUF(mem);

	put_tree(&b, a, -1);
	return buf_string(&b);
}

/* A meeting whose items have these numbers. */
static const char *
numbered(const char *numbers)
{
	char *rest = arena_copy(mem, numbers), *number;
	struct buf b = BUF(mem);
	struct agenda a = { 0 };
	size_t n = 0;

	buf_text(&b, "{\"type\":\"https://schema.oparl.org/1.0/Meeting\",\"agendaItem\":[");
	while ((number = strsep(&rest, "|")) != NULL) {
		buf_printf(&b, "%s{\"type\":\"AgendaItem\",\"number\":", n++ > 0 ? "," : "");
		buf_json(&b, number);
		buf_text(&b, *number == '\0' ? ",\"name\":\"-\"}" : "}");
	}
	buf_text(&b, "]}");
	assert_null(take(&a, buf_string(&b)));
	return tree(&a);
}

#define ITEM(number, name, more) "{\"id\":\"https://o.example/i/" number "\"," \
	"\"type\":\"https://schema.oparl.org/1.1/AgendaItem\"," \
	"\"number\":\"" number "\",\"name\":\"" name "\"" more "}"

static void
a_meeting_brings_its_items_with_their_times(void **state)
{
	struct agenda a = { 0 };

	(void)state;
	assert_null(take(&a, "{\"id\":\"https://o.example/m/41\",\"type\":\"https://schema.oparl.org/1.1/Meeting\","
	    "\"name\":\"Council, 12th\",\"start\":\"2025-09-18T17:00:00+02:00\",\"agendaItem\":["
	    ITEM("1", "Opening", ",\"order\":0,\"start\":\"2025-09-18T17:00:00+02:00\"") ","
	    ITEM("2", "Budget", ",\"order\":1,\"start\":\"2025-09-18T17:08:00+02:00\"") ","
	    ITEM("2.1", "Staff", ",\"order\":2,\"end\":\"2025-09-18T17:08:30+02:00\"") ","
	    ITEM("", "Amendment", ",\"order\":3") "," ITEM("2.2", "Fees", ",\"order\":4") ","
	    ITEM("2.10", "Pool & <sauna>", ",\"order\":5") "," ITEM("3", "Secret", ",\"order\":6,"
	    "\"public\":false") ","
	    ITEM("4", "Questions", ",\"order\":7,\"public\":null,\"start\":\"2025-09-18T17:09:00\"") "]}"));
	assert_string_equal(tree(&a), "1 Opening, 2 Budget(2.1 Staff, Amendment, 2.2 Fees, 2.10 Pool & <sauna>), "
	    "4 Questions");
	assert_string_equal(a.name, "Council, 12th");
	assert_int_equal(a.at[1].start.ms - a.start.ms, 480000);
	assert_int_equal(a.at[2].end.ms - a.start.ms, 510000);
	assert_int_equal(a.at[6].start.ms, 0);		/* without its zone it may be any time */
}

static void
what_several_makers_do_otherwise_is_taken(void **state)
{
	struct agenda a = { 0 };

	(void)state;
	assert_null(take(&a, "\xef\xbb\xbf{\"id\":\"https://o.example//meeting/9 \","
	    "\"type\":\"https://schema.oparl.org/1.0/meeting\","
	    "\"name\":\"Works\ncommittee\",\"start\":\"2019-03-05T18:30:00\",\"cancelled\":null,"
	    "\"organization\":\"x\",\"auxiliaryFile\":{\"id\":\"f\",\"downloadUrl\":\"\"},\"agendaItem\":["
	    "{\"type\":\"AgendaItem\",\"number\":\"A\",\"name\":\"Public part\"},"
	    "{\"type\":\"https://schema.oparl.org/1.0/AgendaItem\",\"number\":\"1.\","
	    "\"name\":\"Report:\\r\\na) Roads\\n\\tb) Paths\",\"result\":null},"
	    "{\"number\":\"1.1\",\"name\":\" Bridge\t \",\"order\":\"113\"},{\"name\":\"< Break >\","
	    "\"number\":\"\"},null,7,{\"number\":\"11a.\",\"name\":\"Later\",\"public\":null,\"start\":\"\"},"
	    "{\"number\":\"\xc3\x96 2.1\",\"name\":\"Questions\",\"keyword\":\"one\"},{\"number\":12,\"name\":\"\"},"
	    "{\"number\":\"\",\"name\":\" \"},{\"number\":[1],\"name\":{}},{\"number\":\"13\","
	    "\"name\":\"Gone\",\"deleted\":true}]}"));
	assert_string_equal(tree(&a), "A Public part, 1. Report: a) Roads b) Paths(1.1 Bridge), < Break >, 11a. Later, "
	    "\xc3\x96 2.1 Questions, 12");
	assert_string_equal(a.name, "Works committee");
	a = (struct agenda){ 0 };
	assert_null(take(&a, "{\"type\":\"x/Meeting\",\"name\":\"B\xfcro\",\"agendaItem\":{\"number\":1,"
	    "\"name\":\"\xc4\"}}"));
	assert_string_equal(a.name, "B\xc3\xbcro");
	assert_string_equal(tree(&a), "1 \xc3\x84");
}

/* Each of them was seen, or stands beside one that was. */
static void
numbers_make_a_tree_by_whole_parts(void **state)
{
	static const struct { const char *numbers, *tree; } cases[] = {
		{ "1|1.1|1.1.1|1.2|2", "1(1.1(1.1.1), 1.2), 2" },
		{ "5.1|5.11|5.11.3|5.12|5.2", "5.1, 5.11(5.11.3), 5.12, 5.2" },
		{ "7|7.4|7.4.1|7.40", "7(7.4(7.4.1), 7.40)" },
		{ "4|4.1.1|3.1", "4(4.1.1), 3.1" },
		{ "5|5|5.1", "5, 5(5.1)" },
		{ "1|1.1|1|1.1", "1(1.1), 1(1.1)" },
		{ "11|11a.|12|13a", "11(11a.), 12, 13a" },
		{ "4|c)|A|A.1|1", "4, c), A(A.1), 1" },
		{ "TOP 4|TOP 4 a|Tagesordnungspunkt: 4.1|Topic 1", "TOP 4(TOP 4 a, Tagesordnungspunkt: 4.1), Topic 1" },
		{ "\xc3\x96 1|\xc3\x96 1.1|N 1|N 1.1|N\xc3\x96 1.2", "\xc3\x96 1(\xc3\x96 1.1), N 1(N 1.1, N\xc3\x96 1.2)" },
		{ "01|1.1|1.01.2", "01(1.1(1.01.2))" },
		{ "1 - 3|4/1|III|1", "1 - 3, 4/1, III, 1" },
		{ "3|3.1||3.2||4", "3(3.1, -, 3.2), -, 4" },
		{ "...|-|1", "..., -, 1" },
		{ "1.1|1", "1.1, 1" },
		{ "99999999999999999999999|999999999.1", "99999999999999999999999(999999999.1)" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(numbered(cases[i].numbers), cases[i].tree);
}

static void
order_counts_where_all_have_it(void **state)
{
	struct agenda a = { 0 }, b = { 0 };

	(void)state;
	assert_null(take(&a, "{\"agendaItem\":[{\"name\":\"c\",\"order\":\"10720\"},{\"name\":\"a\",\"order\":1},"
	    "{\"name\":\"b\",\"order\":5},{\"name\":\"b2\",\"order\":5}]}"));
	assert_string_equal(tree(&a), "a, b, b2, c");
	assert_null(take(&b, "{\"agendaItem\":[{\"name\":\"c\",\"order\":3},{\"name\":\"a\","
	    "\"order\":1},{\"name\":\"x\",\"order\":1.5}]}"));
	assert_string_equal(tree(&b), "c, a, x");
}

#define OF(meeting, number, order) ITEM(number, "N" number, "," \
	"\"meeting\":\"https://o.example/m/" meeting "\",\"order\":" order)

static void
pages_are_followed_and_their_items_ordered_together(void **state)
{
	static const char first[] = "{\"data\":[" OF("42", "2", "2") "],\"pagination\":{},"
	    "\"links\":{\"next\":\"?page=2\"}}",
	    second[] = "{\"data\":[" OF("42", "1", "0") "," OF("42", "1.1", "1") "],\"links\":{}}";
	struct agenda a = { 0 };
	const char *next;

	(void)state;
	assert_null(agenda_take(mem, &a, first, strlen(first), &next));
	assert_string_equal(next, "?page=2");
	assert_null(agenda_take(mem, &a, first, strlen(first), &next));
	assert_null(next);				/* nothing new: it goes round */
	assert_null(agenda_take(mem, &a, second, strlen(second), &next));
	assert_null(next);
	agenda_order(mem, &a);
	assert_string_equal(tree(&a), "1 N1(1.1 N1.1), 2 N2");
}

static void
lists_of_several_meetings_are_refused(void **state)
{
	struct agenda a = { 0 }, b = { 0 };

	(void)state;
	assert_non_null(strstr(take(&a, "[" OF("42", "1", "0") "," OF("43", "2", "1") "]"), "several meetings"));
	assert_non_null(strstr(take(&b, "{\"data\":[{\"type\":\"a/Meeting\"},{\"type\":\"a/Meeting\"}]}"),
	    "several meetings"));
}

/* In lists some leave out what the object by itself has. */
static void
what_points_to_a_meeting_is_followed_once(void **state)
{
	static const char item[] = ITEM("1", "One", ",\"meeting\":\"https://o.example/m/1\""),
	    list[] = "{\"data\":[{\"type\":\"a/Meeting\",\"id\":\"https://o.example/m/7\"}],"
	    "\"links\":{\"next\":\"x\"}}";
	struct agenda a = { 0 }, b = { 0 };
	const char *next;

	(void)state;
	assert_null(agenda_take(mem, &a, item, strlen(item), &next));
	assert_string_equal(next, "https://o.example/m/1");
	assert_non_null(agenda_take(mem, &a, item, strlen(item), &next));
	assert_null(agenda_take(mem, &b, list, strlen(list), &next));
	assert_string_equal(next, "https://o.example/m/7");
	assert_non_null(agenda_take(mem, &b, list, strlen(list), &next));
}

static void
what_is_no_agenda_is_said(void **state)
{
	static const struct { const char *text, *part; } cases[] = {
		{ "", "no JSON" }, { "<html>", "no JSON" }, { "7", "no JSON" }, { "{\"a\":1,"
		    "\"a\":2}", "no JSON" }, { "{\"a\":", "no JSON" },
		{ "{\"type\":\"https://schema.oparl.org/1.1/Error\","
		    "\"message\":\"Not\\nfound\"}", "says: Not found" },
		{ "{\"type\":\"https://schema.oparl.org/1.1/Body\",\"name\":\"Town\"}", "neither" },
		{ "{\"id\":\"x\",\"type\":\"https://schema.oparl.org/1.1/Meeting\",\"deleted\":true}", "deleted" },
		{ "{\"id\":\"x\",\"deleted\":true}", "deleted" },
		{ "{\"type\":\"https://schema.oparl.org/1.1/Meeting\",\"name\":\"To come\"}", "no agenda" },
		{ "{\"type\":\"https://schema.oparl.org/1.1/Meeting\",\"agendaItem\":[]}", "no agenda" },
		{ "{\"type\":\"https://schema.oparl.org/1.1/AgendaItem\",\"name\":\"One\"}", "name its meeting" },
	};
	struct agenda a;
	const char *wrong;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		a = (struct agenda){ 0 };
		wrong = take(&a, cases[i].text);
		if (wrong == NULL || strstr(wrong, cases[i].part) == NULL)
			fail_msg("%s: %s", cases[i].text, wrong != NULL ? wrong : "taken");
	}
}

static void
ten_thousand_items_are_taken_and_not_one_more(void **state)
{
	struct agenda a, b = { 0 };
	struct buf text;
	size_t i, n;

	(void)state;
	for (n = AGENDA_MAX; n <= AGENDA_MAX + 1; n++) {
		text = BUF(mem);
		buf_text(&text, "{\"type\":\"a/Meeting\",\"agendaItem\":[");
		for (i = 0; i < n; i++)
			buf_printf(&text, "%s{\"number\":\"%zu.%zu\","
			    "\"id\":\"%zu\"}", i > 0 ? "," : "", i / 100, i % 100, i);
		buf_text(&text, "]}");
		a = (struct agenda){ 0 };
		if (n == AGENDA_MAX) {
			assert_null(take(&a, buf_string(&text)));
			assert_int_equal(a.n, n);
		} else
			assert_non_null(strstr(take(&a, buf_string(&text)), "10,000"));
	}
	text = BUF(mem);
	for (i = 0; i < 40; i++)
		buf_text(&text, "{\"data\":[");
	assert_non_null(take(&b, buf_string(&text)));
}

static void
a_meeting_tells_of_itself(void **state)
{
	struct agenda a = { .may_be_empty = true }, b = { .may_be_empty = true }, c = { 0 };

	(void)state;
	assert_null(take(&a, "{\"type\":\"https://schema.oparl.org/1.1/Meeting\",\"name\":\" Rat\\nder Stadt \","
	    "\"start\":\"2025-09-18T17:00:00+02:00\",\"end\":\"2025-09-18T19:40:00+02:00\",\"organization\":[\"http://x/o/1\",\"http://x/o/2\"],"
	    "\"location\":{\"description\":\"Rathaus,  Saal 2\",\"locality\":\"Quellbach\"}}"));
	assert_string_equal(a.name, "Rat der Stadt");
	assert_true(a.end.ms - a.start.ms == 160 * 60000);
	assert_string_equal(a.organization, "http://x/o/1");
	assert_string_equal(a.location, "Rathaus, Saal 2");
	assert_int_equal(a.n, 0);
	/* As others say it: an unknown end is midnight, one organization no list, a place an address. */
	assert_null(take(&b, "{\"type\":\"Meeting\",\"start\":\"2025-09-18T17:00:00+02:00\",\"end\":"
	    "\"2025-09-18T00:00:00+02:00\",\"organization\":\"http://x/o/1\",\"location\":{\"description\":\"\","
	    "\"streetAddress\":\"Markt 1\",\"postalCode\":\"01234\","
	    "\"locality\":\"Quellbach\",\"geojson\":[]}}"));
	assert_true(b.start.ms != 0 && b.end.ms == 0);
	assert_string_equal(b.organization, "http://x/o/1");
	assert_string_equal(b.location, "Markt 1, 01234 Quellbach");
	assert_non_null(take(&c, "{\"type\":\"Meeting\",\"start\":\"2025-09-18T17:00:00+02:00\",\"location\":"
	    "\"http://x/l/1\",\"organization\":[7,null]}"));
	assert_null(c.location);
	assert_null(c.organization);
	assert_string_equal(agenda_name(mem, "{\"name\":\" Council \"}", 20), "Council");
	assert_null(agenda_name(mem, "{\"name\":\" \"}", 12));
	assert_null(agenda_name(mem, "<html>", 6));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_meeting_brings_its_items_with_their_times),
		TEST(what_several_makers_do_otherwise_is_taken),
		TEST(numbers_make_a_tree_by_whole_parts),
		TEST(order_counts_where_all_have_it),
		TEST(pages_are_followed_and_their_items_ordered_together),
		TEST(lists_of_several_meetings_are_refused),
		TEST(what_points_to_a_meeting_is_followed_once),
		TEST(what_is_no_agenda_is_said),
		TEST(a_meeting_tells_of_itself),
		TEST(ten_thousand_items_are_taken_and_not_one_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
