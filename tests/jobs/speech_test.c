/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speech engines: synthetic voices whose words are known, silence, noise and music through the worker in the jail, and
 * a transcription server that runs the same worker.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/jail.h"
#include "core/web.h"
#include "jobs/engines/engine.h"
#include "jobs/engines/sherpa_model.h"
#include "tests/jobs/sounds.h"

static void
clear_voices_are_understood(void **state)
{
	struct world *w = *state;
	static const char *const voices[] = { VOICE(LECTURE, "rms"), VOICE(LECTURE, "slt") };
	struct ear e = { .n = 0 };
	size_t i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(hear(w, &engine_transcribe_pocketsphinx, w->conf, &e, samples(w->mem, voices[i])),
		    DONE);
		print_message("word error rate %d %%\n", word_error_rate(w->mem, LECTURE, all_text(w->mem, &e)));
		assert_true(word_error_rate(w->mem, LECTURE, all_text(w->mem, &e)) < 15);
		assert_int_equal(e.percent, 100);
	}
}

/* The same sentence twice with four seconds of silence between: the second time, each word comes later by exactly
 * that. */
static void
times_stay_right_across_silence(void **state)
{
	struct world *w = *state;
	struct ear once = { .n = 0 }, twice = { .n = 0 };
	const struct word *a, *b;
	int64_t shift, from;
	size_t i, k, found = 0, first = 0;

	assert_int_equal(hear(w, &engine_transcribe_pocketsphinx, w->conf, &once, samples(w->mem,
	    VOICE(SECOND, "slt"))), DONE);
	assert_int_equal(hear(w, &engine_transcribe_pocketsphinx, w->conf, &twice, samples(w->mem, VOICE(SECOND, "slt")
	    ",asplit[a][c];anullsrc=r=16000:cl=mono:d=4[b];[a][b][c]concat=n=3:v=0:a=1")), DONE);
	shift = once.h.length + 4000;
	from = once.h.length + 3700;
	assert_true(twice.n >= 2);
	for (i = 0; i < twice.n; i++) {
		b = twice.heard[i].words.rows;
		for (k = 0; k < twice.heard[i].words.n; k++) {
			/* Nothing is heard in the silence. */
			assert_true(b[k].end.ms < once.h.length + 400 || b[k].start.ms > from);
			if (b[k].start.ms < from || first >= once.heard[0].words.n)
				continue;
			a = once.heard[0].words.rows;
			if (strcmp(a[first].text, b[k].text) == 0) {
				assert_in_range(llabs(b[k].start.ms - a[first].start.ms - shift), 0, 100);
				found++;
			}
			first++;
		}
	}
	assert_true(found >= 5);
}

static void
nothing_is_heard_where_nobody_speaks(void **state)
{
	struct world *w = *state;
	static const char *const graphs[] = { "anullsrc=r=16000:cl=mono:d=5", "anoisesrc=color=pink:a=0.3:d=6:seed=1",
		"anoisesrc=color=white:a=0.02:d=6:seed=1", "sine=f=440:d=5", "sine=f=50:d=5" };
	struct ear e = { .n = 0 };
	size_t i;

	for (i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
		assert_int_equal(hear(w, &engine_transcribe_pocketsphinx, w->conf, &e, samples(w->mem, graphs[i])),
		    DONE);
		assert_int_equal(e.n, 0);
	}
}

static void
long_speech_is_cut_where_it_is_quiet(void **state)
{
	struct world *w = *state;
	int pcm = samples(w->mem, VOICE(LECTURE, "rms") ",aloop=loop=2:size=2e9");
	struct span *spans;
	int64_t length;
	size_t n, i;

	spans = vad_find(w->mem, pcm, &n, &length);
	assert_true(length > 30000 && n >= 2);
	for (i = 0; i < n; i++) {
		assert_in_range(spans[i].end - spans[i].start, 1, 25000);
		assert_true(i == 0 || spans[i].start >= spans[i - 1].end);
	}
	close(pcm);
	assert_int_equal(open("/dev/null/none", O_RDONLY), -1);
	vad_find(w->mem, -1, &n, &length);
	assert_int_equal(length, -1);
	assert_int_equal(n, 0);
}

/* A helper program in place of the worker. */
static void
set_worker(struct world *w, const char *script)
{
	const char *file = arena_printf(w->mem, "%s/bad/kinothek-speech", sounds_dir());
	FILE *f;

	run((const char *[]){ "mkdir", "-p", arena_printf(w->mem, "%s/bad", sounds_dir()), NULL });
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	run((const char *[]){ "chmod", "755", file, NULL });
	setenv("KINOTHEK_LIBEXEC", arena_printf(w->mem, "%s/bad", sounds_dir()), 1);
}

