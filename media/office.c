/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Office files: ZIP members are inflated piece by piece into a push parser, which never sees an entity or a DTD. */
#include <libxml/parser.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "core/text.h"
#include "media/office.h"

#define INFLATED_MAX (128u << 20)	/* of all members read together */
#define INFLATION_MAX 32		/* of a file above that: real ones stay below 20 */
#define STRINGS_MAX 2000000		/* shared strings of a workbook */

struct office {
	struct arena *mem;
	zip_t *zip;
	const char *format;
	struct buf *text;
	size_t most, inflated;
	xmlParserCtxtPtr parser;
	bool refused;			/* a DTD, or too much */
	int reading;			/* depth of elements whose characters count */
	int skipping;			/* depth below an element that repeats or hides text */
	/* Workbooks */
	struct buf string;		/* the shared string or cell being read */
	const char **strings;
	size_t n_strings, room;
	bool is_shared;
};

static bool
has_room(const struct office *o)
{
	return o->text->len < o->most;
}

static void
put(struct office *o, const char *text, size_t n)
{
	/* Half a character is none, and nothing comes behind what was cut off. */
	if (n > o->most - o->text->len) {
		n = utf8_prefix(text, o->most - o->text->len);
		o->most = o->text->len + n;
	}
	buf_add(o->text, text, n);
	/* Between two members there is no parser. */
	if (!has_room(o) && o->parser != NULL)
		xmlStopParser(o->parser);
}

/* SAX gives attributes in fives: name, prefix, namespace, value, end of value. */
static bool
attribute_is(const xmlChar **a, int n, const char *name, const char *value)
{
	int i;

	for (i = 0; i < n; i++, a += 5)
		if (strcmp((const char *)a[0], name) == 0)
			return (size_t)(a[4] - a[3]) == strlen(value) && memcmp(a[3], value, strlen(value)) == 0;
	return false;
}

static bool
is(const xmlChar *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp((const char *)name, *names) == 0)
			return true;
	return false;
}

/* A DTD can only do harm: none of these formats has one. */
static void
on_dtd(void *user, const xmlChar *name, const xmlChar *id, const xmlChar *system)
{
	struct office *o = user;

	o->refused = true;
	xmlStopParser(o->parser);
}

static void
on_characters(void *user, const xmlChar *text, int n)
{
	struct office *o = user;

	if (o->reading == 0 || o->skipping > 0)
		return;
	if (strcmp(o->format, "xlsx") == 0) {
		if (o->string.len < 65536)
			buf_add(&o->string, text, (size_t)n);
	} else
		put(o, (const char *)text, (size_t)n);
}

static const char *const hidden[] = { "Fallback", "tracked-changes", "annotation", "rPh", NULL };

static void
on_start(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int n_spaces,
    const xmlChar **spaces, int n, int n_default, const xmlChar **attributes)
{
	static const char *const text[] = { "t", NULL }, *const cells[] = { "t", "v", NULL },
	    *const odf[] = { "p", "h", NULL };
	static const char *const tabs[] = { "tab", "s", NULL }, *const lines[] = { "cr", "line-break", NULL };
	static const char *const pages[] = { "lastRenderedPageBreak", "soft-page-break", NULL };
	struct office *o = user;
	bool sheet = strcmp(o->format, "xlsx") == 0;

	if (o->skipping > 0 || is(name, hidden)) {
		o->skipping++;
		return;
	}
	if (o->text->len > 0 && ((strcmp(o->format, "odp") == 0 && strcmp((const char *)name, "page") == 0) ||
	    (strcmp(o->format, "ods") == 0 && strcmp((const char *)name, "table") == 0)))
		put(o, "\f", 1);
	else if (is(name, sheet ? cells : *o->format == 'o' ? odf : text))
		o->reading++;
	else if (sheet && strcmp((const char *)name, "c") == 0)
		o->is_shared = attribute_is(attributes, n, "t", "s");
	else if (!sheet && is(name, tabs))
		put(o, *o->format == 'o' && *name == 's' ? " " : "\t", 1);
	else if (!sheet && is(name, lines))
		put(o, "\n", 1);
	else if (!sheet && is(name, pages))
		put(o, "\f", 1);
	else if (!sheet && strcmp((const char *)name, "br") == 0)
		put(o, attribute_is(attributes, n, "type", "page") ? "\f" : "\n", 1);
}

