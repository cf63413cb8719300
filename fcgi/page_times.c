/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What people made of the time of a recording, on its page: chapters, clips, comments, the agenda of its meeting */
#include <string.h>

#include "fcgi/mentions.h"
#include "fcgi/page.h"
#include "fcgi/section.h"
#include "fcgi/seen.h"

enum { CLIPS_SHOWN = 200, COMMENTS_SHOWN = 200, LEVELS = 5, SECOND_SCREEN = 100 };

/* A point of an agenda; `start` is set where a recording that anybody may open has it, which is media_id. */
struct point { const char *number, *name; bool is_public; struct uuid entry_id, media_id; struct position start; };
static const struct field point_fields[] = {
	FIELD(struct point, number, .on = CREATE, .doc = "As it is written"),
	FIELD(struct point, name, .on = CREATE, .doc = "Shown to people"),
	FIELD(struct point, is_public, .on = CREATE, .json = "public", .doc = "Was it held in public?"),
	FIELD(struct point, entry_id, .on = CREATE, .doc = "Entry of a chapter"),
};
static const struct record point_record = RECORD("AgendaPoint", struct point, point_fields);

struct agenda {
	struct uuid id;
	const char *name, *location, *organization;
	struct moment starts_at;
	struct list points;			/* struct point, public ones alone */
};
static const struct field agenda_fields[] = {
	FIELD(struct agenda, id, .doc = "The meeting"),
	FIELD(struct agenda, name, .doc = "Shown to people"),
	FIELD(struct agenda, location, .doc = "Where it was held"),
	FIELD(struct agenda, organization, .doc = "Who met"),
	FIELD(struct agenda, starts_at, .doc = "When it began"),
	FIELD(struct agenda, points, .sql = "t.agenda", .of = &point_record, .doc = "What was talked about"),
};
static const struct record agenda_record = RECORD("Agenda", struct agenda, agenda_fields);

/* Who made a meeting that refers to the asset. */
struct maker { struct uuid id, tenant_id; const char *name, *shortcode, *client_scopes; int64_t is_super_admin; };
static const struct field maker_fields[] = {
	FIELD(struct maker, id, .sql = "p.id", .doc = "Principal"),
	FIELD(struct maker, tenant_id, .sql = "p.tenant_id", .doc = "Its tenant"),
	FIELD(struct maker, name, .sql = "p.name", .doc = "Its name"),
	FIELD(struct maker, shortcode, .sql = "n.shortcode", .doc = "Of the tenant"),
	FIELD(struct maker, client_scopes, .sql = "c.scopes", .doc = "If that is a client"),
	FIELD(struct maker, is_super_admin, .sql = SEEN_SUPER_ADMIN, .doc = "By its row"),
};
static const struct record maker_record = RECORD("Maker", struct maker, maker_fields);

/* Where an entry leads to. */
struct mark { struct uuid entry_id, media_id; struct position position; };
static const struct field mark_fields[] = {
	FIELD(struct mark, entry_id, .doc = "The entry"),
	FIELD(struct mark, media_id, .doc = "The asset"),
	FIELD(struct mark, position, .doc = "Where in it"),
};
static const struct record mark_record = RECORD("Mark", struct mark, mark_fields);

struct remark { struct uuid id, parent_id; const char *text, *author; struct position time; struct moment created_at; };
static const struct field remark_fields[] = {
	FIELD(struct remark, id, .doc = "The comment"),
	FIELD(struct remark, parent_id, .doc = "What it answers"),
	FIELD(struct remark, text, .doc = "What is said"),
	FIELD(struct remark, author, .sql = "COALESCE(p.name, '')", .doc = "Who said it"),
	FIELD(struct remark, time, .doc = "Where in the asset"),
	FIELD(struct remark, created_at, .doc = "When"),
};
static const struct record remark_record = RECORD("Remark", struct remark, remark_fields);

/* ---- what there is ---- */

