/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A section as it is kept, for those who answer about it, its chapter and the entry that leads to it. */
#ifndef FCGI_SECTION_H
#define FCGI_SECTION_H

#include "fcgi/req.h"

enum { SECTIONS_MAX = 10000 };			/* of an asset */

struct section {
	struct uuid id, media_id, chapter_id, entry_id;
	const char *type;			/* "marker" or "timerange" */
	struct position time, start, end;
	struct position position;		/* time or start */
	const char *title, *description;
	struct nested thumbnail;		/* struct thumbnail: section_view() */
	int64_t version, revision;
	struct moment created_at, updated_at;

	/* What a client has set, and what a job has made. */
	const char *custom_thumbnail_file, *custom_thumbnail_type;
	struct number custom_thumbnail_width, custom_thumbnail_height;
	int64_t custom_thumbnail_size;
	const char *thumbnail_file;
	struct number thumbnail_width, thumbnail_height, thumbnail_at;

	/* Of what it belongs to; not in lists. */
	struct position duration;
	const char *chapter_type;		/* NULL: it is in no chapter's context */
};
extern const struct record section_record;
#define SECTIONS_WHOLE "FROM sections t JOIN media a ON a.id = t.media_id LEFT JOIN chapters c ON c.id = t.chapter_id WHERE "

/* The event of a change, and another version of its chapter. */
void section_told(struct req *, const char *type, const struct section *);

/* Gives sections of the asset their thumbnails, as they are told by themselves. */
void section_view(struct req *, struct uuid media_id, struct section *, size_t n);

/* Pictures of clients that were those of sections which are gone or have others now: their files go unless another
 * section has them.  In the transaction of the change, behind it.  Returns their bytes, for usage_add(). */
int64_t section_pictures_gone(struct req *, struct uuid media_id, const struct section *, size_t n);

/* Faults where it may not lie: behind the end of its asset, or without the members that its type wants. */
void section_check(struct req *, const struct section *, struct position duration);

/* Has the asset room for n more?  Else it is refused. */
bool section_has_room(struct req *, struct uuid media_id, int64_t n);

/* Whatever an entry leads to, it leads to no more: the entry is of another version. */
void section_unlink(struct req *, struct uuid entry_id);

#endif
