/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /watch/stories/{storyId}: a story for all who know its address, with the scenes of assets that anybody may watch.
 * Without a script each scene is a link into the page of its asset; with one they play here, one after the other, or as
 * people choose (web/story.js).
 */
#include <string.h>

#include "core/asset.h"
#include "fcgi/asset_view.h"
#include "fcgi/page.h"
#include "fcgi/story.h"

/* An asset of the story; is_listed: its channel is on the portal. */
struct told { struct uuid id; const char *name, *type; struct json picture; bool is_listed; };
static const struct field told_fields[] = {
	FIELD(struct told, id, .doc = "Asset"),
	FIELD(struct told, name, .doc = "Its name"),
	FIELD(struct told, type, .doc = "What it is"),
	FIELD(struct told, picture, .sql = "t.thumbnail", .of = &thumbnail_record, .doc = "Poster"),
	FIELD(struct told, is_listed, .sql = "EXISTS (SELECT 1 FROM media_channels mc JOIN channels t2 ON t2.id = "
	    "mc.channel_id JOIN tenants n ON n.id = t2.tenant_id WHERE mc.media_id = t.id AND t2.visibility = 'public' "
	    "AND n.portal_enabled = 1)", .doc = "May it be found from the portal?"),
};
static const struct record told_record = RECORD("ToldAsset", struct told, told_fields);

/* What web/story.js plays. */
struct shown_choice { const char *label; int64_t scene; };
static const struct field shown_choice_fields[] = {
	FIELD(struct shown_choice, label, .on = SERVER | OMIT_NULL, .doc = "Shown to people"),
	FIELD(struct shown_choice, scene, .on = SERVER, .required = true, .doc = "Number of a scene, from 1"),
};
static const struct record shown_choice_record = RECORD("ShownChoice", struct shown_choice, shown_choice_fields);

struct shown_scene { struct uuid media_id; struct position start, end; struct list choices; };
static const struct field shown_scene_fields[] = {
	FIELD(struct shown_scene, media_id, .on = SERVER, .required = true, .doc = "The asset"),
	FIELD(struct shown_scene, start, .on = SERVER, .required = true, .doc = "Where it begins"),
	FIELD(struct shown_scene, end, .on = SERVER, .required = true, .doc = "Where it ends"),
	FIELD(struct shown_scene, choices, .on = SERVER, .required = true, .of = &shown_choice_record, .doc = "What may follow"),
};
static const struct record shown_scene_record = RECORD("ShownScene", struct shown_scene, shown_scene_fields);

struct shown_story { const char *kind; int64_t start; struct list scenes; };
static const struct field shown_story_fields[] = {
	FIELD(struct shown_story, kind, .on = SERVER, .required = true, .doc = "static or interactive"),
	FIELD(struct shown_story, start, .on = SERVER, .required = true, .doc = "Number of the scene that it begins with"),
	FIELD(struct shown_story, scenes, .on = SERVER, .required = true, .of = &shown_scene_record, .doc = "In their order"),
};
static const struct record shown_story_record = RECORD("ShownStory", struct shown_story, shown_story_fields);

struct telling { const struct story *story; const struct told *assets; size_t n; };

static const struct scene *
scenes_of(const struct shown *p)
{
	return ((const struct telling *)p->data)->story->scenes.rows;
}

static size_t
count(const struct shown *p)
{
	return ((const struct telling *)p->data)->story->scenes.n;
}

/* Scenes have any text as id; on the page they are numbered. */
static size_t
number_of(const struct shown *p, const char *scene_id)
{
	const struct scene *s = scenes_of(p);
	size_t i = 0;

	while (i < count(p) && strcmp(s[i].id, scene_id) != 0)
		i++;
	return i < count(p) ? i + 1 : 1;
}

/* NULL: it has gone since the story was read. */
static const struct told *
asset_of(const struct shown *p, const struct scene *s)
{
	const struct telling *t = p->data;
	size_t i;

	for (i = 0; i < t->n; i++)
		if (uuid_equal(t->assets[i].id, s->media_id))
			return &t->assets[i];
	return NULL;
}

