/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passages that answer a question, of what the caller may see at this moment: by their words (BM25), and by what they
 * mean. */
#ifndef FCGI_PASSAGES_H
#define FCGI_PASSAGES_H

#include "fcgi/nearest.h"

/* Where they are looked for; what is empty is no limit. */
struct passages_scope { struct ids media_ids, channel_ids; struct strings speakers, asset_types; };

/* The best first, each with its number as .ref, by asset: struct chat_context.  `served` is what the question means
 * by the server of engine.embed; NULL: it does not say. */
struct list passages_find(struct req *, const char *question, const struct nearest_vector *served,
    const struct passages_scope *);

#endif
