/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Agendas as OParl servers send them (versions 1.0 and 1.1, https://oparl.org/spezifikation): a Meeting with its items,
 * or pages of items.  They are read leniently, since hardly any server keeps to the letter: what is of another type
 * counts as absent, one object stands for an array of it, and control characters, a BOM and Latin-1 are taken.
 */
#ifndef CORE_AGENDA_H
#define CORE_AGENDA_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/text.h"

enum { AGENDA_MAX = 10000 };			/* items */

struct agenda_item {
	const char *id;				/* its address, or NULL */
	const char *number, *name;		/* one line each; one of them may be "" */
	struct moment start, end;		/* 0: not said, or without a time zone */
	int64_t order;				/* -1: none */
	int64_t parent;				/* index of the item that it stands below, an earlier one; -1: none */
};

/* Begins as zeros. */
struct agenda {
	const char *name;			/* of the meeting; NULL: not known */
	struct moment start, end;		/* of the meeting; 0: not known */
	const char *location, *organization;	/* one line; the address of who meets; NULL: not known */
	bool may_be_empty;			/* given: a meeting without items is one, too */
	struct agenda_item *at;
	size_t n, room;
	const char *meeting;			/* what the items say that they are of */
	bool followed;				/* from an item or a list to its meeting, which is done once */
};

/*
 * Adds what a document says; in the arena.  NULL: it was taken, and *next is the address of the document that is to
 * come, or NULL: that was all.  Else a sentence about what is wrong with it.
 */
const char *agenda_take(struct arena *, struct agenda *, const char *text, size_t n, const char **next);

/* The name of whatever a document describes, one line; NULL: it has none. */
const char *agenda_name(struct arena *, const char *text, size_t n);

/*
 * Puts the items in their order, by `order` where each has one, and finds their parents by their numbers: of the items
 * before it, the last whose number is the longest beginning of its own, part by part (5.1 under 5, 5.11 not under 5.1).
 * Part of an agenda that is not public ("N 3") has numbers of its own.  What has no number stands where both of its
 * neighbours do, or else at the top.
 */
void agenda_order(struct arena *, struct agenda *);

#endif
