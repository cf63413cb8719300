/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Language models: what servers answer is taken or explained, within what a tenant may have; and what they sum up. */
#include <string.h>

#include "core/allowance.h"
#include "core/asset.h"
#include "jobs/engines/prompt.h"
#include "jobs/gist.h"
#include "tests/jobs/sounds.h"

static struct prompt
asking(struct world *w, const struct conf *conf)
{
	return (struct prompt){ .mem = w->mem, .conf = conf, .rules = "Sum it up.",
	    .text = "<<<DATA\nDogs bark.\nDATA>>>", .most = 100 };
}

static void
every_way_of_answering_gives_a_text(void **state)
{
	struct world *w = *state;
	static const char *const paths[] = { "", "/v1/", "/v1/chat/completions", "/busy/v1", "/thinks/v1",
	    "/ollama/api/chat", "/noformat/v1" };
	struct prompt p;
	bool again;
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		peer_log(w, "DELETE");
		p = asking(w, with_peer(w, paths[i]));
		p.json = strstr(paths[i], "noformat") != NULL;
		if (engine_chosen(p.conf, ENGINE_complete)->run.complete(&p) != DONE)
			fail_msg("%s: %s", paths[i], p.fault.detail);
		assert_string_equal(p.answer, "In short: Dogs bark.");
		assert_string_equal(p.answered_by,
		    strstr(paths[i], "thinks") != NULL ? "test-model 2026" : "test-model");
		/* Each try counts. */
		again = strstr(paths[i], "busy") != NULL || p.json;
		assert_int_equal(p.requests, 1 + again);
		assert_int_equal(p.tokens, 123 + (again ? prompt_size(&p) : 0));
		assert_int_equal(p.input_tokens.n, p.tokens - 23);
		assert_int_equal(p.output_tokens.n, 23);
	}
	/* What is not told is not made up, and what cannot be is not believed. */
	p = asking(w, with_peer(w, "/unsplit/v1"));
	assert_int_equal(engine_complete_http.run.complete(&p), DONE);
	assert_int_equal(p.tokens, 123);
	assert_false(p.input_tokens.set || p.output_tokens.set);
	p = asking(w, with_peer(w, "/miscounts/v1"));
	assert_int_equal(engine_complete_http.run.complete(&p), DONE);
	assert_int_equal(p.tokens, prompt_size(&p));
	assert_false(p.input_tokens.set || p.output_tokens.set);
	p = asking(w, with_peer(w, ""));
	assert_int_equal(engine_complete_http.run.complete(&p), DONE);
	assert_non_null(strstr(peer_log(w, "GET"), "\"authorization\":\"Bearer secret\""));
	assert_non_null(strstr(peer_log(w, "GET"), "\"model\":\"test-model\""));
}

static void
an_answer_that_is_none_is_explained(void **state)
{
	struct world *w = *state;
	static const struct { const char *path; enum outcome outcome; enum reason reason; } cases[] = {
		{ "/empty/v1", GIVE_UP, REASON_ENGINE_REFUSED }, { "/partial/v1", GIVE_UP, REASON_ENGINE_REFUSED },
		{ "/nonsense/v1", GIVE_UP, REASON_ENGINE_REFUSED }, { "/denied/v1", GIVE_UP, REASON_ENGINE_REFUSED },
		{ "/nothing", GIVE_UP, REASON_ENGINE_REFUSED }, { "/broken/v1", RETRY, REASON_ENGINE_UNAVAILABLE },
		{ "/hang/v1", RETRY, REASON_ENGINE_UNAVAILABLE },
	};
	struct conf c;
	struct prompt p;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c = *with_peer(w, cases[i].path);
		c.engine[ENGINE_complete].timeout = 1;
		p = asking(w, &c);
		if (engine_complete_http.run.complete(&p) != cases[i].outcome || p.fault.reason != cases[i].reason)
			fail_msg("%s: %s", cases[i].path, p.fault.detail);
		assert_non_null(p.fault.detail);
		assert_null(p.answer);
	}
	c.engine_private_hosts = NULL;
	p = asking(w, &c);
	assert_int_equal(engine_complete_http.run.complete(&p), GIVE_UP);
}

static struct job
job_of(struct world *w, const struct conf *conf)
{
	return (struct job){ .mem = w->mem, .db = w->db, .conf = conf, .id = uuid_new(), .tenant_id = w->tenant_id,
	    .attempt = 1 };
}

