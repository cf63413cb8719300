/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transcripts as files: plain text, SRT, WebVTT, TTML, ASS.  Cues hold at most two lines and never overlap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "media/quality.h"

/* Characters and milliseconds. */
enum {
	LINE = 42, LINES = 2,
	CUE_MIN = 1000, CUE_MAX = 7000, CUE_LEAST = 100,
	PAUSE = 1000,				/* a cue never spans one */
	PER_CHARACTER = 1000 / 17 + 1,		/* where there is time until the next cue */
};

/* What begins with a piece, where a person has made the subtitles. */
enum beginning { NOTHING, A_LINE, A_CUE };
struct piece { const char *text; size_t bytes, width; int64_t start, end; bool joined, hidden; enum beginning begins; };
struct pieces { struct piece *at; size_t n; };
/* speaker: NULL where nobody wants to know.  kept: made by a person, so its times are right. */
struct caption { const struct piece *pieces; size_t n; int64_t start, end; const char *speaker; bool kept; };
struct captions { struct caption *at; size_t n; };

/* Characters that a line of pieces [from, to) takes. */
static size_t
width(const struct piece *p, size_t from, size_t to)
{
	size_t sum = 0, i;

	for (i = from; i < to; i++)
		sum += p[i].width + (i > from && !p[i].joined);
	return sum;
}

/* A word that is wider than a line, in parts that fit. */
static size_t
add_pieces(struct piece *out, const struct word *w)
{
	size_t total = utf8_length(word_read(w)), done = 0, n = 0, k;
	const char *p = word_read(w);

	do {
		struct piece *x = &out[n++];

		x->text = p;
		x->joined = done > 0 || transcript_is_wide(p);
		x->start = w->start.ms + (total == 0 ? 0 : (w->end.ms - w->start.ms) * (int64_t)done / (int64_t)total);
		for (k = 0; k < LINE && *p != '\0'; k++)
			do
				p++;
			while (((unsigned char)*p & 0xc0) == 0x80);
		x->bytes = (size_t)(p - x->text);
		x->width = k;
		done += k;
		x->end = w->start.ms + (total == 0 ? 0 : (w->end.ms - w->start.ms) * (int64_t)done / (int64_t)total);
	} while (*p != '\0');
	return n;
}

/* The mark of what is hidden; one that follows another is the same. */
static size_t
add_mark(struct piece *out, size_t n, const struct word *w)
{
	static const char mark[] = "\u2026";

	if (n > 0 && out[-1].hidden && w->start.ms - out[-1].end < PAUSE) {
		out[-1].end = w->end.ms;
		return 0;
	}
	*out = (struct piece){ mark, sizeof(mark) - 1, 1, w->start.ms, w->end.ms, false, true, NOTHING };
	return 1;
}

static enum beginning
beginning(const struct word *w)
{
	return w->begins == NULL ? NOTHING : strcmp(w->begins, "cue") == 0 ? A_CUE : A_LINE;
}

static struct pieces
pieces_of(struct arena *mem, const struct paragraph *p)
{
	struct list words = p->words.n > 0 ? p->words : transcript_spread(mem, p->text, p->start.ms, p->end.ms);
	const struct word *w = words.rows;
	struct pieces out = { NULL, 0 };
	size_t i, room = 0;

	for (i = 0; i < words.n; i++)
		room += utf8_length(word_read(&w[i])) / LINE + 1;
	out.at = arena_array(mem, room, sizeof(struct piece));
	for (i = 0; i < words.n; i++)
		if (quality_hides(&w[i])) {
			out.n += add_mark(out.at + out.n, out.n, &w[i]);
		} else if (w[i].text[0] != '\0') {
			struct piece *first = out.at + out.n;

			out.n += add_pieces(first, &w[i]);
			first->begins = beginning(&w[i]);
		}
	return out;
}

/* Where a person has begun the only further line, if it can be so; 0: nowhere. */
static size_t
kept_line(const struct piece *p, size_t n)
{
	size_t k, at = 0;

	for (k = 1; k < n; k++) {
		if (p[k].begins == NOTHING)
			continue;
		if (at > 0 || p[k].begins == A_CUE)
			return 0;
		at = k;
	}
	return at > 0 && width(p, 0, at) <= LINE && width(p, at, n) <= LINE ? at : 0;
}

/* Where the second line begins: both as even as can be, better after a comma.  n: one line is enough; 0: two are
 * not. */
static size_t
second_line(const struct piece *p, size_t n)
{
	size_t k, best = kept_line(p, n), cost, least = SIZE_MAX, upper, lower;

	if (best > 0)
		return best;
	if (width(p, 0, n) <= LINE)
		return n;
	for (k = 1; k < n; k++) {
		upper = width(p, 0, k);
		lower = width(p, k, n);
		if (upper > LINE || lower > LINE)
			continue;
		cost = upper > lower ? upper - lower : lower - upper;
		if (strchr(",;:.!?", p[k - 1].text[p[k - 1].bytes - 1]) == NULL)
			cost += 8;
		if (cost < least) {
			least = cost;
			best = k;
		}
	}
	return best;
}

