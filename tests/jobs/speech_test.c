/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speech to text with real engines: synthetic voices whose words are known, silence, noise and music through the worker
 * in the jail, and a transcription server that runs the same worker.  Needs ffmpeg with flite, the English model, node.
 */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/jail.h"
#include "core/job.h"
#include "core/store.h"
#include "core/web.h"
#include "jobs/engines/engine.h"
#include "jobs/engines/sherpa_model.h"
#include "tests/jobs/ears.h"
#include "tests/world.h"

static struct { pid_t pid; int port; const char *dir; } peer;

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
	const char *file = arena_printf(w->mem, "%s/bad/kinothek-speech", peer.dir);
	FILE *f;

	run((const char *[]){ "mkdir", "-p", arena_printf(w->mem, "%s/bad", peer.dir), NULL });
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	run((const char *[]){ "chmod", "755", file, NULL });
	setenv("KINOTHEK_LIBEXEC", arena_printf(w->mem, "%s/bad", peer.dir), 1);
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

/* Settings for the peer in one of its modes. */
static const struct conf *
with_peer(struct world *w, const char *path)
{
	struct conf *c = NEW(w->mem, struct conf);

	*c = *w->conf;
	c->engine[ENGINE_transcribe].name = "http";
	c->engine[ENGINE_transcribe].url = arena_printf(w->mem, "http://127.0.0.1:%d%s", peer.port, path);
	c->engine[ENGINE_transcribe].key = "secret";
	c->engine[ENGINE_transcribe].model = "test-model";
	c->engine[ENGINE_transcribe].timeout = 60;
	c->engine_private_hosts = arena_printf(w->mem, "127.0.0.1:%d", peer.port);
	return c;
}

static const char *
peer_log(struct world *w, const char *method)
{
	struct web_call call = { .url = arena_printf(w->mem, "http://127.0.0.1:%d/log", peer.port), .method = method,
	    .private_hosts = "127.0.0.1" };
	struct web_answer a;

	assert_true(web_call(w->mem, &call, &a));
	return a.body;
}

static int
occurrences(const char *text, const char *part)
{
	int n = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		n++;
	return n;
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

/* An asset whose original is this sound, and the job that writes down what is said. */
static struct job
job_for(struct world *w, const char *graph)
{
	struct transcribe_args *in = NEW(w->mem, struct transcribe_args);
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .in = in, .id = uuid_new(),
	    .tenant_id = w->tenant_id, .media_id = world_media(w, "audio", "Lecture"), .attempt = 1 };
	const char *file = make_sound(w->mem, graph, "x.wav");

	in->media_id = j.media_id;
	db_run(w->db, "UPDATE media SET sha256 = UNHEX(SHA2(?, 256)) WHERE id = ?", ARGS(STR(graph), ID(j.media_id)));
	assert_true(store_put(w->mem, file, arena_printf(w->mem, "originals/%s", uuid_text(w->mem, j.media_id))));
	j.work_dir = arena_printf(w->mem, "%s/work", peer.dir);
	run((const char *[]){ "mkdir", "-p", j.work_dir, NULL });
	return j;
}

static enum outcome
run_job(struct job *j)
{
	enum outcome outcome;

	db_begin(j->db);
	outcome = transcribe_run(j);
	if (outcome == DONE)
		assert_true(db_commit(j->db));
	else
		db_rollback(j->db);
	return outcome;
}