static void
a_worker_that_fails_is_explained(void **state)
{
	struct world *w = *state;
	const char *libexec = arena_copy(w->mem, getenv("KINOTHEK_LIBEXEC"));
	struct ear e = { .n = 0 };

	setenv("KINOTHEK_LIBEXEC", "/nonexistent", 1);
	assert_int_equal(hear(w, &engine_transcribe_pocketsphinx, w->conf, &e, samples(w->mem, VOICE("hello", "rms"))),
	    RETRY);
	assert_int_equal(e.h.fault.reason, REASON_PROGRAM_MISSING);
	set_worker(w, "#!/bin/sh\necho '{\"start\":1,\"end\":99999,\"text\":\"x\",\"words\":[]}'\n");
	assert_int_equal(hear(w, &engine_transcribe_pocketsphinx, w->conf, &e, samples(w->mem, VOICE("hello", "rms"))),
	    RETRY);
	assert_int_equal(e.h.fault.reason, REASON_OUTPUT_INVALID);
	assert_int_equal(e.n, 0);
	set_worker(w, "#!/bin/sh\nkill -SEGV $$\n");
	assert_int_equal(hear(w, &engine_transcribe_pocketsphinx, w->conf, &e, samples(w->mem, VOICE("hello", "rms"))),
	    RETRY);
	assert_int_equal(e.h.fault.reason, REASON_CRASHED);
	if (libexec != NULL)
		setenv("KINOTHEK_LIBEXEC", libexec, 1);
	else
		unsetenv("KINOTHEK_LIBEXEC");
}


static void
every_way_of_answering_gives_words_with_times(void **state)
{
	struct world *w = *state;
	static const char *const paths[] = { "", "/v1/", "/v1/audio/transcriptions", "/whispercpp/inference",
	    "/nowords/v1",
		"/textonly/v1", "/busy/v1" };
	struct ear e = { .n = 0 };
	const struct word *last;
	int pcm;
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		pcm = samples(w->mem, "anullsrc=r=16000:cl=mono:d=10[a];" VOICE(SECOND, "slt")
		    "[b];[a][b]concat=v=0:a=1");
		if (hear(w, &engine_transcribe_http, with_peer(w, paths[i]), &e, pcm) != DONE)
			fail_msg("%s: %s", paths[i], e.h.fault.detail);
		assert_true(e.n > 0);
		assert_true(word_error_rate(w->mem, SECOND, all_text(w->mem, &e)) < 15);
		/* The offset of the chunk was added back: nothing is heard in the silence at the beginning. */
		assert_true(e.heard[0].start.ms > 9000);
		last = (const struct word *)e.heard[e.n - 1].words.rows + e.heard[e.n - 1].words.n - 1;
		assert_in_range(last->start.ms, 12000, e.h.length);
		assert_int_equal(last->text[strlen(last->text) - 1], '.');
		if (strstr(paths[i], "whispercpp") != NULL)
			assert_true(last->confidence > 0);
	}
}

static void
requests_are_as_the_server_wants_them(void **state)
{
	struct world *w = *state;
	struct ear e = { .h = { .language = "en-US" } };
	const char *log;

	peer_log(w, "DELETE");
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/v1"), &e, samples(w->mem,
	    VOICE(SECOND, "slt"))), DONE);
	log = peer_log(w, "GET");
	assert_non_null(strstr(log, "\"authorization\":\"Bearer secret\""));
	assert_non_null(strstr(log, "\"model\":\"test-model\""));
	assert_non_null(strstr(log, "\"response_format\":\"verbose_json\""));
	assert_non_null(strstr(log, "\"timestamp_granularities[]\":\"word,segment\""));
	assert_non_null(strstr(log, "\"language\":\"en\""));
	peer_log(w, "DELETE");
	e.h.language = "translate-en";
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/v1"), &e, samples(w->mem,
	    VOICE(SECOND, "slt"))), DONE);
	e.h.language = "translate-en";
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/whispercpp/inference"), &e, samples(w->mem,
	    VOICE(SECOND, "slt"))), DONE);
	log = peer_log(w, "DELETE");
	assert_non_null(strstr(log, "\"url\":\"/v1/audio/translations\""));
	assert_non_null(strstr(log, "\"translate\":\"true\",\"language\":\"auto\""));
}

static void
silence_is_never_sent(void **state)
{
	struct world *w = *state;
	struct ear e = { .n = 0 };

	peer_log(w, "DELETE");
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/v1"), &e, samples(w->mem,
	    "anullsrc=r=16000:cl=mono:d=8")), DONE);
	assert_int_equal(e.n, 0);
	assert_string_equal(peer_log(w, "GET"), "[]");
	/* A long silence is left out: two requests, neither as long as the whole. */
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/v1"), &e, samples(w->mem, VOICE(SECOND, "slt")
	    ",asplit[a][c];anullsrc=r=16000:cl=mono:d=12[b];[a][b][c]concat=n=3:v=0:a=1")), DONE);
	assert_int_equal(occurrences(peer_log(w, "GET"), "\"url\""), 2);
	assert_true(word_error_rate(w->mem, SECOND " " SECOND, all_text(w->mem, &e)) < 15);
}

