/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of a page: the files of this release, and what others may say of the asset */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "fcgi/page.h"

#ifndef KINOTHEK_WEB_DIR
#define KINOTHEK_WEB_DIR "/usr/local/share/kinothek/web"
#endif

static bool
is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* The file `release` of web_dir: the name of the folder with all files, then for each entry a line of the modules that
 * it imports, itself first; script/web writes it.  Read once: an upgrade starts this program anew. */
static const char *
release(const struct conf *conf)
{
	static char text[16384];
	char name[600];
	size_t n;
	FILE *f;

	if (text[0] != '\0')
		return text;
	snprintf(name, sizeof(name), "%s/release", conf->web_dir != NULL ? conf->web_dir : KINOTHEK_WEB_DIR);
	f = fopen(name, "re");
	n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f != NULL)
		fclose(f);
	if (n == 0) {
		log_text(LOG_LEVEL_ERROR, "web", "%s is not there: pages have no styles and no scripts", name);
		snprintf(text, sizeof(text), "none\n");
	}
	return text;
}

static const char *
file_of(struct shown *p, const char *name, size_t n)
{
	const char *dir = release(p->r->conf);

	return arena_printf(p->r->mem, "/web/%.*s/%.*s", (int)strcspn(dir, "\n"), dir, (int)n, name);
}

const char *
page_file(struct shown *p, const char *name)
{
	return file_of(p, name, strlen(name));
}

/* So that a browser has them all on their way before it has read the first. */
static void
preload(struct shown *p, const char *entry)
{
	const char *line = release(p->r->conf);
	size_t n = strlen(entry);

	while ((line = strchr(line, '\n')) != NULL)
		if (strncmp(++line, entry, n) == 0 && line[n] == ' ')
			break;
	if (line == NULL)
		return;
	for (; *line != '\0' && *line != '\n'; line += *line == ' ') {
		n = strcspn(line, " \n");
		html_leaf(&p->h, "link");
		html_attr(&p->h, "rel", "modulepreload");
		html_url(&p->h, "href", file_of(p, line, n));
		line += n;
	}
}

static void
meta(struct shown *p, const char *name, const char *content)
{
	html_leaf(&p->h, "meta");
	html_attr(&p->h, "name", name);
	html_attr(&p->h, "content", content);
}

static void
graph(struct shown *p, const char *property, const char *content)
{
	if (content == NULL)
		return;
	html_leaf(&p->h, "meta");
	html_attr(&p->h, "property", property);
	html_attr(&p->h, "content", content);
}

/* Is it for everybody to find, not only for who has the address? */
static bool
is_public(struct shown *p)
{
	return db_number(p->r->db, "SELECT COUNT(*) FROM media_channels mc JOIN channels c ON c.id = mc.channel_id "
	    "WHERE mc.media_id = ? AND c.visibility = 'public'", ARGS(ID(p->p->id)), 0) > 0;
}

static void
put_graph(struct shown *p)
{
	const struct watch_query *in = p->r->in;
	const char *id = uuid_text(p->r->mem, p->p->id), *base = p->r->conf->public_url;

	graph(p, "og:site_name", "Kinothek");
	graph(p, "og:type", is(p->p->type, "video") ? "video.other" : "website");
	graph(p, "og:title", p->p->name);
	graph(p, "og:description", p->p->description);
	if (p->p->poster_url != NULL) {
		graph(p, "og:image", p->p->poster_url);
		graph(p, "og:image:width", arena_printf(p->r->mem, "%" PRId64, p->p->poster_width.n));
		graph(p, "og:image:height", arena_printf(p->r->mem, "%" PRId64, p->p->poster_height.n));
		graph(p, "og:image:alt", p->p->name);
	}
	meta(p, "twitter:card", p->p->poster_url != NULL ? "summary_large_image" : "summary");
	if (in->t != NULL)		/* its address is for who has it */
		return;
	graph(p, "og:url", arena_printf(p->r->mem, "%s/watch/%s", base, id));
	if (is(p->p->type, "video")) {
		graph(p, "og:video", arena_printf(p->r->mem, "%s/embed/%s", base, id));
		graph(p, "og:video:type", "text/html");
		graph(p, "og:video:width", "1280");
		graph(p, "og:video:height", "720");
	}
}

/* What follows from the asset. */
static void
put_asset_head(struct shown *p)
{
	if (p->p->description != NULL)
		meta(p, "description", p->p->description);
	if (!p->embed)
		put_graph(p);
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
	preload(p, p->embed ? "embed.js" : "watch.js");
	if (page_is_playable(p))
		preload(p, "player.js");
}

void
page_head(struct shown *p, const char *title)
{
	html_el(&p->h, "head");
	html_leaf(&p->h, "meta");
	html_attr(&p->h, "charset", "utf-8");
	meta(p, "viewport", "width=device-width, initial-scale=1");
	meta(p, "color-scheme", p->embed ? "dark" : "dark light");
	if (p->p == NULL || p->embed || !is_public(p))
		meta(p, "robots", "noindex");
	html_text_el(&p->h, "title", NULL, title);
	html_leaf(&p->h, "link");
	html_attr(&p->h, "rel", "icon");
	html_attr(&p->h, "type", "image/svg+xml");
	html_url(&p->h, "href", page_file(p, "icon.svg"));
	html_leaf(&p->h, "link");
	html_attr(&p->h, "rel", "stylesheet");
	html_url(&p->h, "href", page_file(p, "kinothek.css"));
	if (p->p != NULL)
		put_asset_head(p);
	html_el(&p->h, "script");
	html_attr(&p->h, "type", "module");
	html_url(&p->h, "src", p->p == NULL ? page_file(p, "theme.js") : p->embed ? page_file(p, "embed.js") :
	    page_file(p, "watch.js"));
	html_end(&p->h);
	html_end(&p->h);
}