static bool
fits(const struct piece *p, size_t n)
{
	return n == 1 || (second_line(p, n) > 0 && p[n - 1].end - p[0].start <= CUE_MAX);
}

/* How good it is to end a cue after p[k - 1]: sentences before clauses before pauses, and rather late than early. */
static int64_t
merit(const struct piece *p, size_t k, size_t n)
{
	char last = p[k - 1].text[p[k - 1].bytes - 1];
	int64_t pause = p[k].start - p[k - 1].end, sum = (int64_t)(width(p, 0, k) * 60 / (width(p, 0, n) + 1));

	if (last == '.' || last == '!' || last == '?')
		sum += 60;
	else if (last == ',' || last == ';' || last == ':')
		sum += 30;
	return sum + (pause > 600 ? 60 : pause / 10);
}

/* The pieces of the next cue that a person has made; 0: it was none, or does not fit on two lines. */
static size_t
kept_length(const struct piece *p, size_t n)
{
	size_t k = 1;

	while (k < n && p[k].begins != A_CUE)
		k++;
	return p[0].begins == A_CUE && (k == 1 || second_line(p, k) > 0) ? k : 0;
}

/* Does a cue always end before this piece? */
static bool
divides(const struct piece *p)
{
	return p[0].begins == A_CUE || p[0].start - p[-1].end >= PAUSE;
}

/* The pieces of the next cue. */
static size_t
cue_length(const struct piece *p, size_t n)
{
	size_t most = 1, best, k;

	while (most < n && !divides(p + most) && fits(p, most + 1))
		most++;
	if (most == n || divides(p + most))
		return most;
	for (best = most, k = 1; k < most; k++)
		if (merit(p, k, most) > merit(p, best, most))
			best = k;
	return best;
}

/* Times for readers: long enough, not into the next cue, never backwards. */
static void
set_times(struct captions *c)
{
	int64_t at = 0, wanted, next;
	size_t i;

	for (i = 0; i < c->n; i++) {
		struct caption *x = &c->at[i];

		x->start = x->pieces[0].start < at ? at : x->pieces[0].start;
		x->end = x->pieces[x->n - 1].end;
		if (x->kept && x->end > x->start) {
			at = x->end;
			continue;
		}
		next = i + 1 < c->n ? c->at[i + 1].pieces[0].start : INT64_MAX;
		wanted = (int64_t)width(x->pieces, 0, x->n) * PER_CHARACTER;
		wanted = x->start + (wanted < CUE_MIN ? CUE_MIN : wanted > CUE_MAX ? CUE_MAX : wanted);
		if (x->end < wanted)
			x->end = wanted;
		if (x->end > x->start + CUE_MAX)
			x->end = x->start + CUE_MAX;
		if (x->end > next)
			x->end = next;
		if (x->end < x->start + CUE_LEAST)
			x->end = x->start + CUE_LEAST;
		at = x->end;
	}
}

static struct captions
make_captions(struct arena *mem, const struct list *paragraphs)
{
	const struct paragraph *p = paragraphs->rows;
	struct pieces *parts = arena_array(mem, paragraphs->n, sizeof(*parts));
	size_t total = 0, i, at, n;
	struct captions c = { NULL, 0 };

	for (i = 0; i < paragraphs->n; i++) {
		parts[i] = pieces_of(mem, &p[i]);
		total += parts[i].n;
	}
	c.at = arena_array(mem, total, sizeof(struct caption));
	for (i = 0; i < paragraphs->n; i++)
		for (at = 0; at < parts[i].n; at += n) {
			const size_t kept = kept_length(parts[i].at + at, parts[i].n - at);

			n = kept > 0 ? kept : cue_length(parts[i].at + at, parts[i].n - at);
			c.at[c.n++] = (struct caption){ parts[i].at + at, n, 0, 0, p[i].speaker, kept > 0 };
		}
	set_times(&c);
	return c;
}

