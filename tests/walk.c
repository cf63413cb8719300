/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of walk.h. */
#include <string.h>

#include "tests/walk.h"

const char *
walk_filled(struct world *w, const struct route *route, const char *id)
{
	struct buf b = BUF(w->mem);
	const char *p = route->path;

	while (*p != '\0') {
		if (*p == '{') {
			size_t n = strcspn(p, "}");

			buf_text(&b, n > 3 && memcmp(p + n - 2, "Id", 2) == 0 ? id : w->shortcode);
			p += n + 1;
		} else {
			buf_char(&b, *p++);
		}
	}
	return buf_string(&b);
}

const char *
walk_to(struct world *w, const struct route *route, const struct made *m)
{
	struct buf b = BUF(w->mem);
	const char *p = route->path;
	int i = 0;

	for (; *p != '\0'; p++) {
		size_t n = strcspn(p, "}");

		if (*p != '{') {
			buf_char(&b, *p);
			continue;
		}
		buf_text(&b, memcmp(p + n - 2, "Id", 2) == 0 ? uuid_text(w->mem, m->ids[i++]) : w->shortcode);
		p += n;
	}
	return buf_string(&b);
}

struct made
walk_object(struct world *w, const struct route *route)
{
	if (object_of(route) == NULL || route->flags & NO_OBJECT)
		return (struct made){ { uuid_new(), uuid_new() }, .media_id = uuid_new() };
	return world_object(w, object_of(route));
}

struct req *
walk_try(struct world *w, const struct route *route, const struct made *m, const char *token)
{
	const char *body = NULL;

	if (operation_takes_json(route) && object_of(route) != NULL && route->method == METHOD_PATCH)
		body = world_body(w, object_of(route), METHOD_PATCH);
	return call_as(w, token, method_name(route->method), walk_to(w, route, m), body != NULL ? body :
	    operation_takes_json(route) ? "{}" : NULL);
}

const struct route *
walk_route(enum method method, const char *path)
{
	const struct route *route;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		if (route->method == method && strcmp(route->path, path) == 0)
			return route;
	return NULL;
}

int
walk_ids(const struct made *m)
{
	int n = 0;

	while (n < 4 && !uuid_is_none(m->ids[n]))
		n++;
	return n;
}

void
walk_expect(const struct route *route, const struct req *r, int status, const char *why)
{
	if (r->status != status)
		fail_msg("%s %s, %s: %d instead of %d: %s", method_name(route->method), route->path, why, r->status,
		    status, buf_string(&r->out));
}
