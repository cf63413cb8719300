/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scratch: files that only this machine needs, and only for as long as what made them runs.  They are no part of the
 * store, which several machines may share, and lie in {scratch_dir}/{machine}/, so that machines which share the
 * directory too keep apart.
 */
#ifndef CORE_SCRATCH_H
#define CORE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/conf.h"
#include "core/text.h"

/* Makes the directories: scratch_dir, or work below data_dir, and this machine's.  False with errno. */
bool scratch_open(const struct conf *);

/* Where scratch lies, of all machines that share it.  The text stays. */
const char *scratch_root(const struct conf *);

/* The part of it that is this machine's. */
const char *scratch_here(struct arena *);

/* The path of a name in the scratch of this machine. */
const char *scratch_path(struct arena *, const char *name);

/* Makes a directory of that name.  False with errno. */
bool scratch_make(struct arena *, const char *name);

/* Removes what has that name.  True when nothing is left, also when there was nothing; else errno. */
bool scratch_remove(struct arena *, const char *name);

/* Bytes that may still be written before conf.free_space is touched; never negative. */
int64_t scratch_free(void);

/* The directories of all machines that share it. */
struct scratch_dir {
	const char *machine, *name;
	bool ours;
	struct moment changed;
};
struct scratch_dir *scratch_list(struct arena *, size_t *n);

/* Removes one of them, and with the last one of a machine that has long been idle its place.  As scratch_remove(). */
bool scratch_drop(struct arena *, const struct scratch_dir *);

#endif
