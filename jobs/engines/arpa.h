/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A language model of pairs of words, made of a few texts: what the built-in engine mixes into its own.  The texts are
 * anybody's; of them come only words of the letters a to z and the apostrophe, in lower case.
 */
#ifndef JOBS_ENGINES_ARPA_H
#define JOBS_ENGINES_ARPA_H

#include "core/buf.h"
#include "core/record.h"

/* More different words are left out, the last ones first; so is what lies behind ARPA_TOKENS words in all. */
enum { ARPA_WORDS = 4000, ARPA_TOKENS = 20000, ARPA_WORD_MAX = 40 };

/* Appends the model in the ARPA form, each text a sentence of its own.  False: there is no word in them, and nothing
 * was appended. */
bool arpa_write(struct buf *, const struct strings *texts);

#endif
