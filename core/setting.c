/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the values of settings may be, and into what they are made. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/setting.h"
#include "core/text.h"

struct arena *
setting_mem(void)
{
	static struct arena *mem;

	if (mem == NULL)
		mem = arena_new(16 << 20);
	return mem;
}

bool
setting_fail(struct reading *in, const struct setting *s, const char *format, ...)
{
	const char *where, *what;
	va_list args;

	va_start(args, format);
	what = arena_vprintf(setting_mem(), format, args);
	va_end(args);
	if (in->variable != NULL)
		where = arena_printf(setting_mem(), "environment variable %s", in->variable);
	else if (in->line > 0)
		where = arena_printf(setting_mem(), "%s:%d", in->name, in->line);
	else
		where = in->name;
	in->fault = s == NULL ? arena_printf(setting_mem(), "%s: %s", where, what) :
	    arena_printf(setting_mem(), "%s: %s %s", where, s->key, what);
	return false;
}

/* Of letters, digits, and these. */
static bool
consists_of(const char *item, const char *marks)
{
	for (; *item != '\0'; item++)
		if (isalnum((unsigned char)*item) == 0 && strchr(marks, *item) == NULL)
			return false;
	return true;
}

bool
setting_any(const char *item)
{
	return consists_of(item, "._-:[]");
}

bool
setting_model(const char *item)
{
	return consists_of(item, "._-:/@+");
}

/* host, host:port, an address, [v6] or [v6]:port, as core/db_link.c takes it apart. */
bool
setting_server(const char *item)
{
	const char *colon = strchr(item, ':'), *end = strchr(item, ']');
	int64_t port;

	if (!setting_any(item) || (item[0] == '[') != (end != NULL))
		return false;
	if (end != NULL && end[1] != '\0' && end[1] != ':')
		return false;
	if (end != NULL)
		colon = end[1] == ':' ? end + 1 : NULL;
	else if (colon != NULL && strchr(colon + 1, ':') != NULL)
		colon = NULL;
	return colon == NULL || (colon > item && int_parse(colon + 1, &port) && port >= 1 && port <= 65535);
}

bool
setting_rung(const char *item)
{
	int64_t n;

	return int_parse(item, &n) && n >= 144 && n <= 4320 && n % 2 == 0;
}

/* Length of scheme://host[:port] at the start of the text, or 0. */
static size_t
origin_length(const char *text)
{
	const char *p = text, *host, *port;
	int64_t n = 0;

	if (strncmp(p, "https://", 8) == 0)
		p += 8;
	else if (strncmp(p, "http://", 7) == 0)
		p += 7;
	else
		return 0;
	host = p;
	if (*p == '[')
		p += strspn(p, "[0123456789abcdefABCDEF:.]");
	else
		while (isalnum((unsigned char)*p) != 0 || *p == '.' || *p == '-')
			p++;
	if (p == host)
		return 0;
	if (*p != ':')
		return (size_t)(p - text);
	for (port = ++p; isdigit((unsigned char)*p) != 0 && p - port < 6; p++)
		n = n * 10 + (*p - '0');
	return p > port && n >= 1 && n <= 65535 ? (size_t)(p - text) : 0;
}

bool
setting_origin(const char *item)
{
	size_t n = origin_length(item);

	return strcmp(item, "*") == 0 || (n > 0 && item[n] == '\0');
}

bool
setting_network(const char *item)
{
	char address[INET6_ADDRSTRLEN];
	unsigned char bytes[16];
	size_t n = strcspn(item, "/");
	int64_t bits = 0;
	bool v6 = strchr(item, ':') != NULL;

	if (n >= sizeof(address))
		return false;
	memcpy(address, item, n);
	address[n] = '\0';
	if (inet_pton(v6 ? AF_INET6 : AF_INET, address, bytes) != 1)
		return false;
	return item[n] == '\0' || (int_parse(item + n + 1, &bits) && bits >= 0 && bits <= (v6 ? 128 : 32));
}

