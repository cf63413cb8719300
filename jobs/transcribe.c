/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speech to text: the sound as samples, the engine, how far it can be believed, a transcript, and captions if it can.
 * Safe to run twice: the transcript of the same language is replaced in one transaction, files have names of their own.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/caption.h"
#include "media/quality.h"
#include "core/spoken.h"
#include "core/store.h"
#include "media/language.h"
#include "jobs/captions.h"
#include "jobs/engines/engine.h"
#include "jobs/heard.h"
#include "jobs/hints.h"
#include "jobs/reading.h"
#include "jobs/samples.h"
#include "jobs/step.h"
#include "jobs/translated.h"

/* A phrase of up to so many words, so often in a row, was never said. */
enum { PHRASE_MAX = 6, REPEATS_MAX = 4 };

/* Transcripts in a language, which is bound twice: auto are those whose language a machine has told of the sound. */
#define IN_LANGUAGE "(t.language_code = ? OR (? = '" SPOKEN_ANY "' AND t.source = 'machine' AND JSON_VALUE(t.language_origin, " \
	"'$.by') = 'machine'))"

/* What the job needs to know of the asset, and of the transcript that is there. */
struct subject { const char *language_code; };
static const struct field subject_fields[] = {
	FIELD(struct subject, language_code, .doc = "Tag of what is said"),
};
static const struct record subject_record = RECORD("subject", struct subject, subject_fields);

struct older { struct uuid id; const char *source, *status, *captions; struct json paragraphs; };
static const struct field older_fields[] = {
	FIELD(struct older, id, .doc = "Of the transcript"),
	FIELD(struct older, source, .doc = "Who made it"),
	FIELD(struct older, status, .doc = "State"),
	FIELD(struct older, captions, .doc = "Whether players show it"),
	FIELD(struct older, paragraphs, .doc = "Its text"),
};
static const struct record older_record = RECORD("older", struct older, older_fields);

/* All that was heard so far. */
struct notes {
	struct job *job;
	const char *engine;			/* name and version */
	struct allowance_use use;		/* of the latest request */
	struct segment *segments;
	size_t n, room;
};

enum outcome
engine_fail(struct hearing *h, enum reason reason, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	h->fault = (struct fault){ .reason = reason, .detail = arena_vprintf(h->mem, format, args) };
	va_end(args);
	return fault_is_final(&h->fault) ? GIVE_UP : RETRY;
}

struct segment
engine_copy(struct arena *mem, const struct segment *from)
{
	struct segment to = *from;
	struct word *w = arena_array(mem, from->words.n, sizeof(*w));
	size_t i;

	for (i = 0; i < from->words.n; i++) {
		w[i] = ((const struct word *)from->words.rows)[i];
		w[i].text = arena_copy(mem, w[i].text);
		w[i].source = "machine";
		w[i].reading = NULL;
	}
	to.text = arena_copy(mem, from->text);
	to.words.rows = w;
	return to;
}

/* How many times the phrase of `size` words at `at` is said in a row. */
static size_t
repeats(const struct word *w, size_t n, size_t at, size_t size)
{
	size_t times = 1, i;

	for (;; times++)
		for (i = 0; i < size; i++)
			if (at + (times + 1) * size > n || strcasecmp(w[at + i].text, w[at + times * size +
			    i].text) != 0)
				return times;
}

void
engine_drop_repetition(struct segment *s)
{
	struct word *w = s->words.rows;
	size_t kept = 0, at = 0, size, times = 1;

	while (at < s->words.n) {
		for (size = 1; size <= PHRASE_MAX; size++)
			if ((times = repeats(w, s->words.n, at, size)) > REPEATS_MAX)
				break;
		if (size <= PHRASE_MAX)
			at += times * size;
		else
			w[kept++] = w[at++];
	}
	s->words.n = kept;
}

/* The same sentence again and again, as separate utterances. */
static bool
said_before(const struct notes *n, const char *text)
{
	size_t i;

	if (n->n < REPEATS_MAX)
		return false;
	for (i = n->n - REPEATS_MAX; i < n->n; i++)
		if (strcasecmp(n->segments[i].text, text) != 0)
			return false;
	return true;
}

