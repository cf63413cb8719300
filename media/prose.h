/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an asset has in words, from what is said, from slides, pictures and pages, as one row of words and sentences, of
 * which each knows its place and how sure it is.  Words that are likely to be wrong are not among them.
 */
#ifndef MEDIA_PROSE_H
#define MEDIA_PROSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/record.h"

/* Words that are taken of an asset; what follows is left out. */
enum { PROSE_MAX = 300000 };

/* ms, or a page from 1 on; start -1: the whole of a picture. */
struct place { int64_t start, end, page; };

/* A word as it is compared, once for all places where it is. */
struct vocable {
	const char *folded;
	const char *text;		/* as it is written where it comes first */
	size_t stem;			/* the first vocable that is a form of the same word */
	bool common;			/* it says nothing of what the text is about */
};

struct token {
	const char *text;		/* as it is written, without the punctuation on it */
	size_t vocable, sentence;
	double confidence;		/* 0 to 1 */
	struct place place;
	/* no phrase goes over its beginning: punctuation, a line, a pause, a word that was left out */
	bool begins;
};

/* Of what is said without punctuation, and read without any: what is said without a pause. */
struct sentence {
	const char *text;
	const char *reading;		/* as people read it; of what is written the same */
	size_t from, to;		/* its tokens */
	struct place place;
	double confidence;		/* mean of its words, those left out, too */
	bool is_line;			/* of a slide or a picture */
};

struct prose {
	struct arena *mem;
	const char *language;		/* by its tag; NULL: not known */
	bool has_case;			/* it tells names from other words */
	bool cut;			/* there was more than PROSE_MAX */
	struct token *tokens;
	struct vocable *vocables;
	struct sentence *sentences;
	size_t n, n_vocables, n_sentences;
};

struct prose_reader;
struct prose_reader *prose_begin(struct arena *);
/* What is said: struct paragraph.  `confidence`: of words whose engine gave none. */
void prose_say(struct prose_reader *, const struct list *paragraphs, double confidence);
/* What is written, valid UTF-8; a line: what stands on a slide. */
void prose_show(struct prose_reader *, const char *text, struct place, double confidence, bool line);
/* The whole; a language that is NULL is told from its words. */
struct prose *prose_end(struct prose_reader *, const char *language);

/* Appends {"start":1.000,"end":2.500}, {"page":3}, or {} of a picture. */
void prose_place(struct buf *, const struct place *);

/* Does it begin with a capital letter? */
bool prose_is_capital(const struct token *);

#endif
