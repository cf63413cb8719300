/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek-speech: what is said on standard input (a file of 16 kHz mono s16le), and where, as JSON lines on standard
 * output.  A program of its own, so that decoders and libraries run in the sandbox and a crash costs one job only.
 *
 *	{"at":1.2,"length":60}				before each utterance, and once at the end: progress
 *	{"start":0.5,"end":2.1}				of find
 *	{"turns":[{"start":0.5,"end":2.1},…],"speech":34.2}	of voices
 *	{"print":"…"}					of prints
 *	{"start":0.5,"end":2.1,"text":"…","words":[{"text":"hello","start":0.52,"end":0.9,"confidence":0.93},…]}
 */
#include <math.h>
#include <pocketsphinx.h>
#include <sphinxbase/err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "jobs/engines/pronounce.h"
#include "jobs/engines/speech.h"

/*
 * Of ten words, one is taken to be as the hints say, but of five hundred no more than one to be a certain word of
 * theirs: a few words must not be heard everywhere.
 */
#define HINTS_SHARE 0.1f
#define HINT_SHARE 0.002f

/*
 * The decoder says how sure it is of a word among others, not whether anything of them was said: of speech backwards
 * and of other languages it can be surer than of a reader.  How well the words fit the sound tells that: what they are
 * behind the likeliest sound of each frame, on average, in nats.  Of 71 real utterances three were below -4, each of
 * three words, mostly wrong ones; of 81 of nonsense 62 were, and none above -3.  So confidence goes down from FITS to
 * UNFIT, by half.
 */
#define FITS (-3.2)
#define UNFIT (-4.5)
#define UNFIT_SHARE 0.5

/* Words of the hints that the dictionary does not have get the pronunciation that their letters suggest. */
static void
add_words_of(struct arena *mem, ps_decoder_t *ps, ngram_model_t *hints)
{
	int32 n = ngram_model_get_counts(hints)[0], i;
	const char *word, *phones;
	char *known;

	for (i = 0; i < n; i++) {
		word = ngram_word(hints, i);
		if (word == NULL || word[0] == '<')
			continue;
		known = ps_lookup_word(ps, word);
		if (known == NULL && (phones = pronounce(mem, word)) != NULL)
			ps_add_word(ps, word, phones, FALSE);
		ckd_free(known);
	}
}

/* The model's own language model, the hints mixed in.  Hints that cannot be read are none. */
static ngram_model_t *
language_new(struct arena *mem, ps_decoder_t *ps, const char *model, const char *hints)
{
	ngram_model_t *both[2], *mixed;
	float32 weights[2];
	char own[] = "own", theirs[] = "hints", *names[] = { own, theirs };

	both[0] = ngram_model_read(ps_get_config(ps), arena_printf(mem, "%s/en-us.lm.bin", model), NGRAM_AUTO,
	    ps_get_logmath(ps));
	if (both[0] == NULL || hints == NULL)
		return both[0];
	both[1] = ngram_model_read(ps_get_config(ps), hints, NGRAM_ARPA, ps_get_logmath(ps));
	if (both[1] == NULL) {
		fprintf(stderr, "the hints cannot be read\n");
		return both[0];
	}
	add_words_of(mem, ps, both[1]);
	weights[1] = fminf(HINTS_SHARE, HINT_SHARE * (float32)ngram_model_get_counts(both[1])[0]);
	weights[0] = 1 - weights[1];
	mixed = ngram_model_set_init(ps_get_config(ps), both, names, weights, 2);
	return mixed != NULL ? mixed : both[0];
}

/* Words are timed in frames from the start of their utterance; that holds only as long as no silence is removed. */
static ps_decoder_t *
decoder_new(struct arena *mem, const char *model, const char *hints)
{
	cmd_ln_t *config = cmd_ln_init(NULL, ps_args(), TRUE,
	    "-hmm", arena_printf(mem, "%s/en-us", model),
	    "-dict", arena_printf(mem, "%s/cmudict-en-us.dict", model),
	    "-remove_silence", "no", NULL);
	ps_decoder_t *ps = config == NULL ? NULL : ps_init(config);
	ngram_model_t *language = ps == NULL ? NULL : language_new(mem, ps, model, hints);

	if (language == NULL || ps_set_lm(ps, "words", language) < 0 || ps_set_search(ps, "words") < 0)
		return NULL;
	return ps;
}

/* "read(2)" is the second way to say "read"; "<sil>" and "[NOISE]" are no words. */
static const char *
spoken(struct arena *mem, const char *word)
{
	const char *bracket;

	if (word == NULL || word[0] == '<' || word[0] == '[' || word[0] == '+')
		return NULL;
	bracket = strchr(word, '(');
	return bracket == NULL || bracket == word ? word : arena_copy_n(mem, word, (size_t)(bracket - word));
}

