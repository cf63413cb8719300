/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /v2/chats: questions about what assets say.  What a question may be answered with is what the caller may see at that
 * moment, also when the chat is old.  What was answered is read by nobody but who has asked, and as long as that one
 * sees the assets that it refers to.
 *
 * An answer is told by a stream, too: its words as soon as its references are found true, none before.
 */
#include <string.h>

#include "core/chat.h"
#include "core/job.h"
#include "core/models.h"
#include "core/principal.h"
#include "media/language.h"
#include "fcgi/access.h"
#include "fcgi/passages.h"
#include "fcgi/say.h"
#include "fcgi/search_query.h"
#include "fcgi/subscription.h"

/* Of a principal; of a chat; that a principal may wait for at a time. */
enum { CHATS_MAX = 500, MESSAGES_MAX = 200, WAITING_MAX = 3 };
enum { TOKEN_BYTES = 60 };		/* of a stream, at least, but for the last */

/* One that nobody has answered in time keeps the quotes. */
#define OVERDUE "m.status = 'answering' AND m.created_at < " SQL_NOW " - 600000"
_Static_assert(CHAT_PATIENCE_MS == 600000, "as in the statements");
#define STATUS_SQL "IF(" OVERDUE ", 'completed', m.status)"
#define WARNING_SQL "IF(" OVERDUE ", COALESCE(m.warning, 'model_unavailable'), m.warning)"

struct chat {
	struct uuid id;
	const char *prompt, *status, *answer, *engine, *warning;
	struct list context;
	struct ids media_ids, channel_ids;
	struct strings speakers, asset_types;
	struct moment created_at, updated_at;
	int64_t version;
	struct uuid tenant_id, principal_id, message_id;
};
#define ANSWER_FIELDS(type) \
	FIELD(type, status,  .on = SERVER, .required = true, .one_of = "answering completed", .sql = STATUS_SQL, \
	    .doc = "answering: a language model is asked, if need be after a server has said what the question " \
	    "means; until it has answered, the answer quotes what was found"), \
	FIELD(type, answer,  .on = SERVER, .required = true, .sql = "m.answer", \
	    .doc = "Plain text, with the numbers of what it refers to in brackets. Whatever a language model has " \
	    "written, its references were found in the words of the assets. Where nothing is found no model is asked: a " \
	    "sentence of ours says so, in the language of the question, or else one of Accept-Language"), \
	FIELD(type, engine,  .on = SERVER, .required = true, .sql = "m.engine", .doc = "Name and version of what has made the answer"), \
	FIELD(type, warning, .on = SERVER | OMIT_NULL, .one_of = CHAT_WARNINGS, .sql = WARNING_SQL, \
	    .doc = "nothing_found: nothing that the caller may see says anything about it. Why the answer is made " \
	    "of quotes alone: model_unavailable, the language model cannot be asked; answer_unusable, it has answered nothing that can " \
	    "be read; uncited, none of its references was found. withheld: the answer refers to an asset that the caller does not see any " \
	    "more, and is not told"), \
	FIELD(type, context, .on = SERVER, .required = true, .of = &chat_context_record, .sql = "m.context", \
	    .doc = "What the answer refers to, by asset")
static const struct field chat_fields[] = {
	FIELD(struct chat, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct chat, prompt,       .on = CREATE | MULTILINE, .required = true, .min = 1, .max = 4000, .sql = "m.prompt",
	    .doc = "The question; of a chat with several the latest"),
	ANSWER_FIELDS(struct chat),
	FIELD(struct chat, media_ids,    .on = CREATE | OMIT_NULL, .max = 100, .doc = "Only what these assets say"),
	FIELD(struct chat, channel_ids,  .on = CREATE | OMIT_NULL, .max = 100, .doc = "Only assets in these channels"),
	FIELD(struct chat, speakers,     .on = CREATE | OMIT_NULL, .max = 20,
	    .doc = "Only what these speakers say, by their names in the transcripts, in the 500 newest assets where "
	    "they are heard"),
	FIELD(struct chat, asset_types,  .on = CREATE | OMIT_NULL, .max = 10, .known = "video|audio|image|document", .doc = "Only assets of these types"),
	FIELD(struct chat, created_at,   .on = SERVER, .required = true, .doc = "When it was begun"),
	FIELD(struct chat, updated_at,   .on = SERVER, .required = true, .doc = "Latest question"),
	FIELD(struct chat, version,      .on = SERVER | HIDDEN, .sql = "2 * t.version + IF(" OVERDUE ", 1, 0)",
	    .doc = "Grows with each question and answer"),
	FIELD(struct chat, tenant_id,    .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct chat, principal_id, .on = SERVER | HIDDEN, .doc = "Who asks"),
	FIELD(struct chat, message_id,   .on = SERVER | HIDDEN, .doc = "The latest question"),
};
static const struct record chat_record = RECORD("Chat", struct chat, chat_fields);

