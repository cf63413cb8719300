/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ring of frames that are counted by who holds them. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/live/backlog.h"
#include "fcgi/live/rtmp.h"

struct frame *
frame_new(int kind, enum frame_use use, int64_t ms, const uint8_t *bytes, size_t n)
{
	struct frame *f = malloc(sizeof(*f) + n);

	if (f == NULL)
		abort();
	atomic_init(&f->holders, 1);
	f->kind = kind;
	f->use = use;
	f->ms = ms;
	f->n = n;
	if (n > 0)
		memcpy(f->bytes, bytes, n);
	return f;
}

void
frame_drop(struct frame *f)
{
	if (f != NULL && atomic_fetch_sub(&f->holders, 1) == 1)
		free(f);
}

static struct frame *
held(struct frame *f)
{
	atomic_fetch_add(&f->holders, 1);
	return f;
}

static struct frame **
setup_of(struct backlog *b, int kind)
{
	return &b->setups[kind == RTMP_DATA ? 0 : kind == RTMP_VIDEO ? 1 : 2];
}

static void
add(struct backlog *b, struct frame *f)
{
	struct frame **wider;
	size_t i;

	if (b->n == b->room) {
		wider = calloc(2 * b->room + 64, sizeof(struct frame *));
		if (wider == NULL)
			abort();
		for (i = 0; i < b->n; i++)
			wider[i] = b->at[(b->first + i) % b->room];
		free(b->at);
		b->at = wider;
		b->first = 0;
		b->room = 2 * b->room + 64;
	}
	b->at[(b->first + b->n++) % b->room] = held(f);
	b->bytes += f->n;
}

struct frame *
backlog_take(struct backlog *b)
{
	struct frame *f;

	if (b->n == 0)
		return NULL;
	f = b->at[b->first];
	b->first = (b->first + 1) % b->room;
	b->n--;
	b->bytes -= f->n;
	return f;
}

void
backlog_clear(struct backlog *b)
{
	struct frame *f;

	while ((f = backlog_take(b)) != NULL)
		frame_drop(f);
	b->runs = b->lacks = false;
}

void
backlog_free(struct backlog *b)
{
	size_t i;

	backlog_clear(b);
	for (i = 0; i < BACKLOG_SETUPS; i++)
		frame_drop(b->setups[i]);
	free(b->at);
}

/* With video, that is what is counted. */
static bool
counts(struct backlog *b, const struct frame *f)
{
	return f->use != FRAME_SETUP && (f->kind == RTMP_VIDEO || *setup_of(b, RTMP_VIDEO) == NULL);
}

/* Setups are as old as they are, whenever they are sent. */
static bool
is_full(const struct backlog *b, const struct frame *f)
{
	const struct frame *oldest = f;
	size_t i;

	for (i = 0; i < b->n && oldest == f; i++)
		if (b->at[(b->first + i) % b->room]->use != FRAME_SETUP)
			oldest = b->at[(b->first + i) % b->room];
	return b->n > 0 && (b->bytes + f->n > b->bytes_max || f->ms - oldest->ms > b->ms_max);
}

static void
overflow(struct backlog *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		b->dropped += counts(b, b->at[(b->first + i) % b->room]);
	backlog_clear(b);
	b->lacks = true;
}

/* Sound alone can begin anywhere. */
static bool
begins(struct backlog *b, const struct frame *f)
{
	return f->use == FRAME_KEY && (f->kind == RTMP_VIDEO || *setup_of(b, RTMP_VIDEO) == NULL);
}

void
backlog_put(struct backlog *b, struct frame *f)
{
	struct frame **setup = setup_of(b, f->kind);
	size_t i;

	if (f->use == FRAME_SETUP) {
		frame_drop(*setup);
		*setup = held(f);
		if (b->runs)
			add(b, f);
		return;
	}
	if (b->runs && is_full(b, f))
		overflow(b);
	if (!b->runs && !begins(b, f)) {
		b->dropped += b->lacks && counts(b, f);
		return;
	}
	for (i = 0; i < BACKLOG_SETUPS && !b->runs; i++)
		if (b->setups[i] != NULL)
			add(b, b->setups[i]);
	b->runs = true;
	b->lacks = false;
	add(b, f);
}
