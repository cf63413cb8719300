/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What flows are made of, and prompts with the values of their variables. */
#include <string.h>

#include "core/event.h"
#include "core/flow.h"
#include "core/principal.h"

static const struct field step_fields[] = {
	FIELD(struct flow_step, name, .on = CREATE, .required = true, .min = 1, .max = 64,
	    .doc = "What later steps call its answer: there is one of each in a flow"),
	FIELD(struct flow_step, prompt, .on = CREATE | MULTILINE, .required = true, .min = 1, .max = 4000,
	    .doc = "What the language model is to do with its inputs. {{name}} stands for a variable"),
	FIELD(struct flow_step, inputs, .on = CREATE, .required = true, .min = 1, .max = FLOW_INPUTS_MAX,
	    .known = FLOW_INPUTS("|") "|name of a step before",
	    .doc = "What it is sent: as data, whose words are never followed"),
	FIELD(struct flow_step, model, .on = CREATE | OMIT_NULL, .min = 1, .max = 200,
	    .doc = "Who is to answer: one of flowModels of the tenant's settings; left out: the one that the operator "
	    "has chosen"),
	FIELD(struct flow_step, max_tokens, .on = CREATE | OMIT_NULL, .min = 16, .max = FLOW_TOKENS_MAX, .preset = "800",
	    .doc = "How long its answer may be"),
};
const struct record flow_step_record = RECORD("FlowStep", struct flow_step, step_fields);

static const struct field target_fields[] = {
	FIELD(struct flow_target, kind, .on = CREATE, .required = true, .one_of = FLOW_TARGETS,
	    .doc = "description, tags (one on each line of the answer), comment: of the asset; chapter: a new one of "
	    "the asset, of times and titles, beside those that there are; none, file: the run alone has it, as a file "
	    "where download asks for one; webhook: flowRun.finished tells those that see the asset"),
	FIELD(struct flow_target, overwrite, .on = CREATE | OMIT_NULL,
	    .doc = "May it take the place of what is there? Otherwise an asset that has a description is left alone, "
	    "and tags are added"),
};
const struct record flow_target_record = RECORD("FlowTarget", struct flow_target, target_fields);

static const struct field variable_fields[] = {
	FIELD(struct flow_variable, name, .on = CREATE, .required = true, .min = 1, .max = 64, .doc = "What prompts have in braces"),
	FIELD(struct flow_variable, value, .on = CREATE | MULTILINE | OMIT_NULL, .max = 1000, .doc = "What stands there instead; left out: nothing"),
};
const struct record flow_variable_record = RECORD("FlowVariable", struct flow_variable, variable_fields);

static const struct field done_fields[] = {
	FIELD(struct flow_done, name, .required = true, .doc = "The step"),
	FIELD(struct flow_done, output, .on = OMIT_NULL, .doc = "What was answered, as plain text"),
	FIELD(struct flow_done, model, .on = OMIT_NULL, .doc = "Who has answered, as the server calls it"),
	FIELD(struct flow_done, tokens, .required = true, .doc = "That it cost, of all tries"),
	FIELD(struct flow_done, input_tokens, .on = OMIT_NULL,
	    .doc = "Of these, what the question has cost, where the server tells"),
	FIELD(struct flow_done, output_tokens, .on = OMIT_NULL,
	    .doc = "Of these, what the answer has cost, where the server tells"),
	FIELD(struct flow_done, shortened, .doc = "Its inputs say more than the model reads at once: of a transcript every "
	    "second, third or further sentence was sent"),
	FIELD(struct flow_done, duration_ms, .required = true, .doc = "How long it took"),
	FIELD(struct flow_done, question, .on = HIDDEN, .doc = "Digest of what was asked"),
};
const struct record flow_done_record = RECORD("FlowRunStep", struct flow_done, done_fields);

bool
flow_changes(const struct flow_target *t)
{
	return word_in("description tags comment chapter", t->kind, strlen(t->kind));
}

