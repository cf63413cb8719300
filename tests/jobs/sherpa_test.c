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

#include "jobs/engines/conversation.h"
#include "jobs/engines/sentences.h"
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

static struct conf *
with_voices(struct world *w, const char *turns, const char *voices)
{
	struct conf *c = NEW(w->mem, struct conf);

	*c = *w->conf;
	c->engine[ENGINE_diarize].name = c->engine[ENGINE_voiceprint].name = "sherpa";
	c->engine[ENGINE_diarize].model = arena_printf(w->mem, "%s/%s", ears_dir, turns);
	c->engine[ENGINE_voiceprint].model = arena_printf(w->mem, "%s/%s", ears_dir, voices);
	c->engine[ENGINE_diarize].voices = c->engine[ENGINE_voiceprint].model;
	return c;
}

/* The engines alone, as of tones; the second is asked where the first has answered. */
static enum outcome
tell_voices(struct world *w, const struct conf *conf, const char *sound, struct conversation *c)
{
	static struct span both[2];
	enum outcome outcome;

	*c = (struct conversation){ .mem = w->mem, .conf = conf, .progress = on_percent, .spans = both, .n_spans = 2,
	    .pcm = open(arena_printf(w->mem, "%s/%s.s16le", ears_dir, sound), O_RDONLY | O_CLOEXEC) };
	c->length = lseek(c->pcm, 0, SEEK_END) / PCM_BYTES_PER_MS;
	both[0] = (struct span){ 500, 8500 };
	both[1] = (struct span){ 8800, c->length };
	outcome = engine_diarize_sherpa.run.diarize(c);
	if (outcome == DONE)
		outcome = engine_voiceprint_sherpa.run.voiceprint(c);
	close(c->pcm);
	return outcome;
}

static double
likeness(const struct told *a, const struct told *b)
{
	assert_true(a->print != NULL && b->print != NULL && a->print->n == b->print->n);
	return engine_voiceprint_sherpa.likeness.of(a->print->at, b->print->at, a->print->n);
}

static void
two_voices_have_their_turns_and_their_prints(void **state)
{
	static const int starts[2][2] = { { 1000, 17000 }, { 9000, 25000 } };
	struct world *w = *state;
	const struct conf *conf = with_voices(w, "turns", "voices/model.onnx");
	struct conversation c, alone, stranger;
	const struct turn *t;

	need_library(w);
	assert_int_equal(tell_voices(w, conf, "talk", &c), DONE);
	assert_int_equal(c.n, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(c.voices[i].turns.n, 2);
		t = c.voices[i].turns.rows;
		for (int k = 0; k < 2; k++) {
			assert_in_range(t[k].start.ms, starts[i][k] - 60, starts[i][k] + 60);
			assert_in_range(t[k].end.ms, starts[i][k] + 6740, starts[i][k] + 6860);
		}
		assert_in_range(c.voices[i].speech, 10000, 13000);
		assert_int_equal(c.voices[i].print->n, 6);
	}
	assert_int_equal(tell_voices(w, conf, "alone", &alone), DONE);
	assert_int_equal(tell_voices(w, conf, "stranger", &stranger), DONE);
	assert_int_equal(alone.n, 1);
	assert_int_equal(stranger.n, 1);
	assert_true(likeness(&c.voices[0], &alone.voices[0]) > 0.99);
	assert_true(likeness(&c.voices[1], &stranger.voices[0]) > 0.99);
	assert_true(likeness(&c.voices[0], &stranger.voices[0]) < 0.4);
	/* Prints are sums: what is added is of the same direction. */
	voiceprint_add((struct voiceprint *)alone.voices[0].print, c.voices[0].print);
	assert_true(likeness(&c.voices[0], &alone.voices[0]) > 0.99);
	/* The built-in prints go with turns of a model, too. */
	c.pcm = open(arena_printf(w->mem, "%s/talk.s16le", ears_dir), O_RDONLY | O_CLOEXEC);
	assert_int_equal(engine_voiceprint_mixtures.run.voiceprint(&c), DONE);
	close(c.pcm);
	assert_int_equal(c.voices[1].print->n, 128 + 128 * 12);
	assert_string_equal(engine_diarize_sherpa.version(w->mem, conf), "sherpa-onnx 1.13.8, turns, model.onnx");
}

