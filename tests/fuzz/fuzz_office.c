/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Office files.  The first letter of the input says of which format it is: as a capital, a ZIP file follows, else the
 * XML of its members, a byte of 1 between two, which are packed here, since no fuzzer finds checksums.  What comes out
 * is UTF-8 within the limit.
 */
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "core/text.h"
#include "media/office.h"
#include "tests/fuzz/fuzz.h"

enum { MOST = 3000, MEMBERS = 3 };

static const struct { char letter; const char *format, *members[MEMBERS]; } formats[] = {
	{ 'd', "docx", { "word/document.xml" } },
	{ 'p', "pptx", { "ppt/slides/slide1.xml", "ppt/slides/slide2.xml", "ppt/slides/slide10.xml" } },
	{ 'x', "xlsx", { "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml" } },
	{ 't', "odt", { "content.xml", "META-INF/manifest.xml" } },
	{ 's', "ods", { "content.xml" } },
	{ 'o', "odp", { "content.xml" } },
};

static void
read_text(struct arena *mem, const void *bytes, size_t n, const char *format)
{
	struct buf text = BUF(mem);
	enum reason reason = office_text(bytes, n, format, MOST, &text);

	if (reason >= REASON_COUNT || text.len > MOST || !utf8_valid(buf_string(&text), text.len))
		abort();
}

/* The members as a file, or NULL. */
static void *
packed(struct arena *mem, const char *const *members, const uint8_t *data, size_t n, size_t *size)
{
	zip_source_t *out = zip_source_buffer_create(NULL, 0, 0, NULL), *in;
	zip_t *zip = zip_open_from_source(out, ZIP_TRUNCATE, NULL);
	void *bytes = NULL;
	zip_stat_t st;
	int i;

	zip_source_keep(out);
	for (i = 0; i < MEMBERS && members[i] != NULL; i++) {
		const uint8_t *end = i + 1 < MEMBERS && n > 0 ? memchr(data, 1, n) : NULL;
		size_t length = end != NULL ? (size_t)(end - data) : n;

		in = zip_source_buffer(zip, data, length, 0);
		if (zip_file_add(zip, members[i], in, ZIP_FL_ENC_UTF_8) < 0)
			abort();
		data += end != NULL ? length + 1 : length;
		n -= end != NULL ? length + 1 : length;
	}
	if (zip_close(zip) != 0 || zip_source_stat(out, &st) != 0 || zip_source_open(out) != 0)
		abort();
	bytes = arena_alloc(mem, st.size);
	*size = (size_t)zip_source_read(out, bytes, st.size);
	zip_source_close(out);
	zip_source_free(out);
	return bytes;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	size_t i, size;

	if (mem == NULL)
		mem = arena_new((size_t)512 << 20);
	for (i = 0; n > 0 && i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (data[0] == formats[i].letter) {
			const void *bytes = packed(mem, formats[i].members, data + 1, n - 1, &size);

			read_text(mem, bytes, size, formats[i].format);
		} else if (data[0] == formats[i].letter - 'a' + 'A') {
			read_text(mem, data + 1, n - 1, formats[i].format);
		}
	}
	arena_reset(mem);
	return 0;
}
