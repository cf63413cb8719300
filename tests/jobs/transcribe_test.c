/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From recordings to transcripts and captions: what is kept, what is shown, what is copied, what people decide. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/caption.h"
#include "core/speakers.h"
#include "core/store.h"
#include "core/translate.h"
#include "jobs/engines/engine.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/heard.h"
#include "media/playlist.h"
#include "tests/jobs/sounds.h"


/* Marks at the end of sentences, behind which the next one begins large. */
static int
sentences(const char *text)
{
	int n = 0;

	for (; (text = strchr(text, '.')) != NULL; n++, text++)
		if (text[1] != '\0' && (text[1] != ' ' || text[2] < 'A' || text[2] > 'Z'))
			fail_msg("%s", text);
	return n;
}

static void
a_recording_gets_a_transcript_and_captions(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(LECTURE, "rms"));
	const char *media = uuid_text(w->mem, j.media_id), *list, *file, *first, *read;
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
	/* What was heard has neither case nor marks; what is to be read has both. */
	assert_null(strpbrk(text(w, r, "data.paragraphs.0.text"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ.,?"));
	read = text(w, r, "data.paragraphs.0.reading");
	assert_true(strncmp(read, "Today we will see how", 21) == 0);
	assert_true(sentences(read) >= 2 && sentences(read) <= 5);
	file = db_text(w->db, "SELECT JSON_VALUE(captions, '$[0].file') FROM media WHERE id = ?", ARGS(ID(j.media_id)));
	assert_true(strncmp(file, arena_printf(w->mem, "captions/%s.", first), 46) == 0);
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

static int64_t
caption_count(struct world *w, struct uuid media)
{
	return db_number(w->db, "SELECT JSON_LENGTH(captions) FROM media WHERE id = ?", ARGS(ID(media)), -1);
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

/* What passes every detector of voices because it is made of them, and what may. */
static void
nonsense_is_kept_but_not_shown(void **state)
{
	struct world *w = *state;
	static const struct { const char *graph; bool voice; } sounds[] = {
		{ VOICE(LECTURE, "slt") ",areverse", true }, { VOICE(SECOND, "kal16") ",areverse", true },
		/* Of its words the decoder is surer than of many that are said. */
		{ VOICE("we have measured the water of the lake every week since the spring and found nothing unusual",
		    "rms") ",areverse", true },
		{ MUSIC, false }, { "anoisesrc=color=white:a=0.5:d=8:seed=3,tremolo=f=3:d=0.95", false },
		{ "aevalsrc='0.5*(random(0)-0.5)*gt(mod(t,1.1),0.6)':d=8", false },
	};
	const struct transcript *t;
	struct job j;
	size_t i;

	for (i = 0; i < sizeof(sounds) / sizeof(sounds[0]); i++) {
		j = job_for(w, sounds[i].graph);
		if (run_job(&j) != DONE)
			fail_msg("%s: %s", sounds[i].graph, j.detail);
		t = transcript_of(w, j.media_id);
		assert_string_equal(t->status, "completed");
		if (sounds[i].voice)
			assert_string_equal(t->quality, "unreliable");
		else
			assert_true(t->no_speech || strcmp(t->quality, "unreliable") == 0);
		assert_true(t->no_speech || strlen(t->paragraphs.text) > 2);
		assert_int_equal(caption_count(w, j.media_id), 0);
		assert_null(db_text(w->db, "SELECT language_code FROM media WHERE id = ?", ARGS(ID(j.media_id))));
	}
}

static struct req *
decide(struct world *w, const struct transcript *t, const char *captions)
{
	struct req *r = call(w, "PATCH", arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s",
	    uuid_text(w->mem, t->media_id), uuid_text(w->mem, t->id)), arena_printf(w->mem, "{\"captions\":\"%s\"}",
	    captions));

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.captions"), captions);
	return r;
}

/* Runs the job that a decision has added, as often as there are such jobs. */
static int
write_captions(struct world *w, struct uuid media)
{
	struct captions_args in = { .media_id = media };
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .in = &in, .id = uuid_new(),
	    .tenant_id = w->tenant_id, .media_id = media };
	const char *id;
	int n = 0;

	while ((id = db_text(w->db, "SELECT JSON_VALUE(args, '$.transcriptId') FROM jobs WHERE media_id = ? AND kind = "
	    "'captions' LIMIT 1", ARGS(ID(media)))) != NULL) {
		assert_true(uuid_parse(id, &in.transcript_id));
		db_run(w->db, "DELETE FROM jobs WHERE media_id = ? AND kind = 'captions' LIMIT 1", ARGS(ID(media)));
		db_begin(w->db);
		assert_int_equal(captions_run(&j), DONE);
		assert_true(db_commit(w->db));
		j.fence++;
		n++;
	}
	return n;
}

static void
what_is_unreliable_is_shown_only_because_a_person_wants_it(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(LECTURE, "slt") ",areverse");
	const struct transcript *t;
	const char *file;

	assert_int_equal(run_job(&j), DONE);
	t = transcript_of(w, j.media_id);
	decide(w, t, "published");
	assert_int_equal(write_captions(w, j.media_id), 1);
	assert_int_equal(caption_count(w, j.media_id), 1);
	file = db_text(w->db, "SELECT JSON_VALUE(captions, '$[0].file') FROM media WHERE id = ?", ARGS(ID(j.media_id)));
	assert_true(caption_is_of(w->mem, file, t->id));
	assert_true(store_size(w->mem, store_key_play(w->mem, j.media_id, file)) > 20);
	/* Again: nothing to do. */
	decide(w, t, "published");
	assert_int_equal(write_captions(w, j.media_id), 0);
	decide(w, t, "automatic");
	assert_int_equal(caption_count(w, j.media_id), 0);
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'purge' AND t.args LIKE CONCAT('%', "
	    "?, '%')", ARGS(ID(j.media_id), STR(file))), 1);
	/* Taken back before the job came to it. */
	decide(w, t, "published");
	decide(w, t, "withheld");
	assert_int_equal(write_captions(w, j.media_id), 1);
	assert_int_equal(caption_count(w, j.media_id), 0);
}

