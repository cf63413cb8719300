/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transcripts and metadata as clients see them. */
#include <stdio.h>
#include <string.h>

#include "core/asset.h"
#include "core/plan.h"
#include "core/speakers.h"
#include "media/transcript.h"
#include "tests/world.h"

/* A transcript of two paragraphs; the second has a speaker. */
static struct uuid
add_transcript(struct world *w, struct uuid media, const char *language)
{
	struct word one[] = { { "Hello", { 0, true }, { 400, true }, 0.9, "machine" },
	    { "<world>", { 400, true }, { 900, true }, 0, "machine" } };
	struct word two[] = { { "Goodbye.", { 5000, true }, { 5600, true }, 0.8, "human" } };
	struct paragraph p[] = {
		{ uuid_new(), { { 0 } }, NULL, { 0, true }, { 900, true }, "Hello <world>", { one, 2 } },
		{ uuid_new(), uuid_new(), "Ada", { 5000, true }, { 5600, true }, "Goodbye.", { two, 1 } },
	};
	struct list list = { p, 2 };
	struct transcript t = { .id = uuid_new(), .media_id = media, .language_code = language, .source = "machine",
	    .engine = "test 1", .status = "completed", .quality = "good", .captions = "automatic",
	    .confidence = 0.85,
	    .paragraphs = { transcript_json(w->mem, &list) }, .version = 1, .created_at = moment_now(),
	    .updated_at = moment_now() };

	assert_true(db_insert(w->db, "transcripts", &transcript_record, &t));
	return t.id;
}

static const char *
path_of(struct world *w, struct uuid media, const char *rest)
{
	return arena_printf(w->mem, "/v2/media/%s/metadata%s", uuid_text(w->mem, media), rest);
}

static const char *
download_path(struct world *w, struct uuid media, struct uuid id, const char *query)
{
	return path_of(w, media, arena_printf(w->mem, "/transcripts/%s/download%s", uuid_text(w->mem, id), query));
}

static void
a_transcript_shows_its_words_and_a_list_does_not(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	struct req *r;

	add_transcript(w, media, "translate-en");
	r = call(w, "GET", path_of(w, media, "/transcripts"), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_null(text(w, r, "data.0.paragraphs"));
	r = call(w, "GET", path_of(w, media, "/transcripts?filter=languageCode=en"), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, id));
	r = call(w, "GET", path_of(w, media, arena_printf(w->mem, "/transcripts/%s", uuid_text(w->mem, id))), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.languageCode"), "en");
	assert_string_equal(text(w, r, "data.source"), "machine");
	assert_string_equal(text(w, r, "data.engine"), "test 1");
	assert_string_equal(text(w, r, "data.noSpeech"), "false");
	assert_string_equal(text(w, r, "data.paragraphs.0.text"), "Hello <world>");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.0.confidence"), "0.9");
	assert_null(text(w, r, "data.paragraphs.0.words.1.confidence"));
	assert_non_null(strstr(buf_string(&r->out), "\"start\":5.000,\"end\":5.600"));
	assert_string_equal(text(w, r, "data.paragraphs.1.speaker"), "Ada");
	assert_true(strncmp(r->etag, "\"1-", 3) == 0);
}

static void
downloads_come_in_the_form_asked_for(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	struct req *r = call(w, "GET", download_path(w, media, id, "?transcriptDownloadType=vtt"), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(r->answer_type, "text/vtt; charset=utf-8");
	assert_string_equal(buf_string(&r->out), "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nHello &lt;world&gt;\n\n"
	    "00:00:05.000 --> 00:00:06.000\n<v Ada>Goodbye.\n\n");
	r = call(w, "GET", download_path(w, media, id, "?transcriptdownloadtype=srt&omitSpeakerLabels=true"), NULL);
	assert_string_equal(r->answer_type, "application/x-subrip; charset=utf-8");
	assert_string_equal(buf_string(&r->out), "1\n00:00:00,000 --> 00:00:01,000\nHello <world>\n\n"
	    "2\n00:00:05,000 --> 00:00:06,000\nGoodbye.\n\n");
	r = call(w, "GET", download_path(w, media, id, "?transcriptDownloadType=txt"), NULL);
	assert_string_equal(buf_string(&r->out), "Hello <world>\n\nAda: Goodbye.\n");
	r = call(w, "GET", download_path(w, media, id, ""), NULL);
	assert_string_equal(r->answer_type, "application/json");
	assert_string_equal(text(w, r, "paragraphs.1.speaker"), "Ada");
	r = call(w, "GET", download_path(w, media, id, "?transcriptDownloadType=json&omitSpeakerLabels=true"), NULL);
	assert_string_equal(text(w, r, "paragraphs.1.words.0.text"), "Goodbye.");
	assert_null(strstr(buf_string(&r->out), "peaker"));
}

static void
forms_that_are_not_there_are_refused_by_name(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	struct req *r = call(w, "GET", download_path(w, media, id, "?transcriptDownloadType=odt"), NULL);

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "transcriptDownloadType", "not_allowed"));
	assert_non_null(strstr(buf_string(&r->out), "json, txt, srt, vtt, ttml, ass, docx"));
	assert_int_equal(call(w, "GET", download_path(w, media, id, "?omitSpeakerLabels=maybe"), NULL)->status, 422);
	assert_int_equal(call(w, "GET", download_path(w, media, id, "?form=vtt"), NULL)->status, 422);
}

/* The parts of a document that hold texts. */
static const char *
document_text(struct world *w, struct req *r)
{
	const char *path = arena_printf(w->mem, "%s/a.docx", w->conf->data_dir);
	char *out = arena_alloc(w->mem, 1 << 20);
	FILE *f = fopen(path, "w");
	size_t n;

	assert_int_equal(r->status, 200);
	assert_non_null(f);
	assert_int_equal(fwrite(r->out.text, 1, r->out.len, f), r->out.len);
	fclose(f);
	f = popen(arena_printf(w->mem, "unzip -p %s word/document.xml word/styles.xml word/header.xml "
	    "word/footer.xml", path), "r");
	n = fread(out, 1, (1 << 20) - 1, f);
	out[n] = '\0';
	assert_int_equal(pclose(f), 0);
	return out;
}

