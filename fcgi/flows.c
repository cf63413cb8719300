/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /v2/flows: prompts that people run over assets.  All of a tenant see and run them; a run reads, and writes, what
 * whoever has started it may, and is told to nobody else but SuperAdmins.
 */
#include <string.h>

#include "core/flow.h"
#include "core/job.h"
#include "core/models.h"
#include "fcgi/access.h"

enum { FLOWS_MAX = 200, VARIABLES_MAX = 20, RUNS_MAX = 1000 };	/* of a tenant; of a flow; of a flow that are kept */

struct flow {
	struct uuid id, tenant_id, principal_id;
	const char *name, *description;
	struct list steps, variables;
	struct nested target;
	struct moment created_at, updated_at;
	int64_t version;
};
static const struct field flow_fields[] = {
	FIELD(struct flow, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct flow, name,         .on = CREATE, .required = true, .min = 1, .max = 255, .doc = "Shown to people"),
	FIELD(struct flow, description,  .on = CREATE | OMIT_NULL | MULTILINE, .max = 5000, .doc = "Shown to people"),
	FIELD(struct flow, steps,        .on = CREATE, .required = true, .min = 1, .max = FLOW_STEPS_MAX, .of = &flow_step_record,
	    .doc = "What a language model is asked, one after the other"),
	FIELD(struct flow, target,       .on = CREATE, .required = true, .of = &flow_target_record, .doc = "Where the last answer goes"),
	FIELD(struct flow, variables,    .on = CREATE, .max = VARIABLES_MAX, .of = &flow_variable_record,
	    .doc = "What prompts have in braces, with the values that hold where a run says nothing else"),
	FIELD(struct flow, created_at,   .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct flow, updated_at,   .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct flow, version,      .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct flow, tenant_id,    .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct flow, principal_id, .on = SERVER | HIDDEN, .doc = "Who made it"),
};
static const struct record flow_record = RECORD("Flow", struct flow, flow_fields);

const struct object flow_object = {
	.path = "/v2/flows/{flowId}", .reach = REACH_SHARED, .record = &flow_record,
	.from = "FROM flows t WHERE t.id = ?",
};

/* Until its row has an end, a run is as its job is. */
#define OF_JOB(what) "(SELECT " what " FROM jobs j WHERE j.id = t.job_id)"
struct run {
	struct uuid id, flow_id, media_id, job_id, tenant_id, principal_id;
	const char *status, *output, *error, *scopes;
	struct list steps, variables, asked;
	struct nested target;
	struct number progress;
	bool is_written;
	int64_t cost, version;
	struct moment created_at, updated_at;
};
static const struct field run_fields[] = {
	FIELD(struct run, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct run, flow_id,      .on = SERVER, .required = true, .doc = "The flow"),
	FIELD(struct run, media_id,     .on = CREATE, .required = true, .doc = "The asset"),
	FIELD(struct run, status,       .on = SERVER, .required = true, .one_of = "queued running succeeded failed",
	    .sql = "IF(t.status <> 'queued', t.status, COALESCE(" OF_JOB("CASE WHEN j.state IN ('ready', 'delayed', "
	    "'waiting') THEN 'queued' WHEN j.state = 'running' THEN 'running' ELSE 'failed' END") ", 'failed'))",
	    .doc = "What has become of it. Its job is retried and cancelled as others are, and listed with those of "
	    "its asset"),
	FIELD(struct run, progress,     .on = OMIT_NULL, .sql = "IF(t.status = 'queued', " OF_JOB("j.progress") ", NULL)", .doc = "Per cent"),
	FIELD(struct run, steps,        .on = SERVER, .required = true, .of = &flow_done_record, .doc = "Those that are done"),
	FIELD(struct run, output,       .on = SERVER | OMIT_NULL,
	    .doc = "The last answer, as plain text; left out when the caller does not see the asset any more"),
	FIELD(struct run, is_written,   .on = SERVER, .required = true, .doc = "The target has it"),
	FIELD(struct run, cost,         .on = SERVER, .required = true, .doc = "Tokens that it has cost, with those of attempts that failed"),
	FIELD(struct run, error,        .on = SERVER | OMIT_NULL, .sql = "COALESCE(t.error, IF(t.status = 'queued', "
	    OF_JOB("JSON_UNQUOTE(JSON_EXTRACT(j.error, '$.detail'))") ", NULL))",
	    .doc = "Why it has failed, or is tried again"),
	FIELD(struct run, variables,    .on = CREATE, .max = VARIABLES_MAX, .of = &flow_variable_record,
	    .doc = "Values for this run in the place of those of the flow"),
	FIELD(struct run, job_id,       .on = SERVER | OMIT_NULL, .doc = "What does it; none where there is no language model"),
	FIELD(struct run, created_at,   .on = SERVER, .required = true, .doc = "When it was started"),
	FIELD(struct run, updated_at,   .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct run, version,      .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct run, tenant_id,    .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct run, principal_id, .on = SERVER | HIDDEN, .doc = "Who started it"),
	FIELD(struct run, scopes,       .on = SERVER | HIDDEN, .doc = "Of the token that did"),
	FIELD(struct run, asked,        .on = SERVER | HIDDEN, .of = &flow_step_record, .doc = "Steps of the flow as it was then"),
	FIELD(struct run, target,       .on = SERVER | HIDDEN, .of = &flow_target_record, .doc = "Its target then"),
};
static const struct record run_record = RECORD("FlowRun", struct run, run_fields);