static const struct scene *
first_of(const struct shown *p)
{
	return scenes_of(p) + number_of(p, ((const struct telling *)p->data)->story->start_scene_id) - 1;
}

static const char *
title_of(const struct shown *p, const struct scene *s)
{
	return s->title != NULL && *s->title != '\0' ? s->title : asset_of(p, s)->name;
}

static const char *
address_of(struct shown *p, const struct scene *s)
{
	return arena_printf(p->r->mem, "%s%s", page_link(p, arena_printf(p->r->mem, "/watch/%s", uuid_text(p->r->mem,
	    s->media_id))), page_fragment(p, s->start, s->end));
}

static void
put_name(struct shown *p, const char *name)
{
	html_el(&p->h, "span");
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, name);
	html_end(&p->h);
}

/* Where the player will be: the picture of the first scene, which leads there. */
static void
put_stage(struct shown *p)
{
	const struct scene *s = first_of(p);
	const struct told *asset = asset_of(p, s);
	const struct thumbnail *t = asset_thumbnail(p->r, asset->id, asset->picture);

	html_el(&p->h, "section");
	html_attr(&p->h, "class", "stage-place");
	html_attr(&p->h, "id", "stage");
	html_attr(&p->h, "aria-label", say(p->r, "Player"));
	html_el(&p->h, "a");
	html_attr(&p->h, "class", "stage opening");
	html_url(&p->h, "href", address_of(p, s));
	if (t != NULL) {
		html_leaf(&p->h, "img");
		html_url(&p->h, "src", page_local(p, t->url));
		html_attr(&p->h, "alt", "");
		html_int(&p->h, "width", t->width);
		html_int(&p->h, "height", t->height);
	}
	html_el(&p->h, "span");
	html_attr(&p->h, "class", "button");
	html_text(&p->h, say(p->r, "Play"));
	html_end(&p->h);
	html_end(&p->h);
	html_end(&p->h);
}

static void
put_ways(struct shown *p, const struct scene *s)
{
	const struct choice *c = s->choices.rows;
	size_t i;

	if (s->choices.n == 0 || c[0].label == NULL)
		return;
	html_el(&p->h, "ul");
	html_attr(&p->h, "class", "ways");
	for (i = 0; i < s->choices.n; i++) {
		html_el(&p->h, "li");
		html_el(&p->h, "a");
		html_url(&p->h, "href", arena_printf(p->r->mem, "#scene-%zu", number_of(p, c[i].scene_id)));
		html_attr(&p->h, "dir", "auto");
		html_text(&p->h, c[i].label != NULL ? c[i].label : "");
		html_end(&p->h);
		html_end(&p->h);
	}
	html_end(&p->h);
}

static void
put_scene(struct shown *p, const struct scene *s, size_t place)
{
	const struct told *asset = asset_of(p, s);

	html_el(&p->h, "li");
	html_attr(&p->h, "id", arena_printf(p->r->mem, "scene-%zu", place + 1));
	html_el(&p->h, "a");
	html_url(&p->h, "href", address_of(p, s));
	page_picture(p, asset_thumbnail(p->r, asset->id, asset->picture), asset->type, place);
	html_text_el(&p->h, "span", "card-length", page_clock(p, s->end.ms - s->start.ms));
	html_end(&p->h);
	put_name(p, title_of(p, s));
	html_end(&p->h);
	if (strcmp(((const struct telling *)p->data)->story->kind, "interactive") == 0)
		put_ways(p, s);
	html_end(&p->h);
}

static void
put_about(struct shown *p)
{
	const struct story *story = ((const struct telling *)p->data)->story;
	size_t i;

	html_el(&p->h, "section");
	html_attr(&p->h, "class", "about");
	html_el(&p->h, "h1");
	html_attr(&p->h, "id", "title");
	html_int(&p->h, "tabindex", -1);
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, story->name);
	html_end(&p->h);
	if (story->description != NULL) {
		html_el(&p->h, "p");
		html_attr(&p->h, "class", "description");
		html_attr(&p->h, "dir", "auto");
		html_text(&p->h, story->description);
		html_end(&p->h);
	}
	html_text_el(&p->h, "h2", NULL, say(p->r, "Scenes"));
	html_el(&p->h, "ol");
	html_attr(&p->h, "class", "scenes");
	html_attr(&p->h, "id", "scenes");
	for (i = 0; i < count(p); i++)
		put_scene(p, scenes_of(p) + i, i);
	html_end(&p->h);
	html_end(&p->h);
}