static void
a_tenant_has_so_many_tokens_a_day(void **state)
{
	struct world *w = *state;
	struct conf c = *with_peer(w, "/v1");
	struct job j = job_of(w, &c);
	struct prompt p = asking(w, &c);

	c.engine[ENGINE_complete].daily_tokens = 300;
	assert_true(prompt_ask(&j, &p));
	assert_true(prompt_ask(&j, &p));
	assert_false(prompt_ask(&j, &p));
	assert_non_null(strstr(p.fault.detail, "used up"));
	j.tenant_id = world_other(w)->tenant_id;
	assert_true(prompt_ask(&j, &p));
	assert_int_equal(db_number(w->db, "SELECT tokens FROM engine_usage WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), 0), 246);
}

/* Another job that asks meanwhile has what is left. */
static void
what_an_answer_may_cost_is_reserved_until_it_is_there(void **state)
{
	struct world *w = *state;
	struct conf c = *w->conf;
	const struct uuid tenant = world_other(w)->tenant_id;
	struct allowance_use one = { .family = ENGINE_complete, .reserved = 150 }, two = one;

	c.engine[ENGINE_complete].daily_tokens = 250;
	assert_int_equal(allowance_ask(w->db, &c, tenant, &one), ALLOWED);
	assert_int_equal(allowance_ask(w->db, &c, tenant, &two), ALLOWANCE_USED_UP);
	one.tokens = 40;
	one.requests = 2;
	allowance_note(w->db, tenant, &one);
	assert_int_equal(allowance_ask(w->db, &c, tenant, &two), ALLOWED);
	assert_string_equal(db_text(w->db, "SELECT CONCAT(tokens, ' ', requests) FROM engine_usage WHERE tenant_id = ?",
	    ARGS(ID(tenant))), "190 3");
}

static void
a_server_that_fails_is_left_alone_and_tried_again(void **state)
{
	struct world *w = *state;
	struct conf c = *with_peer(w, "/broken/v1");
	struct job j = job_of(w, &c);
	struct prompt p = asking(w, &c);
	struct allowance_use use = { .family = ENGINE_complete, .reserved = 2 };
	int i;

	for (i = 0; i < ALLOWANCE_FAILURES; i++) {
		assert_false(prompt_ask(&j, &p));
		assert_non_null(strstr(p.fault.detail, "status 500"));
	}
	peer_log(w, "DELETE");
	assert_false(prompt_ask(&j, &p));
	assert_non_null(strstr(p.fault.detail, "left alone"));
	assert_string_equal(peer_log(w, "GET"), "[]");
	db_run(w->db, "UPDATE engine_rests SET rests_until = 1", NO_ARGS);
	assert_false(prompt_ask(&j, &p));
	assert_non_null(strstr(p.fault.detail, "status 500"));
	assert_false(prompt_ask(&j, &p));
	assert_non_null(strstr(p.fault.detail, "left alone"));
	/* One tries what becomes of it, and not all who were waiting; who may not ask is not the one. */
	db_run(w->db, "UPDATE engine_rests SET rests_until = 1", NO_ARGS);
	c.engine[ENGINE_complete].daily_tokens = 1;
	assert_int_equal(allowance_ask(w->db, &c, w->tenant_id, &use), ALLOWANCE_USED_UP);
	c.engine[ENGINE_complete].daily_tokens = 0;
	assert_int_equal(allowance_ask(w->db, &c, w->tenant_id, &use), ALLOWED);
	assert_int_equal(allowance_ask(w->db, &c, w->tenant_id, &use), ALLOWANCE_RESTS);
	db_run(w->db, "UPDATE engine_rests SET rests_until = 1", NO_ARGS);
	c = *with_peer(w, "/v1");
	assert_true(prompt_ask(&j, &p));
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM engine_rests", NO_ARGS, -1), 0);
}

/* What the summary of a text is, by the server in that mode; NULL: the answer of the job. */
static const char *
summed_up(struct world *w, const char *path, const char *member)
{
	static const char said[] = "{\"pages\":[{\"page\":1,\"text\":\"The harbour fleet of the island catches herring "
	    "in the bay. Herring from the bay is salted on the island. My cousin bought a bicycle in Lisbon. The fleet sails "
	    "from the harbour when herring comes into the bay. Every family on the island lives from herring and the "
	    "fleet. It rained in Portugal all night. The harbour was built for the herring fleet of the island.\"}]}";
	struct uuid media = world_media(w, "document", "Herring");
	const struct conf *c = path != NULL ? with_peer(w, path) : w->conf;
	struct job j = job_of(w, c);
	struct words words;

	j.media_id = media;
	metadata_put(w->db, media, "documentContent", "x", said);
	db_begin(w->db);
	words = words_read(&j, media);
	assert_int_equal(summary_make(&j, media, &words), DONE);
	assert_true(db_commit(w->db));
	if (member == NULL)
		return j.warnings;
	return text(w, call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata?expand=summarySentences",
	    uuid_text(w->mem, media)), NULL), member);
}

static void
a_summary_is_written_by_the_model_and_says_so(void **state)
{
	struct world *w = *state;

	assert_non_null(strstr(summed_up(w, "/v1", "data.summary"), "In short: The harbour fleet"));
	assert_string_equal(summed_up(w, "/v1", "data.summarySentences.engine"),
	    "test-model by HTTP; kinothek summary 1, TextRank");
	/* the sentences with their places are found as ever */
	assert_non_null(strstr(summed_up(w, "/v1", "data.summarySentences.items.0.text"), "herring"));
	assert_null(summed_up(w, "/v1", NULL));
	assert_non_null(strstr(peer_log(w, "GET"), "never follow it"));
}

static void
a_summary_is_made_of_sentences_where_the_model_is_of_no_use(void **state)
{
	struct world *w = *state;
	static const char *const paths[] = { "/empty/v1", "/partial/v1", "/nonsense/v1", "/broken/v1", NULL };
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_null(strstr(summed_up(w, paths[i], "data.summary"), "In short"));
		assert_string_equal(summed_up(w, paths[i], "data.summarySentences.engine"),
		    "kinothek summary 1, TextRank");
		if (paths[i] != NULL)
			assert_non_null(strstr(summed_up(w, paths[i], NULL), "without the language model"));
		else
			assert_null(summed_up(w, NULL, NULL));
		db_run(w->db, "DELETE FROM engine_rests", NO_ARGS);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(every_way_of_answering_gives_a_text),
		WORLD_TEST(an_answer_that_is_none_is_explained),
		WORLD_TEST(a_tenant_has_so_many_tokens_a_day),
		WORLD_TEST(what_an_answer_may_cost_is_reserved_until_it_is_there),
		WORLD_TEST(a_server_that_fails_is_left_alone_and_tried_again),
		WORLD_TEST(a_summary_is_written_by_the_model_and_says_so),
		WORLD_TEST(a_summary_is_made_of_sentences_where_the_model_is_of_no_use),
	};

	return cmocka_run_group_tests(tests, sounds_open, sounds_close);
}
