/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goes into a page comes out of a parser as it was, and nothing else does. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <libxml/HTMLparser.h>
#include <libxml/xpath.h>

#include "core/arena.h"
#include "core/html.h"
#include "core/record.h"
#include "core/text.h"

static struct arena *mem;

static int
open_arena(void **state)
{
	mem = arena_new((size_t)256 << 20);
	return 0;
}

static int
close_arena(void **state)
{
	arena_free(mem);
	return 0;
}

/* An address, an attribute, a text and data of one value. */
static struct buf
page_of(const char *value, const char *json)
{
	struct html h = html_new(mem);

	html_el(&h, "html");
	html_el(&h, "head");
	html_leaf(&h, "meta");
	html_attr(&h, "charset", "utf-8");
	html_end(&h);
	html_el(&h, "body");
	html_json(&h, "application/ld+json", "data", json);
	html_el(&h, "a");
	html_url(&h, "href", value);
	html_attr(&h, "title", value);
	html_flag(&h, "hidden");
	html_int(&h, "tabindex", -1);
	html_text(&h, value);
	html_end(&h);
	html_end(&h);
	html_end(&h);
	return html_done(&h);
}

/* What the XPath expression finds, as text. */
static const char *
found(struct buf page, const char *path)
{
	htmlDocPtr doc = htmlReadMemory(page.text, (int)page.len, NULL, "utf-8", HTML_PARSE_NOERROR |
	    HTML_PARSE_NOWARNING);
	xmlXPathContextPtr context = xmlXPathNewContext(doc);
	xmlChar *text = xmlXPathCastToString(xmlXPathEvalExpression((const xmlChar *)path, context));
	const char *kept = arena_copy(mem, (const char *)text);

	xmlFree(text);
	xmlXPathFreeContext(context);
	xmlFreeDoc(doc);
	return kept;
}

static const char *
json_of(const char *value)
{
	struct buf b = BUF(mem);

	buf_text(&b, "{\"name\":");
	buf_json(&b, value);
	buf_char(&b, '}');
	return buf_string(&b);
}

static void
every_place_escapes_what_would_end_it(void **state)
{
	const char *value = "</script><script>alert(1)</script> \"' & <b>\r\xe2\x80\xa8";
	struct buf page = page_of(value, json_of(value));

	(void)state;
	assert_string_equal(found(page, "//a"), value);
	assert_string_equal(found(page, "//a/@title"), value);
	assert_string_equal(found(page, "count(//script)"), "1");
	assert_string_equal(found(page, "count(//b)"), "0");
	assert_string_equal(found(page, "count(//a/@*)"), "4");
	assert_string_equal(found(page, "//script"), "{\"name\":\"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"
	    "\\u003c/script\\u003e \\\"' \\u0026 \\u003cb\\u003e\\r\\u2028\"}");
}

