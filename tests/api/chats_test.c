/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/chats: questions are answered by what whoever asks may see at that moment, and read by nobody else. */
#include <string.h>

#include "core/search.h"
#include "core/speakers.h"
#include "tests/world.h"

#define ALL "ViewChannel ViewMetadata"
#define MEDICINE "The physician prescribed a remedy against the infection, and the patient recovered."
#define RAILWAY "The locomotive pulls its coaches from one railway station to the next."
#define NOTHING "Nothing was found about that in what you may see."
#define NICHTS "Dazu wurde in dem, was Sie sehen d\u00fcrfen, nichts gefunden."
#define DOCTORS "{\"prompt\":\"Which remedy was prescribed against the infection?\"}"

static struct uuid
asset(struct world *w, const char *said)
{
	struct uuid id = world_media(w, "video", "Untitled");

	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)", ARGS(ID(uuid_new()), ID(id),
	    STR(arena_printf(w->mem, "[{\"start\":20,\"end\":30,\"text\":\"%s\"}]", said))));
	world_embed(w, id);
	return id;
}

static struct req *
ask(struct world *w, const char *token, const char *body)
{
	return call_as(w, token, "POST", "/v2/chats", body);
}

static const char *
path_of(struct world *w, const struct req *r, const char *behind)
{
	return arena_printf(w->mem, "/v2/chats/%s%s", text(w, r, "data.id"), behind);
}

static void
a_question_is_answered_by_what_is_said(void **state)
{
	struct world *w = *state;
	struct uuid medicine = asset(w, MEDICINE);
	struct req *r;

	asset(w, RAILWAY);
	r = ask(w, w->token, DOCTORS);
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.status"), "completed");
	assert_string_equal(text(w, r, "data.engine"), "kinothek passages 1");
	assert_null(text(w, r, "data.warning"));
	assert_non_null(strstr(text(w, r, "data.answer"), "\"" MEDICINE "\" [1]"));
	assert_string_equal(text(w, r, "data.context.0.mediaId"), uuid_text(w->mem, medicine));
	assert_string_equal(text(w, r, "data.context.0.parts.0.text"), MEDICINE);
	assert_string_equal(text(w, r, "data.context.0.parts.0.ref"), "1");
	assert_string_equal(text(w, r, "data.context.0.parts.0.metadata.startTime"), "20.000");
	assert_string_equal(text(w, r, "data.context.0.presentation.name"), "Untitled");
	assert_string_equal(text(w, r, "data.context.0.presentation.type"), "video");
	r = ask(w, w->token, "{\"prompt\":\"qwertz uiop\"}");
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.warning"), "nothing_found");
	assert_string_equal(text(w, r, "data.answer"), NOTHING);
	assert_string_equal(text(w, r, "data.engine"), "kinothek passages 1");
	assert_null(text(w, r, "data.context.0.mediaId"));
	/* What it has in common with all that is said is no answer. */
	r = ask(w, w->token, "{\"prompt\":\"Who was the Qwertzuiop?\"}");
	assert_string_equal(text(w, r, "data.warning"), "nothing_found");
	r = ask(w, w->token, "{\"prompt\":\"the\"}");
	assert_string_equal(text(w, r, "data.context.0.parts.0.text"), MEDICINE);
	assert_int_equal(ask(w, w->token, "{\"prompt\":\"\"}")->status, 422);
	assert_int_equal(ask(w, w->token, "{}")->status, 422);
}

