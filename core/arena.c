/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bump allocation in blocks of 256 KiB; see arena.h for the rules. */
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { BLOCK = 256 * 1024 };

struct block {
	struct block *next;
	size_t size, used;
	alignas(max_align_t) unsigned char bytes[];
};

struct undo {
	struct undo *next;
	void (*call)(void *);
	void *object;
};

struct arena {
	struct block *blocks;
	struct undo *undos;
	size_t limit, used;
};

void (*arena_exhausted)(void);

static void
die(const char *why, size_t n)
{
	if (arena_exhausted != NULL)
		arena_exhausted();
	fprintf(stderr, "level=error what=arena text=\"%s\" bytes=%zu\n", why, n);
	abort();
}

struct arena *
arena_new(size_t limit)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (a == NULL)
		die("out of memory", sizeof(*a));
	a->limit = limit;
	return a;
}

static struct block *
block_new(size_t size)
{
	struct block *b = malloc(sizeof(*b) + size);

	if (b == NULL)
		die("out of memory", size);
	b->next = NULL;
	b->size = size;
	b->used = 0;
	return b;
}

/* A request that needs a block of its own goes behind the current one, which keeps its free room. */
static void *
take(struct arena *a, size_t n)
{
	struct block *b = a->blocks;
	void *p;

#ifndef KINOTHEK_ARENA_MALLOC
	if (b != NULL && b->size - b->used >= n) {
		p = b->bytes + b->used;
		b->used += n;
		return p;
	}
	if (b != NULL && n > BLOCK / 4) {
		struct block *own = block_new(n);

		own->used = n;
		own->next = b->next;
		b->next = own;
		return own->bytes;
	}
	b = block_new(n > BLOCK ? n : BLOCK);
#else
	b = block_new(n);
#endif
	b->next = a->blocks;
	a->blocks = b;
	b->used = n;
	p = b->bytes;
	return p;
}

void *
arena_raw(struct arena *a, size_t n)
{
	size_t rounded = n;

#ifndef KINOTHEK_ARENA_MALLOC
	rounded = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (rounded == 0)
		rounded = alignof(max_align_t);
#endif
	if (rounded < n || rounded > a->limit - a->used)
		die("over the limit of this arena", n);
	a->used += rounded;
	return take(a, rounded);
}

void *
arena_alloc(struct arena *a, size_t n)
{
	return memset(arena_raw(a, n), 0, n);
}

void *
arena_array(struct arena *a, size_t count, size_t size)
{
	size_t n;

	if (__builtin_mul_overflow(count, size, &n))
		die("size overflow", count);
	return arena_alloc(a, n);
}

char *
arena_copy_n(struct arena *a, const void *bytes, size_t n)
{
	char *p = arena_raw(a, n + 1);

	if (n > 0)
		memcpy(p, bytes, n);
	p[n] = '\0';
	return p;
}

char *
arena_copy(struct arena *a, const char *text)
{
	return text == NULL ? NULL : arena_copy_n(a, text, strlen(text));
}

/* Most texts are short, and formatting costs more than copying: only a long one is formatted twice. */
char *
arena_vprintf(struct arena *a, const char *format, va_list args)
{
	char text[512], *p;
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(text, sizeof(text), format, again);
	va_end(again);
	if (n < 0)
		die("format", 0);
	if ((size_t)n < sizeof(text))
		return arena_copy_n(a, text, (size_t)n);
	p = arena_raw(a, (size_t)n + 1);
	vsnprintf(p, (size_t)n + 1, format, args);
	return p;
}

char *
arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;
	char *p;

	va_start(args, format);
	p = arena_vprintf(a, format, args);
	va_end(args);
	return p;
}

void
arena_defer(struct arena *a, void (*call)(void *), void *object)
{
	struct undo *u = NEW(a, struct undo);

	u->call = call;
	u->object = object;
	u->next = a->undos;
	a->undos = u;
}

size_t
arena_used(const struct arena *a)
{
	return a->used;
}

static void
release(struct arena *a, bool keep_one)
{
	struct block *b, *next, *kept = NULL;

	while (a->undos != NULL) {
		struct undo *u = a->undos;

		a->undos = u->next;
		u->call(u->object);
	}
	for (b = a->blocks; b != NULL; b = next) {
		next = b->next;
#ifndef KINOTHEK_ARENA_MALLOC
		if (keep_one && kept == NULL && b->size == BLOCK) {
			kept = b;
			kept->used = 0;
			continue;
		}
#endif
		free(b);
	}
	if (kept != NULL)
		kept->next = NULL;
	a->blocks = kept;
	a->used = 0;
}

void
arena_reset(struct arena *a)
{
	release(a, true);
}

void
arena_free(struct arena *a)
{
	if (a == NULL)
		return;
	release(a, false);
	free(a);
}
