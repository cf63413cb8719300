/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of subtitles: they become transcripts, in the place of those that are there, and come back as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/translate.h"
#include "media/transcript.h"
#include "tests/world.h"

#define SRT "1\n00:00:01,000 --> 00:00:02,500\nGr\u00fc\u00dfe aus K\u00f6ln.\n\n2\n00:00:03,000 --> 00:00:05,000\n" \
    "Es regnet\nin Str\u00f6men.\n\n"

static const char *
path_of(struct world *w, struct uuid media, const char *rest)
{
	return arena_printf(w->mem, "/v2/media/%s/subtitles%s", uuid_text(w->mem, media), rest);
}

static struct uuid
playing(struct world *w)
{
	struct uuid media = world_media(w, "video", "Talk");

	db_run(w->db, "UPDATE media SET duration = 60000, language_code = 'en' WHERE id = ?", ARGS(ID(media)));
	return media;
}

static const char *
stored(struct world *w, struct uuid media)
{
	return db_text(w->db, "SELECT GROUP_CONCAT(CONCAT_WS('|', HEX(id), language_code, source, version, paragraphs) "
	    "ORDER BY id) FROM transcripts WHERE media_id = ?", ARGS(ID(media)));
}

static void
a_file_becomes_the_transcript_of_its_language(void **state)
{
	struct world *w = *state;
	struct uuid media = playing(w);
	struct req *r = call(w, "POST", path_of(w, media, "?languageCode=ger"), SRT);
	const char *id = text(w, r, "data.id"), *one = path_of(w, media, arena_printf(w->mem, "/%s", id)), *whole;

	assert_int_equal(r->status, 201);
	assert_string_equal(r->location, one);
	assert_string_equal(text(w, r, "data.languageCode"), "de");
	assert_string_equal(text(w, r, "data.label"), "Deutsch");
	assert_string_equal(text(w, r, "data.source"), "import");
	assert_string_equal(text(w, r, "data.cueCount"), "2");
	assert_string_equal(text(w, r, "data.transcriptId"), id);
	assert_string_equal(text(w, r, "data.isDefault"), "false");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s", uuid_text(w->mem, media), id),
	    NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.engine"), "SubRip");
	whole = text(w, r, "data.paragraphs.0.text");
	assert_string_equal(whole, "Gr\u00fc\u00dfe aus K\u00f6ln. Es regnet in Str\u00f6men.");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.3.source"), "import");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.3.start"), "3.000");
	r = call(w, "GET", path_of(w, media, arena_printf(w->mem, "/%s/download?format=srt", id)), NULL);
	assert_string_equal(buf_string(&r->out), SRT);
	assert_non_null(strstr(r->disposition, "filename=\"Talk.de.srt\""));
	r = call(w, "GET", path_of(w, media, ""), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	r = call(w, "GET", path_of(w, media, "/languages"), NULL);
	assert_string_equal(text(w, r, "data.0.code"), "de");
	assert_string_equal(text(w, r, "data.0.name"), "Deutsch");
	/* Its captions are written and its words found by jobs. */
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'captions'", ARGS(ID(media))), 1);
	world_index(w, media);
	assert_true(number(w, "FROM search_words t WHERE t.media_id = ? AND t.word = 'regnet'", ARGS(ID(media))) > 0);
	assert_int_equal(call(w, "DELETE", one, NULL)->status, 200);
	assert_int_equal(call(w, "GET", one, NULL)->status, 404);
	assert_int_equal(number(w, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(media))), 0);
	world_index(w, media);
	assert_int_equal(number(w, "FROM search_words t WHERE t.media_id = ? AND t.word = 'regnet'", ARGS(ID(media))),
	    0);
}