/* With a language model, too: it is not asked what it could only invent. */
static void
that_nothing_is_found_is_said_in_the_language_of_the_question_or_of_the_asker(void **state)
{
	static const struct { const char *prompt, *accepted, *answer; } all[] = {
		{ "Worum geht es in dieser Sitzung des Stadtrats?", "en", NICHTS },
		{ "What was the meeting of the council about?", "de", NOTHING },
		{ "De quoi parle cette r\u00e9union du conseil municipal ?", "de-AT, en;q=0.5", NICHTS },
		{ "De quoi parle cette r\u00e9union du conseil municipal ?", "fr", NOTHING },
		{ "xyzzy", "de", NICHTS }, { "xyzzy", NULL, NOTHING },
	};
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	struct req *r;
	size_t i;

	conf.engine[ENGINE_complete].name = "http";
	w->conf = &conf;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		r = NEW(w->mem, struct req);
		r->accept_language = all[i].accepted;
		call_req(w, r, w->token, "POST", "/v2/chats", arena_printf(w->mem, "{\"prompt\":\"%s\"}",
		    all[i].prompt));
		assert_int_equal(r->status, 201);
		assert_string_equal(text(w, r, "data.status"), "completed");
		assert_string_equal(text(w, r, "data.warning"), "nothing_found");
		assert_string_equal(text(w, r, "data.engine"), "kinothek passages 1");
		assert_string_equal(text(w, r, "data.answer"), all[i].answer);
	}
	assert_int_equal(number(w, "FROM jobs WHERE tenant_id = ? AND kind = 'chat'", ARGS(ID(w->tenant_id))), 0);
	/* Where a server may find something it is said until then, and if no job comes. */
	conf.engine[ENGINE_embed].name = "http";
	conf.engine[ENGINE_embed].model = "test";
	r = ask(w, w->token, "{\"prompt\":\"xyzzy\"}");
	assert_string_equal(text(w, r, "data.status"), "answering");
	assert_string_equal(text(w, r, "data.answer"), NOTHING);
	db_run(w->db, "UPDATE chat_messages m JOIN chats c ON c.id = m.chat_id SET m.created_at = 1 WHERE c.tenant_id "
	    "= ?", ARGS(ID(w->tenant_id)));
	r = call(w, "GET", path_of(w, r, ""), NULL);
	assert_string_equal(text(w, r, "data.status"), "completed");
	assert_string_equal(text(w, r, "data.warning"), "nothing_found");
	w->conf = was;
}

static void
a_chat_has_its_limits_and_goes_on(void **state)
{
	struct world *w = *state;
	struct uuid medicine = asset(w, MEDICINE), railway = asset(w, RAILWAY);
	struct req *r;
	const char *one, *messages;

	r = ask(w, w->token, arena_printf(w->mem, "{\"prompt\":\"Which remedy?\",\"mediaIds\":[\"%s\"]}",
	    uuid_text(w->mem,
	    railway)));
	assert_int_equal(r->status, 201);
	assert_true(text(w, r, "data.context.0.mediaId") == NULL || strcmp(text(w, r, "data.context.0.mediaId"),
	    uuid_text(w->mem, medicine)) != 0);
	one = path_of(w, r, "");
	messages = path_of(w, r, "/messages");
	r = call(w, "POST", messages, "{\"prompt\":\"What pulls the coaches?\"}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.prompt"), "What pulls the coaches?");
	assert_string_equal(text(w, r, "data.context.0.mediaId"), uuid_text(w->mem, railway));
	r = call(w, "GET", messages, NULL);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_non_null(strstr(buf_string(&r->out), "Which remedy?"));
	assert_string_equal(text(w, call(w, "GET", "/v2/chats", NULL), "pagination.total"), "1");
	assert_int_equal(call(w, "DELETE", one, NULL)->status, 200);
	assert_int_equal(call(w, "GET", one, NULL)->status, 404);
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM chat_messages m JOIN chats c ON c.id = m.chat_id WHERE "
	    "c.tenant_id = ?", ARGS(ID(w->tenant_id)), -1), 0);
	r = ask(w, w->token, "{\"prompt\":\"Which remedy?\",\"assetTypes\":[\"document\"]}");
	assert_string_equal(text(w, r, "data.warning"), "nothing_found");
	r = ask(w, w->token, arena_printf(w->mem, "{\"prompt\":\"x\",\"assetTypes\":[\"song\"],\"mediaIds\":[\"%s\"],"
	    "\"channelIds\":[\"%s\"]}", uuid_text(w->mem, uuid_new()), uuid_text(w->mem, uuid_new())));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/assetTypes", "not_allowed"));
	assert_true(has_fault(r, "/mediaIds", "not_allowed"));
	assert_true(has_fault(r, "/channelIds", "not_allowed"));
	r = ask(w, w->token, arena_printf(w->mem, "{\"prompt\":\"x\",\"channelIds\":[\"%s\",\"%s\"]}",
	    uuid_text(w->mem, w->channel_id), uuid_text(w->mem, w->channel_id)));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/channelIds/1", "duplicate"));
}

