/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every row of every route table, by what its columns promise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/role.h"
#include "fcgi/access.h"
#include "fcgi/operation.h"
#include "tests/world.h"

/* The path with every id filled in, and every other placeholder by the world's shortcode. */
static const char *
filled(struct world *w, const struct route *route, const char *id)
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

static const char *
any_id(struct world *w)
{
	return uuid_text(w->mem, uuid_new());
}

/* The route's path with the ids of a made object. */
static const char *
led_to(struct world *w, const struct route *route, const struct made *m)
{
	struct buf b = BUF(w->mem);
	const char *p = route->path;
	int i = 0;

	for (; *p != '\0'; p++) {
		if (*p != '{') {
			buf_char(&b, *p);
			continue;
		}
		buf_text(&b, uuid_text(w->mem, m->ids[i++]));
		p = strchr(p, '}');
	}
	return buf_string(&b);
}

/* A path that leads to something: the world's own object where the route has one. */
static const char *
reached(struct world *w, const struct route *route)
{
	struct made m;

	if (object_of(route) == NULL || route->flags & NO_OBJECT)
		return filled(w, route, any_id(w));
	m = world_object(w, object_of(route));
	return led_to(w, route, &m);
}

static bool
takes_json(const struct route *route)
{
	return route->in != NULL && (route->flags & RAW_BODY) == 0 &&
	    (route->method == POST || route->method == PUT || route->method == METHOD_PATCH);
}

static void
expect(const struct route *route, const struct req *r, int status, const char *why)
{
	if (r->status != status)
		fail_msg("%s %s, %s: %d instead of %d: %s", method_name(route->method), route->path, why, r->status,
		    status, buf_string(&r->out));
}

static void
tables_have_no_holes(void **state)
{
	(void)state;
	api_check();
	assert_non_null(api_route(0));
}

static void
no_two_routes_answer_the_same_request(void **state)
{
	const struct route *a, *b;
	size_t i, k;

	(void)state;
	for (i = 0; (a = api_route(i)) != NULL; i++)
		for (k = 0; k < i; k++)
			if ((b = api_route(k))->method == a->method && strcmp(a->path, b->path) == 0)
				fail_msg("%s twice", a->path);
}

/* Every route with an object is tried with a body that would do. */
static struct req *
try_route(struct world *w, const struct route *route, const struct made *m, const char *token, const char *if_match)
{
	struct req *r = NEW(w->mem, struct req);

	r->if_match = if_match;
	return call_req(w, r, token, method_name(route->method), led_to(w, route, m), takes_json(route) ? "{}" : NULL);
}

/* The next route that names an object, from *i on. */
static const struct route *
next_with_object(size_t *i)
{
	const struct route *route;

	while ((route = api_route((*i)++)) != NULL)
		if (object_of(route) != NULL && (route->flags & NO_OBJECT) == 0)
			return route;
	return NULL;
}

static int
ids_of(const struct made *m)
{
	int n = 0;

	while (n < 4 && !uuid_is_none(m->ids[n]))
		n++;
	return n;
}

static const struct route *
route_of(enum method method, const char *path)
{
	const struct route *route;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		if (route->method == method && strcmp(route->path, path) == 0)
			return route;
	return NULL;
}

/* Of the own object, another one beside it, one below another asset, and another tenant's. */
struct four { struct made own, beside, twin, foreign; struct world *other; };

static struct four
four_of(struct world *w, const struct object *o)
{
	struct four f = { .other = world_other(w) };

	f.twin = world_object(w, o);
	f.foreign = world_object(f.other, o);
	f.own = world_object(w, o);
	f.beside = world_object_beside(w, o, &f.own);
	return f;
}

static struct uuid
last_id(const struct made *m)
{
	return m->ids[ids_of(m) - 1];
}

static bool
shows(struct world *w, const struct req *r, const struct made *m)
{
	const char *member = arena_printf(w->mem, "\"id\":\"%s\"", uuid_text(w->mem, last_id(m)));

	return strstr(buf_string(&r->out), member) != NULL;
}

/* The next route that lists what some route of an object leads to: its collection, or below its asset. */
static const struct route *
next_list(size_t *i, const struct object **object)
{
	const struct route *route, *of;
	size_t k;

	while ((route = api_route((*i)++)) != NULL)
		for (k = 0; (of = next_with_object(&k)) != NULL;) {
			const struct object *o = *object = object_of(of);

			if ((route->flags & LIST) != 0 && route->out == o->record &&
			    (object_of(route) == &media_object || strncmp(route->path, o->path,
			    strlen(route->path)) == 0))
				return route;
		}
	return NULL;
}

/* As a client reads it: with which ETag, or NULL when it is not there any more. */
static const char *
etag_of(struct world *w, const struct object *o, const struct made *m)
{
	const struct route *get = route_of(GET, o->path);
	struct req *r = try_route(w, get, m, w->token, NULL);

	if (r->status == 404 || text(w, r, "data.deletedAt") != NULL)
		return NULL;
	expect(get, r, 200, "read");
	assert_string_equal(text(w, r, "data.id"), uuid_text(w->mem, last_id(m)));
	assert_non_null(r->etag);
	return r->etag;
}

static const char *
etags_of_others(struct world *w, const struct object *o, const struct four *f)
{
	const char *beside = etag_of(w, o, &f->beside), *twin = etag_of(w, o, &f->twin),
	    *foreign = etag_of(f->other, o, &f->foreign);

	if (beside == NULL || twin == NULL || foreign == NULL)
		fail_msg("%s: another one is gone", o->path);
	return arena_printf(w->mem, "%s %s %s", beside, twin, foreign);
}