static void
a_file_without_a_language_is_of_the_one_that_it_is_written_in(void **state)
{
	struct world *w = *state;
	struct uuid media = playing(w);
	static const char *const untold[] = { "1\n00:00:01,000 --> 00:00:02,000\nHallo!\n",
		"1\n00:00:01,000 --> 00:00:02,000\n\U0001f600 \U0001f389 \U0001f680 \U0001f600 \U0001f680\n",
		"1\n00:00:01,000 --> 00:00:02,000\nGuten Tag und willkommen zu diesem Vortrag.\n\n"
		"2\n00:00:03,000 --> 00:00:04,000\nHello everybody and welcome to this talk today.\n" };
	struct req *r = call(w, "POST", path_of(w, media, ""), SRT);
	const char *before;
	size_t i;

	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.languageCode"), "de");
	assert_string_equal(text(w, r, "data.languageOrigin.by"), "machine");
	assert_string_equal(text(w, r, "data.languageOrigin.engine"), "CLD2");
	assert_true(strtod(text(w, r, "data.languageOrigin.confidence"), NULL) > 0.8);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s", uuid_text(w->mem, media),
	    text(w, r, "data.id")), NULL);
	assert_string_equal(text(w, r, "data.languageOrigin.by"), "machine");
	/* Who names it is right, whatever the text looks like. */
	r = call(w, "POST", path_of(w, media, "?languageCode=de"), SRT);
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.languageOrigin.by"), "human");
	assert_null(text(w, r, "data.languageOrigin.engine"));
	before = stored(w, media);
	for (i = 0; i < sizeof(untold) / sizeof(untold[0]); i++) {
		r = call(w, "POST", path_of(w, media, ""), untold[i]);
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "languageCode", "required"));
	}
	assert_string_equal(stored(w, media), before);
	r = call(w, "POST", path_of(w, media, ""), "1\n00:00:01,000 --> 00:00:03,000\n"
	    "\u0421\u0435\u0433\u043e\u0434\u043d\u044f "
	    "\u043c\u044b \u043f\u043e\u0433\u043e\u0432\u043e\u0440\u0438\u043c.\n");
	assert_string_equal(text(w, r, "data.languageCode"), "ru");
}

/* What it says counts where it is a language; whoever uploads it knows better. */
static void
a_file_that_says_its_language_is_of_that_one(void **state)
{
	static const char said[] = "Guten Tag und willkommen zu diesem Vortrag.";
	static const char vtt[] = "\n\n00:01.000 --> 00:03.000\n";
	static const struct { const char *head, *tag, *by; } files[] = {
		{ "WEBVTT\nKind: captions\nLanguage: de-CH", "de-CH", "import" },
		{ "WEBVTT Kind: captions; Language: nl; X: y", "nl", "import" },
		{ "WEBVTT\nlanguage:\tGER", "de", "import" },
		{ "WEBVTT\nLanguage: und", "de", "machine" },
		{ "WEBVTT\nLanguage:", "de", "machine" },
		{ "WEBVTT\nLanguage: <b>nl</b>", "de", "machine" },
		{ "WEBVTT\nLanguage: nl-nl-nl-nl-nl-nl-nl-nl-nl-nl-nl-nl-nl", "de", "machine" },
		{ "WEBVTT\nMyLanguage: nl", "de", "machine" },
		{ "WEBVTT\n\nNOTE\nLanguage: nl", "de", "machine" },
	};
	struct world *w = *state;
	struct uuid media = playing(w);
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		r = call(w, "POST", path_of(w, media, ""), arena_printf(w->mem, "%s%s%s\n", files[i].head, vtt, said));
		if (r->status != 201 || strcmp(text(w, r, "data.languageCode"), files[i].tag) != 0 || strcmp(text(w, r,
		    "data.languageOrigin.by"), files[i].by) != 0)
			fail_msg("%s: %s", files[i].head, buf_string(&r->out));
	}
	for (i = 0; i < 2; i++) {
		r = call(w, "POST", path_of(w, media, ""), arena_printf(w->mem, "<tt "
		    "xmlns=\"http://www.w3.org/ns/ttml\" xml:lang=\"%s\"><body><div xml:lang=\"fr\">"
		    "<p begin=\"1s\" end=\"3s\">%s</p></div></body></tt>", i == 0 ? "nl" : "", said));
		assert_int_equal(r->status, 201);
		assert_string_equal(text(w, r, "data.languageCode"), i == 0 ? "nl" : "de");
	}
	r = call(w, "POST", path_of(w, media, "?languageCode=sv"), arena_printf(w->mem, "WEBVTT\nLanguage: nl%s%s\n",
	    vtt, said));
	assert_string_equal(text(w, r, "data.languageCode"), "sv");
	assert_string_equal(text(w, r, "data.languageOrigin.by"), "human");
}

