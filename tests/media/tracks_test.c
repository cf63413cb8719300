/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What files say of their tracks, chapters and of themselves, and what is made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/av_run.h"
#include "media/language.h"
#include "media/transcript.h"
#include "tests/media/place.h"

static const struct av_file *
probe(struct place *p, const char *name, const char *command)
{
	struct fault fault = { 0 };
	const struct av_file *f = av_probe(p->mem, make(p, name, command), &fault);

	if (f == NULL)
		fail_msg("%s: %s", name, fault.detail);
	return f;
}

/* Sentences of the length of a subtitle; what is no language, too little of one, or several. */
static void
the_language_of_a_text_is_told_or_said_to_be_unknown(void **state)
{
	struct place *p = *state;
	static const struct { const char *tag, *text; } all[] = {
		{ "de", "Heute sprechen wir \u00fcber das Immunsystem." },
		{ "en", "Today we will look at the kernel." },
		{ "fr", "Nous allons parler du syst\u00e8me immunitaire." },
		{ "es", "Hoy vamos a ver c\u00f3mo funciona el sistema inmunitario." },
		{ "it", "Oggi parliamo del sistema immunitario." },
		{ "pt", "Hoje vamos falar sobre o sistema imunol\u00f3gico." },
		{ "nl", "Vandaag praten we over het immuunsysteem." },
		{ "pl", "Dzisiaj porozmawiamy o uk\u0142adzie odporno\u015bciowym." },
		{ "sv", "I dag ska vi prata om immunf\u00f6rsvaret." },
		{ "ru",
		    "\u0421\u0435\u0433\u043e\u0434\u043d\u044f \u043c\u044b \u043f\u043e\u0433\u043e"
		    "\u0432\u043e\u0440\u0438\u043c." },
		{ "uk",
		    "\u0421\u044c\u043e\u0433\u043e\u0434\u043d\u0456 \u043c\u0438 \u043f\u043e\u0433"
		    "\u043e\u0432\u043e\u0440\u0438\u043c\u043e \u043f\u0440\u043e \u043c\u0443\u0437"
		    "\u0438\u043a\u0443." },
		{ "he",
		    "\u05d4\u05d9\u05d5\u05dd \u05e0\u05d3\u05d1\u05e8 \u05e2\u05dc \u05de\u05e2\u05e8"
		    "\u05db\u05ea \u05d4\u05d7\u05d9\u05e1\u05d5\u05df." },
		{ "ja",
		    "\u4eca\u65e5\u306f\u514d\u75ab\u30b7\u30b9\u30c6\u30e0\u306b\u3064\u3044\u3066\u8a71"
		    "\u3057\u307e\u3059\u3002" },
		{ NULL, "" }, { NULL, "Hallo Welt wie" }, { NULL, "[Music] [Applause]" },
		{ NULL, "1 2 3 4 5 6 7 8 9 00:01 12.345.678,90 99999999" },
		{ NULL, "\U0001f600 \U0001f389 \U0001f680 \U0001f600 \U0001f600 \U0001f600 \U0001f600" },
		{ NULL, "\u266a la la la la la la la la la \u266a" },
		{ NULL, "Guten Tag und willkommen zu diesem Vortrag. Hello everybody and welcome to this talk today." },
		{ NULL, "Der Kernel l\u00e4uft heute. "
		    "\u041c\u044b \u043f\u043e\u0433\u043e\u0432\u043e\u0440\u0438\u043c." },
		{ NULL, "Hallo Welt 12345678901234567890" },
		{ NULL, "Das Immunsystem sch\u00fctzt den K\u00f6rper vor Krankheiten. Die Sitzung des Ausschusses "
		    "beginnt um neun Uhr. Today we will look at the kernel. Thank you very much for your attention. Today we "
		    "will look at the kernel. Thank you very much for your attention." },
		/* in Latin-1 */
		{ "de", "Das Immunsystem sch\xfctzt den K\xf6rper vor Krankheiten." },
		{ NULL, "\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe" },
	};
	struct language_guess g;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		g = language_guess(p->mem, all[i].text, strlen(all[i].text));
		if ((g.tag == NULL) != (all[i].tag == NULL) || (g.tag != NULL && strcmp(g.tag, all[i].tag) != 0))
			fail_msg("%s: %s, %.2f", all[i].text, g.tag, g.share);
		assert_true(g.tag == NULL ? g.share == 0 : g.share >= 0.8 && g.share <= 1);
	}
}