static void
a_list_holds_what_is_below_its_parent_and_no_more(void **state)
{
	struct world *w = *state;
	const struct object *o;
	const struct route *route;
	size_t i = 0, seen = 0;

	while ((route = next_list(&i, &o)) != NULL) {
		struct four f = four_of(w, o);
		bool nested = object_of(route) != NULL;
		struct made parent = f.own;
		struct req *r;

		if (route_of(GET, o->path) != NULL)
			etags_of_others(w, o, &f);
		if (object_of(route) == &media_object)
			parent.ids[0] = f.own.media_id;
		r = call(w, "GET", arena_printf(w->mem, "%s?perpage=50", led_to(w, route, &parent)), NULL);
		expect(route, r, 200, "list");
		if (!shows(w, r, &f.own) || !shows(w, r, &f.beside))
			fail_msg("%s lacks what is there: %s", route->path, buf_string(&r->out));
		if (shows(w, r, &f.foreign))
			fail_msg("%s lists another tenant's", route->path);
		if (shows(w, r, &f.twin) == nested)
			fail_msg("%s %s", route->path, nested ? "lists what is below another asset" : "leaves one out");
		seen++;
	}
	assert_true(seen >= 4);
}

/* Of the asset it belongs to, or of its channel or group. */
static int64_t
events_of(struct world *w, const struct made *m)
{
	return number(w, "FROM events WHERE media_id = ? OR (is_audit = 1 AND object_id = ?)", ARGS(ID(m->media_id),
	    ID(m->ids[0])));
}

/* What belongs to an asset, a channel or the tenant has its history there. */
static void
check_event(struct world *w, const struct route *route, const struct made *m, int64_t before)
{
	if (object_of(route)->reach != REACH_OWNER && object_of(route)->reach != REACH_PRIVATE && events_of(w, m) !=
	    before + 1)
		fail_msg("%s %s adds no event, or several: a handler says event() once, unless only who made it "
		    "sees it (REACH_OWNER, REACH_PRIVATE)", method_name(route->method), route->path);
}

/* The next route of this method to an object itself that can be read, too. */
static const struct route *
next_change(size_t *i, enum method method)
{
	const struct route *route;

	while ((route = next_with_object(i)) != NULL)
		if (route->method == method && strcmp(route->path, object_of(route)->path) == 0 &&
		    route_of(GET, route->path) != NULL)
			return route;
	return NULL;
}

static void
a_patch_changes_its_object_alone_and_only_once_from_a_version(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i = 0;

	while ((route = next_change(&i, METHOD_PATCH)) != NULL) {
		const struct object *o = object_of(route);
		struct four f = four_of(w, o);
		const char *body = world_body(w, o, METHOD_PATCH), *etag = etag_of(w, o, &f.own),
		    *others = etags_of_others(w, o, &f);
		int64_t events = events_of(w, &f.own);
		struct req *r = NEW(w->mem, struct req), *again = NEW(w->mem, struct req);

		if (body == NULL)
			fail_msg("tests/world.c has no body that changes %s", o->path);
		r->if_match = again->if_match = etag;
		call_req(w, r, w->token, "PATCH", led_to(w, route, &f.own), body);
		if (r->status < 200 || r->status > 299)
			fail_msg("PATCH %s: %d: %s", route->path, r->status, buf_string(&r->out));
		check_event(w, route, &f.own, events);
		assert_string_not_equal(etag_of(w, o, &f.own), etag);
		assert_string_equal(etags_of_others(w, o, &f), others);
		call_req(w, again, w->token, "PATCH", led_to(w, route, &f.own), body);
		expect(route, again, 412, "the version before");
	}
}

static void
a_delete_takes_its_object_alone(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i = 0;

	while ((route = next_change(&i, METHOD_DELETE)) != NULL) {
		const struct object *o = object_of(route);
		struct four f = four_of(w, o);
		int64_t events = events_of(w, &f.own);
		const char *others;
		struct req *r;

		world_deletable(w, o, &f.own);
		world_deletable(w, o, &f.beside);
		world_deletable(w, o, &f.twin);
		world_deletable(f.other, o, &f.foreign);
		others = etags_of_others(w, o, &f);
		r = try_route(w, route, &f.own, w->token, etag_of(w, o, &f.own));
		if (r->status < 200 || r->status > 299)
			fail_msg("DELETE %s: %d: %s", route->path, r->status, buf_string(&r->out));
		check_event(w, route, &f.own, events);
		if (etag_of(w, o, &f.own) != NULL)
			fail_msg("%s: it is still there", route->path);
		assert_string_equal(etags_of_others(w, o, &f), others);
	}
}

/* It is where its Location says, in the list, and in the history of its asset. */
static void
what_is_posted_to_a_collection_is_there(void **state)
{
	struct world *w = *state;
	const struct object *o;
	const struct route *list, *post;
	size_t i = 0;

	while ((list = next_list(&i, &o)) != NULL) {
		const char *body = world_body(w, o, POST), *path;
		struct made parent;
		int64_t events;
		struct req *r;

		if ((post = route_of(POST, list->path)) == NULL || !takes_json(post))
			continue;
		parent = world_object(w, o);
		if (body == NULL)
			fail_msg("tests/world.c has no body that makes %s", o->path);
		events = events_of(w, &parent);
		path = led_to(w, post, &parent);
		r = call(w, "POST", path, body);
		expect(post, r, post->success != 0 ? post->success : 200, "made");
		if (object_of(post) != NULL)
			check_event(w, post, &parent, events);
		if (r->location != NULL)
			assert_int_equal(call(w, "GET", r->location, NULL)->status, 200);
		assert_non_null(strstr(buf_string(&call(w, "GET", path, NULL)->out), text(w, r, "data.id")));
	}
}

