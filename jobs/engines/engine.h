/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A speech engine: one file, one `const struct engine engine_<name>`, one line in ENGINES.  The setting
 * engine.transcribe chooses.  An engine listens to samples and gives segments; what is done with them is not its
 * affair.
 */
#ifndef JOBS_ENGINES_ENGINE_H
#define JOBS_ENGINES_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/conf.h"
#include "core/fault.h"
#include "media/transcript.h"
#include "jobs/engines/vad.h"
#include "jobs/run.h"

#define ENGINES(E) E(pocketsphinx) E(http)

/* What is to be heard, and what came of it. */
struct hearing {
	struct arena *mem;
	const struct conf *conf;
	int pcm;			/* file of 16 kHz mono s16le, read by pread() */
	int64_t length;			/* ms */
	const char *language;		/* BCP 47, or translate-en */

	/* Called in the order of time.  The segment is gone afterwards: copy it. */
	void (*heard)(void *user, const struct segment *);
	void (*progress)(void *user, int percent);
	void *user;

	/* Out: for DONE and for failures. */
	const char *engine;		/* name and version */
	struct fault fault;
};

struct engine {
	const char *name;
	bool confidences;		/* each word has one, so that guesses can be told from speech */
	/* Can it write down this language? */
	bool (*knows)(const char *language);
	/* Blocks until all is heard.  Looks for voices by vad_find() first: what nobody says is never decoded or
	 * sent. */
	enum outcome (*run)(struct hearing *);
};

#define ENGINE_DECLARE(name) extern const struct engine engine_##name;
ENGINES(ENGINE_DECLARE)
#undef ENGINE_DECLARE

/* A copy of a segment and its words. */
struct segment engine_copy(struct arena *, const struct segment *);

/* Notes reason and sentence in the hearing and returns RETRY or GIVE_UP, by the reason. */
enum outcome engine_fail(struct hearing *, enum reason, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
