/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures one after the other, as bytes of a pipe, and what of them is remembered. */
#include <stdlib.h>
#include <string.h>

#include "media/av_run.h"
#include "media/watch.h"

enum {
	/* one picture a second, in blocks: one has changed when so many of its pixels differ by so many steps */
	STILL_W = 320, STILL_H = 180, BLOCK = 20, COLUMNS = STILL_W / BLOCK, ROWS = STILL_H / BLOCK,
	BLOCKS = COLUMNS * ROWS, PIXELS_LEAST = BLOCK * BLOCK / 50, STEPS_LEAST = 20,
	/* a block that changes in most of so many pictures before and behind moves all the time */
	AROUND = 6, MOVES_PERCENT = 60,
	RESTLESS = 10,
	/* five a second, as how often each of so many brightnesses of each colour is there */
	SHOT_RATE = 5, SHOT_W = 64, SHOT_H = 36, BINS = 16, COUNTS = 3 * BINS,
	ROOM = 1024,			/* pictures at first */
};
static const double shot_least = 0.25;		/* of all pixels */

/* Pictures of `size` bytes each out of pieces of any size. */
struct screening {
	unsigned char *picture;
	size_t size, have;
	void (*see)(void *user, const unsigned char *picture);
	void *user;
};

static bool
take(void *user, const char *bytes, size_t n)
{
	struct screening *s = user;

	while (n > 0) {
		size_t some = s->size - s->have < n ? s->size - s->have : n;

		memcpy(s->picture + s->have, bytes, some);
		s->have += some;
		bytes += some;
		n -= some;
		if (s->have == s->size) {
			s->have = 0;
			s->see(s->user, s->picture);
		}
	}
	return true;
}

static bool
screen(struct arena *mem, const struct av_rendition *r, const char *filters, struct screening *s, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");

	s->picture = arena_alloc(mem, s->size);
	av_add(t, "-progress", "pipe:3");
	av_input(t, r->file, "mov");
	av_add(t, "-map", "0:v", "-vf", filters, "-f", "rawvideo", "pipe:1");
	t->jail.on_out = take;
	t->jail.user = s;
	return av_run(t, fault);
}

/* An array that has room for one more behind its n. */
static void *
with_room(struct arena *mem, void *at, size_t n, size_t *room, size_t size)
{
	void *larger;

	if (n < *room)
		return at;
	*room = *room == 0 ? ROOM : 2 * *room;
	larger = arena_array(mem, *room, size);
	if (n > 0)
		memcpy(larger, at, n * size);
	return larger;
}

/* Which blocks of a picture are other than in the one before, and how many of them do not move all the time. */
struct change { unsigned char blocks[BLOCKS / 8]; };

struct stillness {
	struct arena *mem;
	unsigned char before[STILL_W * STILL_H];
	struct change *at;
	size_t n, room;
};

static bool
differs(const unsigned char *a, const unsigned char *b)
{
	int n = 0;

	for (int y = 0; y < BLOCK; y++)
		for (int x = 0; x < BLOCK; x++)
			n += abs(a[y * STILL_W + x] - b[y * STILL_W + x]) > STEPS_LEAST;
	return n > PIXELS_LEAST;
}

static void
see_still(void *user, const unsigned char *picture)
{
	struct stillness *s = user;
	struct change *c;

	s->at = with_room(s->mem, s->at, s->n, &s->room, sizeof(*s->at));
	c = &s->at[s->n];
	*c = (struct change){ { 0 } };
	for (int i = 0; s->n > 0 && i < BLOCKS; i++) {
		const size_t first = (size_t)(i / COLUMNS * BLOCK * STILL_W + i % COLUMNS * BLOCK);

		if (differs(s->before + first, picture + first))
			c->blocks[i / 8] |= (unsigned char)(1 << i % 8);
	}
	memcpy(s->before, picture, sizeof(s->before));
	s->n++;
}

static bool
has(const struct change *c, int block)
{
	return c->blocks[block / 8] >> block % 8 & 1;
}

/* Has the picture changed here, but for what moves all the time? */
static bool
changes(const struct stillness *s, size_t at)
{
	const size_t first = at > AROUND + 1 ? at - AROUND : 1, end = at + AROUND + 1 < s->n ? at + AROUND + 1 : s->n;

	for (int i = 0; i < BLOCKS; i++) {
		size_t n = 0;

		if (!has(&s->at[at], i))
			continue;
		for (size_t k = first; k < end; k++)
			n += has(&s->at[k], i);
		if (n * 100 <= (end - first) * MOVES_PERCENT || end - first < 3)
			return true;
	}
	return false;
}

static int
by_length(const void *a, const void *b)
{
	const struct watched *x = a, *y = b;
	const int64_t m = x->to - x->from, n = y->to - y->from;

	return m > n ? -1 : m < n ? 1 : x->from < y->from ? -1 : 1;
}

