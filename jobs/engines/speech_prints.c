/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech prints: voices as numbers, by the acoustic model of pocketsphinx or by a model of sherpa-onnx. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "core/text.h"
#include "jobs/engines/diarize.h"
#include "jobs/engines/sherpa_library.h"
#include "jobs/engines/speech.h"
#include "jobs/engines/supervector.h"
#include "jobs/engines/voiceprint.h"

/* ms of a frame; samples that a neural model hears at once, about: as many as such models are trained with, or a few
 * times more. */
enum { FRAME_MS = 10, PIECE = 10 * PCM_RATE };

struct voice { struct span *spans; size_t n; };

struct maker {
	struct arena *scratch;			/* for one voice */
	const struct supervector_model *model;	/* NULL: it is sherpa-onnx */
	struct sherpa so;
	const void *embedder;
	size_t dim;
};

static bool
say_print(struct arena *mem, const float *numbers, size_t n)
{
	struct buf out = BUF(mem);

	buf_char(&out, '{');
	if (n > 0) {
		buf_text(&out, "\"print\":");
		buf_json(&out, base64url_encode(mem, numbers, n * sizeof(*numbers)));
	}
	buf_text(&out, "}\n");
	return speech_say(&out);
}

static int
print_frames(const struct maker *m, const struct voice *v)
{
	struct speech speech = { .hop = 1 };
	size_t *frames = arena_array(m->scratch, v->n, sizeof(*frames)), n = 0;
	const struct cepstrum **some;
	struct supervector print;

	if (!speech_frames(m->scratch, v->spans, v->n, &speech, frames))
		return EX_NOINPUT;
	diarize_mark_loud(m->scratch, &speech);
	some = arena_array(m->scratch, speech.n, sizeof(*some));
	for (size_t i = 0; i < speech.n && n < VOICEPRINT_MOST_MS / FRAME_MS; i++)
		if (speech.loud[i])
			some[n++] = &speech.at[i];
	if (n < VOICEPRINT_LEAST_MS / FRAME_MS)
		return say_print(m->scratch, NULL, 0) ? EX_OK : EX_IOERR;
	supervector_of(m->model, some, n, &print);
	return say_print(m->scratch, (const float *)&print, sizeof(print) / sizeof(float)) ? EX_OK : EX_IOERR;
}

/* Adds what the model says of a piece, as long as any other: a piece has a say by its direction. */
static int
add_piece(const struct maker *m, const float *x, size_t n, float *sum, size_t *pieces)
{
	const void *stream = m->so.embedder_stream(m->embedder);
	const float *e;
	double square = 0;

	if (stream == NULL)
		return EX_DATAERR;
	m->so.online_accept(stream, PCM_RATE, x, (int32_t)n);
	m->so.online_end(stream);
	if (m->so.embedder_ready(m->embedder, stream)) {
		e = m->so.embedder_compute(m->embedder, stream);
		for (size_t i = 0; e != NULL && i < m->dim; i++)
			square += (double)e[i] * e[i];
		if (!(square > 0 && isfinite(square)))
			return EX_DATAERR;
		for (size_t i = 0; i < m->dim; i++)
			sum[i] += (float)(e[i] / sqrt(square));
		++*pieces;
		m->so.embedding_free(e);
	}
	m->so.online_free(stream);
	return EX_OK;
}

static int
print_samples(const struct maker *m, const struct voice *v)
{
	float *sum = arena_array(m->scratch, m->dim, sizeof(*sum)), *all;
	size_t room = 0, n = 0, some, pieces, made = 0;
	int status = EX_OK;

	for (size_t i = 0; i < v->n; i++)
		room += (size_t)(v->spans[i].end - v->spans[i].start) * (PCM_RATE / 1000);
	all = arena_raw(m->scratch, (room + 1) * sizeof(*all));
	for (size_t i = 0; i < v->n; i++, n += some) {
		const float *x = speech_samples(m->scratch, v->spans[i], &some);

		if (x == NULL)
			return EX_NOINPUT;
		memcpy(all + n, x, some * sizeof(*x));
	}
	pieces = n / PIECE + 1;
	for (size_t i = 0; i < pieces && n >= (size_t)VOICEPRINT_LEAST_MS * (PCM_RATE / 1000) && status == EX_OK; i++)
		status = add_piece(m, all + n * i / pieces, n / pieces, sum, &made);
	if (status != EX_OK)
		return status;
	return say_print(m->scratch, sum, made > 0 ? m->dim : 0) ? EX_OK : EX_IOERR;
}

static int
open_library(struct maker *m, char **models)
{
	const struct sherpa_embedding_config config = { models[1], 1, 0, "cpu" };
	const char *fault = sherpa_open(&m->so, models[0]);
	int32_t dim;

	if (fault != NULL) {
		fprintf(stderr, "%s\n", fault);
		return EX_UNAVAILABLE;
	}
	m->embedder = m->so.embedder_new(&config);
	dim = m->embedder != NULL ? m->so.embedder_dim(m->embedder) : 0;
	m->dim = dim > 0 ? (size_t)dim : 0;
	return m->dim > 0 && m->dim <= VOICEPRINT_MOST ? EX_OK : EX_DATAERR;
}

static bool
read_voice(struct arena *mem, char *text, int64_t length, struct voice *v)
{
	char **spans = arena_array(mem, strlen(text) + 2, sizeof(*spans)), *span;
	size_t n = 0;

	while ((span = strsep(&text, ",")) != NULL)
		spans[n++] = span;
	return speech_spans(mem, spans, length, &v->spans, &v->n);
}

/* Paths are absolute; spans begin with a digit. */
int
speech_prints_main(char **argv)
{
	struct arena *mem = arena_new(64 << 20);
	struct maker m = { .scratch = arena_new(256 << 20) };
	const bool neural = argv[1] != NULL && argv[1][0] == '/';
	const int64_t length = speech_length();
	int status = EX_OK;
	struct voice v;

	if (length < 0)
		return EX_NOINPUT;
	if (neural)
		status = open_library(&m, argv);
	else if ((m.model = supervector_model(mem, argv[0])) == NULL)
		status = EX_CONFIG;
	for (argv += neural ? 2 : 1; *argv != NULL && status == EX_OK; argv++) {
		if (!read_voice(m.scratch, *argv, length, &v))
			return EX_USAGE;
		status = neural ? print_samples(&m, &v) : print_frames(&m, &v);
		arena_reset(m.scratch);
	}
	return status;
}
