/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/metadata: what was found out about an asset, except what is said (transcripts.c) */
#include <string.h>

#include "core/gist.h"
#include "core/plan.h"
#include "fcgi/asset_view.h"
#include "fcgi/transcripts.h"
#include "media/speaking.h"

#define KINDS "summarySentences entities keywords speakers videoTexts imageTexts documentContent scenes labels file"

struct part { int64_t count; const char *engine; struct json items; };
static const struct field part_fields[] = {
	FIELD(struct part, count, .required = true, .doc = "How many there are"),
	FIELD(struct part, engine, .on = OMIT_NULL, .doc = "Name and version of what has made it; left out as long as nothing has"),
	FIELD(struct part, items, .on = OMIT_NULL, .format = "array", .doc = "The things themselves, as an array, when expand names the kind"),
};
static const struct record part_record = RECORD("MetadataPart", struct part, part_fields);

struct metadata {
	const char *status, *summary;
	struct nested summary_sentences;
	struct nested entities, keywords, speakers, video_texts, image_texts, document_content, scenes, labels, file;
};
static const struct field metadata_fields[] = {
	FIELD(struct metadata, status, .required = true, .one_of = "queued running completed failed", .doc = "State of the analysis as a whole"),
	FIELD(struct metadata, summary, .on = OMIT_NULL, .doc = "What it says, in sentences of its own; left out where it has too few"),
	FIELD(struct metadata, summary_sentences, .required = true, .of = &part_record,
	    .doc = "The sentences of the summary: text, confidence, and start and end, or page"),
	FIELD(struct metadata, entities, .required = true, .of = &part_record,
	    .doc = "Who and what is named, the most frequent first: name, category (person, organisation, place, date, "
	    "amount, email, url, or term: a word of the tenant's glossary, a tag, a channel), confidence, count, and "
	    "instances with start and end, or page"),
	FIELD(struct metadata, keywords, .required = true, .of = &part_record,
	    .doc = "Words and phrases that tell it from others, the best first: name, score (the "
	    "best has 1), confidence (how sure it is that they are there), count, and instances with start and end, or "
	    "page"),
	FIELD(struct metadata, speakers, .required = true, .of = &part_record,
	    .doc = "Who speaks, where voices are told apart: id, number, label, duration, and instances with start and "
	    "end"),
	FIELD(struct metadata, video_texts, .required = true, .of = &part_record,
	    .doc = "Lines of text seen in the video: text, confidence, and instances with start, end and box, whose x, "
	    "y, width and height are shares of the picture"),
	FIELD(struct metadata, image_texts, .required = true, .of = &part_record,
	    .doc = "Lines of text seen in the picture: text, confidence, box"),
	FIELD(struct metadata, document_content, .required = true, .of = &part_record,
	    .doc = "Text of the pages: page, text; and engine and confidence, where a page has no text of its own and "
	    "was read as a picture"),
	FIELD(struct metadata, scenes, .required = true, .of = &part_record, .doc = "Shots of the video: start, end"),
	FIELD(struct metadata, labels, .on = OMIT_NULL, .of = &part_record,
	    .doc = "What pictures show, told by a model of a server: name, category (object, action or label: what the "
	    "whole is), and instances with start and end, of the scenes where it is seen; left out as long as no such server has "
	    "looked"),
	FIELD(struct metadata, file, .required = true, .of = &part_record,
	    .doc = "Technical facts of the uploaded file, and what is written into it about it: title, caption, "
	    "creator, rights, keywords"),
};
static const struct record metadata_record = RECORD("Metadata", struct metadata, metadata_fields);

struct expand { struct strings expand; };
static const struct field expand_fields[] = {
	FIELD(struct expand, expand, .on = QUERY, .one_of = KINDS, .doc = "Kinds whose items are wanted"),
};
static const struct record expand_record = RECORD("MetadataExpand", struct expand, expand_fields);

struct extraction { struct strings transcription_language_codes, extract; };
static const struct field extraction_fields[] = {
	FIELD(struct extraction, transcription_language_codes, .on = CREATE, .min = 1, .max = 10,
	    .doc = "Languages to transcribe: BCP 47 tags, translate-en, or auto. Left out: those of the upload"),
	FIELD(struct extraction, extract, .on = CREATE, .min = 1, .max = 20, .one_of = PLAN_MAKES,
	    .doc = "What is to be made anew. Left out: all of it"),
};
static const struct record extraction_record = RECORD("MetadataExtraction", struct extraction, extraction_fields);

