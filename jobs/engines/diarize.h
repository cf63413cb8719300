/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who speaks when, without a trained model: voices are told apart by how well one mixture describes two of them. */
#ifndef JOBS_ENGINES_DIARIZE_H
#define JOBS_ENGINES_DIARIZE_H

#include <stdbool.h>

#include "jobs/engines/cepstra.h"
#include "jobs/engines/vad.h"

/* Voices that are told apart in one recording, at most. */
enum { DIARIZE_VOICES = 12 };

/* Frames of the stretches in which somebody speaks, one stretch behind the other. */
struct speech {
	struct cepstrum *at;
	bool *loud;			/* there is voice in the frame; others are of whoever speaks around them */
	size_t n;
	/* hop: frames of 10 ms that one of these stands for, more than one in long recordings */
	size_t hop;
};

/*
 * voice[i] becomes the number of the voice of frame i, from 0 in the order in which they are first heard; returns how
 * many voices there are.  tell() is called now and then, with percent.  Needs about 200 bytes for each frame, and time
 * in proportion: 1 s for one or two minutes of speech.
 */
int diarize(struct arena *, const struct speech *, unsigned char *voice, void (*tell)(void *user, int percent),
    void *user);

/* Marks as loud what is less than 30 dB below the loud parts of its surroundings. */
void diarize_mark_loud(struct arena *, struct speech *);

#endif