static void
another_file_replaces_the_transcript_in_its_place(void **state)
{
	struct world *w = *state;
	struct uuid media = playing(w), id = uuid_new();
	struct req *r;

	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, quality, "
	    "captions, confidence, paragraphs, created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'test 1', 'completed', "
	    "'unreliable', 'withheld', 0.3, '[]', 1, 1)", ARGS(ID(id), ID(media)));
	r = call(w, "POST", path_of(w, media, "?languageCode=en"),
	    "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ada>Hello.\n");
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.id"), uuid_text(w->mem, id));
	assert_string_equal(text(w, r, "data.version"), "2");
	assert_string_equal(text(w, r, "data.isDefault"), "true");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s", uuid_text(w->mem, media),
	    uuid_text(w->mem, id)), NULL);
	assert_string_equal(text(w, r, "data.paragraphs.0.speaker"), "Ada");
	assert_string_equal(text(w, r, "data.captions"), "automatic");
	assert_null(text(w, r, "data.confidence"));
	assert_int_equal(number(w, "FROM transcripts t WHERE t.media_id = ? AND t.quality IS NULL", ARGS(ID(media))),
	    1);
	assert_int_equal(number(w, "FROM events t WHERE t.media_id = ? AND t.type = 'metadata.updated'",
	    ARGS(ID(media))), 1);
}

static void
what_was_said_before_an_upload_stays_in_the_history(void **state)
{
	struct world *w = *state;
	struct uuid media = playing(w);
	const char *id, *path;
	struct req *r = call(w, "POST", path_of(w, media, "?languageCode=de"), SRT);

	id = text(w, r, "data.id");
	path = arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s", uuid_text(w->mem, media), id);
	r = call(w, "POST", path_of(w, media, "?languageCode=de"), "1\n00:00:01,000 --> 00:00:02,000\nHallo.\n");
	assert_string_equal(text(w, r, "data.id"), id);
	r = call(w, "GET", arena_printf(w->mem, "%s/versions", path), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_string_equal(text(w, r, "data.0.origin"), "uploaded");
	assert_string_equal(text(w, r, "data.0.changedBy.id"), uuid_text(w->mem, w->client_id));
	r = call(w, "PUT", arena_printf(w->mem, "%s/versions/1/restore", path), NULL);
	assert_int_equal(r->status, 200);
	r = call(w, "GET", path_of(w, media, arena_printf(w->mem, "/%s/download?format=srt", id)), NULL);
	assert_string_equal(buf_string(&r->out), SRT);
}

static void
words_that_a_person_has_taken_out_are_in_the_history_behind_an_upload(void **state)
{
	struct world *w = *state;
	struct uuid media = playing(w);
	const char *path, *paragraph;
	struct req *r = call(w, "POST", path_of(w, media, "?languageCode=de"), "1\n00:00:01,000 --> 00:00:02,000\n"
	    "Hallo.\n");

	path = arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s", uuid_text(w->mem, media), text(w, r,
	    "data.id"));
	paragraph = text(w, call(w, "GET", path, NULL), "data.paragraphs.0.id");
	r = call(w, "PATCH", path, arena_printf(w->mem, "{\"paragraphs\":[{\"id\":\"%s\",\"text\":\"\"}]}", paragraph));
	assert_int_equal(r->status, 200);
	assert_int_equal(call(w, "POST", path_of(w, media, "?languageCode=de"), SRT)->status, 201);
	r = call(w, "GET", arena_printf(w->mem, "%s/versions/1", path), NULL);
	assert_string_equal(text(w, r, "data.paragraphs.0.text"), "Hallo.");
	assert_null(text(w, r, "data.paragraphs.1.text"));
}