/* Ada is heard from 19 to 31 s, Bob from 50 to 60 s. */
static void
add_voices(struct world *w, struct uuid media_id, struct uuid speakers[2])
{
	static const char *const names[] = { "Ada", "Bob" };
	struct turn turns[] = { { { 19000, true }, { 31000, true } }, { { 50000, true }, { 60000, true } } };

	for (int i = 0; i < 2; i++) {
		const struct speaker s = { .speaker_id = speakers[i] = speakers_new(w->db, w->tenant_id, media_id),
		    .number = i + 1, .turns = { &turns[i], 1 } };

		speakers_put(w->db, media_id, &s);
		db_run(w->db, "UPDATE speakers SET label = ?, source = 'human' WHERE id = ?", ARGS(STR(names[i]),
		    ID(s.speaker_id)));
	}
}

/* What the asset says is said so often by Bob, too, before anybody else does. */
static void
add_excerpts(struct world *w, struct uuid media_id, int n)
{
	while (n-- > 0)
		db_run(w->db, "INSERT INTO excerpts (media_id, layer, excerpt, engine, start, end, text, meaning, "
		    "plane0, plane1, plane2, plane3) SELECT media_id, layer, ?, engine, 51000, 52000, text, meaning, plane0, "
		    "plane1, plane2, plane3 FROM excerpts WHERE media_id = ? AND layer = ? AND excerpt = 0",
		    ARGS(INT(n + 1), ID(media_id), INT(SEARCH_TRANSCRIPT)));
	db_run(w->db, "UPDATE excerpts SET excerpt = 1000 WHERE media_id = ? AND layer = ? AND excerpt = 0",
	    ARGS(ID(media_id), INT(SEARCH_TRANSCRIPT)));
}

/* In more assets than are weighed by words, in more excerpts than are judged by what they mean, and in hers in more
 * than count. */
static void
what_somebody_says_is_found_among_all_that_others_say(void **state)
{
	static const struct { const char *prompt; bool by_words; } all[] = {
		{ "{\"prompt\":\"remedy\",\"speakers\":[\"Ada\"]}", true },
		{ "{\"prompt\":\"doctors drugs illness\",\"speakers\":[\"Ada\"]}", false },
	};
	struct world *w = *state;
	struct uuid hers = asset(w, MEDICINE), other, speakers[2];
	struct req *r;

	add_voices(w, hers, speakers);
	add_excerpts(w, hers, 60);
	for (int i = 0; i < 31; i++)
		other = asset(w, MEDICINE " Any remedy is a remedy.");
	add_excerpts(w, other, 420);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		/* By the other way alone. */
		db_run(w->db, "UPDATE excerpts SET engine = IF(?, CONCAT(engine, '-'), TRIM(TRAILING '-' FROM engine)) "
		    "WHERE media_id = ?", ARGS(INT(all[i].by_words), ID(hers)));
		r = ask(w, w->token, all[i].prompt);
		if (text(w, r, "data.context.0.mediaId") == NULL)
			fail_msg("%s: %s", all[i].prompt, buf_string(&r->out));
		assert_string_equal(text(w, r, "data.context.0.mediaId"), uuid_text(w->mem, hers));
		assert_string_equal(text(w, r, "data.context.0.parts.0.metadata.startTime"), "20.000");
		assert_null(text(w, r, "data.context.0.parts.1.text"));
		assert_null(text(w, r, "data.context.1.mediaId"));
	}
	/* In the assets that are named, still. */
	r = ask(w, w->token, arena_printf(w->mem, "{\"prompt\":\"remedy\",\"speakers\":[\"Ada\"],"
	    "\"mediaIds\":[\"%s\"]}", uuid_text(w->mem, other)));
	assert_string_equal(text(w, r, "data.warning"), "nothing_found");
}

