/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any server that speaks OpenAI's audio interface.  Only stretches with voices are sent, cut at pauses.  Servers differ
 * in what they answer: words inside segments, at the top, or none; no probability; text alone.  All of it is taken.
 */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/spoken.h"
#include "media/language.h"
#include "jobs/engines/engine.h"

/* Models take 224 tokens of a text to go on from, some of them a character each. */
enum { GAP_MAX = 8 * 1000, SCRATCH = 128 << 20, PROMPT_MAX = 600 };	/* ms; bytes; bytes */

struct said { const char *word, *text; struct position start, end; double probability; };
static const struct field said_fields[] = {
	FIELD(struct said, word, .doc = "The word"),
	FIELD(struct said, text, .doc = "The word, as some call it"),
	FIELD(struct said, start, .doc = "Seconds"),
	FIELD(struct said, end, .doc = "Seconds"),
	FIELD(struct said, probability, .doc = "0 to 1"),
};
static const struct record said_record = RECORD("said", struct said, said_fields);

struct passage { const char *text; struct position start, end; struct list words; double avg_logprob, no_speech_prob; };
static const struct field passage_fields[] = {
	FIELD(struct passage, text, .doc = "What is said"),
	FIELD(struct passage, start, .doc = "Seconds"),
	FIELD(struct passage, end, .doc = "Seconds"),
	FIELD(struct passage, words, .of = &said_record, .doc = "Its words"),
	FIELD(struct passage, avg_logprob, .json = "avg_logprob", .doc = "Mean log probability"),
	FIELD(struct passage, no_speech_prob, .json = "no_speech_prob", .doc = "0 to 1"),
};
static const struct record passage_record = RECORD("passage", struct passage, passage_fields);

struct reply {
	const char *text, *language, *detected_language;
	double language_probability, detected_language_probability;
	struct list segments, words;
};
static const struct field reply_fields[] = {
	FIELD(struct reply, text, .doc = "What is said"),
	FIELD(struct reply, language, .doc = "A code, or a name in English"),
	FIELD(struct reply, detected_language, .json = "detected_language", .doc = "The same of some"),
	FIELD(struct reply, language_probability, .json = "language_probability", .doc = "0 to 1"),
	FIELD(struct reply, detected_language_probability, .json = "detected_language_probability", .doc = "0 to 1"),
	FIELD(struct reply, segments, .of = &passage_record, .doc = "Parts of it"),
	FIELD(struct reply, words, .of = &said_record, .doc = "All words"),
};
static const struct record reply_record = RECORD("reply", struct reply, reply_fields);

/* One run of the engine. */
struct session {
	struct hearing *hearing;
	struct arena *scratch;			/* of one chunk */
	const char *url, *model, *prompt;	/* prompt: NULL, there are no hints */
	const char *headers[2];
	bool translate_field, plain;		/* plain: the server knows only text */
	bool unsaid;				/* it wants no language where none is known */
	int percent;
};

static const char *
model_of(const struct conf *conf)
{
	const char *model = conf->engine[ENGINE_transcribe].model;

	return model != NULL ? model : "whisper-1";
}

static const char *
http_version(struct arena *mem, const struct conf *conf)
{
	return engine_served_name(mem, model_of(conf));
}

/* The address as configured; a server that has a path of its own for translations is asked there. */
static const char *
endpoint(struct session *s, const char *url)
{
	struct arena *mem = s->hearing->mem;
	static const char leaf[] = "/transcriptions";
	size_t n;

	url = engine_endpoint(mem, url, "audio/transcriptions");
	if (strcmp(s->hearing->language, "translate-en") != 0)
		return url;
	n = strlen(url);
	s->translate_field = n < sizeof(leaf) || strcmp(url + n - (sizeof(leaf) - 1), leaf) != 0;
	return s->translate_field ? url : arena_printf(mem, "%.*s/translations", (int)(n - (sizeof(leaf) - 1)), url);
}

static void
put_number(unsigned char *at, uint32_t n, int bytes)
{
	for (; bytes-- > 0; n >>= 8)
		*at++ = n & 0xff;
}

static void
put_text(unsigned char *at, const char *text)
{
	while (*text != '\0')
		*at++ = (unsigned char)*text++;
}

