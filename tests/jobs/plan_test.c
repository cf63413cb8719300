/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an ingest consists of, and its parts run again alone: the rows, and with a real runner what they make. */
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/job.h"
#include "core/plan.h"
#include "core/store.h"
#include "tests/jobs/intake.h"

#define NONE ((struct strings){ NULL, 0 })
#define WORDS(...) ((struct strings){ (const char *[]){ __VA_ARGS__ }, \
	sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *) })
#define SPEECH "flite=text='Thank you very much for your attention. Please come back again next week.':voice=slt"

/* An ingest of more steps than any file has today: twelve with files of their own, and two that build on others. */
#define EXTRA(X) X(extra1) X(extra2) X(extra3) X(extra4) X(extra5) X(extra6) X(extra7) X(extra8) X(extra9) X(extra10) \
	X(extra11) X(extra12)
static const struct job_kind extra_kinds[] = {
#define KIND(called) { .name = #called, .step = #called, .doc = "Of the test", .attempts = 3, .idle_seconds = 60, \
	.weight = 1, .args = &asset_args_record },
	EXTRA(KIND) KIND(above_waveform) KIND(above_that)
#undef KIND
};
static const struct plan_step extra_steps[] = {
#define STEP(name) { #name, HAS_SOUND, "first_rendition", PRIORITY_NORMAL, true, NULL },
	EXTRA(STEP)
#undef STEP
	{ "above_waveform", HAS_SOUND, "waveform storyboard", PRIORITY_NORMAL, false, NULL },
	{ "above_that", HAS_SOUND, "above_waveform", PRIORITY_NORMAL, false, NULL },
};

static void
with_extra_steps(size_t n)
{
	job_kinds_add(extra_kinds, sizeof(extra_kinds) / sizeof(extra_kinds[0]));
	plan_steps_add(extra_steps, n);
}

static int
without_extra_steps(void **state)
{
	job_kinds_add(NULL, 0);
	plan_steps_add(NULL, 0);
	return world_teardown(state);
}

/* A recording of sound whose ingest has got as far as its plan. */
static struct uuid
planned(struct world *w, struct uuid *root)
{
	struct uuid id = world_media(w, "audio", "Sound");

	db_run(w->db, "UPDATE media SET status = 'processing', generation = NULL WHERE id = ?", ARGS(ID(id)));
	*root = ingest_start(w->db, w->tenant_id, id);
	metadata_put(w->db, id, "file", "test", "{\"audio\":[{\"used\":false},{\"used\":true}],\"coverArt\":false}");
	db_run(w->db, "UPDATE jobs SET state = 'succeeded' WHERE id = ?", ARGS(ID(*root)));
	plan_ingest(w->db, w->conf, id, *root, uuid_text(w->mem, *root));
	asset_summarise(w->db, id, SUM_INGEST);
	return id;
}

static void
settle(struct world *w, struct uuid job)
{
	db_run(w->db, "UPDATE jobs SET state = 'succeeded', finished_at = 5 WHERE id = ?", ARGS(ID(job)));
	job_settled(w->db, job);
}

static void
settle_all(struct world *w, struct uuid media)
{
	db_run(w->db, "UPDATE jobs SET state = 'succeeded', finished_at = 5 WHERE media_id = ?", ARGS(ID(media)));
	db_run(w->db, "UPDATE media SET status = 'ready' WHERE id = ?", ARGS(ID(media)));
	asset_summarise(w->db, media, SUM_INGEST);
}

/* The job of that kind that counts. */
static struct uuid
job_of(struct world *w, struct uuid media, const char *kind)
{
	struct job_row *j = db_row(w->db, &job_record, "FROM jobs t WHERE t.media_id = ? AND t.kind = ? AND "
	    "t.replaced_by IS NULL", ARGS(ID(media), STR(kind)));

	if (j == NULL)
		fail_msg("there is no %s", kind);
	return j->id;
}

static const char *
state_of(struct world *w, struct uuid media, const char *kind)
{
	return db_text(w->db, "SELECT state FROM jobs WHERE id = ?", ARGS(ID(job_of(w, media, kind))));
}

static int64_t
jobs(struct world *w, struct uuid media, const char *kind)
{
	return number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = ?", ARGS(ID(media), STR(kind)));
}