/* Asked by another process: while this one's transaction holds rows it may not ask. */
static int
caption_files(struct world *w, struct uuid media)
{
	size_t n;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		db_abandon(w->db);
		store_list(w->mem, store_key_play(w->mem, media, "captions/"), NULL, 10, &n);
		_exit((int)n);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* What no row has ever named goes by a job, at once. */
static void
drop_unwanted(struct world *w, struct uuid media)
{
	const char *key;
	struct purge_args in = { { &key, 1 } };
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .in = &in, .id = uuid_new(),
	    .tenant_id = w->tenant_id, .media_id = media };

	while ((key = db_text(w->db, "SELECT JSON_VALUE(args, '$.keys[0]') FROM jobs WHERE media_id = ? AND kind = "
	    "'purge' AND state = 'ready' LIMIT 1", ARGS(ID(media)))) != NULL) {
		db_run(w->db, "DELETE FROM jobs WHERE media_id = ? AND kind = 'purge' AND state = 'ready' LIMIT 1",
		    ARGS(ID(media)));
		db_begin(w->db);
		assert_int_equal(purge_run(&j), DONE);
		assert_true(db_commit(w->db));
	}
}

static void
what_is_good_is_not_shown_when_a_person_does_not_want_it(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(LECTURE, "rms"));
	struct transcribe_args anew = { .media_id = j.media_id, .anew = true };

	assert_int_equal(run_job(&j), DONE);
	assert_int_equal(caption_count(w, j.media_id), 1);
	decide(w, transcript_of(w, j.media_id), "withheld");
	assert_int_equal(caption_count(w, j.media_id), 0);
	j.in = &anew;
	assert_int_equal(run_job(&j), DONE);
	assert_string_equal(transcript_of(w, j.media_id)->captions, "withheld");
	assert_int_equal(caption_count(w, j.media_id), 0);
	/* That of the first run, until its address has expired. */
	drop_unwanted(w, j.media_id);
	assert_int_equal(caption_files(w, j.media_id), 1);
	decide(w, transcript_of(w, j.media_id), "automatic");
	assert_int_equal(write_captions(w, j.media_id), 1);
	assert_int_equal(caption_count(w, j.media_id), 1);
}

/* The job of a decision, in a process and on a connection of its own. */
static pid_t
start_captions(struct world *w, const struct transcript *t)
{
	struct captions_args in = { .media_id = t->media_id, .transcript_id = t->id };
	struct job j = { .mem = w->mem, .conf = w->conf, .in = &in, .id = uuid_new(), .tenant_id = w->tenant_id,
	    .media_id = t->media_id };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	db_abandon(w->db);
	j.db = db_open(w->conf, DB_JOBS);
	db_use(j.db, w->mem);
	db_begin(j.db);
	_exit(captions_run(&j) == DONE && db_commit(j.db) ? 0 : 1);
}

static void
captions_that_are_withheld_while_they_are_written_leave_no_file(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(LECTURE, "slt") ",areverse");
	const struct transcript *t;
	int status, i;
	pid_t writer;

	assert_int_equal(run_job(&j), DONE);
	t = transcript_of(w, j.media_id);
	decide(w, t, "published");
	db_begin(w->db);
	db_run(w->db, "UPDATE transcripts SET captions = 'withheld' WHERE id = ?", ARGS(ID(t->id)));
	writer = start_captions(w, t);
	for (i = 0; i < 6000 && caption_files(w, j.media_id) == 0; i++)
		usleep(20000);
	assert_int_equal(caption_files(w, j.media_id), 1);
	assert_true(db_commit(w->db));
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	drop_unwanted(w, j.media_id);
	assert_int_equal(caption_files(w, j.media_id), 0);
	assert_int_equal(caption_count(w, j.media_id), 0);
}

