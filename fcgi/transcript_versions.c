/* SPDX-License-Identifier: GPL-3.0-or-later */
/* …/transcripts/{transcriptId}/versions: the words that it had, who has changed them, and the way back */
#include <string.h>

#include "core/speakers.h"
#include "fcgi/asset_view.h"
#include "fcgi/transcripts.h"
#include "media/quality.h"
#include "media/speaking.h"

/* Versions of a transcript, and bytes that are read to make one of them: the oldest go.  STEP_MEMORY: for one step. */
enum { VERSIONS_MAX = 500, UNDO_MAX = 24 << 20, STEP_MEMORY = 64 << 20 };

struct transcript_version {
	struct uuid id, transcript_id, principal_id;
	int64_t version, changed, size;
	const char *origin, *principal_name, *was;
	struct number restored_version;
	struct nested changed_by;
	struct list paragraphs;
	struct moment created_at;
};
static const struct field version_fields[] = {
	FIELD(struct transcript_version, id, .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct transcript_version, transcript_id, .on = SERVER, .required = true, .doc = "The transcript"),
	FIELD(struct transcript_version, version, .on = SERVER | SORT, .required = true, .doc = "The version of the transcript that had these words first"),
	FIELD(struct transcript_version, origin, .on = SERVER, .required = true,
	    .one_of = "transcribed uploaded edited restored aligned", .doc = "How they came"),
	FIELD(struct transcript_version, restored_version, .on = SERVER | OMIT_NULL,
	    .doc = "Of restored: the version whose words they are"),
	FIELD(struct transcript_version, changed_by, .on = COMPUTED, .of = &reference_record,
	    .doc = "Who has changed them, by the name of then; null: nobody, they were the first"),
	FIELD(struct transcript_version, changed, .on = SERVER, .required = true,
	    .doc = "How many paragraphs of the version before are others, or gone"),
	FIELD(struct transcript_version, paragraphs, .on = COMPUTED | DETAIL, .required = true, .of = &paragraph_record,
	    .doc = "The text in order; left out of lists"),
	FIELD(struct transcript_version, created_at, .on = SERVER, .required = true, .doc = "When they came"),
	FIELD(struct transcript_version, principal_id, .on = SERVER | HIDDEN, .doc = "Who"),
	FIELD(struct transcript_version, principal_name, .on = SERVER | HIDDEN, .doc = "Its name"),
	FIELD(struct transcript_version, size, .on = SERVER | HIDDEN, .doc = "Bytes of was"),
	FIELD(struct transcript_version, was, .on = SERVER | HIDDEN | DETAIL, .doc = "The way back"),
};
static const struct record version_record = RECORD("TranscriptVersion", struct transcript_version, version_fields);

struct alignment { const char *text; };
static const struct field alignment_fields[] = {
	FIELD(struct alignment, text, .on = CREATE | MULTILINE, .min = 1, .max = 800000,
	    .doc = "What is said: a blank line begins a paragraph, and without one they are found. Left out: the "
	    "words of the transcript"),
};
static const struct record alignment_record = RECORD("TranscriptAlignment", struct alignment, alignment_fields);

static void
complete(struct req *r, struct transcript_version *v)
{
	struct reference *by;

	if (v->principal_name == NULL)
		return;
	by = NEW(r->mem, struct reference);
	*by = (struct reference){ v->principal_id, v->principal_name };
	v->changed_by.row = by;
}

static int
versions_list(struct req *r)
{
	struct transcript_version *rows;
	size_t n, i;

	if (r->page.sort == NULL)
		r->page.sort = "version:desc";
	rows = db_list(r->db, &version_record, "FROM transcript_versions t WHERE t.transcript_id = ?",
	    ARGS(ID(r->id[1])), &r->page, &n);
	for (i = 0; i < n; i++)
		complete(r, &rows[i]);
	return reply_list(r, &version_record, rows, n);
}

static void
free_arena(void *arena)
{
	arena_free(arena);
}

/* What the paragraphs were before all of these changes, the last first.  Each step needs what the one before has left,
 * and no more: they take turns in two places. */
static struct list
undone(struct req *r, struct list paragraphs, const struct transcript_version *rows, size_t n)
{
	struct arena *place[2] = { arena_new(STEP_MEMORY), arena_new(STEP_MEMORY) };

	arena_defer(r->mem, free_arena, place[0]);
	arena_defer(r->mem, free_arena, place[1]);
	for (size_t i = 0; i < n; i++) {
		const struct list undo = revision_parse(r->mem, rows[i].was);

		arena_reset(place[i % 2]);
		paragraphs = revision_undo(place[i % 2], &paragraphs, &undo);
	}
	return paragraphs;
}