static void
note_segment(void *user, const struct segment *heard)
{
	struct notes *n = user;
	struct segment s = engine_copy(n->job->mem, heard), *more;

	engine_drop_repetition(&s);
	if (s.words.n == 0 || said_before(n, s.text))
		return;
	if (n->n == n->room) {
		n->room = n->room == 0 ? 64 : n->room * 2;
		more = arena_array(n->job->mem, n->room, sizeof(*more));
		if (n->n > 0)
			memcpy(more, n->segments, n->n * sizeof(*more));
		n->segments = more;
	}
	n->segments[n->n++] = s;
}

static void
note_progress(void *user, int percent)
{
	struct notes *n = user;

	job_progress(n->job, SAMPLES_SHARE + percent * (100 - SAMPLES_SHARE) / 100);
}

static bool
may_ask(void *user, struct fault *fault)
{
	struct notes *n = user;

	n->use = (struct allowance_use){ .family = ENGINE_transcribe };
	return engine_may_cost(n->job, &n->use, fault);
}

static void
note_asked(void *user, int requests, bool failed)
{
	struct notes *n = user;

	n->use.requests = requests;
	n->use.failed = failed;
	engine_cost(n->job, &n->use);
}

static const char *
known(void *user, struct arena *mem, struct span span)
{
	struct notes *n = user;

	return heard_find(n->job, mem, n->engine, span);
}

static void
note_answer(void *user, struct span span, const char *answer)
{
	struct notes *n = user;

	heard_keep(n->job, n->engine, span, answer);
}

/*
 * What a person has decided about the captions of the transcript that goes.  That there be none holds for whatever
 * comes; that they be shown holds for the words that the person has read.
 */
static const char *
decision(struct job *j, const struct older *old, const struct list *paragraphs)
{
	struct list before;
	const struct paragraph *a, *b = paragraphs->rows;
	size_t i;

	if (old == NULL || strcmp(old->captions, "published") != 0)
		return old == NULL ? "automatic" : old->captions;
	before = record_parse_list(j->mem, &paragraph_record, old->paragraphs.text);
	a = before.rows;
	if (before.n != paragraphs->n)
		return "automatic";
	for (i = 0; i < before.n; i++)
		if (strcmp(a[i].text, b[i].text) != 0)
			return "automatic";
	return "published";
}

/* Of a transcript whose row is there.  Those that only a person can have wanted have no file yet. */
static void
list_captions(struct job *j, const struct transcript *t, const struct older *old, const struct caption *written)
{
	struct job_place place = { .tenant_id = j->tenant_id, .media_id = j->media_id };
	struct uuid gone = { { 0 } };
	bool shown = quality_shows(t);

	if (old != NULL)
		gone = old->id;
	caption_replace(j->db, j->tenant_id, j->media_id, gone, shown && written->file != NULL ? written : NULL);
	if (!shown && written->file != NULL)
		step_unwanted(j, store_key_play(j->mem, j->media_id, written->file));
	if (shown && written->file == NULL)
		job_add(j->db, captions, place, .media_id = j->media_id, .transcript_id = t->id);
}

/* Such words are never replaced: they may have come while an engine was listening. */
static bool
is_of_people(const struct older *old)
{
	return strcmp(old->status, "completed") == 0 && strcmp(old->source, "machine") != 0;
}

/* Everything in one transaction: the row instead of the older one, the captions, the event, the end of the old
 * file. */
static enum outcome
store_transcript(struct job *j, struct transcript *t, const struct list *paragraphs)
{
	const struct older *old;
	struct caption c = { .file = NULL };
	const char *spoken;

	t->captions = "automatic";
	if (quality_shows(t) && !captions_write(j, t, paragraphs, &c))
		return step_not_stored(j, "The captions");
	if (!job_resume(j))
		return RETRY;
	heard_forget(j->db, j->id);
	old = db_row(j->db, &older_record, "FROM transcripts t WHERE t.media_id = ? AND t.language_code = ? FOR UPDATE",
	    ARGS(ID(j->media_id), STR(t->language_code)));
	if (old != NULL && is_of_people(old)) {
		if (c.file != NULL)
			step_unwanted(j, store_key_play(j->mem, j->media_id, c.file));
		return DONE;
	}
	t->captions = decision(j, old, paragraphs);
	if (old != NULL)
		db_run(j->db, "DELETE FROM transcripts WHERE id = ?", ARGS(ID(old->id)));
	db_insert(j->db, "transcripts", &transcript_record, t);
	list_captions(j, t, old, &c);
	/* A translation says nothing of the language that is spoken; silence and what may be nonsense neither. */
	spoken = t->no_speech || (t->quality != NULL && strcmp(t->quality, "unreliable") == 0) ||
	    strcmp(t->language_code, LANGUAGE_UNKNOWN) == 0 || !spoken_names(t->language_code) ? NULL :
	    t->language_code;
	db_run(j->db, "UPDATE media SET language_code = COALESCE(language_code, ?) WHERE id = ?", ARGS(STR(spoken),
	    ID(j->media_id)));
	metadata_changed(j->db, j->media_id, "transcripts");
	return DONE;
}

