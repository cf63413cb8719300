/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/subtitles: transcripts as players show them, and files of subtitles that become transcripts */
#include <inttypes.h>
#include <string.h>

#include "core/caption.h"
#include "core/plan.h"
#include "core/play.h"
#include "core/spoken.h"
#include "fcgi/asset_view.h"
#include "fcgi/languages.h"
#include "fcgi/transcripts.h"
#include "media/cues.h"
#include "media/language.h"

/* Bytes of a file; words in it, which is eleven hours of speech. */
enum { FILE_MAX = 4 << 20 };

/* What of a file had to be mended. */
struct repair { const char *code, *detail; int64_t count, line; };
static const struct field repair_fields[] = {
	FIELD(struct repair, code, .on = SERVER, .required = true, .one_of = "encoding times backwards negative unordered long late cut together",
	    .doc = "What it was"),
	FIELD(struct repair, detail, .on = SERVER, .required = true, .doc = "In a sentence"),
	FIELD(struct repair, count, .on = SERVER, .required = true, .doc = "How often"),
	FIELD(struct repair, line, .on = SERVER, .required = true, .doc = "Of the file, from 1, where it was first"),
};
static const struct record repair_record = RECORD("SubtitleRepair", struct repair, repair_fields);

struct subtitle {
	struct uuid id, media_id, transcript_id;
	const char *language_code, *label, *kind, *source, *url;
	struct json language_origin;
	bool is_default;
	struct number cue_count;
	struct list repairs;
	int64_t version;
	struct moment created_at, updated_at;
	struct json captions;
};
static const struct field subtitle_fields[] = {
	FIELD(struct subtitle, id, .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct subtitle, media_id, .on = SERVER, .required = true, .doc = "The asset"),
	FIELD(struct subtitle, transcript_id, .on = SERVER, .required = true, .sql = "t.id", .doc = "The transcript that they are made of"),
	FIELD(struct subtitle, language_code, .on = SERVER | FILTER | SORT | ASCII, .required = true,
	    .doc = "BCP 47 tag of the text, or translate-en: English made of any language"),
	FIELD(struct subtitle, language_origin, .on = SERVER | OMIT_NULL, .of = &language_origin_record,
	    .doc = "Who says that it is this language"),
	FIELD(struct subtitle, label, .on = SERVER | COMPUTED, .required = true, .doc = "The name of the language in itself, for menus"),
	FIELD(struct subtitle, kind, .on = SERVER, .required = true, .one_of = "captions subtitles", .sql = "'captions'",
	    .doc = "captions: of all that is to be heard; subtitles: of what is said"),
	FIELD(struct subtitle, source, .on = SERVER | FILTER, .required = true, .one_of = "machine human import",
	    .doc = "Where the words come from: import is a file that was uploaded"),
	FIELD(struct subtitle, is_default, .on = SERVER, .required = true, .sql = "COALESCE(t.language_code = a.language_code, 0)",
	    .doc = "Are they in the language that is spoken?"),
	FIELD(struct subtitle, cue_count, .on = SERVER | OMIT_NULL, .doc = "How many of them there are, where it is known"),
	FIELD(struct subtitle, url, .on = SERVER | COMPUTED, .format = "uri",
	    .doc = "Signed WebVTT, valid for some hours; null while it is being written, and of those that players "
	    "do not show"),
	FIELD(struct subtitle, repairs, .on = SERVER | COMPUTED | OMIT_NULL, .of = &repair_record,
	    .doc = "What had to be mended in the file, told when it is uploaded"),
	FIELD(struct subtitle, version, .on = SERVER, .required = true, .doc = "Grows with each change"),
	FIELD(struct subtitle, created_at, .on = SERVER | SORT, .required = true, .doc = "When they were made"),
	FIELD(struct subtitle, updated_at, .on = SERVER | SORT, .required = true, .doc = "When they were last changed"),
	FIELD(struct subtitle, captions, .on = SERVER | HIDDEN, .sql = "a.captions", .doc = "Files of the asset"),
};
static const struct record subtitle_record = RECORD("Subtitle", struct subtitle, subtitle_fields);

/* Of what could not be heard there are none. */
#define SUBTITLES "FROM transcripts t JOIN media a ON a.id = t.media_id WHERE a.id = ? AND t.status = 'completed'"

const struct object subtitle_object = {
	.path = "/v2/media/{mediaId}/subtitles/{subtitleId}", .reach = REACH_BELOW_MEDIA,
	.record = &subtitle_record, .from = SUBTITLES " AND t.id = ?",
};