/* However much follows in another one; it takes no longer. */
static void
the_language_of_a_long_text_is_that_of_its_beginning(void **state)
{
	struct place *p = *state;
	struct buf b = BUF(p->mem);
	struct language_guess g;

	while (b.len < 64 << 10)
		buf_text(&b, "Das Immunsystem sch\u00fctzt den K\u00f6rper vor Krankheiten. ");
	while (b.len < 640 << 10)
		buf_text(&b, "Thank you very much for your attention. ");
	g = language_guess(p->mem, buf_string(&b), b.len);
	assert_non_null(g.tag);
	assert_string_equal(g.tag, "de");
}

static void
bytes_that_are_no_character_tell_nothing_of_a_language(void **state)
{
	static const char text[] = "Heute sprechen wir in der Sitzung des Ausschusses.";
	struct place *p = *state;
	struct buf b = BUF(p->mem);
	struct language_guess g;

	for (const char *s = text; *s != '\0'; s++)
		buf_printf(&b, "%c\xff", *s);
	g = language_guess(p->mem, buf_string(&b), b.len);
	assert_non_null(g.tag);
	assert_string_equal(g.tag, "de");
}

static void
the_language_of_what_is_said_is_told_though_paragraphs_are_words(void **state)
{
	static const char *const words[] = { "Guten", "Tag", "meine", "Damen", "und", "Herren" };
	struct place *p = *state;
	struct paragraph all[6] = { { .text = NULL } };
	struct language_guess g;

	for (int i = 0; i < 6; i++)
		all[i].text = words[i];
	g = language_guess_said(p->mem, &(struct list){ all, 6 });
	assert_non_null(g.tag);
	assert_string_equal(g.tag, "de");
}

static void
a_language_is_known_by_its_name_in_english(void **state)
{
	struct place *p = *state;
	static const char *const all[][2] = { { "english", "en" }, { "German", "de" }, { "de", "de" },
		{ "chinese", "zh" },
		{ "haitian creole", "ht" }, { "myanmar", "my" }, { "lao", "lo" }, { "norwegian", "no" }, { "jw", "jv" },
		{ "cantonese", "yue" }, { "greek", "el" }, { "sinhala", "si" }, { "punjabi", "pa" }, { "pashto", "ps" } };
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_string_equal(language_named(p->mem, all[i][0]), all[i][1]);
	assert_null(language_named(p->mem, "gibberish"));
	assert_null(language_named(p->mem, ""));
	assert_null(language_named(p->mem, "und"));
	assert_null(language_named(p->mem, NULL));
}

static void
a_language_is_told_by_any_code_and_nothing_is_made_of_none(void **state)
{
	static const struct { const char *code, *tag, *label; } all[] = {
		{ "deu", "de", "Deutsch" }, { "ger", "de", "Deutsch" }, { "DE", "de", "Deutsch" },
		{ "de-AT", "de-AT", "\u00d6sterreichisches Deutsch" }, { "de_AT", "de-AT", NULL },
		{ "fre", "fr", "Fran\u00e7ais" }, { "chi", "zh", "\u4e2d\u6587" }, { "heb", "he", "\u05e2\u05d1\u05e8\u05d9\u05ea" },
		{ "pt-br", "pt-BR", NULL }, { "gsw", "gsw", NULL }, { "abz", "abz", "abz" },
		{ "und", NULL, NULL }, { "mis", NULL, NULL }, { "mul", NULL, NULL }, { "zxx", NULL, NULL }, { "qaa", NULL, NULL },
		{ "qtz", NULL, NULL }, { "e", NULL, NULL }, { "", NULL, NULL }, { "english", NULL, NULL }, { "de-", NULL, NULL },
		{ "x-private", NULL, NULL }, { "de\"", NULL, NULL }, { "d\u00fc", NULL, NULL }, { "root", NULL, NULL },
		{ "de-toolongforasubtag", NULL, NULL }, { "de-aaaaaaaa-aaaaaaaa-aaaaaaaa-aaaaaaaa-aaaaaaaa", NULL, NULL },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *tag = language_tag(p->mem, all[i].code);

		if (tag == NULL || all[i].tag == NULL)
			assert_true(tag == all[i].tag);
		else
			assert_string_equal(tag, all[i].tag);
		if (all[i].label != NULL)
			assert_string_equal(language_label(p->mem, tag), all[i].label);
	}
	assert_null(language_tag(p->mem, NULL));
}

