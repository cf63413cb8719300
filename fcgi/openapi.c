/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The OpenAPI 3.1 document, printed from the routes and their records. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/req.h"

enum { MAX_SCHEMAS = 256 };

/* A schema to print: a record as sent (on = 0), or as taken. */
struct wanted { const struct record *record; unsigned on; };

struct document {
	struct buf b;
	struct wanted schemas[MAX_SCHEMAS];
	int n;
};

static const char *
schema_name(struct arena *mem, const struct record *record, unsigned on)
{
	size_t n = strlen(record->name);
	bool named_so = n > 5 && strcmp(record->name + n - 5, "Patch") == 0;

	return on == 0 || (on == PATCH && named_so) ? record->name :
	    arena_printf(mem, "%s%s", record->name, on == PATCH ? "Patch" : "Create");
}

static void
want(struct document *d, const struct record *record, unsigned on)
{
	size_t i;
	int k;

	for (k = 0; k < d->n; k++)
		if (d->schemas[k].record == record && d->schemas[k].on == on)
			return;
	if (d->n == MAX_SCHEMAS)
		abort();
	d->schemas[d->n++] = (struct wanted){ record, on };
	for (i = 0; i < record->n; i++)
		if (record->fields[i].of != NULL && (on != 0 ? record->fields[i].on & on :
		    (record->fields[i].on & (HIDDEN | INPUT_ONLY)) == 0))
			want(d, record->fields[i].of, 0);
}

static void
put_parameter(struct document *d, const char *name, const char *in, const char *schema, const char *doc)
{
	buf_printf(&d->b, "{\"name\":\"%s\",\"in\":\"%s\",\"required\":%s,\"schema\":{%s},\"description\":", name, in,
	    strcmp(in, "path") == 0 ? "true" : "false", schema);
	buf_json(&d->b, doc);
	buf_char(&d->b, '}');
}

static const char *
query_schema(struct arena *mem, const struct field *f)
{
	struct buf b = BUF(mem);
	struct record one = { "Query", 0, f, 1 };

	record_schema(&b, &one, QUERY);
	return buf_string(&b);
}

/* The schema of the one property inside the schema of a record that has only it. */
static void
put_query(struct document *d, const struct record *record, bool *any)
{
	size_t i;

	for (i = 0; record != NULL && i < record->n; i++) {
		const struct field *f = &record->fields[i];
		const char *schema, *colon;

		if ((f->on & QUERY) == 0)
			continue;
		schema = query_schema(d->b.mem, f);
		colon = strstr(schema, "\"properties\":{");
		colon = strchr(colon + 14, ':') + 1;
		if (*any)
			buf_char(&d->b, ',');
		*any = true;
		buf_printf(&d->b, "{\"name\":\"%s\",\"in\":\"query\",\"required\":%s,%s\"schema\":%.*s,\"description\":",
		    record_json_name(record, f), f->required ? "true" : "false",
		    f->kind == KIND_STRINGS ? "\"style\":\"form\",\"explode\":false," : "",
		    (int)(strlen(colon) - 2), colon);
		buf_json(&d->b, f->doc);
		buf_char(&d->b, '}');
	}
}

static void
put_parameters(struct document *d, const struct route *route)
{
	bool query_in = route->method == GET || route->method == METHOD_DELETE, any = false;
	const char *p = route->path;

	buf_text(&d->b, ",\"parameters\":[");
	while ((p = strchr(p, '{')) != NULL) {
		size_t n = strcspn(++p, "}");
		bool id = n > 2 && memcmp(p + n - 2, "Id", 2) == 0;

		if (any)
			buf_char(&d->b, ',');
		any = true;
		put_parameter(d, arena_copy_n(d->b.mem, p, n), "path", id ? "\"type\":\"string\",\"format\":\"uuid\"" :
		    "\"type\":\"string\"", id ? "Id in lower case" : "Name");
	}
	put_query(d, route->query != NULL ? route->query : query_in ? route->in : NULL, &any);
	if (route->flags & LIST)
		put_query(d, &page_record, &any);
	if (route->flags & CONDITIONAL) {
		if (any)
			buf_char(&d->b, ',');
		put_parameter(d, route->method == GET ? "If-None-Match" : "If-Match", "header", "\"type\":\"string\"",
		    route->method == GET ? "304 when the entity tag still holds" : "412 when the entity tag no longer holds");
	}
	buf_char(&d->b, ']');
}

