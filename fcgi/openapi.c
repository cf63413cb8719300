/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The OpenAPI 3.1 document, printed from the routes and their records. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/role.h"
#include "fcgi/operation.h"

enum { MAX_SCHEMAS = 512, MAX_FAILURES = 256 };

/* A schema to print: a record as sent (0), as sent in lists (DETAIL), or as taken (CREATE, PATCH). */
struct wanted { const struct record *record; unsigned on; };

struct document {
	struct arena *mem;
	struct buf b;
	struct wanted schemas[MAX_SCHEMAS];
	int n;
	uint64_t failures[MAX_FAILURES];	/* sets of errors that one operation answers with one status */
	int n_failures;
	bool oauth;
};

static const struct { const char *name, *doc; } tags[] = {
	{ "media", "Assets: videos, sounds, pictures and documents, and what belongs to one of them" },
	{ "uploads", "Files on their way in: announce one, send its bytes, complete it" },
	{ "jobs", "The work that makes assets playable" },
	{ "tokens", "Access tokens of a tenant, and the keys that check them" },
	{ "service", "The service itself: this document, and what monitoring asks" },
};

/* Two records, or two forms of one, must not share a name. */
static void
want(struct document *d, const struct record *record, unsigned on)
{
	const char *name = record_schema_name(d->mem, record, on);
	size_t i;
	int k;

	for (k = 0; k < d->n; k++) {
		bool same_name = strcmp(record_schema_name(d->mem, d->schemas[k].record, d->schemas[k].on), name) == 0;

		if (same_name && d->schemas[k].record == record && (d->schemas[k].on == on ||
		    (on | d->schemas[k].on) == DETAIL))
			return;
		if (same_name)
			abort();
	}
	if (d->n == MAX_SCHEMAS)
		abort();
	d->schemas[d->n++] = (struct wanted){ record, on };
	for (i = 0; i < record->n; i++)
		if (record->fields[i].of != NULL && record_schema_has(&record->fields[i], on))
			want(d, record->fields[i].of, on & (CREATE | PATCH) ? CREATE : on);
}

static void
put_ref(struct document *d, const struct record *record, unsigned on)
{
	want(d, record, on);
	buf_printf(&d->b, "{\"$ref\":\"#/components/schemas/%s\"}", record_schema_name(d->mem, record, on));
}

static void
separate(struct document *d)
{
	char last = d->b.len > 0 ? d->b.text[d->b.len - 1] : '\0';

	if (last != '{' && last != '[' && last != ',')
		buf_char(&d->b, ',');
}

