/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Neural models in the jailed worker: toys that take tones for words, written by tests/jobs/toy-models, through the
 * real library.  Without it (npm ci) the tests that need it are skipped.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/engines/sherpa_model.h"
#include "tests/jobs/ears.h"
#include "tests/world.h"

static const struct span all = { 0, 5000 };

static void
on_segment(void *user, const struct segment *s)
{
	struct ear *e = user;

	assert_true(e->n < MAX_HEARD);
	e->heard[e->n++] = engine_copy(e->h.mem, s);
}

static void
on_percent(void *user, int percent)
{
	assert_in_range(percent, 0, 100);
}

static struct conf *
with_model(struct world *w, const char *type, const char *directory)
{
	struct conf *c = NEW(w->mem, struct conf);

	*c = *w->conf;
	c->engine[ENGINE_transcribe].name = "sherpa";
	c->engine[ENGINE_transcribe].type = type;
	c->engine[ENGINE_transcribe].model = arena_printf(w->mem, "%s/%s", ears_dir, directory);
	return c;
}

/* The engine alone: tones are no speech, so detection would keep them away. */
static enum outcome
hear_tones(struct world *w, const struct engine *engine, const struct conf *conf, struct ear *e,
    const struct span *spans, size_t n)
{
	enum outcome outcome;

	*e = (struct ear){ .h = { .mem = w->mem, .conf = conf, .language = "en", .spans = spans, .n_spans = n,
	    .pcm = open(arena_printf(w->mem, "%s/words.s16le", ears_dir), O_RDONLY | O_CLOEXEC), .heard = on_segment,
	    .progress = on_percent, .user = e } };
	e->h.length = lseek(e->h.pcm, 0, SEEK_END) / PCM_BYTES_PER_MS;
	assert_int_equal(e->h.length, 5000);
	outcome = engine->run.transcribe(&e->h);
	close(e->h.pcm);
	return outcome;
}

static void
expect(struct world *w, const char *type, const char *directory, enum reason reason)
{
	struct ear e;

	assert_int_equal(hear_tones(w, &engine_transcribe_sherpa, with_model(w, type, directory), &e, &all, 1),
	    reason == REASON_NONE ? DONE : reason_info(reason)->class == CLASS_FINAL ? GIVE_UP : RETRY);
	if (e.h.fault.reason != reason)
		fail_msg("%s: %s, %s\n%s", directory, reason_info(e.h.fault.reason)->code, e.h.fault.detail,
		    e.h.fault.log);
	assert_int_equal(e.n, reason == REASON_NONE);
}

static void
need_library(struct world *w)
{
	if (sherpa_dir(w->mem, w->conf) != NULL)
		return;
	print_message("# SKIP sherpa-onnx is not installed (npm ci)\n");
	skip();
}

static void
tokens_become_words_with_their_times(void **state)
{
	static const struct { const char *type, *directory; bool sure; } models[] = { { "zipformer_ctc", "ctc", false },
		{ "zipformer", "transducer", true }, { "zipformer_ctc", "spoilt", false } };
	static const char *const said[] = { "good", "morning", "kinothek" };
	static const int starts[] = { 1000, 1500, 3100 }, ends[] = { 1300, 2100, 3700 };
	struct world *w = *state;
	const struct word *word;
	struct ear e;

	need_library(w);
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		assert_int_equal(hear_tones(w, &engine_transcribe_sherpa, with_model(w, models[i].type,
		    models[i].directory), &e, &all, 1), DONE);
		assert_int_equal(e.n, 1);
		assert_string_equal(e.heard[0].text, "good morning kinothek");
		assert_int_equal(e.heard[0].words.n, 3);
		for (size_t k = 0; k < 3; k++) {
			word = (const struct word *)e.heard[0].words.rows + k;
			assert_string_equal(word->text, said[k]);
			assert_in_range(word->start.ms, starts[k] - 60, starts[k] + 60);
			assert_in_range(word->end.ms, ends[k] - 100, ends[k] + 100);
			assert_false(word->estimated);
			assert_int_equal(word->confidence > 0, models[i].sure);
		}
	}
}

static void
times_are_those_of_the_recording_and_spans_are_kept_apart(void **state)
{
	static const struct span spans[] = { { 1400, 2400 }, { 2900, 4000 } };
	struct world *w = *state;
	struct ear e;

	need_library(w);
	assert_int_equal(hear_tones(w, &engine_transcribe_sherpa, with_model(w, "zipformer", "transducer"), &e, spans,
	    2), DONE);
	assert_int_equal(e.n, 2);
	assert_string_equal(e.heard[0].text, "morning");
	assert_int_equal(e.heard[0].start.ms, 1400);
	assert_in_range(((const struct word *)e.heard[0].words.rows)->start.ms, 1440, 1560);
	assert_string_equal(e.heard[1].text, "kinothek");
	assert_in_range(((const struct word *)e.heard[1].words.rows)->start.ms, 3040, 3160);
}

