/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech sherpa: spans through a model of sherpa-onnx; its tokens become words. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "jobs/engines/sherpa_library.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/speech.h"
#include "media/transcript.h"

/* Where nobody says how long a token lasts, ms; tokens of one span; bytes of their text. */
enum { TOKEN_MS = 250, TOKENS_MAX = 20000, TEXT_MAX = 100000 };

struct ear {
	struct sherpa so;
	const void *recognizer;
	struct arena *scratch;
};

/* The language as models want it: ISO 639, without region; of a translation, that which is spoken is not known. */
static const char *
plain_language(struct arena *mem, const char *tag)
{
	return strcmp(tag, "translate-en") == 0 ? "" : arena_copy_n(mem, tag, strcspn(tag, "-_"));
}

static struct sherpa_recognizer_config
configuration(struct arena *mem, enum sherpa_type type, const char *const *file, const char *language)
{
	struct sherpa_recognizer_config c = { .features = { PCM_RATE, 80 }, .method = "greedy_search", .paths = 4,
	    .model = { .threads = 1, .provider = "cpu" } };

	c.model.tokens = file[type == SHERPA_whisper ? 2 : type == SHERPA_moonshine ? 4 :
	    type == SHERPA_zipformer_ctc || type == SHERPA_sense_voice ? 1 : 3];
	if (type == SHERPA_whisper) {
		c.model.whisper.encoder = file[0];
		c.model.whisper.decoder = file[1];
		c.model.whisper.language = plain_language(mem, language);
		c.model.whisper.task = strcmp(language, "translate-en") == 0 ? "translate" : "transcribe";
	} else if (type == SHERPA_zipformer || type == SHERPA_parakeet) {
		c.model.transducer.encoder = file[0];
		c.model.transducer.decoder = file[1];
		c.model.transducer.joiner = file[2];
		c.model.type = type == SHERPA_parakeet ? "nemo_transducer" : "transducer";
	} else if (type == SHERPA_zipformer_ctc) {
		c.model.zipformer_ctc = file[0];
	} else if (type == SHERPA_moonshine) {
		c.model.moonshine.preprocessor = file[0];
		c.model.moonshine.encoder = file[1];
		c.model.moonshine.uncached = file[2];
		c.model.moonshine.cached = file[3];
	} else {
		c.model.sense_voice.model = file[0];
		c.model.sense_voice.language = plain_language(mem, language);
		c.model.sense_voice.itn = 1;
	}
	return c;
}

/* A token without what is no UTF-8; *begins: it begins a word, by a leading blank. */
static const char *
token_text(struct arena *mem, const char *token, bool *begins)
{
	static const char blank[] = "\u2581";
	struct buf b = BUF(mem);
	size_t n;

	*begins = token[0] == ' ' || strncmp(token, blank, sizeof(blank) - 1) == 0;
	token += token[0] == ' ' ? 1 : *begins ? sizeof(blank) - 1 : 0;
	while (*token != '\0') {
		n = utf8_prefix(token, strlen(token));
		buf_add(&b, token, n);
		token += n + (token[n] != '\0');
	}
	return buf_string(&b);
}

/* A time of the model as ms in the recording: within the span, and never backwards. */
static int64_t
moment_in(struct span span, double seconds, int64_t at)
{
	int64_t t = seconds >= 0 && seconds < 3600 ? span.start + llround(seconds * 1000) : at;

	return t < at ? at : t > span.end ? span.end : t;
}

/* Words joined from tokens.  None, when the model tells no times. */
static struct list
words_of(struct arena *mem, const struct sherpa_result *r, struct span span)
{
	int32_t n = r->times == NULL || r->tokens == NULL || r->n < 0 ? 0 : r->n < TOKENS_MAX ? r->n : TOKENS_MAX, i;
	struct list out = { arena_array(mem, (size_t)n, sizeof(struct word)), 0 };
	struct word *w = (struct word *)out.rows - 1;
	int64_t at = span.start;
	bool begins;

	for (i = 0; i < n; i++) {
		const char *text = token_text(mem, r->tokens[i] != NULL ? r->tokens[i] : "", &begins);
		double p = r->log_probs != NULL ? exp(r->log_probs[i]) : 0;

		at = moment_in(span, r->times[i], at);
		if (out.n == 0 || begins) {
			*++w = (struct word){ .text = "", .start = { at, true }, .source = "machine",
			    .confidence = p > 0 && p <= 1 ? p : 0 };
			out.n++;
		}
		w->text = arena_printf(mem, "%s%s", w->text, text);
		/* A word is as sure as its weakest token. */
		if (p > 0 && p < w->confidence)
			w->confidence = p;
		w->end = (struct position){ moment_in(span, r->times[i] + (r->durations != NULL && r->durations[i] > 0 ?
		    (double)r->durations[i] : TOKEN_MS / 1000.0), at), true };
		if (out.n > 1 && begins && w[-1].end.ms > w->start.ms)
			w[-1].end.ms = w->start.ms;
	}
	return out;
}

