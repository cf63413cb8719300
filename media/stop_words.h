/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that say nothing of what a text is about: articles, pronouns, verbs that help; and which language has them. */
#ifndef MEDIA_STOP_WORDS_H
#define MEDIA_STOP_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"

/* Of all languages that there are any of, folded as core/fold.h does, made once for an arena. */
struct stop_words;
struct stop_words *stop_words_new(struct arena *);

/* The place of a language among them, by its tag ("de", "de-AT"); -1: it has none. */
int stop_words_of(const char *tag);
/* The tag of a place; NULL behind the last. */
const char *stop_words_language(int place);
/* Is it one?  For a folded word. */
bool stop_words_has(const struct stop_words *, int place, const char *folded);

#endif
