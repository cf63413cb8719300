/* SPDX-License-Identifier: GPL-3.0-or-later */
/* media/document.c and media/office.c: files made here, read by poppler and the built kinothek-image in the jail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zip.h>

#include "core/buf.h"
#include "media/document.h"
#include "media/image.h"
#include "core/jail.h"

static char home[] = "/tmp/kinothek-document-XXXXXX";
static struct arena *mem;

static const char *
at(const char *name)
{
	return arena_printf(mem, "%s/%s", home, name);
}

static const char *
write_file(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(at(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	return at(name);
}

static struct document
read_as(const char *path, const char *format)
{
	char line[256];

	snprintf(line, sizeof(line), "rm -rf %s/out && mkdir %s/out", home, home);
	assert_int_equal(system(line), 0);
	return document_read(mem, path, format, 100, at("out"));
}

/* A PDF of n pages, each with its number; `more` goes into the catalog, `trailer` into the trailer. */
static struct buf
pdf(int n, const char *more, const char *trailer)
{
	struct buf b = BUF(mem);
	size_t *offsets = arena_array(mem, (size_t)n * 2 + 4, sizeof(*offsets)), xref;
	int i, objects = 3 + 2 * n;

	buf_text(&b, "%PDF-1.4\n");
	offsets[1] = b.len;
	buf_printf(&b, "1 0 obj\n<</Type/Catalog/Pages 2 0 R%s>>\nendobj\n", more);
	offsets[2] = b.len;
	buf_text(&b, "2 0 obj\n<</Type/Pages/Kids[");
	for (i = 0; i < n; i++)
		buf_printf(&b, "%d 0 R ", 4 + 2 * i);
	buf_printf(&b, "]/Count %d/MediaBox[0 0 300 200]>>\nendobj\n", n);
	offsets[3] = b.len;
	buf_text(&b, "3 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\n");
	for (i = 0; i < n; i++) {
		const char *text = arena_printf(mem, "BT /F 24 Tf 20 100 Td (Page number %d) Tj ET", i + 1);

		offsets[4 + 2 * i] = b.len;
		buf_printf(&b, "%d 0 obj\n<</Type/Page/Parent 2 0 R/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 "
		    "R>>\nendobj\n", 4 + 2 * i, 5 + 2 * i);
		offsets[5 + 2 * i] = b.len;
		buf_printf(&b, "%d 0 obj\n<</Length %zu>>stream\n%s\nendstream\nendobj\n", 5 + 2 * i, strlen(text),
		    text);
	}
	xref = b.len;
	buf_printf(&b, "xref\n0 %d\n0000000000 65535 f \n", objects + 1);
	for (i = 1; i <= objects; i++)
		buf_printf(&b, "%010zu 00000 n \n", offsets[i]);
	buf_printf(&b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%zu\n%%%%EOF\n", objects + 1, trailer, xref);
	return b;
}

static const char *
json_of(const char *text, int64_t cut_at)
{
	return document_json(mem, text, &cut_at);
}

/* What is written into a PDF about it, in its catalog. */
static enum reason
says(const char *xmp, const char **members)
{
	const char *bytes = arena_printf(mem, "%%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R/Metadata 4 0 R>>\n"
	    "endobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 200 200]>>\nendobj\n3 0 obj\n<</Type/Page/Parent "
	    "2 0 R>>\nendobj\n4 0 obj\n<</Type/Metadata/Subtype/XML/Length %zu>>stream\n%s\nendstream\nendobj\ntrailer\n"
	    "<</Size 5/Root 1 0 R>>\n%%%%EOF\n", strlen(xmp), xmp);

	return document_xmp(mem, write_file("said.pdf", bytes, strlen(bytes)), members).reason;
}

static void
what_a_pdf_says_of_itself_is_told(void **state)
{
	const struct buf plain = pdf(1, "", "");
	const char *members;

	assert_int_equal(document_xmp(mem, write_file("plain.pdf", plain.text, plain.len), &members).reason,
	    REASON_NONE);
	assert_string_equal(members, "");
	assert_int_equal(says("<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description "
	    "xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title><rdf:Alt><rdf:li>\"Br\xc3\xbc" "cken\"</rdf:li></rdf:Alt>"
	    "</dc:title><dc:subject><rdf:Bag><rdf:li>stone</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF>",
	    &members), REASON_NONE);
	assert_string_equal(members, ",\"title\":\"\\\"Br\xc3\xbc" "cken\\\"\",\"keywords\":[\"stone\"]");
	assert_int_equal(says("<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>]><x>&a;</x>", &members), REASON_DECODE_FAILED);
	assert_string_equal(members, "");
	assert_int_equal(says("<x", &members), REASON_DECODE_FAILED);
}

static void
a_pdf_gives_pages_text_and_a_picture_of_the_first(void **state)
{
	struct buf b = pdf(3, "", "");
	struct document d = read_as(write_file("a.pdf", b.text, b.len), "pdf");
	int64_t pages, width, height;
	const char *seen;

	assert_int_equal(d.fault.reason, REASON_NONE);
	assert_int_equal(d.pages, 3);
	assert_string_equal(json_of(d.text, 0), "{\"pages\":[{\"page\":1,\"text\":\"Page number 1\"},"
	    "{\"page\":2,\"text\":\"Page number 2\"},{\"page\":3,\"text\":\"Page number 3\"}]}");
	assert_true(image_header_file(arena_printf(mem, "%s/out/%s", home, d.preview), &width, &height, &seen));
	assert_int_equal(width, 1600);
	assert_string_equal(d.pdf, at("a.pdf"));
	assert_int_equal(document_probe(mem, at("a.pdf"), "pdf", 3, &pages).reason, REASON_NONE);
	assert_int_equal(pages, 3);
	assert_int_equal(document_probe(mem, at("a.pdf"), "pdf", 2, &pages).reason, REASON_TOO_MANY_PAGES);
}

static void
a_pdf_that_cannot_be_read_says_why(void **state)
{
	static const char lock[] = "/Encrypt<</Filter/Standard/V 1/R 2/P -44/O<00112233445566778899aabbccddeeff"
	    "00112233445566778899aabbccddeeff>/U<00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff>>>"
	    "/ID[<00112233445566778899aabbccddeeff><00112233445566778899aabbccddeeff>]";
	struct buf b = pdf(1, "", lock);
	struct document d = read_as(write_file("locked.pdf", b.text, b.len), "pdf");

	assert_int_equal(d.fault.reason, REASON_ENCRYPTED);
	d = read_as(write_file("cut.pdf", "%PDF-1.4\n1 0 obj\n<<", 20), "pdf");
	assert_int_equal(d.fault.reason, REASON_TRUNCATED);
	d = read_as(write_file("none.pdf", "%PDF-1.4\ntrailer <</Root 1 0 R>>\n%%EOF", 38), "pdf");
	assert_int_not_equal(d.fault.reason, REASON_NONE);
	b = pdf(101, "", "");
	d = read_as(write_file("long.pdf", b.text, b.len), "pdf");
	assert_int_equal(d.fault.reason, REASON_TOO_MANY_PAGES);
	assert_null(d.preview);
}

static void
the_title_of_a_pdf_does_not_count_its_pages(void **state)
{
	struct buf b = pdf(3, "", "/Info<</Title(x\\nPages: 1\\n)/Author(y\\nPages: 101)>>");
	int64_t pages;

	write_file("title.pdf", b.text, b.len);
	assert_int_equal(document_probe(mem, at("title.pdf"), "pdf", 3, &pages).reason, REASON_NONE);
	assert_int_equal(pages, 3);
	assert_int_equal(document_probe(mem, at("title.pdf"), "pdf", 2, &pages).reason, REASON_TOO_MANY_PAGES);
}

static void
what_a_pdf_would_have_done_is_not_done(void **state)
{
	struct buf b =
	    pdf(1, "/OpenAction<</S/Launch/F(/bin/touch)/P(/tmp/kinothek-launched)>>"
	    "/AA<</O<</S/JavaScript/JS(app.alert\\(1\\))>>>>"
	    "/Names<</EmbeddedFiles<</Names[(../../x)4 0 R]>>>>", "");
	struct document d = read_as(write_file("act.pdf", b.text, b.len), "pdf");

	assert_int_equal(d.fault.reason, REASON_NONE);
	assert_int_equal(d.pages, 1);
	assert_int_not_equal(access("/tmp/kinothek-launched", F_OK), 0);
}

struct member { const char *name, *text; };

/* A ZIP of these members, up to one without a name. */
static const char *
zip_of(const char *name, const struct member *members)
{
	zip_int64_t i;
	int error;
	zip_t *z = zip_open(at(name), ZIP_CREATE | ZIP_TRUNCATE, &error);

	assert_non_null(z);
	for (; members->name != NULL; members++) {
		i = zip_file_add(z, members->name, zip_source_buffer(z, members->text, strlen(members->text), 0),
		    ZIP_FL_OVERWRITE);
		assert_true(i >= 0);
		assert_int_equal(zip_set_file_compression(z, (zip_uint64_t)i, ZIP_CM_DEFLATE, 1), 0);
	}
	assert_int_equal(zip_close(z), 0);
	return at(name);
}

static enum reason
direct(const char *path, const char *format, const char **text)
{
	return image_helper(mem, (const char *const[]){ "office", format, NULL }, path, NULL, text).reason;
}

#define TYPES { "[Content_Types].xml", "<Types/>" }
#define W "<w:document xmlns:w='w' xmlns:mc='mc'><w:body>"

static void
text_of_office_files_is_read_without_libreoffice(void **state)
{
	static const struct { const char *format, *text; struct member members[6]; } rows[] = {
		{ "docx", "One & t\xc3\xbc\nTab\there\n\fNew page\nShape\nCell\n\tTwo\n\t\n", { TYPES,
		    { "word/document.xml", W "<w:p><w:r><w:t>One &amp; "
		    "t&#xfc;</w:t><w:delText>gone</w:delText></w:r></w:p><w:p><w:r><w:t>Tab</w:t><w:tab/>"
		    "<w:t>here</w:t></w:r></w:p><w:p><w:r><w:instrText>PAGE</w:instrText></w:r>"
		    "<w:r><w:br w:type='page'/><w:t>New "
		    "page</w:t></w:r></w:p><mc:AlternateContent><mc:Choice><w:p><w:t>Shape</w:t></w:p></mc:Choice>"
		    "<mc:Fallback><w:p><w:t>Shape</w:t></w:p></mc:Fallback></mc:AlternateContent>"
		    "<w:tbl><w:tr><w:tc><w:p><w:t>Cell</w:t></w:p></w:tc><w:tc><w:p><w:t>Two</w:t></w:p></w:tc></w:tr></w:tbl>"
		    "</w:body></w:document>" } } },
		{ "pptx", "first\n\fsecond\n\ftenth\n", { TYPES, { "ppt/presentation.xml", "<p/>" },
		    { "ppt/slides/slide10.xml", "<p:sld xmlns:p='p' "
		    "xmlns:a='a'><a:p><a:r><a:t>tenth</a:t></a:r></a:p></p:sld>" }, { "ppt/slides/slide2.xml",
		    "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>second</a:t></a:r></a:p></p:sld>" },
		    { "ppt/slides/slide1.xml", "<p:sld xmlns:p='p' "
		    "xmlns:a='a'><a:p><a:r><a:t>first</a:t></a:r></a:p></p:sld>" } } },
		{ "xlsx", "Name\t42\t\nin place\t\t\n", { TYPES, { "xl/workbook.xml", "<w/>" },
		    { "xl/sharedStrings.xml", "<sst><si><t>unused</t></si><si><r><t>Na</t></r><r><t>me</t></r></si></sst>" },
		    { "xl/worksheets/sheet1.xml", "<worksheet><sheetData><row><c "
		    "t='s'><v>1</v></c><c><v>42</v></c></row><row><c t='inlineStr'><is><t>in place</t></is></c><c "
		    "t='s'><v>99</v></c></row></sheetData></worksheet>" } } },
		{ "odt", "Title\nA b\tc\n\fNext\n", { { "content.xml", "<office:d xmlns:office='o' xmlns:text='t'><text:tracked-changes>"
		    "<text:p>deleted</text:p></text:tracked-changes><text:h>Title</text:h><text:p>A<text:s/>b<text:tab/>c</text:p>"
		    "<text:p><text:soft-page-break/>Next</text:p></office:d>" } } },
		{ "odp", "One\n\fTwo\n", { { "content.xml", "<o:d xmlns:o='o' xmlns:draw='d' xmlns:text='t'><draw:page><text:p>One</text:p>"
		    "</draw:page><draw:page><text:p>Two</text:p></draw:page></o:d>" } } },
		{ "ods", "a\tb\t\n", { { "content.xml", "<o:d xmlns:o='o' xmlns:table='d' xmlns:text='t'><table:table><table:table-row>"
		    "<table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell>"
		    "</table:table-row></table:table></o:d>" } } },
	};
	const char *text;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(direct(zip_of("office", rows[i].members), rows[i].format, &text), REASON_NONE);
		assert_string_equal(text, rows[i].text);
	}
}