struct removed { const char *kind; };
static const struct field removed_fields[] = { FIELD(struct removed, kind, .doc = "As in expand") };
static const struct record removed_record = RECORD("RemovedMetadata", struct removed, removed_fields);

/* Stored data is {"pages":[…]}, {"items":[…]}, or one object that is the only item. */
struct counted { const char *kind, *engine; int64_t count; };
static const struct field counted_fields[] = {
	FIELD(struct counted, kind, .doc = "As in expand"),
	FIELD(struct counted, engine, .doc = "What has made it"),
	FIELD(struct counted, count, .sql = "COALESCE(JSON_LENGTH(t.data, '$.pages'), JSON_LENGTH(t.data, '$.items'), 1)", .doc = "Items"),
};
static const struct record counted_record = RECORD("Counted", struct counted, counted_fields);

struct expanded { const char *kind; struct json items; };
static const struct field expanded_fields[] = {
	FIELD(struct expanded, kind, .doc = "As in expand"),
	FIELD(struct expanded, items, .sql = "COALESCE(JSON_EXTRACT(t.data, '$.pages'), JSON_EXTRACT(t.data, "
	    "'$.items'), CONCAT('[', t.data, ']'))", .doc = "Items"),
};
static const struct record expanded_record = RECORD("Expanded", struct expanded, expanded_fields);

struct heard { struct uuid id; int64_t number; const char *label; struct position duration; struct list instances; };
static const struct field heard_fields[] = {
	FIELD(struct heard, id, .required = true, .doc = "Voice"),
	FIELD(struct heard, number, .required = true, .doc = "From 1, by who is heard first"),
	FIELD(struct heard, label, .on = OMIT_NULL, .doc = "Its name, once somebody has said who it is"),
	FIELD(struct heard, duration, .required = true, .doc = "How long in all"),
	FIELD(struct heard, instances, .required = true, .of = &turn_record, .doc = "When"),
};
static const struct record heard_record = RECORD("MetadataSpeaker", struct heard, heard_fields);

/* As clients see it. */
static const char *
status_of(const char *ingest_status)
{
	if (strcmp(ingest_status, "succeeded") == 0)
		return "completed";
	return strcmp(ingest_status, "cancelled") == 0 ? "failed" : ingest_status;
}

static struct part *
part_of(struct metadata *m, const char *kind)
{
	size_t i;

	for (i = 0; i < metadata_record.n; i++) {
		const struct field *f = &metadata_fields[i];

		if (f->kind == KIND_NESTED && strcmp(record_json_name(&metadata_record, f), kind) == 0)
			return ((struct nested *)(void *)((char *)m + f->offset))->row;
	}
	return NULL;
}

/* Every kind is there, with nothing in it until there is. */
static struct metadata *
metadata_new(struct req *r)
{
	struct metadata *m = NEW(r->mem, struct metadata);
	size_t i;

	for (i = 0; i < metadata_record.n; i++)
		if (metadata_fields[i].kind == KIND_NESTED)
			((struct nested *)(void *)((char *)m + metadata_fields[i].offset))->row = NEW(r->mem,
			    struct part);
	return m;
}

/* FIND_IN_SET needs a comma between. */
static const char *
joined(struct req *r, const struct strings *words)
{
	struct buf b = BUF(r->mem);
	size_t i;

	for (i = 0; i < words->n; i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "", words->at[i]);
	return buf_string(&b);
}

/* Kinds that were asked for and have nothing show an empty list. */
static void
expand(struct req *r, struct metadata *m, const struct strings *wanted)
{
	struct expanded *rows;
	struct part *p;
	size_t n, i;

	for (i = 0; i < wanted->n; i++)
		if ((p = part_of(m, wanted->at[i])) != NULL)
			p->items.text = "[]";
	rows = db_rows(r->db, &expanded_record, "FROM metadata t WHERE t.media_id = ? AND FIND_IN_SET(t.kind, ?) > 0",
	    ARGS(ID(r->id[0]), STR(joined(r, wanted))), &n);
	for (i = 0; i < n; i++)
		if ((p = part_of(m, rows[i].kind)) != NULL)
			p->items = rows[i].items;
}

