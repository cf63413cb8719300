/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POST /v2/chats/stream: an answer is told when it is there, to who may still see it, and each stream has an end. */
#include <string.h>
#include <unistd.h>

#include "tests/api/listeners.h"

enum { MEMORY = 64 << 20 };
#define ALL "ViewChannel ViewMetadata"
#define MEDICINE "The physician prescribed a remedy against the infection, and the patient recovered."
#define BODY "{\"prompt\":\"Which remedy was prescribed against the infection?\"}"
#define PATH "/v2/chats/stream"

static struct uuid
asset(struct world *w)
{
	struct uuid id = world_media(w, "video", "Untitled");

	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', "
	    "'[{\"start\":20,\"end\":30,\"text\":\"" MEDICINE "\"}]', 1, 1)", ARGS(ID(uuid_new()), ID(id)));
	world_embed(w, id);
	return id;
}

static int64_t
chats(struct world *w)
{
	return db_number(w->db, "SELECT COUNT(*) FROM chats WHERE tenant_id = ?", ARGS(ID(w->tenant_id)), -1);
}

/* What comes behind the first message with that, up to and with `until`. */
static const char *
behind(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	assert_non_null(at);
	return at + strlen(what);
}

static void
without_a_model_the_answer_is_told_at_once(void **state)
{
	struct world *w = *state;
	struct req *r;
	const char *out;

	asset(w);
	r = call(w, "POST", PATH, BODY);
	assert_int_equal(r->status, 200);
	assert_string_equal(r->answer_type, "text/event-stream");
	out = behind(buf_string(&r->out), "event: chat\ndata: {\"id\":");
	out = behind(out, "\n\ndata: {\"Token\":\"");
	assert_null(strstr(out, "event: "));
	/* Cut behind blanks, the rest behind them. */
	out = behind(out, "\",\"isComplete\":false}\n\ndata: {\"Token\":\"");
	assert_string_equal(behind(out, "[1]\",\"isComplete\":false}\n\n"),
	    "data: {\"Token\":\"\",\"isComplete\":true}\n\n");
	assert_int_equal(chats(w), 1);
	assert_int_equal(call(w, "POST", PATH, "{\"prompt\":\"\"}")->status, 422);
	assert_int_equal(call(w, "GET", PATH, NULL)->status, 405);
}

struct scene { struct streams *s; struct conf conf; const struct conf *was; };

/* With a model, which nobody runs: the test answers. */
static void
begin(struct world *w, struct scene *c)
{
	c->was = w->conf;
	c->conf = *w->conf;
	c->conf.engine[ENGINE_complete].name = "http";
	w->conf = &c->conf;
	c->s = streams_new(w->conf, w->db, arena_new(MEMORY));
}

static void
finish(struct world *w, struct scene *c)
{
	streams_free(c->s);
	db_use(w->db, w->mem);
	w->conf = c->was;
}

/* The stream of a question. */
static int
asked(struct world *w, const struct scene *c, const char *token)
{
	return listener_open(w, c->s, (struct listener){ .token = token, .uri = PATH, .body = BODY });
}

static void
is_answered(struct world *w, const char *answer, const char *warning)
{
	db_run(w->db, "UPDATE chat_messages m JOIN chats c ON c.id = m.chat_id SET m.status = 'completed', m.answer = "
	    "?, m.warning = ? WHERE c.tenant_id = ?", ARGS(STR(answer), STR(warning), ID(w->tenant_id)));
}

/* Further turns of the program, in which something had been told if there was something. */
static void
go_on(struct scene *c)
{
	int i;

	for (i = 0; i < 10; i++) {
		clock_goes_on(300);
		streams_attend(c->s);
	}
	clock_set_back();
}

static void
an_answer_is_told_when_it_is_there_and_ends_the_stream(void **state)
{
	struct world *w = *state;
	struct scene c;
	const char *told;
	int fd;

	asset(w);
	begin(w, &c);
	fd = asked(w, &c, w->token);
	told = listener_hears(w, c.s, fd, "\"status\":\"answering\"");
	assert_null(strstr(told, "Token"));
	/* What else happens in the tenant is not its affair. */
	world_media(w, "video", "Another");
	go_on(&c);
	is_answered(w, "They took a remedy. [1]", NULL);
	told = listener_hears(w, c.s, fd, "\"isComplete\":true}");
	assert_null(strstr(told, "media."));
	assert_non_null(strstr(told, "event: chat\ndata: {\"id\":"));
	assert_non_null(strstr(told, "data: {\"Token\":\"They took a remedy. [1]\",\"isComplete\":false}\n\n"
	    "data: {\"Token\":\"\",\"isComplete\":true}"));
	go_on(&c);
	assert_true(listener_is_dropped(fd));
	close(fd);
	finish(w, &c);
}

static void
a_model_that_fails_leaves_the_quotes_and_says_so(void **state)
{
	struct world *w = *state;
	struct scene c;
	const char *told;
	int fd;

	asset(w);
	begin(w, &c);
	fd = asked(w, &c, w->token);
	db_run(w->db, "UPDATE chat_messages m JOIN chats c ON c.id = m.chat_id SET m.status = 'completed', m.warning = "
	    "'model_unavailable' WHERE c.tenant_id = ?", ARGS(ID(w->tenant_id)));
	told = listener_hears(w, c.s, fd, "\"isComplete\":true}");
	assert_non_null(strstr(told, "\"warning\":\"model_unavailable\""));
	assert_non_null(strstr(told, "[1]\",\"isComplete\":false}"));
	close(fd);
	/* Nor does one wait longer than patience lasts. */
	fd = asked(w, &c, w->token);
	db_run(w->db, "UPDATE chat_messages m JOIN chats c ON c.id = m.chat_id SET m.created_at = 1 WHERE "
	    "c.tenant_id = ?", ARGS(ID(w->tenant_id)));
	listener_hears(w, c.s, fd, "\"isComplete\":true}");
	close(fd);
	finish(w, &c);
}

