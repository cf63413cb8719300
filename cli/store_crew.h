/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that look at objects of stores, each of which lets one wait: so several are looked at at once. */
#ifndef CLI_STORE_CREW_H
#define CLI_STORE_CREW_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/digest.h"
#include "core/store.h"

enum { CREW_MAX = 16 };

struct crew_item { char key[STORE_KEY_MAX]; int64_t size; char sha256[DIGEST_TEXT]; /* "": none is known */ };

/* Called by several threads at once; memory is of this item. */
typedef void crew_work(void *at, struct arena *, const struct crew_item *);

struct crew;
struct crew *crew_start(struct arena *, size_t threads, crew_work *, void *at);
/* Waits while too many wait already. */
void crew_give(struct crew *, const struct crew_item *);
/* Until all that was given is done. */
void crew_wait(struct crew *);
/* The same, and its threads are gone then. */
void crew_end(struct crew *);

#endif