static bool
is_of_asset(const struct route *route)
{
	enum reach reach = object_of(route)->reach;

	return reach == REACH_MEDIA || reach == REACH_BELOW_MEDIA || reach == REACH_BESIDE_CHANNEL;
}

static void
below_a_soft_deleted_asset_only_what_says_so_is_there_and_not_for_viewers(void **state)
{
	struct world *w = *state;
	const char *viewer = world_member(w, SCOPE_NAMES, "Viewer", NULL);
	const struct route *route;
	size_t i = 0;

	while ((route = next_with_object(&i)) != NULL) {
		struct made m = world_object(w, object_of(route));
		struct req *r;

		if (!is_of_asset(route))
			continue;
		db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
		r = try_route(w, route, &m, viewer, NULL);
		expect(route, r, route->flags & WITH_DELETED ? 403 : 404, "soft-deleted, to a viewer");
		assert_null(strstr(text(w, r, "message"), "soft-deleted"));
		r = try_route(w, route, &m, w->token, NULL);
		if ((route->flags & WITH_DELETED) == 0) {
			expect(route, r, 404, "soft-deleted");
			assert_non_null(strstr(text(w, r, "message"), "soft-deleted; recover it first"));
		}
		else if (r->status == 404 && strstr(buf_string(&r->out), "thumbnail") == NULL)
			fail_msg("%s: not there though it says so", route->path);
	}
}

/* The objects that are made have version 7, and their assets another. */
static void
if_match_is_compared_with_the_version_of_the_object_itself(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i = 0;

	while ((route = next_with_object(&i)) != NULL) {
		struct made m = world_object(w, object_of(route));

		if (route->method == GET || (route->flags & CONDITIONAL) == 0)
			continue;
		if (object_of(route)->reach == REACH_BELOW_MEDIA)
			db_run(w->db, "UPDATE media SET version = 5 WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
		expect(route, try_route(w, route, &m, w->token, "\"5\""), 412, "the version of something else");
		expect(route, try_route(w, route, &m, w->token, "\"77\""), 412, "a version of tomorrow");
		if (try_route(w, route, &m, w->token, "\"6\", \"7\"")->status == 412)
			fail_msg("%s: 412 for its own version", route->path);
	}
}

static void
an_unknown_member_is_named(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		struct req *r;

		if (!takes_json(route))
			continue;
		r = call(w, method_name(route->method), reached(w, route), "{\"noSuchMember\":1}");
		expect(route, r, 422, "unknown member");
		assert_true(has_fault(r, "/noSuchMember", "unknown"));
	}
}

static void
a_required_member_left_out_is_named(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i, k;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		struct req *r;

		if (!takes_json(route) || route->method == METHOD_PATCH)
			continue;
		r = call(w, method_name(route->method), reached(w, route), "{}");
		for (k = 0; k < route->in->n; k++) {
			const struct field *f = &route->in->fields[k];

			if ((f->on & CREATE) != 0 && f->required) {
				expect(route, r, 422, f->name);
				assert_true(has_fault(r, arena_printf(w->mem, "/%s", record_json_name(route->in, f)),
				    "required"));
			}
		}
	}
}

/* Names, labels, files and the like: line breaks and tabs, other controls, and what turns what stands beside it. */
static void
what_is_no_line_is_named_where_one_is_wanted(void **state)
{
	static const char *const bad[] = { "a\\nb", "a\\rb", "\\ta", "a\\u0007", "a\\u0085b", "a\xe2\x80\xa8" "b",
	    "a\xe2\x80\xaegpj.exe", "\xe2\x80\xaa" "a", "\xe2\x81\xa6" "a\xe2\x81\xa9" };
	struct world *w = *state;
	const struct route *route;
	size_t i, k, j, names = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		unsigned on = route->method == METHOD_PATCH ? PATCH : CREATE;

		for (k = 0; takes_json(route) && k < route->in->n; k++) {
			const struct field *f = &route->in->fields[k];
			const char *name = record_json_name(route->in, f);

			if ((f->on & on) == 0 || f->kind != KIND_STRING)
				continue;
			names += strcmp(f->name, "name") == 0;
			for (j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
				struct req *r = call(w, method_name(route->method), reached(w, route),
				    arena_printf(w->mem,
				    "{\"%s\":\"%s\"}", name, bad[j]));
				const char *at = arena_printf(w->mem, "/%s", name);
				bool is_text = strcmp(name, "description") == 0 || strcmp(name, "fileName") == 0 ||
				    strcmp(name, "text") == 0 || strcmp(name, "prompt") == 0;
				bool is_bad = !is_text || strstr(bad[j], "\\u0") != NULL;

				if (has_fault(r, at, "control_characters") != is_bad && !has_fault(r, at, "too_long"))
					fail_msg("%s: \"%s\" with %s", route->path, name, bad[j]);
			}
		}
	}
	assert_true(names >= 10);
}

