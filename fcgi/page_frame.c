/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all pages share: policy, head, top, scripts */
#include <string.h>

#include "core/release.h"
#include "core/store.h"
#include "fcgi/page.h"
#include "fcgi/player_styles.h"

/* Scripts are ours; styles too, but for what media-chrome brings.  Pictures and sound reach the player as blobs, or
 * from the bucket to which their addresses lead. */
#define POLICY "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' " PLAYER_STYLES "; " \
	"img-src 'self' data: blob:%s; media-src 'self' blob:%s; font-src 'self'; connect-src 'self'%s; " \
	"worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action "
#define HEADERS "Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n" \
	"Permissions-Policy: camera=(), microphone=(), geolocation=(), payment=()\r\n" SAY_VARY

bool
page_is_embed(const struct shown *p)
{
	return strcmp(p->kind, "embed") == 0;
}

static const char *
file_of(struct shown *p, const char *name, size_t n)
{
	const char *dir = release_text(p->r->conf);

	return arena_printf(p->r->mem, "/web/%.*s/%.*s", (int)strcspn(dir, "\n"), dir, (int)n, name);
}

const char *
page_file(struct shown *p, const char *name)
{
	return file_of(p, name, strlen(name));
}

const char *
page_local(struct shown *p, const char *url)
{
	size_t n = strlen(p->r->conf->public_url);

	return url != NULL && strncmp(url, p->r->conf->public_url, n) == 0 ? url + n : url;
}

static const char *
in_language(struct shown *p, const char *path, const char *language)
{
	return arena_printf(p->r->mem, "%s%clang=%s", path, strchr(path, '?') == NULL ? '?' : '&', language);
}

const char *
page_link(struct shown *p, const char *path)
{
	const char *language = say_chosen(p->r);

	return language != NULL ? in_language(p, path, language) : path;
}

const char *
page_address(struct shown *p, const char *path)
{
	return arena_printf(p->r->mem, "%s%s", p->r->conf->public_url, page_link(p, path));
}

void
page_meta(struct shown *p, const char *name, const char *content)
{
	if (content == NULL)
		return;
	html_leaf(&p->h, "meta");
	html_attr(&p->h, "name", name);
	html_attr(&p->h, "content", content);
}

void
page_graph(struct shown *p, const char *property, const char *content)
{
	if (content == NULL)
		return;
	html_leaf(&p->h, "meta");
	html_attr(&p->h, "property", property);
	html_attr(&p->h, "content", content);
}

static void
begin_head_link(struct shown *p, const char *rel, const char *address)
{
	html_leaf(&p->h, "link");
	html_attr(&p->h, "rel", rel);
	html_url(&p->h, "href", address);
}