static void
only_what_somebody_says_counts_where_that_is_asked(void **state)
{
	struct world *w = *state;
	struct uuid medicine = asset(w, MEDICINE);
	struct uuid speakers[2];
	struct req *r;

	add_voices(w, medicine, speakers);
	r = ask(w, w->token, "{\"prompt\":\"Which remedy?\",\"speakers\":[\"Ada\"]}");
	assert_string_equal(text(w, r, "data.context.0.mediaId"), uuid_text(w->mem, medicine));
	r = ask(w, w->token, "{\"prompt\":\"Which remedy?\",\"speakers\":[\"Bob\"]}");
	assert_string_equal(text(w, r, "data.warning"), "nothing_found");
	/* As soon as the name is to be forgotten, before a job has taken it from here; of a part of somebody, too. */
	db_run(w->db, "INSERT INTO voices (id, tenant_id, takes_names, created_at) VALUES (?, ?, 1, 1)",
	    ARGS(ID(medicine), ID(w->tenant_id)));
	for (int i = 0; i < 2; i++) {
		db_run(w->db, "UPDATE speakers SET voice_id = ? WHERE media_id = ? AND label = 'Ada'",
		    ARGS(ID(medicine), ID(medicine)));
		r = ask(w, w->token, "{\"prompt\":\"Which remedy?\",\"speakers\":[\"Ada\"]}");
		assert_string_equal(text(w, r, "data.warning"), "nothing_found");
		/* Then Ada is the other one, and a part of that says it. */
		db_run(w->db, "UPDATE speakers SET label = CASE label WHEN 'Ada' THEN NULL ELSE 'Ada' END, "
		    "voice_id = NULL, merged_into = IF(label = 'Ada', NULL, ?) WHERE media_id = ?", ARGS(ID(speakers[1]), ID(medicine)));
		r = ask(w, w->token, "{\"prompt\":\"Which remedy?\",\"speakers\":[\"Ada\"]}");
		assert_string_equal(text(w, r, "data.context.0.mediaId"), uuid_text(w->mem, medicine));
	}
}

/* Rights are those of the moment of each question. */
static void
nobody_is_answered_by_what_they_may_not_see(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid principal, secret = asset(w, MEDICINE);
	const char *member = world_member(w, ALL, "Viewer", &principal), *stranger = world_member(w, ALL, NULL,
	    NULL), *more;
	struct req *r = ask(w, member, DOCTORS);

	asset(other, MEDICINE);
	assert_string_equal(text(w, r, "data.context.0.mediaId"), uuid_text(w->mem, secret));
	assert_null(text(w, r, "data.context.1.mediaId"));
	more = path_of(w, r, "/messages");
	assert_string_equal(text(w, ask(w, stranger, DOCTORS), "data.warning"), "nothing_found");
	world_role(w, w->channel_id, principal, NULL);
	r = call_as(w, member, "POST", more, DOCTORS);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.warning"), "nothing_found");
	r = ask(w, stranger, arena_printf(w->mem, "{\"prompt\":\"x\",\"mediaIds\":[\"%s\"]}", uuid_text(w->mem,
	    secret)));
	assert_int_equal(r->status, 422);
}