static void
a_string_one_too_long_is_named(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i, k;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		unsigned on = route->method == METHOD_PATCH ? PATCH : CREATE;

		for (k = 0; takes_json(route) && k < route->in->n; k++) {
			const struct field *f = &route->in->fields[k];
			const char *name = record_json_name(route->in, f);
			struct buf b = BUF(w->mem);
			struct req *r;
			int64_t n;

			if ((f->on & on) == 0 || f->kind != KIND_STRING || f->max == 0)
				continue;
			buf_printf(&b, "{\"%s\":\"", name);
			for (n = 0; n <= f->max; n++)
				buf_text(&b, "\xc3\xa4");
			buf_text(&b, "\"}");
			r = call(w, method_name(route->method), reached(w, route), buf_string(&b));
			expect(route, r, 422, name);
			assert_true(has_fault(r, arena_printf(w->mem, "/%s", name), "too_long"));
		}
	}
}

/* A body whose only member is that field of the record, below what leads to it; `value` is JSON. */
struct place { const char *open, *close, *pointer; };

static const char *
with_value(struct world *w, const struct place *at, const char *value)
{
	return arena_printf(w->mem, "%s%s%s", at->open, value, at->close);
}

typedef void look_fn(struct world *, const struct route *, const struct field *, const struct place *);

/* Each field that a body may have, those of records inside of it, too. */
static void
each_field(struct world *w, const struct route *route, const struct record *record, const struct place *in,
    look_fn *look)
{
	unsigned on = route->method == METHOD_PATCH ? PATCH : CREATE;

	for (size_t k = 0; k < record->n; k++) {
		const struct field *f = &record->fields[k];
		const char *name = record_json_name(record, f);
		const bool many = f->kind == KIND_LIST;
		struct place at = { arena_printf(w->mem, "%s{\"%s\":", in->open, name), arena_printf(w->mem, "}%s",
		    in->close), arena_printf(w->mem, "%s/%s", in->pointer, name) };

		if ((f->on & on) == 0)
			continue;
		look(w, route, f, &at);
		if (f->of == NULL || (f->kind != KIND_NESTED && !many) || strlen(in->close) > 4)
			continue;
		at = (struct place){ many ? arena_printf(w->mem, "%s[", at.open) : at.open, many ? arena_printf(w->mem,
		    "]%s", at.close) : at.close, many ? arena_printf(w->mem, "%s/0", at.pointer) : at.pointer };
		each_field(w, route, f->of, &at, look);
	}
}

static void
each_field_of_bodies(struct world *w, look_fn *look)
{
	const struct route *route;

	for (size_t i = 0; (route = api_route(i)) != NULL; i++)
		if (takes_json(route))
			each_field(w, route, route->in, &(struct place){ "", "", "" }, look);
}

static const char *const edges[] = { "9223372036854775807", "-9223372036854775808", "9223372036854775808",
    "-9223372036854775809", "18446744073709551616", "9007199254740993", "-9007199254740993", "1e400", "-1e400" };
static int numbers, strings;

static void
try_edges(struct world *w, const struct route *route, const struct field *f, const struct place *at)
{
	const bool whole = f->kind == KIND_INT || f->kind == KIND_NUMBER;
	const char *address = whole || f->kind == KIND_REAL || f->kind == KIND_POSITION ? reached(w, route) : NULL;

	for (size_t i = 0; address != NULL && i < sizeof(edges) / sizeof(edges[0]); i++) {
		const bool endless = strchr(edges[i], 'e') != NULL;
		struct req *r = call(w, method_name(route->method), address, with_value(w, at, edges[i]));

		if (r->status >= 500 || ((whole || endless) && !has_fault(r, at->pointer, "type") &&
		    !has_fault(r, at->pointer, "too_large") && !has_fault(r, at->pointer, "too_small")))
			fail_msg("%s %s, %s: %s: %d %s", method_name(route->method), route->path, at->pointer, edges[i],
			    r->status, buf_string(&r->out));
		numbers++;
	}
}

/* What fits into no integer of ours, or into no double, is named, and never becomes another number. */
static void
a_number_at_the_edges_of_64_bits_is_named(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i, k, j;

	numbers = 0;
	each_field_of_bodies(w, try_edges);
	assert_true(numbers > 100);
	for (i = 0; (route = api_route(i)) != NULL; i++) {
		const struct record *in = route->in;

		if (route->method != GET || route->flags & AT_ROOT || route->scope == SCOPE_PUBLIC)
			continue;
		for (j = 0; j < sizeof(edges) / sizeof(edges[0]); j++) {
			const char *address = reached(w, route);
			struct req *r;

			for (k = 0; in != NULL && k < in->n; k++) {
				const struct field *f = &in->fields[k];
				const char *name = record_json_name(in, f);

				if ((f->on & QUERY) == 0 || (f->kind != KIND_INT && f->kind != KIND_NUMBER))
					continue;
				r = call(w, "GET", arena_printf(w->mem, "%s?%s=%s", address, name, edges[j]), NULL);
				expect(route, r, 422, arena_printf(w->mem, "%s=%s", name, edges[j]));
				numbers++;
			}
			if ((route->flags & LIST) == 0)
				continue;
			r = call(w, "GET", arena_printf(w->mem, "%s?page=%s", address, edges[j]), NULL);
			expect(route, r, 422, arena_printf(w->mem, "page=%s", edges[j]));
			r = call(w, "GET", arena_printf(w->mem, "%s?perpage=%s", address, edges[j]), NULL);
			expect(route, r, 422, arena_printf(w->mem, "perpage=%s", edges[j]));
		}
	}
	assert_true(numbers > 300);
}

