/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a page shows of an asset and says of it */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/filename.h"
#include "fcgi/page.h"

static bool
is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

const char *
page_clock(struct shown *p, int64_t ms)
{
	long long s = (ms + 500) / 1000;

	return s >= 3600 ? arena_printf(p->r->mem, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60) :
	    arena_printf(p->r->mem, "%lld:%02lld", s / 60, s % 60);
}

const char *
page_moment(struct shown *p, int64_t ms)
{
	return page_clock(p, ms - ms % 1000);
}

static const char *
size_text(struct shown *p, int64_t n)
{
	return n >= 1000000000 ? arena_printf(p->r->mem, "%s GB", say_decimal(p->r, (double)n / 1e9, 1)) :
	    n >= 1000000 ? arena_printf(p->r->mem, "%s MB", say_decimal(p->r, (double)n / 1e6, n < 10000000)) :
	    arena_printf(p->r->mem, "%lld kB", (long long)((n + 999) / 1000));
}

void
page_part(struct buf *b, const char *part)
{
	if (part == NULL || *part == '\0')
		return;
	if (b->len > 0)
		buf_text(b, " \xc2\xb7 ");
	buf_text(b, part);
}

/* Is it one file, not a playlist of many? */
static bool
is_file(const struct form *f)
{
	return f->url != NULL && !is(f->kind, "hls") && (f->mime_type == NULL ||
	    strstr(f->mime_type, "mpegurl") == NULL);
}

/* The largest file of a kind whose height is not above `max`, or the smallest. */
static const struct form *
form_of(const struct shown *p, const char *kind, int64_t max)
{
	const struct form *best = NULL, *f;

	for (f = p->forms; f < p->forms + p->n_forms; f++)
		if (is(f->kind, kind) && is_file(f) && (best == NULL || (f->height <= max ? f->height >
		    best->height || best->height > max : f->height < best->height)))
			best = f;
	return best;
}

bool
page_is_playable(const struct shown *p)
{
	return (is(p->p->type, "video") || is(p->p->type, "audio")) && (p->p->playlist_url != NULL ||
	    form_of(p, "mp4", 0) != NULL || form_of(p, "audio", 0) != NULL);
}

bool
page_is_there(const struct shown *p)
{
	return is(p->p->type, "video") || is(p->p->type, "audio") ? page_is_playable(p) : p->n_forms > 0 ||
	    p->p->poster_url != NULL;
}

static const struct player_live *
live_of(const struct shown *p)
{
	return p->p->live.row;
}

/* A script counts down to it. */
static void
put_beginning(struct shown *p)
{
	const struct moment at = live_of(p)->starts_at;
	char text[MOMENT_TEXT];

	if (at.ms <= p->r->now.ms)
		return;
	html_el(&p->h, "p");
	html_attr(&p->h, "class", "countdown");
	html_el(&p->h, "time");
	html_attr(&p->h, "datetime", moment_format(at, text));
	html_text(&p->h, arena_printf(p->r->mem, "%s, %.5s UTC", say_date(p->r, at), text + strlen("2026-11-20T")));
	html_end(&p->h);
	html_end(&p->h);
}

void
page_state(struct shown *p, const struct state *s)
{
	html_el(&p->h, "div");
	html_attr(&p->h, "class", arena_printf(p->r->mem, "state %s", s->kind));
	html_attr(&p->h, "role", is(s->kind, "error") ? "alert" : "status");
	html_el(&p->h, "span");
	html_attr(&p->h, "class", "state-sign");
	html_attr(&p->h, "aria-hidden", "true");
	html_end(&p->h);
	if (p->p == NULL)
		html_text_el(&p->h, "h1", "state-title", say(p->r, s->title));
	else
		html_text_el(&p->h, "p", "state-title", say(p->r, s->title));
	html_text_el(&p->h, "p", "state-text", say(p->r, s->text));
	if (is(s->kind, "waiting")) {
		html_el(&p->h, "progress");
		html_int(&p->h, "max", 100);
		if (p->p->progress > 0)
			html_int(&p->h, "value", p->p->progress);
		html_attr(&p->h, "aria-label", say(p->r, "Progress"));
		html_end(&p->h);
	}
	if (is(s->kind, "soon"))
		put_beginning(p);
	html_end(&p->h);
}

