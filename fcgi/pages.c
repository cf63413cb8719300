/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /watch and /embed: whole pages, which show an asset without a script, too; and refusals as pages */
#include <stdlib.h>
#include <string.h>

#include "core/play.h"
#include "fcgi/page.h"

static const struct field watch_query_fields[] = {
	FIELD(struct watch_query, t, .on = QUERY, .doc = "Token of a signed address"),
	FIELD(struct watch_query, channel_id, .on = QUERY, .doc = "Channel in whose context it is shown"),
};
static const struct record watch_query_record = RECORD("WatchQuery", struct watch_query, watch_query_fields);

static const struct field form_fields[] = {
	FIELD(struct form, kind, .doc = "What it is good for"),
	FIELD(struct form, mime_type, .doc = "Type"),
	FIELD(struct form, url, .doc = "Address"),
	FIELD(struct form, width, .doc = "Pixels"),
	FIELD(struct form, height, .doc = "Pixels"),
	FIELD(struct form, file_size, .doc = "Bytes"),
};
static const struct record form_record = RECORD("Form", struct form, form_fields);

static const struct field place_link_fields[] = {
	FIELD(struct place_link, id, .doc = "The channel"),
	FIELD(struct place_link, name, .doc = "Shown to people"),
	FIELD(struct place_link, visibility, .doc = "Who sees it"),
};
static const struct record place_link_record = RECORD("PlaceLink", struct place_link, place_link_fields);

static const char *
kind_of(const struct req *r)
{
	return strncmp(r->uri, "/embed/", 7) == 0 ? "embed" : "watch";
}

static void
put_refusal(struct shown *p)
{
	html_el(&p->h, "section");
	html_attr(&p->h, "class", "stage-place");
	html_attr(&p->h, "id", "stage");
	page_state(p, p->refused);
	html_end(&p->h);
}

/* Did the token of the address end, as it says itself? */
static bool
has_expired(const struct req *r)
{
	const char *t = r->route->in == &watch_query_record && r->in != NULL ? ((struct watch_query *)r->in)->t : NULL;
	int64_t end = t != NULL ? strtoll(t, NULL, 10) : 0;

	return end > 0 && end < r->now.ms / 1000;
}

int
refuse_page(struct req *r, enum error error)
{
	static const struct state gone = { "error", N_("Nothing is here"),
	    N_("It was deleted, or the address is wrong.") };
	static const struct state expired = { "error", N_("This link has expired"),
	    N_("Ask whoever sent it to you for a new one.") };
	static const struct state wrong = { "error", N_("You need a valid link"),
	    N_("This page opens only with a link made for it, and this one does not fit.") };
	static const struct state open_wire = { "error", N_("This page needs HTTPS"),
	    N_("Open it by its address with https:// in front.") };
	static const struct state unread = { "error", N_("This could not be read"),
	    N_("The form was too large, or not whole. Go back and try again.") };
	static const struct state broken = { "error", N_("Something went wrong"),
	    N_("The server could not answer. Try again in a moment.") };
	int status = error_info(error)->status;
	const struct state *s = error == ERR_HTTPS_REQUIRED ? &open_wire : status == 404 ? &gone : status >= 500 ||
	    status == 429 ? &broken : r->method != GET ? &unread : has_expired(r) ? &expired : &wrong;
	struct shown p = { .r = r, .kind = kind_of(r), .title = say(r, s->title), .entry = "theme.js",
	    .content = put_refusal, .refused = s };

	return page_send(&p, status);
}

static void
put_asset(struct shown *p)
{
	struct buf data = BUF(p->r->mem);

	if (page_is_embed(p))
		html_text_el(&p->h, "h1", "unseen", p->p->name);
	page_stage(p);
	if (!page_is_embed(p)) {
		page_about(p);
		page_agenda(p);
	}
	record_render(&data, &player_record, p->p, false);
	html_json(&p->h, "application/json", "media", buf_string(&data));
}

/* Its public channels, and a shared one to who names it: nobody else learns that one's address. */
static void
find_places(struct shown *p, struct uuid channel_id)
{
	size_t i;

	p->places = db_rows(p->r->db, &place_link_record, "FROM media_channels mc JOIN channels t ON t.id = "
	    "mc.channel_id JOIN tenants n ON n.id = t.tenant_id WHERE mc.media_id = ? AND (" PAGE_LISTED_SQL " OR t.id = ? AND "
	    PAGE_OPEN_SQL ") ORDER BY t.name, t.id LIMIT 20", ARGS(ID(p->p->id), ID(channel_id)), &p->n_places);
	for (i = 0; i < p->n_places; i++)
		p->is_public |= strcmp(p->places[i].visibility, "public") == 0;
}

void
page_asset(struct shown *p, const struct player *asset)
{
	struct list forms = record_parse_list(p->r->mem, &form_record, asset->renditions.text);

	p->p = asset;
	p->forms = forms.rows;
	p->n_forms = forms.n;
	p->head = page_asset_head;
	p->content = put_asset;
	p->entry = page_is_embed(p) ? "embed.js" : "watch.js";
	p->title = page_is_embed(p) ? asset->name : arena_printf(p->r->mem, "%s \xe2\x80\x93 Kinothek",
	    asset->name);
}

static int
page(struct req *r)
{
	const struct watch_query *in = r->in;
	const struct player *asset = player_find(r, in->t);
	struct shown p = { .r = r, .kind = kind_of(r) };
	struct uuid channel_id;

	if (asset == NULL)
		return r->status;
	page_asset(&p, asset);
	if (in->channel_id == NULL || !uuid_parse(in->channel_id, &channel_id))
		channel_id = (struct uuid){ { 0 } };
	p.look = theme_of_media(r, asset->id, channel_id, in->t != NULL && page_opens(r->conf, in->t, asset->id,
	    r->now));
	if (!page_is_embed(&p)) {
		find_places(&p, channel_id);
		page_find_times(&p);
	}
	if (in->t == NULL)		/* otherwise its address is for who has it */
		p.path = arena_printf(r->mem, "/watch/%s", uuid_text(r->mem, asset->id));
	return page_send(&p, 200);
}

const struct route pages_routes[] = {
	{
		GET, "/watch/{mediaId}", SCOPE_PUBLIC, page, &watch_query_record, NULL, "Show an asset",
		.flags = AT_ROOT | NO_ENVELOPE | NO_OBJECT | CONDITIONAL | PAGE, .fails = "403 404",
		.produces = "text/html",
	},
	{
		GET, "/embed/{mediaId}", SCOPE_PUBLIC, page, &watch_query_record, NULL, "Show an asset in another page",
		.flags = AT_ROOT | NO_ENVELOPE | NO_OBJECT | CONDITIONAL | PAGE, .fails = "403 404",
		.produces = "text/html",
	},
	{ 0 }
};
