/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a transcript is to be read whose engine gives neither case nor punctuation; see media/reading.h. */
#ifndef JOBS_READING_H
#define JOBS_READING_H

#include "jobs/engines/hints.h"
#include "jobs/run.h"
#include "media/transcript.h"

/* Sets .reading of the words, if they lack case and punctuation.  language: BCP 47 tag of the text.  What cannot be had
 * for it is left out, and the log says so; where a model fails that the operator has, a warning.  Returns name and
 * version of the model that has put in the marks; NULL: none has. */
const char *reading_make(struct job *, const struct list *paragraphs, const char *language, const struct hints *);

#endif