/* Who renames adds a job of its own, which writes the name of now. */
static void
captions_with_a_name_that_changes_meanwhile_are_not_shown(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(LECTURE, "slt") ",areverse");
	struct turn turn = { { 0, true }, { 60000, true } };
	struct speaker s = { .number = 1, .turns = { &turn, 1 } };
	const struct transcript *t;
	struct list paragraphs;
	int status, i;
	pid_t writer;

	assert_int_equal(run_job(&j), DONE);
	t = transcript_of(w, j.media_id);
	decide(w, t, "published");
	s.speaker_id = speakers_new(w->db, w->tenant_id, j.media_id);
	speakers_put(w->db, j.media_id, &s);
	db_run(w->db, "UPDATE speakers SET label = 'Ann' WHERE id = ?", ARGS(ID(s.speaker_id)));
	paragraphs = record_parse_list(w->mem, &paragraph_record, t->paragraphs.text);
	for (size_t k = 0; k < paragraphs.n; k++)
		((struct paragraph *)paragraphs.rows)[k].speaker_id = s.speaker_id;
	db_run(w->db, "UPDATE transcripts SET paragraphs = ? WHERE id = ?", ARGS(STR(transcript_json(w->mem,
	    &paragraphs)), ID(t->id)));
	db_begin(w->db);
	db_run(w->db, "UPDATE transcripts SET version = version + 1 WHERE id = ?", ARGS(ID(t->id)));
	db_run(w->db, "UPDATE speakers SET label = 'Bob' WHERE id = ?", ARGS(ID(s.speaker_id)));
	writer = start_captions(w, t);
	for (i = 0; i < 6000 && caption_files(w, j.media_id) == 0; i++)
		usleep(20000);
	assert_int_equal(caption_files(w, j.media_id), 1);
	assert_true(db_commit(w->db));
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	drop_unwanted(w, j.media_id);
	assert_int_equal(caption_files(w, j.media_id), 0);
	assert_int_equal(caption_count(w, j.media_id), 0);
}

static void
a_decision_to_show_holds_for_the_words_that_were_read(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(LECTURE, "slt") ",areverse");
	struct transcribe_args anew = { .media_id = j.media_id, .anew = true };

	assert_int_equal(run_job(&j), DONE);
	decide(w, transcript_of(w, j.media_id), "published");
	write_captions(w, j.media_id);
	j.in = &anew;
	assert_int_equal(run_job(&j), DONE);
	assert_string_equal(transcript_of(w, j.media_id)->captions, "published");
	assert_int_equal(write_captions(w, j.media_id), 1);
	assert_int_equal(caption_count(w, j.media_id), 1);
	/* Other words: nobody has read those. */
	db_run(w->db, "UPDATE transcripts SET paragraphs = REPLACE(paragraphs, '\"text\":\"', '\"text\":\"x') WHERE "
	    "media_id = ?", ARGS(ID(j.media_id)));
	assert_int_equal(run_job(&j), DONE);
	assert_string_equal(transcript_of(w, j.media_id)->captions, "automatic");
	assert_int_equal(write_captions(w, j.media_id), 0);
	assert_int_equal(caption_count(w, j.media_id), 0);
}

static void
languages_the_engine_does_not_know_are_refused(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE("hello", "rms"));
	static const char *const unknown[] = { "de", "translate-en", "eng", "e", "auto" };
	struct transcribe_args in = { .media_id = j.media_id };
	struct conf by_http = *w->conf;
	size_t i;

	j.in = &in;
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		in.language_code = unknown[i];
		assert_int_equal(run_job(&j), GIVE_UP);
		assert_int_equal(j.reason, REASON_LANGUAGE_UNAVAILABLE);
	}
	assert_true(engine_transcribe_pocketsphinx.knows(w->conf, "en") &&
	    engine_transcribe_pocketsphinx.knows(w->conf, "en-GB"));
	by_http.engine[ENGINE_transcribe].name = "http";
	assert_true(engine_transcribe_http.knows(&by_http, "de"));
}

/* It is no failure that nobody listens where the tenant wants that; and nothing listens in its stead. */
static void
where_the_tenant_wants_none_nothing_listens(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE("hello", "rms"));
	const struct transcribe_args in = { .media_id = j.media_id, .language_code = "en" };

	j.in = &in;
	db_run(w->db, "UPDATE tenants SET engines = '{\"transcribe\":\"none\"}' WHERE id = ?", ARGS(ID(w->tenant_id)));
	j.conf = engines_conf(w->db, w->conf, w->tenant_id);
	assert_int_equal(run_job(&j), DONE);
	assert_int_equal(number(w, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(j.media_id))), 0);
	db_run(w->db, "UPDATE tenants SET engines = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
	j.conf = engines_conf(w->db, w->conf, w->tenant_id);
	assert_int_equal(run_job(&j), DONE);
	assert_int_equal(number(w, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(j.media_id))), 1);
}

static const char *
origin_of(struct world *w, const struct transcript *t, const char *member)
{
	return db_text(w->db, "SELECT JSON_VALUE(language_origin, ?) FROM transcripts WHERE id = ?", ARGS(STR(member),
	    ID(t->id)));
}

static int asked(struct world *, struct job *);

