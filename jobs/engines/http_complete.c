/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any server that speaks OpenAI's chat interface, or that of Ollama.  Only what is the same everywhere is sent; whether
 * the answer is of any use is for who asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/engines/prompt.h"

struct message { const char *content; };
static const struct field message_fields[] = { FIELD(struct message, content, .doc = "What is said") };
static const struct record message_record = RECORD("message", struct message, message_fields);

struct choice { struct json message; const char *text; };
static const struct field choice_fields[] = {
	FIELD(struct choice, message, .doc = "What is said"),
	FIELD(struct choice, text, .doc = "The same of older servers"),
};
static const struct record choice_record = RECORD("choice", struct choice, choice_fields);

struct usage { struct number prompt_tokens, total_tokens; };
static const struct field usage_fields[] = {
	FIELD(struct usage, prompt_tokens, .json = "prompt_tokens", .doc = "Of the question"),
	FIELD(struct usage, total_tokens, .json = "total_tokens", .doc = "Counted"),
};
static const struct record usage_record = RECORD("usage", struct usage, usage_fields);

enum { MODEL_MAX = 200, TOKENS_BELIEVED = 1 << 30 };
struct reply { const char *model; struct json choices, message, usage; struct number prompt_eval_count, eval_count; };
static const struct field reply_fields[] = {
	FIELD(struct reply, model, .doc = "Who answers"),
	FIELD(struct reply, choices, .doc = "Answers"),
	FIELD(struct reply, message, .doc = "The answer, of Ollama"),
	FIELD(struct reply, usage, .doc = "What it has cost"),
	FIELD(struct reply, prompt_eval_count, .json = "prompt_eval_count", .doc = "Tokens of the question, of Ollama"),
	FIELD(struct reply, eval_count, .json = "eval_count", .doc = "Tokens of the answer, of Ollama"),
};
static const struct record reply_record = RECORD("reply", struct reply, reply_fields);

static const struct engine *
engine_of(const struct prompt *p)
{
	return p->n_pictures > 0 ? &engine_vision_http : &engine_complete_http;
}

static const char *
model_of(const struct conf *conf, enum engine_family family)
{
	const char *model = conf->engine[family].model;

	return model != NULL ? model : "default";
}

static const char *
complete_version(struct arena *mem, const struct conf *conf)
{
	return engine_served_name(mem, model_of(conf, ENGINE_complete));
}

static const char *
vision_version(struct arena *mem, const struct conf *conf)
{
	return engine_served_name(mem, model_of(conf, ENGINE_vision));
}

static void
add_message(struct buf *b, const char *role, const char *text)
{
	buf_printf(b, "{\"role\":\"%s\",\"content\":", role);
	buf_json(b, text);
	buf_char(b, '}');
}

static const char *
base64_text(struct arena *mem, const void *bytes, size_t n)
{
	char *text = base64url_encode(mem, bytes, n);

	for (char *c = text; *c != '\0'; c++)
		*c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
	return arena_printf(mem, "%s%s", text, n % 3 == 1 ? "==" : n % 3 == 2 ? "=" : "");
}