/* A cell ends: its value is text, or the number of a shared string. */
static void
end_cell(struct office *o)
{
	size_t at;

	if (o->string.len > 0 && o->is_shared) {
		at = strtoul(buf_string(&o->string), NULL, 10);
		if (at < o->n_strings)
			put(o, o->strings[at], strlen(o->strings[at]));
	} else
		put(o, buf_string(&o->string), o->string.len);
	put(o, "\t", 1);
	o->string.len = 0;
}

static void
end_shared_string(struct office *o)
{
	const char **more;

	if (o->n_strings == o->room && o->room < STRINGS_MAX) {
		o->room = o->room == 0 ? 1024 : o->room * 2;
		more = arena_array(o->mem, o->room, sizeof(*more));
		if (o->n_strings > 0)
			memcpy(more, o->strings, o->n_strings * sizeof(*more));
		o->strings = more;
	}
	if (o->n_strings < o->room)
		o->strings[o->n_strings++] = arena_copy_n(o->mem, o->string.len > 0 ? o->string.text : "",
		    o->string.len);
	o->string.len = 0;
}

static void
on_end(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
	static const char *const sheet[] = { "t", "v", NULL }, *const paragraphs[] = { "p", "h", NULL };
	static const char *const rows[] = { "table-row", "tr", "row", NULL }, *const cells[] = { "table-cell", "tc",
	    NULL };
	struct office *o = user;

	if (o->skipping > 0) {
		o->skipping--;
		return;
	}
	if (strcmp(o->format, "xlsx") == 0) {
		if (is(name, sheet) && o->reading > 0)
			o->reading--;
		else if (strcmp((const char *)name, "c") == 0)
			end_cell(o);
		else if (strcmp((const char *)name, "si") == 0)
			end_shared_string(o);
		else if (is(name, rows))
			put(o, "\n", 1);
		return;
	}
	if (o->reading > 0 && is(name, *o->format == 'o' ? paragraphs : (const char *const[]){ "t", NULL }))
		o->reading--;
	if (is(name, rows) || (is(name, paragraphs) && strcmp(o->format, "ods") != 0))
		put(o, "\n", 1);
	else if (is(name, cells))
		put(o, "\t", 1);
}