/* The samples of a span, to their place in a chunk that begins at `start`. */
static bool
read_span(struct session *s, struct span span, int64_t start, unsigned char *out)
{
	size_t bytes = (size_t)(span.end - span.start) * PCM_BYTES_PER_MS, got = 0;
	ssize_t r = 1;

	out += (span.start - start) * PCM_BYTES_PER_MS;
	while (got < bytes && r > 0) {
		r = pread(s->hearing->pcm, out + got, bytes - got, span.start * PCM_BYTES_PER_MS + (off_t)got);
		got += r > 0 ? (size_t)r : 0;
	}
	return got == bytes;
}

/* The spans as a WAV file in memory, or NULL when they cannot be read.  What lies between them goes as silence: times
 * stay right, and what is no speech is not sent. */
static const void *
wav(struct session *s, struct span chunk, size_t *n)
{
	size_t bytes = (size_t)(chunk.end - chunk.start) * PCM_BYTES_PER_MS, i;
	unsigned char *out = arena_alloc(s->scratch, 44 + bytes);
	const struct span *span = s->hearing->spans;

	put_text(out, "RIFF");
	put_text(out + 8, "WAVEfmt ");
	put_number(out + 4, (uint32_t)(36 + bytes), 4);
	put_number(out + 16, 16, 4);
	put_number(out + 20, 1, 2);
	put_number(out + 22, 1, 2);
	put_number(out + 24, PCM_RATE, 4);
	put_number(out + 28, PCM_RATE * 2, 4);
	put_number(out + 32, 2, 2);
	put_number(out + 34, 16, 2);
	put_text(out + 36, "data");
	put_number(out + 40, (uint32_t)bytes, 4);
	*n = 44 + bytes;
	for (i = 0; i < s->hearing->n_spans; i++)
		if (span[i].start >= chunk.start && span[i].end <= chunk.end &&
		    !read_span(s, span[i], chunk.start, out + 44))
			return NULL;
	return out;
}

/* The language as such servers want it: ISO 639-1, without region. */
static const char *
plain_language(struct arena *mem, const char *tag)
{
	return arena_copy_n(mem, tag, strcspn(tag, "-_"));
}

static void
alive(void *user)
{
	struct session *s = user;

	s->hearing->progress(s->hearing->user, s->percent);
}

/* What was told of the first chunk holds for all. */
static const char *
language_of(const struct session *s)
{
	return s->hearing->told != NULL ? s->hearing->told : s->hearing->language;
}

static bool
is_open(const struct session *s)
{
	return strcasecmp(language_of(s), SPOKEN_ANY) == 0;
}

/* Sends one chunk.  Returns how often. */
static int
ask(struct session *s, const void *file, size_t n, struct web_answer *a)
{
	bool translate = strcmp(s->hearing->language, "translate-en") == 0;
	struct web_part parts[11] = {
		{ .name = "file", .bytes = file, .n = n, .file_name = "audio.wav", .type = "audio/wav" },
		{ .name = "model", .text = s->model },
		{ .name = "temperature", .text = "0" },
		{ .name = "response_format", .text = s->plain ? "json" : "verbose_json" },
	}, *p = parts + 4;
	struct web_call call = { .url = s->url, .headers = s->headers, .parts = parts, .alive = alive, .user = s };
	const struct engine *self = &engine_transcribe_http;

	if (!translate && !(s->unsaid && is_open(s)))
		*p++ = (struct web_part){ .name = "language", .text = plain_language(s->scratch, language_of(s)) };
	if (s->translate_field) {
		*p++ = (struct web_part){ .name = "translate", .text = "true" };
		*p++ = (struct web_part){ .name = "language", .text = "auto" };
	}
	if (s->prompt != NULL)
		*p++ = (struct web_part){ .name = "prompt", .text = s->prompt };
	if (!s->plain) {
		*p++ = (struct web_part){ .name = "timestamp_granularities[]", .text = "word" };
		*p++ = (struct web_part){ .name = "timestamp_granularities[]", .text = "segment" };
	}
	return engine_ask(s->scratch, s->hearing->conf, self, s->hearing->hurried ? 1 : self->limits.tries, &call, a);
}

