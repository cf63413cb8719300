/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chapter, as what lies below it knows it. */
#ifndef FCGI_CHAPTER_H
#define FCGI_CHAPTER_H

#include "fcgi/req.h"

enum { CHAPTERS_MAX = 100 };			/* of an asset */

struct chapter {
	struct uuid id, media_id;
	const char *type, *name, *description, *status, *quality, *error;
	struct list entries;			/* struct entry */
	int64_t version;
	struct moment created_at, updated_at;
};
extern const struct record chapter_record;

/* Has the asset room for one more?  Else it is refused. */
bool chapter_has_room(struct req *);
/* Makes one of people, with its name and description, of the asset that the path begins with.  It is ready; its status
 * in the answer is the one given, if there is one. */
void chapter_insert(struct req *, struct chapter *);

/* r->object on routes to what lies below a chapter. */
struct chapter_head { struct uuid id; const char *type, *status; int64_t version; };

/* Is the chapter of this type (NULL: none) one that only jobs change?  Then it is refused: with 422, or with 403 where
 * the route has that among its codes. */
bool chapter_is_closed(struct req *, const char *type);
/* The same, also while an import fills it: that would write over what is changed. */
bool chapter_is_busy(struct req *, const char *type, const char *status);

/* A chapter is of another version when its entries or their sections have changed. */
void chapter_touched(struct req *, struct uuid chapter_id);
/* The same with its event, for the asset that the path begins with. */
void chapter_changed(struct req *, struct uuid chapter_id);

#endif
