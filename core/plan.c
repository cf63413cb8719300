/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of an ingest, and how their jobs get into the table. */
#include <string.h>
#include <strings.h>

#include "core/asset.h"
#include "core/job.h"
#include "core/plan.h"
#include "core/spoken.h"

/* All but the first rendition of what plays read that one: it is smaller than the original and known to decode. */
static const struct plan_step steps[] = {
	{ "first_rendition",	HAS_VIDEO | HAS_SOUND,	"",			PRIORITY_FIRST,  true, NULL },
	{ "renditions",		HAS_VIDEO,		"first_rendition",	PRIORITY_NORMAL, true, NULL },
	{ "tracks",		HAS_TRACKS,		"first_rendition",	PRIORITY_NORMAL, true, NULL },
	{ "subtitles",		HAS_SUBTITLES,		"first_rendition",	PRIORITY_NORMAL, true, NULL },
	{ "storyboard",		HAS_VIDEO,		"first_rendition",	PRIORITY_NORMAL, true, "storyboard" },
	{ "thumbnail",		HAS_VIDEO | HAS_COVER,	"first_rendition",	PRIORITY_FIRST,  true, "thumbnail" },
	{ "waveform",		HAS_SOUND,		"first_rendition",	PRIORITY_NORMAL, true, "waveform" },
	{ "scenes",		HAS_VIDEO,		"first_rendition",	PRIORITY_NORMAL, false, "scenes" },
	{ "video_texts",	HAS_VIDEO,		"first_rendition",	PRIORITY_NORMAL, false, "videoTexts" },
	{ "transcribe",		HAS_SOUND,		"first_rendition",	PRIORITY_NORMAL, false, "transcripts",
	    .behind = "video_texts" },
	{ "speakers",		HAS_VOICES,		"first_rendition",	PRIORITY_NORMAL, false, "speakers",
	    .behind = "transcribe" },
	{ "chapters",		HAS_VIDEO | HAS_SOUND,	"first_rendition",	PRIORITY_NORMAL, false, "chapters",
	    .behind = "transcribe video_texts speakers" },
	{ "variants",		HAS_PICTURE,		"first_rendition",	PRIORITY_NORMAL, true, NULL },
	{ "image_texts",	HAS_PICTURE,		"variants",		PRIORITY_NORMAL, false, "imageTexts" },
	{ "pages",		HAS_PAGES,		"",			PRIORITY_NORMAL, true, "documentContent" },
	{ "page_texts",		HAS_PAGES,		"pages",		PRIORITY_NORMAL, false, NULL },
	{ "keywords",		HAS_ANY,		"",			PRIORITY_NORMAL, false, "keywords",
	    .behind = "transcribe video_texts image_texts page_texts" },
	{ "entities",		HAS_ANY,		"",			PRIORITY_NORMAL, false, "entities",
	    .behind = "transcribe video_texts image_texts page_texts" },
	{ "summary",		HAS_ANY,		"",			PRIORITY_NORMAL, false, "summary",
	    .behind = "transcribe video_texts image_texts page_texts" },
	{ "publish",		HAS_ANY,		"*",			PRIORITY_FIRST,  false, NULL },
};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static const struct plan_step *more_steps;
static size_t n_more_steps;

/* What a plan depends on. */
struct subject {
	struct uuid id, tenant_id, ingest_job_id;
	const char *type, *status, *generation, *language_code;
	struct strings transcript_language_codes;	/* as the upload asked; at == NULL: it did not say */
	bool has_sound, has_cover, has_tracks, has_subtitles, is_picture, knows_speakers;
};
static const struct field subject_fields[] = {
	FIELD(struct subject, id, .doc = "Asset"),
	FIELD(struct subject, tenant_id, .doc = "Whose it is"),
	FIELD(struct subject, ingest_job_id, .doc = "Root of its latest ingest"),
	FIELD(struct subject, type, .doc = "By content"),
	FIELD(struct subject, status, .doc = "Is there anything to show?"),
	FIELD(struct subject, generation, .doc = "What is shown"),
	FIELD(struct subject, language_code, .doc = "BCP 47 tag"),
	FIELD(struct subject, transcript_language_codes, .doc = "BCP 47 tags"),
	FIELD(struct subject, has_sound, .doc = "Sound that is used",
	    .sql = "COALESCE(JSON_CONTAINS(JSON_EXTRACT(f.data, '$.audio[*].used'), 'true'), 0)"),
	FIELD(struct subject, has_tracks, .doc = "Further sound to choose from",
	    .sql = "COALESCE(JSON_CONTAINS(JSON_EXTRACT(f.data, '$.audio[*].alternate'), 'true'), 0)"),
	FIELD(struct subject, has_subtitles, .doc = "Subtitles that are text",
	    .sql = "COALESCE(JSON_CONTAINS(JSON_EXTRACT(f.data, '$.subtitles[*].used'), 'true'), 0)"),
	FIELD(struct subject, has_cover, .doc = "Picture of its cover",
	    .sql = "COALESCE(JSON_CONTAINS(JSON_EXTRACT(f.data, '$.coverArt'), 'true'), 0)"),
	FIELD(struct subject, knows_speakers, .doc = "Does the tenant want to know who speaks?",
	    .sql = "COALESCE((SELECT n.speaker_recognition FROM tenants n WHERE n.id = t.tenant_id), 0)"),
	FIELD(struct subject, is_picture, .doc = "Also when it moves", .sql = "t.mime_type LIKE 'image/%'"),
};
static const struct record subject_record = RECORD("PlanSubject", struct subject, subject_fields);
#define SUBJECT "FROM media t LEFT JOIN metadata f ON f.media_id = t.id AND f.kind = 'file' WHERE t.id = ?"