static void
a_chat_is_read_by_nobody_else(void **state)
{
	struct world *w = *state;
	const char *mine = world_member(w, ALL, "Viewer", NULL), *theirs = world_member(w, ALL, "Channel Owner",
	    NULL), *one,
	    *messages;
	struct req *r = ask(w, mine, DOCTORS);

	one = path_of(w, r, "");
	messages = path_of(w, r, "/messages");
	assert_int_equal(call_as(w, mine, "GET", one, NULL)->status, 200);
	assert_int_equal(call_as(w, theirs, "GET", one, NULL)->status, 404);
	assert_int_equal(call_as(w, theirs, "GET", messages, NULL)->status, 404);
	/* nor by who may do anything else */
	assert_int_equal(call(w, "GET", one, NULL)->status, 404);
	assert_int_equal(call(w, "DELETE", one, NULL)->status, 404);
	assert_int_equal(call(w, "POST", messages, DOCTORS)->status, 404);
	assert_string_equal(text(w, call(w, "GET", "/v2/chats", NULL), "pagination.total"), "0");
}

/* What was answered is told as long as the assets that it refers to are seen, in every place where it stands. */
static void
an_answer_goes_with_the_right_to_see_its_assets(void **state)
{
	struct world *w = *state;
	struct uuid principal, id = asset(w, MEDICINE);
	const char *member = world_member(w, ALL, "Viewer", &principal), *one, *messages;
	struct req *r = ask(w, member, DOCTORS), *all[3];
	int i, round;

	one = path_of(w, r, "");
	messages = path_of(w, r, "/messages");
	for (round = 0; round < 3; round++) {
		if (round == 1)
			world_role(w, w->channel_id, principal, NULL);
		if (round == 2) {
			world_role(w, w->channel_id, principal, "Viewer");
			assert_non_null(strstr(buf_string(&call_as(w, member, "GET", one, NULL)->out), "physician"));
			db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(id)));
		}
		all[0] = call_as(w, member, "GET", one, NULL);
		all[1] = call_as(w, member, "GET", "/v2/chats", NULL);
		all[2] = call_as(w, member, "GET", messages, NULL);
		for (i = 0; i < 3; i++) {
			assert_int_equal(all[i]->status, 200);
			assert_int_equal(strstr(buf_string(&all[i]->out), "physician") == NULL, round > 0);
			assert_int_equal(strstr(buf_string(&all[i]->out), "\"withheld\"") != NULL, round > 0);
		}
	}
}

/* Whoever has kept the answer hears that it is another one now, and once more when the right comes back. */
static void
a_withheld_answer_is_another_one(void **state)
{
	struct world *w = *state;
	struct uuid principal;
	const char *member, *one, *tag;
	struct req *r;
	int i;

	asset(w, MEDICINE);
	member = world_member(w, ALL, "Viewer", &principal);
	one = path_of(w, ask(w, member, DOCTORS), "");
	for (i = 0; i < 2; i++) {
		tag = call_as(w, member, "GET", one, NULL)->etag;
		r = NEW(w->mem, struct req);
		r->if_none_match = tag;
		assert_int_equal(call_req(w, r, member, "GET", one, NULL)->status, 304);
		world_role(w, w->channel_id, principal, i == 0 ? NULL : "Viewer");
		r = NEW(w->mem, struct req);
		r->if_none_match = tag;
		assert_int_equal(call_req(w, r, member, "GET", one, NULL)->status, 200);
		assert_int_equal(strstr(buf_string(&r->out), "\"withheld\"") != NULL, i == 0);
	}
}

