/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface of the family `translate`: sentences are handed over, and come back in English. */
#ifndef JOBS_ENGINES_TRANSLATION_H
#define JOBS_ENGINES_TRANSLATION_H

#include "jobs/engines/engine.h"

struct translation {
	struct arena *mem;
	const struct conf *conf;
	const char *language;		/* of the sentences, BCP 47 */
	const char *const *sentences;	/* each in one line */
	size_t n;
	const char *work_dir;

	const char **english;		/* out: as many, "": nothing is left of it */
	struct fault fault;		/* out: for failures */
};

#endif