/* The row of one that is started. */
static const struct field row_fields[] = {
	FIELD(struct run, id,           .doc = "Unique id"),
	FIELD(struct run, tenant_id,    .doc = "The tenant"),
	FIELD(struct run, flow_id,      .doc = "The flow"),
	FIELD(struct run, media_id,     .doc = "The asset"),
	FIELD(struct run, principal_id, .doc = "Who starts it"),
	FIELD(struct run, scopes,       .doc = "Of the token that does"),
	FIELD(struct run, job_id,       .doc = "What does it"),
	FIELD(struct run, status,       .doc = "queued, or failed at once"),
	FIELD(struct run, error,        .doc = "Why"),
	FIELD(struct run, asked,        .of = &flow_step_record, .doc = "Steps of the flow"),
	FIELD(struct run, target,       .of = &flow_target_record, .doc = "Its target"),
	FIELD(struct run, variables,    .of = &flow_variable_record, .doc = "Values"),
	FIELD(struct run, version,      .doc = "Grows with each change"),
	FIELD(struct run, created_at,   .doc = "Now"),
	FIELD(struct run, updated_at,   .doc = "Now"),
};
static const struct record row_record = RECORD("FlowRunRow", struct run, row_fields);

const struct object flow_run_object = {
	.path = "/v2/flows/{flowId}/runs/{runId}", .reach = REACH_OWNER, .record = &run_record,
	.from = "FROM flow_runs t WHERE t.flow_id = ? AND t.id = ?",
};

struct looking { bool download; };
static const struct field looking_fields[] = {
	FIELD(struct looking, download, .on = QUERY, .doc = "The last answer alone, as a file of text"),
};
static const struct record looking_record = RECORD("FlowRunDownload", struct looking, looking_fields);

static int
flows_list(struct req *r)
{
	const struct flow *rows;
	size_t n;

	rows = db_list(r->db, &flow_record, "FROM flows t WHERE t.tenant_id = ?", ARGS(ID(r->who->tenant_id)), &r->page,
	    &n);
	return reply_list(r, &flow_record, rows, n);
}

static int
flow_get(struct req *r)
{
	return reply(r, 200, &flow_record, r->object);
}

static bool
is_of_asset(const char *name)
{
	return word_in(FLOW_INPUTS(" "), name, strlen(name));
}

/* Does a step before the one of that index have the name? */
static bool
is_step(const struct flow_step *steps, size_t before, const char *name)
{
	size_t i;

	for (i = 0; i < before; i++)
		if (strcmp(steps[i].name, name) == 0)
			return true;
	return false;
}

/* Does one before the input of that index say the same? */
static bool
is_named(const struct strings *inputs, size_t before)
{
	size_t i;

	for (i = 0; i < before; i++)
		if (strcmp(inputs->at[i], inputs->at[before]) == 0)
			return true;
	return false;
}