static void
put_content(struct document *d, const char *types, const char *schema)
{
	bool first = true;

	buf_text(&d->b, "\"content\":{");
	while (*types != '\0') {
		size_t n = strcspn(types, " ");

		buf_printf(&d->b, "%s\"%.*s\":{\"schema\":%s}", first ? "" : ",", (int)n, types, schema);
		first = false;
		types += n;
		types += strspn(types, " ");
	}
	buf_char(&d->b, '}');
}

static void
put_body(struct document *d, const struct route *route)
{
	unsigned on = route->method == METHOD_PATCH ? PATCH : CREATE;

	if (route->flags & RAW_BODY) {
		buf_text(&d->b, ",\"requestBody\":{\"required\":true,");
		put_content(d, route->consumes != NULL ? route->consumes : "application/octet-stream", "{}");
		buf_char(&d->b, '}');
	} else if (route->in != NULL && route->method != GET && route->method != METHOD_DELETE) {
		want(d, route->in, on);
		buf_printf(&d->b, ",\"requestBody\":{\"required\":%s,\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
		    "\"#/components/schemas/%s\"}}}}", route->flags & OPTIONAL_BODY ? "false" : "true",
		    schema_name(d->b.mem, route->in, on));
	}
}

static void
put_success(struct document *d, const struct route *route)
{
	int status = route->success ? route->success : 200;

	buf_printf(&d->b, "\"%d\":{\"description\":\"%s\",\"headers\":{\"X-Request-Id\":{\"$ref\":\"#/components/headers/RequestId\"}}",
	    status, status == 201 ? "Made" : status == 204 ? "Done, nothing to say" : "Done");
	if (route->flags & NO_ENVELOPE && route->produces != NULL) {
		buf_char(&d->b, ',');
		put_content(d, route->produces, "{}");
	} else if (route->out != NULL && status != 204) {
		want(d, route->out, 0);
		buf_printf(&d->b, ",\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\",\"required\":[\"status\",\"data\"%s],"
		    "\"additionalProperties\":false,\"properties\":{\"status\":{\"const\":\"success\"},\"data\":",
		    route->flags & LIST ? ",\"pagination\"" : "");
		if (route->flags & LIST)
			buf_printf(&d->b, "{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/%s\"}},\"pagination\":{\"$ref\":"
			    "\"#/components/schemas/Pagination\"}", route->out->name);
		else
			buf_printf(&d->b, "{\"$ref\":\"#/components/schemas/%s\"}", route->out->name);
		buf_text(&d->b, "}}}}");
	}
	buf_char(&d->b, '}');
	if (route->method == GET && route->flags & CONDITIONAL)
		buf_text(&d->b, ",\"304\":{\"description\":\"Not modified\"}");
}

static void
put_fails(struct document *d, const struct route *route)
{
	const char *p = route->fails != NULL ? route->fails : "";

	if (route->scope != SCOPE_PUBLIC)
		buf_text(&d->b, ",\"401\":{\"$ref\":\"#/components/responses/Failure\"}");
	while (*p != '\0') {
		size_t n = strcspn(p, " ");

		buf_printf(&d->b, ",\"%.*s\":{\"$ref\":\"#/components/responses/Failure\"}", (int)n, p);
		p += n;
		p += strspn(p, " ");
	}
	buf_text(&d->b, ",\"default\":{\"$ref\":\"#/components/responses/Failure\"}");
}

/* "media_get" from GET /v2/media/{mediaId}: unique, and steady when routes are added. */
static void
put_operation_id(struct document *d, const struct route *route)
{
	const char *p = strncmp(route->path, "/v2", 3) == 0 ? route->path + 3 : route->path;
	static const char *const verbs[] = { "", "get", "head", "create", "put", "update", "delete", "options" };
	bool upper = true;

	buf_printf(&d->b, ",\"operationId\":\"%s", route->flags & LIST ? "list" : verbs[route->method]);
	for (; *p != '\0'; p++) {
		if (strchr("/{}-._", *p) != NULL) {
			upper = true;
			continue;
		}
		buf_char(&d->b, upper && *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p);
		upper = false;
	}
	buf_char(&d->b, '"');
}

