/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/metadata/transcripts: what is said, and files of it */
#include <string.h>

#include "core/caption.h"
#include "core/job.h"
#include "media/docx.h"
#include "media/quality.h"
#include "media/speaking.h"
#include "fcgi/transcripts.h"

const struct object transcript_object = {
	.path = "/v2/media/{mediaId}/metadata/transcripts/{transcriptId}", .reach = REACH_BELOW_MEDIA,
	.record = &transcript_record,
	.from = "FROM transcripts t JOIN media a ON a.id = t.media_id WHERE a.id = ? AND t.id = ?",
};

enum { NAME_MAX_CHARACTERS = 100 };

static const struct form {
	const char *name, *type;
	enum transcript_form form;
} forms[] = {
	{ "json", "application/json", TRANSCRIPT_TXT },
	{ "txt", "text/plain; charset=utf-8", TRANSCRIPT_TXT },
	{ "srt", "application/x-subrip; charset=utf-8", TRANSCRIPT_SRT },
	{ "vtt", "text/vtt; charset=utf-8", TRANSCRIPT_VTT },
	{ "ttml", TRANSCRIPT_TTML_TYPE "; charset=utf-8", TRANSCRIPT_TTML },
	{ "ass", TRANSCRIPT_ASS_TYPE "; charset=utf-8", TRANSCRIPT_ASS },
	{ "docx", DOCX_TYPE, TRANSCRIPT_TXT },
};

struct download { const char *transcript_download_type; bool omit_speaker_labels; struct uuid design_id; };
static const struct field download_fields[] = {
	FIELD(struct download, transcript_download_type, .on = QUERY, .one_of = TRANSCRIPT_FORMS, .preset = "\"json\"", .doc = "Form of the file"),
	FIELD(struct download, omit_speaker_labels, .on = QUERY, .doc = "Leave out who speaks"),
	FIELD(struct download, design_id, .on = QUERY, .doc = "Of docx: a DocxExportDesign; left out: the main one"),
};
static const struct record download_record = RECORD("TranscriptDownload", struct download, download_fields);

struct change { const char *captions; struct list paragraphs; };
static const struct field change_fields[] = {
	FIELD(struct change, captions, .on = PATCH, .required = true, .one_of = "automatic published withheld",
	    .doc = "Whether players show it: automatic is yes unless the quality is unreliable"),
	FIELD(struct change, paragraphs, .on = PATCH, .required = true, .of = &paragraph_change_record, .min = 1,
	    .max = 1000, .doc = "Those that are to have another text; all others stay as they are"),
};
static const struct record change_record = RECORD("TranscriptChange", struct change, change_fields);

static int
transcripts_list(struct req *r)
{
	struct transcript *rows;
	size_t n;

	rows = db_list(r->db, &transcript_record, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(r->id[0])),
	    &r->page, &n);
	return reply_list(r, &transcript_record, rows, n);
}

/* The names of its speakers are none of its words: the ETag follows from both, and If-Match asks for the words
 * alone. */
int
transcript_reply(struct req *r, struct transcript *t)
{
	if (t != NULL && t->paragraphs.text != NULL && strstr(t->paragraphs.text, "\"speakerId\"") != NULL) {
		const struct list paragraphs = speaking_paragraphs(r->db, r->conf, t);

		t->paragraphs.text = transcript_json(r->mem, &paragraphs);
		r->etag = arena_printf(r->mem, "\"%lld-%s", (long long)t->version, entity_tag(r->mem,
		    t->paragraphs.text, strlen(t->paragraphs.text)) + 1);
	}
	return reply(r, 200, &transcript_record, t);
}

static int
transcript_get(struct req *r)
{
	return transcript_reply(r, r->object);
}

static void
tell(struct req *r)
{
	event(r, r->id[0], "metadata.updated", arena_printf(r->mem, "{\"mediaId\":\"%s\",\"kind\":\"transcripts\"}",
	    uuid_text(r->mem, r->id[0])));
}