/* Those of this recording first: a meeting may have several. */
static void
find_marks(struct shown *p, const struct agenda *a)
{
	struct uuid *ids = arena_array(p->r->mem, a->points.n + 1, sizeof(*ids));
	struct point *point = a->points.rows;
	const struct mark *found;
	size_t wanted = 0, n, i, k;

	for (i = 0; i < a->points.n; i++)
		if (!uuid_is_none(point[i].entry_id))
			ids[wanted++] = point[i].entry_id;
	if (wanted == 0)
		return;
	found = db_rows(p->r->db, &mark_record, "FROM " MENTIONED_IDS " STRAIGHT_JOIN sections t ON t.entry_id = "
	    "UNHEX(j.id) JOIN mentions x ON x.media_id = t.media_id AND x.object_id = ? JOIN media m ON m.id = "
	    "t.media_id WHERE t.media_id = ? OR (m.deleted_at = 0 AND EXISTS (SELECT 1 FROM media_channels mc JOIN channels c ON "
	    "c.id = mc.channel_id WHERE mc.media_id = m.id AND c.visibility <> 'private')) ORDER BY t.media_id <> ?",
	    ARGS(STR(mentions_json(p->r->mem, ids, wanted)), ID(a->id), ID(p->p->id), ID(p->p->id)), &n);
	for (i = 0; i < a->points.n; i++)
		for (k = 0; k < n && !point[i].start.set; k++)
			if (uuid_equal(found[k].entry_id, point[i].entry_id)) {
				point[i].start = found[k].position;
				point[i].media_id = found[k].media_id;
			}
}

static const struct route *
changing(void)
{
	const struct route *route = media_routes;

	while (route->method != METHOD_PATCH)
		route++;
	return route;
}

/* Whoever sees an asset may refer to it; what stands on its page is for those who may change it, as it is now. */
static bool
may_say(struct shown *p, const struct maker *m)
{
	struct principal who = { .id = m->id, .tenant_id = m->tenant_id, .shortcode = m->shortcode, .name = m->name,
	    .is_super_admin = m->is_super_admin, .scopes = ~0u };

	if (m->client_scopes != NULL)
		who.scopes = scope_bits(m->client_scopes);
	return seen_may(seen_by(p->r->mem, p->r->db, p->r->conf, &who), p->p->id, changing());
}

/* The newest of one that says anything in public: what was not held in public is not told. */
static struct agenda *
newest_of(struct shown *p, const struct maker *m)
{
	struct agenda *all;
	size_t n, i, k;

	all = db_rows(p->r->db, &agenda_record, "FROM mentions x JOIN meetings t ON t.id = x.object_id WHERE "
	    "x.media_id = ? AND t.principal_id = ? AND t.status = 'ready' ORDER BY t.starts_at DESC, t.id DESC LIMIT 10",
	    ARGS(ID(p->p->id), ID(m->id)), &n);
	for (i = 0; i < n; i++) {
		struct point *point = all[i].points.rows;
		size_t points = 0;

		for (k = 0; k < all[i].points.n; k++)
			if (point[k].is_public)
				point[points++] = point[k];
		all[i].points.n = points;
		if (points > 0)
			return &all[i];
	}
	return NULL;
}

static struct agenda *
find_agenda(struct shown *p)
{
	const struct maker *makers;
	struct agenda *best = NULL, *a;
	size_t n, i;

	makers = db_rows(p->r->db, &maker_record, "FROM principals p JOIN tenants n ON n.id = p.tenant_id " SEEN_JOIN
	    " WHERE p.id IN (SELECT t.principal_id FROM mentions x JOIN meetings t ON t.id = x.object_id WHERE x.media_id = "
	    "?) ORDER BY p.id LIMIT 20", ARGS(ID(p->p->id)), &n);
	for (i = 0; i < n; i++)
		if (may_say(p, &makers[i]) && (a = newest_of(p, &makers[i])) != NULL && (best == NULL ||
		    a->starts_at.ms > best->starts_at.ms))
			best = a;
	if (best != NULL)
		find_marks(p, best);
	return best;
}

void
page_find_times(struct shown *p)
{
	const struct uuid id = p->p->id;

	p->agenda = find_agenda(p);
	p->clips.rows = db_rows_brief(p->r->db, &section_record, "FROM sections t WHERE t.media_id = ? AND "
	    "t.chapter_id IS NULL AND t.title <> '' ORDER BY t.position, t.id LIMIT ?", ARGS(ID(id), INT(CLIPS_SHOWN)), &p->clips.n);
	section_view(p->r, id, p->clips.rows, p->clips.n);
	p->comments.rows = db_rows(p->r->db, &remark_record, "FROM comments t JOIN media m ON m.id = t.media_id JOIN "
	    "tenants n ON n.id = m.tenant_id LEFT JOIN principals p ON p.id = t.principal_id WHERE t.media_id = ? AND "
	    "n.comments_on_pages = 1 ORDER BY t.parent_id IS NOT NULL, t.time, t.created_at, t.id LIMIT ?", ARGS(ID(id), INT(COMMENTS_SHOWN)),
	    &p->comments.n);
}