/* Of the server, which takes auto or none, else by the text; who has named it is right whatever was heard. */
static void
the_language_that_nobody_has_named_is_told_by_the_engine_or_the_text(void **state)
{
	struct world *w = *state;
	static const struct { const char *path, *language, *engine, *confidence; int asked; } all[] = {
		{ "/v1", "en", "test-model by HTTP", NULL, 1 },
		{ "/german/v1", "de", "test-model by HTTP", "0.75", 1 },
		{ "/noauto/v1", "de", "test-model by HTTP", "0.75", 2 },
		{ "/textonly/v1", "en", "CLD2", "*", 3 },
		{ "/surest/v1", "de", "test-model by HTTP", NULL, 1 },
	};
	struct transcribe_args in = { 0 };
	const struct transcript *t;
	const char *sure;
	struct job j;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		j = job_for(w, VOICE(SECOND, "rms"));
		/* a file of its own */
		db_run(w->db, "UPDATE media SET sha256 = REPEAT('x', 32), file_size = ? WHERE id = ?",
		    ARGS(INT((int64_t)i + 1), ID(j.media_id)));
		j.conf = with_peer(w, all[i].path);
		/* asked for, or what holds where nothing was said */
		in = (struct transcribe_args){ .media_id = j.media_id, .language_code = i % 2 == 0 ? "auto" : NULL };
		j.in = &in;
		assert_true(asked(w, &j) >= all[i].asked);
		assert_non_null(strstr(peer_log(w, "GET"), "\"language\":\"auto\""));
		t = transcript_of(w, j.media_id);
		assert_string_equal(t->language_code, all[i].language);
		assert_string_equal(origin_of(w, t, "$.by"), "machine");
		assert_string_equal(origin_of(w, t, "$.engine"), all[i].engine);
		sure = origin_of(w, t, "$.confidence");
		if (all[i].confidence == NULL)
			assert_null(sure);
		else if (*all[i].confidence == '*')
			assert_true(strtod(sure, NULL) >= 0.8);
		else
			assert_true(strtod(sure, NULL) > 0.74 && strtod(sure, NULL) < 0.76);
		assert_string_equal(db_text(w->db, "SELECT language_code FROM media WHERE id = ?",
		    ARGS(ID(j.media_id))), all[i].language);
		/* It is the same result: not heard again. */
		assert_int_equal(asked(w, &j), 0);
	}
	/* Silence is of no language, and says nothing of the asset. */
	j = job_for(w, "anullsrc=r=16000:cl=mono:d=4");
	j.conf = with_peer(w, "/v1");
	assert_int_equal(asked(w, &j), 0);
	assert_string_equal(transcript_of(w, j.media_id)->language_code, "und");
	assert_null(db_text(w->db, "SELECT language_code FROM media WHERE id = ?", ARGS(ID(j.media_id))));
	j = job_for(w, VOICE(SECOND, "slt"));
	j.conf = with_peer(w, "/german/v1");
	in = (struct transcribe_args){ .media_id = j.media_id, .language_code = "en" };
	j.in = &in;
	assert_int_equal(asked(w, &j), 1);
	t = transcript_of(w, j.media_id);
	assert_string_equal(t->language_code, "en");
	assert_string_equal(origin_of(w, t, "$.by"), "human");
}

/* Of a recording in parts, which are sent one after the other. */
static void
the_language_of_the_first_part_holds_for_all(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(SECOND, "rms") "[a];anullsrc=r=16000:cl=mono:d=12[b];" VOICE(SECOND, "slt")
	    "[c];[a][b][c]concat=n=3:v=0:a=1");
	struct transcribe_args in = { .media_id = j.media_id, .language_code = "auto" };
	const char *log;

	j.in = &in;
	j.conf = with_peer(w, "/turning/v1");
	assert_int_equal(asked(w, &j), 2);
	log = peer_log(w, "GET");
	assert_int_equal(occurrences(log, "\"language\":\"auto\""), 1);
	assert_int_equal(occurrences(log, "\"language\":\"de\""), 1);
	assert_string_equal(transcript_of(w, j.media_id)->language_code, "de");
}

/* Nor what it is translated into, nor that somebody has named one in vain. */
static void
what_cannot_be_told_of_a_language_says_nothing_of_the_asset(void **state)
{
	static const struct { const char *graph, *path, *wanted, *language; } all[] = {
		{ VOICE("good morning", "rms"), "/textonly/v1", "auto", "und" },
		{ VOICE(SECOND, "rms"), "/noise/v1", "auto", "und" },
		{ VOICE(SECOND, "slt"), "/v1", "translate-en", "translate-en" },
		{ "anullsrc=r=16000:cl=mono:d=5", "/v1", "de", "de" },
	};
	struct world *w = *state;
	const struct transcript *t;
	struct job j;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct transcribe_args in = { .language_code = all[i].wanted };

		j = job_for(w, all[i].graph);
		in.media_id = j.media_id;
		j.conf = with_peer(w, all[i].path);
		j.in = &in;
		assert_int_equal(asked(w, &j) > 0, i != 3);
		t = transcript_of(w, j.media_id);
		assert_string_equal(t->language_code, all[i].language);
		assert_int_equal(t->no_speech, i == 1 || i == 3);
		assert_null(db_text(w->db, "SELECT language_code FROM media WHERE id = ?", ARGS(ID(j.media_id))));
	}
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
put_row(struct world *w, struct uuid media, const char *kind, const char *label, const char *type, const char *file)
{
	struct rendition_row row = { .media_id = media, .generation = "g", .kind = kind, .label = label,
	    .mime_type = type, .file = file, .track_name = label, .bitrate = { 1000, true },
	    .peak_bitrate = { 1000, true } };

	rendition_put(w->db, &row);
}

/* Does what the job of that kind does, which has been added so often; the playlist that is named then. */
static const char *
playlist_after(struct world *w, struct job *like, int added)
{
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .in = &(struct master_args){ like->media_id },
	    .id = uuid_new(), .tenant_id = w->tenant_id, .media_id = like->media_id, .work_dir = like->work_dir };
	size_t n;

	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'master'", ARGS(ID(j.media_id))),
	    added);
	db_begin(w->db);
	assert_int_equal(master_run(&j), DONE);
	assert_true(db_commit(w->db));
	return store_get(w->mem, store_key_play(w->mem, j.media_id, db_text(w->db, "SELECT playlist_file FROM media "
	    "WHERE id = ?", ARGS(ID(j.media_id)))), 10000, &n);
}