/* The language of what was heard, and who says so.  What neither engine nor text tell is "und". */
static void
name_language(struct job *j, const struct hearing *h, const struct list *paragraphs, struct transcript *t)
{
	const struct transcribe_args *in = j->in;
	struct language_guess guess;

	t->language_code = h->language;
	if (strcasecmp(h->language, SPOKEN_ANY) != 0) {
		if (in->language_code != NULL)
			t->language_origin.text = language_origin(j->mem, "human", NULL, 0);
		return;
	}
	if (h->told != NULL) {
		t->language_code = h->told;
		t->language_origin.text = language_origin(j->mem, "machine", t->engine, h->told_confidence);
		return;
	}
	guess = language_guess_said(j->mem, paragraphs);
	t->language_code = guess.tag != NULL ? guess.tag : LANGUAGE_UNKNOWN;
	t->language_origin.text = language_origin(j->mem, "machine", LANGUAGE_GUESSER, guess.share);
}

/* From what was heard to the row.  What may be nonsense is kept too, and says so. */
static enum outcome
conclude(struct job *j, const struct engine *engine, const struct hearing *h, const struct notes *n)
{
	struct transcript t = { .id = uuid_new(), .media_id = j->media_id,
	    .source = "machine", .engine = engine->version(j->mem, j->conf), .status = "completed", .version = 1,
	    .created_at = moment_now() };
	struct list paragraphs = transcript_paragraphs(j->mem, n->segments, n->n);
	struct quality q = quality_of(j->mem, &paragraphs);

	name_language(j, h, &paragraphs, &t);
	t.reading_engine = reading_make(j, &paragraphs, transcript_language(t.language_code), h->hints);
	t.confidence = q.confidence;
	t.quality = q.grade;
	t.no_speech = paragraphs.n == 0;
	t.cue_count = (struct number){ transcript_cues(j->mem, &paragraphs), true };
	t.paragraphs.text = transcript_json(j->mem, &paragraphs);
	t.updated_at = t.created_at;
	job_log(j, "%s: %zu utterances, mean confidence %.2f, %s", t.engine, n->n, t.confidence,
	    t.no_speech ? "no speech" : t.quality != NULL ? t.quality : "not graded");
	return store_transcript(j, &t, &paragraphs);
}

/*
 * What the same engine has heard in another asset of the tenant that is the same file, byte by byte, is what it would
 * hear again; any of them will do.  Not what people have changed since, nor who speaks, nor where a paragraph was
 * parted for that: people of the other asset's channels may have said so.
 */
static const struct transcript *
heard_before(struct job *j, const struct engine *engine, const char *language)
{
	return db_row(j->db, &transcript_record, "FROM transcripts t JOIN media m ON m.id = t.media_id JOIN media mine "
	    "ON mine.tenant_id = m.tenant_id AND mine.sha256 = m.sha256 AND mine.file_size = m.file_size WHERE "
	    "mine.id = ? AND m.id <> mine.id AND m.deleted_at = 0 AND " IN_LANGUAGE " AND t.engine = ? AND "
	    "t.source = 'machine' AND t.status = 'completed' LIMIT 1", ARGS(ID(j->media_id),
	    STR(language), STR(language), STR(engine->version(j->mem, j->conf))));
}

static enum outcome
copy(struct job *j, const struct transcript *from, const struct hints *hints)
{
	struct transcript t = *from;
	const struct list heard = record_parse_list(j->mem, &paragraph_record, from->paragraphs.text);
	const struct paragraph *p = heard.rows;
	struct segment *segments = arena_array(j->mem, heard.n, sizeof(*segments));
	struct list paragraphs;
	size_t i;

	t.id = uuid_new();
	t.media_id = j->media_id;
	t.version = 1;
	t.created_at = t.updated_at = moment_now();
	for (i = 0; i < heard.n; i++)
		segments[i] = (struct segment){ .start = p[i].start, .end = p[i].end, .text = p[i].text,
		    .words = p[i].words };
	paragraphs = transcript_paragraphs(j->mem, segments, heard.n);
	t.reading_engine = reading_make(j, &paragraphs, transcript_language(t.language_code), hints);
	t.cue_count = (struct number){ transcript_cues(j->mem, &paragraphs), true };
	t.paragraphs.text = transcript_json(j->mem, &paragraphs);
	/* Not that it is a copy: that there is the same file elsewhere is not for all who see this asset. */
	job_log(j, "%s: %zu paragraphs, mean confidence %.2f", t.engine, paragraphs.n, t.confidence);
	return store_transcript(j, &t, &paragraphs);
}

