/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transcripts as documents: read back by libzip, libxml2, our reader of office files, and LibreOffice where it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <libxml/parser.h>
#include <zip.h>

#include "media/docx.h"
#include "media/office.h"
#include "media/transcript.h"

static char home[] = "/tmp/kinothek-docx-XXXXXX";
static struct arena *mem;
static struct paragraph said[] = {
	{ .start = { 0, true }, .end = { 4000, true }, .speaker = "Ada", .text = "Good evening." },
	{ .start = { 4000, true }, .end = { 9000, true }, .speaker = "Ada", .text = "Two & two < five." },
	{ .start = { 61000, true }, .end = { 65000, true }, .speaker = "Bob \"the\" Builder", .text = "Größe." },
	{ .start = { 70000, true }, .end = { 75000, true }, .text = "Nobody knows." },
};
static struct docx_heading headings[] = { { "Welcome", { 0, true } }, { "Figures & facts", { 62000, true } },
    { "After all", { 90000, true } } };
static const struct list paragraphs = { said, 4 };

static struct docx
plain(void)
{
	return (struct docx){ .title = "Council", .description = "About cats", .facts = "2026-11-20", .language = "en",
	    .font = "Calibri", .points = 11, .colour = { 0x1f, 0x3a, 0x5f }, .headings = { headings, 3 },
	    .paragraphs = &paragraphs, .has_cover = true, .has_header = true, .has_footer = true, .has_times = true,
	    .has_speakers = true, .has_chapters = true, .changed_at = { 1795000000000 } };
}

/* A part as text; NULL: there is none. */
static const char *
part(struct buf file, const char *name)
{
	zip_error_t error;
	zip_source_t *source = zip_source_buffer_create(file.text, file.len, 0, &error);
	zip_t *zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
	zip_stat_t st;
	zip_file_t *f;
	char *out = NULL;

	assert_non_null(zip);
	if (zip_stat(zip, name, 0, &st) == 0) {
		out = arena_alloc(mem, st.size + 1);
		f = zip_fopen(zip, name, 0);
		assert_int_equal(zip_fread(f, out, st.size), st.size);
		zip_fclose(f);
	}
	zip_discard(zip);
	return out;
}

static const char *
text_of(struct buf file)
{
	struct buf text = BUF(mem);

	assert_int_equal(office_text(file.text, file.len, "docx", 1 << 20, &text), REASON_NONE);
	return buf_string(&text);
}

/* Where it stands, which is behind `from`. */
static const char *
after(const char *from, const char *what)
{
	const char *found = strstr(from, what);

	if (found == NULL)
		fail_msg("%s does not come in %s", what, from);
	return found;
}

static void
everything_stands_in_its_order(void **state)
{
	const struct docx d = plain();
	const char *text = text_of(docx_write(mem, &d)), *p = text;
	static const char *const order[] = { "Council", "2026-11-20", "About cats", "Welcome", "0:00", "Ada",
	    "Good evening.", "0:04", "Two & two < five.", "Figures & facts", "1:01", "Bob \"the\" Builder", "Größe.",
	    "1:10", "Nobody knows.", "After all" };

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		p = after(p, order[i]) + 1;
	/* Once for both paragraphs. */
	assert_null(strstr(strstr(text, "Ada") + 1, "Ada"));
}

static void
who_speaks_can_be_left_out_and_hours_come_with_long_ones(void **state)
{
	struct paragraph long_one = { .start = { 3723000, true }, .end = { 3725000, true }, .speaker = "Ada",
	    .text = "End." };
	const struct list one = { &long_one, 1 };
	struct docx d = plain();

	(void)state;
	d.has_speakers = false;
	d.paragraphs = &one;
	assert_null(strstr(text_of(docx_write(mem, &d)), "Ada"));
	after(text_of(docx_write(mem, &d)), "1:02:03");
}

static void
each_of_its_parts_can_be_left_out(void **state)
{
	struct docx d = plain();
	const char *text, *xml;

	(void)state;
	d.has_cover = d.has_times = d.has_chapters = d.has_footer = false;
	d.header = "City <archive>";
	text = text_of(docx_write(mem, &d));
	assert_null(strstr(text, "About cats"));
	assert_null(strstr(text, "0:00"));
	assert_null(strstr(text, "Welcome"));
	after(text, "Good evening.");
	xml = part(docx_write(mem, &d), "word/document.xml");
	assert_null(strstr(xml, "footerReference"));
	assert_null(strstr(xml, "<w:titlePg/>"));
	assert_null(strstr(xml, "w:type=\"page\""));
	after(xml, "headerReference");
	after(part(docx_write(mem, &d), "word/header.xml"), "City &lt;archive&gt;");
	assert_null(strstr(part(docx_write(mem, &d), "word/styles.xml"), "w:hanging"));
	d.has_header = false;
	assert_null(strstr(part(docx_write(mem, &d), "word/document.xml"), "headerReference"));
}