/* A question, an answer, and that nobody has answered in time. */
static void
a_chat_is_another_one_after_each_change_and_is_deleted_only_as_it_was_read(void **state)
{
	static const char *const changes[] = {
		"UPDATE chat_messages m JOIN chats c ON c.id = m.chat_id SET m.created_at = 1 WHERE c.tenant_id = ?",
		"UPDATE chat_messages m JOIN chats c ON c.id = m.chat_id SET m.status = 'completed', m.answer = 'x', c.version = "
		"c.version + 1 WHERE c.tenant_id = ?",
	};
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	const char *one, *tag, *first;
	struct req *r;
	size_t i;

	asset(w, MEDICINE);
	conf.engine[ENGINE_complete].name = "http";
	w->conf = &conf;
	one = path_of(w, ask(w, w->token, DOCTORS), "");
	w->conf = was;
	first = tag = call(w, "GET", one, NULL)->etag;
	for (i = 0; i < 3; i++) {
		r = NEW(w->mem, struct req);
		r->if_none_match = tag;
		assert_int_equal(call_req(w, r, w->token, "GET", one, NULL)->status, 304);
		if (i == 2)
			call(w, "POST", arena_printf(w->mem, "%s/messages", one), DOCTORS);
		else
			db_run(w->db, changes[i], ARGS(ID(w->tenant_id)));
		r = NEW(w->mem, struct req);
		r->if_none_match = tag;
		assert_int_equal(call_req(w, r, w->token, "GET", one, NULL)->status, 200);
		tag = r->etag;
	}
	r = NEW(w->mem, struct req);
	r->if_match = first;
	assert_int_equal(call_req(w, r, w->token, "DELETE", one, NULL)->status, 412);
	r = NEW(w->mem, struct req);
	r->if_match = tag;
	assert_int_equal(call_req(w, r, w->token, "DELETE", one, NULL)->status, 200);
}

static void
refused(const struct req *r, const char *code)
{
	assert_int_equal(r->status, 409);
	assert_non_null(strstr(buf_string(&r->out), code));
}

static void
there_are_so_many_chats_and_open_questions(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	int i;

	asset(w, MEDICINE);
	conf.engine[ENGINE_complete].name = "http";
	w->conf = &conf;
	for (i = 0; i < 3; i++)
		assert_string_equal(text(w, ask(w, w->token, DOCTORS), "data.status"), "answering");
	refused(ask(w, w->token, DOCTORS), "too_many_questions");
	/* What nobody answers keeps its quotes. */
	db_run(w->db, "UPDATE chat_messages m JOIN chats c ON c.id = m.chat_id SET m.created_at = 1 WHERE c.tenant_id "
	    "= ?",
	    ARGS(ID(w->tenant_id)));
	assert_string_equal(text(w, call(w, "GET", "/v2/chats", NULL), "data.0.status"), "completed");
	assert_string_equal(text(w, call(w, "GET", "/v2/chats", NULL), "data.0.warning"), "model_unavailable");
	w->conf = was;
	for (i = 3; i < 500; i++)
		db_run(w->db, "INSERT INTO chats (id, tenant_id, principal_id, message_id, created_at, updated_at) "
		    "VALUES (?, ?, "
		    "?, ?, 1, 1)", ARGS(ID(uuid_new()), ID(w->tenant_id), ID(w->client_id), ID(uuid_new())));
	refused(ask(w, w->token, DOCTORS), "too_many_chats");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_question_is_answered_by_what_is_said),
		WORLD_TEST(that_nothing_is_found_is_said_in_the_language_of_the_question_or_of_the_asker),
		WORLD_TEST(a_chat_has_its_limits_and_goes_on),
		WORLD_TEST(what_somebody_says_is_found_among_all_that_others_say),
		WORLD_TEST(only_what_somebody_says_counts_where_that_is_asked),
		WORLD_TEST(nobody_is_answered_by_what_they_may_not_see),
		WORLD_TEST(a_chat_is_read_by_nobody_else),
		WORLD_TEST(an_answer_goes_with_the_right_to_see_its_assets),
		WORLD_TEST(a_withheld_answer_is_another_one),
		WORLD_TEST(a_chat_is_another_one_after_each_change_and_is_deleted_only_as_it_was_read),
		WORLD_TEST(there_are_so_many_chats_and_open_questions),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