#define VIDEO "$FF -f lavfi -i testsrc2=s=64x64:r=5:d=2 "
#define TONE "-f lavfi -i sine=d=2 "
#define CODE " -c:v libx264 -preset ultrafast -c:a libmp3lame "

static void
each_track_of_sound_has_a_name_of_its_own_and_keeps_its_role(void **state)
{
	static const struct { const char *language, *label; int roles; } all[] = {
		{ "en", "English", 0 },
		{ "de", "Deutsch", AV_DUB },
		{ "de", "Deutsch (commentary)", AV_COMMENTARY },
		{ "de", "Deutsch \u2013 Stereo", 0 },
		{ "de", "Deutsch 2", 0 },
		{ "en", "English (audio description)", AV_DESCRIBES },
		{ NULL, "Nur Ger\u00e4usche", AV_ORIGINAL },
	};
	struct place *p = *state;
	const struct av_file *f = probe(p, "tracks.mkv", VIDEO TONE "-map 0 -map 1 -map 1 -map 1 -map 1 -map 1 -map 1 "
	    "-map 1" CODE
	    "-metadata:s:a:0 language=eng -metadata:s:a:1 language=ger -metadata:s:a:2 language=deu -metadata:s:a:3 language=deu "
	    "-metadata:s:a:3 title=Stereo -metadata:s:a:4 language=de -metadata:s:a:5 language=eng -metadata:s:a:6 language=qaa "
	    "-metadata:s:a:6 title='Nur Ger\u00e4usche' -disposition:a:0 default -disposition:a:1 dub -disposition:a:2 comment "
	    "-disposition:a:5 visual_impaired -disposition:a:6 original $O");

	assert_int_equal(f->n_tracks, 7);
	assert_ptr_equal(f->audio, &f->tracks[0]);
	for (int i = 0; i < 7; i++) {
		const struct av_audio *a = &f->tracks[i];

		assert_true(a->used);
		assert_string_equal(a->label, all[i].label);
		assert_string_equal(a->language != NULL ? a->language : "", all[i].language != NULL ?
		    all[i].language : "");
		/* Matroska of this ffmpeg has no flag for a dub. */
		assert_int_equal(a->roles & ~AV_DUB, all[i].roles & ~AV_DUB);
	}
	assert_non_null(strstr(av_json(p->mem, f),
	    "{\"codec\":\"mp3\",\"languageCode\":\"de\",\"title\":null,\"roles\":\"commentary\","
	    "\"channels\":1,\"sampleRate\":44100,\"used\":true,\"alternate\":true}"));
}

static void
of_forty_tracks_eight_are_used_the_default_among_them(void **state)
{
	struct place *p = *state;
	const struct av_file *f = probe(p, "forty.mkv", VIDEO TONE "-map 0 $(for i in $(seq 40); do printf ' -map 1'; "
	    "done)" CODE
	    "-disposition:a 0 -disposition:a:30 default $O");
	const char *told[AV_LEFT_OUT];
	int used = 0;

	assert_int_equal(f->n_tracks, 40);
	assert_ptr_equal(f->audio, &f->tracks[30]);
	for (int i = 0; i < 40; i++) {
		used += f->tracks[i].used;
		for (int k = 0; k < i; k++)
			assert_true(!f->tracks[i].used || !f->tracks[k].used || strcmp(f->tracks[i].label,
			    f->tracks[k].label) != 0);
	}
	assert_int_equal(used, AV_SOUNDS);
	assert_true(f->tracks[30].used && f->tracks[6].used && !f->tracks[7].used);
	assert_int_equal(av_left_out(p->mem, f, told), 1);
	assert_string_equal(told[0], "Tracks of sound that are left out: 32 of 40, as an asset has 8 at most.");
	assert_string_equal(f->tracks[30].label, "Audio");
	assert_string_equal(f->tracks[6].label, "Audio 8");
}

