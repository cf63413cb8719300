/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How English words are said that stand in no dictionary, by the rules of flite. */
#ifndef JOBS_ENGINES_PRONOUNCE_H
#define JOBS_ENGINES_PRONOUNCE_H

#include "core/arena.h"

/* The phones of a word of a to z and the apostrophe, as the CMU dictionary writes them, or NULL. */
const char *pronounce(struct arena *, const char *word);

#endif