/* The version of the path with its words: those of the transcript, step by step back.  NULL: there is none. */
static struct transcript_version *
find(struct req *r)
{
	const struct transcript *t = r->object;
	const char *word = r->word[0];
	struct transcript_version *rows;
	int64_t wanted = 0;
	size_t n, i;

	for (i = 0; word[i] >= '0' && word[i] <= '9' && i < 15; i++)
		wanted = wanted * 10 + word[i] - '0';
	if (i == 0 || word[i] != '\0' || word[0] == '0')
		return NULL;
	rows = db_rows(r->db, &version_record, "FROM transcript_versions t WHERE t.transcript_id = ? AND t.version >= "
	    "? ORDER BY t.version DESC", ARGS(ID(t->id), INT(wanted)), &n);
	if (n == 0 || rows[n - 1].version != wanted)
		return NULL;
	rows[n - 1].paragraphs = undone(r, record_parse_list(r->mem, &paragraph_record, t->paragraphs.text), rows,
	    n - 1);
	complete(r, &rows[n - 1]);
	return &rows[n - 1];
}

static int
version_get(struct req *r)
{
	struct transcript_version *v = find(r);
	struct list speakers;

	if (v == NULL)
		return refuse(r, ERR_NOT_FOUND, "The transcript has no such version.");
	speakers = speakers_of(r->db, r->conf, r->id[0], ((const struct transcript *)r->object)->language_code);
	speaking_name(&v->paragraphs, &speakers);
	return reply(r, 200, &version_record, v);
}

static int
version_restore(struct req *r)
{
	const struct transcript *old = r->object;
	const struct transcript_version *v = find(r);
	struct transcript t = *old;
	struct revision revision;
	struct list now;

	if (v == NULL)
		return refuse(r, ERR_NOT_FOUND, "The transcript has no such version.");
	now = record_parse_list(r->mem, &paragraph_record, old->paragraphs.text);
	revision = revision_replace(r->mem, &now, &v->paragraphs);
	if (revision.undo.n > 0) {
		t.source = "human";
		if (!transcript_revise(r, old, &t, &revision))
			return refuse(r, ERR_INVALID, NULL);
		transcript_keep(r, old, &revision, "restored", v->version);
		transcript_changed(r, &t);
	}
	return transcript_reply(r, object_again(r));
}

/* The words that were heard: those of a machine, as far as the history has them, or those that there are. */
static struct list
heard(struct req *r)
{
	const struct transcript *t = r->object;
	const struct list now = record_parse_list(r->mem, &paragraph_record, t->paragraphs.text);
	const int64_t version = db_number(r->db, "SELECT MAX(version) FROM transcript_versions WHERE transcript_id = ? "
	    "AND origin = 'transcribed'", ARGS(ID(t->id)), 0);
	const struct transcript_version *rows;
	size_t n;

	if (version == 0)
		return now;
	rows = db_rows(r->db, &version_record, "FROM transcript_versions t WHERE t.transcript_id = ? AND t.version > ? "
	    "ORDER BY t.version DESC", ARGS(ID(t->id), INT(version)), &n);
	return undone(r, now, rows, n);
}

static bool
is_alignable(struct req *r, const struct list *words, const char *text)
{
	const size_t n = text != NULL ? transcript_count(text) : 1;

	if (words->n == 0)
		fault(r, "", "not_allowed", "nothing was heard that a text could be aligned to");
	else if (n == 0)
		fault(r, "/text", "no_text", "there is no word in it");
	else if (n > TRANSCRIPT_WORDS)
		fault(r, "/text", "too_long", "a text may have %d words", TRANSCRIPT_WORDS);
	return r->faults.n == 0;
}

static int
transcript_align_words(struct req *r)
{
	const struct transcript *old = r->object;
	const struct alignment *in = r->in;
	const struct list now = record_parse_list(r->mem, &paragraph_record, old->paragraphs.text), words = heard(r);
	const struct list speakers = speakers_of(r->db, NULL, r->id[0], "en");
	struct transcript t = *old;
	struct revision revision;
	size_t matched;

	if (!is_alignable(r, &words, in->text))
		return refuse(r, ERR_INVALID, NULL);
	revision = revision_align(r->mem, &now, &words, in->text, db_number(r->db, "SELECT duration FROM media WHERE "
	    "id = ?", ARGS(ID(r->id[0])), 0), &matched);
	if (matched == 0) {
		fault(r, in->text != NULL ? "/text" : "", "not_allowed", "no word of it was heard");
		return refuse(r, ERR_INVALID, NULL);
	}
	if (revision.undo.n > 0) {
		if (speakers.n > 0)
			revision.paragraphs = speaking_assign(r->mem, &revision.paragraphs, &speakers, false);
		t.source = "human";
		if (!transcript_revise(r, old, &t, &revision))
			return refuse(r, ERR_INVALID, NULL);
		transcript_keep(r, old, &revision, "aligned", 0);
		transcript_changed(r, &t);
	}
	return transcript_reply(r, object_again(r));
}

