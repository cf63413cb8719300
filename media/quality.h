/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far what an engine has heard can be believed, by the confidences of its words.  Measured with the built-in engine
 * on read speech, meetings, reversed speech, eighteen other languages, music and noise.  A person's words are never
 * judged.
 */
#ifndef MEDIA_QUALITY_H
#define MEDIA_QUALITY_H

#include <stdbool.h>

#include "media/transcript.h"

struct quality {
	/* "good": four words of five are right; "draft": most are; "unreliable": it may be nonsense.  NULL: no word has
	 * a confidence, or there is none */
	const char *grade;
	double confidence;		/* mean of the words that have one; 0: none has */
};

struct quality quality_of(struct arena *, const struct list *paragraphs);

/* Is it more probably wrong than right?  In captions a mark stands in its place. */
bool quality_hides(const struct word *);

/* Do players show it?  "unreliable" only because a person wants it, others unless a person does not. */
bool quality_shows(const struct transcript *);

#endif
