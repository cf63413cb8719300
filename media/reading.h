/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Case and punctuation for reading, where an engine gives none: how each word is to be read stands beside the word,
 * which stays as it was heard.  By rules and what is known beforehand, so that the same words are always read alike.
 */
#ifndef MEDIA_READING_H
#define MEDIA_READING_H

#include "media/frequency.h"
#include "media/transcript.h"

/* Does it look as if nobody had put in any: no mark at the end of a word, and letters of one case? */
bool reading_is_plain(const struct list *paragraphs);

struct reading_hints {
	const char *language;		/* BCP 47 tag */
	/* How much likelier a sentence ends behind each word but the last than not, by the words alone, as a natural
	 * logarithm; NULL: nobody knows, and the pauses decide */
	const double *ends;
	/* What stands behind each word by a model, '.', '?' or ',', or ' ' for nothing; NULL: rules decide */
	const char *marks;
	struct strings texts, terms;	/* about the recording, as people write; of a glossary */
	const struct frequency *common;	/* NULL: it is not known which words are common */
};

/* All words of the paragraphs in order, for whoever tells the ends. */
struct word **reading_words(struct arena *, const struct list *paragraphs, size_t *n);

/* Sets .reading where a word is not read as it was heard. */
void reading_restore(struct arena *, const struct list *paragraphs, const struct reading_hints *);

#endif
