/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A voice by how far it draws each Gaussian of a model of all speech towards itself.  The sums are kept, not the vector
 * that follows from them, so that what is heard of a voice later adds to it.
 */
#ifndef JOBS_ENGINES_SUPERVECTOR_H
#define JOBS_ENGINES_SUPERVECTOR_H

#include "jobs/engines/cepstra.h"

enum { SUPERVECTOR_GAUSSIANS = 128, SUPERVECTOR_DIM = 12 };

/* For each Gaussian: how many frames fell to it, and the sum of how far from it they were, in deviations and by the
 * root of its weight.  The numbers of a struct voiceprint. */
struct supervector {
	float n[SUPERVECTOR_GAUSSIANS];
	float sum[SUPERVECTOR_GAUSSIANS][SUPERVECTOR_DIM];
};

/* The model of all speech, made of the acoustic model in a directory of pocketsphinx (its files means and variances);
 * always the same of the same files.  NULL: there is none that could be read. */
struct supervector_model;
const struct supervector_model *supervector_model(struct arena *, const char *dir);

/* Of frames with voice, all of one recording and of one person. */
void supervector_of(const struct supervector_model *, const struct cepstrum *const *frames, size_t n,
    struct supervector *);

/* From -1 to 1: the cosine of the two; 0 where one holds nothing, or numbers of something else. */
double supervector_likeness(const float *, const float *, size_t n);

#endif