/* A job that does the same already, or did. */
struct older { struct uuid id; const char *state; };
static const struct field older_fields[] = {
	FIELD(struct older, id, .doc = "Job"),
	FIELD(struct older, state, .doc = "State"),
};
static const struct record older_record = RECORD("OlderJob", struct older, older_fields);

/* A job that is to be added, and those whose place it takes. */
struct todo { const struct plan_step *step; const char *language; struct uuid id; const struct older *older;
    size_t n_older; };

struct plan {
	struct db *db;
	const struct subject *asset;
	struct uuid ingest_id;
	const char *generation;
	bool anew;
	bool translates;		/* the engine that listens makes translations by itself */
	struct strings makes, languages;		/* of a rerun, as they were asked for */
	struct todo *todo;
	size_t n, room;
};

const struct plan_step *
plan_step(size_t i)
{
	if (i < STEPS - 1)
		return &steps[i];
	i -= STEPS - 1;
	return i < n_more_steps ? &more_steps[i] : i == n_more_steps ? &steps[STEPS - 1] : NULL;
}

void
plan_steps_add(const struct plan_step *table, size_t n)
{
	more_steps = table;
	n_more_steps = n;
}

size_t
plan_place(const char *kind)
{
	const struct plan_step *s;
	size_t i;

	if (strcmp(kind, "ingest") == 0)
		return 0;
	for (i = 0; (s = plan_step(i)) != NULL; i++)
		if (strcmp(s->kind, kind) == 0)
			break;
	return i + 1;
}

static bool
per_language(const struct plan_step *s)
{
	return job_kind(s->kind)->args == &transcribe_args_record;
}

static unsigned
found(const struct subject *a)
{
	unsigned sound = (a->has_sound ? HAS_SOUND : 0) | (a->has_cover ? HAS_COVER : 0) |
	    (a->has_tracks ? HAS_TRACKS : 0) | (a->has_subtitles ? HAS_SUBTITLES : 0) |
	    (a->has_sound && a->knows_speakers ? HAS_VOICES : 0);

	if (strcmp(a->type, "video") == 0)
		return HAS_VIDEO | sound | (a->is_picture ? HAS_PICTURE : 0);
	if (strcmp(a->type, "audio") == 0)
		return sound;
	return strcmp(a->type, "image") == 0 ? HAS_PICTURE : HAS_PAGES;
}

/* Does the step wait for the other one, and must that succeed? */
static bool
waits_on(const struct plan_step *s, const struct plan_step *other, bool *needed)
{
	*needed = word_in(s->after, other->kind, strlen(other->kind));
	return *needed || (strcmp(s->after, "*") == 0 && other->shown) ||
	    (s->behind != NULL && word_in(s->behind, other->kind, strlen(other->kind)));
}

static bool
follows(const struct plan *p, const struct plan_step *s)
{
	bool needed;
	size_t i;

	for (i = 0; i < p->n; i++)
		if (waits_on(s, p->todo[i].step, &needed))
			return true;
	return false;
}

static bool
is_named(const struct strings *words, const char *word)
{
	size_t i;

	for (i = 0; i < words->n; i++)
		if (word != NULL && strcmp(words->at[i], word) == 0)
			return true;
	return false;
}

static bool
is_wanted(const struct plan *p, const struct plan_step *s)
{
	if (!p->anew)
		return true;
	return p->makes.n == 0 ? s->makes != NULL : is_named(&p->makes, s->makes);
}