/* Captions that are to be seen no more go at once; those that are wanted are written by a job. */
void
transcript_changed(struct req *r, const struct transcript *t)
{
	struct job_place place = { .tenant_id = r->who->tenant_id, .media_id = t->media_id,
	    .priority = PRIORITY_FIRST };

	if (quality_shows(t))
		job_add(r->db, captions, place, .media_id = t->media_id, .transcript_id = t->id);
	else
		caption_replace(r->db, r->who->tenant_id, t->media_id, t->id, NULL);
	tell(r);
}

void
transcript_remove(struct req *r, struct uuid id)
{
	db_run(r->db, "DELETE FROM transcripts WHERE id = ? AND media_id = ?", ARGS(ID(id), ID(r->id[0])));
	if (caption_is_listed(r->db, r->id[0], id))
		caption_replace(r->db, r->who->tenant_id, r->id[0], id, NULL);
	tell(r);
}

static struct uuid
shown_id(const struct list *speakers, struct uuid id)
{
	const struct speaker *s = speakers_find(speakers, id);

	return s != NULL ? s->shown_id : (struct uuid){ { 0 } };
}

static bool
names_speaker(const struct paragraph_change *c)
{
	return ((uint64_t)c->given & record_bit(&paragraph_change_record, "speaker_id")) != 0;
}

/* Each names a paragraph that there is, and none twice, and a speaker of the asset; all together have words for one
 * change. */
static bool
are_fine(struct req *r, const struct list *paragraphs, const struct list *speakers, const struct list *changes)
{
	const struct paragraph_change *c = changes->rows;
	size_t words = 0;

	for (size_t i = 0; i < changes->n; i++)
		words += c[i].text != NULL ? transcript_count(c[i].text) : 0;
	if (words > TRANSCRIPT_WORDS) {
		fault(r, "/paragraphs", "too_long", "a change may have %d words", TRANSCRIPT_WORDS);
		return false;
	}
	for (size_t i = 0; i < changes->n; i++) {
		const char *pointer = arena_printf(r->mem, "/paragraphs/%zu/id", i);

		if (revision_paragraph(paragraphs, c[i].id) == NULL)
			fault(r, pointer, "not_found", "the transcript has no such paragraph");
		if (c[i].text == NULL && !names_speaker(&c[i]))
			fault(r, arena_printf(r->mem, "/paragraphs/%zu/text", i), "required",
			    "this is wanted, or speakerId");
		if (!uuid_is_none(c[i].speaker_id) && uuid_is_none(shown_id(speakers, c[i].speaker_id)))
			fault(r, arena_printf(r->mem, "/paragraphs/%zu/speakerId", i), "not_found",
			    "the asset has no such speaker");
		for (size_t k = 0; k < i; k++)
			if (uuid_equal(c[k].id, c[i].id)) {
				fault(r, pointer, "duplicate", "the paragraph is named above already");
				break;
			}
	}
	return r->faults.n == 0;
}

/* By whom people say that it is; by nobody: by the voices again. */
static void
attribute(struct req *r, struct paragraph *p, const struct list *speakers, struct uuid speaker_id)
{
	struct list one = { p, 1 };

	p->speaker_source = NULL;
	one = speaking_assign(r->mem, &one, speakers, false);
	p->speaker_id = ((const struct paragraph *)one.rows)->speaker_id;
	if (uuid_is_none(speaker_id))
		return;
	p->speaker_id = speaker_id;
	p->speaker_source = "human";
}

/* The paragraphs by whom people say that they are. */
static bool
attributed(struct req *r, const struct list *speakers, const struct list *changes, struct list *paragraphs)
{
	const struct paragraph_change *c = changes->rows;
	struct paragraph *p = paragraphs->rows;
	bool any = false;

	for (size_t i = 0; i < changes->n; i++)
		for (size_t k = 0; k < paragraphs->n; k++)
			if (uuid_equal(p[k].id, c[i].id) && names_speaker(&c[i])) {
				attribute(r, &p[k], speakers, c[i].speaker_id);
				any = true;
			}
	return any;
}

