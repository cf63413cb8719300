/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/flows and their runs: what they are made of, who runs them over what, and who reads what came of it. */
#include <string.h>

#include "tests/world.h"

#define ALL "ViewChannel ViewMetadata CreateContent"
#define STEP(name, prompt, inputs) "{\"name\":\"" name "\",\"prompt\":\"" prompt "\",\"inputs\":[" inputs "]}"
#define SHORT STEP("short", "Say it in {{language}}.", "\"transcript\"")
#define LANGUAGE "\"variables\":[{\"name\":\"language\",\"value\":\"English\"}]"

static const char *
flow(struct world *w, const char *steps, const char *target, const char *more)
{
	return arena_printf(w->mem, "{\"name\":\"In short\",\"steps\":[%s],\"target\":{\"kind\":\"%s\"}%s%s}", steps,
	    target, *more != '\0' ? "," : "", more);
}

static const char *
made(struct world *w, const char *target)
{
	struct req *r = call(w, "POST", "/v2/flows", flow(w, SHORT, target, LANGUAGE));

	assert_int_equal(r->status, 201);
	return arena_printf(w->mem, "/v2/flows/%s", text(w, r, "data.id"));
}

static struct req *
run(struct world *w, const char *token, const char *path, struct uuid media_id)
{
	return call_as(w, token, "POST", arena_printf(w->mem, "%s/runs", path), arena_printf(w->mem,
	    "{\"mediaId\":\"%s\"}", uuid_text(w->mem, media_id)));
}

static void
wrong(struct world *w, const char *body, const char *pointer)
{
	struct req *r = call(w, "POST", "/v2/flows", body);

	if (r->status != 422 || strstr(buf_string(&r->out), pointer) == NULL)
		fail_msg("%s: %d: %s", body, r->status, buf_string(&r->out));
}

static void
a_flow_is_made_of_steps_that_fit(void **state)
{
	struct world *w = *state;
	struct req *r;
	const char *path = made(w, "description");

	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.steps.0.name"), "short");
	assert_string_equal(text(w, r, "data.target.kind"), "description");
	assert_string_equal(text(w, r, "data.variables.0.value"), "English");
	r = call(w, "PUT", path, flow(w, STEP("a", "Say.", "\"transcript\",\"chapters\"") "," STEP("b", "Say it again.",
	    "\"a\",\"keywords\""), "none", ""));
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.steps.1.inputs.0"), "a");
	assert_null(text(w, r, "data.variables.0.value"));
	wrong(w, flow(w, "", "none", ""), "/steps");
	wrong(w, flow(w, SHORT, "none", ""), "/steps/0/prompt");
	wrong(w, flow(w, SHORT, "nowhere", LANGUAGE), "/target/kind");
	wrong(w, flow(w, STEP("a", "x", "\"b\"") "," STEP("b", "x", "\"transcript\""), "none", ""),
	    "/steps/0/inputs/0");
	wrong(w, flow(w, STEP("a", "x", "\"transcript\"") "," STEP("a", "x", "\"a\""), "none", ""), "/steps/1/name");
	wrong(w, flow(w, STEP("keywords", "x", "\"transcript\""), "none", ""), "/steps/0/name");
	wrong(w, flow(w, STEP("a", "x", ""), "none", ""), "/steps/0/inputs");
	wrong(w, flow(w, STEP("a", "x", "\"transcript\",\"chapters\",\"transcript\""), "none", ""),
	    "/steps/0/inputs/2");
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	assert_int_equal(call(w, "GET", path, NULL)->status, 404);
}

static void
without_a_language_model_a_run_says_so(void **state)
{
	struct world *w = *state;
	struct req *r = run(w, w->token, made(w, "none"), world_media(w, "video", "Cat"));

	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.status"), "failed");
	assert_non_null(strstr(text(w, r, "data.error"), "No language model is configured"));
	assert_null(text(w, r, "data.jobId"));
}

/* With one that nobody asks. */
static const struct conf *
with_model(struct world *w, struct conf *conf)
{
	const struct conf *was = w->conf;

	*conf = *was;
	conf->engine[ENGINE_complete].name = "http";
	w->conf = conf;
	return was;
}

