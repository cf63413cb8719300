/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One write per line, so that lines of several processes do not mix. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"

static enum log_level lowest = LOG_LEVEL_INFO;

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

struct line { char text[4096]; size_t n; };

void
log_threshold(enum log_level level)
{
	lowest = level;
}

static void
put(struct line *l, const char *text)
{
	size_t n = strlen(text), left = sizeof(l->text) - 2 - l->n;

	if (n > left)
		n = left;
	memcpy(l->text + l->n, text, n);
	l->n += n;
}

/* Bare where possible; otherwise quoted, with every control character escaped. */
static void
put_value(struct line *l, const char *text)
{
	bool quote = text[0] == '\0' || strpbrk(text, " =\"\\") != NULL;
	const unsigned char *s;
	char escape[8];

	for (s = (const unsigned char *)text; *s != '\0'; s++)
		quote |= *s < 0x20 || *s == 0x7f;
	if (!quote) {
		put(l, text);
		return;
	}
	put(l, "\"");
	for (s = (const unsigned char *)text; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			snprintf(escape, sizeof(escape), "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			snprintf(escape, sizeof(escape), "\\x%02x", *s);
		else
			snprintf(escape, sizeof(escape), "%c", *s);
		put(l, escape);
	}
	put(l, "\"");
}

void
log_pairs(enum log_level level, const char *what, const struct log_pair *pairs, int n)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	struct line l = { .n = 0 };
	char number[24];
	int i;

	if (level < lowest)
		return;
	put(&l, "level=");
	put(&l, names[level]);
	put(&l, " what=");
	put_value(&l, what);
	for (i = 0; i < n; i++) {
		if (pairs[i].text == NULL)
			continue;
		put(&l, " ");
		put(&l, pairs[i].key);
		put(&l, "=");
		if (strcmp(pairs[i].text, "#") == 0) {
			snprintf(number, sizeof(number), "%lld", (long long)pairs[i].number);
			put(&l, number);
		} else {
			put_value(&l, pairs[i].text);
		}
	}
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