void
speech_add_seconds(struct buf *out, const char *name, int64_t ms)
{
	buf_printf(out, "\"%s\":%lld.%03d", name, (long long)(ms / 1000), (int)(ms % 1000));
}

/* What the confidences of an utterance are worth, from UNFIT_SHARE to 1. */
static double
fit(struct arena *mem, ps_decoder_t *ps)
{
	int32 score, from, to;
	double sum = 0, frames = 0, part;

	for (ps_seg_t *seg = ps_seg_iter(ps); seg != NULL; seg = ps_seg_next(seg)) {
		if (spoken(mem, ps_seg_word(seg)) == NULL)
			continue;
		ps_seg_prob(seg, &score, NULL, NULL);
		ps_seg_frames(seg, &from, &to);
		sum += logmath_log_to_ln(ps_get_logmath(ps), score);
		frames += to - from + 1;
	}
	part = frames == 0 ? 1 : (sum / frames - UNFIT) / (FITS - UNFIT);
	return UNFIT_SHARE + (1 - UNFIT_SHARE) * fmin(fmax(part, 0), 1);
}

/* One utterance as a JSON line; nothing when no word was found. */
static void
add_words(struct arena *mem, struct buf *out, ps_decoder_t *ps, struct span span)
{
	int rate = (int)cmd_ln_int32_r(ps_get_config(ps), "-frate"), from, to;
	struct buf text = BUF(mem), words = BUF(mem);
	const double worth = fit(mem, ps);
	const char *word;
	double confidence;
	ps_seg_t *seg;

	for (seg = ps_seg_iter(ps); seg != NULL; seg = ps_seg_next(seg)) {
		if ((word = spoken(mem, ps_seg_word(seg))) == NULL)
			continue;
		ps_seg_frames(seg, &from, &to);
		confidence = worth * logmath_exp(ps_get_logmath(ps), ps_seg_prob(seg, NULL, NULL, NULL));
		if (text.len > 0) {
			buf_char(&text, ' ');
			buf_char(&words, ',');
		}
		buf_text(&text, word);
		buf_text(&words, "{\"text\":");
		buf_json(&words, word);
		buf_char(&words, ',');
		speech_add_seconds(&words, "start", span.start + from * 1000 / rate);
		buf_char(&words, ',');
		speech_add_seconds(&words, "end", span.start + (to + 1) * 1000 / rate);
		/* 0 would read as "none given". */
		buf_printf(&words, ",\"confidence\":%.3f}", confidence < 0.001 ? 0.001 : confidence > 1 ? 1 :
		    confidence);
	}
	if (text.len == 0)
		return;
	buf_char(out, '{');
	speech_add_seconds(out, "start", span.start);
	buf_char(out, ',');
	speech_add_seconds(out, "end", span.end);
	buf_text(out, ",\"text\":");
	buf_json(out, buf_string(&text));
	buf_printf(out, ",\"words\":[%s]}\n", buf_string(&words));
}

bool
speech_say(const struct buf *out)
{
	return fwrite(buf_string(out), 1, out->len, stdout) == out->len && fflush(stdout) == 0;
}

bool
speech_say_progress(struct arena *mem, int64_t at, int64_t length)
{
	struct buf out = BUF(mem);

	buf_char(&out, '{');
	speech_add_seconds(&out, "at", at);
	buf_char(&out, ',');
	speech_add_seconds(&out, "length", length);
	buf_text(&out, "}\n");
	return speech_say(&out);
}

/* False when the sound cannot be read or nobody listens any more. */
static bool
hear(struct arena *mem, ps_decoder_t *ps, struct span span, int64_t length)
{
	size_t bytes = (size_t)(span.end - span.start) * PCM_BYTES_PER_MS;
	int16_t *pcm = arena_alloc(mem, bytes);
	struct buf out = BUF(mem);

	if (!speech_read(pcm, bytes, span.start))
		return false;
	if (ps_start_utt(ps) < 0 || ps_process_raw(ps, pcm, bytes / 2, FALSE, TRUE) < 0 || ps_end_utt(ps) < 0)
		return false;
	add_words(mem, &out, ps, span);
	return speech_say(&out) && speech_say_progress(mem, span.end, length);
}

int64_t
speech_length(void)
{
	off_t size = lseek(0, 0, SEEK_END);

	if (size < 0)
		fprintf(stderr, "standard input is no readable file\n");
	return size < 0 ? -1 : size / PCM_BYTES_PER_MS;
}

