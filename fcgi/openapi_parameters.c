/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of the API document: what an operation takes in its address and its headers */
#include <string.h>

#include "fcgi/idempotency.h"
#include "fcgi/openapi.h"
#include "fcgi/operation.h"

static void
put_parameter(struct document *d, const char *name, const char *in, bool required, const char *schema, const char *doc)
{
	openapi_separate(d);
	buf_printf(&d->b, "{\"name\":\"%s\",\"in\":\"%s\",\"required\":%s,\"schema\":%s,\"description\":", name, in,
	    required ? "true" : "false", schema);
	buf_json(&d->b, doc);
	buf_char(&d->b, '}');
}

static const char *
query_schema(struct document *d, const struct field *f)
{
	struct buf b = BUF(d->mem);

	record_schema_value(&b, f, QUERY);
	return buf_string(&b);
}

/* One more member of the parameter before. */
static void
extend(struct document *d, const char *member, const char *json)
{
	d->b.len--;
	buf_printf(&d->b, ",\"%s\":%s}", member, json);
}

/* As it was asked, where it was.  f: of the query; NULL: of the path. */
static void
put_example(struct document *d, const char *name, const struct field *f)
{
	const char *value = openapi_example_value(d->mem, d->route, name, f);

	if (value != NULL)
		extend(d, "example", value);
}

static void
put_query_field(struct document *d, const struct record *record, const struct field *f)
{
	const char *name = record_json_name(record, f);

	put_parameter(d, name, "query", f->required, query_schema(d, f), f->doc);
	if (f->kind == KIND_STRINGS) {
		extend(d, "style", "\"form\"");
		extend(d, "explode", "false");
	}
	put_example(d, name, f);
}

static void
put_query(struct document *d, const struct record *record)
{
	size_t i;

	for (i = 0; record != NULL && i < record->n; i++)
		if (record->fields[i].on & QUERY)
			put_query_field(d, record, &record->fields[i]);
}

static bool
any_field(const struct record *record, unsigned flag)
{
	size_t i;

	for (i = 0; record != NULL && i < record->n; i++)
		if (record->fields[i].on & flag)
			return true;
	return false;
}

/* Every property both ways. */
static const char *
sort_schema(struct document *d, const struct record *record)
{
	static const char *const ways[] = { "", ":asc", ":desc" };
	struct buf b = BUF(d->mem);
	size_t i, k;

	buf_text(&b, "{\"type\":\"string\",\"enum\":[");
	for (i = 0; i < record->n; i++)
		if (record->fields[i].on & SORT)
			for (k = 0; k < sizeof(ways) / sizeof(ways[0]); k++)
				buf_printf(&b, "%s\"%s%s\"", b.text[b.len - 1] == '[' ? "" : ",",
				    record_json_name(record, &record->fields[i]), ways[k]);
	buf_text(&b, "]}");
	return buf_string(&b);
}

static const char *
filter_value(const struct field *f)
{
	if (f->one_of != NULL)
		return f->one_of;
	switch (f->kind) {
	case KIND_UUID: return "an id";
	case KIND_MOMENT: return "a time as 2026-11-20T10:26:53Z";
	case KIND_POSITION: return "seconds";
	case KIND_INT: case KIND_NUMBER: return "an integer";
	case KIND_BOOL: return "true false";
	default: return "text";
	}
}

/* What db_list() takes, property by property. */
static const char *
filter_doc(struct document *d, const struct record *record)
{
	struct buf b = BUF(d->mem);
	size_t i;

	buf_text(&b, "Conditions, each a property, an operator and a value, as `name~cat`; several are joined by + "
	    "(sent as %2B) and must all hold. `~` means contains. Properties, their operators and values:");
	for (i = 0; i < record->n; i++)
		if (record->fields[i].on & FILTER)
			buf_printf(&b, "\n- `%s` (`%s`): %s", record_json_name(record, &record->fields[i]),
			    record_operators(&record->fields[i]), filter_value(&record->fields[i]));
	return buf_string(&b);
}

/* Each list takes of it what its record offers. */
static void
put_page(struct document *d, const struct record *record, const struct record *filtered)
{
	size_t i;

	for (i = 0; i < page_record.n; i++) {
		const struct field *f = &page_record.fields[i];

		if (strcmp(f->name, "sort") == 0 && any_field(record, SORT)) {
			put_parameter(d, "sort", "query", false, sort_schema(d, record), f->doc);
			put_example(d, "sort", f);
		} else if (strcmp(f->name, "filter") == 0 && any_field(filtered, FILTER)) {
			put_parameter(d, "filter", "query", false, query_schema(d, f), filter_doc(d, filtered));
			put_example(d, "filter", f);
		} else if (strcmp(f->name, "after") == 0 ? record_field(record, "id") != NULL :
		    strcmp(f->name, "sort") != 0 && strcmp(f->name, "filter") != 0)
			put_query_field(d, &page_record, f);
	}
}

void
openapi_parameters(struct document *d, const struct route *route)
{
	const char *p = route->path;

	buf_text(&d->b, ",\"parameters\":[");
	while ((p = strchr(p, '{')) != NULL) {
		size_t n = strcspn(++p, "}");
		bool id = n > 2 && memcmp(p + n - 2, "Id", 2) == 0;

		put_parameter(d, arena_copy_n(d->mem, p, n), "path", true,
		    id ? "{\"type\":\"string\",\"format\":\"uuid\"}" : "{\"type\":\"string\"}", id ?
		    "Id: 36 characters, in lower case" : "Name of it in addresses");
		put_example(d, arena_copy_n(d->mem, p, n), NULL);
	}
	put_query(d, route->query != NULL ? route->query : operation_takes_json(route) ||
	    route->flags & RAW_BODY ? NULL : route->in);
	if (route->flags & LIST)
		put_page(d, route->out, route->filtered != NULL ? route->filtered : route->out);
	if (route->method == GET && route->flags & CONDITIONAL)
		put_parameter(d, "If-None-Match", "header", false, "{\"type\":\"string\"}",
		    "304 when the entity tag still holds");
	else if (operation_refuses(route, ERR_CHANGED))
		put_parameter(d, "If-Match", "header", false, "{\"type\":\"string\"}",
		    "412 when the entity tag no longer holds");
	if (route->method == GET && word_in(route->produces, "text/event-stream", 17))
		put_parameter(d, "Last-Event-ID", "header", false, "{\"type\":\"string\"}",
		    "Of a stream: the last id it has told, in place of `after`; browsers send it by themselves");
	if (idempotency_counts(route))
		put_parameter(d, "Idempotency-Key", "header", false,
		    "{\"type\":\"string\",\"minLength\":1,\"maxLength\":257}", "Does this once: for 24 hours the same request with the same "
		    "key gets the first answer again, "
		    "with Idempotent-Replayed. Another body or address is refused with 422, and a second one while the "
		    "first runs with 409. Refusals are not kept");
	buf_char(&d->b, ']');
}