static void
players_of_other_programs_find_the_captions_in_the_playlist(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(SECOND, "slt"));
	const char *text, *file, *run;
	size_t n;

	db_run(w->db, "UPDATE media SET generation = 'g', duration = 4500 WHERE id = ?", ARGS(ID(j.media_id)));
	put_row(w, j.media_id, "hls", "360p", PLAYLIST_TYPE, "g/r.1/360p.m3u8");
	put_row(w, j.media_id, "playlist", "playlist", PLAYLIST_TYPE, "g/r.1/master.m3u8");
	put_row(w, j.media_id, "subtitles", "English", "text/vtt", "g/r.1/subtitles-2.vtt");
	assert_int_equal(run_job(&j), DONE);
	text = playlist_after(w, &j, 1);
	assert_non_null(strstr(text, "TYPE=SUBTITLES,GROUP-ID=\"subtitles\",NAME=\"English\",DEFAULT=NO,AUTOSELECT="
	    "YES,FORCED=NO,URI=\"../r.1/subtitles-2.m3u8\"\n"));
	assert_non_null(strstr(text, "NAME=\"English "
	    "(transcript)\",LANGUAGE=\"en\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,"
	    "URI=\"captions-0.m3u8\"\n"));
	assert_non_null(strstr(text, ",SUBTITLES=\"subtitles\"\n../r.1/360p.m3u8\n"));
	/* Two folders above that of the run is that of the captions. */
	file = db_text(w->db, "SELECT JSON_VALUE(captions, '$[0].file') FROM media WHERE id = ?", ARGS(ID(j.media_id)));
	run = db_text(w->db, "SELECT SUBSTRING_INDEX(playlist_file, '/', 2) FROM media WHERE id = ?",
	    ARGS(ID(j.media_id)));
	text = store_get(w->mem, store_key_play(w->mem, j.media_id, arena_printf(w->mem, "%s/captions-0.m3u8", run)),
	    1000, &n);
	assert_non_null(strstr(text, arena_printf(w->mem, "#EXTINF:4.500,\n../../%s\n#EXT-X-ENDLIST", file)));
	/* They go from there, and then from the store. */
	decide(w, transcript_of(w, j.media_id), "withheld");
	assert_int_equal(number(w, "FROM jobs t JOIN job_waits s ON s.job_id = t.id JOIN jobs m ON m.id = s.on_id "
	    "WHERE t.media_id = ? AND t.kind = 'purge' AND t.state = 'waiting' AND m.kind = 'master'", ARGS(ID(j.media_id))),
	    1);
	text = playlist_after(w, &j, 2);
	assert_non_null(strstr(text, "NAME=\"English\""));
	assert_null(strstr(text, "transcript"));
}

