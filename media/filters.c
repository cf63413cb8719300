/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filters of ffmpeg that make of any picture one that every player shows. */
#include <string.h>

#include "media/av_run.h"

const char *
av_field_filters(struct arena *mem, const struct av_video *v, bool doubled)
{
	if (!v->interlaced)
		return "";
	return arena_printf(mem, "bwdif=mode=%s:parity=%s:deint=all,", doubled ? "send_field" : "send_frame",
	    v->parity);
}

/* The matrix of what we make: that of the source where it is known, else what players assume for its size. */
static const char *
matrix_of(const struct av_video *v)
{
	static const char *const kept[] = { "bt709", "smpte170m", "bt470bg" };
	const int small = v->width < v->height ? v->width : v->height;

	for (size_t i = 0; i < 3; i++)
		if (v->matrix != NULL && strcmp(v->matrix, kept[i]) == 0 && !v->hdr)
			return kept[i];
	return v->hdr || small >= 720 || (v->matrix != NULL && strncmp(v->matrix, "bt2020", 6) == 0) ? "bt709" :
	    "smpte170m";
}

/* Wide gamut to BT.709.  White and peak are what was seen in the frames: what files claim ranges from 0 to absurd.
 * Works on the size needed at most. */
const char *
av_tone_filters(struct arena *mem, const struct av_video *v, int width, int height)
{
	const bool wide = v->primaries != NULL && strcmp(v->primaries, "bt2020") == 0;
	const char *transfer = v->hdr ? v->transfer : "bt709";

	if (!v->hdr && !wide)
		return "";
	if (!v->hdr)
		return arena_printf(mem, "scale=%d:%d,zscale=tin=%s:min=bt2020nc:pin=bt2020:t=bt709:m=bt709:p=bt709:"
		    "r=tv,format=yuv420p,", width,
		    height, transfer);
	return arena_printf(mem, "scale=%d:%d,zscale=tin=%s:min=bt2020nc:pin=bt2020:t=linear:npl=%.0f,format=gbrpf32le,"
	    "zscale=p=bt709,tonemap=mobius:desat=0:peak=%.2f,zscale=t=bt709:m=bt709:r=tv,format=yuv420p,", width,
	    height, transfer, v->white, v->peak);
}

/* Conversions that are needed in no usual file cost a pass over each frame in all of them, so they are asked for
 * singly. */
static const char *
scale_filter(struct arena *mem, const struct av_video *v, int width, int height, const char *matrix)
{
	const bool plain = strcmp(v->pixel_format, "yuv420p") == 0 && !v->full_range;
	/* Averaging is as good as a sharper filter once two pixels and more go into one, and cheaper. */
	const char *how = v->width >= 2 * width ? "area" : "bicubic";

	if (plain && v->rotation % 180 == 0 && v->coded_width == width && v->coded_height == height)
		return "";
	if (plain || v->hdr)
		return arena_printf(mem, "scale=%d:%d:flags=%s,", width, height, how);
	return arena_printf(mem, "scale=%d:%d:flags=%s:in_color_matrix=%s:out_color_matrix=%s:out_range=tv,", width,
	    height, how, matrix, matrix);
}

const char *
av_size_filters(struct arena *mem, const struct av_video *v, int width, int height)
{
	const char *matrix = matrix_of(v);
	const bool bt709 = strcmp(matrix, "bt709") == 0;

	return arena_printf(mem, "%ssetsar=1,format=yuv420p,"
	    "setparams=range=tv:colorspace=%s:color_primaries=%s:color_trc=%s",
	    scale_filter(mem, v, width, height, bt709 ? "bt709" : "smpte170m"), matrix,
	    matrix, bt709 ? "bt709" : "smpte170m");
}
