/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transcripts: paragraphs, alignment, and files that players take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "media/cues.h"
#include "media/transcript.h"

enum { MEM = 256 << 20 };

/* "text@start-end text@start-end …" with times in ms. */
static struct segment
segment(struct arena *mem, const char *script)
{
	struct list words = { arena_array(mem, strlen(script), sizeof(struct word)), 0 };
	struct buf text = BUF(mem);
	char *copy = arena_copy(mem, script), *save, *part;
	struct word *w = words.rows;
	long start, end;

	for (part = strtok_r(copy, " ", &save); part != NULL; part = strtok_r(NULL, " ", &save)) {
		char *at = strrchr(part, '@');

		assert_int_equal(sscanf(at, "@%ld-%ld", &start, &end), 2);
		*at = '\0';
		w[words.n++] = (struct word){ part, { start, true }, { end, true }, 0.5, "machine" };
		buf_text(&text, text.len > 0 ? " " : "");
		buf_text(&text, part);
	}
	return (struct segment){ w[0].start, w[words.n - 1].end, buf_string(&text), words };
}

/* A paragraph of n words of `text`, each 300 ms with 50 ms between. */
static struct list
paragraph_of(struct arena *mem, const char *text, size_t n)
{
	struct word *w = arena_array(mem, n, sizeof(*w));
	struct segment s = { { 0, true }, { (int64_t)n * 350, true }, "", { w, n } };
	size_t i;

	for (i = 0; i < n; i++)
		w[i] = (struct word){ text, { (int64_t)i * 350, true }, { (int64_t)i * 350 + 300, true }, 0.9,
		    "machine" };
	return transcript_paragraphs(mem, &s, 1);
}

static const char *
written(struct arena *mem, enum transcript_form form, const struct list *paragraphs)
{
	struct buf b = BUF(mem);

	transcript_write(&b, form, paragraphs, "en", true);
	return buf_string(&b);
}

static int64_t
time_of(const char *text)
{
	int h, m, s, ms;

	assert_int_equal(sscanf(text, "%d:%d:%d%*[.,]%d", &h, &m, &s, &ms), 4);
	return ((h * 60 + m) * 60 + s) * INT64_C(1000) + ms;
}

/* What every caption file must keep: at most two lines of 42 characters, 7 s, in order, no overlap, no empty cue. */
static int
check_cues(struct arena *mem, const char *vtt)
{
	char *copy = arena_copy(mem, vtt), *line, *arrow;
	int64_t before = 0, start, end;
	int cues = 0, lines = 0;

	assert_memory_equal(copy, "WEBVTT\n\n", 8);
	for (line = copy + 8; *line != '\0'; line += strlen(line) + 1) {
		line[strcspn(line, "\n")] = '\0';
		if ((arrow = strstr(line, " --> ")) != NULL) {
			start = time_of(line);
			end = time_of(arrow + 5);
			assert_true(start >= before);
			assert_true(end > start);
			assert_true(end - start <= 7000);
			before = end;
			lines = 0;
			cues++;
		} else if (line[0] == '\0') {
			assert_in_range(lines, 1, 2);
		} else {
			lines++;
			assert_true(utf8_length(line) <= 42);
		}
	}
	return cues;
}

static void
pauses_and_length_make_paragraphs(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct segment s[] = {
		segment(mem, "good@0-300 morning@310-800"),
		segment(mem, "after@1500-1800 a@1810-1900 breath@1910-2400"),
		segment(mem, "after@9000-9300 silence@9310-9800"),
	};
	struct list p = transcript_paragraphs(mem, s, 3);
	const struct paragraph *at = p.rows;

	assert_int_equal(p.n, 2);
	assert_string_equal(at[0].text, "good morning after a breath");
	assert_string_equal(at[1].text, "after silence");
	assert_int_equal(at[0].start.ms, 0);
	assert_int_equal(at[0].end.ms, 2400);
	assert_int_equal(at[1].start.ms, 9000);
	assert_int_equal(at[0].words.n, 5);
	assert_false(uuid_equal(at[0].id, at[1].id));
	p = paragraph_of(mem, "endless", 2000);
	assert_in_range(p.n, 15, 30);
	arena_free(mem);
}

static void
positions_never_go_back(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct segment s[] = { segment(mem, "one@500-900 two@400-300 three@850-1000"), segment(mem, "four@100-200") };
	struct list p = transcript_paragraphs(mem, s, 2);
	const struct word *w = ((struct paragraph *)p.rows)->words.rows;
	size_t i;

	for (i = 0; i < 4; i++) {
		assert_true(w[i].end.ms >= w[i].start.ms);
		if (i > 0)
			assert_true(w[i].start.ms >= w[i - 1].end.ms);
	}
	check_cues(mem, written(mem, TRANSCRIPT_VTT, &p));
	arena_free(mem);
}

