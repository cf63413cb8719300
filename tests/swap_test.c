/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ids that do not belong: every member and parameter that is an id, of every route, gets one of another tenant, one of
 * nothing, one of another kind.  And members of an answer that are not for clients to set, sent back.
 */
#include <json-c/json.h>

#include <string.h>

#include "tests/walk.h"

/* What the ids of members are of: a new member that is an id needs its line. */
static const struct meant {
	const char *name;
	const struct object *object;	/* NULL: a principal */
	const char *fit;		/* an UPDATE that makes the object with this id one that fits */
	bool beside;			/* one that fits lies below what the path names */
	const char *in;			/* part of the path; NULL: any */
} meant[] = {
	{ "channelIds", &channel_object },
	{ "channelId", &channel_object },
	{ "channel", &channel_object },
	{ "moveTo", &channel_object },
	{ "defaultChannelId", &channel_object },
	{ "principalId", NULL },
	{ "mediaId", &media_object },
	{ "mediaIds", &media_object },
	{ "sectionIds", &section_object },
	{ "selectedMediaIds", &media_object },
	{ "channelDesignId", &design_object },
	{ "chapterId", &chapter_object, .beside = true },
	{ "parentId", &comment_object, .beside = true, .in = "/comments" },
	{ "parentId", &entry_object, .beside = true },
	{ "speakerId", &speaker_object, .beside = true },
	{ "sectionId", &entry_section_object, .beside = true },
	{ "designId", &design_object, "UPDATE designs SET type = 'DocxExportDesign' WHERE id = ?" },
	{ "playerDesignId", &design_object, "UPDATE designs SET type = 'PlayerDesign' WHERE id = ?" },
};

static const struct meant *
meant_by(const struct route *route, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(meant) / sizeof(meant[0]); i++)
		if (strcmp(meant[i].name, name) == 0 && (meant[i].in == NULL ||
		    strstr(route->path, meant[i].in) != NULL))
			return &meant[i];
	fail_msg("%s %s takes %s: of what is it the id?", method_name(route->method), route->path, name);
	return NULL;
}

/* Is it an id, or a list of them, that clients give here? */
static bool
is_id(const struct record *record, const struct field *f, unsigned on)
{
	/* What chapters_test, stories_test, meetings_test, transcripts_test and presets_test of tests/api ask the same
	 * of, and download_test of tests/jobs. */
	static const char inside[] = "EntryChange StoryScene MeetingAgendaItem ParagraphChange DownloadTranscript "
	    "SearchPresetQuery";
	const char *name = record_json_name(record, f);
	size_t n = strlen(name);

	if ((f->on & on) == 0 || strcmp(name, "startSceneId") == 0 ||	/* a word of the same body */
	    strcmp(name, "selectedRenditionIds") == 0)	/* download_test */
		return false;
	if (f->kind == KIND_UUID || f->kind == KIND_IDS)
		return true;
	if ((f->kind == KIND_NESTED || f->kind == KIND_LIST) && f->of != NULL)
		for (size_t i = 0; i < f->of->n && !word_in(inside, f->of->name, strlen(f->of->name)); i++)
			if (is_id(f->of, &f->of->fields[i], on))
				fail_msg("%s.%s is an id inside of another member", record->name, name);
	return (f->kind == KIND_STRING || f->kind == KIND_STRINGS) && n > 2 && (strcmp(name + n - 2, "Id") == 0 ||
	    (n > 3 && strcmp(name + n - 3, "Ids") == 0));
}

static const char *
body_of(struct world *w, const struct route *route)
{
	const struct route *get;
	const char *body;
	size_t i;

	if (strcmp(route->path, "/v2/media/tags") == 0 && route->method == METHOD_PATCH)
		return "{\"tags\":[\"new\"]}";
	if (strstr(route->path, "/imports") != NULL && strncmp(route->path, "/v2/uploads/", 12) != 0)
		return "{\"url\":\"https://oparl.example.org/meetings/1\"}";
	for (i = 0; (get = api_route(i)) != NULL; i++)
		if (get->method == GET && object_of(get) != NULL && (get->flags & NO_OBJECT) == 0 &&
		    object_of(get)->record == route->out && (route->method == POST || route->in == route->out) &&
		    (body = world_body(w, object_of(get), POST)) != NULL)
			return body;
	return "{}";
}

