/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transcripts: words on the text they belong to, paragraphs, and their stored form.  The files are in captions.c. */
#include <string.h>

#include "core/asset.h"
#include "media/alignment.h"
#include "media/language.h"

/* A paragraph ends at a long pause; from ENOUGH characters on at a short pause or the end of a sentence; at FULL
 * characters anywhere. */
enum { PAUSE_LONG = 2000, PAUSE_SHORT = 500, ENOUGH = 300, FULL = 900 };

static const struct field word_fields[] = {
	FIELD(struct word, text, .required = true, .doc = "The word, with the punctuation that hangs on it"),
	FIELD(struct word, start, .required = true, .doc = "Seconds from the beginning of the recording"),
	FIELD(struct word, end, .required = true, .doc = "Seconds from the beginning of the recording"),
	FIELD(struct word, confidence, .on = OMIT_NULL, .doc = "0 to 1, where the engine gives one"),
	FIELD(struct word, source, .required = true, .one_of = "machine human import", .doc = "Where the word comes from"),
	FIELD(struct word, estimated, .on = OMIT_NULL,
	    .doc = "The times were not heard, but follow from the place of the word in what was said"),
	FIELD(struct word, reading, .on = OMIT_NULL,
	    .doc = "The word as it is to be read, with case and punctuation that a machine has added by rules where "
	    "the engine gives none; left out where that is text"),
	FIELD(struct word, begins, .on = OMIT_NULL, .one_of = "cue line",
	    .doc = "Of subtitles that were uploaded: one of them, or a further line of it, begins with this word"),
};
const struct record word_record = RECORD("Word", struct word, word_fields);

static const struct field segment_fields[] = {
	FIELD(struct segment, start, .doc = "Seconds from the beginning of the recording"),
	FIELD(struct segment, end, .doc = "Seconds from the beginning of the recording"),
	FIELD(struct segment, text, .doc = "What is said"),
	FIELD(struct segment, words, .of = &word_record, .doc = "Its words in order"),
};
const struct record segment_record = RECORD("Segment", struct segment, segment_fields);

static const struct field paragraph_fields[] = {
	FIELD(struct paragraph, id, .required = true, .doc = "Unique id"),
	FIELD(struct paragraph, speaker_id, .on = OMIT_NULL, .doc = "Who speaks, where voices are told apart"),
	FIELD(struct paragraph, speaker, .on = OMIT_NULL, .doc = "Name of the speaker: Speaker 1 and so on where voices are told apart"),
	FIELD(struct paragraph, speaker_source, .on = OMIT_NULL, .one_of = "human", .doc = "human: a person has said by whom it is"),
	FIELD(struct paragraph, start, .required = true, .doc = "Seconds from the beginning of the recording"),
	FIELD(struct paragraph, end, .required = true, .doc = "Seconds from the beginning of the recording"),
	FIELD(struct paragraph, text, .required = true, .doc = "What is said"),
	FIELD(struct paragraph, reading, .on = OMIT_NULL,
	    .doc = "The same with case and punctuation that a machine has added, where the engine gives none: "
	    "what captions and downloads show"),
	FIELD(struct paragraph, words, .of = &word_record, .doc = "Its words in order"),
};
const struct record paragraph_record = RECORD("Paragraph", struct paragraph, paragraph_fields);