enum { VAST = 1000000 };

static void
try_vast(struct world *w, const struct route *route, const struct field *f, const struct place *at)
{
	static char value[VAST + 3];
	struct world part = *w;
	struct req *r;

	if (value[0] == '\0') {
		memset(value, 'a', sizeof(value) - 1);
		value[0] = value[VAST + 1] = '"';
	}
	/* The arena of the test would be full of them. */
	part.mem = arena_new(64 << 20);
	db_use(w->db, part.mem);
	r = call(&part, method_name(route->method), reached(&part, route), with_value(&part, at, value));
	if (r->status != 422 || r->faults.n == 0 || r->out.len > 10000)
		fail_msg("%s %s, %s: %d", method_name(route->method), route->path, at->pointer, r->status);
	if (f->kind == KIND_STRING && f->one_of == NULL && !has_fault(r, at->pointer, "too_long"))
		fail_msg("%s %s, %s: %s", method_name(route->method), route->path, at->pointer, buf_string(&r->out));
	strings++;
	db_use(w->db, w->mem);
	arena_free(part.mem);
}

/* Whatever is wanted there, it is refused, and the answer does not repeat it. */
static void
a_megabyte_of_text_is_refused_in_every_member(void **state)
{
	strings = 0;
	each_field_of_bodies(*state, try_vast);
	assert_true(strings > 100);
}

/* So many of a character of four bytes, as JSON. */
static const char *
films(struct world *w, int64_t n)
{
	struct buf b = BUF(w->mem);

	while (n-- > 0)
		buf_text(&b, "\xf0\x9f\x8e\xac");
	return buf_string(&b);
}

static struct req *
rename_to(struct world *w, const struct route *route, const struct made *m, const char *name, const char *value)
{
	return call(w, "PATCH", led_to(w, route, m), arena_printf(w->mem, "{\"%s\":\"%s\"}", name, value));
}

static void
is_told(struct world *w, const struct route *route, const struct made *m, const char *name, const char *wanted)
{
	struct req *r = call(w, "GET", led_to(w, route, m), NULL);
	const char *got = text(w, r, arena_printf(w->mem, "data.%s", name));

	if (got != NULL && strcmp(got, "Caf\xc3\xa9") == 0)
		got = "Cafe\xcc\x81";
	if (got == NULL || strcmp(got, wanted) != 0)
		fail_msg("%s %s: %s instead of %s", route->path, name, got, wanted);
}

/* Takes the field any words?  Then these, too, and they come back as they were sent; only accents may be composed. */
static void
try_texts(struct world *w, const struct route *route, const struct field *f, const char *name)
{
	static const struct { const char *sent, *told; } texts[] = {
		{ "zero\xe2\x80\x8bwidth\xe2\x80\x8d", NULL }, { "Cafe\xcc\x81", "Cafe\xcc\x81" },
		{ "<script>alert(1)</script>", NULL }, { "{{7*7}}${7*7}", NULL }, { "%n%s%p%%", NULL },
		{ "' OR 1=1--", NULL }, { "=cmd|'/C calc'!A0", NULL }, { "a%00b\\\\'\\\"", "a%00b\\'\"" },
	};
	struct made m = world_object(w, object_of(route));
	const char *member = arena_printf(w->mem, "data.%s", name), *got;
	struct req *r = rename_to(w, route, &m, name, "Some words of it");
	size_t i;

	got = r->status == 200 ? text(w, call(w, "GET", led_to(w, route, &m), NULL), member) : NULL;
	if (got == NULL || strcmp(got, "Some words of it") != 0)
		return;
	strings++;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		expect(route, rename_to(w, route, &m, name, texts[i].sent), 200, texts[i].sent);
		is_told(w, route, &m, name, texts[i].told != NULL ? texts[i].told : texts[i].sent);
	}
	if (f->max == 0)
		return;
	/* Characters are counted, not bytes. */
	expect(route, rename_to(w, route, &m, name, films(w, f->max)), 200, "as many characters as may be");
	is_told(w, route, &m, name, films(w, f->max));
	r = rename_to(w, route, &m, name, films(w, f->max + 1));
	expect(route, r, 422, "one more");
	assert_true(has_fault(r, arena_printf(w->mem, "/%s", name), "too_long"));
}

static void
every_text_is_kept_as_it_is_and_counted_in_characters(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i = 0, k;

	strings = 0;
	while ((route = next_change(&i, METHOD_PATCH)) != NULL)
		for (k = 0; k < route->in->n; k++) {
			const struct field *f = &route->in->fields[k];

			if ((f->on & PATCH) != 0 && f->kind == KIND_STRING && f->one_of == NULL)
				try_texts(w, route, f, record_json_name(route->in, f));
		}
	assert_true(strings >= 10);
}