struct place { const struct route *route; const char *name; const struct field *field; };

static struct uuid
last_of(struct made m)
{
	return m.ids[walk_ids(&m) - 1];
}

/* What a query has to say, too. */
static const char *
beside(const struct place *p)
{
	return strcmp(p->route->path, "/v2/search/semantic") == 0 && strcmp(p->name, "mediaId") != 0 ? "&text=cat" : "";
}

/* The request with that id in that place; without one, with that of what fits there. */
static struct req *
with(struct world *w, const struct place *p, struct uuid id)
{
	struct made m = walk_object(w, p->route);
	const char *uri = walk_to(w, p->route, &m), *text = uuid_text(w->mem, uuid_is_none(id) ?
	    last_of(world_object_beside(w, meant_by(p->route, p->name)->object, &m)) : id),
	    *body = operation_takes_json(p->route) ? body_of(w, p->route) : NULL;
	const char *own;
	bool list = p->field->kind == KIND_IDS || p->field->kind == KIND_STRINGS;

	if (body != NULL && (own = strstr(body, arena_printf(w->mem, "\"%s\":%s\"", p->name, list ? "[" : ""))) !=
	    NULL) {
		own += strlen(p->name) + 4 + list;
		body = arena_printf(w->mem, "%.*s%s%s", (int)(own - body), body, text, strchr(own, '"'));
	} else if (p->field->on & QUERY)
		uri = arena_printf(w->mem, "%s?%s=%s%s", uri, p->name, text, beside(p));
	else
		body = arena_printf(w->mem, "%.*s%s\"%s\":%s\"%s\"%s}", (int)strlen(body) - 1, body, strlen(body) > 2 ?
		    "," : "", p->name, list ? "[" : "", text, list ? "]" : "");
	return call(w, method_name(p->route->method), uri, body);
}

/* The answer without the ids in it, which differ from call to call. */
static const char *
told(struct world *w, const struct req *r)
{
	char *text = arena_copy(w->mem, buf_string(&r->out)), *p;
	struct uuid id;

	for (p = text; *p != '\0'; p++)
		if (strlen(p) >= UUID_TEXT - 1 && uuid_parse(arena_copy_n(w->mem, p, UUID_TEXT - 1), &id))
			memset(p, 'x', UUID_TEXT - 1);
	return text;
}

static void
refused(const struct place *p, const struct req *r, const char *why)
{
	if (r->status < 400 || r->status > 499)
		fail_msg("%s %s, %s is %s: %d: %s", method_name(p->route->method), p->route->path, p->name, why,
		    r->status, buf_string(&r->out));
}

/* One that fits; of channels, that which assets are in. */
static struct uuid
some(struct world *w, const struct object *o)
{
	struct uuid id;

	if (o == &channel_object)
		return w->channel_id;
	if (o != NULL)
		return last_of(world_object(w, o));
	world_member(w, "ViewChannel", NULL, &id);
	return id;
}