static bool
set_size(struct reading *in, const struct setting *s, const char *value)
{
	static const char wanted[] = "must be a number of bytes, with K, M, G or T behind it for larger units";
	char *digits = arena_copy(setting_mem(), value);
	size_t n = strspn(digits, "0123456789");
	const char *unit;
	int64_t bytes, factor = 1;

	if (digits[n] != '\0') {
		unit = strchr("KMGT", digits[n]);
		if (unit == NULL || digits[n + 1] != '\0')
			return setting_fail(in, s, "%s", wanted);
		factor = INT64_C(1) << (10 * (unit - "KMGT" + 1));
		digits[n] = '\0';
	}
	if (!int_parse(digits, &bytes) || bytes < 0)
		return setting_fail(in, s, "%s", wanted);
	if (bytes > s->max / factor || bytes * factor < s->min)
		return setting_fail(in, s, "must be from %lld to %lld bytes", (long long)s->min, (long long)s->max);
	*(int64_t *)((char *)in->conf + s->offset) = bytes * factor;
	return true;
}

static bool
set_int(struct reading *in, const struct setting *s, const char *value)
{
	int64_t n;

	if (!int_parse(value, &n) || n < s->min || n > s->max)
		return setting_fail(in, s, "must be a whole number from %lld to %lld", (long long)s->min,
		    (long long)s->max);
	*(int64_t *)((char *)in->conf + s->offset) = n;
	return true;
}

static bool
set_bool(struct reading *in, const struct setting *s, const char *value)
{
	bool yes = strcmp(value, "yes") == 0;

	if (!yes && strcmp(value, "no") != 0)
		return setting_fail(in, s, "must be yes or no");
	*(bool *)((char *)in->conf + s->offset) = yes;
	return true;
}

static bool
is_choice(const char *choices, const char *value)
{
	size_t n;

	for (; *choices != '\0'; choices += n, choices += strspn(choices, " ")) {
		n = strcspn(choices, " ");
		if (strlen(value) == n && strncmp(choices, value, n) == 0)
			return true;
	}
	return false;
}

static bool
keep(struct reading *in, const struct setting *s, const char *value)
{
	*(const char **)((char *)in->conf + s->offset) = value[0] == '\0' ? NULL : arena_copy(setting_mem(), value);
	return true;
}

static bool
set_list(struct reading *in, const struct setting *s, const char *value)
{
	char *rest = arena_copy(setting_mem(), value), *item;
	const char *all = "";
	int n = 0;

	while ((item = strsep(&rest, ", \t")) != NULL) {
		if (item[0] == '\0')
			continue;
		if (!s->item(item))
			return setting_fail(in, s, "cannot hold \"%s\": it takes %s", item, s->choices);
		if (s->item == setting_rung && ++n > CONF_HEIGHTS)
			return setting_fail(in, s, "cannot hold more than %d heights", CONF_HEIGHTS);
		all = arena_printf(setting_mem(), "%s%s%s", all, all[0] == '\0' ? "" : ",", item);
	}
	return keep(in, s, all);
}

static bool
set_origin(struct reading *in, const struct setting *s, const char *value)
{
	size_t n = origin_length(value);

	if (n == 0)
		return setting_fail(in, s, "must be http:// or https://, a host and perhaps a port");
	if (s->type == AS_ORIGIN && strcmp(value + n, "/") == 0)
		return setting_fail(in, s, "must not end in a slash");
	if (s->type == AS_ORIGIN && value[n] != '\0')
		return setting_fail(in, s, "must end behind the host or the port: no path, no question mark");
	if (value[n] != '\0' && (value[n] != '/' || strpbrk(value + n, "?# \t\"<>\\") != NULL))
		return setting_fail(in, s, "must be an address without ? and #");
	return keep(in, s, value);
}