static void
what_no_document_may_hold_is_replaced(void **state)
{
	static const struct { const char *in, *out; } cases[] = {
		{ "a\x01" "b\x7f", "a\xef\xbf\xbd" "b\xef\xbf\xbd" }, { "tab\tline\n", "tab\tline\n" },
		{ "\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd" }, { "\xc2\x85\xc2\xa0", "\xef\xbf\xbd\xc2\xa0" },
		{ "\xef\xbf\xbe\xef\xb7\x90\xf0\x9f\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, { "\xf0\x9f\x8e\xac", "\xf0\x9f\x8e\xac" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(found(page_of(cases[i].in, "{}"), "//a"), cases[i].out);
	assert_string_equal(found(page_of(NULL, "{}"), "//a"), "");
}

static void
only_addresses_that_lead_somewhere_harmless_are_written(void **state)
{
	static const char *const good[] = { "https://a.example/?b=c&d=%22", "HTTP://a", "mailto:a@b.example",
	    "/watch/x?t=1:2", "x/y:z", "?a:b", "#a:b", "", "//a.example/b" };
	static const char *const bad[] = { "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x",
	    "java\nscript:alert(1)", " javascript:alert(1)", "\x01javascript:alert(1)", "vbscript:x", "https\t:x",
	    "file:///etc/passwd", ":x", "/a b" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_string_equal(found(page_of(good[i], "{}"), "//a/@href"), good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_string_equal(found(page_of(bad[i], "{}"), "//a/@href"), "about:invalid#");
}

/* Mostly what means something to a parser. */
static char *
random_text(unsigned *seed)
{
	static const char telling[] = "<>&\"'=/-!;#x \t\n\r]`\\{}\xe2\x80\xa8\xc3\xa9\xff\x01" "scriptamp";
	size_t n = (size_t)rand_r(seed) % 60, i;
	char *text = arena_alloc(mem, n + 1);

	for (i = 0; i < n; i++)
		text[i] = rand_r(seed) % 4 ? telling[(size_t)rand_r(seed) % (sizeof(telling) - 1)] :
		    (char)(1 + rand_r(seed) % 255);
	return text;
}

/* The same by the words of html.h, byte by byte. */
static const char *
as_it_should_come_back(const char *text)
{
	struct buf b = BUF(mem);
	size_t n = strlen(text), i, k;

	for (i = 0; i < n; i += k) {
		for (k = 1; k <= 4 && i + k <= n && !utf8_valid(text + i, k); k++)
			;
		if (k > 4 || i + k > n)
			k = 0;
		if (k == 0 || (k == 1 && (unsigned char)text[i] < 0x20 && strchr("\t\n\r", text[i]) == NULL) ||
		    text[i] == 0x7f || (k == 2 && (unsigned char)text[i] == 0xc2 && (unsigned char)text[i + 1] < 0xa0))
			buf_text(&b, "\xef\xbf\xbd");
		else
			buf_add(&b, text + i, k);
		k += k == 0;
	}
	return buf_string(&b);
}

static void
ten_thousand_random_texts_come_back_from_a_parser_as_they_were(void **state)
{
	unsigned seed = 20261122;
	int i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		const char *value = random_text(&seed), *wanted = as_it_should_come_back(value);
		struct buf page = page_of(value, json_of(value));
		const char *data = found(page, "//script"), *address = found(page, "//a/@href");

		assert_string_equal(found(page, "//a"), wanted);
		assert_string_equal(found(page, "//a/@title"), wanted);
		assert_string_equal(found(page, "concat(count(//*), ' ', count(//@*))"), "6 7");
		assert_true(json_valid(mem, data, strlen(data)));
		assert_true(strcmp(address, "about:invalid#") == 0 || strcmp(address, wanted) == 0);
		arena_reset(mem);
	}
}

/* Does building it so end the process? */
static bool
ends(void (*build)(struct html *))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct html h = html_new(mem);

		signal(SIGABRT, SIG_DFL);
		html_el(&h, "p");
		build(&h);
		html_done(&h);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void as_it_should_be(struct html *h) { html_attr(h, "class", "x"); html_text(h, "x"); html_end(h); }
static void left_open(struct html *h) { html_text(h, "x"); }
static void an_end_too_many(struct html *h) { html_end(h); html_end(h); }
static void an_attribute_behind_text(struct html *h) { html_text(h, "x"); html_attr(h, "class", "x"); html_end(h); }
static void an_address_as_text(struct html *h) { html_attr(h, "href", "x"); html_end(h); }
static void a_style(struct html *h) { html_attr(h, "style", "x"); html_end(h); }
static void a_handler(struct html *h) { html_attr(h, "onclick", "x"); html_end(h); }
static void text_in_a_script(struct html *h) { html_el(h, "script"); html_text(h, "x"); html_end(h); html_end(h); }

static void
a_page_built_wrongly_ends_the_process(void **state)
{
	static void (*const wrong[])(struct html *) = { left_open, an_end_too_many, an_attribute_behind_text,
	    an_address_as_text, a_style, a_handler, text_in_a_script };
	size_t i;

	(void)state;
	assert_false(ends(as_it_should_be));
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!ends(wrong[i]))
			fail_msg("way %zu goes on", i);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_escapes_what_would_end_it),
		cmocka_unit_test(what_no_document_may_hold_is_replaced),
		cmocka_unit_test(only_addresses_that_lead_somewhere_harmless_are_written),
		cmocka_unit_test(ten_thousand_random_texts_come_back_from_a_parser_as_they_were),
		cmocka_unit_test(a_page_built_wrongly_ends_the_process),
	};

	return cmocka_run_group_tests(tests, open_arena, close_arena);
}