static const char *
path_of(struct world *w, struct uuid id)
{
	return arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id));
}

static void
publish_waits_for_all_that_is_shown_however_much_that_is(void **state)
{
	struct world *w = *state;
	struct uuid root, media, publish;
	size_t i;

	with_extra_steps(14);
	media = planned(w, &root);
	publish = job_of(w, media, "publish");
	/* The first rendition, the waveform, and the twelve; neither transcript nor what builds on others. */
	assert_int_equal(number(w, "FROM job_waits WHERE job_id = ? AND needed = 0", ARGS(ID(publish))), 14);
	assert_int_equal(number(w, "FROM job_waits WHERE job_id = ?", ARGS(ID(publish))), 14);
	settle(w, job_of(w, media, "first_rendition"));
	settle(w, job_of(w, media, "waveform"));
	for (i = 0; i < 12; i++) {
		assert_string_equal(state_of(w, media, "publish"), "waiting");
		assert_string_equal(state_of(w, media, extra_kinds[i].name), "ready");
		settle(w, job_of(w, media, extra_kinds[i].name));
	}
	assert_string_equal(state_of(w, media, "publish"), "ready");
}

static void
what_builds_on_an_analysis_follows_it_and_nothing_else_does(void **state)
{
	struct world *w = *state;
	struct uuid root, media, old;

	with_extra_steps(14);
	media = planned(w, &root);
	settle_all(w, media);
	old = job_of(w, media, "waveform");
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("waveform"), NONE), RERUN_ADDED);
	assert_string_equal(state_of(w, media, "waveform"), "ready");
	assert_string_equal(state_of(w, media, "above_waveform"), "waiting");
	assert_string_equal(state_of(w, media, "above_that"), "waiting");
	assert_string_equal(state_of(w, media, "publish"), "waiting");
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.replaced_by IS NOT NULL", ARGS(ID(media))),
	    4);
	assert_int_equal(number(w, "FROM jobs t WHERE t.id = ? AND t.replaced_by = ?", ARGS(ID(old), ID(job_of(w, media,
	    "waveform")))), 1);
	assert_int_equal(jobs(w, media, "first_rendition") + jobs(w, media, "transcribe") + jobs(w, media, "extra1"),
	    3);

	settle(w, job_of(w, media, "waveform"));
	assert_string_equal(state_of(w, media, "above_waveform"), "ready");
	assert_string_equal(state_of(w, media, "above_that"), "waiting");
	settle(w, job_of(w, media, "above_waveform"));
	assert_string_equal(state_of(w, media, "above_that"), "ready");
}

/* What was told of the asset, the newest first, "type data" each. */
static const char *
told(struct world *w, struct uuid media)
{
	return db_text(w->db, "SELECT GROUP_CONCAT(CONCAT(type, ' ', data) ORDER BY id DESC SEPARATOR '; ') FROM "
	    "events WHERE media_id = ? AND type LIKE 'media%'", ARGS(ID(media)));
}

static void
an_asset_that_becomes_ready_or_fails_and_the_end_of_an_ingest_are_told(void **state)
{
	struct world *w = *state;
	struct uuid root, good = planned(w, &root), bad = planned(w, &root);
	struct rendition_row row = { .media_id = good, .kind = "playlist", .label = "", .codecs = "",
	    .mime_type = "a/b", .file = "g/main.m3u8" };

	assert_null(told(w, good));
	row.generation = db_text(w->db, "SELECT generation FROM media WHERE id = ?", ARGS(ID(good)));
	rendition_put(w->db, &row);
	asset_summarise(w->db, good, SUM_RENDITIONS);
	assert_string_equal(told(w, good), "media.ready {}; media.updated {\"modified\":[\"status\",\"playlistUrl\"]}");
	asset_summarise(w->db, good, SUM_RENDITIONS);
	settle_all(w, good);
	assert_string_equal(told(w, good), "media.updated {\"modified\":[\"ingestJob\"]}; media.ready {}; "
	    "media.updated {\"modified\":[\"status\",\"playlistUrl\"]}");
	db_run(w->db, "UPDATE jobs SET state = 'failed' WHERE media_id = ?", ARGS(ID(bad)));
	asset_summarise(w->db, bad, SUM_INGEST);
	assert_string_equal(told(w, bad), "media.failed {}; media.updated {\"modified\":[\"status\",\"ingestJob\"]}");
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'ingest.progress' AND data = "
	    "'{\"status\":\"succeeded\",\"progress\":100}'", ARGS(ID(good))), 1);
}