static const char *
add_design(struct world *w, const char *type, const char *rest)
{
	struct req *r = call(w, "POST", "/v2/designs", arena_printf(w->mem, "{\"type\":\"%s\",\"name\":\"x\"%s}", type,
	    rest));

	assert_int_equal(r->status, 201);
	return text(w, r, "data.id");
}

static void
documents_look_as_the_tenant_has_decided(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *docx = download_path(w, media, id, "?transcriptDownloadType=docx"), *xml, *design;
	struct req *r = call(w, "GET", docx, NULL);

	assert_string_equal(r->answer_type, "application/vnd.openxmlformats-officedocument.wordprocessingml.document");
	assert_string_equal(r->disposition, "attachment; filename=\"Talk.en.docx\"; filename*=UTF-8''Talk.en.docx");
	xml = document_text(w, r);
	assert_non_null(strstr(xml, "Hello &lt;world&gt;"));
	assert_non_null(strstr(xml, ">Ada<"));
	assert_non_null(strstr(xml, "Transcribed by a machine \xc2\xb7 test 1"));
	assert_non_null(strstr(xml, "w:ascii=\"Calibri\""));
	assert_null(strstr(document_text(w, call(w, "GET", arena_printf(w->mem, "%s&omitSpeakerLabels=true",
	    docx), NULL)),
	    ">Ada<"));
	add_design(w, "DocxExportDesign",
	    ",\"isMain\":true,\"properties\":{\"font\":\"serif\",\"headerColor\":\"#123456\"}");
	xml = document_text(w, call(w, "GET", docx, NULL));
	assert_non_null(strstr(xml, "w:ascii=\"Cambria\""));
	assert_non_null(strstr(xml, "w:val=\"123456\""));
	/* Too light to be read on white: made darker. */
	design = add_design(w, "DocxExportDesign", ",\"properties\":{\"font\":\"mono\",\"headerColor\":\"#ffff00\"}");
	xml = document_text(w, call(w, "GET", arena_printf(w->mem, "%s&designId=%s", docx, design), NULL));
	assert_non_null(strstr(xml, "w:ascii=\"Consolas\""));
	assert_null(strstr(xml, "ffff00"));
	assert_null(strstr(xml, "123456"));
	design = add_design(w, "DocxExportDesign", ",\"properties\":{\"headingFont\":\"rounded\","
	    "\"textColor\":\"#222244\",\"fontSize\":14,\"headerText\":\"City <archive>\",\"footerText\":\"Minutes\",\"omit\":[\"cover\","
	    "\"timeCodes\",\"speakers\"]}");
	xml = document_text(w, call(w, "GET", arena_printf(w->mem, "%s&designId=%s", docx, design), NULL));
	assert_non_null(strstr(xml, "w:ascii=\"Verdana\""));
	assert_non_null(strstr(xml, "<w:color w:val=\"222244\"/><w:sz w:val=\"28\"/>"));
	assert_non_null(strstr(xml, "City &lt;archive&gt;"));
	assert_non_null(strstr(xml, "Minutes"));
	assert_non_null(strstr(xml, "Hello &lt;world&gt;"));
	assert_null(strstr(xml, ">Ada<"));
	assert_null(strstr(xml, "Transcribed by"));
	assert_null(strstr(xml, "<w:rStyle w:val=\"Time\"/>"));
}

static void
a_design_of_something_else_is_refused(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *docx = download_path(w, media, id, "?transcriptDownloadType=docx"), *ids[2];

	ids[0] = add_design(w, "ChannelDesign", ",\"properties\":{}");
	ids[1] = uuid_text(w->mem, uuid_new());
	for (size_t i = 0; i < 2; i++) {
		struct req *r = call(w, "GET", arena_printf(w->mem, "%s&designId=%s", docx, ids[i]), NULL);

		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "designId", "not_found"));
	}
}

static void
file_names_are_safe_whatever_the_asset_is_called(void **state)
{
	struct world *w = *state;
	static const struct { const char *name, *disposition; } examples[] = {
		{ "Talk", "attachment; filename=\"Talk.en.vtt\"; filename*=UTF-8''Talk.en.vtt" },
		{ "../etc/pass\"wd; x=\\", "attachment; filename=\"_._etc_pass_wd_ x=_.en.vtt\"; filename*=UTF-8''_._etc_pass_wd%3B%20x%3D_.en.vtt" },
		{ "Größe 100%", "attachment; filename=\"Gr__e 100_.en.vtt\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20100%25.en.vtt" },
	};
	char *longest = arena_alloc(w->mem, 1000);
	struct uuid media, id;
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		media = world_media(w, "video", examples[i].name);
		id = add_transcript(w, media, "en");
		r = call(w, "GET", download_path(w, media, id, "?transcriptDownloadType=vtt"), NULL);
		assert_string_equal(r->disposition, examples[i].disposition);
	}
	for (i = 0; i < 250; i++)
		memcpy(longest + i * 3, "\u20ac", 3);
	media = world_media(w, "video", longest);
	r = call(w, "GET", download_path(w, media, add_transcript(w, media, "en"), ""), NULL);
	assert_true(strlen(r->disposition) < 1200);
	assert_non_null(strstr(r->disposition, "%E2%82%AC.en.json"));
}

