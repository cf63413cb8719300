/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a page that shows an asset knows of it, and who may open one. */
#ifndef FCGI_PLAYER_H
#define FCGI_PLAYER_H

#include "core/asset.h"
#include "fcgi/req.h"

/* Subtitles that a player offers; source, quality and engine are those of a transcript, or NULL. */
struct player_caption { const char *language_code, *label, *kind, *url, *source, *quality, *engine; };

struct player {
	struct uuid id;
	const char *name, *description, *type, *status, *mime_type;
	int64_t progress;
	bool is_complete;
	struct position duration;
	struct number page_count, poster_width, poster_height;
	const char *playlist_url, *poster_url, *storyboard_url, *storyboard_vtt_url, *waveform_url;
	struct list captions;
	struct json renditions;
};
extern const struct record player_record, player_caption_record;

/* The asset of the path, for who has the token of a signed address; without one (NULL) only what is in a public or
 * shared channel.  NULL: refused with 403, or 404. */
struct player *player_find(struct req *, const char *token);

#endif
