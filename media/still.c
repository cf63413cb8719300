/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures from video: the poster, cover art, the sprite of the seek bar. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "media/av_run.h"
#include "media/fragments.h"

enum { TILE_SIDE = 160, TILES_MAX = 100, COLUMNS_MAX = 10, LOOK_W = 64, LOOK_H = 36, LOOKS_MAX = 100, DARK = 20 };

static int
fit_even(int x, double scale)
{
	int n = (int)lround(x * scale / 2) * 2;

	return n < 2 ? 2 : n;
}

/* Filters to a full-range JPEG within a square of `limit` pixels. */
static const char *
jpeg_filters(struct arena *mem, const struct av_video *v, int limit, struct av_picture *p)
{
	const int large = v->width > v->height ? v->width : v->height;
	const double scale = large > limit ? (double)limit / large : 1;

	p->width = fit_even(v->width, scale);
	p->height = fit_even(v->height, scale);
	return arena_printf(mem, "%s%s%s%s,scale=out_color_matrix=smpte170m:out_range=pc,format=yuvj420p",
	    av_field_filters(mem, v, false), av_flat_filters(v), av_tone_filters(mem, v, p->width, p->height),
	    av_size_filters(mem, v, p->width, p->height));
}

/* A JPEG begins and ends as one, or the poster is refused. */
static bool
is_jpeg(const char *path, int64_t *size)
{
	unsigned char head[3] = { 0 }, tail[2] = { 0 };
	struct stat st = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool fine;

	fine = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 100 &&
	    pread(fd, head, 3, 0) == 3 && pread(fd, tail, 2, st.st_size - 2) == 2 &&
	    memcmp(head, "\xff\xd8\xff", 3) == 0 && memcmp(tail, "\xff\xd9", 2) == 0;
	if (fd >= 0)
		close(fd);
	*size = st.st_size;
	return fine;
}

static const char *
dir_of(struct arena *mem, const char *path)
{
	char *dir = arena_copy(mem, path), *slash = strrchr(dir, '/');

	if (slash == NULL)
		abort();		/* results have full paths */
	*slash = '\0';
	return dir;
}

/* Runs a command whose one result is a JPEG. */
static bool
run_jpeg(struct av_tool *t, const char *out, int64_t *size, struct fault *fault)
{
	av_add(t, "-frames:v", "1", "-map_metadata", "-1", "-c:v", "mjpeg", "-q:v", "3", "-f", "image2", "-update", "1",
	    out);
	t->jail.write_dir = dir_of(t->mem, out);
	t->jail.wall_seconds = 300;
	if (!av_run(t, fault))
		return false;
	return is_jpeg(out, size) || fault_set(t->mem, fault, REASON_DECODE_FAILED, "No picture could be decoded.");
}

static const char *
seconds(struct arena *mem, int64_t ms)
{
	return arena_printf(mem, "%.3f", (double)ms / 1000);
}

bool
av_frame(struct arena *mem, const struct av_file *f, int64_t at_ms, int limit, const char *out, struct av_picture *p,
    struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");

	if (f->video == NULL)
		return fault_set(mem, fault, REASON_NO_STREAMS, "The file has no picture.");
	if (at_ms > 0)
		av_add(t, "-ss", seconds(mem, at_ms));
	av_input(t, f->path, f->container);
	av_add(t, "-map", arena_printf(mem, "0:%d", f->video->index), "-vf", jpeg_filters(mem, f->video, limit, p));
	p->at_ms = at_ms;
	return run_jpeg(t, out, &p->size, fault);
}

static bool
lit_in(struct arena *mem, const struct av_file *f, int64_t from_ms, int64_t to_ms, bool jumps, int limit,
    const char *out, struct av_picture *p, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");

	if (jumps)
		av_add(t, "-skip_frame", "nokey");
	if (from_ms > 0)
		av_add(t, "-ss", seconds(mem, from_ms));
	av_add(t, "-t", seconds(mem, to_ms - from_ms));
	av_input(t, f->path, f->container);
	/* brightness on average; 16 is black in films that do not use the full range */
	av_add(t, "-map", arena_printf(mem, "0:%d", f->video->index), "-vf", arena_printf(mem, "%s,signalstats,"
	    "metadata=mode=select:key=lavfi.signalstats.YAVG:value=%d:function=greater", jpeg_filters(mem, f->video, limit,
	    p), DARK));
	p->at_ms = from_ms;
	return run_jpeg(t, out, &p->size, fault);
}

bool
av_lit_frame(struct arena *mem, const struct av_file *f, int64_t from_ms, int64_t to_ms, int limit, const char *out,
    struct av_picture *p, struct fault *fault)
{
	int64_t first = from_ms + 1000 < to_ms ? from_ms + 1000 : to_ms;

	if (f->video == NULL)
		return fault_set(mem, fault, REASON_NO_STREAMS, "The file has no picture.");
	return (first > from_ms && lit_in(mem, f, from_ms, first, false, limit, out, p, fault)) ||
	    (to_ms > first && lit_in(mem, f, first, to_ms, true, limit, out, p, fault));
}

/* Width and height from the frame header of a JPEG that we made. */
static bool
jpeg_size(const char *path, struct av_picture *p)
{
	unsigned char b[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd >= 0 ? pread(fd, b, sizeof(b), 0) : -1;

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 2; i + 9 < n && b[i] == 0xff; i += 2 + (b[i + 2] << 8 | b[i + 3]))
		if (b[i + 1] >= 0xc0 && b[i + 1] <= 0xc2) {
			p->height = b[i + 5] << 8 | b[i + 6];
			p->width = b[i + 7] << 8 | b[i + 8];
			return true;
		}
	return false;
}

