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

/* Who speaks when in the spans: a line {"turns":[{"start":0.5,"end":2.1},…],"speech":34.2,"print":"…"} for each voice,
 * in the order in which they are first heard.  speech: seconds with voice in them.  print: a struct voiceprint in
 * base64url, where there is enough of them and the model of pocketsphinx in that directory can be read. */
int speech_voices_main(const char *model, char **argv);

/* What is said, by sherpa-onnx.  Arguments: directory of the library, type, directory of the model, language, spans. */
int speech_sherpa_main(char **argv);

/* Where sentences end among the words on standard input, small, one in each line of less than SPEECH_WORD_MAX bytes:
 * for each but the last a line with the natural logarithm of how much likelier it ends there than not. */
int speech_ends_main(const char *model);

#endif
