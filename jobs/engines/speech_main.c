/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek-speech: English speech on standard input (a file of 16 kHz mono s16le) to JSON lines on standard output, one
 * per utterance.  A program of its own, so that the decoder runs in the sandbox and a crash costs one job only.
 *
 *	{"at":1.2,"length":60}				before each utterance, and once at the end: progress
 *	{"start":0.5,"end":2.1,"text":"…","words":[{"text":"hello","start":0.52,"end":0.9,"confidence":0.93},…]}
 */
#include <pocketsphinx.h>
#include <sphinxbase/err.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/buf.h"
#include "jobs/engines/vad.h"

/* Words are timed in frames from the start of their utterance; that holds only as long as no silence is removed. */
static ps_decoder_t *
decoder_new(struct arena *mem, const char *model)
{
	cmd_ln_t *config = cmd_ln_init(NULL, ps_args(), TRUE,
	    "-hmm", arena_printf(mem, "%s/en-us", model),
	    "-lm", arena_printf(mem, "%s/en-us.lm.bin", model),
	    "-dict", arena_printf(mem, "%s/cmudict-en-us.dict", model),
	    "-remove_silence", "no", NULL);

	return config == NULL ? NULL : ps_init(config);
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

static void
add_seconds(struct buf *out, const char *name, int64_t ms)
{
	buf_printf(out, "\"%s\":%lld.%03d", name, (long long)(ms / 1000), (int)(ms % 1000));
}

/* One utterance as a JSON line; nothing when no word was found. */
static void
add_words(struct arena *mem, struct buf *out, ps_decoder_t *ps, struct span span)
{
	int rate = (int)cmd_ln_int32_r(ps_get_config(ps), "-frate"), from, to;
	struct buf text = BUF(mem), words = BUF(mem);
	const char *word;
	double confidence;
	ps_seg_t *seg;

	for (seg = ps_seg_iter(ps); seg != NULL; seg = ps_seg_next(seg)) {
		if ((word = spoken(mem, ps_seg_word(seg))) == NULL)
			continue;
		ps_seg_frames(seg, &from, &to);
		confidence = logmath_exp(ps_get_logmath(ps), ps_seg_prob(seg, NULL, NULL, NULL));
		if (text.len > 0) {
			buf_char(&text, ' ');
			buf_char(&words, ',');
		}
		buf_text(&text, word);
		buf_text(&words, "{\"text\":");
		buf_json(&words, word);
		buf_char(&words, ',');
		add_seconds(&words, "start", span.start + from * 1000 / rate);
		buf_char(&words, ',');
		add_seconds(&words, "end", span.start + (to + 1) * 1000 / rate);
		/* 0 would read as "none given". */
		buf_printf(&words, ",\"confidence\":%.3f}", confidence < 0.001 ? 0.001 : confidence > 1 ? 1 :
		    confidence);
	}
	if (text.len == 0)
		return;
	buf_char(out, '{');
	add_seconds(out, "start", span.start);
	buf_char(out, ',');
	add_seconds(out, "end", span.end);
	buf_text(out, ",\"text\":");
	buf_json(out, buf_string(&text));
	buf_printf(out, ",\"words\":[%s]}\n", buf_string(&words));
}

static bool
say(const struct buf *out)
{
	return fwrite(buf_string(out), 1, out->len, stdout) == out->len && fflush(stdout) == 0;
}

static bool
say_progress(struct arena *mem, int64_t at, int64_t length)
{
	struct buf out = BUF(mem);

	buf_char(&out, '{');
	add_seconds(&out, "at", at);
	buf_char(&out, ',');
	add_seconds(&out, "length", length);
	buf_text(&out, "}\n");
	return say(&out);
}

/* False when the sound cannot be read or nobody listens any more. */
static bool
hear(struct arena *mem, ps_decoder_t *ps, struct span span, int64_t length)
{
	size_t bytes = (size_t)(span.end - span.start) * PCM_BYTES_PER_MS;
	int16_t *pcm = arena_alloc(mem, bytes);
	struct buf out = BUF(mem);

	if (pread(0, pcm, bytes, span.start * PCM_BYTES_PER_MS) != (ssize_t)bytes)
		return false;
	if (ps_start_utt(ps) < 0 || ps_process_raw(ps, pcm, bytes / 2, FALSE, TRUE) < 0 || ps_end_utt(ps) < 0)
		return false;
	add_words(mem, &out, ps, span);
	return say(&out) && say_progress(mem, span.end, length);
}

int
main(int argc, char **argv)
{
	struct arena *mem, *scratch;
	ps_decoder_t *ps;
	struct span *spans;
	int64_t length;
	size_t n, i;

	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: kinothek-speech MODEL_DIRECTORY < FILE.s16le\n");
		return EX_USAGE;
	}
	err_set_logfp(NULL);
	mem = arena_new(512 << 20);
	scratch = arena_new(64 << 20);
	spans = vad_find(mem, 0, &n, &length);
	if (length < 0) {
		fprintf(stderr, "standard input is no readable file\n");
		return EX_NOINPUT;
	}
	if (!say_progress(mem, 0, length))
		return EX_IOERR;
	ps = n > 0 ? decoder_new(mem, argv[1]) : NULL;
	if (n > 0 && ps == NULL) {
		fprintf(stderr, "no speech model in %s\n", argv[1]);
		return EX_CONFIG;
	}
	for (i = 0; i < n; i++) {
		if (!hear(scratch, ps, spans[i], length))
			return EX_IOERR;
		arena_reset(scratch);
	}
	if (ps != NULL)
		ps_free(ps);
	if (fflush(stdout) != 0)
		return EX_IOERR;
	_exit(0);		/* everything goes at once with the process */
}