static void
no_entity_is_expanded_and_no_other_file_is_read(void **state)
{
	static const struct member rows[][3] = {
		{ TYPES, { "word/document.xml", "<!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" W
		    "<w:p><w:t>&x;</w:t></w:p></w:body></w:document>" } },
		{ TYPES, { "word/document.xml", "<!DOCTYPE d [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
		    "<!ENTITY c "
		    "'&b;&b;&b;&b;&b;&b;&b;&b;&b;'>]>" W "<w:p><w:t>&c;</w:t></w:p></w:body></w:document>" } },
		{ TYPES, { "word/document.xml", "<!DOCTYPE d SYSTEM 'http://127.0.0.1/x.dtd'>" W "</w:body></w:document>" } },
	};
	const char *text, *path;
	struct document d;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		path = zip_of("xxe.docx", rows[i]);
		assert_int_equal(direct(path, "docx", &text), REASON_FORMAT_NOT_ALLOWED);
		d = read_as(path, "docx");
		assert_int_equal(d.fault.reason, REASON_FORMAT_NOT_ALLOWED);
		assert_null(d.text);
	}
	path = zip_of("entity.docx", (const struct member[]){ TYPES, { "word/document.xml", W
	    "<w:p><w:t>&x;</w:t></w:p></w:body></w:document>" }, { NULL } });
	assert_int_equal(direct(path, "docx", &text), REASON_DECODE_FAILED);
}