struct upload { const char *language_code; };
static const struct field upload_fields[] = {
	FIELD(struct upload, language_code, .on = QUERY, .max = 35,
	    .doc = "BCP 47 tag of the text, for example en or de-CH; left out: the one that the file says "
	    "(Language: in the head of WebVTT, xml:lang of TTML), or else it is told from the text"),
};
static const struct record upload_record = RECORD("SubtitleUpload", struct upload, upload_fields);

struct download { const char *format; };
static const struct field download_fields[] = {
	FIELD(struct download, format, .on = QUERY, .one_of = "srt vtt ttml ass", .preset = "\"vtt\"", .doc = "Form of the file"),
};
static const struct record download_record = RECORD("SubtitleDownload", struct download, download_fields);

/* Fills the members that no column holds. */
static void
complete(struct req *r, struct subtitle *s)
{
	const struct list files = record_parse_list(r->mem, &caption_record, s->captions.text);
	const struct caption *c = files.rows;
	char prefix[PLAY_PREFIX_MAX];

	s->label = transcript_label(r->mem, s->language_code);
	play_prefix(r->conf, s->media_id, r->now, prefix);
	for (size_t i = 0; i < files.n; i++)
		if (caption_is_of(r->mem, c[i].file, s->id))
			s->url = arena_printf(r->mem, "%s%s", prefix, c[i].file);
}

static int
subtitles_list(struct req *r)
{
	struct subtitle *rows;
	size_t n, i;

	rows = db_list(r->db, &subtitle_record, SUBTITLES, ARGS(ID(r->id[0])), &r->page, &n);
	for (i = 0; i < n; i++)
		complete(r, &rows[i]);
	return reply_list(r, &subtitle_record, rows, n);
}

static int
subtitle_get(struct req *r)
{
	complete(r, r->object);
	r->etag = reply_tag(r, &subtitle_record, r->object);
	return reply(r, 200, &subtitle_record, r->object);
}

/* What a file was read as: the paragraphs of a transcript, and what had to be mended. */
struct reading {
	const char *paragraphs, *engine;
	int64_t cue_count;
	struct list repairs;
	const char *told;			/* the language that the file says, where the client has named none */
	struct language_guess guess;		/* where neither does */
};

/* The first line that tells nothing, or too much: what is lost by it nobody would notice. */
static bool
is_readable(struct req *r, const struct cues *all)
{
	const int64_t line = all->repairs[CUES_times].line, length = all->repairs[CUES_long].line,
	    first = cues_first_line(all);

	if (all->refused != NULL)
		fault(r, "", "unreadable", "line %zu: %s; it says: %s", all->refused_line, all->refused,
		    cues_line(all, (int64_t)all->refused_line));
	else if (line > 0 && (length == 0 || line < length))
		fault(r, "", "unreadable", "line %" PRId64 ": times are wanted here, as %s; it says: %s", line,
		    all->form == SUBTITLES_TTML ? "begin=\"00:01:02.500\" end=\"00:01:04.000\"" :
		    "00:01:02,500 --> 00:01:04,000", cues_line(all, line));
	else if (length > 0)
		fault(r, "", "too_long", "line %" PRId64 ": the subtitle that begins here has too long a text", length);
	else if (all->found > all->n && all->n == CUES_MAX)
		fault(r, "", "too_many", "a file may have %d subtitles, and this one has %zu", CUES_MAX, all->found);
	else if (all->n == 0 && first == 0)
		fault(r, "", "unreadable", "the file is empty: SubRip, WebVTT, SubStation Alpha or TTML is wanted");
	else if (all->n == 0)
		fault(r, "", "unreadable", "line %" PRId64 ": there is no subtitle in the file, which is none of "
		    "SubRip, WebVTT, SubStation Alpha and TTML; it says: %s", first, cues_line(all, first));
	return r->faults.n == 0;
}

static struct list
repairs_of(struct req *r, const struct cues *all)
{
	static const struct { const char *code, *detail; } words[] = {
#define REPAIR_WORDS(name, doc) { #name, doc },
		CUE_REPAIRS(REPAIR_WORDS)
#undef REPAIR_WORDS
	};
	struct repair *out = arena_array(r->mem, CUES_REPAIRS, sizeof(*out));
	size_t n = 0;

	for (size_t i = 0; i < CUES_REPAIRS; i++)
		if (all->repairs[i].count > 0)
			out[n++] = (struct repair){ words[i].code, words[i].detail, all->repairs[i].count,
			    all->repairs[i].line };
	return (struct list){ out, n };
}

