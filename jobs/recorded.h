/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of what was recorded of a livestream, in the store. */
#ifndef JOBS_RECORDED_H
#define JOBS_RECORDED_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

struct found { int64_t session, size[2]; const char *key[2]; };		/* picture, sound; NULL: none */
/* In the order of the sessions.  beyond: files of further sessions than can be put together, which are the last ones;
 * bytes: of all files. */
struct recorded { struct found *at; size_t n, room, beyond; int64_t bytes; };

/* NULL with errno: the store cannot tell. */
struct recorded *recorded_find(struct arena *, struct uuid media_id);

#endif
