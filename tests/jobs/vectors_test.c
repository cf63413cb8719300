/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers that find out what texts mean: what they answer is taken or explained, and what they do not tell is found by
 * the built-in engine. */
#include <string.h>

#include "core/allowance.h"
#include "core/question.h"
#include "jobs/engines/excerpt.h"
#include "tests/jobs/sounds.h"

static const char *const texts[] = { "A doctor", "A train", "Dough and yeast" };

static struct excerpt
asking(struct world *w, const struct conf *conf)
{
	return (struct excerpt){ .mem = w->mem, .conf = conf, .texts = texts, .n = 3 };
}

/* To which of the three texts does the vector of the i-th belong? */
static size_t
nearest(struct world *w, const struct excerpt *x, size_t i)
{
	struct excerpt one = asking(w, with_peer(w, "/v1"));
	size_t k, best = 0;

	assert_int_equal(engine_embed_http.run.embed(&one), DONE);
	for (k = 1; k < 3; k++)
		if (meaning_cosine(&x->meanings[i], &one.meanings[k]) >
		    meaning_cosine(&x->meanings[i], &one.meanings[best]))
			best = k;
	assert_true(meaning_cosine(&x->meanings[i], &one.meanings[best]) > 0.99);
	return best;
}

static void
every_way_of_answering_gives_vectors_in_order(void **state)
{
	struct world *w = *state;
	static const char *const paths[] = { "", "/v1/", "/v1/embeddings", "/busy/v1", "/bytes/v1", "/reordered/v1" };
	struct excerpt x;
	size_t i, k;
	bool again;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		x = asking(w, with_peer(w, paths[i]));
		if (engine_chosen(x.conf, ENGINE_embed)->run.embed(&x) != DONE)
			fail_msg("%s: %s", paths[i], x.fault.detail);
		again = strstr(paths[i], "busy") != NULL;
		assert_int_equal(x.requests, 1 + again);
		assert_int_equal(x.tokens, 7 + (again ? excerpt_size(&x) : 0));
		for (k = 0; k < 3; k++) {
			assert_int_equal(x.meanings[k].n, 256);
			assert_int_equal(nearest(w, &x, k), k);
		}
	}
	assert_non_null(strstr(peer_log(w, "GET"), "\"authorization\":\"Bearer secret\""));
	assert_non_null(strstr(peer_log(w, "GET"), "\"model\":\"test-model\""));
}

static void
an_answer_that_is_none_is_explained(void **state)
{
	struct world *w = *state;
	static const struct { const char *path; enum outcome outcome; } cases[] = {
		{ "/short/v1", GIVE_UP }, { "/twice/v1", GIVE_UP }, { "/mixed/v1", GIVE_UP }, { "/nan/v1", GIVE_UP },
		{ "/zero/v1", GIVE_UP }, { "/vast/v1", GIVE_UP }, { "/nonsense/v1", GIVE_UP }, { "/denied/v1", GIVE_UP },
		{ "/nothing", GIVE_UP }, { "/broken/v1", RETRY }, { "/hang/v1", RETRY },
	};
	struct conf c;
	struct excerpt x;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c = *with_peer(w, cases[i].path);
		c.engine[ENGINE_embed].timeout = 1;
		x = asking(w, &c);
		if (engine_embed_http.run.embed(&x) != cases[i].outcome || x.meanings != NULL)
			fail_msg("%s: %s", cases[i].path, x.fault.detail);
		assert_non_null(x.fault.detail);
		assert_int_equal(x.fault.reason, cases[i].outcome == RETRY ? REASON_ENGINE_UNAVAILABLE :
		    REASON_ENGINE_REFUSED);
	}
}

static struct job
job_of(struct world *w, const struct conf *conf, struct uuid media_id)
{
	struct embed_args *in = NEW(w->mem, struct embed_args);

	in->media_id = media_id;
	return (struct job){ .mem = w->mem, .db = w->db, .conf = conf, .in = in, .id = uuid_new(),
	    .tenant_id = w->tenant_id, .attempt = 1, .max_attempts = 1 };
}