/* The row of it. */
static const struct field row_fields[] = {
	FIELD(struct chat, id,           .doc = "Unique id"),
	FIELD(struct chat, tenant_id,    .doc = "The tenant"),
	FIELD(struct chat, principal_id, .doc = "Who asks"),
	FIELD(struct chat, message_id,   .doc = "The latest question"),
	FIELD(struct chat, media_ids,    .doc = "Only these"),
	FIELD(struct chat, channel_ids,  .doc = "Only in these"),
	FIELD(struct chat, speakers,     .doc = "Only by these"),
	FIELD(struct chat, asset_types,  .doc = "Only of these"),
	FIELD(struct chat, version,      .doc = "Grows with each question"),
	FIELD(struct chat, created_at,   .doc = "When it was begun"),
	FIELD(struct chat, updated_at,   .doc = "Latest question"),
};
static const struct record row_record = RECORD("ChatRow", struct chat, row_fields);

struct message {
	struct uuid id;
	const char *prompt, *status, *answer, *engine, *warning;
	struct list context;
	struct moment created_at;
};
static const struct field message_fields[] = {
	FIELD(struct message, id,         .on = SERVER, .required = true, .sql = "m.id", .doc = "Unique id"),
	FIELD(struct message, prompt,     .on = CREATE | MULTILINE, .required = true, .min = 1, .max = 4000, .sql = "m.prompt", .doc = "The question"),
	ANSWER_FIELDS(struct message),
	FIELD(struct message, created_at, .on = SERVER, .required = true, .sql = "m.created_at", .doc = "When it was asked"),
};
static const struct record message_record = RECORD("ChatMessage", struct message, message_fields);

#define CHAT_FROM "FROM chats t JOIN chat_messages m ON m.id = t.message_id "
const struct object chat_object = {
	.path = "/v2/chats/{chatId}", .reach = REACH_PRIVATE, .record = &chat_record,
	.from = CHAT_FROM "WHERE t.id = ?",
};

static bool
sees_all(struct req *r, const struct ids *media_ids)
{
	const bool *seen = access_seen(r, media_ids);
	size_t i = 0;

	while (i < media_ids->n && seen[i])
		i++;
	return i == media_ids->n;
}

/* Where an answer lies: in a chat or in a message. */
struct answer_at { const char **answer, **warning; struct list *context; };

/* Of answers, those lose what they say that refer to an asset which the caller does not see any more.  True: of one. */
static bool
withhold(struct req *r, const struct answer_at *at, size_t n)
{
	const struct chat_context *c;
	struct ids asked = { NULL, 0 };
	const bool *seen;
	size_t i, k;
	bool any = false, all;

	for (i = 0; i < n; i++)
		asked.n += at[i].context->n;
	asked.at = arena_array(r->mem, asked.n + 1, sizeof(*asked.at));
	for (i = asked.n = 0; i < n; i++)
		for (c = at[i].context->rows, k = 0; k < at[i].context->n; k++)
			asked.at[asked.n++] = c[k].media_id;
	seen = access_seen(r, &asked);
	for (i = 0; i < n && db_failure(r->db) == DB_FINE; i++) {
		for (all = true, k = 0; k < at[i].context->n; k++)
			all &= *seen++;
		if (all)
			continue;
		at[i].context->n = 0;
		*at[i].answer = "";
		*at[i].warning = "withheld";
		any = true;
	}
	return any;
}

static bool
withhold_chats(struct req *r, struct chat *rows, size_t n)
{
	struct answer_at *at = arena_array(r->mem, n + 1, sizeof(*at));
	size_t i;

	for (i = 0; i < n; i++)
		at[i] = (struct answer_at){ &rows[i].answer, &rows[i].warning, &rows[i].context };
	return withhold(r, at, n);
}

static int
chats_list(struct req *r)
{
	struct chat *rows;
	size_t n;

	rows = db_list(r->db, &chat_record, CHAT_FROM "WHERE t.principal_id = ? AND t.tenant_id = ?",
	    ARGS(ID(r->who->id), ID(r->who->tenant_id)), &r->page, &n);
	withhold_chats(r, rows, n);
	return reply_list(r, &chat_record, rows, n);
}

