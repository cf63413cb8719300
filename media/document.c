/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages and text of documents; see document.h.  Programs run in the jail, which reads the one file it is about. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unicode/ucnv.h>
#include <unistd.h>

#include "core/buf.h"
#include "media/document.h"
#include "media/image.h"
#include "core/jail.h"
#include "core/text.h"

#define PAGE_CHARACTERS 3000
#define JSON_MAX (8u << 20)
#define PAGE_SECONDS 60	/* for one page, whatever is done with it */
#define TEXT_SECONDS 600
#define READ_SIDE "2000"	/* pixels of a picture that is read: of more of them letters are told no better */

static struct document
failed(enum reason reason, const char *detail)
{
	return (struct document){ .fault = { .reason = reason, .detail = detail } };
}

/* Runs a program that reads `path` and writes into `dir`, where there is one. */
static bool
run(struct arena *mem, const char *const *argv, const char *path, const char *dir, struct jail_result *r,
    struct fault *fault)
{
	const char *const read[] = { path, NULL };
	const struct jail jail = { .argv = argv, .read = read, .write_dir = dir, .in = -1, .memory = INT64_C(2) << 30,
	    .file_size = INT64_C(1) << 30, .cpu_seconds = PAGE_SECONDS, .wall_seconds = 2 * PAGE_SECONDS,
	    .idle_seconds = 2 * PAGE_SECONDS, .threads_only = true };

	return jail_run(mem, &jail, r) || fault_of_jail(mem, &jail, r, fault);
}

/* What poppler's programs say of the file.  They exit with 99 when they do not know an argument. */
static void
blame_pdf(const struct jail_result *r, struct fault *fault)
{
	if (r->end != JAIL_EXITED || fault->reason != REASON_CRASHED)
		return;
	fault->detail = NULL;
	if (r->status == 99)
		fault->reason = REASON_INTERNAL;
	else if (strstr(r->err, "Incorrect password") != NULL || strstr(r->err, "encryption") != NULL)
		fault->reason = REASON_ENCRYPTED;
	else if (strstr(r->err, "trailer") != NULL || strstr(r->err, "xref") != NULL)
		fault->reason = REASON_TRUNCATED;
	else
		fault->reason = REASON_DECODE_FAILED;
}

static struct fault
pdf_pages(struct arena *mem, const char *path, int64_t max_pages, int64_t *pages)
{
	const char *const argv[] = { "pdfinfo", "-enc", "UTF-8", path, NULL };
	struct fault fault = { REASON_NONE, NULL, NULL };
	struct jail_result r = { 0 };
	const char *line;

	*pages = 0;
	if (!run(mem, argv, path, NULL, &r, &fault)) {
		blame_pdf(&r, &fault);
		return fault;
	}
	/* The last one: the title and other words of the author come before it as they are, with their line feeds. */
	for (line = r.out; (line = strstr(line, "\nPages:")) != NULL; line++)
		*pages = strtoll(line + 7, NULL, 10);
	if (*pages < 1)
		fault.reason = REASON_DECODE_FAILED;
	else if (*pages > max_pages)
		fault.reason = REASON_TOO_MANY_PAGES;
	return fault;
}

struct fault
document_xmp(struct arena *mem, const char *pdf, const char **members)
{
	const char *const argv[] = { "pdfinfo", "-meta", "-enc", "UTF-8", pdf, NULL };
	struct fault fault = { REASON_NONE, NULL, NULL };
	struct jail_result r = { 0 };

	*members = "";
	if (!run(mem, argv, pdf, NULL, &r, &fault))
		blame_pdf(&r, &fault);
	else if (r.out[strspn(r.out, " \t\r\n")] != '\0')
		fault = image_xmp(mem, r.out, r.out_size, members);
	return fault;
}

/* A picture of the first page. */
static const char *
pdf_preview(struct arena *mem, const char *path, const char *dir, struct fault *fault)
{
	const char *const argv[] = { "pdftoppm", "-q", "-png", "-f", "1", "-l", "1", "-singlefile", "-scale-to", "1600",
	    path, "preview", NULL };
	struct jail_result r = { 0 };
	int64_t width, height;
	const char *seen;

	if (!run(mem, argv, path, dir, &r, fault)) {
		blame_pdf(&r, fault);
		return NULL;
	}
	if (image_header_file(arena_printf(mem, "%s/preview.png", dir), &width, &height, &seen))
		return "preview.png";
	fault->reason = REASON_DECODE_FAILED;
	return NULL;
}

