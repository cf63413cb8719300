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
	int64_t version;
	struct moment created_at, updated_at;

	/* Of what it belongs to; not in lists. */
	struct position duration;
	const char *chapter_type;		/* NULL: it is in no chapter's context */
};
extern const struct record section_record;
#define SECTIONS_WHOLE "FROM sections t JOIN media a ON a.id = t.media_id LEFT JOIN chapters c ON c.id = t.chapter_id WHERE "

/* Faults where it may not lie: behind the end of its asset, or without the members that its type wants. */
void section_check(struct req *, const struct section *, struct position duration);

/* Has the asset room for n more?  Else it is refused. */
bool section_has_room(struct req *, struct uuid media_id, int64_t n);

/* Whatever an entry leads to, it leads to no more. */
void section_unlink(struct req *, struct uuid entry_id);

#endif
