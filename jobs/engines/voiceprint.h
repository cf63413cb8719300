/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A voice as numbers that tell it from others: how far it draws each Gaussian of a model of all speech towards itself.
 * The sums are kept, not the print that follows from them, so that what is heard of a voice later adds to it.
 */
#ifndef JOBS_ENGINES_VOICEPRINT_H
#define JOBS_ENGINES_VOICEPRINT_H

#include <stdbool.h>

#include "jobs/engines/cepstra.h"

enum { VOICEPRINT_GAUSSIANS = 128, VOICEPRINT_DIM = 12 };

/* For each Gaussian: how many frames fell to it, and the sum of how far from it they were, in deviations and by the
 * root of its weight.  No pointers: as bytes it may be kept on machines of the same order. */
struct voiceprint {
	float n[VOICEPRINT_GAUSSIANS];
	float sum[VOICEPRINT_GAUSSIANS][VOICEPRINT_DIM];
};

/* The model of all speech, made of the acoustic model in a directory of pocketsphinx (its files means and variances);
 * always the same of the same files.  NULL: there is none that could be read. */
struct voiceprint_model;
const struct voiceprint_model *voiceprint_model(struct arena *, const char *dir);

/* Of frames with voice, all of one recording and of one person. */
void voiceprint_of(const struct voiceprint_model *, const struct cepstrum *const *frames, size_t n,
    struct voiceprint *);

void voiceprint_add(struct voiceprint *to, const struct voiceprint *more);

/* From -1 to 1: the cosine of the two; 0 where one holds nothing. */
double voiceprint_likeness(const struct voiceprint *, const struct voiceprint *);

/* Do the bytes hold one that arithmetic works with? */
bool voiceprint_is_sound(const struct voiceprint *);

#endif
