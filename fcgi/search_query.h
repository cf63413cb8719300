/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a caller looks for, and which assets have it.  A text is words, "phrases" and -words that must not be there;
 * nothing in it is an error: what has no word in it is passed over, and what is behind the first 16 as well.  The last
 * word may be the beginning of one, unless a blank or a quote follows it.
 */
#ifndef FCGI_SEARCH_QUERY_H
#define FCGI_SEARCH_QUERY_H

#include "core/search.h"
#include "fcgi/req.h"

enum { SEARCH_TERMS = 16, SEARCH_EXACT = 10000 };

/* A word, and what counts as it: the first `exact` of them are it, in both forms of its umlauts. */
struct search_term { struct strings forms; size_t exact; bool is_excluded, is_prefix, is_in_phrase; };
/* Words that follow each other: `n` terms from `first` on. */
struct search_phrase { size_t first, n; };
struct search_query {
	struct search_term terms[SEARCH_TERMS];
	struct search_phrase phrases[SEARCH_TERMS];
	size_t n, n_phrases, wanted;	/* wanted: terms that are not excluded */
	bool has_text;
};
void search_parse(struct arena *, const char *text, struct search_query *);
/* Is the folded word a form of the term?  0: no; 1: it is the word; else less. */
double search_is(const struct search_term *, const char *word);
/* Words that are one letter off (put in, left out, changed, or two that changed places), if it has five or more. */
struct strings search_misspelled(struct arena *, const char *word);

/* What else assets must be like; none: NULL, or not set. */
struct search_limits {
	const char *text, *type;
	struct strings fields, asset_types, tags;
	struct uuid channel_id;
	struct position duration_from, duration_to;
	struct number file_size_from, file_size_to;
	struct moment created_from, created_to;
};

/* Rows of these ids and of these words in a statement; each is one bind. */
#define SEARCH_IDS "JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$')) i"
#define SEARCH_WORDS "JSON_TABLE(?, '$[*]' COLUMNS (word VARCHAR(80) CHARACTER SET utf8mb4 PATH '$')) j"
struct search_hit { struct uuid id; double score; };
const char *search_ids_json(struct arena *, const struct search_hit *, size_t n);
const char *search_words_json(struct arena *, const struct strings *);
/* The assets, the best first, of which the caller sees each.  *exact: are these all? */
struct search_hit *search_match(struct req *, struct search_query *, const struct search_limits *, unsigned layers,
    size_t *n, bool *exact);

#endif