static void
what_people_wrote_is_never_replaced(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(SECOND, "slt"));
	const char *path, *first;
	struct req *r;

	assert_int_equal(run_job(&j), DONE);
	path = arena_printf(w->mem, "/v2/media/%s/metadata/transcripts", uuid_text(w->mem, j.media_id));
	path = arena_printf(w->mem, "%s/%s", path, text(w, call(w, "GET", path, NULL), "data.0.id"));
	first = text(w, call(w, "GET", path, NULL), "data.paragraphs.0.id");
	r = call(w, "PATCH", path, arena_printf(w->mem, "{\"paragraphs\":[{\"id\":\"%s\",\"text\":\"Ada has written "
	    "this.\"}]}", first));
	assert_int_equal(r->status, 200);
	j.in = &(struct transcribe_args){ .media_id = j.media_id, .anew = true };
	assert_int_equal(run_job(&j), DONE);
	r = call(w, "GET", path, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.paragraphs.0.text"), "Ada has written this.");
	/* Nor when a person has taken them back: the history would go with the row. */
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/versions/1/restore", path), NULL)->status, 200);
	assert_int_equal(run_job(&j), DONE);
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.version"), "3");
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

/* An asset of which this is known to be said in Spanish. */
static struct job
spanish(struct world *w, const char *text, int64_t length)
{
	struct job j = job_for(w, VOICE("hello", "rms"));
	struct transcript t = { .id = uuid_new(), .media_id = j.media_id, .language_code = "es-ES", .source = "import",
	    .engine = "import", .status = "completed", .captions = "automatic", .version = 1,
	    .created_at = moment_now(), .updated_at = moment_now() };
	struct paragraph p = { .id = uuid_new(), .end = { length, true }, .text = text };

	p.words = transcript_spread(w->mem, text, 0, length);
	t.paragraphs.text = transcript_json(w->mem, &(struct list){ &p, 1 });
	db_insert(w->db, "transcripts", &transcript_record, &t);
	return j;
}

static void
a_transcript_is_translated_as_a_gist(void **state)
{
	struct world *w = *state;
	struct job j = spanish(w, "Hoy veremos c\u00f3mo el sistema inmunitario protege el cuerpo. \u00bfQu\u00e9 es "
	    "un puente? [x] ^$ <b>El agua</b> es fr\u00eda.", 20000);
	const struct transcribe_args in = { .media_id = j.media_id, .language_code = "translate-en" };
	const struct paragraph *p;
	const struct transcript *t;
	const struct word *words;
	struct list said;
	struct conf none = *w->conf;
	struct req *r;

	if (translate_mode(w->mem, w->conf, "es") == NULL)
		skip();
	j.in = &in;
	if (run_job(&j) != DONE)
		fail_msg("%s", j.detail);
	t = db_row(w->db, &transcript_record, "FROM transcripts t WHERE t.media_id = ? AND t.language_code = "
	    "'translate-en'", ARGS(ID(j.media_id)));
	assert_string_equal(t->engine, "Apertium, machine gist");
	assert_string_equal(t->quality, "draft");
	assert_string_equal(t->source, "machine");
	said = record_parse_list(w->mem, &paragraph_record, t->paragraphs.text);
	p = said.rows;
	assert_memory_equal(p->text, "Today we will see how the immune system protects the body. What is a bridge?",
	    76);
	assert_non_null(strstr(p->text, "water"));
	/* Each sentence stands where it is said. */
	words = p->words.rows;
	assert_true(words[0].estimated && words[0].start.ms == 0);
	assert_int_equal(words[p->words.n - 1].end.ms, 20000);
	r = call(w, "GET", "/v2/languages", NULL);
	assert_string_equal(text(w, r, "data.1.code"), "translate-en");
	assert_string_equal(text(w, r, "data.1.engine"), "apertium");
	/* Asked for twice, it is the same; where nobody wants it, there is no such language. */
	assert_int_equal(run_job(&j), DONE);
	none.engine[ENGINE_translate].name = "none";
	j.conf = &none;
	j.in = &(struct transcribe_args){ .media_id = j.media_id, .language_code = "translate-en", .anew = true };
	assert_int_equal(run_job(&j), GIVE_UP);
	assert_int_equal(j.reason, REASON_LANGUAGE_UNAVAILABLE);
}

static void
what_nothing_can_translate_is_refused(void **state)
{
	struct world *w = *state;
	struct job j = spanish(w, "Guten Morgen.", 2000);
	const struct transcribe_args in = { .media_id = j.media_id, .language_code = "translate-en" };

	db_run(w->db, "UPDATE transcripts SET language_code = 'de' WHERE media_id = ?", ARGS(ID(j.media_id)));
	j.in = &in;
	assert_int_equal(run_job(&j), GIVE_UP);
	assert_int_equal(j.reason, REASON_LANGUAGE_UNAVAILABLE);
	assert_null(translate_mode(w->mem, w->conf, "de"));
	assert_null(translate_mode(w->mem, w->conf, "../x"));
}

/* Two parts that are sent one after the other. */
#define TWICE VOICE(SECOND, "slt") ",asplit[a][c];anullsrc=r=16000:cl=mono:d=12[b];[a][b][c]concat=n=3:v=0:a=1"

/* The row of the job, which another attempt finds again. */
static void
add_row(struct world *w, struct job *j)
{
	const struct job_place place = { .tenant_id = w->tenant_id, .media_id = j->media_id, .id = j->id };

	job_add(w->db, transcribe, place, .media_id = j->media_id, .generation = "g");
	db_run(w->db, "UPDATE jobs SET state = 'running', fence = 7 WHERE id = ?", ARGS(ID(j->id)));
	j->fence = 7;
}

/* Hours of a recording are not heard twice because a server or a process has ended. */
static void
what_a_server_has_heard_is_not_asked_for_again(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, TWICE);
	const struct paragraph *p;
	struct list heard;

	db_run(w->db, "DELETE FROM engine_rests", NO_ARGS);
	add_row(w, &j);
	j.conf = with_peer(w, "/once/v1");
	peer_log(w, "DELETE");
	assert_int_equal(run_job(&j), RETRY);
	assert_int_equal(j.reason, REASON_ENGINE_UNAVAILABLE);
	assert_int_equal(number(w, "FROM heard_answers WHERE job_id = ?", ARGS(ID(j.id))), 1);
	/* A run whose lease was lost keeps nothing more. */
	heard_keep(&(struct job){ .mem = j.mem, .db = j.db, .conf = j.conf, .id = j.id, .media_id = j.media_id,
	    .fence = 6 }, "test-model by HTTP", (struct span){ 1, 2 }, "{}");
	assert_int_equal(number(w, "FROM heard_answers WHERE job_id = ?", ARGS(ID(j.id))), 1);
	j.conf = with_peer(w, "/v1");
	assert_int_equal(asked(w, &j), 1);
	heard = record_parse_list(w->mem, &paragraph_record, transcript_of(w, j.media_id)->paragraphs.text);
	p = heard.rows;
	assert_int_equal(heard.n, 2);
	assert_true(word_error_rate(w->mem, SECOND, p[0].text) < 30 && word_error_rate(w->mem, SECOND, p[1].text) < 30);
	assert_true(p[1].start.ms > p[0].end.ms + 10000);
	assert_int_equal(number(w, "FROM heard_answers WHERE job_id = ?", ARGS(ID(j.id))), 0);
}

static void
what_another_model_has_heard_is_asked_for(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, TWICE);

	db_run(w->db, "DELETE FROM engine_rests", NO_ARGS);
	db_run(w->db, "UPDATE media SET sha256 = REPEAT('z', 32) WHERE id = ?", ARGS(ID(j.media_id)));
	add_row(w, &j);
	j.conf = with_peer(w, "/once/v1");
	peer_log(w, "DELETE");
	assert_int_equal(run_job(&j), RETRY);
	db_run(w->db, "UPDATE heard_answers SET engine = 'older by HTTP' WHERE job_id = ?", ARGS(ID(j.id)));
	j.conf = with_peer(w, "/v1");
	assert_int_equal(asked(w, &j), 2);
}

