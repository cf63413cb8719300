/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Appending text, and the escapes of JSON. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"

void
buf_grow(struct buf *b, size_t n)
{
	size_t room = b->room ? 2 * b->room : 256;
	char *text;

	if (b->mem == NULL)
		abort();
	if (room < b->len + n + 1)
		room = b->len + n + 1;
	text = arena_raw(b->mem, room);
	if (b->len > 0)
		memcpy(text, b->text, b->len);
	b->text = text;
	b->room = room;
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

/* Into the room that is there; only what does not fit is formatted twice. */
void
buf_printf(struct buf *b, const char *format, ...)
{
	va_list args, again;
	int n;

	buf_room(b, 0);
	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(b->text + b->len, b->room - b->len, format, args);
	va_end(args);
	if (n > 0 && (size_t)n >= b->room - b->len) {
		buf_room(b, (size_t)n);
		vsnprintf(b->text + b->len, (size_t)n + 1, format, again);
	}
	if (n > 0)
		b->len += (size_t)n;
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
	if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) || (c == 0xf0 && s[1] < 0x90) ||
	    (c == 0xf4 && s[1] > 0x8f))
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

/*
 * How many bytes of s stand in a JSON string as they are: printable ASCII but " and \\.  Eight at a time: of a byte
 * that is none of them the top bit gets set by one of the terms, and a borrow or carry only comes from such a byte.
 */
static size_t
plain_length(const unsigned char *s, size_t n)
{
	const uint64_t each = 0x0101010101010101, tops = each << 7;
	size_t i = 0;
	uint64_t v;

	for (; n - i >= sizeof(v); i += sizeof(v)) {
		memcpy(&v, s + i, sizeof(v));
		if ((v | (v - each * 0x20) | ((v ^ each * '"') - each) | ((v ^ each * '\\') - each) |
		    (v + each)) & tops)
			break;
	}
	while (i < n && s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

void
buf_json_n(struct buf *b, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t i, plain = 0, step;

	buf_room(b, n + 2);
	buf_char(b, '"');
	for (i = plain_length(s, n); i < n; i += plain_length(s + i, n - i)) {
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
