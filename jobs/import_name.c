/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <strings.h>

#include "core/text.h"
#include "jobs/import_name.h"

enum { NAME_MAX_LENGTH = 255 };

/* The value of a parameter: a token or a quoted string, whose escapes go.  NULL: it is not there. */
static char *
parameter(struct arena *mem, const char *header, const char *name)
{
	const size_t n = strlen(name);
	const char *p = header;
	char *value, *to;

	while ((p = strchr(p, ';')) != NULL) {
		p += 1 + strspn(p + 1, " \t");
		if (strncasecmp(p, name, n) != 0 || p[n + strspn(p + n, " \t")] != '=')
			continue;
		p += n + strspn(p + n, " \t") + 1;
		p += strspn(p, " \t");
		if (*p != '"')
			return arena_copy_n(mem, p, strcspn(p, "; \t"));
		value = to = arena_copy(mem, p + 1);
		for (p = value; *p != '\0' && *p != '"'; p++) {
			p += *p == '\\' && p[1] != '\0';
			*to++ = *p;
		}
		*to = '\0';
		return value;
	}
	return NULL;
}

/* RFC 8187: UTF-8''%e2%82%ac.mp4; of other sets only what is ASCII.  NULL: it is none. */
static char *
extended(char *value)
{
	char *text = value != NULL ? strchr(value, '\'') : NULL;
	long n;

	text = text != NULL ? strchr(text + 1, '\'') : NULL;
	if (text == NULL)
		return NULL;
	text++;
	n = percent_decode(text, strlen(text), false);
	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return utf8_valid(text, (size_t)n) ? text : NULL;
}

/* The last part of the path, decoded.  NULL: there is none that can be a name. */
static char *
of_address(struct arena *mem, const char *url)
{
	const char *path = strstr(url, "://"), *end, *from;
	char *name;
	long n;

	path = path != NULL ? strpbrk(path + 3, "/?#") : NULL;
	if (path == NULL || *path != '/')
		return NULL;
	end = path + strcspn(path, "?#");
	for (from = end; from > path && from[-1] != '/'; from--)
		continue;
	name = arena_copy_n(mem, from, (size_t)(end - from));
	n = percent_decode(name, strlen(name), false);
	if (n <= 0)
		return NULL;
	name[n] = '\0';
	return utf8_valid(name, (size_t)n) ? name : NULL;
}

/* What stands behind the last directory, of either kind of system; shortened between two characters. */
static const char *
tidy(struct arena *mem, const char *name)
{
	const char *p;
	char *line;
	size_t n = 0;

	for (p = name; *p != '\0'; p++)
		if (*p == '/' || *p == '\\')
			name = p + 1;
	line = arena_copy(mem, utf8_to_line(mem, name));
	line += strspn(line, " .");
	for (char *c = line; *c != '\0'; c++)
		if (((unsigned char)*c & 0xc0) != 0x80 && n++ == NAME_MAX_LENGTH) {
			*c = '\0';
			break;
		}
	return line;
}

const char *
import_name_of(struct arena *mem, const char *text)
{
	const char *name = tidy(mem, text);

	return *name != '\0' ? name : "file";
}

const char *
import_name(struct arena *mem, const char *disposition, const char *url)
{
	const char *named[3] = { NULL, NULL, of_address(mem, url) }, *name;

	if (disposition != NULL) {
		named[0] = extended(parameter(mem, disposition, "filename*"));
		named[1] = parameter(mem, disposition, "filename");
		/* What is no UTF-8 is in nobody knows which encoding. */
		if (named[1] != NULL && !utf8_valid(named[1], strlen(named[1])))
			named[1] = NULL;
	}
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		name = named[i] != NULL ? tidy(mem, named[i]) : "";
		if (*name != '\0')
			return name;
	}
	return "file";
}
