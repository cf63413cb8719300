/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fragmented MP4 with a hole where the header of a box should be: readers stop there, though whole fragments follow. */
#ifndef MEDIA_MEND_H
#define MEDIA_MEND_H

#include <stdbool.h>

#include "core/arena.h"

/* Where the chain of boxes breaks and a fragment follows, writes a copy to `out` in which a box of free space leads
 * there, and returns true in *mended.  False with errno: the copy failed. */
bool mend_fragments(struct arena *, const char *path, const char *out, bool *mended);

#endif