bool
flow_tells(const struct flow_target *t)
{
	return strcmp(t->kind, "webhook") == 0;
}

/* What was answered is read when it is sent, by the run: events are kept longer. */
void
flow_tell(struct db *db, struct uuid tenant_id, const struct flow_told *t)
{
	struct arena *mem = db_arena(db);

	event_add(db, &(struct event_new){ .tenant_id = tenant_id, .media_id = t->media_id, .object_id = t->run_id,
	    .type = "flowRun.finished", .data = arena_printf(mem, "{\"mediaId\":\"%s\",\"flowId\":\"%s\","
	    "\"runId\":\"%s\",\"status\":\"%s\"}", uuid_text(mem, t->media_id), uuid_text(mem, t->flow_id), uuid_text(mem,
	    t->run_id), t->status) });
}

/* The run of a job.  By the asset: there is an index of that. */
#define OF_JOB_SQL "FROM jobs j JOIN flow_runs t ON t.media_id = j.media_id AND t.job_id = j.id WHERE j.id = ? AND " \
	"j.kind = 'flow'"
struct ended { struct uuid id, tenant_id, flow_id, media_id, principal_id; };
static const struct field ended_fields[] = {
	FIELD(struct ended, id, .doc = "The run"),
	FIELD(struct ended, tenant_id, .doc = "The tenant"),
	FIELD(struct ended, flow_id, .doc = "The flow"),
	FIELD(struct ended, media_id, .doc = "The asset"),
	FIELD(struct ended, principal_id, .doc = "Who started it"),
};
static const struct record ended_record = RECORD("FlowRunEnded", struct ended, ended_fields);

void
flow_gave_up(struct db *db, struct uuid job_id)
{
	const struct ended *e = db_row(db, &ended_record, OF_JOB_SQL " AND t.status = 'queued' AND "
	    "JSON_VALUE(t.target, '$.kind') = 'webhook'", ARGS(ID(job_id)));

	if (e != NULL)
		flow_tell(db, e->tenant_id, &(const struct flow_told){ e->media_id, e->flow_id, e->id, "failed" });
}

bool
flow_has_room(struct db *db, struct uuid principal_id)
{
	principal_hold(db, principal_id);
	return db_number(db, "SELECT COUNT(*) FROM flow_runs t JOIN jobs j ON j.id = t.job_id WHERE t.principal_id = ? "
	    "AND t.status = 'queued' AND j.state IN ('ready', 'delayed', 'waiting', 'running')", ARGS(ID(principal_id)),
	    0) < FLOW_RUNNING_MAX;
}

bool
flow_has_room_again(struct db *db, struct uuid job_id)
{
	const struct ended *e = db_row(db, &ended_record, OF_JOB_SQL, ARGS(ID(job_id)));

	return e == NULL || flow_has_room(db, e->principal_id);
}

static const char *
value_of(const struct list *variables, const char *name)
{
	const struct flow_variable *v = variables->rows;
	size_t i;

	for (i = 0; i < variables->n; i++)
		if (strcmp(v[i].name, name) == 0)
			return v[i].value != NULL ? v[i].value : "";
	return NULL;
}

/* A value is not looked at again: what it has in braces stays. */
const char *
flow_prompt(struct arena *mem, const char *prompt, const struct list *variables, const char **missing)
{
	const char *begin, *end, *value;
	struct buf b = BUF(mem);

	while ((begin = strstr(prompt, "{{")) != NULL && (end = strstr(begin, "}}")) != NULL) {
		*missing = arena_copy_n(mem, begin + 2, (size_t)(end - begin) - 2);
		if ((value = value_of(variables, *missing)) == NULL)
			return NULL;
		buf_add(&b, prompt, (size_t)(begin - prompt));
		buf_text(&b, value);
		prompt = end + 2;
	}
	buf_text(&b, prompt);
	return buf_string(&b);
}