static void
put_parameter(struct document *d, const char *name, const char *in, bool required, const char *schema, const char *doc)
{
	separate(d);
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

static void
put_query_field(struct document *d, const struct record *record, const struct field *f)
{
	put_parameter(d, record_json_name(record, f), "query", f->required, query_schema(d, f), f->doc);
	if (f->kind != KIND_STRINGS)
		return;
	d->b.len--;
	buf_text(&d->b, ",\"style\":\"form\",\"explode\":false}");
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
put_page(struct document *d, const struct record *record)
{
	size_t i;

	for (i = 0; i < page_record.n; i++) {
		const struct field *f = &page_record.fields[i];

		if (strcmp(f->name, "sort") == 0 && any_field(record, SORT))
			put_parameter(d, "sort", "query", false, sort_schema(d, record), f->doc);
		else if (strcmp(f->name, "filter") == 0 && any_field(record, FILTER))
			put_parameter(d, "filter", "query", false, query_schema(d, f), filter_doc(d, record));
		else if (strcmp(f->name, "after") == 0 ? record_field(record, "id") != NULL :
		    strcmp(f->name, "sort") != 0 && strcmp(f->name, "filter") != 0)
			put_query_field(d, &page_record, f);
	}
}

static void
put_parameters(struct document *d, const struct route *route)
{
	const char *p = route->path;

	buf_text(&d->b, ",\"parameters\":[");
	while ((p = strchr(p, '{')) != NULL) {
		size_t n = strcspn(++p, "}");
		bool id = n > 2 && memcmp(p + n - 2, "Id", 2) == 0;

		put_parameter(d, arena_copy_n(d->mem, p, n), "path", true,
		    id ? "{\"type\":\"string\",\"format\":\"uuid\"}" : "{\"type\":\"string\"}", id ?
		    "Id: 36 characters, in lower case" : "Name of it in addresses");
	}
	put_query(d, route->query != NULL ? route->query : operation_takes_json(route) ||
	    route->flags & RAW_BODY ? NULL : route->in);
	if (route->flags & LIST)
		put_page(d, route->out);
	if (route->method == GET && route->flags & CONDITIONAL)
		put_parameter(d, "If-None-Match", "header", false, "{\"type\":\"string\"}",
		    "304 when the entity tag still holds");
	else if (operation_refuses(route, ERR_CHANGED))
		put_parameter(d, "If-Match", "header", false, "{\"type\":\"string\"}",
		    "412 when the entity tag no longer holds");
	buf_char(&d->b, ']');
}

/* Of a type that is no JSON: bytes, a text, or a form of one file. */
static const char *
plain_schema(const char *type, size_t n)
{
	if (n > 5 && memcmp(type, "text/", 5) == 0)
		return "{\"type\":\"string\"}";
	if (n == 19 && memcmp(type, "multipart/form-data", 19) == 0)
		return "{\"type\":\"object\",\"required\":[\"file\"],\"properties\":{\"file\":{\"type\":\"string\","
		    "\"format\":\"binary\",\"description\":\"The only file\"}}}";
	return "{\"type\":\"string\",\"format\":\"binary\"}";
}

/* JSON and forms are what the record says; without a record a JSON object of any shape. */
static void
put_content(struct document *d, const char *types, const struct record *record, unsigned on)
{
	buf_text(&d->b, "\"content\":{");
	while (*types != '\0') {
		size_t n = strcspn(types, " ");
		bool json = n == 16 && memcmp(types, "application/json", 16) == 0;
		bool form = n == 33 && memcmp(types, "application/x-www-form-urlencoded", 33) == 0;

		separate(d);
		buf_printf(&d->b, "\"%.*s\":{\"schema\":", (int)n, types);
		if (record != NULL && (json || form))
			put_ref(d, record, on);
		else
			buf_text(&d->b, json ? "{\"type\":\"object\"}" : plain_schema(types, n));
		buf_char(&d->b, '}');
		types += n;
		types += strspn(types, " ");
	}
	buf_char(&d->b, '}');
}

static void
put_body(struct document *d, const struct route *route)
{
	bool raw = (route->flags & RAW_BODY) != 0;

	if (!raw && !operation_takes_json(route))
		return;
	buf_printf(&d->b, ",\"requestBody\":{\"required\":%s,", route->flags & OPTIONAL_BODY ? "false" : "true");
	put_content(d, !raw ? "application/json" : route->consumes != NULL ? route->consumes :
	    "application/octet-stream", route->in, route->method == METHOD_PATCH ? PATCH : CREATE);
	buf_char(&d->b, '}');
}

static void
put_header(struct document *d, const char *name, const char *component)
{
	separate(d);
	buf_printf(&d->b, "\"%s\":{\"$ref\":\"#/components/headers/%s\"}", name, component);
}

static void
put_headers(struct document *d)
{
	buf_text(&d->b, "\"headers\":{");
	put_header(d, "X-Request-Id", "RequestId");
	put_header(d, "X-Api-Version", "ApiVersion");
}

static void
put_envelope(struct document *d, const struct route *route)
{
	bool list = (route->flags & LIST) != 0;

	buf_printf(&d->b, ",\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\","
	    "\"required\":[\"status\",\"data\"%s],\"properties\":{\"status\":{\"type\":\"string\","
	    "\"const\":\"success\"},\"data\":%s", list ? ",\"pagination\"" : "", list ? "{\"type\":\"array\",\"items\":"
	    : "");
	put_ref(d, route->out, list ? DETAIL : 0);
	buf_printf(&d->b, "%s}}}}", list ? "},\"pagination\":{\"$ref\":\"#/components/schemas/Pagination\"}" : "");
}

static void
put_success(struct document *d, const struct route *route)
{
	int status = route->success ? route->success : 200;

	buf_printf(&d->b, "\"%d\":{\"description\":\"%s\",", status, status == 201 ? "Made" : status == 204 ? "Done" :
	    route->flags & LIST ? "A page" : route->method == GET ? "What was asked for" : "Done");
	put_headers(d);
	if (operation_has_etag(route))
		put_header(d, "ETag", "ETag");
	if (status == 201)
		put_header(d, "Location", "Location");
	if (route->flags & LIST)
		put_header(d, "Link", "Link");
	if (strstr(route->path, "/download") != NULL)
		put_header(d, "Content-Disposition", "ContentDisposition");
	buf_char(&d->b, '}');
	if (route->flags & NO_ENVELOPE && route->produces != NULL) {
		buf_char(&d->b, ',');
		put_content(d, route->produces, route->out, 0);
	} else if (route->out != NULL && status != 204) {
		put_envelope(d, route);
	}
	buf_char(&d->b, '}');
	if (route->method == GET && route->flags & CONDITIONAL)
		buf_text(&d->b, ",\"304\":{\"$ref\":\"#/components/responses/NotModified\"}");
}

/* "InvalidOrIngestRunning" */
static const char *
failure_name(struct document *d, uint64_t set)
{
	struct buf b = BUF(d->mem);
	int e;

	for (e = 0; e < ERR_COUNT; e++) {
		const char *p = error_info((enum error)e)->code;
		bool upper = true;

		if ((set >> e & 1) == 0)
			continue;
		buf_text(&b, b.len ? "Or" : "");
		for (; *p != '\0'; p++) {
			if (*p != '_')
				buf_char(&b, upper ? (char)toupper((unsigned char)*p) : *p);
			upper = *p == '_';
		}
	}
	return buf_string(&b);
}

static const char *
failure_of(struct document *d, uint64_t set)
{
	int i;

	for (i = 0; i < d->n_failures; i++)
		if (d->failures[i] == set)
			return failure_name(d, set);
	if (d->n_failures == MAX_FAILURES || ERR_COUNT > 64)
		abort();
	d->failures[d->n_failures++] = set;
	return failure_name(d, set);
}

/* The errors of one status that an operation may answer with. */
static uint64_t
errors_of(const struct route *route, int status)
{
	uint64_t set = 0;
	int e;

	for (e = ERR_NONE + 1; e < ERR_COUNT; e++)
		if (error_info((enum error)e)->status == status && operation_refuses(route, (enum error)e))
			set |= UINT64_C(1) << e;
	return set;
}

static bool
fails_so(const struct route *route, int status)
{
	const char *p = route->fails != NULL ? route->fails : "";

	for (; *p != '\0'; p += strcspn(p, " "), p += strspn(p, " "))
		if (atoi(p) == status)
			return true;
	return false;
}

/* 500 and what is not foreseen: default. */
static void
put_fails(struct document *d, const struct route *route)
{
	int status;
	uint64_t set;

	for (status = 400; status < 600; status++) {
		set = status != 500 ? errors_of(route, status) : 0;
		if (route->flags & OAUTH && (set != 0 || fails_so(route, status)))
			buf_printf(&d->b, ",\"%d\":{\"$ref\":\"#/components/responses/OAuthFailure\"}", status);
		else if (set != 0)
			buf_printf(&d->b, ",\"%d\":{\"$ref\":\"#/components/responses/%s\"}", status,
			    failure_of(d, set));
	}
	buf_printf(&d->b, ",\"default\":{\"$ref\":\"#/components/responses/%s\"}", route->flags & OAUTH ? "OAuthFailure"
	    : "Failure");
	d->oauth |= (route->flags & OAUTH) != 0;
}

static void
put_description(struct document *d, const struct route *route)
{
	struct buf b = BUF(d->mem);
	const char *p = route->codes != NULL ? route->codes : "";
	int e;

	buf_printf(&b, "%s.", route->doc);
	if (route->scope == SCOPE_PUBLIC)
		buf_text(&b, " Needs no token.");
	else if (route->scope == SCOPE_ANY_TOKEN)
		buf_text(&b, " Needs a token of any scope.");
	else
		buf_printf(&b, " Needs a token with the scope `%s`.", scope_name(route->scope));
	if (route->max_body != 0)
		buf_printf(&b, " The body may have at most %zu bytes.", route->max_body);
	for (; *p != '\0'; p += strcspn(p, " "), p += strspn(p, " "))
		for (e = 0; e < ERR_COUNT; e++) {
			const struct error_info *info = error_info((enum error)e);

			if (strlen(info->code) == strcspn(p, " ") && strncmp(info->code, p, strlen(info->code)) == 0)
				buf_printf(&b, "\n- %d `%s`: %s", info->status, info->code, info->text);
		}
	buf_text(&d->b, ",\"description\":");
	buf_json(&d->b, buf_string(&b));
}

static void
put_operation(struct document *d, const struct route *route)
{
	static const char *const methods[] = { "", "get", "head", "post", "put", "patch", "delete", "options" };

	separate(d);
	buf_printf(&d->b, "\"%s\":{\"summary\":", methods[route->method]);
	buf_json(&d->b, route->doc);
	put_description(d, route);
	buf_printf(&d->b, ",\"operationId\":\"%s\",\"tags\":[\"%s\"]", operation_id(d->mem, route),
	    operation_tag(d->mem, route));
	if (route->scope == SCOPE_PUBLIC)
		buf_text(&d->b, ",\"security\":[]");
	else
		buf_printf(&d->b, ",\"security\":[{\"oauth\":[%s%s%s]}]", route->scope == SCOPE_ANY_TOKEN ? "" : "\"",
		    route->scope == SCOPE_ANY_TOKEN ? "" : scope_name(route->scope),
		    route->scope == SCOPE_ANY_TOKEN ? "" : "\"");
	put_parameters(d, route);
	put_body(d, route);
	buf_text(&d->b, ",\"responses\":{");
	put_success(d, route);
	put_fails(d, route);
	buf_text(&d->b, "}}");
}

/* Routes of one path stand together, wherever they are in the tables. */
static void
put_paths(struct document *d)
{
	const struct route *route, *other;
	size_t i, k;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		bool seen = false;

		for (k = 0; k < i; k++)
			seen |= strcmp(api_route(k)->path, route->path) == 0;
		if (seen || route->flags & PAGE)
			continue;
		separate(d);
		buf_printf(&d->b, "\"%s\":{", route->path);
		for (k = i; (other = api_route(k)) != NULL; k++)
			if (strcmp(other->path, route->path) == 0)
				put_operation(d, other);
		buf_char(&d->b, '}');
	}
}

/* Every tag that a route has, with what is said of it. */
static void
put_tags(struct document *d)
{
	const struct route *route;
	size_t i, k;

	buf_text(&d->b, "\"tags\":[");
	for (i = 0; (route = api_route(i)) != NULL; i++) {
		const char *tag = operation_tag(d->mem, route), *doc = NULL;
		bool seen = false;

		for (k = 0; k < i; k++)
			seen |= strcmp(operation_tag(d->mem, api_route(k)), tag) == 0;
		if (seen)
			continue;
		for (k = 0; k < sizeof(tags) / sizeof(tags[0]); k++)
			doc = strcmp(tags[k].name, tag) == 0 ? tags[k].doc : doc;
		separate(d);
		buf_printf(&d->b, "{\"name\":\"%s\",\"description\":", tag);
		buf_json(&d->b, doc != NULL ? doc : arena_printf(d->mem, "What is below /v2/%s", tag));
		buf_char(&d->b, '}');
	}
	buf_char(&d->b, ']');
}

/* Does a body that answers with the record take a member of that name? */
static bool
can_be_set(const struct record *record, const struct field *f)
{
	const struct route *route;
	size_t i, k;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		for (k = 0; route->out == record && operation_takes_json(route) && k < route->in->n; k++)
			if (route->in->fields[k].on & (CREATE | PATCH) &&
			    strcmp(record_json_name(route->in, &route->in->fields[k]), record_json_name(record,
			    f)) == 0)
				return true;
	return false;
}

static uint64_t
read_only(const struct wanted *w)
{
	const struct route *route;
	bool answers = false;
	uint64_t bits = 0;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		answers |= route->out == w->record;
	for (i = 0; answers && (w->on & (CREATE | PATCH)) == 0 && i < w->record->n; i++)
		if (!can_be_set(w->record, &w->record->fields[i]))
			bits |= UINT64_C(1) << i;
	return bits;
}

static void
put_codes(struct document *d, uint64_t set)
{
	int e;

	buf_text(&d->b, "{\"type\":\"string\",\"enum\":[");
	for (e = ERR_NONE + 1; e < ERR_COUNT; e++)
		if (set >> e & 1) {
			separate(d);
			buf_printf(&d->b, "\"%s\"", error_info((enum error)e)->code);
		}
	buf_text(&d->b, "],\"description\":\"What a program branches on\"}");
}

static const uint64_t every_error = (UINT64_C(1) << ERR_COUNT) - 1;

static void
put_failure_data(struct document *d, uint64_t set)
{
	buf_text(&d->b, "{\"type\":\"object\",\"required\":[\"code\",\"errors\",\"requestId\"],\"properties\":{"
	    "\"code\":");
	if (set == every_error)
		buf_text(&d->b, "{\"$ref\":\"#/components/schemas/ErrorCode\"}");
	else
		put_codes(d, set);
	buf_text(&d->b, ",\"errors\":{\"type\":\"array\",\"description\":\"Every fault of the "
	    "input\",\"items\":{\"$ref\":\"#/components/schemas/Fault\"}},\"requestId\":{\"type\":\"string\","
	    "\"format\":\"uuid\",\"description\":\"As in the log\"}}}");
}

static void
put_failure_schema(struct document *d, const char *name, uint64_t set)
{
	buf_printf(&d->b, ",\"%s\":{\"type\":\"object\",\"required\":[\"status\",\"message\",\"data\"],\"properties\":{"
	    "\"status\":{\"type\":\"string\",\"enum\":[\"fail\",\"error\"],\"description\":\"fail: the request is at "
	    "fault; error: the service\"},\"message\":{\"type\":\"string\",\"description\":\"What a person "
	    "reads\"},\"data\":", name);
	put_failure_data(d, set);
	buf_text(&d->b, "}}");
}

static void
put_failure_schemas(struct document *d)
{
	int i;

	buf_text(&d->b, ",\"ErrorCode\":");
	put_codes(d, every_error);
	put_failure_schema(d, "Failure", every_error);
	for (i = 0; i < d->n_failures; i++)
		put_failure_schema(d, arena_printf(d->mem, "%sFailure", failure_name(d, d->failures[i])),
		    d->failures[i]);
	buf_text(&d->b, ",\"Fault\":{\"type\":\"object\",\"required\":[\"pointer\",\"code\",\"detail\"],"
	    "\"properties\":{\"pointer\":{\"type\":\"string\",\"description\":\"JSON pointer into the body, or the "
	    "name of a parameter\"},\"code\":{\"type\":\"string\",\"description\":\"What kind of fault: required, "
	    "unknown, read_only, type, format, too_long, …\"},\"detail\":{\"type\":\"string\",\"description\":\"What "
	    "is wanted\"}}},\"Problem\":{\"type\":\"object\",\"description\":\"The same as RFC 9457 has "
	    "it\",\"required\":[\"type\",\"title\",\"status\",\"detail\",\"data\"],\"properties\":{\"type\":{"
	    "\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},\"detail\":{"
	    "\"type\":\"string\"},\"data\":");
	put_failure_data(d, every_error);
	buf_text(&d->b, "}}");
}

static void
put_schemas(struct document *d)
{
	int i;

	if (d->oauth)
		want(d, &oauth_error_record, 0);
	buf_text(&d->b, "\"schemas\":{\"Pagination\":{\"type\":\"object\",\"required\":[\"page\",\"perpage\",\"total\","
	    "\"totalExact\",\"next\"],\"properties\":{\"page\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"From "
	    "0\"},\"perpage\":{\"type\":\"integer\",\"description\":\"Items on a "
	    "page\"},\"total\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Items on all "
	    "pages\"},\"totalExact\":{\"type\":\"boolean\",\"description\":\"False: total is 10000, and there are "
	    "more\"},\"next\":{\"type\":[\"string\",\"null\"],\"description\":\"Cursor of the next page, for the "
	    "parameter after; null at the end, and where there is no such parameter\"}}}");
	put_failure_schemas(d);
	for (i = 0; i < d->n; i++) {
		buf_printf(&d->b, ",\"%s\":", record_schema_name(d->mem, d->schemas[i].record, d->schemas[i].on));
		record_schema(&d->b, d->schemas[i].record, d->schemas[i].on, read_only(&d->schemas[i]));
	}
	buf_char(&d->b, '}');
}

static const char header_components[] = ",\"headers\":{"
    "\"RequestId\":{\"description\":\"Id of the request, as in the "
    "log\",\"required\":true,\"schema\":{\"type\":\"string\",\"format\":\"uuid\"}},\"ApiVersion\":{"
    "\"description\":\"Version of the "
    "interface\",\"required\":true,\"schema\":{\"type\":\"string\"}},\"ETag\":{\"description\":\"Entity tag for "
    "If-None-Match and "
    "If-Match\",\"required\":true,\"schema\":{\"type\":\"string\",\"pattern\":\"^\\\"[^\\\"]+\\\"$\"}},\"Location\":{"
    "\"description\":\"Address of what was "
    "made\",\"required\":true,\"schema\":{\"type\":\"string\",\"format\":\"uri-reference\"}},\"Link\":{"
    "\"description\":\"Pages: first, prev, next, last (RFC "
    "8288)\",\"required\":true,\"schema\":{\"type\":\"string\"}},\"RetryAfter\":{\"description\":\"Seconds to "
    "wait\",\"required\":true,\"schema\":{\"type\":\"integer\",\"minimum\":1}},\"WwwAuthenticate\":{"
    "\"description\":\"What is missing (RFC "
    "6750)\",\"schema\":{\"type\":\"string\"}},\"ContentDisposition\":{\"description\":\"Name for the "
    "file\",\"required\":true,\"schema\":{\"type\":\"string\"}}}";

static void
put_failure_response(struct document *d, const char *name, const char *schema, int status)
{
	separate(d);
	buf_printf(&d->b, "\"%s\":{\"description\":\"Refused; the code says why\",", name);
	put_headers(d);
	if (status == 401 || status == 403 || status == 0)
		put_header(d, "WWW-Authenticate", "WwwAuthenticate");
	if (status == 503)
		put_header(d, "Retry-After", "RetryAfter");
	buf_printf(&d->b, "},\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}",
	    schema);
	if (strcmp(schema, "OAuthError") != 0)
		buf_printf(&d->b, ",\"application/problem+json\":{\"schema\":{\"allOf\":[{"
		    "\"$ref\":\"#/components/schemas/Problem\"},{\"type\":\"object\",\"properties\":{\"data\":{"
		    "\"$ref\":\"#/components/schemas/%s/properties/data\"}}}]}}", schema);
	buf_text(&d->b, "}}");
}

static void
put_responses(struct document *d)
{
	int i;

	buf_text(&d->b, ",\"responses\":{\"NotModified\":{\"description\":\"The entity tag still holds\",");
	put_headers(d);
	put_header(d, "ETag", "ETag");
	buf_text(&d->b, "}}");
	put_failure_response(d, "Failure", "Failure", 0);
	if (d->oauth)
		put_failure_response(d, "OAuthFailure", "OAuthError", 0);
	for (i = 0; i < d->n_failures; i++) {
		const char *name = failure_name(d, d->failures[i]);

		put_failure_response(d, name, arena_printf(d->mem, "%sFailure", name),
		    error_info((enum error)__builtin_ctzll(d->failures[i]))->status);
	}
	buf_char(&d->b, '}');
}

static void
put_security(struct document *d)
{
	enum scope s;

	buf_text(&d->b, ",\"securitySchemes\":{\"oauth\":{\"type\":\"oauth2\",\"description\":\"Client credentials of "
	    "a tenant, whose shortcode stands for "
	    "TENANT\",\"flows\":{\"clientCredentials\":{\"tokenUrl\":\"/realms/TENANT/protocol/openid-connect/token\","
	    "\"scopes\":{");
	for (s = SCOPE_UNSET + 1; scope_name(s) != NULL; s++) {
		separate(d);
		buf_printf(&d->b, "\"%s\":\"The permission %s: in a channel, of %s\"", scope_name(s), scope_name(s),
		    role_names(d->mem, s));
	}
	buf_text(&d->b, "}}}}}");
}

/* Puts line breaks and indents around what has no structure of its own, so that a change shows in review. */
static const char *
indented(struct arena *mem, const char *json)
{
	struct buf b = BUF(mem);
	bool in_string = false;
	int depth = 0;

	for (; *json != '\0'; json++) {
		bool opens = *json == '{' || *json == '[', closes = *json == '}' || *json == ']';

		if (*json == '"' && json[-1] != '\\')
			in_string = !in_string;
		if (!in_string && closes && json[-1] != '{' && json[-1] != '[')
			buf_printf(&b, "\n%*s", 2 * --depth, "");
		else if (!in_string && closes)
			depth--;
		buf_char(&b, *json);
		if (!in_string && opens) {
			depth++;
			if (json[1] != '}' && json[1] != ']')
				buf_printf(&b, "\n%*s", 2 * depth, "");
		} else if (!in_string && *json == ',') {
			buf_printf(&b, "\n%*s", 2 * depth, "");
		} else if (!in_string && *json == ':') {
			buf_char(&b, ' ');
		}
	}
	buf_char(&b, '\n');
	return buf_string(&b);
}

const char *
openapi_print(struct arena *mem, const char *server)
{
	struct document *d = NEW(mem, struct document);

	d->mem = mem;
	d->b = BUF(mem);
	buf_text(&d->b, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Kinothek\",\"version\":\"" API_VERSION
	    "\",\"summary\":\"Self-hosted media asset service\",\"description\":\"Takes in videos, sounds, pictures "
	    "and documents, makes them playable, writes down what is said in them, and serves all of it.\\n\\nAnswers "
	    "have the form `{status, data}`, lists also `pagination`. They may have further members in later versions; "
	    "bodies may have no others than those listed. A refusal names a `data.code`, every fault of the input and "
	    "the id of the request; `Accept: application/problem+json` gets it as RFC 9457 has "
	    "it. What the web server in front refuses by itself (411 and 413 of a body, 503 and 504 while the service is "
	    "down) has a body of its own, not this form: there the status alone counts.\",\"contact\":{\"name\":\"Whoever runs this "
	    "installation\"},\"license\":{\"name\":\"GPL-3.0-or-later\",\"identifier\":\"GPL-3.0-or-later\"}},"
	    "\"servers\":[{\"url\":\"{origin}\",\"description\":\"This "
	    "installation\",\"variables\":{\"origin\":{\"description\":\"The setting public_url\",\"default\":");
	buf_json(&d->b, server != NULL ? server : "http://localhost");
	buf_text(&d->b, "}}}],");
	put_tags(d);
	buf_text(&d->b, ",\"paths\":{");
	put_paths(d);
	buf_text(&d->b, "},\"components\":{");
	put_schemas(d);
	buf_text(&d->b, header_components);
	put_responses(d);
	put_security(d);
	buf_text(&d->b, "}}");
	return indented(mem, buf_string(&d->b));
}