static void
put_source(struct shown *p, const char *url, const char *type)
{
	html_leaf(&p->h, "source");
	html_url(&p->h, "src", page_local(p, url));
	html_attr(&p->h, "type", type);
}

/* Fetches nothing before somebody plays: with a script, hls.js does. */
static void
put_video(struct shown *p)
{
	const struct form *file = form_of(p, "mp4", 720);
	const struct player_caption *c = p->p->captions.rows;
	size_t i;

	if (file == NULL)
		file = form_of(p, "audio", 0);
	html_el(&p->h, "video");
	html_attr(&p->h, "class", is(p->p->type, "audio") ? "stage sound" : "stage film");
	html_flag(&p->h, "controls");
	html_flag(&p->h, "playsinline");
	if (strncmp(p->p->mime_type, "image/", 6) == 0) {	/* an animation */
		html_flag(&p->h, "loop");
		html_flag(&p->h, "muted");
	}
	html_attr(&p->h, "preload", "none");
	if (p->p->poster_url != NULL)
		html_url(&p->h, "poster", page_local(p, p->p->poster_url));
	html_attr(&p->h, "aria-label", p->p->name);
	if (file != NULL)
		put_source(p, file->url, file->mime_type);
	if (p->p->playlist_url != NULL)
		put_source(p, p->p->playlist_url, "application/vnd.apple.mpegurl");
	for (i = 0; i < p->p->captions.n; i++) {
		html_leaf(&p->h, "track");
		html_attr(&p->h, "kind", c[i].kind);
		html_url(&p->h, "src", page_local(p, c[i].url));
		if (c[i].language_code != NULL)
			html_attr(&p->h, "srclang", c[i].language_code);
		html_attr(&p->h, "label", c[i].label != NULL ? c[i].label : c[i].language_code);
	}
	html_end(&p->h);
}

static void
put_picture(struct shown *p, const struct form *f, const char *url, const char *alt)
{
	struct buf set = BUF(p->r->mem);
	const struct form *each;

	html_leaf(&p->h, "img");
	html_attr(&p->h, "class", "picture");
	html_url(&p->h, "src", page_local(p, url));
	for (each = p->forms; f != NULL && each < p->forms + p->n_forms; each++)
		if (is(each->kind, "image") && each->url != NULL && each->width > 0)
			buf_printf(&set, "%s%s %" PRId64 "w", set.len > 0 ? ", " : "", page_local(p, each->url),
			    each->width);
	if (set.len > 0) {
		html_attr(&p->h, "srcset", set.text);
		html_attr(&p->h, "sizes", "(min-width: 64rem) 70vw, 100vw");
	}
	if (f != NULL && f->width > 0 && f->height > 0) {
		html_int(&p->h, "width", f->width);
		html_int(&p->h, "height", f->height);
	}
	html_attr(&p->h, "alt", alt);
}

static void
begin_link(struct shown *p, const char *url)
{
	html_el(&p->h, "a");
	html_url(&p->h, "href", page_local(p, url));
	html_attr(&p->h, "target", "_blank");
	html_attr(&p->h, "rel", "noopener");
}

static void
put_image(struct shown *p)
{
	const struct form *largest = form_of(p, "image", INT64_MAX);
	const char *url = largest != NULL ? largest->url : p->p->poster_url;

	html_el(&p->h, "figure");
	html_attr(&p->h, "class", "stage still");
	begin_link(p, url);
	html_attr(&p->h, "title", say(p->r, "Open in full size"));
	put_picture(p, largest, url, p->p->name);
	html_end(&p->h);
	html_end(&p->h);
}

/* A script may show the document itself instead of its first page. */
static void
put_document(struct shown *p)
{
	const struct form *pdf = form_of(p, "pdf", 0), *first = form_of(p, "image", INT64_MAX);
	const char *preview = p->p->poster_url != NULL ? p->p->poster_url : first != NULL ? first->url : NULL;

	html_el(&p->h, "div");
	html_attr(&p->h, "class", "stage document");
	if (preview != NULL)
		put_picture(p, NULL, preview, arena_printf(p->r->mem, say(p->r, "First page of %s"), p->p->name));
	if (pdf != NULL) {
		begin_link(p, pdf->url);
		html_attr(&p->h, "class", "button");
		html_text(&p->h, say(p->r, "Open the document"));
		html_end(&p->h);
	}
	html_end(&p->h);
}

