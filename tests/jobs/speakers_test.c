/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From conversations to speakers of an asset, and to names on what they say.  Needs ffmpeg with flite. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/speakers.h"
#include "core/store.h"
#include "jobs/engines/conversation.h"
#include "jobs/engines/sherpa_model.h"
#include "media/speaking.h"
#include "tests/jobs/sounds.h"

#define A1 "Today we will see how the immune system protects the body against infections and diseases"
#define A2 "When a virus enters the body special cells in the blood recognize the intruder and begin to attack it"
#define B1 "The committee will meet on the second monday of each month to discuss the budget of the town"
#define B2 "A small village near the river was built by people who had come from the north many years ago"
#define PART(text, voice, label) "flite=text='" text "':voice=" voice ",aresample=16000,apad=pad_dur=0.5[" label "];"
/* A, B, A, B */
#define CONVERSATION(a, b) PART(A1, a, "w") PART(B1, b, "x") PART(A2, a, "y") PART(B2, b, "z") \
	"[w][x][y][z]concat=n=4:v=0:a=1"
#define MONOLOGUE(a) CONVERSATION(a, a)

static void
opt_in(struct world *w, int wanted)
{
	db_run(w->db, "UPDATE tenants SET speaker_recognition = ? WHERE id = ?", ARGS(INT(wanted), ID(w->tenant_id)));
}

static enum outcome
tell_apart(struct job *transcribed)
{
	struct job j = *transcribed;
	enum outcome outcome;

	j.in = &(struct asset_args){ .media_id = j.media_id };
	db_begin(j.db);
	outcome = speakers_run(&j);
	if (outcome == DONE)
		assert_true(db_commit(j.db));
	else
		db_rollback(j.db);
	return outcome;
}

/* A recording with its transcript and its speakers. */
static struct job
recorded(struct world *w, const char *graph)
{
	struct job j = job_for(w, graph);

	opt_in(w, 1);
	if (run_job(&j) != DONE || tell_apart(&j) != DONE)
		fail_msg("%s", j.detail);
	return j;
}

static const struct speaker *
speakers(struct world *w, struct uuid media_id, size_t wanted)
{
	const struct list all = speakers_of(w->db, NULL, media_id, "en");

	assert_int_equal(all.n, wanted);
	return all.rows;
}

static const char *
transcript_path(struct world *w, struct uuid media_id)
{
	const char *hex = db_text(w->db, "SELECT LOWER(HEX(id)) FROM transcripts WHERE media_id = ?",
	    ARGS(ID(media_id)));

	return arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%.8s-%.4s-%.4s-%.4s-%.12s",
	    uuid_text(w->mem, media_id), hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* Of what the second one says first; not all of it is heard right. */
static bool
is_about_town(const char *said)
{
	return strstr(said, "committee") != NULL || strstr(said, "budget") != NULL || strstr(said, "monday") != NULL ||
	    strstr(said, "month") != NULL;
}

static void
two_who_take_turns_are_two_speakers(void **state)
{
	struct world *w = *state;
	struct job j = recorded(w, CONVERSATION("rms", "slt"));
	const struct speaker *s = speakers(w, j.media_id, 2);
	const char *vtt;
	struct req *r;

	assert_int_equal(s[0].number, 1);
	assert_int_equal(s[1].number, 2);
	assert_int_equal(s[0].turns.n, 2);
	assert_int_equal(s[1].turns.n, 2);
	assert_int_equal(speaking_overlap(&s[0].turns, &s[1].turns), 0);
	assert_true(((const struct turn *)s[0].turns.rows)[0].start.ms < 500);
	r = call(w, "GET", transcript_path(w, j.media_id), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.paragraphs.0.speaker"), "Speaker 1");
	assert_string_equal(text(w, r, "data.paragraphs.1.speaker"), "Speaker 2");
	assert_string_equal(text(w, r, "data.paragraphs.2.speaker"), "Speaker 1");
	assert_string_equal(text(w, r, "data.paragraphs.3.speaker"), "Speaker 2");
	assert_string_equal(text(w, r, "data.paragraphs.0.speakerId"), uuid_text(w->mem, s[0].speaker_id));
	assert_true(is_about_town(text(w, r, "data.paragraphs.1.text")));
	assert_false(is_about_town(text(w, r, "data.paragraphs.0.text")));
	r = call(w, "GET", arena_printf(w->mem, "%s/download?transcriptDownloadType=vtt", transcript_path(w,
	    j.media_id)), NULL);
	vtt = buf_string(&r->out);
	assert_true(strstr(vtt, "<v Speaker 1>") < strstr(vtt, "<v Speaker 2>"));
	assert_true(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'captions'", ARGS(ID(j.media_id))) > 0);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata?expand=speakers", uuid_text(w->mem,
	    j.media_id)), NULL);
	assert_string_equal(text(w, r, "data.speakers.count"), "2");
	assert_string_equal(text(w, r, "data.speakers.items.1.number"), "2");
	assert_non_null(text(w, r, "data.speakers.items.0.instances.1.end"));
}

static void
who_speaks_alone_is_one_and_has_no_number_in_the_text(void **state)
{
	static const char *const voices[] = { MONOLOGUE("rms"), MONOLOGUE("slt"), MONOLOGUE("awb") };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(voices) / sizeof(voices[0]); i++) {
		struct job j = recorded(w, voices[i]);
		struct req *r = call(w, "GET", transcript_path(w, j.media_id), NULL);

		speakers(w, j.media_id, 1);
		assert_non_null(text(w, r, "data.paragraphs.0.speakerId"));
		assert_null(text(w, r, "data.paragraphs.0.speaker"));
	}
}

