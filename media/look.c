/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What only frames tell: whether they are made of fields, whatever the header says, and how bright HDR is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "media/av_run.h"
#include "core/buf.h"
#include "core/text.h"

/* Frames that are looked at, and to what size they are averaged: a lone spark is no light, and the half line that lies
 * between two fields is no motion. */
enum { LIGHT_PLACES = 8, LIGHT_W = 64, LIGHT_H = 36, FIELD_PLACES = 3, FIELD_FRAMES = 40, FIELD_W = 160, FIELD_H = 18 };
enum { VOTES_ENOUGH = 10, SOUND_PLACES = 8 };
static const double motion_least = 0.4;	/* in steps of brightness */

/* In cd/m²: white of a picture that was SDR before, and that of BT.2408, above which highlights begin. */
static const double white_least = 100, white_most = 203;

static const char *
place_of(struct arena *mem, const struct av_file *f, int i, int n)
{
	return arena_printf(mem, "%.3f", (double)f->duration_ms * (2 * i + 1) / (2000.0 * n));
}

/* Adds inputs at so many places, evenly spread; one where the length is not known or too short to spread. */
static int
add_places(struct av_tool *t, const struct av_file *f, int most, const char *skip)
{
	const int n = f->duration_ms >= 1000 * most ? most : 1;

	for (int i = 0; i < n; i++) {
		if (n > 1)
			av_add(t, "-noaccurate_seek", "-ss", place_of(t->mem, f, i, n));
		if (skip != NULL)
			av_add(t, "-skip_frame", skip);
		av_input(t, f->path, f->container);
	}
	return n;
}

/* So many frames of each place behind each other. */
static void
join_places(struct buf *out, const struct av_file *f, int n, int frames)
{
	for (int i = 0; i < n; i++)
		buf_printf(out, "[%d:%d]trim=end_frame=%d,setpts=N/25/TB[p%d];", i, f->video->index, frames, i);
	for (int i = 0; i < n; i++)
		buf_printf(out, "[p%d]", i);
	buf_printf(out, "concat=n=%d,", n);
}

/* Of what cannot be decoded nothing is known, which its first rendition tells better. */
static bool
run(struct av_tool *t, struct buf *graph, struct fault *fault)
{
	av_add(t, "-filter_complex", buf_string(graph), "-fps_mode", "passthrough", "-f", "rawvideo", "pipe:1");
	t->jail.wall_seconds = 120;
	return av_run(t, fault) || reason_info(fault->reason)->class != CLASS_PASSING;
}

/* The brightest spot in cd/m², or 0: planes of green, blue and red in units of white_least. */
static double
brightest(const char *bytes, size_t size)
{
	enum { N = LIGHT_W * LIGHT_H };
	double most = 0;

	for (; size >= 3 * N * sizeof(float); bytes += 3 * N * sizeof(float), size -= 3 * N * sizeof(float)) {
		float plane[3 * N];

		memcpy(plane, bytes, sizeof(plane));
		for (int i = 0; i < N; i++) {
			double light = 0.2627 * plane[2 * N + i] + 0.6780 * plane[i] + 0.0593 * plane[N + i];

			if (isfinite(light) && light > most)
				most = light;
		}
	}
	return most * white_least;
}

/*
 * Ordinary pictures in a container for HDR come out as they were; what has highlights gets the white of BT.2408, and
 * what is above is compressed.  There is always room above white: a brighter place may have been missed.
 */
static bool
look_at_light(struct arena *mem, const struct av_file *f, struct av_video *v, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");
	const int n = add_places(t, f, LIGHT_PLACES, "nokey");
	struct buf graph = BUF(mem);
	double most;

	join_places(&graph, f, n, 1);
	buf_printf(&graph, "scale=%d:%d:flags=area,zscale=tin=%s:min=bt2020nc:pin=bt2020:t=linear:npl=%.0f,"
	    "format=gbrpf32le", LIGHT_W, LIGHT_H, v->transfer, white_least);
	if (!run(t, &graph, fault))
		return false;
	most = brightest(t->result.out, t->result.out_size);
	v->white = most <= 0 ? white_most : fmin(fmax(most, white_least), white_most);
	v->peak = fmin(fmax(most / v->white, 2), 50);
	return true;
}

/* How far two fields differ, as one average per pixel. */
static double
distance(const unsigned char *a, const unsigned char *b)
{
	int sum = 0;

	for (int i = 0; i < FIELD_W * FIELD_H; i++)
		sum += abs(a[i] - b[i]);
	return (double)sum / (FIELD_W * FIELD_H);
}

enum verdict { UNDECIDED, WHOLE, TOP_FIRST, BOTTOM_FIRST, VERDICTS };

/* Two frames as top, bottom, top, bottom.  Fields of one moment are alike; of others, those that follow each other are
 * nearer than those with another one between them. */