static void
text_where_nobody_speaks_is_not_believed(void **state)
{
	struct world *w = *state;
	struct ear e = { .n = 0 };

	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/invents/v1"), &e, samples(w->mem,
	    VOICE(SECOND, "slt") "[a];anullsrc=r=16000:cl=mono:d=3[b];[a][b]concat=v=0:a=1")), DONE);
	assert_null(strstr(all_text(w->mem, &e), "Noise"));
	assert_null(strstr(all_text(w->mem, &e), "nobody"));
	assert_true(word_error_rate(w->mem, SECOND, all_text(w->mem, &e)) < 15);
}

static void
a_server_that_fails_is_asked_again_or_explained(void **state)
{
	struct world *w = *state;
	struct ear e = { .n = 0 };
	struct conf c;

	peer_log(w, "DELETE");
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/denied/v1"), &e, samples(w->mem,
	    VOICE("good morning", "rms"))), GIVE_UP);
	assert_int_equal(e.h.fault.reason, REASON_ENGINE_REFUSED);
	assert_int_equal(occurrences(peer_log(w, "DELETE"), "\"url\""), 1);
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/nonsense/v1"), &e, samples(w->mem,
	    VOICE("good morning", "rms"))), GIVE_UP);
	assert_int_equal(e.h.fault.reason, REASON_ENGINE_REFUSED);
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/nothing"), &e, samples(w->mem,
	    VOICE("good morning", "rms"))), GIVE_UP);
	peer_log(w, "DELETE");
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/broken/v1"), &e, samples(w->mem,
	    VOICE("good morning", "rms"))), RETRY);
	assert_int_equal(e.h.fault.reason, REASON_ENGINE_UNAVAILABLE);
	assert_int_equal(occurrences(peer_log(w, "DELETE"), "\"url\""), 4);
	c = *with_peer(w, "/v1");
	c.engine_private_hosts = NULL;
	assert_int_equal(hear(w, &engine_transcribe_http, &c, &e, samples(w->mem, VOICE("good morning", "rms"))),
	    GIVE_UP);
	assert_int_equal(e.h.fault.reason, REASON_ENGINE_REFUSED);
	assert_null(strstr(e.h.fault.detail, "127"));
	assert_string_equal(peer_log(w, "GET"), "[]");
}


static void
the_settings_choose_the_engine_and_its_results_name_it(void **state)
{
	struct world *w = *state;
	struct conf c = *w->conf;

	assert_ptr_equal(engine_chosen(&c, ENGINE_transcribe), &engine_transcribe_pocketsphinx);
	assert_string_equal(engine_transcribe_pocketsphinx.version(w->mem, &c), "pocketsphinx 5prealpha, en-us");
	c.engine[ENGINE_transcribe].model = "/srv/models/lectures";
	assert_string_equal(engine_transcribe_pocketsphinx.version(w->mem, &c), "pocketsphinx 5prealpha, lectures");
	c.engine[ENGINE_transcribe].name = "http";
	assert_ptr_equal(engine_chosen(&c, ENGINE_transcribe), &engine_transcribe_http);
}

static void
music_between_sentences_is_sent_as_silence(void **state)
{
	struct world *w = *state;
	struct ear e = { .n = 0 };
	const char *graph = arena_printf(w->mem, "%s[a];%s[b];%s[c];[a][b][c]concat=n=3:v=0:a=1", VOICE(SECOND, "slt"),
	    "aevalsrc='0.4*sin(2*PI*t*600)*gt(mod(t,2),1)':d=7:s=16000", VOICE(SECOND, "rms"));
	const char *silence;

	if (sherpa_dir(w->mem, w->conf) == NULL)
		skip();
	peer_log(w, "DELETE");
	assert_int_equal(hear(w, &engine_transcribe_http, with_peer(w, "/v1"), &e, samples(w->mem, graph)), DONE);
	silence = strstr(peer_log(w, "GET"), "\"silence\":");
	assert_non_null(silence);
	assert_in_range(atoi(silence + 10), 5, 8);
	assert_true(word_error_rate(w->mem, SECOND " " SECOND, all_text(w->mem, &e)) < 15);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(clear_voices_are_understood),
		WORLD_TEST(times_stay_right_across_silence),
		WORLD_TEST(nothing_is_heard_where_nobody_speaks),
		WORLD_TEST(long_speech_is_cut_where_it_is_quiet),
		WORLD_TEST(a_worker_that_fails_is_explained),
		WORLD_TEST(every_way_of_answering_gives_words_with_times),
		WORLD_TEST(requests_are_as_the_server_wants_them),
		WORLD_TEST(silence_is_never_sent),
		WORLD_TEST(music_between_sentences_is_sent_as_silence),
		WORLD_TEST(text_where_nobody_speaks_is_not_believed),
		WORLD_TEST(a_server_that_fails_is_asked_again_or_explained),
		WORLD_TEST(the_settings_choose_the_engine_and_its_results_name_it),
	};

	return cmocka_run_group_tests(tests, sounds_open, sounds_close);
}