static void
nothing_is_told_apart_unless_the_tenant_wants_it(void **state)
{
	struct world *w = *state;
	struct job j = job_for(w, CONVERSATION("rms", "slt"));

	opt_in(w, 0);
	assert_int_equal(run_job(&j), DONE);
	assert_int_equal(tell_apart(&j), DONE);
	speakers(w, j.media_id, 0);
	assert_null(text(w, call(w, "GET", transcript_path(w, j.media_id), NULL), "data.paragraphs.0.speakerId"));
}

static void
whoever_is_told_apart_again_stays_the_same(void **state)
{
	struct world *w = *state;
	struct job j = recorded(w, CONVERSATION("rms", "slt"));
	const struct speaker *before = speakers(w, j.media_id, 2), *after;

	j.in = &(struct transcribe_args){ .media_id = j.media_id, .anew = true };
	assert_int_equal(run_job(&j), DONE);
	assert_int_equal(tell_apart(&j), DONE);
	after = speakers(w, j.media_id, 2);
	for (int i = 0; i < 2; i++)
		assert_true(uuid_equal(before[i].speaker_id, after[i].speaker_id) &&
		    before[i].number == after[i].number);
	assert_string_equal(text(w, call(w, "GET", transcript_path(w, j.media_id), NULL),
	    "data.paragraphs.1.speakerId"), uuid_text(w->mem, before[1].speaker_id));
}

static struct req *
patch(struct world *w, const char *path, const char *body)
{
	struct req *r = call(w, "PATCH", path, body);

	assert_int_equal(r->status, 200);
	return r;
}

static const char *
path_of(struct world *w, const struct speaker *s, const char *rest)
{
	return arena_printf(w->mem, "/v2/speakers/%s%s", uuid_text(w->mem, s->speaker_id), rest);
}