/* As the runner says every two seconds that something runs. */
static int64_t
told_of_progress(struct world *w, struct uuid media)
{
	db_run(w->db, "UPDATE media SET summed_at = 0 WHERE id = ?", ARGS(ID(media)));
	asset_progress(w->db, media);
	return number(w, "FROM events WHERE media_id = ? AND type = 'ingest.progress'", ARGS(ID(media)));
}

static void
progress_is_told_when_it_has_changed_and_not_each_time_it_is_summed_up(void **state)
{
	struct world *w = *state;
	struct uuid root, media = planned(w, &root);
	int64_t before;

	db_run(w->db, "UPDATE jobs SET state = 'running', started_at = 1 WHERE id = ?", ARGS(ID(job_of(w, media,
	    "first_rendition"))));
	before = told_of_progress(w, media);
	assert_int_equal(told_of_progress(w, media), before);
	db_run(w->db, "UPDATE jobs SET log_tail = 'frame 1' WHERE media_id = ?", ARGS(ID(media)));
	assert_int_equal(told_of_progress(w, media), before);
	db_run(w->db, "UPDATE jobs SET progress = 50 WHERE id = ?", ARGS(ID(job_of(w, media, "first_rendition"))));
	assert_int_equal(told_of_progress(w, media), before + 1);
	assert_int_equal(told_of_progress(w, media), before + 1);
}

/* As when the machine that planned had a clock behind that of the machine which took the file in. */
static void
the_root_is_named_and_steps_have_their_places_whatever_their_ids(void **state)
{
	struct world *w = *state;
	struct uuid root, media = planned(w, &root), early = uuid_new();
	struct req *r;

	memset(early.b, 0, 6);
	db_run(w->db, "DELETE FROM job_waits WHERE job_id IN (SELECT id FROM jobs WHERE media_id = ?)",
	    ARGS(ID(media)));
	assert_int_equal(db_run(w->db, "UPDATE jobs SET id = ? WHERE id = ?", ARGS(ID(early), ID(job_of(w, media,
	    "publish")))), 1);
	asset_summarise(w->db, media, SUM_INGEST);
	r = call(w, "GET", path_of(w, media), NULL);
	assert_string_equal(text(w, r, "data.ingestJob.id"), uuid_text(w->mem, root));
	assert_string_equal(text(w, r, "data.ingestJob.steps.0.name"), "probe");
	assert_string_equal(text(w, r, "data.ingestJob.steps.1.name"), "firstRendition");
	assert_string_equal(text(w, r, "data.ingestJob.steps.2.name"), "waveform");
	assert_string_equal(text(w, r, "data.ingestJob.steps.3.name"), "transcript");
	assert_string_equal(text(w, r, "data.ingestJob.steps.4.name"), "chapters");
	assert_string_equal(text(w, r, "data.ingestJob.steps.5.name"), "keywords");
	assert_string_equal(text(w, r, "data.ingestJob.steps.6.name"), "entities");
	assert_string_equal(text(w, r, "data.ingestJob.steps.7.name"), "summary");
	assert_string_equal(text(w, r, "data.ingestJob.steps.8.name"), "publish");
}

/* A step behind those that it names, each of them with its kind; and the words that the document promises. */
static void
the_plan_is_in_order_and_complete(void **state)
{
	const struct plan_step *s;
	const char *made = "", *word;
	struct world *w = *state;
	size_t i, n;

	for (i = 0; (s = plan_step(i)) != NULL; i++) {
		assert_non_null(job_kind(s->kind));
		assert_int_equal(plan_place(s->kind), i + 1);
		for (word = strcmp(s->after, "*") == 0 ? "" : s->after; *word != '\0'; word += n,
		    word += *word == ' ') {
			n = strcspn(word, " ");
			assert_true(plan_place(arena_copy_n(w->mem, word, n)) < i + 1);
		}
		if (s->makes != NULL)
			made = arena_printf(w->mem, "%s%s%s", made, *made != '\0' ? " " : "", s->makes);
	}
	assert_string_equal(made, PLAN_MAKES);
	assert_int_equal(plan_place("ingest"), 0);
	assert_int_equal(plan_place("purge"), i + 1);
}

