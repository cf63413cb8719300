/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a page that shows an asset knows of it, and who may open one. */
#ifndef FCGI_PLAYER_H
#define FCGI_PLAYER_H

#include "core/asset.h"
#include "fcgi/req.h"

/* Subtitles that a player offers; source, quality and engine are those of a transcript, or NULL. */
struct player_caption { const char *language_code, *label, *kind, *url, *source, *quality, *engine; };

/* A line of the table of contents that leads somewhere. */
struct player_chapter { const char *title; struct position start; };

struct player {
	struct uuid id;
	const char *name, *description, *type, *status, *mime_type;
	int64_t progress;
	bool is_complete;
	struct position duration;
	struct moment created_at;
	struct number page_count, poster_width, poster_height;
	const char *playlist_url, *poster_url, *storyboard_url, *storyboard_vtt_url, *waveform_url;
	struct list captions, chapters;
	struct json renditions;
};
extern const struct record player_record, player_caption_record;

/* The asset of the path, for who has the token of a signed address; without one (NULL) only what is in a public or
 * shared channel.  NULL: refused with 403, or 404. */
struct player *player_find(struct req *, const char *token);
/* An asset that somebody else has decided about; NULL: it is not there. */
struct player *player_of(struct req *, struct uuid media_id);

#endif