/* The transcript with other words, or other speakers: false, refused. */
static bool
edit(struct req *r, struct transcript *t, const struct list *changes)
{
	const struct transcript *old = r->object;
	const struct list paragraphs = record_parse_list(r->mem, &paragraph_record, old->paragraphs.text),
	    speakers = speakers_of(r->db, NULL, r->id[0], "en");
	struct revision revision;

	if (!are_fine(r, &paragraphs, &speakers, changes))
		return false;
	revision = revision_edit(r->mem, &paragraphs, changes->rows, changes->n, db_number(r->db, "SELECT duration "
	    "FROM media WHERE id = ?", ARGS(ID(r->id[0])), 0));
	if (attributed(r, &speakers, changes, &revision.paragraphs))
		revision = revision_replace(r->mem, &paragraphs, &revision.paragraphs);
	if (revision.undo.n == 0)
		return true;
	t->source = "human";
	if (!transcript_revise(r, old, t, &revision))
		return false;
	transcript_keep(r, old, &revision, "edited", 0);
	transcript_changed(r, t);
	return true;
}

static int
transcript_patch(struct req *r)
{
	const struct transcript *old = r->object;
	const struct change *in = r->in;
	const uint64_t captions = record_bit(&transcript_record, "captions");
	struct transcript *t = NEW(r->mem, struct transcript);

	*t = *old;
	if (r->given & record_bit(&change_record, "captions"))
		t->captions = in->captions;
	if (in->paragraphs.n > 0 && !edit(r, t, &in->paragraphs))
		return refuse(r, ERR_INVALID, NULL);
	if (t->paragraphs.text == old->paragraphs.text && strcmp(t->captions, old->captions) != 0) {
		db_update(r->db, "transcripts", &transcript_record, t, captions, t->id);
		if (quality_shows(t) == caption_is_listed(r->db, t->media_id, t->id))
			tell(r);
		else
			transcript_changed(r, t);
	}
	return transcript_reply(r, object_again(r));
}

static int
transcript_delete(struct req *r)
{
	transcript_remove(r, r->id[1]);
	return reply_deleted(r, r->id[1], true);
}

/* Names of assets are free text; names of files are not, and neither are headers (RFC 6266, RFC 8187). */
static const char *
disposition(struct req *r, const char *name, const char *language, const char *extension)
{
	struct buf plain = BUF(r->mem), whole = BUF(r->mem);
	size_t characters = 0;
	const char *p;

	for (p = name; *p != '\0'; p++) {
		bool first = ((unsigned char)*p & 0xc0) != 0x80;

		if (first && ++characters > NAME_MAX_CHARACTERS)
			break;
		if ((unsigned char)*p < 0x20 || *p == 0x7f || strchr("/\\:*?\"<>|", *p) != NULL ||
		    (*p == '.' && p == name)) {
			buf_char(&plain, '_');
			buf_char(&whole, '_');
			continue;
		}
		buf_char(&whole, *p);
		if (first)
			buf_char(&plain, (unsigned char)*p >= 0x80 || *p == '%' || *p == ';' ? '_' : *p);
	}
	buf_printf(&plain, ".%s.%s", language, extension);
	buf_printf(&whole, ".%s.%s", language, extension);
	return arena_printf(r->mem, "attachment; filename=\"%s\"; filename*=UTF-8''%s", buf_string(&plain),
	    percent_encode(r->mem, buf_string(&whole)));
}

static void
forget_speakers(struct list *paragraphs)
{
	struct paragraph *p = paragraphs->rows;
	size_t i;

	for (i = 0; i < paragraphs->n; i++) {
		p[i].speaker_id = (struct uuid){ { 0 } };
		p[i].speaker = p[i].speaker_source = NULL;
	}
}

static const struct form *
form_of(const char *name)
{
	const struct form *form = forms;

	while (name != NULL && strcmp(form->name, name) != 0)
		form++;
	return form;
}