static const struct field transcript_fields[] = {
	FIELD(struct transcript, id, .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct transcript, media_id, .on = SERVER, .required = true, .doc = "The asset"),
	FIELD(struct transcript, language_code, .on = SERVER | FILTER | SORT | ASCII, .required = true,
	    .doc = "BCP 47 tag of the text, or translate-en: English made of any language"),
	FIELD(struct transcript, language_origin, .on = SERVER | OMIT_NULL, .of = &language_origin_record, .doc = "Who says that it is this language"),
	FIELD(struct transcript, source, .on = SERVER | FILTER, .required = true, .one_of = "machine human import",
	    .doc = "Where it comes from"),
	FIELD(struct transcript, engine, .on = SERVER, .required = true, .doc = "Name and version of what made it"),
	FIELD(struct transcript, reading_engine, .on = SERVER | OMIT_NULL,
	    .doc = "Name and version of the model that has put the punctuation of reading between the words; not "
	    "there: rules, or the engine itself"),
	FIELD(struct transcript, status, .on = SERVER | FILTER, .required = true, .one_of = "queued running completed failed",
	    .doc = "completed, or failed: then error says why, and there is no text"),
	FIELD(struct transcript, error, .on = SERVER | OMIT_NULL, .of = &job_error_record, .doc = "Why it failed"),
	FIELD(struct transcript, quality, .on = SERVER | FILTER, .one_of = "good draft unreliable",
	    .doc = "By the confidences of the words: of good ones four in five are right, of a draft most, and "
		   "unreliable may be nonsense; null where the engine gives no confidences. A translation by rules is a draft"),
	FIELD(struct transcript, captions, .on = SERVER | PATCH | FILTER, .required = true,
	    .one_of = "automatic published withheld",
	    .doc = "Whether players show it: automatic is yes unless the quality is unreliable"),
	FIELD(struct transcript, no_speech, .on = SERVER | FILTER, .required = true, .doc = "Nothing is said in the recording"),
	FIELD(struct transcript, confidence, .on = SERVER | OMIT_NULL, .doc = "Mean of the words, 0 to 1"),
	FIELD(struct transcript, paragraphs, .on = SERVER | DETAIL, .required = true, .of = &paragraph_record, .format = "array",
	    .doc = "The text in order; left out of lists"),
	FIELD(struct transcript, cue_count, .on = SERVER | OMIT_NULL, .doc = "How many subtitles it makes"),
	FIELD(struct transcript, version, .on = SERVER, .required = true, .doc = "Grows with each change"),
	FIELD(struct transcript, created_at, .on = SERVER | SORT, .required = true, .doc = "When it was made"),
	FIELD(struct transcript, updated_at, .on = SERVER | SORT, .required = true, .doc = "When it was last changed"),
};
const struct record transcript_record = RECORD("Transcript", struct transcript, transcript_fields);

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Scripts that are written without blanks take each character as a word: U+2E80 to U+9FFF and the full-width forms. */
bool
transcript_is_wide(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (u[0] == 0xe2 && u[1] >= 0xba) || (u[0] >= 0xe3 && u[0] <= 0xe9) || (u[0] == 0xef && u[1] >= 0xbc);
}

