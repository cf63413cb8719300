/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RFC 5322, and of MIME what a letter in one piece of plain text needs. */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "core/buf.h"
#include "core/mail.h"

enum { WORD = 60, LINE = 72 };		/* the encoded part of a word has 63 at most, a line 76 */

bool
mail_is_address(const char *text)
{
	const char *at = strchr(text, '@'), *p;

	for (p = text; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("<>,;:\"()[]\\", *p) != NULL)
			return false;
	return at != NULL && at != text && at[1] != '\0' && strchr(at + 1, '@') == NULL && strlen(text) <= 254 &&
	    utf8_valid(text, strlen(text));
}

static bool
is_plain(const char *text)
{
	size_t n;

	for (n = 0; text[n] != '\0'; n++)
		if ((isalnum((unsigned char)text[n]) == 0 && text[n] != ' ') || n >= WORD)
			return false;
	return true;
}

/* RFC 2047: words of whole characters.  A control, which could end the line for who decodes it, becomes a blank. */
static void
header_words(struct buf *b, const char *text)
{
	size_t used = WORD, i, n;

	if (is_plain(text)) {
		buf_text(b, text);
		return;
	}
	for (i = 0; text[i] != '\0'; i += n) {
		for (n = 1; ((unsigned char)text[i + n] & 0xc0) == 0x80; n++)
			continue;
		if (used + 3 * n > WORD) {
			buf_text(b, i == 0 ? "=?UTF-8?Q?" : "?=\r\n =?UTF-8?Q?");
			used = 0;
		}
		if (n == 1 && isalnum((unsigned char)text[i]) != 0)
			buf_char(b, text[i]);
		else if (n == 1 && ((unsigned char)text[i] <= ' ' || text[i] == 0x7f))
			buf_char(b, '_');
		else
			for (size_t k = 0; k < n; k++)
				buf_printf(b, "=%02X", (unsigned char)text[i + k]);
		used += 3 * n;
	}
	buf_text(b, "?=");
}

/* RFC 2045, quoted-printable: blanks at the end of a line would be lost. */
static void
body_text(struct buf *b, const char *text)
{
	size_t column = 0;

	for (; *text != '\0'; text++) {
		if (*text == '\n') {
			buf_text(b, "\r\n");
			column = 0;
			continue;
		}
		if (column > LINE) {
			buf_text(b, "=\r\n");
			column = 0;
		}
		if ((*text > ' ' && *text < 0x7f && *text != '=') ||
		    (*text == ' ' && text[1] != '\n' && text[1] != '\0')) {
			buf_char(b, *text);
			column++;
		} else {
			buf_printf(b, "=%02X", (unsigned char)*text);
			column += 3;
		}
	}
}

static void
mailbox(struct buf *b, const char *field, const char *name, const char *address)
{
	buf_printf(b, "%s: ", field);
	header_words(b, name);
	buf_printf(b, "\r\n <%s>\r\n", address);
}

const char *
mail_text(struct arena *mem, const struct mail *m)
{
	struct buf b = BUF(mem);
	time_t seconds = (time_t)(m->date.ms / 1000);
	char date[64];
	struct tm tm;

	/* The programs stay in the locale "C": the names are those of the RFC. */
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S +0000", gmtime_r(&seconds, &tm));
	buf_printf(&b, "Date: %s\r\n", date);
	mailbox(&b, "From", m->from_name, m->from);
	mailbox(&b, "To", m->to_name, m->to);
	buf_text(&b, "Subject: ");
	header_words(&b, m->subject);
	buf_printf(&b, "\r\nMessage-ID: <%s%s>\r\n", uuid_text(mem, m->id), strchr(m->from, '@'));
	buf_text(&b, "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
	    "Content-Type: text/plain; charset=utf-8\r\n"
	    "Content-Transfer-Encoding: quoted-printable\r\n\r\n");
	body_text(&b, m->body);
	return buf_string(&b);
}
