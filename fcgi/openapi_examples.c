/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of the API document: what each operation was asked and answered when docs/examples.json was recorded */
#include <string.h>

#include "fcgi/openapi.h"
#include "fcgi/operation.h"

/* In JSON; NULL: there was none.  query: a line for each parameter. */
static const struct example {
	const char *operation, *path, *query, *sent_type, *sent, *type, *answer, *stream;
} examples[] = {
#include "fcgi/openapi_examples.inc"
};

static const struct example *
find(const char *operation)
{
	static const struct example none;
	size_t i;

	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (strcmp(examples[i].operation, operation) == 0)
			return &examples[i];
	return &none;
}

static void
put(struct document *d, const char *value)
{
	buf_printf(&d->b, ",\"examples\":{\"recorded\":{\"value\":%s}}", value);
}

void
openapi_example_put(struct document *d, const char *operation, const char *type, bool sent)
{
	const struct example *e = find(operation);
	const char *of = sent ? e->sent_type : e->type, *value = sent ? e->sent : e->answer;

	if (value != NULL && of != NULL && strcmp(of, type) == 0)
		put(d, value);
	else if (!sent && e->stream != NULL && strcmp(type, "text/event-stream") == 0)
		put(d, e->stream);
}

/* The part of the path that stands where the template has the name. */
static const char *
in_path(struct arena *mem, const struct example *example, const char *template, const char *name)
{
	const char *p = example->path != NULL ? example->path : "";
	size_t n = strlen(name);

	for (; *p != '\0' && *template != '\0'; p += strcspn(p, "/"), template += strcspn(template, "/")) {
		p += *p == '/';
		template += *template == '/';
		if (*template == '{' && strncmp(template + 1, name, n) == 0 && template[n + 1] == '}')
			return arena_printf(mem, "\"%.*s\"", (int)strcspn(p, "/"), p);
	}
	return NULL;
}

/* The line that begins with the name, in JSON of its kind: what is no text has no quotes. */
static const char *
in_query(struct arena *mem, const struct example *example, const char *name, const struct field *f)
{
	const char *p = example->query != NULL ? example->query : "", *value;
	size_t n = strlen(name), len;

	while (*p != '\0' && (strncmp(p, name, n) != 0 || p[n] != '='))
		p += strcspn(p, "\n") + 1;
	if (*p == '\0')
		return NULL;
	value = p + n + 1;
	len = strcspn(value, "\n");
	if (f->kind == KIND_STRINGS)
		return arena_printf(mem, "[%.*s]", (int)len, value);
	if (f->kind == KIND_INT || f->kind == KIND_NUMBER || f->kind == KIND_BOOL)
		return arena_copy_n(mem, value + 1, len - 2);
	return arena_copy_n(mem, value, len);
}

const char *
openapi_example_value(struct arena *mem, const struct route *route, const char *name, const struct field *f)
{
	const struct example *example = find(operation_id(mem, route));

	return f != NULL ? in_query(mem, example, name, f) : in_path(mem, example, route->path, name);
}
