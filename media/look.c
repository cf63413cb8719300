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

/* How many places are looked at, evenly spread; one where the length is not known or too short to spread. */
static int
places(const struct av_file *f, int most)
{
	return f->duration_ms >= 1000 * most ? most : 1;
}

/*
 * Frames of the i-th of n places, as bytes: none where they cannot be decoded, which the first rendition tells better.
 * Place by place and one frame after the other: decoders of large pictures hold much memory.
 */
static bool
look_at(struct av_tool *t, const struct av_file *f, int i, int n, const char *filters, struct fault *fault)
{
	if (n > 1)
		av_add(t, "-noaccurate_seek", "-ss", place_of(t->mem, f, i, n));
	av_add(t, "-threads", "1");
	av_input(t, f->path, f->container);
	av_add(t, "-map", arena_printf(t->mem, "0:%d", f->video->index), "-vf", filters, "-fps_mode", "passthrough",
	    "-f", "rawvideo", "pipe:1");
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
	const char *filters = arena_printf(mem, "trim=end_frame=1,scale=%d:%d:flags=area,zscale=tin=%s:min=bt2020nc:"
	    "pin=bt2020:t=linear:npl=%.0f,format=gbrpf32le", LIGHT_W, LIGHT_H, v->transfer, white_least);
	const int n = places(f, LIGHT_PLACES);
	double most = 0;

	for (int i = 0; i < n; i++) {
		struct av_tool *t = av_tool(mem, "ffmpeg");

		av_add(t, "-skip_frame", "nokey");
		if (!look_at(t, f, i, n, filters, fault))
			return false;
		most = fmax(most, brightest(t->result.out, t->result.out_size));
	}
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
count_votes(const int votes[VERDICTS], struct av_video *v)
{
	enum verdict most = WHOLE;

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
	enum { FRAME = 2 * FIELD_W * FIELD_H };
	const char *filters = arena_printf(mem, "trim=end_frame=%d,setfield=tff,separatefields,scale=%d:%d:flags=area,"
	    "format=gray", FIELD_FRAMES, FIELD_W, FIELD_H);
	const int n = places(f, FIELD_PLACES);
	int votes[VERDICTS] = { 0 };

	for (int i = 0; i < n; i++) {
		struct av_tool *t = av_tool(mem, "ffmpeg");

		if (!look_at(t, f, i, n, filters, fault))
			return false;
		for (size_t at = 0; at + 2 * FRAME <= t->result.out_size; at += FRAME)
			votes[judge_frames((const unsigned char *)t->result.out + at)]++;
	}
	count_votes(votes, v);
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
av_look(struct arena *mem, const struct av_file *f, struct av_video *v, struct fault *fault)
{
	if (av_is_animation(f->container))
		return true;
	return (!v->hdr || look_at_light(mem, f, v, fault)) &&
	    (!may_have_fields(v) || look_at_fields(mem, f, v, fault));
}
