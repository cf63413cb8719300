/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where somebody speaks, by Silero VAD in the jailed worker, and by loudness where it is missing or fails.  The real
 * library, from npm ci; without it the tests that need it are skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/engines/sherpa_model.h"
#include "tests/jobs/ears.h"
#include "tests/world.h"

#define AFTER_SILENCE(graph, seconds) "anullsrc=r=16000:cl=mono:d=" #seconds "[before];" graph "[voice];[before][voice]" \
	"concat=v=0:a=1,apad=pad_dur=4"

/* What an engine would have been given. */
struct trial { struct hearing h; struct span spans[64]; size_t n; bool asked; };

/* Seconds, for the worker that hangs: a machine with much to do is slow, too. */
static int patience;

static enum outcome
remember(struct hearing *h)
{
	struct trial *t = h->user;

	t->asked = true;
	for (t->n = 0; t->n < h->n_spans; t->n++)
		t->spans[t->n] = h->spans[t->n];
	return DONE;
}

static void
progress(void *user, int percent)
{
	assert_in_range(percent, 0, 100);
}

static void
detect(struct world *w, const struct conf *conf, struct trial *t, int pcm)
{
	static const struct engine listener = { .run.transcribe = remember };

	*t = (struct trial){ .h = { .mem = w->mem, .conf = conf, .pcm = pcm, .language = "en", .progress = progress,
	    .user = t, .length = lseek(pcm, 0, SEEK_END) / PCM_BYTES_PER_MS, .patience = patience } };
	assert_int_equal(engine_hear(&listener, &t->h), DONE);
	close(pcm);
	for (size_t i = 0; i < t->n; i++) {
		assert_in_range(t->spans[i].end - t->spans[i].start, 1, 25000);
		assert_true(t->spans[i].start >= (i > 0 ? t->spans[i - 1].end : 0));
		assert_true(t->spans[i].end <= t->h.length);
	}
}

/* As detect(), by Silero VAD. */
static void
detect_well(struct world *w, struct trial *t, const char *graph)
{
	if (sherpa_dir(w->mem, w->conf) == NULL) {
		print_message("# SKIP sherpa-onnx is not installed (npm ci)\n");
		skip();
	}
	detect(w, w->conf, t, samples(w->mem, graph));
	if (t->h.note != NULL)
		fail_msg("%s", t->h.note);
}

static void
voices_are_found_with_room_around_them(void **state)
{
	static const char *const graphs[] = { AFTER_SILENCE(VOICE(SECOND, "rms"), 9),
		AFTER_SILENCE(VOICE(SECOND, "slt"), 9), AFTER_SILENCE(VOICE(SECOND, "kal16"), 9) };
	struct world *w = *state;
	struct trial t;

	for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
		detect_well(w, &t, graphs[i]);
		assert_true(t.n >= 1);
		assert_in_range(t.spans[0].start, 8600, 9300);
		assert_in_range(t.spans[t.n - 1].end, t.h.length - 4300, t.h.length - 3300);
	}
}

/* Ten decibels louder than noise that is steady: loudness alone finds nothing there. */
static void
voices_in_noise_are_found(void **state)
{
	const char *noisy = AFTER_SILENCE(VOICE(LECTURE, "rms"), 5) "[said];"
	    "anoisesrc=color=white:a=0.08:r=16000:seed=3[noise];[said][noise]amix=duration=first:normalize=0";
	struct world *w = *state;
	struct trial t;

	detect_well(w, &t, noisy);
	assert_true(t.n >= 1);
	assert_in_range(t.spans[0].start, 4500, 5500);
	assert_true(t.spans[t.n - 1].end > t.h.length - 6000);
}

static void
music_tones_and_noise_are_no_speech(void **state)
{
	static const char *const graphs[] = { MUSIC, "aevalsrc='0.4*sin(2*PI*t*600)*gt(mod(t,2),1)':d=20",
		"aevalsrc='0.5*(random(0)-0.5)*gt(mod(t,1.1),0.6)':d=20", "anoisesrc=color=pink:a=0.3:d=20:seed=1",
		"anullsrc=r=16000:cl=mono:d=70", "sine=f=440:d=5", "anullsrc=r=16000:cl=mono:d=0.01" };
	struct world *w = *state;
	struct trial t;

	for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
		detect_well(w, &t, graphs[i]);
		assert_false(t.asked);
		assert_int_equal(t.h.n_spans, 0);
	}
}

static void
a_short_clip_is_kept_whole(void **state)
{
	struct world *w = *state;
	struct trial t;

	detect_well(w, &t, "anullsrc=r=16000:cl=mono:d=3[b];" VOICE("good morning", "rms") "[v];[b][v]concat=v=0:a=1,"
	    "apad=whole_dur=9.5");
	assert_int_equal(t.n, 1);
	assert_int_equal(t.spans[0].start, 0);
	assert_int_equal(t.spans[0].end, t.h.length);
}