static void
a_recording_gets_a_transcript_and_captions(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(LECTURE, "rms"));
	const char *media = uuid_text(w->mem, j.media_id), *list, *file, *first;
	struct req *r;

	if (run_job(&j) != DONE)
		fail_msg("%s", j.detail);
	list = arena_printf(w->mem, "/v2/media/%s/metadata/transcripts", media);
	r = call(w, "GET", list, NULL);
	assert_string_equal(text(w, r, "data.0.languageCode"), "en");
	assert_string_equal(text(w, r, "data.0.status"), "completed");
	assert_string_equal(text(w, r, "data.0.quality"), "good");
	assert_string_equal(text(w, r, "data.0.noSpeech"), "false");
	assert_non_null(strstr(text(w, r, "data.0.engine"), "pocketsphinx"));
	first = text(w, r, "data.0.id");
	r = call(w, "GET", arena_printf(w->mem, "%s/%s", list, first), NULL);
	assert_true(word_error_rate(w->mem, LECTURE, text(w, r, "data.paragraphs.0.text")) < 15);
	assert_non_null(text(w, r, "data.paragraphs.0.words.0.confidence"));
	file = db_text(w->db, "SELECT JSON_VALUE(captions, '$[0].file') FROM media WHERE id = ?", ARGS(ID(j.media_id)));
	assert_string_equal(file, arena_printf(w->mem, "captions/%s.0.vtt", first));
	assert_true(store_size(w->mem, arena_printf(w->mem, "play/%s/%s", media, file)) > 100);
	assert_string_equal(db_text(w->db, "SELECT language_code FROM media WHERE id = ?", ARGS(ID(j.media_id))), "en");
	assert_int_equal(number(w, "FROM events t WHERE t.media_id = ? AND t.type = 'metadata.updated'",
	    ARGS(ID(j.media_id))), 1);

	/* Nobody asked for it anew: it stays. */
	assert_int_equal(run_job(&j), DONE);
	assert_string_equal(text(w, call(w, "GET", list, NULL), "data.0.id"), first);
	/* Anew: one transcript, one caption track, and the old file goes. */
	j.in = &(struct transcribe_args){ .media_id = j.media_id, .anew = true };
	assert_int_equal(run_job(&j), DONE);
	r = call(w, "GET", list, NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_not_equal(text(w, r, "data.0.id"), first);
	assert_int_equal(db_number(w->db, "SELECT JSON_LENGTH(captions) FROM media WHERE id = ?", ARGS(ID(j.media_id)),
	    0), 1);
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'purge' AND t.args LIKE "
	    "CONCAT('%', ?, '%')", ARGS(ID(j.media_id), STR(first))), 1);
}

static void
a_recording_without_speech_is_a_success_that_says_so(void **state)
{
	struct world *w = *state;
	static const char *const graphs[] = { "anullsrc=r=16000:cl=mono:d=4", "anoisesrc=color=pink:a=0.3:d=5:seed=2",
		"aevalsrc='0.5*(random(0)-0.5)*gt(mod(t,1.1),0.6)':d=8" };
	struct job j;
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
		j = job_for(w, graphs[i]);
		if (run_job(&j) != DONE)
			fail_msg("%s: %s", graphs[i], j.detail);
		r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata/transcripts",
		    uuid_text(w->mem, j.media_id)), NULL);
		assert_string_equal(text(w, r, "data.0.noSpeech"), "true");
		assert_string_equal(text(w, r, "data.0.status"), "completed");
		assert_int_equal(db_number(w->db, "SELECT JSON_LENGTH(captions) FROM media WHERE id = ?",
		    ARGS(ID(j.media_id)), -1), 0);
	}
}

static struct transcript *
transcript_of(struct world *w, struct uuid media)
{
	return db_row(w->db, &transcript_record, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(media)));
}

static void
music_becomes_no_text_and_is_never_sent(void **state)
{
	struct world *w = *state;
	static const char *const graphs[] = { MUSIC, "aevalsrc='0.4*sin(2*PI*t*600)*gt(mod(t,2),1)':d=20",
		"aevalsrc='0.5*(random(0)-0.5)*gt(mod(t,1.1),0.6)':d=20" };
	struct transcript *t;
	struct job j;
	size_t i;

	if (sherpa_dir(w->mem, w->conf) == NULL)
		skip();
	for (i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
		j = job_for(w, graphs[i]);
		j.conf = with_peer(w, "/invents/v1");
		peer_log(w, "DELETE");
		assert_int_equal(run_job(&j), DONE);
		assert_string_equal(peer_log(w, "GET"), "[]");
		t = transcript_of(w, j.media_id);
		assert_true(t->no_speech);
		assert_string_equal(t->paragraphs.text, "[]");
	}
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

static void
languages_the_engine_does_not_know_are_refused(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE("hello", "rms"));
	static const char *const unknown[] = { "de", "translate-en", "eng", "e" };
	struct transcribe_args in = { .media_id = j.media_id };
	size_t i;

	j.in = &in;
	for (i = 0; i < 4; i++) {
		in.language_code = unknown[i];
		assert_int_equal(run_job(&j), GIVE_UP);
		assert_int_equal(j.reason, REASON_LANGUAGE_UNAVAILABLE);
	}
	assert_true(engine_transcribe_pocketsphinx.knows(w->conf, "en") &&
	    engine_transcribe_pocketsphinx.knows(w->conf, "en-GB") && engine_transcribe_http.knows(w->conf, "de"));
}

