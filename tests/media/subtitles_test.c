/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subtitles of every form and of every fault, to the letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/text.h"
#include "media/subtitles.h"

static int
setup(void **state)
{
	*state = arena_new(256 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static const char *
vtt(struct arena *mem, enum subtitles_form form, const char *text)
{
	struct buf out = BUF(mem);

	return subtitles_write(&out, form, text, strlen(text)) == 0 ? NULL : buf_string(&out);
}

/* The texts alone, each with | behind it, lines with /. */
static const char *
texts(struct arena *mem, enum subtitles_form form, const char *text)
{
	const char *at = vtt(mem, form, text);
	struct buf out = BUF(mem);

	while (at != NULL && (at = strstr(at, " --> ")) != NULL) {
		const char *end = strstr(at = strchr(at, '\n') + 1, "\n\n");

		for (; at < end; at++)
			buf_char(&out, *at == '\n' ? '/' : *at);
		buf_char(&out, '|');
	}
	return buf_string(&out);
}

static void
srt_is_read_whatever_its_line_ends_and_numbers(void **state)
{
	static const char whole[] = "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nOne\nline two\n\n"
	    "01:02:03.400 --> 01:02:04.000\nTwo\n\n";

	assert_string_equal(vtt(*state, SUBTITLES_SRT, "1\n00:00:01,000 --> 00:00:02,500\nOne\nline two\n\n2\n"
	    "01:02:03,4 --> 1:02:04.000 X1:1 Y1:2\nTwo"), whole);
	assert_string_equal(vtt(*state, SUBTITLES_SRT, "\xef\xbb\xbf" "1\r\n00:01,000 --> 00:02,500\r\nOne\r\nline "
	    "two\r\n\r\n2\r\n"
	    "01:02:03,400 --> 01:02:04,000\r\nTwo\r\n\r\n\r\n"), whole);
	assert_string_equal(vtt(*state, SUBTITLES_SRT, "00:00:01,000 --> 00:00:02,500\rOne\rline two\r"
	    "01:02:03,400 --> 01:02:04,000\rTwo\r"), whole);
	/* An empty line is no end, a number of its own is text. */
	assert_string_equal(texts(*state, SUBTITLES_SRT, "1\n00:01,000 --> 00:02,000\na\n\n \nb\n42\n\n2\n00:03,000 "
	    "--> 00:04,000\n1984\n"), "a/b/42|1984|");
}

static void
webvtt_is_read_without_its_notes_and_styles(void **state)
{
	assert_string_equal(vtt(*state, SUBTITLES_VTT, "WEBVTT - head\n\nSTYLE\n::cue { color: red }\n\nNOTE "
	    "1\n\nintro\n"
	    "00:01.000 --> 00:02.000 line:10% position:50%,line-left evil:<x> align:start\n<v.loud Anna & Bob>Hi</v> <c.x>you</c> "
	    "&amp; &lt;b&gt; <00:01.500>\n\nNOTE behind\n\n00:03.000 --> 00:04.000\nend\n"),
	    "WEBVTT\n\n00:00:01.000 --> 00:00:02.000 line:10% position:50%,line-left align:start\n"
	    "<v Anna &amp; Bob>Hi you &amp; &lt;b&gt;\n\n00:00:03.000 --> 00:00:04.000\nend\n\n");
}

static void
ass_is_read_without_its_drawings_and_effects(void **state)
{
	assert_string_equal(vtt(*state, SUBTITLES_ASS, "[Script Info]\n[Events]\nFormat: Layer, Start\n"
	    "Dialogue: 0,0:00:05.00,0:00:06.00,Default,,0,0,0,,late, with a comma\n"
	    "Comment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,unseen\n"
	    "Dialogue: Marked=0,0:00:01.50,0:00:02.00,Default,Anna,0,0,0,,{\\an8\\i1}lean{\\i0} \\Nsecond\\hline {\\p1}m 0 0 l 1 1{\\p0}end\n"
	    "Dialogue: 0,0:00:03.00,0:00:04.00,Sign,,0,0,0,,{\\p1}m 0 0 l 100 100\n"
	    "Dialogue: 0,soon,later,Sign,,0,0,0,,no time\nDialogue: 0,0:00:03.00\n"),
	    "WEBVTT\n\n00:00:01.500 --> 00:00:02.000\n<v Anna><i>lean</i>\nsecond&nbsp;line end\n\n"
	    "00:00:05.000 --> 00:00:06.000\nlate, with a comma\n\n");
}

static void
only_known_markup_passes(void **state)
{
	static const struct { const char *in, *out; } all[] = {
		{ "<i>a</I> <B>b</b> <u>c</u>", "<i>a</i> <b>b</b> <u>c</u>|" },
		{ "<font color=\"#ff0000\">red</font>", "red|" },
		{ "<script>alert(1)</script>", "alert(1)|" },
		{ "<img src=x onerror=y>t", "t|" },
		{ "1 < 2 > 0 --> & &copy; &amp;", "1 &lt; 2 &gt; 0 --&gt; &amp; &amp;copy; &amp;|" },
		{ "<never closed", "&lt;never closed|" },
		{ "{\\an8}top {not}", "top {not}|" },
		{ "{\\an8\\i1 never closed", "<i> never closed|" },
		{ "a\tb\x01\x7f", "a b|" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_string_equal(texts(*state, SUBTITLES_SRT, arena_printf(*state, "1\n00:01,000 --> "
		    "00:02,000\n%s\n", all[i].in)),
		    all[i].out);
}

/* "{\an8}" may lie where a text that is too long ends. */
static void
no_part_of_an_override_is_left_of_a_text_that_is_cut(void **state)
{
	for (int i = 3980; i < 4004; i++) {
		const char *text = texts(*state, SUBTITLES_SRT, arena_printf(*state, "1\n00:01,000 --> 00:02,000\n%0*d"
		    "{\\an8\\fnTimes New}end\n", i, 0));

		assert_null(strpbrk(text, "{\\TN"));
		assert_true(strlen(text) >= 3980);
	}
}

static void
old_encodings_are_told_by_their_letters(void **state)
{
#define ONE "1\n00:01,000 --> 00:02,000\n"
	/* Western Europe: German, with signs that Latin-1 has not, and too short to tell. */
	assert_string_equal(texts(*state, SUBTITLES_SRT, ONE "Gr\xfc\xdf" "e aus M\xfcnchen"), "Gr\u00fc\u00dfe aus "
	    "M\u00fcnchen|");
	assert_string_equal(texts(*state, SUBTITLES_SRT, ONE "\x84Zitat\x93 \x96 5 \x80"), "\u201eZitat\u201c \u2013 "
	    "5 \u20ac|");
	assert_string_equal(texts(*state, SUBTITLES_SRT, ONE "\xdc" "bel"), "\u00dcbel|");
	/* Russian and Japanese. */
	assert_string_equal(texts(*state, SUBTITLES_SRT, ONE "\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea "
	    "\xe4\xe5\xeb\xe0?"),
	    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043a\u0430\u043a \u0434\u0435\u043b\u0430?|");
	assert_string_equal(texts(*state, SUBTITLES_SRT,
	    ONE "\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96{\x8c\xea\x82\xcc\x8e\x9a\x96\x8b\x82\xc5\x82\xb7"),
	    "\u3053\u308c\u306f\u65e5\u672c\u8a9e\u306e\u5b57\u5e55\u3067\u3059|");
	/* A broken letter in what is UTF-8 costs that letter, not the others. */
	assert_non_null(strstr(texts(*state, SUBTITLES_SRT, ONE "K\u00f6ln, \u00c4pfel, gr\u00fcn, stra\u00dfe, "
	    "\u00e4u\u00dferst sch\u00f6n \xc3 x"),
	    "K\u00f6ln, \u00c4pfel"));
}

static void
times_that_cannot_be_are_mended_and_the_order_is_that_of_time(void **state)
{
	assert_string_equal(vtt(*state, SUBTITLES_SRT, "1\n00:09,000 --> 00:05,000\nbackwards\n\n2\n00:03,000 --> "
	    "00:03,000\nno time\n\n"
	    "3\n00:03,000 --> 00:08,000\nover\n\n4\n999:00:00,000 --> 999:00:01,000\nnever\n\n5\n00:1x,000 --> 00:02,000\nodd\n"),
	    "WEBVTT\n\n00:00:03.000 --> 00:00:05.000\nno time\n\n00:00:03.000 --> 00:00:08.000\nover\n\n"
	    "00:00:09.000 --> 00:00:11.000\nbackwards\n\n");
}

static void
what_holds_no_text_gives_nothing(void **state)
{
	assert_null(vtt(*state, SUBTITLES_SRT, ""));
	assert_null(vtt(*state, SUBTITLES_SRT, "\n\n\n"));
	assert_null(vtt(*state, SUBTITLES_SRT, "1\n00:01,000 --> 00:02,000\n \n"));
	assert_null(vtt(*state, SUBTITLES_VTT, "WEBVTT\n\nNOTE nothing\n"));
	assert_null(vtt(*state, SUBTITLES_ASS, "[Events]\n"));
}

/* Long texts, many of them, and bytes without sense. */
static void
nothing_is_too_long_or_too_odd(void **state)
{
	struct arena *mem = *state;
	struct buf in = BUF(mem), out = BUF(mem);
	unsigned seed = 1;
	const char *long_text;

	buf_text(&in, "1\n00:01,000 --> 00:02,000\nx");
	for (int i = 0; i < 5000; i++)
		buf_text(&in, "\u00e4");
	long_text = vtt(mem, SUBTITLES_SRT, buf_string(&in));
	assert_true(utf8_valid(long_text, strlen(long_text)));
	assert_in_range(strlen(long_text), 3900, 4100);

	in.len = 0;
	for (int i = 0; i < 100100; i++)
		buf_text(&in, "00:01,000 --> 00:02,000\nx\n");
	assert_int_equal(subtitles_write(&out, SUBTITLES_SRT, in.text, in.len), 100000);

	for (int round = 0; round < 2000; round++) {
		char bytes[256];
		int n = snprintf(bytes, sizeof(bytes), "%s", round % 2 != 0 ? "00:01.000 --> 00:02.000\n" :
		    "Dialogue: 0,0:00:01.00,0:00:02.00,,,,,,,");

		for (size_t i = (size_t)n; i < sizeof(bytes); i++) {
			seed = seed * 1103515245 + 12345;
			bytes[i] = (seed >> 16) % 3 == 0 ? "<>{}\\&\n:,-\xc3\x80pibuN0 "[(seed >> 18) % 20] :
			    (char)(seed >> 20);
		}
		out.len = 0;
		if (subtitles_write(&out, round % 2 != 0 ? (round % 4 == 1 ? SUBTITLES_SRT : SUBTITLES_VTT) :
		    SUBTITLES_ASS, bytes,
		    sizeof(bytes)) == 0)
			continue;
		assert_true(utf8_valid(out.text, out.len));
		assert_int_equal(strncmp(out.text, "WEBVTT\n\n", 8), 0);
		/* One subtitle is one block of lines. */
		assert_ptr_equal(strstr(out.text + 8, "\n\n"), out.text + out.len - 2);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(srt_is_read_whatever_its_line_ends_and_numbers),
		TEST(webvtt_is_read_without_its_notes_and_styles),
		TEST(ass_is_read_without_its_drawings_and_effects),
		TEST(only_known_markup_passes),
		TEST(no_part_of_an_override_is_left_of_a_text_that_is_cut),
		TEST(old_encodings_are_told_by_their_letters),
		TEST(times_that_cannot_be_are_mended_and_the_order_is_that_of_time),
		TEST(what_holds_no_text_gives_nothing),
		TEST(nothing_is_too_long_or_too_odd),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