static void
what_people_have_said_of_speakers_stays_when_they_are_told_apart_again(void **state)
{
	struct world *w = *state;
	struct job j = recorded(w, CONVERSATION("rms", "slt"));
	const struct speaker *s = speakers(w, j.media_id, 2);
	const char *path = transcript_path(w, j.media_id), *of_second = arena_printf(w->mem, "{\"speakerId\":\"%s\"}",
	    uuid_text(w->mem, s[1].speaker_id));
	struct req *r = call(w, "GET", path, NULL);

	patch(w, path_of(w, &s[0], ""), "{\"label\":\"Ann\"}");
	patch(w, path_of(w, &s[1], ""), "{\"label\":\"Bob\"}");
	patch(w, path, arena_printf(w->mem, "{\"paragraphs\":[{\"id\":\"%s\",\"speakerId\":\"%s\"}]}", text(w, r,
	    "data.paragraphs.0.id"), uuid_text(w->mem, s[1].speaker_id)));
	assert_int_equal(tell_apart(&j), DONE);
	speakers(w, j.media_id, 2);
	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.paragraphs.0.speaker"), "Bob");
	assert_string_equal(text(w, r, "data.paragraphs.1.speaker"), "Bob");
	assert_string_equal(text(w, r, "data.paragraphs.2.speaker"), "Ann");
	assert_int_equal(call(w, "PUT", path_of(w, &s[0], "/merge"), of_second)->status, 200);
	assert_int_equal(tell_apart(&j), DONE);
	speakers(w, j.media_id, 2);
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.paragraphs.1.speaker"), "Ann");
	assert_int_equal(call(w, "PUT", path_of(w, &s[1], "/split"), NULL)->status, 200);
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.paragraphs.0.speaker"), "Bob");
	/* Who is forgotten does not come back as somebody new. */
	assert_int_equal(call(w, "DELETE", path_of(w, &s[1], ""), NULL)->status, 200);
	assert_int_equal(tell_apart(&j), DONE);
	speakers(w, j.media_id, 2);
	r = call(w, "GET", path, NULL);
	assert_null(text(w, r, "data.paragraphs.1.speaker"));
	assert_null(text(w, r, "data.paragraphs.1.speakerId"));
}

static void
a_name_that_is_not_heard_this_time_stays(void **state)
{
	struct world *w = *state;
	struct job j = recorded(w, CONVERSATION("rms", "slt"));
	struct speaker more = { .speaker_id = speakers_new(w->db, w->tenant_id, j.media_id), .number = 3 },
	    other = { .speaker_id = speakers_new(w->db, w->tenant_id, j.media_id), .number = 4 };

	speakers_put(w->db, j.media_id, &more);
	speakers_put(w->db, j.media_id, &other);
	patch(w, path_of(w, &more, ""), "{\"label\":\"Carol\"}");
	assert_int_equal(tell_apart(&j), DONE);
	assert_string_equal(speakers(w, j.media_id, 3)[2].name, "Carol");
}

static void
silence_and_noise_have_no_speakers(void **state)
{
	static const char *const graphs[] = { "anullsrc=r=16000:cl=mono:d=4", "anoisesrc=color=pink:a=0.3:d=5:seed=2" };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
		struct job j = recorded(w, graphs[i]);

		speakers(w, j.media_id, 0);
	}
}

static void
ignore(void *user, int percent)
{
}

static const struct voiceprint *
print_of(struct world *w, const char *graph)
{
	struct conversation c = { .mem = w->mem, .conf = w->conf, .pcm = samples(w->mem, graph), .progress = ignore };

	c.length = lseek(c.pcm, 0, SEEK_END) / PCM_BYTES_PER_MS;
	assert_int_equal(engine_tell_apart(engine_chosen(w->conf, ENGINE_diarize), &c), DONE);
	assert_int_equal(engine_voiceprint_mixtures.run.voiceprint(&c), DONE);
	close(c.pcm);
	assert_int_equal(c.n, 1);
	assert_non_null(c.voices[0].print);
	return c.voices[0].print;
}

static double
likeness(const struct voiceprint *a, const struct voiceprint *b)
{
	assert_int_equal(a->n, b->n);
	return engine_voiceprint_mixtures.likeness.of(a->at, b->at, a->n);
}

static void
a_voice_is_like_itself_with_other_words_and_unlike_others(void **state)
{
	struct world *w = *state;
	const struct voiceprint *rms = print_of(w, MONOLOGUE("rms")), *slt = print_of(w, MONOLOGUE("slt"));
	const struct voiceprint *rms_again = print_of(w, VOICE(LECTURE, "rms")), *slt_again = print_of(w,
	    VOICE(LECTURE, "slt"));

	assert_true(likeness(rms, rms_again) > 0.5);
	assert_true(likeness(slt, slt_again) > 0.5);
	assert_true(likeness(rms, slt_again) < 0.4);
	assert_true(likeness(slt, rms_again) < 0.4);
}