static void
repetitions_are_cut_and_the_rest_is_kept(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(SECOND, "slt"));
	struct req *r;

	j.conf = with_peer(w, "/loop/v1");
	assert_int_equal(run_job(&j), DONE);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata/transcripts", uuid_text(w->mem, j.media_id)),
	    NULL);
	assert_string_equal(text(w, r, "data.0.noSpeech"), "true");
}

static void
what_people_wrote_is_never_replaced(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(SECOND, "slt"));

	assert_int_equal(run_job(&j), DONE);
	db_run(w->db, "UPDATE transcripts SET source = 'human', engine = 'Ada' WHERE media_id = ?",
	    ARGS(ID(j.media_id)));
	j.in = &(struct transcribe_args){ .media_id = j.media_id, .anew = true };
	assert_int_equal(run_job(&j), DONE);
	assert_int_equal(number(w, "FROM transcripts t WHERE t.media_id = ? AND t.engine = 'Ada'",
	    ARGS(ID(j.media_id))), 1);
}

/* How often the server was asked in a job of that recording. */
static int
asked(struct world *w, struct job *j)
{
	peer_log(w, "DELETE");
	if (run_job(j) != DONE)
		fail_msg("%s", j->detail);
	return occurrences(peer_log(w, "GET"), "\"url\"");
}

static void
the_same_file_of_the_same_tenant_is_heard_once(void **state)
{
	struct world *w = *state;
	const char *graph = VOICE(SECOND, "slt");
	struct job first = job_for(w, graph), second;
	struct transcript *a, *b;
	const char *captions;
	struct list p, q;

	first.conf = with_peer(w, "/v1");
	assert_int_equal(asked(w, &first), 1);
	second = job_for(w, graph);
	second.conf = first.conf;
	assert_int_equal(asked(w, &second), 0);
	a = transcript_of(w, first.media_id);
	b = transcript_of(w, second.media_id);
	assert_string_equal(a->engine, "test-model by HTTP");
	assert_string_equal(a->engine, b->engine);
	p = record_parse_list(w->mem, &paragraph_record, a->paragraphs.text);
	q = record_parse_list(w->mem, &paragraph_record, b->paragraphs.text);
	assert_string_equal(((struct paragraph *)p.rows)->text, ((struct paragraph *)q.rows)->text);
	assert_int_equal(((struct paragraph *)p.rows)->words.n, ((struct paragraph *)q.rows)->words.n);
	/* Its own transcript, paragraphs and captions. */
	assert_false(uuid_equal(a->id, b->id));
	assert_false(uuid_equal(((struct paragraph *)p.rows)->id, ((struct paragraph *)q.rows)->id));
	captions = db_text(w->db, "SELECT JSON_VALUE(captions, '$[0].file') FROM media WHERE id = ?",
	    ARGS(ID(second.media_id)));
	assert_non_null(strstr(captions, uuid_text(w->mem, b->id)));
	assert_true(store_size(w->mem, store_key_play(w->mem, second.media_id, captions)) > 0);
	assert_int_equal(db_number(w->db, "SELECT JSON_LENGTH(captions) FROM media WHERE id = ?",
	    ARGS(ID(second.media_id)), 0), 1);
}

static void
another_file_tenant_engine_or_language_is_heard_itself(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *graph = VOICE(SECOND, "slt");
	struct job first = job_for(w, graph), second = job_for(w, graph), theirs = job_for(other, graph);
	struct transcribe_args anew = { .media_id = second.media_id, .anew = true }, german = { .media_id =
	    second.media_id, .language_code = "de" };
	struct conf larger = *with_peer(w, "/v1");

	larger.engine[ENGINE_transcribe].model = "larger";
	first.conf = second.conf = theirs.conf = with_peer(w, "/v1");
	assert_int_equal(asked(w, &first), 1);
	assert_int_equal(asked(w, &theirs), 1);
	/* Another engine, another language, another file, another file of the same sum. */
	second.conf = &larger;
	assert_int_equal(asked(w, &second), 1);
	second.conf = first.conf;
	second.in = &german;
	assert_int_equal(asked(w, &second), 1);
	db_run(w->db, "DELETE FROM transcripts WHERE media_id = ?", ARGS(ID(second.media_id)));
	second.in = &anew;
	assert_int_equal(asked(w, &second), 1);
	anew.anew = false;
	db_run(w->db, "DELETE FROM transcripts WHERE media_id = ?", ARGS(ID(second.media_id)));
	db_run(w->db, "UPDATE media SET sha256 = REPEAT('x', 32) WHERE id = ?", ARGS(ID(second.media_id)));
	assert_int_equal(asked(w, &second), 1);
}