static void
add_word(struct buf *out, const struct word *w)
{
	buf_text(out, "{\"text\":");
	buf_json(out, w->text);
	buf_char(out, ',');
	speech_add_seconds(out, "start", w->start.ms);
	buf_char(out, ',');
	speech_add_seconds(out, "end", w->end.ms);
	if (w->confidence > 0)
		buf_printf(out, ",\"confidence\":%.3f", w->confidence < 0.001 ? 0.001 : w->confidence);
	buf_char(out, '}');
}

/* Whoever reads this puts the times on the words of the text: it alone has the blanks and the punctuation right. */
static bool
say_result(struct ear *e, const struct sherpa_result *r, struct span span)
{
	struct arena *mem = e->scratch;
	size_t n = r->text != NULL ? utf8_prefix(r->text, strnlen(r->text, TEXT_MAX)) : 0, said = 0;
	struct list words = words_of(mem, r, span);
	const struct word *w = words.rows;
	struct buf out = BUF(mem);

	if (n == 0)
		return true;
	buf_char(&out, '{');
	speech_add_seconds(&out, "start", span.start);
	buf_char(&out, ',');
	speech_add_seconds(&out, "end", span.end);
	buf_text(&out, ",\"text\":");
	buf_json(&out, arena_copy_n(mem, r->text, n));
	buf_text(&out, ",\"words\":[");
	for (size_t i = 0; i < words.n; i++) {
		if (w[i].text[0] == '\0')
			continue;
		buf_text(&out, said++ > 0 ? "," : "");
		add_word(&out, &w[i]);
	}
	buf_text(&out, "]}\n");
	return speech_say(&out);
}

static int
hear(struct ear *e, struct span span, int64_t length)
{
	const struct sherpa_result *r;
	const void *stream;
	size_t n;
	const float *x = speech_samples(e->scratch, span, &n);
	bool said;

	if (x == NULL)
		return EX_NOINPUT;
	stream = e->so.stream_new(e->recognizer);
	if (stream == NULL)
		return EX_DATAERR;
	e->so.stream_accept(stream, PCM_RATE, x, (int32_t)n);
	e->so.stream_decode(e->recognizer, stream);
	r = e->so.stream_result(stream);
	if (r == NULL)
		return EX_DATAERR;
	said = say_result(e, r, span);
	e->so.result_free(r);
	e->so.stream_free(stream);
	return said && speech_say_progress(e->scratch, span.end, length) ? EX_OK : EX_IOERR;
}

/* What is said before the sound is touched: which of library, files and model is not as it should be. */
static int
prepare(struct arena *mem, struct ear *e, char **argv)
{
	enum sherpa_type type = sherpa_type_find(argv[1]);
	const char *files[SHERPA_PARTS], *fault;
	struct sherpa_recognizer_config config;
	int64_t bytes;

	if (type == SHERPA_TYPE_COUNT)
		return EX_USAGE;
	fault = sherpa_open(&e->so, argv[0]);
	if (fault != NULL) {
		fprintf(stderr, "%s\n", fault);
		return EX_UNAVAILABLE;
	}
	fault = sherpa_model_files(mem, type, argv[2], files, &bytes);
	if (fault != NULL) {
		fprintf(stderr, "missing: %s\n", fault);
		return EX_CONFIG;
	}
	config = configuration(mem, type, files, argv[3]);
	e->recognizer = e->so.recognizer_new(&config);
	return e->recognizer != NULL ? EX_OK : EX_DATAERR;
}

int
speech_sherpa_main(char **argv)
{
	struct arena *mem = arena_new(64 << 20);
	struct ear e = { .scratch = arena_new(64 << 20) };
	const int64_t length = speech_length();
	struct span *spans;
	int status;
	size_t n;

	if (length < 0)
		return EX_NOINPUT;
	if (!speech_spans(mem, argv + 4, length, &spans, &n))
		return EX_USAGE;
	if (!speech_say_progress(mem, n > 0 ? spans[0].start : 0, length))
		return EX_IOERR;
	status = prepare(mem, &e, argv);
	for (size_t i = 0; i < n && status == EX_OK; i++) {
		status = hear(&e, spans[i], length);
		arena_reset(e.scratch);
	}
	return status;
}
