/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of the API document: how operations refuse */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/openapi.h"
#include "fcgi/operation.h"

/* "InvalidOrIngestRunning" */
static const char *
failure_name(struct document *d, const struct codes *set)
{
	struct buf b = BUF(d->mem);
	int e;

	for (e = 0; e < ERR_COUNT; e++) {
		const char *p = error_info((enum error)e)->code;
		bool upper = true;

		if (!set->has[e])
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
failure_of(struct document *d, const struct codes *set)
{
	int i;

	for (i = 0; i < d->n_failures; i++)
		if (memcmp(&d->failures[i], set, sizeof(*set)) == 0)
			return failure_name(d, set);
	if (d->n_failures == OPENAPI_MAX_FAILURES)
		abort();
	d->failures[d->n_failures++] = *set;
	return failure_name(d, set);
}

/* The errors of one status that an operation may answer with. */
static struct codes
errors_of(const struct route *route, int status)
{
	struct codes set = { 0 };
	int e;

	for (e = ERR_NONE + 1; e < ERR_COUNT; e++)
		set.has[e] = error_info((enum error)e)->status == status && operation_refuses(route, (enum error)e);
	return set;
}

/* The first of a set; ERR_NONE: it is empty. */
static enum error
first_of(const struct codes *set)
{
	int e;

	for (e = ERR_NONE + 1; e < ERR_COUNT; e++)
		if (set->has[e])
			return (enum error)e;
	return ERR_NONE;
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
void
openapi_failures(struct document *d, const struct route *route)
{
	struct codes set;
	int status;
	bool any;

	for (status = 400; status < 600; status++) {
		set = errors_of(route, status);
		any = status != 500 && first_of(&set) != ERR_NONE;
		if (route->flags & OAUTH && (any || fails_so(route, status)))
			buf_printf(&d->b, ",\"%d\":{\"$ref\":\"#/components/responses/OAuthFailure\"}", status);
		else if (any)
			buf_printf(&d->b, ",\"%d\":{\"$ref\":\"#/components/responses/%s\"}", status,
			    failure_of(d, &set));
	}
	buf_printf(&d->b, ",\"default\":{\"$ref\":\"#/components/responses/%s\"}", route->flags & OAUTH ? "OAuthFailure"
	    : "Failure");
	d->oauth |= (route->flags & OAUTH) != 0;
}

/* NULL: all that there are. */
/* Has one before it, of another status, the same code? */
static bool
is_again(int e)
{
	int before;

	for (before = ERR_NONE + 1; before < e; before++)
		if (strcmp(error_info((enum error)before)->code, error_info((enum error)e)->code) == 0)
			return true;
	return false;
}

static void
put_codes(struct document *d, const struct codes *set)
{
	int e;

	buf_text(&d->b, "{\"type\":\"string\",\"enum\":[");
	for (e = ERR_NONE + 1; e < ERR_COUNT; e++)
		if (set == NULL ? !is_again(e) : set->has[e]) {
			openapi_separate(d);
			buf_printf(&d->b, "\"%s\"", error_info((enum error)e)->code);
		}
	buf_text(&d->b, "],\"description\":\"What a program branches on\"}");
}

static void
put_failure_data(struct document *d, const struct codes *set)
{
	buf_text(&d->b, "{\"type\":\"object\",\"required\":[\"code\",\"errors\",\"requestId\"],\"properties\":{"
	    "\"code\":");
	if (set == NULL)
		buf_text(&d->b, "{\"$ref\":\"#/components/schemas/ErrorCode\"}");
	else
		put_codes(d, set);
	buf_text(&d->b, ",\"errors\":{\"type\":\"array\",\"description\":\"Every fault of the "
	    "input\",\"items\":{\"$ref\":\"#/components/schemas/Fault\"}},\"requestId\":{\"type\":\"string\","
	    "\"format\":\"uuid\",\"description\":\"As in the log\"}}}");
}

static void
put_failure_schema(struct document *d, const char *name, const struct codes *set)
{
	buf_printf(&d->b, ",\"%s\":{\"type\":\"object\",\"required\":[\"status\",\"message\",\"data\"],\"properties\":{"
	    "\"status\":{\"type\":\"string\",\"enum\":[\"fail\",\"error\"],\"description\":\"fail: the request is at "
	    "fault; error: the service\"},\"message\":{\"type\":\"string\",\"description\":\"What a person "
	    "reads\"},\"data\":", name);
	put_failure_data(d, set);
	buf_text(&d->b, "}}");
}

void
openapi_failure_schemas(struct document *d)
{
	int i;

	buf_text(&d->b, ",\"ErrorCode\":");
	put_codes(d, NULL);
	put_failure_schema(d, "Failure", NULL);
	for (i = 0; i < d->n_failures; i++)
		put_failure_schema(d, arena_printf(d->mem, "%sFailure", failure_name(d, &d->failures[i])),
		    &d->failures[i]);
	buf_text(&d->b, ",\"Fault\":{\"type\":\"object\",\"required\":[\"pointer\",\"code\",\"detail\"],"
	    "\"properties\":{\"pointer\":{\"type\":\"string\",\"description\":\"JSON pointer into the body, or the "
	    "name of a parameter\"},\"code\":{\"type\":\"string\",\"description\":\"What kind of fault: required, "
	    "unknown, read_only, type, format, too_long, …\"},\"detail\":{\"type\":\"string\",\"description\":\"What "
	    "is wanted\"}}},\"Problem\":{\"type\":\"object\",\"description\":\"The same as RFC 9457 has "
	    "it\",\"required\":[\"type\",\"title\",\"status\",\"detail\",\"data\"],\"properties\":{\"type\":{"
	    "\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},\"detail\":{"
	    "\"type\":\"string\"},\"data\":");
	put_failure_data(d, NULL);
	buf_text(&d->b, "}}");
}

static void
put_failure_response(struct document *d, const char *name, const char *schema, int status)
{
	openapi_separate(d);
	buf_printf(&d->b, "\"%s\":{\"description\":\"Refused; the code says why\",", name);
	openapi_headers(d);
	if (status == 401 || status == 403 || status == 0)
		openapi_header(d, "WWW-Authenticate", "WwwAuthenticate");
	if (status == 503 || status == 429)
		openapi_header(d, "Retry-After", "RetryAfter");
	if (status == 0 || strstr(name, "IdempotencyKeyInUse") != NULL)
		openapi_header(d, "Retry-After", "RetryAfterPerhaps");
	buf_printf(&d->b, "},\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}",
	    schema);
	if (strcmp(schema, "OAuthError") != 0)
		buf_printf(&d->b, ",\"application/problem+json\":{\"schema\":{\"allOf\":[{"
		    "\"$ref\":\"#/components/schemas/Problem\"},{\"type\":\"object\",\"properties\":{\"data\":{"
		    "\"$ref\":\"#/components/schemas/%s/properties/data\"}}}]}}", schema);
	buf_text(&d->b, "}}");
}

void
openapi_responses(struct document *d)
{
	int i;

	buf_text(&d->b, ",\"responses\":{\"NotModified\":{\"description\":\"The entity tag still holds\",");
	openapi_headers(d);
	openapi_header(d, "ETag", "ETag");
	buf_text(&d->b, "}}");
	put_failure_response(d, "Failure", "Failure", 0);
	if (d->oauth)
		put_failure_response(d, "OAuthFailure", "OAuthError", 0);
	for (i = 0; i < d->n_failures; i++) {
		const char *name = failure_name(d, &d->failures[i]);

		put_failure_response(d, name, arena_printf(d->mem, "%sFailure", name),
		    error_info(first_of(&d->failures[i]))->status);
	}
	buf_char(&d->b, '}');
}
