/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of subtitles with every fault that they come with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unicode/ucnv.h>

#include <cmocka.h>

#include "core/text.h"
#include "media/cues.h"
#include "media/transcript.h"

static int
setup(void **state)
{
	*state = arena_new((size_t)512 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static struct cues
read_bytes(struct arena *mem, const char *bytes, size_t n)
{
	struct cues all = { .mem = mem };

	cues_read_any(&all, bytes, n);
	return all;
}

/* "1000-2500 Anna:text/second line|" for each cue. */
static const char *
told(const struct cues *all)
{
	struct buf out = BUF(all->mem);

	for (size_t i = 0; i < all->n; i++) {
		const struct list voices = cue_voices(all->mem, &all->at[i]);
		const struct voice *v = voices.rows;

		buf_printf(&out, "%lld-%lld ", (long long)all->at[i].start, (long long)all->at[i].end);
		for (size_t k = 0; k < voices.n; k++) {
			buf_printf(&out, "%s%s", k > 0 ? "+" : "", v[k].speaker != NULL ? v[k].speaker : "");
			buf_text(&out, v[k].speaker != NULL ? ":" : "");
			for (const char *p = v[k].text; *p != '\0'; p++)
				buf_char(&out, *p == '\n' ? '/' : *p);
		}
		buf_char(&out, '|');
	}
	return buf_string(&out);
}

static const char *
read_text(struct arena *mem, const char *text)
{
	struct cues all = read_bytes(mem, text, strlen(text));

	return told(&all);
}

/* In the encoding, with or without its mark. */
static struct cues
read_encoded(struct arena *mem, const char *text, const char *encoding, const char *mark, size_t n_mark)
{
	UErrorCode error = U_ZERO_ERROR;
	char *out = arena_alloc(mem, 4 * strlen(text) + 8);
	int32_t n;

	memcpy(out, mark, n_mark);
	n = ucnv_convert(encoding, "UTF-8", out + n_mark, (int32_t)(4 * strlen(text)), text, (int32_t)strlen(text),
	    &error);
	assert_true(U_SUCCESS(error));
	return read_bytes(mem, out, n_mark + (size_t)n);
}

static void
every_encoding_gives_the_same_words(void **state)
{
	static const char german[] = "1\n00:00:01,000 --> 00:00:02,500\n"
	    "Gr\u00fc\u00dfe aus K\u00f6ln, \u201esch\u00f6n\u201c \u2026\n",
	    is[] = "1000-2500 Gr\u00fc\u00dfe aus K\u00f6ln, \u201esch\u00f6n\u201c \u2026|";
	static const struct { const char *encoding, *mark; size_t n; const char *told; } all[] = {
		{ "UTF-8", "", 0, NULL }, { "UTF-8", "\xef\xbb\xbf", 3, NULL },
		{ "UTF-16LE", "\xff\xfe", 2, "UTF-16LE" }, { "UTF-16BE", "\xfe\xff", 2, "UTF-16BE" },
		{ "UTF-16LE", "", 0, "UTF-16LE" }, { "UTF-16BE", "", 0, "UTF-16BE" },
		{ "UTF-32LE", "\xff\xfe\0\0", 4, "UTF-32LE" }, { "windows-1252", "", 0, "windows-1252" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct cues c = read_encoded(*state, german, all[i].encoding, all[i].mark, all[i].n);

		assert_string_equal(told(&c), is);
		if (all[i].told == NULL) {
			assert_null(c.encoding);
			assert_int_equal(c.repairs[CUES_encoding].count, 0);
			continue;
		}
		assert_string_equal(c.encoding, all[i].told);
		assert_int_equal(c.repairs[CUES_encoding].count, 1);
	}
}

static void
an_encoding_is_told_by_letters_that_come_late(void **state)
{
	struct buf in = BUF(*state);
	struct cues c;

	for (int i = 0; i < 30000; i++)
		buf_printf(&in, "%d\n00:00:01,000 --> 00:00:02,500\nplain words\n\n", i + 1);
	buf_text(&in, "9\n00:00:09,000 --> 00:00:10,000\nK\xf6ln und M\xfcnchen\n");
	assert_true(in.len > 1 << 20);
	c = read_bytes(*state, in.text, in.len);
	assert_int_equal(c.n, 30001);
	c.at += c.n - 1;
	c.n = 1;
	assert_string_equal(told(&c), "9000-10000 K\u00f6ln und M\u00fcnchen|");
}

/* What libav makes nothing of, or loses half of. */
static void
webvtt_is_read_whatever_stands_before_its_cues(void **state)
{
	static const char *const heads[] = {
	    "WEBVTT\n\n", "webvtt\n\n",
	    "WEBVTT\n\nSTYLE\n::cue(.a) {\n color: red;\n}\n\n",
	    "WEBVTT\n\nREGION\nid:fred\nwidth:40%\n\n", "WEBVTT Kind: captions; Language: de\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\n",
	    "\xef\xbb\xbfWEBVTT\n\nNOTE\nSTYLE is no style here\n\n", "WEBVTT\n00:00.000 --> 00:00.500\n \n\n", "" };

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		const char *all = read_text(*state, arena_printf(*state,
		    "%sintro\n00:01,000 --> 00:02.500 align:start line:-99999999999999999999%% position:NaN%% "
		    "size:1e400,x region:\"<b>\" %%n%%s\n<v.x Anna>Hi <i>you</i>\n\n"
		    "NOTE a remark\nof two lines\n\n2\n00:03.000 --> 00:04.000\nend &amp; &quot;all&#33;&quot;\n", heads[i]));

		if (strncmp(all, "0-500", 5) == 0)
			all += strlen("0-500 |");
		assert_string_equal(all, "1000-2500 Anna:Hi you|3000-4000 end & \"all!\"|");
	}
	assert_string_equal(read_text(*state,
	    "WEBVTT\r\r00:01.000 --> 00:02.000\rone\rtwo\r\r00:03.000 --> 00:04.000\rthree\r"),
	    "1000-2000 one/two|3000-4000 three|");
}

static void
numbers_and_names_of_cues_are_no_text(void **state)
{
	static const char is[] = "1000-2000 One|3000-4000 Two|";
	static const char *const all[] = {
		"1\n00:00:01,000 --> 00:00:02,000\nOne\n\n2\n00:00:03,000 --> 00:00:04,000\nTwo",
		"00:00:01,000 --> 00:00:02,000\nOne\n\n00:00:03,000 --> 00:00:04,000\nTwo\n",
		"1\n00:00:01,000 --> 00:00:02,000\nOne\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n",
		"first\n00:00:01,000 --> 00:00:02,000\nOne\n\nsecond one\n00:00:03,000 --> 00:00:04,000\nTwo\n",
		"#1\r\n00:00:01.000 --> 00:00:02.000\r\nOne\r\n\r\n#2\r\n00:00:03.000 --> 00:00:04.000\r\nTwo\r\n",
		"1\n\n00:00:01,000 --> 00:00:02,000\n\nOne\n\n\n\n2\n00:00:03,000 --> 00:00:04,000\n\nTwo\n",
		"1\n00:00:01,000-->00:00:02,000 X1:10 X2:20 Y1:5 Y2:7\nOne\n\n2\n00:00:03,000-->00:00:04,000\nTwo\n",
		"1\n00: 00: 01, 000 -> 00: 00: 02, 000\nOne\n\n2\n00:00:03:000 --&gt; 00:00:04:000\nTwo\n",
		"1\n0:01 --> 0:02\nOne\n\n2\n00:03 -- > 00:04\nTwo\n",
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_string_equal(read_text(*state, all[i]), is);
	/* A year alone on its line is text where there is no other. */
	assert_string_equal(read_text(*state,
	    "00:01,000 --> 00:02,000\n1984\n00:03,000 --> 00:04,000\nx\n"), "1000-2000 1984|3000-4000 x|");
}

static void
times_that_cannot_be_are_mended_and_told(void **state)
{
	static const char file[] = "1\n00:09,000 --> 00:05,000\nbackwards\n\n"
	    "2\n-00:00:03,000 --> 00:00:01,000\nbefore\n\n"
	    "3\n-00:03,000 --> -00:01,000\ngone\n\n4\n999:00:00,000 --> 999:00:01,000\nnever\n\n5\n00:1x,000 --> 00:02,000\nodd\n"
	    "6\n00:02,000 --> 00:02,000\nno time\n\n7\n00:03,000 --> 00:20,000\nover\n";
	struct cues c = read_bytes(*state, file, strlen(file));

	assert_string_equal(told(&c), "0-1000 before|2000-4000 no time|3000-20000 over|9000-11000 backwards|");
	assert_int_equal(c.found, 6);
	assert_int_equal(c.repairs[CUES_backwards].count, 2);
	assert_int_equal(c.repairs[CUES_backwards].line, 2);
	assert_int_equal(c.repairs[CUES_negative].line, 6);
	assert_int_equal(c.repairs[CUES_unordered].line, 6);
	assert_int_equal(c.repairs[CUES_times].count, 3);
	assert_int_equal(c.repairs[CUES_times].line, 10);
	cues_end(&c, 9500);
	assert_string_equal(told(&c), "0-1000 before|2000-4000 no time|3000-9500 over|9000-9500 backwards|");
	cues_end(&c, 9000);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.repairs[CUES_cut].count, 3);
	assert_int_equal(c.repairs[CUES_late].line, 2);
}

static void
cues_that_overlap_keep_their_times(void **state)
{
	assert_string_equal(read_text(*state,
	    "WEBVTT\n\n00:01.000 --> 00:05.000\nlong\n\n00:02.000 --> 00:03.000\nwithin\n\n00:02.000 --> 00:09.000\nbeyond\n"),
	    "1000-5000 long|2000-3000 within|2000-9000 beyond|");
}

static void
what_is_said_by_whom_is_told_without_markup(void **state)
{
	static const struct { const char *in, *out; } all[] = {
		{ "<v Anna \"A\" & Bob>Hi</v>", "Anna \"A\" & Bob:Hi" },
		{ "<v Tom &amp; Jerry>Hi", "Tom & Jerry:Hi" },
		{ "<v Anna>Hi\n<v Bob>Ho\nhum", "Anna:Hi/+Bob:Ho/hum" },
		{ "- Hi\n- Ho", "- Hi/- Ho" },
		{ "<img src=x onerror=alert(1)>t<script>u</script>", "tu" },
		{ "<font color=\"#ff0000\"><b>red</b></font>", "red" },
		{ "a --> b, 1 < 2 & 3 &#x1F600;", "a --> b, 1 < 2 & 3 \U0001F600" },
		{ "&#0; &#xD800; &#x110000;", "&#0; &#xD800; &#x110000;" },
		{ "{\\an8\\i1}top{\\i0}\\Nline", "top/line" },
		{ "<i></i>", "" }, { "&nbsp; \u200b", "" }, { "<v Anna>", "" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_string_equal(read_text(*state,
		    arena_printf(*state, "1\n00:01,000 --> 00:02,000\n%s\n", all[i].in)),
		    arena_printf(*state, "1000-2000 %s|", all[i].out));
}

/* What no encoding knows, and bytes of none. */
static void
nothing_in_a_text_ends_it(void **state)
{
	static const char bytes[] = "1\n00:01,000 --> 00:02,000\n{\\\0001}caf\xe9 <\0>\0 <v \0>b\n";
	struct cues all = read_bytes(*state, bytes, sizeof(bytes) - 1);

	assert_non_null(strstr(told(&all), "caf\xc3\xa9"));
}

static void
the_number_behind_a_subtitle_without_words_is_none(void **state)
{
	assert_string_equal(read_text(*state, "1\n00:01,000 --> 00:02,000\n\n2\n00:03,000 --> 00:04,000\nTwo\n"),
	    "1000-2000 |3000-4000 Two|");
	assert_string_equal(read_text(*state, "1\n00:01,000 --> 00:02,000\n1984\n\n2\n00:03,000 --> 00:04,000\nTwo\n"),
	    "1000-2000 1984|3000-4000 Two|");
	assert_string_equal(read_text(*state, "1\n00:01,000 --> 00:02,000\n\nNote the difference\n\n2\n00:03,000 --> "
	    "00:04,000\nTwo\n"), "1000-2000 Note the difference|3000-4000 Two|");
}

/* As large a file as is taken, of one text again and again: "{times}{text}". */
static struct buf
largest(struct arena *mem, const char *word)
{
	struct buf out = BUF(mem);

	for (int i = 0; out.len < 4190000; i++) {
		size_t until = out.len + 3900;

		buf_printf(&out, "%d\n%02d:%02d,000 --> %02d:%02d,900\n", i + 1, i / 60, i % 60, i / 60, i % 60);
		while (out.len < until)
			buf_text(&out, word);
		buf_text(&out, "end\n\n");
	}
	return out;
}

static void
the_largest_file_fits_into_the_memory_of_a_request(void **state)
{
	static const char *const words[] = { "a", "<v a> ", "<v a>b", "<i></i>", "&#x41;", "\xe4\xbd\xa0" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct arena *mem = arena_new((size_t)1 << 30);
		struct buf file = largest(mem, words[i]);
		size_t before = arena_used(mem);
		struct cues all = read_bytes(mem, file.text, file.len);
		struct list paragraphs;

		cues_end(&all, 7200000);
		transcript_imported(mem, &all, 100000, &paragraphs);
		if (arena_used(mem) - before > (size_t)160 << 20)
			fail_msg("of %s: %zu MiB", words[i], (arena_used(mem) - before) >> 20);
		arena_free(mem);
	}
}

/* The processor time for a mebibyte of tags, without a blank anywhere but in them. */
static clock_t
time_of(const char *tag)
{
	struct arena *mem = arena_new((size_t)1 << 30);
	struct buf file = BUF(mem);
	struct list paragraphs;
	struct cues all;
	clock_t began;

	buf_text(&file, "WEBVTT\n\n");
	for (int i = 0; file.len < 1 << 20; i++) {
		size_t until = file.len + 3900;

		buf_printf(&file, "%02d:%02d-->%02d:%02d\n", i / 60, i % 60, i / 60, i % 60 + 1);
		while (file.len < until)
			buf_text(&file, tag);
		buf_text(&file, "end\n\n");
	}
	began = clock();
	all = read_bytes(mem, file.text, file.len);
	cues_end(&all, 7200000);
	transcript_imported(mem, &all, 100000, &paragraphs);
	began = clock() - began;
	assert_true(all.n > 200);
	arena_free(mem);
	return began;
}

static void
a_voice_without_a_name_ends_with_its_tag(void **state)
{
	(void)state;
	assert_true(time_of("<v.a>") < 5 * (time_of("<v a>") + CLOCKS_PER_SEC / 100));
}

static void
ass_is_told_by_what_is_in_it(void **state)
{
	assert_string_equal(read_text(*state, "\xef\xbb\xbf[Script Info]\nTitle: x\n\n[Events]\nFormat: Layer, Start\n"
	    "Dialogue: 0,0:00:01.50,0:00:02.00,Default,,0,0,0,,{\\an8}Hi, you\\Nthere\nDialogue: 0,soon,later,Default,,0,0,0,,no\n"),
	    "1500-2000 Hi, you/there|");
}

static void
what_is_no_file_of_subtitles_has_no_cue(void **state)
{
	static const char *const all[] = {
	    "", "\n\n", "WEBVTT\n\nNOTE nothing\n", "just a letter\nof two lines\n", "<?xml version=\"1.0\"?><tt/>",
	    "%PDF-1.7\n1 0 obj\n", "1\n00:00 > 00:02\nx\n" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_string_equal(read_text(*state, all[i]), "");
}

/* Of a million all are counted, and no more kept than there may be; a text of a mebibyte ends early. */
static void
a_million_cues_and_a_text_without_end_stay_within_bounds(void **state)
{
	struct arena *big = arena_new((size_t)256 << 20);
	struct buf in = BUF(*state);
	struct cues c;

	buf_text(&in, "1\n00:00:01,000 --> 00:00:02,000\n");
	for (int i = 0; i < 1 << 18; i++)
		buf_text(&in, "\u00e4\u00f6");
	for (int i = 1; i < 1000000; i++)
		buf_printf(&in, "\n\n%d\n%02d:%02d:%02d,000 --> 99:00:00,000\nx", i, i / 3600 % 100, i / 60 % 60,
		    i % 60);
	c = (struct cues){ .mem = big };
	cues_read_any(&c, in.text, in.len);
	assert_int_equal(c.found, 1000000);
	assert_int_equal(c.n, CUES_MAX);
	assert_int_equal(c.repairs[CUES_long].count, 1);
	assert_in_range(c.at[0].n, 3990, 4000);
	assert_true(utf8_valid(c.at[0].text, c.at[0].n));
	arena_free(big);
}

#define TT "<tt xmlns=\"http://www.w3.org/ns/ttml\""

static void
ttml_is_read_with_its_times_looks_and_speakers(void **state)
{
	static const char file[] = "<?xml version=\"1.0\" encoding=\"ISO-8859-5\"?>\n<!-- <!DOCTYPE tt> -->\n"
	    "<tt:tt xmlns:tt=\"http://www.w3.org/ns/ttml\" xmlns:ttm=\"http://www.w3.org/ns/ttml#metadata\" "
	    "xmlns:tts=\"http://www.w3.org/ns/ttml#styling\" xml:lang=\"de\">\n<tt:head>\n"
	    "<ttm:title>not said</ttm:title><ttm:agent xml:id=\"a\" type=\"person\"><ttm:name type=\"full\"> Ada &amp; "
	    "Bob</ttm:name></ttm:agent>\n<tt:styling><tt:style xml:id=\"s\" tts:fontStyle=\"italic\"/></tt:styling>"
	    "<tt:layout><tt:region xml:id=\"r\"/></tt:layout></tt:head>\n<tt:body><tt:div begin=\"10s\">\n"
	    "<tt:p begin=\"00:00:01.5\" end=\"00:00:03\" ttm:agent=\"a\">\n  Gr\u00fc\u00dfe <tt:span style=\"s\">aus\n"
	    " K\u00f6ln</tt:span> <tt:br/> {\\an8} \\N &lt;b&gt;<ttm:desc>nor this</ttm:desc></tt:p>\n"
	    "<tt:p begin=\"4s\" dur=\"500ms\"><![CDATA[1 < 2]]><tt:span tts:display=\"none\">hidden</tt:span></tt:p>\n"
	    "<tt:p begin=\"5s\" end=\"9s\"> <tt:span begin=\"1s\" end=\"2s\">one</tt:span> "
	    "<tt:span begin=\"2s\">two</tt:span></tt:p>\n<tt:p xml:space=\"preserve\" begin=\"9s\" end=\"10s\">a\n  b</tt:p>"
	    "<tt:p/>\n</tt:div><tt:div timeContainer=\"seq\" begin=\"30s\"><tt:p dur=\"1s\">x</tt:p><tt:p begin=\"1s\" "
	    "dur=\"2s\">y</tt:p></tt:div></tt:body></tt:tt>\n";
	struct cues all = read_bytes(*state, file, strlen(file));

	assert_int_equal(all.form, SUBTITLES_TTML);
	assert_null(all.refused);
	assert_string_equal(told(&all), "11500-13000 Ada & Bob:Gr\u00fc\u00dfe aus K\u00f6ln/{\\an8} \\N <b>|"
	    "14000-14500 1 < 2|16000-17000 one|17000-19000 two|19000-20000 a/  b|30000-31000 x|32000-34000 y|");
	assert_string_equal(cue_markup(*state, &all.at[0]), "<v Ada &amp; Bob>Gr\u00fc\u00dfe <i>aus K\u00f6ln\n</i>"
	    "{\\an8} \\N &lt;b&gt;");
	assert_int_equal(all.at[1].line, 11);
}

static void
times_of_ttml_are_counted_in_hours_frames_and_ticks(void **state)
{
#define AT(head, begin, end) TT " " head "><body><p begin=\"" begin "\" end=\"" end "\">x</p></body></tt>"
	assert_string_equal(read_text(*state, AT("frameRate=\"25\"", "00:00:01:05", "50f")), "1200-2000 x|");
	assert_string_equal(read_text(*state,
	    AT("frameRate=\"30\" frameRateMultiplier=\"1000 1001\"", "30f", "0.001h")),
	    "1001-3600 x|");
	assert_string_equal(read_text(*state,
	    AT("timeBase=\"smpte\" frameRate=\"30\" frameRateMultiplier=\"1000 1001\"",
	    "00:01:00:00", "2m")), "60060-120000 x|");
	assert_string_equal(read_text(*state, AT("tickRate=\"10000000\"", "10000000t", "20000000t")), "1000-2000 x|");
	/* With a beginning alone it is shown for a while; without any time nobody knows when. */
	assert_string_equal(read_text(*state, TT "><body><p begin=\"1s\">x</p></body></tt>"), "1000-3000 x|");
	for (size_t i = 0; i < 3; i++) {
		const char *const files[] = { TT "><body><p>x</p></body></tt>", AT("", "soon", "2s"),
		    AT("", "1:2", "2s") };
		struct cues all = read_bytes(*state, files[i], strlen(files[i]));

		assert_int_equal(all.n, 0);
		assert_int_equal(all.repairs[CUES_times].line, 1);
	}
}

/* With n pieces between, of which each may have its number. */
static const char *
deep(struct arena *mem, const char *head, const char *piece, size_t n, const char *tail)
{
	struct buf out = BUF(mem);

	buf_text(&out, head);
	for (size_t i = 0; i < n; i++) {
		const char *hole = strchr(piece, '#');

		buf_add(&out, piece, hole != NULL ? (size_t)(hole - piece) : strlen(piece));
		if (hole != NULL)
			buf_printf(&out, "%zu%s", i, hole + 1);
	}
	buf_text(&out, tail);
	return buf_string(&out);
}

static void
xml_that_means_harm_is_refused_with_its_line(void **state)
{
#define SAYS "<body><p begin=\"1s\" end=\"2s\">&a;</p></body></tt>"
	const struct { const char *file; size_t line; } files[] = {
		{ "<?xml version=\"1.0\"?>\n<!DOCTYPE tt [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>\n" TT ">" SAYS, 2 },
		{ "<?xml version=\"1.0\"?><?x <!-- ?>\n<!DOCTYPE tt [<!ENTITY a \"x\">]><!-- -->\n" TT ">" SAYS, 2 },
		{ TT ">\n" SAYS, 2 },
		{ deep(*state, TT ">\n<body>\n", "<div>", 100, deep(*state, "", "</div>", 100, "</body></tt>")), 3 },
		{ deep(*state, TT ">\n<body>\n", "<x>", 100, deep(*state, "", "</x>", 100, "</body></tt>")), 3 },
		{ deep(*state, TT ">\n<body><p a=\">\" ", "a#='1' ", 1000, "/></body></tt>"), 2 },
		{ TT ">\n<body><p begin='1s' end='2s'>x</p>\n</tt>", 3 },
		{ "\n<html><body>x</body></html>", 2 },
		{ "<", 1 },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct cues all = read_bytes(*state, files[i].file, strlen(files[i].file));

		assert_int_equal(all.n, 0);
		assert_non_null(all.refused);
		if (all.refused_line != files[i].line)
			fail_msg("%zu: line %zu, %s", i, all.refused_line, all.refused);
	}
}

static void
who_speaks_is_told_by_the_names_of_ass(void **state)
{
	assert_string_equal(read_text(*state,
	    "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,Default, Ada <3 ,0,0,0,,Hi\\Nyou\n"
	    "Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,\\{x\\} {\\i1}y\n"), "1000-2000 Ada <3:Hi/you|3000-4000 {x} y|");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(ttml_is_read_with_its_times_looks_and_speakers),
		TEST(times_of_ttml_are_counted_in_hours_frames_and_ticks),
		TEST(xml_that_means_harm_is_refused_with_its_line),
		TEST(who_speaks_is_told_by_the_names_of_ass),
		TEST(every_encoding_gives_the_same_words),
		TEST(an_encoding_is_told_by_letters_that_come_late),
		TEST(webvtt_is_read_whatever_stands_before_its_cues),
		TEST(numbers_and_names_of_cues_are_no_text),
		TEST(times_that_cannot_be_are_mended_and_told),
		TEST(cues_that_overlap_keep_their_times),
		TEST(what_is_said_by_whom_is_told_without_markup),
		TEST(nothing_in_a_text_ends_it),
		TEST(the_number_behind_a_subtitle_without_words_is_none),
		cmocka_unit_test(the_largest_file_fits_into_the_memory_of_a_request),
		cmocka_unit_test(a_voice_without_a_name_ends_with_its_tag),
		TEST(ass_is_told_by_what_is_in_it),
		TEST(what_is_no_file_of_subtitles_has_no_cue),
		TEST(a_million_cues_and_a_text_without_end_stay_within_bounds),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