/* What people have written is as sure as can be. */
static struct quality
quality_with_people(struct req *r, const struct list *paragraphs)
{
	struct list sure = { arena_array(r->mem, paragraphs->n, sizeof(struct paragraph)), paragraphs->n };
	struct paragraph *p = sure.rows;
	bool machine = false;
	size_t i, k;

	for (i = 0; i < sure.n; i++) {
		struct word *w;

		p[i] = ((const struct paragraph *)paragraphs->rows)[i];
		w = arena_array(r->mem, p[i].words.n, sizeof(*w));
		for (k = 0; k < p[i].words.n; k++) {
			w[k] = ((const struct word *)p[i].words.rows)[k];
			machine |= w[k].confidence > 0;
			if (strcmp(w[k].source, "machine") != 0) {
				w[k].source = "machine";
				w[k].confidence = 1;
			}
		}
		p[i].words.rows = w;
	}
	return machine ? quality_of(r->mem, &sure) : (struct quality){ NULL, 0 };
}

uint64_t
transcript_members(void)
{
	static const char *const names[] = { "language_origin", "source", "engine", "reading_engine", "status", "error",
	    "quality", "captions", "no_speech", "confidence", "paragraphs", "cue_count" };
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		bits |= record_bit(&transcript_record, names[i]);
	return bits;
}

bool
transcript_revise(struct req *r, const struct transcript *old, struct transcript *t, const struct revision *revision)
{
	const struct quality q = quality_with_people(r, &revision->paragraphs);

	t->paragraphs.text = transcript_json(r->mem, &revision->paragraphs);
	if (strlen(t->paragraphs.text) > TRANSCRIPT_BYTES) {
		fault(r, "", "too_long", "the words of the transcript are too long");
		return false;
	}
	t->quality = q.grade;
	t->confidence = q.confidence;
	t->no_speech = revision->paragraphs.n == 0;
	t->cue_count = (struct number){ transcript_cues(r->mem, &revision->paragraphs), true };
	db_update(r->db, "transcripts", &transcript_record, t, record_differs(r->mem, &transcript_record, old, t,
	    transcript_members()), t->id);
	return true;
}

/* The newest stay: of each that stays, the way from now to it can be read. */
static void
forget_oldest(struct req *r, struct uuid transcript_id)
{
	struct transcript_version *rows;
	int64_t size = 0;
	size_t n, i;

	rows = db_rows_brief(r->db, &version_record, "FROM transcript_versions t WHERE t.transcript_id = ? ORDER BY "
	    "t.version DESC", ARGS(ID(transcript_id)), &n);
	for (i = 0; i < n && i < VERSIONS_MAX && size <= UNDO_MAX; i++)
		size += rows[i].size;
	if (i < n)
		db_run(r->db, "DELETE FROM transcript_versions WHERE transcript_id = ? AND version <= ?",
		    ARGS(ID(transcript_id), INT(rows[i].version)));
}

void
transcript_keep(struct req *r, const struct transcript *old, const struct revision *revision, const char *origin,
    int64_t restored_version)
{
	const char *undo = revision_store(r->mem, &revision->undo);
	const struct transcript_version first = { .id = uuid_new(), .transcript_id = old->id, .version = old->version,
	    .origin = strcmp(old->source, "machine") == 0 ? "transcribed" : strcmp(old->source, "import") == 0 ?
	    "uploaded" : "edited", .created_at = old->created_at },
	    next = { .id = uuid_new(), .transcript_id = old->id, .version = old->version + 1, .origin = origin,
	    .restored_version = { restored_version, restored_version > 0 }, .principal_id = r->who->id,
	    .principal_name = r->who->name, .changed = revision->changed, .was = undo,
	    .size = (int64_t)strlen(undo), .created_at = r->now };

	if (db_number(r->db, "SELECT 1 FROM transcript_versions WHERE transcript_id = ? LIMIT 1", ARGS(ID(old->id)),
	    0) == 0)
		db_insert(r->db, "transcript_versions", &version_record, &first);
	db_insert(r->db, "transcript_versions", &version_record, &next);
	forget_oldest(r, old->id);
}

#define VERSIONS "/v2/media/{mediaId}/metadata/transcripts/{transcriptId}/versions"

const struct route transcript_versions_routes[] = {
	{
		GET, VERSIONS, SCOPE_VIEW_METADATA, versions_list, NULL, &version_record,
		"List the versions of a transcript that people have changed, the newest first; none: its words are the "
		"first",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		GET, VERSIONS "/{version}", SCOPE_VIEW_METADATA, version_get, NULL, &version_record,
		"Get the words that a transcript had in a version",
		.flags = BELOW, .fails = "403 404",
	},
	{
		PUT, VERSIONS "/{version}/restore", SCOPE_CREATE_CONTENT, version_restore, NULL, &transcript_record,
		"Give a transcript the words of an older version again, which makes a new one",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 412 422",
	},
	{
		PUT, "/v2/media/{mediaId}/metadata/transcripts/{transcriptId}/align", SCOPE_CREATE_CONTENT,
		transcript_align_words, &alignment_record, &transcript_record,
		"Give a text, or the words of the transcript, the times at which they were heard, which makes a new version: "
		"words that were heard keep what is known of them, others get the time between and are marked as estimated",
		.flags = CONDITIONAL | OPTIONAL_BODY, .fails = "403 404 412 422", .max_body = 4 << 20,
		.id = "alignMediaTranscript",
	},
	{ 0 }
};