struct token { const char *text; bool is_complete; };
static const struct field token_fields[] = {
	FIELD(struct token, text,        .on = SERVER, .required = true, .json = "Token", .doc = "What follows of the answer"),
	FIELD(struct token, is_complete, .on = SERVER, .required = true, .doc = "It is all told"),
};
static const struct record token_record = RECORD("ChatToken", struct token, token_fields);

static void
tell_token(struct buf *b, const char *text, bool is_complete)
{
	buf_text(b, "data: ");
	record_render(b, &token_record, &(struct token){ text, is_complete }, false);
	buf_text(b, "\n\n");
}

static void
tell_chat(struct buf *b, const struct chat *c)
{
	buf_text(b, "event: chat\ndata: ");
	record_render(b, &chat_record, c, false);
	buf_text(b, "\n\n");
}

/* The answer, cut behind blanks, and that this was all. */
static void
tell_answer(struct req *r, const struct chat *c)
{
	const char *from = c->answer, *to;

	for (; *from != '\0'; from = to) {
		to = from + strnlen(from, TOKEN_BYTES);
		to += strcspn(to, " \n");
		to += *to != '\0';
		tell_token(&r->out, arena_copy_n(r->mem, from, (size_t)(to - from)), false);
	}
	tell_token(&r->out, "", true);
}

static bool
is_answered(const struct chat *c)
{
	return strcmp(c->status, "answering") != 0;
}

static int
as_stream(struct req *r)
{
	r->answer_type = "text/event-stream";
	r->cache_control = "no-store";
	return r->status = 200;
}

/* A stream waits for this answer: nothing as long as there is none.  What the caller may not see any more ends it. */
static int
tell_rest(struct req *r)
{
	struct chat *c = db_row(r->db, &chat_record, "FROM chats t JOIN chat_messages m ON m.id = ? AND m.chat_id = "
	    "t.id WHERE t.id = ? AND t.tenant_id = ?", ARGS(ID(r->subscription->message_id), ID(r->id[0]),
	    ID(r->who->tenant_id)));

	if (c == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (withhold_chats(r, c, 1))
		return refuse(r, ERR_FORBIDDEN, NULL);
	if (is_answered(c)) {
		tell_chat(&r->out, c);
		tell_answer(r, c);
	}
	return as_stream(r);
}

static int
chat_get(struct req *r)
{
	struct chat *c = r->object;

	if (r->subscription != NULL && !uuid_is_none(r->subscription->message_id))
		return tell_rest(r);
	if (withhold_chats(r, c, 1))
		r->etag = reply_tag(r, &chat_record, c);
	return reply(r, 200, &chat_record, c);
}

/* What a chat is limited to is there when it is begun; of what is not any more nothing is found later. */
static bool
is_fine(struct req *r, const struct chat *c)
{
	const struct search_limits limits = { .asset_types = c->asset_types };
	const struct ids *channels = &c->channel_ids;
	bool is_twice = false;
	size_t i;

	search_check(r, "/", &limits);
	if (!sees_all(r, &c->media_ids))
		fault(r, "/mediaIds", "not_allowed", "names an asset that is not there, or that you may not see");
	for (i = 0; i < channels->n; i++)
		if (ids_have(&(struct ids){ channels->at, i }, channels->at[i])) {
			fault(r, arena_printf(r->mem, "/channelIds/%zu", i), "duplicate",
			    "this channel is in the list already");
			is_twice = true;
		}
	/* Of one that is there twice some callers see one. */
	if (!is_twice && access_visible(r, channels).n != channels->n)
		fault(r, "/channelIds", "not_allowed", "names a channel that you may not see");
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return r->faults.n == 0;
}

static bool
is_patient(struct req *r)
{
	if (db_number(r->db, "SELECT COUNT(*) FROM chats t JOIN chat_messages m ON m.chat_id = t.id WHERE "
	    "t.principal_id = ? AND m.status = 'answering' AND m.created_at >= ?", ARGS(ID(r->who->id),
	    INT(r->now.ms - CHAT_PATIENCE_MS)), 0) < WAITING_MAX)
		return true;
	r->retry_after = 10;
	refuse(r, ERR_TOO_MANY_QUESTIONS, NULL);
	return false;
}

/* No model has a word in that: it would have to invent one. */
static const char *
nothing_found(struct req *r, const char *prompt)
{
	say_in(r, language_guess(r->mem, prompt, strlen(prompt)).tag);
	return say(r, "Nothing was found about that in what you may see.");
}

/* The question with its first answer, of what the caller may see now; and the job that asks for a better one. */
static void
ask(struct req *r, const struct chat *c, struct uuid message_id, const char *prompt)
{
	const struct passages_scope scope = { c->media_ids, c->channel_ids, c->speakers, c->asset_types };
	const struct list context = passages_find(r, prompt, NULL, &scope);
	/* Where a server says what the question means, a job may find what was not found here. */
	const bool asks = strcmp(engines_conf(r->db, r->conf, r->who->tenant_id)->engine[ENGINE_complete].name,
	    "none") != 0 && (context.n > 0 ||
	    models_embed(r->db, r->conf, r->who->tenant_id).name != NULL);

	db_run(r->db, "INSERT INTO chat_messages (id, chat_id, prompt, status, answer, engine, warning, context, "
	    "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(message_id), ID(c->id), STR(prompt),
	    STR(asks ? "answering" : "completed"), STR(context.n > 0 ? chat_quoted(r->mem, &context) :
	    nothing_found(r, prompt)), STR(CHAT_BY_PASSAGES),
	    STR(context.n == 0 ? "nothing_found" : NULL), STR(chat_context_json(r->mem, &context)), TIME(r->now)));
	if (asks)
		job_add(r->db, chat, ((struct job_place){ .tenant_id = r->who->tenant_id, .priority = PRIORITY_FIRST }),
		    .message_id = message_id);
}