struct fault
document_draw(struct arena *mem, const char *pdf, int64_t page, const char *dir, const char *name)
{
	const char *number = arena_printf(mem, "%lld", (long long)page), *root = arena_printf(mem, "drawn%s", number);
	const char *const argv[] = { "pdftoppm", "-q", "-jpeg", "-gray", "-f", number, "-l", number, "-singlefile",
	    "-scale-to", READ_SIDE, pdf, root, NULL };
	struct fault fault = { REASON_NONE, NULL, NULL };
	struct jail_result r = { 0 };
	int64_t width, height;
	const char *made = arena_printf(mem, "%s/%s.jpg", dir, root), *seen;

	if (!run(mem, argv, pdf, dir, &r, &fault)) {
		blame_pdf(&r, &fault);
		return fault;
	}
	if (!image_header_file(made, &width, &height, &seen))
		fault.reason = REASON_DECODE_FAILED;
	else if (rename(made, arena_printf(mem, "%s/%s", dir, name)) == -1)
		fault_of_errno(mem, errno, &fault, "The picture of a page could not be kept.");
	return fault;
}

static bool
take_text(void *user, const char *bytes, size_t n)
{
	struct buf *text = user;

	buf_add(text, bytes, n < DOCUMENT_TEXT_MAX - text->len ? n : DOCUMENT_TEXT_MAX - text->len);
	return text->len < DOCUMENT_TEXT_MAX;
}

/* Pages that have come to their end. */
static int64_t
count_ends(const struct buf *text)
{
	int64_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->text[i] == '\f';
	return n;
}

/* A page that takes too long ends the text: what came before it is worth having. */
static bool
pdf_text(struct arena *mem, const char *path, struct buf *text, struct document *d)
{
	const char *const argv[] = { "pdftotext", "-q", "-enc", "UTF-8", "-eol", "unix", path, "-", NULL };
	const char *const read[] = { path, NULL };
	const struct jail jail = { .argv = argv, .read = read, .in = -1, .memory = INT64_C(2) << 30,
	    .cpu_seconds = TEXT_SECONDS, .wall_seconds = TEXT_SECONDS, .idle_seconds = PAGE_SECONDS,
	    .threads_only = true, .on_out = take_text, .user = text };
	struct jail_result r = { 0 };

	/* It exits with 3 when the author forbids copying: then the document simply has no text. */
	if (jail_run(mem, &jail, &r) || (r.end == JAIL_EXITED && r.status == 3))
		return true;
	if (r.end == JAIL_STOPPED || r.end == JAIL_IDLE || r.end == JAIL_WALL || r.end == JAIL_CPU) {
		d->cut_at = 1 + count_ends(text);
		return true;
	}
	fault_of_jail(mem, &jail, &r, &d->fault);
	blame_pdf(&r, &d->fault);
	return false;
}

static struct document
pdf_read(struct arena *mem, const char *path, int64_t max_pages, const char *dir)
{
	struct document d = { .pdf = path, .engine = "poppler" };
	struct buf text = BUF(mem);

	d.fault = pdf_pages(mem, path, max_pages, &d.pages);
	if (d.fault.reason != REASON_NONE || !pdf_text(mem, path, &text, &d))
		return d;
	d.text = buf_string(&text);
	d.preview = pdf_preview(mem, path, dir, &d.fault);
	return d;
}

const char *
document_libreoffice(void)
{
	static const char *const places[] = { "/usr/lib/libreoffice/program", "/usr/lib64/libreoffice/program",
	    "/opt/libreoffice/program" };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return NULL;
}

bool
document_copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n = -1;

	while (in != -1 && out != -1 && (n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0)) > 0)
		;
	if (in != -1)
		close(in);
	if (out != -1 && close(out) == -1)
		n = -1;
	return in != -1 && out != -1 && n == 0;
}

/* Some packages without a desktop leave out a file that Calc, as a library, cannot do without. */
static bool
opens(struct arena *mem, const char *libreoffice_place, const char *format)
{
	bool sheets = strcmp(format, "xlsx") == 0 || strcmp(format, "xls") == 0 || strcmp(format, "ods") == 0;

	if (libreoffice_place == NULL)
		return false;
	return !sheets || access(arena_printf(mem, "%s/../share/config/soffice.cfg/modules/scalc/ui/inputbar.ui",
	    libreoffice_place), R_OK) == 0;
}