static void
bodies_that_are_not_strict_json_are_400(void **state)
{
	static const char *const bad[] = { "", "{", "{'a':1}", "{\"a\":NaN}", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "[1,]",
	    "{\"a\":01}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\\u0000\"}", "\xef\xbb\xbf{}", "{\"a\":\"\xff\"}",
	    "{\"a\":1e}", "{\"a\":Infinity}", "{\"a\":\"\n\"}", "{a:1}", "{\"a\":TRUE}", "/**/{}", "{\"a\":1,\"\\u0061\":2}" };
	struct world *w = *state;
	const struct route *route;
	struct buf deep = BUF(w->mem);
	size_t i, k;

	for (k = 0; k < 10000; k++)
		buf_text(&deep, "[");
	for (i = 0; (route = api_route(i)) != NULL; i++) {
		if (!takes_json(route))
			continue;
		for (k = route->flags & OPTIONAL_BODY ? 1 : 0; k < sizeof(bad) / sizeof(bad[0]); k++)
			expect(route, call(w, method_name(route->method), reached(w, route), bad[k]), 400, bad[k]);
		expect(route, call(w, method_name(route->method), reached(w, route), buf_string(&deep)), 400, "depth");
		expect(route, call(w, method_name(route->method), reached(w, route), "[]"), 422, "array");
	}
}

static void
an_unknown_query_parameter_is_named(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		struct req *r;

		if (route->method != GET || route->flags & AT_ROOT || route->scope == SCOPE_PUBLIC)
			continue;
		r = call(w, "GET", arena_printf(w->mem, "%s?noSuch=1", reached(w, route)), NULL);
		expect(route, r, 422, "unknown parameter");
		assert_true(has_fault(r, "noSuch", "unknown"));
		assert_true((route->flags & LIST) == 0 || strstr(buf_string(&r->out), "perpage") != NULL);
	}
}

static void
every_path_answers_options_and_refuses_other_methods_with_allow(void **state)
{
	static const char *const methods[] = { "TRACE", "PROPFIND", "get", "" };
	struct world *w = *state;
	const struct route *route;
	size_t i, k;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		struct req *r = call_as(w, NULL, "OPTIONS", filled(w, route, any_id(w)), NULL);

		expect(route, r, 204, "OPTIONS");
		assert_non_null(strstr(header(w, r, "Allow"), method_name(route->method)));
		for (k = 0; k < sizeof(methods) / sizeof(methods[0]); k++) {
			r = call(w, methods[k], filled(w, route, any_id(w)), NULL);
			expect(route, r, 405, methods[k]);
			assert_non_null(header(w, r, "Allow"));
		}
	}
}

static void
paths_that_are_not_plain_are_404(void **state)
{
	static const char *const bad[] = { "//", "//v2/media", "/v2//media", "/v2/media/", "/v2/./media",
	    "/v2/x/../media", "/V2/media", "/v2/media%00", "/v2/%6dedia%2f", "/v2/media;a", "", "v2/media", "/v2/medi%",
	    "/v2/media/%c0%ae", "/v2/nothing" };
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (call(w, "GET", bad[i], NULL)->status != 404)
			fail_msg("%s", bad[i]);
	assert_int_equal(call(w, "GET", "/v2/%6dedia", NULL)->status, 200);
}

static void
failures_have_one_shape_and_another_when_asked(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "GET", "/v2/media?page=x", NULL);

	assert_string_equal(text(w, r, "status"), "fail");
	assert_string_equal(text(w, r, "data.code"), "invalid");
	assert_string_equal(text(w, r, "data.errors.0.pointer"), "page");
	assert_string_equal(text(w, r, "data.requestId"), r->request_id);
	r = NEW(w->mem, struct req);
	r->accept = "application/problem+json";
	call_req(w, r, w->token, "GET", "/v2/media?page=x", NULL);
	assert_string_equal(r->answer_type, "application/problem+json");
	assert_string_equal(text(w, r, "status"), "422");
	assert_string_equal(text(w, r, "data.errors.0.pointer"), "page");
	r = NEW(w->mem, struct req);
	r->accept = "text/html;q=0.9, image/*";
	assert_int_equal(call_req(w, r, w->token, "GET", "/v2/media", NULL)->status, 406);
}