static void
what_inflates_without_end_is_stopped(void **state)
{
	size_t n = (size_t)130 << 20;
	char *text = malloc(n + 1);
	const char *path, *out;
	struct document d;

	/* Blanks between elements are no text: only the count of inflated bytes can stop these. */
	memset(text, ' ', n);
	memcpy(text, "<d>", 3);
	text[n] = '\0';
	path = zip_of("bomb.docx", (const struct member[]){ TYPES, { "word/document.xml", text }, { NULL } });
	d = read_as(path, "docx");
	assert_int_equal(d.fault.reason, REASON_FORMAT_NOT_ALLOWED);

	/* Members that we do not read, LibreOffice does. */
	path = zip_of("aside.docx", (const struct member[]){ TYPES, { "word/document.xml", "<d/>" },
	    { "word/styles.xml", text }, { NULL } });
	d = read_as(path, "docx");
	assert_int_equal(d.fault.reason, REASON_FORMAT_NOT_ALLOWED);

	/* Text beyond what is kept is cut, not refused. */
	memset(text, 'a', (size_t)20 << 20);
	memcpy(text, "<d xmlns:w='w'><w:t>", 20);
	text[20 << 20] = '\0';
	path = zip_of("long.docx", (const struct member[]){ TYPES, { "word/document.xml", text }, { NULL } });
	assert_int_equal(direct(path, "docx", &out), REASON_NONE);
	assert_int_equal(strlen(out), DOCUMENT_TEXT_MAX);
	assert_true(strlen(json_of(out, 0)) <= 8 << 20);
	free(text);
}