/* Control characters would end a line, or the file's text, early. */
static void
add_text(struct buf *b, enum transcript_form form, const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			buf_char(b, ' ');
		else if ((form == TRANSCRIPT_VTT || form == TRANSCRIPT_TTML) && strchr("&<>", text[i]) != NULL)
			buf_text(b, text[i] == '&' ? "&amp;" : text[i] == '<' ? "&lt;" : "&gt;");
		else if (form == TRANSCRIPT_TTML && n - i >= 3 && (memcmp(text + i, "\xef\xbf\xbe", 3) == 0 ||
		    memcmp(text + i, "\xef\xbf\xbf", 3) == 0)) {
			buf_text(b, "\ufffd");		/* XML has none of these */
			i += 2;
		} else if (form == TRANSCRIPT_ASS && strchr("{}", text[i]) != NULL)
			buf_printf(b, "\\%c", text[i]);
		else if (form == TRANSCRIPT_ASS && text[i] == '\\')
			buf_text(b, "\\\u2060");	/* it has no escape, and with some letters it is one */
		else if (form == TRANSCRIPT_SRT && n - i >= 3 && memcmp(text + i, "-->", 3) == 0) {
			buf_text(b, "\u2192");		/* SRT has no escapes, and this would read as a time line */
			i += 2;
		} else
			buf_char(b, text[i]);
}

static void
add_line(struct buf *b, enum transcript_form form, const struct piece *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (i > 0 && !p[i].joined)
			buf_char(b, ' ');
		if (p[i].hidden && form == TRANSCRIPT_VTT)
			buf_printf(b, "<c.unsure>%s</c>", p[i].text);
		else
			add_text(b, form, p[i].text, p[i].bytes);
	}
}

static void
add_time(struct buf *b, enum transcript_form form, int64_t ms)
{
	if (form == TRANSCRIPT_ASS)
		ms = (ms + 5) / 10 * 10;
	buf_printf(b, form == TRANSCRIPT_ASS ? "%d:%02d:%02d" : "%02d:%02d:%02d", (int)(ms / 3600000),
	    (int)(ms / 60000 % 60), (int)(ms / 1000 % 60));
	if (form == TRANSCRIPT_ASS)
		buf_printf(b, ".%02d", (int)(ms / 10 % 100));
	else
		buf_printf(b, "%c%03d", form == TRANSCRIPT_SRT ? ',' : '.', (int)(ms % 1000));
}

static void
add_lines(struct buf *b, enum transcript_form form, const struct caption *c, const char *between)
{
	size_t second = second_line(c->pieces, c->n);

	add_line(b, form, c->pieces, second);
	if (second < c->n) {
		buf_text(b, between);
		add_line(b, form, c->pieces + second, c->n - second);
	}
}

static void
add_times(struct buf *b, enum transcript_form form, int64_t start, int64_t end)
{
	add_time(b, form, start);
	buf_text(b, " --> ");
	add_time(b, form, end);
	buf_char(b, '\n');
}

static void
add_speech(struct buf *b, enum transcript_form form, const struct caption *c)
{
	if (c->speaker != NULL) {
		buf_text(b, form == TRANSCRIPT_VTT ? "<v " : "");
		add_text(b, form, c->speaker, strlen(c->speaker));
		buf_text(b, form == TRANSCRIPT_VTT ? ">" : ": ");
	}
	add_lines(b, form, c, "\n");
}

static void
add_cue(struct buf *b, enum transcript_form form, const struct caption *c)
{
	add_times(b, form, c->start, c->end);
	add_speech(b, form, c);
	buf_text(b, "\n\n");
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Everybody who speaks, once, in the order of their names. */
static struct list
speakers_of(struct arena *mem, const struct captions *c)
{
	const char **names = arena_array(mem, c->n, sizeof(*names));
	size_t n = 0, i, kept = 0;

	for (i = 0; i < c->n; i++)
		if (c->at[i].speaker != NULL)
			names[n++] = c->at[i].speaker;
	if (n > 0)
		qsort(names, n, sizeof(*names), by_name);
	for (i = 0; i < n; i++)
		if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	return (struct list){ names, kept };
}

/* Below on the picture, in the middle, as the text profile of IMSC has it. */
static void
write_ttml(struct buf *b, const struct captions *c, const char *language)
{
	const struct list speakers = speakers_of(b->mem, c);
	const char *const *names = speakers.rows, *const *name;
	size_t i;

	buf_printf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tt xmlns=\"http://www.w3.org/ns/ttml\" "
	    "xmlns:ttm=\"http://www.w3.org/ns/ttml#metadata\" xmlns:ttp=\"http://www.w3.org/ns/ttml#parameter\" "
	    "xmlns:tts=\"http://www.w3.org/ns/ttml#styling\" "
	    "ttp:contentProfiles=\"http://www.w3.org/ns/ttml/profile/imsc1.1/text\" xml:lang=\"%s\">\n<head>\n",
	    language);
	for (i = 0; i < speakers.n; i++) {
		buf_printf(b, "<ttm:agent xml:id=\"speaker%zu\" type=\"person\"><ttm:name type=\"full\">", i + 1);
		add_text(b, TRANSCRIPT_TTML, names[i], strlen(names[i]));
		buf_text(b, "</ttm:name></ttm:agent>\n");
	}
	buf_text(b, "<layout><region xml:id=\"below\" tts:origin=\"10% 80%\" tts:extent=\"80% 15%\" "
	    "tts:displayAlign=\"after\" tts:textAlign=\"center\"/></layout>\n</head>\n<body region=\"below\"><div>\n");
	for (i = 0; i < c->n; i++) {
		buf_text(b, "<p begin=\"");
		add_time(b, TRANSCRIPT_TTML, c->at[i].start);
		buf_text(b, "\" end=\"");
		add_time(b, TRANSCRIPT_TTML, c->at[i].end);
		name = c->at[i].speaker == NULL ? NULL : bsearch(&c->at[i].speaker, names, speakers.n, sizeof(*names),
		    by_name);
		if (name != NULL)
			buf_printf(b, "\" ttm:agent=\"speaker%td", name - names + 1);
		buf_text(b, "\">");
		add_lines(b, TRANSCRIPT_TTML, &c->at[i], "<br/>");
		buf_text(b, "</p>\n");
	}
	buf_text(b, "</div></body>\n</tt>\n");
}