/* The detector is given a minute at a time. */
static void
what_is_said_across_minutes_stays_together(void **state)
{
	struct world *w = *state;
	struct trial t;

	detect_well(w, &t, AFTER_SILENCE(VOICE(LECTURE, "rms"), 50));
	assert_in_range(t.spans[0].start, 49500, 50400);
	assert_true(t.spans[t.n - 1].end > 62000);
	for (size_t i = 1; i < t.n; i++)
		assert_true(t.spans[i].start - t.spans[i - 1].end < 1500);
}

static void
what_is_said_up_to_the_end_is_found(void **state)
{
	struct world *w = *state;
	struct trial t;

	detect_well(w, &t, "anullsrc=r=16000:cl=mono:d=9[b];" VOICE(LECTURE, "rms") "[v];[b][v]concat=v=0:a=1,"
	    "atrim=end=15");
	assert_true(t.n >= 1);
	assert_in_range(t.spans[t.n - 1].end, t.h.length - 100, t.h.length);
}

static void
what_was_found_is_widened_joined_and_cut(void **state)
{
	struct world *w = *state;
	struct span found[] = { { 100, 2000 }, { 2500, 4000 }, { 8000, 9000 }, { 12000, 58000 }, { 89000, 90000 } };
	int pcm = samples(w->mem, "anullsrc=r=16000:cl=mono:d=90");
	size_t n = 5, i;
	struct span *s = vad_arrange(w->mem, pcm, found, &n, 90000);

	/* The long one in pieces of at most 25 s. */
	assert_int_equal(n, 2 + 3 + 1);
	assert_int_equal(s[0].start, 0);
	assert_int_equal(s[0].end, 4400);
	assert_int_equal(s[1].start, 7800);
	assert_int_equal(s[1].end, 9400);
	assert_int_equal(s[2].start, 11800);
	assert_int_equal(s[4].end, 58400);
	assert_int_equal(s[5].end, 90000);
	for (i = 0; i < n; i++)
		assert_in_range(s[i].end - s[i].start, 1, 25000);
	n = 5;
	assert_null(vad_arrange(w->mem, -1, found, &n, 90000));
	close(pcm);
}

/* A directory with a worker of its own, and with something in the place of the library. */
static struct conf *
with_worker(struct world *w, const char *script)
{
	const char *dir = arena_printf(w->mem, "%s/bad", ears_dir);
	const char *file = arena_printf(w->mem, "%s/kinothek-speech", dir);
	struct conf *c = NEW(w->mem, struct conf);
	FILE *f;

	*c = *w->conf;
	c->engine_library = dir;
	run((const char *[]){ "mkdir", "-p", dir, NULL });
	run((const char *[]){ "touch", arena_printf(w->mem, "%s/libsherpa-onnx-c-api.so", dir), NULL });
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	assert_int_equal(chmod(file, 0755), 0);
	setenv("KINOTHEK_LIBEXEC", dir, 1);
	return c;
}

/* Detection fails; loudness finds the voice all the same, and the log says so. */
static void
expect_loudness(struct world *w, const struct conf *conf, const char *why)
{
	struct trial t;

	detect(w, conf, &t, samples(w->mem, AFTER_SILENCE(VOICE(SECOND, "rms"), 9)));
	assert_true(t.asked && t.n > 0);
	assert_in_range(t.spans[0].start, 8600, 9300);
	assert_non_null(t.h.note);
	assert_non_null(strstr(t.h.note, "loudness"));
	if (strstr(t.h.note, why) == NULL)
		fail_msg("%s: %s", why, t.h.note);
	assert_int_equal(t.h.fault.reason, REASON_NONE);
}

