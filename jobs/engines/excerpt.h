/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of the family `embed`: texts go in, and a vector of what each of them means comes out.  Vectors are the
 * word of a stranger: all of one dimension, of finite numbers and not 0, or there are none at all.
 */
#ifndef JOBS_ENGINES_EXCERPT_H
#define JOBS_ENGINES_EXCERPT_H

#include "core/excerpts.h"
#include "core/meaning.h"
#include "jobs/engines/engine.h"

/* Texts that are asked for at once: some servers take no more. */
enum { EXCERPT_BATCH = EXCERPTS_SERVED };

struct excerpt {
	struct arena *mem;
	const struct conf *conf;
	const char *model;		/* of the server; NULL: that of the settings */
	const char *const *texts;
	size_t n;			/* 1 to EXCERPT_BATCH */

	struct job *job;		/* excerpt_ask() fills it in: it lives while the server works */

	const struct meaning *meanings;	/* out: of each text, in their order; NULL: none */
	int64_t tokens;			/* out: that the server has counted, or may have: of each try */
	int requests;			/* out: tries */
	struct fault fault;		/* out: for failures */
};

/* Tokens of the texts, about: three bytes are one. */
int64_t excerpt_size(const struct excerpt *);

/* Asks the engine of the settings for a job of the tenant, within its allowance, which it notes.  No transaction is
 * open while it works, nor afterwards.  False: why not is in the fault. */
bool excerpt_ask(struct job *, struct excerpt *);

#endif