static void
all_sizes_grow_with_the_text_and_headings_may_have_a_font_of_their_own(void **state)
{
	struct docx d = plain();
	const char *xml;

	(void)state;
	d.footer = "Minutes";
	after(part(docx_write(mem, &d), "word/footer.xml"), "Minutes");
	xml = part(docx_write(mem, &d), "word/styles.xml");
	after(after(xml, "<w:docDefaults>"), "<w:sz w:val=\"22\"/>");
	after(after(xml, "w:styleId=\"Title\""), "<w:sz w:val=\"56\"/>");
	assert_null(strstr(xml, "Cambria"));
	d.points = 14;
	d.heading_font = "Cambria";
	d.text_colour = (struct colour){ 0x22, 0x22, 0x44 };
	xml = part(docx_write(mem, &d), "word/styles.xml");
	after(after(xml, "<w:docDefaults>"), "<w:color w:val=\"222244\"/><w:sz w:val=\"28\"/>");
	after(after(xml, "w:styleId=\"Heading1\""), "<w:rFonts w:ascii=\"Cambria\"");
	after(after(xml, "w:styleId=\"Title\""), "<w:sz w:val=\"71\"/>");
}

static void
each_part_is_well_formed_whatever_the_words_hold(void **state)
{
	static const char *const parts[] = { "[Content_Types].xml", "_rels/.rels", "docProps/core.xml",
	    "word/document.xml",
	    "word/styles.xml", "word/header.xml", "word/footer.xml", "word/_rels/document.xml.rels" };
	static const char odd[] =
	    "]]>&amp;<w:p/>\x01\x02\x08\x0b\x1f\x7f\r\n\t\"'\xef\xbf\xbe\xef\xbf\xbf\xf0\x9f\x98\x80\xe2\x80\xae";
	struct paragraph p = { .text = odd, .speaker = odd };
	const struct list one = { &p, 1 };
	struct docx_heading h = { odd, { 0, true } };
	struct docx d = plain();
	struct buf file;

	(void)state;
	d.title = d.description = d.facts = d.origin = odd;
	d.headings = (struct list){ &h, 1 };
	d.paragraphs = &one;
	file = docx_write(mem, &d);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *xml = part(file, parts[i]);
		xmlDoc *doc = xmlReadMemory(xml, (int)strlen(xml), parts[i], NULL, XML_PARSE_NONET);

		if (doc == NULL)
			fail_msg("%s is not well-formed: %s", parts[i], xml);
		xmlFreeDoc(doc);
	}
	after(part(file, "word/document.xml"), "\xf0\x9f\x98\x80");
	assert_memory_equal(file.text + 30, "[Content_Types].xml", 19);
}

static void
a_logo_keeps_its_shape_and_fits(void **state)
{
	static const char bytes[] = "not looked at";
	struct docx_picture logo = { bytes, sizeof(bytes), "image/jpeg", 100, 50 };
	struct docx d = plain();
	struct buf file;

	(void)state;
	assert_null(part(docx_write(mem, &d), "word/_rels/header.xml.rels"));
	d.logo = &logo;
	file = docx_write(mem, &d);
	after(part(file, "word/document.xml"), "<wp:extent cx=\"1728000\" cy=\"864000\"/>");
	after(part(file, "word/header.xml"), "<wp:extent cx=\"648000\" cy=\"324000\"/>");
	after(part(file, "word/_rels/header.xml.rels"), "Target=\"media/logo.jpeg\"");
	assert_string_equal(part(file, "word/media/logo.jpeg"), bytes);
	logo.width = 4096;
	logo.height = 1;
	file = docx_write(mem, &d);
	after(part(file, "word/document.xml"), "<wp:extent cx=\"2520000\" cy=\"615\"/>");
}

static void
what_is_written_from_right_to_left_begins_at_the_right(void **state)
{
	struct docx d = plain();

	(void)state;
	assert_null(strstr(part(docx_write(mem, &d), "word/styles.xml"), "<w:bidi/>"));
	d.language = "ar-EG";
	after(part(docx_write(mem, &d), "word/styles.xml"), "<w:bidi/>");
	d.language = "arn";
	assert_null(strstr(part(docx_write(mem, &d), "word/styles.xml"), "<w:bidi/>"));
}

