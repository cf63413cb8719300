/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms into structs. */
#include <string.h>
#include <strings.h>

#include "fcgi/form.h"

bool
form_is(const struct req *r)
{
	static const char type[] = "application/x-www-form-urlencoded";

	return r->content_type != NULL && strncasecmp(r->content_type, type, sizeof(type) - 1) == 0 &&
	    strchr("; \t", r->content_type[sizeof(type) - 1]) != NULL;
}

bool
form_decode(char *text)
{
	long n = percent_decode(text, strlen(text), true);

	if (n < 0 || !utf8_valid(text, (size_t)n))
		return false;
	text[n] = '\0';
	return true;
}

/* The member that is called so, or NULL. */
static const char **
member(const struct record *record, void *row, const char *name)
{
	size_t i;

	for (i = 0; i < record->n; i++)
		if (strcmp(record_json_name(record, &record->fields[i]), name) == 0)
			return (const char **)(void *)((char *)row + record->fields[i].offset);
	return NULL;
}

void *
form_read(struct req *r, const struct record *record)
{
	char *rest = arena_copy_n(r->mem, r->body == NULL ? "" : r->body, r->body_size), *pair, *value;
	void *row = arena_alloc(r->mem, record->size);
	const char **at;

	if (strlen(rest) != r->body_size)
		return NULL;
	while ((pair = strsep(&rest, "&")) != NULL) {
		value = strchr(pair, '=');
		if (value == NULL)
			continue;
		*value++ = '\0';
		if (!form_decode(pair) || !form_decode(value))
			return NULL;
		at = member(record, row, pair);
		if (at != NULL && *at != NULL)
			return NULL;
		if (at != NULL)
			*at = value;
	}
	return row;
}