static void
a_tenant_has_so_many_tokens_a_day_and_a_server_that_fails_is_left_alone(void **state)
{
	struct world *w = *state;
	struct conf c = *with_peer(w, "/v1");
	struct job j = job_of(w, &c, uuid_new());
	struct excerpt x = asking(w, &c);
	int i;

	c.engine[ENGINE_embed].daily_tokens = 15;
	assert_true(excerpt_ask(&j, &x));
	assert_false(excerpt_ask(&j, &x));
	assert_non_null(strstr(x.fault.detail, "used up"));
	c = *with_peer(w, "/broken/v1");
	for (i = 0; i < ALLOWANCE_FAILURES; i++)
		assert_false(excerpt_ask(&j, &x));
	peer_log(w, "DELETE");
	assert_false(excerpt_ask(&j, &x));
	assert_non_null(strstr(x.fault.detail, "left alone"));
	assert_string_equal(peer_log(w, "GET"), "[]");
	db_run(w->db, "DELETE FROM engine_rests", NO_ARGS);
}

static struct uuid
asset(struct world *w, const char *said)
{
	struct uuid id = world_media(w, "video", "Untitled");

	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)",
	    ARGS(ID(uuid_new()), ID(id),
	    STR(arena_printf(w->mem, "[{\"start\":20,\"end\":30,\"text\":\"%s\"}]", said))));
	world_index(w, id);
	return id;
}

static int64_t
served(struct world *w, struct uuid id, const char *by)
{
	return number(w, "FROM excerpts WHERE media_id = ? AND served_by = ? AND LENGTH(served_meaning) = 256",
	    ARGS(ID(id), STR(by)));
}

/* The job, whose database has no transaction of a runner. */
static enum outcome
embed(struct world *w, const struct conf *conf, struct uuid id)
{
	struct job j = job_of(w, conf, id);

	return embed_run(&j);
}

static void
a_server_that_is_of_no_use_leaves_the_built_in_vectors(void **state)
{
	struct world *w = *state;
	static const char *const paths[] = { "/nan/v1", "/short/v1", "/vast/v1", "/denied/v1" };
	struct uuid id = asset(w, "The physician prescribed a remedy.");
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(embed(w, with_peer(w, paths[i]), id), DONE);
		assert_int_equal(served(w, id, "test-model by HTTP"), 0);
		assert_int_equal(number(w, "FROM excerpts WHERE media_id = ? AND layer = 4 AND LENGTH(meaning) > 1000",
		    ARGS(ID(id))), 1);
	}
	assert_int_equal(embed(w, with_peer(w, "/v1"), id), DONE);
	assert_int_equal(served(w, id, "test-model by HTTP"), 2);
}

/* A member of the first asset that is like the one. */
static const char *
like(struct world *w, const struct conf *conf, struct uuid id, const char *member)
{
	const struct conf *own = w->conf;
	struct req *r;

	w->conf = conf;
	r = call(w, "GET", arena_printf(w->mem, "/v2/search/semantic?fields=transcript&mediaId=%s",
	    uuid_text(w->mem, id)), NULL);
	w->conf = own;
	assert_int_equal(r->status, 200);
	return text(w, r, member);
}

