/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of kinothek-speech: what each finds or hears in the samples on standard input, it says as JSON lines on
 * standard output.  All return the status to exit with: 0, or one of <sysexits.h>, EX_UNAVAILABLE for the library and
 * EX_CONFIG for the model, after a sentence on standard error.
 */
#ifndef JOBS_ENGINES_SPEECH_H
#define JOBS_ENGINES_SPEECH_H

#include <stdbool.h>

#include "core/buf.h"
#include "jobs/engines/vad.h"

enum { SPEECH_PADDING = 512 };		/* samples of silence behind those of speech_samples() */
enum { SPEECH_WORD_MAX = 200 };

/* One line, at once.  False when nobody listens any more. */
bool speech_say(const struct buf *);
/* {"at":1.2,"length":60}: how far it is, in seconds. */
bool speech_say_progress(struct arena *, int64_t at, int64_t length);
/* "name":12.345, a position in seconds. */
void speech_add_seconds(struct buf *, const char *name, int64_t ms);

/* ms of sound on standard input; -1 when it is no file. */
int64_t speech_length(void);
/* Samples of a span, from -1 to 1, in the arena, and SPEECH_PADDING of silence; NULL when they cannot be read. */
float *speech_samples(struct arena *, struct span, size_t *n);
/* Samples as they are, from so many ms on.  False when they cannot be read. */
bool speech_read(int16_t *out, size_t bytes, int64_t from);
/* Spans as arguments, "500-2100" in ms, up to a NULL.  False when one is none, or not within the length. */
bool speech_spans(struct arena *, char **argv, int64_t length, struct span **, size_t *n);

/* Where somebody speaks, by Silero VAD: a line {"start":0.5,"end":2.1} for each stretch. */
int speech_find_main(const char *dir);

/* Who speaks when in the spans: a line {"turns":[{"start":0.5,"end":2.1},…],"speech":34.2} for each voice, in the order
 * in which they are first heard.  speech: seconds with voice in them.  Arguments: for sherpa-onnx, directory of the
 * library and the models that find turns and compare voices; spans. */
int speech_voices_main(char **argv);

/* Frames of all the spans, every hop-th, and how many of each.  False when they cannot be read. */
struct speech;
bool speech_frames(struct arena *, const struct span *, size_t n, struct speech *, size_t *frames);

/* What one says by sherpa-onnx, in ms of the spans put one behind the other, by when it begins: voices from 0, not all
 * of which speak.  What is beyond six hours is nobody's.  Status as above. */
struct stretch { struct span at; int voice; };
struct turns { struct stretch *at; size_t n; };
int speech_turns(struct arena *, char **models, const struct span *, size_t n, struct turns *);

/* How voices sound, each an argument of its spans, "500-2100,3000-4200": a line {"print":"…"} for each, the numbers of
 * a struct voiceprint in base64url, or {} where there is too little speech.  Arguments before them: the directory of a
 * model of pocketsphinx; or, for sherpa-onnx, directory of the library and the model that compares voices. */
int speech_prints_main(char **argv);

/* What is said, by sherpa-onnx.  Arguments: directory of the library, type, directory of the model, language, spans. */
int speech_sherpa_main(char **argv);

/* What stands behind each of the words on standard input, one in each line of less than SPEECH_WORD_MAX bytes: a line
 * for each with '.', '?', ',', or a blank for nothing.  Arguments: directory of the library, and the model. */
int speech_marks_main(char **argv);

/* Where sentences end among the words on standard input, small, one in each line of less than SPEECH_WORD_MAX bytes:
 * for each but the last a line with the natural logarithm of how much likelier it ends there than not. */
int speech_ends_main(const char *model);

#endif
