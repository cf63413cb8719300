/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Glossaries: what a text may hold, and what comes back. */
#include <string.h>

#include "core/glossary.h"
#include "tests/world.h"

static void
terms_are_lines_each_once(void **state)
{
	struct world *w = *state;
	static const char text[] = " Kinothek\r\n\n\tvon Müller\nKinothek\n\"quoted\\\" </s> \\data\\\nkinothek";
	static const char *const wanted[] = { "Kinothek", "von Müller", "\"quoted\\\" </s> \\data\\", "kinothek" };
	struct strings terms, back;
	const char *fault;
	size_t i;

	assert_true(glossary_parse(w->mem, text, strlen(text), &terms, &fault));
	assert_int_equal(terms.n, 4);
	glossary_write(w->db, w->tenant_id, &terms);
	glossary_write(w->db, w->tenant_id, &terms);
	back = glossary_read(w->db, w->tenant_id);
	assert_int_equal(back.n, 4);
	for (i = 0; i < 4; i++) {
		assert_string_equal(terms.at[i], wanted[i]);
		assert_string_equal(back.at[i], wanted[i]);
	}
	assert_int_equal(glossary_read(w->db, world_other(w)->tenant_id).n, 0);
	assert_true(glossary_parse(w->mem, "", 0, &terms, &fault));
	glossary_write(w->db, w->tenant_id, &terms);
	assert_int_equal(number(w, "FROM tenant_glossaries t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
}

static void
what_is_no_glossary_is_told_by_line(void **state)
{
	struct world *w = *state;
	static const struct { const char *text; size_t n; const char *fault; } examples[] = {
		{ "a\nb\1\n", 5, "line 2 has a control character" }, { "a\0b", 3, "line 1 has a control character" },
		{ "a\n\xff\n", 4, "line 2 is not UTF-8" },
	};
	struct buf many = BUF(w->mem);
	struct strings terms;
	const char *fault;
	char longest[2 * GLOSSARY_TERM_MAX + 4] = "";
	size_t i;

	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		assert_false(glossary_parse(w->mem, examples[i].text, examples[i].n, &terms, &fault));
		assert_string_equal(fault, examples[i].fault);
	}
	for (i = 0; i < GLOSSARY_TERM_MAX; i++)
		strcat(longest, "ü");
	assert_true(glossary_parse(w->mem, longest, strlen(longest), &terms, &fault));
	strcat(longest, "ü");
	assert_false(glossary_parse(w->mem, longest, strlen(longest), &terms, &fault));
	assert_string_equal(fault, "line 1 is longer than 100 characters");
	for (i = 0; i < 100000; i++)
		buf_printf(&many, "word%zu\n", i);
	assert_false(glossary_parse(w->mem, buf_string(&many), many.len, &terms, &fault));
	assert_string_equal(fault, "line 10001 is one too many: a glossary has 10000 terms at most");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(terms_are_lines_each_once),
		WORLD_TEST(what_is_no_glossary_is_told_by_line),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