static void
text_may_reach_its_limit_between_two_slides(void **state)
{
	static const char head[] = "<d xmlns:a='a'><a:t>", tail[] = "</a:t></d>";
	const size_t n = DOCUMENT_TEXT_MAX - 1;
	char *text = arena_alloc(mem, sizeof(head) + n + sizeof(tail));
	const char *path, *out;

	memcpy(text, head, sizeof(head) - 1);
	memset(text + sizeof(head) - 1, 'a', n);
	memcpy(text + sizeof(head) - 1 + n, tail, sizeof(tail));
	path = zip_of("full.pptx", (const struct member[]){ TYPES, { "ppt/slides/slide1.xml", text },
	    { "ppt/slides/slide2.xml", "<d xmlns:a='a'><a:t>x</a:t></d>" }, { NULL } });
	assert_int_equal(direct(path, "pptx", &out), REASON_NONE);
	assert_int_equal(strlen(out), DOCUMENT_TEXT_MAX);
	assert_int_equal(out[n], '\f');
}

static void
damaged_and_protected_office_files_say_so(void **state)
{
	static const char words[] = "<o:d xmlns:o='o' xmlns:text='t'><text:p>x</text:p></o:d>";
	const char *path, *text;
	struct document d;
	int error;
	zip_t *z;

	assert_int_equal(direct(write_file("x.docx", "PK\3\4 nothing", 12), "docx", &text), REASON_TRUNCATED);
	path = zip_of("x.docx", (const struct member[]){ TYPES, { "word/document.xml", W "<w:p><w:t>cut" }, { NULL } });
	assert_int_equal(direct(path, "docx", &text), REASON_DECODE_FAILED);
	path = zip_of("x.docx", (const struct member[]){ TYPES, { NULL } });
	assert_int_equal(direct(path, "docx", &text), REASON_TRUNCATED);
	path = zip_of("x.odt", (const struct member[]){ { "content.xml", "\x93\x12" }, { "META-INF/manifest.xml",
	    "<manifest:manifest><manifest:encryption-data/></manifest:manifest>" }, { NULL } });
	assert_int_equal(direct(path, "odt", &text), REASON_ENCRYPTED);
	d = read_as(path, "odt");
	assert_int_equal(d.fault.reason, REASON_ENCRYPTED);

	path = zip_of("y.odt", (const struct member[]){ { "content.xml", words }, { NULL } });
	z = zip_open(path, 0, &error);
	assert_int_equal(zip_file_set_encryption(z, 0, ZIP_EM_AES_256, "secret"), 0);
	assert_int_equal(zip_close(z), 0);
	assert_int_equal(direct(path, "odt", &text), REASON_ENCRYPTED);
}