/* NULL: it is none. */
static const struct reply *
reply_of(struct session *s, const char *body)
{
	const struct reply *reply = body != NULL ? record_parse(s->scratch, &reply_record, body) : NULL;

	return reply != NULL && (reply->text != NULL || reply->segments.n > 0) ? reply : NULL;
}

/* What is said in one chunk, as it was told before or is now; NULL: there is no such answer, and where nobody may be
 * asked the hearing has a fault. */
static const struct reply *
ask_for(struct session *s, struct span chunk, struct web_answer *a)
{
	struct hearing *h = s->hearing;
	const struct reply *reply = h->known != NULL ? reply_of(s, h->known(h->user, s->scratch, chunk)) : NULL;
	const void *file;
	int requests;
	size_t n;

	*a = (struct web_answer){ .end = WEB_BROKEN };
	if (reply != NULL)
		return reply;
	file = wav(s, chunk, &n);
	if (file == NULL || (h->may_ask != NULL && !h->may_ask(h->user, &h->fault)))
		return NULL;
	requests = ask(s, file, n, a);
	/* One that refuses, or answers nonsense, is there. */
	if (h->asked != NULL)
		h->asked(h->user, requests, engine_may_pass(a));
	reply = a->end == WEB_ANSWERED && a->status == 200 ? reply_of(s, a->body) : NULL;
	if (reply != NULL && h->answered != NULL)
		h->answered(h->user, chunk, a->body);
	return reply;
}

static enum outcome
explain(struct session *s, const struct web_answer *a)
{
	struct hearing *h = s->hearing;

	if (h->fault.reason != REASON_NONE)
		return RETRY;
	return engine_unanswered(h->mem, a, "transcription server", "transcript", &h->fault);
}

/* Heard words that fall into the passage, with times in the chunk; those without sensible times are left out. */
static struct list
words_within(struct arena *mem, const struct list *words, struct position start, struct position end)
{
	const struct said *w = words->rows;
	struct list out = { arena_array(mem, words->n, sizeof(struct word)), 0 };
	size_t i;

	for (i = 0; i < words->n; i++) {
		const char *text = w[i].word != NULL ? w[i].word : w[i].text;
		int64_t middle = (w[i].start.ms + w[i].end.ms) / 2;
		double p = w[i].probability;

		if (text == NULL || !w[i].start.set || !w[i].end.set || w[i].end.ms <= w[i].start.ms ||
		    middle < start.ms || middle > end.ms)
			continue;
		((struct word *)out.rows)[out.n++] = (struct word){ text, w[i].start, w[i].end,
		    p > 0 && p <= 1 ? p : 0, "machine" };
	}
	return out;
}

static bool
anybody_speaks(const struct session *s, int64_t start, int64_t end)
{
	size_t i;

	for (i = 0; i < s->hearing->n_spans; i++)
		if (s->hearing->spans[i].start < end && s->hearing->spans[i].end > start)
			return true;
	return false;
}

/* Hands one passage on, with times in the recording. */
static void
pass_on(struct session *s, const struct passage *p, const struct list *top, struct span chunk)
{
	struct segment out = { { chunk.start + p->start.ms, true }, { chunk.start + p->end.ms, true }, p->text,
	    { NULL, 0 } };
	struct list heard = words_within(s->scratch, p->words.n > 0 ? &p->words : top, p->start, p->end);
	struct word *w;
	size_t i;

	/* What the server itself takes for noise, and text where nobody speaks, is invented. */
	if ((p->no_speech_prob > 0.6 && p->avg_logprob < -1) || !anybody_speaks(s, out.start.ms, out.end.ms))
		return;
	out.words = transcript_align(s->scratch, p->text, p->start.ms, p->end.ms, &heard);
	for (w = out.words.rows, i = 0; i < out.words.n; i++) {
		w[i].start.ms += chunk.start;
		w[i].end.ms += chunk.start;
	}
	if (out.words.n > 0)
		s->hearing->heard(s->hearing->user, &out);
}

