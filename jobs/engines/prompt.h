/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of the families `complete` and `vision`: a text goes in, with pictures or without, and what a model
 * makes of it comes out.  That is the word of a stranger: valid UTF-8 without control characters but newlines, and
 * nothing else is known of it.
 */
#ifndef JOBS_ENGINES_PROMPT_H
#define JOBS_ENGINES_PROMPT_H

#include "jobs/engines/engine.h"

enum { PROMPT_MAX_BYTES = 48 << 10 };		/* of what is asked */
enum { PROMPT_PICTURE_MAX = 4 << 20 };		/* bytes of a picture of it */

struct prompt {
	struct arena *mem;
	const struct conf *conf;
	const char *rules;		/* what the model is to do */
	const char *text;		/* what it is to do it with */
	/* JPEG or PNG files that are shown with it, full paths, in order: then the engine of the family vision is
	 * asked.  One that cannot be read, or is larger than PROMPT_PICTURE_MAX, is a failure. */
	const char *const *pictures;
	size_t n_pictures;
	const char *model;		/* who is to answer; NULL: that of the settings */
	int most;			/* tokens of the answer */
	bool json;			/* the answer is to be a JSON object: asked for, and promised by nobody */

	struct job *job;		/* prompt_ask() fills it in: it lives while the model thinks */

	const char *answer;		/* out; never empty after DONE */
	const char *answered_by;	/* out: the model, as the server calls it, or as it was asked for */
	int64_t tokens;			/* out: that the server has counted, or may have: of each try */
	struct number input_tokens;	/* out: of these, for the question, where the server tells them apart */
	struct number output_tokens;	/* out: the same for the answer */
	int requests;			/* out: tries */
	struct fault fault;		/* out: for failures */
};

/* Tokens of what is asked, about: four bytes are one. */
int64_t prompt_size(const struct prompt *);

/*
 * Asks the engine of the settings for a job of the tenant, within its allowance, which it notes.  No transaction is
 * open while it works, nor afterwards.  False: why not is in the fault; REASON_NONE: there is no such engine.
 */
bool prompt_ask(struct job *, struct prompt *);

/* Lines around what is only said by somebody, and what stands between them: on one line, and without what would end
 * it. */
#define PROMPT_BEGIN "<<<DATA"
#define PROMPT_END "DATA>>>"
void prompt_say(struct buf *, const char *text);

/* Bytes of data that a question may bring beside what is to be done with them and the answer: two thirds of the window
 * of the model (engine.complete.window), four bytes a token. */
size_t prompt_room(const struct conf *);

/* Texts that are only said by somebody, each on a line: of more than `most` bytes every second, third or further one.
 * False: not all are there. */
bool prompt_say_all(struct buf *, const char *const *texts, size_t n, size_t most);

/* An answer of which nothing is a link or markup, whatever shows it: what begins or joins one is taken apart. */
const char *prompt_harmless(struct arena *, const char *text);

#endif