/* A picture as a part of what is said.  False with errno. */
static bool
add_picture(struct buf *b, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };
	unsigned char *bytes = NULL;
	size_t n = 0;
	ssize_t got;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= PROMPT_PICTURE_MAX)
		bytes = arena_alloc(b->mem, (size_t)st.st_size);
	while (bytes != NULL && (got = read(fd, bytes + n, (size_t)st.st_size - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	if (bytes == NULL || n < (size_t)st.st_size)
		return false;
	buf_printf(b, ",{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/%s;base64,%s\"}}",
	    bytes[0] == 0xff ? "jpeg" : "png", base64_text(b->mem, bytes, n));
	return true;
}

/* All of them, since an answer names them by their numbers.  False with errno. */
static bool
add_pictures(struct buf *b, const struct prompt *p)
{
	buf_text(b, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":");
	buf_json(b, p->text);
	buf_char(b, '}');
	for (size_t i = 0; i < p->n_pictures; i++)
		if (!add_picture(b, p->pictures[i]))
			return false;
	buf_text(b, "]}");
	return true;
}

/* NULL with the fault: a picture cannot be read. */
static const char *
question(struct prompt *p, bool json)
{
	struct buf b = BUF(p->mem);

	buf_text(&b, "{\"model\":");
	buf_json(&b, p->model != NULL ? p->model : model_of(p->conf, engine_of(p)->family));
	buf_text(&b, ",\"messages\":[");
	add_message(&b, "system", p->rules);
	buf_char(&b, ',');
	if (p->n_pictures > 0 && !add_pictures(&b, p)) {
		fault_of_errno(p->mem, errno, &p->fault, "A picture could not be read.");
		return NULL;
	}
	if (p->n_pictures == 0)
		add_message(&b, "user", p->text);
	buf_printf(&b, "],\"temperature\":0,\"max_tokens\":%d,\"stream\":false", p->most);
	if (json)
		buf_text(&b, ",\"response_format\":{\"type\":\"json_object\"}");
	buf_char(&b, '}');
	return buf_string(&b);
}

static void *
first(struct arena *mem, const struct record *record, struct json json)
{
	const struct list all = json.text != NULL ? record_glean(mem, record, json.text) : (struct list){ NULL, 0 };

	return all.n > 0 ? all.rows : NULL;
}

/* What a model thinks before it answers is none of the answer. */
static const char *
behind_thoughts(const char *text)
{
	static const char begin[] = "<think>", end[] = "</think>";
	const char *at = text + strspn(text, " \t\r\n"), *over;

	if (strncmp(at, begin, sizeof(begin) - 1) != 0)
		return at;
	over = strstr(at, end);
	return over != NULL ? over + sizeof(end) - 1 : "";
}

/* Without blanks around it and control characters; NULL: nothing is left. */
static const char *
plain(struct arena *mem, const char *text)
{
	char *out, *c;
	size_t n;

	if (text == NULL)
		return NULL;
	text = behind_thoughts(text);
	text += strspn(text, " \t\r\n");
	out = arena_copy(mem, text);
	for (c = out; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' && *c != '\n')
			*c = ' ';
	for (n = strlen(out); n > 0 && (unsigned char)out[n - 1] <= ' '; n--)
		out[n - 1] = '\0';
	return n > 0 ? out : NULL;
}

static bool
is_count(struct number n)
{
	return n.set && n.n >= 0 && n.n <= TOKENS_BELIEVED;
}

/* What is not for the question is for the answer: some count what a model thinks in the sum alone. */
static void
take_counts(struct prompt *p, struct number input, struct number all)
{
	if (!is_count(all) || all.n == 0)
		return;
	p->tokens = all.n;
	if (!is_count(input) || input.n > all.n)
		return;
	p->input_tokens = input;
	p->output_tokens = (struct number){ all.n - input.n, true };
}

/* NULL: it says nothing. */
static const char *
read_answer(struct prompt *p, const char *body)
{
	const struct list all = record_glean(p->mem, &reply_record, body);
	const struct reply *r = all.n == 1 ? all.rows : NULL;
	const struct choice *choice;
	const struct message *m;
	const struct usage *u;

	if (r == NULL)
		return NULL;
	choice = first(p->mem, &choice_record, r->choices);
	m = first(p->mem, &message_record, choice != NULL ? choice->message : r->message);
	u = first(p->mem, &usage_record, r->usage);
	if (r->model != NULL && !utf8_blank(r->model))
		p->answered_by = utf8_to_line(p->mem, arena_copy_n(p->mem, r->model, utf8_prefix(r->model, MODEL_MAX)));
	if (u != NULL && is_count(u->total_tokens))
		take_counts(p, u->prompt_tokens, u->total_tokens);
	else if (is_count(r->eval_count) && r->eval_count.n > 0)
		take_counts(p, r->prompt_eval_count, (struct number){ r->eval_count.n +
		    (is_count(r->prompt_eval_count) ? r->prompt_eval_count.n : 0), true });
	return plain(p->mem, m != NULL ? m->content : choice != NULL ? choice->text : NULL);
}

static void
alive(void *job)
{
	if (job != NULL)
		job_progress(job, 50);
}

static void
ask(struct prompt *p, const char *body, struct web_answer *a)
{
	const struct engine *self = engine_of(p);
	const struct engine_settings *set = &p->conf->engine[self->family];
	const char *headers[3] = { "Content-Type: application/json", set->key != NULL ?
	    arena_printf(p->mem, "Authorization: Bearer %s", set->key) : NULL };
	struct web_call call = { .url = engine_endpoint(p->mem, set->url, "chat/completions"), .headers = headers,
	    .body = body, .body_size = strlen(body), .alive = alive, .user = p->job };

	p->requests += engine_ask(p->mem, p->conf, self, self->limits.tries, &call, a);
}

static enum outcome
http_run(struct prompt *p)
{
	const int64_t size = prompt_size(p);
	const char *body = question(p, p->json);
	struct web_answer a;

	p->answer = NULL;
	p->answered_by = p->model != NULL ? p->model : model_of(p->conf, engine_of(p)->family);
	p->tokens = body != NULL ? size : 0;
	p->input_tokens = p->output_tokens = (struct number){ 0 };
	p->requests = 0;
	if (body == NULL)
		return fault_is_final(&p->fault) ? GIVE_UP : RETRY;
	ask(p, body, &a);
	if (p->json && a.end == WEB_ANSWERED && a.status == 400)
		ask(p, question(p, false), &a);	/* some know no response_format */
	if (a.end == WEB_ANSWERED && a.status == 200)
		p->answer = read_answer(p, a.body);
	/* Nobody knows what became of those before the last. */
	p->tokens += (p->requests - 1) * size;
	p->input_tokens.n += p->input_tokens.set ? (p->requests - 1) * size : 0;
	return p->answer != NULL ? DONE : engine_unanswered(p->mem, &a, "language model", "text", &p->fault);
}

/* Two tries: somebody may be waiting. */
const struct engine engine_complete_http = {
	.family = ENGINE_complete, .name = "http", .limits = { PROMPT_MAX_BYTES, 1 << 20, 2, 5 },
	.version = complete_version, .run.complete = http_run,
};

const struct engine engine_vision_http = {
	.family = ENGINE_vision, .name = "http", .limits = { PROMPT_MAX_BYTES, 1 << 20, 2, 5 },
	.version = vision_version, .run.vision = http_run,
};
