/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of the families `diarize` and `voiceprint`: the sound of a recording is handed over, and who speaks
 * when comes back; then that, and how each of them sounds comes back.
 */
#ifndef JOBS_ENGINES_CONVERSATION_H
#define JOBS_ENGINES_CONVERSATION_H

#include "core/speakers.h"
#include "jobs/engines/engine.h"
#include "jobs/engines/voiceprint.h"

/* One who speaks.  print: set by the second; NULL: too little was heard. */
struct told { struct list turns; int64_t speech; const struct voiceprint *print; };

struct conversation {
	struct arena *mem;
	const struct conf *conf;
	int pcm;			/* file of 16 kHz mono s16le, read by pread() */
	int64_t length;			/* ms */

	/* Where somebody speaks, in order: set by engine_tell_apart(). */
	const struct span *spans;
	size_t n_spans;

	void (*progress)(void *user, int percent);
	void *user;

	struct told *voices;		/* out: in the order in which they are first heard */
	size_t n;
	const char *note;		/* out: for the log; NULL: nothing out of the ordinary */
	struct fault fault;		/* out: for failures */
};

/* Looks for speech as engine_hear() does, and hands it to the engine.  Where nobody speaks, there are no voices. */
enum outcome engine_tell_apart(const struct engine *, struct conversation *);

#endif