static void
transcripts_are_made_anew_by_language(void **state)
{
	struct world *w = *state;
	struct conf by_http = *w->conf;
	struct uuid root, media;

	media = planned(w, &root);
	settle_all(w, media);
	assert_int_equal(jobs(w, media, "transcribe"), 1);
	/* The one without a language was in the one that is spoken. */
	db_run(w->db, "UPDATE media SET language_code = 'de' WHERE id = ?", ARGS(ID(media)));
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), WORDS("de", "translate-en")),
	    RERUN_ADDED);
	assert_int_equal(jobs(w, media, "transcribe"), 3);
	/* What may be made of the other one waits for it. */
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'transcribe' AND t.replaced_by IS "
	    "NULL AND CONCAT(JSON_VALUE(t.args, '$.languageCode'), t.state) IN ('deready', 'translate-enwaiting')",
	    ARGS(ID(media))), 2);
	/* Another language meanwhile, but not the same twice. */
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), WORDS("fr")), RERUN_ADDED);
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), NONE), RERUN_RUNNING);
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'transcribe' AND t.replaced_by IS "
	    "NOT NULL", ARGS(ID(media))), 1);
	/* Chapters and keywords are made once more behind each, and nothing else begins anew with them. */
	assert_int_equal(jobs(w, media, "chapters"), 3);
	assert_int_equal(jobs(w, media, "keywords"), 3);
	assert_string_equal(state_of(w, media, "chapters"), "waiting");
	assert_int_equal(jobs(w, media, "publish"), 1);
	/* Where the engine that listens makes English by itself, there is nothing to wait for. */
	by_http.engine[ENGINE_transcribe].others = "http";
	db_run(w->db, "UPDATE tenants SET engines = '{\"transcribe\":\"http\"}' WHERE id = ?", ARGS(ID(w->tenant_id)));
	settle_all(w, media);
	assert_int_equal(plan_rerun(w->db, &by_http, media, WORDS("transcripts"), WORDS("de", "translate-en")),
	    RERUN_ADDED);
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'transcribe' AND t.replaced_by IS "
	    "NULL AND JSON_VALUE(t.args, '$.languageCode') IN ('de', 'translate-en') AND t.state = 'ready'",
	    ARGS(ID(media))), 2);
	db_run(w->db, "UPDATE tenants SET engines = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
}

static void
an_asset_is_heard_once_in_a_language_and_in_so_many_at_most(void **state)
{
	struct world *w = *state;
	struct strings many = { arena_array(w->mem, PLAN_LANGUAGES, sizeof(*many.at)), PLAN_LANGUAGES };
	struct uuid root, media = planned(w, &root);
	size_t i;

	settle_all(w, media);
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), WORDS("fr", "FR", "fr")), RERUN_ADDED);
	assert_int_equal(jobs(w, media, "transcribe"), 2);
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), WORDS("Fr")), RERUN_RUNNING);
	for (i = 0; i < many.n; i++)
		many.at[i] = arena_printf(w->mem, "%c%c", i < 26 ? 'x' : 'y', (int)('a' + i % 26));
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), many), RERUN_LANGUAGES);
	many.n -= 2;
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), many), RERUN_ADDED);
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), WORDS("zz")), RERUN_LANGUAGES);
}

