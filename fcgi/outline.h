/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The entries of a chapter as a tree.  Whatever changes its shape reads all of it, changes it here, and writes what has
 * come out different, in one statement: so there is one place that keeps the sort numbers of those below one parent
 * from 1 to n without gaps, and no entry below itself.  Who writes holds the row of the asset.
 */
#ifndef FCGI_OUTLINE_H
#define FCGI_OUTLINE_H

#include "fcgi/entry.h"

struct outline_node {
	struct entry entry;			/* parent_id and sort_number: of the row, then by outline_number() */
	int64_t parent;				/* index of its parent; -1: at the top */
	bool is_new, is_touched, is_moving, is_removed;
	bool is_reworded;			/* touched, and its texts are others */
	int64_t wanted, said;			/* of one that moves: its sort number, and which it was of them */
};
struct outline_id { struct uuid id; int64_t at; };
struct outline {
	struct uuid chapter_id;
	struct outline_node *at;
	size_t n;
	struct outline_id *ids;			/* of those that are rows, in order */
	size_t n_ids;
	int64_t said;
};

/* All there are, in no order, with room for `more`. */
struct outline outline_load(struct db *, struct uuid chapter_id, size_t more);

/* The index of a row; -1: there is none of this id. */
int64_t outline_find(const struct outline *, struct uuid id);

/* A new one, which has no place yet.  Its index. */
int64_t outline_add(struct outline *, const struct entry *);

/* Says where one is to be: below which other (-1: at the top), as the how manieth (0: the last).  What is said of
 * several holds for all of them at the end, in whatever order it was said. */
void outline_move(struct outline *, int64_t at, int64_t parent, int64_t wanted);

/* Marks one and all below it as gone.  How many that are. */
size_t outline_remove(struct arena *, struct outline *, int64_t at);

/* Gives all of them the numbers that follow.  -1; or the index of the one said first of those that would be below
 * themselves: then nothing is. */
int64_t outline_number(struct arena *, struct outline *);

/* Bytes of the titles and descriptions that stay. */
size_t outline_texts(const struct outline *);

/* Writes what is new, touched or gone; texts of what has been reworded alone. */
void outline_write(struct req *, const struct outline *);

/* All as they are, struct entry, in the order of the tree: each is followed by those below it. */
struct list outline_list(struct arena *, struct outline *);

#endif
