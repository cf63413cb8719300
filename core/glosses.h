/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What English words mean, in numbers: words that stand in the same explanations of WordNet have vectors of one
 * direction.  core/glosses_make.c computes them when the programs are built, and they are part of the programs.  Where
 * WordNet was not there then, the table is empty: no word is known.
 *
 * The table, in the order of the machine's bytes: struct glosses_head, then its words (struct gloss, by their stems),
 * then `dimension` bytes for each of them in the same order, the parts of its vector in units of its scale.
 */
#ifndef CORE_GLOSSES_H
#define CORE_GLOSSES_H

#include <stddef.h>
#include <stdint.h>

enum { GLOSSES_MAGIC = 0x31736c67, GLOSS_STEM = 24 };
struct glosses_head { uint32_t magic, words, dimension, texts; };
/* weight: the fewer texts have the word, the more it says, ln(texts / those that have it).  scale: the vector has
 * length 1. */
struct gloss { char stem[GLOSS_STEM]; float weight, scale; };

/* NULL: it is none that is known. */
const struct gloss *gloss_of(const char *stem);
const int8_t *gloss_vector(const struct gloss *);
/* 0: nothing is known. */
size_t glosses_dimension(void);
/* Of a word that is not known: that of one that a single text has. */
float glosses_rarest(void);
/* 16 hexadecimal digits that are others when the table is another; "none" of an empty one. */
const char *glosses_name(void);

#endif