static const char *
convert(struct arena *mem, const char *path, const char *format, const char *dir, struct fault *fault)
{
	const char *source = arena_printf(mem, "%s/document.%s", dir, format), *pdf = arena_printf(mem,
	    "%s/document.pdf", dir);
	const char *place = document_libreoffice(), *out;
	struct stat st;

	*fault = (struct fault){ .reason = REASON_CONVERTER_MISSING };
	if (!opens(mem, place, format))
		return NULL;
	if (!document_copy(path, source)) {
		fault_of_errno(mem, errno, fault, "The document could not be copied for LibreOffice.");
		return NULL;
	}
	*fault = image_helper(mem, (const char *const[]){ "pdf", place, format, NULL }, source, dir, &out);
	if (fault->reason == REASON_NONE && (stat(pdf, &st) != 0 || st.st_size == 0))
		fault->reason = REASON_DECODE_FAILED;
	return fault->reason == REASON_NONE ? pdf : NULL;
}

static bool
reads_directly(const char *format)
{
	static const char *const formats[] = { "docx", "pptx", "xlsx", "odt", "odp", "ods" };
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(format, formats[i]) == 0)
			return true;
	return false;
}

/* Text from the helper: it has read a stranger's file, so what it says is cleaned like the file itself. */
static struct document
office_text(struct arena *mem, const char *path, const char *format)
{
	struct document d = { .engine = "kinothek" };
	const char *out;

	d.fault = image_helper(mem, (const char *const[]){ "office", format, NULL }, path, NULL, &out);
	if (d.fault.reason != REASON_NONE)
		return d;
	d.text = document_utf8(mem, out, strlen(out));
	/* Slides and sheets are pages; the pages of a text are made by whoever draws it. */
	for (out = d.text; strcmp(format, "docx") != 0 && strcmp(format, "odt") != 0 && *out != '\0'; out++)
		d.pages += *out == '\f' || out == d.text;
	return d;
}

/* A picture of the text itself, where nothing better can be had of the document, which `fault` told. */
static void
draw_text(struct arena *mem, struct document *d, const char *dir, const struct fault *fault)
{
	struct fault drawing = image_text(mem, d->text, dir);

	if (drawing.reason == REASON_NONE)
		d->preview = "preview.png";
	d->fault = drawing.reason != REASON_NONE ? drawing : *fault;
}

/* The text is read first even where LibreOffice is: it refuses what inflates without end or asks for other files.  So
 * LibreOffice sees nothing that this has not read, or found to be no such file. */
static struct document
office_read(struct arena *mem, const char *path, const char *format, int64_t max_pages, const char *dir)
{
	struct document d = failed(REASON_CONVERTER_MISSING, NULL), made;
	struct fault fault;
	const char *pdf;

	if (reads_directly(format))
		d = office_text(mem, path, format);
	if (d.fault.reason == REASON_FORMAT_NOT_ALLOWED || d.fault.reason == REASON_ENCRYPTED ||
	    (d.fault.reason != REASON_NONE && !fault_is_final(&d.fault)))
		return d;
	pdf = convert(mem, path, format, dir, &fault);
	if (pdf != NULL) {
		made = pdf_read(mem, pdf, max_pages, dir);
		made.engine = "libreoffice";
		return made;
	}
	if (d.fault.reason != REASON_NONE) {
		if (fault.reason != REASON_CONVERTER_MISSING)
			d.fault = fault;
		return d;
	}
	if (d.text[strspn(d.text, " \t\r\n\f")] != '\0')
		draw_text(mem, &d, dir, &fault);
	else if (fault.reason == REASON_CONVERTER_MISSING)
		return failed(REASON_CONVERTER_MISSING, "It has no text of its own, and there is no LibreOffice to "
		    "draw its pages.");
	else
		d.fault = fault;
	return d;
}

