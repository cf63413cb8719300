/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chapter, as what lies below it knows it. */
#ifndef FCGI_CHAPTER_H
#define FCGI_CHAPTER_H

#include "fcgi/req.h"

enum { CHAPTERS_MAX = 100 };			/* of an asset */

/* r->object on routes to what lies below a chapter. */
struct chapter_head { struct uuid id; const char *type; int64_t version; };

/* Is the chapter of this type (NULL: none) one that only jobs change?  Then it is refused: with 422, or with 403 where
 * the route has that among its codes. */
bool chapter_is_closed(struct req *, const char *type);

/* A chapter is of another version when its entries or their sections have changed. */
void chapter_touched(struct req *, struct uuid chapter_id);
/* The same with its event, for the asset that the path begins with. */
void chapter_changed(struct req *, struct uuid chapter_id);

#endif
