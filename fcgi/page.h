/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of pages: page_frame.c has what all share, page_head.c, page_asset.c and page_times.c what shows an asset;
 * pages.c and portal.c put them together.  Whatever they say goes through say(), but names that people gave.
 */
#ifndef FCGI_PAGE_H
#define FCGI_PAGE_H

#include "core/html.h"
#include "fcgi/player.h"
#include "fcgi/say.h"
#include "fcgi/theme.h"

/* Token of a signed address, or NULL; the channel in whose context it is shown, in text. */
struct watch_query { const char *t, *channel_id; };

/* Of a channel t and its tenant n: it is listed on the portal; it has a page, for who knows its address at least.  A
 * public one has it while the portal is there. */
#define PAGE_LISTED_SQL "(t.visibility = 'public' AND n.portal_enabled = 1)"
#define PAGE_OPEN_SQL "(t.visibility = 'shared' OR " PAGE_LISTED_SQL ")"

/* A channel that a page of an asset leads to. */
struct place_link { struct uuid id; const char *name, *visibility; };

/* What can be shown or fetched, as in player.renditions. */
struct form { const char *kind, *mime_type, *url; int64_t width, height, file_size; };

struct state;
struct agenda;
struct shown {
	struct html h;
	struct req *r;
	const char *kind;		/* data-page, which the styles know: watch, embed, portal, channel */
	const char *title;
	const char *entry;		/* its module: "watch.js" */
	struct look look;		/* its designs */
	const char *query;		/* what the same page in another language keeps, "&a=b"; NULL: all */
	const char *path;		/* of its lasting address: "/watch/…"; NULL: it has none that others may know */
	bool is_public;			/* search engines may show it */
	bool is_link;			/* of a share: the asset alone, and nothing that leads elsewhere */
	bool has_form;			/* which it sends to us */
	void (*head)(struct shown *);	/* what its head holds beside that of all pages; NULL: nothing */
	void (*content)(struct shown *);	/* NULL: a page that is written otherwise */
	const void *data;		/* for these two */

	const struct state *refused;	/* a refusal: there is nothing but this */
	const struct player *p;		/* of an asset */
	const struct form *forms;
	size_t n_forms;
	const struct place_link *places;
	size_t n_places;
	const struct agenda *agenda;		/* these three by page_find_times() */
	struct list clips, comments;
};

/* A sentence in place of the picture: kind "error" or "waiting"; texts for say(). */
struct state { const char *kind, *title, *text; };

/* The whole page, its policy and its ETag. */
int page_send(struct shown *, int status);
/* Its parts, for pages that have a policy of their own. */
void page_head(struct shown *);
/* Whose page it is, its languages, and the button for its colours. */
void page_top(struct shown *);
/* Behind everything that is to be seen, so that pictures and styles come before it. */
void page_scripts(struct shown *);

/* The address of a file of this release: "/web/r-0123456789ab/watch.js". */
const char *page_file(struct shown *, const char *name);
/* The address without a host: files work under whatever name the page was reached by. */
const char *page_local(struct shown *, const char *url);
/* A path of ours, with the language that was chosen. */
const char *page_link(struct shown *, const char *path);
/* The same as a whole address. */
const char *page_address(struct shown *, const char *path);
/* Lines of the head; nothing of NULL. */
void page_meta(struct shown *, const char *name, const char *content);
void page_graph(struct shown *, const char *property, const char *content);
bool page_is_embed(const struct shown *);

/* "83:00" of ms; parts in a row with dots between them, "Video · 2:03". */
const char *page_clock(struct shown *, int64_t ms);

/* The same of a place in a recording: as the player's clock shows it there, which tells what is over of a second. */
const char *page_moment(struct shown *, int64_t ms);
const char *page_type(struct shown *, const char *type);
void page_part(struct buf *, const char *part);

/* Begins the picture of something that a page lists as the how manieth, from 0: a div, where more may stand.  Without a
 * thumbnail a sign tells its type; of NULL nothing. */
void page_picture(struct shown *, const struct thumbnail *, const char *type, size_t place);

/* Can it be played; can anything be seen of it?  As soon as one form is there, while others are still being made. */
bool page_is_playable(const struct shown *);
bool page_is_there(const struct shown *);
/* Makes it the page of an asset. */
void page_asset(struct shown *, const struct player *);
/* .head of pages of an asset: what others may say of it. */
void page_asset_head(struct shown *);
/* The player, the picture, the document, or a sentence. */
void page_stage(struct shown *);
/* A sentence instead; on a page of its own it is the heading, too. */
void page_state(struct shown *, const struct state *);
/* Title, facts, description, downloads. */
void page_about(struct shown *);

/* Reads what people made of its time: the agenda of its newest meeting, its clips, and its comments where the tenant
 * shows them.  Not for what a link or another page shows, which is the asset alone. */
void page_find_times(struct shown *);
/* "#t=12.000,20.500": a stretch of what a page plays (Media Fragments URI); its end is left out where it is not set. */
const char *page_fragment(struct shown *, struct position start, struct position end);
/* Chapters, clips, comments; and, beside all this, the agenda. */
void page_times(struct shown *);
void page_agenda(struct shown *);

#endif