/* ---- how it is shown ---- */

const char *
page_fragment(struct shown *p, struct position start, struct position end)
{
	const char *from = arena_printf(p->r->mem, "#t=%lld.%03d", (long long)start.ms / 1000, (int)(start.ms % 1000));

	return end.set ? arena_printf(p->r->mem, "%s,%lld.%03d", from, (long long)end.ms / 1000,
	    (int)(end.ms % 1000)) : from;
}

static const char *
fragment(struct shown *p, struct position start)
{
	return page_fragment(p, start, (struct position){ 0, false });
}

static void
put_name(struct shown *p, const char *class, const char *name)
{
	html_el(&p->h, "span");
	if (class != NULL)
		html_attr(&p->h, "class", class);
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, name);
	html_end(&p->h);
}

/* What is below a heading of its own stays in the page while it is empty, for what comes later. */
static void
begin_part(struct shown *p, const char *id, const char *title, bool is_there)
{
	html_attr(&p->h, "id", id);
	html_attr(&p->h, "class", id);
	html_attr(&p->h, "aria-label", title);
	if (!is_there)
		html_flag(&p->h, "hidden");
	html_text_el(&p->h, "h2", NULL, title);
}

/* Each line is an address of its own; with a script it goes there in this page.  An agenda that leads somewhere stands
 * in its place. */
static void
put_chapters(struct shown *p)
{
	const struct player_chapter *c = p->p->chapters.rows;
	const struct point *point = p->agenda != NULL ? p->agenda->points.rows : NULL;
	bool is_there = p->p->chapters.n > 0;
	size_t i;

	for (i = 0; point != NULL && i < p->agenda->points.n; i++)
		is_there &= !point[i].start.set;
	html_el(&p->h, "nav");
	begin_part(p, "chapters", say(p->r, "Chapters"), is_there);
	html_el(&p->h, "ol");
	for (i = 0; i < p->p->chapters.n; i++) {
		html_el(&p->h, "li");
		html_el(&p->h, "a");
		html_url(&p->h, "href", fragment(p, c[i].start));
		html_text_el(&p->h, "time", NULL, page_moment(p, c[i].start.ms));
		put_name(p, NULL, c[i].title);
		html_end(&p->h);
		html_end(&p->h);
	}
	html_end(&p->h);
	html_end(&p->h);
}

static void
put_clip(struct shown *p, const struct section *s, size_t place)
{
	html_el(&p->h, "li");
	html_el(&p->h, "a");
	html_url(&p->h, "href", page_fragment(p, s->position, s->end));
	page_picture(p, s->thumbnail.row, p->p->type, place);
	html_text_el(&p->h, "span", "card-length", s->end.set ? arena_printf(p->r->mem, "%s\xe2\x80\x93%s",
	    page_moment(p, s->position.ms), page_moment(p, s->end.ms)) : page_moment(p, s->position.ms));
	html_end(&p->h);
	put_name(p, NULL, s->title);
	html_end(&p->h);
	html_end(&p->h);
}

static void
put_clips(struct shown *p)
{
	const struct section *s = p->clips.rows;
	size_t i;

	html_el(&p->h, "nav");
	begin_part(p, "clips", say(p->r, "Clips"), p->clips.n > 0);
	html_el(&p->h, "ul");
	for (i = 0; i < p->clips.n; i++)
		put_clip(p, &s[i], SECOND_SCREEN + i);
	html_end(&p->h);
	html_end(&p->h);
}