static void
words_get_the_punctuation_of_the_text(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct segment heard = segment(mem, "well@1000-1200 hello@1300-1600 world@1700-2000 twenty@2100-2300");
	struct list got = transcript_align(mem, "Well -- \"Hello, world!\" 20 times.", 1000, 3000, &heard.words);
	const struct word *w = got.rows;
	static const char *const expected[] = { "Well", "--", "\"Hello,", "world!\"", "20", "times." };
	size_t i;

	assert_int_equal(got.n, 6);
	for (i = 0; i < 6; i++)
		assert_string_equal(w[i].text, expected[i]);
	assert_int_equal(w[0].start.ms, 1000);
	assert_int_equal(w[2].start.ms, 1300);
	assert_int_equal(w[3].end.ms, 2000);
	assert_true(w[4].start.ms >= 2000 && w[5].end.ms <= 3000 && w[5].start.ms >= w[4].end.ms);
	assert_true(w[2].confidence > 0);
	assert_true(w[4].confidence == 0);
	arena_free(mem);
}

static void
text_without_times_is_spread_over_its_stretch(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list got = transcript_spread(mem, " one  twentyfive\nthree ", 10000, 12000);
	const struct word *w = got.rows;

	assert_int_equal(got.n, 3);
	assert_int_equal(w[0].start.ms, 10000);
	assert_int_equal(w[2].end.ms, 12000);
	assert_true(w[1].end.ms - w[1].start.ms > w[0].end.ms - w[0].start.ms);
	assert_int_equal(transcript_spread(mem, " \n ", 0, 1000).n, 0);
	arena_free(mem);
}

static void
scripts_without_blanks_stay_without_them(void **state)
{
	struct arena *mem = arena_new(MEM);
	const char *text = "今日は良い天気です。OK 了解";
	struct segment s = { { 0, true }, { 6000, true }, text, { NULL, 0 } };
	struct list p;

	s.words = transcript_spread(mem, text, 0, 6000);
	p = transcript_paragraphs(mem, &s, 1);
	assert_string_equal(((struct paragraph *)p.rows)->text, "今日は良い天気です。 OK了解");
	assert_int_equal(check_cues(mem, written(mem, TRANSCRIPT_VTT, &p)), 1);
	s.words = transcript_spread(mem, "안녕하세요 세계", 0, 2000);
	p = transcript_paragraphs(mem, &s, 1);
	assert_string_equal(((struct paragraph *)p.rows)->text, "안녕하세요 세계");
	arena_free(mem);
}

static void
cues_fit_the_screen_and_the_eye(void **state)
{
	struct arena *mem = arena_new(MEM);
	static const char *const words[] = { "a", "seven", "characteristics", "Übergrößenträger,", "end.",
		"averylongwordthatdoesnotfitintoasinglelineofcaptionsatallbecauseitneverends", "你" };
	struct list p;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		p = paragraph_of(mem, words[i], 400);
		assert_true(check_cues(mem, written(mem, TRANSCRIPT_VTT, &p)) > 10);
	}
	arena_free(mem);
}

static void
cues_end_at_sentences_and_pauses(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct segment s = segment(mem, "This@0-300 is@310-500 the@510-600 first@610-900 sentence@910-1400 "
	    "of@1410-1500 them@1510-1700 all.@1710-2000 And@2100-2300 the@2310-2400 second@2410-2800 one@2810-3000 "
	    "is@3010-3200 quite@3210-3500 a@3510-3600 bit@3610-3800 longer@3810-4200 than@4210-4400 that@4410-4700 "
	    "was.@4710-5000 Pause@6500-7000");
	struct list p = transcript_paragraphs(mem, &s, 1);

	assert_string_equal(written(mem, TRANSCRIPT_VTT, &p),
	    "WEBVTT\n\n"
	    "00:00:00.000 --> 00:00:02.100\nThis is the first sentence of them all.\n\n"
	    "00:00:02.100 --> 00:00:05.345\nAnd the second one is quite\na bit longer than that was.\n\n"
	    "00:00:06.500 --> 00:00:07.500\nPause\n\n");
	arena_free(mem);
}