/* Inflates a member into a parser.  REASON_NONE also when the text has reached its limit. */
static enum reason
read_member(struct office *o, const char *name)
{
	xmlSAXHandler sax = { .initialized = XML_SAX2_MAGIC, .startElementNs = on_start, .endElementNs = on_end,
	    .characters = on_characters, .ignorableWhitespace = on_characters, .cdataBlock = on_characters,
	    .internalSubset = on_dtd };
	zip_file_t *f = zip_fopen(o->zip, name, 0);
	char piece[16384];
	zip_int64_t got = 0;
	int code = zip_error_code_zip(zip_get_error(o->zip));
	bool well_formed;

	if (f == NULL)
		return code == ZIP_ER_NOPASSWD || code == ZIP_ER_WRONGPASSWD ? REASON_ENCRYPTED : REASON_TRUNCATED;
	o->parser = xmlCreatePushParserCtxt(&sax, o, NULL, 0, NULL);
	xmlCtxtUseOptions(o->parser, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	o->reading = o->skipping = 0;
	while (!o->refused && has_room(o) && (got = zip_fread(f, piece, sizeof(piece))) > 0) {
		o->inflated += (size_t)got;
		if (o->inflated > INFLATED_MAX)
			o->refused = true;
		else if (xmlParseChunk(o->parser, piece, (int)got, 0) != 0)
			break;
	}
	if (!o->refused && has_room(o))
		xmlParseChunk(o->parser, piece, 0, 1);
	well_formed = o->parser->wellFormed && got >= 0;
	zip_fclose(f);
	xmlFreeParserCtxt(o->parser);
	o->parser = NULL;
	if (o->refused)
		return REASON_FORMAT_NOT_ALLOWED;
	return well_formed || !has_room(o) ? REASON_NONE : REASON_DECODE_FAILED;
}

static int
by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Members called e.g. ppt/slides/slide<N>.xml, by N as a number. */
static enum reason
read_numbered(struct office *o, const char *prefix)
{
	zip_int64_t count = zip_get_num_entries(o->zip, 0), i;
	int *numbers = arena_array(o->mem, 10000, sizeof(int)), n = 0, number, used;
	enum reason reason = REASON_NONE;
	const char *name;

	for (i = 0; i < count && n < 10000; i++) {
		name = zip_get_name(o->zip, (zip_uint64_t)i, 0);
		if (name == NULL || strncmp(name, prefix, strlen(prefix)) != 0)
			continue;
		used = 0;
		if (sscanf(name + strlen(prefix), "%9d.xml%n", &number, &used) == 1 && used > 0 &&
		    name[strlen(prefix) + (size_t)used] == '\0')
			numbers[n++] = number;
	}
	qsort(numbers, (size_t)n, sizeof(int), by_number);
	for (i = 0; i < n && reason == REASON_NONE && has_room(o); i++) {
		if (i > 0)
			put(o, "\f", 1);
		reason = read_member(o, arena_printf(o->mem, "%s%d.xml", prefix, numbers[i]));
	}
	return n == 0 ? REASON_TRUNCATED : reason;
}

/* All members count: LibreOffice reads more of them than we do and has no limit of its own. */
static bool
is_bomb(const struct office *o, size_t n)
{
	zip_int64_t count = zip_get_num_entries(o->zip, 0), i;
	uint64_t sum = 0;
	zip_stat_t st;

	for (i = 0; i < count; i++)
		if (zip_stat_index(o->zip, (zip_uint64_t)i, 0, &st) == 0 && (st.valid & ZIP_STAT_SIZE) != 0)
			sum += st.size > UINT32_MAX ? UINT32_MAX : st.size;
	return sum > INFLATED_MAX && sum / INFLATION_MAX > n;
}

/* OpenDocument keeps the members of a protected file under their names, but not as XML. */
static bool
is_protected(struct office *o)
{
	zip_file_t *f = zip_fopen(o->zip, "META-INF/manifest.xml", 0);
	char *text = arena_alloc(o->mem, 65536);
	zip_int64_t n;

	if (f == NULL)
		return false;
	n = zip_fread(f, text, 65535);
	zip_fclose(f);
	return n > 0 && strstr(text, ":encryption-data") != NULL;
}

enum reason
office_text(const void *bytes, size_t n, const char *format, size_t most, struct buf *text)
{
	struct office o = { .mem = text->mem, .format = format, .text = text, .most = most, .string = BUF(text->mem) };
	zip_error_t error;
	zip_source_t *source = zip_source_buffer_create(bytes, n, 0, &error);
	enum reason reason;

	o.zip = source == NULL ? NULL : zip_open_from_source(source, ZIP_RDONLY, &error);
	if (o.zip == NULL) {
		if (source != NULL)
			zip_source_free(source);
		return REASON_TRUNCATED;
	}
	if (is_bomb(&o, n))
		reason = REASON_FORMAT_NOT_ALLOWED;
	else if (strcmp(format, "docx") == 0)
		reason = read_member(&o, "word/document.xml");
	else if (strcmp(format, "pptx") == 0)
		reason = read_numbered(&o, "ppt/slides/slide");
	else if (strcmp(format, "xlsx") == 0) {
		/* A workbook of numbers alone has no strings. */
		reason = zip_name_locate(o.zip, "xl/sharedStrings.xml", 0) < 0 ? REASON_NONE :
		    read_member(&o, "xl/sharedStrings.xml");
		if (reason == REASON_NONE)
			reason = read_numbered(&o, "xl/worksheets/sheet");
	} else {
		reason = is_protected(&o) ? REASON_ENCRYPTED : read_member(&o, "content.xml");
	}
	zip_discard(o.zip);
	return reason;
}
