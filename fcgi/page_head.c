/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of a page that shows an asset: what others may say of it */
#include <inttypes.h>
#include <string.h>

#include "fcgi/page.h"
#include "fcgi/seo.h"

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

/* Search engines want a picture of what is to be seen. */
static void
put_seo(struct shown *p)
{
	if (p->path == NULL || !page_is_there(p) || (p->p->poster_url == NULL && !is(p->p->type, "audio")))
		return;
	html_json(&p->h, "application/ld+json", NULL, seo_json(p->r, p->p, page_address(p, p->path), page_address(p,
	    embed_path(p))));
}

void
page_asset_head(struct shown *p)
{
	page_meta(p, "description", p->p->description);
	if (!page_is_embed(p)) {
		put_graph(p);
		put_seo(p);
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