static void
transcripts_belong_to_their_asset_and_tenant(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid media = world_media(w, "video", "Talk"), second = world_media(w, "video", "Other"),
	    id = add_transcript(w, media, "en");
	const char *viewer = world_member(w, "ViewChannel ViewMetadata", "Viewer", NULL);
	const char *stranger = world_member(w, "ViewChannel ViewMetadata", NULL, NULL);
	const char *blind = world_member(w, "ViewChannel", "Viewer", NULL);
	const char *paths[] = { path_of(w, media, ""), path_of(w, media, "/transcripts"),
	    path_of(w, media, arena_printf(w->mem, "/transcripts/%s", uuid_text(w->mem, id))),
	    download_path(w, media, id, "") };
	size_t i;

	for (i = 0; i < 4; i++) {
		assert_int_equal(call_as(w, viewer, "GET", paths[i], NULL)->status, 200);
		assert_int_equal(call_as(w, stranger, "GET", paths[i], NULL)->status, 403);
		assert_int_equal(call_as(w, blind, "GET", paths[i], NULL)->status, 403);
		assert_int_equal(call_as(w, other->token, "GET", paths[i], NULL)->status, 404);
	}
	assert_int_equal(call(w, "GET", download_path(w, second, id, ""), NULL)->status, 404);
	assert_int_equal(call(w, "GET", download_path(w, media, uuid_new(), ""), NULL)->status, 404);
}

static void
players_learn_who_answers_for_the_captions(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	struct req *r;

	db_run(w->db, "UPDATE channels SET visibility = 'public' WHERE id = ?", ARGS(ID(w->channel_id)));
	db_run(w->db, "UPDATE media SET captions = ? WHERE id = ?", ARGS(STR(arena_printf(w->mem, "[{\"languageCode\":"
	    "\"de\",\"label\":\"Deutsch\",\"file\":\"captions/other.1.vtt\"},{\"languageCode\":\"en\",\"label\":"
	    "\"English\",\"file\":\"captions/%s.1.vtt\"}]", uuid_text(w->mem, id))), ID(media)));
	r = call_as(w, NULL, "GET", arena_printf(w->mem, "/v2/media/%s/player", uuid_text(w->mem, media)), NULL);
	assert_int_equal(r->status, 200);
	assert_null(text(w, r, "data.captions.0.engine"));
	assert_string_equal(text(w, r, "data.captions.1.engine"), "test 1");
	assert_string_equal(text(w, r, "data.captions.1.quality"), "good");
	assert_string_equal(text(w, r, "data.captions.1.source"), "machine");
	assert_non_null(strstr(text(w, r, "data.captions.1.url"), uuid_text(w->mem, id)));
}

/* The address of the transcript, and a part of it. */
static const char *
one(struct world *w, struct uuid media, struct uuid id, const char *rest)
{
	return path_of(w, media, arena_printf(w->mem, "/transcripts/%s%s", uuid_text(w->mem, id), rest));
}

/* A PATCH of the text of one paragraph; with a version unless that is NULL. */
static struct req *
write_text(struct world *w, const char *path, const char *paragraph, const char *words, const char *version)
{
	return call_req(w, &(struct req){ .if_match = version }, w->token, "PATCH", path, arena_printf(w->mem,
	    "{\"paragraphs\":[{\"id\":\"%s\",\"text\":\"%s\"}]}", paragraph, words));
}

/* Twelve hours of speech without a pause. */
static void
the_longest_transcripts_fit_into_a_request(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "audio", "Marathon");
	enum { WORDS = 110000 };
	struct arena *mem = arena_new(512 << 20);
	struct word *words = arena_array(mem, WORDS, sizeof(*words));
	struct segment s = { { 0, true }, { WORDS * 400, true }, "", { words, WORDS } };
	struct transcript t = { .id = uuid_new(), .media_id = media, .language_code = "en", .source = "machine",
	    .engine = "test 1", .status = "completed", .captions = "automatic", .version = 1,
	    .created_at = moment_now(),
	    .updated_at = moment_now() };
	const char *paths[5], *first;
	struct list list;
	size_t before;
	int i;

	for (i = 0; i < WORDS; i++)
		words[i] = (struct word){ "seven", { i * 400, true }, { i * 400 + 390, true }, 0.723, "machine" };
	list = transcript_paragraphs(mem, &s, 1);
	for (i = 0; i < (int)list.n; i++)
		((struct paragraph *)list.rows)[i].speaker = "Ada";
	t.paragraphs.text = transcript_json(mem, &list);
	assert_true(db_insert(w->db, "transcripts", &transcript_record, &t));
	first = arena_copy(w->mem, uuid_text(mem, ((struct paragraph *)list.rows)->id));
	arena_free(mem);
	paths[0] = path_of(w, media, arena_printf(w->mem, "/transcripts/%s", uuid_text(w->mem, t.id)));
	paths[1] = path_of(w, media, "/transcripts");
	paths[2] = download_path(w, media, t.id, "?transcriptDownloadType=vtt");
	paths[3] = download_path(w, media, t.id, "?omitSpeakerLabels=true");
	paths[4] = download_path(w, media, t.id, "?transcriptDownloadType=docx");
	for (i = 0; i < 5; i++) {
		before = arena_used(w->mem);
		assert_int_equal(call(w, "GET", paths[i], NULL)->status, 200);
		assert_true(arena_used(w->mem) - before < 60 << 20);
	}
	before = arena_used(w->mem);
	assert_int_equal(write_text(w, paths[0], first, "eight", NULL)->status, 200);
	assert_true(arena_used(w->mem) - before < 120 << 20);
	before = arena_used(w->mem);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/versions/1/restore", paths[0]), NULL)->status, 200);
	assert_true(arena_used(w->mem) - before < 160 << 20);
}

