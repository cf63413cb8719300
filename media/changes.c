/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the picture becomes another: slides, scenes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "media/av_run.h"
#include "media/fragments.h"

enum { WIDTH = 64, HEIGHT = 36, BLOCK = 4, BLOCKS = WIDTH / BLOCK * (HEIGHT / BLOCK), PICTURES_MAX = 2000 };
enum { BLOCK_LEAST = 6 };		/* steps of brightness, of the average pixel of a block that has changed */
enum { SHARE_LEAST = BLOCKS / 10, TIMES_USUAL = 3 };

/* How many blocks differ. */
static int
differ(const unsigned char *a, const unsigned char *b)
{
	int n = 0;

	for (int top = 0; top < HEIGHT; top += BLOCK)
		for (int left = 0; left < WIDTH; left += BLOCK) {
			int sum = 0;

			for (int y = top; y < top + BLOCK; y++)
				for (int x = left; x < left + BLOCK; x++)
					sum += abs(a[y * WIDTH + x] - b[y * WIDTH + x]);
			n += sum >= BLOCK_LEAST * BLOCK * BLOCK;
		}
	return n;
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* What usually moves, a speaker, a film, is no change: it must be far more than that, and stay. */
static size_t
find(struct arena *mem, const unsigned char *pictures, size_t n, size_t *at)
{
	enum { SIZE = WIDTH * HEIGHT };
	int *moved = arena_array(mem, n + 1, sizeof(*moved)), *sorted = arena_array(mem, n + 1, sizeof(*sorted)), least;
	size_t found = 0, i;

	if (n < 2)
		return 0;
	for (i = 1; i < n; i++)
		moved[i] = sorted[i] = differ(pictures + (i - 1) * SIZE, pictures + i * SIZE);
	qsort(sorted + 1, n - 1, sizeof(*sorted), by_number);
	least = TIMES_USUAL * sorted[1 + (n - 1) / 2];
	if (least < SHARE_LEAST)
		least = SHARE_LEAST;
	for (i = 1; i < n; i++)
		if (moved[i] >= least && (i + 1 == n || moved[i + 1] < moved[i] / 2))
			at[found++] = i;
	return found;
}

bool
av_changes(struct arena *mem, const struct av_rendition *r, const int64_t **at, size_t *n, struct fault *fault)
{
	const struct fragments *f = fragments_read(mem, r->file);
	struct av_tool *t = av_tool(mem, "ffmpeg");
	int64_t position = 0, *times;
	size_t every, *found, i, k = 0;

	if (f == NULL)
		return fault_set(mem, fault, REASON_INTERNAL, "The rendition cannot be read.");
	every = f->n / PICTURES_MAX + 1;
	av_add(t, "-progress", "pipe:3", "-skip_frame", "nokey");
	av_input(t, r->file, "mov");
	av_add(t, "-map", "0:v", "-fps_mode", "passthrough", "-vf", arena_printf(mem,
	    "select='not(mod(n,%zu))',scale=%d:%d:flags=area:out_range=pc,format=gray", every, WIDTH, HEIGHT), "-f",
	    "rawvideo", "pipe:1");
	t->jail.idle_seconds = 300;
	if (!av_run(t, fault))
		return false;
	found = arena_array(mem, t->result.out_size / (WIDTH * HEIGHT) + 1, sizeof(*found));
	*n = find(mem, (const unsigned char *)t->result.out, t->result.out_size / (WIDTH * HEIGHT), found);
	*at = times = arena_array(mem, *n + 1, sizeof(*times));
	for (i = 0; i < f->n && k < *n; i++) {
		if (i == found[k] * every)
			times[k++] = position * 1000 / f->timescale;
		position += f->at[i].duration;
	}
	*n = k;
	return true;
}