static void
nothing_is_written_where_nothing_can_be_made_anew(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid root, media = planned(w, &root), picture = world_media(w, "image", "Picture");
	int64_t before;

	(void)other;
	before = number(w, "FROM jobs t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id)));
	/* Nothing to show yet. */
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("waveform"), NONE), RERUN_OVER);
	db_run(w->db, "UPDATE media SET status = 'ready' WHERE id = ?", ARGS(ID(media)));
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("waveform"), NONE), RERUN_RUNNING);
	settle_all(w, media);
	/* Not in this file; no step at all. */
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("waveform", "storyboard"), NONE), RERUN_NOTHING);
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("renditions"), NONE), RERUN_NOTHING);
	assert_int_equal(plan_rerun(w->db, w->conf, uuid_new(), WORDS("waveform"), NONE), RERUN_NO_ASSET);
	/* Another ingest failed as a whole; another one runs. */
	db_run(w->db, "UPDATE media SET ingest_job_id = ? WHERE id = ?", ARGS(ID(uuid_new()), ID(media)));
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("waveform"), NONE), RERUN_OVER);
	db_run(w->db, "UPDATE media SET ingest_job_id = ?, deleted_at = 7 WHERE id = ?", ARGS(ID(root), ID(media)));
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("waveform"), NONE), RERUN_NO_ASSET);
	db_run(w->db, "UPDATE media SET deleted_at = 0 WHERE id = ?", ARGS(ID(media)));
	db_run(w->db, "UPDATE media SET ingest_job_id = ?, generation = ?, status = 'ready' WHERE id = ?",
	    ARGS(ID(root), STR(uuid_text(w->mem, root)), ID(picture)));
	assert_int_equal(plan_rerun(w->db, w->conf, picture, WORDS("waveform"), NONE), RERUN_NOTHING);
	assert_int_equal(number(w, "FROM jobs t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), before);
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("waveform"), NONE), RERUN_ADDED);
}

/* What could not be heard is in no language but the one that somebody has named. */
static void
a_transcript_that_failed_is_of_the_language_that_was_named(void **state)
{
	static const struct { const char *named, *of_asset, *tag; } cases[] = {
		{ NULL, NULL, "und" }, { "auto", NULL, "und" }, { "auto", "de", "und" }, { NULL, "de", "de" }, { "fr", "de", "fr" },
	};
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct uuid media = world_media(w, "video", "Cat"), root = uuid_new();
		struct job_place place = { .tenant_id = w->tenant_id, .media_id = media, .ingest_id = root,
		    .id = root };

		job_add(w->db, publish, place, .media_id = media, .generation = "g1");
		place.id = (struct uuid){ { 0 } };
		job_add(w->db, transcribe, place, .media_id = media, .generation = "g1",
		    .language_code = cases[i].named);
		db_run(w->db, "UPDATE jobs SET state = IF(kind = 'publish', 'succeeded', 'failed'), error = IF(kind = "
		    "'publish', NULL, ?) WHERE media_id = ?", ARGS(STR(job_error(w->mem, REASON_DECODE_FAILED, NULL)), ID(media)));
		db_run(w->db, "UPDATE media SET ingest_job_id = ?, language_code = ? WHERE id = ?", ARGS(ID(root),
		    STR(cases[i].of_asset), ID(media)));
		asset_summarise(w->db, media, SUM_INGEST);
		assert_string_equal(db_text(w->db, "SELECT language_code FROM transcripts WHERE media_id = ? AND "
		    "status = 'failed'", ARGS(ID(media))), cases[i].tag);
	}
}

static void
a_job_that_was_replaced_does_not_start_again(void **state)
{
	struct world *w = *state;
	struct uuid root, media = planned(w, &root), old = job_of(w, media, "waveform");
	struct req *r;

	settle_all(w, media);
	db_run(w->db, "UPDATE jobs SET state = 'failed', error = ? WHERE id = ?", ARGS(STR(job_error(w->mem,
	    REASON_DECODE_FAILED, NULL)), ID(old)));
	asset_summarise(w->db, media, SUM_INGEST);
	assert_string_equal(text(w, call(w, "GET", path_of(w, media), NULL), "data.ingestJob.warnings.0.step"),
	    "waveform");
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("waveform"), NONE), RERUN_ADDED);
	r = call(w, "GET", path_of(w, media), NULL);
	assert_null(text(w, r, "data.ingestJob.warnings.0.step"));
	assert_string_equal(text(w, r, "data.ingestJob.status"), "queued");
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/jobs/%s/retry", uuid_text(w->mem, old)),
	    NULL)->status, 409);
	assert_false(job_restart(w->db, old));
	assert_null(text(w, call(w, "GET", path_of(w, media), NULL), "data.ingestJob.warnings.0.step"));
	r = call(w, "GET", arena_printf(w->mem, "%s/jobs?filter=kind=waveform", path_of(w, media)), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "2");
}