static void
a_text_gets_the_times_that_were_heard(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *uri = path_of(w, media, arena_printf(w->mem, "/transcripts/%s", uuid_text(w->mem, id)));
	const char *align = arena_printf(w->mem, "%s/align", uri);
	struct req *r = call(w, "PUT", align, "{\"text\":\"Hello dear <world>!\\n\\nWe say Goodbye.\"}");

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.source"), "human");
	assert_string_equal(text(w, r, "data.version"), "2");
	assert_string_equal(text(w, r, "data.paragraphs.0.text"), "Hello dear <world>!");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.0.confidence"), "0.9");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.0.source"), "machine");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.1.source"), "human");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.1.estimated"), "true");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.2.start"), "0.400");
	assert_string_equal(text(w, r, "data.paragraphs.1.words.2.start"), "5.000");
	assert_string_equal(text(w, r, "data.paragraphs.1.words.2.end"), "5.600");

	/* Again, it changes nothing; the words that a person has made of it since are aligned to what was heard. */
	r = call(w, "PUT", align, "{\"text\":\"Hello dear <world>!\\n\\nWe say Goodbye.\"}");
	assert_string_equal(text(w, r, "data.version"), "2");
	r = call(w, "PUT", align, "{\"text\":\"Nothing but Goodbye.\"}");
	assert_string_equal(text(w, r, "data.version"), "3");
	r = call(w, "PUT", align, "{\"text\":\"Hello Goodbye.\"}");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.0.end"), "0.400");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.0.source"), "machine");
	r = call(w, "PUT", align, NULL);
	assert_string_equal(text(w, r, "data.version"), "4");
	r = call(w, "GET", arena_printf(w->mem, "%s/versions", uri), NULL);
	assert_string_equal(text(w, r, "data.0.origin"), "aligned");
	assert_string_equal(text(w, r, "data.3.origin"), "transcribed");

	/* What has nothing to do with it, or no word, is refused. */
	r = call(w, "PUT", align, "{\"text\":\"Guten Morgen\"}");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/text", "not_allowed"));
	assert_int_equal(call(w, "PUT", align, "{\"text\":\" \\n\\n\"}")->status, 422);
	assert_string_equal(text(w, call(w, "GET", uri, NULL), "data.version"), "4");
	db_run(w->db, "DELETE FROM transcript_versions WHERE transcript_id = ?", ARGS(ID(id)));
	db_run(w->db, "UPDATE transcripts SET paragraphs = '[]' WHERE id = ?", ARGS(ID(id)));
	r = call(w, "PUT", align, "{\"text\":\"Hello\"}");
	assert_true(has_fault(r, "", "not_allowed"));
}

static void
metadata_counts_everything_and_shows_what_is_asked_for(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "document", "Paper");
	struct req *r;

	metadata_put(w->db, media, "file", "test", "{\"mimeType\":\"application/pdf\",\"fileSize\":7}");
	metadata_put(w->db, media, "documentContent", "test",
	    "{\"pages\":[{\"page\":1,\"text\":\"a\"},{\"page\":3,\"text\":\"b\"}]}");
	add_transcript(w, media, "en");
	r = call(w, "GET", path_of(w, media, ""), NULL);
	assert_int_equal(r->status, 200);
	assert_non_null(text(w, r, "data.status"));
	assert_string_equal(text(w, r, "data.documentContent.count"), "2");
	assert_string_equal(text(w, r, "data.file.count"), "1");
	assert_string_equal(text(w, r, "data.videoTexts.count"), "0");
	assert_null(strstr(buf_string(&r->out), "items"));
	assert_null(strstr(buf_string(&r->out), "Goodbye"));
	r = call(w, "GET", path_of(w, media, "?expand=documentContent,keywords&expand=file"), NULL);
	assert_string_equal(text(w, r, "data.documentContent.items.1.page"), "3");
	assert_string_equal(text(w, r, "data.file.items.0.fileSize"), "7");
	assert_non_null(strstr(buf_string(&r->out), "\"keywords\":{\"count\":0,\"items\":[]}"));
	assert_non_null(strstr(buf_string(&r->out), "\"entities\":{\"count\":0}"));
	assert_int_equal(call(w, "GET", path_of(w, media, "?expand=transcripts"), NULL)->status, 422);
}

/* A recording that was ingested. */
static struct uuid
ingested(struct world *w)
{
	struct uuid media = world_media(w, "audio", "Sound"), root;

	db_run(w->db, "UPDATE media SET generation = NULL WHERE id = ?", ARGS(ID(media)));
	root = ingest_start(w->db, w->tenant_id, media);
	metadata_put(w->db, media, "file", "test", "{\"audio\":[{\"used\":true}],\"coverArt\":false}");
	plan_ingest(w->db, w->conf, media, root, uuid_text(w->mem, root));
	db_run(w->db, "UPDATE jobs SET state = 'succeeded' WHERE media_id = ?", ARGS(ID(media)));
	asset_summarise(w->db, media, SUM_INGEST);
	return media;
}

static int64_t
anew(struct world *w, struct uuid media, const char *kind)
{
	return number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = ? AND t.state IN ('ready', 'waiting')",
	    ARGS(ID(media), STR(kind)));
}

static void
metadata_is_made_anew_as_a_whole_or_in_part(void **state)
{
	struct world *w = *state;
	struct uuid media = ingested(w), part = ingested(w), picture = world_media(w, "image", "Picture");
	struct req *r = call(w, "PUT", path_of(w, media, ""), "{}");

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.status"), "queued");
	assert_int_equal(anew(w, media, "waveform") + anew(w, media, "transcribe") + anew(w, media, "publish"), 3);
	assert_int_equal(anew(w, media, "chapters"), 1);
	assert_int_equal(anew(w, media, "first_rendition"), 0);
	r = call(w, "PUT", path_of(w, media, ""), NULL);
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "ingest_running");

	/* Languages want transcripts, whatever else is wanted. */
	r = call(w, "PUT", path_of(w, part, ""),
	    "{\"extract\":[\"waveform\"],\"transcriptionLanguageCodes\":[\"de\",\"translate-en\"]}");
	assert_int_equal(r->status, 200);
	assert_int_equal(anew(w, part, "waveform"), 1);
	assert_int_equal(anew(w, part, "transcribe"), 2);

	/* A picture has nothing of the kind: fine, unless it is asked for by name. */
	db_run(w->db, "UPDATE media SET ingest_job_id = id, generation = ? WHERE id = ?", ARGS(STR(uuid_text(w->mem,
	    picture)), ID(picture)));
	assert_int_equal(call(w, "PUT", path_of(w, picture, ""), "{}")->status, 200);
	r = call(w, "PUT", path_of(w, picture, ""), "{\"extract\":[\"waveform\"]}");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/extract", "not_allowed"));
}