/* Ten seconds and more of one voice, whose words do not matter, told apart without being written down. */
#define OTHER(a) PART("The price of bread has doubled within three years and many families cannot pay for it", a, "w") \
	PART("We have measured the water of the lake every week since the spring and found nothing unusual", a, "x") \
	PART("Good morning everybody and welcome to the lecture please find a place and put your telephones away", a, "y") \
	PART("If you would like to ask a question please raise your hand and wait for the microphone", a, "z") \
	"[w][x][y][z]concat=n=4:v=0:a=1"

static struct speaker
alone(struct world *w, const char *graph)
{
	struct job j = job_for(w, graph);

	assert_int_equal(tell_apart(&j), DONE);
	return *speakers(w, j.media_id, 1);
}

static void
a_voice_that_was_named_is_known_in_later_assets_and_strangers_are_not(void **state)
{
	struct world *w = *state;
	struct world *other = world_other(w);
	struct speaker ann, again, stranger;
	struct req *r;

	opt_in(w, 1);
	opt_in(other, 1);
	ann = alone(w, MONOLOGUE("rms"));
	assert_int_equal(number(w, "FROM voiceprints t WHERE t.speaker_id = ? AND t.speech >= 10000",
	    ARGS(ID(ann.speaker_id))), 1);
	patch(w, path_of(w, &ann, ""), "{\"label\":\"Ann\"}");
	again = alone(w, OTHER("rms"));
	r = call(w, "GET", path_of(w, &again, ""), NULL);
	assert_string_equal(text(w, r, "data.label"), "Ann");
	assert_string_equal(text(w, r, "data.source"), "machine");
	assert_true(strtod(text(w, r, "data.confidence"), NULL) >= 0.55);
	assert_string_equal(text(w, r, "data.mediaCount"), "2");
	stranger = alone(w, OTHER("slt"));
	r = call(w, "GET", path_of(w, &stranger, ""), NULL);
	assert_null(text(w, r, "data.label"));
	assert_null(text(w, r, "data.proposal.label"));
	/* Nor is a voice of another tenant known. */
	assert_null(alone(other, OTHER("rms")).label);
	/* Whoever is rejected, or forgotten, is not known again, also where people have named it elsewhere, too. */
	assert_int_equal(call(w, "PUT", path_of(w, &again, "/reject"), NULL)->status, 200);
	patch(w, path_of(w, &again, ""), "{\"label\":\"Ann\"}");
	assert_int_equal(call(w, "DELETE", path_of(w, &ann, "?names=true"), NULL)->status, 200);
	again = alone(w, OTHER("rms"));
	assert_null(text(w, call(w, "GET", path_of(w, &again, ""), NULL), "data.label"));
}

/* Toys that take tones for voices (tests/jobs/toy-models).  Speech is looked for by loudness: the other way hears that
 * tones are none. */
static const struct conf *
with_toys(struct world *w, const char *library, const char *model)
{
	const char *toys = arena_printf(w->mem, "%s/toys", sounds_dir()), *source = getenv("KINOTHEK_SRC");
	struct conf *c = NEW(w->mem, struct conf);

	if (access(toys, F_OK) != 0) {
		run((const char *[]){ "mkdir", "-p", toys, NULL });
		run((const char *[]){ arena_printf(w->mem, "%s/tests/jobs/toy-models", source != NULL ? source : "."),
		    toys, NULL });
		run((const char *[]){ "cp", arena_printf(w->mem, "%s/libsherpa-onnx-c-api.so", library),
		    arena_printf(w->mem, "%s/libonnxruntime.so", library), toys, NULL });
	}
	*c = *w->conf;
	c->engine_library = toys;
	c->engine[ENGINE_diarize].name = c->engine[ENGINE_voiceprint].name = "sherpa";
	c->engine[ENGINE_diarize].model = arena_printf(w->mem, "%s/turns", toys);
	c->engine[ENGINE_voiceprint].model = arena_printf(w->mem, "%s/voices/%s", toys, model);
	c->engine[ENGINE_diarize].voices = c->engine[ENGINE_voiceprint].model;
	return c;
}

static const char *
toy(struct world *w, const char *name)
{
	return arena_printf(w->mem, "amovie=%s/toys/%s.s16le:f=s16le,asetrate=16000", sounds_dir(), name);
}