static void
put_operation(struct document *d, const struct route *route)
{
	const char *tag = strncmp(route->path, "/v2/", 4) == 0 ? route->path + 4 : "service";

	buf_printf(&d->b, "\"%s\":{\"summary\":", (const char *[]){ "", "get", "head", "post", "put", "patch", "delete", "options" }
	    [route->method]);
	buf_json(&d->b, route->doc);
	put_operation_id(d, route);
	buf_printf(&d->b, ",\"tags\":[\"%.*s\"]", (int)strcspn(tag, "/."), tag);
	if (route->scope == SCOPE_PUBLIC)
		buf_text(&d->b, ",\"security\":[]");
	else
		buf_printf(&d->b, ",\"security\":[{\"oauth\":[%s%s%s]}]", route->scope == SCOPE_ANY_TOKEN ? "" : "\"",
		    route->scope == SCOPE_ANY_TOKEN ? "" : scope_name(route->scope), route->scope == SCOPE_ANY_TOKEN ? "" : "\"");
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
	bool any_path = false;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		bool seen = false, any = false;

		for (k = 0; k < i; k++)
			seen |= strcmp(api_route(k)->path, route->path) == 0;
		if (seen)
			continue;
		buf_printf(&d->b, "%s\"%s\":{", any_path ? "," : "", route->path);
		any_path = true;
		for (k = i; (other = api_route(k)) != NULL; k++) {
			if (strcmp(other->path, route->path) != 0)
				continue;
			if (any)
				buf_char(&d->b, ',');
			any = true;
			put_operation(d, other);
		}
		buf_char(&d->b, '}');
	}
}

static void
put_components(struct document *d)
{
	enum scope s;
	int i;

	buf_text(&d->b, "\"schemas\":{\"Pagination\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"page\",\"perpage\",\"total\"],"
	    "\"properties\":{\"page\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"From 0\"},\"perpage\":{\"type\":\"integer\",\"description\":"
	    "\"Items on a page\"},\"total\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Items on all pages\"}}},"
	    "\"Failure\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"status\",\"message\",\"data\"],\"properties\":{"
	    "\"status\":{\"enum\":[\"fail\",\"error\"]},\"message\":{\"type\":\"string\"},\"data\":{\"type\":\"object\",\"additionalProperties\":false,"
	    "\"required\":[\"code\",\"errors\",\"requestId\"],\"properties\":{\"code\":{\"type\":\"string\"},\"requestId\":{\"type\":\"string\","
	    "\"format\":\"uuid\"},\"errors\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"pointer\","
	    "\"code\",\"detail\"],\"properties\":{\"pointer\":{\"type\":\"string\"},\"code\":{\"type\":\"string\"},\"detail\":{\"type\":\"string\"}}}}}}}}");
	for (i = 0; i < d->n; i++) {
		buf_printf(&d->b, ",\"%s\":", schema_name(d->b.mem, d->schemas[i].record, d->schemas[i].on));
		record_schema(&d->b, d->schemas[i].record, d->schemas[i].on);
	}
	buf_text(&d->b, "},\"headers\":{\"RequestId\":{\"description\":\"Id of the request, as in the log\",\"schema\":{\"type\":\"string\","
	    "\"format\":\"uuid\"}}},\"responses\":{\"Failure\":{\"description\":\"Refused; the code says why\",\"content\":{\"application/json\":"
	    "{\"schema\":{\"$ref\":\"#/components/schemas/Failure\"}},\"application/problem+json\":{\"schema\":{\"type\":\"object\"}}}}},"
	    "\"securitySchemes\":{\"oauth\":{\"type\":\"oauth2\",\"description\":\"Client credentials of a tenant\",\"flows\":{\"clientCredentials\":"
	    "{\"tokenUrl\":\"/realms/{tenantShortcode}/protocol/openid-connect/token\",\"scopes\":{");
	for (s = SCOPE_VIEW_CHANNEL; s <= SCOPE_MANAGE_CHANNEL; s++)
		buf_printf(&d->b, "%s\"%s\":\"%s\"", s == SCOPE_VIEW_CHANNEL ? "" : ",", scope_name(s), scope_name(s));
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
openapi_print(struct arena *mem)
{
	struct document *d = NEW(mem, struct document);

	d->b = BUF(mem);
	buf_text(&d->b, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Kinothek\",\"version\":\"" API_VERSION "\",\"summary\":"
	    "\"Self-hosted media asset service\",\"license\":{\"name\":\"GPL-3.0-or-later\",\"identifier\":\"GPL-3.0-or-later\"}},"
	    "\"servers\":[{\"url\":\"/\",\"description\":\"This installation\"}],\"paths\":{");
	put_paths(d);
	buf_text(&d->b, "},\"components\":{");
	put_components(d);
	buf_text(&d->b, "}}");
	return indented(mem, buf_string(&d->b));
}