static bool
has_libreoffice(void)
{
	return access("/usr/lib/libreoffice/program", R_OK) == 0;
}

static void
office_files_become_pages_or_say_what_is_missing(void **state)
{
	struct document d = read_as(write_file("a.rtf", "{\\rtf1\\ansi Hello from RTF}", 27), "rtf");
	const char *path;
	int64_t pages;

	if (has_libreoffice()) {
		assert_int_equal(d.fault.reason, REASON_NONE);
		assert_int_equal(d.pages, 1);
		assert_non_null(strstr(d.text, "Hello from RTF"));
		assert_string_equal(d.engine, "libreoffice");
		assert_int_equal(access(d.pdf, R_OK), 0);
	} else {
		assert_int_equal(d.fault.reason, REASON_CONVERTER_MISSING);
		assert_int_equal(document_probe(mem, at("a.rtf"), "rtf", 9, &pages).reason, REASON_CONVERTER_MISSING);
	}
	/* A file that LibreOffice does not take still has its text. */
	path = zip_of("a.pptx", (const struct member[]){ TYPES, { "ppt/presentation.xml", "<p/>" },
	    { "ppt/slides/slide1.xml", "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>Only "
	    "text</a:t></a:r></a:p></p:sld>" }, { NULL } });
	d = read_as(path, "pptx");
	if (d.pdf == NULL) {
		assert_string_equal(d.engine, "kinothek");
		assert_int_equal(d.pages, 1);
		assert_non_null(d.preview);
	}
}