/* After five failures in a row nobody asks it for a minute, and then one. */
static void
a_server_that_is_away_is_left_alone(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE("good morning", "rms"));

	db_run(w->db, "DELETE FROM engine_rests", NO_ARGS);
	j.conf = with_peer(w, "/broken/v1");
	peer_log(w, "DELETE");
	assert_int_equal(run_job(&j), RETRY);
	assert_int_equal(occurrences(peer_log(w, "DELETE"), "\"url\""), 4);
	assert_int_equal(db_number(w->db, "SELECT failures FROM engine_rests WHERE family = 'transcribe'", NO_ARGS, 0),
	    1);
	assert_int_equal(db_number(w->db, "SELECT requests FROM engine_usage WHERE tenant_id = ? AND family = "
	    "'transcribe'", ARGS(ID(w->tenant_id)), 0), 4);
	db_run(w->db, "UPDATE engine_rests SET failures = 5, rests_until = " SQL_NOW " + 60000", NO_ARGS);
	assert_int_equal(run_job(&j), RETRY);
	assert_int_equal(j.reason, REASON_ENGINE_UNAVAILABLE);
	assert_non_null(strstr(j.detail, "left alone"));
	assert_string_equal(peer_log(w, "GET"), "[]");
	db_run(w->db, "UPDATE engine_rests SET rests_until = 1", NO_ARGS);
	j.conf = with_peer(w, "/v1");
	assert_int_equal(asked(w, &j), 1);
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM engine_rests", NO_ARGS, -1), 0);
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

/* Telling voices apart parts paragraphs, which are another version then, and heard all the same. */
static void
what_was_parted_by_who_speaks_is_copied_as_it_was_heard(void **state)
{
	struct world *w = *state;
	const char *graph = VOICE(SECOND, "slt");
	struct job first = job_for(w, graph), second;
	struct list was, now;
	struct paragraph parts[2];
	const struct paragraph *p;
	struct transcript *t;

	first.conf = with_peer(w, "/v1");
	assert_int_equal(asked(w, &first), 1);
	was = record_parse_list(w->mem, &paragraph_record, transcript_of(w, first.media_id)->paragraphs.text);
	p = was.rows;
	parts[0] = parts[1] = *p;
	parts[0].speaker_id = uuid_new();
	parts[0].words.n = 1;
	parts[1].id = uuid_new();
	parts[1].words = (struct list){ (struct word *)p->words.rows + 1, p->words.n - 1 };
	now = (struct list){ parts, 2 };
	db_run(w->db, "UPDATE transcripts SET version = 2, paragraphs = ? WHERE media_id = ?",
	    ARGS(STR(transcript_json(w->mem, &now)), ID(first.media_id)));
	second = job_for(w, graph);
	second.conf = first.conf;
	assert_int_equal(asked(w, &second), 0);
	t = transcript_of(w, second.media_id);
	now = record_parse_list(w->mem, &paragraph_record, t->paragraphs.text);
	assert_int_equal(t->version, 1);
	assert_int_equal(now.n, was.n);
	assert_string_equal(((const struct paragraph *)now.rows)->text, p->text);
	assert_true(uuid_is_none(((const struct paragraph *)now.rows)->speaker_id));
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
		"UPDATE transcripts SET source = 'machine', status = 'failed' WHERE media_id = ?",
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

/* The same that plays: readers stop at a hole between fragments, and behind it people speak on. */
static void
behind_a_hole_of_a_damaged_file_is_heard_what_plays_there(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE(LECTURE, "slt"));
	const char *key = store_key_original(w->mem, j.media_id), *original = world_file(w->mem, key);

	run((const char *[]){ "sh", "-ec", "cd \"$1\"\n"
	    "ffmpeg -v error -nostdin -y -i \"$0\" -c:a aac -movflags empty_moov+default_base_moof "
	    "-frag_duration 500000 f.mp4\n"
	    "size=$(stat -c %s f.mp4)\n"
	    "dd if=/dev/zero of=f.mp4 bs=1 seek=$((size * 30 / 100)) count=$((size / 10)) conv=notrunc status=none\n"
	    "cp f.mp4 \"$0\"", original, j.work_dir, NULL });
	world_put_back(w->mem, key, original);
	if (run_job(&j) != DONE)
		fail_msg("%s", j.detail);
	assert_non_null(strstr(db_text(w->db, "SELECT paragraphs FROM transcripts WHERE media_id = ?",
	    ARGS(ID(j.media_id))), "attack"));
}

static void
what_cannot_be_heard_is_explained(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, VOICE("hello", "rms"));
	const char *key = store_key_original(w->mem, j.media_id), *original = world_file(w->mem, key);

	run((const char *[]){ "ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc2=d=1:s=64x64",
	    "-f", "matroska", original, NULL });
	world_put_back(w->mem, key, original);
	assert_int_equal(run_job(&j), GIVE_UP);
	assert_int_equal(j.reason, REASON_NO_STREAMS);
	assert_true(truncate(original, 100) == 0);
	world_put_back(w->mem, key, original);
	assert_int_equal(run_job(&j), GIVE_UP);
	j.media_id = uuid_new();
	assert_int_equal(run_job(&j), GIVE_UP);
	assert_int_equal(j.reason, REASON_ASSET_GONE);
}