static void
the_same_words_make_the_same_file(void **state)
{
	const struct docx d = plain();
	struct buf one = docx_write(mem, &d), other = docx_write(mem, &d);

	(void)state;
	assert_int_equal(one.len, other.len);
	assert_memory_equal(one.text, other.text, one.len);
}

/* How many of "Line 0", "Line 1" and so on come in their order. */
static int
lines_of(const char *text)
{
	int found = 0;

	for (; *text != '\0'; text++)
		found += *text == 'L' && strncmp(text, "Line ", 5) == 0 && atoi(text + 5) == found;
	return found;
}

/* Of a recording of days: read by two readers. */
static void
a_hundred_thousand_paragraphs_are_all_there(void **state)
{
	enum { MANY = 100000 };
	struct arena *const before = mem;
	struct paragraph *many;
	struct list all;
	struct docx d = plain();
	struct buf file, text;
	const char *document;
	xmlDoc *doc;
	int i;

	(void)state;
	mem = arena_new((size_t)2 << 30);
	many = arena_array(mem, MANY, sizeof(*many));
	for (i = 0; i < MANY; i++)
		many[i] = (struct paragraph){ .start = { 4000 * (int64_t)i, true }, .end = { 4000 * (int64_t)i + 3000,
		    true }, .speaker = i % 2 ? "Ada" : "Bob", .text = arena_printf(mem, "Line %d.", i) };
	all = (struct list){ many, MANY };
	d.paragraphs = &all;
	file = docx_write(mem, &d);
	text = BUF(mem);
	assert_int_equal(office_text(file.text, file.len, "docx", 64 << 20, &text), REASON_NONE);
	assert_int_equal(lines_of(buf_string(&text)), MANY);
	document = part(file, "word/document.xml");
	assert_int_equal(lines_of(document), MANY);
	doc = xmlReadMemory(document, (int)strlen(document), NULL, NULL, XML_PARSE_HUGE | XML_PARSE_NONET);
	assert_non_null(doc);
	xmlFreeDoc(doc);
	arena_free(mem);
	mem = before;
}

static void
libreoffice_opens_it(void **state)
{
	const struct docx d = plain();
	const struct buf file = docx_write(mem, &d);
	FILE *f;

	(void)state;
	if (system("command -v soffice pdftotext >/dev/null") != 0)
		skip();
	f = fopen(arena_printf(mem, "%s/a.docx", home), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(file.text, 1, file.len, f), file.len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(system(arena_printf(mem, "cd %s && timeout 240 soffice "
	    "-env:UserInstallation=file://%s/profile "
	    "--headless --convert-to pdf a.docx >/dev/null 2>&1 && pdftotext a.pdf - | tr '\\n' ' ' >a.txt && grep -q "
	    "'Figures & facts' a.txt && grep -q 'Two & two < five' a.txt && [ \"$(pdfinfo a.pdf | sed -n 's/^Pages: *//p')\" "
	    "= 2 ]", home, home)), 0);
	/* Headings and names have the colour of the design on the page that people see. */
	assert_int_equal(system(arena_printf(mem, "cd %s && pdftoppm -r 100 -f 2 -l 2 -png a.pdf page && convert "
	    "page-2.png -format %%c histogram:info: >colours && [ \"$(sed -n 's/^ *\\([0-9]*\\):.*#1F3A5F.*/\\1/p' colours)\" "
	    "-ge 100 ]", home)), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_stands_in_its_order),
		cmocka_unit_test(who_speaks_can_be_left_out_and_hours_come_with_long_ones),
		cmocka_unit_test(each_of_its_parts_can_be_left_out),
		cmocka_unit_test(all_sizes_grow_with_the_text_and_headings_may_have_a_font_of_their_own),
		cmocka_unit_test(each_part_is_well_formed_whatever_the_words_hold),
		cmocka_unit_test(a_logo_keeps_its_shape_and_fits),
		cmocka_unit_test(what_is_written_from_right_to_left_begins_at_the_right),
		cmocka_unit_test(the_same_words_make_the_same_file),
		cmocka_unit_test(a_hundred_thousand_paragraphs_are_all_there),
		cmocka_unit_test(libreoffice_opens_it),
	};
	char line[128];
	int status;

	mem = arena_new(256 << 20);
	if (mkdtemp(home) == NULL)
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(line, sizeof(line), "rm -rf %s", home);
	if (system(line) != 0)
		fprintf(stderr, "%s is left behind\n", home);
	arena_free(mem);
	xmlCleanupParser();
	return status;
}
