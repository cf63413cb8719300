/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where sherpa-onnx lies, and what a model for it consists of. */
#ifndef JOBS_ENGINES_SHERPA_MODEL_H
#define JOBS_ENGINES_SHERPA_MODEL_H

#include "core/arena.h"
#include "core/conf.h"

/* The directory of the library and of Silero VAD: engine.library, else speech/ beside kinothek-speech.  NULL: there is
 * no library in it. */
const char *sherpa_dir(struct arena *, const struct conf *);

/* Bytes that kinothek-speech may have in the jail, with a model whose files have so many. */
int64_t speech_memory(int64_t model);

enum sherpa_type {
#define SHERPA_ENUM(name) SHERPA_##name,
	SHERPA_TYPES(SHERPA_ENUM)
#undef SHERPA_ENUM
	SHERPA_TYPE_COUNT
};

enum { SHERPA_PARTS = 5 };

/* SHERPA_TYPE_COUNT: there is no such type. */
enum sherpa_type sherpa_type_find(const char *name);

/* What the files of this type are called: "*encoder*.onnx, …". */
const char *sherpa_type_files(struct arena *, enum sherpa_type);

/* The files of a model in the order of sherpa_type_files(), of several that fit the smallest, and how many bytes they
 * have together.  NULL, or which are missing. */
const char *sherpa_model_files(struct arena *, enum sherpa_type, const char *dir, const char *files[SHERPA_PARTS],
    int64_t *bytes);

/* A model that is one file: the path itself, or the smallest *.onnx of a directory.  NULL: there is none that can be
 * read. */
const char *sherpa_model_file(struct arena *, const char *path, int64_t *bytes);

/* What results call it: the last part of its path. */
const char *sherpa_model_name(const char *path);

#endif
