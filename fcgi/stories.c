/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/stories: ways through scenes of assets */
#include <string.h>

#include "core/role.h"
#include "fcgi/access.h"
#include "fcgi/mentions.h"
#include "fcgi/story.h"

enum { STORIES_MAX = 1000, SCENES_MAX = 200, CHOICES_MAX = 20, SCENE_ID_MAX = 64 };	/* of a tenant, story, scene */

static const struct field choice_fields[] = {
	FIELD(struct choice, label, .on = CREATE | OMIT_NULL, .min = 1, .max = 255,
	    .doc = "Shown to people; an interactive story wants it"),
	FIELD(struct choice, scene_id, .on = CREATE, .required = true, .min = 1, .max = SCENE_ID_MAX,
	    .doc = "Scene of this story that follows"),
};
static const struct record choice_record = RECORD("StoryChoice", struct choice, choice_fields);

static const struct field scene_fields[] = {
	FIELD(struct scene, id, .on = CREATE, .required = true, .min = 1, .max = SCENE_ID_MAX,
	    .doc = "What choices call it, of the client's choice: there is one of each in a story"),
	FIELD(struct scene, media_id, .on = CREATE, .required = true, .doc = "An asset that plays"),
	FIELD(struct scene, section_id, .on = CREATE | OMIT_NULL, .doc = "Section of that asset that it is of; left out when that is gone"),
	FIELD(struct scene, start, .on = CREATE, .doc = "Where it begins, in seconds; left out: where its section does"),
	FIELD(struct scene, end, .on = CREATE, .doc = "Where it ends, in seconds; left out: where its section does"),
	FIELD(struct scene, title, .on = CREATE | OMIT_NULL, .max = 1000, .doc = "Shown to people"),
	FIELD(struct scene, choices, .on = CREATE, .max = CHOICES_MAX, .of = &choice_record,
	    .doc = "What may follow; the story ends where there is none. A static one has one of them at most"),
	FIELD(struct scene, is_missing, .on = COMPUTED | OMIT_NULL,
	    .doc = "Its asset is gone, or may not be seen: told to who made the story and SuperAdmins alone. To others "
	    "such scenes are not there"),
};
static const struct record scene_record = RECORD("StoryScene", struct scene, scene_fields);

static const struct field story_fields[] = {
	FIELD(struct story, id,             .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct story, name,           .on = CREATE | FILTER | SORT, .key = "by_name", .required = true, .min = 1, .max = 255,
	    .doc = "Shown to people"),
	FIELD(struct story, description,    .on = CREATE | OMIT_NULL | MULTILINE, .max = 10000, .doc = "Shown to people"),
	FIELD(struct story, kind,           .on = CREATE | FILTER, .required = true, .one_of = "static interactive",
	    .doc = "static: one way, which ends; interactive: people choose, and may come back"),
	FIELD(struct story, scenes,         .on = CREATE | DETAIL, .required = true, .min = 1, .max = SCENES_MAX, .of = &scene_record,
	    .doc = "Stretches of assets; not in lists. Those of assets that the caller may not see are left out, and a "
	    "static story goes on behind them"),
	FIELD(struct story, start_scene_id, .on = CREATE | DETAIL, .required = true, .min = 1, .max = SCENE_ID_MAX,
	    .doc = "Scene that it begins with, or the first that the caller may see; not in lists"),
	FIELD(struct story, created_at,     .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct story, updated_at,     .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct story, version,        .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct story, tenant_id,      .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct story, principal_id,   .on = SERVER | HIDDEN, .doc = "Who made it"),
};
static const struct record story_record = RECORD("Story", struct story, story_fields);

const struct object story_object = {
	.path = "/v2/stories/{storyId}", .reach = REACH_MENTIONS, .record = &story_record,
	.from = "FROM stories t WHERE t.id = ?",
};

/* A section that a scene names, of an asset that the story refers to. */
struct named { struct uuid id, media_id; struct position start, end; };
static const struct field named_fields[] = {
	FIELD(struct named, id, .doc = "Section"),
	FIELD(struct named, media_id, .doc = "Its asset"),
	FIELD(struct named, start, .doc = "Where it begins"),
	FIELD(struct named, end, .doc = "Where it ends"),
};
static const struct record named_record = RECORD("StorySection", struct named, named_fields);

/* What there is to be said about the scenes of a story, by their index. */
struct plot {
	struct story *story;
	struct scene *scene;
	size_t n;
	size_t next[SCENES_MAX];			/* by its first choice; n: nowhere */
	const struct mention *asset[SCENES_MAX];	/* NULL: the caller may not see it */
	const struct named *section[SCENES_MAX];	/* NULL: it has none, or there is no such one */
};