static void
too_little_speech_makes_no_print(void **state)
{
	struct world *w = *state;
	struct turn little = { { 1000, true }, { 5900, true } };
	struct told one = { .turns = { &little, 1 }, .speech = 4900 };
	struct conversation c = { .mem = w->mem, .conf = with_voices(w, "turns", "voices"), .length = 32000,
	    .progress = on_percent, .voices = &one, .n = 1,
	    .pcm = open(arena_printf(w->mem, "%s/talk.s16le", ears_dir), O_RDONLY | O_CLOEXEC) };

	need_library(w);
	assert_int_equal(engine_voiceprint_sherpa.run.voiceprint(&c), DONE);
	assert_null(one.print);
	little.end.ms = 6000;
	assert_int_equal(engine_voiceprint_sherpa.run.voiceprint(&c), DONE);
	assert_non_null(one.print);
	close(c.pcm);
}

static void
expect_voices(struct world *w, const char *turns, const char *voices, enum reason reason)
{
	struct conversation c;

	assert_int_equal(tell_voices(w, with_voices(w, turns, voices), "talk", &c), GIVE_UP);
	if (c.fault.reason != reason)
		fail_msg("%s, %s: %s, %s\n%s", turns, voices, reason_info(c.fault.reason)->code, c.fault.detail,
		    c.fault.log);
	assert_non_null(c.fault.detail);
	for (size_t i = 0; i < c.n; i++)
		assert_null(c.voices[i].print);
}

static void
models_for_voices_that_are_missing_damaged_or_of_another_kind_are_refused(void **state)
{
	struct world *w = *state;
	struct conversation c;
	struct conf *none = with_voices(w, "turns", "voices");
	const char *model;

	need_library(w);
	expect_voices(w, "nowhere", "voices", REASON_MODEL_MISSING);
	expect_voices(w, "turns", "nowhere", REASON_MODEL_MISSING);
	none->engine_library = "/nonexistent";
	assert_int_equal(tell_voices(w, none, "talk", &c), GIVE_UP);
	assert_int_equal(c.fault.reason, REASON_MODEL_MISSING);
	/* Of another kind: one that listens, and each in the place of the other. */
	expect_voices(w, "ctc", "voices", REASON_MODEL_UNUSABLE);
	expect_voices(w, "turns", "ctc", REASON_MODEL_UNUSABLE);
	expect_voices(w, "voices", "turns", REASON_MODEL_UNUSABLE);
	/* Cut off, empty, no model at all. */
	model = arena_printf(w->mem, "%s/model.onnx", copy_of(w, "turns"));
	assert_int_equal(truncate(model, 700), 0);
	expect_voices(w, "copy", "voices", REASON_MODEL_UNUSABLE);
	assert_int_equal(truncate(model, 0), 0);
	expect_voices(w, "copy", "voices", REASON_MODEL_UNUSABLE);
	run((const char *[]){ "cp", "/bin/true", model, NULL });
	expect_voices(w, "copy", "voices", REASON_MODEL_UNUSABLE);
	expect_voices(w, "turns", "copy", REASON_MODEL_UNUSABLE);
	copy_of(w, "voices");
	assert_int_equal(truncate(model, 700), 0);
	expect_voices(w, "turns", "copy/model.onnx", REASON_MODEL_UNUSABLE);
	/* And the engines are none the worse. */
	assert_int_equal(tell_voices(w, with_voices(w, "turns", "voices/model.onnx"), "talk", &c), DONE);
}

static void
a_print_says_by_the_content_of_which_model_it_is_made(void **state)
{
	struct world *w = *state;
	const struct conf *conf = with_voices(w, "turns", "voices/model.onnx");
	const char *maker = voiceprint_maker(w->mem, conf), *same;

	assert_int_equal(strncmp(maker, "sherpa 1, model.onnx, ", 22), 0);
	assert_int_equal(strlen(maker), 22 + 16);
	assert_string_not_equal(maker, voiceprint_maker(w->mem, with_voices(w, "turns", "voices/other.onnx")));
	/* Of the same name, but another one; and by a link. */
	copy_of(w, "voices");
	same = voiceprint_maker(w->mem, with_voices(w, "turns", "copy/model.onnx"));
	assert_string_equal(same, maker);
	run((const char *[]){ "ln", "-sf", arena_printf(w->mem, "%s/voices/other.onnx", ears_dir), arena_printf(w->mem,
	    "%s/copy/model.onnx", ears_dir), NULL });
	same = voiceprint_maker(w->mem, with_voices(w, "turns", "copy/model.onnx"));
	assert_string_not_equal(same, maker);
	assert_string_equal(same + 22, voiceprint_maker(w->mem, with_voices(w, "turns", "voices/other.onnx")) + 22);
	assert_string_equal(voiceprint_maker(w->mem, w->conf), "mixtures 1");
}