bool
speech_read(int16_t *out, size_t bytes, int64_t from)
{
	return pread(0, out, bytes, from * PCM_BYTES_PER_MS) == (ssize_t)bytes;
}

float *
speech_samples(struct arena *mem, struct span span, size_t *n)
{
	size_t bytes = (size_t)(span.end - span.start) * PCM_BYTES_PER_MS, i;
	int16_t *pcm = arena_raw(mem, bytes);
	float *x;

	*n = bytes / 2;
	x = arena_array(mem, *n + SPEECH_PADDING, sizeof(*x));
	if (!speech_read(pcm, bytes, span.start))
		return NULL;
	for (i = 0; i < *n; i++)
		x[i] = (float)pcm[i] / 32768;
	return x;
}

bool
speech_spans(struct arena *mem, char **argv, int64_t length, struct span **spans, size_t *n)
{
	char *end;

	for (*n = 0; argv[*n] != NULL;)
		(*n)++;
	*spans = arena_array(mem, *n, sizeof(**spans));
	for (size_t i = 0; i < *n; i++) {
		struct span *s = &(*spans)[i];

		s->start = strtoll(argv[i], &end, 10);
		s->end = *end == '-' ? strtoll(end + 1, &end, 10) : -1;
		if (*end != '\0' || s->start < 0 || s->end <= s->start || s->end > length)
			return false;
	}
	return true;
}

/* Hints are an absolute path, spans begin with a digit.  Without spans it looks for them itself, by loudness. */
static int
pocketsphinx_main(const char *model, char **argv)
{
	const char *hints = argv[0] != NULL && argv[0][0] == '/' ? *argv++ : NULL;
	struct arena *mem = arena_new(512 << 20), *scratch = arena_new(64 << 20);
	int64_t length = speech_length();
	struct span *spans;
	ps_decoder_t *ps;
	size_t n, i;

	if (length < 0)
		return EX_NOINPUT;
	if (!speech_spans(mem, argv, length, &spans, &n))
		return EX_USAGE;
	if (n == 0)
		spans = vad_find(mem, 0, &n, &length);
	err_set_logfp(NULL);
	if (!speech_say_progress(mem, n > 0 ? spans[0].start : 0, length))
		return EX_IOERR;
	ps = n > 0 ? decoder_new(mem, model, hints) : NULL;
	if (n > 0 && ps == NULL) {
		fprintf(stderr, "no speech model in %s\n", model);
		return EX_CONFIG;
	}
	for (i = 0; i < n; i++) {
		if (!hear(scratch, ps, spans[i], length))
			return EX_IOERR;
		arena_reset(scratch);
	}
	return EX_OK;
}

static int
usage(void)
{
	fprintf(stderr, "usage: kinothek-speech find LIBRARY_DIRECTORY < FILE.s16le\n"
	    "       kinothek-speech pocketsphinx MODEL_DIRECTORY [HINTS.arpa] [START-END…] < FILE.s16le\n"
	    "       kinothek-speech sherpa LIBRARY_DIRECTORY TYPE MODEL_DIRECTORY LANGUAGE [START-END…] < FILE.s16le\n"
	    "       kinothek-speech ends MODEL_DIRECTORY < WORDS\n"
	    "       kinothek-speech marks LIBRARY_DIRECTORY MODEL < WORDS\n"
	    "       kinothek-speech voices [LIBRARY_DIRECTORY TURNS_MODEL VOICES_MODEL] [START-END…] < FILE.s16le\n"
	    "       kinothek-speech prints MODEL_DIRECTORY|LIBRARY_DIRECTORY VOICES_MODEL START-END[,START-END…]… "
	    "< FILE.s16le\n");
	return EX_USAGE;
}

int
main(int argc, char **argv)
{
	int status;

	if (argc == 3 && strcmp(argv[1], "find") == 0)
		status = speech_find_main(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "ends") == 0)
		status = speech_ends_main(argv[2]);
	else if (argc == 4 && strcmp(argv[1], "marks") == 0)
		status = speech_marks_main(argv + 2);
	else if (argc >= 3 && strcmp(argv[1], "pocketsphinx") == 0)
		status = pocketsphinx_main(argv[2], argv + 3);
	else if (argc >= 2 && strcmp(argv[1], "voices") == 0)
		status = speech_voices_main(argv + 2);
	else if (argc >= 4 && strcmp(argv[1], "prints") == 0)
		status = speech_prints_main(argv + 2);
	else if (argc >= 6 && strcmp(argv[1], "sherpa") == 0)
		status = speech_sherpa_main(argv + 2);
	else
		status = usage();
	if (fflush(stdout) != 0 && status == EX_OK)
		status = EX_IOERR;
	_exit(status);		/* everything goes at once with the process */
}