/* The columns of the style are those that ffmpeg writes for a file without any. */
static void
write_ass(struct buf *b, const struct captions *c)
{
	size_t i;

	buf_text(b, "[Script Info]\nScriptType: v4.00+\nPlayResX: 384\nPlayResY: 288\nScaledBorderAndShadow: yes\n\n"
	    "[V4+ Styles]\nFormat: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, "
	    "Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, "
	    "MarginL, MarginR, MarginV, Encoding\n"
	    "Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,1\n\n"
	    "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n");
	for (i = 0; i < c->n; i++) {
		const char *name = c->at[i].speaker;

		buf_text(b, "Dialogue: 0,");
		add_time(b, TRANSCRIPT_ASS, c->at[i].start);
		buf_char(b, ',');
		add_time(b, TRANSCRIPT_ASS, c->at[i].end);
		buf_text(b, ",Default,");
		for (; name != NULL && *name != '\0'; name++)	/* commas divide */
			add_text(b, TRANSCRIPT_TXT, *name == ',' ? " " : name, 1);
		buf_text(b, ",0,0,0,,");
		add_lines(b, TRANSCRIPT_ASS, &c->at[i], "\\N");
		buf_char(b, '\n');
	}
}

static void
write_text(struct buf *b, const struct list *paragraphs, bool speakers)
{
	const struct paragraph *p = paragraphs->rows;
	const char *said;
	size_t i;

	for (i = 0; i < paragraphs->n; i++) {
		if (i > 0)
			buf_char(b, '\n');
		if (speakers && p[i].speaker != NULL) {
			add_text(b, TRANSCRIPT_TXT, p[i].speaker, strlen(p[i].speaker));
			buf_text(b, ": ");
		}
		said = transcript_reading(b->mem, &p[i]);
		add_text(b, TRANSCRIPT_TXT, said, strlen(said));
		buf_char(b, '\n');
	}
}

int64_t
transcript_cues(struct arena *mem, const struct list *paragraphs)
{
	return (int64_t)make_captions(mem, paragraphs).n;
}

struct transcript_cue *
transcript_cue_list(struct arena *mem, const struct list *paragraphs, size_t *n)
{
	const struct captions c = make_captions(mem, paragraphs);
	struct transcript_cue *out = arena_array(mem, c.n, sizeof(*out));
	size_t i;

	for (i = 0; i < c.n; i++) {
		struct buf text = BUF(mem);

		add_speech(&text, TRANSCRIPT_VTT, &c.at[i]);
		out[i] = (struct transcript_cue){ c.at[i].start, c.at[i].end, buf_string(&text) };
	}
	*n = c.n;
	return out;
}

void
transcript_write_cue(struct buf *b, const struct transcript_cue *c)
{
	add_times(b, TRANSCRIPT_VTT, c->start, c->end);
	buf_printf(b, "%s\n\n", c->text);
}

void
transcript_write(struct buf *b, enum transcript_form form, const struct list *paragraphs, const char *language,
    bool speakers)
{
	struct captions c;
	size_t i;

	if (form == TRANSCRIPT_TXT) {
		write_text(b, paragraphs, speakers);
		return;
	}
	c = make_captions(b->mem, paragraphs);
	for (i = 0; !speakers && i < c.n; i++)
		c.at[i].speaker = NULL;
	if (form == TRANSCRIPT_TTML) {
		write_ttml(b, &c, language);
		return;
	}
	if (form == TRANSCRIPT_ASS) {
		write_ass(b, &c);
		return;
	}
	if (form == TRANSCRIPT_VTT)
		buf_text(b, "WEBVTT\n\n");
	for (i = 0; i < c.n; i++) {
		if (form == TRANSCRIPT_SRT)
			buf_printf(b, "%zu\n", i + 1);
		add_cue(b, form, &c.at[i]);
	}
}