static void
nothing_in_the_text_can_break_a_file(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct segment s = segment(mem, "a@0-500 -->@500-900 <b>&amp;</b>@900-1500 00:00:01.000@1500-2000");
	struct list p = transcript_paragraphs(mem, &s, 1);
	struct paragraph *first = p.rows;
	const char *vtt, *srt;

	((struct word *)first->words.rows)[0].text = "a\n\nb\r\x01";
	first->speaker = "Eve --> <i>\n";
	vtt = written(mem, TRANSCRIPT_VTT, &p);
	srt = written(mem, TRANSCRIPT_SRT, &p);
	assert_non_null(strstr(written(mem, TRANSCRIPT_TTML, &p), "<ttm:agent xml:id=\"speaker1\" type=\"person\">"
	    "<ttm:name type=\"full\">Eve --&gt; &lt;i&gt; </ttm:name></ttm:agent>"));
	assert_non_null(strstr(written(mem, TRANSCRIPT_TTML, &p), "<p begin=\"00:00:00.000\" end=\"00:00:02.124\" "
	    "ttm:agent=\"speaker1\">a  b   --&gt; &lt;b&gt;&amp;amp;&lt;/b&gt; 00:00:01.000</p>"));
	assert_non_null(strstr(written(mem, TRANSCRIPT_ASS, &p), "\nDialogue: 0,0:00:00.00,0:00:02.12,Default,"
	    "Eve --> <i> ,0,0,0,,a  b   --> <b>&amp;</b> 00:00:01.000\n"));
	assert_string_equal(vtt, "WEBVTT\n\n00:00:00.000 --> 00:00:02.124\n<v Eve --&gt; &lt;i&gt; >a  b   --&gt; "
	    "&lt;b&gt;&amp;amp;&lt;/b&gt; 00:00:01.000\n\n");
	assert_string_equal(srt, "1\n00:00:00,000 --> 00:00:02,124\nEve \xe2\x86\x92 <i> : a  b   "
	    "\xe2\x86\x92 <b>&amp;</b> 00:00:01.000\n\n");
	arena_free(mem);
}

static void
speakers_are_named_only_when_wanted(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list p = paragraph_of(mem, "word", 3);
	struct buf with = BUF(mem), without = BUF(mem);

	((struct paragraph *)p.rows)->speaker = "Ada";
	transcript_write(&with, TRANSCRIPT_TXT, &p, "en", true);
	transcript_write(&without, TRANSCRIPT_TXT, &p, "en", false);
	assert_string_equal(buf_string(&with), "Ada: word word word\n");
	assert_string_equal(buf_string(&without), "word word word\n");
	arena_free(mem);
}

static void
an_empty_transcript_is_a_valid_file(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list none = transcript_paragraphs(mem, NULL, 0);

	assert_int_equal(none.n, 0);
	assert_string_equal(written(mem, TRANSCRIPT_VTT, &none), "WEBVTT\n\n");
	assert_string_equal(written(mem, TRANSCRIPT_SRT, &none), "");
	assert_string_equal(written(mem, TRANSCRIPT_TXT, &none), "");
	assert_string_equal(transcript_json(mem, &none), "[]");
	arena_free(mem);
}

static void
what_is_stored_reads_back_the_same(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct segment s = segment(mem, "it's@0-1500 \"so\"@72000123-72000999");
	struct list p = transcript_paragraphs(mem, &s, 1), again;
	const char *json = transcript_json(mem, &p);
	const struct paragraph *at;

	assert_non_null(strstr(json, "{\"text\":\"\\\"so\\\"\",\"start\":72000.123,\"end\":72000.999,"
	    "\"confidence\":0.5,\"source\":\"machine\"}"));
	assert_null(strstr(json, "speaker"));
	again = record_parse_list(mem, &paragraph_record, json);
	assert_int_equal(again.n, 2);
	at = again.rows;
	assert_int_equal(at[1].start.ms, 72000123);
	assert_string_equal(((struct word *)at[0].words.rows)->text, "it's");
	assert_string_equal(transcript_json(mem, &again), json);
	arena_free(mem);
}

static void
languages_are_named_in_themselves(void **state)
{
	struct arena *mem = arena_new(MEM);

	assert_string_equal(transcript_label(mem, "en"), "English");
	assert_string_equal(transcript_label(mem, "de"), "Deutsch");
	assert_string_equal(transcript_label(mem, "translate-en"), "English");
	assert_string_equal(transcript_language("translate-en"), "en");
	assert_string_equal(transcript_language("fr"), "fr");
	arena_free(mem);
}

static struct list
imported(struct arena *mem, const char *file)
{
	struct cues all = { .mem = mem };
	struct list out = { NULL, 0 };

	cues_read_any(&all, file, strlen(file));
	assert_true(transcript_imported(mem, &all, 1000, &out));
	return out;
}