/* The marks that a model puts behind these words. */
static enum outcome
mark(struct world *w, const char *model, const char *words, struct sentences *s)
{
	const char *path = arena_printf(w->mem, "%s/words.txt", ears_dir);
	struct conf *c = NEW(w->mem, struct conf);
	FILE *f = fopen(path, "w");
	enum outcome outcome;

	*c = *w->conf;
	c->engine[ENGINE_punctuate].name = "sherpa";
	c->engine[ENGINE_punctuate].model = arena_printf(w->mem, "%s/%s", ears_dir, model);
	*s = (struct sentences){ .mem = w->mem, .conf = c, .n = 1 };
	assert_non_null(f);
	for (const char *p = words; *p != '\0'; p++) {
		fputc(*p == ' ' ? '\n' : *p, f);
		s->n += *p == ' ';
	}
	fputc('\n', f);
	fclose(f);
	s->words = open(path, O_RDONLY | O_CLOEXEC);
	outcome = engine_punctuate_sherpa.run.punctuate(s);
	close(s->words);
	return outcome;
}

static void
a_model_puts_marks_behind_words(void **state)
{
	static const struct { const char *words, *marks; } texts[] = {
		{ "hello world how are you fine", " ,  ?." },
		/* Wherever it has its marks, and of many words. */
		{ "are you a a a a a a a a a a a a a a a a a a a a a a a a a fine a a a a a a a a a a a a a a a a a a world a",
			" ?                         .                  ,." },
		/* Words that it knows as several. */
		{ "don't world 3.5 f\u00fcr you \u4f60\u597d world", " ,  ? ." },
		{ "world", "." },
	};
	struct world *w = *state;
	struct sentences s;

	need_library(w);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (mark(w, "marks", texts[i].words, &s) != DONE)
			fail_msg("%s: %s\n%s", texts[i].words, s.fault.detail, s.fault.log);
		assert_string_equal(arena_copy_n(w->mem, s.marks, s.n), texts[i].marks);
	}
}

static void
models_for_marks_that_are_missing_damaged_or_of_another_kind_are_refused(void **state)
{
	static const struct { const char *model; enum reason reason; } bad[] = { { "nowhere", REASON_MODEL_MISSING },
		{ "ctc", REASON_MODEL_UNUSABLE }, { "turns", REASON_MODEL_UNUSABLE }, { "copy", REASON_MODEL_UNUSABLE } };
	struct world *w = *state;
	struct sentences s;

	need_library(w);
	assert_int_equal(truncate(arena_printf(w->mem, "%s/model.onnx", copy_of(w, "marks")), 300), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(mark(w, bad[i].model, "hello world how are you", &s), GIVE_UP);
		if (s.fault.reason != bad[i].reason)
			fail_msg("%s: %s\n%s", bad[i].model, reason_info(s.fault.reason)->code, s.fault.log);
		assert_non_null(strstr(s.fault.detail, "punctuation model"));
		assert_null(s.marks);
	}
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

static void
models_for_voices_have_to_be_named(void **state)
{
	static const char *const wrong[][2] = {
		{ "engine.diarize = sherpa\nengine.voiceprint.model = /v\n", "engine.diarize.model" },
		{ "engine.diarize = sherpa\nengine.diarize.model = /t\n", "engine.voiceprint.model" },
		{ "engine.voiceprint = sherpa\n", "engine.voiceprint.model" },
		{ "engine.voiceprint = sherpa\nengine.voiceprint.model = v\n", "engine.voiceprint.model" },
		{ "engine.diarize.others = sherpa\n", "sherpa:/directory" },
		{ "engine.diarize.others = sherpa:/t\n", "engine.voiceprint.model" },
		{ "engine.punctuate = sherpa\n", "engine.punctuate.model" },
		{ "engine.voiceprint.same = 101\n", "engine.voiceprint.same" },
		{ "engine.voiceprint.same = 50\nengine.voiceprint.maybe = 51\n", "engine.voiceprint.maybe" },
	};
	const char *fault = NULL;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_null(conf_parse(wrong[i][0], "test", &fault));
		assert_non_null(strstr(fault, wrong[i][1]));
	}
	assert_non_null(conf_parse("engine.diarize.others = sherpa:/t\nengine.voiceprint.model = /v\n", "test",
	    &fault));
}