static void
subtitles_that_are_text_are_used_and_pictures_are_not(void **state)
{
	struct place *p = *state;
	const struct av_file *f = probe(p, "subtitles.mkv", "printf '1\\n00:00:00,500 --> 00:00:01,500\\nx\\n' "
	    ">s.srt; $FF -f lavfi -i "
	    "testsrc2=s=720x576:r=5:d=2 -i s.srt -map 0 -map 1 -map 1 -map 1 -map 1" CODE "-c:s:0 srt -c:s:1 ass -c:s:2 "
	    "webvtt -c:s:3 srt -metadata:s:s:0 language=ger -metadata:s:s:1 language=ger -metadata:s:s:2 language=fre "
	    "-disposition:s:1 hearing_impaired -disposition:s:2 forced $O");
	struct av_subtitle many[40] = { { .codec = "hdmv_pgs_subtitle" }, { .codec = "dvb_teletext" } };
	struct av_audio strange = { .codec = "atrac3", .channels = 2 };
	const struct av_file odd = { .tracks = &strange, .n_tracks = 1, .subtitles = many, .n_subtitles = 40 };
	const char *told[AV_LEFT_OUT];

	assert_int_equal(f->n_subtitles, 4);
	assert_string_equal(f->subtitles[0].label, "Deutsch");
	assert_string_equal(f->subtitles[1].label, "Deutsch (for the hard of hearing)");
	assert_string_equal(f->subtitles[2].label, "Fran\u00e7ais (forced)");
	assert_string_equal(f->subtitles[3].label, "Subtitles");
	assert_int_equal(f->subtitles[1].roles, AV_CLEAR);
	assert_int_equal(f->subtitles[2].roles, AV_FORCED);
	assert_int_equal(av_left_out(p->mem, f, told), 0);
	for (size_t i = 2; i < 40; i++)
		many[i] = (struct av_subtitle){ .codec = "subrip", .used = true };
	av_choose_subtitles(p->mem, many, 40);
	assert_true(!many[0].used && many[33].used && !many[34].used);
	assert_int_equal(av_left_out(p->mem, &odd, told), 3);
	assert_string_equal(told[0], "Tracks of sound that cannot be read: 1 of 1, for example atrac3.");
	assert_string_equal(told[1], "Tracks of subtitles that are left out: 6 of 40, as an asset has 32 at most.");
	assert_string_equal(told[2], "Tracks of subtitles that cannot be read: 2 of 40, for example "
	    "hdmv_pgs_subtitle.");
	assert_false(av_is_text("dvb_subtitle") || av_is_text("eia_608") || av_is_text(NULL));
}

static void
chapters_come_in_order_and_within_the_recording(void **state)
{
	struct av_chapter c[] = {
		{ 5000, 9000, "late" }, { -50, 2000, "first" }, { 1000, 1000, "empty" }, { 1000, 4000, "overlaps" },
		{ 12000, 13000, "behind the end" }, { 3000, 2000, "backwards" }, { 9000, 99000, NULL },
	};

	(void)state;
	assert_int_equal(av_order_chapters(c, 7, 10000), 6);
	assert_string_equal(c[0].title, "first");
	assert_int_equal(c[0].start_ms, 0);
	assert_string_equal(c[1].title, "empty");
	assert_int_equal(c[1].end_ms, 1000);
	assert_string_equal(c[2].title, "overlaps");
	assert_int_equal(c[2].end_ms, 4000);
	assert_string_equal(c[3].title, "backwards");
	assert_int_equal(c[3].end_ms, 3000);
	assert_string_equal(c[4].title, "late");
	assert_null(c[5].title);
	assert_int_equal(c[5].end_ms, 10000);
	assert_int_equal(av_order_chapters(c, 0, 10000), 0);
}

/* Of an audiobook, a film, and one with thousands of them. */
static void
chapters_of_every_container_are_found(void **state)
{
	static const char write[] = "{ printf ';FFMETADATA1\\ntitle=Das Buch\\n'; for i in $(seq $N); do printf "
	    "'[CHAPTER]\\n"
	    "TIMEBASE=1/1000\\nSTART=%d\\nEND=%d\\ntitle=Teil %d \\360\\237\\216\\254 \\342\\200\\256x\\n' $(((i - 1) * $L)) $((i * $L)) $i; "
	    "done; } >m.txt; ";
	static const struct { const char *name; int n, length; } all[] = { { "book.m4b", 4, 500 }, { "film.mp4", 3,
	    500 },
	    { "film.mkv", 5, 400 }, { "many.mkv", 4000, 1 } };
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct av_file *f = probe(p, all[i].name, arena_printf(p->mem, "N=%d L=%d; %s $FF -f lavfi -i "
		    "sine=d=4 -f "
		    "ffmetadata -i m.txt -map 0 -map_metadata 1 -map_chapters 1 -c:a aac $O", all[i].n, all[i].length, write));
		const char *json = av_json(p->mem, f);

		assert_int_equal(f->n_chapters, all[i].n);
		assert_int_equal(f->chapters[1].start_ms, all[i].length);
		assert_string_equal(f->chapters[1].title, "Teil 2 \U0001f3ac x");
		assert_string_equal(f->title, "Das Buch");
		assert_non_null(strstr(json, "\"title\":\"Das Buch\""));
		assert_non_null(strstr(json, arena_printf(p->mem, "{\"start\":%.3f,\"end\":%.3f,\"title\":\"Teil 2 "
		    "\U0001f3ac x\"}",
		    all[i].length / 1000.0, all[i].length / 500.0)));
	}
}

