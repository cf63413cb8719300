/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By whom a speaker is, from what was said of voices before (core/voices.h). */
#ifndef JOBS_RECOGNITION_H
#define JOBS_RECOGNITION_H

#include "core/speakers.h"
#include "jobs/engines/voiceprint.h"
#include "jobs/run.h"

/* How alike a voice is to one that is known: from RECOGNITION_SAME on, and by RECOGNITION_APART more than to the next
 * one that is known, it is said to be the same; from RECOGNITION_MAYBE on that is asked.  Measured by
 * tests/bench/voices. */
#define RECOGNITION_SAME 0.55
#define RECOGNITION_MAYBE 0.40
#define RECOGNITION_APART 0.08
/* ms of speech from which on a voice is compared, and named without being asked. */
enum { RECOGNITION_SPEECH = 5000 };

/* One who is heard in the asset now.  print: NULL, there is none. */
struct recognised { struct uuid speaker_id; int64_t speech; const struct voiceprint *print; };

/*
 * Keeps the prints, and names those whom nobody has named: the best first; two that are the same voice are merged.  In
 * the transaction that holds the asset and the tenant (voices_hold()).  True: somebody has a name now, or is a part of
 * another one.
 */
bool recognition_run(struct job *, const char *engine, const struct recognised *, size_t n);

#endif