/* The first sentence that a client reads, and the code its program branches on. */
static void
refusals_name_the_cause(void **state)
{
	static const char id[] = "019aa000-0000-7000-8000-000000000000";
	static const struct { const char *method, *uri, *body; int status; const char *code, *message; } cases[] = {
		{ "GET", "/v2/nothing", NULL, 404, "path_not_found", "This path does not exist; see /v2/openapi.json." },
		{ "GET", "/v2/media/%s/nothing", NULL, 404, "path_not_found", "This path does not exist; see /v2/openapi.json." },
		{ "GET", "/v2/media/1/nothing", NULL, 404, "path_not_found", "This path does not exist; see /v2/openapi.json." },
		{ "GET", "/v2/media/1", NULL, 404, "not_found", "There is no asset with this id." },
		{ "GET", "/v2/media/%s", NULL, 404, "not_found", "There is no asset with this id." },
		{ "GET", "/v2/uploads/%s", NULL, 404, "not_found", "There is no upload with this id." },
		{ "POST", "/v2/media/%s", NULL, 405, "method_not_allowed", "This path takes GET, HEAD, PATCH, DELETE." },
		{ "GET", "/v2/media", "{\"a\":1}", 400, "unexpected_body", "This operation takes no body." },
		{ "PUT", "/v2/media/%s/recover", "x", 400, "unexpected_body", "This operation takes no body." },
		{ "DELETE", "/v2/media/%s", "{\"permanent\":true}", 400, "unexpected_body",
		    "This operation takes no body; for good: send ?permanent=true." },
		{ "PUT", "/v2/media/%s/recover", "{}", 404, "not_found", "There is no asset with this id." },
		{ "POST", "/v2/uploads", "{\"fileName\":}", 400, "bad_json", "The body is not well-formed JSON: line 1, column 13: a value "
		    "is wanted: an object, an array, a text in double quotes, a number, true, false or null." },
		{ "POST", "/v2/uploads", "", 400, "bad_json", "The body is missing: send a JSON object." },
		{ "POST", "/v2/uploads", "[]", 422, "invalid", "the body is to be a JSON object." },
		{ "GET", "/v2/media/%s/metadata?expand=x", NULL, 404, "not_found", "There is no asset with this id." },
		{ "GET", "/v2/media?name=%zz", NULL, 422, "invalid", "the query holds a broken escape: %25 stands for %." },
		{ "GET", "/v2/media/%s/metadata/transcripts/019aa000-0000-7000-8000-000000000000", NULL, 404, "not_found",
		    "There is no such asset, or it has no transcript with this id." },
		{ "POST", "/v2/uploads", "{\"fileName\":\"\"}", 422, "invalid", "/fileName: at least 1 character." },
		{ "POST", "/v2/uploads", "{\"fileName\":\"\",\"fileSize\":0,\"x\":1}", 422, "invalid",
		    "/fileName: at least 1 character; and 2 more." },
		{ "POST", "/v2/uploads", "{\"id\":1,\"fileName\":\"a\"}", 422, "invalid", "/id: this member cannot be set here." },
		{ "POST", "/v2/uploads", "{\"size\":1,\"fileName\":\"a\"}", 422, "invalid",
		    "/size: there is no such member; there are: fileName, type, fileSize, transcriptLanguageCodes." },
		{ "GET", "/v2/media?page=x", NULL, 422, "invalid", "page: an integer is wanted." },
	};
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at = strstr(cases[i].uri, "%s");
		const char *uri = at == NULL ? cases[i].uri : arena_printf(w->mem, "%.*s%s%s", (int)(at - cases[i].uri),
		    cases[i].uri, id, at + 2);
		struct req *r = call(w, cases[i].method, uri, cases[i].body);

		assert_int_equal(r->status, cases[i].status);
		assert_string_equal(text(w, r, "data.code"), cases[i].code);
		assert_string_equal(text(w, r, "message"), cases[i].message);
	}
}

static void
want_of_a_scope_and_of_a_token_are_challenged(void **state)
{
	struct world *w = *state;
	struct req *r = call_as(w, world_member(w, "ViewMetadata", "Viewer", NULL), "GET", "/v2/media", NULL);

	assert_int_equal(r->status, 403);
	assert_string_equal(header(w, r, "WWW-Authenticate"), "Bearer realm=\"kinothek\", "
	    "error=\"insufficient_scope\", scope=\"ViewChannel\"");
	r = call_as(w, NULL, "GET", "/v2/media", NULL);
	assert_string_equal(header(w, r, "WWW-Authenticate"), "Bearer realm=\"kinothek\"");
	r = call_as(w, "x", "GET", "/v2/media", NULL);
	assert_string_equal(header(w, r, "WWW-Authenticate"), "Bearer realm=\"kinothek\", error=\"invalid_token\"");
}

static void
a_part_of_a_body_or_another_type_is_refused(void **state)
{
	struct world *w = *state;
	const struct route *route;
	struct req *r;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		if (route->method == GET)
			continue;
		r = NEW(w->mem, struct req);
		r->content_range = "bytes 0-1/2";
		expect(route, call_req(w, r, w->token, method_name(route->method), filled(w, route, any_id(w)), NULL),
		    400, "Content-Range");
	}
	r = NEW(w->mem, struct req);
	r->content_type = "text/plain";
	call_req(w, r, w->token, "POST", "/v2/uploads", "{}");
	assert_int_equal(r->status, 415);
	assert_string_equal(text(w, r, "message"), "Send application/json; this says Content-Type text/plain.");
}

static void
plain_http_from_elsewhere_is_refused_when_https_is_required(void **state)
{
	struct world *w = *state;
	struct conf strict = *w->conf;
	struct world outside = *w;
	struct req *r = NEW(w->mem, struct req);

	strict.require_https = true;
	outside.conf = &strict;
	r->method_name = "GET";
	r->uri = "/v2/media";
	r->mem = w->mem;
	r->db = w->db;
	r->conf = &strict;
	r->client = "203.0.113.9";
	assert_int_equal(api_run(r), 403);
	assert_string_equal(text(w, r, "data.code"), "https_required");
	assert_int_equal(call(&outside, "GET", "/v2/media", NULL)->status, 200);
}

static void
the_document_names_every_route_but_those_of_pages(void **state)
{
	struct world *w = *state;
	const char *document = openapi_print(w->mem, NULL);
	const struct route *route;
	size_t i;

	assert_true(json_valid(w->mem, document, strlen(document)));
	for (i = 0; (route = api_route(i)) != NULL; i++)
		assert_true((strstr(document, arena_printf(w->mem, "\"%s\": {", route->path)) == NULL) ==
		    ((route->flags & PAGE) != 0));
}

/* Whoever shares an address adds some. */
static void
no_page_minds_parameters_that_it_does_not_know(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i, pages = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		struct req *r;

		if ((route->flags & PAGE) == 0 || route->method != GET)
			continue;
		r = call_as(w, NULL, "GET", arena_printf(w->mem, "%s?lang=de&utm_source=x&page=-1", filled(w, route,
		    any_id(w))), NULL);
		if (r->status == 422 || r->status >= 500)
			fail_msg("%s: %d", route->path, r->status);
		pages++;
	}
	assert_true(pages > 5);
}