static int
by_time(const void *a, const void *b)
{
	const struct watched *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* What is new begins a still when nothing changes for a second; where that does not happen, every tenth second does. */
static size_t
find_stills(const struct stillness *s, int64_t length, struct watched *out)
{
	size_t n = 0, since = 0;
	bool pending = true;

	for (size_t i = 0; i < s->n; i++) {
		if (!pending && changes(s, i)) {
			pending = true;
			since = i;
		}
		if (!pending || (i + 1 < s->n && i - since < RESTLESS && changes(s, i + 1)))
			continue;
		pending = false;
		if (n > 0)
			out[n - 1].to = (int64_t)since * 1000;
		out[n++] = (struct watched){ (int64_t)since * 1000, length, (int64_t)i * 1000 };
	}
	return n;
}

bool
watch_stills(struct arena *mem, const struct av_rendition *r, size_t most, struct watch *w, struct fault *fault)
{
	struct stillness *s = NEW(mem, struct stillness);
	struct screening screening = { .size = STILL_W * STILL_H, .see = see_still, .user = s };
	struct watched *out;

	s->mem = mem;
	if (!screen(mem, r, arena_printf(mem, "fps=1:round=up,scale=%d:%d:flags=area:out_range=pc,format=gray", STILL_W,
	    STILL_H), &screening, fault))
		return false;
	out = arena_array(mem, s->n + 1, sizeof(*out));
	*w = (struct watch){ out, find_stills(s, r->duration_ms, out) };
	if (w->n > most) {
		qsort(out, w->n, sizeof(*out), by_length);
		qsort(out, most, sizeof(*out), by_time);
		w->n = most;
	}
	return true;
}

struct shots {
	struct arena *mem;
	struct counts { uint16_t n[COUNTS]; } *at;
	size_t n, room;
};

static void
see_shot(void *user, const unsigned char *picture)
{
	struct shots *s = user;
	struct counts *c;

	s->at = with_room(s->mem, s->at, s->n, &s->room, sizeof(*s->at));
	c = &s->at[s->n++];
	*c = (struct counts){ { 0 } };
	for (size_t i = 0; i < (size_t)SHOT_W * SHOT_H * 3; i++)
		c->n[i % 3 * BINS + picture[i] * BINS / 256]++;
}

/* How much the second before a picture differs from the one that begins with it, 0 to 1. */
static double
distance(const struct shots *s, size_t at)
{
	const size_t before = at < SHOT_RATE ? at : SHOT_RATE, behind = s->n - at < SHOT_RATE ? s->n - at : SHOT_RATE;
	double sum = 0;

	for (size_t i = 0; i < COUNTS; i++) {
		double a = 0, b = 0;

		for (size_t k = 0; k < before; k++)
			a += s->at[at - 1 - k].n[i];
		for (size_t k = 0; k < behind; k++)
			b += s->at[at + k].n[i];
		a = a / (double)before - b / (double)behind;
		sum += a < 0 ? -a : a;
	}
	return sum / (2.0 * 3 * SHOT_W * SHOT_H);
}

/* The highest of its neighbours, a second on either side: of equals the first. */
static bool
is_peak(const double *d, size_t n, size_t at)
{
	const size_t end = at + SHOT_RATE + 1 < n ? at + SHOT_RATE + 1 : n;
	size_t k;

	for (k = at > SHOT_RATE ? at - SHOT_RATE : 1; k < end; k++)
		if (k < at ? d[k] >= d[at] : d[k] > d[at])
			return false;
	return true;
}

bool
watch_shots(struct arena *mem, const struct av_rendition *r, struct watch *w, struct fault *fault)
{
	struct shots s = { .mem = mem };
	struct screening screening = { .size = (size_t)SHOT_W * SHOT_H * 3, .see = see_shot, .user = &s };
	struct watched *out;
	double *d;
	size_t n = 0;

	if (!screen(mem, r, arena_printf(mem, "fps=%d,scale=%d:%d:flags=area:out_range=pc,format=rgb24", SHOT_RATE,
	    SHOT_W, SHOT_H), &screening, fault))
		return false;
	d = arena_array(mem, s.n + 1, sizeof(*d));
	out = arena_array(mem, s.n + 1, sizeof(*out));
	for (size_t i = 1; i < s.n; i++)
		d[i] = distance(&s, i);
	out[n++] = (struct watched){ 0, r->duration_ms, 0 };
	for (size_t i = 1; i < s.n; i++)
		if (d[i] > shot_least && is_peak(d, s.n, i) && (int64_t)i * 1000 / SHOT_RATE < r->duration_ms) {
			out[n - 1].to = (int64_t)i * 1000 / SHOT_RATE;
			out[n] = (struct watched){ out[n - 1].to, r->duration_ms, out[n - 1].to };
			n++;
		}
	*w = (struct watch){ out, n };
	return true;
}
