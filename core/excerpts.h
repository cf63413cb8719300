/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Excerpts of what assets say, about a paragraph each, with the vectors of what they mean (core/meaning.h).  They are
 * made of the passages of the search (core/search.h) by the job `embed`, which the job `index` adds behind itself, and
 * nobody else writes them.  Who may see them is asked of the asset when somebody searches.
 *
 * Beside the vector of the built-in engine an excerpt has one of the server of engine.embed, once it was asked: a text
 * that is another one loses it, and until it has one again the built-in one finds it.
 *
 * A layer is made anew when its texts are others, or the engine is another one.  Of two that make the same asset the
 * later one wins: it takes the next number of excerpt_runs before it reads anything, and the earlier one, which finds
 * another number than its own, writes nothing more.
 */
#ifndef CORE_EXCERPTS_H
#define CORE_EXCERPTS_H

#include "core/db.h"
#include "core/meaning.h"

/* Those that have excerpts: words alone, as tags and names of speakers are, mean too little. */
#define EXCERPT_LAYERS(L) L(SEARCH_NAME) L(SEARCH_DESCRIPTION) L(SEARCH_TRANSCRIPT) L(SEARCH_DOCUMENT_CONTENT) \
	L(SEARCH_VIDEO_TEXT) L(SEARCH_IMAGE_TEXT)

/* Of a layer; what is behind them is not found by what it means.  Bytes of one, more or less. */
enum { EXCERPTS_MAX = 3000, EXCERPT_BYTES = 1000, EXCERPTS_AT_ONCE = 50, EXCERPTS_SERVED = 32 };

struct excerpt_text { const char *text; struct position start, end; int64_t page; };
struct excerpt_layer {
	int layer;
	const char *digest;		/* of its texts */
	const struct excerpt_text *at;
	size_t n;
	bool is_cut;			/* there were more than EXCERPTS_MAX */
};

/* What makes the vectors: the built-in engine, and a server; NULL: there is none. */
struct excerpt_engines { const char *built_in, *served; };

/* Adds the job, in the caller's transaction, unless one waits, or all is made of the texts as they are and by these
 * engines. */
void excerpts_follow(struct db *, struct uuid media_id, struct excerpt_engines);
/* All are made anew, of the texts as they are; those that are there stay until then.  In the caller's transaction. */
void excerpts_again(struct db *, struct uuid media_id);
/* A new run, for the calls below.  0: the asset is gone. */
int64_t excerpts_begin(struct db *, struct uuid media_id);
/* The first layer behind `after` (0: all) that is not made of its texts by this engine; made in `mem`.  NULL: none. */
const struct excerpt_layer *excerpts_next(struct db *, struct arena *mem, struct uuid media_id, const char *engine,
    int after);
/* n of its excerpts from `from` on, with what they mean.  False: another run has begun, and nothing is written. */
bool excerpts_put(struct db *, struct uuid media_id, int64_t run, const char *engine, const struct excerpt_layer *,
    size_t from, const struct meaning *, size_t n);
/* The layer has these excerpts and no others.  False as above. */
bool excerpts_end(struct db *, struct uuid media_id, int64_t run, const char *engine, const struct excerpt_layer *);

/* Some excerpts that have no vector of the server yet, made in `mem`.  n is 0: all have one. */
struct excerpt_unserved { const char *text; int64_t layer, excerpt; };
const struct excerpt_unserved *excerpts_unserved(struct db *, struct arena *mem, struct uuid media_id,
    const char *served, size_t *n);
/* Their vectors.  False as above. */
bool excerpts_serve(struct db *, struct uuid media_id, int64_t run, const char *served, const struct excerpt_unserved *,
    const struct meaning *, size_t n);
/* All have them.  False as above. */
bool excerpts_served(struct db *, struct uuid media_id, int64_t run, const char *served);

#endif