static void
check_step(struct req *r, const struct flow *f, size_t at, const struct engine_settings *set)
{
	const struct flow_step *steps = f->steps.rows, *s = &steps[at];
	const char *missing;
	size_t i;

	if (is_step(steps, at, s->name) || is_of_asset(s->name))
		fault(r, arena_printf(r->mem, "/steps/%zu/name", at), "duplicate", "there is an input of this name");
	for (i = 0; i < s->inputs.n; i++) {
		const char *pointer = arena_printf(r->mem, "/steps/%zu/inputs/%zu", at, i);

		if (!is_of_asset(s->inputs.at[i]) && !is_step(steps, at, s->inputs.at[i]))
			fault(r, pointer, "not_allowed",
			    "this is neither transcript, chapters, keywords or description, nor a step before");
		else if (is_named(&s->inputs, i))
			fault(r, pointer, "duplicate", "this input is in the list already");
	}
	if (flow_prompt(r->mem, s->prompt, &f->variables, &missing) == NULL)
		fault(r, arena_printf(r->mem, "/steps/%zu/prompt", at), "not_found", "{{%.64s}} is no variable",
		    missing);
	if (!models_known(set, s->model))
		fault(r, arena_printf(r->mem, "/steps/%zu/model", at), "not_allowed", "%s",
		    models_refuse(r->mem, set));
}

static void
check_variables(struct req *r, const struct list *variables)
{
	const struct flow_variable *v = variables->rows;
	size_t i, k;

	for (i = 0; i < variables->n; i++)
		for (k = 0; k < i; k++)
			if (strcmp(v[i].name, v[k].name) == 0)
				fault(r, arena_printf(r->mem, "/variables/%zu/name", i), "duplicate",
				    "there is a variable of this name");
}

static bool
is_fine(struct req *r, const struct flow *f)
{
	const struct conf *conf = engines_conf(r->db, r->conf, r->who->tenant_id);
	size_t i;

	check_variables(r, &f->variables);
	for (i = 0; i < f->steps.n; i++)
		check_step(r, f, i, &conf->engine[ENGINE_complete]);
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return r->faults.n == 0;
}

static void
note(struct req *r, const char *type, struct uuid id, const char *name)
{
	struct buf b = BUF(r->mem);

	buf_text(&b, "{\"name\":");
	buf_json(&b, name);
	buf_char(&b, '}');
	audit(r, type, id, buf_string(&b));
}

static int
flow_create(struct req *r)
{
	struct flow *f = r->in;

	if (!is_fine(r, f))
		return r->status;
	if (db_number(r->db, "SELECT COUNT(*) FROM flows WHERE tenant_id = ?", ARGS(ID(r->who->tenant_id)), 0) >=
	    FLOWS_MAX)
		return refuse(r, ERR_TOO_MANY_FLOWS, NULL);
	f->id = uuid_new();
	f->tenant_id = r->who->tenant_id;
	f->principal_id = r->who->id;
	f->created_at = f->updated_at = r->now;
	f->version = 1;
	db_insert(r->db, "flows", &flow_record, f);
	note(r, "flow.created", f->id, f->name);
	return reply_created(r, &flow_record, f, f->id);
}

/* All of it at once: what is left out is gone.  Runs go on with what it was when they were started. */
static int
flow_put(struct req *r)
{
	const struct flow *now = r->object;
	const struct flow *f = r->in;

	if (!is_fine(r, f))
		return r->status;
	db_update(r->db, "flows", &flow_record, f, record_bit(&flow_record, "name") |
	    record_bit(&flow_record, "description") | record_bit(&flow_record, "steps") |
	    record_bit(&flow_record, "target") | record_bit(&flow_record, "variables"), now->id);
	note(r, "flow.updated", now->id, f->name);
	f = object_again(r);
	return f != NULL ? reply(r, 200, &flow_record, f) : refuse(r, ERR_NOT_FOUND, NULL);
}

static int
flow_delete(struct req *r)
{
	const struct flow *f = r->object;

	db_run(r->db, "DELETE FROM flows WHERE id = ? AND tenant_id = ?", ARGS(ID(f->id), ID(r->who->tenant_id)));
	note(r, "flow.deleted", f->id, f->name);
	return reply_deleted(r, f->id, true);
}