static struct document
text_read(struct arena *mem, const char *path, const char *dir)
{
	struct document d = { .engine = "kinothek" };
	char *bytes = arena_alloc(mem, DOCUMENT_TEXT_MAX);
	size_t n = 0;
	ssize_t got = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd != -1 && n < DOCUMENT_TEXT_MAX && (got = read(fd, bytes + n, DOCUMENT_TEXT_MAX - n)) > 0)
		n += (size_t)got;
	if (fd == -1 || got < 0)
		fault_of_errno(mem, errno, &d.fault, "The text could not be read.");
	if (fd != -1)
		close(fd);
	if (d.fault.reason != REASON_NONE)
		return d;
	d.text = document_utf8(mem, bytes, n);
	if (d.text == NULL)
		return failed(REASON_DECODE_FAILED, "The code of its characters is not known.");
	draw_text(mem, &d, dir, &(struct fault){ .reason = REASON_NONE });
	return d;
}

static bool
is_tiff(const char *format)
{
	return strncmp(format, "TIFF", 4) == 0;
}

bool
document_is(const struct sniff *s, const char *path)
{
	struct image_page pages[2];

	return strcmp(s->type, "document") == 0 || (is_tiff(s->format) && image_pages_file(path, pages, 2) == 2);
}

static struct fault
tiff_pages(struct arena *mem, const char *path, int64_t max_pages, int64_t *pages)
{
	const size_t most = max_pages < IMAGE_PAGES_MAX ? (size_t)max_pages : IMAGE_PAGES_MAX;
	struct image_page *at = arena_array(mem, most + 1, sizeof(*at));
	struct fault fault = { REASON_NONE, NULL, NULL };

	*pages = (int64_t)image_pages_file(path, at, most + 1);
	if (*pages > (int64_t)most)
		fault.reason = REASON_TOO_MANY_PAGES;
	for (int64_t i = 0; i < *pages; i++)
		if (at[i].width > IMAGE_SIDE_MAX || at[i].height > IMAGE_SIDE_MAX ||
		    at[i].width * at[i].height > DOCUMENT_PIXELS)
			fault.reason = REASON_TOO_MANY_PIXELS;
	return fault;
}

/* Pictures of pages become a PDF. */
static struct document
tiff_read(struct arena *mem, const char *path, const char *format, int64_t max_pages, const char *dir)
{
	struct document d = { 0 };
	int64_t all;

	d.fault = tiff_pages(mem, path, max_pages, &all);
	if (d.fault.reason == REASON_NONE)
		d.fault = image_pdf(mem, path, format, DOCUMENT_PIXELS, dir);
	if (d.fault.reason != REASON_NONE)
		return d;
	d = pdf_read(mem, arena_printf(mem, "%s/document.pdf", dir), max_pages, dir);
	d.lost = d.pages > 0 ? all - d.pages : 0;
	d.engine = "kinothek";
	return d;
}

struct document
document_read(struct arena *mem, const char *path, const char *format, int64_t max_pages, const char *dir)
{
	if (strcmp(format, "pdf") == 0)
		return pdf_read(mem, path, max_pages, dir);
	if (strcmp(format, "txt") == 0)
		return text_read(mem, path, dir);
	if (is_tiff(format))
		return tiff_read(mem, path, format, max_pages, dir);
	return office_read(mem, path, format, max_pages, dir);
}

struct fault
document_probe(struct arena *mem, const char *path, const char *format, int64_t max_pages, int64_t *pages)
{
	struct fault fault = { REASON_NONE, NULL, NULL };

	*pages = 0;
	if (strcmp(format, "pdf") == 0)
		return pdf_pages(mem, path, max_pages, pages);
	if (is_tiff(format))
		return tiff_pages(mem, path, max_pages, pages);
	if (strcmp(format, "txt") != 0 && !reads_directly(format) && !opens(mem, document_libreoffice(), format))
		fault.reason = REASON_CONVERTER_MISSING;
	return fault;
}

const char *
document_utf8(struct arena *mem, const char *bytes, size_t n)
{
	const char *code = n >= 2 && memcmp(bytes, "\xff\xfe", 2) == 0 ? "UTF-16LE" : n >= 2 &&
	    memcmp(bytes, "\xfe\xff", 2) == 0 ? "UTF-16BE" : "windows-1252";
	bool marked = *code == 'U';
	UErrorCode error = U_ZERO_ERROR;
	int32_t size;
	char *out;

	if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
		bytes += 3;
		n -= 3;
	}
	if (!marked) {
		/* A piece cut off in the middle of a character is still UTF-8. */
		for (size = 0; size < 4 && (size_t)size <= n; size++)
			if (utf8_valid(bytes, n - (size_t)size))
				return arena_copy_n(mem, bytes, n - (size_t)size);
	}
	size = (int32_t)n * 3 + 4;
	out = arena_alloc(mem, (size_t)size);
	size = ucnv_convert("UTF-8", code, out, size - 1, bytes + (marked ? 2 : 0), (int32_t)n - (marked ? 2 : 0),
	    &error);
	if (U_FAILURE(error))
		return NULL;
	out[size] = '\0';
	return out;
}

