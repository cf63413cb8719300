/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Energy voice activity detection with a noise floor that follows the recording, and how stretches are cut. */
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "jobs/engines/vad.h"

/* In frames of 10 ms. */
enum {
	FRAME = PCM_RATE / 100, FRAME_MS = 10,
	WINDOW = 3000, STEP = 1000,		/* the floor is taken over 30 s, anew every 10 s */
	PREROLL = 20, HANGOVER = 40,
	LOUD_MIN = 10,				/* fewer loud frames than this are a click */
	CUT_FROM = 1500, CUT_TO = 2500,
	UNSURE = 100,				/* what is loud here may yet turn out to be speech */
};

/* Of stretches that others have found, in ms. */
enum { BEFORE = 200, AFTER = 400, CLIP = 10 * 1000 };

/* In tenths of a decibel below full scale. */
enum {
	QUIETEST = -900,
	THRESHOLD_MIN = -620,			/* what is below this is no speech, however silent the rest */
	ABOVE_FLOOR = 60,
	STEADY = 70,				/* 95th less 10th percentile; noise has less, speech over 150 */
};

struct levels { int16_t *at; size_t n; };

/* The first difference takes hum and rumble away, where voices have little. */
static int16_t
level_of(const int16_t *s, int *last)
{
	double sum = 0, d;
	int i;

	for (i = 0; i < FRAME; i++) {
		d = s[i] - 0.97 * *last;
		*last = s[i];
		sum += d * d;
	}
	if (sum < 1)
		return QUIETEST;
	d = 100 * log10(sum / FRAME / (32768.0 * 32768.0));
	return d < QUIETEST ? QUIETEST : (int16_t)d;
}

static bool
read_levels(struct arena *mem, int pcm, struct levels *l)
{
	int16_t block[FRAME * 100];
	off_t size = lseek(pcm, 0, SEEK_END), at = 0;
	ssize_t got;
	int last = 0, i;

	if (size < 0)
		return false;
	l->n = 0;
	l->at = arena_array(mem, (size_t)(size / (FRAME * 2)) + 1, sizeof(int16_t));
	while ((size - at) >= FRAME * 2) {
		got = pread(pcm, block, sizeof(block), at);
		if (got < FRAME * 2)
			return false;
		got -= got % (FRAME * 2);
		for (i = 0; i < got / (FRAME * 2); i++)
			l->at[l->n++] = level_of(block + i * FRAME, &last);
		at += got;
	}
	return true;
}

/* The loudness above which frames around `at` count as voice; INT16_MAX where all is steady. */
static int16_t
threshold_at(const struct levels *l, size_t at)
{
	int count[-QUIETEST + 101] = { 0 }, seen = 0, total, level, low = QUIETEST, high = QUIETEST, t;
	size_t from = at > WINDOW / 2 ? at - WINDOW / 2 : 0, to = from + WINDOW, i;

	if (to > l->n) {
		to = l->n;
		from = to > WINDOW ? to - WINDOW : 0;
	}
	for (i = from; i < to; i++)
		count[l->at[i] - QUIETEST]++;
	total = (int)(to - from);
	for (level = 0; level <= -QUIETEST + 100; level++) {
		if (seen * 10 < total)
			low = level + QUIETEST;
		if (seen * 20 < total * 19)
			high = level + QUIETEST;
		seen += count[level];
	}
	if (high - low < STEADY)
		return INT16_MAX;
	t = low + (high - low) / 4;
	if (t < low + ABOVE_FLOOR)
		t = low + ABOVE_FLOOR;
	return (int16_t)(t < THRESHOLD_MIN ? THRESHOLD_MIN : t);
}

/* The middle of the quietest 50 ms of a part. */
static size_t
quietest(const struct levels *l, size_t from, size_t to)
{
	size_t i, k, best = to;
	int sum, least = INT32_MAX;

	for (i = from; i + 5 <= to; i++) {
		for (sum = 0, k = 0; k < 5; k++)
			sum += l->at[i + k];
		if (sum < least) {
			least = sum;
			best = i + 2;
		}
	}
	return best;
}

/* Frames from … to, in pieces when they are many.  Returns how many pieces. */
static size_t
cut_up(const struct levels *l, size_t from, size_t to, struct span *out)
{
	size_t n = 0, cut;

	if (to <= from)
		return 0;
	while (to - from > CUT_TO) {
		cut = quietest(l, from + CUT_FROM, from + CUT_TO);
		out[n++] = (struct span){ (int64_t)from * FRAME_MS, (int64_t)cut * FRAME_MS };
		from = cut;
	}
	out[n++] = (struct span){ (int64_t)from * FRAME_MS, (int64_t)to * FRAME_MS };
	return n;
}