static size_t
character(const char *p)
{
	size_t n = 1;

	while (((unsigned char)p[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* CJK punctuation stays with the character before it. */
static bool
is_wide_mark(const char *p)
{
	return strncmp(p, "\u3001", 3) == 0 || strncmp(p, "\u3002", 3) == 0 || strncmp(p, "\uff0c", 3) == 0 ||
	    strncmp(p, "\uff01", 3) == 0 || strncmp(p, "\uff1f", 3) == 0;
}

/* Length of the word at p, which is not blank. */
static size_t
token(const char *p)
{
	size_t n = 0;

	if (transcript_is_wide(p)) {
		n = character(p);
		while (is_wide_mark(p + n))
			n += 3;
		return n;
	}
	while (p[n] != '\0' && !is_blank(p[n]) && !transcript_is_wide(p + n))
		n += character(p + n);
	return n;
}

size_t
transcript_count(const char *text)
{
	size_t n = 0;

	while (*text != '\0') {
		if (is_blank(*text)) {
			text++;
			continue;
		}
		text += token(text);
		n++;
	}
	return n;
}

struct list
transcript_words(struct arena *mem, const char *text)
{
	struct list out = { arena_array(mem, transcript_count(text), sizeof(struct word)), 0 };
	struct word *w = out.rows;
	size_t n;

	while (*text != '\0') {
		if (is_blank(*text)) {
			text++;
			continue;
		}
		n = token(text);
		w[out.n].text = arena_copy_n(mem, text, n);
		w[out.n++].source = "machine";
		text += n;
	}
	return out;
}

void
transcript_time(struct word *words, size_t from, size_t to, int64_t start, int64_t end)
{
	size_t total = 0, done = 0, i;

	if (end < start)
		end = start;
	for (i = from; i < to; i++)
		total += utf8_length(words[i].text) + 1;
	for (i = from; i < to; i++) {
		words[i].start = (struct position){ start + (end - start) * (int64_t)done / (int64_t)total, true };
		done += utf8_length(words[i].text) + 1;
		words[i].end = (struct position){ start + (end - start) * (int64_t)done / (int64_t)total, true };
		words[i].estimated = true;
	}
}

struct list
transcript_spread(struct arena *mem, const char *text, int64_t start, int64_t end)
{
	struct list out = transcript_words(mem, text);

	transcript_time(out.rows, 0, out.n, start, end);
	return out;
}

struct list
transcript_align(struct arena *mem, const char *text, int64_t start, int64_t end, const struct list *heard)
{
	struct list out = transcript_words(mem, text);
	struct word *w = out.rows;
	const struct word *h = heard->rows;
	const size_t *match = alignment_find(mem, w, out.n, h, heard->n);
	int64_t at = start;
	size_t i, from;

	for (i = from = 0; i < out.n; i++) {
		if (match[i] == SIZE_MAX)
			continue;
		w[i].start = h[match[i]].start;
		w[i].end = h[match[i]].end;
		w[i].confidence = h[match[i]].confidence;
		transcript_time(w, from, i, at, w[i].start.ms);
		at = w[i].end.ms;
		from = i + 1;
	}
	transcript_time(w, from, out.n, at, end);
	return out;
}

/* All words in one array, with positions that never go back. */
static struct word *
all_words(struct arena *mem, const struct segment *segments, size_t n, size_t *count)
{
	struct word *out;
	int64_t at = 0;
	size_t i, k;

	for (*count = i = 0; i < n; i++)
		*count += segments[i].words.n;
	out = arena_array(mem, *count, sizeof(*out));
	for (*count = i = 0; i < n; i++)
		for (k = 0; k < segments[i].words.n; k++) {
			struct word *w = &out[(*count)++];

			*w = ((const struct word *)segments[i].words.rows)[k];
			if (w->start.ms < at)
				w->start.ms = at;
			if (w->end.ms < w->start.ms)
				w->end.ms = w->start.ms;
			w->start.set = w->end.set = true;
			if (w->source == NULL)
				w->source = "machine";
			at = w->end.ms;
		}
	return out;
}

bool
transcript_ends_sentence(const char *word)
{
	size_t n = strlen(word);

	while (n > 0 && strchr("\"')]", word[n - 1]) != NULL)
		n--;
	if (n == 0)
		return false;
	return strchr(".!?", word[n - 1]) != NULL || (n >= 3 && (strncmp(word + n - 3, "\u3002", 3) == 0 ||
	    strncmp(word + n - 3, "\uff01", 3) == 0 || strncmp(word + n - 3, "\uff1f", 3) == 0));
}

/* Does a paragraph of so many bytes end between these two words? */
static bool
breaks(const struct word *before, const struct word *after, size_t length)
{
	int64_t pause = after->start.ms - before->end.ms;

	/* A subtitle of a person stays whole. */
	if (strcmp(after->source, "import") == 0 && (after->begins == NULL || strcmp(after->begins, "cue") != 0))
		return false;
	if (pause >= PAUSE_LONG || length >= FULL)
		return true;
	return length >= ENOUGH && (pause >= PAUSE_SHORT || transcript_ends_sentence(before->text));
}

static void
paragraph_end(struct arena *mem, struct paragraph *p, struct word *words, size_t n, const struct buf *text)
{
	p->id = uuid_new();
	p->start = words[0].start;
	p->end = words[n - 1].end;
	p->text = arena_copy_n(mem, buf_string(text), text->len);
	p->words = (struct list){ words, n };
}

struct list
transcript_paragraphs(struct arena *mem, const struct segment *segments, size_t n)
{
	struct list out = { NULL, 0 };
	struct buf text = BUF(mem);
	size_t count, i, from = 0;
	struct word *words = all_words(mem, segments, n, &count);

	out.rows = arena_array(mem, count, sizeof(struct paragraph));
	for (i = 0; i < count; i++) {
		if (text.len > 0 && !transcript_is_wide(words[i].text))
			buf_char(&text, ' ');
		buf_text(&text, words[i].text);
		if (i + 1 < count && !breaks(&words[i], &words[i + 1], text.len))
			continue;
		paragraph_end(mem, (struct paragraph *)out.rows + out.n++, words + from, i + 1 - from, &text);
		text.len = 0;
		from = i + 1;
	}
	return out;
}

const char *
transcript_reading(struct arena *mem, const struct paragraph *p)
{
	const struct word *w = p->words.rows;
	struct buf out = BUF(mem);
	bool read = false;

	for (size_t i = 0; i < p->words.n; i++) {
		if (i > 0 && !transcript_is_wide(w[i].text))
			buf_char(&out, ' ');
		buf_text(&out, word_read(&w[i]));
		read = read || w[i].reading != NULL;
	}
	return read ? buf_string(&out) : p->text;
}

const char *
transcript_json(struct arena *mem, const struct list *paragraphs)
{
	const struct paragraph *p = paragraphs->rows;
	struct buf out = BUF(mem);
	struct paragraph one;
	size_t i;

	/* Most of it is words of about 90 bytes: room at once, where growing by steps would take twice as much. */
	for (i = 0; i < paragraphs->n; i++)
		out.room += 1024 + p[i].words.n * 100;
	out.text = arena_alloc(mem, ++out.room);
	buf_char(&out, '[');
	for (i = 0; i < paragraphs->n; i++) {
		if (i > 0)
			buf_char(&out, ',');
		one = p[i];
		one.reading = transcript_reading(mem, &one);
		if (one.reading == one.text)
			one.reading = NULL;
		record_store(&out, &paragraph_record, &one);
	}
	buf_char(&out, ']');
	return buf_string(&out);
}

const char *
transcript_language(const char *code)
{
	return strcmp(code, "translate-en") == 0 ? "en" : code;
}

const char *
transcript_label(struct arena *mem, const char *code)
{
	return language_label(mem, transcript_language(code));
}