/* Of what is only noise nothing is told. */
static void
take_language(struct session *s, const struct reply *r)
{
	const char *said = r->language != NULL ? r->language : r->detected_language;
	const double p = r->language_probability > 0 ? r->language_probability : r->detected_language_probability;

	if (!is_open(s) || said == NULL || (r->segments.n == 0 && (r->text == NULL || utf8_blank(r->text))))
		return;
	s->hearing->told = language_named(s->hearing->mem, said);
	s->hearing->told_confidence = p > 0 && p <= 1 ? p : 0;
}

/* Brings the passages of an answer into order: times within the chunk, never backwards. */
static void
take_reply(struct session *s, const struct reply *r, struct span chunk)
{
	struct passage whole = { .text = r->text, .end = { chunk.end - chunk.start, true } }, *p = r->segments.rows;
	int64_t at = 0, length = chunk.end - chunk.start;
	size_t n = r->segments.n, i;

	if (n == 0) {
		p = &whole;
		n = 1;
	}
	for (i = 0; i < n; i++) {
		/* Behind the end of what was sent nothing was heard. */
		if (p[i].text == NULL || (p[i].start.set && p[i].start.ms > length))
			continue;
		p[i].start.ms = p[i].start.set && p[i].start.ms >= at && p[i].start.ms <= length ? p[i].start.ms : at;
		p[i].end.ms = p[i].end.set && p[i].end.ms >= p[i].start.ms && p[i].end.ms <= length ? p[i].end.ms :
		    length;
		p[i].start.set = p[i].end.set = true;
		at = p[i].end.ms;
		pass_on(s, &p[i], &r->words, chunk);
	}
}

/* From span i on: as many as fit into one request without a long silence among them.  Returns the next span. */
static size_t
next_chunk(const struct session *s, size_t i, struct span *chunk)
{
	const struct hearing *h = s->hearing;

	*chunk = h->spans[i++];
	/* A server that gives no times gets short stretches, so that ours are near. */
	while (!s->plain && i < h->n_spans && h->spans[i].end - chunk->start <= engine_transcribe_http.limits.request &&
	    h->spans[i].start - chunk->end <= GAP_MAX)
		chunk->end = h->spans[i++].end;
	return i;
}

static enum outcome
hear_all(struct session *s)
{
	const struct reply *reply;
	struct web_answer a;
	struct span chunk;
	size_t i = 0, next;

	while (i < s->hearing->n_spans) {
		next = next_chunk(s, i, &chunk);
		reply = ask_for(s, chunk, &a);
		if (reply != NULL) {
			take_language(s, reply);
			take_reply(s, reply, chunk);
			i = next;
		} else if (a.end == WEB_ANSWERED && (a.status == 400 || a.status == 422) && is_open(s) && !s->unsaid) {
			/* some know no "auto", and tell the language where none is named */
			s->unsaid = true;
		} else if (a.end == WEB_ANSWERED && a.status == 400 && !s->plain) {
			/* some models refuse verbose_json; nothing else deserves a second try */
			s->plain = true;
		} else {
			return explain(s, &a);
		}
		arena_reset(s->scratch);
		s->percent = (int)(chunk.end * 100 / s->hearing->length);
		alive(s);
	}
	return DONE;
}

static enum outcome
http_run(struct hearing *h)
{
	const struct engine_settings *set = &h->conf->engine[ENGINE_transcribe];
	struct session s = { .hearing = h, .model = model_of(h->conf) };
	enum outcome outcome;

	if (set->url == NULL)
		return engine_fail(h, REASON_ENGINE_REFUSED, "No transcription server is configured.");
	s.url = endpoint(&s, set->url);
	if (set->key != NULL)
		s.headers[0] = arena_printf(h->mem, "Authorization: Bearer %s", set->key);
	s.prompt = hints_prompt(h->mem, h->hints, PROMPT_MAX);
	s.scratch = arena_new(SCRATCH);
	outcome = hear_all(&s);
	arena_free(s.scratch);
	return outcome;
}

/* Five minutes of samples are 9.6 MB: below the 25 MB that servers take, and soon answered. */
const struct engine engine_transcribe_http = {
	.family = ENGINE_transcribe, .name = "http", .limits = { 300 * 1000, 8 << 20, 4, 30 }, .version = http_version,
	.knows = spoken_known, .run.transcribe = http_run,
};
