/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTML with the escapes of each place. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/html.h"
#include "core/text.h"

/* Is the sequence at s, n bytes of valid UTF-8, one that no document may hold: U+xxFFFE, U+xxFFFF, U+FDD0 to U+FDEF, or
 * a C1 control, which parsers take for Windows-1252? */
static bool
never_text(const unsigned char *s, size_t n)
{
	if (n == 2)
		return s[0] == 0xc2 && s[1] < 0xa0;
	if (n == 3 && s[0] == 0xef && s[1] == 0xb7)
		return s[2] >= 0x90 && s[2] <= 0xaf;
	return n >= 3 && s[n - 1] >= 0xbe && s[n - 2] == 0xbf && (n == 3 ? s[0] == 0xef : (s[1] & 0x0f) == 0x0f);
}

static void
put_ascii(struct buf *b, unsigned char c)
{
	switch (c) {
	case '&': buf_text(b, "&amp;"); return;
	case '<': buf_text(b, "&lt;"); return;
	case '>': buf_text(b, "&gt;"); return;
	case '"': buf_text(b, "&quot;"); return;
	case '\'': buf_text(b, "&#39;"); return;
	case '\r': buf_text(b, "&#13;"); return;	/* a parser makes a line feed of the character itself */
	}
	if (c < 0x20 && c != '\t' && c != '\n')
		buf_text(b, "\xef\xbf\xbd");
	else if (c == 0x7f)
		buf_text(b, "\xef\xbf\xbd");
	else
		buf_char(b, (char)c);
}

static size_t
length_by_first(unsigned char c)
{
	return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static void
put_escaped(struct buf *b, const char *text)
{
	const unsigned char *s = (const unsigned char *)(text != NULL ? text : "");
	size_t left = strlen((const char *)s), valid = utf8_prefix((const char *)s, left), n;

	buf_room(b, left);
	while (left > 0) {
		n = valid > 0 ? length_by_first(*s) : 1;
		if (valid == 0 || (n > 1 && never_text(s, n)))
			buf_text(b, "\xef\xbf\xbd");
		else if (n > 1)
			buf_add(b, s, n);
		else
			put_ascii(b, *s);
		s += n;
		left -= n;
		valid = valid > 0 ? valid - n : utf8_prefix((const char *)s, left);
	}
}

/* Ends the start tag that is being written. */
static void
into_content(struct html *h)
{
	if (h->in_tag)
		buf_char(&h->out, '>');
	h->in_tag = false;
}

struct html
html_new(struct arena *mem)
{
	struct html h = { .out = BUF(mem) };

	buf_room(&h.out, 16384);
	buf_text(&h.out, "<!doctype html>\n");
	return h;
}

struct buf
html_done(struct html *h)
{
	if (h->depth != 0)
		abort();
	into_content(h);
	buf_char(&h->out, '\n');
	return h->out;
}

static void
open_tag(struct html *h, const char *name)
{
	into_content(h);
	buf_char(&h->out, '<');
	buf_text(&h->out, name);
	h->in_tag = true;
}

void
html_el_(struct html *h, const char *name)
{
	if (h->depth == HTML_DEPTH)
		abort();
	open_tag(h, name);
	h->open[h->depth++] = name;
}

void
html_leaf_(struct html *h, const char *name)
{
	open_tag(h, name);
}

void
html_end(struct html *h)
{
	if (h->depth == 0)
		abort();
	into_content(h);
	buf_text(&h->out, "</");
	buf_text(&h->out, h->open[--h->depth]);
	buf_char(&h->out, '>');
}

static void
put_attribute(struct html *h, const char *name, const char *value)
{
	if (!h->in_tag)
		abort();
	buf_char(&h->out, ' ');
	buf_text(&h->out, name);
	buf_text(&h->out, "=\"");
	put_escaped(&h->out, value);
	buf_char(&h->out, '"');
}

void
html_attr_(struct html *h, const char *name, const char *value)
{
	static const char elsewhere[] = "href src action formaction poster data style srcdoc xlink:href";

	if (word_in(elsewhere, name, strlen(name)) || strncmp(name, "on", 2) == 0)
		abort();
	put_attribute(h, name, value);
}

void
html_int(struct html *h, const char *name, int64_t value)
{
	char digits[24];
	struct buf b = BUF_OVER(digits);

	buf_int(&b, value);
	html_attr_(h, name, digits);
}

void
html_flag_(struct html *h, const char *name)
{
	if (!h->in_tag)
		abort();
	buf_char(&h->out, ' ');
	buf_text(&h->out, name);
}

/* Browsers leave out white space and controls before they look for a scheme, so an address with one is none. */
static bool
address_fine(const char *address)
{
	size_t scheme = strcspn(address, ":/?#"), i;

	for (i = 0; address[i] != '\0'; i++)
		if ((unsigned char)address[i] <= 0x20 || address[i] == 0x7f)
			return false;
	return address[scheme] != ':' || (scheme == 4 && strncasecmp(address, "http", 4) == 0) ||
	    (scheme == 5 && strncasecmp(address, "https", 5) == 0) ||
	    (scheme == 6 && strncasecmp(address, "mailto", 6) == 0);
}

void
html_url_(struct html *h, const char *name, const char *address)
{
	if (address == NULL)
		address = "";
	put_attribute(h, name, address_fine(address) ? address : "about:invalid#");
}

void
html_text(struct html *h, const char *text)
{
	const char *in = h->depth > 0 ? h->open[h->depth - 1] : "";

	if (strcmp(in, "script") == 0 || strcmp(in, "style") == 0)
		abort();
	into_content(h);
	put_escaped(&h->out, text);
}

void
html_text_el_(struct html *h, const char *name, const char *class, const char *text)
{
	html_el_(h, name);
	if (class != NULL)
		put_attribute(h, "class", class);
	html_text(h, text);
	html_end(h);
}

/* What could end the script, or be taken for the end of a line, stands in strings alone: an escape says the same. */
void
html_json_text(struct buf *b, const char *json)
{
	const char *p;

	for (p = json; *p != '\0'; p++) {
		if (*p == '<' || *p == '>' || *p == '&')
			buf_printf(b, "\\u%04x", (unsigned)*p);
		else if (strncmp(p, "\xe2\x80\xa8", 3) == 0 || strncmp(p, "\xe2\x80\xa9", 3) == 0)
			buf_printf(b, "\\u202%c", p[2] == (char)0xa8 ? '8' : '9'), p += 2;
		else
			buf_char(b, *p);
	}
}

void
html_json(struct html *h, const char *type, const char *id, const char *json)
{
	html_el_(h, "script");
	put_attribute(h, "type", type);
	if (id != NULL)
		put_attribute(h, "id", id);
	into_content(h);
	html_json_text(&h->out, json);
	html_end(h);
}
