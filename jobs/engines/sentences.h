/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface of the family `punctuate`: words are handed over, and what stands behind each comes back. */
#ifndef JOBS_ENGINES_SENTENCES_H
#define JOBS_ENGINES_SENTENCES_H

#include "jobs/engines/engine.h"

struct sentences {
	struct arena *mem;
	const struct conf *conf;
	int words;			/* file with a word in each line of less than SPEECH_WORD_MAX bytes */
	size_t n;			/* of them */

	char *marks;			/* out: behind each word, '.', '?' or ',', or ' ' for nothing */
	struct fault fault;		/* out: for failures */
};

#endif
