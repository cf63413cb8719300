/* SPDX-License-Identifier: GPL-3.0-or-later */
/* English made of a transcript, where the engine that listens makes none: a gist, by a machine. */
#ifndef JOBS_TRANSLATED_H
#define JOBS_TRANSLATED_H

#include "jobs/engines/translation.h"

struct translated {
	struct list from;		/* struct paragraph, in that language */
	const char *language;
	const char *engine;		/* name and version */
	struct list paragraphs;		/* out: in English; times of words are those of their place in a sentence */
	struct fault fault;		/* out: for failures */
};

/* The transcript that is translated: in the language that is spoken, or another one that the engine knows.  False:
 * there is none, or no engine. */
bool translated_find(struct job *, struct translated *);
enum outcome translated_make(struct job *, struct translated *);

#endif