static const char *
transcript_text(struct world *w, struct uuid media, struct uuid id)
{
	return text(w, call(w, "GET", path_of(w, media, arena_printf(w->mem, "/transcripts/%s", uuid_text(w->mem, id))),
	    NULL), "data.paragraphs.1.text");
}

static void
deleted_metadata_leaves_the_words_of_people_and_the_facts_of_the_file(void **state)
{
	struct world *w = *state;
	struct uuid media = ingested(w), beside = ingested(w), human, machine = add_transcript(w, media, "de");
	struct turn turns[] = { { { 0, true }, { 9000, true } } };
	struct speaker voice = { .speaker_id = speakers_new(w->db, w->tenant_id, media), .number = 1,
	    .turns = { turns, 1 } }, named = { .speaker_id = speakers_new(w->db, w->tenant_id, media), .number = 2,
	    .turns = { turns, 1 } };
	struct req *r;

	human = add_transcript(w, media, "en");
	add_transcript(w, beside, "en");
	db_run(w->db, "UPDATE transcripts SET source = 'human' WHERE id = ?", ARGS(ID(human)));
	db_run(w->db, "UPDATE media SET captions = ? WHERE id = ?", ARGS(STR(arena_printf(w->mem,
	    "[{\"languageCode\":\"de\",\"label\":\"Deutsch\",\"file\":\"captions/%s.1.vtt\"}]", uuid_text(w->mem, machine))),
	    ID(media)));
	metadata_put(w->db, media, "keywords", "test", "{\"items\":[{\"name\":\"secret\"}]}");
	metadata_put(w->db, media, "summarySentences", "test", "{\"text\":\"Secret.\",\"items\":[]}");
	metadata_put(w->db, beside, "keywords", "test", "{\"items\":[{\"name\":\"secret\"}]}");
	speakers_put(w->db, media, &voice);
	speakers_put(w->db, media, &named);
	db_run(w->db, "UPDATE speakers SET label = 'Ann', source = 'human' WHERE id = ?", ARGS(ID(named.speaker_id)));
	db_run(w->db, "INSERT INTO chapters (id, media_id, name, type, created_at, updated_at) VALUES (?, ?, 'Made', "
	    "'autogenerated', 1, 1)", ARGS(ID(uuid_new()), ID(media)));
	db_run(w->db, "DELETE FROM search_pending WHERE media_id = ?", ARGS(ID(media)));

	r = call(w, "DELETE", path_of(w, media, ""), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.permanent"), "true");
	r = call(w, "GET", path_of(w, media, "?expand=keywords,speakers,file"), NULL);
	assert_string_equal(text(w, r, "data.keywords.count"), "0");
	assert_string_equal(text(w, r, "data.speakers.count"), "1");
	assert_string_equal(text(w, r, "data.speakers.items.0.label"), "Ann");
	assert_string_equal(text(w, r, "data.file.count"), "1");
	assert_null(text(w, r, "data.summary"));
	assert_string_equal(transcript_text(w, media, human), "Goodbye.");
	assert_null(transcript_text(w, media, machine));
	assert_int_equal(number(w, "FROM speakers WHERE id = ?", ARGS(ID(voice.speaker_id))), 0);
	assert_int_equal(number(w, "FROM media WHERE id = ? AND captions LIKE '%.vtt%'", ARGS(ID(media))), 0);
	assert_int_equal(number(w, "FROM search_pending WHERE media_id = ?", ARGS(ID(media))), 1);
	assert_int_equal(number(w, "FROM metadata WHERE media_id = ?", ARGS(ID(beside))), 2);
	assert_int_equal(number(w, "FROM transcripts WHERE media_id = ?", ARGS(ID(beside))), 1);

	/* What has gone makes no job that would bring it back, nor does what people have changed just before. */
	assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'gist' AND state <> 'cancelled'",
	    ARGS(ID(media))), 0);

	/* Chapters are made anew of what is left; as long as a step has not ended, it would bring something back. */
	assert_int_equal(anew(w, media, "chapters"), 1);
	assert_int_equal(anew(w, media, "transcribe") + anew(w, media, "keywords"), 0);
	metadata_put(w->db, media, "keywords", "test", "{\"items\":[{\"name\":\"secret\"}]}");
	r = call(w, "DELETE", path_of(w, media, ""), NULL);
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "ingest_running");
	assert_int_equal(number(w, "FROM metadata WHERE media_id = ?", ARGS(ID(media))), 2);
}

/* Of all that there is no asset has everything: that is what is wrong, not how much was named. */
static void
all_that_can_be_made_anew_can_be_named(void **state)
{
	struct world *w = *state;
	struct buf body = BUF(w->mem);
	const char *at = PLAN_MAKES;
	struct req *r;

	buf_text(&body, "{\"extract\":[\"");
	for (; *at != '\0'; at++)
		if (*at == ' ')
			buf_text(&body, "\",\"");
		else
			buf_char(&body, *at);
	buf_text(&body, "\"]}");
	r = call(w, "PUT", path_of(w, ingested(w), ""), buf_string(&body));
	assert_true(has_fault(r, "/extract", "not_allowed"));
	assert_false(has_fault(r, "/extract", "too_many"));
}

static void
what_cannot_be_made_anew_is_refused_and_changes_nothing(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid media = ingested(w);
	const char *viewer = world_member(w, "ViewMetadata CreateContent", "Viewer", NULL);
	int64_t before = number(w, "FROM jobs t WHERE t.media_id = ?", ARGS(ID(media)));
	struct req *r;

	r = call(w, "PUT", path_of(w, media, ""), "{\"extract\":[\"waveform\",\"renditions\"]}");
	assert_int_equal(r->status, 422);
	r = call(w, "PUT", path_of(w, media, ""), "{\"transcriptionLanguageCodes\":[\"en\",\"EN\",\"no such\"]}");
	assert_true(has_fault(r, "/transcriptionLanguageCodes/1", "duplicate"));
	assert_true(has_fault(r, "/transcriptionLanguageCodes/2", "format"));
	assert_int_equal(call(w, "PUT", path_of(w, media, ""), "{\"extract\":[]}")->status, 422);
	assert_int_equal(call_as(w, viewer, "PUT", path_of(w, media, ""), "{}")->status, 403);
	assert_int_equal(call(other, "PUT", path_of(w, media, ""), "{}")->status, 404);
	db_run(w->db, "UPDATE media SET ingest_job_id = id WHERE id = ?", ARGS(ID(media)));
	r = call(w, "PUT", path_of(w, media, ""), "{}");
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "ingest_over");
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ?", ARGS(ID(media))), before);
}