/* aside(): reads the body.  NULL: refused. */
static void *
read_file(struct req *r)
{
	static const char *const engines[] = { [SUBTITLES_SRT] = "SubRip", [SUBTITLES_ASS] = "SubStation Alpha",
	    [SUBTITLES_VTT] = "WebVTT", [SUBTITLES_TTML] = "TTML" };
	const struct media_head *asset = r->object;
	const struct upload *in = r->query;
	struct reading *out = NEW(r->mem, struct reading);
	struct cues all = { .mem = r->mem };
	struct list paragraphs = { NULL, 0 };

	cues_read_any(&all, r->body, r->body_size);
	if (is_readable(r, &all)) {
		cues_end(&all, asset->duration.ms);
		if (!transcript_imported(r->mem, &all, TRANSCRIPT_WORDS, &paragraphs))
			fault(r, "", "too_long", "a file may have %d words", TRANSCRIPT_WORDS);
		else if (paragraphs.n == 0)
			fault(r, "", "no_text", all.n == 0 ? "all of it is after the end of the recording" :
			    "no subtitle has a word in it");
		else
			out->paragraphs = transcript_json(r->mem, &paragraphs);
	}
	if (out->paragraphs != NULL && strlen(out->paragraphs) > TRANSCRIPT_BYTES)
		fault(r, "", "too_long", "the words of the file are too long");
	if (r->faults.n > 0) {
		refuse(r, ERR_INVALID, NULL);
		return NULL;
	}
	out->engine = engines[all.form];
	if (in->language_code == NULL)
		out->told = language_tag(r->mem, all.language);
	if (in->language_code == NULL && out->told == NULL)
		out->guess = language_guess_said(r->mem, &paragraphs);
	out->cue_count = transcript_cues(r->mem, &paragraphs);
	out->repairs = repairs_of(r, &all);
	return out;
}

/* What people or a machine have said before stays in the history; of what has failed there is nothing. */
static void
replace(struct req *r, const struct transcript *old, const struct transcript *with)
{
	const struct list was = record_parse_list(r->mem, &paragraph_record, old->paragraphs.text),
	    now = record_parse_list(r->mem, &paragraph_record, with->paragraphs.text);
	const struct revision revision = revision_replace(r->mem, &was, &now);

	db_update(r->db, "transcripts", &transcript_record, with, transcript_members(), with->id);
	if (was.n > 0 || strcmp(old->source, "machine") != 0)
		transcript_keep(r, old, &revision, "uploaded", 0);
}

/* The transcript of the language with other words, or a new one; NULL: refused. */
static const struct transcript *
store(struct req *r, const char *language, const char *origin, const struct reading *m)
{
	struct transcript *old = db_row_suffix(r->db, &transcript_record, "FROM transcripts t WHERE t.media_id = ? AND "
	    "t.language_code = ?", " FOR UPDATE", ARGS(ID(r->id[0]), STR(language)));
	struct transcript *t = NEW(r->mem, struct transcript);

	*t = (struct transcript){ .id = old != NULL ? old->id : uuid_new(), .media_id = r->id[0],
	    .language_code = language, .language_origin.text = origin, .source = "import", .engine = m->engine,
	    .status = "completed", .captions = "automatic", .paragraphs.text = m->paragraphs,
	    .cue_count = { m->cue_count, true }, .version = 1, .created_at = r->now, .updated_at = r->now };
	if (old != NULL) {
		replace(r, old, t);
		return t;
	}
	if (db_number(r->db, "SELECT COUNT(*) FROM transcripts WHERE media_id = ?", ARGS(ID(r->id[0])), 0) >=
	    PLAN_LANGUAGES) {
		fault(r, "languageCode", "too_many", "an asset has transcripts in %d languages at most",
		    PLAN_LANGUAGES);
		refuse(r, ERR_INVALID, NULL);
		return NULL;
	}
	db_insert(r->db, "transcripts", &transcript_record, t);
	return t;
}

/* In the language that the client has named; NULL: in the one that the file says, or else that the text is in. */
static const struct transcript *
store_as_told(struct req *r, const char *language, const struct reading *m)
{
	if (language != NULL)
		return store(r, language, language_origin(r->mem, "human", NULL, 0), m);
	if (m->told != NULL)
		return store(r, m->told, language_origin(r->mem, "import", NULL, 0), m);
	if (m->guess.tag != NULL)
		return store(r, m->guess.tag, language_origin(r->mem, "machine", LANGUAGE_GUESSER, m->guess.share),
		    m);
	fault(r, "languageCode", "required", "it cannot be told from the text, which has too few words, or words of "
	    "several languages");
	refuse(r, ERR_INVALID, NULL);
	return NULL;
}