/* Everything that an asset answers about its ingest is as before, and nothing is there twice. */
static void
is_whole(struct world *w, struct uuid media, const char *step, int64_t steps)
{
	struct req *r = call(w, "GET", path_of(w, media), NULL);

	if (strcmp(text(w, r, "data.status"), "ready") != 0 || strcmp(text(w, r, "data.ingestJob.status"),
	    "succeeded") != 0)
		fail_msg("%s: %s", step, buf_string(&r->out));
	assert_string_equal(text(w, r, "data.ingestJob.progress"), "100");
	assert_int_equal(db_number(w->db, "SELECT JSON_LENGTH(ingest_steps) FROM media WHERE id = ?", ARGS(ID(media)),
	    0), steps);
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = ? AND t.replaced_by IS NULL AND "
	    "t.state = 'succeeded'", ARGS(ID(media), STR(step))), 1);
}

static const char *
key_of(struct world *w, struct uuid media, const char *name)
{
	const char *stem = arena_printf(w->mem, "%.*s", (int)strcspn(name, "."), name);
	const char *row = db_text(w->db, "SELECT r.file FROM renditions r JOIN media m ON m.id = r.media_id AND "
	    "m.generation = r.generation WHERE m.id = ? AND r.file LIKE CONCAT('%/', ?, '.%')",
	    ARGS(ID(media), STR(stem)));

	assert_non_null(row);
	row = arena_printf(w->mem, "%.*s/%s", (int)(strrchr(row, '/') - row), row, name);
	return store_key_play(w->mem, media, row);
}

static const char *
file_of(struct world *w, struct uuid media, const char *name)
{
	return world_file(w->mem, key_of(w, media, name));
}

static struct conf
with_speech(struct world *w)
{
	struct conf conf = *w->conf;

	conf.job_kinds =
	    "ingest,first_rendition,renditions,thumbnail,storyboard,waveform,pages,page_texts,publish,scenes,video_texts,transcribe,chapters,"
	    "keywords,entities,summary,purge";
	return conf;
}

/* What each makes is taken away first, so that its own work shows. */
static void
every_analysis_of_a_film_runs_again_alone(void **state)
{
	static const struct { const char *makes, *kind, *rendition, *file, *seen; } all[] = {
		{ "storyboard", "storyboard", "storyboard", "storyboard.jpg", "data.storyboard.imageUrl" },
		{ "thumbnail", "thumbnail", "poster", "poster.jpg", "data.thumbnail.url" },
		{ "waveform", "waveform", "waveform", "waveform.json", "data.waveformUrl" },
	};
	struct world *w = *state;
	struct conf conf = with_speech(w);
	struct uuid media = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=320x180:r=25 -f "
	    "lavfi -i \"" SPEECH "\" -shortest -c:v libx264 -preset ultrafast -f mp4 \"$f\""));
	const char *transcript;
	struct req *r;
	size_t i;

	drain(w, &conf);
	is_whole(w, media, "publish", 14);
	for (i = 0; i < 3; i++) {
		assert_int_equal(unlink(file_of(w, media, all[i].file)), 0);
		assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS(all[i].makes), NONE), RERUN_ADDED);
		r = call(w, "GET", path_of(w, media), NULL);
		assert_string_equal(text(w, r, "data.status"), "ready");
		assert_non_null(text(w, r, "data.playlistUrl"));
		assert_non_null(text(w, r, all[i].seen));
		drain(w, &conf);
		is_whole(w, media, all[i].kind, 14);
		assert_int_equal(published_rows(w, media, all[i].rendition), 1);
		assert_int_equal(access(file_of(w, media, all[i].file), R_OK), 0);
		assert_int_equal(jobs(w, media, all[i].kind), 2);
		assert_int_equal(jobs(w, media, "first_rendition") + jobs(w, media, "renditions"), 2);
	}
	transcript = db_text(w->db, "SELECT HEX(id) FROM transcripts WHERE media_id = ?", ARGS(ID(media)));
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("transcripts"), NONE), RERUN_ADDED);
	drain(w, &conf);
	is_whole(w, media, "transcribe", 14);
	assert_int_equal(number(w, "FROM transcripts t WHERE t.media_id = ? AND t.status = 'completed'",
	    ARGS(ID(media))), 1);
	assert_string_not_equal(db_text(w->db, "SELECT HEX(id) FROM transcripts WHERE media_id = ?", ARGS(ID(media))),
	    transcript);
	/* All of them at once. */
	assert_int_equal(plan_rerun(w->db, w->conf, media, NONE, NONE), RERUN_ADDED);
	drain(w, &conf);
	is_whole(w, media, "transcribe", 14);
	assert_int_equal(jobs(w, media, "storyboard") + jobs(w, media, "thumbnail") + jobs(w, media, "waveform") +
	    jobs(w, media, "transcribe"), 12);
}

