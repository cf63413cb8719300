/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A story as it is kept, for what answers about it and for its page. */
#ifndef FCGI_STORY_H
#define FCGI_STORY_H

#include "fcgi/req.h"

/* What may follow a scene; label: NULL in a static story. */
struct choice { const char *label, *scene_id; };

struct scene {
	const char *id, *title;			/* id: what choices call it; title: NULL for that of the asset */
	struct uuid media_id, section_id;
	struct position start, end;		/* of a story that is kept both are set */
	struct list choices;			/* struct choice */
	bool is_missing;
};

struct story {
	struct uuid id;
	const char *name, *description, *kind;	/* "static" or "interactive" */
	struct list scenes;			/* struct scene */
	const char *start_scene_id;
	struct moment created_at, updated_at;
	int64_t version;
	struct uuid tenant_id, principal_id;
};

/* With the scenes of assets that anybody may watch, as those who see these and no others are answered; those of a
 * static story in the order in which they play.  NULL: there is no such story, or none of its assets is open. */
struct story *story_open(struct req *, struct uuid id);

#endif
