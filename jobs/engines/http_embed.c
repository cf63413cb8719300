/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any server that speaks OpenAI's embeddings interface.  Vectors come in any order, as numbers or in base64; an answer
 * in which one of them is missing, twice there, of another length or not made of finite numbers is none.
 */
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "jobs/engines/excerpt.h"

struct vector { struct number index; struct json embedding; };
static const struct field vector_fields[] = {
	FIELD(struct vector, index, .doc = "Of which text"),
	FIELD(struct vector, embedding, .doc = "Numbers, or a string of their bytes"),
};
static const struct record vector_record = RECORD("vector", struct vector, vector_fields);

struct usage { struct number total_tokens; };
static const struct field usage_fields[] = {
	FIELD(struct usage, total_tokens, .json = "total_tokens", .doc = "Counted"),
};
static const struct record usage_record = RECORD("usage", struct usage, usage_fields);

struct reply { struct json data, usage; };
static const struct field reply_fields[] = {
	FIELD(struct reply, data, .doc = "Vectors"),
	FIELD(struct reply, usage, .doc = "What it has cost"),
};
static const struct record reply_record = RECORD("reply", struct reply, reply_fields);

static const char *
http_version(struct arena *mem, const struct conf *conf)
{
	return meaning_served_name(mem, conf->engine[ENGINE_embed].model);
}

static const char *
question(const struct excerpt *x)
{
	const char *model = x->model != NULL ? x->model : x->conf->engine[ENGINE_embed].model;
	struct buf b = BUF(x->mem);
	size_t i;

	buf_text(&b, "{\"model\":");
	buf_json(&b, model);
	buf_text(&b, ",\"encoding_format\":\"float\",\"input\":");
	for (i = 0; i < x->n; i++) {
		buf_char(&b, i == 0 ? '[' : ',');
		buf_json(&b, x->texts[i]);
	}
	buf_text(&b, "]}");
	return buf_string(&b);
}

/* Floats, the lowest byte first. */
static struct meaning
of_bytes(struct arena *mem, const char *text)
{
	const size_t n = strcspn(text, "=\"");
	char *url = arena_copy_n(mem, text, n), *c;
	unsigned char *bytes;
	uint32_t word;
	float *at;
	long size, i;

	for (c = url; *c != '\0'; c++)
		*c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
	size = base64url_decode(mem, url, n, &bytes);
	if (size <= 0 || size % 4 != 0 || size / 4 > MEANING_MAX)
		return (struct meaning){ 0 };
	at = arena_array(mem, (size_t)size / 4, sizeof(*at));
	for (i = 0; i < size / 4; i++) {
		word = bytes[i * 4] | (uint32_t)bytes[i * 4 + 1] << 8 | (uint32_t)bytes[i * 4 + 2] << 16 |
		    (uint32_t)bytes[i * 4 + 3] << 24;
		memcpy(&at[i], &word, sizeof(word));
	}
	return meaning_of(mem, at, (size_t)size / 4);
}

/* n is 0: it is none. */
static struct meaning
read_vector(struct arena *mem, const char *json)
{
	float *at;
	size_t n = 0;
	char *end;

	if (json == NULL || (*json != '[' && *json != '"'))
		return (struct meaning){ 0 };
	if (*json++ == '"')
		return of_bytes(mem, json);
	at = arena_array(mem, MEANING_MAX, sizeof(*at));
	for (; *json != ']' && n < MEANING_MAX; n++) {
		at[n] = strtof(json, &end);
		if (end == json)
			return (struct meaning){ 0 };
		json = end + strspn(end, ", ");
	}
	return *json == ']' ? meaning_of(mem, at, n) : (struct meaning){ 0 };
}

/* NULL: something is wrong with one of them. */
static const struct meaning *
read_vectors(struct excerpt *x, struct json data)
{
	const struct list all = data.text != NULL ? record_glean(x->mem, &vector_record, data.text) :
	    (struct list){ NULL, 0 };
	const struct vector *v = all.rows;
	struct meaning *m = arena_array(x->mem, x->n, sizeof(*m));
	size_t i, at;

	if (all.n != x->n)
		return NULL;
	for (i = 0; i < all.n; i++) {
		at = v[i].index.set ? (size_t)v[i].index.n : i;
		if (at >= x->n || m[at].n > 0)
			return NULL;
		m[at] = read_vector(x->mem, v[i].embedding.text);
		if (m[at].n == 0)
			return NULL;
	}
	for (i = 1; i < x->n; i++)
		if (m[i].n != m[0].n)
			return NULL;
	return m;
}

static const struct meaning *
read_answer(struct excerpt *x, const char *body)
{
	const struct list all = record_glean(x->mem, &reply_record, body);
	const struct reply *r = all.n == 1 ? all.rows : NULL;
	struct list used;
	const struct usage *u;

	if (r == NULL)
		return NULL;
	used = r->usage.text != NULL ? record_glean(x->mem, &usage_record, r->usage.text) : (struct list){ NULL, 0 };
	u = used.rows;
	if (used.n == 1 && u->total_tokens.set && u->total_tokens.n > 0 && u->total_tokens.n <= INT32_MAX)
		x->tokens = u->total_tokens.n;
	return read_vectors(x, r->data);
}

static void
alive(void *job)
{
	if (job != NULL)
		job_progress(job, 50);
}

static enum outcome
http_run(struct excerpt *x)
{
	const struct engine_settings *set = &x->conf->engine[ENGINE_embed];
	const struct engine *self = &engine_embed_http;
	const int64_t size = excerpt_size(x);
	const char *body = question(x), *headers[3] = { "Content-Type: application/json", set->key != NULL ?
	    arena_printf(x->mem, "Authorization: Bearer %s", set->key) : NULL };
	struct web_call call = { .url = engine_endpoint(x->mem, set->url, "embeddings"), .headers = headers,
	    .body = body, .body_size = strlen(body), .alive = alive, .user = x->job };
	struct web_answer a;

	x->meanings = NULL;
	x->tokens = size;
	x->requests = engine_ask(x->mem, x->conf, self, self->limits.tries, &call, &a);
	if (a.end == WEB_ANSWERED && a.status == 200)
		x->meanings = read_answer(x, a.body);
	/* Nobody knows what became of those before the last. */
	x->tokens += (x->requests - 1) * size;
	return x->meanings != NULL ? DONE : engine_unanswered(x->mem, &a, "embeddings server", "vector of each text",
	    &x->fault);
}

/* A part of a vector takes up to thirty bytes. */
const struct engine engine_embed_http = {
	.family = ENGINE_embed, .name = "http", .limits = { EXCERPT_BATCH, 4 << 20, 2, 5 }, .version = http_version,
	.run.embed = http_run,
};
