/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of the API document: the records that operations take and answer, and the headers */
#include <stdlib.h>
#include <string.h>

#include "fcgi/openapi.h"
#include "fcgi/operation.h"

/* Two records, or two forms of one, must not share a name. */
void
openapi_want(struct document *d, const struct record *record, unsigned on)
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
	if (d->n == OPENAPI_MAX_SCHEMAS)
		abort();
	d->schemas[d->n++] = (struct wanted){ record, on };
	for (i = 0; i < record->n; i++)
		if (record->fields[i].of != NULL && record_schema_has(&record->fields[i], on))
			openapi_want(d, record->fields[i].of, on & (CREATE | PATCH) ? CREATE : on);
}

void
openapi_ref(struct document *d, const struct record *record, unsigned on)
{
	openapi_want(d, record, on);
	buf_printf(&d->b, "{\"$ref\":\"#/components/schemas/%s\"}", record_schema_name(d->mem, record, on));
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

/* Of what no body sets anything, nothing is said: it is part of answers alone. */
static uint64_t
read_only(const struct wanted *w)
{
	const struct route *route;
	bool answers = false, is_set = false;
	uint64_t bits = 0;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		answers |= route->out == w->record;
	for (i = 0; answers && (w->on & (CREATE | PATCH)) == 0 && i < w->record->n; i++)
		if (can_be_set(w->record, &w->record->fields[i]))
			is_set = true;
		else
			bits |= UINT64_C(1) << i;
	return is_set ? bits : 0;
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
    "8288). Where that is longer than 8000 bytes, as of a long text that is searched for, there is next alone, or none: "
    "pagination.next always is\",\"schema\":{\"type\":\"string\"}},\"RetryAfter\":{\"description\":\"Seconds to "
    "wait\",\"required\":true,\"schema\":{\"type\":\"integer\",\"minimum\":1}},\"WwwAuthenticate\":{"
    "\"description\":\"What is missing (RFC "
    "6750)\",\"schema\":{\"type\":\"string\"}},\"RateLimitPolicy\":{\"description\":\"Limits that count this request: q requests in w seconds, evenly "
    "(draft-ietf-httpapi-ratelimit-headers)\",\"schema\":{\"type\":\"string\"}},\"RateLimit\":{"
    "\"description\":\"What is left of them: r requests now, all of them after t seconds\",\"schema\":{\"type\":\"string\"}},\"IdempotentReplayed\":{"
    "\"description\":\"The answer of an earlier request with this Idempotency-Key\",\"schema\":{\"type\":\"string\","
    "\"const\":\"true\"}},\"RetryAfterPerhaps\":{\"description\":\"Seconds to "
    "wait\",\"schema\":{\"type\":\"integer\",\"minimum\":1}},\"ContentDisposition\":{\"description\":\"Name for the "
    "file\",\"required\":true,\"schema\":{\"type\":\"string\"}}}";

void
openapi_schemas(struct document *d)
{
	int i;

	if (d->oauth)
		openapi_want(d, &oauth_error_record, 0);
	buf_text(&d->b, "\"schemas\":{\"Pagination\":{\"type\":\"object\",\"required\":[\"page\",\"perpage\",\"total\","
	    "\"totalExact\",\"next\"],\"properties\":{\"page\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"From "
	    "0\"},\"perpage\":{\"type\":\"integer\",\"description\":\"Items on a "
	    "page\"},\"total\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Items on all "
	    "pages\"},\"totalExact\":{\"type\":\"boolean\",\"description\":\"False: total is 10000, and there are "
	    "more\"},\"next\":{\"type\":[\"string\",\"null\"],\"description\":\"Cursor of the next page, for the "
	    "parameter after; null at the end, and where there is no such parameter\"}}}");
	openapi_failure_schemas(d);
	for (i = 0; i < d->n; i++) {
		buf_printf(&d->b, ",\"%s\":", record_schema_name(d->mem, d->schemas[i].record, d->schemas[i].on));
		record_schema(&d->b, d->schemas[i].record, d->schemas[i].on, read_only(&d->schemas[i]));
	}
	buf_char(&d->b, '}');
	buf_text(&d->b, header_components);
}

void
openapi_header(struct document *d, const char *name, const char *component)
{
	openapi_separate(d);
	buf_printf(&d->b, "\"%s\":{\"$ref\":\"#/components/headers/%s\"}", name, component);
}

void
openapi_headers(struct document *d)
{
	buf_text(&d->b, "\"headers\":{");
	openapi_header(d, "X-Request-Id", "RequestId");
	openapi_header(d, "X-Api-Version", "ApiVersion");
	openapi_header(d, "RateLimit-Policy", "RateLimitPolicy");
	openapi_header(d, "RateLimit", "RateLimit");
}
