/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who speaks when, by models of sherpa-onnx: one finds turns in windows of seconds, the other compares their voices. */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "jobs/engines/sherpa_library.h"
#include "jobs/engines/speech.h"

/*
 * Windows of ten seconds, one for each second: all voices in all of them are compared with each other, in memory that
 * grows by the square.  More than so many would overlap less, down to not at all.
 */
enum { WINDOWS_MAX = 2400, WINDOW_MS = 10000, LONGEST_MS = 6 * 3600 * 1000 };
/* s between two signs of life; voices that are compared between two times that it says how far it is. */
enum { ALIVE_SECONDS = 30, EVERY = 20 };
#define OVERLAP_SHIFT 0.1f
/* How far voices that are one may be apart, 1 less the cosine; s that a turn, and a pause that parts two, has at least:
 * as the library has them. */
#define CLUSTERED 0.5f
#define TURN_LEAST 0.3f
#define PAUSE_LEAST 0.5f

static int64_t
length_of(const struct span *spans, size_t n)
{
	int64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += spans[i].end - spans[i].start;
	return all < LONGEST_MS ? all : LONGEST_MS;
}

/* Samples of the spans one behind the other; NULL: they cannot be read.  They are too many for an arena. */
static float *
read_samples(const struct span *spans, int64_t length)
{
	const int64_t n = length * (PCM_RATE / 1000);
	float *out = mmap(NULL, (size_t)n * sizeof(*out), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int16_t pcm[PCM_RATE];
	int64_t at = 0;

	for (size_t i = 0; out != MAP_FAILED && at < n; i++)
		for (int64_t from = spans[i].start; from < spans[i].end && at < n; from += 1000) {
			const int64_t ms = spans[i].end - from < 1000 ? spans[i].end - from : 1000;

			if (!speech_read(pcm, (size_t)ms * PCM_BYTES_PER_MS, from))
				return NULL;
			for (int64_t k = 0; k < ms * (PCM_RATE / 1000) && at < n; k++)
				out[at++] = (float)pcm[k] / 32768;
		}
	return out != MAP_FAILED ? out : NULL;
}

static struct sherpa_diarization_config
configured(char **models, int64_t length)
{
	const float wide = (float)length / WINDOW_MS / WINDOWS_MAX;

	return (struct sherpa_diarization_config){
	    .segmentation = { { models[1], wide < OVERLAP_SHIFT ? OVERLAP_SHIFT : wide < 1 ? wide : 1 }, 1, 0, "cpu" },
	    .embedding = { models[2], 1, 0, "cpu" }, .clustering = { -1, CLUSTERED, 0 }, .min_on = TURN_LEAST,
	    .min_off = PAUSE_LEAST };
}

/* How far it is, ms. */
static struct { _Atomic int64_t at; int64_t length; } heard;

/* Turns are found without a word, for as long as it takes: as long as it computes, it is alive. */
static void *
keep_alive(void *user)
{
	struct arena *mem = arena_new(1 << 20);
	struct timespec spent, before = { 0, 0 };

	while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent) == 0) {
		if (spent.tv_sec > before.tv_sec)
			speech_say_progress(mem, heard.at, heard.length);
		arena_reset(mem);
		before = spent;
		sleep(ALIVE_SECONDS);
	}
	return NULL;
}

static int32_t
tell(int32_t done, int32_t all, void *user)
{
	if (all > 0)
		heard.at = heard.length * done / all;
	if (done % EVERY == 0)
		speech_say_progress(user, heard.at, heard.length);
	return 0;
}

/* Times of a model: within the sound, or left out. */
static void
take(struct turns *out, const struct sherpa_turn *t, int64_t length)
{
	const double start = t->start, end = t->end;
	struct stretch s = { .voice = t->speaker };

	if (!(start >= 0 && end > start && start * 1000 < (double)length) || t->speaker < 0)
		return;
	s.at.start = (int64_t)(start * 1000);
	s.at.end = end * 1000 < (double)length ? (int64_t)(end * 1000) : length;
	if (s.at.end > s.at.start)
		out->at[out->n++] = s;
}

int
speech_turns(struct arena *mem, char **models, const struct span *spans, size_t n, struct turns *out)
{
	const int64_t length = length_of(spans, n);
	const struct sherpa_diarization_config config = configured(models, length);
	const struct sherpa_turn *t;
	const void *diarizer, *result;
	struct sherpa so;
	const char *fault = sherpa_open(&so, models[0]);
	pthread_t thread;
	float *x;
	int32_t count;

	*out = (struct turns){ NULL, 0 };
	if (fault != NULL) {
		fprintf(stderr, "%s\n", fault);
		return EX_UNAVAILABLE;
	}
	diarizer = so.diarizer_new(&config);
	if (diarizer == NULL || so.diarizer_rate(diarizer) != PCM_RATE)
		return EX_DATAERR;
	if (length == 0)
		return EX_OK;
	x = read_samples(spans, length);
	if (x == NULL)
		return EX_NOINPUT;
	heard.length = length;
	pthread_create(&thread, NULL, keep_alive, NULL);
	result = so.diarizer_run(diarizer, x, (int32_t)(length * (PCM_RATE / 1000)), tell, mem);
	munmap(x, (size_t)length * (PCM_RATE / 1000) * sizeof(*x));
	count = result != NULL ? so.turns_count(result) : 0;
	t = count > 0 ? so.turns_sorted(result) : NULL;
	out->at = arena_array(mem, count > 0 ? (size_t)count : 0, sizeof(*out->at));
	for (int32_t i = 0; t != NULL && i < count; i++)
		take(out, &t[i], length);
	return EX_OK;
}