static bool
is_over(const struct shown *p)
{
	return is(live_of(p)->status, "finishing") || is(live_of(p)->status, "finished");
}

static bool
is_to_come(const struct shown *p)
{
	return live_of(p) != NULL && !is_over(p);
}

/* Of a broadcast: whether it goes on. */
static void
put_live(struct shown *p)
{
	const struct player_live *live = live_of(p);
	const bool shown = live != NULL && page_is_playable(p);

	html_el(&p->h, "p");
	html_attr(&p->h, "id", "live");
	html_attr(&p->h, "role", "status");
	if (!shown)
		html_flag(&p->h, "hidden");
	else if (is(live->status, "live"))
		html_text_el(&p->h, "span", "badge on", say(p->r, "Live"));
	else
		html_text_el(&p->h, "span", "badge", is_over(p) ?
		    say(p->r, "The broadcast is over. The recording follows here.") :
		    say(p->r, "The broadcast is interrupted. It goes on by itself."));
	html_end(&p->h);
}

void
page_stage(struct shown *p)
{
	static const struct state waiting = { "waiting", N_("Still being prepared"),
	    N_("It starts here as soon as it can be played.") };
	static const struct state soon = { "soon", N_("The broadcast has not begun yet"),
	    N_("It starts here as soon as it does.") };
	static const struct state failed = { "error", N_("This could not be prepared"),
	    N_("Whoever put it here finds the reason in its list of jobs.") };

	html_el(&p->h, "section");
	html_attr(&p->h, "class", "stage-place");
	html_attr(&p->h, "id", "stage");
	html_attr(&p->h, "aria-label", say(p->r, "Player"));
	if (!page_is_there(p))
		page_state(p, is(p->p->status, "failed") ? &failed : is_to_come(p) ? &soon : &waiting);
	else if (page_is_playable(p))
		put_video(p);
	else if (is(p->p->type, "image"))
		put_image(p);
	else
		put_document(p);
	html_end(&p->h);
}

const char *
page_type(struct shown *p, const char *type)
{
	return is(type, "video") ? say(p->r, "Video") : is(type, "audio") ? say(p->r, "Sound") :
	    is(type, "image") ? say(p->r, "Picture") : say(p->r, "Document");
}

static const char *
facts_of(struct shown *p)
{
	const struct player_caption *c = p->p->captions.rows;
	const struct form *best = NULL, *f;
	struct buf b = BUF(p->r->mem);
	size_t i;

	for (f = p->forms; f < p->forms + p->n_forms; f++)
		if ((best == NULL || f->width > best->width) && !is(p->p->type, "document"))
			best = f;
	page_part(&b, page_type(p, p->p->type));
	if (p->p->duration.set)
		page_part(&b, page_clock(p, p->p->duration.ms));
	if (best != NULL && best->width > 0 && best->height > 0)
		page_part(&b, arena_printf(p->r->mem, "%" PRId64 " \xc3\x97 %" PRId64, best->width, best->height));
	if (p->p->page_count.set)
		page_part(&b, arena_printf(p->r->mem, say_n(p->r, "%lld page", "%lld pages", p->p->page_count.n),
		    (long long)p->p->page_count.n));
	for (i = 0; i < p->p->captions.n; i++) {
		if (i == 0)
			page_part(&b, say(p->r, "Captions: "));
		else
			buf_text(&b, ", ");
		buf_text(&b, c[i].label != NULL ? c[i].label : c[i].language_code);
	}
	return buf_string(&b);
}