/* NULL: refused. */
static const struct chat *
begin(struct req *r)
{
	struct chat *c = r->in;

	if (!is_fine(r, c))
		return NULL;
	principal_hold(r->db, r->who->id);
	if (db_number(r->db, "SELECT COUNT(*) FROM chats WHERE principal_id = ?", ARGS(ID(r->who->id)), 0) >=
	    CHATS_MAX) {
		refuse(r, ERR_TOO_MANY_CHATS, NULL);
		return NULL;
	}
	if (!is_patient(r))
		return NULL;
	c->id = uuid_new();
	c->message_id = uuid_new();
	c->tenant_id = r->who->tenant_id;
	c->principal_id = r->who->id;
	c->created_at = c->updated_at = r->now;
	c->version = 1;
	db_insert(r->db, "chats", &row_record, c);
	ask(r, c, c->message_id, c->prompt);
	c = db_row(r->db, &chat_record, CHAT_FROM "WHERE t.id = ? AND t.tenant_id = ?", ARGS(ID(c->id),
	    ID(r->who->tenant_id)));
	if (c == NULL)
		refuse(r, ERR_NOT_FOUND, NULL);
	return c;
}

static int
chat_create(struct req *r)
{
	const struct chat *c = begin(r);

	return c != NULL ? reply_created(r, &chat_record, c, c->id) : r->status;
}

/* The question is there: the stream waits for its answer. */
static void
stay(struct req *r)
{
	const struct chat *c = r->in;
	struct subscription *s = r->subscription;

	s->uri = arena_printf(r->mem, "/v2/chats/%s", uuid_text(r->mem, c->id));
	s->message_id = c->message_id;
	s->tenant_id = c->tenant_id;
	s->streams = true;
}

/* Where no program keeps streams, the chat is made all the same, and is asked for by its id. */
static int
chat_stream(struct req *r)
{
	struct subscription *s = r->subscription;
	const struct chat *c;

	if (s != NULL && !s->has_room(s->of, r))
		return r->status;
	if ((c = begin(r)) == NULL)
		return r->status;
	tell_chat(&r->out, c);
	if (is_answered(c))
		tell_answer(r, c);
	else if (s == NULL)
		buf_text(&r->out, "event: end\ndata: {\"reason\":\"no_streams\"}\n\n");
	else
		r->committed = stay;
	return as_stream(r);
}

struct question { struct uuid id; };
#define ANSWERED_SQL "FROM (SELECT DISTINCT id FROM " SEARCH_IDS ") x LEFT JOIN chat_messages m ON m.id = UNHEX(x.id) WHERE " \
	"m.id IS NULL OR m.status <> 'answering' OR " OVERDUE
static const struct field answered_fields[] = { FIELD(struct question, id, .sql = "UNHEX(x.id)", .doc = "A question") };
static const struct record answered_record = RECORD("ChatAnswered", struct question, answered_fields);