/* What runs have found goes with the right to see the asset that they found it in. */
static void
withhold(struct req *r, struct run *rows, size_t n)
{
	struct ids asked = { arena_array(r->mem, n + 1, sizeof(*asked.at)), n };
	const bool *seen;
	size_t i;

	for (i = 0; i < n; i++)
		asked.at[i] = rows[i].media_id;
	seen = access_seen(r, &asked);
	for (i = 0; i < n; i++)
		if (!seen[i]) {
			rows[i].output = NULL;
			rows[i].steps.n = 0;
		}
}

static int
runs_list(struct req *r)
{
	struct run *rows;
	size_t n;

	if (r->who->is_super_admin)
		rows = db_list(r->db, &run_record, "FROM flow_runs t WHERE t.flow_id = ?", ARGS(ID(r->id[0])), &r->page,
		    &n);
	else
		rows = db_list(r->db, &run_record, "FROM flow_runs t WHERE t.flow_id = ? AND t.principal_id = ?",
		    ARGS(ID(r->id[0]), ID(r->who->id)), &r->page, &n);
	withhold(r, rows, n);
	return reply_list(r, &run_record, rows, n);
}

/* What there is to be downloaded is text, whatever the model has made of it. */
static int
run_file(struct req *r, const struct run *run)
{
	if (run->output == NULL)
		return refuse(r, ERR_NOT_FOUND, "The run has no answer that you see.");
	if (reply_not_modified(r))
		return 304;
	r->disposition = arena_printf(r->mem, "attachment; filename=\"run-%s.txt\"", uuid_text(r->mem, run->id));
	return reply_raw(r, 200, "text/plain; charset=utf-8", run->output, strlen(run->output));
}

static int
run_get(struct req *r)
{
	const struct looking *in = r->in;

	withhold(r, r->object, 1);
	/* What its job tells is no change of its row. */
	r->etag = reply_tag(r, &run_record, r->object);
	if (in->download)
		return run_file(r, r->object);
	return reply(r, 200, &run_record, r->object);
}

struct place { struct ids channel_ids; };
static const struct field place_fields[] = { FIELD(struct place, channel_ids, .doc = "Where the asset is") };
static const struct record place_record = RECORD("FlowPlace", struct place, place_fields);

/* False: refused.  One that is not there is a fault of the input. */
static bool
may_run(struct req *r, struct uuid media_id, const struct flow_target *target)
{
	const struct place *p = db_row(r->db, &place_record, "FROM media t WHERE t.id = ? AND t.tenant_id = ? AND "
	    "t.deleted_at = 0", ARGS(ID(media_id), ID(r->who->tenant_id)));
	const unsigned may = p != NULL ? access_by(r, &p->channel_ids) : 0;

	if ((may & SCOPE_BIT(SCOPE_VIEW_CHANNEL)) == 0) {
		fault(r, "/mediaId", "not_found", "there is no such asset");
		return true;
	}
	return access_granted(r, may & r->who->scopes, SCOPE_VIEW_METADATA) &&
	    (!flow_changes(target) || access_granted(r, may & r->who->scopes, SCOPE_CREATE_CONTENT));
}

/* Of the flow, with what the run says instead; what the flow does not know is a fault. */
static struct list
values(struct req *r, const struct flow *f, const struct list *given)
{
	struct flow_variable *all = arena_array(r->mem, f->variables.n + 1, sizeof(*all));
	const struct flow_variable *v = given->rows;
	size_t i, k;

	check_variables(r, given);
	if (f->variables.n > 0)
		memcpy(all, f->variables.rows, f->variables.n * sizeof(*all));
	for (i = 0; i < given->n; i++) {
		for (k = 0; k < f->variables.n && strcmp(all[k].name, v[i].name) != 0; k++)
			continue;
		if (k < f->variables.n)
			all[k].value = v[i].value;
		else
			fault(r, arena_printf(r->mem, "/variables/%zu/name", i), "not_found",
			    "the flow has no such variable");
	}
	return (struct list){ all, f->variables.n };
}

static bool
has_room(struct req *r, const struct flow *f)
{
	if (!flow_has_room(r->db, r->who->id)) {
		refuse(r, ERR_TOO_MANY_RUNS, NULL);
		return false;
	}
	if (db_number(r->db, "SELECT COUNT(*) FROM flow_runs WHERE flow_id = ?", ARGS(ID(f->id)), 0) >= RUNS_MAX) {
		refuse(r, ERR_TOO_MANY_RUNS, "The flow has as many runs as are kept. Copy it, or wait until they go.");
		return false;
	}
	return true;
}