static struct list
choices_of(struct shown *p, const struct scene *s)
{
	const struct choice *c = s->choices.rows;
	struct shown_choice *out = arena_array(p->r->mem, s->choices.n + 1, sizeof(*out));
	size_t i;

	for (i = 0; i < s->choices.n; i++)
		out[i] = (struct shown_choice){ c[i].label, (int64_t)number_of(p, c[i].scene_id) };
	return (struct list){ out, s->choices.n };
}

static void
put_content(struct shown *p)
{
	const struct story *story = ((const struct telling *)p->data)->story;
	struct shown_scene *scenes = arena_array(p->r->mem, count(p) + 1, sizeof(*scenes));
	const struct shown_story out = { story->kind, (int64_t)number_of(p, story->start_scene_id),
	    { scenes, count(p) } };
	struct buf data = BUF(p->r->mem);
	size_t i;

	for (i = 0; i < count(p); i++) {
		const struct scene *s = scenes_of(p) + i;

		scenes[i] = (struct shown_scene){ s->media_id, s->start, s->end, choices_of(p, s) };
	}
	put_stage(p);
	put_about(p);
	record_render(&data, &shown_story_record, &out, false);
	html_json(&p->h, "application/json", "story", buf_string(&data));
}

static void
put_head(struct shown *p)
{
	const struct story *story = ((const struct telling *)p->data)->story;
	const struct told *asset = asset_of(p, first_of(p));
	const struct thumbnail *t = asset_thumbnail(p->r, asset->id, asset->picture);

	page_meta(p, "description", story->description);
	page_graph(p, "og:site_name", "Kinothek");
	page_graph(p, "og:type", "website");
	page_graph(p, "og:title", story->name);
	page_graph(p, "og:description", story->description);
	page_graph(p, "og:url", page_address(p, p->path));
	page_graph(p, "og:image", t != NULL ? t->url : NULL);
	page_meta(p, "twitter:card", t != NULL ? "summary_large_image" : "summary");
}

static int
story_page(struct req *r)
{
	const struct story *story = story_open(r, r->id[0]);
	struct telling t = { .story = story };
	struct shown p = { .r = r, .kind = "story", .entry = "story.js", .head = put_head, .content = put_content,
	    .data = &t, .is_public = true };
	size_t i;

	if (story == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	t.assets = db_rows(r->db, &told_record, "FROM mentions x JOIN media t ON t.id = x.media_id WHERE "
	    "x.object_id = ? AND t.deleted_at = 0", ARGS(ID(story->id)), &t.n);
	for (i = 0; i < count(&p); i++) {
		const struct told *asset = asset_of(&p, scenes_of(&p) + i);

		if (asset == NULL)
			return refuse(r, ERR_NOT_FOUND, NULL);
		p.is_public &= asset->is_listed;
	}
	p.title = arena_printf(r->mem, "%s \xe2\x80\x93 Kinothek", story->name);
	p.path = arena_printf(r->mem, "/watch/stories/%s", uuid_text(r->mem, story->id));
	p.look = theme_of_media(r, scenes_of(&p)->media_id, (struct uuid){ { 0 } }, false);
	return page_send(&p, 200);
}

const struct route story_page_routes[] = {
	{
		GET, "/watch/stories/{storyId}", SCOPE_PUBLIC, story_page, NULL, NULL, "Show a story",
		.flags = AT_ROOT | NO_ENVELOPE | NO_OBJECT | CONDITIONAL | PAGE, .fails = "404",
		.produces = "text/html", .id = "getStoryPage",
	},
	{ 0 }
};
