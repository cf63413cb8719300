/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Excerpts of what the caller may see that mean about the same as something: the right is part of each statement.  They
 * are compared by their signatures, some hundred assets at a time and the newest first, for as long as a request may
 * take; the nearest of them are judged by their vectors.
 */
#ifndef FCGI_NEAREST_H
#define FCGI_NEAREST_H

#include "core/meaning.h"
#include "fcgi/req.h"

/* Excerpts that are judged. */
enum { NEAREST = 400 };

/* Where they are looked for. */
struct nearest_scope {
	unsigned layers;		/* a bit for each */
	const char *types;		/* of assets, comma-separated; NULL: all */
	struct ids media_ids, channel_ids;	/* in one of them; none: everywhere */
	struct uuid but_id;		/* an asset that is left out */
	const char *but_served;		/* excerpts with vectors of this server are left out; NULL: none */
};

struct nearest_said {
	struct uuid media_id;
	int64_t layer, excerpt;
	struct position start, end;
	struct number page;
	const char *text, *vector, *engine;
	double score;			/* cosine */
};

/* A vector of the built-in engine, or, served, of a server. */
struct nearest_vector { const char *engine; bool served; struct meaning meaning; };

/* Of that engine, the best first.  *exact: was all looked at, and are these all? */
struct nearest_said *nearest_find(struct req *, const struct nearest_vector *, const struct nearest_scope *, size_t *n,
    bool *exact);
/* Of both, where the server has said what is looked for (n is not 0): what it has made vectors of is found by these,
 * and the rest by those of the built-in engine.  In one order, by their places in their own: angles of one engine say
 * nothing of those of another. */
struct nearest_vectors { struct nearest_vector built_in, served; };
struct nearest_said *nearest_by(struct req *, const struct nearest_vectors *, const struct nearest_scope *, size_t *n,
    bool *exact);

/* Of kept parts in hex. */
struct meaning nearest_kept(struct arena *, const char *hex);
/* Ids as FIND_IN_SET(HEX(…)) takes them; NULL: there are none. */
const char *nearest_ids(struct arena *, const struct ids *);

#endif