/* English made of another transcript is what it is about, and no more. */
static enum outcome
translate(struct job *j, struct translated *from)
{
	const struct transcribe_args *in = j->in;
	struct transcript t = { .id = uuid_new(), .media_id = j->media_id, .language_code = SPOKEN_TRANSLATED,
	    .source = "machine", .engine = from->engine, .status = "completed", .version = 1,
	    .created_at = moment_now() };
	enum outcome outcome;

	job_pause(j);
	outcome = translated_make(j, from);
	if (outcome != DONE)
		return job_fault(j, &from->fault);
	if (in->language_code != NULL)
		t.language_origin.text = language_origin(j->mem, "human", NULL, 0);
	t.quality = "draft";
	t.no_speech = from->paragraphs.n == 0;
	t.cue_count = (struct number){ transcript_cues(j->mem, &from->paragraphs), true };
	t.paragraphs.text = transcript_json(j->mem, &from->paragraphs);
	t.updated_at = t.created_at;
	return store_transcript(j, &t, &from->paragraphs);
}

/* What the engine does not know may be made of what is there. */
static enum outcome
unknown(struct job *j, const struct engine *engine, const char *language)
{
	struct translated from;

	if (strcmp(language, SPOKEN_TRANSLATED) == 0 && translated_find(j, &from))
		return translate(j, &from);
	if (engine == NULL) {
		job_log(j, "nothing is to listen");
		return DONE;
	}
	return job_give_up(j, REASON_LANGUAGE_UNAVAILABLE, "The engine %s %s.",
	    strcasecmp(language, SPOKEN_ANY) == 0 ? "cannot tell languages apart, as it would have to for" :
	    "does not know the language", language);
}

enum outcome
transcribe_run(struct job *j)
{
	const struct transcribe_args *in = j->in;
	const struct engine *engine = engine_for(j, ENGINE_transcribe);
	struct notes n = { .job = j };
	struct hearing h = { .mem = j->mem, .conf = j->conf, .heard = note_segment, .progress = note_progress,
	    .may_ask = may_ask, .asked = note_asked, .known = known, .answered = note_answer, .user = &n };
	const struct subject *media = db_row(j->db, &subject_record, "FROM media t WHERE t.id = ?",
	    ARGS(ID(j->media_id)));
	const struct transcript *before;
	const struct older *old;
	enum outcome outcome;

	if (media == NULL)
		return job_give_up(j, REASON_ASSET_GONE, "The asset is not there any more.");
	h.language = in->language_code != NULL ? in->language_code :
	    media->language_code != NULL ? media->language_code : spoken_known(j->conf, SPOKEN_ANY) ? SPOKEN_ANY : "en";
	old = db_row(j->db, &older_record, "FROM transcripts t WHERE t.media_id = ? AND " IN_LANGUAGE " LIMIT 1",
	    ARGS(ID(j->media_id), STR(h.language), STR(h.language)));
	/* A machine's words are replaced only when that is asked for. */
	if (old != NULL && strcmp(old->status, "completed") == 0 && (is_of_people(old) || !in->anew))
		return DONE;
	if (engine == NULL || !engine->knows(j->conf, h.language))
		return unknown(j, engine, h.language);
	n.engine = engine->version(j->mem, j->conf);
	before = in->anew ? NULL : heard_before(j, engine, h.language);
	h.hints = hints_read(j);
	h.work_dir = j->work_dir;
	step_dead(j);
	job_pause(j);
	if (before != NULL)
		return copy(j, before, h.hints);
	outcome = samples_make(j, &h.pcm, &h.length);
	if (outcome != DONE)
		return outcome;
	outcome = engine_hear(engine, &h);
	close(h.pcm);
	if (h.note != NULL)
		job_log(j, "%s", h.note);
	if (outcome == DONE)
		return conclude(j, engine, &h, &n);
	return job_fault(j, &h.fault);
}