/* One, and what answers it. */
static void
put_remark(struct shown *p, const struct remark *c, int level)
{
	const struct remark *all = p->comments.rows;
	char at[MOMENT_TEXT];
	bool any = false;
	size_t i;

	html_el(&p->h, "li");
	html_attr(&p->h, "id", arena_printf(p->r->mem, "comment-%s", uuid_text(p->r->mem, c->id)));
	html_el(&p->h, "p");
	html_attr(&p->h, "class", "said");
	html_el(&p->h, "strong");
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, c->author);
	html_end(&p->h);
	html_el(&p->h, "time");
	html_attr(&p->h, "datetime", moment_format(c->created_at, at));
	html_text(&p->h, say_date(p->r, c->created_at));
	html_end(&p->h);
	if (c->time.set) {
		html_el(&p->h, "a");
		html_url(&p->h, "href", fragment(p, c->time));
		html_text(&p->h, page_moment(p, c->time.ms));
		html_end(&p->h);
	}
	html_end(&p->h);
	html_el(&p->h, "p");
	html_attr(&p->h, "class", "words");
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, c->text);
	html_end(&p->h);
	for (i = 0; i < p->comments.n && level > 0; i++) {
		if (!uuid_equal(all[i].parent_id, c->id))
			continue;
		if (!any)
			html_el(&p->h, "ol");
		any = true;
		put_remark(p, &all[i], level - 1);
	}
	if (any)
		html_end(&p->h);
	html_end(&p->h);
}

static void
put_comments(struct shown *p)
{
	const struct remark *c = p->comments.rows;
	size_t i;

	html_el(&p->h, "section");
	begin_part(p, "comments", say(p->r, "Comments"), p->comments.n > 0);
	html_el(&p->h, "ol");
	for (i = 0; i < p->comments.n; i++)
		if (uuid_is_none(c[i].parent_id))
			put_remark(p, &c[i], LEVELS);
	html_end(&p->h);
	html_end(&p->h);
}

void
page_times(struct shown *p)
{
	put_chapters(p);
	if (p->is_link)
		return;
	put_clips(p);
	put_comments(p);
}

/* ---- the agenda ---- */

/* 3.1 is below 3, and below "3."; 31 is not. */
static bool
is_below(const struct point *c, const struct point *of)
{
	size_t n = strlen(of->number);

	n -= n > 0 && of->number[n - 1] == '.';
	return n > 0 && strncmp(c->number, of->number, n) == 0 && c->number[n] == '.' && c->number[n + 1] != '\0';
}

static void
put_point(struct shown *p, const struct point *c)
{
	bool is_here = uuid_equal(c->media_id, p->p->id);
	const char *page = is_here || !c->start.set ? "" : page_link(p, arena_printf(p->r->mem, "/watch/%s",
	    uuid_text(p->r->mem, c->media_id)));

	if (!c->start.set) {
		html_el(&p->h, "span");
	} else {
		html_el(&p->h, "a");
		html_url(&p->h, "href", arena_printf(p->r->mem, "%s%s", page, fragment(p, c->start)));
	}
	html_attr(&p->h, "class", "point");
	html_text_el(&p->h, "span", "number", c->number);
	put_name(p, "name", c->name);
	if (c->start.set && is_here)
		html_text_el(&p->h, "time", NULL, page_moment(p, c->start.ms));
	html_end(&p->h);
}

/* Those below one (NULL: all), each with those below it: the tree is that of the numbers.  How many of the n. */
static size_t
put_points(struct shown *p, const struct point *c, size_t n, const struct point *above, int level)
{
	size_t i = 0;

	html_el(&p->h, "ol");
	while (i < n && (above == NULL || is_below(&c[i], above))) {
		const struct point *it = &c[i++];

		html_el(&p->h, "li");
		put_point(p, it);
		if (level > 1 && i < n && is_below(&c[i], it))
			i += put_points(p, &c[i], n - i, it, level - 1);
		html_end(&p->h);
	}
	html_end(&p->h);
	return i;
}

void
page_agenda(struct shown *p)
{
	const struct agenda *a = p->agenda;
	struct buf facts = BUF(p->r->mem);

	if (p->is_link)
		return;
	html_el(&p->h, "nav");
	begin_part(p, "agenda", say(p->r, "Agenda"), a != NULL);
	html_el(&p->h, "div");
	html_attr(&p->h, "class", "points");
	html_int(&p->h, "tabindex", 0);		/* it scrolls, and may hold no link */
	if (a != NULL) {
		page_part(&facts, a->name);
		page_part(&facts, say_date(p->r, a->starts_at));
		page_part(&facts, a->organization);
		page_part(&facts, a->location);
		html_el(&p->h, "p");
		html_attr(&p->h, "class", "facts");
		html_attr(&p->h, "dir", "auto");
		html_text(&p->h, buf_string(&facts));
		html_end(&p->h);
		put_points(p, a->points.rows, a->points.n, NULL, LEVELS);
	}
	html_end(&p->h);
	html_end(&p->h);
}