static void
each_asset_is_found_by_what_has_vectors_of_it_and_models_never_mix(void **state)
{
	struct world *w = *state;
	const struct conf *c = with_peer(w, "/v1");
	struct conf other = *c;
	struct uuid seed = asset(w, "The physician prescribed a remedy against the infection."),
	    near = asset(w, "Drugs help the sick, a doctor says."),
	    built_in = asset(w, "A physician prescribed a remedy.");

	other.engine[ENGINE_embed].model = "other-model";
	embed(w, c, seed);
	embed(w, c, near);
	embed(w, w->conf, built_in);
	assert_string_equal(like(w, c, seed, "data.0.id"), uuid_text(w->mem, near));
	assert_string_equal(like(w, c, seed, "data.0.passages.0.engine"), "test-model by HTTP");
	assert_string_equal(like(w, c, seed, "data.1.id"), uuid_text(w->mem, built_in));
	assert_string_equal(like(w, c, seed, "data.1.passages.0.engine"), meaning_glosses_name(w->mem));
	/* without a server, and by one that has made none, all is as it was */
	assert_string_equal(like(w, w->conf, seed, "data.0.passages.0.engine"), meaning_glosses_name(w->mem));
	assert_string_equal(like(w, &other, seed, "data.0.passages.0.engine"), meaning_glosses_name(w->mem));
	embed(w, &other, near);
	assert_int_equal(served(w, near, "other-model by HTTP"), 2);
	assert_int_equal(served(w, near, "test-model by HTTP"), 0);
	/* of the same length, and not compared */
	assert_string_equal(like(w, c, near, "data.0.passages.0.engine"), meaning_glosses_name(w->mem));
}

/* A member of what is told of the first asset that is found by words. */
static const char *
by_words(struct world *w, const struct conf *conf, const char *words, const char *member)
{
	const struct conf *own = w->conf;
	struct req *r;

	w->conf = conf;
	r = call(w, "GET", arena_printf(w->mem, "/v2/search/semantic?fields=transcript&text=%s",
	    percent_encode(w->mem, words)), NULL);
	w->conf = own;
	assert_int_equal(r->status, 200);
	return text(w, r, member);
}

/* Of the only question that waits. */
static void
answer(struct world *w, const struct conf *conf)
{
	struct question_args *in = NEW(w->mem, struct question_args);
	struct job j = job_of(w, conf, uuid_new());

	in->engine = db_text(w->db, "SELECT engine FROM questions WHERE tenant_id = ? AND meaning IS NULL",
	    ARGS(ID(w->tenant_id)));
	in->digest = db_text(w->db, "SELECT digest FROM questions WHERE tenant_id = ? AND meaning IS NULL",
	    ARGS(ID(w->tenant_id)));
	j.in = in;
	assert_int_equal(question_run(&j), DONE);
}

