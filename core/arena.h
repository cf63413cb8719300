/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that lives as long as one request or one job.
 *
 * Everything is taken from the arena and nobody frees: arena_reset() gives all of it back at once, after running what
 * was deferred, last first.  Allocation never returns NULL: going over the limit, or a machine out of memory, ends the
 * process, which its master restarts.  Builds with KINOTHEK_ARENA_MALLOC (the sanitizer builds) take one malloc per
 * allocation, so that AddressSanitizer sees overruns.
 */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

/* A new arena that may hold `limit` bytes.  arena_free() ends it. */
struct arena *arena_new(size_t limit);
void arena_free(struct arena *);

/* Runs the deferred calls, last first, and forgets every allocation.  One block is kept for the next round. */
void arena_reset(struct arena *);

/* Zeroed, aligned for any type.  n = 0 gives a valid pointer. */
void *arena_alloc(struct arena *, size_t n);

/* The same, not zeroed: for bytes that are written at once. */
void *arena_raw(struct arena *, size_t n);

/* Room for `count` things of `size` bytes, zeroed; the product may not overflow (that ends the process). */
void *arena_array(struct arena *, size_t count, size_t size);

/* Copies that end in NUL.  arena_copy(mem, NULL) is NULL. */
char *arena_copy(struct arena *, const char *text);
char *arena_copy_n(struct arena *, const void *bytes, size_t n);
char *arena_printf(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *, const char *format, va_list) __attribute__((format(printf, 2, 0)));

/* Calls undo(object) at reset: the way foreign objects (json-c, MagickWand, FILE) are freed. */
void arena_defer(struct arena *, void (*undo)(void *), void *object);

/* Called once before the process ends because a limit or the machine's memory is used up: the job runner reports it. */
extern void (*arena_exhausted)(void);

/* Bytes handed out since the last reset. */
size_t arena_used(const struct arena *);

#define NEW(mem, type) ((type *)arena_alloc((mem), sizeof(type)))

#endif