/* They are rows of their own. */
static void
add_speakers(struct req *r, struct part *p, bool wanted)
{
	const struct list heard = speakers_of(r->db, NULL, r->id[0], "en"), all = speaking_shown(r->mem, &heard);
	const struct speaker *s = all.rows;
	struct buf b = BUF(r->mem);

	p->count = (int64_t)all.n;
	buf_char(&b, '[');
	for (size_t i = 0; i < all.n; i++) {
		const struct heard h = { s[i].speaker_id, s[i].number, speakers_label(&heard, &s[i]), s[i].duration,
		    s[i].turns };

		buf_text(&b, i > 0 ? "," : "");
		record_render(&b, &heard_record, &h, false);
	}
	buf_char(&b, ']');
	if (wanted)
		p->items.text = buf_string(&b);
}

static bool
is_wanted(const struct strings *wanted, const char *kind)
{
	for (size_t i = 0; i < wanted->n; i++)
		if (strcmp(wanted->at[i], kind) == 0)
			return true;
	return false;
}

static int
answer(struct req *r, const struct media_head *asset, const struct strings *wanted)
{
	struct metadata *m = metadata_new(r);
	struct counted *rows;
	struct part *p;
	size_t n, i;

	m->status = status_of(asset->ingest_status);
	r->etag = arena_printf(r->mem, "\"%lld-%lld\"", (long long)asset->version, (long long)asset->revision);
	rows = db_rows(r->db, &counted_record, "FROM metadata t WHERE t.media_id = ?", ARGS(ID(r->id[0])), &n);
	for (i = 0; i < n; i++)
		if ((p = part_of(m, rows[i].kind)) != NULL) {
			p->count = rows[i].count;
			p->engine = rows[i].engine;
		}
	m->summary = db_text(r->db, "SELECT JSON_UNQUOTE(JSON_EXTRACT(t.data, '$.text')) FROM metadata t WHERE "
	    "t.media_id = ? AND t.kind = 'summarySentences'", ARGS(ID(r->id[0])));
	if (wanted->n > 0)
		expand(r, m, wanted);
	if (((struct part *)m->labels.row)->engine == NULL)
		m->labels.row = NULL;
	add_speakers(r, part_of(m, "speakers"), is_wanted(wanted, "speakers"));
	return reply(r, 200, &metadata_record, m);
}

static int
metadata_get(struct req *r)
{
	const struct expand *in = r->in;

	return answer(r, r->object, &in->expand);
}

/* Languages are asked for in order to be transcribed. */
static struct strings
with_transcripts(struct req *r, const struct extraction *in)
{
	struct strings all = { arena_array(r->mem, in->extract.n + 1, sizeof(const char *)), 0 };
	bool missing = in->extract.n > 0 && in->transcription_language_codes.n > 0;

	for (; all.n < in->extract.n; all.n++) {
		all.at[all.n] = in->extract.at[all.n];
		missing = missing && strcmp(all.at[all.n], "transcripts") != 0;
	}
	if (missing)
		all.at[all.n++] = "transcripts";
	return all;
}

static int
metadata_extract(struct req *r)
{
	const struct extraction *in = r->in;
	struct strings makes = with_transcripts(r, in);

	asset_check_languages(r, "transcriptionLanguageCodes", &in->transcription_language_codes);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	switch (plan_rerun(r->db, r->conf, r->id[0], makes, in->transcription_language_codes)) {
	case RERUN_NO_ASSET:
		return refuse(r, ERR_NOT_FOUND, NULL);
	case RERUN_OVER:
		return refuse(r, ERR_INGEST_OVER, NULL);
	case RERUN_RUNNING:
		return refuse(r, ERR_INGEST_RUNNING, "What was asked for is queued or running already.");
	case RERUN_LANGUAGES:
		fault(r, "/transcriptionLanguageCodes", "too_many", "an asset has transcripts in %d languages at most",
		    PLAN_LANGUAGES);
		return refuse(r, ERR_INVALID, NULL);
	case RERUN_NOTHING:
		if (makes.n == 0)
			break;
		fault(r, "/extract", "not_allowed", "the asset has nothing that one of these could be made of");
		return refuse(r, ERR_INVALID, NULL);
	case RERUN_ADDED:
		break;
	}
	return answer(r, object_again(r), &(struct strings){ NULL, 0 });
}