static void
subtitles_of_people_come_out_as_they_went_in(void **state)
{
	static const char file[] = "WEBVTT\n\n"
	    "00:00:01.000 --> 00:00:02.500\n<v Anna>Good morning.\n\n"
	    "00:00:02.500 --> 00:00:04.000\n<v Anna>It rains\nin London.\n\n"
	    "00:00:09.250 --> 00:00:19.250\n<v Bert>- Really?\n- Oh yes, it does so every single day.\n\n"
	    "00:00:19.300 --> 00:00:19.400\n<v Bert>No!\n\n";
	struct arena *mem = arena_new(MEM);
	struct list p = imported(mem, file), again;
	const struct paragraph *at = p.rows;
	const struct word *w = at[0].words.rows;

	assert_int_equal(p.n, 2);
	assert_string_equal(at[0].text, "Good morning. It rains in London.");
	assert_string_equal(at[0].speaker, "Anna");
	assert_string_equal(at[1].speaker, "Bert");
	assert_string_equal(w[0].source, "import");
	assert_string_equal(w[2].begins, "cue");
	assert_string_equal(w[4].begins, "line");
	assert_null(w[1].begins);
	assert_true(w[2].start.ms == 2500 && w[5].end.ms == 4000 && w[3].estimated);
	assert_string_equal(written(mem, TRANSCRIPT_VTT, &p), file);
	assert_int_equal(transcript_cues(mem, &p), 4);
	again = record_parse_list(mem, &paragraph_record, transcript_json(mem, &p));
	assert_string_equal(written(mem, TRANSCRIPT_VTT, &again), file);
	arena_free(mem);
}

static void
they_come_out_as_ttml_and_ass_too(void **state)
{
	static const char file[] = "WEBVTT\n\n"
	    "00:00:01.000 --> 00:00:02.500\n<v Ada, &amp; co>{Good} &#92;Norning.\n\n"
	    "00:00:02.500 --> 00:00:04.000\nIt rains\nin London.\n\n"
	    "00:00:09.250 --> 00:00:19.250\n<v Bert>No!\n\n";
	static const enum transcript_form forms[] = { TRANSCRIPT_TTML, TRANSCRIPT_ASS };
	static const char *const backs[] = { "WEBVTT\n\n"
	    "00:00:01.000 --> 00:00:02.500\n<v Ada, &amp; co>{Good} \\Norning.\n\n"
	    "00:00:02.500 --> 00:00:04.000\nIt rains\nin London.\n\n"
	    "00:00:09.250 --> 00:00:19.250\n<v Bert>No!\n\n", "WEBVTT\n\n"
	    "00:00:01.000 --> 00:00:02.500\n<v Ada  &amp; co>{Good} \\\u2060Norning.\n\n"
	    "00:00:02.500 --> 00:00:04.000\nIt rains\nin London.\n\n"
	    "00:00:09.250 --> 00:00:19.250\n<v Bert>No!\n\n" };
	struct arena *mem = arena_new(MEM);
	struct list p = imported(mem, file), again;

	for (size_t i = 0; i < 2; i++) {
		again = imported(mem, written(mem, forms[i], &p));
		assert_string_equal(written(mem, TRANSCRIPT_VTT, &again), backs[i]);
	}
	p = imported(mem, "1\n00:00:01,000 --> 00:00:02,500\nNo\uffff!\n");
	assert_null(strstr(written(mem, TRANSCRIPT_TTML, &p), "\uffff"));
	assert_non_null(strstr(written(mem, TRANSCRIPT_TTML, &p), "No\ufffd"));
	arena_free(mem);
}

/* What FFmpeg makes of a file of this form. */
static const char *
by_ffmpeg(struct arena *mem, const char *file, const char *from, const char *to)
{
	char path[] = "/tmp/kinothek-transcript-XXXXXX", out[4096];
	FILE *f = fdopen(mkstemp(path), "w");
	size_t n;

	fputs(file, f);
	fclose(f);
	f = popen(arena_printf(mem, "ffmpeg -v error -f %s -i %s -f %s -", from, path, to), "r");
	n = fread(out, 1, sizeof(out) - 1, f);
	assert_int_equal(pclose(f), 0);
	unlink(path);
	return arena_copy_n(mem, out, n);
}

