/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech in the jail: what it finds and hears, line by line, checked like any input. */
#ifndef JOBS_ENGINES_WORKER_H
#define JOBS_ENGINES_WORKER_H

#include "core/jail.h"
#include "jobs/engines/conversation.h"

/* How it is to be run for an engine. */
struct worker {
	const char *const *args;	/* before the spans; ends in NULL */
	const char *const *read;	/* see struct jail */
	int64_t memory;			/* see speech_memory() */
	int cpu_factor;			/* seconds that a second of sound may take */
	int idle_seconds;		/* without a word, until it is ended; 0: 300 */
	bool align;			/* its words are not those of the text, or none: see transcript_align() */
	/* Says more, in the hearing's fault, about an end that is the program's own; or NULL. */
	void (*explain)(struct hearing *, const struct jail_result *);
};

/* Hears all spans of the hearing. */
enum outcome worker_hear(struct hearing *, const struct worker *);

/* Tells the voices of the conversation apart, all spans in one run: they are to be compared.  Of more than 20,000 the
 * rest has no voice. */
enum outcome worker_tell_apart(struct conversation *, const struct worker *);

/* How the voices of the conversation sound: sets their prints. */
enum outcome worker_print(struct conversation *, const struct worker *);

/* Looks for speech by the library in this directory; times as Silero VAD gives them.  False with the hearing's
 * fault. */
bool worker_find(struct hearing *, const char *dir, struct span **, size_t *n);

#endif
