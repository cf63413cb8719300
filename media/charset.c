/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Encodings of texts, told by marks, zeros and letters. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unicode/ucnv.h>
#include <unicode/ucsdet.h>

#include "core/buf.h"
#include "core/text.h"
#include "media/charset.h"

/* A confidence of ICU, in percent; bytes that are looked at. */
enum { CERTAIN = 25, SAMPLE = 1 << 20, ZEROS = 4096 };

/* Four letters of UTF-8 to one that is none: nothing else looks like that. */
static bool
is_mostly_utf8(const char *p, size_t n)
{
	size_t good = 0, bad = 0;

	while (n > 0) {
		size_t k = utf8_prefix(p, n);

		for (size_t i = 0; i < k; i++)
			good += (unsigned char)p[i] >= 0xc0;
		if (k < n) {
			bad++;
			k++;
		}
		p += k;
		n -= k;
	}
	return good > 4 * bad;
}

/* Each second byte of UTF-16 is zero where the text is Latin, and so are those of times and blanks in any text. */
static const char *
wide(const char *p, size_t n)
{
	size_t zeros[2] = { 0, 0 }, i;

	n = n > ZEROS ? ZEROS : n;
	for (i = 0; i < n; i++)
		zeros[i % 2] += p[i] == '\0';
	if (zeros[0] + zeros[1] < n / 8 + 1)
		return NULL;
	return zeros[1] > zeros[0] ? "UTF-16LE" : "UTF-16BE";
}

/* The lines that have other letters than ASCII has: numbers and times tell nothing, and are most of the file. */
static struct buf
sample_of(struct arena *mem, const char *p, size_t n)
{
	struct buf out = BUF(mem);
	const char *end = p + n;

	while (p < end && out.len < SAMPLE) {
		const char *stop = p;
		bool letters = false;

		for (; stop < end && *stop != '\n' && *stop != '\r'; stop++)
			letters |= (unsigned char)*stop >= 0x80;
		if (letters)
			buf_add(&out, p, (size_t)(stop - p));
		p = stop + 1;
	}
	return out;
}

/* Of a few letters ICU knows little: then it is that of Western Europe, of which Latin-1 is a part. */
static const char *
by_letters(struct arena *mem, const char *bytes, size_t n)
{
	static const char western[] = "windows-1252";
	UErrorCode error = U_ZERO_ERROR;
	UCharsetDetector *detector = ucsdet_open(&error);
	struct buf text = sample_of(mem, bytes, n);
	const UCharsetMatch **found;
	const char *name = western;
	int32_t matches = 0;

	ucsdet_setText(detector, text.text, (int32_t)text.len, &error);
	found = ucsdet_detectAll(detector, &matches, &error);
	if (U_SUCCESS(error) && matches > 0 && ucsdet_getConfidence(found[0], &error) >= CERTAIN)
		name = ucsdet_getName(found[0], &error);
	if (is_mostly_utf8(text.text, text.len))
		name = "UTF-8";
	name = U_FAILURE(error) || strcmp(name, "ISO-8859-1") == 0 || strncmp(name, "UTF-16", 6) == 0 ||
	    strncmp(name, "UTF-32", 6) == 0 || strncmp(name, "IBM", 3) == 0 ? western : arena_copy(mem, name);
	ucsdet_close(detector);
	return name;
}

const char *
charset_text(struct arena *mem, const char *bytes, size_t *n, const char **name)
{
	UErrorCode error = U_ZERO_ERROR;
	const char *code;
	int32_t mark = 0, size;
	char *out;

	*name = NULL;
	code = ucnv_detectUnicodeSignature(bytes, (int32_t)*n, &mark, &error);
	if ((code == NULL || strcmp(code, "UTF-8") == 0) && utf8_valid(bytes + mark, *n - (size_t)mark)) {
		*n -= (size_t)mark;
		return arena_copy_n(mem, bytes + mark, *n);
	}
	bytes += mark;
	*n -= (size_t)mark;
	if (code == NULL)
		code = wide(bytes, *n);
	*name = code != NULL ? code : by_letters(mem, bytes, *n);
	size = (int32_t)*n * 3 + 4;
	out = arena_raw(mem, (size_t)size);
	error = U_ZERO_ERROR;
	size = ucnv_convert("UTF-8", *name, out, size - 1, bytes, (int32_t)*n, &error);
	*n = U_FAILURE(error) ? 0 : (size_t)size;
	for (char *p = out; (p = memchr(p, '\0', (size_t)(out + *n - p))) != NULL;)
		*p = ' ';
	out[*n] = '\0';
	return out;
}