static const char *
makers(struct world *w, const struct speaker *s)
{
	return db_text(w->db, "SELECT engine FROM voiceprints WHERE speaker_id = ?", ARGS(ID(s->speaker_id)));
}

static void
a_voice_is_known_by_the_print_of_a_model_and_those_of_other_models_are_not_compared(void **state)
{
	struct world *w = *state;
	const char *library = sherpa_dir(w->mem, w->conf);
	const struct conf *usual = w->conf, *other;
	const struct speaker *s;
	struct speaker ann, again;
	struct job first, talk;
	struct req *r;

	if (library == NULL) {
		print_message("# SKIP sherpa-onnx is not installed (npm ci)\n");
		skip();
	}
	opt_in(w, 1);
	w->conf = with_toys(w, library, "model.onnx");
	first = job_for(w, toy(w, "alone"));
	assert_int_equal(tell_apart(&first), DONE);
	ann = *speakers(w, first.media_id, 1);
	assert_string_equal(makers(w, &ann), voiceprint_maker(w->mem, w->conf));
	patch(w, path_of(w, &ann, ""), "{\"label\":\"Ann\"}");
	talk = job_for(w, toy(w, "talk"));
	assert_int_equal(tell_apart(&talk), DONE);
	s = speakers(w, talk.media_id, 2);
	assert_int_equal(s[0].turns.n, 2);
	assert_in_range(((const struct turn *)s[1].turns.rows)->start.ms, 8900, 9100);
	r = call(w, "GET", path_of(w, &s[0], ""), NULL);
	assert_string_equal(text(w, r, "data.label"), "Ann");
	assert_string_equal(text(w, r, "data.source"), "machine");
	r = call(w, "GET", path_of(w, &s[1], ""), NULL);
	assert_null(text(w, r, "data.label"));
	assert_null(text(w, r, "data.proposal.label"));
	/* Another model knows nobody yet, and the voice stays. */
	other = with_toys(w, library, "other.onnx");
	w->conf = other;
	again = alone(w, toy(w, "alone"));
	r = call(w, "GET", path_of(w, &again, ""), NULL);
	assert_null(text(w, r, "data.label"));
	assert_null(text(w, r, "data.proposal.label"));
	assert_int_equal(number(w, "FROM voices t WHERE t.tenant_id = ? AND t.name = 'Ann'", ARGS(ID(w->tenant_id))),
	    1);
	/* Heard again where it was named, it is known from then on. */
	first.conf = other;
	assert_int_equal(tell_apart(&first), DONE);
	assert_string_equal(makers(w, &ann), voiceprint_maker(w->mem, other));
	assert_string_equal(alone(w, toy(w, "alone")).label, "Ann");
	w->conf = usual;
}

static void
voices_are_told_apart_also_where_the_model_that_knows_them_again_is_damaged(void **state)
{
	struct world *w = *state;
	const char *library = sherpa_dir(w->mem, w->conf);
	const struct conf *usual = w->conf;
	struct conf *c;
	struct job j;

	if (library == NULL) {
		print_message("# SKIP sherpa-onnx is not installed (npm ci)\n");
		skip();
	}
	opt_in(w, 1);
	w->conf = c = (struct conf *)with_toys(w, library, "../turns/model.onnx");
	j = job_for(w, toy(w, "alone"));
	assert_int_equal(tell_apart(&j), GIVE_UP);
	c->engine[ENGINE_diarize].name = "mixtures";
	j = job_for(w, MONOLOGUE("rms"));
	j.in = &(struct asset_args){ .media_id = j.media_id };
	db_begin(j.db);
	assert_int_equal(speakers_run(&j), DONE);
	assert_true(db_commit(j.db));
	speakers(w, j.media_id, 1);
	assert_non_null(strstr(j.warnings, "\"model_unusable\""));
	assert_non_null(strstr(j.warnings, "named elsewhere are not known"));
	assert_int_equal(number(w, "FROM voiceprints t JOIN speakers s ON s.id = t.speaker_id WHERE s.media_id = ?",
	    ARGS(ID(j.media_id))), 0);
	w->conf = usual;
}