static void
try_place(struct world *w, struct world *other, const struct place *p)
{
	const struct meant *of = meant_by(p->route, p->name);
	const struct object *o = of->object;
	struct uuid good = some(w, o), foreign = some(other, o), odd = world_object(w, o == &media_object ?
	    &upload_object : &media_object).ids[0];
	struct req *r, *unknown;

	if (of->fit != NULL) {
		refused(p, with(w, p, good), "of another type");
		db_run(w->db, of->fit, ARGS(ID(good)));
		db_run(w->db, of->fit, ARGS(ID(foreign)));
	}
	r = with(w, p, of->beside ? (struct uuid){ { 0 } } : good);
	if (r->status < 200 || r->status > 299)
		fail_msg("%s %s takes no good %s: %d: %s", method_name(p->route->method), p->route->path, p->name,
		    r->status, buf_string(&r->out));
	refused(p, unknown = with(w, p, uuid_new()), "of nothing");
	refused(p, r = with(w, p, foreign), "another tenant's");
	assert_int_equal(r->status, unknown->status);
	assert_string_equal(told(w, r), told(w, unknown));
	refused(p, r = with(w, p, odd), "of another kind");
	assert_string_equal(told(w, r), told(w, unknown));
	refused(p, with(w, p, w->tenant_id), "the tenant's");
	if (o != NULL)
		refused(p, with(w, p, w->client_id), "the caller's");
}

static size_t
try_record(struct world *w, struct world *other, const struct route *route, const struct record *record, unsigned on)
{
	size_t i, n = 0;

	for (i = 0; record != NULL && i < record->n; i++)
		if (is_id(record, &record->fields[i], on)) {
			const struct place p = { route, record_json_name(record, &record->fields[i]),
			    &record->fields[i] };

			try_place(w, other, &p);
			n++;
		}
	return n;
}

static void
an_id_of_another_tenant_is_as_good_as_one_of_nothing(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const struct route *route;
	size_t i, n = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		if (route->scope == SCOPE_PUBLIC)
			continue;
		if (operation_takes_json(route))
			n += try_record(w, other, route, route->in, route->method == METHOD_PATCH ? PATCH : CREATE);
		else
			n += try_record(w, other, route, route->in, QUERY);
		n += try_record(w, other, route, route->query, QUERY);
	}
	assert_true(n >= 3);
}

/* A filter by an id tells nothing of what it is of. */
static void
a_filter_by_an_id_of_another_tenant_finds_as_much_as_one_of_nothing(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const struct route *route;
	size_t i, k, n = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		for (k = 0; route->flags & LIST && route->out != NULL && k < route->out->n; k++) {
			const struct field *f = &route->out->fields[k];
			const char *name = record_json_name(route->out, f), *uri;
			struct made m = walk_object(w, route);
			struct req *nothing, *r;

			if (!is_id(route->out, f, FILTER))
				continue;
			uri = arena_printf(w->mem, "%s?filter=%s=", walk_to(w, route, &m), name);
			nothing = call(w, "GET", arena_printf(w->mem, "%s%s", uri, uuid_text(w->mem, uuid_new())),
			    NULL);
			r = call(w, "GET", arena_printf(w->mem, "%s%s", uri, uuid_text(w->mem, strcmp(name,
			    "principalId") == 0 ? other->client_id : other->channel_id)), NULL);
			assert_int_equal(r->status, nothing->status);
			assert_string_equal(told(w, r), told(w, nothing));
			assert_true(r->status != 200 || strcmp(text(w, r, "pagination.total"), "0") == 0);
			n++;
		}
	assert_true(n >= 2);
}

/* An asset may be put into any channel, and a user into any group. */
static bool
joins_what_is_apart(const struct route *route)
{
	return route->method == PUT && (object_of(route)->reach == REACH_BESIDE_CHANNEL ||
	    object_of(route) == &group_member_object);
}

/* A path whose ids do not belong together leads nowhere, whichever of them is the odd one. */
static void
a_part_of_another_asset_is_404(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const struct route *route;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		struct made own, foreign, twin, odd;
		int n, k;

		if (object_of(route) == NULL || route->flags & NO_OBJECT)
			continue;
		own = walk_object(w, route);
		foreign = walk_object(other, route);
		twin = walk_object(w, route);
		n = walk_ids(&own);
		for (k = 0; k < n; k++) {
			odd = own;
			odd.ids[k] = foreign.ids[k];
			walk_expect(route, walk_try(w, route, &odd, w->token), 404, "an id of another tenant");
			odd.ids[k] = uuid_new();
			walk_expect(route, walk_try(w, route, &odd, w->token), 404, "an id of nothing");
			odd.ids[k] = twin.ids[k];
			if (n > 1 && !joins_what_is_apart(route))
				walk_expect(route, walk_try(w, route, &odd, w->token), 404,
				    "an id of another asset");
		}
	}
}

