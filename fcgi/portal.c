/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /, which lists the public channels of all tenants, and /c/{channelId}, which shows what is in one */
#include <inttypes.h>
#include <string.h>

#include "core/asset.h"
#include "fcgi/asset_view.h"
#include "fcgi/page.h"

enum { ON_A_PAGE = 48 };

/* Without its newest asset. */
#define ONE_CHANNEL "FROM channels t JOIN tenants n ON n.id = t.tenant_id LEFT JOIN media m ON m.id = NULL WHERE " \
	"t.id = ? AND "

struct portal_query { const char *after; };
static const struct field portal_query_fields[] = {
	FIELD(struct portal_query, after, .on = QUERY, .doc = "Id of the last one of the page before"),
};
static const struct record portal_query_record = RECORD("PortalQuery", struct portal_query, portal_query_fields);

/* A channel that anyone may see; the picture is that of its newest asset. */
struct open_channel {
	struct uuid id, tenant_id, newest_id;
	const char *name, *description, *visibility, *tenant, *newest_type;
	struct json picture;
};
static const struct field open_channel_fields[] = {
	FIELD(struct open_channel, id, .doc = "Unique id"),
	FIELD(struct open_channel, tenant_id, .doc = "The tenant"),
	FIELD(struct open_channel, newest_id, .sql = "m.id", .doc = "Its newest asset"),
	FIELD(struct open_channel, name, .doc = "Shown to people"),
	FIELD(struct open_channel, description, .doc = "Shown to people"),
	FIELD(struct open_channel, visibility, .doc = "Who sees it"),
	FIELD(struct open_channel, tenant, .sql = "n.name", .doc = "Name of the tenant"),
	FIELD(struct open_channel, newest_type, .sql = "m.type", .doc = "What that is"),
	FIELD(struct open_channel, picture, .sql = "m.thumbnail", .of = &thumbnail_record, .doc = "Of the newest asset"),
};
static const struct record open_channel_record = RECORD("OpenChannel", struct open_channel, open_channel_fields);

/* An asset of a channel. */
struct card {
	struct uuid id;
	const char *name, *type;
	struct position duration;
	struct number page_count;
	struct json picture;
	struct moment at;
};
static const struct field card_fields[] = {
	FIELD(struct card, id, .doc = "Unique id"),
	FIELD(struct card, name, .doc = "Shown to people"),
	FIELD(struct card, type, .doc = "What it is"),
	FIELD(struct card, duration, .doc = "How long it plays"),
	FIELD(struct card, page_count, .doc = "Of a document"),
	FIELD(struct card, picture, .sql = "t.thumbnail", .of = &thumbnail_record, .doc = "Poster"),
	FIELD(struct card, at, .sql = "COALESCE(NULLIF(t.recorded_at, 0), t.created_at)", .doc = "When it was recorded, or came"),
};
static const struct record card_record = RECORD("Card", struct card, card_fields);

/* What a page lists; `more`: there are others behind them. */
struct shelf { const struct open_channel *channel; const void *rows; size_t n; bool more, first; };

/* ---- what both pages are made of ---- */

static const char *
path_of(struct shown *p, const char *folder, struct uuid id)
{
	return arena_printf(p->r->mem, "/%s/%s", folder, uuid_text(p->r->mem, id));
}

/* A card is one link, the one of its heading. */
static void
put_card_title(struct shown *p, const char *path, const char *name)
{
	html_el(&p->h, "h2");
	html_el(&p->h, "a");
	html_url(&p->h, "href", page_link(p, path));
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, name);
	html_end(&p->h);
	html_end(&p->h);
}

static void
put_title(struct shown *p, const char *title, const char *description)
{
	html_el(&p->h, "header");
	html_attr(&p->h, "class", "shelf-head");
	html_el(&p->h, "h1");
	html_attr(&p->h, "id", "title");
	html_int(&p->h, "tabindex", -1);
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, title);
	html_end(&p->h);
	if (description != NULL) {
		html_el(&p->h, "p");
		html_attr(&p->h, "class", "description");
		html_attr(&p->h, "dir", "auto");
		html_text(&p->h, description);
		html_end(&p->h);
	}
	html_end(&p->h);
}

