/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where sherpa-onnx lies, and what a model for it consists of. */
#ifndef JOBS_ENGINES_SHERPA_MODEL_H
#define JOBS_ENGINES_SHERPA_MODEL_H

#include "core/arena.h"
#include "core/conf.h"

/* The directory of the library and of Silero VAD: engine.library, else speech/ beside kinothek-speech.  NULL: there is
 * no library in it. */
const char *sherpa_dir(struct arena *, const struct conf *);

#endif