static void
every_operation_has_a_name_of_its_own_in_programs(void **state)
{
	static const struct { const char *method, *path, *id; } names[] = {
		{ "GET", "/v2/media", "listMedia" }, { "GET", "/v2/media/{mediaId}", "getMedia" },
		{ "PATCH", "/v2/media/{mediaId}", "updateMedia" }, { "DELETE", "/v2/media/{mediaId}", "deleteMedia" },
		{ "PUT", "/v2/media/{mediaId}/recover", "recoverMedia" }, { "PUT", "/v2/media/{mediaId}/ingest", "ingestMedia" },
		{ "PUT", "/v2/media/{mediaId}/thumbnail", "setMediaThumbnail" },
		{ "GET", "/v2/media/{mediaId}/metadata/transcripts/{transcriptId}/download", "downloadMediaTranscript" },
		{ "POST", "/v2/uploads", "createUpload" }, { "PUT", "/v2/uploads/{uploadId}/complete", "completeUpload" },
		{ "PUT", "/v2/jobs/{jobId}/retry", "retryJob" },
		{ "POST", "/realms/{tenantShortcode}/protocol/openid-connect/token", "createToken" },
	};
	struct world *w = *state;
	const struct route *route;
	size_t i, k, found = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		const char *id = operation_id(w->mem, route);

		for (k = 0; k < i; k++)
			assert_string_not_equal(id, operation_id(w->mem, api_route(k)));
		for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			if (strcmp(names[k].method, method_name(route->method)) != 0 || strcmp(names[k].path,
			    route->path) != 0)
				continue;
			assert_string_equal(id, names[k].id);
			found++;
		}
	}
	assert_int_equal(found, sizeof(names) / sizeof(names[0]));
}

static void
codes_of_routes_are_errors_that_there_are(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		char *rest = arena_copy(w->mem, route->codes != NULL ? route->codes : ""), *code;

		while ((code = strsep(&rest, " ")) != NULL) {
			int e;

			for (e = 0; e < ERR_COUNT && !operation_names(code, strlen(code), (enum error)e); e++)
				;
			if (*code != '\0' && e == ERR_COUNT)
				fail_msg("%s: %s", route->path, code);
		}
	}
}

static void
service_routes_answer(void **state)
{
	struct world *w = *state;
	struct req *r, *again = NEW(w->mem, struct req);

	assert_int_equal(call_as(w, NULL, "GET", "/healthz", NULL)->status, 200);
	assert_int_equal(call_as(w, NULL, "GET", "/readyz", NULL)->status, 200);
	assert_non_null(strstr(buf_string(&call_as(w, NULL, "GET", "/metrics", NULL)->out), "kinothek_media "));
	r = call_as(w, NULL, "GET", "/v2/openapi.json", NULL);
	assert_int_equal(r->status, 200);
	again->if_none_match = r->etag;
	assert_int_equal(call_req(w, again, NULL, "GET", "/v2/openapi.json", NULL)->status, 304);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(tables_have_no_holes),
		WORLD_TEST(no_two_routes_answer_the_same_request),
		WORLD_TEST(a_list_holds_what_is_below_its_parent_and_no_more),
		WORLD_TEST(a_patch_changes_its_object_alone_and_only_once_from_a_version),
		WORLD_TEST(a_delete_takes_its_object_alone),
		WORLD_TEST(what_is_posted_to_a_collection_is_there),
		WORLD_TEST(below_a_soft_deleted_asset_only_what_says_so_is_there_and_not_for_viewers),
		WORLD_TEST(if_match_is_compared_with_the_version_of_the_object_itself),
		WORLD_TEST(an_unknown_member_is_named),
		WORLD_TEST(a_required_member_left_out_is_named),
		WORLD_TEST(what_is_no_line_is_named_where_one_is_wanted),
		WORLD_TEST(a_string_one_too_long_is_named),
		WORLD_TEST(a_number_at_the_edges_of_64_bits_is_named),
		WORLD_TEST(a_megabyte_of_text_is_refused_in_every_member),
		WORLD_TEST(every_text_is_kept_as_it_is_and_counted_in_characters),
		WORLD_TEST(bodies_that_are_not_strict_json_are_400),
		WORLD_TEST(an_unknown_query_parameter_is_named),
		WORLD_TEST(every_path_answers_options_and_refuses_other_methods_with_allow),
		WORLD_TEST(paths_that_are_not_plain_are_404),
		WORLD_TEST(failures_have_one_shape_and_another_when_asked),
		WORLD_TEST(refusals_name_the_cause),
		WORLD_TEST(want_of_a_scope_and_of_a_token_are_challenged),
		WORLD_TEST(a_part_of_a_body_or_another_type_is_refused),
		WORLD_TEST(plain_http_from_elsewhere_is_refused_when_https_is_required),
		WORLD_TEST(the_document_names_every_route_but_those_of_pages),
		WORLD_TEST(no_page_minds_parameters_that_it_does_not_know),
		WORLD_TEST(every_operation_has_a_name_of_its_own_in_programs),
		WORLD_TEST(codes_of_routes_are_errors_that_there_are),
		WORLD_TEST(service_routes_answer),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
