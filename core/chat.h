/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers to questions about what assets say.  A question finds passages, which are its context: those that whoever
 * asks may see when it is asked, or when the job looks for them anew.  The answer refers to them by [n].  The one that
 * is always there quotes the best of them; where a language model is configured, a job puts an answer of its words in
 * that place, if each of its references can be found in the words of the asset.
 */
#ifndef CORE_CHAT_H
#define CORE_CHAT_H

#include "core/db.h"

/* Passages of a context; what a job has not answered by then is answered by quotes, ms. */
enum { CHAT_PASSAGES = 8, CHAT_PATIENCE_MS = 600000 };
#define CHAT_BY_PASSAGES "kinothek passages 1"
#define CHAT_WARNINGS "nothing_found model_unavailable answer_unusable uncited withheld"

struct chat_place { struct position start_time, end_time; struct number page; };
struct chat_part { const char *text; struct nested metadata; const char *ref; };
struct chat_presentation { const char *name, *type; };
struct chat_context { struct uuid media_id; struct list parts; struct nested presentation; };
extern const struct record chat_context_record;

/* The answer that quotes the first passages, three at most. */
const char *chat_quoted(struct arena *, const struct list *context);
/* As it is kept. */
const char *chat_context_json(struct arena *, const struct list *context);

#endif