/* A body that names no field: enough where nothing is required, so that the id is what fails. */
static void
an_id_that_is_not_the_tenants_is_404(void **state)
{
	static const char *const odd[] = { "1", "x", "..%2f", "%2e%2e", "019AA000-0000-7000-8000-000000000000",
	    "{019aa000-0000-7000-8000-000000000000}", "019aa000-0000-7000-8000-00000000000", "%00" };
	struct world *w = *state;
	const struct route *route;
	size_t i, k;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		if (strstr(route->path, "Id}") == NULL || route->scope == SCOPE_PUBLIC)
			continue;
		for (k = 0; k < sizeof(odd) / sizeof(odd[0]); k++)
			walk_expect(route, call(w, method_name(route->method), walk_filled(w, route, odd[k]),
			    operation_takes_json(route) ? "{}" : NULL), 404, odd[k]);
		if (!operation_takes_json(route) || route->method == METHOD_PATCH || route->flags & OPTIONAL_BODY)
			walk_expect(route, call(w, method_name(route->method), walk_filled(w, route,
			    uuid_text(w->mem, uuid_new())),
			    operation_takes_json(route) ? "{}" : NULL), 404, "an id nobody has");
	}
}

/* What the document lets a PATCH set. */
static bool
may_be_set(const struct route *patch, const char *name)
{
	size_t i;

	for (i = 0; i < patch->in->n; i++)
		if (patch->in->fields[i].on & PATCH && strcmp(record_json_name(patch->in, &patch->in->fields[i]),
		    name) == 0)
			return true;
	return false;
}

/* Each member of the answer that is not for clients to set is refused by name, and nothing changes. */
static size_t
send_back(struct world *w, const struct route *patch)
{
	struct made m = walk_object(w, patch);
	const char *uri = walk_to(w, patch, &m);
	struct req *get = call(w, "GET", uri, NULL), *r;
	json_object *tree, *data;
	size_t n = 0;

	walk_expect(patch, get, 200, "read");
	tree = json_tokener_parse(buf_string(&get->out));
	assert_true(json_object_object_get_ex(tree, "data", &data));
	json_object_object_foreach(data, name, value) {
		if (may_be_set(patch, name))
			continue;
		r = call(w, "PATCH", uri, arena_printf(w->mem, "{\"%s\":%s}", name,
		    json_object_to_json_string(value)));
		walk_expect(patch, r, 422, name);
		assert_true(has_fault(r, arena_printf(w->mem, "/%s", name), "read_only"));
		n++;
	}
	walk_expect(patch, call(w, "PATCH", uri, json_object_to_json_string(data)), 422, "all of it");
	json_object_put(tree);
	r = call(w, "GET", uri, NULL);
	assert_string_equal(r->etag, get->etag);
	return n;
}

static void
members_of_an_answer_that_clients_may_not_set_are_refused_and_change_nothing(void **state)
{
	struct world *w = *state;
	const struct route *route;
	size_t i, n = 0;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		if (route->method == METHOD_PATCH && walk_route(GET, route->path) != NULL)
			n += send_back(w, route);
	assert_true(n >= 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(an_id_of_another_tenant_is_as_good_as_one_of_nothing),
		WORLD_TEST(a_filter_by_an_id_of_another_tenant_finds_as_much_as_one_of_nothing),
		WORLD_TEST(a_part_of_another_asset_is_404),
		WORLD_TEST(an_id_that_is_not_the_tenants_is_404),
		WORLD_TEST(members_of_an_answer_that_clients_may_not_set_are_refused_and_change_nothing),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