/* What may be named is told by the settings of the tenant, and by who refuses another. */
static void
a_step_names_a_model_that_the_operator_lets_it_name(void **state)
{
#define NAMED(model) "{\"name\":\"a\",\"prompt\":\"x\",\"inputs\":[\"transcript\"],\"model\":\"" model "\"}"
	struct world *w = *state;
	struct conf conf;
	const struct conf *was;
	struct req *r;

	wrong(w, flow(w, NAMED("small"), "none", ""), "there are no models that may be named here");
	assert_null(text(w, call(w, "GET", "/v2/tenants/current/settings", NULL), "data.flowModels.0"));
	was = with_model(w, &conf);
	conf.engine[ENGINE_complete].model = "usual";
	wrong(w, flow(w, NAMED("small"), "none", ""), "may be named: usual\"");
	assert_int_equal(call(w, "POST", "/v2/flows", flow(w, NAMED("usual"), "none", ""))->status, 201);
	conf.engine[ENGINE_complete].models = "large,usual,small";
	r = call(w, "POST", "/v2/flows", flow(w, NAMED("small"), "none", ""));
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.steps.0.model"), "small");
	r = call(w, "PUT", arena_printf(w->mem, "/v2/flows/%s", text(w, r, "data.id")),
	    flow(w, NAMED("smal"), "none", ""));
	assert_int_equal(r->status, 422);
	assert_non_null(strstr(buf_string(&r->out), "/steps/0/model"));
	assert_non_null(strstr(buf_string(&r->out), "may be named: usual, large, small\""));
	r = call(w, "GET", "/v2/tenants/current/settings", NULL);
	assert_string_equal(text(w, r, "data.flowModels.0"), "usual");
	assert_string_equal(text(w, r, "data.flowModels.2"), "small");
	assert_null(text(w, r, "data.flowModels.3"));
	w->conf = was;
}

static void
a_run_is_for_whom_its_target_allows(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid id = world_media(w, "video", "Cat"), principal;
	const char *viewer = world_member(w, ALL, "Viewer", &principal), *none = made(w, "none"), *changes = made(w,
	    "description"), *less = world_member(w, "ViewChannel ViewMetadata", "Channel Owner", NULL);
	struct conf conf;
	const struct conf *was = with_model(w, &conf);
	struct req *r = run(w, viewer, none, id);

	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.status"), "queued");
	assert_string_equal(text(w, r, "data.variables.0.value"), "English");
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM jobs WHERE kind = 'flow' AND media_id = ? AND id = "
	    "UNHEX(REPLACE(?, '-', ''))", ARGS(ID(id), STR(text(w, r, "data.jobId"))), 0), 1);
	assert_int_equal(run(w, viewer, changes, id)->status, 403);
	assert_int_equal(run(w, viewer, made(w, "chapter"), id)->status, 403);
	assert_int_equal(run(w, less, changes, id)->status, 403);
	assert_int_equal(run(w, w->token, changes, id)->status, 201);
	assert_int_equal(run(w, w->token, none, world_media(other, "video", "Theirs"))->status, 422);
	assert_int_equal(run(w, w->token, none, uuid_new())->status, 422);
	world_role(w, w->channel_id, principal, NULL);
	assert_int_equal(run(w, viewer, none, id)->status, 422);
	r = call(w, "POST", arena_printf(w->mem, "%s/runs", none), arena_printf(w->mem, "{\"mediaId\":\"%s\","
	    "\"variables\":[{\"name\":\"mood\",\"value\":\"x\"}]}", uuid_text(w->mem, id)));
	assert_int_equal(r->status, 422);
	assert_non_null(strstr(buf_string(&r->out), "/variables/0/name"));
	r = call(w, "POST", arena_printf(w->mem, "%s/runs", none), arena_printf(w->mem, "{\"mediaId\":\"%s\","
	    "\"variables\":[{\"name\":\"mood\",\"value\":\"x\"}]}", uuid_text(w->mem, uuid_new())));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/mediaId", "not_found"));
	assert_true(has_fault(r, "/variables/0/name", "not_found"));
	r = call(w, "POST", arena_printf(w->mem, "%s/runs", none), arena_printf(w->mem, "{\"mediaId\":\"%s\","
	    "\"variables\":[{\"name\":\"language\",\"value\":\"x\"},{\"name\":\"language\",\"value\":\"y\"}]}",
	    uuid_text(w->mem, id)));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/variables/1/name", "duplicate"));
	w->conf = was;
}

static void
a_run_is_read_by_who_has_started_it_as_long_as_that_one_sees_the_asset(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat"), principal;
	const char *viewer = world_member(w, ALL, "Viewer", &principal), *theirs = world_member(w, ALL, "Channel Owner",
	    NULL), *path = made(w, "none"), *one, *runs = arena_printf(w->mem, "%s/runs", path);
	struct req *r = run(w, viewer, path, id);

	one = arena_printf(w->mem, "%s/%s", runs, text(w, r, "data.id"));
	db_run(w->db, "UPDATE flow_runs SET status = 'succeeded', error = NULL, output = 'A cat.', steps = "
	    "'[{\"name\":\"short\",\"output\":\"A cat.\",\"tokens\":7,\"duration_ms\":1}]', cost = 7 WHERE media_id = ?",
	    ARGS(ID(id)));
	r = call_as(w, viewer, "GET", one, NULL);
	assert_string_equal(text(w, r, "data.output"), "A cat.");
	assert_string_equal(text(w, r, "data.cost"), "7");
	assert_string_equal(text(w, r, "data.steps.0.tokens"), "7");
	assert_int_equal(call_as(w, theirs, "GET", one, NULL)->status, 404);
	assert_string_equal(text(w, call_as(w, theirs, "GET", runs, NULL), "pagination.total"), "0");
	assert_string_equal(text(w, call(w, "GET", runs, NULL), "data.0.output"), "A cat.");
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(id)));
	assert_null(strstr(buf_string(&call_as(w, viewer, "GET", one, NULL)->out), "A cat."));
	assert_null(strstr(buf_string(&call_as(w, viewer, "GET", runs, NULL)->out), "A cat."));
}