static void
words_of_models_without_times_are_spread_and_say_so(void **state)
{
	static const struct span span = { 1000, 4000 };
	struct world *w = *state;
	const struct word *words;
	struct list paragraphs;
	struct ear e;

	need_library(w);
	assert_int_equal(hear_tones(w, &engine_transcribe_sherpa, with_model(w, "moonshine", "moonshine"), &e, &span,
	    1), DONE);
	assert_int_equal(e.n, 1);
	assert_string_equal(e.heard[0].text, "good morning kinothek");
	words = e.heard[0].words.rows;
	assert_int_equal(e.heard[0].words.n, 3);
	assert_int_equal(words[0].start.ms, 1000);
	assert_int_equal(words[2].end.ms, 4000);
	for (size_t i = 0; i < 3; i++)
		assert_true(words[i].estimated && words[i].end.ms > words[i].start.ms);
	paragraphs = transcript_paragraphs(w->mem, e.heard, e.n);
	assert_non_null(strstr(transcript_json(w->mem, &paragraphs), "\"estimated\":true"));
	/* And words that were heard have no such mark. */
	assert_int_equal(hear_tones(w, &engine_transcribe_sherpa, with_model(w, "zipformer_ctc", "ctc"), &e, &all, 1),
	    DONE);
	paragraphs = transcript_paragraphs(w->mem, e.heard, e.n);
	assert_null(strstr(transcript_json(w->mem, &paragraphs), "estimated"));
}

/* A copy of a toy, to be spoilt. */
static const char *
copy_of(struct world *w, const char *directory)
{
	const char *to = arena_printf(w->mem, "%s/copy", ears_dir);

	run((const char *[]){ "rm", "-rf", to, NULL });
	run((const char *[]){ "cp", "-r", arena_printf(w->mem, "%s/%s", ears_dir, directory), to, NULL });
	return to;
}

static void
files_that_are_missing_are_named(void **state)
{
	static const struct { const char *type, *directory, *file, *pattern; } parts[] = {
		{ "zipformer_ctc", "ctc", "tokens.txt", "*tokens.txt" },
		{ "zipformer_ctc", "ctc", "model.onnx", "*.onnx" },
		{ "zipformer", "transducer", "encoder.onnx", "*encoder*.onnx" },
		{ "zipformer", "transducer", "decoder.onnx", "*decoder*.onnx" },
		{ "parakeet", "transducer", "joiner.onnx", "*joiner*.onnx" },
		{ "moonshine", "moonshine", "cached_decode.onnx", "cached_decode*.onnx" },
		{ "whisper", "transducer", "tokens.txt", "*tokens.txt" },
		{ "sense_voice", "ctc", "model.onnx", "model*.onnx" },
	};
	struct world *w = *state;
	struct ear e;

	need_library(w);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *dir = copy_of(w, parts[i].directory);

		assert_int_equal(unlink(arena_printf(w->mem, "%s/%s", dir, parts[i].file)), 0);
		expect(w, parts[i].type, "copy", REASON_MODEL_MISSING);
		hear_tones(w, &engine_transcribe_sherpa, with_model(w, parts[i].type, "copy"), &e, &all, 1);
		assert_string_equal(strstr(e.h.fault.detail, ": ") + 2, arena_printf(w->mem, "%s.", parts[i].pattern));
	}
	expect(w, "whisper", "nowhere", REASON_MODEL_MISSING);
}

static void
models_that_are_damaged_or_of_another_kind_are_refused(void **state)
{
	struct world *w = *state;
	const char *model;

	need_library(w);
	/* Cut off, empty, no model at all, and with fewer tokens than it knows. */
	model = arena_printf(w->mem, "%s/model.onnx", copy_of(w, "ctc"));
	assert_int_equal(truncate(model, 700), 0);
	expect(w, "zipformer_ctc", "copy", REASON_MODEL_UNUSABLE);
	assert_int_equal(truncate(model, 0), 0);
	expect(w, "zipformer_ctc", "copy", REASON_MODEL_UNUSABLE);
	run((const char *[]){ "cp", "/bin/true", model, NULL });
	expect(w, "zipformer_ctc", "copy", REASON_MODEL_UNUSABLE);
	assert_int_equal(truncate(arena_printf(w->mem, "%s/tokens.txt", copy_of(w, "ctc")), 8), 0);
	expect(w, "zipformer_ctc", "copy", REASON_MODEL_UNUSABLE);
	/* What is in the directory is not what the settings say. */
	expect(w, "parakeet", "transducer", REASON_MODEL_UNUSABLE);
	expect(w, "whisper", "transducer", REASON_MODEL_UNUSABLE);
	expect(w, "sense_voice", "ctc", REASON_MODEL_UNUSABLE);
	expect(w, "zipformer_ctc", "moonshine", REASON_MODEL_UNUSABLE);
#ifndef KINOTHEK_ARENA_MALLOC			/* AddressSanitizer needs the limit that this one is to meet */
	expect(w, "zipformer_ctc", "huge", REASON_MEMORY_LIMIT);
#endif
	/* And the engine is none the worse. */
	expect(w, "zipformer_ctc", "ctc", REASON_NONE);
}