static enum verdict
judge_frames(const unsigned char *f)
{
	enum { FIELD = FIELD_W * FIELD_H };
	const double same = distance(f, f + FIELD), top = distance(f + FIELD, f + 2 * FIELD),
	    bottom = distance(f, f + 3 * FIELD);

	if (top + bottom < motion_least)
		return UNDECIDED;
	if (same < 0.25 * fmin(top, bottom))
		return WHOLE;
	if (top < 0.75 * bottom)
		return TOP_FIRST;
	return bottom < 0.75 * top ? BOTTOM_FIRST : UNDECIDED;
}

/* What most frames that move show, if they are enough; else the header is believed. */
static void
judge_fields(const unsigned char *fields, size_t frames, struct av_video *v)
{
	int votes[VERDICTS] = { 0 };
	enum verdict most = WHOLE;

	for (size_t i = 0; i + 1 < frames; i++)
		votes[judge_frames(fields + 2 * i * FIELD_W * FIELD_H)]++;
	for (enum verdict k = TOP_FIRST; k < VERDICTS; k++)
		if (votes[k] > votes[most])
			most = k;
	if (votes[most] < VOTES_ENOUGH || 3 * votes[most] < 2 * (votes[WHOLE] + votes[TOP_FIRST] + votes[BOTTOM_FIRST]))
		return;
	v->interlaced = most != WHOLE;
	v->parity = most == TOP_FIRST ? "tff" : most == BOTTOM_FIRST ? "bff" : "auto";
}

/* Could these frames be fields?  Who says so is asked anyway; others are, where headers are known to say nothing. */
static bool
may_have_fields(const struct av_video *v)
{
	static const char silent[] = "mpeg2video dvvideo prores dnxhd ffv1 mjpeg v210 rawvideo huffyuv";
	static const int heights[] = { 480, 486, 576, 1080, 1088 };

	if (v->interlaced)
		return true;
	if (v->rate.num < 24 * v->rate.den || v->rate.num > 31 * v->rate.den ||
	    !word_in(silent, v->codec, strlen(v->codec)))
		return false;
	for (size_t i = 0; i < sizeof(heights) / sizeof(heights[0]); i++)
		if (v->coded_height == heights[i])
			return true;
	return false;
}

static bool
look_at_fields(struct arena *mem, const struct av_file *f, struct av_video *v, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");
	const int n = add_places(t, f, FIELD_PLACES, NULL);
	struct buf graph = BUF(mem);

	join_places(&graph, f, n, FIELD_FRAMES);
	buf_printf(&graph, "setfield=tff,separatefields,scale=%d:%d:flags=area,format=gray", FIELD_W, FIELD_H);
	if (!run(t, &graph, fault))
		return false;
	judge_fields((const unsigned char *)t->result.out, t->result.out_size / (2 * FIELD_W * FIELD_H), v);
	return true;
}

/* The sum and the difference of both channels, by turns. */
static bool
no_difference(const char *bytes, size_t n)
{
	int sum = 0, difference = 0;

	for (size_t i = 0; i + 4 <= n; i += 4) {
		int16_t pair[2];

		memcpy(pair, bytes + i, 4);
		sum = abs(pair[0]) > sum ? abs(pair[0]) : sum;
		difference = abs(pair[1]) > difference ? abs(pair[1]) : difference;
	}
	return difference * 256 < sum;
}

bool
av_is_one_channel(struct arena *mem, const struct av_file *f, const struct av_audio *a)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");
	const int n = f->duration_ms >= 2000 * SOUND_PLACES ? SOUND_PLACES : 1;
	struct buf graph = BUF(mem);
	struct fault fault;

	if (a->channels != 2)
		return false;
	for (int i = 0; i < n; i++) {
		if (n > 1)
			av_add(t, "-ss", place_of(mem, f, i, n));
		av_add(t, "-t", n > 1 ? "1" : "16", "-vn");
		av_input(t, f->path, f->container);
		buf_printf(&graph, "[%d:%d]", i, a->index);
	}
	buf_printf(&graph, "concat=n=%d:v=0:a=1,pan=stereo|c0=0.5*c0+0.5*c1|c1=0.5*c0-0.5*c1,aresample=8000", n);
	av_add(t, "-filter_complex", buf_string(&graph), "-f", "s16le", "pipe:1");
	t->jail.wall_seconds = 120;
	return av_run(t, &fault) && no_difference(t->result.out, t->result.out_size);
}

bool
av_look(struct arena *mem, struct av_file *f, struct fault *fault)
{
	struct av_video *v = arena_raw(mem, sizeof(*v));

	*v = *f->video;
	f->video = v;
	return (!v->hdr || look_at_light(mem, f, v, fault)) &&
	    (!may_have_fields(v) || look_at_fields(mem, f, v, fault));
}