/* By the tag of an answer before. */
static struct req *
again(struct world *w, const char *token, const char *method, const char *path, const char *body, const char *tag)
{
	struct req *r = NEW(w->mem, struct req);

	if (strcmp(method, "GET") == 0)
		r->if_none_match = tag;
	else
		r->if_match = tag;
	return call_req(w, r, token, method, path, body);
}

/* Also of what its job tells, which is no change of its row. */
static void
who_has_a_run_hears_once_of_each_change_of_it(void **state)
{
	static const char *const changes[] = {
		"UPDATE jobs SET state = 'running' WHERE media_id = ?",
		"UPDATE jobs SET progress = 40 WHERE media_id = ?",
		"UPDATE jobs SET state = 'ready', error = '{\"detail\":\"busy\"}' WHERE media_id = ?",
		"UPDATE jobs SET state = 'cancelled' WHERE media_id = ?",
		"UPDATE flow_runs SET status = 'succeeded', output = 'A cat.', version = version + 1 WHERE media_id = ?",
		"UPDATE media SET deleted_at = 1 WHERE id = ?", "UPDATE media SET deleted_at = 0 WHERE id = ?",
	};
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *path = made(w, "none"), *one, *tag, *before = NULL;
	struct conf conf;
	const struct conf *was = with_model(w, &conf);
	struct req *r = run(w, w->token, path, id);

	one = arena_printf(w->mem, "%s/runs/%s", path, text(w, r, "data.id"));
	tag = call(w, "GET", one, NULL)->etag;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		assert_int_equal(again(w, w->token, "GET", one, NULL, tag)->status, 304);
		before = i == 5 ? tag : before;
		db_run(w->db, changes[i], ARGS(ID(id)));
		r = again(w, w->token, "GET", one, NULL, tag);
		if (r->status != 200)
			fail_msg("%s: %d", changes[i], r->status);
		tag = r->etag;
	}
	/* What is seen again is what it was. */
	assert_string_equal(tag, before);
	w->conf = was;
}

static void
the_text_of_a_run_is_sent_once(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *path = made(w, "file"), *file;
	struct req *r = run(w, w->token, path, id);

	file = arena_printf(w->mem, "%s/runs/%s?download=true", path, text(w, r, "data.id"));
	db_run(w->db, "UPDATE flow_runs SET status = 'succeeded', error = NULL, output = 'A cat.' WHERE media_id = ?",
	    ARGS(ID(id)));
	r = call(w, "GET", file, NULL);
	assert_int_equal(r->status, 200);
	assert_int_equal(again(w, w->token, "GET", file, NULL, r->etag)->status, 304);
	db_run(w->db, "UPDATE flow_runs SET output = 'A dog.' WHERE media_id = ?", ARGS(ID(id)));
	r = again(w, w->token, "GET", file, NULL, r->etag);
	assert_int_equal(r->status, 200);
	assert_string_equal(buf_string(&r->out), "A dog.");
}

static void
a_flow_is_replaced_and_deleted_only_as_it_was_read(void **state)
{
	struct world *w = *state;
	const char *path = made(w, "none"), *body = flow(w, SHORT, "file", LANGUAGE), *old = call(w, "GET", path,
	    NULL)->etag;
	struct req *r;

	assert_int_equal(again(w, w->token, "GET", path, NULL, old)->status, 304);
	r = again(w, w->token, "PUT", path, body, old);
	assert_int_equal(r->status, 200);
	assert_string_not_equal(r->etag, old);
	assert_string_equal(call(w, "GET", path, NULL)->etag, r->etag);
	assert_int_equal(again(w, w->token, "PUT", path, flow(w, SHORT, "tags", LANGUAGE), old)->status, 412);
	assert_int_equal(again(w, w->token, "DELETE", path, NULL, old)->status, 412);
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.target.kind"), "file");
	assert_int_equal(again(w, w->token, "DELETE", path, NULL, r->etag)->status, 200);
}