static void
without_the_library_nothing_is_tried(void **state)
{
	struct world *w = *state;
	struct conf *c = with_model(w, "zipformer_ctc", "ctc");
	struct ear e;

	c->engine_library = "/nonexistent";
	assert_int_equal(hear_tones(w, &engine_transcribe_sherpa, c, &e, &all, 1), GIVE_UP);
	assert_int_equal(e.h.fault.reason, REASON_MODEL_MISSING);
	c->engine_library = ears_dir;
	run((const char *[]){ "touch", arena_printf(w->mem, "%s/libsherpa-onnx-c-api.so", ears_dir), NULL });
	assert_int_equal(hear_tones(w, &engine_transcribe_sherpa, c, &e, &all, 1), GIVE_UP);
	assert_int_equal(e.h.fault.reason, REASON_MODEL_MISSING);
}

static void
the_settings_say_which_languages_a_model_knows(void **state)
{
	struct world *w = *state;
	struct conf *c = with_model(w, "zipformer", "transducer");
	const struct engine *e = &engine_transcribe_sherpa;

	assert_true(e->knows(c, "de") && e->knows(c, "en-GB") && !e->knows(c, "translate-en"));
	c->engine[ENGINE_transcribe].languages = "en,de-CH,yue";
	assert_true(e->knows(c, "en") && e->knows(c, "EN-gb") && e->knows(c, "de") && e->knows(c, "yue"));
	assert_false(e->knows(c, "fr") || e->knows(c, "e") || e->knows(c, "y") || e->knows(c, "eng"));
	c->engine[ENGINE_transcribe].type = "whisper";
	assert_true(e->knows(c, "translate-en"));
	assert_string_equal(e->version(w->mem, c), "sherpa-onnx 1.13.8, whisper, transducer");
	assert_ptr_equal(engine_chosen(c, ENGINE_transcribe), e);
}

static void
a_model_has_to_be_named(void **state)
{
	const char *fault = NULL;

	assert_null(conf_parse("engine.transcribe = sherpa\n", "test", &fault));
	assert_non_null(strstr(fault, "engine.transcribe.model"));
	assert_null(conf_parse("engine.transcribe = sherpa\nengine.transcribe.model = whisper\n", "test", &fault));
	assert_null(conf_parse("engine.transcribe = sherpa\nengine.transcribe.model = /m\n"
	    "engine.transcribe.type = gpt\n", "test", &fault));
}

/* More spans than one command line is to hold. */
static void
many_spans_go_in_parts(void **state)
{
	static const char script[] = "#!/bin/sh\nprintf '{\"start\":1,\"end\":2,\"text\":\"%d\",\"words\":["
	    "{\"text\":\"x\",\"start\":1,\"end\":2}]}\\n' $#\n";
	struct world *w = *state;
	struct span *spans = arena_array(w->mem, 4100, sizeof(*spans));
	const char *libexec = getenv("KINOTHEK_LIBEXEC"), *file = arena_printf(w->mem, "%s/kinothek-speech", ears_dir);
	FILE *f = fopen(file, "w");
	struct ear e;

	for (size_t i = 0; i < 4100; i++)
		spans[i] = (struct span){ (int64_t)i, (int64_t)i + 1 };
	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	assert_int_equal(chmod(file, 0755), 0);
	libexec = libexec != NULL ? arena_copy(w->mem, libexec) : "";
	setenv("KINOTHEK_LIBEXEC", ears_dir, 1);
	assert_int_equal(hear_tones(w, &engine_transcribe_pocketsphinx, w->conf, &e, spans, 4100), DONE);
	setenv("KINOTHEK_LIBEXEC", libexec, 1);
	assert_int_equal(e.n, 2);
	assert_string_equal(e.heard[0].text, "4002");
	assert_string_equal(e.heard[1].text, "102");
}

static int
open_all(void **state)
{
	static char dir[] = "/tmp/sherpa_test.XXXXXX", program[4096];
	const char *source = getenv("KINOTHEK_SRC");

	ears_dir = mkdtemp(dir);
	if (ears_dir == NULL || world_open(state) != 0)
		return -1;
	snprintf(program, sizeof(program), "%s/tests/jobs/toy-models", source != NULL ? source : ".");
	run((const char *[]){ program, dir, NULL });
	return 0;
}

static int
close_all(void **state)
{
	run((const char *[]){ "rm", "-rf", ears_dir, NULL });
	return world_close(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(tokens_become_words_with_their_times),
		WORLD_TEST(times_are_those_of_the_recording_and_spans_are_kept_apart),
		WORLD_TEST(words_of_models_without_times_are_spread_and_say_so),
		WORLD_TEST(files_that_are_missing_are_named),
		WORLD_TEST(models_that_are_damaged_or_of_another_kind_are_refused),
		WORLD_TEST(without_the_library_nothing_is_tried),
		WORLD_TEST(the_settings_say_which_languages_a_model_knows),
		WORLD_TEST(a_model_has_to_be_named),
		WORLD_TEST(many_spans_go_in_parts),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