static void
note(struct plan *p, const struct plan_step *s, const char *language)
{
	struct todo *more;

	if (p->n == p->room) {
		p->room = p->room == 0 ? 16 : p->room * 2;
		more = arena_array(db_arena(p->db), p->room, sizeof(*more));
		if (p->n > 0)
			memcpy(more, p->todo, p->n * sizeof(*more));
		p->todo = more;
	}
	p->todo[p->n++] = (struct todo){ s, language, uuid_new(), NULL, 0 };
}

static bool
is_noted(const struct plan *p, const struct plan_step *s, const char *language)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->todo[i].step == s && language != NULL && p->todo[i].language != NULL &&
		    strcasecmp(p->todo[i].language, language) == 0)
			return true;
	return false;
}

static bool
is_translation(const char *language)
{
	return language != NULL && strcmp(language, SPOKEN_TRANSLATED) == 0;
}

/* Unless it is there already, or, where the language is to be told from what is said, any is. */
static void
note_language(struct plan *p, const struct plan_step *s, const char *language)
{
	const char *one = language != NULL && strcasecmp(language, SPOKEN_ANY) != 0 ? language : NULL;

	if (!is_noted(p, s, language) && (p->anew || db_number(p->db, "SELECT COUNT(*) FROM transcripts t WHERE "
	    "t.media_id = ? AND t.status = 'completed' AND (? IS NULL OR t.language_code = ?)", ARGS(ID(p->asset->id),
	    STR(one), STR(one)), 0) == 0))
		note(p, s, language);
}

/* One job per language that was asked for; one without a language when nothing was said. */
static void
note_languages(struct plan *p, const struct plan_step *s)
{
	const struct strings *asked = &p->asset->transcript_language_codes;
	const char *spoken = p->asset->language_code;
	struct strings languages = { &spoken, 1 };
	size_t i, round;

	if (p->languages.at != NULL)
		languages = p->languages;
	else if (asked->at != NULL && (asked->n > 0 || p->makes.n == 0))
		languages = *asked;
	/* What may be made of another transcript comes behind it. */
	for (round = 0; round < 2; round++)
		for (i = 0; i < languages.n; i++)
			if (is_translation(languages.at[i]) == (round > 0))
				note_language(p, s, languages.at[i]);
}

static void
note_all(struct plan *p)
{
	const struct plan_step *s;
	size_t i;

	for (i = 0; (s = plan_step(i)) != NULL; i++) {
		if ((s->of & found(p->asset)) == 0 || (!is_wanted(p, s) && !follows(p, s)))
			continue;
		if (per_language(s))
			note_languages(p, s);
		else
			note(p, s, NULL);
	}
}

/* Finds the jobs of the ingest that do the same: of the same kind and, if it has one, in the same language.  False: one
 * has not ended. */
static bool
find_older(const struct plan *p, struct todo *t)
{
	const char *spoken = p->asset->language_code != NULL ? p->asset->language_code : "en";
	size_t i;

	/* Locked: nobody starts one of them again meanwhile. */
	t->older = db_rows(p->db, &older_record, "FROM jobs t WHERE t.ingest_id = ? AND t.kind = ? AND t.replaced_by "
	    "IS NULL AND LOWER(COALESCE(JSON_VALUE(t.args, '$.languageCode'), ?)) = LOWER(?) FOR UPDATE",
	    ARGS(ID(p->ingest_id), STR(t->step->kind), STR(spoken), STR(t->language != NULL ? t->language : spoken)),
	    &t->n_older);
	for (i = 0; i < t->n_older; i++)
		if (!job_is_final(t->older[i].state))
			return false;
	return true;
}

/* What nobody asked for, and takes what it finds, is no reason to refuse: it is done once more, behind the rest. */
static bool
may_follow_itself(const struct plan *p, const struct plan_step *s)
{
	return s->behind != NULL && !is_wanted(p, s);
}

static void
replace(const struct plan *p, const struct todo *t)
{
	size_t i;

	for (i = 0; i < t->n_older; i++)
		db_run(p->db, "UPDATE jobs SET replaced_by = ? WHERE id = ?", ARGS(ID(t->id), ID(t->older[i].id)));
}