void
chats_answered(struct db *db, struct arena *mem, const struct ids *message_ids, bool *answered)
{
	struct search_hit *hits = arena_array(mem, message_ids->n + 1, sizeof(*hits));
	const struct question *rows;
	size_t i, k, n;

	for (i = 0; i < message_ids->n; i++)
		hits[i].id = message_ids->at[i];
	rows = db_rows(db, &answered_record, ANSWERED_SQL, ARGS(STR(search_ids_json(mem, hits, message_ids->n))), &n);
	for (i = 0; i < message_ids->n; i++)
		for (k = 0; k < n && !answered[i]; k++)
			answered[i] = uuid_equal(rows[k].id, message_ids->at[i]);
}

static int
chat_delete(struct req *r)
{
	const struct chat *c = r->object;

	db_run(r->db, "DELETE FROM chats WHERE id = ? AND tenant_id = ?", ARGS(ID(c->id), ID(r->who->tenant_id)));
	return reply_deleted(r, c->id, true);
}

static int
messages_list(struct req *r)
{
	const struct chat *c = r->object;
	struct answer_at *at;
	struct message *rows;
	size_t n, i;

	rows = db_list(r->db, &message_record, "FROM chat_messages t JOIN chat_messages m ON m.id = t.id WHERE "
	    "t.chat_id = ?", ARGS(ID(c->id)), &r->page, &n);
	at = arena_array(r->mem, n + 1, sizeof(*at));
	for (i = 0; i < n; i++)
		at[i] = (struct answer_at){ &rows[i].answer, &rows[i].warning, &rows[i].context };
	withhold(r, at, n);
	return reply_list(r, &message_record, rows, n);
}

static int
message_create(struct req *r)
{
	const struct chat *c = r->object;
	const struct message *m = r->in;
	struct uuid id = uuid_new();

	principal_hold(r->db, r->who->id);
	if (db_number(r->db, "SELECT COUNT(*) FROM chat_messages WHERE chat_id = ?", ARGS(ID(c->id)), 0) >=
	    MESSAGES_MAX)
		return refuse(r, ERR_TOO_MANY_CHATS, "The chat has as many questions as it may. Begin another one.");
	if (!is_patient(r))
		return r->status;
	ask(r, c, id, m->prompt);
	db_run(r->db, "UPDATE chats SET message_id = ?, updated_at = ?, version = version + 1 WHERE id = ? AND "
	    "tenant_id = ?", ARGS(ID(id), TIME(r->now), ID(c->id), ID(r->who->tenant_id)));
	c = object_again(r);
	return c != NULL ? reply(r, 200, &chat_record, c) : refuse(r, ERR_NOT_FOUND, NULL);
}

const struct route chats_routes[] = {
	{
		GET, "/v2/chats", SCOPE_VIEW_METADATA, chats_list, NULL, &chat_record,
		"List the caller's chats, each with its latest question", .flags = LIST, .fails = "422",
	},
	{
		POST, "/v2/chats", SCOPE_VIEW_METADATA, chat_create, &chat_record, &chat_record,
		"Ask what assets say about something", .success = 201, .fails = "409 422",
		.codes = "too_many_chats too_many_questions",
	},
	{
		POST, "/v2/chats/stream", SCOPE_VIEW_METADATA, chat_stream, &chat_record, &chat_record,
		"Ask what assets say about something, and be told the answer as it comes: a stream",
		.flags = NO_ENVELOPE, .fails = "409 422 429", .produces = "text/event-stream",
		.codes = "too_many_chats too_many_questions too_many_streams", .id = "streamChat",
	},
	{
		GET, "/v2/chats/{chatId}", SCOPE_VIEW_METADATA, chat_get, NULL, &chat_record,
		"Get a chat with its latest question and answer", .flags = CONDITIONAL, .fails = "404",
	},
	{
		METHOD_DELETE, "/v2/chats/{chatId}", SCOPE_VIEW_METADATA, chat_delete, NULL, &deleted_record,
		"Delete a chat with all its questions", .flags = CONDITIONAL, .fails = "404 412",
	},
	{
		GET, "/v2/chats/{chatId}/messages", SCOPE_VIEW_METADATA, messages_list, NULL, &message_record,
		"List the questions of a chat with their answers", .flags = LIST, .fails = "404 422",
	},
	{
		POST, "/v2/chats/{chatId}/messages", SCOPE_VIEW_METADATA, message_create, &message_record, &chat_record,
		"Ask another question within the limits of the chat", .fails = "404 409 422",
		.codes = "too_many_chats too_many_questions",
	},
	{ 0 }
};
