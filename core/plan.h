/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plan of an ingest: which steps a file needs, what each waits for, and which of them make something that can be
 * made again alone.  One row per step, in plan.c; the order of the rows is the order in which clients see the steps.
 */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include "core/db.h"
#include "core/text.h"

/* What a file has, as far as steps ask for it. */
enum { HAS_VIDEO = 1, HAS_SOUND = 2, HAS_COVER = 4, HAS_PICTURE = 8, HAS_PAGES = 16, HAS_TRACKS = 32,
    HAS_SUBTITLES = 64, HAS_ANY = 127,
    HAS_VOICES = 128 /* that the tenant wants told apart */ };

struct plan_step {
	const char *kind;		/* of JOB_KINDS, with asset_args, or, one job per language, transcribe_args */
	unsigned of;			/* it is for files that have any of these */
	/* kinds before it in the plan that must succeed, blank-separated, as far as the file needs them; "*": all that
	 * are shown, whatever becomes of them */
	const char *after;
	int priority;
	bool shown;			/* it makes files of the generation, so `publish` waits for it */
	/* an analysis: the word for what it makes.  NULL: only a whole ingest makes it anew */
	const char *makes;
	/* kinds before it that it waits for, whatever becomes of them; left out: none */
	const char *behind;
};

/* All that analyses make, for the document of the API. */
#define PLAN_MAKES "storyboard thumbnail waveform scenes videoTexts transcripts speakers chapters imageTexts " \
	"documentContent keywords entities summary"

/* Transcripts of an asset, in so many languages at most, those that failed too. */
enum { PLAN_LANGUAGES = 30 };

/* The i-th step; NULL at the end. */
const struct plan_step *plan_step(size_t i);
/* Place of a kind among the steps: 0 is the root, and what is in no plan comes last. */
size_t plan_place(const char *kind);
/* Further steps before `publish`, for a program that brings its own (tests).  The array must stay. */
void plan_steps_add(const struct plan_step *, size_t n);

/* Adds all steps but the root, in the transaction that ends it: after the type and the metadata "file" are written.
 * Languages that have a transcript already are left out. */
void plan_ingest(struct db *, const struct conf *, struct uuid media_id, struct uuid ingest_id, const char *generation);

enum rerun {
	RERUN_ADDED = 1,
	RERUN_NO_ASSET,			/* or it is soft-deleted */
	RERUN_OVER,			/* what is shown is not of its latest ingest, or there is nothing to show yet */
	RERUN_RUNNING,			/* a step of the same kind, or one that follows, has not ended */
	RERUN_LANGUAGES,		/* it would have transcripts in more than PLAN_LANGUAGES */
	RERUN_NOTHING,			/* the file has nothing for what was named */
};

/* Has a job of the asset's latest ingest not ended?  They are locked: none of them is started again meanwhile. */
bool plan_is_running(struct db *, struct uuid media_id);

/*
 * Makes what analyses have made anew: new jobs in the ingest whose files are shown, in the place of those that did it
 * before, and behind them all steps that build on it.  What is there stays until it is replaced, also when the new job
 * fails; words of people are never replaced.  `makes`: words of PLAN_MAKES; none: all that the ingest has made.
 * `languages`, for transcripts: in the place of those that were asked for; at == NULL: these.  Nothing is written
 * unless it is RERUN_ADDED.
 */
enum rerun plan_rerun(struct db *, const struct conf *, struct uuid media_id, struct strings makes,
    struct strings languages);

#endif
