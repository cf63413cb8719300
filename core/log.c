/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One write per line, so that lines of several processes do not mix. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/text.h"

static enum log_level lowest = LOG_LEVEL_INFO;
static bool json;

void
log_threshold_named(const char *name)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	int i;

	for (i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			lowest = (enum log_level)i;
}

bool
log_wanted(enum log_level level)
{
	return level >= lowest;
}

void
log_threshold(enum log_level level)
{
	lowest = level;
}

void
log_format_named(const char *name)
{
	json = strcmp(name, "json") == 0;
}

/* What does not fit as a whole is left out, so that the line stays one: cut tells so. */
struct line { char text[4096]; size_t n; bool cut; };

enum { TAIL = 16 };		/* room for what ends every line */

static void
put_bytes(struct line *l, const char *text, size_t n)
{
	if (n > sizeof(l->text) - TAIL - l->n) {
		l->cut = true;
		return;
	}
	memcpy(l->text + l->n, text, n);
	l->n += n;
}

static void
put(struct line *l, const char *text)
{
	put_bytes(l, text, strlen(text));
}

/* With every control character escaped, in JSON also what is no UTF-8. */
static void
put_quoted(struct line *l, const char *text)
{
	bool bytes = json && !utf8_valid(text, strlen(text));
	const unsigned char *s;
	char escape[8];

	put(l, "\"");
	for (s = (const unsigned char *)text; *s != '\0' && !l->cut; s++) {
		if (*s == '"' || *s == '\\')
			snprintf(escape, sizeof(escape), "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			snprintf(escape, sizeof(escape), json ? "\\u%04x" : "\\x%02x", *s);
		else
			snprintf(escape, sizeof(escape), "%c", bytes && *s >= 0x80 ? '?' : *s);
		put(l, escape);
	}
	put(l, "\"");
}

/* Bare where possible. */
static void
put_value(struct line *l, const char *text)
{
	bool quote = json || text[0] == '\0' || strpbrk(text, " =\"\\") != NULL;
	const unsigned char *s;

	for (s = (const unsigned char *)text; *s != '\0'; s++)
		quote |= *s < 0x20 || *s == 0x7f;
	if (quote)
		put_quoted(l, text);
	else
		put(l, text);
}

/* A text that is too long for its line is shortened, once. */
static void
put_pair(struct line *l, const struct log_pair *p)
{
	const size_t before = l->n;
	char number[24], start[512];

	if (p->text == NULL)
		return;
	put(l, json ? l->n == 0 ? "{\"" : ",\"" : l->n == 0 ? "" : " ");
	put(l, p->key);
	put(l, json ? "\":" : "=");
	if (strcmp(p->text, "#") == 0) {
		snprintf(number, sizeof(number), "%lld", (long long)p->number);
		put(l, number);
	} else {
		put_value(l, p->text);
	}
	if (!l->cut)
		return;
	l->n = before;
	l->cut = false;
	if (strlen(p->text) < sizeof(start))
		return;
	snprintf(start, sizeof(start), "%.*s...", (int)utf8_prefix(p->text, sizeof(start) - 4), p->text);
	put_pair(l, &(struct log_pair)LOG_TEXT(p->key, start));
}

void
log_pairs(enum log_level level, const char *what, const struct log_pair *pairs, int n)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	struct line l = { .n = 0 };
	char now[MOMENT_TEXT];
	int i;

	if (level < lowest)
		return;
	put_pair(&l, &(struct log_pair)LOG_TEXT("time", moment_format(moment_now(), now)));
	put_pair(&l, &(struct log_pair)LOG_TEXT("level", names[level]));
	put_pair(&l, &(struct log_pair)LOG_TEXT("what", what));
	for (i = 0; i < n; i++)
		put_pair(&l, &pairs[i]);
	if (json)
		l.text[l.n++] = '}';
	l.text[l.n++] = '\n';
	if (write(STDERR_FILENO, l.text, l.n) < 0)
		return;		/* nowhere to say it */
}

void
log_text(enum log_level level, const char *what, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_pairs(level, what, &(struct log_pair)LOG_TEXT("text", text), 1);
}