/* Whatever is in it is text to whoever opens it; there is none of what is not seen. */
static void
an_answer_is_downloaded_as_text(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat"), principal;
	const char *viewer = world_member(w, ALL, "Viewer", &principal), *path = made(w, "file"), *one, *file;
	struct req *r = run(w, viewer, path, id);

	one = arena_printf(w->mem, "%s/runs/%s", path, text(w, r, "data.id"));
	file = arena_printf(w->mem, "%s?download=true", one);
	assert_int_equal(call_as(w, viewer, "GET", file, NULL)->status, 404);
	db_run(w->db, "UPDATE flow_runs SET status = 'succeeded', error = NULL, output = '<b>A cat.</b>' WHERE "
	    "media_id = ?", ARGS(ID(id)));
	r = call_as(w, viewer, "GET", file, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(r->answer_type, "text/plain; charset=utf-8");
	assert_string_equal(buf_string(&r->out), "<b>A cat.</b>");
	assert_non_null(strstr(r->disposition, "attachment; filename=\"run-"));
	assert_non_null(text(w, call_as(w, viewer, "GET", arena_printf(w->mem, "%s?download=false", one), NULL),
	    "data.output"));
	assert_int_equal(call_as(w, viewer, "GET", arena_printf(w->mem, "%s?download=x", one), NULL)->status, 422);
	world_role(w, w->channel_id, principal, NULL);
	assert_int_equal(call_as(w, viewer, "GET", file, NULL)->status, 404);
}

/* Of a run that cannot be done, too. */
static void
webhooks_are_told_of_runs_that_are_for_them(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");

	run(w, w->token, made(w, "none"), id);
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'flowRun.finished'", ARGS(ID(id))), 0);
	run(w, w->token, made(w, "webhook"), id);
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'flowRun.finished' AND JSON_VALUE(data, "
	    "'$.status') = 'failed'", ARGS(ID(id))), 1);
}

static struct req *
of_job(struct world *w, const char *job, const char *what)
{
	return call(w, "PUT", arena_printf(w->mem, "/v2/jobs/%s/%s", job, what), NULL);
}

static void
webhooks_are_told_of_a_run_whose_job_is_cancelled(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct conf conf;
	const struct conf *was = with_model(w, &conf);
	const char *targets[] = { "none", "webhook" };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct req *r = run(w, w->token, made(w, targets[i]), id);

		assert_int_equal(of_job(w, text(w, r, "data.jobId"), "cancel")->status, 200);
		assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'flowRun.finished' AND "
		    "JSON_VALUE(data, '$.status') = 'failed'", ARGS(ID(id))), (int)i);
	}
	w->conf = was;
}

static void
so_many_run_at_a_time(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *path = made(w, "none");
	struct conf conf;
	const struct conf *was = with_model(w, &conf);
	const char *job = NULL;
	struct req *r;
	int i;

	for (i = 0; i < 10; i++) {
		r = run(w, w->token, path, id);
		assert_int_equal(r->status, 201);
		job = text(w, r, "data.jobId");
	}
	r = run(w, w->token, path, id);
	assert_int_equal(r->status, 409);
	assert_non_null(strstr(buf_string(&r->out), "too_many_runs"));
	db_run(w->db, "UPDATE jobs SET state = 'failed' WHERE tenant_id = ? AND kind = 'flow'", ARGS(ID(w->tenant_id)));
	assert_string_equal(text(w, call(w, "GET", arena_printf(w->mem, "%s/runs", path), NULL), "data.0.status"),
	    "failed");
	for (i = 0; i < 10; i++)
		assert_int_equal(run(w, w->token, path, id)->status, 201);
	/* Nor by way of those that have failed. */
	r = of_job(w, job, "retry");
	assert_int_equal(r->status, 409);
	assert_non_null(strstr(buf_string(&r->out), "too_many_runs"));
	db_run(w->db, "UPDATE jobs SET state = 'failed' WHERE tenant_id = ? AND kind = 'flow'", ARGS(ID(w->tenant_id)));
	assert_int_equal(of_job(w, job, "retry")->status, 200);
	w->conf = was;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_flow_is_made_of_steps_that_fit),
		WORLD_TEST(without_a_language_model_a_run_says_so),
		WORLD_TEST(a_step_names_a_model_that_the_operator_lets_it_name),
		WORLD_TEST(a_run_is_for_whom_its_target_allows),
		WORLD_TEST(a_run_is_read_by_who_has_started_it_as_long_as_that_one_sees_the_asset),
		WORLD_TEST(who_has_a_run_hears_once_of_each_change_of_it),
		WORLD_TEST(the_text_of_a_run_is_sent_once),
		WORLD_TEST(a_flow_is_replaced_and_deleted_only_as_it_was_read),
		WORLD_TEST(an_answer_is_downloaded_as_text),
		WORLD_TEST(webhooks_are_told_of_runs_that_are_for_them),
		WORLD_TEST(webhooks_are_told_of_a_run_whose_job_is_cancelled),
		WORLD_TEST(so_many_run_at_a_time),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