/* What nobody can do has failed at once, and says why. */
static void
start(struct req *r, struct run *n)
{
	const struct job_place place = { .tenant_id = n->tenant_id, .media_id = n->media_id };

	if (strcmp(engines_conf(r->db, r->conf, n->tenant_id)->engine[ENGINE_complete].name, "none") == 0) {
		n->status = "failed";
		n->error = "No language model is configured. The operator sets engine.complete; the setting engines "
		    "of the tenant may choose none.";
	} else {
		n->status = "queued";
		n->job_id = job_add(r->db, flow, place, .run_id = n->id);
	}
}

static int
run_create(struct req *r)
{
	const struct flow *f = r->object;
	struct run *n = r->in;

	if (!may_run(r, n->media_id, f->target.row))
		return r->status;
	n->variables = values(r, f, &n->variables);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (!has_room(r, f))
		return r->status;
	n->id = uuid_new();
	n->flow_id = f->id;
	n->tenant_id = r->who->tenant_id;
	n->principal_id = r->who->id;
	n->scopes = scope_text(r->mem, r->who->scopes);
	n->asked = f->steps;
	n->target = f->target;
	n->created_at = n->updated_at = r->now;
	n->version = 1;
	start(r, n);
	db_insert(r->db, "flow_runs", &row_record, n);
	if (strcmp(n->status, "failed") == 0 && flow_tells(n->target.row))
		flow_tell(r->db, n->tenant_id, &(const struct flow_told){ n->media_id, n->flow_id, n->id, n->status });
	audit(r, "flow.started", f->id, arena_printf(r->mem, "{\"runId\":\"%s\",\"mediaId\":\"%s\"}", uuid_text(r->mem,
	    n->id), uuid_text(r->mem, n->media_id)));
	return reply_created(r, &run_record, n, n->id);
}

const struct route flows_routes[] = {
	{
		GET, "/v2/flows", SCOPE_VIEW_CHANNEL, flows_list, NULL, &flow_record, "List the flows of the tenant",
		.flags = LIST, .fails = "422",
	},
	{
		POST, "/v2/flows", SCOPE_CREATE_CONTENT, flow_create, &flow_record, &flow_record, "Make a flow",
		.flags = SOMEWHERE, .success = 201, .fails = "403 409 422", .codes = "too_many_flows",
	},
	{
		GET, "/v2/flows/{flowId}", SCOPE_VIEW_CHANNEL, flow_get, NULL, &flow_record, "Get a flow",
		.flags = CONDITIONAL, .fails = "404",
	},
	{
		PUT, "/v2/flows/{flowId}", SCOPE_CREATE_CONTENT, flow_put, &flow_record, &flow_record,
		"Put another flow in its place; its creator and SuperAdmins may",
		.flags = CONDITIONAL, .fails = "403 404 412 422",
	},
	{
		METHOD_DELETE, "/v2/flows/{flowId}", SCOPE_CREATE_CONTENT, flow_delete, NULL, &deleted_record,
		"Delete a flow with all its runs; its creator and SuperAdmins may",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{
		GET, "/v2/flows/{flowId}/runs", SCOPE_VIEW_METADATA, runs_list, NULL, &run_record,
		"List the caller's runs of a flow, or all of them for a SuperAdmin",
		.flags = LIST | BELOW, .fails = "404 422",
	},
	{
		POST, "/v2/flows/{flowId}/runs", SCOPE_VIEW_METADATA, run_create, &run_record, &run_record,
		"Run a flow over an asset, by a language model",
		.flags = FOR_VIEWERS, .success = 201, .fails = "403 404 409 422",
		.codes = "too_many_runs",
	},
	{
		GET, "/v2/flows/{flowId}/runs/{runId}", SCOPE_VIEW_METADATA, run_get, &looking_record, &run_record,
		"Get a run with what it has found and cost", .flags = CONDITIONAL, .fails = "404 422",
		.produces = "application/json text/plain",
	},
	{ 0 }
};