/* Of a page in a language that was chosen by its address, that is the page; without, it speaks what the reader does. */
static void
put_addresses(struct shown *p)
{
	const char *whole = arena_printf(p->r->mem, "%s%s", p->r->conf->public_url, p->path);

	begin_head_link(p, "canonical", page_address(p, p->path));
#define ALTERNATE(tag, name) \
	begin_head_link(p, "alternate", in_language(p, whole, #tag)); \
	html_attr(&p->h, "hreflang", #tag);
	LANGUAGES(ALTERNATE)
#undef ALTERNATE
	begin_head_link(p, "alternate", whole);
	html_attr(&p->h, "hreflang", "x-default");
}

void
page_head(struct shown *p)
{
	html_el(&p->h, "head");
	html_leaf(&p->h, "meta");
	html_attr(&p->h, "charset", "utf-8");
	page_meta(p, "viewport", "width=device-width, initial-scale=1");
	page_meta(p, "color-scheme", page_is_embed(p) ? "dark" : "dark light");
	if (!p->is_public)
		page_meta(p, "robots", "noindex");
	html_text_el(&p->h, "title", NULL, p->title);
	begin_head_link(p, "icon", page_file(p, "icon.svg"));
	html_attr(&p->h, "type", "image/svg+xml");
	begin_head_link(p, "stylesheet", page_file(p, "kinothek.css"));
	if (p->look.page != NULL)
		begin_head_link(p, "stylesheet", p->look.page->url);
	if (p->look.player != NULL)
		begin_head_link(p, "stylesheet", p->look.player->url);
	if (p->path != NULL && !page_is_embed(p))
		put_addresses(p);
	if (p->head != NULL)
		p->head(p);
	html_end(&p->h);
}

/* The query of this page, in another language. */
static const char *
query_in(struct shown *p, const char *language)
{
	const char *at = p->query != NULL ? p->query : strpbrk(p->r->uri, "?#");
	struct buf b = BUF(p->r->mem);

	buf_printf(&b, "?lang=%s", language);
	while (at != NULL && *at != '\0' && *at != '#') {
		size_t n = strcspn(++at, "&#");

		if (n > 0 && strncmp(at, "lang=", 5) != 0)
			buf_printf(&b, "&%.*s", (int)n, at);
		at += n;
	}
	return buf_string(&b);
}

/* The same page in the other languages. */
static void
put_language(struct shown *p, const char *tag, const char *name)
{
	if (strcmp(tag, say_language(p->r)) == 0)
		return;
	html_el(&p->h, "a");
	html_attr(&p->h, "class", "language");
	html_url(&p->h, "href", query_in(p, tag));
	html_attr(&p->h, "lang", tag);
	html_attr(&p->h, "hreflang", tag);
	html_attr(&p->h, "rel", "nofollow");
	html_text(&p->h, name);
	html_end(&p->h);
}

void
page_top(struct shown *p)
{
	const struct theme *logo = p->look.page != NULL && p->look.page->logo_url != NULL ? p->look.page : NULL;

	html_el(&p->h, "header");
	html_attr(&p->h, "class", "top");
	html_el(&p->h, "a");
	html_attr(&p->h, "class", "brand");
	html_url(&p->h, "href", page_link(p, "/"));
	html_leaf(&p->h, "img");
	html_url(&p->h, "src", logo != NULL ? logo->logo_url : page_file(p, "icon.svg"));
	html_attr(&p->h, "alt", logo != NULL ? logo->name : "");
	html_int(&p->h, "width", logo != NULL ? 1 + 28 * logo->logo_width / logo->logo_height : 28);
	html_int(&p->h, "height", 28);
	if (logo == NULL)
		html_text(&p->h, "Kinothek");
	html_end(&p->h);
	html_el(&p->h, "div");
	html_attr(&p->h, "class", "tools");
#define LANGUAGE_LINK(tag, name) put_language(p, #tag, name);
	LANGUAGES(LANGUAGE_LINK)
#undef LANGUAGE_LINK
	html_el(&p->h, "button");
	html_attr(&p->h, "type", "button");
	html_attr(&p->h, "class", "quiet");
	html_attr(&p->h, "id", "theme");
	html_flag(&p->h, "hidden");
	html_attr(&p->h, "aria-label", say(p->r, "Colours"));
	html_end(&p->h);
	html_end(&p->h);
	html_end(&p->h);
}

static void
put_preload(struct shown *p, const char *address)
{
	begin_head_link(p, "modulepreload", address);
	html_attr(&p->h, "fetchpriority", "low");
}

/* So that a browser has them all on their way before it has read the first. */
static void
preload(struct shown *p, const char *entry)
{
	const char *line = release_text(p->r->conf);
	size_t n = strlen(entry);

	while ((line = strchr(line, '\n')) != NULL)
		if (strncmp(++line, entry, n) == 0 && line[n] == ' ')
			break;
	if (line == NULL)
		return;
	for (; *line != '\0' && *line != '\n'; line += *line == ' ') {
		n = strcspn(line, " \n");
		put_preload(p, file_of(p, line, n));
		line += n;
	}
}

void
page_scripts(struct shown *p)
{
	html_el(&p->h, "script");
	html_attr(&p->h, "type", "module");
	html_attr(&p->h, "fetchpriority", "low");	/* the page is whole without it */
	html_url(&p->h, "src", page_file(p, p->entry));
	html_end(&p->h);
	preload(p, p->entry);
	if (p->p != NULL && page_is_playable(p))
		preload(p, "player.js");
	if (strcmp(say_language(p->r), "en") != 0) {
		begin_head_link(p, "preload", page_file(p, arena_printf(p->r->mem, "%s.mo", say_language(p->r))));
		html_attr(&p->h, "as", "fetch");
		html_attr(&p->h, "crossorigin", "anonymous");
		html_attr(&p->h, "fetchpriority", "low");
	}
}

static void
put_body(struct shown *p)
{
	html_el(&p->h, "body");
	if (!page_is_embed(p)) {
		html_el(&p->h, "a");
		html_attr(&p->h, "class", "skip");
		html_url(&p->h, "href", p->refused == NULL ? "#title" : "#stage");
		html_text(&p->h, say(p->r, "Skip to the content"));
		html_end(&p->h);
		page_top(p);
	}
	html_el(&p->h, "main");
	html_attr(&p->h, "class", page_is_embed(p) ? "alone" : p->has_form ? "sign" : "layout");
	p->content(p);
	html_end(&p->h);
	page_scripts(p);
	html_end(&p->h);
}

static void
put_policy(struct shown *p)
{
	const char *origin = store_origin(p->r->conf);
	const char *also = origin != NULL ? arena_printf(p->r->mem, " %s", origin) : "";

	buf_printf(&p->r->headers, POLICY "%s", also, also, also, p->has_form ? "'self'" : "'none'");
}

int
page_send(struct shown *p, int status)
{
	struct buf out;

	p->h = html_new(p->r->mem);
	html_el(&p->h, "html");
	html_attr(&p->h, "lang", say_language(p->r));
	html_attr(&p->h, "data-page", p->kind);
	page_head(p);
	put_body(p);
	html_end(&p->h);
	out = html_done(&p->h);
	put_policy(p);
	buf_text(&p->r->headers, page_is_embed(p) ? "\r\n" HEADERS : "; frame-ancestors 'self'\r\n" HEADERS);
	if (p->refused == NULL) {
		p->r->etag = entity_tag(p->r->mem, out.text, out.len);
		if (reply_not_modified(p->r))
			return 304;
	}
	return reply_raw(p->r, status, "text/html; charset=utf-8", out.text, out.len);
}
