/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What engines of sherpa-onnx have in common: what an end of kinothek-speech means. */
#ifndef JOBS_ENGINES_SHERPA_H
#define JOBS_ENGINES_SHERPA_H

#include "jobs/engines/worker.h"

#define SHERPA_ABSENT "The library for neural models is not installed."
#define SHERPA_UNUSABLE "The library for neural models cannot be used."

/* Says more, in the hearing's fault, about an end that is the program's own.  model: what it is called, "speech
 * model". */
void sherpa_explain(struct hearing *, const struct jail_result *, const char *model);

#endif