static void
the_text_of_a_document_is_read_again(void **state)
{
	struct world *w = *state;
	struct conf conf = with_speech(w);
	struct uuid media = take_in(w, make(w, "printf 'What is written.\\n' >\"$f\""));

	drain(w, &conf);
	is_whole(w, media, "pages", 7);
	metadata_put(w->db, media, "documentContent", "older", "{\"pages\":[]}");
	assert_int_equal(plan_rerun(w->db, w->conf, media, WORDS("documentContent"), NONE), RERUN_ADDED);
	drain(w, &conf);
	is_whole(w, media, "pages", 7);
	assert_string_equal(db_text(w->db, "SELECT data FROM metadata WHERE media_id = ? AND kind = 'documentContent'",
	    ARGS(ID(media))), "{\"pages\":[{\"page\":1,\"text\":\"What is written.\"}]}");
	assert_int_equal(published_rows(w, media, "poster"), 1);
}

static void
what_fails_the_second_time_leaves_what_was_there(void **state)
{
	struct world *w = *state;
	struct conf conf = with_speech(w);
	struct uuid media = take_in(w, make(w, "ffmpeg -v error -nostdin -y -f lavfi -i \"" SPEECH "\" -f wav \"$f\""));
	const char *key = store_key_original(w->mem, media), *original = world_file(w->mem, key), *sound;
	struct req *r;

	drain(w, &conf);
	is_whole(w, media, "transcribe", 9);
	sound = file_of(w, media, "audio.mp4");
	assert_int_equal(truncate(sound, 100), 0);
	world_put_back(w->mem, key_of(w, media, "audio.mp4"), sound);
	assert_int_equal(truncate(original, 0), 0);
	world_put_back(w->mem, key, original);
	assert_int_equal(plan_rerun(w->db, w->conf, media, NONE, NONE), RERUN_ADDED);
	drain(w, &conf);
	r = call(w, "GET", path_of(w, media), NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.ingestJob.status"), "succeeded");
	assert_non_null(text(w, r, "data.waveformUrl"));
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "waveform");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.1.step"), "transcript");
	assert_int_equal(number(w, "FROM transcripts t WHERE t.media_id = ? AND t.status = 'completed'",
	    ARGS(ID(media))), 1);
}

#define EXTRA_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, without_extra_steps)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		EXTRA_TEST(publish_waits_for_all_that_is_shown_however_much_that_is),
		EXTRA_TEST(what_builds_on_an_analysis_follows_it_and_nothing_else_does),
		WORLD_TEST(an_asset_that_becomes_ready_or_fails_and_the_end_of_an_ingest_are_told),
		WORLD_TEST(progress_is_told_when_it_has_changed_and_not_each_time_it_is_summed_up),
		WORLD_TEST(the_root_is_named_and_steps_have_their_places_whatever_their_ids),
		WORLD_TEST(the_plan_is_in_order_and_complete),
		WORLD_TEST(transcripts_are_made_anew_by_language),
		WORLD_TEST(an_asset_is_heard_once_in_a_language_and_in_so_many_at_most),
		WORLD_TEST(nothing_is_written_where_nothing_can_be_made_anew),
		WORLD_TEST(a_transcript_that_failed_is_of_the_language_that_was_named),
		WORLD_TEST(a_job_that_was_replaced_does_not_start_again),
		WORLD_TEST(every_analysis_of_a_film_runs_again_alone),
		WORLD_TEST(the_text_of_a_document_is_read_again),
		WORLD_TEST(what_fails_the_second_time_leaves_what_was_there),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
