/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of a page that shows an asset: what others may say of it */
#include <inttypes.h>
#include <string.h>

#include "fcgi/page.h"

static bool
is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static const char *
embed_path(struct shown *p)
{
	return arena_printf(p->r->mem, "/embed/%s", uuid_text(p->r->mem, p->p->id));
}

static void
put_graph(struct shown *p)
{
	page_graph(p, "og:site_name", "Kinothek");
	page_graph(p, "og:type", is(p->p->type, "video") ? "video.other" : "website");
	page_graph(p, "og:title", p->p->name);
	page_graph(p, "og:description", p->p->description);
	if (p->p->poster_url != NULL) {
		page_graph(p, "og:image", p->p->poster_url);
		page_graph(p, "og:image:width", arena_printf(p->r->mem, "%" PRId64, p->p->poster_width.n));
		page_graph(p, "og:image:height", arena_printf(p->r->mem, "%" PRId64, p->p->poster_height.n));
		page_graph(p, "og:image:alt", p->p->name);
	}
	page_meta(p, "twitter:card", p->p->poster_url != NULL ? "summary_large_image" : "summary");
	if (p->path == NULL)
		return;
	page_graph(p, "og:url", page_address(p, p->path));
	if (is(p->p->type, "video")) {
		page_graph(p, "og:video", page_address(p, embed_path(p)));
		page_graph(p, "og:video:type", "text/html");
		page_graph(p, "og:video:width", "1280");
		page_graph(p, "og:video:height", "720");
	}
}

static void
put_member(struct buf *b, const char *name, const char *value)
{
	if (value == NULL)
		return;
	buf_printf(b, ",\"%s\":", name);
	buf_json(b, value);
}

/* schema.org, with what search engines ask of a video: a name, a picture and a date.  The address of the picture is
 * signed, and who comes for it after play.lifetime has to read the page again; so the film is named by its page. */
static void
put_video_object(struct shown *p)
{
	int64_t s = (p->p->duration.ms + 500) / 1000;
	struct buf b = BUF(p->r->mem);
	char at[MOMENT_TEXT];

	if (p->path == NULL || !is(p->p->type, "video") || !page_is_playable(p) || p->p->poster_url == NULL)
		return;
	buf_text(&b, "{\"@context\":\"https://schema.org\",\"@type\":\"VideoObject\"");
	put_member(&b, "name", p->p->name);
	put_member(&b, "description", p->p->description);
	put_member(&b, "thumbnailUrl", p->p->poster_url);
	put_member(&b, "uploadDate", moment_format(p->p->created_at, at));
	put_member(&b, "url", page_address(p, p->path));
	put_member(&b, "embedUrl", page_address(p, embed_path(p)));
	if (p->p->duration.set)
		put_member(&b, "duration", arena_printf(p->r->mem, "PT%" PRId64 "H%" PRId64 "M%" PRId64 "S", s / 3600,
		    s / 60 % 60, s % 60));
	buf_char(&b, '}');
	html_json(&p->h, "application/ld+json", NULL, buf_string(&b));
}

void
page_asset_head(struct shown *p)
{
	page_meta(p, "description", p->p->description);
	if (!page_is_embed(p)) {
		put_graph(p);
		put_video_object(p);
	}
	if (!page_is_there(p) && !is(p->p->status, "failed")) {
		html_el(&p->h, "noscript");
		html_leaf(&p->h, "meta");
		html_attr(&p->h, "http-equiv", "refresh");
		html_attr(&p->h, "content", "10");
		html_end(&p->h);
	}
	if (page_is_playable(p) && p->p->poster_url != NULL) {
		html_leaf(&p->h, "link");
		html_attr(&p->h, "rel", "preload");
		html_attr(&p->h, "as", "image");
		html_attr(&p->h, "fetchpriority", "high");
		html_url(&p->h, "href", page_local(p, p->p->poster_url));
	}
}