static void
titles_are_one_line_that_can_be_seen(void **state)
{
	struct place *p = *state;

	assert_string_equal(av_line(p->mem, "  a\r\n\tb \u202ec\u2066 ", 255), "a b c");
	assert_string_equal(av_line(p->mem, "\u00e4\u00f6\u00fc", 2), "\u00e4\u00f6");
	assert_string_equal(av_line(p->mem, "a b", 2), "a");
	assert_null(av_line(p->mem, " \u200b\u00a0\n", 255));
	assert_null(av_line(p->mem, "", 255));
	assert_null(av_line(p->mem, "Gr\xfc\xdf" "e", 255));
	assert_null(av_line(p->mem, NULL, 255));
	assert_string_equal(probe(p, "t.flac", "$FF " TONE "-metadata title=Lied $O")->title, "Lied");
	assert_string_equal(probe(p, "t.ogg", "$FF " TONE "-c:a libvorbis -metadata title=Lied $O")->title, "Lied");
	assert_string_equal(probe(p, "t.mp3", "$FF " TONE "-metadata title=Lied $O")->title, "Lied");
	assert_null(probe(p, "t.mp4", "$FF " TONE "-metadata title=' ' $O")->title);
	/* A track's own name is not the file's. */
	assert_null(probe(p, "t.mkv", "$FF " TONE "-metadata:s:a:0 title=Spur $O")->title);
}

static void
the_time_of_a_recording_is_the_first_that_can_be_true(void **state)
{
	static const struct { const char *name, *tags; int64_t seconds; } all[] = {
		{ "a.mov", "-movflags use_metadata_tags -metadata com.apple.quicktime.creationdate=2024-05-01T12:00:00+0200 -metadata "
		    "creation_time=2024-06-01T00:00:00Z", 1714557600 },
		{ "b.mov", "-movflags use_metadata_tags -metadata com.apple.quicktime.creationdate=1904-01-01T00:00:00+0000 -metadata "
		    "creation_time=2024-06-01T00:00:00Z", 1717200000 },
		{ "c.mov", "-metadata creation_time=1970-01-01T00:00:00Z", 0 },
		{ "d.mkv", "-metadata creation_time=2085-01-01T00:00:00Z", 0 },
		{ "e.mkv", "-metadata date=2019", 0 },
		{ "f.wav", "-write_bext 1 -metadata origination_date=2024-05-01 -metadata origination_time=10:00:00", 1714557600 },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(probe(p, all[i].name, arena_printf(p->mem, "$FF " TONE "%s $O",
		    all[i].tags))->recorded_ms,
		    all[i].seconds * 1000);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)
	const struct CMUnitTest tests[] = {
		TEST(the_language_of_a_text_is_told_or_said_to_be_unknown),
		TEST(the_language_of_a_long_text_is_that_of_its_beginning),
		TEST(bytes_that_are_no_character_tell_nothing_of_a_language),
		TEST(the_language_of_what_is_said_is_told_though_paragraphs_are_words),
		TEST(a_language_is_known_by_its_name_in_english),
		TEST(a_language_is_told_by_any_code_and_nothing_is_made_of_none),
		TEST(each_track_of_sound_has_a_name_of_its_own_and_keeps_its_role),
		TEST(of_forty_tracks_eight_are_used_the_default_among_them),
		TEST(subtitles_that_are_text_are_used_and_pictures_are_not),
		TEST(chapters_come_in_order_and_within_the_recording),
		TEST(chapters_of_every_container_are_found),
		TEST(titles_are_one_line_that_can_be_seen),
		TEST(the_time_of_a_recording_is_the_first_that_can_be_true),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