static void
bad_files_name_their_line_and_change_nothing(void **state)
{
	static const struct { const char *file, *code, *detail; } cases[] = {
		{ SRT "3\n00:00:07.x00 --> 00:00:09,000\nlost\n", "unreadable", "line 11: times are wanted here, as "
		    "00:01:02,500 --> 00:01:04,000; it says: 00:00:07.x00 --> 00:00:09,000" },
		{ "\n\n\211PNG\r\n\032\n", "unreadable", "line 3: there is no subtitle in the file" },
		{ "<tt><body><p begin='1s' end='later'>x</p></body></tt>", "unreadable", "line 1: times are wanted here, as "
		    "begin=\"00:01:02.500\"" },
		{ "<!DOCTYPE tt [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n<tt><body><p begin='1s' end='2s'>&x;</p></body></tt>",
		    "unreadable", "line 1: declarations, and tags of that length, are not taken" },
		{ "WEBVTT\n\n", "unreadable", "line 1: there is no subtitle in the file" },
		{ "", "unreadable", "the file is empty" },
		{ "1\n00:02:00,000 --> 00:02:01,000\nlate\n", "no_text", "all of it is after the end" },
		{ "1\n00:00:00,000 --> 00:00:01,000\n<i> </i>\n", "no_text", "no subtitle has a word in it" },
	};
	struct world *w = *state;
	struct uuid media = playing(w);
	struct buf long_one = BUF(w->mem), many = BUF(w->mem);
	const char *before;
	struct req *r;

	assert_int_equal(call(w, "POST", path_of(w, media, "?languageCode=de"), SRT)->status, 201);
	before = stored(w, media);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = call(w, "POST", path_of(w, media, "?languageCode=de"), cases[i].file);
		assert_int_equal(r->status, 422);
		assert_string_equal(text(w, r, "data.errors.0.code"), cases[i].code);
		if (strstr(text(w, r, "data.errors.0.detail"), cases[i].detail) == NULL)
			fail_msg("%s", text(w, r, "data.errors.0.detail"));
	}
	buf_text(&long_one, SRT "3\n00:00:07,000 --> 00:00:09,000\n");
	for (int i = 0; i < 1000; i++)
		buf_text(&long_one, "word ");
	r = call(w, "POST", path_of(w, media, "?languageCode=de"), buf_string(&long_one));
	assert_non_null(strstr(text(w, r, "data.errors.0.detail"), "line 11: the subtitle that begins here"));
	for (int i = 0; i < 100001; i++)
		buf_text(&many, "\n00:01 --> 00:02\na b\n");
	r = call(w, "POST", path_of(w, media, "?languageCode=de"), buf_string(&many));
	assert_string_equal(text(w, r, "data.errors.0.code"), "too_many");
	many.text[many.len - strlen("\n00:01 --> 00:02\na b\n")] = '\0';
	r = call(w, "POST", path_of(w, media, "?languageCode=de"), many.text);
	assert_string_equal(text(w, r, "data.errors.0.code"), "too_long");
	assert_string_equal(stored(w, media), before);
	assert_int_equal(call(w, "POST", path_of(w, media, "?languageCode=translate-en"), SRT)->status, 422);
	r = call(w, "POST", path_of(w, world_media(w, "document", "Paper"), "?languageCode=de"), SRT);
	assert_string_equal(text(w, r, "data.code"), "no_duration");
	for (int i = 1; i < 30; i++)
		db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, "
		    "paragraphs, created_at, updated_at) VALUES (?, ?, ?, 'machine', 'test 1', 'failed', '[]', 1, 1)",
		    ARGS(ID(uuid_new()), ID(media), STR(arena_printf(w->mem, "x%c", 'a' + i))));
	r = call(w, "POST", path_of(w, media, "?languageCode=en"), SRT);
	assert_true(has_fault(r, "languageCode", "too_many"));
	assert_int_equal(call(w, "POST", path_of(w, media, "?languageCode=de-v2"), SRT)->status, 201);
}

static void
ttml_comes_in_and_goes_out(void **state)
{
	struct world *w = *state;
	struct uuid media = playing(w);
	struct req *r = call(w, "POST", path_of(w, media, "?languageCode=de"),
	    "<tt xmlns=\"http://www.w3.org/ns/ttml\"><body><div><p begin=\"1s\" end=\"2.5s\">Gr\u00fc\u00dfe aus K\u00f6ln.</p></div></body></tt>");
	const char *id = text(w, r, "data.id");

	assert_int_equal(r->status, 201);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s", uuid_text(w->mem, media), id),
	    NULL);
	assert_string_equal(text(w, r, "data.engine"), "TTML");
	r = call(w, "GET", path_of(w, media, arena_printf(w->mem, "/%s/download?format=ttml", id)), NULL);
	assert_non_null(strstr(r->disposition, "filename=\"Talk.de.ttml\""));
	assert_non_null(strstr(buf_string(&r->out), "xml:lang=\"de\""));
	assert_non_null(strstr(buf_string(&r->out), "<p begin=\"00:00:01.000\" end=\"00:00:02.500\">Gr\u00fc\u00dfe "
	    "aus K\u00f6ln.</p>"));
	r = call(w, "GET", arena_printf(w->mem,
	    "/v2/media/%s/metadata/transcripts/%s/download?transcriptDownloadType=ass", uuid_text(w->mem, media), id), NULL);
	assert_non_null(strstr(buf_string(&r->out), "Dialogue: 0,0:00:01.00,0:00:02.50,Default,,0,0,0,,Gr\u00fc\u00dfe "
	    "aus K\u00f6ln.\n"));
}