static int
subtitle_create(struct req *r)
{
	const struct media_head *asset = r->object;
	const struct upload *in = r->query;
	const struct reading *m = r->made;
	const struct transcript *t;
	const char *language = NULL;
	struct subtitle *s;

	if (in->language_code != NULL)
		language = language_tag(r->mem, spoken_plain(r->mem, in->language_code));
	if (language == NULL && in->language_code != NULL) {
		fault(r, "languageCode", "format", "a BCP 47 tag is wanted, for example en or de-CH");
		return refuse(r, ERR_INVALID, NULL);
	}
	if (strcmp(asset->type, "video") != 0 && strcmp(asset->type, "audio") != 0)
		return refuse(r, ERR_NO_DURATION, NULL);
	if (m == NULL)
		return aside(r, read_file);
	t = store_as_told(r, language, m);
	if (t == NULL)
		return r->status;
	transcript_changed(r, t);
	s = db_row(r->db, &subtitle_record, subtitle_object.from, ARGS(ID(r->id[0]), ID(t->id)));
	if (s == NULL)
		return refuse(r, ERR_UNAVAILABLE, NULL);
	complete(r, s);
	s->repairs = m->repairs;
	return reply_created(r, &subtitle_record, s, s->id);
}

static int
subtitle_delete(struct req *r)
{
	transcript_remove(r, r->id[1]);
	return reply_deleted(r, r->id[1], true);
}

static int
subtitle_download(struct req *r)
{
	const struct download *in = r->in;
	struct transcript *t = db_row(r->db, &transcript_record, "FROM transcripts t WHERE t.id = ? AND t.media_id = ?",
	    ARGS(ID(r->id[1]), ID(r->id[0])));

	if (t == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	return transcript_send(r, t, &(const struct transcript_order){ .form = in->format != NULL ? in->format : "vtt",
	    .speakers = true });
}

static int
subtitles_languages(struct req *r)
{
	size_t n;
	struct language *rows = db_rows(r->db, &language_record, "FROM transcripts t WHERE t.media_id = ? AND "
	    "t.status = 'completed' ORDER BY t.language_code", ARGS(ID(r->id[0])), &n);

	return languages_reply(r, rows, n);
}

#define ONE "/v2/media/{mediaId}/subtitles/{subtitleId}"

const struct route subtitles_routes[] = {
	{
		GET, "/v2/media/{mediaId}/subtitles", SCOPE_VIEW_METADATA, subtitles_list, NULL, &subtitle_record,
		"List the subtitles that the transcripts of an asset make",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		POST, "/v2/media/{mediaId}/subtitles", SCOPE_CREATE_CONTENT, subtitle_create, NULL, &subtitle_record,
		"Upload a file of subtitles (SubRip, WebVTT, SubStation Alpha or TTML, in any encoding): it becomes the "
		"transcript of that language, in the place of the one that is there; without a language it is told from the "
		"text",
		.flags = BELOW | RAW_BODY, .success = 201, .fails = "403 404 413 422", .codes = "no_duration",
		.query = &upload_record, .consumes = SUBTITLE_TYPES " text/plain", .max_body = FILE_MAX,
	},
	{
		GET, "/v2/media/{mediaId}/subtitles/languages", SCOPE_VIEW_METADATA, subtitles_languages, NULL,
		&language_record, "List the languages that an asset has subtitles in",
		.flags = BELOW | LIST, .fails = "403 404 422", .id = "listMediaSubtitleLanguages",
	},
	{
		GET, ONE, SCOPE_VIEW_METADATA, subtitle_get, NULL, &subtitle_record, "Get subtitles",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		METHOD_DELETE, ONE, SCOPE_CREATE_CONTENT, subtitle_delete, NULL, &deleted_record,
		"Delete subtitles and the transcript that they are made of, for good; to hide them only, change captions "
		"of the transcript",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{
		GET, ONE "/download", SCOPE_VIEW_METADATA, subtitle_download, &download_record, &subtitle_record,
		"Download subtitles as a file",
		.flags = NO_ENVELOPE, .fails = "403 404 422", .produces = SUBTITLE_TYPES,
	},
	{ 0 }
};