static void
put_empty(struct shown *p, const char *title, const char *text)
{
	html_el(&p->h, "div");
	html_attr(&p->h, "class", "empty");
	html_text_el(&p->h, "p", "state-title", title);
	html_text_el(&p->h, "p", NULL, text);
	html_end(&p->h);
}

static void
put_step(struct shown *p, const char *rel, const char *path, const char *text)
{
	html_el(&p->h, "a");
	html_attr(&p->h, "class", "button");
	html_attr(&p->h, "rel", rel);
	html_url(&p->h, "href", page_link(p, path));
	html_text(&p->h, text);
	html_end(&p->h);
}

/* `path` is that of the first page. */
static void
put_steps(struct shown *p, const char *path, struct uuid last)
{
	const struct shelf *s = p->data;

	if (s->first && !s->more)
		return;
	html_el(&p->h, "nav");
	html_attr(&p->h, "class", "steps");
	html_attr(&p->h, "aria-label", say(p->r, "Pages"));
	if (!s->first)
		put_step(p, "start", path, say(p->r, "To the beginning"));
	if (s->more)
		put_step(p, "next", arena_printf(p->r->mem, "%s?after=%s", path, uuid_text(p->r->mem, last)),
		    say(p->r, "Show more"));
	html_end(&p->h);
}

/* Cuts the one behind the page, which says that there are more. */
static void
cut(struct shelf *s)
{
	s->more = s->n > ON_A_PAGE;
	s->n -= s->more;
}

/* ---- / ---- */

static void
put_channel(struct shown *p, const struct open_channel *c, size_t place)
{
	html_el(&p->h, "li");
	html_attr(&p->h, "class", "card");
	page_picture(p, asset_thumbnail(p->r, c->newest_id, c->picture), c->newest_type, place);
	html_end(&p->h);
	put_card_title(p, path_of(p, "c", c->id), c->name);
	if (c->description != NULL) {
		html_el(&p->h, "p");
		html_attr(&p->h, "class", "card-text");
		html_attr(&p->h, "dir", "auto");
		html_text(&p->h, c->description);
		html_end(&p->h);
	}
	html_end(&p->h);
}

/* Of more than one tenant, each has a heading of its own. */
static void
put_channels(struct shown *p)
{
	const struct shelf *s = p->data;
	const struct open_channel *c = s->rows;
	size_t i;

	put_title(p, s->channel != NULL ? s->channel->tenant : say(p->r, "Channels"), NULL);
	if (s->n == 0)
		put_empty(p, say(p->r, "Nothing is public here yet"),
		    say(p->r, "Channels appear here as soon as somebody makes them public."));
	for (i = 0; i < s->n; i++) {
		if (i == 0 || !uuid_equal(c[i].tenant_id, c[i - 1].tenant_id)) {
			if (i > 0)
				html_end(&p->h);
			if (s->channel == NULL)
				html_text_el(&p->h, "p", "tenant", c[i].tenant);
			html_el(&p->h, "ul");
			html_attr(&p->h, "class", "cards");
		}
		put_channel(p, &c[i], i);
	}
	if (s->n > 0)
		html_end(&p->h);
	put_steps(p, "/", s->n > 0 ? c[s->n - 1].id : (struct uuid){ { 0 } });
	html_el(&p->h, "p");
	html_attr(&p->h, "class", "footer");
	html_el(&p->h, "a");
	html_url(&p->h, "href", "/docs/");
	html_text(&p->h, say(p->r, "The interface for programs"));
	html_end(&p->h);
	html_end(&p->h);
}

static void
put_portal_head(struct shown *p)
{
	page_graph(p, "og:site_name", "Kinothek");
	page_graph(p, "og:type", "website");
	page_graph(p, "og:title", p->title);
	page_graph(p, "og:url", page_address(p, p->path));
}

/* The one tenant that has public channels; NULL: there are none, or several. */
static const struct open_channel *
only_tenant(const struct open_channel *c, size_t n, int64_t tenants)
{
	return n > 0 && tenants == 1 ? c : NULL;
}

