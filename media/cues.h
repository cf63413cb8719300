/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of subtitles, read as cues: SRT, WebVTT, the dialogue of ASS and TTML, in whatever encoding and with whatever
 * faults.  A line with two times is what a cue begins at; what stands before the first and cannot be text is passed
 * over.  TTML is XML, and is read as such or not at all.
 */
#ifndef MEDIA_CUES_H
#define MEDIA_CUES_H

#include <stdint.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/record.h"

enum subtitles_form { SUBTITLES_SRT, SUBTITLES_ASS, SUBTITLES_VTT, SUBTITLES_TTML };

/* What had to be mended: name, and what is told of it. */
#define CUE_REPAIRS(R) \
	R(encoding,	"the file was not UTF-8, and has been converted") \
	R(times,	"a time could not be read: the subtitle is left out") \
	R(backwards,	"it ended before it began, or at once: it is shown for two seconds") \
	R(negative,	"it began before the recording: it begins with it") \
	R(unordered,	"it began before the one above it: they are in the order of time") \
	R(long,		"the text was too long, and ends early") \
	R(late,		"it began after the end of the recording: it is left out") \
	R(cut,		"it ended after the end of the recording: it ends with it") \
	R(together,	"it began before the one above it had ended: they follow each other")
enum cue_repair {
#define CUE_REPAIR(name, doc) CUES_##name,
	CUE_REPAIRS(CUE_REPAIR)
#undef CUE_REPAIR
	CUES_REPAIRS
};

/* Times in milliseconds.  The text is as it stands in the file, with its markup; that of TTML has been made WebVTT.
 * name: who speaks, where the file says so beside the text. */
struct cue { int64_t start, end; const char *text, *settings, *name; size_t n, n_settings, n_name, line; };

/* Of at most CUES_MAX cues; `found` counts all that there were.  line: where the first of a fault was, from 1. */
struct cues {
	struct arena *mem;
	struct cue *at;
	size_t n, room, found;
	enum subtitles_form form;
	const char *encoding;			/* NULL: UTF-8 */
	const char *language;			/* as the file says: it may be none at all; NULL: it does not */
	const char *text;			/* all of the file, in UTF-8 */
	size_t size;
	const char *refused;			/* why nothing of it is read, in a sentence; NULL: it is */
	size_t refused_line;
	struct { int64_t count, line; } repairs[CUES_REPAIRS];
};
enum { CUES_MAX = 100000 };

/* Reads all of them, in the order of time.  `all` has its mem set and is empty. */
void cues_read(struct cues *all, enum subtitles_form, const char *bytes, size_t n);
/* The same in the form that the file looks like; what has no sign of another is SRT. */
void cues_read_any(struct cues *all, const char *bytes, size_t n);

/* Leaves out what is after so many milliseconds, and ends what goes beyond; 0: does nothing. */
void cues_end(struct cues *all, int64_t duration);

/* For readers of other forms: one more, with what its times need. */
void cues_add(struct cues *all, struct cue);

/* Notes a fault of a line. */
void cues_repaired(struct cues *all, enum cue_repair, size_t line);

/* A line of the file, from 1, as it is told to people: at most 80 characters of it, without what is no text. */
const char *cues_line(const struct cues *all, int64_t number);
/* The first line that is not blank; 0: there is none. */
int64_t cues_first_line(const struct cues *all);

/* Its text as WebVTT has it: italics, bold, underlining and who speaks are kept of the markup, nothing else.  "": there
 * is nothing to be seen. */
const char *cue_markup(struct arena *, const struct cue *);

/* What a WebVTT file says of its place on the picture, each known setting with a blank before it. */
void cue_settings(struct buf *, const struct cue *);

/* Who says what in a cue, without markup; lines are ended by \n.  speaker: NULL where the file names none. */
struct voice { const char *speaker, *text; };
struct list cue_voices(struct arena *, const struct cue *);

#endif