/* The index of a scene; n: there is none. */
static size_t
index_of(const struct plot *p, const char *id)
{
	size_t i = 0;

	while (i < p->n && strcmp(p->scene[i].id, id) != 0)
		i++;
	return i;
}

static const struct choice *
first_choice(const struct scene *s)
{
	return s->choices.n > 0 ? s->choices.rows : NULL;
}

static bool
is_static(const struct story *s)
{
	return strcmp(s->kind, "static") == 0;
}

/* With the assets that may be seen.  One statement, however many scenes there are. */
static struct plot *
look(struct req *r, struct story *s, struct list seen)
{
	struct plot *p = NEW(r->mem, struct plot);
	struct uuid ids[SCENES_MAX];
	const struct named *found;
	size_t wanted = 0, n, i, k;

	p->story = s;
	p->scene = s->scenes.rows;
	p->n = s->scenes.n < SCENES_MAX ? s->scenes.n : SCENES_MAX;
	for (i = 0; i < p->n; i++) {
		const struct choice *c = first_choice(&p->scene[i]);

		p->next[i] = c != NULL ? index_of(p, c->scene_id) : p->n;
		if ((p->asset[i] = mention_in(&seen, s->id, p->scene[i].media_id)) != NULL &&
		    !uuid_is_none(p->scene[i].section_id))
			ids[wanted++] = p->scene[i].section_id;
	}
	if (wanted == 0)
		return p;
	found = db_rows(r->db, &named_record, "FROM " MENTIONED_IDS " STRAIGHT_JOIN sections t ON t.id = UNHEX(j.id) "
	    "JOIN mentions x ON x.media_id = t.media_id AND x.object_id = ?", ARGS(STR(mentions_json(r->mem, ids,
	    wanted)), ID(s->id)), &n);
	for (i = 0; i < p->n; i++)
		for (k = 0; k < n && p->asset[i] != NULL; k++)
			if (uuid_equal(found[k].id, p->scene[i].section_id) && uuid_equal(found[k].media_id,
			    p->scene[i].media_id))
				p->section[i] = &found[k];
	return p;
}

/* The scene that a choice leads to for this caller: of a static story what follows behind hidden ones, with the label
 * that leads there.  NULL: nowhere. */
static const struct choice *
leads(const struct plot *p, const struct choice *c)
{
	size_t i = index_of(p, c->scene_id);

	while (i < p->n && p->asset[i] == NULL && is_static(p->story)) {
		c = first_choice(&p->scene[i]);
		i = p->next[i];
	}
	return i < p->n && p->asset[i] != NULL ? c : NULL;
}

static struct list
choices_left(struct req *r, const struct plot *p, const struct scene *s)
{
	const struct choice *given = s->choices.rows, *c;
	struct choice *left = arena_array(r->mem, s->choices.n + 1, sizeof(*left));
	struct list list = { left, 0 };
	size_t i;

	for (i = 0; i < s->choices.n; i++)
		if ((c = leads(p, &given[i])) != NULL)
			left[list.n++] = *c;
	return list;
}

/* Nothing of what is left tells that there was more. */
static void
leave_out_hidden(struct req *r, struct plot *p)
{
	struct choice start = { NULL, p->story->start_scene_id };
	const struct choice *first = leads(p, &start);
	struct scene *left = arena_array(r->mem, p->n + 1, sizeof(*left));
	size_t i, n = 0;

	for (i = 0; i < p->n; i++)
		if (p->asset[i] != NULL) {
			left[n] = p->scene[i];
			left[n++].choices = choices_left(r, p, &p->scene[i]);
		}
	p->story->scenes = (struct list){ left, n };
	if (first != NULL)
		p->story->start_scene_id = first->scene_id;
	else if (n > 0)
		p->story->start_scene_id = left[0].id;
}

/* The story as the caller may see it. */
static void
story_view(struct req *r, struct story *s)
{
	struct plot *p = look(r, s, mentions_of(r, &s->id, 1));
	size_t i;

	for (i = 0; i < p->n; i++) {
		p->scene[i].is_missing = p->asset[i] == NULL;
		if (p->section[i] == NULL)
			p->scene[i].section_id = (struct uuid){ { 0 } };
	}
	if (!mentions_mine(r, s->principal_id))
		leave_out_hidden(r, p);
	r->etag = reply_tag(r, &story_record, s);
}

/* One way through the scenes: in the order in which they play, and then those that nothing leads to. */
static void
order(struct req *r, struct story *s)
{
	struct plot p = { .story = s, .scene = s->scenes.rows, .n = s->scenes.n };
	struct scene *ordered = arena_array(r->mem, p.n + 1, sizeof(*ordered));
	bool *is_in = arena_array(r->mem, p.n + 1, sizeof(*is_in));
	size_t n = 0, i = index_of(&p, s->start_scene_id);

	while (i < p.n && !is_in[i]) {
		const struct choice *next = first_choice(&p.scene[i]);

		is_in[i] = true;
		ordered[n++] = p.scene[i];
		i = next != NULL ? index_of(&p, next->scene_id) : p.n;
	}
	for (i = 0; i < p.n; i++)
		if (!is_in[i])
			ordered[n++] = p.scene[i];
	s->scenes.rows = ordered;
}

