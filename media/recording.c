/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each stretch becomes a file with both tracks, since their times can be compared in there alone; then all are read as
 * one.  ffmpeg's reader of lists takes H.264 out of its boxes, so that each key frame brings its own parameter sets
 * along, and a picture of another size can go on in the same track.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "media/av_run.h"
#include "media/recording.h"

enum { INDEX_ROOM = 256 << 20 };		/* bytes of an index, at most */

static const char *
path_in(struct arena *mem, const char *dir, const char *name)
{
	return arena_printf(mem, "%s/%s", dir, name);
}

static void
limit(struct av_tool *t, const char *dir, int64_t size)
{
	t->jail.write_dir = dir;
	t->jail.file_size = size + size / 10 + INDEX_ROOM;
	t->jail.idle_seconds = 600;		/* the index comes to the beginning without a word */
}

/* -copyts: by itself ffmpeg lets each input begin at zero, and picture and sound would no longer fit. */
static bool
join_tracks(struct arena *mem, const struct recording *r, const char *dir, const char *out, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");
	const char *only = r->picture != NULL ? "0:v:0" : "0:a:0";

	av_add(t, "-progress", "pipe:3", "-copyts");
	if (r->picture != NULL)
		av_input(t, r->picture, "mov");
	if (r->sound != NULL)
		av_input(t, r->sound, "mov");
	av_add(t, "-map", only);
	if (r->picture != NULL && r->sound != NULL)
		av_add(t, "-map", "1:a:0");
	av_add(t, "-c", "copy", "-map_metadata", "-1", "-fflags", "+bitexact", "-avoid_negative_ts", "make_zero",
	    "-video_track_timescale", "90000", "-movflags", "+faststart",
	    "-f", "mp4", path_in(mem, dir, out));
	limit(t, dir, r->size);
	return av_run(t, fault);
}

static bool
same(const char *a, const char *b)
{
	return a != NULL && b != NULL ? strcmp(a, b) == 0 : a == b;
}

/* Can it go on in the tracks of the other? */
static bool
goes_on(const struct av_file *first, const struct av_file *f)
{
	const struct av_video *v = first->video, *w = f->video;
	const struct av_audio *a = first->audio, *b = f->audio;

	if ((v == NULL) != (w == NULL) || (a == NULL) != (b == NULL))
		return false;
	if (v != NULL && (!same(v->codec, w->codec) || (strcmp(v->codec, "h264") != 0 &&
	    (v->coded_width != w->coded_width || v->coded_height != w->coded_height))))
		return false;
	return a == NULL || (same(a->codec, b->codec) && a->channels == b->channels &&
	    a->sample_rate == b->sample_rate);
}

static bool
write_list(struct arena *mem, const char *path, const char *const *names, size_t n, struct fault *fault)
{
	FILE *f = fopen(path, "we");
	bool fine = f != NULL;

	for (size_t i = 0; fine && i < n; i++)
		fine = fprintf(f, "file %s\n", names[i]) > 0;
	if (f != NULL && fclose(f) != 0)
		fine = false;
	return fine || fault_of_errno(mem, errno, fault, "A part of the recording could not be written.");
}

static bool
join_stretches(struct arena *mem, const char *const *names, size_t n, int64_t size, const char *dir, const char *out,
    struct fault *fault)
{
	const char *list = path_in(mem, dir, "stretches.txt");
	struct av_tool *t = av_tool(mem, "ffmpeg");

	if (!write_list(mem, list, names, n, fault))
		return false;
	av_add(t, "-progress", "pipe:3", "-protocol_whitelist", "file", "-format_whitelist", "concat,mov", "-safe", "0",
	    "-f", "concat", "-i", arena_printf(mem, "file:%s", list), "-map", "0", "-c", "copy", "-map_metadata", "-1", "-fflags", "+bitexact",
	    "-movflags", "+faststart", "-f", "mp4", path_in(mem, dir, out));
	limit(t, dir, size);
	return av_run(t, fault);
}

bool
recording_join(struct arena *mem, const struct recording *r, size_t n, const char *dir, const char *name,
    size_t *left_out, struct fault *fault)
{
	const char **names = arena_array(mem, n + 1, sizeof(*names));
	const struct av_file *first = NULL, *f;
	size_t kept = 0, i;
	int64_t size = 0;

	for (i = 0; i < n && i < RECORDING_MAX; i++) {
		names[kept] = arena_printf(mem, "stretch-%zu.mp4", i);
		f = join_tracks(mem, &r[i], dir, names[kept], fault) ?
		    av_headers(mem, path_in(mem, dir, names[kept]), fault) : NULL;
		if (f == NULL && !fault_is_final(fault))
			return false;
		if (f == NULL || (first != NULL && !goes_on(first, f))) {
			remove(path_in(mem, dir, names[kept]));
			continue;
		}
		first = first != NULL ? first : f;
		size += r[i].size;
		kept++;
	}
	*left_out = n - kept;
	if (kept == 0)
		return fault_set(mem, fault, REASON_NO_STREAMS, "Nothing that can be read was recorded.");
	if (kept == 1)
		return rename(path_in(mem, dir, names[0]), path_in(mem, dir, name)) == 0 ||
		    fault_of_errno(mem, errno, fault, "The recording could not be written.");
	return join_stretches(mem, names, kept, size, dir, name, fault);
}