/* By toys (tests/jobs/toy-models), which know where marks belong in the lecture better than anybody. */
static void
a_model_of_the_operators_puts_in_the_marks_and_rules_do_where_it_fails(void **state)
{
	struct world *w = *state;
	const char *toys = arena_printf(w->mem, "%s/toys", sounds_dir()), *source = getenv("KINOTHEK_SRC"), *path;
	struct conf *c = NEW(w->mem, struct conf);
	struct job j;
	struct req *r;

	if (sherpa_dir(w->mem, w->conf) == NULL) {
		print_message("# SKIP sherpa-onnx is not installed (npm ci)\n");
		skip();
	}
	run((const char *[]){ "mkdir", "-p", toys, NULL });
	run((const char *[]){ arena_printf(w->mem, "%s/tests/jobs/toy-models", source != NULL ? source : "."), toys,
	    NULL });
	*c = *w->conf;
	c->engine[ENGINE_punctuate].name = "sherpa";
	c->engine[ENGINE_punctuate].model = arena_printf(w->mem, "%s/marks", toys);
	assert_true(engine_punctuate_sherpa.knows(c, "en-GB") && !engine_punctuate_sherpa.knows(c, "de"));
	j = job_for(w, VOICE(LECTURE, "rms"));
	j.conf = c;
	assert_int_equal(run_job(&j), DONE);
	path = arena_printf(w->mem, "/v2/media/%s/metadata/transcripts", uuid_text(w->mem, j.media_id));
	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.0.readingEngine"), "sherpa-onnx 1.13.8, marks");
	path = arena_printf(w->mem, "%s/%s", path, text(w, r, "data.0.id"));
	r = call(w, "GET", path, NULL);
	assert_non_null(strstr(text(w, r, "data.paragraphs.0.reading"), "immune system, protects"));
	assert_non_null(strstr(text(w, r, "data.paragraphs.0.reading"), "body?"));
	assert_null(strpbrk(text(w, r, "data.paragraphs.0.text"), ".,?"));
	r = call(w, "GET", arena_printf(w->mem, "%s/download?transcriptDownloadType=vtt", path), NULL);
	assert_non_null(strstr(buf_string(&r->out), "system,"));
	assert_null(j.warnings);
	/* Damaged, it leaves a warning. */
	assert_int_equal(truncate(arena_printf(w->mem, "%s/marks/model.onnx", toys), 300), 0);
	j.in = &(struct transcribe_args){ .media_id = j.media_id, .anew = true };
	assert_int_equal(run_job(&j), DONE);
	assert_non_null(strstr(j.warnings, "\"model_unusable\""));
	assert_non_null(strstr(j.warnings, "put in by rules: The punctuation model cannot be used."));
	path = arena_printf(w->mem, "/v2/media/%s/metadata/transcripts", uuid_text(w->mem, j.media_id));
	r = call(w, "GET", path, NULL);
	assert_null(text(w, r, "data.0.readingEngine"));
	r = call(w, "GET", arena_printf(w->mem, "%s/%s", path, text(w, r, "data.0.id")), NULL);
	assert_true(sentences(text(w, r, "data.paragraphs.0.reading")) >= 2);
	assert_null(strstr(text(w, r, "data.paragraphs.0.reading"), "body?"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_recording_gets_a_transcript_and_captions),
		WORLD_TEST(a_model_of_the_operators_puts_in_the_marks_and_rules_do_where_it_fails),
		WORLD_TEST(a_recording_without_speech_is_a_success_that_says_so),
		WORLD_TEST(music_becomes_no_text_and_is_never_sent),
		WORLD_TEST(nonsense_is_kept_but_not_shown),
		WORLD_TEST(what_is_unreliable_is_shown_only_because_a_person_wants_it),
		WORLD_TEST(what_is_good_is_not_shown_when_a_person_does_not_want_it),
		WORLD_TEST(captions_that_are_withheld_while_they_are_written_leave_no_file),
		WORLD_TEST(captions_with_a_name_that_changes_meanwhile_are_not_shown),
		WORLD_TEST(a_decision_to_show_holds_for_the_words_that_were_read),
		WORLD_TEST(languages_the_engine_does_not_know_are_refused),
		WORLD_TEST(where_the_tenant_wants_none_nothing_listens),
		WORLD_TEST(the_language_that_nobody_has_named_is_told_by_the_engine_or_the_text),
		WORLD_TEST(the_language_of_the_first_part_holds_for_all),
		WORLD_TEST(what_cannot_be_told_of_a_language_says_nothing_of_the_asset),
		WORLD_TEST(what_a_server_has_heard_is_not_asked_for_again),
		WORLD_TEST(what_another_model_has_heard_is_asked_for),
		WORLD_TEST(a_server_that_is_away_is_left_alone),
		WORLD_TEST(a_transcript_is_translated_as_a_gist),
		WORLD_TEST(what_nothing_can_translate_is_refused),
		WORLD_TEST(repetitions_are_cut_and_the_rest_is_kept),
		WORLD_TEST(players_of_other_programs_find_the_captions_in_the_playlist),
		WORLD_TEST(what_people_wrote_is_never_replaced),
		WORLD_TEST(the_same_file_of_the_same_tenant_is_heard_once),
		WORLD_TEST(what_was_parted_by_who_speaks_is_copied_as_it_was_heard),
		WORLD_TEST(another_file_tenant_engine_or_language_is_heard_itself),
		WORLD_TEST(what_people_have_changed_or_thrown_away_is_not_copied),
		WORLD_TEST(behind_a_hole_of_a_damaged_file_is_heard_what_plays_there),
		WORLD_TEST(what_cannot_be_heard_is_explained),
	};

	return cmocka_run_group_tests(tests, sounds_open, sounds_close);
}