static void
a_decision_about_captions_is_taken_by_who_may_change_the_asset(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *path = path_of(w, media, arena_printf(w->mem, "/transcripts/%s", uuid_text(w->mem, id)));
	const char *viewer = world_member(w, "ViewMetadata CreateContent", "Viewer", NULL);
	struct req *r;

	assert_int_equal(call_as(w, viewer, "PATCH", path, "{\"captions\":\"withheld\"}")->status, 403);
	r = call(w, "PATCH", path, "{\"quality\":\"good\",\"captions\":\"always\"}");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/quality", "read_only") && has_fault(r, "/captions", "not_allowed"));
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.captions"), "automatic");
	/* There is no file yet, as of a transcript that came before its captions. */
	r = call(w, "PATCH", path, "{\"captions\":\"published\"}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.version"), "2");
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'captions'", ARGS(ID(media))), 1);
	assert_int_equal(number(w, "FROM events t WHERE t.media_id = ? AND t.type = 'metadata.updated'",
	    ARGS(ID(media))), 1);
	/* The same once more changes nothing. */
	r = call(w, "PATCH", path, "{\"captions\":\"published\"}");
	assert_string_equal(text(w, r, "data.version"), "2");
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'captions'", ARGS(ID(media))), 1);
	db_run(w->db, "UPDATE media SET captions = ? WHERE id = ?", ARGS(STR(arena_printf(w->mem, "[{\"languageCode\":"
	    "\"de\",\"label\":\"Deutsch\",\"file\":\"captions/other.1.vtt\"},{\"languageCode\":\"en\",\"label\":"
	    "\"English\",\"file\":\"captions/%s.1.vtt\"}]", uuid_text(w->mem, id))), ID(media)));
	r = call(w, "PATCH", path, "{\"captions\":\"withheld\"}");
	assert_int_equal(r->status, 200);
	assert_string_equal(db_text(w->db, "SELECT captions FROM media WHERE id = ?", ARGS(ID(media))),
	    "[{\"languageCode\":\"de\",\"label\":\"Deutsch\",\"file\":\"captions/other.1.vtt\"}]");
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'purge'", ARGS(ID(media))), 1);
}

static void
a_person_changes_words_and_all_that_is_made_of_them_follows(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *path = one(w, media, id, ""), *first = text(w, call(w, "GET", path, NULL), "data.paragraphs.0.id");
	const char *tag = arena_copy(w->mem, write_text(w, path, first, "Hello, brave world", NULL)->etag);
	struct req *r = call(w, "GET", path, NULL);

	/* As a GET answers, names of speakers and all. */
	assert_string_equal(r->etag, tag);
	assert_int_equal(strncmp(tag, "\"2-", 3), 0);
	assert_string_equal(text(w, r, "data.source"), "human");
	assert_string_equal(text(w, r, "data.paragraphs.0.text"), "Hello, brave world");
	assert_string_equal(text(w, r, "data.paragraphs.0.id"), first);
	assert_string_equal(text(w, r, "data.paragraphs.0.words.0.source"), "human");
	assert_null(text(w, r, "data.paragraphs.0.words.0.confidence"));
	assert_null(text(w, r, "data.paragraphs.0.words.0.estimated"));
	assert_string_equal(text(w, r, "data.paragraphs.0.words.1.estimated"), "true");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.2.start"), "0.400");
	assert_string_equal(text(w, r, "data.paragraphs.1.speaker"), "Ada");
	assert_string_equal(text(w, r, "data.cueCount"), "2");
	/* Downloads at once, captions and the index by jobs, others by the event. */
	assert_non_null(strstr(buf_string(&call(w, "GET", download_path(w, media, id, "?transcriptDownloadType=srt"),
	    NULL)->out), "Hello, brave world"));
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'captions'", ARGS(ID(media))), 1);
	assert_int_equal(number(w, "FROM search_pending t WHERE t.media_id = ?", ARGS(ID(media))), 1);
	assert_int_equal(number(w, "FROM events t WHERE t.media_id = ? AND t.type = 'metadata.updated'",
	    ARGS(ID(media))), 1);
	/* The same once more is no change. */
	r = write_text(w, path, first, " Hello, brave\\tworld", NULL);
	assert_int_equal(r->status, 200);
	assert_int_equal(strncmp(r->etag, "\"2-", 3), 0);
	assert_int_equal(number(w, "FROM transcript_versions t WHERE t.transcript_id = ?", ARGS(ID(id))), 2);
	/* Both at once: the words, and that nobody sees them. */
	r = call(w, "PATCH", path, arena_printf(w->mem, "{\"captions\":\"withheld\",\"paragraphs\":[{\"id\":\"%s\","
	    "\"text\":\"Goodbye\"}]}", first));
	assert_string_equal(text(w, r, "data.captions"), "withheld");
	assert_string_equal(text(w, r, "data.paragraphs.0.text"), "Goodbye");
	assert_int_equal(strncmp(r->etag, "\"3-", 3), 0);
}