struct buf
transcript_file(struct db *db, const struct conf *conf, struct transcript *t, const struct transcript_order *o)
{
	struct arena *mem = db_arena(db);
	const struct form *form = form_of(o->form);
	struct buf out = BUF(mem);
	struct list paragraphs;

	if (strcmp(form->name, "docx") == 0)
		return transcript_docx(db, conf, t, o);
	if (form != forms) {
		paragraphs = speaking_paragraphs(db, conf, t);
		transcript_write(&out, form->form, &paragraphs, transcript_language(t->language_code),
		    o->speakers);
	} else {
		if (strstr(t->paragraphs.text, "\"speaker") != NULL) {
			paragraphs = speaking_paragraphs(db, conf, t);
			if (!o->speakers)
				forget_speakers(&paragraphs);
			t->paragraphs.text = transcript_json(mem, &paragraphs);
		}
		/* Long ones are large: room at once. */
		out.room = strlen(t->paragraphs.text) + 4096;
		out.text = arena_alloc(mem, out.room);
		record_render(&out, &transcript_record, t, false);
	}
	return out;
}

int
transcript_send(struct req *r, struct transcript *t, const struct transcript_order *o)
{
	const struct form *form = form_of(o->form);
	struct buf out = transcript_file(r->db, r->conf, t, o);
	const char *name = db_text(r->db, "SELECT name FROM media WHERE id = ?", ARGS(ID(r->id[0])));

	if (name == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	r->disposition = disposition(r, name, t->language_code, form->name);
	return reply_raw(r, 200, form->type, buf_string(&out), out.len);
}

static int
transcript_download(struct req *r)
{
	const struct download *in = r->in;
	struct transcript_order o = { .form = in->transcript_download_type, .speakers = !in->omit_speaker_labels };

	if (!uuid_is_none(in->design_id)) {
		o.design = db_row(r->db, &design_record, "FROM designs t WHERE t.id = ? AND t.tenant_id = ? AND "
		    "t.type = 'DocxExportDesign'", ARGS(ID(in->design_id), ID(r->who->tenant_id)));
		if (o.design == NULL) {
			fault(r, "designId", "not_found", "there is no DocxExportDesign with this id");
			return refuse(r, ERR_INVALID, NULL);
		}
	}
	return transcript_send(r, r->object, &o);
}

const struct route transcripts_routes[] = {
	{
		GET, "/v2/media/{mediaId}/metadata/transcripts", SCOPE_VIEW_METADATA, transcripts_list, NULL,
		&transcript_record,
		"List the transcripts of an asset, without their text",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		GET, "/v2/media/{mediaId}/metadata/transcripts/{transcriptId}", SCOPE_VIEW_METADATA, transcript_get,
		NULL,
		&transcript_record, "Get a transcript",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		METHOD_PATCH, "/v2/media/{mediaId}/metadata/transcripts/{transcriptId}", SCOPE_CREATE_CONTENT,
		transcript_patch, &change_record, &transcript_record,
		"Change words of a transcript, or whether players show it as captions; what it was stays in its history, "
		"and words that are not touched keep their times",
		.flags = CONDITIONAL, .fails = "403 404 412 422",
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}/metadata/transcripts/{transcriptId}", SCOPE_CREATE_CONTENT,
		transcript_delete, NULL, &deleted_record,
		"Delete a transcript, and the subtitles that are made of it, for good",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{
		GET, "/v2/media/{mediaId}/metadata/transcripts/{transcriptId}/download", SCOPE_VIEW_METADATA,
		transcript_download,
		&download_record, &transcript_record, "Download a transcript as a file",
		.flags = NO_ENVELOPE, .fails = "403 404 422",
		.produces = "application/json text/plain application/x-subrip text/vtt " TRANSCRIPT_TTML_TYPE " "
		TRANSCRIPT_ASS_TYPE " " DOCX_TYPE,
	},
	{ 0 }
};
