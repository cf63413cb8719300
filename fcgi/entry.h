/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An entry of a chapter as it is kept, and what changes it. */
#ifndef FCGI_ENTRY_H
#define FCGI_ENTRY_H

#include "fcgi/section.h"

enum { ENTRIES_MAX = 10000, ENTRY_TEXTS_MAX = 8 << 20 };	/* of a chapter; bytes: one answer tells all of them */

struct entry {
	struct uuid id, chapter_id;
	const char *title, *description;
	int64_t sort_number;			/* 1 to n among those with the same parent */
	struct uuid parent_id;
	struct nested section;			/* struct section */
	struct uuid section_id;			/* of a body */
	int64_t version;
	struct moment created_at, updated_at;
	const char *chapter_type, *chapter_status;
};
extern const struct record entry_record;

/* All of a chapter in the order of the tree, with their sections: struct entry. */
struct list entries_of(struct req *, struct uuid chapter_id);

/* What is to become of an entry: members of a body, and which of them it had. */
struct entry_change {
	struct uuid id;
	const char *title, *description;
	int64_t sort_number;
	struct uuid parent_id, section_id;
	int64_t given;				/* record_bit()s of entry_change_record */
};
extern const struct record entry_change_record;

struct outline;
/*
 * Changes entries of a chapter, all or none: `at` has their indexes in the outline, and `pointers` the JSON pointers of
 * the objects that said so.  False: it is refused, and nothing is written.
 */
bool entries_change(struct req *, struct outline *, const struct entry_change *, const int64_t *at,
    const char *const *pointers, size_t n);

#endif
