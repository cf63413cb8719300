/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is said in a recording: from the segments of an engine to paragraphs, and from those to files for people and
 * players.  Text is never touched: no case, punctuation or word that the engine did not give; how it is
 * to be read where the engine gave none stands beside it (media/reading.h).
 */
#ifndef MEDIA_TRANSCRIPT_H
#define MEDIA_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/record.h"
#include "core/text.h"

struct word {
	const char *text;			/* with the punctuation that hangs on it */
	struct position start, end;
	double confidence;			/* 0 to 1; 0 = the engine gives none */
	const char *source;			/* machine, human, import */
	bool estimated;				/* nobody has heard when: it is the time of its place in the text */
	const char *begins;			/* "cue", "line": of a subtitle that a person has made; NULL: neither */
	const char *reading;			/* with case and punctuation of reading.h; NULL: as .text */
};

/* An utterance as an engine gave it.  Positions are in the recording. */
struct segment {
	struct position start, end;
	const char *text;
	struct list words;			/* struct word, each found in text, in order */
};

struct paragraph {
	struct uuid id, speaker_id;
	const char *speaker;			/* name, once somebody has said who it is */
	struct position start, end;
	const char *text;
	struct list words;
	const char *speaker_source;		/* "human": a person has said so; NULL: it follows from turns */
	const char *reading;			/* of its words, as it was stored; NULL: as .text */
};

/* A row of the table transcripts. */
struct transcript {
	struct uuid id, media_id;
	const char *language_code, *source, *engine, *status, *quality, *captions;
	const char *reading_engine;		/* has put marks between its words; NULL: rules, or nothing had to */
	struct json language_origin;		/* language_origin(); NULL: made by an older release */
	struct json error;			/* of a failed one: code, detail, remedy, retryable */
	bool no_speech;
	double confidence;
	struct json paragraphs;			/* array of struct paragraph, stored as it is sent */
	struct number cue_count;		/* subtitles that they make; not set: made by an older release */
	int64_t version;
	struct moment created_at, updated_at;
};

struct cues;

extern const struct record word_record, segment_record, paragraph_record, transcript_record;

/* What is shown of a word. */
static inline const char *
word_read(const struct word *w)
{
	return w->reading != NULL ? w->reading : w->text;
}

/* What is shown of a paragraph, from its words. */
const char *transcript_reading(struct arena *, const struct paragraph *);

/* The words of a text, without times, as if a machine had heard them. */
struct list transcript_words(struct arena *, const char *text);
/* How many these are. */
size_t transcript_count(const char *text);
/* Gives words[from…to) the time between start and end, by their length, and marks them as estimated. */
void transcript_time(struct word *words, size_t from, size_t to, int64_t start, int64_t end);

/* Words for a text whose engine gave no times: spread over start to end by their length, and marked. */
struct list transcript_spread(struct arena *, const char *text, int64_t start, int64_t end);

/* Words of the text itself with the times of the heard words that match them: engines give words without the
 * punctuation, with other numerals, or leave some out.  Those between two matches are spread, and marked. */
struct list transcript_align(struct arena *, const char *text, int64_t start, int64_t end, const struct list *heard);

/* Paragraphs by pauses, sentence ends and length, with new ids.  Positions come out in order and without overlap. */
struct list transcript_paragraphs(struct arena *, const struct segment *, size_t n);

/* Of subtitles that a person has made, in the order of time: each keeps its words, lines and times, but those that are
 * shown at once follow each other.  False: there are more words than `most`. */
bool transcript_imported(struct arena *, struct cues *, size_t most, struct list *paragraphs);

/* Their stored form, which is also the one that is sent. */
const char *transcript_json(struct arena *, const struct list *paragraphs);

/* Is the character one of a script without blanks, so that none goes before it? */
bool transcript_is_wide(const char *);
/* Does the word end a sentence? */
bool transcript_ends_sentence(const char *word);

/* How many subtitles they make. */
int64_t transcript_cues(struct arena *, const struct list *paragraphs);

enum transcript_form { TRANSCRIPT_TXT, TRANSCRIPT_SRT, TRANSCRIPT_VTT, TRANSCRIPT_TTML, TRANSCRIPT_ASS };

/* Appends the whole file.  language: of the text, which TTML alone says; `speakers`: with their names where they are
 * known.  Captions have a mark in the place of
 * what is more probably wrong than right (quality_hides): one for any number of words, in WebVTT of the class
 * `unsure`.  Two lines of 42 characters at most, shown long enough to be read where nobody speaks already again; what a
 * person has made into subtitles stays as it is, as long as it fits. */
void transcript_write(struct buf *, enum transcript_form, const struct list *paragraphs, const char *language,
    bool speakers);

/* What stands in the WebVTT of that, cue by cue: its text with markup, and with line ends between its lines. */
struct transcript_cue { int64_t start, end; const char *text; };
struct transcript_cue *transcript_cue_list(struct arena *, const struct list *paragraphs, size_t *n);
/* Appends it as it stands in a file, with the blank line behind it. */
void transcript_write_cue(struct buf *, const struct transcript_cue *);

/* The language of the text: "en" for "translate-en". */
const char *transcript_language(const char *code);
/* Its name in itself, for the player's menu: "English", "Deutsch". */
const char *transcript_label(struct arena *, const char *code);

#endif
