/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words and phrases that tell a text from others: those that come more often in it than elsewhere.  A phrase has up
 * to three words, and comes twice at least; forms of the same word count as one, and the commonest of them is shown.
 */
#ifndef MEDIA_KEYWORDS_H
#define MEDIA_KEYWORDS_H

#include "media/prose.h"

enum { KEYWORDS_MAX = 20, KEYWORD_INSTANCES = 200 };

struct keyword {
	const char *name;
	double score;			/* 0 to 1: the best of the text has 1 */
	double confidence;		/* mean of its words where they are */
	size_t count;			/* how often it comes */
	const struct place *instances;	/* the first of them, in order */
	size_t n;
};

/* How often each stem of the prose comes, by its number; common words do not count. */
size_t *keywords_counts(const struct prose *);
/* `weights`: by the number of the stem.  The best first. */
struct keyword *keywords_find(const struct prose *, const double *weights, size_t *n);
/* {"items":[…]} */
const char *keywords_json(struct arena *, const struct keyword *, size_t n);

#endif