/* The settings as the tenant has chosen. */
static const struct conf *
choose(struct world *w, const struct conf *conf, const char *engine)
{
	db_run(w->db, "UPDATE tenants SET engines = JSON_OBJECT('voiceprint', ?) WHERE id = ?", ARGS(STR(engine),
	    ID(w->tenant_id)));
	return engines_conf(w->db, conf, w->tenant_id);
}

/* Turns are found and told apart by the models of the operator all the same. */
static void
a_tenant_chooses_what_knows_its_voices_again(void **state)
{
	struct world *w = *state;
	const char *library = sherpa_dir(w->mem, w->conf);
	const struct conf *usual = w->conf;
	struct conf *offered;
	struct speaker ann, again;

	if (library == NULL) {
		print_message("# SKIP sherpa-onnx is not installed (npm ci)\n");
		skip();
	}
	opt_in(w, 1);
	w->conf = offered = (struct conf *)with_toys(w, library, "model.onnx");
	offered->engine[ENGINE_voiceprint].others = "mixtures";
	ann = alone(w, toy(w, "alone"));
	patch(w, path_of(w, &ann, ""), "{\"label\":\"Ann\"}");
	w->conf = choose(w, offered, "mixtures");
	again = alone(w, toy(w, "alone"));
	assert_string_equal(makers(w, &again), "mixtures 1");
	assert_null(again.label);
	w->conf = choose(w, offered, "none");
	again = alone(w, toy(w, "alone"));
	assert_null(makers(w, &again));
	assert_null(again.label);
	db_run(w->db, "UPDATE tenants SET engines = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
	w->conf = engines_conf(w->db, offered, w->tenant_id);
	assert_string_equal(alone(w, toy(w, "alone")).label, "Ann");
	w->conf = usual;
}

static void
set_recognition(struct world *w, const char *wanted)
{
	const char *body = arena_printf(w->mem, "{\"speakerRecognition\":%s}", wanted);

	assert_int_equal(call(w, "PATCH", "/v2/tenants/current/settings", body)->status, 200);
}

static void
voices_from_before_a_tenant_opted_out_are_not_known_when_it_wants_them_again(void **state)
{
	struct world *w = *state;
	struct speaker ann, again;

	set_recognition(w, "true");
	ann = alone(w, MONOLOGUE("rms"));
	patch(w, path_of(w, &ann, ""), "{\"label\":\"Ann\"}");
	set_recognition(w, "false");
	set_recognition(w, "true");
	again = alone(w, OTHER("rms"));
	assert_null(again.label);
	assert_null(text(w, call(w, "GET", path_of(w, &again, ""), NULL), "data.proposal.label"));
	/* What is heard from now on is. */
	patch(w, path_of(w, &again, ""), "{\"label\":\"Bob\"}");
	assert_string_equal(alone(w, MONOLOGUE("rms")).label, "Bob");
}

/* Its job began before: what it finds out of the voice is not kept. */
static void
a_job_does_not_bring_back_what_was_forgotten_meanwhile(void **state)
{
	struct world *w = *state;
	struct job j;
	const struct speaker *ann;

	opt_in(w, 1);
	j = job_for(w, MONOLOGUE("rms"));
	assert_int_equal(tell_apart(&j), DONE);
	ann = speakers(w, j.media_id, 1);
	patch(w, path_of(w, ann, ""), "{\"label\":\"Ann\"}");
	assert_int_equal(call(w, "DELETE", path_of(w, ann, ""), NULL)->status, 200);
	assert_int_equal(tell_apart(&j), DONE);
	assert_int_equal(number(w, "FROM voiceprints t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	assert_int_equal(number(w, "FROM speakers t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
	assert_int_equal(call(w, "GET", path_of(w, ann, ""), NULL)->status, 404);
}

static struct turn
turn(int64_t start, int64_t end)
{
	return (struct turn){ { start, true }, { end, true } };
}

static void
paragraphs_are_parted_where_the_speaker_changes(void **state)
{
	struct world *w = *state;
	struct word words[6];
	struct turn a[] = { turn(0, 3000) }, b[] = { turn(3000, 6000) };
	struct speaker s[] = { { .speaker_id = uuid_new(), .number = 1, .turns = { a, 1 }, .name = "Ann" },
		{ .speaker_id = uuid_new(), .number = 2, .turns = { b, 1 }, .name = "Bob" } };
	struct paragraph p = { .id = uuid_new(), .start = { 0, true }, .end = { 6000, true },
	    .text = "one two three four five six", .words = { words, 6 } };
	static const char *const texts[] = { "one", "two", "three", "four", "five", "six" };
	const struct list both = { s, 2 }, whole = { &p, 1 };
	struct list out;
	const struct paragraph *at;

	for (int i = 0; i < 6; i++)
		words[i] = (struct word){ texts[i], { i * 1000, true }, { i * 1000 + 900, true }, 1, "machine", false,
		    NULL };
	out = speaking_assign(w->mem, &whole, &both, true);
	speaking_name(&out, &both);
	at = out.rows;
	assert_int_equal(out.n, 2);
	assert_string_equal(at[0].text, "one two three");
	assert_string_equal(at[1].text, "four five six");
	assert_string_equal(at[0].speaker, "Ann");
	assert_string_equal(at[1].speaker, "Bob");
	assert_true(uuid_equal(at[0].id, p.id));
	assert_false(uuid_equal(at[1].id, p.id));
	assert_int_equal(at[0].end.ms, 2900);
	assert_int_equal(at[1].start.ms, 3000);
	/* Those of people stay whole, and their own names stay. */
	out = speaking_assign(w->mem, &whole, &both, false);
	assert_int_equal(out.n, 1);
	p.speaker = "Carol";
	out = speaking_assign(w->mem, &whole, &both, true);
	assert_int_equal(out.n, 1);
	assert_true(uuid_is_none(((const struct paragraph *)out.rows)->speaker_id));
}

static void
turns_are_taken_from_and_added_to(void **state)
{
	struct world *w = *state;
	struct turn a[] = { turn(0, 1000), turn(2000, 3000) }, b[] = { turn(500, 2500) };
	const struct list x = { a, 2 }, y = { b, 1 };
	const struct list rest = speaking_without(w->mem, &x, 800, 2200), both = speaking_union(w->mem, &x, &y);
	const struct turn *t = rest.rows;

	assert_int_equal(speaking_overlap(&x, &y), 1000);
	assert_int_equal(rest.n, 2);
	assert_int_equal(t[0].end.ms, 800);
	assert_int_equal(t[1].start.ms, 2200);
	assert_int_equal(both.n, 1);
	assert_int_equal(((const struct turn *)both.rows)->end.ms, 3000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(two_who_take_turns_are_two_speakers),
		WORLD_TEST(who_speaks_alone_is_one_and_has_no_number_in_the_text),
		WORLD_TEST(nothing_is_told_apart_unless_the_tenant_wants_it),
		WORLD_TEST(whoever_is_told_apart_again_stays_the_same),
		WORLD_TEST(what_people_have_said_of_speakers_stays_when_they_are_told_apart_again),
		WORLD_TEST(a_name_that_is_not_heard_this_time_stays),
		WORLD_TEST(silence_and_noise_have_no_speakers),
		WORLD_TEST(a_voice_is_like_itself_with_other_words_and_unlike_others),
		WORLD_TEST(a_voice_that_was_named_is_known_in_later_assets_and_strangers_are_not),
		WORLD_TEST(a_voice_is_known_by_the_print_of_a_model_and_those_of_other_models_are_not_compared),
		WORLD_TEST(voices_are_told_apart_also_where_the_model_that_knows_them_again_is_damaged),
		WORLD_TEST(a_job_does_not_bring_back_what_was_forgotten_meanwhile),
		WORLD_TEST(a_tenant_chooses_what_knows_its_voices_again),
		WORLD_TEST(voices_from_before_a_tenant_opted_out_are_not_known_when_it_wants_them_again),
		WORLD_TEST(paragraphs_are_parted_where_the_speaker_changes),
		WORLD_TEST(turns_are_taken_from_and_added_to),
	};

	return cmocka_run_group_tests(tests, sounds_open, sounds_close);
}
