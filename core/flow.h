/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Flows: prompts that a language model is asked one after the other about an asset, each with what the asset says or
 * what a step before has answered, and where the last answer goes.
 */
#ifndef CORE_FLOW_H
#define CORE_FLOW_H

#include "core/db.h"
#include "core/record.h"

enum { FLOW_STEPS_MAX = 10, FLOW_INPUTS_MAX = 8, FLOW_TOKENS_MAX = 4000, FLOW_TOKENS = 800,
    FLOW_RUNNING_MAX = 10 };	/* runs of a principal at a time */
#define FLOW_INPUTS(between) "transcript" between "chapters" between "keywords" between "description"
#define FLOW_TARGETS "none description tags comment chapter webhook file"

struct flow_step { const char *name, *prompt, *model; struct strings inputs; struct number max_tokens; };
struct flow_target { const char *kind; bool overwrite; };
struct flow_variable { const char *name, *value; };
/* A step that was done.  question: the digest of what was asked; shortened: with less than its
 * inputs say, since they say more than the model reads at once. */
struct flow_done {
	const char *name, *output, *model, *question;
	int64_t tokens, duration_ms;
	struct number input_tokens, output_tokens;
	bool shortened;
};
extern const struct record flow_step_record, flow_target_record, flow_variable_record, flow_done_record;

/* Is it told to webhooks? */
bool flow_tells(const struct flow_target *);
/* Has webhooks told that a run has ended, status: succeeded or failed.  In the transaction that ends it. */
struct flow_told { struct uuid media_id, flow_id, run_id; const char *status; };
void flow_tell(struct db *, struct uuid tenant_id, const struct flow_told *);
/* The same of the run whose job has failed for good or is cancelled, where its target is webhooks; of another job
 * nothing. */
void flow_gave_up(struct db *, struct uuid job_id);

/* May one more of this principal's runs go on?  Of two requests at once one waits for the other, by the principal's
 * row. */
bool flow_has_room(struct db *, struct uuid principal_id);
/* The same for the run of a job that is to go on; of another job always. */
bool flow_has_room_again(struct db *, struct uuid job_id);

/* Does it change the asset? */
bool flow_changes(const struct flow_target *);

/* The prompt with the values of {{names}}.  NULL: *missing is a name without a value. */
const char *flow_prompt(struct arena *, const char *prompt, const struct list *variables, const char **missing);

#endif
