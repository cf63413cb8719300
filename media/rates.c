/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast the frames of a file follow each other: what its headers claim, what is credible, and what we make of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "media/av_run.h"
#include "media/image.h"

enum { REPEATS_MAX = 4, CREDIBLE_RATE = 300, FRAMES_FREE = 36000, THIN_FRAME = 1000 };	/* THIN_FRAME in bytes */

double
av_value(struct av_ratio r)
{
	return (double)r.num / (double)r.den;
}

static const struct av_ratio usual_rates[] = { { 10, 1 }, { 12, 1 }, { 15, 1 }, { 24000, 1001 }, { 24, 1 }, { 25, 1 },
    { 30000, 1001 }, { 30, 1 }, { 48, 1 }, { 50, 1 }, { 60000, 1001 }, { 60, 1 } };
#define N_USUAL (sizeof(usual_rates) / sizeof(usual_rates[0]))

/*
 * The constant rate to encode at.  r_frame_rate is right for constant sources and for those that skip frames of a
 * constant clock; for truly variable ones (phones, screens) it is some huge number, or most frames would be
 * repetitions: the average rounded up to a usual rate is used.
 */
static struct av_ratio
out_rate(struct av_ratio lowest, struct av_ratio average)
{
	double want = average.num > 0 ? av_value(average) : av_value(lowest);

	if (lowest.num > 0 && av_value(lowest) <= 60.5 && av_value(lowest) >= want * 0.98 && av_value(lowest) >= 1 &&
	    av_value(lowest) <= want * REPEATS_MAX)
		return lowest;
	if (lowest.num > 0 && av_value(lowest) > 60.5 && av_value(lowest) <= 121 &&
	    fabs(av_value(lowest) / want - 1) < 0.02)
		/* 100 and 120: every other frame. */
		return lowest.num % 2 == 0 ? (struct av_ratio){ lowest.num / 2, lowest.den } :
		    (struct av_ratio){ lowest.num, lowest.den * 2 };
	if (want <= 0)
		want = 25;
	for (size_t i = 0; i < N_USUAL; i++)
		if (av_value(usual_rates[i]) >= want * 0.995)
			return usual_rates[i];
	return usual_rates[N_USUAL - 1];
}

/* What the file claims on average, cleared of the rounding of coarse clocks, and what we make of it. */
void
av_settle_rates(struct av_video *v)
{
	v->out_rate = out_rate(v->lowest_rate, v->rate);
	if (v->rate.num == 0)
		v->rate = v->out_rate;
	for (size_t i = 0; i < N_USUAL; i++)
		if (fabs(av_value(v->rate) / av_value(usual_rates[i]) - 1) < 0.0004)
			v->rate = usual_rates[i];
}

double
av_frame_rate(struct av_ratio r)
{
	return r.num > 0 && r.den > 0 ? round(av_value(r) * 1000) / 1000 : 0;
}

/* The frames that are there, found by reading all of the file. */
struct census {
	int64_t frames, step;			/* step of all times, in 10 ms */
	double first, last, end;		/* end: with the time that frames stay */
	char line[64];				/* "1.040000,0.040000" */
	size_t n;
};

static int64_t
common_divisor(int64_t a, int64_t b)
{
	return b == 0 ? llabs(a) : common_divisor(b, a % b);
}

static bool
take_moments(void *user, const char *bytes, size_t n)
{
	struct census *c = user;
	const char *stays;
	double at;

	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != '\n') {
			if (c->n < sizeof(c->line) - 1)
				c->line[c->n++] = bytes[i];
			continue;
		}
		c->line[c->n] = '\0';
		c->n = 0;
		at = av_seconds(c->line);
		stays = strchr(c->line, ',');
		if (c->frames++ == 0)
			c->first = at;
		c->last = fmax(c->last, at);
		c->end = fmax(c->end, at + av_seconds(stays != NULL ? stays + 1 : NULL));
		c->step = common_divisor(c->step, llround(at * 100));
	}
	return true;
}

/* Of what cannot be read to its end, as far as it goes; false only when that is the machine's fault. */
static bool
count_frames(struct arena *mem, const struct av_file *f, struct census *c, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffprobe");

	*c = (struct census){ 0 };
	av_add(t, "-of", "csv=p=0", "-show_entries", "packet=pts_time,duration_time", "-select_streams",
	    arena_printf(mem, "%d", f->video->index));
	t->probing = true;
	av_input(t, f->path, f->container);
	t->jail.on_out = take_moments;
	t->jail.user = c;
	t->jail.wall_seconds = 120;
	return av_run(t, fault) || reason_info(fault->reason)->class != CLASS_PASSING;
}

/*
 * A few frames far apart would be repeated millions of times: long recordings get a rate that makes of each frame a few
 * at most.  An index can lie, and some files have none, so the frames of files too small for what they claim are
 * counted.
 */
static bool
bound_rate(struct arena *mem, const struct av_file *f, struct av_video *v, struct fault *fault)
{
	const double rate = av_value(v->out_rate);
	double seconds = (double)f->duration_ms / 1000;
	int64_t frames, most;
	struct census c;

	if (seconds > 0 && rate * seconds <= FRAMES_FREE)
		return true;
	if (seconds <= 0 || (double)f->size < rate * seconds * THIN_FRAME) {
		if (!count_frames(mem, f, &c, fault))
			return false;
		frames = c.frames;
		if (seconds <= 0)
			seconds = c.last - (double)f->start_ms / 1000;
	} else if ((frames = v->frames) == 0) {
		return true;
	}
	most = frames > FRAMES_FREE / REPEATS_MAX ? frames * REPEATS_MAX : FRAMES_FREE;
	if (rate * seconds > (double)most)
		v->out_rate = (struct av_ratio){ (double)most > seconds ? (int64_t)((double)most / seconds) : 1, 1 };
	return true;
}

/* More than cameras make is the unit of some clock: the frames are counted. */
static bool
check_rate(struct arena *mem, const struct av_file *f, struct av_video *v, struct fault *fault)
{
	struct census c;
	double seconds;

	if (av_value(v->rate) <= CREDIBLE_RATE)
		return true;
	if (!count_frames(mem, f, &c, fault))
		return false;
	seconds = c.last - c.first;
	v->rate = (struct av_ratio){ 0, 1 };
	if (c.frames > 1 && seconds > 0)
		v->rate = (struct av_ratio){ llround((double)(c.frames - 1) / seconds * 1000), 1000 };
	av_settle_rates(v);
	return true;
}

/* The constant rate at which each frame of an animation has its own delay, between 10 and 50. */
static bool
animate(struct arena *mem, struct av_file *f, struct av_video *v, struct fault *fault)
{
	struct census c;
	int64_t step = 10;

	if (!count_frames(mem, f, &c, fault))
		return false;
	while (c.step % step != 0)
		step--;
	v->out_rate = step > 2 ? (struct av_ratio){ 100, step } : (struct av_ratio){ 50, 1 };
	f->duration_ms = f->duration_ms > 0 ? f->duration_ms : llround(c.end * 1000);
	f->shortened = f->duration_ms > IMAGE_MOVES_MS;
	if (f->shortened)
		f->duration_ms = v->duration_ms = IMAGE_MOVES_MS;
	return true;
}

bool
av_count(struct arena *mem, struct av_file *f, struct av_video *v, struct fault *fault)
{
	if (av_is_animation(f->container))
		return animate(mem, f, v, fault);
	return check_rate(mem, f, v, fault) && bound_rate(mem, f, v, fault);
}