/* A script in the place of the speech program; "": the program again. */
static void
replace_program(struct world *w, const char *script)
{
	static char libexec[4096];
	const char *file = arena_printf(w->mem, "%s/kinothek-speech", ears_dir);
	FILE *f;

	if (script[0] == '\0') {
		setenv("KINOTHEK_LIBEXEC", libexec, 1);
		return;
	}
	f = fopen(file, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fclose(f);
	assert_int_equal(chmod(file, 0755), 0);
	if (strcmp(getenv("KINOTHEK_LIBEXEC") != NULL ? getenv("KINOTHEK_LIBEXEC") : "", ears_dir) != 0)
		snprintf(libexec, sizeof(libexec), "%s", getenv("KINOTHEK_LIBEXEC") != NULL ?
		    getenv("KINOTHEK_LIBEXEC") : "");
	setenv("KINOTHEK_LIBEXEC", ears_dir, 1);
}

static void
prints_that_make_no_sense_are_refused(void **state)
{
	static const char *const answers[] = {
		"echo '{\"print\":\"AAAAAA\"}'",					/* one is missing */
		"echo '{}'; echo '{}'; echo '{}'",					/* one too many */
		"echo '{\"print\":\"AAAAAA\"}'; echo '{\"print\":\"AAAAAAAAAAA\"}'",	/* of one and of two numbers */
		"echo '{\"print\":\"AADAfw\"}'; echo '{}'",				/* no number */
		"echo '{\"print\":\"AAAA\"}'; echo '{}'",				/* three bytes */
		"echo '{\"print\":\"\"}'; echo '{}'",
		"echo 'hello'",
	};
	struct world *w = *state;
	struct turn turns[] = { { { 1000, true }, { 6000, true } }, { { 8000, true }, { 14000, true } } };
	struct told two[] = { { .turns = { turns, 1 } }, { .turns = { turns + 1, 1 } } };
	struct conversation c = { .mem = w->mem, .conf = w->conf, .length = 32000, .progress = on_percent,
	    .voices = two, .n = 2, .pcm = open(arena_printf(w->mem, "%s/talk.s16le", ears_dir), O_RDONLY | O_CLOEXEC) };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		replace_program(w, answers[i]);
		assert_int_equal(engine_voiceprint_mixtures.run.voiceprint(&c), RETRY);
		assert_int_equal(c.fault.reason, REASON_OUTPUT_INVALID);
		assert_true(two[0].print == NULL && two[1].print == NULL);
	}
	replace_program(w, "echo '{\"print\":\"AAAAAA\"}'; echo '{}'");
	assert_int_equal(engine_voiceprint_mixtures.run.voiceprint(&c), DONE);
	assert_true(two[0].print != NULL && two[0].print->n == 1 && two[1].print == NULL);
	replace_program(w, "");
	close(c.pcm);
}

/* More spans than one command line is to hold. */
static void
many_spans_go_in_parts(void **state)
{
	struct world *w = *state;
	struct span *spans = arena_array(w->mem, 4100, sizeof(*spans));
	struct ear e;

	for (size_t i = 0; i < 4100; i++)
		spans[i] = (struct span){ (int64_t)i, (int64_t)i + 1 };
	replace_program(w, "printf '{\"start\":1,\"end\":2,\"text\":\"%d\",\"words\":["
	    "{\"text\":\"x\",\"start\":1,\"end\":2}]}\\n' $#");
	assert_int_equal(hear_tones(w, &engine_transcribe_pocketsphinx, w->conf, &e, spans, 4100), DONE);
	replace_program(w, "");
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
		WORLD_TEST(two_voices_have_their_turns_and_their_prints),
		WORLD_TEST(too_little_speech_makes_no_print),
		WORLD_TEST(models_for_voices_that_are_missing_damaged_or_of_another_kind_are_refused),
		WORLD_TEST(a_print_says_by_the_content_of_which_model_it_is_made),
		WORLD_TEST(a_model_puts_marks_behind_words),
		WORLD_TEST(models_for_marks_that_are_missing_damaged_or_of_another_kind_are_refused),
		WORLD_TEST(without_the_library_nothing_is_tried),
		WORLD_TEST(the_settings_say_which_languages_a_model_knows),
		WORLD_TEST(a_model_has_to_be_named),
		WORLD_TEST(models_for_voices_have_to_be_named),
		WORLD_TEST(prints_that_make_no_sense_are_refused),
		WORLD_TEST(many_spans_go_in_parts),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
