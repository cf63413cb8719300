/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and refusals of operations, derived from their routes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/idempotency.h"
#include "fcgi/operation.h"

enum { MAX_PARTS = 12 };

/* One part of a path: a word, or an id or name in braces. */
struct part { const char *at; size_t n; bool word; };

static int
split(const char *path, struct part parts[MAX_PARTS])
{
	int n = 0;

	path += strncmp(path, "/v2/", 4) == 0 ? 3 : 0;
	while (*path == '/' && n < MAX_PARTS) {
		size_t len = strcspn(++path, "/");

		parts[n++] = (struct part){ path, len, *path != '{' };
		path += len;
	}
	return n;
}

static bool
is(const struct part *p, const char *word)
{
	return strlen(word) == p->n && memcmp(p->at, word, p->n) == 0;
}

/* "openid-connect" as OpenidConnect. */
static void
put_word(struct buf *b, const char *p, size_t n)
{
	bool upper = true;

	for (; n > 0; p++, n--) {
		if (isalnum((unsigned char)*p))
			buf_char(b, upper ? (char)toupper((unsigned char)*p) : *p);
		upper = !isalnum((unsigned char)*p);
	}
}

static void
put_singular(struct buf *b, const struct part *p)
{
	if (p->n > 3 && memcmp(p->at + p->n - 3, "ies", 3) == 0) {
		put_word(b, p->at, p->n - 3);
		buf_char(b, 'y');
	} else {
		put_word(b, p->at, p->n - (p->n > 1 && p->at[p->n - 1] == 's'));
	}
}

static bool
can_be_read(const struct route *route)
{
	const struct route *other;
	size_t i;

	for (i = 0; (other = api_route(i)) != NULL; i++)
		if (other->method == GET && strcmp(other->path, route->path) == 0)
			return true;
	return false;
}

/* Is the last part what to do, not what to do it with? */
static bool
ends_with_verb(const struct route *route, const struct part *parts, int n)
{
	if (n < 2 || !parts[n - 1].word || parts[n - 2].word)
		return false;
	if (route->method == GET)
		return is(&parts[n - 1], "download");
	return (route->method == PUT || (route->method == POST && route->flags & ACTION)) && !can_be_read(route);
}

const char *
operation_id(struct arena *mem, const struct route *route)
{
	static const char *const verbs[] = { [GET] = "get", [POST] = "create", [PUT] = "set", [METHOD_PATCH] = "update",
	    [METHOD_DELETE] = "delete" };
	struct buf b = BUF(mem);
	struct part parts[MAX_PARTS];
	int n = split(route->path, parts), i;

	if (route->id != NULL)
		return route->id;
	if (ends_with_verb(route, parts, n)) {
		n--;
		buf_add(&b, parts[n].at, parts[n].n);
	} else {
		buf_text(&b, route->flags & LIST ? "list" : verbs[route->method]);
	}
	for (i = 0; i < n; i++) {
		if (!parts[i].word || (i + 1 < n && parts[i + 1].word))
			continue;
		if (i + 1 < n || route->method == POST)
			put_singular(&b, &parts[i]);
		else
			put_word(&b, parts[i].at, parts[i].n);
	}
	return buf_string(&b);
}

const char *
operation_tag(struct arena *mem, const struct route *route)
{
	struct part first[MAX_PARTS];

	split(route->path, first);
	if (is(&first[0], "realms"))
		return "tokens";
	if (strncmp(route->path, "/v2/", 4) != 0 || memchr(first[0].at, '.', first[0].n) != NULL)
		return "service";
	return arena_copy_n(mem, first[0].at, first[0].n);
}

bool
operation_takes_json(const struct route *route)
{
	return route->in != NULL && (route->flags & RAW_BODY) == 0 && route->method != GET &&
	    (route->method != METHOD_DELETE || route->query != NULL);
}

bool
operation_has_etag(const struct route *route)
{
	if (route->flags & NO_ENVELOPE)
		return route->method == GET && (route->flags & CONDITIONAL) != 0;
	if (route->flags & LIST || route->out == NULL)
		return false;
	return record_field(route->out, "version") != NULL || (route->method != METHOD_DELETE &&
	    route->flags & CONDITIONAL);
}

static bool
fails_with(const struct route *route, enum error error)
{
	char status[12];

	snprintf(status, sizeof(status), "%d", error_info(error)->status);
	return word_in(route->fails, status, strlen(status));
}

bool
operation_names(const char *word, size_t n, enum error error)
{
	const struct error_info *info = error_info(error);

	if (n > 4 && word[3] == ':') {
		if (atoi(word) != info->status)
			return false;
		word += 4;
		n -= 4;
	}
	return strlen(info->code) == n && memcmp(word, info->code, n) == 0;
}

static bool
has_code(const struct route *route, enum error error)
{
	const char *p = route->codes != NULL ? route->codes : "";

	for (; *p != '\0'; p += strcspn(p, " "), p += strspn(p, " "))
		if (operation_names(p, strcspn(p, " "), error))
			return true;
	return false;
}

bool
operation_codes_fit(const struct route *route)
{
	int e;

	for (e = ERR_NONE + 1; e < ERR_COUNT; e++)
		if (has_code(route, (enum error)e) && !fails_with(route, (enum error)e))
			return false;
	return true;
}

bool
operation_refuses(const struct route *route, enum error error)
{
	bool json = operation_takes_json(route), body = json || (route->flags & RAW_BODY) != 0;
	bool object = strstr(route->path, "Id}") != NULL;

	switch (error) {
	case ERR_HTTPS_REQUIRED: case ERR_NOT_ACCEPTABLE: case ERR_INVALID: case ERR_HEAD_TOO_LARGE: case ERR_INTERNAL:
	case ERR_TOO_MANY_REQUESTS: case ERR_UNAVAILABLE:
	case ERR_TOO_EXPENSIVE:		/* as any statement may be that waits for a table */
		return true;
	case ERR_UNAUTHORIZED: case ERR_TOKEN_EXPIRED:
		return route->scope != SCOPE_PUBLIC;
	case ERR_MISSING_SCOPE:
		return route->scope != SCOPE_PUBLIC && route->scope != SCOPE_ANY_TOKEN;
	case ERR_FORBIDDEN:
		return fails_with(route, error) || (object && route->scope != SCOPE_PUBLIC) ||
		    (route->flags & (SUPER_ADMIN | SOMEWHERE)) != 0;
	case ERR_NOT_FOUND:
		return fails_with(route, error) || object;
	case ERR_CHANGED:
		return fails_with(route, error) || (route->method != GET && route->flags & CONDITIONAL);
	case ERR_BAD_JSON:
		return json;
	case ERR_UNSUPPORTED_TYPE:
		return fails_with(route, error) || json;
	case ERR_INCOMPLETE_BODY:
		return body;
	case ERR_TOO_LARGE:		/* a body that is not taken is measured, too */
		return true;
	case ERR_UNEXPECTED_BODY:
		return !body;
	case ERR_IDEMPOTENCY_KEY: case ERR_IDEMPOTENCY_KEY_IN_USE: case ERR_IDEMPOTENCY_KEY_REUSED:
		return idempotency_counts(route);
	case ERR_CONTENT_RANGE:
		return route->method != GET;
	case ERR_NO_SPACE:
		return fails_with(route, error);
	case ERR_TOO_SLOW:
		return body;
	case ERR_TOO_BUSY:
		return route->scope != SCOPE_PUBLIC;
	default:
		return has_code(route, error);
	}
}
