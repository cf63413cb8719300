/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a caller looks for, and which assets have it.  A text is words, "phrases" and -words that must not be there;
 * nothing in it is an error: what has no word in it is passed over, and what is behind the first 16 as well.  The last
 * word may be the beginning of one, unless a blank or a quote follows it.
 */
#ifndef FCGI_SEARCH_QUERY_H
#define FCGI_SEARCH_QUERY_H

#include "core/search.h"
#include "fcgi/asset_view.h"
#include "fcgi/req.h"

enum { SEARCH_TERMS = 16, SEARCH_EXACT = 10000, SEARCH_SPEAKERS = 10 };

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

/* What is looked for, and what else assets must be like; none: NULL, or not set. */
struct search_limits {
	const char *text, *type;
	struct strings fields, asset_types, tags, speakers;
	struct uuid channel_id;
	struct position duration_from, duration_to;
	struct number file_size_from, file_size_to;
	struct moment created_from, created_to;
};

/* The table of its fields, as parameters (QUERY) or members of a body (CREATE).  What names no layer and no type there,
 * or a channel that the caller does not see, is a fault at that member, before which `at` stands: "" or "/query/". */
#define SEARCH_ASSET_TYPES "video audio image document"
#define SEARCH_LAYER_BAR(id, number, name, derived, weight, word, sql) "|" name
#define SEARCH_LIMITS(with) \
	FIELD(struct search_limits, text, .on = with, .max = 10000, \
	    .doc = \
		"Words that all have to be there, \"phrases\", and -words that must not; the last word may be the beginning " \
		"of one. ä is found by a and ae, ß by ss. Words of five letters or more may have one wrong letter where " \
		"nothing has them as they are. Left out: whatever the other parameters let through"), \
	FIELD(struct search_limits, type, .on = with, .one_of = "all mediaasset channel", .preset = "\"all\"", \
	    .doc = "What is looked for"), \
	FIELD(struct search_limits, fields, .on = with, .max = 20, .known = &(SEARCH_LAYERS(SEARCH_LAYER_BAR))[1], \
	    .doc = \
		"Where the words are looked for; without it everywhere. Nothing is found where no engine of the installation " \
		"tells anything: objects and actions"), \
	FIELD(struct search_limits, asset_types, .on = with, .max = 10, .known = "video|audio|image|document", \
	    .doc = "Only assets of these types"), \
	FIELD(struct search_limits, channel_id, .on = with, .doc = "Only assets in this channel"), \
	FIELD(struct search_limits, tags, .on = with, .max = 10, .doc = "Only assets that have all of these tags"), \
	FIELD(struct search_limits, speakers, .on = with, .max = SEARCH_SPEAKERS, \
	    .doc = \
		"Only assets in which all of these are heard, by their names; for those who may read metadata. A name with a " \
		"comma is found as a phrase in the field speakers"), \
	FIELD(struct search_limits, duration_from, .on = with, .doc = "Seconds that an asset lasts at least"), \
	FIELD(struct search_limits, duration_to, .on = with, .doc = "Seconds that an asset lasts at most"), \
	FIELD(struct search_limits, file_size_from, .on = with, .doc = "Bytes of the original at least"), \
	FIELD(struct search_limits, file_size_to, .on = with, .doc = "Bytes of the original at most"), \
	FIELD(struct search_limits, created_from, .on = with, .doc = "Made then or later"), \
	FIELD(struct search_limits, created_to, .on = with, .doc = "Made then or before"),
void search_check(struct req *, const char *at, const struct search_limits *);

/* Rows of these ids and of these words in a statement; each is one bind. */
#define SEARCH_IDS "JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$')) i"
#define SEARCH_WORDS "JSON_TABLE(?, '$[*]' COLUMNS (word VARCHAR(80) CHARACTER SET utf8mb4 PATH '$')) j"
struct search_hit { struct uuid id; double score; };
const char *search_ids_json(struct arena *, const struct search_hit *, size_t n);
const char *search_words_json(struct arena *, const struct strings *);
/* "a,b", as FIND_IN_SET() takes them; NULL: there are none. */
const char *search_commas(struct arena *, const struct strings *);
/* What the layer of that number is called; NULL: there is none. */
const char *search_layer_name(int64_t number);
/* The layers where the words are looked for: a bit for each.  What is derived is for those who may read it. */
unsigned search_layers_of(struct req *, const struct search_limits *);
/* The assets, the best first, of which the caller sees each.  *exact: are these all?  A filter that is
 * wrong is a fault of r->page. */
struct search_hit *search_match(struct req *, struct search_query *, const struct search_limits *, unsigned layers,
    size_t *n, bool *exact);

#endif