struct story *
story_open(struct req *r, struct uuid id)
{
	struct story *s = db_row(r->db, &story_record, "FROM stories t WHERE t.id = ?", ARGS(ID(id)));

	if (s == NULL)
		return NULL;
	leave_out_hidden(r, look(r, s, mentions_open(r, id)));
	if (is_static(s))
		order(r, s);
	return s->scenes.n > 0 ? s : NULL;
}

static int
story_reply(struct req *r, int status, struct story *s)
{
	if (s == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	story_view(r, s);
	return status == 201 ? reply_created(r, &story_record, s, s->id) : reply(r, status, &story_record, s);
}

static int
stories_list(struct req *r)
{
	static const struct mention_lists from = MENTION_LISTS("stories");
	struct story *rows;
	size_t n;

	rows = mentions_list(r, &story_record, &from, &n);
	return reply_list(r, &story_record, rows, n);
}

static int
story_get(struct req *r)
{
	return story_reply(r, 200, r->object);
}

static const char *
pointer(struct req *r, size_t scene, const char *member)
{
	return arena_printf(r->mem, "/scenes/%zu/%s", scene, member);
}

static void
check_choices(struct req *r, const struct plot *p, size_t i)
{
	const struct choice *c = p->scene[i].choices.rows;
	size_t k;

	if (is_static(p->story) && p->scene[i].choices.n > 1)
		fault(r, pointer(r, i, "choices"), "too_many", "a static story has one way");
	for (k = 0; k < p->scene[i].choices.n; k++) {
		if (index_of(p, c[k].scene_id) == p->n)
			fault(r, pointer(r, i, arena_printf(r->mem, "choices/%zu/sceneId", k)), "not_found",
			    "the story has no such scene");
		if (c[k].label == NULL && !is_static(p->story))
			fault(r, pointer(r, i, arena_printf(r->mem, "choices/%zu/label", k)), "required",
			    "people choose by it");
	}
}

/* Also where nothing leads to: it might be made the start. */
static bool
ends(const struct plot *p, size_t i)
{
	size_t steps;

	for (steps = 0; i < p->n && steps <= p->n; steps++)
		i = p->next[i];
	return i == p->n;
}

static void
check_graph(struct req *r, const struct plot *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (index_of(p, p->scene[i].id) < i)
			fault(r, pointer(r, i, "id"), "duplicate", "another scene is called so");
		check_choices(r, p, i);
		if (is_static(p->story) && !ends(p, i))
			fault(r, pointer(r, i, "choices"), "not_allowed", "a static story ends: this comes back to "
			    "where it was");
	}
	if (index_of(p, p->story->start_scene_id) == p->n)
		fault(r, "/startSceneId", "not_found", "the story has no such scene");
}

static void
check_stretch(struct req *r, const struct plot *p, size_t i)
{
	const struct scene *s = &p->scene[i];
	struct position duration = p->asset[i]->duration;

	if (!s->start.set)
		fault(r, pointer(r, i, "start"), "required", "only a timerange says where its scene begins");
	if (!s->end.set)
		fault(r, pointer(r, i, "end"), "required", "only a timerange says where its scene ends");
	else if (s->end.ms > duration.ms)
		fault(r, pointer(r, i, "end"), "too_large", "the asset ends at %.3f seconds", (double)duration.ms /
		    1000);
	if (s->start.set && s->end.set && s->end.ms <= s->start.ms)
		fault(r, pointer(r, i, "end"), "too_small", "it has to end behind its start");
}

/* Of a story that is put again: a scene whose asset has gone may stay as it is. */
static bool
stays(const struct list *kept, struct scene *s)
{
	const struct scene *was = kept->rows;
	size_t i;

	for (i = 0; i < kept->n; i++)
		if (strcmp(was[i].id, s->id) == 0 && uuid_equal(was[i].media_id, s->media_id) && was[i].start.ms ==
		    s->start.ms && was[i].end.ms == s->end.ms) {
			s->section_id = was[i].section_id;
			return true;
		}
	return false;
}

/* What the caller may not see is not there. */
static void
check_scenes(struct req *r, struct plot *p, struct list kept)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		struct scene *s = &p->scene[i];

		if (p->asset[i] == NULL && stays(&kept, s))
			continue;
		if (p->asset[i] == NULL) {
			fault(r, pointer(r, i, "mediaId"), "not_found", "there is no such asset");
			continue;
		}
		if (!p->asset[i]->duration.set) {
			fault(r, pointer(r, i, "mediaId"), "not_allowed", "the asset does not play");
			continue;
		}
		if (!uuid_is_none(s->section_id) && p->section[i] == NULL) {
			fault(r, pointer(r, i, "sectionId"), "not_found", "the asset has no such section");
			continue;
		}
		if (p->section[i] != NULL && !s->start.set)
			s->start = p->section[i]->start;
		if (p->section[i] != NULL && !s->end.set)
			s->end = p->section[i]->end;
		check_stretch(r, p, i);
	}
}