static void
who_writes_on_an_older_version_is_told_and_nothing_is_lost(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *path = one(w, media, id, "");
	struct req *r = call(w, "GET", path, NULL);
	const char *first = text(w, r, "data.paragraphs.0.id"), *second = text(w, r, "data.paragraphs.1.id");

	assert_int_equal(write_text(w, path, first, "Hello moon", "\"1\"")->status, 200);
	r = write_text(w, path, first, "Hello sun", "\"1\"");
	assert_int_equal(r->status, 412);
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.paragraphs.0.text"), "Hello moon");
	/* Who does not ask changes what it names, and nothing else. */
	assert_int_equal(write_text(w, path, second, "Farewell.", NULL)->status, 200);
	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.paragraphs.0.text"), "Hello moon");
	assert_string_equal(text(w, r, "data.paragraphs.1.text"), "Farewell.");
	r = call_req(w, &(struct req){ .if_match = "\"1\"" }, w->token, "PUT", one(w, media, id, "/versions/1/restore"),
	    NULL);
	assert_int_equal(r->status, 412);
}

static void
older_words_are_kept_with_who_has_changed_them_and_come_back(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *path = one(w, media, id, ""), *versions = one(w, media, id, "/versions"), *before, *second;
	struct req *r = call(w, "GET", versions, NULL);

	assert_string_equal(text(w, r, "pagination.total"), "0");
	before = db_text(w->db, "SELECT paragraphs FROM transcripts WHERE id = ?", ARGS(ID(id)));
	r = call(w, "GET", path, NULL);
	second = text(w, r, "data.paragraphs.1.id");
	write_text(w, path, text(w, r, "data.paragraphs.0.id"), "One\\n\\nTwo", NULL);
	write_text(w, path, second, "", NULL);
	r = call(w, "GET", versions, NULL);
	assert_string_equal(text(w, r, "pagination.total"), "3");
	assert_string_equal(text(w, r, "data.0.version"), "3");
	assert_string_equal(text(w, r, "data.0.origin"), "edited");
	assert_string_equal(text(w, r, "data.0.changed"), "1");
	assert_string_equal(text(w, r, "data.0.changedBy.id"), uuid_text(w->mem, w->client_id));
	assert_string_equal(text(w, r, "data.2.version"), "1");
	assert_string_equal(text(w, r, "data.2.origin"), "transcribed");
	assert_null(text(w, r, "data.2.changedBy.id"));
	assert_null(text(w, r, "data.0.paragraphs"));
	r = call(w, "GET", one(w, media, id, "/versions/2"), NULL);
	assert_string_equal(text(w, r, "data.paragraphs.1.text"), "Two");
	assert_string_equal(text(w, r, "data.paragraphs.2.text"), "Goodbye.");
	assert_string_equal(text(w, call(w, "GET", one(w, media, id, "/versions/3"), NULL), "data.paragraphs.1.text"),
	    "Two");
	/* A version that is like another is a new one; the words are a person's choice, and the engine's own. */
	r = call(w, "PUT", one(w, media, id, "/versions/1/restore"), NULL);
	assert_int_equal(r->status, 200);
	assert_int_equal(strncmp(r->etag, "\"4-", 3), 0);
	assert_string_equal(text(w, r, "data.source"), "human");
	assert_string_equal(db_text(w->db, "SELECT paragraphs FROM transcripts WHERE id = ?", ARGS(ID(id))), before);
	r = call(w, "GET", versions, NULL);
	assert_string_equal(text(w, r, "data.0.origin"), "restored");
	assert_string_equal(text(w, r, "data.0.restoredVersion"), "1");
	assert_string_equal(text(w, call(w, "GET", one(w, media, id, "/versions/3"), NULL), "data.paragraphs.0.text"),
	    "One");
	/* What it is already is no change. */
	r = call(w, "PUT", one(w, media, id, "/versions/1/restore"), NULL);
	assert_int_equal(strncmp(r->etag, "\"4-", 3), 0);
}

static void
versions_that_are_not_there_are_refused(void **state)
{
	static const char *const words[] = { "0", "2", "01", "-1", "1x", "x", "999999999999999999999", "%20" };
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *path = one(w, media, id, arena_printf(w->mem, "/versions/%s", words[i]));

		assert_int_equal(call(w, "GET", path, NULL)->status, 404);
		assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/restore", path), NULL)->status, 404);
	}
}

static void
changes_that_name_no_paragraph_are_refused_as_a_whole(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en"),
	    other = add_transcript(w, world_media(w, "video", "Other"), "en");
	const char *path = one(w, media, id, ""), *first = text(w, call(w, "GET", path, NULL), "data.paragraphs.0.id"),
	    *theirs = db_text(w->db, "SELECT JSON_VALUE(paragraphs, '$[0].id') FROM transcripts WHERE id = ?",
	    ARGS(ID(other)));
	struct req *r = call(w, "PATCH", path, arena_printf(w->mem, "{\"paragraphs\":[{\"id\":\"%s\",\"text\":\"x\"},"
	    "{\"id\":\"%s\",\"text\":\"y\"},{\"id\":\"%s\",\"text\":\"z\"}]}", first, theirs, first));

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/paragraphs/1/id", "not_found"));
	assert_true(has_fault(r, "/paragraphs/2/id", "duplicate"));
	assert_int_equal(call(w, "PATCH", path, "{\"paragraphs\":[]}")->status, 422);
	assert_int_equal(call(w, "PATCH", path, "{\"paragraphs\":null}")->status, 422);
	assert_true(has_fault(call(w, "PATCH", path, arena_printf(w->mem, "{\"paragraphs\":[{\"id\":\"%s\"}]}", first)),
	    "/paragraphs/0/text", "required"));
	r = call(w, "GET", path, NULL);
	assert_true(strncmp(r->etag, "\"1-", 3) == 0);
	assert_string_equal(text(w, r, "data.paragraphs.0.text"), "Hello <world>");
	assert_string_equal(text(w, call(w, "GET", one(w, media, id, "/versions"), NULL), "pagination.total"), "0");
}