static bool
set_smtp(struct reading *in, const struct setting *s, const char *value)
{
	size_t n = strncmp(value, "smtps://", 8) == 0 ? 8 : strncmp(value, "smtp://", 7) == 0 ? 7 : 0;

	if (n == 0 || value[n] == '\0' || !setting_server(value + n))
		return setting_fail(in, s, "must be smtp:// or smtps://, a host and perhaps a port");
	return keep(in, s, value);
}

/* The first line of a file.  NULL: not readable, errno says why. */
static char *
first_line(const char *file)
{
	char line[4097];
	size_t n;
	FILE *f;

	f = fopen(file, "re");
	if (f == NULL)
		return NULL;
	errno = 0;
	n = fread(line, 1, sizeof(line) - 1, f);
	if (ferror(f) != 0) {
		n = (size_t)errno;
		fclose(f);
		errno = (int)n;
		return NULL;
	}
	fclose(f);
	line[n] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return arena_copy(setting_mem(), line);
}

static bool
is_play_key(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdefABCDEF") == 64;
}

void
setting_note_file(struct conf *conf, const char *file)
{
	size_t n = 0;

	while (conf->files[n] != NULL)
		n++;
	if (n + 1 < CONF_FILES)
		conf->files[n] = arena_copy(setting_mem(), file);
}

static bool
set_secret(struct reading *in, const struct setting *s, const char *file)
{
	const char *secret;

	if (file[0] != '/')
		return setting_fail(in, s, "must be an absolute path");
	if (s->type == AS_PLAY_KEY)
		in->conf->play_key_file = arena_copy(setting_mem(), file);
	setting_note_file(in->conf, file);
	secret = first_line(file);
	if (secret == NULL && errno == ENOENT && s->type == AS_PLAY_KEY)
		return true;
	if (secret == NULL)
		return setting_fail(in, s, "names %s, which cannot be read: %s", file, strerror(errno));
	if (secret[0] == '\0')
		return setting_fail(in, s, "names %s, whose first line is empty", file);
	if (s->type == AS_PLAY_KEY && !is_play_key(secret))
		return setting_fail(in, s, "names %s, which does not hold 64 hex digits", file);
	*(const char **)((char *)in->conf + s->offset) = secret;
	return true;
}

bool
setting_set(struct reading *in, const struct setting *s, const char *value)
{
	if (s->type == AS_LIST ? strlen(value) > (size_t)s->max : s->max > 0 && (s->type == AS_TEXT ||
	    s->type == AS_PATH || s->type == AS_ORIGIN || s->type == AS_URL || s->type == AS_SMTP) &&
	    strlen(value) > (size_t)s->max)
		return setting_fail(in, s, "is longer than %lld bytes", (long long)s->max);
	/* Nothing behind the = takes back a default, where nothing is possible. */
	if (value[0] == '\0' && s->otherwise != NULL)
		return setting_fail(in, s, "needs a value");
	switch (s->type) {
	case AS_INT:
		return set_int(in, s, value);
	case AS_SIZE:
		return set_size(in, s, value);
	case AS_BOOL:
		return set_bool(in, s, value);
	case AS_LIST:
		return set_list(in, s, value);
	case AS_CHOICE:
		return is_choice(s->choices, value) ? keep(in, s, value) :
		    setting_fail(in, s, "must be one of: %s", s->choices);
	case AS_PATH:
		return value[0] == '/' ? keep(in, s, value) : setting_fail(in, s, "must be an absolute path");
	case AS_ORIGIN:
	case AS_URL:
		return value[0] == '\0' ? keep(in, s, value) : set_origin(in, s, value);
	case AS_SMTP:
		return value[0] == '\0' ? keep(in, s, value) : set_smtp(in, s, value);
	case AS_SECRET:
	case AS_PLAY_KEY:
		return value[0] == '\0' ? keep(in, s, value) : set_secret(in, s, value);
	case AS_TEXT:
		break;
	}
	return keep(in, s, value);
}