static void
ffmpeg_reads_our_ass_and_we_its_ttml(void **state)
{
	static const char srt[] = "1\n00:00:01,000 --> 00:00:02,500\nGr\u00fc\u00dfe, K\u00f6ln.\n\n"
	    "2\n00:00:02,500 --> 00:00:04,000\nIt rains\nin London.\n\n";
	struct arena *mem = arena_new(MEM);
	struct list p = imported(mem, srt), again = imported(mem, by_ffmpeg(mem, srt, "srt", "ttml"));

	assert_string_equal(by_ffmpeg(mem, written(mem, TRANSCRIPT_ASS, &p), "ass", "webvtt"), "WEBVTT\n\n"
	    "00:01.000 --> 00:02.500\nGr\u00fc\u00dfe, K\u00f6ln.\n\n00:02.500 --> 00:04.000\nIt rains\nin London.\n");
	assert_string_equal(written(mem, TRANSCRIPT_SRT, &again), srt);
	arena_free(mem);
}

static void
subtitles_that_are_too_long_for_a_screen_are_broken_anew(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct list p = imported(mem, "1\n00:00:01,000 --> 00:00:09,000\nThis is one line of a subtitle that nobody "
	    "could ever show on a screen of any size, since it goes on and on and on, and then it goes on still.\n\n"
	    "2\n00:00:10,000 --> 00:00:12,000\na\nb\nc\n\n3\n00:00:12,000 --> 00:00:14,000\nshort\n");
	const char *vtt = written(mem, TRANSCRIPT_VTT, &p);

	assert_int_equal(check_cues(mem, vtt), 4);
	assert_non_null(strstr(vtt, "00:00:10.000 --> 00:00:12.000\na b c\n"));
	assert_non_null(strstr(vtt, "00:00:12.000 --> 00:00:14.000\nshort\n"));
	arena_free(mem);
}

static void
subtitles_that_overlap_follow_each_other(void **state)
{
	struct arena *mem = arena_new(MEM);
	const char file[] = "1\n00:00:01,000 --> 00:00:05,000\nAAAA\n\n2\n00:00:01,000 --> 00:00:05,000\nBBBB\n\n"
	    "3\n00:00:04,000 --> 00:00:06,000\nCC\n\n4\n00:00:06,000 --> 00:00:07,000\nDD\n";
	struct cues all = { .mem = mem };
	struct list p;

	cues_read_any(&all, file, strlen(file));
	assert_true(transcript_imported(mem, &all, 4, &p));
	assert_string_equal(written(mem, TRANSCRIPT_VTT, &p), "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nAAAA\n\n"
	    "00:00:02.500 --> 00:00:04.000\nBBBB\n\n00:00:04.000 --> 00:00:06.000\nCC\n\n"
	    "00:00:06.000 --> 00:00:07.000\nDD\n\n");
	assert_int_equal(all.repairs[CUES_together].count, 2);
	assert_int_equal(all.repairs[CUES_together].line, 6);
	assert_false(transcript_imported(mem, &all, 3, &p));
	arena_free(mem);
}

/* 17 characters a second where the pause after it allows that. */
static void
captions_stay_until_they_are_read(void **state)
{
	struct arena *mem = arena_new(MEM);
	struct segment s = segment(mem, "thirty-four@0-300 characters@310-500 are@510-600 here@610-900 now.@910-1000 "
	    "Next@4000-4300");
	struct list p = transcript_paragraphs(mem, &s, 1);

	assert_non_null(strstr(written(mem, TRANSCRIPT_VTT, &p), "00:00:00.000 --> 00:00:02.124\n"
	    "thirty-four characters are here now.\n"));
	arena_free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_and_length_make_paragraphs),
		cmocka_unit_test(positions_never_go_back),
		cmocka_unit_test(words_get_the_punctuation_of_the_text),
		cmocka_unit_test(text_without_times_is_spread_over_its_stretch),
		cmocka_unit_test(scripts_without_blanks_stay_without_them),
		cmocka_unit_test(cues_fit_the_screen_and_the_eye),
		cmocka_unit_test(cues_end_at_sentences_and_pauses),
		cmocka_unit_test(nothing_in_the_text_can_break_a_file),
		cmocka_unit_test(speakers_are_named_only_when_wanted),
		cmocka_unit_test(an_empty_transcript_is_a_valid_file),
		cmocka_unit_test(what_is_stored_reads_back_the_same),
		cmocka_unit_test(languages_are_named_in_themselves),
		cmocka_unit_test(subtitles_of_people_come_out_as_they_went_in),
		cmocka_unit_test(they_come_out_as_ttml_and_ass_too),
		cmocka_unit_test(ffmpeg_reads_our_ass_and_we_its_ttml),
		cmocka_unit_test(subtitles_that_are_too_long_for_a_screen_are_broken_anew),
		cmocka_unit_test(subtitles_that_overlap_follow_each_other),
		cmocka_unit_test(captions_stay_until_they_are_read),
	};

	record_check(&transcript_record);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
