/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the pages that show an asset: page_head.c, page_asset.c; pages.c puts them together. */
#ifndef FCGI_PAGE_H
#define FCGI_PAGE_H

#include "core/html.h"
#include "fcgi/player.h"

struct watch_query { const char *t; };		/* token of a signed address, or NULL */

/* What can be shown or fetched, as in player.renditions. */
struct form { const char *kind, *mime_type, *url; int64_t width, height, file_size; };

struct shown {
	struct html h;
	struct req *r;
	const struct player *p;			/* NULL: a refusal */
	const struct form *forms;
	size_t n_forms;
	bool embed;
};

/* A sentence in place of the picture: kind "error" or "waiting". */
struct state { const char *kind, *title, *text; };

/* Can it be played; can anything be seen of it?  As soon as one form is there, while others are still being made. */
bool page_is_playable(const struct shown *);
bool page_is_there(const struct shown *);

/* The address of a file of this release: "/web/r-0123456789ab/watch.js". */
const char *page_file(struct shown *, const char *name);
/* The address without a host: files work under whatever name the page was reached by. */
const char *page_local(struct shown *, const char *url);
void page_head(struct shown *, const char *title);

/* The player, the picture, the document, or a sentence; the one of `refused` unless that is NULL. */
void page_stage(struct shown *, const struct state *refused);
/* Title, facts, description, downloads. */
void page_about(struct shown *);

#endif