bool
av_cover(struct arena *mem, const struct av_file *f, int limit, const char *out, struct av_picture *p,
    struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");

	if (f->cover < 0)
		return fault_set(mem, fault, REASON_NO_STREAMS, "The file has no cover art.");
	av_input(t, f->path, f->container);
	av_add(t, "-map", arena_printf(mem, "0:%d", f->cover), "-vf",
	    arena_printf(mem, "scale='min(%d,iw)':'min(%d,ih)':force_original_aspect_ratio=decrease:"
	    "force_divisible_by=2:out_color_matrix=smpte170m:out_range=pc,setsar=1,format=yuvj420p", limit, limit));
	p->at_ms = 0;
	return run_jpeg(t, out, &p->size, fault) && jpeg_size(out, p);
}

/* Standard deviation of the brightness, 0 for black and blown-out pictures. */
static double
contrast(const unsigned char *picture)
{
	const int n = LOOK_W * LOOK_H;
	double sum = 0, squares = 0, mean;

	for (int i = 0; i < n; i++) {
		double y = picture[i];

		sum += y;
		squares += y * y;
	}
	mean = sum / n;
	return mean < 24 || mean > 240 ? 0 : sqrt(fmax(squares / n - mean * mean, 0));
}

/* The first that is good enough, some way into the film before its beginning and end, else the best. */
static size_t
choose(const unsigned char *pictures, size_t n)
{
	static const size_t percents[] = { 10, 25, 40, 5, 60, 80, 1, 0 };
	double best = -1;
	size_t at = 0;

	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]) && best < 20; i++) {
		const size_t there = n * percents[i] / 100;
		const double c = contrast(pictures + there * LOOK_W * LOOK_H);

		if (c > best) {
			best = c;
			at = there;
		}
	}
	return at;
}

/* Of a long film its key frames are looked at, which cost little, of a short one all that fit. */
int64_t
av_telling_moment(struct arena *mem, const struct av_rendition *r, struct fault *fault)
{
	const struct fragments *f = fragments_read(mem, r->file);
	struct av_tool *t = av_tool(mem, "ffmpeg");
	int64_t frames, every, position = 0;
	size_t n;

	if (f == NULL || r->rate.num <= 0) {
		fault_set(mem, fault, REASON_INTERNAL, "The rendition cannot be read.");
		return -1;
	}
	frames = f->n > LOOKS_MAX / 4 ? (int64_t)f->n : r->duration_ms * r->rate.num / r->rate.den / 1000;
	every = frames / LOOKS_MAX + 1;
	if (f->n > LOOKS_MAX / 4)
		av_add(t, "-skip_frame", "nokey");
	av_input(t, r->file, "mov");
	av_add(t, "-map", "0:v", "-fps_mode", "passthrough", "-vf", arena_printf(mem, "select='not(mod(n,%" PRId64
	    "))',scale=%d:%d:out_range=pc,format=gray", every, LOOK_W, LOOK_H), "-f", "rawvideo", "pipe:1");
	t->jail.wall_seconds = 600;
	if (!av_run(t, fault))
		return -1;
	n = t->result.out_size / (LOOK_W * LOOK_H);
	if (n == 0) {
		fault_set(mem, fault, REASON_DECODE_FAILED, "No picture could be decoded.");
		return -1;
	}
	n = choose((const unsigned char *)t->result.out, n) * (size_t)every;
	if (f->n <= LOOKS_MAX / 4)
		return (int64_t)n * 1000 * r->rate.den / r->rate.num;
	for (size_t i = 0; i < n && i < f->n; i++)
		position += f->at[i].duration;
	return position * 1000 / f->timescale;
}

bool
av_storyboard(struct arena *mem, const struct av_rendition *r, const char *out, struct av_storyboard *b,
    struct fault *fault)
{
	const struct fragments *f = fragments_read(mem, r->file);
	const int large = r->width > r->height ? r->width : r->height;
	struct av_tool *t = av_tool(mem, "ffmpeg");
	int64_t position = 0, *times = arena_array(mem, TILES_MAX, sizeof(*times));
	int every;

	if (f == NULL || large <= 0)
		return fault_set(mem, fault, REASON_INTERNAL, "The rendition cannot be read.");
	every = ((int)f->n + TILES_MAX - 1) / TILES_MAX;
	b->tiles = ((int)f->n + every - 1) / every;
	b->columns = b->tiles < COLUMNS_MAX ? b->tiles : COLUMNS_MAX;
	b->rows = (b->tiles + b->columns - 1) / b->columns;
	b->tile_width = fit_even(r->width, (double)TILE_SIDE / large);
	b->tile_height = fit_even(r->height, (double)TILE_SIDE / large);
	for (size_t i = 0; i < f->n; i++) {
		if (i % (size_t)every == 0)
			times[i / (size_t)every] = position * 1000 / f->timescale;
		position += f->at[i].duration;
	}
	b->times = times;
	b->end = position * 1000 / f->timescale;
	av_add(t, "-progress", "pipe:3", "-skip_frame", "nokey");
	av_input(t, r->file, "mov");
	av_add(t, "-map", "0:v", "-fps_mode", "passthrough", "-vf", arena_printf(mem,
	    "select='not(mod(n,%d))',scale=%d:%d:out_color_matrix=smpte170m:out_range=pc,format=yuvj420p,tile=%dx%d",
	    every, b->tile_width, b->tile_height, b->columns, b->rows));
	t->jail.idle_seconds = 300;		/* the one picture comes at the end */
	return run_jpeg(t, out, &b->size, fault);
}
