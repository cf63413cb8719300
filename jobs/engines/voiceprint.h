/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A voice as numbers that tell it from others.  What they are is the affair of the engine that has made them: those of
 * different engines, or of different models of one, are never compared.  All are sums over what was heard, so that what
 * is heard of a voice later adds to it.
 */
#ifndef JOBS_ENGINES_VOICEPRINT_H
#define JOBS_ENGINES_VOICEPRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/conf.h"

/* No pointers among the numbers: as bytes they may be kept on machines of the same order. */
struct voiceprint { size_t n; float *at; };

enum { VOICEPRINT_MOST = 4096 };		/* numbers of one */
/* ms of speech that one is made of at least, and of which it takes no more. */
enum { VOICEPRINT_LEAST_MS = 5000, VOICEPRINT_MOST_MS = 300 * 1000 };

/* What results call that which makes prints by these settings, up to 100 bytes: another name, other numbers.  It holds
 * what the model's file consists of, whatever it is called. */
const char *voiceprint_maker(struct arena *, const struct conf *);

/* Of as many numbers. */
void voiceprint_add(struct voiceprint *to, const struct voiceprint *more);

/* From bytes that somebody else has made.  NULL: they are no numbers that arithmetic works with. */
const struct voiceprint *voiceprint_from(struct arena *, const void *bytes, size_t size);

/* From -1 to 1: the cosine of the two; 0 where one is nothing. */
double voiceprint_cosine(const float *, const float *, size_t n);

#endif
