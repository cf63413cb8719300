/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How common words are in English, by the language model that comes with the built-in speech engine. */
#ifndef MEDIA_FREQUENCY_H
#define MEDIA_FREQUENCY_H

#include <stddef.h>

#include "core/arena.h"

struct frequency;

/* The words of a trie model of sphinxbase ({model}.lm.bin); only its first and its last pages are read.  NULL: it is
 * not there, or is no such file. */
struct frequency *frequency_open(struct arena *, const char *path);
size_t frequency_words(const struct frequency *);
/* The logarithm (base 10) of the probability of a word in lower case; 0: it is not among them. */
double frequency_of(const struct frequency *, const char *word);

#endif