/* Length of the next page: to a form feed, or (`flowing`) to the end of the line that passes 3,000 characters. */
static size_t
page_length(const char *text, bool flowing)
{
	size_t i, chars = 0;

	for (i = 0; text[i] != '\0' && text[i] != '\f'; i++) {
		chars += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (flowing && ((chars >= PAGE_CHARACTERS && text[i] == '\n') ||
		    (chars >= 2 * PAGE_CHARACTERS && ((unsigned char)text[i + 1] & 0xc0) != 0x80)))
			return i + 1;
	}
	return i;
}

/* Characters that only a terminal or a printer obeys become blanks: as JSON each would take six bytes. */
static const char *
without_controls(struct arena *mem, const char *text)
{
	char *out = arena_copy(mem, text), *p;

	for (p = out; *p != '\0'; p++)
		if (((unsigned char)*p < 32 && strchr("\t\n\f", *p) == NULL) || *p == 127)
			*p = ' ';
	return out;
}

static const struct field document_page_fields[] = {
	FIELD(struct document_page, page, .doc = "From 1"),
	FIELD(struct document_page, text, .doc = "What stands on it"),
	FIELD(struct document_page, engine, .doc = "What has read it; NULL: it is a text of its own"),
	FIELD(struct document_page, confidence, .doc = "0 to 1"),
};
const struct record document_page_record = RECORD("DocumentPage", struct document_page, document_page_fields);

/* False: there was no room for all of it. */
static bool
add_page(struct buf *json, const struct document_page *p, size_t n)
{
	const size_t room = json->len + 200 < JSON_MAX ? (JSON_MAX - json->len - 200) / 2 : 0;
	bool fits;

	while (n > 0 && strchr(" \t\n", p->text[n - 1]) != NULL)
		n--;
	fits = n <= room;
	if (!fits)
		for (n = room; n > 0 && ((unsigned char)p->text[n] & 0xc0) == 0x80; n--)
			;
	if (n == 0)
		return fits;
	buf_text(json, json->text[json->len - 1] == '[' ? "{\"page\":" : ",{\"page\":");
	buf_int(json, p->page);
	buf_text(json, ",\"text\":");
	buf_json_n(json, p->text, n);
	if (p->engine != NULL) {
		buf_text(json, ",\"engine\":");
		buf_json(json, p->engine);
		buf_printf(json, ",\"confidence\":%.2f", p->confidence);
	}
	buf_char(json, '}');
	return fits;
}

static const char *
end_pages(struct buf *json, int64_t cut_at)
{
	buf_char(json, ']');
	if (cut_at > 0)
		buf_printf(json, ",\"cutAt\":%lld", (long long)cut_at);
	buf_char(json, '}');
	return buf_string(json);
}

/* The first page counts. */
static void
cut(int64_t *cut_at, int64_t page)
{
	if (*cut_at == 0 || page < *cut_at)
		*cut_at = page;
}

const char *
document_pages_json(struct arena *mem, const struct document_page *pages, size_t n, int64_t *cut_at)
{
	struct buf json = BUF(mem);

	buf_text(&json, "{\"pages\":[");
	for (size_t i = 0; i < n; i++)
		if (!add_page(&json, &pages[i], strlen(pages[i].text)))
			cut(cut_at, pages[i].page);
	return end_pages(&json, *cut_at);
}

const char *
document_json(struct arena *mem, const char *text, int64_t *cut_at)
{
	struct buf json = BUF(mem);
	bool flowing = strchr(text, '\f') == NULL;
	size_t length;
	int64_t page;

	text = without_controls(mem, text);
	buf_text(&json, "{\"pages\":[");
	for (page = 1; *text != '\0'; page++) {
		length = page_length(text, flowing);
		if (!add_page(&json, &(struct document_page){ page, text, NULL, 0 }, length))
			cut(cut_at, page);
		text += length;
		if (*text == '\f')
			text++;
	}
	return end_pages(&json, *cut_at);
}
