/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /watch and /embed: whole pages, which show an asset without a script, too */
#include <stdlib.h>
#include <string.h>

#include "fcgi/page.h"
#include "fcgi/player_styles.h"

/* Scripts are ours; styles too, but for what media-chrome brings.  Pictures and sound reach the player as blobs. */
#define POLICY "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' " PLAYER_STYLES "; " \
	"img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; worker-src 'self'; frame-src 'self'; " \
	"base-uri 'none'; form-action 'none'"
#define HEADERS "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n" \
	"Permissions-Policy: camera=(), microphone=(), geolocation=(), payment=()\r\n"

static const struct field watch_query_fields[] = {
	FIELD(struct watch_query, t, .on = QUERY, .doc = "Token of a signed address"),
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

static void
put_top(struct shown *p)
{
	html_el(&p->h, "header");
	html_attr(&p->h, "class", "top");
	html_el(&p->h, "span");
	html_attr(&p->h, "class", "brand");
	html_leaf(&p->h, "img");
	html_url(&p->h, "src", page_file(p, "icon.svg"));
	html_attr(&p->h, "alt", "");
	html_int(&p->h, "width", 28);
	html_int(&p->h, "height", 28);
	html_text(&p->h, "Kinothek");
	html_end(&p->h);
	html_el(&p->h, "button");
	html_attr(&p->h, "type", "button");
	html_attr(&p->h, "class", "quiet");
	html_attr(&p->h, "id", "theme");
	html_flag(&p->h, "hidden");
	html_attr(&p->h, "aria-label", "Colours: as the system");
	html_end(&p->h);
	html_end(&p->h);
}

static const char *
data_of(struct shown *p)
{
	struct buf b = BUF(p->r->mem);

	record_render(&b, &player_record, p->p, false);
	return buf_string(&b);
}

static void
put_body(struct shown *p, const struct state *refused)
{
	html_el(&p->h, "body");
	if (!p->embed) {
		html_el(&p->h, "a");
		html_attr(&p->h, "class", "skip");
		html_url(&p->h, "href", p->p != NULL ? "#title" : "#stage");
		html_text(&p->h, "Skip to the content");
		html_end(&p->h);
		put_top(p);
	}
	html_el(&p->h, "main");
	html_attr(&p->h, "class", p->embed ? "alone" : "layout");
	if (p->embed && p->p != NULL)
		html_text_el(&p->h, "h1", "unseen", p->p->name);
	page_stage(p, refused);
	if (!p->embed && p->p != NULL)
		page_about(p);
	html_end(&p->h);
	if (p->p != NULL)
		html_json(&p->h, "application/json", "media", data_of(p));
	html_end(&p->h);
}

static int
send_page(struct shown *p, int status, const struct state *refused)
{
	struct buf out;

	p->h = html_new(p->r->mem);
	html_el(&p->h, "html");
	html_attr(&p->h, "lang", "en");
	html_attr(&p->h, "data-page", p->embed ? "embed" : "watch");
	page_head(p, refused != NULL ? refused->title : p->embed ? p->p->name :
	    arena_printf(p->r->mem, "%s \xe2\x80\x93 Kinothek", p->p->name));
	put_body(p, refused);
	html_end(&p->h);
	out = html_done(&p->h);
	buf_text(&p->r->headers, POLICY);
	buf_text(&p->r->headers, p->embed ? "\r\n" HEADERS : "; frame-ancestors 'self'\r\n" HEADERS);
	if (refused == NULL) {
		p->r->etag = entity_tag(p->r->mem, out.text, out.len);
		if (reply_not_modified(p->r))
			return 304;
	}
	return reply_raw(p->r, status, "text/html; charset=utf-8", out.text, out.len);
}

static bool
is_embed(const struct req *r)
{
	return strncmp(r->uri, "/embed/", 7) == 0;
}

/* Did the token of the address end, as it says itself? */
static bool
has_expired(const struct req *r)
{
	const struct watch_query *in = r->in;
	int64_t end = in != NULL && in->t != NULL ? strtoll(in->t, NULL, 10) : 0;

	return end > 0 && end < r->now.ms / 1000;
}

int
refuse_page(struct req *r, enum error error)
{
	static const struct state gone = { "error", "Nothing is here", "It was deleted, or the address is wrong." };
	static const struct state expired = { "error", "This link has expired",
	    "Ask whoever sent it to you for a new one." };
	static const struct state wrong = { "error", "You need a valid link",
	    "This page opens only with a link made for it, and this one does not fit." };
	static const struct state open_wire = { "error", "This page needs HTTPS",
	    "Open it by its address with https:// in front." };
	static const struct state broken = { "error", "Something went wrong",
	    "The server could not answer. Try again in a moment." };
	struct shown p = { .r = r, .embed = is_embed(r) };
	int status = error_info(error)->status;

	return send_page(&p, status, error == ERR_HTTPS_REQUIRED ? &open_wire : status == 404 ? &gone :
	    status >= 500 || status == 429 ? &broken : has_expired(r) ? &expired : &wrong);
}

static int
page(struct req *r)
{
	const struct watch_query *in = r->in;
	struct shown p = { .r = r, .p = player_find(r, in->t), .embed = is_embed(r) };
	struct list forms;

	if (p.p == NULL)
		return r->status;
	forms = record_parse_list(r->mem, &form_record, p.p->renditions.text);
	p.forms = forms.rows;
	p.n_forms = forms.n;
	return send_page(&p, 200, NULL);
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