static const char *
download_label(struct shown *p, const struct form *f)
{
	struct buf b = BUF(p->r->mem);

	page_part(&b, is(f->kind, "mp4") ? say(p->r, "Video") : is(f->kind, "audio") ? say(p->r, "Sound") :
	    is(f->kind, "image") ? say(p->r, "Picture") : is(f->kind, "pdf") ? "PDF" : NULL);
	if (is(f->kind, "mp4") && f->height > 0)
		page_part(&b, arena_printf(p->r->mem, "%" PRId64 "p", f->height));
	if (is(f->kind, "image") && f->width > 0)
		page_part(&b, arena_printf(p->r->mem, "%" PRId64 " \xc3\x97 %" PRId64, f->width, f->height));
	if (f->file_size > 0)
		page_part(&b, size_text(p, f->file_size));
	return buf_string(&b);
}

static void
put_downloads(struct shown *p)
{
	const struct form *f;
	bool any = false;

	for (f = p->forms; f < p->forms + p->n_forms; f++)
		any |= is_file(f);
	html_el(&p->h, "details");
	html_attr(&p->h, "class", "downloads");
	html_attr(&p->h, "id", "downloads");
	if (!any)
		html_flag(&p->h, "hidden");
	html_text_el(&p->h, "summary", NULL, say(p->r, "Download"));
	html_el(&p->h, "ul");
	for (f = p->forms; f < p->forms + p->n_forms; f++) {
		if (!is_file(f))
			continue;
		html_el(&p->h, "li");
		html_el(&p->h, "a");
		/* What a bucket gives comes from another origin, where the attribute alone says nothing. */
		html_url(&p->h, "href", arena_printf(p->r->mem, "%s%s", page_local(p, f->url),
		    filename_ask(p->r->mem, p->p->name, f->url)));
		html_flag(&p->h, "download");
		html_text(&p->h, download_label(p, f));
		html_end(&p->h);
		html_end(&p->h);
	}
	html_end(&p->h);
	html_end(&p->h);
}

/* One that does nothing without a script. */
static void
put_button(struct shown *p, const char *id, const char *class, const char *text)
{
	html_el(&p->h, "button");
	html_attr(&p->h, "type", "button");
	html_attr(&p->h, "id", id);
	if (class != NULL)
		html_attr(&p->h, "class", class);
	html_attr(&p->h, "aria-haspopup", "dialog");
	html_flag(&p->h, "hidden");
	html_text(&p->h, text);
	html_end(&p->h);
}

static void
put_places(struct shown *p)
{
	const struct place_link *c;

	html_el(&p->h, "nav");
	html_attr(&p->h, "class", "places");
	html_attr(&p->h, "id", "places");
	html_attr(&p->h, "aria-label", say(p->r, "Channels"));
	if (p->n_places == 0)
		html_flag(&p->h, "hidden");
	for (c = p->places; c < p->places + p->n_places; c++) {
		html_el(&p->h, "a");
		html_url(&p->h, "href", page_link(p, arena_printf(p->r->mem, "/c/%s", uuid_text(p->r->mem, c->id))));
		html_attr(&p->h, "dir", "auto");
		html_text(&p->h, c->name);
		html_end(&p->h);
	}
	html_end(&p->h);
}

void
page_about(struct shown *p)
{
	html_el(&p->h, "section");
	html_attr(&p->h, "class", "about");
	put_live(p);
	html_el(&p->h, "h1");
	html_attr(&p->h, "id", "title");
	html_int(&p->h, "tabindex", -1);
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, p->p->name);
	html_end(&p->h);
	html_el(&p->h, "p");
	html_attr(&p->h, "class", "facts");
	html_attr(&p->h, "id", "facts");
	html_text(&p->h, facts_of(p));
	html_end(&p->h);
	html_el(&p->h, "p");
	html_attr(&p->h, "class", "description");
	html_attr(&p->h, "id", "description");
	html_attr(&p->h, "dir", "auto");
	html_text(&p->h, p->p->description);
	html_end(&p->h);
	if (!p->is_link)
		put_places(p);
	html_el(&p->h, "div");
	html_attr(&p->h, "class", "actions");
	if (!p->is_link) {
		put_button(p, "share", NULL, say(p->r, "Share"));
		put_downloads(p);
	}
	put_button(p, "help-button", "quiet", say(p->r, "Keyboard"));
	html_end(&p->h);
	page_times(p);
	html_end(&p->h);
}