/* Sets what it refers to, and looks at that as the caller may; `kept` are the scenes that it had.  False: refused. */
static bool
is_fine(struct req *r, struct story *s, struct list kept)
{
	const struct scene *scene = s->scenes.rows;
	struct uuid ids[SCENES_MAX];
	struct plot *p;
	size_t i;

	for (i = 0; i < s->scenes.n && i < SCENES_MAX; i++)
		ids[i] = scene[i].media_id;
	mentions_set(r, s->id, ids, i);
	p = look(r, s, mentions_of(r, &s->id, 1));
	check_graph(r, p);
	check_scenes(r, p, kept);
	if (r->faults.n == 0)
		return true;
	refuse(r, ERR_INVALID, NULL);
	return false;
}

static const char *
audit_data(struct req *r, const struct story *s)
{
	struct buf b = BUF(r->mem);

	buf_text(&b, "{\"name\":");
	buf_json(&b, s->name);
	buf_printf(&b, ",\"kind\":\"%s\"}", s->kind);
	return buf_string(&b);
}

static int
story_create(struct req *r)
{
	struct story *s = r->in;

	if (db_number(r->db, "SELECT COUNT(*) FROM stories WHERE tenant_id = ?", ARGS(ID(r->who->tenant_id)), 0) >=
	    STORIES_MAX)
		return refuse(r, ERR_TOO_MANY_STORIES, NULL);
	s->id = uuid_new();
	if (!is_fine(r, s, (struct list){ NULL, 0 }))
		return r->status;
	s->tenant_id = r->who->tenant_id;
	s->principal_id = r->who->id;
	s->created_at = s->updated_at = r->now;
	s->version = 1;
	db_insert(r->db, "stories", &story_record, s);
	audit(r, "story.created", s->id, audit_data(r, s));
	return story_reply(r, 201, s);
}

/* All of it at once: what is left out is gone. */
static int
story_put(struct req *r)
{
	const struct story *now = r->object;
	struct story *s = r->in;
	uint64_t changed;

	s->id = now->id;
	if (!is_fine(r, s, now->scenes))
		return r->status;
	changed = record_differs(r->mem, &story_record, now, s, record_bit(&story_record, "name") |
	    record_bit(&story_record, "description") | record_bit(&story_record, "kind") | record_bit(&story_record,
	    "scenes") | record_bit(&story_record, "start_scene_id"));
	if (changed != 0) {
		db_update(r->db, "stories", &story_record, s, changed, s->id);
		audit(r, "story.updated", s->id, audit_data(r, s));
	}
	return story_reply(r, 200, object_again(r));
}

static int
story_delete(struct req *r)
{
	const struct story *s = r->object;

	mentions_clear(r, s->id);
	db_run(r->db, "DELETE FROM stories WHERE id = ? AND tenant_id = ?", ARGS(ID(s->id), ID(r->who->tenant_id)));
	audit(r, "story.deleted", s->id, audit_data(r, s));
	return reply_deleted(r, s->id, true);
}

const struct route stories_routes[] = {
	{
		GET, "/v2/stories", SCOPE_VIEW_CHANNEL, stories_list, NULL, &story_record,
		"List the stories that the caller made, or of which it may see an asset",
		.flags = LIST, .fails = "422",
	},
	{
		POST, "/v2/stories", SCOPE_CREATE_CONTENT, story_create, &story_record, &story_record,
		"Make a story of scenes from assets that the caller may see",
		.flags = SOMEWHERE, .success = 201, .fails = "403 409 422", .codes = "too_many_stories",
	},
	{
		GET, "/v2/stories/{storyId}", SCOPE_VIEW_CHANNEL, story_get, NULL, &story_record,
		"Get a story, as far as the caller may see its assets",
		.flags = CONDITIONAL, .fails = "404",
	},
	{
		PUT, "/v2/stories/{storyId}", SCOPE_CREATE_CONTENT, story_put, &story_record, &story_record,
		"Put another story in its place; its creator and SuperAdmins may",
		.flags = CONDITIONAL, .fails = "403 404 412 422", .id = "replaceStory",
	},
	{
		METHOD_DELETE, "/v2/stories/{storyId}", SCOPE_CREATE_CONTENT, story_delete, NULL, &deleted_record,
		"Delete a story, not its assets; its creator and SuperAdmins may",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{ 0 }
};