static void
the_oldest_versions_go(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *path = one(w, media, id, ""), *first = text(w, call(w, "GET", path, NULL), "data.paragraphs.0.id");
	int i;

	for (i = 2; i <= 5; i++)
		write_text(w, path, first, arena_printf(w->mem, "Version %d", i), NULL);
	/* What is behind 24 MiB of changes cannot be read any more. */
	db_run(w->db, "UPDATE transcript_versions SET size = 13 << 20 WHERE transcript_id = ? AND version >= 4",
	    ARGS(ID(id)));
	write_text(w, path, first, "Version 6", NULL);
	assert_string_equal(text(w, call(w, "GET", one(w, media, id, "/versions"), NULL), "pagination.total"), "3");
	assert_string_equal(text(w, call(w, "GET", one(w, media, id, "/versions/4"), NULL), "data.paragraphs.0.text"),
	    "Version 4");
	assert_int_equal(call(w, "GET", one(w, media, id, "/versions/3"), NULL)->status, 404);
	for (i = 7; i <= 505; i++)
		db_run(w->db, "INSERT INTO transcript_versions (id, transcript_id, version, origin, was, created_at) "
		    "VALUES (?, ?, ?, 'edited', '[]', 1)", ARGS(ID(uuid_new()), ID(id), INT(i)));
	db_run(w->db, "UPDATE transcripts SET version = 505 WHERE id = ?", ARGS(ID(id)));
	db_run(w->db, "UPDATE transcript_versions SET size = 1 WHERE transcript_id = ?", ARGS(ID(id)));
	write_text(w, path, first, "Version 506", NULL);
	assert_int_equal(number(w, "FROM transcript_versions t WHERE t.transcript_id = ?", ARGS(ID(id))), 500);
	assert_string_equal(text(w, call(w, "GET", one(w, media, id, "/versions/505"), NULL), "data.paragraphs.0.text"),
	    "Version 6");
}

/* `n` times the bytes of `text`. */
static const char *
repeated(struct world *w, const char *text, size_t n)
{
	struct buf b = BUF(w->mem);

	while (n-- > 0)
		buf_text(&b, text);
	return buf_string(&b);
}

static void
a_change_of_too_many_words_is_refused_before_it_takes_memory(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	const char *path = one(w, media, id, ""), *change = arena_printf(w->mem,
	    "{\"id\":\"%s\",\"text\":\"%s\"},", text(w,
	    call(w, "GET", path, NULL), "data.paragraphs.0.id"), repeated(w, "a ", 9000));
	const char *body = arena_printf(w->mem, "{\"paragraphs\":[%s%s]}", repeated(w, change, 50), "{\"id\":"
	    "\"01900000-0000-7000-8000-000000000000\",\"text\":\"b\"}");
	const size_t before = arena_used(w->mem);
	struct req *r = call(w, "PATCH", path, body);

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/paragraphs", "too_long"));
	assert_true(arena_used(w->mem) - before < 20 << 20);
	assert_string_equal(text(w, call(w, "GET", path, NULL), "data.version"), "1");
}

static void
the_first_of_many_versions_of_many_paragraphs_fits_into_a_request(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Talk"), id = add_transcript(w, media, "en");
	size_t before;
	int i;

	db_run(w->db, "UPDATE transcripts SET paragraphs = ?, version = 500, source = 'human' WHERE id = ?",
	    ARGS(STR(arena_printf(w->mem, "[%s{\"id\":\"01900000-0000-7000-8000-000000000001\",\"start\":0,\"end\":1,"
	    "\"text\":\"b\",\"words\":[]}]", repeated(w, "{\"id\":\"01900000-0000-7000-8000-000000000000\","
	    "\"start\":0,\"end\":1,\"text\":\"a\",\"words\":[]},", 4000))), ID(id)));
	for (i = 1; i <= 500; i++)
		assert_true(db_run(w->db, "INSERT INTO transcript_versions (id, transcript_id, version, origin, was, "
		    "created_at) VALUES (?, ?, ?, 'edited', '[]', 1)", ARGS(ID(uuid_new()), ID(id), INT(i))) == 1);
	before = arena_used(w->mem);
	assert_int_equal(call(w, "GET", one(w, media, id, "/versions/1"), NULL)->status, 200);
	assert_true(arena_used(w->mem) - before < 60 << 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_transcript_shows_its_words_and_a_list_does_not),
		WORLD_TEST(downloads_come_in_the_form_asked_for),
		WORLD_TEST(forms_that_are_not_there_are_refused_by_name),
		WORLD_TEST(documents_look_as_the_tenant_has_decided),
		WORLD_TEST(a_design_of_something_else_is_refused),
		WORLD_TEST(file_names_are_safe_whatever_the_asset_is_called),
		WORLD_TEST(transcripts_belong_to_their_asset_and_tenant),
		WORLD_TEST(players_learn_who_answers_for_the_captions),
		WORLD_TEST(the_longest_transcripts_fit_into_a_request),
		WORLD_TEST(a_decision_about_captions_is_taken_by_who_may_change_the_asset),
		WORLD_TEST(a_person_changes_words_and_all_that_is_made_of_them_follows),
		WORLD_TEST(who_writes_on_an_older_version_is_told_and_nothing_is_lost),
		WORLD_TEST(older_words_are_kept_with_who_has_changed_them_and_come_back),
		WORLD_TEST(versions_that_are_not_there_are_refused),
		WORLD_TEST(changes_that_name_no_paragraph_are_refused_as_a_whole),
		WORLD_TEST(the_oldest_versions_go),
		WORLD_TEST(a_change_of_too_many_words_is_refused_before_it_takes_memory),
		WORLD_TEST(the_first_of_many_versions_of_many_paragraphs_fits_into_a_request),
		WORLD_TEST(a_text_gets_the_times_that_were_heard),
		WORLD_TEST(metadata_counts_everything_and_shows_what_is_asked_for),
		WORLD_TEST(deleted_metadata_leaves_the_words_of_people_and_the_facts_of_the_file),
		WORLD_TEST(metadata_is_made_anew_as_a_whole_or_in_part),
		WORLD_TEST(all_that_can_be_made_anew_can_be_named),
		WORLD_TEST(what_cannot_be_made_anew_is_refused_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
