/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of the API document: what an operation takes as body, and what it answers when all is well */
#include <string.h>

#include "fcgi/access.h"
#include "fcgi/idempotency.h"
#include "fcgi/openapi.h"
#include "fcgi/operation.h"

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
		bool json = (n == 16 && memcmp(types, "application/json", 16) == 0) || (n > 5 && memcmp(types + n - 5,
		    "+json", 5) == 0);
		bool form = n == 33 && memcmp(types, "application/x-www-form-urlencoded", 33) == 0;

		openapi_separate(d);
		buf_printf(&d->b, "\"%.*s\":{\"schema\":", (int)n, types);
		if (n == 17 && memcmp(types, "text/event-stream", 17) == 0)
			buf_text(&d->b, "{\"type\":\"string\",\"description\":\"Server-sent events: `chat`, with "
			    "a Chat as data, when it is begun and when it is answered; then without a type `{Token, isComplete}`: what follows of the "
			    "answer, the last with isComplete. Or `end`, with `{reason}`: the stream ends before (forbidden, deleted, "
			    "token_expired, unavailable, restart, hour; no_streams: no program of this server keeps any), and the chat is "
			    "asked for by its id. A comment comes where nothing else does for 15 seconds\"}");
		else if (record != NULL && (json || form))
			openapi_ref(d, record, on);
		else
			buf_text(&d->b, json ? "{\"type\":\"object\"}" : plain_schema(types, n));
		openapi_example_put(d, operation_id(d->mem, d->route), arena_copy_n(d->mem, types, n),
		    (on & (CREATE | PATCH)) != 0);
		buf_char(&d->b, '}');
		types += n;
		types += strspn(types, " ");
	}
	buf_char(&d->b, '}');
}

void
openapi_body(struct document *d, const struct route *route)
{
	bool raw = (route->flags & RAW_BODY) != 0;

	if (!raw && !operation_takes_json(route))
		return;
	buf_printf(&d->b, ",\"requestBody\":{\"required\":%s,", route->flags & OPTIONAL_BODY ? "false" : "true");
	put_content(d, !raw ? "application/json" : route->consumes != NULL ? route->consumes :
	    "application/octet-stream", route->in, route->method == METHOD_PATCH ? PATCH : CREATE);
	buf_char(&d->b, '}');
}

/* OpenAPI 3.1 has no words for the messages of a stream. */
static void
put_stream(struct document *d, const char *type)
{
	buf_printf(&d->b, ",\"%s\":{\"schema\":{\"type\":\"string\",\"description\":\"Server-sent events: `id`, where "
	    "to go on; `event`, the type; `data`, an Event in one line. Two have a type of their own, and `{reason}` "
	    "as data: resync (load anew what you show: too_many, unknown) and end (open another stream). A comment "
	    "comes where nothing else does for 15 seconds\"}", type);
	openapi_example_put(d, operation_id(d->mem, d->route), type, false);
	buf_char(&d->b, '}');
}

/* Beside the envelope: the same as a file. */
static bool
gives_file(const struct route *route)
{
	return (route->flags & NO_ENVELOPE) == 0 && word_in(route->produces, "text/plain", 10);
}

static void
put_envelope(struct document *d, const struct record *record, bool list, bool recorded)
{
	static const char type[] = "application/json", stream[] = "text/event-stream";

	buf_printf(&d->b, ",\"content\":{\"%s\":{\"schema\":{\"type\":\"object\",\"required\":[\"status\",\"data\"%s],"
	    "\"properties\":{\"status\":{\"type\":\"string\",\"const\":\"success\"},\"data\":%s", type,
	    list ? ",\"pagination\"" : "", list ? "{\"type\":\"array\",\"items\":" : "");
	openapi_ref(d, record, list ? DETAIL : 0);
	buf_printf(&d->b, "%s}}", list ? "},\"pagination\":{\"$ref\":\"#/components/schemas/Pagination\"}" : "");
	if (recorded)
		openapi_example_put(d, operation_id(d->mem, d->route), type, false);
	buf_char(&d->b, '}');
	if (word_in(d->route->produces, stream, strlen(stream)))
		put_stream(d, stream);
	if (gives_file(d->route))
		buf_text(&d->b, ",\"text/plain\":{\"schema\":{\"type\":\"string\"}}");
	buf_char(&d->b, '}');
}

static void
put_later(struct document *d, const struct route *route)
{
	buf_text(&d->b, ",\"202\":{\"description\":\"A job goes on with it: ask Location again after Retry-After\",");
	openapi_headers(d);
	if (route->success != 302)
		openapi_header(d, "ETag", "ETag");
	openapi_header(d, "Location", "Location");
	openapi_header(d, "Retry-After", "RetryAfter");
	buf_char(&d->b, '}');
	put_envelope(d, route->success == 302 ? route->out : object_of(route)->record, false, false);
	buf_char(&d->b, '}');
}

void
openapi_successes(struct document *d, const struct route *route)
{
	int status = route->success ? route->success : 200;

	buf_printf(&d->b, "\"%d\":{\"description\":\"%s\",", status, status == 201 ? "Made" : status == 204 ? "Done" :
	    status == 302 ? "It is at Location" : route->flags & LIST ? "A page" : route->method == GET ?
	    "What was asked for" : "Done");
	openapi_headers(d);
	if (operation_has_etag(route))
		openapi_header(d, "ETag", "ETag");
	if ((status == 201 && route->method == POST) || status == 302)
		openapi_header(d, "Location", "Location");
	if (route->flags & LIST)
		openapi_header(d, "Link", "Link");
	if (route->flags & NO_ENVELOPE && strstr(route->path, "/download") != NULL && status == 200)
		openapi_header(d, "Content-Disposition", "ContentDisposition");
	if (idempotency_counts(route))
		openapi_header(d, "Idempotent-Replayed", "IdempotentReplayed");
	buf_char(&d->b, '}');
	if (route->flags & NO_ENVELOPE && route->produces != NULL) {
		buf_char(&d->b, ',');
		put_content(d, route->produces, route->out, 0);
	} else if (route->out != NULL && status != 204) {
		put_envelope(d, route->out, (route->flags & LIST) != 0, true);
	}
	buf_char(&d->b, '}');
	if (route->flags & LATER)
		put_later(d, route);
	if (route->method == GET && route->flags & CONDITIONAL)
		buf_text(&d->b, ",\"304\":{\"$ref\":\"#/components/responses/NotModified\"}");
}