static void
text_is_utf8_whatever_it_was(void **state)
{
	static const struct { const char *bytes; size_t n; const char *text; } rows[] = {
		{ "Gr\xc3\xbc", 4, "Gr\xc3\xbc" },
		{ "\xef\xbb\xbfmark", 7, "mark" },
		{ "\xff\xfeH\0i\0\xe4\0\x3d\xd8\x00\xde", 12, "Hi\xc3\xa4\xf0\x9f\x98\x80" },
		{ "\xfe\xff\0H\0i\0\xe4", 8, "Hi\xc3\xa4" },
		{ "caf\xe9 \x80 \x93x\x94", 10, "caf\xc3\xa9 \xe2\x82\xac \xe2\x80\x9cx\xe2\x80\x9d" },
		{ "cut \xe4\xbd", 6, "cut " },
		{ "", 0, "" },
	};
	struct document d;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(document_utf8(mem, rows[i].bytes, rows[i].n), rows[i].text);
	d = read_as(write_file("u.txt", "\xff\xfeH\0\xe9\0\n\0", 8), "txt");
	assert_int_equal(d.fault.reason, REASON_NONE);
	assert_string_equal(d.text, "H\xc3\xa9\n");
	assert_string_equal(d.preview, "preview.png");
	assert_int_equal(d.pages, 0);
	assert_null(d.pdf);
}

static void
pages_are_numbered_cut_and_bounded(void **state)
{
	struct buf b = BUF(mem);
	const char *json;
	int i;

	assert_string_equal(json_of("", 0), "{\"pages\":[]}");
	assert_string_equal(json_of("one\n\f \f\fthree \x1b\"x\"\f", 0),
	    "{\"pages\":[{\"page\":1,\"text\":\"one\"},{\"page\":4,\"text\":\"three  \\\"x\\\"\"}]}");
	for (i = 0; i < 120; i++)
		buf_text(&b, "sixty characters of text make this line of the long document\n");
	json = json_of(buf_string(&b), 0);
	assert_non_null(strstr(json, "{\"page\":3,"));
	assert_null(strstr(json, "{\"page\":4,"));
	assert_null(strstr(json, "cutAt"));
	assert_string_equal(json_of("one\ftwo", 2),
	    "{\"pages\":[{\"page\":1,\"text\":\"one\"},{\"page\":2,\"text\":\"two\"}],\"cutAt\":2}");
	/* The longest there can be: characters that double. */
	b.len = 0;
	for (i = 0; i < DOCUMENT_TEXT_MAX; i++)
		buf_char(&b, i % 5000 == 0 ? '\f' : '"');
	json = json_of(buf_string(&b), 0);
	assert_true(strlen(json) <= 8 << 20);
	json = strstr(json, "}],\"cutAt\":");
	assert_non_null(json);
	assert_in_range(strtol(json + 11, NULL, 10), 700, 1400);
}

static void
pages_beyond_the_room_are_told(void **state)
{
	enum { LETTERS = 3 << 20 };
	char *text = arena_alloc(mem, LETTERS + 1);
	struct document_page pages[3] = { { 2, text, "tesseract 5", 1 }, { 5, text, "tesseract 5", 1 },
	    { 7, text, "tesseract 5", 1 } };
	int64_t cut_at = 0;

	memset(text, 'x', LETTERS);
	text[LETTERS] = '\0';
	assert_null(strstr(document_pages_json(mem, pages, 1, &cut_at), "cutAt"));
	assert_int_equal(cut_at, 0);
	assert_non_null(strstr(document_pages_json(mem, pages, 3, &cut_at), "}],\"cutAt\":5}"));
	assert_int_equal(cut_at, 5);
}