static int
portal(struct req *r)
{
	const struct portal_query *in = r->in;
	struct uuid after = { { 0 } };
	const struct open_channel *at = in->after != NULL && uuid_parse(in->after, &after) ? db_row(r->db,
	    &open_channel_record, ONE_CHANNEL PAGE_LISTED_SQL, ARGS(ID(after))) : NULL;
	const char *tenant = at != NULL ? at->tenant : "", *name = at != NULL ? at->name : "";
	struct uuid id = at != NULL ? at->id : (struct uuid){ { 0 } }, of = at != NULL ? at->tenant_id : id;
	struct shelf s = { .first = at == NULL };
	struct shown p = { .r = r, .kind = "portal", .entry = "shelf.js", .path = "/", .is_public = true,
	    .head = put_portal_head, .content = put_channels, .data = &s };

	/* Of those on the page alone the newest asset is looked for. */
	s.rows = db_rows(r->db, &open_channel_record, "FROM (SELECT t.id, t.tenant_id, t.name, t.description, "
	    "t.visibility FROM channels t JOIN tenants n ON n.id = t.tenant_id WHERE " PAGE_LISTED_SQL " AND "
	    "(n.name > ? OR n.name = ? AND (n.id > ? OR n.id = ? AND (t.name > ? OR t.name = ? AND t.id > ?))) ORDER BY n.name, n.id, t.name, t.id "
	    "LIMIT 49) t JOIN tenants n ON n.id = t.tenant_id LEFT JOIN media m ON m.id = (SELECT mc.media_id FROM "
	    "media_channels mc JOIN media a ON a.id = mc.media_id WHERE mc.channel_id = t.id AND a.deleted_at = 0 AND "
	    "a.status = 'ready' ORDER BY mc.media_id DESC LIMIT 1) ORDER BY n.name, n.id, t.name, t.id",
	    ARGS(STR(tenant), STR(tenant), ID(of), ID(of), STR(name), STR(name), ID(id)), &s.n);
	cut(&s);
	s.channel = only_tenant(s.rows, s.n, db_number(r->db, "SELECT COUNT(*) FROM tenants n WHERE "
	    "n.portal_enabled = 1 AND EXISTS (SELECT 1 FROM channels t WHERE t.tenant_id = n.id AND t.visibility = 'public')", NO_ARGS, 0));
	p.title = s.channel != NULL ? s.channel->tenant : "Kinothek";
	if (s.channel != NULL)
		p.look.page = theme_of_tenant(r, s.channel->tenant_id);
	return page_send(&p, 200);
}

/* ---- /c/{channelId} ---- */

/* "Video · Nov 22, 2026", and how long it plays over the picture. */
static void
put_card(struct shown *p, const struct card *c, size_t place)
{
	const struct open_channel *channel = ((const struct shelf *)p->data)->channel;
	char at[MOMENT_TEXT];

	html_el(&p->h, "li");
	html_attr(&p->h, "class", "card");
	page_picture(p, asset_thumbnail(p->r, c->id, c->picture), c->type, place);
	if (c->duration.set)
		html_text_el(&p->h, "span", "card-length", page_clock(p, c->duration.ms));
	html_end(&p->h);
	put_card_title(p, arena_printf(p->r->mem, "/watch/%s?channelId=%s", uuid_text(p->r->mem, c->id),
	    uuid_text(p->r->mem, channel->id)), c->name);
	html_el(&p->h, "p");
	html_attr(&p->h, "class", "facts");
	html_text(&p->h, arena_printf(p->r->mem, "%s \xc2\xb7 ", page_type(p, c->type)));
	html_el(&p->h, "time");
	html_attr(&p->h, "datetime", moment_format(c->at, at));
	html_text(&p->h, say_date(p->r, c->at));
	html_end(&p->h);
	html_end(&p->h);
	html_end(&p->h);
}

static void
put_cards(struct shown *p)
{
	const struct shelf *s = p->data;
	const struct card *c = s->rows;
	size_t i;

	put_title(p, s->channel->name, s->channel->description);
	if (s->n == 0)
		put_empty(p, say(p->r, "Nothing is here yet"),
		    say(p->r, "What is put into this channel appears here."));
	else
		html_el(&p->h, "ul");
	for (i = 0; i < s->n; i++) {
		if (i == 0)
			html_attr(&p->h, "class", "cards");
		put_card(p, &c[i], i);
	}
	if (s->n > 0)
		html_end(&p->h);
	put_steps(p, path_of(p, "c", s->channel->id), s->n > 0 ? c[s->n - 1].id : (struct uuid){ { 0 } });
}

