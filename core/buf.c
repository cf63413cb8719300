/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Appending text, and the escapes of JSON and HTML. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/buf.h"

void
buf_room(struct buf *b, size_t n)
{
	size_t room = b->room ? b->room : 256;
	char *text;

	if (b->len + n + 1 <= b->room)
		return;
	while (room < b->len + n + 1)
		room *= 2;
	text = arena_raw(b->mem, room);
	if (b->len > 0)
		memcpy(text, b->text, b->len);
	b->text = text;
	b->room = room;
}

void
buf_add(struct buf *b, const void *bytes, size_t n)
{
	buf_room(b, n);
	if (n > 0)
		memcpy(b->text + b->len, bytes, n);
	b->len += n;
	b->text[b->len] = '\0';
}

void
buf_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void
buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_int(struct buf *b, int64_t n)
{
	char digits[24], *p = digits + sizeof(digits);
	uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	do
		*--p = (char)('0' + left % 10);
	while ((left /= 10) != 0);
	if (n < 0)
		*--p = '-';
	buf_add(b, p, (size_t)(digits + sizeof(digits) - p));
}

void
buf_printf(struct buf *b, const char *format, ...)
{
	va_list args, again;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n > 0) {
		buf_room(b, (size_t)n);
		vsnprintf(b->text + b->len, (size_t)n + 1, format, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

/* Length of the well-formed UTF-8 sequence at s, or 0 (RFC 3629 table). */
static size_t
sequence(const unsigned char *s, size_t n)
{
	unsigned c = s[0];
	size_t need = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
	size_t i;

	if (need == 0 || need > n)
		return 0;
	for (i = 1; i < need; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) || (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
		return 0;
	return need;
}

static void
json_escape(struct buf *b, unsigned char c)
{
	static const char names[] = "btn\0fr";	/* 8 to 13 */

	if (c == '"' || c == '\\')
		buf_printf(b, "\\%c", c);
	else if (c >= 8 && c <= 13 && c != 11)
		buf_printf(b, "\\%c", names[c - 8]);
	else
		buf_printf(b, "\\u%04x", c);
}

/* Printable ASCII but " and \\. */
static const bool plain_in_json[256] = {
	[0x20 ... 0x21] = true, [0x23 ... 0x5b] = true, [0x5d ... 0x7e] = true,
};

void
buf_json_n(struct buf *b, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t i = 0, plain = 0, step;

	buf_room(b, n + 2);
	buf_char(b, '"');
	while (i < n) {
		if (plain_in_json[s[i]]) {
			i++;
			continue;
		}
		step = sequence(s + i, n - i);
		if (step > 1) {
			i += step;
			continue;
		}
		buf_add(b, text + plain, i - plain);
		if (step == 1)
			json_escape(b, s[i]);
		else
			buf_text(b, "\xef\xbf\xbd");
		plain = ++i;
	}
	buf_add(b, text + plain, n - plain);
	buf_char(b, '"');
}

void
buf_json(struct buf *b, const char *text)
{
	if (text == NULL)
		buf_text(b, "null");
	else
		buf_json_n(b, text, strlen(text));
}

const char *
buf_string(const struct buf *b)
{
	return b->text == NULL ? "" : b->text;
}
