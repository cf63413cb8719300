/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By whom a speaker is, from what was said of voices before (core/voices.h). */
#ifndef JOBS_RECOGNITION_H
#define JOBS_RECOGNITION_H

#include "core/speakers.h"
#include "jobs/engines/engine.h"
#include "jobs/engines/voiceprint.h"
#include "jobs/run.h"

/* By how much more a voice is alike to one that is known than to the next one, if it is said to be the same without
 * being asked.  Measured by tests/bench/voices. */
#define RECOGNITION_APART 0.08
/* ms of speech from which on a voice is compared, and named without being asked. */
enum { RECOGNITION_SPEECH = 5000 };

/* One who is heard in the asset now.  print: NULL, there is none. */
struct recognised { struct uuid speaker_id; int64_t speech; const struct voiceprint *print; };

/* From where on: as the settings say, else as the engine. */
struct recognition { double same, maybe; };
struct recognition recognition_limits(const struct conf *, const struct engine *);

/*
 * Keeps the prints, which the engine has made under the name of `maker`, and names those whom nobody has named: the
 * best first; two that are the same voice are merged.  In the transaction that holds the asset and the tenant
 * (voices_hold()).  True: somebody has a name now, or is a part of another one.
 */
bool recognition_run(struct job *, const struct engine *, const char *maker, const struct recognised *, size_t n);

#endif
