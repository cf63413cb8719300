/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an engine is, for engines of all families (the list is core/engines.h), and the interface of the family
 * `transcribe`: an engine listens to samples and gives segments; what is done with them is not its affair.
 */
#ifndef JOBS_ENGINES_ENGINE_H
#define JOBS_ENGINES_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allowance.h"
#include "core/arena.h"
#include "core/conf.h"
#include "core/engines.h"
#include "core/fault.h"
#include "core/web.h"
#include "media/transcript.h"
#include "jobs/engines/hints.h"
#include "jobs/engines/vad.h"
#include "jobs/run.h"

/* What is to be heard, and what came of it. */
struct hearing {
	struct arena *mem;
	const struct conf *conf;
	int pcm;			/* file of 16 kHz mono s16le, read by pread() */
	int64_t length;			/* ms */
	const char *language;		/* BCP 47, translate-en or auto */
	const struct hints *hints;	/* NULL: none */
	const char *work_dir;		/* for files of this run; NULL: there may be none */

	/* Where somebody speaks, in order, none longer than 25 s: nothing else is decoded or sent.  At least one. */
	const struct span *spans;
	size_t n_spans;

	/* Called in the order of time.  The segment is gone afterwards: copy it. */
	void (*heard)(void *user, const struct segment *);
	void (*progress)(void *user, int percent);
	void *user;

	/* out, of auto: the tag that the engine tells, NULL where it does not; how sure it is, 0: it does not say */
	const char *told;
	double told_confidence;

	/* Of a server that is asked part by part: may it be asked now?  It was, so often, and may have been away.  What
	 * it has answered of that part before, made in the arena, or NULL; it has answered this.  NULL: nobody wants
	 * to know. */
	bool (*may_ask)(void *user, struct fault *);
	void (*asked)(void *user, int requests, bool failed);
	const char *(*known)(void *user, struct arena *, struct span);
	void (*answered)(void *user, struct span, const char *answer);

	bool hurried;			/* what comes late is of no use: a server is asked once */
	int patience;			/* s that looking for speech may be silent; 0: 60 */
	const char *note;		/* out: for the log; NULL: nothing out of the ordinary */
	struct fault fault;		/* out: for failures */
};

/* Of an engine that asks a server. */
struct engine_limits {
	int64_t request;		/* most that one request holds, in the unit of the family: ms of sound */
	size_t answer;			/* bytes */
	int tries, wait;		/* tries of one request; longest pause between two, s */
};

#define ENGINE_TASK(family, task, doc) struct task;
ENGINE_FAMILIES(ENGINE_TASK)
#undef ENGINE_TASK

/* Of an engine that makes prints: how alike two of as many numbers are, from -1 to 1.  From `same` on a voice is said
 * to be the one that is known, from `maybe` on that is asked; settings may say otherwise. */
struct engine_likeness { double (*of)(const float *, const float *, size_t n), same, maybe; };

struct engine {
	enum engine_family family;
	const char *name;
	struct engine_limits limits;
	struct engine_likeness likeness;
	/* Name and version of what will do the work.  What has the same, of the same file, is the same result. */
	const char *(*version)(struct arena *, const struct conf *);
	/* Can it do it in this language? */
	bool (*knows)(const struct conf *, const char *language);
	/* By family.  Blocks until all is done. */
	union {
#define ENGINE_RUN(family, task, doc) enum outcome (*family)(struct task *);
		ENGINE_FAMILIES(ENGINE_RUN)
#undef ENGINE_RUN
	} run;
};

#define ENGINE_DECLARE(family, name) extern const struct engine engine_##family##_##name;
ENGINES(ENGINE_DECLARE)
#undef ENGINE_DECLARE

/* The engine that the settings choose.  NULL: "none". */
const struct engine *engine_chosen(const struct conf *, enum engine_family);

/* The same for a step, which warns where the tenant has chosen one that the operator does not offer any more. */
const struct engine *engine_for(struct job *, enum engine_family);

/* Looks for speech, by Silero VAD where it is installed and by loudness elsewhere and where that fails, and hands to
 * the engine what it found: spans and note are set here.  Where nobody speaks, the engine is not asked at all. */
enum outcome engine_hear(const struct engine *, struct hearing *);

/* The same of a stretch of less than 25 s that is as loud as speech: all of it is heard, unless Silero VAD finds nobody
 * in it. */
enum outcome engine_hear_stretch(const struct engine *, struct hearing *);

/* Engines that hear nothing tell the same thing over and over: such runs go.  What was said before and after stays. */
void engine_drop_repetition(struct segment *);

/* A copy of a segment and its words. */
struct segment engine_copy(struct arena *, const struct segment *);

/* Notes reason and sentence in the hearing and returns RETRY or GIVE_UP, by the reason. */
enum outcome engine_fail(struct hearing *, enum reason, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Asks a server until it answers something that another try would not change, `tries` times at most, with pauses that
 * grow or that it asks for.  Timeout, size of the answer and hosts are filled in; call->alive goes on meanwhile.
 * Returns how often. */
int engine_ask(struct arena *, const struct conf *, const struct engine *, int tries, struct web_call *,
    struct web_answer *);

/* What results call a model of a server, in as many letters as they have room for. */
const char *engine_served_name(struct arena *, const char *model);

/* The address as configured; a bare host, or one that ends in /v1, gets the usual path: the leaf behind /v1/. */
const char *engine_endpoint(struct arena *, const char *url, const char *leaf);

/* Why an answer is no result: notes reason and sentence and returns RETRY or GIVE_UP.  server: what it is called,
 * result: what it should have answered. */
enum outcome engine_unanswered(struct arena *, const struct web_answer *, const char *server, const char *result,
    struct fault *);

/* May a server be asked for what it may cost its tenant?  False: why not stands in the fault.  In a transaction of its
 * own, see allowance_ask(). */
bool engine_may_cost(struct job *, struct allowance_use *, struct fault *);
/* What it has cost then, see allowance_note(). */
void engine_cost(struct job *, const struct allowance_use *);

/* Is it an answer, or the lack of one, that may be different the next time? */
bool engine_may_pass(const struct web_answer *);

#endif