static void
tell(struct req *r, const char *kind)
{
	event(r, r->id[0], "metadata.updated", arena_printf(r->mem, "{\"mediaId\":\"%s\",\"kind\":\"%s\"}",
	    uuid_text(r->mem, r->id[0]), kind));
}

/* Those that a machine has made, or tried to: of words that people have written or changed none are lost. */
static void
remove_transcripts(struct req *r)
{
	size_t n, i;
	const struct transcript *t = db_rows_brief(r->db, &transcript_record, "FROM transcripts t WHERE t.media_id = ? "
	    "AND t.source = 'machine'", ARGS(ID(r->id[0])), &n);

	for (i = 0; i < n; i++)
		transcript_remove(r, t[i].id);
}

static void
follow(void *req, const struct transcript *t)
{
	transcript_changed(req, t);
}

/* Paragraphs that stay are by those that people have told apart, or by nobody. */
static void
remove_speakers(struct req *r)
{
	const struct list all = speakers_of(r->db, NULL, r->id[0], "en");
	const struct speaker *s = all.rows;

	for (size_t i = 0; i < all.n; i++)
		if (!speakers_touched(r->db, r->id[0], &all, &s[i]))
			speakers_drop(r->db, s[i].speaker_id);
	if (all.n == 0)
		return;
	speaking_follow(r->db, r->id[0], follow, r);
	tell(r, "speakers");
}

/* The facts of the file are no analysis: what can be made of it follows from them. */
static void
remove_kinds(struct req *r)
{
	size_t n, i;
	const struct removed *k = db_rows(r->db, &removed_record, "FROM metadata t WHERE t.media_id = ? AND "
	    "t.kind <> 'file'", ARGS(ID(r->id[0])), &n);

	db_run(r->db, "DELETE FROM metadata WHERE media_id = ? AND kind <> 'file'", ARGS(ID(r->id[0])));
	for (i = 0; i < n; i++)
		tell(r, k[i].kind);
}

/* A step that has not ended would bring some of it back, and so would what follows words that change, these too.
 * Titles of chapters are words of what goes, so that these are made anew of what is left. */
static int
metadata_delete(struct req *r)
{
	if (plan_is_running(r->db, r->id[0]))
		return refuse(r, ERR_INGEST_RUNNING, NULL);
	if (gist_is_running(r->db, r->id[0]))
		return refuse(r, ERR_INGEST_RUNNING, "What its words are about is being made anew.");
	remove_kinds(r);
	remove_transcripts(r);
	remove_speakers(r);
	gist_cancel(r->db, r->id[0]);
	if (db_number(r->db, "SELECT COUNT(*) FROM chapters WHERE media_id = ? AND type = 'autogenerated'",
	    ARGS(ID(r->id[0])), 0) > 0)
		plan_rerun(r->db, r->conf, r->id[0], (struct strings){ (const char *[]){ "chapters" }, 1 },
		    (struct strings){ NULL, 0 });
	return reply_deleted(r, r->id[0], true);
}

const struct route metadata_routes[] = {
	{
		GET, "/v2/media/{mediaId}/metadata", SCOPE_VIEW_METADATA, metadata_get, &expand_record,
		&metadata_record,
		"Get the metadata of an asset; transcripts have their own place",
		.flags = BELOW | CONDITIONAL, .fails = "403 404 422",
	},
	{
		PUT, "/v2/media/{mediaId}/metadata", SCOPE_CREATE_CONTENT, metadata_extract, &extraction_record,
		&metadata_record,
		"Make metadata of an asset anew, and what builds on it; what is there stays until then",
		.flags = BELOW | CONDITIONAL | OPTIONAL_BODY, .fails = "403 404 409 412 422",
		.codes = "ingest_over ingest_running", .id = "extractMediaMetadata",
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}/metadata", SCOPE_CREATE_CONTENT, metadata_delete, NULL,
		&deleted_record,
		"Delete all that analyses have found out about an asset, for good, until it is made anew: the facts of the "
		"file stay, and so do transcripts that people have uploaded or changed; chapters are made anew of what is "
		"left",
		.flags = BELOW | CONDITIONAL, .fails = "403 404 412 422", .codes = "ingest_running",
	},
	{ 0 }
};