struct finder { struct span *spans; size_t n, start, last, loud; bool open; };

/* Ends the open stretch: into the result, in pieces when it is long. */
static void
close_span(struct finder *f, const struct levels *l)
{
	size_t to = f->last + 1 + HANGOVER;

	f->open = false;
	if (f->loud >= LOUD_MIN)
		f->n += cut_up(l, f->start, to < l->n ? to : l->n, f->spans + f->n);
}

/* From that frame on: all, or up to the first that has ended. */
static void
find(struct finder *f, const struct levels *l, size_t from, bool all)
{
	int16_t threshold = INT16_MAX;
	size_t i;

	for (i = from; i < l->n && (all || f->n == 0); i++) {
		if (i % STEP == 0 || i == from)
			threshold = threshold_at(l, i - i % STEP + STEP / 2);
		if (f->open && i > f->last + HANGOVER + PREROLL)
			close_span(f, l);
		if (l->at[i] < threshold)
			continue;
		if (!f->open) {
			f->open = true;
			f->start = i > from + PREROLL ? i - PREROLL : from;
			f->loud = 0;
		}
		f->loud++;
		f->last = i;
	}
}

/* A stretch takes at least its hangover, or is cut off by at least CUT_FROM. */
static void
make_room(struct finder *f, struct arena *mem, const struct levels *l)
{
	f->spans = arena_array(mem, l->n / HANGOVER + 2, sizeof(struct span));
}

struct span *
vad_find(struct arena *mem, int pcm, size_t *n, int64_t *length)
{
	struct levels l = { 0 };
	struct finder f = { 0 };

	*n = 0;
	*length = -1;
	if (!read_levels(mem, pcm, &l))
		return NULL;
	*length = (int64_t)l.n * FRAME_MS;
	make_room(&f, mem, &l);
	find(&f, &l, 0, true);
	if (f.open)
		close_span(&f, &l);
	*n = f.n;
	return f.spans;
}

bool
vad_next(struct arena *mem, const int16_t *window, size_t samples, int64_t from, int64_t most, bool over,
    struct span *out)
{
	struct levels l = { arena_array(mem, samples / FRAME + 1, sizeof(int16_t)), samples / FRAME };
	struct finder f = { 0 };
	size_t i, longest = (size_t)(most / FRAME_MS), begins, ends;
	int last = 0;

	for (i = 0; i < l.n; i++)
		l.at[i] = level_of(window + i * FRAME, &last);
	make_room(&f, mem, &l);
	find(&f, &l, (size_t)(from / FRAME_MS), false);
	if (f.n == 0 && f.open && over)
		close_span(&f, &l);
	if (f.n == 0 && !(f.open && l.n - f.start >= longest)) {
		begins = f.open ? f.start : l.n > UNSURE ? l.n - UNSURE : 0;
		*out = (struct span){ (int64_t)begins * FRAME_MS, (int64_t)begins * FRAME_MS };
		return false;
	}
	begins = f.n > 0 ? (size_t)(f.spans[0].start / FRAME_MS) : f.start;
	ends = f.n > 0 ? (size_t)(f.spans[0].end / FRAME_MS) : l.n;
	if (ends - begins > longest)
		ends = quietest(&l, begins + longest / 2, begins + longest);
	*out = (struct span){ (int64_t)begins * FRAME_MS, (int64_t)ends * FRAME_MS };
	return true;
}

/* Widens and joins.  Returns how many are left. */
static size_t
widen(struct span *out, const struct span *found, size_t n, int64_t length)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct span s = { found[i].start - BEFORE, found[i].end + AFTER };

		s.start = s.start < 0 ? 0 : s.start;
		s.end = s.end > length ? length : s.end;
		if (kept > 0 && s.start <= out[kept - 1].end)
			out[kept - 1].end = s.end;
		else
			out[kept++] = s;
	}
	return kept;
}

struct span *
vad_arrange(struct arena *mem, int pcm, const struct span *found, size_t *n, int64_t length)
{
	struct span *wide = arena_array(mem, *n, sizeof(*wide)), *out;
	struct levels l = { 0 };
	size_t kept = widen(wide, found, *n, length), i;

	*n = 0;
	if (!read_levels(mem, pcm, &l))
		return NULL;
	if (kept > 0 && length < CLIP)
		wide[0] = (struct span){ 0, length }, kept = 1;
	out = arena_array(mem, kept + l.n / CUT_FROM, sizeof(*out));
	for (i = 0; i < kept; i++)
		*n += cut_up(&l, (size_t)(wide[i].start / FRAME_MS), (size_t)(wide[i].end / FRAME_MS), out + *n);
	return out;
}