/* schema.org: a page that is a list. */
static void
put_list(struct shown *p)
{
	const struct shelf *s = p->data;
	const struct card *c = s->rows;
	struct buf b = BUF(p->r->mem);
	size_t i;

	buf_text(&b, "{\"@context\":\"https://schema.org\",\"@type\":\"CollectionPage\",\"name\":");
	buf_json(&b, s->channel->name);
	buf_text(&b, ",\"url\":");
	buf_json(&b, page_address(p, p->path));
	if (s->channel->description != NULL) {
		buf_text(&b, ",\"description\":");
		buf_json(&b, s->channel->description);
	}
	buf_printf(&b, ",\"inLanguage\":\"%s\",\"mainEntity\":{\"@type\":\"ItemList\",\"itemListElement\":[",
	    say_language(p->r));
	for (i = 0; i < s->n; i++) {
		buf_printf(&b, "%s{\"@type\":\"ListItem\",\"position\":%zu,\"url\":", i > 0 ? "," : "", i + 1);
		buf_json(&b, page_address(p, path_of(p, "watch", c[i].id)));
		buf_text(&b, ",\"name\":");
		buf_json(&b, c[i].name);
		buf_char(&b, '}');
	}
	buf_text(&b, "]}}");
	html_json(&p->h, "application/ld+json", NULL, buf_string(&b));
}

static void
put_channel_head(struct shown *p)
{
	const struct shelf *s = p->data;
	const struct card *c = s->rows;
	const struct thumbnail *t = s->n > 0 ? asset_thumbnail(p->r, c->id, c->picture) : NULL;

	page_meta(p, "description", s->channel->description);
	page_graph(p, "og:site_name", s->channel->tenant);
	page_graph(p, "og:type", "website");
	page_graph(p, "og:title", s->channel->name);
	page_graph(p, "og:description", s->channel->description);
	page_graph(p, "og:url", page_address(p, p->path));
	page_graph(p, "og:image", t != NULL ? t->url : NULL);
	page_meta(p, "twitter:card", t != NULL ? "summary_large_image" : "summary");
	put_list(p);
}

/* What can be seen, the newest first; what is still being made, or could not be, is nothing for the public. */
static int
channel(struct req *r)
{
	const struct portal_query *in = r->in;
	struct uuid after;
	struct shelf s = { .channel = db_row(r->db, &open_channel_record, ONE_CHANNEL PAGE_OPEN_SQL,
	    ARGS(ID(r->id[0]))) };
	struct shown p = { .r = r, .kind = "channel", .entry = "shelf.js", .head = put_channel_head,
	    .content = put_cards, .data = &s };

	if (s.channel == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	s.first = in->after == NULL || !uuid_parse(in->after, &after);
	if (s.first)
		memset(&after, 0xff, sizeof(after));
	s.rows = db_rows(r->db, &card_record, "FROM media_channels mc JOIN media t ON t.id = mc.media_id WHERE "
	    "mc.channel_id = ? AND mc.media_id < ? AND t.deleted_at = 0 AND t.status = 'ready' ORDER BY mc.media_id "
	    "DESC LIMIT 49", ARGS(ID(r->id[0]), ID(after)), &s.n);
	cut(&s);
	p.path = path_of(&p, "c", s.channel->id);
	p.title = arena_printf(r->mem, "%s \xe2\x80\x93 Kinothek", s.channel->name);
	p.is_public = strcmp(s.channel->visibility, "public") == 0;
	p.look.page = theme_of_channel(r, s.channel->id);
	return page_send(&p, 200);
}

const struct route portal_routes[] = {
	{
		GET, "/", SCOPE_PUBLIC, portal, &portal_query_record, NULL, "Show the public channels",
		.flags = AT_ROOT | NO_ENVELOPE | CONDITIONAL | PAGE, .produces = "text/html",
	},
	{
		GET, "/c/{channelId}", SCOPE_PUBLIC, channel, &portal_query_record, NULL, "Show what is in a channel",
		.flags = AT_ROOT | NO_ENVELOPE | NO_OBJECT | CONDITIONAL | PAGE, .fails = "404",
		.produces = "text/html",
	},
	{ 0 }
};