static void
what_people_have_changed_or_thrown_away_is_not_copied(void **state)
{
	static const char *const changes[] = {
		"UPDATE transcripts SET source = 'human' WHERE media_id = ?",
		"UPDATE transcripts SET source = 'machine', version = 2 WHERE media_id = ?",
		"UPDATE transcripts SET version = 1, status = 'failed' WHERE media_id = ?",
		("UPDATE media m JOIN transcripts t ON t.media_id = m.id SET t.status = 'completed', m.deleted_at = 7 "
		    "WHERE m.id = ?"),
	};
	struct world *w = *state;
	const char *graph = VOICE(SECOND, "slt");
	struct job first = job_for(w, graph), second = job_for(w, graph);
	size_t i;

	first.conf = second.conf = with_peer(w, "/v1");
	assert_int_equal(asked(w, &first), 1);
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		assert_true(db_run(w->db, changes[i], ARGS(ID(first.media_id))) > 0);
		assert_int_equal(asked(w, &second), 1);
		db_run(w->db, "DELETE FROM transcripts WHERE media_id = ?", ARGS(ID(second.media_id)));
	}
	db_run(w->db, "UPDATE media SET deleted_at = 0 WHERE id = ?", ARGS(ID(first.media_id)));
	assert_int_equal(asked(w, &second), 0);
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
what_cannot_be_heard_is_explained(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE("hello", "rms"));
	const char *original = store_fetch(w->mem, store_key_original(w->mem, j.media_id), NULL);

	run((const char *[]){ "ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc2=d=1:s=64x64",
	    "-f", "matroska", original, NULL });
	assert_int_equal(run_job(&j), GIVE_UP);
	assert_int_equal(j.reason, REASON_NO_STREAMS);
	assert_true(truncate(original, 100) == 0);
	assert_int_equal(run_job(&j), GIVE_UP);
	j.media_id = uuid_new();
	assert_int_equal(run_job(&j), GIVE_UP);
	assert_int_equal(j.reason, REASON_ASSET_GONE);
}

/* The worker lies beside this program, or where KINOTHEK_LIBEXEC says. */
static int
open_all(void **state)
{
	static char dir[] = "/tmp/speech_test.XXXXXX";
	const char *source = getenv("KINOTHEK_SRC");
	struct arena *mem = arena_new(1 << 20);
	int out[2];
	FILE *f;

	if (world_open(state) != 0 || mkdtemp(dir) == NULL || pipe(out) != 0)
		return -1;
	peer.dir = ears_dir = dir;
	peer.pid = fork();
	if (peer.pid == 0) {
		dup2(out[1], 1);
		execlp("node", "node", arena_printf(mem, "%s/tests/e2e/speech-peer", source != NULL ? source : "."),
		    jail_helper(mem, "kinothek-speech"), "/usr/share/pocketsphinx/model/en-us", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	if (f == NULL || fscanf(f, "%d", &peer.port) != 1)
		return -1;
	fclose(f);
	arena_free(mem);
	return 0;
}

static int
close_all(void **state)
{
	pid_t pid = fork();

	kill(peer.pid, SIGKILL);
	waitpid(peer.pid, NULL, 0);
	if (pid == 0) {
		execlp("rm", "rm", "-rf", peer.dir, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	return world_close(state);
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
		WORLD_TEST(text_where_nobody_speaks_is_not_believed),
		WORLD_TEST(a_server_that_fails_is_asked_again_or_explained),
		WORLD_TEST(a_recording_gets_a_transcript_and_captions),
		WORLD_TEST(a_recording_without_speech_is_a_success_that_says_so),
		WORLD_TEST(music_becomes_no_text_and_is_never_sent),
		WORLD_TEST(music_between_sentences_is_sent_as_silence),
		WORLD_TEST(languages_the_engine_does_not_know_are_refused),
		WORLD_TEST(repetitions_are_cut_and_the_rest_is_kept),
		WORLD_TEST(what_people_wrote_is_never_replaced),
		WORLD_TEST(the_same_file_of_the_same_tenant_is_heard_once),
		WORLD_TEST(another_file_tenant_engine_or_language_is_heard_itself),
		WORLD_TEST(what_people_have_changed_or_thrown_away_is_not_copied),
		WORLD_TEST(the_settings_choose_the_engine_and_its_results_name_it),
		WORLD_TEST(what_cannot_be_heard_is_explained),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
