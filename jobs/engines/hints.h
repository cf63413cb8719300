/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an engine may know of a recording before it listens.  All of it is anybody's text: it may make words likelier,
 * and nothing else.
 */
#ifndef JOBS_ENGINES_HINTS_H
#define JOBS_ENGINES_HINTS_H

#include "core/record.h"

struct hints {
	struct strings texts;		/* of the asset, the most telling first: name, tags, description, pages */
	struct strings terms;		/* of the tenant's glossary, those that have to do with the texts first */
};

/* At most: terms handed to an engine; bytes of one text, and of all of them. */
enum { HINTS_TERMS = 2000, HINTS_TEXT = 16 << 10, HINTS_TEXTS = 64 << 10 };

/* Chooses the terms: those that share a word with one of the texts, then others in their order, HINTS_TERMS at most. */
void hints_choose(struct arena *, struct hints *, const struct strings *glossary);

/* One line of at most `max` bytes for engines that take a text to go on from; NULL: there are no hints. */
const char *hints_prompt(struct arena *, const struct hints *, size_t max);

#endif