static void
what_had_to_be_mended_is_told(void **state)
{
	struct world *w = *state;
	struct uuid media = playing(w);
	struct req *r = call(w, "POST", path_of(w, media, "?languageCode=de"), "[Script Info]\n\n[Events]\n"
	    "Dialogue: 0,0:00:05.00,0:00:04.00,Default,,0,0,0,,{\\i1}K\xf6ln\n"
	    "Dialogue: 0,0:00:59.00,0:02:00.00,Default,,0,0,0,,am Rhein\n");

	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.repairs.0.code"), "encoding");
	assert_string_equal(text(w, r, "data.repairs.1.code"), "backwards");
	assert_string_equal(text(w, r, "data.repairs.1.line"), "4");
	assert_string_equal(text(w, r, "data.repairs.2.code"), "cut");
	r = call(w, "GET", path_of(w, media, arena_printf(w->mem, "/%s/download", text(w, r, "data.id"))), NULL);
	assert_string_equal(buf_string(&r->out), "WEBVTT\n\n00:00:05.000 --> 00:00:07.000\nK\u00f6ln\n\n"
	    "00:00:59.000 --> 00:01:00.000\nam Rhein\n\n");
}

static void
subtitles_are_for_who_may_see_the_metadata(void **state)
{
	struct world *w = *state;
	struct uuid media = playing(w);
	const char *path = path_of(w, media, "?languageCode=de"), *one,
	    *viewer = world_member(w, "ViewMetadata CreateContent", "Viewer", NULL),
	    *nobody = world_member(w, "ViewMetadata CreateContent", NULL, NULL),
	    *writer = world_member(w, "ViewMetadata CreateContent", "Contributor", NULL),
	    *foreign = world_other(w)->token;
	struct req *r;

	assert_int_equal(call_as(w, viewer, "POST", path, SRT)->status, 403);
	assert_int_equal(call_as(w, nobody, "POST", path, SRT)->status, 403);
	assert_int_equal(call_as(w, foreign, "POST", path, SRT)->status, 404);
	assert_int_equal(number(w, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(media))), 0);
	r = call_as(w, writer, "POST", path, SRT);
	assert_int_equal(r->status, 201);
	one = path_of(w, media, arena_printf(w->mem, "/%s", text(w, r, "data.id")));
	assert_int_equal(call_as(w, viewer, "GET", one, NULL)->status, 200);
	assert_int_equal(call_as(w, nobody, "GET", one, NULL)->status, 403);
	assert_int_equal(call_as(w, foreign, "GET", one, NULL)->status, 404);
	assert_int_equal(call_as(w, viewer, "DELETE", one, NULL)->status, 403);
	assert_int_equal(call_as(w, nobody, "DELETE", one, NULL)->status, 403);
	assert_int_equal(call_as(w, foreign, "DELETE", one, NULL)->status, 404);
	assert_int_equal(call_as(w, nobody, "GET", arena_printf(w->mem, "%s/download", one), NULL)->status, 403);
	assert_int_equal(call_as(w, foreign, "GET", arena_printf(w->mem, "%s/download", one), NULL)->status, 404);
	assert_int_equal(call_as(w, writer, "DELETE", one, NULL)->status, 200);
}

static void
languages_are_those_of_the_engine(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "GET", "/v2/languages?perpage=50", NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.0.code"), "en");
	assert_string_equal(text(w, r, "data.0.name"), "English");
	assert_string_equal(text(w, r, "data.0.isTranslation"), "false");
	/* And English of other transcripts, where Apertium is installed. */
	assert_string_equal(text(w, r, "pagination.total"), translate_any(w->conf) ? "2" : "1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_file_becomes_the_transcript_of_its_language),
		WORLD_TEST(a_file_without_a_language_is_of_the_one_that_it_is_written_in),
		WORLD_TEST(a_file_that_says_its_language_is_of_that_one),
		WORLD_TEST(another_file_replaces_the_transcript_in_its_place),
		WORLD_TEST(what_was_said_before_an_upload_stays_in_the_history),
		WORLD_TEST(words_that_a_person_has_taken_out_are_in_the_history_behind_an_upload),
		WORLD_TEST(bad_files_name_their_line_and_change_nothing),
		WORLD_TEST(ttml_comes_in_and_goes_out),
		WORLD_TEST(what_had_to_be_mended_is_told),
		WORLD_TEST(subtitles_are_for_who_may_see_the_metadata),
		WORLD_TEST(languages_are_those_of_the_engine),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