static void
add(const struct plan *p, const struct todo *t)
{
	struct job_wait *waits = arena_array(db_arena(p->db), p->n, sizeof(*waits));
	struct job_place place = { .tenant_id = p->asset->tenant_id, .media_id = p->asset->id,
	    .ingest_id = p->ingest_id, .priority = t->step->priority, .waits = { waits, 0 }, .id = t->id };
	struct asset_args args = { p->asset->id, p->generation };
	const struct todo *other;
	bool needed;

	for (other = p->todo; other < t; other++)
		if (waits_on(t->step, other->step, &needed) ||
		    (other->step == t->step && is_translation(t->language) && !p->translates))
			waits[place.waits.n++] = (struct job_wait){ other->id, needed };
	if (per_language(t->step))
		job_add(p->db, transcribe, place, .media_id = args.media_id, .generation = args.generation,
		    .language_code = t->language, .anew = p->anew);
	else
		job_insert(p->db, t->step->kind, &asset_args_record, &args, place);
}

static bool
translates(struct db *db, const struct conf *conf, const struct subject *a)
{
	return spoken_known(engines_conf(db, conf, a->tenant_id), SPOKEN_TRANSLATED);
}

void
plan_ingest(struct db *db, const struct conf *conf, struct uuid media_id, struct uuid ingest_id, const char *generation)
{
	struct plan p = { .db = db, .ingest_id = ingest_id, .generation = generation };
	size_t i;

	p.asset = db_row(db, &subject_record, SUBJECT, ARGS(ID(media_id)));
	if (p.asset == NULL)
		return;
	p.translates = translates(db, conf, p.asset);
	note_all(&p);
	for (i = 0; i < p.n; i++)
		add(&p, &p.todo[i]);
}

/* Is there a step for each word, and something in the file for the step? */
static bool
all_are_of(const struct subject *a, const struct strings *makes)
{
	const struct plan_step *s;
	size_t i, k;

	for (i = 0; i < makes->n; i++) {
		for (k = 0; (s = plan_step(k)) != NULL; k++)
			if (s->makes != NULL && strcmp(s->makes, makes->at[i]) == 0 && s->of & found(a))
				break;
		if (s == NULL)
			return false;
	}
	return true;
}

/* Each call may name other languages: an asset would get any number of them. */
static bool
too_many_languages(const struct plan *p)
{
	int64_t n = db_number(p->db, "SELECT COUNT(*) FROM jobs WHERE ingest_id = ? AND kind = 'transcribe' AND "
	    "replaced_by IS NULL", ARGS(ID(p->ingest_id)), 0), more = 0;
	size_t i;

	for (i = 0; i < p->n; i++)
		more += per_language(p->todo[i].step) && p->todo[i].n_older == 0;
	return more > 0 && n + more > PLAN_LANGUAGES;
}

bool
plan_is_running(struct db *db, struct uuid media_id)
{
	const struct older *jobs;
	size_t n, i;

	jobs = db_rows(db, &older_record, "FROM jobs t WHERE t.ingest_id = (SELECT m.ingest_job_id FROM media m WHERE "
	    "m.id = ?) AND t.replaced_by IS NULL FOR UPDATE", ARGS(ID(media_id)), &n);
	for (i = 0; i < n; i++)
		if (!job_is_final(jobs[i].state))
			return true;
	return false;
}

enum rerun
plan_rerun(struct db *db, const struct conf *conf, struct uuid media_id, struct strings makes, struct strings languages)
{
	struct plan p = { .db = db, .anew = true, .makes = makes, .languages = languages };
	const struct subject *a;
	size_t i;

	a = p.asset = db_row(db, &subject_record, SUBJECT " AND t.deleted_at = 0 FOR UPDATE", ARGS(ID(media_id)));
	if (a == NULL)
		return RERUN_NO_ASSET;
	p.generation = uuid_text(db_arena(db), a->ingest_job_id);
	p.ingest_id = a->ingest_job_id;
	if (strcmp(a->status, "ready") != 0 || a->generation == NULL || strcmp(a->generation, p.generation) != 0)
		return RERUN_OVER;
	if (!all_are_of(a, &makes))
		return RERUN_NOTHING;
	p.translates = translates(db, conf, a);
	note_all(&p);
	if (p.n == 0)
		return RERUN_NOTHING;
	for (i = 0; i < p.n; i++)
		if (!find_older(&p, &p.todo[i]) && !may_follow_itself(&p, p.todo[i].step))
			return RERUN_RUNNING;
	if (too_many_languages(&p))
		return RERUN_LANGUAGES;
	for (i = 0; i < p.n; i++) {
		replace(&p, &p.todo[i]);
		add(&p, &p.todo[i]);
	}
	asset_summarise(db, media_id, SUM_INGEST);
	return RERUN_ADDED;
}