/* Before the answer is there, and also when both come together. */
static void
who_loses_the_right_meanwhile_is_told_nothing_more(void **state)
{
	struct world *w = *state;
	struct uuid principal;
	const char *member = world_member(w, ALL, "Viewer", &principal), *told;
	struct scene c;
	int fd, i;

	asset(w);
	begin(w, &c);
	for (i = 0; i < 2; i++) {
		world_role(w, w->channel_id, principal, "Viewer");
		fd = asked(w, &c, member);
		world_role(w, w->channel_id, principal, NULL);
		if (i == 1)
			is_answered(w, "They took a remedy. [1]", NULL);
		told = listener_hears(w, c.s, fd, "event: end\ndata: {\"reason\":\"forbidden\"}");
		assert_null(strstr(told, "Token"));
		go_on(&c);
		assert_true(listener_is_dropped(fd));
		close(fd);
	}
	finish(w, &c);
}

static void
a_chat_that_is_deleted_ends_its_stream(void **state)
{
	struct world *w = *state;
	struct scene c;
	int fd;

	asset(w);
	begin(w, &c);
	fd = asked(w, &c, w->token);
	db_run(w->db, "DELETE FROM chats WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	listener_hears(w, c.s, fd, "event: end\ndata: {\"reason\":\"deleted\"}");
	close(fd);
	fd = asked(w, &c, w->token);
	finish(w, &c);
	w->conf = &c.conf;
	begin(w, &c);
	assert_non_null(strstr(listener_hears(w, c.s, fd, "reason"), "event: end\ndata: {\"reason\":\"restart\"}"));
	close(fd);
	finish(w, &c);
}

static void
a_client_that_goes_leaves_its_chat(void **state)
{
	struct world *w = *state;
	struct scene c;
	struct req *r;
	int fd;

	asset(w);
	begin(w, &c);
	fd = asked(w, &c, w->token);
	close(fd);
	go_on(&c);
	is_answered(w, "They took a remedy. [1]", NULL);
	go_on(&c);
	assert_int_equal(streams_attend(c.s), -1);		/* there is no stream */
	finish(w, &c);
	r = call(w, "GET", "/v2/chats", NULL);
	assert_string_equal(text(w, r, "data.0.answer"), "They took a remedy. [1]");
}

/* As many as of events, and a refused one asks nothing. */
static void
there_are_so_many_streams(void **state)
{
	struct world *w = *state;
	struct subscription what = { .has_room = streams_room };
	struct scene c;
	struct req *r;
	int fd;

	asset(w);
	begin(w, &c);
	c.conf.streams_max = 2;
	fd = asked(w, &c, w->token);
	what.reader = streams_reader(c.s);
	what.of = c.s;
	r = listener_asks(w, (struct listener){ .token = w->token, .uri = PATH, .body = BODY }, &what);
	assert_int_equal(r->status, 429);
	assert_non_null(strstr(buf_string(&r->out), "too_many_streams"));
	assert_false(what.streams);
	assert_int_equal(chats(w), 1);
	close(fd);
	finish(w, &c);
}

/* The same program without streams: the chat is there, and where to ask for it. */
static void
a_program_that_keeps_no_streams_says_so(void **state)
{
	struct world *w = *state;
	struct scene c;
	struct req *r;

	asset(w);
	begin(w, &c);
	r = call(w, "POST", PATH, BODY);
	assert_int_equal(r->status, 200);
	assert_string_equal(behind(buf_string(&r->out), "event: end\n"), "data: {\"reason\":\"no_streams\"}\n\n");
	finish(w, &c);
}

static void
a_key_that_comes_twice_begins_one_chat(void **state)
{
	struct world *w = *state;
	struct subscription what = { .has_room = streams_room };
	struct scene c;
	struct req *r;
	int i;

	asset(w);
	begin(w, &c);
	what.of = c.s;
	for (i = 0; i < 2; i++) {
		what.streams = false;
		what.reader = streams_reader(c.s);
		r = NEW(w->mem, struct req);
		r->subscription = &what;
		r->idempotency_key = "once";
		call_req(w, r, w->token, "POST", PATH, BODY);
		assert_int_equal(r->status, 200);
		assert_int_equal(what.streams, i == 0);
		assert_non_null(strstr(buf_string(&r->out), "event: chat\n"));
	}
	assert_int_equal(chats(w), 1);
	finish(w, &c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(without_a_model_the_answer_is_told_at_once),
		WORLD_TEST(an_answer_is_told_when_it_is_there_and_ends_the_stream),
		WORLD_TEST(a_model_that_fails_leaves_the_quotes_and_says_so),
		WORLD_TEST(who_loses_the_right_meanwhile_is_told_nothing_more),
		WORLD_TEST(a_chat_that_is_deleted_ends_its_stream),
		WORLD_TEST(a_client_that_goes_leaves_its_chat),
		WORLD_TEST(there_are_so_many_streams),
		WORLD_TEST(a_program_that_keeps_no_streams_says_so),
		WORLD_TEST(a_key_that_comes_twice_begins_one_chat),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