static void
a_question_is_asked_by_a_job_and_found_by_its_vector_from_then_on(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const struct conf *c = with_peer(w, "/v1");
	struct uuid id = asset(w, "The physician prescribed a remedy against the infection."), foreign = asset(other,
	    "The physician prescribed a remedy against the infection.");
	const char *q = "doctors who cure illness", *engine = "data.0.passages.0.engine";
	struct conf changed = *c;

	embed(w, c, id);
	embed(other, c, foreign);
	assert_string_equal(by_words(w, c, q, engine), meaning_glosses_name(w->mem));
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'question' AND tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
	by_words(w, c, " doctors  who cure illness ", engine);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'question' AND tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
	assert_string_equal(by_words(other, c, q, engine), meaning_glosses_name(w->mem));
	/* a server that does not say it leaves it to the next who asks */
	answer(w, with_peer(w, "/nan/v1"));
	assert_int_equal(number(w, "FROM questions WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	by_words(w, c, q, engine);
	/* nor does another model say what this one would */
	changed.engine[ENGINE_embed].model = "other-model";
	answer(w, &changed);
	assert_int_equal(number(w, "FROM questions WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	by_words(w, c, q, engine);
	answer(w, c);
	assert_string_equal(by_words(w, c, q, engine), "test-model by HTTP");
	assert_string_equal(by_words(w, c, q, "data.0.id"), uuid_text(w->mem, id));
	assert_int_equal(number(w, "FROM questions WHERE tenant_id = ? AND text IS NULL", ARGS(ID(w->tenant_id))), 1);
	/* another tenant has none of it, though it asks the same */
	assert_int_equal(number(w, "FROM questions WHERE tenant_id = ? AND meaning IS NULL",
	    ARGS(ID(other->tenant_id))), 1);
	assert_string_equal(by_words(other, c, q, engine), meaning_glosses_name(w->mem));
	assert_string_equal(by_words(w, w->conf, q, engine), meaning_glosses_name(w->mem));
}

static void
few_wait_for_a_question(void **state)
{
	struct world *w = *state;
	int i;

	db_run(w->db, "DELETE FROM questions", NO_ARGS);
	for (i = 0; i < QUESTION_WAITERS; i++)
		assert_true(question_ask(w->db, w->tenant_id, "x", arena_printf(w->mem, "question %d", i)));
	assert_false(question_ask(w->db, w->tenant_id, "x", "one more"));
	assert_false(question_ask(w->db, w->tenant_id, "x", "question 0"));
	db_run(w->db, "DELETE FROM questions", NO_ARGS);
}

static void
a_text_that_changes_loses_its_vector_and_another_model_makes_all_anew(void **state)
{
	struct world *w = *state;
	const struct conf *c = with_peer(w, "/v1");
	struct uuid id = asset(w, "The physician prescribed a remedy.");
	struct excerpt_engines engines = { meaning_glosses_name(w->mem), "test-model by HTTP" };

	assert_int_equal(embed(w, c, id), DONE);
	excerpts_follow(w->db, id, engines);
	assert_int_equal(number(w, "FROM excerpt_runs WHERE media_id = ? AND wanted_at IS NOT NULL", ARGS(ID(id))), 0);
	db_run(w->db, "UPDATE transcripts SET paragraphs = REPLACE(paragraphs, 'remedy', 'train') WHERE media_id = ?",
	    ARGS(ID(id)));
	world_index(w, id);
	assert_int_equal(embed(w, w->conf, id), DONE);
	assert_int_equal(served(w, id, "test-model by HTTP"), 1);
	engines.served = "other by HTTP";
	excerpts_follow(w->db, id, engines);
	assert_int_equal(number(w, "FROM excerpt_runs WHERE media_id = ? AND wanted_at IS NOT NULL", ARGS(ID(id))), 1);
}

static int64_t
wanted(struct world *w, struct uuid id)
{
	return number(w, "FROM excerpt_runs WHERE media_id = ? AND wanted_at IS NOT NULL", ARGS(ID(id)));
}

static void
choose(struct world *w, const char *model)
{
	db_run(w->db, "UPDATE tenants SET embed_model = ? WHERE id = ?", ARGS(STR(model), ID(w->tenant_id)));
}

/* By the job that follows a choice: assets of the tenant alone, and of them those that have no vectors of it. */
static void
reembed(struct world *w, const struct conf *conf)
{
	struct job j = job_of(w, conf, uuid_new());

	db_run(w->db, "UPDATE excerpt_runs SET wanted_at = NULL", NO_ARGS);
	assert_int_equal(reembed_run(&j), DONE);
}

/* Another than that of the settings, or none; what it has is looked for, and asked. */
static void
a_tenant_has_the_model_of_its_choice(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct conf c = *with_peer(w, "/v1");
	struct uuid seed = asset(w, "The physician prescribed a remedy against the infection."),
	    near = asset(w, "Drugs help the sick, a doctor says."), foreign = asset(other, "A train.");

	c.engine[ENGINE_embed].models = "other-model";
	embed(w, &c, seed);
	choose(w, "other-model");
	/* also what may be recovered */
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(seed)));
	reembed(w, &c);
	assert_int_equal(wanted(w, seed) + wanted(w, near), 2);
	db_run(w->db, "UPDATE media SET deleted_at = 0 WHERE id = ?", ARGS(ID(seed)));
	assert_int_equal(wanted(w, foreign), 0);
	peer_log(w, "DELETE");
	embed(w, &c, seed);
	embed(w, &c, near);
	embed(other, &c, foreign);
	assert_int_equal(served(w, seed, "other-model by HTTP"), 2);
	assert_int_equal(served(w, foreign, "test-model by HTTP"), 2);
	assert_int_equal(occurrences(peer_log(w, "GET"), "\"model\":\"other-model\""), 2);
	assert_string_equal(like(w, &c, seed, "data.0.id"), uuid_text(w->mem, near));
	assert_string_equal(like(w, &c, seed, "data.0.passages.0.engine"), "other-model by HTTP");
	by_words(w, &c, "doctors who cure illness", "data.0.id");
	peer_log(w, "DELETE");
	answer(w, &c);
	assert_int_equal(occurrences(peer_log(w, "GET"), "\"model\":\"other-model\""), 1);
	assert_string_equal(by_words(w, &c, "doctors who cure illness", "data.0.passages.0.engine"),
	    "other-model by HTTP");
	reembed(w, &c);
	assert_int_equal(wanted(w, seed) + wanted(w, near), 0);
	/* What the operator offers no more counts for nothing, and who wants no server has none. */
	choose(w, "gone-model");
	embed(w, &c, near);
	assert_int_equal(served(w, near, "test-model by HTTP"), 2);
	choose(w, "none");
	peer_log(w, "DELETE");
	embed(w, &c, asset(w, "Dough and yeast."));
	by_words(w, &c, "what bakers do", "data.0.id");
	assert_string_equal(like(w, &c, near, "data.0.passages.0.engine"), meaning_glosses_name(w->mem));
	assert_string_equal(peer_log(w, "GET"), "[]");
	assert_int_equal(number(w, "FROM questions WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
}

/* Two models that take turns: that of the first half passes for nobody's. */
static void
an_asset_that_one_model_has_begun_is_not_done_by_another(void **state)
{
	struct world *w = *state;
	const struct conf *c = with_peer(w, "/v1");
	struct uuid id = asset(w, "The physician prescribed a remedy.");
	const struct excerpt_engines engines = { meaning_glosses_name(w->mem), "test-model by HTTP" };
	const struct excerpt_unserved *e;
	struct excerpt x = { .mem = w->mem, .conf = c, .texts = texts, .n = 1 };
	size_t n;

	embed(w, c, id);
	assert_int_equal(engine_embed_http.run.embed(&x), DONE);
	e = excerpts_unserved(w->db, w->mem, id, "other by HTTP", &n);
	assert_true(excerpts_serve(w->db, id, excerpts_begin(w->db, id), "other by HTTP", e, x.meanings, 1));
	assert_int_equal(served(w, id, "test-model by HTTP"), 1);
	db_run(w->db, "UPDATE excerpt_runs SET wanted_at = NULL", NO_ARGS);
	excerpts_follow(w->db, id, engines);
	assert_int_equal(wanted(w, id), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(every_way_of_answering_gives_vectors_in_order),
		WORLD_TEST(an_answer_that_is_none_is_explained),
		WORLD_TEST(a_tenant_has_so_many_tokens_a_day_and_a_server_that_fails_is_left_alone),
		WORLD_TEST(a_server_that_is_of_no_use_leaves_the_built_in_vectors),
		WORLD_TEST(each_asset_is_found_by_what_has_vectors_of_it_and_models_never_mix),
		WORLD_TEST(a_question_is_asked_by_a_job_and_found_by_its_vector_from_then_on),
		WORLD_TEST(few_wait_for_a_question),
		WORLD_TEST(a_tenant_has_the_model_of_its_choice),
		WORLD_TEST(an_asset_that_one_model_has_begun_is_not_done_by_another),
		WORLD_TEST(a_text_that_changes_loses_its_vector_and_another_model_makes_all_anew),
	};

	return cmocka_run_group_tests(tests, sounds_open, sounds_close);
}