static void
a_copy_is_no_link(void **state)
{
	FILE *f;

	write_file("from", "abc", 3);
	assert_true(document_copy(at("from"), at("to")));
	f = fopen(at("to"), "w");
	fputs("changed", f);
	fclose(f);
	f = fopen(at("from"), "r");
	assert_int_equal(fgetc(f), 'a');
	fclose(f);
	assert_false(document_copy(at("absent"), at("to")));
}

static int
setup(void **state)
{
	if (getenv("KINOTHEK_BUILD") != NULL)
		setenv("KINOTHEK_LIBEXEC", getenv("KINOTHEK_BUILD"), 0);
	mem = arena_new((size_t)1 << 30);
	return mkdtemp(home) == NULL || jail_check(mem, false) != NULL;
}

static int
teardown(void **state)
{
	char line[128];

	arena_free(mem);
	snprintf(line, sizeof(line), "rm -rf %s", home);
	return system(line);
}

/* What the helper's end says of a document: only without LibreOffice is there no converter. */
static void
a_helper_that_ends_badly_is_no_missing_converter(void **state)
{
	static const struct { const char *end; enum reason reason; } rows[] = {
		{ "kill -KILL $$", REASON_INTERRUPTED }, { "kill -SEGV $$", REASON_CRASHED },
		{ "exit 1", REASON_CRASHED },	/* by a library; REASON_EMPTY_FILE is 1 */
		{ "exit 64", REASON_INTERNAL }, { "echo 'x: Stale file handle' >&2; exit 1", REASON_STORAGE },
	};
	const char *path = zip_of("a.docx", (const struct member[]){ TYPES, { "word/document.xml", W "</w:body>"
	    "</w:document>" }, { NULL } }), *script, *before = arena_copy(mem, getenv("KINOTHEK_LIBEXEC"));
	struct document d;
	size_t i;

	setenv("KINOTHEK_LIBEXEC", home, 1);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* Nor does LibreOffice get what was not checked to the end: its own bad end would show. */
		script = arena_printf(mem, "#!/bin/sh\n[ $1 != pdf ] || kill -FPE $$\n%s\n", rows[i].end);
		write_file("kinothek-image", script, strlen(script));
		assert_int_equal(chmod(at("kinothek-image"), 0755), 0);
		d = read_as(path, "docx");
		if (d.fault.reason != rows[i].reason || d.text != NULL)
			fail_msg("%s is %s", rows[i].end, reason_info(d.fault.reason)->code);
	}
	setenv("KINOTHEK_LIBEXEC", before, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pdf_gives_pages_text_and_a_picture_of_the_first),
		cmocka_unit_test(a_pdf_that_cannot_be_read_says_why),
		cmocka_unit_test(the_title_of_a_pdf_does_not_count_its_pages),
		cmocka_unit_test(what_a_pdf_would_have_done_is_not_done),
		cmocka_unit_test(text_of_office_files_is_read_without_libreoffice),
		cmocka_unit_test(no_entity_is_expanded_and_no_other_file_is_read),
		cmocka_unit_test(what_inflates_without_end_is_stopped),
		cmocka_unit_test(text_may_reach_its_limit_between_two_slides),
		cmocka_unit_test(damaged_and_protected_office_files_say_so),
		cmocka_unit_test(office_files_become_pages_or_say_what_is_missing),
		cmocka_unit_test(a_helper_that_ends_badly_is_no_missing_converter),
		cmocka_unit_test(text_is_utf8_whatever_it_was),
		cmocka_unit_test(what_a_pdf_says_of_itself_is_told),
		cmocka_unit_test(pages_are_numbered_cut_and_bounded),
		cmocka_unit_test(pages_beyond_the_room_are_told),
		cmocka_unit_test(a_copy_is_no_link),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