static void
a_detector_that_fails_hangs_or_lies_costs_nothing_but_precision(void **state)
{
	static const struct { const char *script, *why; } workers[] = {
		{ "#!/bin/sh\nkill -SEGV $$\n", "crashed" },
		{ "#!/bin/sh\nkill -ABRT $$\n", "crashed" },
		{ "#!/bin/sh\nexit 3\n", "crashed" },
		{ "#!/bin/sh\nread x </dev/zero\nsleep 100\n", "no_progress" },
		{ "#!/bin/sh\necho '{\"start\":1,\"end\":2}'\nkill -SEGV $$\n", "crashed" },
		{ "#!/bin/sh\necho '{\"start\":2,\"end\":1}'\n", "output_invalid" },
		{ "#!/bin/sh\necho '{\"start\":1,\"end\":3}'\necho '{\"start\":2,\"end\":4}'\n", "output_invalid" },
		{ "#!/bin/sh\necho '{\"start\":1,\"end\":9999}'\n", "output_invalid" },
		{ "#!/bin/sh\necho '{\"start\":-1,\"end\":1}'\n", "output_invalid" },
		{ "#!/bin/sh\necho hello\n", "output_invalid" },
		{ "#!/bin/sh\necho '{}'\n", "output_invalid" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
		patience = strcmp(workers[i].why, "no_progress") == 0 ? 2 : 0;
		expect_loudness(w, with_worker(w, workers[i].script), workers[i].why);
	}
}

/* A library made of this, in a directory with the real worker. */
static const struct conf *
with_library(struct world *w, const char *source)
{
	const char *dir = arena_printf(w->mem, "%s/library", ears_dir);
	const char *file = arena_printf(w->mem, "%s/x.c", dir);
	const char *library = arena_printf(w->mem, "%s/libsherpa-onnx-c-api.so", dir);
	struct conf *c = NEW(w->mem, struct conf);
	FILE *f;

	*c = *w->conf;
	c->engine_library = dir;
	run((const char *[]){ "mkdir", "-p", dir, NULL });
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	run((const char *[]){ "cc", "-shared", "-fPIC", "-o", library, file, NULL });
	return c;
}

static void
a_library_of_another_version_is_not_used(void **state)
{
	struct world *w = *state;
	const struct conf *c = with_library(w, "const char *SherpaOnnxGetVersionStr(void) { return \"1.13.7\"; }\n"
	    "#define F(name) int name(void) { __builtin_trap(); }\n"
	    "F(SherpaOnnxCreateVoiceActivityDetector) F(SherpaOnnxVoiceActivityDetectorAcceptWaveform)\n"
	    "F(SherpaOnnxVoiceActivityDetectorEmpty) F(SherpaOnnxVoiceActivityDetectorFront)\n"
	    "F(SherpaOnnxVoiceActivityDetectorPop) F(SherpaOnnxVoiceActivityDetectorFlush) F(SherpaOnnxDestroySpeechSegment)\n"
	    "F(SherpaOnnxCreateOfflineRecognizer) F(SherpaOnnxCreateOfflineStream) F(SherpaOnnxAcceptWaveformOffline)\n"
	    "F(SherpaOnnxDecodeOfflineStream) F(SherpaOnnxGetOfflineStreamResult)\n"
	    "F(SherpaOnnxDestroyOfflineRecognizerResult) F(SherpaOnnxDestroyOfflineStream)\n");

	expect_loudness(w, c, "version 1.13.7");
	c = with_library(w, "const char *SherpaOnnxGetVersionStr(void) { return \"1.13.8\"; }\n");
	expect_loudness(w, c, "has no Sherpa");
	assert_int_equal(truncate(arena_printf(w->mem, "%s/libsherpa-onnx-c-api.so", c->engine_library), 100), 0);
	expect_loudness(w, c, "does not load");
}

static void
without_the_library_loudness_is_used(void **state)
{
	struct world *w = *state;
	struct conf c = *w->conf;

	c.engine_library = "/nonexistent";
	expect_loudness(w, &c, "not installed");
}

static void
a_model_that_is_missing_or_broken_is_survived(void **state)
{
	struct world *w = *state;
	const char *dir = arena_printf(w->mem, "%s/models", ears_dir), *installed = sherpa_dir(w->mem, w->conf);
	const char *model = arena_printf(w->mem, "%s/" VAD_MODEL, dir);
	struct conf c = *w->conf;

	if (installed == NULL)
		skip();
	c.engine_library = dir;
	run((const char *[]){ "cp", "-r", installed, dir, NULL });
	assert_int_equal(truncate(model, 1000000), 0);
	expect_loudness(w, &c, "crashed");
	assert_int_equal(truncate(model, 0), 0);
	expect_loudness(w, &c, "crashed");
	assert_int_equal(unlink(model), 0);
	expect_loudness(w, &c, "no " VAD_MODEL);
}

static int
open_all(void **state)
{
	static char dir[] = "/tmp/detection_test.XXXXXX";

	ears_dir = mkdtemp(dir);
	return ears_dir == NULL ? -1 : world_open(state);
}

static int
close_all(void **state)
{
	run((const char *[]){ "rm", "-rf", ears_dir, NULL });
	return world_close(state);
}

/* Other tests left another worker. */
static int
usual_worker(void **state)
{
	static const char *libexec;

	if (libexec == NULL)
		libexec = getenv("KINOTHEK_LIBEXEC") != NULL ? strdup(getenv("KINOTHEK_LIBEXEC")) : "";
	if (*libexec != '\0')
		setenv("KINOTHEK_LIBEXEC", libexec, 1);
	else
		unsetenv("KINOTHEK_LIBEXEC");
	return world_setup(state);
}

#define DETECTION_TEST(test) cmocka_unit_test_setup_teardown(test, usual_worker, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		DETECTION_TEST(voices_are_found_with_room_around_them),
		DETECTION_TEST(voices_in_noise_are_found),
		DETECTION_TEST(music_tones_and_noise_are_no_speech),
		DETECTION_TEST(a_short_clip_is_kept_whole),
		DETECTION_TEST(what_is_said_across_minutes_stays_together),
		DETECTION_TEST(what_is_said_up_to_the_end_is_found),
		DETECTION_TEST(what_was_found_is_widened_joined_and_cut),
		DETECTION_TEST(a_detector_that_fails_hangs_or_lies_costs_nothing_but_precision),
		DETECTION_TEST(a_library_of_another_version_is_not_used),
		DETECTION_TEST(without_the_library_loudness_is_used),
		DETECTION_TEST(a_model_that_is_missing_or_broken_is_survived),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
