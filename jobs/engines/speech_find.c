/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech find: the stretches in which Silero VAD hears a voice. */
#include <stdio.h>
#include <sysexits.h>

#include "jobs/engines/sherpa_library.h"
#include "jobs/engines/speech.h"

/* Silero takes windows of 512 samples at 16 kHz and no others; a minute holds a whole number of them. */
enum { WINDOW = 512, MINUTE = 60 * 1000, LONGEST_SECONDS = 120 };
_Static_assert(MINUTE * (PCM_RATE / 1000) % WINDOW == 0 && WINDOW <= (int)SPEECH_PADDING, "windows");

static int64_t
ms_of(int64_t sample)
{
	return sample / (PCM_RATE / 1000);
}

static bool
say_found(struct arena *mem, const struct sherpa *so, const void *vad, int64_t length)
{
	const struct sherpa_span *s;
	struct buf out = BUF(mem);
	int64_t end;

	for (; !so->vad_empty(vad); so->vad_pop(vad)) {
		s = so->vad_front(vad);
		if (s == NULL)
			return false;
		/* The last window is filled up with silence. */
		end = ms_of((int64_t)s->start + s->n);
		buf_char(&out, '{');
		speech_add_seconds(&out, "start", ms_of(s->start));
		buf_char(&out, ',');
		speech_add_seconds(&out, "end", end < length ? end : length);
		buf_text(&out, "}\n");
		so->span_free(s);
	}
	return out.len == 0 || speech_say(&out);
}

static const void *
detector_new(struct arena *mem, const struct sherpa *so, const char *dir)
{
	const struct sherpa_vad_config config = { .silero = { .model = arena_printf(mem, "%s/" VAD_MODEL, dir),
	    .threshold = 0.3f, .min_silence = 0.5f, .min_speech = 0.25f, .window = WINDOW,
	    .max_speech = LONGEST_SECONDS },
	    .rate = PCM_RATE, .threads = 1, .provider = "cpu" };

	return so->vad_new(&config, LONGEST_SECONDS);
}

int
speech_find_main(const char *dir)
{
	struct arena *mem = arena_new(64 << 20);
	const int64_t length = speech_length();
	const void *vad;
	struct sherpa so;
	const char *fault = sherpa_open(&so, dir);
	int64_t at;
	float *x;
	size_t n;

	if (length < 0)
		return EX_NOINPUT;
	if (fault != NULL) {
		fprintf(stderr, "%s\n", fault);
		return EX_UNAVAILABLE;
	}
	vad = detector_new(mem, &so, dir);
	if (vad == NULL) {
		fprintf(stderr, "no " VAD_MODEL "\n");
		return EX_CONFIG;
	}
	arena_reset(mem);
	for (at = 0; at < length; at += MINUTE) {
		x = speech_samples(mem, (struct span){ at, at + MINUTE < length ? at + MINUTE : length }, &n);
		if (x == NULL)
			return EX_NOINPUT;
		for (size_t i = 0; i < n; i += WINDOW)
			so.vad_accept(vad, x + i, WINDOW);
		if (at + MINUTE >= length)
			so.vad_flush(vad);
		if (!say_found(mem, &so, vad, length) || !speech_say_progress(mem, at, length))
			return EX_IOERR;
		arena_reset(mem);
	}
	return EX_OK;
}
